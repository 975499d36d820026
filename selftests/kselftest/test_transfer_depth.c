// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives that move between the queue pairs of a NIC, with a budget that the
 * module's argument made small.  A node is many peers of its own, one for each of the
 * addresses that this program gives it; by turns, each is busy.  Paths grow, those
 * that became idle give back, the budget is never exceeded, nobody is ever not ready;
 * and who would have no floor is refused.
 *
 *	test_transfer_depth [PEERS [BUSY]]	BUSY: of them, that take a turn
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kt.h"
#include "peer.h"

#define STREAMS		4		/* of a peer */
#define LEN		5000		/* two fill a packet */

static struct peer_pair pair;
static struct dmastream_addr own;
static unsigned int peers = 6, busy;

/* ---- what the module says ---- */

/* Sum and most of a number over all paths. */
static long long over_paths(const char *name, long long *most)
{
	char want[64], *status = peer_status(), *at;
	long long sum = 0, v;

	snprintf(want, sizeof(want), "\"%s\": ", name);
	*most = 0;
	at = strstr(status, "\"paths\": [");
	while (at && (at = strstr(at, want))) {
		at += strlen(want);
		v = strtoll(at, NULL, 10);
		sum += v;
		if (v > *most)
			*most = v;
	}
	free(status);
	return sum;
}

static long long path_most(const char *name)
{
	long long most;

	over_paths(name, &most);
	return most;
}

/* Until nothing is asked back any more. */
static bool all_back(void)
{
	uint64_t end = kt_now_ns() + peer_ms(10000) * 1000000ULL;
	long long most;

	peer_waits_for("receives that were asked back");
	while (over_paths("recv_asked", &most) && kt_now_ns() < end)
		kt_sleep_ms(20);
	return !most;
}

/* ---- peers ---- */

static bool peer_open(unsigned int nr)
{
	unsigned int i;

	peer_address(&own, nr, &pair.addr);
	for (i = 0; i < STREAMS; i++)
		if (peer_pair_connect(&pair, nr * STREAMS + i))
			return false;
	return true;
}

/* One peer has its turn. */
static void turn(unsigned int nr, unsigned int rounds)
{
	uint64_t rx = pair.b->rx_msgs;
	unsigned int i, m;

	for (m = 0; m < rounds; m++) {
		for (i = 0; i < STREAMS; i++)
			while (peer_prep(pair.a, nr * STREAMS + i, LEN + m % 50, m % 7, 0,
					 LEN + m % 50)) {
				peer_submit(pair.a);
				peer_poll(pair.b);
				peer_poll(pair.a);
			}
		/* much at once: what is submitted one by one is sent before the next comes */
		if (m % 16 == 15)
			peer_submit(pair.a);
	}
	peer_submit(pair.a);
	peer_settle(&pair, 0, rx + rounds * STREAMS);
}

static void first_grows(void)
{
	long long grown = peer_counter("recv_grown");
	long long floor = path_most("recv_floor");

	kt_is(path_most("recv_configured"), floor, "paths begin with their floor, %lld", floor);
	turn(0, kt_quick() ? 48 : 160);
	printf("# grown %lld, most posted %lld, ceiling %lld\n",
	       peer_counter("recv_grown") - grown, path_most("recv_configured"),
	       path_most("recv_ceiling"));
	kt_ok(peer_counter("recv_grown") > grown, "a path whose sender ran out of credits grew");
	kt_ok(path_most("recv_configured") > floor, "and has more than its floor");
	kt_ok(path_most("recv_configured") <= path_most("recv_ceiling"), "not above the ceiling");
}

static void all_by_turns(void)
{
	long long recalled = peer_counter("recv_recalled"), empties = peer_counter("recv_empties");
	unsigned int nr, again, times = kt_quick() ? 1 : 2, rounds = kt_quick() ? 32 : 96;

	for (again = 0; again < times; again++) {
		for (nr = 0; nr < busy; nr++) {
			turn(nr, rounds);
			/* idle by the module's argument recv_idle_ms, when the next begins */
			kt_sleep_ms(peer_ms(40));
		}
	}
	kt_ok(peer_counter("recv_waits") > 0, "a path found the budget taken");
	kt_ok(peer_counter("recv_recalled") > recalled, "%lld receives were asked back",
	      peer_counter("recv_recalled") - recalled);
	kt_ok(peer_counter("recv_empties") > empties, "%lld empty packets gave some back",
	      peer_counter("recv_empties") - empties);
	kt_ok(all_back(), "all that was asked back came");
	kt_is(peer_counter("recv_returned"), peer_counter("recv_recalled"),
	      "receives that came back, and that were asked back");
}

static void budget_kept(const char *when)
{
	long long limit = path_most("recv_limit"), high = path_most("recv_high");

	kt_ok(high > 0 && high <= limit, "%s: the most that was used, %lld of %lld KiB", when,
	      high >> 10, limit >> 10);
	kt_ok(path_most("recv_used") <= limit, "%s: what is used, %lld KiB", when,
	      path_most("recv_used") >> 10);
	peer_check_paths(when);
}

/* Of the stream that was not connected. */
static bool never_was(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	return cqe->flags & DMASTREAM_CQE_EOS && !peer_stream_of(e, cqe->stream);
}

/* Peers come until the floors fill the budget. */
static void one_too_many(void)
{
	struct dmastream_stream_opts opts;
	struct dmastream_error where = { 0 };
	char text[DMASTREAM_EXPLAIN_TEXT];
	struct dmastream_addr addr;
	unsigned int nr = peers, to = peers + 40;
	char *status = peer_status();
	long long before = peer_value(status, "refusals", "memory");
	uint32_t handle;
	int err = 0;

	free(status);
	pair.a->other = never_was;
	peer_opts(pair.a, &opts);
	for (; nr < to; nr++) {
		peer_address(&own, nr, &addr);
		err = dmastream_connect(pair.a->ctx, &addr, pair.service, &opts, peer_ms(20000),
					&handle, &where);
		if (err)
			break;
		peer_stream_new(pair.a, handle, nr * STREAMS);
		peer_opts(pair.b, &opts);
		if (dmastream_accept(pair.listener, &opts, peer_ms(20000), &handle, NULL))
			kt_die("accept");
		peer_stream_new(pair.b, handle, nr * STREAMS + 0x8000);
		peer_opts(pair.a, &opts);
	}
	printf("# peer %u: %s\n", nr, dmastream_explain(err, &where, text, sizeof(text)));
	kt_ok(err, "a peer whose floor does not fit is refused, after %u", nr);
	if (where.err_class == DMASTREAM_ERR_DEVICE) {
		/* the floor of the dialling end did not fit: one host is both here */
		kt_is(where.err_detail, 105, "detail: ENOBUFS");
	} else {
		kt_is(where.err_class, DMASTREAM_ERR_REFUSED, "class: refused");
		kt_is(where.err_detail, DMASTREAM_REFUSED_MEMORY, "detail: memory");
		status = peer_status();
		kt_ok(peer_value(status, "refusals", "memory") > before, "it is counted");
		free(status);
	}
}

int main(int argc, char **argv)
{
	struct peer_cfg a = peer_default, b = peer_default;
	unsigned int i;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	if (argc > 1)
		peers = atoi(argv[1]);
	busy = argc > 2 ? (unsigned int)atoi(argv[2]) : peers;
	peer_watchdog(60 + 4 * peers);
	a.sq = 256;
	a.cq = 1024;
	a.tx_bytes = 8 << 20;
	a.small_n = 16;
	b.small_n = 1024 + (peers + 40) * STREAMS * 2;
	b.small_len = 8192;
	b.cq = 4096;
	b.recv_min = 2048;
	if (peer_pair_open(&pair, "depth", &a, &b)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	own = pair.addr;
	for (i = 0; i < peers; i++)
		if (!peer_open(i))
			break;
	kt_is(pair.a->nr, peers * STREAMS, "streams of %u peers", peers);
	kt_is(peer_value(peer_status(), "gauges", "sessions"), 2 * peers, "sessions, both ends");
	first_grows();
	budget_kept("one is busy");
	all_by_turns();
	budget_kept("after all had their turns");
	one_too_many();
	turn(0, 32);
	budget_kept("at the end");
	kt_is(peer_errors, 0, "contents, order, results");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
