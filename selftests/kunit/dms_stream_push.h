/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: direct push, in orders of events that no network can be made to keep.  The
 * cases of dms_stream_test.c that are about it; included there, once.
 *
 * b has asked for it.  WRITEs arrive with the packet that they went ahead of; one that
 * meets no open key is counted (t_end.stray), and would kill a queue pair.
 */
#ifndef DMS_STREAM_PUSH_H
#define DMS_STREAM_PUSH_H

static void t_push_free(struct kunit *test, struct t_pair *p)
{
	KUNIT_EXPECT_EQ(test, t_dev.granted.used, 0ULL);
	t_pair_free(test, p);
}

static void t_push_end(struct kunit *test, struct t_pair *p)
{
	KUNIT_EXPECT_EQ(test, p->a.stray + p->b.stray, 0U);
	t_expect_alive(test, &p->a);
	t_expect_alive(test, &p->b);
	KUNIT_EXPECT_EQ(test, p->b.path->grants, 0U);
	t_push_free(test, p);
}

/* Pushed, the bytes are there, and not delivered before the key is invalid. */
static void t_push_traffic(struct kunit *test)
{
	struct t_pair p;
	u32 i, bad = 0;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	for (i = 0; i < T_LONG; i++)
		*t_pool_byte(&p.a, 5 * T_PLACE + i) = i * 7 + i / 256;
	t_send(test, &p.a, T_LONG, 5);
	KUNIT_EXPECT_EQ(test, p.a.path->window.used, (u64)T_LONG);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	KUNIT_EXPECT_EQ(test, p.a.path->window.used, 0ULL);
	KUNIT_EXPECT_EQ(test, p.b.nr_revoked, 1U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));	/* LOCAL_INV has not completed */
	t_settle(&p);
	t_expect_result(test, &p.b, 1, T_LONG);
	t_expect_result(test, &p.a, 5, T_LONG);
	for (i = 0; i < T_LONG; i++)
		bad += *t_pool_byte(&p.b, T_PLACE + i) !=
		       *t_pool_byte(&p.a, 5 * T_PLACE + i);
	KUNIT_EXPECT_EQ(test, bad, 0U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_PUSHED], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 0U);
	/* what does not fit, or has no grant, is announced */
	t_send(test, &p.a, T_CAP + 1, 6);
	t_settle(&p);
	t_expect_result(test, &p.a, 6, -EMSGSIZE);
	t_expect_result(test, &p.b, 2, -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	t_push_end(test, &p);
}

/* A message is on its way when the grants are taken back. */
static void t_push_crosses_revoke(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 3);
	t_send(test, &p.a, T_LONG, 5);
	t_take_back(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 1U);
	t_carry(&p.b, &p.a);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_REVOKED], 1U);
	KUNIT_EXPECT_EQ(test, hweight_long(p.b.open), 3U);	/* none before the answer */
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	KUNIT_EXPECT_EQ(test, p.b.open, 0UL);
	t_settle(&p);
	t_expect_result(test, &p.b, 1, T_LONG);
	/* the RECVs stay, and what was pushed lets one be granted again, each time */
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 2));
	t_send(test, &p.a, T_LONG, 6);
	t_settle(&p);
	t_expect_result(test, &p.b, 2, T_LONG);
	t_send(test, &p.a, T_LONG, 7);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_PUSHED], 3U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 0U);
	t_expect_result(test, &p.b, 3, T_LONG);
	t_push_end(test, &p);
}

/* After so long without a push; not sooner. */
static void t_push_idle(struct kunit *test)
{
	struct t_pair p;
	bool busy;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	spin_lock(&p.b.path->lock);
	busy = dms_stream_grants_idle(p.b.stream, 1000 * HZ);
	spin_unlock(&p.b.path->lock);
	KUNIT_EXPECT_TRUE(test, busy);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 0U);
	msleep(20);
	spin_lock(&p.b.path->lock);
	busy = dms_stream_grants_idle(p.b.stream, 1);
	spin_unlock(&p.b.path->lock);
	KUNIT_EXPECT_TRUE(test, busy);
	dms_stream_kick(p.b.stream);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_REVOKED], 1U);
	spin_lock(&p.b.path->lock);
	busy = dms_stream_grants_idle(p.b.stream, 1);
	spin_unlock(&p.b.path->lock);
	KUNIT_EXPECT_FALSE(test, busy);
	t_push_end(test, &p);
}

/* The answer to REVOKE does not come: the path ends, and with it the keys are safe. */
static void t_push_no_answer(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_take_back(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 1U);
	spin_lock(&p.b.path->lock);
	KUNIT_EXPECT_TRUE(test, dms_stream_grants_idle(p.b.stream, 1));
	KUNIT_EXPECT_EQ(test, p.b.path->err_class, 0U);
	p.b.stream->push->used -= 2 * msecs_to_jiffies(dms_param_peer_lost_ms) + 1;
	dms_stream_grants_idle(p.b.stream, 1);
	spin_unlock(&p.b.path->lock);
	KUNIT_EXPECT_EQ(test, p.b.path->err_class, (u32)DMASTREAM_ERR_PATH);
	t_works();
	flush_work(&p.b.path->kill_work);
	t_expect_result(test, &p.b, 1, -ECONNRESET);
	t_expect_result(test, &p.b, 2, -ECONNRESET);
	t_push_free(test, &p);
}

/* A message that is copied into a RECV which the peer could still write to. */
static void t_push_passed(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 1);
	t_send(test, &p.a, 100, 5);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 1U);
	KUNIT_EXPECT_EQ(test, p.b.nr_revoked, 1U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_settle(&p);
	t_expect_result(test, &p.b, 1, 100);
	t_expect_result(test, &p.a, 5, 100);
	t_push_end(test, &p);
}

/* The process that granted closes: its RECVs end when the peer has answered, not before. */
static void t_push_close(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_recv(test, &p.a, 100, 6);
	t_settle(&p);
	t_send(test, &p.b, 100, 4);	/* it is not acknowledged soon */
	t_close(test, &p.b, 0, 9);
	t_works();
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 1U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_settle(&p);
	t_expect_result(test, &p.b, 1, -ECANCELED);
	t_expect_result(test, &p.b, 2, -ECANCELED);
	t_expect_result(test, &p.b, 9, 0);
	t_push_end(test, &p);
}

/* ... and a message comes meanwhile: it is refused. */
static void t_push_close_message(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_send(test, &p.b, 100, 4);	/* without a credit: b stays in CLOSING */
	t_close(test, &p.b, 0, 9);
	t_works();
	t_send(test, &p.a, T_LONG, 5);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	t_settle(&p);
	t_expect_result(test, &p.a, 5, -EPIPE);
	t_expect_result(test, &p.b, 1, -ECANCELED);
	t_expect_result(test, &p.b, 2, -ECANCELED);
	t_recv(test, &p.a, 100, 6);
	t_settle(&p);
	t_expect_result(test, &p.b, 4, 100);
	t_expect_result(test, &p.b, 9, 0);
	t_push_end(test, &p);
}

static void t_push_abort(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 3);
	t_send(test, &p.a, T_LONG, 5);	/* crosses the RESET */
	t_close(test, &p.b, DMASTREAM_CLOSE_ABORT, 9);
	t_works();
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_RESET], 1U);
	KUNIT_EXPECT_EQ(test, hweight_long(p.b.open), 3U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	t_expect_result(test, &p.b, 1, -ECANCELED);
	t_expect_result(test, &p.b, 2, -ECANCELED);
	t_expect_result(test, &p.b, 3, -ECANCELED);
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 9));
	KUNIT_EXPECT_TRUE(test, t_done(&p.a, 5));
	t_push_end(test, &p);
}

static void t_push_peer_ends(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_send(test, &p.a, T_LONG, 5);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 9);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	KUNIT_EXPECT_TRUE(test, t_done(&p.a, 9));
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 1));
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 2));
	t_push_end(test, &p);
}

/* The peer shuts down: what was granted is not used, and the RECVs end in order. */
static void t_push_fin(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 3);
	t_send(test, &p.a, T_LONG, 5);
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.a.stream), 0);
	t_settle(&p);
	t_expect_result(test, &p.a, 5, T_LONG);
	t_expect_result(test, &p.b, 1, T_LONG);
	t_expect_result(test, &p.b, 2, 0);
	t_expect_result(test, &p.b, 3, 0);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_acked, 2U);
	KUNIT_EXPECT_EQ(test, p.b.eos, BIT_ULL(2) | BIT_ULL(3));
	t_push_end(test, &p);
}

/* It has shut down when it is asked for the grants: it answers, and nobody minds. */
static void t_push_fin_crosses_revoke(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_take_back(&p);
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.a.stream), 0);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_FIN], 1U);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_REVOKED], 1U);
	t_expect_result(test, &p.b, 1, 0);
	t_expect_result(test, &p.b, 2, 0);
	KUNIT_EXPECT_EQ(test, p.b.eos, BIT_ULL(1) | BIT_ULL(2));
	t_push_end(test, &p);
}

/* The peer closes in order: all RECVs are told so, whether they were granted or not. */
static void t_push_peer_closes(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_recv(test, &p.b, 100, 3);
	t_settle(&p);
	t_close(test, &p.a, 0, 9);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESET], 1U);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 3));
	t_settle(&p);
	t_expect_result(test, &p.b, 1, 0);
	t_expect_result(test, &p.b, 2, 0);
	t_expect_result(test, &p.b, 3, 0);
	KUNIT_EXPECT_EQ(test, p.b.eos, BIT_ULL(1) | BIT_ULL(2) | BIT_ULL(3));
	t_expect_result(test, &p.a, 9, 0);
	t_push_end(test, &p);
}

/* ... and then this side closes, before the grants have gone: it wants none any more. */
static void t_push_both_close(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_recv(test, &p.b, 100, 3);
	t_settle(&p);
	t_close(test, &p.a, 0, 9);
	t_works();
	t_carry(&p.a, &p.b);
	t_close(test, &p.b, 0, 8);
	t_expect_result(test, &p.b, 3, -EPIPE);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_settle(&p);
	t_expect_result(test, &p.b, 1, -EPIPE);
	t_expect_result(test, &p.b, 2, -EPIPE);
	KUNIT_EXPECT_EQ(test, p.b.eos, 0ULL);
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 8));
	t_expect_result(test, &p.a, 9, 0);
	t_push_end(test, &p);
}

static void t_push_path_lost(struct kunit *test)
{
	struct t_pair p;

	t_pair_push(test, &p);
	t_granted(test, &p, 2);
	t_send(test, &p.a, T_LONG, 5);
	t_carry(&p.a, &p.b);		/* one is being made invalid */
	KUNIT_EXPECT_EQ(test, p.b.nr_revoked, 1U);
	dms_path_kill(p.b.path, DMASTREAM_ERR_PATH, 1);
	t_works();
	flush_work(&p.b.path->kill_work);
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 1));
	t_expect_result(test, &p.b, 2, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, dms_grants_rx_busy(&p.b.stream->push->rx), 0U);
	t_push_free(test, &p);
}

/* What a sender may not say. */
static void t_push_hostile(struct kunit *test)
{
	struct dms_frame f = { .type = DMS_F_PUSHED, .seq = 1, .len = T_LONG };
	struct t_pair p;

	t_pair_push(test, &p);
	f.stream = p.b.stream->sid;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);	/* no grant */
	t_recv(test, &p.b, 8000, 4);	/* not one that is granted */
	t_granted(test, &p, 2);
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);
	f.seq = 2;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_SEQ);
	t_send(test, &p.a, 10, 5);
	t_settle(&p);
	f.len = T_CAP + 1;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);
	f.len = 0;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);
	f.type = DMS_F_REVOKED;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);	/* nobody asked */
	t_take_back(&p);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);	/* twice */
	f.type = DMS_F_PUSHED;
	f.len = T_LONG;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);	/* taken back */
	p.b.path->pushes = false;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_TYPE);
	p.b.path->pushes = true;
	t_push_end(test, &p);
}

/* What a receiver may not say. */
static void t_push_hostile_sender(struct kunit *test)
{
	struct dms_frame f = { .type = DMS_F_GRANT, .seq = 1, .len = T_LONG };
	struct t_pair p;

	t_pair_push(test, &p);
	f.stream = p.a.stream->sid;
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_PUSH);	/* without a credit */
	t_recv(test, &p.b, 100, 1);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_NONE);
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_PUSH);	/* twice */
	f.seq = 2;
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_PUSH);
	f.type = DMS_F_REVOKE;
	t_grab(&p.a);			/* its answer cannot leave */
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_NONE);
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_PUSH);
	f.type = DMS_F_GRANT;
	f.seq = 1;
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &f), DMS_RULE_PUSH);	/* before the answer */
	t_ungrab(&p.a);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_REVOKED], 1U);
	t_carry(&p.a, NULL);
	/* one that has not said that it grants */
	f.type = DMS_F_REVOKE;
	f.stream = p.b.stream->sid;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);
	f.type = DMS_F_GRANT;
	KUNIT_EXPECT_EQ(test, t_frame(p.b.path, &f), DMS_RULE_PUSH);
	KUNIT_EXPECT_FALSE(test, dms_push_flags_ok(p.a.path, DMS_FF_PUSH));
	KUNIT_EXPECT_TRUE(test, dms_push_flags_ok(p.a.path, DMS_FF_PUSH | DMS_FF_POSTED));
	p.a.path->pushes = false;
	KUNIT_EXPECT_FALSE(test, dms_push_flags_ok(p.a.path, DMS_FF_PUSH | DMS_FF_POSTED));
	p.a.path->pushes = true;
	t_push_end(test, &p);
}

#endif /* DMS_STREAM_PUSH_H */
