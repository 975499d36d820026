/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of a stream, the multiplexer, the path and the protocol
 * handlers ask of each other.  Not for the layers above or below.
 *
 * Functions marked [lock] are called with stream->lock held, those marked
 * [path] with path->lock held.
 */
#ifndef DMS_STREAM_IMPL_H
#define DMS_STREAM_IMPL_H

#include "core/wire.h"
#include "mux.h"
#include "path.h"
#include "stream.h"

struct dms_build;
struct dms_ibdev;
struct dms_key;
struct dms_landing;
struct dms_pool;
struct dms_write;

/* stream.c */
struct dms_stream *dms_stream_alloc(gfp_t gfp);
/* The only function that changes the state. [lock] */
bool dms_stream_move(struct dms_stream *s, enum dms_stream_state to);
int dms_stream_attach(struct dms_stream *s, struct dms_ctx *ctx,
		      const struct dms_stream_cfg *cfg);
void dms_stream_detach(struct dms_stream *s);	/* no lock */
enum dms_served dms_stream_serve(struct dms_stream *s, struct dms_build *b); /* [path] */
enum dms_served dms_stream_turn(struct dms_stream *s, struct dms_build *b); /* [path] */
/* Ready, and a worker pumps the path; any lock. */
void dms_stream_kick(struct dms_stream *s);
/* The same after frames came, if it is needed. */
void dms_stream_heard(struct dms_stream *s);

/* stream_ctl.c */
void dms_ctl_init(struct dms_stream *s);
void dms_ctl_work(struct dms_stream *s);	/* no lock; one at a time */
enum dms_served dms_ctl_open_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
enum dms_served dms_ctl_end_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
void dms_ctl_set_error(struct dms_stream *s, u32 err_class, u32 err_detail); /* [lock] */
void dms_ctl_opened(struct dms_stream *s, int err);			/* [lock] */
void dms_ctl_take_connected(struct dms_stream *s, u32 peer_sid);	/* [lock] */
void dms_ctl_answered(struct dms_path *path);				/* no lock */
void dms_ctl_abort(struct dms_stream *s, u32 err_class, u32 err_detail); /* [lock] */
void dms_ctl_check_end(struct dms_stream *s);				/* [lock] */
/* stream_ctl_rx.c */
enum dms_rule dms_ctl_connected(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_ctl_refused(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_ctl_accept(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_ctl_reset(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_ctl_reset_ack(struct dms_stream *s, const struct dms_frame *f);
/* Puts the process's side on; the stream is in no backlog any more.  No lock. */
int dms_ctl_do_accept(struct dms_stream *s, struct dms_ctx *ctx,
		      const struct dms_stream_cfg *cfg,
		      const struct dmastream_cqe *cqe, u32 *handle);
/* Ends a stream that nobody accepted; no lock. */
void dms_ctl_refuse(struct dms_stream *s, u32 reason);

/* stream_tx.c */
int dms_tx_take(struct dms_stream *s, struct dms_req *req);		/* [lock] */
enum dms_served dms_tx_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
enum dms_served dms_tx_turn(struct dms_stream *s, struct dms_build *b);	/* [path][lock] */
void dms_tx_revoke(struct dms_stream *s, struct dms_build *b);		/* [path][lock] */
void dms_tx_peer(struct dms_stream *s, u32 flags, u32 small);		/* [lock] */
enum dms_rule dms_tx_done(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_tx_hold(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_tx_pull(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_tx_update(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_tx_nack(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_tx_recall(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_tx_ack(struct dms_stream *s, u32 seq);		/* [lock] */
/* Ends a request if nothing can touch its buffer any more. [lock] */
void dms_tx_try_complete(struct dms_stream *s, struct dms_req *req);
void dms_tx_requeue(struct dms_stream *s, struct dms_req *req);		/* [lock] */
/* Sends that did not leave end with @err, not delivered. [lock] */
void dms_tx_drop_queued(struct dms_stream *s, int err);
/* The peer says that it delivered up to @seq and will deliver no more. [lock] */
enum dms_rule dms_tx_settle(struct dms_stream *s, u32 seq);
/* The path is fenced: what is not acknowledged ends as unknown. [lock] */
void dms_tx_lost(struct dms_stream *s, int unsent, int unknown);
bool dms_tx_all_acked(const struct dms_stream *s);			/* [lock] */
int dms_tx_cancel(struct dms_stream *s, u64 user_data);			/* stream_skip.c */
/* From the path: a packet that gathers from it is out no more; a key is free. */
void dms_stream_wire_done(struct dms_req *req);
void dms_stream_key_free(struct dms_key *key);

/* stream_pull.c */
int dms_pull_init(void);
void dms_pull_exit(void);
struct dms_pull *dms_pull_alloc(gfp_t gfp);
void dms_pull_free(struct dms_pull *p);
bool dms_pull_begin(struct dms_stream *s);				/* [lock] */
void dms_pull_idle(struct dms_stream *s);				/* [lock] */
void dms_pull_next(struct dms_stream *s);				/* [lock] */
void dms_pull_serve(struct dms_stream *s, struct dms_build *b);		/* [path][lock] */

/* READs of the stream that are in flight. [lock] */
static inline u32 dms_pull_reads(const struct dms_stream *s)
{
	return s->pull ? s->pull->reads : 0;
}

static inline bool dms_rx_posted(const struct dms_stream *s)
{
	return s->flags & DMASTREAM_STREAM_POSTED;
}

/* stream_push.c */
struct dms_push *dms_push_alloc(struct dms_stream *s, gfp_t gfp);
void dms_push_free(struct dms_push *p);
u32 dms_push_flag(const struct dms_stream *s, const struct dms_path *path);
/* Are the flags of a CONNECT or ACCEPT what this peer may say? */
static inline bool dms_push_flags_ok(const struct dms_path *path, u8 flags)
{
	return !(flags & DMS_FF_PUSH) || (path->pushes && flags & DMS_FF_POSTED);
}

bool dms_push_busy(const struct dms_stream *s);				/* [lock] */
int dms_push_used(struct dms_stream *s, u32 seq, u32 len);		/* [lock] */
void dms_push_passed(struct dms_stream *s, u32 seq, bool announced);	/* [lock] */
int dms_push_refused(struct dms_stream *s, const struct dms_frame *f);	/* [lock] */
void dms_push_release(struct dms_stream *s);				/* [lock] */
void dms_push_revoke(struct dms_stream *s);				/* [lock] */
int dms_push_drop(struct dms_stream *s, int err);			/* [lock] */
bool dms_push_eos_waits(struct dms_stream *s);				/* [lock] */
void dms_push_lost(struct dms_stream *s);				/* [lock] */
int dms_push_end(struct dms_stream *s, struct dms_path *path);		/* [path][lock] */
enum dms_served dms_push_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
struct dms_write *dms_push_writes(struct dms_stream *s, struct dms_path *path,
				  const struct dms_req *req);		/* [path][lock] */
enum dms_rule dms_push_grant(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_push_revoke_rx(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_push_revoked(struct dms_stream *s, const struct dms_frame *f);
/* From the path: a key is free; is something granted, or too long? [path] */
void dms_stream_grant_free(struct dms_key *key);
bool dms_stream_grants_idle(struct dms_stream *s, unsigned long idle);

/* stream_rx.c */
bool dms_rx_hears(const struct dms_stream *s, enum dms_rule *rule);	/* [lock] */
/*
 * Handlers of frames (here, above and in stream_ctl.c) are called by proto.c with no
 * lock held and a reference of its own, and it kicks the stream afterwards.
 */
int dms_rx_take(struct dms_stream *s, struct dms_req *req);		/* [lock] */
enum dms_served dms_rx_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
enum dms_served dms_rx_refuse_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
enum dms_rule dms_rx_data(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_rx_rts(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_rx_pushed(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_rx_key(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_rx_fin(struct dms_stream *s, const struct dms_frame *f);
void dms_rx_run_end(struct dms_stream *s);
void dms_rx_deliver(struct dms_stream *s);				/* [lock] */
void dms_rx_replenish(struct dms_stream *s);				/* [lock] */
void dms_rx_recall(struct dms_stream *s);				/* [lock] */
enum dms_rule dms_rx_return(struct dms_stream *s, const struct dms_frame *f);
/* Gives back whatever no READ is writing to; posted receives end with @err. [lock] */
void dms_rx_drop(struct dms_stream *s, int err);
void dms_rx_eos(struct dms_stream *s, int result);			/* [lock] */
void dms_rx_large_ready(struct dms_stream *s);				/* [lock] */
void dms_stream_read_done(struct dms_stream *s, struct dms_landing *l,
			  u32 len, int status);
void dms_stream_hold_due(struct dms_stream *s);				/* [path] */

/* stream_skip.c */
void dms_skip_unsent(struct dms_stream *s, struct dms_req *req);	/* [lock] */
enum dms_served dms_skip_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
int dms_skip_late(struct dms_stream *s, unsigned long limit);
void dms_skip_decide(struct dms_stream *s);				/* [lock] */
bool dms_skip_put(struct dms_stream *s, struct dms_build *b);		/* [path][lock] */
void dms_skip_suspend(struct dms_stream *s);				/* [lock] */
enum dms_rule dms_skip_rx(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_skip_skipped(struct dms_stream *s, const struct dms_frame *f);

/* stream_resume.c */
u32 dms_stream_suspend(struct dms_stream *s, u64 *progress);		/* no lock */
void dms_stream_forget_resume(struct dms_stream *s);			/* no lock */
void dms_stream_blame(struct dms_stream *s, u8 status);			/* any lock */
struct dms_pool *dms_stream_unmapped(struct dms_stream *s, struct dms_ibdev *ibdev); /* [lock] */
bool dms_stream_awaits(const struct dms_stream *s);
enum dms_rule dms_stream_not_resumed(struct dms_stream *s);		/* no lock */
enum dms_served dms_resume_serve(struct dms_stream *s, struct dms_build *b); /* [path][lock] */
enum dms_served dms_resume_nack_serve(struct dms_stream *s, struct dms_build *b); /* likewise */
enum dms_rule dms_resume_connect(struct dms_stream *s);
enum dms_rule dms_resume_rx(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_resume_reset_done(struct dms_stream *s, const struct dms_frame *f);
enum dms_rule dms_resume_nack_ack(struct dms_stream *s, const struct dms_frame *f);

/* stream.c, for stream_ctl.c and listener.c */
void dms_stream_set_peer(struct dms_stream *s, const struct dmastream_addr *a);
/* -errno that tells an error's class to a process */
int dms_ctl_errno(u32 err_class, u32 err_detail);
void dms_stream_peer(const struct dms_stream *s, struct dmastream_addr *addr);

#endif /* DMS_STREAM_IMPL_H */
