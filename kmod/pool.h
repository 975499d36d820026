/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A pool: pinned pages, with a file descriptor of its own.
 *
 * Lifetime: kref for those who know it (its file, which mappings hold too;
 * attachments of contexts; groups), and a percpu_ref for transfers that use
 * its memory.  When the last kref goes, the percpu_ref is killed, and when the
 * last transfer has ended a worker unmaps it from every device and frees the
 * pages.  Pages that somebody else pinned (O_DIRECT, ibv_reg_mr) live on by
 * their own page references.
 */
#ifndef DMS_POOL_H
#define DMS_POOL_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "core/seg.h"
#include "core/tile.h"

struct dms_ibdev;
struct ib_sge;
struct file;

/* and one place for TCP, dms_ibdev_tcp() */
#define DMS_IBDEVS_MAX	33

/* DMA addresses of a pool on one device, one per chunk. */
struct dms_pool_map {
	struct dms_ibdev	*ibdev;
	struct list_head	ibdev_node;	/* ibdev->maps, ibdev->maps_lock */
	struct dms_pool		*pool;
	u64			dma[];
};

struct dms_pool {
	struct kref		ref;
	struct percpu_ref	inflight;
	int __percpu		*transfers;	/* the same count again, for the operator */
	struct work_struct	free_work;
	refcount_t		mem;		/* of the structure: see pool_map.c */
	struct rcu_head		rcu;		/* lookups by handle */
	struct list_head	node;		/* all pools, for the operator */
	u32			id;
	kuid_t			owner;
	u64			size;
	u32			chunk_shift;	/* log2 of bytes of one contiguous chunk */
	u32			nr_chunks;
	struct page		**chunk;	/* first page of each */
	atomic_t		attachments;	/* handles of contexts */
	atomic_t		mmaps;		/* areas of processes */
	struct mutex		map_lock;	/* makes and ends maps; process context */
	struct dms_pool_map	*maps[DMS_IBDEVS_MAX];	/* smp_load_acquire / smp_store_release */
};

/* -EINVAL, -ENOMEM, -EDQUOT */
struct dms_pool *dms_pool_create(u64 size, int numa_node);
void dms_pool_get(struct dms_pool *pool);
void dms_pool_put(struct dms_pool *pool);
/* The pool behind a file descriptor, with a reference, or ERR_PTR(-EBADF). */
struct dms_pool *dms_pool_from_fd(int fd);
/* New file on the pool; takes over no reference. */
struct file *dms_pool_file(struct dms_pool *pool);

/* A transfer begins or ends; false once the pool is going.  Any context. */
bool dms_pool_tryget_transfer(struct dms_pool *pool);
void dms_pool_put_transfer(struct dms_pool *pool);
void dms_pool_share_transfer(struct dms_pool *pool);

/* For operators: calls fn on each pool, with a reference and no lock; until fn returns non-zero. */
int dms_pool_for_each(int (*fn)(struct dms_pool *pool, void *arg), void *arg);
/* Transfers that use it now, about. */
u32 dms_pool_transfers(const struct dms_pool *pool);
/* Largest pool that may be made, in bytes. */
u64 dms_pool_max(void);

/* Makes it usable on a device; does nothing when it is.  May sleep. */
int dms_pool_map(struct dms_pool *pool, struct dms_ibdev *ibdev);
/* Is it?  Any context. */
bool dms_pool_mapped(const struct dms_pool *pool, const struct dms_ibdev *ibdev);
/* All maps of a device go; called when every path on it is fenced.  May sleep. */
void dms_pool_unmap_ibdev(struct dms_ibdev *ibdev);

/*
 * What the data path calls: the range was checked, a transfer is held, and the
 * pool is mapped on the device.
 */
/* Fills at most @max entries; returns how many, or -EMSGSIZE. */
int dms_pool_sges(struct dms_pool *pool, struct dms_ibdev *ibdev, u64 off, u32 len,
		  struct ib_sge *sge, int max);
/* Bytes from @off on that @max entries can cover, at most @len. */
u32 dms_pool_sge_span(const struct dms_pool *pool, u64 off, u32 len, int max);
/* The same of @len bytes from byte @at on of a tile. */
int dms_pool_tile_sges(struct dms_pool *pool, struct dms_ibdev *ibdev,
		       const struct dms_tile *tile, u32 at, u32 len, struct ib_sge *sge, int max);
u32 dms_pool_tile_span(const struct dms_pool *pool, const struct dms_tile *tile, u32 at, u32 len,
		       int max);
/* ib_dma_sync for the CPU after the device wrote */
void dms_pool_sync_for_cpu(struct dms_pool *pool, struct dms_ibdev *ibdev, u64 off, u32 len);
/* ib_dma_sync for the device before it reads */
void dms_pool_sync_for_device(struct dms_pool *pool, struct dms_ibdev *ibdev, u64 off, u32 len);
void dms_pool_tile_sync_for_cpu(struct dms_pool *pool, struct dms_ibdev *ibdev,
				const struct dms_tile *tile, u32 at, u32 len);
void dms_pool_tile_sync_for_device(struct dms_pool *pool, struct dms_ibdev *ibdev,
				   const struct dms_tile *tile, u32 at, u32 len);

/* Of the structure alone, see pool->mem. */
void dms_pool_put_mem(struct dms_pool *pool);
/* pool_map.c, for pool.c: ends the maps of a pool that nobody uses any more.  May sleep. */
void dms_pool_unmap_all(struct dms_pool *pool);

/* Bytes of chunk @i: all are of one size but the last, which may be shorter. */
static inline u64 dms_pool_chunk_len(const struct dms_pool *pool, u32 i)
{
	u64 at = (u64)i << pool->chunk_shift;

	return min_t(u64, 1ULL << pool->chunk_shift, pool->size - at);
}

/**
 * dms_pool_addr() - the kernel's address of a byte
 * @pool: pool; the range was checked, and a transfer is held
 * @off: the byte
 * @len: in: most that is wanted, not 0; out: what is contiguous there, at most
 *       that
 *
 * For eager.c alone, which holds every copy of payload that there is.
 *
 * Context: Any.
 * Return: address.
 */
static inline void *dms_pool_addr(const struct dms_pool *pool, u64 off, u32 *len)
{
	u32 size = 1U << pool->chunk_shift, at = off & (size - 1);

	*len = min(*len, size - at);
	return page_address(pool->chunk[off >> pool->chunk_shift]) + at;
}

#endif /* DMS_POOL_H */
