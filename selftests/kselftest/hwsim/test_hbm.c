// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process can do with /dev/hwsim_hbm, and what it cannot.  KTAP on
 * stdout; exit status 0 when all passed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../../hwsim/hwsim_hbm.h"

#define SIZE	(3 << 20)
#define TESTS	35

static int dev, tests, failed;

static void ok(int good, const char *what)
{
	tests++;
	failed += !good;
	printf("%sok %d %s\n", good ? "" : "not ", tests, what);
}

/* 0 or -errno */
static int call(unsigned long cmd, void *arg)
{
	return ioctl(dev, cmd, arg) < 0 ? -errno : 0;
}

static int make(__u64 size, __u32 flags)
{
	struct hwsim_hbm_alloc a = { .size = size, .flags = flags, .fd = -1 };
	int ret = call(HWSIM_HBM_ALLOC, &a);

	return ret ? ret : a.fd;
}

static int range(unsigned long cmd, int fd, __u64 off, __u64 len, void *data)
{
	struct hwsim_hbm_range r = { .fd = fd, .off = off, .len = len, .data = (uintptr_t)data };

	return call(cmd, &r);
}

static void arguments(int fd)
{
	struct hwsim_hbm_range r = { .fd = fd, .reserved = 1 };
	char byte = 0;

	ok(make(0, 0) == -EINVAL, "no buffer of no size");
	ok(make(4095, 0) == -EINVAL, "nor of half a page");
	ok(make((1ULL << 30) + 4096, 0) == -EINVAL, "nor above 1 GiB");
	ok(make(4096, 16) == -EINVAL, "an unknown flag is refused");
	ok(make(4096, HWSIM_HBM_NO_PIN) == -EINVAL, "what does not move can be pinned");
	ok(call(HWSIM_HBM_FLUSH, &r) == -EINVAL, "a reserved field is refused");
	ok(call(_IO('h', 0x7f), NULL) == -ENOTTY, "an unknown call is refused");
	ok(range(HWSIM_HBM_FLUSH, dev, 0, 0, NULL) == -EBADF, "a file that is no dma-buf");
	ok(range(HWSIM_HBM_FLUSH, -1, 0, 0, NULL) == -EBADF, "no file");
	ok(range(HWSIM_HBM_FLUSH, fd, 0, SIZE + 1, NULL) == -EINVAL, "a flush beyond the end");
	ok(range(HWSIM_HBM_FLUSH, fd, UINT64_MAX, 2, NULL) == -EINVAL, "a flush around the end");
	ok(range(HWSIM_HBM_FLUSH, fd, 0, 1, &byte) == -EINVAL, "a flush with data");
	ok(range(HWSIM_HBM_MOVE, fd, 1, 0, NULL) == -EINVAL, "a move with a range");
	ok(range(HWSIM_HBM_TEST_PEEK, fd, SIZE, 1, &byte) == -EINVAL, "a peek beyond the end");
	ok(range(HWSIM_HBM_TEST_POKE, fd, 0, 1, (void *)8) == -EFAULT, "a poke from nowhere");
	ok(range(HWSIM_HBM_TEST_PEEK, fd, 0, 1, (void *)8) == -EFAULT, "a peek to nowhere");
}

/* What another exporter made is not touched. */
static void foreign(void)
{
	int memfd = memfd_create("x", 0);

	ok(memfd >= 0 && range(HWSIM_HBM_FLUSH, memfd, 0, 0, NULL) == -EBADF,
	   "a file of somebody else");
	close(memfd);
}

static void no_other_way(int fd)
{
	char byte;

	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED, "it cannot be mapped");
	ok(read(fd, &byte, 1) < 0, "it cannot be read");
	ok(write(fd, &byte, 1) < 0, "it cannot be written");
	ok(lseek(fd, 0, SEEK_END) == SIZE, "it tells its size");
}

static void window(int fd)
{
	static unsigned char a[SIZE], b[SIZE];
	struct hwsim_hbm_info before = { .fd = fd }, info = { .fd = fd };
	size_t i;
	int moved;

	ok(!call(HWSIM_HBM_INFO, &before), "info");

	for (i = 0; i < SIZE; i++)
		a[i] = i % 251;
	ok(!range(HWSIM_HBM_TEST_PEEK, fd, 0, SIZE, b) && !b[0] && !memcmp(b, b + 1, SIZE - 1),
	   "it begins as zeros");
	ok(!range(HWSIM_HBM_TEST_POKE, fd, 1, SIZE - 1, a + 1), "poke");
	ok(!range(HWSIM_HBM_TEST_PEEK, fd, 0, SIZE, b) && !memcmp(a + 1, b + 1, SIZE - 1) && !b[0],
	   "peek sees what was poked");
	ok(!range(HWSIM_HBM_TEST_PEEK, fd, 12345, 54321, b) && !memcmp(a + 12345, b, 54321),
	   "at any place");
	ok(!range(HWSIM_HBM_FLUSH, fd, 0, SIZE, NULL), "flush");
	ok(!call(HWSIM_HBM_INFO, &info), "info");
	ok(info.size == SIZE &&
	   info.flags == (HWSIM_HBM_P2P | HWSIM_HBM_MOVABLE | HWSIM_HBM_DELAYED), "size and flags");
	ok(info.peeked - before.peeked == 3ULL * SIZE - 1 + 54321 && info.flushes == 1,
	   "what was looked at");
	ok(!info.written && !info.pending && !info.attached && !info.mapped && !info.pinned,
	   "no NIC has been there");
	ok(!range(HWSIM_HBM_MOVE, fd, 0, 0, NULL) && !call(HWSIM_HBM_INFO, &info) &&
	   info.moves == 1, "it moves");
	/* of one that is delayed a copy would be seen */
	moved = make(SIZE, HWSIM_HBM_MOVABLE);
	ok(!range(HWSIM_HBM_TEST_POKE, moved, 0, SIZE, a) &&
	   !range(HWSIM_HBM_MOVE, moved, 0, 0, NULL) &&
	   !range(HWSIM_HBM_TEST_PEEK, moved, 0, SIZE, b) && !memcmp(a, b, SIZE),
	   "with what was in it");
}

int main(void)
{
	int fd, fixed;

	dev = open("/dev/hwsim_hbm", O_RDWR | O_CLOEXEC);
	if (dev < 0) {
		printf("Bail out! /dev/hwsim_hbm: %s\n", strerror(errno));
		return 1;
	}
	printf("KTAP version 1\n1..%d\n", TESTS);
	fd = make(SIZE, HWSIM_HBM_P2P | HWSIM_HBM_MOVABLE | HWSIM_HBM_DELAYED);
	ok(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC), "a buffer");
	fixed = make(SIZE, 0);
	ok(fixed >= 0 && range(HWSIM_HBM_MOVE, fixed, 0, 0, NULL) == -EOPNOTSUPP,
	   "what does not move does not move");
	arguments(fd);
	foreign();
	no_other_way(fd);
	window(fd);
	return failed || tests != TESTS;
}
