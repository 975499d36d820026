// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit, conformance: unreliable datagrams of queue pairs of a client's own
 * (IBTA volume 1, 9.8.3 and annex A17; the verbs' side in 11.4).
 */
#include <linux/delay.h>
#include "conform_bed.h"

#define UD_QKEY		0x11223344
#define UD_GRH		40		/* bytes before the payload, always */

/* Beside the pair: a's sends, b's receives. */
static struct {
	struct ib_qp *from, *to;
	struct ib_ah *ah;
} ud;

static struct ib_qp *ud_qp(struct conf_side *s)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = s->scq,
		.recv_cq = s->rcq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ib_create_qp(s->pd, &attr);
}

static int ud_ready(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1, .qkey = UD_QKEY };
	int ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			       IB_QP_QKEY);

	attr.qp_state = IB_QPS_RTR;
	ret = ret ?: ib_modify_qp(qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	return ret ?: ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static void ud_open(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct rdma_ah_attr attr = {};

	CONF_OPEN(test);
	conf_ah(p, &p->a, &attr);
	ud.ah = rdma_create_ah(p->a.pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ud.ah));
	ud.from = ud_qp(&p->a);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ud.from));
	ud.to = ud_qp(&p->b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ud.to));
	KUNIT_ASSERT_EQ(test, ud_ready(ud.from), 0);
	KUNIT_ASSERT_EQ(test, ud_ready(ud.to), 0);
}

static void ud_exit(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(ud.from))
		ib_destroy_qp(ud.from);
	if (!IS_ERR_OR_NULL(ud.to))
		ib_destroy_qp(ud.to);
	if (!IS_ERR_OR_NULL(ud.ah))
		rdma_destroy_ah(ud.ah, RDMA_DESTROY_AH_SLEEPABLE);
	memset(&ud, 0, sizeof(ud));
	conf_exit(test);
}

static int ud_send(struct conf_side *s, u64 id, u32 len, u32 qkey, bool imm)
{
	struct ib_sge sge = { .addr = s->dma, .length = len, .lkey = s->pd->local_dma_lkey };
	struct ib_ud_wr wr = {
		.wr = { .wr_id = id, .opcode = imm ? IB_WR_SEND_WITH_IMM : IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
			.ex.imm_data = cpu_to_be32(0xabcdef) },
		.ah = ud.ah,
		.remote_qpn = ud.to->qp_num,
		.remote_qkey = qkey,
	};

	return ib_post_send(ud.from, &wr.wr, NULL);
}

static int ud_recv(struct conf_side *s, u64 id, u32 len)
{
	struct ib_sge sge = { .addr = s->dma, .length = len, .lkey = s->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(ud.to, &wr, NULL);
}

/* One that nobody waits for is dropped and counted; its sender does not hear of it. */
static void ud_expect_drop(struct conf_pair *p, u64 before)
{
	unsigned long end = jiffies + 60 * HZ;

	while (conf_count(&p->b, HWSIM_UD_DROPPED) == before && time_before(jiffies, end))
		usleep_range(50, 200);
	KUNIT_EXPECT_EQ(p->test, conf_count(&p->b, HWSIM_UD_DROPPED), before + 1);
	KUNIT_EXPECT_TRUE(p->test, conf_empty(p->b.rcq));
}

/* One packet, with a network header before it, from whom it says */
static void conf_ud_send(struct kunit *test)
{
	static const u32 lengths[] = { 0, 1, 256, 4096 };
	struct conf_pair *p = test->priv;
	struct ib_wc wc;
	int i, imm;

	ud_open(test);
	conf_fill(&p->a, 1);
	for (imm = 0; imm < 2; imm++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			memset(p->b.buf, 0, 8192);
			KUNIT_ASSERT_EQ(test, ud_recv(&p->b, 100 + i, 8192), 0);
			KUNIT_ASSERT_EQ(test, ud_send(&p->a, i, lengths[i], UD_QKEY, imm), 0);
			conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
			wc = conf_wc(p, p->b.rcq, 100 + i, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, wc.byte_len, UD_GRH + lengths[i]);
			KUNIT_EXPECT_EQ(test, wc.src_qp, ud.from->qp_num);
			KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_GRH);
			KUNIT_EXPECT_EQ(test, wc.wc_flags & IB_WC_WITH_IMM,
					imm ? IB_WC_WITH_IMM : 0);
			if (imm)
				KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0xabcdefU);
			KUNIT_EXPECT_EQ(test, memcmp(p->b.buf + UD_GRH, p->a.buf, lengths[i]), 0);
			KUNIT_EXPECT_EQ(test, p->b.buf[UD_GRH + lengths[i]], 0);
		}
	}
}

/* Another Q_Key, or no receive: dropped.  A queue pair's own key when the top bit says so. */
static void conf_ud_drop(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 before = conf_count(&p->b, HWSIM_UD_DROPPED);

	ud_open(test);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 1, 16, UD_QKEY, false), 0);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	ud_expect_drop(p, before);
	KUNIT_ASSERT_EQ(test, ud_recv(&p->b, 5, 8192), 0);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 2, 16, UD_QKEY + 1, false), 0);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
	ud_expect_drop(p, before + 1);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 3, 16, 0x80000000, false), 0);
	conf_wc(p, p->a.scq, 3, IB_WC_SUCCESS);
	conf_wc(p, p->b.rcq, 5, IB_WC_SUCCESS);
}

/* Too long for a packet: a local error, which stops the send queue alone */
static void conf_ud_too_long(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .cur_qp_state = IB_QPS_SQE };
	struct conf_pair *p = test->priv;

	ud_open(test);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 1, 4097, UD_QKEY, false), 0);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 2, 16, UD_QKEY, false), 0);
	conf_wc(p, p->a.scq, 1, IB_WC_LOC_LEN_ERR);
	conf_wc(p, p->a.scq, 2, IB_WC_WR_FLUSH_ERR);
	/* and goes on from there */
	KUNIT_EXPECT_EQ(test, ib_modify_qp(ud.from, &attr, IB_QP_STATE | IB_QP_CUR_STATE), 0);
	KUNIT_ASSERT_EQ(test, ud_recv(&p->b, 5, 8192), 0);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 3, 16, UD_QKEY, false), 0);
	conf_wc(p, p->a.scq, 3, IB_WC_SUCCESS);
	conf_wc(p, p->b.rcq, 5, IB_WC_SUCCESS);
}

/* A receive that is too short has an error of its own */
static void conf_ud_short_recv(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	ud_open(test);
	KUNIT_ASSERT_EQ(test, ud_recv(&p->b, 5, UD_GRH + 15), 0);
	KUNIT_ASSERT_EQ(test, ud_send(&p->a, 1, 16, UD_QKEY, false), 0);
	conf_wc(p, p->b.rcq, 5, IB_WC_LOC_LEN_ERR);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
}

static struct kunit_case conf_ud_cases[] = {
	KUNIT_CASE(conf_ud_send),
	KUNIT_CASE(conf_ud_drop),
	KUNIT_CASE(conf_ud_too_long),
	KUNIT_CASE(conf_ud_short_recv),
	{}
};

static struct kunit_suite hwsim_conform_ud_suite = {
	.name = "hwsim_conform_ud",
	.suite_init = conf_suite_init,
	.suite_exit = conf_suite_exit,
	.init = conf_init,
	.exit = ud_exit,
	.test_cases = conf_ud_cases,
};

kunit_test_suites(&hwsim_conform_ud_suite);
