// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim on cases whose answer is known without it.
 *
 * Each test prints a line "ok" or "not ok"; the figures of those that are within a
 * stated error are printed too.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dmssim.h"

static int passed, failed;

static void result(const char *name, bool ok)
{
	printf("%sok sim: %s\n", ok ? "" : "not ", name);
	if (ok)
		passed++;
	else
		failed++;
}

/* As dmssim without options, but that a host reacts at once. */
static struct sim_opts plain(uint32_t hosts, uint32_t size)
{
	struct sim_opts o = {
		.fabric = {
			.hosts = hosts, .ps_per_byte = 80, .prop_ps = 1000000,
			.buffer = 16 << 20, .pfc = SIM_PFC_DYNAMIC, .pfc_shift = 3, .mtu = 4096,
			.head = SIM_PKT_HEAD,
		},
		.host = {
			.window = { .floor = 65536, .cap = 16 << 20, .target_ns = 25000,
				    .ns_per_kib = 82, .step = 65536 },
			.budget = 4 << 20, .age_ns = 10000000, .seg_pages = 256,
			.quantum = 4096, .depth_floor = 256, .depth_ceil = 256,
			.depth_budget = DMS_DEPTH_BUDGET_MAX,
		},
		.load = {
			.hosts = hosts, .servers = 1, .streams = 1, .messages = 1,
			.nr_sizes = 1, .size = { size }, .partition = 4 << 20, .seed = 1,
		},
		.pattern = "incast", .quiet = true,
	};

	return o;
}

static void no_control(struct sim_opts *o)
{
	o->host.window.floor = 0;
	o->host.window.cap = 0;
	o->host.budget = 0;
}

/* ---- one message on an idle fabric ---- */

/* ps from the first bit to the last of one packet with @payload bytes, over two links */
static uint64_t hop2(const struct sim_fabric_conf *f, uint64_t payload)
{
	return 2 * (payload + SIM_PKT_HEAD) * f->ps_per_byte + 2 * f->prop_ps;
}

/*
 * Eager: one SEND of heads and body.  Announced: RTS and KEY in one SEND (two frames),
 * the READ request, and the bytes, whose last packet is on both links, and all others
 * on one only.  Each reaction of a host takes delay: sending, and reading.  A READ
 * request that is posted at once waits for the ACK of that SEND to leave.
 */
static uint64_t answer_ps(const struct sim_opts *o, uint32_t size)
{
	const struct sim_fabric_conf *f = &o->fabric;
	uint64_t full, rest, ps;

	if (size <= SIM_EAGER_MAX) {
		size += 2 * SIM_HEAD;
		full = (size - 1) / f->mtu;
		return o->host.delay_ps + hop2(f, full ? f->mtu : size) +
		       (full ? (size - f->mtu + full * SIM_PKT_HEAD) * f->ps_per_byte : 0);
	}
	full = size / f->mtu;
	rest = size % f->mtu;
	ps = 2 * o->host.delay_ps + hop2(f, 3 * SIM_HEAD) + hop2(f, 16);
	ps += hop2(f, f->mtu) + (full - 1) * (f->mtu + SIM_PKT_HEAD) * (uint64_t)f->ps_per_byte;
	if (rest)
		ps += (rest + SIM_PKT_HEAD) * f->ps_per_byte;
	if (!o->host.delay_ps)
		ps += (4 + SIM_PKT_HEAD) * f->ps_per_byte;
	return ps;
}

static void test_idle(void)
{
	static const uint32_t sizes[] = { 1, 64, 4032, 4033, 8192, 8193, 65536, 100001, 1 << 20 };
	static const uint32_t rates[] = { 20, 80, 800 };
	struct sim_opts o;
	struct sim_run r;
	uint32_t i, j, bad = 0;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < 2 * ARRAY_SIZE(rates); j++) {
			o = plain(2, sizes[i]);
			o.fabric.ps_per_byte = rates[j / 2];
			o.host.delay_ps = j % 2 ? 7000000 : 0;
			o.fabric.prop_ps = 1234000;
			bad += sim_run(&r, &o);
			if (r.load.msgs.nr != 1 || r.load.msgs.v[0] != answer_ps(&o, sizes[i])) {
				printf("# %u bytes, rate %u: %llu ps, not %llu\n", sizes[i],
				       rates[j / 2], (unsigned long long)r.load.msgs.v[0],
				       (unsigned long long)answer_ps(&o, sizes[i]));
				bad++;
			}
			sim_run_free(&r);
		}
	}
	result("one message on an idle fabric takes what its bytes and hops take", !bad);
}

/* ---- a shared bottleneck ---- */

/* Messages per sender, without window and budget, long enough that ends do not count. */
static void test_halves(void)
{
	struct sim_opts o = plain(3, 1 << 20);
	double share[3], alone, both;
	struct sim_run r;
	uint32_t bad;

	no_control(&o);
	o.load.messages = 40;
	o.load.backlog = true;
	bad = sim_run(&r, &o);
	share[1] = (double)r.load.stream[1 * 3]->rx_bytes;
	share[2] = (double)r.load.stream[2 * 3]->rx_bytes;
	both = (double)r.events.now;
	bad += share[1] != 40 << 20 || share[2] != 40 << 20;
	/* when the first was through the other had as much, but for a message */
	bad += r.load.jain < 0.999;
	sim_run_free(&r);

	o.fabric.hosts = 2;
	o.load.hosts = 2;
	o.load.messages = 80;
	bad += sim_run(&r, &o);
	alone = (double)r.events.now;
	sim_run_free(&r);
	/* the port was never idle: two move as much in less than one alone, which has gaps */
	bad += both > alone || both < 80.0 * (1 << 20) * 80;
	printf("# 80 MiB by two: %.3f ms, by one: %.3f ms, the bytes alone: %.3f ms\n", both / 1e9,
	       alone / 1e9, 80.0 * (1 << 20) * 80 / 1e9);
	result("two share a bottleneck half and half", !bad);
}

/* ---- M/D/1 ---- */

#define MD1_HOSTS	256
#define MD1_PACKETS	200000

struct md1 {
	struct sim_events events;
	struct sim_fabric fabric;
	struct sim_random random;
	struct sim_txq	txq[MD1_HOSTS];
	double		gap_ps, sum_ps;
	uint64_t	sent, came;
};

static void md1_arrived(struct sim_job *job)
{
	struct md1 *m = job->obj;

	m->sum_ps += (double)(m->events.now - job->value);
	m->came++;
	free(job);
}

static void md1_arrival(void *obj, void *arg)
{
	struct md1 *m = obj;
	struct sim_job *job;

	(void)arg;
	if (m->sent++ == MD1_PACKETS)
		return;
	job = sim_alloc(sizeof(*job));
	job->from = 1 + sim_random_below(&m->random, MD1_HOSTS - 1);
	job->bytes = 918;	/* 1,000 with the head */
	job->arrived = md1_arrived;
	job->obj = m;
	job->value = m->events.now;
	sim_post(&m->fabric, &m->txq[job->from], job);
	sim_after(&m->events, (uint64_t)sim_random_exp(&m->random, m->gap_ps), md1_arrival, m, NULL);
}

/*
 * Packets of one length come to the switch from 255 hosts as a Poisson process and
 * leave by one port.  The mean wait is rho / (2 * (1 - rho)) of a packet's time
 * (Pollaczek, Khinchine).  Within 4 %: 200,000 packets at rho 0.8 scatter by about
 * one, and each host's own link takes a little of the randomness out.
 */
static void test_md1(void)
{
	static const double rho[] = { 0.3, 0.5, 0.8 };
	const struct sim_opts o = plain(MD1_HOSTS, 1);
	const double packet_ps = 1000 * 80;
	double wait, want;
	struct md1 *m;
	uint32_t i, k, bad = 0;

	for (i = 0; i < ARRAY_SIZE(rho); i++) {
		m = sim_alloc(sizeof(*m));
		sim_events_init(&m->events);
		sim_fabric_init(&m->fabric, &m->events, &o.fabric);
		sim_random_init(&m->random, 7);
		for (k = 0; k < MD1_HOSTS; k++)
			sim_txq_init(&m->txq[k]);
		m->gap_ps = packet_ps / rho[i];
		md1_arrival(m, NULL);
		while (sim_step(&m->events))
			;
		wait = m->sum_ps / (double)m->came - 2 * packet_ps - 2 * 1e6;
		want = packet_ps * rho[i] / (2 * (1 - rho[i]));
		printf("# load %.1f: mean wait %.1f ns, M/D/1 %.1f ns\n", rho[i], wait / 1000,
		       want / 1000);
		bad += m->came != MD1_PACKETS || fabs(wait / want - 1) > 0.04;
		sim_fabric_free(&m->fabric);
		sim_events_free(&m->events);
		free(m);
	}
	result("a port's queue is that of M/D/1, within 4 %", !bad);
}

/* ---- what flow control is for ---- */

static void test_pauses(void)
{
	struct sim_opts o = plain(17, 1 << 20);
	double mean_off, mean_on;
	struct sim_run r;
	uint32_t bad = 0;

	o.load.messages = 5;
	o.host.budget = 1 << 20;
	bad += sim_run(&r, &o);
	bad += r.fabric.pauses != 0 || r.hosts.host[0].budget.high != o.host.budget;
	bad += r.hosts.counts.budget_waits == 0;
	bad += r.fabric.used_max > o.host.budget * 5 / 4;
	mean_on = sim_samples_mean(&r.load.msgs);
	printf("# 16 to 1, on: %llu pauses, buffer %llu, mean %.0f us\n",
	       (unsigned long long)r.fabric.pauses, (unsigned long long)r.fabric.used_max, mean_on);
	sim_run_free(&r);

	no_control(&o);
	bad += sim_run(&r, &o);
	bad += r.fabric.pauses < 16 || r.hosts.counts.budget_waits != 0;
	bad += sim_paused_ps(&r.fabric) == 0;
	mean_off = sim_samples_mean(&r.load.msgs);
	printf("# 16 to 1, off: %llu pauses, buffer %llu, mean %.0f us\n",
	       (unsigned long long)r.fabric.pauses, (unsigned long long)r.fabric.used_max, mean_off);
	bad += mean_on >= mean_off;
	sim_run_free(&r);
	result("16 to 1: the budget prevents the pauses that there are without it", !bad);
}

/* Other rules of pausing: all bytes come through, and the queue stays where it says. */
static void test_pfc_rules(void)
{
	struct sim_opts o = plain(17, 1 << 20);
	struct sim_run r;
	uint32_t bad = 0;

	no_control(&o);
	o.load.messages = 3;
	o.fabric.pfc = SIM_PFC_STATIC;
	o.fabric.pfc_bytes = 100000;
	bad += sim_run(&r, &o);
	/* two propagation delays and three packets more, from each */
	bad += !r.fabric.pauses || r.fabric.used_max > 16 * (100000 + 25000 + 3 * 4178);
	bad += r.fabric.used_max < 16 * 100000;
	sim_run_free(&r);

	o.fabric.pfc = SIM_PFC_QUEUE;
	o.fabric.pfc_bytes = 1000000;
	bad += sim_run(&r, &o);
	bad += !r.fabric.pauses || r.fabric.used_max > 1000000 + 16 * (25000 + 3 * 4178);
	bad += r.fabric.used_max < 1000000;
	sim_run_free(&r);
	result("queues stay within what pauses allow", !bad);
}

/* Small messages are not pulled: the window alone holds them. */
static void test_window(void)
{
	struct sim_opts o = plain(33, 8192);
	uint64_t queue_on, queue_off;
	struct sim_run r;
	uint32_t bad = 0;

	o.load.messages = 60;
	o.load.streams = 16;
	o.load.backlog = true;
	o.host.window.floor = 8192;
	bad += sim_run(&r, &o);
	queue_on = r.fabric.port[0].queued_max;
	bad += sim_path(&r.hosts, 1, 0)->delay.cuts == 0;
	bad += sim_path(&r.hosts, 1, 0)->delay.grown == 0;
	bad += r.hosts.counts.window_stalls == 0;
	sim_run_free(&r);

	no_control(&o);
	bad += sim_run(&r, &o);
	queue_off = r.fabric.port[0].queued_max;
	bad += r.hosts.counts.window_stalls != 0;
	sim_run_free(&r);
	printf("# 32 to 1, eager: longest queue %llu with the window, %llu without\n",
	       (unsigned long long)queue_on, (unsigned long long)queue_off);
	bad += queue_on * 2 > queue_off;
	result("the window adapts, and keeps the queue of small messages short", !bad);
}

/*
 * A short message does not wait for long ones that were announced before.  Without a
 * window: a receiver can only choose among messages that have keys.
 */
static void test_short_first(void)
{
	struct sim_opts o = plain(9, 0);
	double mean[2];
	struct sim_run r;
	uint32_t on, bad = 0;

	o.load.messages = 4;
	o.load.nr_sizes = 8;
	o.load.streams = 8;
	memcpy(o.load.size, (uint32_t[]){ 8 << 20, 8 << 20, 8 << 20, 8 << 20, 8 << 20, 8 << 20,
					  8 << 20, 16384 }, 8 * sizeof(uint32_t));
	for (on = 0; on < 2; on++) {
		FILE *f;
		double sum = 0;
		unsigned int from, to, len, n = 0;
		unsigned long long start, end;
		char line[128], file[] = "/tmp/dmssim.XXXXXX";
		int fd = mkstemp(file);

		if (fd < 0)
			abort();
		o.csv = file;
		no_control(&o);
		o.host.budget = on ? 1 << 20 : 0;
		bad += sim_run(&r, &o);
		sim_run_free(&r);
		f = fdopen(fd, "r");
		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%u,%u,%u,%llu,%llu", &from, &to, &len, &start, &end) == 5 &&
			    len == 16384) {
				sum += (double)(end - start) / 1000;
				n++;
			}
		}
		if (f)
			fclose(f);
		remove(file);
		bad += n != 32;
		mean[on] = sum / 32;
	}
	printf("# 16 KiB among 8 MiB: mean %.0f us with the budget, %.0f us without\n", mean[1],
	       mean[0]);
	bad += mean[1] * 4 > mean[0];
	result("short ones go first under the budget", !bad);
}

static void test_fair(void)
{
	struct sim_opts o = plain(2, 1 << 20);
	struct sim_run r;
	uint32_t bad = 0;

	o.load.backlog = true;
	o.load.streams = 64;
	o.load.messages = 10;
	bad += sim_run(&r, &o);
	printf("# 64 equal streams: Jain %.5f\n", r.load.jain);
	bad += r.load.jain < 0.99;
	sim_run_free(&r);

	o.load.nr_sizes = 4;
	memcpy(o.load.size, (uint32_t[]){ 4096, 1 << 20, 16384, 65536 }, 4 * sizeof(uint32_t));
	bad += sim_run(&r, &o);
	printf("# 64 streams of 4 KiB to 1 MiB: Jain %.5f\n", r.load.jain);
	bad += r.load.jain < 0.99;
	sim_run_free(&r);

	o = plain(2, 1 << 20);
	o.host.window.floor = 4 << 20;
	o.host.window.cap = 4 << 20;
	o.load.backlog = true;
	o.load.streams = 12;
	o.load.messages = 40;
	o.load.nr_weights = 3;
	memcpy(o.load.weight, (uint32_t[]){ 1, 2, 4 }, 3 * sizeof(uint32_t));
	bad += sim_run(&r, &o);
	printf("# 12 streams of weights 1, 2, 4: Jain over bytes per weight %.5f\n", r.load.jain);
	bad += r.load.jain < 0.9995;	/* one weight's share off by 5 % would be 0.9994 */
	sim_run_free(&r);
	result("streams share a path by weight", !bad);
}

/* Receives move: a few hosts are busy, all floors fit, and no packet lacks a receive. */
static void test_depth(void)
{
	struct sim_opts o = plain(33, 2048);
	struct sim_run r;
	uint32_t bad = 0, i;

	o.pattern = "shuffle";
	o.load.pattern = SIM_SHUFFLE;
	o.load.load = 0.3;
	o.load.streams = 8;
	o.load.messages = 600;
	o.host.depth_floor = 8;
	o.host.depth_ceil = 64;
	o.host.depth_budget = 32 * 8 + 64;
	bad += sim_run(&r, &o);
	for (i = 0; i < 33; i++)
		bad += r.hosts.host[i].depth.floors + r.hosts.host[i].depth.above > 32 * 8 + 64;
	printf("# receives: %llu grown, %llu recalled, %llu empty packets\n",
	       (unsigned long long)r.hosts.counts.grown,
	       (unsigned long long)r.hosts.counts.recalled,
	       (unsigned long long)r.hosts.counts.empties);
	bad += r.hosts.counts.grown == 0 || r.hosts.counts.recalled == 0;
	bad += r.hosts.counts.rnr != 0;
	sim_run_free(&r);
	result("receives move between queue pairs", !bad);
}

/* Each pattern comes to its end, and sim_run()'s own checks hold. */
static void test_patterns(void)
{
	static const struct {
		const char *name, *workload;
		enum sim_pattern pattern;
		double load;
	} rows[] = {
		{ "incast", NULL, SIM_INCAST, 0.8 },
		{ "shuffle", NULL, SIM_SHUFFLE, 0 },
		{ "shuffle", NULL, SIM_SHUFFLE, 0.5 },
		{ "push", NULL, SIM_PUSH, 0 },
		{ "push", NULL, SIM_PUSH, 0.5 },
		{ "fetch", "recommendation", SIM_FETCH, 0 },
		{ "fetch", "recommendation", SIM_FETCH, 0.5 },
		{ "kv", NULL, SIM_KV, 0 },
		{ "kv", NULL, SIM_KV, 0.5 },
	};
	struct sim_opts o;
	struct sim_run r;
	uint32_t i, bad = 0;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		o = plain(8, 100000);
		o.pattern = rows[i].name;
		o.load.pattern = rows[i].pattern;
		o.load.load = rows[i].load;
		o.load.servers = 3;
		o.load.messages = 10;
		if (rows[i].workload)
			o.load.table = sim_table_named(rows[i].workload, &o.load.block);
		if (sim_run(&r, &o)) {
			printf("# row %u\n", i);
			bad++;
		}
		sim_run_free(&r);
	}
	result("every pattern comes to its end, with all bytes", !bad);
}

/* Their published sizes: 109.48 and 8.03 thousand million parameters. */
static void test_models(void)
{
	const struct sim_model *bert = sim_model_named("bert-base");
	const struct sim_model *llama = sim_model_named("llama3-8b");

	result("models have as many parameters as was published",
	       bert && llama && sim_model_bytes(bert) == 4ULL * 109482240 &&
	       sim_model_bytes(llama) == 2ULL * 8030261248 && !sim_model_named("bert"));
}

/* A table's draws have the table's mean, and its ends are ends. */
static void test_table(void)
{
	uint32_t block, i, bad = 0;
	const struct sim_table *t = sim_table_named("recommendation", &block);
	struct sim_random random;
	double sum = 0, v;

	sim_random_init(&random, 3);
	for (i = 0; i < 400000; i++) {
		v = sim_table_draw(t, &random);
		bad += v < t->row[0].value || v > t->row[t->nr - 1].value;
		sum += v;
	}
	bad += fabs(sum / 400000 / sim_table_mean(t) - 1) > 0.02;
	result("draws from a table are the table's", !bad);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_idle();
	test_halves();
	test_md1();
	test_pauses();
	test_pfc_rules();
	test_window();
	test_short_first();
	test_fair();
	test_depth();
	test_patterns();
	test_models();
	test_table();
	printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}
