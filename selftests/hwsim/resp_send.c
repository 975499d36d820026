// SPDX-License-Identifier: GPL-2.0-only
/*
 * The responder, sending half: responses in the order of the requests, then
 * one acknowledgement for all that came since the last (IBTA volume 1, 9.7.5).
 */
#include "fault.h"
#include "ref.h"
#include "resp.h"
#include "rx.h"

static void fill(struct hwsim_qp *qp, struct hwsim_pkt *pkt, u8 op, u32 psn, u8 syndrome)
{
	pkt->sgid = qp->av.sgid;
	pkt->dgid = qp->av.dgid;
	memcpy(pkt->dmac, qp->av.dmac, sizeof(pkt->dmac));
	pkt->dqpn = qp->attr.dest_qp_num;
	pkt->op = op;
	pkt->psn = psn;
	pkt->syndrome = syndrome;
	pkt->msn = qp->resp.msn;
}

/* Zero-cost mode: the requester's half is called, and takes the payload out of @pkt->ref. */
static void send_direct(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	struct hwsim_port *to = hwsim_wire_route(&qp->route, &qp->av.dgid);
	u32 fault;

	hwsim_count(&qp->dev->port, HWSIM_TX_PACKETS);
	hwsim_count_add(&qp->dev->port, HWSIM_TX_BYTES, pkt->len);
	fault = hwsim_fault_ack(&qp->dev->faults, qp->num);
	if (fault)
		hwsim_count(&qp->dev->port, HWSIM_INJECTED);
	if (!to || !to->up || !qp->dev->port.up || fault == HWSIM_FAULT_LOSE)
		return;
	hwsim_rx(container_of(to, struct hwsim_dev, port), pkt);
}

static void send_ack(struct hwsim_qp *qp, u8 syndrome, u32 psn, u8 op, u64 orig)
{
	struct hwsim_pkt direct = { }, *pkt = &direct;

	if (!qp->direct) {
		pkt = hwsim_pkt_new(0);
		if (!pkt)
			return;
	}
	fill(qp, pkt, op, psn, syndrome);
	pkt->swap = orig;
	if (qp->direct)
		send_direct(qp, pkt);
	else
		hwsim_wire_send_fault(&qp->dev->port, &qp->route, pkt,
				      hwsim_fault_ack(&qp->dev->faults, qp->num));
}

static u8 read_opcode(const struct hwsim_res *res)
{
	bool first = res->next == res->psn;
	bool last = hwsim_psn_diff(res->next, res->psn) == res->npsn - 1;

	if (first)
		return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY :
			      IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST;
	return last ? IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST : IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE;
}

/* One packet of a READ's response; the key is looked at again for each. */
static int send_read(struct hwsim_qp *qp, struct hwsim_res *res)
{
	u32 off = hwsim_psn_diff(res->next, res->psn) * qp->mtu;
	u32 len = min(res->len - off, qp->mtu);
	u8 op = read_opcode(res);
	struct hwsim_pkt direct = { }, *pkt;
	struct hwsim_ref ref;
	u32 fault = 0;
	int ret;

	hwsim_ref_key(&ref, qp->dev, qp->ib.pd, res->va + off, res->rkey, len,
		      IB_ACCESS_REMOTE_READ);
	if (qp->direct) {
		ret = hwsim_ref_check(&ref, 0, len);
		if (ret)
			return ret;
		direct.len = len;
		direct.ref = &ref;
		fill(qp, &direct, op, res->next, HWSIM_AETH_ACK);
		send_direct(qp, &direct);
		return 0;
	}
	pkt = hwsim_pkt_new(len);
	if (!pkt)
		return 0;	/* a loss */
	ret = hwsim_ref_read(&ref, 0, pkt->data, len);
	if (ret) {
		hwsim_pkt_free(pkt);
		return ret;
	}
	fill(qp, pkt, op, res->next, HWSIM_AETH_ACK);
	if (op == IB_OPCODE_RC_RDMA_READ_RESPONSE_ONLY ||
	    op == IB_OPCODE_RC_RDMA_READ_RESPONSE_LAST)
		fault = hwsim_fault_ack(&qp->dev->faults, qp->num);
	hwsim_wire_send_fault(&qp->dev->port, &qp->route, pkt, fault);
	return 0;
}

/* The oldest that is not answered; answers keep the order of what was asked. */
static struct hwsim_res *next_res(struct hwsim_qp *qp)
{
	struct hwsim_resp *resp = &qp->resp;
	u32 max = min_t(u32, qp->attr.max_dest_rd_atomic, HWSIM_MAX_RD_ATOMIC);
	struct hwsim_res *res;
	u32 i;

	for (i = 0; i < max; i++) {
		res = &resp->res[(resp->res_next + i) % max];
		if (res->pending)
			return res;
	}
	return NULL;
}

static void answer(struct hwsim_qp *qp, struct hwsim_res *res)
{
	int ret;

	if (res->atomic) {
		res->pending = false;
		send_ack(qp, HWSIM_AETH_ACK, res->psn, IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE, res->orig);
		return;
	}
	ret = send_read(qp, res);
	if (ret) {
		int i;

		/* 9.7.5: the NAK takes the place of the response; nothing after it is answered */
		for (i = 0; i < HWSIM_MAX_RD_ATOMIC; i++)
			qp->resp.res[i].pending = false;
		if (ret == -EFAULT)
			hwsim_count(&qp->dev->port, HWSIM_MEMORY_FAULT);
		hwsim_resp_nak(qp, ret == -EACCES ? HWSIM_NAK_REM_ACC : HWSIM_NAK_REM_OP,
			       res->next);
		return;
	}
	res->next = hwsim_psn_add(res->next, 1);
	if (hwsim_psn_diff(res->next, res->psn) == res->npsn)
		res->pending = false;
}

static void nak_done(struct hwsim_qp *qp, u8 syndrome)
{
	if (!qp->resp.fatal)
		return;
	/* 9.9.3, 11.6.3: the responder's client hears why its queue pair is in error */
	hwsim_qp_event(qp, syndrome == HWSIM_NAK_REM_ACC ? IB_EVENT_QP_ACCESS_ERR :
			   syndrome == HWSIM_NAK_INV_REQ ? IB_EVENT_QP_REQ_ERR : IB_EVENT_QP_FATAL);
	hwsim_qp_error(qp);
}

/**
 * hwsim_resp_work() - send one packet of the responder's
 * @qp: queue pair
 *
 * Return: one was sent; false: there was nothing.
 */
bool hwsim_resp_work(struct hwsim_qp *qp)
{
	struct hwsim_resp *resp = &qp->resp;
	struct hwsim_res *res;
	u8 syndrome;

	if (qp->state < IB_QPS_RTR || qp->state == IB_QPS_ERR)
		return false;
	res = next_res(qp);
	if (res) {
		answer(qp, res);
		return true;
	}
	if (resp->nak) {
		syndrome = resp->nak;
		resp->nak = 0;
		resp->ack_due = false;
		send_ack(qp, syndrome, resp->nak_psn, IB_OPCODE_RC_ACKNOWLEDGE, 0);
		nak_done(qp, syndrome);
		return true;
	}
	if (resp->ack_due) {
		resp->ack_due = false;
		send_ack(qp, HWSIM_AETH_ACK, hwsim_psn_add(resp->epsn, HWSIM_PSN_MASK),
			 IB_OPCODE_RC_ACKNOWLEDGE, 0);
		return true;
	}
	return false;
}
