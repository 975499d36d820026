/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a polling thread is worth its CPU: as long as what it looks for comes
 * at shorter distances than a limit.
 */
#ifndef DMS_CORE_SPIN_H
#define DMS_CORE_SPIN_H

#include <linux/types.h>

struct dms_spin {
	u64	last;		/* ns; the last arrival, 0: none yet */
	u32	limit;		/* ns; 0: never poll */
};

void dms_spin_init(struct dms_spin *s, u32 limit_ns);
bool dms_spin_arrival(struct dms_spin *s, u64 now);
bool dms_spin_on(const struct dms_spin *s, u64 now);

#endif /* DMS_CORE_SPIN_H */
