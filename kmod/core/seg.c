// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cutting messages.
 */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "seg.h"

/* The element with byte @at of the message, and that byte's place in it; @n: none. */
static u32 elem_find(const struct dms_elem *elem, u32 n, u32 at, u32 *into)
{
	u64 begin = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		if (at < begin + elem[i].len) {
			*into = at - (u32)begin;
			break;
		}
		begin += elem[i].len;
	}
	return i;
}

/**
 * dms_elem_at() - where a byte of the message lies, and what follows it there
 * @elem: elements of the message, in order; empty ones are passed over
 * @n: how many
 * @at: byte of the message
 * @piece: the answer: from that byte to the end of its element
 *
 * Context: Any.
 * Return: false, and nothing in @piece, when @at is not inside the message.
 */
bool dms_elem_at(const struct dms_elem *elem, u32 n, u32 at, struct dms_elem *piece)
{
	u32 into, i = elem_find(elem, n, at, &into);

	if (i == n)
		return false;
	piece->off = elem[i].off + into;
	piece->len = elem[i].len - into;
	return true;
}

/**
 * dms_seg_at() - the segment that starts at a byte of a message
 * @elem: elements of the message, in order; empty ones are passed over
 * @n: how many
 * @at: byte of the message
 * @pages: most pages that one memory region covers, not 0
 * @page_shift: their size, below 32
 * @seg: the answer
 *
 * A segment is cut where the region's last page ends.  The cut depends on
 * nothing but the arguments, so that both the sender that keys a segment and
 * the one that keys it again after a HOLD come to the same.
 *
 * Context: Any.
 * Return: false, and nothing in @seg, when @at is not inside the message or
 * the page numbers are no such.
 */
bool dms_seg_at(const struct dms_elem *elem, u32 n, u32 at, u32 pages, u32 page_shift,
		struct dms_seg *seg)
{
	u32 i, into;
	u64 room;

	if (!pages || page_shift > 31)
		return false;
	i = elem_find(elem, n, at, &into);
	if (i == n)
		return false;

	seg->elem = i;
	seg->off = elem[i].off + into;
	/* from here to the end of the last page that a region can hold */
	room = ((u64)pages << page_shift) - (seg->off & ((1ULL << page_shift) - 1));
	seg->len = (u32)min_t(u64, room, elem[i].len - into);
	return true;
}

/**
 * dms_seg_total() - length of a message
 * @elem: its elements
 * @n: how many
 * @max: most that is allowed, in bytes
 * @total: the answer, unchanged on an error
 *
 * Context: Any.
 * Return: 0, or -EMSGSIZE when it is longer than @max.
 */
int dms_seg_total(const struct dms_elem *elem, u32 n, u32 max, u32 *total)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		sum += elem[i].len;
		if (sum > max)
			return -EMSGSIZE;
	}
	*total = (u32)sum;
	return 0;
}

/**
 * dms_read_len() - length of one READ
 * @key_left: bytes left of the segment
 * @landing_left: bytes left of the landing buffer
 * @most: bytes that the incast budget lets one READ have
 *
 * Context: Any.
 * Return: bytes, 0 only when one of them is 0.
 */
u32 dms_read_len(u32 key_left, u32 landing_left, u32 most)
{
	return min_t(u32, key_left, min_t(u32, landing_left, most));
}
