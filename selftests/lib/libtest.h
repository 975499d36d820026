/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * ok / not ok lines and the counts at the end, for the tests of the library.
 */
#ifndef LIBTEST_H
#define LIBTEST_H

#include <stdint.h>
#include <stdio.h>

extern int libtest_bad;		/* checks of the running test that failed */
extern int libtest_passed;
extern int libtest_failed;

#define CHECK(cond) do {						\
	if (!(cond)) {							\
		printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);	\
		libtest_bad++;						\
	}								\
} while (0)

#define CHECK_EQ(a, b) do {						\
	long long a_ = (long long)(a), b_ = (long long)(b);		\
									\
	if (a_ != b_) {							\
		printf("# %s:%d: %s is %lld, not %lld\n", __FILE__,	\
		       __LINE__, #a, a_, b_);				\
		libtest_bad++;						\
	}								\
} while (0)

void libtest_run(const char *name, void (*fn)(void));
int libtest_end(void);
uint64_t libtest_random(uint64_t *state);

#define RUN(fn)	libtest_run(#fn, fn)

#endif /* LIBTEST_H */
