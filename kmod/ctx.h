/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context: what one open of the device owns.  Tables of handles.
 *
 * Lifetime: kref for its memory: the file, and each ring, group, listener and
 * stream that remembers it.  dms_ctx_shutdown() (file released) ends what it
 * owns: streams are orphaned, listeners and rings shut down, pools detached.
 */
#ifndef DMS_CTX_H
#define DMS_CTX_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

struct dms_group;
struct dms_listener;
struct dms_node;
struct dms_poller;
struct dms_pool;
struct dms_ring;
struct dms_stream;

#define DMS_CTX_POOLS_MAX	1024
#define DMS_CTX_GROUPS_MAX	4096
#define DMS_CTX_RINGS_MAX	1024
#define DMS_CTX_LISTENERS_MAX	1024
#define DMS_CTX_STREAMS_MAX	65536

/* Tables of handles. */
enum dms_kind {
	DMS_POOLS,
	DMS_GROUPS,
	DMS_RINGS,
	DMS_LISTENERS,
	DMS_STREAMS,
	DMS_KINDS
};

struct dms_ctx {
	struct kref		ref;
	struct dms_node		*node;
	struct net		*net;		/* reference until shutdown */
	kuid_t			uid;
	pid_t			pid;
	bool			dead;		/* handles_lock; nothing is added any more */
	spinlock_t		handles_lock;	/* process context; inside it only xa_lock */
	struct xarray		table[DMS_KINDS];
	u32			next[DMS_KINDS];	/* where the next search begins; xa_lock */
	spinlock_t		starved_lock;	/* innermost */
	struct list_head	starved;	/* groups whose NEED_KICK is set */
	u32			nr_starved;
	struct mutex		poller_lock;	/* the next; its making and its end */
	struct dms_poller	*poller;	/* set once; stopped by the shutdown */
};

struct dms_ctx *dms_ctx_create(void);
/* The file was released; takes over its reference. */
void dms_ctx_shutdown(struct dms_ctx *ctx);
void dms_ctx_get(struct dms_ctx *ctx);
void dms_ctx_put(struct dms_ctx *ctx);

/* By handle, with a reference, or NULL.  Process context. */
struct dms_pool *dms_ctx_pool(struct dms_ctx *ctx, u32 handle);
struct dms_group *dms_ctx_group(struct dms_ctx *ctx, u32 handle);
struct dms_ring *dms_ctx_ring(struct dms_ctx *ctx, u32 handle);
struct dms_listener *dms_ctx_listener(struct dms_ctx *ctx, u32 handle);
struct dms_stream *dms_ctx_stream(struct dms_ctx *ctx, u32 handle);

/* The pool with a transfer begun on it, or NULL.  Any context. */
struct dms_pool *dms_ctx_pool_transfer(struct dms_ctx *ctx, u32 handle);

/*
 * A handle in two steps, so that nothing half-made can be looked up: reserved
 * (-ENODEV when the context is dead, -ENOSPC, -ENOMEM), then published: the
 * table takes over the caller's reference (-ENODEV).
 */
int dms_ctx_reserve(struct dms_ctx *ctx, enum dms_kind kind, u32 *handle);
void dms_ctx_unreserve(struct dms_ctx *ctx, enum dms_kind kind, u32 handle);
int dms_ctx_publish(struct dms_ctx *ctx, enum dms_kind kind, u32 handle, void *obj);
/* Takes it out when the handle is this object's; then the table's reference is the caller's. */
bool dms_ctx_forget(struct dms_ctx *ctx, enum dms_kind kind, u32 handle, const void *obj);
/* What the handle names, taken out, with the table's reference; or NULL. */
void *dms_ctx_del(struct dms_ctx *ctx, enum dms_kind kind, u32 handle);
/* How many handles of a kind there are. */
u32 dms_ctx_count(struct dms_ctx *ctx, enum dms_kind kind);

/* A handle for the stream; the table takes over the caller's reference.  As dms_ctx_reserve(). */
int dms_ctx_add_stream(struct dms_ctx *ctx, struct dms_stream *stream, u32 *handle);
/* Takes it out; the reference is the caller's.  NULL when it was gone. */
struct dms_stream *dms_ctx_del_stream(struct dms_ctx *ctx, u32 handle);

/* From ENTER: serves the starved groups; true when there were some.  Process context. */
bool dms_ctx_kick(struct dms_ctx *ctx);

#endif /* DMS_CTX_H */
