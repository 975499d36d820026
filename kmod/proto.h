/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames that arrived on a path, to the streams that they are for. */
#ifndef DMS_PROTO_H
#define DMS_PROTO_H

#include "core/wire.h"

struct dms_path;
struct dms_stream;

/* The frames of a packet, in order; begins with the path alone. */
struct dms_proto_run {
	struct dms_path		*path;
	struct dms_stream	*stream;	/* of the frame before: reference, or NULL */
	bool			data;		/* it has messages that are not delivered yet */
};

/* Process context, one at a time per path; not 0: the rule that the peer broke. */
enum dms_rule dms_proto_frame(struct dms_proto_run *run, const struct dms_frame *f);
void dms_proto_end(struct dms_proto_run *run);

#endif /* DMS_PROTO_H */
