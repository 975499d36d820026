// SPDX-License-Identifier: GPL-2.0-only
/*
 * "HBM": a dma-buf exporter of memory without pages.
 *
 * The bytes are vmalloc memory that nobody but this file knows.  An importer
 * gets bus addresses that are good for its hwsim device alone, so that only a
 * simulated NIC reads or writes them; whoever looks for pages finds NULL.
 *
 * With HWSIM_HBM_DELAYED there are two copies.  NICs work on @mem; what is seen
 * (peek) is @seen, and a flush copies the pages that NICs wrote from one to the
 * other.  NICs see what NICs wrote: a read does not overtake a write on its way
 * into the memory.
 *
 * Locks: the dma-buf's reservation (pin, move, and map of dynamic importers),
 * and in it hwsim_hbm.lock.  NICs come under hwsim_iommu_lock alone: they find
 * @mem through their mappings, and a mapping is taken away, which waits for
 * them, before @mem goes.
 */
#include <linux/bitmap.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "hbm.h"
#include "hwsim_hbm.h"
#include "iommu.h"

MODULE_IMPORT_NS(DMA_BUF);

#define HWSIM_HBM_FLAGS	(HWSIM_HBM_P2P | HWSIM_HBM_MOVABLE | HWSIM_HBM_DELAYED | HWSIM_HBM_NO_PIN)
#define HWSIM_HBM_MAX	SZ_1G

static unsigned int hbm_segment = SZ_2M;
module_param(hbm_segment, uint, 0644);
MODULE_PARM_DESC(hbm_segment, "Bytes of HBM that follow each other on the bus");

/* A buffer; freed when the dma-buf is. */
struct hwsim_hbm {
	struct mutex lock;		/* maps, pins, moves, and the pointers mem and seen */
	u64 size;
	u32 flags;
	void *mem;
	void *seen;			/* or NULL: what is in mem is seen */
	unsigned long *pending;		/* bit per page of mem that differs; atomic bit ops */
	struct list_head maps;
	unsigned int pins, moves;
	atomic_t attached;
	atomic64_t flushes, written, peeked;
};

/* What an importer has mapped. */
struct hwsim_hbm_map {
	struct list_head list;		/* in the buffer's, under its lock */
	struct sg_table sgt;
	struct hwsim_iommu *mmu;	/* referenced by the attachment */
	bool revoked;			/* the buffer has moved away; under the buffer's lock */
};

/* A NIC wrote; under hwsim_iommu_lock, any context. */
static void hwsim_hbm_wrote(void *ctx, void *at, size_t len)
{
	struct hwsim_hbm *hbm = ctx;
	size_t off = at - hbm->mem;
	unsigned long page;

	atomic64_add(len, &hbm->written);
	if (!hbm->pending)
		return;
	for (page = off / PAGE_SIZE; page <= (off + len - 1) / PAGE_SIZE; page++)
		set_bit(page, hbm->pending);
}

/* Only simulated NICs, and only importers that know what peer memory is. */
static int hwsim_hbm_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct hwsim_iommu *mmu = hwsim_iommu_of(attach->dev);
	struct hwsim_hbm *hbm = dmabuf->priv;

	if (!(hbm->flags & HWSIM_HBM_P2P) || !attach->peer2peer || !mmu) {
		attach->peer2peer = false;
		return -EOPNOTSUPP;
	}
	hwsim_iommu_get(mmu);	/* put in hwsim_hbm_detach() */
	attach->priv = mmu;
	atomic_inc(&hbm->attached);
	return 0;
}

static void hwsim_hbm_detach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct hwsim_hbm *hbm = dmabuf->priv;

	atomic_dec(&hbm->attached);
	hwsim_iommu_put(attach->priv);
}

static int hwsim_hbm_pin(struct dma_buf_attachment *attach)
{
	struct hwsim_hbm *hbm = attach->dmabuf->priv;

	if (hbm->flags & HWSIM_HBM_NO_PIN)
		return -EOPNOTSUPP;
	mutex_lock(&hbm->lock);
	hbm->pins++;
	mutex_unlock(&hbm->lock);
	return 0;
}

static void hwsim_hbm_unpin(struct dma_buf_attachment *attach)
{
	struct hwsim_hbm *hbm = attach->dmabuf->priv;

	mutex_lock(&hbm->lock);
	if (!WARN_ON(!hbm->pins))
		hbm->pins--;
	mutex_unlock(&hbm->lock);
}

/* Take the first n segments of a mapping away from the NIC. */
static void hwsim_hbm_revoke(struct hwsim_hbm_map *map, unsigned int n)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sg(map->sgt.sgl, sg, n, i)
		hwsim_iommu_unmap_raw(map->mmu, sg_dma_address(sg));
	map->revoked = true;
}

/* Map the buffer in segments; under its lock.  Return: 0 or -ENOMEM. */
static int hwsim_hbm_map_segments(struct hwsim_hbm *hbm, struct hwsim_hbm_map *map, u64 each,
				  enum dma_data_direction dir)
{
	struct scatterlist *sg;
	u64 off = 0;
	int i;

	for_each_sgtable_sg(&map->sgt, sg, i) {
		u64 len = min(each, hbm->size - off);

		/* there is no page, but whoever asks for its length gets it */
		sg_set_page(sg, NULL, len, 0);
		sg_dma_len(sg) = len;
		sg_dma_address(sg) = hwsim_iommu_map_raw(map->mmu, hbm->mem + off, len, dir,
							 hwsim_hbm_wrote, hbm);
		if (sg_dma_address(sg) == DMA_MAPPING_ERROR) {
			hwsim_hbm_revoke(map, i);
			return -ENOMEM;
		}
		off += len;
	}
	return 0;
}

static struct sg_table *hwsim_hbm_map(struct dma_buf_attachment *attach,
				      enum dma_data_direction dir)
{
	u64 each = max_t(u64, PAGE_ALIGN((u64)READ_ONCE(hbm_segment)), PAGE_SIZE);
	struct hwsim_hbm *hbm = attach->dmabuf->priv;
	struct hwsim_hbm_map *map;
	int ret;

	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		return ERR_PTR(-ENOMEM);
	map->mmu = attach->priv;
	ret = sg_alloc_table(&map->sgt, DIV_ROUND_UP_ULL(hbm->size, each), GFP_KERNEL);
	if (ret)
		goto free;
	mutex_lock(&hbm->lock);
	ret = hwsim_hbm_map_segments(hbm, map, each, dir);
	if (!ret)
		list_add(&map->list, &hbm->maps);
	mutex_unlock(&hbm->lock);
	if (ret)
		goto free_table;
	return &map->sgt;

free_table:
	sg_free_table(&map->sgt);
free:
	kfree(map);
	return ERR_PTR(ret);
}

static void hwsim_hbm_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			    enum dma_data_direction dir)
{
	struct hwsim_hbm_map *map = container_of(sgt, struct hwsim_hbm_map, sgt);
	struct hwsim_hbm *hbm = attach->dmabuf->priv;

	mutex_lock(&hbm->lock);
	list_del(&map->list);
	if (!map->revoked)
		hwsim_hbm_revoke(map, map->sgt.nents);
	mutex_unlock(&hbm->lock);
	sg_free_table(&map->sgt);
	kfree(map);
}

static void hwsim_hbm_free(struct hwsim_hbm *hbm)
{
	bitmap_free(hbm->pending);
	vfree(hbm->seen);
	vfree(hbm->mem);
	kfree(hbm);
}

static void hwsim_hbm_release(struct dma_buf *dmabuf)
{
	hwsim_hbm_free(dmabuf->priv);
}

/* No mmap and no vmap: there is no other way in. */
static const struct dma_buf_ops hwsim_hbm_fixed_ops = {
	.attach = hwsim_hbm_attach,
	.detach = hwsim_hbm_detach,
	.map_dma_buf = hwsim_hbm_map,
	.unmap_dma_buf = hwsim_hbm_unmap,
	.release = hwsim_hbm_release,
};

static const struct dma_buf_ops hwsim_hbm_movable_ops = {
	.attach = hwsim_hbm_attach,
	.detach = hwsim_hbm_detach,
	.pin = hwsim_hbm_pin,
	.unpin = hwsim_hbm_unpin,
	.map_dma_buf = hwsim_hbm_map,
	.unmap_dma_buf = hwsim_hbm_unmap,
	.release = hwsim_hbm_release,
};

static struct hwsim_hbm *hwsim_hbm_of(struct dma_buf *dmabuf)
{
	if (dmabuf->ops != &hwsim_hbm_fixed_ops && dmabuf->ops != &hwsim_hbm_movable_ops)
		return ERR_PTR(-EBADF);
	return dmabuf->priv;
}

/**
 * hwsim_hbm_create() - make a buffer
 * @size: bytes, whole pages
 * @flags: HWSIM_HBM_*
 *
 * Return: the dma-buf, all zero, with a reference for the caller; -EINVAL or
 * -ENOMEM as an ERR_PTR.
 */
struct dma_buf *hwsim_hbm_create(u64 size, u32 flags)
{
	DEFINE_DMA_BUF_EXPORT_INFO(exp);
	struct dma_buf *dmabuf;
	struct hwsim_hbm *hbm;

	if (!size || size > HWSIM_HBM_MAX || !PAGE_ALIGNED(size) || (flags & ~HWSIM_HBM_FLAGS) ||
	    ((flags & HWSIM_HBM_NO_PIN) && !(flags & HWSIM_HBM_MOVABLE)))
		return ERR_PTR(-EINVAL);
	hbm = kzalloc(sizeof(*hbm), GFP_KERNEL);
	if (!hbm)
		return ERR_PTR(-ENOMEM);
	mutex_init(&hbm->lock);
	INIT_LIST_HEAD(&hbm->maps);
	hbm->size = size;
	hbm->flags = flags;
	hbm->mem = vzalloc(size);
	if (flags & HWSIM_HBM_DELAYED) {
		hbm->seen = vzalloc(size);
		hbm->pending = bitmap_zalloc(size / PAGE_SIZE, GFP_KERNEL);
	}
	if (!hbm->mem || ((flags & HWSIM_HBM_DELAYED) && (!hbm->seen || !hbm->pending))) {
		hwsim_hbm_free(hbm);
		return ERR_PTR(-ENOMEM);
	}
	exp.exp_name = "hwsim_hbm";
	exp.ops = flags & HWSIM_HBM_MOVABLE ? &hwsim_hbm_movable_ops : &hwsim_hbm_fixed_ops;
	exp.size = size;
	exp.flags = O_RDWR | O_CLOEXEC;
	exp.priv = hbm;
	dmabuf = dma_buf_export(&exp);
	if (IS_ERR(dmabuf))
		hwsim_hbm_free(hbm);
	return dmabuf;
}
EXPORT_SYMBOL_GPL(hwsim_hbm_create);

static bool hwsim_hbm_has(const struct hwsim_hbm *hbm, u64 off, u64 len)
{
	return off <= hbm->size && len <= hbm->size - off;
}

/**
 * hwsim_hbm_flush() - what NICs wrote is seen from now on
 * @dmabuf: a buffer of this exporter
 * @off: of the first byte
 * @len: bytes; the pages that hold them are flushed
 *
 * What a NIC writes meanwhile may be seen, and stays pending.
 *
 * Context: may sleep.
 * Return: 0; -EBADF for another exporter's buffer, -EINVAL for a wrong range.
 */
int hwsim_hbm_flush(struct dma_buf *dmabuf, u64 off, u64 len)
{
	struct hwsim_hbm *hbm = hwsim_hbm_of(dmabuf);
	unsigned long page;

	if (IS_ERR(hbm))
		return PTR_ERR(hbm);
	if (!hwsim_hbm_has(hbm, off, len))
		return -EINVAL;
	mutex_lock(&hbm->lock);
	for (page = off / PAGE_SIZE; hbm->pending && page < DIV_ROUND_UP_ULL(off + len, PAGE_SIZE);
	     page++) {
		/* first the bit: a write that comes between sets it again */
		if (test_and_clear_bit(page, hbm->pending))
			memcpy(hbm->seen + page * PAGE_SIZE, hbm->mem + page * PAGE_SIZE,
			       PAGE_SIZE);
		cond_resched();
	}
	mutex_unlock(&hbm->lock);
	atomic64_inc(&hbm->flushes);
	return 0;
}
EXPORT_SYMBOL_GPL(hwsim_hbm_flush);

/**
 * hwsim_hbm_move() - move a buffer to other memory
 * @dmabuf: a buffer of this exporter
 *
 * Importers are told, and what they have fenced is waited for.  Bus addresses of
 * before are faults afterwards.
 *
 * Context: may sleep; takes the reservation.
 * Return: 0; -EBADF for another exporter's buffer, -EOPNOTSUPP for one that does
 * not move, -EBUSY while it is pinned, -ENOMEM.
 */
int hwsim_hbm_move(struct dma_buf *dmabuf)
{
	struct hwsim_hbm *hbm = hwsim_hbm_of(dmabuf);
	struct hwsim_hbm_map *map;
	void *mem;
	int ret;

	if (IS_ERR(hbm))
		return PTR_ERR(hbm);
	if (!(hbm->flags & HWSIM_HBM_MOVABLE))
		return -EOPNOTSUPP;
	mem = vzalloc(hbm->size);
	if (!mem)
		return -ENOMEM;
	ret = dma_resv_lock(dmabuf->resv, NULL);
	if (ret)
		goto free;
	/* pins change under the reservation only */
	ret = -EBUSY;
	if (hbm->pins)
		goto unlock;
	dma_buf_move_notify(dmabuf);
	dma_resv_wait_timeout(dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, false, MAX_SCHEDULE_TIMEOUT);
	mutex_lock(&hbm->lock);
	list_for_each_entry(map, &hbm->maps, list)
		if (!map->revoked)
			hwsim_hbm_revoke(map, map->sgt.nents);
	memcpy(mem, hbm->mem, hbm->size);
	swap(mem, hbm->mem);
	hbm->moves++;
	mutex_unlock(&hbm->lock);
	ret = 0;
unlock:
	dma_resv_unlock(dmabuf->resv);
free:
	vfree(mem);
	return ret;
}
EXPORT_SYMBOL_GPL(hwsim_hbm_move);

/* The tester's window; @to or @from is NULL. */
static int hwsim_hbm_touch(struct dma_buf *dmabuf, u64 off, void *to, const void *from, u64 len)
{
	struct hwsim_hbm *hbm = hwsim_hbm_of(dmabuf);

	if (IS_ERR(hbm))
		return PTR_ERR(hbm);
	if (!hwsim_hbm_has(hbm, off, len))
		return -EINVAL;
	mutex_lock(&hbm->lock);
	if (to) {
		memcpy(to, (hbm->seen ?: hbm->mem) + off, len);
	} else {
		memcpy(hbm->mem + off, from, len);
		if (hbm->seen)
			memcpy(hbm->seen + off, from, len);
	}
	mutex_unlock(&hbm->lock);
	atomic64_add(len, &hbm->peeked);
	return 0;
}

/**
 * hwsim_hbm_peek() - a test looks at what is seen
 * @dmabuf: a buffer of this exporter
 * @off: of the first byte
 * @to: where the bytes go
 * @len: how many
 *
 * Context: may sleep.
 * Return: 0; -EBADF for another exporter's buffer, -EINVAL for a wrong range.
 */
int hwsim_hbm_peek(struct dma_buf *dmabuf, u64 off, void *to, u64 len)
{
	return hwsim_hbm_touch(dmabuf, off, to, NULL, len);
}
EXPORT_SYMBOL_GPL(hwsim_hbm_peek);

/**
 * hwsim_hbm_poke() - a test writes what NICs and tests see at once
 * @dmabuf: a buffer of this exporter
 * @off: of the first byte
 * @from: the bytes
 * @len: how many
 *
 * Context: may sleep.
 * Return: 0; -EBADF for another exporter's buffer, -EINVAL for a wrong range.
 */
int hwsim_hbm_poke(struct dma_buf *dmabuf, u64 off, const void *from, u64 len)
{
	return hwsim_hbm_touch(dmabuf, off, NULL, from, len);
}
EXPORT_SYMBOL_GPL(hwsim_hbm_poke);

/**
 * hwsim_hbm_info() - what became of a buffer
 * @dmabuf: a buffer of this exporter
 * @info: filled, but for fd
 *
 * Context: may sleep.
 * Return: 0 or -EBADF for another exporter's buffer.
 */
int hwsim_hbm_info(struct dma_buf *dmabuf, struct hwsim_hbm_info *info)
{
	struct hwsim_hbm *hbm = hwsim_hbm_of(dmabuf);
	struct hwsim_hbm_map *map;

	if (IS_ERR(hbm))
		return PTR_ERR(hbm);
	mutex_lock(&hbm->lock);
	info->size = hbm->size;
	info->flags = hbm->flags;
	info->attached = atomic_read(&hbm->attached);
	info->mapped = 0;
	list_for_each_entry(map, &hbm->maps, list)
		info->mapped++;
	info->pinned = hbm->pins;
	info->moves = hbm->moves;
	info->flushes = atomic64_read(&hbm->flushes);
	info->written = atomic64_read(&hbm->written);
	info->peeked = atomic64_read(&hbm->peeked);
	info->pending = 0;
	if (hbm->pending)
		info->pending = (u64)bitmap_weight(hbm->pending, hbm->size / PAGE_SIZE) * PAGE_SIZE;
	mutex_unlock(&hbm->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(hwsim_hbm_info);

static int hwsim_hbm_ioctl_alloc(void __user *arg)
{
	struct hwsim_hbm_alloc a;
	struct dma_buf *dmabuf;
	int fd;

	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	dmabuf = hwsim_hbm_create(a.size, a.flags);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(dmabuf);
		return fd;
	}
	a.fd = fd;
	if (copy_to_user(arg, &a, sizeof(a))) {
		put_unused_fd(fd);
		dma_buf_put(dmabuf);
		return -EFAULT;
	}
	/* only now that nothing can fail any more does the process have it */
	fd_install(fd, dmabuf->file);
	return 0;
}

/* The buffer behind a process's file; put by the caller. */
static struct dma_buf *hwsim_hbm_get(int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);

	return IS_ERR(dmabuf) ? ERR_PTR(-EBADF) : dmabuf;
}

static int hwsim_hbm_ioctl_info(void __user *arg)
{
	struct hwsim_hbm_info info;
	struct dma_buf *dmabuf;
	int ret;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	dmabuf = hwsim_hbm_get(info.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	ret = hwsim_hbm_info(dmabuf, &info);
	dma_buf_put(dmabuf);
	if (!ret && copy_to_user(arg, &info, sizeof(info)))
		ret = -EFAULT;
	return ret;
}

/* PEEK and POKE by way of a page, since the process's bytes may be anywhere. */
static int hwsim_hbm_window(struct dma_buf *dmabuf, const struct hwsim_hbm_range *r, bool write)
{
	struct hwsim_hbm *hbm = hwsim_hbm_of(dmabuf);
	u8 __user *data = u64_to_user_ptr(r->data);
	void *page;
	u64 at, n;
	int ret = 0;

	if (IS_ERR(hbm))
		return PTR_ERR(hbm);
	if (!hwsim_hbm_has(hbm, r->off, r->len))
		return -EINVAL;
	page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	for (at = 0; at < r->len && !ret; at += n) {
		n = min_t(u64, r->len - at, PAGE_SIZE);
		if (write) {
			if (copy_from_user(page, data + at, n))
				ret = -EFAULT;
			else
				ret = hwsim_hbm_poke(dmabuf, r->off + at, page, n);
		} else {
			ret = hwsim_hbm_peek(dmabuf, r->off + at, page, n);
			if (!ret && copy_to_user(data + at, page, n))
				ret = -EFAULT;
		}
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
	}
	kfree(page);
	return ret;
}

static int hwsim_hbm_ioctl_range(unsigned int cmd, void __user *arg)
{
	struct hwsim_hbm_range r;
	struct dma_buf *dmabuf;
	int ret;

	if (copy_from_user(&r, arg, sizeof(r)))
		return -EFAULT;
	if (r.reserved)
		return -EINVAL;
	if (cmd == HWSIM_HBM_MOVE && (r.off || r.len))
		return -EINVAL;
	if (cmd != HWSIM_HBM_TEST_PEEK && cmd != HWSIM_HBM_TEST_POKE && r.data)
		return -EINVAL;
	dmabuf = hwsim_hbm_get(r.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (cmd == HWSIM_HBM_MOVE)
		ret = hwsim_hbm_move(dmabuf);
	else if (cmd == HWSIM_HBM_FLUSH)
		ret = hwsim_hbm_flush(dmabuf, r.off, r.len);
	else
		ret = hwsim_hbm_window(dmabuf, &r, cmd == HWSIM_HBM_TEST_POKE);
	dma_buf_put(dmabuf);
	return ret;
}

static long hwsim_hbm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case HWSIM_HBM_ALLOC:
		return hwsim_hbm_ioctl_alloc(p);
	case HWSIM_HBM_INFO:
		return hwsim_hbm_ioctl_info(p);
	case HWSIM_HBM_FLUSH:
	case HWSIM_HBM_MOVE:
	case HWSIM_HBM_TEST_PEEK:
	case HWSIM_HBM_TEST_POKE:
		return hwsim_hbm_ioctl_range(cmd, p);
	}
	return -ENOTTY;
}

static const struct file_operations hwsim_hbm_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = hwsim_hbm_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice hwsim_hbm_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hwsim_hbm",
	.fops = &hwsim_hbm_fops,
	.mode = 0600,
};

/**
 * hwsim_hbm_init() - make /dev/hwsim_hbm
 *
 * Return: 0 or a negative error.
 */
int hwsim_hbm_init(void)
{
	return misc_register(&hwsim_hbm_misc);
}

/**
 * hwsim_hbm_exit() - undo hwsim_hbm_init()
 *
 * Buffers hold the module, so that none is left.
 */
void hwsim_hbm_exit(void)
{
	misc_deregister(&hwsim_hbm_misc);
}
