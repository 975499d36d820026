/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rails: over which NICs a session's paths go.  core/rail.c pairs the addresses; here they
 * are found, and told.
 */
#ifndef DMS_RAILS_H
#define DMS_RAILS_H

#include <linux/types.h>

struct dms_session;
struct sockaddr_storage;

/* What HELLO says of our addresses; before it is sent. */
void dms_rails_fill(struct dms_session *s);
/* Both HELLOs are there; session->lock held. */
void dms_rails_agree(struct dms_session *s);
/* Any context. */
void dms_rails_addrs(const struct dms_session *s, u32 rail, struct sockaddr_storage *src,
		     struct sockaddr_storage *dst);

#endif /* DMS_RAILS_H */
