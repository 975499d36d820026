/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Receives of a NIC, moved between its queue pairs: how many each has posted,
 * out of one budget.  Documentation/flow-control.rst has the rules.
 */
#ifndef DMS_RECV_H
#define DMS_RECV_H

#include <linux/types.h>

struct dms_ibdev;
struct dms_path;

void dms_recv_init(struct dms_ibdev *ibdev);
/* No path is on the device any more. */
void dms_recv_exit(struct dms_ibdev *ibdev);
/* The path has its floor: 0, -EAGAIN: soon, -ENOBUFS: not with this budget. */
int dms_recv_join(struct dms_path *path);
void dms_recv_leave(struct dms_path *path);

/* ---- what path.c calls; path->lock held ---- */

/* Receives that the transport should post in addition. */
u32 dms_recv_grow(struct dms_path *path);
void dms_recv_grown(struct dms_path *path, u32 posted);
void dms_recv_back(struct dms_path *path, u32 count);
/* The peer wanted to send, and could not: perhaps more are posted. */
void dms_recv_stalled(struct dms_path *path);
/* Packets that the peer should have sent in all; false: nothing is asked back. */
bool dms_recv_until(const struct dms_path *path, u32 *until);

/* For those who connect: most that a queue pair of ours ever posts; the least. */
u32 dms_recv_ceiling(void);
u32 dms_recv_floor(void);

#endif /* DMS_RECV_H */
