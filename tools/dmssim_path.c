// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: paths, and how the frames of many streams share their packets.
 */
#include <stdlib.h>
#include <string.h>

#include "dmssim_host.h"

/* Of an ACK, besides the packet's head. */
#define ACK_BYTES	4

static void path_run(void *obj, void *arg);

/* ---- lists of ends ---- */

static void list_init(struct sim_end_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static struct sim_end *list_take(struct sim_end_list *list)
{
	struct sim_end *e = list->first;

	if (!e)
		return NULL;
	list->first = e->next;
	if (!list->first)
		list->last = &list->first;
	e->listed = false;
	return e;
}

static void list_push(struct sim_end_list *list, struct sim_end *e)
{
	if (e->listed)
		return;
	e->listed = true;
	e->next = list->first;
	list->first = e;
	if (!e->next)
		list->last = &e->next;
}

bool sim_end_wait(struct sim_end_list *list, struct sim_end *e)
{
	if (e->listed)
		return false;
	e->listed = true;
	e->next = NULL;
	*list->last = e;
	list->last = &e->next;
	return true;
}

void sim_end_init(struct sim_end *e, struct sim_path *path, struct sim_stream *s, bool rx)
{
	e->next = NULL;
	e->stream = s;
	e->path = path;
	e->listed = false;
	e->rx = rx;
}

void sim_path_kick(struct sim_path *path)
{
	if (path->kicked)
		return;
	path->kicked = true;
	sim_after(path->hosts->events, path->hosts->conf.delay_ps, path_run, path, NULL);
}

void sim_ready(struct sim_end *e)
{
	sim_end_wait(&e->path->ready, e);
	sim_path_kick(e->path);
}

/*
 * All of @list are ready again, in their order and before those that are ready: the
 * first of them may have a turn that was interrupted.
 */
void sim_wake(struct sim_path *path, struct sim_end_list *list)
{
	if (list->first) {
		*list->last = path->ready.first;
		if (!path->ready.first)
			path->ready.last = list->last;
		path->ready.first = list->first;
		list_init(list);
	}
	if (path->ready.first)
		sim_path_kick(path);
}

void sim_wake_readers(struct sim_path *path)
{
	struct sim_end *e;

	while ((e = list_take(&path->wait_read)))
		sim_ready(&e->stream->rx);
}

/* ---- packets ---- */

void sim_path_sample(struct sim_path *path, uint32_t bytes, uint64_t post_ns)
{
	uint64_t now = sim_now_ns(path->hosts->events);

	if (path->window.limit)
		dms_delay_sample(&path->delay, &path->window, bytes, now - post_ns, now);
}

struct sim_job *sim_job_new(struct sim_path *path, uint32_t bytes,
			    void (*arrived)(struct sim_job *job), void *obj)
{
	struct sim_job *job = sim_alloc(sizeof(*job));

	job->from = path->host;
	job->to = path->peer->host;
	job->bytes = bytes;
	job->arrived = arrived;
	job->obj = obj;
	return job;
}

/* The ACK came: the SEND is complete. */
static void send_done(struct sim_job *job)
{
	struct sim_send *send = job->obj;
	struct sim_path *path = send->path;

	if (send->charge) {
		sim_path_sample(path, send->body, send->post_ns);
		dms_window_put(&path->window, send->charge);
		if (path->sched.nr)
			sim_path_kick(path);
	}
	free(send);
	free(job);
}

/* Could more be used than there is?  Then others give theirs. */
static void depth_look(struct sim_path *path)
{
	struct sim_hosts *h = path->hosts;
	struct dms_depth_nic *nic = &h->host[path->host].depth;
	uint32_t n, count, used = path->depth.used;
	struct dms_depth *q;
	struct sim_path *victim;

	n = dms_depth_grow(nic, &path->depth, &count);
	dms_depth_grown(nic, &path->depth, n);
	dms_slot_rx_post(&path->slot_rx, n);
	dms_slot_rx_resize(&path->slot_rx, dms_depth_now(&path->depth));
	h->counts.grown += n;
	if (n || used * 2 < dms_depth_now(&path->depth) ||
	    dms_depth_now(&path->depth) == path->depth.ceil)
		return;
	/* a millisecond without a packet is idle */
	q = dms_depth_victim(nic, sim_now_ns(h->events), 1000000, &count);
	if (!q)
		return;
	victim = (struct sim_path *)((char *)q - offsetof(struct sim_path, depth));
	dms_depth_recall(q, count);
	dms_slot_rx_resize(&victim->slot_rx, dms_depth_now(q));
	h->counts.recalled += count;
	victim->owes_recall = true;
	sim_path_kick(victim);
}

static void packet_frame(const struct sim_frame *f)
{
	switch (f->type) {
	case DMS_F_DATA:
	case DMS_F_RTS:
	case DMS_F_KEY:
		sim_rx_frame(f);
		break;
	default:
		sim_tx_frame(f);
	}
}

/* A packet came to the other side of its path. */
static void packet_arrived(struct sim_job *job)
{
	struct sim_send *send = job->obj;
	struct sim_path *path = send->path->peer;
	struct sim_hosts *h = path->hosts;
	struct sim_job *ack;
	uint32_t i;

	if (dms_slot_rx_packet(&path->slot_rx, send->seq))
		h->counts.rnr++;
	if (dms_slot_tx_grant(&path->slot_tx, send->credit))
		h->counts.rnr++;
	for (i = 0; i < send->frames; i++) {
		if (send->frame[i].type == DMS_F_NOP)
			path->empties_until = send->frame[i].a;
		else
			packet_frame(&send->frame[i]);
	}
	if (dms_depth_packet(&path->depth, sim_now_ns(h->events)))
		dms_slot_rx_post(&path->slot_rx, 1);
	else
		dms_depth_back(&h->host[path->host].depth, &path->depth, 1);
	if (dms_slot_rx_owes(&path->slot_rx))
		depth_look(path);
	ack = sim_job_new(path, ACK_BYTES, send_done, send);
	sim_post(h->fabric, &path->responses, ack);
	sim_path_kick(path);
	free(job);
}

static uint32_t build_bytes(uint32_t frames, uint32_t body)
{
	return SIM_HEAD + frames * SIM_HEAD + body;
}

static bool build_open(struct sim_build *b, bool update)
{
	struct sim_path *path = b->path;

	if (update ? !dms_slot_tx_update_ok(&path->slot_tx) :
		     !dms_slot_tx_data_ok(&path->slot_tx)) {
		path->hosts->counts.slot_stalls++;
		return false;
	}
	b->send = sim_alloc(sizeof(*b->send));
	b->send->path = path;
	return true;
}

static void build_flush(struct sim_build *b)
{
	struct sim_send *send = b->send;
	struct sim_path *path = b->path;
	struct sim_hosts *h = path->hosts;
	struct sim_job *job;

	if (!send)
		return;
	b->send = NULL;
	send->seq = path->slot_tx.sent;
	send->credit = dms_slot_rx_tell(&path->slot_rx);
	send->post_ns = sim_now_ns(h->events);
	dms_slot_tx_take(&path->slot_tx);
	h->counts.packets++;
	h->counts.packed += send->frames;
	job = sim_job_new(path, build_bytes(send->frames, send->body), packet_arrived, send);
	sim_post(h->fabric, &path->requests, job);
}

bool sim_build_room(struct sim_build *b, uint32_t body)
{
	if (b->send) {
		if (b->send->frames < SIM_PKT_FRAMES &&
		    build_bytes(b->send->frames + 1, b->send->body + body) <= SIM_SLOT_BYTES)
			return true;
		build_flush(b);
	}
	return build_open(b, false);
}

struct sim_frame *sim_build_frame(struct sim_build *b, enum dms_frame_type type,
				  struct sim_stream *s, uint32_t body)
{
	struct sim_frame *f = &b->send->frame[b->send->frames++];

	f->type = type;
	f->stream = s;
	b->send->body += body;
	return f;
}

/* ---- one run ---- */

/* True when packets are left. */
static bool run_streams(struct sim_build *b)
{
	struct sim_path *path = b->path;
	enum sim_served served;
	struct sim_end *e;

	while ((e = list_take(&path->ready))) {
		served = e->rx ? sim_rx_serve(e->stream, b) : sim_tx_serve(e->stream, b);
		if (served == SIM_SERVED_STALLED) {
			list_push(&path->ready, e);
			return false;
		}
	}
	return true;
}

/* As mux_turns() of kmod/mux.c. */
static void run_turns(struct sim_build *b)
{
	enum sim_served served = SIM_SERVED;
	struct sim_stream *s;
	struct dms_turn *t;

	while (served == SIM_SERVED || served == SIM_SERVED_MORE) {
		t = dms_sched_next(&b->path->sched);
		if (!t)
			return;
		s = (struct sim_stream *)((char *)t - offsetof(struct sim_stream, turn));
		served = sim_tx_turn(s, b);
	}
}

/*
 * Receives that are taken back: the number of the packet up to which the peer
 * shall spend credits.  The kernel has no frame for it yet; NOP stands for it here.
 */
static void run_recall(struct sim_build *b)
{
	struct sim_path *path = b->path;

	if (!path->owes_recall || !sim_build_room(b, 0))
		return;
	path->owes_recall = false;
	sim_build_frame(b, DMS_F_NOP, NULL, 0)->a = path->slot_rx.received + path->depth.recall;
}

static void run_empties(struct sim_build *b)
{
	struct sim_path *path = b->path;
	uint32_t n = dms_depth_empties(&path->slot_tx, path->empties_until);

	for (; n && build_open(b, false); n--) {
		path->hosts->counts.empties++;
		build_flush(b);
	}
}

static void path_run(void *obj, void *arg)
{
	struct sim_path *path = obj;
	struct sim_build b = { path, NULL };

	(void)arg;
	path->kicked = false;
	run_recall(&b);
	if (run_streams(&b))
		run_turns(&b);
	build_flush(&b);
	run_empties(&b);
	if (dms_slot_rx_owes(&path->slot_rx) && build_open(&b, true)) {
		path->hosts->counts.updates++;
		build_flush(&b);
	}
}

/* ---- all of it ---- */

static void window_init(struct sim_path *path)
{
	const struct dms_delay_conf *conf = &path->hosts->conf.window;

	dms_delay_init(&path->delay, &path->window, conf);
	if (!conf->cap)
		dms_window_resize(&path->window, 0);	/* no bound, and nothing is charged */
}

static struct sim_path *path_new(struct sim_hosts *h, uint32_t host)
{
	struct sim_path *path = sim_alloc(sizeof(*path));
	uint32_t depth = h->conf.depth_floor;

	path->hosts = h;
	path->host = host;
	sim_txq_init(&path->requests);
	sim_txq_init(&path->responses);
	list_init(&path->ready);
	dms_sched_init(&path->sched, __builtin_ctz(h->conf.quantum));
	list_init(&path->wait_key);
	list_init(&path->wait_read);
	window_init(path);
	/* main() has checked that the floors of all fit */
	if (dms_depth_join(&h->host[host].depth, &path->depth, depth, h->conf.depth_ceil, 1))
		abort();
	dms_slot_tx_init(&path->slot_tx, depth);
	dms_slot_tx_ceiling(&path->slot_tx, h->conf.depth_ceil);
	dms_slot_rx_init(&path->slot_rx, depth);
	return path;
}

struct sim_path *sim_path(struct sim_hosts *h, uint32_t from, uint32_t to)
{
	struct sim_path **here = &h->path[(size_t)from * h->nr + to];
	struct sim_path **there = &h->path[(size_t)to * h->nr + from];

	if (!*here) {
		*here = path_new(h, from);
		*there = path_new(h, to);
		(*here)->peer = *there;
		(*there)->peer = *here;
	}
	return *here;
}

void sim_hosts_init(struct sim_hosts *h, struct sim_events *events, struct sim_fabric *fabric,
		    uint32_t nr, const struct sim_host_conf *conf)
{
	uint32_t i;

	memset(h, 0, sizeof(*h));
	h->events = events;
	h->fabric = fabric;
	h->conf = *conf;
	h->nr = nr;
	h->host = sim_alloc(nr * sizeof(*h->host));
	h->path = sim_alloc((size_t)nr * nr * sizeof(*h->path));
	for (i = 0; i < nr; i++) {
		dms_window_init(&h->host[i].budget, conf->budget);
		dms_pullq_init(&h->host[i].pulls, conf->age_ns);
		dms_depth_nic_init(&h->host[i].depth, conf->depth_budget, 0);
	}
}

void sim_hosts_free(struct sim_hosts *h)
{
	size_t i;

	for (i = 0; i < (size_t)h->nr * h->nr; i++)
		free(h->path[i]);
	free(h->path);
	free(h->host);
}
