/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream: ordered, reliable, two-way channel of messages.
 *
 * Lifetime: kref, freed after an RCU grace period.  References: the context's
 * handle, the session's id table, each request, each READ in flight, the
 * ready list, the waiters it has queued.
 *
 * What happens to its data is in stream_tx.c (sending), stream_rx.c
 * (receiving), stream_ctl.c (opening and ending); mux.c calls
 * dms_stream_serve() to let it put frames into a packet.
 */
#ifndef DMS_STREAM_H
#define DMS_STREAM_H

#include <linux/bits.h>
#include <linux/kref.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include <linux/dmastream.h>

#include "core/credit.h"
#include "core/fsm.h"
#include "core/grant.h"
#include "core/pick.h"
#include "core/pull.h"
#include "core/ack.h"
#include "core/wire.h"
#include "group.h"
#include "ring.h"

struct completion;
struct dms_ctx;
struct dms_listener;
struct dms_path;
struct dms_session;

/* What an ioctl resolved; each object with a reference that the callee takes over on success. */
struct dms_stream_cfg {
	u64			flags;		/* DMASTREAM_STREAM_* */
	u64			cookie;
	u32			weight;		/* 1 to DMASTREAM_WEIGHT_MAX */
	struct dms_ring		*ring;
	struct dms_group	*small;		/* NULL for posted */
	struct dms_group	*large;		/* may be NULL */
};

/* A key that the peer gave and whose segment has not landed yet. */
struct dms_pull_key {
	u64			addr;
	u32			rkey;
	u32			at;		/* offset in the message */
	u32			len;
};

#define DMS_PULL_SLOTS		(DMS_ANNOUNCE_SLOTS + 1)

/*
 * What a stream needs while messages are announced to it, and only then: taken from
 * its path for the first of them (dms_path_get_pull()), given back with the last.
 * Of the announced messages one is being pulled: the first that has not all landed.
 * Keys and READs are always this message's.
 */
struct dms_pull {
	struct list_head	node;		/* path->pulls_free */
	struct dms_stream	*stream;
	struct dms_rxmsg	*msg;		/* that is being pulled */
	struct dms_landing	*cur;		/* the last of msg->landings, READs go there */
	u32			keyed;		/* bytes for which keys came */
	u32			issued;		/* bytes for which READs were issued */
	u32			reads;		/* in flight */
	u16			gen;		/* HOLDs said for this message */
	bool			held;		/* HOLD was said, or is owed */
	bool			waits_landing;
	u32			nr_keys;
	struct dms_pull_key	key[DMS_KEYS_AHEAD];
	/* partly delivered, then SKIPPED: at the head of rxq until that is told */
	struct dms_rxmsg	*skipped;
	struct dms_rxmsg	slot[DMS_PULL_SLOTS];	/* of announced messages, and that one */
	struct list_head	slots_free;
	/* the NIC's incast_lock; with a grant (wait.charge) it may pull so many bytes */
	struct dms_pullq_node	wait;
	u32			piece;
	bool			granted;
};

/*
 * What a stream needs for direct push, in either direction: there when its process or
 * its peer's has asked for it (stream->lock, but for node).
 */
struct dms_push {
	struct list_head	node;		/* path->granters, path->lock */
	struct dms_stream	*stream;
	struct dms_grants_rx	rx;
	struct dms_key		*key[DMS_GRANTS_AHEAD];		/* of rx.g, until it is NONE */
	unsigned long		used;		/* jiffies: when one was given or used, or REVOKE said */
	int			drop_err;	/* result of RECVs that end while they are granted */
	bool			eos_waits;	/* those that are left are told the end, in order */
	struct dms_grants_tx	tx;
};

/* An address of either family: a sockaddr_storage is four times as long. */
union dms_peer {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

/* Frames that the stream owes. */
#define DMS_CTL_CONNECT		BIT(0)
#define DMS_CTL_CONNECTED	BIT(1)
#define DMS_CTL_ACCEPT		BIT(2)
#define DMS_CTL_HOLD		BIT(3)
#define DMS_CTL_PULL		BIT(4)
#define DMS_CTL_DONE		BIT(5)
#define DMS_CTL_NACK		BIT(6)
#define DMS_CTL_UPDATE		BIT(7)
#define DMS_CTL_FIN		BIT(8)
#define DMS_CTL_RESET		BIT(9)
#define DMS_CTL_RESET_ACK	BIT(10)
#define DMS_CTL_RECALL		BIT(11)
#define DMS_CTL_RETURN		BIT(12)
#define DMS_CTL_REVOKE		BIT(13)
#define DMS_CTL_REVOKED		BIT(14)
#define DMS_CTL_GRANT		BIT(15)		/* perhaps some, or some are due */
#define DMS_CTL_NACK_ACK	BIT(16)
#define DMS_CTL_RESET_DONE	BIT(17)
#define DMS_CTL_SKIP		BIT(18)		/* a send is to be taken back: until that is answered */
#define DMS_CTL_SKIPPED		BIT(19)
/* what goes before RESET and RESET_ACK, which tell that a message is over */
#define DMS_CTL_LAST		(DMS_CTL_NACK | DMS_CTL_SKIPPED)
#define DMS_CTL_PUSH		(DMS_CTL_REVOKE | DMS_CTL_REVOKED | DMS_CTL_GRANT)

/* Of a stream whose path has a new carrier. */
#define DMS_RESUME_OWED		BIT(0)	/* RESUME, or CONNECT again, is to be said */
#define DMS_RESUME_AWAITED	BIT(1)	/* and to be heard */

/*
 * There may be tens of thousands, most of them idle: each byte counts.  What one needs
 * only while it pulls is in struct dms_pull; an idle stream costs what
 * Documentation/lifetimes.rst says, and that is tested (test_transfer_10k).
 */
struct dms_stream {
	struct kref		ref;
	spinlock_t		lock;		/* see below */
	union {
		struct work_struct work;	/* steps towards the end; the release */
		struct rcu_head	rcu;		/* when even that has run */
	};
	struct dms_ctx		*ctx;		/* reference (memory only); NULL in a backlog */
	struct dms_session	*session;	/* reference, once bound */
	struct dms_path		*path;		/* reference; set once */
	u32			handle;
	u32			sid;		/* our id on the wire */
	u32			peer_sid;	/* 0: not known yet; stream->lock */
	u32			num;		/* for the operator; unique in the module */
	kuid_t			owner;
	pid_t			pid;
	u32			flags;		/* DMASTREAM_STREAM_* */
	union dms_peer		peer;
	u64			cookie;
	const char		*service;	/* the listener's, or allocated */
	struct dms_ring		*ring;		/* references; set when attached */
	struct dms_group	*small, *large;
	struct dms_listener	*listener;	/* it came through: reference; set once */

	struct list_head	listener_node;	/* listener->backlog, listener->lock */
	struct list_head	session_node;	/* session->waiting, session->lock */
	struct list_head	path_node;	/* path->streams, path->streams_lock */
	struct list_head	ready_node;	/* path->ready, path->ready_lock */
	struct dms_turn		turn;		/* path->sched or ->wait_*; path->lock */
	struct list_head	read_node;	/* path->wait_read; path->lock */
	struct list_head	hold_node;	/* path->holders, path->lock */
	struct list_head	put_off_node;	/* path->put_off, path->ready_lock */
	unsigned long		put_off_at;	/* jiffies; path->ready_lock */

	struct dms_ring_waiter	cq_waiter;
	struct dms_group_waiter	small_waiter, large_waiter;
	struct dms_ring_user	ring_user;
	struct dms_group_user	small_user, large_user;

	bool			ready;		/* path->ready_lock */
	bool			ack_is_late;	/* set under ready_lock, cleared under lock: a hint */
	bool			unbound;	/* what runs as work */
	u8			fault_ack;	/* enum dms_fault_ack, lock */

	/* lock: everything below.  Process context; inside path->lock. */
	u8			weight;
	u8			err_class;	/* enum dmastream_err_class */
	u16			waits;		/* DMASTREAM_WAIT_*, as last seen */
	enum dms_stream_state	state;
	u32			err_detail;
	u32			ctl;		/* DMS_CTL_* */

	/* opening */
	bool			attached;	/* ring and groups are set */
	bool			open_done;
	bool			open_async;
	bool			abandoned;	/* gave up while CONNECT had no answer */
	/* ending */
	bool			handle_gone;	/* the process has no handle (any more) */
	bool			reset_tx:1, reset_rx:1;		/* RESET sent, received */
	bool			reset_ack_tx:1, reset_ack_rx:1;
	bool			reset_done_tx:1, reset_done_rx:1;
	bool			reset_said:1;	/* RESET_ACK, in this epoch or an earlier one */
	bool			refusing:1;	/* what is behind refuse_base is refused */
	bool			nack_out:1;	/* no NACK_ACK has come */
	bool			heard:1;	/* the peer knows our id */
	bool			unanswered:1;	/* its end was not answered over one carrier */
	bool			skip_out:1;	/* SKIP of skip_tx_seq has no answer, unless tx_acked is one */
	bool			skipped_some:1;	/* the peer has said SKIPPED */
	bool			skip_due:1;	/* SKIP of skip_rx_seq came, and waits for READs of it */
	bool			skipped:1;	/* SKIPPED of skip_rx_seq is owed, or was said */
	u8			resume;		/* DMS_RESUME_* */
	u8			guilty;		/* enum ib_wc_status of what it did; any context */
	bool			lost;		/* the path is fenced, or there never was one */
	bool			ended;		/* off the wire, nothing in flight */
	bool			final;		/* and off everything else */
	bool			closing;	/* CLOSE was asked for */
	bool			close_async;
	bool			undelivered;	/* something accepted was not */
	bool			armed;		/* the timer */
	u8			reset_class;	/* what our RESET tells, likewise */
	u16			nack_errno;	/* of nack_seq, below */
	s16			open_error;
	s16			close_error;
	u32			skip_rx_seq;	/* of the last SKIP that came */
	u32			skip_tx_seq;	/* of the last one that was said */
	u32			reset_detail;	/* what our RESET tells */
	u64			open_user_data;
	u64			close_user_data;
	struct completion	*opened;	/* on the stack of who waits in CONNECT ... */
	struct completion	*closed;	/* ... and in CLOSE */
	struct timer_list	timer;		/* the limit of CONNECT, then of CLOSE */

	/* sending */
	struct list_head	txq;		/* accepted, not on the wire */
	struct list_head	flight;		/* on the wire, not acknowledged, in seq order */
	struct list_head	ending;		/* acknowledged, buffer not free yet */
	struct list_head	rtsq;		/* announced, not all pulled or keys left: req->rts_node */
	u32			tx_queued;	/* in txq, flight and ending */
	u32			tx_seq;		/* last one given */
	u32			tx_acked;
	u32			announced;	/* RTS out and not acknowledged */
	struct dms_land_tx	land_tx;
	u32			peer_small;	/* bytes of the peer's small landings */
	bool			peer_open;	/* ACCEPT or CONNECT told what the peer has */
	bool			peer_posted, peer_nolarge;
	bool			peer_pushes;	/* it may grant */
	bool			shut;		/* no more SENDs */
	bool			fin_sent;
	bool			tx_idle;	/* nothing was accepted and not done, until now */
	u32			nr_keys;	/* out or being revoked */

	/* receiving */
	struct dms_land_rx	land_rx;
	u32			land_target;
	u32			land_used;	/* since land_target was looked at */
	struct list_head	landings;	/* credits: landings, or RECVs' */
	struct list_head	rxq;
	u32			rx_announced;
	u32			rx_queued;
	u32			rx_seq;		/* last one that arrived */
	u32			rx_acked;	/* last one delivered */
	struct dms_ack		ack;		/* whether telling that may wait */
	u32			nack_seq;
	u32			nack_ack_seq;	/* of the peer's */
	u32			refuse_base;
	u32			done_seq, done_bytes;
	u32			hold_bytes;
	bool			recall_out;	/* RECALL has no RETURN yet */
	bool			rx_fin;		/* FIN arrived; its seq is rx_seq */
	bool			eos_due;	/* an end-of-stream completion is owed */
	bool			eos_told;
	int			eos_result;
	struct dms_pull		*pull;		/* NULL: nothing is announced */
	struct dms_push		*push;		/* set once, in either direction; or NULL */

	u64			tx_msgs, tx_bytes, rx_msgs, rx_bytes;
};

/* ---- what the face calls (ioctl.c, ring.c, ctx.c); process context, may sleep ---- */

/*
 * What is submitted together: requests of one stream, which are given to it
 * under one hold of its lock, and the paths that are to be pumped at the end.
 */
#define DMS_BATCH_REQS		64
#define DMS_BATCH_PATHS		8
struct dms_submit_batch {
	struct dms_stream	*stream;	/* of reqs; reference */
	struct list_head	reqs;		/* checked, not given to the stream yet */
	u32			nr_reqs;
	const struct dms_pool	*mapped;	/* of one of reqs; on the stream's path */
	u32			carriers;	/* of that path, before they were mapped */
	u32			nr;
	struct dms_path		*path[DMS_BATCH_PATHS];	/* references */
};

void dms_submit_begin(struct dms_submit_batch *batch);
/*
 * SEND or RECV.  req->stream is set with a reference, elements and pool are
 * checked and pinned.  0: it will complete, with an error when the stream does
 * not take it; else the caller completes it with the error: -ENOTCONN, -ENOMEM,
 * -EIO, -ENODEV.
 */
int dms_stream_submit(struct dms_req *req, struct dms_submit_batch *batch);
void dms_submit_give(struct dms_submit_batch *batch);
void dms_submit_flush(struct dms_submit_batch *batch);

/* @arg: in and out members, copied in; returns what the ioctl returns */
int dms_stream_connect(struct dms_ctx *ctx, struct dms_stream_cfg *cfg,
		       struct dmastream_connect *arg);
int dms_stream_accept(struct dms_ctx *ctx, struct dms_listener *listener,
		      struct dms_stream_cfg *cfg, struct dmastream_accept *arg);
int dms_stream_shutdown(struct dms_stream *stream);
/* The handle was taken out of the table; its reference is this function's. */
int dms_stream_close(struct dms_stream *stream, const struct dmastream_close *arg);
void dms_stream_query(struct dms_stream *stream, struct dmastream_stream_query *arg);
int dms_stream_cancel(struct dms_stream *stream, u64 user_data);
/* The context ends: as CLOSE with ABORT and nobody to tell; the reference of the handle is this function's. */
void dms_stream_orphan(struct dms_stream *stream);

int dms_stream_init(void);
void dms_stream_exit(void);

void dms_stream_get(struct dms_stream *stream);
bool dms_stream_tryget(struct dms_stream *stream);	/* under RCU */
void dms_stream_put(struct dms_stream *stream);

/* ---- what the session calls; process context, no lock held ---- */
void dms_stream_path_up(struct dms_stream *stream);	/* stream->path is set */
void dms_stream_session_lost(struct dms_stream *stream, u32 err_class, u32 err_detail);

/* ---- what the path calls ---- */
void dms_stream_path_lost(struct dms_stream *stream, u32 err_class, u32 err_detail);

#endif /* DMS_STREAM_H */
