/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May an acknowledgement wait for the process's answer, to ride on its packet?
 *
 * Only where the process has answered each message by one of its own, at once,
 * many times in a row, as in a ping-pong; the same guess as that of TCP's delayed
 * acknowledgements ("pingpong" mode).  One message that is followed by another,
 * or by a late answer, and it has to be learnt again.
 *
 * Time is in ticks of any clock that runs freely through 2^32.
 */
#ifndef DMS_CORE_ACK_H
#define DMS_CORE_ACK_H

#include <linux/types.h>

/* Answers in a row after which the next one is counted on. */
#define DMS_ACK_SURE	8

struct dms_ack {
	u32	base;		/* messages delivered when the process sent last */
	u32	seen;		/* messages delivered at the last look */
	u32	at;		/* tick of that look */
	u8	score;		/* answers in a row, at most DMS_ACK_SURE */
};

/**
 * dms_ack_init() - nothing was delivered yet
 * @a: state
 *
 * Context: Any.
 */
static inline void dms_ack_init(struct dms_ack *a)
{
	*a = (struct dms_ack){ 0 };
}

/**
 * dms_ack_heard() - a look after messages were delivered, or were not
 * @a: state
 * @delivered: how many in all
 * @now: tick
 *
 * Context: Any.
 * Return: true when the acknowledgement of what is not answered may wait.
 */
static inline bool dms_ack_heard(struct dms_ack *a, u32 delivered, u32 now)
{
	if (delivered != a->seen) {
		a->seen = delivered;
		a->at = now;
	}
	/* base is never ahead: both are told the same count, under one lock */
	if (delivered - a->base > 1)
		a->score = 0;
	return a->score == DMS_ACK_SURE;
}

/**
 * dms_ack_answered() - the process sends
 * @a: state
 * @delivered: messages in all
 * @now: tick
 * @limit: ticks after which an answer is late
 *
 * An answer may come before the look that follows the delivery.
 *
 * Context: Any.
 */
static inline void dms_ack_answered(struct dms_ack *a, u32 delivered, u32 now, u32 limit)
{
	u32 n = delivered - a->base;

	a->base = delivered;
	if (!n)
		return;
	if (n > 1 || (a->seen == delivered && now - a->at > limit))
		a->score = 0;
	else if (a->score < DMS_ACK_SURE)
		a->score++;
}

/**
 * dms_ack_late() - an acknowledgement waited, and no answer came
 * @a: state
 *
 * Context: Any.
 */
static inline void dms_ack_late(struct dms_ack *a)
{
	a->score = 0;
}

#endif /* DMS_CORE_ACK_H */
