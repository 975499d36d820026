// SPDX-License-Identifier: GPL-2.0-only
/* Strided tiles. */
#include "dms_test.h"
#include "core/tile.h"

#define TILE(o, p, r, b) { .off = (o), .pitch = (p), .rows = (r), .row_bytes = (b) }

TEST(tile_forms)
{
	static const struct {
		struct dms_tile t;
		u64 size;
		int want;
		u32 total;
	} rows[] = {
		{ TILE(0, 0, 0, 1), 100, -EINVAL, 77 },		/* no rows */
		{ TILE(0, 10, 1, 0), 100, -EINVAL, 77 },	/* empty ones */
		{ TILE(0, 10, U32_MAX, 0), U64_MAX, -EINVAL, 77 },
		{ TILE(0, 0, 1, 100), 100, 0, 100 },		/* of one row the pitch does not matter */
		{ TILE(0, U64_MAX, 1, 100), 100, 0, 100 },
		{ TILE(0, 9, 2, 10), 100, -EINVAL, 77 },	/* rows overlap */
		{ TILE(0, 0, 2, 1), 100, -EINVAL, 77 },
		{ TILE(0, 10, 2, 10), 100, 0, 20 },		/* pitch = row bytes */
		{ TILE(80, 10, 2, 10), 100, 0, 20 },
		{ TILE(81, 10, 2, 10), 100, -EINVAL, 77 },
		{ TILE(0, 11, 9, 10), 98, 0, 90 },		/* the last row ends with the pool */
		{ TILE(0, 11, 9, 10), 97, -EINVAL, 77 },
		{ TILE(1, 11, 9, 10), 98, -EINVAL, 77 },
		{ TILE(2, 11, 9, 10), 100, 0, 90 },
		{ TILE(0, 12, 9, 10), 98, -EINVAL, 77 },
		{ TILE(0, 11, 10, 10), 98, -EINVAL, 77 },
		{ TILE(99, 5, 1, 1), 100, 0, 1 },
		{ TILE(100, 5, 1, 1), 100, -EINVAL, 77 },
		{ TILE(U64_MAX, 1, 1, 1), U64_MAX, -EINVAL, 77 },
		{ TILE(U64_MAX - 1, 1, 1, 1), U64_MAX, 0, 1 },
		{ TILE(0, 1, 1, 101), 100, -EINVAL, 77 },	/* longer than the pool */
		{ TILE(0, U32_MAX, 1, U32_MAX), 100, -EINVAL, 77 },
		{ TILE(0, 1, 100, 1), 100, 0, 100 },		/* rows of 1 byte */
		{ TILE(0, 2, 50, 1), 99, 0, 50 },
		{ TILE(0, 2, 50, 1), 98, -EINVAL, 77 },
		/* rows * pitch wraps, to what would fit */
		{ TILE(0, 1ULL << 63, 3, 1), 100, -EINVAL, 77 },
		{ TILE(0, 1ULL << 63, 5, 1), U64_MAX, -EINVAL, 77 },
		{ TILE(0, 1ULL << 33, 0x80000001, 1), U64_MAX, -EINVAL, 77 },
		{ TILE(0, U64_MAX, 2, 1), U64_MAX, -EINVAL, 77 },
		{ TILE(0, U64_MAX - 1, 2, 1), U64_MAX, 0, 2 },	/* its end is that of everything */
		{ TILE(1, U64_MAX - 1, 2, 1), U64_MAX, -EINVAL, 77 },
		{ TILE(U64_MAX - 9, 10, 2, 10), U64_MAX, -EINVAL, 77 },
		/* the length of the message */
		{ TILE(0, 1, 0x7fffffff, 1), U64_MAX, 0, 0x7fffffff },
		{ TILE(0, 1, 0x80000000, 1), U64_MAX, -EMSGSIZE, 77 },
		{ TILE(0, 0x80000000, 2, 0x40000000), U64_MAX, -EMSGSIZE, 77 },
		{ TILE(0, 1 << 16, 1 << 16, 1 << 16), U64_MAX, -EMSGSIZE, 77 },	/* 2^32 */
		{ TILE(0, 1 << 17, 1 << 16, (1 << 16) + 1), U64_MAX, -EMSGSIZE, 77 },
		{ TILE(0, U32_MAX, U32_MAX, U32_MAX), U64_MAX, -EMSGSIZE, 77 },
		{ TILE(0, U32_MAX, U32_MAX, U32_MAX), 100, -EINVAL, 77 },
	};
	u32 i, total;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		total = 77;
		EXPECT_EQ(dms_tile_check(&rows[i].t, rows[i].size, 0x7fffffff, &total),
			  rows[i].want);
		EXPECT_EQ(total, rows[i].total);
	}
}

TEST(tile_ranges)
{
	struct dms_tile range = dms_tile_range(0x123456789aULL, U32_MAX);
	struct dms_tile flat = TILE(5, 10, 7, 10), gaps = TILE(5, 11, 7, 10);
	struct dms_tile one = TILE(5, 99, 1, 10);
	struct dms_elem piece = { 0, 0 };

	EXPECT_TRUE(dms_tile_flat(&range));
	EXPECT_TRUE(dms_tile_flat(&flat));
	EXPECT_TRUE(dms_tile_flat(&one));
	EXPECT_FALSE(dms_tile_flat(&gaps));
	EXPECT_TRUE(dms_tile_at(&range, U32_MAX - 1, &piece));
	EXPECT_TRUE(piece.off == 0x123456789aULL + U32_MAX - 1);
	EXPECT_EQ(piece.len, 1);
	EXPECT_FALSE(dms_tile_at(&range, U32_MAX, &piece));
	/* an empty one has no bytes, and divides by nothing */
	range = dms_tile_range(0, 0);
	EXPECT_FALSE(dms_tile_at(&range, 0, &piece));
	EXPECT_EQ(dms_tile_seg(&range, 0, 1, 12), 0);
}

TEST(tile_pieces)
{
	static const struct dms_tile t = TILE(1000, 50, 3, 20);
	static const struct dms_tile far = TILE(1, 0x300000000ULL, 0x7fffffff, 1);
	static const struct {
		u32 at;
		bool ok;
		struct dms_elem want;
	} rows[] = {
		{ 0, true, { 1000, 20 } },
		{ 1, true, { 1001, 19 } },
		{ 19, true, { 1019, 1 } },
		{ 20, true, { 1050, 20 } },
		{ 21, true, { 1051, 19 } },
		{ 39, true, { 1069, 1 } },
		{ 40, true, { 1100, 20 } },
		{ 59, true, { 1119, 1 } },
		{ 60, false, { 7, 7 } },
		{ U32_MAX, false, { 7, 7 } },
	};
	struct dms_elem piece;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		piece = (struct dms_elem){ 7, 7 };
		EXPECT_EQ(dms_tile_at(&t, rows[i].at, &piece), rows[i].ok);
		EXPECT_EQ(piece.off, rows[i].want.off);
		EXPECT_EQ(piece.len, rows[i].want.len);
	}
	/* row * pitch is one of 64 bits */
	EXPECT_TRUE(dms_tile_at(&far, 0x7ffffffe, &piece));
	EXPECT_TRUE(piece.off == 1 + 0x7ffffffeULL * 0x300000000ULL);
	EXPECT_EQ(piece.len, 1);
}

TEST(tile_segs)
{
	static const struct {
		struct dms_tile t;
		u32 at, pages, shift, want;
	} rows[] = {
		/* rows of whole pages: as many as there are pages */
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 4, 12, 0x4000 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0x4000, 4, 12, 0x4000 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0x6000, 4, 12, 0x2000 },	/* the end */
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 1, 12, 0x1000 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 8, 12, 0x8000 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 256, 12, 0x8000 },
		{ TILE(0x10000, 0x4000, 8, 0x3000), 0, 4, 12, 0x4000 },	/* ends in a row */
		{ TILE(0x10000, 0x4000, 8, 0x3000), 0x4000, 4, 12, 0x4000 },
		/* from inside of a page, after a HOLD: to the end of the last one */
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0x1001, 4, 12, 0x3fff },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0x7fff, 4, 12, 1 },
		/* one of them is none of whole pages: a row at a time */
		{ TILE(0x10010, 0x4000, 8, 0x1000), 0, 4, 12, 0x1000 },
		{ TILE(0x10000, 0x4010, 8, 0x1000), 0, 4, 12, 0x1000 },
		{ TILE(0x10000, 0x4000, 8, 0x0800), 0, 4, 12, 0x800 },
		{ TILE(0x10000, 0x4000, 8, 0x0800), 0x801, 4, 12, 0x7ff },
		{ TILE(0x10000, 0x4000, 8, 0x0001), 3, 4, 12, 1 },
		{ TILE(0x10000, 0x4000, 8, 0x3800), 0, 2, 12, 0x2000 },	/* and no more than fits */
		{ TILE(0x10010, 0x4000, 8, 0x3000), 0, 2, 12, 0x1ff0 },
		{ TILE(0x10010, 0x4000, 8, 0x3000), 0x1ff0, 2, 12, 0x1010 },
		/* one row */
		{ TILE(0x10010, 7, 1, 0x3000), 0, 256, 12, 0x3000 },
		{ TILE(0x10010, 7, 1, 0x3000), 0, 1, 12, 0xff0 },
		/* nothing */
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0x8000, 4, 12, 0 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 0, 12, 0 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 4, 32, 0 },
		{ TILE(0x10000, 0x4000, 8, 0x1000), 0, 4, 31, 0x1000 },
		{ TILE(0, 1ULL << 32, 1, 1U << 31), 1, U32_MAX, 31, (1U << 31) - 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		EXPECT_EQ(dms_tile_seg(&rows[i].t, rows[i].at, rows[i].pages, rows[i].shift),
			  rows[i].want);
	}
}

/*
 * Walks over tiles, byte by byte as they lie in the pool: pieces and segments have
 * each of them once, in order; a segment is what a region can hold, and no other one
 * could be longer.
 */
TEST(tile_walks)
{
	u32 round, at, total, pages, shift, page, row, used, seg, bad = 0;
	struct dms_tile t;
	struct dms_elem p, next;

	test_seed(0x711e5);
	for (round = 0; round < TEST_ROUNDS(4000); round++) {
		test_row(round);
		shift = 3 + test_random() % 3;
		page = 1U << shift;
		pages = 1 + test_random() % 5;
		t.rows = 1 + test_random() % 9;
		t.row_bytes = 1 + test_random() % 50;
		t.pitch = t.row_bytes + test_random() % 40;
		t.off = test_random() % 1000;
		if (round & 1) {	/* random ones are hardly ever of whole pages */
			t.row_bytes = (1 + t.row_bytes % 4) * page;
			t.pitch = t.row_bytes + t.pitch % 3 * page;
			t.off &= ~(u64)(page - 1);
		}
		EXPECT_EQ(dms_tile_check(&t, t.off + (t.rows - 1) * t.pitch + t.row_bytes, U32_MAX,
					 &total), 0);
		for (at = 0, row = 0; at < total; at++) {
			row = at / t.row_bytes;
			bad += !dms_tile_at(&t, at, &p);
			bad += p.off != t.off + row * t.pitch + at - row * t.row_bytes;
			bad += p.len != (row + 1) * t.row_bytes - at;
		}
		bad += dms_tile_at(&t, total, &p);
		for (at = 0; at < total; at += seg) {
			seg = dms_tile_seg(&t, at, pages, shift);
			bad += !seg || seg > total - at;
			if (!seg || bad)
				break;
			/* the pages of its pieces, and that only its ends are inside of one */
			for (used = 0, row = at; row < at + seg; row += p.len) {
				dms_tile_at(&t, row, &p);
				if (p.len > at + seg - row)
					p.len = at + seg - row;
				used += ((p.off + p.len - 1) >> shift) - (p.off >> shift) + 1;
				bad += row != at && p.off & (page - 1);
				bad += row + p.len != at + seg && (p.off + p.len) & (page - 1);
			}
			bad += used > pages;
			if (at + seg == total)
				continue;
			/* it ends where the region is full, or at a row that cannot be in it */
			dms_tile_at(&t, at + seg, &next);
			bad += used < pages && (t.off | t.pitch | t.row_bytes) & (page - 1) &&
			       (at + seg) % t.row_bytes;
			bad += used < pages && !((t.off | t.pitch | t.row_bytes) & (page - 1));
			bad += used == pages && (p.off + p.len) & (page - 1) &&
			       (at + seg) % t.row_bytes;
		}
	}
	EXPECT_EQ(bad, 0);
}

TESTSET(dms_core_tile,
	CASE(tile_forms),
	CASE(tile_ranges),
	CASE(tile_pieces),
	CASE(tile_segs),
	CASE(tile_walks));
