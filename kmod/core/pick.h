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

#include <linux/minmax.h>
#include <linux/types.h>

#include "link.h"

/* A stream is never in debt for more rounds than this: at 4 KiB, 2 MiB. */
#define DMS_SCHED_ROUNDS	512
/* Rounds that are caught up with; and by one that had nothing to send. */
#define DMS_SCHED_LATE		256
#define DMS_SCHED_LATE_IDLE	16
#define DMS_SCHED_WEIGHT_MAX	16
/* A byte of weight 1 is 2^this of what is counted. */
#define DMS_TURN_UNIT		4
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

/**
 * dms_turn_may() - may a stream send in the round that is on?
 * @q: of its path
 * @t: its turn
 *
 * Context: Any.
 * Return: true as long as it has not used up its turn.
 */
static inline bool dms_turn_may(const struct dms_sched *q, const struct dms_turn *t)
{
	return (s64)(t->at - q->now) < (s64)(1ULL << q->shift);
}

/**
 * dms_turn_charge() - a stream has sent
 * @t: its turn; when it waits it is to be moved afterwards
 * @bytes: how much
 * @weight: of the stream, 1 to DMS_SCHED_WEIGHT_MAX; what is outside counts as the
 *	    nearest
 *
 * Context: Any.
 */
static inline void dms_turn_charge(struct dms_turn *t, u32 bytes, u32 weight)
{
	u32 w = clamp_t(u32, weight, 1, DMS_SCHED_WEIGHT_MAX);

	if (w == 1)
		t->at += (u64)bytes << DMS_TURN_UNIT;
	else
		t->at += ((u64)(bytes / w) << DMS_TURN_UNIT) +
			 ((bytes % w) << DMS_TURN_UNIT) / w;
}

#endif /* DMS_CORE_PICK_H */
