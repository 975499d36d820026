// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be mapped, and how, of each kind of object; and that pages live as
 * long as anybody has them (cases 28, 29 and 35 of the list of what others
 * suffered).
 */
#define _GNU_SOURCE
#include "kt.h"

#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int ctx;
static long page;

struct object {
	const char	*name;
	int		fd;
	size_t		size;
};

static void *map_at(const struct object *o, size_t len, int prot, int flags, off_t off)
{
	return mmap(NULL, len, prot, flags, o->fd, off);
}

/* 0 or the negative errno of a mapping, which is taken down again. */
static int try_map(const struct object *o, size_t len, int prot, int flags, off_t off)
{
	void *p = map_at(o, len, prot, flags, off);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, len);
	return 0;
}

#define RW	(PROT_READ | PROT_WRITE)

static void test_ranges(const struct object *o)
{
	size_t n = o->size / page;

	kt_is(try_map(o, o->size, RW, MAP_SHARED, 0), 0, "%s: all of it", o->name);
	kt_is(try_map(o, page, RW, MAP_SHARED, 0), 0, "%s: its first page", o->name);
	kt_is(try_map(o, page, RW, MAP_SHARED, (n - 1) * page), 0, "%s: its last page", o->name);
	kt_is(try_map(o, o->size + page, RW, MAP_SHARED, 0), -EINVAL, "%s: a page more", o->name);
	kt_is(try_map(o, o->size + 1, RW, MAP_SHARED, 0), -EINVAL, "%s: a byte more", o->name);
	kt_is(try_map(o, 2 * page, RW, MAP_SHARED, (n - 1) * page), -EINVAL,
	      "%s: over its end", o->name);
	kt_is(try_map(o, page, RW, MAP_SHARED, n * page), -EINVAL, "%s: behind it", o->name);
	kt_is(try_map(o, page, RW, MAP_SHARED, 1LL << 40), -EINVAL, "%s: far behind it", o->name);
	/* in the last page that an offset can name; the kernel itself may say EOVERFLOW */
	kt_ok(try_map(o, page, RW, MAP_SHARED, (off_t)(LLONG_MAX & ~(page - 1))) < 0,
	      "%s: at the end of all offsets", o->name);
	kt_ok(try_map(o, o->size, RW, MAP_SHARED, (off_t)(-(long long)page)) < 0,
	      "%s: an offset that wraps", o->name);
	kt_is(try_map(o, page, RW, MAP_SHARED, 512), -EINVAL, "%s: not on a page", o->name);
	kt_is(try_map(o, 0, RW, MAP_SHARED, 0), -EINVAL, "%s: nothing", o->name);
}

static void test_protection(const struct object *o)
{
	void *p, *q;

	kt_is(try_map(o, o->size, RW, MAP_PRIVATE, 0), -EINVAL, "%s: MAP_PRIVATE", o->name);
	kt_is(try_map(o, o->size, PROT_READ, MAP_PRIVATE, 0), -EINVAL,
	      "%s: MAP_PRIVATE for reading", o->name);
	kt_is(try_map(o, o->size, RW | PROT_EXEC, MAP_SHARED, 0), -EACCES,
	      "%s: PROT_EXEC", o->name);
	p = map_at(o, o->size, RW, MAP_SHARED, 0);
	if (p == MAP_FAILED)
		kt_die("mmap");
	kt_ok(mprotect(p, page, PROT_READ | PROT_EXEC) && errno == EACCES,
	      "%s: mprotect to execute", o->name);
	kt_ok(!mprotect(p, page, PROT_READ) && !mprotect(p, page, RW),
	      "%s: mprotect of a writable one to read, and back", o->name);
	q = mremap(p, o->size, o->size + page, MREMAP_MAYMOVE);
	kt_ok(q == MAP_FAILED && errno == EFAULT, "%s: mremap to grow", o->name);
	q = mremap(p, 0, o->size, MREMAP_MAYMOVE);
	kt_ok(q == MAP_FAILED, "%s: mremap to duplicate and grow", o->name);
	q = mremap(p, o->size, page, MREMAP_MAYMOVE);
	kt_ok(q != MAP_FAILED, "%s: mremap to shrink", o->name);
	munmap(q, page);
	p = map_at(o, o->size, PROT_READ, MAP_SHARED, 0);
	if (p == MAP_FAILED)
		kt_die("mmap to read");
	kt_ok(mprotect(p, page, RW) && errno == EACCES,
	      "%s: mprotect of one for reading to write", o->name);
	munmap(p, o->size);
}

static void test_fork(const struct object *o)
{
	volatile unsigned char *p = map_at(o, o->size, RW, MAP_SHARED, 0);
	int status = 0;
	pid_t pid;

	if (p == MAP_FAILED)
		kt_die("mmap");
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		(void)p[0];
		_exit(0);
	}
	waitpid(pid, &status, 0);
	kt_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	      "%s: a child does not inherit the mapping", o->name);
	pid = fork();
	if (!pid)
		_exit(try_map(o, o->size, RW, MAP_SHARED, 0) ? 1 : 0);
	waitpid(pid, &status, 0);
	kt_ok(WIFEXITED(status) && !WEXITSTATUS(status),
	      "%s: but maps the descriptor itself", o->name);
	munmap((void *)p, o->size);
}

static void test_shared(const struct object *o)
{
	unsigned char *a = map_at(o, o->size, RW, MAP_SHARED, 0);
	unsigned char *b = map_at(o, page, RW, MAP_SHARED, o->size - page);
	size_t at = o->size - page + 100;

	if (a == MAP_FAILED || b == MAP_FAILED)
		kt_die("mmap");
	a[at] = 42;
	kt_ok(b[100] == 42, "%s: two mappings are the same memory", o->name);
	b[100] = 0;
	kt_ok(a[at] == 0, "%s: both ways", o->name);
	munmap(a + page, o->size - page);
	a[0] += 0;
	munmap(a, page);
	munmap(b, page);
}

static void test_wrong_kind(void)
{
	struct dmastream_listen l = { .service = "mmap-test", .backlog = 1 };
	struct object o = { "device", ctx, page };

	kt_is(try_map(&o, page, RW, MAP_SHARED, 0), -ENODEV, "the device cannot be mapped");
	if (kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &l))
		kt_die("LISTEN");
	o.fd = l.fd;
	kt_is(try_map(&o, page, RW, MAP_SHARED, 0), -ENODEV, "a listener cannot be mapped");
	close(l.fd);
}

/* ---- pages live as long as anybody has them ---- */

static unsigned char *pool_map(uint64_t size, struct dmastream_pool_create *arg)
{
	unsigned char *p;

	if (kt_pool(ctx, size, arg))
		kt_die("POOL_CREATE");
	p = mmap(NULL, size, RW, MAP_SHARED, arg->fd, 0);
	if (p == MAP_FAILED)
		kt_die("mmap of a pool");
	return p;
}

static void pool_end(const struct dmastream_pool_create *arg)
{
	struct dmastream_close c = { .type = DMASTREAM_OBJ_POOL, .handle = arg->pool };

	kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &c);
	close(arg->fd);
}

static void test_after_close(void)
{
	uint64_t used = kt_quota_settled(ctx);
	struct dmastream_pool_create arg;
	size_t size = 4 << 20, i, bad = 0;
	unsigned char *p = pool_map(size, &arg);

	for (i = 0; i < size; i++)
		bad += p[i] != 0;
	kt_is(bad, 0, "a new pool is zero");
	memset(p, 0xa5, size);
	pool_end(&arg);
	for (i = 0; i < size; i++)
		bad += p[i] != 0xa5;
	kt_is(bad, 0, "handle and descriptor closed: the mapping is as it was");
	kt_is(kt_quota_used(ctx), used + size, "and still charged");
	munmap(p, size);
	kt_ok(kt_quota_comes_to(ctx, used), "unmapped: given back");
	p = pool_map(size, &arg);
	for (i = 0; i < size; i++)
		bad += p[i] != 0;
	kt_is(bad, 0, "the next pool does not show what was there");
	munmap(p, size);
	pool_end(&arg);
}

static void test_vmsplice(void)
{
	uint64_t used = kt_quota_settled(ctx);
	struct dmastream_pool_create arg, other;
	unsigned char *p = pool_map(1 << 20, &arg), *q, got[4096];
	struct iovec v = { p + 8 * page, page };
	unsigned int i, bad = 0;
	int fd[2];

	memset(p + 8 * page, 0x5a, page);
	if (pipe(fd))
		kt_die("pipe");
	kt_is(vmsplice(fd[1], &v, 1, 0), page, "vmsplice of a page of a pool");
	munmap(p, 1 << 20);
	pool_end(&arg);
	kt_ok(kt_quota_comes_to(ctx, used), "the pool is gone");
	/* would it have gone with the pool, this would get it */
	q = pool_map(64 << 20, &other);
	memset(q, 0x11, 64 << 20);
	kt_is(read(fd[0], got, page), page, "the pipe has its page");
	for (i = 0; i < page; i++)
		bad += got[i] != 0x5a;
	kt_is(bad, 0, "as it was");
	munmap(q, 64 << 20);
	pool_end(&other);
	close(fd[0]);
	close(fd[1]);
}

/* ---- racing ---- */

static volatile int race_fd;
static volatile bool race_stop;

static void *race_map(void *unused)
{
	(void)unused;
	while (!race_stop) {
		unsigned char *p = mmap(NULL, 1 << 18, RW, MAP_SHARED, race_fd, 0);

		if (p == MAP_FAILED)
			continue;
		p[0] = 1;
		p[(1 << 18) - 1] = 1;
		munmap(p, 1 << 18);
	}
	return NULL;
}

static void test_race(void)
{
	unsigned int n = kt_quick() ? 100 : 1000, i;
	uint64_t used = kt_quota_settled(ctx);
	struct dmastream_pool_create arg;
	pthread_t t[2];

	race_fd = -1;
	pthread_create(&t[0], NULL, race_map, NULL);
	pthread_create(&t[1], NULL, race_map, NULL);
	for (i = 0; i < n; i++) {
		if (kt_pool(ctx, 1 << 18, &arg))
			break;
		race_fd = arg.fd;
		if (i % 3)
			sched_yield();
		pool_end(&arg);
	}
	race_stop = true;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	kt_is(i, n, "%u pools made and closed while two threads map them", n);
	kt_ok(kt_quota_comes_to(ctx, used), "nothing is left");
}

int main(void)
{
	struct dmastream_group_create g = { .entries = 512, .buf_len = 4096 };
	struct dmastream_pool_create pool;
	struct object o[3];
	struct kt_ring r;
	unsigned int i;

	page = sysconf(_SC_PAGESIZE);
	ctx = kt_open();
	if (kt_pool(ctx, 3 << 20, &pool) || kt_ring(ctx, &r, 64, 128, 1, 65536))
		kt_die("setup");
	g.pool = pool.pool;
	if (kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &g))
		kt_die("GROUP_CREATE");
	o[0] = (struct object) { "pool", pool.fd, 3 << 20 };
	o[1] = (struct object) { "ring", r.arg.fd, r.arg.map_size };
	o[2] = (struct object) { "group", g.fd, g.map_size };
	for (i = 0; i < KT_ARRAY(o); i++) {
		test_ranges(&o[i]);
		test_protection(&o[i]);
		test_fork(&o[i]);
		test_shared(&o[i]);
	}
	KT_RUN(test_wrong_kind());
	KT_RUN(test_after_close());
	KT_RUN(test_vmsplice());
	KT_RUN(test_race());
	return kt_end();
}
