// SPDX-License-Identifier: GPL-2.0-only
/* KUnit, conformance: a send queue that is drained, and a device that goes. */
#include <linux/completion.h>
#include <linux/delay.h>
#include "conform_bed.h"
#include "qp.h"
#include "req.h"

/*
 * SQD (10.3.1): what was started ends, and that is told when it was asked for; what
 * is posted then waits, and goes on in RTS.
 */
static void conf_sqd(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD, .en_sqd_async_notify = 1 };
	struct conf_pair *p = test->priv;
	unsigned long end = jiffies + 60 * HZ;
	struct ib_qp_init_attr init;
	u64 before;

	CONF_OPEN(test);
	conf_fill(&p->a, 1);
	/* nobody receives, so that it is under way when the queue is stopped */
	before = conf_count(&p->b, HWSIM_RNR_NAK_SENT);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10000);
	while (conf_count(&p->b, HWSIM_RNR_NAK_SENT) == before && time_before(jiffies, end))
		usleep_range(50, 200);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(p->a.qp, &attr, IB_QP_STATE |
					   IB_QP_EN_SQD_ASYNC_NOTIFY), 0);
	KUNIT_EXPECT_EQ(test, ib_query_qp(p->a.qp, &attr, IB_QP_STATE, &init), 0);
	KUNIT_EXPECT_EQ(test, (int)attr.qp_state, (int)IB_QPS_SQD);
	KUNIT_EXPECT_EQ(test, attr.sq_draining, 1);
	KUNIT_EXPECT_EQ(test, p->a.qp_events, 0UL);
	KUNIT_EXPECT_EQ(test, CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = 64, .off = 16384,
					.roff = 16384), 0);
	KUNIT_ASSERT_EQ(test, conf_recv(&p->b, 7, 0, 10000), 0);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->a.qp_events, IB_EVENT_SQ_DRAINED));
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	conf_wc(p, p->b.rcq, 7, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, 10000), 0);
	KUNIT_EXPECT_EQ(test, ib_query_qp(p->a.qp, &attr, IB_QP_STATE, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.sq_draining, 0);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.scq));
	/* the other direction is not stopped */
	CONF_POST(&p->b, IB_WR_RDMA_READ, 3, .len = 500, .off = 32768, .roff = 32768);
	conf_wc(p, p->b.scq, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.scq));
	attr.qp_state = IB_QPS_RTS;
	KUNIT_ASSERT_EQ(test, ib_modify_qp(p->a.qp, &attr, IB_QP_STATE), 0);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 16384, p->b.buf + 16384, 64), 0);
	/* it was asked for once */
	KUNIT_EXPECT_EQ(test, p->a.qp_events, 0UL);
}

/* The client of the test: it lets go of the pair when its device goes. */
static struct {
	struct ib_client client;
	struct conf_pair *p;
	struct completion gone;
	unsigned int hits, left;
} remover;

static int remover_add(struct ib_device *ib)
{
	if (!remover.p || ib != &remover.p->a.dev->ib)
		return -EOPNOTSUPP;
	return 0;
}

static void remover_remove(struct ib_device *ib, void *unused)
{
	struct conf_side *a = &remover.p->a;
	struct hwsim_sq *sq = &to_hwsim_qp(a->qp)->sq;

	remover.hits = hwsim_fault_hits(&a->dev->faults, HWSIM_FAULT_REMOVE);
	remover.left = hwsim_sq_head(sq) - READ_ONCE(sq->tail);
	conf_close(a);
	conf_lost(a);
	complete(&remover.gone);
}

/*
 * The device is pulled out at a work request: its client hears of it, with
 * requests under way, and closes; nothing stays mapped, which the IOMMU would
 * report.  The peer finds nobody.  A new device in its place works.
 */
static void conf_remove(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test, .retry = 2);
	memset(&remover, 0, sizeof(remover));
	init_completion(&remover.gone);
	remover.p = p;
	remover.client = (struct ib_client){ .name = "hwconf", .add = remover_add,
					     .remove = remover_remove };
	KUNIT_ASSERT_EQ(test, ib_register_client(&remover.client), 0);
	/* slow enough that most of it is still to come: 2.4 s for all */
	hwsim_lock();
	p->a.dev->port.rate = 300000;
	hwsim_unlock();
	conf_arm(p, &p->a, "remove op=write at=3");
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .len = CONF_BUF), 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&remover.gone, 60 * HZ), 0UL);
	KUNIT_EXPECT_EQ(test, remover.hits, 1U);
	KUNIT_EXPECT_GT(test, remover.left, 0U);
	CONF_POST(&p->b, IB_WR_RDMA_WRITE, 20, .len = 64, .raddr = 0x1000, .rkey = 0x1200);
	conf_wc(p, p->b.scq, 20, IB_WC_RETRY_EXC_ERR);
	ib_unregister_client(&remover.client);
	KUNIT_ASSERT_EQ(test, conf_replace(p, &p->a), 0);

	conf_exit(test);
	KUNIT_ASSERT_EQ(test, conf_init(test), 0);
	p = test->priv;
	CONF_OPEN(test);
	conf_fill(&p->a, 2);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 1, .len = 1000);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, 1000), 0);
}

static struct kunit_case conf_life_cases[] = {
	KUNIT_CASE(conf_sqd),
	KUNIT_CASE(conf_remove),
	{}
};

static struct kunit_suite hwsim_conform_life_suite = {
	.name = "hwsim_conform_life",
	.suite_init = conf_suite_init,
	.suite_exit = conf_suite_exit,
	.init = conf_init,
	.exit = conf_exit,
	.test_cases = conf_life_cases,
};

kunit_test_suites(&hwsim_conform_life_suite);
