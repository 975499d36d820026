// SPDX-License-Identifier: GPL-2.0-only
/*
 * A whole life in one program: everything opened, messages of each kind to
 * itself, vectors, posted receives, everything closed.  Built for 64 and, as
 * test_life32 with the library, for 32 bits.
 */
#include "../kt.h"
#include "life.h"

static void messages(struct life_end *a, uint32_t sa, struct life_end *b)
{
	static const uint32_t lens[] = { 0, 1, 255, 257, 8191, 8192, 8193, 100000, 262144 };
	size_t i;

	for (i = 0; i < KT_ARRAY(lens); i++)
		kt_is(life_pass(a, sa, b, lens[i], 0x8000000000000000ULL + i), 0,
		      "a message of %u bytes, tag above 2^63", lens[i]);
}

static void vectors(struct life_end *a, uint32_t sa, struct life_end *b)
{
	struct dmastream_vec vec[2] = {
		{ .off = LIFE_SLOT_AT, .len = 40000 },
		{ .off = LIFE_SLOT_AT + 2 * LIFE_SLOT, .len = 40000 },
	};
	struct dmastream_sqe *sqe = dmastream_get_sqe(a->ring);
	struct dmastream_cqe cqe;
	bool right = true;
	uint64_t at = 0;

	/* two halves of one message, apart in memory */
	life_fill(a->base + LIFE_SLOT_AT, 80000, 7);
	memcpy(a->base + vec[1].off, a->base + LIFE_SLOT_AT + 40000, 40000);
	dmastream_prep_send_vec(a->ring, sqe, sa, dmastream_pool_handle(a->pool), vec, 2, 7, 7);
	kt_is(dmastream_submit(a->ring), 1, "a vector is submitted");
	if (kt_is(life_until(b, DMASTREAM_OP_RECV, &cqe, 60000), 0, "it arrives"))
		life_received(b, &cqe, &at, true, &right);
	kt_ok(right && cqe.result == 80000, "whole: %d bytes", cqe.result);
	kt_is(life_until(a, DMASTREAM_OP_SEND, &cqe, 60000), 0, "and is acknowledged");
}

static void posted(struct life_end *a, struct life_end *b)
{
	struct dmastream_stream_opts opts = {
		.flags = DMASTREAM_STREAM_POSTED,
		.ring = dmastream_ring_handle(b->ring),
	};
	struct dmastream_addr self = life_self();
	struct dmastream_listener *l;
	struct dmastream_cqe cqe;
	uint32_t sa, sb;

	if (!kt_is(dmastream_listen(b->ctx, "posted", 1, 0, &l), 0, "listen"))
		return;
	kt_is(life_connect(a, &self, "posted", &sa), 0, "connect");
	kt_is(dmastream_accept(l, &opts, 60000, &sb, NULL), 0, "accept with posted receives");
	dmastream_prep_recv(dmastream_get_sqe(b->ring), sb, dmastream_pool_handle(b->pool),
			    LIFE_SLOT_AT, LIFE_SLOT, 55);
	kt_is(dmastream_submit(b->ring), 1, "a receive is posted");
	kt_is(life_send(a, sa, 200000, 99), 0, "send");
	kt_is(dmastream_submit(a->ring), 1, "submitted");
	kt_is(life_until(b, DMASTREAM_OP_RECV, &cqe, 60000), 0, "it lands");
	kt_ok(cqe.result == 200000 && cqe.user_data == 55 && cqe.tag == 99 &&
	      life_check(b->base + LIFE_SLOT_AT, 200000, 0, 99), "where it was posted");
	kt_is(life_until(a, DMASTREAM_OP_SEND, &cqe, 60000), 0, "and is acknowledged");
	dmastream_prep_recv(dmastream_get_sqe(b->ring), sb, dmastream_pool_handle(b->pool),
			    LIFE_SLOT_AT, LIFE_SLOT, 56);
	kt_is(dmastream_submit(b->ring), 1, "another one is posted");
	kt_is(dmastream_shutdown(a->ctx, sa), 0, "shutdown");
	kt_is(life_until(b, DMASTREAM_OP_RECV, &cqe, 60000), 0, "the end of the stream");
	kt_ok((cqe.flags & DMASTREAM_CQE_EOS) && !cqe.result, "is an orderly one");
	kt_is(dmastream_stream_close(a->ctx, sa, 0, 60000), 0, "close");
	kt_is(dmastream_stream_close(b->ctx, sb, 0, 60000), 0, "close of the other end");
	dmastream_listener_close(l);
}

int main(void)
{
	struct life_end a, b;
	uint32_t sa, sb;
	unsigned int ms;
	bool empty;

	life_watchdog(60);
	if (life_open(&a) || life_open(&b))
		kt_die("open");
	kt_is(life_give_all(&b), 0, "landings");
	kt_is(life_link(&a, &b, &sa, &sb), 0, "connect to itself with %zu-bit longs",
	      sizeof(long) * 8);
	messages(&a, sa, &b);
	vectors(&a, sa, &b);
	posted(&a, &b);
	kt_is(dmastream_stream_close(a.ctx, sa, 0, 60000), 0, "close");
	kt_is(dmastream_stream_close(b.ctx, sb, 0, 60000), 0, "close of the other end");
	life_close(&a);
	life_close(&b);
	empty = life_empty(&ms);
	kt_ok(empty, "all gauges are 0 after %u ms", ms);
	return kt_end();
}
