/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's half of a queue pair. */
#ifndef HWSIM_RESP_H
#define HWSIM_RESP_H

#include "qp.h"

void hwsim_resp_reset(struct hwsim_qp *qp);
bool hwsim_resp_rx(struct hwsim_qp *qp, struct hwsim_pkt *pkt);
void hwsim_resp_nak(struct hwsim_qp *qp, u8 syndrome, u32 psn);
bool hwsim_resp_work(struct hwsim_qp *qp);
struct hwsim_res *hwsim_resp_find(struct hwsim_qp *qp, u32 psn);

#endif
