// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives that move between the queue pairs of a NIC.
 *
 * Always: floors + above <= budget, above is the sum of the queue pairs' above,
 * and asked <= above for each.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>

#include "credit.h"
#include "depth.h"

static_assert(offsetof(struct dms_depth, link) == 0);

/**
 * dms_depth_nic_init() - nobody has joined
 * @nic: account of the NIC
 * @budget: receives of all its queue pairs, at most DMS_DEPTH_BUDGET_MAX
 * @reserve: of these, not for growing; the floor of one queue pair, so that the
 *	     next one need not wait until somebody has given back
 *
 * Context: Any.
 */
void dms_depth_nic_init(struct dms_depth_nic *nic, u32 budget, u32 reserve)
{
	nic->budget = min_t(u32, budget, DMS_DEPTH_BUDGET_MAX);
	nic->reserve = reserve;
	nic->floors = 0;
	nic->above = 0;
	dms_link_init(&nic->rich);
}

/**
 * dms_depth_free() - receives that nobody has
 * @nic: account of the NIC
 *
 * Context: NIC's lock.
 * Return: receives, the reserve counted.
 */
u32 dms_depth_free(const struct dms_depth_nic *nic)
{
	return nic->budget - nic->floors - nic->above;
}

/**
 * dms_depth_now() - receives that stay
 * @q: account of the queue pair
 *
 * What dms_slot_rx_resize() has to know: a peer that has used up these is owed an
 * update.
 *
 * Context: NIC's lock.
 * Return: receives, what is asked back not counted.
 */
u32 dms_depth_now(const struct dms_depth *q)
{
	return q->floor + q->above - q->asked;
}

/**
 * dms_depth_join() - a queue pair is accepted
 * @nic: account of the NIC
 * @q: account of the queue pair, initialized here
 * @floor: receives that it always has, not 0
 * @ceil: most that it ever has
 *
 * Context: NIC's lock.
 * Return: 0: floor receives are its own; -EINVAL: there is no order in floor and
 * ceil; -ENOSPC: the floors would not fit, refuse it; -EAGAIN: they will fit when
 * others, see dms_depth_victim(), have given back.
 */
int dms_depth_join(struct dms_depth_nic *nic, struct dms_depth *q, u32 floor, u32 ceil)
{
	dms_link_init(&q->link);
	q->floor = 0;
	q->above = 0;
	q->asked = 0;
	q->recall = 0;
	q->used = 0;
	/* seen_ns: the first packet sets it, before anything can be above the floor */
	if (!floor || floor > ceil || ceil > DMS_DEPTH_BUDGET_MAX)
		return -EINVAL;
	if (floor > nic->budget - nic->floors)
		return -ENOSPC;
	if (floor > dms_depth_free(nic))
		return -EAGAIN;
	q->floor = floor;
	q->ceil = ceil;
	nic->floors += floor;
	return 0;
}

/**
 * dms_depth_leave() - a queue pair is gone, and its receives with it
 * @nic: account of the NIC
 * @q: account of the queue pair; one that could not join, or has left, is none
 *
 * Context: NIC's lock.
 */
void dms_depth_leave(struct dms_depth_nic *nic, struct dms_depth *q)
{
	dms_link_remove(&q->link);
	nic->floors -= q->floor;
	nic->above -= q->above;
	q->floor = 0;
	q->above = 0;
	q->asked = 0;
}

/**
 * dms_depth_packet() - a packet came on a queue pair
 * @q: account of the queue pair
 * @now_ns: of any clock that does not stop for long
 *
 * Context: the path's lock.
 * Return: true when its receive is to be posted again; false when it is not,
 * which dms_depth_back() then has to hear.
 */
bool dms_depth_packet(struct dms_depth *q, u64 now_ns)
{
	q->used++;
	q->seen_ns = now_ns;
	if (!q->recall)
		return true;
	q->recall--;
	return false;
}

/* The most that one may have above its floor now. */
static u32 depth_threshold(const struct dms_depth_nic *nic)
{
	u32 free = dms_depth_free(nic);

	return (free - min_t(u32, free, nic->reserve)) * DMS_DEPTH_ALPHA;
}

/**
 * dms_depth_grow() - should a queue pair have more?
 * @nic: account of the NIC
 * @q: account of the queue pair
 *
 * Doubles when at least half of what it has was used since the last call: call it
 * when the peer is owed an update (dms_slot_rx_owes()), and with a timer that
 * forgets what was used long ago.  One that is being recalled from does not grow.
 *
 * Context: both locks.
 * Return: receives to post in addition to those that are posted again.
 */
u32 dms_depth_grow(struct dms_depth_nic *nic, struct dms_depth *q)
{
	u32 depth = dms_depth_now(q), used = q->used;
	u32 most = depth_threshold(nic);
	u32 n;

	q->used = 0;
	if (used < (depth + 1) / 2 || q->asked || q->above > most)
		return 0;
	n = min_t(u32, depth, q->ceil - depth);
	/* above + n <= ALPHA * (free - n) */
	n = min_t(u32, n, (most - q->above) / (DMS_DEPTH_ALPHA + 1));
	if (!n)
		return 0;
	q->above += n;
	nic->above += n;
	if (dms_link_empty(&q->link))
		dms_link_append(&nic->rich, &q->link);
	return n;
}

/* What it should give back. */
static u32 depth_excess(const struct dms_depth_nic *nic, const struct dms_depth *q,
			u64 now, u64 idle_ns)
{
	s64 idle = (s64)(now - q->seen_ns);

	if (q->asked)
		return 0;
	if (idle >= 0 && (u64)idle >= idle_ns)
		return q->above;
	return q->above - min_t(u32, q->above, depth_threshold(nic));
}

/**
 * dms_depth_victim() - who gives back
 * @nic: account of the NIC
 * @now_ns: of the clock of dms_depth_packet()
 * @idle_ns: a queue pair without a packet for so long gives all above its floor
 * @count: how many it gives, which counts as asked for from now on
 *
 * For when somebody could not grow or join.  The idle give all, the busy what
 * they have above the threshold, which has sunk.  Looks at DMS_DEPTH_LOOKS queue
 * pairs that have something above their floor, and goes on from there at the next
 * call.
 *
 * Context: NIC's lock; the caller then takes the lock of the queue pair's path,
 * for dms_depth_recall(), and tells the peer.
 * Return: account of a queue pair, or NULL.
 */
struct dms_depth *dms_depth_victim(struct dms_depth_nic *nic, u64 now_ns, u64 idle_ns,
				   u32 *count)
{
	struct dms_depth *q;
	u32 looks;

	for (looks = 0; looks < DMS_DEPTH_LOOKS; looks++) {
		if (dms_link_empty(&nic->rich))
			return NULL;
		q = (struct dms_depth *)nic->rich.next;	/* link is its first member */
		dms_link_remove(&q->link);
		dms_link_append(&nic->rich, &q->link);
		*count = depth_excess(nic, q, now_ns, idle_ns);
		if (*count) {
			q->asked = *count;
			return q;
		}
	}
	return NULL;
}

/**
 * dms_depth_recall() - begin to take receives back
 * @q: account of the queue pair
 * @count: from dms_depth_victim()
 *
 * The peer is to be told that it should have sent dms_slot_rx.received + q->recall
 * packets: as each packet from now on, whatever is in it, takes one receive away,
 * that number is right also when packets are on their way.
 *
 * Context: the path's lock.
 */
void dms_depth_recall(struct dms_depth *q, u32 count)
{
	q->recall += count;
}

/**
 * dms_depth_back() - receives were not posted again
 * @nic: account of the NIC
 * @q: account of the queue pair
 * @count: how often dms_depth_packet() said false
 *
 * Context: NIC's lock.
 */
void dms_depth_back(struct dms_depth_nic *nic, struct dms_depth *q, u32 count)
{
	count = min_t(u32, count, q->asked);
	q->asked -= count;
	q->above -= count;
	nic->above -= count;
	if (!q->above)
		dms_link_remove(&q->link);
}

/**
 * dms_depth_empties() - empty packets that a sender owes
 * @c: its slot credits
 * @until: packets that the peer wants to have got in all
 *
 * Packets that it sends anyway count; only the last credit is never spent so, see
 * dms_slot_tx_data_ok().
 *
 * Context: Any.
 * Return: number of packets that can be sent now; 0 also when @until is nonsense.
 */
u32 dms_depth_empties(const struct dms_slot_tx *c, u32 until)
{
	u32 owed = until - c->sent;
	u32 avail = dms_slot_tx_avail(c);

	if (owed > c->depth || !avail)
		return 0;
	return min_t(u32, owed, avail - 1);
}
