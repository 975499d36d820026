/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place where payload is copied; a link-time check holds it to that. */
#ifndef DMS_EAGER_H
#define DMS_EAGER_H

#include <linux/types.h>

struct dms_landing;
struct dms_req;

/* The message's bytes to a packet: at most DMS_COPY_MAX, or DMS_COPY_AREA of a tile. */
void dms_eager_copy_out(void *to, const struct dms_req *req);
/* A message's bytes from a received packet to the landing that its credit was. */
void dms_eager_copy_in(struct dms_landing *l, const void *from, u32 len);

#endif /* DMS_EAGER_H */
