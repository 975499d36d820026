/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One set of tests, two places to run them: the runner of this directory, in
 * user space under sanitizers, and KUnit in the kernel (selftests/kunit).
 *
 * A test_*.c has functions TEST(name), that use EXPECT_*, and ends with one
 * TESTSET().  It is also included into a single kernel object with all the
 * others, so names of functions are unique over all of them.
 */
#ifndef DMS_TEST_H
#define DMS_TEST_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* Row of a table, or step of a loop: told with each failure. */
static int dms_test_row;

static inline void test_row(int row)
{
	dms_test_row = row;
}

/* Fixed seed, the same numbers everywhere (G. Marsaglia, "Xorshift RNGs", 2003). */
static u32 dms_test_seed;

static inline void test_seed(u32 seed)
{
	dms_test_seed = seed;
}

static inline u32 test_random(void)
{
	dms_test_seed ^= dms_test_seed << 13;
	dms_test_seed ^= dms_test_seed >> 17;
	dms_test_seed ^= dms_test_seed << 5;
	return dms_test_seed;
}

#ifdef __KERNEL__

#include <kunit/test.h>

/* rounds of a random test */
#define TEST_ROUNDS(n)		((n) / 20)
/* from one row of a table to the next, where each takes long: an odd number */
#define TEST_STEP		3

#define TEST(fn)		static void fn(struct kunit *test)
#define CASE(fn)		KUNIT_CASE(fn)
#define TESTSET(sym, ...) \
	static struct kunit_case sym##_cases[] = { __VA_ARGS__, {} }; \
	static struct kunit_suite sym##_suite = { \
		.name = #sym, \
		.test_cases = sym##_cases, \
	}

#define EXPECT_EQ(a, b) \
	KUNIT_EXPECT_EQ_MSG(test, (s64)(a), (s64)(b), "row %d", dms_test_row)
#define EXPECT_TRUE(a) \
	KUNIT_EXPECT_TRUE_MSG(test, a, "row %d", dms_test_row)
#define EXPECT_FALSE(a) \
	KUNIT_EXPECT_FALSE_MSG(test, a, "row %d", dms_test_row)
#define EXPECT_STREQ(a, b) \
	KUNIT_EXPECT_STREQ_MSG(test, a, b, "row %d", dms_test_row)

/* memory of just this size, so that KASAN sees the first byte after it */
#define test_alloc(n)		kunit_kmalloc(test, n, GFP_KERNEL)
#define test_free(p)		kunit_kfree(test, p)

#else /* !__KERNEL__ */

#include <stdio.h>
#include <stdlib.h>

struct dms_test {
	const char	*name;
	void		(*fn)(struct dms_test *test);
	int		failures;
};

struct dms_test_suite {
	const char	*name;
	struct dms_test	*cases;
};

void dms_test_fail(struct dms_test *test, const char *file, int line, int row,
		   const char *what, long long a, long long b);

#define TEST_ROUNDS(n)		((n) / TEST_DIVISOR)
#define TEST_STEP		1
#ifndef TEST_DIVISOR
#define TEST_DIVISOR		1
#endif

#define TEST(fn)		static void fn(struct dms_test *test)
#define CASE(fn)		{ #fn, fn, 0 }
#define TESTSET(sym, ...) \
	static struct dms_test sym##_cases[] = { __VA_ARGS__, { NULL, NULL, 0 } }; \
	const struct dms_test_suite sym##_suite = { #sym, sym##_cases }

#define EXPECT_THAT(ok, what, a, b) \
	do { \
		if (!(ok)) \
			dms_test_fail(test, __FILE__, __LINE__, dms_test_row, what, a, b); \
	} while (0)

#define EXPECT_EQ(a, b) \
	do { \
		long long expect_a = (long long)(a), expect_b = (long long)(b); \
		EXPECT_THAT(expect_a == expect_b, #a " == " #b, expect_a, expect_b); \
	} while (0)
#define EXPECT_TRUE(a)		EXPECT_THAT(a, #a, 0, 1)
#define EXPECT_FALSE(a)		EXPECT_THAT(!(a), "!(" #a ")", 1, 0)
#define EXPECT_STREQ(a, b)	EXPECT_THAT(!strcmp(a, b), "strings " #a " == " #b, 0, 0)

/* memory of just this size, so that ASan sees the first byte after it */
#define test_alloc(n)		malloc(n)
#define test_free(p)		free(p)

#endif /* !__KERNEL__ */

#endif /* DMS_TEST_H */
