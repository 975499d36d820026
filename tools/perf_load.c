// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrivals and keys; perf_load.h.
 */
#include <math.h>

#include "perf_load.h"

/**
 * perf_random() - xorshift64*, Vigna 2016
 * @state: not zero
 */
uint64_t perf_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/**
 * perf_random_unit() - above 0, and at most 1, so that it has a logarithm
 * @state: not zero
 */
double perf_random_unit(uint64_t *state)
{
	return ((double)(perf_random(state) >> 11) + 1) * 0x1p-53;
}

/* Marsaglia's polar method (1964), one of the two numbers. */
static double normal(uint64_t *state)
{
	double x, y, r;

	do {
		x = 2 * perf_random_unit(state) - 1;
		y = 2 * perf_random_unit(state) - 1;
		r = x * x + y * y;
	} while (r >= 1 || r == 0);
	return x * sqrt(-2 * log(r) / r);
}

/* Marsaglia and Tsang (2000); below 1 by their note on a shape one larger. Mean is @shape. */
static double gamma_of(double shape, uint64_t *state)
{
	double d, c, x, v, boost = 1;

	if (shape < 1) {
		boost = pow(perf_random_unit(state), 1 / shape);
		shape += 1;
	}
	d = shape - 1.0 / 3;
	c = 1 / sqrt(9 * d);
	for (;;) {
		x = normal(state);
		v = 1 + c * x;
		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(perf_random_unit(state)) < x * x / 2 + d - d * v + d * log(v))
			return d * v * boost;
	}
}

/* Seeds that differ by one are to give streams that have nothing in common (splitmix64). */
static uint64_t scatter(uint64_t seed)
{
	seed += 0x9e3779b97f4a7c15ULL;
	seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
	seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebULL;
	return (seed ^ (seed >> 31)) | 1;
}

/**
 * perf_gaps_init() - begin an arrival process
 * @g: to be set
 * @kind: which
 * @mean_ns: above 0
 * @cv: GAMMA: coefficient of variation, above 0; 1 is Poisson
 * @seed: the same seed gives the same arrivals
 */
void perf_gaps_init(struct perf_gaps *g, enum perf_arrivals kind, double mean_ns, double cv,
		    uint64_t seed)
{
	g->kind = kind;
	g->mean_ns = mean_ns;
	g->shape = 1 / (cv * cv);
	g->state = scatter(seed);
}

/**
 * perf_gap_ns() - nanoseconds until the next arrival
 * @g: was begun
 */
double perf_gap_ns(struct perf_gaps *g)
{
	switch (g->kind) {
	case PERF_ARRIVE_POISSON:
		return -log(perf_random_unit(&g->state)) * g->mean_ns;
	case PERF_ARRIVE_GAMMA:
		return gamma_of(g->shape, &g->state) / g->shape * g->mean_ns;
	default:
		return g->mean_ns;
	}
}

/* Integral of x^-s, and its inverse; the limit at s = 1 is the logarithm. */
static double zipf_h(double x, double s)
{
	return s == 1 ? log(x) : (pow(x, 1 - s) - 1) / (1 - s);
}

static double zipf_h_inverse(double y, double s)
{
	return s == 1 ? exp(y) : pow(1 + y * (1 - s), 1 / (1 - s));
}

/**
 * perf_zipf_init() - begin a source of ranks
 * @z: to be set
 * @n: number of ranks, not zero
 * @s: exponent, above 0
 * @seed: the same seed gives the same ranks
 *
 * Rejection-inversion, Hoermann and Derflinger (1996): constant time, no table.
 */
void perf_zipf_init(struct perf_zipf *z, uint64_t n, double s, uint64_t seed)
{
	z->n = n;
	z->s = s;
	z->h_first = zipf_h(1.5, s) - 1;
	z->h_last = zipf_h((double)n + 0.5, s);
	z->near = 2 - zipf_h_inverse(zipf_h(2.5, s) - pow(2, -s), s);
	z->state = scatter(seed);
}

/**
 * perf_zipf_rank() - one rank
 * @z: was begun
 *
 * Return: 1 to @n.
 */
uint64_t perf_zipf_rank(struct perf_zipf *z)
{
	for (;;) {
		double u = z->h_last + perf_random_unit(&z->state) * (z->h_first - z->h_last);
		double x = zipf_h_inverse(u, z->s), k = floor(x + 0.5);

		k = k < 1 ? 1 : k > (double)z->n ? (double)z->n : k;
		if (k - x <= z->near || u >= zipf_h(k + 0.5, z->s) - pow(k, -z->s))
			return (uint64_t)k;
	}
}
