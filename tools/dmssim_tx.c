// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: the sending side of a stream, as in kmod/stream_tx.c.
 */
#include <string.h>

#include "core/seg.h"
#include "dmssim_host.h"

void sim_stream_init(struct sim_stream *s, struct sim_hosts *h, uint32_t from, uint32_t to,
		     uint32_t weight)
{
	memset(s, 0, sizeof(*s));
	sim_end_init(&s->tx, sim_path(h, from, to), s, false);
	sim_end_init(&s->rx, sim_path(h, to, from), s, true);
	sim_end_init(&s->read_wait, s->rx.path, s, true);
	s->weight = weight;
	dms_turn_init(&s->turn);
	dms_land_tx_init(&s->land_tx, DMS_SMALL_CREDITS);
	s->txq_last = &s->txq;
	s->rtsq_last = &s->rtsq;
	sim_rx_init(s);
	/* ACCEPT has told the first credit */
	dms_land_tx_grant(&s->land_tx, dms_land_rx_tell(&s->land_rx));
}

void sim_stream_send(struct sim_stream *s, struct sim_msg *msg)
{
	msg->stream = s;
	s->idle |= !s->undelivered++;
	msg->next = NULL;
	*s->txq_last = msg;
	s->txq_last = &msg->next;
	sim_ready(&s->tx);
}

static struct sim_msg *tx_take(struct sim_stream *s)
{
	struct sim_msg *msg = s->txq;

	s->txq = msg->next;
	if (!s->txq)
		s->txq_last = &s->txq;
	msg->next = NULL;
	msg->seq = ++s->tx_seq;
	return msg;
}

static bool tx_window(struct sim_path *path, uint64_t charge, enum sim_served *served)
{
	if (dms_window_take(&path->window, charge))
		return true;
	path->hosts->counts.window_stalls++;
	*served = SIM_SERVED_WINDOW;
	return false;
}

static bool tx_eager(struct sim_stream *s, struct sim_build *b, enum sim_served *served)
{
	struct sim_path *path = b->path;
	struct sim_msg *msg = s->txq;
	uint64_t charge = dms_window_charge(&path->window, msg->len);

	*served = SIM_SERVED;
	if (!dms_land_tx_avail(&s->land_tx)) {
		path->hosts->counts.credit_stalls++;
		return false;		/* UPDATE makes it ready */
	}
	if (!tx_window(path, charge, served))
		return false;
	if (!sim_build_room(b, msg->len)) {
		dms_window_put(&path->window, charge);
		*served = SIM_SERVED_STALLED;
		return false;
	}
	sim_build_frame(b, DMS_F_DATA, s, msg->len)->msg = tx_take(s);
	b->send->charge += charge;
	dms_land_tx_take(&s->land_tx);
	dms_turn_charge(&s->turn, msg->len, s->weight);
	path->hosts->counts.eager++;
	return true;
}

static bool tx_announce(struct sim_stream *s, struct sim_build *b, enum sim_served *served)
{
	struct sim_msg *msg;

	*served = SIM_SERVED;
	if (s->announced == DMS_ANNOUNCE_SLOTS)
		return false;
	if (!sim_build_room(b, 0)) {
		*served = SIM_SERVED_STALLED;
		return false;
	}
	msg = tx_take(s);
	sim_build_frame(b, DMS_F_RTS, s, 0)->msg = msg;
	msg->announced = true;
	msg->next_rts = NULL;
	*s->rtsq_last = msg;
	s->rtsq_last = &msg->next_rts;
	s->announced++;
	b->path->hosts->counts.announced++;
	return true;
}

/* Opens the next segment of @msg. */
static bool tx_key(struct sim_stream *s, struct sim_build *b, struct sim_msg *msg,
		   enum sim_served *served)
{
	const struct dms_elem elem = { 0, msg->len };
	struct sim_path *path = b->path;
	struct sim_frame *f;
	struct sim_key *key;
	struct dms_seg seg;
	uint64_t charge;

	*served = SIM_SERVED;
	if (!dms_seg_at(&elem, 1, msg->keyed, path->hosts->conf.seg_pages,
			SIM_PAGE_SHIFT, &seg))
		return false;
	if (!sim_build_room(b, 0)) {
		*served = SIM_SERVED_STALLED;
		return false;
	}
	if (path->keys_out == SIM_KEYS) {
		path->hosts->counts.key_stalls++;
		sim_end_wait(&path->wait_key, &s->tx);
		return false;
	}
	charge = dms_window_charge(&path->window, seg.len);
	if (!tx_window(path, charge, served))
		return false;
	path->keys_out++;
	key = &msg->key[msg->nr_keys++];
	key->at = msg->keyed;
	key->len = seg.len;
	key->charge = charge;
	key->post_ns = sim_now_ns(path->hosts->events);
	f = sim_build_frame(b, DMS_F_KEY, s, 0);
	f->msg = msg;
	f->a = msg->keyed;
	f->len = seg.len;
	msg->keyed += seg.len;
	dms_turn_charge(&s->turn, seg.len, s->weight);
	return true;
}

/* Keys go out for the first message that is not all pulled. */
static enum sim_served tx_keys(struct sim_stream *s, struct sim_build *b)
{
	enum sim_served served = SIM_SERVED;
	struct sim_msg *msg = s->rtsq;

	while (msg && msg->keyed < msg->len && msg->nr_keys < DMS_KEYS_AHEAD) {
		if (!dms_turn_may(&b->path->sched, &s->turn))
			return SIM_SERVED_MORE;
		if (!tx_key(s, b, msg, &served))
			return served;
	}
	return served;
}

static enum sim_served tx_send(struct sim_stream *s, struct sim_build *b)
{
	enum sim_served served = tx_keys(s, b);
	bool sent;

	while (served == SIM_SERVED && s->txq) {
		if (!dms_turn_may(&b->path->sched, &s->turn))
			return SIM_SERVED_MORE;
		if (s->txq->len <= SIM_EAGER_MAX) {
			sent = tx_eager(s, b, &served);
		} else {
			sent = tx_announce(s, b, &served);
			if (sent)
				served = tx_keys(s, b);
		}
		if (!sent)
			return served;
	}
	return served;
}

/* What one turn may; then it waits for the next one, unless it has sent all. */
enum sim_served sim_tx_turn(struct sim_stream *s, struct sim_build *b)
{
	enum sim_served served = tx_send(s, b);

	if (served == SIM_SERVED_MORE)
		dms_sched_add(&b->path->sched, &s->turn);
	else if (served != SIM_SERVED)
		dms_sched_again(&b->path->sched, &s->turn);
	return served;
}

enum sim_served sim_tx_serve(struct sim_stream *s, struct sim_build *b)
{
	const struct sim_msg *head = s->rtsq;
	bool idle;

	if (dms_turn_waits(&s->turn) || (!s->txq && !(head && head->keyed < head->len)))
		return SIM_SERVED;
	idle = s->idle;
	s->idle = false;
	return dms_sched_begin(&b->path->sched, &s->turn, idle) ? sim_tx_turn(s, b) : SIM_SERVED;
}

/* DONE: so many bytes of the message are pulled. */
static void tx_done(struct sim_stream *s, struct sim_msg *msg, uint32_t done)
{
	struct sim_path *path = s->tx.path;
	struct sim_key *key = &msg->key[0];

	msg->done = done;
	while (msg->nr_keys && key->at + key->len <= done) {
		sim_path_sample(path, key->len, key->post_ns);
		dms_window_put(&path->window, key->charge);
		msg->nr_keys--;
		msg->key[0] = msg->key[1];
		path->keys_out--;
	}
	if (done == msg->len) {
		/* DONE comes in order: it is the first */
		s->rtsq = msg->next_rts;
		if (!s->rtsq)
			s->rtsq_last = &s->rtsq;
	}
	sim_wake(path, &path->wait_key);
	sim_ready(&s->tx);
}

/* A frame that came to the sender of its stream. */
void sim_tx_frame(const struct sim_frame *f)
{
	struct sim_stream *s = f->stream;

	switch (f->type) {
	case DMS_F_DONE:
		tx_done(s, f->msg, f->a);
		break;
	case DMS_F_UPDATE:
		s->announced -= f->len;
		dms_land_tx_grant(&s->land_tx, f->a);
		sim_ready(&s->tx);
		break;
	default:
		break;
	}
}
