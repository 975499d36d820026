// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys: fast-registration memory regions that let a peer READ one segment, or WRITE one
 * message into a landing.
 *
 *   FREE --expose: REG_MR--> OUT --revoke: LOCAL_INV--> REVOKING --> FREE
 *
 * REG_MR is posted in front of the SEND that carries the key, on the same send
 * queue, so it has taken effect when the peer learns of it; it is not
 * signalled.  The memory is the owner's again when LOCAL_INV has completed; when
 * that fails, or the queue pair died first, not before the fence has
 * deregistered the region: a revoke that completes in error is answered there.
 *
 * After DMS_KEY_REUSES registrations the region is replaced, in a work item: the
 * answer to its last revoke comes when there is a new one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "mr.h"

#include <linux/bitmap.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/dmastream.h>

#include "fault.h"
#include "ibdev.h"
#include "path.h"
#include "pool.h"
#include "stats.h"
#include "transport_rdma.h"

/* No memory for a new region: again after so long. */
#define DMS_WORN_RETRY_MS	100

/*
 * What the peer calls the first byte of a key: the key's number in the path
 * above bit 32, the offset in the page below.  It says nothing of where the
 * memory is, and no two keys of a path overlap.
 */
static u64 dms_mr_iova(const struct dms_path *path, const struct dms_key *key, u64 first)
{
	return (u64)(key - path->keys + 1) << 32 | (first & ~PAGE_MASK);
}

/* REG_MR says something only when it failed. */
static void dms_mr_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dms_key *key = container_of(wc->wr_cqe, struct dms_key, reg_cqe);

	if (wc->status != IB_WC_SUCCESS)
		dms_rdma_wc_error(key->path, wc);
}

static void dms_mr_inv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dms_key *key = container_of(wc->wr_cqe, struct dms_key, inv_cqe);
	struct dms_rdma *tp = key->path->priv;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		/* still marked as posted: dms_mr_answer() answers, after the deregistration */
		dms_rdma_wc_error(key->path, wc);
		return;
	}
	dms_fault_completion(tp);
	dms_stat_inc(DMS_STAT_KEYS_INVALIDATED);
	if (unlikely(key->reuses >= DMS_KEY_REUSES)) {
		set_bit(key - key->path->keys, tp->worn);
		/* the fence cancels it after the last completion */
		queue_delayed_work(dms_rdma_wq, &tp->worn_work, 0);
		return;
	}
	key->inv_cqe.done = dms_rdma_idle_done;
	dms_path_revoke_done(key, 0);
}

/*
 * Replaces regions whose keys are used up.  Nobody else has such a key: it is
 * invalidated, and not answered yet.
 */
static void dms_mr_worn_work(struct work_struct *work)
{
	struct dms_rdma *tp = container_of(to_delayed_work(work), struct dms_rdma, worn_work);
	unsigned long i;

	for_each_set_bit(i, tp->worn, tp->nr_keys) {
		struct dms_key *key = &tp->path->keys[i];
		struct ib_mr *mr = ib_alloc_mr(tp->pd, IB_MR_TYPE_MEM_REG, tp->key_pages);

		if (IS_ERR(mr)) {
			queue_delayed_work(dms_rdma_wq, &tp->worn_work,
					   msecs_to_jiffies(DMS_WORN_RETRY_MS));
			return;
		}
		swap(key->mr, mr);
		ib_dereg_mr(mr);
		key->reuses = 0;
		clear_bit(i, tp->worn);
		key->inv_cqe.done = dms_rdma_idle_done;
		dms_path_revoke_done(key, 0);
	}
}

/**
 * dms_mr_init() - prepare, so that dms_mr_destroy() can always be called
 * @tp: transport
 *
 * Context: process.
 */
void dms_mr_init(struct dms_rdma *tp)
{
	INIT_DELAYED_WORK(&tp->worn_work, dms_mr_worn_work);
}

/**
 * dms_mr_make() - make the regions of a path's keys
 * @tp: path->keys, protection domain and setup_lock; what was made stays on an error
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dms_mr_make(struct dms_rdma *tp)
{
	struct dms_path *path = tp->path;
	u32 i;

	tp->key_pages = path->seg_pages + 1;	/* a segment need not begin on a page */
	tp->pieces = kvcalloc(tp->key_pages, sizeof(*tp->pieces), GFP_KERNEL);
	tp->sgl = kvcalloc(tp->key_pages, sizeof(*tp->sgl), GFP_KERNEL);
	tp->worn = bitmap_zalloc(path->keys_max, GFP_KERNEL);
	if (!tp->pieces || !tp->sgl || !tp->worn)
		return -ENOMEM;
	sg_init_table(tp->sgl, tp->key_pages);

	for (i = 0; i < path->keys_max; i++) {
		struct dms_key *key = &path->keys[i];
		struct ib_mr *mr = dms_fault_alloc(REGION) ? ERR_PTR(-ENOMEM) :
				   ib_alloc_mr(tp->pd, IB_MR_TYPE_MEM_REG, tp->key_pages);

		if (IS_ERR(mr))
			return PTR_ERR(mr);
		key->mr = mr;
		key->reuses = 0;
		key->reg_cqe.done = dms_mr_reg_done;
		key->inv_cqe.done = dms_rdma_idle_done;
		tp->nr_keys++;
	}
	return 0;
}

/**
 * dms_mr_destroy() - deregister everything
 * @tp: its queue pair was destroyed
 *
 * Context: process, may sleep.
 */
void dms_mr_destroy(struct dms_rdma *tp)
{
	u32 i;
	int ret;

	cancel_delayed_work_sync(&tp->worn_work);
	for (i = 0; i < tp->nr_keys; i++) {
		struct dms_key *key = &tp->path->keys[i];

		ret = ib_dereg_mr(key->mr);
		if (ret)
			pr_warn_ratelimited("a memory region cannot be deregistered (%d)\n", ret);
		key->mr = NULL;
	}
	bitmap_free(tp->worn);
	kvfree(tp->sgl);
	kvfree(tp->pieces);
	tp->worn = NULL;
	tp->sgl = NULL;
	tp->pieces = NULL;
}

/**
 * dms_mr_answer() - answer the revokes that have no answer
 * @tp: after dms_mr_destroy()
 *
 * Context: process, no lock held.
 */
void dms_mr_answer(struct dms_rdma *tp)
{
	u32 i;

	for (i = 0; i < tp->nr_keys; i++) {
		struct dms_key *key = &tp->path->keys[i];

		if (key->inv_cqe.done == dms_rdma_idle_done)
			continue;
		key->inv_cqe.done = dms_rdma_idle_done;
		dms_path_revoke_done(key, -EIO);
	}
}

/**
 * dms_mr_expose() - struct dms_transport_ops expose
 * @path: its lock held
 * @key: FREE
 * @pool: mapped on the path's device, a transfer held
 * @tile: what the segment is of
 * @at: its first byte
 * @len: bytes, at most path->seg_pages pages
 *
 * A region takes pieces that are apart as long as each but the first begins and each
 * but the last ends on a page; the peer sees them side by side.
 *
 * Context: process, does not sleep.
 * Return: 0, or a negative errno and nothing is open.
 */
int dms_mr_expose(struct dms_path *path, struct dms_key *key,
		  struct dms_pool *pool, const struct dms_tile *tile, u32 at, u32 len)
{
	struct dms_rdma *tp = dms_rdma_ready(path);
	struct ib_mr *mr = key->mr;
	struct ib_reg_wr reg = {
		.wr = {
			.wr_cqe	= &key->reg_cqe,
			.opcode	= IB_WR_REG_MR,
		},
		.mr	= mr,
		.access	= key->write ? IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE :
				       IB_ACCESS_REMOTE_READ,
	};
	int n, i, ret;

	if (!tp)
		return -ESHUTDOWN;

	n = dms_pool_tile_sges(pool, path->ibdev, tile, at, len, tp->pieces, tp->key_pages);
	if (n <= 0)
		return n ?: -EINVAL;
	for (i = 0; i < n; i++) {
		sg_dma_address(&tp->sgl[i]) = tp->pieces[i].addr;
		sg_dma_len(&tp->sgl[i]) = tp->pieces[i].length;
	}
	/* the list's DMA addresses are all that it reads, and none of it is kept */
	ret = ib_map_mr_sg(mr, tp->sgl, n, NULL, PAGE_SIZE);
	if (ret != n || mr->length != len)
		return ret < 0 ? ret : -EMSGSIZE;
	dms_pool_tile_sync_for_device(pool, path->ibdev, tile, at, len);

	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	mr->iova = dms_mr_iova(path, key, tp->pieces[0].addr);
	reg.key = mr->rkey;
	ret = dms_rdma_post(tp, &reg.wr);
	if (unlikely(ret))
		return ret;

	key->reuses++;
	key->addr = mr->iova;
	key->rkey = mr->rkey;
	dms_stat_inc(DMS_STAT_KEYS_REGISTERED);
	return 0;
}

/**
 * dms_mr_revoke() - struct dms_transport_ops revoke
 * @path: its lock held
 * @key: OUT; the peer has no READ or WRITE on it in flight
 *
 * Context: process, does not sleep.
 * Return: 0, and dms_path_revoke_done() follows; or a negative errno.
 */
int dms_mr_revoke(struct dms_path *path, struct dms_key *key)
{
	struct dms_rdma *tp = dms_rdma_ready(path);
	struct ib_send_wr wr = {
		.wr_cqe		= &key->inv_cqe,
		.opcode		= IB_WR_LOCAL_INV,
		.send_flags	= IB_SEND_SIGNALED,
		.ex.invalidate_rkey = key->rkey,
	};
	int ret;

	if (!tp)
		return -ESHUTDOWN;

	key->inv_cqe.done = dms_mr_inv_done;
	ret = dms_rdma_post(tp, &wr);
	if (unlikely(ret))
		key->inv_cqe.done = dms_rdma_idle_done;
	return ret;
}
