/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * Spans of pages inside one area of a pool.  No locks: the heap has them.
 */
#ifndef DMASTREAM_SPANS_H
#define DMASTREAM_SPANS_H

#include <stdint.h>

#define SPAN_SHIFT	12
#define SPAN_SIZE	(1U << SPAN_SHIFT)
#define SPAN_NIL	UINT32_MAX
#define SPAN_ORDERS	32
#define SPAN_FREE_WORDS	4	/* of 64 bits: objects of the largest slab */

enum span_kind {
	SPAN_INSIDE = 0,	/* not the first page of anything */
	SPAN_BLOCK,		/* first page of a free block of 2^order pages */
	SPAN_USED,		/* first page of an allocated span */
	SPAN_SLAB		/* any page of a slab */
};

/*
 * What is known of a page, 64 bytes.  All of it is away from the payload, so
 * that a stray write of a device or a peer cannot break the allocator.
 */
struct span_page {
	uint64_t	free[SPAN_FREE_WORDS];	/* first page of a slab: free objects */
	uint64_t	owned;		/* bit n: what begins at byte 64 n of it is a caller's */
	uint32_t	next;		/* in a list of free blocks or of slabs */
	uint32_t	prev;
	uint32_t	pages;		/* first page: of the block or span */
	uint32_t	slab;		/* page of a slab: its first page */
	uint16_t	nfree;		/* first page of a slab */
	uint16_t	nobj;		/* likewise */
	uint8_t		kind;		/* enum span_kind */
	uint8_t		class;		/* of a slab; first page: of a span */
	uint8_t		order;		/* of a free block */
	uint8_t		pad;
};

struct spans {
	unsigned char		*base;
	struct span_page	*page;
	struct span_page	*old;			/* earlier page[]s, too short for now */
	uint32_t		npages;
	uint32_t		room;			/* pages that page[] has room for */
	uint32_t		free_pages;
	uint32_t		orders;			/* bit n: head[n] has a block */
	uint32_t		head[SPAN_ORDERS];
};

int spans_init(struct spans *s, void *base, uint32_t npages);
void spans_clear(struct spans *s);
void spans_destroy(struct spans *s);
uint32_t spans_alloc(struct spans *s, uint32_t n, uint32_t align);
void spans_free(struct spans *s, uint32_t first);
uint32_t spans_largest(const struct spans *s);

#endif /* DMASTREAM_SPANS_H */
