// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The areas of a heap.
 */
#include <string.h>

#include "heap.h"

/*
 * The table is read without a lock, by every free.  "gen" is odd while it changes:
 * who reads it the same and even before and after has seen no change (a sequence
 * lock, whose reader asks under heap->lock instead of trying again).  All members
 * of the table are read and written whole, and the compiler is told so.
 */
static void table_set(struct dmastream_heap *heap, uint32_t i, const struct area_range *to)
{
	struct area_range *r = &heap->range[i];
	uint32_t gen = heap->gen;

	__atomic_store_n(&heap->gen, gen + 1, __ATOMIC_RELAXED);
	/* pairs with dmastream__table_same(): who sees what follows sees gen odd, or later */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&r->base, to->base, __ATOMIC_RELAXED);
	__atomic_store_n(&r->len, to->len, __ATOMIC_RELAXED);
	__atomic_store_n(&r->pool_off, to->pool_off, __ATOMIC_RELAXED);
	__atomic_store_n(&r->pool, to->pool, __ATOMIC_RELAXED);
	if (i == heap->nareas)
		__atomic_store_n(&heap->nareas, i + 1, __ATOMIC_RELAXED);
	/* pairs with the reader's acquire: who sees it sees the area's spans too */
	__atomic_store_n(&heap->gen, gen + 2, __ATOMIC_RELEASE);
}

/* The reader met a change. */
int dmastream__area_find_locked(struct dmastream_heap *heap, const void *ptr)
{
	int i;

	pthread_mutex_lock(&heap->lock);
	i = dmastream__range_find(heap, ptr);
	pthread_mutex_unlock(&heap->lock);
	return i;
}

int dmastream_heap_locate(struct dmastream_heap *heap, const void *ptr,
			  uint32_t *pool, uint64_t *off)
{
	const struct area_range *r;
	int i = dmastream__area_find(heap, ptr);

	if (i < 0)
		return -EINVAL;
	r = &heap->range[i];
	*pool = __atomic_load_n(&r->pool, __ATOMIC_RELAXED);
	*off = __atomic_load_n(&r->pool_off, __ATOMIC_RELAXED) +
	       ((uintptr_t)ptr - __atomic_load_n(&r->base, __ATOMIC_RELAXED));
	return 0;
}

static void *ptr_find(const struct dmastream_heap *heap, uint32_t pool, uint64_t off)
{
	uint32_t n = __atomic_load_n(&heap->nareas, __ATOMIC_RELAXED);
	const struct area_range *r;
	uint64_t at;

	for (r = heap->range; r < heap->range + n; r++) {
		at = off - __atomic_load_n(&r->pool_off, __ATOMIC_RELAXED);
		if (__atomic_load_n(&r->pool, __ATOMIC_RELAXED) == pool &&
		    at < __atomic_load_n(&r->len, __ATOMIC_RELAXED))
			return (void *)(__atomic_load_n(&r->base, __ATOMIC_RELAXED) +
					(uintptr_t)at);
	}
	return NULL;
}

void *dmastream_heap_ptr(struct dmastream_heap *heap, uint32_t pool, uint64_t off)
{
	uint32_t gen = __atomic_load_n(&heap->gen, __ATOMIC_ACQUIRE);
	void *ptr = ptr_find(heap, pool, off);

	if (dmastream__table_same(heap, gen))
		return ptr;
	pthread_mutex_lock(&heap->lock);
	ptr = ptr_find(heap, pool, off);
	pthread_mutex_unlock(&heap->lock);
	return ptr;
}

/* @base is aligned to a page; a rest that is no page is left out. */
int dmastream__heap_add_area(struct dmastream_heap *heap, void *base,
			     uint64_t len, uint32_t pool, uint64_t pool_off)
{
	struct area_range range = {
		.base = (uintptr_t)base,
		.len = len & ~(uint64_t)(SPAN_SIZE - 1),
		.pool_off = pool_off,
		.pool = pool,
	};
	struct spans spans;
	struct area *area;
	uint32_t i;
	int ret;

	if (!range.len || range.len > AREA_MAX || (uintptr_t)base % SPAN_SIZE)
		return -EINVAL;
	ret = spans_init(&spans, base, (uint32_t)(range.len >> SPAN_SHIFT));
	if (ret)
		return ret;
	pthread_mutex_lock(&heap->lock);
	if (heap->nareas == HEAP_AREAS) {
		pthread_mutex_unlock(&heap->lock);
		spans_destroy(&spans);
		return -ENOSPC;
	}
	area = &heap->area[heap->nareas];
	area->spans = spans;
	for (i = 0; i < NSLABS; i++)
		area->partial[i] = SPAN_NIL;
	table_set(heap, heap->nareas, &range);
	pthread_mutex_unlock(&heap->lock);
	return 0;
}
