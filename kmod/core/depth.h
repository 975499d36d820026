/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many receives each queue pair of a NIC has posted: between a floor and a
 * ceiling, out of a budget.  The floors are checked when a queue pair joins; what
 * is above them moves from the idle to the busy.
 *
 * How far one may grow is the rule of dynamic thresholds (A. Choudhury, E. Hahne,
 * "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
 * ToN 6, 1998): what it has above its floor is at most DMS_DEPTH_ALPHA times what
 * is free.  So something stays free for whoever becomes busy next, and when that
 * shrinks, those above the threshold give back.
 *
 * A receive that was posted cannot be taken back: the peer is told up to which
 * packet it should spend credits, on empty packets when it has no others, and so
 * many receives are not posted again.
 *
 * The budget is counted in units, pages say, since a receive of one queue pair may
 * take more of them than that of another; depths are counted in receives.
 *
 * Two locks of the caller: that of the queue pair's path, and that of the NIC,
 * inside it.  Members say which: with both, either is enough for looking.
 */
#ifndef DMS_CORE_DEPTH_H
#define DMS_CORE_DEPTH_H

#include <linux/types.h>

#include "link.h"

struct dms_slot_tx;

#define DMS_DEPTH_ALPHA		4
/* A budget is at most this many units, so that ALPHA times it fits. */
#define DMS_DEPTH_BUDGET_MAX	(1U << 28)
/* Queue pairs that one search looks at. */
#define DMS_DEPTH_LOOKS		16

struct dms_depth_nic {
	/* units, all of them */
	u32		budget;
	u32		reserve;	/* not for growing: so that one more can join */
	u32		floors;		/* sum of them */
	u32		above;		/* of what is above floors, what is asked back counted */
	u32		asked;		/* of that, asked back */
	u32		high;		/* the most that floors and above ever were */
	struct dms_link	rich;		/* queue pairs with something above the floor */
};

struct dms_depth {
	struct dms_link	link;		/* nic->rich; NIC's lock */
	/* both locks: */
	u32		unit;		/* units of a receive */
	u32		floor, ceil;	/* floor 0: has not joined */
	u32		above;		/* above floor, what is asked back counted */
	u32		growing;	/* of that, not posted yet */
	/* NIC's lock: */
	u32		asked;		/* of above, asked back */
	/* the path's lock: */
	u32		recall;		/* packets whose receive is not posted again */
	u32		used;		/* packets since it last grew, or tried */
	u64		seen;		/* time of the last packet; a hint without this lock */
};

void dms_depth_nic_init(struct dms_depth_nic *nic, u32 budget, u32 reserve);
/* 0, -EINVAL, -ENOSPC: never, -EAGAIN: not until so many were recalled */
int dms_depth_join(struct dms_depth_nic *nic, struct dms_depth *q, u32 floor, u32 ceil,
		   u32 unit);
void dms_depth_leave(struct dms_depth_nic *nic, struct dms_depth *q);
u32 dms_depth_free(const struct dms_depth_nic *nic);
/* Receives of a queue pair that stay; that are posted. */
u32 dms_depth_now(const struct dms_depth *q);
u32 dms_depth_posted(const struct dms_depth *q);
/* A packet came: post its receive again? */
bool dms_depth_packet(struct dms_depth *q, u64 now);
/* How many more to post; @want: units that were missing. */
u32 dms_depth_grow(struct dms_depth_nic *nic, struct dms_depth *q, u32 *want);
void dms_depth_grown(struct dms_depth_nic *nic, struct dms_depth *q, u32 posted);
/* Who gives back, and how many; NULL: nobody of those that were looked at */
struct dms_depth *dms_depth_victim(struct dms_depth_nic *nic, u64 now, u64 idle, u32 *count);
void dms_depth_recall(struct dms_depth *q, u32 count);
void dms_depth_back(struct dms_depth_nic *nic, struct dms_depth *q, u32 count);
/* Sending side: may the peer say so; are packets owed; empty ones that can go out now. */
bool dms_depth_until_ok(const struct dms_slot_tx *c, u32 until);
bool dms_depth_due(const struct dms_slot_tx *c, u32 until);
u32 dms_depth_empties(const struct dms_slot_tx *c, u32 until);

#endif /* DMS_CORE_DEPTH_H */
