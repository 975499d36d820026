// SPDX-License-Identifier: GPL-2.0-only
/*
 * An incast onto one port of a simulated switch, beside the same by dmssim: all senders,
 * each a NIC of its own, send a message at the same time, again when all have come.
 * test_fanin.sh makes the NICs and the simulation.
 *
 *	test_transfer_fanin SENDERS ROUNDS BYTES JSON	JSON: a line of dmssim --json
 *
 * It is the side that connects that receives, since it is by the listener's address
 * that one node has many NICs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define MOST	64
#define WITHIN	0.15

static struct peer_pair pair;
static unsigned int senders;
static double *times;		/* us from the beginning of its round */
static unsigned int n;

/* Of the messages: the section comes first. */
static double simulated(const char *json, const char *name)
{
	const char *at = strstr(json, "\"messages\":");
	char want[64];

	snprintf(want, sizeof(want), "\"%s\":", name);
	at = at ? strstr(at, want) : NULL;
	if (!at)
		kt_die("not a line of dmssim --json");
	return atof(at + strlen(want));
}

/* 10.79.0.2 and on; 10.79.0.1 receives. */
static bool connect_all(void)
{
	unsigned int i;

	for (i = 0; i < senders; i++) {
		pair.addr = (struct dmastream_addr){ .family = pair.addr.family,
						     .port = pair.addr.port };
		memcpy(pair.addr.addr, (uint8_t[]){ 10, 79, 0, 2 + i }, 4);
		if (peer_pair_connect(&pair, 1 + i))
			return false;
	}
	return true;
}

/* All at the same time; each time is that of the last byte at the receiver. */
static void one_round(uint32_t len)
{
	uint64_t was[MOST], begin, end;
	unsigned int i, left = senders;

	for (i = 0; i < senders; i++) {
		was[i] = pair.a->streams[i].rx_msgs;
		kt_is(peer_prep(pair.b, i, len, 0, 0, len), 0, "a message");
	}
	begin = kt_now_ns();
	end = begin + peer_ms(60000) * 1000000ULL;
	peer_submit(pair.b);
	while (left && kt_now_ns() < end && !peer_errors) {
		dmastream_submit_and_wait(pair.a->ring, 1, kt_now_ns() + 100000000);
		peer_poll(pair.a);
		for (i = 0; i < senders; i++) {
			if (pair.a->streams[i].rx_msgs == was[i])
				continue;
			was[i] = pair.a->streams[i].rx_msgs;
			times[n++] = (kt_now_ns() - begin) / 1e3;
			left--;
		}
	}
	kt_is(left, 0, "messages that did not come");
	peer_settle(&pair, 0, 0);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void compare(const char *what, double here, double there)
{
	printf("# %-5s %10.0f us here, %10.0f us simulated: %+.1f %%\n", what, here, there,
	       (here / there - 1) * 100);
	kt_ok(here > 0 && fabs(here / there - 1) <= WITHIN, "%s: within 15 %% of the simulation",
	      what);
}

int main(int argc, char **argv)
{
	struct peer_cfg a = peer_default, b = peer_default;
	unsigned int rounds, i;
	double sum = 0;
	uint32_t len;

	if (argc != 5 || atoi(argv[1]) < 2 || atoi(argv[1]) > MOST)
		kt_die("test_fanin.sh runs it");
	senders = atoi(argv[1]);
	rounds = atoi(argv[2]);
	len = atoi(argv[3]);
	times = calloc(senders * rounds, sizeof(*times));
	peer_watchdog(120);
	a.small_n = 256;
	a.large_n = 128;
	a.large_len = 65536;
	a.cq = 2048;
	a.recv_min = 1024;
	b.sq = 256;
	b.cq = 512;
	b.tx_bytes = (uint64_t)senders * len * 2;
	if (peer_pair_open(&pair, "fanin", &a, &b) || !connect_all()) {
		kt_ok(false, "streams");
		return kt_end();
	}
	for (i = 0; i < rounds; i++)
		one_round(len);
	qsort(times, n, sizeof(*times), by_size);
	for (i = 0; i < n; i++)
		sum += times[i];
	if (n) {
		compare("mean", sum / n, simulated(argv[4], "mean_us"));
		compare("P50", times[(n - 1) / 2], simulated(argv[4], "p50_us"));
		compare("last", times[n - 1], simulated(argv[4], "max_us"));
	}
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("at the end");
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
