// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every allocation and every copy to or from the process fails once: fail-nth 1,
 * 2, ... in each request, until it is through without a failure.  Errors are
 * -ENOMEM or -EFAULT, nothing half-made is there, nothing stays.  The debug
 * kernel has what this needs; elsewhere it is skipped.
 */
#define _GNU_SOURCE
#include "../kt.h"

#include <sys/syscall.h>

#include "life.h"

#define NTH_MAX	400

static int nth_fd;

/* failslab and its like leave sleeping allocations alone unless told. */
static bool armed(void)
{
	static const char * const off[] = {
		"/sys/kernel/debug/failslab/ignore-gfp-wait",
		"/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait",
		"/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem",
	};
	char path[64];
	size_t i;
	int fd;

	for (i = 0; i < KT_ARRAY(off); i++) {
		fd = open(off[i], O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "N", 1) != 1)
			return false;
		close(fd);
	}
	fd = open("/sys/kernel/debug/fail_page_alloc/min-order", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "0", 1) != 1)
		return false;
	close(fd);
	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	nth_fd = open(path, O_RDWR | O_CLOEXEC);
	return nth_fd >= 0;
}

/* The copy of the number may be the one that fails; then nothing is armed. */
static void nth_set(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(nth_fd, text, len, 0) != len && pwrite(nth_fd, text, len, 0) != len)
		kt_die("fail-nth");
}

/* Did it come to the n-th?  Disarms it. */
static bool nth_was(void)
{
	char text[16] = "";

	/* the look itself was the n-th */
	if (pread(nth_fd, text, sizeof(text) - 1, 0) <= 0)
		return false;
	if (!atoi(text))
		return true;
	nth_set(0);
	return false;
}

/* A world in which each request is right. */
static struct life_end e, peer;
static struct dmastream_listener *service;
static struct dmastream_addr self;
static uint32_t tx, rx;

enum call {
	OPEN, POOL, ATTACH, GROUP, RING, POLLED, LISTEN, CONNECT, ACCEPT, SEND, TILE, CLOSE, SHUT, CALLS
};

static const char * const names[CALLS] = {
	"open", "POOL_CREATE", "POOL_ATTACH", "GROUP_CREATE", "RING_CREATE",
	"RING_CREATE with a thread", "LISTEN", "CONNECT", "ACCEPT", "ENTER with a SEND",
	"ENTER with a tile", "CLOSE", "SHUTDOWN"
};

static int made_fd;
static uint32_t made_pool, made_stream;

static int call_make(enum call call, int ctx)
{
	struct dmastream_pool_create pool = { .size = 3 << 20, .numa_node = -1 };
	struct dmastream_pool_attach attach = { .fd = dmastream_pool_fd(e.pool) };
	struct dmastream_group_create group = {
		.pool = dmastream_pool_handle(e.pool), .entries = 64, .buf_len = 100,
	};
	struct dmastream_ring_create ring = {
		.sq_entries = 64, .cq_entries = 64, .cq_recv_min = 8, .indirect_bytes = 4096,
	};
	struct dmastream_listen name = { .service = "failnth2", .backlog = 2 };
	int err;

	switch (call) {
	case POOL:
		err = kt_ioctl(ctx, DMASTREAM_IOC_POOL_CREATE, &pool);
		made_fd = pool.fd;
		made_pool = pool.pool;
		return err;
	case ATTACH:
		err = kt_ioctl(ctx, DMASTREAM_IOC_POOL_ATTACH, &attach);
		made_pool = attach.pool;
		return err;
	case GROUP:
		err = kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &group);
		made_fd = group.fd;
		return err;
	case POLLED:
		ring.flags = DMASTREAM_RING_POLL;
		/* fall through */
	case RING:
		err = kt_ioctl(ctx, DMASTREAM_IOC_RING_CREATE, &ring);
		made_fd = ring.fd;
		return err;
	default:
		err = kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &name);
		made_fd = name.fd;
		return err;
	}
}

static int call_stream(enum call call, int ctx)
{
	struct dmastream_connect conn = {
		.peer = self, .service = "failnth", .timeout_ms = 60000, .opts = life_opts(&e, 1),
	};
	struct dmastream_accept acc = {
		.listener = dmastream_listener_handle(service), .timeout_ms = 60000,
		.opts = life_opts(&peer, 2),
	};
	struct dmastream_close close_arg = {
		.type = DMASTREAM_OBJ_STREAM, .handle = tx, .timeout_ms = 60000,
	};
	struct dmastream_enter enter = { .to_submit = 1 };
	struct dmastream_shutdown shut = { .stream = tx };
	int err;

	switch (call) {
	case CONNECT:
		err = kt_ioctl(ctx, DMASTREAM_IOC_CONNECT, &conn);
		made_stream = conn.stream;
		return err;
	case ACCEPT:
		err = kt_ioctl(dmastream_fd(peer.ctx), DMASTREAM_IOC_ACCEPT, &acc);
		rx = acc.stream;
		return err;
	case SEND:
	case TILE:
		return kt_ioctl(dmastream_ring_fd(e.ring), DMASTREAM_IOC_ENTER, &enter);
	case CLOSE:
		return kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &close_arg);
	default:
		return kt_ioctl(ctx, DMASTREAM_IOC_SHUTDOWN, &shut);
	}
}

static bool is_send(enum call call)
{
	return call == SEND || call == TILE;
}

/* Of 20,000 bytes, as a tile in rows that need keys of their own; what they are nobody looks at. */
static void prepare_send(enum call call)
{
	struct dmastream_tile tile = {
		.off = LIFE_SLOT_AT, .rows = 20, .row_bytes = 1000, .pitch = 1500,
	};

	if (call == SEND)
		life_send(&e, tx, 20000, 7);
	else
		dmastream_prep_send_tile(e.ring, dmastream_get_sqe(e.ring), tx,
					 dmastream_pool_handle(e.pool), &tile, 7, 7);
	/* published, for the ENTER that follows */
	__atomic_store_n(&e.ring->shared->sq_tail, e.ring->sq_next, __ATOMIC_RELEASE);
}

/* What has to be there before the request. */
static void before(enum call call)
{
	made_fd = -1;
	made_pool = 0;
	made_stream = 0;
	if (call == ACCEPT || is_send(call) || call == CLOSE || call == SHUT) {
		if (life_connect(&e, &self, "failnth", &tx))
			kt_die("a stream");
	}
	if (is_send(call) || call == CLOSE || call == SHUT) {
		struct dmastream_stream_opts opts = life_opts(&peer, 2);

		if (dmastream_accept(service, &opts, 60000, &rx, NULL))
			kt_die("the other end");
	}
	if (is_send(call))
		prepare_send(call);
}

static void reap(struct life_end *end)
{
	struct dmastream_cqe cqe;

	while (dmastream_cq_ready(end->ring)) {
		life_cqe(end, &cqe, 0);
		if (DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_RECV &&
		    !(cqe.flags & DMASTREAM_CQE_NOBUF))
			life_give(end, cqe.user_data);
	}
}

/* And what is to be taken away after it. */
static void after(enum call call, int err)
{
	struct dmastream_close pool = { .type = DMASTREAM_OBJ_POOL, .handle = made_pool };
	struct dmastream_stream_opts opts = life_opts(&peer, 2);
	struct dmastream_cqe cqe;

	if (!err && made_fd >= 0)
		close(made_fd);
	if (!err && made_pool)
		ioctl(dmastream_fd(e.ctx), DMASTREAM_IOC_CLOSE, &pool);
	if (is_send(call)) {
		if (dmastream_sq_pending(e.ring))
			dmastream_submit(e.ring);
		if (life_until(&e, DMASTREAM_OP_SEND, &cqe, 60000) || cqe.result != 20000)
			kt_ok(false, "a SEND after a failure: %d", cqe.result);
	}
	if (call == CONNECT && !err)
		tx = made_stream;
	if (tx)
		dmastream_stream_close(e.ctx, tx, DMASTREAM_CLOSE_ABORT, 60000);
	if (rx)
		dmastream_stream_close(peer.ctx, rx, DMASTREAM_CLOSE_ABORT, 60000);
	/* connections that were given up, or that an ACCEPT lost */
	while (!dmastream_accept(service, &opts, 0, &rx, NULL))
		dmastream_stream_close(peer.ctx, rx, DMASTREAM_CLOSE_ABORT, 60000);
	tx = 0;
	rx = 0;
	reap(&e);
	reap(&peer);
}

static int do_call(enum call call)
{
	int fd;

	if (call == OPEN) {
		fd = open(DMASTREAM_DEVICE, O_RDWR | O_CLOEXEC);
		made_fd = fd;
		return fd < 0 ? -errno : 0;
	}
	return call < CONNECT ? call_make(call, dmastream_fd(e.ctx)) :
				call_stream(call, dmastream_fd(e.ctx));
}

static bool expected(int err)
{
	/* EBADF: CLOSE took the handle, as it says, whatever it returns */
	return !err || err == -ENOMEM || err == -EFAULT || err == -EAGAIN || err == -ENFILE ||
	       err == -EMFILE || err == -ECONNRESET;
}

static void walk(enum call call)
{
	unsigned int n, failures = 0, bad = 0, fds = kt_nr_fds();
	int64_t want[LIFE_GAUGES];
	bool was = true;
	int err;

	for (n = 1; n < NTH_MAX && was && bad < 3; n++) {
		before(call);
		nth_set(n);
		err = do_call(call);
		was = nth_was();
		failures += was && err;
		if (!expected(err) || (!was && err) || (err && made_fd > 0 && call != OPEN)) {
			printf("# %s, failure %u: %d, fd %d\n", names[call], n, err, made_fd);
			bad++;
		}
		after(call, err);
		if (kt_nr_fds() != (int)fds) {
			printf("# %s, failure %u: a descriptor is left\n", names[call], n);
			fds = kt_nr_fds();
			bad++;
		}
	}
	life_want(want, 2);
	want[LIFE_LISTENERS] = 1;
	want[LIFE_LANDED] = LIFE_ANY;
	was = life_settle(want, NULL);
	kt_ok(!bad && was && n < NTH_MAX, "%s: %u failures in %u places%s", names[call], failures,
	      n - 2, was ? "" : ", SOMETHING STAYS");
}

int main(void)
{
	enum call call;
	bool ok;

	life_watchdog(300);
	if (!armed()) {
		kt_skip("this kernel injects no failures");
		printf("0 passed, 0 failed, 1 skipped\n");
		return 4;
	}
	nth_set(0);
	self = life_self();
	if (life_open(&e) || life_open(&peer) || life_give_all(&peer) || life_give_all(&e) ||
	    dmastream_listen(peer.ctx, "failnth", 16, 0, &service))
		kt_die("open");
	for (call = 0; call < CALLS; call++)
		walk(call);
	dmastream_listener_close(service);
	life_close(&e);
	life_close(&peer);
	ok = life_empty(NULL);
	kt_ok(ok, "all gauges are 0");
	return kt_end();
}
