// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strided tiles.
 *
 * What a memory region covers is a list of whole pages, of which only the first
 * may begin and only the last may end inside.  So rows that are whole pages, at a
 * distance of whole pages, follow each other in one region, without what lies
 * between them; any other row needs a region of its own, since a key opens the
 * bytes of its message and nothing else.
 */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "tile.h"

static u64 tile_bytes(const struct dms_tile *t)
{
	return (u64)t->rows * t->row_bytes;
}

/**
 * dms_tile_check() - is it one, and where it may be?
 * @t: from a process
 * @size: bytes of its pool
 * @max: bytes of the longest message
 * @total: bytes of this one; unchanged on an error
 *
 * The pitch of a single row is not looked at.
 *
 * Context: Any.
 * Return: 0; -EINVAL: no rows, empty ones, rows that overlap, or one that is not
 * all inside the pool; -EMSGSIZE: longer than @max.
 */
int dms_tile_check(const struct dms_tile *t, u64 size, u32 max, u32 *total)
{
	u64 last = 0;	/* from the start of the first row to that of the last */

	if (!t->rows || !t->row_bytes)
		return -EINVAL;
	if (t->rows > 1 && (t->pitch < t->row_bytes ||
			    __builtin_mul_overflow((u64)t->rows - 1, t->pitch, &last)))
		return -EINVAL;
	if (t->row_bytes > size || t->off > size - t->row_bytes ||
	    last > size - t->row_bytes - t->off)
		return -EINVAL;
	if (tile_bytes(t) > max)
		return -EMSGSIZE;
	*total = (u32)tile_bytes(t);
	return 0;
}

/**
 * dms_tile_at() - where a byte of the message lies, and what follows it there
 * @t: checked
 * @at: byte of the message
 * @piece: the answer: from that byte to the end of its row
 *
 * Context: Any.
 * Return: false, and nothing in @piece, when @at is not inside the message.
 */
bool dms_tile_at(const struct dms_tile *t, u32 at, struct dms_elem *piece)
{
	u32 row, into;

	if (at >= tile_bytes(t))
		return false;
	row = at / t->row_bytes;
	into = at % t->row_bytes;
	piece->off = t->off + row * t->pitch + into;
	piece->len = t->row_bytes - into;
	return true;
}

/**
 * dms_tile_seg() - how much of the message one memory region covers
 * @t: checked
 * @at: byte of the message that it begins with, wherever in a row
 * @pages: most pages of the region, not 0
 * @page_shift: their size, below 32
 *
 * As dms_seg_at(), it depends on nothing but its arguments.
 *
 * Context: Any.
 * Return: bytes; 0 when @at is not inside the message, or the page numbers are no
 * such.
 */
u32 dms_tile_seg(const struct dms_tile *t, u32 at, u32 pages, u32 page_shift)
{
	struct dms_elem piece;
	u64 inside, room, left;

	if (!pages || page_shift > 31 || !dms_tile_at(t, at, &piece))
		return 0;
	inside = (1ULL << page_shift) - 1;
	left = (t->off | t->pitch | t->row_bytes) & inside ? piece.len : tile_bytes(t) - at;
	/* from here to the end of the last page that a region can hold */
	room = ((u64)pages << page_shift) - (piece.off & inside);
	return (u32)min_t(u64, room, left);
}
