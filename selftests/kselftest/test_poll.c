// SPDX-License-Identifier: GPL-2.0-only
/*
 * The polling thread: no system call while it is awake, no CPU while it
 * sleeps, no submission that is forgotten in between, and its limits.  NOPs will do.
 */
#include "kt.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PARAM	"/sys/module/dmastream/parameters/pollers_per_user"

static unsigned int enters;

static int try_polled(int ctx, struct kt_ring *r, uint32_t sq, uint32_t cq, uint32_t recv_min,
		      uint32_t idle_us)
{
	memset(r, 0, sizeof(*r));
	r->arg.sq_entries = sq;
	r->arg.cq_entries = cq;
	r->arg.cq_recv_min = recv_min;
	r->arg.flags = DMASTREAM_RING_POLL;
	r->arg.poll_idle_us = idle_us;
	return kt_ring_make(ctx, r);
}

static void make_polled(int ctx, struct kt_ring *r, uint32_t sq, uint32_t cq, uint32_t recv_min,
			uint32_t idle_us)
{
	if (try_polled(ctx, r, sq, cq, recv_min, idle_us))
		kt_die("RING_CREATE of a polled ring");
}

static bool flagged(struct kt_ring *r, uint32_t flag)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&r->sh->flags, __ATOMIC_RELAXED) & flag;
}

/* What was pushed is published: calls only if the ring says so. */
static void submit(struct kt_ring *r)
{
	if (flagged(r, DMASTREAM_RING_SQ_KICK)) {
		enters++;
		kt_enter(r, r->arg.sq_entries, 0, 0, NULL);
	}
}

/* All that is there, and the call if somebody waits for the room. */
static unsigned int reap_all(struct kt_ring *r)
{
	struct dmastream_cqe cqe;
	unsigned int n = 0;

	while (kt_reap(r, &cqe))
		n++;
	if (n && flagged(r, DMASTREAM_RING_CQ_KICK)) {
		enters++;
		kt_enter(r, 0, 0, 0, NULL);
	}
	return n;
}

static bool wait_until(bool (*is)(struct kt_ring *r), struct kt_ring *r, unsigned int ms)
{
	uint64_t end = kt_now_ns() + ms * 1000000ULL * kt_scale();

	while (!is(r))
		if (kt_now_ns() > end)
			return is(r);
	return true;
}

static bool has_cqe(struct kt_ring *r)
{
	return kt_ready(r);
}

static bool sleeps(struct kt_ring *r)
{
	if (flagged(r, DMASTREAM_RING_SQ_KICK))
		return true;
	kt_sleep_ms(1);
	return false;
}

static bool awake(struct kt_ring *r)
{
	return !flagged(r, DMASTREAM_RING_SQ_KICK);
}

/* The threads of a process: how many, and the id of the last one. */
static int threads(int pid, int *tid)
{
	char path[300], want[32], comm[32] = "";
	struct dirent *d;
	int found = 0;
	DIR *dir = opendir("/proc");

	*tid = 0;
	snprintf(want, sizeof(want), "dms-poll/%d\n", pid);
	while (dir && (d = readdir(dir))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = atoi(d->d_name) ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strcmp(comm, want)) {
			*tid = atoi(d->d_name);
			found++;
		}
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int threads_of(int pid)
{
	int tid;

	return threads(pid, &tid);
}

static int thread_of(int pid)
{
	int tid;

	threads(pid, &tid);
	return tid;
}

/* Nanoseconds on a CPU so far; -1 when it is gone. */
static long long thread_ns(int tid)
{
	char path[64];
	long long ns = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%lld", &ns) != 1)
		ns = -1;
	fclose(f);
	return ns;
}

static char thread_state(int tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state;
}

/* The flag alone may be from before: a thread that was woken has not run yet. */
static bool settles(struct kt_ring *r, int tid)
{
	uint64_t end = kt_now_ns() + 5e9 * kt_scale();

	while (!flagged(r, DMASTREAM_RING_SQ_KICK) || thread_state(tid) != 'I') {
		if (kt_now_ns() > end)
			return false;
		kt_sleep_ms(1);
	}
	return true;
}

/* A step with one submission; false: it was forgotten. */
static bool one(struct kt_ring *r, uint64_t id)
{
	struct dmastream_cqe cqe;

	kt_push_nop(r, id);
	submit(r);
	return wait_until(has_cqe, r, 5000) && kt_reap(r, &cqe) && cqe.user_data == id;
}

static void test_awake(void)
{
	int ctx = kt_open();
	unsigned int i, n = kt_quick() ? 300 : 3000, lost = 0;
	struct kt_ring r;

	make_polled(ctx, &r, 16, 32, 4, 1000000);
	kt_ok(flagged(&r, DMASTREAM_RING_SQ_KICK), "a new polled ring asks for a call");
	lost += !one(&r, 1) + !one(&r, 2);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		kt_ok(wait_until(awake, &r, 5000), "two submissions wake the thread");
	enters = 0;
	for (i = 0; i < n && !lost; i++)
		lost += !one(&r, i);
	kt_is(lost, 0, "%u submissions, one after the other", n);
	printf("# %u calls of ENTER, %lld submissions by the thread\n", enters,
	       kt_fdinfo(r.arg.fd, "polled-sqes"));
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		kt_ok(enters < n / 4, "needed a call for less than a quarter of them");
		kt_ok(kt_fdinfo(r.arg.fd, "polled-sqes") > n / 2, "the thread consumed them");
	} else {
		kt_skip("one CPU: nobody polls there");
	}
	kt_ring_close(&r);
	close(ctx);
}

static void test_asleep(void)
{
	int ctx = kt_open(), tid;
	struct kt_ring r;
	long long before;

	make_polled(ctx, &r, 16, 32, 4, 1000);
	one(&r, 1);
	one(&r, 2);
	tid = thread_of(getpid());
	kt_ok(tid, "the thread has its process's number");
	kt_ok(settles(&r, tid), "it goes to sleep, and says so");
	before = thread_ns(tid);
	kt_sleep_ms(500);
	kt_is(thread_ns(tid) - before, 0, "it uses no CPU when nothing comes");
	kt_ok(one(&r, 3) && one(&r, 4), "and wakes up");
	kt_ring_close(&r);
	close(ctx);
}

/*
 * At every moment of its going to sleep a submission may come, or room for one.
 * The idle time is short, so that it sleeps all the time.
 */
static void test_races(void)
{
	int ctx = kt_open();
	unsigned int i, n = kt_quick() ? 500 : 5000, lost = 0, seed = 1;
	volatile unsigned int spin;
	struct kt_ring r;

	make_polled(ctx, &r, 8, 8, 4, 20);
	for (i = 0; i < n && !lost; i++) {
		for (spin = rand_r(&seed) % 3000; spin; spin--)
			;
		lost += !one(&r, i);
	}
	kt_is(lost, 0, "%u submissions at random distances: none is forgotten", n);
	kt_ring_close(&r);
	close(ctx);
}

static unsigned int fill(struct kt_ring *r, unsigned int n, uint8_t flags)
{
	struct dmastream_sqe sqe = { .op = DMASTREAM_OP_NOP, .flags = flags };
	unsigned int i;

	for (i = 0; i < n; i++)
		kt_push(r, &sqe);
	submit(r);
	return n;
}

/* More than the completion queue takes: the rest goes as it is reaped, and nothing spins. */
static void test_full(void)
{
	int ctx = kt_open();
	unsigned int i, rounds = kt_quick() ? 50 : 500, lost = 0;
	struct kt_ring r;
	long long before;
	int tid;

	make_polled(ctx, &r, 16, 8, 4, 100);
	tid = thread_of(getpid());
	for (i = 0; i < rounds && !lost; i++) {
		unsigned int got = 0;
		uint64_t end = kt_now_ns() + 5e9 * kt_scale();

		fill(&r, 16, 0);
		if (i % 8 == 0)
			wait_until(sleeps, &r, 5000);
		while (got < 16 && kt_now_ns() < end)
			got += reap_all(&r);
		lost += got != 16;
	}
	kt_is(lost, 0, "%u times more than the completion queue takes", rounds);

	fill(&r, 16, 0);
	kt_ok(settles(&r, tid), "it sleeps while there is no slot");
	kt_ok(flagged(&r, DMASTREAM_RING_CQ_KICK), "and asks for a call after reaping");
	before = thread_ns(tid);
	kt_sleep_ms(300);
	kt_is(thread_ns(tid) - before, 0, "it uses no CPU meanwhile");
	for (i = 0; i < 16; )
		i += reap_all(&r);
	kt_ok(settles(&r, tid) && !flagged(&r, DMASTREAM_RING_CQ_KICK),
	      "nothing is asked for when all is consumed");
	kt_ring_close(&r);
	close(ctx);
}

static void test_hostile(void)
{
	int ctx = kt_open();
	struct kt_ring r;
	long long before;
	unsigned int i;
	int tid;

	make_polled(ctx, &r, 16, 32, 4, 100);
	tid = thread_of(getpid());
	one(&r, 1);
	for (i = 0; i < 200; i++) {
		__atomic_store_n(&r.sh->sq_tail, i * 2654435761U, __ATOMIC_RELEASE);
		__atomic_store_n(&r.sh->cq_head, i * 40503U, __ATOMIC_RELEASE);
		submit(&r);
	}
	__atomic_store_n(&r.sh->sq_tail, r.sh->sq_head + 1000, __ATOMIC_RELEASE);
	kt_ok(settles(&r, tid), "an index that is nonsense: it sleeps");
	before = thread_ns(tid);
	kt_sleep_ms(300);
	kt_is(thread_ns(tid) - before, 0, "and uses no CPU");
	kt_is(kt_enter(&r, 1, 0, 0, NULL), -EINVAL, "ENTER says what is wrong");
	kt_ring_close(&r);
	close(ctx);
}

/* One thread for all rings of a context; a ring that goes takes nothing with it. */
static void test_many(void)
{
	int ctx = kt_open();
	struct kt_ring r[8], plain;
	unsigned int i, k, lost = 0;
	int tid;

	make_polled(ctx, &r[0], 16, 32, 4, 1000);
	tid = thread_of(getpid());
	for (i = 1; i < KT_ARRAY(r); i++)
		make_polled(ctx, &r[i], 16, 32, 4, 1000);
	kt_is(threads_of(getpid()), 1, "eight rings, one thread");
	kt_is(thread_of(getpid()), tid, "the same");
	for (k = 0; k < 50; k++)
		for (i = 0; i < KT_ARRAY(r); i++)
			lost += !one(&r[i], k);
	for (i = 0; i < KT_ARRAY(r); i += 2) {
		kt_push_nop(&r[i], 1);
		kt_ring_close(&r[i]);
		lost += !one(&r[i + 1], i);
	}
	kt_is(lost, 0, "rings in turn, and while others are closed");
	for (i = 1; i < KT_ARRAY(r); i += 2)
		kt_ring_close(&r[i]);
	if (kt_ring(ctx, &plain, 8, 8, 1, 0))
		kt_die("RING_CREATE");
	kt_sleep_ms(50);
	kt_ok(flagged(&plain, DMASTREAM_RING_SQ_KICK) &&
	      kt_fdinfo(plain.arg.fd, "polled-sqes") == -1, "a ring that did not ask is not polled");
	kt_ring_close(&plain);
	close(ctx);
}

static void test_numbers(int ctx)
{
	struct dmastream_query q = { 0 };
	struct kt_ring r;

	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q), 0, "QUERY");
	kt_ok(q.features & DMASTREAM_FEAT_POLL, "it tells of polled rings");
	kt_is(try_polled(ctx, &r, 8, 8, 1, 1000001), -EINVAL, "more than a second of looking");
	kt_is(try_polled(ctx, &r, 8, 8, 1, UINT32_MAX), -EINVAL, "or much more");
}

static void test_quota(void)
{
	int i, ctx[9], err = 0;
	struct kt_ring r[9];
	FILE *f = fopen(PARAM, "w");

	if (!f || fprintf(f, "3\n") < 0 || fclose(f))
		kt_die(PARAM);
	for (i = 0; i < 9 && !err; i++) {
		ctx[i] = kt_open();
		err = try_polled(ctx[i], &r[i], 8, 8, 1, 0);
	}
	kt_is(err, -EDQUOT, "a user has so many threads");
	kt_is(i, 4, "as pollers_per_user says");
	kt_is(kt_fdinfo(ctx[i - 1], "rings"), 0, "nothing is left of the one that was refused");
	kt_is(threads_of(getpid()), 3, "three are there");
	kt_ring_close(&r[0]);
	close(ctx[0]);
	kt_is(try_polled(ctx[3], &r[3], 8, 8, 1, 0), 0, "one that ends makes room");
	for (i = 1; i < 4; i++) {
		kt_ring_close(&r[i]);
		close(ctx[i]);
	}
	f = fopen(PARAM, "w");
	if (!f || fprintf(f, "8\n") < 0 || fclose(f))
		kt_die(PARAM);
}

/* Killed in the midst of it: thread and memory are gone. */
static void test_kill(int ctx)
{
	unsigned int i, rounds = kt_quick() ? 5 : 30, left = 0;
	uint64_t used = kt_quota_settled(ctx);

	for (i = 0; i < rounds; i++) {
		struct kt_ring r;
		pid_t pid = fork();
		int k;

		if (!pid) {
			make_polled(kt_open(), &r, 16, 32, 4, 500);
			for (;;)
				one(&r, 1);
		}
		for (k = 0; k < 500 * kt_scale() && !thread_of(pid); k++)
			kt_sleep_ms(2);
		kt_sleep_ms(i % 7);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		for (k = 0; k < 500 * kt_scale() && thread_of(pid); k++)
			kt_sleep_ms(10);
		left += !!thread_of(pid);
	}
	kt_is(left, 0, "%u processes killed: no thread is left", rounds);
	kt_ok(kt_quota_comes_to(ctx, used), "and no memory");
}

static bool same_text(const char *a, const char *b)
{
	char x[512] = "", y[512] = "";
	FILE *f = fopen(a, "r"), *g = fopen(b, "r");
	bool same = f && g && fread(x, 1, sizeof(x) - 1, f) && fread(y, 1, sizeof(y) - 1, g) &&
		    !strcmp(x, y);

	if (!same)
		printf("# %s: %s# %s: %s", a, x, b, y);
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	return same;
}

/* Its owner's cgroup pays for its time. */
static void test_cgroup(void)
{
	char path[64];
	struct kt_ring r;
	FILE *f;
	int ctx;

	mkdir("/tmp/cg", 0755);
	if (mount("none", "/tmp/cg", "cgroup2", 0, NULL) || mkdir("/tmp/cg/poll", 0755)) {
		kt_skip("no cgroup2 here (%s)", strerror(errno));
		return;
	}
	f = fopen("/tmp/cg/poll/cgroup.procs", "w");
	if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f))
		kt_die("cgroup.procs");
	ctx = kt_open();
	make_polled(ctx, &r, 8, 8, 1, 0);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", thread_of(getpid()));
	kt_ok(same_text(path, "/proc/self/cgroup"), "the thread is in its owner's cgroup");
	kt_ring_close(&r);
	close(ctx);
}

int main(void)
{
	int ctx = kt_open();

	setvbuf(stdout, NULL, _IOLBF, 0);
	KT_RUN(test_numbers(ctx));
	KT_RUN(test_awake());
	KT_RUN(test_asleep());
	KT_RUN(test_races());
	KT_RUN(test_full());
	KT_RUN(test_hostile());
	KT_RUN(test_many());
	KT_RUN(test_quota());
	KT_RUN(test_kill(ctx));
	close(ctx);
	/* last, since this process stays in it; by now it has no other thread */
	KT_RUN(test_cgroup());
	return kt_end();
}
