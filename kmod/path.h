/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A path: what carries the data of a session, over a carrier: one reliable-connected
 * queue pair after the other, see Documentation/recovery.rst.  Holds the slot credits, the send window, and the fixed sets
 * of packets, reads and keys; the streams that are ready to be served are
 * scheduled over it by mux.c.
 *
 * Lifetime: kref.  References: the session's list, each stream that is bound
 * to it, the transport's connection identifier, queued work.
 *   dms_path_kill() (any context) -> DYING, nothing is posted any more ->
 *   kill_work: transport fence -> FENCED -> either the path rests until it has
 *   another carrier (path_recover.c), or each stream hears
 *   dms_stream_path_lost() -> the session hears dms_session_path_gone().
 */
#ifndef DMS_PATH_H
#define DMS_PATH_H

#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "core/credit.h"
#include "core/delay.h"
#include "core/depth.h"
#include "core/fsm.h"
#include "core/pick.h"
#include "core/rate.h"
#include "core/signal.h"
#include "core/window.h"
#include "core/wire.h"
#include "stats.h"
#include "transport.h"

struct dms_session;
struct dms_stream;

/* As many struct dms_pull are always there; more are kept for a while after their use. */
#define DMS_PATH_PULLS		64

/* A CONNECT that was refused before it had a stream; bounded by DMS_CONNECTS_MAX. */
struct dms_refusal {
	u32	stream;		/* the peer's id */
	u32	reason;
	u32	detail;
};

#define DMS_SKIP_LOOKS	4

struct dms_path {
	struct kref			ref;
	struct dms_session		*session;	/* holds a reference on it */
	const struct dms_transport_ops	*ops;
	void				*priv;		/* the transport's */
	struct list_head		session_node;	/* session->paths */
	u32				id;		/* of this module, for the operator */
	u8				lane;
	u8				index;
	bool				resumes;	/* DMS_FEATURE_RESUME, both sides */
	bool				skips;		/* DMS_FEATURE_SKIP, both sides */
	u8				skip_looks;	/* times that tick_work still looks for a late SKIP */
	/* session->lock, and constant while there is a carrier */
	u32				epoch;
	u32				off_epoch;	/* of the peer, which is fenced: PATH(OFF) */
	unsigned long			down_since;	/* jiffies; session->lock */
	/* path->lock to change it: carriers so far; 1 with the first */
	u32				carriers;
	u32				ended_carrier;	/* that RESUME_END came for; receiving alone */
	unsigned long			back_at;	/* jiffies: the carrier was connected; kill_work */
	u32				fails;		/* carriers in a row that were no good; kill_work */
	u32				futile;		/* of them those that were up, and delivered nothing */
	u64				progress;	/* likewise */
	u32				tcp_fails;	/* attempts in a row to go over TCP; kill_work */
	u32				probes;		/* in a row that RDMA did not answer; session->lock */
	bool				found;		/* it did: the next carrier is a queue pair; session->lock */
	u8				home;		/* the rail that it is meant for; constant */
	bool				was_away;	/* the last queue pair; session->lock */
	u8				home_fails;	/* in a row, and soon; session->lock */
	u8				rail;		/* of the queue pair, or the next to be tried; session->lock */
	bool				was_up;		/* the carrier; path->lock */
	bool				was_tcp;	/* the last one; changed between carriers */
	bool				end_later;	/* fenced, and waits to be told: session->lock */
	/* somebody may give it a carrier; session->lock and path->lock to set it, path->lock */
	bool				taken;
	u32				last_class;	/* of the last carrier */
	u32				last_detail;

	/* Set before UP, constant afterwards. */
	u32				slots;		/* receives that the peer begins with */
	u32				my_slots;	/* receives that we begin with */
	u32				my_slots_max;	/* and never more than this */
	bool				moves;		/* DMS_FEATURE_DEPTH, both sides */
	u32				slot_bytes;	/* longest packet, both ways */
	u32				eager_max;
	u32				reads_max;	/* READs that the peer serves at once */
	u32				keys_max;
	u32				seg_pages;	/* pages of one key */
	bool				pushes;		/* DMS_FEATURE_PUSH, both sides */
	u32				nr_writes;
	struct dms_ibdev		*ibdev;		/* NULL: not RDMA */

	/*
	 * lock: state, everything below up to streams_lock, and all posting.
	 * Process context.  Outside: nothing of ours.  Inside: ready_lock,
	 * stream->lock and what that has inside.
	 */
	spinlock_t			lock;
	enum dms_path_state		state;
	u32				err_class;
	u32				err_detail;
	struct dms_slot_tx		slot_tx;
	struct dms_slot_rx		slot_rx;
	/* ours of the NIC's receives; some of it is ibdev->recv_lock's, see there */
	struct dms_depth		depth;
	bool				recall_owed;	/* SLOT_RECALL is to be said */
	bool				recalled;	/* the peer said it: */
	u32				until;		/* it wants to have got so many packets */
	bool				stalled;	/* no credit, since the last packet */
	struct dms_window		window;
	struct dms_delay		delay;		/* moves its limit */
	struct dms_rate			rate;		/* what may be sent in a second */
	struct dms_txpkt		*txpkts;
	struct dms_read			*reads;
	struct dms_key			*keys;
	u32				nr_txpkts;
	struct list_head		tx_free;
	struct list_head		reads_free;
	struct list_head		keys_free;
	struct dms_write		*writes;
	struct dms_write		*writes_free;
	u32				tx_out, reads_out, keys_out;
	u32				grants;		/* of keys_out: those that are for WRITE */
	struct list_head		granters;	/* streams with grants: push->node */
	unsigned long			moved;	/* jiffies: a post when nothing was out, or a completion */
	/* packets at the end of the send queue that ask for no completion: quiet */
	struct dms_signal		signal;
	u64				quiet_charge;	/* goes with the next that asks */
	u32				quiet_bytes;
	bool				sweep;		/* send something that asks, if they are the last */
	u32				resumes_owed;	/* streams that have to say RESUME, or CONNECT again */
	bool				end_owed;	/* and RESUME_END after them */
	/* streams that could not go on for want of a shared thing; made ready when there is some */
	struct dms_link			wait_key;	/* stream->turn.link */
	struct dms_link			wait_connect;	/* likewise */
	struct list_head		wait_read;
	struct dms_sched		sched;		/* streams that wait: stream->turn */
	u32				connects_out;	/* CONNECTs without an answer */
	struct list_head		holders;	/* streams that may have to say HOLD: stream->hold_node */
	struct dms_refusal		refusal[DMS_CONNECTS_MAX];
	u32				nr_refusals;
	u64				incast_unread;	/* taken for READs that did not start */
	u64				tx_packets, rx_packets, tx_bytes, rx_bytes;

	/*
	 * ready_lock: ready, put_off, ready_over, and of streams ready_node,
	 * put_off_node and put_off_at.  Innermost, process context.
	 */
	spinlock_t			ready_lock;
	struct list_head		ready;
	struct list_head		put_off;	/* their UPDATE waits for a packet */
	bool				ready_over;	/* the path has ended; none is added */

	/* streams_lock: streams and stream->path_node.  Innermost, process context. */
	spinlock_t			streams_lock;
	struct list_head		streams;
	bool				lost;		/* its streams were told; none is added */

	/* pulls_lock: the next two.  Innermost, process context. */
	spinlock_t			pulls_lock;
	struct list_head		pulls_free;	/* struct dms_pull */
	u32				nr_pulls_free;

	struct work_struct		pump_work;
	struct delayed_work		hold_work;
	struct delayed_work		rate_work;
	struct delayed_work		grant_work;	/* takes back grants that are idle */
	struct delayed_work		ack_work;	/* has waited long enough */
	unsigned long			ack_delay;	/* jiffies; 0: none waits.  Constant */
	struct delayed_work		redial_work;	/* the dialling side's: the next carrier */
	struct work_struct		kill_work;
};

/* Detail of DMASTREAM_ERR_PATH: the other side's carrier has failed. */
#define DMS_PATH_DETAIL_PEER	(RDMA_CM_EVENT_DISCONNECTED + 256)
/* And: it is left for a better one. */
#define DMS_PATH_DETAIL_BETTER	512
/* And: no new one could be made; the errno is added. */
#define DMS_PATH_DETAIL_ERRNO	1024

/*
 * In state INIT, attached to the session (dms_session_attach()); the transport
 * then brings it up.  Returns with a reference that the caller puts.  Whatever
 * fails afterwards ends in dms_path_kill(), and that in ops->fence() and
 * ops->free() (from kill_work, on a path in any state and however far the
 * transport had come; it may run while the caller is still at work).
 * ERR_PTR: -ENOMEM, or what dms_session_attach() says.
 */
struct dms_path *dms_path_create(struct dms_session *session,
				 const struct dms_transport_ops *ops,
				 u8 lane, u8 index);
void dms_path_get(struct dms_path *path);
void dms_path_put(struct dms_path *path);
/* The only function that changes path->state; true when it went from @from to @to. */
bool dms_path_move(struct dms_path *path, enum dms_path_state from,
		   enum dms_path_state to);
/*
 * The transport connected: allocates packets, reads and keys per the members
 * above (the transport calls it before its first receive can complete, when
 * slots, my_slots, nr_txpkts, slot_bytes, reads_max, keys_max, seg_pages and ibdev
 * are set).  The transport then fills in buf_dma and mr.
 */
int dms_path_alloc(struct dms_path *path);
int dms_path_map_pool(struct dms_path *path, struct dms_pool *pool);
void dms_path_free(struct dms_path *path);
/* path_pulls.c */
void dms_path_init_pulls(struct dms_path *path);
int dms_path_alloc_pulls(struct dms_path *path);
void dms_path_free_pulls(struct dms_path *path);
void dms_path_free_carrier(struct dms_path *path);
void dms_path_window_init(struct dms_path *path);

/* path_recover.c */
void dms_path_rest(struct dms_path *path);
bool dms_path_hopeless(const struct dms_path *path);
int dms_path_back(struct dms_path *path);
bool dms_path_is_up(struct dms_path *path);
/* The same, as it was a moment ago; any lock may be held. */
static inline bool dms_path_is_up_hint(const struct dms_path *path)
{
	return READ_ONCE(path->state) == DMS_PATH_UP;
}

bool dms_path_resume_late(struct dms_path *path, unsigned long limit);
bool dms_path_skip_late(struct dms_path *path, unsigned long limit);
void dms_path_resumed(struct dms_path *path);			/* path->lock held */
enum dms_rule dms_path_resume_end(struct dms_path *path);
struct dms_stream *dms_path_connected_before(struct dms_path *path, u32 peer_sid);
/* The peer may still say RESUME: its handler's context. */
static inline bool dms_path_resuming(const struct dms_path *path)
{
	return path->carriers > 1 && READ_ONCE(path->ended_carrier) != path->carriers;
}

/* Payload that a carrier has moved without the processes' CPUs; n bytes. */
static inline void dms_path_stat_rx(const struct dms_path *path, u64 n)
{
	dms_stat_add(path->ops->tcp ? DMS_STAT_TCP_RX_BYTES : DMS_STAT_RDMA_RX_BYTES, n);
}

static inline void dms_path_stat_tx(const struct dms_path *path, u64 n)
{
	dms_stat_add(path->ops->tcp ? DMS_STAT_TCP_TX_BYTES : DMS_STAT_RDMA_TX_BYTES, n);
}

/* CONNECTING -> UP; tells the session. */
void dms_path_up(struct dms_path *path);
/* Is something out that will be told of?  path->lock held. */
static inline bool dms_path_awaits(const struct dms_path *path)
{
	return path->tx_out > path->signal.quiet || path->reads_out;
}

/* Before tx_out or reads_out goes up; path->lock held. */
static inline void dms_path_posts(struct dms_path *path)
{
	if (!dms_path_awaits(path))
		path->moved = jiffies;
}

/* UP, and nothing of what is out has completed for @limit jiffies.  Process context. */
bool dms_path_stuck(struct dms_path *path, unsigned long limit, unsigned long *next);
/* Any state -> DYING, once; later calls do nothing.  Any context but hard interrupt. */
void dms_path_kill(struct dms_path *path, u32 err_class, u32 err_detail);
void dms_path_end_now(struct dms_path *path);

/* What the session does for a stream; sets stream->path, with a reference that the stream's release puts. */
int dms_path_add_stream(struct dms_path *path, struct dms_stream *s);
void dms_path_del_stream(struct dms_path *path, struct dms_stream *s);

/* For mux.c and stream_*.c; path->lock held. */
void dms_path_wait(struct dms_path *path, struct dms_link *list, struct dms_stream *s);
void dms_path_wake(struct dms_path *path, struct dms_link *list);
void dms_path_wait_read(struct dms_path *path, struct dms_stream *s);
void dms_path_wake_readers(struct dms_path *path);
/* path_rate.c */
void dms_path_rate_init(struct dms_path *path);
void dms_path_rate_work(struct work_struct *work);
bool dms_path_rate_limit(struct dms_path *path);
/**
 * dms_path_rate_may() - may data be sent, by the path's limit?
 * @path: path->lock is held
 *
 * Frames that carry no data are never asked about: held back here, they would hold
 * up what the peer sends.
 *
 * Return: true, and dms_path_rate_charge() follows; false: turns go on when they may.
 */
static inline bool dms_path_rate_may(struct dms_path *path)
{
	return likely(!path->rate.cost) || dms_path_rate_limit(path);
}

/* So many bytes go, or may be pulled. */
void dms_path_rate_charge(struct dms_path *path, u32 bytes);
void dms_path_hold_later(struct dms_path *path, struct dms_stream *s);

extern unsigned int dms_param_grant_idle_ms;

/* path_push.c; path->lock held but for the first two */
void dms_path_push_init(struct dms_path *path);
int dms_path_alloc_writes(struct dms_path *path);
struct dms_write *dms_path_get_writes(struct dms_path *path, u32 n);
void dms_path_put_writes(struct dms_path *path, struct dms_write *w);
struct dms_key *dms_path_get_grant_key(struct dms_path *path);
void dms_path_put_grant_key(struct dms_path *path, struct dms_key *key);
void dms_path_grants(struct dms_path *path, struct list_head *node, struct dms_stream *s);
void dms_path_drop_granters(struct dms_path *path);
void dms_path_unsent(struct dms_txpkt *pkt);

/* For a stream to which a message is announced; NULL: no memory.  Any lock may be held. */
struct dms_pull *dms_path_get_pull(struct dms_path *path);
void dms_path_put_pull(struct dms_path *path, struct dms_pull *pull);
/* From time to time: frees some of those that are not needed. */
void dms_path_trim_pulls(struct dms_path *path);

bool dms_path_charge_again(struct dms_path *path, u64 charge);
/* True when @charge was taken from the send window; false: wait for it. */
static inline bool dms_path_charge(struct dms_path *path, u64 charge)
{
	return likely(dms_window_take_small(&path->window, charge)) ||
	       dms_path_charge_again(path, charge);
}

/* So many bytes were pulled, and are still charged. */
void dms_path_pulled(struct dms_path *path, u32 bytes);

/* Lets the streams that are ready be served, now or soon.  Process context, no lock held. */
void dms_path_pump(struct dms_path *path);
void dms_path_kick(struct dms_path *path);	/* by a worker; any lock may be held */

/* ---- what the transport calls; process context, no lock held ---- */

enum dms_rx_next {
	DMS_RX_BROKEN,		/* the peer broke the protocol, the path was killed */
	DMS_RX_POST,		/* post the receive again: dms_path_reposted() */
	DMS_RX_FREE,		/* free it: dms_path_freed() */
};

/*
 * A packet arrived.  The buffer is the transport's again on return, which says what
 * to do with it.
 */
enum dms_rx_next dms_path_rx(struct dms_path *path, const void *buf, u32 len);
void dms_path_reposted(struct dms_path *path, u32 n);
void dms_path_freed(struct dms_path *path, u32 n);
/* After ops->grow(), once: so many were posted. */
void dms_path_grown(struct dms_path *path, u32 n);
/* SLOT_RECALL came, for proto.c */
enum dms_rule dms_path_recalled(struct dms_path *path, u32 until);
/*
 * The packet, and those in its @before.  status: 0 or a negative errno; on an error
 * the path is being killed already
 */
void dms_path_send_done(struct dms_txpkt *pkt, int status);
void dms_path_read_done(struct dms_read *rd, int status);
void dms_path_revoke_done(struct dms_key *key, int status);

#endif /* DMS_PATH_H */
