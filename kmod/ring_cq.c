// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion queue of a ring: slots, completions, and those who wait for
 * room.
 *
 * Slots: occupied (written, not reaped), reserved (promised to a request or an
 * ioctl), or free; submissions leave the last cq_recv_min of them to receives.  A
 * completion is never dropped while the ring lives, since each has its slot
 * before it can come about, and a receive without one waits.
 *
 * Waiters.  As in group.c: CQ_KICK is set while somebody waits, and when it goes
 * from 0 to 1, and only then, the queue is looked at again after a full barrier.
 * A poller that sleeps on a submission without a slot is one who waits, too.
 */
#include "ring.h"

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "poller.h"
#include "pool.h"
#include "stats.h"
#include "stream.h"
#include "wq.h"

/* ---- the completion queue; cq_lock is held unless said otherwise ---- */

/**
 * dms_ring_set_flags() - what the process is to know
 * @ring: ring; cq_lock is held, or nobody knows it yet
 * @flags: DMASTREAM_RING_*
 *
 * Context: Process context.
 */
void dms_ring_set_flags(struct dms_ring *ring, u32 flags)
{
	if (ring->flags == flags)
		return;
	ring->flags = flags;
	WRITE_ONCE(dms_ring_shared(ring)->flags, flags);
}

/* Nobody waits for room any more, perhaps. */
static void ring_clear_cq_kick(struct dms_ring *ring)
{
	if (list_empty(&ring->waiters) && !ring->sq_stuck)
		dms_ring_set_flags(ring, ring->flags & ~DMASTREAM_RING_CQ_KICK);
}

/**
 * dms_ring_cq_occupied_at() - completions that the process has not reaped
 * @ring: ring.  cq_lock may be missing: then the answer is about a moment that has
 *	  passed, as any answer soon is
 * @tail: cq_tail as it was read
 *
 * Context: Process context.
 * Return: their number.
 */
u32 dms_ring_cq_occupied_at(struct dms_ring *ring, u32 tail)
{
	/*
	 * acquire: with the release store of the head in dmastream_cq_advance();
	 * what is written into a slot comes after the process has read it
	 */
	u32 head = smp_load_acquire(&dms_ring_shared(ring)->cq_head);

	return dms_ring_occupied(tail, head, ring->cq_entries);
}

/**
 * dms_ring_cq_occupied() - completions that the process has not reaped
 * @ring: as for dms_ring_cq_occupied_at()
 *
 * Context: Process context.
 * Return: their number.
 */
u32 dms_ring_cq_occupied(struct dms_ring *ring)
{
	return dms_ring_cq_occupied_at(ring, READ_ONCE(ring->cq_tail));
}

/**
 * dms_ring_cq_has_room() - may a receive complete?
 * @ring: ring; cq_lock is held
 *
 * Context: Process context.
 * Return: true when there is a slot that nobody was promised.
 */
bool dms_ring_cq_has_room(struct dms_ring *ring)
{
	return dms_cqslots_recv_ok(&ring->slots, dms_ring_cq_occupied(ring));
}

/* Into a slot that is the caller's; to be followed by ring_wake() without the lock. */
static void ring_write(struct dms_ring *ring, const struct dmastream_cqe *cqe)
{
	struct dmastream_cqe *cqes = ring->mem + ring->cqes_off;
	u32 tail = ring->cq_tail;

	cqes[tail & (ring->cq_entries - 1)] = *cqe;
	WRITE_ONCE(ring->cq_tail, tail + 1);
	/* release: with the acquire load of the tail in dmastream_cq_ready() */
	smp_store_release(&dms_ring_shared(ring)->cq_tail, tail + 1);
}

/*
 * The lock is not held.  wq_has_sleeper() has the full barrier between our store
 * of the tail and its look at the sleepers; its partners are the one in
 * prepare_to_wait() for ENTER, and the one in ring_poll().
 */
static void ring_wake(struct dms_ring *ring)
{
	if (wq_has_sleeper(&ring->wq))
		wake_up_poll(&ring->wq, EPOLLIN | EPOLLRDNORM);
}

static void ring_kick_waiters(struct dms_ring *ring)
{
	dms_ring_get(ring);	/* put in dms_ring_wake_work() */
	if (!queue_work(dms_wq, &ring->wake_work))
		dms_ring_put(ring);
}

/* ---- receives ---- */

/**
 * dms_ring_recv_begin() - completions of receives are to follow
 * @ring: ring, of which the caller has a reference
 *
 * Context: Process context; stream->lock may be held.
 */
void dms_ring_recv_begin(struct dms_ring *ring) __acquires(&ring->cq_lock)
{
	spin_lock(&ring->cq_lock);
}

/**
 * dms_ring_recv_end() - no more
 * @ring: ring
 * @any: there was one that got its slot
 */
void dms_ring_recv_end(struct dms_ring *ring, bool any) __releases(&ring->cq_lock)
{
	spin_unlock(&ring->cq_lock);
	if (any)
		ring_wake(ring);
}

/**
 * dms_ring_recv() - a completion that no submission reserved
 * @ring: between dms_ring_recv_begin() and _end()
 * @cqe: completion
 * @w: queued when there is no slot, or others wait already
 *
 * Return: 0: it is in the queue, or dropped because the ring is dead; -EAGAIN:
 * the waiter is queued.
 */
int dms_ring_recv(struct dms_ring *ring, const struct dmastream_cqe *cqe,
		  struct dms_ring_waiter *w)
{
	bool ok;

	if (ring->dead)
		return 0;
	ok = (list_empty(&ring->waiters) || w->turn) && dms_ring_cq_has_room(ring);
	w->turn = false;
	if (!ok && !w->queued && !(ring->flags & DMASTREAM_RING_CQ_KICK)) {
		dms_ring_set_flags(ring, ring->flags | DMASTREAM_RING_CQ_KICK);
		/*
		 * full barrier: with that of dmastream_cq_advance(), which is
		 * between its store of the head and its load of the flags
		 */
		smp_mb();
		ok = dms_ring_cq_has_room(ring);
		if (ok)
			ring_clear_cq_kick(ring);
	}
	if (ok) {
		ring_write(ring, cqe);
		return 0;
	}
	if (!w->queued) {
		w->ops->get(w);
		w->queued = true;
		list_add_tail(&w->node, &ring->waiters);
		ring->nr_waiters++;
		dms_stat_inc(DMS_STAT_CQ_FULL_WAITS);
	}
	return -EAGAIN;
}

/**
 * dms_ring_post_recv() - one completion of a receive
 * @ring: as for dms_ring_recv_begin()
 * @cqe: as for dms_ring_recv()
 * @w: likewise
 *
 * Context: Process context; stream->lock may be held.
 * Return: as dms_ring_recv().
 */
int dms_ring_post_recv(struct dms_ring *ring, const struct dmastream_cqe *cqe,
		       struct dms_ring_waiter *w)
{
	int err;

	dms_ring_recv_begin(ring);
	err = dms_ring_recv(ring, cqe, w);
	dms_ring_recv_end(ring, !err);
	return err;
}

/**
 * dms_ring_unqueue() - a waiter is taken off
 * @ring: ring; cq_lock is held
 * @w: queued; its reference is the caller's
 *
 * Context: Process context.
 */
void dms_ring_unqueue(struct dms_ring *ring, struct dms_ring_waiter *w)
{
	list_del_init(&w->node);
	w->queued = false;
	ring->nr_waiters--;
}

/**
 * dms_ring_unwait() - waits no more
 * @ring: ring
 * @w: queued or not; its put is called when it was
 *
 * Its ready() may run at the same time.
 *
 * Context: Process context; stream->lock may be held by a caller that has a
 * reference of its own on what the waiter is in.
 */
void dms_ring_unwait(struct dms_ring *ring, struct dms_ring_waiter *w)
{
	bool queued;

	spin_lock(&ring->cq_lock);
	queued = w->queued;
	if (queued) {
		dms_ring_unqueue(ring, w);
		ring_clear_cq_kick(ring);
	}
	spin_unlock(&ring->cq_lock);
	if (queued)
		w->ops->put(w);
}

/**
 * dms_ring_run_waiters() - serves receivers that wait for room
 * @ring: ring, of which the caller has a reference
 *
 * Each at most once: it may queue again at the end.  When some are left that
 * could go on, a work does.
 *
 * Context: Process context, no lock held.
 * Return: true when one was served.
 */
bool dms_ring_run_waiters(struct dms_ring *ring)
{
	struct dms_ring_waiter *w;
	bool any = false, more;
	u32 n;

	spin_lock(&ring->cq_lock);
	for (n = ring->nr_waiters; n && !list_empty(&ring->waiters); n--) {
		if (!dms_ring_cq_has_room(ring))
			break;
		w = list_first_entry(&ring->waiters, struct dms_ring_waiter, node);
		dms_ring_unqueue(ring, w);
		w->turn = true;
		spin_unlock(&ring->cq_lock);

		w->ops->ready(w);
		any = true;

		spin_lock(&ring->cq_lock);
		w->turn = false;
		spin_unlock(&ring->cq_lock);
		w->ops->put(w);
		cond_resched();
		spin_lock(&ring->cq_lock);
	}
	/* nobody waits, and the flag was left on for the one who was served */
	ring_clear_cq_kick(ring);
	more = !list_empty(&ring->waiters) && dms_ring_cq_has_room(ring);
	spin_unlock(&ring->cq_lock);
	if (more)
		ring_kick_waiters(ring);
	return any;
}

/**
 * dms_ring_unstick() - a submission that lacked a slot may go
 * @ring: ring; it is the poller's business
 *
 * Context: Process context.
 */
void dms_ring_unstick(struct dms_ring *ring)
{
	if (READ_ONCE(ring->sq_stuck))
		dms_poller_wake(ring->poller);
}

/**
 * dms_ring_wake_work() - slots came back without a completion
 * @work: of the ring, with a reference
 *
 * Context: worker.
 */
void dms_ring_wake_work(struct work_struct *work)
{
	struct dms_ring *ring = container_of(work, struct dms_ring, wake_work);

	dms_ring_run_waiters(ring);
	dms_ring_unstick(ring);
	dms_ring_put(ring);	/* got in ring_kick_waiters() */
}

/* ---- slots that are reserved ---- */

/**
 * dms_ring_reserve() - slots for completions that an ioctl asked for
 * @ring: ring, of which the caller has a reference
 * @n: slots
 *
 * Context: Process context; stream->lock may be held.
 * Return: 0, -EAGAIN (no room) or -ENODEV (dead).
 */
int dms_ring_reserve(struct dms_ring *ring, u32 n)
{
	int err = 0;

	spin_lock(&ring->cq_lock);
	if (ring->dead)
		err = -ENODEV;
	else if (!dms_cqslots_reserve(&ring->slots, dms_ring_cq_occupied(ring), n))
		err = -EAGAIN;
	spin_unlock(&ring->cq_lock);
	return err;
}

/* cq_lock is held: @n slots are free again; true: ring_kick_waiters() is to follow. */
static bool ring_give_back(struct dms_ring *ring, u32 n)
{
	dms_cqslots_unreserve(&ring->slots, n);
	return n && (!list_empty(&ring->waiters) || ring->sq_stuck);
}

/**
 * dms_ring_unreserve() - they will not be used
 * @ring: ring
 * @n: slots, from dms_ring_reserve()
 *
 * Context: Process context; stream->lock may be held.
 */
void dms_ring_unreserve(struct dms_ring *ring, u32 n)
{
	bool kick;

	spin_lock(&ring->cq_lock);
	kick = ring_give_back(ring, n);
	spin_unlock(&ring->cq_lock);
	if (kick)
		ring_kick_waiters(ring);
}

/**
 * dms_ring_post_reserved() - a completion for which one slot was reserved
 * @ring: ring; a dead one drops it
 * @cqe: completion
 *
 * Context: Process context; stream->lock may be held.
 */
void dms_ring_post_reserved(struct dms_ring *ring, const struct dmastream_cqe *cqe)
{
	spin_lock(&ring->cq_lock);
	dms_cqslots_unreserve(&ring->slots, 1);
	if (!ring->dead)
		ring_write(ring, cqe);
	spin_unlock(&ring->cq_lock);
	ring_wake(ring);
}

/* ---- requests ---- */

/**
 * dms_ring_take_reqs() - requests, with the slots for their completions
 * @ring: ring, of which the caller has a reference as long as they are out, or
 *	  until each has a stream, which has one
 * @n: most that are wanted
 * @slots: of each, at least 1
 * @reqs: out: they are added, with ring and slots set
 * @err: out: why there is none: -EAGAIN, -ENODEV
 *
 * There are as many requests as slots, and each holds a slot as long as it is
 * out, so that who gets slots gets a request.
 *
 * Context: Process context.
 * Return: how many there are, fewer than @n when there are no more slots.
 */
u32 dms_ring_take_reqs(struct dms_ring *ring, u32 n, u32 slots, struct list_head *reqs,
		       int *err)
{
	u32 occupied, taken;

	*err = -EAGAIN;
	spin_lock(&ring->cq_lock);
	if (ring->dead) {
		*err = -ENODEV;
		n = 0;
	}
	occupied = dms_ring_cq_occupied(ring);
	for (taken = 0; taken < n; taken++) {
		struct dms_req *req;

		if (!dms_cqslots_reserve(&ring->slots, occupied, slots))
			break;
		req = list_first_entry_or_null(&ring->req_free, struct dms_req, node);
		if (WARN_ON_ONCE(!req)) {
			dms_cqslots_unreserve(&ring->slots, slots);
			break;
		}
		list_move_tail(&req->node, reqs);
		req->slots = slots;
	}
	ring->nr_reqs_out += taken;
	spin_unlock(&ring->cq_lock);
	dms_gauge_add(DMS_GAUGE_REQS_IN_FLIGHT, taken);
	return taken;
}

/**
 * dms_ring_give_reqs() - requests that were not needed
 * @ring: ring
 * @reqs: from dms_ring_take_reqs(), unused; empty afterwards
 *
 * Context: Process context.
 */
void dms_ring_give_reqs(struct dms_ring *ring, struct list_head *reqs)
{
	struct dms_req *req;
	bool kick = false;
	u32 n = 0;

	if (list_empty(reqs))
		return;
	spin_lock(&ring->cq_lock);
	list_for_each_entry(req, reqs, node) {
		kick |= ring_give_back(ring, req->slots);
		req->slots = 0;
		n++;
	}
	list_splice_init(reqs, &ring->req_free);
	ring->nr_reqs_out -= n;
	spin_unlock(&ring->cq_lock);
	dms_gauge_add(DMS_GAUGE_REQS_IN_FLIGHT, -(s64)n);
	if (kick)
		ring_kick_waiters(ring);
}

static void req_cqe(const struct dms_req *req, struct dmastream_cqe *cqe, int result,
		    u32 cqe_flags, u32 seq, u64 tag)
{
	cqe->user_data = req->user_data;
	cqe->result = result;
	cqe->flags = cqe_flags | (u32)req->op << DMASTREAM_CQE_OP_SHIFT;
	cqe->stream = req->handle;
	cqe->seq = seq;
	cqe->tag = tag;
}

/* What is to be done when cq_lock is gone. */
#define REQ_WAKE	BIT(0)
#define REQ_KICK	BIT(1)

/* cq_lock is held: the last completion of a request, which is free then. */
static u32 req_end(struct dms_req *req, int result, u32 cqe_flags, u32 seq, u64 tag)
{
	struct dms_ring *ring = req->ring;
	struct dmastream_cqe cqe;
	bool post;
	u32 todo;

	if (req->told) {
		result = req->told_result;
		cqe_flags |= DMASTREAM_CQE_NOTIFY;
	}
	post = req->told || result < 0 || !(req->flags & DMASTREAM_SQE_SILENT);
	if (post && !ring->dead) {
		req_cqe(req, &cqe, result, cqe_flags, seq, tag);
		ring_write(ring, &cqe);
	}
	todo = post ? REQ_WAKE : 0;
	/* the slot that was written is occupied now; what is over is free */
	dms_cqslots_unreserve(&ring->slots, post);
	if (ring_give_back(ring, req->slots - post))
		todo |= REQ_KICK;
	req->slots = 0;
	ring->nr_reqs_out--;
	return todo;
}

static void ring_todo(struct dms_ring *ring, u32 todo)
{
	if (todo & REQ_WAKE)
		ring_wake(ring);
	if (todo & REQ_KICK)
		ring_kick_waiters(ring);
}

/**
 * dms_req_complete() - the last completion of a request
 * @req: request, on no list; it is another one's on return
 * @result: as in struct dmastream_cqe; ignored for a NOTIFY, which says again
 *          what was told
 * @cqe_flags: besides the operation
 * @seq: number of the message
 * @tag: of a RECV
 *
 * Drops what the request holds of stream and pool; after the completion, so that
 * the last put of a stream, and with it of a ring, is never under cq_lock.
 *
 * Context: Process context; stream->lock may be held by a caller that has a
 * reference of its own on the stream.
 */
void dms_req_complete(struct dms_req *req, int result, u32 cqe_flags, u32 seq, u64 tag)
{
	struct dms_stream *stream = req->stream;
	struct dms_pool *pool = req->pool;
	struct dms_ring *ring = req->ring;
	u32 todo;

	spin_lock(&ring->cq_lock);
	todo = req_end(req, result, cqe_flags, seq, tag);
	list_add(&req->node, &ring->req_free);
	spin_unlock(&ring->cq_lock);

	dms_gauge_dec(DMS_GAUGE_REQS_IN_FLIGHT);
	ring_todo(ring, todo);
	if (pool)
		dms_pool_put_transfer(pool);
	if (stream)
		dms_stream_put(stream);
}

/**
 * dms_reqs_complete() - the last completions of several SENDs
 * @reqs: requests of one stream, result and seq set; not empty; on no list afterwards
 *
 * As dms_req_complete() of each, under one hold of cq_lock.  What they hold is
 * dropped first: of the stream the caller has a reference of its own, and so the
 * ring lives, and a pool is not asked for by its number of transfers.
 *
 * Context: Process context; stream->lock may be held.
 */
void dms_reqs_complete(struct list_head *reqs)
{
	struct dms_req *req = list_first_entry(reqs, struct dms_req, node);
	struct dms_ring *ring = req->ring;
	u32 todo = 0, n = 0;

	list_for_each_entry(req, reqs, node) {
		if (req->pool)
			dms_pool_put_transfer(req->pool);
		dms_stream_put(req->stream);
	}
	spin_lock(&ring->cq_lock);
	list_for_each_entry(req, reqs, node) {
		todo |= req_end(req, req->result, 0, req->seq, 0);
		n++;
	}
	list_splice_init(reqs, &ring->req_free);
	spin_unlock(&ring->cq_lock);

	dms_gauge_add(DMS_GAUGE_REQS_IN_FLIGHT, -(s64)n);
	ring_todo(ring, todo);
}

/**
 * dms_req_tell() - the result of a split SEND, before its buffer is free
 * @req: request with DMASTREAM_SQE_SPLIT, not told yet
 * @result: as in struct dmastream_cqe
 * @seq: number of the message
 *
 * Context: Process context; stream->lock is held.
 */
void dms_req_tell(struct dms_req *req, int result, u32 seq)
{
	struct dms_ring *ring = req->ring;
	struct dmastream_cqe cqe;

	spin_lock(&ring->cq_lock);
	/* the slot of the NOTIFY stays reserved */
	if (WARN_ON_ONCE(req->slots != 2)) {
		spin_unlock(&ring->cq_lock);
		return;
	}
	req->told = true;
	req->told_result = result;
	req->slots--;
	dms_cqslots_unreserve(&ring->slots, 1);
	if (!ring->dead) {
		req_cqe(req, &cqe, result, DMASTREAM_CQE_MORE, seq, 0);
		ring_write(ring, &cqe);
	}
	spin_unlock(&ring->cq_lock);
	ring_wake(ring);
}

/**
 * dms_ring_poller_is() - what the process and others have to know of the poller
 * @ring: ring; a dead one stays as it is
 * @asleep: submissions need a call
 * @stuck: it sleeps although there may be a submission, which lacks a slot
 *
 * Context: The poller.
 */
void dms_ring_poller_is(struct dms_ring *ring, bool asleep, bool stuck)
{
	spin_lock(&ring->cq_lock);
	if (!ring->dead) {
		u32 flags = ring->flags & ~DMASTREAM_RING_SQ_KICK;

		if (asleep)
			flags |= DMASTREAM_RING_SQ_KICK;
		if (stuck)
			flags |= DMASTREAM_RING_CQ_KICK;
		WRITE_ONCE(ring->sq_stuck, stuck);
		dms_ring_set_flags(ring, flags);
		ring_clear_cq_kick(ring);
	}
	spin_unlock(&ring->cq_lock);
}
