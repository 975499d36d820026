/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An RDMA device that this module uses: ib_client add and remove.
 *
 * Lifetime: kref: the client, each path.  Removal: unpublish -> kill every path
 * on it -> wait until all are fenced and freed by the transport -> unmap every
 * pool -> return to the core.
 */
#ifndef DMS_IBDEV_H
#define DMS_IBDEV_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "core/depth.h"
#include "core/pull.h"
#include "core/window.h"

struct dms_rdma;

struct dms_ibdev {
	struct kref		ref;
	struct ib_device	*dev;		/* its memory stays as long as we do; NULL: TCP's */
	struct list_head	node;
	u32			index;		/* in pool->maps; below DMS_IBDEVS_MAX */
	bool			going;		/* set under both locks below */
	/* limits, read once */
	u32			max_send_sge;
	u32			max_read_sge;
	u32			max_reads;	/* that we serve, and that we make */
	u32			mr_pages;	/* of one fast-registration MR */
	/* pools mapped here; maps_lock inside pool->map_lock */
	struct mutex		maps_lock;
	struct list_head	maps;
	/* paths on it: a count that removal waits for */
	spinlock_t		paths_lock;
	struct list_head	paths;		/* struct dms_rdma, ibdev_node */
	atomic_t		nr_paths;	/* and of dms_ibdev_hold(), and the client */
	struct completion	no_paths;
	/* incast budget: bytes being pulled over all paths; process context, innermost */
	spinlock_t		incast_lock;
	struct dms_window	incast;
	struct dms_window	granted;	/* bytes that peers may push, over all paths */
	struct dms_pullq	pulls;		/* streams that wait for it: stream->pull_node */
	/*
	 * recv_lock: pages for receives, and what each path has of them (path->depth).
	 * Process context, innermost, inside path->lock.
	 */
	spinlock_t		recv_lock;
	struct dms_depth_nic	recv;
	u32			recv_want;	/* pages that somebody lacked since recv_work ran */
	u64			recv_asked;	/* jiffies64: when somebody was asked last */
	struct work_struct	recv_work;	/* asks others to give back */
};

int dms_ibdev_init(void);		/* ib_client, and what cm.c needs */
void dms_ibdev_exit(void);
/* With a reference; NULL when it is unknown, refused or going. */
struct dms_ibdev *dms_ibdev_get(struct ib_device *dev);
void dms_ibdev_put(struct dms_ibdev *d);
/*
 * What a path over TCP has in place of a device, with a reference: pools are mapped on
 * it at the addresses that the CPU has, and it has an incast budget.  Never going.
 */
struct dms_ibdev *dms_ibdev_tcp(void);
const char *dms_ibdev_name(const struct dms_ibdev *d);
/* One address of each port, @first before the others: how many. */
u32 dms_ibdev_addrs(const struct net *net, const u8 first[16], u8 out[][16], u32 max);

/* ---- what transport_rdma.c calls ---- */

/* Removal waits until the end of it; false when the device is going. */
bool dms_ibdev_hold(struct dms_ibdev *d);
void dms_ibdev_unhold(struct dms_ibdev *d);
/* Removal of the device kills the path and waits; -ENODEV when it is going already. */
int dms_ibdev_add_path(struct dms_ibdev *d, struct dms_rdma *tp);
/* The path has nothing of the device any more. */
void dms_ibdev_del_path(struct dms_ibdev *d, struct dms_rdma *tp);

#endif /* DMS_IBDEV_H */
