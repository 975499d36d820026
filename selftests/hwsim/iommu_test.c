// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: the software IOMMU, as a client and as a NIC meet it. */
#include <kunit/test.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "iommu.h"
#include "iommu_impl.h"

#define BUF	(4 * PAGE_SIZE)

struct iommu_bed {
	struct hwsim_iommu *mmu;
	struct device *dev;
	u8 *buf;		/* BUF bytes, a page's start */
	u8 *nic;		/* what the NIC holds, as much */
};

static int iommu_test_init(struct kunit *test)
{
	struct iommu_bed *bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bed);
	bed->mmu = hwsim_iommu_create("kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(bed->mmu));
	bed->dev = hwsim_iommu_dev(bed->mmu);
	hwsim_iommu_set_bounce(bed->mmu, false);
	hwsim_iommu_set_merge(bed->mmu, true);
	/* what these tests provoke is no failure of the run */
	hwsim_iommu_expect_faults(bed->mmu, true);
	bed->buf = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(BUF));
	bed->nic = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(BUF));
	test->priv = bed;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bed->buf);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bed->nic);
	return 0;
}

static void iommu_test_exit(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;

	if (!bed)
		return;
	hwsim_iommu_destroy(bed->mmu);
	free_pages((unsigned long)bed->buf, get_order(BUF));
	free_pages((unsigned long)bed->nic, get_order(BUF));
}

static dma_addr_t iommu_map(struct kunit *test, void *p, size_t len, enum dma_data_direction dir)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t addr = dma_map_single(bed->dev, p, len, dir);

	KUNIT_ASSERT_FALSE(test, dma_mapping_error(bed->dev, addr));
	return addr;
}

/* A counter, and then all faults together, so that nothing else was wrong. */
static void iommu_expect(struct kunit *test, struct hwsim_iommu *mmu, enum hwsim_iommu_stat stat,
			 u64 n, u64 all)
{
	KUNIT_EXPECT_EQ(test, hwsim_iommu_stat(mmu, stat), n);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(mmu), all);
}

static void iommu_test_address(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	void *p = bed->buf + 100;
	dma_addr_t addr = iommu_map(test, p, 50, DMA_TO_DEVICE);

	/* neither a physical nor a kernel's nor a user's, but with the page's offset */
	KUNIT_EXPECT_NE(test, (u64)addr, (u64)virt_to_phys(p));
	KUNIT_EXPECT_NE(test, (u64)addr, (u64)(uintptr_t)p);
	KUNIT_EXPECT_GE(test, (u64)addr, 1ULL << 40);
	KUNIT_EXPECT_GE(test, (u64)addr, (u64)TASK_SIZE_MAX);
	KUNIT_EXPECT_LT(test, (u64)addr, 1ULL << 63);
	KUNIT_EXPECT_EQ(test, offset_in_page(addr), 100UL);

	/* and those that a careless client would take are faults */
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, virt_to_phys(p), bed->nic, 8), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, (uintptr_t)p, bed->nic, 8), -EFAULT);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_UNKNOWN, 2, 2);
	dma_unmap_single(bed->dev, addr, 50, DMA_TO_DEVICE);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_LIVE, 0, 2);
}

static void iommu_test_data(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t addr = iommu_map(test, bed->buf + 10, BUF - 20, DMA_BIDIRECTIONAL);
	size_t i;

	for (i = 0; i < BUF; i++)
		bed->buf[i] = i % 251;
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, addr, bed->nic, BUF - 20), 0);
	KUNIT_EXPECT_EQ(test, memcmp(bed->nic, bed->buf + 10, BUF - 20), 0);
	memset(bed->nic, 0xee, BUF);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, addr + 1, bed->nic, 5000), 0);
	KUNIT_EXPECT_EQ(test, bed->buf[10], 10);
	KUNIT_EXPECT_EQ(test, memcmp(bed->buf + 11, bed->nic, 5000), 0);
	KUNIT_EXPECT_EQ(test, bed->buf[5011], 5011 % 251);
	dma_unmap_single(bed->dev, addr, BUF - 20, DMA_BIDIRECTIONAL);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_WRITE_BYTES, 5000, 0);
}

static void iommu_test_direction(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t to = iommu_map(test, bed->buf, 64, DMA_TO_DEVICE);
	dma_addr_t from = iommu_map(test, bed->buf + 64, 64, DMA_FROM_DEVICE);

	memset(bed->nic, 0xee, 64);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, to, bed->nic, 64), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, from, bed->nic, 64), -EFAULT);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_DIR, 2, 2);
	KUNIT_EXPECT_EQ(test, bed->buf[0], 0);
	KUNIT_EXPECT_EQ(test, bed->nic[0], 0xee);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, to, bed->nic, 64), 0);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, from, bed->nic, 64), 0);
	dma_unmap_single(bed->dev, to, 64, DMA_TO_DEVICE);
	dma_unmap_single(bed->dev, from, 64, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(bed->mmu), 2ULL);
}

static void iommu_test_bounds(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t addr = iommu_map(test, bed->buf + 100, 1000, DMA_BIDIRECTIONAL);
	struct hwsim_iommu *mmu = bed->mmu;

	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(mmu, addr + 999, bed->nic, 1), 0);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(mmu, addr + 1000, bed->nic, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(mmu, addr - 1, bed->nic, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(mmu, addr + 999, bed->nic, 2), -EFAULT);
	/* the guard behind it is its own, too */
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(mmu, addr + PAGE_SIZE, bed->nic, 1), -EFAULT);
	iommu_expect(test, mmu, HWSIM_IOMMU_FAULT_BOUNDS, 4, 4);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(mmu, addr + 2 * PAGE_SIZE, bed->nic, 1), -EFAULT);
	iommu_expect(test, mmu, HWSIM_IOMMU_FAULT_UNKNOWN, 1, 5);
	dma_unmap_single(bed->dev, addr, 1000, DMA_BIDIRECTIONAL);
}

static void iommu_test_stale(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t old, addr;
	int i;

	old = iommu_map(test, bed->buf, 64, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, old, bed->nic, 64), 0);
	dma_unmap_single(bed->dev, old, 64, DMA_BIDIRECTIONAL);
	/* even after more mappings than the quarantine remembers nobody has its address */
	for (i = 0; i < 5000; i++) {
		addr = iommu_map(test, bed->buf, 64, DMA_BIDIRECTIONAL);
		KUNIT_ASSERT_GT(test, (u64)addr, (u64)old);
		dma_unmap_single(bed->dev, addr, 64, DMA_BIDIRECTIONAL);
	}
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, old, bed->nic, 64), -EFAULT);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, addr, bed->nic, 64), -EFAULT);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_STALE, 2, 2);
	KUNIT_EXPECT_LE(test, bed->mmu->ndead, 5001U);
}

/* The report about a stale address knows who mapped and who unmapped. */
static void iommu_test_who(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t addr = iommu_map(test, bed->buf, 64, DMA_TO_DEVICE);
	struct hwsim_report rep = {};
	unsigned long flags;

	read_lock_irqsave(&hwsim_iommu_lock, flags);
	hwsim_report_fill(&rep, hwsim_map_find(bed->mmu, addr));
	read_unlock_irqrestore(&hwsim_iommu_lock, flags);
	KUNIT_EXPECT_TRUE(test, rep.known);
	KUNIT_EXPECT_EQ(test, rep.pid, task_pid_nr(current));
	KUNIT_ASSERT_NOT_NULL(test, rep.owner);
	KUNIT_EXPECT_GT(test, rep.owner->nr, 2U);
	KUNIT_EXPECT_EQ(test, rep.freed_ns, 0ULL);

	dma_unmap_single(bed->dev, addr, 64, DMA_TO_DEVICE);
	read_lock_irqsave(&hwsim_iommu_lock, flags);
	KUNIT_EXPECT_NULL(test, hwsim_map_find(bed->mmu, addr));
	hwsim_report_fill(&rep, hwsim_map_dead(bed->mmu, addr));
	read_unlock_irqrestore(&hwsim_iommu_lock, flags);
	KUNIT_ASSERT_NOT_NULL(test, rep.freer);
	KUNIT_EXPECT_PTR_NE(test, rep.freer, rep.owner);
	KUNIT_EXPECT_GE(test, rep.freed_ns, rep.mapped_ns);
	/* told once a place, counted each time */
	KUNIT_EXPECT_EQ(test, rep.owner->printed, 0UL);
	hwsim_iommu_read(bed->mmu, addr, bed->nic, 1);
	KUNIT_EXPECT_EQ(test, rep.owner->printed, BIT(HWSIM_IOMMU_FAULT_STALE));
	hwsim_iommu_read(bed->mmu, addr, bed->nic, 1);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_STALE, 2, 2);
}

static void iommu_test_misuse(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	/* by the operations themselves: the debug kernel's own checks would report it, too */
	const struct dma_map_ops *ops = &hwsim_dma_ops;
	dma_addr_t a = ops->map_page(bed->dev, virt_to_page(bed->buf), 0, 64, DMA_TO_DEVICE, 0);
	struct hwsim_iommu *mmu = bed->mmu;

	ops->sync_single_for_device(bed->dev, a, 64, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(mmu), 0ULL);
	ops->sync_single_for_cpu(bed->dev, a, 64, DMA_FROM_DEVICE);
	ops->sync_single_for_device(bed->dev, a, 65, DMA_TO_DEVICE);
	ops->sync_single_for_device(bed->dev, a + PAGE_SIZE, 1, DMA_TO_DEVICE);
	iommu_expect(test, mmu, HWSIM_IOMMU_MISUSE_SYNC, 3, 3);
	/* its middle: refused, it stays */
	ops->unmap_page(bed->dev, a + 1, 63, DMA_TO_DEVICE, 0);
	iommu_expect(test, mmu, HWSIM_IOMMU_MISUSE_UNMAP, 1, 4);
	iommu_expect(test, mmu, HWSIM_IOMMU_LIVE, 1, 4);
	/* wrong length: told, and gone */
	ops->unmap_page(bed->dev, a, 63, DMA_TO_DEVICE, 0);
	iommu_expect(test, mmu, HWSIM_IOMMU_MISUSE_UNMAP, 2, 5);
	iommu_expect(test, mmu, HWSIM_IOMMU_LIVE, 0, 5);
	ops->unmap_page(bed->dev, a, 64, DMA_TO_DEVICE, 0);
	ops->sync_single_for_device(bed->dev, a, 64, DMA_TO_DEVICE);
	iommu_expect(test, mmu, HWSIM_IOMMU_MISUSE_UNMAP, 3, 7);
	/* wrong direction, wrong kind */
	a = ops->map_page(bed->dev, virt_to_page(bed->buf), 0, 64, DMA_TO_DEVICE, 0);
	ops->unmap_page(bed->dev, a, 64, DMA_FROM_DEVICE, 0);
	a = ops->map_page(bed->dev, virt_to_page(bed->buf), 0, 64, DMA_TO_DEVICE, 0);
	ops->unmap_resource(bed->dev, a, 64, DMA_TO_DEVICE, 0);
	iommu_expect(test, mmu, HWSIM_IOMMU_MISUSE_UNMAP, 5, 9);
	iommu_expect(test, mmu, HWSIM_IOMMU_LIVE, 0, 9);
}

static void iommu_test_leak(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	const struct dma_map_ops *ops = &hwsim_dma_ops;
	struct hwsim_iommu *mmu;
	int i;

	mmu = hwsim_iommu_create("kunit-leak");
	KUNIT_ASSERT_FALSE(test, IS_ERR(mmu));
	hwsim_iommu_expect_faults(mmu, true);
	hwsim_iommu_get(mmu);
	for (i = 0; i < 3; i++)
		ops->map_page(hwsim_iommu_dev(mmu), virt_to_page(bed->buf), 0, 64,
			      DMA_TO_DEVICE, 0);
	hwsim_iommu_destroy(mmu);
	iommu_expect(test, mmu, HWSIM_IOMMU_LEAKS, 3, 3);
	hwsim_iommu_put(mmu);
}

/* Devices do not reach each other's mappings by their addresses. */
static void iommu_test_two(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t a, b;
	struct hwsim_iommu *other = hwsim_iommu_create("kunit-other");

	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	hwsim_iommu_expect_faults(other, true);
	a = iommu_map(test, bed->buf, PAGE_SIZE, DMA_TO_DEVICE);
	b = dma_map_single(hwsim_iommu_dev(other), bed->buf + PAGE_SIZE, PAGE_SIZE,
			   DMA_FROM_DEVICE);
	KUNIT_EXPECT_FALSE(test, dma_mapping_error(hwsim_iommu_dev(other), b));
	memset(bed->buf, 0x5a, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(other, a, bed->nic, 1), -EFAULT);
	iommu_expect(test, other, HWSIM_IOMMU_FAULT_UNKNOWN, 1, 1);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_copy(other, b, bed->mmu, a, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, memcmp(bed->buf, bed->buf + PAGE_SIZE, PAGE_SIZE), 0);
	/* the fault of the one whose address it is */
	KUNIT_EXPECT_EQ(test, hwsim_iommu_copy(other, b, bed->mmu, a + 1, PAGE_SIZE), -EFAULT);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_BOUNDS, 1, 1);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_copy(other, b + 1, bed->mmu, a, PAGE_SIZE), -EFAULT);
	iommu_expect(test, other, HWSIM_IOMMU_FAULT_BOUNDS, 1, 2);
	dma_unmap_single(hwsim_iommu_dev(other), b, PAGE_SIZE, DMA_FROM_DEVICE);
	dma_unmap_single(bed->dev, a, PAGE_SIZE, DMA_TO_DEVICE);
	hwsim_iommu_destroy(other);
}

/* Bounced, the two sides meet only at map, sync and unmap. */
static void iommu_test_bounce(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	struct hwsim_iommu *mmu = bed->mmu;
	const size_t len = BUF - 100;
	dma_addr_t a;

	hwsim_iommu_set_bounce(mmu, true);
	memset(bed->buf, 1, BUF);
	a = iommu_map(test, bed->buf + 50, len, DMA_TO_DEVICE);
	memset(bed->buf, 2, BUF);
	hwsim_iommu_read(mmu, a, bed->nic, len);
	KUNIT_EXPECT_EQ(test, bed->nic[len - 1], 1);	/* the sync was forgotten */
	dma_sync_single_for_device(bed->dev, a + 7, 1, DMA_TO_DEVICE);
	hwsim_iommu_read(mmu, a, bed->nic, len);
	KUNIT_EXPECT_EQ(test, bed->nic[6], 1);
	KUNIT_EXPECT_EQ(test, bed->nic[7], 2);
	KUNIT_EXPECT_EQ(test, bed->nic[8], 1);
	dma_unmap_single(bed->dev, a, len, DMA_TO_DEVICE);

	a = iommu_map(test, bed->buf + 50, len, DMA_FROM_DEVICE);
	memset(bed->nic, 3, len);
	hwsim_iommu_write(mmu, a + 1, bed->nic, len - 1);
	KUNIT_EXPECT_EQ(test, bed->buf[51], 2);
	dma_sync_single_for_cpu(bed->dev, a + 1, 1, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, bed->buf[51], 3);
	KUNIT_EXPECT_EQ(test, bed->buf[52], 2);
	/* what the NIC did not write is as it was */
	dma_unmap_single(bed->dev, a, len, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, bed->buf[50], 2);
	KUNIT_EXPECT_EQ(test, bed->buf[50 + len - 1], 3);
	KUNIT_EXPECT_EQ(test, bed->buf[50 + len], 2);
	KUNIT_EXPECT_GT(test, hwsim_iommu_stat(mmu, HWSIM_IOMMU_BOUNCE_BYTES), (u64)len);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(mmu), 0ULL);
}

/* Who says that he syncs himself has to. */
static void iommu_test_bounce_attrs(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t a;

	hwsim_iommu_set_bounce(bed->mmu, true);
	memset(bed->buf, 1, 64);
	a = dma_map_single_attrs(bed->dev, bed->buf, 64, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	KUNIT_ASSERT_FALSE(test, dma_mapping_error(bed->dev, a));
	hwsim_iommu_read(bed->mmu, a, bed->nic, 64);
	KUNIT_EXPECT_NE(test, bed->nic[0], 1);
	dma_sync_single_for_device(bed->dev, a, 64, DMA_BIDIRECTIONAL);
	hwsim_iommu_read(bed->mmu, a, bed->nic, 64);
	KUNIT_EXPECT_EQ(test, bed->nic[0], 1);
	bed->nic[0] = 9;
	hwsim_iommu_write(bed->mmu, a, bed->nic, 64);
	dma_unmap_single_attrs(bed->dev, a, 64, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	KUNIT_EXPECT_EQ(test, bed->buf[0], 1);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(bed->mmu), 0ULL);
}

/* A list of @n entries over the buffer: whole pages but for the ends. */
static void iommu_fill_sg(struct iommu_bed *bed, struct scatterlist *sgl, unsigned int n)
{
	unsigned int i;

	sg_init_table(sgl, n);
	/* back to front, so that neighbours on the bus are none in memory */
	for (i = 0; i < n; i++)
		sg_set_page(&sgl[i], virt_to_page(bed->buf + (n - 1 - i) * PAGE_SIZE),
			    PAGE_SIZE, 0);
	sgl[0].offset = 1000;
	sgl[0].length = PAGE_SIZE - 1000;
	sgl[n - 1].length = 500;
}

static void iommu_sg(struct kunit *test, bool merge, bool bounce, int want)
{
	struct iommu_bed *bed = test->priv;
	struct scatterlist sgl[4], *sg;
	size_t total = 0;
	int n, i;

	hwsim_iommu_set_merge(bed->mmu, merge);
	hwsim_iommu_set_bounce(bed->mmu, bounce);
	for (i = 0; i < BUF; i++)
		bed->buf[i] = i / PAGE_SIZE + 1;
	iommu_fill_sg(bed, sgl, 4);
	n = dma_map_sg(bed->dev, sgl, 4, DMA_BIDIRECTIONAL);
	KUNIT_ASSERT_EQ(test, n, want);
	for_each_sg(sgl, sg, n, i) {
		KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, sg_dma_address(sg),
						       bed->nic + total, sg_dma_len(sg)), 0);
		/* and nothing behind a segment */
		KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu,
						       sg_dma_address(sg) + sg_dma_len(sg),
						       bed->nic + BUF - 1, 1), -EFAULT);
		total += sg_dma_len(sg);
	}
	KUNIT_EXPECT_EQ(test, total, 3 * PAGE_SIZE - 500);
	KUNIT_EXPECT_EQ(test, bed->nic[0], 4);
	KUNIT_EXPECT_EQ(test, bed->nic[PAGE_SIZE - 1000], 3);
	KUNIT_EXPECT_EQ(test, bed->nic[2 * PAGE_SIZE - 1000], 2);
	KUNIT_EXPECT_EQ(test, bed->nic[total - 1], 1);
	memset(bed->nic, 7, BUF);
	hwsim_iommu_write(bed->mmu, sg_dma_address(sgl), bed->nic, 4);
	if (bounce) {
		KUNIT_EXPECT_EQ(test, bed->buf[3 * PAGE_SIZE + 1000], 4);
		dma_sync_sg_for_cpu(bed->dev, sgl, 4, DMA_BIDIRECTIONAL);
	}
	KUNIT_EXPECT_EQ(test, bed->buf[3 * PAGE_SIZE + 1000], 7);
	KUNIT_EXPECT_EQ(test, bed->buf[3 * PAGE_SIZE + 1004], 4);
	dma_unmap_sg(bed->dev, sgl, 4, DMA_BIDIRECTIONAL);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_BOUNDS, want, want);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_LIVE_BYTES, 0, want);
}

static void iommu_test_sg_merged(struct kunit *test)
{
	iommu_sg(test, true, false, 1);
}

static void iommu_test_sg_apart(struct kunit *test)
{
	iommu_sg(test, false, false, 4);
}

static void iommu_test_sg_bounced(struct kunit *test)
{
	iommu_sg(test, true, true, 1);
}

/* Only where one entry ends with a page and the next begins with one is there no gap. */
static void iommu_test_sg_gap(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	struct scatterlist sgl[4];

	iommu_fill_sg(bed, sgl, 4);
	sgl[2].offset = 8;
	sgl[2].length = PAGE_SIZE - 8;
	KUNIT_EXPECT_EQ(test, dma_map_sg(bed->dev, sgl, 4, DMA_TO_DEVICE), 2U);
	KUNIT_EXPECT_EQ(test, sg_dma_len(&sgl[0]), (unsigned int)(2 * PAGE_SIZE - 1000));
	KUNIT_EXPECT_EQ(test, offset_in_page(sg_dma_address(&sgl[1])), 8UL);
	dma_unmap_sg(bed->dev, sgl, 4, DMA_TO_DEVICE);
	iommu_fill_sg(bed, sgl, 4);
	sgl[1].length = 100;
	KUNIT_EXPECT_EQ(test, dma_map_sg(bed->dev, sgl, 4, DMA_TO_DEVICE), 2U);
	KUNIT_EXPECT_EQ(test, sg_dma_len(&sgl[0]), (unsigned int)(PAGE_SIZE - 1000 + 100));
	KUNIT_EXPECT_EQ(test, sg_dma_len(&sgl[1]), (unsigned int)(PAGE_SIZE + 500));
	dma_unmap_sg(bed->dev, sgl, 4, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(bed->mmu), 0ULL);
}

/* As many entries as a GiB has pages, over one buffer: pieces grow, lookups find them. */
static void iommu_test_sg_large(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	const unsigned int n = 1 << 18;
	struct sg_table table;
	struct scatterlist *sg;
	unsigned int i;
	u64 t0, t1, t2;
	int ret;

	KUNIT_ASSERT_EQ(test, sg_alloc_table(&table, n, GFP_KERNEL), 0);
	for_each_sgtable_sg(&table, sg, i)
		sg_set_page(sg, virt_to_page(bed->buf + (i % 2 ? 0 : 2) * PAGE_SIZE), PAGE_SIZE, 0);
	memset(bed->buf, 1, PAGE_SIZE);
	memset(bed->buf + 2 * PAGE_SIZE, 2, PAGE_SIZE);
	t0 = ktime_get_ns();
	/* not by way of the debug kernel's checks, which look at each overlap */
	ret = hwsim_dma_ops.map_sg(bed->dev, table.sgl, n, DMA_TO_DEVICE, 0);
	t1 = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, ret, 1);
	if (ret == 1) {
		u64 addr = sg_dma_address(table.sgl);

		KUNIT_EXPECT_EQ(test, sg_dma_len(table.sgl), (unsigned int)(n * PAGE_SIZE));
		for (i = 0; i < n; i += 4099) {
			hwsim_iommu_read(bed->mmu, addr + i * PAGE_SIZE - !!i, bed->nic, 2);
			KUNIT_EXPECT_EQ(test, bed->nic[!!i], i % 2 ? 1 : 2);
		}
		t2 = ktime_get_ns();
		hwsim_dma_ops.unmap_sg(bed->dev, table.sgl, n, DMA_TO_DEVICE, 0);
		kunit_info(test, "%u pages mapped in %llu us, unmapped in %llu us\n", n,
			   (t1 - t0) / 1000, (ktime_get_ns() - t2) / 1000);
	}
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_LIVE, 0, 0);
	sg_free_table(&table);
}

/* Many mappings at once: the tree finds each, also when half of them are gone. */
static void iommu_test_many(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	const unsigned int n = 20000;
	u64 *addr = kvmalloc_array(n, sizeof(*addr), GFP_KERNEL);
	unsigned int i, bad = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, addr);
	for (i = 0; i < n; i++) {
		addr[i] = hwsim_dma_ops.map_page(bed->dev, virt_to_page(bed->buf), i % PAGE_SIZE,
						 8, DMA_TO_DEVICE, 0);
		bad += addr[i] == DMA_MAPPING_ERROR;
	}
	for (i = 0; i < n; i += 2)
		hwsim_dma_ops.unmap_page(bed->dev, addr[i], 8, DMA_TO_DEVICE, 0);
	for (i = 0; i < n; i++) {
		int ret = hwsim_iommu_read(bed->mmu, addr[i], bed->nic, 8);

		bad += ret != (i % 2 ? 0 : -EFAULT);
	}
	KUNIT_EXPECT_EQ(test, bad, 0U);
	for (i = 1; i < n; i += 2)
		hwsim_dma_ops.unmap_page(bed->dev, addr[i], 8, DMA_TO_DEVICE, 0);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_LIVE, 0, n / 2);
	kvfree(addr);
}

static void iommu_test_coherent(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t addr;
	u8 *p;

	/* never bounced: there is nothing that would sync it */
	hwsim_iommu_set_bounce(bed->mmu, true);
	p = dma_alloc_coherent(bed->dev, 3 * PAGE_SIZE, &addr, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, p);
	bed->nic[0] = 5;
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, addr + 2 * PAGE_SIZE, bed->nic, 1), 0);
	KUNIT_EXPECT_EQ(test, p[2 * PAGE_SIZE], 5);
	dma_free_coherent(bed->dev, 3 * PAGE_SIZE, p, addr);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, addr, bed->nic, 1), -EFAULT);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_STALE, 1, 1);
}

static void iommu_test_resource(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	const struct dma_map_ops *ops = &hwsim_dma_ops;
	dma_addr_t addr = ops->map_resource(bed->dev, 0xfed00010, 64, DMA_BIDIRECTIONAL, 0);

	KUNIT_EXPECT_EQ(test, offset_in_page(addr), 0x10UL);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_read(bed->mmu, addr, bed->nic, 4), -EFAULT);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_RESOURCE, 1, 1);
	ops->unmap_resource(bed->dev, addr, 64, DMA_BIDIRECTIONAL, 0);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_LIVE, 0, 1);
}

static void iommu_test_fail(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	dma_addr_t a, b;

	hwsim_iommu_fail_map(bed->mmu, 2);
	a = iommu_map(test, bed->buf, 8, DMA_TO_DEVICE);
	b = dma_map_single(bed->dev, bed->buf, 8, DMA_TO_DEVICE);
	KUNIT_EXPECT_TRUE(test, dma_mapping_error(bed->dev, b));
	b = iommu_map(test, bed->buf, 8, DMA_TO_DEVICE);
	dma_unmap_single(bed->dev, a, 8, DMA_TO_DEVICE);
	dma_unmap_single(bed->dev, b, 8, DMA_TO_DEVICE);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_MAPS, 2, 0);
}

struct iommu_wrote {
	void *at;
	size_t len;
	int calls;
};

static void iommu_wrote(void *ctx, void *at, size_t len)
{
	struct iommu_wrote *w = ctx;

	w->at = at;
	w->len = len;
	w->calls++;
}

static void iommu_test_raw(struct kunit *test)
{
	struct iommu_bed *bed = test->priv;
	struct iommu_wrote w = {};
	dma_addr_t a = hwsim_iommu_map_raw(bed->mmu, bed->buf, PAGE_SIZE, DMA_BIDIRECTIONAL,
					   iommu_wrote, &w);

	KUNIT_ASSERT_NE(test, a, DMA_MAPPING_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, hwsim_iommu_of(bed->dev), bed->mmu);
	bed->nic[0] = 3;
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, a + 17, bed->nic, 1), 0);
	KUNIT_EXPECT_EQ(test, bed->buf[17], 3);
	KUNIT_EXPECT_EQ(test, w.calls, 1);
	KUNIT_EXPECT_PTR_EQ(test, w.at, (void *)(bed->buf + 17));
	KUNIT_EXPECT_EQ(test, w.len, 1UL);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_copy(bed->mmu, a + 100, bed->mmu, a + 17, 1), 0);
	KUNIT_EXPECT_EQ(test, w.calls, 2);
	KUNIT_EXPECT_EQ(test, bed->buf[100], 3);
	hwsim_iommu_unmap_raw(bed->mmu, a);
	KUNIT_EXPECT_EQ(test, hwsim_iommu_write(bed->mmu, a, bed->nic, 1), -EFAULT);
	KUNIT_EXPECT_EQ(test, w.calls, 2);
	iommu_expect(test, bed->mmu, HWSIM_IOMMU_FAULT_STALE, 1, 1);
}

static struct kunit_case iommu_cases[] = {
	KUNIT_CASE(iommu_test_address),
	KUNIT_CASE(iommu_test_data),
	KUNIT_CASE(iommu_test_direction),
	KUNIT_CASE(iommu_test_bounds),
	KUNIT_CASE(iommu_test_stale),
	KUNIT_CASE(iommu_test_who),
	KUNIT_CASE(iommu_test_misuse),
	KUNIT_CASE(iommu_test_leak),
	KUNIT_CASE(iommu_test_two),
	KUNIT_CASE(iommu_test_bounce),
	KUNIT_CASE(iommu_test_bounce_attrs),
	KUNIT_CASE(iommu_test_sg_merged),
	KUNIT_CASE(iommu_test_sg_apart),
	KUNIT_CASE(iommu_test_sg_bounced),
	KUNIT_CASE(iommu_test_sg_gap),
	KUNIT_CASE(iommu_test_sg_large),
	KUNIT_CASE(iommu_test_many),
	KUNIT_CASE(iommu_test_coherent),
	KUNIT_CASE(iommu_test_resource),
	KUNIT_CASE(iommu_test_fail),
	KUNIT_CASE(iommu_test_raw),
	{}
};

static struct kunit_suite hwsim_iommu_suite = {
	.name = "hwsim_iommu",
	.init = iommu_test_init,
	.exit = iommu_test_exit,
	.test_cases = iommu_cases,
};

kunit_test_suites(&hwsim_iommu_suite);
