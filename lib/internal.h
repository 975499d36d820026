/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * What the files of the library share and its users do not see.
 */
#ifndef DMASTREAM_INTERNAL_H
#define DMASTREAM_INTERNAL_H

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <dmastream.h>

struct dmastream {
	int			fd;
	struct dmastream_query	limits;	/* as they were at open */
};

struct dmastream_pool {
	struct dmastream	*ctx;
	unsigned char		*base;
	uint64_t		size;
	int			fd;
	uint32_t		handle;
};

/* The library's own view of a ring; users see its first member. */
struct dmastream__ring {
	struct dmastream_ring	hot;
	size_t			map_size;
};

/* Likewise of a group. */
struct dmastream__group {
	struct dmastream_group	hot;
	size_t			map_size;
};

static inline int dmastream__ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static inline int dmastream__map(int fd, size_t size, void **out)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

/* The smallest power of two that is not below @n; 0 when there is none. */
static inline uint32_t dmastream__pow2(uint32_t n)
{
	if (n <= 1)
		return 1;
	if (n > 1U << 31)
		return 0;
	return 1U << (32 - __builtin_clz(n - 1));
}

int dmastream__nic_node(const char *dir, const char *device, int *node);

/* A pool that a heap made for itself, and where these come from: tests have others. */
struct dmastream__piece {
	void		*base;
	uint64_t	len;
	uint32_t	pool;
	void		*priv;		/* of the source */
};

struct dmastream__source {
	int (*create)(void *arg, uint64_t size, int numa_node, struct dmastream__piece *piece);
	void (*destroy)(void *arg, const struct dmastream__piece *piece);
	void *arg;
};

int dmastream__heap_set_source(struct dmastream_heap *heap,
			       const struct dmastream__source *source,
			       const struct dmastream_heap_growth *growth);
int dmastream__heap_add_area(struct dmastream_heap *heap, void *base,
			     uint64_t len, uint32_t pool, uint64_t pool_off);

#endif /* DMASTREAM_INTERNAL_H */
