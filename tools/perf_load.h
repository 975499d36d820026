/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random load that is the same in every run: arrivals of an open loop, and keys
 * by Zipf's law.
 */
#ifndef PERF_LOAD_H
#define PERF_LOAD_H

#include <stdint.h>

enum perf_arrivals {
	PERF_ARRIVE_POISSON,
	PERF_ARRIVE_GAMMA,
	PERF_ARRIVE_FIXED,
};

/**
 * struct perf_gaps - a source of times between arrivals
 * @kind: which process
 * @mean_ns: their mean
 * @shape: GAMMA: 1 / cv^2, where cv is the coefficient of variation
 * @state: of the random numbers, not zero
 */
struct perf_gaps {
	enum perf_arrivals	kind;
	double			mean_ns;
	double			shape;
	uint64_t		state;
};

/**
 * struct perf_zipf - a source of ranks: rank k of @n comes as often as k^-@s
 * @n: ranks are 1 to @n
 * @s: the exponent, above 0
 * @h_first: of the method, see perf_zipf_init()
 * @h_last: likewise
 * @near: likewise
 * @state: of the random numbers, not zero
 */
struct perf_zipf {
	uint64_t	n;
	double		s;
	double		h_first;
	double		h_last;
	double		near;
	uint64_t	state;
};

uint64_t perf_random(uint64_t *state);
double perf_random_unit(uint64_t *state);
void perf_gaps_init(struct perf_gaps *g, enum perf_arrivals kind, double mean_ns, double cv,
		    uint64_t seed);
double perf_gap_ns(struct perf_gaps *g);
void perf_zipf_init(struct perf_zipf *z, uint64_t n, double s, uint64_t seed);
uint64_t perf_zipf_rank(struct perf_zipf *z);

#endif /* PERF_LOAD_H */
