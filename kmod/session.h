/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session: one TCP connection between two nodes of a network namespace,
 * with the paths that are attached to it and the streams that use it.
 *
 * Keyed by namespace, both nonces, the random session id and the role, so
 * that a node can have a session with itself (two objects, one per role).
 *
 * Lifetime: kref.  References: the node's list, each path, each stream bound,
 * queued work.  dms_session_kill() (any context) -> DYING -> kill_work: socket
 * closed, paths killed and waited for, streams told -> DEAD, off the list.
 */
#ifndef DMS_SESSION_H
#define DMS_SESSION_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "core/fsm.h"
#include "core/rail.h"
#include "core/wire.h"

#define DMS_LANE_PATHS_MAX	8
#define DMS_SESSION_PATHS_MAX	(DMS_LANES * DMS_LANE_PATHS_MAX)
/* Stream ids of one session are 1 to this. */
#define DMS_SESSION_STREAMS_MAX	1048576U
/* Other addresses under which the peer is known, see dms_session_merge(). */
#define DMS_SESSION_ALIASES	4

/* Bits of session->flags; set and cleared atomically, in any context. */
enum dms_session_flag {
	DMS_SF_KILLED,		/* dms_session_kill() was called; never cleared */
	DMS_SF_ENDING,		/* kill_work has begun; never cleared */
	DMS_SF_BYE,		/* the end is an orderly one: say so to the peer */
	DMS_SF_CONNECTED,	/* TCP connection is established */
	DMS_SF_DIAL,		/* sock_work: open the TCP connection */
	DMS_SF_PING,		/* sock_work: send a PING */
	DMS_SF_CROSSED,		/* dial was refused with CROSSED, session_sock.c */
	DMS_SF_RETRY,		/* sock_work: look again after CROSSED */
	DMS_SF_WAS_UP,		/* for the counters, and BYE */
	DMS_SF_READY,		/* all paths were up once; never cleared */
	DMS_SF_WORDS,		/* sock_work: say what is in word[] */
	DMS_SF_CLOSED,		/* the connection is closed; never cleared */
};

struct dms_node;
struct dms_path;
struct dms_stream;
struct dms_tcp_io;
struct socket;

enum dms_session_role {
	DMS_ROLE_DIALLER,	/* opened the TCP connection; calls rdma_connect */
	DMS_ROLE_ACCEPTOR,
};

struct dms_session {
	struct kref		ref;
	struct dms_node		*node;
	struct list_head	node_link;	/* node->sessions, node->lock */
	u32			num;		/* for the operator; unique in the module */
	enum dms_session_role	role;

	/* Set by the handshake, constant once UP. */
	struct dms_hello	mine;
	struct dms_hello	theirs;
	u16			version;
	u32			epoch;
	u32			eager_max;	/* the lower of both */
	u32			slot_bytes;	/* the lower of both */
	bool			resumes;	/* DMS_FEATURE_RESUME, both sides */
	bool			tcp;		/* and DMS_FEATURE_TCP */
	bool			skips;		/* DMS_FEATURE_SKIP, both sides */
	struct dms_rail_addr	own[DMS_RAILS_MAX];	/* that are in mine, and more; rails.c */
	u32			nr_own;
	struct dms_rails	rails;		/* the dialling side's */
	struct sockaddr_storage	local;		/* of the TCP connection */
	struct sockaddr_storage	remote;		/* likewise; port: the peer's listening port */

	/*
	 * lock: state, error, paths, waiting, and changes of streams.  Process
	 * context; inside node->lock, outside path->lock and stream->lock.
	 */
	struct mutex		lock;
	enum dms_session_state	state;
	u32			err_class;
	u32			err_detail;
	struct dms_path		*path[DMS_SESSION_PATHS_MAX];
	/* wanted; first those of the bulk lane, then those of the latency lane */
	u32			nr_paths;
	u32			nr_latency;	/* among them */
	u32			nr_up;
	/* PATH that is to be said of each, 0: nothing; session_recover.c */
	u8			word[DMS_SESSION_PATHS_MAX];
	u32			word_epoch[DMS_SESSION_PATHS_MAX];
	u32			next_path[DMS_LANES];	/* for the next stream, modulo the lane's */
	struct list_head	waiting;	/* streams without a path: stream->session_node */

	/* stream ids of ours -> streams; xa_lock; looked up under RCU */
	struct xarray		streams;
	atomic_t		nr_streams;

	struct socket		*sock;		/* sock_work; kill_work after it */
	unsigned long		last_heard;	/* jiffies */
	u64			rtt_ns;		/* of the last PING */

	/* What only session.c, hello.c and session_sock.c use. */
	struct rcu_head		rcu;
	unsigned long		flags;		/* enum dms_session_flag */
	u32			kill_class;	/* written by who set KILLED, read by kill_work */
	u32			kill_detail;
	u32			next_sid;	/* lock */
	u32			up_mask;	/* lock; bit n: path[n] is up */
	bool			embryo;		/* node->lock; counted in node->nr_embryos */
	bool			resumable;	/* node->lock; counted in node->nr_resumable */
	unsigned long		idle_since;	/* jiffies; lock */
	unsigned long		deadline;	/* jiffies; of the handshake, paths included */
	bool			silent;		/* tick_work, as the next two */
	unsigned long		silent_since;	/* jiffies; the first PING without an answer */
	unsigned long		last_ping;	/* jiffies */
	u8			crossed_by[DMS_WIRE_NONCE];	/* sock_work */
	u32			crossed_tries;	/* sock_work */
	u32			redials;	/* for its streams, see session_rehome() */
	u32			nr_aliases;	/* node->lock; the oldest is replaced */
	struct sockaddr_storage	alias[DMS_SESSION_ALIASES];

	struct work_struct	sock_work;
	struct delayed_work	tick_work;	/* keepalive, handshake limit, idle end */
	struct work_struct	kill_work;
	struct completion	dead;
	bool			probing;	/* lock; session_recover.c */
	/* tcp_io.c; made once, and there to the end */
	struct dms_tcp_io	*tcp_io;
	u32			tcp_last[DMS_SESSION_PATHS_MAX];	/* epoch of the last TCP carrier of each path */
	/* the rest of what the socket code needs is session_sock.c's */
	void			*sockpriv;	/* struct dms_sock */
};

void dms_session_get(struct dms_session *s);
void dms_session_put(struct dms_session *s);
/* The only function that changes the state; session->lock held; true when it did. */
bool dms_session_move(struct dms_session *s, enum dms_session_state from,
		      enum dms_session_state to);

/*
 * A session towards @peer (port set), with a reference: one that is up or being
 * dialled, or a new one.  Process context, may sleep but does not wait for the
 * network.  ERR_PTR: -ENOMEM, -EAFNOSUPPORT, -ENETUNREACH, -ESHUTDOWN.
 */
struct dms_session *dms_session_find_or_dial(struct dms_node *node,
					     const struct sockaddr_storage *peer);

/*
 * Gives the stream an id in the session (stream->sid) and, when a path is up,
 * the path (stream->path, with a reference), else queues it on waiting: then
 * dms_stream_path_up() or dms_stream_session_lost() follows, once.  Process
 * context, no lock held.  When the session has just ended, another one to the
 * same peer is found or dialled.  -ENOTCONN when these end too (class and detail
 * in the out arguments), -ENOSPC when it has too many streams.
 */
int dms_session_bind(struct dms_session *s, struct dms_stream *stream,
		     u32 *err_class, u32 *err_detail);
/* For a CONNECT that came on @path: the stream stays on that path. */
int dms_session_bind_on(struct dms_session *s, struct dms_stream *stream,
			struct dms_path *path);
/*
 * The id is free again, and the reference of the table is put.  Any state;
 * process context, may sleep.  While a stream has no path, stream->session may
 * change (see hello.c), so that @s is only the caller's idea of it.
 */
void dms_session_unbind(struct dms_session *s, struct dms_stream *stream);
/* By id, with a reference, or NULL.  Any context. */
struct dms_stream *dms_session_stream(struct dms_session *s, u32 sid);

/* Any context but hard interrupt; once. */
void dms_session_kill(struct dms_session *s, u32 err_class, u32 err_detail);

/*
 * Puts a new path into session->path[path->index], with a reference; called by
 * dms_path_create().  -ENOTCONN: not UP; -EINVAL: no such index, or not in that
 * lane; -EBUSY: taken.
 */
int dms_session_attach(struct dms_session *s, struct dms_path *path);

/* What paths tell; process context, no lock held. */
void dms_session_path_up(struct dms_session *s, struct dms_path *path);
void dms_session_path_gone(struct dms_session *s, struct dms_path *path);
/* session_recover.c */
bool dms_session_kill_late(struct dms_session *s, struct dms_path *path);
bool dms_session_end_later(struct dms_session *s, struct dms_path *path);
bool dms_session_path_dying(struct dms_session *s, struct dms_path *path);
void dms_session_path_off(struct dms_session *s, struct dms_path *path);
void dms_session_redial_work(struct work_struct *work);
void dms_session_choose_rail(struct dms_session *s, struct dms_path *path);
struct dms_path *dms_session_next_carrier(struct dms_session *s, const struct dms_cm *cm);

/* An acceptor's session by what a connection request showed; with a reference, or NULL. */
struct dms_session *dms_session_by_cookie(struct dms_node *node, const struct dms_cm *cm);

#endif /* DMS_SESSION_H */
