// SPDX-License-Identifier: GPL-2.0-only
/*
 * CANCEL of what is on the wire.
 *
 * The sender cannot know what became of a message that has left, so it asks, and the
 * receiver decides:
 *
 *   sender					receiver
 *   ======					========
 *   gives no more keys for it
 *   SKIP(seq)				  ---->	starts no READ of it, waits for those in flight
 *					  <----	SKIPPED(seq): it is not delivered and never will be
 *   keys back, the send ends: -ECANCELED
 *				   or	  <----	UPDATE, as ever: it was delivered
 *
 * The answer comes in any order, so that a message is not held up by those before it, which a
 * process that has stopped may never take.  What makes a tombstone needs no memory at the
 * receiver: its number is used, and it is not in rxq, so that nothing can bring it back.  But
 * as with NACK an acknowledgement may cover it later, so SKIPPED goes before any UPDATE,
 * RESUME, RESET or RESET_ACK that could, and is said again with each new carrier.  One SKIP is
 * out at a time: the next one says that the answer to this one has come, so one number
 * (skip_rx_seq) is all that a receiver remembers.
 *
 * Why a key is never taken back under a READ: SKIPPED says that there is none.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/list.h>

#include "group.h"
#include "node.h"
#include "path.h"
#include "req.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/* ---- sending ---- */

static bool skip_may(const struct dms_stream *s)
{
	return s->state == DMS_STREAM_OPEN || s->state == DMS_STREAM_CLOSING;
}

/* The send of that number, which is in flight, or NULL. */
static struct dms_req *skip_in_flight(struct dms_stream *s, u32 seq)
{
	struct dms_req *req;

	list_for_each_entry(req, &s->flight, node)
		if ((s32)(req->seq - seq) >= 0)
			return req->seq == seq ? req : NULL;
	return NULL;
}

/* One that is on the wire, and not refused: SKIP is owed. */
static int skip_begin(struct dms_stream *s, struct dms_req *req)
{
	BUILD_BUG_ON(DMS_REQ_SKIP & DMASTREAM_SQE_FLAGS);
	if (!s->path->skips || !skip_may(s) || req->result < 0)
		return -EALREADY;
	req->flags |= DMS_REQ_SKIP;
	s->ctl |= DMS_CTL_SKIP;
	return 0;
}

/* Not delivered, as both sides know: it ends when nothing can touch its buffer any more. */
static void skip_end(struct dms_stream *s, struct dms_req *req)
{
	req->result = -ECANCELED;
	req->acked = true;
	if (req->announced) {
		s->announced--;
		req->done = req->len;		/* its keys are due */
	}
	if (req->held)
		s->waits &= ~DMASTREAM_WAIT_HOLD;
	list_move_tail(&req->node, &s->ending);
	if (req->flags & DMASTREAM_SQE_SPLIT && (req->wire || !list_empty(&req->keys)))
		dms_req_tell(req, req->result, req->seq);
	dms_tx_try_complete(s, req);
}

/**
 * dms_tx_cancel() - take a SEND back
 * @s: stream->lock is held
 * @user_data: of the submission; the oldest one that matches, and is not taken back already
 *
 * Return: 0: its completion tells how it ends; it is over already when it was not on the wire.
 * -EALREADY: it is on the wire, or is delivered, and is not to be stopped.  -ENOENT.
 */
int dms_tx_cancel(struct dms_stream *s, u64 user_data)
{
	bool already = false;
	struct dms_landing *l;
	struct dms_req *req;

	list_for_each_entry(req, &s->ending, node)
		already |= req->user_data == user_data;
	list_for_each_entry(req, &s->flight, node) {
		if (req->user_data != user_data)
			continue;
		already = true;
		if (!(req->flags & DMS_REQ_SKIP))
			return skip_begin(s, req);
	}
	list_for_each_entry(req, &s->txq, node) {
		if (req->user_data != user_data)
			continue;
		req->acked = true;
		req->result = -ECANCELED;
		dms_tx_try_complete(s, req);
		dms_ctl_check_end(s);
		return 0;
	}
	/* A posted receive is a credit that the peer has. */
	if (s->flags & DMASTREAM_STREAM_POSTED)
		list_for_each_entry(l, &s->landings, node)
			already |= l->cookie == user_data;
	return already ? -EALREADY : -ENOENT;
}

/**
 * dms_skip_unsent() - one that is to be taken back did not arrive before its carrier failed
 * @s: stream->lock is held
 * @req: DMS_REQ_SKIP; on no list; no packet and no key is out
 *
 * So it never was on the wire, and its number is the next message's.
 */
void dms_skip_unsent(struct dms_stream *s, struct dms_req *req)
{
	req->result = -ECANCELED;
	req->acked = true;
	req->announced = false;
	list_add_tail(&req->node, &s->ending);
	dms_tx_try_complete(s, req);
}

/**
 * dms_skip_serve() - SKIP, for one message at a time
 * @s: has DMS_CTL_SKIP, which stays while one is waited for; path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_skip_serve(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame f = { .type = DMS_F_SKIP, .stream = s->peer_sid };
	struct dms_req *req;

	if (s->skip_out && (s32)(s->tx_acked - s->skip_tx_seq) < 0)
		return DMS_SERVED;
	s->skip_out = false;
	list_for_each_entry(req, &s->flight, node)
		if (req->flags & DMS_REQ_SKIP && req->result >= 0)
			break;
	if (!skip_may(s) || list_entry_is_head(req, &s->flight, node)) {
		s->ctl &= ~DMS_CTL_SKIP;
		return DMS_SERVED;
	}
	if (!dms_build_room(b, 0, 0))
		return DMS_SERVED_STALLED;
	f.seq = req->seq;
	dms_build_frame(b, &f);
	s->skip_tx_seq = req->seq;
	s->skip_out = true;
	req->tag = jiffies;		/* it has been said, and will not be again */
	WRITE_ONCE(b->path->skip_looks, DMS_SKIP_LOOKS);
	dms_stat_inc(DMS_STAT_SKIPS_SENT);
	return DMS_SERVED;
}

/**
 * dms_skip_late() - does the peer leave a SKIP without an answer?
 * @s: on the path; the path's streams_lock may be held
 * @limit: jiffies
 *
 * Inside streams_lock no other lock is waited for.
 *
 * Return: 0: none is out; 1: one is, or nobody knows now; 2: for longer than the limit.
 */
int dms_skip_late(struct dms_stream *s, unsigned long limit)
{
	struct dms_req *req = NULL;
	int out = 1;

	if (!(READ_ONCE(s->ctl) & DMS_CTL_SKIP))
		return 0;
	if (!spin_trylock(&s->lock))
		return 1;
	if (s->skip_out)
		req = skip_in_flight(s, s->skip_tx_seq);
	if (req && time_after(jiffies, (unsigned long)req->tag + limit))
		out = 2;
	spin_unlock(&s->lock);
	return out;
}

/*
 * SKIPPED: the peer will never deliver this one, and no READ of it is in flight.  Heard in any
 * state, as NACK is, and also before RESUME, which may count it as over.
 */
enum dms_rule dms_skip_skipped(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_req *req;

	spin_lock(&s->lock);
	req = skip_in_flight(s, f->seq);
	if (req && req->flags & DMS_REQ_SKIP) {
		dms_stat_inc(DMS_STAT_SKIPS_ACKED);
		if (s->skip_tx_seq == f->seq)
			s->skip_out = false;
		s->skipped_some = true;
		skip_end(s, req);
		dms_ctl_check_end(s);
	} else if (req || (skip_may(s) && s->path->carriers <= 1)) {
		rule = DMS_RULE_ACK;	/* else it is said once more, or crosses an end */
	}
	spin_unlock(&s->lock);
	return rule;
}

/* ---- receiving ---- */

static struct dms_rxmsg *skip_arrived(struct dms_stream *s, u32 seq)
{
	struct dms_rxmsg *m;

	list_for_each_entry(m, &s->rxq, node)
		if ((s32)(m->seq - seq) >= 0)
			return m->seq == seq ? m : NULL;
	return NULL;
}

/*
 * Its RECV is a credit again, and the next to be used: after those that are granted, which are
 * for the messages of their places.
 */
static void skip_keep_recv(struct dms_stream *s, struct dms_landing *l)
{
	struct list_head *after = &s->landings;
	struct dms_landing *pos;
	u32 n = 0;

	if (dms_land_rx_out(&s->land_rx) >= DMS_POSTED_CREDITS) {
		dms_req_complete(container_of(l, struct dms_req, landing), -ECANCELED, 0,
				 l->msg.seq, 0);
		return;
	}
	list_for_each_entry(pos, &s->landings, node) {
		if (n++ == DMS_GRANTS_AHEAD)
			break;
		if (pos->msg.granted)
			after = &pos->node;
	}
	l->filled = 0;
	l->issued = 0;
	list_add(&l->node, after);
	dms_land_rx_add(&s->land_rx, 1);
	if (s->push)
		s->ctl |= DMS_CTL_GRANT;
}

/* An announced message of a pooled stream: its landings, of which the process has not heard. */
static void skip_drop_landings(struct dms_rxmsg *m)
{
	struct dms_landing *l, *next;

	list_for_each_entry_safe(l, next, &m->landings, node) {
		list_del_init(&l->node);
		dms_group_return(l);
	}
}

/*
 * Off rxq; but one of which the process has some parts stays at the head, where it is, until
 * the completion that says that no more come has a slot.  It has an announce slot that the
 * peer does not count.
 */
static void skip_unqueue(struct dms_stream *s, struct dms_rxmsg *m)
{
	bool pooled = m->announced && !dms_rx_posted(s);

	if (m->announced)
		s->rx_announced--;
	if (pooled)
		skip_drop_landings(m);
	if (pooled && m->delivered) {
		m->landed = m->len;
		s->pull->skipped = m;
		return;
	}
	list_del_init(&m->node);
	s->rx_queued--;
	if (pooled)
		list_add_tail(&m->node, &s->pull->slots_free);
	else if (dms_rx_posted(s))
		skip_keep_recv(s, container_of(m, struct dms_landing, msg));
	else
		dms_group_return(container_of(m, struct dms_landing, msg));
}

static void skip_message(struct dms_stream *s, struct dms_rxmsg *m)
{
	struct dms_pull *p = s->pull;
	u32 seq = m->seq;

	/* what was said of its bytes is of no use to the peer any more */
	if (s->done_seq == seq)
		s->ctl &= ~DMS_CTL_DONE;
	skip_unqueue(s, m);
	if (p && p->msg == m) {
		s->ctl &= ~(DMS_CTL_HOLD | DMS_CTL_PULL);
		dms_pull_next(s);
	}
	s->skipped = true;
	s->ctl |= DMS_CTL_SKIPPED | DMS_CTL_UPDATE;
	dms_stat_inc(DMS_STAT_SKIPS_DONE);
	dms_rx_deliver(s);
}

/**
 * dms_skip_decide() - answer a SKIP, when that is possible
 * @s: has skip_due; stream->lock is held
 *
 * Not while a READ, or the peer, writes to where the message lands.  It may be delivered by the
 * time that they have ended; then UPDATE is the answer.
 */
void dms_skip_decide(struct dms_stream *s)
{
	struct dms_rxmsg *m = skip_arrived(s, s->skip_rx_seq);

	if (s->state != DMS_STREAM_OPEN)
		return;
	if (m && (m->granted || (s->pull && s->pull->msg == m && s->pull->reads)))
		return;
	s->skip_due = false;
	if (m) {
		skip_message(s, m);
	} else {
		s->ctl |= DMS_CTL_UPDATE;
		dms_stat_inc(DMS_STAT_SKIPS_LATE);
	}
}

/* SKIP: the sender does not want this one to be delivered. */
enum dms_rule dms_skip_rx(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule;

	spin_lock(&s->lock);
	/* while CLOSING all that is not delivered is refused, which answers */
	if (s->state == DMS_STREAM_CLOSING) {
		rule = DMS_RULE_NONE;
		goto out;
	}
	if (!dms_rx_hears(s, &rule))
		goto out;
	/* the one before may have been delivered, and its UPDATE have been the answer */
	if (s->skip_due)
		dms_skip_decide(s);
	if (s->skip_due || s->ctl & DMS_CTL_SKIPPED || (s32)(f->seq - s->rx_seq) > 0 ||
	    (s->rx_fin && f->seq == s->rx_seq) || (s->skipped && f->seq == s->skip_rx_seq)) {
		rule = DMS_RULE_ACK;
		goto out;
	}
	s->skip_rx_seq = f->seq;
	s->skipped = false;
	s->skip_due = true;
	dms_skip_decide(s);
out:
	spin_unlock(&s->lock);
	return rule;
}

/**
 * dms_skip_put() - SKIPPED, when it is owed
 * @s: path->lock and stream->lock are held
 * @b: packet under construction
 *
 * Return: false when there is no room.
 */
bool dms_skip_put(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame f = {
		.type = DMS_F_SKIPPED, .stream = s->peer_sid, .seq = s->skip_rx_seq,
	};

	if (!(s->ctl & DMS_CTL_SKIPPED))
		return true;
	if (!dms_build_room(b, 0, 0))
		return false;
	dms_build_frame(b, &f);
	s->ctl &= ~DMS_CTL_SKIPPED;
	return true;
}

/**
 * dms_skip_suspend() - the carrier is fenced
 * @s: stream->lock is held; s->ctl is what is owed in the next epoch
 *
 * SKIP is said again when both have resumed, of what is still in flight then.  A SKIP that was
 * not answered is forgotten for that reason; an answer may not have come.
 */
void dms_skip_suspend(struct dms_stream *s)
{
	s->skip_out = false;
	s->skip_due = false;
	if (s->skipped)
		s->ctl |= DMS_CTL_SKIPPED;
}
