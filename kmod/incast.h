/* SPDX-License-Identifier: GPL-2.0-only */
/* The incast budget of a NIC: bytes being pulled, over all peers.  Fixed for now. */
#ifndef DMS_INCAST_H
#define DMS_INCAST_H

#include <linux/types.h>

struct dms_ibdev;
struct dms_path;

/* False: over the budget; the path is woken when some is given back.  path->lock held. */
bool dms_incast_take(struct dms_path *path, u32 bytes, u64 *charge);
void dms_incast_put(struct dms_ibdev *ibdev, u64 charge);
/* The path dies. */
void dms_incast_forget(struct dms_path *path);

#endif /* DMS_INCAST_H */
