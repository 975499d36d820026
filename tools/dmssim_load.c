// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: the load.
 */
#include <stdlib.h>
#include <string.h>

#include "dmssim_load.h"

#define REQUEST_BYTES	64

/* One that begins works. */
struct sim_source {
	struct sim_load	*load;
	uint32_t	host;
	uint64_t	begun;
};

struct sim_work {
	struct sim_source *source;
	uint64_t	start_ps;
	uint64_t	left;		/* messages, answers counted */
};

/* A message, and what it is for. */
struct sim_part {
	struct sim_msg	msg;
	struct sim_part	*next;
	struct sim_work	*work;
	uint32_t	from, to;
	uint32_t	answer;		/* bytes; 0: none */
};

static bool together(const struct sim_load *l)
{
	return l->conf.pattern == SIM_INCAST || l->conf.pattern == SIM_SHUFFLE ||
	       l->conf.pattern == SIM_PUSH;
}

uint32_t sim_pattern_hosts(enum sim_pattern p)
{
	return p == SIM_SHUFFLE ? 3 : 2;
}

/* ---- messages ---- */

static struct sim_stream *load_stream(struct sim_load *l, uint32_t from, uint32_t to, uint32_t k)
{
	struct sim_stream **at = &l->stream[(size_t)from * l->conf.hosts + to];
	uint32_t i, weight;

	if (!*at) {
		*at = sim_alloc(l->conf.streams * sizeof(**at));
		for (i = 0; i < l->conf.streams; i++) {
			weight = l->conf.nr_weights ? l->conf.weight[i % l->conf.nr_weights] : 1;
			sim_stream_init(&(*at)[i], l->hosts, from, to, weight);
		}
	}
	return &(*at)[k];
}

static void load_send(struct sim_load *l, struct sim_work *w, uint32_t from, uint32_t to,
		      uint32_t k, uint32_t len, uint32_t answer)
{
	struct sim_part *p = sim_alloc(sizeof(*p));

	p->next = l->parts;
	l->parts = p;
	p->work = w;
	p->from = from;
	p->to = to;
	p->answer = answer;
	p->msg.owner = p;
	p->msg.len = len;
	p->msg.start_ps = w->start_ps;
	w->left++;
	l->posted_msgs++;
	l->posted_bytes += len;
	sim_stream_send(load_stream(l, from, to, k), &p->msg);
}

static uint32_t load_size(struct sim_load *l, uint32_t k)
{
	double v;

	if (!l->conf.table)
		return l->conf.size[k % l->conf.nr_sizes];
	v = sim_table_draw(l->conf.table, &l->random);
	return v < 1 ? 1 : (uint32_t)v;
}

/* ---- works ---- */

static void push_model(struct sim_load *l, struct sim_work *w, uint32_t host)
{
	const struct sim_model *m = l->conf.model;
	uint32_t first, last, again, i, n, part, server = host % l->conf.servers;
	uint64_t left;

	for (first = 0; first < m->nr; first = last) {
		for (last = first; last < m->nr && m->row[last].group == m->row[first].group;)
			last++;
		for (again = 0; again < m->row[first].times; again++) {
			for (i = first; i < last; i++) {
				for (n = 0; n < m->row[i].count; n++) {
					for (left = m->row[i].bytes; left; left -= part) {
						part = left < l->conf.partition ?
						       (uint32_t)left : l->conf.partition;
						load_send(l, w, host, server, 0, part, 0);
						server = (server + 1) % l->conf.servers;
					}
				}
			}
		}
	}
}

static void work_incast(struct sim_load *l, struct sim_work *w, uint32_t host)
{
	uint32_t k;

	for (k = 0; k < l->conf.streams; k++)
		load_send(l, w, host, 0, k, load_size(l, k), 0);
}

static void work_shuffle(struct sim_load *l, struct sim_work *w, uint32_t host)
{
	uint32_t i, k, to;

	if (l->conf.load > 0) {
		to = sim_random_below(&l->random, l->conf.hosts - 1);
		k = sim_random_below(&l->random, l->conf.streams);
		load_send(l, w, host, to + (to >= host), k, load_size(l, k), 0);
		return;
	}
	for (i = 1; i < l->conf.hosts; i++)
		for (k = 0; k < l->conf.streams; k++)
			load_send(l, w, host, (host + i) % l->conf.hosts, k, load_size(l, k), 0);
}

static void work_push(struct sim_load *l, struct sim_work *w, uint32_t host)
{
	uint32_t to;

	if (l->conf.model) {
		push_model(l, w, host);
		return;
	}
	for (to = 0; to < l->conf.servers; to++)
		load_send(l, w, host, to, 0, load_size(l, to), 0);
}

static void work_fetch(struct sim_load *l, struct sim_work *w, uint32_t host)
{
	uint32_t to;

	for (to = 0; to < l->conf.servers; to++)
		load_send(l, w, host, to, 0, REQUEST_BYTES, load_size(l, to));
}

static void work_kv(struct sim_load *l, struct sim_work *w, uint32_t host)
{
	uint32_t half = l->conf.hosts / 2;
	uint32_t to = half + sim_random_below(&l->random, l->conf.hosts - half);
	uint32_t k = sim_random_below(&l->random, l->conf.streams);
	uint32_t n = load_size(l, k);

	if (!l->conf.block) {
		load_send(l, w, host, to, k, n, 0);
		return;
	}
	while (n--)
		load_send(l, w, host, to, k, l->conf.block, 0);
}

static void work_begin(struct sim_source *s)
{
	static void (*const begin[])(struct sim_load *l, struct sim_work *w, uint32_t host) = {
		[SIM_INCAST] = work_incast,
		[SIM_SHUFFLE] = work_shuffle,
		[SIM_PUSH] = work_push,
		[SIM_FETCH] = work_fetch,
		[SIM_KV] = work_kv,
	};
	struct sim_load *l = s->load;
	struct sim_work *w = sim_alloc(sizeof(*w));

	w->source = s;
	w->start_ps = l->hosts->events->now;
	s->begun++;
	l->works++;
	begin[l->conf.pattern](l, w, s->host);
}

/* All sources begin the next round. */
static void round_begin(struct sim_load *l)
{
	uint32_t i;

	if (l->source[0].begun == l->conf.messages)
		return;
	l->round_left = l->nr_sources;
	for (i = 0; i < l->nr_sources; i++)
		work_begin(&l->source[i]);
}

static void arrival(void *obj, void *arg)
{
	struct sim_source *s = obj;
	struct sim_load *l = s->load;
	double gap;

	(void)arg;
	if (l->hosts->events->now)
		work_begin(s);
	if (s->begun == l->conf.messages)
		return;
	gap = sim_random_exp(&l->random, l->mean_gap_ps);
	sim_after(l->hosts->events, (uint64_t)gap + 1, arrival, s, NULL);
}

static void work_done(struct sim_load *l, struct sim_work *w)
{
	struct sim_source *s = w->source;

	l->works_done++;
	sim_samples_add(&l->whole, l->hosts->events->now - w->start_ps);
	free(w);
	if (l->conf.load > 0 || l->conf.backlog)
		return;
	if (together(l)) {
		if (!--l->round_left)
			round_begin(l);
	} else if (s->begun < l->conf.messages) {
		work_begin(s);
	}
}

/* ---- what was delivered ---- */

/* Over what each stream has got for its weight so far. */
static double load_jain(const struct sim_load *l)
{
	size_t pairs = (size_t)l->conf.hosts * l->conf.hosts, i, n = 0;
	double *v = sim_alloc(pairs * l->conf.streams * sizeof(*v));
	uint32_t k;
	double jain;

	for (i = 0; i < pairs; i++)
		for (k = 0; l->stream[i] && k < l->conf.streams; k++)
			v[n++] = (double)l->stream[i][k].rx_bytes / l->stream[i][k].weight;
	jain = sim_jain(v, n);
	free(v);
	return jain;
}

static void load_delivered(void *ctx, struct sim_msg *msg)
{
	struct sim_load *l = ctx;
	struct sim_part *p = msg->owner;
	uint64_t now = l->hosts->events->now;

	sim_samples_add(&l->msgs, now - msg->start_ps);
	if (l->csv)
		fprintf(l->csv, "%u,%u,%u,%llu,%llu\n", p->from, p->to, msg->len,
			(unsigned long long)(msg->start_ps / SIM_PS_PER_NS),
			(unsigned long long)(now / SIM_PS_PER_NS));
	if (p->answer)
		load_send(l, p->work, p->to, p->from, 0, p->answer, 0);
	/* the first that is through with all: until now each had something to send */
	if (l->conf.backlog && l->jain < 0 && !msg->stream->undelivered)
		l->jain = load_jain(l);
	if (!--p->work->left)
		work_done(l, p->work);
}

/* ---- all of it ---- */

/* Every source queues all that it has, as many bytes on each stream. */
static void backlog_begin(struct sim_load *l)
{
	uint32_t i, k, most = 0;
	uint64_t n;

	for (k = 0; k < l->conf.nr_sizes; k++)
		if (l->conf.size[k] > most)
			most = l->conf.size[k];
	for (i = 0; i < l->nr_sources; i++) {
		struct sim_source *s = &l->source[i];
		struct sim_work *w = sim_alloc(sizeof(*w));
		uint32_t first = l->conf.pattern == SIM_SHUFFLE ? s->host + 1 : 0;
		uint32_t last = l->conf.pattern == SIM_SHUFFLE ? s->host + l->conf.hosts : 1;
		uint32_t to, weight;

		w->source = s;
		l->works++;
		for (to = first; to < last; to++) {
			for (k = 0; k < l->conf.streams; k++) {
				weight = l->conf.nr_weights ?
					 l->conf.weight[k % l->conf.nr_weights] : 1;
				n = l->conf.messages * weight * most /
				    l->conf.size[k % l->conf.nr_sizes];
				while (n--)
					load_send(l, w, s->host, to % l->conf.hosts, k,
						  load_size(l, k), 0);
			}
		}
	}
}

static double mean_size(const struct sim_load *l)
{
	double sum = 0;
	uint32_t k;

	if (l->conf.table)
		return sim_table_mean(l->conf.table) * (l->conf.block ? l->conf.block : 1);
	for (k = 0; k < l->conf.nr_sizes; k++)
		sum += l->conf.size[k];
	return sum / l->conf.nr_sizes;
}

/* ps that the bottleneck is busy with one work of one source, heads not counted. */
static double work_ps(const struct sim_load *l)
{
	const struct sim_load_conf *c = &l->conf;
	double bytes = mean_size(l), share = 1;

	switch (c->pattern) {
	case SIM_INCAST:
		bytes *= c->streams;
		share = l->nr_sources;
		break;
	case SIM_PUSH:
		bytes = c->model ? (double)sim_model_bytes(c->model) : bytes * c->servers;
		share = (double)l->nr_sources / c->servers;
		break;
	case SIM_FETCH:
		bytes *= c->servers;
		share = (double)l->nr_sources / c->servers;
		break;
	default:
		break;
	}
	return bytes * (share > 1 ? share : 1) * l->hosts->fabric->conf.ps_per_byte;
}

void sim_load_init(struct sim_load *l, struct sim_hosts *hosts, const struct sim_load_conf *conf)
{
	uint32_t i, first = 0, last = conf->hosts;

	memset(l, 0, sizeof(*l));
	l->conf = *conf;
	l->hosts = hosts;
	hosts->delivered = load_delivered;
	hosts->ctx = l;
	sim_random_init(&l->random, conf->seed);
	l->jain = -1;
	l->stream = sim_alloc((size_t)conf->hosts * conf->hosts * sizeof(*l->stream));
	if (conf->pattern == SIM_INCAST)
		first = 1;
	else if (conf->pattern == SIM_PUSH || conf->pattern == SIM_FETCH)
		first = conf->servers;
	else if (conf->pattern == SIM_KV)
		last = conf->hosts / 2;
	l->nr_sources = last - first;
	l->source = sim_alloc(l->nr_sources * sizeof(*l->source));
	for (i = 0; i < l->nr_sources; i++) {
		l->source[i].load = l;
		l->source[i].host = first + i;
	}
	if (conf->load > 0)
		l->mean_gap_ps = work_ps(l) / conf->load;
}

void sim_load_start(struct sim_load *l)
{
	uint32_t i;

	if (l->conf.backlog) {
		backlog_begin(l);
	} else if (l->conf.load > 0) {
		for (i = 0; i < l->nr_sources; i++)
			arrival(&l->source[i], NULL);
	} else if (together(l)) {
		round_begin(l);
	} else {
		for (i = 0; i < l->nr_sources; i++)
			work_begin(&l->source[i]);
	}
}

bool sim_load_done(const struct sim_load *l)
{
	return l->works_done == (l->conf.backlog ? 1 : l->conf.messages) * l->nr_sources;
}

void sim_load_free(struct sim_load *l)
{
	size_t i, pairs = (size_t)l->conf.hosts * l->conf.hosts;
	struct sim_part *p;

	while ((p = l->parts)) {
		l->parts = p->next;
		free(p);
	}
	for (i = 0; i < pairs; i++)
		free(l->stream[i]);
	free(l->stream);
	free(l->source);
	sim_samples_free(&l->msgs);
	sim_samples_free(&l->whole);
}
