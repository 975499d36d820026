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

#include <linux/minmax.h>
#include <linux/types.h>

struct dms_window {
	u64	limit;
	u64	used;
	u64	high;		/* most that was ever used */
};

void dms_window_init(struct dms_window *w, u64 limit);
/* No room at all. */
bool dms_window_shut(const struct dms_window *w);
/* What is out may be more than the new limit: nothing is taken until it is less. */
void dms_window_resize(struct dms_window *w, u64 limit);

/**
 * dms_window_charge() - what something is charged
 * @w: window
 * @bytes: its size
 *
 * The caller keeps the answer with what it charged, and gives back that and
 * nothing else.
 *
 * Context: Any.
 * Return: bytes, never more than the whole window.
 */
static inline u64 dms_window_charge(const struct dms_window *w, u64 bytes)
{
	return min_t(u64, bytes, w->limit);
}

/**
 * dms_window_take() - take a charge, if there is room
 * @w: window, unchanged when there is none
 * @charge: from dms_window_charge()
 *
 * Context: Any.
 * Return: true when it was taken.
 */
static inline bool dms_window_take(struct dms_window *w, u64 charge)
{
	if (charge && (w->used > w->limit || charge > w->limit - w->used))
		return false;
	w->used += charge;
	w->high = max_t(u64, w->high, w->used);
	return true;
}

/**
 * dms_window_take_small() - take a charge, and be let past others when it is small
 * @w: window, unchanged when there is no room
 * @charge: from dms_window_charge()
 *
 * What others have out in long segments comes back a segment at a time.  A charge of
 * at most 1/32 of the window does not wait for that: such ones may have the window
 * overdrawn by 1/8.
 *
 * Context: Any.
 * Return: true when it was taken.
 */
static inline bool dms_window_take_small(struct dms_window *w, u64 charge)
{
	u64 more = w->limit >> 3;

	if (dms_window_take(w, charge))
		return true;
	/* limit - used may be negative here: compare what is over with what may be */
	if (charge > w->limit >> 5 || w->used + charge < charge ||
	    w->used + charge - w->limit > more)
		return false;
	w->used += charge;
	w->high = max_t(u64, w->high, w->used);
	return true;
}

/**
 * dms_window_put() - give a charge back
 * @w: window
 * @charge: what was taken
 *
 * More than is out, which is a caller's mistake, empties the window: a bound
 * that is too wide for a while is better than one that is shut for ever.
 *
 * Context: Any.
 */
static inline void dms_window_put(struct dms_window *w, u64 charge)
{
	w->used -= min_t(u64, charge, w->used);
}

#endif /* DMS_CORE_WINDOW_H */
