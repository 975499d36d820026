// SPDX-License-Identifier: GPL-2.0-only
/* A limit on bytes per second. */
#include "dms_test.h"
#include "core/rate.h"

#define MS	1000000ULL
#define SEC	1000000000ULL

/* what a single charge costs, from a bucket without anything saved */
TEST(rate_rows)
{
	static const struct {
		u32 mbit, shares;
		u64 bytes, wait;
	} rows[] = {
		{ 0, 1, U64_MAX, 0 },			/* no limit */
		{ 0, 0, 1, 0 },
		{ 8, 1, 0, 0 },
		{ 8, 1, 1, 1000 },			/* 1 byte, 1 us */
		{ 8, 1, 1000000, SEC },
		{ 8, 0, 1000000, SEC },			/* 0 shares is 1 */
		{ 8, 2, 1000000, 2 * SEC },
		{ 8, 16, 1000000, 16 * SEC },
		{ 8, 17, 1000000, 16 * SEC },
		{ 1, 1, 1, 8000 },
		{ 1, 16, DMS_RATE_CHARGE_MAX, 8000ULL * 16 * DMS_RATE_CHARGE_MAX },
		{ 1, 16, DMS_RATE_CHARGE_MAX + 1ULL, 8000ULL * 16 * DMS_RATE_CHARGE_MAX },
		{ 1, 16, U64_MAX, 8000ULL * 16 * DMS_RATE_CHARGE_MAX },
		{ 1000, 1, 125000000, SEC },
		{ 8000, 1, 1, 1 },			/* GB/s: 1 ns */
		{ 16000, 1, 1, 0 },			/* half a ns is kept, not told */
	};
	struct dms_rate r;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_rate_init(&r, rows[i].mbit, rows[i].shares, 0);
		EXPECT_TRUE(dms_rate_may(&r, 0));
		dms_rate_charge(&r, rows[i].bytes, 5 * SEC);
		EXPECT_EQ(dms_rate_wait_ns(&r, 5 * SEC), rows[i].wait);
		EXPECT_EQ(dms_rate_may(&r, 5 * SEC), !rows[i].wait);
		EXPECT_TRUE(dms_rate_may(&r, 5 * SEC + rows[i].wait));
		EXPECT_EQ(dms_rate_wait_ns(&r, 5 * SEC + rows[i].wait), 0);
		if (rows[i].wait) {
			EXPECT_FALSE(dms_rate_may(&r, 5 * SEC + rows[i].wait - 1));
			EXPECT_EQ(dms_rate_wait_ns(&r, 5 * SEC + rows[i].wait - 1), 1);
		}
	}
}

/* Every rate is what it says, and never more. */
TEST(rate_is_right)
{
	static const u32 mbit[] = { 1, 2, 3, 7, 10, 99, 1000, 12345, 25000, 100000, 400000,
				    999999, DMS_RATE_MBIT_MAX };
	struct dms_rate r, most;
	u64 bytes, cost;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mbit); i++) {
		test_row(mbit[i]);
		dms_rate_init(&r, mbit[i], 1, 0);
		/* bytes of a second */
		bytes = mbit[i] * 125000ULL;
		cost = bytes * r.cost;
		EXPECT_TRUE(cost >= SEC << DMS_RATE_SHIFT);
		EXPECT_TRUE(cost - (SEC << DMS_RATE_SHIFT) < (SEC << DMS_RATE_SHIFT) / 2000);
	}
	test_row(-1);
	dms_rate_init(&r, DMS_RATE_MBIT_MAX, 3, 0);
	EXPECT_EQ(r.kbit, 333333333);
	dms_rate_init(&r, 0, 3, 0);
	EXPECT_EQ(r.kbit, 0);
	EXPECT_EQ(r.cost, 0);
	dms_rate_init(&r, U32_MAX, 1, 0);
	EXPECT_EQ(r.kbit, 1000000000);
	dms_rate_init(&most, DMS_RATE_MBIT_MAX, 1, 0);
	EXPECT_EQ(r.cost, most.cost);
}

/* What is saved up is bounded, and spent before anybody waits. */
TEST(rate_burst)
{
	struct dms_rate r;

	dms_rate_init(&r, 8, 1, 10 * MS);	/* 10,000 bytes */
	dms_rate_charge(&r, 9999, 7 * SEC);
	EXPECT_TRUE(dms_rate_may(&r, 7 * SEC));
	dms_rate_charge(&r, 1, 7 * SEC);
	EXPECT_TRUE(dms_rate_may(&r, 7 * SEC));	/* just spent */
	dms_rate_charge(&r, 1, 7 * SEC);
	EXPECT_EQ(dms_rate_wait_ns(&r, 7 * SEC), 1000);
	/* an hour is worth no more than 10 ms */
	dms_rate_charge(&r, 20000, 3600 * SEC);
	EXPECT_EQ(dms_rate_wait_ns(&r, 3600 * SEC), 10 * MS);
	/* a debt stays, however long ago */
	dms_rate_charge(&r, 1000, 3600 * SEC + 5 * MS);
	EXPECT_EQ(dms_rate_wait_ns(&r, 3600 * SEC + 5 * MS), 6 * MS);
	/* a clock that goes back lets nobody in */
	EXPECT_EQ(dms_rate_wait_ns(&r, 0), 3600 * SEC + 11 * MS);

	/* young machines, and a burst that is longer than they are */
	memset(&r, 0xff, sizeof(r));
	dms_rate_init(&r, 8, 1, U64_MAX);
	dms_rate_charge(&r, 1000, 0);
	EXPECT_EQ(dms_rate_wait_ns(&r, 0), MS);
	EXPECT_EQ(r.rest, 0);
	EXPECT_TRUE(dms_rate_may(&r, MS));
}

/* Parts of a ns add up. */
TEST(rate_small_pieces)
{
	struct dms_rate r;
	u32 i;

	dms_rate_init(&r, 24000, 1, 0);		/* a third of a ns each */
	dms_rate_charge(&r, 3, SEC);
	for (i = 0; i < 29997; i++)
		dms_rate_charge(&r, 1, SEC);
	EXPECT_TRUE(dms_rate_wait_ns(&r, SEC) >= 10000);
	EXPECT_TRUE(dms_rate_wait_ns(&r, SEC) <= 10005);
}

/* Whoever sends when it may, and wakes up late by less than the burst, has its rate. */
TEST(rate_holds)
{
	static const u32 mbit[] = { 1, 10, 100, 1000, 10000, 60000 };
	u64 now, sent, want, end, wait;
	u32 i, n, len;
	struct dms_rate r;

	for (i = 0; i < ARRAY_SIZE(mbit); i++) {
		test_row(mbit[i]);
		dms_rate_init(&r, mbit[i], 1, 20 * MS);
		now = 77 * SEC;
		sent = 0;
		for (n = 0; n < 2000; n++) {
			len = test_random() % (mbit[i] * 2000) + 1;
			EXPECT_TRUE(dms_rate_may(&r, now));
			dms_rate_charge(&r, len, now);
			sent += len;
			wait = dms_rate_wait_ns(&r, now);
			now += wait;
			if (wait)
				now += test_random() % (20 * MS);
		}
		end = now - 77 * SEC;
		/* bytes per us are an eighth of Mbit/s; the burst, and the last one's lateness */
		want = (end + 20 * MS) * mbit[i] / 8000;
		EXPECT_TRUE(sent <= want + 1);
		EXPECT_TRUE(sent + 40 * MS * mbit[i] / 8000 >= want - want / 1000);
	}
}

TESTSET(dms_core_rate,
	CASE(rate_rows),
	CASE(rate_is_right),
	CASE(rate_burst),
	CASE(rate_small_pieces),
	CASE(rate_holds));
