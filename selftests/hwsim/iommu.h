/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The software IOMMU in front of a simulated NIC.
 *
 * A bus address that a client gets is none that the CPU knows: each device has
 * a window of its own, above every physical and user address and below every
 * kernel one, and hands it out from bottom to top.  Nothing is handed out
 * twice, so a stale address never means somebody else's memory.  Between two
 * mappings lies at least one page that belongs to nobody.
 *
 * Each access of the NIC names a device and a bus address.  It is checked to
 * the byte against what is mapped now, with its direction; what does not fit is
 * a fault: counted, printed once for each place that mapped the memory, and
 * answered with -EFAULT.
 *
 * All of it may be called in any context but NMI, but for create, destroy and
 * debugfs, which sleep.
 */
#ifndef HWSIM_IOMMU_H
#define HWSIM_IOMMU_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct dentry;
struct device;
struct hwsim_iommu;

/* What is counted; hwsim_iommu_stat_names[] has a name for each. */
enum hwsim_iommu_stat {
	HWSIM_IOMMU_MAPS,		/* mappings ever made */
	HWSIM_IOMMU_LIVE,		/* mappings now */
	HWSIM_IOMMU_LIVE_BYTES,
	HWSIM_IOMMU_READ_BYTES,		/* what the NIC took */
	HWSIM_IOMMU_WRITE_BYTES,	/* what the NIC put */
	HWSIM_IOMMU_BOUNCE_BYTES,	/* what map, sync and unmap copied */
	HWSIM_IOMMU_FAULT_UNKNOWN,	/* an address that was never handed out */
	HWSIM_IOMMU_FAULT_STALE,	/* its mapping is gone */
	HWSIM_IOMMU_FAULT_BOUNDS,	/* before, behind or between what is mapped */
	HWSIM_IOMMU_FAULT_DIR,		/* against the mapping's direction */
	HWSIM_IOMMU_FAULT_RESOURCE,	/* dma_map_resource(): not modelled */
	HWSIM_IOMMU_MISUSE_UNMAP,	/* unmapped with what was not mapped so */
	HWSIM_IOMMU_MISUSE_SYNC,	/* synced what is not mapped so */
	HWSIM_IOMMU_LEAKS,		/* left when the device went */
	HWSIM_IOMMU_NSTATS
};

extern const char *const hwsim_iommu_stat_names[HWSIM_IOMMU_NSTATS];

struct hwsim_iommu *hwsim_iommu_create(const char *name);
void hwsim_iommu_destroy(struct hwsim_iommu *mmu);
struct device *hwsim_iommu_dev(struct hwsim_iommu *mmu);
struct hwsim_iommu *hwsim_iommu_of(struct device *dev);
void hwsim_iommu_debugfs(struct hwsim_iommu *mmu, struct dentry *parent);
u64 hwsim_iommu_stat(struct hwsim_iommu *mmu, enum hwsim_iommu_stat stat);
u64 hwsim_iommu_faults(struct hwsim_iommu *mmu);

int hwsim_iommu_read(struct hwsim_iommu *mmu, u64 addr, void *dst, size_t len);
int hwsim_iommu_write(struct hwsim_iommu *mmu, u64 addr, const void *src, size_t len);
int hwsim_iommu_copy(struct hwsim_iommu *to, u64 daddr,
		     struct hwsim_iommu *from, u64 saddr, size_t len);

/* Memory that only NICs reach (hbm.c). */
typedef void (*hwsim_iommu_wrote_fn)(void *ctx, void *at, size_t len);
dma_addr_t hwsim_iommu_map_raw(struct hwsim_iommu *mmu, void *mem, size_t len,
			       enum dma_data_direction dir, hwsim_iommu_wrote_fn wrote, void *ctx);
void hwsim_iommu_unmap_raw(struct hwsim_iommu *mmu, dma_addr_t addr);
void hwsim_iommu_get(struct hwsim_iommu *mmu);
void hwsim_iommu_put(struct hwsim_iommu *mmu);

/* For tests. */
void hwsim_iommu_expect_faults(struct hwsim_iommu *mmu, bool expect);
void hwsim_iommu_set_bounce(struct hwsim_iommu *mmu, bool bounce);
void hwsim_iommu_set_merge(struct hwsim_iommu *mmu, bool merge);
void hwsim_iommu_fail_map(struct hwsim_iommu *mmu, int call);

#endif /* HWSIM_IOMMU_H */
