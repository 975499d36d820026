// SPDX-License-Identifier: GPL-2.0-only
/*
 * The send queue: what the client posts is copied, checked as far as a driver
 * can check it, and left for the simulator (IBTA volume 1, 10.8.2, 11.4.1).
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include "req.h"
#include "ud.h"

/**
 * hwsim_sq_init() - make an empty queue
 * @sq: it
 * @cap: how large
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hwsim_sq_init(struct hwsim_sq *sq, const struct ib_qp_cap *cap)
{
	u32 room;

	if (cap->max_send_wr > HWSIM_MAX_QP_WR || cap->max_send_sge > HWSIM_MAX_SGE ||
	    cap->max_inline_data > HWSIM_MAX_INLINE)
		return -EINVAL;
	spin_lock_init(&sq->lock);
	sq->max = cap->max_send_wr;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	sq->size = roundup_pow_of_two(max_t(u32, sq->max, 1));
	room = max_t(u32, sq->max_sge * sizeof(struct ib_sge), sq->max_inline);
	sq->stride = ALIGN(sizeof(struct hwsim_swqe) + room, 8);
	sq->ring = kvcalloc(sq->size, sq->stride, GFP_KERNEL);
	return sq->ring ? 0 : -ENOMEM;
}

/**
 * hwsim_sq_exit() - give its memory back
 * @sq: it; initialised or zero
 */
void hwsim_sq_exit(struct hwsim_sq *sq)
{
	kvfree(sq->ring);
}

/**
 * hwsim_sq_head() - what has been posted
 * @sq: queue
 *
 * Return: where the next request will be; those before it may be read.
 */
u32 hwsim_sq_head(struct hwsim_sq *sq)
{
	return smp_load_acquire(&sq->head);	/* pairs with hwsim_post_send() */
}

static int copy_inline(struct hwsim_swqe *swqe, const struct ib_send_wr *wr, u32 max)
{
	u8 *to = (u8 *)swqe->sge;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > max - swqe->length)
			return -EINVAL;
		/* inline data is given by the CPU's address */
		memcpy(to + swqe->length, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		swqe->length += wr->sg_list[i].length;
	}
	return 0;
}

static int copy_sges(struct hwsim_swqe *swqe, const struct ib_send_wr *wr)
{
	u64 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		swqe->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	if (length > U32_MAX)
		return -EINVAL;
	swqe->num_sge = wr->num_sge;
	swqe->length = length;
	return 0;
}

static int copy_reg(struct hwsim_swqe *swqe, const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *reg = reg_wr(wr);

	swqe->reg = (struct hwsim_reg){
		.index = to_hwsim_mr(reg->mr)->index,
		.key = reg->key,
		.iova = reg->mr->iova,
		.length = reg->mr->length,
		.page_shift = ilog2(reg->mr->page_size),
		.access = reg->access,
	};
	return 0;
}

static int copy_rc(struct hwsim_swqe *swqe, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
		swqe->imm = wr->ex.imm_data;
		return 0;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		swqe->inv = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_SEND:
		return 0;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		swqe->imm = wr->ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_READ:
		if (wr->opcode == IB_WR_RDMA_READ && wr->send_flags & IB_SEND_INLINE)
			return -EINVAL;
		fallthrough;
	case IB_WR_RDMA_WRITE:
		swqe->va = rdma_wr(wr)->remote_addr;
		swqe->rkey = rdma_wr(wr)->rkey;
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		swqe->va = atomic_wr(wr)->remote_addr;
		swqe->rkey = atomic_wr(wr)->rkey;
		swqe->compare = atomic_wr(wr)->compare_add;
		swqe->swap = wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP ? atomic_wr(wr)->swap :
								      atomic_wr(wr)->compare_add;
		return swqe->length == sizeof(u64) ? 0 : -EINVAL;
	case IB_WR_REG_MR:
		return copy_reg(swqe, wr);
	default:
		return -EINVAL;
	}
}

static int copy_wr(struct hwsim_qp *qp, struct hwsim_swqe *swqe, const struct ib_send_wr *wr)
{
	bool local = wr->opcode == IB_WR_LOCAL_INV || wr->opcode == IB_WR_REG_MR;
	int ret = 0;

	swqe->wr_id = wr->wr_id;
	swqe->opcode = wr->opcode;
	swqe->flags = wr->send_flags;
	swqe->state = HWSIM_SWQE_POSTED;
	swqe->status = IB_WC_SUCCESS;
	swqe->num_sge = 0;
	swqe->length = 0;
	swqe->psn = 0;
	swqe->npsn = 0;
	if (!local) {
		if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
			return -EINVAL;
		if (wr->send_flags & IB_SEND_INLINE)
			ret = copy_inline(swqe, wr, qp->sq.max_inline);
		else
			ret = copy_sges(swqe, wr);
	}
	if (ret)
		return ret;
	return hwsim_qp_is_ud(qp) ? hwsim_ud_copy_wr(swqe, wr) : copy_rc(swqe, wr);
}

/**
 * hwsim_post_send() - the verb
 * @ibqp: queue pair
 * @wr: requests
 * @bad: set to the first that was not taken
 *
 * Any context.  What was taken is executed later.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hwsim_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad)
{
	struct hwsim_qp *qp = to_hwsim_qp(ibqp);
	struct hwsim_sq *sq = &qp->sq;
	enum ib_qp_state state;
	unsigned long flags;
	int ret = hwsim_fault_verb(&qp->dev->faults, HWSIM_VERB_POST_SEND);
	u32 head;

	if (ret) {
		*bad = wr;
		return ret;
	}
	spin_lock_irqsave(&sq->lock, flags);
	state = READ_ONCE(qp->state);
	head = sq->head;
	for (; wr; wr = wr->next) {
		/* 10.3.1: requests are taken from RTS on; in error they are flushed */
		if (state < IB_QPS_RTS)
			ret = -EINVAL;
		/* pairs with hwsim_req_retire(): its reads of an entry are before its reuse */
		else if (head - smp_load_acquire(&sq->tail) >= sq->max)
			ret = -ENOMEM;
		else
			ret = copy_wr(qp, hwsim_swqe(sq, head), wr);
		if (ret) {
			*bad = wr;
			break;
		}
		head++;
	}
	smp_store_release(&sq->head, head);	/* pairs with hwsim_sq_head() */
	spin_unlock_irqrestore(&sq->lock, flags);
	hwsim_kick(&qp->kick);
	return ret;
}
