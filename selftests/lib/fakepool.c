// SPDX-License-Identifier: LGPL-2.1-only OR MIT
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fakepool.h"

#define UNITS	(FAKEPOOL_REGION / FAKEPOOL_UNIT)

struct fakepool fakepool;

static unsigned char used[UNITS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fakepool_init(void)
{
	if (!fakepool.region) {
		fakepool.region = mmap(NULL, FAKEPOOL_REGION, PROT_NONE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (fakepool.region == MAP_FAILED)
			abort();
	}
	memset(used, 0, sizeof(used));
	fakepool = (struct fakepool){ .region = fakepool.region };
}

static int create(void *arg, uint64_t size, int numa_node, struct dmastream__piece *piece)
{
	uint64_t n = (size + FAKEPOOL_UNIT - 1) / FAKEPOOL_UNIT, at, i;

	(void)arg;
	(void)numa_node;
	if (fakepool.fail)
		return -fakepool.fail;
	pthread_mutex_lock(&lock);
	for (at = 0, i = 0; at + n <= UNITS && i < n;)
		if (used[at + i]) {
			at += i + 1;
			i = 0;
		} else {
			i++;
		}
	if (at + n > UNITS)
		abort();	/* the test asks for more than it has */
	memset(used + at, 1, n);
	piece->base = fakepool.region + at * FAKEPOOL_UNIT;
	piece->len = size;
	piece->pool = 100 + ++fakepool.made;
	fakepool.now += size;
	if (fakepool.now > fakepool.most)
		fakepool.most = fakepool.now;
	if (mprotect(piece->base, size, PROT_READ | PROT_WRITE))
		abort();
	pthread_mutex_unlock(&lock);
	return 0;
}

static void destroy(void *arg, const struct dmastream__piece *piece)
{
	uint64_t at = (uint64_t)((unsigned char *)piece->base - fakepool.region) / FAKEPOOL_UNIT;

	(void)arg;
	pthread_mutex_lock(&lock);
	if (mmap(piece->base, piece->len, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	memset(used + at, 0, (piece->len + FAKEPOOL_UNIT - 1) / FAKEPOOL_UNIT);
	fakepool.now -= piece->len;
	fakepool.gone++;
	pthread_mutex_unlock(&lock);
}

const struct dmastream__source fakepool_source = {
	.create = create,
	.destroy = destroy,
};
