// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submissions: each is copied once out of the shared memory, checked, and given
 * to its stream.
 *
 * A submission for which there is a slot is consumed, good or bad; a bad one
 * completes with an error and changes nothing else:
 *
 *   -EINVAL		unknown operation or flag, a reserved or unused member is
 *			not zero, flags that do not go together, a number of
 *			elements, an element or an offset that cannot be, a range
 *			outside its pool, a tile that is none, a stream of another ring
 *   -EBADF		no such stream or pool in this context
 *   -EMSGSIZE		a message above DMASTREAM_MSG_MAX
 *   and what dms_stream_submit() says of the stream's state.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "core/ringidx.h"
#include "core/seg.h"
#include "core/tile.h"
#include "ctx.h"
#include "pool.h"
#include "ring.h"
#include "stats.h"
#include "stream.h"

/* Submissions that the poller consumes before it looks at its next ring. */
#define DMS_POLL_BATCH	64

/* Submissions after which the process hears that they are consumed. */
#define DMS_SUBMIT_CHUNK	64

/*
 * What comes together is mostly for one stream and from one pool: both are looked
 * up once.  A handle that is closed meanwhile still names what it named: the stream
 * knows that it is closed, and says so.
 */
struct submit {
	struct dms_ring		*ring;
	u32			left;		/* of the chunk */
	struct list_head	reqs;		/* taken ahead, with a slot each */
	struct dms_pool		*pool;		/* with a transfer, or NULL */
	u32			pool_handle;
	struct dms_submit_batch	batch;
};

/* What an operation takes; everything else must be zero. */
struct submit_op {
	u8	flags;		/* DMASTREAM_SQE_* */
	bool	known;
	bool	stream;		/* a stream, and a range in a pool */
	bool	tag;
	bool	empty;		/* an empty range will do */
};

static const struct submit_op submit_ops[] = {
	[DMASTREAM_OP_NOP] = {
		.known	= true,
		.flags	= DMASTREAM_SQE_SILENT,
	},
	[DMASTREAM_OP_SEND] = {
		.known	= true,
		.flags	= DMASTREAM_SQE_FLAGS,
		.stream	= true,
		.tag	= true,
		.empty	= true,
	},
	[DMASTREAM_OP_RECV] = {
		.known	= true,
		.flags	= DMASTREAM_SQE_TILE,
		.stream	= true,
	},
};

/*
 * Copies what a process may write to at any time; each word is read once.  All of
 * it in one go: a loop, and what the compiler clears for it, would cost more than
 * the copy.
 */
static __always_inline void submit_copy_sqe(struct dmastream_sqe *sqe,
					    const struct dmastream_sqe *from)
{
	const u64 *src = (const u64 *)from;
	u64 *dst = (u64 *)sqe;

	BUILD_BUG_ON(sizeof(*sqe) != 8 * sizeof(u64));
	dst[0] = READ_ONCE(src[0]);
	dst[1] = READ_ONCE(src[1]);
	dst[2] = READ_ONCE(src[2]);
	dst[3] = READ_ONCE(src[3]);
	dst[4] = READ_ONCE(src[4]);
	dst[5] = READ_ONCE(src[5]);
	dst[6] = READ_ONCE(src[6]);
	dst[7] = READ_ONCE(src[7]);
}

/* Members that no operation, or not this one, uses. */
static int submit_check(const struct dmastream_sqe *sqe)
{
	const struct submit_op *op;

	if (sqe->op >= ARRAY_SIZE(submit_ops))
		return -EINVAL;
	op = &submit_ops[array_index_nospec(sqe->op, ARRAY_SIZE(submit_ops))];
	if (!op->known || sqe->flags & ~op->flags || sqe->reserved0 ||
	    sqe->reserved[0] || sqe->reserved[1] || sqe->reserved[2])
		return -EINVAL;
	if ((sqe->flags & DMASTREAM_SQE_SILENT) && (sqe->flags & DMASTREAM_SQE_SPLIT))
		return -EINVAL;
	if ((sqe->flags & DMASTREAM_SQE_VEC) && (sqe->flags & DMASTREAM_SQE_TILE))
		return -EINVAL;
	if (!op->tag && sqe->tag)
		return -EINVAL;
	if (!op->stream && (sqe->stream || sqe->pool || sqe->len || sqe->off))
		return -EINVAL;
	if (op->stream && !op->empty && !sqe->len)
		return -EINVAL;
	return 0;
}

/* The elements of a vector, out of the indirect area. */
static int submit_vec(struct dms_ring *ring, const struct dmastream_sqe *sqe,
		      struct dms_req *req)
{
	const struct dmastream_vec *vec;
	u32 i;

	if (!sqe->len || sqe->len > DMASTREAM_VEC_MAX || sqe->off % sizeof(u64) ||
	    !dms_range_ok(sqe->off, sqe->len * sizeof(*vec), ring->indirect_bytes))
		return -EINVAL;
	vec = ring->mem + ring->indirect_off + sqe->off;
	for (i = 0; i < sqe->len; i++) {
		/* each member is read once; what is checked is the copy */
		req->elem[i].off = READ_ONCE(vec[i].off);
		req->elem[i].len = READ_ONCE(vec[i].len);
		if (READ_ONCE(vec[i].reserved) || !req->elem[i].len)
			return -EINVAL;
	}
	req->nr_elem = sqe->len;
	return 0;
}

/* The pool, with a transfer for the request. */
static struct dms_pool *submit_pool(struct submit *sub, u32 handle)
{
	if (!sub->pool || sub->pool_handle != handle) {
		if (sub->pool)
			dms_pool_put_transfer(sub->pool);
		sub->pool = dms_ctx_pool_transfer(sub->ring->ctx, handle);
		sub->pool_handle = handle;
		if (!sub->pool)
			return NULL;
	}
	return dms_pool_tryget_transfer(sub->pool) ? sub->pool : NULL;
}

/* The stream, with a reference for the request. */
static struct dms_stream *submit_to(struct submit *sub, u32 handle)
{
	struct dms_stream *s = sub->batch.stream;

	if (s && s->handle == handle) {
		dms_stream_get(s);
		return s;
	}
	return dms_ctx_stream(sub->ring->ctx, handle);
}

/* A tile, out of the indirect area, into the request, and a transfer on its pool. */
static int submit_tile(struct submit *sub, const struct dmastream_sqe *sqe,
		       struct dms_req *req)
{
	struct dms_ring *ring = sub->ring;
	const struct dmastream_tile *from;
	struct dms_tile tile;
	int err;

	if (sqe->len != 1 || sqe->off % sizeof(u64) ||
	    !dms_range_ok(sqe->off, sizeof(*from), ring->indirect_bytes))
		return -EINVAL;
	from = ring->mem + ring->indirect_off + sqe->off;
	/* each member is read once; what is checked is the copy */
	tile.off = READ_ONCE(from->off);
	tile.pitch = READ_ONCE(from->pitch);
	tile.rows = READ_ONCE(from->rows);
	tile.row_bytes = READ_ONCE(from->row_bytes);
	if (READ_ONCE(from->reserved))
		return -EINVAL;

	req->pool = submit_pool(sub, sqe->pool);	/* put in dms_req_complete() */
	if (!req->pool)
		return -EBADF;
	err = dms_tile_check(&tile, req->pool->size, DMASTREAM_MSG_MAX, &req->len);
	if (err)
		return err;
	if (dms_tile_flat(&tile)) {
		req->elem[0].off = tile.off;
		req->elem[0].len = req->len;
		req->nr_elem = 1;
		req->flags &= ~DMASTREAM_SQE_TILE;
	} else {
		req->tile = tile;
	}
	return 0;
}

/* Ranges into the request, and a transfer on their pool. */
static int submit_ranges(struct submit *sub, const struct dmastream_sqe *sqe,
			 struct dms_req *req)
{
	struct dms_ring *ring = sub->ring;
	struct dms_pool *pool;
	int err;
	u32 i;

	if (sqe->flags & DMASTREAM_SQE_TILE)
		return submit_tile(sub, sqe, req);
	if (sqe->flags & DMASTREAM_SQE_VEC) {
		err = submit_vec(ring, sqe, req);
		if (err)
			return err;
	} else {
		req->elem[0].off = sqe->off;
		req->elem[0].len = sqe->len;
		req->nr_elem = 1;
	}
	if (!sqe->len && !sqe->pool) {
		req->nr_elem = 0;
		return sqe->off ? -EINVAL : 0;
	}

	pool = submit_pool(sub, sqe->pool);
	if (!pool)
		return -EBADF;
	req->pool = pool;	/* put in dms_req_complete() */
	for (i = 0; i < req->nr_elem; i++)
		if (!dms_range_ok(req->elem[i].off, req->elem[i].len, pool->size))
			return -EINVAL;
	if (req->nr_elem == 1) {	/* what nearly all of them are */
		req->len = req->elem[0].len;
		err = req->len > DMASTREAM_MSG_MAX ? -EMSGSIZE : 0;
	} else {
		err = dms_seg_total(req->elem, req->nr_elem, DMASTREAM_MSG_MAX, &req->len);
	}
	if (err || req->len)
		return err;

	/* a message of no bytes needs no pool; that it was named rightly is checked */
	dms_pool_put_transfer(pool);
	req->pool = NULL;
	req->nr_elem = 0;
	return 0;
}

static int submit_stream(struct submit *sub, const struct dmastream_sqe *sqe,
			 struct dms_req *req)
{
	int err;

	req->stream = submit_to(sub, sqe->stream);
	if (!req->stream)
		return -EBADF;
	/* its completions are on its own ring: order would be lost elsewhere */
	if (req->stream->ring != sub->ring)
		return -EINVAL;
	err = submit_ranges(sub, sqe, req);
	if (err)
		return err;
	return dms_stream_submit(req, &sub->batch);
}

static void submit_init(struct dms_req *req, const struct dmastream_sqe *sqe)
{
	req->stream = NULL;
	req->pool = NULL;
	req->user_data = sqe->user_data;
	req->tag = sqe->tag;
	req->len = 0;
	req->op = sqe->op;
	req->flags = sqe->flags;
	req->nr_elem = 0;
	req->told = false;
	req->handle = sqe->stream;
	/* what follows the elements is the stream's, and set when it takes the request */
}

/* A request with the slots for its completions; NULL: *err says why. */
static struct dms_req *submit_req(struct submit *sub, u32 slots, int *err)
{
	struct dms_req *req;
	LIST_HEAD(one);

	if (slots == 1) {
		if (list_empty(&sub->reqs))
			dms_ring_take_reqs(sub->ring, sub->left, 1, &sub->reqs, err);
		req = list_first_entry_or_null(&sub->reqs, struct dms_req, node);
	} else {
		/* what was taken ahead may be in its way */
		dms_ring_give_reqs(sub->ring, &sub->reqs);
		dms_ring_take_reqs(sub->ring, 1, slots, &one, err);
		req = list_first_entry_or_null(&one, struct dms_req, node);
	}
	if (req)
		list_del_init(&req->node);
	return req;
}

/* The submission at @index; 0: it is consumed, whatever becomes of it. */
static int submit_one(struct submit *sub, u32 index)
{
	struct dms_ring *ring = sub->ring;
	const struct dmastream_sqe *sqes = ring->mem + ring->sqes_off;
	struct dmastream_sqe sqe;
	struct dms_req *req;
	u32 slots = 1;
	int err, no_req;

	submit_copy_sqe(&sqe, &sqes[index & (ring->sq_entries - 1)]);
	err = submit_check(&sqe);
	if (!err && (sqe.flags & DMASTREAM_SQE_SPLIT)) {
		/* where two will never fit it would wait for ever */
		if (2 + ring->slots.recv_min > ring->cq_entries)
			err = -EINVAL;
		else
			slots = 2;
	}

	req = submit_req(sub, slots, &no_req);
	if (!req)
		return no_req;
	submit_init(req, &sqe);
	if (!err && sqe.op != DMASTREAM_OP_NOP) {
		err = submit_stream(sub, &sqe, req);
		if (!err)
			return 0;	/* the stream's from here on */
	}
	if (err)
		dms_stat_inc(DMS_STAT_BAD_SQES);
	dms_req_complete(req, err, 0, 0, 0);
	return 0;
}

/* Up to so many submissions; what was consumed is given to the streams, and told. */
static int submit_chunk(struct submit *sub, u32 n)
{
	struct dms_ring *ring = sub->ring;
	struct dmastream_ring_shared *shared = ring->mem;
	int done, err = 0;

	for (done = 0; done < n; done++) {
		sub->left = n - done;
		err = submit_one(sub, ring->sq_head + done);
		if (err)
			break;
	}
	dms_submit_give(&sub->batch);
	dms_ring_give_reqs(ring, &sub->reqs);
	WRITE_ONCE(ring->sq_head, ring->sq_head + done);
	/*
	 * release: with the acquire load of the head in dmastream_sq_pending();
	 * the process may write the entries again only after we have read them.
	 * What it can cancel is with its stream by now.
	 */
	smp_store_release(&shared->sq_head, ring->sq_head);
	return done ? done : err;
}

/**
 * dms_ring_submit() - consumes submissions
 * @ring: ring, of which the caller has a reference
 * @n: most that are to be consumed, not 0; never more than the ring has
 *
 * Context: Process context, no lock held; may sleep.
 * Return: how many were consumed; or, when none was: -EAGAIN (there is no slot
 * of the completion queue for the first), -EINVAL (the process's index is
 * nonsense), -ENODEV (dead), -ERESTARTSYS.
 */
int dms_ring_submit(struct dms_ring *ring, u32 n)
{
	struct dmastream_ring_shared *shared = ring->mem;
	struct submit sub = { .ring = ring };
	int pending, done = 0, ret = 0;

	if (mutex_lock_interruptible(&ring->sq_lock))
		return -ERESTARTSYS;
	/*
	 * acquire: with the release store of the tail in dmastream_submit();
	 * the submissions are read after it
	 */
	pending = dms_ring_pending(smp_load_acquire(&shared->sq_tail), ring->sq_head,
				   ring->sq_entries);
	if (pending <= 0) {
		mutex_unlock(&ring->sq_lock);
		return pending;
	}
	pending = min_t(u32, pending, n);
	INIT_LIST_HEAD(&sub.reqs);
	dms_submit_begin(&sub.batch);
	while (done < pending) {
		u32 want = min(pending - done, DMS_SUBMIT_CHUNK);

		ret = submit_chunk(&sub, want);
		if (ret > 0)
			done += ret;
		if (ret != want)
			break;
		cond_resched();
	}
	mutex_unlock(&ring->sq_lock);
	dms_submit_flush(&sub.batch);
	if (sub.pool)
		dms_pool_put_transfer(sub.pool);
	return done ? done : ret;
}

/* ---- the poller's side ---- */

static int poll_submit(struct dms_ring *ring)
{
	int n = dms_ring_submit(ring, DMS_POLL_BATCH);

	if (n > 0) {
		dms_stat_add(DMS_STAT_POLLED_SQES, n);
		WRITE_ONCE(ring->polled, ring->polled + n);
	}
	return n;
}

/**
 * dms_ring_poll() - a visit of the poller
 * @ring: ring, of which the caller has a reference
 *
 * Context: The poller, no lock held.
 * Return: true when something was consumed.
 */
bool dms_ring_poll(struct dms_ring *ring)
{
	const struct dmastream_ring_shared *shared = ring->mem;

	if (READ_ONCE(ring->flags) & DMASTREAM_RING_SQ_KICK)
		dms_ring_poller_is(ring, false, false);
	/* the acquire of an entry's contents is dms_ring_submit()'s */
	if (READ_ONCE(shared->sq_tail) == READ_ONCE(ring->sq_head))
		return false;
	return poll_submit(ring) > 0;
}

/**
 * dms_ring_poll_sleep() - the poller is about to sleep
 * @ring: ring, of which the caller has a reference
 *
 * From here on the process calls when it submits.  A submission that is there
 * and lacks a slot keeps CQ_KICK set besides: the process calls when it has
 * reaped, and a slot that comes back otherwise wakes the poller.
 *
 * Context: The poller, no lock held.
 * Return: true when something was consumed: the poller does not sleep.
 */
bool dms_ring_poll_sleep(struct dms_ring *ring)
{
	int n;

	dms_ring_poller_is(ring, true, true);
	/*
	 * full barrier: with those of dmastream_submit() and
	 * dmastream_cq_advance(), between their index and their look at the flags
	 */
	smp_mb();
	n = poll_submit(ring);
	if (n != -EAGAIN)
		dms_ring_poller_is(ring, true, false);
	return n > 0;
}
