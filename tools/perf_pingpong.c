// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thing at a time: round trips of a message, and opening of connections.
 */
#include <errno.h>

#include "perf.h"

static bool go_on(const struct perf_worker *w, uint64_t done, uint64_t now_ns)
{
	if (w->o->duration_ns)
		return now_ns < w->res->begin_ns + w->o->duration_ns;
	return done < w->o->iters;
}

/* There and back, once. */
static int round_trip(struct perf_worker *w, uint32_t conn, uint64_t tag, uint32_t len)
{
	struct perf_event ev;
	int ret = perf_net_send(w->net, conn, tag, len);

	while (ret >= 0) {
		ret = perf_net_next(w->net, &ev, 0);
		if (ret == -EINTR)
			ret = 0;
		if (ret == 1 && ev.kind == PERF_EV_END)
			return ev.error ? ev.error : -EPIPE;
		if (ret == 1 && ev.kind == PERF_EV_MSG)
			return 0;
	}
	return ret;
}

/**
 * perf_round_trips() - ping-pong, the next connection for each
 * @w: connected
 * @n: how many
 * @there: bytes of each message, at most @max_send of the end
 * @back: bytes of each answer, at most @max_recv
 * @measure: keep half of each one's time as the latency
 */
int perf_round_trips(struct perf_worker *w, uint64_t n, uint32_t there, uint32_t back,
		     bool measure)
{
	uint64_t tag = perf_tag(PERF_OP_REPLY, 0, back), i, before = perf_now_ns(), now;
	int ret = 0;

	for (i = 0; !ret && i < n; i++) {
		ret = round_trip(w, w->conns[i % w->o->streams], tag, there);
		if (!measure)
			continue;
		now = perf_now_ns();
		perf_hist_add(&w->res->hist, (now - before) / 2);
		before = now;
	}
	return ret;
}

/**
 * perf_latency() - half of the round trip, as perftest tells it
 * @w: connected
 */
int perf_latency(struct perf_worker *w)
{
	uint64_t step = w->o->duration_ns ? 16 : w->o->iters, done = 0;
	int ret = 0;

	w->res->begin_ns = perf_now_ns();
	while (!ret && go_on(w, done, perf_now_ns())) {
		ret = perf_round_trips(w, step, w->o->size, w->o->size, true);
		done += step;
	}
	w->res->end_ns = perf_now_ns();
	w->res->operations = done;
	w->res->messages = 2 * done;
	w->res->bytes = w->res->messages * w->o->size;
	return ret;
}

/* What is told of connections that were closed. */
static int drain(struct perf_worker *w)
{
	struct perf_event ev;
	int ret;

	do {
		ret = perf_net_next(w->net, &ev, 1);
	} while (ret == 1 || ret == -EINTR);
	return ret == -ETIME ? 0 : ret;
}

/**
 * perf_connects() - open and close connections, beside those that are open
 * @w: connected, so that what connections share is there
 *
 * The latency is that of opening alone.
 */
int perf_connects(struct perf_worker *w)
{
	uint64_t before, now;
	uint32_t conn;
	int ret = 0;

	now = perf_now_ns();
	w->res->begin_ns = now;
	while (!ret && go_on(w, w->res->operations, now)) {
		before = perf_now_ns();
		ret = perf_net_connect(w->net, &conn);
		now = perf_now_ns();
		if (ret)
			break;
		perf_hist_add(&w->res->hist, now - before);
		w->res->operations++;
		ret = perf_net_end(w->net, conn);
		if (!ret)
			ret = drain(w);
	}
	w->res->end_ns = perf_now_ns();
	return ret;
}
