// SPDX-License-Identifier: GPL-2.0-only
/*
 * The window control of Swift, in integers.
 *
 * Fractions are in units of 1/65536.  The window is always between floor and cap,
 * whatever the caller's clock does.
 */
#include <linux/minmax.h>

#include "delay.h"
#include "window.h"

#define DELAY_SHIFT	16
#define DELAY_BETA	52429	/* 0.8, as the paper's */
#define DELAY_CUT_MAX	32768	/* max_mdf: 0.5, as the paper's */

static void delay_limit(struct dms_delay *d, struct dms_window *w, u64 limit)
{
	dms_window_resize(w, clamp_t(u64, limit, d->conf.floor, d->conf.cap));
}

/**
 * dms_delay_set() - other bounds and targets
 * @d: controller
 * @w: its window; is moved between the new bounds at once
 * @conf: floor and cap are put in order: 1 <= floor <= cap <= DMS_DELAY_CAP_MAX
 *
 * Context: Any.
 */
void dms_delay_set(struct dms_delay *d, struct dms_window *w,
		   const struct dms_delay_conf *conf)
{
	d->conf = *conf;
	d->conf.floor = clamp_t(u64, conf->floor, 1, DMS_DELAY_CAP_MAX);
	d->conf.cap = clamp_t(u64, conf->cap, d->conf.floor, DMS_DELAY_CAP_MAX);
	delay_limit(d, w, w->limit);
}

/**
 * dms_delay_init() - begin at the floor
 * @d: controller
 * @w: its window, emptied
 * @conf: see dms_delay_set()
 *
 * Context: Any.
 */
void dms_delay_init(struct dms_delay *d, struct dms_window *w,
		    const struct dms_delay_conf *conf)
{
	d->acked = 0;
	d->cut_ns = 0;
	d->delay_ns = 0;
	d->grown = 0;
	d->cuts = 0;
	d->slow_start = true;
	d->measured = false;
	dms_window_init(w, 1);
	dms_delay_set(d, w, conf);
}

static void delay_smooth(struct dms_delay *d, u64 delay)
{
	/* 1/8, as the smoothed round trip time of RFC 6298 */
	if (d->measured)
		d->delay_ns = d->delay_ns - (d->delay_ns >> 3) + (delay >> 3);
	else
		d->delay_ns = delay;
	d->measured = true;
}

/*
 * The paper adds step * acked / window for each acknowledgment.  Here acked is
 * summed until it is a window, which needs no division.  One sample counts for
 * one window at most.
 */
static void delay_grow(struct dms_delay *d, struct dms_window *w, u32 bytes)
{
	u64 before = w->limit;

	/* What did not fill the window says nothing about a wider one. */
	if (w->used < w->limit >> 1)
		return;
	if (d->slow_start) {
		delay_limit(d, w, w->limit + min_t(u64, bytes, w->limit));
	} else {
		d->acked += bytes;
		if (d->acked < w->limit)
			return;
		d->acked = 0;
		delay_limit(d, w, w->limit + d->conf.step);
	}
	if (w->limit != before)
		d->grown++;
}

/* @over / @delay; @over < @delay <= DMS_DELAY_NS_MAX. */
static u32 delay_fraction(u64 over, u64 delay)
{
	/* Both to 16 bits: then a division of 32 bits does, exact to 2^-15. */
	while (delay >> (32 - DELAY_SHIFT)) {
		delay >>= 1;
		over >>= 1;
	}
	return ((u32)over << DELAY_SHIFT) / (u32)delay;
}

/* A cut is of a byte at least: else windows could rest just above the target, too. */
static void delay_cut(struct dms_delay *d, struct dms_window *w, u64 over,
		      u64 delay, u64 now)
{
	u64 before = w->limit, less;
	u32 part;

	part = (DELAY_BETA * delay_fraction(over, delay)) >> DELAY_SHIFT;
	part = min_t(u32, part, DELAY_CUT_MAX);
	/* limit is at most 2^40, and part 2^15 */
	less = max_t(u64, (w->limit * part) >> DELAY_SHIFT, 1);
	delay_limit(d, w, w->limit - less);
	d->cut_ns = now;
	d->acked = 0;
	d->slow_start = false;
	if (w->limit != before)
		d->cuts++;
}

/* Is it a round trip since the last one? */
static bool delay_may_cut(struct dms_delay *d, u64 delay, u64 now)
{
	s64 since = (s64)(now - d->cut_ns);

	if (d->slow_start)
		return true;	/* there was none */
	if (since < 0) {
		/* The clock went back: wait for a round trip from here. */
		d->cut_ns = now;
		return false;
	}
	return (u64)since >= delay;
}

/**
 * dms_delay_sample() - something that the window was charged for came through
 * @d: controller
 * @w: its window; what came through is still charged
 * @bytes: how long it was
 * @delay_ns: from when it was posted, or announced to be pulled, until it was done
 * @now_ns: of any clock that does not stop for long
 *
 * Context: Any.
 */
void dms_delay_sample(struct dms_delay *d, struct dms_window *w, u32 bytes,
		      u64 delay_ns, u64 now_ns)
{
	u64 target = d->conf.target_ns + (u64)d->conf.ns_per_kib * (bytes >> 10);
	u64 delay = min_t(u64, delay_ns, DMS_DELAY_NS_MAX);

	delay_smooth(d, delay);
	/*
	 * The paper stands still at the target.  Windows would rest there for ever,
	 * however unequal they are.
	 */
	if (delay <= target)
		delay_grow(d, w, bytes);
	else if (delay_may_cut(d, delay, now_ns))
		delay_cut(d, w, delay - target, delay, now_ns);
}
