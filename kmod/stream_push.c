// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct push: a receiver that posts its buffers opens some of them ahead, and the
 * sender WRITEs its next messages there.
 *
 *   receiver, process opted in			sender
 *   ==========================			======
 *   a RECV is one of the next few messages':
 *   key for WRITE, GRANT(seq)		  ---->	the message of that number fits:
 *					  <----	WRITE, then PUSHED(seq) behind it
 *   LOCAL_INV; when it has completed:
 *   delivered				  ---->	UPDATE, as of any message
 *
 * Three things are kept to, whatever the peer does:
 *
 *  - a RECV is not completed while its key may open anything (rxmsg.granted), so no
 *    process sees bytes that the peer can still change, and its pages stay;
 *  - a key is made invalid only when no WRITE of a peer that is well can meet it: its
 *    message came (pushed, or another way), the peer has answered REVOKE by REVOKED,
 *    or has said FIN, RESET or RESET_ACK, each of them behind its last WRITE on the same
 *    queue pair; or the path is fenced;
 *  - a grant that cannot be used costs nothing but its key: the message comes another
 *    way, and says by that what became of the grant.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "core/tile.h"
#include "group.h"
#include "ibdev.h"
#include "incast.h"
#include "node.h"
#include "path.h"
#include "pool.h"
#include "req.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/**
 * dms_push_alloc() - what a stream needs for it
 * @s: the stream that gets it as s->push
 * @gfp: how to allocate
 *
 * Return: what dms_push_free() frees, or NULL.
 */
struct dms_push *dms_push_alloc(struct dms_stream *s, gfp_t gfp)
{
	struct dms_push *p = kzalloc(sizeof(*p), gfp);

	if (!p)
		return NULL;
	INIT_LIST_HEAD(&p->node);
	p->stream = s;
	dms_grants_rx_init(&p->rx);
	return p;
}

void dms_push_free(struct dms_push *p)
{
	if (!p)
		return;
	WARN_ON_ONCE(!list_empty(&p->node) || dms_grants_rx_busy(&p->rx));
	kfree(p);
}

/* Our process has asked for it, and the peer knows what a grant is. */
static bool push_on(const struct dms_stream *s, const struct dms_path *path)
{
	return s->push && s->flags & DMASTREAM_STREAM_PUSH && path->pushes;
}

/**
 * dms_push_flag() - what CONNECT and ACCEPT say of it
 * @s: attached
 * @path: its path
 *
 * Return: DMS_FF_PUSH or 0.
 */
u32 dms_push_flag(const struct dms_stream *s, const struct dms_path *path)
{
	return push_on(s, path) ? DMS_FF_PUSH : 0;
}

/* ---- receiving: what becomes of grants ---- */

/**
 * dms_push_busy() - can the peer write anywhere, for all we know?
 * @s: stream->lock is held
 *
 * Return: true as long as a key is out or is being made invalid.
 */
bool dms_push_busy(const struct dms_stream *s)
{
	return s->push && dms_grants_rx_busy(&s->push->rx);
}

/**
 * dms_push_used() - PUSHED came
 * @s: stream->lock is held
 * @seq: of the message
 * @len: of the message
 *
 * Return: 0, and the key is due; -EPROTO: that was not granted.
 */
int dms_push_used(struct dms_stream *s, u32 seq, u32 len)
{
	struct dms_push *p = s->push;

	if (!p || dms_grants_rx_pushed(&p->rx, seq, len))
		return -EPROTO;
	p->key[dms_grant_at(seq)]->pushed = len;
	p->used = jiffies;
	s->ctl |= DMS_CTL_GRANT;
	return 0;
}

/**
 * dms_push_passed() - a message came that was not pushed
 * @s: has s->push; stream->lock is held
 * @seq: of the message
 * @announced: it would have been pushed, had it been granted
 */
void dms_push_passed(struct dms_stream *s, u32 seq, bool announced)
{
	struct dms_push *p = s->push;

	if (!dms_grants_rx_passed(&p->rx, seq) && announced)
		dms_grants_rx_missed(&p->rx);
	s->ctl |= DMS_CTL_GRANT;
}

/**
 * dms_push_refused() - a message came that our process does not want any more
 * @s: CLOSING; stream->lock is held
 * @f: PUSHED, or another frame that brings a message, or FIN
 *
 * Return: 0 or -EPROTO, as dms_push_used().
 */
int dms_push_refused(struct dms_stream *s, const struct dms_frame *f)
{
	if (f->type == DMS_F_PUSHED)
		return dms_push_used(s, f->seq, f->len);
	if (f->type == DMS_F_FIN)
		dms_push_release(s);
	else
		dms_push_passed(s, f->seq, false);
	return 0;
}

/**
 * dms_push_release() - the peer writes no more
 * @s: stream->lock is held; the caller has it served
 */
void dms_push_release(struct dms_stream *s)
{
	if (s->push && dms_grants_rx_release(&s->push->rx))
		s->ctl |= DMS_CTL_GRANT;
}

/**
 * dms_push_revoke() - take back what was granted
 * @s: OPEN or CLOSING; stream->lock is held; the caller has it served
 */
void dms_push_revoke(struct dms_stream *s)
{
	if (s->push && dms_grants_rx_revoke(&s->push->rx))
		s->ctl |= DMS_CTL_REVOKE;
}

/**
 * dms_push_drop() - RECVs end
 * @s: has s->push; stream->lock is held
 * @err: with this result
 *
 * Those that are granted end later, and are then told the reason of the first time.
 *
 * Return: that.
 */
int dms_push_drop(struct dms_stream *s, int err)
{
	if (!s->push->drop_err)
		s->push->drop_err = err;
	return s->push->drop_err;
}

/**
 * dms_push_eos_waits() - must the end that is due wait?
 * @s: stream->lock is held; nothing else is to be delivered before
 *
 * RECVs that are not ended otherwise by then end with it, when the last grant has gone:
 * push->eos_waits says so.
 *
 * Return: true when a grant holds it up.
 */
bool dms_push_eos_waits(struct dms_stream *s)
{
	bool busy = dms_push_busy(s);

	if (busy && !s->push->drop_err)
		s->push->eos_waits = true;
	return busy;
}

/**
 * dms_push_end() - make invalid what is due
 * @s: any state; path->lock and stream->lock are held
 * @path: of the stream
 *
 * Return: 0, or an errno and the path is to be killed.
 */
int dms_push_end(struct dms_stream *s, struct dms_path *path)
{
	struct dms_push *p = s->push;
	int at, err;

	while ((at = dms_grants_rx_end(&p->rx)) >= 0) {
		err = path->ops->revoke(path, p->key[at]);
		if (err)
			return err;
	}
	return 0;
}

/* The grant at a place, and the landing's mark; stream->lock is held. */
static void push_gone(struct dms_push *p, u32 at)
{
	struct dms_key *key = p->key[at];

	key->landing->msg.granted = false;
	key->landing = NULL;
	p->key[at] = NULL;
	dms_grants_rx_gone(&p->rx, at);
}

/**
 * dms_stream_grant_free() - a landing is granted no more
 * @key: of ops->revoke(); the path's again on return
 *
 * What was pushed there is looked at only now.  The RECV is still there, since it is
 * marked, and with it the stream.
 *
 * Context: process, no lock held.
 */
void dms_stream_grant_free(struct dms_key *key)
{
	struct dms_landing *l = key->landing;
	struct dms_stream *s = container_of(l, struct dms_req, landing)->stream;
	struct dms_path *path = key->path;

	if (key->pushed)
		path->ops->flush_landing(path, l, 0, key->pushed);
	dms_incast_ungrant(path->ibdev, key->charge);
	dms_stream_get(s);
	spin_lock(&s->lock);
	push_gone(s->push, key->at);
	if (s->state == DMS_STREAM_OPEN) {
		s->ctl |= DMS_CTL_GRANT;
		dms_rx_deliver(s);
		if (s->skip_due)
			dms_skip_decide(s);
	}
	dms_ctl_check_end(s);
	spin_unlock(&s->lock);
	dms_mux_ready(s);
	dms_stream_put(s);
}

/**
 * dms_push_lost() - the carrier is fenced
 * @s: stream->lock is held
 *
 * Its keys are deregistered: nothing can be written any more.  What was pushed before
 * that is there, and may be delivered when the stream goes on.
 */
void dms_push_lost(struct dms_stream *s)
{
	struct dms_path *path = s->path;
	struct dms_push *p = s->push;
	struct dms_key *key;
	u32 at;

	if (!p)
		return;
	for (at = 0; at < DMS_GRANTS_AHEAD; at++) {
		key = p->key[at];
		if (!key)
			continue;
		if (key->pushed)
			path->ops->flush_landing(path, key->landing, 0, key->pushed);
		dms_incast_ungrant(path->ibdev, key->charge);
		push_gone(p, at);
	}
	dms_grants_rx_lost(&p->rx);
	dms_grants_tx_drop(&p->tx);
}

/*
 * REVOKE is answered by the peer's module, within a round trip.  One that does not would
 * keep keys, and bytes that others could be granted; as with RESET, the path goes then.
 */
static bool push_unanswered(const struct dms_push *p)
{
	u32 lost = READ_ONCE(dms_param_peer_lost_ms);

	return lost && p->rx.revoke == DMS_REVOKE_SAID &&
	       time_after(jiffies, p->used + 2 * msecs_to_jiffies(lost));
}

/**
 * dms_stream_grants_idle() - looks at grants from time to time
 * @s: path->lock is held, and the path is pumped afterwards
 * @idle: jiffies after which they are taken back; 0: never
 *
 * Return: false when there are none.
 */
bool dms_stream_grants_idle(struct dms_stream *s, unsigned long idle)
{
	bool busy;

	spin_lock(&s->lock);
	busy = dms_push_busy(s);
	if (busy && push_unanswered(s->push)) {
		dms_path_kill(s->path, DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
	} else if (busy && idle && s->state == DMS_STREAM_OPEN &&
		   time_after_eq(jiffies, s->push->used + idle)) {
		dms_push_revoke(s);
		dms_mux_ready(s);
	}
	spin_unlock(&s->lock);
	return busy;
}

/* REVOKED: the peer has forgotten what was granted, and its last WRITE was before this. */
enum dms_rule dms_push_revoked(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&s->lock);
	if (s->state != DMS_STREAM_OPEN && s->state != DMS_STREAM_CLOSING)
		goto out;
	if (!s->push || dms_grants_rx_revoked(&s->push->rx))
		rule = DMS_RULE_PUSH;
	s->ctl |= DMS_CTL_GRANT;
out:
	spin_unlock(&s->lock);
	return rule;
}

/* ---- receiving: granting ---- */

/*
 * Bytes of a landing that one key opens: a peer whose message is longer has it pulled.
 * Not those that a packet brings anyway.
 */
static u32 push_len(const struct dms_path *path, const struct dms_landing *l)
{
	struct dms_tile tile = dms_landing_tile(l);
	u32 len = min(l->len, dms_tile_seg(&tile, 0, path->seg_pages, PAGE_SHIFT));

	return len > path->eager_max ? len : 0;
}

enum push_grant {
	PUSH_GRANTED,
	PUSH_NOT_NOW,	/* lacks a key or room for so many bytes, or the path has failed */
	PUSH_STALLED,	/* lacks a packet */
};

/* Room first, as with KEY: a key that is open must reach the peer. */
static enum push_grant push_grant(struct dms_stream *s, struct dms_build *b,
				  struct dms_landing *l, u32 seq, u32 len)
{
	struct dms_path *path = b->path;
	struct dms_tile tile = dms_landing_tile(l);
	struct dms_frame f = {
		.type = DMS_F_GRANT, .stream = s->peer_sid, .seq = seq, .len = len,
	};
	struct dms_key *key;
	u64 charge;

	if (!dms_build_room(b, 0, 0))
		return PUSH_STALLED;
	key = dms_path_get_grant_key(path);
	if (!key)
		return PUSH_NOT_NOW;
	if (!dms_incast_grant(path->ibdev, len, &charge)) {
		dms_path_put_grant_key(path, key);
		return PUSH_NOT_NOW;
	}
	if (path->ops->expose(path, key, l->pool, &tile, 0, len)) {
		dms_incast_ungrant(path->ibdev, charge);
		dms_path_put_grant_key(path, key);
		b->failed = true;
		return PUSH_NOT_NOW;
	}
	key->landing = l;
	key->at = dms_grant_at(seq);
	key->len = len;
	key->charge = charge;
	l->msg.granted = true;
	s->push->key[key->at] = key;
	s->push->used = jiffies;
	dms_grants_rx_out(&s->push->rx, seq, len);
	f.tag = key->addr;
	f.b = key->rkey;
	dms_build_frame(b, &f);
	dms_stat_inc(DMS_STAT_GRANTS_SENT);
	dms_path_grants(path, &s->push->node, s);
	return PUSH_GRANTED;
}

/*
 * The RECVs of the next few messages: of a posted stream the message of each number
 * lands in the RECV of that number.
 */
static enum dms_served push_grants(struct dms_stream *s, struct dms_build *b)
{
	enum push_grant granted = PUSH_GRANTED;
	struct dms_landing *l;
	u32 seq = s->rx_seq, len;

	if (!push_on(s, b->path) || !s->peer_open || s->rx_fin)
		return DMS_SERVED;
	list_for_each_entry(l, &s->landings, node) {
		if (++seq - s->rx_seq > DMS_GRANTS_AHEAD || dms_grants_rx_waits(&s->push->rx, seq))
			break;
		if (!dms_grants_rx_may(&s->push->rx, s->rx_seq, seq))
			continue;
		len = push_len(b->path, l);
		if (!len)
			continue;
		granted = push_grant(s, b, l, seq, len);
		if (granted != PUSH_GRANTED)
			break;
	}
	return granted == PUSH_STALLED ? DMS_SERVED_STALLED : DMS_SERVED;
}

static bool push_put(struct dms_stream *s, struct dms_build *b, u8 type)
{
	struct dms_frame f = { .type = type, .stream = s->peer_sid };

	if (!dms_build_room(b, 0, 0))
		return false;
	dms_build_frame(b, &f);
	return true;
}

/* REVOKE, unless all that it would take back was used meanwhile. */
static bool push_put_revoke(struct dms_stream *s, struct dms_build *b)
{
	struct dms_grants_rx *rx = &s->push->rx;

	if (!dms_grants_rx_count(rx, DMS_GRANT_OUT)) {
		dms_grants_rx_say(rx);
		return true;
	}
	if (!push_put(s, b, DMS_F_REVOKE))
		return false;
	s->push->used = jiffies;
	dms_stat_add(DMS_STAT_GRANTS_REVOKED, dms_grants_rx_say(rx));
	return true;
}

/**
 * dms_push_serve() - what is owed of it, and grants
 * @s: OPEN or CLOSING; path->lock and stream->lock are held; UPDATE has told the credits
 * @b: packet under construction
 *
 * A stream that finds no key, or no room, does not wait: it tries again with its next
 * RECV or message, and until then messages are pulled.
 */
enum dms_served dms_push_serve(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served = DMS_SERVED;

	if (!s->peer_sid)
		return DMS_SERVED;
	if (s->ctl & DMS_CTL_REVOKED) {
		if (!push_put(s, b, DMS_F_REVOKED))
			return DMS_SERVED_STALLED;
		s->ctl &= ~DMS_CTL_REVOKED;
	}
	if (s->ctl & DMS_CTL_REVOKE) {
		if (!push_put_revoke(s, b))
			return DMS_SERVED_STALLED;
		s->ctl &= ~DMS_CTL_REVOKE;
	}
	if (s->state == DMS_STREAM_OPEN && s->ctl & DMS_CTL_GRANT)
		served = push_grants(s, b);
	if (served == DMS_SERVED)
		s->ctl &= ~DMS_CTL_GRANT;
	return served;
}

/* ---- sending ---- */

static bool push_hears(const struct dms_stream *s)
{
	return s->state == DMS_STREAM_OPEN || s->state == DMS_STREAM_CLOSING;
}

/* GRANT: the peer's landing for a message is open. */
enum dms_rule dms_push_grant(struct dms_stream *s, const struct dms_frame *f)
{
	struct dms_grant g = { .addr = f->tag, .rkey = f->b, .seq = f->seq, .len = f->len };
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&s->lock);
	/* between REVOKE and its answer none is given */
	if (!s->peer_pushes || s->ctl & DMS_CTL_REVOKED)
		rule = DMS_RULE_PUSH;
	else if (push_hears(s) && s->push &&
		 dms_grants_tx_add(&s->push->tx, s->tx_seq, s->land_tx.limit, &g))
		rule = DMS_RULE_PUSH;
	spin_unlock(&s->lock);
	return rule;
}

/*
 * REVOKE: whatever was granted is not used any more.  The answer leaves in a packet, and
 * so behind each WRITE that was put into one.
 */
enum dms_rule dms_push_revoke_rx(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&s->lock);
	if (!s->peer_pushes || s->ctl & DMS_CTL_REVOKED) {
		rule = DMS_RULE_PUSH;
	} else if (push_hears(s)) {
		if (s->push)
			dms_grants_tx_drop(&s->push->tx);
		s->ctl |= DMS_CTL_REVOKED;
	}
	spin_unlock(&s->lock);
	return rule;
}

/* Pieces, as the NIC sees them, of what lies in one element or row. */
static u32 push_pieces(const struct dms_pool *pool, u64 off, u32 len)
{
	return ((off + len - 1) >> pool->chunk_shift) - (off >> pool->chunk_shift) + 1;
}

/* How far so many entries reach, from byte @at of a message on. */
static u32 push_span(const struct dms_req *req, u32 at, u32 max)
{
	struct dms_elem piece;
	u32 span = 0, n;

	while (max && at + span < req->len && dms_req_at(req, at + span, &piece)) {
		n = dms_pool_sge_span(req->pool, piece.off, piece.len, max);
		span += n;
		if (n < piece.len)
			break;
		max -= push_pieces(req->pool, piece.off, n);
	}
	return span;
}

/* @len bytes from byte @at on; false: a promise of push_span() was broken. */
static bool push_gather(struct dms_write *w, const struct dms_req *req, u32 at, u32 len, u32 max)
{
	struct dms_ibdev *ibdev = w->path->ibdev;
	struct dms_elem piece;
	u32 end = at + len;
	int n;

	w->nr_sge = 0;
	w->len = len;
	for (; at < end && dms_req_at(req, at, &piece); at += piece.len) {
		piece.len = min(piece.len, end - at);
		n = dms_pool_sges(req->pool, ibdev, piece.off, piece.len, &w->sge[w->nr_sge],
				  max - w->nr_sge);
		if (WARN_ON_ONCE(n < 0))
			return false;
		dms_pool_sync_for_device(req->pool, ibdev, piece.off, piece.len);
		w->nr_sge += n;
	}
	return at == end;
}

/* WRITEs that a message takes; 0: more than it may have. */
static u32 push_count(const struct dms_req *req, u32 max)
{
	u32 at = 0, n = 0, span;

	while (at < req->len) {
		span = push_span(req, at, max);
		if (!span || ++n > DMS_MSG_WRITES)
			return 0;
		at += span;
	}
	return n;
}

/**
 * dms_push_writes() - can the next message be pushed?
 * @s: has s->push; path->lock and stream->lock are held
 * @path: its path
 * @req: the next message, not empty
 *
 * Return: the WRITEs that are all of it, which dms_build_writes() takes, or
 * dms_path_put_writes(); NULL: it goes another way.
 */
struct dms_write *dms_push_writes(struct dms_stream *s, struct dms_path *path,
				  const struct dms_req *req)
{
	const struct dms_grant *g = dms_grants_tx_get(&s->push->tx, s->tx_seq + 1, req->len);
	u32 max = min_t(u32, DMS_TX_SGES, path->ibdev->max_send_sge);
	struct dms_write *first, *w;
	u32 at = 0, n, span;

	n = g ? push_count(req, max) : 0;
	first = n ? dms_path_get_writes(path, n) : NULL;
	for (w = first; w; w = w->next) {
		span = push_span(req, at, max);
		w->remote_addr = g->addr + at;
		w->rkey = g->rkey;
		if (!push_gather(w, req, at, span, max)) {
			dms_path_put_writes(path, first);
			return NULL;
		}
		at += span;
	}
	return first;
}
