// SPDX-License-Identifier: GPL-2.0-only
/*
 * The token bucket.  In any time T no more begins than T and burst_ns are worth,
 * and what was begun last is over that by its own size at most.
 *
 * A byte at 1 Mbit/s takes 8,000 ns.  With 18 bits of fraction that fits 32 bits,
 * and at DMS_RATE_MBIT_MAX the cost still has 11 bits: it is right within 0.05 %.
 */
#include <linux/minmax.h>

#include "rate.h"

#define RATE_NS_PER_BYTE	8000U	/* at 1 Mbit/s */

/**
 * dms_rate_init() - nothing was sent
 * @r: bucket, full
 * @mbit: Mbit/s (10^6), at most DMS_RATE_MBIT_MAX; 0: no limit
 * @shares: the bucket has one of so many equal shares of it, 1 to
 *	    DMS_RATE_SHARES_MAX; what is outside counts as the nearest
 * @burst_ns: time that may be saved up; at least what a wake-up comes late, or
 *	      the rate is not reached
 *
 * Context: Any.
 */
void dms_rate_init(struct dms_rate *r, u32 mbit, u32 shares, u64 burst_ns)
{
	r->cost = 0;
	r->kbit = 0;
	r->burst_ns = burst_ns;
	r->paid_ns = 0;
	r->rest = 0;
	if (!mbit)
		return;
	mbit = min_t(u32, mbit, DMS_RATE_MBIT_MAX);
	shares = clamp_t(u32, shares, 1, DMS_RATE_SHARES_MAX);
	/* rounded up: a limit is not exceeded */
	r->cost = ((RATE_NS_PER_BYTE << DMS_RATE_SHIFT) + mbit - 1) / mbit;
	r->cost *= shares;
	r->kbit = mbit * 1000 / shares;
}

/**
 * dms_rate_may() - may something be sent now?
 * @r: bucket
 * @now: ns, of a clock that does not go back
 *
 * Context: Any.
 * Return: true when all that was sent before is paid for.
 */
bool dms_rate_may(const struct dms_rate *r, u64 now)
{
	return !r->cost || r->paid_ns <= now;
}

/**
 * dms_rate_charge() - something is sent
 * @r: bucket
 * @bytes: how much; also when dms_rate_may() was not asked
 * @now: ns
 *
 * Context: Any.
 */
void dms_rate_charge(struct dms_rate *r, u64 bytes, u64 now)
{
	u64 saved = now > r->burst_ns ? now - r->burst_ns : 0;
	u64 owed;

	if (!r->cost)
		return;
	if (r->paid_ns < saved) {
		r->paid_ns = saved;
		r->rest = 0;
	}
	/* 2^27 bytes, 2^31 at 1 Mbit/s, 2^4 shares: it fits */
	owed = min_t(u64, bytes, DMS_RATE_CHARGE_MAX) * r->cost + r->rest;
	r->paid_ns += owed >> DMS_RATE_SHIFT;
	r->rest = owed & ((1U << DMS_RATE_SHIFT) - 1);
}

/**
 * dms_rate_wait_ns() - how long until dms_rate_may() says yes?
 * @r: bucket
 * @now: ns
 *
 * Context: Any.
 * Return: ns; 0: now.
 */
u64 dms_rate_wait_ns(const struct dms_rate *r, u64 now)
{
	return dms_rate_may(r, now) ? 0 : r->paid_ns - now;
}
