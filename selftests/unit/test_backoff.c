// SPDX-License-Identifier: GPL-2.0-only
/* Waits before a try: their size, their growth, their spread. */
#include "dms_test.h"
#include "core/backoff.h"

TEST(backoff_grows)
{
	u32 fails, low, high, mid = DMS_BACKOFF_FIRST_MS;

	EXPECT_EQ(dms_backoff_ms(0, 0), 0);
	EXPECT_EQ(dms_backoff_ms(0, U32_MAX), 0);
	for (fails = 1; fails < 40; fails++) {
		test_row(fails);
		low = dms_backoff_ms(fails, 0);
		high = dms_backoff_ms(fails, mid / 2);
		EXPECT_EQ(low, mid - mid / 4);
		EXPECT_EQ(high, mid - mid / 4 + mid / 2);
		mid = 2 * mid < DMS_BACKOFF_MAX_MS ? 2 * mid : DMS_BACKOFF_MAX_MS;
	}
	EXPECT_EQ(mid, DMS_BACKOFF_MAX_MS);
	EXPECT_EQ(dms_backoff_ms(U32_MAX, 0), DMS_BACKOFF_MAX_MS - DMS_BACKOFF_MAX_MS / 4);
}

/* Each value between the ends comes, and none else. */
TEST(backoff_spreads)
{
	u32 r, ms, seen = 0;

	for (r = 0; r < 100; r++) {
		test_row(r);
		ms = dms_backoff_ms(1, r);
		EXPECT_TRUE(ms >= 8 && ms <= 13);
		seen |= 1U << (ms - 8);
	}
	EXPECT_EQ(seen, 0x3f);
}

TESTSET(dms_core_backoff,
	CASE(backoff_grows),
	CASE(backoff_spreads));
