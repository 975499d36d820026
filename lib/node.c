// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A context of the device, what the kernel can do, and the clock.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

const char *dmastream_version(void)
{
	return DMASTREAM_LIB_VERSION;
}

/*
 * The request carries the size of the structure that this library knows.  An
 * older kernel leaves what it does not know at zero; a newer one fills what
 * fits.
 */
int dmastream_query(struct dmastream *ctx, struct dmastream_query *query)
{
	memset(query, 0, sizeof(*query));
	return dmastream__ioctl(ctx->fd, DMASTREAM_IOC_QUERY, query);
}

int dmastream_open(struct dmastream **out, const char *device)
{
	struct dmastream *ctx;
	int ret;

	*out = NULL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->fd = open(device ? device : DMASTREAM_DEVICE, O_RDWR | O_CLOEXEC);
	if (ctx->fd < 0) {
		ret = -errno;
		goto free_ctx;
	}
	ret = dmastream_query(ctx, &ctx->limits);
	if (ret)
		goto close_fd;
	/* another number means another meaning, not only more of the same */
	if (ctx->limits.abi_version != DMASTREAM_ABI_VERSION) {
		ret = -EPROTONOSUPPORT;
		goto close_fd;
	}
	*out = ctx;
	return 0;

close_fd:
	close(ctx->fd);
free_ctx:
	free(ctx);
	return ret;
}

void dmastream_close(struct dmastream *ctx)
{
	if (!ctx)
		return;
	close(ctx->fd);
	free(ctx);
}

int dmastream_fd(const struct dmastream *ctx)
{
	return ctx->fd;
}

const struct dmastream_query *dmastream_limits(const struct dmastream *ctx)
{
	return &ctx->limits;
}

uint64_t dmastream_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* Never 0 but for DMASTREAM_TIMEOUT_NONE: 0 is the kernel's word for no end. */
uint64_t dmastream_deadline(uint32_t timeout_ms)
{
	if (timeout_ms == DMASTREAM_TIMEOUT_NONE)
		return 0;
	return dmastream_now_ns() + (uint64_t)timeout_ms * 1000000ULL;
}

/* The first name of a directory, in no certain order. */
static int first_name(const char *dir, char *name, size_t size)
{
	struct dirent *e;
	int ret = -ENODEV;
	DIR *d = opendir(dir);

	if (!d)
		return -ENODEV;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) >= size)
			continue;
		strcpy(name, e->d_name);
		ret = 0;
		break;
	}
	closedir(d);
	return ret;
}

/* @dir: where the system has its RDMA devices */
int dmastream__nic_node(const char *dir, const char *device, int *node)
{
	char name[64], path[256];
	FILE *f;
	int ret;

	*node = -1;
	if (!device) {
		ret = first_name(dir, name, sizeof(name));
		if (ret)
			return ret;
		device = name;
	}
	if (strchr(device, '/') || device[0] == '.' || !device[0])
		return -EINVAL;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, device) >= sizeof(path) - 32)
		return -EINVAL;
	if (access(path, F_OK))
		return -ENODEV;
	strcat(path, "/device/numa_node");
	f = fopen(path, "re");
	if (!f)
		return 0;	/* a device in software has none */
	if (fscanf(f, "%d", node) != 1 || *node < 0)
		*node = -1;
	fclose(f);
	return 0;
}

/* @device NULL: the first there is.  @node is -1 when the NIC is near to none. */
int dmastream_nic_node(const char *device, int *node)
{
	return dmastream__nic_node("/sys/class/infiniband", device, node);
}
