/* SPDX-License-Identifier: GPL-2.0-only */
/* Queue pairs (IBTA volume 1, 10.2.4, 10.3). */
#ifndef HWSIM_QP_H
#define HWSIM_QP_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "device.h"
#include "eq.h"
#include "mr.h"
#include "pkt.h"
#include "rq.h"
#include "sim.h"
#include "stash.h"
#include "wire.h"

/* Where packets go: taken out of an address handle or a queue pair's attributes. */
struct hwsim_av {
	union ib_gid sgid;
	union ib_gid dgid;
	u8 dmac[ETH_ALEN];
};

enum hwsim_swqe_state {
	HWSIM_SWQE_POSTED,
	HWSIM_SWQE_STARTED,	/* has its sequence numbers */
	HWSIM_SWQE_DONE,	/* completes when all before it have */
};

/**
 * struct hwsim_swqe - a request in a send queue
 * @wr_id: the client's
 * @opcode: what to do
 * @flags: IB_SEND_*
 * @state: how far it is
 * @status: how it ended
 * @num_sge: entries in @sge; 0 for inline data
 * @length: bytes
 * @imm: immediate data
 * @inv: key to be invalidated, here or there
 * @va: remote address
 * @rkey: remote key
 * @swap: of an atomic operation: what to put, or to add
 * @compare: and with what to compare
 * @reg: a fast registration
 * @av: datagrams: where to
 * @dqpn: datagrams: queue pair
 * @qkey: datagrams
 * @psn: first sequence number
 * @npsn: how many; responses count for a READ
 * @sge: where the bytes are; or the bytes themselves
 */
struct hwsim_swqe {
	u64 wr_id;
	enum ib_wr_opcode opcode;
	u32 flags;
	enum hwsim_swqe_state state;
	enum ib_wc_status status;
	u32 num_sge;
	u32 length;
	__be32 imm;
	u32 inv;
	u64 va;
	u32 rkey;
	u64 swap;
	u64 compare;
	union {
		struct hwsim_reg reg;
		struct {
			struct hwsim_av av;
			u32 dqpn;
			u32 qkey;
		};
	};
	u32 psn;
	u32 npsn;
	struct ib_sge sge[];
};

/**
 * struct hwsim_sq - a send queue
 * @lock: orders those who post, in any context; nothing but the list of kicks is taken under it
 * @ring: entries of @stride bytes
 * @stride: size of one
 * @size: how many there are, a power of two
 * @max: how many may be posted
 * @max_sge: of one
 * @max_inline: bytes of one
 * @head: where the next is posted; runs freely; written under @lock
 * @tail: the oldest that has not completed; written by the simulator
 * @started: the next that was not started; the simulator's
 */
struct hwsim_sq {
	spinlock_t lock;
	void *ring;
	u32 stride;
	u32 size;
	u32 max;
	u32 max_sge;
	u32 max_inline;
	u32 head;
	u32 tail;
	u32 started;
};

/**
 * struct hwsim_req - the requester's half (9.7.1 to 9.7.3)
 * @cur: the request that the next packet is of; behind @hwsim_sq.started there is none
 * @psn: sequence number of the next packet
 * @max_psn: the first that was never given to a request
 * @sent: the first that was never sent: nothing from there on can be acknowledged
 * @una: the oldest that is not acknowledged
 * @inflight: packets with payload that are not acknowledged
 * @rd_out: READs and atomics under way
 * @retry_left: how often @una may be sent again (9.9.2)
 * @rnr_left: how often it may meet a receiver that is not ready; 7: always
 * @implied: @una was already sent again for a response that did not come
 * @halted: a request failed, and waits for those before it
 * @rnr_wait: a receiver was not ready; its timer runs
 * @ack_deadline: when an acknowledgement for @una is due
 * @ack_timer: looks then, or before
 * @rnr_timer: ends @rnr_wait
 * @stash: response payload that has not been put in place yet
 */
struct hwsim_req {
	u32 cur;
	u32 psn;
	u32 max_psn;
	u32 sent;
	u32 una;
	u32 inflight;
	u32 rd_out;
	u8 retry_left;
	u8 rnr_left;
	bool implied;
	bool halted;
	bool rnr_wait;
	u64 ack_deadline;
	struct hwsim_timer ack_timer;
	struct hwsim_timer rnr_timer;
	struct hwsim_stash stash;
};

/* A READ or an atomic that was asked for; kept for those who ask again (9.7.4, 9.7.5). */
struct hwsim_res {
	u32 psn;
	u32 npsn;
	u32 next;	/* sequence number of the next response */
	bool pending;	/* responses are to be sent */
	bool again;	/* and have been before: nobody may be waiting for them */
	bool atomic;
	u64 va;
	u32 rkey;
	u32 len;
	u64 orig;	/* an atomic's result */
};

enum hwsim_msg { HWSIM_MSG_NONE, HWSIM_MSG_SEND, HWSIM_MSG_WRITE };

/**
 * struct hwsim_resp - the responder's half (9.7.4, 9.7.5)
 * @epsn: expected sequence number
 * @msn: messages completed
 * @msg: what the message under way is
 * @off: bytes of it that have come
 * @va: a WRITE's address
 * @rkey: and key
 * @rlen: and length
 * @has_rwqe: a request of the receive queue is in use
 * @fatal: @nak ends the connection
 * @nak_sent: no more of them until @epsn has come
 * @ack_due: an acknowledgement is to be sent
 * @nak: or this syndrome; 0: none
 * @nak_psn: for that sequence number
 * @res_next: where the next READ goes in @res
 * @res: the last READs and atomics, as many as the peer may have under way
 * @stash: payload that has not been put in place
 * @rwqe: the request in use
 */
struct hwsim_resp {
	u32 epsn;
	u32 msn;
	enum hwsim_msg msg;
	u32 off;
	u64 va;
	u32 rkey;
	u32 rlen;
	bool has_rwqe;
	bool fatal;
	bool nak_sent;
	bool ack_due;
	u8 nak;
	u32 nak_psn;
	u32 res_next;
	struct hwsim_res res[HWSIM_MAX_RD_ATOMIC];
	struct hwsim_stash stash;
	struct hwsim_rwqe *rwqe;
};

/**
 * struct hwsim_qp - a queue pair; under the simulator's lock, but for @sq and @rq, which have theirs
 * @ib: what the core knows
 * @dev: device
 * @num: its number
 * @kick: the doorbell
 * @ready: place in its port's list of those that may have something to send
 * @turn: whose turn it is: the responder's or the requester's
 * @sig_all: each request makes a completion
 * @state: see 10.3.1
 * @attr: as modified
 * @init: as created
 * @mtu: payload of a packet; as much as a message may have in zero-cost mode
 * @direct: zero-cost mode: the peer is in this guest
 * @av: where the peer is
 * @route: and which port that is
 * @sq: send queue
 * @rq: receive queue, unless there is a shared one
 * @srq: that one
 * @req: requester
 * @resp: responder
 * @events: asynchronous events to be told, by number
 * @event: tells them
 * @flushed_event: the last-WQE event was raised
 */
struct hwsim_qp {
	struct ib_qp ib;
	struct hwsim_dev *dev;
	u32 num;
	struct hwsim_kick kick;
	struct list_head ready;
	bool turn;
	bool sig_all;
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;
	u32 mtu;
	bool direct;
	struct hwsim_av av;
	struct hwsim_route route;
	struct hwsim_sq sq;
	struct hwsim_rq rq;
	struct hwsim_srq *srq;
	struct hwsim_req req;
	struct hwsim_resp resp;
	unsigned long events;
	struct hwsim_event event;
	bool flushed_event;
};

static inline struct hwsim_qp *to_hwsim_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct hwsim_qp, ib);
}

static inline struct hwsim_swqe *hwsim_swqe(struct hwsim_sq *sq, u32 index)
{
	return sq->ring + (size_t)(index & (sq->size - 1)) * sq->stride;
}

static inline bool hwsim_qp_is_ud(const struct hwsim_qp *qp)
{
	return qp->ib.qp_type != IB_QPT_RC;
}

int hwsim_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int hwsim_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int hwsim_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int hwsim_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

void hwsim_qp_ready(struct hwsim_qp *qp);
bool hwsim_qp_work(struct hwsim_qp *qp);
void hwsim_qp_error(struct hwsim_qp *qp);
void hwsim_qp_event(struct hwsim_qp *qp, enum ib_event_type what);
void hwsim_qp_complete(struct hwsim_qp *qp, struct hwsim_cq *cq, struct ib_wc *wc,
		       bool solicited);
void hwsim_qp_flush(struct hwsim_qp *qp);

#endif
