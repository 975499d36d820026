// SPDX-License-Identifier: GPL-2.0-only
/*
 * Index arithmetic of shared rings.  Indices run freely through 2^32; an entry
 * is at index & (entries - 1).
 */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "ringidx.h"

/**
 * dms_ring_size_ok() - may a ring have this many entries?
 * @entries: entries
 * @max: most that are allowed
 *
 * Context: Any.
 * Return: true for a power of two, 1 to @max.
 */
bool dms_ring_size_ok(u32 entries, u32 max)
{
	return entries && !(entries & (entries - 1)) && entries <= max;
}

/**
 * dms_ring_pending() - entries that the process published and we did not take
 * @tail: the process's index, read once with acquire
 * @head: our private index
 * @entries: size of the ring, at most 2^30
 *
 * Context: Any.
 * Return: number of entries, or -EINVAL when @tail is nonsense.
 */
int dms_ring_pending(u32 tail, u32 head, u32 entries)
{
	u32 n = tail - head;

	return n > entries ? -EINVAL : (int)n;
}

/**
 * dms_ring_occupied() - entries of ours that the process did not take
 * @tail: our private index
 * @head: the process's index, read once with acquire
 * @entries: size of the ring
 *
 * Context: Any.
 * Return: number of entries, 0 to @entries; @entries when @head is nonsense.
 */
u32 dms_ring_occupied(u32 tail, u32 head, u32 entries)
{
	return min_t(u32, tail - head, entries);
}

/**
 * dms_cqslots_init() - nothing is reserved
 * @s: slots of a completion queue
 * @entries: its size
 * @recv_min: slots that submissions can never take
 *
 * Context: Any.
 */
void dms_cqslots_init(struct dms_cqslots *s, u32 entries, u32 recv_min)
{
	s->entries = entries;
	s->recv_min = recv_min;
	s->reserved = 0;
}

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
bool dms_cqslots_reserve(struct dms_cqslots *s, u32 occupied, u32 n)
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
void dms_cqslots_unreserve(struct dms_cqslots *s, u32 n)
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
bool dms_cqslots_recv_ok(const struct dms_cqslots *s, u32 occupied)
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
bool dms_range_ok(u64 off, u64 len, u64 size)
{
	return off <= size && len <= size - off;
}
