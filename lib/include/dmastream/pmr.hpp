/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * A heap of libdmastream as a std::pmr::memory_resource, so that the containers of
 * namespace std::pmr lie in memory that can be sent from and received into.  C++17.
 * See dmastream_pmr(3).
 */
#ifndef DMASTREAM_PMR_HPP
#define DMASTREAM_PMR_HPP

#include <cstddef>
#include <memory_resource>
#include <new>

#include <dmastream.h>

namespace dms {

/* Does not own the heap, which must outlive it and all that it allocated. */
class heap_resource : public std::pmr::memory_resource {
public:
	explicit heap_resource(struct dmastream_heap *heap) noexcept : heap_(heap) {}

	struct dmastream_heap *heap() const noexcept { return heap_; }

private:
	void *do_allocate(std::size_t bytes, std::size_t alignment) override
	{
		void *p = dmastream_alloc_aligned(heap_, alignment, bytes);

		if (!p)
			throw std::bad_alloc();
		return p;
	}

	void do_deallocate(void *p, std::size_t, std::size_t) override
	{
		dmastream_free(heap_, p);
	}

	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
		auto *o = dynamic_cast<const heap_resource *>(&other);

		return o && o->heap_ == heap_;
	}

	struct dmastream_heap *heap_;
};

} /* namespace dms */

#endif /* DMASTREAM_PMR_HPP */
