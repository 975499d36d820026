// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log-linear histogram; perf_hist.h says what it promises.
 */
#include <string.h>

#include "perf_hist.h"

/*
 * P99.9 wants 100,000 samples, of which 100 lie above it.  The others have ten or
 * more beyond them.
 */
const struct perf_quantile perf_quantiles[PERF_QUANTILES] = {
	{ "p50", 1, 2, 1 },
	{ "p90", 9, 10, 100 },
	{ "p95", 19, 20, 200 },
	{ "p99", 99, 100, 1000 },
	{ "p99.9", 999, 1000, 100000 },
};

/**
 * perf_hist_index() - the bucket of a value
 * @value: any
 *
 * Below 2 * PERF_HIST_SUB the bucket is the value.  Above, the highest
 * PERF_HIST_BITS + 1 bits of the value choose it, the first of which is set.
 *
 * Return: less than PERF_HIST_BUCKETS.
 */
uint32_t perf_hist_index(uint64_t value)
{
	uint32_t shift;

	if (value < PERF_HIST_SUB)
		return (uint32_t)value;
	shift = 63 - PERF_HIST_BITS - (uint32_t)__builtin_clzll(value);
	return shift * PERF_HIST_SUB + (uint32_t)(value >> shift);
}

/**
 * perf_hist_low() - the smallest value of a bucket
 * @index: less than PERF_HIST_BUCKETS
 */
uint64_t perf_hist_low(uint32_t index)
{
	uint32_t shift;

	if (index < 2 * PERF_HIST_SUB)
		return index;
	shift = index / PERF_HIST_SUB - 1;
	return (uint64_t)(index % PERF_HIST_SUB + PERF_HIST_SUB) << shift;
}

/**
 * perf_hist_high() - the largest value of a bucket
 * @index: less than PERF_HIST_BUCKETS
 */
uint64_t perf_hist_high(uint32_t index)
{
	if (index == PERF_HIST_BUCKETS - 1)
		return UINT64_MAX;
	return perf_hist_low(index + 1) - 1;
}

/**
 * perf_hist_reset() - an empty histogram
 * @h: whatever it was
 */
void perf_hist_reset(struct perf_hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

/**
 * perf_hist_add() - one sample
 * @h: was reset before
 * @value: any
 */
void perf_hist_add(struct perf_hist *h, uint64_t value)
{
	h->buckets[perf_hist_index(value)]++;
	h->count++;
	h->sum += value;
	if (value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
}

/**
 * perf_hist_merge() - as if the samples of one had been added to the other
 * @to: was reset before
 * @from: stays as it is
 */
void perf_hist_merge(struct perf_hist *to, const struct perf_hist *from)
{
	uint32_t i;

	for (i = 0; i < PERF_HIST_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
	to->count += from->count;
	to->sum += from->sum;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
}

/**
 * perf_hist_mean() - the arithmetic mean
 * @h: may be empty
 *
 * Return: exact but for rounding; 0 when empty.
 */
double perf_hist_mean(const struct perf_hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}

/* ceil(@count * @num / @den) without overflow; at least 1 */
static uint64_t rank_of(uint64_t count, uint32_t num, uint32_t den)
{
	uint64_t rank = count / den * num + (count % den * num + den - 1) / den;

	return rank ? rank : 1;
}

/**
 * perf_hist_at() - the value that so many of the samples do not exceed
 * @h: may be empty
 * @num: numerator of the part, at most @den
 * @den: not zero
 *
 * The smallest sample such that at least @num / @den of all are not above it,
 * rounded up to the top of its bucket.
 *
 * Return: as said; 0 when empty.
 */
uint64_t perf_hist_at(const struct perf_hist *h, uint32_t num, uint32_t den)
{
	uint64_t rank = rank_of(h->count, num, den), seen = 0;
	uint32_t i;

	for (i = 0; i < PERF_HIST_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank)
			return perf_hist_high(i) < h->max ? perf_hist_high(i) : h->max;
	}
	return 0;
}

/**
 * perf_hist_quantile() - a quantile, if there are samples enough for it
 * @h: may be empty
 * @q: one of perf_quantiles
 * @value: set when true is returned
 */
bool perf_hist_quantile(const struct perf_hist *h, const struct perf_quantile *q,
			uint64_t *value)
{
	if (h->count < q->need)
		return false;
	*value = perf_hist_at(h, q->num, q->den);
	return true;
}
