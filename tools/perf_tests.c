// SPDX-License-Identifier: GPL-2.0-only
/*
 * The benchmarks by name: what each of them runs, and how often.
 */
#include <string.h>

#include "perf.h"

#define ALL_SIZES_MAX	(8U << 20)

static int run_and_report(const struct perf_opts *o, perf_fn fn)
{
	static struct perf_total t;
	int ret = perf_run(o, fn, &t);

	if (!ret)
		perf_report_row(&t);
	return ret;
}

/* The same bytes over one stream, and over as many as were asked for. */
static int run_streams(const struct perf_opts *o)
{
	static struct perf_total one, many;
	struct perf_opts single = *o;
	int ret;

	single.streams = 1;
	ret = perf_run(&single, perf_flow, &one);
	if (!ret)
		ret = perf_run(o, perf_flow, &many);
	if (ret)
		return ret;
	one.ratio = 1;
	many.ratio = ((double)many.res.bytes / many.seconds) /
		     ((double)one.res.bytes / one.seconds);
	perf_report_row(&one);
	perf_report_row(&many);
	return 0;
}

/* At a rate that was given, or at parts of the capacity that is measured first. */
static int run_open(const struct perf_opts *o)
{
	static struct perf_total t;
	struct perf_opts at = *o;
	double capacity;
	uint32_t i;
	int ret;

	if (o->rate > 0)
		return run_and_report(o, perf_open_loop);
	ret = perf_run(o, perf_closed_fetch, &t);
	if (ret)
		return ret;
	capacity = (double)t.res.operations / t.seconds;
	t.load = 100;
	t.o.rate = capacity;
	perf_report_row(&t);
	for (i = 0; i < o->nr_loads && !ret; i++) {
		at.rate = capacity * o->loads[i] / 100;
		ret = perf_run(&at, perf_open_loop, &t);
		t.load = o->loads[i];
		if (!ret)
			perf_report_row(&t);
	}
	return ret;
}

static int run_one(const struct perf_opts *o)
{
	if (!strcmp(o->test, "lat"))
		return run_and_report(o, perf_latency);
	if (!strcmp(o->test, "connect"))
		return run_and_report(o, perf_connects);
	if (!strcmp(o->test, "streams"))
		return run_streams(o);
	if (!strcmp(o->test, "fetch") || !strcmp(o->test, "push"))
		return run_open(o);
	return run_and_report(o, perf_flow);
}

/**
 * perf_tests_run() - what the command line asks for
 * @o: the command line, with a test
 */
int perf_tests_run(const struct perf_opts *o)
{
	struct perf_opts sized = *o;
	int ret = 0;

	perf_report_begin(o);
	if (!o->all_sizes)
		ret = run_one(o);
	for (sized.size = 2; o->all_sizes && !ret && sized.size <= ALL_SIZES_MAX; sized.size *= 2)
		ret = run_one(&sized);
	perf_report_end(o);
	return ret;
}
