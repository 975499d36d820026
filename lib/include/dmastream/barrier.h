/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * The only place where the library orders its accesses to memory that it
 * shares with the kernel.
 *
 * The C11 memory model by way of the compiler's __atomic builtins, so that one
 * header serves C99, C11 and C++.  The kernel's sides of the pairs are
 * smp_store_release(), smp_load_acquire() and smp_mb() in kmod/ring.c and
 * kmod/group.c; Documentation/ring-ordering.rst draws them.
 */
#ifndef DMASTREAM_BARRIER_H
#define DMASTREAM_BARRIER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An index that the other side writes: what it covers is read after it. */
static inline uint32_t dmastream_load_acquire(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* An index that this side writes: what it covers is written before it. */
static inline void dmastream_store_release(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* An index of one's own, or a flag after dmastream_full_barrier(). */
static inline uint32_t dmastream_load_relaxed(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/*
 * Between publishing an index and reading a NEED_KICK flag.  Its partner is
 * the kernel's full barrier between setting that flag and looking at the index
 * again: at least one of the two sees what the other did.
 */
static inline void dmastream_full_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#ifdef __cplusplus
}
#endif

#endif /* DMASTREAM_BARRIER_H */
