// SPDX-License-Identifier: GPL-2.0-only
/*
 * The polling thread of a context.
 *
 * It visits its rings in turn and consumes what it finds.  When nothing has come
 * for a while (core/spin.h) it says in each ring that it sleeps, looks once
 * more, and sleeps.  On a machine of one CPU it never looks for what has not
 * come: the process that would submit could not run meanwhile.
 *
 * It knows pools and streams by the context's handles, as ENTER does, and reads
 * submissions through the kernel's own mapping of a ring: the address space
 * of the process is never used, so that a process that ends has nothing to wait
 * for here.
 *
 * Who pays.  The thread is in the cgroups of who made the first polled ring, and
 * has its niceness; a user has pollers_per_user of them at most.
 *
 * Sleep and wake-up.  Two things wake it: an ENTER of the process, and a slot
 * of a completion queue that a stuck submission waits for.
 *
 *   poller				waker
 *   ------				-----
 *   woken = false			publish, or free the slot
 *   smp_mb()
 *   flags in each ring			full barrier
 *   smp_mb(), look again		look at the flags
 *     nothing: sleep until woken	  set: smp_mb(), woken = true, wake up
 *
 * The second barrier on the left is dms_ring_poll_sleep()'s; with it, either the
 * look finds what was published or the waker finds the flag.  The first one is for
 * a waker that is about to set woken when it is cleared: what it published before
 * is then found by the look.
 */
#include "poller.h"

#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "core/spin.h"
#include "ctx.h"
#include "fault.h"
#include "ioctl.h"
#include "quota.h"
#include "ring.h"
#include "stats.h"

static unsigned int dms_param_poll_idle_us = 50;
module_param_named(poll_idle_us, dms_param_poll_idle_us, uint, 0644);
MODULE_PARM_DESC(poll_idle_us, "how long a new polling thread looks for submissions before it sleeps, in us, when its ring does not say (default 50)");

struct dms_poller {
	struct task_struct	*task;
	kuid_t			uid;		/* who is charged for it */
	/* lock: what follows up to wq.  Process context; nothing of ours inside. */
	spinlock_t		lock;
	struct list_head	rings;		/* ring->poll_node */
	u32			nr_rings;
	struct dms_spin		spin;

	wait_queue_head_t	wq;
	bool			asleep;		/* only a hint: saves needless wake-ups */
	bool			woken;
};

/*
 * Each ring once, the next one first at the next walk.  A ring that is on the
 * list has not been freed: it leaves it when it dies, and its file holds it until
 * then.
 */
static bool poller_walk(struct dms_poller *p, bool (*visit)(struct dms_ring *ring))
{
	struct dms_ring *ring;
	bool any = false;
	u32 n;

	spin_lock(&p->lock);
	for (n = p->nr_rings; n && !list_empty(&p->rings); n--) {
		ring = list_first_entry(&p->rings, struct dms_ring, poll_node);
		list_move_tail(&ring->poll_node, &p->rings);
		dms_ring_get(ring);
		spin_unlock(&p->lock);

		any |= visit(ring);
		dms_ring_put(ring);

		spin_lock(&p->lock);
	}
	spin_unlock(&p->lock);
	return any;
}

static bool poller_arrived(struct dms_poller *p)
{
	bool soon;

	spin_lock(&p->lock);
	soon = dms_spin_arrival(&p->spin, ktime_get_ns());
	spin_unlock(&p->lock);
	return soon;
}

/* Worth looking on?  Others of this CPU get it when they are due: poller_run(). */
static bool poller_spins(struct dms_poller *p)
{
	bool on;

	if (num_online_cpus() == 1)
		return false;
	spin_lock(&p->lock);
	on = dms_spin_on(&p->spin, ktime_get_ns());
	spin_unlock(&p->lock);
	return on;
}

static void poller_sleep(struct dms_poller *p)
{
	smp_store_mb(p->woken, false);	/* see the head of this file */
	if (poller_walk(p, dms_ring_poll_sleep)) {
		poller_arrived(p);
		return;
	}
	dms_stat_inc(DMS_STAT_POLL_SLEEPS);
	WRITE_ONCE(p->asleep, true);
	wait_event_idle(p->wq, READ_ONCE(p->woken) || kthread_should_stop());
	WRITE_ONCE(p->asleep, false);
	/* its time to look begins now: it may have waited for a CPU for longer than that */
	poller_arrived(p);
}

static int poller_run(void *data)
{
	struct dms_poller *p = data;

	while (!kthread_should_stop()) {
		if (poller_walk(p, dms_ring_poll))
			poller_arrived(p);
		else if (!poller_spins(p))
			poller_sleep(p);
		else
			cpu_relax();
		cond_resched();
	}
	return 0;
}

static struct dms_poller *poller_create(struct dms_ctx *ctx, u32 idle_us)
{
	struct dms_poller *p;
	int err;

	p = dms_fault_alloc(POLLER) ? NULL : kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->rings);
	init_waitqueue_head(&p->wq);
	dms_spin_init(&p->spin, idle_us * NSEC_PER_USEC);
	p->uid = ctx->uid;
	err = dms_quota_take_poller(p->uid);
	if (err)
		goto free;
	p->task = kthread_create(poller_run, p, "dms-poll/%d", ctx->pid);
	err = PTR_ERR_OR_ZERO(p->task);
	if (err)
		goto put_quota;
	set_user_nice(p->task, task_nice(current));
	wake_up_process(p->task);
	/* that it cannot be moved is no reason to refuse it */
	err = cgroup_attach_task_all(current, p->task);
	if (err)
		pr_warn_once("dmastream: a polling thread cannot join its owner's cgroup (%d), its time is not accounted there\n",
			     err);
	return p;

put_quota:
	dms_quota_put_poller(p->uid);
free:
	kfree(p);
	return ERR_PTR(err);
}

/**
 * dms_poller_add() - have a ring polled
 * @ctx: its context; the thread is made when it has none
 * @ring: new; nobody else knows it yet
 * @idle_us: how long to look before sleeping, in us; 0: the module's parameter.
 *	     Of the ring that makes the thread
 *
 * Context: Process context of the owner, may sleep.
 * Return: 0, -EDQUOT (the user has too many), -ENOMEM, -ENODEV (the context ends),
 * -EINTR.
 */
int dms_poller_add(struct dms_ctx *ctx, struct dms_ring *ring, u32 idle_us)
{
	struct dms_poller *p;
	int err = 0;

	if (!idle_us)
		idle_us = min(READ_ONCE(dms_param_poll_idle_us), DMS_POLL_IDLE_MAX_US);
	mutex_lock(&ctx->poller_lock);
	p = ctx->poller;
	if (!p) {
		p = READ_ONCE(ctx->dead) ? ERR_PTR(-ENODEV) : poller_create(ctx, idle_us);
		err = PTR_ERR_OR_ZERO(p);
	}
	if (!err) {
		ctx->poller = p;
		ring->poller = p;
		spin_lock(&p->lock);
		list_add_tail(&ring->poll_node, &p->rings);
		p->nr_rings++;
		spin_unlock(&p->lock);
	}
	mutex_unlock(&ctx->poller_lock);
	return err;
}

/**
 * dms_poller_del() - a ring is dead
 * @ring: polled or not; may be called twice
 *
 * Context: Process context.
 */
void dms_poller_del(struct dms_ring *ring)
{
	struct dms_poller *p = ring->poller;

	if (!p)
		return;
	spin_lock(&p->lock);
	if (!list_empty(&ring->poll_node)) {
		list_del_init(&ring->poll_node);
		p->nr_rings--;
	}
	spin_unlock(&p->lock);
}

/**
 * dms_poller_wake() - there may be something to do
 * @p: poller
 *
 * Context: Process context; any lock may be held.
 */
void dms_poller_wake(struct dms_poller *p)
{
	smp_mb();	/* the waker's of the head of this file; pairs with poller_sleep()'s */
	WRITE_ONCE(p->woken, true);
	if (wq_has_sleeper(&p->wq))
		wake_up(&p->wq);
}

/**
 * dms_poller_arrival() - a process has submitted by system call
 * @p: of its ring
 *
 * Context: Process context, no lock held.
 */
void dms_poller_arrival(struct dms_poller *p)
{
	if (!READ_ONCE(p->asleep) || !poller_arrived(p))
		return;
	dms_stat_inc(DMS_STAT_POLL_WAKES);
	dms_poller_wake(p);
}

/**
 * dms_poller_stop() - the context ends
 * @ctx: dead
 *
 * Context: Process context, may sleep.
 */
void dms_poller_stop(struct dms_ctx *ctx)
{
	/* who adds a ring has seen that the context is dead, or is waited for here */
	mutex_lock(&ctx->poller_lock);
	if (ctx->poller) {
		kthread_stop(ctx->poller->task);
		dms_quota_put_poller(ctx->poller->uid);
	}
	mutex_unlock(&ctx->poller_lock);
}

/**
 * dms_poller_free() - nobody knows the context any more
 * @ctx: its rings are gone
 *
 * Context: Any.
 */
void dms_poller_free(struct dms_ctx *ctx)
{
	kfree(ctx->poller);
}
