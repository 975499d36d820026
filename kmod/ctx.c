// SPDX-License-Identifier: GPL-2.0-only
/*
 * A context: tables of handles, and the end of what they name.
 *
 * Lookups.  Pools and streams are freed after an RCU grace period, and looked
 * up under RCU with a try-get, since each submission does that.  Groups, rings
 * and listeners are looked up under handles_lock: what is in a table then has
 * the table's reference, and cannot go before it is taken out under that lock.
 */
#include "ctx.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/nospec.h>
#include <linux/nsproxy.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "fault.h"
#include "group.h"
#include "listener.h"
#include "node.h"
#include "poller.h"
#include "pool.h"
#include "ring.h"
#include "stats.h"
#include "stream.h"

/* Handles are 1 to this. */
static const u32 ctx_max[DMS_KINDS] = {
	[DMS_POOLS]	= DMS_CTX_POOLS_MAX,
	[DMS_GROUPS]	= DMS_CTX_GROUPS_MAX,
	[DMS_RINGS]	= DMS_CTX_RINGS_MAX,
	[DMS_LISTENERS]	= DMS_CTX_LISTENERS_MAX,
	[DMS_STREAMS]	= DMS_CTX_STREAMS_MAX,
};

/**
 * dms_ctx_create() - a context for the calling process
 *
 * It belongs to the process's network namespace and keeps that alive until
 * dms_ctx_shutdown().
 *
 * Context: Process context.
 * Return: context with a reference for the caller, ERR_PTR(-ENOMEM) or
 * ERR_PTR(-ENODEV).
 */
struct dms_ctx *dms_ctx_create(void)
{
	struct net *net = current->nsproxy->net_ns;
	struct dms_node *node = dms_node_of(net);
	struct dms_ctx *ctx;
	int i;

	if (!node)
		return ERR_PTR(-ENODEV);
	ctx = dms_fault_alloc(CTX) ? NULL : kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	kref_init(&ctx->ref);
	ctx->node = node;
	ctx->net = get_net(net);	/* put in dms_ctx_shutdown() */
	ctx->uid = current_uid();
	ctx->pid = task_tgid_nr(current);
	spin_lock_init(&ctx->handles_lock);
	for (i = 0; i < DMS_KINDS; i++)
		xa_init_flags(&ctx->table[i], XA_FLAGS_ALLOC1);
	spin_lock_init(&ctx->starved_lock);
	INIT_LIST_HEAD(&ctx->starved);
	mutex_init(&ctx->poller_lock);
	dms_node_ctx_get(node);		/* put in dms_ctx_shutdown() */
	dms_gauge_inc(DMS_GAUGE_CONTEXTS);
	return ctx;
}

static void ctx_release(struct kref *ref)
{
	struct dms_ctx *ctx = container_of(ref, struct dms_ctx, ref);

	/* all tables are empty since the shutdown, and xarrays then have no memory */
	dms_poller_free(ctx);
	mutex_destroy(&ctx->poller_lock);
	kfree(ctx);
}

/**
 * dms_ctx_get() - one more who remembers the context
 * @ctx: context, of which the caller has a reference
 *
 * Context: Any.
 */
void dms_ctx_get(struct dms_ctx *ctx)
{
	kref_get(&ctx->ref);
}

/**
 * dms_ctx_put() - one less
 * @ctx: context
 *
 * Context: Any.
 */
void dms_ctx_put(struct dms_ctx *ctx)
{
	kref_put(&ctx->ref, ctx_release);
}

/*
 * The first object of a table, taken out; NULL when it is empty.  Nothing is
 * added any more.
 */
static void *ctx_pop(struct dms_ctx *ctx, enum dms_kind kind)
{
	unsigned long handle = 0;
	void *obj;

	spin_lock(&ctx->handles_lock);
	obj = xa_find(&ctx->table[kind], &handle, ULONG_MAX, XA_PRESENT);
	if (obj)
		xa_erase(&ctx->table[kind], handle);
	spin_unlock(&ctx->handles_lock);
	cond_resched();
	return obj;
}

/**
 * dms_ctx_shutdown() - the file of the context was released
 * @ctx: context; the file's reference is this function's
 *
 * No ioctl of the context runs, and none will.  What may still run: ENTER on
 * its rings, whose files can stay open, and works of its streams.  They find
 * empty tables, dead rings, and dead groups.
 *
 * Streams go first, and quietly: nobody is left to tell; so that the ends of
 * rings and groups find no users.  Pools go last, since groups hold them.
 *
 * Context: Process context, may sleep.
 */
void dms_ctx_shutdown(struct dms_ctx *ctx)
{
	struct dms_listener *listener;
	struct dms_stream *stream;
	struct dms_group *group;
	struct dms_ring *ring;
	struct dms_pool *pool;

	spin_lock(&ctx->handles_lock);
	ctx->dead = true;
	spin_unlock(&ctx->handles_lock);

	/* first, so that nobody submits any more */
	dms_poller_stop(ctx);
	while ((stream = ctx_pop(ctx, DMS_STREAMS)))
		dms_stream_orphan(stream);
	while ((listener = ctx_pop(ctx, DMS_LISTENERS))) {
		dms_listener_shutdown(listener);
		dms_listener_put(listener);
	}
	while ((ring = ctx_pop(ctx, DMS_RINGS))) {
		dms_ring_shutdown(ring);
		dms_ring_put(ring);
	}
	while ((group = ctx_pop(ctx, DMS_GROUPS))) {
		dms_group_shutdown(group);
		dms_group_put(group);
	}
	while ((pool = ctx_pop(ctx, DMS_POOLS))) {
		atomic_dec(&pool->attachments);
		dms_pool_put(pool);
	}

	dms_node_ctx_put(ctx->node);
	put_net(ctx->net);
	dms_gauge_dec(DMS_GAUGE_CONTEXTS);
	dms_ctx_put(ctx);
}

/*
 * What a handle of a process names, not with a reference.  A number past the
 * limit must not reach the table's arrays under speculation either.
 */
static void *ctx_load(struct dms_ctx *ctx, enum dms_kind kind, u32 handle)
{
	if (handle > ctx_max[kind])
		return NULL;
	return xa_load(&ctx->table[kind], array_index_nospec(handle, ctx_max[kind] + 1));
}

/**
 * dms_ctx_pool() - pool by handle
 * @ctx: context
 * @handle: from the process
 *
 * Context: Process context.
 * Return: pool with a reference, or NULL.
 */
struct dms_pool *dms_ctx_pool(struct dms_ctx *ctx, u32 handle)
{
	struct dms_pool *pool;

	spin_lock(&ctx->handles_lock);
	pool = ctx_load(ctx, DMS_POOLS, handle);
	if (pool)
		dms_pool_get(pool);
	spin_unlock(&ctx->handles_lock);
	return pool;
}

/**
 * dms_ctx_pool_transfer() - pool by handle, for a transfer
 * @ctx: context
 * @handle: from the process
 *
 * A pool whose last reference went cannot begin a transfer, and its memory is
 * freed after a grace period.
 *
 * Context: Any.
 * Return: pool on which a transfer was begun, or NULL.
 */
struct dms_pool *dms_ctx_pool_transfer(struct dms_ctx *ctx, u32 handle)
{
	struct dms_pool *pool;

	rcu_read_lock();
	pool = ctx_load(ctx, DMS_POOLS, handle);
	if (pool && !dms_pool_tryget_transfer(pool))
		pool = NULL;
	rcu_read_unlock();
	return pool;
}

/**
 * dms_ctx_group() - group by handle
 * @ctx: context
 * @handle: from the process
 *
 * Context: Process context.
 * Return: group with a reference, or NULL.
 */
struct dms_group *dms_ctx_group(struct dms_ctx *ctx, u32 handle)
{
	struct dms_group *group;

	spin_lock(&ctx->handles_lock);
	group = ctx_load(ctx, DMS_GROUPS, handle);
	if (group)
		dms_group_get(group);
	spin_unlock(&ctx->handles_lock);
	return group;
}

/**
 * dms_ctx_ring() - ring by handle
 * @ctx: context
 * @handle: from the process
 *
 * Context: Process context.
 * Return: ring with a reference, or NULL.
 */
struct dms_ring *dms_ctx_ring(struct dms_ctx *ctx, u32 handle)
{
	struct dms_ring *ring;

	spin_lock(&ctx->handles_lock);
	ring = ctx_load(ctx, DMS_RINGS, handle);
	if (ring)
		dms_ring_get(ring);
	spin_unlock(&ctx->handles_lock);
	return ring;
}

/**
 * dms_ctx_listener() - listener by handle
 * @ctx: context
 * @handle: from the process
 *
 * Context: Process context.
 * Return: listener with a reference, or NULL.
 */
struct dms_listener *dms_ctx_listener(struct dms_ctx *ctx, u32 handle)
{
	struct dms_listener *listener;

	spin_lock(&ctx->handles_lock);
	listener = ctx_load(ctx, DMS_LISTENERS, handle);
	if (listener)
		dms_listener_get(listener);
	spin_unlock(&ctx->handles_lock);
	return listener;
}

/**
 * dms_ctx_stream() - stream by handle
 * @ctx: context
 * @handle: from the process
 *
 * Context: Any.
 * Return: stream with a reference, or NULL.
 */
struct dms_stream *dms_ctx_stream(struct dms_ctx *ctx, u32 handle)
{
	struct dms_stream *stream;

	rcu_read_lock();
	stream = ctx_load(ctx, DMS_STREAMS, handle);
	if (stream && !dms_stream_tryget(stream))
		stream = NULL;
	rcu_read_unlock();
	return stream;
}

/**
 * dms_ctx_reserve() - a handle that names nothing yet
 * @ctx: context
 * @kind: table
 * @handle: out: the number.  Numbers are given in turn, so that a stale one
 *          does not soon name something else
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENODEV: the context is dead; -ENOSPC: the table is full; -ENOMEM.
 */
int dms_ctx_reserve(struct dms_ctx *ctx, enum dms_kind kind, u32 *handle)
{
	int err;

	/* only a hint: dms_ctx_publish() decides */
	if (READ_ONCE(ctx->dead))
		return -ENODEV;
	err = xa_alloc_cyclic(&ctx->table[kind], handle, NULL,
			      XA_LIMIT(1, ctx_max[kind]), &ctx->next[kind],
			      GFP_KERNEL_ACCOUNT);
	if (err == -EBUSY)
		return -ENOSPC;
	return min(err, 0);
}

/**
 * dms_ctx_unreserve() - undoes dms_ctx_reserve()
 * @ctx: context
 * @kind: table
 * @handle: reserved and not published
 *
 * Context: Process context.
 */
void dms_ctx_unreserve(struct dms_ctx *ctx, enum dms_kind kind, u32 handle)
{
	xa_release(&ctx->table[kind], handle);
}

/**
 * dms_ctx_publish() - lets a reserved handle name an object
 * @ctx: context
 * @kind: table
 * @handle: reserved; still reserved after an error
 * @obj: of that kind; the table takes over the caller's reference on success
 *
 * Context: Process context.
 * Return: 0, or -ENODEV when the context died meanwhile.
 */
int dms_ctx_publish(struct dms_ctx *ctx, enum dms_kind kind, u32 handle, void *obj)
{
	int err = -ENODEV;

	spin_lock(&ctx->handles_lock);
	if (!ctx->dead)
		/* into a reserved place: allocates nothing */
		err = xa_err(xa_store(&ctx->table[kind], handle, obj, 0));
	spin_unlock(&ctx->handles_lock);
	return err;
}

/**
 * dms_ctx_forget() - takes an object out, by itself
 * @ctx: context, dead perhaps
 * @kind: table
 * @handle: that the object had, 0 when it had none
 * @obj: object
 *
 * For an end that does not begin with the handle: the file of a ring, a group
 * or a listener was released.  The handle may name another one by then.
 *
 * Context: Process context.
 * Return: true: it was there, and the table's reference is the caller's.
 */
bool dms_ctx_forget(struct dms_ctx *ctx, enum dms_kind kind, u32 handle, const void *obj)
{
	bool found;

	spin_lock(&ctx->handles_lock);
	found = xa_load(&ctx->table[kind], handle) == obj;
	if (found)
		xa_erase(&ctx->table[kind], handle);
	spin_unlock(&ctx->handles_lock);
	return found;
}

/**
 * dms_ctx_del() - takes out what a handle names
 * @ctx: context
 * @kind: table
 * @handle: from the process
 *
 * Context: Process context.
 * Return: object, whose table's reference is the caller's, or NULL.
 */
void *dms_ctx_del(struct dms_ctx *ctx, enum dms_kind kind, u32 handle)
{
	void *obj;

	spin_lock(&ctx->handles_lock);
	obj = ctx_load(ctx, kind, handle);
	if (obj)
		xa_erase(&ctx->table[kind], handle);
	spin_unlock(&ctx->handles_lock);
	return obj;
}

/**
 * dms_ctx_count() - handles of a kind
 * @ctx: context
 * @kind: table
 *
 * Context: Process context; walks the table.
 * Return: how many.
 */
u32 dms_ctx_count(struct dms_ctx *ctx, enum dms_kind kind)
{
	unsigned long handle;
	void *obj;
	u32 n = 0;

	xa_for_each(&ctx->table[kind], handle, obj)
		n++;
	return n;
}

/**
 * dms_ctx_add_stream() - a handle for a stream
 * @ctx: context
 * @stream: stream; the table takes over the caller's reference on success
 * @handle: out: set before the stream can be found by it
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENODEV, -ENOSPC or -ENOMEM as dms_ctx_reserve().
 */
int dms_ctx_add_stream(struct dms_ctx *ctx, struct dms_stream *stream, u32 *handle)
{
	int err;

	err = dms_ctx_reserve(ctx, DMS_STREAMS, handle);
	if (err)
		return err;
	err = dms_ctx_publish(ctx, DMS_STREAMS, *handle, stream);
	if (err)
		dms_ctx_unreserve(ctx, DMS_STREAMS, *handle);
	return err;
}

/**
 * dms_ctx_del_stream() - takes a stream out
 * @ctx: context
 * @handle: from the process
 *
 * Context: Process context.
 * Return: stream, whose table's reference is the caller's, or NULL.
 */
struct dms_stream *dms_ctx_del_stream(struct dms_ctx *ctx, u32 handle)
{
	return dms_ctx_del(ctx, DMS_STREAMS, handle);
}

/**
 * dms_ctx_kick() - serves the groups that have NEED_KICK set
 * @ctx: context
 *
 * A group stays on the list while it is served; it is only moved to the end.
 * Were it taken off, another ENTER would find the list empty and return, although
 * the buffers it came for were given after this one had looked.  As many steps
 * as there are groups visit each of them, also when two threads do this at once.
 *
 * What is on the list has not been freed: a group leaves it when it dies, and
 * its file holds it until then.
 *
 * Context: Process context, no lock held.
 * Return: true when there was one.
 */
bool dms_ctx_kick(struct dms_ctx *ctx)
{
	struct dms_group *group;
	bool any = false;
	u32 n;

	spin_lock(&ctx->starved_lock);
	for (n = ctx->nr_starved; n && !list_empty(&ctx->starved); n--) {
		group = list_first_entry(&ctx->starved, struct dms_group, starved_node);
		list_move_tail(&group->starved_node, &ctx->starved);
		dms_group_get(group);
		spin_unlock(&ctx->starved_lock);

		dms_group_kick(group);
		dms_group_put(group);
		any = true;
		cond_resched();

		spin_lock(&ctx->starved_lock);
	}
	spin_unlock(&ctx->starved_lock);
	return any;
}
