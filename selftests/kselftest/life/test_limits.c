// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes, counts and offsets at the edges of their types, and pairs whose sum or
 * product wraps (case 23), in each request and each field of a submission: an
 * errno, nothing made, nothing leaked.  That the kernel's log has no warning of
 * the allocator is for the bed to see.
 */
#include "../kt.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "life.h"

static const uint64_t edges64[] = {
	0, 1, 4095, 4096, 4097, 1ULL << 31, (1ULL << 31) + 4096, (1ULL << 32) - 1,
	1ULL << 32, (1ULL << 32) + 4096, (1ULL << 44), (1ULL << 63) - 1, 1ULL << 63,
	(1ULL << 63) + 4096, UINT64_MAX - 4095, UINT64_MAX - 1, UINT64_MAX
};

static const uint32_t edges32[] = {
	0, 1, 2, 3, 4095, 4096, 65535, 65536, 65537, 1U << 20, 1U << 24, 1U << 30,
	(1U << 31) - 1, 1U << 31, (1U << 31) + 1, UINT32_MAX - 4095, UINT32_MAX - 1, UINT32_MAX
};

static int ctx;
static struct dmastream_query limits;

/* What is made by mistake or by right goes again; so that one count tells all. */
static void undo(int fd, uint32_t pool)
{
	struct dmastream_close arg = { .type = DMASTREAM_OBJ_POOL, .handle = pool };

	if (fd > 2)
		close(fd);
	if (pool)
		ioctl(ctx, DMASTREAM_IOC_CLOSE, &arg);
}

/* Does the errno say what it should: too much, or senseless. */
static bool refused(int err)
{
	return err == -EINVAL || err == -ENOMEM || err == -EDQUOT || err == -EBADF ||
	       err == -EMSGSIZE || err == -ENOSPC || err == -EAFNOSUPPORT;
}

static void pools(void)
{
	unsigned int i, bad = 0, made = 0;

	for (i = 0; i < KT_ARRAY(edges64); i++) {
		struct dmastream_pool_create arg = { .size = edges64[i], .numa_node = -1 };
		int err;

		/* a few GiB are not wrong: they are more than the guest has */
		err = kt_ioctl(ctx, DMASTREAM_IOC_POOL_CREATE, &arg);
		if (!err) {
			made++;
			bad += edges64[i] != 4096;
			undo(arg.fd, arg.pool);
		} else if (!refused(err) || arg.fd || arg.pool) {
			printf("# pool of %#llx: %d\n", (unsigned long long)edges64[i], err);
			bad++;
		}
	}
	kt_ok(!bad && made == 1, "pools of edge sizes: one is right, %u wrong", bad);
	for (i = 0, bad = 0; i < KT_ARRAY(edges32); i++) {
		struct dmastream_pool_create arg = { .size = 4096, .numa_node = edges32[i] };
		int err = edges32[i] && edges32[i] != UINT32_MAX ?
			  kt_ioctl(ctx, DMASTREAM_IOC_POOL_CREATE, &arg) : -EINVAL;

		bad += err != -EINVAL;
		if (!err)
			undo(arg.fd, arg.pool);
	}
	kt_is(bad, 0, "pools on nodes that are not there");
	for (i = 0, bad = 0; i < KT_ARRAY(edges32); i++) {
		struct dmastream_pool_attach arg = { .fd = edges32[i] };

		bad += kt_ioctl(ctx, DMASTREAM_IOC_POOL_ATTACH, &arg) != -EBADF;
	}
	kt_is(bad, 0, "attaching descriptors that are no pools");
}

static void groups(void)
{
	struct dmastream_pool_create pool;
	unsigned int i, k, bad = 0, made = 0;

	if (kt_pool(ctx, 65536, &pool))
		kt_die("a pool");
	for (i = 0; i < KT_ARRAY(edges32); i++)
		for (k = 0; k < KT_ARRAY(edges32); k++) {
			struct dmastream_group_create arg = {
				.pool = pool.pool, .entries = edges32[i], .buf_len = edges32[k],
			};
			bool right = edges32[i] && !(edges32[i] & (edges32[i] - 1)) &&
				     edges32[i] <= limits.max_group_entries &&
				     edges32[k] && edges32[k] <= 65536;
			int err = kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &arg);

			if (!err)
				close(arg.fd);
			made += !err;
			if (right != !err || (err && (!refused(err) || arg.fd))) {
				printf("# group %u of %u: %d\n", edges32[i], edges32[k], err);
				bad++;
			}
		}
	kt_ok(!bad && made, "groups of edge sizes: %u right, %u not as they should", made, bad);
	undo(pool.fd, pool.pool);
}

static bool ring_right(const struct dmastream_ring_create *a)
{
	return a->sq_entries && !(a->sq_entries & (a->sq_entries - 1)) &&
	       a->sq_entries <= limits.max_sq_entries &&
	       a->cq_entries > 1 && !(a->cq_entries & (a->cq_entries - 1)) &&
	       a->cq_entries <= limits.max_cq_entries &&
	       a->cq_recv_min && a->cq_recv_min < a->cq_entries &&
	       a->indirect_bytes <= limits.max_indirect_bytes;
}

static void rings(void)
{
	unsigned int i, k, bad = 0, made = 0;

	for (i = 0; i < KT_ARRAY(edges32); i++)
		for (k = 0; k < 5; k++) {
			uint32_t v = edges32[i];
			struct dmastream_ring_create arg = {
				.sq_entries = k == 0 || k == 4 ? v : 2,
				.cq_entries = k == 1 || k == 4 ? v : 4,
				.cq_recv_min = k == 2 ? v : k == 4 ? v - 1 : 1,
				.indirect_bytes = k == 3 || k == 4 ? v : 0,
			};
			bool right = ring_right(&arg);
			int err = kt_ioctl(ctx, DMASTREAM_IOC_RING_CREATE, &arg);

			if (!err)
				close(arg.fd);
			made += !err;
			/* the largest that is allowed may be more than there is */
			if ((!right && !err) || (right && err && err != -ENOMEM && err != -EDQUOT)) {
				printf("# ring %u.%u: %d\n", v, k, err);
				bad++;
			}
		}
	kt_ok(!bad && made, "rings of edge sizes: %u made, %u not as they should", made, bad);
}

static void names(void)
{
	struct dmastream_listen arg = { .service = "limits" };
	unsigned int i, bad = 0;
	int err;

	for (i = 0; i < KT_ARRAY(edges32); i++) {
		arg.backlog = edges32[i];
		err = kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &arg);
		if (!err)
			close(arg.fd);
		bad += !err != (edges32[i] && edges32[i] <= limits.max_backlog);
	}
	kt_is(bad, 0, "backlogs of edge sizes");
	arg.backlog = 1;
	memset(arg.service, 'x', sizeof(arg.service));
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &arg), -EINVAL, "a name without an end");
	memset(arg.service, 0, sizeof(arg.service));
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &arg), -EINVAL, "an empty name");
	strcpy(arg.service, "a");
	arg.service[sizeof(arg.service) - 1] = 'b';
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &arg), -EINVAL, "a name with more behind its end");
}

/* Handles that are none, in every request that takes one. */
static int handle_call(unsigned int k, uint32_t v)
{
	struct dmastream_close close_arg = { .type = k, .handle = v };
	struct dmastream_stream_query query = { .stream = v };
	struct dmastream_accept accept = { .listener = v, .opts.ring = 1, .opts.small_group = 1 };
	struct dmastream_shutdown shut = { .stream = v };
	struct dmastream_cancel cancel = { .stream = v, .user_data = v };
	struct dmastream_connect conn = {
		.peer.family = AF_INET, .peer.addr = { 10, 77, 0, 1 }, .service = "x",
		.timeout_ms = 100, .opts = { .ring = v, .small_group = v, .large_group = v },
	};

	switch (k) {
	case 0:
		return kt_ioctl(ctx, DMASTREAM_IOC_SHUTDOWN, &shut);
	case 1:
	case 2:
		return kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &close_arg);
	case 3:
		return kt_ioctl(ctx, DMASTREAM_IOC_STREAM_QUERY, &query);
	case 4:
		return kt_ioctl(ctx, DMASTREAM_IOC_ACCEPT, &accept);
	case 5:
		return kt_ioctl(ctx, DMASTREAM_IOC_CANCEL, &cancel);
	default:
		return kt_ioctl(ctx, DMASTREAM_IOC_CONNECT, &conn);
	}
}

static void handles(void)
{
	unsigned int i, k, bad = 0;

	for (i = 0; i < KT_ARRAY(edges32); i++)
		for (k = 0; k < 7; k++) {
			int err = handle_call(k, edges32[i]);

			if (err == -EBADF || (k == 6 && !edges32[i] && err == -EINVAL))
				continue;
			printf("# request %u with handle %#x: %d\n", k, edges32[i], err);
			bad++;
		}
	kt_is(bad, 0, "handles that are none");
}

/* ---- submissions ---- */

static int one_sqe(struct life_end *e, const struct dmastream_sqe *sqe)
{
	struct dmastream_cqe cqe;
	int err;

	*dmastream_get_sqe(e->ring) = *sqe;
	err = dmastream_submit(e->ring);
	if (err != 1)
		return err < 0 ? err : -EIO;
	err = life_until(e, DMASTREAM_OP_SEND, &cqe, 60000);
	return err ? err : cqe.result;
}

static void ranges(struct life_end *e, uint32_t stream)
{
	unsigned int i, k, bad = 0, right = 0;

	for (i = 0; i < KT_ARRAY(edges64); i++)
		for (k = 0; k < KT_ARRAY(edges32); k++) {
			struct dmastream_sqe sqe = {
				.op = DMASTREAM_OP_SEND, .stream = stream, .user_data = 1,
				.pool = dmastream_pool_handle(e->pool),
				.off = edges64[i], .len = edges32[k],
			};
			bool ok = edges64[i] <= LIFE_POOL && edges32[k] <= LIFE_POOL - edges64[i];
			int ret;

			/* an empty one is for nobody to land, and a right one is a message */
			if (ok && edges32[k] > 65537)
				continue;
			ret = one_sqe(e, &sqe);
			right += ok;
			if (ok ? ret != (int)edges32[k] : !refused(ret)) {
				printf("# range %#llx + %#x: %d\n", (unsigned long long)edges64[i],
				       edges32[k], ret);
				bad++;
			}
		}
	kt_ok(!bad && right, "ranges at the edges: %u right, %u not as they should", right, bad);
}

static void vectors(struct life_end *e, uint32_t stream)
{
	unsigned int i, k, bad = 0;

	for (i = 0; i < KT_ARRAY(edges64); i++)
		for (k = 0; k < 4; k++) {
			struct dmastream_sqe sqe = {
				.op = DMASTREAM_OP_SEND, .flags = DMASTREAM_SQE_VEC,
				.stream = stream, .pool = dmastream_pool_handle(e->pool),
				.len = 2, .off = 0,
			};
			int ret;

			e->ring->vecs[0] = (struct dmastream_vec){ .off = 0, .len = 0x7fffffff };
			e->ring->vecs[1] = (struct dmastream_vec){ .off = 0, .len = 0x7fffffff };
			if (k == 0)		/* the elements, past their area */
				sqe.off = edges64[i] | 0x100000;
			else if (k == 1)	/* their number */
				sqe.len = (uint32_t)edges64[i] > 8 ? (uint32_t)edges64[i] : 0;
			else if (k == 2)	/* an offset that wraps with its length */
				e->ring->vecs[1].off = edges64[i];
			else			/* lengths that wrap with each other */
				e->ring->vecs[0].len = (uint32_t)-edges64[i];
			ret = one_sqe(e, &sqe);
			if (!refused(ret)) {
				printf("# vector %#llx.%u: %d\n", (unsigned long long)edges64[i],
				       k, ret);
				bad++;
			}
		}
	kt_is(bad, 0, "vectors that wrap");
}

/* Landings that do not fit their pool: none is ever written to. */
static void landings(struct life_end *b)
{
	unsigned int i, k, n = 0;

	for (i = 0; i < KT_ARRAY(edges64); i++)
		for (k = 0; k < KT_ARRAY(edges32) && n < LIFE_SMALL_N; k++) {
			if (edges64[i] < LIFE_POOL && edges32[k] >= LIFE_SMALL &&
			    edges32[k] <= LIFE_POOL - edges64[i])
				continue;
			if (i % 2 && !dmastream_group_give(b->small, b->ring, 1000 + n,
							   edges64[i], edges32[k]))
				n++;
		}
	kt_ok(n, "%u landings outside of the pool are given", n);
}

static void submissions(void)
{
	struct life_end a, b;
	struct dmastream_enter arg = { 0 };
	uint32_t sa, sb, i, bad = 0;

	if (life_open(&a) || life_open(&b))
		kt_die("open");
	landings(&b);
	kt_is(life_link(&a, &b, &sa, &sb), 0, "a stream");
	kt_ok(dmastream_group_bad(b.small) > 0, "%u landings were refused",
	      dmastream_group_bad(b.small));
	life_give_all(&b);
	kt_is(life_pass(&a, sa, &b, 5000, 1), 0, "and a good one is used");
	vectors(&a, sa);
	dmastream_stream_close(b.ctx, sb, DMASTREAM_CLOSE_ABORT, 60000);
	dmastream_stream_close(a.ctx, sa, DMASTREAM_CLOSE_ABORT, 60000);
	for (i = 0; i < KT_ARRAY(edges32); i++) {
		arg.to_submit = edges32[i];
		arg.min_complete = edges32[i];
		arg.deadline_ns = 1;
		bad += kt_ioctl(dmastream_ring_fd(a.ring), DMASTREAM_IOC_ENTER, &arg) !=
		       (edges32[i] > 256 ? -EINVAL : 0);
	}
	kt_is(bad, 0, "ENTER for edge numbers");
	life_close(&a);
	life_close(&b);
}

/* The other end takes what is right, in a process of its own. */
static void with_sink(void)
{
	struct dmastream_addr self = life_self();
	struct dmastream_listener *l;
	struct dmastream_cqe cqe;
	struct life_end a, b;
	uint32_t sa, sb;
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		kt_die("pipe");
	pid = life_fork();
	if (!pid) {
		struct dmastream_stream_opts opts;

		if (life_open(&b) || life_give_all(&b) ||
		    dmastream_listen(b.ctx, "sink", 4, 0, &l) || write(ready[1], "x", 1) != 1)
			_exit(1);
		opts = life_opts(&b, 0);
		if (dmastream_accept(l, &opts, 60000, &sb, NULL))
			_exit(1);
		while (!life_until(&b, DMASTREAM_OP_RECV, &cqe, 60000) &&
		       !(cqe.flags & DMASTREAM_CQE_EOS))
			life_give(&b, cqe.user_data);
		life_close(&b);
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1 || life_open(&a))
		kt_die("the sink");
	kt_is(life_connect(&a, &self, "sink", &sa), 0, "a stream to a sink");
	ranges(&a, sa);
	dmastream_stream_close(a.ctx, sa, 0, 60000);
	life_close(&a);
	kt_is(life_join(pid), 0, "the sink was told of the end");
}

int main(void)
{
	int fds = kt_nr_fds();
	bool ok;

	life_watchdog(200);
	ctx = kt_open();
	if (kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &limits))
		kt_die("QUERY");
	pools();
	groups();
	rings();
	names();
	handles();
	kt_is(kt_nr_fds(), fds + 1, "no descriptor is left");
	ok = kt_quota_comes_to(ctx, 0);
	kt_ok(ok, "and no byte of the quota");
	close(ctx);
	submissions();
	with_sink();
	kt_is(life_offences(), 0, "nobody broke the protocol");
	ok = life_empty(NULL);
	kt_ok(ok, "all gauges are 0");
	return kt_end();
}
