// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: RDMA from one memory without pages to another, over queue pairs.  What
 * the CPU has touched is counted, and is nothing.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include "conform_bed.h"
#include "hbm.h"
#include "hwsim_hbm.h"
#include "iommu.h"

#define HBM_SIZE	(256U << 10)

/* Beside the pair, of each side: a buffer that is pinned and mapped, and a key for all of it. */
static struct hbm_end {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	struct ib_mr *mr;
} ends[2];

static void hbm_moved(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops hbm_importer = {
	.allow_peer2peer = true,
	.move_notify = hbm_moved,
};

static void hbm_import(struct kunit *test, struct hbm_end *e, struct conf_side *s, u32 flags)
{
	struct sg_table *sgt;

	e->dmabuf = hwsim_hbm_create(HBM_SIZE, HWSIM_HBM_P2P | flags);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->dmabuf));
	e->attach = dma_buf_dynamic_attach(e->dmabuf, hwsim_iommu_dev(s->dev->mmu),
					   &hbm_importer, e);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->attach));
	dma_resv_lock(e->dmabuf->resv, NULL);
	sgt = dma_buf_pin(e->attach) ? NULL : dma_buf_map_attachment(e->attach, DMA_BIDIRECTIONAL);
	dma_resv_unlock(e->dmabuf->resv);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sgt);
	e->sgt = sgt;
}

/* The region's address is the first byte's on the bus, as it is for memory that has pages. */
static void hbm_register(struct kunit *test, struct hbm_end *e, struct conf_side *s)
{
	struct conf_pair *p = test->priv;
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR, .wr_id = 0xb0f, .send_flags = IB_SEND_SIGNALED },
		.access = CONF_RIGHTS,
	};

	e->mr = ib_alloc_mr(s->pd, IB_MR_TYPE_MEM_REG, HBM_SIZE / PAGE_SIZE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->mr));
	KUNIT_ASSERT_EQ(test, ib_map_mr_sg(e->mr, e->sgt->sgl, e->sgt->nents, NULL, PAGE_SIZE),
			(int)e->sgt->nents);
	KUNIT_ASSERT_EQ(test, e->mr->length, (u64)HBM_SIZE);
	reg.mr = e->mr;
	reg.key = e->mr->rkey;
	KUNIT_ASSERT_EQ(test, ib_post_send(s->qp, &reg.wr, NULL), 0);
	conf_wc(p, s->scq, 0xb0f, IB_WC_SUCCESS);
}

static void hbm_open(struct kunit *test, u32 flags)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test, .mtu = IB_MTU_4096);
	hbm_import(test, &ends[0], &p->a, flags);
	hbm_import(test, &ends[1], &p->b, flags);
	hbm_register(test, &ends[0], &p->a);
	hbm_register(test, &ends[1], &p->b);
}

static void hbm_end_close(struct hbm_end *e)
{
	if (!IS_ERR_OR_NULL(e->mr))
		ib_dereg_mr(e->mr);
	if (e->sgt) {
		dma_resv_lock(e->dmabuf->resv, NULL);
		dma_buf_unmap_attachment(e->attach, e->sgt, DMA_BIDIRECTIONAL);
		dma_buf_unpin(e->attach);
		dma_resv_unlock(e->dmabuf->resv);
	}
	if (!IS_ERR_OR_NULL(e->attach))
		dma_buf_detach(e->dmabuf, e->attach);
	if (!IS_ERR_OR_NULL(e->dmabuf))
		dma_buf_put(e->dmabuf);
	memset(e, 0, sizeof(*e));
}

static void hbm_exit(struct kunit *test)
{
	hbm_end_close(&ends[0]);
	hbm_end_close(&ends[1]);
	conf_exit(test);
}

/* A request between the two memories: @off bytes into both. */
static void hbm_post(struct kunit *test, enum ib_wr_opcode op, u64 id, u32 off, u32 len)
{
	struct conf_pair *p = test->priv;
	struct ib_sge sge = { .addr = ends[0].mr->iova + off, .length = len,
			      .lkey = ends[0].mr->lkey };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = id, .opcode = op, .send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge, .num_sge = 1 },
		.remote_addr = ends[1].mr->iova + off,
		.rkey = ends[1].mr->rkey,
	};

	KUNIT_ASSERT_EQ(test, ib_post_send(p->a.qp, &wr.wr, NULL), 0);
	conf_wc(p, p->a.scq, id, IB_WC_SUCCESS);
}

static struct hwsim_hbm_info hbm_info(struct kunit *test, struct hbm_end *e)
{
	struct hwsim_hbm_info info = {};

	KUNIT_EXPECT_EQ(test, hwsim_hbm_info(e->dmabuf, &info), 0);
	return info;
}

/* What is seen of the buffer, in memory that the test's end gives back. */
static u8 *hbm_seen(struct kunit *test, struct hbm_end *e)
{
	u8 *copy = kunit_kmalloc(test, HBM_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_peek(e->dmabuf, 0, copy, HBM_SIZE), 0);
	return copy;
}

static u8 *hbm_fill(struct kunit *test, struct hbm_end *e, u8 seed)
{
	u8 *copy = kunit_kmalloc(test, HBM_SIZE, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	for (i = 0; i < HBM_SIZE; i++)
		copy[i] = i * 13 + i / 4093 + seed;
	KUNIT_EXPECT_EQ(test, hwsim_hbm_poke(e->dmabuf, 0, copy, HBM_SIZE), 0);
	return copy;
}

/* All of it there by WRITE, from an odd place on; and all of other bytes back by READ. */
static void conf_hbm_write_read(struct kunit *test)
{
	struct hwsim_hbm_info before[2], after[2];
	struct conf_pair *p = test->priv;
	u8 *sent;

	hbm_open(test, 0);
	sent = hbm_fill(test, &ends[0], 1);
	before[0] = hbm_info(test, &ends[0]);
	before[1] = hbm_info(test, &ends[1]);
	hbm_post(test, IB_WR_RDMA_WRITE, 1, 0, HBM_SIZE);
	hbm_post(test, IB_WR_RDMA_WRITE, 2, 4093, 3);
	after[0] = hbm_info(test, &ends[0]);
	after[1] = hbm_info(test, &ends[1]);
	/* the NIC wrote each byte once, and the CPU none in either memory */
	KUNIT_EXPECT_EQ(test, after[1].written - before[1].written, HBM_SIZE + 3ULL);
	KUNIT_EXPECT_EQ(test, after[0].written, before[0].written);
	KUNIT_EXPECT_EQ(test, after[0].peeked, before[0].peeked);
	KUNIT_EXPECT_EQ(test, after[1].peeked, before[1].peeked);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[1]), sent, HBM_SIZE), 0);

	sent = hbm_fill(test, &ends[1], 77);
	before[0] = hbm_info(test, &ends[0]);
	before[1] = hbm_info(test, &ends[1]);
	hbm_post(test, IB_WR_RDMA_READ, 3, 0, HBM_SIZE);
	after[0] = hbm_info(test, &ends[0]);
	after[1] = hbm_info(test, &ends[1]);
	KUNIT_EXPECT_EQ(test, after[0].written - before[0].written, (u64)HBM_SIZE);
	KUNIT_EXPECT_EQ(test, after[0].peeked, before[0].peeked);
	KUNIT_EXPECT_EQ(test, after[1].peeked, before[1].peeked);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[0]), sent, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_RTS);
}

/* What has landed is not seen before the flush, though its completion has come; and then it is. */
static void conf_hbm_delayed(struct kunit *test)
{
	u8 *sent, *old;

	hbm_open(test, HWSIM_HBM_DELAYED);
	sent = hbm_fill(test, &ends[0], 3);
	old = hbm_fill(test, &ends[1], 4);
	hbm_post(test, IB_WR_RDMA_WRITE, 1, 0, HBM_SIZE);
	KUNIT_EXPECT_EQ(test, hbm_info(test, &ends[1]).pending, (u64)HBM_SIZE);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[1]), old, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_flush(ends[1].dmabuf, 0, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, hbm_info(test, &ends[1]).pending, 0ULL);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[1]), sent, HBM_SIZE), 0);

	/* the same for what a READ brings */
	sent = hbm_fill(test, &ends[1], 5);
	old = hbm_seen(test, &ends[0]);
	hbm_post(test, IB_WR_RDMA_READ, 2, 0, HBM_SIZE);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[0]), old, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_flush(ends[0].dmabuf, 0, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[0]), sent, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, hbm_info(test, &ends[0]).flushes, 1ULL);
}

/* One that could move does not while it is pinned for an RDMA key. */
static void conf_hbm_pinned(struct kunit *test)
{
	u8 *sent;

	hbm_open(test, HWSIM_HBM_MOVABLE);
	sent = hbm_fill(test, &ends[0], 6);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_move(ends[1].dmabuf), -EBUSY);
	hbm_post(test, IB_WR_RDMA_WRITE, 1, 0, HBM_SIZE);
	KUNIT_EXPECT_EQ(test, memcmp(hbm_seen(test, &ends[1]), sent, HBM_SIZE), 0);
}

static struct kunit_case conf_hbm_cases[] = {
	KUNIT_CASE(conf_hbm_write_read),
	KUNIT_CASE(conf_hbm_delayed),
	KUNIT_CASE(conf_hbm_pinned),
	{}
};

static struct kunit_suite hwsim_conform_hbm_suite = {
	.name = "hwsim_conform_hbm",
	.suite_init = conf_suite_init,
	.suite_exit = conf_suite_exit,
	.init = conf_init,
	.exit = hbm_exit,
	.test_cases = conf_hbm_cases,
};

kunit_test_suites(&hwsim_conform_hbm_suite);
