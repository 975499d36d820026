// SPDX-License-Identifier: GPL-2.0-only
/* The send window that adapts to delay. */
#include "dms_test.h"
#include "core/delay.h"
#include "core/window.h"

#define DELAY_FLOOR	1000ULL
#define DELAY_CAP	1000000ULL
#define DELAY_TARGET	50000U

static const struct dms_delay_conf delay_conf = {
	.floor = DELAY_FLOOR, .cap = DELAY_CAP, .target_ns = DELAY_TARGET, .step = 100,
};

/* In use as a whole, at a limit of the test's choice, no slow start any more. */
static void delay_at(struct dms_delay *d, struct dms_window *w, u64 limit)
{
	dms_delay_init(d, w, &delay_conf);
	dms_window_resize(w, limit);
	w->used = limit;
	d->slow_start = false;
}

TEST(delay_bounds)
{
	static const struct {
		u64 floor, cap, want_floor, want_cap;
	} rows[] = {
		{ 1, 1, 1, 1 },
		{ 0, 0, 1, 1 },
		{ 5, 4, 5, 5 },
		{ 5, 5, 5, 5 },
		{ 5, 6, 5, 6 },
		{ 1, U64_MAX, 1, DMS_DELAY_CAP_MAX },
		{ U64_MAX, 1, DMS_DELAY_CAP_MAX, DMS_DELAY_CAP_MAX },
		{ DMS_DELAY_CAP_MAX - 1, DMS_DELAY_CAP_MAX + 1,
		  DMS_DELAY_CAP_MAX - 1, DMS_DELAY_CAP_MAX },
	};
	struct dms_delay_conf conf = delay_conf;
	struct dms_window w;
	struct dms_delay d;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		conf.floor = rows[i].floor;
		conf.cap = rows[i].cap;
		dms_delay_init(&d, &w, &conf);
		EXPECT_EQ(d.conf.floor, rows[i].want_floor);
		EXPECT_EQ(d.conf.cap, rows[i].want_cap);
		EXPECT_EQ(w.limit, rows[i].want_floor);
		EXPECT_EQ(w.used, 0);
		EXPECT_EQ(d.grown + d.cuts, 0);
	}

	/* the operator's hand: the window moves at once, what is out stays out */
	delay_at(&d, &w, 5000);
	conf = delay_conf;
	conf.cap = 4000;
	dms_delay_set(&d, &w, &conf);
	EXPECT_EQ(w.limit, 4000);
	EXPECT_EQ(w.used, 5000);
	conf.floor = 6000;
	conf.cap = 7000;
	dms_delay_set(&d, &w, &conf);
	EXPECT_EQ(w.limit, 6000);
}

/* One sample at a time, from a window of @limit. */
TEST(delay_samples)
{
	static const struct {
		u64 limit, used;
		u32 bytes;
		u64 delay, now, want;
	} rows[] = {
		/* below the target: a step for each window */
		{ 10000, 10000, 10000, DELAY_TARGET - 1, 1 << 20, 10100 },
		{ 10000, 10000, 9999, DELAY_TARGET - 1, 1 << 20, 10000 },
		{ 10000, 10000, 10001, 0, 1 << 20, 10100 },
		{ 10000, 10000, U32_MAX, 0, 1 << 20, 10100 },
		{ 10000, 10000, 0, 0, 1 << 20, 10000 },
		/* not when it is not used */
		{ 10000, 5000, 10000, 0, 1 << 20, 10100 },
		{ 10000, 4999, 10000, 0, 1 << 20, 10000 },
		{ 10000, 0, 10000, 0, 1 << 20, 10000 },
		/* not over the cap */
		{ DELAY_CAP - 100, DELAY_CAP, U32_MAX, 0, 1 << 20, DELAY_CAP },
		{ DELAY_CAP - 99, DELAY_CAP, U32_MAX, 0, 1 << 20, DELAY_CAP },
		{ DELAY_CAP, DELAY_CAP, U32_MAX, 0, 1 << 20, DELAY_CAP },
		/* at the target */
		{ 10240, 10240, 10240, DELAY_TARGET, 1 << 20, 10340 },
		/* above: 0.8 * (delay - target) / delay, half at most */
		{ 10240, 10240, 1, DELAY_TARGET + 1, 1 << 20, 10239 },
		{ 10240, 10240, 1, DELAY_TARGET * 5 / 4, 1 << 20, 10240 - 1638 },
		{ 10240, 10240, 1, DELAY_TARGET * 2, 1 << 20, 10240 - 4095 },
		{ 10240, 10240, 1, DELAY_TARGET * 8 / 3, 1 << 20, 10240 - 5119 },
		{ 10240, 10240, 1, DELAY_TARGET * 3, 1 << 20, 5120 },
		{ 10240, 0, 1, DELAY_TARGET * 100, 1ULL << 40, 5120 },
		{ 10240, 10240, 1, U64_MAX, U64_MAX >> 1, 5120 },
		{ 10240, 10240, 1, 1ULL << 32, 1ULL << 40, 5120 },
		{ 10240, 10240, 1, (1ULL << 22) - 1, 1ULL << 40, 5120 },
		/* not under the floor */
		{ 1999, 1999, 1, U64_MAX, 1ULL << 62, 1000 },
		{ 1000, 1000, 1, U64_MAX, 1ULL << 62, 1000 },
		/* not twice in a round trip: the last was at 0 */
		{ 10240, 10240, 1, DELAY_TARGET * 2, DELAY_TARGET * 2 - 1, 10240 },
		{ 10240, 10240, 1, DELAY_TARGET * 2, DELAY_TARGET * 2, 10240 - 4095 },
		{ 10240, 10240, 1, DELAY_TARGET * 2, 0, 10240 },
		{ 10240, 10240, 1, DELAY_TARGET * 2, U64_MAX, 10240 },	/* went back */
	};
	struct dms_window w;
	struct dms_delay d;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		delay_at(&d, &w, rows[i].limit);
		w.used = rows[i].used;
		dms_delay_sample(&d, &w, rows[i].bytes, rows[i].delay, rows[i].now);
		EXPECT_EQ(w.limit, rows[i].want);
		EXPECT_EQ(w.used, rows[i].used);
		EXPECT_EQ(d.grown, rows[i].want > rows[i].limit);
		EXPECT_EQ(d.cuts, rows[i].want < rows[i].limit);
	}
}

/* Bytes that were acknowledged count towards the next step, until a cut. */
TEST(delay_adds_up)
{
	struct dms_window w;
	struct dms_delay d;

	delay_at(&d, &w, 10000);
	dms_delay_sample(&d, &w, 6000, 0, 1);
	EXPECT_EQ(w.limit, 10000);
	dms_delay_sample(&d, &w, 4000, 0, 2);
	EXPECT_EQ(w.limit, 10100);
	dms_delay_sample(&d, &w, 10099, 0, 3);
	EXPECT_EQ(w.limit, 10100);	/* one less than the window now */
	dms_delay_sample(&d, &w, 1, DELAY_TARGET * 3, 1 << 20);
	EXPECT_EQ(w.limit, 5050);
	dms_delay_sample(&d, &w, 5049, 0, 1 << 20);
	EXPECT_EQ(w.limit, 5050);
	dms_delay_sample(&d, &w, 1, 0, 1 << 20);
	EXPECT_EQ(w.limit, 5150);
	EXPECT_EQ(d.grown, 2);
	EXPECT_EQ(d.cuts, 1);
}

TEST(delay_slow_start)
{
	struct dms_window w;
	struct dms_delay d;

	dms_delay_init(&d, &w, &delay_conf);
	EXPECT_EQ(w.limit, 1000);
	dms_delay_sample(&d, &w, 1000, 0, 1);	/* nothing was in use */
	EXPECT_EQ(w.limit, 1000);
	w.used = 1000;
	dms_delay_sample(&d, &w, 400, 0, 1);
	EXPECT_EQ(w.limit, 1400);
	dms_delay_sample(&d, &w, 600, 0, 1);
	EXPECT_EQ(w.limit, 2000);
	dms_delay_sample(&d, &w, U32_MAX, 0, 1);
	EXPECT_EQ(w.limit, 4000);	/* doubles at most */
	EXPECT_EQ(d.grown, 3);
	/* the first cut needs no round trip since another, and ends it */
	dms_delay_sample(&d, &w, 1, DELAY_TARGET * 3, 1);
	EXPECT_EQ(w.limit, 2000);
	dms_delay_sample(&d, &w, 2000, 0, 2);
	EXPECT_EQ(w.limit, 2100);
}

/* What is long has more time. */
TEST(delay_size)
{
	struct dms_delay_conf conf = delay_conf;
	struct dms_window w;
	struct dms_delay d;

	conf.ns_per_kib = 80;
	delay_at(&d, &w, 10240);
	dms_delay_set(&d, &w, &conf);
	dms_delay_sample(&d, &w, 1 << 20, DELAY_TARGET + 80 * 1024, 1 << 20);
	EXPECT_EQ(w.limit, 10340);
	d.cut_ns = 0;
	dms_delay_sample(&d, &w, 1 << 20, DELAY_TARGET + 80 * 1024 + 1, 1 << 20);
	EXPECT_EQ(w.limit, 10339);
	d.cut_ns = 0;
	dms_delay_sample(&d, &w, 1023, DELAY_TARGET * 3, 1 << 20);
	EXPECT_EQ(w.limit, 5170);

	/* the largest of all is no wrap */
	conf.target_ns = U32_MAX;
	conf.ns_per_kib = U32_MAX;
	dms_delay_set(&d, &w, &conf);
	dms_delay_sample(&d, &w, U32_MAX, DMS_DELAY_NS_MAX, 1ULL << 50);
	EXPECT_EQ(w.limit, 5270);
}

TEST(delay_fixed)
{
	struct dms_delay_conf conf = delay_conf;
	struct dms_window w;
	struct dms_delay d;
	u32 i;

	conf.floor = 5000;
	conf.cap = 5000;
	dms_delay_init(&d, &w, &conf);
	test_seed(0x5eed5eed);
	w.used = 5000;
	for (i = 0; i < 1000; i++) {
		dms_delay_sample(&d, &w, test_random(), test_random() % 200000, i * 1000);
		EXPECT_EQ(w.limit, 5000);
	}
	EXPECT_EQ(d.grown + d.cuts, 0);
}

TEST(delay_smoothed)
{
	struct dms_window w;
	struct dms_delay d;
	u32 i;

	dms_delay_init(&d, &w, &delay_conf);
	EXPECT_EQ(d.delay_ns, 0);
	dms_delay_sample(&d, &w, 1, 8000, 1);
	EXPECT_EQ(d.delay_ns, 8000);
	dms_delay_sample(&d, &w, 1, 16000, 1);
	EXPECT_EQ(d.delay_ns, 9000);
	for (i = 0; i < 100; i++)
		dms_delay_sample(&d, &w, 1, 0, 1);
	EXPECT_TRUE(d.delay_ns < 8);
	dms_delay_sample(&d, &w, 1, U64_MAX, 1);
	EXPECT_TRUE(d.delay_ns <= DMS_DELAY_NS_MAX);
}

/* Whatever is measured and whatever the clock says: between floor and cap. */
TEST(delay_random)
{
	static const u64 most[] = { 1, 1000, 100000, U32_MAX, U64_MAX };
	struct dms_delay_conf conf = delay_conf;
	u64 delay, now = 0, before;
	struct dms_window w;
	struct dms_delay d;
	u32 i, out = 0;

	test_seed(0x600dcafe);
	dms_delay_init(&d, &w, &conf);
	for (i = 0; i < TEST_ROUNDS(400000); i++) {
		test_row(i);
		if (i % 1000 == 0) {
			conf.floor = test_random() >> test_random() % 32;
			conf.cap = (u64)test_random() << test_random() % 32;
			conf.step = test_random() >> test_random() % 32;
			conf.target_ns = test_random() >> test_random() % 32;
			conf.ns_per_kib = test_random() >> test_random() % 32;
			dms_delay_set(&d, &w, &conf);
		}
		delay = ((u64)test_random() << 32 | test_random()) &
			most[test_random() % ARRAY_SIZE(most)];
		switch (test_random() % 8) {
		case 0:
			now = (u64)test_random() << 32;		/* anywhere */
			break;
		case 1:
			now -= test_random();
			break;
		case 2:
			break;					/* stands still */
		default:
			now += test_random() % 1000000;
		}
		w.used = w.limit >> test_random() % 4;
		before = w.limit;
		dms_delay_sample(&d, &w, test_random(), delay, now);
		out += w.limit < d.conf.floor || w.limit > d.conf.cap;
		out += w.limit < d.conf.floor + (before - d.conf.floor) / 2 && w.limit < before / 2;
	}
	EXPECT_EQ(out, 0);
}

/* A clock that went back is no reason to stay wide: a round trip later it may shrink. */
TEST(delay_clock_back)
{
	struct dms_window w;
	struct dms_delay d;

	delay_at(&d, &w, 10240);
	dms_delay_sample(&d, &w, 1, DELAY_TARGET * 3, 1ULL << 40);
	EXPECT_EQ(w.limit, 5120);
	dms_delay_sample(&d, &w, 1, DELAY_TARGET * 3, 1000);
	EXPECT_EQ(w.limit, 5120);
	dms_delay_sample(&d, &w, 1, DELAY_TARGET * 3, 1000 + DELAY_TARGET * 3 - 1);
	EXPECT_EQ(w.limit, 5120);
	dms_delay_sample(&d, &w, 1, DELAY_TARGET * 3, 1000 + DELAY_TARGET * 3);
	EXPECT_EQ(w.limit, 2560);
}

/*
 * Four windows share a queue that is served at a byte a ns, 20 us away: the delay
 * is 20 us and what is queued.  Each samples a KiB at a time.  In the end the sum is
 * what the target allows, 50,000 bytes, and nobody has less than half of a share,
 * whatever they began with.
 */
TEST(delay_converges)
{
	struct dms_delay_conf conf = delay_conf;
	u64 sum, queue, now = 0, total = 0, part[4] = { 0 };
	struct dms_window w[4];
	struct dms_delay d[4];
	u32 round, i;

	conf.floor = 1024;
	conf.step = 512;
	for (i = 0; i < 4; i++) {
		dms_delay_init(&d[i], &w[i], &conf);
		dms_window_resize(&w[i], 1000ULL << (3 * i));
		d[i].slow_start = false;
	}
	for (round = 0; round < 40000; round++) {
		sum = 0;
		for (i = 0; i < 4; i++)
			sum += w[i].limit;
		queue = sum > 20000 ? sum - 20000 : 0;
		now += 1024;
		/* who is served: in proportion to what each has in the queue */
		sum = (u64)test_random() % sum;
		for (i = 0; i < 3 && sum >= w[i].limit; i++)
			sum -= w[i].limit;
		w[i].used = w[i].limit;
		dms_delay_sample(&d[i], &w[i], 1024, 20000 + queue, now);
		if (round < 20000)
			continue;
		for (i = 0; i < 4; i++) {
			part[i] += w[i].limit >> 4;
			total += w[i].limit >> 4;
		}
	}
	total /= 20000;	/* the mean sum, in 16 bytes */
	EXPECT_TRUE(total > 35000 / 16 && total < 55000 / 16);
	for (i = 0; i < 4; i++) {
		test_row(i);
		EXPECT_TRUE(part[i] / 20000 > total / 8);
	}
}

TESTSET(dms_core_delay,
	CASE(delay_bounds),
	CASE(delay_samples),
	CASE(delay_adds_up),
	CASE(delay_slow_start),
	CASE(delay_size),
	CASE(delay_fixed),
	CASE(delay_smoothed),
	CASE(delay_random),
	CASE(delay_clock_back),
	CASE(delay_converges));
