/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * A mutex for a lock that others than its owner hardly ever take: two instructions
 * with nobody else there, where pthread_mutex_lock() and unlock() take 60.  The second
 * mutex of U. Drepper, "Futexes Are Tricky" (2011).
 */
#ifndef DMASTREAM_LOCK_H
#define DMASTREAM_LOCK_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0: free; 1: taken; 2: taken, and somebody may wait */
struct small_lock {
	uint32_t	state;
};

static inline void small_lock(struct small_lock *l)
{
	uint32_t was = 0;

	if (__builtin_expect(__atomic_compare_exchange_n(&l->state, &was, 1, 0, __ATOMIC_ACQUIRE,
							 __ATOMIC_RELAXED), 1))
		return;
	while (__atomic_exchange_n(&l->state, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void small_unlock(struct small_lock *l)
{
	if (__builtin_expect(__atomic_exchange_n(&l->state, 0, __ATOMIC_RELEASE) == 1, 1))
		return;
	syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif /* DMASTREAM_LOCK_H */
