/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A listener: a service's name and its bounded backlog.
 *
 * Lifetime: kref: its file, its handle, every stream that came through it (until
 * that is freed), ACCEPTs that wait.  Released file: refuses the backlog, ends the ACCEPTs.
 */
#ifndef DMS_LISTENER_H
#define DMS_LISTENER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/dmastream.h>

struct dms_ctx;
struct dms_node;
struct dms_stream;
struct file;

struct dms_listener {
	struct kref		ref;
	struct dms_node		*node;
	struct dms_ctx		*ctx;		/* reference (memory only) */
	struct list_head	node_link;	/* node->services, node->lock */
	char			service[DMASTREAM_SERVICE_MAX];
	u64			cookie;
	u32			handle;
	u32			max;
	/* lock: everything below.  Process context; inside stream->lock. */
	spinlock_t		lock;
	bool			dead;
	u32			len;
	struct list_head	backlog;	/* stream->listener_node, each with a reference */
	struct list_head	accepts;	/* asynchronous ACCEPTs that wait, listener.c */
	wait_queue_head_t	wq;
	struct work_struct	match_work;	/* streams of the backlog to accepts */
};

struct dms_listener *dms_listener_create(struct dms_ctx *ctx, const struct dmastream_listen *arg);
struct file *dms_listener_file(struct dms_listener *l);
void dms_listener_get(struct dms_listener *l);
void dms_listener_put(struct dms_listener *l);
void dms_listener_shutdown(struct dms_listener *l);	/* context ends or file released */
/* By name, with a reference, or NULL. */
struct dms_listener *dms_listener_find(struct dms_node *node, const char *service);

/* 0, or enum dmastream_refusal; the backlog takes a reference of its own.  No lock held. */
u32 dms_listener_push(struct dms_listener *l, struct dms_stream *s);
/* The stream ended before it was accepted; does nothing when it was.  No lock held. */
void dms_listener_remove(struct dms_stream *s);

#endif /* DMS_LISTENER_H */
