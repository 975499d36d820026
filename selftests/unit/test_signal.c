// SPDX-License-Identifier: GPL-2.0-only
/* Which sends ask for a completion. */
#include "dms_test.h"
#include "core/signal.h"

TEST(signal_every)
{
	static const struct {
		u32 depth, every;
	} rows[] = {
		{ 0, 1 }, { 1, 1 }, { 4, 1 }, { 7, 1 }, { 8, 2 }, { 11, 2 }, { 16, 4 },
		{ 63, 15 }, { 64, 16 }, { 68, 16 }, { 4096, 16 }, { U32_MAX, 16 },
	};
	struct dms_signal s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_signal_init(&s, rows[i].depth);
		EXPECT_EQ(s.every, rows[i].every);
		EXPECT_EQ(s.quiet, 0);
	}
}

/* Without a wish one in so many asks, and never later. */
TEST(signal_turns)
{
	struct dms_signal s;
	u32 i;

	dms_signal_init(&s, 16);
	for (i = 1; i <= 40; i++) {
		test_row(i);
		EXPECT_EQ(dms_signal_next(&s, false), i % 4 == 0);
		EXPECT_EQ(s.quiet, i % 4);
	}
	dms_signal_init(&s, 4);
	EXPECT_TRUE(dms_signal_next(&s, false));
	EXPECT_TRUE(dms_signal_next(&s, false));
	EXPECT_EQ(s.quiet, 0);
}

/* One that must begins a new row. */
TEST(signal_must)
{
	struct dms_signal s;

	dms_signal_init(&s, 64);
	EXPECT_TRUE(dms_signal_next(&s, true));
	EXPECT_EQ(s.quiet, 0);
	EXPECT_FALSE(dms_signal_next(&s, false));
	EXPECT_FALSE(dms_signal_next(&s, false));
	EXPECT_EQ(s.quiet, 2);
	EXPECT_TRUE(dms_signal_next(&s, true));
	EXPECT_EQ(s.quiet, 0);
}

/* Whatever is wished: of the last so many sends one has asked. */
TEST(signal_bounded)
{
	struct dms_signal s;
	u32 i, row = 0, asked = 0;

	test_seed(20261);
	dms_signal_init(&s, 32);
	for (i = 0; i < 10000; i++) {
		row++;
		if (dms_signal_next(&s, test_random() % 16 == 0)) {
			asked++;
			row = 0;
		}
		EXPECT_EQ(s.quiet, row);
		EXPECT_TRUE(row < 8);
	}
	EXPECT_TRUE(asked >= 10000 / 8);
	EXPECT_TRUE(asked < 10000 / 3);
}

TESTSET(dms_core_signal,
	CASE(signal_every),
	CASE(signal_turns),
	CASE(signal_must),
	CASE(signal_bounded));
