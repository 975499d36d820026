// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings: completions, those who wait for room or for completions, and the
 * file.  Submissions are in submit.c.  The order of accesses to the shared memory is
 * in Documentation/ring-ordering.rst; its other sides are in the library's
 * dmastream/hot.h.
 *
 * Slots of the completion queue: occupied (written, not reaped), reserved
 * (promised to a request or an ioctl), or free; submissions leave the last
 * cq_recv_min of them to receives.  A completion is never dropped while the ring
 * lives, since each has its slot before it can come about, and a receive
 * without one waits.
 *
 * Waiters.  As in group.c: CQ_KICK is set while somebody waits, and when it goes
 * from 0 to 1, and only then, the queue is looked at again after a full barrier.
 * A poller that sleeps on a submission without a slot is one who waits, too.
 */
#include "ring.h"

#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "ctx.h"
#include "ioctl.h"
#include "poller.h"
#include "pool.h"
#include "quota.h"
#include "shmem.h"
#include "stats.h"
#include "stream.h"
#include "wq.h"

static struct dmastream_ring_shared *ring_shared(struct dms_ring *ring)
{
	return ring->mem;
}

/* ---- the completion queue; cq_lock is held unless said otherwise ---- */

static void ring_set_flags(struct dms_ring *ring, u32 flags)
{
	if (ring->flags == flags)
		return;
	ring->flags = flags;
	WRITE_ONCE(ring_shared(ring)->flags, flags);
}

/* Nobody waits for room any more, perhaps. */
static void ring_clear_cq_kick(struct dms_ring *ring)
{
	if (list_empty(&ring->waiters) && !ring->sq_stuck)
		ring_set_flags(ring, ring->flags & ~DMASTREAM_RING_CQ_KICK);
}

/*
 * Completions that the process has not reaped.  The lock may be missing: then
 * the answer is about a moment that has passed, as any answer soon is.
 */
static u32 ring_occupied_at(struct dms_ring *ring, u32 tail)
{
	/*
	 * acquire: with the release store of the head in dmastream_cq_advance();
	 * what is written into a slot comes after the process has read it
	 */
	u32 head = smp_load_acquire(&ring_shared(ring)->cq_head);

	return dms_ring_occupied(tail, head, ring->cq_entries);
}

static u32 ring_occupied(struct dms_ring *ring)
{
	return ring_occupied_at(ring, READ_ONCE(ring->cq_tail));
}

static bool ring_has_room(struct dms_ring *ring)
{
	return dms_cqslots_recv_ok(&ring->slots, ring_occupied(ring));
}

/* Into a slot that is the caller's; to be followed by ring_wake() without the lock. */
static void ring_write(struct dms_ring *ring, const struct dmastream_cqe *cqe)
{
	struct dmastream_cqe *cqes = ring->mem + ring->cqes_off;
	u32 tail = ring->cq_tail;

	cqes[tail & (ring->cq_entries - 1)] = *cqe;
	WRITE_ONCE(ring->cq_tail, tail + 1);
	/* release: with the acquire load of the tail in dmastream_cq_ready() */
	smp_store_release(&ring_shared(ring)->cq_tail, tail + 1);
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
	dms_ring_get(ring);	/* put in ring_wake_work() */
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
	ok = (list_empty(&ring->waiters) || w->turn) && ring_has_room(ring);
	w->turn = false;
	if (!ok && !w->queued && !(ring->flags & DMASTREAM_RING_CQ_KICK)) {
		ring_set_flags(ring, ring->flags | DMASTREAM_RING_CQ_KICK);
		/*
		 * full barrier: with that of dmastream_cq_advance(), which is
		 * between its store of the head and its load of the flags
		 */
		smp_mb();
		ok = ring_has_room(ring);
		if (ok)
			ring_clear_cq_kick(ring);
	}
	if (ok) {
		ring_write(ring, cqe);
		return 0;
	}
	if (!w->queued) {
		w->get(w);
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

/* cq_lock is held; the waiter's reference is the caller's. */
static void ring_unqueue(struct dms_ring *ring, struct dms_ring_waiter *w)
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
		ring_unqueue(ring, w);
		ring_clear_cq_kick(ring);
	}
	spin_unlock(&ring->cq_lock);
	if (queued)
		w->put(w);
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
		if (!ring_has_room(ring))
			break;
		w = list_first_entry(&ring->waiters, struct dms_ring_waiter, node);
		ring_unqueue(ring, w);
		w->turn = true;
		spin_unlock(&ring->cq_lock);

		w->ready(w);
		any = true;

		spin_lock(&ring->cq_lock);
		w->turn = false;
		spin_unlock(&ring->cq_lock);
		w->put(w);
		cond_resched();
		spin_lock(&ring->cq_lock);
	}
	/* nobody waits, and the flag was left on for the one who was served */
	ring_clear_cq_kick(ring);
	more = !list_empty(&ring->waiters) && ring_has_room(ring);
	spin_unlock(&ring->cq_lock);
	if (more)
		ring_kick_waiters(ring);
	return any;
}

/* A submission that lacked a slot may go: the poller's business. */
static void ring_unstick(struct dms_ring *ring)
{
	if (READ_ONCE(ring->sq_stuck))
		dms_poller_wake(ring->poller);
}

static void ring_wake_work(struct work_struct *work)
{
	struct dms_ring *ring = container_of(work, struct dms_ring, wake_work);

	dms_ring_run_waiters(ring);
	ring_unstick(ring);
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
	else if (!dms_cqslots_reserve(&ring->slots, ring_occupied(ring), n))
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
	occupied = ring_occupied(ring);
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
		ring_set_flags(ring, flags);
		ring_clear_cq_kick(ring);
	}
	spin_unlock(&ring->cq_lock);
}

/* ---- users, and the end ---- */

/**
 * dms_ring_add_user() - will hear of the ring's end
 * @ring: ring, of which the user has a reference
 * @u: user
 *
 * Context: Process context.
 * Return: 0, or -ENODEV when it is dead already.
 */
int dms_ring_add_user(struct dms_ring *ring, struct dms_ring_user *u)
{
	int err = -ENODEV;

	spin_lock(&ring->cq_lock);
	if (!ring->dead) {
		list_add_tail(&u->node, &ring->users);
		u->added = true;
		err = 0;
	}
	spin_unlock(&ring->cq_lock);
	return err;
}

/**
 * dms_ring_del_user() - will not hear of it any more
 * @ring: ring
 * @u: added or not; its dead() may run at the same time
 *
 * Context: Process context.
 */
void dms_ring_del_user(struct dms_ring *ring, struct dms_ring_user *u)
{
	spin_lock(&ring->cq_lock);
	if (u->added) {
		list_del(&u->node);
		u->added = false;
	}
	spin_unlock(&ring->cq_lock);
}

/**
 * dms_ring_shutdown() - no completion is written any more
 * @ring: ring, of which the caller has a reference
 *
 * The file was released, or the context ends and the file may stay.  Takes the
 * waiters off, tells the users, one at a time and without the lock, and wakes
 * the sleepers.  Does nothing the second time.
 *
 * Context: Process context, may sleep.
 */
void dms_ring_shutdown(struct dms_ring *ring)
{
	struct dms_ring_waiter *w;
	struct dms_ring_user *u;

	spin_lock(&ring->cq_lock);
	if (ring->dead) {
		spin_unlock(&ring->cq_lock);
		return;
	}
	WRITE_ONCE(ring->dead, true);
	WRITE_ONCE(ring->sq_stuck, false);
	ring_set_flags(ring, DMASTREAM_RING_DEAD | DMASTREAM_RING_SQ_KICK);

	while (!list_empty(&ring->waiters)) {
		w = list_first_entry(&ring->waiters, struct dms_ring_waiter, node);
		ring_unqueue(ring, w);
		spin_unlock(&ring->cq_lock);
		w->put(w);
		spin_lock(&ring->cq_lock);
	}
	while (!list_empty(&ring->users)) {
		u = list_first_entry(&ring->users, struct dms_ring_user, node);
		list_del(&u->node);
		u->added = false;
		/* it is alive: a user goes only after it took itself off */
		u->get(u);
		spin_unlock(&ring->cq_lock);
		u->dead(u);
		u->put(u);
		cond_resched();
		spin_lock(&ring->cq_lock);
	}
	spin_unlock(&ring->cq_lock);
	dms_poller_del(ring);
	/* also those who wait for more completions than there are */
	wake_up_poll(&ring->wq, EPOLLIN | EPOLLERR | EPOLLHUP);
}

static void ring_free_work(struct work_struct *work)
{
	struct dms_ring *ring = container_of(work, struct dms_ring, free_work);

	dms_shmem_free(ring->mem);
	kvfree(ring->reqs);
	dms_quota_uncharge(ring->owner, ring->charged);
	dms_ctx_put(ring->ctx);
	dms_gauge_dec(DMS_GAUGE_RINGS);
	mutex_destroy(&ring->sq_lock);
	kfree(ring);
}

static void ring_release(struct kref *ref)
{
	struct dms_ring *ring = container_of(ref, struct dms_ring, ref);

	/* vfree() sleeps, and the last put may be under a lock */
	queue_work(dms_wq, &ring->free_work);
}

/**
 * dms_ring_get() - one more who knows the ring
 * @ring: ring, of which the caller has a reference
 *
 * Context: Any.
 */
void dms_ring_get(struct dms_ring *ring)
{
	kref_get(&ring->ref);
}

/**
 * dms_ring_put() - one less
 * @ring: ring
 *
 * Context: Any.
 */
void dms_ring_put(struct dms_ring *ring)
{
	kref_put(&ring->ref, ring_release);
}

/* ---- waiting: ENTER and poll ---- */

/* One ENTER that sleeps. */
struct ring_sleeper {
	wait_queue_entry_t	wait;
	struct dms_ring		*ring;
	u32			tail;	/* asleep until cq_tail gets there */
};

/* Not for each completion, when many are waited for.  The waker's lock of wq is held. */
static int ring_sleeper_wake(wait_queue_entry_t *wait, unsigned int mode, int flags,
			     void *key)
{
	struct ring_sleeper *s = container_of(wait, struct ring_sleeper, wait);

	if ((s32)(READ_ONCE(s->ring->cq_tail) - s->tail) < 0 && !READ_ONCE(s->ring->dead))
		return 0;
	return autoremove_wake_function(wait, mode, flags, key);
}

/* Does a receiver wait although there is room now? */
static bool ring_can_serve(struct dms_ring *ring)
{
	bool can;

	spin_lock(&ring->cq_lock);
	can = !list_empty(&ring->waiters) && ring_has_room(ring);
	spin_unlock(&ring->cq_lock);
	return can;
}

/* Completions that have to come before @min can be reaped; @tail: when that was so. */
static u32 ring_missing(struct dms_ring *ring, u32 min, u32 *tail)
{
	u32 occupied;

	*tail = READ_ONCE(ring->cq_tail);
	occupied = ring_occupied_at(ring, *tail);
	return occupied < min ? min - occupied : 0;
}

/*
 * Until @min completions can be reaped.  The look at the queue comes after
 * prepare_to_wait(), whose full barrier is the partner of ring_wake()'s: either
 * we see the completion, or it sees the sleeper.
 */
static int ring_wait(struct dms_ring *ring, u32 min, u64 deadline_ns)
{
	ktime_t until = min_t(u64, deadline_ns, KTIME_MAX);
	struct ring_sleeper s = { .ring = ring };
	int ret;

	init_wait(&s.wait);
	s.wait.func = ring_sleeper_wake;
	for (;;) {
		u32 tail, missing;

		if (ring_can_serve(ring))
			dms_ring_run_waiters(ring);
		/* how far the queue has to get, before anybody looks at it in s */
		missing = ring_missing(ring, min, &tail);
		ret = 0;
		if (!missing)
			break;
		s.tail = tail + missing;
		prepare_to_wait(&ring->wq, &s.wait, TASK_INTERRUPTIBLE);
		if (!ring_missing(ring, min, &tail))
			break;
		ret = -ENODEV;
		if (READ_ONCE(ring->dead))
			break;
		ret = -EINTR;
		if (signal_pending(current))
			break;
		if (!schedule_hrtimeout_range(deadline_ns ? &until : NULL,
					      current->timer_slack_ns, HRTIMER_MODE_ABS)) {
			/* it may have come just then */
			ret = ring_missing(ring, min, &tail) ? -ETIME : 0;
			break;
		}
		finish_wait(&ring->wq, &s.wait);
	}
	finish_wait(&ring->wq, &s.wait);
	return ret;
}

/*
 * poll: readable while something can be reaped; writable always, since the
 * submission queue never blocks; error and hang-up when the ring is dead.
 *
 * No wake-up is lost: the process reaps, which moves the head, before it calls
 * poll, so that a completion that was there before is seen by the look below.  One
 * that comes later finds this sleeper, or is seen: the barrier is the partner
 * of that in ring_wake().  Receivers that wait for room need no look
 * here: their process finds CQ_KICK when it reaps.
 */
static __poll_t ring_poll(struct file *file, poll_table *wait)
{
	struct dms_ring *ring = file->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(file, &ring->wq, wait);
	smp_mb();	/* with wq_has_sleeper() in ring_wake() */
	if (ring_occupied(ring))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ring->dead))
		mask = (mask & ~(EPOLLOUT | EPOLLWRNORM)) | EPOLLERR | EPOLLHUP;
	return mask;
}

/*
 * After an ENTER on a polled ring.  What it published and could not submit, for want
 * of a slot, is left to the poller: the process need not ask again.
 */
static void ring_tell_poller(struct dms_ring *ring, u32 to_submit)
{
	if (READ_ONCE(ring->sq_stuck) ||
	    (to_submit && READ_ONCE(ring_shared(ring)->sq_tail) != READ_ONCE(ring->sq_head)))
		dms_poller_wake(ring->poller);
	else if (to_submit)
		dms_poller_arrival(ring->poller);
}

static int ring_enter(struct dms_call *call)
{
	struct dmastream_enter *arg = call->arg;
	struct dms_ring *ring = call->obj;
	bool kicked;
	int n = 0;

	if (arg->flags || arg->reserved || arg->min_complete > ring->cq_entries)
		return -EINVAL;
	arg->submitted = 0;
	arg->wait_result = 0;
	if (READ_ONCE(ring->dead))
		return -ENODEV;

	if (arg->to_submit)
		n = dms_ring_submit(ring, arg->to_submit);
	kicked = dms_ctx_kick(ring->ctx);
	kicked |= ring_can_serve(ring) && dms_ring_run_waiters(ring);
	if (kicked)
		dms_stat_inc(DMS_STAT_KICKS);
	if (ring->poller)
		ring_tell_poller(ring, arg->to_submit);
	if (n < 0)
		return n;
	arg->submitted = n;
	if (arg->min_complete)
		arg->wait_result = ring_wait(ring, arg->min_complete, arg->deadline_ns);
	return 0;
}

/* ---- creation, and the file ---- */

static int ring_layout(struct dms_ring *ring, struct dmastream_ring_create *arg)
{
	if (arg->flags & ~DMASTREAM_RING_FLAGS ||
	    (arg->poll_idle_us && !(arg->flags & DMASTREAM_RING_POLL)) ||
	    arg->poll_idle_us > DMS_POLL_IDLE_MAX_US ||
	    !dms_ring_size_ok(arg->sq_entries, DMS_SQ_ENTRIES_MAX) ||
	    !dms_ring_size_ok(arg->cq_entries, DMS_CQ_ENTRIES_MAX) ||
	    arg->cq_entries < 2 || !arg->cq_recv_min ||
	    arg->cq_recv_min >= arg->cq_entries ||
	    arg->indirect_bytes > DMS_INDIRECT_MAX)
		return -EINVAL;

	/* no sum wraps: each part is bounded by the limits above */
	ring->sqes_off = sizeof(struct dmastream_ring_shared);
	ring->cqes_off = ring->sqes_off + arg->sq_entries * sizeof(struct dmastream_sqe);
	ring->indirect_off = ring->cqes_off + arg->cq_entries * sizeof(struct dmastream_cqe);
	ring->map_size = PAGE_ALIGN(ring->indirect_off + arg->indirect_bytes);
	ring->sq_entries = arg->sq_entries;
	ring->cq_entries = arg->cq_entries;
	ring->indirect_bytes = arg->indirect_bytes;

	arg->sqes_off = ring->sqes_off;
	arg->cqes_off = ring->cqes_off;
	arg->indirect_off = ring->indirect_off;
	arg->map_size = ring->map_size;
	return 0;
}

static int ring_alloc(struct dms_ring *ring)
{
	u32 i;
	int err;

	ring->owner = current_uid();
	ring->charged = ring->map_size + (u64)ring->cq_entries * sizeof(*ring->reqs);
	err = dms_quota_charge(ring->owner, ring->charged);
	if (err)
		return err;
	ring->mem = dms_shmem_alloc(ring->map_size);
	ring->reqs = kvcalloc(ring->cq_entries, sizeof(*ring->reqs), GFP_KERNEL_ACCOUNT);
	if (!ring->mem || !ring->reqs) {
		dms_shmem_free(ring->mem);
		kvfree(ring->reqs);
		dms_quota_uncharge(ring->owner, ring->charged);
		return -ENOMEM;
	}
	for (i = 0; i < ring->cq_entries; i++) {
		ring->reqs[i].ring = ring;
		list_add_tail(&ring->reqs[i].node, &ring->req_free);
	}
	return 0;
}

/**
 * dms_ring_create() - a new ring
 * @ctx: context; the ring gets a reference of its own
 * @arg: sizes, checked here; the out members but @fd and @ring are filled
 *
 * Context: Process context, may sleep.
 * Return: ring with a reference for the caller, or ERR_PTR: -EINVAL, -EDQUOT,
 * -ENOMEM, and what dms_poller_add() says.
 */
struct dms_ring *dms_ring_create(struct dms_ctx *ctx, struct dmastream_ring_create *arg)
{
	struct dms_ring *ring;
	int err;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	kref_init(&ring->ref);
	mutex_init(&ring->sq_lock);
	spin_lock_init(&ring->cq_lock);
	INIT_LIST_HEAD(&ring->req_free);
	INIT_LIST_HEAD(&ring->waiters);
	INIT_LIST_HEAD(&ring->users);
	INIT_LIST_HEAD(&ring->poll_node);
	init_waitqueue_head(&ring->wq);
	INIT_WORK(&ring->wake_work, ring_wake_work);
	INIT_WORK(&ring->free_work, ring_free_work);

	err = ring_layout(ring, arg);
	if (!err)
		err = ring_alloc(ring);
	if (err) {
		kfree(ring);
		return ERR_PTR(err);
	}
	dms_cqslots_init(&ring->slots, ring->cq_entries, arg->cq_recv_min);
	/* there is no poller, or it sleeps */
	ring_set_flags(ring, DMASTREAM_RING_SQ_KICK);
	ring->ctx = ctx;
	dms_ctx_get(ctx);	/* put in ring_free_work() */
	dms_gauge_inc(DMS_GAUGE_RINGS);
	if (arg->flags & DMASTREAM_RING_POLL) {
		err = dms_poller_add(ctx, ring, arg->poll_idle_us);
		if (err) {
			dms_ring_put(ring);
			return ERR_PTR(err);
		}
	}
	return ring;
}

static int ring_file_release(struct inode *inode, struct file *file)
{
	struct dms_ring *ring = file->private_data;

	dms_ring_shutdown(ring);
	if (dms_ctx_forget(ring->ctx, DMS_RINGS, ring->handle, ring))
		dms_ring_put(ring);	/* the table's */
	dms_ring_put(ring);		/* got in dms_ring_file() */
	return 0;
}

static int ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dms_ring *ring = file->private_data;

	return dms_shmem_mmap(vma, ring->mem, ring->map_size);
}

static long ring_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	static const struct dms_ioctl_def def[] = {
		{ sizeof(struct dmastream_enter), sizeof(struct dmastream_enter),
		  false, ring_enter },
	};
	static const struct dms_ioctl_table table = {
		def, _IOC_NR(DMASTREAM_IOC_ENTER), ARRAY_SIZE(def)
	};

	return dms_ioctl(&table, file->private_data, cmd, arg);
}

static void ring_fdinfo(struct seq_file *m, struct file *file)
{
	struct dms_ring *ring = file->private_data;
	u32 reserved, out, waiters;

	spin_lock(&ring->cq_lock);
	reserved = ring->slots.reserved;
	out = ring->nr_reqs_out;
	waiters = ring->nr_waiters;
	spin_unlock(&ring->cq_lock);
	seq_puts(m, "dms-object:\tring\n");
	seq_printf(m, "dms-handle:\t%u\n", ring->handle);
	seq_printf(m, "dms-pinned-bytes:\t%llu\n", ring->charged);
	seq_printf(m, "dms-sq-entries:\t%u\n", ring->sq_entries);
	seq_printf(m, "dms-cq-entries:\t%u\n", ring->cq_entries);
	seq_printf(m, "dms-cq-recv-min:\t%u\n", ring->slots.recv_min);
	seq_printf(m, "dms-cq-occupied:\t%u\n", ring_occupied(ring));
	seq_printf(m, "dms-cq-reserved:\t%u\n", reserved);
	seq_printf(m, "dms-requests:\t%u\n", out);
	seq_printf(m, "dms-waiting-streams:\t%u\n", waiters);
	if (ring->poller)
		seq_printf(m, "dms-polled-sqes:\t%llu\n", READ_ONCE(ring->polled));
	seq_printf(m, "dms-dead:\t%d\n", READ_ONCE(ring->dead));
}

static const struct file_operations ring_fops = {
	.owner		= THIS_MODULE,
	.release	= ring_file_release,
	.mmap		= ring_mmap,
	.poll		= ring_poll,
	.unlocked_ioctl	= ring_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= ring_fdinfo,
};

/**
 * dms_ring_file() - the file of a ring
 * @ring: ring that has none yet; the file gets a reference of its own
 *
 * Context: Process context, may sleep.
 * Return: file, or ERR_PTR.
 */
struct file *dms_ring_file(struct dms_ring *ring)
{
	struct file *file;

	dms_ring_get(ring);	/* put in ring_file_release() */
	file = anon_inode_getfile("[dmastream-ring]", &ring_fops, ring, O_RDWR);
	if (IS_ERR(file))
		dms_ring_put(ring);
	return file;
}
