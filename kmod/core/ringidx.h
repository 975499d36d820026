/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Index arithmetic of rings whose other side is a process that may write
 * anything at any time.  The kernel's own indices are private copies; these
 * functions see one value that was read once.
 */
#ifndef DMS_CORE_RINGIDX_H
#define DMS_CORE_RINGIDX_H

#include <linux/minmax.h>
#include <linux/types.h>

bool dms_ring_size_ok(u32 entries, u32 max);	/* power of two, 1 to max */
/* Entries that the process published: its tail less our head; -EINVAL if more than entries. */
int dms_ring_pending(u32 tail, u32 head, u32 entries);

/**
 * dms_ring_occupied() - entries of ours that the process did not take
 * @tail: our private index
 * @head: the process's index, read once with acquire
 * @entries: size of the ring
 *
 * A head that is nonsense reads as full: it can only starve its writer.
 *
 * Context: Any.
 * Return: number of entries, 0 to @entries; @entries when @head is nonsense.
 */
static inline u32 dms_ring_occupied(u32 tail, u32 head, u32 entries)
{
	return min_t(u32, tail - head, entries);
}

/*
 * Slots of a completion queue.  Submissions reserve them, and can never take
 * the last @recv_min; receives may use what is neither occupied nor reserved.
 */
struct dms_cqslots {
	u32	entries;
	u32	recv_min;
	u32	reserved;
};

void dms_cqslots_init(struct dms_cqslots *s, u32 entries, u32 recv_min);

/**
 * dms_cqslots_reserve() - set slots aside for a submission
 * @s: slots, unchanged when there is no room
 * @occupied: from dms_ring_occupied()
 * @n: slots: 1, or 2 for a submission with a later NOTIFY
 *
 * The sums are 64 bits wide: the process can make @occupied jump to the whole
 * size at any time, and it adds to what was reserved before.
 *
 * Context: Any.
 * Return: true when they are reserved.
 */
static inline bool dms_cqslots_reserve(struct dms_cqslots *s, u32 occupied, u32 n)
{
	if ((u64)occupied + s->reserved + n + s->recv_min > s->entries)
		return false;
	s->reserved += n;
	return true;
}

/**
 * dms_cqslots_unreserve() - a completion was written, or will never be
 * @s: slots
 * @n: slots
 *
 * Context: Any.
 */
static inline void dms_cqslots_unreserve(struct dms_cqslots *s, u32 n)
{
	s->reserved -= min_t(u32, n, s->reserved);
}

/**
 * dms_cqslots_recv_ok() - is there a slot for a received message?
 * @s: slots
 * @occupied: from dms_ring_occupied()
 *
 * Context: Any.
 * Return: true when one is neither occupied nor reserved.
 */
static inline bool dms_cqslots_recv_ok(const struct dms_cqslots *s, u32 occupied)
{
	return (u64)occupied + s->reserved < s->entries;
}

/**
 * dms_range_ok() - does a range lie inside something?
 * @off: where it begins, in bytes
 * @len: its length
 * @size: size of what it should lie in
 *
 * Context: Any.
 * Return: true when it does; an empty range may lie at the very end.
 */
static inline bool dms_range_ok(u64 off, u64 len, u64 size)
{
	return off <= size && len <= size - off;
}

#endif /* DMS_CORE_RINGIDX_H */
