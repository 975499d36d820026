// SPDX-License-Identifier: GPL-2.0-only
/* The order of pulls. */
#include "dms_test.h"
#include "core/pull.h"
#include "core/window.h"

#define PULL_AGE	1000000ULL

TEST(pullq_classes)
{
	static const struct {
		u32 left, class;
	} rows[] = {
		{ 0, 0 }, { 1, 0 }, { 65536, 0 }, { 65537, 1 }, { 131072, 1 },
		{ 131073, 2 }, { 1 << 20, 4 }, { (1 << 20) + 1, 5 },
		{ 1 << 30, 14 }, { (1 << 30) + 1, 15 }, { 1U << 31, 15 },
		{ (1U << 31) + 1, 15 }, { U32_MAX, 15 },
	};
	struct dms_pullq_node n;
	struct dms_pullq q;
	u32 i;

	dms_pullq_init(&q, PULL_AGE);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_pullq_node_init(&n);
		EXPECT_FALSE(dms_pullq_waits(&n));
		dms_pullq_add(&q, &n, rows[i].left, 1, 0);
		EXPECT_TRUE(dms_pullq_waits(&n));
		EXPECT_EQ(n.class, rows[i].class);
		EXPECT_EQ(q.nr, 1);
		dms_pullq_del(&q, &n);
		EXPECT_FALSE(dms_pullq_waits(&n));
		EXPECT_EQ(q.nr, 0);
	}
}

TEST(pullq_short_first)
{
	static const u32 left[] = { 1 << 20, 4096, 1 << 30, 65536, 200000, 100 };
	static const u32 order[] = { 1, 3, 5, 4, 0, 2 };	/* a class keeps its order */
	struct dms_pullq_node n[ARRAY_SIZE(left)];
	struct dms_window budget;
	struct dms_pullq q;
	u32 i;

	dms_pullq_init(&q, PULL_AGE);
	dms_window_init(&budget, 1000);
	EXPECT_TRUE(!dms_pullq_grant(&q, &budget, 0));
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		dms_pullq_node_init(&n[i]);
		dms_pullq_add(&q, &n[i], left[i], 100 + i, 0);
		dms_pullq_add(&q, &n[i], 1, 1, 0);	/* waits already */
	}
	EXPECT_EQ(q.nr, ARRAY_SIZE(left));
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		test_row(i);
		EXPECT_TRUE(dms_pullq_grant(&q, &budget, 0) == &n[order[i]]);
		EXPECT_EQ(n[order[i]].charge, 100 + order[i]);
		EXPECT_FALSE(dms_pullq_waits(&n[order[i]]));
	}
	EXPECT_EQ(budget.used, 615);
	EXPECT_EQ(q.nr, 0);
	EXPECT_TRUE(!dms_pullq_grant(&q, &budget, 0));
	dms_pullq_del(&q, &n[0]);		/* does not wait: nothing happens */
	EXPECT_EQ(q.nr, 0);
}

/* Nobody goes past one that finds no room, and a piece larger than all is alone. */
TEST(pullq_room)
{
	struct dms_pullq_node large, small, late;
	struct dms_window budget;
	struct dms_pullq q;

	dms_pullq_init(&q, PULL_AGE);
	dms_window_init(&budget, 1000);
	dms_pullq_node_init(&large);
	dms_pullq_node_init(&small);
	dms_pullq_node_init(&late);
	dms_pullq_add(&q, &small, 100, 100, 0);
	EXPECT_TRUE(dms_pullq_grant(&q, &budget, 0) == &small);
	dms_pullq_add(&q, &large, 100, 5000, 0);
	dms_pullq_add(&q, &late, 100, 1, 0);
	EXPECT_TRUE(!dms_pullq_grant(&q, &budget, 0));
	EXPECT_EQ(budget.used, 100);
	EXPECT_EQ(large.charge, 5000);
	dms_window_put(&budget, small.charge);
	EXPECT_TRUE(dms_pullq_grant(&q, &budget, 0) == &large);
	EXPECT_EQ(large.charge, 1000);		/* the bound alone */
	EXPECT_TRUE(!dms_pullq_grant(&q, &budget, 0));
	dms_window_put(&budget, large.charge);
	EXPECT_TRUE(dms_pullq_grant(&q, &budget, 0) == &late);
	EXPECT_EQ(budget.high, 1000);

	dms_window_init(&budget, 0);		/* no bound */
	dms_pullq_add(&q, &large, U32_MAX, U32_MAX, 0);
	EXPECT_TRUE(dms_pullq_grant(&q, &budget, 0) == &large);
	EXPECT_EQ(large.charge, 0);
}

/* One class for each age, not more at a call; then before what came later. */
TEST(pullq_ages)
{
	struct dms_pullq_node old, fresh;
	struct dms_window none;
	struct dms_pullq q;
	u64 now = 0;
	u32 class;

	dms_pullq_init(&q, PULL_AGE);
	dms_window_init(&none, 1);
	EXPECT_TRUE(dms_window_take(&none, 1));
	dms_pullq_node_init(&old);
	dms_pullq_node_init(&fresh);
	dms_pullq_add(&q, &old, U32_MAX, 1, now);
	for (class = 15; class; class--) {
		test_row(class);
		now += PULL_AGE - 1;
		dms_pullq_grant(&q, &none, now);
		EXPECT_EQ(old.class, class);
		now++;
		dms_pullq_grant(&q, &none, now);
		EXPECT_EQ(old.class, class - 1);
		EXPECT_TRUE(dms_link_empty(&q.class[class]));
		EXPECT_FALSE(dms_link_empty(&q.class[class - 1]));
		dms_pullq_grant(&q, &none, now);
		EXPECT_EQ(old.class, class - 1);
	}
	EXPECT_EQ(q.aged, 15);
	dms_pullq_add(&q, &fresh, 1, 1, now);
	now += 100 * PULL_AGE;
	dms_window_put(&none, 1);
	EXPECT_TRUE(dms_pullq_grant(&q, &none, now) == &old);
	EXPECT_EQ(old.class, 0);
}

TEST(pullq_clock_back)
{
	struct dms_pullq_node n;
	struct dms_window none;
	struct dms_pullq q;

	dms_pullq_init(&q, PULL_AGE);
	dms_window_init(&none, 1);
	EXPECT_TRUE(dms_window_take(&none, 1));
	dms_pullq_node_init(&n);
	dms_pullq_add(&q, &n, 1 << 20, 1, 1ULL << 50);
	dms_pullq_grant(&q, &none, 5);		/* waits from 5 on */
	EXPECT_EQ(n.class, 4);
	dms_pullq_grant(&q, &none, 4 + PULL_AGE);
	EXPECT_EQ(n.class, 4);
	dms_pullq_grant(&q, &none, 5 + PULL_AGE);
	EXPECT_EQ(n.class, 3);
	/* stands still: nobody ages, and all goes on */
	dms_window_put(&none, 1);
	EXPECT_TRUE(dms_pullq_grant(&q, &none, 5 + PULL_AGE) == &n);

	/* no age at all: one class at each call, but not when the clock went back */
	dms_pullq_init(&q, 0);
	dms_pullq_add(&q, &n, 1 << 20, 2, 7);
	dms_window_put(&none, 1);
	EXPECT_TRUE(dms_window_take(&none, 1));
	dms_pullq_grant(&q, &none, 6);
	EXPECT_EQ(n.class, 4);
	dms_pullq_grant(&q, &none, 6);
	EXPECT_EQ(n.class, 3);
}

TEST(pullq_pieces)
{
	EXPECT_EQ(dms_pullq_piece(0), U32_MAX);
	EXPECT_EQ(dms_pullq_piece(1), 1);
	EXPECT_EQ(dms_pullq_piece(7), 1);
	EXPECT_EQ(dms_pullq_piece(8), 2);
	EXPECT_EQ(dms_pullq_piece(64 << 20), 16 << 20);
	EXPECT_EQ(dms_pullq_piece(U64_MAX), U32_MAX);
}

#define PULL_NODES	200

/*
 * The bound of pull.c.  Long messages wait while short ones come without end, so
 * that the budget is never free for long: each is granted within
 * class * (T + g) + N * S.  g and S are a tick here: one piece is granted at each.
 * All others are short and asked for again at once.
 */
TEST(pullq_nobody_starves)
{
	static struct dms_pullq_node n[PULL_NODES];
	static u64 asked[PULL_NODES];
	static u32 class[PULL_NODES];
	const u64 tick = 1000, age = 50 * tick;
	u64 now, longest = 0, bound, over = 0;
	struct dms_pullq_node *got;
	struct dms_window budget;
	struct dms_pullq q;
	u32 i, len, long_ones = 0;

	test_seed(0xfeedbeef);
	dms_pullq_init(&q, age);
	dms_window_init(&budget, 100);
	for (i = 0; i < PULL_NODES; i++) {
		dms_pullq_node_init(&n[i]);
		dms_pullq_add(&q, &n[i], i % 10 ? 1 : 1U << 31, 100, 0);
		asked[i] = 0;
		class[i] = n[i].class;
	}
	for (now = 0; now < TEST_ROUNDS(100000) * tick; now += tick) {
		got = dms_pullq_grant(&q, &budget, now);
		if (!got)
			break;
		EXPECT_TRUE(!dms_pullq_grant(&q, &budget, now));
		i = got - n;
		bound = class[i] * (age + tick) + PULL_NODES * tick;
		over += now - asked[i] > bound;
		if (class[i]) {
			long_ones++;
			longest = max_t(u64, longest, now - asked[i]);
		}
		len = i % 10 ? 1 : 1U << (16 + test_random() % 16);
		asked[i] = now + tick;
		dms_window_put(&budget, got->charge);
		dms_pullq_add(&q, got, len, 100, now + tick);
		class[i] = got->class;
	}
	EXPECT_EQ(now, TEST_ROUNDS(100000) * tick);
	EXPECT_EQ(over, 0);
	EXPECT_TRUE(long_ones > 0);
	/* and it is the aging that does it: they waited for it */
	EXPECT_TRUE(longest > 10 * age);
	EXPECT_TRUE(q.aged > 0);
	EXPECT_EQ(budget.high, 100);
}

TESTSET(dms_core_pull,
	CASE(pullq_classes),
	CASE(pullq_short_first),
	CASE(pullq_room),
	CASE(pullq_ages),
	CASE(pullq_clock_back),
	CASE(pullq_pieces),
	CASE(pullq_nobody_starves));
