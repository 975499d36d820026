// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes: what asks for low latency has queue pairs of its own, a traffic class and a
 * rate limit of its own, and does not wait for what is on the bulk lane.
 *
 *	test_transfer_lanes			lanes, rates; two guests: a peer without one
 *	test_transfer_lanes class IFACE		the traffic class on the wire (see test_lanes.sh)
 *	test_transfer_lanes delays WHAT LEN [LIMIT]	the delays of a ping-pong beside bulk data,
 *						64 MiB in messages of LEN bytes again and again
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kt.h"
#include "peer.h"

#define ALL		UINT32_MAX	/* lengths: pulled messages, too */
#define PARAM		"/sys/module/dmastream/parameters/"
#define ROCE_PORT	4791
#define DSCP_BULK	10	/* AF11 */
#define DSCP_LATENCY	46	/* EF */

static struct peer_cfg small_cfg, bulk_cfg;

static void configure(void)
{
	small_cfg = peer_default;
	bulk_cfg = peer_default;
	bulk_cfg.sq = 256;
	bulk_cfg.cq = 1024;
	bulk_cfg.recv_min = 512;
	bulk_cfg.small_n = 256;
	bulk_cfg.large_n = 128;
	bulk_cfg.large_len = 65536;
	bulk_cfg.tx_bytes = 16 << 20;
}

/* For sessions that come later. */
static void param(const char *name, int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), PARAM "%s", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d\n", value) < 0 || fclose(f))
		kt_die(name);
}

/* ---- what dmsctl says of paths ---- */

struct lane {
	unsigned int	paths;
	long long	tx_packets, dscp, rate_kbit;	/* of the paths: the sum, the last, the sum */
};

static long long number(const char *at, const char *name)
{
	char want[64];

	snprintf(want, sizeof(want), "\"%s\": ", name);
	at = strstr(at, want);
	return at ? strtoll(at + strlen(want), NULL, 10) : -1;
}

static struct lane lane_of(const char *name)
{
	char *status = peer_status(), want[64];
	struct lane l = { 0, 0, -1, 0 };
	const char *at = strstr(status, "\"paths\": [");

	snprintf(want, sizeof(want), "\"lane\": \"%s\"", name);
	while (at && (at = strstr(at, want))) {
		at += strlen(want);
		l.paths++;
		l.tx_packets += number(at, "tx_packets");
		l.dscp = number(at, "dscp");
		l.rate_kbit += number(at, "rate_kbit");
	}
	free(status);
	return l;
}

/* ---- pairs ---- */

static bool open_pair(struct peer_pair *p, const char *name, const struct peer_cfg *cfg,
		      uint64_t flags, unsigned int streams)
{
	struct peer_cfg a = *cfg;
	unsigned int i;

	/* the accepting end does not choose */
	a.flags |= flags;
	if (peer_pair_open(p, name, &a, cfg))
		return kt_ok(false, "%s: open", name);
	for (i = 0; i < streams; i++)
		if (peer_pair_connect(p, i + 1))
			return kt_ok(false, "%s: connect", name);
	return true;
}

static bool on_latency(struct peer_end *e)
{
	struct dmastream_stream_query q;

	if (dmastream_stream_query(e->ctx, e->streams[0].handle, &q))
		kt_die("STREAM_QUERY");
	return q.stream_flags & DMASTREAM_STREAM_LATENCY;
}

/* Both ways, lengths up to @most. */
static void talk(struct peer_pair *p, unsigned int n, uint32_t most)
{
	uint64_t rx_a = p->a ? p->a->rx_msgs : 0, rx_b = p->b ? p->b->rx_msgs : 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint32_t len = i % 8 == 7 ? 30000 : i % 8 == 6 ? 4000 : 64;

		len = len < most ? len : most;
		if (p->a)
			peer_send(p, p->a, 0, len, 0);
		if (p->b)
			peer_send(p, p->b, 0, len, 0);
	}
	peer_settle(p, rx_a + n, rx_b + n);
}

/* ---- each lane has its own queue pairs ---- */

static void moves(struct peer_pair *p, const char *own, const char *other, const char *who)
{
	struct lane own_before = lane_of(own), other_before = lane_of(other);
	long long sent, stray;

	talk(p, 40, ALL);
	sent = lane_of(own).tx_packets - own_before.tx_packets;
	stray = lane_of(other).tx_packets - other_before.tx_packets;
	kt_ok(sent >= 20, "%s: %lld packets on the %s lane", who, sent, own);
	kt_is(stray, 0, "%s: packets on the %s lane", who, other);
}

static void test_own_queue_pairs(void)
{
	struct peer_pair l, b;

	if (!open_pair(&l, "lane-l", &bulk_cfg, DMASTREAM_STREAM_LATENCY, 1) ||
	    !open_pair(&b, "lane-b", &bulk_cfg, 0, 1))
		return;
	/* a session has two ends here */
	kt_is(lane_of("latency").paths, 2, "queue pairs of the latency lane");
	kt_is(lane_of("bulk").paths, 4, "queue pairs of the bulk lane");
	kt_ok(on_latency(l.a), "who connected is told that it is on the latency lane");
	kt_ok(on_latency(l.b), "so is who accepted");
	kt_ok(!on_latency(b.a) && !on_latency(b.b), "a stream that does not ask is not");
	moves(&l, "latency", "bulk", "a latency stream");
	moves(&b, "bulk", "latency", "a bulk stream");
	peer_check_paths("with two lanes");
	peer_pair_close(&l);
	peer_pair_close(&b);
	peer_check_gauges();
}

/* ---- more of them, and none ---- */

static void test_most(void)
{
	struct peer_pair p;

	param("qps", 100);
	param("qps_latency", 100);
	if (!open_pair(&p, "most", &small_cfg, DMASTREAM_STREAM_LATENCY, 1))
		return;
	kt_is(lane_of("bulk").paths, 16, "eight for bulk are the most");
	kt_is(lane_of("latency").paths, 16, "eight for latency, too");
	talk(&p, 8, ALL);
	peer_pair_close(&p);
	peer_check_gauges();
}

static void test_numbers(void)
{
	struct peer_pair p;
	long long before;
	struct lane l;

	param("qps", 1);
	param("qps_latency", 3);
	if (!open_pair(&p, "three", &bulk_cfg, DMASTREAM_STREAM_LATENCY, 6))
		return;
	kt_is(lane_of("bulk").paths, 2, "one queue pair for bulk");
	l = lane_of("latency");
	kt_is(l.paths, 6, "three for latency");
	talk(&p, 8, ALL);
	peer_pair_close(&p);
	peer_check_gauges();

	if (!kt_quick())
		test_most();

	param("qps", 2);
	param("qps_latency", 0);
	if (!open_pair(&p, "none", &bulk_cfg, DMASTREAM_STREAM_LATENCY, 1))
		return;
	kt_is(lane_of("latency").paths, 0, "no latency lane");
	kt_ok(!on_latency(p.a) && !on_latency(p.b), "the stream is told that it is not on one");
	before = lane_of("bulk").tx_packets;
	talk(&p, 40, ALL);
	kt_ok(lane_of("bulk").tx_packets - before >= 20, "it works, on the bulk lane");
	peer_pair_close(&p);
	peer_check_gauges();
	param("qps_latency", 1);
}

/* ---- rates ---- */

struct timed {
	struct peer_end	*a, *b;
	uint32_t	len;
	uint64_t	first_ns, first_bytes, last_ns, last_bytes, stop_ns;
};

/* Keeps every stream busy until the time is over. */
static bool keep_busy(void *arg)
{
	struct timed *t = arg;
	uint64_t now = kt_now_ns();
	uint32_t i;

	if (!t->first_ns && t->b->rx_bytes) {
		t->first_ns = now;
		t->first_bytes = t->b->rx_bytes;
	}
	if (t->b->rx_bytes != t->last_bytes) {
		t->last_ns = now;
		t->last_bytes = t->b->rx_bytes;
	}
	if (now >= t->stop_ns)
		return true;
	for (i = 0; i < t->a->nr; i++)
		while (t->a->streams[i].tx_out < 8 && !peer_prep(t->a, i, t->len, 0, 0, t->len))
			;
	peer_submit(t->a);
	return false;
}

/* Bytes per second that came, over @ms. */
static double goodput(struct peer_pair *p, uint32_t len, unsigned int ms)
{
	struct timed t = { .a = p->a, .b = p->b, .len = len };

	t.stop_ns = kt_now_ns() + ms * 1000000ULL;
	t.last_bytes = p->b->rx_bytes;
	/* what came before does not count, and neither does the burst */
	peer_run(p->a, p->b, keep_busy, &t, ms + 60000, "a timed run");
	if (!t.first_ns || t.last_ns <= t.first_ns)
		return 0;
	return (t.last_bytes - t.first_bytes) * 1e9 / (t.last_ns - t.first_ns);
}

static void one_rate(const char *lane, uint64_t flags, unsigned int mbit, uint32_t len)
{
	unsigned int ms = kt_quick() ? 4000 : 3000;
	long long waits = peer_counter("rate_waits");
	struct peer_pair p;
	double want = mbit * 125000.0, got;
	char name[32];

	snprintf(name, sizeof(name), "rate_mbit_%s", lane);
	param(name, mbit);
	if (!open_pair(&p, "rate", &bulk_cfg, flags, 4))
		return;
	kt_is(lane_of(lane).rate_kbit, 2 * mbit * 1000, "%s: the limit is seen, at both ends", lane);
	got = goodput(&p, len, ms);
	kt_ok(got > 0.9 * want && got < 1.1 * want, "%s: %u bytes at %u Mbit/s: %.0f kB/s of %.0f",
	      lane, len, mbit, got / 1000, want / 1000);
	waits = peer_counter("rate_waits") - waits;
	kt_ok(waits > 0, "%s: streams waited for it (%lld times)", lane, waits);
	param(name, 0);
	peer_settle(&p, 0, 0);
	peer_pair_close(&p);
	peer_check_gauges();
}

/* The other lane's streams are not held back. */
static void test_other_lane(void)
{
	struct peer_pair l, b;
	unsigned int i;
	uint64_t begin, all;

	param("rate_mbit_bulk", 1);
	if (!open_pair(&b, "slow", &bulk_cfg, 0, 1) ||
	    !open_pair(&l, "quick", &small_cfg, DMASTREAM_STREAM_LATENCY, 1))
		return;
	param("rate_mbit_bulk", 0);
	/* half a second's worth and more */
	for (i = 0; i < 8; i++)
		peer_send(&b, b.a, 0, 65536, 0);
	begin = kt_now_ns();
	talk(&l, 8, ALL);
	all = kt_now_ns() - begin;
	kt_ok(b.a->out, "the bulk lane waits (%u sends are out)", b.a->out);
	printf("# 16 messages on the latency lane in %.1f ms\n", all / 1e6);
	peer_settle(&b, 0, 8);
	kt_ok(kt_now_ns() - begin > 2000000000ULL, "512 KiB at 1 Mbit/s (half of it each queue pair) take seconds");
	peer_pair_close(&l);
	peer_pair_close(&b);
	peer_check_gauges();
}

static void test_rates(void)
{
	unsigned int mbit = kt_quick() ? 4 : 24;

	KT_RUN(one_rate("bulk", 0, mbit, 65536));
	KT_RUN(one_rate("bulk", 0, mbit, 2000));
	KT_RUN(one_rate("latency", DMASTREAM_STREAM_LATENCY, mbit, 30000));
	KT_RUN(test_other_lane());
}

/* ---- two guests: one of them has no latency lane ---- */

static void one_without(const char *name, bool dialler_has, bool acceptor_has)
{
	struct peer_pair p;
	bool here = peer_has_a() ? dialler_has : acceptor_has;

	param("qps_latency", here ? 2 : 0);
	peer_sync(name);
	if (!open_pair(&p, name, &bulk_cfg, DMASTREAM_STREAM_LATENCY, 1))
		return;
	kt_is(lane_of("latency").paths, 2 * (dialler_has && acceptor_has), "%s: latency lane", name);
	kt_is(lane_of("bulk").paths, 2, "%s: bulk lane", name);
	kt_is(on_latency(p.a ?: p.b), dialler_has && acceptor_has, "%s: the stream's", name);
	talk(&p, 40, ALL);
	peer_check_paths(name);
	peer_pair_close(&p);
	peer_check_gauges();
}

static void two_nodes(void)
{
	one_without("both-have", true, true);
	one_without("acceptor-has-none", true, false);
	one_without("dialler-has-none", false, true);
	param("qps_latency", 1);
}

/* ---- the traffic class on the wire ---- */

struct wire {
	int		fd;
	unsigned int	seen[64];
};

static void wire_open(struct wire *w, const char *iface)
{
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = if_nametoindex(iface),
	};

	memset(w, 0, sizeof(*w));
	w->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_IP));
	if (w->fd < 0 || bind(w->fd, (struct sockaddr *)&ll, sizeof(ll)))
		kt_die("packet socket");
}

/* Reads what came: RoCE packets by their class. */
static void wire_read(struct wire *w)
{
	unsigned char f[64];
	ssize_t n;

	while ((n = recv(w->fd, f, sizeof(f), MSG_TRUNC)) > 0) {
		if (n < 42 || f[12] != 8 || f[13] || f[23] != IPPROTO_UDP ||
		    (f[36] << 8 | f[37]) != ROCE_PORT)
			continue;
		w->seen[f[15] >> 2]++;
	}
}

static void wire_class(const char *iface, struct peer_pair *p, unsigned int dscp,
		       unsigned int other)
{
	unsigned int i, strange = 0;
	struct wire w;

	wire_open(&w, iface);
	for (i = 0; i < 5; i++) {
		/* eager ones: rxe ends a queue pair that goes back to a REG_MR ("lkey not free") */
		talk(p, 8, 4000);
		wire_read(&w);
	}
	close(w.fd);
	for (i = 0; i < 64; i++)
		strange += i == dscp || i == other ? 0 : w.seen[i];
	kt_ok(w.seen[dscp] >= 40, "%s: %u packets of DSCP %u on the wire", p->service, w.seen[dscp],
	      dscp);
	kt_is(w.seen[other], 0, "%s: packets of DSCP %u", p->service, other);
	kt_is(strange, 0, "%s: packets of others", p->service);
}

static void test_class(const char *iface)
{
	struct peer_pair l, b;

	param("dscp_bulk", DSCP_BULK);
	param("dscp_latency", DSCP_LATENCY);
	if (!open_pair(&l, "class-l", &bulk_cfg, DMASTREAM_STREAM_LATENCY, 1) ||
	    !open_pair(&b, "class-b", &bulk_cfg, 0, 1))
		return;
	kt_is(lane_of("bulk").dscp, DSCP_BULK, "an operator sees the class of bulk");
	kt_is(lane_of("latency").dscp, DSCP_LATENCY, "and that of latency");
	wire_class(iface, &l, DSCP_LATENCY, DSCP_BULK);
	wire_class(iface, &b, DSCP_BULK, DSCP_LATENCY);
	peer_pair_close(&l);
	peer_pair_close(&b);
	peer_check_gauges();
	param("dscp_bulk", -1);
	param("dscp_latency", -1);
}

/* ---- the delays of a ping-pong beside bulk data ---- */

#define BULK_MSG	(64 << 20)
#define PINGS		10000		/* at most: 100 are above P99 */

static uint32_t bulk_len;

static bool bulk_more(struct peer_pair *p)
{
	unsigned int out = bulk_len < 65536 ? 128 : 1;

	while (p->a->out < out)
		if (peer_prep(p->a, 0, bulk_len, 0, 0, bulk_len))
			return false;
	peer_submit(p->a);
	return !peer_errors;
}

/* A process that sends and sends, until it is killed. */
static pid_t bulk_start(void)
{
	struct peer_cfg a = bulk_cfg, b = bulk_cfg;
	struct peer_pair p;
	int ready[2];
	pid_t pid;
	char c;

	fflush(stdout);
	if (pipe(ready))
		kt_die("pipe");
	pid = fork();
	if (pid) {
		close(ready[1]);
		if (read(ready[0], &c, 1) != 1)
			kt_die("bulk");
		close(ready[0]);
		return pid;
	}
	close(ready[0]);
	/* it looks at each byte: of one CPU the ping-pong is to have what it wants */
	if (setpriority(PRIO_PROCESS, 0, 19))
		_exit(1);
	a.tx_bytes = BULK_MSG + (1 << 20);
	b.small_n = 1024;
	b.small_len = 8192;
	b.large_n = 32;
	b.large_len = 1 << 20;
	if (peer_pair_open(&p, "bulk", &a, &b) || peer_pair_connect(&p, 1))
		_exit(1);
	/* until some of it is there */
	while (bulk_more(&p) && !p.b->parts && p.b->rx_msgs < 128) {
		peer_poll(p.a);
		peer_poll(p.b);
	}
	if (write(ready[1], "b", 1) != 1)
		_exit(1);
	while (bulk_more(&p)) {
		peer_poll(p.a);
		peer_poll(p.b);
		if (bulk_len >= 65536)
			kt_sleep_ms(1);
		else
			dmastream_submit_and_wait(p.b->ring, 1, kt_now_ns() + 100000000);
	}
	_exit(1);
}

static void bulk_stop(pid_t pid)
{
	int status;

	if (!pid)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	kt_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "bulk went on until the end");
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One message there, one back: both ends have the same number then. */
static void ping(struct peer_pair *p)
{
	struct peer_stream *a = &p->a->streams[0], *b = &p->b->streams[0];
	uint64_t want_b = b->rx_msgs + 1, want_a = a->rx_msgs + 1;

	peer_send(p, p->a, 0, 64, 0);
	while (b->rx_msgs < want_b && !peer_errors)
		if (!peer_poll(p->a) && !peer_poll(p->b))
			dmastream_submit_and_wait(p->b->ring, 1, kt_now_ns() + 1000000000);
	peer_send(p, p->b, 0, 64, 0);
	while (a->rx_msgs < want_a && !peer_errors)
		if (!peer_poll(p->b) && !peer_poll(p->a))
			dmastream_submit_and_wait(p->a->ring, 1, kt_now_ns() + 1000000000);
}

/* Of all streams. */
static long long received(void)
{
	return peer_counter("rdma_rx_bytes") + peer_counter("eager_rx_bytes");
}

static double delays(const char *what, uint64_t flags, bool bulk, double seconds)
{
	uint64_t *ns = calloc(PINGS, sizeof(*ns)), end, begin, since;
	long long bytes;
	unsigned int n = 0, i;
	struct peer_pair p;
	double p50, p99, mbps;
	pid_t pid = 0;

	if (!open_pair(&p, "ping", &small_cfg, flags, 1))
		return 0;
	if (bulk)
		pid = bulk_start();
	for (i = 0; i < 20; i++)
		ping(&p);
	bytes = received();
	since = kt_now_ns();
	end = since + (uint64_t)(seconds * 1e9);
	while ((kt_now_ns() < end || n < 30) && n < PINGS && !peer_errors) {
		begin = kt_now_ns();
		ping(&p);
		ns[n++] = kt_now_ns() - begin;
		/* one after the other they would take all of the CPU that the bulk data needs */
		usleep(500);
	}
	mbps = (received() - bytes) * 1e3 / (kt_now_ns() - since);
	bulk_stop(pid);
	qsort(ns, n, sizeof(*ns), by_size);
	p50 = ns[n / 2] / 1e3;
	p99 = ns[n * 99 / 100] / 1e3;
	printf("# %-34s %6u round trips, P50 %7.0f us, P99 %7.0f us, most %7.0f us, beside %.1f MB/s\n",
	       what, n, p50, p99, ns[n - 1] / 1e3, mbps);
	if (bulk)
		kt_ok(mbps > 1, "bulk data came meanwhile");
	free(ns);
	peer_pair_close(&p);
	peer_check_gauges();
	return p99;
}

/*
 * Prints, and with a @limit says whether P99 on the latency lane beside bulk is within so
 * many times that of an idle wire.  Of a bed whose one CPU is the NIC, too, as with rxe,
 * not much can be expected.
 */
static void test_delays(const char *wire, double limit)
{
	double idle, same, own;
	char what[64];

	snprintf(what, sizeof(what), "idle, %s", wire);
	idle = delays(what, DMASTREAM_STREAM_LATENCY, false, 2);
	snprintf(what, sizeof(what), "bulk on the same lane, %s", wire);
	same = delays(what, 0, true, 4);
	snprintf(what, sizeof(what), "bulk on the other lane, %s", wire);
	own = delays(what, DMASTREAM_STREAM_LATENCY, true, 4);
	if (idle > 0)
		printf("# P99 of idle, %s: same lane %.1f x, latency lane %.1f x\n", wire,
		       same / idle, own / idle);
	kt_ok(idle > 0 && same > 0 && own > 0, "ping-pongs, %s", wire);
	if (limit)
		kt_ok(own <= limit * idle, "%s: P99 of the latency lane is within %.1f x of idle",
		      wire, limit);
}

int main(int argc, char **argv)
{
	peer_watchdog(argc > 1 ? 300 : 120);
	configure();
	if (argc == 3 && !strcmp(argv[1], "class")) {
		KT_RUN(test_class(argv[2]));
	} else if (argc >= 4) {
		bulk_len = atoi(argv[3]);
		KT_RUN(test_delays(argv[2], argc > 4 ? atof(argv[4]) : 0));
	} else if (peer_two_nodes()) {
		KT_RUN(two_nodes());
	} else {
		KT_RUN(test_own_queue_pairs());
		KT_RUN(test_numbers());
		KT_RUN(test_rates());
	}
	kt_is(peer_errors, 0, "contents, order, results");
	return kt_end();
}
