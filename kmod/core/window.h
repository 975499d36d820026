/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bound on bytes: the send window of a path (sent eagerly or announced and
 * not done), the incast budget of a NIC (being pulled).  delay.h moves a send
 * window's limit.
 *
 * Something larger than the whole bound passes when nothing else is out, so
 * that it cannot wait for ever; it is then charged the bound alone.
 */
#ifndef DMS_CORE_WINDOW_H
#define DMS_CORE_WINDOW_H

#include <linux/types.h>

struct dms_window {
	u64	limit;
	u64	used;
	u64	high;		/* most that was ever used */
};

void dms_window_init(struct dms_window *w, u64 limit);
/* What @bytes would be charged. */
u64 dms_window_charge(const struct dms_window *w, u64 bytes);
/* Takes the charge and returns true, or changes nothing. */
bool dms_window_take(struct dms_window *w, u64 charge);
/* A small one may overdraw: used <= limit + limit / 8. */
bool dms_window_take_small(struct dms_window *w, u64 charge);
/* No room at all. */
bool dms_window_shut(const struct dms_window *w);
void dms_window_put(struct dms_window *w, u64 charge);
/* What is out may be more than the new limit: nothing is taken until it is less. */
void dms_window_resize(struct dms_window *w, u64 limit);

#endif /* DMS_CORE_WINDOW_H */
