/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A log-linear histogram of fixed size, as in HdrHistogram: each power of two is
 * cut into PERF_HIST_SUB equal buckets, and values below that have one each.
 *
 * Every 64-bit value has a bucket: nothing saturates and nothing is dropped.
 * A quantile is told as the top of its bucket, or the largest value seen if that
 * is less, so it is never below the true one and above it by at most
 * 1 part in PERF_HIST_SUB.  Count, sum, minimum and maximum are exact.
 *
 * Plain data without pointers: it may lie in memory that processes share, with
 * one of them writing at a time.
 */
#ifndef PERF_HIST_H
#define PERF_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define PERF_HIST_BITS		6
#define PERF_HIST_SUB		(1U << PERF_HIST_BITS)
#define PERF_HIST_BUCKETS	((64 - PERF_HIST_BITS + 1) * PERF_HIST_SUB)

struct perf_hist {
	uint64_t	count;
	uint64_t	sum;		/* 584 years, when these are nanoseconds */
	uint64_t	min;
	uint64_t	max;
	uint64_t	buckets[PERF_HIST_BUCKETS];
};

/**
 * struct perf_quantile - a quantile, and what it takes to tell it
 * @name: "p99.9"
 * @num: @num / @den of the samples are not above it
 * @den: not zero
 * @need: fewer samples say nothing about it, since one or two of them decide
 */
struct perf_quantile {
	const char	*name;
	uint32_t	num;
	uint32_t	den;
	uint64_t	need;
};

#define PERF_QUANTILES	5
extern const struct perf_quantile perf_quantiles[PERF_QUANTILES];

uint32_t perf_hist_index(uint64_t value);
uint64_t perf_hist_low(uint32_t index);
uint64_t perf_hist_high(uint32_t index);
void perf_hist_reset(struct perf_hist *h);
void perf_hist_add(struct perf_hist *h, uint64_t value);
void perf_hist_merge(struct perf_hist *to, const struct perf_hist *from);
double perf_hist_mean(const struct perf_hist *h);
uint64_t perf_hist_at(const struct perf_hist *h, uint32_t num, uint32_t den);
bool perf_hist_quantile(const struct perf_hist *h, const struct perf_quantile *q,
			uint64_t *value);

#endif /* PERF_HIST_H */
