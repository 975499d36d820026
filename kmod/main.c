// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordered init and unwind of the module.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "chardev.h"
#include "fault.h"
#include "ibdev.h"
#include "netlink.h"
#include "node.h"
#include "stats.h"
#include "stream.h"
#include "wq.h"

struct workqueue_struct *dms_wq;

static int __init dms_init(void)
{
	int err;

	dms_wq = alloc_workqueue("dmastream", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!dms_wq)
		return -ENOMEM;

	err = dms_stream_init();
	if (err)
		goto exit_stream;
	/* Devices before nodes: the first session looks for them. */
	err = dms_ibdev_init();
	if (err)
		goto exit_stream;
	err = dms_node_init();
	if (err)
		goto exit_ibdev;
	err = dms_netlink_init();
	if (err)
		goto exit_node;
	dms_fault_init();
	/* Last: from here on there are users. */
	err = dms_chardev_init();
	if (err)
		goto exit_netlink;
	return 0;

exit_netlink:
	dms_fault_exit();
	dms_netlink_exit();
exit_node:
	dms_node_exit();
exit_ibdev:
	dms_ibdev_exit();
exit_stream:
	dms_stream_exit();
	destroy_workqueue(dms_wq);
	return err;
}

/* Everything that was counted up is counted down, or something is leaked. */
static void dms_check_gauges(void)
{
	int i;

	for (i = 0; i < DMS_GAUGE_END; i++) {
		s64 left = dms_gauge_sum(i);

		WARN(left, "dmastream: gauge %d is %lld after the last user\n", i, left);
	}
}

static void __exit dms_exit(void)
{
	/*
	 * The device node and the files of rings, groups, pools and listeners
	 * each hold the module, so that none is left: all contexts have ended.
	 */
	dms_chardev_exit();
	dms_fault_exit();
	dms_netlink_exit();
	/* Ends the sessions, and with them the last streams and transfers. */
	dms_node_exit();

	/*
	 * Those dropped rings, groups and pools, which are freed in stages that
	 * each need a wait of their own:
	 */
	flush_workqueue(dms_wq);	/* rings and groups; the latter drop pools */
	rcu_barrier();			/* percpu_ref of pools goes through RCU ... */
	flush_workqueue(dms_wq);	/* ... and then a work frees their pages */
	rcu_barrier();			/* callbacks of streams are code of this module */

	/* No pool is mapped on a device any more. */
	dms_ibdev_exit();
	dms_stream_exit();
	destroy_workqueue(dms_wq);
	dms_check_gauges();
}

module_init(dms_init);
module_exit(dms_exit);

MODULE_DESCRIPTION("Streams of messages between hosts over RDMA, without copies");
MODULE_AUTHOR("The dmastream developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
