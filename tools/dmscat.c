// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmscat: pipes a file through a stream.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dmscat.h"

#define DEFAULT_LEN	(1024 * 1024)
#define DEFAULT_BUFS	8
#define MAX_BUFS	4096

static const char usage_text[] =
"Usage: dmscat [options] host service < file     send standard input\n"
"       dmscat -l [options] service > file       receive to standard output\n"
"\n"
"host is a name or address, with :port where it is not the default;\n"
"an IPv6 address with a port goes in brackets.\n"
"\n"
"  -l, --listen          announce the service, take one sender, and end\n"
"  -k, --keep            with -l: take one sender after the other\n"
"  -p, --port=N          port of the other node\n"
"  -b, --buffer=SIZE     bytes of a buffer, with k, m or g (default 1m)\n"
"  -n, --buffers=N       buffers in flight (default 8)\n"
"  -t, --timeout=SECONDS give up when nothing moves for so long\n"
"  -4, -6                this address family only\n"
"  -v, --verbose         say what happens\n"
"  -q, --quiet           no progress line\n"
"      --json            one line of JSON on standard error at the end\n"
"      --device=PATH     instead of " DMASTREAM_DEVICE "\n"
"  -h, --help            this text\n"
"  -V, --version\n"
"\n"
"Ends with 0 only when the receiver has written everything, 1 when the\n"
"transfer failed, 2 on wrong usage.  See dmscat(1).\n";

enum { OPT_JSON = 256, OPT_DEVICE };

static const struct option long_opts[] = {
	{ "listen", no_argument, NULL, 'l' },
	{ "keep", no_argument, NULL, 'k' },
	{ "port", required_argument, NULL, 'p' },
	{ "buffer", required_argument, NULL, 'b' },
	{ "buffers", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 't' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 }
};

static int usage_error(const char *what, const char *arg)
{
	fprintf(stderr, "dmscat: %s%s%s; dmscat -h helps\n", what,
		arg ? ": " : "", arg ? arg : "");
	return 2;
}

/* @text: digits, and a unit when @units; false when it is not @min to @max. */
static bool parse_number(const char *text, bool units, uint64_t min,
			 uint64_t max, uint64_t *out)
{
	unsigned long long v;
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (units && *end) {
		static const char letters[] = "kKmMgG";
		const char *unit = strchr(letters, *end);

		if (!unit)
			return false;
		shift = 10 * (unsigned int)((unit - letters) / 2 + 1);
		end++;
	}
	if (errno || *end || v > max >> shift)
		return false;
	*out = (uint64_t)v << shift;
	return *out >= min;
}

static bool parse_seconds(const char *text, uint32_t *ms)
{
	char *end;
	double v = strtod(text, &end);

	if (*end || end == text || !(v > 0) || v > 4e6)
		return false;
	*ms = (uint32_t)(v * 1000);
	if (!*ms)
		*ms = 1;
	return true;
}

static int parse_sized(struct cat_opts *o, int c)
{
	uint64_t v;

	if (c == 'b') {
		if (!parse_number(optarg, true, CAT_ALIGN, 1 << 30, &v))
			return usage_error("-b wants 4k to 1g", optarg);
		o->buf_len = (v + CAT_ALIGN - 1) & ~(uint64_t)(CAT_ALIGN - 1);
	} else {
		if (!parse_number(optarg, false, 1, MAX_BUFS, &v))
			return usage_error("-n wants 1 to 4096", optarg);
		o->nbufs = (uint32_t)v;
	}
	o->sized = true;
	return 0;
}

static int parse_one(struct cat_opts *o, int c)
{
	uint64_t v;

	switch (c) {
	case 'l':
		o->listen = true;
		return 0;
	case 'k':
		o->keep = true;
		return 0;
	case 'p':
		if (!parse_number(optarg, false, 1, 65535, &v))
			return usage_error("-p wants 1 to 65535", optarg);
		o->port = (uint32_t)v;
		return 0;
	case 'b':
	case 'n':
		return parse_sized(o, c);
	case 't':
		if (!parse_seconds(optarg, &o->timeout_ms))
			return usage_error("-t wants seconds", optarg);
		return 0;
	case '4':
		o->family = AF_INET;
		return 0;
	case '6':
		o->family = AF_INET6;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_DEVICE:
		o->device = optarg;
		return 0;
	case 'h':
		fputs(usage_text, stdout);
		exit(0);
	case 'V':
		printf("dmscat %s\n", dmastream_version());
		exit(0);
	default:
		return 2;	/* getopt has said why */
	}
}

static int parse(struct cat_opts *o, int argc, char **argv)
{
	int c, ret;

	o->buf_len = DEFAULT_LEN;
	o->nbufs = DEFAULT_BUFS;
	o->timeout_ms = DMASTREAM_TIMEOUT_NONE;
	o->family = AF_UNSPEC;
	while ((c = getopt_long(argc, argv, "lkp:b:n:t:46vqhV", long_opts, NULL)) != -1) {
		ret = parse_one(o, c);
		if (ret)
			return ret;
	}
	if (argc - optind != (o->listen ? 1 : 2))
		return usage_error(o->listen ? "-l wants a service" :
				   "host and service wanted", NULL);
	if (!o->listen)
		o->host = argv[optind++];
	o->service = argv[optind];
	if (!*o->service || strlen(o->service) >= DMASTREAM_SERVICE_MAX)
		return usage_error("a service has 1 to 63 bytes", o->service);
	if (o->keep && !o->listen)
		return usage_error("-k goes with -l", NULL);
	if (o->port && o->listen)
		return usage_error("the port to listen on is a parameter of the module", NULL);
	return 0;
}

uint32_t cat_close_ms(const struct cat *cat)
{
	return cat->o.timeout_ms < CAT_CLOSE_MS ? cat->o.timeout_ms : CAT_CLOSE_MS;
}

/* Nothing has moved for as long as -t allows. */
bool cat_stalled(const struct cat *cat)
{
	return cat->o.timeout_ms != DMASTREAM_TIMEOUT_NONE &&
	       dmastream_now_ns() - cat->progress.moved_ns >=
	       (uint64_t)cat->o.timeout_ms * 1000000;
}

/*
 * Waits for a completion, but not longer than until the next progress line.
 * 0 when there may be one; what was not submitted yet is submitted.
 */
int cat_wait(struct cat *cat)
{
	bool tick = cat->progress.terminal ||
		    cat->o.timeout_ms != DMASTREAM_TIMEOUT_NONE;
	int ret;

	cat_progress_show(cat, false);
	ret = dmastream_submit_and_wait(cat->ring, 1,
					tick ? dmastream_deadline(CAT_TICK_MS) : 0);
	if (ret == -ETIME)
		return cat_stalled(cat) ? -ETIMEDOUT : 0;
	if (ret == -EINTR || ret == -EAGAIN)
		return 0;
	return ret < 0 ? ret : 0;
}

/* What finds no slot in the completion queue goes with the next wait. */
int cat_submit(struct cat *cat)
{
	int ret = dmastream_submit(cat->ring);

	return ret < 0 && ret != -EAGAIN ? ret : 0;
}

/* Says why the stream broke, as far as the kernel knows. */
void cat_broke(struct cat *cat, const char *what, int error)
{
	struct dmastream_error err;

	if (!dmastream_stream_error(cat->ctx, cat->stream, &err)) {
		cat->err.err_class = err.err_class;
		cat->err.err_detail = err.err_detail;
	}
	cat_error(cat, what, error);
}

/*
 * The pool: small landing buffers, large ones (or the sender's), and a page
 * for the report.
 */
static int setup_pool(struct cat *cat)
{
	uint64_t small = 0;
	int ret;

	cat->small_len = (dmastream_limits(cat->ctx)->eager_max + CAT_ALIGN - 1) &
			 ~(uint32_t)(CAT_ALIGN - 1);
	if (!cat->small_len)
		cat->small_len = 2 * CAT_ALIGN;
	if (cat->o.listen)
		small = (uint64_t)CAT_SMALL * cat->small_len;
	for (;;) {
		uint64_t large = (uint64_t)cat->o.nbufs * cat->o.buf_len;

		cat->large_off = small;
		cat->report_off = small + large;
		ret = dmastream_pool_create(cat->ctx, small + large + CAT_ALIGN,
					    -1, &cat->pool);
		if (ret != -EDQUOT || cat->o.sized || cat->o.nbufs <= 2)
			break;
		cat->o.nbufs /= 2;
		cat_note(cat, "over the quota of pinned memory: %u buffers only",
			 cat->o.nbufs);
	}
	return ret;
}

/* What the limits are, where they are the reason. */
static void limit_text(struct cat *cat, int error)
{
	struct dmastream_query q;

	if (dmastream_query(cat->ctx, &q))
		return;
	if (error == -EINVAL)
		fprintf(stderr, "dmscat: a pool may have %llu bytes here; fewer or smaller buffers: -n, -b\n",
			(unsigned long long)q.max_pool_bytes);
	if (error != -EDQUOT)
		return;
	fprintf(stderr, "dmscat: the quota is %llu bytes, %llu of them in use; fewer or smaller buffers: -n, -b\n",
		(unsigned long long)q.quota_bytes,
		(unsigned long long)q.quota_used);
}

static int setup(struct cat *cat)
{
	uint32_t queue;
	int ret;

	ret = dmastream_open(&cat->ctx, cat->o.device);
	if (ret) {
		cat_error(cat, cat->o.device ? cat->o.device : DMASTREAM_DEVICE, ret);
		return ret;
	}
	ret = setup_pool(cat);
	if (ret) {
		cat_error(cat, "pinned memory", ret);
		limit_text(cat, ret);
		return ret;
	}
	queue = cat->o.nbufs + 4;
	ret = dmastream_ring_create(cat->ctx, queue, 2 * queue + CAT_SMALL, queue,
				    &cat->ring);
	if (!ret && cat->o.listen)
		ret = dmastream_group_create(cat->ctx, cat->pool, CAT_SMALL,
					     cat->small_len, &cat->small);
	if (!ret && cat->o.listen)
		ret = dmastream_group_create(cat->ctx, cat->pool, cat->o.nbufs,
					     (uint32_t)cat->o.buf_len, &cat->large);
	if (ret)
		cat_error(cat, "rings", ret);
	return ret;
}

int main(int argc, char **argv)
{
	static struct cat cat;
	int ret;

	ret = parse(&cat.o, argc, argv);
	if (ret)
		return ret;
	signal(SIGPIPE, SIG_IGN);	/* an error of write(), which the sender is told */
	ret = setup(&cat);
	if (ret)
		cat_summary(&cat, ret);
	else
		ret = cat.o.listen ? cat_serve(&cat) : cat_send(&cat);
	dmastream_group_close(cat.large);
	dmastream_group_close(cat.small);
	dmastream_ring_close(cat.ring);
	dmastream_pool_close(cat.pool);
	dmastream_close(cat.ctx);
	return ret ? 1 : 0;
}
