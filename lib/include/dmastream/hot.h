/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * The hot path of libdmastream: preparing submissions, reaping completions and
 * giving landing buffers, without a call.  Included by <dmastream.h>.
 *
 * The two structures below are made by the library only and may grow at their
 * end; their members are for the functions of this file.
 *
 * Threads: one thread at a time on the submission side of a ring (get_sqe to
 * submit), one on its completion side (peek to advance), one on a group.  The
 * two sides of a ring are independent of each other.
 */
#ifndef DMASTREAM_HOT_H
#define DMASTREAM_HOT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/dmastream.h>
#include <dmastream/barrier.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dmastream_ring {
	struct dmastream_ring_shared	*shared;
	struct dmastream_sqe		*sqes;
	struct dmastream_cqe		*cqes;
	struct dmastream_vec		*vecs;		/* vec_slots for each entry of sqes */
	uint32_t			sq_mask;
	uint32_t			cq_mask;
	uint32_t			sq_next;	/* next submission to hand out */
	uint32_t			vec_slots;
	uint32_t			handle;
	int				fd;
};

struct dmastream_group {
	struct dmastream_group_shared	*shared;
	struct dmastream_landing	*entries;
	uint32_t			mask;
	uint32_t			next;		/* next entry to fill */
	uint32_t			handle;
	int				fd;
};

int dmastream_enter(struct dmastream_ring *ring, uint32_t to_submit,
		    uint32_t min_complete, uint64_t deadline_ns);

/*
 * ---- Submitting -----------------------------------------------------------
 */

/* Submissions that the kernel has not consumed yet, published or not. */
static inline uint32_t dmastream_sq_pending(const struct dmastream_ring *ring)
{
	return ring->sq_next - dmastream_load_acquire(&ring->shared->sq_head);
}

/* Submissions that dmastream_get_sqe() can hand out now. */
static inline uint32_t dmastream_sq_space(const struct dmastream_ring *ring)
{
	return ring->sq_mask + 1 - dmastream_sq_pending(ring);
}

/*
 * The next free submission, to be filled by one of the dmastream_prep calls;
 * NULL when the queue is full: submit, and try again.
 */
static inline struct dmastream_sqe *dmastream_get_sqe(struct dmastream_ring *ring)
{
	if (dmastream_sq_pending(ring) > ring->sq_mask)
		return NULL;
	return &ring->sqes[ring->sq_next++ & ring->sq_mask];
}

/* Every prep call writes all 64 bytes: the slot held an older submission. */
static inline void dmastream_prep_op(struct dmastream_sqe *sqe, uint8_t op,
				     uint32_t stream, uint32_t pool,
				     uint64_t off, uint32_t len,
				     uint64_t user_data)
{
	sqe->op = op;
	sqe->flags = 0;
	sqe->reserved0 = 0;
	sqe->stream = stream;
	sqe->user_data = user_data;
	sqe->tag = 0;
	sqe->pool = pool;
	sqe->len = len;
	sqe->off = off;
	sqe->reserved[0] = 0;
	sqe->reserved[1] = 0;
	sqe->reserved[2] = 0;
}

/* Completes with 0. */
static inline void dmastream_prep_nop(struct dmastream_sqe *sqe,
				      uint64_t user_data)
{
	dmastream_prep_op(sqe, DMASTREAM_OP_NOP, 0, 0, 0, 0, user_data);
}

/*
 * One message of @len bytes (0 is a message too) at byte @off of the pool with
 * handle @pool.  @tag comes out at the receiver.  The bytes must stay as they
 * are until the completion: it comes when the receiver has them.
 */
static inline void dmastream_prep_send(struct dmastream_sqe *sqe,
				       uint32_t stream, uint32_t pool,
				       uint64_t off, uint32_t len,
				       uint64_t tag, uint64_t user_data)
{
	dmastream_prep_op(sqe, DMASTREAM_OP_SEND, stream, pool, off, len, user_data);
	sqe->tag = tag;
}

/*
 * One message out of @n ranges of one pool, at most DMASTREAM_VEC_MAX.  The
 * elements are copied into the slot's own part of the indirect area, and @vec
 * may be reused at once.  A count that the ring cannot hold is left to the
 * kernel, which ends the submission with -EINVAL.
 */
static inline void dmastream_prep_send_vec(struct dmastream_ring *ring,
					   struct dmastream_sqe *sqe,
					   uint32_t stream, uint32_t pool,
					   const struct dmastream_vec *vec,
					   uint32_t n, uint64_t tag,
					   uint64_t user_data)
{
	size_t first = (size_t)(sqe - ring->sqes) * ring->vec_slots;
	uint32_t i;

	for (i = 0; i < n && i < ring->vec_slots; i++)
		ring->vecs[first + i] = vec[i];
	dmastream_prep_op(sqe, DMASTREAM_OP_SEND, stream, pool,
			  first * sizeof(*vec), n, user_data);
	sqe->flags = DMASTREAM_SQE_VEC;
	sqe->tag = tag;
}

/* Copies a tile into the slot's own part of the indirect area; the rest of a prep call. */
static inline void dmastream_prep_tile(struct dmastream_ring *ring,
				       struct dmastream_sqe *sqe, uint8_t op,
				       uint32_t stream, uint32_t pool,
				       const struct dmastream_tile *tile,
				       uint64_t user_data)
{
	size_t first = (size_t)(sqe - ring->sqes) * ring->vec_slots;

	if (ring->vec_slots * sizeof(*ring->vecs) >= sizeof(*tile))
		memcpy(&ring->vecs[first], tile, sizeof(*tile));
	dmastream_prep_op(sqe, op, stream, pool, first * sizeof(*ring->vecs), 1,
			  user_data);
	sqe->flags = DMASTREAM_SQE_TILE;
}

/*
 * One message out of the rows of a tile.  @tile may be reused at once.  A form
 * that is none, a tile that is not all in the pool, or a kernel without
 * DMASTREAM_FEAT_TILE ends the submission with -EINVAL.
 */
static inline void dmastream_prep_send_tile(struct dmastream_ring *ring,
					    struct dmastream_sqe *sqe,
					    uint32_t stream, uint32_t pool,
					    const struct dmastream_tile *tile,
					    uint64_t tag, uint64_t user_data)
{
	dmastream_prep_tile(ring, sqe, DMASTREAM_OP_SEND, stream, pool, tile,
			    user_data);
	sqe->tag = tag;
}

/*
 * The next message of a posted stream lands in the rows of a tile, the first row
 * first; what lies between them is left alone.
 */
static inline void dmastream_prep_recv_tile(struct dmastream_ring *ring,
					    struct dmastream_sqe *sqe,
					    uint32_t stream, uint32_t pool,
					    const struct dmastream_tile *tile,
					    uint64_t user_data)
{
	dmastream_prep_tile(ring, sqe, DMASTREAM_OP_RECV, stream, pool, tile,
			    user_data);
}

/* Where the next message of a posted stream lands: at most @len bytes. */
static inline void dmastream_prep_recv(struct dmastream_sqe *sqe,
				       uint32_t stream, uint32_t pool,
				       uint64_t off, uint32_t len,
				       uint64_t user_data)
{
	dmastream_prep_op(sqe, DMASTREAM_OP_RECV, stream, pool, off, len, user_data);
}

/* Adds DMASTREAM_SQE_SILENT or DMASTREAM_SQE_SPLIT; call it after the prep. */
static inline void dmastream_sqe_set_flags(struct dmastream_sqe *sqe,
					   uint8_t flags)
{
	sqe->flags |= flags;
}

/*
 * Shows the kernel what get_sqe handed out, and enters it only if the ring asks
 * for that.  Returns how many submissions were consumed (with a poller: how
 * many now wait for it), or -errno; -EAGAIN: reap completions first, the
 * submissions stay queued and go with the next submit.
 */
static inline int dmastream_submit(struct dmastream_ring *ring)
{
	uint32_t pending = dmastream_sq_pending(ring);

	dmastream_store_release(&ring->shared->sq_tail, ring->sq_next);
	if (!pending)
		return 0;
	dmastream_full_barrier();
	if (!(dmastream_load_relaxed(&ring->shared->flags) &
	      (DMASTREAM_RING_SQ_KICK | DMASTREAM_RING_DEAD)))
		return (int)pending;
	return dmastream_enter(ring, pending, 0, 0);
}

/*
 * ---- Reaping --------------------------------------------------------------
 */

/* Completions that can be reaped now. */
static inline uint32_t dmastream_cq_ready(const struct dmastream_ring *ring)
{
	return dmastream_load_acquire(&ring->shared->cq_tail) -
	       dmastream_load_relaxed(&ring->shared->cq_head);
}

/* The @i-th completion from the oldest; it must be ready. */
static inline struct dmastream_cqe *dmastream_cqe_at(const struct dmastream_ring *ring,
						     uint32_t i)
{
	uint32_t head = dmastream_load_relaxed(&ring->shared->cq_head);

	return &ring->cqes[(head + i) & ring->cq_mask];
}

/*
 * The oldest completion, or NULL.  It stays valid until dmastream_cq_advance()
 * passes it.
 */
static inline struct dmastream_cqe *dmastream_peek_cqe(const struct dmastream_ring *ring)
{
	return dmastream_cq_ready(ring) ? dmastream_cqe_at(ring, 0) : NULL;
}

/*
 * Gives @n completions back, which must have been ready.  Enters the kernel
 * only when something there waits for room.  Returns 0 or -errno of that.
 */
static inline int dmastream_cq_advance(struct dmastream_ring *ring, uint32_t n)
{
	struct dmastream_ring_shared *shared = ring->shared;

	if (!n)
		return 0;
	dmastream_store_release(&shared->cq_head,
				dmastream_load_relaxed(&shared->cq_head) + n);
	dmastream_full_barrier();
	if (!(dmastream_load_relaxed(&shared->flags) & DMASTREAM_RING_CQ_KICK))
		return 0;
	return dmastream_enter(ring, 0, 0, 0);
}

/* Gives the oldest completion back. */
static inline int dmastream_cqe_seen(struct dmastream_ring *ring)
{
	return dmastream_cq_advance(ring, 1);
}

/*
 * ---- Landing buffers ------------------------------------------------------
 */

/* Entries that dmastream_group_add() can fill now. */
static inline uint32_t dmastream_group_space(const struct dmastream_group *group)
{
	return group->mask + 1 -
	       (group->next - dmastream_load_acquire(&group->shared->head));
}

/*
 * Adds a landing buffer: @len bytes at byte @off of the group's pool.  @cookie
 * comes back as user_data of the completion that returns the buffer.  The
 * kernel sees it after dmastream_group_publish().  -ENOSPC: the group is full.
 */
static inline int dmastream_group_add(struct dmastream_group *group,
				      uint64_t cookie, uint64_t off,
				      uint32_t len)
{
	struct dmastream_landing *e;

	if (!dmastream_group_space(group))
		return -ENOSPC;
	e = &group->entries[group->next++ & group->mask];
	e->cookie = cookie;
	e->offset = off;
	e->length = len;
	e->flags = 0;
	return 0;
}

/*
 * Shows the kernel what was added, and enters it through @ring (any ring of
 * the same context) only when streams wait for buffers.  0 or -errno.
 */
static inline int dmastream_group_publish(struct dmastream_group *group,
					  struct dmastream_ring *ring)
{
	dmastream_store_release(&group->shared->tail, group->next);
	dmastream_full_barrier();
	if (!(dmastream_load_relaxed(&group->shared->flags) & DMASTREAM_GROUP_KICK))
		return 0;
	return dmastream_enter(ring, 0, 0, 0);
}

/* dmastream_group_add() and dmastream_group_publish() of one buffer. */
static inline int dmastream_group_give(struct dmastream_group *group,
				       struct dmastream_ring *ring,
				       uint64_t cookie, uint64_t off,
				       uint32_t len)
{
	int ret = dmastream_group_add(group, cookie, off, len);

	return ret ? ret : dmastream_group_publish(group, ring);
}

/* Entries that the kernel refused so far (range, length or flags). */
static inline uint32_t dmastream_group_bad(const struct dmastream_group *group)
{
	return dmastream_load_relaxed(&group->shared->bad);
}

#ifdef __cplusplus
}
#endif

#endif /* DMASTREAM_HOT_H */
