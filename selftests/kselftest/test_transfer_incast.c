// SPDX-License-Identifier: GPL-2.0-only
/*
 * The incast budget of the NIC, made small by the module's argument: it is never
 * exceeded, whoever waits for it goes on, and a short message goes first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define STREAMS		16
#define LONG		(1 << 20)
#define SHORT		20000

static struct peer_pair pair;

/* Of the device of the first path in dmsctl's JSON. */
static long long incast(const char *name)
{
	char want[64], *status = peer_status(), *at;
	long long v = -1;

	snprintf(want, sizeof(want), "\"incast_%s\": ", name);
	at = strstr(status, want);
	if (at)
		v = strtoll(at + strlen(want), NULL, 10);
	free(status);
	return v;
}

static void all_at_once(void)
{
	unsigned int i, m, rounds = kt_quick() ? 1 : 3;
	long long waits = peer_counter("incast_waits");
	uint64_t rx = pair.b->rx_msgs;

	for (m = 0; m < rounds; m++)
		for (i = 0; i < STREAMS; i++)
			peer_send(&pair, pair.a, i, LONG + i, i % 7);
	peer_settle(&pair, 0, rx + STREAMS * rounds);
	kt_ok(peer_counter("incast_waits") > waits, "pulls waited for the budget");
	kt_is(incast("limit"), 256 << 10, "the budget that the module was given");
	kt_ok(incast("high") > 0 && incast("high") <= incast("limit"),
	      "the most that was pulled at once, %lld, is within it", incast("high"));
	kt_is(incast("used"), 0, "nothing is being pulled at the end");
}

static bool short_came(void *arg)
{
	return pair.b->streams[STREAMS].rx_msgs == *(uint64_t *)arg;
}

/* Behind STREAMS long ones that are being pulled. */
static void short_first(void)
{
	uint64_t begin = pair.b->rx_bytes, rx = pair.b->rx_msgs, one = 1, before;
	unsigned int i;

	for (i = 0; i < STREAMS; i++)
		kt_is(peer_prep(pair.a, i, LONG, 0, 0, LONG), 0, "a long one");
	peer_submit(pair.a);
	kt_is(peer_prep(pair.a, STREAMS, SHORT, 0, 0, SHORT), 0, "a short one");
	peer_submit(pair.a);
	peer_run(pair.a, pair.b, short_came, &one, 60000, "the short message");
	before = pair.b->rx_bytes - begin;
	printf("# %llu of %u bytes came before it\n", (unsigned long long)before, STREAMS * LONG);
	kt_ok(before < STREAMS * LONG / 2, "a short message waits for less than half of the long ones");
	peer_settle(&pair, 0, rx + STREAMS + 1);
}

int main(void)
{
	struct peer_cfg a = peer_default, b = peer_default;
	unsigned int i;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(60);
	a.sq = 256;
	a.cq = 512;
	a.tx_bytes = 80 << 20;
	b.small_n = 256;
	b.large_n = 128;
	b.large_len = 65536;
	b.cq = 2048;
	b.recv_min = 1024;
	if (peer_pair_open(&pair, "incast", &a, &b)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	for (i = 0; i <= STREAMS; i++)
		if (peer_pair_connect(&pair, 1 + i))
			break;
	kt_is(pair.a->nr, STREAMS + 1, "streams");
	all_at_once();
	short_first();
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("at the end");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
