/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys: fast-registration memory regions that let a peer READ one segment, or WRITE one
 * message into a landing.
 */
#ifndef DMS_MR_H
#define DMS_MR_H

#include <linux/types.h>

struct dms_key;
struct dms_path;
struct dms_pool;
struct dms_rdma;
struct dms_tile;

/*
 * A region's key has 8 bits that change with each registration.  It is
 * replaced before they come round, so that a key that somebody kept never
 * opens what a later one was made for.
 */
#define DMS_KEY_REUSES	255

void dms_mr_init(struct dms_rdma *tp);
int dms_mr_make(struct dms_rdma *tp);
void dms_mr_destroy(struct dms_rdma *tp);
void dms_mr_answer(struct dms_rdma *tp);

int dms_mr_expose(struct dms_path *path, struct dms_key *key,
		  struct dms_pool *pool, const struct dms_tile *tile, u32 at, u32 len);
int dms_mr_revoke(struct dms_path *path, struct dms_key *key);

#endif /* DMS_MR_H */
