// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: memory without pages, as importers and NICs meet it. */
#include <kunit/test.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/platform_device.h>
#include <linux/scatterlist.h>
#include "hbm.h"
#include "hwsim_hbm.h"
#include "iommu.h"

#define HBM_SIZE	(5ULL << 20)	/* three segments, the last of half a size */

struct hbm_bed {
	struct hwsim_iommu *mmu;
	struct dma_buf *dmabuf;
	u8 page[256], more[256];
	int notified;
};

static void hbm_move_notify(struct dma_buf_attachment *attach)
{
	struct hbm_bed *bed = attach->importer_priv;

	bed->notified++;
}

static const struct dma_buf_attach_ops hbm_p2p_ops = {
	.allow_peer2peer = true,
	.move_notify = hbm_move_notify,
};

static const struct dma_buf_attach_ops hbm_no_p2p_ops = {
	.move_notify = hbm_move_notify,
};

static int hbm_test_init(struct kunit *test)
{
	struct hbm_bed *bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bed);
	bed->mmu = hwsim_iommu_create("kunit-hbm");
	KUNIT_ASSERT_FALSE(test, IS_ERR(bed->mmu));
	hwsim_iommu_expect_faults(bed->mmu, true);
	test->priv = bed;
	return 0;
}

static void hbm_test_exit(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;

	if (!bed)
		return;
	if (!IS_ERR_OR_NULL(bed->dmabuf))
		dma_buf_put(bed->dmabuf);
	hwsim_iommu_destroy(bed->mmu);
}

static void hbm_create(struct kunit *test, u32 flags)
{
	struct hbm_bed *bed = test->priv;

	bed->dmabuf = hwsim_hbm_create(HBM_SIZE, flags);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bed->dmabuf));
}

static struct dma_buf_attachment *hbm_attach(struct kunit *test,
					     const struct dma_buf_attach_ops *ops)
{
	struct hbm_bed *bed = test->priv;

	return dma_buf_dynamic_attach(bed->dmabuf, hwsim_iommu_dev(bed->mmu), ops, bed);
}

/* As an importer that pins for good does it. */
static struct sg_table *hbm_pin_and_map(struct dma_buf_attachment *attach)
{
	struct sg_table *sgt;
	int ret;

	dma_resv_lock(attach->dmabuf->resv, NULL);
	ret = dma_buf_pin(attach);
	sgt = ret ? ERR_PTR(ret) : dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	dma_resv_unlock(attach->dmabuf->resv);
	return sgt;
}

static void hbm_unmap_and_unpin(struct dma_buf_attachment *attach, struct sg_table *sgt)
{
	dma_resv_lock(attach->dmabuf->resv, NULL);
	dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
	dma_buf_unpin(attach);
	dma_resv_unlock(attach->dmabuf->resv);
}

/* The bus address of a byte of the buffer. */
static u64 hbm_addr(struct sg_table *sgt, u64 off)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (off < sg_dma_len(sg))
			return sg_dma_address(sg) + off;
		off -= sg_dma_len(sg);
	}
	return 0;
}

static struct hwsim_hbm_info hbm_info(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct hwsim_hbm_info info = {};

	KUNIT_EXPECT_EQ(test, hwsim_hbm_info(bed->dmabuf, &info), 0);
	return info;
}

static void hbm_test_args(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PTR_ERR(hwsim_hbm_create(0, 0)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hwsim_hbm_create(PAGE_SIZE + 1, 0)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hwsim_hbm_create((1ULL << 30) + PAGE_SIZE, 0)),
			(long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hwsim_hbm_create(PAGE_SIZE, 1U << 4)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hwsim_hbm_create(PAGE_SIZE, HWSIM_HBM_NO_PIN)),
			(long)-EINVAL);
}

/* Who may attach: importers that know of peer memory, for a simulated NIC. */
static void hbm_test_attach(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *attach;
	struct platform_device *other;

	hbm_create(test, HWSIM_HBM_P2P);
	other = platform_device_register_simple("hwsim-kunit", PLATFORM_DEVID_AUTO, NULL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	attach = dma_buf_dynamic_attach(bed->dmabuf, &other->dev, &hbm_p2p_ops, bed);
	KUNIT_EXPECT_EQ(test, PTR_ERR(attach), (long)-EOPNOTSUPP);
	platform_device_unregister(other);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hbm_attach(test, &hbm_no_p2p_ops)), (long)-EOPNOTSUPP);
	attach = dma_buf_attach(bed->dmabuf, hwsim_iommu_dev(bed->mmu));
	KUNIT_EXPECT_EQ(test, PTR_ERR(attach), (long)-EOPNOTSUPP);
	attach = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	KUNIT_EXPECT_TRUE(test, attach->peer2peer);
	KUNIT_EXPECT_EQ(test, hbm_info(test).attached, 1U);
	dma_buf_detach(bed->dmabuf, attach);
	KUNIT_EXPECT_EQ(test, hbm_info(test).attached, 0U);
	dma_buf_put(bed->dmabuf);

	hbm_create(test, 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(hbm_attach(test, &hbm_p2p_ops)), (long)-EOPNOTSUPP);
}

/* No page, no kernel address; bus addresses that are good until they are unmapped. */
static void hbm_map_and_use(struct kunit *test, u32 flags)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *attach;
	struct iosys_map kernel = {};
	struct scatterlist *sg;
	struct sg_table *sgt;
	u64 at, total = 0;
	int i;

	hbm_create(test, flags);
	KUNIT_EXPECT_NE(test, dma_buf_vmap(bed->dmabuf, &kernel), 0);
	attach = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	sgt = hbm_pin_and_map(attach);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sgt));
	KUNIT_EXPECT_EQ(test, sgt->nents, 3U);
	for_each_sgtable_dma_sg(sgt, sg, i) {
		KUNIT_EXPECT_NULL(test, sg_page(sg));
		total += sg_dma_len(sg);
	}
	KUNIT_EXPECT_EQ(test, total, HBM_SIZE);
	KUNIT_EXPECT_EQ(test, hbm_info(test).mapped, 1U);

	memset(bed->page, 0x77, sizeof(bed->page));
	for (at = 0; at < HBM_SIZE; at += HBM_SIZE / 5) {
		KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, hbm_addr(sgt, at + 3),
							bed->page, sizeof(bed->page)), 0);
		KUNIT_EXPECT_EQ(test, hwsim_hbm_peek(bed->dmabuf, at + 3, bed->more, 256), 0);
		KUNIT_EXPECT_EQ(test, memcmp(bed->page, bed->more, 256), 0);
	}
	KUNIT_EXPECT_EQ(test, hbm_info(test).written, 5ULL * 256);
	KUNIT_EXPECT_EQ(test, hbm_info(test).peeked, 5ULL * 256);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_poke(bed->dmabuf, HBM_SIZE - 1, "x", 1), 0);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, hbm_addr(sgt, HBM_SIZE - 1),
					       bed->more, 1), 0);
	KUNIT_EXPECT_EQ(test, bed->more[0], 'x');
	KUNIT_EXPECT_EQ(test, hwsim_hbm_poke(bed->dmabuf, HBM_SIZE, "x", 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(bed->mmu), 0ULL);

	at = hbm_addr(sgt, 0);
	/* the kernel may keep the mapping of one that does not move until it is detached */
	hbm_unmap_and_unpin(attach, sgt);
	dma_buf_detach(bed->dmabuf, attach);
	KUNIT_EXPECT_EQ(test, hbm_info(test).mapped, 0U);
	KUNIT_EXPECT_EQ(test, hbm_info(test).pinned, 0U);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, at, bed->more, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_stat(bed->mmu, HWSIM_IOMMU_LIVE), 0ULL);
}

static void hbm_test_fixed(struct kunit *test)
{
	hbm_map_and_use(test, HWSIM_HBM_P2P);
}

static void hbm_test_movable(struct kunit *test)
{
	hbm_map_and_use(test, HWSIM_HBM_P2P | HWSIM_HBM_MOVABLE);
}

static void hbm_test_delayed(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;

	hbm_create(test, HWSIM_HBM_P2P | HWSIM_HBM_DELAYED);
	attach = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	sgt = hbm_pin_and_map(attach);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sgt));
	memset(bed->page, 0x77, sizeof(bed->page));
	/* over the end of a page, so that two are pending */
	hwsim_iommu_write(bed->mmu, hbm_addr(sgt, 2 * PAGE_SIZE - 8), bed->page, 16);
	hwsim_iommu_write(bed->mmu, hbm_addr(sgt, HBM_SIZE - 1), bed->page, 1);
	KUNIT_EXPECT_EQ(test, hbm_info(test).pending, 3ULL * PAGE_SIZE);
	hwsim_hbm_peek(bed->dmabuf, 2 * PAGE_SIZE - 8, bed->more, 16);
	KUNIT_EXPECT_EQ(test, bed->more[0], 0);
	KUNIT_EXPECT_EQ(test, bed->more[15], 0);
	/* what NICs wrote, NICs read */
	hwsim_iommu_read(bed->mmu, hbm_addr(sgt, 2 * PAGE_SIZE - 8), bed->more, 16);
	KUNIT_EXPECT_EQ(test, bed->more[15], 0x77);

	KUNIT_EXPECT_EQ(test, hwsim_hbm_flush(bed->dmabuf, PAGE_SIZE, 1), 0);
	hwsim_hbm_peek(bed->dmabuf, 2 * PAGE_SIZE - 8, bed->more, 16);
	KUNIT_EXPECT_EQ(test, bed->more[7], 0x77);
	KUNIT_EXPECT_EQ(test, bed->more[8], 0);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_flush(bed->dmabuf, 0, HBM_SIZE), 0);
	KUNIT_EXPECT_EQ(test, hbm_info(test).pending, 0ULL);
	KUNIT_EXPECT_EQ(test, hbm_info(test).flushes, 2ULL);
	hwsim_hbm_peek(bed->dmabuf, HBM_SIZE - 1, bed->more, 1);
	KUNIT_EXPECT_EQ(test, bed->more[0], 0x77);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_flush(bed->dmabuf, 1, HBM_SIZE), -EINVAL);
	hbm_unmap_and_unpin(attach, sgt);
	dma_buf_detach(bed->dmabuf, attach);
}

static void hbm_test_move(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	u64 old;

	hbm_create(test, HWSIM_HBM_P2P | HWSIM_HBM_MOVABLE | HWSIM_HBM_DELAYED);
	attach = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	sgt = hbm_pin_and_map(attach);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sgt));
	bed->page[0] = 0x55;
	hwsim_iommu_write(bed->mmu, hbm_addr(sgt, 4096), bed->page, 1);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_move(bed->dmabuf), -EBUSY);
	KUNIT_EXPECT_EQ(test, bed->notified, 0);
	hbm_unmap_and_unpin(attach, sgt);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_move(bed->dmabuf), 0);
	KUNIT_EXPECT_EQ(test, bed->notified, 1);

	/* a mapping without a pin lasts until the buffer moves, where the kernel has such */
	if (!IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY))
		goto out;
	dma_resv_lock(bed->dmabuf->resv, NULL);
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	dma_resv_unlock(bed->dmabuf->resv);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sgt));
	old = hbm_addr(sgt, 4096);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, old, bed->more, 1), 0);
	KUNIT_EXPECT_EQ(test, bed->more[0], 0x55);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_move(bed->dmabuf), 0);
	KUNIT_EXPECT_EQ(test, bed->notified, 2);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, old, bed->more, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_stat(bed->mmu, HWSIM_IOMMU_FAULT_STALE), 1ULL);
	KUNIT_EXPECT_EQ(test, hbm_info(test).moves, 2U);
	dma_resv_lock(bed->dmabuf->resv, NULL);
	dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
	dma_resv_unlock(bed->dmabuf->resv);
out:
	dma_buf_detach(bed->dmabuf, attach);
	dma_buf_put(bed->dmabuf);
	hbm_create(test, HWSIM_HBM_P2P);
	KUNIT_EXPECT_EQ(test, hwsim_hbm_move(bed->dmabuf), -EOPNOTSUPP);
}

static void hbm_test_no_pin(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *attach;

	hbm_create(test, HWSIM_HBM_P2P | HWSIM_HBM_MOVABLE | HWSIM_HBM_NO_PIN);
	attach = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	KUNIT_EXPECT_EQ(test, PTR_ERR(hbm_pin_and_map(attach)), (long)-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, hbm_info(test).pinned, 0U);
	dma_buf_detach(bed->dmabuf, attach);
}

/* The NIC goes while the buffer is mapped: reported, and the importer can still let go. */
static void hbm_test_device_gone(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *attach;
	struct hwsim_iommu *mmu = bed->mmu;
	struct sg_table *sgt;

	hbm_create(test, HWSIM_HBM_P2P);
	attach = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach));
	sgt = hbm_pin_and_map(attach);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sgt));
	hwsim_iommu_get(mmu);
	hwsim_iommu_destroy(mmu);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_stat(mmu, HWSIM_IOMMU_LEAKS), 3ULL);
	hbm_unmap_and_unpin(attach, sgt);
	dma_buf_detach(bed->dmabuf, attach);
	hwsim_iommu_put(mmu);
	bed->mmu = hwsim_iommu_create("kunit-hbm");
	KUNIT_ASSERT_FALSE(test, IS_ERR(bed->mmu));
}

/* From one such memory to another, and no CPU has looked. */
static void hbm_test_copy(struct kunit *test)
{
	struct hbm_bed *bed = test->priv;
	struct dma_buf_attachment *a, *b;
	struct sg_table *sa, *sb;
	struct dma_buf *from;

	hbm_create(test, HWSIM_HBM_P2P);
	from = bed->dmabuf;
	a = hbm_attach(test, &hbm_p2p_ops);
	hbm_create(test, HWSIM_HBM_P2P);
	b = hbm_attach(test, &hbm_p2p_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a));
	KUNIT_ASSERT_FALSE(test, IS_ERR(b));
	sa = hbm_pin_and_map(a);
	sb = hbm_pin_and_map(b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sa));
	KUNIT_ASSERT_FALSE(test, IS_ERR(sb));
	KUNIT_EXPECT_EQ(test, hwsim_hbm_poke(from, 100, "payload", 8), 0);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_copy(bed->mmu, hbm_addr(sb, 0), bed->mmu,
					       hbm_addr(sa, 0), 1 << 20), 0);
	KUNIT_EXPECT_EQ(test, hbm_info(test).peeked, 0ULL);
	KUNIT_EXPECT_EQ(test, hbm_info(test).written, 1ULL << 20);
	hwsim_hbm_peek(bed->dmabuf, 100, bed->more, 8);
	KUNIT_EXPECT_STREQ(test, (char *)bed->more, "payload");
	hbm_unmap_and_unpin(a, sa);
	hbm_unmap_and_unpin(b, sb);
	dma_buf_detach(from, a);
	dma_buf_detach(bed->dmabuf, b);
	dma_buf_put(from);
}

static struct kunit_case hbm_cases[] = {
	KUNIT_CASE(hbm_test_args),
	KUNIT_CASE(hbm_test_attach),
	KUNIT_CASE(hbm_test_fixed),
	KUNIT_CASE(hbm_test_movable),
	KUNIT_CASE(hbm_test_delayed),
	KUNIT_CASE(hbm_test_move),
	KUNIT_CASE(hbm_test_no_pin),
	KUNIT_CASE(hbm_test_device_gone),
	KUNIT_CASE(hbm_test_copy),
	{}
};

static struct kunit_suite hwsim_hbm_suite = {
	.name = "hwsim_hbm",
	.init = hbm_test_init,
	.exit = hbm_test_exit,
	.test_cases = hbm_cases,
};

kunit_test_suites(&hwsim_hbm_suite);
