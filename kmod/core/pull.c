// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short first, with aging.
 *
 * Nobody starves.  Let T be age_ns, g the longest time between two calls of
 * dms_pullq_grant() while somebody waits, N the most nodes that wait at once, and
 * S the longest time until a node that is first is granted, which is that of the
 * pieces in flight, since nobody goes past it.  A node that was added in class k
 * is in class 0 after k * (T + g) at the latest: the nodes of a class are in the
 * order in which they came into it, so that those before it are due before it.
 * In class 0 it has at most N - 1 before it, nobody comes before it any more, and
 * each grant takes the first.  So it is granted within
 *
 *	k * (T + g) + N * S.
 */
#include <linux/build_bug.h>
#include <linux/minmax.h>

#include "pull.h"
#include "window.h"

static_assert(DMS_PULLQ_SHORT << (DMS_PULLQ_CLASSES - 1) == 1U << 31);
static_assert(offsetof(struct dms_pullq_node, link) == 0);

static struct dms_pullq_node *pullq_head(const struct dms_pullq *q, u32 class)
{
	const struct dms_link *head = &q->class[class];

	/* link is its first member */
	return dms_link_empty(head) ? NULL : (struct dms_pullq_node *)head->next;
}

static u32 pullq_class(u32 left)
{
	u32 class;

	for (class = 0; class < DMS_PULLQ_CLASSES - 1; class++)
		if (left <= DMS_PULLQ_SHORT << class)
			break;
	return class;
}

static void pullq_enter(struct dms_pullq *q, struct dms_pullq_node *n, u32 class, u64 now)
{
	n->class = class;
	n->since = now;
	dms_link_append(&q->class[class], &n->link);
}

/**
 * dms_pullq_init() - nobody waits
 * @q: queue
 * @age_ns: how long one waits in a class before it goes to the next shorter one
 *
 * Context: Any.
 */
void dms_pullq_init(struct dms_pullq *q, u64 age_ns)
{
	u32 i;

	for (i = 0; i < DMS_PULLQ_CLASSES; i++)
		dms_link_init(&q->class[i]);
	q->age_ns = age_ns;
	q->nr = 0;
	q->aged = 0;
}

/**
 * dms_pullq_node_init() - waits for nothing
 * @n: node
 *
 * Context: Any.
 */
void dms_pullq_node_init(struct dms_pullq_node *n)
{
	dms_link_init(&n->link);
}

/**
 * dms_pullq_waits() - is it in a queue?
 * @n: node
 *
 * Context: Any.
 * Return: true between dms_pullq_add() and dms_pullq_grant() or _del().
 */
bool dms_pullq_waits(const struct dms_pullq_node *n)
{
	return !dms_link_empty(&n->link);
}

/**
 * dms_pullq_add() - wait for budget
 * @q: queue of the NIC
 * @n: node; nothing happens when it waits already
 * @left: bytes of its message that were not pulled yet, this piece counted
 * @piece: bytes of the READ that it wants to post
 * @now_ns: of any clock that does not stop for long
 *
 * Context: Any.
 */
void dms_pullq_add(struct dms_pullq *q, struct dms_pullq_node *n, u32 left,
		   u32 piece, u64 now_ns)
{
	if (dms_pullq_waits(n))
		return;
	n->charge = piece;
	pullq_enter(q, n, pullq_class(left), now_ns);
	q->nr++;
}

/**
 * dms_pullq_del() - wait no more
 * @q: queue of the NIC
 * @n: node; nothing happens when it does not wait
 *
 * The caller goes on with dms_pullq_grant(): it may have been the first.
 *
 * Context: Any.
 */
void dms_pullq_del(struct dms_pullq *q, struct dms_pullq_node *n)
{
	if (!dms_pullq_waits(n))
		return;
	dms_link_remove(&n->link);
	q->nr--;
}

static bool pullq_due(const struct dms_pullq *q, struct dms_pullq_node *n, u64 now)
{
	s64 waited = (s64)(now - n->since);

	if (waited < 0) {
		/* The clock went back: it waits from here. */
		n->since = now;
		return false;
	}
	return (u64)waited >= q->age_ns;
}

/* From the short end, so that one goes one class further at a call. */
static void pullq_age(struct dms_pullq *q, u64 now)
{
	struct dms_pullq_node *n;
	u32 class;

	for (class = 1; class < DMS_PULLQ_CLASSES; class++) {
		while ((n = pullq_head(q, class)) && pullq_due(q, n, now)) {
			dms_link_remove(&n->link);
			pullq_enter(q, n, class - 1, now);
			q->aged++;
		}
	}
}

static struct dms_pullq_node *pullq_first(const struct dms_pullq *q)
{
	struct dms_pullq_node *n = NULL;
	u32 class;

	for (class = 0; class < DMS_PULLQ_CLASSES && !n; class++)
		n = pullq_head(q, class);
	return n;
}

/**
 * dms_pullq_grant() - who pulls next
 * @q: queue of the NIC
 * @budget: the NIC's; the piece is taken from it
 * @now_ns: of the clock of dms_pullq_add()
 *
 * Context: Any.
 * Return: the node, which does not wait any more, with node->charge to be put
 * back to @budget when its piece has come; NULL when nobody waits or the first
 * has no room.
 */
struct dms_pullq_node *dms_pullq_grant(struct dms_pullq *q, struct dms_window *budget,
				       u64 now_ns)
{
	struct dms_pullq_node *n;
	u64 charge;

	pullq_age(q, now_ns);
	n = pullq_first(q);
	if (!n)
		return NULL;
	charge = dms_window_charge(budget, n->charge);
	if (!dms_window_take(budget, charge))
		return NULL;
	dms_pullq_del(q, n);
	n->charge = (u32)charge;
	return n;
}

/**
 * dms_pullq_piece() - how long a piece should be
 * @budget: bytes, 0 is no bound
 *
 * A quarter: while one piece is being asked for the others keep the port busy,
 * and a short message waits for a quarter at most before it has its turn.
 *
 * Context: Any.
 * Return: bytes, not 0.
 */
u32 dms_pullq_piece(u64 budget)
{
	return budget ? (u32)clamp_t(u64, budget >> 2, 1, ~0U) : ~0U;
}
