// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue pair fails at each work request of a transfer, one after the other: at the
 * first, in the next round at the second, and so on.  Each message arrives once, in order
 * and whole, and each send ends as delivered.  Over the simulated NIC, whose fault's own
 * counter says that it was met.
 *
 * And a request that would fail again each time ends its own stream alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

static char rules[128], hits_file[128];

static void tell(const char *rule)
{
	FILE *f = fopen(rules, "w");

	if (!f || fprintf(f, "%s\n", rule) < 0 || fclose(f))
		kt_die(rules);
}

/* Of all kinds, since the device came. */
static long hits(void)
{
	FILE *f = fopen(hits_file, "r");
	char name[64];
	long n, sum = 0;

	if (!f)
		kt_die(hits_file);
	while (fscanf(f, "%63s %ld", name, &n) == 2)
		sum += n;
	fclose(f);
	return sum;
}

/* Short, eager and pulled ones, both ways: as many as keep some in each state at once. */
static void some(struct peer_pair *p)
{
	static const uint32_t lens[] = { 64, 9000, 300, 20000, 8192, 0, 100000, 1 };
	unsigned int i;

	for (i = 0; i < KT_ARRAY(lens); i++) {
		peer_send(p, p->a, i % 2, lens[i], i);
		peer_send(p, p->b, i % 2, lens[KT_ARRAY(lens) - 1 - i], i);
	}
}

/* All that was sent has come. */
static bool settle(struct peer_pair *p)
{
	uint64_t a = 0, b = 0;
	uint32_t i;

	if (!peer_settle(p, 0, 0))
		return false;
	for (i = 0; i < p->a->nr; i++) {
		a += p->a->streams[i].tx_msgs;
		b += p->b->streams[i].tx_msgs;
	}
	return peer_settle(p, b, a);
}

/* True: the fault at the @at-th request was met, and everything came. */
static bool fails_at(struct peer_pair *p, unsigned int at)
{
	long before = hits(), resumed = peer_counter("paths_resumed");
	char rule[64];

	snprintf(rule, sizeof(rule), "wr status=retry-exceeded at=%u", at);
	tell(rule);
	do {
		peer_waits_for("request %u to fail", at);
		some(p);
		peer_poll(p->a);
		peer_poll(p->b);
	} while (hits() == before && !peer_errors);
	peer_waits_for("the rest after request %u failed", at);
	if (!settle(p))
		return false;
	tell("clear");
	return hits() == before + 1 && peer_counter("paths_resumed") > resumed && !peer_errors;
}

static void each_request(struct peer_pair *p, unsigned int most, unsigned int step)
{
	long long replayed = peer_counter("msgs_replayed");
	unsigned int at, i, bad = 0, n = 0;

	for (at = 1; at <= most && !bad; at += at < 40 ? 1 : step, n++) {
		if (fails_at(p, at))
			continue;
		printf("# request %u\n", at);
		bad++;
	}
	kt_is(bad, 0, "transfers that a failure has hurt, out of %u", n);
	kt_is(peer_errors, 0, "contents, order, results");
	for (i = 0; i < 2; i++) {
		kt_is(p->a->streams[i].tx_failed + p->b->streams[i].tx_failed, 0,
		      "failed sends of stream %u", i);
		kt_is(p->a->streams[i].rx_msgs, p->b->streams[i].tx_msgs, "stream %u, one way", i);
		kt_is(p->b->streams[i].rx_msgs, p->a->streams[i].tx_msgs, "and the other");
	}
	kt_ok(peer_counter("msgs_replayed") > replayed, "messages were sent again: %lld",
	      peer_counter("msgs_replayed") - replayed);
	kt_is(peer_counter("protocol_errors"), 0, "protocol errors");
}

static bool guilty_ended(void *arg)
{
	struct peer_pair *p = arg;

	return p->a->streams[1].eos_result != PEER_EOS_NONE &&
	       p->b->streams[1].eos_result != PEER_EOS_NONE && !p->a->out;
}

/* A READ that may not: the stream whose message it is cannot go on, the other one can. */
static void guilty(struct peer_pair *p)
{
	uint64_t came = p->b->streams[0].rx_msgs;
	long before = hits();

	tell("wr status=rem-access op=read");
	kt_is(peer_prep(p->a, 1, 50000, 0, 0, -EPIPE), 0, "a message whose READ is refused");
	kt_is(peer_prep(p->a, 0, 64, 0, 0, 64), 0, "one of another stream");
	peer_submit(p->a);
	kt_ok(peer_run(p->a, p->b, guilty_ended, p, 60000, "the guilty stream to end"),
	      "the guilty stream ends");
	tell("clear");
	kt_is(hits(), before + 1, "the READ failed once");
	peer_send(p, p->a, 0, 100000, 0);
	peer_send(p, p->b, 0, 100000, 0);
	peer_settle(p, 0, 0);
	kt_is(p->b->streams[0].rx_msgs, came + 2, "the other one has gone on");
	kt_is(p->a->streams[0].eos_result, PEER_EOS_NONE, "and is open");
	kt_is(peer_counter("protocol_errors"), 0, "protocol errors");
}

int main(void)
{
	struct peer_pair p = {};
	struct peer_cfg cfg = peer_default;
	const char *dev = getenv("DMS_RDMA");

	if (access("/sys/kernel/debug/hwsim", F_OK)) {
		kt_skip("needs the simulated NIC");
		return kt_end();
	}
	snprintf(rules, sizeof(rules), "/sys/kernel/debug/hwsim/%s/fault/rules", dev ? dev : "hw0");
	snprintf(hits_file, sizeof(hits_file), "/sys/kernel/debug/hwsim/%s/fault/hits",
		 dev ? dev : "hw0");
	peer_watchdog(kt_quick() ? 120 : 600);
	cfg.tx_bytes = 8 << 20;
	if (peer_pair_open(&p, "recover", &cfg, &cfg) || peer_pair_connect(&p, 1) ||
	    peer_pair_connect(&p, 2))
		kt_die("no streams");
	each_request(&p, kt_quick() ? 120 : 500, kt_quick() ? 8 : 1);
	if (!peer_errors)
		guilty(&p);
	peer_check_paths("at the end");
	peer_pair_close(&p);
	peer_check_gauges();
	return kt_end();
}
