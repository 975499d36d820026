/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is next on a path: deficit round robin over streams, by bytes
 * (M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round
 * Robin", SIGCOMM 1995), with weights: a turn is so many times longer.
 *
 * Two things differ from the paper.  A stream may overdraw its turn, by a message or
 * segment, and pays in the next rounds; it is not looked at in those, but stands in
 * the round in which it has paid.  So a turn can be short, as short as what a stream
 * of small messages can have on the wire at a time, although a segment is 256 turns.
 * And one that has something to send and cannot, for want of credit or since its message
 * was not pulled yet, keeps its round for DMS_SCHED_LATE rounds, and goes first when it
 * can.  They are as many as others can be ahead by a segment.
 */
#ifndef DMS_CORE_PICK_H
#define DMS_CORE_PICK_H

#include <linux/types.h>

#include "link.h"

/* A stream is never in debt for more rounds than this: at 4 KiB, 2 MiB. */
#define DMS_SCHED_ROUNDS	512
/* Rounds that are caught up with; and by one that had nothing to send. */
#define DMS_SCHED_LATE		256
#define DMS_SCHED_LATE_IDLE	16
#define DMS_SCHED_WEIGHT_MAX	16
/* Bytes of a turn of weight 1 are 2^order. */
#define DMS_SCHED_ORDER_MIN	6
#define DMS_SCHED_ORDER_MAX	20

/* Of a stream.  On one list at a time: the owner may use link when it does not wait. */
struct dms_turn {
	struct dms_link	link;
	u64		at;		/* 1/16 bytes of weight 1: where in the rounds it stands */
};

/* Of a path: those who want to send, by round. */
struct dms_sched {
	u64		now;		/* the beginning of the round that is on */
	u32		nr;		/* who wait */
	u32		shift;
	struct dms_link	late;		/* whose round is over */
	struct dms_link	round[DMS_SCHED_ROUNDS];
};

void dms_sched_init(struct dms_sched *q, u32 order);
void dms_turn_init(struct dms_turn *t);
bool dms_turn_waits(const struct dms_turn *t);
/*
 * It wants to send.  True: at once, nobody waits; false: it waits from now on.
 * @idle: it had nothing to send for a while
 */
bool dms_sched_begin(struct dms_sched *q, struct dms_turn *t, bool idle);
void dms_sched_add(struct dms_sched *q, struct dms_turn *t);
/* Whose turn it is, which does not wait any more; NULL: nobody waits. */
struct dms_turn *dms_sched_next(struct dms_sched *q);
/* It could not send all that it may: it is the next one again. */
void dms_sched_again(struct dms_sched *q, struct dms_turn *t);
bool dms_turn_may(const struct dms_sched *q, const struct dms_turn *t);
void dms_turn_charge(struct dms_turn *t, u32 bytes, u32 weight);

#endif /* DMS_CORE_PICK_H */
