// SPDX-License-Identifier: GPL-2.0-only
/*
 * fork and exec with everything open, a pool handed to another process, and
 * duplicated descriptors.
 */
#include "../kt.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "life.h"

struct pair {
	struct life_end	a, b;
	uint32_t	sa, sb;
	uint64_t	n;
};

static void pair_open(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	if (life_open(&p->a) || life_open(&p->b) || life_give_all(&p->b) ||
	    life_link(&p->a, &p->b, &p->sa, &p->sb))
		kt_die("a pair");
}

static int pair_pass(struct pair *p)
{
	int err = life_pass(&p->a, p->sa, &p->b, 5000, 0x1000 + p->n++);

	return err ? err : life_pass(&p->a, p->sa, &p->b, 200000, 0x1000 + p->n++);
}

/* What is mapped of this module, in lines of /proc/self/maps. */
static int mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "dmastream-");
	if (f)
		fclose(f);
	return n;
}

/* The mappings are not the child's: a touch is a fault. */
static bool touch_faults(volatile unsigned char *p)
{
	pid_t pid = life_fork();

	if (!pid) {
		*p = 1;
		_exit(0);
	}
	return life_join(pid) == 128 + SIGSEGV;
}

static void child_does(struct pair *p, unsigned int what)
{
	struct dmastream_query q = { 0 };
	unsigned int i;

	switch (what % 4) {
	case 0:		/* leaves at once, all descriptors with it */
		_exit(0);
	case 1:		/* closes all of them itself */
		for (i = 3; i < 256; i++)
			close(i);
		_exit(0);
	case 2:		/* the context is still one of its own too */
		_exit(ioctl(dmastream_fd(p->a.ctx), DMASTREAM_IOC_QUERY, &q) ? 1 : 0);
	default:
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
}

static void forks(unsigned int rounds)
{
	unsigned int i, bad = 0;
	struct pair p;
	int here;

	pair_open(&p);
	here = mapped();
	kt_ok(here >= 8, "%d mappings here", here);
	kt_ok(touch_faults(p.a.base), "a child does not have the pool");
	kt_ok(touch_faults((unsigned char *)p.a.ring->shared), "nor the ring");
	kt_ok(touch_faults((unsigned char *)p.b.small->shared), "nor the group");
	for (i = 0; i < rounds; i++) {
		pid_t pid = life_fork();

		if (!pid)
			child_does(&p, i);
		bad += !!pair_pass(&p);
		bad += !!life_join(pid);
	}
	kt_is(bad, 0, "%u children came and went under traffic", rounds);
	kt_is(mapped(), here, "mappings stay as they are");
	life_close(&p.a);
	life_close(&p.b);
}

/* The parent dies, and its child still has the descriptors: then nothing ends. */
static void orphan_child(void)
{
	int64_t want[LIFE_GAUGES];
	int go[2], gone;
	pid_t pid;
	bool ok;

	if (pipe(go))
		kt_die("pipe");
	pid = life_fork();
	if (!pid) {
		static struct pair p;

		pair_open(&p);
		if (pair_pass(&p))
			_exit(1);
		/* no life_fork(): it must outlive its parent */
		if (!fork()) {
			char c;

			close(go[1]);
			_exit(read(go[0], &c, 1) < 0);
		}
		_exit(0);
	}
	close(go[0]);
	kt_is(life_join(pid), 0, "a process leaves its descriptors to its child");
	life_want(want, 2);
	want[LIFE_STREAMS] = 2;
	want[LIFE_LANDED] = LIFE_ANY;
	ok = life_settle(want, NULL);
	kt_ok(ok, "which keeps the streams alive");
	close(go[1]);
	gone = life_empty(NULL);
	kt_ok(gone, "and ends them when it ends");
}

/* ---- a pool over a socket ---- */

static int fd_send(int sock, int fd)
{
	char c = 'p', ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl, .msg_controllen = sizeof(ctl),
	};
	struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int fd_receive(int sock)
{
	char c, ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl, .msg_controllen = sizeof(ctl),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* Makes a pool, writes into it, hands it over and dies. */
static void creator(int sock)
{
	struct dmastream_pool *pool;
	struct dmastream *ctx;
	char c;

	if (dmastream_open(&ctx, NULL) || dmastream_pool_create(ctx, 1 << 20, -1, &pool))
		_exit(1);
	life_fill(dmastream_pool_base(pool), 1 << 20, 0xfeed);
	if (fd_send(sock, dmastream_pool_fd(pool)))
		_exit(2);
	if (read(sock, &c, 1) != 1)
		_exit(3);
	raise(SIGKILL);
}

/* Sends from @pool's bytes and looks at what arrives. */
static int send_from(struct pair *p, struct dmastream_pool *pool, uint32_t len)
{
	struct dmastream_sqe *sqe = dmastream_get_sqe(p->a.ring);
	struct dmastream_cqe cqe;
	bool right = true;
	uint64_t at = 0;
	int err;

	dmastream_prep_send(sqe, p->sa, dmastream_pool_handle(pool), 0, len, 0xfeed, 1);
	dmastream_submit(p->a.ring);
	do {
		err = life_until(&p->b, DMASTREAM_OP_RECV, &cqe, 60000);
		if (!err)
			life_received(&p->b, &cqe, &at, true, &right);
	} while (!err && (cqe.flags & DMASTREAM_CQE_MORE));
	if (!err)
		err = life_until(&p->a, DMASTREAM_OP_SEND, &cqe, 60000);
	return err ? err : right && cqe.result == (int)len ? 0 : -EBADMSG;
}

static void handed_over(void)
{
	struct dmastream_pool *pool;
	struct pair p;
	int sock[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		kt_die("socketpair");
	pid = life_fork();
	if (!pid)
		creator(sock[1]);
	pair_open(&p);
	fd = fd_receive(sock[0]);
	kt_ok(fd >= 0, "a pool comes over a socket");
	kt_is(dmastream_pool_attach(p.a.ctx, fd, &pool), 0, "attach");
	kt_ok(dmastream_pool_size(pool) == 1 << 20 &&
	      life_check(dmastream_pool_base(pool), 1 << 20, 0, 0xfeed),
	      "it has what its creator wrote");
	kt_is(send_from(&p, pool, 300000), 0, "a message out of it");
	kt_is(write(sock[0], "x", 1), 1, "the creator");
	kt_is(life_join(pid), 128 + SIGKILL, "dies");
	kt_is(send_from(&p, pool, 300000), 0, "and its pool lives");
	kt_ok(life_check(dmastream_pool_base(pool), 1 << 20, 0, 0xfeed), "unchanged");
	dmastream_pool_close(pool);
	kt_is(pair_pass(&p), 0, "the stream goes on without it");
	life_close(&p.a);
	life_close(&p.b);
	close(fd);
	close(sock[0]);
	close(sock[1]);
}

/* ---- duplicates ---- */

static int readable(int ep, int ms)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, ms * kt_scale());
}

static void duplicates(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct dmastream_enter arg = { .min_complete = 1 };
	int twin, ep = epoll_create1(0);
	struct dmastream_cqe cqe;
	struct pair p;

	pair_open(&p);
	twin = dup(dmastream_ring_fd(p.a.ring));
	kt_is(epoll_ctl(ep, EPOLL_CTL_ADD, twin, &ev), 0, "epoll of a duplicate");
	kt_is(readable(ep, 50), 0, "nothing yet");
	life_send(&p.a, p.sa, 100, 1);
	dmastream_submit(p.a.ring);
	kt_is(readable(ep, 5000), 1, "a completion is seen through it");
	kt_is(kt_ioctl(twin, DMASTREAM_IOC_ENTER, &arg), 0, "ENTER through it");
	kt_is(life_cqe(&p.a, &cqe, 0), 0, "reaped");
	kt_is(readable(ep, 50), 0, "nothing left");
	kt_is(epoll_ctl(ep, EPOLL_CTL_DEL, twin, &ev), 0, "no epoll of it any more");
	kt_is(close(twin), 0, "the duplicate is closed");
	kt_is(life_until(&p.b, DMASTREAM_OP_RECV, &cqe, 60000), 0, "which ends nothing");
	life_give(&p.b, cqe.user_data);
	kt_is(pair_pass(&p), 0, "the stream goes on");

	/* the other way round: the library's descriptor goes, the duplicate stays */
	twin = dup(dmastream_ring_fd(p.a.ring));
	kt_is(epoll_ctl(ep, EPOLL_CTL_ADD, twin, &ev), 0, "epoll of another duplicate");
	dmastream_close(p.a.ctx);
	p.a.ctx = NULL;
	kt_is(readable(ep, 5000), 1, "the end of the context is seen through it");
	kt_is(kt_ioctl(twin, DMASTREAM_IOC_ENTER, &arg), -ENODEV, "ENTER says it too");
	kt_is(life_until(&p.b, DMASTREAM_OP_RECV, &cqe, 60000), 0, "the peer is told");
	kt_ok((cqe.flags & DMASTREAM_CQE_EOS) && cqe.result < 0, "with an error: %d", cqe.result);
	close(twin);
	close(ep);
	life_close(&p.a);
	life_close(&p.b);
}

int main(void)
{
	bool ok;

	life_watchdog(200);
	forks(life_count(40, 8));
	orphan_child();
	handed_over();
	duplicates();
	ok = life_empty(NULL);
	kt_ok(ok, "all gauges are 0");
	return kt_end();
}
