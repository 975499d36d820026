// SPDX-License-Identifier: GPL-2.0-only
/*
 * The poller's bargain, which is the classical one of renting skis: it goes on
 * looking for as long as sleeping and being woken is held to cost, and so never
 * wastes more than it could have saved (A. Karlin, M. Manasse, L. McGeoch,
 * S. Owicki, "Competitive Randomized Algorithms for Non-Uniform Problems",
 * SODA 1990; the kernel's halt polling of KVM does the same).
 *
 * Who is asleep is not woken by the first arrival, only by one that follows
 * another within the limit: a process that submits now and then does so by its own
 * system call, and nobody polls for it.
 */
#include "spin.h"

/**
 * dms_spin_init() - nothing has come yet
 * @s: state
 * @limit_ns: longest distance of two arrivals for which polling is worth it;
 *	      0: it never is
 *
 * Context: Any.
 */
void dms_spin_init(struct dms_spin *s, u32 limit_ns)
{
	s->last = 0;
	s->limit = limit_ns;
}

/* Time may stand still, and with clocks of two CPUs go back a little: no distance then. */
static u64 spin_since(const struct dms_spin *s, u64 now)
{
	return now > s->last ? now - s->last : 0;
}

/**
 * dms_spin_arrival() - something came
 * @s: state
 * @now: ns, of a clock that does not go back, not 0
 *
 * Context: Any; one caller at a time.
 * Return: true when it came so soon after the one before that whoever is asleep
 * should be woken to poll for the next.
 */
bool dms_spin_arrival(struct dms_spin *s, u64 now)
{
	bool soon = dms_spin_on(s, now);

	s->last = now;
	return soon;
}

/**
 * dms_spin_on() - is it worth to go on polling?
 * @s: state
 * @now: ns
 *
 * Context: Any.
 * Return: false when the last arrival is further back than the limit.
 */
bool dms_spin_on(const struct dms_spin *s, u64 now)
{
	return s->last && s->limit && spin_since(s, now) <= s->limit;
}
