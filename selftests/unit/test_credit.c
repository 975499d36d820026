// SPDX-License-Identifier: GPL-2.0-only
/* Slot and landing credits. */
#include "dms_test.h"
#include "core/credit.h"
#include "core/wire.h"

TEST(slot_tx_start)
{
	struct dms_slot_tx c;

	dms_slot_tx_init(&c, 8);
	EXPECT_EQ(dms_slot_tx_avail(&c), 8);
	EXPECT_TRUE(dms_slot_tx_data_ok(&c));
	EXPECT_TRUE(dms_slot_tx_update_ok(&c));
	dms_slot_tx_take(&c);
	EXPECT_EQ(dms_slot_tx_avail(&c), 7);
	EXPECT_EQ(c.sent, 1);
}

TEST(slot_tx_last)
{
	static const struct {
		u32 sent, limit;
		bool data, update;
	} rows[] = {
		{ 0, 0, false, false },
		{ 0, 1, false, true },
		{ 0, 2, true, true },
		{ 7, 8, false, true },
		{ 8, 8, false, false },
		{ U32_MAX, U32_MAX, false, false },
		{ U32_MAX, 0, false, true },
		{ U32_MAX, 1, true, true },
		{ U32_MAX - 1, 0, true, true },
		{ 0x7fffffff, 0x80000000, false, true },
		{ 0x7fffffff, 0x80000001, true, true },
	};
	struct dms_slot_tx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_slot_tx_init(&c, 8);
		c.sent = rows[i].sent;
		c.limit = rows[i].limit;
		EXPECT_EQ(dms_slot_tx_avail(&c), rows[i].limit - rows[i].sent);
		EXPECT_EQ(dms_slot_tx_data_ok(&c), rows[i].data);
		EXPECT_EQ(dms_slot_tx_update_ok(&c), rows[i].update);
	}
}

TEST(slot_tx_grants)
{
	static const struct {
		u32 sent, limit, depth, say;
		int rc;
	} rows[] = {
		{ 0, 8, 8, 8, 0 },			/* nothing new */
		{ 0, 8, 8, 9, -EPROTO },		/* one past sent + depth */
		{ 0, 8, 8, 7, -EPROTO },		/* backwards */
		{ 1, 8, 8, 9, 0 },
		{ 1, 8, 8, 10, -EPROTO },
		{ 8, 8, 8, 8, 0 },
		{ 8, 8, 8, 16, 0 },
		{ 8, 8, 8, 17, -EPROTO },
		{ 8, 8, 8, 7, -EPROTO },
		{ 8, 8, 8, 0, -EPROTO },
		{ 8, 8, 8, U32_MAX, -EPROTO },
		{ 8, 8, 8, 0x80000008, -EPROTO },
		{ U32_MAX, U32_MAX, 8, 0, 0 },		/* over 2^32 */
		{ U32_MAX, U32_MAX, 8, 7, 0 },
		{ U32_MAX, U32_MAX, 8, 8, -EPROTO },
		{ U32_MAX - 3, 2, 8, 1, -EPROTO },
		{ U32_MAX - 3, 2, 8, 4, 0 },
		{ U32_MAX - 3, 2, 8, 5, -EPROTO },
		{ 0x7ffffffc, 0x80000000, 8, 0x80000004, 0 },
		{ 0x7ffffffc, 0x80000000, 8, 0x7fffffff, -EPROTO },
		{ 0, 0, U32_MAX, U32_MAX, 0 },		/* the widest there is */
		{ 5, 5, 0, 5, 0 },			/* no depth, nothing to grant */
		{ 5, 5, 0, 6, -EPROTO },
	};
	struct dms_slot_tx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_slot_tx_init(&c, rows[i].depth);
		c.sent = rows[i].sent;
		c.limit = rows[i].limit;
		EXPECT_EQ(dms_slot_tx_grant(&c, rows[i].say), rows[i].rc);
		EXPECT_EQ(c.limit, rows[i].rc ? rows[i].limit : rows[i].say);
		EXPECT_EQ(c.sent, rows[i].sent);
	}
}

TEST(slot_rx_packets)
{
	static const struct {
		u32 received, told, seq;
		int rc;
	} rows[] = {
		{ 0, 8, 0, 0 },
		{ 0, 8, 1, -EPROTO },			/* one lost */
		{ 0, 8, U32_MAX, -EPROTO },
		{ 5, 8, 5, 0 },
		{ 5, 8, 4, -EPROTO },			/* doubled */
		{ 7, 8, 7, 0 },
		{ 8, 8, 8, -EPROTO },			/* beyond its credit */
		{ U32_MAX, 0, U32_MAX, 0 },
		{ U32_MAX, U32_MAX, U32_MAX, -EPROTO },
		{ U32_MAX, 3, 0, -EPROTO },
		{ 0, 3, 0, 0 },
	};
	struct dms_slot_rx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_slot_rx_init(&c, 8);
		c.received = rows[i].received;
		c.told = rows[i].told;
		EXPECT_EQ(dms_slot_rx_packet(&c, rows[i].seq), rows[i].rc);
		EXPECT_EQ(c.received, rows[i].received + !rows[i].rc);
	}
}

TEST(slot_rx_untold)
{
	static const struct {
		u32 depth, owes_at;
	} rows[] = {
		{ 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 2 }, { 5, 2 },
		{ DMS_SLOTS_FLOOR, 4 }, { DMS_SLOTS_CEIL, 2048 },
	};
	struct dms_slot_rx c;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_slot_rx_init(&c, rows[i].depth);
		EXPECT_FALSE(dms_slot_rx_owes(&c));
		c.posted = U32_MAX;	/* so that it passes 2^32 */
		c.told = U32_MAX;
		for (n = 1; n <= rows[i].owes_at; n++) {
			EXPECT_FALSE(dms_slot_rx_owes(&c));
			dms_slot_rx_post(&c, 1);
		}
		EXPECT_TRUE(dms_slot_rx_owes(&c));
		EXPECT_EQ(dms_slot_rx_tell(&c), rows[i].owes_at - 1);
		EXPECT_EQ(c.told, c.posted);
		EXPECT_FALSE(dms_slot_rx_owes(&c));
	}
}

TEST(slot_both_start_alike)
{
	struct dms_slot_tx tx;
	struct dms_slot_rx rx;
	u32 i;

	dms_slot_tx_init(&tx, 8);
	dms_slot_rx_init(&rx, 8);
	EXPECT_EQ(dms_slot_rx_tell(&rx), tx.limit);
	EXPECT_EQ(rx.posted, 8);
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(dms_slot_rx_packet(&rx, tx.sent), 0);
		dms_slot_tx_take(&tx);
	}
	EXPECT_EQ(dms_slot_rx_packet(&rx, tx.sent), -EPROTO);
	dms_slot_rx_post(&rx, 8);
	/* posted, but the peer cannot know it yet */
	EXPECT_EQ(dms_slot_rx_packet(&rx, tx.sent), -EPROTO);
	EXPECT_EQ(dms_slot_tx_grant(&tx, dms_slot_rx_tell(&rx)), 0);
	EXPECT_EQ(dms_slot_tx_avail(&tx), 8);
	EXPECT_EQ(dms_slot_rx_packet(&rx, tx.sent), 0);
}

/* What the peer counts as used after a resume: at most what was, at least what fits. */
TEST(land_tx_resumes)
{
	static const struct {
		u32 used, limit, max, say;
		int rc;
	} rows[] = {
		{ 5, 8, 16, 5, 0 },
		{ 5, 8, 16, 3, 0 },
		{ 5, 8, 16, 0, 0 },
		{ 5, 8, 16, 6, -EPROTO },
		{ 20, 24, 16, 8, 0 },
		{ 20, 24, 16, 7, -EPROTO },
		{ 2, 3, 16, U32_MAX, 0 },
		{ 2, 3, 16, 0x80000001, -EPROTO },
		{ U32_MAX, 1, 16, U32_MAX - 1, 0 },
		{ U32_MAX, 1, 16, 0, -EPROTO },
	};
	struct dms_land_tx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_land_tx_init(&c, rows[i].max);
		c.used = rows[i].used;
		c.limit = rows[i].limit;
		EXPECT_EQ(dms_land_tx_resume(&c, rows[i].say), rows[i].rc);
		EXPECT_EQ(c.used, rows[i].rc ? rows[i].used : rows[i].say);
		EXPECT_EQ(c.limit, rows[i].limit);
	}
}

TEST(land_tx_grants)
{
	static const struct {
		u32 used, limit, max, say;
		int rc;
	} rows[] = {
		{ 0, 0, 16, 0, 0 },
		{ 0, 0, 16, 1, 0 },
		{ 0, 0, 16, 16, 0 },
		{ 0, 0, 16, 17, -EPROTO },
		{ 0, 5, 16, 4, -EPROTO },
		{ 5, 5, 16, 4, -EPROTO },
		{ 5, 5, 16, 21, 0 },
		{ 5, 5, 16, 22, -EPROTO },
		{ U32_MAX, U32_MAX, 16, 15, 0 },
		{ U32_MAX, U32_MAX, 16, 16, -EPROTO },
		{ U32_MAX, 2, 16, 1, -EPROTO },
		{ 0x7fffffff, 0x7fffffff, 16, 0x8000000f, 0 },
		{ 0, 0, DMS_POSTED_CREDITS, DMS_POSTED_CREDITS, 0 },
		{ 0, 0, DMS_POSTED_CREDITS, DMS_POSTED_CREDITS + 1, -EPROTO },
	};
	struct dms_land_tx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_land_tx_init(&c, rows[i].max);
		EXPECT_EQ(dms_land_tx_avail(&c), 0);
		c.used = rows[i].used;
		c.limit = rows[i].limit;
		EXPECT_EQ(dms_land_tx_grant(&c, rows[i].say), rows[i].rc);
		EXPECT_EQ(c.limit, rows[i].rc ? rows[i].limit : rows[i].say);
		EXPECT_EQ(dms_land_tx_avail(&c), c.limit - rows[i].used);
	}
	dms_land_tx_take(&c);
	EXPECT_EQ(c.used, 1);
}

TEST(land_rx_steps)
{
	struct dms_land_rx c;
	u32 start;

	for (start = U32_MAX - 3; start != 4; start++) {
		test_row((int)start);
		dms_land_rx_init(&c);
		EXPECT_EQ(dms_land_rx_out(&c), 0);
		EXPECT_FALSE(dms_land_rx_owes(&c));
		c.granted = start;
		c.told = start;
		c.used = start;
		EXPECT_EQ(dms_land_rx_use(&c), -EPROTO);
		dms_land_rx_add(&c, 2);
		EXPECT_EQ(dms_land_rx_out(&c), 2);
		EXPECT_TRUE(dms_land_rx_owes(&c));
		EXPECT_EQ(dms_land_rx_use(&c), -EPROTO);	/* not told yet */
		EXPECT_EQ(dms_land_rx_tell(&c), (u32)(start + 2));
		EXPECT_FALSE(dms_land_rx_owes(&c));
		EXPECT_EQ(dms_land_rx_use(&c), 0);
		EXPECT_EQ(dms_land_rx_out(&c), 1);
		EXPECT_EQ(dms_land_rx_use(&c), 0);
		EXPECT_EQ(dms_land_rx_out(&c), 0);
		EXPECT_EQ(dms_land_rx_use(&c), -EPROTO);
		EXPECT_EQ(c.used, (u32)(start + 2));
	}
}

/* Two sides that do as they should never hear of an error, whatever the order. */
TEST(land_pair_random)
{
	struct dms_land_tx tx;
	struct dms_land_rx rx;
	u32 i, say, wire = 0;	/* messages sent and not arrived */

	test_seed(0x1234567);
	dms_land_tx_init(&tx, DMS_SMALL_CREDITS);
	dms_land_rx_init(&rx);
	tx.used = U32_MAX - 1000;
	tx.limit = tx.used;
	rx.granted = tx.used;
	rx.told = tx.used;
	rx.used = tx.used;
	say = tx.limit;

	for (i = 0; i < TEST_ROUNDS(200000); i++) {
		test_row(i);
		switch (test_random() % 5) {
		case 0:
			if (dms_land_rx_out(&rx) < DMS_SMALL_CREDITS)
				dms_land_rx_add(&rx, 1);
			break;
		case 1:		/* an UPDATE leaves */
			say = dms_land_rx_tell(&rx);
			break;
		case 2:		/* and arrives, or the one before does again */
			EXPECT_EQ(dms_land_tx_grant(&tx, say), 0);
			break;
		case 3:
			if (dms_land_tx_avail(&tx)) {
				dms_land_tx_take(&tx);
				wire++;
			}
			break;
		case 4:
			if (wire) {
				EXPECT_EQ(dms_land_rx_use(&rx), 0);
				wire--;
			}
			break;
		}
		EXPECT_EQ((u32)(tx.used - rx.used), wire);
		EXPECT_TRUE(dms_land_tx_avail(&tx) <= DMS_SMALL_CREDITS);
	}
	EXPECT_TRUE((s32)rx.used > 0 || TEST_ROUNDS(200000) < 20000);
}

TEST(land_target_rows)
{
	static const struct {
		u32 target, used, free, sharers, want;
	} rows[] = {
		{ 0, 0, 100, 1, 1 },		/* the first look */
		{ 0, 1, 100, 1, 2 },
		{ 1, 0, 100, 1, 1 },
		{ 1, 1, 100, 1, 2 },		/* doubles up to the most */
		{ 2, 1, 100, 1, 4 },
		{ 4, 2, 100, 1, 8 },
		{ 8, 4, 100, 1, 16 },
		{ 16, 8, 100, 1, 16 },
		{ 16, 1000, U32_MAX, 1, 16 },
		{ 16, U32_MAX, 100, 1, 16 },
		{ 8, 3, 100, 1, 8 },		/* not half of what it had */
		{ 16, 7, 100, 1, 16 },
		{ 16, 1, 100, 1, 16 },
		{ 16, 0, 100, 1, 1 },		/* idle */
		{ 12, 6, 100, 1, 16 },
		{ U32_MAX, 1, 100, 1, 16 },	/* nonsense is bounded */
		{ U32_MAX, U32_MAX, 0, U32_MAX, 8 },
		{ 8, 8, 100, 92, 16 },		/* growth is what others leave */
		{ 8, 8, 100, 93, 15 },
		{ 8, 8, 100, 99, 9 },
		{ 8, 8, 100, 100, 8 },
		{ 8, 8, 100, 101, 8 },		/* just enough for the others */
		{ 8, 8, 100, 102, 4 },		/* gives way */
		{ 1, 8, 100, 102, 1 },
		{ 0, 8, 0, 5, 1 },		/* never nothing */
		{ 8, 8, 0, 1, 8 },		/* alone: nobody to give way to */
		{ 8, 8, 0, 0, 8 },
		{ 8, 8, 1, 0, 9 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		EXPECT_EQ(dms_land_target(rows[i].target, rows[i].used, rows[i].free,
					  rows[i].sharers), rows[i].want);
	}
}

TEST(land_target_bounds)
{
	u32 target, used, free, sharers, now, bad = 0;

	for (target = 0; target <= 18; target++) {
		for (used = 0; used <= 18; used++) {
			for (free = 0; free <= 24; free++) {
				for (sharers = 1; sharers <= 24; sharers++) {
					now = dms_land_target(target, used, free, sharers);
					bad += now < 1 || now > DMS_SMALL_CREDITS;
					/* what it grows by leaves one for each sharer */
					bad += now > max_t(u32, target, 1) &&
					       free < sharers + now - max_t(u32, target, 1);
					bad += !used && now != 1;
				}
			}
		}
	}
	EXPECT_EQ(bad, 0);
}

TESTSET(dms_core_credit,
	CASE(slot_tx_start),
	CASE(slot_tx_last),
	CASE(slot_tx_grants),
	CASE(slot_rx_packets),
	CASE(slot_rx_untold),
	CASE(slot_both_start_alike),
	CASE(land_tx_grants),
	CASE(land_tx_resumes),
	CASE(land_rx_steps),
	CASE(land_pair_random),
	CASE(land_target_rows),
	CASE(land_target_bounds));
