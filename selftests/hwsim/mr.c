// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions: what a key opens, and for whom.
 *
 * Each access asks again (IBTA volume 1, 10.6.3): the key's index and its eight
 * own bits, the protection domain, the range, the rights.  So a key that is
 * invalidated while a message is under way stops the rest of that message.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "mr.h"
#include "sim.h"

static int mr_publish(struct hwsim_mr *mr)
{
	struct hwsim_dev *dev = mr->dev;
	int ret;

	hwsim_lock();
	/* index 0 is free, and index 1 is that of HWSIM_LOCAL_DMA_LKEY */
	ret = xa_alloc_cyclic(&dev->mrs, &mr->index, mr, XA_LIMIT(2, HWSIM_MAX_MR), &dev->mr_next,
			      GFP_ATOMIC);
	if (ret >= 0) {
		mr->key = mr->index << 8;
		mr->ib.lkey = mr->key;
		mr->ib.rkey = mr->key;
	}
	hwsim_unlock();
	return ret < 0 ? ret : 0;
}

static struct hwsim_mr *mr_new(struct ib_pd *ibpd)
{
	struct hwsim_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->dev = to_hwsim_dev(ibpd->device);
	mr->ib.device = ibpd->device;
	mr->ib.pd = ibpd;
	return mr;
}

static void mr_free(struct hwsim_mr *mr)
{
	kvfree(mr->staged);
	kvfree(mr->live);
	kfree(mr);
}

/**
 * hwsim_get_dma_mr() - the verb: a key for every bus address
 * @ibpd: protection domain
 * @access: IB_ACCESS_*
 *
 * Return: the region or an ERR_PTR().
 */
struct ib_mr *hwsim_get_dma_mr(struct ib_pd *ibpd, int access)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibpd->device)->faults, HWSIM_VERB_GET_DMA_MR);
	struct hwsim_mr *mr;

	if (ret)
		return ERR_PTR(ret);
	mr = mr_new(ibpd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->state = HWSIM_MR_ALL;
	mr->access = access;
	ret = mr_publish(mr);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ib;
}

/**
 * hwsim_reg_user_mr() - the verb; user verbs are not modelled
 * @ibpd: protection domain
 * @start: ignored
 * @length: ignored
 * @virt_addr: ignored
 * @access: ignored
 * @udata: ignored
 *
 * It is there because the core takes a device without it for one that kernel
 * clients cannot use.
 *
 * Return: ERR_PTR(-EOPNOTSUPP).
 */
struct ib_mr *hwsim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr,
				int access, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

/**
 * hwsim_alloc_mr() - the verb: a region for fast registrations
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG is all there is
 * @max_num_sg: pages
 *
 * Return: the region or an ERR_PTR().
 */
struct ib_mr *hwsim_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	struct hwsim_mr *mr;
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibpd->device)->faults, HWSIM_VERB_ALLOC_MR);

	if (ret)
		return ERR_PTR(ret);
	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > HWSIM_MAX_MR_PAGES)
		return ERR_PTR(-EINVAL);
	mr = mr_new(ibpd);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	ret = -ENOMEM;
	mr->max_pages = max_num_sg;
	mr->staged = kvcalloc(max_num_sg, sizeof(*mr->staged), GFP_KERNEL);
	mr->live = kvcalloc(max_num_sg, sizeof(*mr->live), GFP_KERNEL);
	if (mr->staged && mr->live)
		ret = mr_publish(mr);
	if (ret) {
		mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ib;
}

static int stage_page(struct ib_mr *ibmr, u64 bus)
{
	struct hwsim_mr *mr = to_hwsim_mr(ibmr);

	if (mr->nr_staged == mr->max_pages)
		return -ENOMEM;
	mr->staged[mr->nr_staged++] = bus;
	return 0;
}

/**
 * hwsim_map_mr_sg() - the verb: prepare a fast registration
 * @ibmr: region
 * @sg: mapped for the device
 * @nents: its entries
 * @offset: into the first of them, or NULL
 *
 * Return: how many entries fit.
 */
int hwsim_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibmr->device)->faults, HWSIM_VERB_MAP_MR_SG);

	if (ret)
		return ret;
	to_hwsim_mr(ibmr)->nr_staged = 0;
	return ib_sg_to_pages(ibmr, sg, nents, offset, stage_page);
}

/**
 * hwsim_dereg_mr() - the verb: after this nothing uses the region
 * @ibmr: region
 * @udata: ignored
 *
 * Return: 0.
 */
int hwsim_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct hwsim_mr *mr = to_hwsim_mr(ibmr);

	hwsim_lock();
	xa_erase(&mr->dev->mrs, mr->index);
	hwsim_unlock();
	mr_free(mr);
	return 0;
}

/**
 * hwsim_mr_register() - execute a fast registration (10.6.4, 11.4.1)
 * @dev: device
 * @pd: protection domain of the queue pair
 * @reg: what the work request said
 *
 * Return: 0; -EINVAL when the request is none that can be executed; -EACCES when the key is
 * not one to be registered by this queue pair.
 */
int hwsim_mr_register(struct hwsim_dev *dev, struct ib_pd *pd, const struct hwsim_reg *reg)
{
	u64 first = reg->iova & ((1ULL << reg->page_shift) - 1);
	struct hwsim_mr *mr;

	hwsim_assert_locked();
	mr = xa_load(&dev->mrs, reg->index);
	if (!mr || mr->ib.pd != pd || !mr->live)
		return -EACCES;
	if (reg->key >> 8 != reg->index)
		return -EINVAL;
	/* only a region in the free state may be registered; it has to be invalidated first */
	if (mr->state != HWSIM_MR_FREE || !mr->nr_staged)
		return -EINVAL;
	/* remote writes and atomics need local write as well (11.2.8) */
	if (reg->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(reg->access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	/* the client may have given it another address than map_mr_sg() did */
	if (reg->length > ((u64)mr->nr_staged << reg->page_shift) - first)
		return -EINVAL;
	memcpy(mr->live, mr->staged, mr->nr_staged * sizeof(*mr->live));
	mr->iova = reg->iova;
	mr->length = reg->length;
	mr->page_shift = reg->page_shift;
	mr->access = reg->access;
	mr->key = reg->key;
	mr->state = HWSIM_MR_VALID;
	return 0;
}

/**
 * hwsim_mr_invalidate() - execute an invalidation, local or remote (10.6.5)
 * @dev: device
 * @pd: protection domain of the queue pair
 * @key: of the region
 * @remote: the peer asked for it
 *
 * A peer can only invalidate what it could reach: a key that is valid, and of
 * this queue pair's domain.
 *
 * Return: 0 or -EACCES.
 */
int hwsim_mr_invalidate(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, bool remote)
{
	struct hwsim_mr *mr;

	hwsim_assert_locked();
	mr = xa_load(&dev->mrs, key >> 8);
	if (!mr || mr->ib.pd != pd || mr->key != key || !mr->live)
		return -EACCES;
	if (remote && mr->state != HWSIM_MR_VALID)
		return -EACCES;
	mr->state = HWSIM_MR_FREE;
	return 0;
}

static struct hwsim_mr *mr_get(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, u64 va, u64 len,
			       int access)
{
	struct hwsim_mr *mr = xa_load(&dev->mrs, key >> 8);

	if (!mr || mr->ib.pd != pd || mr->key != key || (mr->access & access) != access)
		return NULL;
	if (mr->state == HWSIM_MR_ALL)
		return va + len < va ? NULL : mr;
	if (mr->state != HWSIM_MR_VALID)
		return NULL;
	if (va < mr->iova || len > mr->length || va - mr->iova > mr->length - len)
		return NULL;
	return mr;
}

/**
 * hwsim_mr_check() - does a key open a range (10.6.3, and 9.7.4 for what comes in)?
 * @dev: device
 * @pd: protection domain of the queue pair
 * @key: lkey or rkey
 * @va: where
 * @len: bytes; a range of none is not checked
 * @access: all rights that it takes
 *
 * Return: 0 or -EACCES.
 */
int hwsim_mr_check(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, u64 va, u64 len, int access)
{
	hwsim_assert_locked();
	if (!len)
		return 0;
	return mr_get(dev, pd, key, va, len, access) ? 0 : -EACCES;
}

/**
 * hwsim_mr_run() - the next bytes behind a key that are together in bus space
 * @dev: device
 * @pd: protection domain of the queue pair
 * @key: lkey or rkey
 * @va: where
 * @len: bytes, not 0
 * @access: all rights that it takes
 * @bus: set to their bus address
 *
 * Return: how many bytes there are, at most @len; or -EACCES.
 */
ssize_t hwsim_mr_run(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, u64 va, u64 len,
		     int access, u64 *bus)
{
	struct hwsim_mr *mr;
	u64 offset, first;

	hwsim_assert_locked();
	if (key == HWSIM_LOCAL_DMA_LKEY) {
		*bus = va;
		/* it is good for local access alone */
		return access & ~IB_ACCESS_LOCAL_WRITE ? -EACCES : (ssize_t)len;
	}
	mr = mr_get(dev, pd, key, va, len, access);
	if (!mr)
		return -EACCES;
	if (mr->state == HWSIM_MR_ALL) {
		*bus = va;
		return len;
	}
	/* the first page may begin before the region does */
	first = mr->iova & ((1ULL << mr->page_shift) - 1);
	offset = first + (va - mr->iova);
	*bus = mr->live[offset >> mr->page_shift];
	offset &= (1ULL << mr->page_shift) - 1;
	*bus += offset;
	return min_t(u64, len, (1ULL << mr->page_shift) - offset);
}
