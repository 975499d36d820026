/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples, percentiles, fairness, and numbers that are drawn by lot. */
#ifndef DMSSIM_STAT_H
#define DMSSIM_STAT_H

#include <stddef.h>
#include <stdint.h>

struct sim_samples {
	uint64_t	*v;	/* ps */
	size_t		nr, room;
	int		sorted;
};

/* -1 where there are too few samples to say: 1 / (1 - @part) times 100. */
#define SIM_TOO_FEW	(-1.0)

void sim_samples_add(struct sim_samples *s, uint64_t v);
void sim_samples_free(struct sim_samples *s);
/* us */
double sim_samples_mean(const struct sim_samples *s);
double sim_samples_max(struct sim_samples *s);
double sim_samples_part(struct sim_samples *s, double part);

/* Jain's index: 1 when all are equal, 1 / n when one has all. */
double sim_jain(const double *v, size_t n);

struct sim_random {
	uint64_t state;
};

void sim_random_init(struct sim_random *r, uint64_t seed);
uint32_t sim_random_below(struct sim_random *r, uint32_t n);
double sim_random_unit(struct sim_random *r);		/* in (0, 1] */
double sim_random_exp(struct sim_random *r, double mean);

/* A distribution by percentiles; linear between them. */
struct sim_table_row {
	double	percent, value;
};

struct sim_table {
	struct sim_table_row *row;
	size_t	nr;
};

double sim_table_draw(const struct sim_table *t, struct sim_random *r);
double sim_table_mean(const struct sim_table *t);

#endif /* DMSSIM_STAT_H */
