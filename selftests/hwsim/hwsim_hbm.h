/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/hwsim_hbm: memory that no CPU reaches, as that of an accelerator.
 *
 * A buffer is a dma-buf.  It cannot be mapped, neither by a process nor by the
 * kernel; its scatter list has bus addresses and no pages, and only simulated
 * NICs (hwsim devices) can attach.  What is called TEST is the window of a test:
 * no driver of a real device has it.
 *
 * Every reserved field is 0, or the call fails with EINVAL.  A call on a file
 * that is no buffer of this device fails with EBADF.
 */
#ifndef HWSIM_HBM_UAPI_H
#define HWSIM_HBM_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Peers may reach it.  Without this, every attachment is refused (EOPNOTSUPP). */
#define HWSIM_HBM_P2P		(1U << 0)
/* It may be moved while it is not pinned; importers have to be told. */
#define HWSIM_HBM_MOVABLE	(1U << 1)
/* What a NIC writes is seen only after a flush. */
#define HWSIM_HBM_DELAYED	(1U << 2)
/* Together with MOVABLE: it cannot be pinned (EOPNOTSUPP). */
#define HWSIM_HBM_NO_PIN	(1U << 3)

/**
 * struct hwsim_hbm_alloc - make a buffer
 * @size: bytes, a multiple of 4096, at most 1 GiB
 * @flags: HWSIM_HBM_*
 * @fd: out: the dma-buf, close-on-exec; closing it frees the buffer in the end
 */
struct hwsim_hbm_alloc {
	__u64 size;
	__u32 flags;
	__s32 fd;
};

/**
 * struct hwsim_hbm_range - bytes of a buffer
 * @fd: the dma-buf
 * @reserved: 0
 * @off: of the first
 * @len: how many
 * @data: a process's bytes, for PEEK and POKE; else 0
 */
struct hwsim_hbm_range {
	__s32 fd;
	__u32 reserved;
	__u64 off;
	__u64 len;
	__u64 data;
};

/**
 * struct hwsim_hbm_info - what became of a buffer
 * @fd: in: the dma-buf
 * @flags: its HWSIM_HBM_*
 * @size: bytes
 * @attached: importers
 * @mapped: mappings that they have
 * @pinned: pins that they hold
 * @moves: how often it has moved
 * @flushes: how often it was flushed
 * @pending: bytes, whole pages, that a NIC has written and no one sees
 * @written: bytes that NICs have written
 * @peeked: bytes that tests have read or written by the CPU
 */
struct hwsim_hbm_info {
	__s32 fd;
	__u32 flags;
	__u64 size;
	__u32 attached;
	__u32 mapped;
	__u32 pinned;
	__u32 moves;
	__u64 flushes;
	__u64 pending;
	__u64 written;
	__u64 peeked;
};

#define HWSIM_HBM_ALLOC		_IOWR('h', 0x40, struct hwsim_hbm_alloc)
#define HWSIM_HBM_INFO		_IOWR('h', 0x41, struct hwsim_hbm_info)
/* What NICs wrote to the pages of the range is seen from now on. */
#define HWSIM_HBM_FLUSH		_IOW('h', 0x42, struct hwsim_hbm_range)
/*
 * Move the buffer to other memory: EOPNOTSUPP without HWSIM_HBM_MOVABLE, EBUSY
 * while it is pinned.  Bus addresses of before are faults from now on.
 * off, len and data are 0.
 */
#define HWSIM_HBM_MOVE		_IOW('h', 0x43, struct hwsim_hbm_range)
/* Look at what is seen; write it, as the accelerator would. */
#define HWSIM_HBM_TEST_PEEK	_IOW('h', 0x44, struct hwsim_hbm_range)
#define HWSIM_HBM_TEST_POKE	_IOW('h', 0x45, struct hwsim_hbm_range)

#endif /* HWSIM_HBM_UAPI_H */
