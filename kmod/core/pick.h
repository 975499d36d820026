/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is next on a path: deficit round robin over streams, by bytes
 * (M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round
 * Robin", SIGCOMM 1995), with weights: a turn is so many times longer.
 */
#ifndef DMS_CORE_PICK_H
#define DMS_CORE_PICK_H

#include <linux/types.h>

/* Bytes of a turn of weight 1, and of a debt, are never more than this. */
#define DMS_DRR_QUANTUM_MAX	0x100000
#define DMS_DRR_DEBT_MAX	0x400000
#define DMS_DRR_WEIGHT_MAX	16

struct dms_drr {
	s32	deficit;
};

void dms_drr_init(struct dms_drr *d);
/* its turn came, or goes on */
void dms_drr_turn(struct dms_drr *d, u32 quantum, u32 weight);
bool dms_drr_may(const struct dms_drr *d);		/* may still send in this turn */
void dms_drr_charge(struct dms_drr *d, u32 bytes);
void dms_drr_idle(struct dms_drr *d);			/* nothing left: credit does not pile up */

#endif /* DMS_CORE_PICK_H */
