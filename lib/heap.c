// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The allocator inside pools: size classes, slabs cut out of spans of pages,
 * and magazines of free objects that each thread keeps.  Its locks are in heap.h.
 *
 * Who owns an object is one bit, in "owned" of the page that it begins in: set
 * when a caller gets the object, and taken away, atomically, by who frees it.  So
 * whatever is freed without being a caller's is refused at once, and of two
 * threads that free the same object one is.  The other things that are known of a
 * page (kind, class, slab, pages) stay as they are while something on it is
 * allocated, so whoever owns that may read them without a lock.
 *
 * Fragmentation.  What a heap can lose, at the worst:
 *
 * 1. Inside an allocation of s bytes, see dmastream_alloc_size():
 *      up to 256      63 bytes
 *      up to 4096     s / 4: no class is more than 5/4 of the one below
 *      up to 65536    s / 4, or 4095 bytes when that is more
 *      above          4095 bytes
 *
 * 2. Of slabs.  A slab is made only when every slab of its class, in every area,
 *    is full, and goes with its last object.  So the slabs of a class take what
 *    its objects took when they were most, and one slab; behind the last object
 *    of a slab a 16th of it is unused, or up to 3/8 of one that had to be shorter.
 *    And each has an object in it: n objects never take more than n slabs, of
 *    16 KiB for classes up to 1 KiB, else 32 KiB.  That is the worst there is: one
 *    object of 64 bytes holds 16 KiB.  No allocator that cannot move objects does
 *    without such a case (Robson, JACM 18(3), 1971).
 *
 * 3. Between spans.  n pages are found whenever n free ones are next to each
 *    other (alloc_run() in spans.c).  K pieces, slabs and spans, in A areas leave K + A
 *    gaps at most; so a request for n pages fails only when no more than
 *    (K + A)(n - 1) pages are free, and each piece has an allocation in it.
 *
 * 4. In magazines: what dmastream_heap(3) says, a thread; before a request fails
 *    all of them are emptied, so for 3 it does not count.
 *
 * selftests/lib/test_waste.c plays against each of these.
 */
#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "lock.h"

/* out of the way of what is short */
#define NOINLINE	__attribute__((noinline))

#define MAG_MAX		64
#define MAG_BYTES	(128 * 1024)		/* a magazine holds no more, or 4 objects */

/* multiples of 64; from a page on, multiples of a page: that is the alignment */
static const uint32_t class_size[NCLASS] = {
	64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024,
	1280, 1536, 1792, 2048, 2560, 3072, 3584,
	4096, 8192, 12288, 16384, 20480, 24576, 28672, 32768,
	40960, 49152, 57344, 65536,
};

/* A free object that is not in a slab or span, and the page that it begins in. */
struct spare {
	void			*ptr;
	struct span_page	*page;
};

struct magazine {
	uint32_t	n;
	uint32_t	cap;
	struct spare	object[MAG_MAX];
};

struct cache {
	struct small_lock	lock;
	struct cache		*next;		/* under heap->list_lock */
	struct cache		*prev;
	struct dmastream_heap	*heap;
	uint64_t		allocs;
	uint64_t		frees;
	struct magazine		mag[NCLASS];
};

/* What the thread used last, since to ask pthread_getspecific() takes longer. */
static __thread struct {
	struct cache	*cache;
	uint64_t	serial;		/* of its heap */
} last __attribute__((tls_model("initial-exec")));

/*
 * ---- Finding the way back from a pointer ----------------------------------
 */

struct object {
	struct area	*area;
	uint32_t	first;		/* page of the slab or span */
	uint32_t	index;		/* in the slab */
	uint32_t	class;		/* or CLASS_NONE */
	uint64_t	size;
};

static uint64_t owned_bit(const void *ptr)
{
	return (uint64_t)1 << ((uintptr_t)ptr % SPAN_SIZE / 64);
}

static void page_own(struct span_page *page, const void *ptr)
{
	__atomic_fetch_or(&page->owned, owned_bit(ptr), __ATOMIC_RELAXED);
}

/* False: it was nobody's.  Orders the caller's use before the next owner's. */
static int page_disown(struct span_page *page, const void *ptr)
{
	uint64_t bit = owned_bit(ptr);

	return (__atomic_fetch_and(&page->owned, ~bit, __ATOMIC_ACQ_REL) & bit) != 0;
}

static struct span_page *area_page(struct area *area, const void *ptr)
{
	return &area->spans.page[((uintptr_t)ptr - (uintptr_t)area->spans.base) >>
				 SPAN_SHIFT];
}

/* The page in which @ptr begins; NULL when no object can begin there. */
static struct span_page *page_of(struct dmastream_heap *heap, const void *ptr)
{
	int i = dmastream__area_find(heap, ptr);

	if (i < 0 || (uintptr_t)ptr % 64)
		return NULL;
	return area_page(&heap->area[i], ptr);
}

/* Of what is allocated, or in a magazine: the bytes that it occupies. */
static uint64_t object_size(const struct span_page *page)
{
	return page->kind == SPAN_SLAB ? class_size[page->class] :
					 (uint64_t)page->pages << SPAN_SHIFT;
}

/* Of an object that nobody else has, under heap->lock. */
static struct object object_of(struct dmastream_heap *heap, const struct spare *it)
{
	struct area *area = &heap->area[dmastream__range_find(heap, it->ptr)];
	struct object o = {
		.area = area,
		.first = (uint32_t)(it->page - area->spans.page),
		.class = it->page->class,
		.size = object_size(it->page),
	};
	uint64_t off;

	if (it->page->kind == SPAN_SLAB) {
		o.first = it->page->slab;
		off = (uint64_t)((unsigned char *)it->ptr - area->spans.base) -
		      ((uint64_t)o.first << SPAN_SHIFT);
		o.index = (uint32_t)(off / o.size);
	}
	return o;
}

/*
 * ---- Slabs and spans: under heap->lock ------------------------------------
 */

static void slab_link(struct dmastream_heap *heap, struct area *area, uint32_t class, uint32_t p)
{
	struct span_page *page = &area->spans.page[p];

	page->prev = SPAN_NIL;
	page->next = area->partial[class];
	if (page->next != SPAN_NIL)
		area->spans.page[page->next].prev = p;
	area->partial[class] = p;
	heap->partial_areas[class] |= (uint64_t)1 << (area - heap->area);
}

static void slab_unlink(struct dmastream_heap *heap, struct area *area, uint32_t class, uint32_t p)
{
	struct span_page *page = &area->spans.page[p];

	if (page->prev != SPAN_NIL)
		area->spans.page[page->prev].next = page->next;
	else
		area->partial[class] = page->next;
	if (page->next != SPAN_NIL)
		area->spans.page[page->next].prev = page->prev;
	if (area->partial[class] == SPAN_NIL)
		heap->partial_areas[class] &= ~((uint64_t)1 << (area - heap->area));
}

static void slab_create(struct dmastream_heap *heap, struct area *area, uint32_t class,
			uint32_t p, uint32_t pages)
{
	struct span_page *page;
	uint32_t i;

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
	slab_link(heap, area, class, p);
}

static void slab_destroy(struct dmastream_heap *heap, struct area *area, uint32_t class, uint32_t p)
{
	struct span_page *page = area->spans.page;
	uint32_t i;

	slab_unlink(heap, area, class, p);
	memset(page[p].free, 0, sizeof(page[p].free));
	for (i = p; i < p + page[p].pages; i++)
		page[i].kind = SPAN_INSIDE;
	spans_free(&area->spans, p);
}

static struct spare slab_take(struct dmastream_heap *heap, struct area *area, uint32_t class)
{
	uint32_t p = area->partial[class];
	struct span_page *page = &area->spans.page[p];
	uint32_t w = 0, off;

	while (!page->free[w])
		w++;
	off = (w * 64 + (uint32_t)__builtin_ctzll(page->free[w])) * class_size[class];
	page->free[w] &= page->free[w] - 1;
	if (!--page->nfree)
		slab_unlink(heap, area, class, p);
	return (struct spare){ area->spans.base + ((uint64_t)p << SPAN_SHIFT) + off,
			       page + (off >> SPAN_SHIFT) };
}

/*
 * From a slab that there is, else from a new one, which is made shorter only when
 * none of full length has room in any area.
 */
static struct spare slab_alloc(struct dmastream_heap *heap, uint32_t class)
{
	uint32_t pages = class_size[class] <= 1024 ? 4 : 8;
	uint32_t i, p;

	if (heap->partial_areas[class]) {
		i = (uint32_t)__builtin_ctzll(heap->partial_areas[class]);
		return slab_take(heap, &heap->area[i], class);
	}
	for (; pages; pages /= 2) {
		for (i = 0; i < heap->nareas; i++) {
			p = spans_alloc(&heap->area[i].spans, pages, 1);
			if (p == SPAN_NIL)
				continue;
			slab_create(heap, &heap->area[i], class, p, pages);
			return slab_take(heap, &heap->area[i], class);
		}
	}
	return (struct spare){ NULL, NULL };
}

/* @size: whole pages; both it and @align up to AREA_MAX */
static struct spare span_alloc(struct dmastream_heap *heap, uint32_t class, uint64_t size,
			       uint64_t align)
{
	uint32_t pages = (uint32_t)(size >> SPAN_SHIFT), align_pages = 1;
	struct spans *spans;
	uint32_t i, p;

	if (align > SPAN_SIZE)
		align_pages = (uint32_t)(align >> SPAN_SHIFT);
	for (i = 0; i < heap->nareas; i++) {
		spans = &heap->area[i].spans;
		p = spans_alloc(spans, pages, align_pages);
		if (p == SPAN_NIL)
			continue;
		spans->page[p].class = (uint8_t)class;
		return (struct spare){ spans->base + ((uint64_t)p << SPAN_SHIFT),
				       &spans->page[p] };
	}
	return (struct spare){ NULL, NULL };
}

/* Of @class, or, when that is CLASS_NONE, of @size; an @align above a page is for spans. */
static struct spare object_alloc(struct dmastream_heap *heap, uint32_t class,
				 uint64_t size, uint64_t align)
{
	struct spare it = { NULL, NULL };

	if (class != CLASS_NONE)
		size = class_size[class];
	if (size > AREA_MAX)
		return it;
	if (size > SPAN_SIZE)
		size = (size + SPAN_SIZE - 1) & ~(uint64_t)(SPAN_SIZE - 1);
	it = class < NSLABS ? slab_alloc(heap, class) : span_alloc(heap, class, size, align);
	if (it.ptr)
		heap->out += size;
	return it;
}

/* Of what nobody owns any more. */
static void object_free(struct dmastream_heap *heap, const struct spare *it)
{
	struct object o = object_of(heap, it);
	struct span_page *page = &o.area->spans.page[o.first];

	heap->out -= o.size;
	if (page->kind == SPAN_SLAB) {
		page->free[o.index / 64] |= (uint64_t)1 << (o.index % 64);
		if (!page->nfree++)
			slab_link(heap, o.area, o.class, o.first);
		if (page->nfree == page->nobj)
			slab_destroy(heap, o.area, o.class, o.first);
	} else {
		spans_free(&o.area->spans, o.first);
	}
	if (o.area->spans.free_pages == o.area->spans.npages)
		dmastream__area_empty(heap, o.area);
}

/*
 * ---- Magazines ------------------------------------------------------------
 */

/* Takes heap->lock inside cache->lock. */
static NOINLINE void magazine_refill(struct dmastream_heap *heap, struct magazine *mag,
			    uint32_t class)
{
	uint32_t want = mag->cap / 2;

	pthread_mutex_lock(&heap->lock);
	while (mag->n < want) {
		struct spare it = object_alloc(heap, class, 0, 0);

		if (!it.ptr)
			break;
		mag->object[mag->n++] = it;
	}
	pthread_mutex_unlock(&heap->lock);
}

/* Likewise.  The oldest go, since the newest are in the CPU's cache. */
static NOINLINE void magazine_drain(struct dmastream_heap *heap, struct magazine *mag,
			   uint32_t keep)
{
	uint32_t i, go = mag->n - keep;

	pthread_mutex_lock(&heap->lock);
	for (i = 0; i < go; i++)
		object_free(heap, &mag->object[i]);
	pthread_mutex_unlock(&heap->lock);
	memmove(mag->object, mag->object + go, keep * sizeof(mag->object[0]));
	mag->n = keep;
}

static void cache_drain(struct cache *cache)
{
	uint32_t c;

	small_lock(&cache->lock);
	for (c = 0; c < NCLASS; c++)
		if (cache->mag[c].n)
			magazine_drain(cache->heap, &cache->mag[c], 0);
	small_unlock(&cache->lock);
}

/* Of a thread that ends. */
static void cache_destroy(void *arg)
{
	struct cache *cache = arg;
	struct dmastream_heap *heap = cache->heap;

	if (last.cache == cache)
		last.cache = NULL;	/* a destructor after this one may still allocate */
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
	free(cache);
	dmastream__heap_reap(heap);
}

static struct cache *cache_create(struct dmastream_heap *heap)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	uint32_t c, cap;

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
	pthread_mutex_lock(&heap->list_lock);
	cache->next = heap->caches;
	if (cache->next)
		cache->next->prev = cache;
	heap->caches = cache;
	pthread_mutex_unlock(&heap->list_lock);
	return cache;
}

static NOINLINE struct cache *cache_find(struct dmastream_heap *heap)
{
	struct cache *cache = pthread_getspecific(heap->key);

	if (!cache)
		cache = cache_create(heap);
	last.cache = cache;
	last.serial = heap->serial;
	return cache;
}

/* The calling thread's; NULL without memory for it, which is no error. */
static struct cache *cache_get(struct dmastream_heap *heap)
{
	return last.serial == heap->serial && last.cache ? last.cache : cache_find(heap);
}

/* The magazines of all threads. */
void dmastream__heap_drain(struct dmastream_heap *heap)
{
	struct cache *cache;

	pthread_mutex_lock(&heap->list_lock);
	for (cache = heap->caches; cache; cache = cache->next)
		cache_drain(cache);
	pthread_mutex_unlock(&heap->list_lock);
}

/* With heap->lock. */
void *dmastream__heap_take(struct dmastream_heap *heap, uint32_t class, uint64_t size,
			   uint64_t align)
{
	struct spare it = object_alloc(heap, class, size, align);

	if (!it.ptr)
		return NULL;
	page_own(it.page, it.ptr);
	heap->allocs++;
	return it.ptr;
}

/* What lies in magazines may be what is missing. */
static NOINLINE void *alloc_slow(struct dmastream_heap *heap, uint32_t class, uint64_t size,
			uint64_t align)
{
	void *ptr;

	pthread_mutex_lock(&heap->lock);
	ptr = dmastream__heap_take(heap, class, size, align);
	pthread_mutex_unlock(&heap->lock);
	if (ptr)
		return ptr;
	dmastream__heap_drain(heap);
	ptr = dmastream__heap_grow(heap, class, size, align);
	dmastream__heap_reap(heap);
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

static NOINLINE int free_bad(struct dmastream_heap *heap)
{
	pthread_mutex_lock(&heap->lock);
	heap->bad_frees++;
	pthread_mutex_unlock(&heap->lock);
	return -EINVAL;
}

static NOINLINE int free_slow(struct dmastream_heap *heap, void *ptr, struct span_page *page)
{
	const struct spare it = { ptr, page };

	pthread_mutex_lock(&heap->lock);
	object_free(heap, &it);
	heap->frees++;
	pthread_mutex_unlock(&heap->lock);
	dmastream__heap_reap(heap);
	return 0;
}

/* With cache->lock, which it gives up. */
static NOINLINE int free_full(struct dmastream_heap *heap, struct cache *cache,
			      struct magazine *mag, struct spare it)
{
	magazine_drain(heap, mag, mag->cap / 2);
	mag->object[mag->n++] = it;
	cache->frees++;
	small_unlock(&cache->lock);
	dmastream__heap_reap(heap);
	return 0;
}

/* @size is of CLASS_NONE alone */
static void *alloc_class(struct dmastream_heap *heap, uint32_t class, size_t size)
{
	struct cache *cache = class == CLASS_NONE ? NULL : cache_get(heap);
	struct magazine *mag;
	struct spare it;

	if (!cache)
		return alloc_slow(heap, class, size, 0);
	small_lock(&cache->lock);
	mag = &cache->mag[class];
	if (!mag->n)
		magazine_refill(heap, mag, class);
	if (!mag->n) {
		small_unlock(&cache->lock);
		return alloc_slow(heap, class, size, 0);
	}
	it = mag->object[--mag->n];
	cache->allocs++;
	small_unlock(&cache->lock);
	page_own(it.page, it.ptr);
	return it.ptr;
}

/* Aligned to 64 bytes, from a page on to a page; NULL: no memory. */
void *dmastream_alloc(struct dmastream_heap *heap, size_t size)
{
	return alloc_class(heap, class_of(heap, size ? size : 1), size);
}

/* @align: a power of two, up to 2 MiB; NULL: no memory, or no such alignment. */
void *dmastream_alloc_aligned(struct dmastream_heap *heap, size_t align, size_t size)
{
	uint32_t class = class_of(heap, size ? size : 1);

	if (!align || (align & (align - 1)) || align > ALIGN_MAX)
		return NULL;
	if (align > SPAN_SIZE) {
		/* of whole pages, also when it is small */
		if (class < NSLABS)
			class = NSLABS;
		return alloc_slow(heap, class, size, align);
	}
	/* slabs begin at pages, so an object has the alignment of its size */
	while (class != CLASS_NONE && class_size[class] % align)
		class++;
	return alloc_class(heap, class, size);
}

int dmastream_free(struct dmastream_heap *heap, void *ptr)
{
	struct span_page *page;
	struct magazine *mag;
	struct cache *cache;

	if (!ptr)
		return 0;
	page = page_of(heap, ptr);
	if (!page || !page_disown(page, ptr))
		return free_bad(heap);
	cache = page->class == CLASS_NONE ? NULL : cache_get(heap);
	if (!cache)
		return free_slow(heap, ptr, page);
	small_lock(&cache->lock);
	mag = &cache->mag[page->class];
	if (mag->n == mag->cap)
		return free_full(heap, cache, mag, (struct spare){ ptr, page });
	mag->object[mag->n++] = (struct spare){ ptr, page };
	cache->frees++;
	small_unlock(&cache->lock);
	return 0;
}

/* Bytes that an allocation really has; 0 when it is none. */
size_t dmastream_alloc_size(struct dmastream_heap *heap, const void *ptr)
{
	const struct span_page *page = page_of(heap, ptr);

	if (!page || !(__atomic_load_n(&page->owned, __ATOMIC_RELAXED) & owned_bit(ptr)))
		return 0;
	return (size_t)object_size(page);
}

int dmastream_heap_flush(struct dmastream_heap *heap)
{
	struct cache *cache = pthread_getspecific(heap->key);

	if (cache)
		cache_drain(cache);
	dmastream__heap_reap(heap);
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

static uint64_t serials;

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
	heap->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
	pthread_mutex_init(&heap->lock, NULL);
	pthread_mutex_init(&heap->list_lock, NULL);
	pthread_mutex_init(&heap->grow_lock, NULL);
	classes_init(heap);
	*out = heap;
	return 0;
}

/* No other thread may be in a call on it; what is allocated is gone. */
void dmastream_heap_destroy(struct dmastream_heap *heap)
{
	struct cache *cache, *next;

	if (!heap)
		return;
	pthread_key_delete(heap->key);
	for (cache = heap->caches; cache; cache = next) {
		next = cache->next;
			free(cache);
	}
	dmastream__areas_destroy(heap);
	pthread_mutex_destroy(&heap->grow_lock);
	pthread_mutex_destroy(&heap->list_lock);
	pthread_mutex_destroy(&heap->lock);
	free(heap);
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
		small_lock(&cache->lock);
		stats->threads++;
		stats->allocs += cache->allocs;
		stats->frees += cache->frees;
		for (i = 0; i < NCLASS; i++)
			stats->cached += (uint64_t)cache->mag[i].n * class_size[i];
		small_unlock(&cache->lock);
	}
	pthread_mutex_lock(&heap->lock);
	stats->allocs += heap->allocs;
	stats->frees += heap->frees;
	stats->failures = heap->failures;
	stats->bad_frees = heap->bad_frees;
	stats->grown = heap->grown;
	stats->grows = heap->grows;
	stats->shrinks = heap->shrinks;
	stats->grow_failures = heap->grow_failures;
	/* the caches may have moved on: not below zero */
	stats->used = heap->out > stats->cached ? heap->out - stats->cached : 0;
	for (i = 0; i < heap->nareas; i++) {
		const struct spans *spans = &heap->area[i].spans;

		if (!heap->range[i].len)
			continue;
		stats->pools++;
		stats->total += heap->range[i].len;
		stats->held += (uint64_t)(spans->npages - spans->free_pages) << SPAN_SHIFT;
		largest = (uint64_t)spans_largest(spans) << SPAN_SHIFT;
		if (largest > stats->largest)
			stats->largest = largest;
	}
	pthread_mutex_unlock(&heap->lock);
	pthread_mutex_unlock(&heap->list_lock);
	return 0;
}
