/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a path asks of whatever carries its data.  Nothing above knows which
 * transport it has; a transport knows nothing of streams.
 */
#ifndef DMS_TRANSPORT_H
#define DMS_TRANSPORT_H

#include <linux/list.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dms_path;
struct dms_pool;
struct dms_ibdev;
struct dms_req;
struct dms_stream;
struct dms_landing;
struct dms_tile;
struct seq_file;

#define DMS_TX_SGES	30		/* of one packet, the header's among them */
/* WRITEs of a path that are out at a time, and of one message. */
#define DMS_PATH_WRITES	16
#define DMS_MSG_WRITES	8

/*
 * A part of a message that is written into a landing which the peer has granted.  It
 * leaves ahead of the packet that says so, on the same queue pair, and is told of with it.
 */
struct dms_write {
	struct dms_write	*next;		/* path->writes_free, or pkt->write */
	struct dms_path		*path;
	struct dms_req		*req;		/* of the message's first one; else NULL */
	u64			remote_addr;
	u32			rkey;
	u32			len;
	struct ib_sge		sge[DMS_TX_SGES];
	u32			nr_sge;
	struct ib_cqe		cqe;		/* the transport's */
};

/*
 * A packet that leaves.  The path has a fixed number of them, made with the
 * queue pair.  @buf holds the packet and frame headers and the bytes that the
 * sender copied; everything else is gathered from pools.
 */
struct dms_txpkt {
	struct list_head	node;		/* path->tx_free, path->lock */
	struct dms_path		*path;
	void			*buf;
	u32			buf_size;
	u64			buf_dma;	/* transport fills at creation */
	struct ib_sge		sge[DMS_TX_SGES];
	u32			nr_sge;
	u32			bytes;		/* of the whole packet */
	/* requests whose pages the NIC reads until the send completes */
	struct dms_req		*req[DMS_TX_SGES];
	u32			nr_req;
	struct dms_write	*write;		/* that go ahead of it; then it asks for a signal */
	u64			charge;		/* of the window; and the quiet ones' before it */
	u64			posted_ns;
	bool			signal;		/* false: quiet, told of with a later one */
	u32			before_bytes;	/* of the quiet ones before it */
	struct list_head	before;		/* the transport's: those, by their node */
	struct ib_cqe		cqe;		/* the transport's */
};

/*
 * A memory region that lets the peer READ one segment, or WRITE one message into a
 * landing.  FREE -> OUT -> REVOKING -> FREE, all under path->lock; freed only by the
 * fence otherwise.
 */
struct dms_key {
	struct list_head	node;		/* path->keys_free, or req->keys */
	struct dms_path		*path;
	struct dms_req		*req;		/* whose message it opens; NULL: it is a grant's */
	struct dms_landing	*landing;	/* the grant's; stream->lock, as the next */
	u32			pushed;		/* bytes that the peer wrote there */
	u64			addr;		/* what the peer uses */
	u32			rkey;
	u32			at;		/* offset in the message */
	u32			len;
	u64			charge;		/* of the send window, until done */
	bool			write;		/* opens for WRITE; else for READ */
	bool			due;		/* is to be revoked */
	bool			revoking;
	struct ib_mr		*mr;		/* the rest is the transport's */
	u32			reuses;
	struct ib_cqe		reg_cqe;
	struct ib_cqe		inv_cqe;
};

/* A READ that is being made.  The path has as many as the peer serves at once. */
struct dms_read {
	struct list_head	node;		/* path->reads_free */
	struct dms_path		*path;
	struct dms_stream	*stream;	/* holds a reference while in flight */
	struct dms_landing	*landing;
	u32			landing_at;	/* where in the landing */
	u32			len;
	u64			remote_addr;
	u32			rkey;
	u64			charge;		/* of the incast budget */
	struct ib_sge		sge[DMS_TX_SGES];
	u32			nr_sge;
	u8			blame;		/* enum ib_wc_status: it would fail again; or 0 */
	struct ib_cqe		cqe;		/* the transport's */
};

static inline u32 dms_sges_bytes(const struct ib_sge *sge, u32 n)
{
	u32 bytes = 0;

	while (n--)
		bytes += sge[n].length;
	return bytes;
}

/**
 * struct dms_transport_ops - a transport
 * @name: for the operator
 * @tcp: the session's own connection: what carries a path while no NIC does
 * @send: a packet, its WRITEs ahead of it -> dms_path_send_done().  One that does not ask for a signal is
 *	  answered with a later one that does, whose @before it is on then
 * @read: a READ -> dms_path_read_done()
 * @expose: opens len bytes from byte @at on of what the tile is as a message, and
 *	    nothing that lies between them in the pool, for READ by the peer, or for
 *	    WRITE, as key->write says: at most
 *	    path->seg_pages pages, cut as dms_tile_seg() does; makes them visible to the
 *	    device; fills addr and rkey of the key.  Ordered before later sends.  No
 *	    answer of its own; a failure kills the path
 * @revoke: a key -> dms_path_revoke_done()
 * @flush_landing: bytes that landed become visible to the CPU; process context
 * @grow: posts so many receives more, by a work of its own -> dms_path_grown(), unless
 *	  the path ends before
 * @map_pool: makes a pool usable on this path's device; may sleep.  Asked for without a
 *	  lock, so that it may be that of an earlier carrier: dms_path_map_pool() in all
 * @fence: ends it all: after it returns nothing of the peer reaches our memory,
 *	   no callback runs or will run, and every send, read and revoke was
 *	   answered.  Process context, may sleep; never called from a completion
 *	   or an event handler
 * @free: frees what the transport has of the path; after the fence
 *
 * send, read, expose, revoke and grow are called with path->lock held and do not
 * sleep.  Each of the first four that returned 0 is answered by exactly one dms_path_*_done()
 * call, from process context, without path->lock; also when the path dies (by
 * the fence at the latest).  An error means that nothing was started; the path
 * is then killed by the caller.
 */
struct dms_transport_ops {
	const char *name;
	bool tcp;
	int (*send)(struct dms_path *path, struct dms_txpkt *pkt);
	int (*read)(struct dms_path *path, struct dms_read *rd);
	int (*expose)(struct dms_path *path, struct dms_key *key,
		      struct dms_pool *pool, const struct dms_tile *tile,
		      u32 at, u32 len);
	int (*revoke)(struct dms_path *path, struct dms_key *key);
	void (*flush_landing)(struct dms_path *path, struct dms_landing *l,
			      u32 at, u32 len);
	void (*grow)(struct dms_path *path, u32 n);
	int (*map_pool)(struct dms_path *path, struct dms_pool *pool);
	void (*fence)(struct dms_path *path);
	void (*free)(struct dms_path *path);
};

#endif /* DMS_TRANSPORT_H */
