/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulator's clock, its one lock, and the context in which all devices work. */
#ifndef HWSIM_SIM_H
#define HWSIM_SIM_H

#include <linux/list.h>
#include <linux/timerqueue.h>
#include <linux/types.h>

struct hwsim_qp;

/**
 * struct hwsim_timer - something that is to happen at a time
 * @node: place in the agenda; @node.expires is the time, ns of CLOCK_MONOTONIC
 * @fn: called with the simulator's lock held, in softirq context
 * @queued: it is in the agenda
 */
struct hwsim_timer {
	struct timerqueue_node node;
	void (*fn)(struct hwsim_timer *timer);
	bool queued;
};

void hwsim_lock(void);
void hwsim_unlock(void);
void hwsim_assert_locked(void);

u64 hwsim_now(void);
void hwsim_timer_setup(struct hwsim_timer *timer, void (*fn)(struct hwsim_timer *timer));
void hwsim_timer_at(struct hwsim_timer *timer, u64 when);
void hwsim_timer_stop(struct hwsim_timer *timer);

/* How a queue pair that was posted to gets the simulator's attention; in struct hwsim_qp. */
struct hwsim_kick {
	struct list_head node;
	unsigned long flags;	/* bit 0: on the list, or about to be */
};

void hwsim_kick(struct hwsim_kick *kick);
void hwsim_kick_cancel(struct hwsim_kick *kick);
void hwsim_run(void);

int hwsim_sim_init(void);
void hwsim_sim_exit(void);

#endif
