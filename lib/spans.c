// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A buddy allocator over pages whose spans need not be powers of two: what a
 * span leaves of its block goes back at once, so only the rounding to a page
 * is lost inside a span.  Free blocks of 2^order pages begin at multiples of
 * 2^order and never have a free buddy, which bounds fragmentation outside.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "spans.h"

_Static_assert(sizeof(struct span_page) == 64, "one cache line a page");

static void block_insert(struct spans *s, uint32_t p, uint32_t order)
{
	struct span_page *page = &s->page[p];

	page->kind = SPAN_BLOCK;
	page->order = (uint8_t)order;
	page->pages = 1U << order;
	page->prev = SPAN_NIL;
	page->next = s->head[order];
	if (page->next != SPAN_NIL)
		s->page[page->next].prev = p;
	s->head[order] = p;
	s->orders |= 1U << order;
}

static void block_remove(struct spans *s, uint32_t p)
{
	struct span_page *page = &s->page[p];

	if (page->prev != SPAN_NIL)
		s->page[page->prev].next = page->next;
	else
		s->head[page->order] = page->next;
	if (page->next != SPAN_NIL)
		s->page[page->next].prev = page->prev;
	if (s->head[page->order] == SPAN_NIL)
		s->orders &= ~(1U << page->order);
	page->kind = SPAN_INSIDE;
}

/* Joins the block with its free buddies, as far as they go. */
static void block_free(struct spans *s, uint32_t p, uint32_t order)
{
	while (order < SPAN_ORDERS - 1) {
		uint32_t buddy = p ^ (1U << order);

		if (buddy >= s->npages ||
		    s->page[buddy].kind != SPAN_BLOCK ||
		    s->page[buddy].order != order)
			break;
		block_remove(s, buddy);
		p &= ~(1U << order);
		order++;
	}
	block_insert(s, p, order);
}

/* Any range is a few aligned blocks: as large as its ends allow. */
static void range_free(struct spans *s, uint32_t p, uint32_t n)
{
	while (n) {
		uint32_t order = 31 - (uint32_t)__builtin_clz(n);

		if (p && (uint32_t)__builtin_ctz(p) < order)
			order = (uint32_t)__builtin_ctz(p);
		block_free(s, p, order);
		p += 1U << order;
		n -= 1U << order;
	}
}

/* Room for what is known of @npages pages: zeros, which cost nothing until they are used. */
static int meta_map(struct spans *s, uint32_t npages)
{
	void *meta = mmap(NULL, (size_t)npages * sizeof(struct span_page),
			  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (meta == MAP_FAILED)
		return -errno;
	if (s->page) {
		/* one that is too short stays, in a list that goes through its first page */
		s->page->free[0] = (uintptr_t)s->old;
		s->page->free[1] = s->room;
		s->old = s->page;
	}
	s->page = meta;
	s->room = npages;
	return 0;
}

/* @s is zero, or was cleared by spans_clear(). */
int spans_init(struct spans *s, void *base, uint32_t npages)
{
	int i, ret;

	if (npages > s->room) {
		ret = meta_map(s, npages);
		if (ret)
			return ret;
	}
	s->base = base;
	s->npages = npages;
	s->free_pages = npages;
	s->orders = 0;
	for (i = 0; i < SPAN_ORDERS; i++)
		s->head[i] = SPAN_NIL;
	range_free(s, 0, npages);
	return 0;
}

/* All is free: the memory of page[] goes, and it reads as zero from now on. */
void spans_clear(struct spans *s)
{
	size_t size = (size_t)s->room * sizeof(struct span_page);

	s->npages = 0;
	s->free_pages = 0;
	s->orders = 0;
	if (madvise(s->page, size, MADV_DONTNEED))
		memset(s->page, 0, size);
}

void spans_destroy(struct spans *s)
{
	struct span_page *page = s->page;
	uint64_t room = s->room;

	while (page) {
		munmap(page, (size_t)room * sizeof(struct span_page));
		page = s->old;
		if (page) {
			s->old = (struct span_page *)(uintptr_t)page->free[0];
			room = page->free[1];
		}
	}
}

static uint32_t span_take(struct spans *s, uint32_t p, uint32_t have, uint32_t n)
{
	s->page[p].kind = SPAN_USED;
	s->page[p].pages = n;
	s->free_pages -= n;
	range_free(s, p + n, have - n);
	return p;
}

/* Pages from @p on to the next one that is aligned to @align pages in memory. */
static uint32_t align_gap(const struct spans *s, uint32_t p, uint32_t align)
{
	uint32_t at = (uint32_t)((uintptr_t)s->base >> SPAN_SHIFT) + p;

	return -at & (align - 1);
}

/*
 * When no single block is long enough, neighbours may be together: blocks of
 * unlike size stay apart.  Steps from one beginning to the next, and finds a
 * place if there is one.
 */
static uint32_t alloc_run(struct spans *s, uint32_t n, uint32_t align)
{
	uint32_t p, first = 0, have = 0, gap, q;

	for (p = 0; p < s->npages; p += s->page[p].pages) {
		if (s->page[p].kind != SPAN_BLOCK) {
			have = 0;
			continue;
		}
		if (!have)
			first = p;
		have += s->page[p].pages;
		gap = align_gap(s, first, align);
		if (have < n || have - n < gap)
			continue;
		for (q = first; q < first + have; q += s->page[q].pages)
			block_remove(s, q);
		range_free(s, first, gap);
		return span_take(s, first + gap, have - gap, n);
	}
	return SPAN_NIL;
}

/*
 * The first of @n pages at a multiple of @align pages, a power of two, or
 * SPAN_NIL: then there are no such free pages next to each other.
 */
uint32_t spans_alloc(struct spans *s, uint32_t n, uint32_t align)
{
	uint32_t order, fit, p;

	if (!n || n > s->free_pages)
		return SPAN_NIL;
	order = n > 1 ? 32 - (uint32_t)__builtin_clz(n - 1) : 0;
	/* a block begins at a multiple of its size, counted from the base */
	if (align > n && !align_gap(s, 0, align))
		order = (uint32_t)__builtin_ctz(align);
	fit = order < 32 ? s->orders & (~0U << order) : 0;
	if (!fit || align_gap(s, s->head[__builtin_ctz(fit)], align))
		return alloc_run(s, n, align);
	order = (uint32_t)__builtin_ctz(fit);
	p = s->head[order];
	block_remove(s, p);
	return span_take(s, p, 1U << order, n);
}

void spans_free(struct spans *s, uint32_t first)
{
	uint32_t n = s->page[first].pages;

	s->page[first].kind = SPAN_INSIDE;
	s->free_pages += n;
	range_free(s, first, n);
}

/* Pages of the largest free block. */
uint32_t spans_largest(const struct spans *s)
{
	return s->orders ? 1U << (31 - __builtin_clz(s->orders)) : 0;
}
