// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: a discrete-event simulator that runs kmod/core for many hosts.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "dmssim.h"

static const char usage_text[] =
"Usage: dmssim [options]\n"
"\n"
"Simulates hosts on one switch that move messages as dmastream does, with its very\n"
"flow control (kmod/core).  What it prints is a simulation, not a measurement.\n"
"\n"
"  -p, --pattern=NAME    incast, shuffle, push, fetch or kv (default incast)\n"
"  -n, --hosts=N         2 to 1024 (default 17)\n"
"  -s, --size=SIZE,...   of messages, by stream in turn, with k, m or g (default 1m)\n"
"      --workload=NAME   instead: kv-conversation, recommendation, for push bert-base\n"
"                        or llama3-8b, or a file of rows \"percentile,bytes\"\n"
"  -m, --messages=N      of each source (default 100)\n"
"  -l, --load=PART       Poisson arrivals, part of the bottleneck (default: by rounds)\n"
"      --backlog         all of them at once; incast and shuffle; tells fairness\n"
"      --streams=N       of each pair of hosts (default 1)\n"
"      --weights=N,...   of streams, in turn, 1 to 16 (default 1)\n"
"      --servers=N       of push and fetch (default an eighth of the hosts)\n"
"      --window=W        on, off, fixed (16m), or SIZE: fixed so (default on)\n"
"      --floor=SIZE --cap=SIZE --target=NS --step=SIZE    of the window\n"
"                        (default 64k, 16m, 25000, 64k)\n"
"      --budget=B        incast budget: on (4m), off, or SIZE (default on)\n"
"      --age=NS          of a pull that waits (default 10000000)\n"
"      --segment=SIZE    that one key opens (default 1m)\n"
"      --quantum=SIZE    of a stream's turn, a power of two (default 4k)\n"
"      --depth=F:C:B     receives: floor and ceiling of a queue pair, budget of a host\n"
"      --rate=GBIT       of a link, or with m Mbit/s (default 100)\n"
"      --prop=NS         of a link (default 1000)\n"
"      --host-delay=NS   until a host reacts (default 1000)\n"
"      --buffer=SIZE     of the switch (default 16m)\n"
"      --pfc=P           off, static:SIZE, dynamic:N (of what is free 1/2^N; default\n"
"                        dynamic:3), or queue:SIZE, as the bed's simulated NIC\n"
"      --ecn=SIZE        marks above such a queue; counted only (default off)\n"
"      --mtu=BYTES       256 to 8192 (default 4096)\n"
"      --head=BYTES      of each packet besides (default 82)\n"
"      --seed=N          (default 1)\n"
"      --csv=FILE        a row for each message\n"
"      --series=FILE     a row every --every=NS (default 10000): buffer, pauses, budget\n"
"      --json            one line of JSON instead of text\n"
"  -q, --quiet           no progress line\n"
"  -h, --help            this text\n"
"\n"
"See dmssim(1); dmssim-plot draws the files.\n";

enum {
	OPT_WORKLOAD = 256, OPT_BACKLOG, OPT_STREAMS, OPT_WEIGHTS, OPT_SERVERS, OPT_WINDOW,
	OPT_FLOOR, OPT_CAP, OPT_TARGET, OPT_STEP, OPT_BUDGET, OPT_AGE, OPT_SEGMENT,
	OPT_QUANTUM, OPT_DEPTH,
	OPT_RATE, OPT_PROP, OPT_HOST_DELAY, OPT_BUFFER, OPT_PFC, OPT_ECN, OPT_MTU, OPT_HEAD, OPT_SEED,
	OPT_CSV, OPT_SERIES, OPT_EVERY, OPT_JSON,
};

static const struct option long_opts[] = {
	{ "pattern", required_argument, NULL, 'p' },
	{ "hosts", required_argument, NULL, 'n' },
	{ "size", required_argument, NULL, 's' },
	{ "workload", required_argument, NULL, OPT_WORKLOAD },
	{ "messages", required_argument, NULL, 'm' },
	{ "load", required_argument, NULL, 'l' },
	{ "backlog", no_argument, NULL, OPT_BACKLOG },
	{ "streams", required_argument, NULL, OPT_STREAMS },
	{ "weights", required_argument, NULL, OPT_WEIGHTS },
	{ "servers", required_argument, NULL, OPT_SERVERS },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "floor", required_argument, NULL, OPT_FLOOR },
	{ "cap", required_argument, NULL, OPT_CAP },
	{ "target", required_argument, NULL, OPT_TARGET },
	{ "step", required_argument, NULL, OPT_STEP },
	{ "budget", required_argument, NULL, OPT_BUDGET },
	{ "age", required_argument, NULL, OPT_AGE },
	{ "segment", required_argument, NULL, OPT_SEGMENT },
	{ "quantum", required_argument, NULL, OPT_QUANTUM },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "prop", required_argument, NULL, OPT_PROP },
	{ "host-delay", required_argument, NULL, OPT_HOST_DELAY },
	{ "buffer", required_argument, NULL, OPT_BUFFER },
	{ "pfc", required_argument, NULL, OPT_PFC },
	{ "ecn", required_argument, NULL, OPT_ECN },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "head", required_argument, NULL, OPT_HEAD },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "csv", required_argument, NULL, OPT_CSV },
	{ "series", required_argument, NULL, OPT_SERIES },
	{ "every", required_argument, NULL, OPT_EVERY },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

static const char *const pattern_names[] = {
	[SIM_INCAST] = "incast", [SIM_SHUFFLE] = "shuffle", [SIM_PUSH] = "push",
	[SIM_FETCH] = "fetch", [SIM_KV] = "kv",
};

static int usage_error(const char *what, const char *arg)
{
	fprintf(stderr, "dmssim: %s%s%s; dmssim -h helps\n", what, arg ? ": " : "",
		arg ? arg : "");
	return 2;
}

/* Digits and a unit, up to one of @ends; NULL when it is not @min to @max. */
static const char *parse_size(const char *text, const char *ends, uint64_t min, uint64_t max,
			      uint64_t *out)
{
	unsigned long long v;
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*end == 'k' || *end == 'm' || *end == 'g') {
		shift = *end == 'k' ? 10 : *end == 'm' ? 20 : 30;
		end++;
	}
	if (errno || v > UINT64_MAX >> shift || (*end && !strchr(ends, *end)))
		return NULL;
	v <<= shift;
	if (v < min || v > max)
		return NULL;
	*out = v;
	return end;
}

static bool parse_all(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	return parse_size(text, "", min, max, out);
}

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (!parse_all(text, min, max, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool parse_ns(const char *text, uint64_t min, uint64_t *ps)
{
	if (!parse_all(text, min, 1000000000, ps))
		return false;
	*ps *= SIM_PS_PER_NS;
	return true;
}

static bool parse_list(const char *text, uint32_t max, uint32_t *v, uint32_t *nr)
{
	uint64_t one;

	for (*nr = 0; *nr < SIM_SIZES_MAX; text++) {
		text = parse_size(text, ",", 1, max, &one);
		if (!text)
			return false;
		v[(*nr)++] = (uint32_t)one;
		if (!*text)
			return true;
	}
	return false;
}

static bool parse_part(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out > 0 && *out < 1;
}

static bool parse_pattern(const char *text, struct sim_opts *o)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(pattern_names); i++) {
		if (!strcmp(text, pattern_names[i])) {
			o->load.pattern = i;
			o->pattern = pattern_names[i];
			return true;
		}
	}
	return false;
}

/* Bits per second to ps per byte, where that is a whole number: 25, 40, 100, 400 Gbit/s. */
static bool parse_rate(const char *text, struct sim_opts *o)
{
	unsigned long long v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	v = strtoull(text, &end, 10);
	if (!*end && v <= 800)
		v *= 1000;
	else if (strcmp(end, "m"))
		return false;
	if (!v || v > 800000 || 8000000 % v)
		return false;
	o->fabric.ps_per_byte = 8000000 / v;
	return true;
}

/* The kernel's u64 is another type than uint64_t here. */
static bool parse_bound(const char *text, u64 *out)
{
	uint64_t v;

	if (!parse_all(text, 1, DMS_DELAY_CAP_MAX, &v))
		return false;
	*out = v;
	return true;
}

static bool parse_window(const char *text, struct dms_delay_conf *w)
{
	uint64_t v = 16 << 20;

	if (!strcmp(text, "on"))
		return true;
	if (!strcmp(text, "off"))
		v = 0;
	else if (strcmp(text, "fixed") && !parse_all(text, 1, DMS_DELAY_CAP_MAX, &v))
		return false;
	w->floor = v;
	w->cap = v;
	return true;
}

static bool parse_budget(const char *text, uint64_t *budget)
{
	if (!strcmp(text, "on"))
		*budget = 4 << 20;
	else if (!strcmp(text, "off"))
		*budget = 0;
	else
		return parse_all(text, 4, UINT32_MAX, budget);
	return true;
}

static bool parse_pfc(const char *text, struct sim_fabric_conf *f)
{
	if (!strcmp(text, "off"))
		f->pfc = SIM_PFC_OFF;
	else if (!strncmp(text, "static:", 7) && parse_all(text + 7, 1, 1 << 30, &f->pfc_bytes))
		f->pfc = SIM_PFC_STATIC;
	else if (!strncmp(text, "queue:", 6) && parse_all(text + 6, 1, 1 << 30, &f->pfc_bytes))
		f->pfc = SIM_PFC_QUEUE;
	else if (!strncmp(text, "dynamic:", 8) && parse_u32(text + 8, 0, 20, &f->pfc_shift))
		f->pfc = SIM_PFC_DYNAMIC;
	else
		return false;
	return true;
}

static bool parse_depth(const char *text, struct sim_host_conf *h)
{
	uint64_t v[3];
	uint32_t i;

	for (i = 0; i < 3; i++) {
		text = parse_size(text, i < 2 ? ":" : "", i ? 1 : DMS_SLOTS_FLOOR,
				  i < 2 ? DMS_SLOTS_CEIL : DMS_DEPTH_BUDGET_MAX, &v[i]);
		if (!text || (i < 2 && *text++ != ':'))
			return false;
	}
	h->depth_floor = (uint32_t)v[0];
	h->depth_ceil = (uint32_t)v[1];
	h->depth_budget = (uint32_t)v[2];
	return v[0] <= v[1];
}

static bool parse_segment(const char *text, uint32_t *pages)
{
	if (!parse_u32(text, 1 << SIM_PAGE_SHIFT, 1 << 30, pages))
		return false;
	*pages >>= SIM_PAGE_SHIFT;
	return true;
}

/* Options that only say how the fabric is. */
static bool parse_fabric(int c, const char *arg, struct sim_opts *o)
{
	switch (c) {
	case OPT_RATE:
		return parse_rate(arg, o);
	case OPT_PROP:
		return parse_ns(arg, 0, &o->fabric.prop_ps);
	case OPT_BUFFER:
		return parse_all(arg, 1 << 16, 1ULL << 40, &o->fabric.buffer);
	case OPT_PFC:
		return parse_pfc(arg, &o->fabric);
	case OPT_ECN:
		return !strcmp(arg, "off") ? (o->fabric.ecn = 0, true) :
		       parse_all(arg, 1, 1ULL << 40, &o->fabric.ecn);
	case OPT_MTU:
		return parse_u32(arg, 256, 8192, &o->fabric.mtu);
	case OPT_HEAD:
		return parse_u32(arg, 1, 1024, &o->fabric.head);
	default:
		return false;
	}
}

/* Of the hosts' flow control. */
static bool parse_flow(int c, const char *arg, struct sim_opts *o)
{
	struct dms_delay_conf *w = &o->host.window;

	switch (c) {
	case OPT_WINDOW:
		return parse_window(arg, w);
	case OPT_FLOOR:
		return parse_bound(arg, &w->floor);
	case OPT_CAP:
		return parse_bound(arg, &w->cap);
	case OPT_TARGET:
		return parse_u32(arg, 1, UINT32_MAX, &w->target_ns);
	case OPT_STEP:
		return parse_u32(arg, 1, UINT32_MAX, &w->step);
	case OPT_BUDGET:
		return parse_budget(arg, &o->host.budget);
	case OPT_AGE:
		return parse_all(arg, 1, 1000000000, &o->host.age_ns);
	case OPT_SEGMENT:
		return parse_segment(arg, &o->host.seg_pages);
	case OPT_QUANTUM:
		return parse_u32(arg, 1U << DMS_SCHED_ORDER_MIN, 1U << DMS_SCHED_ORDER_MAX,
				 &o->host.quantum) &&
		       !(o->host.quantum & (o->host.quantum - 1));
	case OPT_DEPTH:
		return parse_depth(arg, &o->host);
	case OPT_HOST_DELAY:
		return parse_ns(arg, 0, &o->host.delay_ps);
	default:
		return parse_fabric(c, arg, o);
	}
}

static bool parse_one(int c, const char *arg, struct sim_opts *o)
{
	switch (c) {
	case 'p':
		return parse_pattern(arg, o);
	case 'n':
		return parse_u32(arg, 2, 1024, &o->fabric.hosts);
	case 's':
		return parse_list(arg, 0x7fffffff, o->load.size, &o->load.nr_sizes);
	case 'm':
		return parse_all(arg, 1, 1000000000, &o->load.messages);
	case 'l':
		return parse_part(arg, &o->load.load);
	case 'q':
		return o->quiet = true;
	case OPT_JSON:
		return o->json = true;
	case OPT_BACKLOG:
		return o->load.backlog = true;
	case OPT_WORKLOAD:
		o->workload = arg;
		return true;
	case OPT_STREAMS:
		return parse_u32(arg, 1, 4096, &o->load.streams);
	case OPT_WEIGHTS:
		return parse_list(arg, DMS_SCHED_WEIGHT_MAX, o->load.weight, &o->load.nr_weights);
	case OPT_SERVERS:
		return parse_u32(arg, 1, 1023, &o->load.servers);
	case OPT_SEED:
		return parse_all(arg, 0, UINT64_MAX, &o->load.seed);
	case OPT_CSV:
		o->csv = arg;
		return true;
	case OPT_SERIES:
		o->series = arg;
		return true;
	case OPT_EVERY:
		return parse_ns(arg, 1, &o->every_ps);
	default:
		return parse_flow(c, arg, o);
	}
}

static int find_workload(struct sim_opts *o)
{
	struct sim_load_conf *l = &o->load;

	if (!o->workload)
		return 0;
	if (l->pattern == SIM_PUSH) {
		l->model = sim_model_named(o->workload);
		if (l->model)
			return 0;
	}
	if (sim_model_named(o->workload))
		return usage_error("that workload is for push", o->workload);
	l->table = sim_table_named(o->workload, &l->block);
	if (l->block && l->pattern != SIM_KV)
		return usage_error("that workload is for kv", o->workload);
	if (!l->table)
		l->table = sim_table_read(o->workload);
	if (!l->table)
		return usage_error("no such workload, and no file with rows from 0 to 100",
				   o->workload);
	return 0;
}

/* What options say together. */
static int check(struct sim_opts *o)
{
	struct sim_load_conf *l = &o->load;
	uint32_t hosts = o->fabric.hosts;
	int ret;

	l->hosts = hosts;
	if (!l->servers)
		l->servers = hosts / 8 ? hosts / 8 : 1;
	if (hosts < sim_pattern_hosts(l->pattern) || l->servers >= hosts)
		return usage_error("too few hosts for the pattern", o->pattern);
	if (l->backlog && (l->load > 0 || o->workload ||
			   (l->pattern != SIM_INCAST && l->pattern != SIM_SHUFFLE)))
		return usage_error("--backlog: incast or shuffle, no --load, no --workload", NULL);
	if (o->host.window.floor > o->host.window.cap)
		return usage_error("--floor is above --cap", NULL);
	if ((uint64_t)o->host.depth_floor * (hosts - 1) > o->host.depth_budget)
		return usage_error("--depth: the floors of all peers are over the budget", NULL);
	ret = find_workload(o);
	if (ret)
		return ret;
	/* a KiB takes as long as on the link */
	o->host.window.ns_per_kib = 1024 * o->fabric.ps_per_byte / SIM_PS_PER_NS + 1;
	return 0;
}

static void defaults(struct sim_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->fabric = (struct sim_fabric_conf) {
		.hosts = 17, .ps_per_byte = 80, .prop_ps = 1000 * SIM_PS_PER_NS,
		.buffer = 16 << 20, .pfc = SIM_PFC_DYNAMIC, .pfc_shift = 3, .mtu = 4096,
		.head = SIM_PKT_HEAD,
	};
	o->host = (struct sim_host_conf) {
		.window = { .floor = 65536, .cap = 16 << 20, .target_ns = 25000, .step = 65536 },
		.budget = 4 << 20, .age_ns = 10000000, .delay_ps = 1000 * SIM_PS_PER_NS,
		.seg_pages = 256, .quantum = 4096, .depth_floor = SIM_SLOTS, .depth_ceil = SIM_SLOTS,
		.depth_budget = DMS_DEPTH_BUDGET_MAX,
	};
	o->load = (struct sim_load_conf) {
		.streams = 1, .messages = 100, .nr_sizes = 1, .size = { 1 << 20 },
		.partition = 4 << 20, .seed = 1,
	};
	o->pattern = "incast";
	o->every_ps = 10000 * SIM_PS_PER_NS;
}

int main(int argc, char **argv)
{
	struct sim_opts o;
	struct sim_run run;
	int c, ret;

	defaults(&o);
	while ((c = getopt_long(argc, argv, "p:n:s:m:l:qh", long_opts, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return 0;
		}
		if (c == '?')
			return usage_error("wrong option", NULL);
		if (!parse_one(c, optarg, &o))
			return usage_error("not understood, or out of range", optarg);
	}
	if (optind < argc)
		return usage_error("not an option", argv[optind]);
	ret = check(&o);
	if (ret)
		return ret;
	ret = sim_run(&run, &o);
	if (!ret) {
		sim_report(&run);
		if (fflush(stdout)) {
			fprintf(stderr, "dmssim: cannot write: %s\n", strerror(errno));
			ret = 1;
		}
	}
	sim_run_free(&run);
	return ret;
}
