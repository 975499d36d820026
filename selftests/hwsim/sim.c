// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator: one lock, one clock, one tasklet for all devices.
 *
 * The devices of a guest and the switch between them are one simulation.  Its
 * state -- queue pairs, keys, the packets in every queue -- is under one lock,
 * and all of it moves in one tasklet, which a doorbell or the clock starts.
 * That costs the parallelism of real NICs and buys a simulation without races
 * of its own: what a client sees go wrong is the client's, or the protocol's.
 *
 * Clients run beside it as they do beside hardware: a doorbell returns before
 * anything has happened, and completions come from softirq context with none of
 * the simulator's locks held (eq.c).
 */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/spinlock.h>

#include "frame.h"
#include "qp.h"
#include "sim.h"
#include "wire.h"

/*
 * Steps in one run of the tasklet before others get a chance, as a NIC's driver
 * has a budget: a step may deliver several packets to each port, which takes
 * milliseconds where every allocation is tracked.  There a run ends by the clock.
 */
#define HWSIM_BUDGET	64
#define HWSIM_SLICE_NS	(2 * NSEC_PER_MSEC)
/* Steps between two looks at the clock. */
#define HWSIM_CLOCK	8

/*
 * Protects everything of the simulation; taken in process context by verbs that
 * change objects (bottom halves off) and by the tasklet.  Under it are taken: the
 * locks of a receive queue, a completion queue, the list of kicks, and the event queue.
 */
static DEFINE_SPINLOCK(sim_lock);
static struct timerqueue_head agenda;	/* under sim_lock */
static u64 sim_time;			/* under sim_lock */
static bool stepping;			/* under sim_lock: the tasklet is in its loop */

/* Who rang a doorbell.  kick_lock is taken in any context, hard interrupts too. */
static DEFINE_SPINLOCK(kick_lock);
static LIST_HEAD(kicks);

static struct tasklet_struct sim_task;
static struct hrtimer sim_clock;

void hwsim_lock(void) __acquires(&sim_lock)
{
	spin_lock_bh(&sim_lock);
}

void hwsim_unlock(void) __releases(&sim_lock)
{
	spin_unlock_bh(&sim_lock);
}

void hwsim_assert_locked(void)
{
	lockdep_assert_held(&sim_lock);
}

/**
 * hwsim_now() - the simulator's time
 *
 * Return: nanoseconds; the same for what happens in one step.
 */
u64 hwsim_now(void)
{
	return sim_time;
}

/**
 * hwsim_timer_setup() - make a timer ready for use
 * @timer: it
 * @fn: what it calls, once a start, under the simulator's lock
 */
void hwsim_timer_setup(struct hwsim_timer *timer, void (*fn)(struct hwsim_timer *timer))
{
	timerqueue_init(&timer->node);
	timer->fn = fn;
	timer->queued = false;
}

/**
 * hwsim_timer_at() - start a timer, or move it
 * @timer: it; the simulator's lock is held
 * @when: its time
 */
void hwsim_timer_at(struct hwsim_timer *timer, u64 when)
{
	hwsim_assert_locked();
	if (timer->queued)
		timerqueue_del(&agenda, &timer->node);
	timer->node.expires = ns_to_ktime(when);
	timer->queued = true;
	/* the last act of a run is to set the clock */
	if (timerqueue_add(&agenda, &timer->node) && !stepping)
		hwsim_run();
}

/**
 * hwsim_timer_stop() - forget a timer; it does not fire after this
 * @timer: it; the simulator's lock is held
 */
void hwsim_timer_stop(struct hwsim_timer *timer)
{
	hwsim_assert_locked();
	if (timer->queued)
		timerqueue_del(&agenda, &timer->node);
	timer->queued = false;
}

/**
 * hwsim_run() - have the simulation run soon
 *
 * Never inside this call.
 */
void hwsim_run(void)
{
	tasklet_schedule(&sim_task);
}

/**
 * hwsim_kick() - ring a queue pair's doorbell
 * @kick: its place in the list; what was posted is visible already
 *
 * Any context.
 */
void hwsim_kick(struct hwsim_kick *kick)
{
	unsigned long flags;

	/* pairs with clear_bit() in take_kicks(): posted before, looked at after */
	if (test_and_set_bit(0, &kick->flags))
		return;
	spin_lock_irqsave(&kick_lock, flags);
	list_add_tail(&kick->node, &kicks);
	spin_unlock_irqrestore(&kick_lock, flags);
	hwsim_run();
}

/**
 * hwsim_kick_cancel() - a queue pair goes away; nobody posts to it any more
 * @kick: its place in the list; the simulator's lock is held
 */
void hwsim_kick_cancel(struct hwsim_kick *kick)
{
	unsigned long flags;

	spin_lock_irqsave(&kick_lock, flags);
	list_del_init(&kick->node);
	spin_unlock_irqrestore(&kick_lock, flags);
	clear_bit(0, &kick->flags);
}

static void take_kicks(void)
{
	struct hwsim_kick *kick;
	unsigned long flags;

	if (list_empty_careful(&kicks))
		return;
	spin_lock_irqsave(&kick_lock, flags);
	while (!list_empty(&kicks)) {
		kick = list_first_entry(&kicks, struct hwsim_kick, node);
		list_del_init(&kick->node);
		clear_bit(0, &kick->flags);
		smp_mb__after_atomic();	/* pairs with test_and_set_bit() in hwsim_kick() */
		hwsim_qp_ready(container_of(kick, struct hwsim_qp, kick));
	}
	spin_unlock_irqrestore(&kick_lock, flags);
}

static bool fire_timers(void)
{
	struct timerqueue_node *node = timerqueue_getnext(&agenda);
	struct hwsim_timer *timer;

	if (!node || ktime_to_ns(node->expires) > sim_time)
		return false;
	timer = container_of(node, struct hwsim_timer, node);
	hwsim_timer_stop(timer);
	timer->fn(timer);
	return true;
}

static void set_clock(void)
{
	struct timerqueue_node *node = timerqueue_getnext(&agenda);

	if (!node || (hrtimer_is_queued(&sim_clock) &&
		      hrtimer_get_expires(&sim_clock) == node->expires))
		return;
	hrtimer_start(&sim_clock, node->expires, HRTIMER_MODE_ABS);
}

static void sim_step(struct tasklet_struct *unused)
{
	int left = HWSIM_BUDGET;
	bool busy = true;
	u64 end;

	spin_lock(&sim_lock);
	stepping = true;
	sim_time = ktime_get_ns();
	end = sim_time + HWSIM_SLICE_NS;
	while (busy && left-- > 0 && sim_time < end) {
		if (left % HWSIM_CLOCK == 0)
			sim_time = ktime_get_ns();
		take_kicks();
		busy = fire_timers();
		busy |= hwsim_wire_deliver();
		busy |= hwsim_wire_pump();
	}
	stepping = false;
	if (busy)
		hwsim_run();
	else
		set_clock();
	spin_unlock(&sim_lock);
	hwsim_frame_flush();
}

static enum hrtimer_restart clock_due(struct hrtimer *unused)
{
	hwsim_run();
	return HRTIMER_NORESTART;
}

/**
 * hwsim_sim_init() - start the simulator
 *
 * Return: 0.
 */
int hwsim_sim_init(void)
{
	timerqueue_init_head(&agenda);
	sim_time = ktime_get_ns();
	tasklet_setup(&sim_task, sim_step);
	hrtimer_init(&sim_clock, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	sim_clock.function = clock_due;
	return 0;
}

/**
 * hwsim_sim_exit() - stop the simulator; no device is left
 */
void hwsim_sim_exit(void)
{
	hrtimer_cancel(&sim_clock);
	tasklet_kill(&sim_task);
	/* the tasklet may have set the clock again */
	hrtimer_cancel(&sim_clock);
	tasklet_kill(&sim_task);
	WARN_ON(timerqueue_getnext(&agenda));
}
