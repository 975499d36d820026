// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receives of a queue pair: those that have a buffer are posted, or their packet is
 * being looked at; the others are on tp->rx_idle.  How many there should be is said by
 * recv.c.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "fault.h"
#include "ibdev.h"
#include "path.h"
#include "transport_rdma.h"

/**
 * dms_rdma_post_recv() - post a receive
 * @tp: set up
 * @rx: has a buffer
 *
 * This and the fence's drain exclude each other: a receive that was posted behind
 * the drain's would complete after the drain is over, and find its buffer freed.
 *
 * Context: process.
 * Return: 0; -ESHUTDOWN: the fence has begun; or what the device says.
 */
int dms_rdma_post_recv(struct dms_rdma *tp, struct dms_rdma_rx *rx)
{
	struct ib_sge sge = {
		.addr	= rx->dma,
		.length	= tp->path->slot_bytes,
		.lkey	= tp->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe		= &rx->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
	};
	int ret;

	spin_lock(&tp->rq_lock);
	if (tp->dead)
		ret = -ESHUTDOWN;
	else if (unlikely(dms_rdma_post_fails()))
		ret = -ENOMEM;
	else if (dms_fault_post_recv(tp->path))
		ret = -EIO;
	else
		ret = ib_post_recv(tp->qp, &wr, NULL);
	spin_unlock(&tp->rq_lock);
	return ret;
}

/**
 * dms_rdma_add_recv() - give a receive its buffer, and post it
 * @tp: set up
 * @rx: of dms_rdma_pop_idle()
 * @gfp: for the buffer
 *
 * Return: 0, or a negative errno, and it has none.
 */
int dms_rdma_add_recv(struct dms_rdma *tp, struct dms_rdma_rx *rx, gfp_t gfp)
{
	struct dms_path *path = tp->path;
	struct ib_device *dev = path->ibdev->dev;
	int ret = -ENOMEM;

	rx->buf = dms_fault_alloc(RECV) ? NULL :
		  alloc_pages_exact(path->slot_bytes, gfp | __GFP_NOWARN);
	if (!rx->buf)
		return -ENOMEM;
	rx->dma = ib_dma_map_single(dev, rx->buf, path->slot_bytes, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, rx->dma))
		goto free;
	ret = dms_rdma_post_recv(tp, rx);
	if (ret)
		goto unmap;
	return 0;

unmap:
	ib_dma_unmap_single(dev, rx->dma, path->slot_bytes, DMA_FROM_DEVICE);
free:
	free_pages_exact(rx->buf, path->slot_bytes);
	rx->buf = NULL;
	return ret;
}

/**
 * dms_rdma_free_recv() - free the buffer of a receive
 * @tp: set up
 * @rx: is posted no more
 */
void dms_rdma_free_recv(struct dms_rdma *tp, struct dms_rdma_rx *rx)
{
	ib_dma_unmap_single(tp->path->ibdev->dev, rx->dma, tp->path->slot_bytes, DMA_FROM_DEVICE);
	free_pages_exact(rx->buf, tp->path->slot_bytes);
	rx->buf = NULL;
}

/**
 * dms_rdma_pop_idle() - a receive without a buffer
 * @tp: set up
 *
 * Return: it, which counts as one that has a buffer from now on; NULL: all have.
 */
struct dms_rdma_rx *dms_rdma_pop_idle(struct dms_rdma *tp)
{
	struct dms_rdma_rx *rx;

	spin_lock(&tp->rq_lock);
	rx = tp->rx_idle;
	if (rx) {
		tp->rx_idle = rx->next;
		tp->nr_rx++;
	}
	spin_unlock(&tp->rq_lock);
	return rx;
}

/**
 * dms_rdma_push_idle() - a receive has no buffer any more
 * @tp: set up
 * @rx: it
 */
void dms_rdma_push_idle(struct dms_rdma *tp, struct dms_rdma_rx *rx)
{
	spin_lock(&tp->rq_lock);
	rx->next = tp->rx_idle;
	tp->rx_idle = rx;
	tp->nr_rx--;
	spin_unlock(&tp->rq_lock);
}

/**
 * dms_rdma_more_work() - post receives in addition
 * @work: tp->more_work
 *
 * As many as can be had; those that are missing are nobody's fault.
 */
void dms_rdma_more_work(struct work_struct *work)
{
	struct dms_rdma *tp = container_of(work, struct dms_rdma, more_work);
	struct dms_rdma_rx *rx;
	u32 n, posted;

	spin_lock(&tp->rq_lock);
	n = tp->rx_more;
	tp->rx_more = 0;
	spin_unlock(&tp->rq_lock);
	for (posted = 0; posted < n; posted++) {
		rx = dms_rdma_pop_idle(tp);
		if (!rx)
			break;
		if (dms_rdma_add_recv(tp, rx, GFP_KERNEL | __GFP_NORETRY)) {
			dms_rdma_push_idle(tp, rx);
			break;
		}
	}
	dms_path_grown(tp->path, posted);
}

/**
 * dms_rdma_grow() - have receives posted in addition
 * @path: UP; its lock is held
 * @n: how many; dms_path_grown() says how many it became
 */
void dms_rdma_grow(struct dms_path *path, u32 n)
{
	struct dms_rdma *tp = dms_rdma_ready(path);

	if (!tp)
		return;
	spin_lock(&tp->rq_lock);
	tp->rx_more = n;
	/* under the lock with which the fence sets dead, and then cancels it */
	queue_work(dms_rdma_wq, &tp->more_work);
	spin_unlock(&tp->rq_lock);
}
