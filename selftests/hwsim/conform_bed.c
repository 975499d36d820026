// SPDX-License-Identifier: GPL-2.0-only
/* The bed of the conformance suites; see conform_bed.h. */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <rdma/ib_cache.h>
#include "conform_bed.h"
#include "eq.h"
#include "frame.h"
#include "iommu.h"
#include "port.h"
#include "sim.h"
#include "wire.h"

/* Longer than anything takes, also on the debug kernel under emulation. */
#define CONF_LIMIT	(60 * HZ)

/* One of the two NICs; made once for each suite. */
static struct conf_port {
	const char *name;
	struct net_device *ndev;
	struct hwsim_dev *dev;
	union ib_gid gid;
	int index;
} conf_ports[2] = { { .name = "hwconf_a" }, { .name = "hwconf_b" } };

static struct conf_port *conf_port(struct conf_pair *p, struct conf_side *s)
{
	return &conf_ports[s == &p->b];
}

/*
 * Everything between the two goes over the simulated wire and nothing through
 * here, unless a suite has packets leave as frames: then each is the other's cable.
 * It has one end when a frame goes in at the other: through the queue that each CPU
 * has, frames overtook each other when the simulation moved to another CPU, and a
 * response that is asked for again may find a queue pair that is in error by then.
 */
static netdev_tx_t conf_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct net_device *to = conf_ports[ndev == conf_ports[0].ndev].ndev;

	if (!to || skb->protocol != htons(HWSIM_ETHERTYPE))
		dev_kfree_skb(skb);
	else if (__dev_forward_skb(to, skb) == NET_RX_SUCCESS)
		netif_receive_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops conf_netdev_ops = {
	.ndo_start_xmit = conf_xmit,
};

static void conf_netdev_setup(struct net_device *ndev)
{
	ether_setup(ndev);
	ndev->netdev_ops = &conf_netdev_ops;
	ndev->max_mtu = 9000;
	ndev->mtu = 4500;
	eth_hw_addr_random(ndev);
}

/* The RoCE v2 address that the core made of the netdev's; it comes soon after the device. */
static bool conf_find_gid(struct conf_port *port)
{
	unsigned long end = jiffies + CONF_LIMIT;
	const struct ib_gid_attr *attr;
	int i;

	do {
		for (i = 0; i < HWSIM_GIDS; i++) {
			attr = rdma_get_gid_attr(&port->dev->ib, 1, i);
			if (IS_ERR(attr))
				continue;
			port->gid = attr->gid;
			port->index = i;
			i = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
			rdma_put_gid_attr(attr);
			if (i)
				return true;
			i = port->index;
		}
		msleep(20);
	} while (time_before(jiffies, end));
	return false;
}

static int conf_device_make(struct conf_port *port)
{
	int ret = hwsim_device_add(port->name, port->ndev);

	if (ret)
		return ret;
	port->dev = hwsim_device_of(port->ndev);	/* put in conf_suite_exit() or conf_lost() */
	return port->dev && conf_find_gid(port) ? 0 : -ENODEV;
}

static int conf_port_make(struct conf_port *port)
{
	int ret = -ENOMEM;

	port->ndev = alloc_netdev(0, "hwconf%d", NET_NAME_ENUM, conf_netdev_setup);
	if (!port->ndev)
		return ret;
	ret = register_netdev(port->ndev);
	if (ret) {
		free_netdev(port->ndev);
		port->ndev = NULL;
		return ret;
	}
	rtnl_lock();
	ret = dev_open(port->ndev, NULL);
	rtnl_unlock();
	return ret ?: conf_device_make(port);
}

/* As the module's user had it; while a suite runs all that may be out of order is. */
static bool conf_permissive, conf_zero_cost;

/**
 * conf_suite_init() - make the two NICs
 * @suite: the suite
 *
 * Return: 0 or an error, which the suite reports.
 */
int conf_suite_init(struct kunit_suite *suite)
{
	int ret;

	conf_permissive = hwsim_permissive;
	conf_zero_cost = hwsim_zero_cost;
	WRITE_ONCE(hwsim_permissive, true);
	WRITE_ONCE(hwsim_zero_cost, false);
	/* 6.1 runs a module's suites before the module's own start: no device is there then */
	if (THIS_MODULE->state == MODULE_STATE_COMING) {
		hwsim_eq_init();
		hwsim_frame_init();
		ret = hwsim_sim_init() ?: hwsim_device_init() ?: hwsim_netdev_init();
		if (ret)
			return ret;
	}
	return conf_port_make(&conf_ports[0]) ?: conf_port_make(&conf_ports[1]);
}

/**
 * conf_frame_suite_init() - make the two NICs, whose packets leave as frames
 * @suite: the suite
 *
 * As those of two guests do.
 *
 * Return: 0 or an error, which the suite reports.
 */
int conf_frame_suite_init(struct kunit_suite *suite)
{
	WRITE_ONCE(hwsim_frames, true);
	return conf_suite_init(suite);
}

/**
 * conf_suite_exit() - and unmake them
 * @suite: the suite
 */
void conf_suite_exit(struct kunit_suite *suite)
{
	int i;

	WRITE_ONCE(hwsim_permissive, conf_permissive);
	WRITE_ONCE(hwsim_zero_cost, conf_zero_cost);
	WRITE_ONCE(hwsim_frames, false);
	for (i = 0; i < ARRAY_SIZE(conf_ports); i++) {
		struct conf_port *port = &conf_ports[i];

		if (port->dev)
			ib_unregister_device_and_put(&port->dev->ib);
		if (port->ndev) {
			unregister_netdev(port->ndev);
			free_netdev(port->ndev);
		}
		port->dev = NULL;
		port->ndev = NULL;
	}
	if (THIS_MODULE->state == MODULE_STATE_COMING) {
		hwsim_netdev_exit();
		hwsim_frame_exit();
		hwsim_sim_exit();
		hwsim_eq_exit();
		hwsim_device_exit();
	}
}

/**
 * conf_find_gids() - look the NICs' addresses up again, after a change
 *
 * Return: 0 or -ENODEV.
 */
int conf_find_gids(void)
{
	return conf_find_gid(&conf_ports[0]) && conf_find_gid(&conf_ports[1]) ? 0 : -ENODEV;
}

/**
 * conf_init() - begin a test, without a pair
 * @test: the test
 *
 * Return: 0 or -ENOMEM or -ENODEV.
 */
int conf_init(struct kunit *test)
{
	struct conf_pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	if (!conf_ports[0].dev || !conf_ports[1].dev)
		return -ENODEV;
	p->test = test;
	p->a.dev = conf_ports[0].dev;
	p->b.dev = conf_ports[1].dev;
	p->a.peer = &p->b;
	p->b.peer = &p->a;
	test->priv = p;
	return 0;
}

/**
 * conf_close() - give all of a side's objects back
 * @s: the side; its device is kept
 */
void conf_close(struct conf_side *s)
{
	if (!s->dev)
		return;
	hwsim_fault_clear(&s->dev->faults);
	if (s->qp)
		ib_destroy_qp(s->qp);
	if (s->mr)
		ib_dereg_mr(s->mr);
	if (s->srq)
		ib_destroy_srq(s->srq);
	if (s->scq)
		ib_destroy_cq(s->scq);
	if (s->rcq)
		ib_destroy_cq(s->rcq);
	if (s->dma)
		ib_dma_unmap_single(&s->dev->ib, s->dma, CONF_BUF, DMA_BIDIRECTIONAL);
	if (s->buf)
		free_pages_exact(s->buf, CONF_BUF);
	if (s->pd)
		ib_dealloc_pd(s->pd);
	*s = (struct conf_side){ .dev = s->dev, .peer = s->peer };
}

/**
 * conf_lost() - a side's device goes, and the bed lets go of it
 * @s: the side; its objects are closed
 *
 * Context: the removal of a client, which is before the core waits for this.
 */
void conf_lost(struct conf_side *s)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(conf_ports); i++)
		if (conf_ports[i].dev == s->dev)
			conf_ports[i].dev = NULL;
	ib_device_put(&s->dev->ib);
	s->dev = NULL;
}

/**
 * conf_replace() - make a new device in the place of one that has gone
 * @p: the pair
 * @s: the side that lost it
 *
 * Return: 0 or an error; -ENFILE when the old one does not go.
 */
int conf_replace(struct conf_pair *p, struct conf_side *s)
{
	unsigned long end = jiffies + CONF_LIMIT;
	int ret;

	/* its name is the last thing that the old one lets go of */
	while ((ret = conf_device_make(conf_port(p, s))) == -ENFILE && time_before(jiffies, end))
		msleep(20);
	return ret;
}

static void conf_expect_no_faults(struct kunit *test, struct conf_side *s)
{
	if (s->dev)
		KUNIT_EXPECT_EQ(test, hwsim_iommu_faults(s->dev->mmu), 0ULL);
}

/**
 * conf_exit() - end a test, at whatever point it stands
 * @test: the test
 */
void conf_exit(struct kunit *test)
{
	struct conf_pair *p = test->priv;

	if (!p)
		return;
	conf_close(&p->a);
	conf_close(&p->b);
	/* whatever a test did wrong on purpose, the NIC reached only what was mapped */
	conf_expect_no_faults(test, &p->a);
	conf_expect_no_faults(test, &p->b);
}

static void conf_qp_event(struct ib_event *ev, void *ctx)
{
	set_bit(ev->event, &((struct conf_side *)ctx)->qp_events);
}

static void conf_cq_event(struct ib_event *ev, void *ctx)
{
	set_bit(ev->event, &((struct conf_side *)ctx)->cq_events);
}

static void conf_srq_event(struct ib_event *ev, void *ctx)
{
	set_bit(ev->event, &((struct conf_side *)ctx)->srq_events);
}

static void conf_send_comp(struct ib_cq *cq, void *ctx)
{
	atomic_inc(&((struct conf_side *)ctx)->scomps);
}

static void conf_recv_comp(struct ib_cq *cq, void *ctx)
{
	atomic_inc(&((struct conf_side *)ctx)->rcomps);
}

static struct ib_cq *conf_cq(struct conf_side *s, int cqe, ib_comp_handler comp)
{
	struct ib_cq_init_attr attr = { .cqe = cqe };

	return ib_create_cq(&s->dev->ib, comp, conf_cq_event, s, &attr);
}

/* Pointers that are errors are no objects. */
#define CONF_MADE(p, what) do {					\
	if (IS_ERR(what))					\
		(what) = NULL;					\
	KUNIT_ASSERT_NOT_ERR_OR_NULL((p)->test, what);		\
} while (0)

static void conf_side_open(struct conf_pair *p, struct conf_side *s, bool srq)
{
	struct ib_qp_init_attr attr = {
		.event_handler = conf_qp_event,
		.qp_context = s,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = p->o.send_wr, .max_recv_wr = p->o.recv_wr,
			 .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 128 },
	};
	struct ib_srq_init_attr srq_attr = {
		.event_handler = conf_srq_event,
		.srq_context = s,
		.attr = { .max_wr = p->o.recv_wr, .max_sge = 1 },
	};

	s->buf = alloc_pages_exact(CONF_BUF, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(p->test, s->buf);
	s->dma = ib_dma_map_single(&s->dev->ib, s->buf, CONF_BUF, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(&s->dev->ib, s->dma))
		s->dma = 0;
	KUNIT_ASSERT_NE(p->test, s->dma, 0ULL);
	s->pd = ib_alloc_pd(&s->dev->ib, 0);
	CONF_MADE(p, s->pd);
	s->scq = conf_cq(s, p->o.scqe, conf_send_comp);
	CONF_MADE(p, s->scq);
	s->rcq = conf_cq(s, p->o.rcqe, conf_recv_comp);
	CONF_MADE(p, s->rcq);
	if (srq) {
		s->srq = ib_create_srq(s->pd, &srq_attr);
		CONF_MADE(p, s->srq);
		attr.srq = s->srq;
		attr.cap.max_recv_wr = 0;
		attr.cap.max_recv_sge = 0;
	}
	attr.send_cq = s->scq;
	attr.recv_cq = s->rcq;
	s->qp = ib_create_qp(s->pd, &attr);
	CONF_MADE(p, s->qp);
	s->mr = ib_alloc_mr(s->pd, IB_MR_TYPE_MEM_REG, CONF_BUF / PAGE_SIZE);
	CONF_MADE(p, s->mr);
}

/* A field that was not given gets its default, and CONF_NONE means 0. */
#define CONF_DEFAULT(field, value)	((field) = (field) == CONF_NONE ? 0 : (field) ?: (value))

/**
 * conf_open() - make the pair
 * @test: the test, which fails when it cannot be made
 * @opts: how
 */
void conf_open(struct kunit *test, const struct conf_opts *opts)
{
	struct conf_pair *p = test->priv;

	p->o = *opts;
	CONF_DEFAULT(p->o.mtu, IB_MTU_256);
	CONF_DEFAULT(p->o.retry, 7);
	CONF_DEFAULT(p->o.rnr_retry, 7);
	CONF_DEFAULT(p->o.timeout, 17);
	CONF_DEFAULT(p->o.min_rnr, 12);
	CONF_DEFAULT(p->o.rd, 4);
	CONF_DEFAULT(p->o.dest_rd, 4);
	CONF_DEFAULT(p->o.psn, 0x123456);
	CONF_DEFAULT(p->o.qp_access, CONF_RIGHTS);
	CONF_DEFAULT(p->o.mr_access, CONF_RIGHTS);
	CONF_DEFAULT(p->o.scqe, 64);
	CONF_DEFAULT(p->o.rcqe, 64);
	CONF_DEFAULT(p->o.send_wr, 32);
	CONF_DEFAULT(p->o.recv_wr, 32);
	conf_side_open(p, &p->a, false);
	conf_side_open(p, &p->b, p->o.srq);
	if (p->o.apart)
		return;
	conf_connect(p, &p->a, p->b.qp->qp_num);
	conf_connect(p, &p->b, p->a.qp->qp_num);
	conf_register(p, &p->a, p->a.mr, p->o.mr_access);
	p->a.rkey = p->a.mr->rkey;
	conf_register(p, &p->b, p->b.mr, p->o.mr_access);
	p->b.rkey = p->b.mr->rkey;
}

/**
 * conf_ah() - the way from a side to its peer
 * @p: the pair
 * @s: the side
 * @ah: set
 */
void conf_ah(struct conf_pair *p, struct conf_side *s, struct rdma_ah_attr *ah)
{
	struct conf_port *to = conf_port(p, s->peer);

	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_grh(ah, &to->gid, 0, conf_port(p, s)->index, 64, 0);
	memcpy(ah->roce.dmac, to->ndev->dev_addr, ETH_ALEN);
}

/**
 * conf_modify() - one step of a queue pair, with all attributes that it takes
 * @s: the side
 * @state: INIT, RTR or RTS
 * @p: the pair, for its options
 * @dest_qpn: the other queue pair, for RTR
 *
 * Return: what the verb returned.
 */
int conf_modify(struct conf_side *s, enum ib_qp_state state, struct conf_pair *p, u32 dest_qpn)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT) {
		attr.port_num = 1;
		attr.qp_access_flags = p->o.qp_access;
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	} else if (state == IB_QPS_RTR) {
		conf_ah(p, s, &attr.ah_attr);
		attr.path_mtu = p->o.mtu;
		attr.dest_qp_num = dest_qpn;
		attr.rq_psn = p->o.psn;
		attr.max_dest_rd_atomic = p->o.dest_rd;
		attr.min_rnr_timer = p->o.min_rnr;
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	} else if (state == IB_QPS_RTS) {
		attr.timeout = p->o.timeout;
		attr.retry_cnt = p->o.retry;
		attr.rnr_retry = p->o.rnr_retry;
		attr.sq_psn = p->o.psn;
		attr.max_rd_atomic = p->o.rd;
		mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			IB_QP_MAX_QP_RD_ATOMIC;
	}
	return ib_modify_qp(s->qp, &attr, mask);
}

/**
 * conf_connect() - bring a queue pair from RESET to RTS
 * @p: the pair
 * @s: its side
 * @dest_qpn: the other queue pair
 */
void conf_connect(struct conf_pair *p, struct conf_side *s, u32 dest_qpn)
{
	KUNIT_ASSERT_EQ(p->test, conf_modify(s, IB_QPS_INIT, p, 0), 0);
	KUNIT_ASSERT_EQ(p->test, conf_modify(s, IB_QPS_RTR, p, dest_qpn), 0);
	KUNIT_ASSERT_EQ(p->test, conf_modify(s, IB_QPS_RTS, p, 0), 0);
}

/**
 * conf_map() - prepare a region for the whole buffer
 * @s: the side whose buffer it is
 * @mr: region
 *
 * Return: 1, or what the verb returned.
 */
int conf_map(struct conf_side *s, struct ib_mr *mr)
{
	struct scatterlist sg;

	sg_init_one(&sg, s->buf, CONF_BUF);
	sg_dma_address(&sg) = s->dma;
	sg_dma_len(&sg) = CONF_BUF;
	return ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
}

/**
 * conf_register() - give a region a key for the whole buffer
 * @p: the pair
 * @s: the side whose buffer and queue pair it is
 * @mr: a region that has none
 * @access: rights
 */
void conf_register(struct conf_pair *p, struct conf_side *s, struct ib_mr *mr, int access)
{
	struct ib_reg_wr reg = {
		.wr = { .opcode = IB_WR_REG_MR, .wr_id = 0xfeed, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};

	KUNIT_ASSERT_EQ(p->test, conf_map(s, mr), 1);
	KUNIT_ASSERT_EQ(p->test, ib_post_send(s->qp, &reg.wr, NULL), 0);
	conf_wc(p, s->scq, 0xfeed, IB_WC_SUCCESS);
}

/**
 * conf_reset() - a queue pair back to RESET, from wherever it is
 * @s: the side
 */
void conf_reset(struct conf_side *s)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	ib_modify_qp(s->qp, &attr, IB_QP_STATE);
}

/**
 * conf_post() - post a request
 * @s: the side that sends
 * @op: what it is
 * @id: its number
 * @w: the rest of it
 *
 * Return: what the verb returned.
 */
int conf_post(struct conf_side *s, enum ib_wr_opcode op, u64 id, const struct conf_wr *w)
{
	bool inlined = w->flags & IB_SEND_INLINE;
	struct ib_sge sge = {
		.addr = (inlined ? (uintptr_t)s->buf : s->dma) + w->off,
		.length = w->len,
		.lkey = w->lkey ?: s->pd->local_dma_lkey,
	};
	union {
		struct ib_send_wr wr;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	} u = {};

	if (op == IB_WR_ATOMIC_CMP_AND_SWP || op == IB_WR_ATOMIC_FETCH_AND_ADD) {
		u.atomic.remote_addr = w->raddr ?: s->peer->mr->iova + w->roff;
		u.atomic.rkey = w->rkey ?: s->peer->rkey;
		u.atomic.compare_add = w->compare_add;
		u.atomic.swap = w->swap;
	} else if (op == IB_WR_RDMA_READ || op == IB_WR_RDMA_WRITE ||
		   op == IB_WR_RDMA_WRITE_WITH_IMM) {
		u.rdma.remote_addr = w->raddr ?: s->peer->mr->iova + w->roff;
		u.rdma.rkey = w->rkey ?: s->peer->rkey;
	}
	u.wr.wr_id = id;
	u.wr.opcode = op;
	u.wr.send_flags = w->flags | (w->quiet ? 0 : IB_SEND_SIGNALED);
	if (op == IB_WR_SEND_WITH_INV || op == IB_WR_LOCAL_INV)
		u.wr.ex.invalidate_rkey = w->imm;
	else
		u.wr.ex.imm_data = cpu_to_be32(w->imm);
	if (w->len) {
		u.wr.sg_list = &sge;
		u.wr.num_sge = 1;
	}
	return ib_post_send(s->qp, &u.wr, NULL);
}

/**
 * conf_recv() - post a receive
 * @s: the side that receives
 * @id: its number
 * @off: in the buffer
 * @len: bytes
 *
 * Return: what the verb returned.
 */
int conf_recv(struct conf_side *s, u64 id, u32 off, u32 len)
{
	struct ib_sge sge = {
		.addr = s->dma + off,
		.length = len,
		.lkey = s->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = !!len };

	return s->srq ? ib_post_srq_recv(s->srq, &wr, NULL) : ib_post_recv(s->qp, &wr, NULL);
}

/**
 * conf_wc() - the next completion is this one
 * @p: the pair, whose test fails when it is not
 * @cq: where
 * @id: of the request
 * @status: its status
 *
 * Return: the completion; zero when none came.
 */
struct ib_wc conf_wc(struct conf_pair *p, struct ib_cq *cq, u64 id, enum ib_wc_status status)
{
	unsigned long end = jiffies + CONF_LIMIT;
	struct ib_wc wc = {};
	int n;

	while (!(n = ib_poll_cq(cq, 1, &wc)) && time_before(jiffies, end))
		usleep_range(50, 200);
	KUNIT_EXPECT_EQ_MSG(p->test, n, 1, "no completion of %llu", id);
	if (n != 1)
		return (struct ib_wc){};
	KUNIT_EXPECT_EQ(p->test, wc.wr_id, id);
	KUNIT_EXPECT_EQ_MSG(p->test, (int)wc.status, (int)status, "request %llu: %s", id,
			    ib_wc_status_msg(wc.status));
	return wc;
}

/**
 * conf_empty() - no completion is there
 * @cq: where
 *
 * Return: whether.  Says nothing about what is to come: wait for something that
 * comes after it first.
 */
bool conf_empty(struct ib_cq *cq)
{
	struct ib_wc wc;

	return ib_poll_cq(cq, 1, &wc) == 0;
}

/**
 * conf_event() - wait for an asynchronous event
 * @events: where it is noted; forgotten when it has come
 * @event: which
 *
 * Return: it came.
 */
bool conf_event(unsigned long *events, enum ib_event_type event)
{
	unsigned long end = jiffies + CONF_LIMIT;

	while (!test_and_clear_bit(event, events)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(50, 200);
	}
	return true;
}

/**
 * conf_state() - the state that a queue pair tells
 * @s: the side
 *
 * Return: the state.
 */
enum ib_qp_state conf_state(struct conf_side *s)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(s->qp, &attr, IB_QP_STATE, &init))
		return (enum ib_qp_state)-1;
	return attr.qp_state;
}

/**
 * conf_fill() - give each byte of a buffer a value of its own
 * @s: the side
 * @seed: makes it differ from others
 */
void conf_fill(struct conf_side *s, u8 seed)
{
	size_t i;

	for (i = 0; i < CONF_BUF; i++)
		s->buf[i] = (i * 31 + i / 251 + seed) & 0xff;
}

/**
 * conf_arm() - a fault on cue, for this side's queue pair
 * @p: the pair
 * @s: the side
 * @rule: as fault.h has it, without a queue pair
 */
void conf_arm(struct conf_pair *p, struct conf_side *s, const char *rule)
{
	char text[160];

	snprintf(text, sizeof(text), "%s qp=%u", rule, s->qp->qp_num);
	KUNIT_ASSERT_GT_MSG(p->test, hwsim_fault_arm(&s->dev->faults, text), 0, "%s", text);
}

/**
 * conf_count() - a counter of a side's port
 * @s: the side
 * @stat: enum hwsim_stat
 *
 * Return: its value.
 */
u64 conf_count(struct conf_side *s, int stat)
{
	return READ_ONCE(s->dev->port.stats.count[stat]);
}
