// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bed around the tests of life and death: gauges, processes, the other node.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

#define DMSCTL		"build/tools/dmsctl"
#define PARTNER_PORT	7400

static const char * const gauge_names[LIFE_GAUGES] = {
	"contexts", "pools", "pinned_bytes", "groups", "rings", "listeners",
	"streams", "sessions", "paths", "landings_taken", "keys_out", "reqs_in_flight"
};

static double scale(void)
{
	const char *s = getenv("DMS_TIMEOUT_SCALE");
	double d = s ? atof(s) : 1;

	return d < 1 ? 1 : d;
}

static uint64_t now_ms(void)
{
	return dmastream_now_ns() / 1000000;
}

static void nap(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (ms % 1000) * 1000000L };

	nanosleep(&ts, NULL);
}

/* ---- what the operator sees ---- */

/* Output of a command, or an empty text. */
static void read_command(const char *command, char *buf, size_t size)
{
	FILE *f = popen(command, "r");
	size_t n = 0;

	if (f) {
		n = fread(buf, 1, size - 1, f);
		if (pclose(f))
			n = 0;
	}
	buf[n] = 0;
}

static int64_t number_in(const char *text, const char *name)
{
	char want[64];
	const char *p;

	snprintf(want, sizeof(want), "\"%s\": ", name);
	p = text ? strstr(text, want) : NULL;
	return p ? atoll(p + strlen(want)) : -1;
}

int64_t life_counter(const char *name)
{
	static char text[65536];

	read_command(DMSCTL " counters --json", text, sizeof(text));
	return number_in(text, name);
}

static int64_t offences_before;

int64_t life_offences(void)
{
	return life_counter("protocol_errors") - offences_before;
}

bool life_gauges(int64_t g[LIFE_GAUGES])
{
	static char text[65536];
	char *at;
	int i;

	read_command(DMSCTL " counters --json", text, sizeof(text));
	at = strstr(text, "\"gauges\"");
	for (i = 0; i < LIFE_GAUGES; i++)
		g[i] = number_in(at, gauge_names[i]);
	return at;
}

void life_want(int64_t want[LIFE_GAUGES], int n)
{
	int i;

	for (i = 0; i < LIFE_GAUGES; i++)
		want[i] = 0;
	want[LIFE_CONTEXTS] = n;
	want[LIFE_POOLS] = n;
	want[LIFE_GROUPS] = 2 * n;
	want[LIFE_RINGS] = n;
	if (n)
		want[LIFE_PINNED] = LIFE_ANY;
	want[LIFE_LISTENERS] = LIFE_ANY;
	want[LIFE_SESSIONS] = LIFE_ANY;
	want[LIFE_PATHS] = LIFE_ANY;
}

static int first_wrong(const int64_t *g, const int64_t *want)
{
	int i;

	for (i = 0; i < LIFE_GAUGES; i++)
		if (want[i] != LIFE_ANY && g[i] != want[i])
			return i;
	return -1;
}

/* What a person wants to see of a failure. */
static const char *nic_name(void)
{
	const char *name = getenv("DMS_RDMA");

	return name ? name : "rxe0";
}

static void look(void)
{
	if (system(DMSCTL " status >&2; grep -sH 'dms-' /proc/[0-9]*/fdinfo/* >&2;"
		   "grep -s . /sys/class/infiniband/*/ports/1/hw_counters/* | sed 's,.*/,,' >&2;"
		   "grep -sH dms_ /proc/[0-9]*/task/*/stack >&2"))
		return;
}

bool life_settle(const int64_t want[LIFE_GAUGES], unsigned int *ms)
{
	uint64_t begin = now_ms(), took;
	int64_t g[LIFE_GAUGES];
	int wrong;

	do {
		wrong = life_gauges(g) ? first_wrong(g, want) : 0;
		took = now_ms() - begin;
		if (ms)
			*ms = took;
		if (wrong < 0)
			return true;
		nap(5);
	} while (took < 5000 * scale());
	for (wrong = 0; wrong < LIFE_GAUGES; wrong++)
		if (want[wrong] != LIFE_ANY && g[wrong] != want[wrong])
			printf("# gauge %s is %lld, not %lld\n", gauge_names[wrong],
			       (long long)g[wrong], (long long)want[wrong]);
	fflush(stdout);
	look();
	return false;
}

bool life_empty(unsigned int *ms)
{
	int64_t want[LIFE_GAUGES] = { 0 };

	return life_settle(want, ms);
}

uint64_t life_rnr(void)
{
	uint64_t sum = 0;
	char text[32], path[128];
	glob_t g;
	size_t i;

	if (!*nic_name())
		return 0;	/* there is none: all goes over TCP */
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/*rnr*", nic_name());
	if (glob(path, 0, NULL, &g))
		return UINT64_MAX;
	for (i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "r");

		if (f && fgets(text, sizeof(text), f))
			sum += strtoull(text, NULL, 10);
		if (f)
			fclose(f);
	}
	globfree(&g);
	return sum;
}

static bool posted_now(void)
{
	static char text[262144];
	const char *p = text;

	if (!*nic_name())
		return true;	/* over TCP nothing is posted */
	read_command(DMSCTL " status --json", text, sizeof(text));
	if (!*text)
		return false;
	while ((p = strstr(p, "\"qpn\": "))) {
		if (number_in(p, "recv_posted") != number_in(p, "recv_configured"))
			return false;
		p++;
	}
	return true;
}

bool life_posted(void)
{
	uint64_t begin = now_ms();

	do {
		if (posted_now())
			return true;
		nap(20);
	} while (now_ms() - begin < 2000 * scale());
	return false;
}

void life_qps(char *buf, size_t size)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "rdma resource show qp link %s/1 | grep -o 'lqpn [0-9]*' | sort", nic_name());
	read_command(command, buf, size);
}

/* ---- processes ---- */

static void watchdog_bite(int sig)
{
	static const char text[] = "not ok - the watchdog: this takes too long\n";

	(void)sig;
	if (write(1, text, sizeof(text) - 1) > 0)
		look();
	_exit(1);
}

void life_watchdog(unsigned int seconds)
{
	offences_before = life_counter("protocol_errors");
	signal(SIGALRM, watchdog_bite);
	alarm(seconds * scale());
}

pid_t life_fork(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGALRM, SIG_DFL);
	}
	return pid;
}

int life_join(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

unsigned int life_count(unsigned int full, unsigned int quick)
{
	const char *q = getenv("DMS_QUICK"), *d = getenv("DMS_DEBUG");
	const char *n = getenv("LIFE_COUNT");

	if (n && *n)
		return atoi(n);
	return (q && *q) || (d && *d) ? quick : full;
}

unsigned int life_random(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1103515245 + 12345;
	return below ? (*seed >> 8) % below : 0;
}

bool life_word(volatile uint32_t *word, uint32_t value, unsigned int ms)
{
	uint64_t end = now_ms() + ms * scale();

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
		if (now_ms() > end)
			return false;
		nap(1);
	}
	return true;
}

/* ---- the other node ---- */

static int partner_accept(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PARTNER_PORT) };
	int one = 1, fd, l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(l, (struct sockaddr *)&in, sizeof(in)) || listen(l, 1))
		return -1;
	fd = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	close(l);
	return fd;
}

static int partner_connect(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PARTNER_PORT) };
	int fd, tries;

	inet_pton(AF_INET, getenv("DMS_PEER0") ?: "", &in.sin_addr);
	for (tries = 0; tries < 500 * scale(); tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fd, (struct sockaddr *)&in, sizeof(in)))
			return fd;
		close(fd);
		nap(10);
	}
	return -1;
}

int life_partner(void)
{
	const char *node = getenv("DMS_NODE");
	int one = 1, fd = node && atoi(node) ? partner_connect() : partner_accept();

	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

uint32_t life_meet(int fd, uint32_t value)
{
	uint32_t theirs;

	if (write(fd, &value, sizeof(value)) != sizeof(value) ||
	    recv(fd, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs)) {
		printf("not ok - the other side has ended\n");
		fflush(stdout);
		_exit(1);
	}
	return theirs;
}
