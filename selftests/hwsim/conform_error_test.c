// SPDX-License-Identifier: GPL-2.0-only
/* KUnit, conformance: what happens when a request cannot be done. */
#include <linux/delay.h>
#include <linux/scatterlist.h>
#include "conform_bed.h"
#include "qp.h"
#include "sim.h"
#include "wire.h"

/* A queue pair goes to the error state by itself, and its requests are flushed. */
static void expect_error_state(struct kunit *test, struct conf_side *s)
{
	unsigned long end = jiffies + 60 * HZ;

	while (conf_state(s) != IB_QPS_ERR && time_before(jiffies, end))
		usleep_range(50, 200);
	KUNIT_EXPECT_EQ(test, (int)conf_state(s), (int)IB_QPS_ERR);
}

struct access_case {
	const char *what;
	enum ib_wr_opcode op;
	int mr_access, qp_access;	/* CONF_RIGHTS without these */
	u32 key_xor;
	u32 len, roff;
	enum ib_wc_status status;
	enum ib_event_type event;
};

/*
 * A key, a range or a right that is not there: remote access error, and the
 * responder's queue pair is in error, too, with an event since no receive tells it
 * (9.9.3.1.3, C9-222.1.1).  A queue pair that is not made for such requests:
 * invalid request (9.7.4).
 */
static const struct access_case access_cases[] = {
	{ "another key", IB_WR_RDMA_WRITE, 0, 0, 0x100, 64, 0,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "the key's own bits", IB_WR_RDMA_WRITE, 0, 0, 1, 64, 0,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a READ by another key", IB_WR_RDMA_READ, 0, 0, 0x100, 64, 0,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a WRITE over the end", IB_WR_RDMA_WRITE, 0, 0, 0, 64, CONF_BUF - 63,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a long WRITE over the end", IB_WR_RDMA_WRITE, 0, 0, 0, 1000, CONF_BUF - 999,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a WRITE before the start", IB_WR_RDMA_WRITE, 0, 0, 0, 64, -1,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a READ over the end", IB_WR_RDMA_READ, 0, 0, 0, 64, CONF_BUF - 63,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a region without remote write", IB_WR_RDMA_WRITE, IB_ACCESS_REMOTE_WRITE, 0, 0, 64, 0,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a region without remote read", IB_WR_RDMA_READ, IB_ACCESS_REMOTE_READ, 0, 0, 64, 0,
	  IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a region without atomics", IB_WR_ATOMIC_FETCH_AND_ADD, IB_ACCESS_REMOTE_ATOMIC, 0, 0,
	  8, 0, IB_WC_REM_ACCESS_ERR, IB_EVENT_QP_ACCESS_ERR },
	{ "a queue pair without remote write", IB_WR_RDMA_WRITE, 0, IB_ACCESS_REMOTE_WRITE, 0, 64,
	  0, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR },
	{ "a queue pair without remote read", IB_WR_RDMA_READ, 0, IB_ACCESS_REMOTE_READ, 0, 64,
	  0, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR },
	{ "a queue pair without atomics", IB_WR_ATOMIC_FETCH_AND_ADD, 0, IB_ACCESS_REMOTE_ATOMIC,
	  0, 8, 0, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR },
};

static void access_case(struct kunit *test, const struct access_case *c)
{
	struct conf_pair *p = test->priv;
	u8 before[8];

	CONF_OPEN(test, .mr_access = CONF_RIGHTS & ~c->mr_access,
		  .qp_access = CONF_RIGHTS & ~c->qp_access);
	conf_fill(&p->b, 1);
	memcpy(before, p->b.buf, sizeof(before));
	KUNIT_ASSERT_EQ(test, CONF_POST(&p->a, c->op, 1, .len = c->len,
					.raddr = p->b.mr->iova + (s32)c->roff,
					.rkey = p->b.rkey ^ c->key_xor), 0);
	conf_wc(p, p->a.scq, 1, c->status);
	KUNIT_EXPECT_TRUE_MSG(test, conf_event(&p->b.qp_events, c->event), "%s", c->what);
	expect_error_state(test, &p->a);
	expect_error_state(test, &p->b);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(before, p->b.buf, sizeof(before)), 0, "%s", c->what);
}

static void conf_access(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(access_cases); i++) {
		access_case(test, &access_cases[i]);
		conf_exit(test);
		KUNIT_ASSERT_EQ(test, conf_init(test), 0);
	}
}

/* A key of another protection domain opens nothing: 10.6.3 */
static void conf_domain(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_pd *pd = ib_alloc_pd(&p->b.dev->ib, 0);
	struct ib_mr *mr;

	KUNIT_ASSERT_FALSE(test, IS_ERR(pd));
	CONF_OPEN(test);
	mr = pd->device->ops.get_dma_mr(pd, CONF_RIGHTS);
	KUNIT_EXPECT_FALSE(test, IS_ERR(mr));
	if (!IS_ERR(mr)) {
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 64, .raddr = p->b.dma,
			  .rkey = mr->rkey);
		conf_wc(p, p->a.scq, 1, IB_WC_REM_ACCESS_ERR);
		pd->device->ops.dereg_mr(mr, NULL);
	}
	ib_dealloc_pd(pd);
}

/* A message that does not fit its receive: 9.7.4, 9.9.3, 11.6.2 */
static void conf_too_long(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	conf_recv(&p->b, 5, 0, 300);
	conf_recv(&p->b, 6, 0, 300);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 301);
	conf_wc(p, p->b.rcq, 5, IB_WC_LOC_LEN_ERR);
	conf_wc(p, p->b.rcq, 6, IB_WC_WR_FLUSH_ERR);
	conf_wc(p, p->a.scq, 1, IB_WC_REM_INV_REQ_ERR);
	expect_error_state(test, &p->b);
}

/*
 * After an error all is flushed in order, what was not signalled too, and so is
 * what is posted later; receives as well: 10.3.1, 10.8.6
 */
static void conf_flush(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test);
	for (i = 0; i < 5; i++) {
		conf_recv(&p->a, 100 + i, 0, 64);
		conf_recv(&p->b, 200 + i, 0, 64);
	}
	for (i = 0; i < 10; i++)
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .len = 600, .quiet = i != 1,
			  .rkey = i == 3 ? 0xffffff00 : 0);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 3, IB_WC_REM_ACCESS_ERR);
	for (i = 4; i < 10; i++)
		conf_wc(p, p->a.scq, i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 5; i++)
		conf_wc(p, p->a.rcq, 100 + i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 5; i++)
		conf_wc(p, p->b.rcq, 200 + i, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, CONF_POST(&p->a, IB_WR_SEND, 50, .len = 10, .quiet = true), 0);
	conf_wc(p, p->a.scq, 50, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, conf_recv(&p->a, 51, 0, 64), 0);
	conf_wc(p, p->a.rcq, 51, IB_WC_WR_FLUSH_ERR);
}

/* By the consumer's own hand; and a queue pair can be used again after RESET: 10.3.1 */
static void conf_to_error(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test);
	/* nobody receives, so that they are under way */
	for (i = 0; i < 4; i++) {
		CONF_POST(&p->a, IB_WR_SEND, i, .len = 600);
		conf_recv(&p->a, 100 + i, 0, 64);
	}
	KUNIT_ASSERT_EQ(test, conf_modify(&p->a, IB_QPS_ERR, p, 0), 0);
	for (i = 0; i < 4; i++)
		conf_wc(p, p->a.scq, i, IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 4; i++)
		conf_wc(p, p->a.rcq, 100 + i, IB_WC_WR_FLUSH_ERR);
	conf_reset(&p->a);
	conf_reset(&p->b);
	p->o.psn = 0x777;
	conf_connect(p, &p->a, p->b.qp->qp_num);
	conf_connect(p, &p->b, p->a.qp->qp_num);
	conf_recv(&p->b, 9, 0, 1000);
	CONF_POST(&p->a, IB_WR_SEND, 8, .len = 600);
	conf_wc(p, p->b.rcq, 9, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 8, IB_WC_SUCCESS);
}

/* Not ready, and tried rnr_retry times, not before the responder's time: 9.7.5 */
static void conf_rnr_exceeded(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 before, t0;

	/* 0: at once */
	CONF_OPEN(test, .rnr_retry = CONF_NONE, .min_rnr = 20);
	before = conf_count(&p->b, HWSIM_RNR_NAK_SENT);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10);
	conf_wc(p, p->a.scq, 1, IB_WC_RNR_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_RNR_NAK_SENT) - before, 1ULL);
	/* the responder goes on: it was not its fault */
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->b), (int)IB_QPS_RTS);
	expect_error_state(test, &p->a);

	conf_exit(test);
	KUNIT_ASSERT_EQ(test, conf_init(test), 0);
	p = test->priv;
	CONF_OPEN(test, .rnr_retry = 3, .min_rnr = 20);
	before = conf_count(&p->b, HWSIM_RNR_NAK_SENT);
	t0 = ktime_get_ns();
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10);
	conf_wc(p, p->a.scq, 1, IB_WC_RNR_RETRY_EXC_ERR);
	/* code 20 is 10.24 ms */
	KUNIT_EXPECT_GE(test, ktime_get_ns() - t0, 3 * 10240 * 1000ULL);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_RNR_NAK_SENT) - before, 4ULL);
}

/* 7 is for ever: 9.7.5; and what waits goes on in its order */
static void conf_rnr_infinite(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 before;
	int i;

	CONF_OPEN(test, .min_rnr = 1);
	conf_fill(&p->a, 1);
	before = conf_count(&p->b, HWSIM_RNR_NAK_SENT);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 1000);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = 1000, .roff = 8192);
	CONF_POST(&p->a, IB_WR_SEND, 3, .off = 500, .len = 1000);
	for (i = 0; i < 1000 && conf_count(&p->b, HWSIM_RNR_NAK_SENT) < before + 10; i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_GE(test, conf_count(&p->b, HWSIM_RNR_NAK_SENT), before + 10);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.scq));
	KUNIT_EXPECT_EQ(test, p->b.buf[8192 + 1], 0);
	conf_recv(&p->b, 7, 0, 1000);
	conf_recv(&p->b, 8, 2048, 1000);
	for (i = 0; i < 3; i++)
		conf_wc(p, p->a.scq, i + 1, IB_WC_SUCCESS);
	conf_wc(p, p->b.rcq, 7, IB_WC_SUCCESS);
	conf_wc(p, p->b.rcq, 8, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, 1000), 0);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 500, p->b.buf + 2048, 1000), 0);
}

/* Nobody answers: retry_cnt more times, each a timeout later: 9.9.2 */
static void conf_timeout(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 t0, before;

	CONF_OPEN(test, .apart = true, .retry = 2, .timeout = 13);
	conf_connect(p, &p->a, p->b.qp->qp_num + 1000);
	before = conf_count(&p->a, HWSIM_ACK_TIMEOUT);
	t0 = ktime_get_ns();
	p->b.mr->iova = 0x1000;
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 10, .rkey = 0x1234);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = 10, .rkey = 0x1234);
	conf_wc(p, p->a.scq, 1, IB_WC_RETRY_EXC_ERR);
	conf_wc(p, p->a.scq, 2, IB_WC_WR_FLUSH_ERR);
	/* at least the timeout of 4.096 us << 13, and at most four times that, each */
	KUNIT_EXPECT_GE(test, ktime_get_ns() - t0, 3 * (4096ULL << 13));
	KUNIT_EXPECT_EQ(test, conf_count(&p->a, HWSIM_ACK_TIMEOUT) - before, 3ULL);
}

/* The other end is in error: it answers nothing, 10.3.1 */
static void conf_peer_in_error(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test, .retry = 1, .timeout = 13);
	KUNIT_ASSERT_EQ(test, conf_modify(&p->b, IB_QPS_ERR, p, 0), 0);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 10);
	conf_wc(p, p->a.scq, 1, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, p->b.buf[0], 0);
}

/* The requester's own memory: nothing of it goes out, 11.6.2 and 10.6.3 */
static void conf_local_key(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	conf_recv(&p->b, 3, 0, 64);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 10);
	CONF_POST(&p->a, IB_WR_SEND, 2, .len = 10, .lkey = p->a.rkey ^ 1);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 2, IB_WC_LOC_PROT_ERR);
	expect_error_state(test, &p->a);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->b), (int)IB_QPS_RTS);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->b.rcq));
}

/* The responder's own memory: an operational error for the requester, 9.9.3 */
static void conf_remote_local_key(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_sge sge = { .length = 64, .lkey = 0xffffff00 };
	struct ib_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 };

	CONF_OPEN(test);
	sge.addr = p->b.dma;
	KUNIT_ASSERT_EQ(test, ib_post_recv(p->b.qp, &wr, NULL), 0);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10);
	conf_wc(p, p->b.rcq, 3, IB_WC_LOC_PROT_ERR);
	conf_wc(p, p->a.scq, 1, IB_WC_REM_OP_ERR);
}

/*
 * What the port of @s has to send waits, or goes on; what comes to it is taken.  Paused
 * as by the queue of a port that never has room again.
 */
static void hold_port(struct conf_side *s, bool hold)
{
	static struct hwsim_port full;

	hwsim_lock();
	s->dev->port.paused_by = hold ? &full : NULL;
	hwsim_unlock();
	hwsim_run();
}

static bool has_refused(struct conf_side *s)
{
	unsigned long end = jiffies + 60 * HZ;
	bool ret;

	do {
		usleep_range(50, 200);
		hwsim_lock();
		ret = to_hwsim_qp(s->qp)->resp.fatal;
		hwsim_unlock();
	} while (!ret && time_before(jiffies, end));
	return ret;
}

/* More READs than the responder has room for: invalid request, 9.7.4 */
static void conf_too_many_reads(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	/* no timeout comes between: the first is answered late */
	CONF_OPEN(test, .rd = 8, .dest_rd = 1, .timeout = 24);
	hold_port(&p->b, true);
	for (i = 0; i < 8; i++)
		CONF_POST(&p->a, IB_WR_RDMA_READ, i, .len = CONF_BUF);
	KUNIT_EXPECT_TRUE(test, has_refused(&p->b));
	hold_port(&p->b, false);
	/* what there was room for is answered; the next is at fault, the rest not done */
	conf_wc(p, p->a.scq, 0, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 1, IB_WC_REM_INV_REQ_ERR);
	for (i = 2; i < 8; i++)
		conf_wc(p, p->a.scq, i, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->b.qp_events, IB_EVENT_QP_REQ_ERR));
}

/* A completion that finds no room: the queue is in error and says so, 10.8.1, 11.6.3 */
static void conf_cq_overflow(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test, .scqe = 3);
	for (i = 0; i < 5; i++)
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .len = 10);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->a.cq_events, IB_EVENT_CQ_ERR));
	KUNIT_EXPECT_TRUE(test, conf_event(&p->a.qp_events, IB_EVENT_QP_FATAL));
	expect_error_state(test, &p->a);
	/* those that had room are good */
	for (i = 0; i < 3; i++)
		conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
}

/* A queue pair is destroyed while its packets are under way; others do not notice: 10.2.4 */
static void conf_destroy(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i, round;

	for (round = 0; round < 8; round++) {
		CONF_OPEN(test, .retry = 1, .timeout = 10);
		for (i = 0; i < 4; i++) {
			CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .len = CONF_BUF);
			CONF_POST(&p->b, IB_WR_RDMA_READ, i, .len = CONF_BUF);
		}
		if (round % 4)
			udelay(50 * (round % 4));
		if (round % 2) {
			ib_destroy_qp(p->b.qp);
			p->b.qp = NULL;
		} else {
			ib_destroy_qp(p->a.qp);
			p->a.qp = NULL;
		}
		conf_exit(test);
		KUNIT_ASSERT_EQ(test, conf_init(test), 0);
		p = test->priv;
	}
	CONF_OPEN(test);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = CONF_BUF);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
}

CONF_SUITES(error,
	    KUNIT_CASE(conf_access),
	    KUNIT_CASE(conf_domain),
	    KUNIT_CASE(conf_too_long),
	    KUNIT_CASE(conf_flush),
	    KUNIT_CASE(conf_to_error),
	    KUNIT_CASE(conf_rnr_exceeded),
	    KUNIT_CASE(conf_rnr_infinite),
	    KUNIT_CASE(conf_timeout),
	    KUNIT_CASE(conf_peer_in_error),
	    KUNIT_CASE(conf_local_key),
	    KUNIT_CASE(conf_remote_local_key),
	    KUNIT_CASE(conf_too_many_reads),
	    KUNIT_CASE(conf_cq_overflow),
	    KUNIT_CASE(conf_destroy));
