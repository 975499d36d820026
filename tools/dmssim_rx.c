// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: the receiving side of a stream, as in kmod/stream_rx.c, and the incast
 * budget of its host, as core/pull.h says that it is used.  Processes take what is
 * delivered at once, and there are always landing buffers.
 */
#include <stdlib.h>

#include "dmssim_host.h"

#define READ_REQUEST_BYTES	16	/* the RETH */
#define GROUP_FREE		(1U << 20)	/* buffers of the small group */

struct sim_read {
	struct sim_stream *stream;
	struct sim_msg	*msg;
	uint32_t	len, charge;
};

static struct sim_host *rx_host(const struct sim_stream *s)
{
	return &s->rx.path->hosts->host[s->rx.path->host];
}

static void rx_credits(struct sim_stream *s)
{
	uint32_t out = dms_land_rx_out(&s->land_rx);

	if (out < s->land_target)
		dms_land_rx_add(&s->land_rx, s->land_target - out);
	if (dms_land_rx_owes(&s->land_rx))
		s->owes_update = true;
}

void sim_rx_init(struct sim_stream *s)
{
	dms_pullq_node_init(&s->pull);
	dms_land_rx_init(&s->land_rx);
	s->land_target = 1;
	s->rxq_last = &s->rxq;
	rx_credits(s);
	s->owes_update = false;
}

/* ---- delivery ---- */

static void rx_deliver(struct sim_stream *s)
{
	struct sim_hosts *h = s->rx.path->hosts;
	struct sim_msg *msg;

	while ((msg = s->rxq) && msg->landed == msg->len) {
		s->rxq = msg->next;
		if (!s->rxq)
			s->rxq_last = &s->rxq;
		s->rx_acked += msg->announced;
		s->undelivered--;
		s->owes_update = true;
		h->counts.messages++;
		h->counts.bytes += msg->len;
		h->delivered(h->ctx, msg);
	}
	if (s->land_used >= (s->land_target + 1) / 2) {
		s->land_target = dms_land_target(s->land_target, s->land_used, GROUP_FREE, 1);
		s->land_used = 0;
	}
	rx_credits(s);
	if (s->owes_update)
		sim_ready(&s->rx);
}

/* The first message that is announced and has not all landed. */
static void rx_pull_next(struct sim_stream *s)
{
	struct sim_msg *msg;

	for (msg = s->rxq; msg; msg = msg->next)
		if (msg->landed < msg->len)
			break;
	s->head = msg;
}

/* A frame that came to the receiver of its stream. */
void sim_rx_frame(const struct sim_frame *f)
{
	struct sim_stream *s = f->stream;
	struct sim_msg *msg = f->msg;

	if (f->type == DMS_F_KEY) {
		msg->rx_keyed += f->len;
		msg->key_end[msg->nr_key_ends++] = msg->rx_keyed;
		sim_ready(&s->rx);
		return;
	}
	*s->rxq_last = msg;
	s->rxq_last = &msg->next;
	if (f->type == DMS_F_DATA) {
		if (dms_land_rx_use(&s->land_rx))
			s->rx.path->hosts->counts.rnr++;
		s->land_used++;
		msg->landed = msg->len;
		s->rx_bytes += msg->len;
	} else if (!s->head) {
		rx_pull_next(s);
	}
	rx_deliver(s);
}

/* ---- pulling ---- */

/* Whoever is next under the budget may go; @self, if any, is being served now. */
static void host_grants(struct sim_hosts *h, struct sim_host *host, struct sim_stream *self)
{
	struct dms_pullq_node *n;
	struct sim_stream *s;

	while ((n = dms_pullq_grant(&host->pulls, &host->budget, sim_now_ns(h->events)))) {
		s = (struct sim_stream *)((char *)n - offsetof(struct sim_stream, pull));
		s->granted = true;
		if (s != self)
			sim_ready(&s->rx);
	}
}

static void read_done(struct sim_job *job)
{
	struct sim_read *rd = job->obj;
	struct sim_stream *s = rd->stream;
	struct sim_path *path = s->rx.path;
	struct sim_msg *msg = rd->msg;

	dms_window_put(&rx_host(s)->budget, rd->charge);
	path->reads_out--;
	msg->landed += rd->len;
	s->rx_bytes += rd->len;
	while (msg->nr_key_ends && msg->key_end[0] <= msg->landed) {
		msg->nr_key_ends--;
		msg->key_end[0] = msg->key_end[1];
		s->done_msg = msg;
		s->owes_done = true;
	}
	if (msg->landed == msg->len)
		rx_pull_next(s);
	free(rd);
	free(job);
	rx_deliver(s);
	sim_wake_readers(path);
	sim_ready(&s->rx);
	host_grants(path->hosts, rx_host(s), NULL);
}

/* A READ request came to the side that has the bytes: its NIC answers. */
static void read_asked(struct sim_job *job)
{
	struct sim_read *rd = job->obj;
	struct sim_path *path = rd->stream->tx.path;

	sim_post(path->hosts->fabric, &path->responses,
		 sim_job_new(path, rd->len, read_done, rd));
	free(job);
}

static void rx_post_read(struct sim_stream *s)
{
	struct sim_path *path = s->rx.path;
	struct sim_read *rd = sim_alloc(sizeof(*rd));

	rd->stream = s;
	rd->msg = s->head;
	rd->len = s->ask;
	rd->charge = s->pull.charge;
	s->head->issued += s->ask;
	s->granted = false;
	path->reads_out++;
	path->hosts->counts.reads++;
	sim_post(path->hosts->fabric, &path->requests,
		 sim_job_new(path, READ_REQUEST_BYTES, read_asked, rd));
}

/* End of the key that the next byte is under; 0: it has not come. */
static uint32_t rx_key_end(const struct sim_msg *msg)
{
	uint32_t i;

	for (i = 0; i < msg->nr_key_ends; i++)
		if (msg->key_end[i] > msg->issued)
			return msg->key_end[i];
	return 0;
}

/* Asks for the next piece; false when it cannot go now. */
static bool rx_ask(struct sim_stream *s)
{
	struct sim_path *path = s->rx.path;
	struct sim_host *host = rx_host(s);
	struct sim_msg *msg = s->head;
	uint32_t end = rx_key_end(msg);
	uint32_t most = dms_pullq_piece(host->budget.limit);

	if (!end || dms_pullq_waits(&s->pull))
		return false;
	s->ask = end - msg->issued < most ? end - msg->issued : most;
	dms_pullq_add(&host->pulls, &s->pull, msg->len - msg->issued, s->ask,
		      sim_now_ns(path->hosts->events));
	host_grants(path->hosts, host, s);
	if (!s->granted)
		path->hosts->counts.budget_waits++;
	return s->granted;
}

static void rx_read(struct sim_stream *s)
{
	struct sim_path *path = s->rx.path;

	while (s->head && s->head->issued < s->head->len) {
		if (!s->granted && !rx_ask(s))
			return;
		/*
		 * Budget first: were a READ's place kept while it waits for budget,
		 * long ones would keep all places and short ones could not ask.
		 */
		if (path->reads_out == SIM_READS) {
			sim_end_wait(&path->wait_read, &s->read_wait);
			return;
		}
		rx_post_read(s);
	}
}

enum sim_served sim_rx_serve(struct sim_stream *s, struct sim_build *b)
{
	struct sim_frame *f;

	if (s->owes_done) {
		if (!sim_build_room(b, 0))
			return SIM_SERVED_STALLED;
		f = sim_build_frame(b, DMS_F_DONE, s, 0);
		f->msg = s->done_msg;
		f->a = s->done_msg->landed;
		s->owes_done = false;
	}
	if (s->owes_update) {
		if (!sim_build_room(b, 0))
			return SIM_SERVED_STALLED;
		f = sim_build_frame(b, DMS_F_UPDATE, s, 0);
		f->a = dms_land_rx_tell(&s->land_rx);
		f->len = s->rx_acked;
		s->rx_acked = 0;
		s->owes_update = false;
	}
	rx_read(s);
	return SIM_SERVED;
}
