/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the sources of kmod/core share.  They build in the kernel, under KUnit
 * and in user space (selftests/unit/shim stands in for linux/ there), so the
 * little-endian accessors are spelled out here: the header that has them moved
 * between kernel versions, and compilers turn these into one load or store.
 */
#ifndef DMS_CORE_CORE_H
#define DMS_CORE_CORE_H

#include <linux/types.h>

static inline u16 dms_get_le16(const u8 *p)
{
	return (u16)(p[0] | p[1] << 8);
}

static inline u32 dms_get_le32(const u8 *p)
{
	return p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24;
}

static inline u64 dms_get_le64(const u8 *p)
{
	return dms_get_le32(p) | (u64)dms_get_le32(p + 4) << 32;
}

static inline void dms_put_le16(u8 *p, u16 v)
{
	p[0] = v & 0xff;
	p[1] = v >> 8 & 0xff;
}

static inline void dms_put_le32(u8 *p, u32 v)
{
	p[0] = v & 0xff;
	p[1] = v >> 8 & 0xff;
	p[2] = v >> 16 & 0xff;
	p[3] = v >> 24 & 0xff;
}

static inline void dms_put_le64(u8 *p, u64 v)
{
	dms_put_le32(p, v & U32_MAX);
	dms_put_le32(p + 4, v >> 32);
}

#endif /* DMS_CORE_CORE_H */
