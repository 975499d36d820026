/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pinned bytes per user: pools, and the memory of rings and groups.
 */
#ifndef DMS_QUOTA_H
#define DMS_QUOTA_H

#include <linux/types.h>
#include <linux/uidgid.h>

/* -EDQUOT, -ENOMEM */
int dms_quota_charge(kuid_t uid, u64 bytes);
void dms_quota_uncharge(kuid_t uid, u64 bytes);
/* -EDQUOT, -ENOMEM */
int dms_quota_take_poller(kuid_t uid);
void dms_quota_put_poller(kuid_t uid);
u64 dms_quota_limit(void);
u64 dms_quota_used(kuid_t uid);

#endif /* DMS_QUOTA_H */
