// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sending side of a stream.
 *
 * A request moves txq -> flight -> ending -> completed:
 *   txq      accepted, not on the wire; CANCEL can take it back
 *   flight   has a sequence number and is on the wire: as a DATA frame, or
 *            announced by RTS; CANCEL asks the peer, see stream_skip.c
 *   ending   the peer acknowledged it, but a NIC may still read its buffer: a
 *            packet that gathers from it is out, or a key to it
 * It completes when it is acknowledged, no packet gathers from it (wire == 0),
 * and every key to it was revoked (keys empty); or when the path is fenced,
 * after which none of these can matter.
 *
 * A message that is pushed is in flight as one of a DATA frame is: the packet that says
 * so is the one that it is told of with.
 *
 * An announced request is also on rtsq until all of it was pulled and no key is
 * left.  Keys go out for the first one there that is not all pulled.
 */
#include <linux/list.h>
#include <linux/slab.h>

#include "core/seg.h"
#include "core/tile.h"
#include "eager.h"
#include "path.h"
#include "pool.h"
#include "req.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/* It is about to complete. */
static void tx_end(struct dms_stream *s, struct dms_req *req, int result)
{
	if (req->announced)
		list_del_init(&req->rts_node);
	s->tx_queued--;
	if (result >= 0) {
		s->tx_msgs++;
		s->tx_bytes += result;
		dms_stat_inc(DMS_STAT_TX_MSGS);
	} else {
		s->undelivered = true;
	}
	req->result = result;
}

static void tx_complete(struct dms_stream *s, struct dms_req *req, int result)
{
	list_del_init(&req->node);
	tx_end(s, req, result);
	dms_req_complete(req, result, 0, req->seq, 0);
}

/* Ends a request if nothing can touch its buffer any more. */
void dms_tx_try_complete(struct dms_stream *s, struct dms_req *req)
{
	if (!req->acked || req->wire || !list_empty(&req->keys))
		return;
	tx_complete(s, req, req->result);
}

/*
 * The peer's last word on a request: it is out of flight, and on @over when nothing
 * can touch its buffer any more.
 */
static void tx_acked(struct dms_stream *s, struct dms_req *req, struct list_head *over)
{
	req->acked = true;
	if (req->announced) {
		s->announced--;
		req->done = req->len;
	}
	if (!req->wire && list_empty(&req->keys)) {
		tx_end(s, req, req->result);
		list_move_tail(&req->node, over);
		return;
	}
	list_move_tail(&req->node, &s->ending);
	if (req->flags & DMASTREAM_SQE_SPLIT)
		dms_req_tell(req, req->result, req->seq);
}

static void tx_complete_all(struct list_head *over)
{
	if (!list_empty(over))
		dms_reqs_complete(over);
}

/* Nothing of it is on the wire. */
static void tx_fresh(struct dms_req *req)
{
	req->seq = 0;
	req->result = req->len;
	req->keyed = 0;
	req->done = 0;
	req->gen = 0;
	req->wire = 0;
	req->announced = false;
	req->acked = false;
	req->held = false;
}

/**
 * dms_tx_take() - take a SEND
 * @s: its stream; stream->lock is held
 * @req: the request, on a list of the caller
 *
 * Return: 0, -ENOTCONN (not open yet, or lost), -EPIPE (shut down, closed or
 * reset); then it stays where it is.
 */
int dms_tx_take(struct dms_stream *s, struct dms_req *req)
{
	if (s->state == DMS_STREAM_WAITING || s->state == DMS_STREAM_CONNECTING || s->lost)
		return -ENOTCONN;
	if (s->state != DMS_STREAM_OPEN || s->shut)
		return -EPIPE;
	/* keys and rts_node are empty from the beginning, and at each end */
	tx_fresh(req);
	list_move_tail(&req->node, &s->txq);
	if (!s->tx_queued++)
		s->tx_idle = true;
	return 0;
}

/**
 * dms_tx_requeue() - a SEND did not arrive before its carrier failed
 * @s: its stream; stream->lock is held
 * @req: on no list; no packet and no key is out
 */
void dms_tx_requeue(struct dms_stream *s, struct dms_req *req)
{
	tx_fresh(req);
	list_add(&req->node, &s->txq);
}

/**
 * dms_tx_peer() - what the peer receives with
 * @s: stream->lock is held
 * @flags: DMS_FF_*
 * @small: bytes of its small landings
 */
void dms_tx_peer(struct dms_stream *s, u32 flags, u32 small)
{
	s->peer_posted = flags & DMS_FF_POSTED;
	s->peer_nolarge = flags & DMS_FF_NOLARGE;
	s->peer_pushes = flags & DMS_FF_PUSH;
	s->peer_small = small;
	dms_land_tx_init(&s->land_tx, s->peer_posted ? DMS_POSTED_CREDITS :
						       DMS_SMALL_CREDITS);
	s->peer_open = true;
}

static u32 tx_eager_max(const struct dms_stream *s)
{
	u32 max = s->path->eager_max;

	return s->peer_posted ? max : min(max, s->peer_small);
}

/*
 * Pieces that the NIC gathers a message of more than DMS_COPY_MAX from; 0: it is copied; more than @most:
 * it cannot be eager.
 *
 * A tile of more pieces than can be gathered is copied as long as a packet's buffer
 * has room for it: one key, one READ and one more round trip for every few of its
 * rows would cost a multiple of the copy.
 */
static u32 tx_pieces(const struct dms_req *req, u32 most)
{
	struct dms_elem piece;
	u32 shift, at, n = 0;

	shift = req->pool->chunk_shift;
	for (at = 0; at < req->len && n <= most; at += piece.len) {
		if (!dms_req_at(req, at, &piece))
			break;
		n += ((piece.off + piece.len - 1) >> shift) - (piece.off >> shift) + 1;
	}
	if (n > most && (req->flags & DMASTREAM_SQE_TILE) && req->len <= DMS_COPY_AREA)
		return 0;
	return n;
}

/* Is it sent as an eager message?  Then *@pieces is as above. */
static bool tx_is_eager(const struct dms_stream *s, const struct dms_path *path,
			const struct dms_req *req, u32 *pieces)
{
	u32 most;

	*pieces = 0;
	if (req->len > tx_eager_max(s))
		return false;
	if (likely(req->len <= DMS_COPY_MAX))
		return true;
	most = dms_build_pieces_max(path);
	*pieces = tx_pieces(req, most);
	return *pieces <= most;
}

/* Inline: as tx_may(). */
static __always_inline void tx_on_wire(struct dms_stream *s, struct dms_req *req)
{
	req->seq = ++s->tx_seq;
	list_move_tail(&req->node, &s->flight);
	dms_turn_charge(&s->turn, req->len, s->weight);
}

/*
 * A landing credit, the rate and the window let a message go; the window has taken
 * @charge then.  Inline: each short message comes through here.
 */
static __always_inline bool tx_may(struct dms_stream *s, struct dms_path *path, u64 charge,
				   enum dms_served *served)
{
	*served = DMS_SERVED;
	if (!dms_land_tx_avail(&s->land_tx)) {
		s->waits |= DMASTREAM_WAIT_CREDIT;
		dms_stat_inc(DMS_STAT_CREDIT_STALLS);
		return false;
	}
	if (!dms_path_rate_may(path)) {
		s->waits |= DMASTREAM_WAIT_RATE;
		*served = DMS_SERVED_WINDOW;
		return false;
	}
	if (!dms_path_charge(path, charge)) {
		s->waits |= DMASTREAM_WAIT_WINDOW;
		dms_stat_inc(DMS_STAT_WINDOW_STALLS);
		*served = DMS_SERVED_WINDOW;
		return false;
	}
	return true;
}

/* True: sent; else *served says why not. */
static bool tx_eager(struct dms_stream *s, struct dms_build *b, struct dms_req *req,
		     u32 pieces, enum dms_served *served)
{
	struct dms_path *path = b->path;
	u64 charge = dms_window_charge(&path->window, req->len);
	struct dms_frame f = {
		.type = DMS_F_DATA,
		.stream = s->peer_sid,
		.seq = s->tx_seq + 1,
		.len = req->len,
		.tag = req->tag,
	};

	if (!tx_may(s, path, charge, served))
		return false;
	if (!dms_build_room(b, req->len, pieces)) {
		dms_window_put(&path->window, charge);
		*served = DMS_SERVED_STALLED;
		return false;
	}
	dms_build_frame(b, &f);
	dms_build_charge(b, charge);
	if (pieces)
		dms_build_gather(b, req);
	else if (req->len)
		dms_eager_copy_out(dms_build_copy(b, req->len), req);
	dms_land_tx_take(&s->land_tx);
	dms_stat_add(DMS_STAT_EAGER_TX_BYTES, req->len);
	tx_on_wire(s, req);
	return true;
}

/* Its WRITEs, which go back when it is not sent. */
static bool tx_push(struct dms_stream *s, struct dms_build *b, struct dms_req *req,
		    struct dms_write *w, enum dms_served *served)
{
	struct dms_path *path = b->path;
	u64 charge = dms_window_charge(&path->window, req->len);
	struct dms_frame f = {
		.type = DMS_F_PUSHED,
		.stream = s->peer_sid,
		.seq = s->tx_seq + 1,
		.len = req->len,
		.tag = req->tag,
	};

	if (!tx_may(s, path, charge, served))
		goto put_writes;
	if (!dms_build_room(b, 0, 0)) {
		dms_window_put(&path->window, charge);
		*served = DMS_SERVED_STALLED;
		goto put_writes;
	}
	dms_build_frame(b, &f);
	dms_build_charge(b, charge);
	dms_build_writes(b, w, req);
	dms_land_tx_take(&s->land_tx);
	dms_path_stat_tx(s->path, req->len);
	dms_stat_inc(DMS_STAT_PUSH_TX);
	tx_on_wire(s, req);
	return true;

put_writes:
	dms_path_put_writes(path, w);
	return false;
}

static bool tx_announce(struct dms_stream *s, struct dms_build *b, struct dms_req *req,
			enum dms_served *served)
{
	struct dms_frame f = {
		.type = DMS_F_RTS,
		.stream = s->peer_sid,
		.seq = s->tx_seq + 1,
		.len = req->len,
		.tag = req->tag,
	};

	*served = DMS_SERVED;
	if (s->announced == DMS_ANNOUNCE_SLOTS)
		return false;
	if (s->peer_posted && !dms_land_tx_avail(&s->land_tx)) {
		s->waits |= DMASTREAM_WAIT_CREDIT;
		dms_stat_inc(DMS_STAT_CREDIT_STALLS);
		return false;
	}
	if (!dms_build_room(b, 0, 0)) {
		*served = DMS_SERVED_STALLED;
		return false;
	}
	dms_build_frame(b, &f);
	if (s->peer_posted)
		dms_land_tx_take(&s->land_tx);
	req->announced = true;
	s->announced++;
	list_add_tail(&req->rts_node, &s->rtsq);
	req->seq = ++s->tx_seq;
	list_move_tail(&req->node, &s->flight);
	return true;
}

/* The announced request that keys go out for: the first that is not all pulled. */
static struct dms_req *tx_head(struct dms_stream *s)
{
	struct dms_req *req;

	list_for_each_entry(req, &s->rtsq, rts_node)
		if (req->done < req->len)
			return req;
	return NULL;
}

static u32 tx_keys_ahead(const struct dms_req *req)
{
	const struct dms_key *key;
	u32 n = 0;

	list_for_each_entry(key, &req->keys, node)
		n += !key->due;
	return n;
}

static struct dms_key *tx_take_key(struct dms_stream *s, struct dms_path *path, u32 len,
				   enum dms_served *served)
{
	u64 charge = dms_window_charge(&path->window, len);
	struct dms_key *key;

	key = list_first_entry_or_null(&path->keys_free, struct dms_key, node);
	if (!key) {
		s->waits |= DMASTREAM_WAIT_KEY;
		dms_stat_inc(DMS_STAT_KEY_STALLS);
		dms_path_wait(path, &path->wait_key, s);
		return NULL;
	}
	if (!dms_path_charge(path, charge)) {
		s->waits |= DMASTREAM_WAIT_WINDOW;
		dms_stat_inc(DMS_STAT_WINDOW_STALLS);
		*served = DMS_SERVED_WINDOW;
		return NULL;
	}
	key->charge = charge;
	key->write = false;
	key->due = false;
	key->revoking = false;
	key->len = len;
	list_del_init(&key->node);
	return key;
}

/*
 * The segment that starts with byte @at of the message: *@tile from its byte *@from on;
 * its length, or 0.
 */
static u32 tx_seg(const struct dms_path *path, const struct dms_req *req, u32 at,
		  struct dms_tile *tile, u32 *from)
{
	struct dms_seg seg;

	if (req->flags & DMASTREAM_SQE_TILE) {
		*tile = req->tile;
		*from = at;
		return dms_tile_seg(tile, at, path->seg_pages, PAGE_SHIFT);
	}
	if (!dms_seg_at(req->elem, req->nr_elem, at, path->seg_pages, PAGE_SHIFT, &seg))
		return 0;
	*tile = dms_tile_range(seg.off, seg.len);
	*from = 0;
	return seg.len;
}

/* Opens the next segment for the peer.  False: not now; *served says why. */
static bool tx_key(struct dms_stream *s, struct dms_build *b, struct dms_req *req,
		   enum dms_served *served)
{
	struct dms_path *path = b->path;
	struct dms_key *key;
	struct dms_tile tile;
	u32 from, len;
	struct dms_frame f = {
		.type = DMS_F_KEY,
		.stream = s->peer_sid,
		.seq = req->seq,
		.gen = req->gen,
		.a = req->keyed,
	};

	*served = DMS_SERVED;
	len = tx_seg(path, req, req->keyed, &tile, &from);
	if (WARN_ON_ONCE(!len))
		return false;
	if (!dms_path_rate_may(path)) {
		s->waits |= DMASTREAM_WAIT_RATE;
		*served = DMS_SERVED_WINDOW;
		return false;
	}
	/* Room first: an exposed key must reach the peer, or be taken back. */
	if (!dms_build_room(b, 0, 0)) {
		*served = DMS_SERVED_STALLED;
		return false;
	}
	key = tx_take_key(s, path, len, served);
	if (!key)
		return false;
	key->at = req->keyed;
	key->req = req;
	if (path->ops->expose(path, key, req->pool, &tile, from, len)) {
		dms_window_put(&path->window, key->charge);
		list_add(&key->node, &path->keys_free);
		b->failed = true;
		return false;
	}
	path->keys_out++;
	dms_gauge_inc(DMS_GAUGE_KEYS_OUT);
	s->nr_keys++;
	list_add_tail(&key->node, &req->keys);
	f.len = len;
	f.tag = key->addr;
	f.b = key->rkey;
	dms_build_frame(b, &f);
	dms_path_rate_charge(path, len);
	req->keyed += len;
	dms_turn_charge(&s->turn, len, s->weight);
	return true;
}

static enum dms_served tx_keys(struct dms_stream *s, struct dms_build *b)
{
	struct dms_req *req = tx_head(s);
	enum dms_served served = DMS_SERVED;

	if (!req)
		return DMS_SERVED;
	if (req->held) {
		s->waits |= DMASTREAM_WAIT_HOLD;
		return DMS_SERVED;
	}
	if (req->flags & DMS_REQ_SKIP)	/* until the peer has said what becomes of it */
		return DMS_SERVED;
	while (req->keyed < req->len && tx_keys_ahead(req) < DMS_KEYS_AHEAD) {
		if (!dms_turn_may(&b->path->sched, &s->turn))
			return DMS_SERVED_MORE;
		if (!tx_key(s, b, req, &served))
			return served;
	}
	return DMS_SERVED;
}

/*
 * Pushed, where the peer has granted it, or announced.  False: no more now; *served says why.
 * Not inline: short messages come through the caller.
 */
static noinline bool tx_long(struct dms_stream *s, struct dms_build *b, struct dms_req *req,
		    enum dms_served *served)
{
	struct dms_write *w = s->push ? dms_push_writes(s, b->path, req) : NULL;

	if (w)
		return tx_push(s, b, req, w, served);
	if (!tx_announce(s, b, req, served))
		return false;
	*served = tx_keys(s, b);
	return *served == DMS_SERVED;
}

/* Submission order is wire order: what cannot go holds up what is behind it. */
static enum dms_served tx_messages(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served;
	struct dms_req *req;
	u32 pieces;
	bool sent;

	while ((req = list_first_entry_or_null(&s->txq, struct dms_req, node))) {
		if (!s->peer_open) {
			s->waits |= DMASTREAM_WAIT_CREDIT;
			return DMS_SERVED;
		}
		if (!dms_turn_may(&b->path->sched, &s->turn))
			return DMS_SERVED_MORE;
		if (tx_is_eager(s, b->path, req, &pieces)) {
			sent = tx_eager(s, b, req, pieces, &served);
		} else if (s->peer_nolarge && !s->peer_posted) {
			tx_complete(s, req, -EMSGSIZE);
			continue;
		} else {
			sent = tx_long(s, b, req, &served);
		}
		if (!sent)
			return served;
	}
	return DMS_SERVED;
}

/* Answers RECALL: all credits but one, when there is nothing to send with them. */
static enum dms_served tx_return(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame f = { .type = DMS_F_RETURN, .stream = s->peer_sid };
	u32 avail = dms_land_tx_avail(&s->land_tx);

	if (!(s->ctl & DMS_CTL_RETURN))
		return DMS_SERVED;
	if (!dms_build_room(b, 0, 0))
		return DMS_SERVED_STALLED;
	if (list_empty(&s->txq) && avail)
		f.a = avail - 1;
	for (avail = f.a; avail; avail--)
		dms_land_tx_take(&s->land_tx);
	dms_build_frame(b, &f);
	s->ctl &= ~DMS_CTL_RETURN;
	return DMS_SERVED;
}

static enum dms_served tx_fin(struct dms_stream *s, struct dms_build *b)
{
	struct dms_frame f = {
		.type = DMS_F_FIN,
		.stream = s->peer_sid,
		.seq = s->tx_seq + 1,
	};

	/* not before ACCEPT: in the backlog there is nobody to hear an end */
	if (!(s->ctl & DMS_CTL_FIN) || !s->peer_open || !list_empty(&s->txq))
		return DMS_SERVED;
	if (!dms_build_room(b, 0, 0))
		return DMS_SERVED_STALLED;
	dms_build_frame(b, &f);
	s->tx_seq++;
	s->ctl &= ~DMS_CTL_FIN;
	s->fin_sent = true;
	return DMS_SERVED;
}

/* Messages to be sent, or keys to be given, as far as that can be told without trying. */
static bool tx_wants(struct dms_stream *s)
{
	struct dms_req *req;

	if (!list_empty(&s->txq))
		return true;
	req = tx_head(s);
	return req && !req->held && !(req->flags & DMS_REQ_SKIP) && req->keyed < req->len;
}

/* What goes when there is nothing to send, or nothing more. */
static enum dms_served tx_rest(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served = tx_return(s, b);

	return served == DMS_SERVED ? tx_fin(s, b) : served;
}

/**
 * dms_tx_turn() - send what one turn may
 * @s: OPEN or CLOSING, waits for no turn; path->lock and stream->lock are held
 * @b: packet under construction
 *
 * It waits for its next turn, or for this one to go on, unless it has sent all, or lacks
 * something that is its own: then it is made ready when that comes.
 */
enum dms_served dms_tx_turn(struct dms_stream *s, struct dms_build *b)
{
	enum dms_served served = tx_keys(s, b);

	if (served == DMS_SERVED)
		served = tx_messages(s, b);
	if (served == DMS_SERVED)
		return tx_rest(s, b);
	/* one that lacks a key has its place with those that do */
	if (!dms_turn_waits(&s->turn)) {
		dms_mux_wait(b->path, s, served != DMS_SERVED_MORE);
		if (!(s->waits & DMASTREAM_WAIT_RATE))
			s->waits |= DMASTREAM_WAIT_WINDOW;
	}
	return served;
}

/**
 * dms_tx_serve() - send what may be sent, or wait for a turn
 * @s: OPEN or CLOSING; path->lock and stream->lock are held
 * @b: packet under construction
 */
enum dms_served dms_tx_serve(struct dms_stream *s, struct dms_build *b)
{
	if (!s->peer_sid)
		return DMS_SERVED;
	if (!dms_turn_waits(&s->turn) && tx_wants(s)) {
		bool idle = s->tx_idle;

		s->tx_idle = false;
		if (dms_mux_begin(b->path, s, idle))
			return dms_tx_turn(s, b);
		s->waits |= DMASTREAM_WAIT_WINDOW;
	}
	return tx_rest(s, b);
}

/**
 * dms_tx_revoke() - take back the keys that are due
 * @s: any state; path->lock and stream->lock are held
 * @b: of the path
 *
 * The buffer is the process's again only after the invalidation completed:
 * until then a peer that misbehaves could still read it.
 */
void dms_tx_revoke(struct dms_stream *s, struct dms_build *b)
{
	struct dms_req *req, *next;
	struct dms_key *key;

	if (!s->nr_keys)
		return;
	list_for_each_entry_safe(req, next, &s->rtsq, rts_node) {
		list_for_each_entry(key, &req->keys, node) {
			if (key->at + key->len <= req->done)
				key->due = true;
			if (!key->due || key->revoking)
				continue;
			key->revoking = true;
			if (key->at + key->len <= req->done)
				dms_path_pulled(b->path, key->len);
			dms_window_put(&b->path->window, key->charge);
			if (b->path->ops->revoke(b->path, key)) {
				b->failed = true;
				return;
			}
		}
	}
}

/**
 * dms_stream_key_free() - a key to a request was revoked
 * @key: of ops->revoke(); the path's again on return
 *
 * Context: process, no lock held.
 */
void dms_stream_key_free(struct dms_key *key)
{
	struct dms_req *req = key->req;
	struct dms_stream *s = req->stream;

	dms_stream_get(s);
	spin_lock(&s->lock);
	list_del_init(&key->node);
	key->req = NULL;
	s->nr_keys--;
	if (list_empty(&req->keys) && req->done == req->len)
		list_del_init(&req->rts_node);
	dms_tx_try_complete(s, req);
	dms_ctl_check_end(s);
	spin_unlock(&s->lock);
	dms_mux_ready(s);
	dms_stream_put(s);
}

/**
 * dms_stream_wire_done() - a packet that gathered from a request is out no more
 * @req: counted it in req->wire
 *
 * Context: process, no lock held.
 */
void dms_stream_wire_done(struct dms_req *req)
{
	struct dms_stream *s = req->stream;

	dms_stream_get(s);
	spin_lock(&s->lock);
	req->wire--;
	dms_tx_try_complete(s, req);
	dms_ctl_check_end(s);
	spin_unlock(&s->lock);
	dms_stream_put(s);
}

/* A FIN that waits for ACCEPT holds up no CLOSE: the orderly RESET says the same. */
bool dms_tx_all_acked(const struct dms_stream *s)
{
	return list_empty(&s->txq) && list_empty(&s->flight) &&
	       !(s->ctl & DMS_CTL_FIN && s->peer_open);
}

/* ---- what the peer says; the handlers of proto.c ---- */

static bool tx_hears(const struct dms_stream *s)
{
	return s->state == DMS_STREAM_OPEN || s->state == DMS_STREAM_CLOSING;
}

/* DONE: the peer has pulled so much of the head message. */
enum dms_rule dms_tx_done(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_req *req;

	spin_lock(&s->lock);
	if (!tx_hears(s))
		goto out;
	req = tx_head(s);
	if (!req || req->seq != f->seq || f->a < req->done || f->a > req->keyed) {
		rule = DMS_RULE_DONE;
		goto out;
	}
	dms_path_stat_tx(s->path, f->a - req->done);
	req->done = f->a;
out:
	spin_unlock(&s->lock);
	return rule;
}

/* HOLD: the peer cannot go on pulling; it reads no more with the keys it has. */
enum dms_rule dms_tx_hold(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_key *key;
	struct dms_req *req;

	spin_lock(&s->lock);
	if (!tx_hears(s))
		goto out;
	req = tx_head(s);
	if (!req || req->seq != f->seq || req->held || f->a < req->done ||
	    f->a > req->keyed || f->a >= req->len ||
	    f->gen != (u16)(req->gen + 1)) {
		rule = DMS_RULE_DONE;
		goto out;
	}
	dms_path_stat_tx(s->path, f->a - req->done);
	req->gen = f->gen;
	req->held = true;
	req->done = f->a;
	req->keyed = f->a;
	list_for_each_entry(key, &req->keys, node)
		key->due = true;
	s->waits |= DMASTREAM_WAIT_HOLD;
out:
	spin_unlock(&s->lock);
	return rule;
}

/* PULL: it can again. */
enum dms_rule dms_tx_pull(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_req *req;

	spin_lock(&s->lock);
	if (!tx_hears(s))
		goto out;
	req = tx_head(s);
	if (!req || req->seq != f->seq || !req->held || f->gen != req->gen) {
		rule = DMS_RULE_DONE;
		goto out;
	}
	req->held = false;
	s->waits &= ~DMASTREAM_WAIT_HOLD;
out:
	spin_unlock(&s->lock);
	return rule;
}

/* Everything up to @seq was delivered. [lock] */
enum dms_rule dms_tx_ack(struct dms_stream *s, u32 seq)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_req *req;
	LIST_HEAD(over);

	if ((s32)(seq - s->tx_acked) < 0 || (s32)(seq - s->tx_seq) > 0)
		return DMS_RULE_ACK;
	s->tx_acked = seq;
	while ((req = list_first_entry_or_null(&s->flight, struct dms_req, node))) {
		if ((s32)(req->seq - seq) > 0)
			break;
		/* What was not pulled cannot be delivered, but for a refused one. */
		if (req->announced && req->result >= 0 && req->keyed < req->len) {
			rule = DMS_RULE_ACK;
			break;
		}
		if (req->announced && req->result >= 0)
			dms_path_stat_tx(s->path, req->len - req->done);
		tx_acked(s, req, &over);
	}
	tx_complete_all(&over);
	return rule;
}

/* UPDATE: acknowledgement and landing credit. */
enum dms_rule dms_tx_update(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&s->lock);
	if (!tx_hears(s) && s->state != DMS_STREAM_BACKLOG)
		goto out;
	if (!s->peer_open)
		rule = DMS_RULE_STATE;
	else if (dms_land_tx_grant(&s->land_tx, f->a))
		rule = DMS_RULE_GRANT;
	else
		rule = dms_tx_ack(s, f->seq);
	dms_ctl_check_end(s);
out:
	spin_unlock(&s->lock);
	return rule;
}

/*
 * NACK: this one was not delivered; the UPDATE, RESET or RESET_ACK that covers it
 * follows.  Heard also while we are closing: that last word counts on it.
 */
enum dms_rule dms_tx_nack(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule;
	struct dms_req *req;

	spin_lock(&s->lock);
	rule = tx_hears(s) ? DMS_RULE_ACK : DMS_RULE_NONE;
	list_for_each_entry(req, &s->flight, node) {
		if (req->seq != f->seq)
			continue;
		if (req->result >= 0 && f->a && f->a <= MAX_ERRNO) {
			req->result = -(int)f->a;
			rule = DMS_RULE_NONE;
		} else if (req->result < 0 && s->path->carriers > 1) {
			rule = DMS_RULE_NONE;
		}
		break;
	}
	/* said once more after a resume; or it has ended by SKIPPED, and the peer closes */
	if (rule && s->path->carriers > 1 && (s32)(f->seq - s->tx_acked) <= 0)
		rule = DMS_RULE_NONE;
	if (rule && s->skipped_some && (s32)(f->seq - s->tx_seq) <= 0)
		rule = DMS_RULE_NONE;
	if (!rule && f->a == EMSGSIZE && s->path->resumes && tx_hears(s)) {
		s->nack_ack_seq = f->seq;
		s->ctl |= DMS_CTL_NACK_ACK;
	}
	spin_unlock(&s->lock);
	return rule;
}

/* RECALL: give back the landing credits that are not needed. */
enum dms_rule dms_tx_recall(struct dms_stream *s, const struct dms_frame *f)
{
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&s->lock);
	if (tx_hears(s)) {
		if (!s->peer_open || s->peer_posted || (s->ctl & DMS_CTL_RETURN))
			rule = DMS_RULE_GRANT;
		else
			s->ctl |= DMS_CTL_RETURN;
	}
	spin_unlock(&s->lock);
	return rule;
}

/* ---- the end ---- */

/**
 * dms_tx_drop_queued() - sends that did not leave end, not delivered
 * @s: stream->lock is held; the caller holds a reference
 * @err: their result
 */
void dms_tx_drop_queued(struct dms_stream *s, int err)
{
	struct dms_req *req, *next;

	list_for_each_entry_safe(req, next, &s->txq, node)
		tx_complete(s, req, err);
}

/**
 * dms_tx_settle() - the peer's RESET or RESET_ACK: the last word on all sends
 * @s: stream->lock is held
 * @seq: the last one that it delivered
 *
 * The peer has no READ in flight any more, so all keys may go.
 */
enum dms_rule dms_tx_settle(struct dms_stream *s, u32 seq)
{
	struct dms_req *req, *next;
	enum dms_rule rule;
	struct dms_key *key;
	LIST_HEAD(over);

	/* what a closing peer refuses again after a resume is over for us already */
	if (s->path->carriers > 1 && (s32)(seq - s->tx_acked) < 0)
		seq = s->tx_acked;
	rule = dms_tx_ack(s, seq);
	if (rule)
		return rule;
	list_for_each_entry_safe(req, next, &s->flight, node) {
		if (req->result >= 0)
			req->result = -EPIPE;
		list_for_each_entry(key, &req->keys, node)
			key->due = true;
		tx_acked(s, req, &over);
	}
	tx_complete_all(&over);
	dms_tx_drop_queued(s, -EPIPE);
	return DMS_RULE_NONE;
}

/**
 * dms_tx_lost() - the path is fenced
 * @s: stream->lock is held
 * @unsent: result of what never left
 * @unknown: result of what left and was not acknowledged
 *
 * No packet, no key and no READ of the peer reaches the buffers any more.
 */
void dms_tx_lost(struct dms_stream *s, int unsent, int unknown)
{
	struct dms_req *req, *next;
	struct dms_key *key, *tmp;

	list_splice_tail_init(&s->flight, &s->ending);
	list_for_each_entry_safe(req, next, &s->ending, node) {
		list_for_each_entry_safe(key, tmp, &req->keys, node) {
			list_del_init(&key->node);
			key->req = NULL;
			s->nr_keys--;
		}
		tx_complete(s, req, req->acked || req->result < 0 ? req->result : unknown);
	}
	dms_tx_drop_queued(s, unsent);
}
