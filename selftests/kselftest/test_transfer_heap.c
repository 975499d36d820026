// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream sends from a heap that makes its pools when it needs them, and closes them
 * when they are empty, while another thread makes it grow and shrink as well.  That
 * pools came and went is read off the heap and off the module.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define MIB	(1ULL << 20)
#define POOL	(2 * MIB)
#define MAX	(24 * MIB)
#define LARGE	(300 << 10)
#define SMALL	1500

static struct peer_pair pair;
static struct dmastream_heap *heap;
static bool stop;

static struct dmastream_heap_stats stats_of(void)
{
	struct dmastream_heap_stats stats;

	dmastream_heap_stats(heap, &stats);
	return stats;
}

static long long pools(void)
{
	char *status = peer_status();
	long long n = peer_value(status, "gauges", "pools");

	free(status);
	return n;
}

/* The kernel frees a closed pool by a work. */
static void pools_come_to(long long want, const char *what)
{
	uint64_t end = dmastream_now_ns() + peer_ms(10000) * 1000000;
	long long n;

	while ((n = pools()) != want && dmastream_now_ns() < end)
		usleep(20000);
	kt_is(n, want, "%s", what);
}

/* More than a pool, and all of it back, again and again. */
static void *churn(void *arg)
{
	uint32_t seed = 99;
	char *p[24];
	long bad = 0;
	int i;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < 24; i++) {
			p[i] = dmastream_alloc(heap, peer_range(&seed, 1, 400000));
			if (p[i])
				*p[i] = i;
		}
		for (i = 0; i < 24; i++) {
			if (!p[i])
				continue;
			bad += *p[i] != i;
			bad += dmastream_free(heap, p[i]) != 0;
		}
		dmastream_heap_flush(heap);
		usleep(20000);
	}
	return (void *)bad;
}

/* As many at once as there is room for, then few: the pools go that were for the many. */
static void waves(unsigned int n)
{
	uint64_t rx = 0;
	unsigned int i;

	while (n--) {
		for (i = 0; i < 40; i++)
			peer_send(&pair, pair.a, 0, LARGE - i * 64, i % 3 * 64);
		for (i = 0; i < 40; i++)
			peer_send(&pair, pair.a, 0, SMALL + i, 0);
		rx += 80;
		if (!peer_settle(&pair, 0, rx))
			return;
		dmastream_heap_flush(heap);
	}
}

static void streams(void)
{
	static const struct dmastream_heap_growth growth = {
		.max_bytes = MAX, .pool_bytes = POOL, .numa_node = -1,
	};
	long long before = pools(), most;
	struct dmastream_heap_stats s;
	pthread_t thread;
	void *bad;
	int i;

	kt_is(dmastream_heap_create(&heap), 0, "a heap");
	kt_is(dmastream_heap_set_growth(heap, pair.a->ctx, &growth), 0, "with pools of its own");
	dmastream_heap_destroy(pair.a->heap);
	pair.a->heap = heap;

	/* by itself, so that the counts are known */
	for (i = 0; i < 20; i++)
		if (peer_prep(pair.a, 0, LARGE, 0, 0, LARGE))
			peer_fail("no room for message %d", i);
	most = pools() - before;
	/* of 75 pages: six fit into one, and four are found room for (blocks of 128, spans.c) */
	kt_ok(most >= 4, "20 messages of 300 KiB take %lld pools of 2 MiB", most);
	kt_is(stats_of().grown, most * POOL, "as the heap says, too");
	kt_is(dmastream_heap_trim(heap), 0, "none goes while messages are in it");
	peer_submit(pair.a);
	peer_settle(&pair, 0, 20);
	pools_come_to(before + 1, "one is kept when they have gone");
	kt_is(dmastream_heap_trim(heap), POOL, "trim takes it");
	pools_come_to(before, "none is left");

	pair.b->rx_msgs = 0;
	s = stats_of();
	if (pthread_create(&thread, NULL, churn, NULL))
		kt_die("pthread_create");
	waves(kt_quick() ? 3 : 10);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, &bad);
	kt_is((long)bad, 0, "the other thread's memory is its own");
	kt_ok(stats_of().grows - s.grows >= 5 && stats_of().shrinks - s.shrinks >= 5,
	      "meanwhile pools came (%u) and went (%u)", stats_of().grows - s.grows,
	      stats_of().shrinks - s.shrinks);
	kt_is(stats_of().bad_frees, 0, "no free was refused");
	dmastream_heap_trim(heap);
	kt_is(stats_of().used, 0, "nothing is allocated");
	pools_come_to(before, "no pool is left");
}

int main(void)
{
	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(60);
	if (peer_pair_open(&pair, "heap", &peer_default, &peer_default) ||
	    peer_pair_connect(&pair, 1)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	streams();
	kt_is(peer_errors, 0, "contents, order, results");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
