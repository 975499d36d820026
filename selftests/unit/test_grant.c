// SPDX-License-Identifier: GPL-2.0-only
/* Landings granted ahead. */
#include "dms_test.h"
#include "core/grant.h"

#define AHEAD	DMS_GRANTS_AHEAD

/* The next @n messages after @arrived, of 1000 bytes each; how many it became. */
static u32 grant_out(struct dms_grants_rx *rx, u32 arrived, u32 n)
{
	u32 i, out = 0;

	for (i = 1; i <= n; i++) {
		if (!dms_grants_rx_may(rx, arrived, arrived + i))
			continue;
		dms_grants_rx_out(rx, arrived + i, 1000);
		out++;
	}
	return out;
}

#define grant_some(rx, arrived, n)	EXPECT_EQ(grant_out(rx, arrived, n), n)

/* All that is due goes; how many. */
static u32 grant_end_all(struct dms_grants_rx *rx)
{
	u32 n = 0;
	int at;

	while ((at = dms_grants_rx_end(rx)) >= 0) {
		n += rx->g[at].state == DMS_GRANT_ENDING;
		dms_grants_rx_gone(rx, at);
	}
	return n;
}

/* Only the next few, each once. */
TEST(grant_window)
{
	static const u32 from[] = { 0, 1, 77, U32_MAX - 2, U32_MAX };
	struct dms_grants_rx rx;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		at = from[i];
		test_row(i);
		dms_grants_rx_init(&rx);
		EXPECT_FALSE(dms_grants_rx_may(&rx, at, at));
		EXPECT_FALSE(dms_grants_rx_may(&rx, at, at - 1));
		EXPECT_TRUE(dms_grants_rx_may(&rx, at, at + AHEAD));
		EXPECT_FALSE(dms_grants_rx_may(&rx, at, at + AHEAD + 1));
		grant_some(&rx, at, AHEAD - 1);
		EXPECT_FALSE(dms_grants_rx_may(&rx, at, at + 1));
		EXPECT_TRUE(dms_grants_rx_may(&rx, at, at + AHEAD));
		dms_grants_rx_out(&rx, at + AHEAD, 1000);
		EXPECT_EQ(dms_grants_rx_count(&rx, DMS_GRANT_OUT), AHEAD);
		/* one came: its place is not free before its key is gone */
		EXPECT_FALSE(dms_grants_rx_waits(&rx, at + 1 + AHEAD));
		EXPECT_EQ(dms_grants_rx_pushed(&rx, at + 1, 1000), 0);
		EXPECT_FALSE(dms_grants_rx_may(&rx, at + 1, at + 1 + AHEAD));
		EXPECT_TRUE(dms_grants_rx_waits(&rx, at + 1 + AHEAD));
		EXPECT_EQ(dms_grants_rx_end(&rx), dms_grant_at(at + 1));
		EXPECT_EQ(dms_grants_rx_end(&rx), -1);
		EXPECT_FALSE(dms_grants_rx_may(&rx, at + 1, at + 1 + AHEAD));
		EXPECT_TRUE(dms_grants_rx_waits(&rx, at + 1 + AHEAD));
		EXPECT_EQ(dms_grants_rx_busy(&rx), AHEAD);
		dms_grants_rx_gone(&rx, dms_grant_at(at + 1));
		EXPECT_FALSE(dms_grants_rx_waits(&rx, at + 1 + AHEAD));
		EXPECT_EQ(dms_grants_rx_busy(&rx), AHEAD - 1);
		EXPECT_TRUE(dms_grants_rx_may(&rx, at + 1, at + 1 + AHEAD));
	}
}

/* What a peer may say of a grant, and when. */
TEST(grant_pushed)
{
	struct dms_grants_rx rx;

	dms_grants_rx_init(&rx);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 0, 1), -EPROTO);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 1), -EPROTO);
	grant_some(&rx, 0, 2);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 0), -EPROTO);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 1001), -EPROTO);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1 + AHEAD, 1), -EPROTO);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 3, 1), -EPROTO);
	EXPECT_EQ(rx.g[1].state, DMS_GRANT_OUT);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 1000), 0);
	EXPECT_EQ(rx.g[1].state, DMS_GRANT_DUE);
	/* twice, while its key is made invalid, and afterwards */
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 1000), -EPROTO);
	EXPECT_EQ(dms_grants_rx_end(&rx), 1);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 1000), -EPROTO);
	dms_grants_rx_gone(&rx, 1);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 1000), -EPROTO);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 2, 1), 0);
	EXPECT_EQ(grant_end_all(&rx), 1);
}

/* As many as were good for something. */
TEST(grant_ahead)
{
	struct dms_grants_rx rx;
	u32 seq;

	dms_grants_rx_init(&rx);
	EXPECT_EQ(rx.ahead, AHEAD);
	grant_some(&rx, 0, AHEAD);
	EXPECT_FALSE(dms_grants_rx_passed(&rx, 1 + AHEAD));
	EXPECT_EQ(rx.ahead, AHEAD);
	EXPECT_TRUE(dms_grants_rx_passed(&rx, 1));
	EXPECT_FALSE(dms_grants_rx_passed(&rx, 1));
	EXPECT_EQ(rx.ahead, AHEAD / 2);
	EXPECT_EQ(grant_end_all(&rx), 1);
	/* more are out than there should be */
	EXPECT_FALSE(dms_grants_rx_may(&rx, 1, 1 + AHEAD));
	EXPECT_TRUE(dms_grants_rx_passed(&rx, 2));
	EXPECT_TRUE(dms_grants_rx_passed(&rx, 3));
	EXPECT_EQ(rx.ahead, 0);
	EXPECT_EQ(grant_end_all(&rx), 2);
	EXPECT_EQ(dms_grants_rx_count(&rx, DMS_GRANT_OUT), 1);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 4, 1), 0);
	EXPECT_EQ(rx.ahead, 1);
	EXPECT_EQ(grant_end_all(&rx), 1);
	dms_grants_rx_missed(&rx);
	EXPECT_EQ(rx.ahead, 1);
	for (seq = 5; seq < 5 + 2 * AHEAD; seq++) {
		test_row(seq);
		grant_some(&rx, seq - 1, 1);
		EXPECT_EQ(dms_grants_rx_pushed(&rx, seq, 7), 0);
		EXPECT_EQ(grant_end_all(&rx), 1);
		EXPECT_EQ(rx.ahead, min_t(u32, seq - 3, AHEAD));
	}
	rx.ahead = 0;
	EXPECT_FALSE(dms_grants_rx_may(&rx, seq, seq + 1));
	dms_grants_rx_missed(&rx);
	grant_some(&rx, seq, 1);
	EXPECT_FALSE(dms_grants_rx_may(&rx, seq, seq + 2));
}

/* Both phases, and what crosses them. */
TEST(grant_revoke)
{
	struct dms_grants_rx rx;

	dms_grants_rx_init(&rx);
	EXPECT_FALSE(dms_grants_rx_revoke(&rx));
	EXPECT_EQ(rx.ahead, 0);
	dms_grants_rx_init(&rx);
	grant_some(&rx, 10, 3);
	EXPECT_EQ(dms_grants_rx_revoked(&rx), -EPROTO);
	EXPECT_EQ(dms_grants_rx_say(&rx), 0);
	EXPECT_EQ(rx.revoke, DMS_REVOKE_NONE);
	EXPECT_TRUE(dms_grants_rx_revoke(&rx));
	EXPECT_FALSE(dms_grants_rx_revoke(&rx));
	/* nothing was said yet, so there is no answer */
	EXPECT_EQ(dms_grants_rx_revoked(&rx), -EPROTO);
	EXPECT_EQ(dms_grants_rx_say(&rx), 3);
	EXPECT_EQ(dms_grants_rx_say(&rx), 0);
	EXPECT_FALSE(dms_grants_rx_revoke(&rx));
	EXPECT_EQ(dms_grants_rx_end(&rx), -1);
	/* a message that crosses it */
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 11, 5), 0);
	EXPECT_EQ(grant_end_all(&rx), 1);
	EXPECT_FALSE(dms_grants_rx_may(&rx, 11, 14));
	EXPECT_EQ(dms_grants_rx_revoked(&rx), 0);
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 12, 5), -EPROTO);
	EXPECT_EQ(dms_grants_rx_revoked(&rx), -EPROTO);
	EXPECT_EQ(grant_end_all(&rx), 2);
	EXPECT_EQ(dms_grants_rx_busy(&rx), 0);
	dms_grants_rx_missed(&rx);
	EXPECT_TRUE(dms_grants_rx_may(&rx, 11, 14));
}

/* All were used before it left, or the stream ended. */
TEST(grant_revoke_for_nothing)
{
	struct dms_grants_rx rx;

	dms_grants_rx_init(&rx);
	grant_some(&rx, 0, 1);
	EXPECT_TRUE(dms_grants_rx_revoke(&rx));
	EXPECT_EQ(dms_grants_rx_pushed(&rx, 1, 5), 0);
	EXPECT_EQ(dms_grants_rx_say(&rx), 0);
	EXPECT_EQ(rx.revoke, DMS_REVOKE_NONE);
	EXPECT_EQ(dms_grants_rx_revoked(&rx), -EPROTO);
	grant_some(&rx, 1, 1);
	EXPECT_TRUE(dms_grants_rx_revoke(&rx));
	EXPECT_EQ(dms_grants_rx_release(&rx), 1);
	EXPECT_EQ(dms_grants_rx_release(&rx), 0);
	EXPECT_EQ(rx.revoke, DMS_REVOKE_NONE);
	EXPECT_EQ(dms_grants_rx_say(&rx), 0);
	EXPECT_EQ(grant_end_all(&rx), 2);
}

/* The peer says its last word, and finds REVOKE after it: that is answered still. */
TEST(grant_revoke_crosses_end)
{
	struct dms_grants_rx rx;

	dms_grants_rx_init(&rx);
	grant_some(&rx, 0, 2);
	EXPECT_TRUE(dms_grants_rx_revoke(&rx));
	EXPECT_EQ(dms_grants_rx_say(&rx), 2);
	EXPECT_EQ(dms_grants_rx_release(&rx), 2);
	EXPECT_EQ(grant_end_all(&rx), 2);
	EXPECT_FALSE(dms_grants_rx_may(&rx, 0, 1));
	EXPECT_EQ(dms_grants_rx_revoked(&rx), 0);
	EXPECT_EQ(dms_grants_rx_revoked(&rx), -EPROTO);
	EXPECT_EQ(dms_grants_rx_busy(&rx), 0);
}

static int grant_add(struct dms_grants_tx *tx, u32 sent, u32 credit, u32 seq, u32 len)
{
	struct dms_grant g = { .addr = 1000ULL + seq, .rkey = seq, .seq = seq, .len = len };

	return dms_grants_tx_add(tx, sent, credit, &g);
}

/* The queue pair fails while REVOKE has no answer: grants can be given again. */
TEST(grant_lost)
{
	struct dms_grants_rx rx;

	dms_grants_rx_init(&rx);
	dms_grants_rx_out(&rx, 1, 100);
	EXPECT_TRUE(dms_grants_rx_revoke(&rx));
	EXPECT_EQ(dms_grants_rx_say(&rx), 1);
	dms_grants_rx_gone(&rx, dms_grant_at(1));
	dms_grants_rx_missed(&rx);
	EXPECT_FALSE(dms_grants_rx_may(&rx, 0, 1));
	dms_grants_rx_lost(&rx);
	EXPECT_TRUE(dms_grants_rx_may(&rx, 0, 1));
	EXPECT_EQ(dms_grants_rx_revoked(&rx), -EPROTO);
}

TEST(grant_sender)
{
	static const u32 from[] = { 0, 5, U32_MAX - 1, U32_MAX };
	struct dms_grants_tx tx;
	const struct dms_grant *g;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(from); i++) {
		at = from[i];
		test_row(i);
		dms_grants_tx_drop(&tx);
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + 1, 1));
		EXPECT_TRUE(!dms_grants_tx_get(&tx, 0, 0));
		EXPECT_EQ(grant_add(&tx, at, at + 9, at + 1, 0), -EPROTO);
		EXPECT_EQ(grant_add(&tx, at, at + 9, at + AHEAD + 1, 10), -EPROTO);
		EXPECT_EQ(grant_add(&tx, at, at, at + 1, 10), -EPROTO);
		EXPECT_EQ(grant_add(&tx, at, at + 1, at + 2, 10), -EPROTO);
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + 1, 1));
		/* crossed its message */
		EXPECT_EQ(grant_add(&tx, at, at + 9, at, 10), 0);
		EXPECT_EQ(grant_add(&tx, at, at + 9, at - 1, 10), 0);
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at, 10));
		EXPECT_EQ(grant_add(&tx, at, at + 1, at + 1, 10), 0);
		EXPECT_EQ(grant_add(&tx, at, at + 1, at + 1, 10), -EPROTO);
		EXPECT_EQ(grant_add(&tx, at, at + 9, at + AHEAD, 20), 0);
		g = dms_grants_tx_get(&tx, at + 1, 10);
		EXPECT_TRUE(g && g->addr == 1000ULL + (at + 1) && g->rkey == at + 1);
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + 1, 11));
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + 1, 0));
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + 2, 1));
		/* its place is free when its message has left */
		EXPECT_EQ(grant_add(&tx, at + 1, at + 9, at + 1 + AHEAD, 30), 0);
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + 1, 10));
		EXPECT_TRUE(dms_grants_tx_get(&tx, at + 1 + AHEAD, 30));
		EXPECT_TRUE(dms_grants_tx_get(&tx, at + AHEAD, 20));
		dms_grants_tx_drop(&tx);
		EXPECT_TRUE(!dms_grants_tx_get(&tx, at + AHEAD, 20));
		EXPECT_EQ(grant_add(&tx, at, at + 9, at + 1, 10), 0);
	}
}

/*
 * Two sides with all that can cross between them, one direction each way in order.
 * A WRITE never meets a key that is not there, and everything ends.
 */
struct grant_wire {
	u32	what[64], seq[64];
	u32	head, tail;
};

enum { G_GRANT, G_CREDIT, G_REVOKE, G_REVOKED, G_PUSHED, G_OTHER };

static void grant_put(struct grant_wire *w, u32 what, u32 seq)
{
	w->what[w->tail % 64] = what;
	w->seq[w->tail++ % 64] = seq;
}

struct grant_model {
	struct dms_grants_rx rx;
	struct dms_grants_tx tx;
	struct grant_wire to_rx, to_tx;
	u32 sent, arrived, credit, told, pushed, revokes, bad;
};

static void grant_model_rx(struct grant_model *m)
{
	struct grant_wire *w = &m->to_rx;
	u32 what = w->what[w->head % 64], seq = w->seq[w->head % 64];

	w->head++;
	if (what == G_REVOKED) {
		m->bad += dms_grants_rx_revoked(&m->rx) != 0;
		return;
	}
	m->bad += seq != m->arrived + 1;
	if (what == G_PUSHED) {
		m->bad += dms_grants_rx_pushed(&m->rx, seq, 10) != 0;
		m->pushed++;
	} else if (!dms_grants_rx_passed(&m->rx, seq)) {
		dms_grants_rx_missed(&m->rx);
	}
	m->arrived = seq;
}

static void grant_model_tx(struct grant_model *m)
{
	struct grant_wire *w = &m->to_tx;
	u32 what = w->what[w->head % 64], seq = w->seq[w->head % 64];

	w->head++;
	if (what == G_CREDIT) {
		m->told = seq;
	} else if (what == G_GRANT) {
		m->bad += grant_add(&m->tx, m->sent, m->told, seq, 10) != 0;
	} else {
		dms_grants_tx_drop(&m->tx);
		grant_put(&m->to_rx, G_REVOKED, 0);
	}
}

static void grant_model_step(struct grant_model *m, u32 what)
{
	u32 i, seq;

	switch (what) {
	case 0:		/* a RECV, and what it allows */
		if (m->credit - m->arrived < 8)
			grant_put(&m->to_tx, G_CREDIT, ++m->credit);
		for (i = 1; i <= AHEAD; i++) {
			seq = m->arrived + i;
			if (seq > m->credit || !dms_grants_rx_may(&m->rx, m->arrived, seq))
				continue;
			dms_grants_rx_out(&m->rx, seq, 10);
			grant_put(&m->to_tx, G_GRANT, seq);
		}
		break;
	case 1:
		dms_grants_rx_revoke(&m->rx);
		break;
	case 2:
		if (dms_grants_rx_say(&m->rx)) {
			grant_put(&m->to_tx, G_REVOKE, 0);
			m->revokes++;
		}
		break;
	case 3:
		grant_end_all(&m->rx);
		break;
	case 4:
	case 5:		/* a message that fits, or one that does not */
		/* few are under way at once, as few can be announced */
		if (m->sent >= m->told || m->sent - m->arrived > 2)
			break;
		m->sent++;
		if (what == 4 && dms_grants_tx_get(&m->tx, m->sent, 10))
			grant_put(&m->to_rx, G_PUSHED, m->sent);
		else
			grant_put(&m->to_rx, G_OTHER, m->sent);
		break;
	case 6:
		if (m->to_rx.head != m->to_rx.tail)
			grant_model_rx(m);
		break;
	default:
		if (m->to_tx.head != m->to_tx.tail)
			grant_model_tx(m);
		break;
	}
}

TEST(grant_model)
{
	/* mostly messages and what they need, at times one that does not fit, or a revoke */
	static const u8 steps[] = { 0, 0, 0, 0, 2, 3, 3, 4, 6, 6, 6, 7, 7, 7, 7 };
	static struct grant_model m;
	u32 i, r;

	memset(&m, 0, sizeof(m));
	dms_grants_rx_init(&m.rx);
	test_seed(4711);
	for (i = 0; i < TEST_ROUNDS(200000); i++) {
		test_row(i);
		r = test_random() % 128;
		r = r == 1 || r == 5 ? r : steps[r % ARRAY_SIZE(steps)];
		if (m.to_tx.tail - m.to_tx.head > 40)
			r = 7;
		else if (m.to_rx.tail - m.to_rx.head > 40)
			r = 6;
		grant_model_step(&m, r);
	}
	EXPECT_EQ(m.bad, 0);
	EXPECT_TRUE(m.pushed > i / 100);
	EXPECT_TRUE(m.revokes > i / 2000);
	/* whatever was under way, it comes to its end */
	while (m.to_rx.head != m.to_rx.tail || m.to_tx.head != m.to_tx.tail)
		grant_model_step(&m, m.to_rx.head != m.to_rx.tail ? 6 : 7);
	dms_grants_rx_revoke(&m.rx);
	grant_model_step(&m, 2);
	while (m.to_rx.head != m.to_rx.tail || m.to_tx.head != m.to_tx.tail)
		grant_model_step(&m, m.to_rx.head != m.to_rx.tail ? 6 : 7);
	grant_end_all(&m.rx);
	EXPECT_EQ(dms_grants_rx_busy(&m.rx), 0);
}

TESTSET(dms_core_grant,
	CASE(grant_window),
	CASE(grant_pushed),
	CASE(grant_ahead),
	CASE(grant_revoke),
	CASE(grant_revoke_for_nothing),
	CASE(grant_lost),
	CASE(grant_revoke_crosses_end),
	CASE(grant_sender),
	CASE(grant_model));
