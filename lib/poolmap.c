// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Pools: create, attach, map.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

#define POOL_ALIGN	((size_t)2 << 20)

static int pool_detach(struct dmastream *ctx, uint32_t handle)
{
	struct dmastream_close arg = {
		.type = DMASTREAM_OBJ_POOL,
		.handle = handle,
	};

	return dmastream__ioctl(ctx->fd, DMASTREAM_IOC_CLOSE, &arg);
}

/*
 * A pool of 2 MiB and more begins at a multiple of that, so what is aligned in memory is
 * aligned in the pool, whose pieces are of that size when the kernel had such.
 */
static int pool_map(int fd, size_t size, void **out)
{
	unsigned char *room, *at;
	size_t gap;

	if (size < POOL_ALIGN || size > SIZE_MAX - POOL_ALIGN)
		return dmastream__map(fd, size, out);
	room = mmap(NULL, size + POOL_ALIGN, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return -errno;
	gap = -(uintptr_t)room & (POOL_ALIGN - 1);
	at = mmap(room + gap, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (at == MAP_FAILED) {
		int err = errno;

		munmap(room, size + POOL_ALIGN);
		return -err;
	}
	if (gap)
		munmap(room, gap);
	munmap(at + size, POOL_ALIGN - gap);
	*out = at;
	return 0;
}

/* Owns @fd and @handle from now on, also when it fails. */
static int pool_wrap(struct dmastream *ctx, int fd, uint32_t handle,
		     uint64_t size, struct dmastream_pool **out)
{
	struct dmastream_pool *pool;
	void *base = NULL;
	int ret = -ENOMEM;

	pool = calloc(1, sizeof(*pool));
	if (!pool)
		goto detach;
	if (size > SIZE_MAX) {
		ret = -EFBIG;	/* a 32-bit process attaches a larger pool */
		goto free_pool;
	}
	ret = pool_map(fd, (size_t)size, &base);
	if (ret)
		goto free_pool;
	pool->ctx = ctx;
	pool->base = base;
	pool->size = size;
	pool->fd = fd;
	pool->handle = handle;
	*out = pool;
	return 0;

free_pool:
	free(pool);
detach:
	pool_detach(ctx, handle);
	close(fd);
	return ret;
}

int dmastream_pool_create(struct dmastream *ctx, uint64_t size, int numa_node,
			  struct dmastream_pool **out)
{
	struct dmastream_pool_create arg = {
		.numa_node = numa_node,
	};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int ret;

	*out = NULL;
	if (!size || size > UINT64_MAX - page)
		return -EINVAL;
	arg.size = (size + page - 1) & ~(page - 1);
	ret = dmastream__ioctl(ctx->fd, DMASTREAM_IOC_POOL_CREATE, &arg);
	if (ret)
		return ret;
	return pool_wrap(ctx, arg.fd, arg.pool, arg.size, out);
}

int dmastream_pool_attach(struct dmastream *ctx, int fd,
			  struct dmastream_pool **out)
{
	struct dmastream_pool_attach arg = { 0 };
	int ret;

	*out = NULL;
	arg.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (arg.fd < 0)
		return -errno;
	ret = dmastream__ioctl(ctx->fd, DMASTREAM_IOC_POOL_ATTACH, &arg);
	if (ret) {
		close(arg.fd);
		return ret;
	}
	return pool_wrap(ctx, arg.fd, arg.pool, arg.size, out);
}

/*
 * The memory lives on while another process maps it or a transfer uses it.
 * Returns what the kernel said to the detaching; the pool is gone in any case.
 */
int dmastream_pool_close(struct dmastream_pool *pool)
{
	int ret;

	if (!pool)
		return 0;
	munmap(pool->base, (size_t)pool->size);
	ret = pool_detach(pool->ctx, pool->handle);
	close(pool->fd);
	free(pool);
	return ret;
}

void *dmastream_pool_base(const struct dmastream_pool *pool)
{
	return pool->base;
}

uint64_t dmastream_pool_size(const struct dmastream_pool *pool)
{
	return pool->size;
}

int dmastream_pool_fd(const struct dmastream_pool *pool)
{
	return pool->fd;
}

uint32_t dmastream_pool_handle(const struct dmastream_pool *pool)
{
	return pool->handle;
}

void *dmastream_pool_ptr(const struct dmastream_pool *pool, uint64_t off)
{
	return off < pool->size ? pool->base + off : NULL;
}

int64_t dmastream_pool_off(const struct dmastream_pool *pool, const void *ptr)
{
	uintptr_t base = (uintptr_t)pool->base;
	uintptr_t p = (uintptr_t)ptr;

	if (p < base || p - base >= pool->size)
		return -EINVAL;
	return (int64_t)(p - base);
}

/*
 * ---- Pools that a heap makes for itself -----------------------------------
 */

static int piece_create(void *arg, uint64_t size, int numa_node, struct dmastream__piece *piece)
{
	struct dmastream_pool *pool;
	int ret = dmastream_pool_create(arg, size, numa_node, &pool);

	if (ret)
		return ret;
	piece->base = pool->base;
	piece->len = pool->size;
	piece->pool = pool->handle;
	piece->priv = pool;
	return 0;
}

static void piece_destroy(void *arg, const struct dmastream__piece *piece)
{
	(void)arg;
	dmastream_pool_close(piece->priv);
}

int dmastream_heap_set_growth(struct dmastream_heap *heap, struct dmastream *ctx,
			      const struct dmastream_heap_growth *growth)
{
	const struct dmastream__source source = {
		.create = piece_create,
		.destroy = piece_destroy,
		.arg = ctx,
	};

	return dmastream__heap_set_source(heap, &source, growth);
}

/*
 * The @part'th of @parts disjoint ranges of a pool of @size bytes, of whole 2 MiB if each
 * can have that; the last one has the rest.
 */
int dmastream_pool_part(const struct dmastream_pool *pool, uint32_t part, uint32_t parts,
			uint64_t *off, uint64_t *len)
{
	uint64_t unit = POOL_ALIGN, each;

	if (part >= parts)	/* or no parts at all */
		return -EINVAL;
	if (pool->size / parts < unit)
		unit = 4096;
	each = pool->size / parts / unit * unit;
	if (!each)
		return -EINVAL;
	*off = part * each;
	*len = part + 1 == parts ? pool->size - *off : each;
	return 0;
}
