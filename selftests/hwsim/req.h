/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester's half of a queue pair. */
#ifndef HWSIM_REQ_H
#define HWSIM_REQ_H

#include "qp.h"

int hwsim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad);
int hwsim_sq_init(struct hwsim_sq *sq, const struct ib_qp_cap *cap);
void hwsim_sq_exit(struct hwsim_sq *sq);
u32 hwsim_sq_head(struct hwsim_sq *sq);

void hwsim_req_init(struct hwsim_qp *qp);
void hwsim_req_start(struct hwsim_qp *qp, u32 psn);
void hwsim_req_reset(struct hwsim_qp *qp);
bool hwsim_req_work(struct hwsim_qp *qp);
void hwsim_req_fail(struct hwsim_qp *qp, struct hwsim_swqe *swqe, enum ib_wc_status status);
void hwsim_req_complete(struct hwsim_qp *qp, struct hwsim_swqe *swqe, enum ib_wc_status status);
void hwsim_req_retire(struct hwsim_qp *qp);
void hwsim_req_resend(struct hwsim_qp *qp, u32 psn);
bool hwsim_req_rx(struct hwsim_qp *qp, struct hwsim_pkt *pkt);
void hwsim_req_ack_init(struct hwsim_qp *qp);
void hwsim_req_ack_due(struct hwsim_qp *qp);

#endif
