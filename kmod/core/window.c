// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bound on bytes.  Nothing is taken that would bring used above limit; used
 * is above it only after the limit went down, until enough was given back.
 */
#include <linux/minmax.h>

#include "window.h"

/**
 * dms_window_init() - an empty window
 * @w: window
 * @limit: bytes; 0 is no bound: everything is charged 0
 *
 * Context: Any.
 */
void dms_window_init(struct dms_window *w, u64 limit)
{
	w->limit = limit;
	w->used = 0;
	w->high = 0;
}

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
u64 dms_window_charge(const struct dms_window *w, u64 bytes)
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
bool dms_window_take(struct dms_window *w, u64 charge)
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
bool dms_window_take_small(struct dms_window *w, u64 charge)
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
 * dms_window_shut() - is there no room at all?
 * @w: window
 *
 * For who gives turns: while a window is shut, nobody should have one.
 *
 * Context: Any.
 * Return: true when dms_window_take() would refuse every charge but 0.
 */
bool dms_window_shut(const struct dms_window *w)
{
	return w->limit && w->used >= w->limit;
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
void dms_window_put(struct dms_window *w, u64 charge)
{
	w->used -= min_t(u64, charge, w->used);
}

/**
 * dms_window_resize() - another limit
 * @w: window
 * @limit: bytes; 0 is no bound.  What is out stays charged as it is.
 *
 * Context: Any.
 */
void dms_window_resize(struct dms_window *w, u64 limit)
{
	w->limit = limit;
}
