// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening and ending of streams: what the peer says.  stream_ctl.c has the rest, and the
 * picture.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/minmax.h>

#include "path.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/**
 * dms_ctl_answered() - a CONNECT was answered: another may go out
 * @path: no lock is held
 */
void dms_ctl_answered(struct dms_path *path)
{
	spin_lock(&path->lock);
	if (!WARN_ON_ONCE(!path->connects_out))
		path->connects_out--;
	dms_path_wake(path, &path->wait_connect);
	spin_unlock(&path->lock);
	dms_path_kick(path);
}

/**
 * dms_ctl_take_connected() - the peer has a stream for our CONNECT
 * @s: CONNECTING; stream->lock is held
 * @peer_sid: its id
 */
void dms_ctl_take_connected(struct dms_stream *s, u32 peer_sid)
{
	s->peer_sid = peer_sid;
	dms_stream_move(s, DMS_STREAM_OPEN);
	if (s->abandoned || s->handle_gone) {
		dms_ctl_abort(s, DMASTREAM_ERR_LOCAL, ECANCELED);
	} else {
		s->ctl |= DMS_CTL_UPDATE;
		dms_rx_replenish(s);
		dms_ctl_opened(s, 0);
	}
}

/* CONNECTED: the listener's backlog has taken it. */
enum dms_rule dms_ctl_connected(struct dms_stream *s, const struct dms_frame *f)
{
	spin_lock(&s->lock);
	if (s->state != DMS_STREAM_CONNECTING || (s->ctl & DMS_CTL_CONNECT) ||
	    !f->a) {
		spin_unlock(&s->lock);
		return DMS_RULE_STATE;
	}
	s->resume = 0;
	dms_ctl_take_connected(s, f->a);
	spin_unlock(&s->lock);
	dms_mux_ready(s);
	dms_ctl_answered(s->path);
	return DMS_RULE_NONE;
}

/* REFUSED: instead of CONNECTED. */
enum dms_rule dms_ctl_refused(struct dms_stream *s, const struct dms_frame *f)
{
	spin_lock(&s->lock);
	if (s->state != DMS_STREAM_CONNECTING || (s->ctl & DMS_CTL_CONNECT)) {
		spin_unlock(&s->lock);
		return DMS_RULE_STATE;
	}
	dms_ctl_set_error(s, DMASTREAM_ERR_REFUSED, f->a);
	s->resume = 0;
	s->lost = true;
	dms_stream_move(s, DMS_STREAM_BROKEN);
	dms_ctl_opened(s, -ECONNREFUSED);
	dms_stat_inc(DMS_STAT_REFUSED_BY_PEER);
	dms_ctl_check_end(s);
	spin_unlock(&s->lock);
	dms_ctl_answered(s->path);
	return DMS_RULE_NONE;
}

/* ACCEPT: a process took the connection; what it receives with. */
enum dms_rule dms_ctl_accept(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_push *push = NULL;

	if (!dms_push_flags_ok(s->path, f->flags))
		return DMS_RULE_FLAGS;
	/* without memory what the peer grants is not used */
	if (f->flags & DMS_FF_PUSH)
		push = dms_push_alloc(s, GFP_NOWAIT | __GFP_NOWARN);
	spin_lock(&s->lock);
	if (s->peer_open && s->path->carriers > 1)
		goto out;		/* said once more after a resume */
	if (s->peer_open || !s->peer_sid || s->reset_rx) {
		rule = DMS_RULE_STATE;
		goto out;
	}
	dms_tx_peer(s, f->flags, f->b);
	if (!s->push)
		swap(s->push, push);
	if (s->push)
		s->ctl |= DMS_CTL_GRANT;
	if (dms_land_tx_grant(&s->land_tx, f->a))
		rule = DMS_RULE_GRANT;
out:
	spin_unlock(&s->lock);
	dms_push_free(push);
	dms_stream_kick(s);
	return rule;
}

static void ctl_take_reset(struct dms_stream *s, u32 err_class, u32 err_detail)
{
	bool complete = list_empty(&s->rxq);
	int err = err_class ? dms_ctl_errno(err_class, err_detail) : 0;

	/* after RESET comes no PUSHED, and its last WRITE was before it */
	dms_push_release(s);
	dms_ctl_set_error(s, err_class, err_detail);
	s->shut = true;
	/* a RESET that is said again after a resume is said: its answer is waited for */
	s->ctl &= DMS_CTL_RESET_ACK | DMS_CTL_LAST | (s->reset_tx ? DMS_CTL_RESET : 0);
	/* An end that was announced, but with something missing before it. */
	if (s->eos_due && !s->eos_told && !complete)
		s->eos_result = err ? err : -ECONNRESET;
	if (complete)
		dms_rx_eos(s, err);
	dms_rx_drop(s, err ? err : -EPIPE);
	dms_rx_eos(s, err ? err : -ECONNRESET);
	if (s->state == DMS_STREAM_OPEN || s->state == DMS_STREAM_CLOSING ||
	    s->state == DMS_STREAM_BACKLOG)
		dms_stream_move(s, DMS_STREAM_BROKEN);
}

/* RESET: the peer has ended the stream. */
enum dms_rule dms_ctl_reset(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_STATE;
	u32 err_class = f->a;

	spin_lock(&s->lock);
	if (s->reset_rx && s->path->carriers > 1)
		rule = DMS_RULE_NONE;	/* said once more after a resume, as our answer is */
	if (s->reset_rx || !s->peer_sid)
		goto out;
	if (err_class != DMASTREAM_ERR_NONE && err_class != DMASTREAM_ERR_REFUSED)
		err_class = DMASTREAM_ERR_PEER;
	s->reset_rx = true;
	dms_stat_inc(DMS_STAT_RESETS_RX);
	rule = dms_tx_settle(s, f->seq);
	if (rule)
		goto out;
	ctl_take_reset(s, err_class, f->b);
	dms_ctl_check_end(s);
out:
	spin_unlock(&s->lock);
	dms_stream_kick(s);
	return rule;
}

/* RESET_ACK: nothing follows for this id. */
enum dms_rule dms_ctl_reset_ack(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_STATE;

	spin_lock(&s->lock);
	if (s->reset_ack_rx && s->path->carriers > 1)
		goto again;		/* said once more after a resume */
	if (!s->reset_tx || s->reset_ack_rx)
		goto out;
	s->reset_ack_rx = true;
	dms_push_release(s);		/* nothing follows, and its last WRITE was before this */
	rule = dms_tx_settle(s, f->seq);
	if (rule)
		goto out;
again:
	rule = DMS_RULE_NONE;
	if (s->path->resumes) {
		s->reset_done_tx = false;
		s->ctl |= DMS_CTL_RESET_DONE;
	}
	dms_ctl_check_end(s);
out:
	spin_unlock(&s->lock);
	dms_stream_kick(s);
	return rule;
}
