/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A send window that adapts to measured delay: the window control of Swift
 * (G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control
 * in the Datacenter", SIGCOMM 2020, algorithm 1).
 *
 * Taken from it: up to the target delay the window grows by a fixed step for each
 * window that was acknowledged; above it, it shrinks by a factor that depends on
 * how far above, by half at most, and at most once a round trip.
 *
 * Not taken: windows below one packet with pacing (the floor is at least a
 * segment, and the receiver's incast budget does what pacing is for there);
 * targets that depend on hops and on the number of flows; separate windows for
 * fabric and host; reactions to loss, which the queue pair repairs unseen.
 *
 * Added: the target grows with the size of what was measured, since a segment of
 * 2 MiB is under way for a while on an idle fabric too; the window doubles each
 * round trip until it shrinks for the first time (slow start, RFC 5681); it does
 * not grow while less than half of it is in use (after RFC 7661).
 */
#ifndef DMS_CORE_DELAY_H
#define DMS_CORE_DELAY_H

#include <linux/types.h>

struct dms_window;

/* No window is wider, no delay counts for more: products stay below 2^64. */
#define DMS_DELAY_CAP_MAX	(1ULL << 40)	/* bytes */
#define DMS_DELAY_NS_MAX	(1ULL << 40)	/* 18 minutes */

struct dms_delay_conf {
	u64	floor;		/* bytes; 1 at least */
	u64	cap;		/* bytes; as floor: the window is fixed */
	u32	target_ns;	/* of something without length */
	u32	ns_per_kib;	/* and for each KiB: what the link takes for it */
	u32	step;		/* bytes, per window that was acknowledged */
};

struct dms_delay {
	struct dms_delay_conf	conf;
	u64	acked;		/* bytes since the window grew last */
	u64	cut_ns;		/* when it shrank last */
	u64	delay_ns;	/* smoothed, for the operator */
	u32	grown, cuts;	/* how often */
	bool	slow_start;
	bool	measured;	/* delay_ns is one */
};

/* Begins at the floor; @w is initialized too. */
void dms_delay_init(struct dms_delay *d, struct dms_window *w,
		    const struct dms_delay_conf *conf);
/* Other bounds and targets, at any time. */
void dms_delay_set(struct dms_delay *d, struct dms_window *w,
		   const struct dms_delay_conf *conf);
/* Before what was measured is put back to the window. */
void dms_delay_sample(struct dms_delay *d, struct dms_window *w, u32 bytes,
		      u64 delay_ns, u64 now_ns);

#endif /* DMS_CORE_DELAY_H */
