/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A path over a reliable-connected queue pair.
 *
 * struct dms_rdma is path->priv.  It is made by cm.c, filled by
 * dms_rdma_setup() and emptied by the fence.  Whoever sets it up only adds to
 * it; whatever is there when something fails, or when the path is killed, is
 * taken apart by the fence alone, which may come while it is being set up.
 *
 * Lifetime: kref: the path's, put by ops->free after the fence; that of the
 * caller of dms_rdma_create(), who has a reference on the path too.  Handlers
 * and works need none: the fence ends them all.
 */
#ifndef DMS_TRANSPORT_RDMA_H
#define DMS_TRANSPORT_RDMA_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "transport.h"

struct dms_path;
struct scatterlist;

/* A buffer that is posted for one packet of the peer, over and over. */
struct dms_rdma_rx {
	struct ib_cqe		cqe;
	struct dms_rdma		*tp;
	void			*buf;		/* NULL: not in use */
	u64			dma;
	struct dms_rdma_rx	*next;		/* then, tp->rx_idle */
};

struct dms_rdma {
	struct kref		ref;
	struct dms_path		*path;
	struct list_head	ibdev_node;	/* ibdev->paths, ibdev->paths_lock */
	bool			passive;	/* the peer asked, we accepted */
	u8			dscp;		/* of its packets; for the operator */

	/*
	 * setup_lock: id, and what dms_rdma_setup() makes, until dead is set:
	 * from then on all of it is the fence's, which does not hold the lock.
	 * Inside an rdma_cm handler; process context.  The fence sets dead
	 * under this lock, path->lock and rq_lock, so that under any of them
	 * it stays as it was read.
	 */
	struct mutex		setup_lock;
	bool			dead;
	bool			asked;		/* rdma_connect() or rdma_accept() was called */
	bool			counted;	/* path->ibdev counts us */
	struct rdma_cm_id	*id;
	struct ib_pd		*pd;
	struct ib_cq		*cq;
	u32			nr_cqe;
	bool			own_cq;		/* not of the device's pool */
	struct ib_qp		*qp;
	u32			nr_tx_mapped;
	struct list_head	quiet;		/* packets posted after the last signalled one; path->lock */
	u32			nr_reads;	/* of path->reads, before the answer lowered it */
	u32			nr_keys;	/* of path->keys that have a region */
	struct dms_rdma_rx	*rx;		/* my_slots_max of them */
	bool			joined;		/* dms_recv_join() */
	u8			serves, makes;	/* what a request said: READs at once */
	u16			peer_slots_max;	/* likewise: most receives */
	u32			room_tries;	/* room_work */

	/* rq_lock: posting receives, and the next three.  Process context, innermost. */
	spinlock_t		rq_lock;
	struct dms_rdma_rx	*rx_idle;
	u32			nr_rx;		/* that have a buffer */
	u32			rx_more;	/* that more_work is to post in addition */

	/* mr.c: scratch of an expose, path->lock; regions that are to be replaced */
	u32			key_pages;	/* of one region */
	struct ib_sge		*pieces;
	struct scatterlist	*sgl;
	unsigned long		*worn;		/* bit per key; atomic bit operations */
	struct delayed_work	worn_work;

	/* up_lock: makes dms_path_up() run once and be over.  Outside session->lock. */
	struct mutex		up_lock;
	bool			up;		/* dms_rdma_up() to dms_rdma_is_up() */
	wait_queue_head_t	up_wait;

	struct delayed_work	limit_work;	/* connecting takes too long */
	struct delayed_work	room_work;	/* connects, when the NIC had no receives */
	struct work_struct	more_work;	/* posts more receives */
	struct delayed_work	event_work;	/* kills the path, with event_status */
	u32			event_status;	/* enum ib_wc_status */
};

extern const struct dms_transport_ops dms_rdma_ops;

/* Of everything here that is deferred: may be flushed by those who free memory. */
extern struct workqueue_struct *dms_rdma_wq;

struct dms_rdma *dms_rdma_create(struct dms_path *path, bool passive);
void dms_rdma_put(struct dms_rdma *tp);
int dms_rdma_setup(struct dms_rdma *tp, u32 reads_max);
void dms_rdma_up(struct dms_rdma *tp);
/* cm.c's: see room_work */
void dms_cm_room_work(struct work_struct *work);

/* rdma_recv.c */
int dms_rdma_post_recv(struct dms_rdma *tp, struct dms_rdma_rx *rx);
int dms_rdma_add_recv(struct dms_rdma *tp, struct dms_rdma_rx *rx, gfp_t gfp);
void dms_rdma_free_recv(struct dms_rdma *tp, struct dms_rdma_rx *rx);
struct dms_rdma_rx *dms_rdma_pop_idle(struct dms_rdma *tp);
void dms_rdma_push_idle(struct dms_rdma *tp, struct dms_rdma_rx *rx);
void dms_rdma_more_work(struct work_struct *work);
void dms_rdma_grow(struct dms_path *path, u32 n);

/* for mr.c; path->lock held */
struct dms_rdma *dms_rdma_ready(struct dms_path *path);
int dms_rdma_post(struct dms_rdma *tp, const struct ib_send_wr *wr);
void dms_rdma_wc_error(struct dms_path *path, const struct ib_wc *wc);
void dms_rdma_idle_done(struct ib_cq *cq, struct ib_wc *wc);

#ifdef CONFIG_DMASTREAM_KUNIT_TEST
/* The post of a work request after so many others fails; negative: none does. */
extern atomic_t dms_rdma_fail_post;
bool dms_rdma_post_fails(void);
#else
static inline bool dms_rdma_post_fails(void)
{
	return false;
}
#endif

#endif /* DMS_TRANSPORT_RDMA_H */
