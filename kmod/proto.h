/* SPDX-License-Identifier: GPL-2.0-only */
/* Frames that arrived on a path, to the streams that they are for. */
#ifndef DMS_PROTO_H
#define DMS_PROTO_H

#include "core/wire.h"

struct dms_path;

/* Process context, one at a time per path; not 0: the rule that the peer broke. */
enum dms_rule dms_proto_frame(struct dms_path *path, const struct dms_frame *f);

#endif /* DMS_PROTO_H */
