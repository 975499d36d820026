// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The areas of a heap: those that its user added, and pools that it makes and gives
 * back by itself.
 *
 * When an area may go, while other threads allocate, free and look for areas:
 *
 *  1. Only when all of its pages are free, which heap->lock says and keeps: nothing in it
 *     is a caller's or in a magazine.  What a stream still sends or receives is a
 *     caller's until its completion, so a transfer keeps the area, too.  (Whoever frees a
 *     buffer earlier than that hurts his data only: the kernel keeps the pages of a
 *     transfer that it has accepted.)
 *  2. Under the same hold of heap->lock its slot becomes empty in the table.  Who looks
 *     for an object of another area meets the change in the table's count, and asks again
 *     under the lock.  Nobody looks for an object of this one, unless by mistake.
 *  3. Such a mistake (a second free, a pointer from elsewhere) may have found the slot
 *     before that.  It reads what is known of the pages, never the pool; that memory is
 *     not unmapped until the heap goes, and says that nobody owns anything, so the free
 *     is refused.  A slot that is used again keeps it, or a longer one.
 *  4. The pool is closed afterwards, by the thread that found it in the list of the
 *     retired ones, with grow_lock alone: it takes as long as it takes, and no
 *     allocation or free waits but those that themselves need a new pool.
 *
 * Pools that are given back still count until they are closed, so max_bytes holds at
 * every moment.  An empty pool is kept when it is the only one, or when fewer than
 * spare_bytes would be empty without it: what goes up and down by less than that does
 * not make and close pools all the time.
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

/* The reader met a change.  Out of the way of what is short. */
__attribute__((noinline))
int dmastream__area_find_locked(struct dmastream_heap *heap, const void *ptr)
{
	int i;

	pthread_mutex_lock(&heap->lock);
	i = dmastream__range_find(heap, ptr);
	pthread_mutex_unlock(&heap->lock);
	return i;
}

static inline int locate_in(const struct dmastream_heap *heap, int i, const void *ptr,
			    uint32_t *pool, uint64_t *off)
{
	const struct area_range *r;

	if (i < 0)
		return -EINVAL;
	r = &heap->range[i];
	*pool = __atomic_load_n(&r->pool, __ATOMIC_RELAXED);
	*off = __atomic_load_n(&r->pool_off, __ATOMIC_RELAXED) +
	       ((uintptr_t)ptr - __atomic_load_n(&r->base, __ATOMIC_RELAXED));
	return 0;
}

__attribute__((noinline))
static int locate_locked(struct dmastream_heap *heap, const void *ptr,
			 uint32_t *pool, uint64_t *off)
{
	return locate_in(heap, dmastream__area_find_locked(heap, ptr), ptr, pool, off);
}

int dmastream_heap_locate(struct dmastream_heap *heap, const void *ptr,
			  uint32_t *pool, uint64_t *off)
{
	uint32_t gen = __atomic_load_n(&heap->gen, __ATOMIC_ACQUIRE);
	int i = dmastream__range_find(heap, ptr);

	if (!dmastream__table_same(heap, gen))
		return locate_locked(heap, ptr, pool, off);
	return locate_in(heap, i, ptr, pool, off);
}

static inline void *ptr_find(const struct dmastream_heap *heap, uint32_t pool, uint64_t off)
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

__attribute__((noinline))
static void *ptr_find_locked(struct dmastream_heap *heap, uint32_t pool, uint64_t off)
{
	void *ptr;

	pthread_mutex_lock(&heap->lock);
	ptr = ptr_find(heap, pool, off);
	pthread_mutex_unlock(&heap->lock);
	return ptr;
}

void *dmastream_heap_ptr(struct dmastream_heap *heap, uint32_t pool, uint64_t off)
{
	uint32_t gen = __atomic_load_n(&heap->gen, __ATOMIC_ACQUIRE);
	void *ptr = ptr_find(heap, pool, off);

	return dmastream__table_same(heap, gen) ? ptr : ptr_find_locked(heap, pool, off);
}

/* A slot for @npages: one that has been used and has the room, a new one, or any. */
static struct area *slot_find(struct dmastream_heap *heap, uint64_t npages)
{
	struct area *any = NULL;
	uint32_t i;

	for (i = 0; i < heap->nareas; i++) {
		if (heap->range[i].len)
			continue;
		any = &heap->area[i];
		if (any->spans.room >= npages)
			return any;
	}
	return heap->nareas < HEAP_AREAS ? &heap->area[heap->nareas] : any;
}

/* With heap->lock. */
static int area_insert(struct dmastream_heap *heap, const struct area_range *range,
		       const struct dmastream__piece *piece)
{
	uint64_t npages = range->len >> SPAN_SHIFT;
	struct area *area = slot_find(heap, npages);
	uint32_t i;
	int ret;

	if (!area)
		return -ENOSPC;
	ret = spans_init(&area->spans, (void *)range->base, (uint32_t)npages);
	if (ret)
		return ret;
	for (i = 0; i < NSLABS; i++)
		area->partial[i] = SPAN_NIL;
	area->piece = piece ? *piece : (struct dmastream__piece){ 0 };
	table_set(heap, (uint32_t)(area - heap->area), range);
	return 0;
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
	int ret;

	if (!range.len || range.len > AREA_MAX || (uintptr_t)base % SPAN_SIZE)
		return -EINVAL;
	pthread_mutex_lock(&heap->lock);
	ret = area_insert(heap, &range, NULL);
	pthread_mutex_unlock(&heap->lock);
	return ret;
}

/*
 * ---- Pools that come and go -----------------------------------------------
 */

static int area_is_empty(const struct area *area)
{
	return area->piece.base && area->spans.free_pages == area->spans.npages;
}

/* With heap->lock: bytes of the heap's own pools, and of those that are empty. */
static void grown_sum(const struct dmastream_heap *heap, uint64_t *all, uint64_t *empty)
{
	const struct area *area;

	*all = 0;
	*empty = 0;
	for (area = heap->area; area < heap->area + heap->nareas; area++) {
		if (area->piece.base)
			*all += area->piece.len;
		if (area_is_empty(area))
			*empty += area->piece.len;
	}
}

/* With heap->lock.  The area is empty; its pool is closed by dmastream__heap_reap(). */
static void area_retire(struct dmastream_heap *heap, struct area *area)
{
	/*
	 * There is room: each pool is made after the list was emptied, both under one
	 * hold of grow_lock, so there are not more than all slots and that one.
	 */
	heap->retired[heap->nretired] = area->piece;
	__atomic_store_n(&heap->nretired, heap->nretired + 1, __ATOMIC_RELAXED);
	table_set(heap, (uint32_t)(area - heap->area), &(struct area_range){ 0 });
	area->piece.base = NULL;
	spans_clear(&area->spans);
}

/* With heap->lock: the area has just become empty. */
void dmastream__area_empty(struct dmastream_heap *heap, struct area *area)
{
	uint64_t all, empty;

	if (!area->piece.base)
		return;
	grown_sum(heap, &all, &empty);
	empty -= area->piece.len;
	if (empty && empty >= heap->growth.spare_bytes &&
	    all - area->piece.len >= heap->growth.min_bytes)
		area_retire(heap, area);
}

/* All empty ones that min_bytes allows, the last ones first. */
static uint64_t retire_empty(struct dmastream_heap *heap)
{
	uint64_t all, empty, bytes = 0;
	uint32_t i;

	pthread_mutex_lock(&heap->lock);
	grown_sum(heap, &all, &empty);
	for (i = heap->nareas; i--;) {
		struct area *area = &heap->area[i];

		if (!area_is_empty(area) ||
		    all - bytes - area->piece.len < heap->growth.min_bytes)
			continue;
		bytes += area->piece.len;
		area_retire(heap, area);
	}
	pthread_mutex_unlock(&heap->lock);
	return bytes;
}

/* With grow_lock. */
static void reap_locked(struct dmastream_heap *heap)
{
	struct dmastream__piece piece;

	pthread_mutex_lock(&heap->lock);
	while (heap->nretired) {
		piece = heap->retired[heap->nretired - 1];
		__atomic_store_n(&heap->nretired, heap->nretired - 1, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&heap->lock);
		heap->source.destroy(heap->source.arg, &piece);
		pthread_mutex_lock(&heap->lock);
		heap->grown -= piece.len;
		heap->shrinks++;
	}
	pthread_mutex_unlock(&heap->lock);
}

/* Without any lock. */
void dmastream__heap_reap(struct dmastream_heap *heap)
{
	if (!__atomic_load_n(&heap->nretired, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&heap->grow_lock);
	reap_locked(heap);
	pthread_mutex_unlock(&heap->grow_lock);
}

/* With grow_lock.  A pool of @need bytes or more; heap->lock is held when it returns 0. */
static int pool_add(struct dmastream_heap *heap, uint64_t need)
{
	const struct dmastream_heap_growth *g = &heap->growth;
	struct dmastream__piece piece = { 0 };
	struct area_range range = { 0 };
	uint64_t bytes = need > g->pool_bytes ? need : g->pool_bytes;
	uint64_t left = (g->max_bytes - heap->grown) & ~(uint64_t)(SPAN_SIZE - 1);
	int ret;

	if (need > left)
		return -EDQUOT;
	if (bytes > left)
		bytes = left;
	ret = heap->source.create(heap->source.arg, bytes, g->numa_node, &piece);
	if (ret)
		return ret;
	range.base = (uintptr_t)piece.base;
	range.len = piece.len & ~(uint64_t)(SPAN_SIZE - 1);
	range.pool = piece.pool;
	pthread_mutex_lock(&heap->lock);
	ret = area_insert(heap, &range, &piece);
	if (!ret) {
		heap->grown += piece.len;
		heap->grows++;
		return 0;
	}
	pthread_mutex_unlock(&heap->lock);
	heap->source.destroy(heap->source.arg, &piece);
	return ret;
}

/* With grow_lock. */
static int grow_locked(struct dmastream_heap *heap, uint64_t need)
{
	int ret;

	reap_locked(heap);
	ret = pool_add(heap, need);
	if (!ret || !retire_empty(heap))
		return ret;
	/* what is empty was too short, and stood in the way */
	reap_locked(heap);
	return pool_add(heap, need);
}

/*
 * What the heap did not have a moment ago: from what others have freed or made meanwhile,
 * else from a pool that is made for it.  Without any lock.
 */
void *dmastream__heap_grow(struct dmastream_heap *heap, uint32_t class, uint64_t size,
			   uint64_t align)
{
	uint64_t need = CLASS_MAX;
	void *ptr;

	if (size > need && size <= AREA_MAX)
		need = (size + SPAN_SIZE - 1) & ~(uint64_t)(SPAN_SIZE - 1);
	if (align > SPAN_SIZE)
		need += align;
	pthread_mutex_lock(&heap->grow_lock);
	pthread_mutex_lock(&heap->lock);
	ptr = dmastream__heap_take(heap, class, size, align);
	if (!ptr && size <= AREA_MAX && heap->growth.max_bytes) {
		pthread_mutex_unlock(&heap->lock);
		if (grow_locked(heap, need)) {
			pthread_mutex_lock(&heap->lock);
			heap->grow_failures++;
		}
		/* in the same hold of the lock, so nobody else takes it first */
		ptr = dmastream__heap_take(heap, class, size, align);
	}
	if (!ptr)
		heap->failures++;
	pthread_mutex_unlock(&heap->lock);
	pthread_mutex_unlock(&heap->grow_lock);
	return ptr;
}

/* Down to min_bytes; returns the bytes given back. */
int64_t dmastream_heap_trim(struct dmastream_heap *heap)
{
	uint64_t bytes;

	dmastream__heap_drain(heap);
	bytes = retire_empty(heap);
	dmastream__heap_reap(heap);
	return (int64_t)bytes;
}

static int growth_check(struct dmastream_heap_growth *g)
{
	uint64_t mask = SPAN_SIZE - 1;
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (g->reserved[i])
			return -EINVAL;
	if (!g->pool_bytes)
		g->pool_bytes = g->max_bytes / 32 < ALIGN_MAX ? ALIGN_MAX : g->max_bytes / 32;
	g->pool_bytes = (g->pool_bytes + mask) & ~mask;
	if (g->flags || g->min_bytes > g->max_bytes || g->pool_bytes > g->max_bytes ||
	    g->pool_bytes > AREA_MAX || g->pool_bytes < CLASS_MAX ||
	    g->max_bytes / g->pool_bytes > HEAP_AREAS)
		return -EINVAL;
	return 0;
}

int dmastream__heap_set_source(struct dmastream_heap *heap,
			       const struct dmastream__source *source,
			       const struct dmastream_heap_growth *growth)
{
	struct dmastream_heap_growth g = *growth;
	int ret = growth_check(&g);

	if (ret)
		return ret;
	pthread_mutex_lock(&heap->grow_lock);
	if (heap->growth.max_bytes) {
		pthread_mutex_unlock(&heap->grow_lock);
		return -EBUSY;
	}
	pthread_mutex_lock(&heap->lock);
	heap->source = *source;
	heap->growth = g;
	while (!ret && heap->grown < g.min_bytes) {
		pthread_mutex_unlock(&heap->lock);
		ret = pool_add(heap, CLASS_MAX);
		if (ret)
			pthread_mutex_lock(&heap->lock);
	}
	if (ret) {
		/* as if it had not been called; what others took meanwhile stays */
		heap->growth.min_bytes = 0;
		heap->growth.max_bytes = 0;
	}
	pthread_mutex_unlock(&heap->lock);
	if (ret)
		retire_empty(heap);
	reap_locked(heap);
	pthread_mutex_unlock(&heap->grow_lock);
	return ret;
}

/* Nobody uses the heap any more. */
void dmastream__areas_destroy(struct dmastream_heap *heap)
{
	struct area *area;

	reap_locked(heap);
	for (area = heap->area; area < heap->area + heap->nareas; area++) {
		if (area->piece.base)
			heap->source.destroy(heap->source.arg, &area->piece);
		spans_destroy(&area->spans);
	}
}
