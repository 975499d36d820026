// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that the kernel shares with a process.
 *
 * An area holds its file, and the file holds the object: the memory is there
 * as long as it is mapped.  A page that somebody pinned meanwhile (O_DIRECT into
 * a ring is silly, but possible) has a reference of its own besides.
 */
#include "shmem.h"

#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "fault.h"

/**
 * dms_mmap_check() - the rules for every area of this module
 * @vma: area that mmap() makes; its flags are changed
 * @pages: size of the object, in pages
 *
 * Whole pages inside the object, from any page on.  Shared only: a private
 * copy of a ring or a landing buffer would never see what the kernel writes.
 * Never executable, also not by a later mprotect(); what was mapped for reading
 * only cannot be made writable.  Not inherited by fork(), and never grown.
 *
 * Context: Process context, mmap_lock held for writing.
 * Return: 0; -EINVAL for MAP_PRIVATE or what is not inside; -EACCES for PROT_EXEC.
 */
int dms_mmap_check(struct vm_area_struct *vma, unsigned long pages)
{
	unsigned long n = vma_pages(vma);

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	/* no sum: vm_pgoff is the process's and may be anything */
	if (vma->vm_pgoff > pages || n > pages - vma->vm_pgoff)
		return -EINVAL;

	dms_vm_flags_clear(vma, VM_MAYEXEC);
	if (!(vma->vm_flags & VM_WRITE))
		dms_vm_flags_clear(vma, VM_MAYWRITE);
	dms_vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND);
	return 0;
}

/**
 * dms_shmem_alloc() - memory for a ring or a group
 * @size: bytes, whole pages
 *
 * As vmalloc_user(), which does not charge the memory cgroup.
 *
 * Context: Process context.
 * Return: zeroed memory, or NULL.
 */
void *dms_shmem_alloc(u32 size)
{
	if (!size || size > DMS_SHMEM_MAX || !PAGE_ALIGNED(size) || dms_fault_alloc(SHMEM))
		return NULL;
	return __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/**
 * dms_shmem_free() - no process maps it any more
 * @mem: from dms_shmem_alloc(), or NULL
 *
 * Context: Process context, may sleep.
 */
void dms_shmem_free(void *mem)
{
	vfree(mem);
}

/**
 * dms_shmem_mmap() - maps it into a process
 * @vma: area; its file keeps @mem alive
 * @mem: from dms_shmem_alloc()
 * @size: its bytes
 *
 * Context: Process context, mmap_lock held for writing.
 * Return: 0 or a negative errno; what is mapped then is taken down by mmap().
 */
int dms_shmem_mmap(struct vm_area_struct *vma, void *mem, u32 size)
{
	unsigned long addr;
	int err;

	err = dms_mmap_check(vma, size >> PAGE_SHIFT);
	if (err)
		return err;
	mem += vma->vm_pgoff << PAGE_SHIFT;
	for (addr = vma->vm_start; addr < vma->vm_end; addr += PAGE_SIZE) {
		err = vm_insert_page(vma, addr, vmalloc_to_page(mem));
		if (err)
			return err;
		mem += PAGE_SIZE;
	}
	return 0;
}
