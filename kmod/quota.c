// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned bytes and polling threads per user.
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

#include "fault.h"
#include "stats.h"

static unsigned int quota_mib;
module_param(quota_mib, uint, 0644);
MODULE_PARM_DESC(quota_mib, "MiB of pinned memory that each user may have; 0 (default): half of the RAM");

static unsigned int pollers_per_user = 8;
module_param(pollers_per_user, uint, 0644);
MODULE_PARM_DESC(pollers_per_user, "polling threads that each user may have, one per open of the device (default 8)");

/* The entry goes when its user has nothing. */
struct dms_quota {
	struct list_head	node;
	kuid_t			uid;
	u64			used;		/* bytes */
	u32			pollers;	/* threads */
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

/* quota_lock is held; NULL: no memory. */
static struct dms_quota *quota_get(kuid_t uid)
{
	struct dms_quota *q = quota_find(uid);

	if (q)
		return q;
	q = dms_fault_alloc(QUOTA) ? NULL : kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (q) {
		q->uid = uid;
		list_add(&q->node, &quotas);
	}
	return q;
}

/* quota_lock is held */
static void quota_put(struct dms_quota *q)
{
	if (q->used || q->pollers)
		return;
	list_del(&q->node);
	kfree(q);
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
	q = quota_get(uid);
	if (!q) {
		err = -ENOMEM;
		goto unlock;
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
		quota_put(q);
	}
	mutex_unlock(&quota_lock);
}

/**
 * dms_quota_take_poller() - one more polling thread
 * @uid: user; the same for dms_quota_put_poller()
 *
 * Context: Process context, may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int dms_quota_take_poller(kuid_t uid)
{
	u32 limit = READ_ONCE(pollers_per_user);
	struct dms_quota *q;
	int err = 0;

	mutex_lock(&quota_lock);
	q = quota_get(uid);
	if (!q) {
		err = -ENOMEM;
	} else if (q->pollers >= limit) {
		err = -EDQUOT;
		quota_put(q);
	} else {
		q->pollers++;
	}
	mutex_unlock(&quota_lock);
	if (err == -EDQUOT)
		pr_info_ratelimited("dmastream: user %u has %u polling threads, as many as it may; see the parameter pollers_per_user\n",
				    from_kuid(&init_user_ns, uid), limit);
	return err;
}

/**
 * dms_quota_put_poller() - one less
 * @uid: user
 *
 * Context: Process context, may sleep.
 */
void dms_quota_put_poller(kuid_t uid)
{
	struct dms_quota *q;

	mutex_lock(&quota_lock);
	q = quota_find(uid);
	if (!WARN_ON_ONCE(!q || !q->pollers)) {
		q->pollers--;
		quota_put(q);
	}
	mutex_unlock(&quota_lock);
}
