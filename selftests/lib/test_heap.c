// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The allocator inside pools, on plain memory.
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "libtest.h"

#define MIB		(1024 * 1024ULL)
#define POOL_HANDLE	7
#define SLAB_BYTES	16384		/* of objects of 128 bytes */

static void *area_map(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static struct dmastream_heap *heap_make(uint64_t size, void **base)
{
	struct dmastream_heap *heap;

	if (dmastream_heap_create(&heap))
		abort();
	*base = area_map(size);
	if (dmastream__heap_add_area(heap, *base, size, POOL_HANDLE, 0))
		abort();
	return heap;
}

static void heap_drop(struct dmastream_heap *heap, void *base, uint64_t size)
{
	dmastream_heap_destroy(heap);
	munmap(base, size);
}

static struct dmastream_heap_stats stats_of(struct dmastream_heap *heap)
{
	struct dmastream_heap_stats stats;

	dmastream_heap_stats(heap, &stats);
	return stats;
}

/* Every size up to 70,000 bytes, and its alignment. */
static void sizes_and_alignment(void)
{
	uint64_t size = 4 * MIB;
	struct dmastream_heap *heap;
	size_t n, real;
	void *base, *p;

	heap = heap_make(size, &base);
	for (n = 0; n <= 70000; n += n < 5000 ? 1 : 97) {
		p = dmastream_alloc(heap, n);
		CHECK(p);
		if (!p)
			break;
		real = dmastream_alloc_size(heap, p);
		CHECK(real >= n);
		/* a class is at most a quarter above the one below it */
		CHECK(n < 256 || real <= n + n / 4 + 64 ||
		      real - n < 4096);
		CHECK((uintptr_t)p % 64 == 0);
		CHECK(n < 4096 || (uintptr_t)p % 4096 == 0);
		memset(p, 0xa5, n);
		CHECK_EQ(dmastream_free(heap, p), 0);
	}
	dmastream_heap_flush(heap);
	CHECK_EQ(stats_of(heap).used, 0);
	CHECK_EQ(stats_of(heap).cached, 0);
	CHECK_EQ(stats_of(heap).largest, size);
	heap_drop(heap, base, size);
}

/* Every alignment with many sizes, in areas whose own alignment is good and bad. */
static void alignment(void)
{
	static const uint64_t shift[] = { 0, 4096, 3 * 4096, MIB };
	uint64_t size = 24 * MIB, align, seed = 3;
	struct dmastream_heap *heap;
	char *base, *p[64] = { 0 };
	size_t i, n, k;

	base = area_map(size + 4 * MIB);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(dmastream_heap_create(&heap), 0);
		CHECK_EQ(dmastream__heap_add_area(heap, (char *)(((uintptr_t)base + 2 * MIB - 1) &
								~(2 * MIB - 1)) + shift[i],
						  size, POOL_HANDLE, 0), 0);
		for (k = 0; k < 20000; k++) {
			n = libtest_random(&seed) % (k % 3 ? 9000 : 3 * MIB);
			align = 1ULL << libtest_random(&seed) % 22;
			dmastream_free(heap, p[k % 64]);
			p[k % 64] = dmastream_alloc_aligned(heap, align, n);
			CHECK_EQ((uintptr_t)p[k % 64] % align, 0);
			CHECK(!p[k % 64] || dmastream_alloc_size(heap, p[k % 64]) >= n);
		}
		for (k = 0; k < 64; k++) {
			CHECK_EQ(dmastream_free(heap, p[k]), 0);
			p[k] = NULL;
		}
		dmastream_heap_flush(heap);
		CHECK_EQ(stats_of(heap).held, 0);
		/* as many as there is room for, and none more */
		for (k = 0; dmastream_alloc_aligned(heap, 2 * MIB, 4096); k++)
			;
		CHECK_EQ(k, size / (2 * MIB));
		CHECK(!dmastream_alloc_aligned(heap, 4 * MIB, 64));
		CHECK(!dmastream_alloc_aligned(heap, 0, 64));
		CHECK(!dmastream_alloc_aligned(heap, 192, 64));
		dmastream_heap_destroy(heap);
	}
	munmap(base, size + 4 * MIB);
}

static void offsets(void)
{
	uint64_t size = MIB, off;
	struct dmastream_heap *heap;
	void *base, *second, *p;
	uint32_t pool;

	heap = heap_make(size, &base);
	second = area_map(size);
	CHECK_EQ(dmastream__heap_add_area(heap, second, size, 9, 65536), 0);
	p = dmastream_alloc(heap, MIB);
	CHECK_EQ(dmastream_heap_locate(heap, p, &pool, &off), 0);
	CHECK_EQ(pool, POOL_HANDLE);
	CHECK_EQ(off, 0);
	/* the first area is full now */
	p = dmastream_alloc(heap, 100);
	CHECK_EQ(dmastream_heap_locate(heap, p, &pool, &off), 0);
	CHECK_EQ(pool, 9);
	CHECK_EQ(off, 65536 + ((char *)p - (char *)second));
	CHECK(dmastream_heap_ptr(heap, 9, off) == p);
	CHECK(!dmastream_heap_ptr(heap, 9, 0));
	CHECK(!dmastream_heap_ptr(heap, 9, 65536 + MIB));
	CHECK(!dmastream_heap_ptr(heap, 1, off));
	CHECK_EQ(dmastream_heap_locate(heap, &size, &pool, &off), -EINVAL);
	munmap(second, size);
	heap_drop(heap, base, size);
}

/* What is full, freed in an odd order, is one piece again. */
static void coalescing(void)
{
	/* not a power of two, so that the last blocks are odd ones */
	uint64_t size = 7 * MIB + 5 * 4096;
	struct dmastream_heap *heap;
	void *base, *p[2000], *big;
	int n, i, round;

	heap = heap_make(size, &base);
	for (round = 0; round < 3; round++) {
		static const size_t of[] = { 5000, 64, 1 << 20, 3000, 70000 };
		size_t len = of[round * 2 % 5];

		for (n = 0; n < 2000; n++) {
			p[n] = dmastream_alloc(heap, len);
			if (!p[n])
				break;
		}
		CHECK(n > 0);
		for (i = 0; i < n; i += 2)
			dmastream_free(heap, p[i]);
		for (i = 1; i < n; i += 2)
			dmastream_free(heap, p[i]);
		dmastream_heap_flush(heap);
		CHECK_EQ(stats_of(heap).used, 0);
		CHECK_EQ(stats_of(heap).largest, 4 * MIB);
	}
	/* neighbours of unlike size serve what no block alone can */
	big = dmastream_alloc(heap, 7 * MIB);
	CHECK(big == base);
	CHECK(!dmastream_alloc(heap, 6 * 4096));
	CHECK_EQ(stats_of(heap).failures, 3 + 1);
	dmastream_free(heap, big);
	CHECK_EQ(stats_of(heap).largest, 4 * MIB);
	heap_drop(heap, base, size);
}

struct piece {
	unsigned char	*p;
	size_t		len;
	unsigned char	fill;
};

static size_t random_size(uint64_t *seed)
{
	uint64_t r = libtest_random(seed);

	switch (r & 3) {
	case 0:
		return 1 + (r >> 8) % 512;
	case 1:
		return 1 + (r >> 8) % 8192;
	case 2:
		return 1 + (r >> 8) % 70000;
	default:
		return 1 + (r >> 8) % (1 << 18);
	}
}

static int piece_is(const struct piece *piece)
{
	size_t i;

	for (i = 0; i < piece->len; i += 61)
		if (piece->p[i] != piece->fill)
			return 0;
	return piece->p[piece->len - 1] == piece->fill;
}

/* Random sizes and order; nobody writes into another's bytes. */
static void random_order(void)
{
	uint64_t size = 16 * MIB, seed = 42;
	struct dmastream_heap *heap;
	struct piece piece[300] = { { 0 } };
	void *base;
	int i;

	heap = heap_make(size, &base);
	for (i = 0; i < 60000; i++) {
		struct piece *it = &piece[libtest_random(&seed) % 300];

		if (it->p) {
			CHECK(piece_is(it));
			CHECK_EQ(dmastream_free(heap, it->p), 0);
			it->p = NULL;
			continue;
		}
		it->len = random_size(&seed);
		it->fill = (unsigned char)i;
		it->p = dmastream_alloc(heap, it->len);
		if (it->p)
			memset(it->p, it->fill, it->len);
	}
	for (i = 0; i < 300; i++)
		dmastream_free(heap, piece[i].p);
	dmastream_heap_flush(heap);
	CHECK_EQ(stats_of(heap).used, 0);
	CHECK_EQ(stats_of(heap).largest, size);
	CHECK_EQ(stats_of(heap).bad_frees, 0);
	CHECK_EQ(stats_of(heap).allocs, stats_of(heap).frees);
	heap_drop(heap, base, size);
}

static void bad_frees(void)
{
	struct dmastream_heap *heap;
	char *p, *q;
	void *base;
	int on_stack;

	heap = heap_make(MIB, &base);
	p = dmastream_alloc(heap, 100);
	q = dmastream_alloc(heap, 200000);
	CHECK_EQ(dmastream_free(heap, NULL), 0);
	CHECK_EQ(dmastream_free(heap, &on_stack), -EINVAL);
	CHECK_EQ(dmastream_free(heap, p + 1), -EINVAL);
	CHECK_EQ(dmastream_free(heap, q + 4096), -EINVAL);
	CHECK_EQ(dmastream_alloc_size(heap, q + 64), 0);
	CHECK_EQ(dmastream_free(heap, q), 0);
	CHECK_EQ(dmastream_free(heap, q), -EINVAL);
	CHECK_EQ(stats_of(heap).bad_frees, 4);
	/* of small ones: what lies in a magazine, and what nobody ever had */
	q = dmastream_alloc(heap, 100);
	CHECK_EQ(dmastream_free(heap, p), 0);
	CHECK_EQ(dmastream_free(heap, p), -EINVAL);
	CHECK_EQ(dmastream_alloc_size(heap, p), 0);
	CHECK_EQ(dmastream_free(heap, q + 128), -EINVAL);
	dmastream_heap_flush(heap);
	CHECK_EQ(dmastream_free(heap, p), -EINVAL);
	CHECK_EQ(stats_of(heap).bad_frees, 7);
	CHECK_EQ(dmastream_alloc_size(heap, q), 128);
	CHECK_EQ(dmastream_free(heap, q), 0);
	CHECK_EQ(stats_of(heap).held, SLAB_BYTES);
	dmastream_heap_flush(heap);
	CHECK_EQ(stats_of(heap).held, 0);
	CHECK(!dmastream_alloc(heap, SIZE_MAX));
	CHECK(!dmastream_alloc(heap, SIZE_MAX - 4096));
	CHECK(!dmastream_alloc(heap, MIB + 1));
	CHECK_EQ(dmastream__heap_add_area(heap, base, 4095, 1, 0), -EINVAL);
	CHECK_EQ(dmastream__heap_add_area(heap, p + 64, 8192, 1, 0), -EINVAL);
	heap_drop(heap, base, MIB);
}

static int map_count(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	int c, n = 0;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static void churn(struct dmastream_heap *heap, uint64_t seed, int n)
{
	void *p[64] = { 0 };
	int i;

	for (i = 0; i < n; i++) {
		int at = (int)(libtest_random(&seed) % 64);

		if (p[at]) {
			dmastream_free(heap, p[at]);
			p[at] = NULL;
		} else {
			p[at] = dmastream_alloc(heap, random_size(&seed));
		}
	}
	for (i = 0; i < 64; i++)
		dmastream_free(heap, p[i]);
}

/* Registration that splits mappings ran others into vm.max_map_count. */
static void maps_stay_flat(void)
{
	uint64_t size = 32 * MIB;
	struct dmastream_heap *heap;
	void *base;
	int before;

	heap = heap_make(size, &base);
	churn(heap, 1, 1000);
	before = map_count();
	churn(heap, 2, 200000);		/* 100,000 of each */
	CHECK_EQ(map_count(), before);
	CHECK(stats_of(heap).allocs >= 100000);
	heap_drop(heap, base, size);
}

/* Under strict seccomp any system call but read, write and exit kills. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void no_system_call(void)
{
	uint64_t size = 32 * MIB;
	struct dmastream_heap *heap;
	int status = -1;
	void *base;
	pid_t pid;

	heap = heap_make(size, &base);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		churn(heap, 1, 1000);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(2);
		churn(heap, 2, 200000);
		syscall(SYS_exit, 0);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	heap_drop(heap, base, size);
}
#endif

/*
 * ---- Threads --------------------------------------------------------------
 */

#define SLOTS	256

struct crowd {
	struct dmastream_heap	*heap;
	struct piece		*slot[SLOTS];
	struct piece		piece[SLOTS * 16];
	uint32_t		next_piece;
	uint32_t		bad;
	int			rounds;
};

struct member {
	struct crowd	*crowd;
	uint64_t	seed;
	pthread_t	thread;
};

/* Puts an allocation into a slot, and frees what another thread left there. */
static void *member_run(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	struct piece *mine[SLOTS], *it = NULL;
	int have = 0, i;

	for (i = 0; i < SLOTS; i++)
		mine[have++] = &c->piece[__atomic_fetch_add(&c->next_piece, 1,
							    __ATOMIC_RELAXED)];
	for (i = 0; i < c->rounds; i++) {
		struct piece **slot = &c->slot[libtest_random(&m->seed) % SLOTS];

		it = have ? mine[--have] : NULL;
		if (it) {
			it->len = random_size(&m->seed) % 20000 + 1;
			it->fill = (unsigned char)libtest_random(&m->seed);
			it->p = dmastream_alloc(c->heap, it->len);
			if (it->p)
				memset(it->p, it->fill, it->len);
		}
		it = __atomic_exchange_n(slot, it, __ATOMIC_ACQ_REL);
		if (!it)
			continue;
		if (it->p && (!piece_is(it) || dmastream_free(c->heap, it->p)))
			__atomic_fetch_add(&c->bad, 1, __ATOMIC_RELAXED);
		if (have < SLOTS)
			mine[have++] = it;
	}
	return NULL;
}

static void threads(void)
{
	static struct crowd crowd;
	struct member m[4];
	uint64_t size = 8 * MIB;
	void *base;
	int i;

	memset(&crowd, 0, sizeof(crowd));
	crowd.heap = heap_make(size, &base);
	crowd.rounds = 20000;
	for (i = 0; i < 4; i++) {
		m[i].crowd = &crowd;
		m[i].seed = (uint64_t)i + 1;
		CHECK_EQ(pthread_create(&m[i].thread, NULL, member_run, &m[i]), 0);
	}
	for (i = 0; i < 4; i++)
		pthread_join(m[i].thread, NULL);
	CHECK_EQ(crowd.bad, 0);
	for (i = 0; i < SLOTS; i++)
		if (crowd.slot[i])
			dmastream_free(crowd.heap, crowd.slot[i]->p);
	dmastream_heap_flush(crowd.heap);
	CHECK_EQ(stats_of(crowd.heap).threads, 1);
	CHECK_EQ(stats_of(crowd.heap).used, 0);
	CHECK_EQ(stats_of(crowd.heap).cached, 0);
	CHECK_EQ(stats_of(crowd.heap).largest, size);
	CHECK_EQ(stats_of(crowd.heap).bad_frees, 0);
	heap_drop(crowd.heap, base, size);
}

static pthread_barrier_t meet;

static void *hoarder(void *arg)
{
	struct dmastream_heap *heap = arg;

	dmastream_free(heap, dmastream_alloc(heap, 32768));
	pthread_barrier_wait(&meet);	/* its magazine is not empty now */
	pthread_barrier_wait(&meet);	/* alive until the other one looked */
	return NULL;
}

/* Memory that lies in another thread's magazine is not lost to this one. */
static void other_magazine(void)
{
	struct dmastream_heap *heap;
	pthread_t thread;
	void *base, *p;

	heap = heap_make(MIB, &base);
	pthread_barrier_init(&meet, NULL, 2);
	CHECK_EQ(pthread_create(&thread, NULL, hoarder, heap), 0);
	pthread_barrier_wait(&meet);
	CHECK(stats_of(heap).cached > 0);
	p = dmastream_alloc(heap, MIB);
	CHECK(p == base);
	CHECK_EQ(stats_of(heap).cached, 0);
	pthread_barrier_wait(&meet);
	pthread_join(thread, NULL);
	dmastream_free(heap, p);
	heap_drop(heap, base, MIB);
}

int main(void)
{
	RUN(sizes_and_alignment);
	RUN(alignment);
	RUN(offsets);
	RUN(coalescing);
	RUN(random_order);
	RUN(bad_frees);
	RUN(maps_stay_flat);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	RUN(no_system_call);
#endif
	RUN(threads);
	RUN(other_magazine);
	return libtest_end();
}
