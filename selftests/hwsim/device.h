/* SPDX-License-Identifier: GPL-2.0-only */
/* One simulated NIC. */
#ifndef HWSIM_DEVICE_H
#define HWSIM_DEVICE_H

#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "fault.h"
#include "port.h"

#define HWSIM_MAX_QP_WR		16384
#define HWSIM_MAX_SGE		32
#define HWSIM_MAX_INLINE	512
#define HWSIM_MAX_CQE		(1 << 20)
#define HWSIM_MAX_RD_ATOMIC	16
#define HWSIM_MAX_MSG		(1U << 30)
#define HWSIM_MAX_MR_PAGES	512
#define HWSIM_MAX_QP		65536
#define HWSIM_MAX_MR		(1 << 20)
/* 4.096 us << this: how long an acknowledgement may take here */
#define HWSIM_ACK_DELAY		14

/* Means any bus address; the device's keys never get this value. */
#define HWSIM_LOCAL_DMA_LKEY	0x100

struct hwsim_iommu;

/**
 * struct hwsim_dev - a device
 * @ib: what the core knows
 * @mmu: the parent device, and how this one reaches memory
 * @port: its one port
 * @qps: queue pairs by number; under the simulator's lock
 * @qp_next: where the search for the next number starts
 * @mrs: memory regions by the upper 24 bits of their key; under the simulator's lock
 * @mr_next: where the search for the next begins
 * @faults: what the tester wants to go wrong
 * @debugfs: its directory
 * @node: place in the list of devices, under the list's mutex
 */
struct hwsim_dev {
	struct ib_device ib;
	struct hwsim_iommu *mmu;
	struct hwsim_port port;
	struct xarray qps;
	u32 qp_next;
	struct xarray mrs;
	u32 mr_next;
	struct hwsim_faults faults;
	struct dentry *debugfs;
	struct list_head node;
};

static inline struct hwsim_dev *to_hwsim_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct hwsim_dev, ib);
}

int hwsim_device_add(const char *name, struct net_device *ndev);
struct hwsim_dev *hwsim_device_of(const struct net_device *ndev);

int hwsim_enable_driver(struct ib_device *ibdev);
void hwsim_dealloc_driver(struct ib_device *ibdev);

int hwsim_device_init(void);
void hwsim_device_exit(void);

#endif
