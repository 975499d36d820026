// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit, conformance: faults on cue are what they say, and the protocol makes
 * good what it has to make good: loss, delay, and whatever comes twice.
 */
#include <linux/delay.h>
#include "conform_bed.h"

static unsigned int hits(struct conf_side *s, enum hwsim_fault_kind kind)
{
	return hwsim_fault_hits(&s->dev->faults, kind);
}

/* Each status at a chosen request; nothing of it goes out, and the rest is flushed. */
static void conf_fault_status(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned int before;
	char rule[60];
	int status, i;

	for (status = IB_WC_LOC_LEN_ERR; status <= IB_WC_GENERAL_ERR; status++) {
		CONF_OPEN(test);
		before = hits(&p->a, HWSIM_FAULT_WR);
		for (i = 0; i < 3; i++)
			conf_recv(&p->b, 10 + i, 0, 64);
		snprintf(rule, sizeof(rule), "wr status=%d at=2", status);
		conf_arm(p, &p->a, rule);
		for (i = 0; i < 3; i++)
			CONF_POST(&p->a, IB_WR_SEND, i, .len = 10);
		conf_wc(p, p->a.scq, 0, IB_WC_SUCCESS);
		conf_wc(p, p->a.scq, 1, status);
		conf_wc(p, p->a.scq, 2, IB_WC_WR_FLUSH_ERR);
		conf_wc(p, p->b.rcq, 10, IB_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, conf_empty(p->b.rcq));
		KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, hits(&p->a, HWSIM_FAULT_WR), before + 1);
		conf_exit(test);
		KUNIT_ASSERT_EQ(test, conf_init(test), 0);
		p = test->priv;
	}
}

/* Applied at the other end, and reported as failed. */
static void conf_fault_done(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned int before = hits(&p->a, HWSIM_FAULT_DONE);

	CONF_OPEN(test);
	conf_fill(&p->a, 1);
	conf_arm(p, &p->a, "done status=retry-exceeded op=write at=2");
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 100);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .off = 100, .len = 100, .roff = 100);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 2, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, 200), 0);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, hits(&p->a, HWSIM_FAULT_DONE), before + 1);
}

/* A receive fails: the requester hears of an operational error (9.9.3). */
static void conf_fault_recv(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned int before = hits(&p->b, HWSIM_FAULT_RECV);

	CONF_OPEN(test);
	conf_recv(&p->b, 5, 0, 64);
	conf_recv(&p->b, 6, 0, 64);
	conf_arm(p, &p->b, "recv status=loc-prot");
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10);
	conf_wc(p, p->b.rcq, 5, IB_WC_LOC_PROT_ERR);
	conf_wc(p, p->b.rcq, 6, IB_WC_WR_FLUSH_ERR);
	conf_wc(p, p->a.scq, 1, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_EQ(test, hits(&p->b, HWSIM_FAULT_RECV), before + 1);
}

/* A mixture in which each thing is done once or is wrong. */
static void mixture(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 *sum = (u64 *)(p->b.buf + CONF_BUF - 8);
	int i;

	conf_fill(&p->a, 1);
	conf_fill(&p->b, 2);
	*sum = 0;
	for (i = 0; i < 6; i++)
		conf_recv(&p->b, 100 + i, 4096 * i, 2000);
	for (i = 0; i < 6; i++) {
		CONF_POST(&p->a, IB_WR_SEND, 4 * i, .off = 100 * i, .len = 1000);
		CONF_POST(&p->a, IB_WR_ATOMIC_FETCH_AND_ADD, 4 * i + 1, .off = 32768 + 8 * i,
			  .len = 8, .roff = CONF_BUF - 8, .compare_add = 1);
		CONF_POST(&p->a, IB_WR_RDMA_READ, 4 * i + 2, .off = 40000 + 1000 * i, .len = 1000,
			  .roff = 30000 + 100 * i);
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, 4 * i + 3, .off = 500 * i, .len = 700,
			  .roff = 40000 + 700 * i);
	}
	for (i = 0; i < 24; i++)
		conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
	for (i = 0; i < 6; i++) {
		conf_wc(p, p->b.rcq, 100 + i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 100 * i, p->b.buf + 4096 * i, 1000), 0);
		KUNIT_EXPECT_EQ(test, ((u64 *)(p->a.buf + 32768))[i], (u64)i);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 40000 + 1000 * i,
					     p->b.buf + 30000 + 100 * i, 1000), 0);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 500 * i, p->b.buf + 40000 + 700 * i, 700),
				0);
	}
	KUNIT_EXPECT_EQ(test, *sum, 6ULL);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.scq));
	KUNIT_EXPECT_TRUE(test, conf_empty(p->b.rcq));
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->b), (int)IB_QPS_RTS);
}

/* The mixture, while one side's packets meet a fault of a kind, at several places. */
static void mixture_with(struct kunit *test, bool responder, const char *rule,
			 enum hwsim_fault_kind kind, unsigned int places)
{
	struct conf_pair *p;
	unsigned int at, before;
	struct conf_side *s;
	char text[80];

	for (at = 1; at <= places; at++) {
		p = test->priv;
		/* 33 ms: nothing but the timer finds the last packet's loss */
		CONF_OPEN(test, .timeout = 13);
		s = responder ? &p->b : &p->a;
		before = hits(s, kind);
		snprintf(text, sizeof(text), "%s at=%u", rule, at);
		conf_arm(p, s, text);
		mixture(test);
		KUNIT_EXPECT_GT_MSG(test, hits(s, kind), before, "%s", text);
		conf_exit(test);
		KUNIT_ASSERT_EQ(test, conf_init(test), 0);
	}
}

/* A lost request: 9.7.5 (out of sequence) and 9.9.2 (timeout) */
static void conf_lost_packet(struct kunit *test)
{
	mixture_with(test, false, "packet-lose", HWSIM_FAULT_PKT_LOSE, 14);
}

static void conf_lost_packets(struct kunit *test)
{
	mixture_with(test, false, "packet-lose count=5", HWSIM_FAULT_PKT_LOSE, 4);
}

/* A lost acknowledgement or response: 9.7.5, 9.9.2 */
static void conf_lost_ack(struct kunit *test)
{
	mixture_with(test, true, "ack-lose", HWSIM_FAULT_ACK_LOSE, 12);
}

static void conf_late_ack(struct kunit *test)
{
	mixture_with(test, true, "ack-delay us=100000", HWSIM_FAULT_ACK_DELAY, 4);
}

/* What comes twice is done once: 9.7.4, 9.7.5 */
static void conf_duplicates(struct kunit *test)
{
	mixture_with(test, false, "packet-twice count=0", HWSIM_FAULT_PKT_TWICE, 1);
	mixture_with(test, false, "packet-twice", HWSIM_FAULT_PKT_TWICE, 8);
}

/* A request that comes so late that it has been sent again. */
static void conf_late_packet(struct kunit *test)
{
	mixture_with(test, false, "packet-delay us=100000", HWSIM_FAULT_PKT_DELAY, 4);
}

/* All are lost for longer than it is tried. */
static void conf_lost_for_good(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned int before = hits(&p->a, HWSIM_FAULT_PKT_LOSE);

	CONF_OPEN(test, .retry = 2, .timeout = 12);
	conf_arm(p, &p->a, "packet-lose count=0");
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 10);
	conf_wc(p, p->a.scq, 1, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, p->b.buf[0], 0);
	/* once, and as often as it was tried again */
	KUNIT_EXPECT_EQ(test, hits(&p->a, HWSIM_FAULT_PKT_LOSE), before + 3);
}

/* Completions appear later, in their order. */
static void conf_late_completion(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned int before = hits(&p->a, HWSIM_FAULT_CQE_DELAY);
	u64 t0;
	int i;

	CONF_OPEN(test);
	conf_arm(p, &p->a, "cqe-delay us=50000 at=2");
	t0 = ktime_get_ns();
	for (i = 0; i < 4; i++)
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .len = 10);
	for (i = 0; i < 4; i++) {
		conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
		if (i == 1)
			KUNIT_EXPECT_GE(test, ktime_get_ns() - t0, 50 * NSEC_PER_MSEC + 0ULL);
	}
	KUNIT_EXPECT_EQ(test, hits(&p->a, HWSIM_FAULT_CQE_DELAY), before + 1);
}

static void conf_fault_cq_full(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned int before = hits(&p->a, HWSIM_FAULT_CQ_FULL);

	CONF_OPEN(test);
	conf_arm(p, &p->a, "cq-full at=2");
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 10);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = 10);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->a.cq_events, IB_EVENT_CQ_ERR));
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.scq));
	KUNIT_EXPECT_EQ(test, hits(&p->a, HWSIM_FAULT_CQ_FULL), before + 1);
}

struct port_events {
	struct ib_event_handler handler;
	unsigned long events;
};

static void port_event(struct ib_event_handler *handler, struct ib_event *ev)
{
	set_bit(ev->event, &container_of(handler, struct port_events, handler)->events);
}

/* The port goes and comes, with its events; what was under way goes on. */
static void conf_fault_port(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct hwsim_faults *f = &p->a.dev->faults;
	static const enum hwsim_fault_kind kinds[] = { HWSIM_FAULT_PORT_DOWN, HWSIM_FAULT_PORT_UP,
						       HWSIM_FAULT_GID_CHANGE, HWSIM_FAULT_FATAL };
	unsigned int before[ARRAY_SIZE(kinds)];
	struct port_events seen = {};
	struct ib_port_attr attr;
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		before[i] = hits(&p->a, kinds[i]);
	CONF_OPEN(test, .timeout = 14);
	INIT_IB_EVENT_HANDLER(&seen.handler, &p->a.dev->ib, port_event);
	ib_register_event_handler(&seen.handler);
	KUNIT_EXPECT_GT(test, hwsim_fault_arm(f, "port-down"), 0);
	KUNIT_EXPECT_TRUE(test, conf_event(&seen.events, IB_EVENT_PORT_ERR));
	ib_query_port(&p->a.dev->ib, 1, &attr);
	KUNIT_EXPECT_NE(test, (int)attr.state, (int)IB_PORT_ACTIVE);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 64);
	KUNIT_EXPECT_GT(test, hwsim_fault_arm(f, "port-up"), 0);
	KUNIT_EXPECT_TRUE(test, conf_event(&seen.events, IB_EVENT_PORT_ACTIVE));
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_GT(test, hwsim_fault_arm(f, "gid-change"), 0);
	KUNIT_EXPECT_TRUE(test, conf_event(&seen.events, IB_EVENT_GID_CHANGE));
	/* a connection survives that its addresses go and come */
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = 64);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_GT(test, hwsim_fault_arm(f, "fatal"), 0);
	KUNIT_EXPECT_TRUE(test, conf_event(&seen.events, IB_EVENT_DEVICE_FATAL));
	ib_unregister_event_handler(&seen.handler);
	KUNIT_EXPECT_EQ(test, conf_find_gids(), 0);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		KUNIT_EXPECT_EQ(test, hits(&p->a, kinds[i]), before[i] + 1);
}

CONF_SUITES(fault,
	    KUNIT_CASE(conf_fault_status),
	    KUNIT_CASE(conf_fault_done),
	    KUNIT_CASE(conf_fault_recv),
	    KUNIT_CASE(conf_lost_packet),
	    KUNIT_CASE(conf_lost_packets),
	    KUNIT_CASE(conf_lost_ack),
	    KUNIT_CASE(conf_late_ack),
	    KUNIT_CASE(conf_duplicates),
	    KUNIT_CASE(conf_late_packet),
	    KUNIT_CASE(conf_lost_for_good),
	    KUNIT_CASE(conf_late_completion),
	    KUNIT_CASE(conf_fault_cq_full),
	    KUNIT_CASE(conf_fault_port));
