// SPDX-License-Identifier: GPL-2.0-only
/*
 * The port: RoCE v2 over a netdev.  The core's cache fills the GID table from
 * the netdev's addresses, and tells which there are; by them the switch finds
 * the port.
 */
#include <linux/debugfs.h>
#include <linux/netdevice.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>

#include "device.h"
#include "frame.h"
#include "port.h"
#include "wire.h"

/**
 * hwsim_port_mtu() - the largest path MTU that a netdev can carry
 * @ndev: netdev
 *
 * Return: IB_MTU_*.
 */
enum ib_mtu hwsim_port_mtu(const struct net_device *ndev)
{
	int room = READ_ONCE(ndev->mtu) - HWSIM_FRAME_HEADER;
	enum ib_mtu mtu = IB_MTU_4096;

	while (mtu > IB_MTU_256 && ib_mtu_enum_to_int(mtu) > room)
		mtu--;
	return mtu;
}

/**
 * hwsim_port_refresh() - take the port's state from the netdev, and tell the clients
 * @dev: device
 */
void hwsim_port_refresh(struct hwsim_dev *dev)
{
	struct hwsim_port *port = &dev->port;
	struct ib_event ev = { .device = &dev->ib, .element.port_num = 1 };
	bool up, changed;

	hwsim_lock();
	up = !port->forced_down && netif_running(port->ndev) && netif_carrier_ok(port->ndev);
	changed = up != port->up;
	port->up = up;
	hwsim_unlock();
	if (!changed)
		return;
	ev.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&ev);
}

/**
 * hwsim_port_force() - the tester pulls the plug, or puts it back
 * @dev: device
 * @down: pulled
 */
void hwsim_port_force(struct hwsim_dev *dev, bool down)
{
	WRITE_ONCE(dev->port.forced_down, down);
	hwsim_port_refresh(dev);
}

/**
 * hwsim_query_port() - the verb
 * @ibdev: device
 * @num: its one port
 * @attr: zeroed by the caller
 *
 * The speed is that of a 100 Gbit/s link, whatever rate the tester chose.
 *
 * Return: 0.
 */
int hwsim_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr)
{
	struct hwsim_port *port = &to_hwsim_dev(ibdev)->port;
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibdev)->faults, HWSIM_VERB_QUERY_PORT);
	bool up = READ_ONCE(port->up);

	if (ret)
		return ret;
	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = hwsim_port_mtu(port->ndev);
	attr->gid_tbl_len = HWSIM_GIDS;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = HWSIM_MAX_MSG;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->active_speed = IB_SPEED_EDR;
	attr->active_width = IB_WIDTH_4X;
	return 0;
}

/**
 * hwsim_add_gid() - the core found an address
 * @attr: address and index
 * @context: unused
 *
 * Return: 0 or -EINVAL.
 */
int hwsim_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct hwsim_port *port = &to_hwsim_dev(attr->device)->port;

	if (attr->index >= HWSIM_GIDS)
		return -EINVAL;
	hwsim_lock();
	port->gids[attr->index] = attr->gid;
	__set_bit(attr->index, port->has_gid);
	hwsim_wire_changed();
	hwsim_unlock();
	return 0;
}

/**
 * hwsim_del_gid() - an address is gone
 * @attr: address and index
 * @context: unused
 *
 * Return: 0.
 */
int hwsim_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct hwsim_port *port = &to_hwsim_dev(attr->device)->port;

	if (attr->index >= HWSIM_GIDS)
		return 0;
	hwsim_lock();
	__clear_bit(attr->index, port->has_gid);
	hwsim_wire_changed();
	hwsim_unlock();
	return 0;
}

/**
 * hwsim_port_init() - attach a device's port
 * @dev: device
 * @ndev: its netdev
 */
void hwsim_port_init(struct hwsim_dev *dev, struct net_device *ndev)
{
	dev_hold(ndev);
	dev->port.ndev = ndev;
	hwsim_wire_attach(&dev->port);
}

/**
 * hwsim_port_exit() - detach it
 * @dev: device; nothing uses it any more
 */
void hwsim_port_exit(struct hwsim_dev *dev)
{
	hwsim_wire_detach(&dev->port);
	dev_put(dev->port.ndev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct hwsim_dev *dev;

	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		break;
	default:
		return NOTIFY_DONE;
	}
	dev = hwsim_device_of(ndev);
	if (!dev)
		return NOTIFY_DONE;
	if (event == NETDEV_UNREGISTER)
		ib_unregister_device_queued(&dev->ib);
	else
		hwsim_port_refresh(dev);
	ib_device_put(&dev->ib);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };

/**
 * hwsim_netdev_init() - listen to netdevs
 *
 * Return: 0 or an error.
 */
int hwsim_netdev_init(void)
{
	return register_netdevice_notifier(&netdev_nb);
}

/** hwsim_netdev_exit() - stop listening */
void hwsim_netdev_exit(void)
{
	unregister_netdevice_notifier(&netdev_nb);
}
