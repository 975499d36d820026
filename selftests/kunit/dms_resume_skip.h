/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by dms_resume_test.c: sends that are taken back while they are on the wire, with
 * SKIP and its answer, also over a carrier that fails.  Sends have the names 5 and up.
 */
#ifndef DMS_RESUME_SKIP_H
#define DMS_RESUME_SKIP_H

static void t_begin_skip(struct kunit *test, struct t_pair *p, bool push)
{
	if (push)
		t_begin_push(test, p);
	else
		t_begin(test, p);
	p->a.path->skips = true;
	p->b.path->skips = true;
}

/* One is taken back; SKIP has left. */
static void t_cancel(struct kunit *test, struct t_pair *p, u64 name)
{
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p->a.stream, name), 0);
	t_works();
	KUNIT_EXPECT_FALSE(test, t_done(&p->a, name));
}

#define t_expect_skips(test, p, said, answered)					\
	do {									\
		KUNIT_EXPECT_EQ(test, (p)->a.frames[DMS_F_SKIP], said);		\
		KUNIT_EXPECT_EQ(test, (p)->b.frames[DMS_F_SKIPPED], answered);	\
	} while (0)

/* Two messages have come: one whose READs take a while, and a short one behind it. */
static void t_two(struct kunit *test, struct t_pair *p, u32 recvs)
{
	t_begin_skip(test, p, false);
	t_recvs(test, p, T_CAP, recvs);
	p->b.keep_reads = true;
	t_say(test, &p->a, T_CAP, 5);
	t_say(test, &p->a, T_EAGER_LEN, 6);
	t_works();
	t_carry(&p->a, &p->b);
	KUNIT_EXPECT_EQ(test, p->b.stream->rx_queued, 2U);
	KUNIT_EXPECT_NE(test, p->b.path->reads_out, 0U);
}

/* The READs that are under way end. */
static void t_land_all(struct kunit *test, struct t_pair *p)
{
	while (p->b.path->reads_out)
		t_land(test, &p->b, 1);
}

/* The one behind is answered at once, though the first is not delivered; its RECV is kept. */
static void t_skip_behind(struct kunit *test)
{
	struct t_pair p;

	t_two(test, &p, 2);
	t_cancel(test, &p, 6);
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 6), -EALREADY);
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 7), -ENOENT);
	t_carry(&p.a, &p.b);
	t_expect_skips(test, &p, 1U, 1U);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_queued, 1U);
	t_carry(&p.b, &p.a);
	t_expect_result(test, &p.a, 6, -ECANCELED);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	p.b.keep_reads = false;
	t_settle(&p);
	t_expect_got(test, &p, 5, 1, T_CAP);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 2));
	t_say(test, &p.a, T_EAGER_LEN, 7);
	t_settle(&p);
	t_expect_got(test, &p, 7, 2, T_EAGER_LEN);
	t_expect_skips(test, &p, 1U, 1U);
	t_expect_result(test, &p.a, 6, -ECANCELED);
	t_end_case(test, &p);
}

/* One after the other, and the second one too late; what is behind them goes on, into the first RECV. */
static void t_skip_both(struct kunit *test)
{
	struct t_pair p;

	t_two(test, &p, 3);
	t_cancel(test, &p, 5);
	t_cancel(test, &p, 6);
	t_expect_skips(test, &p, 1U, 0U);
	t_carry(&p.a, &p.b);
	t_expect_skips(test, &p, 1U, 0U);
	t_land_all(test, &p);
	t_expect_skips(test, &p, 1U, 1U);
	t_say(test, &p.a, T_EAGER_LEN, 7);
	p.b.keep_reads = false;
	t_settle(&p);
	t_expect_skips(test, &p, 2U, 1U);
	t_expect_result(test, &p.a, 5, -ECANCELED);
	t_expect_got(test, &p, 6, 2, T_EAGER_LEN);
	t_expect_got(test, &p, 7, 1, T_EAGER_LEN);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 3));
	t_say(test, &p.a, T_CAP, 8);
	t_settle(&p);
	t_expect_got(test, &p, 8, 3, T_CAP);
	t_end_case(test, &p);
}

/* Keys stay as long as a READ may use them; the RECV is of use for the next message. */
static void t_skip_half_landed(struct kunit *test)
{
	struct t_pair p;

	t_begin_skip(test, &p, false);
	t_recvs(test, &p, T_CAP, 1);
	p.b.keep_reads = true;
	t_say(test, &p.a, T_CAP, 5);
	t_works();
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_GT(test, p.b.path->reads_out, 1U);
	t_land(test, &p.b, 1);
	t_cancel(test, &p, 5);
	t_carry(&p.a, &p.b);
	t_expect_skips(test, &p, 1U, 0U);
	KUNIT_EXPECT_EQ(test, p.a.stream->nr_keys, 2U);
	t_land_all(test, &p);
	t_expect_skips(test, &p, 1U, 1U);
	KUNIT_EXPECT_LT(test, p.b.landed, (u32)T_CAP);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	p.b.keep_reads = false;
	t_settle(&p);
	t_expect_result(test, &p.a, 5, -ECANCELED);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_say(test, &p.a, T_CAP, 6);
	t_settle(&p);
	t_expect_got(test, &p, 6, 1, T_CAP);
	t_end_case(test, &p);
}

/* It was delivered by then: the send says so. */
static void t_skip_late(struct kunit *test)
{
	struct t_pair p;

	t_begin_skip(test, &p, false);
	t_recvs(test, &p, T_CAP, 2);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_works();
	t_carry(&p.a, &p.b);
	t_cancel(test, &p, 5);
	t_settle(&p);
	t_expect_skips(test, &p, 1U, 0U);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_say(test, &p.a, T_EAGER_LEN, 6);
	t_settle(&p);
	t_expect_got(test, &p, 6, 2, T_EAGER_LEN);
	KUNIT_EXPECT_EQ(test, p.a.stream->ctl & DMS_CTL_SKIP, 0U);
	t_end_case(test, &p);
}

/* What was pushed is looked at when nobody can write there any more, and is delivered then. */
static void t_skip_pushed(struct kunit *test)
{
	struct t_pair p;

	t_begin_skip(test, &p, true);
	t_granted(test, &p, 1);
	t_say(test, &p.a, T_CAP, 5);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_PUSHED], 1U);
	t_cancel(test, &p, 5);
	t_settle(&p);
	t_expect_skips(test, &p, 1U, 0U);
	t_expect_got(test, &p, 5, 1, T_CAP);
	t_end_case(test, &p);
}

/* SKIP is lost, of one that has come: it is said again. */
static void t_skip_lost(struct kunit *test)
{
	struct t_pair p;

	t_two(test, &p, 2);
	t_cancel(test, &p, 6);
	t_resume(test, &p);
	t_expect_skips(test, &p, 2U, 1U);
	t_expect_result(test, &p.a, 6, -ECANCELED);
	t_expect_got(test, &p, 5, 1, T_CAP);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 2));
	t_expect_resumed(test, 2, 2, 0);
	t_end_case(test, &p);
}

/* The answer is lost, and RESUME counts the message as over: the answer comes first. */
static void t_skipped_lost(struct kunit *test)
{
	struct t_pair p;

	t_two(test, &p, 2);
	t_cancel(test, &p, 5);
	t_carry(&p.a, &p.b);
	t_land_all(test, &p);
	t_expect_skips(test, &p, 1U, 1U);
	t_expect_result(test, &p.b, 2, T_EAGER_LEN);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_acked, 2U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_resume(test, &p);
	t_expect_skips(test, &p, 1U, 2U);
	t_expect_result(test, &p.a, 5, -ECANCELED);
	t_expect_got(test, &p, 6, 2, T_EAGER_LEN);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_resume(test, &p);		/* it is known, and said again */
	t_expect_skips(test, &p, 1U, 3U);
	t_say(test, &p.a, T_CAP, 7);
	t_settle(&p);
	t_expect_got(test, &p, 7, 1, T_CAP);
	t_end_case(test, &p);
}

/* It did not come: it never was on the wire, and the next one has its number. */
static void t_skip_unsent(struct kunit *test)
{
	struct t_pair p;

	t_begin_skip(test, &p, false);
	t_recvs(test, &p, T_CAP, 2);
	t_say(test, &p.a, T_CAP, 5);
	t_say(test, &p.a, T_EAGER_LEN, 6);
	t_works();
	t_cancel(test, &p, 5);
	t_resume(test, &p);
	t_expect_skips(test, &p, 1U, 0U);
	t_expect_result(test, &p.a, 5, -ECANCELED);
	t_expect_got(test, &p, 6, 1, T_EAGER_LEN);
	t_expect_resumed(test, 2, 2, 1);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_seq, 1U);
	t_end_case(test, &p);
}

/* RESET counts it as over, too. */
static void t_skip_abort(struct kunit *test)
{
	struct t_pair p;

	t_two(test, &p, 2);
	t_cancel(test, &p, 5);
	t_grab(&p.b);			/* it cannot answer */
	t_carry(&p.a, &p.b);
	t_land_all(test, &p);
	t_expect_skips(test, &p, 1U, 0U);
	t_close(test, &p.b, DMASTREAM_CLOSE_ABORT, 3);
	t_ungrab(&p.b);
	p.b.keep_reads = false;
	t_settle(&p);
	t_expect_skips(test, &p, 1U, 1U);
	t_expect_result(test, &p.a, 5, -ECANCELED);
	t_expect_result(test, &p.a, 6, T_EAGER_LEN);
	t_expect_result(test, &p.b, 1, -ECANCELED);
	t_expect_result(test, &p.b, 2, T_EAGER_LEN);
	t_end_case(test, &p);
}

/* One that closes refuses all that is not delivered, and what has ended already among it. */
static void t_skip_close(struct kunit *test)
{
	struct t_pair p;

	t_two(test, &p, 2);
	t_cancel(test, &p, 6);
	t_carry(&p.a, &p.b);
	t_carry(&p.b, &p.a);
	t_expect_result(test, &p.a, 6, -ECANCELED);
	t_close(test, &p.b, 0, 3);
	p.b.keep_reads = false;
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 2U);
	t_expect_result(test, &p.a, 5, -EPIPE);
	t_expect_result(test, &p.a, 6, -ECANCELED);
	t_end_case(test, &p);
}

static void t_skip_hostile(struct kunit *test)
{
	struct dms_frame skip = { .type = DMS_F_SKIP, .seq = 2 };
	struct dms_frame skipped = { .type = DMS_F_SKIPPED, .seq = 1 };
	struct t_pair p;

	t_two(test, &p, 2);
	skip.stream = p.b.stream->sid;
	skipped.stream = p.a.stream->sid;
	t_refused_with(test, &p.b, skip, seq, 3, DMS_RULE_ACK);		/* has not come */
	t_refused(test, &p.a, &skipped, DMS_RULE_ACK);			/* was not asked */
	t_refused_with(test, &p.a, skipped, seq, 3, DMS_RULE_ACK);	/* was not sent */
	p.b.path->skips = false;
	t_refused(test, &p.b, &skip, DMS_RULE_TYPE);
	p.b.path->skips = true;
	t_cancel(test, &p, 6);
	t_grab(&p.b);
	t_carry(&p.a, &p.b);
	t_refused_with(test, &p.b, skip, seq, 1, DMS_RULE_ACK);		/* one is not answered */
	t_ungrab(&p.b);
	t_refused(test, &p.b, &skip, DMS_RULE_ACK);			/* twice */
	p.a.path->skips = false;
	KUNIT_EXPECT_EQ(test, dms_stream_cancel(p.a.stream, 5), -EALREADY);
	p.a.path->skips = true;
	p.b.keep_reads = false;
	t_settle(&p);
	t_expect_result(test, &p.a, 6, -ECANCELED);
	t_expect_got(test, &p, 5, 1, T_CAP);
	skipped.seq = 2;
	t_refused(test, &p.a, &skipped, DMS_RULE_ACK);			/* is over */
	t_end_case(test, &p);
}

#endif /* DMS_RESUME_SKIP_H */
