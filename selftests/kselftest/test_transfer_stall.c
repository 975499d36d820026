// SPDX-License-Identifier: GPL-2.0-only
/*
 * One of 64 streams has a reader that stopped: it does not reap, and gives no
 * landings.  The others keep their rate, the one holds no keys, and nothing is
 * lost when it goes on.  Rates mean something only in an instruction-count run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define STREAMS		64	/* stream 0 is the one that stops */
#define AHEAD		4	/* sends out on each stream */

static struct {
	struct peer_end	*a, *b;
	uint64_t	each;	/* messages on each stream in all, after this load */
} load;

static bool keep_loaded(void *arg)
{
	static const uint32_t len[] = { 100, 4096, 30000 };
	uint64_t missing = 0;
	uint32_t i;

	(void)arg;
	for (i = 1; i < STREAMS; i++) {
		struct peer_stream *s = &load.a->streams[i];

		while (s->tx_out < AHEAD && s->tx_id < load.each)
			if (peer_prep(load.a, i, len[(s->tx_id + i) % 3], 0, 0,
				      len[(s->tx_id + i) % 3]))
				break;
		missing += load.each - s->tx_id + s->tx_out;
	}
	if (dmastream_sq_pending(load.a->ring))
		peer_submit(load.a);
	return !missing;
}

/* Nanoseconds for the same load on 63 streams. */
static uint64_t measure(unsigned int each, const char *what)
{
	uint64_t begin = kt_now_ns(), took;

	load.each += each;
	peer_run(load.a, load.b, keep_loaded, NULL, 120000, what);
	took = kt_now_ns() - begin;
	printf("# %s: %llu messages, %.1f ms\n", what, (unsigned long long)each * (STREAMS - 1),
	       took / 1e6);
	return took;
}

static bool held(struct peer_end *a)
{
	struct dmastream_stream_query q = { 0 };

	dmastream_stream_query(a->ctx, a->streams[0].handle, &q);
	return (q.waits & DMASTREAM_WAIT_HOLD) && !q.keys;
}

static bool all_came(void *arg)
{
	struct peer_end *stopped = arg;

	return !load.a->out && stopped->rx_msgs == load.a->streams[0].tx_id;
}

static void stall(struct peer_pair *p)
{
	long long holds = peer_counter("holds"), full = peer_counter("cq_full_waits");
	struct dmastream_stream_query q = { 0 };
	unsigned int i;

	/* more small ones than the ring takes, then one longer than the landings */
	for (i = 0; i < 12; i++)
		peer_prep(p->a, 0, 100 + i, 0, 0, 100 + i);
	peer_prep(p->a, 0, 200000, 0, 0, 200000);
	for (i = 0; i < 50; i++)
		peer_prep(p->a, 0, 1000 + i, 0, 0, 1000 + i);
	peer_prep(p->a, 0, 70000, 0, 0, 70000);
	peer_submit(p->a);
	peer_waits_for("HOLD");
	for (i = 0; i < 500 * kt_scale() && !held(p->a); i++)
		kt_sleep_ms(10);
	dmastream_stream_query(p->a->ctx, p->a->streams[0].handle, &q);
	kt_ok(q.waits & DMASTREAM_WAIT_HOLD, "the stream waits for its receiver");
	kt_is(q.keys, 0, "it holds no keys");
	kt_ok(peer_counter("holds") > holds, "HOLD was said");
	kt_ok(peer_counter("cq_full_waits") > full, "its completion queue is full");
}

static void resume(struct peer_pair *p)
{
	long long pulls = peer_counter("pulls");

	peer_run(p->a, p->b, all_came, p->b, 30000, "what waited for the stopped reader");
	kt_is(p->b->rx_msgs, p->a->streams[0].tx_id, "nothing is lost when it goes on");
	kt_ok(peer_counter("pulls") > pulls, "PULL was said");
}

static void compare(struct peer_pair *stopped)
{
	const char *accel = getenv("DMS_ACCEL");
	bool exact = accel && !strcmp(accel, "icount");
	unsigned int each = kt_quick() ? 6 : 24;
	struct dmastream_stream_query q = { 0 };
	uint64_t before, during, after;
	double ratio;

	measure(each, "warm-up");
	before = measure(each, "before the stall");
	stall(stopped);
	during = measure(each, "during the stall");
	dmastream_stream_query(stopped->a->ctx, stopped->a->streams[0].handle, &q);
	kt_is(q.keys, 0, "it still holds no keys");
	kt_is(stopped->b->rx_msgs, 0, "it still is stopped");
	resume(stopped);
	after = measure(each, "after the stall");
	ratio = (before + after) / 2.0 / during;
	if (exact)
		kt_ok(ratio >= 0.9, "the others keep %.1f %% of their rate", ratio * 100);
	else
		kt_ok(ratio >= 0.2, "the others go on (%.1f %%, a rough clock)", ratio * 100);
}

int main(void)
{
	struct peer_cfg a = peer_default, b = peer_default, stop = peer_default;
	struct peer_pair go, stopped = { 0 };
	unsigned int i;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(kt_quick() ? 120 : 240);
	a.sq = 512;
	a.tx_bytes = 32 << 20;
	b.small_n = 512;
	b.large_n = 64;
	b.large_len = 65536;
	stop.cq = 8;
	stop.recv_min = 4;
	stop.small_n = 16;
	stop.small_len = 4096;
	stop.large_n = 1;
	stop.large_len = 65536;
	if (peer_pair_open(&go, "go", &a, &b)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	stopped = (struct peer_pair){ .a = go.a, .b = peer_end_new(&stop), .service = "stop",
				      .addr = go.addr };
	peer_give_all(stopped.b);
	kt_is(dmastream_listen(stopped.b->ctx, "stop", 1, 0, &stopped.listener), 0, "LISTEN");
	peer_pair_connect(&stopped, 1);
	for (i = 1; i < STREAMS; i++)
		if (peer_pair_connect(&go, 1 + i))
			break;
	kt_is(go.a->nr, STREAMS, "streams");
	load.a = go.a;
	load.b = go.b;
	compare(&stopped);
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("after the stall");
	stopped.a = NULL;
	peer_pair_close(&stopped);
	peer_pair_close(&go);
	peer_check_gauges();
	return kt_end();
}
