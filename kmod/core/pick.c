// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deficit round robin, in the form that lets a stream overdraw: it may send as
 * long as its deficit is above zero, and pays afterwards.  So the caller need
 * not know the size of what comes next, and what was overdrawn is missing in
 * its next turns.
 */
#include <linux/minmax.h>

#include "pick.h"

/**
 * dms_drr_init() - a stream that had no turn yet
 * @d: its account
 *
 * Context: Any.
 */
void dms_drr_init(struct dms_drr *d)
{
	d->deficit = 0;
}

/**
 * dms_drr_turn() - the turn of a stream has come
 * @d: its account
 * @quantum: bytes of a turn of weight 1; 0 counts as 1, so that every debt is
 *	     paid some day
 * @weight: of the stream, 1 to DMS_DRR_WEIGHT_MAX; what is outside counts as
 *	    the nearest
 *
 * A turn that was interrupted, because the window was full or a credit was
 * missing, goes on: what is left of it is all there is.  If it were filled up
 * again, a stream that finds the window full before its turn is used up, and is
 * first to be woken when there is room, would be served for ever and the others
 * never.
 *
 * Context: Any.
 */
void dms_drr_turn(struct dms_drr *d, u32 quantum, u32 weight)
{
	u32 turn = clamp_t(u32, quantum, 1, DMS_DRR_QUANTUM_MAX) *
		   clamp_t(u32, weight, 1, DMS_DRR_WEIGHT_MAX);

	if (d->deficit <= 0)
		d->deficit += (s32)turn;
}

/**
 * dms_drr_may() - may a stream send in this turn?
 * @d: its account
 *
 * Context: Any.
 * Return: true as long as it has not used up its turn.
 */
bool dms_drr_may(const struct dms_drr *d)
{
	return d->deficit > 0;
}

/**
 * dms_drr_charge() - a stream has sent
 * @d: its account
 * @bytes: how much
 *
 * The debt is bounded by DMS_DRR_DEBT_MAX: whoever goes round looking for a
 * stream that may send must not go round for long when there is only one.
 *
 * Context: Any.
 */
void dms_drr_charge(struct dms_drr *d, u32 bytes)
{
	s64 left = (s64)d->deficit - bytes;

	d->deficit = (s32)max_t(s64, left, -DMS_DRR_DEBT_MAX);
}

/**
 * dms_drr_idle() - a stream has nothing left to send
 * @d: its account
 *
 * What it has left is lost.  What it owes stays: else one that stops for a
 * moment after each large message would never pay.
 *
 * Context: Any.
 */
void dms_drr_idle(struct dms_drr *d)
{
	d->deficit = min_t(s32, d->deficit, 0);
}
