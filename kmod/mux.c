// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many streams over one path.
 *
 * All posting happens in dms_mux_run(), under path->lock, whoever runs it: a
 * process in ENTER, or a worker after something arrived or completed.  One run
 * is bounded by what the peer's slot credits let out.  Only the LOCAL_INV of a landing
 * that was pushed to is posted where that is heard, see dms_rx_pushed().
 *
 * A stream that is ready says what it owes, reads, and, when nobody waits for a turn,
 * sends.  Who wants to send more than a turn, or comes while others wait, waits: turns
 * are given when all that are ready have been served (core/pick.h).
 *
 * Packing needs no timer: whatever is ready when the path can send goes into
 * the same packet; while the path cannot send, more becomes ready.
 */
#include "mux.h"

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "core/pick.h"
#include "ibdev.h"
#include "path.h"
#include "pool.h"
#include "recv.h"
#include "req.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "wq.h"

/**
 * dms_mux_ready() - have a stream served
 * @stream: with a path, or nothing happens
 *
 * The ready list holds a reference of its own, which the pump puts, or the end
 * of the path.  After that end the list takes nobody: the stream can still be
 * closed by its owner, long after, and nothing would put the reference.  The
 * caller lets the path be pumped afterwards.  Context: process; any lock may
 * be held.
 */
void dms_mux_ready(struct dms_stream *stream)
{
	struct dms_path *path = READ_ONCE(stream->path);

	if (!path)
		return;
	spin_lock(&path->ready_lock);
	if (!stream->ready && !path->ready_over) {
		stream->ready = true;
		dms_stream_get(stream);	/* put in dms_mux_serve() */
		list_add_tail(&stream->ready_node, &path->ready);
	}
	spin_unlock(&path->ready_lock);
}

/* Under ready_lock, with ready_over not set, so that the end of the path can cancel it. */
static void mux_queue_ack_work(struct dms_path *path)
{
	dms_path_get(path);		/* put in path_ack_work() */
	if (!queue_delayed_work(dms_wq, &path->ack_work, path->ack_delay))
		dms_path_put(path);	/* not the last: the caller has one */
}

/**
 * dms_mux_put_off() - the stream owes an acknowledgement that may wait
 * @stream: with a path; nothing else is to be sent of it
 *
 * It goes with whatever the path sends next.  If that is nothing, ack_work sends it.
 * Context: process, no lock held.
 */
void dms_mux_put_off(struct dms_stream *stream)
{
	struct dms_path *path = stream->path;

	dms_stat_inc(DMS_STAT_ACKS_DELAYED);
	spin_lock(&path->ready_lock);
	if (path->ready_over)
		goto out;
	stream->put_off_at = jiffies;
	if (list_empty(&stream->put_off_node)) {
		dms_stream_get(stream);	/* put in mux_acks_ride() or dms_mux_acks_late() */
		list_add_tail(&stream->put_off_node, &path->put_off);
	}
	/* one that is pending asks for ready_lock later than this, and finds it */
	if (!delayed_work_pending(&path->ack_work))
		mux_queue_ack_work(path);
out:
	spin_unlock(&path->ready_lock);
}

/*
 * From put_off to ready, with the reference; ready_lock is held.  One that has sent
 * its acknowledgement meanwhile goes: nobody took it off then.  Who owes one again
 * has ctl set before it asks for ready_lock, and so is seen here, or comes after.
 */
static bool mux_put_on(struct dms_path *path, struct dms_stream *s)
{
	list_del_init(&s->put_off_node);
	if (s->ready || !(READ_ONCE(s->ctl) & DMS_CTL_UPDATE)) {
		dms_stream_put(s);	/* of dms_mux_put_off() */
		return false;
	}
	s->ready = true;
	list_add_tail(&s->ready_node, &path->ready);
	return true;
}

/* A packet leaves: what was put off goes with it.  False: nothing was. */
static bool mux_acks_ride(struct dms_path *path)
{
	struct dms_stream *s, *tmp;
	bool any = false;

	/* one that is put on just now has its timer */
	if (list_empty_careful(&path->put_off))
		return false;
	spin_lock(&path->ready_lock);
	list_for_each_entry_safe(s, tmp, &path->put_off, put_off_node)
		any |= mux_put_on(path, s);
	spin_unlock(&path->ready_lock);
	return any;
}

/**
 * dms_mux_acks_late() - no packet came that they could go with
 * @path: path->lock is held; its pump follows
 *
 * Context: process.
 */
void dms_mux_acks_late(struct dms_path *path)
{
	struct dms_stream *s, *tmp;
	bool more = false;

	spin_lock(&path->ready_lock);
	list_for_each_entry_safe(s, tmp, &path->put_off, put_off_node) {
		if (time_before(jiffies, s->put_off_at + path->ack_delay)) {
			more = true;
			continue;
		}
		if (mux_put_on(path, s)) {
			WRITE_ONCE(s->ack_is_late, true);
			dms_stat_inc(DMS_STAT_ACKS_LATE);
		}
	}
	if (more && !path->ready_over)
		mux_queue_ack_work(path);
	spin_unlock(&path->ready_lock);
}

static struct dms_stream *mux_pop(struct dms_path *path)
{
	struct dms_stream *s;

	spin_lock(&path->ready_lock);
	s = list_first_entry_or_null(&path->ready, struct dms_stream, ready_node);
	if (s) {
		list_del_init(&s->ready_node);
		s->ready = false;
	}
	spin_unlock(&path->ready_lock);
	return s;
}

/* First again, keeping the reference; false when it was made ready meanwhile. */
static bool mux_push(struct dms_path *path, struct dms_stream *s)
{
	bool pushed = false;

	spin_lock(&path->ready_lock);
	if (!s->ready) {
		s->ready = true;
		pushed = true;
		list_add(&s->ready_node, &path->ready);
	}
	spin_unlock(&path->ready_lock);
	return pushed;
}

static u32 path_max_sges(const struct dms_path *path)
{
	return min_t(u32, DMS_TX_SGES, path->ibdev->max_send_sge);
}

/**
 * dms_build_pieces_max() - pieces that a body can be gathered from
 * @path: with its device
 *
 * Return: what a packet can have besides the one of its headers.
 */
u32 dms_build_pieces_max(const struct dms_path *path)
{
	return path_max_sges(path) - 1;
}

static u32 build_bytes(const struct dms_build *b, u32 frames, u32 body)
{
	return sizeof(struct dms_wire_pkt) +
	       frames * sizeof(struct dms_wire_frame) + body;
}

static bool build_fits(const struct dms_build *b, u32 body, u32 sges)
{
	if (b->frames == DMS_PKT_FRAMES)
		return false;
	if (build_bytes(b, b->frames + 1, b->body + body) > b->path->slot_bytes)
		return false;
	/* a copied body may need a piece of its own */
	if (!sges && body) {
		if (b->copied + body > DMS_COPY_AREA)
			return false;
		sges = 1;
	}
	return b->pkt->nr_sge + sges <= path_max_sges(b->path);
}

static bool build_open(struct dms_build *b, bool update_only)
{
	struct dms_path *path = b->path;
	struct dms_txpkt *pkt;
	bool ok;

	if (unlikely(b->failed))
		return false;
	ok = update_only ? dms_slot_tx_update_ok(&path->slot_tx) :
			   dms_slot_tx_data_ok(&path->slot_tx);
	if (!ok) {
		dms_stat_inc(DMS_STAT_SLOT_STALLS);
		path->stalled |= path->moves && !update_only;
		return false;
	}
	pkt = list_first_entry_or_null(&path->tx_free, struct dms_txpkt, node);
	if (!pkt)
		return false;
	list_del_init(&pkt->node);
	pkt->nr_sge = 1;
	pkt->nr_req = 0;
	pkt->write = NULL;
	pkt->charge = 0;
	b->pkt = pkt;
	b->frames = 0;
	b->msgs = 0;
	b->acks = 0;
	b->body = 0;
	b->copied = 0;
	return true;
}

/*
 * Does the packet ask for a completion?  Besides every so often it must when somebody
 * waits, or may come to wait, for what completions give back, since it may be the
 * last for long: pages of a process; a packet, of which none is left; room in the
 * window (for those who come later: dms_path_charge()); or when the peer owes us the
 * next credit, so that quiet packets are only the last while another can follow.
 */
static void build_signal(struct dms_path *path, struct dms_txpkt *pkt)
{
	bool must = pkt->nr_req || pkt->write || list_empty(&path->tx_free) ||
		    (path->sched.nr && dms_window_shut(&path->window)) ||
		    !dms_slot_tx_data_ok(&path->slot_tx) || path->sweep;

	pkt->signal = dms_signal_next(&path->signal, must);
	if (pkt->signal) {
		pkt->charge += path->quiet_charge;
		pkt->before_bytes = path->quiet_bytes;
		path->quiet_charge = 0;
		path->quiet_bytes = 0;
		path->sweep = false;
	} else {
		path->quiet_charge += pkt->charge;
		path->quiet_bytes += pkt->bytes;
		pkt->charge = 0;
		dms_stat_inc(DMS_STAT_TX_UNSIGNALLED);
	}
}

/* What is written counts for the path as if it were in the packet. */
static u32 build_written(const struct dms_txpkt *pkt)
{
	const struct dms_write *w;
	u32 n = 0;

	for (w = pkt->write; w; w = w->next)
		n += w->len;
	return n;
}

static void build_flush(struct dms_build *b, bool update)
{
	struct dms_path *path = b->path;
	struct dms_txpkt *pkt = b->pkt;
	struct dms_pkt head = {};

	if (!pkt)
		return;
	b->pkt = NULL;
	if (!b->frames && !update) {
		/* opened for a frame that then lacked something else */
		list_add(&pkt->node, &path->tx_free);
		return;
	}
	head.frames = b->frames;
	head.lane = path->lane;
	head.flags = path->stalled ? DMS_PF_STALLED : 0;
	path->stalled = false;
	head.epoch = path->epoch;
	head.seq = path->slot_tx.sent;
	head.credit = dms_slot_rx_tell(&path->slot_rx);
	head.body = b->body;
	dms_wire_pkt_put(pkt->buf, &head);

	pkt->sge[0].addr = pkt->buf_dma;
	pkt->sge[0].length = build_bytes(b, b->frames, 0);
	pkt->bytes = build_bytes(b, b->frames, b->body);
	if (unlikely(pkt->write))
		pkt->bytes += build_written(pkt);

	dms_slot_tx_take(&path->slot_tx);
	dms_path_posts(path);
	build_signal(path, pkt);
	path->tx_out++;
	path->tx_packets++;
	path->tx_bytes += pkt->bytes;
	/* only what was held back: or answers to a busy peer would leave nothing for data */
	if (b->msgs)
		dms_path_rate_charge(path, pkt->bytes);
	dms_stat_inc(DMS_STAT_TX_PACKETS);
	if (b->frames > 1)
		dms_stat_add(DMS_STAT_TX_PACKED, b->msgs);
	if (b->frames && b->frames == b->acks)
		dms_stat_inc(DMS_STAT_ACKS_ALONE);
	pkt->posted_ns = ktime_get_ns();
	if (path->ops->send(path, pkt)) {
		/* Not started, so nobody else gives it back. */
		path->tx_out--;
		dms_path_unsent(pkt);
		b->failed = true;
	}
}

/**
 * dms_build_room() - make room for a frame
 * @b: packet under construction
 * @body: bytes of its body
 * @sges: pieces that the body is gathered from; 0: it is copied
 *
 * Return: false when no packet can be had (stalled) or the transport failed.
 */
bool dms_build_room(struct dms_build *b, u32 body, u32 sges)
{
	if (b->failed)
		return false;
	if (b->pkt) {
		if (build_fits(b, body, sges))
			return true;
		build_flush(b, false);
		if (b->failed)
			return false;
	}
	if (!build_open(b, false))
		return false;
	if (WARN_ON_ONCE(!build_fits(b, body, sges))) {
		list_add(&b->pkt->node, &b->path->tx_free);
		b->pkt = NULL;
		b->failed = true;
		return false;
	}
	return true;
}

/**
 * dms_build_frame() - add a frame header
 * @b: packet with room
 * @f: the frame; its body, when it has one, is added next
 */
void dms_build_frame(struct dms_build *b, const struct dms_frame *f)
{
	void *at = b->pkt->buf + build_bytes(b, b->frames, 0);

	dms_wire_frame_put(at, f);
	b->frames++;
	b->msgs += f->type == DMS_F_DATA;
	b->acks += f->type == DMS_F_UPDATE;
	dms_stat_inc(DMS_STAT_TX_FRAMES);
}

/**
 * dms_build_copy() - space for a body that is copied
 * @b: packet with room
 * @len: bytes, not zero
 */
void *dms_build_copy(struct dms_build *b, u32 len)
{
	struct dms_txpkt *pkt = b->pkt;
	u64 dma = pkt->buf_dma + DMS_PKT_HEAD + b->copied;
	void *at = pkt->buf + DMS_PKT_HEAD + b->copied;
	struct ib_sge *last = &pkt->sge[pkt->nr_sge - 1];

	if (pkt->nr_sge > 1 && last->addr + last->length == dma) {
		last->length += len;
	} else {
		last = &pkt->sge[pkt->nr_sge++];
		last->addr = dma;
		last->length = len;
	}
	b->copied += len;
	b->body += len;
	return at;
}

/**
 * dms_build_gather() - a body straight from the pool
 * @b: packet with room for the pieces
 * @req: the message; counts the packet in req->wire
 *
 * Return: 0, or -EMSGSIZE when it has more pieces than there was room for.
 */
int dms_build_gather(struct dms_build *b, struct dms_req *req)
{
	struct dms_txpkt *pkt = b->pkt;
	u32 max = path_max_sges(b->path);
	struct dms_elem piece;
	u32 at;
	int n;

	for (at = 0; at < req->len && dms_req_at(req, at, &piece); at += piece.len) {
		n = dms_pool_sges(req->pool, b->path->ibdev, piece.off, piece.len,
				  &pkt->sge[pkt->nr_sge], max - pkt->nr_sge);
		if (WARN_ON_ONCE(n < 0))
			return n;
		dms_pool_sync_for_device(req->pool, b->path->ibdev, piece.off, piece.len);
		pkt->nr_sge += n;
	}
	b->body += req->len;
	req->wire++;
	pkt->req[pkt->nr_req++] = req;
	return 0;
}

/**
 * dms_build_writes() - a message that goes ahead of the packet
 * @b: packet with room for the frame that says so
 * @w: all of it, linked, each with its pieces
 * @req: the message; counts the packet in req->wire
 */
void dms_build_writes(struct dms_build *b, struct dms_write *w, struct dms_req *req)
{
	struct dms_write *last = w;

	w->req = req;
	req->wire++;
	while (last->next)
		last = last->next;
	last->next = b->pkt->write;
	b->pkt->write = w;
	b->msgs++;
}

/**
 * dms_build_charge() - window bytes that go back when the packet is done
 * @b: packet with room
 * @charge: bytes, taken from path->window by the caller
 */
void dms_build_charge(struct dms_build *b, u64 charge)
{
	b->pkt->charge += charge;
}

/* CONNECTs that have no stream here. */
static void mux_refusals(struct dms_build *b)
{
	struct dms_path *path = b->path;

	while (path->nr_refusals) {
		struct dms_refusal *r = &path->refusal[path->nr_refusals - 1];
		struct dms_frame f = {
			.type = DMS_F_REFUSED,
			.stream = r->stream,
			.a = r->reason,
			.b = r->detail,
		};

		if (!dms_build_room(b, 0, 0))
			return;
		dms_build_frame(b, &f);
		path->nr_refusals--;
	}
}

/**
 * dms_mux_begin() - a stream wants to send
 * @path: path->lock is held
 * @s: does not wait yet
 * @idle: it had nothing to send for a while
 *
 * Return: true when it may at once, since nobody waits for a turn.  Else it waits from
 * now on, and mux_turns() comes to it.
 */
bool dms_mux_begin(struct dms_path *path, struct dms_stream *s, bool idle)
{
	if (dms_sched_begin(&path->sched, &s->turn, idle))
		return true;
	dms_stream_get(s);		/* put in mux_turns() */
	return false;
}

/**
 * dms_mux_wait() - a stream that has sent wants to send more
 * @path: path->lock is held
 * @s: does not wait
 * @again: its turn is not over
 */
void dms_mux_wait(struct dms_path *path, struct dms_stream *s, bool again)
{
	dms_stream_get(s);		/* put in mux_turns() */
	if (again)
		dms_sched_again(&path->sched, &s->turn);
	else
		dms_sched_add(&path->sched, &s->turn);
}

/*
 * Who waits to send, in the order of their rounds, until the window or the packets are
 * used up.  While the window is shut no round passes.
 */
static void mux_turns(struct dms_build *b)
{
	struct dms_path *path = b->path;
	enum dms_served served = DMS_SERVED;
	struct dms_turn *t;

	while (!b->failed && served != DMS_SERVED_WINDOW && served != DMS_SERVED_STALLED) {
		struct dms_stream *s;

		t = dms_sched_next(&path->sched);
		if (!t)
			break;
		s = container_of(t, struct dms_stream, turn);
		served = dms_stream_turn(s, b);
		if (served == DMS_SERVED_STALLED)	/* perhaps not with a message */
			dms_mux_ready(s);
		dms_stream_put(s);	/* of dms_mux_begin() or dms_mux_wait() */
	}
	/* one may owe a frame by now: its end */
	if (served != DMS_SERVED_STALLED && !list_empty_careful(&path->ready))
		dms_path_kick(path);
}

/* Says how many receives the peer should give back. */
static void mux_recall(struct dms_build *b)
{
	struct dms_frame f = { .type = DMS_F_SLOT_RECALL };

	if (dms_recv_until(b->path, &f.a)) {
		if (!dms_build_room(b, 0, 0))
			return;
		dms_build_frame(b, &f);
	}
	b->path->recall_owed = false;
}

/*
 * What the peer wants back, and nothing that was sent before has paid: so many
 * packets with nothing in them.  Never with the last credit.
 */
static void mux_empties(struct dms_build *b)
{
	struct dms_path *path = b->path;
	u32 n = dms_depth_empties(&path->slot_tx, path->until);

	while (n-- && !b->failed && build_open(b, true)) {
		dms_stat_inc(DMS_STAT_RECV_EMPTIES);
		build_flush(b, true);
	}
	path->recalled = dms_depth_due(&path->slot_tx, path->until);
}

/* False when nothing more can go out now. */
static bool mux_serve(struct dms_build *b, struct dms_stream *s)
{
	enum dms_served served = dms_stream_serve(s, b);

	switch (served) {
	case DMS_SERVED_STALLED:
		if (!mux_push(b->path, s))
			dms_stream_put(s);
		return false;
	default:	/* what it still wants to send waits for its turn */
		dms_stream_put(s);	/* of dms_mux_ready() */
		return true;
	}
}

/* Until nothing is ready; false when nothing more can go out now. */
static bool mux_serve_ready(struct dms_build *b)
{
	struct dms_stream *s;

	while (!b->failed) {
		s = mux_pop(b->path);
		if (!s)
			return true;
		if (!mux_serve(b, s))
			return false;
	}
	return false;
}

/* All streams that had to have said RESUME, or CONNECT again. */
static void mux_resume_end(struct dms_build *b)
{
	struct dms_frame f = { .type = DMS_F_RESUME_END };

	if (!dms_build_room(b, 0, 0))
		return;
	dms_build_frame(b, &f);
	b->path->end_owed = false;
}

/* The last packets are quiet, and it is time to hear of them. */
static void mux_sweep(struct dms_build *b)
{
	struct dms_frame f = { .type = DMS_F_NOP };

	if (!b->path->signal.quiet)
		b->path->sweep = false;
	else if (!b->pkt && dms_build_room(b, 0, 0))
		dms_build_frame(b, &f);
}

/**
 * dms_mux_run() - serve what is ready
 * @path: path->lock is held; does nothing unless it is UP
 *
 * A reference that is dropped here may be the stream's last: its release does
 * not sleep and takes none of the locks that are held.
 */
void dms_mux_run(struct dms_path *path)
{
	struct dms_build b = { .path = path };
	bool stalled;

	/* killed, and DYING soon: a packet behind one that was not posted would be a breach */
	if (path->state != DMS_PATH_UP || unlikely(READ_ONCE(path->err_class)))
		return;
	mux_refusals(&b);
	if (unlikely(path->recall_owed))
		mux_recall(&b);
	do {
		stalled = !mux_serve_ready(&b);
	} while (!stalled && b.pkt && mux_acks_ride(path));
	if (unlikely(path->end_owed) && !path->resumes_owed)
		mux_resume_end(&b);
	if (!stalled) {
		mux_turns(&b);
		if (b.pkt && mux_acks_ride(path))
			mux_serve_ready(&b);
	}
	if (path->sweep)
		mux_sweep(&b);
	build_flush(&b, false);
	if (unlikely(path->recalled))
		mux_empties(&b);
	if (!b.failed && dms_slot_rx_owes(&path->slot_rx) &&
	    build_open(&b, true)) {
		dms_stat_inc(DMS_STAT_CREDIT_UPDATES);
		build_flush(&b, true);
	}
	if (b.failed)
		dms_path_kill(path, DMASTREAM_ERR_PATH, 0);
}
