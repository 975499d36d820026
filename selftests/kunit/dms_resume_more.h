/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit: resume with direct push, with landing credits of a pooled stream, of a resume
 * that fails itself, and what a peer may not say of it.  The cases of dms_resume_test.c
 * that are about these; included there, once.
 */
#ifndef DMS_RESUME_MORE_H
#define DMS_RESUME_MORE_H

#define T_BALL		64	/* bytes of a landing of the pooled stream */
#define T_BALLS		64

/* ---- direct push ---- */

/* The bytes are there, and nobody says so: they come again. */
static void t_pushed_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin_push(test, &p);
	t_granted(test, &p, 2);
	t_say(test, &p.a, T_LONG, 5);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_PUSHED], 1U);
	t_writes_alone(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	t_resume(test, &p);
	t_expect_resumed(test, 2, 2, 1);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_PUSHED] + p.a.frames[DMS_F_RTS], 2U);
	t_expect_got(test, &p, 5, 1, T_LONG);
	t_say(test, &p.a, T_LONG, 6);
	t_settle(&p);
	t_expect_got(test, &p, 6, 2, T_LONG);
	t_end_case(test, &p);
}

/* It has come, and its key is being made invalid: the fence does that as well. */
static void t_pushed_ending(struct kunit *test)
{
	struct t_pair p;

	t_begin_push(test, &p);
	t_granted(test, &p, 1);
	t_say(test, &p.a, T_LONG, 5);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.nr_revoked, 1U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_fail_both(test, &p);
	t_expect_result(test, &p.b, 1, T_LONG);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_next_both(test, &p);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 0);
	KUNIT_EXPECT_EQ(test, p.b.writes, 1U);
	t_expect_got(test, &p, 5, 1, T_LONG);
	t_end_case(test, &p);
}

static void t_grant_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin_push(test, &p);
	t_recv(test, &p.b, T_CAP, 1);
	t_recv(test, &p.b, T_CAP, 2);
	t_works();
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_GRANT], 2U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_GRANT], 4U);
	KUNIT_EXPECT_EQ(test, p.b.path->grants, 2U);
	t_say(test, &p.a, T_LONG, 5);
	t_say(test, &p.a, T_LONG, 6);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_PUSHED], 2U);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_LONG);
	t_expect_got(test, &p, 6, 2, T_LONG);
	t_end_case(test, &p);
}

/* The answer is not waited for any more, and grants are given again. */
static void t_revoke(struct kunit *test, bool arrives)
{
	struct t_pair p;

	t_begin_push(test, &p);
	t_granted(test, &p, 2);
	t_take_back(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_REVOKE], 1U);
	if (arrives)
		t_carry(&p.b, &p.a);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_REVOKED], (u32)arrives);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_REVOKED], (u32)arrives);
	KUNIT_EXPECT_EQ(test, (u32)p.b.stream->push->rx.revoke, (u32)DMS_REVOKE_NONE);
	t_say(test, &p.a, T_LONG, 5);
	t_settle(&p);
	t_say(test, &p.a, T_LONG, 6);
	t_settle(&p);
	KUNIT_EXPECT_GE(test, p.a.frames[DMS_F_PUSHED], 1U);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_LONG);
	t_expect_got(test, &p, 6, 2, T_LONG);
	t_end_case(test, &p);
}

static void t_revoke_lost(struct kunit *test)
{
	t_revoke(test, false);
}

static void t_revoked_lost(struct kunit *test)
{
	t_revoke(test, true);
}

/* ---- a resume that fails, twice: one end has heard, then the other ---- */

static void t_again(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 4);
	p.b.keep_reads = true;
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_say(test, &p.a, T_CAP, 6);
	t_carry(&p.a, &p.b);
	t_land(test, &p.b, 1);
	t_say(test, &p.a, T_EAGER_LEN, 7);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 2U);

	t_new_carrier(test, &p);
	t_carry(&p.b, &p.a);
	t_expect_resumed(test, 2, 1, 1);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 3U);
	t_new_carrier(test, &p);
	t_carry(&p.a, &p.b);
	t_expect_resumed(test, 4, 2, 1);
	t_resume(test, &p);
	t_expect_resumed(test, 6, 4, 2);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	KUNIT_EXPECT_EQ(test, p.b.landed, (u32)T_CAP);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_expect_got(test, &p, 6, 2, T_CAP);
	t_expect_got(test, &p, 7, 3, T_EAGER_LEN);
	KUNIT_EXPECT_EQ(test, dms_stream_shutdown(p.a.stream), 0);
	t_settle(&p);
	t_expect_result(test, &p.b, 4, 0);
	t_end_case(test, &p);
}

/* ---- a pooled stream ---- */

/* b receives with a group of small landings, in order, and a has four credits. */
static void t_begin_pooled(struct kunit *test, struct t_pair *p)
{
	struct dmastream_group_create arg = { .entries = T_BALLS, .buf_len = T_BALL };
	struct dmastream_group_shared *sh;
	struct dmastream_landing *l;
	struct dms_group *group;
	struct dms_stream *s;
	u32 i;

	t_begin(test, p);
	group = dms_group_create(p->b.ctx, p->b.pool, &arg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(group));
	group->handle = t_publish(test, p->b.ctx, DMS_GROUPS, group);
	l = group->mem + arg.entries_off;
	for (i = 0; i < T_BALLS; i++)
		l[i] = (struct dmastream_landing){
			.cookie = i, .offset = i * T_BALL, .length = T_BALL,
		};
	sh = group->mem;
	/* release: with the acquire load of the tail in group_pending() */
	smp_store_release(&sh->tail, T_BALLS);
	s = p->b.stream;
	dms_group_get(group);		/* the stream's */
	KUNIT_ASSERT_EQ(test, dms_group_add_user(group, &s->small_user), 0);
	spin_lock(&s->lock);
	s->flags &= ~DMASTREAM_STREAM_POSTED;
	s->small = group;
	s->land_target = 4;
	dms_rx_replenish(s);
	spin_unlock(&s->lock);
	s = p->a.stream;
	spin_lock(&s->lock);
	dms_tx_peer(s, DMS_FF_NOLARGE, T_BALL);
	spin_unlock(&s->lock);
	dms_stream_kick(p->b.stream);
	t_settle(p);
	KUNIT_EXPECT_EQ(test, dms_land_tx_avail(&s->land_tx), 4U);
}

static void t_say_balls(struct kunit *test, struct t_pair *p, u32 first, u32 n)
{
	while (n--)
		t_say(test, &p->a, T_BALL, first++);
}

/* Each has come once, in some landing, and nothing else has. */
static void t_expect_balls(struct kunit *test, struct t_pair *p, u32 first, u32 n)
{
	u32 name, c, all = 0, found;

	t_reap(&p->b);
	for (c = 0; c < T_BALLS; c++)
		all += p->b.done[c];
	KUNIT_EXPECT_EQ(test, all, n);
	for (name = first; name < first + n; name++) {
		t_expect_result(test, &p->a, name, T_BALL);
		for (c = 0, found = 0; c < T_BALLS; c++)
			found += p->b.done[c] && !t_bad_bytes(&p->b, c * T_BALL, T_BALL, name);
		KUNIT_EXPECT_EQ(test, found, 1U);
	}
}

/* Both ends count the same. */
static void t_expect_credits(struct kunit *test, struct t_pair *p)
{
	KUNIT_EXPECT_EQ(test, p->a.stream->land_tx.used, p->b.stream->land_rx.used);
	KUNIT_EXPECT_EQ(test, p->a.stream->land_tx.limit, p->b.stream->land_rx.told);
	KUNIT_EXPECT_FALSE(test, p->b.stream->recall_out);
}

/* There is no room in the process's ring for what has arrived. */
static void t_cq_full(struct kunit *test)
{
	struct dms_stream *s;
	struct t_pair p;
	u32 n = 0, sent;

	t_begin_pooled(test, &p);
	s = p.b.stream;
	while (!dms_ring_reserve(p.b.ring, 1))
		n++;
	t_say_balls(test, &p, 5, 12);
	t_settle(&p);
	KUNIT_EXPECT_LT(test, s->rx_acked, s->rx_seq);
	KUNIT_EXPECT_NE(test, s->rx_acked, 0U);
	sent = p.a.frames[DMS_F_DATA];
	t_resume(test, &p);
	KUNIT_EXPECT_LT(test, s->rx_acked, s->rx_seq);
	dms_ring_unreserve(p.b.ring, n);
	t_works();
	t_settle(&p);
	KUNIT_EXPECT_GE(test, sent, 9U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 12U);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_balls(test, &p, 5, 12);
	t_expect_credits(test, &p);
	t_end_case(test, &p);
}

static void t_recall(struct t_pair *p)
{
	spin_lock(&p->b.stream->lock);
	dms_rx_recall(p->b.stream);
	spin_unlock(&p->b.stream->lock);
	dms_stream_kick(p->b.stream);
	t_works();
}

static void t_recall_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin_pooled(test, &p);
	t_recall(&p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_RECALL], 1U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_RECALL], 2U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RETURN], 1U);
	t_expect_credits(test, &p);
	t_say_balls(test, &p, 5, 12);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_balls(test, &p, 5, 12);
	t_expect_credits(test, &p);
	t_end_case(test, &p);
}

/* What a has returned is not returned, and it is recalled again. */
static void t_return_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin_pooled(test, &p);
	t_recall(&p);
	t_carry(&p.b, &p.a);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RETURN], 1U);
	KUNIT_EXPECT_EQ(test, p.a.stream->land_tx.used, 3U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_RECALL], 2U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RETURN], 2U);
	KUNIT_EXPECT_EQ(test, p.a.stream->land_tx.used, 3U);
	KUNIT_EXPECT_EQ(test, p.b.stream->land_rx.used, 3U);
	t_expect_credits(test, &p);
	t_say_balls(test, &p, 5, 12);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_balls(test, &p, 5, 12);
	t_expect_credits(test, &p);
	t_end_case(test, &p);
}

/* ---- what a peer may not say ---- */

/* It is refused, and the stream is as before. */
static void t_refused(struct kunit *test, struct t_end *e, const struct dms_frame *f,
		      enum dms_rule rule)
{
	struct dms_stream *s = e->stream;
	u8 awaited = s->resume & DMS_RESUME_AWAITED;
	u32 seq = s->tx_seq, acked = s->tx_acked, used = s->land_tx.used;

	KUNIT_EXPECT_EQ(test, (u32)t_frame(e->path, f), (u32)rule);
	t_works();
	KUNIT_EXPECT_EQ(test, (u32)(s->resume & DMS_RESUME_AWAITED), (u32)awaited);
	KUNIT_EXPECT_EQ(test, s->tx_seq, seq);
	KUNIT_EXPECT_EQ(test, s->tx_acked, acked);
	KUNIT_EXPECT_EQ(test, s->land_tx.used, used);
}

#define t_refused_with(test, e, good, member, value, rule)		\
	do {								\
		struct dms_frame bad = good;				\
									\
		bad.member = value;					\
		t_refused(test, e, &bad, rule);				\
	} while (0)

static void t_hostile(struct kunit *test)
{
	struct dms_frame f = { .type = DMS_F_RESUME }, end = { .type = DMS_F_RESUME_END };
	struct dms_frame done = { .type = DMS_F_RESET_DONE };
	struct dms_frame nack_ack = { .type = DMS_F_NACK_ACK, .seq = 1 };
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 2);
	p.b.keep_reads = true;
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_say(test, &p.a, T_CAP, 6);
	t_carry(&p.a, &p.b);
	t_land(test, &p.b, 1);
	/* what b will say, but that it has delivered one; that is no breach */
	f.stream = p.a.stream->sid;
	f.a = p.b.stream->sid;
	f.len = 2;
	f.b = 2;
	f.tag = 2 | (u64)T_SEG << 32;
	t_refused(test, &p.a, &f, DMS_RULE_STATE);	/* it is not suspended */
	t_refused(test, &p.a, &end, DMS_RULE_STATE);
	t_new_carrier(test, &p);
	t_refused_with(test, &p.a, f, a, f.a + 1, DMS_RULE_STATE);
	t_refused_with(test, &p.a, f, a, 0, DMS_RULE_STATE);
	t_refused_with(test, &p.a, f, seq, 3, DMS_RULE_ACK);	/* delivered, not arrived */
	t_refused_with(test, &p.a, f, len, 3, DMS_RULE_ACK);	/* not sent */
	t_refused_with(test, &p.a, f, tag, 3 | (u64)T_SEG << 32, DMS_RULE_GRANT);
	t_refused_with(test, &p.a, f, tag, (u32)-DMS_POSTED_CREDITS, DMS_RULE_GRANT);
	t_refused_with(test, &p.a, f, tag, 2 | (u64)(2 * T_SEG + 1) << 32, DMS_RULE_DONE);
	t_refused_with(test, &p.a, f, tag, 2 | (u64)T_CAP << 32, DMS_RULE_DONE);
	t_refused_with(test, &p.a, f, stream, 9999, DMS_RULE_NONE);	/* over here, perhaps */
	p.a.path->resumes = false;
	t_refused(test, &p.a, &f, DMS_RULE_TYPE);
	p.a.path->resumes = true;
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_expect_got(test, &p, 6, 2, T_CAP);
	t_refused(test, &p.a, &f, DMS_RULE_STATE);	/* twice */
	t_refused(test, &p.a, &end, DMS_RULE_STATE);
	t_refused_with(test, &p.a, f, stream, 9999, DMS_RULE_STREAM);
	done.stream = p.a.stream->sid;
	t_refused(test, &p.a, &done, DMS_RULE_STATE);
	nack_ack.stream = p.a.stream->sid;
	t_refused(test, &p.a, &nack_ack, DMS_RULE_ACK);
	t_end_case(test, &p);
}

/* RESUME_END without the RESUME of a stream that has not ended. */
static void t_hostile_end(struct kunit *test)
{
	struct dms_frame end = { .type = DMS_F_RESUME_END };
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_works();
	t_new_carrier(test, &p);
	KUNIT_EXPECT_EQ(test, (u32)t_frame(p.a.path, &end), (u32)DMS_RULE_STATE);
	KUNIT_EXPECT_EQ(test, (u32)t_frame(p.a.path, &end), (u32)DMS_RULE_STATE);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.stream->state, DMS_STREAM_OPEN);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_expect_resumed(test, 2, 0, 0);
	/* the session would end with it; no message is told to have arrived */
	t_pair_free(test, &p);
	KUNIT_EXPECT_EQ(test, dms_gauge_sum(DMS_GAUGE_REQS_IN_FLIGHT), t_before.reqs);
}

#endif /* DMS_RESUME_MORE_H */
