// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The calls and the inline hot path, against a kernel that is faked in memory.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dmastream.h>

#include "fakekernel.h"
#include "internal.h"
#include "libtest.h"

static struct dmastream *ctx_open(void)
{
	struct dmastream *ctx = NULL;

	fake_reset();
	CHECK_EQ(dmastream_open(&ctx, "/dev/null"), 0);
	return ctx;
}

/* A kernel that knows less, one that knows more, and one of another kind. */
static void versions(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_query query;

	CHECK_EQ(dmastream_limits(ctx)->max_vec, DMASTREAM_VEC_MAX);
	fake.query_size = offsetof(struct dmastream_query, max_vec);
	memset(&query, 0xff, sizeof(query));
	CHECK_EQ(dmastream_query(ctx, &query), 0);
	CHECK_EQ(query.max_indirect_bytes, 1 << 20);
	CHECK_EQ(query.max_vec, 0);
	fake.fail = ENODEV;
	CHECK_EQ(dmastream_query(ctx, &query), -ENODEV);
	dmastream_close(ctx);

	fake.query.abi_version = DMASTREAM_ABI_VERSION + 1;
	CHECK_EQ(dmastream_open(&ctx, "/dev/null"), -EPROTONOSUPPORT);
	CHECK(!ctx);
	CHECK_EQ(dmastream_open(&ctx, "/nonexistent"), -ENOENT);
	dmastream_close(NULL);
}

/* An old kernel has no vectors: the ring works without an indirect area. */
static void ring_without_vectors(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_vec vec = { .off = 0, .len = 1 };
	struct dmastream_tile tile = { .rows = 1, .row_bytes = 1 };
	struct dmastream_ring *ring;
	struct dmastream_sqe *sqe;

	dmastream_close(ctx);
	fake.query.max_vec = 0;
	CHECK_EQ(dmastream_open(&ctx, "/dev/null"), 0);
	CHECK_EQ(dmastream_ring_create(ctx, 4, 8, 0, &ring), 0);
	CHECK_EQ(fake.ring_arg.indirect_bytes, 0);
	CHECK_EQ(fake.ring_arg.cq_recv_min, 2);
	sqe = dmastream_get_sqe(ring);
	dmastream_prep_send_vec(ring, sqe, 1, 2, &vec, 1, 3, 4);
	CHECK_EQ(sqe->len, 1);	/* for the kernel to refuse */
	sqe = dmastream_get_sqe(ring);
	dmastream_prep_send_tile(ring, sqe, 1, 2, &tile, 3, 4);
	CHECK_EQ(sqe->flags, DMASTREAM_SQE_TILE);	/* likewise */
	dmastream_ring_close(ring);
	dmastream_close(ctx);
}

static void pools(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_pool *pool, *again;
	long page = sysconf(_SC_PAGESIZE);
	char *base;

	CHECK_EQ(dmastream_pool_create(ctx, 0, -1, &pool), -EINVAL);
	CHECK_EQ(dmastream_pool_create(ctx, UINT64_MAX, -1, &pool), -EINVAL);
	CHECK_EQ(dmastream_pool_create(ctx, 3 * page + 1, -1, &pool), 0);
	CHECK_EQ(dmastream_pool_size(pool), 4 * page);
	CHECK_EQ(dmastream_pool_handle(pool), 10);
	base = dmastream_pool_base(pool);
	CHECK(dmastream_pool_ptr(pool, page) == base + page);
	CHECK(!dmastream_pool_ptr(pool, 4 * page));
	CHECK_EQ(dmastream_pool_off(pool, base + 5), 5);
	CHECK_EQ(dmastream_pool_off(pool, base + 4 * page), -EINVAL);
	CHECK_EQ(dmastream_pool_off(pool, base - 1), -EINVAL);
	strcpy(base, "shared");
	CHECK_EQ(dmastream_pool_attach(ctx, dmastream_pool_fd(pool), &again), 0);
	CHECK(dmastream_pool_fd(again) != dmastream_pool_fd(pool));
	CHECK(!strcmp(dmastream_pool_base(again), "shared"));
	CHECK_EQ(dmastream_pool_close(again), 0);
	CHECK_EQ(fake.close.type, DMASTREAM_OBJ_POOL);
	CHECK_EQ(fake.close.handle, 13);
	CHECK_EQ(dmastream_pool_attach(ctx, -1, &again), -EBADF);
	CHECK_EQ(dmastream_pool_close(pool), 0);
	/* a large one begins at a multiple of 2 MiB, and gives back the room behind it */
	CHECK_EQ(dmastream_pool_create(ctx, (5 << 20) + 4096, -1, &pool), 0);
	base = dmastream_pool_base(pool);
	CHECK_EQ((uintptr_t)base % (2 << 20), 0);
	base[(5 << 20) + 4095] = 1;
	CHECK_EQ(msync(base + (5 << 20) + 4096, 4096, MS_ASYNC), -1);
	CHECK_EQ(dmastream_pool_close(pool), 0);
	fake.fail = EDQUOT;
	CHECK_EQ(dmastream_pool_create(ctx, 4096, 0, &pool), -EDQUOT);
	CHECK(!pool);
	dmastream_close(ctx);
}

static void nic_node(void)
{
	char dir[] = "/tmp/nic_nodeXXXXXX", cmd[512];
	int node = 5;

	CHECK(mkdtemp(dir));
	CHECK_EQ(dmastream__nic_node("/nonexistent", NULL, &node), -ENODEV);
	CHECK_EQ(node, -1);
	CHECK_EQ(dmastream__nic_node(dir, NULL, &node), -ENODEV);
	snprintf(cmd, sizeof(cmd), "cd %s && mkdir -p a/device && echo 3 >a/device/numa_node", dir);
	CHECK_EQ(system(cmd), 0);
	CHECK_EQ(dmastream__nic_node(dir, NULL, &node), 0);
	CHECK_EQ(node, 3);
	snprintf(cmd, sizeof(cmd), "cd %s && mkdir -p b/device c && echo -1 >b/device/numa_node",
		 dir);
	CHECK_EQ(system(cmd), 0);
	CHECK_EQ(dmastream__nic_node(dir, "a", &node), 0);
	CHECK_EQ(node, 3);
	CHECK_EQ(dmastream__nic_node(dir, "b", &node), 0);
	CHECK_EQ(node, -1);
	CHECK_EQ(dmastream__nic_node(dir, "c", &node), 0);
	CHECK_EQ(node, -1);
	CHECK_EQ(dmastream__nic_node(dir, "d", &node), -ENODEV);
	CHECK_EQ(dmastream__nic_node(dir, "../a", &node), -EINVAL);
	CHECK_EQ(dmastream__nic_node(dir, "", &node), -EINVAL);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	CHECK_EQ(system(cmd), 0);
}

static void parts(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_pool *pool;
	uint64_t off, len, end, size;
	uint32_t n, i;

	for (size = 4096; size <= 64 << 20; size = size * 3 / 4096 * 4096 + 4096) {
		CHECK_EQ(dmastream_pool_create(ctx, size, -1, &pool), 0);
		for (n = 1; n <= size / 4096 && n < 40; n++) {
			for (end = 0, i = 0; i < n; i++, end += len) {
				CHECK_EQ(dmastream_pool_part(pool, i, n, &off, &len), 0);
				CHECK_EQ(off, end);
				CHECK(len >= 4096 && off % 4096 == 0);
				CHECK(size / n < 2 << 20 || off % (2 << 20) == 0);
			}
			CHECK_EQ(end, size);
			CHECK_EQ(dmastream_pool_part(pool, n, n, &off, &len), -EINVAL);
		}
		CHECK_EQ(dmastream_pool_part(pool, 0, (uint32_t)(size / 4096) + 1, &off, &len),
			 -EINVAL);
		CHECK_EQ(dmastream_pool_part(pool, 0, 0, &off, &len), -EINVAL);
		dmastream_pool_close(pool);
	}
	dmastream_close(ctx);
}

#define PROCESSES	4
#define MESSAGES	3000

struct note {
	uint64_t	off;
	uint64_t	len;
};

static int note_is(const struct dmastream_pool *pool, const struct note *note)
{
	const uint64_t *p = dmastream_pool_ptr(pool, note->off);
	uint64_t i;

	for (i = 0; i < note->len / 8; i++)
		if (p[i] != note->off)
			return 0;
	return 1;
}

/*
 * Allocates in its part, fills each object with its offset, tells it to the next process
 * and looks at the one of the process before, which frees when it is told: 0, or what
 * was wrong.
 */
static int process(struct dmastream_pool *pool, uint32_t me, int to, int from, int ack_to,
		   int ack_from)
{
	uint64_t off, len, seed = me + 1, i, k;
	struct dmastream_heap *heap;
	struct note note, other;
	uint32_t handle;
	char ack = 0;
	uint64_t *p;

	alarm(60);	/* when another one gave up */
	if (dmastream_pool_part(pool, me, PROCESSES, &off, &len) ||
	    dmastream_heap_create(&heap) || dmastream_heap_add(heap, pool, off, len))
		return 1;
	for (i = 0; i < MESSAGES; i++) {
		note.len = (1 + libtest_random(&seed) % 5000) / 8 * 8;
		p = dmastream_alloc(heap, note.len);
		if (!p || dmastream_heap_locate(heap, p, &handle, &note.off) ||
		    note.off < off || note.off + note.len > off + len)
			return 2;
		for (k = 0; k < note.len / 8; k++)
			p[k] = note.off;
		if (write(to, &note, sizeof(note)) != sizeof(note) ||
		    read(from, &other, sizeof(other)) != sizeof(other))
			return 3;
		if (!note_is(pool, &other))
			return 4;
		if (write(ack_to, &ack, 1) != 1 || read(ack_from, &ack, 1) != 1)
			return 5;
		if (!note_is(pool, &note) || dmastream_free(heap, p))
			return 6;
	}
	dmastream_heap_destroy(heap);
	return 0;
}

/* Several processes allocate from one pool at once, each from its own part. */
static void processes(void)
{
	struct dmastream *ctx = ctx_open();
	int note[PROCESSES][2], ack[PROCESSES][2];
	struct dmastream_pool *pool;
	pid_t pid[PROCESSES];
	int i, status;

	CHECK_EQ(dmastream_pool_create(ctx, (1 << 20) + 12288, -1, &pool), 0);
	for (i = 0; i < PROCESSES; i++)
		if (pipe(note[i]) || pipe(ack[i]))
			abort();
	fflush(stdout);
	for (i = 0; i < PROCESSES; i++) {
		int before = (i + PROCESSES - 1) % PROCESSES;

		pid[i] = fork();
		if (!pid[i])
			_exit(process(pool, (uint32_t)i, note[i][1], note[before][0],
				      ack[before][1], ack[i][0]));
	}
	for (i = 0; i < PROCESSES; i++) {
		close(note[i][1]);
		close(ack[i][1]);
	}
	for (i = 0; i < PROCESSES; i++) {
		status = -1;
		CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
		CHECK_EQ(status, 0);
		close(note[i][0]);
		close(ack[i][0]);
	}
	dmastream_pool_close(pool);
	dmastream_close(ctx);
}

/* A tile goes into the indirect area of its own slot, and nothing older shines through. */
static void preparing_tiles(void)
{
	static const struct dmastream_tile tile = {
		.off = 4096, .pitch = 1000, .rows = 7, .row_bytes = 900,
	};
	struct dmastream *ctx = ctx_open();
	struct dmastream_ring *ring;
	struct dmastream_sqe *sqe;
	int i;

	CHECK_EQ(dmastream_ring_create(ctx, 4, 16, 4, &ring), 0);
	memset(fake.sqes, 0xff, 4 * sizeof(*fake.sqes));
	for (i = 0; i < 10; i++) {
		sqe = dmastream_get_sqe(ring);
		memset(&fake.tile, 0xff, sizeof(fake.tile));
		if (i % 2)
			dmastream_prep_recv_tile(ring, sqe, 1, 2, &tile, 88 + i);
		else
			dmastream_prep_send_tile(ring, sqe, 1, 2, &tile, 77, 88 + i);
		CHECK_EQ(dmastream_submit(ring), 1);
		CHECK(!memcmp(&fake.tile, &tile, sizeof(tile)));
		CHECK_EQ(fake.sqe.op, i % 2 ? DMASTREAM_OP_RECV : DMASTREAM_OP_SEND);
		CHECK_EQ(fake.sqe.flags, DMASTREAM_SQE_TILE);
		CHECK_EQ(fake.sqe.stream, 1);
		CHECK_EQ(fake.sqe.pool, 2);
		CHECK_EQ(fake.sqe.len, 1);
		CHECK_EQ(fake.sqe.off, i % 4 * 8 * 16);
		CHECK_EQ(fake.sqe.tag, i % 2 ? 0 : 77);
		CHECK_EQ(fake.sqe.user_data, 88 + i);
		CHECK_EQ(fake.sqe.reserved0, 0);
		CHECK_EQ(fake.sqe.reserved[0] | fake.sqe.reserved[1] |
			 fake.sqe.reserved[2], 0);
		dmastream_cqe_seen(ring);
	}
	dmastream_ring_close(ring);
	dmastream_close(ctx);
}

/* A slot's older content must not shine through. */
static void preparing(void)
{
	static const struct dmastream_vec vec[3] = {
		{ .off = 100, .len = 1 }, { .off = 200, .len = 2 },
		{ .off = 300, .len = 3 },
	};
	struct dmastream *ctx = ctx_open();
	struct dmastream_ring *ring;
	struct dmastream_sqe *sqe;
	struct dmastream_cqe *cqe;
	int i;

	CHECK_EQ(dmastream_ring_create(ctx, 3, 16, 4, &ring), 0);
	CHECK_EQ(fake.ring_arg.sq_entries, 4);
	CHECK_EQ(fake.ring_arg.indirect_bytes, 4 * 8 * 16);
	CHECK_EQ(dmastream_ring_handle(ring), 11);
	memset(fake.sqes, 0xff, 4 * sizeof(*fake.sqes));
	for (i = 0; i < 10; i++) {
		sqe = dmastream_get_sqe(ring);
		dmastream_prep_send_vec(ring, sqe, 1, 2, vec, 3, 77, 88 + i);
		CHECK_EQ(dmastream_submit(ring), 1);
		CHECK(!memcmp(fake.vec, vec, sizeof(vec)));
		CHECK_EQ(fake.sqe.flags, DMASTREAM_SQE_VEC);
		CHECK_EQ(fake.sqe.off, i % 4 * 8 * 16);
		CHECK_EQ(fake.sqe.tag, 77);
		CHECK_EQ(fake.sqe.reserved0, 0);
		CHECK_EQ(fake.sqe.reserved[0] | fake.sqe.reserved[1] |
			 fake.sqe.reserved[2], 0);
		cqe = dmastream_peek_cqe(ring);
		CHECK(cqe && cqe->user_data == 88 + (uint64_t)i);
		dmastream_cqe_seen(ring);
	}
	sqe = dmastream_get_sqe(ring);
	dmastream_prep_send(sqe, 5, 6, 7, 8, 9, 10);
	dmastream_sqe_set_flags(sqe, DMASTREAM_SQE_SPLIT);
	dmastream_submit(ring);
	CHECK_EQ(fake.sqe.op, DMASTREAM_OP_SEND);
	CHECK_EQ(fake.sqe.flags, DMASTREAM_SQE_SPLIT);
	CHECK(fake.sqe.stream == 5 && fake.sqe.pool == 6 && fake.sqe.off == 7 &&
	      fake.sqe.len == 8 && fake.sqe.tag == 9 && fake.sqe.user_data == 10);
	dmastream_prep_recv(dmastream_get_sqe(ring), 1, 2, 3, 4, 5);
	dmastream_submit(ring);
	CHECK(fake.sqe.op == DMASTREAM_OP_RECV && fake.sqe.tag == 0 &&
	      fake.sqe.flags == 0);
	dmastream_prep_nop(dmastream_get_sqe(ring), 6);
	dmastream_submit(ring);
	CHECK(fake.sqe.op == DMASTREAM_OP_NOP && fake.sqe.len == 0);
	dmastream_ring_close(ring);
	dmastream_close(ctx);
}

/* Full queues on both sides, and indices that wrap. */
static void full_and_wrap(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_ring *ring;
	struct dmastream_sqe *sqe;
	struct dmastream_cqe *cqe;
	uint64_t want = 0, next = 0;
	int round;

	CHECK_EQ(dmastream_ring_create(ctx, 4, 4, 1, &ring), 0);
	/* as if it had run for long */
	fake.ring->sq_head = 0xfffffffe;
	fake.ring->sq_tail = 0xfffffffe;
	ring->sq_next = 0xfffffffe;
	fake.ring->cq_head = 0xfffffffd;
	fake.ring->cq_tail = 0xfffffffd;
	for (round = 0; round < 5; round++) {
		CHECK_EQ(dmastream_sq_space(ring), 4);
		while ((sqe = dmastream_get_sqe(ring)))
			dmastream_prep_nop(sqe, next++);
		CHECK_EQ(dmastream_sq_pending(ring), 4);
		CHECK_EQ(dmastream_submit(ring), 4);
		CHECK_EQ(dmastream_cq_ready(ring), 4);
		dmastream_prep_nop(dmastream_get_sqe(ring), next++);
		/* no slot: it stays, and goes later */
		CHECK_EQ(dmastream_submit(ring), -EAGAIN);
		CHECK_EQ(dmastream_sq_pending(ring), 1);
		while ((cqe = dmastream_peek_cqe(ring))) {
			CHECK_EQ(cqe->user_data, want++);
			CHECK_EQ(dmastream_cqe_seen(ring), 0);
		}
		CHECK_EQ(dmastream_submit(ring), 1);
		CHECK_EQ(dmastream_cqe_at(ring, 0)->user_data, want++);
		dmastream_cq_advance(ring, 1);
	}
	CHECK_EQ(want, next);
	CHECK_EQ(dmastream_submit(ring), 0);
	dmastream_ring_close(ring);
	dmastream_close(ctx);
}

/* The kernel is entered when it asked for it, and only then. */
static void kicks(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_pool *pool;
	struct dmastream_group *group;
	struct dmastream_ring *ring;
	int i;

	CHECK_EQ(dmastream_pool_create(ctx, 65536, -1, &pool), 0);
	CHECK_EQ(dmastream_ring_create(ctx, 4, 8, 1, &ring), 0);
	CHECK_EQ(dmastream_group_create(ctx, pool, 5, 4096, &group), 0);
	CHECK_EQ(fake.group_arg.entries, 8);
	CHECK_EQ(fake.group_arg.pool, 10);
	CHECK_EQ(dmastream_group_handle(group), 12);

	fake.ring->flags = 0;		/* a poller that is awake */
	dmastream_prep_nop(dmastream_get_sqe(ring), 1);
	CHECK_EQ(dmastream_submit(ring), 1);
	CHECK_EQ(fake.enters, 0);
	CHECK_EQ(fake.ring->sq_tail, 1);
	fake.ring->flags = DMASTREAM_RING_SQ_KICK;
	CHECK_EQ(dmastream_submit(ring), 1);
	CHECK_EQ(fake.enters, 1);

	fake.enters = 0;
	CHECK_EQ(dmastream_cq_advance(ring, 0), 0);
	fake_complete(2, 0, 0);
	CHECK_EQ(dmastream_cq_advance(ring, 1), 0);
	CHECK_EQ(fake.enters, 0);
	fake.ring->flags |= DMASTREAM_RING_CQ_KICK;
	CHECK_EQ(dmastream_cqe_seen(ring), 0);
	CHECK_EQ(fake.enters, 1);

	fake.enters = 0;
	for (i = 0; i < 8; i++)
		CHECK_EQ(dmastream_group_add(group, 100 + i, i * 4096, 4096), 0);
	CHECK_EQ(dmastream_group_add(group, 1, 0, 4096), -ENOSPC);
	CHECK_EQ(fake.group->tail, 0);	/* not before publish */
	CHECK_EQ(dmastream_group_publish(group, ring), 0);
	CHECK_EQ(fake.group->tail, 8);
	CHECK_EQ(fake.enters, 0);
	CHECK_EQ(fake.landings[3].cookie, 103);
	CHECK_EQ(fake.landings[3].offset, 3 * 4096);
	CHECK_EQ(fake.landings[3].length, 4096);
	CHECK_EQ(fake.landings[3].flags, 0);
	fake.group->head = 1;
	fake.group->flags = DMASTREAM_GROUP_KICK;
	CHECK_EQ(dmastream_group_space(group), 1);
	CHECK_EQ(dmastream_group_give(group, ring, 1, 0, 4096), 0);
	CHECK_EQ(fake.enters, 1);
	CHECK_EQ(dmastream_group_give(group, ring, 1, 0, 4096), -ENOSPC);
	fake.group->bad = 3;
	CHECK_EQ(dmastream_group_bad(group), 3);
	dmastream_group_close(group);
	dmastream_ring_close(ring);
	dmastream_pool_close(pool);
	dmastream_close(ctx);
}

static void waiting(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_ring *ring;
	struct dmastream_cqe *cqe;

	CHECK_EQ(dmastream_ring_create(ctx, 4, 8, 1, &ring), 0);
	CHECK_EQ(dmastream_wait_cqe_timeout(ring, &cqe, 1), -ETIME);
	CHECK(!cqe);
	CHECK_EQ(dmastream_wait_cqe(ring, &cqe, 0), -EINTR);
	dmastream_prep_nop(dmastream_get_sqe(ring), 9);
	CHECK_EQ(dmastream_submit_and_wait(ring, 1, 0), 1);
	fake.enters = 0;
	CHECK_EQ(dmastream_wait_cqe(ring, &cqe, 0), 0);
	CHECK(cqe && cqe->user_data == 9);
	CHECK_EQ(fake.enters, 0);
	/* enough is ready: it submits, and does not wait */
	dmastream_prep_nop(dmastream_get_sqe(ring), 10);
	CHECK_EQ(dmastream_submit_and_wait(ring, 1, 0), 1);
	CHECK_EQ(dmastream_cq_ready(ring), 2);
	dmastream_cq_advance(ring, 2);
	fake.fail = ENODEV;
	CHECK_EQ(dmastream_wait_cqe(ring, &cqe, 0), -ENODEV);
	CHECK_EQ(dmastream_deadline(DMASTREAM_TIMEOUT_NONE), 0);
	CHECK(dmastream_deadline(1000) - dmastream_now_ns() <= 1000000000ULL);
	dmastream_ring_close(ring);
	dmastream_close(ctx);
}

static void services(void)
{
	struct dmastream *ctx = ctx_open();
	struct dmastream_stream_opts opts = { .ring = 11, .small_group = 12 };
	char longest[DMASTREAM_SERVICE_MAX + 1];
	struct dmastream_listener *listener;
	struct dmastream_error err;
	uint32_t stream = 0;

	memset(longest, 'x', sizeof(longest));
	longest[DMASTREAM_SERVICE_MAX] = 0;
	CHECK_EQ(dmastream_listen(ctx, longest, 1, 0, &listener), -ENAMETOOLONG);
	CHECK_EQ(dmastream_listen(ctx, "", 1, 0, &listener), -EINVAL);
	longest[DMASTREAM_SERVICE_MAX - 1] = 0;
	CHECK_EQ(dmastream_listen(ctx, longest, 4, 99, &listener), 0);
	CHECK_EQ(fake.listen.backlog, 4);
	CHECK_EQ(fake.listen.cookie, 99);
	CHECK(!strcmp(fake.listen.service, longest));
	CHECK_EQ(dmastream_accept(listener, &opts, 5, &stream, NULL), 0);
	CHECK_EQ(stream, 22);
	CHECK_EQ(fake.accept.listener, 20);
	CHECK_EQ(fake.accept.opts.small_group, 12);
	CHECK_EQ(dmastream_accept_async(listener, &opts, 5, 77), 0);
	CHECK_EQ(fake.accept.flags, DMASTREAM_OPEN_ASYNC);
	CHECK_EQ(fake.accept.user_data, 77);
	dmastream_listener_close(listener);

	CHECK_EQ(dmastream_connect_name(ctx, "127.0.0.1:99", AF_UNSPEC, 5,
					"svc", &opts, 1000, &stream, &err), 0);
	CHECK_EQ(stream, 21);
	CHECK_EQ(ntohs(fake.connect.peer.port), 99);
	CHECK(!strcmp(fake.connect.service, "svc"));
	CHECK_EQ(dmastream_connect_name(ctx, "::1", AF_INET6, 0, "nobody",
					&opts, 1000, &stream, &err), -ECONNREFUSED);
	CHECK_EQ(err.err_class, DMASTREAM_ERR_REFUSED);
	CHECK_EQ(err.err_detail, DMASTREAM_REFUSED_SERVICE);
	CHECK_EQ(err.peer.family, AF_INET6);
	CHECK_EQ(dmastream_shutdown(ctx, 21), 0);
	CHECK_EQ(fake.shutdown.stream, 21);
	CHECK_EQ(dmastream_stream_close(ctx, 21, DMASTREAM_CLOSE_FLAGS, 7), 0);
	CHECK_EQ(fake.close.flags, DMASTREAM_CLOSE_ABORT);
	CHECK_EQ(dmastream_stream_close_async(ctx, 21, 0, 7, 8), 0);
	CHECK_EQ(fake.close.flags, DMASTREAM_CLOSE_ASYNC);
	CHECK_EQ(fake.close.timeout_ms, 7);
	CHECK_EQ(fake.close.user_data, 8);
	CHECK_EQ(dmastream_cancel(ctx, 21, 5), 0);
	CHECK_EQ(fake.cancel.user_data, 5);
	dmastream_close(ctx);
}

static int resolves(const char *text, uint32_t port, const char *want)
{
	struct dmastream_addr addr;
	char buf[DMASTREAM_ADDR_TEXT];

	if (dmastream_resolve(text, AF_UNSPEC, port, &addr, 1) != 1)
		return !want;
	if (want && !strcmp(dmastream_addr_text(&addr, buf, sizeof(buf)), want))
		return 1;
	printf("# \"%s\" is %s\n", text, dmastream_addr_text(&addr, buf, sizeof(buf)));
	return 0;
}

static void names(void)
{
	struct dmastream_addr addr = { 0 };
	char buf[DMASTREAM_ADDR_TEXT];

	CHECK(resolves("10.1.2.3", 0, "10.1.2.3:7477"));
	CHECK(resolves("10.1.2.3", 5, "10.1.2.3:5"));
	CHECK(resolves("10.1.2.3:80", 5, "10.1.2.3:80"));
	CHECK(resolves("[10.1.2.3]:80", 5, "10.1.2.3:80"));
	CHECK(resolves("fd00::1", 0, "[fd00::1]:7477"));
	CHECK(resolves("[fd00::1]", 5, "[fd00::1]:5"));
	CHECK(resolves("[fd00::1]:65535", 0, "[fd00::1]:65535"));
	CHECK(resolves("fe80::1%lo", 0, "[fe80::1%lo]:7477"));
	CHECK(resolves("", 0, NULL));
	CHECK(resolves(":80", 0, NULL));
	CHECK(resolves("10.1.2.3:", 0, NULL));
	CHECK(resolves("10.1.2.3:0", 0, NULL));
	CHECK(resolves("10.1.2.3:65536", 0, NULL));
	CHECK(resolves("10.1.2.3:-1", 0, NULL));
	CHECK(resolves("10.1.2.3:80x", 0, NULL));
	CHECK(resolves("[fd00::1", 0, NULL));
	CHECK(resolves("[fd00::1]80", 0, NULL));
	CHECK(resolves("10.1.2.3", 65536, NULL));
	CHECK_EQ(dmastream_resolve("fd00::1", AF_INET, 0, &addr, 1), -EADDRNOTAVAIL);
	CHECK(!strcmp(dmastream_addr_text(&(struct dmastream_addr){ 0 }, buf,
					  sizeof(buf)), "(no address)"));
}

static void texts(void)
{
	struct dmastream_error err = { .err_class = DMASTREAM_ERR_REFUSED };
	char buf[DMASTREAM_EXPLAIN_TEXT], small[8];
	uint32_t c, d;

	dmastream_resolve("10.1.2.3", AF_INET, 0, &err.peer, 1);
	strcpy(err.service, "kv");
	err.err_detail = DMASTREAM_REFUSED_SERVICE;
	dmastream_explain(-ECONNREFUSED, &err, buf, sizeof(buf));
	CHECK(strstr(buf, "\"kv\"") && strstr(buf, "10.1.2.3:7477") &&
	      strstr(buf, "nobody listens") && strstr(buf, "start the receiver"));
	CHECK(strstr(dmastream_explain(ENOENT, NULL, buf, sizeof(buf)), "modprobe"));
	/* any number has words, and stays inside its buffer */
	for (c = 0; c < 10; c++)
		for (d = 0; d < 300; d++) {
			err.err_class = c;
			err.err_detail = d;
			dmastream_explain(-5, &err, buf, sizeof(buf));
			CHECK(strlen(buf) < sizeof(buf) - 1);
			dmastream_explain(-5, &err, small, sizeof(small));
			CHECK(strlen(small) < sizeof(small));
		}
	CHECK(!strcmp(dmastream_waits_text(0, buf, sizeof(buf)), "-"));
	CHECK(!strcmp(dmastream_waits_text(DMASTREAM_WAIT_LANDING | DMASTREAM_WAIT_SESSION,
					   buf, sizeof(buf)), "landing,session"));
	dmastream_waits_text(~0U, buf, DMASTREAM_WAITS_TEXT);
	CHECK(!strcmp(dmastream_state_text(DMASTREAM_STATE_OPEN), "open"));
	CHECK(!strcmp(dmastream_state_text(99), "unknown"));
	CHECK(!strcmp(dmastream_class_text(DMASTREAM_ERR_PATH), "path"));
	CHECK(!strcmp(dmastream_refusal_text(0), "unknown"));
}

int main(void)
{
	RUN(versions);
	RUN(ring_without_vectors);
	RUN(preparing_tiles);
	RUN(pools);
	RUN(nic_node);
	RUN(parts);
	RUN(processes);
	RUN(preparing);
	RUN(full_and_wrap);
	RUN(kicks);
	RUN(waiting);
	RUN(services);
	RUN(names);
	RUN(texts);
	return libtest_end();
}
