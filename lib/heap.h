/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * What the files of the allocator share: heap.c (objects), areas.c (the table of
 * areas, and pools that come and go).
 *
 * Locks, in the order in which they are taken:
 *   heap->grow_lock   pools are made and given back; held over system calls
 *   heap->list_lock   the list of the threads' caches
 *   cache->lock       the magazines of one thread; its owner takes it without
 *                     contention, others only when memory ran out
 *   heap->lock        areas: spans, slabs, and the counts of what is out
 */
#ifndef DMASTREAM_HEAP_H
#define DMASTREAM_HEAP_H

#include <pthread.h>
#include <stdint.h>

#include "internal.h"
#include "spans.h"

#define HEAP_AREAS	64			/* bits of partial_areas */
#define NSLABS		19			/* classes below a page */
#define NCLASS		(NSLABS + 12)
#define CLASS_MAX	65536			/* above it: spans, no magazine */
#define CLASS_NONE	0xff
#define ALIGN_MAX	((size_t)2 << 20)
#define AREA_MAX	((uint64_t)1 << (31 + SPAN_SHIFT))

/* Where an area is, in memory and in its pool; len 0: the slot has none. */
struct area_range {
	uintptr_t	base;
	uint64_t	len;
	uint64_t	pool_off;
	uint32_t	pool;
};

/* Under heap->lock.  Its memory stays until the heap goes. */
struct area {
	struct spans	spans;
	uint32_t	partial[NSLABS];	/* slabs with free objects */
	struct dmastream__piece piece;		/* made by the heap; base NULL: the user's */
};

struct dmastream_heap {
	pthread_mutex_t	lock;
	pthread_mutex_t	list_lock;
	pthread_mutex_t	grow_lock;
	pthread_key_t	key;			/* the thread's cache */
	uint64_t	serial;			/* no two heaps have the same */
	struct cache	*caches;
	uint32_t	gen;			/* of the table: odd while it changes */
	uint32_t	nareas;			/* slots that were ever used */
	struct area_range range[HEAP_AREAS];	/* read without a lock */
	uint8_t		class_of_64[SPAN_SIZE / 64 + 1];
	uint8_t		class_of_page[CLASS_MAX / SPAN_SIZE + 1];
	/* under lock: */
	uint64_t	out;			/* bytes given to callers and magazines */
	uint64_t	allocs;			/* without a magazine, and of threads that ended */
	uint64_t	frees;
	uint64_t	failures;
	uint64_t	bad_frees;
	uint64_t	partial_areas[NSLABS];	/* bit i: area i has such a slab */
	struct area	area[HEAP_AREAS];
	/* pools of its own, see areas.c: */
	struct dmastream_heap_growth growth;	/* max_bytes 0: none; set once */
	struct dmastream__source source;
	uint64_t	grown;			/* bytes, of which max_bytes is the limit */
	uint32_t	grows;
	uint32_t	shrinks;
	uint64_t	grow_failures;
	uint32_t	nretired;		/* also read without the lock */
	struct dmastream__piece retired[HEAP_AREAS + 1];
};

/* heap.c */
void dmastream__heap_drain(struct dmastream_heap *heap);
void *dmastream__heap_take(struct dmastream_heap *heap, uint32_t class, uint64_t size,
			   uint64_t align);

/* areas.c */
void dmastream__areas_destroy(struct dmastream_heap *heap);
void dmastream__area_empty(struct dmastream_heap *heap, struct area *area);
void dmastream__heap_reap(struct dmastream_heap *heap);
void *dmastream__heap_grow(struct dmastream_heap *heap, uint32_t class, uint64_t size,
			   uint64_t align);

int dmastream__area_find_locked(struct dmastream_heap *heap, const void *ptr);

/* Under heap->lock, or as in dmastream__area_find(); -1: none. */
static inline int dmastream__range_find(const struct dmastream_heap *heap, const void *ptr)
{
	uint32_t n = __atomic_load_n(&heap->nareas, __ATOMIC_RELAXED);
	const struct area_range *r = heap->range;
	uint32_t i;

	for (i = 0; i < n; i++, r++)
		if ((uintptr_t)ptr - __atomic_load_n(&r->base, __ATOMIC_RELAXED) <
		    __atomic_load_n(&r->len, __ATOMIC_RELAXED))
			return (int)i;
	return -1;
}

/* Nobody changed the table since @gen was read.  Pairs with table_set(). */
static inline int dmastream__table_same(const struct dmastream_heap *heap, uint32_t gen)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(gen & 1) && gen == __atomic_load_n(&heap->gen, __ATOMIC_RELAXED);
}

/*
 * The area that @ptr points into, without a lock.  One that has something allocated
 * in it does not go, so who owns an object may use the answer.  For anything else the
 * answer may be out of date at once; struct area, and what is known of its pages, can
 * still be read, since these stay until the heap goes, and say that nothing is owned.
 */
static inline int dmastream__area_find(struct dmastream_heap *heap, const void *ptr)
{
	uint32_t gen = __atomic_load_n(&heap->gen, __ATOMIC_ACQUIRE);
	int i = dmastream__range_find(heap, ptr);

	if (__builtin_expect(dmastream__table_same(heap, gen), 1))
		return i;
	return dmastream__area_find_locked(heap, ptr);
}

#endif /* DMASTREAM_HEAP_H */
