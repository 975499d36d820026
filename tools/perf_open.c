// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open loop: operations begin when their time has come, whether or not earlier ones
 * are done.  The latency counts from that intended time, so a stall counts against
 * each operation that should have begun meanwhile, not only against one.
 *
 * A fetch asks one or several servers and is done when the last one has answered.  A
 * push sends the bytes and is done when the server has said that it has them.
 *
 * The same with a bound on what is in flight, and no times, tells the capacity.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define OPEN_MAX	4096U	/* operations in flight of a process */
#define PUSH_ANSWER	8U	/* bytes */
#define FANOUT_MAX	64U
#define ROW_MIN		64U	/* a row has this many bytes, or 2, 4 or 8 times as many */
#define TABLE_ROWS	1000000U

struct part {
	uint32_t	conn;
	uint32_t	len;
	uint64_t	tag;
};

struct operation {
	uint64_t	intended_ns;
	uint32_t	parts;		/* answers that are still to come */
};

struct open_loop {
	struct perf_worker	*w;
	struct operation	ops[OPEN_MAX];
	uint32_t		free[OPEN_MAX];
	uint32_t		nr_free;
	struct part		parts[FANOUT_MAX];	/* of the newest operation, not sent yet */
	uint32_t		nr_parts;
	uint32_t		next_conn;
	uint64_t		begun, done;
	double			intended_ns;		/* of the next operation; a sum of fractions */
	bool			waited;			/* it found too many in flight */
	bool			closed;
	bool			push;
	struct perf_gaps	gaps;
	struct perf_zipf	zipf;
};

static bool all_begun(const struct open_loop *l, uint64_t now_ns)
{
	const struct perf_opts *o = l->w->o;

	if (!o->duration_ns)
		return l->begun >= o->iters;
	return (l->closed ? (double)now_ns : l->intended_ns) >=
	       (double)(l->w->res->begin_ns + o->duration_ns);
}

/* A row's server and size are functions of the row, as a hash would have it. */
static void draw_rows(struct open_loop *l, uint32_t *len)
{
	const struct perf_opts *o = l->w->o;
	uint32_t i;

	for (i = 0; i < o->rows; i++) {
		uint64_t hash = perf_zipf_rank(&l->zipf) * 0x9e3779b97f4a7c15ULL >> 32;

		len[hash % o->fanout] += ROW_MIN << (hash >> 16 & 3);
	}
}

/* What the newest operation, number @id, has to send. */
static void make_parts(struct open_loop *l, uint32_t id)
{
	const struct perf_opts *o = l->w->o;
	uint32_t want[FANOUT_MAX] = { 0 }, i;

	if (o->rows)
		draw_rows(l, want);
	for (i = 0; i < o->fanout; i++) {
		uint32_t bytes = o->rows ? want[i] : o->size;
		struct part *p = &l->parts[l->nr_parts];

		if (!bytes)
			continue;
		p->conn = l->w->conns[(l->next_conn + i) % o->streams];
		p->len = l->push ? bytes : o->request;
		p->tag = perf_tag(PERF_OP_REPLY, id, l->push ? PUSH_ANSWER : bytes);
		l->w->res->bytes += bytes;
		l->w->res->messages += 2;
		l->nr_parts++;
	}
	/* servers keep their places, or a row would have no home */
	if (!o->rows)
		l->next_conn = (l->next_conn + o->fanout) % o->streams;
}

static int send_parts(struct open_loop *l)
{
	int ret = 0;

	while (l->nr_parts && !ret) {
		struct part *p = &l->parts[l->nr_parts - 1];

		ret = perf_net_send(l->w->net, p->conn, p->tag, p->len);
		l->nr_parts -= !ret;
	}
	return ret == -EAGAIN ? 0 : ret;
}

static bool may_begin(struct open_loop *l, uint64_t now_ns)
{
	if (l->nr_parts || all_begun(l, now_ns))
		return false;
	if (l->closed)
		return l->begun - l->done < l->w->o->depth && l->nr_free;
	if (l->intended_ns > (double)now_ns)
		return false;
	l->waited |= !l->nr_free;
	return l->nr_free;
}

static int begin_due(struct open_loop *l)
{
	uint64_t now = perf_now_ns();
	int ret = send_parts(l);

	while (!ret && may_begin(l, now)) {
		uint32_t id = l->free[--l->nr_free];

		l->ops[id].intended_ns = l->closed ? now : (uint64_t)l->intended_ns;
		make_parts(l, id);
		l->ops[id].parts = l->nr_parts;
		l->begun++;
		l->w->res->late += l->waited;
		l->waited = false;
		if (!l->closed)
			l->intended_ns += perf_gap_ns(&l->gaps);
		ret = send_parts(l);
	}
	return ret;
}

static int on_event(struct open_loop *l, const struct perf_event *ev)
{
	uint32_t id = perf_tag_id(ev->tag);

	if (ev->kind == PERF_EV_END)
		return ev->error ? ev->error : -EPIPE;
	if (ev->kind != PERF_EV_MSG)
		return 0;
	if (id >= OPEN_MAX || !l->ops[id].parts)
		return -EPROTO;
	if (--l->ops[id].parts)
		return 0;
	perf_hist_add(&l->w->res->hist, perf_now_ns() - l->ops[id].intended_ns);
	l->free[l->nr_free++] = id;
	l->done++;
	return 0;
}

/* When the next operation is due, or 0: only an event can change anything. */
static uint64_t wake_ns(const struct open_loop *l)
{
	if (l->closed || l->nr_parts || !l->nr_free || all_begun(l, 0))
		return 0;
	return (uint64_t)l->intended_ns + 1;
}

static int turn(struct open_loop *l)
{
	struct perf_event ev;
	int ret;

	for (;;) {
		ret = begin_due(l);
		if (ret)
			return ret;
		if (l->begun == l->done && all_begun(l, perf_now_ns()))
			return 0;
		ret = perf_net_next(l->w->net, &ev, wake_ns(l));
		if (ret == -ETIME || ret == -EINTR)
			continue;
		if (ret == 1)
			ret = on_event(l, &ev);
		if (ret)
			return ret;
	}
}

static int run_loop(struct perf_worker *w, bool closed)
{
	const struct perf_opts *o = w->o;
	struct open_loop *l = calloc(1, sizeof(*l));
	uint32_t i;
	int ret;

	if (!l)
		return -ENOMEM;
	l->w = w;
	l->closed = closed;
	l->push = !strcmp(o->test, "push");
	for (i = 0; i < OPEN_MAX; i++)
		l->free[l->nr_free++] = OPEN_MAX - 1 - i;
	if (closed)
		w->res->begin_ns = perf_now_ns();
	/* one after the other, so that processes do not share a sequence */
	perf_gaps_init(&l->gaps, l->push ? PERF_ARRIVE_FIXED : o->arrivals,
		       closed ? 1 : 1e9 * o->procs / o->rate, o->cv, o->seed + w->index);
	perf_zipf_init(&l->zipf, TABLE_ROWS, o->zipf, o->seed + o->procs + w->index);
	l->intended_ns = (double)w->res->begin_ns;
	/* pushes come in bursts of all processes at once; fetches do not know each other */
	if (!l->push && !closed)
		l->intended_ns += perf_gap_ns(&l->gaps);
	ret = turn(l);
	w->res->end_ns = perf_now_ns();
	w->res->operations = l->done;
	free(l);
	return ret;
}

/**
 * perf_open_loop() - fetches or pushes at a rate
 * @w: connected, with begin_ns as the time at which all processes begin
 */
int perf_open_loop(struct perf_worker *w)
{
	return run_loop(w, false);
}

/**
 * perf_closed_fetch() - as fast as they go, for the capacity
 * @w: connected
 */
int perf_closed_fetch(struct perf_worker *w)
{
	return run_loop(w, true);
}
