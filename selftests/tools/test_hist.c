// SPDX-License-Identifier: GPL-2.0-only
/*
 * The histogram of dmsperf: every edge of its buckets, its error, its quantiles.
 */
#include <stdlib.h>
#include <string.h>

#include "libtest.h"
#include "perf_hist.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static struct perf_hist hist, other;

/* Buckets are in order, touch each other, and cover all 64-bit values. */
static void buckets_cover_everything(void)
{
	uint32_t i;

	CHECK_EQ(perf_hist_low(0), 0);
	for (i = 0; i + 1 < PERF_HIST_BUCKETS; i++) {
		CHECK(perf_hist_high(i) + 1 == perf_hist_low(i + 1));
		CHECK(perf_hist_low(i) <= perf_hist_high(i));
	}
	CHECK(perf_hist_high(PERF_HIST_BUCKETS - 1) == UINT64_MAX);
}

/* Both ends of each bucket, and so each power of two, are found in it. */
static void edges_are_found(void)
{
	uint32_t i;

	for (i = 0; i < PERF_HIST_BUCKETS; i++) {
		CHECK_EQ(perf_hist_index(perf_hist_low(i)), i);
		CHECK_EQ(perf_hist_index(perf_hist_high(i)), i);
	}
	for (i = 0; i < 64; i++)
		CHECK(perf_hist_low(perf_hist_index(1ULL << i)) == 1ULL << i);
}

/* Exact as long as a bucket has one value; then the stated part, and no more. */
static void error_is_as_stated(void)
{
	uint32_t i;

	for (i = 0; i < 2 * PERF_HIST_SUB; i++)
		CHECK(perf_hist_low(i) == i && perf_hist_high(i) == i);
	for (; i < PERF_HIST_BUCKETS; i++) {
		uint64_t low = perf_hist_low(i);

		CHECK(perf_hist_high(i) - low < low / PERF_HIST_SUB + 1);
		CHECK((perf_hist_high(i) - low) <= low / PERF_HIST_SUB);
	}
}

static void empty_says_nothing(void)
{
	uint64_t v = 77;
	int i;

	perf_hist_reset(&hist);
	CHECK(perf_hist_mean(&hist) == 0);
	CHECK_EQ(perf_hist_at(&hist, 1, 2), 0);
	for (i = 0; i < PERF_QUANTILES; i++)
		CHECK(!perf_hist_quantile(&hist, &perf_quantiles[i], &v));
	CHECK_EQ(v, 77);
}

static void one_sample_is_all_quantiles(void)
{
	static const uint64_t values[] = { 0, 1, 63, 64, 127, 128, 129, 1000003, UINT64_MAX };
	size_t i;

	for (i = 0; i < COUNT(values); i++) {
		perf_hist_reset(&hist);
		perf_hist_add(&hist, values[i]);
		CHECK(perf_hist_at(&hist, 0, 1) == values[i]);
		CHECK(perf_hist_at(&hist, 1, 2) == values[i]);
		CHECK(perf_hist_at(&hist, 1, 1) == values[i]);
		CHECK(hist.min == values[i] && hist.max == values[i]);
	}
}

/* 1 to 100: P50 is 50 and not 51, P99 is 99 and not 100. */
static void ranks_are_ceilings(void)
{
	uint64_t v;

	perf_hist_reset(&hist);
	for (v = 1; v <= 100; v++)
		perf_hist_add(&hist, v);
	CHECK_EQ(perf_hist_at(&hist, 1, 2), 50);
	CHECK_EQ(perf_hist_at(&hist, 9, 10), 90);
	CHECK_EQ(perf_hist_at(&hist, 99, 100), 99);
	CHECK_EQ(perf_hist_at(&hist, 999, 1000), 100);
	CHECK_EQ(perf_hist_at(&hist, 1, 1), 100);
	CHECK(perf_hist_mean(&hist) == 50.5);
	perf_hist_add(&hist, 101);		/* 51 of 101 */
	CHECK_EQ(perf_hist_at(&hist, 1, 2), 51);
}

/* Fewer samples than a quantile needs: none is told. */
static void too_few_samples(void)
{
	uint64_t n, v;
	int i;

	perf_hist_reset(&hist);
	for (n = 1; n <= 100000; n++) {
		perf_hist_add(&hist, n);
		for (i = 0; i < PERF_QUANTILES; i++) {
			const struct perf_quantile *q = &perf_quantiles[i];

			if (n == q->need - 1 || n == q->need)
				CHECK_EQ(perf_hist_quantile(&hist, q, &v), n >= q->need);
		}
	}
	CHECK_EQ(perf_quantiles[PERF_QUANTILES - 1].need, 100000);
	CHECK(!strcmp(perf_quantiles[PERF_QUANTILES - 1].name, "p99.9"));
}

static void merging_is_adding(void)
{
	static struct perf_hist both;
	uint64_t state = 42;
	int i;

	perf_hist_reset(&hist);
	perf_hist_reset(&other);
	perf_hist_reset(&both);
	perf_hist_merge(&hist, &other);
	CHECK_EQ(hist.count, 0);
	CHECK(hist.min == UINT64_MAX);
	for (i = 0; i < 10000; i++) {
		uint64_t v = libtest_random(&state) >> (libtest_random(&state) % 64);

		perf_hist_add(i % 3 ? &hist : &other, v);
		perf_hist_add(&both, v);
	}
	perf_hist_merge(&hist, &other);
	CHECK(!memcmp(&hist, &both, sizeof(hist)));
}

/* Whichever of the two has the smaller and the larger one. */
static void merging_keeps_extremes(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		perf_hist_reset(&hist);
		perf_hist_reset(&other);
		perf_hist_add(i ? &hist : &other, 10);
		perf_hist_add(i ? &hist : &other, 1000);
		perf_hist_add(i ? &other : &hist, 100);
		perf_hist_merge(&hist, &other);
		CHECK_EQ(hist.min, 10);
		CHECK_EQ(hist.max, 1000);
		CHECK_EQ(hist.sum, 1110);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Against sorting: never below the true quantile, and above it by 1/64 at most. */
static void quantiles_against_sorting(void)
{
	static uint64_t values[20000];
	const size_t n = COUNT(values);
	uint64_t state = 7, truth, told;
	size_t i;

	perf_hist_reset(&hist);
	for (i = 0; i < n; i++) {
		values[i] = libtest_random(&state) >> (24 + libtest_random(&state) % 40);
		perf_hist_add(&hist, values[i]);
	}
	qsort(values, n, sizeof(values[0]), by_value);
	for (i = 1; i <= 1000; i++) {
		truth = values[(n * i + 999) / 1000 - 1];
		told = perf_hist_at(&hist, (uint32_t)i, 1000);
		CHECK(told >= truth && told - truth <= truth / PERF_HIST_SUB);
	}
}

int main(void)
{
	RUN(buckets_cover_everything);
	RUN(edges_are_found);
	RUN(error_is_as_stated);
	RUN(empty_says_nothing);
	RUN(one_sample_is_all_quantiles);
	RUN(ranks_are_ceilings);
	RUN(too_few_samples);
	RUN(merging_is_adding);
	RUN(merging_keeps_extremes);
	RUN(quantiles_against_sorting);
	return libtest_end();
}
