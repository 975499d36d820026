// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives that move between the queue pairs of a NIC.
 *
 * Always: floors + above <= budget; floors, above and asked are the sums of those of
 * the queue pairs, in units; asked <= above for each, and one that is growing is not
 * asked.
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
 * @budget: units of all its queue pairs, at most DMS_DEPTH_BUDGET_MAX
 * @reserve: of these, not for growing; the floors of some queue pairs, so that the
 *	     next ones need not wait until somebody has given back
 *
 * Context: Any.
 */
void dms_depth_nic_init(struct dms_depth_nic *nic, u32 budget, u32 reserve)
{
	nic->budget = min_t(u32, budget, DMS_DEPTH_BUDGET_MAX);
	nic->reserve = reserve;
	nic->floors = 0;
	nic->above = 0;
	nic->asked = 0;
	nic->high = 0;
	dms_link_init(&nic->rich);
}

/**
 * dms_depth_free() - what nobody has
 * @nic: account of the NIC
 *
 * Context: NIC's lock.
 * Return: units, the reserve counted.
 */
u32 dms_depth_free(const struct dms_depth_nic *nic)
{
	return nic->budget - nic->floors - nic->above;
}

/* Something was taken. */
static void depth_high(struct dms_depth_nic *nic)
{
	nic->high = max_t(u32, nic->high, nic->floors + nic->above);
}

/**
 * dms_depth_now() - receives that stay
 * @q: account of the queue pair
 *
 * What dms_slot_rx_resize() has to know: a peer that has used up these is owed an
 * update.
 *
 * Context: NIC's lock.
 * Return: receives, neither what is asked back counted, nor what is not there yet.
 */
u32 dms_depth_now(const struct dms_depth *q)
{
	return q->floor + q->above - q->growing - q->asked;
}

/**
 * dms_depth_posted() - receives that are posted when no packet is being looked at
 * @q: account of the queue pair
 *
 * Context: either lock.
 * Return: receives, what is asked back and did not come yet counted.
 */
u32 dms_depth_posted(const struct dms_depth *q)
{
	return q->floor + q->above - q->growing;
}

/**
 * dms_depth_join() - a queue pair is accepted
 * @nic: account of the NIC
 * @q: account of the queue pair, initialized here
 * @floor: receives that it always has, not 0
 * @ceil: most that it ever has
 * @unit: units that each of its receives takes, not 0
 *
 * Context: both locks.
 * Return: 0: floor receives are its own; -EINVAL: there is no order in floor and
 * ceil; -ENOSPC: the floors would not fit, refuse it; -EAGAIN: they will fit when
 * others, see dms_depth_victim(), have given back.
 */
int dms_depth_join(struct dms_depth_nic *nic, struct dms_depth *q, u32 floor, u32 ceil,
		   u32 unit)
{
	dms_link_init(&q->link);
	q->unit = unit;
	q->floor = 0;
	q->above = 0;
	q->growing = 0;
	q->asked = 0;
	q->recall = 0;
	q->used = 0;
	/* seen: the first packet sets it, before anything can be above the floor */
	if (!floor || floor > ceil || !unit || ceil > DMS_DEPTH_BUDGET_MAX / unit)
		return -EINVAL;
	if (floor * unit > nic->budget - nic->floors)
		return -ENOSPC;
	if (floor * unit > dms_depth_free(nic))
		return -EAGAIN;
	q->floor = floor;
	q->ceil = ceil;
	nic->floors += floor * unit;
	depth_high(nic);
	return 0;
}

/**
 * dms_depth_leave() - a queue pair is gone, and its receives with it
 * @nic: account of the NIC
 * @q: account of the queue pair; one that could not join, or has left, is none
 *
 * Context: both locks.
 */
void dms_depth_leave(struct dms_depth_nic *nic, struct dms_depth *q)
{
	dms_link_remove(&q->link);
	nic->floors -= q->floor * q->unit;
	nic->above -= q->above * q->unit;
	nic->asked -= q->asked * q->unit;
	q->floor = 0;
	q->above = 0;
	q->growing = 0;
	q->asked = 0;
	q->recall = 0;
}

/**
 * dms_depth_packet() - a packet came on a queue pair
 * @q: account of the queue pair
 * @now: time, of any clock that does not stop for long
 *
 * Context: the path's lock.
 * Return: true when its receive is to be posted again; false when it is not,
 * which dms_depth_back() then has to hear.
 */
bool dms_depth_packet(struct dms_depth *q, u64 now)
{
	q->used++;
	q->seen = now;
	if (!q->recall)
		return true;
	q->recall--;
	return false;
}

/* The most that one may have above its floor now, in units. */
static u32 depth_threshold(const struct dms_depth_nic *nic)
{
	u32 free = dms_depth_free(nic);

	return (free - min_t(u32, free, nic->reserve)) * DMS_DEPTH_ALPHA;
}

/**
 * dms_depth_grow() - should a queue pair have more?
 * @nic: account of the NIC
 * @q: account of the queue pair
 * @want: units that it should have got and did not, because others have them
 *
 * Call it when the peer says that it ran out of credits.  Doubles, when half of what it
 * has was used since it last could: by then the peer has got an update, and it was not
 * enough.  It may take several calls, since a peer that is told in small pieces stalls
 * as often.  One that is being recalled from does not grow.
 *
 * Context: both locks.
 * Return: receives to post in addition to those that are posted again;
 * dms_depth_grown() has to follow.
 */
u32 dms_depth_grow(struct dms_depth_nic *nic, struct dms_depth *q, u32 *want)
{
	u32 depth = dms_depth_now(q);
	u32 most = depth_threshold(nic);
	u32 n, room = 0;

	*want = 0;
	if (!q->floor || q->used < depth / 2 || q->asked || q->growing)
		return 0;
	q->used = 0;
	n = min_t(u32, depth, q->ceil - depth);
	/* above + room <= ALPHA * (free - room), all in units */
	if (q->above * q->unit <= most)
		room = (most - q->above * q->unit) / (DMS_DEPTH_ALPHA + 1) / q->unit;
	if (n > room) {
		*want = (n - room) * q->unit;
		n = room;
	}
	if (!n)
		return 0;
	q->growing = n;
	q->above += n;
	nic->above += n * q->unit;
	depth_high(nic);
	if (dms_link_empty(&q->link))
		dms_link_append(&nic->rich, &q->link);
	return n;
}

static void depth_less(struct dms_depth_nic *nic, struct dms_depth *q, u32 count)
{
	q->above -= count;
	nic->above -= count * q->unit;
	if (!q->above)
		dms_link_remove(&q->link);
}

/**
 * dms_depth_grown() - what dms_depth_grow() gave was posted
 * @nic: account of the NIC
 * @q: account of the queue pair; nothing happens when it has left meanwhile
 * @posted: how many were, at most what was given; the rest goes back
 *
 * Context: both locks.
 */
void dms_depth_grown(struct dms_depth_nic *nic, struct dms_depth *q, u32 posted)
{
	u32 missing = q->growing - min_t(u32, posted, q->growing);

	q->growing = 0;
	depth_less(nic, q, missing);
}

/* What it should give back. */
static u32 depth_excess(const struct dms_depth_nic *nic, const struct dms_depth *q,
			u64 now, u64 idle)
{
	s64 since = (s64)(now - q->seen);

	if (q->asked || q->growing)
		return 0;
	if (since >= 0 && (u64)since >= idle)
		return q->above;
	return q->above - min_t(u32, q->above, depth_threshold(nic) / q->unit);
}

/**
 * dms_depth_victim() - who gives back
 * @nic: account of the NIC
 * @now: of the clock of dms_depth_packet()
 * @idle: a queue pair without a packet for so long gives all above its floor
 * @count: receives that it gives, which count as asked for from now on
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
struct dms_depth *dms_depth_victim(struct dms_depth_nic *nic, u64 now, u64 idle, u32 *count)
{
	struct dms_depth *q;
	u32 looks;

	for (looks = 0; looks < DMS_DEPTH_LOOKS; looks++) {
		if (dms_link_empty(&nic->rich))
			return NULL;
		q = (struct dms_depth *)nic->rich.next;	/* link is its first member */
		dms_link_remove(&q->link);
		dms_link_append(&nic->rich, &q->link);
		*count = depth_excess(nic, q, now, idle);
		if (*count) {
			q->asked = *count;
			nic->asked += *count * q->unit;
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
 * Context: both locks.
 */
void dms_depth_back(struct dms_depth_nic *nic, struct dms_depth *q, u32 count)
{
	count = min_t(u32, count, q->asked);
	q->asked -= count;
	nic->asked -= count * q->unit;
	depth_less(nic, q, count);
}

/**
 * dms_depth_until_ok() - can a peer have said this?
 * @c: slot credits of the sender
 * @until: packets that the peer wants to have got in all
 *
 * The peer computes it when it says it, from what it has got: so it is neither beyond
 * what it may have posted, nor that far behind what was sent.
 *
 * Context: Any.
 * Return: false when it is nonsense.
 */
bool dms_depth_until_ok(const struct dms_slot_tx *c, u32 until)
{
	return until - c->sent <= c->depth || c->sent - until <= c->depth;
}

/**
 * dms_depth_due() - does a sender owe packets?
 * @c: its slot credits
 * @until: packets that the peer wants to have got in all, dms_depth_until_ok()
 *
 * Context: Any.
 * Return: true until it has sent so many.
 */
bool dms_depth_due(const struct dms_slot_tx *c, u32 until)
{
	return until != c->sent && until - c->sent <= c->depth;
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
