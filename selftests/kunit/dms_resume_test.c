// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: paths that get another carrier, with the failure at each place where something
 * can be lost: Documentation/recovery.rst.  What must hold after each: every message
 * came once, in order and whole, and each was told of once.
 *
 * Both carriers are fenced before either end has its next one; what was on its way then
 * is lost.  A packet that has arrived is answered at its sender, or not (keep_left).
 * A key is of its epoch: a READ or WRITE with one of an earlier epoch is a stray.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "dms_stream_bed.h"

#define T_EAGER_LEN	1000	/* gathered, so that packets ask for a completion */
#define T_SEG		4096	/* T_SEG_PAGES */

/* As it was before a case. */
static struct {
	u64	paths, streams, replayed;
	s64	keys, reqs;
} t_before;

static void t_count(void)
{
	t_before.paths = dms_stat_sum(DMS_STAT_PATHS_RESUMED);
	t_before.streams = dms_stat_sum(DMS_STAT_STREAMS_RESUMED);
	t_before.replayed = dms_stat_sum(DMS_STAT_MSGS_REPLAYED);
	t_before.keys = dms_gauge_sum(DMS_GAUGE_KEYS_OUT);
	t_before.reqs = dms_gauge_sum(DMS_GAUGE_REQS_IN_FLIGHT);
}

/* So many of each since then, over both ends. */
static void t_expect_resumed(struct kunit *test, u32 paths, u32 streams, u32 replayed)
{
	KUNIT_EXPECT_EQ(test, dms_stat_sum(DMS_STAT_PATHS_RESUMED) - t_before.paths, (u64)paths);
	KUNIT_EXPECT_EQ(test, dms_stat_sum(DMS_STAT_STREAMS_RESUMED) - t_before.streams,
			(u64)streams);
	KUNIT_EXPECT_EQ(test, dms_stat_sum(DMS_STAT_MSGS_REPLAYED) - t_before.replayed,
			(u64)replayed);
}

static void t_begin(struct kunit *test, struct t_pair *p)
{
	t_count();
	t_pair_new(test, p, T_KEYS_MAX);
}

static void t_begin_push(struct kunit *test, struct t_pair *p)
{
	t_count();
	t_pair_push(test, p);
}

/* Nothing is out, owed, charged or left over, but grants. */
static void t_expect_idle(struct kunit *test, struct t_end *e)
{
	struct dms_stream *s = e->stream;
	struct dms_path *path = e->path;

	t_expect_alive(test, e);
	KUNIT_EXPECT_EQ(test, e->stray, 0U);
	KUNIT_EXPECT_EQ(test, path->window.used, 0ULL);
	KUNIT_EXPECT_EQ(test, path->tx_out, 0U);
	KUNIT_EXPECT_EQ(test, path->reads_out, 0U);
	KUNIT_EXPECT_EQ(test, path->keys_out, path->grants);
	KUNIT_EXPECT_EQ(test, path->resumes_owed, 0U);
	KUNIT_EXPECT_FALSE(test, path->end_owed);
	KUNIT_EXPECT_EQ(test, (u32)s->resume, 0U);
	KUNIT_EXPECT_EQ(test, s->nr_keys, 0U);
	KUNIT_EXPECT_EQ(test, s->announced, 0U);
	KUNIT_EXPECT_EQ(test, s->tx_queued, 0U);
	KUNIT_EXPECT_EQ(test, s->rx_queued, 0U);
	KUNIT_EXPECT_TRUE(test, list_empty(&s->rtsq));
	KUNIT_EXPECT_PTR_EQ(test, s->pull, (struct dms_pull *)NULL);
}

static void t_end_case(struct kunit *test, struct t_pair *p)
{
	unsigned long next = HZ;

	/* what the last, quiet packets hold comes back with one that asks */
	dms_path_stuck(p->a.path, 1000 * HZ, &next);
	dms_path_stuck(p->b.path, 1000 * HZ, &next);
	t_settle(p);
	t_expect_idle(test, &p->a);
	t_expect_idle(test, &p->b);
	t_pair_free(test, p);
	KUNIT_EXPECT_EQ(test, t_dev.incast.used, 0ULL);
	KUNIT_EXPECT_EQ(test, t_dev.granted.used, 0ULL);
	KUNIT_EXPECT_EQ(test, dms_gauge_sum(DMS_GAUGE_KEYS_OUT), t_before.keys);
	KUNIT_EXPECT_EQ(test, dms_gauge_sum(DMS_GAUGE_REQS_IN_FLIGHT), t_before.reqs);
}

/* ---- carriers ---- */

/* It fails, and is fenced; the streams wait. */
static void t_fail(struct kunit *test, struct t_end *e)
{
	INIT_LIST_HEAD(&e->grabbed);	/* they are the carrier's */
	dms_path_kill(e->path, DMASTREAM_ERR_PATH, 1);
	flush_work(&e->path->kill_work);
	t_works();
	KUNIT_ASSERT_EQ(test, e->path->state, DMS_PATH_INIT);
	KUNIT_EXPECT_EQ(test, e->path->keys_out, 0U);
	KUNIT_EXPECT_TRUE(test, list_empty(&e->out));
}

/* The next one, in its epoch; dms_path_up() follows. */
static void t_next(struct kunit *test, struct t_end *e)
{
	mutex_lock(&e->session->lock);
	e->path->epoch++;
	mutex_unlock(&e->session->lock);
	t_carrier_new(test, e->path);
}

static void t_fail_both(struct kunit *test, struct t_pair *p)
{
	t_fail(test, &p->a);
	t_fail(test, &p->b);
}

static void t_next_both(struct kunit *test, struct t_pair *p)
{
	t_next(test, &p->a);
	t_next(test, &p->b);
	dms_path_up(p->a.path);
	dms_path_up(p->b.path);
	t_works();
}

/* What is on its way is lost; each end says RESUME, and nothing has arrived yet. */
static void t_new_carrier(struct kunit *test, struct t_pair *p)
{
	t_fail_both(test, p);
	t_next_both(test, p);
}

static void t_resume(struct kunit *test, struct t_pair *p)
{
	t_new_carrier(test, p);
	t_settle(p);
}

/* The first READs of those that were asked for succeed. */
static void t_land(struct kunit *test, struct t_end *e, u32 n)
{
	struct dms_read *rd;

	while (n--) {
		rd = t_pop_read(e);
		KUNIT_ASSERT_NOT_NULL(test, rd);
		t_read_done(e, rd, 0);
	}
	t_works();
}

/* Packets of @from do not arrive, what was to be written before them does. */
static void t_writes_alone(struct t_end *from, struct t_end *to)
{
	struct t_pkt *p;

	list_for_each_entry(p, &from->out, node)
		t_do_writes(p, to);
}

static void t_grab_keys(struct t_end *e, struct list_head *keys)
{
	spin_lock(&e->path->lock);
	list_splice_init(&e->path->keys_free, keys);
	spin_unlock(&e->path->lock);
}

static void t_ungrab_keys(struct t_end *e, struct list_head *keys)
{
	spin_lock(&e->path->lock);
	list_splice_init(keys, &e->path->keys_free);
	dms_path_wake(e->path, &e->path->wait_key);
	spin_unlock(&e->path->lock);
	dms_path_kick(e->path);
	t_works();
}

/* ---- contents ---- */

static u8 t_byte(u64 name, u32 i)
{
	return name * 37 + i * 7 + i / 256;
}

/* A SEND with contents of its own. */
static void t_say(struct kunit *test, struct t_end *e, u32 len, u64 name)
{
	u32 i;

	for (i = 0; i < len; i++)
		*t_pool_byte(e, name * T_PLACE + i) = t_byte(name, i);
	t_send(test, e, len, name);
}

static u32 t_bad_bytes(struct t_end *e, u64 off, u32 len, u64 name)
{
	u32 i, bad = 0;

	for (i = 0; i < len; i++)
		bad += *t_pool_byte(e, off + i) != t_byte(name, i);
	return bad;
}

/* RECV @to has got all of SEND @from, each was told of once, and nothing is wrong. */
#define t_expect_got(test, p, from, to, len)						\
	do {										\
		t_expect_result(test, &(p)->a, from, len);				\
		t_expect_result(test, &(p)->b, to, len);				\
		KUNIT_EXPECT_EQ(test, t_bad_bytes(&(p)->b, (to) * T_PLACE, len, from), 0U); \
	} while (0)

/* ---- eager messages ---- */

static void t_recvs(struct kunit *test, struct t_pair *p, u32 len, u32 n)
{
	u32 i;

	for (i = 1; i <= n; i++)
		t_recv(test, &p->b, len, i);
	t_settle(p);
}

static void t_eager_lost(struct kunit *test)
{
	struct t_pair p;
	u32 i;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 3);
	for (i = 5; i <= 7; i++)
		t_say(test, &p.a, T_EAGER_LEN, i);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 3U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 6U);
	t_expect_resumed(test, 2, 2, 3);
	for (i = 5; i <= 7; i++)
		t_expect_got(test, &p, i, i - 4, T_EAGER_LEN);
	t_end_case(test, &p);
}

/* The transport does not take the packet, which is what its carrier fails of. */
static void t_send_refused(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 1);
	p.a.refuse = true;
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_works();
	flush_work(&p.a.path->kill_work);
	KUNIT_ASSERT_EQ(test, p.a.path->state, DMS_PATH_INIT);
	p.a.refuse = false;
	t_fail(test, &p.b);
	t_next_both(test, &p);
	t_settle(&p);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_end_case(test, &p);
}

/* It is the process's already; the one behind it is lost, too. */
static void t_eager_update_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_EAGER_LEN, 2);
	p.a.keep_left = true;		/* nor does a hear that it left */
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_carry(&p.a, &p.b);
	t_expect_result(test, &p.b, 1, T_EAGER_LEN);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_say(test, &p.a, T_EAGER_LEN, 6);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 2U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 3U);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_got(test, &p, 5, 1, T_EAGER_LEN);
	t_expect_got(test, &p, 6, 2, T_EAGER_LEN);
	t_end_case(test, &p);
}

/* It is there, behind one that is being pulled, and so not delivered. */
static void t_eager_queued(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 2);
	p.b.keep_reads = true;
	t_say(test, &p.a, T_CAP, 5);
	t_say(test, &p.a, T_EAGER_LEN, 6);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_seq, 2U);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_acked, 0U);
	t_resume(test, &p);		/* the READs end with an error */
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_DATA], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	KUNIT_EXPECT_EQ(test, p.b.landed, (u32)T_CAP);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_CAP);
	t_expect_got(test, &p, 6, 2, T_EAGER_LEN);
	t_end_case(test, &p);
}

/* ---- pulled messages ---- */

static void t_rts_lost(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 1);
	t_say(test, &p.a, T_CAP, 5);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 2U);
	KUNIT_EXPECT_EQ(test, p.b.landed, (u32)T_CAP);
	t_expect_resumed(test, 2, 2, 1);
	t_expect_got(test, &p, 5, 1, T_CAP);
	t_end_case(test, &p);
}

static void t_key_lost(struct kunit *test)
{
	struct t_pair p;
	LIST_HEAD(keys);

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 1);
	t_grab_keys(&p.a, &keys);
	t_say(test, &p.a, T_CAP, 5);
	t_carry(&p.a, &p.b);
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_seq, 1U);
	t_ungrab_keys(&p.a, &keys);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_KEY], (u32)DMS_KEYS_AHEAD);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_KEY], DMS_KEYS_AHEAD + 4U);
	KUNIT_EXPECT_EQ(test, p.b.landed, (u32)T_CAP);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_CAP);
	t_end_case(test, &p);
}

/* So many of its four segments landed; it goes on behind them, and none is read again. */
static void t_landed_of(struct kunit *test, u32 segs, bool told)
{
	struct t_pair p;
	u32 i;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 1);
	p.b.keep_reads = true;
	t_say(test, &p.a, T_CAP, 5);
	t_carry(&p.a, &p.b);
	for (i = 0; i < segs; i++) {
		t_land(test, &p.b, 1);
		if (!told && i + 1 == segs)
			break;
		t_carry(&p.b, &p.a);
		t_carry(&p.a, &p.b);
	}
	KUNIT_EXPECT_EQ(test, p.b.landed, segs * T_SEG);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 1));
	t_fail_both(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.stream->pull->issued, segs * T_SEG);
	t_next_both(test, &p);
	t_settle(&p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	KUNIT_EXPECT_EQ(test, p.b.landed, (u32)T_CAP);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_CAP);
	t_end_case(test, &p);
}

static void t_half_landed(struct kunit *test)
{
	u32 segs;

	for (segs = 0; segs < 4; segs++)
		t_landed_of(test, segs, false);
}

static void t_half_told(struct kunit *test)
{
	u32 segs;

	for (segs = 1; segs < 4; segs++)
		t_landed_of(test, segs, true);
}

static void t_all_landed(struct kunit *test)
{
	struct t_pair p;
	u32 i, keys;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 1);
	t_say(test, &p.a, T_CAP, 5);
	for (i = 0; i < 20 && !t_done(&p.b, 1); i++) {
		t_carry(&p.b, &p.a);
		t_carry(&p.a, &p.b);
	}
	t_expect_result(test, &p.b, 1, T_CAP);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	keys = p.a.frames[DMS_F_KEY];
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 1U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_KEY], keys);
	KUNIT_EXPECT_EQ(test, p.b.landed, (u32)T_CAP);
	t_expect_resumed(test, 2, 2, 0);
	t_expect_got(test, &p, 5, 1, T_CAP);
	t_end_case(test, &p);
}

/* One has landed without a having heard of it, one is announced, one is lost. */
static void t_three_announced(struct kunit *test)
{
	struct t_pair p;
	u32 i;

	t_begin(test, &p);
	t_recvs(test, &p, T_CAP, 3);
	t_say(test, &p.a, T_CAP, 5);
	t_say(test, &p.a, T_CAP, 6);
	t_works();
	for (i = 0; i < 20 && !t_done(&p.b, 1); i++) {
		t_carry(&p.b, &p.a);
		t_carry(&p.a, &p.b);
	}
	t_expect_result(test, &p.b, 1, T_CAP);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	KUNIT_EXPECT_EQ(test, p.b.stream->rx_seq, 2U);
	t_say(test, &p.a, T_CAP, 7);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 3U);
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_RTS], 4U);
	KUNIT_EXPECT_EQ(test, p.b.landed, 3U * T_CAP);
	t_expect_resumed(test, 2, 2, 1);
	for (i = 5; i <= 7; i++)
		t_expect_got(test, &p, i, i - 4, T_CAP);
	t_end_case(test, &p);
}

/* ---- RECVs that are too short ---- */

static void t_nack(struct kunit *test, u32 len)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, 10, 1);
	t_say(test, &p.a, len, 5);
	t_carry(&p.a, &p.b);
	t_expect_result(test, &p.b, 1, -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 1U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 2U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK_ACK], 1U);
	t_expect_result(test, &p.a, 5, -EMSGSIZE);
	t_expect_result(test, &p.b, 1, -EMSGSIZE);
	t_expect_resumed(test, 2, 2, 0);
	t_end_case(test, &p);
}

static void t_nack_lost(struct kunit *test)
{
	t_nack(test, T_EAGER_LEN);
}

static void t_nack_lost_announced(struct kunit *test)
{
	t_nack(test, T_CAP);
}

/* UPDATE and NACK_ACK are lost. */
static void t_nack_heard(struct kunit *test)
{
	struct dms_frame nack = { .type = DMS_F_NACK, .seq = 1, .a = EMSGSIZE };
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, 10, 1);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_carry(&p.a, &p.b);
	nack.stream = p.a.stream->sid;
	KUNIT_EXPECT_EQ(test, t_frame(p.a.path, &nack), DMS_RULE_NONE);
	t_works();
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK_ACK], 1U);
	KUNIT_EXPECT_FALSE(test, t_done(&p.a, 5));
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 2U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK_ACK], 2U);
	KUNIT_EXPECT_FALSE(test, p.b.stream->nack_out);
	t_expect_result(test, &p.a, 5, -EMSGSIZE);
	t_expect_resumed(test, 2, 2, 0);
	t_end_case(test, &p);
}

/* The second waits until the first one is known to have been heard. */
static void t_nacks(struct kunit *test)
{
	struct t_pair p;

	t_begin(test, &p);
	t_recvs(test, &p, 10, 2);
	t_say(test, &p.a, T_EAGER_LEN, 5);
	t_say(test, &p.a, T_CAP, 6);
	t_carry(&p.a, &p.b);
	t_expect_result(test, &p.b, 1, -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 2));
	t_new_carrier(test, &p);
	t_carry(&p.b, &p.a);		/* heard; the answer is lost */
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK_ACK], 1U);
	t_expect_result(test, &p.a, 5, -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, t_done(&p.b, 2));
	t_resume(test, &p);
	KUNIT_EXPECT_EQ(test, p.b.frames[DMS_F_NACK], 4U);
	KUNIT_EXPECT_EQ(test, p.a.frames[DMS_F_NACK_ACK], 3U);
	t_expect_result(test, &p.a, 5, -EMSGSIZE);
	t_expect_result(test, &p.b, 1, -EMSGSIZE);
	t_expect_result(test, &p.a, 6, -EMSGSIZE);
	t_expect_result(test, &p.b, 2, -EMSGSIZE);
	t_expect_resumed(test, 4, 3, 0);
	t_end_case(test, &p);
}

#include "dms_resume_ends.h"
#include "dms_resume_more.h"
#include "dms_resume_skip.h"

static struct kunit_case t_cases[] = {
	KUNIT_CASE(t_eager_lost),
	KUNIT_CASE(t_send_refused),
	KUNIT_CASE(t_eager_update_lost),
	KUNIT_CASE(t_eager_queued),
	KUNIT_CASE(t_rts_lost),
	KUNIT_CASE(t_key_lost),
	KUNIT_CASE(t_half_landed),
	KUNIT_CASE(t_half_told),
	KUNIT_CASE(t_all_landed),
	KUNIT_CASE(t_three_announced),
	KUNIT_CASE(t_nack_lost),
	KUNIT_CASE(t_nack_lost_announced),
	KUNIT_CASE(t_nack_heard),
	KUNIT_CASE(t_nacks),
	KUNIT_CASE(t_fin_lost),
	KUNIT_CASE(t_fin_heard),
	KUNIT_CASE(t_reset_lost),
	KUNIT_CASE(t_reset_ack_lost),
	KUNIT_CASE(t_reset_done_lost),
	KUNIT_CASE(t_resets_cross),
	KUNIT_CASE(t_close_suspended),
	KUNIT_CASE(t_close_suspended_receiver),
	KUNIT_CASE(t_abort_suspended),
	KUNIT_CASE(t_refusals_lost),
	KUNIT_CASE(t_cancel_requeued),
	KUNIT_CASE(t_pushed_lost),
	KUNIT_CASE(t_pushed_ending),
	KUNIT_CASE(t_grant_lost),
	KUNIT_CASE(t_revoke_lost),
	KUNIT_CASE(t_revoked_lost),
	KUNIT_CASE(t_again),
	KUNIT_CASE(t_cq_full),
	KUNIT_CASE(t_recall_lost),
	KUNIT_CASE(t_return_lost),
	KUNIT_CASE(t_hostile),
	KUNIT_CASE(t_hostile_end),
	KUNIT_CASE(t_skip_half_landed),
	KUNIT_CASE(t_skip_late),
	KUNIT_CASE(t_skip_pushed),
	KUNIT_CASE(t_skip_unsent),
	{}
};

static int t_resume_init(struct kunit_suite *suite)
{
	t_resumes = true;
	return t_suite_init(suite);
}

static struct kunit_suite dms_resume_suite = {
	.name		= "dms_resume",
	.suite_init	= t_resume_init,
	.suite_exit	= t_suite_exit,
	.test_cases	= t_cases,
};

kunit_test_suite(dms_resume_suite);
