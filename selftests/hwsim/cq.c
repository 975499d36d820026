// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "cq.h"
#include "device.h"

static void tell_completion(struct hwsim_event *event)
{
	struct hwsim_cq *cq = container_of(event, struct hwsim_cq, event);

	if (cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

static void tell_error(struct hwsim_event *event)
{
	struct hwsim_cq *cq = container_of(event, struct hwsim_cq, error);
	struct ib_event ev = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&ev, cq->ib.cq_context);
}

static void end_hold(struct hwsim_timer *timer)
{
	struct hwsim_cq *cq = container_of(timer, struct hwsim_cq, hold);
	unsigned long flags;
	bool tell;

	spin_lock_irqsave(&cq->lock, flags);
	cq->held = false;
	cq->visible = cq->head;
	tell = cq->hold_event;
	cq->hold_event = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (tell)
		hwsim_event_raise(&cq->event);
}

/**
 * hwsim_cq_hold() - completions from now on appear later, in their order
 * @cq: queue
 * @until: when; simulator's time, whose lock is held
 */
void hwsim_cq_hold(struct hwsim_cq *cq, u64 until)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->held = true;
	spin_unlock_irqrestore(&cq->lock, flags);
	hwsim_timer_at(&cq->hold, until);
}

/**
 * hwsim_create_cq() - the verb
 * @ibcq: queue
 * @attr: its size
 * @udata: ignored
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hwsim_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    hwsim_cq_udata *udata)
{
	struct hwsim_cq *cq = to_hwsim_cq(ibcq);
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibcq->device)->faults, HWSIM_VERB_CREATE_CQ);

	if (ret)
		return ret;
	if (attr->flags || !attr->cqe || attr->cqe > HWSIM_MAX_CQE)
		return -EINVAL;
	cq->size = roundup_pow_of_two(attr->cqe);
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	hwsim_event_setup(&cq->event, tell_completion);
	hwsim_event_setup(&cq->error, tell_error);
	hwsim_timer_setup(&cq->hold, end_hold);
	/* no more than was asked for, so that a client that counts wrong is caught */
	cq->ib.cqe = attr->cqe;
	return 0;
}

/**
 * hwsim_destroy_cq() - the verb; waits for a handler that runs
 * @ibcq: queue; no queue pair uses it any more
 * @udata: ignored
 *
 * Return: 0.
 */
int hwsim_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct hwsim_cq *cq = to_hwsim_cq(ibcq);

	hwsim_lock();
	hwsim_timer_stop(&cq->hold);
	hwsim_unlock();
	hwsim_event_cancel(&cq->event);
	hwsim_event_cancel(&cq->error);
	kvfree(cq->ring);
	return 0;
}

/**
 * hwsim_poll_cq() - the verb
 * @ibcq: queue
 * @num: room in @wc
 * @wc: where completions go
 *
 * Return: how many there were, or an error that the tester chose.
 */
int hwsim_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct hwsim_cq *cq = to_hwsim_cq(ibcq);
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibcq->device)->faults, HWSIM_VERB_POLL_CQ);
	unsigned long flags;
	int n;

	if (ret)
		return ret;
	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < num && cq->tail != cq->visible; n++)
		wc[n] = cq->ring[cq->tail++ & (cq->size - 1)];
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * hwsim_req_notify_cq() - the verb
 * @ibcq: queue
 * @flags: for what completions, and whether to look for those that are there
 *
 * A request for all completions is not weakened by a later one for solicited ones (11.4.2).
 *
 * Return: 1 when completions are there and the caller asked for that; else 0.
 */
int hwsim_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct hwsim_cq *cq = to_hwsim_cq(ibcq);
	unsigned long irq;
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibcq->device)->faults, HWSIM_VERB_REQ_NOTIFY_CQ);

	if (ret)
		return ret;
	spin_lock_irqsave(&cq->lock, irq);
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	if (flags & IB_CQ_REPORT_MISSED_EVENTS && cq->visible != cq->tail)
		ret = 1;
	spin_unlock_irqrestore(&cq->lock, irq);
	return ret;
}

/**
 * hwsim_cq_overflow() - the queue has no room: it is in error for good (10.8.1)
 * @cq: queue
 */
void hwsim_cq_overflow(struct hwsim_cq *cq)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&cq->lock, flags);
	first = !cq->overflowed;
	cq->overflowed = true;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (first)
		hwsim_event_raise(&cq->error);
}

/**
 * hwsim_cq_push() - add a completion
 * @cq: queue
 * @wc: completion
 * @solicited: the sender asked that the receiver be told
 *
 * An error is told as a solicited completion is (11.4.2).
 *
 * Return: false when there is no room: the completion is lost, the queue in error.
 */
bool hwsim_cq_push(struct hwsim_cq *cq, const struct ib_wc *wc, bool solicited)
{
	unsigned long flags;
	bool tell = false;
	bool full;

	spin_lock_irqsave(&cq->lock, flags);
	full = cq->overflowed || cq->head - cq->tail >= cq->ib.cqe;
	if (!full) {
		cq->ring[cq->head++ & (cq->size - 1)] = *wc;
		if (!cq->held)
			cq->visible = cq->head;
		if (cq->armed == IB_CQ_NEXT_COMP ||
		    (cq->armed == IB_CQ_SOLICITED && (solicited || wc->status))) {
			cq->armed = 0;
			tell = !cq->held;
			cq->hold_event = cq->held;
		}
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (full)
		hwsim_cq_overflow(cq);
	if (tell)
		hwsim_event_raise(&cq->event);
	return !full;
}

/**
 * hwsim_cq_forget() - a queue pair goes: its completions are not for anybody any more
 * @cq: queue
 * @ibqp: queue pair
 */
void hwsim_cq_forget(struct hwsim_cq *cq, const struct ib_qp *ibqp)
{
	unsigned long flags;
	u32 from, to, visible = 0;

	spin_lock_irqsave(&cq->lock, flags);
	/* the visible part keeps its place before the rest: what is not there shrinks both */
	for (from = to = cq->tail; from != cq->head; from++) {
		if (from == cq->visible)
			visible = to;
		if (cq->ring[from & (cq->size - 1)].qp == ibqp)
			continue;
		if (from != to)
			cq->ring[to & (cq->size - 1)] = cq->ring[from & (cq->size - 1)];
		to++;
	}
	cq->visible = cq->visible == cq->head ? to : visible;
	cq->head = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}
