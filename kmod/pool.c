// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools: their pages, their files, and their end.
 *
 * The end of a pool, in order:
 *  1. the last of those who know it puts its kref: nobody can find it any more,
 *     and percpu_ref_kill() lets no transfer begin;
 *  2. the last transfer ends: pool_idle() queues free_work;
 *  3. pool_free(): it is taken off the operator's list, unmapped from every
 *     device, and its pages and its owner's quota are given back;
 *  4. the structure itself goes a grace period after dms_pool_put_mem().
 *
 * Pages are split, so that each has its own reference count: who pinned one by
 * other means (O_DIRECT, vmsplice, ibv_reg_mr) keeps just that one.
 */
#include "pool.h"

#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "fault.h"
#include "quota.h"
#include "shmem.h"
#include "stats.h"
#include "wq.h"

#define DMS_POOL_BYTES_MAX	(64ULL << 30)

/* Chunks are at most 2 MiB with pages of 4 KiB, and what the page allocator has. */
#define DMS_POOL_ORDER_MAX	min(9, ilog2(MAX_ORDER_NR_PAGES))

/* pools_lock: the list of all pools.  Process context; innermost. */
static DEFINE_MUTEX(pools_lock);
static LIST_HEAD(pools);
static u32 pools_id;

/**
 * dms_pool_max() - largest pool that may be made
 *
 * Context: Any.
 * Return: bytes.
 */
u64 dms_pool_max(void)
{
	return min_t(u64, DMS_POOL_BYTES_MAX, ((u64)totalram_pages() << PAGE_SHIFT) / 2);
}

/* Room for the chunks, all empty, when they have 2^@order pages each. */
static struct page **pool_chunk_array(struct dms_pool *pool, unsigned int order, u32 *nr)
{
	u32 shift = PAGE_SHIFT + order;

	*nr = (pool->size + (1ULL << shift) - 1) >> shift;
	return kvcalloc(*nr, sizeof(struct page *), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

/*
 * Memory is too fragmented for chunks of this size.  What was allocated is kept
 * and counted as twice as many chunks of half the size.
 */
static int pool_halve(struct dms_pool *pool, unsigned int order, u32 *have)
{
	struct page **chunk;
	u32 i, nr;

	chunk = pool_chunk_array(pool, order - 1, &nr);
	if (!chunk)
		return -ENOMEM;
	for (i = 0; i < *have; i++) {
		chunk[2 * i] = pool->chunk[i];
		chunk[2 * i + 1] = pool->chunk[i] + (1UL << (order - 1));
	}
	kvfree(pool->chunk);
	pool->chunk = chunk;
	pool->nr_chunks = nr;
	pool->chunk_shift = PAGE_SHIFT + order - 1;
	*have *= 2;
	return 0;
}

/* One chunk of zeroed pages, or NULL; without a word in the log and without the OOM killer. */
static struct page *pool_alloc_chunk(int node, unsigned int order)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	struct page *page;

	if (dms_fault_alloc(CHUNK))
		return NULL;
	gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
	/* without a node the task's memory policy decides */
	page = node == NUMA_NO_NODE ? alloc_pages(gfp, order) :
				      alloc_pages_node(node, gfp, order);
	if (page && order)
		split_page(page, order);
	return page;
}

static int pool_alloc(struct dms_pool *pool, int node)
{
	unsigned int order = min_t(unsigned int, ilog2(pool->size >> PAGE_SHIFT),
				   DMS_POOL_ORDER_MAX);
	u32 have = 0;
	int err;

	pool->chunk_shift = PAGE_SHIFT + order;
	pool->chunk = pool_chunk_array(pool, order, &pool->nr_chunks);
	if (!pool->chunk)
		return -ENOMEM;

	while (have < pool->nr_chunks) {
		struct page *page;
		u32 i;

		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		page = pool_alloc_chunk(node, order);
		if (!page) {
			if (!order)
				return -ENOMEM;
			err = pool_halve(pool, order, &have);
			if (err)
				return err;
			order--;
			continue;
		}
		pool->chunk[have] = page;
		/* what the last chunk has beyond the pool's end goes back */
		for (i = dms_pool_chunk_len(pool, have) >> PAGE_SHIFT; i < 1U << order; i++)
			__free_page(page + i);
		have++;
	}
	return 0;
}

static void pool_free_pages(struct dms_pool *pool)
{
	u32 i, k;

	for (i = 0; pool->chunk && i < pool->nr_chunks; i++) {
		if (!pool->chunk[i])
			break;	/* not all were allocated */
		for (k = 0; k < dms_pool_chunk_len(pool, i) >> PAGE_SHIFT; k++)
			__free_page(pool->chunk[i] + k);
		cond_resched();
	}
	kvfree(pool->chunk);
}

/**
 * dms_pool_put_mem() - put a reference on the structure
 * @pool: pool
 *
 * Context: Any.
 */
void dms_pool_put_mem(struct dms_pool *pool)
{
	/* lookups by handle may still try to begin a transfer on it */
	if (refcount_dec_and_test(&pool->mem))
		kfree_rcu(pool, rcu);
}

/* Step 3. */
static void pool_free(struct work_struct *work)
{
	struct dms_pool *pool = container_of(work, struct dms_pool, free_work);

	mutex_lock(&pools_lock);
	list_del(&pool->node);
	mutex_unlock(&pools_lock);

	dms_pool_unmap_all(pool);
	pool_free_pages(pool);
	dms_quota_uncharge(pool->owner, pool->size);
	percpu_ref_exit(&pool->inflight);
	free_percpu(pool->transfers);
	dms_gauge_dec(DMS_GAUGE_POOLS);
	dms_pool_put_mem(pool);
}

/* Step 2; from RCU or from whoever ended the last transfer, so any context. */
static void pool_idle(struct percpu_ref *ref)
{
	struct dms_pool *pool = container_of(ref, struct dms_pool, inflight);

	queue_work(dms_wq, &pool->free_work);
}

/* Step 1; any context. */
static void pool_release(struct kref *ref)
{
	struct dms_pool *pool = container_of(ref, struct dms_pool, ref);

	percpu_ref_kill(&pool->inflight);
}

static struct dms_pool *pool_new(u64 size)
{
	struct dms_pool *pool;

	pool = dms_fault_alloc(POOL) ? NULL : kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return NULL;
	pool->transfers = alloc_percpu_gfp(int, GFP_KERNEL_ACCOUNT);
	if (!pool->transfers)
		goto free_pool;
	if (percpu_ref_init(&pool->inflight, pool_idle, 0, GFP_KERNEL))
		goto free_transfers;
	kref_init(&pool->ref);
	refcount_set(&pool->mem, 1);	/* put in pool_free() */
	INIT_WORK(&pool->free_work, pool_free);
	mutex_init(&pool->map_lock);
	pool->owner = current_uid();
	pool->size = size;
	return pool;

free_transfers:
	free_percpu(pool->transfers);
free_pool:
	kfree(pool);
	return NULL;
}

/**
 * dms_pool_create() - a new pool of kernel pages
 * @size: bytes, whole pages
 * @numa_node: node that the pages come from, or NUMA_NO_NODE
 *
 * The pages are zeroed, charged to the caller's memory cgroup and quota.
 *
 * Context: Process context, may sleep for long; ends early on a fatal signal.
 * Return: pool with a reference for the caller, or ERR_PTR: -EINVAL (size or
 * node), -EDQUOT, -ENOMEM, -EINTR.
 */
struct dms_pool *dms_pool_create(u64 size, int numa_node)
{
	struct dms_pool *pool;
	int err;

	if (!size || !IS_ALIGNED(size, PAGE_SIZE) || size > dms_pool_max())
		return ERR_PTR(-EINVAL);
	if (numa_node != NUMA_NO_NODE &&
	    (numa_node < 0 || numa_node >= MAX_NUMNODES || !node_online(numa_node)))
		return ERR_PTR(-EINVAL);

	pool = pool_new(size);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	err = dms_quota_charge(pool->owner, size);
	if (err)
		goto free_pool;
	err = pool_alloc(pool, numa_node);
	if (err)
		goto free_pages;

	mutex_lock(&pools_lock);
	pool->id = ++pools_id;
	list_add_tail(&pool->node, &pools);
	mutex_unlock(&pools_lock);
	dms_gauge_inc(DMS_GAUGE_POOLS);
	return pool;

free_pages:
	pool_free_pages(pool);
	dms_quota_uncharge(pool->owner, size);
free_pool:
	percpu_ref_exit(&pool->inflight);
	free_percpu(pool->transfers);
	kfree(pool);
	return ERR_PTR(err);
}

/**
 * dms_pool_get() - one more who knows the pool
 * @pool: pool, of which the caller has a reference
 *
 * Context: Any.
 */
void dms_pool_get(struct dms_pool *pool)
{
	kref_get(&pool->ref);
}

/**
 * dms_pool_put() - one less
 * @pool: pool
 *
 * Context: Any; the memory is freed by a work.
 */
void dms_pool_put(struct dms_pool *pool)
{
	kref_put(&pool->ref, pool_release);
}

/**
 * dms_pool_tryget_transfer() - a transfer begins
 * @pool: pool; a reference is not needed under RCU
 *
 * Context: Any.
 * Return: false when the pool is going.
 */
bool dms_pool_tryget_transfer(struct dms_pool *pool)
{
	if (!percpu_ref_tryget_live(&pool->inflight))
		return false;
	this_cpu_inc(*pool->transfers);
	return true;
}

/**
 * dms_pool_share_transfer() - one more transfer
 * @pool: of a transfer that somebody has, and keeps meanwhile
 *
 * Context: Any.  dms_pool_put_transfer() follows.
 */
void dms_pool_share_transfer(struct dms_pool *pool)
{
	percpu_ref_get(&pool->inflight);
}

/**
 * dms_pool_put_transfer() - a transfer ended
 * @pool: pool, not to be used afterwards
 *
 * Context: Any.
 */
void dms_pool_put_transfer(struct dms_pool *pool)
{
	this_cpu_dec(*pool->transfers);
	percpu_ref_put(&pool->inflight);
}

/**
 * dms_pool_transfers() - how many transfers use the pool
 * @pool: pool
 *
 * Context: Any.
 * Return: their number; about right while they come and go.
 */
u32 dms_pool_transfers(const struct dms_pool *pool)
{
	int cpu, sum = 0;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(pool->transfers, cpu));
	return max(sum, 0);
}

/**
 * dms_pool_for_each() - shows every pool of the module
 * @fn: called with a reference held by the caller and no lock; another value
 *      than 0 ends it
 * @arg: for @fn
 *
 * A pool stays on the list as long as somebody has a reference, so that the one
 * shown last is where to go on.
 *
 * Context: Process context, may sleep.
 * Return: 0, or what @fn returned.
 */
int dms_pool_for_each(int (*fn)(struct dms_pool *pool, void *arg), void *arg)
{
	struct dms_pool *pool, *last = NULL;
	int ret = 0;

	do {
		mutex_lock(&pools_lock);
		pool = list_prepare_entry(last, &pools, node);
		list_for_each_entry_continue(pool, &pools, node)
			if (kref_get_unless_zero(&pool->ref))
				break;
		if (list_entry_is_head(pool, &pools, node))
			pool = NULL;
		mutex_unlock(&pools_lock);

		if (last)
			dms_pool_put(last);
		if (pool)
			ret = fn(pool, arg);
		last = pool;
	} while (pool && !ret);
	if (last)
		dms_pool_put(last);
	return ret;
}

/* ---- the file ---- */

static void pool_vm_open(struct vm_area_struct *vma)
{
	struct dms_pool *pool = vma->vm_private_data;

	atomic_inc(&pool->mmaps);
}

static void pool_vm_close(struct vm_area_struct *vma)
{
	struct dms_pool *pool = vma->vm_private_data;

	atomic_dec(&pool->mmaps);
}

/* For the count of areas alone; the area's file holds the pool. */
static const struct vm_operations_struct pool_vm_ops = {
	.open	= pool_vm_open,
	.close	= pool_vm_close,
};

/* Maps @n pages of the pool from page @at on; @batch has room for a page of pointers. */
static int pool_insert(struct dms_pool *pool, struct vm_area_struct *vma,
		       unsigned long at, unsigned long n, struct page **batch)
{
	u32 order = pool->chunk_shift - PAGE_SHIFT;
	unsigned long addr = vma->vm_start;

	while (n) {
		unsigned long i, left, m = min(n, PAGE_SIZE / sizeof(*batch));
		int err;

		if (fatal_signal_pending(current))
			return -EINTR;
		for (i = 0; i < m; i++, at++)
			batch[i] = pool->chunk[at >> order] + (at & ((1UL << order) - 1));
		left = m;
		err = vm_insert_pages(vma, addr, batch, &left);
		if (err)
			return err;
		addr += m << PAGE_SHIFT;
		n -= m;
		cond_resched();
	}
	return 0;
}

/*
 * All pages at once: a fault handler would have to answer for each, and the
 * process wants them anyway.  What is mapped when it fails is taken down by mmap().
 */
static int pool_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dms_pool *pool = file->private_data;
	struct page **batch;
	int err;

	err = dms_mmap_check(vma, pool->size >> PAGE_SHIFT);
	if (err)
		return err;
	batch = (struct page **)__get_free_page(GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	err = pool_insert(pool, vma, vma->vm_pgoff, vma_pages(vma), batch);
	free_page((unsigned long)batch);
	if (err)
		return err;
	vma->vm_private_data = pool;
	vma->vm_ops = &pool_vm_ops;
	pool_vm_open(vma);
	return 0;
}

static void pool_fdinfo(struct seq_file *m, struct file *file)
{
	struct dms_pool *pool = file->private_data;

	seq_puts(m, "dms-object:\tpool\n");
	seq_printf(m, "dms-pool-id:\t%u\n", pool->id);
	seq_printf(m, "dms-pinned-bytes:\t%llu\n", pool->size);
	seq_printf(m, "dms-chunk-bytes:\t%llu\n", 1ULL << pool->chunk_shift);
	seq_printf(m, "dms-uid:\t%u\n", from_kuid_munged(current_user_ns(), pool->owner));
	seq_printf(m, "dms-attachments:\t%d\n", atomic_read(&pool->attachments));
	seq_printf(m, "dms-mappings:\t%d\n", atomic_read(&pool->mmaps));
	seq_printf(m, "dms-transfers:\t%u\n", dms_pool_transfers(pool));
}

static int pool_file_release(struct inode *inode, struct file *file)
{
	dms_pool_put(file->private_data);	/* got in dms_pool_file() */
	return 0;
}

static const struct file_operations pool_fops = {
	.owner		= THIS_MODULE,
	.release	= pool_file_release,
	.mmap		= pool_mmap,
	.show_fdinfo	= pool_fdinfo,
};

/**
 * dms_pool_file() - a new file on a pool
 * @pool: pool; the file gets a reference of its own
 *
 * Context: Process context, may sleep.
 * Return: file, or ERR_PTR.
 */
struct file *dms_pool_file(struct dms_pool *pool)
{
	struct file *file;

	dms_pool_get(pool);	/* put in pool_file_release() */
	file = anon_inode_getfile("[dmastream-pool]", &pool_fops, pool, O_RDWR);
	if (IS_ERR(file))
		dms_pool_put(pool);
	return file;
}

/**
 * dms_pool_from_fd() - the pool behind a file descriptor
 * @fd: from the process
 *
 * Context: Process context.
 * Return: pool with a reference, or ERR_PTR(-EBADF) when it is no pool's.
 */
struct dms_pool *dms_pool_from_fd(int fd)
{
	struct dms_pool *pool = ERR_PTR(-EBADF);
	struct file *file = fget(fd);

	if (!file)
		return pool;
	if (file->f_op == &pool_fops) {
		pool = file->private_data;
		dms_pool_get(pool);
	}
	fput(file);
	return pool;
}
