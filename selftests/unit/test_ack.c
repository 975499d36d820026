// SPDX-License-Identifier: GPL-2.0-only
/* When an acknowledgement may wait for an answer. */
#include "dms_test.h"
#include "core/ack.h"

#define LIMIT	2

/* Messages come and are answered, one by one. */
static u32 ack_rounds(struct dms_ack *a, u32 delivered, u32 *now, u32 n)
{
	while (n--) {
		dms_ack_heard(a, ++delivered, *now);
		*now += LIMIT;
		dms_ack_answered(a, delivered, *now, LIMIT);
	}
	return delivered;
}

TEST(ack_learns)
{
	u32 now = U32_MAX - 3, n = 0, i;
	struct dms_ack a;

	dms_ack_init(&a);
	EXPECT_FALSE(dms_ack_heard(&a, 0, now));
	for (i = 0; i < DMS_ACK_SURE; i++) {
		test_row(i);
		EXPECT_FALSE(dms_ack_heard(&a, n + 1, now));
		n = ack_rounds(&a, n, &now, 1);
	}
	/* from here on, and also when it is looked again */
	EXPECT_TRUE(dms_ack_heard(&a, n + 1, now));
	EXPECT_TRUE(dms_ack_heard(&a, n + 1, now + 100));
	EXPECT_EQ(a.score, DMS_ACK_SURE);
}

/* Counts of messages run through 2^32 like ticks. */
TEST(ack_wraps)
{
	u32 now = 5, n;
	struct dms_ack a;

	dms_ack_init(&a);
	dms_ack_answered(&a, U32_MAX - 2, now, LIMIT);
	n = ack_rounds(&a, U32_MAX - 2, &now, DMS_ACK_SURE);
	EXPECT_EQ(n, DMS_ACK_SURE - 3);
	EXPECT_TRUE(dms_ack_heard(&a, n + 1, now));
}

/* What makes it forget: a second message, a late answer, an acknowledgement in vain. */
TEST(ack_forgets)
{
	u32 now = 0, n, way;
	struct dms_ack a;

	for (way = 0; way < 6; way++) {
		test_row(way);
		dms_ack_init(&a);
		n = ack_rounds(&a, 0, &now, DMS_ACK_SURE);
		EXPECT_TRUE(dms_ack_heard(&a, n + 1, now));
		switch (way) {
		case 0:		/* another one before the answer */
			EXPECT_FALSE(dms_ack_heard(&a, n + 2, now));
			break;
		case 1:		/* the same, and answered before it is looked at */
			dms_ack_answered(&a, n + 2, now, LIMIT);
			n += 2;
			break;
		case 2:		/* just too late */
			dms_ack_answered(&a, ++n, now + LIMIT + 1, LIMIT);
			break;
		case 3:		/* half of the clock's range later */
			dms_ack_answered(&a, ++n, now + (1U << 31), LIMIT);
			break;
		case 4:		/* no answer */
			dms_ack_late(&a);
			break;
		case 5:		/* in time: it does not */
			dms_ack_answered(&a, ++n, now + LIMIT, LIMIT);
			EXPECT_TRUE(dms_ack_heard(&a, n + 1, now));
			continue;
		}
		EXPECT_EQ(a.score, 0);
		EXPECT_FALSE(dms_ack_heard(&a, n + 1, now));
	}
}

/* A process that is faster than the look after the delivery. */
TEST(ack_fast)
{
	struct dms_ack a;
	u32 n;

	dms_ack_init(&a);
	for (n = 1; n <= DMS_ACK_SURE; n++)
		dms_ack_answered(&a, n, 1000 * n, LIMIT);
	EXPECT_EQ(a.score, DMS_ACK_SURE);
	/* the look finds nothing that is not answered */
	EXPECT_TRUE(dms_ack_heard(&a, DMS_ACK_SURE, 9000));
}

/* Who sends without having heard says nothing about answers. */
TEST(ack_talks)
{
	u32 now = 7, n;
	struct dms_ack a;

	dms_ack_init(&a);
	dms_ack_answered(&a, 0, now, LIMIT);
	EXPECT_EQ(a.score, 0);
	n = ack_rounds(&a, 0, &now, 3);
	dms_ack_answered(&a, n, now, LIMIT);
	dms_ack_answered(&a, n, now + 1000, LIMIT);
	EXPECT_EQ(a.score, 3);
	ack_rounds(&a, n, &now, 2 * DMS_ACK_SURE);
	EXPECT_EQ(a.score, DMS_ACK_SURE);
}

TESTSET(dms_core_ack,
	CASE(ack_learns),
	CASE(ack_wraps),
	CASE(ack_forgets),
	CASE(ack_fast),
	CASE(ack_talks));
