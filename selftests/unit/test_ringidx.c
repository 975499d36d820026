// SPDX-License-Identifier: GPL-2.0-only
/* Ring indices, slots of a completion queue, ranges. */
#include "dms_test.h"
#include "core/ringidx.h"

TEST(ring_sizes)
{
	u32 i;

	EXPECT_FALSE(dms_ring_size_ok(0, 16));
	EXPECT_FALSE(dms_ring_size_ok(0, 0));
	EXPECT_FALSE(dms_ring_size_ok(1, 0));
	EXPECT_TRUE(dms_ring_size_ok(1, 1));
	EXPECT_TRUE(dms_ring_size_ok(16, 16));
	EXPECT_FALSE(dms_ring_size_ok(32, 16));
	EXPECT_FALSE(dms_ring_size_ok(U32_MAX, U32_MAX));
	for (i = 1; i < 32; i++) {
		test_row(i);
		EXPECT_TRUE(dms_ring_size_ok(1U << i, U32_MAX));
		EXPECT_FALSE(dms_ring_size_ok((1U << i) + 1, U32_MAX));
		EXPECT_EQ(dms_ring_size_ok((1U << i) - 1, U32_MAX), i == 1);
		EXPECT_FALSE(dms_ring_size_ok(1U << i, (1U << i) - 1));
	}
}

/* All distances at small sizes, with our index on both sides of 2^32 and 2^31. */
TEST(ring_distances)
{
	static const u32 bases[] = { 0, 1, 0x7ffffff8, 0x80000000, U32_MAX - 8, U32_MAX };
	u32 entries, i, n;

	for (entries = 1; entries <= 16; entries *= 2) {
		for (i = 0; i < ARRAY_SIZE(bases); i++) {
			test_row(entries * 100 + i);
			for (n = 0; n <= entries; n++) {
				EXPECT_EQ(dms_ring_pending(bases[i] + n, bases[i], entries), n);
				EXPECT_EQ(dms_ring_occupied(bases[i], bases[i] - n, entries), n);
			}
			for (n = entries + 1; n < 3 * entries + 3; n++) {
				EXPECT_EQ(dms_ring_pending(bases[i] + n, bases[i], entries),
					  -EINVAL);
				EXPECT_EQ(dms_ring_occupied(bases[i], bases[i] - n, entries),
					  entries);
			}
			/* an index that went backwards */
			EXPECT_EQ(dms_ring_pending(bases[i] - 1, bases[i], entries), -EINVAL);
			EXPECT_EQ(dms_ring_occupied(bases[i], bases[i] + 1, entries), entries);
			EXPECT_EQ(dms_ring_pending(bases[i] + 0x80000000, bases[i], entries),
				  -EINVAL);
			EXPECT_EQ(dms_ring_occupied(bases[i], bases[i] + 0x80000000, entries),
				  entries);
		}
	}
	EXPECT_EQ(dms_ring_pending(1U << 30, 0, 1U << 30), 1 << 30);
}

#define CQ_MOST		8

TEST(cqslots_all)
{
	/* every combination, as the digits of one number */
	u32 i, entries, recv_min, reserved, occupied, n, seen = 0;
	struct dms_cqslots s;
	bool ok;

	for (i = 0; i < 10 * 10 * 10 * 10 * 10; i++) {
		test_row(i);
		entries = i / 10000;
		recv_min = i / 1000 % 10;
		reserved = i / 100 % 10;
		occupied = i / 10 % 10;
		n = i % 10;
		if (entries > CQ_MOST || recv_min >= entries || reserved > entries - recv_min ||
		    occupied > entries)
			continue;
		seen++;
		dms_cqslots_init(&s, entries, recv_min);
		EXPECT_EQ(s.reserved, 0);
		EXPECT_TRUE(dms_cqslots_reserve(&s, 0, reserved));
		EXPECT_EQ(dms_cqslots_recv_ok(&s, occupied), occupied + reserved < entries);
		ok = occupied + reserved + n + recv_min <= entries;
		EXPECT_EQ(dms_cqslots_reserve(&s, occupied, n), ok);
		EXPECT_EQ(s.reserved, ok ? reserved + n : reserved);
	}
	EXPECT_TRUE(seen > 10000);
}

TEST(cqslots_edges)
{
	struct dms_cqslots s;

	dms_cqslots_init(&s, 1U << 31, 1);
	EXPECT_TRUE(dms_cqslots_reserve(&s, 0, (1U << 31) - 1));
	EXPECT_FALSE(dms_cqslots_reserve(&s, 0, 1));
	/* the process says "full": the sums pass 2^32 */
	EXPECT_FALSE(dms_cqslots_reserve(&s, 1U << 31, 1));
	EXPECT_FALSE(dms_cqslots_recv_ok(&s, 1U << 31));
	EXPECT_FALSE(dms_cqslots_reserve(&s, 0, U32_MAX));
	EXPECT_TRUE(dms_cqslots_recv_ok(&s, 0));
	EXPECT_FALSE(dms_cqslots_recv_ok(&s, 1));

	dms_cqslots_unreserve(&s, (1U << 31) - 2);
	EXPECT_EQ(s.reserved, 1);
	dms_cqslots_unreserve(&s, 1);
	EXPECT_EQ(s.reserved, 0);
	dms_cqslots_unreserve(&s, 1);	/* a mistake does not wrap it */
	EXPECT_EQ(s.reserved, 0);
}

TEST(ranges)
{
	static const struct {
		u64 off, len, size;
		bool ok;
	} rows[] = {
		{ 0, 0, 0, true },
		{ 0, 1, 0, false },
		{ 1, 0, 0, false },
		{ 0, 100, 100, true },
		{ 0, 101, 100, false },
		{ 1, 100, 100, false },
		{ 99, 1, 100, true },
		{ 100, 0, 100, true },
		{ 100, 1, 100, false },
		{ 101, 0, 100, false },
		{ U64_MAX, 1, 100, false },		/* off + len is 0 */
		{ U64_MAX, 0, 100, false },
		{ 50, U64_MAX - 49, 100, false },	/* off + len is 0 */
		{ 50, U64_MAX, 100, false },
		{ 0, U64_MAX, U64_MAX, true },
		{ U64_MAX, 0, U64_MAX, true },
		{ U64_MAX, 1, U64_MAX, false },
		{ 1ULL << 32, 1, 1ULL << 32, false },
		{ (1ULL << 32) - 1, 1, 1ULL << 32, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		EXPECT_EQ(dms_range_ok(rows[i].off, rows[i].len, rows[i].size), rows[i].ok);
	}
}

TESTSET(dms_core_ringidx,
	CASE(ring_sizes),
	CASE(ring_distances),
	CASE(cqslots_all),
	CASE(cqslots_edges),
	CASE(ranges));
