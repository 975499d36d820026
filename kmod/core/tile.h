/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Strided tiles: rows of equal length, at equal distances, in a pool.  As a
 * message a tile is its rows one after the other, without what lies between them.
 */
#ifndef DMS_CORE_TILE_H
#define DMS_CORE_TILE_H

#include <linux/types.h>

#include "seg.h"

struct dms_tile {
	u64	off;		/* of the first row, in the pool */
	u64	pitch;		/* from the start of one row to that of the next */
	u32	rows;
	u32	row_bytes;
};

/* A range of a pool is a tile of one row. */
static inline struct dms_tile dms_tile_range(u64 off, u32 len)
{
	return (struct dms_tile){ .off = off, .pitch = len, .rows = 1, .row_bytes = len };
}

/* Nothing between its rows: it is a range.  Only of a tile that was checked. */
static inline bool dms_tile_flat(const struct dms_tile *t)
{
	return t->rows == 1 || t->pitch == t->row_bytes;
}

/* -EINVAL, or -EMSGSIZE when it is longer than @max; @size: bytes of the pool */
int dms_tile_check(const struct dms_tile *t, u64 size, u32 max, u32 *total);
/* From byte @at of the message to the end of its row; false when @at is not inside. */
bool dms_tile_at(const struct dms_tile *t, u32 at, struct dms_elem *piece);
/* Bytes from @at on that one memory region covers; 0 when @at is not inside. */
u32 dms_tile_seg(const struct dms_tile *t, u32 at, u32 pages, u32 page_shift);

#endif /* DMS_CORE_TILE_H */
