// SPDX-License-Identifier: LGPL-2.1-only OR MIT
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fakekernel.h"

struct fake fake;

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.query_size = sizeof(struct dmastream_query);
	fake.query.abi_version = DMASTREAM_ABI_VERSION;
	fake.query.sqe_flags = DMASTREAM_SQE_FLAGS;
	fake.query.max_vec = DMASTREAM_VEC_MAX;
	fake.query.max_indirect_bytes = 1 << 20;
	fake.query.port = DMASTREAM_PORT;
}

/* A shared mapping of its own, and a descriptor for the library's. */
static int share(size_t size, void **map)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -1;
	if (map)
		*map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

static int ring_create(struct dmastream_ring_create *arg)
{
	void *map = NULL;

	arg->sqes_off = sizeof(struct dmastream_ring_shared);
	arg->cqes_off = arg->sqes_off + arg->sq_entries * 64;
	arg->indirect_off = arg->cqes_off + arg->cq_entries * 32;
	arg->map_size = arg->indirect_off + arg->indirect_bytes;
	arg->fd = share(arg->map_size, &map);
	arg->ring = 11;
	fake.ring = map;
	fake.sqes = (void *)((char *)map + arg->sqes_off);
	fake.cqes = (void *)((char *)map + arg->cqes_off);
	fake.indirect = (char *)map + arg->indirect_off;
	fake.ring->flags = DMASTREAM_RING_SQ_KICK;
	fake.ring_arg = *arg;
	return 0;
}

static int group_create(struct dmastream_group_create *arg)
{
	void *map = NULL;

	arg->entries_off = sizeof(struct dmastream_group_shared);
	arg->map_size = arg->entries_off +
			arg->entries * (uint32_t)sizeof(struct dmastream_landing);
	arg->fd = share(arg->map_size, &map);
	arg->group = 12;
	fake.group = map;
	fake.landings = (void *)((char *)map + arg->entries_off);
	fake.group_arg = *arg;
	return 0;
}

/* -1: the completion queue is full. */
int fake_complete(uint64_t user_data, int32_t result, uint32_t flags)
{
	uint32_t head = __atomic_load_n(&fake.ring->cq_head, __ATOMIC_ACQUIRE);
	uint32_t tail = fake.ring->cq_tail;
	struct dmastream_cqe *cqe;

	if (tail - head >= fake.ring_arg.cq_entries)
		return -1;
	cqe = &fake.cqes[tail & (fake.ring_arg.cq_entries - 1)];
	memset(cqe, 0, sizeof(*cqe));
	cqe->user_data = user_data;
	cqe->result = result;
	cqe->flags = flags;
	__atomic_store_n(&fake.ring->cq_tail, tail + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Consumes what has a completion slot; every submission completes at once. */
static int enter(struct dmastream_enter *arg)
{
	uint32_t mask = fake.ring_arg.sq_entries - 1;
	uint32_t tail = __atomic_load_n(&fake.ring->sq_tail, __ATOMIC_ACQUIRE);
	uint32_t head = fake.ring->sq_head;
	uint32_t ready;

	fake.enters++;
	fake.ring->flags &= ~DMASTREAM_RING_CQ_KICK;
	if (fake.group)
		fake.group->flags &= ~DMASTREAM_GROUP_KICK;
	while (arg->submitted < arg->to_submit && head != tail) {
		const struct dmastream_sqe *sqe = &fake.sqes[head & mask];

		if (fake_complete(sqe->user_data, (int32_t)sqe->len,
				  sqe->op << DMASTREAM_CQE_OP_SHIFT))
			break;
		fake.sqe = *sqe;
		if (sqe->flags & DMASTREAM_SQE_VEC)
			memcpy(fake.vec, fake.indirect + sqe->off,
			       sqe->len * sizeof(fake.vec[0]));
		if (sqe->flags & DMASTREAM_SQE_TILE)
			memcpy(&fake.tile, fake.indirect + sqe->off, sizeof(fake.tile));
		arg->submitted++;
		__atomic_store_n(&fake.ring->sq_head, ++head, __ATOMIC_RELEASE);
	}
	if (!arg->submitted && arg->to_submit && head != tail)
		return -EAGAIN;
	ready = fake.ring->cq_tail - fake.ring->cq_head;
	if (ready < arg->min_complete)
		arg->wait_result = arg->deadline_ns ? -ETIME : -EINTR;
	return 0;
}

static int pool(int32_t *fd, uint32_t *handle, uint64_t size)
{
	*fd = share(size, NULL);
	*handle = 10;
	return 0;
}

static int connect_to(struct dmastream_connect *arg)
{
	fake.connect = *arg;
	if (!strcmp(arg->service, "nobody")) {
		arg->err_class = DMASTREAM_ERR_REFUSED;
		arg->err_detail = DMASTREAM_REFUSED_SERVICE;
		return -ECONNREFUSED;
	}
	arg->stream = 21;
	return 0;
}

static int dispatch(unsigned long request, void *arg)
{
	switch (request) {
	case DMASTREAM_IOC_QUERY:
		memcpy(arg, &fake.query, fake.query_size);
		return 0;
	case DMASTREAM_IOC_POOL_CREATE: {
		struct dmastream_pool_create *p = arg;

		return pool(&p->fd, &p->pool, p->size);
	}
	case DMASTREAM_IOC_POOL_ATTACH: {
		struct dmastream_pool_attach *p = arg;

		p->size = (uint64_t)lseek(p->fd, 0, SEEK_END);
		p->pool = 13;
		return 0;
	}
	case DMASTREAM_IOC_GROUP_CREATE:
		return group_create(arg);
	case DMASTREAM_IOC_RING_CREATE:
		return ring_create(arg);
	case DMASTREAM_IOC_ENTER:
		return enter(arg);
	case DMASTREAM_IOC_LISTEN:
		fake.listen = *(struct dmastream_listen *)arg;
		((struct dmastream_listen *)arg)->fd = share(4096, NULL);
		((struct dmastream_listen *)arg)->listener = 20;
		return 0;
	case DMASTREAM_IOC_ACCEPT:
		fake.accept = *(struct dmastream_accept *)arg;
		((struct dmastream_accept *)arg)->stream = 22;
		return 0;
	case DMASTREAM_IOC_CONNECT:
		return connect_to(arg);
	case DMASTREAM_IOC_CLOSE:
		fake.close = *(struct dmastream_close *)arg;
		return 0;
	case DMASTREAM_IOC_SHUTDOWN:
		fake.shutdown = *(struct dmastream_shutdown *)arg;
		return 0;
	case DMASTREAM_IOC_CANCEL:
		fake.cancel = *(struct dmastream_cancel *)arg;
		return 0;
	default:
		return -ENOTTY;
	}
}

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	int err = -fake.fail;

	(void)fd;
	fake.last = request;
	fake.fail = 0;
	if (!err)
		err = dispatch(request, arg);
	if (!err)
		return 0;
	errno = -err;
	return -1;
}
