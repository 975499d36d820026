/* SPDX-License-Identifier: GPL-2.0-only */
/* The incast budget of a NIC: who pulls next, and how much at once. */
#ifndef DMS_INCAST_H
#define DMS_INCAST_H

#include <linux/types.h>

struct dms_ibdev;
struct dms_stream;

void dms_incast_init(struct dms_ibdev *ibdev, u64 budget);
/* May the stream pull?  *@len is lowered to what may be pulled at once. */
bool dms_incast_take(struct dms_stream *s, u32 left, u32 *len, u64 *charge);
/* Bytes were pulled, or never will be. */
void dms_incast_put(struct dms_ibdev *ibdev, u64 charge);
/* A landing of so many bytes is granted, or is no more.  Nobody waits for it. */
bool dms_incast_grant(struct dms_ibdev *ibdev, u32 len, u64 *charge);
void dms_incast_ungrant(struct dms_ibdev *ibdev, u64 charge);
/* The stream does not pull now: it neither waits nor has anything. */
void dms_incast_leave(struct dms_stream *s);

#endif /* DMS_INCAST_H */
