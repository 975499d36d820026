/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The polling thread of a context: consumes the submissions of those of its
 * rings that asked for it, so that submitting is no system call.
 *
 * Lifetime: made with the first such ring, stopped by dms_ctx_shutdown(), freed
 * with the context's memory.
 */
#ifndef DMS_POLLER_H
#define DMS_POLLER_H

#include <linux/types.h>

struct dms_ctx;
struct dms_poller;
struct dms_ring;

/* Has the ring polled; -EDQUOT, -ENOMEM, -EINTR, or what making a thread says. */
int dms_poller_add(struct dms_ctx *ctx, struct dms_ring *ring, u32 idle_us);
/* The ring is dead; it may be visited once more, with a reference. */
void dms_poller_del(struct dms_ring *ring);
/* A process submitted by system call: wakes the thread when it is worth it. */
void dms_poller_arrival(struct dms_poller *p);
/* A submission that lacked a slot may go now. */
void dms_poller_wake(struct dms_poller *p);
/* No ring is added any more; waits for the thread's end. */
void dms_poller_stop(struct dms_ctx *ctx);
void dms_poller_free(struct dms_ctx *ctx);

#endif /* DMS_POLLER_H */
