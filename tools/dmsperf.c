// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsperf: measures streams.
 */
#include "perf.h"

int main(int argc, char **argv)
{
	return perf_main("dmsperf", argc, argv);
}
