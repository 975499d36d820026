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

/* The READs that are under way end. */
static void t_land_all(struct kunit *test, struct t_pair *p)
{
	while (p->b.path->reads_out)
		t_land(test, &p->b, 1);
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

#endif /* DMS_RESUME_SKIP_H */
