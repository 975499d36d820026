// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl monitor: what happens to sessions and paths, as it happens.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dmastream.h>
#include <linux/dmastream_netlink.h>

#include "dmsctl.h"

#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL
/* of two poll()s that find nothing, ms: below what its int can hold */
#define LONG_MS		3600000

struct monitor {
	const struct ctl_opts	*opts;
	uint64_t		seen;
	uint64_t		seq;		/* of the event before; 0: none */
	uint64_t		time_ns;	/* likewise */
	int			error;		/* of standard output */
};

static bool is_over(const struct monitor *m)
{
	return m->error || (m->opts->count && m->seen >= m->opts->count);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/*
 * How far the wall clock is ahead.  Both are read at about the same time: who loses the CPU
 * between the two tries again.
 */
static uint64_t wall_ahead(void)
{
	uint64_t before, after, wall;
	int tries = 10;

	do {
		before = now_ns(CLOCK_MONOTONIC);
		wall = now_ns(CLOCK_REALTIME);
		after = now_ns(CLOCK_MONOTONIC);
	} while (after - before > NS_PER_MS / 10 && --tries);
	return wall - before;
}

/* The wall clock at a time of CLOCK_MONOTONIC: UTC for programs, local time for people. */
static void wall_text(uint64_t mono_ns, bool utc, char *buf, size_t size)
{
	uint64_t wall = mono_ns + wall_ahead();
	time_t s = (time_t)(wall / NS_PER_S);
	char text[32] = "";
	struct tm tm;

	if (utc ? gmtime_r(&s, &tm) : localtime_r(&s, &tm))
		strftime(text, sizeof(text), utc ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(buf, size, "%s.%03u%s", text, (unsigned int)(wall / NS_PER_MS % 1000),
		 utc ? "Z" : "");
}

static void say_line(struct monitor *m)
{
	errno = 0;
	/* who reads it through a pipe wants it now */
	if (fflush(stdout) || ferror(stdout))
		m->error = errno ? -errno : -EIO;
}

/*
 * ---- Words ----------------------------------------------------------------
 */

/* What dmastream_explain() says after the error itself. */
static void explain(uint32_t err_class, uint32_t detail, char *buf, size_t size)
{
	struct dmastream_error where = { .err_class = err_class, .err_detail = detail };
	char text[DMASTREAM_EXPLAIN_TEXT];
	const char *cause;

	dmastream_explain(0, &where, text, sizeof(text));
	cause = strstr(text, ": ");
	snprintf(buf, size, "%s", cause ? cause + 2 : text);
}

/* Why a session or path went, "" when there is no error. */
static const char *cause_of(uint32_t err_class, uint32_t detail, char *buf, size_t size)
{
	buf[0] = 0;
	if (err_class == DMASTREAM_ERR_NONE)
		return buf;
	if (err_class == DMASTREAM_ERR_SESSION && detail == ESHUTDOWN)
		snprintf(buf, size, "closed in order");
	else if (err_class == DMASTREAM_ERR_SESSION && detail == ETIMEDOUT)
		snprintf(buf, size,
			 "no answer from the peer; is its host alive, its network up?");
	else if (err_class == DMASTREAM_ERR_SESSION)
		snprintf(buf, size, "the connection with the peer ended: %s", strerror((int)detail));
	else if (err_class == DMASTREAM_ERR_DEVICE)
		snprintf(buf, size, "the RDMA device went; see rdma link show");
	else
		explain(err_class, detail, buf, size);
	return buf;
}

static const char *event_name(const struct nlattr *const *a, char *buf, size_t size)
{
	uint32_t kind = ctl_u32(a[DMASTREAM_EVENT_KIND]);
	const char *name = ctl_event(kind);

	if (name)
		return name;
	snprintf(buf, size, "event-%u", kind);
	return buf;
}

static const char *role_of(const struct nlattr *const *a)
{
	return ctl_u32(a[DMASTREAM_EVENT_ROLE]) == DMASTREAM_ROLE_ACTIVE ? "active" : "passive";
}

static const char *lane_of(const struct nlattr *const *a)
{
	const char *name = NULL;

	if (a[DMASTREAM_EVENT_LANE])
		name = ctl_lane(ctl_u32(a[DMASTREAM_EVENT_LANE]));
	return name ? name : "";
}

/*
 * ---- Lines ----------------------------------------------------------------
 */

static void event_json(const struct monitor *m, const struct nlattr *const *a)
{
	uint32_t err_class = ctl_u32(a[DMASTREAM_EVENT_ERR_CLASS]);
	uint32_t detail = ctl_u32(a[DMASTREAM_EVENT_ERR_DETAIL]);
	uint64_t ns = ctl_u64(a[DMASTREAM_EVENT_TIME_NS]);
	char name[24], wall[64], peer[DMASTREAM_ADDR_TEXT], cause[DMASTREAM_EXPLAIN_TEXT];

	wall_text(ns, true, wall, sizeof(wall));
	out_begin_line();
	out_str("event", event_name(a, name, sizeof(name)));
	out_str("time", wall);
	out_u64("time_ns", ns);
	out_u64("since_ns", m->time_ns ? ns - m->time_ns : 0);
	out_u64("seq", ctl_u64(a[DMASTREAM_EVENT_SEQ]));
	out_u64("session", ctl_u32(a[DMASTREAM_EVENT_SESSION]));
	out_str("role", role_of(a));
	out_str("peer", ctl_addr(a[DMASTREAM_EVENT_PEER], peer, sizeof(peer)));
	out_u64("streams", ctl_u32(a[DMASTREAM_EVENT_STREAMS]));
	out_str("err_class", dmastream_class_text(err_class));
	out_u64("err_detail", detail);
	out_str("cause", cause_of(err_class, detail, cause, sizeof(cause)));
	out_u64("path", ctl_u32(a[DMASTREAM_EVENT_PATH]));
	out_u64("from_path", ctl_u32(a[DMASTREAM_EVENT_FROM_PATH]));
	out_str("lane", lane_of(a));
	out_u64("index", ctl_u32(a[DMASTREAM_EVENT_INDEX]));
	out_str("transport", ctl_str(a[DMASTREAM_EVENT_TRANSPORT]));
	out_str("device", ctl_str(a[DMASTREAM_EVENT_DEVICE]));
	out_end();
}

static void path_text(const struct nlattr *const *a)
{
	const char *device = ctl_str(a[DMASTREAM_EVENT_DEVICE]);

	if (!a[DMASTREAM_EVENT_PATH])
		return;
	printf(", path %u", ctl_u32(a[DMASTREAM_EVENT_PATH]));
	if (a[DMASTREAM_EVENT_FROM_PATH])
		printf(" after path %u", ctl_u32(a[DMASTREAM_EVENT_FROM_PATH]));
	printf(" (%s lane, index %u, %s%s%s)", lane_of(a), ctl_u32(a[DMASTREAM_EVENT_INDEX]),
	       ctl_str(a[DMASTREAM_EVENT_TRANSPORT]), device[0] ? " on " : "", device);
}

static void event_text(const struct monitor *m, const struct nlattr *const *a)
{
	uint32_t err_class = ctl_u32(a[DMASTREAM_EVENT_ERR_CLASS]);
	uint32_t streams = ctl_u32(a[DMASTREAM_EVENT_STREAMS]);
	uint64_t ns = ctl_u64(a[DMASTREAM_EVENT_TIME_NS]);
	char name[24], wall[64], since[32] = "-", peer[DMASTREAM_ADDR_TEXT], cause[DMASTREAM_EXPLAIN_TEXT];

	wall_text(ns, false, wall, sizeof(wall));
	if (m->time_ns)
		snprintf(since, sizeof(since), "+%.3f", (double)(ns - m->time_ns) / NS_PER_S);
	printf("%s %10s  %-12s  session %u (%s) with %s", wall, since,
	       event_name(a, name, sizeof(name)), ctl_u32(a[DMASTREAM_EVENT_SESSION]), role_of(a),
	       ctl_addr(a[DMASTREAM_EVENT_PEER], peer, sizeof(peer)));
	path_text(a);
	if (streams)
		printf(", %u stream%s", streams, streams == 1 ? "" : "s");
	if (err_class != DMASTREAM_ERR_NONE)
		printf(": %s: %s", dmastream_class_text(err_class),
		       cause_of(err_class, ctl_u32(a[DMASTREAM_EVENT_ERR_DETAIL]), cause,
				sizeof(cause)));
	putchar('\n');
}

/* @n: how many, 0: the numbers of the next ones will tell */
static void say_lost(struct monitor *m, uint64_t n)
{
	char wall[64];

	wall_text(now_ns(CLOCK_MONOTONIC), m->opts->json, wall, sizeof(wall));
	if (m->opts->json) {
		out_begin_line();
		out_str("event", "lost");
		out_str("time", wall);
		out_u64("count", n);
		out_end();
	} else if (n) {
		printf("%s %10s  %-12s  %" PRIu64 " event%s\n", wall, "", "lost", n,
		       n == 1 ? "" : "s");
	} else {
		printf("%s %10s  %-12s  events, more came than were read\n", wall, "", "lost");
	}
	say_line(m);
}

static void event_fn(const struct nlattr *const *a, void *arg)
{
	struct monitor *m = arg;
	uint64_t seq = ctl_u64(a[DMASTREAM_EVENT_SEQ]);

	if (is_over(m))
		return;
	if (m->seq && seq > m->seq + 1)
		say_lost(m, seq - m->seq - 1);
	if (m->opts->json)
		event_json(m, a);
	else
		event_text(m, a);
	m->seen++;
	m->seq = seq;
	m->time_ns = ctl_u64(a[DMASTREAM_EVENT_TIME_NS]);
	say_line(m);
}

/*
 * ---- Command --------------------------------------------------------------
 */

/* For poll(): 0 when the time is over. */
static int ms_left(const struct monitor *m, uint64_t end_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t ms;

	if (!m->opts->timeout_s)
		return -1;
	if (now >= end_ns)
		return 0;
	ms = (end_ns - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms < LONG_MS ? (int)ms : LONG_MS;
}

int ctl_monitor(struct ctl_nl *nl, const struct ctl_opts *opts)
{
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + opts->timeout_s * NS_PER_S;
	struct monitor m = { .opts = opts };
	int ret, left;

	ret = ctl_nl_listen(nl);
	while (ret >= 0 && !is_over(&m)) {
		left = ms_left(&m, end_ns);
		if (!left)
			break;
		ret = ctl_nl_hear(nl, left, event_fn, &m);
		if (ret == -ENOBUFS) {
			say_lost(&m, 0);
			ret = 0;
		}
	}
	if (m.error)
		return m.error;
	if (ret == -ENODEV) {
		fprintf(stderr, "dmsctl: monitor: the module was unloaded\n");
		return 1;
	}
	if (ret >= 0 && m.seen < opts->count) {
		fprintf(stderr, "dmsctl: monitor: %" PRIu64 " of %" PRIu64
			" events came in time\n", m.seen, opts->count);
		return 1;
	}
	return ret < 0 ? ret : 0;
}
