// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many messages: threads with a pair each, several streams, both directions,
 * all lengths, groups and rings of random sizes; until the time is over, then
 * SHUTDOWN, and everything must come out.  In one guest or between two.
 *
 * PEER_SECONDS=N: so long; PEER_THREADS=N: so many, up to 16.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define THREADS_MAX	16
#define STREAMS	4

static unsigned int threads = 4;

struct worker {
	struct peer_pair	p;
	uint32_t		seed;
	uint64_t		end_ns;
	bool			shut, ok;
};

static uint32_t some_len(uint32_t *seed)
{
	switch (peer_rand(seed) % 16) {
	case 0:
		return peer_range(seed, 100000, 1200000);
	case 1:
	case 2:
	case 3:
		return peer_range(seed, 8193, 60000);
	case 4:
	case 5:
	case 6:
		return peer_range(seed, 1000, 8192);
	default:
		return peer_range(seed, 0, 300);
	}
}

static void top_up(struct worker *w, struct peer_end *e)
{
	uint32_t i, len[DMASTREAM_VEC_MAX], n, k;

	for (i = 0; i < e->nr; i++) {
		if (e->streams[i].tx_out > 5)
			continue;
		if (peer_rand(&w->seed) % 4) {
			len[0] = some_len(&w->seed);
			n = peer_rand(&w->seed) % 3 ? 0 : DMASTREAM_SQE_SPLIT;
			if (peer_prep(e, i, len[0], peer_rand(&w->seed) % 64, n, len[0]))
				break;
			continue;
		}
		n = peer_range(&w->seed, 1, DMASTREAM_VEC_MAX);
		for (k = 0; k < n; k++)
			len[k] = some_len(&w->seed) / n + 1;
		if (peer_prep_vec(e, i, len, n, peer_rand(&w->seed) % 64))
			break;
	}
	peer_submit(e);
}

static bool ended(struct peer_end *e)
{
	uint32_t i;

	if (!e)
		return true;
	for (i = 0; i < e->nr; i++)
		if (e->streams[i].eos_result == PEER_EOS_NONE)
			return false;
	return !e->out;
}

static void shut(struct peer_end *e)
{
	uint32_t i;

	for (i = 0; e && i < e->nr; i++)
		if (dmastream_shutdown(e->ctx, e->streams[i].handle))
			peer_fail("SHUTDOWN");
}

static bool work(void *arg)
{
	struct worker *w = arg;

	if (kt_now_ns() < w->end_ns) {
		if (w->p.a)
			top_up(w, w->p.a);
		if (w->p.b)
			top_up(w, w->p.b);
		return false;
	}
	if (!w->shut) {
		shut(w->p.a);
		shut(w->p.b);
		w->shut = true;
	}
	return ended(w->p.a) && ended(w->p.b);
}

static void *worker(void *arg)
{
	struct worker *w = arg;

	w->ok = peer_run(w->p.a, w->p.b, work, w, 120000, "the stress to end");
	return NULL;
}

static void random_cfg(struct peer_cfg *cfg, uint32_t *seed)
{
	*cfg = peer_default;
	cfg->small_n = 1U << peer_range(seed, 2, 6);
	cfg->small_len = peer_rand(seed) & 1 ? 8192 : peer_range(seed, 512, 8192);
	cfg->large_n = 1U << peer_range(seed, 0, 4);
	cfg->large_len = peer_range(seed, 8193, 300000);
	cfg->cq = 1U << peer_range(seed, 6, 9);
	cfg->sq = 64;
	cfg->recv_min = peer_range(seed, 1, cfg->cq / 2);
	cfg->tx_bytes = 16 << 20;
}

static void count_end(struct peer_end *e, uint64_t *msgs, uint64_t *eager, uint64_t *rdma,
		      uint64_t *broken)
{
	uint32_t i;

	if (!e)
		return;
	*msgs += e->rx_msgs;
	*eager += e->rx_eager;
	*rdma += e->rx_bytes - e->rx_eager;
	for (i = 0; i < e->nr; i++)
		*broken += e->streams[i].eos_result != 0 || e->streams[i].tx_failed ||
			   e->streams[i].part;
}

static void run(struct worker *w, unsigned int seconds)
{
	uint64_t msgs = 0, eager = 0, rdma = 0, broken = 0;
	pthread_t thread[THREADS_MAX];
	char *before, *after;
	unsigned int i, bad = 0;

	before = peer_status();
	peer_sync("go");
	for (i = 0; i < threads; i++) {
		w[i].end_ns = kt_now_ns() + seconds * 1000000000ULL;
		pthread_create(&thread[i], NULL, worker, &w[i]);
	}
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	after = peer_status();
	for (i = 0; i < threads; i++) {
		bad += !w[i].ok;
		count_end(w[i].p.a, &msgs, &eager, &rdma, &broken);
		count_end(w[i].p.b, &msgs, &eager, &rdma, &broken);
	}
	kt_is(bad, 0, "threads that did not end");
	kt_is(broken, 0, "streams that did not end well (%llu messages)",
	      (unsigned long long)msgs);
	kt_is(peer_errors, 0, "contents, order, results");
	kt_is(peer_value(after, "counters", "copied_rx_bytes") -
	      peer_value(before, "counters", "copied_rx_bytes"), eager, "copied_rx_bytes");
	kt_is(peer_value(after, "counters", "rdma_rx_bytes") -
	      peer_value(before, "counters", "rdma_rx_bytes"), rdma, "rdma_rx_bytes");
	kt_is(peer_value(after, "counters", "rx_msgs") -
	      peer_value(before, "counters", "rx_msgs"), msgs, "rx_msgs");
	free(before);
	free(after);
}

static unsigned int number(const char *name, unsigned int none, unsigned int max)
{
	const char *s = getenv(name);
	unsigned long n = s ? strtoul(s, NULL, 0) : none;

	return n < 1 ? 1 : n > max ? max : n;
}

int main(void)
{
	unsigned int seconds = number("PEER_SECONDS", kt_quick() ? 8 : 20, 3600);
	static struct worker w[THREADS_MAX];
	const char *s = getenv("DMS_SEED");
	uint32_t seed = s ? strtoul(s, NULL, 0) : (unsigned long)time(NULL) | 1;
	struct peer_cfg a, b;
	unsigned int i, k;
	char service[16];

	threads = number("PEER_THREADS", threads, THREADS_MAX);
	peer_watchdog(90 + seconds);
	printf("# DMS_SEED=%u\n", seed);
	for (i = 0; i < threads; i++) {
		random_cfg(&a, &seed);
		random_cfg(&b, &seed);
		w[i].seed = peer_rand(&seed) | 1;
		snprintf(service, sizeof(service), "stress%u", i);
		if (peer_pair_open(&w[i].p, service, &a, &b))
			kt_ok(false, "pair %u", i);
		for (k = 0; k < STREAMS; k++)
			if (peer_pair_connect(&w[i].p, 1 + i * STREAMS + k))
				kt_ok(false, "connect %u", k);
	}
	if (!peer_errors) {
		run(w, seconds);
		peer_check_paths("after the stress");
		peer_sync("checked");
	}
	for (i = 0; i < threads; i++)
		peer_pair_close(&w[i].p);
	peer_check_gauges();
	return kt_end();
}
