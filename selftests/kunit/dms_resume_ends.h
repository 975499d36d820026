/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: ends of streams whose path gets another carrier meanwhile.  The cases of
 * dms_resume_test.c that are about them; included there, once.
 */
#ifndef DMS_RESUME_ENDS_H
#define DMS_RESUME_ENDS_H

/* A message and FIN, and neither arrives. */
static void t_fin_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 2);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.a.stream), 0);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_FIN], 1U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_FIN], 2U);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_expect_result(test, &p.b, 2, 0);
	KUNIT_EXPECT_EQ(test, p.a.stream->tx_acked, 2U);
	t_end_case(test, &p);
}

/* Both arrive, and the UPDATE is lost. */
static void t_fin_heard(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 2);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.a.stream), 0);
	t_works();
	t_carry(&p.a, &p.b);
	t_expect_result(test, &p.b, 2, 0);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_FIN], 1U);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_expect_result(test, &p.b, 2, 0);
	KUNIT_EXPECT_EQ(test, p.a.stream->tx_acked, 2U);
	t_end_case(test, &p);
}

/* a aborts, and of what they say to each other so much arrives. */
static void t_expect_said(struct kunit *test, struct t_pair *p, u32 reset, u32 ack, u32 done)
{
	KUNIT_EXPECT_EQ(test, p->a.frames[DMS_F_RESET], reset);
	KUNIT_EXPECT_EQ(test, p->b.frames[DMS_F_RESET_ACK], ack);
	KUNIT_EXPECT_EQ(test, p->a.frames[DMS_F_RESET_DONE], done);
}

static void t_expect_ended(struct kunit *test, struct t_pair *p)
{
	KUNIT_EXPECT_TRUE(test, t_done(&p->a, 9));
	KUNIT_EXPECT_EQ(test, p->a.done[9], 1U);
	KUNIT_EXPECT_EQ(test, p->a.stream->state, DMS_STREAM_DEAD);
	KUNIT_EXPECT_TRUE(test, p->b.stream->ended);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->a.session->nr_streams), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->b.session->nr_streams), 0);
}

static void t_reset_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 9);
	t_works();
	t_expect_said(test, &p, 1, 0, 0);
	t_resume(test, &p);
	t_expect_said(test, &p, 2, 1, 1);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_result(test, &p.a, 5, -EPIPE);
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 1));
	KUNIT_EXPECT_LT(test, p.b.result[1], 0);
	t_expect_ended(test, &p);
	t_end_case(test, &p);
}

static void t_reset_ack_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 9);
	t_works();
	t_carry(&p.a, &p.b);
	t_expect_said(test, &p, 1, 1, 0);
	t_resume(test, &p);
	t_expect_said(test, &p, 2, 2, 1);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_ended(test, &p);
	t_end_case(test, &p);
}

/* a's stream is gone when the next carrier comes: RESUME_END tells b. */
static void t_reset_done_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 9);
	t_works();
	t_carry(&p.a, &p.b);
	t_carry(&p.b, &p.a);
	t_expect_said(test, &p, 1, 1, 1);
	KUNIT_EXPECT_TRUE(test, t_done(&p.a, 9));
	KUNIT_EXPECT_FALSE(test, p.b.stream->ended);
	t_new_carrier(test, &p);
	t_carry(&p.b, &p.a);		/* of a stream that is not there */
	KUNIT_EXPECT_FALSE(test, p.b.stream->ended);
	t_settle(&p);
	t_expect_said(test, &p, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESUME], 0U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESUME_END], 1U);
	t_expect_resumed(test, 2, 0, 0);
	t_expect_ended(test, &p);
	t_end_case(test, &p);
}

/* Each has said RESET; bit 0: a's arrives, bit 1: b's. */
static void t_resets_cross_of(struct kunit *test, u32 arrive)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 9);
	t_close(test, &p.b, DMASTREAM_CLOSE_ABORT, 9);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RESET], 1U);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_RESET], 1U);
	if (arrive & 1)
		t_carry(&p.a, &p.b);
	if (arrive & 2)
		t_carry(&p.b, &p.a);
	t_resume(test, &p);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_ended(test, &p);
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 9));
	KUNIT_EXPECT_EQ(test, p.b.done[9], 1U);
	KUNIT_EXPECT_EQ(test, p.b.stream->state, DMS_STREAM_DEAD);
	t_end_case(test, &p);
}

static void t_resets_cross(struct kunit *test)
{
	u32 arrive;

	for (arrive = 0; arrive < 4; arrive++)
		t_resets_cross_of(test, arrive);
}

/* ---- while there is no carrier ---- */

static void t_close_suspended(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 2);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_works();
	t_fail_both(test, &p);
	t_close(test, &p.a, 0, 9);
	t_works();
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 9));
	t_next_both(test, &p);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_expect_result(test, &p.a, 9, 0);
	t_expect_result(test, &p.b, 2, 0);
	t_expect_ended(test, &p);
	t_end_case(test, &p);
}

/* What has arrived and is not delivered is refused, in the next epoch. */
static void t_close_suspended_receiver(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 2);
	p.b.keep_reads = true;
	t_say(test, &p.a, T_CAP, 5);
	t_say(test, &p.a, T_EAGER_LEN, 6);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_seq, 2U);
	t_fail_both(test, &p);
	t_close(test, &p.b, 0, 9);
	t_works();
	t_next_both(test, &p);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_result(test, &p.a, 5, -EPIPE);
	t_expect_result(test, &p.a, 6, -EPIPE);
	t_expect_result(test, &p.b, 1, -ECANCELED);
	t_expect_result(test, &p.b, 2, -ECANCELED);
	t_expect_result(test, &p.b, 9, 0);
	KUNIT_EXPECT_EQ(test, p.b.landed, 0U);
	t_end_case(test, &p);
}

static void t_abort_suspended(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_works();
	t_fail_both(test, &p);
	t_close(test, &p.a, DMASTREAM_CLOSE_ABORT, 9);
	t_works();
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 9));
	t_next_both(test, &p);
	t_settle(&p);
	t_expect_said(test, &p, 1, 1, 1);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_result(test, &p.a, 5, -EPIPE);
	KUNIT_EXPECT_TRUE(test, t_done(&p.b, 1));
	KUNIT_EXPECT_LT(test, p.b.result[1], 0);
	t_expect_ended(test, &p);
	t_end_case(test, &p);
}

/* a has closed and refuses what comes; the refusals are lost, and made again. */
static void t_refusals_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recv(test, &p.a, 1000, 1);
	t_recv(test, &p.a, 1000, 2);
	t_recv(test, &p.b, 1000, 1);
	t_settle(&p);
	t_say(test, &p.a, 500, 3);
	t_close(test, &p.a, 0, 4);
	t_say(test, &p.b, 300, 5);
	t_say(test, &p.b, 300, 6);
	t_works();
	t_carry(&p.b, &p.a);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK], 2U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK], 4U);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_result(test, &p.b, 5, -EPIPE);
	t_expect_result(test, &p.b, 6, -EPIPE);
	t_expect_got(test, &p, 3, 1, 500);
	t_expect_result(test, &p.a, 4, 0);
	t_expect_result(test, &p.a, 1, -ECANCELED);
	t_expect_result(test, &p.a, 2, -ECANCELED);
	t_end_case(test, &p);
}

/* It did not arrive and has not left again: the process may take it back. */
static void t_cancel_requeued(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 2);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_say(test, &p.a, T_EAGER_LEN, 6);
	t_works();
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 5), -EALREADY);
	t_fail_both(test, &p);
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 5), -EALREADY);
	t_next(test, &p.a);
	t_next(test, &p.b);
	t_grab(&p.a);			/* a hears b's RESUME and cannot say its own */
	dms_path_up(p.a.path);
	dms_path_up(p.b.path);
	t_works();
	t_carry(&p.b, &p.a);
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 5), 0);
	t_expect_result(test, &p.a, 5, -ECANCELED);
	t_ungrab(&p.a);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 2);
	t_expect_got(test, &p, 6, 1, T_EAGER_LEN);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 2));
	t_expect_result(test, &p.a, 5, -ECANCELED);
	t_end_case(test, &p);
}

#endif /* DMS_RESUME_ENDS_H */
