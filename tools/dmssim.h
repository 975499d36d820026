/* SPDX-License-Identifier: GPL-2.0-only */
/* dmssim: one run, and what is told of it. */
#ifndef DMSSIM_H
#define DMSSIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dmssim_event.h"
#include "dmssim_fabric.h"
#include "dmssim_host.h"
#include "dmssim_load.h"

struct sim_opts {
	struct sim_fabric_conf fabric;
	struct sim_host_conf host;
	struct sim_load_conf load;
	const char	*pattern, *workload;	/* as they were named */
	const char	*csv, *series;		/* files; NULL: none */
	uint64_t	every_ps;		/* of series */
	bool		json, quiet;
};

struct sim_run {
	const struct sim_opts *o;
	struct sim_events events;
	struct sim_fabric fabric;
	struct sim_hosts hosts;
	struct sim_load	load;
	FILE		*csv, *series;
};

/* dmssim_run.c; all return 0, or 1 after an error was told */
int sim_run(struct sim_run *r, const struct sim_opts *o);
void sim_run_free(struct sim_run *r);
/* dmssim_out.c */
int sim_open_files(struct sim_run *r);
int sim_close_files(struct sim_run *r);
void sim_series_row(struct sim_run *r);
void sim_report(struct sim_run *r);

#endif /* DMSSIM_H */
