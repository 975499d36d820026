// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: the wire takes the time that it was told to take, and a full queue drops,
 * marks or pauses.  Times are lower bounds: the machine may add to them.
 */
#include <linux/ktime.h>
#include "conform_bed.h"
#include "pkt.h"
#include "sim.h"
#include "wire.h"

/* What a packet of the smallest path MTU weighs. */
#define WIRE_PKT	(256 + HWSIM_PKT_OVERHEAD)

/* A port's side of the wire; 0 for what it is by itself. */
struct wire {
	u64 rate, delay, limit, ecn, pfc;
};

static void set_wire(struct conf_side *s, const struct wire *w)
{
	struct hwsim_port *port = &s->dev->port;

	hwsim_lock();
	port->rate = w->rate;
	port->delay = w->delay;
	port->queue_limit = w->limit ?: HWSIM_QUEUE_BYTES;
	port->ecn_at = w->ecn;
	port->pfc_at = w->pfc;
	hwsim_unlock();
	hwsim_run();
}

#define SET_WIRE(s, ...)	set_wire(s, &(struct wire){ __VA_ARGS__ })

static void wire_exit(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	if (!p)
		return;
	SET_WIRE(&p->a, 0);
	SET_WIRE(&p->b, 0);
	conf_exit(test);
}

/* A message of a to b: how long it takes.  Its bytes are good whatever happens. */
static u64 send_message(struct kunit *test, u32 len)
{
	struct conf_pair *p = test->priv;
	u64 t0 = ktime_get_ns();

	conf_fill(&p->a, len);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = len);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	t0 = ktime_get_ns() - t0;
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, len), 0);
	return t0;
}

static void conf_wire_rate(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 t;

	CONF_OPEN(test);
	/* the sender's port serialises: 64 packets at 100 kB/s */
	SET_WIRE(&p->a, .rate = 100000);
	t = send_message(test, 64 * 256);
	KUNIT_EXPECT_GE(test, t, 64ULL * WIRE_PKT * 10 * NSEC_PER_USEC);
	/* and the receiver's drains its queue no faster */
	SET_WIRE(&p->a, 0);
	SET_WIRE(&p->b, .rate = 100000);
	t = send_message(test, 64 * 256);
	KUNIT_EXPECT_GE(test, t, 64ULL * WIRE_PKT * 10 * NSEC_PER_USEC);
}

/* There to b, and the acknowledgement back to a. */
static void conf_wire_delay(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	SET_WIRE(&p->a, .delay = 200 * NSEC_PER_MSEC);
	SET_WIRE(&p->b, .delay = 300 * NSEC_PER_MSEC);
	KUNIT_EXPECT_GE(test, send_message(test, 10), 500ULL * NSEC_PER_MSEC);
}

/* What does not fit the queue is dropped and counted, and sent again. */
static void conf_wire_drops(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 drops = conf_count(&p->b, HWSIM_QUEUE_DROPS);

	CONF_OPEN(test, .timeout = 13);
	SET_WIRE(&p->b, .rate = 4000000, .limit = 5 * WIRE_PKT);
	send_message(test, 64 * 256);
	KUNIT_EXPECT_GT(test, conf_count(&p->b, HWSIM_QUEUE_DROPS), drops);
}

static void conf_wire_ecn(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 marks = conf_count(&p->b, HWSIM_ECN_MARKS);
	u64 drops = conf_count(&p->b, HWSIM_QUEUE_DROPS);

	CONF_OPEN(test);
	SET_WIRE(&p->b, .rate = 1000000, .ecn = 4 * WIRE_PKT);
	send_message(test, 2 * 256);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_ECN_MARKS), marks);
	send_message(test, 64 * 256);
	KUNIT_EXPECT_GT(test, conf_count(&p->b, HWSIM_ECN_MARKS), marks);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_QUEUE_DROPS), drops);
}

/* The sender is paused in time: a queue that would drop does not. */
static void conf_wire_pfc(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 pauses = conf_count(&p->b, HWSIM_PFC_PAUSES);
	u64 drops = conf_count(&p->b, HWSIM_QUEUE_DROPS);

	CONF_OPEN(test);
	SET_WIRE(&p->b, .rate = 4000000, .limit = 8 * WIRE_PKT, .pfc = 5 * WIRE_PKT);
	send_message(test, 64 * 256);
	KUNIT_EXPECT_GT(test, conf_count(&p->b, HWSIM_PFC_PAUSES), pauses);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_QUEUE_DROPS), drops);
	KUNIT_EXPECT_EQ(test, READ_ONCE(p->b.dev->port.queue_bytes), 0ULL);
}

static struct kunit_case conf_wire_cases[] = {
	KUNIT_CASE(conf_wire_rate),
	KUNIT_CASE(conf_wire_delay),
	KUNIT_CASE(conf_wire_drops),
	KUNIT_CASE(conf_wire_ecn),
	KUNIT_CASE(conf_wire_pfc),
	{}
};

static struct kunit_suite hwsim_conform_wire_suite = {
	.name = "hwsim_conform_wire",
	.suite_init = conf_suite_init,
	.suite_exit = conf_suite_exit,
	.init = conf_init,
	.exit = wire_exit,
	.test_cases = conf_wire_cases,
};

kunit_test_suites(&hwsim_conform_wire_suite);
