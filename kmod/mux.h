/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Many streams over one path: which is served next, and how their frames are
 * packed into packets.
 */
#ifndef DMS_MUX_H
#define DMS_MUX_H

#include <linux/types.h>

#include "core/wire.h"

struct dms_path;
struct dms_pool;
struct dms_req;
struct dms_stream;
struct dms_txpkt;
struct dms_write;

/*
 * Bytes of a stream's turn, for weight 1, are two to the power of this: no more than 16
 * short messages, which is what a stream can have out (DMS_SMALL_CREDITS).
 */
#define DMS_TURN_ORDER		12
/* Frames of one packet. */
#define DMS_PKT_FRAMES		64
/* Of a txpkt's buffer: headers first, then the bytes that were copied. */
#define DMS_PKT_HEAD		(sizeof(struct dms_wire_pkt) + \
				 DMS_PKT_FRAMES * sizeof(struct dms_wire_frame))
#define DMS_PKT_BUF		8192
#define DMS_COPY_AREA		(DMS_PKT_BUF - DMS_PKT_HEAD)
/* Payload up to this size is copied into the packet instead of gathered. */
#define DMS_COPY_MAX		256

enum dms_served {
	DMS_SERVED,		/* has nothing more to say now */
	DMS_SERVED_MORE,	/* its turn is over */
	DMS_SERVED_WINDOW,	/* no data now: the send window or the path's rate says so */
	DMS_SERVED_STALLED,	/* no packet to be had: credits or packets are out */
};

/* The packet that is being filled.  path->lock is held as long as it lives. */
struct dms_build {
	struct dms_path		*path;
	struct dms_txpkt	*pkt;
	u32			frames;
	u32			msgs;		/* DATA frames among them */
	u32			acks;		/* UPDATE frames among them */
	u32			body;		/* bytes of bodies so far */
	u32			copied;		/* bytes of the copy area in use */
	bool			failed;		/* the transport refused: the path dies */
};

/*
 * Room for one frame with @body bytes in @sges pieces; sends the packet so far
 * and opens another when needed.  False: stalled, or failed.
 */
u32 dms_build_pieces_max(const struct dms_path *path);
bool dms_build_room(struct dms_build *b, u32 body, u32 sges);
/* After dms_build_room(): */
void dms_build_frame(struct dms_build *b, const struct dms_frame *f);
/* @len bytes of the body to copy to; NULL when the copy area is full */
void *dms_build_copy(struct dms_build *b, u32 len);
/* The body's bytes gathered from the request's pool; it is pinned until the send is done. */
int dms_build_gather(struct dms_build *b, struct dms_req *req);
/* WRITEs of one message, of dms_path_get_writes(): they leave ahead of the packet. */
void dms_build_writes(struct dms_build *b, struct dms_write *w, struct dms_req *req);
/* Window bytes that the packet gives back when it is done. */
void dms_build_charge(struct dms_build *b, u64 charge);

/* It wants to send.  True: it may at once; else it waits for its turn.  path->lock is held. */
bool dms_mux_begin(struct dms_path *path, struct dms_stream *s, bool idle);
void dms_mux_wait(struct dms_path *path, struct dms_stream *s, bool again);
/* Puts the stream at the end of its path's ready list, once.  Any lock may be held. */
void dms_mux_ready(struct dms_stream *stream);
/* Its acknowledgement goes with the path's next packet, or when ack_work finds it late. */
void dms_mux_put_off(struct dms_stream *stream);
/* Those that are late are ready; path->lock held, and dms_mux_run() follows. */
void dms_mux_acks_late(struct dms_path *path);
/* Serves the ready streams until nothing is left or nothing can go out; path->lock held. */
void dms_mux_run(struct dms_path *path);

#endif /* DMS_MUX_H */
