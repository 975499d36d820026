// SPDX-License-Identifier: GPL-2.0-only
/*
 * What completions and acknowledgements cost, by counters: in a ping-pong each message
 * is a packet and nothing else is, most packets ask the NIC for no completion, and one
 * answer that does not come is not waited for longer than the module was told
 * (ack_delay_ms, which the plan makes long: no bed is so slow).
 */
#include <stdio.h>
#include <stdlib.h>

#include "kt.h"
#include "peer.h"

#define LEN	64
#define WARM	12	/* rounds until the module counts on an answer; see core/ack.h */

static struct peer_pair pair;

struct counters {
	long long packets, unsignalled, alone, delayed, late;
};

static struct counters now(void)
{
	char *status = peer_status();
	struct counters c = {
		.packets = peer_value(status, "counters", "tx_packets"),
		.unsignalled = peer_value(status, "counters", "tx_unsignalled"),
		.alone = peer_value(status, "counters", "acks_alone"),
		.delayed = peer_value(status, "counters", "acks_delayed"),
		.late = peer_value(status, "counters", "acks_late"),
	};

	free(status);
	return c;
}

static struct counters since(const struct counters *c)
{
	struct counters d = now();

	d.packets -= c->packets;
	d.unsignalled -= c->unsignalled;
	d.alone -= c->alone;
	d.delayed -= c->delayed;
	d.late -= c->late;
	return d;
}

struct heard {
	struct peer_end	*e;
	uint64_t	msgs;
};

static bool heard(void *arg)
{
	const struct heard *h = arg;

	return h->e->rx_msgs >= h->msgs;
}

static bool leg(struct peer_end *from, struct peer_end *to)
{
	struct heard h = { to, to->rx_msgs + 1 };

	if (peer_prep(from, 0, LEN, 0, 0, LEN))
		peer_fail("no room for a message");
	peer_submit(from);
	return peer_run(pair.a, pair.b, heard, &h, 60000, "a message of the ping-pong");
}

static bool rounds(unsigned int n)
{
	while (n--)
		if (!leg(pair.a, pair.b) || !leg(pair.b, pair.a))
			return false;
	return true;
}

static void ping_pong(void)
{
	unsigned int n = kt_quick() ? 60 : 200;
	struct counters c, d;

	kt_ok(rounds(WARM), "it learns");
	c = now();
	kt_ok(rounds(n), "%u rounds", n);
	d = since(&c);
	printf("# %lld packets, %lld without a completion, %lld acknowledgements alone, %lld waited, %lld of them in vain\n",
	       d.packets, d.unsignalled, d.alone, d.delayed, d.late);
	/* besides: what a second without a completion is followed by, and credits */
	kt_ok(d.packets >= 2 * n && d.packets <= 2 * n + n / 5, "a packet for each message");
	kt_ok(d.alone <= n / 10, "acknowledgements go with answers");
	kt_ok(d.delayed >= 2 * n - n / 5, "they wait for them");
	kt_ok(d.unsignalled >= n, "most packets ask for no completion");
}

/* The answer that was counted on does not come. */
static void in_vain(void)
{
	struct counters c = now(), d;

	kt_ok(leg(pair.a, pair.b), "one without an answer");
	peer_settle(&pair, 0, pair.b->rx_msgs);
	d = since(&c);
	kt_ok(d.late >= 1, "its acknowledgement came by itself, later");
}

/* One way only: acknowledgements are not for waiting. */
static void one_way(void)
{
	unsigned int i, n = kt_quick() ? 60 : 200;
	uint64_t rx = pair.b->rx_msgs;
	struct counters c = now(), d;

	for (i = 0; i < n; i++)
		peer_send(&pair, pair.a, 0, LEN, 0);
	peer_settle(&pair, 0, rx + n);
	d = since(&c);
	kt_ok(d.delayed <= 1, "%u messages one way: %lld acknowledgements waited", n, d.delayed);
	kt_ok(d.alone > 0, "they came alone");
}

int main(void)
{
	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(60);
	if (peer_pair_open(&pair, "ping-pong", &peer_default, &peer_default) ||
	    peer_pair_connect(&pair, 1)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	ping_pong();
	in_vain();
	one_way();
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("at the end");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
