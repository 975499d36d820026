// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs: their life and their states (IBTA volume 1, 10.3.1, 11.2.5). */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "qp.h"
#include "req.h"
#include "resp.h"
#include "ud.h"

/**
 * hwsim_qp_ready() - there may be something to do for a queue pair
 * @qp: it
 */
void hwsim_qp_ready(struct hwsim_qp *qp)
{
	hwsim_assert_locked();
	if (list_empty(&qp->ready))
		list_add_tail(&qp->ready, &qp->dev->port.ready);
}

/**
 * hwsim_qp_work() - do one thing for a queue pair, one packet at most
 * @qp: it
 *
 * Return: there may be more to do.
 */
bool hwsim_qp_work(struct hwsim_qp *qp)
{
	/* each half has its turn, so that neither starves */
	qp->turn = !qp->turn;
	if (qp->turn)
		return hwsim_resp_work(qp) || hwsim_req_work(qp);
	return hwsim_req_work(qp) || hwsim_resp_work(qp);
}

static void tell_events(struct hwsim_event *event)
{
	struct hwsim_qp *qp = container_of(event, struct hwsim_qp, event);
	struct ib_event ev = { .device = qp->ib.device, .element.qp = &qp->ib };
	int what;

	for (what = 0; what < BITS_PER_LONG; what++) {
		if (!test_and_clear_bit(what, &qp->events))
			continue;
		ev.event = what;
		if (qp->ib.event_handler)
			qp->ib.event_handler(&ev, qp->ib.qp_context);
	}
}

/**
 * hwsim_qp_event() - tell the client something about a queue pair, soon
 * @qp: it
 * @what: event; one that was not told yet is told once
 */
void hwsim_qp_event(struct hwsim_qp *qp, enum ib_event_type what)
{
	set_bit(what, &qp->events);
	hwsim_event_raise(&qp->event);
}

/**
 * hwsim_qp_error() - a queue pair goes into the error state; its requests are flushed soon
 * @qp: it
 */
void hwsim_qp_error(struct hwsim_qp *qp)
{
	hwsim_assert_locked();
	WRITE_ONCE(qp->state, IB_QPS_ERR);
	hwsim_qp_ready(qp);
}

/**
 * hwsim_qp_complete() - hand a completion to the client
 * @qp: queue pair
 * @cq: where
 * @wc: all but the queue pair
 * @solicited: the sender asked that the receiver be told
 *
 * When there is no room the queue pair can not go on (10.8.1, 11.6.3).
 */
void hwsim_qp_complete(struct hwsim_qp *qp, struct hwsim_cq *cq, struct ib_wc *wc,
		       bool solicited)
{
	u32 fault = hwsim_fault_cqe(&qp->dev->faults, qp->num);

	wc->qp = &qp->ib;
	if (unlikely(fault))
		hwsim_count(&qp->dev->port, HWSIM_INJECTED);
	if (fault == HWSIM_FAULT_LOSE)
		hwsim_cq_overflow(cq);
	else if (fault)
		hwsim_cq_hold(cq, hwsim_now() + (u64)fault * NSEC_PER_USEC);
	if (hwsim_cq_push(cq, wc, solicited))
		return;
	hwsim_count(&qp->dev->port, HWSIM_CQ_OVERFLOW);
	if (qp->state == IB_QPS_ERR)
		return;
	hwsim_qp_event(qp, IB_EVENT_QP_FATAL);
	hwsim_qp_error(qp);
}

static void flush_sq(struct hwsim_qp *qp)
{
	struct hwsim_sq *sq = &qp->sq;
	u32 head = hwsim_sq_head(sq);

	while (sq->tail != head) {
		hwsim_req_complete(qp, hwsim_swqe(sq, sq->tail), IB_WC_WR_FLUSH_ERR);
		smp_store_release(&sq->tail, sq->tail + 1);	/* pairs with hwsim_post_send() */
	}
	sq->started = head;
	qp->req.cur = head;
	qp->req.inflight = 0;
	qp->req.rd_out = 0;
	qp->req.una = qp->req.max_psn;
	qp->req.psn = qp->req.max_psn;
	qp->req.halted = false;
	hwsim_stash_drop(&qp->req.stash);
}

static void flush_rq(struct hwsim_qp *qp)
{
	struct hwsim_resp *resp = &qp->resp;
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .opcode = IB_WC_RECV };

	hwsim_stash_drop(&resp->stash);
	for (;;) {
		if (!resp->has_rwqe && !qp->srq)
			resp->has_rwqe = hwsim_rq_take(&qp->rq, NULL, resp->rwqe);
		if (!resp->has_rwqe)
			break;
		resp->has_rwqe = false;
		wc.wr_id = resp->rwqe->wr_id;
		hwsim_qp_complete(qp, to_hwsim_cq(qp->ib.recv_cq), &wc, false);
	}
	/* 11.6.3: nothing more will be taken out of the shared queue */
	if (qp->srq && !qp->flushed_event) {
		qp->flushed_event = true;
		hwsim_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
}

/**
 * hwsim_qp_flush() - end all requests, in order, with an error (10.3.1)
 * @qp: queue pair in error, or with its send queue in error
 */
void hwsim_qp_flush(struct hwsim_qp *qp)
{
	hwsim_timer_stop(&qp->req.ack_timer);
	hwsim_timer_stop(&qp->req.rnr_timer);
	qp->req.rnr_wait = false;
	flush_sq(qp);
	if (qp->state == IB_QPS_ERR)
		flush_rq(qp);
}

static int check_init(const struct ib_qp_init_attr *init)
{
	if (init->qp_type != IB_QPT_RC && init->qp_type != IB_QPT_UD &&
	    init->qp_type != IB_QPT_GSI)
		return -EOPNOTSUPP;
	if (init->create_flags || init->xrcd || init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	return init->send_cq && init->recv_cq ? 0 : -EINVAL;
}

static int publish(struct hwsim_qp *qp)
{
	int ret;

	hwsim_lock();
	if (qp->ib.qp_type == IB_QPT_GSI) {
		qp->num = 1;
		ret = xa_insert(&qp->dev->qps, qp->num, qp, GFP_ATOMIC);
	} else {
		ret = xa_alloc_cyclic(&qp->dev->qps, &qp->num, qp, XA_LIMIT(16, HWSIM_MAX_QP),
				      &qp->dev->qp_next, GFP_ATOMIC);
	}
	hwsim_unlock();
	return ret < 0 ? ret : 0;
}

static void free_queues(struct hwsim_qp *qp)
{
	kfree(qp->resp.rwqe);
	hwsim_rq_exit(&qp->rq);
	hwsim_sq_exit(&qp->sq);
}

/**
 * hwsim_create_qp() - the verb
 * @ibqp: queue pair
 * @init: what it is to be
 * @udata: ignored
 *
 * Return: 0, -EOPNOTSUPP, -EINVAL or -ENOMEM.
 */
int hwsim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct hwsim_qp *qp = to_hwsim_qp(ibqp);
	int ret;

	qp->dev = to_hwsim_dev(ibqp->device);
	ret = hwsim_fault_verb(&qp->dev->faults, HWSIM_VERB_CREATE_QP);
	if (!ret)
		ret = check_init(init);
	if (ret)
		return ret;
	INIT_LIST_HEAD(&qp->ready);
	INIT_LIST_HEAD(&qp->kick.node);
	hwsim_event_setup(&qp->event, tell_events);
	hwsim_req_ack_init(qp);
	qp->ib.qp_type = init->qp_type;
	qp->state = IB_QPS_RESET;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->srq = init->srq ? to_hwsim_srq(init->srq) : NULL;
	qp->init = *init;
	qp->mtu = 256;
	ret = hwsim_sq_init(&qp->sq, &init->cap);
	if (!ret && !qp->srq)
		ret = hwsim_rq_init(&qp->rq, init->cap.max_recv_wr, init->cap.max_recv_sge);
	if (ret)
		goto undo_queues;
	qp->resp.rwqe = kzalloc(struct_size(qp->resp.rwqe, sge, HWSIM_MAX_SGE), GFP_KERNEL);
	ret = -ENOMEM;
	if (!qp->resp.rwqe)
		goto undo_queues;
	ret = publish(qp);
	if (ret)
		goto undo_queues;
	ibqp->qp_num = qp->num;
	return 0;

undo_queues:
	free_queues(qp);
	return ret;
}

/**
 * hwsim_destroy_qp() - the verb; packets that are under way to it are dropped
 * @ibqp: queue pair
 * @udata: ignored
 *
 * Nothing of the simulation holds a queue pair but by its number and the
 * three lists that it is taken off here, all under the lock.
 *
 * Return: 0.
 */
int hwsim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct hwsim_qp *qp = to_hwsim_qp(ibqp);

	hwsim_lock();
	xa_erase(&qp->dev->qps, qp->num);
	hwsim_kick_cancel(&qp->kick);
	list_del_init(&qp->ready);
	hwsim_req_reset(qp);
	hwsim_resp_reset(qp);
	hwsim_unlock();
	hwsim_event_cancel(&qp->event);
	/* 10.2.4: their completions may be taken back */
	hwsim_cq_forget(to_hwsim_cq(ibqp->send_cq), ibqp);
	hwsim_cq_forget(to_hwsim_cq(ibqp->recv_cq), ibqp);
	free_queues(qp);
	return 0;
}

static int check_attr(const struct hwsim_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_AV && (!(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) ||
				!attr->ah_attr.grh.sgid_attr))
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU && (attr->path_mtu < IB_MTU_256 ||
				      attr->path_mtu > hwsim_port_mtu(qp->dev->port.ndev)))
		return -EINVAL;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > HWSIM_MAX_RD_ATOMIC)
		return -EINVAL;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > HWSIM_MAX_RD_ATOMIC)
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IB_QP_TIMEOUT && attr->timeout > 31))
		return -EINVAL;
	if (mask & (IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE) &&
	    (mask & IB_QP_ALT_PATH || attr->path_mig_state != IB_MIG_MIGRATED))
		return -EOPNOTSUPP;
	return 0;
}

/* Keep what the mask names. */
static void keep_attr(struct hwsim_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *to = &qp->attr;

#define KEEP(bit, field)				\
	do {						\
		if (mask & (bit))			\
			to->field = attr->field;	\
	} while (0)
	KEEP(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	KEEP(IB_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(IB_QP_PKEY_INDEX, pkey_index);
	KEEP(IB_QP_PORT, port_num);
	KEEP(IB_QP_QKEY, qkey);
	KEEP(IB_QP_AV, ah_attr);
	KEEP(IB_QP_PATH_MTU, path_mtu);
	KEEP(IB_QP_TIMEOUT, timeout);
	KEEP(IB_QP_RETRY_CNT, retry_cnt);
	KEEP(IB_QP_RNR_RETRY, rnr_retry);
	KEEP(IB_QP_RQ_PSN, rq_psn);
	KEEP(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	KEEP(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(IB_QP_SQ_PSN, sq_psn);
	KEEP(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(IB_QP_DEST_QPN, dest_qp_num);
	KEEP(IB_QP_PATH_MIG_STATE, path_mig_state);
#undef KEEP
}

/* What the attributes mean for the simulation. */
static void apply_attr(struct hwsim_qp *qp, int mask)
{
	if (mask & IB_QP_AV) {
		hwsim_av_from_attr(&qp->av, &qp->attr.ah_attr);
		qp->route.generation = 0;
		qp->route.port = NULL;
	}
	if (mask & IB_QP_PATH_MTU) {
		/* both ends of a connection within the guest decide the same here */
		qp->direct = hwsim_zero_cost && hwsim_wire_route(&qp->route, &qp->av.dgid);
		qp->mtu = qp->direct ? HWSIM_MAX_MSG : ib_mtu_enum_to_int(qp->attr.path_mtu);
	}
	if (mask & IB_QP_RQ_PSN)
		qp->resp.epsn = qp->attr.rq_psn & HWSIM_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		hwsim_req_start(qp, qp->attr.sq_psn & HWSIM_PSN_MASK);
}

static void enter_state(struct hwsim_qp *qp, enum ib_qp_state state)
{
	switch (state) {
	case IB_QPS_RESET:
		WRITE_ONCE(qp->state, state);
		hwsim_req_reset(qp);
		hwsim_resp_reset(qp);
		hwsim_rq_reset(&qp->rq);
		qp->flushed_event = false;
		memset(&qp->attr, 0, sizeof(qp->attr));
		return;
	case IB_QPS_ERR:
		hwsim_qp_error(qp);
		return;
	case IB_QPS_RTS:
		qp->req.retry_left = qp->attr.retry_cnt;
		qp->req.rnr_left = qp->attr.rnr_retry;
		break;
	default:
		break;
	}
	WRITE_ONCE(qp->state, state);
	hwsim_qp_ready(qp);
	hwsim_run();
}

/**
 * hwsim_modify_qp() - the verb
 * @ibqp: queue pair
 * @attr: what is to change
 * @mask: which of it
 * @udata: ignored
 *
 * Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int hwsim_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct hwsim_qp *qp = to_hwsim_qp(ibqp);
	enum ib_qp_state from, to;
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = hwsim_fault_verb(&qp->dev->faults, HWSIM_VERB_MODIFY_QP);
	if (!ret)
		ret = check_attr(qp, attr, mask);
	if (ret)
		return ret;
	hwsim_lock();
	from = qp->state;
	to = mask & IB_QP_STATE ? attr->qp_state : from;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		ret = -EINVAL;
	else if (!ib_modify_qp_is_ok(from, to, ibqp->qp_type, mask))
		ret = -EINVAL;
	if (!ret) {
		keep_attr(qp, attr, mask);
		apply_attr(qp, mask);
		if (mask & IB_QP_STATE)
			enter_state(qp, to);
	}
	hwsim_unlock();
	if (!ret)
		hwsim_run();
	return ret;
}

/**
 * hwsim_query_qp() - the verb
 * @ibqp: queue pair
 * @attr: filled in
 * @mask: ignored: all is filled in
 * @init: filled in
 *
 * Return: 0.
 */
int hwsim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct hwsim_qp *qp = to_hwsim_qp(ibqp);
	int ret = hwsim_fault_verb(&qp->dev->faults, HWSIM_VERB_QUERY_QP);

	if (ret)
		return ret;
	hwsim_lock();
	*attr = qp->attr;
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->sq_draining = qp->state == IB_QPS_SQD && qp->sq.tail != qp->sq.started;
	attr->sq_psn = qp->req.psn;
	attr->rq_psn = qp->resp.epsn;
	attr->cap = qp->init.cap;
	*init = qp->init;
	hwsim_unlock();
	return 0;
}
