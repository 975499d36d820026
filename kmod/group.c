// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffer groups.  The order of accesses to the shared ring is in
 * Documentation/ring-ordering.rst; its two sides are here and in the library's
 * dmastream/hot.h.
 *
 * A landing is in one of three places: free (a place for an entry that is to be
 * taken), returned (a checked buffer that nobody has), or taken.  There are as
 * many as the ring has entries, so that the process can have twice that in the
 * kernel's hands and no more.
 *
 * Waiters.  GROUP_KICK is set exactly while somebody waits, save for moments
 * under the lock's protection and the time in which run() has taken the last one
 * off to serve it.  When the flag goes from 0 to 1, and only then, the ring is
 * looked at again after a full barrier: as long as it stays 1, the process calls
 * ENTER after each buffer that it gives, and ENTER serves the waiters.
 */
#include "group.h"

#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <linux/dmastream.h>

#include "core/ringidx.h"
#include "ctx.h"
#include "fault.h"
#include "ioctl.h"
#include "pool.h"
#include "quota.h"
#include "shmem.h"
#include "stats.h"
#include "wq.h"

#define DMS_GROUP_ENTRIES_OFF	sizeof(struct dmastream_group_shared)

static struct dmastream_group_shared *group_shared(struct dms_group *group)
{
	return group->mem;
}

/* ---- the shared ring; group->lock is held ---- */

/* The process reads flags with nothing but the full barrier before it; see there. */
static void group_set_flags(struct dms_group *group, u32 flags)
{
	if (group->flags == flags)
		return;
	group->flags = flags;
	WRITE_ONCE(group_shared(group)->flags, flags);
}

/* NEED_KICK, and the list on which ENTER finds the group. */
static void group_set_kick(struct dms_group *group, bool on)
{
	struct dms_ctx *ctx = group->ctx;

	if (on == !!(group->flags & DMASTREAM_GROUP_KICK))
		return;
	spin_lock(&ctx->starved_lock);
	if (on) {
		list_add_tail(&group->starved_node, &ctx->starved);
		ctx->nr_starved++;
	} else {
		list_del_init(&group->starved_node);
		ctx->nr_starved--;
	}
	spin_unlock(&ctx->starved_lock);
	group_set_flags(group, group->flags ^ DMASTREAM_GROUP_KICK);
}

static void group_bad(struct dms_group *group)
{
	group->bad++;
	WRITE_ONCE(group_shared(group)->bad, group->bad);
	group_set_flags(group, group->flags | DMASTREAM_GROUP_BAD);
	dms_stat_inc(DMS_STAT_BAD_LANDINGS);
}

/* One entry, read once into @l; false when it is refused. */
static bool group_entry(struct dms_group *group, u32 index, struct dms_landing *l)
{
	const struct dmastream_landing *ring = group->mem + DMS_GROUP_ENTRIES_OFF;
	const struct dmastream_landing *e = &ring[index & (group->entries - 1)];

	l->cookie = READ_ONCE(e->cookie);
	l->off = READ_ONCE(e->offset);
	l->len = READ_ONCE(e->length);
	return !READ_ONCE(e->flags) && l->len >= group->buf_len &&
	       l->len <= DMASTREAM_MSG_MAX &&
	       dms_range_ok(l->off, l->len, group->pool->size);
}

/* How many entries there are to take; a tail that is nonsense counts as bad, and as none. */
static u32 group_pending(struct dms_group *group)
{
	/* acquire: with the release store of the tail in dmastream_group_publish() */
	u32 tail = smp_load_acquire(&group_shared(group)->tail);
	int n = dms_ring_pending(tail, group->head, group->entries);

	if (n < 0) {
		group_bad(group);
		return 0;
	}
	return n;
}

/*
 * Fills @l with the next entry that is good; each step consumes one of *@pending, so
 * that it ends.  Followed by group_consumed().
 */
static bool group_read(struct dms_group *group, struct dms_landing *l, u32 *pending)
{
	bool ok = false;

	while (*pending && !ok) {
		ok = group_entry(group, group->head, l);
		group->head++;
		(*pending)--;
		if (!ok)
			group_bad(group);
	}
	return ok;
}

/* What was read is the process's again. */
static void group_consumed(struct dms_group *group)
{
	/*
	 * release: with the acquire load of the head in dmastream_group_space();
	 * the process may write the entries again only after we have read them
	 */
	smp_store_release(&group_shared(group)->head, group->head);
}

/* Up to @n landings, added to @to; what was returned first.  How many. */
static u32 group_next(struct dms_group *group, u32 n, struct list_head *to)
{
	u32 pending = 0, got = 0, before = group->head;
	struct dms_landing *l;

	if (group->nr_returned < n)
		pending = group_pending(group);
	while (got < n) {
		l = list_first_entry_or_null(&group->returned, struct dms_landing, node);
		if (l) {
			group->nr_returned--;
		} else {
			l = list_first_entry_or_null(&group->free, struct dms_landing, node);
			if (!l || !group_read(group, l, &pending))
				break;
		}
		/* put in group_put_landings(); the group's reference lets it begin */
		if (WARN_ON_ONCE(!dms_pool_tryget_transfer(group->pool))) {
			list_move(&l->node, &group->free);
			break;
		}
		list_move_tail(&l->node, to);
		l->filled = 0;
		l->issued = 0;
		got++;
	}
	if (group->head != before)
		group_consumed(group);
	group->taken += got;
	dms_gauge_add(DMS_GAUGE_LANDINGS_TAKEN, got);
	return got;
}

static bool group_has_some(struct dms_group *group)
{
	return group->nr_returned ||
	       (!list_empty(&group->free) && group_pending(group));
}

/* ---- taking and giving back ---- */

/* Somebody starves: a worker asks the others for the buffers that they hoard. */
static void group_recall(struct dms_group *group)
{
	kref_get(&group->ref);	/* put in group_recall_work() */
	if (!queue_work(dms_wq, &group->recall_work))
		dms_group_put(group);
}

/* Each user is asked once, as long as somebody waits. */
static void group_recall_work(struct work_struct *work)
{
	struct dms_group *group = container_of(work, struct dms_group, recall_work);
	struct dms_group_user *u;
	u32 n;

	spin_lock(&group->lock);
	for (n = group->nr_users; n && group->nr_users && group->nr_waiters; n--) {
		u = list_first_entry(&group->users, struct dms_group_user, node);
		list_move_tail(&u->node, &group->users);
		if (!u->ops->recall)
			continue;
		/* it is alive: a user goes only after it took itself off */
		u->ops->get(u);
		spin_unlock(&group->lock);
		u->ops->recall(u);
		u->ops->put(u);
		cond_resched();
		spin_lock(&group->lock);
	}
	spin_unlock(&group->lock);
	dms_group_put(group);
}

/*
 * There is none: the waiter is queued, unless one came just now.  The lock is
 * held.
 */
static u32 group_wait(struct dms_group *group, struct dms_group_waiter *w,
		      struct list_head *to)
{
	if (!(group->flags & DMASTREAM_GROUP_KICK)) {
		group_set_kick(group, true);
		/*
		 * full barrier: with that of dmastream_group_publish(), which
		 * is between its store of the tail and its load of the flags
		 */
		smp_mb();
		if (group_next(group, 1, to)) {
			group_set_kick(group, false);
			return 1;
		}
	}
	w->ops->get(w);
	w->queued = true;
	list_add_tail(&w->node, &group->waiters);
	group->nr_waiters++;
	dms_stat_inc(DMS_STAT_LANDING_STALLS);
	if (group->nr_users > 1)
		group_recall(group);
	return 0;
}

/**
 * dms_group_take_some() - landing buffers
 * @group: group, of which the caller has a reference until it has given them back
 * @n: most that are wanted, not 0
 * @w: queued when there is none, or others wait already; may be NULL
 * @to: they are added to it
 *
 * Context: Process context; stream->lock may be held.
 * Return: how many there are.  They are given back with dms_group_return() or
 * dms_group_done().  A dead group gives and queues nothing.
 */
u32 dms_group_take_some(struct dms_group *group, u32 n, struct dms_group_waiter *w,
			struct list_head *to)
{
	u32 got = 0;

	spin_lock(&group->lock);
	if (group->dead)
		goto unlock;
	if (list_empty(&group->waiters))
		got = group_next(group, n, to);
	else if (w && w->turn)	/* who passes those that wait does so once */
		got = group_next(group, 1, to);
	if (w)
		w->turn = false;
	if (!got && w && !w->queued)
		got = group_wait(group, w, to);
unlock:
	spin_unlock(&group->lock);
	return got;
}

/**
 * dms_group_take() - a landing buffer
 * @group: as for dms_group_take_some()
 * @w: likewise
 *
 * Context: Process context; stream->lock may be held.
 * Return: landing, or NULL.
 */
struct dms_landing *dms_group_take(struct dms_group *group, struct dms_group_waiter *w)
{
	struct dms_landing *l;
	LIST_HEAD(one);

	if (!dms_group_take_some(group, 1, w, &one))
		return NULL;
	l = list_first_entry(&one, struct dms_landing, node);
	list_del_init(&l->node);
	return l;
}

/* The lock is held; the waiter's reference is the caller's. */
static void group_unqueue(struct dms_group *group, struct dms_group_waiter *w)
{
	list_del_init(&w->node);
	w->queued = false;
	group->nr_waiters--;
}

/**
 * dms_group_unwait() - waits no more
 * @group: group
 * @w: queued or not; its put is called when it was
 *
 * Its ready() may run at the same time.
 *
 * Context: Process context; stream->lock may be held by a caller that has a
 * reference of its own on what the waiter is in.
 */
void dms_group_unwait(struct dms_group *group, struct dms_group_waiter *w)
{
	bool queued;

	spin_lock(&group->lock);
	queued = w->queued;
	if (queued) {
		group_unqueue(group, w);
		if (list_empty(&group->waiters))
			group_set_kick(group, false);
	}
	spin_unlock(&group->lock);
	if (queued)
		w->ops->put(w);
}

static void group_wake(struct dms_group *group)
{
	dms_group_get(group);	/* put in group_wake_work() */
	if (!queue_work(dms_wq, &group->wake_work))
		dms_group_put(group);
}

/*
 * Serves waiters while there are buffers, each at most once: it may queue again
 * at the end.  When some are left that could go on, a work does: an ENTER is not
 * held up by all streams of the group.
 */
static void group_run(struct dms_group *group)
{
	struct dms_group_waiter *w;
	bool more;
	u32 n;

	spin_lock(&group->lock);
	for (n = group->nr_waiters; n && !list_empty(&group->waiters); n--) {
		if (!group_has_some(group))
			break;
		w = list_first_entry(&group->waiters, struct dms_group_waiter, node);
		group_unqueue(group, w);
		w->turn = true;
		spin_unlock(&group->lock);

		w->ops->ready(w);

		spin_lock(&group->lock);
		w->turn = false;
		spin_unlock(&group->lock);
		w->ops->put(w);
		cond_resched();
		spin_lock(&group->lock);
	}
	more = !list_empty(&group->waiters);
	/* nobody waits, and the flag was left on for the one who was served */
	if (!more)
		group_set_kick(group, false);
	more = more && group_has_some(group);
	spin_unlock(&group->lock);
	if (more)
		group_wake(group);
}

static void group_wake_work(struct work_struct *work)
{
	struct dms_group *group = container_of(work, struct dms_group, wake_work);

	group_run(group);
	dms_group_put(group);	/* got in group_wake() */
}

/**
 * dms_group_kick() - serves those who wait
 * @group: group, of which the caller has a reference
 *
 * Context: Process context, no lock held.
 */
void dms_group_kick(struct dms_group *group)
{
	group_run(group);
}

/* Landings of one group leave their stream. */
static void group_put_landings(struct list_head *list, bool used)
{
	struct dms_landing *l = list_first_entry(list, struct dms_landing, node);
	struct dms_group *group = l->group;
	bool wake;
	u32 n = 0;

	if (WARN_ON_ONCE(!group))	/* of a RECV */
		return;
	/* the group has a reference on the pool, and its caller one on the group */
	list_for_each_entry(l, list, node) {
		dms_pool_put_transfer(group->pool);	/* got in group_next() */
		n++;
	}
	spin_lock(&group->lock);
	group->taken -= n;
	if (used || group->dead) {
		list_splice_init(list, &group->free);
	} else {
		list_splice_tail_init(list, &group->returned);
		group->nr_returned += n;
	}
	/* also when it was used: perhaps there was no free place for the next one */
	wake = !list_empty(&group->waiters) && group_has_some(group);
	spin_unlock(&group->lock);

	dms_gauge_add(DMS_GAUGE_LANDINGS_TAKEN, -(s64)n);
	if (wake)
		group_wake(group);
}

/**
 * dms_group_return() - it was not used
 * @landing: taken, on no list; the buffer stays with the kernel, for the next who
 *           takes one
 *
 * Context: Process context; stream->lock may be held.  The caller has a reference
 * on the group.
 */
void dms_group_return(struct dms_landing *landing)
{
	LIST_HEAD(one);

	list_add(&landing->node, &one);
	group_put_landings(&one, false);
}

/**
 * dms_group_done() - it was used
 * @landing: taken, on no list; its completion is in the ring, or its stream has died
 *
 * Context: as dms_group_return().
 */
void dms_group_done(struct dms_landing *landing)
{
	LIST_HEAD(one);

	list_add(&landing->node, &one);
	dms_group_done_some(&one);
}

/**
 * dms_group_done_some() - they were used
 * @landings: of one group, not empty; empty on return
 *
 * Context: as dms_group_return().
 */
void dms_group_done_some(struct list_head *landings)
{
	group_put_landings(landings, true);
}

/**
 * dms_group_available() - buffers that could be taken now
 * @group: group, of which the caller has a reference
 *
 * Context: Process context; stream->lock may be held.
 * Return: their number, about: some may be bad, and the process goes on giving.
 */
u32 dms_group_available(struct dms_group *group)
{
	u32 n = 0;

	spin_lock(&group->lock);
	if (!group->dead)
		n = group->nr_returned +
		    min(group->entries - group->taken - group->nr_returned,
			group_pending(group));
	spin_unlock(&group->lock);
	return n;
}

/* ---- users, and the end ---- */

/**
 * dms_group_add_user() - will hear of the group's end
 * @group: group, of which the user has a reference
 * @u: user
 *
 * Context: Process context.
 * Return: 0, or -ENODEV when it is dead already.
 */
int dms_group_add_user(struct dms_group *group, struct dms_group_user *u)
{
	int err = -ENODEV;

	spin_lock(&group->lock);
	if (!group->dead) {
		list_add_tail(&u->node, &group->users);
		WRITE_ONCE(group->nr_users, group->nr_users + 1);
		err = 0;
	}
	spin_unlock(&group->lock);
	return err;
}

/**
 * dms_group_del_user() - will not hear of it any more
 * @group: group
 * @u: added or not; its dead() may run at the same time
 *
 * Context: Process context.
 */
void dms_group_del_user(struct dms_group *group, struct dms_group_user *u)
{
	spin_lock(&group->lock);
	if (!list_empty(&u->node)) {
		list_del_init(&u->node);
		WRITE_ONCE(group->nr_users, group->nr_users - 1);
	}
	spin_unlock(&group->lock);
}

/**
 * dms_group_shutdown() - no landing is taken any more
 * @group: group, of which the caller has a reference
 *
 * Takes the waiters off and tells the users, one at a time, without the lock.
 * Does nothing the second time.
 *
 * Context: Process context, may sleep.
 */
void dms_group_shutdown(struct dms_group *group)
{
	struct dms_group_waiter *w;
	struct dms_group_user *u;

	spin_lock(&group->lock);
	if (group->dead) {
		spin_unlock(&group->lock);
		return;
	}
	group->dead = true;
	group_set_kick(group, false);
	list_splice_init(&group->returned, &group->free);
	group->nr_returned = 0;

	while (!list_empty(&group->waiters)) {
		w = list_first_entry(&group->waiters, struct dms_group_waiter, node);
		group_unqueue(group, w);
		spin_unlock(&group->lock);
		w->ops->put(w);
		spin_lock(&group->lock);
	}
	while (!list_empty(&group->users)) {
		u = list_first_entry(&group->users, struct dms_group_user, node);
		list_del_init(&u->node);
		WRITE_ONCE(group->nr_users, group->nr_users - 1);
		/* it is alive: a user goes only after it took itself off */
		u->ops->get(u);
		spin_unlock(&group->lock);
		u->ops->dead(u);
		u->ops->put(u);
		cond_resched();
		spin_lock(&group->lock);
	}
	spin_unlock(&group->lock);
}

static void group_free_work(struct work_struct *work)
{
	struct dms_group *group = container_of(work, struct dms_group, free_work);

	dms_shmem_free(group->mem);
	kvfree(group->landings);
	dms_quota_uncharge(group->owner, group->charged);
	dms_pool_put(group->pool);
	dms_ctx_put(group->ctx);
	dms_gauge_dec(DMS_GAUGE_GROUPS);
	kfree(group);
}

static void group_release(struct kref *ref)
{
	struct dms_group *group = container_of(ref, struct dms_group, ref);

	/* vfree() sleeps, and the last put may be under a lock */
	queue_work(dms_wq, &group->free_work);
}

/**
 * dms_group_get() - one more who knows the group
 * @group: group, of which the caller has a reference
 *
 * Context: Any.
 */
void dms_group_get(struct dms_group *group)
{
	kref_get(&group->ref);
}

/**
 * dms_group_put() - one less
 * @group: group
 *
 * Context: Any.
 */
void dms_group_put(struct dms_group *group)
{
	kref_put(&group->ref, group_release);
}

/* ---- creation, and the file ---- */

static struct dms_group *group_new(struct dms_ctx *ctx, struct dms_pool *pool,
				   const struct dmastream_group_create *arg)
{
	struct dms_group *group;
	u32 i;

	group = dms_fault_alloc(GROUP) ? NULL : kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return NULL;
	kref_init(&group->ref);
	group->entries = arg->entries;
	group->buf_len = arg->buf_len;
	group->map_size = arg->map_size;
	spin_lock_init(&group->lock);
	INIT_LIST_HEAD(&group->free);
	INIT_LIST_HEAD(&group->returned);
	INIT_LIST_HEAD(&group->waiters);
	INIT_LIST_HEAD(&group->users);
	INIT_WORK(&group->recall_work, group_recall_work);
	INIT_LIST_HEAD(&group->starved_node);
	INIT_WORK(&group->wake_work, group_wake_work);
	INIT_WORK(&group->free_work, group_free_work);

	group->mem = dms_shmem_alloc(group->map_size);
	group->landings = kvcalloc(group->entries, sizeof(*group->landings),
				   GFP_KERNEL_ACCOUNT);
	if (!group->mem || !group->landings) {
		dms_shmem_free(group->mem);
		kvfree(group->landings);
		kfree(group);
		return NULL;
	}
	for (i = 0; i < group->entries; i++) {
		group->landings[i].group = group;
		group->landings[i].pool = pool;
		list_add_tail(&group->landings[i].node, &group->free);
	}
	group->pool = pool;
	group->ctx = ctx;
	return group;
}

/**
 * dms_group_create() - a new buffer group
 * @ctx: context; the group gets a reference of its own
 * @pool: pool that its buffers are in; likewise
 * @arg: checked here; the out members but @fd and @group are filled
 *
 * Context: Process context, may sleep.
 * Return: group with a reference for the caller, or ERR_PTR: -EINVAL, -EDQUOT,
 * -ENOMEM.
 */
struct dms_group *dms_group_create(struct dms_ctx *ctx, struct dms_pool *pool,
				   struct dmastream_group_create *arg)
{
	struct dms_group *group;
	u64 bytes;
	int err;

	if (!dms_ring_size_ok(arg->entries, DMS_GROUP_ENTRIES_MAX) || !arg->buf_len ||
	    arg->buf_len > DMASTREAM_MSG_MAX || arg->buf_len > pool->size)
		return ERR_PTR(-EINVAL);
	arg->entries_off = DMS_GROUP_ENTRIES_OFF;
	arg->map_size = PAGE_ALIGN(DMS_GROUP_ENTRIES_OFF +
				   arg->entries * sizeof(struct dmastream_landing));

	bytes = arg->map_size + (u64)arg->entries * sizeof(struct dms_landing);
	err = dms_quota_charge(current_uid(), bytes);
	if (err)
		return ERR_PTR(err);
	group = group_new(ctx, pool, arg);
	if (!group) {
		dms_quota_uncharge(current_uid(), bytes);
		return ERR_PTR(-ENOMEM);
	}
	group->owner = current_uid();
	group->charged = bytes;
	dms_ctx_get(ctx);	/* put in group_free_work() */
	dms_pool_get(pool);	/* likewise */
	dms_gauge_inc(DMS_GAUGE_GROUPS);
	return group;
}

static int group_file_release(struct inode *inode, struct file *file)
{
	struct dms_group *group = file->private_data;

	dms_group_shutdown(group);
	if (dms_ctx_forget(group->ctx, DMS_GROUPS, group->handle, group))
		dms_group_put(group);	/* the table's */
	dms_group_put(group);		/* got in dms_group_file() */
	return 0;
}

static int group_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dms_group *group = file->private_data;

	return dms_shmem_mmap(vma, group->mem, group->map_size);
}

static void group_fdinfo(struct seq_file *m, struct file *file)
{
	struct dms_group *group = file->private_data;
	u32 taken, waiters, bad;

	spin_lock(&group->lock);
	taken = group->taken;
	waiters = group->nr_waiters;
	bad = group->bad;
	spin_unlock(&group->lock);
	seq_puts(m, "dms-object:\tgroup\n");
	seq_printf(m, "dms-handle:\t%u\n", group->handle);
	seq_printf(m, "dms-pool-id:\t%u\n", group->pool->id);
	seq_printf(m, "dms-pinned-bytes:\t%llu\n", group->charged);
	seq_printf(m, "dms-entries:\t%u\n", group->entries);
	seq_printf(m, "dms-buf-len:\t%u\n", group->buf_len);
	seq_printf(m, "dms-taken:\t%u\n", taken);
	seq_printf(m, "dms-waiting-streams:\t%u\n", waiters);
	seq_printf(m, "dms-bad-entries:\t%u\n", bad);
}

static const struct file_operations group_fops = {
	.owner		= THIS_MODULE,
	.release	= group_file_release,
	.mmap		= group_mmap,
	.show_fdinfo	= group_fdinfo,
};

/**
 * dms_group_file() - the file of a group
 * @group: group that has none yet; the file gets a reference of its own
 *
 * Context: Process context, may sleep.
 * Return: file, or ERR_PTR.
 */
struct file *dms_group_file(struct dms_group *group)
{
	struct file *file;

	dms_group_get(group);	/* put in group_file_release() */
	file = anon_inode_getfile("[dmastream-group]", &group_fops, group, O_RDWR);
	if (IS_ERR(file))
		dms_group_put(group);
	return file;
}
