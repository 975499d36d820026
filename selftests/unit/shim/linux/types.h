/* SPDX-License-Identifier: GPL-2.0-only */
/* Stands in for the kernel's header of this name when kmod/core is built in user space. */
#ifndef DMS_SHIM_LINUX_TYPES_H
#define DMS_SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* the exported one: __u8, __le32 and so on */
#include_next <linux/types.h>

typedef uint8_t		u8;
typedef uint16_t	u16;
typedef uint32_t	u32;
typedef __u64		u64;
typedef int8_t		s8;
typedef int16_t		s16;
typedef int32_t		s32;
typedef __s64		s64;

#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S32_MAX		INT32_MAX
#define S32_MIN		INT32_MIN

#define sizeof_field(type, member)	sizeof(((type *)0)->member)

#endif /* DMS_SHIM_LINUX_TYPES_H */
