// SPDX-License-Identifier: GPL-2.0-only
/* Cutting messages. */
#include "dms_test.h"
#include "core/seg.h"

/* 3 elements, one of them empty, one off the page */
static const struct dms_elem seg_elems[] = {
	{ 0x10ff0, 0x20 },
	{ 0x50000, 0 },
	{ 0x20000, 0x3000 },
	{ 0x30001, 0x1fff },
};

TEST(seg_rows)
{
	static const struct {
		u32 n, at, pages, shift;
		bool ok;
		struct dms_seg want;
	} rows[] = {
		{ 4, 0, 1, 12, true, { 0, 0x10ff0, 0x10 } },	/* to the end of the page */
		{ 4, 0x0f, 1, 12, true, { 0, 0x10fff, 1 } },
		{ 4, 0x10, 1, 12, true, { 0, 0x11000, 0x10 } },
		{ 4, 0, 2, 12, true, { 0, 0x10ff0, 0x20 } },	/* to the end of the element */
		{ 4, 0x1f, 2, 12, true, { 0, 0x1100f, 1 } },
		{ 4, 0x20, 1, 12, true, { 2, 0x20000, 0x1000 } }, /* over the empty one */
		{ 4, 0x20, 2, 12, true, { 2, 0x20000, 0x2000 } },
		{ 4, 0x20, 3, 12, true, { 2, 0x20000, 0x3000 } },
		{ 4, 0x20, 16, 12, true, { 2, 0x20000, 0x3000 } },
		{ 4, 0x1021, 1, 12, true, { 2, 0x21001, 0xfff } },
		{ 4, 0x3020, 1, 12, true, { 3, 0x30001, 0xfff } },
		{ 4, 0x3020, 2, 12, true, { 3, 0x30001, 0x1fff } },
		{ 4, 0x501e, 1, 12, true, { 3, 0x31fff, 1 } },
		{ 4, 0x501f, 1, 12, false, { 0, 0, 0 } },	/* one past the end */
		{ 4, U32_MAX, 1, 12, false, { 0, 0, 0 } },
		{ 3, 0x3020, 1, 12, false, { 0, 0, 0 } },
		{ 0, 0, 1, 12, false, { 0, 0, 0 } },
		{ 4, 0, 0, 12, false, { 0, 0, 0 } },		/* no pages */
		{ 4, 0, 1, 32, false, { 0, 0, 0 } },
		{ 4, 0, 1, U32_MAX, false, { 0, 0, 0 } },
		{ 4, 0, 1, 0, true, { 0, 0x10ff0, 1 } },
		{ 4, 0, 1, 31, true, { 0, 0x10ff0, 0x20 } },
		{ 4, 0, U32_MAX, 31, true, { 0, 0x10ff0, 0x20 } },
	};
	struct dms_seg seg;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		memset(&seg, 0, sizeof(seg));
		EXPECT_EQ(dms_seg_at(seg_elems, rows[i].n, rows[i].at, rows[i].pages,
				     rows[i].shift, &seg), rows[i].ok);
		EXPECT_EQ(seg.elem, rows[i].want.elem);
		EXPECT_EQ(seg.off, rows[i].want.off);
		EXPECT_EQ(seg.len, rows[i].want.len);
	}
}

TEST(seg_edges)
{
	static const struct dms_elem two[] = { { 0, U32_MAX }, { 0, U32_MAX } };
	static const struct dms_elem high[] = { { U64_MAX - 0xfff, 0x1000 } };
	struct dms_seg seg;

	/* a sum of lengths over 2^32 is not taken for a small one */
	EXPECT_TRUE(dms_seg_at(two, 2, U32_MAX, 1, 12, &seg));
	EXPECT_EQ(seg.elem, 1);
	EXPECT_EQ(seg.off, 0);
	EXPECT_TRUE(dms_seg_at(two, 2, U32_MAX - 1, 1, 12, &seg));
	EXPECT_EQ(seg.elem, 0);
	EXPECT_EQ(seg.len, 1);
	EXPECT_TRUE(dms_seg_at(two, 1, 0, U32_MAX, 12, &seg));
	EXPECT_EQ(seg.len, U32_MAX);
	EXPECT_TRUE(dms_seg_at(high, 1, 1, 8, 12, &seg));
	EXPECT_EQ(seg.len, 0xfff);
	EXPECT_TRUE(seg.off == U64_MAX - 0xffe);
}

TEST(elem_pieces)
{
	static const struct dms_elem two[] = { { 0, U32_MAX }, { 7, U32_MAX } };
	static const struct {
		u32 n, at;
		bool ok;
		struct dms_elem want;
	} rows[] = {
		{ 4, 0, true, { 0x10ff0, 0x20 } },
		{ 4, 0x1f, true, { 0x1100f, 1 } },
		{ 4, 0x20, true, { 0x20000, 0x3000 } },		/* over the empty one */
		{ 4, 0x301f, true, { 0x22fff, 1 } },
		{ 4, 0x3020, true, { 0x30001, 0x1fff } },
		{ 4, 0x501e, true, { 0x31fff, 1 } },
		{ 4, 0x501f, false, { 5, 5 } },
		{ 3, 0x3020, false, { 5, 5 } },
		{ 1, U32_MAX, false, { 5, 5 } },
		{ 0, 0, false, { 5, 5 } },
	};
	struct dms_elem piece;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		piece = (struct dms_elem){ 5, 5 };
		EXPECT_EQ(dms_elem_at(seg_elems, rows[i].n, rows[i].at, &piece), rows[i].ok);
		EXPECT_EQ(piece.off, rows[i].want.off);
		EXPECT_EQ(piece.len, rows[i].want.len);
	}
	EXPECT_TRUE(dms_elem_at(two, 2, U32_MAX, &piece));
	EXPECT_EQ(piece.off, 7);
	EXPECT_EQ(piece.len, U32_MAX);
}

/* Walks over messages: no byte is left out, none comes twice, no cut is too long. */
TEST(seg_walks)
{
	static struct dms_elem elem[8];
	u32 round, i, n, total, at, pages, shift, bad = 0;
	struct dms_seg seg;
	u64 begin, first, last;

	test_seed(0xc0ffee11);
	for (round = 0; round < TEST_ROUNDS(4000); round++) {
		test_row(round);
		n = 1 + test_random() % 8;
		pages = 1 + test_random() % 5;
		shift = 4 + test_random() % 4;
		for (i = 0; i < n; i++) {
			elem[i].off = test_random() % 100000;
			elem[i].len = test_random() % 4 ? test_random() % 3000 : 0;
		}
		EXPECT_EQ(dms_seg_total(elem, n, U32_MAX, &total), 0);

		begin = 0;
		i = 0;
		for (at = 0; at < total; at += seg.len) {
			if (!dms_seg_at(elem, n, at, pages, shift, &seg) || !seg.len)
				break;
			for (; i < seg.elem; i++)
				begin += elem[i].len;
			bad += seg.elem < i || seg.off != elem[seg.elem].off + (at - begin);
			bad += seg.off + seg.len > elem[seg.elem].off + elem[seg.elem].len;
			first = seg.off >> shift;
			last = (seg.off + seg.len - 1) >> shift;
			bad += last - first >= pages;
			/* as long as it can be */
			bad += last - first + 1 < pages &&
			       at + seg.len != begin + elem[seg.elem].len;
			bad += ((seg.off + seg.len) & ((1U << shift) - 1)) &&
			       at + seg.len != begin + elem[seg.elem].len;
		}
		EXPECT_EQ(at, total);
		EXPECT_FALSE(dms_seg_at(elem, n, total, pages, shift, &seg));
	}
	EXPECT_EQ(bad, 0);
}

TEST(seg_totals)
{
	static const struct dms_elem elem[] = {
		{ 0, 1 }, { 0, U32_MAX - 2 }, { 0, 1 }, { 0, 1 }, { 0, U32_MAX },
	};
	u32 total = 77;

	EXPECT_EQ(dms_seg_total(elem, 0, 0, &total), 0);
	EXPECT_EQ(total, 0);
	EXPECT_EQ(dms_seg_total(elem, 1, 1, &total), 0);
	EXPECT_EQ(total, 1);
	EXPECT_EQ(dms_seg_total(elem, 1, 0, &total), -EMSGSIZE);
	EXPECT_EQ(total, 1);
	EXPECT_EQ(dms_seg_total(elem, 3, U32_MAX, &total), 0);
	EXPECT_EQ(total, U32_MAX);
	EXPECT_EQ(dms_seg_total(elem, 3, U32_MAX - 1, &total), -EMSGSIZE);
	EXPECT_EQ(dms_seg_total(elem, 4, U32_MAX, &total), -EMSGSIZE);	/* 2^32 */
	EXPECT_EQ(dms_seg_total(elem, 5, U32_MAX, &total), -EMSGSIZE);
	EXPECT_EQ(dms_seg_total(elem, 2, 0x7fffffff, &total), -EMSGSIZE);
	EXPECT_EQ(total, U32_MAX);
}

TEST(read_lengths)
{
	static const u32 v[] = { 0, 1, 2, 4096, 0x7fffffff, 0x80000000, U32_MAX };
	u32 i, j, k, want;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		for (j = 0; j < ARRAY_SIZE(v); j++) {
			for (k = 0; k < ARRAY_SIZE(v); k++) {
				test_row(i * 100 + j * 10 + k);
				want = v[i] < v[j] ? v[i] : v[j];
				want = v[k] < want ? v[k] : want;
				EXPECT_EQ(dms_read_len(v[i], v[j], v[k]), want);
			}
		}
	}
}

TESTSET(dms_core_seg,
	CASE(seg_rows),
	CASE(seg_edges),
	CASE(elem_pieces),
	CASE(seg_walks),
	CASE(seg_totals),
	CASE(read_lengths));
