// SPDX-License-Identifier: GPL-2.0-only
/* Receives that move between queue pairs. */
#include "dms_test.h"
#include "core/credit.h"
#include "core/depth.h"

#define DEPTH_IDLE	1000ULL

/* Grows, and posts all of it. */
static u32 depth_more(struct dms_depth_nic *nic, struct dms_depth *q)
{
	u32 want, n = dms_depth_grow(nic, q, &want);

	if (n)
		dms_depth_grown(nic, q, n);
	return n;
}

TEST(depth_join)
{
	struct dms_depth_nic nic;
	struct dms_depth q[4], big;
	u32 i;

	dms_depth_nic_init(&nic, 40, 10);
	EXPECT_EQ(dms_depth_free(&nic), 40);
	EXPECT_EQ(dms_depth_join(&nic, &q[0], 0, 10, 1), -EINVAL);
	EXPECT_EQ(dms_depth_join(&nic, &q[0], 11, 10, 1), -EINVAL);
	EXPECT_EQ(dms_depth_join(&nic, &q[0], 1, DMS_DEPTH_BUDGET_MAX + 1, 1), -EINVAL);
	EXPECT_EQ(dms_depth_join(&nic, &big, 41, 41, 1), -ENOSPC);
	EXPECT_EQ(dms_depth_join(&nic, &big, U32_MAX, U32_MAX, 1), -EINVAL);
	dms_depth_leave(&nic, &big);		/* never joined: nothing happens */
	EXPECT_EQ(dms_depth_free(&nic), 40);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(dms_depth_join(&nic, &q[i], 10, 30, 1), 0);
		EXPECT_EQ(dms_depth_now(&q[i]), 10);
	}
	EXPECT_EQ(dms_depth_free(&nic), 0);
	EXPECT_EQ(dms_depth_join(&nic, &big, 1, 1, 1), -ENOSPC);
	dms_depth_leave(&nic, &q[2]);
	dms_depth_leave(&nic, &q[2]);		/* twice is once */
	EXPECT_EQ(dms_depth_free(&nic), 10);
	EXPECT_EQ(nic.floors, 30);
	EXPECT_EQ(dms_depth_join(&nic, &big, 11, 11, 1), -ENOSPC);
	EXPECT_EQ(dms_depth_join(&nic, &big, 10, 10, 1), 0);

	dms_depth_nic_init(&nic, U32_MAX, 0);
	EXPECT_EQ(nic.budget, DMS_DEPTH_BUDGET_MAX);
	EXPECT_EQ(dms_depth_join(&nic, &big, 1, DMS_DEPTH_BUDGET_MAX, 1), 0);
}

static void depth_use(struct dms_depth *q, u32 packets, u64 now)
{
	while (packets--)
		dms_depth_packet(q, now);
}

TEST(depth_grow)
{
	struct dms_depth_nic nic;
	struct dms_depth a, b;

	dms_depth_nic_init(&nic, 1000, 8);
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, 64, 1), 0);
	EXPECT_EQ(dms_depth_join(&nic, &b, 8, 64, 1), 0);
	depth_use(&b, 3, 1);
	EXPECT_EQ(depth_more(&nic, &b), 0);		/* begins with nothing used */
	EXPECT_EQ(depth_more(&nic, &a), 0);		/* used nothing */
	depth_use(&a, 3, 1);
	EXPECT_EQ(depth_more(&nic, &a), 0);		/* less than half */
	depth_use(&a, 1, 1);
	EXPECT_EQ(depth_more(&nic, &a), 8);		/* with what was before, half */
	EXPECT_EQ(depth_more(&nic, &a), 0);		/* that is forgotten now */
	dms_depth_leave(&nic, &a);
	EXPECT_EQ(dms_depth_join(&nic, &a, 9, 64, 1), 0);
	depth_use(&a, 4, 1);				/* when it is owed an update */
	EXPECT_EQ(depth_more(&nic, &a), 9);
	dms_depth_leave(&nic, &a);
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, 64, 1), 0);
	depth_use(&a, 4, 1);
	EXPECT_EQ(depth_more(&nic, &a), 8);
	EXPECT_EQ(dms_depth_now(&a), 16);
	depth_use(&a, 100, 1);
	EXPECT_EQ(depth_more(&nic, &a), 16);
	depth_use(&a, 100, 1);
	EXPECT_EQ(depth_more(&nic, &a), 32);
	depth_use(&a, 100, 1);
	EXPECT_EQ(depth_more(&nic, &a), 0);		/* the ceiling */
	EXPECT_EQ(dms_depth_now(&a), 64);
	EXPECT_EQ(dms_depth_free(&nic), 1000 - 64 - 8);
	dms_depth_leave(&nic, &a);
	EXPECT_EQ(dms_depth_free(&nic), 1000 - 8);
}

/* ALPHA times what is free, and the reserve is for joining alone. */
TEST(depth_threshold_holds)
{
	struct dms_depth_nic nic;
	struct dms_depth a, b, c;
	u32 i, free;

	dms_depth_nic_init(&nic, 126, 10);
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, 1000, 1), 0);
	EXPECT_EQ(dms_depth_join(&nic, &b, 8, 1000, 1), 0);
	for (i = 0; i < 20; i++) {
		depth_use(&a, 1000, 1);
		depth_more(&nic, &a);
	}
	/* 100 to share: a takes 4/5 */
	EXPECT_EQ(a.above, 80);
	depth_use(&b, 8, 1);
	EXPECT_EQ(depth_more(&nic, &b), 8);
	for (i = 0; i < 20; i++) {
		depth_use(&b, 1000, 1);
		depth_more(&nic, &b);
		free = dms_depth_free(&nic) - 10;
		EXPECT_TRUE(b.above <= DMS_DEPTH_ALPHA * free);
	}
	EXPECT_EQ(b.above, 16);
	EXPECT_EQ(dms_depth_free(&nic), 14);
	EXPECT_EQ(dms_depth_join(&nic, &c, 15, 15, 1), -EAGAIN);
	EXPECT_EQ(dms_depth_join(&nic, &c, 14, 15, 1), 0);
	depth_use(&c, 100, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &c, &i), 0);
	EXPECT_EQ(i, 1);	/* to its ceiling */
}

TEST(depth_victims)
{
	struct dms_depth_nic nic;
	struct dms_depth a, b, c, d;
	u32 count = 77, i;

	dms_depth_nic_init(&nic, 100, 0);
	EXPECT_TRUE(!dms_depth_victim(&nic, 0, DEPTH_IDLE, &count));
	EXPECT_EQ(dms_depth_join(&nic, &a, 10, 100, 1), 0);
	EXPECT_EQ(dms_depth_join(&nic, &b, 10, 100, 1), 0);
	EXPECT_EQ(dms_depth_join(&nic, &c, 10, 100, 1), 0);
	depth_use(&a, 10, 100);
	depth_use(&b, 10, 200);
	EXPECT_EQ(depth_more(&nic, &a), 10);
	EXPECT_EQ(depth_more(&nic, &b), 10);
	/* nobody is idle, nobody above the threshold; c has nothing to give */
	EXPECT_TRUE(!dms_depth_victim(&nic, 99 + DEPTH_IDLE, DEPTH_IDLE, &count));
	EXPECT_TRUE(dms_depth_victim(&nic, 100 + DEPTH_IDLE, DEPTH_IDLE, &count) == &a);
	EXPECT_EQ(count, 10);
	EXPECT_EQ(dms_depth_now(&a), 10);
	EXPECT_TRUE(!dms_depth_victim(&nic, 100 + DEPTH_IDLE, DEPTH_IDLE, &count));
	/* busy again: not as long as it is asked */
	depth_use(&a, 100, 200);
	EXPECT_EQ(depth_more(&nic, &a), 0);
	dms_depth_recall(&a, 10);
	for (i = 0; i < 10; i++) {
		EXPECT_FALSE(dms_link_empty(&a.link));
		EXPECT_FALSE(dms_depth_packet(&a, 300));
		dms_depth_back(&nic, &a, 1);
		EXPECT_EQ(dms_depth_now(&a), 10);
	}
	EXPECT_TRUE(dms_depth_packet(&a, 300));
	EXPECT_EQ(a.above, 0);
	EXPECT_TRUE(dms_link_empty(&a.link));	/* is not searched any more */
	EXPECT_EQ(dms_depth_free(&nic), 60);
	dms_depth_back(&nic, &a, 5);		/* a mistake makes nothing out of nothing */
	EXPECT_EQ(dms_depth_free(&nic), 60);

	/* a busy one above the threshold gives what is above */
	for (i = 0; i < 10; i++) {
		depth_use(&b, 100, 5000);
		depth_more(&nic, &b);
	}
	EXPECT_EQ(b.above, 56);
	EXPECT_EQ(dms_depth_join(&nic, &d, 7, 100, 1), 0);
	EXPECT_EQ(dms_depth_free(&nic), 7);
	EXPECT_TRUE(dms_depth_victim(&nic, 5001, DEPTH_IDLE, &count) == &b);
	EXPECT_EQ(count, 56 - 28);
	/* and does not grow while it is asked */
	depth_use(&b, 100, 5000);
	EXPECT_EQ(depth_more(&nic, &b), 0);
	dms_depth_leave(&nic, &b);
	EXPECT_TRUE(dms_link_empty(&nic.rich));
	EXPECT_TRUE(!dms_depth_victim(&nic, 1 << 20, DEPTH_IDLE, &count));
	EXPECT_EQ(nic.above, 0);
	/* what it had is gone, and is not given back once more */
	dms_depth_back(&nic, &b, 1);
	dms_depth_leave(&nic, &b);
	EXPECT_EQ(nic.above, 0);
	EXPECT_EQ(nic.floors, 27);
}

/* The search looks at a few, and goes on where it stopped. */
TEST(depth_victim_rotates)
{
	static struct dms_depth q[DMS_DEPTH_LOOKS + 4];
	struct dms_depth_nic nic;
	u32 i, idle, count;

	for (idle = DMS_DEPTH_LOOKS - 1; idle <= DMS_DEPTH_LOOKS; idle++) {
		test_row(idle);
		dms_depth_nic_init(&nic, 10000, 0);
		for (i = 0; i < ARRAY_SIZE(q); i++) {
			EXPECT_EQ(dms_depth_join(&nic, &q[i], 2, 4, 1), 0);
			depth_use(&q[i], 2, i == idle ? 0 : 5000);
			EXPECT_EQ(depth_more(&nic, &q[i]), 2);
		}
		/* one past the last that is looked at is found by the next search */
		if (idle == DMS_DEPTH_LOOKS)
			EXPECT_TRUE(!dms_depth_victim(&nic, 5000, DEPTH_IDLE, &count));
		EXPECT_TRUE(dms_depth_victim(&nic, 5000, DEPTH_IDLE, &count) == &q[idle]);
		/* all are idle when no time at all is asked for */
		EXPECT_TRUE(dms_depth_victim(&nic, 5000, 0, &count) == &q[idle + 1]);
	}
}

/* Receives of three units: all sums are in units, all depths in receives. */
TEST(depth_units)
{
	struct dms_depth_nic nic;
	struct dms_depth a, b;
	u32 want = 77, count;

	dms_depth_nic_init(&nic, 100, 0);
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, DMS_DEPTH_BUDGET_MAX / 3 + 1, 3), -EINVAL);
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, 64, 0), -EINVAL);
	EXPECT_EQ(dms_depth_join(&nic, &a, 34, 64, 3), -ENOSPC);
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, DMS_DEPTH_BUDGET_MAX / 3, 3), 0);
	EXPECT_EQ(nic.floors, 24);
	EXPECT_EQ(dms_depth_join(&nic, &b, 4, 64, 1), 0);
	EXPECT_EQ(nic.high, 28);
	depth_use(&a, 4, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 8);
	EXPECT_EQ(want, 0);
	EXPECT_EQ(nic.above, 24);
	EXPECT_EQ(nic.high, 52);
	dms_depth_grown(&nic, &a, 8);
	/* 16 more would be 48 units of the 48 that are left: 24 + 3n <= 4 (48 - 3n) */
	depth_use(&a, 16, 2);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 11);
	EXPECT_EQ(want, 15);
	dms_depth_grown(&nic, &a, 11);
	EXPECT_EQ(nic.high, 85);
	EXPECT_TRUE(dms_depth_victim(&nic, 2 + DEPTH_IDLE, DEPTH_IDLE, &count) == &a);
	EXPECT_EQ(count, 19);
	EXPECT_EQ(nic.asked, 57);
	dms_depth_back(&nic, &a, 2);
	EXPECT_EQ(nic.asked, 51);
	EXPECT_EQ(nic.above, 51);
	EXPECT_EQ(dms_depth_posted(&a), 25);
	EXPECT_EQ(dms_depth_now(&a), 8);
	dms_depth_leave(&nic, &a);
	EXPECT_EQ(nic.asked + nic.above, 0);
	EXPECT_EQ(nic.floors, 4);
	EXPECT_EQ(nic.high, 85);
}

/* What is given and not posted yet: it neither counts as depth nor is asked back. */
TEST(depth_growing)
{
	struct dms_depth_nic nic;
	struct dms_depth a = {};
	u32 want, count;

	dms_depth_nic_init(&nic, 1000, 0);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 0);	/* has not joined */
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, 64, 1), 0);
	depth_use(&a, 8, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 8);
	EXPECT_EQ(dms_depth_now(&a), 8);
	EXPECT_EQ(dms_depth_posted(&a), 8);
	EXPECT_EQ(nic.above, 8);
	depth_use(&a, 100, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 0);	/* one at a time */
	EXPECT_TRUE(!dms_depth_victim(&nic, 1 << 20, DEPTH_IDLE, &count));
	dms_depth_grown(&nic, &a, 5);			/* no memory for three */
	EXPECT_EQ(dms_depth_now(&a), 13);
	EXPECT_EQ(nic.above, 5);
	EXPECT_FALSE(dms_link_empty(&a.link));
	depth_use(&a, 100, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 13);
	dms_depth_grown(&nic, &a, 99);			/* a mistake makes nothing */
	EXPECT_EQ(nic.above, 18);
	depth_use(&a, 100, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 26);
	dms_depth_leave(&nic, &a);
	dms_depth_grown(&nic, &a, 26);			/* too late */
	EXPECT_EQ(nic.above, 0);
	EXPECT_EQ(dms_depth_posted(&a), 0);

	/* nothing at all could be posted: it is not searched */
	EXPECT_EQ(dms_depth_join(&nic, &a, 8, 64, 1), 0);
	depth_use(&a, 8, 1);
	EXPECT_EQ(dms_depth_grow(&nic, &a, &want), 8);
	dms_depth_grown(&nic, &a, 0);
	EXPECT_TRUE(dms_link_empty(&nic.rich));
}

TEST(depth_until)
{
	static const struct {
		u32 sent, depth, until;
		bool ok, due;
	} rows[] = {
		{ 0, 8, 0, true, false },
		{ 0, 8, 8, true, true },
		{ 0, 8, 9, false, false },
		{ 20, 8, 12, true, false },
		{ 20, 8, 11, false, false },
		{ 20, 8, 28, true, true },
		{ 20, 8, 29, false, false },
		{ U32_MAX, 8, 3, true, true },
		{ 3, 8, U32_MAX, true, false },
		{ 0, 8, 1U << 31, false, false },
	};
	struct dms_slot_tx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		c.sent = rows[i].sent;
		c.limit = rows[i].sent;
		c.depth = rows[i].depth;
		EXPECT_EQ(dms_depth_until_ok(&c, rows[i].until), rows[i].ok);
		EXPECT_EQ(dms_depth_due(&c, rows[i].until), rows[i].due);
	}
}

TEST(depth_empty_packets)
{
	static const struct {
		u32 sent, limit, depth, until, want;
	} rows[] = {
		{ 0, 8, 8, 0, 0 },
		{ 0, 8, 8, 1, 1 },
		{ 0, 8, 8, 7, 7 },
		{ 0, 8, 8, 8, 7 },		/* never the last credit */
		{ 0, 8, 8, 9, 0 },		/* nonsense */
		{ 5, 8, 8, 5, 0 },		/* has sent them anyway */
		{ 5, 8, 8, 4, 0 },
		{ 5, 8, 8, 8, 2 },
		{ 7, 8, 8, 8, 0 },
		{ 8, 8, 8, 9, 0 },
		{ U32_MAX, 7, 8, 3, 4 },	/* over 2^32 */
	};
	struct dms_slot_tx c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		c.sent = rows[i].sent;
		c.limit = rows[i].limit;
		c.depth = rows[i].depth;
		EXPECT_EQ(dms_depth_empties(&c, rows[i].until), rows[i].want);
	}
}

#define DEPTH_PEERS	12
#define DEPTH_FLOOR	8
#define DEPTH_CEIL	64

/* One queue pair seen from both sides; packets travel in order, and take a while. */
struct depth_peer {
	struct dms_slot_tx	tx;
	struct dms_slot_rx	rx;
	struct dms_depth	depth;
	u32			posted;		/* receives that the NIC has */
	u32			seq[DEPTH_CEIL];	/* packets under way */
	u32			first, under_way;
	u32			told, until;	/* what travels back: limit and recall */
	u32			moved;		/* packets with data that came */
};

static void depth_send(struct depth_peer *p)
{
	p->seq[(p->first + p->under_way++) % DEPTH_CEIL] = p->tx.sent;
	dms_slot_tx_take(&p->tx);
}

/* The sender's turn: hears what it was told, sends empties, then data. */
static int depth_sender(struct depth_peer *p, bool busy)
{
	u32 n;
	int err;

	err = dms_slot_tx_grant(&p->tx, p->told);
	for (n = dms_depth_empties(&p->tx, p->until); n; n--)
		depth_send(p);
	if (busy && dms_slot_tx_data_ok(&p->tx))
		depth_send(p);
	return err;
}

/* A packet comes; false when there was no receive for it: RNR. */
static bool depth_receiver(struct dms_depth_nic *nic, struct depth_peer *p, u64 now)
{
	if (!p->under_way)
		return true;
	if (!p->posted || dms_slot_rx_packet(&p->rx, p->seq[p->first]))
		return false;
	p->first = (p->first + 1) % DEPTH_CEIL;
	p->under_way--;
	p->posted--;
	p->moved++;
	if (dms_depth_packet(&p->depth, now)) {
		p->posted++;
		dms_slot_rx_post(&p->rx, 1);
	} else {
		dms_depth_back(nic, &p->depth, 1);
	}
	return true;
}

static void depth_look(struct dms_depth_nic *nic, struct depth_peer *p)
{
	u32 n;

	if (!dms_slot_rx_owes(&p->rx))
		return;
	n = depth_more(nic, &p->depth);
	p->posted += n;
	dms_slot_rx_post(&p->rx, n);
	dms_slot_rx_resize(&p->rx, dms_depth_now(&p->depth));
	p->told = dms_slot_rx_tell(&p->rx);
}

static void depth_take_back(struct dms_depth_nic *nic, u64 now)
{
	struct dms_depth *q;
	struct depth_peer *p;
	u32 count;

	q = dms_depth_victim(nic, now, 100, &count);
	if (!q)
		return;
	p = (struct depth_peer *)((u8 *)q - offsetof(struct depth_peer, depth));
	dms_depth_recall(q, count);
	dms_slot_rx_resize(&p->rx, dms_depth_now(q));
	p->until = p->rx.received + q->recall;
	/* the recall travels in a packet, and each packet tells the limit */
	p->told = dms_slot_rx_tell(&p->rx);
}

/*
 * Twelve peers, by turns busy and idle, on a budget that is far from enough for all
 * ceilings.  No packet ever comes without a receive, the sums are right at every
 * step, capacity does move, and whoever wants to send always can in the end.
 */
TEST(depth_moves)
{
	static struct depth_peer peer[DEPTH_PEERS];
	struct dms_depth_nic nic;
	u32 round, i, sum, above, bad = 0, most = 0, busy = 0, waited = 0;
	struct depth_peer *p;

	test_seed(0xabad1dea);
	memset(peer, 0, sizeof(peer));
	dms_depth_nic_init(&nic, DEPTH_PEERS * DEPTH_FLOOR + 80, 0);
	for (i = 0; i < DEPTH_PEERS; i++) {
		p = &peer[i];
		EXPECT_EQ(dms_depth_join(&nic, &p->depth, DEPTH_FLOOR, DEPTH_CEIL, 1), 0);
		dms_slot_tx_init(&p->tx, DEPTH_FLOOR);
		dms_slot_tx_ceiling(&p->tx, DEPTH_CEIL);
		dms_slot_rx_init(&p->rx, DEPTH_FLOOR);
		p->tx.sent += U32_MAX - 500;	/* over 2^32 soon */
		p->tx.limit += U32_MAX - 500;
		p->rx.posted += U32_MAX - 500;
		p->rx.told += U32_MAX - 500;
		p->rx.received += U32_MAX - 500;
		p->told = p->tx.limit;
		p->until = p->tx.sent;
		p->posted = DEPTH_FLOOR;
	}
	for (round = 0; round < TEST_ROUNDS(400000); round++) {
		test_row(round);
		if (round % 500 == 0)
			busy = test_random();
		p = &peer[test_random() % DEPTH_PEERS];
		i = p - peer;
		switch (test_random() % 8) {
		case 0:
			depth_look(&nic, p);
			break;
		case 1:
			depth_take_back(&nic, round);
			break;
		case 2: case 3: case 4:
			bad += depth_sender(p, busy >> i & 1) != 0;
			break;
		default:
			bad += !depth_receiver(&nic, p, round);
		}
		for (i = 0, sum = 0, above = 0; i < DEPTH_PEERS; i++) {
			p = &peer[i];
			sum += p->posted + p->under_way;
			above += p->depth.above;
			bad += p->depth.asked != p->depth.recall;
			bad += p->rx.posted - p->rx.received != p->posted;
			bad += p->posted != p->depth.floor + p->depth.above;
			bad += dms_depth_now(&p->depth) < DEPTH_FLOOR;
			most = max_t(u32, most, dms_depth_now(&p->depth));
		}
		bad += above != nic.above || nic.floors + nic.above > nic.budget;
	}
	EXPECT_EQ(bad, 0);
	EXPECT_TRUE(most > DEPTH_FLOOR * 3);

	/* all busy: each sends a thousand packets more, and nobody is stuck */
	for (i = 0; i < DEPTH_PEERS; i++)
		peer[i].moved = 0;
	for (round = 0; round < 100000 && waited < DEPTH_PEERS; round++) {
		p = &peer[round % DEPTH_PEERS];
		bad += depth_sender(p, true) != 0;
		bad += !depth_receiver(&nic, p, round);
		depth_look(&nic, p);
		if (round % 50 == 0)
			depth_take_back(&nic, round);
		for (i = 0, waited = 0; i < DEPTH_PEERS; i++)
			waited += peer[i].moved >= 1000;
	}
	EXPECT_EQ(bad, 0);
	EXPECT_EQ(waited, DEPTH_PEERS);
}

TESTSET(dms_core_depth,
	CASE(depth_join),
	CASE(depth_grow),
	CASE(depth_threshold_holds),
	CASE(depth_victims),
	CASE(depth_victim_rotates),
	CASE(depth_units),
	CASE(depth_growing),
	CASE(depth_until),
	CASE(depth_empty_packets),
	CASE(depth_moves));
