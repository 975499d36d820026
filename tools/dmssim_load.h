/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who sends what to whom, and when.
 *
 * The unit is a piece of work: messages that are sent at once, and their answers; it
 * is complete when the last of them was delivered.
 *
 *   incast   each host but 0 sends a message to host 0
 *   shuffle  each host sends a message to each other one (by rounds), or to one that
 *            is drawn by lot (with a load)
 *   push     each worker sends all tensors of a model to servers, in partitions,
 *            by turns
 *   fetch    each client asks every server, and each answers with a message
 *   kv       each host of the first half sends blocks to one of the second half
 *
 * Without a load it goes by rounds: what one source does next begins when all (incast,
 * shuffle, push) or it itself (fetch, kv) has finished.  With a load it begins at times of a
 * Poisson process, whether earlier work is complete or not, and is counted from then.
 */
#ifndef DMSSIM_LOAD_H
#define DMSSIM_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dmssim_host.h"
#include "dmssim_stat.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define SIM_SIZES_MAX	16

enum sim_pattern { SIM_INCAST, SIM_SHUFFLE, SIM_PUSH, SIM_FETCH, SIM_KV };

struct sim_load_conf {
	enum sim_pattern pattern;
	uint32_t	hosts, servers;
	uint32_t	streams;		/* of each pair */
	uint64_t	messages;		/* of each source (works) */
	double		load;			/* of the bottleneck; 0: by rounds */
	bool		backlog;		/* all at once; incast and shuffle */
	uint32_t	nr_sizes;
	uint32_t	size[SIM_SIZES_MAX];	/* by stream, in turn */
	uint32_t	nr_weights;
	uint32_t	weight[SIM_SIZES_MAX];
	const struct sim_table *table;		/* instead of sizes */
	const struct sim_model *model;		/* of push */
	uint32_t	partition;		/* bytes of push */
	uint32_t	block;			/* bytes of kv; 0: table and sizes are bytes */
	uint64_t	seed;
};

struct sim_load {
	struct sim_load_conf conf;
	struct sim_hosts *hosts;
	struct sim_random random;
	struct sim_stream **stream;	/* [from * hosts + to], streams of each */
	struct sim_source *source;
	uint32_t	nr_sources, round_left;
	double		mean_gap_ps;
	struct sim_part	*parts;		/* all that were ever sent; freed at the end */
	uint64_t	works, works_done;
	uint64_t	posted_msgs, posted_bytes;
	struct sim_samples msgs, whole;	/* completion times: of messages, of works */
	double		jain;		/* when the first stream was through; -1: not yet */
	FILE		*csv;
};

void sim_load_init(struct sim_load *l, struct sim_hosts *hosts, const struct sim_load_conf *conf);
void sim_load_free(struct sim_load *l);
void sim_load_start(struct sim_load *l);
bool sim_load_done(const struct sim_load *l);
/* Smallest number of hosts that a pattern makes sense with. */
uint32_t sim_pattern_hosts(enum sim_pattern p);

/* dmssim_tables.c: what is carried along, and files; NULL: there is no such */
const struct sim_table *sim_table_named(const char *name, uint32_t *block);
const struct sim_table *sim_table_read(const char *file);
const struct sim_model *sim_model_named(const char *name);

/* Parameter tensors: @count of @bytes each, in order, the group @times over. */
struct sim_tensors {
	uint32_t	group, times;	/* rows of one group are together */
	uint32_t	count;
	uint64_t	bytes;
};

struct sim_model {
	const char	*name;
	const struct sim_tensors *row;
	uint32_t	nr;
};

uint64_t sim_model_bytes(const struct sim_model *m);

#endif /* DMSSIM_LOAD_H */
