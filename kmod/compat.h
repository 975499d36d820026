/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place with kernel version checks.  Everything else is written for
 * the newest kernel; what an older one lacks is made up for here.
 */
#ifndef DMS_COMPAT_H
#define DMS_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

/* 6.3: vm_flags are written with functions, which check that the area is locked. */
#if LINUX_VERSION_MAJOR < 6 || (LINUX_VERSION_MAJOR == 6 && LINUX_VERSION_PATCHLEVEL < 3)
#define dms_vm_flags_set(vma, flags)	((vma)->vm_flags |= (flags))
#define dms_vm_flags_clear(vma, flags)	((vma)->vm_flags &= ~(flags))
#else
#define dms_vm_flags_set(vma, flags)	vm_flags_set(vma, flags)
#define dms_vm_flags_clear(vma, flags)	vm_flags_clear(vma, flags)
#endif

#endif /* DMS_COMPAT_H */
