// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The allocator inside pools: size classes, slabs cut out of spans of pages,
 * and magazines of free objects that each thread keeps.
 *
 * Locks, in the order in which they are taken:
 *   heap->list_lock   the list of the threads' caches
 *   cache->lock       the magazines of one thread; its owner takes it without
 *                     contention, others only when memory ran out
 *   heap->lock        areas: spans, slabs, and the counts of what is out
 *
 * The type of a page (kind, class, slab, pages) stays as it is while something
 * on it is allocated, so whoever frees that may read it without a lock.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "spans.h"

#define HEAP_AREAS	64
#define NSLABS		19			/* classes below a page */
#define NCLASS		(NSLABS + 12)
#define CLASS_MAX	65536			/* above it: spans, no magazine */
#define CLASS_NONE	0xff
#define MAG_MAX		64
#define MAG_BYTES	(128 * 1024)		/* a magazine holds no more, or 4 objects */
#define AREA_MAX	((uint64_t)1 << (31 + SPAN_SHIFT))

/* multiples of 64; from a page on, multiples of a page: that is the alignment */
static const uint32_t class_size[NCLASS] = {
	64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024,
	1280, 1536, 1792, 2048, 2560, 3072, 3584,
	4096, 8192, 12288, 16384, 20480, 24576, 28672, 32768,
	40960, 49152, 57344, 65536,
};

struct magazine {
	uint32_t	n;
	uint32_t	cap;
	void		*object[MAG_MAX];
};

struct cache {
	pthread_mutex_t		lock;
	struct cache		*next;		/* under heap->list_lock */
	struct cache		*prev;
	struct dmastream_heap	*heap;
	uint64_t		allocs;
	uint64_t		frees;
	struct magazine		mag[NCLASS];
};

struct area {
	struct spans	spans;
	uint64_t	len;
	uint64_t	pool_off;		/* of spans.base in its pool */
	uint32_t	pool;
	uint32_t	partial[NSLABS];	/* slabs with free objects */
};

struct dmastream_heap {
	pthread_mutex_t	lock;
	pthread_mutex_t	list_lock;
	pthread_key_t	key;			/* the thread's cache */
	struct cache	*caches;
	struct area	*area[HEAP_AREAS];	/* set once, before nareas counts it */
	uint32_t	nareas;			/* read without a lock */
	uint8_t		class_of_64[SPAN_SIZE / 64 + 1];
	uint8_t		class_of_page[CLASS_MAX / SPAN_SIZE + 1];
	/* under lock: */
	uint64_t	out;			/* bytes given to callers and magazines */
	uint64_t	allocs;			/* without a magazine, and of threads that ended */
	uint64_t	frees;
	uint64_t	failures;
	uint64_t	bad_frees;
};

/*
 * ---- Finding the way back from a pointer ----------------------------------
 */

static struct area *area_of(struct dmastream_heap *heap, const void *ptr)
{
	uint32_t n = __atomic_load_n(&heap->nareas, __ATOMIC_ACQUIRE);
	uint32_t i;

	for (i = 0; i < n; i++)
		if ((uintptr_t)ptr - (uintptr_t)heap->area[i]->spans.base <
		    heap->area[i]->len)
			return heap->area[i];
	return NULL;
}

struct object {
	struct area	*area;
	uint32_t	first;		/* page of the slab or span */
	uint32_t	index;		/* in the slab */
	uint32_t	class;		/* or CLASS_NONE */
	uint64_t	size;
};

/* False when @ptr cannot be what dmastream_alloc() returned. */
static int object_of(struct dmastream_heap *heap, const void *ptr,
		     struct object *o)
{
	const struct span_page *page;
	uint64_t off;

	o->area = area_of(heap, ptr);
	if (!o->area)
		return 0;
	off = (uintptr_t)ptr - (uintptr_t)o->area->spans.base;
	o->first = (uint32_t)(off >> SPAN_SHIFT);
	page = &o->area->spans.page[o->first];
	if (page->kind == SPAN_SLAB) {
		o->first = page->slab;
		o->class = page->class;
		o->size = class_size[o->class];
		off -= (uint64_t)o->first << SPAN_SHIFT;
		o->index = (uint32_t)(off / o->size);
		return off % o->size == 0 &&
		       o->index < o->area->spans.page[o->first].nobj;
	}
	if (page->kind != SPAN_USED || off % SPAN_SIZE)
		return 0;
	o->index = 0;
	o->size = (uint64_t)page->pages << SPAN_SHIFT;
	o->class = o->size <= CLASS_MAX ? heap->class_of_page[page->pages] : CLASS_NONE;
	return 1;
}

/*
 * ---- Slabs and spans: under heap->lock ------------------------------------
 */

static void slab_link(struct area *area, uint32_t class, uint32_t p)
{
	struct span_page *page = &area->spans.page[p];

	page->prev = SPAN_NIL;
	page->next = area->partial[class];
	if (page->next != SPAN_NIL)
		area->spans.page[page->next].prev = p;
	area->partial[class] = p;
}

static void slab_unlink(struct area *area, uint32_t class, uint32_t p)
{
	struct span_page *page = &area->spans.page[p];

	if (page->prev != SPAN_NIL)
		area->spans.page[page->prev].next = page->next;
	else
		area->partial[class] = page->next;
	if (page->next != SPAN_NIL)
		area->spans.page[page->next].prev = page->prev;
}

/* A slab loses at most an eighth of itself behind its last object. */
static uint32_t slab_create(struct area *area, uint32_t class)
{
	uint32_t pages = class_size[class] <= 1024 ? 4 : 8;
	struct span_page *page;
	uint32_t p, i;

	do {
		p = spans_alloc(&area->spans, pages);
	} while (p == SPAN_NIL && (pages /= 2));
	if (p == SPAN_NIL)
		return SPAN_NIL;
	for (i = p; i < p + pages; i++) {
		page = &area->spans.page[i];
		page->kind = SPAN_SLAB;
		page->class = (uint8_t)class;
		page->slab = p;
	}
	page = &area->spans.page[p];
	page->nobj = (uint16_t)(pages * SPAN_SIZE / class_size[class]);
	page->nfree = page->nobj;
	for (i = 0; i < page->nobj; i++)
		page->free[i / 64] |= (uint64_t)1 << (i % 64);
	slab_link(area, class, p);
	return p;
}

static void slab_destroy(struct area *area, uint32_t class, uint32_t p)
{
	struct span_page *page = area->spans.page;
	uint32_t i;

	slab_unlink(area, class, p);
	memset(page[p].free, 0, sizeof(page[p].free));
	for (i = p; i < p + page[p].pages; i++)
		page[i].kind = SPAN_INSIDE;
	spans_free(&area->spans, p);
}

static void *slab_alloc(struct area *area, uint32_t class)
{
	uint32_t p = area->partial[class];
	struct span_page *page;
	uint32_t w = 0, bit;

	if (p == SPAN_NIL)
		p = slab_create(area, class);
	if (p == SPAN_NIL)
		return NULL;
	page = &area->spans.page[p];
	while (!page->free[w])
		w++;
	bit = (uint32_t)__builtin_ctzll(page->free[w]);
	page->free[w] &= page->free[w] - 1;
	if (!--page->nfree)
		slab_unlink(area, class, p);
	return area->spans.base + ((uint64_t)p << SPAN_SHIFT) +
	       (uint64_t)(w * 64 + bit) * class_size[class];
}

static void *span_alloc(struct area *area, uint64_t size)
{
	uint64_t pages = size >> SPAN_SHIFT;
	uint32_t p = SPAN_NIL;

	if (pages <= area->spans.npages)
		p = spans_alloc(&area->spans, (uint32_t)pages);
	if (p == SPAN_NIL)
		return NULL;
	return area->spans.base + ((uint64_t)p << SPAN_SHIFT);
}

/* @class, or @size when that is CLASS_NONE. */
static void *object_alloc(struct dmastream_heap *heap, uint32_t class,
			  uint64_t size)
{
	void *ptr = NULL;
	uint32_t i;

	if (class != CLASS_NONE)
		size = class_size[class];
	if (size > AREA_MAX)
		return NULL;
	if (size > SPAN_SIZE)
		size = (size + SPAN_SIZE - 1) & ~(uint64_t)(SPAN_SIZE - 1);
	for (i = 0; i < heap->nareas && !ptr; i++)
		ptr = class < NSLABS ? slab_alloc(heap->area[i], class) :
				       span_alloc(heap->area[i], size);
	if (ptr)
		heap->out += size;
	return ptr;
}

/* A free object that is freed again is left alone, and counted. */
static int object_free(struct dmastream_heap *heap, const struct object *o)
{
	struct span_page *page = &o->area->spans.page[o->first];
	uint64_t bit = (uint64_t)1 << (o->index % 64);

	if (page->kind != SPAN_SLAB) {
		spans_free(&o->area->spans, o->first);
		heap->out -= o->size;
		return 0;
	}
	if (page->free[o->index / 64] & bit) {
		heap->bad_frees++;
		return -EINVAL;
	}
	page->free[o->index / 64] |= bit;
	heap->out -= o->size;
	if (!page->nfree++)
		slab_link(o->area, o->class, o->first);
	if (page->nfree == page->nobj)
		slab_destroy(o->area, o->class, o->first);
	return 0;
}

static void pointer_free(struct dmastream_heap *heap, void *ptr)
{
	struct object o;

	if (object_of(heap, ptr, &o))
		object_free(heap, &o);
	else
		heap->bad_frees++;
}

/*
 * ---- Magazines ------------------------------------------------------------
 */

/* Takes heap->lock inside cache->lock. */
static void magazine_refill(struct dmastream_heap *heap, struct magazine *mag,
			    uint32_t class)
{
	uint32_t want = mag->cap / 2;

	pthread_mutex_lock(&heap->lock);
	while (mag->n < want) {
		void *ptr = object_alloc(heap, class, 0);

		if (!ptr)
			break;
		mag->object[mag->n++] = ptr;
	}
	pthread_mutex_unlock(&heap->lock);
}

/* Likewise.  The oldest go, since the newest are in the CPU's cache. */
static void magazine_drain(struct dmastream_heap *heap, struct magazine *mag,
			   uint32_t keep)
{
	uint32_t i, go = mag->n - keep;

	pthread_mutex_lock(&heap->lock);
	for (i = 0; i < go; i++)
		pointer_free(heap, mag->object[i]);
	pthread_mutex_unlock(&heap->lock);
	memmove(mag->object, mag->object + go, keep * sizeof(mag->object[0]));
	mag->n = keep;
}

static void cache_drain(struct cache *cache)
{
	uint32_t c;

	pthread_mutex_lock(&cache->lock);
	for (c = 0; c < NCLASS; c++)
		if (cache->mag[c].n)
			magazine_drain(cache->heap, &cache->mag[c], 0);
	pthread_mutex_unlock(&cache->lock);
}

/* Of a thread that ends. */
static void cache_destroy(void *arg)
{
	struct cache *cache = arg;
	struct dmastream_heap *heap = cache->heap;

	pthread_mutex_lock(&heap->list_lock);
	if (cache->prev)
		cache->prev->next = cache->next;
	else
		heap->caches = cache->next;
	if (cache->next)
		cache->next->prev = cache->prev;
	pthread_mutex_unlock(&heap->list_lock);

	cache_drain(cache);
	pthread_mutex_lock(&heap->lock);
	heap->allocs += cache->allocs;
	heap->frees += cache->frees;
	pthread_mutex_unlock(&heap->lock);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* The calling thread's; NULL without memory for it, which is no error. */
static struct cache *cache_get(struct dmastream_heap *heap)
{
	struct cache *cache = pthread_getspecific(heap->key);
	uint32_t c, cap;

	if (cache)
		return cache;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return NULL;
	cache->heap = heap;
	for (c = 0; c < NCLASS; c++) {
		cap = MAG_BYTES / class_size[c];
		cache->mag[c].cap = cap > MAG_MAX ? MAG_MAX : cap < 4 ? 4 : cap;
	}
	if (pthread_setspecific(heap->key, cache)) {
		free(cache);
		return NULL;
	}
	pthread_mutex_init(&cache->lock, NULL);
	pthread_mutex_lock(&heap->list_lock);
	cache->next = heap->caches;
	if (cache->next)
		cache->next->prev = cache;
	heap->caches = cache;
	pthread_mutex_unlock(&heap->list_lock);
	return cache;
}

/* What lies in magazines may be what is missing. */
static void *alloc_slow(struct dmastream_heap *heap, uint32_t class,
			uint64_t size)
{
	struct cache *cache;
	void *ptr;

	pthread_mutex_lock(&heap->lock);
	ptr = object_alloc(heap, class, size);
	pthread_mutex_unlock(&heap->lock);
	if (!ptr) {
		pthread_mutex_lock(&heap->list_lock);
		for (cache = heap->caches; cache; cache = cache->next)
			cache_drain(cache);
		pthread_mutex_unlock(&heap->list_lock);
	}
	pthread_mutex_lock(&heap->lock);
	if (!ptr)
		ptr = object_alloc(heap, class, size);
	if (ptr)
		heap->allocs++;
	else
		heap->failures++;
	pthread_mutex_unlock(&heap->lock);
	return ptr;
}

static uint32_t class_of(const struct dmastream_heap *heap, size_t size)
{
	if (size <= SPAN_SIZE)
		return heap->class_of_64[(size + 63) / 64];
	if (size <= CLASS_MAX)
		return heap->class_of_page[(size + SPAN_SIZE - 1) / SPAN_SIZE];
	return CLASS_NONE;
}

/*
 * ---- The calls ------------------------------------------------------------
 */

/* Aligned to 64 bytes, from a page on to a page; NULL: no memory. */
void *dmastream_alloc(struct dmastream_heap *heap, size_t size)
{
	uint32_t class = class_of(heap, size ? size : 1);
	struct magazine *mag;
	struct cache *cache;
	void *ptr = NULL;

	cache = class == CLASS_NONE ? NULL : cache_get(heap);
	if (!cache)
		return alloc_slow(heap, class, size);
	pthread_mutex_lock(&cache->lock);
	mag = &cache->mag[class];
	if (!mag->n)
		magazine_refill(heap, mag, class);
	if (mag->n) {
		ptr = mag->object[--mag->n];
		cache->allocs++;
	}
	pthread_mutex_unlock(&cache->lock);
	return ptr ? ptr : alloc_slow(heap, class, size);
}

static int free_slow(struct dmastream_heap *heap, const struct object *o)
{
	int ret;

	pthread_mutex_lock(&heap->lock);
	ret = object_free(heap, o);
	if (!ret)
		heap->frees++;
	pthread_mutex_unlock(&heap->lock);
	return ret;
}

int dmastream_free(struct dmastream_heap *heap, void *ptr)
{
	struct magazine *mag;
	struct cache *cache;
	struct object o;

	if (!ptr)
		return 0;
	if (!object_of(heap, ptr, &o)) {
		pthread_mutex_lock(&heap->lock);
		heap->bad_frees++;
		pthread_mutex_unlock(&heap->lock);
		return -EINVAL;
	}
	cache = o.class == CLASS_NONE ? NULL : cache_get(heap);
	if (!cache)
		return free_slow(heap, &o);
	pthread_mutex_lock(&cache->lock);
	mag = &cache->mag[o.class];
	if (mag->n == mag->cap)
		magazine_drain(heap, mag, mag->cap / 2);
	mag->object[mag->n++] = ptr;
	cache->frees++;
	pthread_mutex_unlock(&cache->lock);
	return 0;
}

/* Bytes that an allocation really has; 0 when it is none. */
size_t dmastream_alloc_size(struct dmastream_heap *heap, const void *ptr)
{
	struct object o;

	return object_of(heap, ptr, &o) ? (size_t)o.size : 0;
}

int dmastream_heap_locate(struct dmastream_heap *heap, const void *ptr,
			  uint32_t *pool, uint64_t *off)
{
	struct area *area = area_of(heap, ptr);

	if (!area)
		return -EINVAL;
	*pool = area->pool;
	*off = area->pool_off + ((uintptr_t)ptr - (uintptr_t)area->spans.base);
	return 0;
}

void *dmastream_heap_ptr(struct dmastream_heap *heap, uint32_t pool,
			 uint64_t off)
{
	uint32_t n = __atomic_load_n(&heap->nareas, __ATOMIC_ACQUIRE);
	uint32_t i;

	for (i = 0; i < n; i++)
		if (heap->area[i]->pool == pool &&
		    off - heap->area[i]->pool_off < heap->area[i]->len)
			return heap->area[i]->spans.base +
			       (off - heap->area[i]->pool_off);
	return NULL;
}

int dmastream_heap_flush(struct dmastream_heap *heap)
{
	struct cache *cache = pthread_getspecific(heap->key);

	if (cache)
		cache_drain(cache);
	return 0;
}

static void classes_init(struct dmastream_heap *heap)
{
	uint32_t i, c = 0;

	for (i = 0; i <= SPAN_SIZE / 64; i++) {
		while (class_size[c] < i * 64)
			c++;
		heap->class_of_64[i] = (uint8_t)c;
	}
	for (i = 0; i <= CLASS_MAX / SPAN_SIZE; i++) {
		while (class_size[c] < i * SPAN_SIZE)
			c++;
		heap->class_of_page[i] = (uint8_t)c;
	}
}

int dmastream_heap_create(struct dmastream_heap **out)
{
	struct dmastream_heap *heap;
	int ret;

	*out = NULL;
	heap = calloc(1, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	ret = pthread_key_create(&heap->key, cache_destroy);
	if (ret) {
		free(heap);
		return -ret;
	}
	pthread_mutex_init(&heap->lock, NULL);
	pthread_mutex_init(&heap->list_lock, NULL);
	classes_init(heap);
	*out = heap;
	return 0;
}

/* No other thread may be in a call on it; what is allocated is gone. */
void dmastream_heap_destroy(struct dmastream_heap *heap)
{
	struct cache *cache, *next;
	uint32_t i;

	if (!heap)
		return;
	pthread_key_delete(heap->key);
	for (cache = heap->caches; cache; cache = next) {
		next = cache->next;
		pthread_mutex_destroy(&cache->lock);
		free(cache);
	}
	for (i = 0; i < heap->nareas; i++) {
		spans_destroy(&heap->area[i]->spans);
		free(heap->area[i]);
	}
	pthread_mutex_destroy(&heap->list_lock);
	pthread_mutex_destroy(&heap->lock);
	free(heap);
}

/* @base is aligned to a page; a rest that is no page is left out. */
int dmastream__heap_add_area(struct dmastream_heap *heap, void *base,
			     uint64_t len, uint32_t pool, uint64_t pool_off)
{
	struct area *area;
	uint32_t i;
	int ret;

	len &= ~(uint64_t)(SPAN_SIZE - 1);
	if (!len || len > AREA_MAX || (uintptr_t)base % SPAN_SIZE)
		return -EINVAL;
	area = calloc(1, sizeof(*area));
	if (!area)
		return -ENOMEM;
	area->len = len;
	area->pool = pool;
	area->pool_off = pool_off;
	for (i = 0; i < NSLABS; i++)
		area->partial[i] = SPAN_NIL;
	ret = spans_init(&area->spans, base, (uint32_t)(len >> SPAN_SHIFT));
	if (ret)
		goto free_area;
	pthread_mutex_lock(&heap->lock);
	if (heap->nareas == HEAP_AREAS) {
		pthread_mutex_unlock(&heap->lock);
		ret = -ENOSPC;
		goto destroy_spans;
	}
	heap->area[heap->nareas] = area;
	/* pairs with the acquire of area_of() and dmastream_heap_ptr() */
	__atomic_store_n(&heap->nareas, heap->nareas + 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&heap->lock);
	return 0;

destroy_spans:
	spans_destroy(&area->spans);
free_area:
	free(area);
	return ret;
}

/* @len 0: to the end of the pool. */
int dmastream_heap_add(struct dmastream_heap *heap, struct dmastream_pool *pool,
		       uint64_t off, uint64_t len)
{
	if (off >= pool->size || off % SPAN_SIZE || len > pool->size - off)
		return -EINVAL;
	if (!len)
		len = pool->size - off;
	return dmastream__heap_add_area(heap, pool->base + off, len,
					pool->handle, off);
}

int dmastream_heap_stats(struct dmastream_heap *heap,
			 struct dmastream_heap_stats *stats)
{
	struct cache *cache;
	uint64_t largest;
	uint32_t i;

	memset(stats, 0, sizeof(*stats));
	pthread_mutex_lock(&heap->list_lock);
	for (cache = heap->caches; cache; cache = cache->next) {
		pthread_mutex_lock(&cache->lock);
		stats->threads++;
		stats->allocs += cache->allocs;
		stats->frees += cache->frees;
		for (i = 0; i < NCLASS; i++)
			stats->cached += (uint64_t)cache->mag[i].n * class_size[i];
		pthread_mutex_unlock(&cache->lock);
	}
	pthread_mutex_lock(&heap->lock);
	stats->allocs += heap->allocs;
	stats->frees += heap->frees;
	stats->failures = heap->failures;
	stats->bad_frees = heap->bad_frees;
	stats->pools = heap->nareas;
	/* the caches may have moved on: not below zero */
	stats->used = heap->out > stats->cached ? heap->out - stats->cached : 0;
	for (i = 0; i < heap->nareas; i++) {
		stats->total += heap->area[i]->len;
		largest = (uint64_t)spans_largest(&heap->area[i]->spans) << SPAN_SHIFT;
		if (largest > stats->largest)
			stats->largest = largest;
	}
	pthread_mutex_unlock(&heap->lock);
	pthread_mutex_unlock(&heap->list_lock);
	return 0;
}
