/* SPDX-License-Identifier: GPL-2.0-only */
/* Events on their way to the client. */
#ifndef HWSIM_EQ_H
#define HWSIM_EQ_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct hwsim_event - something that a client is to be told
 * @node: place in the queue
 * @fn: tells it; softirq context, none of the simulator's locks is held
 * @queued: it is to be told (again); under the queue's lock
 * @running: @fn is being called; under the queue's lock
 */
struct hwsim_event {
	struct list_head node;
	void (*fn)(struct hwsim_event *event);
	bool queued;
	bool running;
};

void hwsim_event_setup(struct hwsim_event *event, void (*fn)(struct hwsim_event *event));
void hwsim_event_raise(struct hwsim_event *event);
void hwsim_event_cancel(struct hwsim_event *event);

void hwsim_eq_init(void);
void hwsim_eq_exit(void);

#endif
