// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings: making and ending one, those who wait for completions, and the file.
 * Completions are in ring_cq.c, submissions in submit.c.  The order of accesses
 * to the shared memory is in Documentation/ring-ordering.rst; its other sides are
 * in the library's dmastream/hot.h.
 */
#include "ring.h"

#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "ctx.h"
#include "fault.h"
#include "ioctl.h"
#include "poller.h"
#include "pool.h"
#include "quota.h"
#include "shmem.h"
#include "stats.h"
#include "stream.h"
#include "wq.h"

/* ---- users, and the end ---- */

/**
 * dms_ring_add_user() - will hear of the ring's end
 * @ring: ring, of which the user has a reference
 * @u: user
 *
 * Context: Process context.
 * Return: 0, or -ENODEV when it is dead already.
 */
int dms_ring_add_user(struct dms_ring *ring, struct dms_ring_user *u)
{
	int err = -ENODEV;

	spin_lock(&ring->cq_lock);
	if (!ring->dead) {
		list_add_tail(&u->node, &ring->users);
		err = 0;
	}
	spin_unlock(&ring->cq_lock);
	return err;
}

/**
 * dms_ring_del_user() - will not hear of it any more
 * @ring: ring
 * @u: added or not; its dead() may run at the same time
 *
 * Context: Process context.
 */
void dms_ring_del_user(struct dms_ring *ring, struct dms_ring_user *u)
{
	spin_lock(&ring->cq_lock);
	list_del_init(&u->node);
	spin_unlock(&ring->cq_lock);
}

/**
 * dms_ring_shutdown() - no completion is written any more
 * @ring: ring, of which the caller has a reference
 *
 * The file was released, or the context ends and the file may stay.  Takes the
 * waiters off, tells the users, one at a time and without the lock, and wakes
 * the sleepers.  Does nothing the second time.
 *
 * Context: Process context, may sleep.
 */
void dms_ring_shutdown(struct dms_ring *ring)
{
	struct dms_ring_waiter *w;
	struct dms_ring_user *u;

	spin_lock(&ring->cq_lock);
	if (ring->dead) {
		spin_unlock(&ring->cq_lock);
		return;
	}
	WRITE_ONCE(ring->dead, true);
	WRITE_ONCE(ring->sq_stuck, false);
	dms_ring_set_flags(ring, DMASTREAM_RING_DEAD | DMASTREAM_RING_SQ_KICK);

	while (!list_empty(&ring->waiters)) {
		w = list_first_entry(&ring->waiters, struct dms_ring_waiter, node);
		dms_ring_unqueue(ring, w);
		spin_unlock(&ring->cq_lock);
		w->ops->put(w);
		spin_lock(&ring->cq_lock);
	}
	while (!list_empty(&ring->users)) {
		u = list_first_entry(&ring->users, struct dms_ring_user, node);
		list_del_init(&u->node);
		/* it is alive: a user goes only after it took itself off */
		u->ops->get(u);
		spin_unlock(&ring->cq_lock);
		u->ops->dead(u);
		u->ops->put(u);
		cond_resched();
		spin_lock(&ring->cq_lock);
	}
	spin_unlock(&ring->cq_lock);
	dms_poller_del(ring);
	/* also those who wait for more completions than there are */
	wake_up_poll(&ring->wq, EPOLLIN | EPOLLERR | EPOLLHUP);
}

static void ring_free_work(struct work_struct *work)
{
	struct dms_ring *ring = container_of(work, struct dms_ring, free_work);

	dms_shmem_free(ring->mem);
	kvfree(ring->reqs);
	dms_quota_uncharge(ring->owner, ring->charged);
	dms_ctx_put(ring->ctx);
	dms_gauge_dec(DMS_GAUGE_RINGS);
	mutex_destroy(&ring->sq_lock);
	kfree(ring);
}

static void ring_release(struct kref *ref)
{
	struct dms_ring *ring = container_of(ref, struct dms_ring, ref);

	/* vfree() sleeps, and the last put may be under a lock */
	queue_work(dms_wq, &ring->free_work);
}

/**
 * dms_ring_get() - one more who knows the ring
 * @ring: ring, of which the caller has a reference
 *
 * Context: Any.
 */
void dms_ring_get(struct dms_ring *ring)
{
	kref_get(&ring->ref);
}

/**
 * dms_ring_put() - one less
 * @ring: ring
 *
 * Context: Any.
 */
void dms_ring_put(struct dms_ring *ring)
{
	kref_put(&ring->ref, ring_release);
}

/* ---- waiting: ENTER and poll ---- */

/* One ENTER that sleeps. */
struct ring_sleeper {
	wait_queue_entry_t	wait;
	struct dms_ring		*ring;
	u32			tail;	/* asleep until cq_tail gets there */
};

/* Not for each completion, when many are waited for.  The waker's lock of wq is held. */
static int ring_sleeper_wake(wait_queue_entry_t *wait, unsigned int mode, int flags,
			     void *key)
{
	struct ring_sleeper *s = container_of(wait, struct ring_sleeper, wait);

	if ((s32)(READ_ONCE(s->ring->cq_tail) - s->tail) < 0 && !READ_ONCE(s->ring->dead))
		return 0;
	return autoremove_wake_function(wait, mode, flags, key);
}

/* Does a receiver wait although there is room now? */
static bool ring_can_serve(struct dms_ring *ring)
{
	bool can;

	spin_lock(&ring->cq_lock);
	can = !list_empty(&ring->waiters) && dms_ring_cq_has_room(ring);
	spin_unlock(&ring->cq_lock);
	return can;
}

/* Completions that have to come before @min can be reaped; @tail: when that was so. */
static u32 ring_missing(struct dms_ring *ring, u32 min, u32 *tail)
{
	u32 occupied;

	*tail = READ_ONCE(ring->cq_tail);
	occupied = dms_ring_cq_occupied_at(ring, *tail);
	return occupied < min ? min - occupied : 0;
}

/*
 * Until @min completions can be reaped.  The look at the queue comes after
 * prepare_to_wait(), whose full barrier is the partner of ring_wake()'s: either
 * we see the completion, or it sees the sleeper.
 */
static int ring_wait(struct dms_ring *ring, u32 min, u64 deadline_ns)
{
	ktime_t until = min_t(u64, deadline_ns, KTIME_MAX);
	struct ring_sleeper s = { .ring = ring };
	int ret;

	init_wait(&s.wait);
	s.wait.func = ring_sleeper_wake;
	for (;;) {
		u32 tail, missing;

		if (ring_can_serve(ring))
			dms_ring_run_waiters(ring);
		/* how far the queue has to get, before anybody looks at it in s */
		missing = ring_missing(ring, min, &tail);
		ret = 0;
		if (!missing)
			break;
		s.tail = tail + missing;
		prepare_to_wait(&ring->wq, &s.wait, TASK_INTERRUPTIBLE);
		if (!ring_missing(ring, min, &tail))
			break;
		ret = -ENODEV;
		if (READ_ONCE(ring->dead))
			break;
		ret = -EINTR;
		if (signal_pending(current))
			break;
		if (!schedule_hrtimeout_range(deadline_ns ? &until : NULL,
					      current->timer_slack_ns, HRTIMER_MODE_ABS)) {
			/* it may have come just then */
			ret = ring_missing(ring, min, &tail) ? -ETIME : 0;
			break;
		}
		finish_wait(&ring->wq, &s.wait);
	}
	finish_wait(&ring->wq, &s.wait);
	return ret;
}

/*
 * poll: readable while something can be reaped; writable always, since the
 * submission queue never blocks; error and hang-up when the ring is dead.
 *
 * No wake-up is lost: the process reaps, which moves the head, before it calls
 * poll, so that a completion that was there before is seen by the look below.  One
 * that comes later finds this sleeper, or is seen: the barrier is the partner
 * of that in ring_wake().  Receivers that wait for room need no look
 * here: their process finds CQ_KICK when it reaps.
 */
static __poll_t ring_poll(struct file *file, poll_table *wait)
{
	struct dms_ring *ring = file->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(file, &ring->wq, wait);
	smp_mb();	/* with wq_has_sleeper() in ring_wake() */
	if (dms_ring_cq_occupied(ring))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ring->dead))
		mask = (mask & ~(EPOLLOUT | EPOLLWRNORM)) | EPOLLERR | EPOLLHUP;
	return mask;
}

/*
 * After an ENTER on a polled ring.  What it published and could not submit, for want
 * of a slot, is left to the poller: the process need not ask again.
 */
static void ring_tell_poller(struct dms_ring *ring, u32 to_submit)
{
	if (READ_ONCE(ring->sq_stuck) ||
	    (to_submit && READ_ONCE(dms_ring_shared(ring)->sq_tail) != READ_ONCE(ring->sq_head)))
		dms_poller_wake(ring->poller);
	else if (to_submit)
		dms_poller_arrival(ring->poller);
}

static int ring_enter(struct dms_call *call)
{
	struct dmastream_enter *arg = call->arg;
	struct dms_ring *ring = call->obj;
	bool kicked;
	int n = 0;

	if (arg->flags || arg->reserved || arg->min_complete > ring->cq_entries)
		return -EINVAL;
	arg->submitted = 0;
	arg->wait_result = 0;
	if (READ_ONCE(ring->dead))
		return -ENODEV;

	if (arg->to_submit)
		n = dms_ring_submit(ring, arg->to_submit);
	kicked = dms_ctx_kick(ring->ctx);
	kicked |= ring_can_serve(ring) && dms_ring_run_waiters(ring);
	if (kicked)
		dms_stat_inc(DMS_STAT_KICKS);
	if (ring->poller)
		ring_tell_poller(ring, arg->to_submit);
	if (n < 0)
		return n;
	arg->submitted = n;
	if (arg->min_complete)
		arg->wait_result = ring_wait(ring, arg->min_complete, arg->deadline_ns);
	return 0;
}

/* ---- creation, and the file ---- */

static int ring_layout(struct dms_ring *ring, struct dmastream_ring_create *arg)
{
	if (arg->flags & ~DMASTREAM_RING_FLAGS ||
	    (arg->poll_idle_us && !(arg->flags & DMASTREAM_RING_POLL)) ||
	    arg->poll_idle_us > DMS_POLL_IDLE_MAX_US ||
	    !dms_ring_size_ok(arg->sq_entries, DMS_SQ_ENTRIES_MAX) ||
	    !dms_ring_size_ok(arg->cq_entries, DMS_CQ_ENTRIES_MAX) ||
	    arg->cq_entries < 2 || !arg->cq_recv_min ||
	    arg->cq_recv_min >= arg->cq_entries ||
	    arg->indirect_bytes > DMS_INDIRECT_MAX)
		return -EINVAL;

	/* no sum wraps: each part is bounded by the limits above */
	ring->sqes_off = sizeof(struct dmastream_ring_shared);
	ring->cqes_off = ring->sqes_off + arg->sq_entries * sizeof(struct dmastream_sqe);
	ring->indirect_off = ring->cqes_off + arg->cq_entries * sizeof(struct dmastream_cqe);
	ring->map_size = PAGE_ALIGN(ring->indirect_off + arg->indirect_bytes);
	ring->sq_entries = arg->sq_entries;
	ring->cq_entries = arg->cq_entries;
	ring->indirect_bytes = arg->indirect_bytes;

	arg->sqes_off = ring->sqes_off;
	arg->cqes_off = ring->cqes_off;
	arg->indirect_off = ring->indirect_off;
	arg->map_size = ring->map_size;
	return 0;
}

static int ring_alloc(struct dms_ring *ring)
{
	u32 i;
	int err;

	ring->owner = current_uid();
	ring->charged = ring->map_size + (u64)ring->cq_entries * sizeof(*ring->reqs);
	err = dms_quota_charge(ring->owner, ring->charged);
	if (err)
		return err;
	ring->mem = dms_shmem_alloc(ring->map_size);
	ring->reqs = dms_fault_alloc(REQUESTS) ? NULL :
		     kvcalloc(ring->cq_entries, sizeof(*ring->reqs), GFP_KERNEL_ACCOUNT);
	if (!ring->mem || !ring->reqs) {
		dms_shmem_free(ring->mem);
		kvfree(ring->reqs);
		dms_quota_uncharge(ring->owner, ring->charged);
		return -ENOMEM;
	}
	for (i = 0; i < ring->cq_entries; i++) {
		ring->reqs[i].ring = ring;
		INIT_LIST_HEAD(&ring->reqs[i].rts_node);
		INIT_LIST_HEAD(&ring->reqs[i].keys);
		list_add_tail(&ring->reqs[i].node, &ring->req_free);
	}
	return 0;
}

/**
 * dms_ring_create() - a new ring
 * @ctx: context; the ring gets a reference of its own
 * @arg: sizes, checked here; the out members but @fd and @ring are filled
 *
 * Context: Process context, may sleep.
 * Return: ring with a reference for the caller, or ERR_PTR: -EINVAL, -EDQUOT,
 * -ENOMEM, and what dms_poller_add() says.
 */
struct dms_ring *dms_ring_create(struct dms_ctx *ctx, struct dmastream_ring_create *arg)
{
	struct dms_ring *ring;
	int err;

	ring = dms_fault_alloc(RING) ? NULL : kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	kref_init(&ring->ref);
	mutex_init(&ring->sq_lock);
	spin_lock_init(&ring->cq_lock);
	INIT_LIST_HEAD(&ring->req_free);
	INIT_LIST_HEAD(&ring->waiters);
	INIT_LIST_HEAD(&ring->users);
	INIT_LIST_HEAD(&ring->poll_node);
	init_waitqueue_head(&ring->wq);
	INIT_WORK(&ring->wake_work, dms_ring_wake_work);
	INIT_WORK(&ring->free_work, ring_free_work);

	err = ring_layout(ring, arg);
	if (!err)
		err = ring_alloc(ring);
	if (err) {
		kfree(ring);
		return ERR_PTR(err);
	}
	dms_cqslots_init(&ring->slots, ring->cq_entries, arg->cq_recv_min);
	/* there is no poller, or it sleeps */
	dms_ring_set_flags(ring, DMASTREAM_RING_SQ_KICK);
	ring->ctx = ctx;
	dms_ctx_get(ctx);	/* put in ring_free_work() */
	dms_gauge_inc(DMS_GAUGE_RINGS);
	if (arg->flags & DMASTREAM_RING_POLL) {
		err = dms_poller_add(ctx, ring, arg->poll_idle_us);
		if (err) {
			dms_ring_put(ring);
			return ERR_PTR(err);
		}
	}
	return ring;
}

static int ring_file_release(struct inode *inode, struct file *file)
{
	struct dms_ring *ring = file->private_data;

	dms_ring_shutdown(ring);
	if (dms_ctx_forget(ring->ctx, DMS_RINGS, ring->handle, ring))
		dms_ring_put(ring);	/* the table's */
	dms_ring_put(ring);		/* got in dms_ring_file() */
	return 0;
}

static int ring_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dms_ring *ring = file->private_data;

	return dms_shmem_mmap(vma, ring->mem, ring->map_size);
}

static long ring_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	static const struct dms_ioctl_def def[] = {
		{ sizeof(struct dmastream_enter), sizeof(struct dmastream_enter),
		  false, ring_enter },
	};
	static const struct dms_ioctl_table table = {
		def, _IOC_NR(DMASTREAM_IOC_ENTER), ARRAY_SIZE(def)
	};

	return dms_ioctl(&table, file->private_data, cmd, arg);
}

static void ring_fdinfo(struct seq_file *m, struct file *file)
{
	struct dms_ring *ring = file->private_data;
	u32 reserved, out, waiters;

	spin_lock(&ring->cq_lock);
	reserved = ring->slots.reserved;
	out = ring->nr_reqs_out;
	waiters = ring->nr_waiters;
	spin_unlock(&ring->cq_lock);
	seq_puts(m, "dms-object:\tring\n");
	seq_printf(m, "dms-handle:\t%u\n", ring->handle);
	seq_printf(m, "dms-pinned-bytes:\t%llu\n", ring->charged);
	seq_printf(m, "dms-sq-entries:\t%u\n", ring->sq_entries);
	seq_printf(m, "dms-cq-entries:\t%u\n", ring->cq_entries);
	seq_printf(m, "dms-cq-recv-min:\t%u\n", ring->slots.recv_min);
	seq_printf(m, "dms-cq-occupied:\t%u\n", dms_ring_cq_occupied(ring));
	seq_printf(m, "dms-cq-reserved:\t%u\n", reserved);
	seq_printf(m, "dms-requests:\t%u\n", out);
	seq_printf(m, "dms-waiting-streams:\t%u\n", waiters);
	if (ring->poller)
		seq_printf(m, "dms-polled-sqes:\t%llu\n", READ_ONCE(ring->polled));
	seq_printf(m, "dms-dead:\t%d\n", READ_ONCE(ring->dead));
}

static const struct file_operations ring_fops = {
	.owner		= THIS_MODULE,
	.release	= ring_file_release,
	.mmap		= ring_mmap,
	.poll		= ring_poll,
	.unlocked_ioctl	= ring_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= ring_fdinfo,
};

/**
 * dms_ring_file() - the file of a ring
 * @ring: ring that has none yet; the file gets a reference of its own
 *
 * Context: Process context, may sleep.
 * Return: file, or ERR_PTR.
 */
struct file *dms_ring_file(struct dms_ring *ring)
{
	struct file *file;

	dms_ring_get(ring);	/* put in ring_file_release() */
	file = anon_inode_getfile("[dmastream-ring]", &ring_fops, ring, O_RDWR);
	if (IS_ERR(file))
		dms_ring_put(ring);
	return file;
}
