/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet, as the simulator's parts hand it to each other (IBTA volume 1, 9.2 to 9.6). */
#ifndef HWSIM_PKT_H
#define HWSIM_PKT_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>

struct hwsim_ref;

#define HWSIM_PSN_MASK		0xffffff
#define HWSIM_QPN_MASK		0xffffff

/* AETH syndromes (9.7.5): the upper three bits and the lower five */
#define HWSIM_AETH_KIND		0xe0
#define HWSIM_AETH_ACK		0x1f	/* no end-to-end credits: the count is invalid */
#define HWSIM_AETH_RNR		0x20	/* plus the timer's code */
#define HWSIM_NAK_SEQ		0x60
#define HWSIM_NAK_INV_REQ	0x61
#define HWSIM_NAK_REM_ACC	0x62
#define HWSIM_NAK_REM_OP	0x63

/**
 * struct hwsim_pkt - a packet
 * @node: place in a queue; whoever holds the packet owns it
 * @at: when it leaves the queue that it is in
 * @sgid: the sender's address
 * @dgid: the receiver's
 * @dmac: where a frame goes when the receiver is on another machine
 * @op: BTH opcode, IB_OPCODE_*
 * @solicited: BTH SE
 * @ack_req: BTH A
 * @ecn: congestion was experienced on the way
 * @dqpn: receiver's queue pair
 * @psn: packet sequence number
 * @sqpn: DETH source queue pair
 * @qkey: DETH
 * @va: RETH or AtomicETH
 * @rkey: RETH or AtomicETH
 * @rlen: RETH
 * @swap: AtomicETH swap or add; AtomicAckETH, the original value
 * @compare: AtomicETH
 * @imm: ImmDt
 * @inv: IETH
 * @syndrome: AETH
 * @msn: AETH
 * @len: bytes of payload
 * @ref: zero-cost mode: the payload is here, in the sender's memory
 * @data: otherwise here
 */
struct hwsim_pkt {
	struct list_head node;
	u64 at;
	union ib_gid sgid;
	union ib_gid dgid;
	u8 dmac[6];
	u8 op;
	u8 solicited:1;
	u8 ack_req:1;
	u8 ecn:1;
	u32 dqpn;
	u32 psn;
	u32 sqpn;
	u32 qkey;
	u64 va;
	u32 rkey;
	u32 rlen;
	u64 swap;
	u64 compare;
	__be32 imm;
	u32 inv;
	u8 syndrome;
	u32 msn;
	u32 len;
	const struct hwsim_ref *ref;
	u8 data[];
};

/* Headers of a RoCE v2 packet on the wire, on average: Ethernet, IP, UDP, BTH, CRCs. */
#define HWSIM_PKT_OVERHEAD	90

/* a - b in the circle of sequence numbers: negative when a is before b (9.7.1) */
static inline s32 hwsim_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline u32 hwsim_psn_add(u32 psn, u32 n)
{
	return (psn + n) & HWSIM_PSN_MASK;
}

/* Responses go to the requester's half of a queue pair, all else to the responder's. */
static inline bool hwsim_op_is_response(u8 op)
{
	return op >= IB_OPCODE_RC_RDMA_READ_RESPONSE_FIRST && op <= IB_OPCODE_RC_ATOMIC_ACKNOWLEDGE;
}

static inline bool hwsim_op_is_first(u8 op)
{
	return op == IB_OPCODE_RC_SEND_FIRST || op == IB_OPCODE_RC_RDMA_WRITE_FIRST;
}

static inline bool hwsim_op_is_middle(u8 op)
{
	return op == IB_OPCODE_RC_SEND_MIDDLE || op == IB_OPCODE_RC_RDMA_WRITE_MIDDLE;
}

static inline bool hwsim_op_is_only(u8 op)
{
	switch (op) {
	case IB_OPCODE_RC_SEND_ONLY:
	case IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE:
	case IB_OPCODE_RC_SEND_ONLY_WITH_INVALIDATE:
	case IB_OPCODE_RC_RDMA_WRITE_ONLY:
	case IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE:
		return true;
	}
	return false;
}

static inline bool hwsim_op_is_write(u8 op)
{
	return op >= IB_OPCODE_RC_RDMA_WRITE_FIRST &&
	       op <= IB_OPCODE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE;
}

#endif
