// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a benchmark in several processes at once.
 *
 * Nothing of libdmastream survives fork(), so each child opens its own end.  Children
 * say a letter in a pipe when they are connected and warm, and when they have
 * measured.  The parent lets them go on by closing its end of another pipe, which
 * all of them notice at once.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf.h"

#define TICK_MS		200		/* how late a child that crashed may be noticed */
#define LEAD_NS		2000000		/* for the slowest of the children to wake up */

struct shared {
	uint64_t		start_ns;
	struct perf_result	res[];
};

struct crew {
	const struct perf_opts	*o;
	perf_fn			fn;
	struct shared		*shared;
	size_t			bytes;
	pid_t			pids[PERF_PROCS_MAX];
	int			word[2];	/* children write */
	int			go[2], end[2];	/* the parent closes */
};

/* ---- a child ---- */

static void say(const struct crew *c, char letter)
{
	if (write(c->word[1], &letter, 1) != 1)
		_exit(1);
}

static void wait_closed(const int pipe_fds[2])
{
	char none;

	while (read(pipe_fds[0], &none, 1) < 0 && errno == EINTR)
		;
}

static int connect_all(struct perf_worker *w)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < w->o->streams && !ret; i++)
		ret = perf_net_connect(w->net, &w->conns[i]);
	return ret;
}

/* Each connection at least once: memory, keys, caches and routes are there then. */
static int warm_up(struct perf_worker *w)
{
	const struct perf_opts *o = w->o;
	/* often only one direction may be long */
	uint32_t there = o->size < o->net.max_send ? o->size : o->net.max_send;
	uint32_t back = o->size < o->net.max_recv ? o->size : o->net.max_recv;

	return perf_round_trips(w, o->warmup > o->streams ? o->warmup : o->streams, there, back,
				false);
}

static int measure(struct crew *c, struct perf_worker *w)
{
	uint32_t i;
	int ret = connect_all(w);

	if (!ret)
		ret = warm_up(w);
	if (ret)
		return ret;
	say(c, 'r');
	wait_closed(c->go);
	w->res->begin_ns = c->shared->start_ns;
	ret = c->fn(w);
	w->res->checked = perf_net_checked(w->net);
	if (ret)
		return ret;
	say(c, 'd');
	wait_closed(c->end);
	for (i = 0; i < w->o->streams; i++)
		perf_net_end(w->net, w->conns[i]);
	return 0;
}

/* The host of process @index: they take the words of HOST,HOST... by turns. */
static char *host_of(const char *hosts, uint32_t index)
{
	uint32_t n = 1;
	const char *p;

	for (p = hosts; *p; p++)
		n += *p == ',';
	for (index %= n; index; index--)
		hosts = strchr(hosts, ',') + 1;
	return strndup(hosts, strcspn(hosts, ","));
}

static int child(struct crew *c, uint32_t index)
{
	struct perf_net_opts net = c->o->net;
	char *host = host_of(net.host, index);
	struct perf_worker w = {
		.o = c->o,
		.index = index,
		.res = &c->shared->res[index],
		.conns = calloc(c->o->streams, sizeof(*w.conns)),
	};
	int ret = -ENOMEM;

	net.host = host;
	perf_hist_reset(&w.res->hist);
	if (host && w.conns)
		ret = perf_net_open(&net, &w.net);
	if (!ret)
		ret = measure(c, &w);
	if (ret) {
		w.res->error = ret;
		fprintf(stderr, "%s %s: process %u: %s\n", perf_net_name, c->o->test, index,
			strerror(-ret));
		say(c, 'f');
	}
	perf_net_close(w.net);
	free(w.conns);
	free(host);
	return ret ? 1 : 0;
}

/* ---- the parent ---- */

/* A child that ended before its time: that is a failure, however it ended. */
static bool any_died(struct crew *c)
{
	uint32_t i;

	for (i = 0; i < c->o->procs; i++)
		if (c->pids[i] && waitpid(c->pids[i], NULL, WNOHANG) == c->pids[i]) {
			c->pids[i] = 0;
			return true;
		}
	return false;
}

/* @letter from each child. */
static int wait_words(struct crew *c, char letter)
{
	struct pollfd p = { .fd = c->word[0], .events = POLLIN };
	uint32_t n = 0;
	char got;

	while (n < c->o->procs) {
		int ready = poll(&p, 1, TICK_MS);

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready <= 0 && any_died(c))
			return -ECHILD;
		if (ready <= 0)
			continue;
		if (read(c->word[0], &got, 1) != 1 || got != letter)
			return -ECHILD;
		n++;
	}
	return 0;
}

/* Seconds that CPUs were not idle since boot, all of them together. */
static double busy_seconds(void)
{
	unsigned long long idle = 0, iowait = 0;
	FILE *f = fopen("/proc/stat", "r");
	double now = (double)perf_now_ns() / 1e9;
	int n = 0;

	if (f) {
		n = fscanf(f, "cpu %*u %*u %*u %llu %llu", &idle, &iowait);
		fclose(f);
	}
	if (n != 2)
		return 0;
	return now * (double)sysconf(_SC_NPROCESSORS_ONLN) -
	       (double)(idle + iowait) / (double)sysconf(_SC_CLK_TCK);
}

static void stop_children(struct crew *c)
{
	uint32_t i;

	for (i = 0; i < c->o->procs; i++)
		if (c->pids[i])
			kill(c->pids[i], SIGTERM);
}

static int reap_children(struct crew *c)
{
	int status, ret = 0;
	uint32_t i;

	for (i = 0; i < c->o->procs; i++) {
		if (!c->pids[i])
			continue;
		while (waitpid(c->pids[i], &status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			ret = -ECHILD;
	}
	return ret;
}

static int conduct(struct crew *c, struct perf_total *out)
{
	double before;
	int ret = wait_words(c, 'r');

	if (ret)
		return ret;
	before = busy_seconds();
	c->shared->start_ns = perf_now_ns() + LEAD_NS;
	close(c->go[1]);
	c->go[1] = -1;
	ret = wait_words(c, 'd');
	out->cpu = busy_seconds() - before;
	close(c->end[1]);
	c->end[1] = -1;
	return ret;
}

static void add_up(const struct crew *c, struct perf_total *out)
{
	double rate, sum = 0, squares = 0;
	uint32_t i;

	out->o = *c->o;
	perf_hist_reset(&out->res.hist);
	out->res.begin_ns = UINT64_MAX;
	for (i = 0; i < c->o->procs; i++) {
		const struct perf_result *r = &c->shared->res[i];

		out->res.messages += r->messages;
		out->res.bytes += r->bytes;
		out->res.operations += r->operations;
		out->res.late += r->late;
		out->res.checked += r->checked;
		perf_hist_merge(&out->res.hist, &r->hist);
		if (r->begin_ns < out->res.begin_ns)
			out->res.begin_ns = r->begin_ns;
		if (r->end_ns > out->res.end_ns)
			out->res.end_ns = r->end_ns;
		rate = (double)r->bytes * 1e9 / (double)(r->end_ns - r->begin_ns);
		if (!i || rate < out->slowest)
			out->slowest = rate;
		if (rate > out->fastest)
			out->fastest = rate;
		sum += rate;
		squares += rate * rate;
	}
	/* Jain, Chiu, Hawe 1984 */
	out->fairness = squares > 0 ? sum * sum / (c->o->procs * squares) : 1;
	out->seconds = (double)(out->res.end_ns - out->res.begin_ns) / 1e9;
}

static void close_pipes(struct crew *c)
{
	int *all[] = { c->word, c->go, c->end };
	int i, j;

	for (i = 0; i < 3; i++)
		for (j = 0; j < 2; j++)
			if (all[i][j] >= 0)
				close(all[i][j]);
}

static int make_crew(struct crew *c)
{
	memset(c->word, -1, sizeof(c->word));
	memset(c->go, -1, sizeof(c->go));
	memset(c->end, -1, sizeof(c->end));
	if (pipe(c->word) || pipe(c->go) || pipe(c->end))
		return -errno;
	c->bytes = sizeof(*c->shared) + c->o->procs * sizeof(c->shared->res[0]);
	c->shared = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return c->shared == MAP_FAILED ? -errno : 0;
}

static int fork_children(struct crew *c)
{
	uint32_t i;
	pid_t pid;

	fflush(NULL);
	for (i = 0; i < c->o->procs; i++) {
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid) {
			close(c->go[1]);
			close(c->end[1]);
			_exit(child(c, i));
		}
		c->pids[i] = pid;
	}
	return 0;
}

/**
 * perf_run() - a benchmark in all its processes
 * @o: the command line
 * @fn: what each of them does
 * @out: the results together, when 0 is returned
 *
 * Who failed has said why on standard error.
 */
int perf_run(const struct perf_opts *o, perf_fn fn, struct perf_total *out)
{
	static struct crew c;
	int ret, ended;

	memset(&c, 0, sizeof(c));
	memset(out, 0, sizeof(*out));
	c.o = o;
	c.fn = fn;
	ret = make_crew(&c);
	if (ret) {
		close_pipes(&c);
		return ret;
	}
	ret = fork_children(&c);
	if (!ret)
		ret = conduct(&c, out);
	if (ret)
		stop_children(&c);
	ended = reap_children(&c);
	if (!ret)
		ret = ended;
	if (!ret)
		add_up(&c, out);
	close_pipes(&c);
	munmap(c.shared, c.bytes);
	return ret;
}
