/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node: this module in one network namespace.  Has the sessions, the
 * services, and, only while some context listens, the TCP and rdma_cm
 * listeners.
 */
#ifndef DMS_NODE_H
#define DMS_NODE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "core/wire.h"

struct net;
struct dms_node;
struct dms_session;
struct socket;

struct dms_node {
	struct net		*net;		/* lives as long as the node */
	/*
	 * What HELLO says: dms_boot_nonce in the initial namespace, a random one
	 * of its own in each other, so that two namespaces of one host are never
	 * taken for one node.
	 */
	u8			nonce[DMS_WIRE_NONCE];
	/*
	 * listen_lock: nr_listening, port, tcp, rdma.  Process context; outside
	 * node->lock, since stopping the listeners waits for handlers that take
	 * node->lock.
	 */
	struct mutex		listen_lock;
	/* lock: sessions, counts, services, going.  Process context; outside session->lock. */
	struct mutex		lock;
	struct list_head	sessions;	/* oldest first; each with a reference */
	u32			nr_sessions;
	u32			nr_embryos;	/* accepted, and not all paths are up */
	struct list_head	services;	/* struct dms_listener, listener.c */
	u32			nr_listening;	/* listen_lock; read without it for HELLO */
	u32			nr_ctx;		/* lock; read without it by sessions */
	/* lock: sessions whose peer may ask for another queue pair, also when nobody listens */
	u32			nr_resumable;
	struct work_struct	unlisten_work;	/* there is none of them any more */
	bool			going;		/* namespace or module ends: nothing new */
	u16			port;		/* that it listens on */
	u64			event_seq;	/* events.c's; of the last event */
	void			*tcp;		/* node.c's listener */
	void			*rdma;		/* cm.c's listener */
};

extern u8 dms_boot_nonce[DMS_WIRE_NONCE];

int dms_node_init(void);		/* pernet registration and nonce */
void dms_node_exit(void);		/* ends every session of every namespace, waits */
struct dms_node *dms_node_of(struct net *net);

/* A context of the namespace opens or closes the device. */
void dms_node_ctx_get(struct dms_node *node);
void dms_node_ctx_put(struct dms_node *node);	/* the last one: idle sessions end now */
/* A session that its peer has opened, and that resumes, is up, or has ended; node->lock held. */
void dms_node_resumable(struct dms_node *node, bool up);

/* LISTEN: the first starts the listeners, the last stops them.  -EADDRINUSE and what bind says. */
int dms_node_listen_get(struct dms_node *node);
void dms_node_listen_put(struct dms_node *node);

/* Does it listen on all addresses of this host? */
bool dms_node_anywhere(void);

/* For operators: calls fn on each session, a reference held, no lock; stops when it is non-zero. */
int dms_node_walk_sessions(struct dms_node *node,
			   int (*fn)(struct dms_session *s, void *arg), void *arg);

/* ---- for session.c and hello.c ---- */

/* A peer's connection was accepted; the socket is the callee's, whatever happens. */
void dms_session_accept(struct dms_node *node, struct socket *sock);
/* Ends every session of the node and waits for at most so long; node->going is set. */
unsigned long dms_session_end_all(struct dms_node *node, unsigned long limit);
/* Idle sessions look whether they may end. */
void dms_session_poke_all(struct dms_node *node);

/* Parameters; /sys/module/dmastream/parameters; units in the names. */
extern unsigned int dms_param_port;
extern unsigned int dms_param_keepalive_ms;	/* PING when nothing was heard for so long */
extern unsigned int dms_param_peer_lost_ms;	/* session given up; 0: never */
extern unsigned int dms_param_handshake_ms;
extern unsigned int dms_param_session_idle_ms;
extern unsigned int dms_param_eager_max;
extern unsigned int dms_param_slots;		/* most receives posted per QP */
extern unsigned int dms_param_qps;		/* QPs per peer: bulk lane */
extern unsigned int dms_param_qps_latency;	/* and latency lane */
extern unsigned int dms_param_max_embryos;	/* connections in their handshake, per namespace */
extern unsigned int dms_param_max_sessions;	/* per namespace */
extern char *dms_param_node_name;		/* for the peer's operator, may be empty */

#endif /* DMS_NODE_H */
