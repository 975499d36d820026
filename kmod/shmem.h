/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that the kernel shares with a process: the rules of every mmap, and
 * the memory of rings and groups.
 */
#ifndef DMS_SHMEM_H
#define DMS_SHMEM_H

#include <linux/types.h>

struct vm_area_struct;

/*
 * Checks an area against an object of @pages pages, and sets and clears its
 * flags; every mmap of this module begins with it.  0, -EINVAL, -EACCES.
 */
int dms_mmap_check(struct vm_area_struct *vma, unsigned long pages);

/* Zeroed, charged to the memory cgroup, never larger than DMS_SHMEM_MAX; NULL. */
#define DMS_SHMEM_MAX	(64U << 20)
void *dms_shmem_alloc(u32 size);
void dms_shmem_free(void *mem);
int dms_shmem_mmap(struct vm_area_struct *vma, void *mem, u32 size);

#endif /* DMS_SHMEM_H */
