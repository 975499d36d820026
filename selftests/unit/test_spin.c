// SPDX-License-Identifier: GPL-2.0-only
/* When polling is worth it. */
#include "dms_test.h"
#include "core/spin.h"

TEST(spin_rows)
{
	static const struct {
		u64 last, now;
		u32 limit;
		bool on;
	} rows[] = {
		{ 0, 0, 100, false },			/* nothing came yet */
		{ 0, 50, 100, false },
		{ 1000, 1000, 100, true },
		{ 1000, 1099, 100, true },
		{ 1000, 1100, 100, true },
		{ 1000, 1101, 100, false },
		{ 1000, 999, 100, true },		/* a clock that went back */
		{ 1000, 0, 100, true },
		{ 1000, 1000, 0, false },		/* never */
		{ 1000, 999, 0, false },
		{ 1000, 1001, 0, false },
		{ 1, 1ULL + U32_MAX, U32_MAX, true },
		{ 1, 2ULL + U32_MAX, U32_MAX, false },
		{ 1, U64_MAX, U32_MAX, false },
		{ U64_MAX, U64_MAX, 1, true },
		{ U64_MAX - 1, U64_MAX, 1, true },
		{ U64_MAX - 2, U64_MAX, 1, false },
	};
	struct dms_spin s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_spin_init(&s, rows[i].limit);
		EXPECT_FALSE(dms_spin_on(&s, rows[i].now));
		if (rows[i].last)
			EXPECT_FALSE(dms_spin_arrival(&s, rows[i].last));
		EXPECT_EQ(dms_spin_on(&s, rows[i].now), rows[i].on);
		EXPECT_EQ(s.last, rows[i].last);
	}
}

/* Only who comes soon after another one is polled for. */
TEST(spin_arrivals)
{
	struct dms_spin s;
	u64 now = 5000;

	dms_spin_init(&s, 100);
	EXPECT_FALSE(dms_spin_arrival(&s, now));
	EXPECT_FALSE(dms_spin_arrival(&s, now += 101));
	EXPECT_TRUE(dms_spin_arrival(&s, now += 100));
	EXPECT_TRUE(dms_spin_arrival(&s, now));
	EXPECT_TRUE(dms_spin_arrival(&s, now += 1));
	EXPECT_FALSE(dms_spin_arrival(&s, now += 1000));
	EXPECT_TRUE(dms_spin_arrival(&s, now + 100));
}

/* Whatever comes when: the time spent in vain is never more than the limit for each arrival. */
TEST(spin_bounded_waste)
{
	u64 now = 1, spun = 0;
	struct dms_spin s;
	u32 i, gap, n = 0;

	dms_spin_init(&s, 64);
	for (i = 0; i < 20000; i++) {
		bool awake = dms_spin_arrival(&s, now);

		n++;
		for (gap = test_random() % 200 + 1; gap; gap--) {
			awake = awake && dms_spin_on(&s, now);
			spun += awake;
			now++;
		}
	}
	EXPECT_TRUE(spun > 0);
	EXPECT_TRUE(spun <= (u64)n * 65);
}

TESTSET(dms_core_spin,
	CASE(spin_rows),
	CASE(spin_arrivals),
	CASE(spin_bounded_waste));
