// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Buffer groups: create and close; giving buffers is inline, in
 * <dmastream/hot.h>.
 */
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

int dmastream_group_create(struct dmastream *ctx,
			   const struct dmastream_pool *pool, uint32_t entries,
			   uint32_t buf_len, struct dmastream_group **out)
{
	struct dmastream_group_create arg = {
		.pool = pool->handle,
		.entries = dmastream__pow2(entries),
		.buf_len = buf_len,
	};
	struct dmastream__group *group;
	void *map = NULL;
	int ret;

	*out = NULL;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	ret = dmastream__ioctl(ctx->fd, DMASTREAM_IOC_GROUP_CREATE, &arg);
	if (ret)
		goto free_group;
	ret = dmastream__map(arg.fd, arg.map_size, &map);
	if (ret)
		goto close_fd;
	group->map_size = arg.map_size;
	group->hot.shared = map;
	group->hot.entries = (void *)((char *)map + arg.entries_off);
	group->hot.mask = arg.entries - 1;
	group->hot.next = dmastream_load_relaxed(&group->hot.shared->tail);
	group->hot.handle = arg.group;
	group->hot.fd = arg.fd;
	*out = &group->hot;
	return 0;

close_fd:
	close(arg.fd);
free_group:
	free(group);
	return ret;
}

/* Ends the streams that receive through it. */
int dmastream_group_close(struct dmastream_group *hot)
{
	struct dmastream__group *group = (struct dmastream__group *)hot;

	if (!hot)
		return 0;
	munmap(hot->shared, group->map_size);
	close(hot->fd);
	free(group);
	return 0;
}

uint32_t dmastream_group_handle(const struct dmastream_group *group)
{
	return group->handle;
}
