// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams of one path share it by bytes and weights, whatever their messages are: 64 that
 * always have something to send, over a NIC whose rate is the bottleneck and a send window
 * of that path which is always full (the module's arguments).  What counts is what arrived
 * in the middle of the run.
 *
 * The NIC is hwsim; $FAIR_MBPS is its rate, 0 for none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define STREAMS		64
#define CLASSES		4
#define AHEAD		(64 << 10)	/* bytes that a stream has to send, at least */

static struct peer_cfg sender = {
	.small_n = 128, .small_len = 64,
	.sq = 1024, .cq = 16384, .recv_min = 64, .tx_bytes = 96 << 20,
};

static struct peer_cfg receiver = {
	.small_n = 2048, .small_len = 4096, .large_n = 512, .large_len = 32768,
	.sq = 64, .cq = 8192, .recv_min = 4096,
};

static struct {
	struct peer_pair	p;
	unsigned int		n;
	uint32_t		len[STREAMS], weight[STREAMS];
	uint64_t		begin, end;	/* of the middle, in bytes that arrived */
	uint64_t		at_begin[STREAMS], at_end[STREAMS];
	bool			begun, stop;
} run;

static bool set_rate(const char *mbps)
{
	const char *nic = getenv("DMS_RDMA");
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/kernel/debug/hwsim/%s/rate_mbps", nic ? nic : "");
	f = fopen(path, "w");
	if (!f)
		return false;
	ok = fputs(mbps, f) >= 0;
	return !fclose(f) && ok;
}

/* ---- traffic ---- */

static bool open_streams(void)
{
	struct dmastream_stream_opts opts;
	uint32_t handle, i;

	for (i = 0; i < run.n; i++) {
		peer_opts(run.p.a, &opts);
		opts.weight = run.weight[i];
		if (dmastream_connect(run.p.a->ctx, &run.p.addr, run.p.service, &opts,
				      peer_ms(20000), &handle, NULL))
			return false;
		peer_stream_new(run.p.a, handle, 1 + i);
		peer_opts(run.p.b, &opts);
		if (dmastream_accept(run.p.listener, &opts, peer_ms(20000), &handle, NULL))
			return false;
		peer_stream_new(run.p.b, handle, 0x8001 + i);
	}
	return true;
}

/* Every stream has AHEAD bytes to send, and two messages. */
static void refill(void)
{
	struct peer_end *e = run.p.a;
	uint32_t i;

	for (i = 0; i < run.n; i++) {
		struct peer_stream *s = &e->streams[i];

		while (s->tx_out < 2 || (uint64_t)s->tx_out * run.len[i] < AHEAD) {
			if (!peer_prep(e, i, run.len[i], 0, 0, run.len[i]))
				continue;
			peer_submit(e);
			if (!dmastream_sq_space(e->ring))
				return;		/* no completion slots: later */
		}
	}
	peer_submit(e);
}

/* What arrived of all streams, and of each, to the part of a message. */
static uint64_t arrived(uint64_t *each)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < run.n; i++) {
		const struct peer_stream *s = &run.p.b->streams[i];

		if (each)
			each[i] = s->rx_bytes + s->part;
		sum += s->rx_bytes + s->part;
	}
	return sum;
}

static bool past_middle(void *arg)
{
	uint64_t sum = arrived(NULL);

	(void)arg;
	if (!run.begun && sum >= run.begin) {
		arrived(run.at_begin);
		run.begun = true;
	}
	if (sum >= run.end) {
		arrived(run.at_end);
		return true;
	}
	refill();
	return false;
}

/* Streams and their sizes are set.  The middle is of @kib for each stream, or unit of weight. */
static bool go(const char *what, uint64_t kib)
{
	uint64_t units = 0;
	long long stalls;
	uint32_t i;
	bool ok;

	for (i = 0; i < run.n; i++)
		units += run.weight[i];
	run.begin = units * 64 << 10;
	run.end = run.begin + (units * kib << 10);
	run.begun = false;
	if (peer_pair_open(&run.p, what, &sender, &receiver) || !open_streams()) {
		kt_ok(false, "%s: streams", what);
		return false;
	}
	stalls = peer_counter("window_stalls");
	ok = kt_ok(peer_run(run.p.a, run.p.b, past_middle, NULL, 200000, what),
		   "%s: %u streams", what, run.n);
	kt_ok(peer_counter("window_stalls") > stalls, "%s: they waited for the send window", what);
	peer_settle(&run.p, 0, 0);
	kt_is(peer_errors, 0, "%s: contents, order, results", what);
	peer_pair_close(&run.p);
	return ok;
}

static double share(uint32_t i)
{
	return (double)(run.at_end[i] - run.at_begin[i]);
}

/* R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984. */
static double jain(void)
{
	double sum = 0, squares = 0;
	uint32_t i;

	for (i = 0; i < run.n; i++) {
		sum += share(i);
		squares += share(i) * share(i);
	}
	return squares ? sum * sum / (run.n * squares) : 0;
}

static void sizes(const char *what, const uint32_t *len, unsigned int classes)
{
	double j, mean[CLASSES] = { 0 };
	uint32_t i;

	run.n = STREAMS;
	for (i = 0; i < STREAMS; i++) {
		run.len[i] = len[i % classes];
		run.weight[i] = 1;
	}
	if (!go(what, 512))
		return;
	j = jain();
	for (i = 0; i < STREAMS; i++)
		mean[i % classes] += share(i) * classes / STREAMS;
	for (i = 0; i < classes; i++)
		printf("# %s: messages of %u bytes: %.0f KiB a stream\n", what, len[i],
		       mean[i] / 1024);
	kt_ok(j >= 0.99, "%s: Jain's index is %.4f, at least 0.99", what, j);
}

static void weights(void)
{
	double of[3] = { 0 }, sum = 0, want;
	uint32_t i;
	bool ok = true;

	run.n = STREAMS - 1;		/* 21 of each */
	for (i = 0; i < run.n; i++) {
		run.len[i] = 16384;
		run.weight[i] = 1U << i % 3;
	}
	if (!go("weights", 256))
		return;
	for (i = 0; i < run.n; i++) {
		of[i % 3] += share(i);
		sum += share(i);
	}
	for (i = 0; i < 3; i++) {
		want = (1 << i) / 7.0;
		printf("# weight %u: %.4f of all, %.4f is right\n", 1 << i, of[i] / sum, want);
		ok = ok && of[i] / sum >= 0.95 * want && of[i] / sum <= 1.05 * want;
	}
	kt_ok(ok, "weights of 1, 2 and 4 hold within 5 %%");
}

int main(void)
{
	static const uint32_t equal[] = { 16384 }, unequal[] = { 256, 4096, 16384, 262144 };
	const char *mbps = getenv("FAIR_MBPS");

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(150);
	if (!set_rate(mbps && *mbps ? mbps : "32")) {
		kt_skip("the NIC has no rate: not hwsim");
		return kt_end();
	}
	KT_RUN(sizes("equal", equal, 1));
	KT_RUN(sizes("unequal", unequal, CLASSES));
	KT_RUN(weights());
	set_rate("0");
	peer_check_gauges();
	return kt_end();
}
