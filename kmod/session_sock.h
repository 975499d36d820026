/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The TCP connection of a session.
 *
 * All of it happens in session->sock_work, one run at a time, so that the
 * socket and its buffers need no lock.  The socket's callbacks and everybody
 * else only set a flag and queue that work.  kill_work takes over after it has
 * cancelled it.
 */
#ifndef DMS_SESSION_SOCK_H
#define DMS_SESSION_SOCK_H

#include <linux/types.h>

#include "core/wire.h"

struct dms_session;
struct socket;

int dms_sock_init(struct dms_session *s);
void dms_sock_free(struct dms_session *s);
void dms_sock_adopt(struct dms_session *s, struct socket *sock);
void dms_sock_close(struct dms_session *s);
void dms_sock_turn_away(struct socket *sock, u32 reason, const u8 *nonce);

/* For hello.c; in sock_work only. */
void dms_sock_say_hello(struct dms_session *s);
void dms_sock_say_bye(struct dms_session *s);
void dms_sock_refuse(struct dms_session *s, u32 reason, u32 detail);
void dms_sock_hang_up(struct dms_session *s);
void dms_sock_broken(struct dms_session *s, enum dms_rule rule, const char *what);

#endif /* DMS_SESSION_SOCK_H */
