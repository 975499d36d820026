/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the conformance suites stand on: two simulated NICs in one guest, each
 * on a netdev of its own, and a pair of RC queue pairs between them that are
 * connected by hand.  The rules that are tested are those of the InfiniBand
 * Architecture Specification, volume 1; each test cites the section.
 */
#ifndef HWSIM_CONFORM_BED_H
#define HWSIM_CONFORM_BED_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include "device.h"
#include "fault.h"

#define CONF_BUF	(16 * PAGE_SIZE)
#define CONF_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* How a pair is made.  0 means the default that is told. */
struct conf_opts {
	enum ib_mtu mtu;	/* 256 */
	u8 retry, rnr_retry;	/* 7; CONF_NONE for 0 */
	u8 timeout;		/* 17: half a second; long, because the machine may be slow */
	u8 min_rnr;		/* 12: 0.64 ms */
	u8 rd, dest_rd;		/* 4; CONF_NONE for 0 */
	u32 psn;		/* 0x123456 */
	int qp_access;		/* CONF_RIGHTS; CONF_NONE for none */
	int mr_access;		/* CONF_RIGHTS */
	int scqe, rcqe;		/* 64 */
	int send_wr, recv_wr;	/* 32 */
	bool srq;		/* b receives from a shared queue */
	bool apart;		/* leave both in RESET, without keys */
};

#define CONF_NONE	0xff

/* One end.  What its queues tell comes in other contexts, by atomic bit operations. */
struct conf_side {
	struct hwsim_dev *dev;
	struct conf_side *peer;
	struct ib_pd *pd;
	struct ib_cq *scq, *rcq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	u8 *buf;
	u64 dma;
	struct ib_mr *mr;
	u32 rkey;
	unsigned long qp_events, cq_events, srq_events;	/* bit per enum ib_event_type */
	atomic_t scomps, rcomps;			/* calls of the completion handlers */
};

struct conf_pair {
	struct kunit *test;
	struct conf_opts o;
	struct conf_side a, b;
};

/* A request; by default signalled, from the start of the buffer to that of the peer's. */
struct conf_wr {
	u32 off, len, lkey;
	u64 raddr;		/* instead of roff in the peer's region */
	u32 roff, rkey;
	int flags;		/* besides IB_SEND_SIGNALED */
	bool quiet;		/* not signalled */
	u32 imm;		/* or the key to invalidate */
	u64 compare_add, swap;
};

int conf_suite_init(struct kunit_suite *suite);
int conf_frame_suite_init(struct kunit_suite *suite);
void conf_suite_exit(struct kunit_suite *suite);
int conf_find_gids(void);
int conf_init(struct kunit *test);
void conf_exit(struct kunit *test);

void conf_open(struct kunit *test, const struct conf_opts *opts);
void conf_close(struct conf_side *s);
void conf_lost(struct conf_side *s);
int conf_replace(struct conf_pair *p, struct conf_side *s);
void conf_ah(struct conf_pair *p, struct conf_side *s, struct rdma_ah_attr *ah);
void conf_connect(struct conf_pair *p, struct conf_side *s, u32 dest_qpn);
int conf_modify(struct conf_side *s, enum ib_qp_state state, struct conf_pair *p, u32 dest_qpn);
void conf_reset(struct conf_side *s);
int conf_map(struct conf_side *s, struct ib_mr *mr);
void conf_register(struct conf_pair *p, struct conf_side *s, struct ib_mr *mr, int access);

int conf_post(struct conf_side *s, enum ib_wr_opcode op, u64 id, const struct conf_wr *w);
int conf_recv(struct conf_side *s, u64 id, u32 off, u32 len);
struct ib_wc conf_wc(struct conf_pair *p, struct ib_cq *cq, u64 id, enum ib_wc_status status);
bool conf_empty(struct ib_cq *cq);
bool conf_event(unsigned long *events, enum ib_event_type event);
enum ib_qp_state conf_state(struct conf_side *s);
void conf_fill(struct conf_side *s, u8 seed);
void conf_arm(struct conf_pair *p, struct conf_side *s, const char *rule);
u64 conf_count(struct conf_side *s, int stat);

/* Cases that hold over the switch of one guest, and over the frames that join two. */
#define CONF_SUITES(what, ...)								\
	static struct kunit_case conf_##what##_cases[] = { __VA_ARGS__, {} };		\
	static struct kunit_case conf_##what##_frame_cases[] = { __VA_ARGS__, {} };	\
	static struct kunit_suite conf_##what##_suite = {				\
		.name = "hwsim_conform_" #what,						\
		.suite_init = conf_suite_init,						\
		.suite_exit = conf_suite_exit,						\
		.init = conf_init,							\
		.exit = conf_exit,							\
		.test_cases = conf_##what##_cases,					\
	};										\
	static struct kunit_suite conf_##what##_frame_suite = {				\
		.name = "hwsim_conform_" #what "_frames",				\
		.suite_init = conf_frame_suite_init,					\
		.suite_exit = conf_suite_exit,						\
		.init = conf_init,							\
		.exit = conf_exit,							\
		.test_cases = conf_##what##_frame_cases,				\
	};										\
	kunit_test_suites(&conf_##what##_suite, &conf_##what##_frame_suite)

#define CONF_OPEN(test, ...)	conf_open(test, &(struct conf_opts){ __VA_ARGS__ })
#define CONF_POST(s, op, id, ...) conf_post(s, op, id, &(struct conf_wr){ __VA_ARGS__ })

#endif /* HWSIM_CONFORM_BED_H */
