/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on cue, so that users and tests can rehearse failures; see
 * Documentation/fault-injection.rst.
 *
 * A hook is one instruction that does nothing as long as the parameter
 * fault_injection is off.  Where the module passes one of its hooks, the fault
 * of that name strikes if it is armed, by a file of debugfs.
 */
#ifndef DMS_FAULT_H
#define DMS_FAULT_H

#include <linux/jump_label.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dms_path;
struct dms_rdma;
struct dms_stream;

enum dms_fault {
	DMS_FAULT_QP_ERROR,		/* strikes at once, and is never armed */
	DMS_FAULT_DROP_ACKS,
	DMS_FAULT_DROP_PACKETS,
	DMS_FAULT_DELAY_ACKS,
	DMS_FAULT_DELAY_COMPLETIONS,
	DMS_FAULT_REFUSE_CONNECTS,
	DMS_FAULT_REFUSE_HELLOS,
	DMS_FAULT_POST_SEND,
	DMS_FAULT_POST_READ,
	DMS_FAULT_POST_REG,
	DMS_FAULT_POST_INV,
	DMS_FAULT_POST_RECV,
	/* allocations: dms_fault_alloc() has the rest of the name, fail_alloc has it in small */
	DMS_FAULT_ALLOC_CTX,		/* an open of the device */
	DMS_FAULT_ALLOC_POOL,		/* a pool, without its pages */
	DMS_FAULT_ALLOC_CHUNK,		/* pages of a pool; smaller ones are tried */
	DMS_FAULT_ALLOC_POOL_MAP,	/* a pool's addresses on a device */
	DMS_FAULT_ALLOC_RING,
	DMS_FAULT_ALLOC_REQUESTS,	/* of a ring */
	DMS_FAULT_ALLOC_GROUP,
	DMS_FAULT_ALLOC_SHMEM,		/* what a ring or a group maps */
	DMS_FAULT_ALLOC_POLLER,
	DMS_FAULT_ALLOC_QUOTA,		/* a user's first charge */
	DMS_FAULT_ALLOC_LISTENER,
	DMS_FAULT_ALLOC_ACCEPT,		/* an ACCEPT through the ring */
	DMS_FAULT_ALLOC_STREAM,
	DMS_FAULT_ALLOC_STREAM_ID,	/* in its session */
	DMS_FAULT_ALLOC_PULL,		/* for messages that are announced */
	DMS_FAULT_ALLOC_SESSION,
	DMS_FAULT_ALLOC_SOCKET,		/* what a session has for its TCP connection */
	DMS_FAULT_ALLOC_PATH,
	DMS_FAULT_ALLOC_TRANSPORT,	/* the queue pair's side of a path */
	DMS_FAULT_ALLOC_TXPKTS,		/* packets that a path sends */
	DMS_FAULT_ALLOC_READS,		/* READs and keys of a path */
	DMS_FAULT_ALLOC_RECV,		/* the buffer of a receive */
	DMS_FAULT_ALLOC_REGION,		/* the memory region of a key */
	DMS_FAULT_ALLOC_CM_REQUEST,	/* a queue pair that a peer asks for */
	DMS_FAULT_ALLOC_NETLINK,	/* the answer to an operator */
	DMS_FAULTS
};

#define DMS_FAULT_ALLOC_FIRST	(DMS_FAULT_POST_RECV + 1)

/* stream->fault_ack, stream->lock: of an acknowledgement that is delayed */
enum dms_fault_ack {
	DMS_FAULT_ACK_NONE,
	DMS_FAULT_ACK_WAITS,		/* it is not sent now */
	DMS_FAULT_ACK_PASSES,		/* it has waited, and is sent next */
};

DECLARE_STATIC_KEY_FALSE(dms_fault_key);

/* What the hooks call when faults can be injected; see fault.c. */
bool dms_fault_strikes(enum dms_fault nr, const struct sockaddr_storage *peer, u32 *arg);
bool dms_fault_strikes_path(enum dms_fault nr, const struct dms_path *path, u32 *arg);
bool dms_fault_strikes_post(const struct dms_path *path, enum ib_wr_opcode op);
bool dms_fault_strikes_ack(struct dms_stream *s);
void dms_fault_hold_completion(struct dms_rdma *tp);
u32 dms_fault_reason(enum dms_fault nr, const struct sockaddr_storage *peer);

/**
 * dms_fault_alloc() - does the allocation fail on cue?
 * @point: what follows DMS_FAULT_ALLOC_ in enum dms_fault
 *
 *	p = dms_fault_alloc(SESSION) ? NULL : kzalloc(...);
 *
 * Context: process; any lock may be held.
 */
#define dms_fault_alloc(point)						\
	(static_branch_unlikely(&dms_fault_key) &&			\
	 dms_fault_strikes(DMS_FAULT_ALLOC_##point, NULL, NULL))

/* A packet is lost that the transport would say was sent; path->lock held. */
static inline bool dms_fault_drops_packet(const struct dms_path *path)
{
	return static_branch_unlikely(&dms_fault_key) &&
	       dms_fault_strikes_path(DMS_FAULT_DROP_PACKETS, path, NULL);
}

/* A post fails.  Any lock may be held. */
static inline bool dms_fault_post(const struct dms_path *path, enum ib_wr_opcode op)
{
	return static_branch_unlikely(&dms_fault_key) && dms_fault_strikes_post(path, op);
}

/* The post of a receive fails. */
static inline bool dms_fault_post_recv(const struct dms_path *path)
{
	return static_branch_unlikely(&dms_fault_key) &&
	       dms_fault_strikes_path(DMS_FAULT_POST_RECV, path, NULL);
}

/* The stream's UPDATE is not sent now; path->lock and stream->lock held. */
static inline bool dms_fault_ack(struct dms_stream *s)
{
	return static_branch_unlikely(&dms_fault_key) && dms_fault_strikes_ack(s);
}

/* In the handler of a completion without an error; may sleep. */
static inline void dms_fault_completion(struct dms_rdma *tp)
{
	if (static_branch_unlikely(&dms_fault_key))
		dms_fault_hold_completion(tp);
}

/* Why this peer is refused (enum dmastream_refusal); 0: it is not. */
static inline u32 dms_fault_refuses(enum dms_fault nr, const struct sockaddr_storage *peer)
{
	return static_branch_unlikely(&dms_fault_key) ? dms_fault_reason(nr, peer) : 0;
}

void dms_fault_init(void);
void dms_fault_exit(void);

#endif /* DMS_FAULT_H */
