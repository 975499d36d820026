/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the software IOMMU: iommu.c (the device and the NIC's accesses),
 * iommu_ops.c (the client's DMA API), iommu_map.c (what is mapped),
 * iommu_report.c (who mapped it, and what was wrong).
 */
#ifndef HWSIM_IOMMU_IMPL_H
#define HWSIM_IOMMU_IMPL_H

#include <linux/atomic.h>
#include <linux/dma-map-ops.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/platform_device.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include "iommu.h"

#define HWSIM_STACK_MAX		24	/* frames of a stack that are kept */
#define HWSIM_STACK_BITS	8	/* log2 of the hash's buckets */
#define HWSIM_STACK_LIMIT	4096	/* different stacks that are kept */

/*
 * Each device has 2^48 bytes of bus addresses, the n-th from 2^57 + n * 2^48 on: above
 * what processes have with five levels of page tables, too.
 */
#define HWSIM_WINDOW_BASE	(1ULL << 57)
#define HWSIM_WINDOW_SHIFT	48
#define HWSIM_WINDOWS		1024

enum hwsim_map_kind {
	HWSIM_MAP_PAGE,
	HWSIM_MAP_SG,
	HWSIM_MAP_COHERENT,
	HWSIM_MAP_RESOURCE,
	HWSIM_MAP_RAW,
};

/* Where a client stood.  Kept, once each, as long as the device. */
struct hwsim_stack {
	struct hlist_node node;
	u32 hash;
	unsigned int nr;
	unsigned long printed;		/* bit per enum hwsim_iommu_stat, by set_bit() */
	unsigned long entries[];
};

/* A run of bytes that follow each other on the bus and for the CPU. */
struct hwsim_piece {
	u64 off;			/* on the bus, from the mapping's start */
	size_t len;
	void *cpu;			/* the client's bytes; NULL: none (a resource) */
	void *bounce;			/* what the NIC reaches instead, or NULL */
};

#define HWSIM_CHUNK	(PAGE_SIZE / sizeof(struct hwsim_piece))

/*
 * What one call of the DMA API mapped.  Live, it is in the device's tree; later
 * in its quarantine, without pieces, for the sake of reports.  All fields but
 * those that the list and the tree own are written before it is in the tree.
 */
struct hwsim_map {
	union {
		struct rb_node node;	/* live */
		struct list_head list;	/* quarantine */
	};
	u64 iova;			/* start, a page's */
	u64 span;			/* bytes of the window that it owns, its guard too */
	u64 bytes;			/* that the client mapped */
	enum dma_data_direction dir;
	enum hwsim_map_kind kind;
	bool quiet;			/* DMA_ATTR_SKIP_CPU_SYNC at the time of mapping */
	int nents;			/* of the client's scatter list */
	unsigned int npieces, nchunks;
	struct hwsim_piece one;		/* the only piece, when nchunks is 0 */
	struct hwsim_piece **chunk;
	hwsim_iommu_wrote_fn wrote;
	void *ctx;
	struct hwsim_stack *owner, *freer;
	u64 mapped_ns, freed_ns;
	pid_t pid;
	char comm[TASK_COMM_LEN];
};

struct hwsim_iommu {
	struct kref kref;
	struct platform_device *pdev;
	char name[32];
	u64 base;			/* of the window */
	u64 next;			/* of the window, not handed out so far; hwsim_iommu_lock */
	struct rb_root live;		/* by iova; hwsim_iommu_lock */
	struct list_head dead;		/* quarantine, oldest first; hwsim_iommu_lock */
	unsigned int ndead;		/* hwsim_iommu_lock */
	bool bounce, merge, expect;	/* read once per call */
	atomic_t fail_map;		/* the n-th call to map from now on fails; 0: none */
	atomic64_t stat[HWSIM_IOMMU_NSTATS];
	atomic_t nunknown;		/* reports about addresses that were never mapped */
	spinlock_t stack_lock;		/* stacks and nstacks; innermost, interrupts off */
	struct hlist_head stacks[1 << HWSIM_STACK_BITS];
	unsigned int nstacks;
	struct dentry *dir;
};

/* What is known of a fault, taken under the lock and printed without it. */
struct hwsim_report {
	enum hwsim_iommu_stat what;
	const char *doing;		/* "NIC read", "unmap" ... */
	const char *why;
	u64 addr;
	size_t len;
	bool known;			/* the fields below tell of a mapping */
	u64 iova, bytes, mapped_ns, freed_ns;
	enum dma_data_direction dir;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct hwsim_stack *owner, *freer;
};

extern rwlock_t hwsim_iommu_lock;
extern const struct dma_map_ops hwsim_dma_ops;

/* iommu_map.c */
struct hwsim_map *hwsim_map_new(struct hwsim_iommu *mmu, enum hwsim_map_kind kind,
				enum dma_data_direction dir);
int hwsim_map_add(struct hwsim_map *map, u64 off, void *cpu, size_t len, bool bounce);
int hwsim_map_insert(struct hwsim_iommu *mmu, struct hwsim_map *map, u64 span);
struct hwsim_map *hwsim_map_find(struct hwsim_iommu *mmu, u64 addr);
struct hwsim_map *hwsim_map_dead(struct hwsim_iommu *mmu, u64 addr);
struct hwsim_piece *hwsim_map_piece(struct hwsim_map *map, u64 off);
struct hwsim_piece *hwsim_map_nth(struct hwsim_map *map, unsigned int n);
void hwsim_map_bury(struct hwsim_iommu *mmu, struct hwsim_map *map);
void hwsim_map_free_pieces(struct hwsim_map *map);
void hwsim_map_free(struct hwsim_map *map);
void hwsim_piece_sync(struct hwsim_iommu *mmu, struct hwsim_piece *p, size_t at, size_t n,
		      bool to_device);

/* iommu_report.c */
struct hwsim_stack *hwsim_stack_here(struct hwsim_iommu *mmu);
void hwsim_stacks_free(struct hwsim_iommu *mmu);
void hwsim_report_fill(struct hwsim_report *rep, const struct hwsim_map *map);
void hwsim_report(struct hwsim_iommu *mmu, struct hwsim_report *rep);
void hwsim_report_leaks(struct hwsim_iommu *mmu);

static inline void hwsim_stat_add(struct hwsim_iommu *mmu, enum hwsim_iommu_stat stat, s64 n)
{
	atomic64_add(n, &mmu->stat[stat]);
}

#endif /* HWSIM_IOMMU_IMPL_H */
