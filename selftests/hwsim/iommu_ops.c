// SPDX-License-Identifier: GPL-2.0-only
/*
 * The client's side of the software IOMMU: the DMA API's operations.
 *
 * As a real IOMMU they keep an address's offset in its page, and join entries
 * of a scatter list that meet at pages' ends.  Unlike one they know what was
 * mapped how, and say so when it is unmapped or synced differently.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include "iommu_impl.h"

#if !IS_ENABLED(CONFIG_64BIT)
#error "a device's window needs 64 bit of bus addresses, and each page a kernel address"
#endif
#ifndef CONFIG_NEED_SG_DMA_LENGTH
#error "the kernel has no room for an IOMMU's lengths in a scatter list"
#endif

static struct hwsim_iommu *hwsim_mmu(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* A test has asked for this call to fail. */
static bool hwsim_map_fails(struct hwsim_iommu *mmu)
{
	return unlikely(atomic_read(&mmu->fail_map)) &&
	       atomic_dec_if_positive(&mmu->fail_map) == 0;
}

/* Tell of a call that does not fit what is mapped. */
static void hwsim_misuse(struct hwsim_iommu *mmu, enum hwsim_iommu_stat what, const char *doing,
			 const char *why, u64 addr, size_t len, struct hwsim_report *rep)
{
	rep->what = what;
	rep->doing = doing;
	rep->why = why;
	rep->addr = addr;
	rep->len = len;
	hwsim_report(mmu, rep);
}

/* Map one run of bytes at a page's offset. */
static dma_addr_t hwsim_map_run(struct hwsim_iommu *mmu, enum hwsim_map_kind kind, void *cpu,
				size_t in_page, size_t len, enum dma_data_direction dir,
				unsigned long attrs)
{
	bool bounce = READ_ONCE(mmu->bounce) && kind == HWSIM_MAP_PAGE;
	struct hwsim_map *map;

	if (hwsim_map_fails(mmu))
		return DMA_MAPPING_ERROR;
	map = hwsim_map_new(mmu, kind, dir);
	if (!map)
		return DMA_MAPPING_ERROR;
	map->quiet = attrs & DMA_ATTR_SKIP_CPU_SYNC;
	if (hwsim_map_add(map, in_page, cpu, len, bounce) ||
	    hwsim_map_insert(mmu, map, in_page + len)) {
		hwsim_map_free(map);
		return DMA_MAPPING_ERROR;
	}
	return map->iova + in_page;
}

static dma_addr_t hwsim_map_page(struct device *dev, struct page *page, unsigned long offset,
				 size_t size, enum dma_data_direction dir, unsigned long attrs)
{
	return hwsim_map_run(hwsim_mmu(dev), HWSIM_MAP_PAGE, page_address(page) + offset,
			     offset_in_page(offset), size, dir, attrs);
}

static dma_addr_t hwsim_map_resource(struct device *dev, phys_addr_t phys, size_t size,
				     enum dma_data_direction dir, unsigned long attrs)
{
	return hwsim_map_run(hwsim_mmu(dev), HWSIM_MAP_RESOURCE, NULL, offset_in_page(phys), size,
			     dir, attrs);
}

/* Why a call to unmap does not fit a record; NULL when it does. */
static const char *hwsim_unmap_wrong(const struct hwsim_map *map, enum hwsim_map_kind kind,
				     u64 addr, u64 size, int nents, enum dma_data_direction dir)
{
	if (!map)
		return "not mapped";
	if (map->kind != kind)
		return "mapped by another kind of call";
	if (addr != map->iova + map->one.off)
		return "not where the mapping begins";
	if (map->dir != dir)
		return "mapped with another direction";
	if (kind == HWSIM_MAP_SG ? map->nents != nents : map->bytes != size)
		return "mapped with another length";
	return NULL;
}

/*
 * Take a mapping away from the NIC, give the client what it wrote, and free it.
 * A call that does not fit but names a live mapping still ends it, as it would
 * on hardware, but for one that names its middle.
 */
static void hwsim_unmap(struct hwsim_iommu *mmu, enum hwsim_map_kind kind, u64 addr, u64 size,
			int nents, enum dma_data_direction dir, unsigned long attrs)
{
	struct hwsim_report rep = {};
	struct hwsim_map *map;
	unsigned long flags;
	const char *why;
	unsigned int i;

	write_lock_irqsave(&hwsim_iommu_lock, flags);
	map = hwsim_map_find(mmu, addr);
	why = hwsim_unmap_wrong(map, kind, addr, size, nents, dir);
	if (why)
		hwsim_report_fill(&rep, map ?: hwsim_map_dead(mmu, addr));
	if (map && addr != map->iova + map->one.off)
		map = NULL;
	if (map)
		rb_erase(&map->node, &mmu->live);
	write_unlock_irqrestore(&hwsim_iommu_lock, flags);
	if (why)
		hwsim_misuse(mmu, HWSIM_IOMMU_MISUSE_UNMAP, "unmap", why, addr, size, &rep);
	if (!map)
		return;
	/* out of the tree, it is this call's alone */
	if (map->dir != DMA_TO_DEVICE && !(attrs & DMA_ATTR_SKIP_CPU_SYNC)) {
		for (i = 0; i < map->npieces; i++) {
			struct hwsim_piece *p = hwsim_map_nth(map, i);

			hwsim_piece_sync(mmu, p, 0, p->len, false);
		}
	}
	hwsim_map_bury(mmu, map);
}

static void hwsim_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	hwsim_unmap(hwsim_mmu(dev), HWSIM_MAP_PAGE, addr, size, 0, dir, attrs);
}

static void hwsim_unmap_resource(struct device *dev, dma_addr_t addr, size_t size,
				 enum dma_data_direction dir, unsigned long attrs)
{
	hwsim_unmap(hwsim_mmu(dev), HWSIM_MAP_RESOURCE, addr, size, 0, dir, attrs);
}

/* Whether an entry may continue, on the bus, the segment that ends at @end. */
static bool hwsim_sg_joins(struct device *dev, struct hwsim_iommu *mmu, struct scatterlist *seg,
			   u64 end, struct scatterlist *sg)
{
	return READ_ONCE(mmu->merge) && seg &&
	       !offset_in_page(end) && !offset_in_page(sg->offset) &&
	       (u64)sg_dma_len(seg) + sg->length <= dma_get_max_seg_size(dev);
}

/*
 * Lay the entries out on the bus and say so in the list's DMA half, relative to
 * the mapping's start.  Segments that do not join lie a page apart.
 * Return: the number of segments, or -ENOMEM.
 */
static int hwsim_sg_layout(struct device *dev, struct hwsim_iommu *mmu, struct hwsim_map *map,
			   struct scatterlist *sgl, int nents, u64 *span)
{
	bool bounce = READ_ONCE(mmu->bounce);
	struct scatterlist *sg, *seg = NULL;
	int i, nseg = 0;
	u64 end = 0;

	for_each_sg(sgl, sg, nents, i) {
		u64 off = end;

		if (hwsim_sg_joins(dev, mmu, seg, end, sg)) {
			sg_dma_len(seg) += sg->length;
		} else {
			if (seg)
				off = PAGE_ALIGN(end) + PAGE_SIZE;
			off += offset_in_page(sg->offset);
			seg = seg ? sg_next(seg) : sgl;
			sg_dma_address(seg) = off;
			sg_dma_len(seg) = sg->length;
			nseg++;
		}
		if (hwsim_map_add(map, off, sg_virt(sg), sg->length, bounce))
			return -ENOMEM;
		end = off + sg->length;
	}
	*span = end;
	return nseg;
}

static int hwsim_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
			enum dma_data_direction dir, unsigned long attrs)
{
	struct hwsim_iommu *mmu = hwsim_mmu(dev);
	struct hwsim_map *map;
	struct scatterlist *sg;
	int i, nseg;
	u64 span;

	if (nents <= 0)
		return -EINVAL;
	if (hwsim_map_fails(mmu))
		return -ENOMEM;
	map = hwsim_map_new(mmu, HWSIM_MAP_SG, dir);
	if (!map)
		return -ENOMEM;
	map->nents = nents;
	map->quiet = attrs & DMA_ATTR_SKIP_CPU_SYNC;
	nseg = hwsim_sg_layout(dev, mmu, map, sgl, nents, &span);
	if (nseg < 0 || hwsim_map_insert(mmu, map, span)) {
		hwsim_map_free(map);
		return -ENOMEM;
	}
	for_each_sg(sgl, sg, nseg, i)
		sg_dma_address(sg) += map->iova;
	/* what follows the segments is not for the device */
	if (nseg < nents) {
		sg_dma_address(sg) = DMA_MAPPING_ERROR;
		sg_dma_len(sg) = 0;
	}
	return nseg;
}

static void hwsim_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
			   enum dma_data_direction dir, unsigned long attrs)
{
	hwsim_unmap(hwsim_mmu(dev), HWSIM_MAP_SG, sg_dma_address(sgl), 0, nents, dir, attrs);
}

/* Why a call to sync does not fit; under hwsim_iommu_lock.  NULL: *p is good for *n bytes. */
static const char *hwsim_sync_wrong(struct hwsim_map *map, u64 addr, enum dma_data_direction dir,
				    struct hwsim_piece **p, size_t *n)
{
	if (!map)
		return "not mapped";
	if (map->dir != dir && map->dir != DMA_BIDIRECTIONAL)
		return "mapped with another direction";
	*p = hwsim_map_piece(map, addr - map->iova);
	if (!*p || addr - map->iova - (*p)->off >= (*p)->len)
		return "outside of what is mapped";
	*n = min_t(u64, *n, (*p)->off + (*p)->len - (addr - map->iova));
	return NULL;
}

/*
 * Sync bytes by their bus address.  A piece at a time under the lock: the client
 * owns the mapping, so it is not unmapped meanwhile unless the client is wrong.
 */
static void hwsim_sync(struct device *dev, u64 addr, size_t size, enum dma_data_direction dir,
		       bool to_device)
{
	bool copies = dir != (to_device ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
	struct hwsim_iommu *mmu = hwsim_mmu(dev);
	struct hwsim_report rep = {};
	struct hwsim_piece *p;
	struct hwsim_map *map;
	unsigned long flags;
	const char *why;
	size_t n;

	for (; size; addr += n, size -= n) {
		n = size;
		read_lock_irqsave(&hwsim_iommu_lock, flags);
		map = hwsim_map_find(mmu, addr);
		why = hwsim_sync_wrong(map, addr, dir, &p, &n);
		if (why)
			hwsim_report_fill(&rep, map ?: hwsim_map_dead(mmu, addr));
		else if (copies)
			hwsim_piece_sync(mmu, p, addr - map->iova - p->off, n, to_device);
		read_unlock_irqrestore(&hwsim_iommu_lock, flags);
		if (why) {
			hwsim_misuse(mmu, HWSIM_IOMMU_MISUSE_SYNC,
				     to_device ? "sync for device" : "sync for CPU",
				     why, addr, size, &rep);
			return;
		}
	}
}

static void hwsim_sync_single_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
				      enum dma_data_direction dir)
{
	hwsim_sync(dev, addr, size, dir, false);
}

static void hwsim_sync_single_for_device(struct device *dev, dma_addr_t addr, size_t size,
					 enum dma_data_direction dir)
{
	hwsim_sync(dev, addr, size, dir, true);
}

/*
 * Sync a mapped list.  The caller names entries, and the list's DMA half has
 * segments, fewer perhaps: those that hold the entries' bytes are synced.
 */
static void hwsim_sync_sg(struct device *dev, struct scatterlist *sgl, int nents,
			  enum dma_data_direction dir, bool to_device)
{
	struct scatterlist *sg;
	u64 bytes = 0;
	int i;

	for_each_sg(sgl, sg, nents, i)
		bytes += sg->length;
	for (sg = sgl; sg && bytes; sg = sg_next(sg)) {
		size_t n = min_t(u64, sg_dma_len(sg), bytes);

		/* behind the last segment: more entries than were mapped */
		if (!n)
			n = bytes;
		hwsim_sync(dev, sg_dma_address(sg), n, dir, to_device);
		bytes -= n;
	}
}

static void hwsim_sync_sg_for_cpu(struct device *dev, struct scatterlist *sgl, int nents,
				  enum dma_data_direction dir)
{
	hwsim_sync_sg(dev, sgl, nents, dir, false);
}

static void hwsim_sync_sg_for_device(struct device *dev, struct scatterlist *sgl, int nents,
				     enum dma_data_direction dir)
{
	hwsim_sync_sg(dev, sgl, nents, dir, true);
}

static void *hwsim_alloc(struct device *dev, size_t size, dma_addr_t *addr, gfp_t gfp,
			 unsigned long attrs)
{
	void *cpu = alloc_pages_exact(size, (gfp & ~__GFP_COMP) | __GFP_ZERO);

	if (!cpu)
		return NULL;
	*addr = hwsim_map_run(hwsim_mmu(dev), HWSIM_MAP_COHERENT, cpu, 0, size, DMA_BIDIRECTIONAL,
			      attrs);
	if (*addr == DMA_MAPPING_ERROR) {
		free_pages_exact(cpu, size);
		return NULL;
	}
	return cpu;
}

static void hwsim_free(struct device *dev, size_t size, void *cpu, dma_addr_t addr,
		       unsigned long attrs)
{
	hwsim_unmap(hwsim_mmu(dev), HWSIM_MAP_COHERENT, addr, size, 0, DMA_BIDIRECTIONAL, attrs);
	free_pages_exact(cpu, size);
}

/* A client that cannot hold all bits of an address has to hear of it. */
static int hwsim_dma_supported(struct device *dev, u64 mask)
{
	return mask >= hwsim_mmu(dev)->base + DMA_BIT_MASK(HWSIM_WINDOW_SHIFT);
}

static u64 hwsim_required_mask(struct device *dev)
{
	return DMA_BIT_MASK(64);
}

const struct dma_map_ops hwsim_dma_ops = {
	.alloc			= hwsim_alloc,
	.free			= hwsim_free,
	.map_page		= hwsim_map_page,
	.unmap_page		= hwsim_unmap_page,
	.map_sg			= hwsim_map_sg,
	.unmap_sg		= hwsim_unmap_sg,
	.map_resource		= hwsim_map_resource,
	.unmap_resource		= hwsim_unmap_resource,
	.sync_single_for_cpu	= hwsim_sync_single_for_cpu,
	.sync_single_for_device	= hwsim_sync_single_for_device,
	.sync_sg_for_cpu	= hwsim_sync_sg_for_cpu,
	.sync_sg_for_device	= hwsim_sync_sg_for_device,
	.dma_supported		= hwsim_dma_supported,
	.get_required_mask	= hwsim_required_mask,
};
