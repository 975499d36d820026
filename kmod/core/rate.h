/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A limit on bytes per second: what a path may send.
 *
 * A token bucket, kept as the time at which its debt is paid (the virtual
 * scheduling form of the generic cell rate algorithm, ITU-T I.371): there is
 * nothing to refill.  Who may send pays afterwards, so the size of what comes
 * next need not be known, and something larger than the bucket cannot wait for
 * ever.
 */
#ifndef DMS_CORE_RATE_H
#define DMS_CORE_RATE_H

#include <linux/types.h>

#define DMS_RATE_MBIT_MAX	1000000U
#define DMS_RATE_SHARES_MAX	16U
/* Something larger is charged this. */
#define DMS_RATE_CHARGE_MAX	0x08000000U

struct dms_rate {
	u64	cost;		/* of a byte, in ns / 2^DMS_RATE_SHIFT; 0: no limit */
	u64	kbit;		/* for an operator: kbit/s of this share */
	u64	burst_ns;	/* time that may be saved up while nothing is sent */
	u64	paid_ns;	/* when all that was sent is paid for */
	u64	rest;		/* and less than a ns of it, in the unit of cost */
};

#define DMS_RATE_SHIFT		18

void dms_rate_init(struct dms_rate *r, u32 mbit, u32 shares, u64 burst_ns);
bool dms_rate_may(const struct dms_rate *r, u64 now);
void dms_rate_charge(struct dms_rate *r, u64 bytes, u64 now);
u64 dms_rate_wait_ns(const struct dms_rate *r, u64 now);

#endif /* DMS_CORE_RATE_H */
