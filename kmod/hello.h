/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The handshake: what is said, what is accepted, and which of two dials that
 * cross survives.
 */
#ifndef DMS_HELLO_H
#define DMS_HELLO_H

#include <linux/socket.h>
#include <linux/types.h>

#include "core/wire.h"

struct dms_session;

/* What follows is called in session->sock_work, no lock held. */
void dms_hello_dialled(struct dms_session *s);
void dms_hello_asked(struct dms_session *s, const struct dms_hello *theirs);
void dms_hello_answered(struct dms_session *s, const struct dms_hello *theirs);
void dms_hello_refused(struct dms_session *s, u32 reason, u32 detail, const u8 *nonce);
void dms_hello_retry(struct dms_session *s);

#endif /* DMS_HELLO_H */
