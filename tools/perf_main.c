// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program, whatever the transport is.
 */
#include <time.h>

#include "perf.h"

/**
 * perf_now_ns() - CLOCK_MONOTONIC
 */
uint64_t perf_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/**
 * perf_main() - of dmsperf, and of the others of selftests/bench
 * @prog: what it is called in messages
 * @argc: of main()
 * @argv: of main()
 *
 * Return: exit status.
 */
int perf_main(const char *prog, int argc, char **argv)
{
	struct perf_opts o;
	int ret = perf_parse(&o, prog, argc, argv);

	if (ret)
		return ret;
	ret = o.test && o.net.host ? perf_tests_run(&o) : perf_server(&o);
	return ret ? 1 : 0;
}
