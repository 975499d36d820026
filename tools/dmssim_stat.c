// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: samples and random numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "dmssim_event.h"
#include "dmssim_stat.h"

#define PS_PER_US	1e6
/* so many samples beyond a percentile, or it is not told */
#define SAMPLES_BEYOND	100

void sim_samples_add(struct sim_samples *s, uint64_t v)
{
	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->v = sim_realloc(s->v, s->room * sizeof(*s->v));
	}
	s->v[s->nr++] = v;
	s->sorted = 0;
}

void sim_samples_free(struct sim_samples *s)
{
	free(s->v);
	s->v = NULL;
	s->nr = 0;
	s->room = 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(struct sim_samples *s)
{
	if (!s->sorted && s->nr)
		qsort(s->v, s->nr, sizeof(*s->v), by_value);
	s->sorted = 1;
}

double sim_samples_mean(const struct sim_samples *s)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < s->nr; i++)
		sum += (double)s->v[i];
	return s->nr ? sum / (double)s->nr / PS_PER_US : SIM_TOO_FEW;
}

double sim_samples_max(struct sim_samples *s)
{
	sort(s);
	return s->nr ? (double)s->v[s->nr - 1] / PS_PER_US : SIM_TOO_FEW;
}

double sim_samples_part(struct sim_samples *s, double part)
{
	size_t i;

	/* the median of a few is told */
	if (!s->nr || (part > 0.5 && (double)s->nr * (1 - part) < SAMPLES_BEYOND * (1 - 1e-9)))
		return SIM_TOO_FEW;
	sort(s);
	i = (size_t)(part * (double)s->nr);
	return (double)s->v[i < s->nr ? i : s->nr - 1] / PS_PER_US;
}

/* R. Jain, D. Chiu, W. Hawe, DEC TR-301, 1984. */
double sim_jain(const double *v, size_t n)
{
	double sum = 0, squares = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		sum += v[i];
		squares += v[i] * v[i];
	}
	return squares > 0 ? sum * sum / ((double)n * squares) : 1;
}

/* xorshift64*: S. Vigna, ACM TOMS 42, 2016. */
static uint64_t random_next(struct sim_random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 2685821657736338717ULL;
}

void sim_random_init(struct sim_random *r, uint64_t seed)
{
	int i;

	r->state = seed ^ 0x9e3779b97f4a7c15ULL;
	if (!r->state)
		r->state = 1;
	for (i = 0; i < 16; i++)
		random_next(r);
}

uint32_t sim_random_below(struct sim_random *r, uint32_t n)
{
	return (uint32_t)((random_next(r) >> 32) * n >> 32);
}

double sim_random_unit(struct sim_random *r)
{
	return (double)((random_next(r) >> 11) + 1) / 9007199254740992.0;
}

double sim_random_exp(struct sim_random *r, double mean)
{
	return -log(sim_random_unit(r)) * mean;
}

double sim_table_draw(const struct sim_table *t, struct sim_random *r)
{
	double p = 100 * sim_random_unit(r), part;
	size_t i;

	for (i = 1; i < t->nr - 1; i++)
		if (p <= t->row[i].percent)
			break;
	part = (p - t->row[i - 1].percent) / (t->row[i].percent - t->row[i - 1].percent);
	return t->row[i - 1].value + part * (t->row[i].value - t->row[i - 1].value);
}

double sim_table_mean(const struct sim_table *t)
{
	double sum = 0;
	size_t i;

	for (i = 1; i < t->nr; i++)
		sum += (t->row[i].percent - t->row[i - 1].percent) / 100 *
		       (t->row[i].value + t->row[i - 1].value) / 2;
	return sum;
}
