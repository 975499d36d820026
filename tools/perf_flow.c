// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closed loop: as many messages in flight as are allowed, the next connection for
 * each.  Bandwidth, rate, incast and streams are this.
 */
#include <errno.h>

#include "perf.h"

struct flow {
	struct perf_worker	*w;
	uint64_t		sent, done;
	uint64_t		deadline_ns;
	uint32_t		next;		/* connection */
	uint64_t		tag;
};

static bool more_to_send(const struct flow *f)
{
	const struct perf_opts *o = f->w->o;

	if (f->sent - f->done >= o->depth)
		return false;
	if (!f->deadline_ns)
		return f->sent < o->iters;
	/* the clock only now and then: it costs as much as a message of 64 bytes */
	return f->sent % 16 || perf_now_ns() < f->deadline_ns;
}

static int fill(struct flow *f)
{
	struct perf_worker *w = f->w;
	int ret;

	while (more_to_send(f)) {
		ret = perf_net_send(w->net, w->conns[f->next], f->tag, w->o->size);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		f->sent++;
		f->next = f->next + 1 == w->o->streams ? 0 : f->next + 1;
	}
	return 0;
}

/* Until all that was sent is done; SENT, or the answer where there is one. */
static int turn(struct flow *f)
{
	enum perf_event_kind kind = f->w->o->bidirectional ? PERF_EV_MSG : PERF_EV_SENT;
	enum perf_op op = f->w->o->bidirectional ? PERF_OP_ANSWER : PERF_OP_SINK;
	struct perf_event ev;
	int ret;

	for (;;) {
		ret = fill(f);
		if (ret)
			return ret;
		if (f->sent == f->done)
			return 0;
		ret = perf_net_next(f->w->net, &ev, 0);
		if (ret == -EINTR)
			continue;
		if (ret < 0)
			return ret;
		if (ev.kind == PERF_EV_END)
			return ev.error ? ev.error : -EPIPE;
		/* a SENT of the warm-up may still come */
		f->done += ev.kind == kind && perf_tag_op(ev.tag) == op;
	}
}

/* Where SENT does not say that the message is there: one round trip on each connection. */
static int fence(struct perf_worker *w)
{
	uint32_t asked = 0, answers = 0;
	struct perf_event ev;
	int ret = 0;

	if (perf_net_sent_delivers || w->o->bidirectional)
		return 0;
	while (answers < w->o->streams) {
		while (!ret && asked < w->o->streams) {
			ret = perf_net_send(w->net, w->conns[asked], perf_tag(PERF_OP_REPLY, 0, 1), 1);
			asked += !ret;
		}
		if (!ret || ret == -EAGAIN)
			ret = perf_net_next(w->net, &ev, 0);
		if (ret == 1 && ev.kind == PERF_EV_END)
			return ev.error ? ev.error : -EPIPE;
		answers += ret == 1 && ev.kind == PERF_EV_MSG;
		if (ret < 0 && ret != -EINTR)
			return ret;
		ret = 0;
	}
	return 0;
}

/**
 * perf_flow() - a closed loop of messages of one size
 * @w: connected
 */
int perf_flow(struct perf_worker *w)
{
	const struct perf_opts *o = w->o;
	struct flow f = {
		.w = w,
		.tag = o->bidirectional ? perf_tag(PERF_OP_REPLY, 0, o->size) :
			perf_tag(PERF_OP_SINK, 0, 0),
	};
	int ret;

	w->res->begin_ns = perf_now_ns();
	if (o->duration_ns)
		f.deadline_ns = w->res->begin_ns + o->duration_ns;
	ret = turn(&f);
	if (!ret)
		ret = fence(w);
	w->res->end_ns = perf_now_ns();
	w->res->operations = f.done;
	w->res->messages = f.done * (o->bidirectional ? 2 : 1);
	w->res->bytes = w->res->messages * o->size;
	return ret;
}
