/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module's workqueue: for what must not be done where it was noticed.
 * WQ_MEM_RECLAIM, since storage may be reached through streams; WQ_UNBOUND, since
 * a work may wait (for a fence, say) and must not hold up others of its CPU.
 */
#ifndef DMS_WQ_H
#define DMS_WQ_H

#include <linux/workqueue.h>

/* From before the first object until after the last. */
extern struct workqueue_struct *dms_wq;

#endif /* DMS_WQ_H */
