// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deficit round robin.  Where a stream stands is one number: what it has sent, divided
 * by its weight, in 1/16 bytes so that nothing is lost for weights up to 16.  Its round
 * is that number without the low bits.  The rounds to come are a ring of lists, each in
 * the order in which streams came, so that every step takes the same time but for the
 * way to the next round in which somebody stands, which is a step for each.
 *
 * All numbers run freely through 2^64 and are compared by their difference.
 */
#include <linux/minmax.h>

#include "pick.h"

/**
 * dms_sched_init() - nobody wants to send
 * @q: of a path
 * @order: a turn of weight 1 is 2^order bytes; what is outside of
 *	   DMS_SCHED_ORDER_MIN to _MAX counts as the nearest
 *
 * Context: Any.
 */
void dms_sched_init(struct dms_sched *q, u32 order)
{
	u32 i;

	q->now = 0;
	q->nr = 0;
	q->shift = clamp_t(u32, order, DMS_SCHED_ORDER_MIN, DMS_SCHED_ORDER_MAX) + DMS_TURN_UNIT;
	dms_link_init(&q->late);
	for (i = 0; i < DMS_SCHED_ROUNDS; i++)
		dms_link_init(&q->round[i]);
}

/**
 * dms_turn_init() - a stream that has sent nothing yet
 * @t: its turn
 *
 * Context: Any.
 */
void dms_turn_init(struct dms_turn *t)
{
	dms_link_init(&t->link);
	t->at = 0;
}

/**
 * dms_turn_waits() - does it wait for its turn?
 * @t: turn, on no list of its owner's
 *
 * Context: Any.
 */
bool dms_turn_waits(const struct dms_turn *t)
{
	return !dms_link_empty(&t->link);
}

static u64 sched_rounds(const struct dms_sched *q, u32 n)
{
	return (u64)n << q->shift;
}

static u64 sched_round_of(const struct dms_sched *q, u64 at)
{
	return at & ~(sched_rounds(q, 1) - 1);
}

/*
 * Where it stands is brought near to the round that is on: what it did not use in rounds
 * that are long over is lost, and of a debt so long that the ring has no place for it
 * the rest is forgiven.
 */
static void sched_bound(const struct dms_sched *q, struct dms_turn *t, u32 rounds)
{
	u64 late = q->now - sched_rounds(q, rounds);
	u64 last = q->now + sched_rounds(q, DMS_SCHED_ROUNDS - 1);

	if ((s64)(t->at - late) < 0)
		t->at = late;
	else if ((s64)(t->at - last) > 0)
		t->at = last;
}

/*
 * When nobody else waits there is nothing to share, and its debt is nobody's loss: the
 * rounds go on to the one in which it stands.
 */
static void sched_alone(struct dms_sched *q, struct dms_turn *t)
{
	if (!q->nr && (s64)(t->at - q->now) > 0)
		q->now = sched_round_of(q, t->at);
}

/**
 * dms_sched_begin() - a stream wants to send
 * @q: of its path
 * @t: its turn, which does not wait
 * @idle: it had nothing to send for a while: rounds that it did not use are lost, but
 *	  for a few, so that who seldom sends a short message need not wait
 *
 * Context: Any.
 * Return: true when it may; false: it waits, dms_sched_next() says when it may.
 */
bool dms_sched_begin(struct dms_sched *q, struct dms_turn *t, bool idle)
{
	sched_bound(q, t, idle ? DMS_SCHED_LATE_IDLE : DMS_SCHED_LATE);
	if (q->nr) {
		dms_sched_add(q, t);
		return false;
	}
	sched_alone(q, t);
	return true;
}

/**
 * dms_sched_add() - a stream waits for its turn
 * @q: of its path
 * @t: its turn, which does not wait
 *
 * Context: Any.
 */
void dms_sched_add(struct dms_sched *q, struct dms_turn *t)
{
	struct dms_link *list = &q->late;

	sched_bound(q, t, DMS_SCHED_LATE);
	sched_alone(q, t);
	if ((s64)(t->at - q->now) >= 0)
		list = &q->round[(t->at >> q->shift) % DMS_SCHED_ROUNDS];
	dms_link_append(list, &t->link);
	q->nr++;
}

/**
 * dms_sched_next() - whose turn is it?
 * @q: of a path
 *
 * Context: Any.
 * Return: the turn, which does not wait any more; NULL when nobody waits.
 */
struct dms_turn *dms_sched_next(struct dms_sched *q)
{
	struct dms_link *list = &q->late;
	struct dms_turn *t;

	if (!q->nr)
		return NULL;
	/* ends: who waits and is not late stands in one of the rounds */
	while (dms_link_empty(list)) {
		list = &q->round[(q->now >> q->shift) % DMS_SCHED_ROUNDS];
		if (dms_link_empty(list))
			q->now += sched_rounds(q, 1);
	}
	t = (struct dms_turn *)list->next;	/* link is its first member */
	dms_link_remove(&t->link);
	q->nr--;
	return t;
}

/**
 * dms_sched_again() - a turn was interrupted, by the window, say
 * @q: of its path
 * @t: of dms_sched_next(); it may still send
 *
 * It goes on where it stopped: before all others but those that come late.
 *
 * Context: Any.
 */
void dms_sched_again(struct dms_sched *q, struct dms_turn *t)
{
	struct dms_link *list = &q->late;

	if ((s64)(t->at - q->now) >= 0)
		list = &q->round[(q->now >> q->shift) % DMS_SCHED_ROUNDS];
	dms_link_prepend(list, &t->link);
	q->nr++;
}
