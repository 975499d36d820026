// SPDX-License-Identifier: GPL-2.0-only
/*
 * hwsim: a simulated RDMA NIC.
 *
 *	modprobe ib_core; insmod rdma_hwsim.ko
 *	rdma link add hw0 type hwsim netdev eth0
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "device.h"
#include "eq.h"
#include "frame.h"
#include "hbm.h"
#include "port.h"
#include "sim.h"

static int new_link(const char *name, struct net_device *ndev)
{
	struct hwsim_dev *dev = hwsim_device_of(ndev);

	if (dev) {
		ib_device_put(&dev->ib);
		return -EEXIST;
	}
	return hwsim_device_add(name, ndev);
}

static struct rdma_link_ops link_ops = {
	.type = "hwsim",
	.newlink = new_link,
};

static int __init hwsim_init(void)
{
	int ret;

	hwsim_eq_init();
	ret = hwsim_sim_init();
	if (ret)
		return ret;
	ret = hwsim_device_init();
	if (ret)
		goto undo_sim;
	ret = hwsim_hbm_init();
	if (ret)
		goto undo_device;
	hwsim_frame_init();
	ret = hwsim_netdev_init();
	if (ret)
		goto undo_hbm;
	rdma_link_register(&link_ops);
	return 0;

undo_hbm:
	hwsim_frame_exit();
	hwsim_hbm_exit();
undo_device:
	hwsim_device_exit();
undo_sim:
	hwsim_sim_exit();
	hwsim_eq_exit();
	return ret;
}

static void __exit hwsim_exit(void)
{
	rdma_link_unregister(&link_ops);
	/* all devices of a driver that has no number in the uapi: there is no other such */
	ib_unregister_driver(RDMA_DRIVER_UNKNOWN);
	hwsim_netdev_exit();
	hwsim_frame_exit();
	hwsim_sim_exit();
	hwsim_eq_exit();
	hwsim_hbm_exit();
	hwsim_device_exit();
}

module_init(hwsim_init);
module_exit(hwsim_exit);

MODULE_DESCRIPTION("Simulated RDMA NIC");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("hwsim");
