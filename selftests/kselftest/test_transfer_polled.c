// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams on a polled ring: silent sends, whose slots come back without a word to
 * anybody, and a module that sleeps with a thousand of them open.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define STREAMS		1000
#define SILENT		200

static struct peer_pair pair;

static bool all_came(void *arg)
{
	return pair.b->rx_msgs == *(uint64_t *)arg;
}

/*
 * Many more than there are slots, published once.  Nobody is told when one of them
 * ends, so nobody but the kernel can see that the next one may go.
 */
static void silent(void)
{
	struct dmastream_ring *ring = pair.a->ring;
	struct peer_stream *s = &pair.a->streams[0];
	uint64_t want = pair.b->rx_msgs + SILENT;
	long long polled = peer_counter("polled_sqes");
	unsigned int i;

	for (i = 0; i < SILENT; i++) {
		struct dmastream_sqe *sqe = dmastream_get_sqe(ring);

		dmastream_prep_send(sqe, s->handle, 0, 0, 0, peer_tag(s->key, s->tx_id, 0), 7);
		dmastream_sqe_set_flags(sqe, DMASTREAM_SQE_SILENT);
		s->tx_id++;
	}
	dmastream_submit(ring);
	kt_ok(peer_run(NULL, pair.b, all_came, &want, 5000, "silent messages"),
	      "%u silent messages through 4 slots, published once", SILENT);
	kt_ok(peer_counter("polled_sqes") > polled, "the thread submitted them");
	kt_is(dmastream_sq_pending(ring), 0, "all are consumed");
}

/* Nanoseconds that all tasks but this one had a CPU. */
static uint64_t busy_ns(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	uint64_t sum = 0;

	while (dir && (d = readdir(dir))) {
		unsigned long long ns = 0;
		char path[300];
		FILE *f;

		if (!atoi(d->d_name) || atoi(d->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat", d->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%llu", &ns) == 1)
			sum += ns;
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* The least of several: a guest has work of its own now and then. */
static double idle_share(void)
{
	double least = 1;
	int i;

	for (i = 0; i < 4; i++) {
		uint64_t begin = kt_now_ns(), busy = busy_ns();
		double share;

		kt_sleep_ms(1000);
		share = (double)(busy_ns() - busy) / (kt_now_ns() - begin);
		if (share < least)
			least = share;
	}
	return least;
}

/*
 * What went last may have asked for no completion.  Each path hears of it by one empty
 * packet, a keepalive interval later (dms_path_stuck()), and is silent after that.
 */
static void until_silent(void)
{
	uint64_t end = kt_now_ns() + peer_ms(20000) * 1000000ULL, since = kt_now_ns();
	long long packets = peer_counter("tx_packets"), now;

	peer_waits_for("three seconds without a packet");
	while (kt_now_ns() < end && kt_now_ns() - since < 3000000000ULL) {
		kt_sleep_ms(100);
		now = peer_counter("tx_packets");
		if (now != packets)
			since = kt_now_ns();
		packets = now;
	}
}

static void idle(double before)
{
	long long packets = peer_counter("tx_packets"), kicks = peer_counter("kicks");
	double share;

	while (pair.a->nr < STREAMS && !peer_errors)
		if (peer_pair_connect(&pair, 1 + pair.a->nr))
			break;
	kt_is(pair.a->nr, STREAMS, "streams");
	peer_settle(&pair, 0, pair.b->rx_msgs);
	until_silent();
	packets = peer_counter("tx_packets");
	kicks = peer_counter("kicks");
	share = idle_share();
	printf("# busy: %.3f %% of a CPU before, %.3f %% with %u streams\n", before * 100,
	       share * 100, STREAMS);
	kt_ok(share < before + 0.01, "%u idle streams use less than a hundredth of a CPU", STREAMS);
	kt_is(peer_counter("tx_packets"), packets, "they send nothing");
	kt_is(peer_counter("kicks"), kicks, "nobody is kicked");
}

int main(void)
{
	struct peer_cfg a = peer_default, b = peer_default;
	double before;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(120);
	before = idle_share();
	a.sq = 256;
	a.cq = 8;
	a.recv_min = 4;
	a.poll_us = 100;
	a.small_n = STREAMS;
	a.small_len = 256;
	b.small_n = 4096;
	b.small_len = 256;
	b.cq = 4096;
	b.recv_min = 2048;
	if (peer_pair_open(&pair, "polled", &a, &b)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	kt_is(peer_pair_connect(&pair, 1), 0, "CONNECT");
	silent();
	idle(before);
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("at the end");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
