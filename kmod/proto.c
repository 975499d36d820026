// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames that arrived on a path.
 *
 * Invariant: a handler frees its receive slot without waiting for memory,
 * keys, completion slots or send-queue space.  It notes what is owed in the
 * stream, and the multiplexer sends that when the path can.
 */
#include "proto.h"

#include <linux/slab.h>

#include "listener.h"
#include "node.h"
#include "path.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

typedef enum dms_rule (*dms_handler)(struct dms_stream *s, const struct dms_frame *f);

static const dms_handler handlers[DMS_F_MAX] = {
	[DMS_F_CONNECTED]	= dms_ctl_connected,
	[DMS_F_REFUSED]		= dms_ctl_refused,
	[DMS_F_ACCEPT]		= dms_ctl_accept,
	[DMS_F_DATA]		= dms_rx_data,
	[DMS_F_RTS]		= dms_rx_rts,
	[DMS_F_KEY]		= dms_rx_key,
	[DMS_F_DONE]		= dms_tx_done,
	[DMS_F_HOLD]		= dms_tx_hold,
	[DMS_F_PULL]		= dms_tx_pull,
	[DMS_F_UPDATE]		= dms_tx_update,
	[DMS_F_NACK]		= dms_tx_nack,
	[DMS_F_FIN]		= dms_rx_fin,
	[DMS_F_RESET]		= dms_ctl_reset,
	[DMS_F_RESET_ACK]	= dms_ctl_reset_ack,
	[DMS_F_RECALL]		= dms_tx_recall,
	[DMS_F_RETURN]		= dms_rx_return,
	[DMS_F_GRANT]		= dms_push_grant,
	[DMS_F_PUSHED]		= dms_rx_pushed,
	[DMS_F_REVOKE]		= dms_push_revoke_rx,
	[DMS_F_REVOKED]		= dms_push_revoked,
	[DMS_F_RESUME]		= dms_resume_rx,
	[DMS_F_RESET_DONE]	= dms_resume_reset_done,
	[DMS_F_NACK_ACK]	= dms_resume_nack_ack,
	[DMS_F_SKIP]		= dms_skip_rx,
	[DMS_F_SKIPPED]		= dms_skip_skipped,
};

/* The number of these is bounded by what a peer may have without an answer. */
static enum dms_rule refuse(struct dms_path *path, u32 peer_sid, u32 reason)
{
	enum dms_rule rule = DMS_RULE_NONE;

	dms_stat_refused(reason);
	spin_lock(&path->lock);
	if (path->nr_refusals == DMS_CONNECTS_MAX) {
		rule = DMS_RULE_CONNECT;
	} else {
		struct dms_refusal *r = &path->refusal[path->nr_refusals++];

		r->stream = peer_sid;
		r->reason = reason;
		r->detail = 0;
	}
	spin_unlock(&path->lock);
	dms_path_kick(path);
	return rule;
}

/* A stream for the backlog; NULL: no memory now. */
static struct dms_stream *incoming(struct dms_path *path, const struct dms_frame *f,
				   struct dms_listener *l)
{
	struct dms_stream *s = dms_stream_alloc(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);

	if (!s)
		return NULL;
	dms_listener_get(l);		/* put when the stream is freed */
	s->listener = l;
	s->service = l->service;
	memcpy(&s->peer, &path->session->remote, sizeof(s->peer));
	s->peer_sid = f->a;
	s->state = DMS_STREAM_BACKLOG;
	s->handle_gone = true;		/* until it is accepted */
	s->ctl = DMS_CTL_CONNECTED;
	/* without memory what the peer grants is not used */
	if (f->flags & DMS_FF_PUSH)
		s->push = dms_push_alloc(s, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	spin_lock(&s->lock);
	dms_tx_peer(s, f->flags, f->b);
	spin_unlock(&s->lock);
	return s;
}

static enum dms_rule connect(struct dms_path *path, const struct dms_frame *f)
{
	char service[DMS_WIRE_SERVICE_MAX];
	struct dms_listener *l;
	struct dms_stream *s;
	enum dms_rule rule;
	u32 reason;

	if (f->stream || !f->a || f->len != sizeof(service))
		return DMS_RULE_CONNECT;
	if (!dms_push_flags_ok(path, f->flags))
		return DMS_RULE_FLAGS;
	memcpy(service, f->body, sizeof(service));
	if (!dms_wire_service_ok(service))
		return DMS_RULE_CONNECT;
	s = dms_path_connected_before(path, f->a);
	if (s) {
		rule = dms_resume_connect(s);
		dms_stream_put(s);	/* of dms_path_connected_before() */
		return rule;
	}

	l = dms_listener_find(path->session->node, service);
	if (!l)
		return refuse(path, f->a, DMASTREAM_REFUSED_SERVICE);
	s = incoming(path, f, l);
	if (!s) {
		reason = DMASTREAM_REFUSED_MEMORY;
		goto out;
	}
	if (dms_session_bind_on(path->session, s, path)) {
		reason = DMASTREAM_REFUSED_LIMIT;
		goto put;
	}
	reason = dms_listener_push(l, s);
	if (reason) {
		dms_session_unbind(path->session, s);
	} else {
		dms_mux_ready(s);
		dms_path_kick(path);
	}
put:
	dms_stream_put(s);		/* of dms_stream_alloc() */
out:
	dms_listener_put(l);
	return reason ? refuse(path, f->a, reason) : DMS_RULE_NONE;
}

/*
 * Delivers what the frames so far brought.  Not later than a frame of another kind:
 * an end that follows data must find it delivered.
 */
static void run_deliver(struct dms_proto_run *run)
{
	if (!run->data)
		return;
	run->data = false;
	dms_rx_run_end(run->stream);
}

/**
 * dms_proto_end() - no frame follows for now
 * @run: as begun, or after frames; as begun afterwards
 *
 * Context: process, no lock held.
 */
void dms_proto_end(struct dms_proto_run *run)
{
	struct dms_stream *s = run->stream;

	if (!s)
		return;
	run_deliver(run);
	run->stream = NULL;
	dms_stream_heard(s);
	dms_stream_put(s);		/* of dms_session_stream() */
}

/*
 * The stream that a frame is for, whose reference is the run's.  A frame for an
 * id that is not in use, or is on another path, breaks the protocol: an id is
 * free only after RESET and RESET_ACK, and nothing follows those.
 */
static struct dms_stream *run_stream(struct dms_proto_run *run, u32 id)
{
	struct dms_stream *s = run->stream;

	if (s && s->sid == id)
		return s;
	dms_proto_end(run);
	s = dms_session_stream(run->path->session, id);
	if (s && s->path != run->path) {
		dms_stream_put(s);
		s = NULL;
	}
	run->stream = s;
	return s;
}

static bool feature_has(const struct dms_path *path, u8 type)
{
	if (type >= DMS_F_SKIP)
		return type < DMS_F_MAX && path->skips;
	if (type >= DMS_F_RESUME)
		return path->resumes;
	return path->pushes;
}

/* Until the peer has said what it has, nothing else is heard of a stream that resumes. */
static bool resume_hears(const struct dms_stream *s, u8 type)
{
	if (likely(!(READ_ONCE(s->resume) & DMS_RESUME_AWAITED)))
		return true;
	return type == DMS_F_RESUME || type == DMS_F_NACK || type == DMS_F_SKIPPED ||
	       type == DMS_F_CONNECTED || type == DMS_F_REFUSED;
}

static enum dms_rule resume_end(struct dms_proto_run *run)
{
	dms_proto_end(run);
	return dms_path_resume_end(run->path);
}

/**
 * dms_proto_frame() - handle one frame
 * @run: of the packet; to be ended with dms_proto_end()
 * @f: parsed, lengths checked
 *
 * Frames that follow each other are mostly for one stream: it is looked up, its
 * messages are delivered, and it is scheduled once for all of them.
 *
 * Context: process, no lock held.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_proto_frame(struct dms_proto_run *run, const struct dms_frame *f)
{
	struct dms_stream *s;

	if (f->type == DMS_F_NOP)
		return DMS_RULE_NONE;
	if (f->type == DMS_F_CONNECT)
		return connect(run->path, f);
	if (f->type == DMS_F_SLOT_RECALL)
		return dms_path_recalled(run->path, f->a);
	/* the last ones are of features */
	if (f->type >= DMS_F_GRANT && !feature_has(run->path, f->type))
		return DMS_RULE_TYPE;
	if (f->type == DMS_F_RESUME_END)
		return resume_end(run);
	if (!handlers[f->type])
		return DMS_RULE_TYPE;
	s = run_stream(run, f->stream);
	/* a stream that is over here, which RESUME_END tells the peer */
	if (!s && (f->type == DMS_F_RESUME || f->type == DMS_F_NACK ||
		   f->type == DMS_F_SKIPPED) && dms_path_resuming(run->path))
		return DMS_RULE_NONE;
	if (!s)
		return DMS_RULE_STREAM;
	if (unlikely(!resume_hears(s, f->type)))
		return DMS_RULE_STATE;
	if (f->type == DMS_F_DATA)
		run->data = true;
	else
		run_deliver(run);
	return handlers[f->type](s, f);
}
