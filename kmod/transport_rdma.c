// SPDX-License-Identifier: GPL-2.0-only
/*
 * A path over a reliable-connected queue pair: its making, posting,
 * completions, and the fence.
 *
 * One completion queue serves both directions of a queue pair, and is polled
 * by a work item (process context, not re-entered), so that the handlers of a
 * path never run at the same time.
 *
 * The send queue cannot overflow.  A slot is known to be free when a signalled
 * completion of its own or of a later request was polled.  All requests are
 * signalled but REG_MR, WRITEs and the SENDs of quiet packets, and a packet is used
 * again only when one was, and with it the WRITEs that went ahead of it.  So there are
 * at most: one SEND per packet, one WRITE per write, one READ per read, and per key one REG_MR and the LOCAL_INV that follows it, since the
 * next REG_MR of a key comes after the completion of its LOCAL_INV, which frees
 * the slots of both.  One slot more is for the drain, and one because some
 * drivers never fill the last.  Any of them may complete (in error), hence as
 * many entries in the completion queue.
 *
 * Which of the path's objects are posted is told by the done member of their
 * ib_cqe: it is dms_rdma_idle_done() while they are not.  Completion handlers
 * reset it before they answer; the fence answers those that are left: quiet SENDs
 * after which none was signalled, and what the device lost.
 *
 * Quiet SENDs.  Those after the last signalled one are on tp->quiet, the others on
 * the list "before" of the signalled one that followed, in whose completion they are
 * answered.  With an error each has a completion of its own, signalled or not, and
 * leaves the list it is on; those without one that came before it had succeeded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "transport_rdma.h"

#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/dmastream.h>

#include "fault.h"
#include "group.h"
#include "ibdev.h"
#include "mr.h"
#include "path.h"
#include "pool.h"
#include "recv.h"
#include "session.h"
#include "stats.h"

/* Fewer keys than this are no use; a device that has no room for them is refused. */
#define DMS_KEYS_FLOOR		4
#define DMS_KEYS_CEIL		4096
/* Pages of one key: 1 MiB with pages of 4 KiB, and one for what is not aligned. */
#define DMS_SEG_PAGES		256
/* Packets that are out at a time; the peer's receives, which move, may be more. */
#define DMS_TX_PACKETS		64
/* How long a flushed receive waits for rdma_cm's reason. */
#define DMS_FLUSH_GRACE		(HZ / 2)

static unsigned int dms_param_keys_per_path = 64;
module_param_named(keys_per_path, dms_param_keys_per_path, uint, 0644);
MODULE_PARM_DESC(keys_per_path, "memory regions per queue pair; each opens one segment of a message to the peer");

#ifdef CONFIG_DMASTREAM_KUNIT_TEST
atomic_t dms_rdma_fail_post = ATOMIC_INIT(-1);

/**
 * dms_rdma_post_fails() - fault injection: is this the post that fails?
 *
 * Context: any.
 * Return: true once, when dms_rdma_fail_post has counted down to 0.
 */
bool dms_rdma_post_fails(void)
{
	return atomic_read(&dms_rdma_fail_post) >= 0 &&
	       atomic_dec_return(&dms_rdma_fail_post) == -1;
}
#endif

static bool dms_rdma_is_up(struct dms_rdma *tp)
{
	return smp_load_acquire(&tp->up);	/* release in dms_rdma_up() */
}

/**
 * dms_rdma_idle_done() - completion of what is not posted
 * @cq: completion queue
 * @wc: completion
 *
 * Only a driver can cause it.  Context: process.
 */
void dms_rdma_idle_done(struct ib_cq *cq, struct ib_wc *wc)
{
	WARN_ONCE(1, "%s: completion of a work request that is not posted\n",
		  dev_name(&cq->device->dev));
}

/**
 * dms_rdma_wc_error() - a completion in error ends the path
 * @path: its path
 * @wc: the completion
 *
 * The first one to end it names the reason.  A flush is a consequence, never
 * the reason.  Once the path is up that came before it: on this completion queue,
 * or as an event of the queue pair; if not, flush has to do.  While
 * connecting it is rdma_cm that stops the queue pair, and then tells why: it is
 * given a moment to do so.
 *
 * Context: process.
 */
void dms_rdma_wc_error(struct dms_path *path, const struct ib_wc *wc)
{
	struct dms_rdma *tp = path->priv;

	if (wc->status == IB_WC_WR_FLUSH_ERR && !dms_rdma_is_up(tp)) {
		WRITE_ONCE(tp->event_status, wc->status);
		/* the fence cancels it after the last completion */
		queue_delayed_work(dms_rdma_wq, &tp->event_work, DMS_FLUSH_GRACE);
		return;
	}
	dms_path_kill(path, DMASTREAM_ERR_PATH, wc->status);
}

/* It is the request that is wrong, not the way to the peer. */
static bool dms_rdma_again_fails(enum ib_wc_status status)
{
	return status == IB_WC_LOC_LEN_ERR || status == IB_WC_LOC_PROT_ERR ||
	       status == IB_WC_LOC_QP_OP_ERR || status == IB_WC_REM_ACCESS_ERR ||
	       status == IB_WC_REM_INV_REQ_ERR;
}

/**
 * dms_rdma_post() - post a send work request
 * @tp: not dead; path->lock held
 * @wr: the request, not chained
 *
 * Context: process, does not sleep.
 * Return: 0 or a negative errno; then nothing was posted.
 */
int dms_rdma_post(struct dms_rdma *tp, const struct ib_send_wr *wr)
{
	lockdep_assert_held(&tp->path->lock);

	if (unlikely(dms_rdma_post_fails()))
		return -ENOMEM;
	if (dms_fault_post(tp->path, wr->opcode))
		return -EIO;
	return ib_post_send(tp->qp, wr, NULL);
}

/**
 * dms_rdma_ready() - may something be posted on this path?
 * @path: its lock held
 *
 * Context: process, does not sleep.
 * Return: the transport, or NULL when there is no queue pair or the fence has it.
 */
struct dms_rdma *dms_rdma_ready(struct dms_path *path)
{
	struct dms_rdma *tp = path->priv;

	lockdep_assert_held(&path->lock);
	return tp && !tp->dead && tp->qp ? tp : NULL;
}

/* ---- sending ---- */

/* The packet and the quiet ones before it, which nobody else looks at any more. */
static void dms_rdma_answer_send(struct dms_txpkt *pkt, int status)
{
	struct dms_txpkt *quiet;

	pkt->cqe.done = dms_rdma_idle_done;
	list_for_each_entry(quiet, &pkt->before, node)
		quiet->cqe.done = dms_rdma_idle_done;
	dms_path_send_done(pkt, status);
}

/*
 * A packet that is lost on cue.  Its place in the send queue is taken by a WRITE of no
 * bytes, which the peer's module does not see: so the packet is answered in its turn,
 * not before those that the NIC still has.
 */
static int dms_rdma_post_nothing(struct dms_rdma *tp, const struct ib_send_wr *lost)
{
	struct ib_rdma_wr nothing = {
		.wr = {
			.wr_cqe		= lost->wr_cqe,
			.opcode		= IB_WR_RDMA_WRITE,
			.send_flags	= lost->send_flags,
		},
	};

	return dms_rdma_post(tp, &nothing.wr);
}

static void dms_rdma_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dms_txpkt *pkt = container_of(wc->wr_cqe, struct dms_txpkt, cqe);
	bool ok = wc->status == IB_WC_SUCCESS;

	if (unlikely(!ok)) {
		/* a quiet one: it may be on tp->quiet, to which others are added */
		spin_lock(&pkt->path->lock);
		list_del_init(&pkt->node);
		spin_unlock(&pkt->path->lock);
		dms_rdma_wc_error(pkt->path, wc);
	} else {
		dms_fault_completion(pkt->path->priv);
	}
	dms_rdma_answer_send(pkt, ok ? 0 : -EIO);
}

/* A WRITE says something only when it failed; its memory is told of with its packet. */
static void dms_rdma_write_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dms_write *w = container_of(wc->wr_cqe, struct dms_write, cqe);

	if (wc->status != IB_WC_SUCCESS)
		dms_rdma_wc_error(w->path, wc);
}

/* Those of a packet; with an error some may have been posted, and the path ends. */
static int dms_rdma_writes(struct dms_rdma *tp, struct dms_write *w)
{
	struct ib_rdma_wr rdma = { .wr.opcode = IB_WR_RDMA_WRITE };
	int ret = 0;
	u32 i;

	for (; w && !ret; w = w->next) {
		for (i = 0; i < w->nr_sge; i++)
			w->sge[i].lkey = tp->pd->local_dma_lkey;
		w->cqe.done = dms_rdma_write_done;
		rdma.wr.wr_cqe = &w->cqe;
		rdma.wr.sg_list = w->sge;
		rdma.wr.num_sge = w->nr_sge;
		rdma.remote_addr = w->remote_addr;
		rdma.rkey = w->rkey;
		ret = dms_rdma_post(tp, &rdma.wr);
	}
	return ret;
}

static int dms_rdma_send(struct dms_path *path, struct dms_txpkt *pkt)
{
	struct dms_rdma *tp = dms_rdma_ready(path);
	struct ib_send_wr wr = {
		.wr_cqe		= &pkt->cqe,
		.sg_list	= pkt->sge,
		.opcode		= IB_WR_SEND,
		.send_flags	= pkt->signal ? IB_SEND_SIGNALED : 0,
	};
	u64 end = 0;
	int ret;
	u32 i;

	if (!tp)
		return -ESHUTDOWN;
	if (unlikely(pkt->write)) {
		ret = dms_rdma_writes(tp, pkt->write);
		if (ret)
			return ret;
	}

	for (i = 0; i < pkt->nr_sge; i++) {
		struct ib_sge *sge = &pkt->sge[i];
		u64 at = sge->addr - pkt->buf_dma;

		sge->lkey = tp->pd->local_dma_lkey;
		if (at < pkt->buf_size)
			end = max(end, at + sge->length);
	}
	wr.num_sge = pkt->nr_sge;
	/* what lies in pools was given to the device by whoever gathered it */
	if (end)
		ib_dma_sync_single_for_device(path->ibdev->dev, pkt->buf_dma, end, DMA_TO_DEVICE);

	pkt->cqe.done = dms_rdma_send_done;
	/* before it is posted: its completion looks at them without the lock */
	if (pkt->signal)
		list_splice_init(&tp->quiet, &pkt->before);
	ret = dms_fault_drops_packet(path) ? dms_rdma_post_nothing(tp, &wr) :
					     dms_rdma_post(tp, &wr);
	if (unlikely(ret)) {
		pkt->cqe.done = dms_rdma_idle_done;
		list_splice_init(&pkt->before, &tp->quiet);
	} else if (!pkt->signal) {
		list_add_tail(&pkt->node, &tp->quiet);
	}
	return ret;
}

/* ---- pulling ---- */

static void dms_rdma_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dms_read *rd = container_of(wc->wr_cqe, struct dms_read, cqe);
	bool ok = wc->status == IB_WC_SUCCESS;

	rd->cqe.done = dms_rdma_idle_done;
	if (unlikely(!ok))
		dms_rdma_wc_error(rd->path, wc);
	else
		dms_fault_completion(rd->path->priv);
	if (unlikely(!ok && dms_rdma_again_fails(wc->status)))
		rd->blame = wc->status;
	dms_path_read_done(rd, ok ? 0 : -EIO);
}

static int dms_rdma_read(struct dms_path *path, struct dms_read *rd)
{
	struct dms_rdma *tp = dms_rdma_ready(path);
	struct ib_rdma_wr rdma = {
		.wr = {
			.wr_cqe		= &rd->cqe,
			.sg_list	= rd->sge,
			.opcode		= IB_WR_RDMA_READ,
			.send_flags	= IB_SEND_SIGNALED,
		},
		.remote_addr	= rd->remote_addr,
		.rkey		= rd->rkey,
	};
	int ret;
	u32 i;

	if (!tp)
		return -ESHUTDOWN;

	for (i = 0; i < rd->nr_sge; i++)
		rd->sge[i].lkey = tp->pd->local_dma_lkey;
	rdma.wr.num_sge = rd->nr_sge;
	if (rd->landing) {
		struct dms_tile where = dms_landing_tile(rd->landing);

		dms_pool_tile_sync_for_device(rd->landing->pool, path->ibdev, &where,
					      rd->landing_at, rd->len);
	}

	rd->cqe.done = dms_rdma_read_done;
	ret = dms_rdma_post(tp, &rdma.wr);
	if (unlikely(ret))
		rd->cqe.done = dms_rdma_idle_done;
	else
		dms_stat_inc(DMS_STAT_READS_POSTED);
	return ret;
}

static void dms_rdma_flush_landing(struct dms_path *path, struct dms_landing *l,
				   u32 at, u32 len)
{
	struct dms_tile where = dms_landing_tile(l);

	dms_pool_tile_sync_for_cpu(l->pool, path->ibdev, &where, at, len);
}

/* ---- receiving ---- */

/**
 * dms_rdma_up() - the queue pair is connected
 * @tp: transport
 *
 * Returns when dms_path_up() has returned, whoever called it.
 *
 * Context: process, may sleep.
 */
void dms_rdma_up(struct dms_rdma *tp)
{
	mutex_lock(&tp->up_lock);
	if (!tp->up) {
		cancel_delayed_work(&tp->limit_work);
		dms_path_up(tp->path);
		smp_store_release(&tp->up, true);	/* acquire in dms_rdma_is_up() */
	}
	mutex_unlock(&tp->up_lock);
	wake_up_all(&tp->up_wait);
}

/*
 * A packet came before rdma_cm said that the connection is established.
 *
 * We accepted: the peer is, or it would not have sent; its last message of the
 * handshake is late, or lost.  A packet is as good.
 *
 * We dialled: the queue pair can receive from the moment that rdma_cm got the
 * answer, but what the answer says is checked in the ESTABLISHED handler, which
 * runs right now on another CPU or comes next:
 *
 *   rdma_cm				  completion worker
 *   QP -> RTR -> RTS, RTU sent
 *					  packet arrives
 *					  waits for up or dead
 *   ESTABLISHED: dms_rdma_up()
 *					  dms_path_rx()
 *
 * Any other event instead kills the path, and the fence sets dead.
 */
static bool dms_rdma_wait_up(struct dms_rdma *tp)
{
	if (tp->passive)
		dms_rdma_up(tp);
	else
		wait_event(tp->up_wait, dms_rdma_is_up(tp) || READ_ONCE(tp->dead));
	return dms_rdma_is_up(tp);
}

static void dms_rdma_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dms_rdma_rx *rx = container_of(wc->wr_cqe, struct dms_rdma_rx, cqe);
	struct dms_rdma *tp = rx->tp;
	struct dms_path *path = tp->path;
	struct ib_device *dev = path->ibdev->dev;
	int ret;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		dms_rdma_wc_error(path, wc);
		return;
	}
	/*
	 * Only SENDs without anything else are spoken here.  In particular a
	 * peer that invalidates a region of ours took a key that it does not own.
	 */
	if (unlikely(wc->opcode != IB_WC_RECV || wc->wc_flags & (IB_WC_WITH_INVALIDATE |
								 IB_WC_WITH_IMM))) {
		dms_stat_inc(DMS_STAT_PROTOCOL_ERRORS);
		dms_session_kill(path->session, DMASTREAM_ERR_PROTOCOL, DMS_RULE_KEY);
		return;
	}
	if (unlikely(!dms_rdma_is_up(tp)) && !dms_rdma_wait_up(tp))
		return;
	dms_fault_completion(tp);

	ib_dma_sync_single_for_cpu(dev, rx->dma, wc->byte_len, DMA_FROM_DEVICE);
	switch (dms_path_rx(path, rx->buf, wc->byte_len)) {
	case DMS_RX_BROKEN:
		return;
	case DMS_RX_FREE:
		dms_rdma_free_recv(tp, rx);
		dms_rdma_push_idle(tp, rx);
		dms_path_freed(path, 1);
		return;
	case DMS_RX_POST:
		break;
	}
	ib_dma_sync_single_for_device(dev, rx->dma, wc->byte_len, DMA_FROM_DEVICE);
	ret = dms_rdma_post_recv(tp, rx);
	if (!ret)
		dms_path_reposted(path, 1);
	else if (ret != -ESHUTDOWN)
		dms_path_kill(path, DMASTREAM_ERR_PATH, IB_WC_GENERAL_ERR);
}

/* ---- events ---- */

static void dms_rdma_event_work(struct work_struct *work)
{
	struct dms_rdma *tp = container_of(to_delayed_work(work), struct dms_rdma, event_work);

	dms_path_kill(tp->path, DMASTREAM_ERR_PATH, READ_ONCE(tp->event_status));
}

/*
 * Hard interrupt with some drivers, where a path cannot be killed.  The fence
 * cancels the work after the queue pair was destroyed: no event comes then.
 */
static void dms_rdma_qp_event(struct ib_event *ev, void *context)
{
	struct dms_rdma *tp = context;
	u32 status;

	switch (ev->event) {
	case IB_EVENT_COMM_EST:
		rdma_notify(tp->id, IB_EVENT_COMM_EST);
		return;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_DEVICE_FATAL:
		status = IB_WC_FATAL_ERR;
		break;
	case IB_EVENT_QP_REQ_ERR:
		status = IB_WC_LOC_QP_OP_ERR;
		break;
	case IB_EVENT_QP_ACCESS_ERR:
		status = IB_WC_LOC_ACCESS_ERR;
		break;
	default:
		return;
	}
	WRITE_ONCE(tp->event_status, status);
	mod_delayed_work(dms_rdma_wq, &tp->event_work, 0);
}

/* The connection was not established in time: our limit, far below rdma_cm's. */
static void dms_rdma_limit_work(struct work_struct *work)
{
	struct dms_rdma *tp = container_of(to_delayed_work(work), struct dms_rdma, limit_work);

	if (!dms_rdma_is_up(tp))
		dms_path_kill(tp->path, DMASTREAM_ERR_PATH, RDMA_CM_EVENT_UNREACHABLE + 256);
}

/* ---- making ---- */

/**
 * dms_rdma_create() - give a path its transport
 * @path: with a reference, state INIT
 * @passive: the peer asked for it
 *
 * From here on the fence finds it.
 *
 * Context: process, may sleep.
 * Return: the transport, with a reference that the caller puts; or ERR_PTR:
 * -ENOMEM, -ESHUTDOWN when the path was killed already.
 */
struct dms_rdma *dms_rdma_create(struct dms_path *path, bool passive)
{
	struct dms_rdma *tp = dms_fault_alloc(TRANSPORT) ? NULL : kzalloc(sizeof(*tp), GFP_KERNEL);
	bool taken = false;

	if (!tp)
		return ERR_PTR(-ENOMEM);
	kref_init(&tp->ref);		/* the caller's */
	tp->path = path;
	tp->passive = passive;
	INIT_LIST_HEAD(&tp->ibdev_node);
	INIT_LIST_HEAD(&tp->quiet);
	mutex_init(&tp->setup_lock);
	spin_lock_init(&tp->rq_lock);
	mutex_init(&tp->up_lock);
	init_waitqueue_head(&tp->up_wait);
	INIT_DELAYED_WORK(&tp->limit_work, dms_rdma_limit_work);
	INIT_DELAYED_WORK(&tp->event_work, dms_rdma_event_work);
	INIT_DELAYED_WORK(&tp->room_work, dms_cm_room_work);
	INIT_WORK(&tp->more_work, dms_rdma_more_work);
	dms_mr_init(tp);

	/*
	 * Either the path is killed later than this, and its fence sees the
	 * transport; or it was killed before.
	 */
	spin_lock(&path->lock);
	if (path->state == DMS_PATH_INIT && !path->priv && path->taken) {
		kref_get(&tp->ref);	/* put in dms_rdma_free() */
		path->priv = tp;
		path->ops = &dms_rdma_ops;
		taken = true;
	}
	spin_unlock(&path->lock);
	if (taken)
		return tp;
	kfree(tp);
	return ERR_PTR(-ESHUTDOWN);
}

static void dms_rdma_release(struct kref *ref)
{
	kfree(container_of(ref, struct dms_rdma, ref));
}

/**
 * dms_rdma_put() - give back dms_rdma_create()'s reference
 * @tp: transport
 *
 * Context: process.
 */
void dms_rdma_put(struct dms_rdma *tp)
{
	kref_put(&tp->ref, dms_rdma_release);
}

static u32 dms_rdma_sq_size(const struct dms_path *path)
{
	return path->nr_txpkts + path->nr_writes + path->reads_max + 2 * path->keys_max +
	       2;	/* see the top */
}

static u32 dms_rdma_rq_size(const struct dms_path *path)
{
	return path->my_slots_max + 1;	/* the drain's */
}

/* What the path is to have, and no more than the device has room for. */
static int dms_rdma_limits(struct dms_path *path, u32 reads_max)
{
	const struct ib_device_attr *a = &path->ibdev->dev->attrs;
	const struct dms_session *s = path->session;
	u32 max_wr = a->max_qp_wr, max_cqe = a->max_cqe;

	path->slots = s->theirs.slots;
	path->my_slots = s->mine.slots;
	path->moves = s->mine.features & s->theirs.features & DMS_FEATURE_DEPTH;
	path->my_slots_max = path->moves ? max(path->my_slots, dms_recv_ceiling()) : path->my_slots;
	path->nr_txpkts = path->moves ? DMS_TX_PACKETS : path->slots;
	path->pushes = s->mine.features & s->theirs.features & DMS_FEATURE_PUSH;
	path->nr_writes = path->pushes ? DMS_PATH_WRITES : 0;
	path->slot_bytes = s->slot_bytes;
	path->eager_max = s->eager_max;
	path->reads_max = min(path->ibdev->max_reads, reads_max);
	path->keys_max = clamp(dms_param_keys_per_path, DMS_KEYS_FLOOR, DMS_KEYS_CEIL);
	path->seg_pages = min_t(u32, path->ibdev->mr_pages - 1, DMS_SEG_PAGES);
	if (!path->reads_max)
		return -EPROTO;
	if (path->moves && max_wr > 1)
		path->my_slots_max = max(path->my_slots, min(path->my_slots_max, max_wr - 1));

	/*
	 * ib_cq_pool_get() would look for ever for a completion queue that is
	 * larger than the device can make.
	 */
	while (dms_rdma_sq_size(path) > max_wr ||
	       dms_rdma_sq_size(path) + dms_rdma_rq_size(path) > max_cqe) {
		if (dms_rdma_sq_size(path) <= max_wr && path->my_slots_max > path->my_slots)
			path->my_slots_max--;
		else if (path->nr_writes)	/* what the peer grants is not used then */
			path->nr_writes--;
		else if (path->keys_max > DMS_KEYS_FLOOR)
			path->keys_max--;
		else if (path->reads_max > 1)
			path->reads_max--;
		else
			break;
	}
	if (dms_rdma_sq_size(path) > max_wr || dms_rdma_rq_size(path) > max_wr ||
	    dms_rdma_sq_size(path) + dms_rdma_rq_size(path) > max_cqe) {
		pr_warn_ratelimited("%s has no room for a queue pair of %u sends and %u receives (it has %u, completion queue %u); lower the parameter slots\n",
				    dev_name(&path->ibdev->dev->dev), dms_rdma_sq_size(path),
				    dms_rdma_rq_size(path), max_wr, max_cqe);
		return -ENOSPC;
	}
	return 0;
}

/*
 * The paths of a session use different completion vectors, as long as there are
 * enough, and sessions begin at different ones.
 *
 * A completion queue of the pool is shared by queue pairs, and its work by all that
 * completes on one CPU.  What is on the latency lane has a queue of its own, and a
 * work that any CPU may run: else a short message would be heard of after whatever
 * completed on the bulk lane.
 */
static struct ib_cq *dms_rdma_get_cq(struct dms_rdma *tp, u32 nr_cqe)
{
	const struct dms_path *path = tp->path;
	struct ib_device *dev = path->ibdev->dev;
	u32 vector = (path->session->num + path->index) % dev->num_comp_vectors;

	tp->own_cq = path->lane == DMS_LANE_LATENCY;
	if (tp->own_cq)
		return ib_alloc_cq(dev, tp, nr_cqe, vector, IB_POLL_UNBOUND_WORKQUEUE);
	return ib_cq_pool_get(dev, nr_cqe, vector, IB_POLL_WORKQUEUE);
}

static int dms_rdma_make_qp(struct dms_rdma *tp)
{
	struct dms_path *path = tp->path;
	struct ib_qp_init_attr attr = {
		.event_handler	= dms_rdma_qp_event,
		.qp_context	= tp,
		.cap = {
			.max_send_wr	= dms_rdma_sq_size(path),
			.max_recv_wr	= dms_rdma_rq_size(path),
			.max_send_sge	= path->ibdev->max_send_sge,
			.max_recv_sge	= 1,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	u32 nr_cqe = attr.cap.max_send_wr + attr.cap.max_recv_wr;
	struct ib_cq *cq;
	struct ib_pd *pd;
	int ret;

	/*
	 * One protection domain per queue pair: a key of a path opens nothing
	 * to another path, not even of the same peer.
	 */
	pd = ib_alloc_pd(path->ibdev->dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	tp->pd = pd;

	cq = dms_rdma_get_cq(tp, nr_cqe);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	tp->nr_cqe = nr_cqe;
	tp->cq = cq;

	attr.send_cq = cq;
	attr.recv_cq = cq;
	ret = rdma_create_qp(tp->id, pd, &attr);
	if (ret)
		return ret;
	WRITE_ONCE(tp->qp, tp->id->qp);
	return 0;
}

static int dms_rdma_map_packets(struct dms_rdma *tp)
{
	struct dms_path *path = tp->path;
	struct ib_device *dev = path->ibdev->dev;
	u32 i;

	for (i = 0; i < path->reads_max; i++)
		path->reads[i].cqe.done = dms_rdma_idle_done;
	tp->nr_reads = path->reads_max;

	for (i = 0; i < path->nr_txpkts; i++) {
		struct dms_txpkt *pkt = &path->txpkts[i];

		pkt->cqe.done = dms_rdma_idle_done;
		pkt->buf_dma = ib_dma_map_single(dev, pkt->buf, pkt->buf_size, DMA_TO_DEVICE);
		if (ib_dma_mapping_error(dev, pkt->buf_dma))
			return -ENOMEM;
		tp->nr_tx_mapped++;
	}
	return 0;
}

static int dms_rdma_post_all(struct dms_rdma *tp)
{
	struct dms_path *path = tp->path;
	u32 i;
	int ret;

	tp->rx = kvcalloc(path->my_slots_max, sizeof(*tp->rx), GFP_KERNEL);
	if (!tp->rx)
		return -ENOMEM;

	for (i = path->my_slots_max; i-- > 0; ) {
		tp->rx[i].cqe.done = dms_rdma_recv_done;
		tp->rx[i].tp = tp;
		tp->rx[i].next = tp->rx_idle;
		tp->rx_idle = &tp->rx[i];
	}
	for (i = 0; i < path->my_slots; i++) {
		ret = dms_rdma_add_recv(tp, dms_rdma_pop_idle(tp), GFP_KERNEL);
		if (ret)
			return ret;
	}
	return 0;
}

/* The device is found, and keeps; the limits are known. */
static int dms_rdma_begin(struct dms_rdma *tp, u32 reads_max)
{
	struct dms_path *path = tp->path;
	struct dms_ibdev *d = dms_ibdev_get(tp->id->device);	/* put in dms_rdma_free() */
	int ret;

	if (!d)
		return -ENODEV;
	spin_lock(&path->lock);
	path->ibdev = d;
	spin_unlock(&path->lock);
	ret = dms_ibdev_add_path(d, tp);
	if (ret)
		return ret;
	tp->counted = true;
	return dms_rdma_limits(path, reads_max);
}

/**
 * dms_rdma_setup() - everything between the device and the connection
 * @tp: its id is bound to a device; setup_lock held, not dead
 * @reads_max: READs that the peer serves at once
 *
 * Sets the path's limits, makes queue pair, packets, keys, and posts all
 * receives.  What was made stays also on an error: the caller kills the path.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno; -ENODEV: the device is not used, or going; -EAGAIN:
 * others have the receives, and were asked to give back: call it again soon.
 */
int dms_rdma_setup(struct dms_rdma *tp, u32 reads_max)
{
	struct dms_path *path = tp->path;
	int ret;

	lockdep_assert_held(&tp->setup_lock);

	ret = tp->counted ? 0 : dms_rdma_begin(tp, reads_max);
	if (ret)
		return ret;
	ret = dms_recv_join(path);
	if (ret)
		return ret;
	tp->joined = true;
	ret = dms_rdma_make_qp(tp);
	if (ret)
		return ret;
	ret = dms_path_alloc(path);
	if (ret)
		return ret;
	ret = dms_rdma_map_packets(tp);
	if (ret)
		return ret;
	ret = dms_mr_make(tp);
	if (ret)
		return ret;
	return dms_rdma_post_all(tp);
}

/* ---- the fence ---- */

/* Sends, READs and revokes that the device never answered. */
static void dms_rdma_answer(struct dms_rdma *tp)
{
	struct dms_path *path = tp->path;
	u32 i;

	for (i = 0; i < tp->nr_tx_mapped; i++) {
		struct dms_txpkt *pkt = &path->txpkts[i];

		if (pkt->cqe.done == dms_rdma_idle_done)
			continue;
		list_del_init(&pkt->node);
		dms_rdma_answer_send(pkt, -EIO);
	}
	for (i = 0; i < tp->nr_reads; i++) {
		struct dms_read *rd = &path->reads[i];

		if (rd->cqe.done == dms_rdma_idle_done)
			continue;
		rd->cqe.done = dms_rdma_idle_done;
		dms_path_read_done(rd, -EIO);
	}
	dms_mr_answer(tp);
}

/*
 * After this no handler of ours runs, and none will.  With a queue pair that
 * cannot be moved to the error state (the device is broken) the drain would
 * wait for ever: then destroying it has to do, and what is left on the
 * completion queue is waited for with its worker.
 */
static void dms_rdma_end_qp(struct dms_rdma *tp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret;

	if (tp->qp) {
		ret = ib_modify_qp(tp->qp, &attr, IB_QP_STATE);
		if (ret)
			pr_warn_ratelimited("%s: queue pair %u cannot be stopped (%d), destroying it\n",
					    dev_name(&tp->qp->device->dev),
					    tp->qp->qp_num, ret);
		else
			ib_drain_qp(tp->qp);
		rdma_destroy_qp(tp->id);
		tp->qp = NULL;
	}
	if (tp->cq)
		flush_work(&tp->cq->work);
}

static void dms_rdma_free_buffers(struct dms_rdma *tp)
{
	struct dms_path *path = tp->path;
	u32 i;

	for (i = 0; i < tp->nr_tx_mapped; i++)
		ib_dma_unmap_single(path->ibdev->dev, path->txpkts[i].buf_dma,
				    path->txpkts[i].buf_size, DMA_TO_DEVICE);
	for (i = 0; tp->rx && i < path->my_slots_max; i++)
		if (tp->rx[i].buf)
			dms_rdma_free_recv(tp, &tp->rx[i]);
	tp->nr_rx = 0;
	tp->rx_idle = NULL;
	kvfree(tp->rx);
	tp->rx = NULL;
}

/*
 * From kill_work, once.  Any part may be missing: the path may have failed
 * anywhere between dms_rdma_create() and UP.
 */
static void dms_rdma_fence(struct dms_path *path)
{
	struct dms_rdma *tp = path->priv;

	if (!tp)
		return;

	/* 1. nothing is made or posted any more */
	mutex_lock(&tp->setup_lock);
	spin_lock(&path->lock);
	spin_lock(&tp->rq_lock);
	WRITE_ONCE(tp->dead, true);
	spin_unlock(&tp->rq_lock);
	spin_unlock(&path->lock);
	mutex_unlock(&tp->setup_lock);
	wake_up_all(&tp->up_wait);

	/* 2. the peer hears of it, then the queue pair ends with all handlers */
	if (tp->asked)
		rdma_disconnect(tp->id);
	dms_rdma_end_qp(tp);
	cancel_delayed_work_sync(&tp->room_work);
	cancel_work_sync(&tp->more_work);
	cancel_delayed_work_sync(&tp->limit_work);
	cancel_delayed_work_sync(&tp->event_work);

	/* 3. no key opens anything any more; only now is their memory free */
	dms_mr_destroy(tp);
	dms_rdma_free_buffers(tp);
	if (tp->joined)
		dms_recv_leave(path);
	tp->joined = false;
	if (tp->pd)
		ib_dealloc_pd(tp->pd);
	if (tp->cq && tp->own_cq)
		ib_free_cq(tp->cq);
	else if (tp->cq)
		ib_cq_pool_put(tp->cq, tp->nr_cqe);
	tp->pd = NULL;
	tp->cq = NULL;
	dms_rdma_answer(tp);

	/* 4. waits for a running event handler; those that come find dead */
	if (tp->id)
		rdma_destroy_id(tp->id);
	tp->id = NULL;
}

static void dms_rdma_free(struct dms_path *path)
{
	struct dms_rdma *tp = path->priv;
	struct dms_ibdev *d;

	/* others may still have the path, and ask for something */
	spin_lock(&path->lock);
	d = path->ibdev;
	path->ibdev = NULL;
	path->priv = NULL;
	spin_unlock(&path->lock);
	/*
	 * Removal of the device waits until here: what landed is made visible, and budgets
	 * are given back, after the fence.
	 */
	if (tp && tp->counted)
		dms_ibdev_del_path(d, tp);
	if (d)
		dms_ibdev_put(d);		/* got in dms_rdma_setup() */
	if (tp)
		kref_put(&tp->ref, dms_rdma_release);
}

const struct dms_transport_ops dms_rdma_ops = {
	.name		= "rdma",
	.send		= dms_rdma_send,
	.read		= dms_rdma_read,
	.expose		= dms_mr_expose,
	.revoke		= dms_mr_revoke,
	.flush_landing	= dms_rdma_flush_landing,
	.grow		= dms_rdma_grow,
	.map_pool	= dms_path_map_pool,
	.fence		= dms_rdma_fence,
	.free		= dms_rdma_free,
};
