// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is mapped: records of mappings, their pieces, and the tree and the
 * quarantine that hold them.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include "iommu_impl.h"

/* Callers of the DMA API may hold any lock, so nothing here may wait. */
#define HWSIM_GFP		(GFP_ATOMIC | __GFP_NOWARN)
#define HWSIM_BOUNCE_MAX	SZ_16K
#define HWSIM_ALIGN_MAX		SZ_2M

static unsigned int iommu_quarantine = 4096;
module_param(iommu_quarantine, uint, 0644);
MODULE_PARM_DESC(iommu_quarantine, "Mappings that are remembered after they are gone, per device");

/**
 * hwsim_map_new() - a record without pieces, not yet known to the device
 * @mmu: the device's IOMMU
 * @kind: of the call that maps
 * @dir: of the mapping
 *
 * Return: the record, which hwsim_map_free() frees, or NULL without memory.
 */
struct hwsim_map *hwsim_map_new(struct hwsim_iommu *mmu, enum hwsim_map_kind kind,
				enum dma_data_direction dir)
{
	struct hwsim_map *map = kzalloc(sizeof(*map), HWSIM_GFP);

	if (!map)
		return NULL;
	map->kind = kind;
	map->dir = dir;
	map->owner = hwsim_stack_here(mmu);
	map->mapped_ns = ktime_get_ns();
	map->pid = task_pid_nr(current);
	memcpy(map->comm, current->comm, sizeof(map->comm));
	map->comm[sizeof(map->comm) - 1] = 0;
	return map;
}

/**
 * hwsim_map_nth() - a piece by its number
 * @map: the record
 * @n: below map->npieces
 *
 * Return: the piece.  Pieces are in the order of their bus addresses, which is
 * the client's order too.
 */
struct hwsim_piece *hwsim_map_nth(struct hwsim_map *map, unsigned int n)
{
	if (n == 0)
		return &map->one;
	return &map->chunk[(n - 1) / HWSIM_CHUNK][(n - 1) % HWSIM_CHUNK];
}

/* Make room for one more piece; the array of chunks doubles when it is full. */
static struct hwsim_piece *hwsim_map_grow(struct hwsim_map *map)
{
	unsigned int n = map->npieces;

	if (n && (n - 1) / HWSIM_CHUNK == map->nchunks) {
		struct hwsim_piece *chunk;

		if (map->nchunks == 0 || is_power_of_2(map->nchunks)) {
			struct hwsim_piece **more;

			more = krealloc_array(map->chunk, 2 * (map->nchunks ?: 1), sizeof(*more),
					      HWSIM_GFP);
			if (!more)
				return NULL;
			map->chunk = more;
		}
		chunk = kmalloc(PAGE_SIZE, HWSIM_GFP);
		if (!chunk)
			return NULL;
		map->chunk[map->nchunks++] = chunk;
	}
	map->npieces++;
	return hwsim_map_nth(map, n);
}

/**
 * hwsim_map_add() - add bytes behind those that a record has
 * @map: a record that is in no tree
 * @off: where they start on the bus, from the mapping's start
 * @cpu: where they are; NULL for none
 * @len: how many
 * @bounce: the NIC gets copies of them
 *
 * Return: 0 or -ENOMEM, when the record is only good for hwsim_map_free().
 */
int hwsim_map_add(struct hwsim_map *map, u64 off, void *cpu, size_t len, bool bounce)
{
	struct hwsim_piece *p;
	size_t n;

	map->bytes += len;
	if (map->npieces && cpu && !bounce) {
		p = hwsim_map_nth(map, map->npieces - 1);
		if (p->off + p->len == off && p->cpu + p->len == cpu) {
			p->len += len;
			return 0;
		}
	}
	for (; len; off += n, cpu += n, len -= n) {
		n = bounce ? min_t(size_t, len, HWSIM_BOUNCE_MAX) : len;
		p = hwsim_map_grow(map);
		if (!p)
			return -ENOMEM;
		*p = (struct hwsim_piece){ .off = off, .len = n, .cpu = cpu };
		if (!bounce)
			continue;
		p->bounce = kmalloc(n, HWSIM_GFP);
		if (!p->bounce)
			return -ENOMEM;
		/*
		 * Whatever the direction: what the NIC does not write has to be
		 * the same after it is unmapped.  With DMA_ATTR_SKIP_CPU_SYNC
		 * the client syncs itself, and stale bytes are what it deserves.
		 */
		if (map->quiet)
			memset(p->bounce, 0xdb, n);
		else
			memcpy(p->bounce, cpu, n);
	}
	return 0;
}

/**
 * hwsim_map_insert() - give a record its bus addresses, and make it live
 * @mmu: the device's IOMMU
 * @map: a record with its pieces
 * @span: bytes of the bus that it needs
 *
 * Context: any; takes hwsim_iommu_lock.
 * Return: 0, or -ENOSPC when the device has used up its window.
 */
int hwsim_map_insert(struct hwsim_iommu *mmu, struct hwsim_map *map, u64 span)
{
	struct rb_node **link, *parent = NULL;
	unsigned long flags;
	u64 align, iova;

	span = PAGE_ALIGN(span);
	align = min_t(u64, roundup_pow_of_two(span), HWSIM_ALIGN_MAX);
	map->span = span + PAGE_SIZE;
	write_lock_irqsave(&hwsim_iommu_lock, flags);
	iova = ALIGN(mmu->next, align);
	if (iova + map->span > mmu->base + BIT_ULL(HWSIM_WINDOW_SHIFT)) {
		write_unlock_irqrestore(&hwsim_iommu_lock, flags);
		pr_err_once("hwsim: %s has used up its bus addresses\n", mmu->name);
		return -ENOSPC;
	}
	mmu->next = iova + map->span;
	map->iova = iova;
	/* addresses only grow, so that the new one is the rightmost */
	for (link = &mmu->live.rb_node; *link; link = &parent->rb_right)
		parent = *link;
	rb_link_node(&map->node, parent, link);
	rb_insert_color(&map->node, &mmu->live);
	write_unlock_irqrestore(&hwsim_iommu_lock, flags);
	hwsim_stat_add(mmu, HWSIM_IOMMU_MAPS, 1);
	hwsim_stat_add(mmu, HWSIM_IOMMU_LIVE, 1);
	hwsim_stat_add(mmu, HWSIM_IOMMU_LIVE_BYTES, map->bytes);
	return 0;
}

/**
 * hwsim_map_find() - the live mapping that an address belongs to
 * @mmu: the device's IOMMU
 * @addr: on the bus
 *
 * Context: hwsim_iommu_lock held, at least for reading.
 * Return: the record whose part of the window @addr is in, its guard included,
 * or NULL.
 */
struct hwsim_map *hwsim_map_find(struct hwsim_iommu *mmu, u64 addr)
{
	struct rb_node *node = mmu->live.rb_node;
	struct hwsim_map *map;

	lockdep_assert_held(&hwsim_iommu_lock);
	while (node) {
		map = rb_entry(node, struct hwsim_map, node);
		if (addr < map->iova)
			node = node->rb_left;
		else if (addr - map->iova >= map->span)
			node = node->rb_right;
		else
			return map;
	}
	return NULL;
}

/**
 * hwsim_map_dead() - the mapping that an address belonged to
 * @mmu: the device's IOMMU
 * @addr: on the bus
 *
 * Context: hwsim_iommu_lock held, at least for reading.  Slow: for reports.
 * Return: a record in the quarantine, or NULL.
 */
struct hwsim_map *hwsim_map_dead(struct hwsim_iommu *mmu, u64 addr)
{
	struct hwsim_map *map;

	lockdep_assert_held(&hwsim_iommu_lock);
	list_for_each_entry(map, &mmu->dead, list)
		if (addr - map->iova < map->span)
			return map;
	return NULL;
}

/**
 * hwsim_map_piece() - the piece that an offset is in, or the last before it
 * @map: a record with pieces
 * @off: on the bus, from the mapping's start
 *
 * Return: the piece; NULL when all begin after @off.
 */
struct hwsim_piece *hwsim_map_piece(struct hwsim_map *map, u64 off)
{
	unsigned int lo = 0, hi = map->npieces;

	/* all before lo begin at or before off, all from hi on behind it */
	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (hwsim_map_nth(map, mid)->off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? hwsim_map_nth(map, lo - 1) : NULL;
}

/**
 * hwsim_map_free_pieces() - let go of what a record needs to be reached
 * @map: a record that is in no tree
 */
void hwsim_map_free_pieces(struct hwsim_map *map)
{
	unsigned int i;

	for (i = 0; i < map->npieces; i++)
		kfree(hwsim_map_nth(map, i)->bounce);
	for (i = 0; i < map->nchunks; i++)
		kfree(map->chunk[i]);
	kfree(map->chunk);
	map->chunk = NULL;
	map->npieces = 0;
	map->nchunks = 0;
}

/**
 * hwsim_map_free() - free a record that is neither in the tree nor quarantined
 * @map: the record, or NULL
 */
void hwsim_map_free(struct hwsim_map *map)
{
	if (!map)
		return;
	hwsim_map_free_pieces(map);
	kfree(map);
}

/**
 * hwsim_map_bury() - put a record that has left the tree into the quarantine
 * @mmu: the device's IOMMU
 * @map: the record; its pieces are freed
 *
 * Context: any; takes hwsim_iommu_lock.
 */
void hwsim_map_bury(struct hwsim_iommu *mmu, struct hwsim_map *map)
{
	struct hwsim_map *old, *tmp;
	unsigned long flags;
	LIST_HEAD(out);

	hwsim_map_free_pieces(map);
	map->freer = hwsim_stack_here(mmu);
	map->freed_ns = ktime_get_ns();
	hwsim_stat_add(mmu, HWSIM_IOMMU_LIVE, -1);
	hwsim_stat_add(mmu, HWSIM_IOMMU_LIVE_BYTES, -(s64)map->bytes);
	write_lock_irqsave(&hwsim_iommu_lock, flags);
	list_add_tail(&map->list, &mmu->dead);
	mmu->ndead++;
	while (mmu->ndead > READ_ONCE(iommu_quarantine)) {
		list_move(mmu->dead.next, &out);
		mmu->ndead--;
	}
	write_unlock_irqrestore(&hwsim_iommu_lock, flags);
	list_for_each_entry_safe(old, tmp, &out, list)
		hwsim_map_free(old);
}

/**
 * hwsim_piece_sync() - copy between the client's bytes and the NIC's
 * @mmu: the device's IOMMU
 * @p: a piece; without a bounce buffer nothing is to be done
 * @at: from the piece's start
 * @n: bytes, which the piece has
 * @to_device: else to the CPU
 */
void hwsim_piece_sync(struct hwsim_iommu *mmu, struct hwsim_piece *p, size_t at, size_t n,
		      bool to_device)
{
	if (!p->bounce)
		return;
	if (to_device)
		memcpy(p->bounce + at, p->cpu + at, n);
	else
		memcpy(p->cpu + at, p->bounce + at, n);
	hwsim_stat_add(mmu, HWSIM_IOMMU_BOUNCE_BYTES, n);
}
