// SPDX-License-Identifier: GPL-2.0-only
/* Bounds on bytes. */
#include "dms_test.h"
#include "core/window.h"

TEST(window_rows)
{
	static const struct {
		u64 limit, used, bytes, charge;
		bool ok;
	} rows[] = {
		{ 100, 0, 0, 0, true },
		{ 100, 0, 1, 1, true },
		{ 100, 0, 100, 100, true },
		{ 100, 0, 101, 100, true },		/* larger than all, but alone */
		{ 100, 1, 101, 100, false },
		{ 100, 1, 99, 99, true },
		{ 100, 1, 100, 100, false },
		{ 100, 100, 0, 0, true },
		{ 100, 100, 1, 1, false },
		{ 100, 0, U64_MAX, 100, true },
		{ 100, 1, U64_MAX, 100, false },
		{ U64_MAX, U64_MAX - 1, 1, 1, true },
		{ U64_MAX, U64_MAX - 1, 2, 2, false },	/* no wrap */
		{ U64_MAX, U64_MAX, U64_MAX, U64_MAX, false },
		{ U64_MAX, 0, U64_MAX, U64_MAX, true },
		{ 1ULL << 32, 1, 1ULL << 32, 1ULL << 32, false },
		{ 0, 0, 1000, 0, true },		/* no bound */
	};
	struct dms_window w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_window_init(&w, rows[i].limit);
		EXPECT_EQ(w.used, 0);
		EXPECT_EQ(w.high, 0);
		EXPECT_TRUE(dms_window_take(&w, rows[i].used));
		EXPECT_EQ(dms_window_charge(&w, rows[i].bytes), rows[i].charge);
		EXPECT_EQ(dms_window_take(&w, rows[i].charge), rows[i].ok);
		EXPECT_EQ(w.used, rows[i].used + (rows[i].ok ? rows[i].charge : 0));
		EXPECT_EQ(dms_window_shut(&w), w.limit && !dms_window_take(&w, 1));
		w.used = rows[i].used + (rows[i].ok ? rows[i].charge : 0);
		w.high = w.used;
		EXPECT_EQ(w.high, w.used);
	}
}

TEST(window_put_back)
{
	struct dms_window w;

	dms_window_init(&w, 100);
	EXPECT_TRUE(dms_window_take(&w, 60));
	EXPECT_TRUE(dms_window_take(&w, 40));
	dms_window_put(&w, 60);
	EXPECT_EQ(w.used, 40);
	EXPECT_EQ(w.high, 100);
	EXPECT_TRUE(dms_window_take(&w, 10));
	EXPECT_EQ(w.high, 100);		/* not the last, the most */
	dms_window_put(&w, 50);
	EXPECT_EQ(w.used, 0);
	EXPECT_TRUE(dms_window_take(&w, 5));
	dms_window_put(&w, 6);		/* a mistake does not shut it */
	EXPECT_EQ(w.used, 0);
	EXPECT_TRUE(dms_window_take(&w, 100));
}

TEST(window_resize)
{
	struct dms_window w;

	dms_window_init(&w, 100);
	EXPECT_TRUE(dms_window_take(&w, 80));
	dms_window_resize(&w, 50);	/* less than is out: nothing more goes */
	EXPECT_EQ(w.used, 80);
	EXPECT_TRUE(dms_window_shut(&w));
	EXPECT_FALSE(dms_window_take(&w, 1));
	EXPECT_FALSE(dms_window_take(&w, 50));
	EXPECT_FALSE(dms_window_take(&w, U64_MAX));
	EXPECT_TRUE(dms_window_take(&w, 0));
	EXPECT_EQ(w.used, 80);
	dms_window_put(&w, 30);
	EXPECT_FALSE(dms_window_take(&w, 1));	/* as much as the limit */
	dms_window_put(&w, 1);
	EXPECT_FALSE(dms_window_take(&w, 2));
	EXPECT_TRUE(dms_window_take(&w, 1));
	EXPECT_EQ(w.used, 50);
	EXPECT_EQ(w.high, 80);
	dms_window_resize(&w, 51);
	EXPECT_TRUE(dms_window_take(&w, 1));
	dms_window_resize(&w, 0);	/* no bound */
	EXPECT_EQ(dms_window_charge(&w, 1000), 0);
	EXPECT_TRUE(dms_window_take(&w, 0));
	dms_window_put(&w, 51);
	EXPECT_EQ(w.used, 0);
}

TEST(window_random)
{
	static u64 out[64];
	u64 sum = 0, charge;
	struct dms_window w;
	u32 i, slot;

	test_seed(0x2468ace1);
	memset(out, 0, sizeof(out));
	dms_window_init(&w, 10000);
	for (i = 0; i < TEST_ROUNDS(200000); i++) {
		test_row(i);
		slot = test_random() % ARRAY_SIZE(out);
		if (out[slot]) {
			dms_window_put(&w, out[slot]);
			sum -= out[slot];
			out[slot] = 0;
		} else {
			charge = dms_window_charge(&w, test_random() % 12000);
			EXPECT_EQ(dms_window_take(&w, charge), sum + charge <= 10000);
			if (w.used != sum) {
				out[slot] = charge;
				sum += charge;
			}
		}
		EXPECT_EQ(w.used, sum);
	}
	EXPECT_TRUE(w.high <= 10000 && w.high > 9000);
}

TEST(window_small)
{
	static const struct {
		u64 limit, used, charge;
		bool ok;
	} rows[] = {
		{ 3200, 0, 100, true },
		{ 3200, 3200, 100, true },		/* past a full one */
		{ 3200, 3200, 101, false },		/* not small */
		{ 3200, 3099, 101, true },		/* but there is room */
		{ 3200, 3500, 100, true },		/* 1/8 more, and no byte */
		{ 3200, 3501, 100, false },
		{ 3200, 3600, 1, false },
		{ 3200, 3600, 0, true },
		{ 3200, 3150, 100, true },		/* across the limit */
		{ 3200, 9000, 1, false },		/* the limit has shrunk */
		{ 31, 31, 1, false },			/* nothing is small */
		{ 0, 0, 0, true },
		{ U64_MAX, U64_MAX, 1, false },		/* no wrap */
		{ U64_MAX, U64_MAX - 1, 1, true },
	};
	struct dms_window w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_window_init(&w, rows[i].limit);
		w.used = rows[i].used;
		EXPECT_EQ(dms_window_take_small(&w, rows[i].charge), rows[i].ok);
		EXPECT_EQ(w.used, rows[i].used + (rows[i].ok ? rows[i].charge : 0));
		EXPECT_EQ(w.high, rows[i].ok && w.used ? w.used : 0);
	}
}

TESTSET(dms_core_window,
	CASE(window_rows),
	CASE(window_put_back),
	CASE(window_small),
	CASE(window_resize),
	CASE(window_random));
