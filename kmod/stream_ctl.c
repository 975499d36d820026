// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening and ending of streams.
 *
 * An id on the wire is free again when both sides know that no frame for it
 * follows.  RESET and RESET_ACK do that, whatever the state:
 *
 *   A                                        B
 *   stops READs, waits for those in flight
 *   RESET(seq delivered)  ------------->     takes its keys back, all its sends
 *                                            are settled; waits for its READs
 *   keys back, sends settled  <--------      RESET_ACK(seq delivered); id free
 *   id free
 *
 * When two RESETs cross, each side answers the other's and waits for the
 * answer to its own.  An orderly CLOSE is the same with class NONE, after all
 * that was accepted has been acknowledged.
 *
 * Where paths get new carriers RESET_ACK could be lost with the old one.  Then it is
 * answered by RESET_DONE, and B keeps its id until that has come: see stream_resume.c.
 *
 * When the path is lost (fenced) there is nothing to agree on: the ids go
 * with the session.
 */
#include <linux/completion.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "ctx.h"
#include "listener.h"
#include "node.h"
#include "path.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "wq.h"

static void ctl_timer(struct timer_list *timer);

void dms_ctl_init(struct dms_stream *s)
{
	timer_setup(&s->timer, ctl_timer, 0);
}

/* Any context but hard interrupt; any lock may be held. */
static void ctl_queue(struct dms_stream *s)
{
	dms_stream_get(s);		/* put in stream_work() */
	if (!queue_work(dms_wq, &s->work))
		dms_stream_put(s);
}

/* The first one is what the process is told. [lock] */
void dms_ctl_set_error(struct dms_stream *s, u32 err_class, u32 err_detail)
{
	if (s->err_class)
		return;
	s->err_class = err_class;
	s->err_detail = err_detail;
}

/* The timer holds a reference while it is queued, and hands it on to the work. [lock] */
static void ctl_arm(struct dms_stream *s, u32 ms)
{
	if (ms == DMASTREAM_TIMEOUT_NONE)
		return;
	s->armed = true;
	dms_stream_get(s);		/* put by the work, or in ctl_disarm() */
	if (mod_timer(&s->timer, jiffies + msecs_to_jiffies(ms)))
		dms_stream_put(s);	/* it was queued, with a reference */
}

/*
 * RESET, or a CONNECT that was given up, is answered by the peer's module, not by
 * a process: one that is well answers within a round trip.  One that does not
 * would keep our ids, memory and keys; then the path goes, and its fence makes
 * them safe.
 */
static void ctl_arm_answer(struct dms_stream *s)
{
	u32 lost = READ_ONCE(dms_param_peer_lost_ms);

	if (lost)
		ctl_arm(s, min_t(u64, 2ULL * lost, U32_MAX - 1));
}

static void ctl_disarm(struct dms_stream *s)
{
	s->armed = false;
	if (timer_delete(&s->timer))
		dms_stream_put(s);
}

/**
 * dms_ctl_opened() - CONNECT is over
 * @s: stream->lock is held; only the first call counts
 * @err: 0 or -errno
 */
void dms_ctl_opened(struct dms_stream *s, int err)
{
	struct dmastream_cqe cqe = {
		.user_data = s->open_user_data,
		.result = err ? err : (int)s->handle,
		.flags = DMASTREAM_OP_CONNECT << DMASTREAM_CQE_OP_SHIFT,
		.stream = s->handle,
	};

	if (s->open_done)
		return;
	s->open_done = true;
	s->open_error = err;
	ctl_disarm(s);
	if (s->open_async)
		dms_ring_post_reserved(s->ring, &cqe);
	if (!err)
		dms_stat_inc(DMS_STAT_STREAMS_OPENED);
	if (s->opened)
		complete(s->opened);
}

/* CONNECT is given up: now, when nothing is on the wire, else with its answer. */
static void ctl_give_up(struct dms_stream *s, int err)
{
	dms_ctl_opened(s, err);
	s->shut = true;
	if (s->state == DMS_STREAM_CONNECTING && !(s->ctl & DMS_CTL_CONNECT)) {
		s->abandoned = true;
		ctl_arm_answer(s);
		return;
	}
	s->ctl = 0;
	s->lost = true;
	dms_stream_move(s, DMS_STREAM_BROKEN);
}

/**
 * dms_ctl_abort() - end a stream without delivering what is not delivered
 * @s: stream->lock is held; any state
 * @err_class: for the process
 * @err_detail: likewise
 *
 * The caller has the stream served afterwards.
 */
void dms_ctl_abort(struct dms_stream *s, u32 err_class, u32 err_detail)
{
	switch (s->state) {
	case DMS_STREAM_WAITING:
	case DMS_STREAM_CONNECTING:
		dms_ctl_set_error(s, err_class, err_detail);
		ctl_give_up(s, dms_ctl_errno(err_class, err_detail));
		break;
	case DMS_STREAM_BACKLOG:
	case DMS_STREAM_OPEN:
	case DMS_STREAM_CLOSING:
		dms_ctl_set_error(s, err_class, err_detail);
		s->shut = true;
		s->reset_class = DMASTREAM_ERR_PEER;
		s->reset_detail = ECONNABORTED;
		dms_stream_move(s, DMS_STREAM_DRAINING);
		/* a NACK is still owed: what follows tells that its message is over */
		s->ctl &= DMS_CTL_CONNECTED | DMS_CTL_LAST;
		dms_tx_drop_queued(s, -ECANCELED);
		dms_rx_drop(s, -ECANCELED);
		dms_rx_eos(s, dms_ctl_errno(err_class, err_detail));
		break;
	default:
		break;
	}
	dms_ctl_check_end(s);
}

static bool ctl_off_wire(const struct dms_stream *s)
{
	bool last = !s->path || !s->path->resumes;	/* RESET_ACK is the last word */

	if (s->lost)
		return true;
	if (s->reset_rx && !(s->reset_ack_tx && (last || s->reset_done_rx)))
		return false;
	if (s->reset_tx && !(s->reset_ack_rx && (last || s->reset_done_tx)))
		return false;
	return s->reset_rx || s->reset_tx;
}

/* RESET and RESET_ACK are owed only when no READ of ours is in flight. */
static void ctl_owe(struct dms_stream *s)
{
	u32 bit = 0;

	if (s->lost || dms_pull_reads(s))
		return;
	if (s->reset_rx && !s->reset_ack_tx)
		bit = DMS_CTL_RESET_ACK;
	else if (s->state == DMS_STREAM_DRAINING && !s->reset_rx && !s->reset_tx)
		bit = DMS_CTL_RESET;
	if (!bit || (s->ctl & bit))
		return;
	s->ctl |= bit;
	dms_mux_ready(s);
}

/**
 * dms_ctl_check_end() - take the steps towards the end that are due
 * @s: stream->lock is held; any state
 *
 * Called after whatever may have been waited for: an acknowledgement, the end
 * of a READ, of a packet, of a key, a frame that was sent.
 */
void dms_ctl_check_end(struct dms_stream *s)
{
	if (s->ended || s->state == DMS_STREAM_OPEN)
		return;
	if (s->state == DMS_STREAM_CLOSING && dms_tx_all_acked(s))
		dms_stream_move(s, DMS_STREAM_DRAINING);
	if (!dms_pull_reads(s) && s->state != DMS_STREAM_BACKLOG)
		dms_rx_drop(s, -ECANCELED);
	ctl_owe(s);
	if (!ctl_off_wire(s) || s->tx_queued || dms_pull_reads(s) || dms_push_busy(s))
		return;
	s->ended = true;
	ctl_queue(s);
}

/* The stream is off everything, its owner is told. */
static void ctl_final(struct dms_stream *s)
{
	struct dmastream_cqe cqe = {
		.user_data = s->close_user_data,
		.result = s->close_error,
		.flags = DMASTREAM_OP_CLOSE << DMASTREAM_CQE_OP_SHIFT,
		.stream = s->handle,
	};

	dms_stream_detach(s);
	if (s->close_async)
		dms_ring_post_reserved(s->ring, &cqe);
	dms_stat_inc(DMS_STAT_STREAMS_CLOSED);
	spin_lock(&s->lock);
	if (s->closed)
		complete(s->closed);
	spin_unlock(&s->lock);
}

/*
 * When the stream has ended, and again when its handle goes after that.
 */
static void ctl_end(struct dms_stream *s)
{
	bool final = false;

	if (!s->unbound && s->session) {
		s->unbound = true;
		dms_session_unbind(s->session, s);
	}
	dms_listener_remove(s);
	spin_lock(&s->lock);
	ctl_disarm(s);
	if (!s->handle_gone) {
		dms_stream_move(s, DMS_STREAM_BROKEN);
	} else if (!s->final) {
		final = true;
		s->final = true;
		if (s->undelivered && !s->close_error)
			s->close_error = -ECONNRESET;
		dms_stream_move(s, DMS_STREAM_DEAD);
	}
	spin_unlock(&s->lock);
	if (final)
		ctl_final(s);
}

/* In softirq context, where no lock of ours may be taken. */
static void ctl_timer(struct timer_list *timer)
{
	struct dms_stream *s = container_of(timer, struct dms_stream, timer);

	if (!queue_work(dms_wq, &s->work))
		dms_stream_put(s);	/* of ctl_arm(); queued already, with a reference */
}

static bool ctl_waits_for_answer(const struct dms_stream *s)
{
	if (s->ended || s->lost)
		return false;
	return (s->reset_tx && !s->reset_ack_rx) || (s->reset_said && !s->reset_done_rx) ||
	       (s->abandoned && s->state == DMS_STREAM_CONNECTING);
}

/*
 * The first time it may be the carrier that has lost something.  A peer that leaves the same
 * stream without an answer over another one is not well.
 */
static void ctl_unanswered(struct dms_stream *s)
{
	if (s->unanswered || !s->path->resumes) {
		dms_path_kill(s->path, DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
		if (s->path->resumes)
			dms_session_kill(s->session, DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
		return;
	}
	s->unanswered = true;
	ctl_arm_answer(s);
	dms_path_kill(s->path, DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
}

static void ctl_timed_out(struct dms_stream *s)
{
	spin_lock(&s->lock);
	/* not armed any more, or again since it fired */
	if (!s->armed || timer_pending(&s->timer)) {
		spin_unlock(&s->lock);
		return;
	}
	s->armed = false;
	if (ctl_waits_for_answer(s)) {
		/* while there is no carrier nobody can answer: it is said again, and waited for */
		if (s->resume || !dms_path_is_up_hint(s->path))
			ctl_arm_answer(s);
		else
			ctl_unanswered(s);
	} else if (!s->open_done && (s->state == DMS_STREAM_WAITING ||
			      s->state == DMS_STREAM_CONNECTING)) {
		dms_ctl_set_error(s, DMASTREAM_ERR_LOCAL, ETIMEDOUT);
		ctl_give_up(s, -ETIMEDOUT);
		dms_ctl_check_end(s);
	} else if (s->closing && !s->ended) {
		s->close_error = -ETIMEDOUT;
		dms_ctl_abort(s, DMASTREAM_ERR_LOCAL, ETIMEDOUT);
	}
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

/**
 * dms_ctl_work() - what was put off to a worker
 * @s: the caller has a reference; no lock held
 *
 * Does not run twice at once, so unbound needs no lock.
 */
void dms_ctl_work(struct dms_stream *s)
{
	ctl_timed_out(s);
	/* set before the work was queued for it */
	if (READ_ONCE(s->ended))
		ctl_end(s);
}

/* ---- frames that are owed ---- */

static u32 ctl_flags(const struct dms_stream *s, const struct dms_path *path)
{
	u32 flags = dms_push_flag(s, path);

	if (s->flags & DMASTREAM_STREAM_POSTED)
		flags |= DMS_FF_POSTED;
	if (!s->large)
		flags |= DMS_FF_NOLARGE;
	return flags;
}

static enum dms_served ctl_put_connect(struct dms_stream *s, struct dms_build *b)
{
	struct dms_path *path = b->path;
	struct dms_frame f = {
		.type = DMS_F_CONNECT,
		.flags = ctl_flags(s, path),
		.len = DMS_WIRE_SERVICE_MAX,
		.a = s->sid,
		.b = s->small ? s->small->buf_len : 0,
	};

	if (path->connects_out == DMS_CONNECTS_MAX) {
		dms_path_wait(path, &path->wait_connect, s);
		return DMS_SERVED;
	}
	if (!dms_build_room(b, f.len, 0))
		return DMS_SERVED_STALLED;
	dms_build_frame(b, &f);
	strscpy_pad(dms_build_copy(b, f.len), s->service, DMS_WIRE_SERVICE_MAX);
	path->connects_out++;
	s->ctl &= ~DMS_CTL_CONNECT;
	return DMS_SERVED;
}

static enum dms_served ctl_put(struct dms_stream *s, struct dms_build *b, u32 bit,
			       const struct dms_frame *f)
{
	if (!(s->ctl & bit))
		return DMS_SERVED;
	if (!dms_build_room(b, 0, 0))
		return DMS_SERVED_STALLED;
	dms_build_frame(b, f);
	s->ctl &= ~bit;
	return DMS_SERVED;
}

/**
 * dms_ctl_open_serve() - CONNECT, CONNECTED and ACCEPT
 * @s: path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_ctl_open_serve(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame connected = {
		.type = DMS_F_CONNECTED, .stream = s->peer_sid, .a = s->sid,
	};
	struct dms_frame accept = {
		.type = DMS_F_ACCEPT,
		.stream = s->peer_sid,
		.flags = ctl_flags(s, b->path),
		.b = s->small ? s->small->buf_len : 0,
	};
	enum dms_served served;

	if (s->ctl & DMS_CTL_CONNECT)
		return ctl_put_connect(s, b);
	served = ctl_put(s, b, DMS_CTL_CONNECTED, &connected);
	if (served != DMS_SERVED || !(s->ctl & DMS_CTL_ACCEPT))
		return served;
	accept.a = dms_land_rx_tell(&s->land_rx);
	return ctl_put(s, b, DMS_CTL_ACCEPT, &accept);
}

/**
 * dms_ctl_end_serve() - RESET, RESET_ACK and RESET_DONE; nothing follows them
 * @s: path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_ctl_end_serve(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame reset = {
		.type = DMS_F_RESET, .stream = s->peer_sid, .seq = s->rx_acked,
		.a = s->reset_class, .b = s->reset_detail,
	};
	struct dms_frame nack = {
		.type = DMS_F_NACK, .stream = s->peer_sid,
		.seq = s->nack_seq, .a = s->nack_errno,
	};
	struct dms_frame ack = {
		.type = DMS_F_RESET_ACK, .stream = s->peer_sid, .seq = s->rx_acked,
	};
	struct dms_frame done = { .type = DMS_F_RESET_DONE, .stream = s->peer_sid };

	if (s->ctl & (DMS_CTL_RESET | DMS_CTL_RESET_ACK) &&
	    (ctl_put(s, b, DMS_CTL_NACK, &nack) != DMS_SERVED || !dms_skip_put(s, b)))
		return DMS_SERVED_STALLED;
	if (s->ctl & DMS_CTL_RESET) {
		if (ctl_put(s, b, DMS_CTL_RESET, &reset) != DMS_SERVED)
			return DMS_SERVED_STALLED;
		s->reset_tx = true;
		ctl_arm_answer(s);
		dms_stat_inc(DMS_STAT_RESETS_TX);
		dms_stream_move(s, DMS_STREAM_RESETTING);
	}
	if (s->ctl & DMS_CTL_RESET_ACK) {
		if (ctl_put(s, b, DMS_CTL_RESET_ACK, &ack) != DMS_SERVED)
			return DMS_SERVED_STALLED;
		s->reset_ack_tx = true;
		if (s->path->resumes) {
			s->reset_said = true;
			ctl_arm_answer(s);
		}
		dms_ctl_check_end(s);
	}
	if (s->ctl & DMS_CTL_RESET_DONE) {
		if (ctl_put(s, b, DMS_CTL_RESET_DONE, &done) != DMS_SERVED)
			return DMS_SERVED_STALLED;
		s->reset_done_tx = true;
		dms_ctl_check_end(s);
	}
	return DMS_SERVED;
}

/* ---- what the session and the path tell ---- */

/**
 * dms_stream_path_up() - the stream has a path
 * @s: bound; no lock held
 *
 * Context: process, may sleep.
 */
void dms_stream_path_up(struct dms_stream *s)
{
	struct dms_path *path = s->path;
	int err = 0;

	if (s->large)
		err = path->ops->map_pool(path, s->large->pool);
	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_WAITING && !s->open_done) {
		if (err) {
			dms_ctl_set_error(s, DMASTREAM_ERR_LOCAL, -err);
			ctl_give_up(s, err);
			dms_ctl_check_end(s);
		} else {
			dms_stream_move(s, DMS_STREAM_CONNECTING);
			s->ctl |= DMS_CTL_CONNECT;
		}
	}
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

static void ctl_lost(struct dms_stream *s, u32 err_class, u32 err_detail)
{
	int err = dms_ctl_errno(err_class, err_detail);

	spin_lock(&s->lock);
	if (s->ended || s->lost)
		goto out;
	s->lost = true;
	dms_ctl_set_error(s, err_class, err_detail);
	s->shut = true;
	s->ctl = 0;
	dms_stream_move(s, DMS_STREAM_BROKEN);
	dms_tx_lost(s, -ENOTCONN, -ECONNRESET);
	dms_push_lost(s);
	if (s->eos_due && !s->eos_told && !list_empty(&s->rxq))
		s->eos_result = err;
	dms_rx_drop(s, err);
	dms_rx_eos(s, err);
	dms_ctl_opened(s, err);
	dms_ctl_check_end(s);
out:
	spin_unlock(&s->lock);
}

/**
 * dms_stream_path_lost() - the path is fenced
 * @s: was bound to it; no lock held
 * @err_class: why
 * @err_detail: likewise
 */
void dms_stream_path_lost(struct dms_stream *s, u32 err_class, u32 err_detail)
{
	ctl_lost(s, err_class, err_detail);
}

/**
 * dms_stream_session_lost() - there will be no path
 * @s: was waiting for one; no lock held
 * @err_class: why
 * @err_detail: likewise
 */
void dms_stream_session_lost(struct dms_stream *s, u32 err_class, u32 err_detail)
{
	ctl_lost(s, err_class, err_detail);
}

/* ---- what a process asks ---- */

/* When it ended while it was being bound, the work found nothing to unbind. */
static void ctl_bound(struct dms_stream *s)
{
	spin_lock(&s->lock);
	if (s->ended)
		ctl_queue(s);
	spin_unlock(&s->lock);
}

/* From here on the session, or the timer, leads to dms_ctl_opened(). */
static void ctl_dial(struct dms_stream *s, struct dms_ctx *ctx)
{
	struct sockaddr_storage peer = {};
	struct dms_session *session;
	u32 err_class = 0, err_detail = 0;
	int err;

	memcpy(&peer, &s->peer, sizeof(s->peer));
	session = dms_session_find_or_dial(ctx->node, &peer);
	if (IS_ERR(session)) {
		ctl_lost(s, DMASTREAM_ERR_SESSION, -PTR_ERR(session));
		return;
	}
	err = dms_session_bind(session, s, &err_class, &err_detail);
	if (err)
		ctl_lost(s, err_class ? err_class : DMASTREAM_ERR_SESSION,
			 err_class ? err_detail : -err);
	else if (READ_ONCE(s->path))
		dms_stream_path_up(s);
	ctl_bound(s);
	dms_session_put(session);	/* of dms_session_find_or_dial() */
}

static void ctl_cfg_put(const struct dms_stream_cfg *cfg)
{
	dms_ring_put(cfg->ring);
	if (cfg->small)
		dms_group_put(cfg->small);
	if (cfg->large)
		dms_group_put(cfg->large);
}

static struct dms_stream *ctl_new(struct dms_ctx *ctx, const struct dms_stream_cfg *cfg,
				  struct dmastream_connect *arg)
{
	struct dms_stream *s = dms_stream_alloc(GFP_KERNEL_ACCOUNT);
	bool async = arg->flags & DMASTREAM_OPEN_ASYNC;
	int err;

	if (!s)
		return ERR_PTR(-ENOMEM);
	dms_stream_set_peer(s, &arg->peer);
	err = -ENOMEM;
	s->service = kstrndup(arg->service, sizeof(arg->service) - 1, GFP_KERNEL_ACCOUNT);
	if (!s->service)
		goto put;
	err = dms_stream_attach(s, ctx, cfg);
	if (err)
		goto put;
	if (async) {
		err = dms_ring_reserve(s->ring, 1);
		if (err)
			goto detach;
		s->open_user_data = arg->user_data;
		s->open_async = true;
	}
	dms_stream_get(s);		/* the handle's */
	err = dms_ctx_add_stream(ctx, s, &s->handle);
	if (!err)
		return s;
	dms_stream_put(s);
	if (async)
		dms_ring_unreserve(s->ring, 1);
detach:
	dms_stream_detach(s);
put:
	dms_stream_put(s);
	return ERR_PTR(err);
}

/* The process gives its handle up before the stream was open. */
static void ctl_abandon(struct dms_stream *s, struct dms_ctx *ctx, int err)
{
	struct dms_stream *tabled = dms_ctx_del_stream(ctx, s->handle);

	spin_lock(&s->lock);
	if (!s->open_done) {
		dms_ctl_set_error(s, DMASTREAM_ERR_LOCAL, -err);
		ctl_give_up(s, err);
	}
	spin_unlock(&s->lock);
	if (tabled)	/* else the context has ended, and orphaned it */
		dms_stream_orphan(tabled);
}

/* -EINTR, or 0 when @at, which points to @done, or never did, has been completed. */
static int ctl_wait(struct dms_stream *s, struct completion **at, struct completion *done)
{
	int err = 0;

	if (READ_ONCE(*at) && wait_for_completion_interruptible(done))
		err = -EINTR;
	/* nobody reaches for our stack any more, nor will */
	spin_lock(&s->lock);
	*at = NULL;
	spin_unlock(&s->lock);
	return err;
}

/**
 * dms_stream_connect() - CONNECT
 * @ctx: owner
 * @cfg: its references are taken over when this succeeds
 * @arg: checked
 *
 * Context: process; waits up to arg->timeout_ms unless asynchronous.
 * Return: 0; -ECONNREFUSED, -ETIMEDOUT, -EINTR, what the network said, or
 * -ENOMEM, -ENOSPC, -ENODEV, -EAGAIN (no completion slot).
 */
int dms_stream_connect(struct dms_ctx *ctx, struct dms_stream_cfg *cfg,
		       struct dmastream_connect *arg)
{
	struct dms_stream *s = ctl_new(ctx, cfg, arg);
	bool async = arg->flags & DMASTREAM_OPEN_ASYNC;
	DECLARE_COMPLETION_ONSTACK(opened);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	spin_lock(&s->lock);
	if (!async && !s->open_done)
		s->opened = &opened;
	ctl_arm(s, arg->timeout_ms);
	spin_unlock(&s->lock);
	ctl_dial(s, ctx);
	arg->stream = s->handle;
	err = 0;
	if (!async) {
		err = ctl_wait(s, &s->opened, &opened) ?: s->open_error;
		if (err) {
			ctl_abandon(s, ctx, err);
			arg->stream = 0;
		}
		arg->err_class = s->err_class;
		arg->err_detail = s->err_detail;
	}
	if (!err)
		ctl_cfg_put(cfg);
	dms_stream_put(s);		/* of dms_stream_alloc() */
	return err;
}

static void ctl_post_accepted(struct dms_stream *s, const struct dmastream_cqe *cqe)
{
	struct dmastream_cqe accepted = *cqe;

	accepted.result = s->handle;
	accepted.stream = s->handle;
	dms_ring_post_reserved(s->ring, &accepted);
}

/**
 * dms_ctl_do_accept() - a process takes a stream of a backlog
 * @s: off the backlog; no lock held
 * @ctx: new owner
 * @cfg: stays the caller's
 * @cqe: of an asynchronous ACCEPT, with a slot reserved: posted when this
 *	 succeeds, before anything of the stream can follow it; else NULL
 * @handle: out
 *
 * Return: 0; -ECONNABORTED when the peer has ended it; or another error, and
 * then the caller refuses it.
 */
int dms_ctl_do_accept(struct dms_stream *s, struct dms_ctx *ctx,
		      const struct dms_stream_cfg *cfg,
		      const struct dmastream_cqe *cqe, u32 *handle)
{
	struct dms_path *path = s->path;
	struct dms_stream *tabled;
	int err;

	err = dms_stream_attach(s, ctx, cfg);
	if (err)
		return err;
	/* attached: a carrier that comes after this one maps it, dms_path_back() */
	if (cfg->large)
		err = path->ops->map_pool(path, cfg->large->pool);
	if (err) {
		dms_stream_detach(s);
		return err;
	}
	dms_stream_get(s);		/* the handle's */
	err = dms_ctx_add_stream(ctx, s, &s->handle);
	if (err) {
		dms_stream_put(s);
		/* ctl_final() may have run before it was attached. */
		dms_stream_detach(s);
		return err;
	}
	*handle = s->handle;

	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_BACKLOG) {
		dms_stream_move(s, DMS_STREAM_OPEN);
		s->handle_gone = false;
		s->open_done = true;
		s->ctl |= DMS_CTL_ACCEPT;
		dms_rx_replenish(s);
		if (cqe)
			ctl_post_accepted(s, cqe);
		dms_stat_inc(DMS_STAT_STREAMS_OPENED);
	} else {
		err = -ECONNABORTED;
	}
	spin_unlock(&s->lock);
	if (err) {
		tabled = dms_ctx_del_stream(ctx, s->handle);
		if (tabled)
			dms_stream_put(tabled);
		/* ctl_final() may have run before it was attached. */
		dms_stream_detach(s);
		return err;
	}
	dms_stream_kick(s);
	return 0;
}

/**
 * dms_ctl_refuse() - end a stream that nobody accepted
 * @s: off the backlog; no lock held
 * @reason: enum dmastream_refusal
 */
void dms_ctl_refuse(struct dms_stream *s, u32 reason)
{
	dms_stat_refused(reason);
	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_BACKLOG) {
		dms_ctl_abort(s, DMASTREAM_ERR_LOCAL, ECANCELED);
		s->reset_class = DMASTREAM_ERR_REFUSED;
		s->reset_detail = reason;
	}
	spin_unlock(&s->lock);
	dms_stream_kick(s);
}

/**
 * dms_stream_shutdown() - send no more
 * @s: any state
 *
 * Return: 0 (also when it was shut before), -ENOTCONN, -EPIPE.
 */
int dms_stream_shutdown(struct dms_stream *s)
{
	int err = 0;

	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_WAITING || s->state == DMS_STREAM_CONNECTING) {
		err = -ENOTCONN;
	} else if (s->state != DMS_STREAM_OPEN) {
		err = -EPIPE;
	} else if (!s->shut) {
		s->shut = true;
		s->ctl |= DMS_CTL_FIN;
	}
	spin_unlock(&s->lock);
	if (!err)
		dms_stream_kick(s);
	return err;
}

/* What CLOSE begins; stream->lock is held. */
static void ctl_begin_close(struct dms_stream *s, bool abort, u32 timeout_ms)
{
	s->handle_gone = true;
	s->closing = true;
	s->undelivered = false;
	if (s->ended) {
		/* the work ran, or runs, without knowing that the handle is gone */
		ctl_queue(s);
		return;
	}
	if (s->state != DMS_STREAM_OPEN || abort) {
		dms_ctl_abort(s, DMASTREAM_ERR_LOCAL, ECANCELED);
		return;
	}
	s->shut = true;
	dms_stream_move(s, DMS_STREAM_CLOSING);
	s->refusing = true;
	s->refuse_base = s->rx_acked;
	dms_push_revoke(s);
	dms_rx_drop(s, -ECANCELED);
	ctl_arm(s, timeout_ms);
	dms_ctl_check_end(s);
}

/**
 * dms_stream_close() - CLOSE
 * @s: off the handle table; its reference is dropped here
 * @arg: checked
 *
 * Context: process; waits unless asynchronous.
 * Return: 0 when all that was accepted was delivered, -ETIMEDOUT or
 * -ECONNRESET when not, -EINTR; -EAGAIN when there is no completion slot, and
 * then it ends as an orphan.
 */
int dms_stream_close(struct dms_stream *s, const struct dmastream_close *arg)
{
	bool async = arg->flags & DMASTREAM_CLOSE_ASYNC;
	DECLARE_COMPLETION_ONSTACK(closed);
	int err = 0;

	if (async)
		err = dms_ring_reserve(s->ring, 1);
	spin_lock(&s->lock);
	if (!async)
		s->closed = &closed;
	if (async && !err) {
		s->close_async = true;
		s->close_user_data = arg->user_data;
	}
	ctl_begin_close(s, arg->flags & DMASTREAM_CLOSE_ABORT, arg->timeout_ms);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
	if (!async)
		err = ctl_wait(s, &s->closed, &closed) ?: s->close_error;
	dms_stream_put(s);		/* the handle's */
	return err;
}

/**
 * dms_stream_orphan() - its owner is gone
 * @s: off the handle table; its reference is dropped here
 */
void dms_stream_orphan(struct dms_stream *s)
{
	spin_lock(&s->lock);
	ctl_begin_close(s, true, DMASTREAM_TIMEOUT_NONE);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
	dms_stream_put(s);		/* the handle's */
}
