/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dmsperf: what its files share, and the programs of selftests/bench with them.
 */
#ifndef PERF_H
#define PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "perf_hist.h"
#include "perf_load.h"
#include "perf_net.h"

#define PERF_PROCS_MAX	256
#define PERF_LOADS_MAX	16

enum perf_format { PERF_TEXT, PERF_JSON, PERF_CSV };

/**
 * struct perf_opts - the command line
 * @test: name of the benchmark, or NULL for the server
 * @net: how each process's end is made; its host may be several, with commas
 * @size: bytes of a message, or of what is fetched or pushed
 * @request: bytes of a request of fetch
 * @iters: messages of a process; 0 when @duration_ns limits
 * @duration_ns: or 0
 * @warmup: round trips of each process before anything is measured
 * @streams: connections of a process
 * @depth: messages in flight of a process
 * @procs: client processes
 * @fanout: servers that a fetch asks at once
 * @rows: fetch: rows of a table instead of @size bytes; 0: no table
 * @zipf: exponent of the rows' popularity
 * @rate: operations a second of all processes, 0: by @loads
 * @loads: per cent of the measured capacity
 * @nr_loads: of them
 * @arrivals: of an open loop
 * @cv: coefficient of variation of PERF_ARRIVE_GAMMA
 * @seed: of all that is random
 * @format: of the report
 * @all_sizes: 2 bytes to 8 MiB
 * @bidirectional: each message is answered by one of its size
 * @gbits: bandwidth in Gbit/s
 */
struct perf_opts {
	const char		*test;
	struct perf_net_opts	net;
	uint32_t		size;
	uint32_t		request;
	uint64_t		iters;
	uint64_t		duration_ns;
	uint32_t		warmup;
	uint32_t		streams;
	uint32_t		depth;
	uint32_t		procs;
	uint32_t		fanout;
	uint32_t		rows;
	double			zipf;
	double			rate;
	double			loads[PERF_LOADS_MAX];
	uint32_t		nr_loads;
	enum perf_arrivals	arrivals;
	double			cv;
	uint64_t		seed;
	enum perf_format	format;
	bool			all_sizes;
	bool			bidirectional;
	bool			gbits;
};

/**
 * struct perf_result - what a process measured; in memory that it shares with its parent
 * @error: negative errno, or 0
 * @begin_ns: CLOCK_MONOTONIC, when the first message was sent
 * @end_ns: when the last one had arrived
 * @messages: both directions
 * @bytes: both directions
 * @operations: round trips, connections, fetches or pushes
 * @late: open loop: that could not be begun when they should, since too many were open
 * @checked: words that --check saw
 * @hist: latencies in ns
 */
struct perf_result {
	int		error;
	uint64_t	begin_ns;
	uint64_t	end_ns;
	uint64_t	messages;
	uint64_t	bytes;
	uint64_t	operations;
	uint64_t	late;
	uint64_t	checked;
	struct perf_hist hist;
};

/**
 * struct perf_worker - a process while it measures
 * @o: the command line
 * @net: its end
 * @conns: its @o->streams connections
 * @index: number of this process
 * @res: to be filled
 */
struct perf_worker {
	const struct perf_opts	*o;
	struct perf_net		*net;
	uint32_t		*conns;
	uint32_t		index;
	struct perf_result	*res;
};

typedef int (*perf_fn)(struct perf_worker *w);

/**
 * struct perf_total - all processes together
 * @o: of this run
 * @res: sums; the histogram has all samples, begin is the first and end the last
 * @seconds: from begin to end
 * @slowest: bytes a second of the slowest process
 * @fastest: of the fastest one
 * @fairness: Jain's index over the processes' rates, 1 when all are equal
 * @cpu: seconds that this machine's CPUs were not idle meanwhile, all programs together
 * @load: per cent of the capacity, or 0
 * @ratio: streams: bandwidth over that of one stream, or 0
 */
struct perf_total {
	struct perf_opts	o;
	struct perf_result	res;
	double			seconds;
	double			slowest;
	double			fastest;
	double			fairness;
	double			cpu;
	double			load;
	double			ratio;
};

/* perf_opts.c */
int perf_parse(struct perf_opts *o, const char *prog, int argc, char **argv);

/* perf_run.c */
int perf_run(const struct perf_opts *o, perf_fn fn, struct perf_total *out);

/* perf_tests.c */
int perf_tests_run(const struct perf_opts *o);

/* perf_flow.c, perf_pingpong.c, perf_open.c */
int perf_flow(struct perf_worker *w);
int perf_round_trips(struct perf_worker *w, uint64_t n, uint32_t there, uint32_t back,
		     bool measure);
int perf_latency(struct perf_worker *w);
int perf_connects(struct perf_worker *w);
int perf_open_loop(struct perf_worker *w);
int perf_closed_fetch(struct perf_worker *w);

/* perf_server.c */
int perf_server(const struct perf_opts *o);

/* perf_report.c */
void perf_report_begin(const struct perf_opts *o);
void perf_report_row(const struct perf_total *t);
void perf_report_end(const struct perf_opts *o);

/* perf_main.c */
uint64_t perf_now_ns(void);
int perf_main(const char *prog, int argc, char **argv);

#endif /* PERF_H */
