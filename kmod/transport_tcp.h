/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A path over the session's own TCP connection: what a path has while no NIC carries it,
 * or on a host that has none.
 *
 * It does what a queue pair does, by messages between those of the session: PACKET is a
 * SEND, READ and DATA an RDMA READ, WRITE an RDMA WRITE.  So a path has credits, keys and
 * pulls as ever, and its streams do not know.
 *
 * All that touches the socket is done by session->sock_work.  tcp->lock (of struct
 * dms_tcp_io) is held around what it does for paths, and by who adds a carrier or takes it
 * away: so a fence that has had it knows that nothing of its carrier is being sent or
 * received.  Outermost; process context.
 *
 * Lifetime: struct dms_tcp: kref: the path's, put by ops->free after the fence; that of
 * who makes it.  tcp->of[] has none: the fence takes it out.
 */
#ifndef DMS_TRANSPORT_TCP_H
#define DMS_TRANSPORT_TCP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "core/seg.h"
#include "core/tile.h"
#include "core/wire.h"
#include "session.h"
#include "transport.h"

struct dms_path;
struct dms_pool;
struct dms_txpkt;

/* What a key opens; path->lock. */
struct dms_tcp_key {
	struct dms_pool		*pool;		/* a transfer is held by whoever has the key out */
	struct dms_tile		tile;
	u32			at, len;	/* in the tile's message */
	u32			rkey;
	bool			open;
	bool			write;
	/* pages of it were lent to TCP, up to this byte of the connection; tcp->lock */
	bool			lent;
	u32			lent_to;
};

/* A READ that we make; path->lock. */
struct dms_tcp_ask {
	bool			out;		/* ops->read() was called, and it has no answer */
	u32			got;
};

/* One that the peer makes; path->lock. */
struct dms_tcp_reply {
	struct list_head	node;		/* tp->replies or tp->replies_free */
	struct dms_tcp_key	*key;
	u16			read;
	u32			at, len;	/* of what the key opens */
	u32			sent;
};

/* path->priv */
struct dms_tcp {
	struct kref		ref;
	struct dms_path		*path;
	u32			epoch;
	/* making; the fence takes it to set dead, which also needs path->lock.  Outside session->lock */
	struct mutex		setup_lock;
	bool			dead;
	bool			told;		/* the peer knows: tcp->lock */

	/* path->lock: the rest */
	struct list_head	tx;		/* packets to be sent: pkt->node */
	bool			begun;		/* with the WRITEs of the first one: */
	struct dms_write	*write;		/* what is to be written next */
	u32			write_at;
	struct list_head	quiet;		/* sent, and not told of yet: pkt->node */
	struct list_head	reads;		/* to be asked for: rd->node */
	struct list_head	asked;		/* in this order they are answered: rd->node */
	struct list_head	replies;
	struct list_head	replies_free;
	bool			reply_turn;	/* before a packet */
	unsigned long		*revoke;	/* bit per key: to be answered */
	struct dms_tcp_key	*key;		/* as path->keys */
	struct dms_tcp_ask	*ask;		/* as path->reads */
	struct dms_tcp_reply	*reply;
	u32			nr_keys, nr_asks;
	u32			uses;		/* of keys: so that no rkey comes twice soon */
};

/* One message on its way out.  tcp->lock. */
struct dms_tcp_out {
	u8			head[sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_move)];
	u32			head_len;	/* 0: there is none */
	u32			head_sent;
	struct ib_sge		sge[DMS_TX_SGES];	/* addresses of the CPU */
	u32			nr_sge;
	u32			at, off;	/* what is sent next of them */
	bool			pages;		/* as they are, without a copy */
	struct dms_tcp		*tp;		/* NULL: its carrier has been fenced meanwhile */
	struct dms_txpkt	*pkt;		/* has left with this */
	struct dms_tcp_reply	*reply;
	void			*copy;		/* of what was not sent by then */
};

/* One on its way in, its payload.  tcp->lock. */
struct dms_tcp_in {
	u16			type;
	u32			left;		/* 0: there is none */
	struct dms_tcp		*tp;		/* NULL: it is thrown away */
	u32			got;		/* PACKET: bytes in tcp->packet */
	struct dms_pool		*pool;		/* DATA, WRITE: where it goes */
	struct dms_tile		tile;
	u32			at;
	struct dms_read		*rd;		/* DATA */
	const struct dms_tcp_key *key;		/* WRITE */
};

/* What a session has for the paths that it carries itself; made with the first of them. */
struct dms_tcp_io {
	struct mutex		lock;
	struct dms_tcp		*of[DMS_SESSION_PATHS_MAX];
	u32			turn;		/* whose message goes out next */
	bool			lent;		/* pages were given to TCP: */
	u32			lent_to;	/* up to this byte of the connection */
	u32			una;		/* from this byte on the peer has not acknowledged */
	bool			cut;		/* a message was not finished: nothing may follow it */
	struct dms_tcp_out	out;
	struct dms_tcp_in	in;
	u32			packet_len;
	u8			packet[];	/* the packet that comes, or what is thrown away */
};

extern const struct dms_transport_ops dms_tcp_ops;

int dms_tcp_attach(struct dms_path *path);
void dms_tcp_tell(struct dms_path *path);

/* tcp_io.c; sock_work alone */
int dms_tcp_rest(struct dms_session *s);
int dms_tcp_send(struct dms_session *s, int *budget);
enum dms_rule dms_tcp_begin(struct dms_session *s, u16 type, const u8 *body, u32 len);
int dms_tcp_receive(struct dms_session *s);
bool dms_tcp_answer_revokes(struct dms_session *s);
void dms_tcp_wait_acked(struct dms_session *s);
void dms_tcp_free(struct dms_session *s);
void dms_tcp_forget(struct dms_session *s, struct dms_tcp *tp);
/* Were pages given to TCP, which it may still have?  At the end of the session. */
static inline bool dms_tcp_lent(const struct dms_session *s)
{
	return s->tcp_io && s->tcp_io->lent;
}

#endif /* DMS_TRANSPORT_TCP_H */
