// SPDX-License-Identifier: GPL-2.0-only
/*
 * Index arithmetic of shared rings.  Indices run freely through 2^32; an entry
 * is at index & (entries - 1).
 */
#include <linux/errno.h>

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
