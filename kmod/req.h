/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request: an accepted submission until its last completion.  A ring has a
 * fixed set of them, so that submitting allocates nothing.
 *
 * It completes exactly once (a split one: result, then notification); it holds
 * its stream, which has the ring, and a transfer on its pool until then.
 */
#ifndef DMS_REQ_H
#define DMS_REQ_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/dmastream.h>

#include "core/seg.h"
#include "core/tile.h"
#include "group.h"

struct dms_ring;
struct dms_stream;
struct dms_pool;

/* in dms_req.flags: it is to be taken back, and is on the wire; none of DMASTREAM_SQE_* */
#define DMS_REQ_SKIP	0x80

struct dms_req {
	/* ring->req_free, the submitter's, or a list of the stream (stream->lock) */
	struct list_head	node;
	struct dms_ring		*ring;
	struct dms_stream	*stream;	/* reference, NULL for NOP */
	struct dms_pool		*pool;		/* transfer held, NULL for an empty message */
	u64			user_data;
	u64			tag;
	u32			len;		/* bytes in all */
	u8			op;
	u8			flags;		/* DMASTREAM_SQE_*, DMS_REQ_SKIP */
	u8			nr_elem;
	u8			slots;		/* of the CQ that it still has reserved */
	bool			told;		/* result was posted with MORE (split); ring->cq_lock */
	int			told_result;	/* likewise */
	u32			handle;		/* of the stream, as the submission named it */
	union {				/* which: DMASTREAM_SQE_TILE in flags */
		struct dms_elem	elem[DMASTREAM_VEC_MAX];
		struct dms_tile	tile;	/* with gaps between its rows; else it is a range */
	};

	/* -- the stream's, stream->lock; keys also path->lock -- */
	struct list_head	rts_node;	/* stream->rtsq: announced, not all pulled */
	u32			seq;
	int			result;
	u32			keyed;		/* bytes for which a key went out */
	u32			done;		/* bytes that the peer pulled */
	u16			gen;		/* HOLDs seen */
	u8			wire;		/* packets in flight that gather from it */
	bool			announced;	/* RTS is out */
	bool			acked;
	bool			held;		/* the peer said HOLD */
	struct list_head	keys;		/* struct dms_key: out or being revoked */
	struct dms_landing	landing;	/* RECV: its buffer */
};

/* From byte @at of the message to the end of its element or row; false when it is not inside. */
static inline bool dms_req_at(const struct dms_req *req, u32 at, struct dms_elem *piece)
{
	if (req->flags & DMASTREAM_SQE_TILE)
		return dms_tile_at(&req->tile, at, piece);
	return dms_elem_at(req->elem, req->nr_elem, at, piece);
}

/*
 * The last completion: @result as in struct dmastream_cqe, @cqe_flags besides
 * the operation, @seq of the message, @tag (RECV).  With MORE told before, this
 * is the NOTIFY (result of the first is repeated).  Silent success posts
 * nothing.  Drops stream and pool.  Process context; stream->lock may be
 * held by a caller that has a reference of its own on the stream (and so on its
 * ring); it does not sleep.
 */
void dms_req_complete(struct dms_req *req, int result, u32 cqe_flags, u32 seq, u64 tag);
/* Several SENDs of one stream, of which the caller has a reference: result and seq are theirs. */
void dms_reqs_complete(struct list_head *reqs);
/* Split SEND: tells the result now, the buffer follows.  As above; stream->lock is held. */
void dms_req_tell(struct dms_req *req, int result, u32 seq);

#endif /* DMS_REQ_H */
