/* SPDX-License-Identifier: GPL-2.0-only */
/* Datagrams: the connection manager's queue pair 1, and others. */
#ifndef HWSIM_UD_H
#define HWSIM_UD_H

#include "qp.h"

struct hwsim_ah {
	struct ib_ah ib;
	struct hwsim_av av;
};

static inline struct hwsim_ah *to_hwsim_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct hwsim_ah, ib);
}

int hwsim_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int hwsim_destroy_ah(struct ib_ah *ibah, u32 flags);
void hwsim_av_from_attr(struct hwsim_av *av, const struct rdma_ah_attr *attr);

int hwsim_ud_copy_wr(struct hwsim_swqe *swqe, const struct ib_send_wr *wr);
void hwsim_ud_send(struct hwsim_qp *qp, struct hwsim_swqe *swqe);
void hwsim_ud_rx(struct hwsim_qp *qp, struct hwsim_pkt *pkt);

#endif
