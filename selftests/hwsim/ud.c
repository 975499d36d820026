// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams (IBTA volume 1, 9.8.3) with the network header of RoCE v2 (annex
 * A17): unacknowledged, one packet each, dropped when nobody waits for them.
 * Queue pair 1 carries the connection manager's MADs.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <rdma/ib_mad.h>

#include "ref.h"
#include "req.h"
#include "ud.h"

#define HWSIM_QKEY_CTRL	0x80000000	/* 10.2.5: take the queue pair's own */

/**
 * hwsim_av_from_attr() - where an address handle leads
 * @av: set
 * @attr: with a global route
 */
void hwsim_av_from_attr(struct hwsim_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	av->dgid = grh->dgid;
	av->sgid = grh->sgid_attr->gid;
	memcpy(av->dmac, attr->roce.dmac, ETH_ALEN);
}

/**
 * hwsim_create_ah() - the verb; any context
 * @ibah: handle
 * @init: where to
 * @udata: ignored
 *
 * Return: 0 or -EINVAL.
 */
int hwsim_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct rdma_ah_attr *attr = init->ah_attr;
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibah->device)->faults, HWSIM_VERB_CREATE_AH);

	if (ret)
		return ret;
	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !attr->grh.sgid_attr)
		return -EINVAL;
	hwsim_av_from_attr(&to_hwsim_ah(ibah)->av, attr);
	return 0;
}

/**
 * hwsim_destroy_ah() - the verb; requests that were posted have copied it
 * @ibah: handle
 * @flags: ignored
 *
 * Return: 0.
 */
int hwsim_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

/**
 * hwsim_ud_copy_wr() - take a datagram from what the client posted
 * @swqe: request, with its bytes
 * @wr: what was posted
 *
 * Return: 0 or -EINVAL.
 */
int hwsim_ud_copy_wr(struct hwsim_swqe *swqe, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return -EINVAL;
	if (!ud->ah)
		return -EINVAL;
	if (wr->opcode == IB_WR_SEND_WITH_IMM)
		swqe->imm = wr->ex.imm_data;
	swqe->av = to_hwsim_ah(ud->ah)->av;
	swqe->dqpn = ud->remote_qpn;
	swqe->qkey = ud->remote_qkey;
	return 0;
}

static u32 own_qkey(const struct hwsim_qp *qp)
{
	return qp->ib.qp_type == IB_QPT_GSI ? IB_QP1_QKEY : qp->attr.qkey;
}

/**
 * hwsim_ud_send() - execute a datagram: it is done when it has left
 * @qp: queue pair
 * @swqe: request
 */
void hwsim_ud_send(struct hwsim_qp *qp, struct hwsim_swqe *swqe)
{
	struct hwsim_route route = { };
	struct hwsim_pkt *pkt;
	struct hwsim_ref ref;
	int ret;

	if (swqe->length > ib_mtu_enum_to_int(hwsim_port_mtu(qp->dev->port.ndev))) {
		hwsim_req_fail(qp, swqe, IB_WC_LOC_LEN_ERR);
		return;
	}
	swqe->state = HWSIM_SWQE_DONE;
	pkt = hwsim_pkt_new(swqe->length);
	if (!pkt)
		return;
	hwsim_ref_sges(&ref, qp->dev, qp->ib.pd, swqe->sge, swqe->num_sge, 0);
	if (swqe->flags & IB_SEND_INLINE) {
		ref.plain = (u8 *)swqe->sge;
		ref.len = swqe->length;
	}
	ret = hwsim_ref_read(&ref, 0, pkt->data, swqe->length);
	if (ret) {
		hwsim_pkt_free(pkt);
		hwsim_req_fail(qp, swqe, IB_WC_LOC_PROT_ERR);
		return;
	}
	pkt->op = IB_OPCODE_UD_SEND_ONLY;
	if (swqe->opcode == IB_WR_SEND_WITH_IMM) {
		pkt->op = IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE;
		pkt->imm = swqe->imm;
	}
	pkt->solicited = !!(swqe->flags & IB_SEND_SOLICITED);
	pkt->sgid = swqe->av.sgid;
	pkt->dgid = swqe->av.dgid;
	memcpy(pkt->dmac, swqe->av.dmac, ETH_ALEN);
	pkt->dqpn = swqe->dqpn;
	pkt->sqpn = qp->num;
	pkt->qkey = swqe->qkey & HWSIM_QKEY_CTRL ? own_qkey(qp) : swqe->qkey;
	pkt->psn = qp->req.max_psn;
	qp->req.max_psn = hwsim_psn_add(qp->req.max_psn, 1);
	hwsim_wire_send(&qp->dev->port, &route, pkt);
}

static void fill_ipv4(struct iphdr *ip, const struct hwsim_pkt *pkt)
{
	ip->version = 4;
	ip->ihl = 5;
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = htons(sizeof(*ip) + pkt->len);
	memcpy(&ip->saddr, pkt->sgid.raw + 12, 4);
	memcpy(&ip->daddr, pkt->dgid.raw + 12, 4);
	ip->check = ip_fast_csum(ip, ip->ihl);
}

/* Annex A17: the 40 bytes are an IPv6 header, or in their second half an IPv4 one */
static enum rdma_network_type fill_header(union rdma_network_hdr *hdr,
					  const struct hwsim_pkt *pkt)
{
	memset(hdr, 0, sizeof(*hdr));
	if (ipv6_addr_v4mapped((struct in6_addr *)pkt->sgid.raw) &&
	    ipv6_addr_v4mapped((struct in6_addr *)pkt->dgid.raw)) {
		fill_ipv4((struct iphdr *)&hdr->roce4grh, pkt);
		return RDMA_NETWORK_IPV4;
	}
	hdr->ibgrh.version_tclass_flow = cpu_to_be32(6 << 28);
	hdr->ibgrh.paylen = cpu_to_be16(pkt->len);
	hdr->ibgrh.next_hdr = IPPROTO_UDP;
	hdr->ibgrh.hop_limit = 64;
	hdr->ibgrh.sgid = pkt->sgid;
	hdr->ibgrh.dgid = pkt->dgid;
	return RDMA_NETWORK_IPV6;
}

/**
 * hwsim_ud_rx() - a datagram has come
 * @qp: for this queue pair
 * @pkt: it
 */
void hwsim_ud_rx(struct hwsim_qp *qp, struct hwsim_pkt *pkt)
{
	struct hwsim_rwqe *rwqe = qp->resp.rwqe;
	union rdma_network_hdr hdr;
	struct hwsim_ref ref;
	struct ib_wc wc = { };
	int ret;

	if (qp->state < IB_QPS_RTR || qp->state == IB_QPS_ERR || pkt->qkey != own_qkey(qp) ||
	    (pkt->op != IB_OPCODE_UD_SEND_ONLY &&
	     pkt->op != IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE) ||
	    !hwsim_rq_take(qp->srq ? &qp->srq->rq : &qp->rq, qp->srq, rwqe)) {
		hwsim_count(&qp->dev->port, HWSIM_UD_DROPPED);
		return;
	}
	wc.wr_id = rwqe->wr_id;
	wc.opcode = IB_WC_RECV;
	wc.byte_len = sizeof(hdr) + pkt->len;
	wc.src_qp = pkt->sqpn;
	wc.port_num = 1;
	wc.wc_flags = IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc.network_hdr_type = fill_header(&hdr, pkt);
	if (pkt->op == IB_OPCODE_UD_SEND_ONLY_WITH_IMMEDIATE) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	}
	hwsim_ref_sges(&ref, qp->dev, qp->ib.pd, rwqe->sge, rwqe->num_sge, IB_ACCESS_LOCAL_WRITE);
	ret = hwsim_ref_write(&ref, 0, &hdr, sizeof(hdr));
	if (!ret)
		ret = hwsim_ref_write(&ref, sizeof(hdr), pkt->data, pkt->len);
	if (ret)
		wc.status = ret == -EMSGSIZE ? IB_WC_LOC_LEN_ERR : IB_WC_LOC_PROT_ERR;
	hwsim_qp_complete(qp, to_hwsim_cq(qp->ib.recv_cq), &wc, pkt->solicited);
}
