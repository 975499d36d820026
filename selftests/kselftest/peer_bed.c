// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests of the data path ask of the bed and of the module: time,
 * meeting of nodes, counters, gauges.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kt.h"
#include "peer.h"

#define NIC_COUNTERS	"/sys/class/infiniband/%s/ports/1/hw_counters"

unsigned int peer_errors;

static char waits_for[256] = "(nothing was waited for yet)";
static char tool[PATH_MAX];
/* at the beginning: KUnit, which runs when the module is loaded, makes some on purpose */
static long long protocol_errors;

/* One line for each of the first errors: one fault can spoil each byte. */
void peer_fail(const char *fmt, ...)
{
	va_list ap;

	if (__atomic_fetch_add(&peer_errors, 1, __ATOMIC_RELAXED) >= 20)
		return;
	printf("# error: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

/* ---- the program ---- */

void peer_waits_for(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(waits_for, sizeof(waits_for), fmt, ap);
	va_end(ap);
}

static const char *dmsctl(void)
{
	char *slash;
	ssize_t n;

	if (tool[0])
		return tool;
	n = readlink("/proc/self/exe", tool, sizeof(tool) - 32);
	if (n < 0)
		kt_die("readlink of /proc/self/exe");
	tool[n] = 0;
	slash = strrchr(tool, '/');
	strcpy(slash, "/../tools/dmsctl");
	return tool;
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

/* Only calls that are safe in a signal handler. */
static void watchdog_bites(int sig)
{
	pid_t pid;

	(void)sig;
	signal(SIGALRM, SIG_DFL);
	alarm(60);
	say("\n# the watchdog bites; waited for: ");
	say(waits_for);
	say("\n");
	pid = fork();
	if (!pid) {
		execl(tool, "dmsctl", "status", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	say("\nnot ok 9999 - the program ends in time\n");
	_exit(1);
}

void peer_watchdog(unsigned int seconds)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	protocol_errors = peer_counter("protocol_errors");
	signal(SIGALRM, watchdog_bites);
	alarm(seconds * kt_scale());
}

bool peer_polled(void)
{
	const char *s = getenv("PEER_POLL");

	return s && *s;
}

uint64_t peer_ms(unsigned int ms)
{
	return ms * kt_scale();
}

uint32_t peer_rand(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

uint32_t peer_range(uint32_t *state, uint32_t lo, uint32_t hi)
{
	return lo + peer_rand(state) % (hi - lo + 1);
}

static int node_number(void)
{
	const char *s = getenv("DMS_NODE");

	return s ? atoi(s) : 0;
}

bool peer_two_nodes(void)
{
	const char *s = getenv("DMS_NODES");

	return s && atoi(s) > 1;
}

void peer_address(const struct dmastream_addr *own, unsigned int nr,
		  struct dmastream_addr *addr)
{
	char cmd[128];

	*addr = *own;
	if (!nr)
		return;
	/* the same /24, from 100 on */
	addr->addr[3] = 100 + nr;
	snprintf(cmd, sizeof(cmd), "ip addr add %u.%u.%u.%u/24 dev eth0", addr->addr[0],
		 addr->addr[1], addr->addr[2], addr->addr[3]);
	if (system(cmd))
		kt_die("ip addr add");
}

bool peer_has_a(void)
{
	return !peer_two_nodes() || node_number() == 1;
}

bool peer_has_b(void)
{
	return !peer_two_nodes() || node_number() == 0;
}

/* A name of the bed's barrier is good for one meeting, so they are numbered. */
void peer_sync(const char *name)
{
	static unsigned int meetings;
	char cmd[128];

	if (!peer_two_nodes())
		return;
	peer_waits_for("the other node at '%s'", name);
	snprintf(cmd, sizeof(cmd), "dms-barrier %s.%u", name, meetings++);
	if (system(cmd)) {
		kt_ok(false, "the other node comes to '%s'", name);
		exit(kt_end());
	}
}

void peer_addr_of(const char *env, struct dmastream_addr *addr)
{
	const char *s = getenv(env);

	if (!s || dmastream_resolve(s, 0, 0, addr, 1) < 1) {
		printf("Bail out! $%s is no address\n", env);
		exit(2);
	}
}

/* ---- what the module says ---- */

static char *output_of(const char *cmd)
{
	size_t have = 0, room = 1 << 16, n;
	char *buf = malloc(room);
	FILE *f = popen(cmd, "r");

	if (!f)
		kt_die(cmd);
	while ((n = fread(buf + have, 1, room - have - 1, f)) > 0) {
		have += n;
		if (room - have < 4096) {
			room *= 2;
			buf = realloc(buf, room);
		}
	}
	buf[have] = 0;
	if (pclose(f)) {
		errno = EIO;
		kt_die(cmd);
	}
	return buf;
}

char *peer_status(void)
{
	char cmd[PATH_MAX + 32];

	snprintf(cmd, sizeof(cmd), "%s status --json", dmsctl());
	return output_of(cmd);
}

static long long value(const char *status, const char *section, const char *name)
{
	const char *at, *end;
	char want[64];

	snprintf(want, sizeof(want), "\"%s\": {", section);
	at = strstr(status, want);
	if (!at)
		return -1;
	end = strchr(at, '}');
	snprintf(want, sizeof(want), "\"%s\": ", name);
	at = strstr(at, want);
	if (!at || at > end)
		return -1;
	return strtoll(at + strlen(want), NULL, 10);
}

bool peer_has_nic(void)
{
	const char *nic = getenv("DMS_RDMA");

	return !nic || *nic;
}

/*
 * What goes by RDMA goes by TCP on a node without a device, and by either while paths
 * fail (PEER_FAILS).
 */
long long peer_value(const char *status, const char *section, const char *name)
{
	char tcp[64];
	long long v;

	if (strncmp(name, "rdma_", 5))
		return value(status, section, name);
	snprintf(tcp, sizeof(tcp), "tcp_%s", name + 5);
	v = value(status, section, tcp);
	if (!peer_has_nic())
		return v;
	return value(status, section, name) + (getenv("PEER_FAILS") ? v : 0);
}

long long peer_counter(const char *name)
{
	char *status = peer_status();
	long long v = peer_value(status, "counters", name);

	free(status);
	return v;
}

long long peer_rnr(void)
{
	const char *nic = getenv("DMS_RDMA");
	char counters[128], path[PATH_MAX];
	struct dirent *d;
	long long sum = 0, v;
	DIR *dir;
	FILE *f;

	if (!peer_has_nic())
		return 0;
	snprintf(counters, sizeof(counters), NIC_COUNTERS, nic ? nic : "rxe0");
	dir = opendir(counters);
	if (!dir)
		return getenv("PEER_FAILS") ? 0 : -1;	/* it may be away just now */
	while ((d = readdir(dir))) {
		if (!strstr(d->d_name, "rnr"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", counters, d->d_name);
		f = fopen(path, "r");
		if (f && fscanf(f, "%lld", &v) == 1)
			sum += v;
		if (f)
			fclose(f);
	}
	closedir(dir);
	return sum;
}

/* Paths on which fewer receives are posted than configured; *seen: paths. */
static int paths_short(const char *status, int *seen)
{
	const char *at = strstr(status, "\"paths\": [");
	int bad = 0;

	*seen = 0;
	while (at && (at = strstr(at, "\"recv_posted\": "))) {
		long long posted = strtoll(at + strlen("\"recv_posted\": "), NULL, 10);

		at = strstr(at, "\"recv_configured\": ");
		if (!at)
			break;
		bad += posted != strtoll(at + strlen("\"recv_configured\": "), NULL, 10);
		++*seen;
	}
	return bad;
}

void peer_check_paths(const char *when)
{
	/* by the clock: to ask takes long on a slow machine */
	uint64_t end = kt_now_ns() + peer_ms(5000) * 1000000ULL;
	int bad = 0, seen = 0;
	char *status;

	if (!peer_has_nic())
		return;		/* over TCP nothing is posted */
	peer_waits_for("posted receives = configured");
	for (;;) {
		status = peer_status();
		bad = paths_short(status, &seen);
		free(status);
		if ((!bad && seen) || kt_now_ns() > end)
			break;
		kt_sleep_ms(50);
	}
	kt_ok(seen && !bad, "posted = configured on all %d paths %s", seen, when);
	kt_is(peer_rnr(), 0, "RNR of the NIC %s", when);
}

static const char * const gauges[] = {
	"contexts", "pools", "pinned_bytes", "groups", "rings", "listeners", "streams",
	"sessions", "paths", "landings_taken", "keys_out", "reqs_in_flight",
};

void peer_check_gauges(void)
{
	unsigned int i, bad;
	char *status = NULL;
	uint64_t end;

	peer_sync("gauges");
	peer_waits_for("gauges to come to 0");
	end = kt_now_ns() + peer_ms(5000) * 1000000ULL;
	for (;;) {
		free(status);
		status = peer_status();
		bad = 0;
		for (i = 0; i < KT_ARRAY(gauges); i++)
			bad += !!peer_value(status, "gauges", gauges[i]);
		if (!bad || kt_now_ns() > end)
			break;
		kt_sleep_ms(100);
	}
	for (i = 0; bad && i < KT_ARRAY(gauges); i++)
		printf("# %s %lld\n", gauges[i], peer_value(status, "gauges", gauges[i]));
	kt_is(bad, 0, "gauges that are not 0 after the end");
	kt_is(peer_value(status, "counters", "protocol_errors") - protocol_errors, 0,
	      "protocol errors");
	kt_is(peer_rnr(), 0, "RNR of the NIC at the end");
	if (peer_polled())
		kt_ok(peer_value(status, "counters", "polled_sqes") > 0,
		      "a polling thread consumed submissions");
	free(status);
}

int peer_resources(const char *what)
{
	char cmd[64], *text, *at;
	int n = 0;

	snprintf(cmd, sizeof(cmd), "rdma resource show %s", what);
	text = output_of(cmd);
	for (at = text; (at = strchr(at, '\n')); at++)
		n++;
	free(text);
	return n;
}
