// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receiving side of a stream.
 *
 * rxq holds, in order of sequence, what arrived and is not delivered: eager
 * messages, which are in their landing already, and announced ones, of which
 * the first that has not all landed is pulled.  Delivery means: the completion
 * is in the process's ring; only then is a message acknowledged.  An announced
 * message is delivered buffer by buffer as they fill.
 *
 * Landing credits of a pooled stream are landings of its small group, taken
 * before the credit is told.  Those of a posted stream are its RECVs.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "core/seg.h"
#include "eager.h"
#include "fault.h"
#include "ibdev.h"
#include "incast.h"
#include "path.h"
#include "pool.h"
#include "req.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

static struct dms_req *rx_recv(struct dms_landing *l)
{
	return container_of(l, struct dms_req, landing);
}

/* ---- credits ---- */

/**
 * dms_rx_hears() - is a frame for the receiving side to be handled?
 * @s: stream->lock is held
 * @rule: out: what it breaks when it cannot come in this state
 *
 * Frames that cross a RESET are dropped; others must fit the state.  CLOSING:
 * rx_refuse().
 *
 * Return: false when it is dropped, or breaks a rule.
 */
bool dms_rx_hears(const struct dms_stream *s, enum dms_rule *rule)
{
	*rule = DMS_RULE_NONE;
	if (s->state == DMS_STREAM_OPEN)
		return true;
	if (s->state == DMS_STREAM_WAITING || s->state == DMS_STREAM_CONNECTING ||
	    s->state == DMS_STREAM_BACKLOG || s->reset_rx)
		*rule = DMS_RULE_STATE;
	return false;
}

/*
 * The landing of the credit that a message spends; NULL: none was granted.
 */
static struct dms_landing *rx_spend(struct dms_stream *s)
{
	struct dms_landing *l;

	if (dms_land_rx_use(&s->land_rx))
		return NULL;
	l = list_first_entry_or_null(&s->landings, struct dms_landing, node);
	if (WARN_ON_ONCE(!l))
		return NULL;
	list_del_init(&l->node);
	s->land_used++;
	return l;
}

/**
 * dms_rx_replenish() - take landings for the credits that the stream should have
 * @s: stream->lock is held
 *
 * Waits in the group's queue only when it has none at all: one credit keeps a
 * stream going, and others need theirs.
 */
void dms_rx_replenish(struct dms_stream *s)
{
	u32 out = dms_land_rx_out(&s->land_rx);
	u32 n;

	if (s->state != DMS_STREAM_OPEN || dms_rx_posted(s) || s->rx_fin)
		return;
	if (out < s->land_target) {
		n = dms_group_take_some(s->small, s->land_target - out,
					out ? NULL : &s->small_waiter, &s->landings);
		dms_land_rx_add(&s->land_rx, n);
		if (!n && !out)
			s->waits |= DMASTREAM_WAIT_LANDING;
	}
	if (dms_land_rx_owes(&s->land_rx))
		s->ctl |= DMS_CTL_UPDATE;
}

/**
 * dms_rx_recall() - others of the small group starve
 * @s: stream->lock is held
 *
 * A credit that the peer has cannot be taken back; the peer is asked to spend
 * on nothing what it does not need.
 */
void dms_rx_recall(struct dms_stream *s)
{
	if (s->state != DMS_STREAM_OPEN || dms_rx_posted(s) || s->recall_out ||
	    dms_land_rx_out(&s->land_rx) < 2)
		return;
	s->recall_out = true;
	s->land_target = 1;
	s->land_used = 0;
	s->ctl |= DMS_CTL_RECALL;
}

/* RETURN: the peer has spent credits on nothing; their landings go back. */
enum dms_rule dms_rx_return(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;
	u32 n = f->a;

	spin_lock(&s->lock);
	if (!dms_rx_hears(s, &rule))
		goto out;
	if (!s->recall_out || n > s->land_rx.told - s->land_rx.used) {
		rule = DMS_RULE_GRANT;
		goto out;
	}
	s->recall_out = false;
	while (n--) {
		struct dms_landing *l = rx_spend(s);

		if (!l)
			break;
		s->land_used--;
		dms_group_return(l);
	}
	dms_rx_replenish(s);
out:
	spin_unlock(&s->lock);
	return rule;
}

static void rx_retarget(struct dms_stream *s)
{
	if (dms_rx_posted(s) || s->land_used < (s->land_target + 1) / 2)
		return;
	s->land_target = dms_land_target(s->land_target, s->land_used,
					 dms_group_available(s->small),
					 READ_ONCE(s->small->nr_users));
	s->land_used = 0;
}

/* ---- delivery ---- */

static void rx_delivered(struct dms_stream *s, u32 seq, u32 len)
{
	s->rx_acked = seq;
	s->rx_msgs++;
	s->rx_bytes += len;
	dms_stat_inc(DMS_STAT_RX_MSGS);
	s->ctl |= DMS_CTL_UPDATE;
}

/* What every completion of a receive has. */
static void rx_cqe(const struct dms_stream *s, struct dmastream_cqe *cqe)
{
	cqe->flags |= DMASTREAM_OP_RECV << DMASTREAM_CQE_OP_SHIFT;
	cqe->stream = s->handle;
}

static int rx_post(struct dms_stream *s, struct dmastream_cqe *cqe)
{
	int err;

	rx_cqe(s, cqe);
	err = dms_ring_post_recv(s->ring, cqe, &s->cq_waiter);
	if (err)
		s->waits |= DMASTREAM_WAIT_CQ;
	return err;
}

static struct dms_rxmsg *rx_head(struct dms_stream *s)
{
	return list_first_entry_or_null(&s->rxq, struct dms_rxmsg, node);
}

/*
 * The eager messages at the head, which are there already; false: there is no
 * slot for all of them.  One hold of the ring's lock, and of the group's.
 */
static bool rx_deliver_eager(struct dms_stream *s)
{
	struct dms_rxmsg *m;
	LIST_HEAD(done);
	int err = 0;

	dms_ring_recv_begin(s->ring);
	while ((m = rx_head(s)) && !m->announced) {
		struct dms_landing *l = container_of(m, struct dms_landing, msg);
		struct dmastream_cqe cqe = {
			.user_data = l->cookie,
			.result = m->len,
			.seq = m->seq,
			.tag = m->tag,
		};

		rx_cqe(s, &cqe);
		err = dms_ring_recv(s->ring, &cqe, &s->cq_waiter);
		if (err)
			break;
		list_del_init(&m->node);
		list_add_tail(&l->node, &done);
		s->rx_queued--;
		rx_delivered(s, m->seq, m->len);
	}
	dms_ring_recv_end(s->ring, !list_empty(&done));
	if (err)
		s->waits |= DMASTREAM_WAIT_CQ;
	if (!list_empty(&done))
		dms_group_done_some(&done);
	return !err;
}

/* One buffer of an announced message; false: it is not there, or there is no slot. */
static bool rx_deliver_part(struct dms_stream *s, struct dms_rxmsg *m)
{
	struct dms_landing *l;
	struct dmastream_cqe cqe = { .seq = m->seq, .tag = m->tag };
	bool last;

	l = list_first_entry_or_null(&m->landings, struct dms_landing, node);
	if (!l || (l->filled < l->len && m->landed < m->len) || !l->filled)
		return false;
	last = m->delivered + l->filled == m->len;
	cqe.user_data = l->cookie;
	cqe.result = last ? m->len : l->filled;
	cqe.flags = last ? 0 : DMASTREAM_CQE_MORE;
	if (rx_post(s, &cqe))
		return false;
	m->delivered += l->filled;
	list_del_init(&l->node);
	if (s->pull->cur == l)
		s->pull->cur = NULL;
	dms_group_done(l);
	return true;
}

/* The process has some of it, and is told that no more comes. */
static bool rx_deliver_skipped(struct dms_stream *s, struct dms_rxmsg *m)
{
	struct dmastream_cqe cqe = {
		.user_data = s->cookie,
		.result = -ECANCELED,
		.flags = DMASTREAM_CQE_NOBUF,
		.seq = m->seq,
		.tag = m->tag,
	};

	if (rx_post(s, &cqe))
		return false;
	list_del_init(&m->node);
	s->rx_queued--;
	s->pull->skipped = NULL;
	list_add_tail(&m->node, &s->pull->slots_free);
	return true;
}

static bool rx_deliver_announced(struct dms_stream *s, struct dms_rxmsg *m)
{
	if (s->pull->skipped == m)
		return rx_deliver_skipped(s, m);
	while (m->delivered < m->len)
		if (!rx_deliver_part(s, m))
			return false;
	list_del_init(&m->node);
	s->rx_queued--;
	s->rx_announced--;
	rx_delivered(s, m->seq, m->len);
	list_add_tail(&m->node, &s->pull->slots_free);
	return true;
}

/* A RECV that is too short: it fails, and so does the peer's send. */
static bool rx_deliver_too_long(struct dms_stream *s, struct dms_rxmsg *m)
{
	struct dms_landing *l = container_of(m, struct dms_landing, msg);

	/* One NACK can be owed at a time; or said and, where it could be lost, not answered. */
	if (s->ctl & DMS_CTL_NACK || s->nack_out)
		return false;
	s->nack_out = s->path->resumes;
	s->nack_seq = m->seq;
	s->nack_errno = EMSGSIZE;
	s->ctl |= DMS_CTL_NACK | DMS_CTL_UPDATE;
	s->rx_acked = m->seq;
	list_del_init(&m->node);
	s->rx_queued--;
	if (m->announced) {
		s->rx_announced--;
		if (s->pull->msg == m)
			dms_pull_next(s);
	}
	dms_req_complete(rx_recv(l), -EMSGSIZE, 0, m->seq, m->tag);
	return true;
}

static bool rx_deliver_posted(struct dms_stream *s, struct dms_rxmsg *m)
{
	struct dms_landing *l = container_of(m, struct dms_landing, msg);

	if (m->granted)		/* whatever came: the peer could change it still */
		return false;
	if (m->too_long)
		return rx_deliver_too_long(s, m);
	if (m->landed < m->len)
		return false;
	list_del_init(&m->node);
	s->rx_queued--;
	if (m->announced)
		s->rx_announced--;
	rx_delivered(s, m->seq, m->len);
	dms_req_complete(rx_recv(l), m->len, 0, m->seq, m->tag);
	return true;
}

/* RECVs that nothing will land in any more. */
static void rx_end_recvs(struct dms_stream *s, int result, u32 flags)
{
	struct dms_landing *l, *next;

	list_for_each_entry_safe(l, next, &s->landings, node) {
		if (l->msg.granted)	/* later: the peer may still write there */
			continue;
		list_del_init(&l->node);
		dms_req_complete(rx_recv(l), result, flags, 0, 0);
	}
}

static void rx_deliver_eos(struct dms_stream *s)
{
	struct dmastream_cqe cqe = {
		.user_data = s->cookie,
		.result = s->eos_result,
		.flags = DMASTREAM_CQE_EOS | DMASTREAM_CQE_NOBUF,
		.seq = s->rx_seq,
	};

	if (!s->eos_due || s->eos_told || !list_empty(&s->rxq))
		return;
	if (s->handle_gone || !s->attached) {
		s->eos_told = true;
		return;
	}
	if (dms_push_eos_waits(s))
		return;			/* RECVs end in order, when the first of them can */
	if (dms_rx_posted(s))
		rx_end_recvs(s, s->eos_result, DMASTREAM_CQE_EOS);
	else if (rx_post(s, &cqe))
		return;
	s->eos_told = true;
	if (s->rx_fin && s->eos_result == 0) {
		s->rx_acked = s->rx_seq;
		s->ctl |= DMS_CTL_UPDATE;
	}
}

/**
 * dms_rx_deliver() - hand over what can be
 * @s: stream->lock is held
 *
 * In order; stops at what has not landed, or at a full completion queue, and
 * then cq_waiter is queued.
 */
void dms_rx_deliver(struct dms_stream *s)
{
	struct dms_rxmsg *m;
	bool went_on;

	while (s->state == DMS_STREAM_OPEN && (m = rx_head(s))) {
		if (dms_rx_posted(s))
			went_on = rx_deliver_posted(s, m);
		else if (m->announced)
			went_on = rx_deliver_announced(s, m);
		else
			went_on = rx_deliver_eager(s);
		if (!went_on)
			break;
	}
	dms_pull_idle(s);
	rx_deliver_eos(s);
	rx_retarget(s);
	dms_rx_replenish(s);
}

/**
 * dms_rx_eos() - nothing more will be received
 * @s: stream->lock is held; the caller has rxq emptied or lets it be delivered
 * @result: 0, or -errno
 */
void dms_rx_eos(struct dms_stream *s, int result)
{
	if (s->eos_due)
		return;
	s->eos_due = true;
	s->eos_result = result;
	rx_deliver_eos(s);
}

/* ---- posted receives ---- */

/**
 * dms_rx_take() - take a RECV
 * @s: its stream; stream->lock is held
 * @req: one element, or a tile; on a list of the caller
 *
 * Return: 0, -EOPNOTSUPP (the stream is pooled), -ENOTCONN, -ENOBUFS (too many
 * are posted), -EPIPE (closed, or broken), -ENODATA (the peer has shut down); then
 * it stays where it is.
 */
int dms_rx_take(struct dms_stream *s, struct dms_req *req)
{
	struct dms_landing *l = &req->landing;

	if (!dms_rx_posted(s))
		return -EOPNOTSUPP;
	if (s->state == DMS_STREAM_WAITING || s->state == DMS_STREAM_CONNECTING)
		return -ENOTCONN;
	if (s->state != DMS_STREAM_OPEN)
		return -EPIPE;
	if (s->eos_told)
		return -ENODATA;
	if (dms_land_rx_out(&s->land_rx) >= DMS_POSTED_CREDITS)
		return -ENOBUFS;
	list_del_init(&req->node);
	l->group = NULL;
	l->pool = req->pool;
	l->tile = req->flags & DMASTREAM_SQE_TILE ? &req->tile : NULL;
	l->off = l->tile ? l->tile->off : req->elem[0].off;
	l->len = req->len;
	l->cookie = req->user_data;
	l->filled = 0;
	l->issued = 0;
	l->msg.granted = false;
	list_add_tail(&l->node, &s->landings);
	dms_land_rx_add(&s->land_rx, 1);
	s->ctl |= DMS_CTL_UPDATE | (s->push ? DMS_CTL_GRANT : 0);
	s->waits &= ~DMASTREAM_WAIT_LANDING;
	return 0;
}

/* ---- what arrives; the handlers of proto.c ---- */

static void rx_queue(struct dms_stream *s, struct dms_rxmsg *m,
		     const struct dms_frame *f, bool announced)
{
	INIT_LIST_HEAD(&m->landings);
	m->seq = f->seq;
	m->len = f->len;
	m->tag = f->tag;
	m->landed = announced ? 0 : f->len;
	m->delivered = 0;
	m->announced = announced;
	m->too_long = false;
	list_add_tail(&m->node, &s->rxq);
	s->rx_queued++;
	s->rx_seq = f->seq;
}

static enum dms_rule rx_next(const struct dms_stream *s, const struct dms_frame *f)
{
	if (s->rx_fin)
		return DMS_RULE_STATE;
	return f->seq == s->rx_seq + 1 ? DMS_RULE_NONE : DMS_RULE_SEQ;
}

/*
 * Closed by our process, which waits until its own messages are delivered: what
 * the peer sends meanwhile is refused, not left without an answer.  Two sides
 * that close at once would else wait for each other.
 */
static noinline enum dms_rule rx_refuse(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = rx_next(s, f);

	if (rule)
		return rule;
	if ((s->push || f->type == DMS_F_PUSHED) && dms_push_refused(s, f))
		return DMS_RULE_PUSH;
	s->rx_seq = f->seq;
	if (f->type == DMS_F_FIN)
		s->rx_fin = true;
	return DMS_RULE_NONE;
}

/**
 * dms_rx_data() - DATA: an eager message
 * @s: stream
 * @f: frame
 *
 * Delivered by dms_rx_run_end(), which the caller owes, since more may follow.
 *
 * Context: process, no lock held.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_rx_data(struct dms_stream *s, const struct dms_frame *f)
{
	struct dms_landing *l;
	enum dms_rule rule;

	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_CLOSING) {
		rule = rx_refuse(s, f);
		goto out;
	}
	if (!dms_rx_hears(s, &rule))
		goto out;
	rule = rx_next(s, f);
	if (rule)
		goto out;
	l = rx_spend(s);
	if (!l || f->len > s->path->eager_max) {
		rule = DMS_RULE_LANDING;
		if (l)	/* as if it had not been spent */
			list_add(&l->node, &s->landings);
		goto out;
	}
	if (f->len > l->len && !dms_rx_posted(s)) {
		list_add(&l->node, &s->landings);
		rule = DMS_RULE_LANDING;
		goto out;
	}
	rx_queue(s, &l->msg, f, false);
	if (f->len > l->len)
		l->msg.too_long = true;
	else
		dms_eager_copy_in(l, f->body, f->len);
	if (unlikely(s->push))
		dms_push_passed(s, f->seq, false);
	dms_stat_add(DMS_STAT_EAGER_RX_BYTES, f->len);
out:
	spin_unlock(&s->lock);
	return rule;
}

/*
 * PUSHED: a message was written into the RECV that was granted for it.  Its key is made
 * invalid at once, not by the worker that serves the stream: nothing is delivered before.
 */
enum dms_rule dms_rx_pushed(struct dms_stream *s, const struct dms_frame *f)
{
	struct dms_path *path = s->path;
	struct dms_landing *l;
	enum dms_rule rule;

	spin_lock(&path->lock);
	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_CLOSING) {
		rule = rx_refuse(s, f);
		goto out;
	}
	if (!dms_rx_hears(s, &rule))
		goto out;
	rule = rx_next(s, f);
	if (rule)
		goto out;
	rule = DMS_RULE_PUSH;
	if (dms_push_used(s, f->seq, f->len))
		goto out;
	l = rx_spend(s);
	if (WARN_ON_ONCE(!l || !l->msg.granted || f->len > l->len))
		goto out;
	rule = DMS_RULE_NONE;
	rx_queue(s, &l->msg, f, false);
	dms_path_stat_rx(s->path, f->len);
	dms_stat_inc(DMS_STAT_PUSH_RX);
	if (path->state == DMS_PATH_UP && dms_push_end(s, path))
		dms_path_kill(path, DMASTREAM_ERR_PATH, 0);
out:
	spin_unlock(&s->lock);
	spin_unlock(&path->lock);
	return rule;
}

/**
 * dms_rx_run_end() - the last of several DATA came
 * @s: stream, in any state
 *
 * Context: process, no lock held.
 */
void dms_rx_run_end(struct dms_stream *s)
{
	spin_lock(&s->lock);
	dms_rx_deliver(s);
	spin_unlock(&s->lock);
}

/* RTS: a message is announced. */
enum dms_rule dms_rx_rts(struct dms_stream *s, const struct dms_frame *f)
{
	struct dms_landing *l = NULL;
	struct dms_rxmsg *m;
	enum dms_rule rule;

	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_CLOSING) {
		rule = rx_refuse(s, f);
		goto out;
	}
	if (!dms_rx_hears(s, &rule))
		goto out;
	rule = rx_next(s, f);
	if (rule)
		goto out;
	if (!f->len || f->len > DMASTREAM_MSG_MAX || (!dms_rx_posted(s) && !s->large)) {
		rule = DMS_RULE_LENGTH;
		goto out;
	}
	if (s->rx_announced == DMS_ANNOUNCE_SLOTS) {
		rule = DMS_RULE_ANNOUNCE;
		goto out;
	}
	/* No memory: the stream breaks, both sides hear of it, and nothing is lost silently. */
	if (!dms_pull_begin(s)) {
		dms_ctl_abort(s, DMASTREAM_ERR_LOCAL, ENOMEM);
		goto out;
	}
	if (dms_rx_posted(s)) {
		l = rx_spend(s);
		if (!l) {
			rule = DMS_RULE_LANDING;
			goto out;
		}
		m = &l->msg;
	} else {
		m = list_first_entry(&s->pull->slots_free, struct dms_rxmsg, node);
		list_del(&m->node);
	}
	s->rx_announced++;
	rx_queue(s, m, f, true);
	if (l)
		m->too_long = f->len > l->len;
	if (s->push)
		dms_push_passed(s, f->seq, true);
	if (!s->pull->msg)
		dms_pull_next(s);
	dms_rx_deliver(s);
out:
	spin_unlock(&s->lock);
	return rule;
}

/* FIN: no message comes any more. */
enum dms_rule dms_rx_fin(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule;

	spin_lock(&s->lock);
	if (s->state == DMS_STREAM_CLOSING) {
		rule = rx_refuse(s, f);
		goto out;
	}
	if (!dms_rx_hears(s, &rule))
		goto out;
	rule = rx_next(s, f);
	if (rule)
		goto out;
	s->rx_fin = true;
	s->rx_seq = f->seq;
	dms_push_release(s);
	dms_rx_eos(s, 0);
	dms_rx_deliver(s);
out:
	spin_unlock(&s->lock);
	return rule;
}

/* ---- frames that are owed ---- */

static bool rx_put(struct dms_stream *s, struct dms_build *b, u32 bit,
		   const struct dms_frame *f)
{
	if (!(s->ctl & bit))
		return true;
	if (!dms_build_room(b, 0, 0))
		return false;
	dms_build_frame(b, f);
	s->ctl &= ~bit;
	return true;
}

static bool rx_put_owed(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame done = {
		.type = DMS_F_DONE, .stream = s->peer_sid,
		.seq = s->done_seq, .a = s->done_bytes,
	};
	struct dms_frame hold = {
		.type = DMS_F_HOLD, .stream = s->peer_sid,
		.a = s->hold_bytes,
	};
	struct dms_frame pull = { .type = DMS_F_PULL, .stream = s->peer_sid };
	struct dms_frame recall = { .type = DMS_F_RECALL, .stream = s->peer_sid };
	struct dms_frame nack = {
		.type = DMS_F_NACK, .stream = s->peer_sid,
		.seq = s->nack_seq, .a = s->nack_errno,
	};

	if (s->pull && s->pull->msg) {
		hold.seq = s->pull->msg->seq;
		hold.gen = s->pull->gen;
		pull.seq = s->pull->msg->seq;
		pull.gen = s->pull->gen;
	}
	return rx_put(s, b, DMS_CTL_RECALL, &recall) &&
	       rx_put(s, b, DMS_CTL_DONE, &done) &&
	       rx_put(s, b, DMS_CTL_HOLD, &hold) &&
	       rx_put(s, b, DMS_CTL_PULL, &pull) &&
	       rx_put(s, b, DMS_CTL_NACK, &nack) && dms_skip_put(s, b);
}

static bool rx_frames(struct dms_stream *s, struct dms_build *b)
{
	return !(s->ctl & (DMS_CTL_RECALL | DMS_CTL_DONE | DMS_CTL_HOLD | DMS_CTL_PULL |
			   DMS_CTL_NACK | DMS_CTL_SKIPPED)) || rx_put_owed(s, b);
}

static bool rx_update(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame f = {
		.type = DMS_F_UPDATE, .stream = s->peer_sid, .seq = s->rx_acked,
	};

	if (!(s->ctl & DMS_CTL_UPDATE) || dms_fault_ack(s))
		return true;
	if (!dms_build_room(b, 0, 0))
		return false;
	f.a = dms_land_rx_tell(&s->land_rx);
	dms_build_frame(b, &f);
	s->ctl &= ~DMS_CTL_UPDATE;
	return true;
}

/**
 * dms_rx_serve() - say what is owed to the sender, and read what may be read
 * @s: OPEN; path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_rx_serve(struct dms_stream *s, struct dms_build *b)
{
	bool nacked;

	if (!s->peer_sid)
		return DMS_SERVED;
	/* Each NACK, and SKIPPED, goes before the UPDATE that covers it. */
	do {
		nacked = s->ctl & DMS_CTL_NACK;
		if (!rx_frames(s, b))
			return DMS_SERVED_STALLED;
		if (nacked)	/* delivery waited for it to go out */
			dms_rx_deliver(s);
	} while (nacked);
	if (!rx_update(s, b))
		return DMS_SERVED_STALLED;
	dms_pull_serve(s, b);
	return DMS_SERVED;
}

/**
 * dms_rx_refuse_serve() - refuse what our process closed without taking
 * @s: CLOSING; path->lock and stream->lock are held
 * @b: packet under construction
 *
 * Each message that is not delivered gets a NACK, in order, and then one UPDATE
 * covers them.  Not before the READs of one of them have ended: the sender takes
 * its keys back when it hears of it.
 */
enum dms_served dms_rx_refuse_serve(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame nack = {
		.type = DMS_F_NACK, .stream = s->peer_sid,
		.seq = s->nack_seq, .a = s->nack_errno,
	};

	if (dms_pull_reads(s) || !s->peer_sid)
		return DMS_SERVED;
	if (!rx_put(s, b, DMS_CTL_NACK, &nack) || !dms_skip_put(s, b))
		return DMS_SERVED_STALLED;
	while (s->rx_acked != s->rx_seq) {
		if (s->rx_fin && s->rx_acked + 1 == s->rx_seq) {
			s->rx_acked = s->rx_seq;	/* FIN is no message */
			s->ctl |= DMS_CTL_UPDATE;
			break;
		}
		if (!dms_build_room(b, 0, 0))
			return DMS_SERVED_STALLED;
		nack.seq = s->rx_acked + 1;
		nack.a = EPIPE;
		dms_build_frame(b, &nack);
		s->rx_acked++;
		s->ctl |= DMS_CTL_UPDATE;
	}
	return rx_update(s, b) ? DMS_SERVED : DMS_SERVED_STALLED;
}

/* ---- the end ---- */

static void rx_drop_landings(struct list_head *list)
{
	struct dms_landing *l, *next;

	list_for_each_entry_safe(l, next, list, node) {
		list_del_init(&l->node);
		dms_group_return(l);
	}
}

static void rx_drop_msg(struct dms_stream *s, struct dms_rxmsg *m, int err)
{
	list_del_init(&m->node);
	s->rx_queued--;
	if (s->pull && s->pull->skipped == m)
		s->pull->skipped = NULL;	/* the end of the stream says as much */
	else if (m->announced)
		s->rx_announced--;
	if (dms_rx_posted(s)) {
		struct dms_landing *l = container_of(m, struct dms_landing, msg);

		dms_req_complete(rx_recv(l), err, 0, m->seq, m->tag);
	} else if (m->announced) {
		rx_drop_landings(&m->landings);
		list_add_tail(&m->node, &s->pull->slots_free);
	} else {
		dms_group_return(container_of(m, struct dms_landing, msg));
	}
}

/* An end in order came before, and waits for grants alone: the RECVs that are left are its. */
static bool rx_eos_first(struct dms_stream *s)
{
	if (!s->push || !s->push->eos_waits)
		return false;
	rx_deliver_eos(s);
	return !s->eos_told;
}

/**
 * dms_rx_drop() - receive no more
 * @s: not OPEN any more; stream->lock is held; the caller holds a reference
 * @err: result of posted receives
 *
 * Landings that a READ, or the peer, may still be writing to stay with the message, or
 * with the stream; called again when that has ended.
 */
void dms_rx_drop(struct dms_stream *s, int err)
{
	struct dms_pull *p = s->pull;
	struct dms_rxmsg *m, *next;

	if (s->push)
		err = dms_push_drop(s, err);
	dms_incast_leave(s);
	list_for_each_entry_safe(m, next, &s->rxq, node) {
		if (dms_rx_posted(s) && m->granted)
			continue;
		if (p && m == p->msg && p->reads)
			continue;
		if (p && m == p->msg) {
			p->msg = NULL;
			p->cur = NULL;
		}
		rx_drop_msg(s, m, err);
	}
	dms_pull_idle(s);
	if (!dms_rx_posted(s))
		rx_drop_landings(&s->landings);
	else if (!rx_eos_first(s))
		rx_end_recvs(s, err, 0);
	s->ctl &= ~(DMS_CTL_HOLD | DMS_CTL_PULL | DMS_CTL_DONE |
		    DMS_CTL_RECALL);
	/* while CLOSING the sender still hears what became of its messages */
	if (s->state != DMS_STREAM_CLOSING)
		s->ctl &= ~DMS_CTL_UPDATE;
	/* the end may have waited for the message that a READ was writing to */
	rx_deliver_eos(s);
}
