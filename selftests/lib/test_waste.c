// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Plays against the bounds that heap.c states for what a heap can lose: inside
 * allocations, in slabs, and between spans.  Each test computes the loss and the
 * bound, and says how near it came.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "libtest.h"

#define PAGE		4096ULL
#define MIB		(1024 * 1024ULL)
#define SLABS_END	4096		/* classes below it have slabs */

static struct dmastream_heap *heap;

static struct {
	void		*base;
	uint64_t	len;
} area[2];

static int nareas;

static void area_add(uint64_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED ||
	    dmastream__heap_add_area(heap, p, len, (uint32_t)nareas + 1, 0))
		abort();
	area[nareas].base = p;
	area[nareas++].len = len;
}

static void heap_open(uint64_t len)
{
	nareas = 0;
	if (dmastream_heap_create(&heap))
		abort();
	area_add(len);
}

static void heap_close(void)
{
	dmastream_heap_destroy(heap);
	while (nareas--)
		munmap(area[nareas].base, area[nareas].len);
}

/* Nothing in magazines. */
static struct dmastream_heap_stats stats_of(void)
{
	struct dmastream_heap_stats stats;

	dmastream_heap_flush(heap);
	dmastream_heap_stats(heap, &stats);
	return stats;
}

/*
 * ---- 1: inside an allocation ----------------------------------------------
 */

static uint64_t inside_bound(uint64_t size)
{
	if (size <= 256)
		return 63;
	if (size <= 4096)
		return size / 4;
	if (size <= 65536)
		return size / 4 > 4095 ? size / 4 : 4095;
	return 4095;
}

static void inside(void)
{
	uint64_t size, lost, near = 0;

	heap_open(4 * MIB);
	for (size = 1; size <= 2 * MIB; size += size < 140000 ? 1 : 509) {
		void *p = dmastream_alloc(heap, size);

		lost = dmastream_alloc_size(heap, p) - size;
		if (lost > inside_bound(size)) {
			printf("# %llu bytes lose %llu\n", (unsigned long long)size,
			       (unsigned long long)lost);
			libtest_bad++;
			break;
		}
		near += lost == inside_bound(size);
		dmastream_free(heap, p);
	}
	printf("# the bound was reached by %llu sizes\n", (unsigned long long)near);
	CHECK(near > 0);
	heap_close();
}

/*
 * ---- 2: slabs -------------------------------------------------------------
 */

/* What objects of a class take at most when there were never more than @most. */
static uint64_t slabs_bound(uint64_t size, uint64_t most)
{
	uint64_t slab = size <= 1024 ? 16384 : 32768;

	return (most + slab / size - 1) / (slab / size) * slab;
}

/* Of the classes below a page, found by asking. */
static int classes_find(uint64_t *size)
{
	uint64_t at = 1;
	int n = 0;

	while (at < SLABS_END) {
		void *p = dmastream_alloc(heap, at);

		size[n] = dmastream_alloc_size(heap, p);
		dmastream_free(heap, p);
		if (size[n] >= SLABS_END)
			break;
		at = size[n++] + 1;
	}
	return n;
}

/*
 * All classes, one after the other, each as large as fits; then all of its objects
 * are freed but one in each slab, so that the next finds as little as possible.
 * In the end each object that is left holds a slab, which is the worst there is.
 */
static void slabs_pinned(void)
{
	static void *p[64 * MIB / 64];
	uint64_t size[32], bound = 0, live = 0, got, i, slab;
	struct dmastream_heap_stats stats = { 0 };
	int n, c;

	heap_open(16 * MIB);
	n = classes_find(size);
	CHECK_EQ(n, 19);
	for (c = 0; c < n; c++) {
		slab = size[c] <= 1024 ? 16384 : 32768;
		for (got = 0; got < 2 * MIB / size[c]; got++) {
			p[got] = dmastream_alloc(heap, size[c]);
			if (!p[got])
				break;
		}
		bound += slabs_bound(size[c], got);
		stats = stats_of();
		CHECK(stats.held <= bound);
		for (i = 0; i < got; i++)
			if (i % (slab / size[c]))
				dmastream_free(heap, p[i]);
			else
				live++;
		stats = stats_of();
		CHECK(stats.held <= bound);
		CHECK(stats.held <= live * 32768);
	}
	printf("# %llu KiB in %llu objects hold %llu KiB\n",
	       (unsigned long long)stats.used >> 10, (unsigned long long)live,
	       (unsigned long long)stats.held >> 10);
	/* it is that bad: the play was not a weak one */
	CHECK(stats.held > 16 * stats.used);
	heap_close();
}

/*
 * Slabs that are half empty, in an area behind one that has room again: their room
 * is used before there are new slabs.
 */
static void slabs_reused(void)
{
	uint64_t n = MIB / 64, i, held;
	static void *p[MIB / 64];
	void *block;

	heap_open(4 * MIB);
	area_add(4 * MIB);
	block = dmastream_alloc(heap, 4 * MIB);
	for (i = 0; i < n; i++)
		p[i] = dmastream_alloc(heap, 64);
	held = stats_of().held;
	CHECK_EQ(held, 5 * MIB);
	for (i = 0; i < n; i += 2)
		dmastream_free(heap, p[i]);
	dmastream_free(heap, block);
	CHECK_EQ(stats_of().held, MIB);
	for (i = 0; i < n; i += 2)
		p[i] = dmastream_alloc(heap, 64);
	CHECK_EQ(stats_of().held, MIB);
	heap_close();
}

/* Any order of sizes, growing and shrinking: never more than each class at its most. */
static void slabs_random(void)
{
	static struct { void *p; int class; } live[20000];
	uint64_t seed = 5, size[32], now[32] = { 0 }, most[32] = { 0 }, bound, r;
	int n, c, i, step, worst = 0;
	struct dmastream_heap_stats stats;

	heap_open(64 * MIB);
	area_add(64 * MIB);
	n = classes_find(size);
	for (step = 0; step < 200000; step++) {
		r = libtest_random(&seed);
		i = (int)(r % 20000);
		if (live[i].p) {
			dmastream_free(heap, live[i].p);
			live[i].p = NULL;
			now[live[i].class]--;
		} else {
			/* one class prevails, another one each time */
			c = (int)(r >> 20) & 3 ? step / 10000 % n : (int)((r >> 32) % n);
			live[i].p = dmastream_alloc(heap, size[c]);
			live[i].class = c;
			CHECK(live[i].p);
			if (++now[c] > most[c])
				most[c] = now[c];
		}
		if (step % 5000)
			continue;
		stats = stats_of();
		for (bound = 0, c = 0; c < n; c++)
			/* a magazine takes 32 more than are wanted, and keeps 64 */
			bound += slabs_bound(size[c], most[c] + 64);
		CHECK(stats.held <= bound);
		if ((int)(stats.held * 100 / bound) > worst)
			worst = (int)(stats.held * 100 / bound);
	}
	printf("# at most %d %% of the bound\n", worst);
	heap_close();
	memset(live, 0, sizeof(live));
}

/*
 * ---- 3: between spans -----------------------------------------------------
 */

/* A request for @n pages that fails has a reason. */
static int fails_rightly(uint64_t n, uint64_t pieces)
{
	struct dmastream_heap_stats stats = stats_of();

	return stats.total - stats.held <= (pieces + stats.pools) * (n - 1) * PAGE;
}

/* Pages stay allocated at every nth place: no more is free than the bound says. */
static void spans_comb(void)
{
	static void *p[4096];
	uint64_t n, i, pieces;
	void *q;

	for (n = 2; n <= 300; n += 1 + n / 7) {
		/* K pages with K + 1 gaps of n - 1: the bound itself */
		pieces = 4096 / n - 1;
		heap_open(((pieces + 1) * (n - 1) + pieces) * PAGE);
		for (i = 0; i < (pieces + 1) * (n - 1) + pieces; i++) {
			q = dmastream_alloc(heap, PAGE);
			p[((char *)q - (char *)area[0].base) / PAGE] = q;
		}
		for (i = 0; i < (pieces + 1) * (n - 1) + pieces; i++)
			if (i % n != n - 1)
				dmastream_free(heap, p[i]);
		CHECK(!dmastream_alloc(heap, n * PAGE));
		CHECK(fails_rightly(n, pieces));
		CHECK_EQ(stats_of().total - stats_of().held, (pieces + 1) * (n - 1) * PAGE);
		q = dmastream_alloc(heap, (n - 1) * PAGE);
		CHECK(q || n == 1);
		dmastream_free(heap, q);
		/* one less of them, and it is there */
		dmastream_free(heap, p[n - 1]);
		CHECK(dmastream_alloc(heap, n * PAGE));
		heap_close();
	}
}

/*
 * Robson's player (JACM 18(3), 1971): for doubling sizes, free all that does not
 * stand in the way of the next, and ask for it as long as it is given.
 */
static void spans_robson(void)
{
	enum { PAGES = 1 << 14, STEPS = 9 };
	static struct { char *p; uint64_t n; } live[PAGES];
	uint64_t had = 0, step, i, n, used = 0, k;
	char *p;

	heap_open(PAGES * PAGE);
	/* above the magazines, or these would play */
	for (step = 0; step < STEPS; step++) {
		n = 17ULL << step;
		/* what begins at an odd multiple of half of it stays */
		for (i = 0, k = 0; i < had; i++) {
			uint64_t at = (uint64_t)(live[i].p - (char *)area[0].base) / PAGE;

			if (step && at % n < n / 2) {
				dmastream_free(heap, live[i].p);
				used -= live[i].n;
			} else {
				live[k++] = live[i];
			}
		}
		had = k;
		while (used + n <= PAGES / 2) {
			p = dmastream_alloc(heap, n * PAGE);
			if (!p)
				break;
			live[had].p = p;
			live[had++].n = n;
			used += n;
		}
		if (used + n > PAGES / 2)
			continue;
		CHECK(fails_rightly(n, had));
		printf("# %llu pages: none, with %llu of %d in use\n", (unsigned long long)n,
		       (unsigned long long)used, PAGES);
	}
	heap_close();
}

static void spans_random(void)
{
	static struct { void *p; } live[600];
	uint64_t seed = 11, r, n, pieces = 0, refused = 0, step;

	heap_open(3001 * PAGE);
	area_add(2003 * PAGE);
	memset(live, 0, sizeof(live));
	for (step = 0; step < 400000; step++) {
		r = libtest_random(&seed);
		n = 17 + (r >> 20) % (r & 1 << 18 ? 8 : 300);
		if (live[r % 600].p) {
			dmastream_free(heap, live[r % 600].p);
			live[r % 600].p = NULL;
			pieces--;
			continue;
		}
		live[r % 600].p = dmastream_alloc(heap, n * PAGE);
		if (live[r % 600].p) {
			pieces++;
			continue;
		}
		refused++;
		if (!fails_rightly(n, pieces)) {
			CHECK(fails_rightly(n, pieces));
			break;
		}
	}
	printf("# %llu refused\n", (unsigned long long)refused);
	CHECK(refused > 1000);
	heap_close();
}

int main(void)
{
	RUN(inside);
	RUN(slabs_pinned);
	RUN(slabs_reused);
	RUN(slabs_random);
	RUN(spans_comb);
	RUN(spans_robson);
	RUN(spans_random);
	return libtest_end();
}
