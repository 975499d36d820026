// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters and gauges of the module: the per-CPU storage, and its sums.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>

#include "stats.h"

DEFINE_PER_CPU(struct dms_stats, dms_stats);

/**
 * dms_stat_sum() - a counter, added up over all CPUs
 * @stat: which
 *
 * All possible CPUs, so that what an offline one counted is not lost.  A CPU
 * of 32 bits may read a value while one half of it changes.
 *
 * Context: any.
 * Return: its value since the module was loaded.
 */
u64 dms_stat_sum(enum dms_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(dms_stats, cpu).stat[stat]);
	return sum;
}

/**
 * dms_gauge_sum() - a gauge, added up over all CPUs
 * @gauge: which
 *
 * While things change, a decrement can be seen without its increment; such a
 * sum below zero is not shown.
 *
 * Context: any.
 * Return: its value, not negative.
 */
s64 dms_gauge_sum(enum dms_gauge gauge)
{
	s64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(dms_stats, cpu).gauge[gauge]);
	return sum > 0 ? sum : 0;
}
