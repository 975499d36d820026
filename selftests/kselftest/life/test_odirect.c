// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool's pages are ordinary ones (case 35): O_DIRECT out of and into them,
 * ibv_reg_mr, vmsplice; and they live until the last user is gone, also when the
 * pool was closed and unmapped long before.
 */
#define _GNU_SOURCE
#include "../kt.h"

#include <infiniband/verbs.h>
#include <linux/fs.h>

#include "life.h"

#define BYTES	(1U << 20)

static char disk[256];

/* A disk of memory, else a file of the bed that takes O_DIRECT. */
static int open_direct(void)
{
	int fd = -1;

	if (!access("/dev/ram0", F_OK) || !system("modprobe -q brd rd_nr=1 rd_size=8192"))
		fd = open(strcpy(disk, "/dev/ram0"), O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0) {
		snprintf(disk, sizeof(disk), "%s/direct.%s", getenv("DMS_OUT") ?: "/tmp",
			 getenv("DMS_NODE") ?: "0");
		fd = open(disk, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
	}
	return fd;
}

static void direct(void)
{
	struct life_end a, b;
	uint32_t sa, sb;
	int fd = open_direct();

	if (fd < 0) {
		kt_skip("O_DIRECT: no disk of memory, and %s does not take it (%s)", disk,
			strerror(errno));
		return;
	}
	if (life_open(&a) || life_open(&b) || life_give_all(&b) || life_link(&a, &b, &sa, &sb))
		kt_die("open");
	life_fill(a.base, BYTES, 0xd15c);
	kt_is(pwrite(fd, a.base, BYTES, 0), BYTES, "O_DIRECT write out of a pool, to %s", disk);
	memset(a.base, 0, BYTES);
	kt_is(pread(fd, a.base, BYTES, 0), BYTES, "O_DIRECT read into it");
	kt_ok(life_check(a.base, BYTES, 0, 0xd15c), "the same bytes");
	/* from the disk over a stream to the other pool, and back to the disk */
	life_fill(b.base + LIFE_SLOT_AT, LIFE_SLOT, 0xabc);
	kt_is(pwrite(fd, b.base + LIFE_SLOT_AT, LIFE_SLOT, 0), LIFE_SLOT, "another pool's bytes");
	kt_is(pread(fd, a.base + LIFE_SLOT_AT, LIFE_SLOT, 0), LIFE_SLOT, "into this one");
	kt_ok(life_check(a.base + LIFE_SLOT_AT, LIFE_SLOT, 0, 0xabc), "come right");
	kt_is(life_pass(&a, sa, &b, LIFE_SLOT, 5), 0, "and the stream works");
	life_close(&a);
	life_close(&b);
	close(fd);
}

/* The freed memory finds new owners, who write into it. */
static void reuse(void)
{
	struct dmastream_pool *pools[8];
	struct dmastream *ctx;
	int n;

	if (dmastream_open(&ctx, NULL))
		kt_die("open");
	for (n = 0; n < 8; n++) {
		if (dmastream_pool_create(ctx, 16 << 20, -1, &pools[n]))
			break;
		memset(dmastream_pool_base(pools[n]), 0xee, 16 << 20);
	}
	while (n--)
		dmastream_pool_close(pools[n]);
	dmastream_close(ctx);
}

static void spliced(void)
{
	struct dmastream_pool *pool;
	static unsigned char out[65536];
	struct dmastream *ctx;
	struct iovec iov;
	int p[2];
	bool ok;

	if (pipe(p) || dmastream_open(&ctx, NULL) ||
	    dmastream_pool_create(ctx, sizeof(out), -1, &pool))
		kt_die("open");
	iov.iov_base = dmastream_pool_base(pool);
	iov.iov_len = sizeof(out);
	life_fill(iov.iov_base, sizeof(out), 0x5711ce);
	kt_is(vmsplice(p[1], &iov, 1, 0), sizeof(out), "vmsplice of a pool into a pipe");
	dmastream_pool_close(pool);
	dmastream_close(ctx);
	ok = life_empty(NULL);
	kt_ok(ok, "the pool is gone, by the module's count");
	reuse();
	kt_is(read(p[0], out, sizeof(out)), sizeof(out), "the pipe still has it");
	kt_ok(life_check(out, sizeof(out), 0, 0x5711ce), "unchanged: the pages were the pipe's");
	close(p[0]);
	close(p[1]);
}

static struct ibv_context *open_rxe(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *dev = list && *list ? ibv_open_device(*list) : NULL;

	if (list)
		ibv_free_device_list(list);
	return dev;
}

static void registered(void)
{
	struct ibv_context *dev = open_rxe();
	struct dmastream_pool *pool;
	struct dmastream *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	bool ok;

	if (!dev || dmastream_open(&ctx, NULL) || dmastream_pool_create(ctx, BYTES, -1, &pool))
		kt_die("open");
	pd = ibv_alloc_pd(dev);
	mr = ibv_reg_mr(pd, dmastream_pool_base(pool), BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE);
	if (!kt_ok(mr, "ibv_reg_mr of a pool"))
		return;
	dmastream_pool_close(pool);
	dmastream_close(ctx);
	ok = life_empty(NULL);
	kt_ok(ok, "the pool is gone, by the module's count");
	reuse();
	kt_is(ibv_dereg_mr(mr), 0, "and the region lets its pages go");
	ibv_dealloc_pd(pd);
	ibv_close_device(dev);
}

int main(void)
{
	bool ok;

	life_watchdog(120);
	direct();
	spliced();
	registered();
	ok = life_empty(NULL);
	kt_ok(ok, "all gauges are 0");
	return kt_end();
}
