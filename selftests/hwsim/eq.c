// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event queue: completion events and asynchronous ones.
 *
 * A client's handler may poll, post, and arm again, and it may take locks of its
 * own under which it posts elsewhere; so it is called with no lock held, from
 * a tasklet, which stands for the interrupt of a NIC.  An event that is raised
 * again before it was told is told once.
 *
 * An object that goes away cancels its events, which waits for a handler that runs.
 */
#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "eq.h"

/* Protects the queue and the flags of all events; any context; nothing is taken under it. */
static DEFINE_SPINLOCK(eq_lock);
static LIST_HEAD(eq);
static DECLARE_WAIT_QUEUE_HEAD(eq_done);
static struct tasklet_struct eq_task;

/**
 * hwsim_event_setup() - make an event ready for use
 * @event: it
 * @fn: tells the client
 */
void hwsim_event_setup(struct hwsim_event *event, void (*fn)(struct hwsim_event *event))
{
	INIT_LIST_HEAD(&event->node);
	event->fn = fn;
	event->queued = false;
	event->running = false;
}

/**
 * hwsim_event_raise() - have it told soon; never inside this call
 * @event: it
 */
void hwsim_event_raise(struct hwsim_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&eq_lock, flags);
	if (!event->queued) {
		event->queued = true;
		list_add_tail(&event->node, &eq);
	}
	spin_unlock_irqrestore(&eq_lock, flags);
	tasklet_schedule(&eq_task);
}

static bool event_idle(struct hwsim_event *event)
{
	bool running;

	spin_lock_irq(&eq_lock);
	running = event->running;
	spin_unlock_irq(&eq_lock);
	return !running;
}

/**
 * hwsim_event_cancel() - it will not be told any more, and no handler runs
 * @event: it; nobody raises it any more
 *
 * Sleeps.
 */
void hwsim_event_cancel(struct hwsim_event *event)
{
	spin_lock_irq(&eq_lock);
	if (event->queued)
		list_del_init(&event->node);
	event->queued = false;
	spin_unlock_irq(&eq_lock);
	wait_event(eq_done, event_idle(event));
}

static void eq_work(struct tasklet_struct *unused)
{
	struct hwsim_event *event;
	int left = 64;

	spin_lock_irq(&eq_lock);
	while (!list_empty(&eq) && left-- > 0) {
		event = list_first_entry(&eq, struct hwsim_event, node);
		list_del_init(&event->node);
		event->queued = false;
		event->running = true;
		spin_unlock_irq(&eq_lock);
		event->fn(event);
		spin_lock_irq(&eq_lock);
		/*
		 * From here the object may be gone as soon as the lock is free.  The wait
		 * queue is the module's, so that waking up touches no object.
		 */
		event->running = false;
		if (wq_has_sleeper(&eq_done))
			wake_up_all(&eq_done);
	}
	if (!list_empty(&eq))
		tasklet_schedule(&eq_task);
	spin_unlock_irq(&eq_lock);
}

/** hwsim_eq_init() - at the module's start */
void hwsim_eq_init(void)
{
	tasklet_setup(&eq_task, eq_work);
}

/** hwsim_eq_exit() - at the module's end; no event is left */
void hwsim_eq_exit(void)
{
	tasklet_kill(&eq_task);
}
