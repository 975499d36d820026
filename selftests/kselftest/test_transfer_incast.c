// SPDX-License-Identifier: GPL-2.0-only
/*
 * The incast budget of the NIC, made small by the module's argument: it is never
 * exceeded, whoever waits for it goes on, and a short message goes first.
 *
 *	test_transfer_incast [PEERS]	streams of one peer, or one of each of so many
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define LONG		(1 << 20)
#define SHORT		20000
#define EAGER		4000
#define EAGERS		32	/* at once of each sender: more than the receives of a path */

static struct peer_pair pair;
static unsigned int senders = 16;
static uint32_t longest = LONG;

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
	unsigned int i, m, rounds = kt_quick() || longest < LONG ? 1 : 3;
	long long waits = peer_counter("incast_waits");
	uint64_t rx = pair.b->rx_msgs;

	for (m = 0; m < rounds; m++)
		for (i = 0; i < senders; i++)
			peer_send(&pair, pair.a, i, longest + i, i % 7);
	peer_settle(&pair, 0, rx + senders * rounds);
	kt_ok(peer_counter("incast_waits") > waits, "pulls waited for the budget");
	kt_is(incast("limit"), 256 << 10, "the budget that the module was given");
	kt_ok(incast("high") > 0 && incast("high") <= incast("limit"),
	      "the most that was pulled at once, %lld, is within it", incast("high"));
	kt_is(incast("used"), 0, "nothing is being pulled at the end");
}

/* Copied ones: what they find is receives, and landings. */
static void eager_at_once(void)
{
	uint64_t rx = pair.b->rx_msgs;
	unsigned int i, m;

	for (i = 0; i < senders; i++)
		for (m = 0; m < EAGERS; m++)
			peer_send(&pair, pair.a, i, EAGER + m, m % 7);
	peer_settle(&pair, 0, rx + (uint64_t)senders * EAGERS);
	peer_check_paths("many eager ones at once");
}

static bool short_came(void *arg)
{
	return pair.b->streams[senders].rx_msgs == *(uint64_t *)arg;
}

/*
 * Behind senders long ones.  All are announced by one ENTER: between two, a host with
 * other work to do lets the long ones be pulled before the short one is even sent.
 */
static void short_first(void)
{
	uint64_t begin = pair.b->rx_bytes, rx = pair.b->rx_msgs, one = 1, before;
	unsigned int i;

	for (i = 0; i < senders; i++)
		kt_is(peer_prep(pair.a, i, longest, 0, 0, longest), 0, "a long one");
	kt_is(peer_prep(pair.a, senders, SHORT, 0, 0, SHORT), 0, "a short one");
	peer_submit(pair.a);
	peer_run(pair.a, pair.b, short_came, &one, 60000, "the short message");
	/* at its own completion: those behind it may have been reaped with it */
	before = pair.b->streams[senders].came_at - begin - SHORT;
	printf("# %llu of %u bytes came before it\n", (unsigned long long)before, senders * longest);
	kt_ok(before < (uint64_t)senders * longest / 2, "a short message waits for less than half of the long ones");
	peer_settle(&pair, 0, rx + senders + 1);
}

static void connect_all(bool peers)
{
	struct dmastream_addr own = pair.addr;
	unsigned int i;

	for (i = 0; i <= senders; i++) {
		if (peers)
			peer_address(&own, i % senders, &pair.addr);
		if (peer_pair_connect(&pair, 1 + i))
			break;
	}
	kt_is(pair.a->nr, senders + 1, "streams");
	if (peers)
		kt_is(peer_value(peer_status(), "gauges", "sessions"), 2 * senders,
		      "sessions, both ends");
}

int main(int argc, char **argv)
{
	struct peer_cfg a = peer_default, b = peer_default;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	if (argc > 1)
		senders = atoi(argv[1]);
	if (senders > 16)
		longest = LONG / 4;
	peer_watchdog(60 + 2 * senders);
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
	connect_all(argc > 1);
	all_at_once();
	eager_at_once();
	short_first();
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("at the end");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
