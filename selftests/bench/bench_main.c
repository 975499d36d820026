// SPDX-License-Identifier: GPL-2.0-only
/*
 * The benchmarks of dmsperf over another transport.
 */
#include "perf.h"

int main(int argc, char **argv)
{
	return perf_main(perf_net_name, argc, argv);
}
