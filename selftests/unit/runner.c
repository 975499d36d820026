// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the suites and reports them as TAP does.
 *
 *	unit [-l] [SUITE[.TEST]]...
 */
#include "dms_test.h"
#include "suites.h"

/* more of the same failure would hide the others */
#define FAILURES_SHOWN	10

static const struct dms_test_suite *const suites[] = {
	&dms_core_wire_suite,
	&dms_core_wire_msg_suite,
	&dms_core_credit_suite,
	&dms_core_credit_model_suite,
	&dms_core_window_suite,
	&dms_core_ringidx_suite,
	&dms_core_seg_suite,
	&dms_core_tile_suite,
	&dms_core_fsm_suite,
	&dms_core_pick_suite,
	&dms_core_delay_suite,
	&dms_core_pull_suite,
	&dms_core_depth_suite,
	&dms_core_spin_suite,
	&dms_core_rate_suite,
	&dms_core_signal_suite,
	&dms_core_ack_suite,
	&dms_core_grant_suite,
	&dms_core_backoff_suite,
	&dms_core_rail_suite,
};

void dms_test_fail(struct dms_test *test, const char *file, int line, int row,
		   const char *what, long long a, long long b)
{
	if (test->failures++ < FAILURES_SHOWN)
		printf("# %s:%d: row %d: expected %s: %lld, %lld\n", file, line, row, what, a, b);
}

/* Is it "suite" or "suite.test"? */
static bool named(const char *arg, const char *suite, const char *name)
{
	size_t n = strlen(suite);

	if (strncmp(arg, suite, n))
		return false;
	return !arg[n] || (arg[n] == '.' && !strcmp(arg + n + 1, name));
}

static bool wanted(int argc, char **argv, const char *suite, const char *name)
{
	int i;

	for (i = 1; i < argc; i++)
		if (named(argv[i], suite, name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;
	struct dms_test *test;
	bool list = argc > 1 && !strcmp(argv[1], "-l");
	size_t i;

	if (list) {
		argc--;
		argv++;
	}

	for (i = 0; i < ARRAY_SIZE(suites); i++) {
		for (test = suites[i]->cases; test->fn; test++) {
			if (!wanted(argc, argv, suites[i]->name, test->name))
				continue;
			if (list) {
				printf("%s.%s\n", suites[i]->name, test->name);
				continue;
			}
			test->fn(test);
			if (test->failures)
				failed++;
			else
				passed++;
			printf("%sok %d - %s.%s\n", test->failures ? "not " : "", passed + failed,
			       suites[i]->name, test->name);
			fflush(stdout);
		}
	}
	if (list)
		return 0;

	printf("1..%d\n%d passed, %d failed\n", passed + failed, passed, failed);
	/* none at all is a mistake in a name */
	return failed || !passed;
}
