/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions and their keys (IBTA volume 1, 10.6). */
#ifndef HWSIM_MR_H
#define HWSIM_MR_H

#include <rdma/ib_verbs.h>

#include "device.h"

enum hwsim_mr_state {
	HWSIM_MR_FREE,		/* a fast registration may follow */
	HWSIM_MR_VALID,
	HWSIM_MR_ALL,		/* every bus address (ib_get_dma_mr) */
};

/**
 * struct hwsim_mr - a region
 * @ib: what the core knows; its keys are those that the client will use next
 * @dev: device
 * @index: the upper 24 bits of its key
 * @state: under the simulator's lock, as all that follows but @staged
 * @key: the key that is good now
 * @iova: where it begins, for those who use the key
 * @length: bytes
 * @access: IB_ACCESS_*
 * @page_shift: size of each of @live's pages
 * @max_pages: room in both lists
 * @nr_staged: how many ib_map_mr_sg() has put there
 * @staged: bus addresses of a client that prepares a registration; the device
 *	reads them when it executes that one, as hardware may
 * @live: bus addresses that the key opens
 */
struct hwsim_mr {
	struct ib_mr ib;
	struct hwsim_dev *dev;
	u32 index;
	enum hwsim_mr_state state;
	u32 key;
	u64 iova;
	u64 length;
	int access;
	unsigned int page_shift;
	u32 max_pages;
	u32 nr_staged;
	u64 *staged;
	u64 *live;
};

static inline struct hwsim_mr *to_hwsim_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct hwsim_mr, ib);
}

struct hwsim_reg {
	u32 index;
	u32 key;
	u64 iova;
	u64 length;
	u32 page_shift;
	int access;
};

struct ib_mr *hwsim_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *hwsim_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr,
				int access, struct ib_udata *udata);
struct ib_mr *hwsim_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int hwsim_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents, unsigned int *offset);
int hwsim_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

int hwsim_mr_register(struct hwsim_dev *dev, struct ib_pd *pd, const struct hwsim_reg *reg);
int hwsim_mr_invalidate(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, bool remote);
int hwsim_mr_check(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, u64 va, u64 len, int access);
ssize_t hwsim_mr_run(struct hwsim_dev *dev, struct ib_pd *pd, u32 key, u64 va, u64 len,
		     int access, u64 *bus);

#endif
