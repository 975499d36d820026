/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long to wait before something that failed is tried again.
 */
#ifndef DMS_CORE_BACKOFF_H
#define DMS_CORE_BACKOFF_H

#include <linux/types.h>

#define DMS_BACKOFF_FIRST_MS	10
#define DMS_BACKOFF_MAX_MS	2000

/**
 * dms_backoff_ms() - the wait before a try
 * @fails: how many failed in a row before it; 0: none, and it is made at once
 * @random: any value, each as likely as another
 *
 * Twice as long each time, up to DMS_BACKOFF_MAX_MS, and up to a quarter more or less, so
 * that those who failed together do not try together.
 *
 * Context: Any.
 * Return: milliseconds.
 */
static inline u32 dms_backoff_ms(u32 fails, u32 random)
{
	u32 ms = DMS_BACKOFF_MAX_MS, spread;

	if (!fails)
		return 0;
	if (fails <= 8)		/* 10 << 7 is less than the limit, 10 << 8 more */
		ms = DMS_BACKOFF_FIRST_MS << (fails - 1);
	spread = ms / 2 + 1;
	return ms - ms / 4 + random % spread;
}

#endif /* DMS_CORE_BACKOFF_H */
