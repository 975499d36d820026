/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sends of a queue pair ask for a completion (selective signalling).
 *
 * A completion tells of the send that asked for it and of all before it, so most
 * need not ask.  One that did not ask holds what it has until a later one is
 * told of.  So the last one must ask whenever somebody waits for what sends hold:
 * the caller says so.
 */
#ifndef DMS_CORE_SIGNAL_H
#define DMS_CORE_SIGNAL_H

#include <linux/minmax.h>
#include <linux/types.h>

/* Sends that one completion tells of, at most. */
#define DMS_SIGNAL_EVERY	16

struct dms_signal {
	u32	quiet;		/* sends since the last one that asked */
	u32	every;		/* one of so many asks at least; 1: each */
};

/**
 * dms_signal_init() - nothing was sent yet
 * @s: state
 * @depth: sends that can be out at a time
 *
 * At most a quarter of them is held by sends that did not ask.
 *
 * Context: Any.
 */
static inline void dms_signal_init(struct dms_signal *s, u32 depth)
{
	s->quiet = 0;
	s->every = clamp_t(u32, depth / 4, 1, DMS_SIGNAL_EVERY);
}

/**
 * dms_signal_next() - does the send that is posted now ask?
 * @s: state
 * @must: somebody waits, or will, for what it or those before it hold
 *
 * Context: Any.
 * Return: true when it does.
 */
static inline bool dms_signal_next(struct dms_signal *s, bool must)
{
	if (!must && s->quiet + 1 < s->every) {
		s->quiet++;
		return false;
	}
	s->quiet = 0;
	return true;
}

#endif /* DMS_CORE_SIGNAL_H */
