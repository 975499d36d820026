// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requester, sending half: requests become packets (IBTA volume 1, 9.7.1,
 * 9.7.2).  A request gets its sequence numbers when it is started; from then on
 * any of them can be sent again, by where they lie in the request.
 *
 *	tail ....... cur ....... started ....... head
 *	 |            |            |
 *	 una          psn          max_psn              sequence numbers
 *
 * Requests complete in the order in which they were posted (10.8.3), so that
 * one that is done waits for those before it.
 */
#include <linux/module.h>

#include "fault.h"
#include "ref.h"
#include "req.h"
#include "rx.h"
#include "ud.h"

static unsigned int window = 256;
module_param(window, uint, 0644);
MODULE_PARM_DESC(window, "packets with payload that a queue pair sends ahead of their acknowledgement (default 256)");

/* An acknowledgement is asked for at the end of each message, and each so many packets. */
#define HWSIM_ACK_EVERY	32

static bool is_local(const struct hwsim_swqe *swqe)
{
	return swqe->opcode == IB_WR_REG_MR || swqe->opcode == IB_WR_LOCAL_INV;
}

static bool is_atomic(const struct hwsim_swqe *swqe)
{
	return swqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       swqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static bool has_response(const struct hwsim_swqe *swqe)
{
	return swqe->opcode == IB_WR_RDMA_READ || is_atomic(swqe);
}

/**
 * hwsim_req_start() - the send queue may send from now on (RTR to RTS)
 * @qp: queue pair
 * @psn: the first sequence number
 */
void hwsim_req_start(struct hwsim_qp *qp, u32 psn)
{
	struct hwsim_req *req = &qp->req;

	req->psn = psn;
	req->max_psn = psn;
	req->sent = psn;
	req->una = psn;
	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
}

/**
 * hwsim_req_reset() - forget all requests
 * @qp: queue pair; nobody posts
 */
void hwsim_req_reset(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;

	hwsim_timer_stop(&req->ack_timer);
	hwsim_timer_stop(&req->rnr_timer);
	hwsim_stash_drop(&req->stash);
	qp->sq.started = qp->sq.head;
	WRITE_ONCE(qp->sq.tail, qp->sq.head);
	req->cur = qp->sq.head;
	req->inflight = 0;
	req->rd_out = 0;
	req->implied = false;
	req->halted = false;
	req->rnr_wait = false;
}

static const enum ib_wc_opcode wc_opcodes[] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
};

/**
 * hwsim_req_complete() - tell the client how a request ended, if it wants to know
 * @qp: queue pair
 * @swqe: request
 * @status: how
 */
void hwsim_req_complete(struct hwsim_qp *qp, struct hwsim_swqe *swqe, enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_id = swqe->wr_id,
		.status = status,
		.opcode = wc_opcodes[swqe->opcode],
		.byte_len = has_response(swqe) ? swqe->length : 0,
	};

	if (status || qp->sig_all || swqe->flags & IB_SEND_SIGNALED)
		hwsim_qp_complete(qp, to_hwsim_cq(qp->ib.send_cq), &wc, false);
}

static enum ib_wc_status injected_done(struct hwsim_qp *qp, const struct hwsim_swqe *swqe)
{
	enum ib_wc_status status = hwsim_fault_done(&qp->dev->faults, qp->num, swqe->opcode);

	if (status)
		hwsim_count(&qp->dev->port, HWSIM_INJECTED);
	return status;
}

/**
 * hwsim_req_retire() - complete what is done and has nothing undone before it
 * @qp: queue pair
 */
void hwsim_req_retire(struct hwsim_qp *qp)
{
	struct hwsim_sq *sq = &qp->sq;
	enum ib_wc_status status;
	struct hwsim_swqe *swqe;

	while (sq->tail != sq->started && qp->state != IB_QPS_ERR) {
		swqe = hwsim_swqe(sq, sq->tail);
		if (swqe->state != HWSIM_SWQE_DONE)
			break;
		status = swqe->status;
		if (!status)	/* applied, and reported as failed */
			status = injected_done(qp, swqe);
		hwsim_req_complete(qp, swqe, status);
		smp_store_release(&sq->tail, sq->tail + 1);	/* pairs with hwsim_post_send() */
		if (!status)
			continue;
		/* 10.3.1: a datagram's failure stops the send queue alone */
		if (hwsim_qp_is_ud(qp)) {
			qp->state = IB_QPS_SQE;
			hwsim_qp_ready(qp);
			return;
		}
		hwsim_qp_error(qp);
	}
}

/**
 * hwsim_req_fail() - a request ends with an error; those before it end first
 * @qp: queue pair
 * @swqe: request
 * @status: error
 */
void hwsim_req_fail(struct hwsim_qp *qp, struct hwsim_swqe *swqe, enum ib_wc_status status)
{
	hwsim_count(&qp->dev->port, HWSIM_LOCAL_ERROR);
	swqe->state = HWSIM_SWQE_DONE;
	swqe->status = status;
	qp->req.halted = true;
	hwsim_req_retire(qp);
}

static struct hwsim_pkt *new_packet(struct hwsim_qp *qp, u32 len)
{
	struct hwsim_pkt *pkt = hwsim_pkt_new(len);

	if (!pkt)
		return NULL;
	pkt->sgid = qp->av.sgid;
	pkt->dgid = qp->av.dgid;
	memcpy(pkt->dmac, qp->av.dmac, sizeof(pkt->dmac));
	pkt->dqpn = qp->attr.dest_qp_num;
	return pkt;
}

/* The BTH opcode of a SEND's or a WRITE's packet (9.2). */
static u8 bth_opcode(const struct hwsim_swqe *swqe, bool first, bool last)
{
	bool write = swqe->opcode == IB_WR_RDMA_WRITE || swqe->opcode == IB_WR_RDMA_WRITE_WITH_IMM;

	if (first && !last)
		return write ? IB_OPCODE_RC_RDMA_WRITE_FIRST : IB_OPCODE_RC_SEND_FIRST;
	if (!last)
		return write ? IB_OPCODE_RC_RDMA_WRITE_MIDDLE : IB_OPCODE_RC_SEND_MIDDLE;
	switch (swqe->opcode) {
	case IB_WR_RDMA_WRITE:
		return first ? IB_OPCODE_RC_RDMA_WRITE_ONLY : IB_OPCODE_RC_RDMA_WRITE_LAST;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return first ? IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE :
			       IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE;
	case IB_WR_SEND_WITH_IMM:
		return first ? IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE :
			       IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE;
	case IB_WR_SEND_WITH_INV:
		return first ? IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE :
			       IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE;
	default:
		return first ? IB_OPCODE_RC_SEND_ONLY : IB_OPCODE_RC_SEND_LAST;
	}
}

static void fill_headers(struct hwsim_qp *qp, const struct hwsim_swqe *swqe, struct hwsim_pkt *pkt,
			 u32 off)
{
	pkt->psn = qp->req.psn;
	if (swqe->opcode == IB_WR_RDMA_READ) {
		pkt->op = IB_OPCODE_RC_RDMA_READ_REQUEST;
		pkt->rlen = swqe->length - off;
		pkt->ack_req = true;
	} else if (is_atomic(swqe)) {
		pkt->op = swqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ? IB_OPCODE_RC_COMPARE_SWAP :
								     IB_OPCODE_RC_FETCH_ADD;
		pkt->rlen = sizeof(u64);
		pkt->ack_req = true;
		pkt->swap = swqe->swap;
		pkt->compare = swqe->compare;
	} else {
		bool last = off + pkt->len == swqe->length;

		pkt->op = bth_opcode(swqe, !off, last);
		pkt->rlen = swqe->length;
		pkt->ack_req = last || qp->req.inflight % HWSIM_ACK_EVERY == HWSIM_ACK_EVERY - 1;
		pkt->solicited = last && swqe->flags & IB_SEND_SOLICITED;
		pkt->imm = swqe->imm;
		pkt->inv = swqe->inv;
	}
	pkt->va = swqe->va + off;
	pkt->rkey = swqe->rkey;
}

/* Zero-cost mode: the peer's half takes the message out of this one's memory. */
static int send_direct(struct hwsim_qp *qp, struct hwsim_swqe *swqe, const struct hwsim_ref *ref,
		       u32 len)
{
	struct hwsim_port *to = hwsim_wire_route(&qp->route, &qp->av.dgid);
	struct hwsim_pkt pkt = { .len = len, .ref = ref, .dqpn = qp->attr.dest_qp_num,
				 .sgid = qp->av.sgid, .dgid = qp->av.dgid };
	int ret = hwsim_ref_check(ref, 0, len);
	u32 injected;

	if (ret)
		return ret;
	fill_headers(qp, swqe, &pkt, 0);
	hwsim_count(&qp->dev->port, HWSIM_TX_PACKETS);
	hwsim_count_add(&qp->dev->port, HWSIM_TX_BYTES, len);
	injected = hwsim_fault_packet(&qp->dev->faults, qp->num);	/* a delay it does not know */
	if (injected)
		hwsim_count(&qp->dev->port, HWSIM_INJECTED);
	if (!to || !to->up || !qp->dev->port.up || injected == HWSIM_FAULT_LOSE)
		return 0;
	hwsim_rx(container_of(to, struct hwsim_dev, port), &pkt);
	if (injected == HWSIM_FAULT_TWICE)
		hwsim_rx(container_of(to, struct hwsim_dev, port), &pkt);
	return 0;
}

static int send_packet(struct hwsim_qp *qp, struct hwsim_swqe *swqe, u32 off, u32 len)
{
	struct hwsim_pkt *pkt;
	struct hwsim_ref ref;
	int ret;

	hwsim_ref_sges(&ref, qp->dev, qp->ib.pd, swqe->sge, swqe->num_sge, 0);
	if (swqe->flags & IB_SEND_INLINE) {
		ref.plain = (u8 *)swqe->sge;
		ref.len = swqe->length;
	}
	if (qp->direct)
		return send_direct(qp, swqe, &ref, len);
	pkt = new_packet(qp, len);
	if (!pkt)
		return 0;	/* a loss */
	ret = hwsim_ref_read(&ref, off, pkt->data, len);
	if (ret) {
		hwsim_pkt_free(pkt);
		return ret;
	}
	fill_headers(qp, swqe, pkt, off);
	hwsim_wire_send_fault(&qp->dev->port, &qp->route, pkt,
			      hwsim_fault_packet(&qp->dev->faults, qp->num));
	return 0;
}

/*
 * Execute what needs no wire (10.6.4, 10.6.5).  When it is not allowed that is a
 * "memory management operation error", whose name here is of older times (11.6.2).
 */
static void execute_local(struct hwsim_qp *qp, struct hwsim_swqe *swqe)
{
	int ret;

	if (swqe->opcode == IB_WR_REG_MR)
		ret = hwsim_mr_register(qp->dev, qp->ib.pd, &swqe->reg);
	else
		ret = hwsim_mr_invalidate(qp->dev, qp->ib.pd, swqe->inv, false);
	swqe->state = HWSIM_SWQE_DONE;
	if (ret)
		hwsim_req_fail(qp, swqe, IB_WC_MW_BIND_ERR);
}

static bool may_start(const struct hwsim_qp *qp, const struct hwsim_swqe *swqe)
{
	const struct hwsim_req *req = &qp->req;

	/* 10.8.3: a fence waits for all READs and atomics before it */
	if (swqe->flags & IB_SEND_FENCE && req->rd_out)
		return false;
	/* 9.7.3: no more of those under way than the peer has resources for */
	if (has_response(swqe) && req->rd_out >= qp->attr.max_rd_atomic)
		return false;
	/* 9.7.1: half of the circle at most is under way */
	return hwsim_psn_diff(hwsim_psn_add(req->max_psn, DIV_ROUND_UP(swqe->length, qp->mtu)),
			      req->una) >= 0;
}

/* Take the next request up.  False: it has to wait. */
static bool start_next(struct hwsim_qp *qp)
{
	struct hwsim_swqe *swqe = hwsim_swqe(&qp->sq, qp->sq.started);
	enum ib_wc_status injected;
	bool network;

	if (!may_start(qp, swqe))
		return false;
	network = !is_local(swqe) && !hwsim_qp_is_ud(qp);
	hwsim_count(&qp->dev->port, HWSIM_SEND_WRS);
	qp->sq.started++;
	injected = hwsim_fault_wr(&qp->dev->faults, qp->num, swqe->opcode);
	if (injected) {
		hwsim_count(&qp->dev->port, HWSIM_INJECTED);
		hwsim_req_fail(qp, swqe, injected);
		return true;
	}
	if (network && swqe->length > HWSIM_MAX_MSG) {
		hwsim_req_fail(qp, swqe, IB_WC_LOC_LEN_ERR);
		return true;
	}
	if (network) {
		swqe->state = HWSIM_SWQE_STARTED;
		swqe->psn = qp->req.max_psn;
		swqe->npsn = max_t(u32, 1, DIV_ROUND_UP(swqe->length, qp->mtu));
		qp->req.max_psn = hwsim_psn_add(swqe->psn, swqe->npsn);
		if (has_response(swqe))
			qp->req.rd_out++;
		return true;
	}
	qp->req.cur = qp->sq.started;
	if (hwsim_qp_is_ud(qp))
		hwsim_ud_send(qp, swqe);
	else
		execute_local(qp, swqe);
	hwsim_req_retire(qp);
	return true;
}

static void mark_sent(struct hwsim_req *req, u32 end)
{
	if (hwsim_psn_diff(end, req->sent) > 0)
		req->sent = end;
}

/* Send the next packet of the request that is under way. */
static bool send_next(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;
	struct hwsim_swqe *swqe = hwsim_swqe(&qp->sq, req->cur);
	u32 off, len, n = 1;
	int ret;

	if (swqe->status)	/* it failed, and waits for those before it */
		return false;
	if (!swqe->npsn) {	/* it needed no packets, and was executed when it was started */
		req->cur++;
		return true;
	}
	off = hwsim_psn_diff(req->psn, swqe->psn) * qp->mtu;
	if (has_response(swqe)) {
		len = 0;
		n = hwsim_psn_diff(swqe->psn + swqe->npsn, req->psn);
	} else {
		len = min(swqe->length - off, qp->mtu);
		if (req->inflight >= max(window, 1U))
			return false;
	}
	/* before it is: in zero-cost mode the answer comes within the call */
	mark_sent(req, hwsim_psn_add(req->psn, n));
	ret = send_packet(qp, swqe, off, len);
	if (qp->state == IB_QPS_ERR)	/* the peer may be this queue pair */
		return true;
	if (ret) {
		hwsim_req_fail(qp, swqe, ret == -EMSGSIZE ? IB_WC_LOC_LEN_ERR : IB_WC_LOC_PROT_ERR);
		return true;
	}
	if (!has_response(swqe))
		req->inflight++;
	req->psn = hwsim_psn_add(req->psn, n);
	if (req->psn == hwsim_psn_add(swqe->psn, swqe->npsn))
		req->cur++;
	hwsim_req_ack_due(qp);
	return true;
}

/**
 * hwsim_req_work() - do one thing for the send queue
 * @qp: queue pair
 *
 * Return: there may be more to do; false: until something happens there is not.
 */
bool hwsim_req_work(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;

	if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) {
		hwsim_qp_flush(qp);
		return false;
	}
	if ((qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD) || req->rnr_wait)
		return false;
	if (req->cur != qp->sq.started)
		return send_next(qp);
	if (qp->state == IB_QPS_SQD) {
		/* 10.3.1: what was started ends, nothing new is started */
		if (qp->sq.tail == qp->sq.started && qp->attr.en_sqd_async_notify) {
			qp->attr.en_sqd_async_notify = 0;
			hwsim_qp_event(qp, IB_EVENT_SQ_DRAINED);
		}
		return false;
	}
	if (req->halted || qp->sq.started == hwsim_sq_head(&qp->sq))
		return false;
	return start_next(qp);
}

/**
 * hwsim_req_resend() - go back, and send all from a sequence number on again
 * @qp: queue pair
 * @psn: from where; not before the oldest that is not acknowledged
 */
void hwsim_req_resend(struct hwsim_qp *qp, u32 psn)
{
	struct hwsim_req *req = &qp->req;
	struct hwsim_swqe *swqe;

	/* what is in the stash has been acknowledged, and stays */
	req->inflight = 0;
	req->psn = psn;
	for (req->cur = qp->sq.tail; req->cur != qp->sq.started; req->cur++) {
		swqe = hwsim_swqe(&qp->sq, req->cur);
		if (swqe->npsn &&
		    hwsim_psn_diff(hwsim_psn_add(swqe->psn, swqe->npsn), psn) > 0)
			break;
	}
	hwsim_qp_ready(qp);
}
