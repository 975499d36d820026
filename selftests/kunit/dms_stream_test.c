// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: ends and waits of streams, in orders of events that no network can be
 * made to keep: what crosses what, what finds no packet, what is never answered.
 * Everything from the ring down to the path is the module's own; the transport
 * below is the tests', see dms_stream_bed.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "dms_stream_bed.h"

/* That the bed works: both ways, eager and pulled, and an orderly end. */
static void t_traffic(struct kunit *test)
{
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	t_recv(test, &p.b, 1000, 1);
	t_recv(test, &p.b, 16000, 2);
	t_recv(test, &p.a, 300, 3);
	t_settle(&p);
	t_send(test, &p.a, 1000, 4);
	t_send(test, &p.a, 16000, 5);
	t_send(test, &p.b, 300, 6);
	t_settle(&p);
	t_expect_result(test, &p.b, 1, 1000);
	t_expect_result(test, &p.b, 2, 16000);
	t_expect_result(test, &p.a, 3, 300);
	t_expect_result(test, &p.a, 4, 1000);
	t_expect_result(test, &p.a, 5, 16000);
	t_expect_result(test, &p.b, 6, 300);
	t_close(test, &p.a, 0, 7);
	t_settle(&p);
	t_expect_result(test, &p.a, 7, 0);
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

/* ---- completions that nobody asked for ---- */

/* Some quiet packets of 64 bytes, and no answer of the process there. */
static void t_send_quiet(struct kunit *test, struct t_pair *p, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		t_recv(test, &p->b, 64, 1);
	t_settle(p);
	for (i = 0; i < n; i++)
		t_send(test, &p->a, 64, 2);
	KUNIT_EXPECT_EQ(test, p->a.path->signal.quiet, n);
	KUNIT_EXPECT_EQ(test, p->a.path->quiet_charge, (u64)n * 64);
}

/* Quiet packets that stay the last are followed by one that asks, once. */
static void t_quiet_sweep(struct kunit *test)
{
	unsigned long next = HZ;
	struct t_pair p;
	u32 i;

	t_pair_new(test, &p, T_KEYS);
	t_send_quiet(test, &p, 2);
	KUNIT_EXPECT_EQ(test, p.a.path->tx_out, 2U);
	for (i = 0; i < 3; i++) {
		/* nothing that tells of itself is out, so nothing can be stuck */
		KUNIT_EXPECT_FALSE(test, dms_path_stuck(p.a.path, 0, &next));
		t_settle(&p);
		KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NOP], 1U);
	}
	KUNIT_EXPECT_EQ(test, p.a.path->signal.quiet, 0U);
	KUNIT_EXPECT_EQ(test, p.a.path->tx_out, 0U);
	KUNIT_EXPECT_EQ(test, p.a.path->window.used, 0ULL);
	t_expect_alive(test, &p.a);
	t_pair_free(test, &p);
}

/* Nobody waits for the part of the window that quiet packets have. */
static void t_quiet_window(struct kunit *test)
{
	struct dms_path *path;
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	path = p.a.path;
	t_send_quiet(test, &p, 2);
	spin_lock(&path->lock);
	KUNIT_EXPECT_EQ(test, path->window.used, 128ULL);
	KUNIT_EXPECT_TRUE(test, dms_path_charge(path, path->window.limit));
	KUNIT_EXPECT_EQ(test, path->window.used, path->window.limit);
	/* what others have is waited for */
	KUNIT_EXPECT_FALSE(test, dms_path_charge(path, path->window.limit));
	dms_window_put(&path->window, path->window.limit);
	spin_unlock(&path->lock);
	t_settle(&p);
	t_pair_free(test, &p);
}

/* ---- acknowledgements that wait for an answer ---- */

/* @e sends to @to, whose process hears of it. */
static void t_serve_ball(struct kunit *test, struct t_end *e, struct t_end *to)
{
	u32 before = to->done[1];

	t_send(test, e, 64, 2);
	t_carry(e, to);
	KUNIT_EXPECT_TRUE(test, t_done(to, 1));
	KUNIT_EXPECT_EQ(test, to->done[1], before + 1);
}

static void t_rally(struct kunit *test, struct t_pair *p, u32 rounds)
{
	u32 i;

	for (i = 0; i < rounds; i++) {
		t_serve_ball(test, &p->a, &p->b);
		t_serve_ball(test, &p->b, &p->a);
	}
}

static void t_pair_plays(struct kunit *test, struct t_pair *p, unsigned long delay)
{
	u32 i;

	t_pair_new(test, p, T_KEYS);
	p->a.path->ack_delay = delay;
	p->b.path->ack_delay = delay;
	for (i = 0; i < 3 * DMS_ACK_SURE; i++) {
		t_recv(test, &p->a, 64, 1);
		t_recv(test, &p->b, 64, 1);
	}
	t_settle(p);
}

/* In a ping-pong each message is a packet, and nothing else is. */
static void t_ack_rides(struct kunit *test)
{
	u32 a, b, done;
	struct t_pair p;

	t_pair_plays(test, &p, 600 * HZ);
	t_rally(test, &p, DMS_ACK_SURE + 1);
	a = p.a.packets;
	b = p.b.packets;
	done = p.a.done[2];
	t_rally(test, &p, DMS_ACK_SURE);
	KUNIT_EXPECT_EQ(test, p.a.packets - a, (u32)DMS_ACK_SURE);
	KUNIT_EXPECT_EQ(test, p.b.packets - b, (u32)DMS_ACK_SURE);
	/* each answer told that the message had been delivered */
	t_reap(&p.a);
	KUNIT_EXPECT_EQ(test, p.a.done[2] - done, (u32)DMS_ACK_SURE);
	/* one more without an answer, and the next tells of both at once */
	t_serve_ball(test, &p.a, &p.b);
	KUNIT_EXPECT_EQ(test, t_carry(&p.b, &p.a), 0U);
	t_serve_ball(test, &p.a, &p.b);
	KUNIT_EXPECT_EQ(test, t_carry(&p.b, &p.a), 1U);
	t_reap(&p.a);
	KUNIT_EXPECT_EQ(test, p.a.done[2] - done, (u32)DMS_ACK_SURE + 2);
	t_pair_free(test, &p);
}

/* An answer that does not come is not waited for long, nor again. */
static void t_ack_in_vain(struct kunit *test)
{
	unsigned long end;
	struct t_pair p;
	u32 done;

	t_pair_plays(test, &p, 3 * HZ);
	t_rally(test, &p, DMS_ACK_SURE + 1);
	done = p.a.done[2];
	t_serve_ball(test, &p.a, &p.b);
	KUNIT_EXPECT_EQ(test, t_carry(&p.b, &p.a), 0U);
	end = jiffies + msecs_to_jiffies(T_WAIT_MS);
	while (p.a.done[2] == done && time_before(jiffies, end)) {
		msleep(20);
		t_carry(&p.b, &p.a);
		t_reap(&p.a);
	}
	KUNIT_EXPECT_EQ(test, p.a.done[2], done + 1);
	/* it answers after all, and what comes next is told at once */
	t_serve_ball(test, &p.b, &p.a);
	t_serve_ball(test, &p.a, &p.b);
	KUNIT_EXPECT_EQ(test, t_carry(&p.b, &p.a), 1U);
	t_pair_free(test, &p);
}

/* One that waits when the path ends is not left behind. */
static void t_ack_path_ends(struct kunit *test)
{
	struct t_pair p;

	t_pair_plays(test, &p, 600 * HZ);
	t_rally(test, &p, DMS_ACK_SURE + 1);
	t_serve_ball(test, &p.a, &p.b);
	KUNIT_EXPECT_FALSE(test, list_empty(&p.b.path->put_off));
	t_pair_free(test, &p);
}

/* ---- ENTER ---- */

/* The request's reference is the stream's last but ours, and goes in the middle of ENTER. */
struct t_loner {
	struct dms_stream	*s;
	int			cancelled;
	u32			left;	/* references then, besides ours */
};

static void t_end_of_loner(struct t_end *e)
{
	struct t_loner *l = e->on_send_arg;

	e->on_send = NULL;
	spin_lock(&l->s->lock);
	l->cancelled = dms_tx_cancel(l->s, 1);
	spin_unlock(&l->s->lock);
	l->left = kref_read(&l->s->ref) - 1;
}

/*
 * A batch of submissions that names many paths is flushed when one more comes:
 * by then the request that has just been taken may be over, and with it go the
 * references that it had.  Here it is cancelled while ENTER sends for another
 * path; ENTER has to hold the stream by itself as long as it uses it.
 */
static void t_submit_holds_stream(struct kunit *test)
{
	struct dms_submit_batch batch;
	struct t_loner l = {};
	struct dms_req *req;
	struct t_pair p;
	LIST_HEAD(reqs);
	int err;

	t_pair_new(test, &p, T_KEYS);
	t_settle(&p);
	l.s = dms_stream_alloc(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, l.s);
	KUNIT_EXPECT_EQ(test, dms_path_add_stream(p.a.path, l.s), 0);
	dms_path_del_stream(p.a.path, l.s);	/* keeps the pointer: nobody else finds it */
	t_stream_open(l.s, 0);
	KUNIT_ASSERT_EQ(test, dms_ring_take_reqs(p.a.ring, 1, 1, &reqs, &err), 1U);
	req = list_first_entry(&reqs, struct dms_req, node);
	list_del_init(&req->node);
	dms_stream_get(l.s);			/* the request's */
	req->stream = l.s;
	req->pool = NULL;
	req->user_data = 1;
	req->op = DMASTREAM_OP_SEND;
	req->flags = 0;
	req->len = 0;
	req->nr_elem = 0;
	req->told = false;
	dms_submit_begin(&batch);
	while (batch.nr < DMS_BATCH_PATHS) {
		dms_path_get(p.b.path);		/* put in dms_submit_flush() */
		batch.path[batch.nr++] = p.b.path;
	}
	/* something for the flush to send */
	spin_lock(&p.b.stream->lock);
	p.b.stream->ctl |= DMS_CTL_UPDATE;
	spin_unlock(&p.b.stream->lock);
	dms_mux_ready(p.b.stream);
	p.b.on_send_arg = &l;
	p.b.on_send = t_end_of_loner;

	KUNIT_EXPECT_EQ(test, dms_stream_submit(req, &batch), 0);
	dms_submit_give(&batch);
	KUNIT_EXPECT_EQ(test, l.cancelled, 0);
	t_expect_result(test, &p.a, 1, -ECANCELED);
	KUNIT_EXPECT_GE_MSG(test, l.left, 1U, "ENTER uses a stream that it does not hold");
	dms_submit_flush(&batch);
	t_settle(&p);
	dms_stream_put(l.s);
	t_pair_free(test, &p);
}

/* ---- ACCEPT ---- */

/*
 * The peer has ended what a process is just accepting, all of the end's work is
 * done, and then ACCEPT fails, since its context ends.  Nothing must be left of it
 * on the ring, which lives on.
 */
static void t_accept_fails_late(struct kunit *test)
{
	struct dms_frame reset = { .type = DMS_F_RESET, .a = DMASTREAM_ERR_PEER };
	struct dms_stream_cfg cfg = { .flags = DMASTREAM_STREAM_POSTED };
	struct dms_stream *s;
	struct t_pair p;
	u32 handle = 0;

	t_pair_new(test, &p, T_KEYS);
	t_settle(&p);
	cfg.ring = p.a.ring;
	/* as incoming() makes it; the reference is the backlog's */
	s = dms_stream_alloc(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	s->peer_sid = 77;
	s->state = DMS_STREAM_BACKLOG;
	s->handle_gone = true;
	KUNIT_ASSERT_EQ(test, dms_session_bind_on(p.a.session, s, p.a.path), 0);
	reset.stream = s->sid;
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &reset), DMS_RULE_NONE);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESET_ACK], 1U);
	t_carry(&p.a, NULL);		/* b has no such stream */
	KUNIT_EXPECT_EQ(test, s->state, DMS_STREAM_DEAD);

	p.a.ctx->dead = true;
	KUNIT_EXPECT_EQ(test, dms_ctl_do_accept(s, p.a.ctx, &cfg, NULL, &handle), -ENODEV);
	p.a.ctx->dead = false;
	dms_ctl_refuse(s, DMASTREAM_REFUSED_MEMORY);
	t_works();
	KUNIT_EXPECT_TRUE_MSG(test, list_empty(&s->ring_user.node),
			       "a stream that goes is still on its ring's list");
	if (!list_empty(&s->ring_user.node))
		dms_stream_detach(s);
	dms_stream_put(s);
	t_pair_free(test, &p);
}

/* ---- ends that cross messages ---- */

/*
 * b's RECV is too short for an announced message of which not all keys are out,
 * and b cannot send: a NACK is owed.  Then the stream is aborted, by b or by a.
 * The RESET, or its answer, acknowledges the message; without the NACK before it
 * that is a breach: it was not pulled.
 */
static void t_nack_and_abort(struct kunit *test, bool by_b)
{
	struct t_end *closes;
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	closes = by_b ? &p.b : &p.a;
	t_recv(test, &p.b, 10, 1);
	t_settle(&p);
	t_grab(&p.b);
	t_send(test, &p.a, 16000, 2);
	t_carry(&p.a, &p.b);
	t_expect_result(test, &p.b, 1, -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_KEY], (u32)DMS_KEYS_AHEAD);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 2));
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 0U);

	t_close(test, closes, DMASTREAM_CLOSE_ABORT, 3);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESET], by_b ? 0U : 1U);
	t_carry(&p.a, &p.b);
	t_ungrab(&p.b);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 1U);
	t_expect_result(test, &p.a, 2, -EMSGSIZE);
	KUNIT_EXPECT_TRUE(test, t_done(closes, 3));
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

static void t_nack_before_reset(struct kunit *test)
{
	t_nack_and_abort(test, true);
}

static void t_nack_before_reset_ack(struct kunit *test)
{
	t_nack_and_abort(test, false);
}

/* Both close while a message of each is on its way: neither is taken any more. */
static void t_cross(struct kunit *test, u32 len)
{
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	t_recv(test, &p.a, 16000, 1);
	t_recv(test, &p.b, 16000, 1);
	t_settle(&p);
	t_send(test, &p.a, len, 2);
	t_send(test, &p.b, len, 2);
	t_close(test, &p.a, 0, 3);
	t_close(test, &p.b, 0, 3);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.stream->state, DMS_STREAM_CLOSING);
	KUNIT_EXPECT_EQ(test, p.b.stream->state, DMS_STREAM_CLOSING);
	t_settle(&p);
	t_expect_result(test, &p.a, 2, -EPIPE);
	t_expect_result(test, &p.b, 2, -EPIPE);
	t_expect_result(test, &p.a, 3, -ECONNRESET);	/* CLOSE: not all was delivered */
	t_expect_result(test, &p.b, 3, -ECONNRESET);
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

static void t_closes_cross(struct kunit *test)
{
	t_cross(test, 100);
}

static void t_closes_cross_announced(struct kunit *test)
{
	t_cross(test, 16000);
}

/*
 * a has closed and waits for its own message; what b sends meanwhile is refused
 * at once, one NACK each, while a still waits.  FIN is no message.
 */
static void t_closing_refuses(struct kunit *test)
{
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	t_recv(test, &p.a, 1000, 1);
	t_recv(test, &p.a, 1000, 2);
	t_recv(test, &p.b, 1000, 1);
	t_settle(&p);
	t_send(test, &p.a, 500, 3);
	t_close(test, &p.a, 0, 4);
	t_send(test, &p.b, 100, 5);
	t_send(test, &p.b, 100, 6);
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.b.stream), 0);
	t_works();
	/* one way only: a's message does not arrive yet */
	t_carry(&p.b, &p.a);
	KUNIT_EXPECT_EQ(test, p.a.stream->state, DMS_STREAM_CLOSING);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK], 2U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESET], 0U);
	t_settle(&p);
	t_expect_result(test, &p.b, 5, -EPIPE);
	t_expect_result(test, &p.b, 6, -EPIPE);
	t_expect_result(test, &p.b, 1, 500);
	t_expect_result(test, &p.a, 3, 500);
	t_expect_result(test, &p.a, 4, 0);
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

/*
 * a closes in the middle of a pull: the refusal waits for the READ, since b takes
 * its keys back when it hears of it.
 */
static void t_refusal_after_read(struct kunit *test)
{
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	t_recv(test, &p.a, 16000, 1);
	t_recv(test, &p.b, 1000, 1);
	t_settle(&p);
	p.a.keep_reads = true;
	t_send(test, &p.b, 16000, 2);
	t_carry(&p.b, &p.a);
	KUNIT_EXPECT_FALSE(test, list_empty(&p.a.reads));
	t_send(test, &p.a, 500, 3);
	t_close(test, &p.a, 0, 4);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.stream->state, DMS_STREAM_CLOSING);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK], 0U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 1));
	p.a.keep_reads = false;
	t_answer(&p.a, 0);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK], 1U);
	t_settle(&p);
	t_expect_result(test, &p.b, 2, -EPIPE);
	t_expect_result(test, &p.a, 3, 500);
	t_expect_result(test, &p.a, 4, 0);
	KUNIT_EXPECT_TRUE(test, t_done(&p.a, 1));
	KUNIT_EXPECT_LT(test, p.a.result[1], 0);
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

/* ---- a peer that does not answer ---- */

/* The path is given up, which ends the stream and gives everything back. */
static void t_expect_given_up(struct kunit *test, struct t_end *e, u64 name)
{
	KUNIT_EXPECT_TRUE_MSG(test, t_done_in_time(e, name),
			      "the end waits for a peer that does not answer");
	KUNIT_EXPECT_EQ(test, e->path->err_class, (u32)DMASTREAM_ERR_PATH);
	KUNIT_EXPECT_EQ(test, e->path->err_detail, (u32)IB_WC_RESP_TIMEOUT_ERR);
}

static void t_reset_unanswered(struct kunit *test)
{
	unsigned int lost = dms_param_peer_lost_ms;
	struct t_pair p;

	dms_param_peer_lost_ms = 100;
	t_pair_new(test, &p, T_KEYS);
	t_recv(test, &p.b, 16000, 1);
	t_settle(&p);
	t_send(test, &p.a, 16000, 1);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.path->keys_out, (u32)DMS_KEYS_AHEAD);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 2);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESET], 1U);
	t_carry(&p.a, NULL);
	t_expect_given_up(test, &p.a, 2);
	t_works();
	KUNIT_EXPECT_TRUE(test, t_done(&p.a, 1));
	KUNIT_EXPECT_EQ(test, p.a.path->keys_out, 0U);
	KUNIT_EXPECT_EQ(test, atomic_read(&p.a.session->nr_streams), 0);
	t_pair_free(test, &p);
	dms_param_peer_lost_ms = lost;
}

/* Also when the process has given it up long ago, and nobody waits. */
static void t_connect_unanswered(struct kunit *test)
{
	unsigned int lost = dms_param_peer_lost_ms;
	u32 err_class = 0, err_detail = 0;
	struct dms_stream_cfg cfg = { .flags = DMASTREAM_STREAM_POSTED };
	struct dms_stream *opened;
	struct t_pair p;

	dms_param_peer_lost_ms = 100;
	t_pair_new(test, &p, T_KEYS);
	t_settle(&p);
	opened = p.a.stream;
	/* as dms_stream_connect() goes about it, but for the dialling */
	cfg.ring = p.a.ring;
	p.a.stream = dms_stream_alloc(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p.a.stream);
	p.a.stream->service = kstrdup("nobody", GFP_KERNEL);
	KUNIT_ASSERT_EQ(test, dms_stream_attach(p.a.stream, p.a.ctx, &cfg), 0);
	dms_stream_get(p.a.stream);	/* the handle's */
	KUNIT_ASSERT_EQ(test, dms_ctx_add_stream(p.a.ctx, p.a.stream, &p.a.stream->handle), 0);
	KUNIT_ASSERT_EQ(test, dms_session_bind(p.a.session, p.a.stream, &err_class,
					       &err_detail), 0);
	dms_stream_path_up(p.a.stream);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_CONNECT], 1U);
	t_carry(&p.a, NULL);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 1);
	t_works();
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 1));	/* its id may still be answered */
	t_expect_given_up(test, &p.a, 1);
	t_works();
	dms_stream_put(p.a.stream);
	p.a.stream = opened;
	t_pair_free(test, &p);
	dms_param_peer_lost_ms = lost;
}

/* ---- no packet, no key, too many pieces ---- */

/* One packet of b is out and not completed, and it has no other. */
static void t_last_packet_out(struct kunit *test, struct t_pair *p)
{
	t_recv(test, &p->a, 1000, 1);
	t_settle(p);
	p->b.keep_left = true;
	t_send(test, &p->b, 100, 2);
	t_grab(&p->b);
	t_carry(&p->b, &p->a);
	t_carry(&p->a, &p->b);
	KUNIT_EXPECT_EQ(test, p->b.packets, 1U);
	KUNIT_EXPECT_TRUE(test, t_done(&p->a, 1));
	KUNIT_EXPECT_TRUE(test, list_empty(&p->b.path->ready));
}

static void t_packet_comes_back(struct t_pair *p)
{
	p->b.keep_left = false;
	t_answer(&p->b, 0);
	t_works();
}

/* A CONNECT is refused when no packet is free: the answer goes out with the next. */
static void t_refusal_retried(struct kunit *test)
{
	static const u8 service[DMS_WIRE_SERVICE_MAX] = "nowhere";
	struct dms_frame connect = {
		.type = DMS_F_CONNECT, .a = 99, .len = sizeof(service), .body = service,
	};
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	t_last_packet_out(test, &p);
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &connect), DMS_RULE_NONE);
	t_works();
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REFUSED], 0U);
	t_packet_comes_back(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REFUSED], 1U);
	t_carry(&p.b, NULL);		/* a has asked for nothing */
	t_ungrab(&p.b);
	t_pair_free(test, &p);
}

/* A packet of a without a frame: nothing but its slot is spent. */
static void t_empty_packet(struct kunit *test, struct t_pair *p)
{
	u8 buf[sizeof(struct dms_wire_pkt)];
	struct dms_pkt head = { .epoch = p->a.path->epoch, .lane = p->a.path->lane };
	u32 len;

	spin_lock(&p->a.path->lock);
	head.seq = p->a.path->slot_tx.sent;
	head.credit = dms_slot_rx_tell(&p->a.path->slot_rx);
	dms_slot_tx_take(&p->a.path->slot_tx);
	spin_unlock(&p->a.path->lock);
	len = dms_wire_pkt_put(buf, &head);
	KUNIT_EXPECT_TRUE(test, dms_path_rx(p->b.path, buf, len));
	dms_path_reposted(p->b.path, 1);
}

/* Half of the receives are to be told when no packet is free: likewise. */
static void t_update_retried(struct kunit *test)
{
	struct t_pair p;
	int i;

	t_pair_new(test, &p, T_KEYS);
	t_last_packet_out(test, &p);
	for (i = 0; i < T_SLOTS / 2; i++)
		t_empty_packet(test, &p);
	t_works();
	KUNIT_EXPECT_TRUE(test, dms_slot_rx_owes(&p.b.path->slot_rx));
	KUNIT_EXPECT_EQ(test, p.b.packets, 1U);
	t_packet_comes_back(&p);
	KUNIT_EXPECT_EQ(test, p.b.packets, 2U);
	KUNIT_EXPECT_EQ(test, p.b.empty, 1U);
	KUNIT_EXPECT_FALSE(test, dms_slot_rx_owes(&p.b.path->slot_rx));
	t_settle(&p);
	t_expect_alive(test, &p.a);
	t_ungrab(&p.b);
	t_pair_free(test, &p);
}

/* The path's one key is out: who asks for another gets none, and sends nothing. */
static void t_no_key_no_packet(struct kunit *test)
{
	struct t_pair p;
	u32 packets;

	t_pair_new(test, &p, 1);
	t_recv(test, &p.b, 16000, 1);
	t_settle(&p);
	t_send(test, &p.a, 16000, 2);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_KEY], 1U);
	packets = p.a.packets;
	dms_stream_kick(p.a.stream);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.packets, packets);
	KUNIT_EXPECT_EQ(test, p.a.empty, 0U);
	t_settle(&p);
	t_expect_result(test, &p.a, 2, 16000);
	t_expect_result(test, &p.b, 1, 16000);
	t_expect_alive(test, &p.a);
	t_pair_free(test, &p);
}

/* A short vector of more pieces than a packet gathers: pulled, as a long one is. */
static void t_many_pieces(struct kunit *test)
{
	struct dmastream_sqe sqe = { .op = DMASTREAM_OP_SEND, .flags = DMASTREAM_SQE_VEC };
	struct dmastream_vec *vec;
	u32 sges = t_dev.max_send_sge;
	struct t_pair p;
	int i;

	t_dev.max_send_sge = DMASTREAM_VEC_MAX;	/* one is for the headers */
	t_pair_new(test, &p, T_KEYS);
	t_recv(test, &p.b, 4000, 1);
	t_recv(test, &p.b, 4000, 2);
	t_settle(&p);
	vec = p.a.ring->mem + p.a.ring->indirect_off;
	for (i = 0; i < DMASTREAM_VEC_MAX; i++) {
		vec[i].off = i * PAGE_SIZE;
		vec[i].len = 300;
	}
	sqe.stream = p.a.stream->handle;
	sqe.pool = p.a.pool_handle;
	sqe.len = DMASTREAM_VEC_MAX - 1;
	sqe.user_data = 3;
	t_push(test, &p.a, &sqe);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 0U);
	sqe.len = DMASTREAM_VEC_MAX;
	sqe.user_data = 4;
	t_push(test, &p.a, &sqe);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	t_expect_result(test, &p.a, 3, (DMASTREAM_VEC_MAX - 1) * 300);
	t_expect_result(test, &p.b, 1, (DMASTREAM_VEC_MAX - 1) * 300);
	t_expect_result(test, &p.a, 4, DMASTREAM_VEC_MAX * 300);
	t_expect_result(test, &p.b, 2, DMASTREAM_VEC_MAX * 300);
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
	t_dev.max_send_sge = sges;
}

static void t_op_tile(struct kunit *test, struct t_end *e, u8 op, const struct dmastream_tile *tile,
		      u64 name)
{
	struct dmastream_sqe sqe = {
		.op = op, .flags = DMASTREAM_SQE_TILE, .stream = e->stream->handle,
		.user_data = name, .pool = e->pool_handle, .len = 1,
		.off = name * sizeof(*tile),
	};

	memcpy(e->ring->mem + e->ring->indirect_off + sqe.off, tile, sizeof(*tile));
	t_push(test, e, &sqe);
}

/* A tile of more rows than a packet gathers is copied as long as the packet has room. */
static void t_tile_copied(struct kunit *test)
{
	const struct dmastream_tile from = { .off = 5, .pitch = 100, .rows = 64, .row_bytes = 60 };
	const struct dmastream_tile to = { .off = 9, .pitch = 64, .rows = 130, .row_bytes = 30 };
	struct dmastream_tile longer = from;
	struct t_pair p;
	u32 i, bad = 0;

	t_pair_new(test, &p, T_KEYS);
	for (i = 0; i < 64 * 100; i++)
		*t_pool_byte(&p.a, i) = i * 7 + i / 256;
	for (i = 0; i < 130 * 64 + 9; i++)
		*t_pool_byte(&p.b, i) = 0xee;
	t_op_tile(test, &p.b, DMASTREAM_OP_RECV, &to, 1);
	t_settle(&p);
	t_op_tile(test, &p.a, DMASTREAM_OP_SEND, &from, 3);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 0U);
	t_expect_result(test, &p.a, 3, 64 * 60);
	t_expect_result(test, &p.b, 1, 64 * 60);
	for (i = 0; i < 64 * 60; i++)
		bad += *t_pool_byte(&p.b, 9 + i / 30 * 64 + i % 30) !=
		       *t_pool_byte(&p.a, 5 + i / 60 * 100 + i % 60);
	for (i = 0; i < 130 * 64; i++)
		if (i % 64 >= 30 || i / 64 >= 128)
			bad += *t_pool_byte(&p.b, 9 + i) != 0xee;
	KUNIT_EXPECT_EQ(test, bad, 0U);

	/* one row more than the packet has room for: each has a key */
	longer.rows = DMS_COPY_AREA / 60 + 1;
	t_recv(test, &p.b, 8000, 2);
	t_settle(&p);
	t_op_tile(test, &p.a, DMASTREAM_OP_SEND, &longer, 4);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	/* rows that cross a page need two keys of one page each */
	for (i = 0, bad = 0; i < longer.rows; i++)
		bad += (longer.off + i * longer.pitch) % PAGE_SIZE + 60 > PAGE_SIZE ? 2 : 1;
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_KEY], bad);
	t_expect_result(test, &p.a, 4, longer.rows * 60);
	t_expect_result(test, &p.b, 2, longer.rows * 60);
	t_expect_alive(test, &p.a);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

/* What waits behind a message that is cancelled goes at once: FIN, here. */
static void t_cancel_lets_go(struct kunit *test)
{
	struct t_pair p;

	t_pair_new(test, &p, T_KEYS);
	t_settle(&p);
	t_send(test, &p.a, 100, 1);	/* without a RECV there is no credit for it */
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.a.stream), 0);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.packets, 0U);
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 1), 0);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_FIN], 1U);
	t_expect_result(test, &p.a, 1, -ECANCELED);
	t_settle(&p);
	t_expect_alive(test, &p.b);
	t_pair_free(test, &p);
}

#include "dms_stream_push.h"

static struct kunit_case t_cases[] = {
	KUNIT_CASE(t_traffic),
	KUNIT_CASE(t_quiet_sweep),
	KUNIT_CASE(t_quiet_window),
	KUNIT_CASE(t_ack_rides),
	KUNIT_CASE(t_ack_in_vain),
	KUNIT_CASE(t_ack_path_ends),
	KUNIT_CASE(t_submit_holds_stream),
	KUNIT_CASE(t_accept_fails_late),
	KUNIT_CASE(t_nack_before_reset),
	KUNIT_CASE(t_nack_before_reset_ack),
	KUNIT_CASE(t_closes_cross),
	KUNIT_CASE(t_closes_cross_announced),
	KUNIT_CASE(t_closing_refuses),
	KUNIT_CASE(t_refusal_after_read),
	KUNIT_CASE(t_reset_unanswered),
	KUNIT_CASE(t_connect_unanswered),
	KUNIT_CASE(t_refusal_retried),
	KUNIT_CASE(t_update_retried),
	KUNIT_CASE(t_no_key_no_packet),
	KUNIT_CASE(t_many_pieces),
	KUNIT_CASE(t_tile_copied),
	KUNIT_CASE(t_cancel_lets_go),
	KUNIT_CASE(t_push_traffic),
	KUNIT_CASE(t_push_crosses_revoke),
	KUNIT_CASE(t_push_idle),
	KUNIT_CASE(t_push_no_answer),
	KUNIT_CASE(t_push_passed),
	KUNIT_CASE(t_push_close),
	KUNIT_CASE(t_push_close_message),
	KUNIT_CASE(t_push_abort),
	KUNIT_CASE(t_push_peer_ends),
	KUNIT_CASE(t_push_fin),
	KUNIT_CASE(t_push_fin_crosses_revoke),
	KUNIT_CASE(t_push_peer_closes),
	KUNIT_CASE(t_push_both_close),
	KUNIT_CASE(t_push_path_lost),
	KUNIT_CASE(t_push_hostile),
	KUNIT_CASE(t_push_hostile_sender),
	{}
};

static struct kunit_suite dms_stream_suite = {
	.name		= "dms_stream",
	.suite_init	= t_suite_init,
	.suite_exit	= t_suite_exit,
	.test_cases	= t_cases,
};

kunit_test_suite(dms_stream_suite);
