/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * Pools for a heap that makes its own, without a kernel that has any: out of one
 * region of addresses, so that a test can keep a book of all of it.  What is given back
 * cannot be touched any more.
 */
#ifndef FAKEPOOL_H
#define FAKEPOOL_H

#include <stdint.h>

#include "internal.h"

#define FAKEPOOL_UNIT	((uint64_t)1 << 20)
#define FAKEPOOL_REGION	((uint64_t)256 << 20)

extern struct fakepool {
	unsigned char	*region;
	uint32_t	made;
	uint32_t	gone;
	uint64_t	now;		/* bytes */
	uint64_t	most;
	int		fail;		/* errno of each attempt */
} fakepool;

extern const struct dmastream__source fakepool_source;

void fakepool_init(void);

#endif /* FAKEPOOL_H */
