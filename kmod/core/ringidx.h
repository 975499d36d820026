/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Index arithmetic of rings whose other side is a process that may write
 * anything at any time.  The kernel's own indices are private copies; these
 * functions see one value that was read once.
 */
#ifndef DMS_CORE_RINGIDX_H
#define DMS_CORE_RINGIDX_H

#include <linux/types.h>

bool dms_ring_size_ok(u32 entries, u32 max);	/* power of two, 1 to max */
/* Entries that the process published: its tail less our head; -EINVAL if more than entries. */
int dms_ring_pending(u32 tail, u32 head, u32 entries);
/*
 * Entries of our own that the process has not taken: our tail less its head.
 * A head that is nonsense reads as full: it can only starve its writer.
 */
u32 dms_ring_occupied(u32 tail, u32 head, u32 entries);

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
bool dms_cqslots_reserve(struct dms_cqslots *s, u32 occupied, u32 n);
void dms_cqslots_unreserve(struct dms_cqslots *s, u32 n);
bool dms_cqslots_recv_ok(const struct dms_cqslots *s, u32 occupied);

/* [off, off + len) inside size, without wrapping; len 0 is fine at off <= size */
bool dms_range_ok(u64 off, u64 len, u64 size);

#endif /* DMS_CORE_RINGIDX_H */
