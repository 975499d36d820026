// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that two sides of a queue pair can do to each other with their slot
 * credits, for small depths: every reachable state is visited.  Both always
 * have data to send, and each step happens at any time: a side sends data, or
 * an update; a packet arrives; a receive is posted again.
 *
 * In every state:
 *  - a packet finds a receive (no RNR), and is taken as the next, within its
 *    credit;
 *  - what it says about credits is accepted;
 *  - when both stop to send data, the updates come to an end, and then both
 *    may send data: no deadlock, and no updates for ever.
 *
 * With receives that move (depth.h), direction 0 grows once and is then recalled from,
 * each at any time: a RECALL is sent, and empty packets.  Then also all that was asked
 * back comes back.
 *
 * In user space only: it takes memory, and seconds.
 */
#include "dms_test.h"
#include "core/credit.h"
#include "core/depth.h"

/* A side's counters start here, so that each state is also one around 2^32. */
#define BASE		(U32_MAX - 1)
#define DEPTH_MAX	8
#define NONE		127	/* of what is said about until */

/*
 * Direction d is from side d to side !d; its counters are relative to what was
 * received in it, so that the states are finite.  A packet is only the credit
 * that it carries, which is about the other direction, and what it says of recall.
 */
struct state {
	/* of direction 0 */
	u8	phase;				/* 1: has grown, 2: is recalled from */
	u8	above, recall, depth;		/* receiver: struct dms_depth; dms_slot_rx.depth */
	u8	owed;				/* RECALL is to be said */
	s8	until;				/* sender: or NONE */
	struct {
		u8	sent;			/* in flight, therefore */
		u8	limit;			/* what the sender knows */
		u8	posted, told;		/* what the receiver knows */
		u8	credit[DEPTH_MAX];	/* of the packets in flight, oldest first */
		s8	until[DEPTH_MAX];	/* likewise; those of direction 1 say it */
	} dir[2];
};

struct model {
	u32		depth[2];	/* of the receiver of direction d */
	u32		more;		/* by which direction 0 grows */
	struct state	*states;
	u32		n, size;
	u32		*hash;
	u32		hash_size;
	u32		*calm;		/* 1: being looked at, 2: comes to an end */
	u32		bad_rnr, bad_packet, bad_grant, bad_deadlock, bad_endless, bad_depth,
			bad_recall;
};

static u32 state_hash(const struct state *s)
{
	const u8 *p = (const u8 *)s;
	u32 h = 2166136261u;		/* FNV-1a */
	size_t i;

	for (i = 0; i < sizeof(*s); i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

static void model_rehash(struct model *m)
{
	u32 i, at;

	m->hash_size = m->hash_size ? m->hash_size * 2 : 1 << 12;
	m->hash = realloc(m->hash, m->hash_size * sizeof(*m->hash));
	memset(m->hash, 0, m->hash_size * sizeof(*m->hash));
	for (i = 0; i < m->n; i++) {
		at = state_hash(&m->states[i]);
		while (m->hash[at & (m->hash_size - 1)])
			at++;
		m->hash[at & (m->hash_size - 1)] = i + 1;
	}
}

/* Number of a state; a new one if it was not there. */
static u32 model_find(struct model *m, const struct state *s)
{
	u32 at = state_hash(s), *slot;

	for (;; at++) {
		slot = &m->hash[at & (m->hash_size - 1)];
		if (!*slot)
			break;
		if (!memcmp(&m->states[*slot - 1], s, sizeof(*s)))
			return *slot - 1;
	}
	if (m->n == m->size) {
		m->size = m->size ? m->size * 2 : 1024;
		m->states = realloc(m->states, m->size * sizeof(*m->states));
	}
	m->states[m->n++] = *s;
	*slot = m->n;
	if (m->n * 2 > m->hash_size)
		model_rehash(m);
	return m->n - 1;
}

static void tx_load(const struct model *m, const struct state *s, int d, struct dms_slot_tx *tx)
{
	dms_slot_tx_init(tx, m->depth[d]);
	if (!d)
		dms_slot_tx_ceiling(tx, m->depth[d] + m->more);
	tx->sent = BASE + s->dir[d].sent;
	tx->limit = BASE + s->dir[d].limit;
}

static void rx_load(const struct model *m, const struct state *s, int d, struct dms_slot_rx *rx)
{
	dms_slot_rx_init(rx, m->depth[d]);
	if (!d)
		dms_slot_rx_resize(rx, s->depth);
	rx->posted = BASE + s->dir[d].posted;
	rx->told = BASE + s->dir[d].told;
	rx->received = BASE;
}

enum sends { SEND_UPDATE, SEND_DATA, SEND_EMPTY };

static bool may_send(const struct state *s, enum sends what, const struct dms_slot_tx *tx,
		     const struct dms_slot_rx *rx)
{
	switch (what) {
	case SEND_DATA:
		return dms_slot_tx_data_ok(tx);
	case SEND_EMPTY:
		return s->until != NONE && dms_depth_empties(tx, BASE + s->until);
	default:
		return dms_slot_tx_update_ok(tx) && dms_slot_rx_owes(rx);
	}
}

/* Side @d sends: false when it may not. */
static bool step_send(struct model *m, struct state *s, int d, enum sends what)
{
	struct dms_slot_tx tx;
	struct dms_slot_rx rx;

	tx_load(m, s, d, &tx);
	rx_load(m, s, !d, &rx);
	if (!may_send(s, what, &tx, &rx))
		return false;
	dms_slot_tx_take(&tx);
	if (s->dir[d].sent == m->depth[d] + (d ? 0 : m->more)) {
		m->bad_depth++;
		return false;
	}
	s->dir[d].until[s->dir[d].sent] = NONE;
	if (d && s->owed && what == SEND_DATA) {
		if (s->recall)
			s->dir[d].until[s->dir[d].sent] = s->recall;
		s->owed = 0;
	}
	s->dir[d].credit[s->dir[d].sent] = dms_slot_rx_tell(&rx) - BASE;
	s->dir[d].sent = tx.sent - BASE;
	s->dir[!d].told = rx.told - BASE;
	return true;
}

/* Packets with data of direction 0 have got one less to go. */
static void until_less(struct state *s)
{
	u32 i;

	if (s->until != NONE)
		s->until--;
	for (i = 0; i < s->dir[1].sent; i++)
		if (s->dir[1].until[i] != NONE)
			s->dir[1].until[i]--;
	if (s->recall) {
		s->recall--;
		s->above--;
	}
}

/* Side 0 hears of it, or has sent what was asked for. */
static void until_heard(struct model *m, struct state *s, s8 until)
{
	struct dms_slot_tx tx;

	tx_load(m, s, 0, &tx);
	if (until != NONE) {
		if (!dms_depth_until_ok(&tx, BASE + until))
			m->bad_grant++;
		s->until = until;
	}
	if (s->until != NONE && !dms_depth_due(&tx, BASE + s->until))
		s->until = NONE;
}

/* The oldest packet of direction @d arrives: false when there is none. */
static bool step_arrive(struct model *m, struct state *s, int d)
{
	struct dms_slot_tx tx;
	struct dms_slot_rx rx;
	s8 until;
	u32 i;

	if (!s->dir[d].sent)
		return false;
	until = s->dir[d].until[0];
	rx_load(m, s, d, &rx);
	tx_load(m, s, !d, &tx);
	if (rx.posted == rx.received)
		m->bad_rnr++;
	if (dms_slot_rx_packet(&rx, BASE))
		m->bad_packet++;
	if (dms_slot_tx_grant(&tx, BASE + s->dir[d].credit[0]))
		m->bad_grant++;
	s->dir[!d].limit = tx.limit - BASE;

	/* relative to one more received, and so is what tells of this direction */
	s->dir[d].sent--;
	s->dir[d].limit--;
	s->dir[d].posted--;
	s->dir[d].told--;
	memmove(s->dir[d].credit, s->dir[d].credit + 1, DEPTH_MAX - 1);
	s->dir[d].credit[DEPTH_MAX - 1] = 0;
	memmove(s->dir[d].until, s->dir[d].until + 1, DEPTH_MAX - 1);
	s->dir[d].until[DEPTH_MAX - 1] = NONE;
	for (i = 0; i < s->dir[!d].sent; i++)
		s->dir[!d].credit[i]--;
	if (!d)
		until_less(s);
	until_heard(m, s, d ? until : NONE);
	return true;
}

/* The receiver of direction @d posts again: false when all are posted. */
static bool step_post(struct model *m, struct state *s, int d)
{
	struct dms_slot_rx rx;

	if (s->dir[d].posted == m->depth[d] + (d ? 0 : s->above))
		return false;
	rx_load(m, s, d, &rx);
	dms_slot_rx_post(&rx, 1);
	s->dir[d].posted = rx.posted - BASE;
	return true;
}

/* Direction 0 grows. */
static bool step_grow(struct model *m, struct state *s)
{
	if (!m->more || s->phase)
		return false;
	s->phase = 1;
	s->above = m->more;
	s->depth += m->more;
	s->dir[0].posted += m->more;
	return true;
}

/* What it has above is asked back. */
static bool step_recall(struct state *s)
{
	if (s->phase != 1)
		return false;
	s->phase = 2;
	s->recall = s->above;
	s->depth -= s->above;
	s->owed = 1;
	return true;
}

#define STEPS		12
#define FIRST_DATA	8

static bool step(struct model *m, struct state *s, int which)
{
	switch (which >> 1) {
	case 0:
		return step_arrive(m, s, which & 1);
	case 1:
		return step_post(m, s, which & 1);
	case 2:
		return step_send(m, s, which & 1, SEND_UPDATE);
	case 3:
		if (which & 1)	/* a RECALL alone */
			return s->owed && s->recall && step_send(m, s, 1, SEND_DATA);
		return step_send(m, s, 0, SEND_EMPTY);
	case 4:
		return step_send(m, s, which & 1, SEND_DATA);
	default:
		return which & 1 ? step_recall(s) : step_grow(m, s);
	}
}

static bool data_ok(const struct model *m, const struct state *s, int d)
{
	struct dms_slot_tx tx;

	tx_load(m, s, d, &tx);
	return dms_slot_tx_data_ok(&tx);
}

/* Depth first over the steps that send no data: a way back is a way without end. */
static void model_calm(struct model *m, u32 at)
{
	struct state next;
	bool any = false;
	u32 to;
	int i;

	m->calm[at] = 1;
	for (i = 0; i < FIRST_DATA; i++) {
		next = m->states[at];
		if (!step(m, &next, i))
			continue;
		any = true;
		to = model_find(m, &next);
		if (m->calm[to] == 1)
			m->bad_endless++;
		else if (!m->calm[to])
			model_calm(m, to);
	}
	if (!any && !(data_ok(m, &m->states[at], 0) && data_ok(m, &m->states[at], 1)))
		m->bad_deadlock++;
	if (!any && m->states[at].recall)
		m->bad_recall++;
	m->calm[at] = 2;
}

static void model_run(struct model *m, u32 depth0, u32 depth1, u32 more)
{
	struct state s, next;
	int d, i;
	u32 at;

	memset(m, 0, sizeof(*m));
	memset(&s, 0, sizeof(s));
	m->depth[0] = depth0;
	m->depth[1] = depth1;
	m->more = more;
	s.depth = depth0;
	s.until = NONE;
	memset(s.dir[0].until, NONE, DEPTH_MAX);
	memset(s.dir[1].until, NONE, DEPTH_MAX);
	for (d = 0; d < 2; d++) {
		s.dir[d].limit = m->depth[d];
		s.dir[d].posted = m->depth[d];
		s.dir[d].told = m->depth[d];
	}
	model_rehash(m);
	model_find(m, &s);
	for (at = 0; at < m->n; at++) {
		for (i = 0; i < STEPS; i++) {
			next = m->states[at];
			if (step(m, &next, i))
				model_find(m, &next);
		}
	}
	m->calm = calloc(m->n, sizeof(*m->calm));
	for (at = 0; at < m->n; at++)
		if (!m->calm[at])
			model_calm(m, at);
}

static void model_free(struct model *m)
{
	free(m->calm);
	free(m->hash);
	free(m->states);
}

TEST(slot_credits_all_interleavings)
{
	static const struct {
		u32 depth[2], more;
		u32 fewest;	/* states, so that a model that sees nothing is noticed */
	} rows[] = {
		{ { 4, 4 }, 0, 1000 },
		{ { 4, 5 }, 0, 1000 },
		{ { 5, 4 }, 0, 1000 },
		{ { 4, 4 }, 1, 10000 },
#if TEST_DIVISOR == 1
		{ { 4, 4 }, 2, 10000 },
		{ { 5, 4 }, 2, 10000 },
		{ { 8, 5 }, 0, 10000 },
		{ { 8, 8 }, 0, 100000 },	/* DMS_SLOTS_FLOOR */
#endif
	};
	struct model m;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		model_run(&m, rows[i].depth[0], rows[i].depth[1], rows[i].more);
		printf("# depths %u (and %u) and %u: %u states\n", m.depth[0], m.more, m.depth[1],
		       m.n);
		EXPECT_EQ(m.bad_rnr, 0);
		EXPECT_EQ(m.bad_packet, 0);
		EXPECT_EQ(m.bad_grant, 0);
		EXPECT_EQ(m.bad_depth, 0);
		EXPECT_EQ(m.bad_deadlock, 0);
		EXPECT_EQ(m.bad_endless, 0);
		EXPECT_EQ(m.bad_recall, 0);
		EXPECT_TRUE(m.n >= rows[i].fewest);
		model_free(&m);
	}
}

/* The model can see what it looks for: at depth 2, updates answer updates for ever. */
TEST(slot_credits_too_shallow)
{
	struct model m;

	model_run(&m, 2, 2, 0);
	EXPECT_TRUE(m.bad_endless > 0);
	EXPECT_EQ(m.bad_rnr + m.bad_packet + m.bad_grant + m.bad_depth, 0);
	model_free(&m);

	/* and at depth 1 nobody may ever send data */
	model_run(&m, 1, 1, 0);
	EXPECT_TRUE(m.bad_deadlock > 0 || m.bad_endless > 0);
	model_free(&m);
}

TESTSET(dms_core_credit_model,
	CASE(slot_credits_all_interleavings),
	CASE(slot_credits_too_shallow));
