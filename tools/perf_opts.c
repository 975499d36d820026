// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line.  Letters are perftest's where it has the thing.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "perf.h"

#define SERVER_SEND	(8U << 20)
#define REPLY_MIN	4096U
#define MSG_MAX		0x7fffffffULL

static const char usage_text[] =
"Usage: %s TEST [options] HOST      measure; process i takes the i-th of HOST,HOST...\n"
"       %s server [options]         what all tests talk to; without HOST a TEST is one too\n"
"\n"
"Tests:\n"
"  bw        bandwidth: messages of 64 KiB, as many in flight as -t says\n"
"  rate      the same with 64 bytes\n"
"  lat       ping-pong; half of the round trip\n"
"  connect   opening of connections beside one that is open\n"
"  incast    16 processes send to one server\n"
"  streams   bandwidth over 1,000 streams against one\n"
"  fetch     open loop: requests that are answered by -s bytes\n"
"  push      open loop: all processes send -s bytes at the same moments\n"
"\n"
"  -s, --size=BYTES      of a message (k and m for powers of 1024)\n"
"  -a, --all             sizes from 2 bytes to 8 MiB\n"
"  -n, --iters=N         messages of a process\n"
"  -D, --duration=SEC    instead of -n\n"
"  -t, --tx-depth=N      messages in flight of a process\n"
"  -q, --qp=N            streams of a process (also --streams)\n"
"  -l, --post_list=N     submit N messages at once (default: what is ready)\n"
"  -b, --bidirectional   each message is answered by one of its size\n"
"  -e, --events          sleep until something happens (the default)\n"
"      --poll            never sleep\n"
"      --sqpoll[=USEC]   a thread of the kernel submits, and sleeps when idle so long\n"
"      --lane=LANE       bulk (the default) or latency\n"
"      --procs=N         client processes\n"
"      --check           look at a word of each 4 KiB that comes\n"
"      --warmup=N        round trips before anything counts\n"
"\n"
"Of fetch and push:\n"
"      --rate=N          operations a second, all processes together\n"
"      --load=PCT,...    or these parts of the capacity, which is measured first; or none\n"
"      --arrivals=KIND   poisson, gamma or fixed (fetch)\n"
"      --cv=X            coefficient of variation of gamma (1.09)\n"
"      --request=BYTES   of a fetch's request (64)\n"
"      --fanout=N        servers of an operation, which the last one ends\n"
"      --rows=N          fetch N rows of 64 to 512 bytes instead of -s bytes\n"
"      --zipf=S          exponent of the rows' popularity (0.99)\n"
"      --seed=N          other arrivals and rows\n"
"\n"
"      --service=NAME    of the server (perf)\n"
"  -p, --port=N          of the peer's node\n"
"  -d, --device=PATH     of the transport\n"
"      --bind=NAME       network device, for transports that bind to one\n"
"      --landing=BYTES, --landings=N, --smalls=N   landing buffers of this end\n"
"  -4, -6                this address family\n"
"      --report_gbits    bandwidth in Gbit/s, not in MB (10^6 bytes) a second\n"
"      --json, --csv\n"
"  -F, -R                taken, and of no effect\n"
"  -h, --help\n"
"  -V, --version\n";

enum {
	OPT_POLL = 256, OPT_SQPOLL, OPT_LANE, OPT_PROCS, OPT_CHECK, OPT_WARMUP, OPT_RATE, OPT_LOAD, OPT_ARRIVALS,
	OPT_CV, OPT_REQUEST, OPT_FANOUT, OPT_ROWS, OPT_ZIPF, OPT_SEED, OPT_SERVICE, OPT_BIND,
	OPT_LANDING, OPT_LANDINGS, OPT_SMALLS, OPT_GBITS, OPT_JSON, OPT_CSV,
};

static const char short_opts[] = "s:an:D:t:q:l:bep:d:46FRhV";
static const struct option long_opts[] = {
	{ "size", required_argument, NULL, 's' },
	{ "all", no_argument, NULL, 'a' },
	{ "iters", required_argument, NULL, 'n' },
	{ "duration", required_argument, NULL, 'D' },
	{ "tx-depth", required_argument, NULL, 't' },
	{ "qp", required_argument, NULL, 'q' },
	{ "streams", required_argument, NULL, 'q' },
	{ "post_list", required_argument, NULL, 'l' },
	{ "bidirectional", no_argument, NULL, 'b' },
	{ "events", no_argument, NULL, 'e' },
	{ "poll", no_argument, NULL, OPT_POLL },
	{ "sqpoll", optional_argument, NULL, OPT_SQPOLL },
	{ "lane", required_argument, NULL, OPT_LANE },
	{ "procs", required_argument, NULL, OPT_PROCS },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "rate", required_argument, NULL, OPT_RATE },
	{ "load", required_argument, NULL, OPT_LOAD },
	{ "arrivals", required_argument, NULL, OPT_ARRIVALS },
	{ "cv", required_argument, NULL, OPT_CV },
	{ "request", required_argument, NULL, OPT_REQUEST },
	{ "fanout", required_argument, NULL, OPT_FANOUT },
	{ "rows", required_argument, NULL, OPT_ROWS },
	{ "zipf", required_argument, NULL, OPT_ZIPF },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "service", required_argument, NULL, OPT_SERVICE },
	{ "port", required_argument, NULL, 'p' },
	{ "device", required_argument, NULL, 'd' },
	{ "ib-dev", required_argument, NULL, 'd' },
	{ "bind", required_argument, NULL, OPT_BIND },
	{ "landing", required_argument, NULL, OPT_LANDING },
	{ "landings", required_argument, NULL, OPT_LANDINGS },
	{ "smalls", required_argument, NULL, OPT_SMALLS },
	{ "report_gbits", no_argument, NULL, OPT_GBITS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "CPU-freq", no_argument, NULL, 'F' },
	{ "rdma_cm", no_argument, NULL, 'R' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 }
};

/**
 * struct defaults - of a test
 * @name: as on the command line
 * @size: bytes
 * @iters: messages of a process
 * @streams: of a process
 * @depth: messages in flight
 * @procs: processes
 */
struct defaults {
	const char	*name;
	uint32_t	size, iters, streams, depth, procs;
};

static const struct defaults tests[] = {
	{ "bw", 65536, 5000, 1, 128, 1 },
	{ "rate", 64, 100000, 1, 128, 1 },
	{ "lat", 2, 1000, 1, 1, 1 },
	{ "connect", 2, 1000, 1, 1, 1 },
	{ "incast", 1 << 20, 200, 1, 8, 16 },
	{ "streams", 65536, 10000, 1000, 128, 1 },
	{ "fetch", 65536, 10000, 1, 16, 1 },
	{ "push", 4 << 20, 100, 1, 2, 16 },
};

static const char *prog;

static int usage_error(const char *what, const char *arg)
{
	fprintf(stderr, "%s: %s%s%s; %s -h helps\n", prog, what, arg ? ": " : "", arg ? arg : "",
		prog);
	return 2;
}

/* Digits, and k, m or g for powers of 1024. */
static bool parse_u64(const char *text, uint64_t *out)
{
	static const char units[] = "kKmMgG";
	unsigned int shift = 0;
	unsigned long long v;
	const char *unit;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)((unit - units) / 2 + 1);
		end++;
	}
	if (errno || *end || v > UINT64_MAX >> shift)
		return false;
	*out = (uint64_t)v << shift;
	return true;
}

static bool parse_double(const char *text, double min, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= min && *out <= max;
}

/* Options that are a whole number: where it goes, and between what it must be. */
static uint32_t *number_of(struct perf_opts *o, int c, uint64_t *min, uint64_t *max)
{
	*min = 1;
	*max = 1 << 20;
	switch (c) {
	case 's':
		*max = MSG_MAX;
		return &o->size;
	case 't':
		return &o->depth;
	case 'q':
		return &o->streams;
	case 'l':
		return &o->net.batch;
	case 'p':
		*max = 65535;
		return &o->net.port;
	case OPT_PROCS:
		*max = PERF_PROCS_MAX;
		return &o->procs;
	case OPT_WARMUP:
		return &o->warmup;
	case OPT_REQUEST:
		return &o->request;
	case OPT_FANOUT:
		*max = 64;
		return &o->fanout;
	case OPT_ROWS:
		return &o->rows;
	case OPT_LANDING:
		*max = 1 << 30;
		return &o->net.landing_len;
	case OPT_LANDINGS:
		return &o->net.landings;
	case OPT_SMALLS:
		return &o->net.smalls;
	default:
		return NULL;
	}
}

static int parse_loads(struct perf_opts *o, char *list)
{
	char *word, *rest = NULL;

	o->nr_loads = 0;
	if (!strcmp(list, "none"))
		return 0;
	for (word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (o->nr_loads == PERF_LOADS_MAX ||
		    !parse_double(word, 0.1, 1000, &o->loads[o->nr_loads++]))
			return usage_error("--load wants up to 16 numbers of per cent", word);
	}
	return 0;
}

static int parse_arrivals(struct perf_opts *o, const char *kind)
{
	static const char * const names[] = { "poisson", "gamma", "fixed" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		if (!strcmp(kind, names[i])) {
			o->arrivals = (enum perf_arrivals)i;
			return 0;
		}
	}
	return usage_error("--arrivals wants poisson, gamma or fixed", kind);
}

static int parse_lane(struct perf_opts *o, const char *lane)
{
	o->net.latency = !strcmp(lane, "latency");
	if (o->net.latency || !strcmp(lane, "bulk"))
		return 0;
	return usage_error("--lane wants bulk or latency", lane);
}

static int parse_sqpoll(struct perf_opts *o, const char *usec)
{
	uint64_t v = 0;

	if (usec && (!parse_u64(usec, &v) || !v || v > 1000000))
		return usage_error("--sqpoll wants microseconds, 1 to 1000000", usec);
	o->net.sqpoll = true;
	o->net.sqpoll_us = (uint32_t)v;
	return 0;
}

static int parse_real(struct perf_opts *o, int c)
{
	double seconds;

	switch (c) {
	case 'D':
		if (!parse_double(optarg, 1e-3, 1e6, &seconds))
			return usage_error("-D wants seconds", optarg);
		o->duration_ns = (uint64_t)(seconds * 1e9);
		return 0;
	case OPT_RATE:
		if (!parse_double(optarg, 1e-3, 1e9, &o->rate))
			return usage_error("--rate wants operations a second", optarg);
		return 0;
	case OPT_CV:
		if (!parse_double(optarg, 0.01, 100, &o->cv))
			return usage_error("--cv wants 0.01 to 100", optarg);
		return 0;
	default:
		if (!parse_double(optarg, 0.01, 10, &o->zipf))
			return usage_error("--zipf wants 0.01 to 10", optarg);
		return 0;
	}
}

static int parse_flag(struct perf_opts *o, int c)
{
	switch (c) {
	case 'a':
		o->all_sizes = true;
		return 0;
	case 'b':
		o->bidirectional = true;
		return 0;
	case 'e':
		o->net.poll = false;
		return 0;
	case OPT_POLL:
		o->net.poll = true;
		return 0;
	case OPT_CHECK:
		o->net.check = true;
		return 0;
	case '4':
		o->net.family = AF_INET;
		return 0;
	case '6':
		o->net.family = AF_INET6;
		return 0;
	case OPT_GBITS:
		o->gbits = true;
		return 0;
	case OPT_JSON:
		o->format = PERF_JSON;
		return 0;
	case OPT_CSV:
		o->format = PERF_CSV;
		return 0;
	case 'F':
	case 'R':
		return 0;
	default:
		return 2;	/* getopt has said why */
	}
}

static int parse_one(struct perf_opts *o, int c)
{
	uint64_t v, min, max;
	uint32_t *number = number_of(o, c, &min, &max);

	if (number) {
		if (!parse_u64(optarg, &v) || v < min || v > max)
			return usage_error("a number that is not possible", optarg);
		*number = (uint32_t)v;
		return 0;
	}
	switch (c) {
	case 'n':
		if (!parse_u64(optarg, &o->iters) || !o->iters)
			return usage_error("-n wants a number", optarg);
		return 0;
	case OPT_SEED:
		return parse_u64(optarg, &o->seed) ? 0 : usage_error("--seed wants a number", optarg);
	case 'D':
	case OPT_RATE:
	case OPT_CV:
	case OPT_ZIPF:
		return parse_real(o, c);
	case OPT_LOAD:
		return parse_loads(o, optarg);
	case OPT_LANE:
		return parse_lane(o, optarg);
	case OPT_SQPOLL:
		return parse_sqpoll(o, optarg);
	case OPT_ARRIVALS:
		return parse_arrivals(o, optarg);
	case OPT_SERVICE:
		o->net.service = optarg;
		return 0;
	case OPT_BIND:
		o->net.bind = optarg;
		return 0;
	case 'd':
		o->net.device = optarg;
		return 0;
	case 'h':
		printf(usage_text, prog, prog);
		exit(0);
	case 'V':
		printf("%s 0.1, over %s\n", prog, perf_net_name);
		exit(0);
	default:
		return parse_flag(o, c);
	}
}

static const struct defaults *find_test(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (!strcmp(name, tests[i].name))
			return &tests[i];
	return NULL;
}

static void set_defaults(struct perf_opts *o)
{
	static const double loads[] = { 30, 50, 70, 90 };

	memset(o, 0, sizeof(*o));
	o->net.service = "perf";
	o->net.family = AF_UNSPEC;
	o->request = 64;
	o->warmup = 32;
	o->fanout = 1;
	o->zipf = 0.99;
	o->cv = 1.09;		/* of the arrivals of a production LLM service, llm-arrivals.csv */
	o->seed = 1;
	o->nr_loads = 4;
	memcpy(o->loads, loads, sizeof(loads));
}

/* What was not said, of a test. */
static void fill_in_test(struct perf_opts *o, const struct defaults *d)
{
	o->size = o->size ? o->size : d->size;
	o->iters = o->iters ? o->iters : d->iters;
	o->streams = o->streams ? o->streams : d->streams;
	o->depth = o->depth ? o->depth : d->depth;
	o->procs = o->procs ? o->procs : d->procs;
	if (o->streams < o->fanout)
		o->streams = o->fanout;
}

/* How long messages get in each direction, and the buffers for them. */
static void fill_in_net(struct perf_opts *o, bool server)
{
	struct perf_net_opts *n = &o->net;
	uint32_t size = o->all_sizes ? 8U << 20 : o->size;
	uint32_t rows = o->rows * 512;

	n->server = server;
	n->conns = server ? 64 : o->streams;
	n->depth = server ? 1024 : o->depth;
	if (server) {
		n->max_send = size > SERVER_SEND ? size : SERVER_SEND;
		n->max_recv = n->max_send;
	} else if (!strcmp(o->test, "fetch")) {
		n->max_send = o->request;
		n->max_recv = o->rows ? rows : size;
	} else {
		n->max_send = size;
		n->max_recv = o->bidirectional || !strcmp(o->test, "lat") ? size : REPLY_MIN;
	}
	if (!n->landing_len)
		n->landing_len = server || n->max_recv > 1 << 20 ? 1 << 20 : n->max_recv;
	if (!n->landings && n->max_recv > REPLY_MIN)
		n->landings = server ? 64 : 32;
	if (!n->smalls)
		n->smalls = server ? 2048 : o->streams > 32 ? 2 * o->streams : 64;
}

/* Words that are not options: the test, and the peer. */
static int parse_words(struct perf_opts *o, int argc, char **argv)
{
	const struct defaults *d;
	bool server;

	if (optind >= argc)
		return usage_error("which test?", NULL);
	server = !strcmp(argv[optind], "server");
	d = find_test(argv[optind]);
	if (!d && !server)
		return usage_error("no such test", argv[optind]);
	if (argc - optind > (server ? 1 : 2))
		return usage_error("one host only", argv[optind + 2 - server]);
	o->test = d ? d->name : NULL;
	o->net.host = argc - optind == 2 ? argv[optind + 1] : NULL;
	if (d)
		fill_in_test(o, d);
	fill_in_net(o, !o->net.host);
	if (o->all_sizes && (!d || !strcmp(d->name, "connect")))
		return usage_error("-a goes with a test that has sizes", NULL);
	if (o->rows > 16384)
		return usage_error("--rows wants at most 16384", NULL);
	return 0;
}

/**
 * perf_parse() - the command line
 * @o: to be filled
 * @name: of the program
 * @argc: of main()
 * @argv: of main()
 *
 * Does not return when help or the version was asked for.
 *
 * Return: 0, or an exit status, when it has said what is wrong.
 */
int perf_parse(struct perf_opts *o, const char *name, int argc, char **argv)
{
	int c, ret;

	prog = name;
	set_defaults(o);
	while ((c = getopt_long(argc, argv, short_opts, long_opts, NULL)) != -1) {
		ret = parse_one(o, c);
		if (ret)
			return ret;
	}
	return parse_words(o, argc, argv);
}
