// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctl: copies in, checks, dispatches.  Documentation/uapi.rst has the rules
 * and the errors.
 *
 * What a request makes is reachable only when nothing can fail any more: the
 * handle and the file descriptor are reserved, then the structure is copied out,
 * then both are published.  Whoever guesses a number in between finds nothing.
 */
#include "ioctl.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/nospec.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>

#include "abi.h"
#include "core/wire.h"
#include "ctx.h"
#include "group.h"
#include "listener.h"
#include "node.h"
#include "pool.h"
#include "quota.h"
#include "ring.h"
#include "stream.h"

/* Any structure of an ioctl. */
union dms_ioctl_arg {
	struct dmastream_query		query;
	struct dmastream_pool_create	pool_create;
	struct dmastream_pool_attach	pool_attach;
	struct dmastream_group_create	group_create;
	struct dmastream_ring_create	ring_create;
	struct dmastream_listen		listen;
	struct dmastream_accept		accept;
	struct dmastream_connect	connect;
	struct dmastream_shutdown	shutdown;
	struct dmastream_close		close;
	struct dmastream_stream_query	stream_query;
	struct dmastream_cancel		cancel;
	struct dmastream_enter		enter;
};

/**
 * dms_call_out() - the structure back to the process
 * @call: request
 *
 * A process that knows less gets the beginning; of one that knows more, what
 * this kernel does not know stays zero, as it was checked to be.
 *
 * Context: Process context, may sleep.
 * Return: 0 or -EFAULT.
 */
int dms_call_out(const struct dms_call *call)
{
	return copy_to_user(call->uarg, call->arg, call->size) ? -EFAULT : 0;
}

/**
 * dms_ioctl() - a request on one of this module's files
 * @table: what this kind of file knows
 * @obj: what the file is
 * @cmd: from the process
 * @arg: from the process
 *
 * Context: Process context, may sleep.
 * Return: what the handler returns; -ENOTTY: no such request; -EINVAL: shorter
 * than the first version; -E2BIG: longer than this kernel's, and not zero
 * there; -EFAULT.
 */
long dms_ioctl(const struct dms_ioctl_table *table, void *obj, unsigned int cmd,
	       unsigned long arg)
{
	u32 nr = _IOC_NR(cmd) - table->first;
	const struct dms_ioctl_def *def;
	union dms_ioctl_arg karg;
	struct dms_call call;
	int err, ret;

	if (_IOC_TYPE(cmd) != DMASTREAM_IOC_MAGIC ||
	    _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) || nr >= table->n)
		return -ENOTTY;
	def = &table->def[array_index_nospec(nr, table->n)];
	if (!def->min)
		return -ENOTTY;
	if (_IOC_SIZE(cmd) < def->min)
		return -EINVAL;

	call.obj = obj;
	call.arg = &karg;
	call.uarg = (void __user *)arg;
	call.size = min_t(u32, _IOC_SIZE(cmd), def->size);
	err = copy_struct_from_user(&karg, def->size, call.uarg, _IOC_SIZE(cmd));
	if (err)
		return err;
	ret = def->fn(&call);
	if (!ret && !def->own_out)
		ret = dms_call_out(&call);
	return ret;
}

/* What a request made: an object, and perhaps a file on it. */
struct call_new {
	enum dms_kind	kind;
	void		*obj;		/* with the reference that the table gets */
	u32		*obj_handle;	/* where the object remembers its handle, or NULL */
	u32		*handle;	/* out */
	struct file	*file;		/* or NULL */
	s32		*fd;		/* out */
};

/* Publishes it, or undoes it: the file is put then, the reference is the caller's. */
static int call_install(struct dms_call *call, const struct call_new *new)
{
	struct dms_ctx *ctx = call->obj;
	int err, fd = -1;

	err = dms_ctx_reserve(ctx, new->kind, new->handle);
	if (err)
		goto put_file;
	if (new->obj_handle)
		*new->obj_handle = *new->handle;
	if (new->file) {
		fd = get_unused_fd_flags(O_CLOEXEC);
		err = fd;
		if (fd < 0)
			goto unreserve;
		*new->fd = fd;
	}
	err = dms_call_out(call);
	if (err)
		goto put_fd;
	err = dms_ctx_publish(ctx, new->kind, *new->handle, new->obj);
	if (err)
		goto put_fd;
	if (new->file)
		fd_install(fd, new->file);
	return 0;

put_fd:
	if (new->file)
		put_unused_fd(fd);
unreserve:
	dms_ctx_unreserve(ctx, new->kind, *new->handle);
put_file:
	if (new->file)
		fput(new->file);
	return err;
}

/* ---- query ---- */

static int call_query(struct dms_call *call)
{
	struct dmastream_query *arg = call->arg;

	if (arg->flags)
		return -EINVAL;
	BUILD_BUG_ON(sizeof(arg->node) != sizeof(dms_boot_nonce));
	*arg = (struct dmastream_query) {
		.abi_version		= DMASTREAM_ABI_VERSION,
		.features		= DMASTREAM_FEAT_POLL | DMASTREAM_FEAT_LANES |
					  DMASTREAM_FEAT_TILE | DMASTREAM_FEAT_PUSH,
		.sqe_ops		= BIT(DMASTREAM_OP_NOP) | BIT(DMASTREAM_OP_SEND) |
					  BIT(DMASTREAM_OP_RECV),
		.sqe_flags		= DMASTREAM_SQE_FLAGS,
		.stream_flags		= DMASTREAM_STREAM_FLAGS,
		.max_pool_bytes		= dms_pool_max(),
		.quota_bytes		= dms_quota_limit(),
		.quota_used		= dms_quota_used(current_uid()),
		.max_pools		= DMS_CTX_POOLS_MAX,
		.max_groups		= DMS_CTX_GROUPS_MAX,
		.max_rings		= DMS_CTX_RINGS_MAX,
		.max_listeners		= DMS_CTX_LISTENERS_MAX,
		.max_streams		= DMS_CTX_STREAMS_MAX,
		.max_group_entries	= DMS_GROUP_ENTRIES_MAX,
		.max_sq_entries		= DMS_SQ_ENTRIES_MAX,
		.max_cq_entries		= DMS_CQ_ENTRIES_MAX,
		.max_indirect_bytes	= DMS_INDIRECT_MAX,
		.max_backlog		= DMS_BACKLOG_MAX,
		.max_vec		= DMASTREAM_VEC_MAX,
		.max_msg		= DMASTREAM_MSG_MAX,
		.eager_max		= dms_param_eager_max,
		.port			= dms_param_port,
	};
	memcpy(arg->node, dms_boot_nonce, sizeof(arg->node));
	return 0;
}

/* ---- memory and rings ---- */

/* The handle of a pool holds a reference, and counts as an attachment. */
static int call_install_pool(struct dms_call *call, struct call_new *new)
{
	struct dms_pool *pool = new->obj;
	int err;

	new->kind = DMS_POOLS;
	atomic_inc(&pool->attachments);
	err = call_install(call, new);
	if (err) {
		atomic_dec(&pool->attachments);
		dms_pool_put(pool);
	}
	return err;
}

static int call_pool_create(struct dms_call *call)
{
	struct dmastream_pool_create *arg = call->arg;
	struct call_new new = { .handle = &arg->pool, .fd = &arg->fd };
	struct dms_pool *pool;

	if (arg->flags)
		return -EINVAL;
	pool = dms_pool_create(arg->size, arg->numa_node);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	new.obj = pool;
	new.file = dms_pool_file(pool);
	if (IS_ERR(new.file)) {
		dms_pool_put(pool);
		return PTR_ERR(new.file);
	}
	return call_install_pool(call, &new);
}

static int call_pool_attach(struct dms_call *call)
{
	struct dmastream_pool_attach *arg = call->arg;
	struct call_new new = { .handle = &arg->pool };
	struct dms_pool *pool;

	if (arg->flags || arg->reserved)
		return -EINVAL;
	pool = dms_pool_from_fd(arg->fd);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	arg->size = pool->size;
	new.obj = pool;
	return call_install_pool(call, &new);
}

static int call_group_create(struct dms_call *call)
{
	struct dmastream_group_create *arg = call->arg;
	struct call_new new = { .kind = DMS_GROUPS, .handle = &arg->group, .fd = &arg->fd };
	struct dms_group *group;
	struct dms_pool *pool;
	int err;

	if (arg->flags)
		return -EINVAL;
	pool = dms_ctx_pool(call->obj, arg->pool);
	if (!pool)
		return -EBADF;
	group = dms_group_create(call->obj, pool, arg);
	dms_pool_put(pool);
	if (IS_ERR(group))
		return PTR_ERR(group);
	new.obj = group;
	new.obj_handle = &group->handle;
	new.file = dms_group_file(group);
	err = PTR_ERR_OR_ZERO(new.file);
	if (!err)
		err = call_install(call, &new);
	if (err)
		dms_group_put(group);
	return err;
}

static int call_ring_create(struct dms_call *call)
{
	struct dmastream_ring_create *arg = call->arg;
	struct call_new new = { .kind = DMS_RINGS, .handle = &arg->ring, .fd = &arg->fd };
	struct dms_ring *ring;
	int err;

	ring = dms_ring_create(call->obj, arg);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	new.obj = ring;
	new.obj_handle = &ring->handle;
	new.file = dms_ring_file(ring);
	err = PTR_ERR_OR_ZERO(new.file);
	/* its thread, if it has one, knows the ring; else the file's release takes it off */
	if (err)
		dms_ring_shutdown(ring);
	else
		err = call_install(call, &new);
	if (err)
		dms_ring_put(ring);
	return err;
}

/* ---- streams ---- */

static int call_listen(struct dms_call *call)
{
	struct dmastream_listen *arg = call->arg;
	struct call_new new = { .kind = DMS_LISTENERS, .handle = &arg->listener, .fd = &arg->fd };
	struct dms_listener *l;
	int err;

	if (arg->flags || !arg->backlog || arg->backlog > DMS_BACKLOG_MAX ||
	    !dms_wire_service_ok(arg->service))
		return -EINVAL;
	l = dms_listener_create(call->obj, arg);
	if (IS_ERR(l))
		return PTR_ERR(l);
	new.obj = l;
	new.obj_handle = &l->handle;
	new.file = dms_listener_file(l);
	err = PTR_ERR_OR_ZERO(new.file);
	if (err)
		dms_listener_shutdown(l);
	else
		err = call_install(call, &new);
	if (err)
		dms_listener_put(l);
	return err;
}

static void cfg_put(const struct dms_stream_cfg *cfg)
{
	if (cfg->ring)
		dms_ring_put(cfg->ring);
	if (cfg->small)
		dms_group_put(cfg->small);
	if (cfg->large)
		dms_group_put(cfg->large);
}

/* Handles to objects, each with a reference: -EINVAL, -EBADF. */
static int cfg_get(struct dms_ctx *ctx, const struct dmastream_stream_opts *opts,
		   struct dms_stream_cfg *cfg)
{
	bool posted = opts->flags & DMASTREAM_STREAM_POSTED;

	memset(cfg, 0, sizeof(*cfg));
	if ((opts->flags & ~DMASTREAM_STREAM_FLAGS) || opts->weight > DMASTREAM_WEIGHT_MAX)
		return -EINVAL;
	if (opts->flags & DMASTREAM_STREAM_PUSH && !posted)
		return -EINVAL;
	if (posted ? opts->small_group || opts->large_group : !opts->small_group)
		return -EINVAL;

	cfg->flags = opts->flags;
	cfg->cookie = opts->cookie;
	cfg->weight = opts->weight ?: 1;
	cfg->ring = dms_ctx_ring(ctx, opts->ring);
	if (opts->small_group)
		cfg->small = dms_ctx_group(ctx, opts->small_group);
	if (opts->large_group)
		cfg->large = dms_ctx_group(ctx, opts->large_group);
	if (cfg->ring && (posted || cfg->small) && (!opts->large_group || cfg->large))
		return 0;
	cfg_put(cfg);
	return -EBADF;
}

/*
 * ACCEPT and CONNECT cannot be undone without a trace at the peer, so that the
 * process's structure is written to before they begin.  Should the last copy fail
 * all the same, then the process took the page away meanwhile, and the stream
 * that it cannot know of ends.
 */
static int call_opened(struct dms_call *call, u32 handle)
{
	struct dms_stream *stream;
	int err = dms_call_out(call);

	if (err && handle) {
		stream = dms_ctx_del_stream(call->obj, handle);
		if (stream)
			dms_stream_orphan(stream);
	}
	return err;
}

static int call_accept(struct dms_call *call)
{
	struct dmastream_accept *arg = call->arg;
	struct dms_listener *l;
	struct dms_stream_cfg cfg;
	int err;

	/* the lane is chosen by who connects */
	if (arg->flags & ~DMASTREAM_OPEN_FLAGS || arg->opts.flags & DMASTREAM_STREAM_LATENCY)
		return -EINVAL;
	arg->stream = 0;
	arg->listener_cookie = 0;
	memset(&arg->peer, 0, sizeof(arg->peer));
	err = dms_call_out(call);
	if (err)
		return err;
	l = dms_ctx_listener(call->obj, arg->listener);
	if (!l)
		return -EBADF;
	err = cfg_get(call->obj, &arg->opts, &cfg);
	if (err)
		goto put_listener;
	err = dms_stream_accept(call->obj, l, &cfg, arg);
	if (err)
		cfg_put(&cfg);
	else
		err = call_opened(call, arg->stream);
put_listener:
	dms_listener_put(l);
	return err;
}

static int addr_check_v4(const struct dmastream_addr *a)
{
	__be32 ip;

	memcpy(&ip, a->addr, sizeof(ip));
	if (memchr_inv(a->addr + sizeof(ip), 0, sizeof(a->addr) - sizeof(ip)) || a->scope_id ||
	    ipv4_is_zeronet(ip) || ipv4_is_multicast(ip) || ipv4_is_lbcast(ip))
		return -EINVAL;
	return 0;
}

static int addr_check_v6(const struct dmastream_addr *a)
{
	struct in6_addr ip;
	int type;

	memcpy(&ip, a->addr, sizeof(ip));
	type = ipv6_addr_type(&ip);
	if (type == IPV6_ADDR_ANY || (type & (IPV6_ADDR_MULTICAST | IPV6_ADDR_MAPPED)))
		return -EINVAL;
	/* an interface is named where the address does not, and only there */
	if (!!(type & IPV6_ADDR_LINKLOCAL) != !!a->scope_id)
		return -EINVAL;
	return 0;
}

/* An address of one node: -EINVAL, -EAFNOSUPPORT. */
static int addr_check(const struct dmastream_addr *a)
{
	switch (a->family) {
	case AF_INET:
		return addr_check_v4(a);
	case AF_INET6:
		return addr_check_v6(a);
	default:
		return -EAFNOSUPPORT;
	}
}

static int call_connect(struct dms_call *call)
{
	struct dmastream_connect *arg = call->arg;
	struct dms_stream_cfg cfg;
	int err;

	if ((arg->flags & ~DMASTREAM_OPEN_FLAGS) || !arg->timeout_ms || arg->reserved ||
	    !dms_wire_service_ok(arg->service))
		return -EINVAL;
	err = addr_check(&arg->peer);
	if (err)
		return err;
	arg->stream = 0;
	arg->err_class = DMASTREAM_ERR_NONE;
	arg->err_detail = 0;
	err = dms_call_out(call);
	if (err)
		return err;
	err = cfg_get(call->obj, &arg->opts, &cfg);
	if (err)
		return err;
	err = dms_stream_connect(call->obj, &cfg, arg);
	if (!err)
		return call_opened(call, arg->stream);
	cfg_put(&cfg);
	/* class and detail say why; that they cannot be written changes nothing */
	if (dms_call_out(call))
		return err;
	return err;
}

/*
 * A stream by handle, with a reference, when what was published for it before is
 * submitted.  On a polled ring that may still be the poller's business: it would come
 * after a request that the process made later.  What lacks a slot of the completion
 * queue stays behind, as it does with ENTER.
 */
static struct dms_stream *call_stream(struct dms_call *call, u32 handle)
{
	struct dms_stream *stream = dms_ctx_stream(call->obj, handle);
	struct dms_ring *ring = stream ? READ_ONCE(stream->ring) : NULL;

	if (ring && ring->poller)
		dms_ring_submit(ring, ring->sq_entries);
	return stream;
}

static int call_shutdown(struct dms_call *call)
{
	struct dmastream_shutdown *arg = call->arg;
	struct dms_stream *stream;
	int err;

	if (arg->flags)
		return -EINVAL;
	stream = call_stream(call, arg->stream);
	if (!stream)
		return -EBADF;
	err = dms_stream_shutdown(stream);
	dms_stream_put(stream);
	return err;
}

static int call_close(struct dms_call *call)
{
	struct dmastream_close *arg = call->arg;
	struct dms_stream *stream;
	struct dms_pool *pool;

	switch (arg->type) {
	case DMASTREAM_OBJ_POOL:
		if (arg->flags || arg->timeout_ms || arg->user_data)
			return -EINVAL;
		pool = dms_ctx_del(call->obj, DMS_POOLS, arg->handle);
		if (!pool)
			return -EBADF;
		atomic_dec(&pool->attachments);
		dms_pool_put(pool);
		return 0;
	case DMASTREAM_OBJ_STREAM:
		if (arg->flags & ~DMASTREAM_CLOSE_FLAGS)
			return -EINVAL;
		stream = call_stream(call, arg->handle);
		if (!stream)
			return -EBADF;
		dms_stream_put(stream);
		stream = dms_ctx_del_stream(call->obj, arg->handle);
		if (!stream)
			return -EBADF;
		return dms_stream_close(stream, arg);
	default:
		return -EINVAL;
	}
}

static int call_stream_query(struct dms_call *call)
{
	struct dmastream_stream_query *arg = call->arg;
	struct dms_stream *stream;

	if (arg->flags)
		return -EINVAL;
	stream = dms_ctx_stream(call->obj, arg->stream);
	if (!stream)
		return -EBADF;
	dms_stream_query(stream, arg);
	dms_stream_put(stream);
	return 0;
}

static int call_cancel(struct dms_call *call)
{
	struct dmastream_cancel *arg = call->arg;
	struct dms_stream *stream;
	int err;

	if (arg->flags)
		return -EINVAL;
	stream = call_stream(call, arg->stream);
	if (!stream)
		return -EBADF;
	err = dms_stream_cancel(stream, arg->user_data);
	dms_stream_put(stream);
	return err;
}

/* The first version of each is the present one. */
#define CALL(nr, type, own, handler) \
	[_IOC_NR(nr)] = { sizeof(struct type), sizeof(struct type), own, handler }

static const struct dms_ioctl_def ctx_defs[] = {
	CALL(DMASTREAM_IOC_QUERY,	 dmastream_query,	 false, call_query),
	CALL(DMASTREAM_IOC_POOL_CREATE,	 dmastream_pool_create,	 true,	call_pool_create),
	CALL(DMASTREAM_IOC_POOL_ATTACH,	 dmastream_pool_attach,	 true,	call_pool_attach),
	CALL(DMASTREAM_IOC_GROUP_CREATE, dmastream_group_create, true,	call_group_create),
	CALL(DMASTREAM_IOC_RING_CREATE,	 dmastream_ring_create,	 true,	call_ring_create),
	CALL(DMASTREAM_IOC_LISTEN,	 dmastream_listen,	 true,	call_listen),
	CALL(DMASTREAM_IOC_ACCEPT,	 dmastream_accept,	 true,	call_accept),
	CALL(DMASTREAM_IOC_CONNECT,	 dmastream_connect,	 true,	call_connect),
	CALL(DMASTREAM_IOC_SHUTDOWN,	 dmastream_shutdown,	 false,	call_shutdown),
	CALL(DMASTREAM_IOC_CLOSE,	 dmastream_close,	 false,	call_close),
	CALL(DMASTREAM_IOC_STREAM_QUERY, dmastream_stream_query, false,	call_stream_query),
	CALL(DMASTREAM_IOC_CANCEL,	 dmastream_cancel,	 false,	call_cancel),
};

static const struct dms_ioctl_table ctx_table = { ctx_defs, 0, ARRAY_SIZE(ctx_defs) };

/**
 * dms_ctx_ioctl() - a request on /dev/dmastream
 * @file: file of a context
 * @cmd: from the process
 * @arg: from the process
 *
 * Context: Process context, may sleep.
 * Return: 0 or a negative errno.
 */
long dms_ctx_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return dms_ioctl(&ctx_table, file->private_data, cmd, arg);
}
