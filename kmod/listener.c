// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listeners: services by name, their backlogs, and ACCEPT.
 *
 * A stream in a backlog belongs to the listener (a reference); whoever takes it
 * off under listener->lock has that reference, and either accepts or refuses
 * the stream.
 */
#include "listener.h"

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "ctx.h"
#include "fault.h"
#include "node.h"
#include "path.h"
#include "ring.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "wq.h"

/*
 * services_lock: the services of all nodes.  Process context, innermost.  Not
 * node->lock, which is held while sockets are made: a CONNECT that arrives must
 * not wait for that.
 */
static DEFINE_SPINLOCK(services_lock);

/* An asynchronous ACCEPT that waits.  Lives until its completion is posted. */
struct dms_accept {
	struct list_head	node;		/* l->accepts, listener->lock */
	struct dms_listener	*l;		/* reference */
	struct dms_ctx		*ctx;		/* reference */
	struct dms_stream_cfg	cfg;		/* references */
	u64			user_data;
	bool			for_ever;
	unsigned long		end;		/* jiffies */
	struct delayed_work	timer;
};

static void listener_match_work(struct work_struct *work);

/**
 * dms_listener_create() - announce a service
 * @ctx: owner
 * @arg: checked
 *
 * Context: process, may sleep: the first one of a namespace opens the sockets.
 * Return: with one reference; -EADDRINUSE, -ENOMEM, what listening said.
 */
struct dms_listener *dms_listener_create(struct dms_ctx *ctx, const struct dmastream_listen *arg)
{
	struct dms_listener *l, *other;
	int err;

	l = dms_fault_alloc(LISTENER) ? NULL : kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return ERR_PTR(-ENOMEM);
	err = dms_node_listen_get(ctx->node);
	if (err) {
		kfree(l);
		return ERR_PTR(err);
	}
	kref_init(&l->ref);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->backlog);
	INIT_LIST_HEAD(&l->accepts);
	init_waitqueue_head(&l->wq);
	INIT_WORK(&l->match_work, listener_match_work);
	strscpy_pad(l->service, arg->service, sizeof(l->service));
	l->max = arg->backlog;
	l->cookie = arg->cookie;
	l->node = ctx->node;
	l->ctx = ctx;

	spin_lock(&services_lock);
	list_for_each_entry(other, &l->node->services, node_link)
		if (!strcmp(other->service, l->service))
			err = -EADDRINUSE;
	if (!err)
		list_add_tail(&l->node_link, &l->node->services);
	spin_unlock(&services_lock);
	if (err) {
		dms_node_listen_put(l->node);
		kfree(l);
		return ERR_PTR(err);
	}
	dms_ctx_get(ctx);		/* put in listener_release() */
	dms_gauge_inc(DMS_GAUGE_LISTENERS);
	return l;
}

static void listener_release(struct kref *ref)
{
	struct dms_listener *l = container_of(ref, struct dms_listener, ref);

	WARN_ON_ONCE(!list_empty(&l->backlog) || !list_empty(&l->accepts));
	dms_ctx_put(l->ctx);
	kfree(l);
}

void dms_listener_get(struct dms_listener *l)
{
	kref_get(&l->ref);
}

void dms_listener_put(struct dms_listener *l)
{
	kref_put(&l->ref, listener_release);
}

/**
 * dms_listener_find() - by name
 * @node: of the peer's session
 * @service: NUL-terminated
 *
 * Return: with a reference, or NULL.
 */
struct dms_listener *dms_listener_find(struct dms_node *node, const char *service)
{
	struct dms_listener *l, *found = NULL;

	spin_lock(&services_lock);
	list_for_each_entry(l, &node->services, node_link) {
		if (!strcmp(l->service, service)) {
			dms_listener_get(l);
			found = l;
			break;
		}
	}
	spin_unlock(&services_lock);
	return found;
}

/**
 * dms_listener_push() - a connection for the backlog
 * @l: any state
 * @s: in BACKLOG; s->listener is @l
 *
 * Return: 0, or enum dmastream_refusal.
 */
u32 dms_listener_push(struct dms_listener *l, struct dms_stream *s)
{
	u32 reason = 0;

	spin_lock(&l->lock);
	if (l->dead) {
		reason = DMASTREAM_REFUSED_SERVICE;
	} else if (l->len >= l->max) {
		reason = DMASTREAM_REFUSED_BACKLOG;
	} else {
		dms_stream_get(s);	/* the backlog's */
		list_add_tail(&s->listener_node, &l->backlog);
		l->len++;
		if (!list_empty(&l->accepts))
			queue_work(dms_wq, &l->match_work);
	}
	spin_unlock(&l->lock);
	wake_up(&l->wq);
	return reason;
}

/* Off the backlog; its reference is the caller's.  listener->lock is held. */
static void listener_take(struct dms_listener *l, struct dms_stream *s)
{
	list_del_init(&s->listener_node);
	l->len--;
}

static struct dms_stream *listener_pop(struct dms_listener *l)
{
	struct dms_stream *s;

	spin_lock(&l->lock);
	s = list_first_entry_or_null(&l->backlog, struct dms_stream, listener_node);
	if (s)
		listener_take(l, s);
	spin_unlock(&l->lock);
	return s;
}

/**
 * dms_listener_remove() - a stream ended before it was accepted
 * @s: any; when it is in no backlog nothing happens
 *
 * Context: process, no lock held; the caller has a reference on the stream.
 */
void dms_listener_remove(struct dms_stream *s)
{
	/* Set from the beginning, and kept until it is freed. */
	struct dms_listener *l = s->listener;
	bool taken = false;

	if (!l)
		return;
	spin_lock(&l->lock);
	if (!list_empty(&s->listener_node)) {
		listener_take(l, s);
		taken = true;
	}
	spin_unlock(&l->lock);
	if (taken)
		dms_stream_put(s);	/* of dms_listener_push() */
}

/* ---- ACCEPT ---- */

/* -EAGAIN: the backlog is empty.  @cqe: of an asynchronous one, or NULL. */
static int accept_one(struct dms_listener *l, struct dms_ctx *ctx,
		      const struct dms_stream_cfg *cfg, const struct dmastream_cqe *cqe,
		      u32 *handle, struct dmastream_addr *peer)
{
	struct dms_stream *s;
	int err;

	while ((s = listener_pop(l))) {
		err = dms_ctl_do_accept(s, ctx, cfg, cqe, handle);
		if (!err && peer)
			dms_stream_peer(s, peer);
		if (err && err != -ECONNABORTED)
			dms_ctl_refuse(s, DMASTREAM_REFUSED_MEMORY);
		dms_stream_put(s);	/* the backlog's */
		if (err != -ECONNABORTED)
			return err;
	}
	return -EAGAIN;
}

static void cfg_put(const struct dms_stream_cfg *cfg)
{
	dms_ring_put(cfg->ring);
	if (cfg->small)
		dms_group_put(cfg->small);
	if (cfg->large)
		dms_group_put(cfg->large);
}

/* listener->lock is held; the accept is on the list. */
static void accept_arm(struct dms_accept *a)
{
	if (!a->for_ever)
		queue_delayed_work(dms_wq, &a->timer,
				   time_after(a->end, jiffies) ? a->end - jiffies : 0);
}

static void accept_cqe(const struct dms_accept *a, struct dmastream_cqe *cqe)
{
	*cqe = (struct dmastream_cqe) {
		.user_data = a->user_data,
		.flags = DMASTREAM_OP_ACCEPT << DMASTREAM_CQE_OP_SHIFT,
		.tag = a->l->cookie,
	};
}

/* Off the list; the caller has dropped listener->lock.  0: its completion was posted. */
static void accept_finish(struct dms_accept *a, int err)
{
	struct dmastream_cqe cqe;

	if (err) {
		accept_cqe(a, &cqe);
		cqe.result = err;
		dms_ring_post_reserved(a->cfg.ring, &cqe);
	}
	cfg_put(&a->cfg);
	dms_ctx_put(a->ctx);
	dms_listener_put(a->l);
	kfree(a);
}

static struct dms_accept *accept_pop(struct dms_listener *l, bool need_stream)
{
	struct dms_accept *a = NULL;

	spin_lock(&l->lock);
	if (!need_stream || !list_empty(&l->backlog))
		a = list_first_entry_or_null(&l->accepts, struct dms_accept, node);
	if (a)
		list_del_init(&a->node);
	spin_unlock(&l->lock);
	/* A timer that runs now finds it off the list, and waits for nothing. */
	if (a)
		cancel_delayed_work_sync(&a->timer);
	return a;
}

/* Holds no reference: whoever puts the listener to rest flushes it. */
static void listener_match_work(struct work_struct *work)
{
	struct dms_listener *l = container_of(work, struct dms_listener, match_work);
	struct dmastream_cqe cqe;
	struct dms_accept *a;
	u32 handle = 0;
	int err;

	while ((a = accept_pop(l, true))) {
		accept_cqe(a, &cqe);
		err = accept_one(l, a->ctx, &a->cfg, &cqe, &handle, NULL);
		if (err == -EAGAIN) {
			/* Its stream ended meanwhile: it waits on, first in the row. */
			spin_lock(&l->lock);
			if (!l->dead) {
				list_add(&a->node, &l->accepts);
				accept_arm(a);
				a = NULL;
			}
			spin_unlock(&l->lock);
			err = -ECANCELED;
		}
		if (a)
			accept_finish(a, err);
	}
}

static void accept_timeout(struct work_struct *work)
{
	struct dms_accept *a = container_of(to_delayed_work(work), struct dms_accept, timer);
	struct dms_listener *l = a->l;
	bool mine;

	spin_lock(&l->lock);
	mine = !list_empty(&a->node);
	list_del_init(&a->node);
	spin_unlock(&l->lock);
	if (mine)
		accept_finish(a, -ETIMEDOUT);
}

static int accept_async(struct dms_ctx *ctx, struct dms_listener *l,
			struct dms_stream_cfg *cfg, const struct dmastream_accept *arg)
{
	struct dms_accept *a;
	int err;

	a = dms_fault_alloc(ACCEPT) ? NULL : kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	err = dms_ring_reserve(cfg->ring, 1);
	if (err) {
		kfree(a);
		return err;
	}
	INIT_LIST_HEAD(&a->node);
	INIT_DELAYED_WORK(&a->timer, accept_timeout);
	a->cfg = *cfg;
	a->user_data = arg->user_data;
	a->for_ever = arg->timeout_ms == DMASTREAM_TIMEOUT_NONE;
	a->end = jiffies + msecs_to_jiffies(arg->timeout_ms);
	a->l = l;
	a->ctx = ctx;
	dms_listener_get(l);
	dms_ctx_get(ctx);
	spin_lock(&l->lock);
	if (l->dead) {
		err = -ENODEV;
	} else {
		list_add_tail(&a->node, &l->accepts);
		accept_arm(a);
		queue_work(dms_wq, &l->match_work);
	}
	spin_unlock(&l->lock);
	if (err) {
		dms_ring_unreserve(cfg->ring, 1);
		dms_ctx_put(ctx);
		dms_listener_put(l);
		kfree(a);
	}
	return err;
}

/* 0: look again; else the wait is over. */
static int accept_wait(struct dms_listener *l, unsigned long end, bool for_ever)
{
	long left = MAX_SCHEDULE_TIMEOUT;

	if (!for_ever) {
		if (time_after_eq(jiffies, end))
			return -ETIMEDOUT;
		left = end - jiffies;
	}
	left = wait_event_interruptible_timeout(l->wq,
						READ_ONCE(l->len) || READ_ONCE(l->dead),
						left);
	if (left < 0)
		return -EINTR;
	return READ_ONCE(l->dead) ? -ENODEV : 0;
}

/**
 * dms_stream_accept() - ACCEPT
 * @ctx: owner of the new stream
 * @l: listener, with a reference of the caller
 * @cfg: its references are taken over when this succeeds
 * @arg: checked
 *
 * Return: 0; -EAGAIN (nothing waits, and timeout_ms is 0, or no completion
 * slot), -ETIMEDOUT, -EINTR, -ENODEV, -ENOSPC, -ENOMEM.
 */
int dms_stream_accept(struct dms_ctx *ctx, struct dms_listener *l,
		      struct dms_stream_cfg *cfg, struct dmastream_accept *arg)
{
	bool for_ever = arg->timeout_ms == DMASTREAM_TIMEOUT_NONE;
	unsigned long end = jiffies + msecs_to_jiffies(arg->timeout_ms);
	int err;

	arg->listener_cookie = l->cookie;
	if (arg->flags & DMASTREAM_OPEN_ASYNC)
		return accept_async(ctx, l, cfg, arg);
	for (;;) {
		err = accept_one(l, ctx, cfg, NULL, &arg->stream, &arg->peer);
		if (err != -EAGAIN || !arg->timeout_ms)
			break;
		err = accept_wait(l, end, for_ever);
		if (err)
			break;
	}
	if (!err)
		cfg_put(cfg);
	return err;
}

/* ---- the end, and the file ---- */

/**
 * dms_listener_shutdown() - listen no more
 * @l: any state; the second call does nothing
 *
 * Context: process, may sleep, no lock held.
 */
void dms_listener_shutdown(struct dms_listener *l)
{
	struct dms_stream *s;
	struct dms_accept *a;
	bool first;

	spin_lock(&l->lock);
	first = !l->dead;
	l->dead = true;
	spin_unlock(&l->lock);
	if (!first)
		return;
	spin_lock(&services_lock);
	list_del_init(&l->node_link);
	spin_unlock(&services_lock);
	wake_up_all(&l->wq);
	/* Nobody queues it any more: dead was seen, or will be, under the lock. */
	cancel_work_sync(&l->match_work);
	while ((a = accept_pop(l, false)))
		accept_finish(a, -ECANCELED);
	while ((s = listener_pop(l))) {
		dms_ctl_refuse(s, DMASTREAM_REFUSED_CLOSED);
		dms_stream_put(s);	/* the backlog's */
	}
	dms_node_listen_put(l->node);
	dms_gauge_dec(DMS_GAUGE_LISTENERS);
}

static __poll_t listener_poll(struct file *file, poll_table *wait)
{
	struct dms_listener *l = file->private_data;
	__poll_t mask = 0;

	/* poll_wait() queues before len is read; push() adds before it wakes. */
	poll_wait(file, &l->wq, wait);
	if (READ_ONCE(l->len))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(l->dead))
		mask |= EPOLLERR | EPOLLHUP;
	return mask;
}

static int listener_file_release(struct inode *inode, struct file *file)
{
	struct dms_listener *l = file->private_data;

	if (dms_ctx_forget(l->ctx, DMS_LISTENERS, l->handle, l))
		dms_listener_put(l);	/* the table's */
	dms_listener_shutdown(l);
	dms_listener_put(l);		/* the file's */
	return 0;
}

static void listener_fdinfo(struct seq_file *m, struct file *file)
{
	struct dms_listener *l = file->private_data;

	seq_printf(m, "dmastream-listener:\t%s\nbacklog:\t%u\nbacklog_max:\t%u\n",
		   l->service, READ_ONCE(l->len), l->max);
}

static const struct file_operations listener_fops = {
	.owner		= THIS_MODULE,
	.poll		= listener_poll,
	.release	= listener_file_release,
	.show_fdinfo	= listener_fdinfo,
	.llseek		= noop_llseek,
};

/**
 * dms_listener_file() - file on a listener
 * @l: the file takes a reference of its own
 *
 * Return: the file, or ERR_PTR.
 */
struct file *dms_listener_file(struct dms_listener *l)
{
	struct file *file;

	file = anon_inode_getfile("[dmastream-listener]", &listener_fops, l, O_RDWR | O_CLOEXEC);
	if (!IS_ERR(file))
		dms_listener_get(l);	/* put in listener_file_release() */
	return file;
}
