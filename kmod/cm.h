/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections of queue pairs, by rdma_cm.
 */
#ifndef DMS_CM_H
#define DMS_CM_H

#include <linux/socket.h>
#include <linux/types.h>

struct dms_node;
struct dms_path;

/* ---- what node.c calls ---- */

/* node->lock held; sets node->rdma.  0 also when there is no RDMA device (yet). */
int dms_cm_listen(struct dms_node *node, u16 port);
/* node->lock held; does nothing when it does not listen */
void dms_cm_unlisten(struct dms_node *node);
/*
 * Waits for connection requests that arrived before dms_cm_unlisten() and are
 * being looked at: before a node is freed; node->lock not held.
 */
void dms_cm_flush(void);

/* ---- what the session calls ---- */

/* The path is in state INIT.  On an error it was killed. */
int dms_cm_dial(struct dms_path *path, const struct sockaddr_storage *src,
		const struct sockaddr_storage *dst);

/* ---- ibdev.c ---- */
int dms_cm_init(void);
void dms_cm_exit(void);

/* local ACK timeout of queue pairs, in ms */
u32 dms_cm_ack_ms(void);

/* cm_probe.c */
int dms_cm_probe(struct dms_path *path, const struct sockaddr_storage *src,
		 const struct sockaddr_storage *dst);

#endif /* DMS_CM_H */
