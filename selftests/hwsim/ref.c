// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves bytes between memory and the wire, through the software IOMMU.
 *
 * -EACCES: a key says no.  -EFAULT: the IOMMU does.  -EMSGSIZE: the list is too short.
 * What was moved before the error stays, as on hardware.
 */
#include "iommu.h"
#include "mr.h"
#include "ref.h"

/**
 * hwsim_ref_sges() - name a list of SGEs
 * @ref: set
 * @dev: device
 * @pd: protection domain
 * @sge: the list; stays with the caller
 * @num_sge: its length
 * @access: rights that it takes: IB_ACCESS_LOCAL_WRITE, or 0 to read
 */
void hwsim_ref_sges(struct hwsim_ref *ref, struct hwsim_dev *dev, struct ib_pd *pd,
		    const struct ib_sge *sge, u32 num_sge, int access)
{
	u64 len = 0;
	u32 i;

	for (i = 0; i < num_sge; i++)
		len += sge[i].length;
	*ref = (struct hwsim_ref){ .dev = dev, .pd = pd, .sge = sge, .num_sge = num_sge,
				   .len = min_t(u64, len, U32_MAX), .access = access };
}

/**
 * hwsim_ref_key() - name what a remote key opens
 * @ref: set
 * @dev: device
 * @pd: protection domain
 * @va: address
 * @key: the key
 * @len: bytes
 * @access: rights that it takes
 */
void hwsim_ref_key(struct hwsim_ref *ref, struct hwsim_dev *dev, struct ib_pd *pd, u64 va,
		   u32 key, u32 len, int access)
{
	*ref = (struct hwsim_ref){ .dev = dev, .pd = pd, .va = va, .key = key, .len = len,
				   .access = access };
}

/* The next bytes that are together; @plain instead of @bus for inline data. */
static ssize_t ref_run(const struct hwsim_ref *ref, u32 off, u32 len, u64 *bus, const u8 **plain)
{
	const struct ib_sge *sge = ref->sge;
	u32 i;

	*plain = NULL;
	if (len > ref->len || off > ref->len - len)
		return -EMSGSIZE;
	if (ref->plain) {
		*plain = ref->plain + off;
		return len;
	}
	if (!sge)
		return hwsim_mr_run(ref->dev, ref->pd, ref->key, ref->va + off, len, ref->access,
				    bus);
	for (i = 0; i < ref->num_sge && off >= sge->length; i++, sge++)
		off -= sge->length;
	if (i == ref->num_sge)
		return -EMSGSIZE;
	return hwsim_mr_run(ref->dev, ref->pd, sge->lkey, sge->addr + off,
			    min(len, sge->length - off), ref->access, bus);
}

/**
 * hwsim_ref_check() - do the keys allow it?  The IOMMU is not asked.
 * @ref: memory
 * @off: from where in it
 * @len: bytes
 *
 * Return: 0, -EACCES or -EMSGSIZE.
 */
int hwsim_ref_check(const struct hwsim_ref *ref, u32 off, u32 len)
{
	const u8 *plain;
	ssize_t n;
	u64 bus;

	for (; len; off += n, len -= n) {
		n = ref_run(ref, off, len, &bus, &plain);
		if (n < 0)
			return n;
	}
	return 0;
}

/**
 * hwsim_ref_read() - take bytes out of memory
 * @ref: memory
 * @off: from where in it
 * @dst: to where
 * @len: bytes
 *
 * Return: 0, -EACCES, -EFAULT or -EMSGSIZE.
 */
int hwsim_ref_read(const struct hwsim_ref *ref, u32 off, void *dst, u32 len)
{
	const u8 *plain;
	ssize_t n;
	u64 bus;
	int ret;

	for (; len; off += n, dst += n, len -= n) {
		n = ref_run(ref, off, len, &bus, &plain);
		if (n < 0)
			return n;
		if (plain) {
			memcpy(dst, plain, n);
			continue;
		}
		ret = hwsim_iommu_read(ref->dev->mmu, bus, dst, n);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * hwsim_ref_write() - put bytes into memory
 * @ref: memory
 * @off: where in it
 * @src: from where
 * @len: bytes
 *
 * Return: 0, -EACCES, -EFAULT or -EMSGSIZE.
 */
int hwsim_ref_write(const struct hwsim_ref *ref, u32 off, const void *src, u32 len)
{
	const u8 *plain;
	ssize_t n;
	u64 bus;
	int ret;

	for (; len; off += n, src += n, len -= n) {
		n = ref_run(ref, off, len, &bus, &plain);
		if (n < 0)
			return n;
		ret = hwsim_iommu_write(ref->dev->mmu, bus, src, n);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * hwsim_ref_copy() - from memory to memory: a message in zero-cost mode
 * @to: memory
 * @to_off: where in it
 * @from: memory, that of another device perhaps
 * @from_off: where in that
 * @len: bytes
 *
 * Return: 0, -EACCES, -EFAULT or -EMSGSIZE.
 */
int hwsim_ref_copy(const struct hwsim_ref *to, u32 to_off, const struct hwsim_ref *from,
		   u32 from_off, u32 len)
{
	const u8 *plain, *unused;
	u64 bus, from_bus;
	ssize_t n, m;
	int ret;

	for (; len; to_off += n, from_off += n, len -= n) {
		m = ref_run(from, from_off, len, &from_bus, &plain);
		if (m < 0)
			return m;
		n = ref_run(to, to_off, m, &bus, &unused);
		if (n < 0)
			return n;
		if (plain)
			ret = hwsim_iommu_write(to->dev->mmu, bus, plain, n);
		else
			ret = hwsim_iommu_copy(to->dev->mmu, bus, from->dev->mmu, from_bus, n);
		if (ret)
			return ret;
	}
	return 0;
}
