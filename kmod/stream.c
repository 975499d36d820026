// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams: life, attachment to a process's objects, and what a process asks.
 *
 * A stream is reached from four sides at once: the process, its path, its
 * session, and the rings and groups that it waits for.  Each side holds a
 * reference while it can reach it:
 *
 *   handle table      until CLOSE or the context's end
 *   session table     from bind until dms_session_unbind(), in its work
 *   path->streams     no reference; dms_path_del_stream() in unbind, and
 *                     path_take_stream() takes one under streams_lock
 *   path's lists      one each, see dms_mux_ready(), dms_path_wait()
 *   request, READ     one each
 *   waiter queued     one each, by the waiter's get and put
 *   work, timer       one while queued
 *
 * The release runs on a worker, since dropping the ring, the groups and the
 * path may sleep, and the last reference may go under a spinlock.
 */
#include "stream.h"

#include <linux/slab.h>

#include "ctx.h"
#include "fault.h"
#include "listener.h"
#include "node.h"
#include "path.h"
#include "session.h"
#include "stats.h"
#include "stream_impl.h"
#include "wq.h"

static atomic_t stream_nums = ATOMIC_INIT(0);

/*
 * A cache of their own: the next size of kmalloc() is half as much again.  One name of
 * /proc/slabinfo also says what they take.
 */
static struct kmem_cache *stream_cache;

static void stream_init_lists(struct dms_stream *s)
{
	INIT_LIST_HEAD(&s->listener_node);
	INIT_LIST_HEAD(&s->session_node);
	INIT_LIST_HEAD(&s->path_node);
	INIT_LIST_HEAD(&s->ready_node);
	INIT_LIST_HEAD(&s->put_off_node);
	INIT_LIST_HEAD(&s->read_node);
	INIT_LIST_HEAD(&s->hold_node);
	INIT_LIST_HEAD(&s->txq);
	INIT_LIST_HEAD(&s->flight);
	INIT_LIST_HEAD(&s->ending);
	INIT_LIST_HEAD(&s->rtsq);
	INIT_LIST_HEAD(&s->landings);
	INIT_LIST_HEAD(&s->rxq);
}

/* ---- callbacks of what a stream waits for, and of what it stands on ---- */

static void cq_ready(struct dms_ring_waiter *w)
{
	struct dms_stream *s = container_of(w, struct dms_stream, cq_waiter);

	spin_lock(&s->lock);
	s->waits &= ~DMASTREAM_WAIT_CQ;
	dms_rx_deliver(s);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

static void cq_get(struct dms_ring_waiter *w)
{
	dms_stream_get(container_of(w, struct dms_stream, cq_waiter));
}

static void cq_put(struct dms_ring_waiter *w)
{
	dms_stream_put(container_of(w, struct dms_stream, cq_waiter));
}

static void small_ready(struct dms_group_waiter *w)
{
	struct dms_stream *s = container_of(w, struct dms_stream, small_waiter);

	spin_lock(&s->lock);
	s->waits &= ~DMASTREAM_WAIT_LANDING;
	dms_rx_replenish(s);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

static void small_get(struct dms_group_waiter *w)
{
	dms_stream_get(container_of(w, struct dms_stream, small_waiter));
}

static void small_put(struct dms_group_waiter *w)
{
	dms_stream_put(container_of(w, struct dms_stream, small_waiter));
}

static void large_ready(struct dms_group_waiter *w)
{
	struct dms_stream *s = container_of(w, struct dms_stream, large_waiter);

	spin_lock(&s->lock);
	dms_rx_large_ready(s);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

static void large_get(struct dms_group_waiter *w)
{
	dms_stream_get(container_of(w, struct dms_stream, large_waiter));
}

static void large_put(struct dms_group_waiter *w)
{
	dms_stream_put(container_of(w, struct dms_stream, large_waiter));
}

/* The ring or a group was closed under the stream: it cannot go on. */
static void stream_stand_lost(struct dms_stream *s)
{
	spin_lock(&s->lock);
	dms_ctl_abort(s, DMASTREAM_ERR_LOCAL, ECANCELED);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

static void ring_dead(struct dms_ring_user *u)
{
	stream_stand_lost(container_of(u, struct dms_stream, ring_user));
}

static void ring_user_get(struct dms_ring_user *u)
{
	dms_stream_get(container_of(u, struct dms_stream, ring_user));
}

static void ring_user_put(struct dms_ring_user *u)
{
	dms_stream_put(container_of(u, struct dms_stream, ring_user));
}

static void small_dead(struct dms_group_user *u)
{
	stream_stand_lost(container_of(u, struct dms_stream, small_user));
}

/* Others starve while this stream has credits that nobody uses. */
static void small_recall(struct dms_group_user *u)
{
	struct dms_stream *s = container_of(u, struct dms_stream, small_user);

	spin_lock(&s->lock);
	dms_rx_recall(s);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

static void small_user_get(struct dms_group_user *u)
{
	dms_stream_get(container_of(u, struct dms_stream, small_user));
}

static void small_user_put(struct dms_group_user *u)
{
	dms_stream_put(container_of(u, struct dms_stream, small_user));
}

static void large_dead(struct dms_group_user *u)
{
	stream_stand_lost(container_of(u, struct dms_stream, large_user));
}

static void large_user_get(struct dms_group_user *u)
{
	dms_stream_get(container_of(u, struct dms_stream, large_user));
}

static void large_user_put(struct dms_group_user *u)
{
	dms_stream_put(container_of(u, struct dms_stream, large_user));
}

static const struct dms_ring_waiter_ops cq_waiter_ops = {
	.ready = cq_ready, .get = cq_get, .put = cq_put,
};

static const struct dms_group_waiter_ops small_waiter_ops = {
	.ready = small_ready, .get = small_get, .put = small_put,
};

static const struct dms_group_waiter_ops large_waiter_ops = {
	.ready = large_ready, .get = large_get, .put = large_put,
};

static const struct dms_ring_user_ops ring_user_ops = {
	.dead = ring_dead, .get = ring_user_get, .put = ring_user_put,
};

static const struct dms_group_user_ops small_user_ops = {
	.dead = small_dead, .recall = small_recall,
	.get = small_user_get, .put = small_user_put,
};

static const struct dms_group_user_ops large_user_ops = {
	.dead = large_dead, .get = large_user_get, .put = large_user_put,
};

static void stream_init_callbacks(struct dms_stream *s)
{
	INIT_LIST_HEAD(&s->cq_waiter.node);
	s->cq_waiter.ops = &cq_waiter_ops;
	INIT_LIST_HEAD(&s->small_waiter.node);
	s->small_waiter.ops = &small_waiter_ops;
	INIT_LIST_HEAD(&s->large_waiter.node);
	s->large_waiter.ops = &large_waiter_ops;
	INIT_LIST_HEAD(&s->ring_user.node);
	s->ring_user.ops = &ring_user_ops;
	INIT_LIST_HEAD(&s->small_user.node);
	s->small_user.ops = &small_user_ops;
	INIT_LIST_HEAD(&s->large_user.node);
	s->large_user.ops = &large_user_ops;
}

/* ---- life ---- */

static void stream_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(stream_cache, container_of(rcu, struct dms_stream, rcu));
}

static void stream_free(struct dms_stream *s)
{
	WARN_ON_ONCE(!list_empty(&s->txq) || !list_empty(&s->flight) ||
		     !list_empty(&s->ending) || !list_empty(&s->rxq) ||
		     !list_empty(&s->landings) || s->pull);
	dms_push_free(s->push);
	if (s->listener)
		dms_listener_put(s->listener);	/* has the name of the service, too */
	else
		kfree(s->service);
	if (s->ring)
		dms_ring_put(s->ring);
	if (s->small)
		dms_group_put(s->small);
	if (s->large)
		dms_group_put(s->large);
	if (s->path)
		dms_path_put(s->path);
	if (s->session)
		dms_session_put(s->session);
	if (s->ctx)
		dms_ctx_put(s->ctx);
	dms_gauge_dec(DMS_GAUGE_STREAMS);
	/* Tables are read under RCU: dms_stream_tryget() may look at it still. */
	call_rcu(&s->rcu, stream_free_rcu);
}

/*
 * All that a stream does as work.  While it is queued it holds a reference; it is
 * queued without one by the release alone, and then nobody else can queue it.  It does
 * not run twice at once.
 */
static void stream_work(struct work_struct *work)
{
	struct dms_stream *s = container_of(work, struct dms_stream, work);

	if (!kref_read(&s->ref)) {
		stream_free(s);
		return;
	}
	dms_ctl_work(s);
	dms_stream_put(s);		/* of who queued it */
}

/**
 * dms_stream_alloc() - new stream, bound to nothing
 * @gfp: how to allocate
 *
 * Return: with one reference, or NULL.
 */
struct dms_stream *dms_stream_alloc(gfp_t gfp)
{
	struct dms_stream *s = dms_fault_alloc(STREAM) ? NULL :
			       kmem_cache_zalloc(stream_cache, gfp);

	if (!s)
		return NULL;
	kref_init(&s->ref);
	spin_lock_init(&s->lock);
	stream_init_lists(s);
	stream_init_callbacks(s);
	INIT_WORK(&s->work, stream_work);
	dms_ctl_init(s);
	dms_turn_init(&s->turn);
	dms_land_rx_init(&s->land_rx);
	dms_land_tx_init(&s->land_tx, DMS_SMALL_CREDITS);
	s->land_target = 1;
	s->weight = 1;
	s->state = DMS_STREAM_WAITING;
	s->num = atomic_inc_return(&stream_nums);
	dms_gauge_inc(DMS_GAUGE_STREAMS);
	return s;
}

static void stream_release(struct kref *ref)
{
	struct dms_stream *s = container_of(ref, struct dms_stream, ref);

	queue_work(dms_wq, &s->work);
}

void dms_stream_get(struct dms_stream *s)
{
	kref_get(&s->ref);
}

/**
 * dms_stream_tryget() - reference for one found in a table
 * @s: read from the table under RCU
 *
 * Return: false when its last reference is gone.
 */
bool dms_stream_tryget(struct dms_stream *s)
{
	return kref_get_unless_zero(&s->ref);
}

/**
 * dms_stream_put() - drop a reference
 * @s: may be gone afterwards
 *
 * Context: any but hard interrupt; any lock may be held.
 */
void dms_stream_put(struct dms_stream *s)
{
	kref_put(&s->ref, stream_release);
}

/**
 * dms_stream_move() - change the state
 * @s: stream->lock is held
 * @to: a legal change from the present state
 *
 * Return: false, and no change, when it is not legal; that is a bug.
 */
bool dms_stream_move(struct dms_stream *s, enum dms_stream_state to)
{
	lockdep_assert_held(&s->lock);
	if (s->state == to)
		return true;
	if (WARN_ONCE(!dms_stream_legal(s->state, to), "dmastream: stream %s -> %s",
		      dms_stream_state_name(s->state), dms_stream_state_name(to)))
		return false;
	s->state = to;
	return true;
}

/**
 * dms_stream_attach() - give a stream its ring and groups
 * @s: not attached yet; no lock held
 * @ctx: owner
 * @cfg: the stream takes references of its own
 *
 * Return: 0, -ENODEV when one of them is dead, or -ENOMEM.
 */
int dms_stream_attach(struct dms_stream *s, struct dms_ctx *ctx,
		      const struct dms_stream_cfg *cfg)
{
	struct dms_push *push = NULL;

	/* nobody else sets it now: one that connects has no peer yet, one of a backlog heard it */
	if (cfg->flags & DMASTREAM_STREAM_PUSH && !s->push) {
		push = dms_push_alloc(s, GFP_KERNEL_ACCOUNT);
		if (!push)
			return -ENOMEM;
	}
	if (dms_ring_add_user(cfg->ring, &s->ring_user))
		goto undo_push;
	if (cfg->small && dms_group_add_user(cfg->small, &s->small_user))
		goto undo_ring;
	if (cfg->large && dms_group_add_user(cfg->large, &s->large_user))
		goto undo_small;
	/* All of these are put in stream_free(). */
	dms_ctx_get(ctx);
	dms_ring_get(cfg->ring);
	if (cfg->small)
		dms_group_get(cfg->small);
	if (cfg->large)
		dms_group_get(cfg->large);
	s->ctx = ctx;
	s->owner = ctx->uid;
	s->pid = ctx->pid;
	s->flags = cfg->flags;
	s->cookie = cfg->cookie;
	s->weight = cfg->weight;
	s->ring = cfg->ring;
	s->small = cfg->small;
	s->large = cfg->large;
	spin_lock(&s->lock);
	if (push)
		s->push = push;
	s->attached = true;
	spin_unlock(&s->lock);
	return 0;

undo_small:
	if (cfg->small)
		dms_group_del_user(cfg->small, &s->small_user);
undo_ring:
	dms_ring_del_user(cfg->ring, &s->ring_user);
undo_push:
	dms_push_free(push);
	return -ENODEV;
}

/**
 * dms_stream_detach() - the stream stands on nothing any more
 * @s: ended; its handle is gone
 *
 * From here on neither a ring nor a group can reach it, so that its last
 * reference may go.  Context: process, no lock held.
 */
void dms_stream_detach(struct dms_stream *s)
{
	if (!s->attached)
		return;
	dms_ring_unwait(s->ring, &s->cq_waiter);
	dms_ring_del_user(s->ring, &s->ring_user);
	if (s->small) {
		dms_group_unwait(s->small, &s->small_waiter);
		dms_group_del_user(s->small, &s->small_user);
	}
	if (s->large) {
		dms_group_unwait(s->large, &s->large_waiter);
		dms_group_del_user(s->large, &s->large_user);
	}
}

/**
 * dms_stream_kick() - have it served by a worker
 * @s: any state; any lock may be held
 */
void dms_stream_kick(struct dms_stream *s)
{
	struct dms_path *path = READ_ONCE(s->path);

	if (!path)
		return;
	dms_mux_ready(s);
	dms_path_kick(path);
}

/*
 * The process answers each message at once, so this one's acknowledgement can go with
 * the answer.  Not when the peer may soon have to wait for what else it would tell:
 * landing credits, of which it has less than half of what it should have.
 */
static bool stream_ack_may_wait(struct dms_stream *s, bool sure)
{
	u32 want = dms_rx_posted(s) ? 1 : (s->land_target + 1) / 2;

	return sure && s->path->ack_delay && !s->shut &&
	       (!dms_land_rx_owes(&s->land_rx) || s->land_rx.told - s->land_rx.used >= want);
}

/* Does anything of it wait to be served, but for an acknowledgement? */
static bool stream_has_more(const struct dms_stream *s)
{
	return s->state != DMS_STREAM_OPEN || s->ctl & ~DMS_CTL_UPDATE ||
	       !list_empty(&s->txq) || s->nr_keys || !list_empty(&s->rtsq) || s->pull;
}

/**
 * dms_stream_heard() - frames came for it
 * @s: on a path
 *
 * Has it served by a worker, unless there is nothing to send, or an acknowledgement
 * that may wait.
 *
 * Context: process, no lock held.
 */
void dms_stream_heard(struct dms_stream *s)
{
	bool sure, more, acks;

	spin_lock(&s->lock);
	if (READ_ONCE(s->ack_is_late)) {
		WRITE_ONCE(s->ack_is_late, false);
		dms_ack_late(&s->ack);
	}
	s->heard = true;
	sure = dms_ack_heard(&s->ack, s->rx_acked, jiffies);
	more = stream_has_more(s);
	acks = s->ctl & DMS_CTL_UPDATE;
	if (acks && !more)
		more = !stream_ack_may_wait(s, sure);
	spin_unlock(&s->lock);
	if (more)
		dms_stream_kick(s);
	else if (acks)
		dms_mux_put_off(s);
}

/* Out of line: what a stream hardly ever says. */
static noinline enum dms_served stream_seldom(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served = DMS_SERVED;

	if (s->ctl & DMS_CTL_NACK_ACK)
		served = dms_resume_nack_serve(s, b);
	if (s->ctl & DMS_CTL_SKIP && served == DMS_SERVED)
		served = dms_skip_serve(s, b);
	return served;
}

/**
 * dms_stream_serve() - put what the stream owes and may send into packets
 * @s: was ready
 * @b: path->lock is held
 *
 * Revoking comes first and is done in every state: a key that is not needed
 * any more is the one thing that others wait for.
 */
enum dms_served dms_stream_serve(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served = DMS_SERVED;

	spin_lock(&s->lock);
	s->waits &= ~(DMASTREAM_WAIT_SESSION | DMASTREAM_WAIT_INCAST);
	if (!dms_turn_waits(&s->turn))
		s->waits &= ~(DMASTREAM_WAIT_CREDIT | DMASTREAM_WAIT_KEY |
			      DMASTREAM_WAIT_WINDOW | DMASTREAM_WAIT_RATE);
	if (unlikely(s->resume)) {
		served = dms_resume_serve(s, b);
		/* the rest when both sides have said what they have */
		if (served != DMS_SERVED || s->resume)
			goto out;
	}
	dms_tx_revoke(s, b);
	if (unlikely(s->push) && dms_push_end(s, b->path))
		b->failed = true;
	if (s->ctl & (DMS_CTL_CONNECT | DMS_CTL_CONNECTED | DMS_CTL_ACCEPT))
		served = dms_ctl_open_serve(s, b);
	if (served == DMS_SERVED && s->state == DMS_STREAM_OPEN)
		served = dms_rx_serve(s, b);
	else if (served == DMS_SERVED && s->state == DMS_STREAM_CLOSING)
		served = dms_rx_refuse_serve(s, b);
	if (unlikely(s->ctl & (DMS_CTL_NACK_ACK | DMS_CTL_SKIP)) && served == DMS_SERVED)
		served = stream_seldom(s, b);
	if (unlikely(s->ctl & DMS_CTL_PUSH) && served == DMS_SERVED &&
	    (s->state == DMS_STREAM_OPEN || s->state == DMS_STREAM_CLOSING))
		served = dms_push_serve(s, b);
	if (served == DMS_SERVED && (s->state == DMS_STREAM_OPEN ||
				     s->state == DMS_STREAM_CLOSING))
		served = dms_tx_serve(s, b);
	dms_ctl_check_end(s);
	if (served == DMS_SERVED &&
	    s->ctl & (DMS_CTL_RESET | DMS_CTL_RESET_ACK | DMS_CTL_RESET_DONE))
		served = dms_ctl_end_serve(s, b);
out:
	spin_unlock(&s->lock);
	return served;
}

/**
 * dms_stream_turn() - its turn to send has come
 * @s: waited for it
 * @b: path->lock is held
 */
enum dms_served dms_stream_turn(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served = DMS_SERVED;

	spin_lock(&s->lock);
	s->waits &= ~(DMASTREAM_WAIT_CREDIT | DMASTREAM_WAIT_KEY | DMASTREAM_WAIT_WINDOW |
		      DMASTREAM_WAIT_RATE);
	if ((s->state == DMS_STREAM_OPEN || s->state == DMS_STREAM_CLOSING) && !s->resume)
		served = dms_tx_turn(s, b);
	dms_ctl_check_end(s);	/* what was refused may have been the last */
	spin_unlock(&s->lock);
	return served;
}

/**
 * dms_stream_init() - before the first stream
 *
 * Return: 0 or -ENOMEM.
 */
int dms_stream_init(void)
{
	stream_cache = kmem_cache_create("dms_stream", sizeof(struct dms_stream), 0, 0, NULL);
	return stream_cache ? dms_pull_init() : -ENOMEM;
}

/**
 * dms_stream_exit() - after the last one, and an rcu_barrier()
 *
 * Also after dms_stream_init() failed.
 */
void dms_stream_exit(void)
{
	dms_pull_exit();
	kmem_cache_destroy(stream_cache);
	stream_cache = NULL;
}

/* ---- what a process asks ---- */

static void batch_pump(struct dms_submit_batch *batch)
{
	u32 i;

	for (i = 0; i < batch->nr; i++) {
		dms_path_pump(batch->path[i]);
		dms_path_put(batch->path[i]);	/* of batch_add() */
	}
	batch->nr = 0;
}

/*
 * Pumping is put off to the end of the batch for all paths, not only while one
 * path follows itself: the streams of one peer alternate between its queue
 * pairs, and what is submitted together is to be packed.
 */
static void batch_add(struct dms_submit_batch *batch, struct dms_path *path)
{
	u32 i;

	for (i = 0; i < batch->nr; i++)
		if (batch->path[i] == path)
			return;
	if (batch->nr == DMS_BATCH_PATHS)
		batch_pump(batch);
	dms_path_get(path);		/* put in batch_pump() */
	batch->path[batch->nr++] = path;
}

/*
 * The path may have got another carrier, perhaps of another device, since the requests of
 * the batch were made ready: then their pools are mapped again.  Whoever makes a carrier
 * counts it first and maps what it finds in streams then, under their locks: so each
 * request is seen there, or sees the count here.
 */
static bool batch_stale(const struct dms_submit_batch *batch)
{
	return READ_ONCE(batch->stream->path->carriers) != batch->carriers;
}

/* No lock held. */
static void batch_remap(struct dms_submit_batch *batch, struct list_head *refused)
{
	struct dms_path *path = batch->stream->path;
	struct dms_req *req, *next;

	batch->carriers = READ_ONCE(path->carriers);
	list_for_each_entry_safe(req, next, &batch->reqs, node) {
		req->result = req->pool ? path->ops->map_pool(path, req->pool) : 0;
		if (req->result)
			list_move_tail(&req->node, refused);
	}
}

/**
 * dms_submit_give() - give the requests that were gathered to their stream
 * @batch: keeps the paths; what the stream refuses ends with the error
 *
 * Context: process, no lock of ours but the ring's sq_lock held.
 */
void dms_submit_give(struct dms_submit_batch *batch)
{
	struct dms_stream *s = batch->stream;
	struct dms_req *req, *next;
	LIST_HEAD(refused);
	u32 taken = 0, sends = 0;
	int err;

	if (!s)
		return;
	spin_lock(&s->lock);
	while (unlikely(batch_stale(batch))) {
		spin_unlock(&s->lock);
		batch_remap(batch, &refused);
		spin_lock(&s->lock);
	}
	list_for_each_entry_safe(req, next, &batch->reqs, node) {
		err = req->op == DMASTREAM_OP_SEND ? dms_tx_take(s, req) :
						     dms_rx_take(s, req);
		if (err) {
			req->result = err;
			list_move_tail(&req->node, &refused);
		} else {
			taken++;
			sends += req->op == DMASTREAM_OP_SEND;
		}
	}
	if (sends && s->path)
		dms_ack_answered(&s->ack, s->rx_acked, jiffies, s->path->ack_delay);
	spin_unlock(&s->lock);
	batch->nr_reqs = 0;
	batch->mapped = NULL;
	batch->stream = NULL;
	list_for_each_entry_safe(req, next, &refused, node) {
		list_del_init(&req->node);
		dms_stat_inc(DMS_STAT_BAD_SQES);
		dms_req_complete(req, req->result, 0, 0, 0);
	}
	if (taken) {
		batch_add(batch, s->path);
		dms_mux_ready(s);
	}
	dms_stream_put(s);		/* of dms_stream_submit() */
}

/**
 * dms_submit_begin() - an empty batch
 * @batch: to be ended with dms_submit_flush()
 */
void dms_submit_begin(struct dms_submit_batch *batch)
{
	batch->stream = NULL;
	INIT_LIST_HEAD(&batch->reqs);
	batch->nr_reqs = 0;
	batch->mapped = NULL;
	batch->nr = 0;
}

/**
 * dms_stream_submit() - take a SEND or RECV
 * @req: checked by the ring; its references go with its completion
 * @batch: gathers what is to be given to the stream and scheduled
 *
 * That a pool is mapped is known of the one before: that one's request still is in
 * the batch, and holds a transfer on it.
 *
 * Context: process, may sleep (a pool may have to be mapped on the NIC).
 * Return: 0, or an error with which the caller completes it.
 */
int dms_stream_submit(struct dms_req *req, struct dms_submit_batch *batch)
{
	struct dms_stream *s = req->stream;
	struct dms_path *path = READ_ONCE(s->path);
	int err;

	if (!path)
		return -ENOTCONN;
	if (batch->stream != s || batch->nr_reqs == DMS_BATCH_REQS) {
		dms_submit_give(batch);
		/* once given, requests may complete at any moment, and their references go */
		dms_stream_get(s);	/* put in dms_submit_give() */
		batch->stream = s;
		batch->carriers = READ_ONCE(path->carriers);
	}
	if (req->pool && req->pool != batch->mapped) {
		err = path->ops->map_pool(path, req->pool);
		if (err)
			return err;
		batch->mapped = req->pool;
	}
	list_add_tail(&req->node, &batch->reqs);
	batch->nr_reqs++;
	return 0;
}

/**
 * dms_submit_flush() - let what was submitted go
 * @batch: empty afterwards
 *
 * Context: process, no lock of ours but the ring's sq_lock held.
 */
void dms_submit_flush(struct dms_submit_batch *batch)
{
	dms_submit_give(batch);
	batch_pump(batch);
}

/**
 * dms_stream_cancel() - take a submission back
 * @s: any state
 * @user_data: of the submission
 *
 * Return: 0 (its completion tells how it ends), -EALREADY (too late, or the peer cannot) or
 * -ENOENT.
 */
int dms_stream_cancel(struct dms_stream *s, u64 user_data)
{
	int err;

	spin_lock(&s->lock);
	err = dms_tx_cancel(s, user_data);
	spin_unlock(&s->lock);
	if (!err)	/* what waited behind it may go: a message, FIN, RETURN */
		dms_stream_kick(s);
	return err;
}

static u32 stream_uapi_state(const struct dms_stream *s)
{
	switch (s->state) {
	case DMS_STREAM_WAITING:
	case DMS_STREAM_CONNECTING:
	case DMS_STREAM_BACKLOG:
		return DMASTREAM_STATE_CONNECTING;
	case DMS_STREAM_OPEN:
		return DMASTREAM_STATE_OPEN;
	case DMS_STREAM_CLOSING:
	case DMS_STREAM_DRAINING:
	case DMS_STREAM_RESETTING:
		return DMASTREAM_STATE_CLOSING;
	default:
		return DMASTREAM_STATE_BROKEN;
	}
}

static void stream_uapi_addr(const union dms_peer *peer, struct dmastream_addr *a)
{
	memset(a, 0, sizeof(*a));
	if (peer->sa.sa_family == AF_INET) {
		a->family = AF_INET;
		a->port = (__force u16)peer->in.sin_port;
		memcpy(a->addr, &peer->in.sin_addr, sizeof(peer->in.sin_addr));
	} else if (peer->sa.sa_family == AF_INET6) {
		a->family = AF_INET6;
		a->port = (__force u16)peer->in6.sin6_port;
		a->scope_id = peer->in6.sin6_scope_id;
		memcpy(a->addr, &peer->in6.sin6_addr, sizeof(peer->in6.sin6_addr));
	}
}

/**
 * dms_stream_peer() - address of the peer, as a process reads it
 * @s: bound
 * @addr: out
 */
void dms_stream_peer(const struct dms_stream *s, struct dmastream_addr *addr)
{
	stream_uapi_addr(&s->peer, addr);
}

/*
 * Of a path it is the lane that counts: the peer may have none, or it chose; and whether
 * the peer knows what a grant is.
 */
static u64 stream_uapi_flags(const struct dms_stream *s)
{
	const struct dms_path *path = READ_ONCE(s->path);
	u64 flags = s->flags;

	if (!path)
		return flags;
	if (!path->pushes)
		flags &= ~DMASTREAM_STREAM_PUSH;
	return (flags & ~DMASTREAM_STREAM_LATENCY) |
	       (path->lane == DMS_LANE_LATENCY ? DMASTREAM_STREAM_LATENCY : 0);
}

/**
 * dms_stream_set_peer() - whom it is to be connected to
 * @s: new
 * @a: from a process, checked; port 0 is the module's own
 */
void dms_stream_set_peer(struct dms_stream *s, const struct dmastream_addr *a)
{
	union dms_peer *peer = &s->peer;
	__be16 port = (__force __be16)a->port;

	if (!port)
		port = htons(dms_param_port);
	if (a->family == AF_INET) {
		peer->in.sin_family = AF_INET;
		peer->in.sin_port = port;
		memcpy(&peer->in.sin_addr, a->addr, sizeof(peer->in.sin_addr));
	} else {
		peer->in6.sin6_family = AF_INET6;
		peer->in6.sin6_port = port;
		peer->in6.sin6_scope_id = a->scope_id;
		memcpy(&peer->in6.sin6_addr, a->addr, sizeof(peer->in6.sin6_addr));
	}
}

/**
 * dms_ctl_errno() - what a process is told
 * @err_class: enum dmastream_err_class
 * @err_detail: depends on the class
 *
 * Return: negative errno.
 */
int dms_ctl_errno(u32 err_class, u32 err_detail)
{
	switch (err_class) {
	case DMASTREAM_ERR_NONE:
		return -EPIPE;
	case DMASTREAM_ERR_LOCAL:
		return -ECANCELED;
	case DMASTREAM_ERR_REFUSED:
		return -ECONNREFUSED;
	case DMASTREAM_ERR_DEVICE:
		return -ENODEV;
	case DMASTREAM_ERR_PROTOCOL:
		return -EPROTO;
	case DMASTREAM_ERR_SESSION:
		/* what the network said: no route, nobody listens, timed out */
		return err_detail && err_detail <= MAX_ERRNO ? -(int)err_detail : -ECONNRESET;
	default:
		return -ECONNRESET;
	}
}

/**
 * dms_stream_query() - what is known of a stream
 * @s: any state
 * @arg: out members are filled
 */
void dms_stream_query(struct dms_stream *s, struct dmastream_stream_query *arg)
{
	spin_lock(&s->lock);
	arg->state = stream_uapi_state(s);
	arg->waits = s->waits;
	arg->cookie = s->cookie;
	arg->stream_flags = stream_uapi_flags(s);
	arg->err_class = s->err_class;
	arg->err_detail = s->err_detail;
	arg->tx_msgs = s->tx_msgs;
	arg->tx_bytes = s->tx_bytes;
	arg->rx_msgs = s->rx_msgs;
	arg->rx_bytes = s->rx_bytes;
	arg->tx_queued = s->tx_queued;
	arg->rx_queued = s->rx_queued;
	arg->credits = dms_land_tx_avail(&s->land_tx);
	arg->keys = s->nr_keys;
	stream_uapi_addr(&s->peer, &arg->peer);
	spin_unlock(&s->lock);
}
