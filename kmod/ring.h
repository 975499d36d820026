/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring: one submission and one completion queue in memory that is shared
 * with a process.  All acquire and release on that memory is in ring_cq.c and
 * submit.c (and, for groups, group.c); the contract is in Documentation/ring-ordering.rst.
 *
 * Lifetime: kref: its file, its handle, each stream that completes on it, and so
 * each request in flight, which has the stream.  When the file is released, or the context ends, the ring
 * is dead: completions are dropped, and the streams on it are aborted.
 */
#ifndef DMS_RING_H
#define DMS_RING_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/ringidx.h"
#include "req.h"

struct dms_ctx;
struct dms_poller;
struct dmastream_cqe;
struct dmastream_ring_shared;
struct dmastream_ring_create;

/* A receiver that found no slot in the completion queue.  As struct dms_group_waiter. */
struct dms_ring_waiter {
	struct list_head	node;
	const struct dms_ring_waiter_ops *ops;
	bool			queued;		/* ring->cq_lock */
	bool			turn;		/* cq_lock: ready() may pass the others once */
};

struct dms_ring_waiter_ops {
	void	(*ready)(struct dms_ring_waiter *w);
	void	(*get)(struct dms_ring_waiter *w);
	void	(*put)(struct dms_ring_waiter *w);
};

/* One that completes on the ring, and hears of its end.  As struct dms_group_user. */
struct dms_ring_user {
	struct list_head	node;		/* ring->users, or empty; ring->cq_lock */
	const struct dms_ring_user_ops *ops;
};

struct dms_ring_user_ops {
	void	(*dead)(struct dms_ring_user *u);
	void	(*get)(struct dms_ring_user *u);
	void	(*put)(struct dms_ring_user *u);
};

struct dms_ring {
	struct kref		ref;
	struct dms_ctx		*ctx;		/* holds a reference (memory only) */
	u32			handle;
	u32			sq_entries, cq_entries;
	u32			indirect_bytes;
	void			*mem;		/* shared with the process, shmem.c */
	u32			map_size;

	struct mutex		sq_lock;	/* consumption; process context, outermost */
	u32			sq_head;	/* own copy; sq_lock; the poller reads it without */
	struct dms_poller	*poller;	/* set once, with the ring; NULL: not polled */
	struct list_head	poll_node;	/* poller's list and lock */
	u64			polled;		/* submissions that the poller consumed; it alone writes */

	/* cq_lock: everything below.  Process context.  Inside stream->lock; innermost. */
	spinlock_t		cq_lock;
	bool			dead;
	bool			sq_stuck;	/* the poller sleeps, and a submission may lack a slot */
	u32			flags;		/* own copy of DMASTREAM_RING_* */
	u32			cq_tail;	/* own copy; sleepers read it without the lock */
	struct dms_cqslots	slots;
	struct dms_req		*reqs;
	struct list_head	req_free;
	u32			nr_reqs_out;
	struct list_head	waiters;
	u32			nr_waiters;
	struct list_head	users;

	wait_queue_head_t	wq;
	struct work_struct	wake_work;	/* runs waiters: a reserved slot was given back */
	struct work_struct	free_work;
	u64			charged;	/* bytes of its owner's quota */
	kuid_t			owner;
	u32			sqes_off, cqes_off, indirect_off;	/* in mem */
};

struct dms_ring *dms_ring_create(struct dms_ctx *ctx, struct dmastream_ring_create *arg);
struct file *dms_ring_file(struct dms_ring *ring);
void dms_ring_get(struct dms_ring *ring);
void dms_ring_put(struct dms_ring *ring);
/* The context ends: as if the file had been released; the file may stay. */
void dms_ring_shutdown(struct dms_ring *ring);

int dms_ring_add_user(struct dms_ring *ring, struct dms_ring_user *u);	/* -ENODEV when dead */
void dms_ring_del_user(struct dms_ring *ring, struct dms_ring_user *u);

/*
 * A completion that no submission reserved: a receive.  -EAGAIN: no slot; then
 * the waiter is queued (once) and NEED_KICK is set.  A dead ring takes and
 * drops it (0).  stream->lock may be held.
 */
int dms_ring_post_recv(struct dms_ring *ring, const struct dmastream_cqe *cqe,
		       struct dms_ring_waiter *w);
/* Several: cq_lock is held from begin to end. */
void dms_ring_recv_begin(struct dms_ring *ring);
int dms_ring_recv(struct dms_ring *ring, const struct dmastream_cqe *cqe,
		  struct dms_ring_waiter *w);
void dms_ring_recv_end(struct dms_ring *ring, bool any);
void dms_ring_unwait(struct dms_ring *ring, struct dms_ring_waiter *w);

/* Reserve slots for completions that an ioctl asked for: -EAGAIN, -ENODEV. */
int dms_ring_reserve(struct dms_ring *ring, u32 n);
void dms_ring_unreserve(struct dms_ring *ring, u32 n);
/* Post in a reserved slot. */
void dms_ring_post_reserved(struct dms_ring *ring, const struct dmastream_cqe *cqe);

/*
 * ---- between ring.c, ring_cq.c and submit.c ----
 */
static inline struct dmastream_ring_shared *dms_ring_shared(struct dms_ring *ring)
{
	return ring->mem;
}

/* cq_lock is held for these, unless the answer may be about a moment that has passed. */
void dms_ring_set_flags(struct dms_ring *ring, u32 flags);
u32 dms_ring_cq_occupied(struct dms_ring *ring);
u32 dms_ring_cq_occupied_at(struct dms_ring *ring, u32 tail);
bool dms_ring_cq_has_room(struct dms_ring *ring);
void dms_ring_unqueue(struct dms_ring *ring, struct dms_ring_waiter *w);
void dms_ring_unstick(struct dms_ring *ring);
void dms_ring_wake_work(struct work_struct *work);
struct dmastream_enter;

/* Up to @n requests with so many slots each; 0 and -EAGAIN (no slot) or -ENODEV. */
u32 dms_ring_take_reqs(struct dms_ring *ring, u32 n, u32 slots, struct list_head *reqs,
		       int *err);
void dms_ring_give_reqs(struct dms_ring *ring, struct list_head *reqs);
/* Consumes up to @n submissions: how many, or -EINVAL, -EAGAIN, -ENODEV, -ERESTARTSYS. */
int dms_ring_submit(struct dms_ring *ring, u32 n);
/* Serves receivers that wait for room; true when there were some. */
bool dms_ring_run_waiters(struct dms_ring *ring);

/* What the poller does with a ring; true when submissions were consumed. */
bool dms_ring_poll(struct dms_ring *ring);
bool dms_ring_poll_sleep(struct dms_ring *ring);
void dms_ring_poller_is(struct dms_ring *ring, bool asleep, bool stuck);

#endif /* DMS_RING_H */
