// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned bytes per user.
 *
 * RLIMIT_MEMLOCK is not used: it is a few megabytes by default and of a
 * process, while the pages of a pool are the module's and outlive the process
 * that made it.  So there is a limit of its own, for each user, root too.
 * Memory cgroups are charged besides, by the page allocator.
 */
#include "quota.h"

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "stats.h"

static unsigned int quota_mib;
module_param(quota_mib, uint, 0644);
MODULE_PARM_DESC(quota_mib, "MiB of pinned memory that each user may have; 0 (default): half of the RAM");

struct dms_quota {
	struct list_head	node;
	kuid_t			uid;
	u64			used;	/* in bytes; the entry goes when it is 0 */
};

/* quota_lock: the list and all entries.  Process context; innermost. */
static DEFINE_MUTEX(quota_lock);
static LIST_HEAD(quotas);

/* A list is enough: one entry per user that has something pinned now. */
static struct dms_quota *quota_find(kuid_t uid)
{
	struct dms_quota *q;

	list_for_each_entry(q, &quotas, node)
		if (uid_eq(q->uid, uid))
			return q;
	return NULL;
}

/**
 * dms_quota_limit() - what each user may have
 *
 * Context: Any.
 * Return: bytes.
 */
u64 dms_quota_limit(void)
{
	unsigned int mib = READ_ONCE(quota_mib);

	return mib ? (u64)mib << 20 : ((u64)totalram_pages() << PAGE_SHIFT) / 2;
}

/**
 * dms_quota_used() - what a user has
 * @uid: user
 *
 * Context: Process context.
 * Return: bytes.
 */
u64 dms_quota_used(kuid_t uid)
{
	struct dms_quota *q;
	u64 used;

	mutex_lock(&quota_lock);
	q = quota_find(uid);
	used = q ? q->used : 0;
	mutex_unlock(&quota_lock);
	return used;
}

/**
 * dms_quota_charge() - pin more
 * @uid: user who pays; the same for dms_quota_uncharge()
 * @bytes: how much
 *
 * A limit that was lowered below what is used refuses new charges only.
 *
 * Context: Process context.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int dms_quota_charge(kuid_t uid, u64 bytes)
{
	u64 limit = dms_quota_limit();
	struct dms_quota *q;
	int err = 0;

	mutex_lock(&quota_lock);
	q = quota_find(uid);
	if (bytes > limit || (q && q->used > limit - bytes)) {
		err = -EDQUOT;
		goto unlock;
	}
	if (!q) {
		q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
		if (!q) {
			err = -ENOMEM;
			goto unlock;
		}
		q->uid = uid;
		list_add(&q->node, &quotas);
	}
	q->used += bytes;
	dms_gauge_add(DMS_GAUGE_PINNED_BYTES, bytes);
unlock:
	mutex_unlock(&quota_lock);
	if (err == -EDQUOT)
		pr_info_ratelimited("dmastream: user %u: %llu more bytes would be over the quota of %llu (%llu used); see the parameter quota_mib\n",
				    from_kuid(&init_user_ns, uid), bytes, limit,
				    dms_quota_used(uid));
	return err;
}

/**
 * dms_quota_uncharge() - give back what was charged
 * @uid: user
 * @bytes: how much
 *
 * Context: Process context, may sleep.
 */
void dms_quota_uncharge(kuid_t uid, u64 bytes)
{
	struct dms_quota *q;

	mutex_lock(&quota_lock);
	q = quota_find(uid);
	if (!WARN_ON_ONCE(!q || q->used < bytes)) {
		q->used -= bytes;
		dms_gauge_add(DMS_GAUGE_PINNED_BYTES, -(s64)bytes);
		if (!q->used) {
			list_del(&q->node);
			kfree(q);
		}
	}
	mutex_unlock(&quota_lock);
}
