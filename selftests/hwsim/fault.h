/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on cue.
 *
 * fault.c decides and counts; it knows no queue pair and no packet.  A rule says
 * which event it waits for (a kind, perhaps of one queue pair and one opcode),
 * at the how manyth of those from its arming on it strikes, how many times in a
 * row, and with what.  Rules come from debugfs or from a test, as text:
 *
 *	wr status=rem-access qp=17 op=write at=3	the 3rd WRITE of QP 17 fails
 *	ack-lose at=1 count=2				two acknowledgements get lost
 *	verb name=create_qp errno=12			the next ib_create_qp(): -ENOMEM
 *
 * For whoever writes the core: what each hook stands for, and where it belongs.
 * A device embeds struct hwsim_faults (hwsim_fault_init(), _exit(), _debugfs()).
 * All hooks are callable in any context but NMI and cost one READ_ONCE when no
 * rule waits for their kind.
 *
 * hwsim_fault_wr()	requester, once for each work request when it is about
 *			to be executed (REG and LOCAL_INV too), not again when
 *			retried.  Not success: nothing of it goes out, it completes
 *			with that status, and the queue pair is in error.
 * hwsim_fault_done()	requester, once for each work request that has succeeded,
 *			before its completion: it reports this status instead
 *			(applied, but reported as failed); the QP is in error.
 * hwsim_fault_recv()	responder, once for each receive that is about to complete
 *			well: it completes with that status; the responder answers
 *			"remote operational error", its QP is in error.
 * hwsim_fault_ack()	responder, for each ACK or NAK or READ response that is
 *			about to be sent (the last packet of one): HWSIM_FAULT_LOSE,
 *			or microseconds by which it leaves later, or 0.
 * hwsim_fault_packet()	requester, for each request packet that is about to be
 *			sent, retries too: HWSIM_FAULT_LOSE, HWSIM_FAULT_TWICE
 *			(an identical copy follows), or microseconds of delay, or 0.
 * hwsim_fault_cqe()	for each completion on its way into a CQ (qpn: its queue
 *			pair's): microseconds by which it appears later, or 0; or
 *			HWSIM_FAULT_LOSE: as if the CQ were full (IB_EVENT_CQ_ERR).
 * hwsim_fault_verb()	first thing in each verb: 0, or a negative error to return.
 *
 * struct hwsim_fault_ops has what the device does by itself: called from a
 * worker, with no lock held, when a rule says so.
 */
#ifndef HWSIM_FAULT_H
#define HWSIM_FAULT_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct hwsim_faults;

enum hwsim_fault_kind {
	HWSIM_FAULT_WR,
	HWSIM_FAULT_DONE,
	HWSIM_FAULT_RECV,
	HWSIM_FAULT_ACK_LOSE,
	HWSIM_FAULT_ACK_DELAY,
	HWSIM_FAULT_PKT_LOSE,
	HWSIM_FAULT_PKT_TWICE,
	HWSIM_FAULT_PKT_DELAY,
	HWSIM_FAULT_CQE_DELAY,
	HWSIM_FAULT_CQ_FULL,
	HWSIM_FAULT_VERB,
	HWSIM_FAULT_PORT_DOWN,		/* these five: at a work request, or at once */
	HWSIM_FAULT_PORT_UP,
	HWSIM_FAULT_GID_CHANGE,
	HWSIM_FAULT_FATAL,
	HWSIM_FAULT_REMOVE,
	HWSIM_FAULT_KINDS
};

/* Verbs that can be made to fail. */
enum hwsim_verb {
	HWSIM_VERB_ALLOC_PD,
	HWSIM_VERB_CREATE_AH,
	HWSIM_VERB_CREATE_CQ,
	HWSIM_VERB_CREATE_SRQ,
	HWSIM_VERB_MODIFY_SRQ,
	HWSIM_VERB_QUERY_SRQ,
	HWSIM_VERB_CREATE_QP,
	HWSIM_VERB_MODIFY_QP,
	HWSIM_VERB_QUERY_QP,
	HWSIM_VERB_ALLOC_MR,
	HWSIM_VERB_GET_DMA_MR,
	HWSIM_VERB_MAP_MR_SG,
	HWSIM_VERB_POST_SEND,
	HWSIM_VERB_POST_RECV,
	HWSIM_VERB_POST_SRQ_RECV,
	HWSIM_VERB_POLL_CQ,
	HWSIM_VERB_REQ_NOTIFY_CQ,
	HWSIM_VERB_QUERY_PORT,
	HWSIM_VERB_QUERY_PKEY,
	HWSIM_VERB_QUERY_DEVICE,
	HWSIM_VERBS
};

/* Answers of the hooks that may also be a delay in microseconds. */
#define HWSIM_FAULT_LOSE	U32_MAX
#define HWSIM_FAULT_TWICE	(U32_MAX - 1)
#define HWSIM_FAULT_DELAY_MAX	(60 * 1000 * 1000)

/**
 * struct hwsim_fault_ops - what a device does on cue; any of them may be NULL
 * @port: the port goes down or up, with its event
 * @event: an event of the device or of port 1 is dispatched
 * @remove: the device is unregistered, as if it had been pulled out; called
 *	from a worker that hwsim_fault_exit() waits for, so it must not wait for that
 */
struct hwsim_fault_ops {
	void (*port)(struct hwsim_faults *faults, bool up);
	void (*event)(struct hwsim_faults *faults, enum ib_event_type event);
	void (*remove)(struct hwsim_faults *faults);
};

/**
 * struct hwsim_faults - the rules of a device
 * @armed: bit per kind that a rule waits for; written under @lock, read without
 * @lock: protects @rules and @next_id; any context, interrupts off; innermost
 * @rules: all of them, also those that have struck, until they are cleared
 * @next_id: of a rule
 * @due: bit per kind of action that @work is to do, by atomic bit operations
 * @work: does the actions
 * @ops: how
 * @hits: how often each kind has struck since the device came
 * @dir: in debugfs
 */
struct hwsim_faults {
	unsigned long armed;
	spinlock_t lock;	/* see above */
	struct list_head rules;
	unsigned int next_id;
	unsigned long due;
	struct work_struct work;
	const struct hwsim_fault_ops *ops;
	atomic_t hits[HWSIM_FAULT_KINDS];
	struct dentry *dir;
};

void hwsim_fault_init(struct hwsim_faults *f, const struct hwsim_fault_ops *ops);
void hwsim_fault_exit(struct hwsim_faults *f);
void hwsim_fault_debugfs(struct hwsim_faults *f, struct dentry *parent);
int hwsim_fault_arm(struct hwsim_faults *f, const char *text);
void hwsim_fault_clear(struct hwsim_faults *f);
unsigned int hwsim_fault_hits(struct hwsim_faults *f, enum hwsim_fault_kind kind);

/* fault.c's halves of the hooks */
u32 hwsim_fault_strike(struct hwsim_faults *f, unsigned long kinds, u32 qpn, int op);

#define HWSIM_FAULT_AT_WR	(BIT(HWSIM_FAULT_WR) | BIT(HWSIM_FAULT_PORT_DOWN) |	\
				 BIT(HWSIM_FAULT_PORT_UP) | BIT(HWSIM_FAULT_GID_CHANGE) | \
				 BIT(HWSIM_FAULT_FATAL) | BIT(HWSIM_FAULT_REMOVE))
#define HWSIM_FAULT_AT_ACK	(BIT(HWSIM_FAULT_ACK_LOSE) | BIT(HWSIM_FAULT_ACK_DELAY))
#define HWSIM_FAULT_AT_PKT	(BIT(HWSIM_FAULT_PKT_LOSE) | BIT(HWSIM_FAULT_PKT_TWICE) | \
				 BIT(HWSIM_FAULT_PKT_DELAY))
#define HWSIM_FAULT_AT_CQE	(BIT(HWSIM_FAULT_CQE_DELAY) | BIT(HWSIM_FAULT_CQ_FULL))

/* What strikes at an event of these kinds; 0: nothing. */
static inline u32 hwsim_fault_check(struct hwsim_faults *f, unsigned long kinds, u32 qpn, int op)
{
	if (likely(!(READ_ONCE(f->armed) & kinds)))
		return 0;
	return hwsim_fault_strike(f, kinds, qpn, op);
}

static inline enum ib_wc_status hwsim_fault_wr(struct hwsim_faults *f, u32 qpn,
					       enum ib_wr_opcode op)
{
	return hwsim_fault_check(f, HWSIM_FAULT_AT_WR, qpn, op);
}

static inline enum ib_wc_status hwsim_fault_done(struct hwsim_faults *f, u32 qpn,
						 enum ib_wr_opcode op)
{
	return hwsim_fault_check(f, BIT(HWSIM_FAULT_DONE), qpn, op);
}

static inline enum ib_wc_status hwsim_fault_recv(struct hwsim_faults *f, u32 qpn)
{
	return hwsim_fault_check(f, BIT(HWSIM_FAULT_RECV), qpn, -1);
}

static inline u32 hwsim_fault_ack(struct hwsim_faults *f, u32 qpn)
{
	return hwsim_fault_check(f, HWSIM_FAULT_AT_ACK, qpn, -1);
}

static inline u32 hwsim_fault_packet(struct hwsim_faults *f, u32 qpn)
{
	return hwsim_fault_check(f, HWSIM_FAULT_AT_PKT, qpn, -1);
}

static inline u32 hwsim_fault_cqe(struct hwsim_faults *f, u32 qpn)
{
	return hwsim_fault_check(f, HWSIM_FAULT_AT_CQE, qpn, -1);
}

static inline int hwsim_fault_verb(struct hwsim_faults *f, enum hwsim_verb verb)
{
	return -(int)hwsim_fault_check(f, BIT(HWSIM_FAULT_VERB), 0, verb);
}

#endif /* HWSIM_FAULT_H */
