// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requester, receiving half: acknowledgements and responses, and what is
 * done when they do not come (IBTA volume 1, 9.7.5, 9.7.6, 9.9.2).
 */
#include <linux/ktime.h>

#include "ref.h"
#include "req.h"

static struct hwsim_swqe *oldest(struct hwsim_qp *qp)
{
	return qp->sq.tail == qp->sq.started ? NULL : hwsim_swqe(&qp->sq, qp->sq.tail);
}

static bool has_response(const struct hwsim_swqe *swqe)
{
	return swqe->opcode == IB_WR_RDMA_READ || swqe->opcode == IB_WR_ATOMIC_CMP_AND_SWP ||
	       swqe->opcode == IB_WR_ATOMIC_FETCH_AND_ADD;
}

static bool all_acked(const struct hwsim_qp *qp)
{
	return qp->req.una == qp->req.max_psn;
}

/* 9.7.6: 4.096 us * 2^timeout; 0 stands for no limit */
static u64 ack_time(const struct hwsim_qp *qp)
{
	return 4096ULL << qp->attr.timeout;
}

/**
 * hwsim_req_ack_due() - something was sent that is to be acknowledged
 * @qp: queue pair
 *
 * The timer is left where it is when it runs: it looks at the deadline.
 */
void hwsim_req_ack_due(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;

	if (!qp->attr.timeout || req->ack_timer.queued || all_acked(qp))
		return;
	/* in zero-cost mode the answer comes in the same run: whether one is missing is seen later */
	req->ack_deadline = hwsim_now() + ack_time(qp);
	hwsim_timer_at(&req->ack_timer, req->ack_deadline);
}

/* The oldest request can not be completed. */
static void give_up(struct hwsim_qp *qp, enum ib_wc_status status)
{
	struct hwsim_swqe *swqe = oldest(qp);

	if (swqe)
		hwsim_req_fail(qp, swqe, status);
	else
		hwsim_qp_error(qp);
}

/* Send again from @una on, if that was not done too often already (9.9.2). */
static void retry(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;

	if (!req->retry_left) {
		hwsim_count(&qp->dev->port, HWSIM_RETRY_EXCEEDED);
		give_up(qp, IB_WC_RETRY_EXC_ERR);
		return;
	}
	req->retry_left--;
	req->ack_deadline = hwsim_now() + ack_time(qp);
	hwsim_req_resend(qp, req->una);
}

static void ack_timer(struct hwsim_timer *timer)
{
	struct hwsim_req *req = container_of(timer, struct hwsim_req, ack_timer);
	struct hwsim_qp *qp = container_of(req, struct hwsim_qp, req);

	if (all_acked(qp) || req->rnr_wait ||
	    (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD))
		return;
	if (hwsim_now() < req->ack_deadline) {
		hwsim_timer_at(timer, req->ack_deadline);
		return;
	}
	if (qp->dev->port.paused_by || qp->dev->port.tx_free > hwsim_now()) {
		/* it may not even have left */
		hwsim_timer_at(timer, hwsim_now() + ack_time(qp));
		return;
	}
	hwsim_count(&qp->dev->port, HWSIM_ACK_TIMEOUT);
	retry(qp);
	if (qp->state != IB_QPS_ERR)
		hwsim_timer_at(timer, hwsim_now() + ack_time(qp));
}

static void rnr_timer(struct hwsim_timer *timer)
{
	struct hwsim_req *req = container_of(timer, struct hwsim_req, rnr_timer);

	req->rnr_wait = false;
	hwsim_qp_ready(container_of(req, struct hwsim_qp, req));
}

/**
 * hwsim_req_ack_init() - make a requester's timers ready
 * @qp: queue pair
 */
void hwsim_req_ack_init(struct hwsim_qp *qp)
{
	hwsim_timer_setup(&qp->req.ack_timer, ack_timer);
	hwsim_timer_setup(&qp->req.rnr_timer, rnr_timer);
}

/* Something was acknowledged: all counts and times begin anew (9.9.2). */
static void progress(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;

	req->retry_left = qp->attr.retry_cnt;
	req->rnr_left = qp->attr.rnr_retry;
	req->implied = false;
	req->ack_deadline = hwsim_now() + ack_time(qp);
	/* something sent again may have come the first time after all */
	if (hwsim_psn_diff(req->una, req->psn) > 0)
		hwsim_req_resend(qp, req->una);
	hwsim_qp_ready(qp);
}

/*
 * All before @end was received.  False: there is a READ or an atomic whose
 * response has not come; @una is there now.
 */
static bool advance(struct hwsim_qp *qp, u32 end)
{
	struct hwsim_req *req = &qp->req;
	struct hwsim_swqe *swqe;
	u32 limit, swqe_end;
	bool moved = false;
	bool stuck = false;
	s32 n;

	while (hwsim_psn_diff(end, req->una) > 0) {
		swqe = oldest(qp);
		if (!swqe || swqe->state != HWSIM_SWQE_STARTED)
			break;
		stuck = has_response(swqe);
		if (stuck)
			break;
		swqe_end = hwsim_psn_add(swqe->psn, swqe->npsn);
		limit = hwsim_psn_diff(swqe_end, end) < 0 ? swqe_end : end;
		n = hwsim_psn_diff(limit, req->una);
		req->inflight -= min_t(u32, n, req->inflight);
		req->una = limit;
		moved = true;
		if (limit == swqe_end) {
			swqe->state = HWSIM_SWQE_DONE;
			hwsim_req_retire(qp);
			if (qp->state == IB_QPS_ERR)
				return true;
		}
	}
	if (moved)
		progress(qp);
	return !stuck;
}

/* 9.7.5: a later answer says that a response was lost; ask again, once. */
static void implied_nak(struct hwsim_qp *qp)
{
	struct hwsim_req *req = &qp->req;

	if (req->implied || hwsim_psn_diff(req->psn, req->una) <= 0)
		return;
	hwsim_count(&qp->dev->port, HWSIM_IMPLIED_NAK);
	retry(qp);
	req->implied = true;
}

/* 9.7.5, RNR NAK: what a timer's code stands for, in units of 10 us */
static u64 rnr_time(u8 code)
{
	u64 units;

	if (!code)
		units = 65536;
	else if (code == 1)
		units = 1;
	else if (code & 1)
		units = 3ULL << ((code - 3) / 2);
	else
		units = 1ULL << (code / 2);
	return units * 10 * NSEC_PER_USEC;
}

static void rnr_nak(struct hwsim_qp *qp, u8 code)
{
	struct hwsim_req *req = &qp->req;

	hwsim_count(&qp->dev->port, HWSIM_RNR_NAK_RCVD);
	if (!req->rnr_left) {
		hwsim_count(&qp->dev->port, HWSIM_RNR_EXCEEDED);
		give_up(qp, IB_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (req->rnr_left != 7)
		req->rnr_left--;
	hwsim_req_resend(qp, req->una);
	hwsim_timer_stop(&req->ack_timer);
	req->rnr_wait = true;
	hwsim_timer_at(&req->rnr_timer, hwsim_now() + rnr_time(code));
}

static void nak(struct hwsim_qp *qp, u8 syndrome)
{
	struct hwsim_port *port = &qp->dev->port;

	switch (syndrome) {
	case HWSIM_NAK_SEQ:
		hwsim_count(port, HWSIM_SEQ_NAK_RCVD);
		retry(qp);
		return;
	case HWSIM_NAK_INV_REQ:
		hwsim_count(port, HWSIM_REMOTE_INVALID);
		give_up(qp, IB_WC_REM_INV_REQ_ERR);
		return;
	case HWSIM_NAK_REM_ACC:
		hwsim_count(port, HWSIM_REMOTE_ACCESS);
		give_up(qp, IB_WC_REM_ACCESS_ERR);
		return;
	default:
		hwsim_count(port, HWSIM_REMOTE_OPERATION);
		give_up(qp, IB_WC_REM_OP_ERR);
		return;
	}
}

/* What is reserved says nothing. */
static bool is_syndrome(u8 syndrome)
{
	u8 kind = syndrome & HWSIM_AETH_KIND;

	return !kind || kind == HWSIM_AETH_RNR ||
	       (syndrome >= HWSIM_NAK_SEQ && syndrome <= HWSIM_NAK_REM_OP);
}

static void rx_ack(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_req *req = &qp->req;
	u8 kind = pkt->syndrome & HWSIM_AETH_KIND;
	/* an ACK is for its own number too, a NAK for those before it */
	u32 end = hwsim_psn_add(pkt->psn, kind ? 0 : 1);

	if (!is_syndrome(pkt->syndrome)) {
		hwsim_count(&qp->dev->port, HWSIM_BAD_PACKET);
		return;
	}
	if (hwsim_psn_diff(end, req->una) < 0 || hwsim_psn_diff(pkt->psn, req->sent) >= 0)
		return;	/* old, or for what was never sent */
	if (!advance(qp, end)) {
		implied_nak(qp);
		return;
	}
	if (!kind || qp->state == IB_QPS_ERR || req->una != pkt->psn)
		return;
	if (kind == HWSIM_AETH_RNR)
		rnr_nak(qp, pkt->syndrome & ~HWSIM_AETH_KIND);
	else
		nak(qp, pkt->syndrome);
}

static void response_done(struct hwsim_qp *qp, struct hwsim_swqe *swqe)
{
	qp->req.rd_out--;
	swqe->state = HWSIM_SWQE_DONE;
	hwsim_req_retire(qp);
}

/* A response for the oldest request, which all before it have been acknowledged by. */
static bool rx_response(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	struct hwsim_req *req = &qp->req;
	struct hwsim_swqe *swqe;
	struct hwsim_ref ref;
	bool atomic = pkt->op == IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE;
	bool kept = false;
	bool last;
	u32 off;
	int ret;

	if (hwsim_psn_diff(pkt->psn, req->una) < 0 || hwsim_psn_diff(pkt->psn, req->sent) >= 0)
		return false;
	if (!advance(qp, pkt->psn)) {
		implied_nak(qp);
		return false;
	}
	swqe = oldest(qp);
	if (qp->state == IB_QPS_ERR || !swqe || swqe->state != HWSIM_SWQE_STARTED ||
	    !has_response(swqe) || req->una != pkt->psn)
		return false;
	off = hwsim_psn_diff(pkt->psn, swqe->psn) * qp->mtu;
	if (atomic != (swqe->opcode != IB_WR_RDMA_READ) ||
	    (!atomic && pkt->len != min(qp->mtu, swqe->length - off))) {
		hwsim_count(&qp->dev->port, HWSIM_BAD_PACKET);
		hwsim_req_fail(qp, swqe, IB_WC_BAD_RESP_ERR);
		return false;
	}
	hwsim_ref_sges(&ref, qp->dev, qp->ib.pd, swqe->sge, swqe->num_sge, IB_ACCESS_LOCAL_WRITE);
	last = hwsim_psn_add(pkt->psn, 1) == hwsim_psn_add(swqe->psn, swqe->npsn);
	if (atomic)
		ret = hwsim_ref_write(&ref, 0, &pkt->swap, sizeof(pkt->swap));
	else
		ret = hwsim_stash_land(&req->stash, &ref, pkt, off, last, &kept);
	if (ret) {
		hwsim_req_fail(qp, swqe, IB_WC_LOC_PROT_ERR);
		return kept;
	}
	req->una = hwsim_psn_add(pkt->psn, 1);
	if (last)
		response_done(qp, swqe);
	if (qp->state != IB_QPS_ERR)
		progress(qp);
	return kept;
}

/**
 * hwsim_req_rx() - an acknowledgement or a response has come
 * @qp: for this queue pair
 * @pkt: it
 *
 * Return: it was taken over.
 */
bool hwsim_req_rx(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	if (qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD)
		return false;
	if (pkt->op != IB_OPCODE_RC_ACKNOWLEDGE)
		return rx_response(qp, pkt);
	rx_ack(qp, pkt);
	return false;
}
