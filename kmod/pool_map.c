// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools on devices: DMA addresses, made once per device, and what the data
 * path asks.
 *
 * A map is on two lists, the pool's and the device's, and can be ended from both
 * sides: the pool is freed, or the device goes.  Both do it under
 * pool->map_lock, so that it is done once.  The device's side finds the map under
 * ibdev->maps_lock, the inner lock; it takes a reference on the structure of
 * the pool, lets go, takes the locks in order, and looks again.  A map leaves
 * the device's list only after its addresses are unmapped, so that an empty list
 * means that the device is free of us.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "fault.h"
#include "ibdev.h"
#include "pool.h"

/*
 * A chunk on a device; without one, TCP's, the address is the CPU's, as with the devices
 * that are drivers alone (ib_uses_virt_dma()).
 */
static int chunk_map(struct dms_ibdev *d, struct page *page, u64 len, u64 *dma)
{
	if (!d->dev) {
		*dma = (uintptr_t)page_address(page);
		return *dma ? 0 : -EIO;
	}
	*dma = ib_dma_map_page(d->dev, page, 0, len, DMA_BIDIRECTIONAL);
	return ib_dma_mapping_error(d->dev, *dma) ? -EIO : 0;
}

static void chunk_unmap(struct dms_ibdev *d, u64 dma, u64 len)
{
	if (d->dev)
		ib_dma_unmap_page(d->dev, dma, len, DMA_BIDIRECTIONAL);
}

/* The first @n chunks; map_lock is held. */
static void pool_dma_unmap(struct dms_pool *pool, struct dms_pool_map *map, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		chunk_unmap(map->ibdev, map->dma[i], dms_pool_chunk_len(pool, i));
		cond_resched();
	}
}

static int pool_dma_map(struct dms_pool *pool, struct dms_pool_map *map)
{
	u32 i;

	for (i = 0; i < pool->nr_chunks; i++) {
		if (chunk_map(map->ibdev, pool->chunk[i], dms_pool_chunk_len(pool, i),
			      &map->dma[i])) {
			/* swiotlb, for one, takes no chunk above 256 KiB */
			pr_warn_ratelimited("dmastream: %s cannot map %llu bytes at once for DMA (bounce buffers or a full IOMMU); pool %u cannot be used on it\n",
					    dms_ibdev_name(map->ibdev),
					    dms_pool_chunk_len(pool, i), pool->id);
			pool_dma_unmap(pool, map, i);
			return -EIO;
		}
		cond_resched();
	}
	return 0;
}

static struct dms_pool_map *pool_map_new(struct dms_pool *pool, struct dms_ibdev *ibdev)
{
	struct dms_pool_map *map;

	map = dms_fault_alloc(POOL_MAP) ? NULL :
	      kvzalloc(struct_size(map, dma, pool->nr_chunks), GFP_KERNEL);
	if (!map)
		return NULL;
	kref_get(&ibdev->ref);	/* put in pool_map_free() */
	map->ibdev = ibdev;
	map->pool = pool;
	return map;
}

static void pool_map_free(struct dms_pool_map *map)
{
	dms_ibdev_put(map->ibdev);
	kvfree(map);
}

/**
 * dms_pool_map() - makes a pool usable on a device
 * @pool: pool, of which the caller has a reference or a transfer
 * @ibdev: device, on which the caller has a path, so that it is not unmapped
 *         meanwhile
 *
 * Does nothing when it is.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM, -EIO (the device cannot), -ENODEV (it is going).
 */
int dms_pool_map(struct dms_pool *pool, struct dms_ibdev *ibdev)
{
	struct dms_pool_map *map;
	int err = 0;

	/* acquire: with the release below; the addresses are there */
	if (smp_load_acquire(&pool->maps[ibdev->index]))
		return 0;

	mutex_lock(&pool->map_lock);
	if (pool->maps[ibdev->index])
		goto unlock;
	err = -ENOMEM;
	map = pool_map_new(pool, ibdev);
	if (!map)
		goto unlock;
	err = pool_dma_map(pool, map);
	if (err)
		goto free_map;

	mutex_lock(&ibdev->maps_lock);
	if (READ_ONCE(ibdev->going))
		err = -ENODEV;
	else
		list_add_tail(&map->ibdev_node, &ibdev->maps);
	mutex_unlock(&ibdev->maps_lock);
	if (err)
		goto unmap;

	/* release: with the acquire above, and the one in pool_map_of() */
	smp_store_release(&pool->maps[ibdev->index], map);
	mutex_unlock(&pool->map_lock);
	return 0;

unmap:
	pool_dma_unmap(pool, map, pool->nr_chunks);
free_map:
	pool_map_free(map);
unlock:
	mutex_unlock(&pool->map_lock);
	return err;
}

/**
 * dms_pool_mapped() - is a pool usable on a device?
 * @pool: pool
 * @ibdev: device
 *
 * Context: Any.
 */
bool dms_pool_mapped(const struct dms_pool *pool, const struct dms_ibdev *ibdev)
{
	return READ_ONCE(pool->maps[ibdev->index]);
}

/* map_lock is held; nothing of the device uses the addresses any more. */
static void pool_unmap(struct dms_pool *pool, u32 index)
{
	struct dms_pool_map *map = pool->maps[index];

	lockdep_assert_held(&pool->map_lock);
	if (!map)
		return;
	WRITE_ONCE(pool->maps[index], NULL);
	pool_dma_unmap(pool, map, pool->nr_chunks);
	mutex_lock(&map->ibdev->maps_lock);
	list_del(&map->ibdev_node);
	mutex_unlock(&map->ibdev->maps_lock);
	pool_map_free(map);
}

/**
 * dms_pool_unmap_all() - the pool goes
 * @pool: pool that no transfer uses and nobody can find
 *
 * Context: Process context, may sleep.
 */
void dms_pool_unmap_all(struct dms_pool *pool)
{
	u32 i;

	mutex_lock(&pool->map_lock);
	for (i = 0; i < DMS_IBDEVS_MAX; i++)
		pool_unmap(pool, i);
	mutex_unlock(&pool->map_lock);
}

/**
 * dms_pool_unmap_ibdev() - the device goes
 * @ibdev: device that is going, whose paths are all fenced and gone
 *
 * A map that is on the device's list has not been ended by its pool, and so the
 * structure of the pool is there: pool_free() puts its reference on it after it
 * ended the maps.
 *
 * Context: Process context, may sleep.
 */
void dms_pool_unmap_ibdev(struct dms_ibdev *ibdev)
{
	struct dms_pool_map *map;
	struct dms_pool *pool;

	for (;;) {
		mutex_lock(&ibdev->maps_lock);
		map = list_first_entry_or_null(&ibdev->maps, struct dms_pool_map, ibdev_node);
		if (map) {
			pool = map->pool;
			refcount_inc(&pool->mem);
		}
		mutex_unlock(&ibdev->maps_lock);
		if (!map)
			break;

		mutex_lock(&pool->map_lock);
		/* none when the pool's side was faster */
		pool_unmap(pool, ibdev->index);
		mutex_unlock(&pool->map_lock);
		dms_pool_put_mem(pool);
	}
}

/* The addresses on a device; the caller promises that the pool is mapped there. */
static struct dms_pool_map *pool_map_of(struct dms_pool *pool, struct dms_ibdev *ibdev)
{
	/* acquire: with the release in dms_pool_map() */
	struct dms_pool_map *map = smp_load_acquire(&pool->maps[ibdev->index]);

	WARN_ON_ONCE(!map);
	return map;
}

/* From byte @off on, at most @len, what lies in one chunk: which, and where in it. */
static u32 pool_piece(const struct dms_pool *pool, u64 off, u32 len, u32 *chunk, u32 *at)
{
	u64 size = 1ULL << pool->chunk_shift;

	*chunk = off >> pool->chunk_shift;
	*at = off & (size - 1);
	return min_t(u64, len, size - *at);
}

/**
 * dms_pool_sges() - a range as scatter/gather entries
 * @pool: pool; the range was checked, and a transfer is held
 * @ibdev: device on which it is mapped
 * @off: where the range begins, in bytes
 * @len: its length
 * @sge: out: address and length of each piece; the lkey is left alone
 * @max: entries that fit
 *
 * Context: Any.
 * Return: entries used, -EMSGSIZE when they do not suffice, -ENODEV when the
 * promise was broken.
 */
int dms_pool_sges(struct dms_pool *pool, struct dms_ibdev *ibdev, u64 off, u32 len,
		  struct ib_sge *sge, int max)
{
	struct dms_pool_map *map = pool_map_of(pool, ibdev);
	u32 chunk, at, n;
	int used = 0;

	if (!map)
		return -ENODEV;
	for (; len; off += n, len -= n) {
		if (used >= max)
			return -EMSGSIZE;
		n = pool_piece(pool, off, len, &chunk, &at);
		sge[used].addr = map->dma[chunk] + at;
		sge[used].length = n;
		used++;
	}
	return used;
}

/**
 * dms_pool_sge_span() - how far so many entries reach
 * @pool: pool; the range was checked
 * @off: where the range begins, in bytes
 * @len: most that is wanted
 * @max: entries
 *
 * Context: Any.
 * Return: bytes that dms_pool_sges() can cover with @max entries, at most @len.
 */
u32 dms_pool_sge_span(const struct dms_pool *pool, u64 off, u32 len, int max)
{
	u64 size = 1ULL << pool->chunk_shift;

	if (max <= 0)
		return 0;
	return min_t(u64, len, ((u64)max << pool->chunk_shift) - (off & (size - 1)));
}

/**
 * dms_pool_sync_for_cpu() - after the device wrote
 * @pool: pool; the range was checked, and a transfer is held
 * @ibdev: device on which it is mapped
 * @off: where the range begins, in bytes
 * @len: its length
 *
 * Context: Any.
 */
void dms_pool_sync_for_cpu(struct dms_pool *pool, struct dms_ibdev *ibdev, u64 off, u32 len)
{
	struct dms_pool_map *map = pool_map_of(pool, ibdev);
	u32 chunk, at, n;

	if (!ibdev->dev)
		return;
	for (; map && len; off += n, len -= n) {
		n = pool_piece(pool, off, len, &chunk, &at);
		ib_dma_sync_single_for_cpu(ibdev->dev, map->dma[chunk] + at, n,
					   DMA_FROM_DEVICE);
	}
}

/**
 * dms_pool_sync_for_device() - before the device reads
 * @pool: pool; the range was checked, and a transfer is held
 * @ibdev: device on which it is mapped
 * @off: where the range begins, in bytes
 * @len: its length
 *
 * Context: Any.
 */
void dms_pool_sync_for_device(struct dms_pool *pool, struct dms_ibdev *ibdev, u64 off, u32 len)
{
	struct dms_pool_map *map = pool_map_of(pool, ibdev);
	u32 chunk, at, n;

	if (!ibdev->dev)
		return;
	for (; map && len; off += n, len -= n) {
		n = pool_piece(pool, off, len, &chunk, &at);
		ib_dma_sync_single_for_device(ibdev->dev, map->dma[chunk] + at, n,
					      DMA_TO_DEVICE);
	}
}

/* ---- the same of tiles; a range is one of a single row ---- */

/* From byte @at on, at most @len, what lies in one row. */
static struct dms_elem pool_row(const struct dms_tile *tile, u32 at, u32 len)
{
	struct dms_elem row;

	if (WARN_ON_ONCE(!dms_tile_at(tile, at, &row)))
		return (struct dms_elem){ .len = 0 };
	row.len = min(row.len, len);
	return row;
}

/**
 * dms_pool_tile_sges() - a part of a tile as scatter/gather entries
 * @pool: pool; the tile was checked, and a transfer is held
 * @ibdev: device on which it is mapped
 * @tile: tile
 * @at: byte of its message
 * @len: bytes from there on
 * @sge: out: address and length of each piece; the lkey is left alone
 * @max: entries that fit
 *
 * Context: Any.
 * Return: as dms_pool_sges().
 */
int dms_pool_tile_sges(struct dms_pool *pool, struct dms_ibdev *ibdev,
		       const struct dms_tile *tile, u32 at, u32 len, struct ib_sge *sge, int max)
{
	struct dms_elem row;
	int n, used = 0;

	for (; len; at += row.len, len -= row.len) {
		row = pool_row(tile, at, len);
		if (!row.len)
			return -ENODEV;
		n = dms_pool_sges(pool, ibdev, row.off, row.len, sge + used, max - used);
		if (n < 0)
			return n;
		used += n;
	}
	return used;
}

/**
 * dms_pool_tile_span() - how far so many entries reach in a tile
 * @pool: pool; the tile was checked
 * @tile: tile
 * @at: byte of its message
 * @len: most that is wanted
 * @max: entries
 *
 * Context: Any.
 * Return: bytes that dms_pool_tile_sges() can cover with @max entries, at most @len.
 */
u32 dms_pool_tile_span(const struct dms_pool *pool, const struct dms_tile *tile, u32 at, u32 len,
		       int max)
{
	struct dms_elem row;
	u32 span = 0, n;

	while (span < len && max > 0) {
		row = pool_row(tile, at + span, len - span);
		n = dms_pool_sge_span(pool, row.off, row.len, max);
		span += n;
		if (!n || n < row.len)
			break;
		max -= ((row.off + n - 1) >> pool->chunk_shift) -
		       (row.off >> pool->chunk_shift) + 1;
	}
	return span;
}

/**
 * dms_pool_tile_sync_for_cpu() - after the device wrote to a part of a tile
 * @pool: pool; the tile was checked, and a transfer is held
 * @ibdev: device on which it is mapped
 * @tile: tile
 * @at: byte of its message
 * @len: bytes from there on
 *
 * Context: Any.
 */
void dms_pool_tile_sync_for_cpu(struct dms_pool *pool, struct dms_ibdev *ibdev,
				const struct dms_tile *tile, u32 at, u32 len)
{
	struct dms_elem row;

	for (; len; at += row.len, len -= row.len) {
		row = pool_row(tile, at, len);
		if (!row.len)
			break;
		dms_pool_sync_for_cpu(pool, ibdev, row.off, row.len);
	}
}

/**
 * dms_pool_tile_sync_for_device() - before the device reads or writes a part of a tile
 * @pool: pool; the tile was checked, and a transfer is held
 * @ibdev: device on which it is mapped
 * @tile: tile
 * @at: byte of its message
 * @len: bytes from there on
 *
 * Context: Any.
 */
void dms_pool_tile_sync_for_device(struct dms_pool *pool, struct dms_ibdev *ibdev,
				   const struct dms_tile *tile, u32 at, u32 len)
{
	struct dms_elem row;

	for (; len; at += row.len, len -= row.len) {
		row = pool_row(tile, at, len);
		if (!row.len)
			break;
		dms_pool_sync_for_device(pool, ibdev, row.off, row.len);
	}
}
