// SPDX-License-Identifier: GPL-2.0-only
/* Deficit round robin. */
#include "dms_test.h"
#include "core/pick.h"

#define ORDER		12
#define ROUND		(16ULL << ORDER)	/* of weight 1, in 1/16 bytes */

TEST(sched_steps)
{
	static struct dms_sched q;
	struct dms_turn t;

	dms_sched_init(&q, ORDER);
	dms_turn_init(&t);
	EXPECT_FALSE(dms_turn_waits(&t));
	EXPECT_TRUE(!dms_sched_next(&q));
	EXPECT_TRUE(dms_sched_begin(&q, &t, false));	/* alone */
	EXPECT_FALSE(dms_turn_waits(&t));
	EXPECT_TRUE(dms_turn_may(&q, &t));
	dms_turn_charge(&t, 4095, 1);
	EXPECT_TRUE(dms_turn_may(&q, &t));
	dms_turn_charge(&t, 1, 1);
	EXPECT_FALSE(dms_turn_may(&q, &t));
	dms_sched_add(&q, &t);
	EXPECT_TRUE(dms_turn_waits(&t));
	EXPECT_EQ(q.nr, 1);
	EXPECT_TRUE(dms_sched_next(&q) == &t);
	EXPECT_FALSE(dms_turn_waits(&t));
	EXPECT_EQ(q.nr, 0);
	EXPECT_EQ(q.now, ROUND);
	EXPECT_TRUE(dms_turn_may(&q, &t));
	dms_turn_charge(&t, 0, 1);
	EXPECT_EQ(t.at, ROUND);
	/* alone, its debt is forgiven */
	dms_turn_charge(&t, 1 << 20, 1);
	EXPECT_FALSE(dms_turn_may(&q, &t));
	EXPECT_TRUE(dms_sched_begin(&q, &t, false));
	EXPECT_TRUE(dms_turn_may(&q, &t));
	EXPECT_EQ(q.now, 257 * ROUND);
}

TEST(sched_order)
{
	static struct dms_sched q;
	struct dms_turn t[5];
	u32 i;

	dms_sched_init(&q, ORDER);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		dms_turn_init(&t[i]);
	/* in order of their coming, in one round */
	for (i = 0; i < 3; i++)
		dms_sched_add(&q, &t[i]);
	EXPECT_FALSE(dms_sched_begin(&q, &t[3], false));
	EXPECT_EQ(q.nr, 4);
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(dms_sched_next(&q) == &t[i]);
	EXPECT_TRUE(!dms_sched_next(&q));
	/* who overdrew stands further on */
	dms_sched_add(&q, &t[4]);
	dms_turn_charge(&t[0], 3 * 4096, 1);
	dms_turn_charge(&t[1], 4096, 1);
	dms_turn_charge(&t[2], 2 * 4096 - 1, 1);
	for (i = 0; i < 3; i++)
		dms_sched_add(&q, &t[i]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[4]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[1]);
	EXPECT_EQ(q.now, ROUND);
	/* interrupted: the first again */
	dms_sched_again(&q, &t[1]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[1]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[2]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[0]);
	EXPECT_EQ(q.now, 3 * ROUND);
	/* who is late comes first, and in order, also when one of them was interrupted */
	dms_sched_add(&q, &t[0]);
	dms_sched_add(&q, &t[4]);
	dms_sched_add(&q, &t[3]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[4]);
	dms_sched_again(&q, &t[4]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[4]);
	EXPECT_TRUE(dms_turn_may(&q, &t[4]));
	EXPECT_TRUE(dms_sched_next(&q) == &t[3]);
	/* ... and is interrupted when it has caught up already: before those of the round */
	dms_turn_charge(&t[3], 3 * 4096, 1);
	EXPECT_TRUE(dms_turn_may(&q, &t[3]));
	dms_sched_again(&q, &t[3]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[3]);
	EXPECT_TRUE(dms_sched_next(&q) == &t[0]);
	EXPECT_EQ(q.nr, 0);
}

/* How much may be owed, and caught up with. */
TEST(sched_bounds)
{
	static struct dms_sched q;
	struct dms_turn a, b;

	dms_sched_init(&q, ORDER);
	dms_turn_init(&a);
	dms_turn_init(&b);
	q.now = 300 * ROUND;
	dms_sched_add(&q, &a);
	EXPECT_EQ(a.at, (300 - DMS_SCHED_LATE) * ROUND);
	b.at = (300 - DMS_SCHED_LATE) * ROUND + 1;
	EXPECT_FALSE(dms_sched_begin(&q, &b, false));
	EXPECT_EQ(b.at, (300 - DMS_SCHED_LATE) * ROUND + 1);
	EXPECT_TRUE(dms_sched_next(&q) == &a);
	EXPECT_TRUE(dms_sched_next(&q) == &b);
	EXPECT_EQ(q.now, 300 * ROUND);
	/* one that was idle */
	a.at = (300 - DMS_SCHED_LATE_IDLE) * ROUND - 1;
	EXPECT_TRUE(dms_sched_begin(&q, &a, true));
	EXPECT_EQ(a.at, (300 - DMS_SCHED_LATE_IDLE) * ROUND);
	EXPECT_TRUE(dms_sched_begin(&q, &a, true));
	EXPECT_EQ(a.at, (300 - DMS_SCHED_LATE_IDLE) * ROUND);
	a.at++;
	EXPECT_TRUE(dms_sched_begin(&q, &a, true));
	EXPECT_EQ(a.at, (300 - DMS_SCHED_LATE_IDLE) * ROUND + 1);
	q.now = 100 * ROUND;

	/* the longest debt that there is, and one more */
	a.at = q.now + ROUND;
	dms_sched_add(&q, &a);
	EXPECT_EQ(q.now, 101 * ROUND);	/* alone */
	b.at = q.now + (DMS_SCHED_ROUNDS - 1) * ROUND;
	dms_sched_add(&q, &b);
	EXPECT_EQ(b.at, q.now + (DMS_SCHED_ROUNDS - 1) * ROUND);
	EXPECT_TRUE(dms_sched_next(&q) == &a);
	EXPECT_TRUE(dms_sched_next(&q) == &b);
	EXPECT_EQ(q.now, 612 * ROUND);
	a.at = q.now;
	dms_sched_add(&q, &a);
	b.at = q.now + DMS_SCHED_ROUNDS * ROUND;
	dms_sched_add(&q, &b);
	EXPECT_EQ(b.at, q.now + (DMS_SCHED_ROUNDS - 1) * ROUND);
	EXPECT_TRUE(dms_sched_next(&q) == &a);
	EXPECT_TRUE(dms_sched_next(&q) == &b);

	/* U32_MAX bytes overflow nothing */
	dms_turn_charge(&a, U32_MAX, 1);
	EXPECT_EQ(a.at, 612 * ROUND + 16ULL * U32_MAX);

	/* the numbers go around */
	q.now = 0 - 2 * ROUND;
	a.at = q.now;
	b.at = q.now;
	dms_sched_add(&q, &a);
	dms_turn_charge(&b, 3 * 4096, 1);
	EXPECT_EQ(b.at, ROUND);
	dms_sched_add(&q, &b);
	EXPECT_TRUE(dms_sched_next(&q) == &a);
	EXPECT_TRUE(dms_sched_next(&q) == &b);
	EXPECT_EQ(q.now, ROUND);
	a.at = 0 - ROUND;		/* late */
	dms_sched_add(&q, &b);
	dms_sched_add(&q, &a);
	EXPECT_TRUE(dms_sched_next(&q) == &a);
	EXPECT_TRUE(dms_turn_may(&q, &a));
}

TEST(sched_weights)
{
	static const struct {
		u32 bytes, weight;
		u64 at;
	} rows[] = {
		{ 100, 1, 1600 },
		{ 100, 0, 1600 },		/* counts as 1 */
		{ 100, 2, 800 },
		{ 100, 3, 533 },
		{ 100, 15, 106 },
		{ 100, 16, 100 },
		{ 100, 17, 100 },
		{ 1, 16, 1 },
		{ 100, U32_MAX, 100 },
		{ U32_MAX, 16, U32_MAX },
		{ U32_MAX, 1, 16ULL * U32_MAX },
	};
	static const struct {
		u32 order, shift;
	} orders[] = {
		{ 0, 10 }, { 5, 10 }, { 6, 10 }, { 7, 11 }, { 12, 16 }, { 20, 24 }, { 21, 24 },
		{ U32_MAX, 24 },
	};
	static struct dms_sched q;
	struct dms_turn t;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_turn_init(&t);
		dms_turn_charge(&t, rows[i].bytes, rows[i].weight);
		EXPECT_EQ(t.at, rows[i].at);
	}
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		test_row(i);
		dms_sched_init(&q, orders[i].order);
		EXPECT_EQ(q.shift, orders[i].shift);
	}
}

#define SCHED_STREAMS	64

/*
 * A path with streams that always have something to send, served as kmod/mux.c serves
 * them: @room bytes of a window come back at a time.
 */
struct sched_path {
	struct dms_sched q;
	struct dms_turn	t[SCHED_STREAMS];
	u64		sent[SCHED_STREAMS];
	u32		min[SCHED_STREAMS];	/* messages of min to max bytes */
	u32		max[SCHED_STREAMS];
	u32		weight[SCHED_STREAMS];
	/* bytes that it may have out: then it waits for some, and comes late */
	u32		credit[SCHED_STREAMS];
	u32		out[SCHED_STREAMS];
};

static void sched_path_init(struct sched_path *p)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	dms_sched_init(&p->q, ORDER);
	for (i = 0; i < SCHED_STREAMS; i++) {
		dms_turn_init(&p->t[i]);
		p->weight[i] = 1;
		p->min[i] = 1;
		dms_sched_add(&p->q, &p->t[i]);
	}
}

/* A turn; false when the room is used up before its end. */
static bool sched_serve(struct sched_path *p, s64 *room)
{
	struct dms_turn *t = dms_sched_next(&p->q);
	u32 i, size;

	if (!t)
		return false;
	i = t - p->t;
	while (dms_turn_may(&p->q, t)) {
		if (*room <= 0) {
			dms_sched_again(&p->q, t);
			return false;
		}
		if (p->credit[i] && p->out[i] >= p->credit[i])
			return true;
		size = p->min[i] + test_random() % (p->max[i] - p->min[i] + 1);
		dms_turn_charge(t, size, p->weight[i]);
		p->out[i] += size;
		p->sent[i] += size;
		*room -= size;
	}
	dms_sched_add(&p->q, t);
	return true;
}

static void sched_run(struct sched_path *p, u64 total, u32 at_a_time)
{
	s64 room = 0;
	u64 sent;
	u32 i;

	for (sent = 0; sent < total; sent += at_a_time) {
		room += at_a_time;
		while (sched_serve(p, &room))
			;
		/* a round trip: the credits of those that had spent them come back */
		for (i = 0; i < SCHED_STREAMS; i++) {
			if (!p->credit[i] || dms_turn_waits(&p->t[i]))
				continue;
			p->out[i] = 0;
			if (dms_sched_begin(&p->q, &p->t[i], false))
				dms_sched_add(&p->q, &p->t[i]);
		}
	}
}

/*
 * R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness", DEC TR-301,
 * 1984: square of the sum over n times the sum of squares; here it is said
 * whether it is at least 0.99.
 */
static bool sched_jain_ok(const u64 *sent, u32 n)
{
	u64 sum = 0, squares = 0, v;
	u32 i;

	for (i = 0; i < n; i++) {
		v = sent[i] >> 10;
		sum += v;
		squares += v * v;
	}
	return sum && sum * sum * 100 >= (u64)n * squares * 99;
}

TEST(sched_jain)
{
	static const u32 most[] = { 65536, 64, 4096, 1000000 };
	static const u32 room[] = { 1 << 30, 8192, 1000, 300000 };
	static struct sched_path p;
	u32 row, i;

	test_seed(0x7a1b2c3d);
	for (row = 0; row < 2 * ARRAY_SIZE(room); row += TEST_STEP) {
		test_row(row);
		sched_path_init(&p);
		/* all alike, then from 64 bytes to a million */
		for (i = 0; i < SCHED_STREAMS; i++)
			p.max[i] = row % 2 ? most[i % ARRAY_SIZE(most)] : 65536;
		sched_run(&p, 1ULL << 30, room[row / 2]);
		EXPECT_TRUE(sched_jain_ok(p.sent, SCHED_STREAMS));
	}
	/* the measure itself: one of four gets half as much again */
	p.sent[0] = 1536 << 10;
	for (i = 1; i < 4; i++)
		p.sent[i] = 1024 << 10;
	EXPECT_FALSE(sched_jain_ok(p.sent, 4));
}

/*
 * What a stream can have out is bounded: 16 messages of 256 bytes until credits come, or
 * one message until it was pulled.  All get the same as long as what comes back at a
 * time is not more than that for each.
 */
TEST(sched_jain_credit)
{
	static const u32 sizes[] = { 256, 4096, 16384, 262144 };
	static struct sched_path p;
	u32 i;

	test_seed(0x31415926);
	sched_path_init(&p);
	for (i = 0; i < SCHED_STREAMS; i++) {
		p.min[i] = sizes[i % 4];
		p.max[i] = sizes[i % 4];
		p.credit[i] = i % 4 ? sizes[i % 4] : 16 * 256;
	}
	sched_run(&p, 1ULL << 28, 64 << 10);
	EXPECT_TRUE(sched_jain_ok(p.sent, SCHED_STREAMS));
}

TEST(sched_weights_hold)
{
	static const u32 most[] = { 65536, 64, 4096, 1000000 };
	static struct sched_path p;
	u64 by_weight[5], per;
	u32 row, i, w;

	test_seed(0x19283746);
	for (row = 0; row < 4; row += TEST_STEP) {
		test_row(row);
		sched_path_init(&p);
		for (i = 0; i < SCHED_STREAMS; i++) {
			p.weight[i] = 1U << i % 3;
			p.max[i] = row % 2 ? most[i % ARRAY_SIZE(most)] : 65536;
		}
		sched_run(&p, 1ULL << 31, row < 2 ? 1 << 30 : 10000);
		memset(by_weight, 0, sizeof(by_weight));
		for (i = 0; i < SCHED_STREAMS - 1; i++)	/* 21 of each */
			by_weight[p.weight[i]] += p.sent[i];
		per = by_weight[1] + by_weight[2] + by_weight[4];
		for (w = 1; w <= 4; w *= 2)	/* a share of w / 7, within 5 % */
			EXPECT_TRUE(by_weight[w] * 700 >= per * w * 95 &&
				    by_weight[w] * 700 <= per * w * 105);
	}
}

TESTSET(dms_core_pick,
	CASE(sched_steps),
	CASE(sched_order),
	CASE(sched_bounds),
	CASE(sched_weights),
	CASE(sched_jain),
	CASE(sched_jain_credit),
	CASE(sched_weights_hold));
