// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: the verbs transport over a real RDMA device (rxe will do).
 *
 * The sources of the transport are built a second time into this object, with
 * what they call upwards replaced: so that a test sees each packet, each answer
 * and its status, and can send what no path would.  Below them everything is
 * real: the device, rdma_cm, pools.  dms_path_kill() is real too; its work is
 * the tests' own, see t_kill_work().
 *
 * A test makes pairs: two ends in this kernel, connected over the first device
 * that this module uses, by its own address.  No device is a failure.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "dms_rdma_bed.h"

/* ---- cases ---- */

static void t_connect(struct kunit *test)
{
	struct t_pair p;
	struct dms_rdma *tp;

	if (t_pair_new(test, &p)) {
		KUNIT_EXPECT_EQ(test, p.a->path.reads_max, t_ibdev->max_reads);
		KUNIT_EXPECT_EQ(test, p.b->path.reads_max, t_ibdev->max_reads);
		KUNIT_EXPECT_EQ(test, p.a->path.slots, (u32)T_SLOTS);
		tp = p.a->path.priv;
		KUNIT_EXPECT_EQ(test, tp->nr_rx, (u32)T_SLOTS);
		KUNIT_EXPECT_EQ(test, tp->nr_keys, p.a->path.keys_max);
		KUNIT_EXPECT_GE(test, p.a->path.seg_pages, 1U);
	}
	t_pair_free(test, &p);
}

/* Both directions at once, never more than the other end has receives for. */
static void t_packets(struct kunit *test)
{
	static const u32 lens[] = { 4, 5, 64, 1000, 4096, T_SLOT_BYTES };
	const int count = 600;
	struct t_pair p;
	int na = 0, nb = 0;

	if (!t_pair_new(test, &p))
		goto out;
	while ((na < count || nb < count) && !p.a->path.err_class && !p.b->path.err_class) {
		int before = na + nb;

		if (na < count && !t_send(p.a, p.b, lens[na % ARRAY_SIZE(lens)]))
			na++;
		if (nb < count && !t_send(p.b, p.a, lens[nb % ARRAY_SIZE(lens)]))
			nb++;
		if (before == na + nb)
			usleep_range(50, 200);
	}
	t_wait(test, p.b, atomic_read(&p.b->reposted) == count);
	t_wait(test, p.a, atomic_read(&p.a->reposted) == count);
	t_wait(test, p.a, atomic_read(&p.a->sent) == count);
	t_wait(test, p.b, atomic_read(&p.b->sent) == count);
	t_expect_alive(test, p.a);
	t_expect_alive(test, p.b);
out:
	t_pair_free(test, &p);
}

static void t_pull_one(struct kunit *test, struct t_pair *p, u64 off, u32 len, u64 to)
{
	int read = atomic_read(&p->a->read);
	struct dms_key *key = t_expose(p->b, off, len);
	u32 i, at;

	KUNIT_ASSERT_NOT_NULL(test, key);
	t_tell(test, p->b, p->a);
	/* neither a bus address nor the kernel's */
	KUNIT_EXPECT_EQ(test, key->addr >> 32, (u64)(key - p->b->path.keys + 1));
	KUNIT_EXPECT_EQ(test, key->addr & ~PAGE_MASK, off & ~PAGE_MASK);

	/* in pieces that a READ's scatter list can take */
	for (at = 0; at < len; at += i) {
		i = dms_pool_sge_span(t_pool[0], to + at, len - at, 16);
		while (t_read(p->a, key->addr + at, key->rkey, to + at, i) == -EAGAIN)
			usleep_range(50, 200);
		read++;
	}
	t_wait(test, p->a, atomic_read(&p->a->read) == read || p->a->path.err_class);
	for (i = 0; i < len; i++) {
		if (*t_byte(0, to + i) == *t_byte(1, off + i))
			continue;
		KUNIT_FAIL(test, "byte %u of %u at %llu differs", i, len, off);
		break;
	}
	KUNIT_EXPECT_EQ(test, t_revoke(p->b, key), 0);
}

static void t_pull(struct kunit *test)
{
	struct t_pair p;
	u32 seg;
	u64 i;

	for (i = 0; i < T_POOL; i += 4)
		*(u32 *)t_byte(1, i) = i * 2654435761U;
	if (t_pair_new(test, &p)) {
		seg = p.b->path.seg_pages << PAGE_SHIFT;
		t_pull_one(test, &p, 0, 1, 0);
		t_pull_one(test, &p, 4095, 2, 77);
		t_pull_one(test, &p, PAGE_SIZE * 3 + 17, PAGE_SIZE * 5, 8191);
		t_pull_one(test, &p, 0, seg, 1);
		t_pull_one(test, &p, seg, seg, 0);
		/* seg_pages pages that are not aligned touch one more */
		t_pull_one(test, &p, 100, seg, PAGE_SIZE);
		t_wait(test, p.b, atomic_read(&p.b->revoked) == 6 || p.b->path.err_class);
		t_expect_alive(test, p.a);
		t_expect_alive(test, p.b);
	}
	t_pair_free(test, &p);
}

/* The bytes of a tile from @at on, side by side for the peer; pool 1 to pool 0 at 0. */
static void t_pull_part(struct kunit *test, struct t_pair *p, const struct dms_tile *tile,
			u32 at, u32 len)
{
	int read = atomic_read(&p->a->read), revoked = atomic_read(&p->b->revoked);
	struct dms_key *key = t_expose_tile(p->b, tile, at, len);
	struct dms_elem piece;
	u32 i, n;

	KUNIT_EXPECT_NOT_NULL(test, key);
	if (!key)
		return;
	t_tell(test, p->b, p->a);
	memset(t_byte(0, 0), 0xee, PAGE_SIZE);
	for (i = 0; i < len; i += n) {
		n = dms_pool_sge_span(t_pool[0], i, len - i, 16);
		while (t_read(p->a, key->addr + i, key->rkey, i, n) == -EAGAIN)
			usleep_range(50, 200);
		read++;
	}
	t_wait(test, p->a, atomic_read(&p->a->read) == read || p->a->path.err_class);
	for (i = 0; i < len; i++) {
		if (dms_tile_at(tile, at + i, &piece) && *t_byte(0, i) == *t_byte(1, piece.off))
			continue;
		KUNIT_FAIL(test, "byte %u of %u differs", i, len);
		break;
	}
	KUNIT_EXPECT_EQ(test, t_revoke(p->b, key), 0);
	t_wait(test, p->b, atomic_read(&p->b->revoked) == revoked + 1 || p->b->path.err_class);
}

/* One key over rows of whole pages; none over others, and nothing is posted for it. */
static void t_pull_tile(struct kunit *test)
{
	const struct dms_tile pages = {
		.off = 3 * PAGE_SIZE, .pitch = 3 * PAGE_SIZE, .rows = 20, .row_bytes = 2 * PAGE_SIZE,
	};
	const struct dms_tile odd = {
		.off = 100, .pitch = 3 * PAGE_SIZE, .rows = 20, .row_bytes = 2 * PAGE_SIZE,
	};
	struct t_pair p;
	u64 i;

	for (i = 0; i < T_POOL; i += 4)
		*(u32 *)t_byte(1, i) = i * 2654435761U;
	if (t_pair_new(test, &p)) {
		t_pull_part(test, &p, &pages, 0, 40 * PAGE_SIZE);
		t_pull_part(test, &p, &pages, 2 * PAGE_SIZE, 3 * PAGE_SIZE);
		/* as after a HOLD: from inside of a row, to inside of another one */
		t_pull_part(test, &p, &pages, PAGE_SIZE + 77, 4 * PAGE_SIZE);
		t_pull_part(test, &p, &odd, PAGE_SIZE, PAGE_SIZE);
		KUNIT_EXPECT_NULL(test, t_expose_tile(p.b, &odd, 0, 2 * PAGE_SIZE + 1));
		KUNIT_EXPECT_NULL(test, t_expose_tile(p.b, &odd, PAGE_SIZE, 2 * PAGE_SIZE));
		t_pull_part(test, &p, &pages, 0, 1);
		t_expect_alive(test, p.a);
		t_expect_alive(test, p.b);
	}
	t_pair_free(test, &p);
}

/* A key over two rows ends with the second: what lies behind it is not to be had. */
static void t_byte_past_tile(struct kunit *test)
{
	const struct dms_tile tile = {
		.off = 0, .pitch = 2 * PAGE_SIZE, .rows = 4, .row_bytes = PAGE_SIZE,
	};
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_READ, .num_sge = 1 } };
	struct dms_key *key;
	struct ib_sge sge;
	struct t_pair p;

	if (!t_pair_new(test, &p))
		goto out;
	key = t_expose_tile(p.b, &tile, 0, 2 * PAGE_SIZE);
	KUNIT_EXPECT_NOT_NULL(test, key);
	if (!key)
		goto out;
	t_tell(test, p.b, p.a);
	wr.remote_addr = key->addr + 2 * PAGE_SIZE - 1;
	wr.rkey = key->rkey;
	dms_pool_sges(t_pool[0], p.a->path.ibdev, 0, 2, &sge, 1);
	sge.lkey = ((struct dms_rdma *)p.a->path.priv)->pd->local_dma_lkey;
	wr.wr.sg_list = &sge;
	memset(t_byte(0, 0), 0xee, 2);
	KUNIT_EXPECT_EQ(test, (int)t_raw(test, p.a, &wr.wr), (int)IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(t_byte(0, 0), 0xee, 2));
out:
	t_pair_free(test, &p);
}

/*
 * What a peer must not get at: each costs it its own queue pair with a remote
 * access error, while another pair goes on.
 */
static void t_refused_access(struct kunit *test, enum ib_wr_opcode op, bool grant,
			     bool revoked, s64 before, u32 ask)
{
	struct ib_rdma_wr wr = { .wr = { .opcode = op, .num_sge = 1 } };
	struct t_pair p, other;
	struct dms_key *key;
	struct ib_sge sge;

	if (!t_pair_new(test, &other))
		goto out_other;
	if (!t_pair_new(test, &p))
		goto out;
	key = grant ? t_grant(p.b, 64, 512) : t_expose(p.b, 64, 512);
	KUNIT_EXPECT_NOT_NULL(test, key);
	if (!key)
		goto out;
	t_tell(test, p.b, p.a);
	wr.remote_addr = key->addr - before;
	wr.rkey = key->rkey;
	if (revoked) {
		KUNIT_EXPECT_EQ(test, t_revoke(p.b, key), 0);
		t_wait(test, p.b, atomic_read(&p.b->revoked) == 1);
	}
	dms_pool_sges(t_pool[0], p.a->path.ibdev, 0, ask, &sge, 1);
	sge.lkey = ((struct dms_rdma *)p.a->path.priv)->pd->local_dma_lkey;
	wr.wr.sg_list = &sge;
	memset(t_byte(0, 0), 0xee, ask);
	memset(t_byte(1, 0), 0x11, 64 + 512 + 64);
	KUNIT_EXPECT_EQ(test, (int)t_raw(test, p.a, &wr.wr), (int)IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(t_byte(0, 0), 0xee, ask));
	KUNIT_EXPECT_NULL(test, memchr_inv(t_byte(1, 0), 0x11, 64 + 512 + 64));

	KUNIT_EXPECT_EQ(test, t_send(other.a, other.b, 100), 0);
	t_wait(test, other.b, atomic_read(&other.b->rx) == 1);
	t_expect_alive(test, other.a);
	t_expect_alive(test, other.b);
out:
	t_pair_free(test, &p);
out_other:
	t_pair_free(test, &other);
}

static void t_revoked_key(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_READ, false, true, 0, 512);
}

static void t_byte_past_key(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_READ, false, false, 0, 513);
}

static void t_byte_before_key(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_READ, false, false, 1, 512);
}

static void t_write_to_key(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_WRITE, false, false, 0, 512);
}

static void t_revoked_grant(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_WRITE, true, true, 0, 512);
}

static void t_byte_past_grant(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_WRITE, true, false, 0, 513);
}

static void t_byte_before_grant(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_WRITE, true, false, 1, 512);
}

static void t_read_of_grant(struct kunit *test)
{
	t_refused_access(test, IB_WR_RDMA_READ, true, false, 0, 512);
}

/* A key of one pair says nothing to the queue pair of another. */
static void t_key_of_another(struct kunit *test)
{
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_READ, .num_sge = 1 } };
	struct t_pair p, other;
	struct dms_key *key;
	struct ib_sge sge;

	if (t_pair_new(test, &p)) {
		if (t_pair_new(test, &other)) {
			key = t_expose(p.b, 0, 512);
			KUNIT_EXPECT_NOT_NULL(test, key);
			t_tell(test, p.b, p.a);
			dms_pool_sges(t_pool[0], t_ibdev, 0, 512, &sge, 1);
			sge.lkey = ((struct dms_rdma *)other.a->path.priv)->pd->local_dma_lkey;
			wr.wr.sg_list = &sge;
			wr.remote_addr = key ? key->addr : 0;
			wr.rkey = key ? key->rkey : 0;
			KUNIT_EXPECT_EQ(test, (int)t_raw(test, other.a, &wr.wr),
					(int)IB_WC_REM_ACCESS_ERR);
			t_expect_alive(test, p.b);
		}
		t_pair_free(test, &other);
	}
	t_pair_free(test, &p);
}

/* No rkey comes twice until its region is another one. */
static void t_reuse(struct kunit *test)
{
	unsigned long *seen = bitmap_zalloc(256, GFP_KERNEL);
	struct t_pair p;
	struct dms_key *key;
	struct ib_mr *mr;
	int i, regions = 1;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	if (!t_pair_new(test, &p))
		goto out;
	/* one key, always the same */
	key = list_first_entry(&p.b->path.keys_free, struct dms_key, node);
	mr = key->mr;
	INIT_LIST_HEAD(&p.b->path.keys_free);
	list_add(&key->node, &p.b->path.keys_free);

	for (i = 0; i < 2 * DMS_KEY_REUSES + 10; i++) {
		KUNIT_EXPECT_PTR_EQ(test, t_expose(p.b, i, 100), key);
		if (key->mr != mr) {
			KUNIT_EXPECT_EQ(test, i % DMS_KEY_REUSES, 0);
			mr = key->mr;
			regions++;
			bitmap_zero(seen, 256);
		}
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(key->rkey & 0xff, seen));
		KUNIT_EXPECT_EQ(test, t_revoke(p.b, key), 0);
		t_wait(test, p.b, atomic_read(&p.b->revoked) == i + 1 || p.b->path.err_class);
		if (atomic_read(&p.b->revoked) != i + 1) {
			/* the next ones would wait as long, each */
			kunit_info(test, "key %d was not revoked\n", i);
			t_say_counters(test);
			break;
		}
	}
	KUNIT_EXPECT_EQ(test, regions, 3);
	t_expect_alive(test, p.b);
out:
	t_pair_free(test, &p);
	bitmap_free(seen);
}

/*
 * The queue pair fails by itself with a revoke posted: the key is not known to
 * be closed, so the answer has to wait for the region's end.
 */
static void t_revoke_flushed(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct dms_rdma *tp;
	struct dms_key *key;
	struct t_pair p;

	if (t_pair_new(test, &p)) {
		tp = p.b->path.priv;
		key = t_expose(p.b, 0, 4096);
		KUNIT_EXPECT_NOT_NULL(test, key);
		KUNIT_EXPECT_EQ(test, ib_modify_qp(tp->qp, &attr, IB_QP_STATE), 0);
		/* may find the path killed by its flushed receives */
		if (key && t_revoke(p.b, key))
			kunit_info(test, "the path was faster\n");
		t_expect_fenced(test, p.b);
		KUNIT_EXPECT_EQ(test, p.b->path.err_class, (u32)DMASTREAM_ERR_PATH);
		KUNIT_EXPECT_EQ(test, atomic_read(&p.b->revoked), 0);
	}
	t_pair_free(test, &p);
}

/* Posts all that a path may have out, at random moments of its end. */
static void t_fence_busy(struct kunit *test)
{
	struct dms_key *key[8];
	struct t_pair p;
	int round, i;

	for (round = 0; round < 8; round++) {
		if (!t_pair_new(test, &p))
			goto out;
		for (i = 0; i < ARRAY_SIZE(key); i++)
			key[i] = t_expose(p.b, i << 16, 1 << 16);
		for (i = 0; i < T_SLOTS; i++) {
			t_send(p.a, p.b, 4000);
			t_send(p.b, p.a, 4000);
			if (i < ARRAY_SIZE(key) && key[i])
				t_read(p.a, key[i]->addr, key[i]->rkey, i << 16,
				       dms_pool_sge_span(t_pool[0], i << 16, 1 << 16, 16));
		}
		usleep_range(round * 200, round * 250 + 1);
		/* the other end sees it go, or goes by itself in the middle */
		dms_path_kill(&p.a->path, DMASTREAM_ERR_LOCAL, 0);
		for (i = 0; i < ARRAY_SIZE(key); i++)
			if (key[i])
				t_revoke(p.b, key[i]);
		if (round & 1)
			dms_path_kill(&p.b->path, DMASTREAM_ERR_LOCAL, 0);
		t_expect_fenced(test, p.a);
		t_expect_fenced(test, p.b);
		t_pair_free(test, &p);
	}
	return;
out:
	t_pair_free(test, &p);
}

/* A path that is killed anywhere between its first step and its last. */
static void t_kill_while_connecting(struct kunit *test)
{
	struct t_pair p;
	int i;

	for (i = 0; i < 24; i++) {
		t_pair_dial(test, &p);
		if (i)
			usleep_range(i * 700, i * 750);
		dms_path_kill(i & 1 ? &p.b->path : &p.a->path, DMASTREAM_ERR_LOCAL, 0);
		t_expect_fenced(test, i & 1 ? p.b : p.a);
		t_pair_free(test, &p);
	}
}

static void t_dial_fails(struct kunit *test, struct t_end *e, u32 err_class, u32 err_detail)
{
	t_expect_fenced(test, e);
	KUNIT_EXPECT_EQ(test, e->path.err_class, err_class);
	KUNIT_EXPECT_EQ(test, e->path.err_detail, err_detail);
	KUNIT_EXPECT_FALSE(test, completion_done(&e->up));
	t_end_free(test, e);
}

static void t_nobody_listens(struct kunit *test)
{
	struct t_end *e = t_end_new(test, 1);

	KUNIT_EXPECT_EQ(test, t_dial(e, T_PORT + 1), 0);
	t_dial_fails(test, e, DMASTREAM_ERR_PATH, RDMA_CM_EVENT_REJECTED + 256);
}

static void t_nobody_there(struct kunit *test)
{
	struct t_end *e = t_end_new(test, 1);
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(T_PORT),
		.sin_addr.s_addr = htonl(0xc0000201),	/* 192.0.2.1, of documentation */
	};
	struct sockaddr_storage ss = {};
	unsigned int limit = dms_param_handshake_ms;
	unsigned long start = jiffies;

	dms_param_handshake_ms = 10000;
	memcpy(&ss, &to, sizeof(to));
	dms_cm_dial(&e->path, &t_addr, &ss);
	t_expect_fenced(test, e);
	KUNIT_EXPECT_NE(test, e->path.err_class, 0U);
	KUNIT_EXPECT_LT(test, jiffies_to_msecs(jiffies - start),
			dms_param_handshake_ms * 2 + 2000);
	dms_param_handshake_ms = limit;
	t_end_free(test, e);
}

static void t_stale_cookie(struct kunit *test)
{
	u64 refused = dms_stat_sum(DMS_STAT_REFUSED + DMASTREAM_REFUSED_AUTH);
	struct t_end *a = t_end_new(test, 1), *b = t_end_new(test, 2);

	WRITE_ONCE(t_acceptor, b);
	KUNIT_EXPECT_EQ(test, t_dial(a, T_PORT), 0);
	t_dial_fails(test, a, DMASTREAM_ERR_REFUSED, DMASTREAM_REFUSED_AUTH);
	WRITE_ONCE(t_acceptor, NULL);
	KUNIT_EXPECT_EQ(test, dms_stat_sum(DMS_STAT_REFUSED + DMASTREAM_REFUSED_AUTH),
			refused + 1);
	KUNIT_EXPECT_FALSE(test, b->used);
	t_end_free(test, b);
}

/* The queue pair's depth is not what the HELLO said. */
static void t_other_slots(struct kunit *test)
{
	struct t_end *a = t_end_new(test, 1), *b = t_end_new(test, 1);

	b->session.theirs.slots = T_SLOTS / 2;
	WRITE_ONCE(t_acceptor, b);
	KUNIT_EXPECT_EQ(test, t_dial(a, T_PORT), 0);
	t_dial_fails(test, a, DMASTREAM_ERR_REFUSED, DMASTREAM_REFUSED_MALFORMED);
	WRITE_ONCE(t_acceptor, NULL);
	t_end_free(test, b);
}

/* A peer that serves fewer READs: the dialler has no more in flight. */
static void t_fewer_reads(struct kunit *test)
{
	struct t_pair p;
	struct list_head *at;
	u32 reads = t_ibdev->max_reads, n = 0;

	if (reads < 2)
		return;
	t_ibdev->max_reads = reads / 2;
	t_pair_dial(test, &p);
	if (t_pair_up(test, &p)) {
		KUNIT_EXPECT_EQ(test, p.a->path.reads_max, reads / 2);
		KUNIT_EXPECT_EQ(test, p.b->path.reads_max, reads / 2);
		/* as if the answer had said so */
		dms_cm_lower_reads(&p.a->path, 1);
		list_for_each(at, &p.a->path.reads_free)
			n++;
		KUNIT_EXPECT_EQ(test, p.a->path.reads_max, 1U);
		KUNIT_EXPECT_EQ(test, n, 1U);
	}
	t_ibdev->max_reads = reads;
	t_pair_free(test, &p);
}

/* A packet that is longer than a slot is the sender's fault. */
static void t_too_long(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .num_sge = 1 };
	struct t_pair p;
	struct ib_sge sge;

	if (t_pair_new(test, &p)) {
		dms_pool_sges(t_pool[0], t_ibdev, 0, T_SLOT_BYTES + 1, &sge, 1);
		sge.length = T_SLOT_BYTES + 1;
		sge.lkey = ((struct dms_rdma *)p.a->path.priv)->pd->local_dma_lkey;
		wr.sg_list = &sge;
		KUNIT_EXPECT_NE(test, (int)t_raw(test, p.a, &wr), (int)IB_WC_SUCCESS);
		t_expect_fenced(test, p.b);
		KUNIT_EXPECT_EQ(test, p.b->path.err_class, (u32)DMASTREAM_ERR_PATH);
		KUNIT_EXPECT_EQ(test, atomic_read(&p.b->rx), 0);
	}
	t_pair_free(test, &p);
}

/* A peer that invalidates a key that is not its own loses its session. */
static void t_remote_invalidation(struct kunit *test)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV, .num_sge = 1 };
	int kills = atomic_read(&t_session_kills);
	struct dms_key *key;
	struct t_pair p;
	struct ib_sge sge;

	if (t_pair_new(test, &p)) {
		key = t_expose(p.b, 0, 512);
		KUNIT_EXPECT_NOT_NULL(test, key);
		t_tell(test, p.b, p.a);
		dms_pool_sges(t_pool[0], t_ibdev, 0, 100, &sge, 1);
		sge.lkey = ((struct dms_rdma *)p.a->path.priv)->pd->local_dma_lkey;
		wr.sg_list = &sge;
		wr.ex.invalidate_rkey = key ? key->rkey : 0;
		t_raw(test, p.a, &wr);
		t_expect_fenced(test, p.b);
		KUNIT_EXPECT_EQ(test, atomic_read(&t_session_kills), kills + 1);
		KUNIT_EXPECT_EQ(test, p.b->path.err_class, (u32)DMASTREAM_ERR_PROTOCOL);
	}
	t_pair_free(test, &p);
}

/* The n-th post fails, for n through the making of a pair and its first traffic. */
static void t_post_fails(struct kunit *test)
{
	struct t_pair p;
	int n;

	for (n = 0; n < 2 * T_SLOTS + 12; n += n % T_SLOTS < 4 || n > 2 * T_SLOTS ? 1 : 15) {
		struct dms_key *key;
		int i;

		atomic_set(&dms_rdma_fail_post, n);
		t_pair_dial(test, &p);
		if (n < 2 * T_SLOTS) {
			/* one end fails, the other one hears of it, or is never asked */
			t_expect_fenced(test, p.a);
		} else if (t_pair_up(test, &p)) {
			for (i = 0; i < 4; i++) {
				if (t_send(p.a, p.b, 100))
					dms_path_kill(&p.a->path, DMASTREAM_ERR_LOCAL, 0);
				key = t_expose(p.b, 0, 100);
				if (!key || t_revoke(p.b, key))
					dms_path_kill(&p.b->path, DMASTREAM_ERR_LOCAL, 0);
			}
		}
		atomic_set(&dms_rdma_fail_post, -1);
		t_pair_free(test, &p);
	}
}

/*
 * Each allocation of a queue pair's making fails once, on either side.  Needs
 * failslab/ignore-gfp-wait = N in debugfs before the module is loaded, else only
 * those that do not sleep fail, which does no harm: it then ends soon, and says so.
 */
static void t_allocations_fail(struct kunit *test)
{
	struct t_pair p;
	int n, failed = 0;

	for (n = 1; n < 2000; n += n < 40 ? 1 : 9) {
		t_fail_left = -1;
		t_fail_passive = n & 1;
		t_fail_nth = n;
		t_pair_dial(test, &p);
		/* fails, or the failure did not matter */
		wait_event_timeout(p.a->wq, completion_done(&p.a->up) ||
				   completion_done(&p.a->fenced), T_WAIT);
		t_fail_nth = 0;
		failed += completion_done(&p.a->fenced);
		t_pair_free(test, &p);
		if (t_fail_left || (n >= 12 && !failed))
			break;
	}
	kunit_info(test, "%d connections failed, up to allocation %d\n", failed, n);
	t_connect(test);
}

/* Posts what a pair may have out, and does not wait. */
static void t_busy(struct t_pair *p)
{
	struct dms_key *key = t_expose(p->b, 0, 1 << 16);
	int i;

	for (i = 0; i < T_SLOTS / 2; i++) {
		t_send(p->a, p->b, 4000);
		t_send(p->b, p->a, 4000);
		if (key && i < 4)
			t_read(p->a, key->addr, key->rkey, i << 14, 1 << 14);
	}
}

static int t_device_begin(void);

/*
 * The device goes while there is traffic: removal ends both paths before it
 * unmaps the pools.  The same function runs when the client goes; here that is
 * asked for, since nobody removes the device.
 */
static void t_client_goes(struct kunit *test)
{
	struct t_pair p;
	u32 index = t_ibdev->index;
	int i;

	if (!t_own)
		return;		/* others use the client */
	if (!t_pair_new(test, &p))
		goto out;
	t_busy(&p);
	dms_ibdev_exit();
	KUNIT_EXPECT_TRUE(test, completion_done(&p.a->fenced) || p.a->path.err_class);
	t_expect_fenced(test, p.a);
	t_expect_fenced(test, p.b);
	KUNIT_EXPECT_TRUE(test, p.a->path.err_class == DMASTREAM_ERR_DEVICE ||
			  p.b->path.err_class == DMASTREAM_ERR_DEVICE);
	for (i = 0; i < ARRAY_SIZE(t_pool); i++)
		KUNIT_EXPECT_NULL(test, t_pool[i]->maps[index]);
	dms_ibdev_put(t_ibdev);
	KUNIT_ASSERT_EQ(test, dms_ibdev_init(), 0);
	KUNIT_ASSERT_EQ(test, t_device_begin(), 0);
	KUNIT_EXPECT_EQ(test, t_ibdev->index, index);
out:
	t_pair_free(test, &p);
	t_connect(test);
}

/*
 * The device itself goes.  Needs somebody to remove it, and a kernel that runs
 * the suite when the module has its parameters:
 *	insmod dmastream.ko dms_test_linger=20 & sleep 10; rdma link delete rxe0
 */
static void t_device_goes(struct kunit *test)
{
	unsigned long end = jiffies + dms_test_linger * HZ;
	struct t_pair p;

	if (!dms_test_linger)
		return;
	if (t_pair_new(test, &p)) {
		pr_info("dms_test: remove the device now\n");
		while (time_before(jiffies, end) && !completion_done(&p.a->fenced)) {
			if (t_send(p.a, p.b, 4000) && t_send(p.b, p.a, 4000))
				usleep_range(50, 200);
		}
		t_expect_fenced(test, p.a);
		t_expect_fenced(test, p.b);
		KUNIT_EXPECT_TRUE(test, p.a->path.err_class == DMASTREAM_ERR_DEVICE ||
				  p.b->path.err_class == DMASTREAM_ERR_DEVICE);
	}
	t_pair_free(test, &p);
}

/* ---- the suite ---- */

/* The first device that the module uses, and an IPv4 address of it. */
static int t_find_device(void)
{
	static const char *const names[] = { "hw0", "rxe0", "rxe1" };
	struct ib_device *dev;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		union ib_gid gid;
		int j;

		dev = ib_device_get_by_name(names[i], RDMA_DRIVER_UNKNOWN);
		if (!dev)
			continue;
		t_ibdev = dms_ibdev_get(dev);
		for (j = 0; t_ibdev && j < dev->port_data[1].immutable.gid_tbl_len; j++) {
			if (rdma_query_gid(dev, 1, j, &gid) ||
			    !ipv6_addr_v4mapped((struct in6_addr *)&gid))
				continue;
			rdma_gid2ip((struct sockaddr *)&t_addr, &gid);
			ib_device_put(dev);
			return 0;
		}
		ib_device_put(dev);
		if (t_ibdev)
			dms_ibdev_put(t_ibdev);
		t_ibdev = NULL;
	}
	pr_err("dms_rdma: no RDMA device hw0, rxe0 or rxe1 with an IPv4 address\n");
	return -ENODEV;
}

static int t_device_begin(void)
{
	int i, ret;

	ret = t_find_device();
	for (i = 0; i < ARRAY_SIZE(t_pool) && !ret; i++)
		ret = dms_pool_map(t_pool[i], t_ibdev);
	return ret;
}

/*
 * Some kernels run the suites before the module's init function, 6.1 among
 * them.  Then what that would make is made here, and taken away at the end.
 */
static int t_module_begin(void)
{
	t_own = !dms_wq;
	if (!t_own)
		return 0;
	dms_wq = alloc_workqueue("dms_test", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return dms_wq ? dms_stream_init() ?: dms_ibdev_init() : -ENOMEM;
}

static void t_module_end(void)
{
	if (!t_own)
		return;
	/* as dms_exit() does: pools go in stages */
	flush_workqueue(dms_wq);
	rcu_barrier();
	flush_workqueue(dms_wq);
	dms_ibdev_exit();
	dms_stream_exit();
	destroy_workqueue(dms_wq);
	dms_wq = NULL;
}

static unsigned int t_handshake_ms;

static int t_suite_init(struct kunit_suite *suite)
{
	int i, ret;

	t_handshake_ms = dms_param_handshake_ms;
	dms_param_handshake_ms = jiffies_to_msecs(T_WAIT) - 10000;	/* sanitizers are slow */
	ret = t_module_begin();
	if (ret)
		return ret;
	ret = dms_cm_init();
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(t_pool); i++) {
		t_pool[i] = dms_pool_create(T_POOL, NUMA_NO_NODE);
		if (IS_ERR(t_pool[i]))
			return PTR_ERR(t_pool[i]);
	}
	ret = t_device_begin();
	if (ret)
		return ret;
	t_node.net = &init_net;
	mutex_init(&t_node.lock);
	mutex_lock(&t_node.lock);
	ret = dms_cm_listen(&t_node, T_PORT);
	mutex_unlock(&t_node.lock);
	return ret;
}

/* Also after t_suite_init() failed. */
static void t_suite_exit(struct kunit_suite *suite)
{
	int i;

	if (t_node.net) {
		mutex_lock(&t_node.lock);
		dms_cm_unlisten(&t_node);
		mutex_unlock(&t_node.lock);
	}
	if (dms_rdma_wq)
		dms_cm_exit();
	for (i = 0; i < ARRAY_SIZE(t_pool); i++)
		if (!IS_ERR_OR_NULL(t_pool[i]))
			dms_pool_put(t_pool[i]);
	if (t_ibdev)
		dms_ibdev_put(t_ibdev);
	t_module_end();
	dms_param_handshake_ms = t_handshake_ms;
}

/* Packets that ask for no completion are answered with the next that does. */
static void t_quiet(struct kunit *test)
{
	struct t_pair p;
	int i;

	if (!t_pair_new(test, &p))
		goto out;
	p.a->every = 4;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, t_send(p.a, p.b, 64), 0);
	t_wait(test, p.b, atomic_read(&p.b->reposted) == 3);
	/* they have arrived, and whatever comes of that has come, by and large */
	msleep(50);
	KUNIT_EXPECT_EQ(test, atomic_read(&p.a->sent), 0);
	KUNIT_EXPECT_EQ(test, t_send(p.a, p.b, 64), 0);
	t_wait(test, p.a, atomic_read(&p.a->sent) == 4);
	/* all packets many times over, in both directions */
	p.b->every = 16;
	for (i = 0; i < 20 * T_SLOTS && !p.a->path.err_class && !p.b->path.err_class;) {
		int before = i;

		i += !t_send(p.a, p.b, 1000);
		i += !t_send(p.b, p.a, 5);
		if (i == before)
			usleep_range(50, 200);
	}
	t_expect_alive(test, p.a);
	t_expect_alive(test, p.b);
out:
	t_pair_free(test, &p);
}

/*
 * Quiet packets when the path ends.  Fenced: they have left, and nothing after them was
 * to be told of.  Flushed: the queue pair fails with some of them posted, each of which
 * then has a completion, and behind others that had none.
 */
static void t_quiet_end(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct dms_rdma *tp;
	struct t_pair p;
	int round, i;

	for (round = 0; round < 8; round++) {
		if (!t_pair_new(test, &p))
			goto out;
		p.a->every = 5;
		p.b->every = 3;
		for (i = 0; i < 7 + round * 5; i++) {
			t_send(p.a, p.b, 4000);
			t_send(p.b, p.a, 64);
		}
		usleep_range(round * 100, round * 150 + 1);
		tp = p.a->path.priv;
		if (round & 1)
			KUNIT_EXPECT_EQ(test, ib_modify_qp(tp->qp, &attr, IB_QP_STATE), 0);
		else
			t_wait(test, p.b, atomic_read(&p.b->reposted) == atomic_read(&p.a->sends));
		for (i = 0; round & 1 && i < 7; i++)
			t_send(p.a, p.b, 64);	/* -ESHUTDOWN when the path is faster */
		dms_path_kill(&p.a->path, DMASTREAM_ERR_LOCAL, 0);
		dms_path_kill(&p.b->path, DMASTREAM_ERR_LOCAL, 0);
		t_expect_fenced(test, p.a);
		t_expect_fenced(test, p.b);
		t_pair_free(test, &p);
	}
	return;
out:
	t_pair_free(test, &p);
}

static struct kunit_case t_cases[] = {
	KUNIT_CASE(t_connect),
	KUNIT_CASE(t_packets),
	KUNIT_CASE(t_quiet),
	KUNIT_CASE(t_quiet_end),
	KUNIT_CASE(t_pull),
	KUNIT_CASE(t_pull_tile),
	KUNIT_CASE(t_byte_past_tile),
	KUNIT_CASE(t_revoked_key),
	KUNIT_CASE(t_byte_past_key),
	KUNIT_CASE(t_byte_before_key),
	KUNIT_CASE(t_write_to_key),
	KUNIT_CASE(t_revoked_grant),
	KUNIT_CASE(t_byte_past_grant),
	KUNIT_CASE(t_byte_before_grant),
	KUNIT_CASE(t_read_of_grant),
	KUNIT_CASE(t_key_of_another),
	KUNIT_CASE(t_reuse),
	KUNIT_CASE(t_revoke_flushed),
	KUNIT_CASE(t_fence_busy),
	KUNIT_CASE(t_kill_while_connecting),
	KUNIT_CASE(t_nobody_listens),
	KUNIT_CASE(t_nobody_there),
	KUNIT_CASE(t_stale_cookie),
	KUNIT_CASE(t_other_slots),
	KUNIT_CASE(t_fewer_reads),
	KUNIT_CASE(t_too_long),
	KUNIT_CASE(t_remote_invalidation),
	KUNIT_CASE(t_post_fails),
	KUNIT_CASE(t_allocations_fail),
	KUNIT_CASE(t_client_goes),
	KUNIT_CASE(t_device_goes),
	{}
};

static struct kunit_suite dms_rdma_suite = {
	.name		= "dms_rdma",
	.suite_init	= t_suite_init,
	.suite_exit	= t_suite_exit,
	.test_cases	= t_cases,
};

kunit_test_suite(dms_rdma_suite);
