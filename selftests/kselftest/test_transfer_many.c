// SPDX-License-Identifier: GPL-2.0-only
/*
 * Case 17: a thousand streams of eight processes to one peer need no queue pair
 * and no memory region more than one stream does; each keeps its order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kt.h"
#include "peer.h"

#define PROCESSES	8

static struct peer_cfg sender = {
	.small_n = 16, .small_len = 256,
	.sq = 512, .cq = 1024, .recv_min = 16, .tx_bytes = 2 << 20,
};

static struct peer_cfg receiver = {
	.small_n = 4096, .small_len = 2048, .large_n = 16, .large_len = 65536,
	.sq = 64, .cq = 4096, .recv_min = 2048,
};

static unsigned int per_child, messages;

/* ---- a child ---- */

static void child_wait(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		exit(3);
}

static void child_send(struct peer_end *e, unsigned int from, unsigned int to)
{
	struct peer_pair p = { .a = e };
	uint32_t seed = getpid(), m, i;

	for (m = 0; m < messages; m++)
		for (i = from; i < to; i++)
			peer_send(&p, e, i, m % 7 == 6 ? peer_range(&seed, 3000, 20000) :
				  peer_range(&seed, 0, 2048), m % 5);
	peer_settle(&p, 0, 0);
}

/* First one stream, when it is the first child; then the rest. */
static int child(unsigned int nr, int go, int done)
{
	struct peer_pair p = { 0 };
	unsigned int i = 0;

	peer_watchdog(kt_quick() ? 120 : 240);
	snprintf(p.service, sizeof(p.service), "many");
	peer_addr_of("DMS_ADDR", &p.addr);
	child_wait(go);
	p.a = peer_end_new(&sender);
	peer_give_all(p.a);
	if (!nr) {
		if (peer_pair_connect(&p, 0))
			return 1;
		child_send(p.a, 0, 1);
		i = 1;
	}
	if (write(done, "1", 1) != 1)
		return 3;
	child_wait(go);
	for (; i < per_child; i++)
		if (peer_pair_connect(&p, nr * per_child + i))
			return 1;
	child_send(p.a, 0, per_child);
	if (write(done, "2", 1) != 1)
		return 3;
	child_wait(go);
	peer_pair_close(&p);
	return peer_errors ? 2 : 0;
}

/* ---- the parent ---- */

static struct {
	struct peer_end			*e;
	struct dmastream_listener	*listener;
	unsigned int			want_streams;
	uint64_t			want_msgs;
} parent;

static bool accept_and_receive(void *arg)
{
	struct dmastream_stream_opts opts;
	uint32_t handle;

	(void)arg;
	peer_opts(parent.e, &opts);
	while (parent.e->nr < parent.want_streams &&
	       !dmastream_accept(parent.listener, &opts, 0, &handle, NULL))
		peer_stream_new(parent.e, handle, 0x8000);
	return parent.e->nr == parent.want_streams && parent.e->rx_msgs == parent.want_msgs;
}

static void phase(int *go, int *done, unsigned int streams, unsigned int sends,
		  const char *what)
{
	unsigned int i;
	char c;

	for (i = 0; i < PROCESSES; i++)
		if (write(go[i], "g", 1) != 1)
			kt_die("write to a child");
	parent.want_streams = streams;
	parent.want_msgs = (uint64_t)sends * messages;
	peer_run(parent.e, NULL, accept_and_receive, NULL, 150000, what);
	kt_is(parent.e->nr, streams, "%s: accepted", what);
	kt_is(parent.e->rx_msgs, parent.want_msgs, "%s: messages", what);
	peer_waits_for("%s: children", what);
	for (i = 0; i < PROCESSES; i++)
		if (read(done[i], &c, 1) != 1)
			kt_ok(false, "%s: child %u goes on", what, i);
}

static void each_stream(void)
{
	unsigned int i, other = 0, twice = 0, streams = PROCESSES * per_child;
	bool *seen = calloc(streams, sizeof(*seen));

	for (i = 0; i < parent.e->nr; i++) {
		struct peer_stream *s = &parent.e->streams[i];

		other += s->rx_msgs != messages + (s->rx_key == 0) * messages;
		if (s->rx_key < 0 || s->rx_key >= (int)streams || seen[s->rx_key])
			twice++;
		else
			seen[s->rx_key] = true;
	}
	free(seen);
	kt_is(other, 0, "streams that have not all of their messages");
	kt_is(twice, 0, "streams that are not one sender's");
}

int main(void)
{
	int go[PROCESSES][2], done[PROCESSES][2], to[PROCESSES], from[PROCESSES], status;
	int qp[2], mr[2], bad = 0;
	unsigned int i, streams;
	pid_t pid;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	per_child = kt_quick() ? 12 : 125;
	messages = 14;
	streams = PROCESSES * per_child;
	for (i = 0; i < PROCESSES; i++) {
		if (pipe(go[i]) || pipe(done[i]))
			kt_die("pipe");
		fflush(stdout);
		pid = fork();
		if (!pid)
			_exit(child(i, go[i][0], done[i][1]));
		to[i] = go[i][1];
		from[i] = done[i][0];
		close(done[i][1]);
	}
	peer_watchdog(kt_quick() ? 120 : 240);
	parent.e = peer_end_new(&receiver);
	peer_give_all(parent.e);
	kt_is(dmastream_listen(parent.e->ctx, "many", 256, 0, &parent.listener), 0, "LISTEN");

	phase(to, from, 1, 1, "one stream");
	qp[0] = peer_resources("qp");
	mr[0] = peer_resources("mr");
	phase(to, from, streams, streams + 1, "all streams");
	qp[1] = peer_resources("qp");
	mr[1] = peer_resources("mr");
	kt_is(qp[1], qp[0], "queue pairs with %u streams as with one", streams);
	kt_is(mr[1], mr[0], "memory regions with %u streams as with one", streams);
	if (peer_has_nic())
		kt_ok(qp[0] > 1 && mr[0] > 0, "there are some (%d, %d)", qp[0], mr[0]);
	each_stream();
	kt_is(peer_errors, 0, "contents and order");
	peer_check_paths("with all streams");
	for (i = 0; i < PROCESSES; i++)
		if (write(to[i], "g", 1) != 1)
			kt_die("write to a child");
	peer_waits_for("children to end");
	while (wait(&status) > 0)
		bad += status != 0;
	kt_is(bad, 0, "children that failed");
	dmastream_listener_close(parent.listener);
	peer_end_free(parent.e);
	peer_check_gauges();
	return kt_end();
}
