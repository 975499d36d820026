/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buffer group: a ring in shared memory through which a process gives
 * landing buffers of one pool.
 *
 * A landing that was taken is a kernel object from a fixed set (as many as the
 * ring has entries), checked once, and holds a transfer reference on the pool.
 * Lifetime of the group: kref: its file, its handle, each stream that names
 * it, and so each landing taken, which a stream has.  When the file is released the group is dead: no
 * landing is taken any more, and the streams that name it are aborted (through
 * the waiters' and users' callbacks).
 */
#ifndef DMS_GROUP_H
#define DMS_GROUP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "core/tile.h"

struct dms_ctx;
struct dms_pool;
struct dms_group;
struct dmastream_group_create;

/*
 * A message that arrived or was announced and is not delivered.  It belongs to
 * a stream (stream->lock), and lives in what its credit was: in the landing
 * of an eager message or of a posted RECV, or in one of the stream's announce
 * slots; so receiving allocates nothing.
 */
struct dms_rxmsg {
	struct list_head	node;		/* stream->rxq, in order of seq */
	struct list_head	landings;	/* announced: taken, in order, not delivered */
	u32			seq;
	u32			len;
	u64			tag;
	u32			landed;		/* bytes that are there */
	u32			delivered;	/* bytes whose completion is out */
	bool			announced;
	bool			too_long;	/* for its posted buffer */
	bool			granted;	/* of a RECV, also before it came: the peer may write there */
};

/*
 * A landing buffer that was taken out of a group, or the buffer of a posted
 * RECV.  The members below the line belong to the stream that has it.
 */
struct dms_landing {
	struct list_head	node;		/* group's free list, or a list of the stream */
	struct dms_group	*group;		/* NULL: embedded in a RECV request */
	struct dms_pool		*pool;
	u64			off;
	u32			len;
	u64			cookie;
	const struct dms_tile	*tile;		/* of the same RECV, in place of off; else NULL */
	/* -- */
	u32			filled;		/* bytes that landed */
	u32			issued;		/* bytes for which a READ was issued */
	struct dms_rxmsg	msg;		/* an eager message, or a posted one */
};

/* Where it is, whatever it is. */
static inline struct dms_tile dms_landing_tile(const struct dms_landing *l)
{
	return l->tile ? *l->tile : dms_tile_range(l->off, l->len);
}

/* Somebody who wants a landing and found none. */
struct dms_group_waiter {
	struct list_head	node;
	const struct dms_group_waiter_ops *ops;
	bool			queued;		/* group->lock */
	bool			turn;		/* group->lock: ready() may pass the others once */
};

struct dms_group_waiter_ops {
	/* process context, no lock held; the waiter is off the list and may wait again */
	void	(*ready)(struct dms_group_waiter *w);
	/*
	 * Keeps the object that embeds the waiter alive while it is queued: the
	 * group calls get when it queues the waiter and put after ready
	 * returned, or when it is taken off.
	 */
	void	(*get)(struct dms_group_waiter *w);
	void	(*put)(struct dms_group_waiter *w);
};

/* One that names the group, and hears of its end. */
struct dms_group_user {
	struct list_head	node;		/* group->users, or empty; group->lock */
	const struct dms_group_user_ops *ops;
};

struct dms_group_user_ops {
	/* process context, no lock held */
	void	(*dead)(struct dms_group_user *u);
	/* likewise; somebody waits for a buffer: give back what is idle.  May be NULL */
	void	(*recall)(struct dms_group_user *u);
	void	(*get)(struct dms_group_user *u);
	void	(*put)(struct dms_group_user *u);
};

struct dms_group {
	struct kref			ref;
	struct dms_ctx			*ctx;		/* holds a reference (memory only) */
	struct dms_pool			*pool;
	u32				handle;
	u32				entries;
	u32				buf_len;
	void				*mem;		/* shared with the process, shmem.c */
	u32				map_size;
	/*
	 * lock: everything below.  Process context.  Inside stream->lock.
	 */
	spinlock_t			lock;
	bool				dead;
	u32				flags;		/* the kernel's own copy */
	u32				head;		/* likewise */
	u32				bad;
	u32				taken;		/* landings that somebody has */
	struct dms_landing		*landings;
	struct list_head		free;		/* of the fixed set */
	struct list_head		returned;	/* valid buffers that came back unused */
	u32				nr_returned;
	struct list_head		waiters;
	u32				nr_waiters;
	struct list_head		users;
	u32				nr_users;	/* read without the lock, for a hint */
	struct list_head		starved_node;	/* ctx->starved, ctx->starved_lock */
	struct work_struct		wake_work;	/* runs waiters: a buffer came back */
	struct work_struct		recall_work;	/* asks users for what they do not need */
	struct work_struct		free_work;
	u64				charged;	/* bytes of its owner's quota */
	kuid_t				owner;
};

/* Fills the out members but fd; the caller installs the file. */
struct dms_group *dms_group_create(struct dms_ctx *ctx, struct dms_pool *pool,
				   struct dmastream_group_create *arg);
struct file *dms_group_file(struct dms_group *group);
void dms_group_get(struct dms_group *group);
void dms_group_put(struct dms_group *group);

/* -ENODEV when dead */
int dms_group_add_user(struct dms_group *group, struct dms_group_user *u);
void dms_group_del_user(struct dms_group *group, struct dms_group_user *u);

/*
 * A landing with filled = issued = 0; or NULL, and then, with @w, the waiter is
 * queued (once).  Those who wait are served first: with waiters queued, others
 * get NULL and queue behind.  stream->lock may be held.
 */
struct dms_landing *dms_group_take(struct dms_group *group, struct dms_group_waiter *w);
/* Several, added to @to; how many.  With @w: it is queued only when there is none at all. */
u32 dms_group_take_some(struct dms_group *group, u32 n, struct dms_group_waiter *w,
			struct list_head *to);
void dms_group_unwait(struct dms_group *group, struct dms_group_waiter *w);
/* Not used: the buffer stays with the kernel, for the next who takes one. */
void dms_group_return(struct dms_landing *landing);
/* Used: its completion is in the ring (or its stream has died), the process has it back. */
void dms_group_done(struct dms_landing *landing);
void dms_group_done_some(struct list_head *landings);	/* of one group, not empty */
/* Buffers that could be taken now, about. */
u32 dms_group_available(struct dms_group *group);
/* The context ends: as if the file had been released; the file may stay. */
void dms_group_shutdown(struct dms_group *group);
/* From ENTER: serve waiters of a group whose NEED_KICK flag is set. */
void dms_group_kick(struct dms_group *group);

#endif /* DMS_GROUP_H */
