// SPDX-License-Identifier: GPL-2.0-only
/* Receive queues. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include "device.h"
#include "rq.h"

static struct hwsim_rwqe *entry(struct hwsim_rq *rq, u32 index)
{
	return rq->ring + (size_t)(index & (rq->size - 1)) * rq->stride;
}

/**
 * hwsim_rq_init() - make an empty queue
 * @rq: it
 * @max: requests
 * @max_sge: of each
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hwsim_rq_init(struct hwsim_rq *rq, u32 max, u32 max_sge)
{
	if (max > HWSIM_MAX_QP_WR || max_sge > HWSIM_MAX_SGE)
		return -EINVAL;
	spin_lock_init(&rq->lock);
	rq->max = max;
	rq->max_sge = max_sge;
	rq->size = roundup_pow_of_two(max_t(u32, max, 1));
	rq->stride = struct_size((struct hwsim_rwqe *)NULL, sge, max_sge);
	rq->ring = kvcalloc(rq->size, rq->stride, GFP_KERNEL);
	return rq->ring ? 0 : -ENOMEM;
}

/**
 * hwsim_rq_exit() - give its memory back
 * @rq: it; initialised or zero
 */
void hwsim_rq_exit(struct hwsim_rq *rq)
{
	kvfree(rq->ring);
}

/**
 * hwsim_rq_post() - add a list of requests
 * @rq: queue
 * @wr: the list
 * @bad: set to the first that was not added
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hwsim_rq_post(struct hwsim_rq *rq, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	struct hwsim_rwqe *rwqe;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
			ret = -EINVAL;
		else if (rq->head - rq->tail >= rq->max)
			ret = -ENOMEM;
		if (ret) {
			*bad = wr;
			break;
		}
		rwqe = entry(rq, rq->head);
		rwqe->wr_id = wr->wr_id;
		rwqe->num_sge = wr->num_sge;
		memcpy(rwqe->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
		rq->head++;
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

/**
 * hwsim_rq_take() - use the next request
 * @rq: queue
 * @srq: it belongs to this, or NULL
 * @to: where the request goes; room for the largest of any queue
 *
 * Return: false when there is none.
 */
bool hwsim_rq_take(struct hwsim_rq *rq, struct hwsim_srq *srq, struct hwsim_rwqe *to)
{
	struct hwsim_rwqe *rwqe;
	unsigned long flags;
	bool tell = false;
	bool got;

	spin_lock_irqsave(&rq->lock, flags);
	got = rq->head != rq->tail;
	if (got) {
		rwqe = entry(rq, rq->tail);
		memcpy(to, rwqe, struct_size(rwqe, sge, rwqe->num_sge));
		rq->tail++;
	}
	/* one event for a limit that was set (10.2.9) */
	if (srq && rq->limit && rq->head - rq->tail < rq->limit) {
		rq->limit = 0;
		tell = true;
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	if (tell)
		hwsim_event_raise(&srq->limit_event);
	return got;
}

/**
 * hwsim_rq_reset() - forget what is posted
 * @rq: queue
 */
void hwsim_rq_reset(struct hwsim_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq->tail = rq->head;
	spin_unlock_irqrestore(&rq->lock, flags);
}

static void tell_limit(struct hwsim_event *event)
{
	struct hwsim_srq *srq = container_of(event, struct hwsim_srq, limit_event);
	struct ib_event ev = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&ev, srq->ib.srq_context);
}

/**
 * hwsim_create_srq() - the verb
 * @ibsrq: queue
 * @init: its size
 * @udata: ignored
 *
 * Return: 0, -EOPNOTSUPP, -EINVAL or -ENOMEM.
 */
int hwsim_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct hwsim_srq *srq = to_hwsim_srq(ibsrq);
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibsrq->device)->faults, HWSIM_VERB_CREATE_SRQ);

	if (ret)
		return ret;
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr)
		return -EINVAL;
	hwsim_event_setup(&srq->limit_event, tell_limit);
	return hwsim_rq_init(&srq->rq, init->attr.max_wr, init->attr.max_sge);
}

/**
 * hwsim_modify_srq() - the verb: set the limit; the size stays
 * @ibsrq: queue
 * @attr: the limit
 * @mask: IB_SRQ_LIMIT
 * @udata: ignored
 *
 * Return: 0, -EOPNOTSUPP or -EINVAL.
 */
int hwsim_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibsrq->device)->faults, HWSIM_VERB_MODIFY_SRQ);
	struct hwsim_rq *rq = &to_hwsim_srq(ibsrq)->rq;
	unsigned long flags;

	if (ret)
		return ret;
	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > rq->max)
		return -EINVAL;
	spin_lock_irqsave(&rq->lock, flags);
	rq->limit = attr->srq_limit;
	spin_unlock_irqrestore(&rq->lock, flags);
	return 0;
}

/**
 * hwsim_query_srq() - the verb
 * @ibsrq: queue
 * @attr: filled in
 *
 * Return: 0.
 */
int hwsim_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibsrq->device)->faults, HWSIM_VERB_QUERY_SRQ);
	struct hwsim_rq *rq = &to_hwsim_srq(ibsrq)->rq;

	if (ret)
		return ret;
	attr->max_wr = rq->max;
	attr->max_sge = rq->max_sge;
	attr->srq_limit = READ_ONCE(rq->limit);
	return 0;
}

/**
 * hwsim_destroy_srq() - the verb
 * @ibsrq: queue; no queue pair uses it any more
 * @udata: ignored
 *
 * Return: 0.
 */
int hwsim_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct hwsim_srq *srq = to_hwsim_srq(ibsrq);

	hwsim_event_cancel(&srq->limit_event);
	hwsim_rq_exit(&srq->rq);
	return 0;
}

/**
 * hwsim_post_srq_recv() - the verb
 * @ibsrq: queue
 * @wr: requests
 * @bad: the first that was not taken
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hwsim_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibsrq->device)->faults,
				   HWSIM_VERB_POST_SRQ_RECV);

	if (ret) {
		*bad = wr;
		return ret;
	}
	return hwsim_rq_post(&to_hwsim_srq(ibsrq)->rq, wr, bad);
}
