// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit: frames that nobody who keeps to the protocol sends.  A frame is what
 * another machine says; whatever it says, the NIC reaches only what was mapped and
 * opened, and works afterwards.
 */
#include <linux/delay.h>
#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include "conform_bed.h"
#include "frame.h"
#include "qp.h"

#define FUZZ_ROUNDS	60	/* connections, one after the other */
#define FUZZ_FRAMES	40	/* frames to each */

/* As if it had come from a to b: good in all fields, to be spoilt. */
static void good_frame(struct conf_pair *p, struct hwsim_frame *h)
{
	struct hwsim_qp *to = to_hwsim_qp(p->b.qp);

	*h = (struct hwsim_frame){
		.magic = cpu_to_be32(HWSIM_MAGIC),
		.op = IB_OPCODE_RC_RDMA_WRITE_ONLY,
		.flags = HWSIM_FRAME_ACK,
		.dqpn = cpu_to_be32(to->num),
		.psn = cpu_to_be32(READ_ONCE(to->resp.epsn)),
		.va = cpu_to_be64(p->b.mr->iova),
		.rkey = cpu_to_be32(p->b.rkey),
	};
	memcpy(h->sgid, to->av.dgid.raw, sizeof(h->sgid));
	memcpy(h->dgid, to->av.sgid.raw, sizeof(h->dgid));
}

/* It comes in on b's netdev, with @len bytes after the header, whatever that says. */
static void receive(struct kunit *test, const struct hwsim_frame *h, u32 head, u32 len)
{
	struct conf_pair *p = test->priv;
	struct sk_buff *skb = alloc_skb(ETH_HLEN + head + len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, skb);
	skb_reserve(skb, ETH_HLEN);
	skb_reset_network_header(skb);
	skb_reset_mac_header(skb);
	skb_put_data(skb, h, head);
	memset(skb_put(skb, len), 0x5a, len);
	skb->dev = p->b.dev->port.ndev;
	skb->protocol = htons(HWSIM_ETHERTYPE);
	skb->pkt_type = PACKET_HOST;
	local_bh_disable();
	netif_receive_skb(skb);
	local_bh_enable();
}

/* What is no frame of ours never becomes a packet; what is for somebody else is counted. */
static void conf_frame_refused(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	unsigned long end = jiffies + 60 * HZ;
	struct hwsim_frame h;
	u64 rx, bad;

	CONF_OPEN(test);
	rx = conf_count(&p->b, HWSIM_RX_FRAMES);
	bad = conf_count(&p->b, HWSIM_BAD_PACKET);
	good_frame(p, &h);
	receive(test, &h, sizeof(h) - 1, 0);	/* half a header */
	h.len = cpu_to_be32(101);
	receive(test, &h, sizeof(h), 100);	/* less than it says */
	h.len = cpu_to_be32(U32_MAX);
	receive(test, &h, sizeof(h), 100);
	good_frame(p, &h);
	h.magic = cpu_to_be32(HWSIM_MAGIC + 1);
	receive(test, &h, sizeof(h), 0);
	good_frame(p, &h);
	h.flags = HWSIM_FRAME_FLAGS + 1;	/* a bit that means nothing */
	receive(test, &h, sizeof(h), 0);
	good_frame(p, &h);
	h.reserved0 = 1;
	receive(test, &h, sizeof(h), 0);
	good_frame(p, &h);
	h.reserved = cpu_to_be64(1);
	receive(test, &h, sizeof(h), 0);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_RX_FRAMES), rx);
	good_frame(p, &h);
	h.dgid[15] ^= 0xff;			/* another address than the port's */
	receive(test, &h, sizeof(h), 0);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_RX_FRAMES), rx + 1);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_BAD_PACKET), bad + 1);

	/* and one that is good in all of that does its work: behind it, payload and padding */
	good_frame(p, &h);
	h.len = cpu_to_be32(100);
	h.rlen = cpu_to_be32(100);
	receive(test, &h, sizeof(h), 120);
	while (!READ_ONCE(p->b.buf[99]) && time_before(jiffies, end))
		usleep_range(50, 200);
	KUNIT_EXPECT_EQ(test, p->b.buf[99], 0x5a);
	KUNIT_EXPECT_EQ(test, p->b.buf[100], 0);
}

static void set_rate(struct conf_side *s, u64 rate)
{
	hwsim_lock();
	s->dev->port.rate = rate;
	hwsim_unlock();
	hwsim_run();
}

/* A port's counter has grown by @n: false when it does not. */
static bool grown(struct conf_side *s, int stat, u64 before, u64 n)
{
	unsigned long end = jiffies + 60 * HZ;

	while (conf_count(s, stat) < before + n && time_before(jiffies, end))
		usleep_range(50, 200);
	return conf_count(s, stat) >= before + n;
}

/*
 * An acknowledgement of what was not sent yet ends nothing, nor does one whose
 * syndrome is reserved (9.7.5).
 */
static void conf_frame_ghost(struct kunit *test)
{
	static const u8 reserved[] = { 0x40, 0x5f, 0x80, 0xa1, 0xff, 0x65, 0x7f };
	struct conf_pair *p = test->priv;
	struct hwsim_frame h;
	u64 tx, bad;
	int i;

	CONF_OPEN(test);
	conf_fill(&p->b, 1);
	tx = conf_count(&p->b, HWSIM_TX_PACKETS);
	bad = conf_count(&p->b, HWSIM_BAD_PACKET);
	/* 256 packets of 35 ms each */
	set_rate(&p->b, 10000);
	CONF_POST(&p->b, IB_WR_RDMA_WRITE, 1, .len = CONF_BUF);
	KUNIT_EXPECT_TRUE(test, grown(&p->b, HWSIM_TX_PACKETS, tx, 1));
	good_frame(p, &h);
	h.op = IB_OPCODE_RC_ACKNOWLEDGE;
	h.syndrome = HWSIM_AETH_ACK;
	h.psn = cpu_to_be32(hwsim_psn_add(p->o.psn, CONF_BUF / 256 - 1));
	receive(test, &h, sizeof(h), 0);
	h.psn = cpu_to_be32(p->o.psn);
	for (i = 0; i < ARRAY_SIZE(reserved); i++) {
		h.syndrome = reserved[i];
		receive(test, &h, sizeof(h), 0);
	}
	/* the last of them, and so the first */
	KUNIT_EXPECT_TRUE(test, grown(&p->b, HWSIM_BAD_PACKET, bad, i));
	KUNIT_EXPECT_TRUE(test, conf_empty(p->b.scq));
	set_rate(&p->b, 0);
	conf_wc(p, p->b.scq, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, CONF_BUF), 0);
}

static u32 pick_len(struct rnd_state *rnd)
{
	static const u32 lens[] = { 0, 1, 8, 255, 256, 257, 512, 1000, 4096, CONF_BUF,
				    0x3fffffff, 0x40000000, 0x40000001, 0x80000000, U32_MAX };

	return lens[prandom_u32_state(rnd) % ARRAY_SIZE(lens)];
}

/* Spoil a good frame in some fields; those that count most are mostly left near what fits. */
static void spoil(struct conf_pair *p, struct rnd_state *rnd, struct hwsim_frame *h)
{
	u32 r = prandom_u32_state(rnd);
	u32 psn = be32_to_cpu(h->psn);
	u64 va = p->b.mr->iova;

	h->op = r & 1 ? prandom_u32_state(rnd) : prandom_u32_state(rnd) % 0x20;
	h->flags = prandom_u32_state(rnd) & HWSIM_FRAME_FLAGS;
	h->syndrome = prandom_u32_state(rnd);
	if (r & 2)
		psn += prandom_u32_state(rnd) % 16 - 8;
	if (!(r & 0x1c))
		psn = prandom_u32_state(rnd);
	h->psn = cpu_to_be32(psn);
	if (r & 0x20)
		va += prandom_u32_state(rnd) % (4 * CONF_BUF) - 2 * CONF_BUF;
	if (!(r & 0x1c0))
		va = -(u64)(prandom_u32_state(rnd) % 4096);
	h->va = cpu_to_be64(va);
	if (!(r & 0x600))
		h->rkey = cpu_to_be32(prandom_u32_state(rnd));
	h->rlen = cpu_to_be32(pick_len(rnd));
	h->swap = cpu_to_be64(prandom_u32_state(rnd));
	h->compare = 0;
	h->inv = cpu_to_be32(r & 0x800 ? 0 : p->b.rkey ^ 1);
	h->msn = cpu_to_be32(prandom_u32_state(rnd));
	h->imm = cpu_to_be32(r);
}

/* A connection that has not seen anything. */
static void reconnect(struct conf_pair *p)
{
	struct ib_wc wc;

	conf_reset(&p->a);
	conf_reset(&p->b);
	while (ib_poll_cq(p->a.scq, 1, &wc) || ib_poll_cq(p->b.scq, 1, &wc) ||
	       ib_poll_cq(p->b.rcq, 1, &wc))
		;
	conf_connect(p, &p->a, p->b.qp->qp_num);
	conf_connect(p, &p->b, p->a.qp->qp_num);
}

/*
 * Random frames to a connection that has receives, READs and SENDs under way.  The
 * key opens all that is mapped: a byte beyond it is a fault of the IOMMU, and
 * conf_exit() sees that there was none.  The numbers are the same in each run.
 */
static void conf_frame_fuzz(struct kunit *test)
{
	struct conf_pair *p = test->priv;
	u64 rx, bad, done;
	struct rnd_state rnd;
	struct hwsim_frame h;
	int round, i;
	u32 len;

	CONF_OPEN(test, .recv_wr = 8, .rcqe = 256, .scqe = 256, .timeout = 8);
	prandom_seed_state(&rnd, 20240917);
	rx = conf_count(&p->b, HWSIM_RX_FRAMES);
	bad = conf_count(&p->b, HWSIM_BAD_PACKET);
	done = conf_count(&p->b, HWSIM_RX_PACKETS);
	for (round = 0; round < FUZZ_ROUNDS; round++) {
		for (i = 0; i < 4; i++)
			conf_recv(&p->b, i, 8192 * i, 1000);
		CONF_POST(&p->b, IB_WR_RDMA_READ, 10, .off = 32768, .len = 8000);
		CONF_POST(&p->b, IB_WR_SEND, 11, .len = 1000);
		for (i = 0; i < FUZZ_FRAMES; i++) {
			good_frame(p, &h);
			spoil(p, &rnd, &h);
			len = pick_len(&rnd);
			len = len <= 4096 ? len : prandom_u32_state(&rnd) % 300;
			h.len = cpu_to_be32(len);
			receive(test, &h, sizeof(h), len);
		}
		reconnect(p);
	}
	/* nothing of those connections is to be taken for this one's */
	p->o.psn = 0x700000;
	reconnect(p);
	KUNIT_EXPECT_EQ(test, conf_count(&p->b, HWSIM_RX_FRAMES) - rx,
			1ULL * FUZZ_ROUNDS * FUZZ_FRAMES);
	KUNIT_EXPECT_GT(test, conf_count(&p->b, HWSIM_BAD_PACKET), bad);
	KUNIT_EXPECT_GT(test, conf_count(&p->b, HWSIM_RX_PACKETS), done);
	/* and it works */
	conf_recv(&p->b, 5, 0, 1000);
	conf_fill(&p->a, 3);
	CONF_POST(&p->a, IB_WR_SEND, 6, .len = 1000);
	conf_wc(p, p->a.scq, 6, IB_WC_SUCCESS);
	conf_wc(p, p->b.rcq, 5, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.buf, p->b.buf, 1000), 0);
}

static struct kunit_case conf_frame_cases[] = {
	KUNIT_CASE(conf_frame_refused),
	KUNIT_CASE(conf_frame_ghost),
	KUNIT_CASE(conf_frame_fuzz),
	{}
};

static struct kunit_suite hwsim_conform_frame_suite = {
	.name = "hwsim_conform_frame",
	.suite_init = conf_suite_init,
	.suite_exit = conf_suite_exit,
	.init = conf_init,
	.exit = conf_exit,
	.test_cases = conf_frame_cases,
};

kunit_test_suites(&hwsim_conform_frame_suite);
