// SPDX-License-Identifier: GPL-2.0-only
/* Deficit round robin. */
#include "dms_test.h"
#include "core/pick.h"

TEST(drr_steps)
{
	struct dms_drr d;

	dms_drr_init(&d);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100);
	EXPECT_EQ(d.deficit, 100);
	EXPECT_TRUE(dms_drr_may(&d));
	dms_drr_charge(&d, 99);
	EXPECT_TRUE(dms_drr_may(&d));
	dms_drr_charge(&d, 1);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100);
	dms_drr_charge(&d, 350);	/* overdrawn: the next two turns are paid already */
	EXPECT_EQ(d.deficit, -250);
	dms_drr_turn(&d, 100);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100);
	EXPECT_FALSE(dms_drr_may(&d));
	dms_drr_turn(&d, 100);
	EXPECT_TRUE(dms_drr_may(&d));
	EXPECT_EQ(d.deficit, 50);
	dms_drr_charge(&d, 0);
	EXPECT_EQ(d.deficit, 50);
}

TEST(drr_bounds)
{
	struct dms_drr d;
	u32 i;

	/* turns that were not used do not pile up */
	dms_drr_init(&d);
	for (i = 0; i < 10; i++)
		dms_drr_turn(&d, 100);
	EXPECT_EQ(d.deficit, 100);
	dms_drr_charge(&d, 60);
	dms_drr_turn(&d, 100);
	EXPECT_EQ(d.deficit, 100);
	/* nor does what is left when a stream goes idle; but a debt stays */
	dms_drr_idle(&d);
	EXPECT_EQ(d.deficit, 0);
	dms_drr_charge(&d, 10);
	dms_drr_idle(&d);
	EXPECT_EQ(d.deficit, -10);

	dms_drr_charge(&d, U32_MAX);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);
	dms_drr_charge(&d, U32_MAX);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);
	dms_drr_turn(&d, 0);		/* comes to an end even so */
	EXPECT_EQ(d.deficit, 1 - DMS_DRR_DEBT_MAX);
	dms_drr_charge(&d, 1);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);
	dms_drr_charge(&d, 1);
	EXPECT_EQ(d.deficit, -DMS_DRR_DEBT_MAX);

	dms_drr_init(&d);
	dms_drr_charge(&d, DMS_DRR_DEBT_MAX - 1);
	EXPECT_EQ(d.deficit, 1 - DMS_DRR_DEBT_MAX);

	dms_drr_init(&d);
	dms_drr_turn(&d, U32_MAX);
	EXPECT_EQ(d.deficit, DMS_DRR_QUANTUM_MAX);
	dms_drr_turn(&d, 0x80000000);
	EXPECT_EQ(d.deficit, DMS_DRR_QUANTUM_MAX);
	dms_drr_init(&d);
	dms_drr_turn(&d, DMS_DRR_QUANTUM_MAX - 1);
	EXPECT_EQ(d.deficit, DMS_DRR_QUANTUM_MAX - 1);
}

/*
 * Streams that always have something to send get the same, but for one turn
 * and one message each, whatever the sizes of their messages are.
 */
TEST(drr_is_fair)
{
	static const u32 sizes[] = { 64, 1000, 8192, 65536 };
	u64 sent[ARRAY_SIZE(sizes)] = { 0 };
	struct dms_drr d[ARRAY_SIZE(sizes)];
	const u32 quantum = 8192;
	u32 round, i, size;
	s64 diff;

	test_seed(0xdecade01);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		dms_drr_init(&d[i]);
	for (round = 1; round <= 500; round++) {
		test_row(round);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			dms_drr_turn(&d[i], quantum);
			while (dms_drr_may(&d[i])) {
				size = 1 + test_random() % sizes[i];
				dms_drr_charge(&d[i], size);
				sent[i] += size;
			}
		}
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			diff = (s64)sent[i] - (s64)round * quantum;
			EXPECT_TRUE(diff >= 0 && diff < sizes[i]);
		}
	}
}

TESTSET(dms_core_pick,
	CASE(drr_steps),
	CASE(drr_bounds),
	CASE(drr_is_fair));
