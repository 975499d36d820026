// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bound on bytes.  Nothing is taken that would bring used above limit; used
 * is above it only after the limit went down, until enough was given back.
 */
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
