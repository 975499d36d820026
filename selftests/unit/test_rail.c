// SPDX-License-Identifier: GPL-2.0-only
/* Which of our addresses goes with which of the peer's. */
#include "dms_test.h"
#include "core/rail.h"

/* 10.0.C.D, and fd00:0:0:C::D */
#define V4(c, d)	{ [10] = 0xff, [11] = 0xff, [12] = 10, [14] = (c), [15] = (d) }
#define V6(c, d)	{ [0] = 0xfd, [7] = (c), [15] = (d) }
#define OWN4(c, d, p)	{ V4(c, d), 96 + (p) }
#define OWN6(c, d, p)	{ V6(c, d), (p) }
#define ANY		DMS_RAIL_ANY

struct rail_row {
	struct dms_rail_addr	own[DMS_RAILS_MAX + 1];
	u32			nr_own;
	u8			theirs[DMS_RAILS_MAX + 1][16];
	u32			nr_theirs, main;
	u32			nr, near;
	struct dms_rail		rail[DMS_RAILS_MAX];	/* ours, theirs */
};

static const struct rail_row rail_rows[] = {
	/* 0: one NIC each, as a peer without rails says it, and one that says nothing */
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 2) }, 1, 0, 1, 1, { { 0, 0 } } },
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 2) }, 0, 0, 1, 1, { { 0, 0 } } },
	/* 2: a subnet for each rail, whatever their order */
	{ { OWN4(0, 1, 24), OWN4(1, 1, 24) }, 2, { V4(0, 2), V4(1, 2) }, 2, 0,
	  2, 2, { { 0, 0 }, { 1, 1 } } },
	{ { OWN4(0, 1, 24), OWN4(1, 1, 24) }, 2, { V4(1, 2), V4(0, 2) }, 2, 1,
	  2, 2, { { 0, 1 }, { 1, 0 } } },
	{ { OWN4(0, 1, 24), OWN4(2, 1, 24), OWN4(1, 1, 24) }, 3,
	  { V4(0, 2), V4(1, 2), V4(2, 2) }, 3, 0, 3, 3, { { 0, 0 }, { 2, 1 }, { 1, 2 } } },
	/* 5: one subnet: they pair off, and take turns */
	{ { OWN4(0, 1, 24), OWN4(0, 2, 24) }, 2, { V4(0, 3), V4(0, 4) }, 2, 0,
	  2, 2, { { 0, 0 }, { 1, 1 } } },
	{ { OWN4(0, 1, 24), OWN4(0, 2, 24) }, 2, { V4(0, 3), V4(0, 4), V4(0, 5), V4(0, 6) }, 4, 0,
	  4, 4, { { 0, 0 }, { 1, 1 }, { 0, 2 }, { 1, 3 } } },
	/* 7: one NIC here, more there */
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 3), V4(0, 4) }, 2, 0, 2, 2, { { 0, 0 }, { 0, 1 } } },
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 3), V4(1, 4) }, 2, 0, 2, 1, { { 0, 0 }, { ANY, 1 } } },
	/* 9: far ones come last */
	{ { OWN4(0, 1, 24), OWN4(2, 1, 24) }, 2, { V4(0, 3), V4(1, 4), V4(2, 2) }, 3, 0,
	  3, 2, { { 0, 0 }, { 1, 2 }, { ANY, 1 } } },
	/* 10: two families */
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 2), V6(0, 2) }, 2, 0, 2, 1, { { 0, 0 }, { ANY, 1 } } },
	{ { OWN6(0, 1, 64), OWN4(0, 1, 24) }, 2, { V6(0, 2), V4(0, 2) }, 2, 0,
	  2, 2, { { 0, 0 }, { 1, 1 } } },
	/* 12: prefixes of every kind */
	{ { OWN4(0, 1, 24), OWN4(1, 1, 32) }, 2, { V4(0, 2), V4(1, 1) }, 2, 0,
	  2, 2, { { 0, 0 }, { 1, 1 } } },
	{ { OWN4(0, 1, 24), OWN4(1, 1, 32) }, 2, { V4(0, 2), V4(1, 2) }, 2, 0,
	  2, 1, { { 0, 0 }, { ANY, 1 } } },
	{ { OWN4(0, 1, 24), OWN4(1, 1, 31) }, 2, { V4(0, 2), V4(1, 0) }, 2, 0,
	  2, 2, { { 0, 0 }, { 1, 1 } } },
	{ { OWN4(0, 1, 24), OWN4(1, 1, 31) }, 2, { V4(0, 2), V4(1, 2) }, 2, 0,
	  2, 1, { { 0, 0 }, { ANY, 1 } } },
	{ { OWN4(0, 1, 24), OWN4(1, 1, 0) }, 2, { V4(0, 2), V4(2, 2) }, 2, 0,
	  2, 1, { { 0, 0 }, { ANY, 1 } } },
	{ { OWN6(0, 1, 64), OWN6(1, 1, 63) }, 2, { V6(0, 2), V6(2, 2) }, 2, 0,
	  2, 1, { { 0, 0 }, { ANY, 1 } } },
	{ { OWN6(0, 1, 64), OWN6(3, 1, 63) }, 2, { V6(0, 2), V6(2, 2) }, 2, 0,
	  2, 2, { { 0, 0 }, { 1, 1 } } },
	{ { OWN6(0, 1, 64), OWN6(1, 1, 0) }, 2, { V6(0, 2), V6(2, 2) }, 2, 0,
	  2, 1, { { 0, 0 }, { ANY, 1 } } },
	/* 20: the same one several times, and an index that is none */
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 2), V4(0, 2), V4(0, 2), V4(0, 2) }, 4, 0,
	  1, 1, { { 0, 0 } } },
	{ { OWN4(0, 1, 24) }, 1, { V4(0, 2), V4(0, 3) }, 2, 2, 1, 1, { { 0, 2 } } },
	/* 22: more than there is room for */
	{ { OWN4(0, 1, 24), OWN4(1, 1, 24), OWN4(2, 1, 24), OWN4(3, 1, 24),
	    OWN4(4, 1, 24) }, 5,
	  { V4(0, 2), V4(1, 2), V4(2, 2), V4(4, 2), V4(3, 2) }, 5, 0,
	  4, 3, { { 0, 0 }, { 1, 1 }, { 2, 2 }, { ANY, 3 } } },
};

TEST(rail_pairs)
{
	const struct rail_row *row;
	struct dms_rails r;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(rail_rows); i++) {
		test_row(i);
		row = &rail_rows[i];
		memset(&r, 0xa5, sizeof(r));
		dms_rails_pair(&r, row->own, row->nr_own, true, row->theirs, row->nr_theirs,
			       row->main);
		EXPECT_EQ(r.nr, row->nr);
		EXPECT_EQ(r.near, row->near);
		for (k = 0; k < row->nr && k < r.nr; k++) {
			EXPECT_EQ(r.rail[k].src, row->rail[k].src);
			EXPECT_EQ(r.rail[k].dst, row->rail[k].dst);
		}
	}
}

/* Every length that a byte can say. */
TEST(rail_prefix_bounds)
{
	struct dms_rail_addr own[] = { OWN4(0, 1, 32), OWN4(1, 1, 24) };
	static const u8 theirs[][16] = { V4(0, 2), V4(1, 2) };
	struct dms_rails r;
	u32 plen;

	for (plen = 0; plen < 256; plen++) {
		test_row(plen);
		own[1].plen = plen;
		dms_rails_pair(&r, own, 2, true, theirs, 2, 0);
		EXPECT_EQ(r.nr, 2);
		/* .1 and .2 differ in the last two bits; /0 is no subnet */
		EXPECT_EQ(r.near, plen > 96 && plen <= 126 ? 2 : 1);
	}
}

/* TCP goes by a NIC that has no RDMA, or the peer's does. */
TEST(rail_not_direct)
{
	static const struct dms_rail_addr own[] = { OWN4(1, 1, 24), OWN4(2, 1, 24) };
	static const u8 theirs[][16] = { V4(2, 2), V4(1, 2), V4(0, 2) };
	struct dms_rails r;

	dms_rails_pair(&r, own, 2, false, theirs, 2, 0);
	EXPECT_EQ(r.nr, 2);
	EXPECT_EQ(r.near, 2);
	EXPECT_EQ(r.rail[0].src, 1);
	EXPECT_EQ(r.rail[0].dst, 0);
	EXPECT_EQ(r.rail[1].src, 0);
	EXPECT_EQ(r.rail[1].dst, 1);
	/* it is reached through a gateway */
	dms_rails_pair(&r, own, 2, false, theirs, 3, 2);
	EXPECT_EQ(r.nr, 3);
	EXPECT_EQ(r.near, 3);
	EXPECT_EQ(r.rail[0].src, DMS_RAIL_ANY);
	/* or lists nothing */
	dms_rails_pair(&r, own, 2, false, theirs, 0, 0);
	EXPECT_EQ(r.nr, 1);
	EXPECT_EQ(r.rail[0].src, DMS_RAIL_ANY);
}

TEST(rail_turns)
{
	struct dms_rails r = { .nr = 3, .near = 2 };
	u32 i;

	for (i = 0; i < 8; i++)
		EXPECT_EQ(dms_rails_home(&r, i), i % 2);
	EXPECT_EQ(dms_rails_next(&r, 0), 1);
	EXPECT_EQ(dms_rails_next(&r, 1), 2);
	EXPECT_EQ(dms_rails_next(&r, 2), 0);
	r.nr = 1;
	EXPECT_EQ(dms_rails_next(&r, 0), 0);
}

TESTSET(dms_core_rail,
	CASE(rail_pairs),
	CASE(rail_prefix_bounds),
	CASE(rail_not_direct),
	CASE(rail_turns));
