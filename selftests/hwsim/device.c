// SPDX-License-Identifier: GPL-2.0-only
/* Devices come and go. */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "device.h"
#include "iommu.h"
#include "verbs.h"

/* Devices that are registered; for netdev events and for those who come twice. */
static LIST_HEAD(devices);
static DEFINE_MUTEX(devices_lock);
static struct dentry *debugfs_root;

static struct hwsim_dev *of_faults(struct hwsim_faults *faults)
{
	return container_of(faults, struct hwsim_dev, faults);
}

static void fault_port(struct hwsim_faults *faults, bool up)
{
	hwsim_port_force(of_faults(faults), !up);
}

static void fault_event(struct hwsim_faults *faults, enum ib_event_type what)
{
	struct hwsim_dev *dev = of_faults(faults);
	struct ib_event ev = { .device = &dev->ib, .element.port_num = 1, .event = what };

	/*
	 * The core tells clients of a GID's change only when it made that itself:
	 * this lets it take all of the netdev's away and put them back.
	 */
	if (what == IB_EVENT_GID_CHANGE) {
		rtnl_lock();
		call_netdevice_notifiers(NETDEV_CHANGEADDR, dev->port.ndev);
		rtnl_unlock();
		return;
	}
	ib_dispatch_event(&ev);
}

static void fault_remove(struct hwsim_faults *faults)
{
	ib_unregister_device_queued(&of_faults(faults)->ib);
}

static const struct hwsim_fault_ops fault_ops = {
	.port = fault_port,
	.event = fault_event,
	.remove = fault_remove,
};

static int get_gbps(void *data, u64 *val)
{
	*val = div_u64(((struct hwsim_port *)data)->rate, 125000);
	return 0;
}

static int set_gbps(void *data, u64 val)
{
	hwsim_lock();
	((struct hwsim_port *)data)->rate = val * 125000;
	hwsim_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(rate_fops, get_gbps, set_gbps, "%llu\n");

static void add_debugfs(struct hwsim_dev *dev)
{
	struct hwsim_port *port = &dev->port;

	dev->debugfs = debugfs_create_dir(dev_name(&dev->ib.dev), debugfs_root);
	debugfs_create_file_unsafe("rate_mbps", 0600, dev->debugfs, port, &rate_fops);
	debugfs_create_u64("delay_ns", 0600, dev->debugfs, &port->delay);
	debugfs_create_u64("queue_bytes", 0600, dev->debugfs, &port->queue_limit);
	debugfs_create_u64("ecn_bytes", 0600, dev->debugfs, &port->ecn_at);
	debugfs_create_u64("pfc_bytes", 0600, dev->debugfs, &port->pfc_at);
	debugfs_create_u64("queued_bytes", 0400, dev->debugfs, &port->queue_bytes);
	hwsim_iommu_debugfs(dev->mmu, dev->debugfs);
	hwsim_fault_debugfs(&dev->faults, dev->debugfs);
}

/**
 * hwsim_enable_driver() - the core has made the device, and has not told anybody yet
 * @ibdev: device
 *
 * Return: 0.
 */
int hwsim_enable_driver(struct ib_device *ibdev)
{
	struct hwsim_dev *dev = to_hwsim_dev(ibdev);

	add_debugfs(dev);
	hwsim_port_refresh(dev);
	mutex_lock(&devices_lock);
	list_add_tail(&dev->node, &devices);
	mutex_unlock(&devices_lock);
	return 0;
}

static void free_parts(struct hwsim_dev *dev)
{
	hwsim_fault_exit(&dev->faults);
	hwsim_port_exit(dev);
	WARN_ON(!xa_empty(&dev->qps));
	WARN_ON(!xa_empty(&dev->mrs));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	/* both of these have directories in it, and remove them */
	hwsim_iommu_destroy(dev->mmu);
	debugfs_remove_recursive(dev->debugfs);
}

/**
 * hwsim_dealloc_driver() - the device is unregistered: no client is left
 * @ibdev: device
 */
void hwsim_dealloc_driver(struct ib_device *ibdev)
{
	struct hwsim_dev *dev = to_hwsim_dev(ibdev);

	mutex_lock(&devices_lock);
	if (!list_empty(&dev->node))
		list_del_init(&dev->node);
	mutex_unlock(&devices_lock);
	free_parts(dev);
}

/**
 * hwsim_device_of() - the device on a netdev
 * @ndev: netdev
 *
 * Return: a device that was registered by then, with a reference for
 * ib_device_put(); or NULL.
 */
struct hwsim_dev *hwsim_device_of(const struct net_device *ndev)
{
	struct hwsim_dev *dev, *found = NULL;

	mutex_lock(&devices_lock);
	list_for_each_entry(dev, &devices, node) {
		if (dev->port.ndev == ndev && ib_device_try_get(&dev->ib)) {
			found = dev;
			break;
		}
	}
	mutex_unlock(&devices_lock);
	return found;
}

/**
 * hwsim_device_add() - make a device
 * @name: its name
 * @ndev: netdev of its port
 *
 * Return: 0 or an error.
 */
int hwsim_device_add(const char *name, struct net_device *ndev)
{
	struct hwsim_dev *dev = ib_alloc_device(hwsim_dev, ib);
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->mmu = hwsim_iommu_create(name);
	if (IS_ERR(dev->mmu)) {
		ret = PTR_ERR(dev->mmu);
		ib_dealloc_device(&dev->ib);
		return ret;
	}
	INIT_LIST_HEAD(&dev->node);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	hwsim_fault_init(&dev->faults, &fault_ops);
	hwsim_port_init(dev, ndev);
	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.local_dma_lkey = HWSIM_LOCAL_DMA_LKEY;
	dev->ib.dev.parent = hwsim_iommu_dev(dev->mmu);
	strscpy(dev->ib.node_desc, "hwsim", sizeof(dev->ib.node_desc));
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, ndev->dev_addr);
	ib_set_device_ops(&dev->ib, &hwsim_ops);
	ret = ib_device_set_netdev(&dev->ib, ndev, 1);
	if (!ret)
		ret = ib_register_device(&dev->ib, name, hwsim_iommu_dev(dev->mmu));
	/* which calls hwsim_dealloc_driver() when the device goes, and here when it never came */
	if (ret)
		ib_dealloc_device(&dev->ib);
	return ret;
}

/**
 * hwsim_device_init() - at the module's start
 *
 * Return: 0.
 */
int hwsim_device_init(void)
{
	debugfs_root = debugfs_create_dir("hwsim", NULL);
	return 0;
}

/** hwsim_device_exit() - at the module's end; no device is left */
void hwsim_device_exit(void)
{
	debugfs_remove_recursive(debugfs_root);
}
