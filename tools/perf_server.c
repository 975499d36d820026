// SPDX-License-Identifier: GPL-2.0-only
/*
 * The server of all benchmarks: takes connections, and does what each message's tag
 * asks for.  Answers that find no room wait in a queue, in order.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define TICK_NS		1000000000ULL	/* how late a signal may be noticed */

struct answer {
	uint32_t	conn;
	uint32_t	len;
	uint64_t	tag;
};

struct server {
	struct perf_net	*net;
	uint32_t	max_send;
	struct answer	*queue;		/* a ring of @room, from @head on */
	uint32_t	room, head, nr;
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int queue_grow(struct server *s)
{
	uint32_t room = s->room ? 2 * s->room : 256, i;
	struct answer *more = malloc(room * sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (i = 0; i < s->nr; i++)
		more[i] = s->queue[(s->head + i) % s->room];
	free(s->queue);
	s->queue = more;
	s->room = room;
	s->head = 0;
	return 0;
}

static int queue_answer(struct server *s, const struct answer *a)
{
	int ret = s->nr == s->room ? queue_grow(s) : 0;

	if (!ret)
		s->queue[(s->head + s->nr++) % s->room] = *a;
	return ret;
}

/* Those of a connection that has ended go nowhere. */
static void queue_forget(struct server *s, uint32_t conn)
{
	uint32_t i, kept = 0;

	for (i = 0; i < s->nr; i++) {
		struct answer a = s->queue[(s->head + i) % s->room];

		if (a.conn != conn)
			s->queue[(s->head + kept++) % s->room] = a;
	}
	s->nr = kept;
}

static int send_queued(struct server *s)
{
	while (s->nr) {
		struct answer *a = &s->queue[s->head];
		int ret = perf_net_send(s->net, a->conn, a->tag, a->len);

		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		s->head = (s->head + 1) % s->room;
		s->nr--;
	}
	return 0;
}

static int on_message(struct server *s, const struct perf_event *ev)
{
	struct answer a = {
		.conn = ev->conn,
		.len = perf_tag_len(ev->tag),
		.tag = perf_tag(PERF_OP_ANSWER, perf_tag_id(ev->tag), 0),
	};
	int ret;

	if (perf_tag_op(ev->tag) != PERF_OP_REPLY)
		return 0;
	/* a client that asks for more than this server was made for */
	if (a.len > s->max_send)
		return perf_net_end(s->net, ev->conn);
	ret = s->nr ? -EAGAIN : perf_net_send(s->net, a.conn, a.tag, a.len);
	return ret == -EAGAIN ? queue_answer(s, &a) : ret;
}

static int on_event(struct server *s, const struct perf_event *ev)
{
	if (ev->kind == PERF_EV_MSG)
		return on_message(s, ev);
	if (ev->kind == PERF_EV_END) {
		queue_forget(s, ev->conn);
		perf_net_end(s->net, ev->conn);
	}
	return 0;
}

static int serve(struct server *s)
{
	struct perf_event ev;
	int ret;

	while (!stop) {
		ret = perf_net_next(s->net, &ev, perf_now_ns() + TICK_NS);
		if (ret == 1)
			ret = on_event(s, &ev);
		else if (ret == -ETIME || ret == -EINTR)
			ret = 0;
		if (!ret && s->nr)
			ret = send_queued(s);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * perf_server() - serve until SIGINT or SIGTERM
 * @o: the command line
 *
 * Says "ready" on standard output when clients may come.
 */
int perf_server(const struct perf_opts *o)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct server s = { .max_send = o->net.max_send };
	int ret;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	ret = perf_net_open(&o->net, &s.net);
	if (ret)
		return ret;
	ret = perf_net_listen(s.net);
	if (!ret) {
		printf("ready\n");
		fflush(stdout);
		ret = serve(&s);
		if (ret)
			fprintf(stderr, "%s server: %s\n", perf_net_name, strerror(-ret));
	}
	if (o->net.check)
		fprintf(stderr, "%s server: %llu words were right\n", perf_net_name,
			(unsigned long long)perf_net_checked(s.net));
	perf_net_close(s.net);
	free(s.queue);
	return ret;
}
