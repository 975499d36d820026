/* SPDX-License-Identifier: GPL-2.0-only */
/* Receive queues: a queue pair's own, and shared ones (IBTA volume 1, 10.2.9). */
#ifndef HWSIM_RQ_H
#define HWSIM_RQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "eq.h"

struct hwsim_rwqe {
	u64 wr_id;
	u32 num_sge;
	struct ib_sge sge[];
};

/**
 * struct hwsim_rq - a receive queue
 * @lock: protects it; taken in any context by who posts, and by the simulator within its own lock
 * @ring: entries of @stride bytes
 * @stride: size of one
 * @size: how many there are, a power of two
 * @max: how many may be posted
 * @max_sge: of one request
 * @head: where the next is posted; runs freely
 * @tail: the next that is used; runs freely
 * @limit: a shared queue's: below this many an event is raised, once; 0: none
 */
struct hwsim_rq {
	spinlock_t lock;
	void *ring;
	u32 stride;
	u32 size;
	u32 max;
	u32 max_sge;
	u32 head;
	u32 tail;
	u32 limit;
};

struct hwsim_srq {
	struct ib_srq ib;
	struct hwsim_rq rq;
	struct hwsim_event limit_event;
};

static inline struct hwsim_srq *to_hwsim_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct hwsim_srq, ib);
}

int hwsim_rq_init(struct hwsim_rq *rq, u32 max, u32 max_sge);
void hwsim_rq_exit(struct hwsim_rq *rq);
int hwsim_rq_post(struct hwsim_rq *rq, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad);
bool hwsim_rq_take(struct hwsim_rq *rq, struct hwsim_srq *srq, struct hwsim_rwqe *to);
void hwsim_rq_reset(struct hwsim_rq *rq);

int hwsim_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int hwsim_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int hwsim_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int hwsim_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int hwsim_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

#endif
