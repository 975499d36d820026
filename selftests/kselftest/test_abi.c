// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules of the ABI, for each request: number, size, reserved members, flags,
 * memory that cannot be read or written, numbers at every edge (cases 23 to 25 of
 * the list of what others suffered).  Also built for a 32-bit process.
 */
#include "kt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/syscall.h>

/* What a request of nothing but zeroes answers, once it is long enough. */
static const struct request {
	const char	*name;
	unsigned int	nr;
	unsigned int	size;
	int		zero;
	bool		ring;
} requests[] = {
	{ "QUERY", 0x00, sizeof(struct dmastream_query), 0, false },
	{ "POOL_CREATE", 0x01, sizeof(struct dmastream_pool_create), -EINVAL, false },
	{ "POOL_ATTACH", 0x02, sizeof(struct dmastream_pool_attach), -EBADF, false },
	{ "GROUP_CREATE", 0x03, sizeof(struct dmastream_group_create), -EBADF, false },
	{ "RING_CREATE", 0x04, sizeof(struct dmastream_ring_create), -EINVAL, false },
	{ "LISTEN", 0x05, sizeof(struct dmastream_listen), -EINVAL, false },
	{ "ACCEPT", 0x06, sizeof(struct dmastream_accept), -EBADF, false },
	{ "CONNECT", 0x07, sizeof(struct dmastream_connect), -EINVAL, false },
	{ "SHUTDOWN", 0x08, sizeof(struct dmastream_shutdown), -EBADF, false },
	{ "CLOSE", 0x09, sizeof(struct dmastream_close), -EINVAL, false },
	{ "STREAM_QUERY", 0x0a, sizeof(struct dmastream_stream_query), -EBADF, false },
	{ "CANCEL", 0x0b, sizeof(struct dmastream_cancel), -EBADF, false },
	{ "ENTER", 0x20, sizeof(struct dmastream_enter), 0, true },
};

#define REQ(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, DMASTREAM_IOC_MAGIC, nr, size)

static unsigned char *buf;	/* 16 KiB that can be written */
static unsigned char *edge;	/* the end of memory: not a byte behind it */

static int ctx;
static struct kt_ring ring;

static int fd_of(const struct request *r)
{
	return r->ring ? ring.arg.fd : ctx;
}

static void setup(void)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned char *m;

	m = mmap(NULL, 6 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED || mprotect(m + 5 * page, page, PROT_NONE))
		kt_die("mmap");
	buf = m;
	edge = m + 5 * page;
	ctx = kt_open();
	if (kt_ring(ctx, &ring, 8, 8, 1, 0))
		kt_die("RING_CREATE");
}

static void test_query(void)
{
	struct dmastream_query q = { 0 };
	static const unsigned char none[16];

	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q), 0, "QUERY");
	kt_ok(q.abi_version == DMASTREAM_ABI_VERSION, "ABI version");
	kt_ok(q.sqe_ops == 7 && q.sqe_flags == DMASTREAM_SQE_FLAGS &&
	      q.stream_flags == DMASTREAM_STREAM_FLAGS &&
	      q.features == (DMASTREAM_FEAT_POLL | DMASTREAM_FEAT_LANES | DMASTREAM_FEAT_TILE |
			     DMASTREAM_FEAT_PUSH),
	      "what can be used");
	kt_ok(q.max_pool_bytes && q.quota_bytes && q.max_pools && q.max_groups &&
	      q.max_rings && q.max_listeners && q.max_streams && q.max_group_entries &&
	      q.max_sq_entries && q.max_cq_entries && q.max_backlog &&
	      q.max_vec == DMASTREAM_VEC_MAX && q.max_msg == DMASTREAM_MSG_MAX,
	      "every limit is told");
	kt_ok(q.eager_max && q.port && memcmp(q.node, none, 16), "eager_max, port, nonce");
	kt_ok(q.quota_used > 0 && q.quota_used <= q.quota_bytes, "the ring is in the quota");
}

/* Sizes 0 to 16383, with zeroes behind what is known, and with something there. */
static void test_sizes(const struct request *r)
{
	unsigned int size, step = kt_quick() ? 61 : 1;
	int got, bad_short = 0, bad_zero = 0, bad_tail = 0;

	memset(buf, 0, 16384);
	for (size = 0; size < r->size; size++) {
		got = kt_ioctl(fd_of(r), REQ(r->nr, size), buf);
		bad_short += got != -EINVAL;
	}
	for (; size < 16384; size += step) {
		got = kt_ioctl(fd_of(r), REQ(r->nr, size), buf);
		bad_zero += got != r->zero;
		memset(buf, 0, r->size);
		if (size == r->size)
			continue;
		buf[size - 1] = 1;
		got = kt_ioctl(fd_of(r), REQ(r->nr, size), buf);
		bad_tail += got != -E2BIG;
		buf[size - 1] = 0;
	}
	kt_is(bad_short, 0, "%s: too short is EINVAL", r->name);
	kt_is(bad_zero, 0, "%s: longer with zeroes is as if it were not", r->name);
	kt_is(bad_tail, 0, "%s: longer with something is E2BIG", r->name);
}

static void test_memory(const struct request *r)
{
	unsigned long req = REQ(r->nr, r->size);

	memset(buf, 0, 16384);
	memset(edge - r->size, 0, r->size);
	kt_is(kt_ioctl(fd_of(r), req, NULL), -EFAULT, "%s: NULL", r->name);
	kt_is(kt_ioctl(fd_of(r), req, edge - r->size + 1), -EFAULT,
	      "%s: its last byte cannot be read", r->name);
	kt_is(kt_ioctl(fd_of(r), req, edge - r->size), r->zero,
	      "%s: up to the last byte of memory", r->name);
	kt_is(kt_ioctl(fd_of(r), REQ(r->nr, r->size + 1), edge - r->size), -EFAULT,
	      "%s: a tail that cannot be read", r->name);
}

static void test_numbers(void)
{
	unsigned int nr, i, size, bad = 0, bad_ring = 0, bad_dir = 0;

	memset(buf, 0, 16384);
	for (nr = 0; nr < 256; nr++) {
		bool ctx_has = false, ring_has = false;

		for (i = 0; i < KT_ARRAY(requests); i++) {
			if (requests[i].nr != nr)
				continue;
			*(requests[i].ring ? &ring_has : &ctx_has) = true;
		}
		for (size = 0; size < 512; size += 8) {
			if (!ctx_has)
				bad += kt_ioctl(ctx, REQ(nr, size), buf) != -ENOTTY;
			if (!ring_has)
				bad_ring += kt_ioctl(ring.arg.fd, REQ(nr, size), buf) != -ENOTTY;
		}
	}
	kt_is(bad, 0, "unknown numbers on the device are ENOTTY");
	kt_is(bad_ring, 0, "unknown numbers on a ring are ENOTTY");
	for (i = 0; i < KT_ARRAY(requests); i++) {
		const struct request *r = &requests[i];

		bad_dir += kt_ioctl(fd_of(r), _IOC(_IOC_READ, DMASTREAM_IOC_MAGIC, r->nr,
						   r->size), buf) != -ENOTTY;
		bad_dir += kt_ioctl(fd_of(r), _IOC(_IOC_NONE, DMASTREAM_IOC_MAGIC, r->nr,
						   r->size), buf) != -ENOTTY;
		bad_dir += kt_ioctl(fd_of(r), _IOC(_IOC_READ | _IOC_WRITE,
						   DMASTREAM_IOC_MAGIC + 1, r->nr,
						   r->size), buf) != -ENOTTY;
	}
	kt_is(bad_dir, 0, "another direction or type is ENOTTY");
}

/* A member that must be zero. */
static const struct must_be_zero {
	const char	*what;
	unsigned int	nr, size, at, len;
	bool		ring;
	unsigned int	known;		/* lowest bits that mean something */
} zeroes[] = {
#define Z(name, nr, type, member) ZK(name, nr, type, member, 0)
#define ZK(name, nr, type, member, known) \
	{ name "." #member, nr, sizeof(struct type), offsetof(struct type, member), \
	  sizeof(((struct type *)0)->member), nr == 0x20, known }
	Z("QUERY", 0x00, dmastream_query, flags),
	Z("POOL_CREATE", 0x01, dmastream_pool_create, flags),
	Z("POOL_ATTACH", 0x02, dmastream_pool_attach, flags),
	Z("POOL_ATTACH", 0x02, dmastream_pool_attach, reserved),
	Z("GROUP_CREATE", 0x03, dmastream_group_create, flags),
	ZK("RING_CREATE", 0x04, dmastream_ring_create, flags, 1),
	/* on a ring that is not polled */
	Z("RING_CREATE", 0x04, dmastream_ring_create, poll_idle_us),
	Z("LISTEN", 0x05, dmastream_listen, flags),
	Z("CONNECT", 0x07, dmastream_connect, reserved),
	Z("SHUTDOWN", 0x08, dmastream_shutdown, flags),
	Z("STREAM_QUERY", 0x0a, dmastream_stream_query, flags),
	Z("CANCEL", 0x0b, dmastream_cancel, flags),
	Z("ENTER", 0x20, dmastream_enter, flags),
	Z("ENTER", 0x20, dmastream_enter, reserved),
#undef ZK
#undef Z
};

/* A valid one of each, so that the one bit is what is refused. */
static void fill(unsigned int nr, unsigned char *p)
{
	struct dmastream_pool_create *pool = (void *)p;
	struct dmastream_ring_create *rc = (void *)p;
	struct dmastream_listen *l = (void *)p;
	struct dmastream_connect *c = (void *)p;

	switch (nr) {
	case 0x01:
		pool->size = sysconf(_SC_PAGESIZE);
		pool->numa_node = -1;
		break;
	case 0x04:
		rc->sq_entries = 8;
		rc->cq_entries = 8;
		rc->cq_recv_min = 1;
		break;
	case 0x05:
		strcpy(l->service, "abi-test");
		l->backlog = 1;
		break;
	case 0x07:
		c->peer.family = AF_INET;
		c->peer.addr[0] = 127;
		c->peer.addr[3] = 1;
		strcpy(c->service, "abi-test");
		c->timeout_ms = 100;
		break;
	}
}

static void test_zeroes(void)
{
	unsigned int i, bit;

	for (i = 0; i < KT_ARRAY(zeroes); i++) {
		const struct must_be_zero *z = &zeroes[i];
		int bad = 0;

		for (bit = z->known; bit < z->len * 8; bit++) {
			memset(buf, 0, z->size);
			fill(z->nr, buf);
			buf[z->at + bit / 8] |= 1 << bit % 8;
			bad += kt_ioctl(z->ring ? ring.arg.fd : ctx, REQ(z->nr, z->size),
					buf) != -EINVAL;
		}
		kt_is(bad, 0, "%s: each bit is refused", z->what);
	}
}

/* ---- creates whose structure cannot be written to ---- */

static bool same_handles(const long long *before)
{
	static const char * const name[] = {
		"pools", "groups", "rings", "listeners", "streams"
	};
	unsigned int i;

	for (i = 0; i < KT_ARRAY(name); i++)
		if (kt_fdinfo(ctx, name[i]) != before[i])
			return false;
	return true;
}

static void readonly(const char *what, unsigned long req, const void *arg, size_t size)
{
	long page = sysconf(_SC_PAGESIZE);
	long long before[5] = {
		kt_fdinfo(ctx, "pools"), kt_fdinfo(ctx, "groups"), kt_fdinfo(ctx, "rings"),
		kt_fdinfo(ctx, "listeners"), kt_fdinfo(ctx, "streams"),
	};
	uint64_t used = kt_quota_settled(ctx);
	int fds = kt_nr_fds(), i, bad = 0;
	unsigned char *p;

	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		kt_die("mmap");
	memcpy(p, arg, size);
	mprotect(p, page, PROT_READ);
	for (i = 0; i < 50; i++)
		bad += kt_ioctl(ctx, req, p) != -EFAULT;
	kt_is(bad, 0, "%s into read-only memory is EFAULT", what);
	kt_is(kt_nr_fds(), fds, "%s: no descriptor is left", what);
	kt_ok(same_handles(before), "%s: no handle is left", what);
	kt_ok(kt_quota_comes_to(ctx, used), "%s: no memory is left", what);
	munmap(p, page);
}

static void test_readonly(void)
{
	struct dmastream_pool_create pc = { .size = 1 << 20, .numa_node = -1 };
	struct dmastream_ring_create rc = { .sq_entries = 64, .cq_entries = 64, .cq_recv_min = 1 };
	struct dmastream_group_create gc = { .entries = 64, .buf_len = 4096 };
	struct dmastream_listen l = { .service = "abi-readonly", .backlog = 4 };
	struct dmastream_query q = { 0 };
	struct dmastream_pool_create pool;
	struct dmastream_pool_attach at;

	if (kt_pool(ctx, 1 << 20, &pool))
		kt_die("POOL_CREATE");
	gc.pool = pool.pool;
	at = (struct dmastream_pool_attach) { .fd = pool.fd };
	readonly("QUERY", DMASTREAM_IOC_QUERY, &q, sizeof(q));
	readonly("POOL_CREATE", DMASTREAM_IOC_POOL_CREATE, &pc, sizeof(pc));
	readonly("POOL_ATTACH", DMASTREAM_IOC_POOL_ATTACH, &at, sizeof(at));
	kt_is(kt_fdinfo(pool.fd, "attachments"), 1, "POOL_ATTACH: no attachment is left");
	readonly("GROUP_CREATE", DMASTREAM_IOC_GROUP_CREATE, &gc, sizeof(gc));
	readonly("RING_CREATE", DMASTREAM_IOC_RING_CREATE, &rc, sizeof(rc));
	readonly("LISTEN", DMASTREAM_IOC_LISTEN, &l, sizeof(l));
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &l), 0, "LISTEN: the name is free afterwards");
	close(l.fd);
	close(pool.fd);
}

/* ---- numbers at the edges ---- */

static const uint64_t edges[] = {
	0, 1, 7, 4095, 4096, 4097, 0x7fffffff, 0x80000000, 0x80001000, 0xfffff000, 0xffffffff,
	0x100000000, 0x7ffffffffffff000, 0x7fffffffffffffff, 0x8000000000000000,
	0xfffffffffffff000, 0xffffffffffffffff,
};

static bool is_pow2(uint64_t v)
{
	return v && !(v & (v - 1));
}

static void test_edges(void)
{
	struct dmastream_query q = { 0 };
	struct dmastream_pool_create pool, p;
	unsigned int i, k, bad = 0;
	int got;

	kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q);
	for (i = 0; i < KT_ARRAY(edges); i++) {
		bool fits = edges[i] && !(edges[i] & 4095) && edges[i] <= q.max_pool_bytes;

		got = kt_pool(ctx, edges[i], &p);
		if (!got)
			close(p.fd);
		bad += fits ? got && got != -ENOMEM && got != -EDQUOT : got != -EINVAL;
	}
	kt_is(bad, 0, "POOL_CREATE: sizes at the edges");
	got = kt_pool(ctx, (q.max_pool_bytes & ~4095ULL) + 4096, &p);
	kt_is(got, -EINVAL, "POOL_CREATE: a page above the limit");

	if (kt_pool(ctx, 1 << 20, &pool))
		kt_die("POOL_CREATE");
	for (bad = i = 0; i < KT_ARRAY(edges); i++) {
		for (k = 0; k < KT_ARRAY(edges); k++) {
			struct dmastream_group_create g = {
				.pool = pool.pool,
				.entries = edges[i],
				.buf_len = edges[k],
			};
			bool fits = is_pow2(g.entries) && g.entries <= q.max_group_entries &&
				    g.buf_len && g.buf_len <= 1 << 20;

			got = kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &g);
			if (!got)
				close(g.fd);
			bad += got != (fits ? 0 : -EINVAL);
		}
	}
	kt_is(bad, 0, "GROUP_CREATE: entries and lengths at the edges");
	close(pool.fd);
}

static void test_ring_edges(void)
{
	static const uint32_t v[] = {
		0, 1, 2, 3, 8, 4096, 0x7fffffff, 0x80000000, 0xffffffff
	};
	struct dmastream_query q = { 0 };
	unsigned int n = KT_ARRAY(v), i, bad = 0;

	kt_ioctl(ctx, DMASTREAM_IOC_QUERY, &q);
	for (i = 0; i < n * n * n * n; i++) {
		struct dmastream_ring_create r = {
			.sq_entries = v[i % n], .cq_entries = v[i / n % n],
			.cq_recv_min = v[i / n / n % n], .indirect_bytes = v[i / n / n / n],
		};
		bool fits = is_pow2(r.sq_entries) && r.sq_entries <= q.max_sq_entries &&
			    is_pow2(r.cq_entries) && r.cq_entries <= q.max_cq_entries &&
			    r.cq_entries >= 2 && r.cq_recv_min &&
			    r.cq_recv_min < r.cq_entries &&
			    r.indirect_bytes <= q.max_indirect_bytes;
		int got;

		if (fits && i % 7)	/* not all of the good ones */
			continue;
		got = kt_ioctl(ctx, DMASTREAM_IOC_RING_CREATE, &r);
		if (!got)
			close(r.fd);
		bad += got != (fits ? 0 : -EINVAL);
	}
	kt_is(bad, 0, "RING_CREATE: all pairs of numbers at the edges");
}

static void test_handles(void)
{
	static const uint32_t h[] = { 0, 99, 1024, 1025, 65536, 65537, 0x7fffffff, 0xffffffff };
	unsigned int i, bad = 0;

	for (i = 0; i < KT_ARRAY(h); i++) {
		struct dmastream_shutdown sh = { .stream = h[i] };
		struct dmastream_stream_query sq = { .stream = h[i] };
		struct dmastream_cancel ca = { .stream = h[i] };
		struct dmastream_group_create g = { .pool = h[i], .entries = 8, .buf_len = 1 };
		struct dmastream_close cp = { .type = DMASTREAM_OBJ_POOL, .handle = h[i] };
		struct dmastream_close cs = { .type = DMASTREAM_OBJ_STREAM, .handle = h[i] };
		struct dmastream_accept ac = { .listener = h[i] };
		struct dmastream_pool_attach at = { .fd = h[i] == 0 ? ctx : (int)h[i] };

		bad += kt_ioctl(ctx, DMASTREAM_IOC_SHUTDOWN, &sh) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_STREAM_QUERY, &sq) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_CANCEL, &ca) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &g) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &cp) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &cs) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_ACCEPT, &ac) != -EBADF;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_POOL_ATTACH, &at) != -EBADF;
	}
	kt_is(bad, 0, "handles that name nothing are EBADF");
}

/* ---- CLOSE, LISTEN, CONNECT: what they check themselves ---- */

static void test_close(void)
{
	struct dmastream_pool_create pool;
	unsigned int type, bad = 0;
	long long pools;

	if (kt_pool(ctx, 1 << 16, &pool))
		kt_die("POOL_CREATE");
	pools = kt_fdinfo(ctx, "pools");
	for (type = 0; type < 40; type++) {
		struct dmastream_close c = { .type = type, .handle = pool.pool };

		if (type == DMASTREAM_OBJ_POOL || type == DMASTREAM_OBJ_STREAM)
			continue;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &c) != -EINVAL;
	}
	for (type = 0; type < 32; type++) {
		struct dmastream_close c = {
			.type = DMASTREAM_OBJ_POOL, .handle = pool.pool, .flags = 1U << type,
		};

		bad += kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &c) != -EINVAL;
		if (c.flags & DMASTREAM_CLOSE_FLAGS)
			continue;
		c.type = DMASTREAM_OBJ_STREAM;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &c) != -EINVAL;
	}
	kt_is(bad, 0, "CLOSE: unknown types and flags are EINVAL");
	kt_is(kt_fdinfo(ctx, "pools"), pools, "CLOSE: a refused one changed nothing");
	close(pool.fd);
	kt_ioctl(ctx, DMASTREAM_IOC_CLOSE, &(struct dmastream_close) {
		.type = DMASTREAM_OBJ_POOL, .handle = pool.pool });
}

static void test_names(void)
{
	struct dmastream_listen l, full;
	unsigned int i, bad = 0;

	memset(&full, 0, sizeof(full));
	memset(full.service, 'x', sizeof(full.service));
	full.backlog = 1;
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &full), -EINVAL, "a name without its NUL");
	full.service[DMASTREAM_SERVICE_MAX - 1] = 0;
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &full), 0, "the longest name");
	close(full.fd);
	for (i = 2; i < DMASTREAM_SERVICE_MAX; i++) {
		memset(&l, 0, sizeof(l));
		l.backlog = 1;
		l.service[0] = 'a';
		l.service[i] = 'b';
		bad += kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &l) != -EINVAL;
	}
	kt_is(bad, 0, "something behind the NUL of a name");
	for (bad = 0, i = 1; i < 256; i++) {
		if (i > ' ' && i < 127)
			continue;
		memset(&l, 0, sizeof(l));
		l.backlog = 1;
		l.service[0] = 'a';
		l.service[1] = i;
		bad += kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &l) != -EINVAL;
	}
	kt_is(bad, 0, "letters that a name may not have");
	memset(&l, 0, sizeof(l));
	strcpy(l.service, "abi-backlog");
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &l), -EINVAL, "a backlog of 0");
	l.backlog = 0xffffffff;
	kt_is(kt_ioctl(ctx, DMASTREAM_IOC_LISTEN, &l), -EINVAL, "a backlog of 2^32-1");
}

static int connect_to(const struct dmastream_addr *a)
{
	struct dmastream_connect c = { .service = "abi", .timeout_ms = 1, .peer = *a };

	return kt_ioctl(ctx, DMASTREAM_IOC_CONNECT, &c);
}

/* Good addresses get as far as the options, and those name nothing. */
static void test_addresses(void)
{
	static const struct {
		const char	*text;
		unsigned int	scope;
		int		want;
	} a[] = {
		{ "127.0.0.1", 0, -EINVAL }, { "10.1.2.3", 0, -EINVAL }, { "fd00::1", 0, -EINVAL },
		{ "fe80::1", 1, -EINVAL }, { "::1", 0, -EINVAL },
	};
	static const struct {
		const char	*text;
		unsigned int	scope;
	} bad_addr[] = {
		{ "0.0.0.0", 0 }, { "255.255.255.255", 0 }, { "224.0.0.1", 0 }, { "10.1.2.3", 1 },
		{ "::", 0 }, { "ff02::1", 0 }, { "fe80::1", 0 }, { "fd00::1", 1 },
		{ "::ffff:10.1.2.3", 0 },
	};
	struct dmastream_connect c;
	struct dmastream_addr addr;
	unsigned int i, bad = 0;

	for (i = 0; i < KT_ARRAY(a); i++) {
		memset(&c, 0, sizeof(c));
		strcpy(c.service, "abi");
		c.timeout_ms = 1;
		c.opts.flags = DMASTREAM_STREAM_POSTED;
		c.peer.family = strchr(a[i].text, ':') ? AF_INET6 : AF_INET;
		c.peer.scope_id = a[i].scope;
		inet_pton(c.peer.family, a[i].text, c.peer.addr);
		bad += kt_ioctl(ctx, DMASTREAM_IOC_CONNECT, &c) != -EBADF;
	}
	kt_is(bad, 0, "CONNECT: good addresses get past the check");
	for (bad = i = 0; i < KT_ARRAY(bad_addr); i++) {
		memset(&addr, 0, sizeof(addr));
		addr.family = strchr(bad_addr[i].text, ':') ? AF_INET6 : AF_INET;
		addr.scope_id = bad_addr[i].scope;
		inet_pton(addr.family, bad_addr[i].text, addr.addr);
		bad += connect_to(&addr) != -EINVAL;
	}
	kt_is(bad, 0, "CONNECT: addresses that name no node are EINVAL");
	memset(&addr, 0, sizeof(addr));
	addr.family = AF_INET;
	addr.addr[0] = 10;
	addr.addr[15] = 1;
	kt_is(connect_to(&addr), -EINVAL, "CONNECT: something behind an IPv4 address");
	for (bad = i = 0; i < 64; i++) {
		if (i == AF_INET || i == AF_INET6)
			continue;
		addr.family = i;
		bad += connect_to(&addr) != -EAFNOSUPPORT;
	}
	kt_is(bad, 0, "CONNECT: other families are EAFNOSUPPORT");
}

static int connect_opts(const struct dmastream_stream_opts *opts, uint32_t flags, uint32_t ms)
{
	struct dmastream_connect c = {
		.service = "abi", .timeout_ms = ms, .flags = flags, .opts = *opts,
		.peer = { .family = AF_INET, .addr = { 127, 0, 0, 1 } },
	};

	return kt_ioctl(ctx, DMASTREAM_IOC_CONNECT, &c);
}

static int accept_opts(const struct dmastream_stream_opts *opts)
{
	struct dmastream_accept a = { .listener = 77, .opts = *opts };

	return kt_ioctl(ctx, DMASTREAM_IOC_ACCEPT, &a);
}

static void test_opts(void)
{
	struct dmastream_group_create g = { .entries = 8, .buf_len = 4096 };
	struct dmastream_stream_opts good, o;
	struct dmastream_pool_create pool;
	unsigned int i, bad = 0;
	int other = kt_open();
	struct kt_ring alien;

	if (kt_pool(ctx, 1 << 16, &pool) || kt_ring(other, &alien, 8, 8, 1, 0))
		kt_die("setup");
	g.pool = pool.pool;
	if (kt_ioctl(ctx, DMASTREAM_IOC_GROUP_CREATE, &g))
		kt_die("GROUP_CREATE");
	good = (struct dmastream_stream_opts) { .ring = ring.arg.ring, .small_group = g.group };
	for (i = 3; i < 64; i++) {
		o = good;
		o.flags = 1ULL << i;
		bad += connect_opts(&o, 0, 100) != -EINVAL;
	}
	for (i = 1; i < 32; i++)
		bad += connect_opts(&good, 1U << i, 100) != -EINVAL;
	kt_is(bad, 0, "CONNECT: unknown flags are EINVAL");
	o = good;
	o.flags = DMASTREAM_STREAM_LATENCY;
	kt_is(accept_opts(&o), -EINVAL, "ACCEPT: the lane is not its choice");
	kt_is(accept_opts(&good), -EBADF, "ACCEPT: but for that, it would look for the listener");
	o = good;
	o.weight = DMASTREAM_WEIGHT_MAX + 1;
	kt_is(connect_opts(&o, 0, 100), -EINVAL, "options: a weight that is too large");
	kt_is(connect_opts(&good, 0, 0), -EINVAL, "CONNECT: a timeout of 0");
	o = good;
	o.small_group = 0;
	kt_is(connect_opts(&o, 0, 100), -EINVAL, "options: pooled without a small group");
	o = good;
	o.flags = DMASTREAM_STREAM_POSTED;
	kt_is(connect_opts(&o, 0, 100), -EINVAL, "options: posted with a group");
	o = good;
	o.flags = DMASTREAM_STREAM_PUSH;
	kt_is(connect_opts(&o, 0, 100), -EINVAL, "options: push without posted");
	o = good;
	o.ring = 77;
	kt_is(connect_opts(&o, 0, 100), -EBADF, "options: no such ring");
	o = good;
	o.small_group = 77;
	kt_is(connect_opts(&o, 0, 100), -EBADF, "options: no such small group");
	o = good;
	o.large_group = 77;
	kt_is(connect_opts(&o, 0, 100), -EBADF, "options: no such large group");
	kt_is(kt_fdinfo(ctx, "streams"), 0, "CONNECT: refused ones left no stream");
	kt_ring_close(&alien);
	close(other);
	close(g.fd);
	close(pool.fd);
}

int main(void)
{
	unsigned int i;

	setup();
	KT_RUN(test_query());
	KT_RUN(test_numbers());
	for (i = 0; i < KT_ARRAY(requests); i++) {
		test_sizes(&requests[i]);
		test_memory(&requests[i]);
	}
	KT_RUN(test_zeroes());
	KT_RUN(test_readonly());
	KT_RUN(test_edges());
	KT_RUN(test_ring_edges());
	KT_RUN(test_handles());
	KT_RUN(test_close());
	KT_RUN(test_names());
	KT_RUN(test_addresses());
	KT_RUN(test_opts());
	return kt_end();
}
