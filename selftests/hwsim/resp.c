// SPDX-License-Identifier: GPL-2.0-only
/*
 * The responder, receiving half: what comes in is checked in the order of IBTA
 * volume 1, 9.7.4 -- sequence number, opcode, length, rights, resources --
 * and executed.
 */
#include "fault.h"
#include "iommu.h"
#include "ref.h"
#include "resp.h"

/**
 * hwsim_resp_reset() - forget the message under way and all that is kept
 * @qp: queue pair
 */
void hwsim_resp_reset(struct hwsim_qp *qp)
{
	struct hwsim_rwqe *rwqe = qp->resp.rwqe;

	hwsim_stash_drop(&qp->resp.stash);
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->resp.rwqe = rwqe;
}

/**
 * hwsim_resp_nak() - refuse a packet
 * @qp: queue pair
 * @syndrome: why; other than "out of order" and "not ready" it ends the connection
 * @psn: the packet
 *
 * It is sent after what is to be sent before it; then the queue pair is in error.
 */
void hwsim_resp_nak(struct hwsim_qp *qp, u8 syndrome, u32 psn)
{
	struct hwsim_resp *resp = &qp->resp;

	resp->nak = syndrome;
	resp->nak_psn = psn;
	resp->nak_sent = true;
	resp->fatal = syndrome == HWSIM_NAK_INV_REQ || syndrome == HWSIM_NAK_REM_ACC ||
		      syndrome == HWSIM_NAK_REM_OP;
	hwsim_qp_ready(qp);
}

/* The request of the receive queue that is in use is over. */
static void complete_recv(struct hwsim_qp *qp, const struct hwsim_pkt *pkt,
			  enum ib_wc_status status)
{
	struct hwsim_resp *resp = &qp->resp;
	struct ib_wc wc = {
		.wr_id = resp->rwqe->wr_id,
		.status = status,
		.opcode = IB_WC_RECV,
		.byte_len = resp->off,
		.src_qp = qp->attr.dest_qp_num,
		.port_num = 1,
	};

	resp->has_rwqe = false;
	switch (pkt->op) {
	case IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
		fallthrough;
	case IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE:
	case IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE:
		wc.wc_flags = IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
		break;
	case IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE:
	case IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE:
		wc.wc_flags = IB_WC_WITH_INVALIDATE;
		wc.ex.invalidate_rkey = pkt->inv;
		break;
	}
	hwsim_qp_complete(qp, to_hwsim_cq(qp->ib.recv_cq), &wc, pkt->solicited);
}

/* Refuse, and end a receive that is under way with an error of its own (9.9.3). */
static void refuse(struct hwsim_qp *qp, const struct hwsim_pkt *pkt, u8 syndrome,
		   enum ib_wc_status status)
{
	if (qp->resp.has_rwqe && status)
		complete_recv(qp, pkt, status);
	hwsim_resp_nak(qp, syndrome, pkt->psn);
}

/* A request of the receive queue for this message; or "not ready" (9.7.5). */
static bool take_rwqe(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;

	if (resp->has_rwqe)
		return true;
	resp->has_rwqe = hwsim_rq_take(qp->srq ? &qp->srq->rq : &qp->rq, qp->srq, resp->rwqe);
	if (!resp->has_rwqe) {
		hwsim_count(&qp->dev->port, HWSIM_RNR_NAK_SENT);
		hwsim_resp_nak(qp, HWSIM_AETH_RNR | qp->attr.min_rnr_timer, pkt->psn);
	}
	return resp->has_rwqe;
}

static bool ends_message(u8 op)
{
	return !hwsim_op_is_first(op) && !hwsim_op_is_middle(op);
}

static bool needs_rwqe(u8 op)
{
	return !hwsim_op_is_write(op) || op == IB_OPCODE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE ||
	       op == IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
}

/* 9.7.4: may this packet follow those before it, and has it the right length? */
static bool in_sequence(const struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	enum hwsim_msg msg = hwsim_op_is_write(pkt->op) ? HWSIM_MSG_WRITE : HWSIM_MSG_SEND;

	if (hwsim_op_is_first(pkt->op) || hwsim_op_is_only(pkt->op))
		msg = HWSIM_MSG_NONE;
	if (qp->resp.msg != msg)
		return false;
	if (hwsim_op_is_first(pkt->op) || hwsim_op_is_middle(pkt->op))
		return pkt->len == qp->mtu;
	return pkt->len <= qp->mtu && (pkt->len || hwsim_op_is_only(pkt->op));
}

/* The first packet of a WRITE says for all of them where to (9.7.4). */
static bool begin_write(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;

	if (!(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE) || pkt->rlen > HWSIM_MAX_MSG) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, 0);
		return false;
	}
	if (hwsim_mr_check(qp->dev, qp->ib.pd, pkt->rkey, pkt->va, pkt->rlen,
			   IB_ACCESS_REMOTE_WRITE)) {
		refuse(qp, pkt, HWSIM_NAK_REM_ACC, 0);
		return false;
	}
	resp->va = pkt->va;
	resp->rkey = pkt->rkey;
	resp->rlen = pkt->rlen;
	return true;
}

/* Put the payload where the message goes.  False: it was refused. */
static bool land(struct hwsim_qp *qp, struct hwsim_pkt *pkt, bool write, bool *kept)
{
	struct hwsim_resp *resp = &qp->resp;
	struct hwsim_ref ref;
	int ret;

	if (write)
		hwsim_ref_key(&ref, qp->dev, qp->ib.pd, resp->va, resp->rkey, resp->rlen,
			      IB_ACCESS_REMOTE_WRITE);
	else
		hwsim_ref_sges(&ref, qp->dev, qp->ib.pd, resp->rwqe->sge, resp->rwqe->num_sge,
			       IB_ACCESS_LOCAL_WRITE);
	if (pkt->len > ref.len - resp->off || (write && ends_message(pkt->op) &&
					       resp->off + pkt->len != ref.len)) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, write ? 0 : IB_WC_LOC_LEN_ERR);
		return false;
	}
	ret = hwsim_stash_land(&resp->stash, &ref, pkt, resp->off, ends_message(pkt->op), kept);
	if (!ret)
		return true;
	if (ret == -EFAULT)
		hwsim_count(&qp->dev->port, HWSIM_MEMORY_FAULT);
	if (write)
		refuse(qp, pkt, ret == -EACCES ? HWSIM_NAK_REM_ACC : HWSIM_NAK_REM_OP, 0);
	else
		refuse(qp, pkt, HWSIM_NAK_REM_OP, IB_WC_LOC_PROT_ERR);
	return false;
}

/* The message is complete. */
static void end_message(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;
	enum ib_wc_status injected;

	if ((pkt->op == IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE ||
	     pkt->op == IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE) &&
	    hwsim_mr_invalidate(qp->dev, qp->ib.pd, pkt->inv, true)) {
		refuse(qp, pkt, HWSIM_NAK_REM_ACC, IB_WC_REM_INV_REQ_ERR);
		return;
	}
	if (resp->has_rwqe) {
		injected = hwsim_fault_recv(&qp->dev->faults, qp->num);
		if (injected) {
			hwsim_count(&qp->dev->port, HWSIM_INJECTED);
			refuse(qp, pkt, HWSIM_NAK_REM_OP, injected);
			return;
		}
		complete_recv(qp, pkt, IB_WC_SUCCESS);
	}
	resp->msg = HWSIM_MSG_NONE;
	resp->off = 0;
	resp->msn = (resp->msn + 1) & HWSIM_PSN_MASK;
}

/* A packet of a SEND or a WRITE that is the expected one. */
static bool rx_payload(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	bool write = hwsim_op_is_write(pkt->op);
	struct hwsim_resp *resp = &qp->resp;
	bool kept = false;

	if (!in_sequence(qp, pkt)) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, IB_WC_LOC_QP_OP_ERR);
		return false;
	}
	if (write && resp->msg == HWSIM_MSG_NONE && !begin_write(qp, pkt))
		return false;
	if (needs_rwqe(pkt->op) && !take_rwqe(qp, pkt))
		return false;
	if (!land(qp, pkt, write, &kept))
		return kept;
	resp->msg = write ? HWSIM_MSG_WRITE : HWSIM_MSG_SEND;
	resp->off += pkt->len;
	if (ends_message(pkt->op))
		end_message(qp, pkt);
	if (!resp->fatal) {
		resp->epsn = hwsim_psn_add(resp->epsn, 1);
		resp->ack_due |= pkt->ack_req;
	}
	return kept;
}

/* Room for one more READ or atomic: the oldest that is answered is forgotten (9.7.4). */
static struct hwsim_res *new_res(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;
	u32 max = min_t(u32, qp->attr.max_dest_rd_atomic, HWSIM_MAX_RD_ATOMIC);
	struct hwsim_res *res;

	if (!max)
		return NULL;
	res = &resp->res[resp->res_next % max];
	if (res->pending && !res->again)
		return NULL;
	resp->res_next = (resp->res_next + 1) % max;
	*res = (struct hwsim_res){ .psn = pkt->psn, .next = pkt->psn, .va = pkt->va,
				   .rkey = pkt->rkey, .len = pkt->rlen, .npsn = 1 };
	return res;
}

static void rx_read(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;
	struct hwsim_res *res;

	if (resp->msg != HWSIM_MSG_NONE || pkt->len || pkt->rlen > HWSIM_MAX_MSG ||
	    !(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_READ)) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, IB_WC_LOC_QP_OP_ERR);
		return;
	}
	if (hwsim_mr_check(qp->dev, qp->ib.pd, pkt->rkey, pkt->va, pkt->rlen,
			   IB_ACCESS_REMOTE_READ)) {
		refuse(qp, pkt, HWSIM_NAK_REM_ACC, 0);
		return;
	}
	res = new_res(qp, pkt);
	if (!res) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, 0);
		return;
	}
	res->npsn = max_t(u32, 1, DIV_ROUND_UP(pkt->rlen, qp->mtu));
	res->pending = true;
	resp->epsn = hwsim_psn_add(resp->epsn, res->npsn);
	resp->msn = (resp->msn + 1) & HWSIM_PSN_MASK;
	hwsim_qp_ready(qp);
}

static int do_atomic(struct hwsim_qp *qp, const struct hwsim_pkt *pkt, u64 *orig)
{
	struct hwsim_ref ref;
	u64 val;
	int ret;

	hwsim_ref_key(&ref, qp->dev, qp->ib.pd, pkt->va, pkt->rkey, sizeof(val),
		      IB_ACCESS_REMOTE_ATOMIC);
	ret = hwsim_ref_read(&ref, 0, orig, sizeof(*orig));
	if (ret)
		return ret;
	if (pkt->op == IB_OPCODE_RC_FETCH_ADD)
		val = *orig + pkt->swap;
	else if (*orig == pkt->compare)
		val = pkt->swap;
	else
		return 0;
	return hwsim_ref_write(&ref, 0, &val, sizeof(val));
}

/* 9.4.5: atomic among all that the devices of this guest do */
static void rx_atomic(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;
	struct hwsim_res *res;
	u64 orig;
	int ret;

	if (resp->msg != HWSIM_MSG_NONE || pkt->len || pkt->va & 7 ||
	    !(qp->attr.qp_access_flags & IB_ACCESS_REMOTE_ATOMIC)) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, IB_WC_LOC_QP_OP_ERR);
		return;
	}
	res = new_res(qp, pkt);
	if (!res) {
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, 0);
		return;
	}
	ret = do_atomic(qp, pkt, &orig);
	if (ret) {
		refuse(qp, pkt, ret == -EACCES ? HWSIM_NAK_REM_ACC : HWSIM_NAK_REM_OP, 0);
		return;
	}
	res->atomic = true;
	res->orig = orig;
	res->pending = true;
	resp->epsn = hwsim_psn_add(resp->epsn, 1);
	resp->msn = (resp->msn + 1) & HWSIM_PSN_MASK;
	hwsim_qp_ready(qp);
}

/**
 * hwsim_resp_find() - a READ or an atomic that is kept
 * @qp: queue pair
 * @psn: one of its sequence numbers
 *
 * Return: what is kept of it, or NULL.
 */
struct hwsim_res *hwsim_resp_find(struct hwsim_qp *qp, u32 psn)
{
	struct hwsim_res *res = qp->resp.res;
	s32 n;
	int i;

	for (i = 0; i < HWSIM_MAX_RD_ATOMIC; i++, res++) {
		n = hwsim_psn_diff(psn, res->psn);
		if (n >= 0 && n < res->npsn)
			return res;
	}
	return NULL;
}

/* It was executed before: what it asked for is answered again (9.7.5). */
static void rx_duplicate(struct hwsim_qp *qp, const struct hwsim_pkt *pkt)
{
	struct hwsim_res *res;
	u32 off;

	hwsim_count(&qp->dev->port, HWSIM_DUPLICATE);
	switch (pkt->op) {
	case IB_OPCODE_RC_RDMA_READ_REQUEST:
		res = hwsim_resp_find(qp, pkt->psn);
		if (!res || res->atomic)
			return;
		/* the rest of it: from an address that fits, and not beyond its end */
		off = hwsim_psn_diff(pkt->psn, res->psn) * qp->mtu;
		if (pkt->va != res->va + off || pkt->rkey != res->rkey ||
		    pkt->rlen != res->len - off)
			return;
		res->again |= !res->pending;
		res->next = pkt->psn;
		res->pending = true;
		break;
	case IB_OPCODE_RC_COMPARE_SWAP:
	case IB_OPCODE_RC_FETCH_ADD:
		res = hwsim_resp_find(qp, pkt->psn);
		if (!res || !res->atomic)
			return;
		res->again |= !res->pending;
		res->pending = true;
		break;
	default:
		qp->resp.ack_due = true;
	}
	hwsim_qp_ready(qp);
}

static bool execute(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	switch (pkt->op) {
	case IB_OPCODE_RC_RDMA_READ_REQUEST:
		rx_read(qp, pkt);
		return false;
	case IB_OPCODE_RC_COMPARE_SWAP:
	case IB_OPCODE_RC_FETCH_ADD:
		rx_atomic(qp, pkt);
		return false;
	case IB_OPCODE_RC_SEND_FIRST ... IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
	case IB_OPCODE_RC_SEND_LAST_WITH_INVALIDATE:
	case IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE:
		return rx_payload(qp, pkt);
	default:
		refuse(qp, pkt, HWSIM_NAK_INV_REQ, IB_WC_LOC_QP_OP_ERR);
		return false;
	}
}

/**
 * hwsim_resp_rx() - a request's packet has come
 * @qp: for this queue pair
 * @pkt: it
 *
 * Return: it was taken over.
 */
bool hwsim_resp_rx(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	struct hwsim_resp *resp = &qp->resp;
	s32 ahead;
	bool kept;

	if (qp->state < IB_QPS_RTR || qp->state == IB_QPS_ERR || resp->fatal)
		return false;
	ahead = hwsim_psn_diff(pkt->psn, resp->epsn);
	if (ahead < 0) {
		rx_duplicate(qp, pkt);
		return false;
	}
	if (ahead > 0) {
		/* 9.7.5: one NAK, and then silence until what is expected comes */
		hwsim_count(&qp->dev->port, HWSIM_OUT_OF_ORDER);
		if (!resp->nak_sent) {
			hwsim_count(&qp->dev->port, HWSIM_SEQ_NAK_SENT);
			hwsim_resp_nak(qp, HWSIM_NAK_SEQ, resp->epsn);
		}
		return false;
	}
	if (qp->state == IB_QPS_RTR)
		hwsim_qp_event(qp, IB_EVENT_COMM_EST);
	resp->nak_sent = false;
	resp->nak = 0;
	kept = execute(qp, pkt);
	if (resp->ack_due)
		hwsim_qp_ready(qp);
	return kept;
}
