// SPDX-License-Identifier: GPL-2.0-only
/* Deficit round robin. */
#include "dms_test.h"
#include "core/pick.h"

TEST(drr_steps)
{
	struct dms_drr d;

	dms_drr_init(&d);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100, 1);
	EXPECT_EQ(d.deficit, 100);
	EXPECT_TRUE(dms_drr_may(&d));
	dms_drr_charge(&d, 99);
	EXPECT_TRUE(dms_drr_may(&d));
	dms_drr_charge(&d, 1);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100, 1);
	dms_drr_charge(&d, 350);	/* overdrawn: the next two turns are paid already */
	EXPECT_EQ(d.deficit, -250);
	dms_drr_turn(&d, 100, 1);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100, 1);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100, 1);
	EXPECT_TRUE(dms_drr_may(&d));
	EXPECT_EQ(d.deficit, 50);
	dms_drr_charge(&d, 0);
	EXPECT_EQ(d.deficit, 50);
}

TEST(drr_bounds)
{
	struct dms_drr d;
	u32 i;

	/* turns that were not used do not pile up */
	dms_drr_init(&d);
	for (i = 0; i < 10; i++)
		dms_drr_turn(&d, 100, 1);
	EXPECT_EQ(d.deficit, 100);
	/* an interrupted turn goes on, and is not filled up again */
	dms_drr_charge(&d, 60);
	dms_drr_turn(&d, 100, 1);
	EXPECT_EQ(d.deficit, 40);
	dms_drr_charge(&d, 39);
	dms_drr_turn(&d, 100, 1);
	EXPECT_EQ(d.deficit, 1);
	dms_drr_charge(&d, 1);
	dms_drr_turn(&d, 100, 1);
	EXPECT_EQ(d.deficit, 100);
	/* what is left when a stream goes idle is lost; but a debt stays */
	dms_drr_idle(&d);
	EXPECT_EQ(d.deficit, 0);
	dms_drr_charge(&d, 10);
	dms_drr_idle(&d);
	EXPECT_EQ(d.deficit, -10);

	dms_drr_charge(&d, U32_MAX);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);
	dms_drr_charge(&d, U32_MAX);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);
	dms_drr_turn(&d, 0, 1);		/* comes to an end even so */
	EXPECT_EQ(d.deficit, 1 - DMS_DRR_DEBT_MAX);
	dms_drr_charge(&d, 1);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);
	dms_drr_charge(&d, 1);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);

	dms_drr_init(&d);
	dms_drr_charge(&d, DMS_DRR_DEBT_MAX - 1);
	EXPECT_EQ(d.deficit, 1 - DMS_DRR_DEBT_MAX);

	dms_drr_init(&d);
	dms_drr_turn(&d, U32_MAX, 1);
	EXPECT_EQ(d.deficit, DMS_DRR_QUANTUM_MAX);
	dms_drr_init(&d);
	dms_drr_turn(&d, 0x80000000, 1);
	EXPECT_EQ(d.deficit, DMS_DRR_QUANTUM_MAX);
	dms_drr_init(&d);
	dms_drr_turn(&d, DMS_DRR_QUANTUM_MAX - 1, 1);
	EXPECT_EQ(d.deficit, DMS_DRR_QUANTUM_MAX - 1);
}

/*
 * Streams that always have something to send get the same, but for one turn
 * and one message each, whatever the sizes of their messages are.
 */
TEST(drr_is_fair)
{
	static const u32 sizes[] = { 64, 1000, 8192, 65536 };
	u64 sent[ARRAY_SIZE(sizes)] = { 0 };
	struct dms_drr d[ARRAY_SIZE(sizes)];
	const u32 quantum = 8192;
	u32 round, i, size;
	s64 diff;

	test_seed(0xdecade01);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		dms_drr_init(&d[i]);
	for (round = 1; round <= 500; round++) {
		test_row(round);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			dms_drr_turn(&d[i], quantum, 1);
			while (dms_drr_may(&d[i])) {
				size = 1 + test_random() % sizes[i];
				dms_drr_charge(&d[i], size);
				sent[i] += size;
			}
		}
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			diff = (s64)sent[i] - (s64)round * quantum;
			EXPECT_TRUE(diff >= 0 && diff < sizes[i]);
		}
	}
}

TEST(drr_weights)
{
	static const struct {
		u32 quantum, weight;
		s32 turn;
	} rows[] = {
		{ 100, 1, 100 },
		{ 100, 0, 100 },		/* counts as 1 */
		{ 100, 2, 200 },
		{ 100, 15, 1500 },
		{ 100, 16, 1600 },
		{ 100, 17, 1600 },
		{ 100, U32_MAX, 1600 },
		{ 0, 4, 4 },
		{ U32_MAX, 16, 16 * DMS_DRR_QUANTUM_MAX },
		{ U32_MAX, U32_MAX, 16 * DMS_DRR_QUANTUM_MAX },
	};
	struct dms_drr d;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_drr_init(&d);
		dms_drr_turn(&d, rows[i].quantum, rows[i].weight);
		EXPECT_EQ(d.deficit, rows[i].turn);
	}
}

#define DRR_STREAMS	64
#define DRR_QUANTUM	65536

/*
 * A path with streams that always have something to send, served as kmod/mux.c
 * serves them: the ready list is a ring of numbers.  @room bytes of a window come
 * back at a time; whoever finds none waits, and all that wait are ready again, in
 * their order, when there is some.
 */
struct drr_path {
	struct dms_drr	d[DRR_STREAMS];
	u64		sent[DRR_STREAMS];
	u32		max[DRR_STREAMS];	/* messages of 1 to max bytes */
	u32		weight[DRR_STREAMS];
	u32		order[DRR_STREAMS];	/* numbers of streams, next one first */
};

static void drr_path_init(struct drr_path *p)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < DRR_STREAMS; i++) {
		dms_drr_init(&p->d[i]);
		p->order[i] = i;
		p->weight[i] = 1;
	}
}

/* The turn of the first; true when it is over, false when the room is used up. */
static bool drr_serve(struct drr_path *p, s64 *room)
{
	u32 i = p->order[0], size;

	dms_drr_turn(&p->d[i], DRR_QUANTUM, p->weight[i]);
	while (dms_drr_may(&p->d[i])) {
		if (*room <= 0)
			return false;
		size = 1 + test_random() % p->max[i];
		dms_drr_charge(&p->d[i], size);
		p->sent[i] += size;
		*room -= size;
	}
	return true;
}

static void drr_run(struct drr_path *p, u64 total, u32 at_a_time)
{
	s64 room = 0;
	u64 sent;
	u32 first;

	for (sent = 0; sent < total; sent += at_a_time) {
		room += at_a_time;
		while (drr_serve(p, &room)) {
			first = p->order[0];
			memmove(&p->order[0], &p->order[1],
				(DRR_STREAMS - 1) * sizeof(p->order[0]));
			p->order[DRR_STREAMS - 1] = first;
		}
	}
}

/*
 * R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness", DEC TR-301,
 * 1984: square of the sum over n times the sum of squares; here it is said
 * whether it is at least 0.99.
 */
static bool drr_jain_ok(const u64 *sent, u32 n)
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

TEST(drr_jain)
{
	static const u32 most[] = { 65536, 64, 4096, 1000000 };
	static const u32 room[] = { 1 << 30, 8192, 1000, 300000 };
	static struct drr_path p;
	u32 row, i;

	test_seed(0x7a1b2c3d);
	for (row = 0; row < 2 * ARRAY_SIZE(room); row++) {
		test_row(row);
		drr_path_init(&p);
		/* all alike, then from 64 bytes to a million */
		for (i = 0; i < DRR_STREAMS; i++)
			p.max[i] = row % 2 ? most[i % ARRAY_SIZE(most)] : 65536;
		drr_run(&p, 1ULL << 30, room[row / 2]);
		EXPECT_TRUE(drr_jain_ok(p.sent, DRR_STREAMS));
	}
	/* the measure itself: one of four gets half as much again */
	p.sent[0] = 1536 << 10;
	for (i = 1; i < 4; i++)
		p.sent[i] = 1024 << 10;
	EXPECT_FALSE(drr_jain_ok(p.sent, 4));
}

TEST(drr_weights_hold)
{
	static const u32 most[] = { 65536, 64, 4096, 1000000 };
	static struct drr_path p;
	u64 by_weight[5], per;
	u32 row, i, w;

	test_seed(0x19283746);
	for (row = 0; row < 4; row++) {
		test_row(row);
		drr_path_init(&p);
		for (i = 0; i < DRR_STREAMS; i++) {
			p.weight[i] = 1U << i % 3;
			p.max[i] = row % 2 ? most[i % ARRAY_SIZE(most)] : 65536;
		}
		drr_run(&p, 1ULL << 31, row < 2 ? 1 << 30 : 10000);
		memset(by_weight, 0, sizeof(by_weight));
		for (i = 0; i < DRR_STREAMS - 1; i++)	/* 21 of each */
			by_weight[p.weight[i]] += p.sent[i];
		per = by_weight[1] + by_weight[2] + by_weight[4];
		for (w = 1; w <= 4; w *= 2)	/* a share of w / 7, within 5 % */
			EXPECT_TRUE(by_weight[w] * 700 >= per * w * 95 &&
				    by_weight[w] * 700 <= per * w * 105);
	}
}

TESTSET(dms_core_pick,
	CASE(drr_steps),
	CASE(drr_bounds),
	CASE(drr_is_fair),
	CASE(drr_weights),
	CASE(drr_jain),
	CASE(drr_weights_hold));
