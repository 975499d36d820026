// SPDX-License-Identifier: GPL-2.0-only
/* KUnit, conformance: what requests do when all goes well, and what is told of them. */
#include <linux/delay.h>
#include "conform_bed.h"

static const u32 lengths[] = { 0, 1, 255, 256, 257, 511, 512, 4096, 10000 };

/* SEND, with and without more: 9.4.1 and 9.7.5; the receive's completion: 11.4.2 */
static void conf_send(struct kunit *test)
{
	static const enum ib_wr_opcode ops[] = { IB_WR_SEND, IB_WR_SEND_WITH_IMM };
	struct conf_pair *p = test->priv;
	struct ib_wc wc;
	u64 id = 1;
	int i, o;

	CONF_OPEN(test);
	conf_fill(&p->a, 1);
	for (o = 0; o < ARRAY_SIZE(ops); o++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++, id++) {
			memset(p->b.buf, 0, CONF_BUF);
			KUNIT_ASSERT_EQ(test, conf_recv(&p->b, 100 + id, 7, 12000), 0);
			CONF_POST(&p->a, ops[o], id, .off = 3, .len = lengths[i], .imm = 0x12345);
			wc = conf_wc(p, p->b.rcq, 100 + id, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, wc.byte_len, lengths[i]);
			KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)IB_WC_RECV);
			KUNIT_EXPECT_EQ(test, wc.wc_flags & IB_WC_WITH_IMM, o ? IB_WC_WITH_IMM : 0);
			if (o)
				KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0x12345U);
			KUNIT_EXPECT_EQ(test, wc.src_qp, p->a.qp->qp_num);
			KUNIT_EXPECT_PTR_EQ(test, wc.qp, p->b.qp);
			wc = conf_wc(p, p->a.scq, id, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)IB_WC_SEND);
			KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 3, p->b.buf + 7, lengths[i]), 0);
			KUNIT_EXPECT_EQ(test, p->b.buf[7 + lengths[i]], 0);
		}
	}
}

/* WRITE takes no receive: 9.4.3 */
static void conf_write(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_wc wc;
	int i;

	CONF_OPEN(test);
	conf_fill(&p->a, 2);
	KUNIT_ASSERT_EQ(test, conf_recv(&p->b, 1000, 0, 0), 0);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(p->b.buf, 0, CONF_BUF);
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .off = 5, .len = lengths[i], .roff = 4095);
		wc = conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)IB_WC_RDMA_WRITE);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 5, p->b.buf + 4095, lengths[i]), 0);
		KUNIT_EXPECT_EQ(test, p->b.buf[4094], 0);
		KUNIT_EXPECT_EQ(test, p->b.buf[4095 + lengths[i]], 0);
	}
	KUNIT_EXPECT_TRUE(test, conf_empty(p->b.rcq));
}

/* WRITE with immediate takes a receive, and none of its memory: 9.4.3 */
static void conf_write_imm(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_wc wc;
	int i;

	CONF_OPEN(test);
	conf_fill(&p->a, 3);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(p->b.buf, 0, CONF_BUF);
		KUNIT_ASSERT_EQ(test, conf_recv(&p->b, 1000 + i, 0, 4000), 0);
		CONF_POST(&p->a, IB_WR_RDMA_WRITE_WITH_IMM, i, .len = lengths[i], .roff = 4096,
			  .imm = 77 + i);
		wc = conf_wc(p, p->b.rcq, 1000 + i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)IB_WC_RECV_RDMA_WITH_IMM);
		KUNIT_EXPECT_TRUE(test, wc.wc_flags & IB_WC_WITH_IMM);
		KUNIT_EXPECT_EQ(test, wc.byte_len, lengths[i]);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 77U + i);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf + 4096, lengths[i]), 0);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(p->b.buf, 0, 4096), NULL);
		wc = conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)IB_WC_RDMA_WRITE);
	}
}

/* READ: 9.4.4 */
static void conf_read(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_wc wc;
	int i;

	CONF_OPEN(test);
	conf_fill(&p->b, 3);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(p->a.buf, 0, CONF_BUF);
		CONF_POST(&p->a, IB_WR_RDMA_READ, i, .off = 9, .len = lengths[i], .roff = 1234);
		wc = conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, (int)wc.opcode, (int)IB_WC_RDMA_READ);
		KUNIT_EXPECT_EQ(test, wc.byte_len, lengths[i]);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 9, p->b.buf + 1234, lengths[i]), 0);
		KUNIT_EXPECT_EQ(test, p->a.buf[8], 0);
		KUNIT_EXPECT_EQ(test, p->a.buf[9 + lengths[i]], 0);
	}
}

/* Atomics return what was there, and change it once: 9.4.5 */
static void conf_atomic(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 *there, *here;

	CONF_OPEN(test);
	there = (u64 *)(p->b.buf + 64);
	here = (u64 *)p->a.buf;
	*there = 1000;
	CONF_POST(&p->a, IB_WR_ATOMIC_FETCH_AND_ADD, 1, .len = 8, .roff = 64, .compare_add = 5);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *here, 1000ULL);
	KUNIT_EXPECT_EQ(test, *there, 1005ULL);
	CONF_POST(&p->a, IB_WR_ATOMIC_CMP_AND_SWP, 2, .len = 8, .roff = 64, .compare_add = 1005,
		  .swap = 3);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *here, 1005ULL);
	KUNIT_EXPECT_EQ(test, *there, 3ULL);
	CONF_POST(&p->a, IB_WR_ATOMIC_CMP_AND_SWP, 3, .len = 8, .roff = 64, .compare_add = 4,
		  .swap = 9);
	conf_wc(p, p->a.scq, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *here, 3ULL);
	KUNIT_EXPECT_EQ(test, *there, 3ULL);
	/* an address that is not aligned is an invalid request */
	CONF_POST(&p->a, IB_WR_ATOMIC_FETCH_AND_ADD, 4, .len = 8, .roff = 65, .compare_add = 5);
	conf_wc(p, p->a.scq, 4, IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_EQ(test, *there, 3ULL);
}

/* The data of an inline request is the consumer's again at once: 11.4.1 */
static void conf_inline(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	memset(p->a.buf, 0x11, 128);
	conf_recv(&p->b, 9, 0, 128);
	KUNIT_EXPECT_EQ(test, CONF_POST(&p->a, IB_WR_SEND, 1, .len = 128,
					.flags = IB_SEND_INLINE), 0);
	memset(p->a.buf, 0x22, 128);
	conf_wc(p, p->b.rcq, 9, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->b.buf[0], 0x11);
	KUNIT_EXPECT_EQ(test, p->b.buf[127], 0x11);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_NE(test, CONF_POST(&p->a, IB_WR_SEND, 2, .len = 129,
					.flags = IB_SEND_INLINE), 0);
}

/* Lists gather and scatter in their order: 10.6.6 */
static void conf_sges(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_sge from[3], to[4];
	struct ib_send_wr wr = { .wr_id = 1, .opcode = IB_WR_SEND, .sg_list = from, .num_sge = 3,
				 .send_flags = IB_SEND_SIGNALED };
	struct ib_recv_wr rwr = { .wr_id = 2, .sg_list = to, .num_sge = 4 };
	u8 *flat = kunit_kmalloc(test, 900, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, flat);
	CONF_OPEN(test);
	conf_fill(&p->a, 4);
	for (i = 0; i < 3; i++) {
		from[i] = (struct ib_sge){ .addr = p->a.dma + 5000 * (2 - i) + 1, .length = 300,
					   .lkey = p->a.pd->local_dma_lkey };
		memcpy(flat + 300 * i, p->a.buf + 5000 * (2 - i) + 1, 300);
	}
	for (i = 0; i < 4; i++)
		to[i] = (struct ib_sge){ .addr = p->b.dma + 4000 * i, .length = 225,
					 .lkey = p->b.pd->local_dma_lkey };
	KUNIT_ASSERT_EQ(test, ib_post_recv(p->b.qp, &rwr, NULL), 0);
	KUNIT_ASSERT_EQ(test, ib_post_send(p->a.qp, &wr, NULL), 0);
	conf_wc(p, p->b.rcq, 2, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 1, IB_WC_SUCCESS);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, memcmp(p->b.buf + 4000 * i, flat + 225 * i, 225), 0);
	/* more than was asked for at creation: 11.4.1 */
	wr.num_sge = 5;
	KUNIT_EXPECT_NE(test, ib_post_send(p->a.qp, &wr, NULL), 0);
	rwr.num_sge = 5;
	KUNIT_EXPECT_NE(test, ib_post_recv(p->b.qp, &rwr, NULL), 0);
}

/* Sequence numbers have 24 bits and go around: 9.7.2, 9.4.4 for those that READs take */
static void conf_psn_wrap(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test, .psn = 0xfffffa);
	conf_fill(&p->a, 5);
	for (i = 0; i < 6; i++) {
		conf_recv(&p->b, 100 + i, 0, 1024);
		CONF_POST(&p->a, IB_WR_SEND, 3 * i, .len = 700);
		CONF_POST(&p->a, IB_WR_RDMA_READ, 3 * i + 1, .off = 8192, .len = 700, .roff = 0,
			  .flags = IB_SEND_FENCE);
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, 3 * i + 2, .len = 300, .roff = 16384);
		conf_wc(p, p->a.scq, 3 * i, IB_WC_SUCCESS);
		conf_wc(p, p->a.scq, 3 * i + 1, IB_WC_SUCCESS);
		conf_wc(p, p->a.scq, 3 * i + 2, IB_WC_SUCCESS);
		conf_wc(p, p->b.rcq, 100 + i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->a.buf + 8192, 700), 0);
		memset(p->a.buf + 8192, 0, 700);
	}
}

/* What is not signalled makes no completion unless it fails: 10.8.6 */
static void conf_selective(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test);
	for (i = 0; i < 9; i++)
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, i, .len = 600, .quiet = i != 4 && i != 8);
	conf_wc(p, p->a.scq, 4, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 8, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.scq));
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 20, .len = 600, .quiet = true);
	CONF_POST(&p->a, IB_WR_RDMA_WRITE, 21, .len = 600, .quiet = true, .rkey = 0xffffff00);
	conf_wc(p, p->a.scq, 21, IB_WC_REM_ACCESS_ERR);
}

/*
 * Completions come in the order of posting, whatever the requests are: 10.8.3.  And the
 * suite's own wire keeps the order of packets: what other cases see is no retry.
 */
static void conf_order(struct kunit *test)
{
	static const enum ib_wr_opcode ops[] = { IB_WR_RDMA_READ, IB_WR_RDMA_WRITE, IB_WR_SEND,
						 IB_WR_RDMA_READ, IB_WR_ATOMIC_FETCH_AND_ADD,
						 IB_WR_RDMA_WRITE };
	struct conf_pair *p = test->priv;
	u64 late = conf_count(&p->b, HWSIM_OUT_OF_ORDER) + conf_count(&p->a, HWSIM_IMPLIED_NAK);
	int i;

	CONF_OPEN(test);
	for (i = 0; i < 24; i++) {
		enum ib_wr_opcode op = ops[i % 6];

		if (op == IB_WR_SEND)
			conf_recv(&p->b, 100 + i, 16384, 4096);
		CONF_POST(&p->a, op, i, .off = 2048 * i,
			  .len = op == IB_WR_ATOMIC_FETCH_AND_ADD ? 8 : 1 + 61 * i,
			  .roff = 32768);
	}
	for (i = 0; i < 24; i++)
		conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
	for (i = 2; i < 24; i += 6)
		conf_wc(p, p->b.rcq, 100 + i, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_OUT_OF_ORDER) +
			      conf_count(&p->a, HWSIM_IMPLIED_NAK), late);
}

static bool conf_told(atomic_t *comps, int n)
{
	unsigned long end = jiffies + 60 * HZ;

	while (atomic_read(comps) < n && time_before(jiffies, end))
		usleep_range(50, 200);
	return atomic_read(comps) == n;
}

/* A queue that waits for solicited completions hears of those and of errors alone: 11.4.2 */
static void conf_solicited(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test);
	for (int i = 0; i < 6; i++)
		conf_recv(&p->b, i, 0, 512);
	ib_req_notify_cq(p->b.rcq, IB_CQ_SOLICITED);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10);
	conf_wc(p, p->b.rcq, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->b.rcomps), 0);
	CONF_POST(&p->a, IB_WR_SEND, 2, .len = 300, .flags = IB_SEND_SOLICITED);
	conf_wc(p, p->b.rcq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, conf_told(&p->b.rcomps, 1));
	/* once for each time that it was asked for */
	CONF_POST(&p->a, IB_WR_SEND, 3, .len = 10, .flags = IB_SEND_SOLICITED);
	conf_wc(p, p->b.rcq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->b.rcomps), 1);
	/* for all, and not weakened by asking for less */
	ib_req_notify_cq(p->b.rcq, IB_CQ_NEXT_COMP);
	ib_req_notify_cq(p->b.rcq, IB_CQ_SOLICITED);
	CONF_POST(&p->a, IB_WR_SEND, 4, .len = 10);
	KUNIT_EXPECT_TRUE(test, conf_told(&p->b.rcomps, 2));
	/* what is there already is told to who asks for that */
	KUNIT_EXPECT_EQ(test, ib_req_notify_cq(p->b.rcq, IB_CQ_NEXT_COMP |
					       IB_CQ_REPORT_MISSED_EVENTS), 1);
	conf_wc(p, p->b.rcq, 3, IB_WC_SUCCESS);
	/* an error */
	ib_req_notify_cq(p->a.scq, IB_CQ_SOLICITED);
	CONF_POST(&p->a, IB_WR_SEND, 5, .len = 10, .lkey = 0xffffff00);
	KUNIT_EXPECT_TRUE(test, conf_told(&p->a.scomps, 1));
}

/* A fenced request waits for the READs before it: 10.8.3 */
static void conf_fence(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test);
	conf_fill(&p->b, 7);
	for (i = 0; i < 4; i++) {
		/* the last of a READ's responses is late, and a request would overtake it */
		conf_arm(p, &p->b, "ack-delay us=20000");
		memset(p->a.buf, 0, 8192);
		memset(p->b.buf + 32768, 0, 8192);
		CONF_POST(&p->a, IB_WR_RDMA_READ, 2 * i, .len = 8000, .roff = 16);
		CONF_POST(&p->a, IB_WR_RDMA_WRITE, 2 * i + 1, .len = 8000, .roff = 32768,
			  .flags = IB_SEND_FENCE);
		conf_wc(p, p->a.scq, 2 * i, IB_WC_SUCCESS);
		conf_wc(p, p->a.scq, 2 * i + 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(p->b.buf + 16, p->b.buf + 32768, 8000), 0);
	}
}

/* The requester keeps READs back beyond what it may have under way: 9.7.3, 11.2.5 */
static void conf_read_depth(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i;

	CONF_OPEN(test, .rd = 1, .dest_rd = 1);
	conf_fill(&p->b, 8);
	for (i = 0; i < 16; i++)
		CONF_POST(&p->a, IB_WR_RDMA_READ, i, .off = 4096 * i, .len = 4000, .roff = 32 * i);
	for (i = 0; i < 16; i++) {
		conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, memcmp(p->a.buf + 4096 * i, p->b.buf + 32 * i, 4000), 0);
	}
}

/* A shared receive queue: in order, with its limit's event and the last one's: 10.2.9, 11.6.3 */
static void conf_srq(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_srq_attr attr = { .srq_limit = 3 };
	int i;

	CONF_OPEN(test, .srq = true);
	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, conf_recv(&p->b, i, 1000 * i, 1000), 0);
	KUNIT_ASSERT_EQ(test, ib_modify_srq(p->b.srq, &attr, IB_SRQ_LIMIT), 0);
	for (i = 0; i < 2; i++) {
		CONF_POST(&p->a, IB_WR_SEND, i, .len = 900);
		conf_wc(p, p->b.rcq, i, IB_WC_SUCCESS);
		conf_wc(p, p->a.scq, i, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, p->b.srq_events, 0UL);
	CONF_POST(&p->a, IB_WR_SEND, 2, .len = 900);
	conf_wc(p, p->b.rcq, 2, IB_WC_SUCCESS);
	conf_wc(p, p->a.scq, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->b.srq_events, IB_EVENT_SRQ_LIMIT_REACHED));
	/* a queue pair in error takes no more out of it, and says so */
	KUNIT_EXPECT_EQ(test, conf_modify(&p->b, IB_QPS_ERR, p, 0), 0);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->b.qp_events, IB_EVENT_QP_LAST_WQE_REACHED));
	KUNIT_EXPECT_TRUE(test, conf_empty(p->b.rcq));
}

/* A full queue is an immediate error: 11.4.1 */
static void conf_full(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	int i, n = 0;

	CONF_OPEN(test, .send_wr = 4, .recv_wr = 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, conf_recv(&p->b, i, 0, 64), 0);
	KUNIT_EXPECT_EQ(test, conf_recv(&p->b, 4, 0, 64), -ENOMEM);
	/* nobody receives at a, so that nothing of b's queue ends */
	for (i = 0; i < 5; i++)
		n += CONF_POST(&p->b, IB_WR_SEND, i, .len = 10) == 0;
	KUNIT_EXPECT_EQ(test, n, 4);
	/* room comes back when they complete */
	for (i = 0; i < 4; i++)
		conf_recv(&p->a, 10 + i, 0, 64);
	for (i = 0; i < 4; i++)
		conf_wc(p, p->b.scq, i, IB_WC_SUCCESS);
	conf_recv(&p->a, 14, 0, 64);
	KUNIT_EXPECT_EQ(test, CONF_POST(&p->b, IB_WR_SEND, 9, .len = 10), 0);
	conf_wc(p, p->b.scq, 9, IB_WC_SUCCESS);
}

/* The first packet in RTR is told: 10.3.1, 11.6.3; and its data is received */
static void conf_comm_est(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	CONF_OPEN(test, .apart = true);
	KUNIT_ASSERT_EQ(test, conf_modify(&p->b, IB_QPS_INIT, p, 0), 0);
	KUNIT_ASSERT_EQ(test, conf_recv(&p->b, 7, 0, 64), 0);
	KUNIT_ASSERT_EQ(test, conf_modify(&p->b, IB_QPS_RTR, p, p->a.qp->qp_num), 0);
	conf_connect(p, &p->a, p->b.qp->qp_num);
	KUNIT_EXPECT_EQ(test, p->b.qp_events, 0UL);
	CONF_POST(&p->a, IB_WR_SEND, 1, .len = 10);
	conf_wc(p, p->b.rcq, 7, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, conf_event(&p->b.qp_events, IB_EVENT_COMM_EST));
}

/* States: what may be posted when, and which steps there are: 10.3.1 */
static void conf_states(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };

	CONF_OPEN(test, .apart = true);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, conf_recv(&p->a, 1, 0, 64), -EINVAL);
	KUNIT_EXPECT_NE(test, CONF_POST(&p->a, IB_WR_SEND, 1, .len = 1), 0);
	KUNIT_EXPECT_NE(test, ib_modify_qp(p->a.qp, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, conf_modify(&p->a, IB_QPS_INIT, p, 0), 0);
	KUNIT_EXPECT_EQ(test, conf_recv(&p->a, 1, 0, 64), 0);
	KUNIT_EXPECT_NE(test, CONF_POST(&p->a, IB_WR_SEND, 1, .len = 1), 0);
	KUNIT_EXPECT_NE(test, conf_modify(&p->a, IB_QPS_RTS, p, 0), 0);
	/* a step without an attribute that it requires */
	attr.qp_state = IB_QPS_RTR;
	KUNIT_EXPECT_NE(test, ib_modify_qp(p->a.qp, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_INIT);
	KUNIT_EXPECT_EQ(test, conf_modify(&p->a, IB_QPS_RTR, p, p->b.qp->qp_num), 0);
	KUNIT_EXPECT_NE(test, CONF_POST(&p->a, IB_WR_SEND, 1, .len = 1), 0);
	KUNIT_EXPECT_EQ(test, conf_modify(&p->a, IB_QPS_RTS, p, 0), 0);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_RTS);
	/* RESET forgets what was posted */
	conf_reset(&p->a);
	KUNIT_EXPECT_EQ(test, (int)conf_state(&p->a), (int)IB_QPS_RESET);
	KUNIT_EXPECT_TRUE(test, conf_empty(p->a.rcq));
}

CONF_SUITES(data,
	    KUNIT_CASE(conf_send),
	    KUNIT_CASE(conf_write),
	    KUNIT_CASE(conf_write_imm),
	    KUNIT_CASE(conf_read),
	    KUNIT_CASE(conf_atomic),
	    KUNIT_CASE(conf_inline),
	    KUNIT_CASE(conf_sges),
	    KUNIT_CASE(conf_psn_wrap),
	    KUNIT_CASE(conf_selective),
	    KUNIT_CASE(conf_order),
	    KUNIT_CASE(conf_solicited),
	    KUNIT_CASE(conf_fence),
	    KUNIT_CASE(conf_read_depth),
	    KUNIT_CASE(conf_srq),
	    KUNIT_CASE(conf_full),
	    KUNIT_CASE(conf_comm_est),
	    KUNIT_CASE(conf_states));
