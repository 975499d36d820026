// SPDX-License-Identifier: GPL-2.0-only
/*
 * The software IOMMU: the device that clients map for, and what the NIC reads
 * and writes.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "iommu_impl.h"

/* Most bytes that are copied with the lock held and interrupts off. */
#define HWSIM_COPY_MAX	SZ_64K

/*
 * Protects the tree and the quarantine of every device, and the bytes of what
 * is live: the NIC copies with the lock held for reading, so that when an unmap
 * has taken its record out of the tree no access to it is under way, and none
 * begins.  That is what the invalidation of a real IOMMU's cache gives.
 *
 * One lock for all devices, since a copy from one to another would otherwise
 * need an order among theirs.  Taken in process, softirq and interrupt context,
 * interrupts off; stack_lock is never taken inside, nor anything else.
 */
DEFINE_RWLOCK(hwsim_iommu_lock);

static bool iommu_bounce;
module_param(iommu_bounce, bool, 0644);
MODULE_PARM_DESC(iommu_bounce,
		 "New devices copy at map, sync and unmap, so that a forgotten sync shows as wrong data");

static bool iommu_merge = true;
module_param(iommu_merge, bool, 0644);
MODULE_PARM_DESC(iommu_merge, "New devices join entries of a scatter list on the bus where they can");

static atomic_t hwsim_windows = ATOMIC_INIT(0);

/**
 * hwsim_iommu_create() - make a device with a software IOMMU
 * @name: of the NIC, for reports
 *
 * Context: may sleep.
 * Return: what hwsim_iommu_destroy() takes, or an ERR_PTR.
 */
struct hwsim_iommu *hwsim_iommu_create(const char *name)
{
	struct platform_device_info info = {
		.name = "rdma_hwsim",
		.id = PLATFORM_DEVID_AUTO,
		.dma_mask = DMA_BIT_MASK(64),
	};
	struct hwsim_iommu *mmu;
	unsigned int window;
	int ret;

	mmu = kzalloc(sizeof(*mmu), GFP_KERNEL);
	if (!mmu)
		return ERR_PTR(-ENOMEM);
	kref_init(&mmu->kref);
	strscpy(mmu->name, name, sizeof(mmu->name));
	INIT_LIST_HEAD(&mmu->dead);
	spin_lock_init(&mmu->stack_lock);
	mmu->live = RB_ROOT;
	mmu->bounce = iommu_bounce;
	mmu->merge = iommu_merge;
	/* a window comes back only after all others, for addresses of devices that are gone */
	window = (unsigned int)atomic_inc_return(&hwsim_windows) % HWSIM_WINDOWS;
	mmu->base = HWSIM_WINDOW_BASE + ((u64)window << HWSIM_WINDOW_SHIFT);
	mmu->next = mmu->base;
	mmu->pdev = platform_device_register_full(&info);
	if (IS_ERR(mmu->pdev)) {
		ret = PTR_ERR(mmu->pdev);
		kfree(mmu);
		return ERR_PTR(ret);
	}
	platform_set_drvdata(mmu->pdev, mmu);
	set_dma_ops(&mmu->pdev->dev, &hwsim_dma_ops);
	dma_set_max_seg_size(&mmu->pdev->dev, SZ_2G);
	return mmu;
}

static void hwsim_iommu_release(struct kref *kref)
{
	struct hwsim_iommu *mmu = container_of(kref, struct hwsim_iommu, kref);
	struct hwsim_map *map, *tmp;

	list_for_each_entry_safe(map, tmp, &mmu->dead, list)
		hwsim_map_free(map);
	hwsim_stacks_free(mmu);
	kfree(mmu);
}

/**
 * hwsim_iommu_get() - keep the IOMMU's memory, not its device
 * @mmu: the IOMMU
 */
void hwsim_iommu_get(struct hwsim_iommu *mmu)
{
	kref_get(&mmu->kref);
}

/**
 * hwsim_iommu_put() - undo hwsim_iommu_get()
 * @mmu: the IOMMU
 */
void hwsim_iommu_put(struct hwsim_iommu *mmu)
{
	kref_put(&mmu->kref, hwsim_iommu_release);
}

/**
 * hwsim_iommu_destroy() - the NIC goes
 * @mmu: from hwsim_iommu_create()
 *
 * The NIC makes no access any more, and its clients have unmapped: what they
 * have not is reported as a leak, and dropped.
 *
 * Context: may sleep.
 */
void hwsim_iommu_destroy(struct hwsim_iommu *mmu)
{
	struct rb_node *node;
	unsigned long flags;
	struct rb_root left;

	debugfs_remove_recursive(mmu->dir);
	hwsim_report_leaks(mmu);
	write_lock_irqsave(&hwsim_iommu_lock, flags);
	left = mmu->live;
	mmu->live = RB_ROOT;
	write_unlock_irqrestore(&hwsim_iommu_lock, flags);
	while ((node = rb_first(&left))) {
		rb_erase(node, &left);
		hwsim_map_free(rb_entry(node, struct hwsim_map, node));
	}
	platform_device_unregister(mmu->pdev);
	hwsim_iommu_put(mmu);
}

/**
 * hwsim_iommu_dev() - the device that clients map for
 * @mmu: the IOMMU
 *
 * Return: the device, which lives until hwsim_iommu_destroy().
 */
struct device *hwsim_iommu_dev(struct hwsim_iommu *mmu)
{
	return &mmu->pdev->dev;
}

/**
 * hwsim_iommu_of() - the IOMMU of a device
 * @dev: any device that is alive
 *
 * Return: its software IOMMU, or NULL when it has none.
 */
struct hwsim_iommu *hwsim_iommu_of(struct device *dev)
{
	return get_dma_ops(dev) == &hwsim_dma_ops ? dev_get_drvdata(dev) : NULL;
}

/* What is wrong with an address that is in no live mapping. */
static void hwsim_iommu_miss(struct hwsim_iommu *mmu, u64 addr, struct hwsim_report *rep)
{
	if (addr < mmu->base || addr >= mmu->next) {
		rep->what = HWSIM_IOMMU_FAULT_UNKNOWN;
		rep->why = "no bus address of this device";
		return;
	}
	rep->what = HWSIM_IOMMU_FAULT_STALE;
	rep->why = "its mapping is gone";
	hwsim_report_fill(rep, hwsim_map_dead(mmu, addr));
}

/*
 * Find the bytes behind a bus address, under hwsim_iommu_lock.  *len is what the
 * NIC wants and becomes what can be had in one run.  NULL: *rep tells why not.
 */
static void *hwsim_iommu_walk(struct hwsim_iommu *mmu, u64 addr, size_t *len, bool write,
			      struct hwsim_map **which, struct hwsim_report *rep)
{
	struct hwsim_map *map = hwsim_map_find(mmu, addr);
	struct hwsim_piece *p;
	u64 at;

	if (!map) {
		hwsim_iommu_miss(mmu, addr, rep);
		return NULL;
	}
	hwsim_report_fill(rep, map);
	p = hwsim_map_piece(map, addr - map->iova);
	if (!p || addr - map->iova - p->off >= p->len) {
		rep->what = HWSIM_IOMMU_FAULT_BOUNDS;
		rep->why = "outside of what is mapped";
		return NULL;
	}
	if (map->dir != DMA_BIDIRECTIONAL &&
	    map->dir != (write ? DMA_FROM_DEVICE : DMA_TO_DEVICE)) {
		rep->what = HWSIM_IOMMU_FAULT_DIR;
		rep->why = "against the direction of the mapping";
		return NULL;
	}
	if (!p->cpu) {
		rep->what = HWSIM_IOMMU_FAULT_RESOURCE;
		rep->why = "a resource's bytes are not modelled";
		return NULL;
	}
	at = addr - map->iova - p->off;
	*len = min_t(u64, *len, p->len - at);
	*which = map;
	return (p->bounce ?: p->cpu) + at;
}

/**
 * hwsim_iommu_read() - the NIC reads memory
 * @mmu: the NIC's IOMMU
 * @addr: where, on the bus
 * @dst: where the bytes go
 * @len: how many
 *
 * Context: any but NMI.
 * Return: 0, or -EFAULT after the fault has been reported; bytes before it may
 * have been copied.
 */
int hwsim_iommu_read(struct hwsim_iommu *mmu, u64 addr, void *dst, size_t len)
{
	struct hwsim_report rep = { .doing = "NIC read", .addr = addr, .len = len };
	struct hwsim_map *map;
	unsigned long flags;
	size_t n;
	void *p;

	hwsim_stat_add(mmu, HWSIM_IOMMU_READ_BYTES, len);
	for (; len; addr += n, dst += n, len -= n) {
		n = min_t(size_t, len, HWSIM_COPY_MAX);
		read_lock_irqsave(&hwsim_iommu_lock, flags);
		p = hwsim_iommu_walk(mmu, addr, &n, false, &map, &rep);
		if (p)
			memcpy(dst, p, n);
		read_unlock_irqrestore(&hwsim_iommu_lock, flags);
		if (!p) {
			hwsim_report(mmu, &rep);
			return -EFAULT;
		}
	}
	return 0;
}

/* Whoever the bytes belong to may want to know that the NIC wrote them. */
static void hwsim_iommu_wrote(struct hwsim_map *map, void *at, size_t n)
{
	if (map->wrote)
		map->wrote(map->ctx, at, n);
}

/**
 * hwsim_iommu_write() - the NIC writes memory
 * @mmu: the NIC's IOMMU
 * @addr: where, on the bus
 * @src: where the bytes are
 * @len: how many
 *
 * Context: any but NMI.
 * Return: 0, or -EFAULT after the fault has been reported; bytes before it may
 * have been written.
 */
int hwsim_iommu_write(struct hwsim_iommu *mmu, u64 addr, const void *src, size_t len)
{
	struct hwsim_report rep = { .doing = "NIC write", .addr = addr, .len = len };
	struct hwsim_map *map;
	unsigned long flags;
	size_t n;
	void *p;

	hwsim_stat_add(mmu, HWSIM_IOMMU_WRITE_BYTES, len);
	for (; len; addr += n, src += n, len -= n) {
		n = min_t(size_t, len, HWSIM_COPY_MAX);
		read_lock_irqsave(&hwsim_iommu_lock, flags);
		p = hwsim_iommu_walk(mmu, addr, &n, true, &map, &rep);
		if (p) {
			memcpy(p, src, n);
			hwsim_iommu_wrote(map, p, n);
		}
		read_unlock_irqrestore(&hwsim_iommu_lock, flags);
		if (!p) {
			hwsim_report(mmu, &rep);
			return -EFAULT;
		}
	}
	return 0;
}

/**
 * hwsim_iommu_copy() - one NIC's memory into another's, copied once
 * @to: the NIC that writes
 * @daddr: where, on its bus
 * @from: the NIC that reads
 * @saddr: where, on its bus
 * @len: how many bytes
 *
 * The two may be the same, and the bytes may overlap.
 *
 * Context: any but NMI.
 * Return: 0, or -EFAULT after the fault has been reported, for whoever's it was.
 */
int hwsim_iommu_copy(struct hwsim_iommu *to, u64 daddr,
		     struct hwsim_iommu *from, u64 saddr, size_t len)
{
	struct hwsim_report rrep = { .doing = "NIC read", .addr = saddr, .len = len };
	struct hwsim_report wrep = { .doing = "NIC write", .addr = daddr, .len = len };
	struct hwsim_map *map;
	unsigned long flags;
	void *s, *d;
	size_t n;

	hwsim_stat_add(from, HWSIM_IOMMU_READ_BYTES, len);
	hwsim_stat_add(to, HWSIM_IOMMU_WRITE_BYTES, len);
	for (; len; saddr += n, daddr += n, len -= n) {
		n = min_t(size_t, len, HWSIM_COPY_MAX);
		d = NULL;
		read_lock_irqsave(&hwsim_iommu_lock, flags);
		s = hwsim_iommu_walk(from, saddr, &n, false, &map, &rrep);
		if (s)
			d = hwsim_iommu_walk(to, daddr, &n, true, &map, &wrep);
		if (d) {
			memmove(d, s, n);
			hwsim_iommu_wrote(map, d, n);
		}
		read_unlock_irqrestore(&hwsim_iommu_lock, flags);
		if (!d) {
			hwsim_report(s ? to : from, s ? &wrep : &rrep);
			return -EFAULT;
		}
	}
	return 0;
}

/**
 * hwsim_iommu_map_raw() - let a NIC reach memory that is not the client's
 * @mmu: the NIC's IOMMU
 * @mem: the memory, one run of bytes for the CPU
 * @len: bytes
 * @dir: as for dma_map_single()
 * @wrote: called after each write of the NIC with the bytes in @mem, atomic; or NULL
 * @ctx: for @wrote
 *
 * Never bounced: there is no other way to the bytes that could be synced.
 *
 * Context: any but NMI.
 * Return: the bus address, or DMA_MAPPING_ERROR.
 */
dma_addr_t hwsim_iommu_map_raw(struct hwsim_iommu *mmu, void *mem, size_t len,
			       enum dma_data_direction dir, hwsim_iommu_wrote_fn wrote, void *ctx)
{
	struct hwsim_map *map = hwsim_map_new(mmu, HWSIM_MAP_RAW, dir);

	if (!map)
		return DMA_MAPPING_ERROR;
	map->wrote = wrote;
	map->ctx = ctx;
	if (hwsim_map_add(map, 0, mem, len, false) || hwsim_map_insert(mmu, map, len)) {
		hwsim_map_free(map);
		return DMA_MAPPING_ERROR;
	}
	return map->iova;
}

/**
 * hwsim_iommu_unmap_raw() - undo hwsim_iommu_map_raw()
 * @mmu: the NIC's IOMMU; its device may have gone
 * @addr: the bus address
 *
 * When this returns @wrote is not running and will not be called.
 *
 * Context: any but NMI.
 */
void hwsim_iommu_unmap_raw(struct hwsim_iommu *mmu, dma_addr_t addr)
{
	struct hwsim_map *map;
	unsigned long flags;

	write_lock_irqsave(&hwsim_iommu_lock, flags);
	map = hwsim_map_find(mmu, addr);
	if (map)
		rb_erase(&map->node, &mmu->live);
	write_unlock_irqrestore(&hwsim_iommu_lock, flags);
	if (map)
		hwsim_map_bury(mmu, map);
}

/**
 * hwsim_iommu_stat() - a counter
 * @mmu: the IOMMU
 * @stat: which
 *
 * Return: its value.
 */
u64 hwsim_iommu_stat(struct hwsim_iommu *mmu, enum hwsim_iommu_stat stat)
{
	return atomic64_read(&mmu->stat[stat]);
}

/**
 * hwsim_iommu_faults() - everything that was wrong
 * @mmu: the IOMMU
 *
 * Return: the sum of all faults, misuses and leaks.
 */
u64 hwsim_iommu_faults(struct hwsim_iommu *mmu)
{
	u64 sum = 0;
	int i;

	for (i = HWSIM_IOMMU_FAULT_UNKNOWN; i < HWSIM_IOMMU_NSTATS; i++)
		sum += hwsim_iommu_stat(mmu, i);
	return sum;
}

/**
 * hwsim_iommu_expect_faults() - a test is about to provoke faults
 * @mmu: the IOMMU
 * @expect: they are printed as what was expected, until this is false again
 */
void hwsim_iommu_expect_faults(struct hwsim_iommu *mmu, bool expect)
{
	WRITE_ONCE(mmu->expect, expect);
}

/**
 * hwsim_iommu_set_bounce() - bounce what is mapped from now on, or stop it
 * @mmu: the IOMMU
 * @bounce: whether
 */
void hwsim_iommu_set_bounce(struct hwsim_iommu *mmu, bool bounce)
{
	WRITE_ONCE(mmu->bounce, bounce);
}

/**
 * hwsim_iommu_set_merge() - join entries of scatter lists from now on, or not
 * @mmu: the IOMMU
 * @merge: whether
 */
void hwsim_iommu_set_merge(struct hwsim_iommu *mmu, bool merge)
{
	WRITE_ONCE(mmu->merge, merge);
}

/**
 * hwsim_iommu_fail_map() - make a call that maps fail
 * @mmu: the IOMMU
 * @call: the how manyth from now on, 1 for the next; 0 for none
 */
void hwsim_iommu_fail_map(struct hwsim_iommu *mmu, int call)
{
	atomic_set(&mmu->fail_map, call);
}

static int iommu_stats_show(struct seq_file *m, void *unused)
{
	struct hwsim_iommu *mmu = m->private;
	int i;

	for (i = 0; i < HWSIM_IOMMU_NSTATS; i++)
		seq_printf(m, "%s %llu\n", hwsim_iommu_stat_names[i], hwsim_iommu_stat(mmu, i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(iommu_stats);

/**
 * hwsim_iommu_debugfs() - show the IOMMU as a directory "iommu"
 * @mmu: the IOMMU, whose destruction removes it
 * @parent: the NIC's directory
 *
 * Context: may sleep.
 */
void hwsim_iommu_debugfs(struct hwsim_iommu *mmu, struct dentry *parent)
{
	mmu->dir = debugfs_create_dir("iommu", parent);
	debugfs_create_file("stats", 0444, mmu->dir, mmu, &iommu_stats_fops);
	debugfs_create_bool("bounce", 0644, mmu->dir, &mmu->bounce);
	debugfs_create_bool("merge", 0644, mmu->dir, &mmu->merge);
	debugfs_create_bool("expect_faults", 0644, mmu->dir, &mmu->expect);
	debugfs_create_atomic_t("fail_map", 0644, mmu->dir, &mmu->fail_map);
}
