// SPDX-License-Identifier: GPL-2.0-only
/* A packet has come: whose is it (IBTA volume 1, 9.6)? */
#include "device.h"
#include "pkt.h"
#include "qp.h"
#include "req.h"
#include "resp.h"
#include "rx.h"
#include "ud.h"

/**
 * hwsim_rx() - hand a packet to its queue pair
 * @dev: device that it came to
 * @pkt: it
 *
 * Return: it was taken over.
 */
bool hwsim_rx(struct hwsim_dev *dev, struct hwsim_pkt *pkt)
{
	struct hwsim_qp *qp = xa_load(&dev->qps, pkt->dqpn);

	hwsim_assert_locked();
	if (!qp) {
		hwsim_count(&dev->port, HWSIM_BAD_PACKET);
		return false;
	}
	if (hwsim_qp_is_ud(qp)) {
		hwsim_ud_rx(qp, pkt);
		return false;
	}
	/* 9.6.1: a connected queue pair listens to its peer alone */
	if (qp->state < IB_QPS_RTR || pkt->op >= IB_OPCODE_UC ||
	    memcmp(&pkt->sgid, &qp->av.dgid, sizeof(pkt->sgid))) {
		hwsim_count(&dev->port, HWSIM_BAD_PACKET);
		return false;
	}
	if (hwsim_op_is_response(pkt->op))
		return hwsim_req_rx(qp, pkt);
	return hwsim_resp_rx(qp, pkt);
}
