// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * The allocator beside a simple reference: a book that has, for each 64 bytes of all
 * addresses that pools can have, whose they are.
 *
 *	test_model [OPERATIONS [SEED]]
 *
 * After each operation the answer is what the book says: no overlap, the alignment, the
 * size and the content of what is alive, nothing refused that is to be had, and a free
 * refused of whatever is not alive.  The counts are compared every 4096 operations.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fakepool.h"
#include "libtest.h"

#define MIB	((uint64_t)1 << 20)
#define LIVE	6000		/* objects at most */
#define GONE	64		/* freed ones that are freed again */
#define MAX	(24 * MIB)
#define GRAIN	64
#define THREADS	4

static uint64_t operations = 1000000, seed_arg = 1;

static struct dmastream_heap *heap;
static uint32_t *book;		/* of each grain: 0, or 1 + number of the object */

struct object {
	unsigned char	*p;
	uint64_t	len;		/* asked for */
	uint64_t	real;
	uint64_t	mark;		/* first 8 bytes of each grain */
};

static struct {
	struct object	live[LIVE];
	uint32_t	n;
	void		*gone[GONE];
	uint64_t	used, allocs, frees, failures, bad_frees, marks;
	uint64_t	seed;
} m;

static uint64_t rnd(void)
{
	return libtest_random(&m.seed);
}

static uint32_t *book_of(const void *p)
{
	return &book[((const unsigned char *)p - fakepool.region) / GRAIN];
}

static uint64_t random_size(void)
{
	uint64_t r = rnd(), s = r >> 16;

	switch (r & 15) {
	case 0:
		return s % (512 << 10);
	case 1: case 2: case 3:
		return s % 70000;
	case 4: case 5: case 6: case 7:
		return s % 8192;
	default:
		return s % 700;
	}
}

/* Pages that an allocation takes when it does not share one. */
static uint64_t pages_of(uint64_t size)
{
	uint64_t unit = size > 32768 && size <= 65536 ? 8192 : 4096;

	return (size + unit - 1) / unit * unit / 4096;
}

/* Nothing came: then no more may be free than heap.c says, and no pool to be had. */
static void check_failure(uint64_t size, uint64_t align)
{
	uint64_t n = pages_of(size ? size : 1), need = size > 65536 ? n * 4096 : 65536;
	struct dmastream_heap_stats s;

	if (align > 4096) {
		n += align / 4096 - 1;
		need += align;
	}
	dmastream_heap_stats(heap, &s);
	CHECK(s.total - s.held <= (m.n + s.pools) * (n - 1) * 4096);
	CHECK(s.grown + need > MAX);
}

static void check_place(const struct object *o)
{
	uint64_t off;
	uint32_t pool;

	CHECK_EQ(dmastream_heap_locate(heap, o->p, &pool, &off), 0);
	CHECK(dmastream_heap_ptr(heap, pool, off) == o->p);
	CHECK_EQ(dmastream_heap_locate(heap, o->p + o->real - 1, &pool, &off), 0);
}

static void do_alloc(void)
{
	uint64_t size = random_size(), align = 1, i;
	struct object *o = &m.live[m.n];

	if (rnd() % 8)
		o->p = dmastream_alloc(heap, size);
	else
		o->p = dmastream_alloc_aligned(heap, align = 1ULL << rnd() % 22, size);
	if (!o->p) {
		m.failures++;
		check_failure(size, align);
		return;
	}
	o->len = size;
	o->real = dmastream_alloc_size(heap, o->p);
	o->mark = ++m.marks * 0x9e3779b97f4a7c15ULL;
	CHECK(o->real >= size && o->real % GRAIN == 0);
	CHECK_EQ((uintptr_t)o->p % (align > GRAIN ? align : GRAIN), 0);
	CHECK(size < 4096 || (uintptr_t)o->p % 4096 == 0);
	for (i = 0; i < o->real / GRAIN; i++) {
		if (book_of(o->p)[i])
			libtest_bad++;
		book_of(o->p)[i] = m.n + 1;
		memcpy(o->p + i * GRAIN, &o->mark, sizeof(o->mark));
	}
	check_place(o);
	m.n++;
	m.allocs++;
	m.used += o->real;
}

static void do_free(uint32_t which)
{
	struct object *o = &m.live[which];
	uint64_t i, *at = (uint64_t *)o->p;

	for (i = 0; i < o->real / GRAIN; i++) {
		if (book_of(o->p)[i] != which + 1 || at[i * GRAIN / 8] != o->mark)
			libtest_bad++;
		book_of(o->p)[i] = 0;
	}
	CHECK_EQ(dmastream_alloc_size(heap, o->p), o->real);
	CHECK_EQ(dmastream_free(heap, o->p), 0);
	m.gone[m.frees % GONE] = o->p;
	m.frees++;
	m.used -= o->real;
	/* the last one takes its number */
	*o = m.live[--m.n];
	if (which == m.n)
		return;
	for (i = 0; i < o->real / GRAIN; i++)
		book_of(o->p)[i] = which + 1;
}

/* Something that was freed, any address, or the inside of an object. */
static void do_bad_free(void)
{
	unsigned char *p;
	uint32_t id;

	switch (rnd() % 3) {
	case 0:
		p = m.gone[rnd() % GONE];
		break;
	case 1:
		p = fakepool.region + rnd() % FAKEPOOL_REGION / GRAIN * GRAIN;
		break;
	default:
		p = m.n ? m.live[rnd() % m.n].p + rnd() % 8192 : NULL;
	}
	if (!p || p >= fakepool.region + FAKEPOOL_REGION)
		return;
	id = *book_of(p);
	if (id && m.live[id - 1].p == p)
		return;		/* somebody's, rightly */
	CHECK_EQ(dmastream_alloc_size(heap, p), 0);
	CHECK_EQ(dmastream_free(heap, p), -EINVAL);
	m.bad_frees++;
}

static void check_counts(void)
{
	struct dmastream_heap_stats s;

	dmastream_heap_stats(heap, &s);
	CHECK_EQ(s.used, m.used);
	CHECK_EQ(s.allocs, m.allocs);
	CHECK_EQ(s.frees, m.frees);
	CHECK_EQ(s.failures, m.failures);
	CHECK_EQ(s.bad_frees, m.bad_frees);
	CHECK_EQ(s.grown, fakepool.now);
	CHECK_EQ(s.grows, fakepool.made);
	CHECK_EQ(s.shrinks, fakepool.gone);
	CHECK(s.held >= s.used + s.cached && s.held <= s.total);
}

static void model_open(uint64_t min)
{
	const struct dmastream_heap_growth g = {
		.min_bytes = min, .max_bytes = MAX, .pool_bytes = 2 * MIB, .numa_node = -1,
	};

	fakepool_init();
	memset(&m, 0, sizeof(m));
	m.seed = seed_arg * 0x9e3779b97f4a7c15ULL | 1;
	memset(book, 0, FAKEPOOL_REGION / GRAIN * sizeof(*book));
	CHECK_EQ(dmastream_heap_create(&heap), 0);
	CHECK_EQ(dmastream__heap_set_source(heap, &fakepool_source, &g), 0);
}

static void model(void)
{
	uint64_t i, most = 0, r, turn, n = operations;

#ifdef __SANITIZE_THREAD__
	n /= 50;	/* of one thread it has nothing to say */
#endif
	model_open(4 * MIB);
	for (i = 0; i < n && !libtest_bad; i++) {
		r = rnd() % 1000;
		/* more and more for a while, then less and less */
		turn = i / 16384 % 2 ? 420 : 560;
		if (r < 30)
			do_bad_free();
		else if (r < 31)
			dmastream_heap_flush(heap);
		else if (r < 32 && i / 16384 % 2)
			dmastream_heap_trim(heap);
		else if (r < turn && m.n < LIVE)
			do_alloc();
		else if (m.n)
			do_free((uint32_t)(rnd() % m.n));
		if (i % 4096 == 0)
			check_counts();
		if (m.used > most)
			most = m.used;
	}
	check_counts();
	printf("# seed %llu: %llu operations, at most %llu KiB, ",
	       (unsigned long long)seed_arg, (unsigned long long)i, (unsigned long long)most >> 10);
	printf("%llu refused, %llu bad frees, %u pools\n", (unsigned long long)m.failures,
	       (unsigned long long)m.bad_frees, fakepool.made);
	CHECK(m.bad_frees > i / 100 && (i < 100000 || (m.failures && fakepool.gone > 4)));
	while (m.n)
		do_free(m.n - 1);
	dmastream_heap_trim(heap);
	check_counts();
	/* pools have several sizes, so it need not be the least exactly */
	CHECK(fakepool.now >= 4 * MIB && fakepool.now <= 6 * MIB);
	dmastream_heap_destroy(heap);
	CHECK_EQ(fakepool.now, 0);
}

/*
 * ---- Threads: each 64 bytes have one owner at a time ----------------------
 */

#define SLOTS	1024

static struct object *slot[SLOTS];
static uint64_t bad, done_allocs, done_frees;

static int claim(const struct object *o, uint32_t from, uint32_t to)
{
	int wrong = 0;
	uint64_t i;

	for (i = 0; i < o->real / GRAIN; i++)
		wrong |= __atomic_exchange_n(&book_of(o->p)[i], to, __ATOMIC_RELAXED) != from;
	return wrong;
}

static int release(struct object *o)
{
	uint64_t i, *at = (uint64_t *)o->p;
	int wrong = claim(o, 1, 0);

	for (i = 0; i < o->real / GRAIN; i++)
		wrong |= at[i * GRAIN / 8] != o->mark;
	wrong |= dmastream_free(heap, o->p) != 0;
	/* the inside of nothing and of everything */
	wrong |= dmastream_free(heap, o->p + 8) != -EINVAL;
	free(o);
	return wrong;
}

static void *thread_run(void *arg)
{
	uint64_t seed = seed_arg * 1000 + (uint64_t)(uintptr_t)arg, n = operations / 10 / THREADS;
	uint64_t i, k, wrong = 0, allocs = 0, frees = 0;
	struct object *o;

	for (i = 0; i < n; i++) {
		uint64_t r = libtest_random(&seed);

		o = NULL;
		if (r & 1) {
			o = calloc(1, sizeof(*o));
			o->len = 1 + (r >> 40) % (r & 6 ? 600 : 100000);
			o->p = dmastream_alloc(heap, o->len);
			if (o->p) {
				o->real = dmastream_alloc_size(heap, o->p);
				o->mark = r;
				wrong += (uint64_t)claim(o, 0, 1);
				for (k = 0; k < o->real; k += GRAIN)
					memcpy(o->p + k, &o->mark, sizeof(o->mark));
				allocs++;
			} else {
				free(o);
				o = NULL;
			}
		}
		/* another thread frees it */
		o = __atomic_exchange_n(&slot[(r >> 8) % SLOTS], o, __ATOMIC_ACQ_REL);
		if (o) {
			wrong += (uint64_t)release(o);
			frees++;
		}
		if (r % 4096 == 0)
			dmastream_heap_trim(heap);
	}
	__atomic_fetch_add(&bad, wrong, __ATOMIC_RELAXED);
	__atomic_fetch_add(&done_allocs, allocs, __ATOMIC_RELAXED);
	__atomic_fetch_add(&done_frees, frees, __ATOMIC_RELAXED);
	return NULL;
}

static void threads(void)
{
	struct dmastream_heap_stats s;
	pthread_t t[THREADS];
	uintptr_t i;

	model_open(0);
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, thread_run, (void *)(i + 1)), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < SLOTS; i++)
		if (slot[i]) {
			bad += (uint64_t)release(slot[i]);
			done_frees++;
		}
	CHECK_EQ(bad, 0);
	dmastream_heap_trim(heap);
	dmastream_heap_stats(heap, &s);
	CHECK_EQ(s.used, 0);
	CHECK_EQ(s.cached, 0);
	CHECK_EQ(s.held, 0);
	CHECK_EQ(s.allocs, done_allocs);
	CHECK_EQ(s.frees, done_frees);
	CHECK_EQ(done_allocs, done_frees);
	CHECK_EQ(s.bad_frees, done_frees);
	CHECK(fakepool.most <= MAX);
	printf("# seed %llu: %llu allocations in %d threads, %u pools\n",
	       (unsigned long long)seed_arg, (unsigned long long)done_allocs, THREADS,
	       fakepool.made);
	dmastream_heap_destroy(heap);
}

/*
 * ---- Two threads free the same object: one of them is refused -------------
 */

#define DUELS	3000

static pthread_barrier_t meet;
static void *prize;
static int won[2];

static void *duellist(void *arg)
{
	int me = (int)(uintptr_t)arg, i;

	for (i = 0; i < DUELS; i++) {
		if (!me)
			prize = dmastream_alloc(heap, i % 2 ? 100 : 100000);
		pthread_barrier_wait(&meet);
		won[me] = !dmastream_free(heap, prize);
		pthread_barrier_wait(&meet);
		if (!me)
			bad += won[0] + won[1] != 1;
	}
	return NULL;
}

static void duels(void)
{
	struct dmastream_heap_stats s;
	pthread_t t;

	model_open(0);
	bad = 0;
	pthread_barrier_init(&meet, NULL, 2);
	CHECK_EQ(pthread_create(&t, NULL, duellist, (void *)1), 0);
	duellist(NULL);
	pthread_join(t, NULL);
	CHECK_EQ(bad, 0);
	dmastream_heap_stats(heap, &s);
	CHECK_EQ(s.allocs, DUELS);
	CHECK_EQ(s.frees, DUELS);
	CHECK_EQ(s.bad_frees, DUELS);
	dmastream_heap_destroy(heap);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		operations = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		seed_arg = strtoull(argv[2], NULL, 0);
	book = calloc(FAKEPOOL_REGION / GRAIN, sizeof(*book));
	if (!book)
		abort();
	RUN(model);
	RUN(threads);
	RUN(duels);
	free(book);
	return libtest_end();
}
