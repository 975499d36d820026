// SPDX-License-Identifier: GPL-2.0-only
/* KUnit, conformance: keys come, change and go (10.6.4 to 10.6.7, 11.4.1). */
#include "conform_bed.h"

/* Post a fast registration for the buffer by a side's queue pair. */
static int key_register(struct conf_side *s, struct ib_mr *mr, u32 key, int access, u64 id)
{
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR, .wr_id = id, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = key,
		.access = access,
	};

	if (conf_map(s, mr) != 1)
		return -EINVAL;
	return ib_post_send(s->qp, &reg.wr, NULL);
}

/* b's key as a finds it. */
static void key_works(struct conf_pair *p, u32 key, bool works)
{
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 77, .len = 64, .rkey = key);
	conf_wc(p, p->a.scq, 77, works ? IB_WC_SUCCESS : IB_WC_REM_ACCESS_ERR);
}

/* Invalidated by its owner: what comes later is refused, 10.6.5 */
static void conf_local_inv(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	key_works(p, p->b.rkey, true);
	CONF_POST(&p->b, IB_WR_LOCAL_INV, 1, .imm = p->b.rkey);
	conf_wc(p, p->b.scq, 1, IB_WC_SUCCESS);
	key_works(p, p->b.rkey, false);
}

/* Invalidated by the peer's SEND, which says so to the receiver: 9.4.1, 10.6.5 */
static void conf_send_inv(struct kunit *test)
{
	static const u32 lengths[] = { 0, 256, 700 };
	struct conf_pair *p = test->priv;
	struct ib_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		CONF_OPEN(test);
		conf_fill(&p->a, 1);
		conf_recv(&p->b, 5, 0, 1000);
		CONF_POST(&p->a, IB_WR_SEND_WITH_INV, 1, .len = lengths[i], .imm = p->b.rkey);
		wc = conf_wc(p, p->b.rcq, 5, IB_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_INVALIDATE);
		KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, p->b.rkey);
		KUNIT_EXPECT_EQ(test, wc.byte_len, lengths[i]);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, lengths[i]), 0);
		conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
		key_works(p, p->b.rkey, false);
		conf_exit(test);
		KUNIT_ASSERT_EQ(test, conf_init(test), 0);
		p = test->priv;
	}
}

/* A peer invalidates only what it can reach: no key, another's domain, or twice; 10.6.5 */
static void conf_foreign_inv(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_mr *mr;
	struct ib_pd *pd;

	CONF_OPEN(test);
	conf_recv(&p->b, 5, 0, 64);
	CONF_POST(&p->a, IB_WR_SEND_WITH_INV, 1, .len = 8, .imm = 0xffffff00);
	conf_wc(p, p->a.scq, 1, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->b), (int)IB_QPS_ERR);

	conf_exit(test);
	KUNIT_ASSERT_EQ(test, conf_init(test), 0);
	p = test->priv;
	CONF_OPEN(test);
	pd = ib_alloc_pd(&p->b.dev->ib, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pd));
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, CONF_BUF / PAGE_SIZE);
	KUNIT_EXPECT_FALSE(test, IS_ERR(mr));
	if (!IS_ERR(mr)) {
		/* a queue pair does not register another domain's either */
		KUNIT_EXPECT_EQ(test, key_register(&p->b, mr, mr->rkey, CONF_RIGHTS, 3), 0);
		conf_wc(p, p->b.scq, 3, IB_WC_MW_BIND_ERR);
		ib_dereg_mr(mr);
	}
	ib_dealloc_pd(pd);

	conf_exit(test);
	KUNIT_ASSERT_EQ(test, conf_init(test), 0);
	p = test->priv;
	CONF_OPEN(test);
	conf_recv(&p->b, 5, 0, 64);
	conf_recv(&p->b, 6, 0, 64);
	CONF_POST(&p->a, IB_WR_SEND_WITH_INV, 1, .len = 8, .imm = p->b.rkey);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	CONF_POST(&p->a, IB_WR_SEND_WITH_INV, 2, .len = 8, .imm = p->b.rkey);
	conf_wc(p, p->a.scq, 2, IB_WC_REM_ACCESS_ERR);
}

/* The key's eight own bits: the old key is stale when the region has a new one, 10.6.4 */
static void conf_key_bits(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u32 old, new;

	CONF_OPEN(test);
	old = p->b.rkey;
	new = ib_inc_rkey(old);
	CONF_POST(&p->b, IB_WR_LOCAL_INV, 1, .imm = old);
	conf_wc(p, p->b.scq, 1, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, key_register(&p->b, p->b.mr, new, CONF_RIGHTS, 2), 0);
	conf_wc(p, p->b.scq, 2, IB_WC_SUCCESS);
	key_works(p, new, true);
	key_works(p, old, false);
}

/* Only a region that has no key gets one: 10.6.4 */
static void conf_register_twice(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	KUNIT_ASSERT_EQ(test, key_register(&p->b, p->b.mr, ib_inc_rkey(p->b.rkey),
					   CONF_RIGHTS, 2), 0);
	conf_wc(p, p->b.scq, 2, IB_WC_MW_BIND_ERR);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->b), (int)IB_QPS_ERR);
}

/* Remote rights to write need the local one: 10.6.3, 11.2.8 */
static void conf_register_rights(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	CONF_POST(&p->b, IB_WR_LOCAL_INV, 1, .imm = p->b.rkey);
	conf_wc(p, p->b.scq, 1, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, key_register(&p->b, p->b.mr, p->b.rkey, IB_ACCESS_REMOTE_WRITE, 2),
			0);
	conf_wc(p, p->b.scq, 2, IB_WC_MW_BIND_ERR);
}

/* A request of no bytes asks for no key: 9.7.4 */
static void conf_zero_length(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .rkey = 0xffffff00);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	CONF_POST(&p->a, IB_WR_RDMA_READ, 2, .rkey = 0xffffff00);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
}

/* A region that is deregistered opens nothing, and its key is not given to the next: 10.6.4 */
static void conf_dereg(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_mr *mr;
	u32 key;

	CONF_OPEN(test);
	key = p->b.rkey;
	KUNIT_EXPECT_EQ(test, ib_dereg_mr(p->b.mr), 0);
	mr = ib_alloc_mr(p->b.pd, IB_MR_TYPE_MEM_REG, CONF_BUF / PAGE_SIZE);
	p->b.mr = IS_ERR(mr) ? NULL : mr;
	KUNIT_ASSERT_NOT_NULL(test, p->b.mr);
	KUNIT_EXPECT_NE(test, p->b.mr->rkey, key);
	p->b.mr->iova = p->b.dma;
	key_works(p, key, false);
}

/*
 * A key goes while a message for it is under way: what has come is in place, the
 * rest is refused, and nothing is written after the invalidation is complete (10.6.5).
 */
static void conf_inv_under_way(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_wc wc = {};
	unsigned long end;
	u8 *copy;

	CONF_OPEN(test, .send_wr = 64);
	conf_fill(&p->a, 1);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = CONF_BUF);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = CONF_BUF);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 3, .len = CONF_BUF);
	CONF_POST(&p->b, IB_WR_LOCAL_INV, 9, .imm = p->b.rkey);
	conf_wc(p, p->b.scq, 9, IB_WC_SUCCESS);
	copy = kmemdup(p->b.buf, CONF_BUF, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	end = jiffies + 60 * HZ;
	while (wc.wr_id != 3 && time_before(jiffies, end))
		ib_poll_cq(p->a.scq, 1, &wc);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 3ULL);
	/* unless all were faster than the invalidation */
	if (wc.status)
		KUNIT_EXPECT_EQ(test, memcmp(copy, p->b.buf, CONF_BUF), 0);
	kfree(copy);
}

CONF_SUITES(key,
	    KUNIT_CASE(conf_local_inv),
	    KUNIT_CASE(conf_send_inv),
	    KUNIT_CASE(conf_foreign_inv),
	    KUNIT_CASE(conf_key_bits),
	    KUNIT_CASE(conf_register_twice),
	    KUNIT_CASE(conf_register_rights),
	    KUNIT_CASE(conf_zero_length),
	    KUNIT_CASE(conf_dereg),
	    KUNIT_CASE(conf_inv_under_way));
