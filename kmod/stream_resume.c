// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream whose path gets another carrier: Documentation/recovery.rst.
 *
 * Suspended (s->resume is not 0) it says nothing but RESUME, or CONNECT again, and hears
 * nothing but RESUME, or CONNECT.  What each side has is said in numbers that only grow, so
 * that a resume which was broken off by the next failure is simply made again.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "group.h"
#include "incast.h"
#include "listener.h"
#include "path.h"
#include "pool.h"
#include "req.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/* ---- the carrier is fenced ---- */

/* No key of the request opens anything any more. */
static void suspend_keys(struct dms_stream *s, struct dms_req *req)
{
	struct dms_key *key, *next;

	list_for_each_entry_safe(key, next, &req->keys, node) {
		list_del_init(&key->node);
		key->req = NULL;
		s->nr_keys--;
	}
}

static void suspend_tx(struct dms_stream *s)
{
	struct dms_req *req, *next;

	/* a packet that could not be posted is counted in wire still */
	list_for_each_entry(req, &s->flight, node) {
		suspend_keys(s, req);
		req->wire = 0;
	}
	list_for_each_entry_safe(req, next, &s->ending, node) {
		suspend_keys(s, req);
		req->wire = 0;
		dms_tx_try_complete(s, req);
	}
	list_for_each_entry_safe(req, next, &s->rtsq, rts_node)
		if (req->done == req->len)
			list_del_init(&req->rts_node);
}

/*
 * Landings of the message: READs may have been posted into several, and those of the first
 * have failed.  Its first one that is not full is where pulling goes on; those behind it
 * have nothing that counts.
 */
static void suspend_landings(struct dms_stream *s, struct dms_pull *p)
{
	struct dms_landing *l, *next;

	if (dms_rx_posted(s)) {
		p->cur->issued = p->cur->filled;
		return;
	}
	p->cur = NULL;
	list_for_each_entry_safe(l, next, &p->msg->landings, node) {
		if (p->cur) {
			list_del_init(&l->node);
			dms_group_return(l);
		} else if (l->filled < l->len) {
			l->issued = l->filled;
			p->cur = l;
		}
	}
}

/*
 * READs have been answered, and those that failed wrote nothing that counts: pulling goes
 * on behind the last byte that landed.
 */
static void suspend_pull(struct dms_stream *s)
{
	struct dms_pull *p = s->pull;

	if (!p)
		return;
	dms_incast_leave(s);
	WARN_ON_ONCE(p->reads);
	p->nr_keys = 0;
	p->gen = 0;
	p->held = false;
	if (!p->msg)
		return;
	p->keyed = p->msg->landed;
	p->issued = p->msg->landed;
	suspend_landings(s, p);
}

/* What is owed in the next epoch, and is not said by RESUME. */
static void suspend_ctl(struct dms_stream *s)
{
	u32 keep = DMS_CTL_CONNECT | DMS_CTL_CONNECTED | DMS_CTL_ACCEPT | DMS_CTL_NACK |
		   DMS_CTL_FIN | DMS_CTL_RESET | DMS_CTL_SKIP;
	bool open = s->state == DMS_STREAM_OPEN;

	s->ctl &= keep;
	if (open || s->state == DMS_STREAM_CLOSING)
		s->ctl |= DMS_CTL_UPDATE;
	if (open && s->push)
		s->ctl |= DMS_CTL_GRANT;
	if (open && s->recall_out)	/* what it was answered with is not used */
		s->ctl |= DMS_CTL_RECALL;
	if (s->nack_out)
		s->ctl |= DMS_CTL_NACK;
	dms_skip_suspend(s);
	if (s->refusing)
		s->rx_acked = s->refuse_base;
	if (s->reset_tx && !s->reset_ack_rx)
		s->ctl |= DMS_CTL_RESET;
	/*
	 * RESET_DONE answers a RESET_ACK of this epoch and nothing else, or it would meet one
	 * that is said again: a peer that needs it says that.  One that does not may be gone.
	 */
	if (s->reset_ack_rx)
		s->reset_done_tx = true;
	/* dms_ctl_check_end() has it owed again */
	if (!s->reset_done_rx)
		s->reset_ack_tx = false;
}

/* One that connects and has no answer says CONNECT again, all others RESUME. */
static u8 suspend_begins(struct dms_stream *s)
{
	switch (s->state) {
	case DMS_STREAM_WAITING:
		return 0;
	case DMS_STREAM_CONNECTING:
		if (s->ctl & DMS_CTL_CONNECT)	/* it never left */
			return 0;
		s->ctl |= DMS_CTL_CONNECT;
		return DMS_RESUME_OWED | DMS_RESUME_AWAITED;
	default:
		if (!s->peer_sid)
			return 0;
		s->ctl &= ~DMS_CTL_CONNECTED;	/* RESUME tells the id */
		return DMS_RESUME_OWED | DMS_RESUME_AWAITED;
	}
}

static u64 suspend_progress(const struct dms_stream *s)
{
	u64 n = (u64)s->tx_acked + s->rx_acked + s->tx_bytes + s->rx_bytes;

	if (s->pull && s->pull->msg)
		n += s->pull->msg->landed;
	return n;
}

/**
 * dms_stream_suspend() - the path's carrier is fenced, and it will get another one
 * @s: bound to the path; no lock held
 * @progress: something is added that changes with each thing that was delivered
 *
 * Context: process; not at once with anything that comes from the carrier.
 * Return: 1 when dms_path_resumed() will be called for it in the next epoch, else 0.
 */
u32 dms_stream_suspend(struct dms_stream *s, u64 *progress)
{
	u32 owes = 0;

	spin_lock(&s->lock);
	s->resume = 0;
	if (s->ended || s->lost)
		goto out;
	dms_push_lost(s);
	suspend_tx(s);
	suspend_pull(s);
	s->resume = suspend_begins(s);
	suspend_ctl(s);
	*progress += suspend_progress(s);
	if (s->guilty)
		dms_ctl_abort(s, DMASTREAM_ERR_PATH, s->guilty);
	else if (s->state == DMS_STREAM_OPEN)
		dms_rx_deliver(s);	/* what was granted can be, now */
	dms_ctl_check_end(s);
	/* nothing was missing but RESET_DONE: RESUME_END tells the peer */
	if (s->ended)
		s->resume = 0;
	owes = !!(s->resume & DMS_RESUME_OWED);
out:
	spin_unlock(&s->lock);
	return owes;
}

/**
 * dms_stream_forget_resume() - the carrier that it was to say RESUME over has failed
 * @s: bound to the path, or was; no lock held
 *
 * One that is bound is asked again, by dms_stream_suspend().
 */
void dms_stream_forget_resume(struct dms_stream *s)
{
	spin_lock(&s->lock);
	s->resume = 0;
	spin_unlock(&s->lock);
}

/**
 * dms_stream_blame() - a work request of the stream has failed, and would fail again
 * @s: reference held by the caller
 * @status: enum ib_wc_status
 *
 * The stream alone ends when the carrier is fenced.  Context: process.
 */
void dms_stream_blame(struct dms_stream *s, u8 status)
{
	WRITE_ONCE(s->guilty, status);
}

/* Of a list of requests: a pool that is not mapped on the device. */
static struct dms_pool *unmapped_of(struct list_head *reqs, struct dms_ibdev *ibdev)
{
	struct dms_req *req;

	list_for_each_entry(req, reqs, node)
		if (req->pool && !dms_pool_mapped(req->pool, ibdev))
			return req->pool;
	return NULL;
}

static struct dms_pool *unmapped_landing(struct dms_stream *s, struct dms_ibdev *ibdev)
{
	struct dms_landing *l;
	struct dms_rxmsg *m;

	list_for_each_entry(l, &s->landings, node)
		if (l->pool && !dms_pool_mapped(l->pool, ibdev))
			return l->pool;
	list_for_each_entry(m, &s->rxq, node) {
		l = container_of(m, struct dms_landing, msg);
		if (l->pool && !dms_pool_mapped(l->pool, ibdev))
			return l->pool;
	}
	return NULL;
}

/**
 * dms_stream_unmapped() - a pool of a request of the stream that the device does not know
 * @s: stream->lock is held
 * @ibdev: of its path's carrier
 *
 * Return: one of them, or NULL.
 */
struct dms_pool *dms_stream_unmapped(struct dms_stream *s, struct dms_ibdev *ibdev)
{
	struct dms_pool *pool;

	pool = unmapped_of(&s->txq, ibdev);
	if (!pool)
		pool = unmapped_of(&s->flight, ibdev);
	if (!pool && dms_rx_posted(s))
		pool = unmapped_landing(s, ibdev);
	return pool;
}

/* ---- saying it ---- */

static enum dms_served resume_put(struct dms_stream *s, struct dms_build *b)
{
	const struct dms_rxmsg *m = s->pull ? s->pull->msg : NULL;
	struct dms_frame nack = {
		.type = DMS_F_NACK, .stream = s->peer_sid,
		.seq = s->nack_seq, .a = s->nack_errno,
	};
	struct dms_frame f = {
		.type = DMS_F_RESUME,
		.flags = s->reset_said ? DMS_FF_OVER : 0,
		.stream = s->peer_sid,
		.seq = s->rx_acked,
		.len = s->rx_seq,
		.a = s->sid,
		.b = m ? m->seq : s->rx_seq + 1,
		.tag = s->land_rx.used | (u64)(m ? m->landed : 0) << 32,
	};

	/* first: seq says that it was delivered, but for this */
	if (s->ctl & DMS_CTL_NACK) {
		if (!dms_build_room(b, 0, 0))
			return DMS_SERVED_STALLED;
		dms_build_frame(b, &nack);
		s->ctl &= ~DMS_CTL_NACK;
	}
	if (!dms_skip_put(s, b) || !dms_build_room(b, 0, 0))
		return DMS_SERVED_STALLED;
	dms_build_frame(b, &f);
	return DMS_SERVED;
}

/**
 * dms_resume_nack_serve() - NACK_ACK
 * @s: path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_resume_nack_serve(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame f = {
		.type = DMS_F_NACK_ACK, .stream = s->peer_sid, .seq = s->nack_ack_seq,
	};

	if (!dms_build_room(b, 0, 0))
		return DMS_SERVED_STALLED;
	dms_build_frame(b, &f);
	s->ctl &= ~DMS_CTL_NACK_ACK;
	return DMS_SERVED;
}

/**
 * dms_resume_serve() - a suspended stream says what it may
 * @s: s->resume is not 0; path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_resume_serve(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served;

	if (!(s->resume & DMS_RESUME_OWED))
		return DMS_SERVED;
	if (s->lost || s->ended) {
		/* its CONNECT was given up meanwhile: RESUME_END says so */
		s->resume = 0;
		dms_path_resumed(b->path);
		return DMS_SERVED;
	}
	if (s->state == DMS_STREAM_CONNECTING) {
		served = dms_ctl_open_serve(s, b);
		if (s->ctl & DMS_CTL_CONNECT)
			return served;
	} else {
		served = resume_put(s, b);
		if (served != DMS_SERVED)
			return served;
	}
	s->resume &= ~DMS_RESUME_OWED;
	dms_path_resumed(b->path);
	return DMS_SERVED;
}

/**
 * dms_stream_awaits() - may the peer say CONNECT again for it?
 * @s: any state
 */
bool dms_stream_awaits(const struct dms_stream *s)
{
	return READ_ONCE(s->resume) & DMS_RESUME_AWAITED && !s->reset_said;
}

/* ---- hearing it ---- */

/* One that did not arrive goes back, as if it had never left. */
static void resume_again(struct dms_stream *s, struct dms_req *req)
{
	if (req->announced) {
		s->announced--;
		list_del_init(&req->rts_node);
	}
	list_del_init(&req->node);
	if (req->flags & DMS_REQ_SKIP) {
		dms_skip_unsent(s, req);
		return;
	}
	dms_tx_requeue(s, req);
	dms_stat_inc(DMS_STAT_MSGS_REPLAYED);
}

/* An announced one that arrived: so much of it has landed. */
static enum dms_rule resume_announced(struct dms_req *req, u32 pulled, u32 landed)
{
	s32 after = req->seq - pulled;

	req->gen = 0;
	req->held = false;
	if (after < 0) {
		/* landed, or refused; that all of it was keyed is looked at with its UPDATE */
		req->done = req->len;
		list_del_init(&req->rts_node);
		return DMS_RULE_NONE;
	}
	if (after > 0)
		landed = 0;
	if (landed < req->done || landed > req->keyed || landed >= req->len)
		return DMS_RULE_DONE;
	dms_stat_add(req->stream->path->was_tcp ? DMS_STAT_TCP_TX_BYTES : DMS_STAT_RDMA_TX_BYTES,
		     landed - req->done);
	req->done = landed;
	req->keyed = landed;
	return DMS_RULE_NONE;
}

/*
 * What is in flight, after what was delivered has been taken off: from the last to the
 * first, so that those that go back keep their order.
 */
static enum dms_rule resume_flight(struct dms_stream *s, u32 arrived, u32 pulled, u32 landed)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_req *req, *prev;

	list_for_each_entry_safe_reverse(req, prev, &s->flight, node) {
		if ((s32)(req->seq - arrived) > 0)
			resume_again(s, req);
		else if (req->announced && !rule)
			rule = resume_announced(req, pulled, landed);
	}
	return rule;
}

static enum dms_rule resume_tx(struct dms_stream *s, const struct dms_frame *f)
{
	u32 used = (u32)f->tag, landed = f->tag >> 32, acked = f->seq, arrived = f->len;
	enum dms_rule rule;

	if ((s32)(acked - s->tx_acked) < 0)
		acked = s->tx_acked;	/* what it refuses again, we know already */
	if ((s32)(arrived - acked) < 0 || (s32)(s->tx_seq - arrived) < 0)
		return DMS_RULE_ACK;
	if (s->peer_open && dms_land_tx_resume(&s->land_tx, used))
		return DMS_RULE_GRANT;
	rule = dms_tx_ack(s, acked);
	if (rule)
		return rule;
	rule = resume_flight(s, arrived, f->b, landed);
	if (rule)
		return rule;
	if (s->fin_sent && arrived != s->tx_seq) {
		s->fin_sent = false;
		s->ctl |= DMS_CTL_FIN;
	}
	s->tx_seq = arrived;
	return DMS_RULE_NONE;
}

/* What the peer has of ours is known: [lock] */
static enum dms_rule resume_take(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;

	if (!s->reset_rx)
		rule = resume_tx(s, f);
	if (rule)
		return rule;
	/* ACCEPT may not have come through; it is ignored when it has */
	if (s->listener && s->state == DMS_STREAM_OPEN)
		s->ctl |= DMS_CTL_ACCEPT;
	s->resume &= ~DMS_RESUME_AWAITED;
	dms_stat_inc(DMS_STAT_STREAMS_RESUMED);
	dms_ctl_check_end(s);
	return rule;
}

/* The answer to CONNECT: the peer had got it in an earlier epoch. */
static enum dms_rule resume_connected(struct dms_stream *s, const struct dms_frame *f,
				      bool *answered)
{
	if (f->flags & DMS_FF_OVER)
		return DMS_RULE_NONE;		/* of a stream that had this id before */
	if (!f->a || f->seq || f->len)
		return DMS_RULE_STATE;
	*answered = !(s->ctl & DMS_CTL_CONNECT);
	s->ctl &= ~DMS_CTL_CONNECT;
	s->resume &= ~DMS_RESUME_AWAITED;
	dms_ctl_take_connected(s, f->a);
	return DMS_RULE_NONE;
}

/**
 * dms_resume_rx() - RESUME
 * @s: stream
 * @f: frame
 *
 * Context: process, no lock held.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_resume_rx(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_STATE;
	bool answered = false;

	spin_lock(&s->lock);
	if (s->lost || s->ended)
		rule = DMS_RULE_NONE;	/* its CONNECT was given up; RESUME_END tells */
	else if (!(s->resume & DMS_RESUME_AWAITED))
		rule = DMS_RULE_STATE;
	else if (s->state == DMS_STREAM_CONNECTING)
		rule = resume_connected(s, f, &answered);
	else if (f->a == s->peer_sid)
		rule = resume_take(s, f);
	spin_unlock(&s->lock);
	if (answered)
		dms_ctl_answered(s->path);
	return rule;
}

/**
 * dms_resume_connect() - the CONNECT that has made the stream comes again
 * @s: dms_path_connected_before() found it
 *
 * So the peer has heard nothing of it, and that is all that a RESUME would say.
 *
 * Context: process, no lock held.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_resume_connect(struct dms_stream *s)
{
	const struct dms_frame nothing = { .b = 1 };
	enum dms_rule rule = DMS_RULE_CONNECT;

	spin_lock(&s->lock);
	if (!s->heard && s->resume & DMS_RESUME_AWAITED)
		rule = resume_take(s, &nothing);
	spin_unlock(&s->lock);
	dms_stream_kick(s);
	return rule;
}

/**
 * dms_stream_not_resumed() - RESUME_END came
 * @s: on the path
 *
 * A stream of which the peer has said nothing is over there.  Either it has had all that
 * ends a stream, or it gave up before it knew of us.
 *
 * Context: process, no lock held.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_stream_not_resumed(struct dms_stream *s)
{
	enum dms_rule rule = DMS_RULE_NONE;
	bool gone = false;

	spin_lock(&s->lock);
	if (!(s->resume & DMS_RESUME_AWAITED))
		goto out;
	s->resume &= ~DMS_RESUME_AWAITED;
	if (s->lost || s->ended || s->state == DMS_STREAM_CONNECTING)
		goto out;
	if (s->reset_said || (s->reset_tx && s->reset_ack_rx)) {
		s->ctl &= ~(DMS_CTL_RESET | DMS_CTL_RESET_ACK);
		s->reset_ack_tx = true;
		s->reset_ack_rx = true;
		s->reset_done_tx = true;
		s->reset_done_rx = true;
		dms_ctl_check_end(s);
	} else if (s->listener && !s->heard) {
		gone = true;
	} else {
		rule = DMS_RULE_STATE;
	}
out:
	spin_unlock(&s->lock);
	if (gone)
		dms_stream_session_lost(s, DMASTREAM_ERR_PEER, ECONNABORTED);
	return rule;
}

/* RESET_DONE: our RESET_ACK has come, and nothing follows for this id. */
enum dms_rule dms_resume_reset_done(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_STATE;

	spin_lock(&s->lock);
	if (s->reset_ack_tx) {
		rule = DMS_RULE_NONE;
		s->reset_done_rx = true;
		dms_ctl_check_end(s);
	}
	spin_unlock(&s->lock);
	return rule;
}

/* NACK_ACK: another one may be said. */
enum dms_rule dms_resume_nack_ack(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&s->lock);
	if (s->nack_out && f->seq == s->nack_seq) {
		s->nack_out = false;
		if (s->state == DMS_STREAM_OPEN)
			dms_rx_deliver(s);
	} else if (s->state == DMS_STREAM_OPEN) {
		rule = DMS_RULE_ACK;
	}
	spin_unlock(&s->lock);
	return rule;
}
