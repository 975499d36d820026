// SPDX-License-Identifier: GPL-2.0-only
/*
 * The load of dmsperf: arrivals have the mean and variation that was asked for, ranks
 * follow Zipf's law; and the pattern that --check looks at shows each kind of fault.
 */
#include <math.h>
#include <string.h>

#include "libtest.h"
#include "perf_load.h"
#include "perf_pattern.h"

#define DRAWS	200000

static void moments(struct perf_gaps *g, double *mean, double *cv)
{
	double sum = 0, squares = 0, v;
	int i;

	for (i = 0; i < DRAWS; i++) {
		v = perf_gap_ns(g);
		CHECK(v >= 0 && v < 1e12);
		sum += v;
		squares += v * v;
	}
	*mean = sum / DRAWS;
	*cv = sqrt(squares / DRAWS - *mean * *mean) / *mean;
}

/* Within 2 %: five standard errors of the mean at the largest variation here. */
static void arrivals_have_their_moments(void)
{
	static const struct {
		enum perf_arrivals	kind;
		double			cv;
	} cases[] = {
		{ PERF_ARRIVE_POISSON, 1 },
		{ PERF_ARRIVE_GAMMA, 1 },
		{ PERF_ARRIVE_GAMMA, 1.09 },
		{ PERF_ARRIVE_GAMMA, 0.3 },
		{ PERF_ARRIVE_GAMMA, 1.7 },
	};
	struct perf_gaps g;
	double mean, cv;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof((cases)[0]); i++) {
		perf_gaps_init(&g, cases[i].kind, 5000, cases[i].cv, i);
		moments(&g, &mean, &cv);
		CHECK(fabs(mean / 5000 - 1) < 0.02);
		CHECK(fabs(cv / cases[i].cv - 1) < 0.03);
	}
	perf_gaps_init(&g, PERF_ARRIVE_FIXED, 5000, 1, 1);
	for (i = 0; i < 10; i++)
		CHECK(perf_gap_ns(&g) == 5000);
}

/* The probability of the first ranks against the sum that defines it. */
static void ranks_follow_zipf(void)
{
	static const double exponents[] = { 0.5, 0.99, 1, 1.3 };
	static uint32_t seen[1001];
	struct perf_zipf z;
	double sum, want;
	size_t e;
	int i;

	for (e = 0; e < 4; e++) {
		memset(seen, 0, sizeof(seen));
		perf_zipf_init(&z, 1000, exponents[e], e);
		for (i = 0; i < DRAWS; i++) {
			uint64_t rank = perf_zipf_rank(&z);

			CHECK(rank >= 1 && rank <= 1000);
			seen[rank]++;
		}
		for (sum = 0, i = 1; i <= 1000; i++)
			sum += pow(i, -exponents[e]);
		for (i = 1; i <= 1000; i *= 3) {
			want = DRAWS * pow(i, -exponents[e]) / sum;
			CHECK(fabs(seen[i] - want) < 5 * sqrt(want));
		}
	}
	perf_zipf_init(&z, 1, 0.99, 1);
	CHECK_EQ(perf_zipf_rank(&z), 1);
}

static void seeds_repeat_and_differ(void)
{
	struct perf_gaps a, b, c;
	int i, same = 0;

	perf_gaps_init(&a, PERF_ARRIVE_POISSON, 1000, 1, 1);
	perf_gaps_init(&b, PERF_ARRIVE_POISSON, 1000, 1, 1);
	perf_gaps_init(&c, PERF_ARRIVE_POISSON, 1000, 1, 2);
	for (i = 0; i < 100; i++) {
		double v = perf_gap_ns(&a);

		CHECK(v == perf_gap_ns(&b));
		same += v == perf_gap_ns(&c);
	}
	CHECK_EQ(same, 0);
}

/* Cut anywhere, the words are found once each, and wiped. */
static void pattern_in_pieces(void)
{
	static unsigned char buf[3 * PERF_BLOCK + 8], copy[sizeof(buf)];
	static const uint64_t cuts[] = { 0, 8, 9, 4095, 4096, 4104, 8192, sizeof(buf) };
	size_t i;

	for (i = 0; i < 8; i++) {
		uint64_t cut = cuts[i];
		int64_t first, rest;

		perf_pattern_fill(buf, sizeof(buf));
		/* pieces land in places of their own */
		memcpy(copy, buf + cut, sizeof(buf) - cut);
		first = perf_pattern_check(buf, 0, cut);
		rest = perf_pattern_check(copy, cut, sizeof(buf) - cut);
		CHECK(first >= 0 && rest >= 0);
		/* a word that is cut in two is not looked at */
		CHECK_EQ(first + rest, 4 - (cut % PERF_BLOCK && cut % PERF_BLOCK < 8));
		CHECK(!rest || perf_pattern_check(copy, cut, sizeof(buf) - cut) < 0);
	}
	CHECK_EQ(perf_pattern_check(buf, 0, 7), 0);
}

static void pattern_shows_faults(void)
{
	static unsigned char buf[4 * PERF_BLOCK];

	perf_pattern_fill(buf, sizeof(buf));
	CHECK(perf_pattern_check(buf, PERF_BLOCK, sizeof(buf)) < 0);	/* a page too early */
	buf[2 * PERF_BLOCK + 7] ^= 1;
	CHECK(perf_pattern_check(buf, 0, sizeof(buf)) < 0);
	perf_pattern_fill(buf, sizeof(buf));
	CHECK_EQ(perf_pattern_check(buf, 0, sizeof(buf)), 4);
	CHECK(perf_pattern_check(buf, 0, sizeof(buf)) < 0);		/* nothing was written */
}

int main(void)
{
	RUN(arrivals_have_their_moments);
	RUN(ranks_follow_zipf);
	RUN(seeds_repeat_and_differ);
	RUN(pattern_in_pieces);
	RUN(pattern_shows_faults);
	return libtest_end();
}
