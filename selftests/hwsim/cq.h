/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion queues (IBTA volume 1, 10.8, 11.2.9, 11.4.2). */
#ifndef HWSIM_CQ_H
#define HWSIM_CQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "eq.h"
#include "sim.h"

/**
 * struct hwsim_cq - a completion queue
 * @ib: what the core knows
 * @lock: protects all that follows; taken in any context: by the client that
 *	polls or arms, and by the simulator, within its own lock.  Nothing is taken under it.
 * @ring: completions
 * @size: room in it, a power of two that is at least what was asked for
 * @head: where the next is written; runs freely
 * @tail: where the next is taken; runs freely
 * @visible: where the client's view ends; @head, unless the tester delays completions
 * @held: it is not @head: @hold runs
 * @hold_event: the client wants an event when they appear
 * @hold: under the simulator's lock; ends the delay
 * @armed: what is to raise an event
 * @overflowed: one was lost; the queue stays unusable
 * @event: hands the event to the client
 * @error: tells the client that it overflowed
 */
struct hwsim_cq {
	struct ib_cq ib;
	spinlock_t lock;
	struct ib_wc *ring;
	u32 size;
	u32 head;
	u32 tail;
	u32 visible;
	bool held;
	bool hold_event;
	struct hwsim_timer hold;
	enum ib_cq_notify_flags armed;
	bool overflowed;
	struct hwsim_event event;
	struct hwsim_event error;
};

static inline struct hwsim_cq *to_hwsim_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct hwsim_cq, ib);
}

int hwsim_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    hwsim_cq_udata *udata);
int hwsim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int hwsim_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int hwsim_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

bool hwsim_cq_push(struct hwsim_cq *cq, const struct ib_wc *wc, bool solicited);
void hwsim_cq_hold(struct hwsim_cq *cq, u64 until);
void hwsim_cq_overflow(struct hwsim_cq *cq);
void hwsim_cq_forget(struct hwsim_cq *cq, const struct ib_qp *ibqp);

#endif
