// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit, conformance: each verb that a client calls can be made to fail at the
 * call that the tester chose.  Those that end an object are not among them: the
 * kernel has them succeed.
 */
#include "conform_bed.h"

#define VERB_ERROR	EPROTO		/* none returns it by itself */

/* A verb on one side of the pair: 0, or the error; what was made is given back. */
struct verb_case {
	const char *name;
	int (*call)(struct conf_pair *p, struct conf_side *s);
	bool at_b;			/* b has a shared receive queue, a its own */
};

static int call_alloc_pd(struct conf_pair *p, struct conf_side *s)
{
	struct ib_pd *pd = ib_alloc_pd(&s->dev->ib, 0);

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ib_dealloc_pd(pd);
	return 0;
}

static int call_create_ah(struct conf_pair *p, struct conf_side *s)
{
	struct rdma_ah_attr attr = {};
	struct ib_ah *ah;

	conf_ah(p, s, &attr);
	ah = rdma_create_ah(s->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	return 0;
}

static int call_create_cq(struct conf_pair *p, struct conf_side *s)
{
	struct ib_cq_init_attr attr = { .cqe = 4 };
	struct ib_cq *cq = ib_create_cq(&s->dev->ib, NULL, NULL, NULL, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ib_destroy_cq(cq);
	return 0;
}

static int call_create_srq(struct conf_pair *p, struct conf_side *s)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ib_srq *srq = ib_create_srq(s->pd, &attr);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ib_destroy_srq(srq);
	return 0;
}

static int call_modify_srq(struct conf_pair *p, struct conf_side *s)
{
	struct ib_srq_attr attr = { .srq_limit = 0 };

	return ib_modify_srq(s->srq, &attr, IB_SRQ_LIMIT);
}

static int call_query_srq(struct conf_pair *p, struct conf_side *s)
{
	struct ib_srq_attr attr;

	return ib_query_srq(s->srq, &attr);
}

static int call_create_qp(struct conf_pair *p, struct conf_side *s)
{
	struct ib_qp_init_attr attr = { .qp_type = IB_QPT_RC, .send_cq = s->scq,
					.recv_cq = s->rcq };
	struct ib_qp *qp = ib_create_qp(s->pd, &attr);

	return IS_ERR(qp) ? PTR_ERR(qp) : ib_destroy_qp(qp);
}

static int call_modify_qp(struct conf_pair *p, struct conf_side *s)
{
	struct ib_qp_attr attr = { .min_rnr_timer = 12 };

	return ib_modify_qp(s->qp, &attr, IB_QP_MIN_RNR_TIMER);
}

static int call_query_qp(struct conf_pair *p, struct conf_side *s)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(s->qp, &attr, IB_QP_STATE, &init);
}

static int call_alloc_mr(struct conf_pair *p, struct conf_side *s)
{
	struct ib_mr *mr = ib_alloc_mr(s->pd, IB_MR_TYPE_MEM_REG, 1);

	return IS_ERR(mr) ? PTR_ERR(mr) : ib_dereg_mr(mr);
}

static int call_get_dma_mr(struct conf_pair *p, struct conf_side *s)
{
	const struct ib_device_ops *ops = &s->dev->ib.ops;
	struct ib_mr *mr = ops->get_dma_mr(s->pd, 0);

	return IS_ERR(mr) ? PTR_ERR(mr) : ops->dereg_mr(mr, NULL);
}

static int call_map_mr_sg(struct conf_pair *p, struct conf_side *s)
{
	int ret = conf_map(s, s->mr);

	return ret == 1 ? 0 : ret;
}

static int call_post_send(struct conf_pair *p, struct conf_side *s)
{
	return CONF_POST(s, IB_WR_RDMA_WRITE, 1, .len = 8, .quiet = true);
}

static int call_post_recv(struct conf_pair *p, struct conf_side *s)
{
	return conf_recv(s, 1, 0, 8);
}

static int call_poll_cq(struct conf_pair *p, struct conf_side *s)
{
	struct ib_wc wc;

	return ib_poll_cq(s->scq, 1, &wc);
}

static int call_req_notify_cq(struct conf_pair *p, struct conf_side *s)
{
	return ib_req_notify_cq(s->scq, IB_CQ_NEXT_COMP);
}

static int call_query_port(struct conf_pair *p, struct conf_side *s)
{
	struct ib_port_attr attr;

	return ib_query_port(&s->dev->ib, 1, &attr);
}

static int call_query_pkey(struct conf_pair *p, struct conf_side *s)
{
	u16 pkey;

	return ib_query_pkey(&s->dev->ib, 1, 0, &pkey);
}

/* A client reads what the core has kept of it; the core asks when a device comes. */
static int call_query_device(struct conf_pair *p, struct conf_side *s)
{
	struct ib_device_attr *attr = kunit_kzalloc(p->test, sizeof(*attr), GFP_KERNEL);
	struct ib_udata none = {};

	return attr ? s->dev->ib.ops.query_device(&s->dev->ib, attr, &none) : -ENOMEM;
}

static const struct verb_case verb_cases[] = {
	{ "alloc_pd", call_alloc_pd },
	{ "create_ah", call_create_ah },
	{ "create_cq", call_create_cq },
	{ "create_srq", call_create_srq },
	{ "modify_srq", call_modify_srq, true },
	{ "query_srq", call_query_srq, true },
	{ "create_qp", call_create_qp },
	{ "modify_qp", call_modify_qp },
	{ "query_qp", call_query_qp },
	{ "alloc_mr", call_alloc_mr },
	{ "get_dma_mr", call_get_dma_mr },
	{ "map_mr_sg", call_map_mr_sg },
	{ "post_send", call_post_send },
	{ "post_recv", call_post_recv },
	{ "post_srq_recv", call_post_recv, true },
	{ "poll_cq", call_poll_cq },
	{ "req_notify_cq", call_req_notify_cq },
	{ "query_port", call_query_port },
	{ "query_pkey", call_query_pkey },
	{ "query_device", call_query_device },
};

/* The second call from now on fails, and neither the one before nor the one after. */
static void conf_verbs(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	const struct verb_case *c;
	struct hwsim_faults *f;
	struct conf_side *s;
	unsigned int before;
	char rule[60];

	BUILD_BUG_ON(ARRAY_SIZE(verb_cases) != HWSIM_VERBS);
	CONF_OPEN(test, .srq = true);
	for (c = verb_cases; c < verb_cases + ARRAY_SIZE(verb_cases); c++) {
		s = c->at_b ? &p->b : &p->a;
		f = &s->dev->faults;
		before = hwsim_fault_hits(f, HWSIM_FAULT_VERB);
		snprintf(rule, sizeof(rule), "verb name=%s errno=%d at=2", c->name, VERB_ERROR);
		KUNIT_ASSERT_GT_MSG(test, hwsim_fault_arm(f, rule), 0, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, c->call(p, s), 0, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, c->call(p, s), -VERB_ERROR, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, c->call(p, s), 0, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, hwsim_fault_hits(f, HWSIM_FAULT_VERB), before + 1, "%s",
				    c->name);
	}
	/* and all is as it was */
	conf_fill(&p->a, 9);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2, .len = 500);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, 500), 0);
}

static struct kunit_case conf_verb_cases[] = {
	KUNIT_CASE(conf_verbs),
	{}
};

static struct kunit_suite hwsim_conform_verb_suite = {
	.name = "hwsim_conform_verb",
	.suite_init = conf_suite_init,
	.suite_exit = conf_suite_exit,
	.init = conf_init,
	.exit = conf_exit,
	.test_cases = conf_verb_cases,
};

kunit_test_suites(&hwsim_conform_verb_suite);
