// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools: handed to another process, attached, closed in any order, within a
 * quota, and left behind by processes that are killed (cases 18, 19, 23 and 27 of
 * the list of what others suffered).
 */
#define _GNU_SOURCE
#include "kt.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define RW	(PROT_READ | PROT_WRITE)
#define QUOTA	"/sys/module/dmastream/parameters/quota_mib"

static int ctx;

static int detach(int c, uint32_t handle)
{
	struct dmastream_close arg = { .type = DMASTREAM_OBJ_POOL, .handle = handle };

	return kt_ioctl(c, DMASTREAM_IOC_CLOSE, &arg);
}

static int attach(int c, int fd, struct dmastream_pool_attach *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->fd = fd;
	return kt_ioctl(c, DMASTREAM_IOC_POOL_ATTACH, arg);
}

static unsigned char *map(int fd, size_t size)
{
	unsigned char *p = mmap(NULL, size, RW, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		kt_die("mmap of a pool");
	return p;
}

/* ---- over a socket ---- */

static void send_fd(int sock, int fd)
{
	char c = 'p', control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	if (sendmsg(sock, &m, 0) != 1)
		kt_die("sendmsg");
}

static int receive_fd(int sock)
{
	char c, control[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(sock, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

/* The other process: exit status 0, or which step failed. */
static int other_process(int sock, size_t size)
{
	int fd = receive_fd(sock), c = open(DMASTREAM_DEVICE, O_RDWR);
	struct dmastream_pool_attach a;
	unsigned char *p;
	size_t i;

	if (fd < 0 || c < 0)
		return 1;
	if (attach(c, fd, &a) || a.size != size || !a.pool)
		return 2;
	p = mmap(NULL, size, RW, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 3;
	close(fd);
	for (i = 0; i < size; i += 512)
		if (p[i] != (unsigned char)(i >> 9))
			return 4;
	for (i = 0; i < size; i += 512)
		p[i + 1] = 77;
	if (detach(c, a.pool) || detach(c, a.pool) != -EBADF)
		return 5;
	return 0;
}

static void test_passing(void)
{
	struct dmastream_pool_create arg;
	size_t size = 2 << 20, i, bad = 0;
	int sock[2], status = -1;
	unsigned char *p;
	pid_t pid;

	if (kt_pool(ctx, size, &arg) || socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		kt_die("setup");
	kt_ok(fcntl(arg.fd, F_GETFD) & FD_CLOEXEC, "the descriptor is closed by exec");
	p = map(arg.fd, size);
	for (i = 0; i < size; i += 512)
		p[i] = i >> 9;
	pid = fork();
	if (!pid)
		_exit(other_process(sock[1], size));
	send_fd(sock[0], arg.fd);
	waitpid(pid, &status, 0);
	kt_ok(WIFEXITED(status), "the other process ended");
	kt_is(WEXITSTATUS(status), 0, "it attached, mapped, read and wrote the pool");
	for (i = 0; i < size; i += 512)
		bad += p[i + 1] != 77;
	kt_is(bad, 0, "what it wrote is here");
	kt_is(kt_fdinfo(arg.fd, "attachments"), 1, "its attachment is gone");
	munmap(p, size);
	close(arg.fd);
	detach(ctx, arg.pool);
	close(sock[0]);
	close(sock[1]);
}

/* ---- handles ---- */

static void test_attach(void)
{
	struct dmastream_group_create g = { .entries = 8, .buf_len = 4096 };
	struct dmastream_pool_create arg;
	struct dmastream_pool_attach a, b;
	uint64_t used = kt_quota_settled(ctx);
	int null = open("/dev/null", O_RDWR);
	struct kt_ring r;

	if (kt_pool(ctx, 1 << 20, &arg) || kt_ring(ctx, &r, 2, 2, 1, 0))
		kt_die("setup");
	kt_is(attach(ctx, arg.fd, &a), 0, "attached where it was made");
	kt_is(attach(ctx, arg.fd, &b), 0, "and again");
	kt_ok(a.pool != b.pool && a.pool != arg.pool && a.size == 1 << 20, "with other handles");
	kt_is(kt_fdinfo(arg.fd, "attachments"), 3, "three attachments");
	kt_is(attach(ctx, null, &b), -EBADF, "another file is no pool");
	kt_is(attach(ctx, r.arg.fd, &b), -EBADF, "nor is a ring");
	kt_is(attach(ctx, ctx, &b), -EBADF, "nor the device");
	kt_is(attach(ctx, -1, &b), -EBADF, "nor -1");
	kt_is(detach(ctx, a.pool), 0, "detached");
	kt_is(detach(ctx, a.pool), -EBADF, "not twice");
	g.pool = arg.pool;
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &g), 0, "a group of it");
	close(arg.fd);
	detach(ctx, arg.pool);
	detach(ctx, a.pool + 1);
	kt_ok(kt_quota_used(ctx) > used + (1 << 20), "the group keeps the pool");
	close(g.fd);
	kt_ring_close(&r);
	kt_ok(kt_quota_comes_to(ctx, used), "closed: all is given back");
	close(null);
}

static void test_limit(void)
{
	struct dmastream_query q = { 0 };
	struct dmastream_pool_create arg, first;
	struct dmastream_pool_attach a;
	unsigned int i, bad = 0;

	kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q);
	if (kt_pool(ctx, 4096, &first))
		kt_die("POOL_CREATE");
	for (i = 1; i < q.max_pools; i++)
		bad += attach(ctx, first.fd, &a) != 0;
	kt_is(bad, 0, "as many handles as the limit says");
	kt_is(attach(ctx, first.fd, &a), -ENOSPC, "one more is ENOSPC");
	kt_is(kt_pool(ctx, 4096, &arg), -ENOSPC, "also for a new one");
	kt_is(detach(ctx, first.pool), 0, "one less");
	kt_is(attach(ctx, first.fd, &a), 0, "and there is room again");
	close(first.fd);
}

/* ---- sizes and memory ---- */

static void test_sizes(void)
{
	static const uint64_t pages[] = { 1, 2, 3, 5, 63, 64, 65, 511, 512, 513, 1500 };
	uint64_t used = kt_quota_settled(ctx), k;
	struct dmastream_pool_create arg;
	unsigned int i, bad = 0;

	for (i = 0; i < KT_ARRAY(pages); i++) {
		uint64_t size = pages[i] * 4096;
		unsigned char *p;

		if (kt_pool(ctx, size, &arg)) {
			bad++;
			continue;
		}
		bad += kt_quota_used(ctx) != used + size;
		p = map(arg.fd, size);
		for (k = 0; k < size; k++)
			bad += p[k] != 0;
		memset(p, 0xff, size);
		munmap(p, size);
		close(arg.fd);
		detach(ctx, arg.pool);
		bad += !kt_quota_comes_to(ctx, used);
	}
	kt_is(bad, 0, "pools of 1 to 1500 pages: zero, charged, given back");
	arg = (struct dmastream_pool_create) { .size = 4096, .numa_node = 0 };
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_POOL_CREATE, &arg), 0, "on node 0");
	close(arg.fd);
	detach(ctx, arg.pool);
	for (bad = 0, i = 0; i < 6; i++) {
		static const int node[] = { -2, 1000, 1 << 20, INT_MAX, INT_MIN, 63 };

		arg = (struct dmastream_pool_create) { .size = 4096, .numa_node = node[i] };
		bad += kt_ioctl(ctx, DMASTREAM_IOC_POOL_CREATE, &arg) != -EINVAL;
	}
	kt_is(bad, 0, "on nodes that are not there");
}

/* More than there is: an error, no OOM killer, no warning, and all comes back. */
static void test_exhaust(void)
{
	uint64_t used = kt_quota_settled(ctx), size = 64 << 20;
	struct dmastream_query q = { 0 };
	struct dmastream_pool_create arg;
	unsigned int n = 0;
	int fd[512], err = 0;

	kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q);
	while (n < 512 && !err) {
		err = kt_pool(ctx, size, &arg);
		if (!err)
			fd[n++] = arg.fd;
	}
	kt_ok(err == -EDQUOT || err == -ENOMEM, "pools of 64 MiB until there is none: %s",
	      strerror(-err));
	while (n)
		close(fd[--n]);
	close(ctx);
	ctx = kt_open();
	kt_ok(kt_quota_comes_to(ctx, used), "all is given back with the context");
}

/* ---- quota ---- */

static bool set_quota(unsigned int mib)
{
	FILE *f = fopen(QUOTA, "w");

	if (!f)
		return false;
	fprintf(f, "%u\n", mib);
	return !fclose(f);
}

static void test_quota(void)
{
	struct dmastream_pool_create a, b;
	struct dmastream_query q = { 0 };
	uint64_t used = kt_quota_settled(ctx);

	if (used) {
		kt_skip("quota: this user has something pinned already");
		return;
	}
	if (!set_quota(8)) {
		kt_skip("quota: " QUOTA " cannot be written");
		return;
	}
	kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q);
	kt_is(q.quota_bytes, 8 << 20, "the quota is told");
	kt_is(kt_pool(ctx, 9 << 20, &a), -EDQUOT, "more than the quota");
	kt_is(kt_pool(ctx, 6 << 20, &a), 0, "within it");
	kt_is(kt_pool(ctx, 3 << 20, &b), -EDQUOT, "over it together");
	kt_is(kt_quota_used(ctx), 6 << 20, "a refused one is not counted");
	kt_is(kt_pool(ctx, 2 << 20, &b), 0, "up to it");
	close(a.fd);
	detach(ctx, a.pool);
	close(b.fd);
	detach(ctx, b.pool);
	kt_ok(kt_quota_comes_to(ctx, 0), "given back");
	set_quota(0);
}

/* A user with a small memlock and nothing else works inside the quota. */
static void test_user(void)
{
	struct rlimit rl = { 65536, 65536 };
	struct dmastream_pool_create arg;
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		unsigned char *p;

		if (setrlimit(RLIMIT_MEMLOCK, &rl) || setgid(65534) || setuid(65534))
			_exit(1);
		if (open(DMASTREAM_DEVICE, O_RDWR) >= 0 || errno != EACCES)
			_exit(2);
		/* the descriptor was handed to it */
		if (kt_quota_used(ctx))
			_exit(3);
		if (kt_pool(ctx, 4 << 20, &arg))
			_exit(4);
		p = mmap(NULL, 4 << 20, RW, MAP_SHARED, arg.fd, 0);
		if (p == MAP_FAILED)
			_exit(5);
		memset(p, 1, 4 << 20);
		if (kt_quota_used(ctx) != 4 << 20)
			_exit(6);
		_exit(detach(ctx, arg.pool) ? 7 : 0);
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 2)
		kt_skip("a user: the device node is open to everybody here");
	else
		kt_is(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0,
		      "a user with a memlock of 64 KiB has a pool of 4 MiB, charged to it");
}

/* ---- those who go ---- */

static void test_kill(void)
{
	unsigned int n = kt_quick() ? 20 : 500, i;
	uint64_t used = kt_quota_settled(ctx);

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct dmastream_pool_create a;
			struct dmastream_pool_attach at;
			int c = kt_open();

			for (;;) {
				unsigned char *p;

				if (kt_pool(c, 1 << 20, &a))
					_exit(1);
				attach(c, a.fd, &at);
				p = mmap(NULL, 1 << 20, RW, MAP_SHARED, a.fd, 0);
				if (p != MAP_FAILED)
					memset(p, i, 1 << 20);
				detach(c, a.pool);
				close(a.fd);
				if (p != MAP_FAILED)
					munmap(p, 1 << 20);
			}
		}
		usleep(random() % 5000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	kt_ok(kt_quota_comes_to(ctx, used), "%u processes killed with pools: all is given back", n);
}

static void *closer(void *p)
{
	unsigned int i;

	for (i = 0; i < 2000; i++)
		detach(ctx, *(volatile uint32_t *)p);
	return NULL;
}

/* CLOSE of a handle by two threads while a third makes groups of it. */
static void test_race(void)
{
	uint64_t used = kt_quota_settled(ctx);
	unsigned int i, n = kt_quick() ? 100 : 1000, bad = 0;
	volatile uint32_t handle = 0;
	pthread_t t[2];

	pthread_create(&t[0], NULL, closer, (void *)&handle);
	pthread_create(&t[1], NULL, closer, (void *)&handle);
	for (i = 0; i < n; i++) {
		struct dmastream_group_create g = { .entries = 8, .buf_len = 64 };
		struct dmastream_pool_create a;
		int err;

		if (kt_pool(ctx, 8192, &a)) {
			bad++;
			continue;
		}
		handle = a.pool;
		g.pool = a.pool;
		err = kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &g);
		bad += err && err != -EBADF;
		if (!err)
			close(g.fd);
		close(a.fd);
		err = detach(ctx, a.pool);
		bad += err && err != -EBADF;
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	kt_is(bad, 0, "CLOSE against GROUP_CREATE of the same pool, %u times", n);
	kt_ok(kt_quota_comes_to(ctx, used), "nothing is left");
	kt_is(kt_fdinfo(ctx, "pools"), 0, "no handle either");
}

/* Context, pool, group, ring and mapping closed in each order. */
static void test_orders(void)
{
	uint64_t used = kt_quota_settled(ctx);
	unsigned int order, bad = 0;

	for (order = 0; order < 120; order++) {
		struct dmastream_group_create g = { .entries = 8, .buf_len = 64 };
		unsigned int left = 31, o = order, k;
		struct dmastream_pool_create a;
		int c = kt_open();
		unsigned char *p;
		struct kt_ring r;

		if (kt_pool(c, 8192, &a) || kt_ring(c, &r, 2, 2, 1, 0))
			kt_die("setup");
		g.pool = a.pool;
		bad += kt_ioctl(c, DMASTREAM_IOC_GROUP_CREATE, &g) != 0;
		p = map(a.fd, 8192);
		for (k = 5; k; k--) {
			unsigned int pick = o % k, i = 0;

			o /= k;
			while (!(left & 1U << i) || pick--)
				i++;
			left &= ~(1U << i);
			switch (i) {
			case 0:
				close(c);
				break;
			case 1:
				close(a.fd);
				break;
			case 2:
				close(g.fd);
				break;
			case 3:
				kt_ring_close(&r);
				break;
			case 4:
				p[8191] = 1;
				munmap(p, 8192);
				break;
			}
		}
	}
	kt_is(bad, 0, "context, pool, group, ring and mapping closed in 120 orders");
	kt_ok(kt_quota_comes_to(ctx, used), "nothing is left");
}

int main(void)
{
	ctx = kt_open();
	KT_RUN(test_quota());
	KT_RUN(test_passing());
	KT_RUN(test_attach());
	KT_RUN(test_limit());
	close(ctx);
	ctx = kt_open();
	KT_RUN(test_sizes());
	KT_RUN(test_user());
	KT_RUN(test_kill());
	KT_RUN(test_race());
	KT_RUN(test_orders());
	KT_RUN(test_exhaust());
	return kt_end();
}
