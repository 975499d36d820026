// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A heap that makes pools and gives them back, within limits.
 */
#include <pthread.h>
#include <string.h>

#include "fakepool.h"
#include "libtest.h"

#define MIB	((uint64_t)1 << 20)

static struct dmastream_heap *heap;

static struct dmastream_heap_stats stats_of(void)
{
	struct dmastream_heap_stats stats;

	dmastream_heap_stats(heap, &stats);
	return stats;
}

static int grow_open(uint64_t min, uint64_t max, uint64_t pool, uint64_t spare)
{
	struct dmastream_heap_growth g = {
		.min_bytes = min, .max_bytes = max, .pool_bytes = pool, .spare_bytes = spare,
		.numa_node = -1,
	};

	fakepool_init();
	CHECK_EQ(dmastream_heap_create(&heap), 0);
	return dmastream__heap_set_source(heap, &fakepool_source, &g);
}

static void grow_close(void)
{
	dmastream_heap_destroy(heap);
	CHECK_EQ(fakepool.now, 0);
	CHECK_EQ(fakepool.made, fakepool.gone);
}

/* From the least to the most and back, and an error beyond. */
static void limits(void)
{
	void *p[32];
	int i;

	CHECK_EQ(grow_open(4 * MIB, 16 * MIB, 2 * MIB, 0), 0);
	CHECK_EQ(fakepool.now, 4 * MIB);
	CHECK_EQ(stats_of().total, 4 * MIB);
	for (i = 0; i < 16; i++) {
		p[i] = dmastream_alloc(heap, MIB);
		CHECK(p[i]);
		CHECK_EQ(fakepool.now, i < 4 ? 4 * MIB : (i / 2 + 1) * 2 * MIB);
	}
	CHECK_EQ(stats_of().grow_failures, 0);
	CHECK(!dmastream_alloc(heap, MIB));
	CHECK(!dmastream_alloc(heap, 64));
	CHECK_EQ(stats_of().grow_failures, 2);
	CHECK_EQ(stats_of().failures, 2);
	for (i = 0; i < 16; i++)
		CHECK_EQ(dmastream_free(heap, p[i]), 0);
	/* the least it may have; both of these are empty */
	CHECK_EQ(fakepool.now, 4 * MIB);
	CHECK_EQ(fakepool.most, 16 * MIB);
	CHECK_EQ(stats_of().grows, 8);
	CHECK_EQ(stats_of().shrinks, 6);
	CHECK_EQ(stats_of().grown, 4 * MIB);
	CHECK_EQ(dmastream_heap_trim(heap), 0);
	grow_close();
}

/* One empty pool is kept, or as much as is asked for; trim takes that too. */
static void hysteresis(void)
{
	void *p[8];
	int i, round;

	CHECK_EQ(grow_open(0, 64 * MIB, 2 * MIB, 0), 0);
	CHECK_EQ(fakepool.made, 0);
	for (round = 0; round < 100; round++) {
		p[0] = dmastream_alloc(heap, 2 * MIB);
		CHECK_EQ(dmastream_free(heap, p[0]), 0);
	}
	CHECK_EQ(fakepool.made, 1);
	CHECK_EQ(dmastream_heap_trim(heap), 2 * MIB);
	CHECK_EQ(fakepool.now, 0);
	/* one in use, and one that comes and goes */
	p[0] = dmastream_alloc(heap, MIB);
	for (round = 0; round < 100; round++) {
		p[1] = dmastream_alloc(heap, 2 * MIB);
		CHECK_EQ(dmastream_free(heap, p[1]), 0);
	}
	CHECK_EQ(fakepool.made, 3);
	CHECK_EQ(dmastream_heap_trim(heap), 2 * MIB);
	/* not while anything is in it, in a magazine either */
	CHECK_EQ(dmastream_heap_trim(heap), 0);
	CHECK_EQ(fakepool.now, 2 * MIB);
	CHECK_EQ(dmastream_free(heap, p[0]), 0);
	grow_close();

	CHECK_EQ(grow_open(0, 64 * MIB, 2 * MIB, 6 * MIB), 0);
	for (i = 0; i < 8; i++)
		p[i] = dmastream_alloc(heap, 2 * MIB);
	for (i = 0; i < 8; i++)
		CHECK_EQ(dmastream_free(heap, p[i]), 0);
	CHECK_EQ(fakepool.now, 6 * MIB);
	grow_close();
}

/* Small objects: what lies in magazines holds a pool until these go back. */
static void magazines(void)
{
	static void *p[65536];
	int i;

	CHECK_EQ(grow_open(0, 64 * MIB, MIB, 0), 0);
	for (i = 0; i < 65536; i++)
		p[i] = dmastream_alloc(heap, 64);
	CHECK(fakepool.now >= 4 * MIB && fakepool.now <= 5 * MIB);
	for (i = 0; i < 65536; i++)
		CHECK_EQ(dmastream_free(heap, p[i]), 0);
	CHECK(fakepool.now <= 2 * MIB);
	CHECK_EQ(stats_of().cached, 64 * 64);
	CHECK(dmastream_heap_trim(heap) > 0);
	CHECK_EQ(fakepool.now, 0);
	/* what was freed stays refused when its pool is gone */
	CHECK_EQ(dmastream_free(heap, p[7]), -EINVAL);
	CHECK_EQ(dmastream_alloc_size(heap, p[7]), 0);
	CHECK(dmastream_alloc(heap, 64));
	grow_close();
}

/* Larger than a pool: a pool of its own, for which what is empty and too short goes. */
static void large(void)
{
	void *p, *q;

	CHECK_EQ(grow_open(0, 16 * MIB, 4 * MIB, 64 * MIB), 0);
	p = dmastream_alloc(heap, 10 * MIB);
	CHECK_EQ(fakepool.now, 10 * MIB);
	q = dmastream_alloc(heap, 3 * MIB);
	CHECK_EQ(fakepool.now, 14 * MIB);
	CHECK_EQ(dmastream_free(heap, p), 0);
	CHECK_EQ(fakepool.now, 14 * MIB);
	p = dmastream_alloc(heap, 12 * MIB);
	CHECK(p);
	CHECK_EQ(fakepool.now, 16 * MIB);
	CHECK_EQ(fakepool.most, 16 * MIB);
	CHECK_EQ(dmastream_free(heap, p), 0);
	CHECK(!dmastream_alloc(heap, 17 * MIB));
	p = dmastream_alloc_aligned(heap, 2 * MIB, 8 * MIB);
	CHECK_EQ((uintptr_t)p % (2 * MIB), 0);
	CHECK_EQ(dmastream_free(heap, p), 0);
	CHECK_EQ(dmastream_free(heap, q), 0);
	CHECK(!dmastream_alloc(heap, SIZE_MAX));
	grow_close();
	/* slots are used again, with room for more */
	CHECK_EQ(grow_open(0, 200 * MIB, 4 * MIB, 0), 0);
	for (uint64_t i = 1; i < 150; i++) {
		p = dmastream_alloc(heap, i * MIB);
		CHECK(p);
		memset(p, 1, 100);
		CHECK_EQ(dmastream_free(heap, p), 0);
		dmastream_heap_trim(heap);
	}
	CHECK_EQ(stats_of().pools, 0);
	grow_close();
}

static void refusals(void)
{
	struct dmastream_heap_growth g = { .max_bytes = MIB, .numa_node = -1 };
	void *p;

	CHECK_EQ(grow_open(0, 0, 0, 0), -EINVAL);
	dmastream_heap_destroy(heap);
	CHECK_EQ(grow_open(3 * MIB, 2 * MIB, MIB, 0), -EINVAL);
	dmastream_heap_destroy(heap);
	CHECK_EQ(grow_open(0, 65 * MIB, MIB, 0), -EINVAL);	/* more pools than slots */
	dmastream_heap_destroy(heap);
	CHECK_EQ(grow_open(0, 64 * MIB, 0, 0), 0);
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), -EINVAL);
	g.max_bytes = 4 * MIB;
	g.flags = 1;
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), -EINVAL);
	g.flags = 0;
	g.reserved[2] = 1;
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), -EINVAL);
	g.reserved[2] = 0;
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), -EBUSY);
	/* the kernel has none: no memory, and later on there is some */
	fakepool.fail = EDQUOT;
	CHECK(!dmastream_alloc(heap, 64));
	CHECK_EQ(stats_of().grow_failures, 1);
	fakepool.fail = 0;
	p = dmastream_alloc(heap, 64);
	CHECK(p);
	CHECK_EQ(fakepool.now, 2 * MIB);
	grow_close();
	/* nothing stays when the least is not to be had */
	fakepool_init();
	fakepool.fail = ENOMEM;
	g.min_bytes = 4 * MIB;
	CHECK_EQ(dmastream_heap_create(&heap), 0);
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), -ENOMEM);
	fakepool.fail = 0;
	CHECK_EQ(fakepool.now, 0);
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), 0);
	CHECK_EQ(fakepool.now, 4 * MIB);
	grow_close();
}

/*
 * Threads that allocate far more than one pool, and give it all back, while one looks for
 * its own objects and frees what is not there.
 */
static void *waves(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	unsigned char *p[64];
	long bad = 0;
	int i, k;

	for (k = 0; k < 60; k++) {
		for (i = 0; i < 64; i++) {
			p[i] = dmastream_alloc(heap, 1 + libtest_random(&seed) % 200000);
			if (p[i])
				p[i][0] = (unsigned char)i;
		}
		for (i = 0; i < 64; i++) {
			if (!p[i])
				continue;
			bad += p[i][0] != (unsigned char)i;
			bad += dmastream_free(heap, p[i]) != 0;
		}
		dmastream_heap_flush(heap);
		if (k % 8 == 0)
			dmastream_heap_trim(heap);
	}
	return (void *)bad;
}

static int stop;

static void *looker(void *arg)
{
	char *mine = dmastream_alloc(heap, 1000);
	uint64_t off, seed = 77;
	uint32_t pool;
	long bad = 0;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		bad += dmastream_heap_locate(heap, mine, &pool, &off) != 0;
		bad += dmastream_heap_ptr(heap, pool, off) != mine;
		bad += dmastream_alloc_size(heap, mine) != 1024;
		/* 16 bytes further nothing ever begins */
		bad += dmastream_free(heap, fakepool.region + 16 +
				      libtest_random(&seed) % FAKEPOOL_REGION / 64 * 64) != -EINVAL;
	}
	bad += dmastream_free(heap, mine) != 0;
	return (void *)bad;
}

static void threads(void)
{
	pthread_t t[4], look;
	void *bad;
	int i;

	CHECK_EQ(grow_open(0, 64 * MIB, 2 * MIB, 0), 0);
	stop = 0;
	CHECK_EQ(pthread_create(&look, NULL, looker, NULL), 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, waves, (void *)(uintptr_t)(i + 1)), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &bad);
		CHECK_EQ((long)bad, 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(look, &bad);
	CHECK_EQ((long)bad, 0);
	dmastream_heap_trim(heap);
	CHECK_EQ(stats_of().used, 0);
	CHECK_EQ(stats_of().grown, 0);
	CHECK_EQ(fakepool.now, 0);
	CHECK(fakepool.most <= 64 * MIB);
	printf("# %u pools were made and given back\n", fakepool.made);
	CHECK(fakepool.made > 10);
	grow_close();
}

int main(void)
{
	RUN(limits);
	RUN(hysteresis);
	RUN(magazines);
	RUN(large);
	RUN(refusals);
	RUN(threads);
	return libtest_end();
}
