/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cutting messages: into segments that one memory region covers, and into
 * READs that one landing takes.
 */
#ifndef DMS_CORE_SEG_H
#define DMS_CORE_SEG_H

#include <linux/types.h>

struct dms_elem {
	u64	off;	/* in the pool */
	u32	len;
};

/*
 * The segment of a message that starts at byte @at: which element it lies in,
 * where in the pool, and how long it is: never over the end of the element,
 * never more than @pages pages of 2^@page_shift, so that all but the first and
 * last begin and end on a page.
 */
struct dms_seg {
	u32	elem;
	u64	off;	/* in the pool */
	u32	len;
};

/* false when @at is not inside the message */
bool dms_seg_at(const struct dms_elem *elem, u32 n, u32 at, u32 pages, u32 page_shift,
		struct dms_seg *seg);
/* From byte @at of the message to the end of its element; false when it is not inside. */
bool dms_elem_at(const struct dms_elem *elem, u32 n, u32 at, struct dms_elem *piece);
/* sum of lengths, or -EMSGSIZE when it is over @max */
int dms_seg_total(const struct dms_elem *elem, u32 n, u32 max, u32 *total);
/* bytes of one READ: the least of what key, landing and @most allow; never 0 when none is 0 */
u32 dms_read_len(u32 key_left, u32 landing_left, u32 most);

#endif /* DMS_CORE_SEG_H */
