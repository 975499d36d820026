// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA devices: which of them this module uses, and how they go away.
 *
 * Removal, in the core's own thread, while the device still works:
 *
 *   going = true, off the list	   nobody finds it, no path and no pool map is added
 *   dms_path_kill() of each path	   kill_work runs the fence of each
 *   wait for no_paths		   every queue pair, region and cm_id is gone
 *   dms_pool_unmap_ibdev()		   nothing of it can reach memory any more
 *   the index is free again
 *
 * rdma_cm is a client of the core that registered before this module (we
 * depend on it), and the core removes clients in reverse order: so our cm_ids
 * are destroyed before rdma_cm looks for what is left on the device.  Those
 * that had no path yet (being resolved, or not accepted) get its
 * DEVICE_REMOVAL event, and end by that.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "ibdev.h"

#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/dmastream.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "cm.h"
#include "core/wire.h"
#include "incast.h"
#include "path.h"
#include "pool.h"
#include "recv.h"
#include "transport_rdma.h"

/* Scatter/gather entries of a SEND without which packing makes no sense. */
#define DMS_SGES_FLOOR		20
/* READs at once, per queue pair and direction; more gains nothing at our segment size. */
#define DMS_READS_DEFAULT	16

static unsigned int dms_param_incast_budget_kib = 4096;
module_param_named(incast_budget_kib, dms_param_incast_budget_kib, uint, 0644);
MODULE_PARM_DESC(incast_budget_kib, "bytes being pulled at once per RDMA device, over all peers, in KiB; for devices that come later");

static unsigned int dms_param_reads_per_path = DMS_READS_DEFAULT;
module_param_named(reads_per_path, dms_param_reads_per_path, uint, 0644);
MODULE_PARM_DESC(reads_per_path, "RDMA READs in flight per queue pair and direction, at most; for devices that come later");

/* dms_ibdevs and dms_indices; process context, inside nothing of ours */
static DEFINE_MUTEX(dms_ibdevs_lock);
static LIST_HEAD(dms_ibdevs);
static DECLARE_BITMAP(dms_indices, DMS_IBDEVS_MAX);

static struct dms_ibdev *dms_tcp_dev;

static struct ib_client dms_ib_client;

/* Why the device is of no use to us, or NULL. */
static const char *dms_ibdev_refusal(struct ib_device *dev)
{
	const struct ib_device_attr *a = &dev->attrs;
	bool ib_cm = false;
	u32 port;

	rdma_for_each_port(dev, port) {
		if (rdma_protocol_iwarp(dev, port) || rdma_cap_iw_cm(dev, port))
			return "iWARP is not supported";
		if (rdma_cap_ib_cm(dev, port))
			ib_cm = true;
	}
	if (!ib_cm)
		return "it has no connection manager for reliable connections";
	if (!(a->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return "it has no fast registration of memory (FRWR)";
	if (a->max_fast_reg_page_list_len < 2)
		return "its memory regions have one page only";
	if (a->max_send_sge < DMS_SGES_FLOOR)
		return "it has less than 20 scatter/gather entries per send";
	if (a->max_qp_rd_atom < 1 || a->max_qp_init_rd_atom < 1)
		return "it does not do RDMA READ";
	return NULL;
}

static void dms_ibdev_release(struct kref *ref)
{
	struct dms_ibdev *d = container_of(ref, struct dms_ibdev, ref);

	if (d->dev)
		put_device(&d->dev->dev);	/* got in dms_ibdev_alloc() */
	kfree(d);
}

/**
 * dms_ibdev_put() - give back a reference
 * @d: the device
 *
 * Context: any but hard interrupt.
 */
void dms_ibdev_put(struct dms_ibdev *d)
{
	kref_put(&d->ref, dms_ibdev_release);
}

/**
 * dms_ibdev_get() - what we have of an RDMA device
 * @dev: the device
 *
 * The reference keeps the memory only; that the device itself stays is what
 * dms_ibdev_add_path() gives.
 *
 * Context: process, may sleep.
 * Return: with a reference, or NULL when it was refused or is going.
 */
struct dms_ibdev *dms_ibdev_get(struct ib_device *dev)
{
	struct dms_ibdev *d, *found = NULL;

	mutex_lock(&dms_ibdevs_lock);
	list_for_each_entry(d, &dms_ibdevs, node) {
		if (d->dev != dev)
			continue;
		kref_get(&d->ref);
		found = d;
		break;
	}
	mutex_unlock(&dms_ibdevs_lock);
	return found;
}

/**
 * dms_ibdev_hold() - have removal of the device wait
 * @d: the device
 *
 * Context: any but interrupt; does not sleep.
 * Return: true, and dms_ibdev_unhold() must follow soon; false when the device
 * is going.
 */
bool dms_ibdev_hold(struct dms_ibdev *d)
{
	bool ok;

	spin_lock(&d->paths_lock);
	ok = !d->going;
	if (ok) {
		atomic_inc(&d->nr_paths);
		kref_get(&d->ref);
	}
	spin_unlock(&d->paths_lock);
	return ok;
}

/**
 * dms_ibdev_unhold() - end of dms_ibdev_hold()
 * @d: the device
 *
 * Context: process.
 */
void dms_ibdev_unhold(struct dms_ibdev *d)
{
	if (atomic_dec_and_test(&d->nr_paths))
		complete(&d->no_paths);
	dms_ibdev_put(d);
}

/**
 * dms_ibdev_add_path() - have removal of the device wait for a path
 * @d: the device
 * @tp: transport of a path
 *
 * Context: process.
 * Return: 0, or -ENODEV when the device is going.
 */
int dms_ibdev_add_path(struct dms_ibdev *d, struct dms_rdma *tp)
{
	int ret = -ENODEV;

	spin_lock(&d->paths_lock);
	if (!d->going) {
		list_add_tail(&tp->ibdev_node, &d->paths);
		atomic_inc(&d->nr_paths);
		ret = 0;
	}
	spin_unlock(&d->paths_lock);
	return ret;
}

/**
 * dms_ibdev_del_path() - a path has nothing of the device any more
 * @d: the device
 * @tp: what dms_ibdev_add_path() had
 *
 * Context: process.
 */
void dms_ibdev_del_path(struct dms_ibdev *d, struct dms_rdma *tp)
{
	spin_lock(&d->paths_lock);
	list_del_init(&tp->ibdev_node);
	spin_unlock(&d->paths_lock);
	if (atomic_dec_and_test(&d->nr_paths))
		complete(&d->no_paths);
}

static u32 dms_ibdev_reads_param(void)
{
	return clamp(READ_ONCE(dms_param_reads_per_path), 1U, 255U);	/* a byte in rdma_cm */
}

static void dms_ibdev_limits(struct dms_ibdev *d, const struct ib_device_attr *a)
{
	d->max_send_sge = min_t(u32, a->max_send_sge, DMS_TX_SGES);
	d->max_read_sge = clamp_t(u32, a->max_sge_rd, 1, d->max_send_sge);
	d->max_reads = min3((u32)a->max_qp_rd_atom, (u32)a->max_qp_init_rd_atom,
			    dms_ibdev_reads_param());
	d->max_reads = min_t(u32, d->max_reads, DMS_READS_CEIL);
	d->mr_pages = a->max_fast_reg_page_list_len;
}

/* @dev: NULL: what TCP has instead */
static struct dms_ibdev *dms_ibdev_alloc(struct ib_device *dev)
{
	struct dms_ibdev *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return NULL;
	kref_init(&d->ref);		/* put in dms_ibdev_remove() or dms_ibdev_exit() */
	if (dev) {
		get_device(&dev->dev);		/* put in dms_ibdev_release() */
		d->dev = dev;
		dms_ibdev_limits(d, &dev->attrs);
	} else {
		d->max_send_sge = DMS_TX_SGES;
		d->max_read_sge = DMS_TX_SGES;
		d->max_reads = dms_ibdev_reads_param();
	}
	mutex_init(&d->maps_lock);
	INIT_LIST_HEAD(&d->maps);
	spin_lock_init(&d->paths_lock);
	INIT_LIST_HEAD(&d->paths);
	atomic_set(&d->nr_paths, 1);	/* the client's; dropped in dms_ibdev_remove() */
	init_completion(&d->no_paths);
	dms_incast_init(d, (u64)max(dms_param_incast_budget_kib, 64U) << 10);
	dms_recv_init(d);
	return d;
}

static int dms_ibdev_add(struct ib_device *dev)
{
	const char *why = dms_ibdev_refusal(dev);
	struct dms_ibdev *d;

	if (why) {
		pr_warn_ratelimited("RDMA device %s is not used: %s\n",
				    dev_name(&dev->dev), why);
		return 0;
	}

	d = dms_ibdev_alloc(dev);
	if (!d)
		return -ENOMEM;

	mutex_lock(&dms_ibdevs_lock);
	d->index = find_first_zero_bit(dms_indices, DMS_IBDEVS_MAX);
	if (d->index < DMS_IBDEVS_MAX) {
		__set_bit(d->index, dms_indices);
		list_add_tail(&d->node, &dms_ibdevs);
	}
	mutex_unlock(&dms_ibdevs_lock);

	if (d->index >= DMS_IBDEVS_MAX) {
		pr_warn_ratelimited("RDMA device %s is not used: there are %d already\n",
				    dev_name(&dev->dev), DMS_IBDEVS_MAX);
		dms_ibdev_put(d);
		return 0;
	}
	ib_set_client_data(dev, &dms_ib_client, d);
	return 0;
}

/*
 * Kills each path once.  path->lock has nothing of ours outside, so the list's
 * lock is dropped around it; a path that is fenced meanwhile takes itself off,
 * and none is added, since the device is going.  The path is alive while it is
 * on the list: its fence, which takes it off, runs with a reference.
 */
static void dms_ibdev_kill_paths(struct dms_ibdev *d)
{
	struct dms_rdma *tp;
	LIST_HEAD(todo);

	spin_lock(&d->paths_lock);
	list_splice_init(&d->paths, &todo);
	while (!list_empty(&todo)) {
		struct dms_path *path;

		tp = list_first_entry(&todo, struct dms_rdma, ibdev_node);
		list_move_tail(&tp->ibdev_node, &d->paths);
		path = tp->path;
		dms_path_get(path);	/* put below */
		spin_unlock(&d->paths_lock);
		dms_path_kill(path, DMASTREAM_ERR_DEVICE, ENODEV);
		dms_path_put(path);
		spin_lock(&d->paths_lock);
	}
	spin_unlock(&d->paths_lock);
}

static void dms_ibdev_remove(struct ib_device *dev, void *client_data)
{
	struct dms_ibdev *d = client_data;

	if (!d)
		return;

	/* 1. nobody finds it, and nothing is added to it */
	mutex_lock(&dms_ibdevs_lock);
	list_del(&d->node);
	mutex_unlock(&dms_ibdevs_lock);
	mutex_lock(&d->maps_lock);
	spin_lock(&d->paths_lock);
	d->going = true;
	spin_unlock(&d->paths_lock);
	mutex_unlock(&d->maps_lock);

	/* 2. what is there ends */
	dms_ibdev_kill_paths(d);
	if (!atomic_dec_and_test(&d->nr_paths)) {
		while (!wait_for_completion_timeout(&d->no_paths, 10 * HZ))
			pr_warn("removal of RDMA device %s waits for %d paths\n",
				dev_name(&dev->dev), atomic_read(&d->nr_paths));
	}

	/* 3. no queue pair can reach a pool any more, or has a receive */
	dms_recv_exit(d);
	dms_pool_unmap_ibdev(d);

	/* 4. no pool has anything at this index any more */
	mutex_lock(&dms_ibdevs_lock);
	__clear_bit(d->index, dms_indices);
	mutex_unlock(&dms_ibdevs_lock);
	dms_ibdev_put(d);		/* the client's */
}

static struct ib_client dms_ib_client = {
	.name	= KBUILD_MODNAME,
	.add	= dms_ibdev_add,
	.remove	= dms_ibdev_remove,
};

/**
 * dms_ibdev_tcp() - what a path over TCP has in place of a device
 *
 * Context: any.
 * Return: always the same one, with a reference.
 */
struct dms_ibdev *dms_ibdev_tcp(void)
{
	kref_get(&dms_tcp_dev->ref);
	return dms_tcp_dev;
}

/**
 * dms_ibdev_name() - a device, for people
 * @d: the device; the name stays as long as it
 */
const char *dms_ibdev_name(const struct dms_ibdev *d)
{
	return d->dev ? dev_name(&d->dev->dev) : "tcp";
}

/* A GID of RoCE v2 is an address of its netdev, of this namespace. */
static bool gid_is_of(const struct ib_gid_attr *attr, const struct net *net)
{
	const struct in6_addr *a = (const struct in6_addr *)attr->gid.raw;
	const struct net_device *ndev;
	bool of = false;

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	    ipv6_addr_type(a) & (IPV6_ADDR_LINKLOCAL | IPV6_ADDR_LOOPBACK))
		return false;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev))
		of = net_eq(dev_net(ndev), net);
	rcu_read_unlock();
	return of;
}

/* One address of a port: @first, or one of its family, or any.  False: it has none. */
static bool port_addr(struct ib_device *dev, u32 port, const struct net *net, const u8 *first,
		      u8 *out)
{
	bool v4 = ipv6_addr_v4mapped((const struct in6_addr *)first);
	const struct ib_gid_attr *attr;
	struct ib_port_attr pa;
	u32 worth, best = 0;
	int i;

	if (!rdma_protocol_roce_udp_encap(dev, port) || ib_query_port(dev, port, &pa))
		return false;
	for (i = 0; i < pa.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(dev, port, i);
		if (IS_ERR(attr))
			continue;
		worth = 0;
		if (gid_is_of(attr, net)) {
			const u8 *gid = attr->gid.raw;

			worth = 1 + (v4 == ipv6_addr_v4mapped((const struct in6_addr *)gid)) +
				!memcmp(gid, first, sizeof(attr->gid.raw));
			if (worth > best)
				memcpy(out, gid, sizeof(attr->gid.raw));
		}
		best = max(best, worth);
		rdma_put_gid_attr(attr);
	}
	return best;
}

/**
 * dms_ibdev_addrs() - addresses at which RDMA devices can be reached
 * @net: namespace
 * @first: address that comes first, if a device has it; as HELLO has them
 * @out: likewise; one for each port
 * @max: room in @out
 *
 * In the order in which the devices came.  It says nothing of whether a port is up.
 *
 * Context: process, may sleep.
 * Return: how many there are in @out.
 */
u32 dms_ibdev_addrs(const struct net *net, const u8 first[16], u8 out[][16], u32 max)
{
	u8 addr[16], swap[16];
	struct dms_ibdev *d;
	u32 port, n = 0;

	mutex_lock(&dms_ibdevs_lock);
	list_for_each_entry(d, &dms_ibdevs, node) {
		rdma_for_each_port(d->dev, port) {
			if (!port_addr(d->dev, port, net, first, addr))
				continue;
			if (n && !memcmp(addr, first, sizeof(addr))) {
				memcpy(swap, out[0], sizeof(swap));
				memcpy(out[0], addr, sizeof(swap));
				memcpy(addr, swap, sizeof(swap));
			}
			if (n < max)
				memcpy(out[n++], addr, sizeof(addr));
		}
	}
	mutex_unlock(&dms_ibdevs_lock);
	return n;
}

static void dms_ibdev_end_tcp(void)
{
	dms_recv_exit(dms_tcp_dev);
	dms_pool_unmap_ibdev(dms_tcp_dev);
	dms_ibdev_put(dms_tcp_dev);
}

/**
 * dms_ibdev_init() - begin to use RDMA devices, those that are there and later ones
 *
 * Context: process, module load.
 * Return: 0 or a negative errno.
 */
int dms_ibdev_init(void)
{
	int ret;

	dms_tcp_dev = dms_ibdev_alloc(NULL);
	if (!dms_tcp_dev)
		return -ENOMEM;
	__set_bit(0, dms_indices);	/* dms_tcp_dev->index; nobody else looks yet */
	ret = dms_cm_init();
	if (ret)
		goto end_tcp;
	ret = ib_register_client(&dms_ib_client);
	if (!ret)
		return 0;
	dms_cm_exit();
end_tcp:
	dms_ibdev_end_tcp();
	return ret;
}

/**
 * dms_ibdev_exit() - end all use of RDMA devices
 *
 * After the sessions have ended.  Context: process, module unload.
 */
void dms_ibdev_exit(void)
{
	ib_unregister_client(&dms_ib_client);
	dms_cm_exit();
	dms_ibdev_end_tcp();
}
