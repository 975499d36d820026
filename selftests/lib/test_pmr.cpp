// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Containers of namespace std::pmr on a heap.
 */
#include <dmastream/pmr.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

#include <sys/mman.h>

extern "C" {
#include "libtest.h"

int dmastream__heap_add_area(struct dmastream_heap *heap, void *base,
			     uint64_t len, uint32_t pool, uint64_t pool_off);
}

static const std::size_t size = 16 << 20;
static struct dmastream_heap *heap;
static char *base;

static void open_heap()
{
	base = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (base == MAP_FAILED || dmastream_heap_create(&heap) ||
	    dmastream__heap_add_area(heap, base, size, 1, 0))
		abort();
}

static struct dmastream_heap_stats stats_of()
{
	struct dmastream_heap_stats stats;

	dmastream_heap_flush(heap);
	dmastream_heap_stats(heap, &stats);
	return stats;
}

static void close_heap()
{
	CHECK_EQ(stats_of().used, 0);
	CHECK_EQ(stats_of().bad_frees, 0);
	CHECK_EQ(stats_of().allocs, stats_of().frees);
	dmastream_heap_destroy(heap);
	munmap(base, size);
}

template <typename T> static bool inside(const T *p)
{
	auto *c = reinterpret_cast<const char *>(p);

	return c >= base && c < base + size;
}

static void containers(void)
{
	open_heap();
	{
		dms::heap_resource r(heap);
		std::pmr::vector<std::uint64_t> v(&r);
		std::pmr::map<int, std::pmr::string> m(&r);
		std::uint64_t off;
		std::uint32_t pool;
		int wrong = 0;

		for (std::uint64_t i = 0; i < 100000; i++)
			v.push_back(i * i);
		CHECK(inside(v.data()));
		CHECK_EQ(dmastream_heap_locate(heap, v.data(), &pool, &off), 0);
		CHECK(base + off == reinterpret_cast<char *>(v.data()));
		for (int i = 0; i < 10000; i++)
			m[i * 7919 % 10000] = std::string(i % 200, 'a' + i % 26);
		for (auto &e : m)
			wrong += !inside(&e) || (e.second.size() > 15 && !inside(e.second.data()));
		for (std::uint64_t i = 0; i < 100000; i++)
			wrong += v[i] != i * i;
		CHECK_EQ(wrong, 0);
		for (int i = 0; i < 10000; i += 2)
			m.erase(i);
		CHECK_EQ(m.size(), 5000);
		/* a node goes from one container to another one of the same heap */
		dms::heap_resource again(heap);
		std::pmr::map<int, std::pmr::string> n(&again);

		n.merge(m);
		CHECK_EQ(n.size(), 5000);
		CHECK(stats_of().used > 800000);
	}
	close_heap();
}

struct alignas(256) tile { char c[768]; };

static void alignment(void)
{
	open_heap();
	{
		dms::heap_resource r(heap);
		std::pmr::vector<tile> v(&r);

		for (int i = 0; i < 1000; i++) {
			v.emplace_back();
			CHECK_EQ(reinterpret_cast<std::uintptr_t>(&v[i]) % 256, 0);
		}
		for (std::size_t a = 1; a <= 2 << 20; a *= 2) {
			void *p = r.allocate(3000, a);

			CHECK(inside(static_cast<char *>(p)));
			CHECK_EQ(reinterpret_cast<std::uintptr_t>(p) % a, 0);
			r.deallocate(p, 3000, a);
		}
	}
	close_heap();
}

static void out_of_memory(void)
{
	int thrown = 0;

	open_heap();
	{
		dms::heap_resource r(heap);
		std::pmr::vector<char> v(&r);

		try {
			for (;;)
				v.resize(v.size() * 2 + 4096);
		} catch (const std::bad_alloc &) {
			thrown++;
		}
		CHECK(v.size() >= 4 << 20);
		v.back() = 1;
		try {
			r.deallocate(r.allocate(64, 4 << 20), 64, 4 << 20);
		} catch (const std::bad_alloc &) {
			thrown++;
		}
		CHECK_EQ(thrown, 2);
	}
	close_heap();
}

static void equality(void)
{
	open_heap();
	{
		struct dmastream_heap *second;
		dms::heap_resource a(heap), b(heap);

		CHECK_EQ(dmastream_heap_create(&second), 0);
		dms::heap_resource c(second);
		CHECK(a == b && a.heap() == heap);
		CHECK(a != c);
		CHECK(a != *std::pmr::new_delete_resource());
		dmastream_heap_destroy(second);
	}
	close_heap();
}

int main()
{
	RUN(containers);
	RUN(alignment);
	RUN(out_of_memory);
	RUN(equality);
	return libtest_end();
}
