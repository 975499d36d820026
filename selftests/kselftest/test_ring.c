// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings with NOP alone: each accepted submission completes once, slots of the
 * completion queue, what a submission may say, waits and polls, and a process
 * that writes nonsense into the shared memory (cases 11, 15 and 26 of the list
 * of what others suffered).
 */
#include "kt.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

static int ctx;

static void make(struct kt_ring *r, uint32_t sq, uint32_t cq, uint32_t recv_min)
{
	if (kt_ring(ctx, r, sq, cq, recv_min, 4096))
		kt_die("RING_CREATE");
}

static void test_layout(void)
{
	struct kt_ring r;

	make(&r, 16, 32, 4);
	kt_ok(r.arg.sqes_off >= sizeof(*r.sh) &&
	      r.arg.cqes_off >= r.arg.sqes_off + 16 * sizeof(struct dmastream_sqe) &&
	      r.arg.indirect_off >= r.arg.cqes_off + 32 * sizeof(struct dmastream_cqe) &&
	      r.arg.map_size >= r.arg.indirect_off + 4096, "the parts do not overlap");
	kt_ok(!(r.arg.sqes_off % 64) && !(r.arg.cqes_off % 32) && !(r.arg.indirect_off % 8) &&
	      !(r.arg.map_size % sysconf(_SC_PAGESIZE)), "the parts are aligned");
	kt_ok(!r.sh->sq_tail && !r.sh->sq_head && !r.sh->cq_tail && !r.sh->cq_head &&
	      r.sh->flags == DMASTREAM_RING_SQ_KICK, "a new ring is empty and wants ENTER");
	kt_ring_close(&r);
}

static void test_nop(void)
{
	struct dmastream_cqe cqe;
	struct kt_ring r;
	int wr = 1;

	make(&r, 8, 8, 1);
	kt_is(kt_enter(&r, 0, 0, 0, &wr), 0, "ENTER that asks for nothing");
	kt_is(kt_enter(&r, 5, 0, 0, &wr), 0, "ENTER with nothing to submit");
	kt_push_nop(&r, 0x1234567890abcdef);
	kt_is(kt_enter(&r, 1, 1, 0, &wr), 1, "one NOP");
	kt_is(wr, 0, "its wait");
	kt_ok(kt_reap(&r, &cqe) && cqe.user_data == 0x1234567890abcdef && !cqe.result &&
	      cqe.flags == DMASTREAM_OP_NOP << DMASTREAM_CQE_OP_SHIFT && !cqe.stream &&
	      !cqe.seq && !cqe.tag, "its completion");
	kt_push(&r, &(struct dmastream_sqe) { .flags = DMASTREAM_SQE_SILENT, .user_data = 7 });
	kt_is(kt_enter(&r, 1, 0, 0, NULL), 1, "a silent NOP");
	kt_ok(!kt_ready(&r), "has no completion");
	kt_is(kt_fdinfo(r.arg.fd, "cq-reserved"), 0, "and keeps no slot");
	kt_is(kt_fdinfo(r.arg.fd, "requests"), 0, "nor a request");
	kt_ring_close(&r);
}

/* Never reap, submit until EAGAIN, reap; what comes out is what was accepted. */
static void test_full(void)
{
	unsigned int rounds = kt_quick() ? 300 : 10000, i, bad = 0;
	uint64_t next = 1, want = 1;
	struct dmastream_cqe cqe;
	struct kt_ring r;
	int got;

	make(&r, 4, 8, 1);
	for (i = 0; i < rounds; i++) {
		unsigned int accepted = 0, reaped = 0;
		uint32_t head;

		do {
			while (r.sh->sq_tail - r.sh->sq_head < 4)
				kt_push_nop(&r, next++);
			head = r.sh->sq_head;
			got = kt_enter(&r, 4, 0, 0, NULL);
			if (got > 0)
				accepted += got;
			else
				bad += got != -EAGAIN || r.sh->sq_head != head;
		} while (got > 0);
		bad += accepted != 7;
		while (kt_reap(&r, &cqe)) {
			bad += cqe.user_data != want++ || cqe.result;
			reaped++;
		}
		bad += reaped != accepted;
	}
	kt_is(bad, 0, "%u times full and empty: accepted is completed, once and in order", rounds);
	kt_ring_close(&r);
}

static void test_slots(void)
{
	struct dmastream_cqe cqe;
	struct kt_ring r;
	int i;

	make(&r, 16, 16, 12);
	for (i = 0; i < 16; i++)
		kt_push_nop(&r, i);
	kt_is(kt_enter(&r, 16, 0, 0, NULL), 4, "submissions do not take the slots of receives");
	kt_is(kt_enter(&r, 12, 0, 0, NULL), -EAGAIN, "none is left: EAGAIN");
	kt_is(kt_enter(&r, 12, 1, 0, NULL), -EAGAIN, "also with a wait: nothing was done");
	kt_reap(&r, &cqe);
	kt_is(kt_enter(&r, 12, 0, 0, NULL), 1, "one reaped, one accepted");
	kt_ring_close(&r);

	make(&r, 8, 2, 1);
	kt_push_nop(&r, 1);
	kt_push_nop(&r, 2);
	kt_is(kt_enter(&r, 2, 0, 0, NULL), 1, "the smallest ring has one slot");
	kt_ring_close(&r);
}

/* ---- bad submissions ---- */

static const struct bad_sqe {
	const char		*what;
	struct dmastream_sqe	sqe;
	int			want;
} bad_sqes[] = {
	{ "NOP with a stream", { .stream = 1 }, -EINVAL },
	{ "NOP with a pool", { .pool = 1 }, -EINVAL },
	{ "NOP with a length", { .len = 1 }, -EINVAL },
	{ "NOP with an offset", { .off = 1 }, -EINVAL },
	{ "NOP with a tag", { .tag = 1 }, -EINVAL },
	{ "NOP with reserved0", { .reserved0 = 0x8000 }, -EINVAL },
	{ "NOP with reserved[0]", { .reserved = { 1, 0, 0 } }, -EINVAL },
	{ "NOP with reserved[2]", { .reserved = { 0, 0, 1ULL << 63 } }, -EINVAL },
	{ "NOP of a vector", { .flags = DMASTREAM_SQE_VEC }, -EINVAL },
	{ "NOP that is split", { .flags = DMASTREAM_SQE_SPLIT }, -EINVAL },
	{ "an operation that is for completions", { .op = DMASTREAM_OP_ACCEPT }, -EINVAL },
	{ "an unknown operation", { .op = 6 }, -EINVAL },
	{ "the last operation", { .op = 255 }, -EINVAL },
	{ "silent and bad", { .op = 255, .flags = DMASTREAM_SQE_SILENT }, -EINVAL },
	{ "SEND to no stream", { .op = DMASTREAM_OP_SEND }, -EBADF },
	{ "SEND to stream 1", { .op = DMASTREAM_OP_SEND, .stream = 1, .len = 1, .pool = 1 },
		-EBADF },
	{ "SEND to stream 2^32-1", { .op = DMASTREAM_OP_SEND, .stream = 0xffffffff }, -EBADF },
	{ "NOP of a tile", { .flags = DMASTREAM_SQE_TILE }, -EINVAL },
	{ "SEND, unknown flag", { .op = DMASTREAM_OP_SEND, .flags = 16 }, -EINVAL },
	{ "SEND of a vector and a tile", { .op = DMASTREAM_OP_SEND, .stream = 1, .len = 1,
		.flags = DMASTREAM_SQE_VEC | DMASTREAM_SQE_TILE }, -EINVAL },
	{ "SEND of a tile to stream 1", { .op = DMASTREAM_OP_SEND, .stream = 1, .len = 1,
		.flags = DMASTREAM_SQE_TILE }, -EBADF },
	{ "RECV of a tile for stream 1", { .op = DMASTREAM_OP_RECV, .stream = 1, .len = 1,
		.flags = DMASTREAM_SQE_TILE }, -EBADF },
	{ "SEND, last flag", { .op = DMASTREAM_OP_SEND, .flags = 128 }, -EINVAL },
	{ "SEND, silent and split", { .op = DMASTREAM_OP_SEND,
		.flags = DMASTREAM_SQE_SILENT | DMASTREAM_SQE_SPLIT }, -EINVAL },
	{ "RECV with a tag", { .op = DMASTREAM_OP_RECV, .stream = 1, .len = 1, .tag = 1 },
		-EINVAL },
	{ "RECV that is silent", { .op = DMASTREAM_OP_RECV, .stream = 1, .len = 1,
		.flags = DMASTREAM_SQE_SILENT }, -EINVAL },
	{ "RECV of a vector", { .op = DMASTREAM_OP_RECV, .stream = 1, .len = 1,
		.flags = DMASTREAM_SQE_VEC }, -EINVAL },
	{ "RECV of nothing", { .op = DMASTREAM_OP_RECV, .stream = 1 }, -EINVAL },
	{ "RECV for no stream", { .op = DMASTREAM_OP_RECV, .stream = 1, .len = 1, .pool = 1 },
		-EBADF },
};

static void test_bad_sqes(void)
{
	struct dmastream_cqe cqe;
	struct kt_ring r;
	unsigned int i;
	bool ok;

	make(&r, 8, 8, 1);
	for (i = 0; i < KT_ARRAY(bad_sqes); i++) {
		struct dmastream_sqe sqe = bad_sqes[i].sqe;

		sqe.user_data = i + 100;
		kt_push(&r, &sqe);
		ok = kt_enter(&r, 1, 1, 0, NULL) == 1 && kt_reap(&r, &cqe) &&
		     cqe.user_data == i + 100 && cqe.stream == sqe.stream &&
		     DMASTREAM_CQE_OP(cqe.flags) == sqe.op;
		if (!ok)
			cqe.result = 1;
		kt_is(cqe.result, bad_sqes[i].want, "%s", bad_sqes[i].what);
	}
	kt_ok(!kt_ready(&r) && !kt_fdinfo(r.arg.fd, "cq-reserved"),
	      "bad ones complete once and keep nothing");
	for (i = 0; i < 4; i++)
		kt_push(&r, &(struct dmastream_sqe) { .op = i % 2 ? 99 : 0, .user_data = i });
	kt_is(kt_enter(&r, 4, 4, 0, NULL), 4, "bad ones do not stop good ones");
	kt_ring_close(&r);
	/* split needs two slots: where they never fit it is refused, not kept for ever */
	make(&r, 8, 2, 1);
	kt_push(&r, &(struct dmastream_sqe) { .op = DMASTREAM_OP_SEND, .stream = 1,
					      .flags = DMASTREAM_SQE_SPLIT });
	kt_is(kt_enter(&r, 1, 0, 0, NULL), 1, "a split SEND on a ring of 2 is consumed");
	kt_ok(kt_reap(&r, &cqe) && cqe.result == -EINVAL, "and refused");
	kt_ring_close(&r);
}

/* ---- waits ---- */

static void test_deadline(void)
{
	uint64_t begin, took;
	struct kt_ring r;
	int wr = 0;

	make(&r, 8, 8, 1);
	begin = kt_now_ns();
	kt_is(kt_enter(&r, 0, 1, begin + 50000000, &wr), 0, "a wait with a deadline");
	took = kt_now_ns() - begin;
	kt_is(wr, -ETIME, "ends with ETIME");
	kt_ok(took >= 50000000 && took < 50000000 + 1000000000 * kt_scale(),
	      "not before its time, and soon after");
	kt_is(kt_enter(&r, 0, 1, 1, &wr), 0, "a deadline in the past");
	kt_is(wr, -ETIME, "ends at once");
	kt_push_nop(&r, 1);
	kt_is(kt_enter(&r, 1, 1, 1, &wr), 1, "a deadline in the past, and a completion");
	kt_is(wr, 0, "is no ETIME");
	kt_is(kt_enter(&r, 0, 9, 1, &wr), -EINVAL, "more completions than there can be");
	kt_is(kt_enter(&r, 0, 0xffffffff, 1, &wr), -EINVAL, "2^32-1 completions");
	kt_is(kt_enter(&r, 0, 1, 0xffffffffffffffff, &wr), 0, "an endless deadline");
	kt_ring_close(&r);
}

struct late {
	struct kt_ring	*r;
	unsigned int	n, pause_ms;
};

static void *late_nops(void *p)
{
	struct late *l = p;
	unsigned int i;

	for (i = 0; i < l->n; i++) {
		kt_sleep_ms(l->pause_ms);
		kt_push_nop(l->r, i);
		kt_enter(l->r, 1, 0, 0, NULL);
	}
	return NULL;
}

static void test_wake(void)
{
	struct late l = { .n = 3, .pause_ms = 30 };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	struct pollfd pfd = { .events = POLLIN | POLLOUT };
	struct dmastream_cqe cqe;
	struct kt_ring r;
	pthread_t t;
	int wr = 1, ep;

	make(&r, 8, 8, 1);
	l.r = &r;
	pfd.fd = r.arg.fd;
	kt_is(poll(&pfd, 1, 0), 1, "poll of an empty ring");
	kt_is(pfd.revents, POLLOUT, "it can be submitted to");
	pthread_create(&t, NULL, late_nops, &l);
	kt_is(kt_enter(&r, 0, 3, 0, &wr), 0, "a wait for three");
	kt_is(wr, 0, "that another thread submits");
	kt_ok(kt_ready(&r) == 3, "three are there");
	pthread_join(t, NULL);
	kt_is(poll(&pfd, 1, 0), 1, "poll of a ring with completions");
	kt_is(pfd.revents, POLLIN | POLLOUT, "it can be reaped");
	while (kt_reap(&r, &cqe))
		;
	pfd.events = POLLIN;
	kt_is(poll(&pfd, 1, 0), 0, "reaped: not readable");
	ep = epoll_create1(0);
	epoll_ctl(ep, EPOLL_CTL_ADD, r.arg.fd, &ev);
	pthread_create(&t, NULL, late_nops, &l);
	kt_is(epoll_wait(ep, &ev, 1, 5000 * kt_scale()), 1, "edge-triggered epoll wakes");
	pthread_join(t, NULL);
	close(ep);
	kt_ring_close(&r);
}

/* A producer and a consumer that sleeps in poll each time: none sleeps for ever. */
static void *producer(void *p)
{
	struct late *l = p;
	unsigned int i;

	for (i = 0; i < l->n; i++) {
		while (l->r->sh->sq_tail - __atomic_load_n(&l->r->sh->sq_head, __ATOMIC_ACQUIRE) >=
		       l->r->arg.sq_entries)
			kt_enter(l->r, 8, 0, 0, NULL);
		kt_push_nop(l->r, i);
		kt_enter(l->r, 1, 0, 0, NULL);
	}
	while (l->r->sh->sq_tail != __atomic_load_n(&l->r->sh->sq_head, __ATOMIC_ACQUIRE))
		kt_enter(l->r, 8, 0, 0, NULL);
	return NULL;
}

static void test_no_lost_wakeup(bool by_poll)
{
	struct late l = { .n = kt_quick() ? 2000 : 20000 };
	unsigned int seen = 0, bad = 0;
	struct dmastream_cqe cqe;
	struct pollfd pfd = { .events = POLLIN };
	struct kt_ring r;
	pthread_t t;

	make(&r, 4, 4, 1);
	l.r = &r;
	pfd.fd = r.arg.fd;
	pthread_create(&t, NULL, producer, &l);
	while (seen < l.n && !bad) {
		if (by_poll) {
			bad += poll(&pfd, 1, 20000 * kt_scale()) != 1;
		} else {
			int wr = 1;

			kt_enter(&r, 0, 1, kt_now_ns() + 20000000000ULL * kt_scale(), &wr);
			bad += wr;
		}
		while (kt_reap(&r, &cqe))
			bad += cqe.user_data != seen++;
	}
	kt_ok(!bad && seen == l.n, "%u completions, asleep for each in %s: none is missed", l.n,
	      by_poll ? "poll" : "ENTER");
	if (bad)
		exit(kt_end());		/* the producer would never end */
	pthread_join(t, NULL);
	kt_ring_close(&r);
}

/* ---- signals ---- */

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signals(void)
{
	unsigned int n = kt_quick() ? 100 : 1000, i, bad = 0, ended = 0;
	struct itimerval it = { 0 };
	struct dmastream_cqe cqe;
	struct sigaction sa = { .sa_handler = on_alarm };
	struct kt_ring r;

	make(&r, 8, 8, 1);
	sigaction(SIGALRM, &sa, NULL);
	srandom(1);
	for (i = 0; i < n; i++) {
		int wr = 0, got;

		/* again and again: the first may come before the wait has begun */
		it.it_value.tv_usec = 1 + random() % 2000;
		it.it_interval.tv_usec = 2000;
		setitimer(ITIMER_REAL, &it, NULL);
		got = kt_enter(&r, 0, 1, kt_now_ns() + 20000000000ULL * kt_scale(), &wr);
		/* before the wait, in ENTER itself, it may be the call that ends */
		bad += got == 0 ? wr != -EINTR : got != -EINTR;
		ended++;
		kt_push_nop(&r, i);
		memset(&it, 0, sizeof(it));
		setitimer(ITIMER_REAL, &it, NULL);
		got = kt_enter(&r, 1, 1, 0, &wr);
		bad += got != 1 || !kt_reap(&r, &cqe) || cqe.user_data != i;
	}
	kt_is(bad, 0, "%u signals in waits: the next operation works", ended);
	kt_ring_close(&r);
}

static void test_kill(void)
{
	unsigned int n = kt_quick() ? 20 : 200, i;
	uint64_t used = kt_quota_settled(ctx);

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct kt_ring r;

			ctx = kt_open();
			make(&r, 8, 8, 1);
			for (;;)
				kt_enter(&r, 0, 1, 0, NULL);
		}
		usleep(random() % 3000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	kt_ok(kt_quota_comes_to(ctx, used), "%u processes killed in a wait: nothing is left", n);
}

/* ---- the end of a ring ---- */

static void test_dead(void)
{
	struct pollfd pfd = { .events = POLLIN };
	struct kt_ring r;
	int other, wr = 0;
	uint64_t used = kt_quota_settled(ctx);

	other = ctx;
	ctx = kt_open();
	make(&r, 8, 8, 1);
	kt_push_nop(&r, 1);
	close(ctx);
	ctx = other;
	pfd.fd = r.arg.fd;
	kt_ok(r.sh->flags & DMASTREAM_RING_DEAD, "the context ended: DEAD is set");
	kt_is(kt_enter(&r, 1, 1, 0, &wr), -ENODEV, "ENTER of a dead ring");
	kt_is(poll(&pfd, 1, 0), 1, "poll of a dead ring");
	kt_ok((pfd.revents & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP), "says error and hang-up");
	close(r.arg.fd);
	kt_ok(!r.sh->cq_tail, "closed too: the mapping is still there");
	munmap(r.map, r.arg.map_size);
	kt_ok(kt_quota_comes_to(ctx, used), "and unmapped: nothing is left");
}

static void *close_ctx(void *p)
{
	kt_sleep_ms(50);
	close(*(int *)p);
	return NULL;
}

static void test_dead_wakes(void)
{
	int mine = ctx, other = kt_open(), wr = 0;
	struct kt_ring r;
	pthread_t t;

	ctx = other;
	make(&r, 8, 8, 1);
	ctx = mine;
	pthread_create(&t, NULL, close_ctx, &other);
	kt_is(kt_enter(&r, 0, 1, kt_now_ns() + 20000000000ULL * kt_scale(), &wr), 0,
	      "a wait while the context ends");
	kt_is(wr, -ENODEV, "is told so");
	pthread_join(t, NULL);
	kt_ring_close(&r);
}

/* ---- a process that writes nonsense ---- */

static void test_indices(void)
{
	static const uint32_t far[] = { 9, 100, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	struct dmastream_cqe cqe;
	struct kt_ring r;
	unsigned int i, bad = 0;

	make(&r, 8, 8, 1);
	for (i = 0; i < KT_ARRAY(far); i++) {
		r.sh->sq_tail = far[i];
		bad += kt_enter(&r, 8, 0, 0, NULL) != -EINVAL;
		bad += r.sh->sq_head != 0;
	}
	kt_is(bad, 0, "a tail past the ring, or before the head, is EINVAL");
	r.sh->sq_tail = 8;
	kt_is(kt_enter(&r, 0xffffffff, 0, 0, NULL), 7, "a tail at the end of the ring is fine");
	while (kt_reap(&r, &cqe))
		;
	/* the last two are not: completions that were reaped are there again */
	for (bad = i = 0; i < KT_ARRAY(far) - 2; i++) {
		r.sh->cq_head = r.sh->cq_tail + far[i];
		bad += kt_enter(&r, 1, 0, 0, NULL) != -EAGAIN;
	}
	kt_is(bad, 0, "a head past the tail is a full queue");
	r.sh->cq_head = r.sh->cq_tail;
	kt_is(kt_enter(&r, 1, 1, 0, NULL), 1, "and when it is right again it works again");
	r.sh->cq_tail += 1000;
	r.sh->sq_head += 77;
	r.sh->flags = 0xffffffff;
	kt_push_nop(&r, 5);
	r.sh->sq_tail = 9;
	r.sh->cq_head = 8;
	kt_is(kt_enter(&r, 1, 1, 0, NULL), 1, "what the kernel wrote is not read back");
	kt_ok(r.sh->sq_head == 9 && r.sh->cq_tail == 9, "and is right after its next step");
	kt_ring_close(&r);
}

static volatile bool stop;

static void *scribble(void *p)
{
	struct kt_ring *r = p;
	unsigned int seed = 7;
	uint32_t *w = (uint32_t *)r->map;

	while (!stop)
		w[rand_r(&seed) % (r->arg.map_size / 4)] =
			(uint32_t)rand_r(&seed) % (rand_r(&seed) % 3 ? 16 : UINT32_MAX);
	return NULL;
}

static void test_scribble(void)
{
	uint64_t end, longest = 0;
	unsigned int calls = 0, bad = 0;
	struct kt_ring r;
	pthread_t t;

	make(&r, 64, 64, 1);
	pthread_create(&t, NULL, scribble, &r);
	end = kt_now_ns() + (kt_quick() ? 2 : 5) * 1000000000ULL;
	while (kt_now_ns() < end) {
		uint64_t begin = kt_now_ns();
		int got = kt_enter(&r, 64, calls % 3, begin + 1000000, NULL);

		if (kt_now_ns() - begin > longest)
			longest = kt_now_ns() - begin;
		bad += got > 64 || (got < 0 && got != -EINVAL && got != -EAGAIN);
		calls++;
	}
	stop = true;
	pthread_join(t, NULL);
	kt_ok(!bad && calls, "%u calls while another thread scribbles: a bounded batch or an error",
	      calls);
	kt_ok(longest < 5000000000ULL * kt_scale(), "no call lasts");
	kt_ring_close(&r);
}

/* ---- many rings ---- */

static void test_many(void)
{
	struct dmastream_query q = { 0 };
	uint64_t used = kt_quota_settled(ctx);
	struct dmastream_ring_create a;
	unsigned int i, n = 200, bad = 0;
	int fd[200];

	kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q);
	for (i = 0; i < n; i++) {
		a = (struct dmastream_ring_create) {
			.sq_entries = 2, .cq_entries = 2, .cq_recv_min = 1
		};
		bad += kt_ioctl(ctx, DMASTREAM_IOC_RING_CREATE, &a) != 0;
		fd[i] = a.fd;
	}
	kt_is(bad, 0, "%u rings of one context", n);
	kt_ok(kt_fdinfo(ctx, "rings") == n, "each has a handle");
	for (i = 0; i < n; i++)
		close(fd[i]);
	kt_is(kt_fdinfo(ctx, "rings"), 0, "closed: none has");
	kt_ok(kt_quota_comes_to(ctx, used), "closed: nothing is left");
}

int main(void)
{
	ctx = kt_open();
	KT_RUN(test_layout());
	KT_RUN(test_nop());
	KT_RUN(test_full());
	KT_RUN(test_slots());
	KT_RUN(test_bad_sqes());
	KT_RUN(test_deadline());
	KT_RUN(test_wake());
	KT_RUN(test_no_lost_wakeup(true));
	KT_RUN(test_no_lost_wakeup(false));
	KT_RUN(test_signals());
	KT_RUN(test_kill());
	KT_RUN(test_dead());
	KT_RUN(test_dead_wakes());
	KT_RUN(test_indices());
	KT_RUN(test_scribble());
	KT_RUN(test_many());
	return kt_end();
}
