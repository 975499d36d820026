/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the ABI share: results as KTAP, and raw ioctls.  No library:
 * these programs are its ABI's witnesses.
 *
 *	kt_ok(x == 3, "three is %d", 3);	ok 1 - three is 3
 *	return kt_end();			1 passed, 0 failed, 0 skipped
 */
#ifndef KT_H
#define KT_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/dmastream.h>

#define KT_ARRAY(a)	(sizeof(a) / sizeof((a)[0]))
#define KT_UNUSED	__attribute__((unused))

/* weak: one of each in a program of several files */
__attribute__((weak)) unsigned int kt_passed, kt_failed, kt_skipped;

static void kt_line(const char *word, const char *fmt, va_list ap, const char *tail)
{
	printf("%s %u - ", word, kt_passed + kt_failed + kt_skipped);
	vprintf(fmt, ap);
	printf("%s\n", tail);
	fflush(stdout);
}

/* One result; gives @ok back. */
static KT_UNUSED __attribute__((format(printf, 2, 3)))
bool kt_ok(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		kt_passed++;
	else
		kt_failed++;
	va_start(ap, fmt);
	kt_line(ok ? "ok" : "not ok", fmt, ap, "");
	va_end(ap);
	return ok;
}

/* A call that should have returned @want; says what it did return. */
static KT_UNUSED __attribute__((format(printf, 3, 4)))
bool kt_is(long long got, long long want, const char *fmt, ...)
{
	va_list ap;
	char tail[96] = "";

	if (got != want)
		snprintf(tail, sizeof(tail), ": got %lld, not %lld", got, want);
	if (got == want)
		kt_passed++;
	else
		kt_failed++;
	va_start(ap, fmt);
	kt_line(got == want ? "ok" : "not ok", fmt, ap, tail);
	va_end(ap);
	return got == want;
}

static KT_UNUSED __attribute__((format(printf, 1, 2)))
void kt_skip(const char *fmt, ...)
{
	va_list ap;

	kt_skipped++;
	va_start(ap, fmt);
	kt_line("ok", fmt, ap, " # SKIP");
	va_end(ap);
}

static KT_UNUSED int kt_end(void)
{
	printf("%u passed, %u failed, %u skipped\n", kt_passed, kt_failed, kt_skipped);
	return kt_failed || !kt_passed;
}

/* Without this the rest makes no sense. */
static KT_UNUSED __attribute__((noreturn)) void kt_die(const char *what)
{
	kt_ok(false, "%s: %s", what, strerror(errno));
	kt_end();
	exit(1);
}

/* ---- the bed ---- */

/* True on slow kernels: fewer rounds. */
static KT_UNUSED bool kt_quick(void)
{
	const char *s = getenv("DMS_QUICK");

	return s && *s;
}

static KT_UNUSED uint64_t kt_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* What the bed says a second of a fast machine lasts here. */
static KT_UNUSED double kt_scale(void)
{
	const char *s = getenv("DMS_TIMEOUT_SCALE");
	double d = s ? atof(s) : 1;

	return d < 1 ? 1 : d;
}

static KT_UNUSED void kt_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (ms % 1000) * 1000000L };

	nanosleep(&ts, NULL);
}

/* A group of tests, and how long it took. */
#define KT_RUN(...)							\
	do {								\
		uint64_t kt_begin = kt_now_ns();			\
									\
		__VA_ARGS__;						\
		printf("# %s: %.1f s\n", #__VA_ARGS__,			\
		       (kt_now_ns() - kt_begin) / 1e9);			\
		fflush(stdout);						\
	} while (0)

/* ---- the device ---- */

/* 0 or what succeeded returned; else the negative errno. */
static KT_UNUSED int kt_ioctl(int fd, unsigned long req, void *arg)
{
	int ret = ioctl(fd, req, arg);

	return ret < 0 ? -errno : ret;
}

static KT_UNUSED int kt_open(void)
{
	int fd = open(DMASTREAM_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		kt_die("open " DMASTREAM_DEVICE);
	return fd;
}

static KT_UNUSED uint64_t kt_quota_used(int ctx)
{
	struct dmastream_query q = { 0 };

	if (kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q))
		kt_die("QUERY");
	return q.quota_used;
}

/* Memory is given back by a work: within 5 s, the design says. */
static KT_UNUSED bool kt_quota_comes_to(int ctx, uint64_t want)
{
	int i;

	for (i = 0; i < 500 * kt_scale(); i++) {
		if (kt_quota_used(ctx) == want)
			return true;
		kt_sleep_ms(10);
	}
	return false;
}

/* What is used when what ended before has been given back: a base to compare with. */
static KT_UNUSED uint64_t kt_quota_settled(int ctx)
{
	uint64_t used = kt_quota_used(ctx), before;

	do {
		before = used;
		kt_sleep_ms(100 * kt_scale());
		used = kt_quota_used(ctx);
	} while (used != before);
	return used;
}

/* "dms-NAME:" of a descriptor's fdinfo, or -1. */
static KT_UNUSED long long kt_fdinfo(int fd, const char *name)
{
	char path[64], line[256], want[64];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(want, sizeof(want), "dms-%s:", name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, want, strlen(want)))
			value = atoll(line + strlen(want));
	fclose(f);
	return value;
}

/* Descriptors that are open in this process. */
static KT_UNUSED int kt_nr_fds(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static KT_UNUSED int kt_pool(int ctx, uint64_t size, struct dmastream_pool_create *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = size;
	arg->numa_node = -1;
	return kt_ioctl(ctx, DMASTREAM_IOC_POOL_CREATE, arg);
}

/* ---- a ring, in the simplest way ---- */

struct kt_ring {
	struct dmastream_ring_create	arg;
	struct dmastream_ring_shared	*sh;
	struct dmastream_sqe		*sqes;
	struct dmastream_cqe		*cqes;
	unsigned char			*map;
};

/* r->arg says what is wanted. */
static KT_UNUSED int kt_ring_make(int ctx, struct kt_ring *r)
{
	int err;

	err = kt_ioctl(ctx, DMASTREAM_IOC_RING_CREATE, &r->arg);
	if (err)
		return err;
	r->map = mmap(NULL, r->arg.map_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      r->arg.fd, 0);
	if (r->map == MAP_FAILED)
		kt_die("mmap of a ring");
	r->sh = (void *)r->map;
	r->sqes = (void *)(r->map + r->arg.sqes_off);
	r->cqes = (void *)(r->map + r->arg.cqes_off);
	return 0;
}

static KT_UNUSED int kt_ring(int ctx, struct kt_ring *r, uint32_t sq, uint32_t cq,
			     uint32_t recv_min, uint32_t indirect)
{
	memset(r, 0, sizeof(*r));
	r->arg.sq_entries = sq;
	r->arg.cq_entries = cq;
	r->arg.cq_recv_min = recv_min;
	r->arg.indirect_bytes = indirect;
	return kt_ring_make(ctx, r);
}

static KT_UNUSED void kt_ring_close(struct kt_ring *r)
{
	munmap(r->map, r->arg.map_size);
	close(r->arg.fd);
}

/* Publishes one submission; there must be room. */
static KT_UNUSED void kt_push(struct kt_ring *r, const struct dmastream_sqe *sqe)
{
	uint32_t tail = r->sh->sq_tail;

	r->sqes[tail & (r->arg.sq_entries - 1)] = *sqe;
	__atomic_store_n(&r->sh->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

static KT_UNUSED void kt_push_nop(struct kt_ring *r, uint64_t user_data)
{
	struct dmastream_sqe sqe = { .op = DMASTREAM_OP_NOP, .user_data = user_data };

	kt_push(r, &sqe);
}

static KT_UNUSED uint32_t kt_ready(struct kt_ring *r)
{
	return __atomic_load_n(&r->sh->cq_tail, __ATOMIC_ACQUIRE) - r->sh->cq_head;
}

static KT_UNUSED bool kt_reap(struct kt_ring *r, struct dmastream_cqe *cqe)
{
	uint32_t head = r->sh->cq_head;

	if (!kt_ready(r))
		return false;
	*cqe = r->cqes[head & (r->arg.cq_entries - 1)];
	__atomic_store_n(&r->sh->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Submissions consumed, or the negative errno. */
static KT_UNUSED int kt_enter(struct kt_ring *r, uint32_t to_submit, uint32_t min_complete,
			      uint64_t deadline_ns, int *wait_result)
{
	struct dmastream_enter arg = {
		.to_submit = to_submit,
		.min_complete = min_complete,
		.deadline_ns = deadline_ns,
	};
	int err = kt_ioctl(r->arg.fd, DMASTREAM_IOC_ENTER, &arg);

	if (wait_result)
		*wait_result = arg.wait_result;
	return err ? err : (int)arg.submitted;
}

#endif /* KT_H */
