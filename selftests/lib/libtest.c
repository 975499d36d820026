// SPDX-License-Identifier: LGPL-2.1-only OR MIT
#include "libtest.h"

int libtest_bad;
int libtest_passed;
int libtest_failed;

void libtest_run(const char *name, void (*fn)(void))
{
	libtest_bad = 0;
	fn();
	printf("%s %d - %s\n", libtest_bad ? "not ok" : "ok",
	       libtest_passed + libtest_failed + 1, name);
	fflush(stdout);
	if (libtest_bad)
		libtest_failed++;
	else
		libtest_passed++;
}

int libtest_end(void)
{
	printf("%d passed, %d failed\n", libtest_passed, libtest_failed);
	return libtest_failed || !libtest_passed;
}

/* xorshift64*, Vigna 2016: the same numbers in every run */
uint64_t libtest_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}
