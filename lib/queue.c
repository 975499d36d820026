// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Rings: create and close, and what enters the kernel; the rest is inline, in
 * <dmastream/hot.h>.
 */
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

/* Each entry of the submission queue gets room for a vector of its own. */
static uint32_t ring_vec_slots(const struct dmastream *ctx, uint32_t sq_entries)
{
	uint64_t need = (uint64_t)sq_entries * ctx->limits.max_vec *
			sizeof(struct dmastream_vec);

	if (!(ctx->limits.sqe_flags & DMASTREAM_SQE_VEC) ||
	    need > ctx->limits.max_indirect_bytes)
		return 0;
	return ctx->limits.max_vec;
}

static void ring_init(struct dmastream__ring *ring, void *map,
		      const struct dmastream_ring_create *arg)
{
	struct dmastream_ring *hot = &ring->hot;
	char *base = map;

	ring->map_size = arg->map_size;
	hot->shared = map;
	hot->sqes = (void *)(base + arg->sqes_off);
	hot->cqes = (void *)(base + arg->cqes_off);
	hot->vecs = (void *)(base + arg->indirect_off);
	hot->sq_mask = arg->sq_entries - 1;
	hot->cq_mask = arg->cq_entries - 1;
	hot->sq_next = dmastream_load_relaxed(&hot->shared->sq_tail);
	hot->handle = arg->ring;
	hot->fd = arg->fd;
}

static int ring_create(struct dmastream *ctx, struct dmastream_ring_create *arg,
		       struct dmastream_ring **out)
{
	struct dmastream__ring *ring;
	void *map = NULL;
	int ret;

	*out = NULL;
	arg->sq_entries = dmastream__pow2(arg->sq_entries);
	arg->cq_entries = dmastream__pow2(arg->cq_entries);
	if (!arg->cq_recv_min)
		arg->cq_recv_min = arg->cq_entries > 4 ? arg->cq_entries / 4 : 1;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->hot.vec_slots = ring_vec_slots(ctx, arg->sq_entries);
	arg->indirect_bytes = arg->sq_entries * ring->hot.vec_slots *
			      (uint32_t)sizeof(struct dmastream_vec);
	ret = dmastream__ioctl(ctx->fd, DMASTREAM_IOC_RING_CREATE, arg);
	if (ret)
		goto free_ring;
	ret = dmastream__map(arg->fd, arg->map_size, &map);
	if (ret)
		goto close_fd;
	ring_init(ring, map, arg);
	*out = &ring->hot;
	return 0;

close_fd:
	close(arg->fd);
free_ring:
	free(ring);
	return ret;
}

int dmastream_ring_create(struct dmastream *ctx, uint32_t sq_entries,
			  uint32_t cq_entries, uint32_t cq_recv_min,
			  struct dmastream_ring **ring)
{
	struct dmastream_ring_create arg = {
		.sq_entries = sq_entries,
		.cq_entries = cq_entries,
		.cq_recv_min = cq_recv_min,
	};

	return ring_create(ctx, &arg, ring);
}

int dmastream_ring_create_polled(struct dmastream *ctx, uint32_t sq_entries,
				 uint32_t cq_entries, uint32_t cq_recv_min,
				 uint32_t idle_us, struct dmastream_ring **ring)
{
	struct dmastream_ring_create arg = {
		.sq_entries = sq_entries,
		.cq_entries = cq_entries,
		.cq_recv_min = cq_recv_min,
		.flags = DMASTREAM_RING_POLL,
		.poll_idle_us = idle_us,
	};

	return ring_create(ctx, &arg, ring);
}

/* Ends the streams that complete on it. */
int dmastream_ring_close(struct dmastream_ring *hot)
{
	struct dmastream__ring *ring = (struct dmastream__ring *)hot;

	if (!hot)
		return 0;
	munmap(hot->shared, ring->map_size);
	close(hot->fd);
	free(ring);
	return 0;
}

uint32_t dmastream_ring_handle(const struct dmastream_ring *ring)
{
	return ring->handle;
}

int dmastream_ring_fd(const struct dmastream_ring *ring)
{
	return ring->fd;
}

/*
 * The one system call of the hot path.  Returns how many submissions were
 * consumed.  When there were none, a wait that ended early is its -errno.
 */
int dmastream_enter(struct dmastream_ring *ring, uint32_t to_submit,
		    uint32_t min_complete, uint64_t deadline_ns)
{
	struct dmastream_enter arg = {
		.to_submit = to_submit,
		.min_complete = min_complete,
		.deadline_ns = deadline_ns,
	};
	int ret;

	ret = dmastream__ioctl(ring->fd, DMASTREAM_IOC_ENTER, &arg);
	if (ret)
		return ret;
	return arg.submitted ? (int)arg.submitted : arg.wait_result;
}

int dmastream_submit_and_wait(struct dmastream_ring *ring, uint32_t min_complete,
			      uint64_t deadline_ns)
{
	uint32_t pending = dmastream_sq_pending(ring);

	dmastream_store_release(&ring->shared->sq_tail, ring->sq_next);
	if (dmastream_cq_ready(ring) >= min_complete)
		return dmastream_submit(ring);
	/* a poller that is awake takes them; who came to sleep is no rival to it */
	dmastream_full_barrier();
	if (!(dmastream_load_relaxed(&ring->shared->flags) & DMASTREAM_RING_SQ_KICK))
		pending = 0;
	return dmastream_enter(ring, pending, min_complete, deadline_ns);
}

int dmastream_wait_cqe(struct dmastream_ring *ring, struct dmastream_cqe **cqe,
		       uint64_t deadline_ns)
{
	int ret = 0;

	for (;;) {
		/* also after a wait that failed: it may have come just then */
		*cqe = dmastream_peek_cqe(ring);
		if (*cqe)
			return 0;
		if (ret < 0)
			return ret;
		ret = dmastream_enter(ring, 0, 1, deadline_ns);
	}
}

int dmastream_wait_cqe_timeout(struct dmastream_ring *ring,
			       struct dmastream_cqe **cqe, uint32_t timeout_ms)
{
	return dmastream_wait_cqe(ring, cqe, dmastream_deadline(timeout_ms));
}
