// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who mapped what, and what was wrong with it.
 *
 * A report begins with "hwsim: FAULT: ", which the bed takes for a failure of
 * the run, or with "hwsim: expected: " when a test said that it would come.
 */
#include <linux/bitops.h>
#include <linux/jhash.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/timekeeping.h>
#include "iommu_impl.h"

/* Reports about addresses that nobody mapped: there is no place to tell them apart by. */
#define HWSIM_UNKNOWN_MAX	8

static bool iommu_stacks = true;
module_param(iommu_stacks, bool, 0644);
MODULE_PARM_DESC(iommu_stacks, "Keep the stack of who maps and unmaps (costs instructions)");

const char *const hwsim_iommu_stat_names[HWSIM_IOMMU_NSTATS] = {
	[HWSIM_IOMMU_MAPS]		= "iommu_maps",
	[HWSIM_IOMMU_LIVE]		= "iommu_live",
	[HWSIM_IOMMU_LIVE_BYTES]	= "iommu_live_bytes",
	[HWSIM_IOMMU_READ_BYTES]	= "iommu_read_bytes",
	[HWSIM_IOMMU_WRITE_BYTES]	= "iommu_write_bytes",
	[HWSIM_IOMMU_BOUNCE_BYTES]	= "iommu_bounce_bytes",
	[HWSIM_IOMMU_FAULT_UNKNOWN]	= "iommu_fault_unknown",
	[HWSIM_IOMMU_FAULT_STALE]	= "iommu_fault_stale",
	[HWSIM_IOMMU_FAULT_BOUNDS]	= "iommu_fault_bounds",
	[HWSIM_IOMMU_FAULT_DIR]		= "iommu_fault_direction",
	[HWSIM_IOMMU_FAULT_RESOURCE]	= "iommu_fault_resource",
	[HWSIM_IOMMU_MISUSE_UNMAP]	= "iommu_misuse_unmap",
	[HWSIM_IOMMU_MISUSE_SYNC]	= "iommu_misuse_sync",
	[HWSIM_IOMMU_LEAKS]		= "iommu_leaks",
};

static const char *hwsim_dir_name(enum dma_data_direction dir)
{
	switch (dir) {
	case DMA_TO_DEVICE:		return "to device";
	case DMA_FROM_DEVICE:		return "from device";
	case DMA_BIDIRECTIONAL:		return "both directions";
	default:			return "no direction";
	}
}

/* The place that equals e[0..nr), under stack_lock. */
static struct hwsim_stack *hwsim_stack_find(struct hwsim_iommu *mmu, u32 hash,
					    const unsigned long *e, unsigned int nr)
{
	struct hwsim_stack *s;

	hlist_for_each_entry(s, &mmu->stacks[hash & ((1 << HWSIM_STACK_BITS) - 1)], node)
		if (s->hash == hash && s->nr == nr && !memcmp(s->entries, e, nr * sizeof(*e)))
			return s;
	return NULL;
}

/**
 * hwsim_stack_here() - the caller's place
 * @mmu: the device's IOMMU
 *
 * Context: any but NMI; takes stack_lock.
 * Return: the stack, the same pointer for the same place; good until the IOMMU
 * is freed.  NULL when stacks are off or there is no memory.
 */
struct hwsim_stack *hwsim_stack_here(struct hwsim_iommu *mmu)
{
	unsigned long e[HWSIM_STACK_MAX], flags;
	struct hwsim_stack *s;
	unsigned int nr;
	u32 hash;

	if (!READ_ONCE(iommu_stacks))
		return NULL;
	nr = stack_trace_save(e, ARRAY_SIZE(e), 1);
	hash = jhash2((u32 *)e, nr * sizeof(*e) / sizeof(u32), 0);
	spin_lock_irqsave(&mmu->stack_lock, flags);
	s = hwsim_stack_find(mmu, hash, e, nr);
	if (!s && mmu->nstacks < HWSIM_STACK_LIMIT) {
		s = kzalloc(struct_size(s, entries, nr), GFP_ATOMIC | __GFP_NOWARN);
		if (s) {
			s->hash = hash;
			s->nr = nr;
			memcpy(s->entries, e, nr * sizeof(*e));
			hlist_add_head(&s->node,
				       &mmu->stacks[hash & ((1 << HWSIM_STACK_BITS) - 1)]);
			mmu->nstacks++;
		}
	}
	spin_unlock_irqrestore(&mmu->stack_lock, flags);
	return s;
}

/**
 * hwsim_stacks_free() - forget all places
 * @mmu: an IOMMU that nobody uses any more
 */
void hwsim_stacks_free(struct hwsim_iommu *mmu)
{
	struct hwsim_stack *s;
	struct hlist_node *tmp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mmu->stacks); i++)
		hlist_for_each_entry_safe(s, tmp, &mmu->stacks[i], node)
			kfree(s);
}

/**
 * hwsim_report_fill() - note whom a report is about
 * @rep: the report
 * @map: a record, live or in the quarantine, or NULL
 *
 * Context: hwsim_iommu_lock held, so that @map stays.
 */
void hwsim_report_fill(struct hwsim_report *rep, const struct hwsim_map *map)
{
	rep->known = map;
	if (!map)
		return;
	rep->iova = map->iova;
	rep->bytes = map->bytes;
	rep->dir = map->dir;
	rep->mapped_ns = map->mapped_ns;
	rep->freed_ns = map->freed_ns;
	rep->pid = map->pid;
	memcpy(rep->comm, map->comm, sizeof(rep->comm));
	rep->owner = map->owner;
	rep->freer = map->freer;
}

static void hwsim_print_stack(const char *what, const struct hwsim_stack *s)
{
	if (!s)
		return;
	pr_info("hwsim:   %s:\n", what);
	stack_trace_print(s->entries, s->nr, 4);
}

/* True the first time that something is to be told about a place. */
static bool hwsim_report_is_new(struct hwsim_iommu *mmu, const struct hwsim_report *rep)
{
	if (rep->owner)
		return !test_and_set_bit(rep->what, &rep->owner->printed);
	return atomic_inc_return(&mmu->nunknown) <= HWSIM_UNKNOWN_MAX;
}

/**
 * hwsim_report() - count a fault, and print it when its place is new
 * @mmu: the device's IOMMU
 * @rep: what is known
 *
 * Context: any, without hwsim_iommu_lock: a console may be slow.  The stacks
 * live as long as @mmu.
 */
void hwsim_report(struct hwsim_iommu *mmu, struct hwsim_report *rep)
{
	u64 now = ktime_get_ns();

	hwsim_stat_add(mmu, rep->what, 1);
	if (!hwsim_report_is_new(mmu, rep))
		return;
	if (READ_ONCE(mmu->expect))
		pr_info("hwsim: expected: %s: %s of %zu bytes at %#llx: %s\n",
			mmu->name, rep->doing, rep->len, rep->addr, rep->why);
	else
		pr_err("hwsim: FAULT: %s: %s of %zu bytes at %#llx: %s\n",
		       mmu->name, rep->doing, rep->len, rep->addr, rep->why);
	if (!rep->known)
		return;
	pr_info("hwsim:   mapping %#llx, %llu bytes, %s, made by %s[%d] %llu us ago\n",
		rep->iova, rep->bytes, hwsim_dir_name(rep->dir), rep->comm, rep->pid,
		(now - rep->mapped_ns) / NSEC_PER_USEC);
	hwsim_print_stack("mapped by", rep->owner);
	if (rep->freed_ns) {
		pr_info("hwsim:   unmapped %llu us ago\n", (now - rep->freed_ns) / NSEC_PER_USEC);
		hwsim_print_stack("unmapped by", rep->freer);
	}
}

/**
 * hwsim_report_leaks() - tell of each mapping that is left, once a place
 * @mmu: an IOMMU whose client has gone; nobody changes its tree any more
 */
void hwsim_report_leaks(struct hwsim_iommu *mmu)
{
	struct rb_node *node;

	for (node = rb_first(&mmu->live); node; node = rb_next(node)) {
		struct hwsim_report rep = {
			.what = HWSIM_IOMMU_LEAKS,
			.doing = "mapping",
			.why = "never unmapped",
		};
		struct hwsim_map *map = rb_entry(node, struct hwsim_map, node);

		hwsim_report_fill(&rep, map);
		rep.addr = map->iova;
		rep.len = map->bytes;
		hwsim_report(mmu, &rep);
	}
}
