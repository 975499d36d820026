// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: what a rule's text means, whom it strikes, and when. */
#include <kunit/test.h>
#include <linux/completion.h>
#include "fault.h"

struct fault_bed {
	struct hwsim_faults faults;
	struct completion done;
	int down, up, removed;
	enum ib_event_type event;
};

static void fault_port(struct hwsim_faults *f, bool up)
{
	struct fault_bed *bed = container_of(f, struct fault_bed, faults);

	bed->up += up;
	bed->down += !up;
	complete(&bed->done);
}

static void fault_event(struct hwsim_faults *f, enum ib_event_type event)
{
	struct fault_bed *bed = container_of(f, struct fault_bed, faults);

	bed->event = event;
	complete(&bed->done);
}

static void fault_remove(struct hwsim_faults *f)
{
	struct fault_bed *bed = container_of(f, struct fault_bed, faults);

	bed->removed++;
	complete(&bed->done);
}

static const struct hwsim_fault_ops fault_ops = {
	.port = fault_port,
	.event = fault_event,
	.remove = fault_remove,
};

static int fault_test_init(struct kunit *test)
{
	struct fault_bed *bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, bed);
	hwsim_fault_init(&bed->faults, &fault_ops);
	init_completion(&bed->done);
	test->priv = bed;
	return 0;
}

static void fault_test_exit(struct kunit *test)
{
	struct fault_bed *bed = test->priv;

	if (bed)
		hwsim_fault_exit(&bed->faults);
}

static void fault_test_none(struct kunit *test)
{
	struct hwsim_faults *f = &((struct fault_bed *)test->priv)->faults;

	KUNIT_EXPECT_EQ(test, f->armed, 0UL);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 1, IB_WR_SEND), (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_done(f, 1, IB_WR_SEND), (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_recv(f, 1), (int)IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, hwsim_fault_ack(f, 1), 0U);
	KUNIT_EXPECT_EQ(test, hwsim_fault_packet(f, 1), 0U);
	KUNIT_EXPECT_EQ(test, hwsim_fault_cqe(f, 1), 0U);
	KUNIT_EXPECT_EQ(test, hwsim_fault_verb(f, HWSIM_VERB_CREATE_QP), 0);
}

static void fault_test_text(struct kunit *test)
{
	static const char * const bad[] = {
		"", "what", "wr", "wr status=nonsense", "wr status=0", "wr status=22",
		"wr status=-1", "wr status=rem-op qp", "wr status=rem-op qp=x",
		"wr status=rem-op at=0", "wr status=rem-op op=nonsense", "wr status=rem-op us=5",
		"wr status=rem-op name=create_qp", "recv status=rem-op op=send",
		"ack-lose status=rem-op", "ack-delay", "ack-delay us=0",
		"ack-delay us=60000001", "verb errno=12", "verb name=create_qp",
		"verb name=create_qp errno=0", "verb name=create_qp errno=4096",
		"verb name=create_qp errno=12 qp=3", "verb name=destroy_world errno=12",
		"port-down us=3", "cq-full errno=1",
	};
	static const char * const good[] = {
		"wr status=rem-access", "wr status=10 qp=0x11 op=write at=3 count=0",
		"done  status=flush", "recv status=loc-len qp=5", "ack-lose", "ack-delay us=1",
		"packet-lose", "packet-twice count=4", "packet-delay us=60000000", "cqe-delay us=2",
		"cq-full at=7", "verb name=create_ah errno=12", "verb name=0 errno=1",
	};
	struct hwsim_faults *f = &((struct fault_bed *)test->priv)->faults;
	char text[200];
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, hwsim_fault_arm(f, bad[i]), -EINVAL, "%s", bad[i]);
	KUNIT_EXPECT_EQ(test, f->armed, 0UL);
	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ_MSG(test, hwsim_fault_arm(f, good[i]), i + 1, "%s", good[i]);
	memset(text, ' ', sizeof(text));
	memcpy(text, "ack-lose", 8);
	text[sizeof(text) - 1] = 0;
	KUNIT_EXPECT_EQ(test, hwsim_fault_arm(f, text), -EINVAL);	/* too long */
	hwsim_fault_clear(f);
	KUNIT_EXPECT_EQ(test, f->armed, 0UL);
	for (i = 0; i < 256; i++)
		KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "ack-lose"), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_arm(f, "ack-lose"), -ENOSPC);
}

static void fault_test_statuses(struct kunit *test)
{
	struct hwsim_faults *f = &((struct fault_bed *)test->priv)->faults;
	char text[40];
	int s;

	for (s = IB_WC_SUCCESS + 1; s <= IB_WC_GENERAL_ERR; s++) {
		snprintf(text, sizeof(text), "wr status=%d", s);
		KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, text), 0);
		KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 1, IB_WR_SEND), s);
		KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 1, IB_WR_SEND), 0);
	}
	KUNIT_EXPECT_EQ(test, hwsim_fault_hits(f, HWSIM_FAULT_WR), (unsigned int)s - 1);
	KUNIT_EXPECT_EQ(test, f->armed, 0UL);
}

/* The at-th, count times, and only of what is named. */
static void fault_test_when(struct kunit *test)
{
	struct hwsim_faults *f = &((struct fault_bed *)test->priv)->faults;
	int i, status;

	status = hwsim_fault_arm(f, "wr status=rem-access qp=17 op=write at=3 count=2");
	KUNIT_ASSERT_GT(test, status, 0);
	for (i = 1; i <= 6; i++) {
		/* others neither are struck nor count */
		KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 18, IB_WR_RDMA_WRITE), 0);
		KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 17, IB_WR_SEND), 0);
		KUNIT_EXPECT_EQ(test, (int)hwsim_fault_done(f, 17, IB_WR_RDMA_WRITE), 0);
		status = hwsim_fault_wr(f, 17, IB_WR_RDMA_WRITE);
		KUNIT_EXPECT_EQ(test, status,
				i == 3 || i == 4 ? (int)IB_WC_REM_ACCESS_ERR : 0);
	}
	KUNIT_EXPECT_EQ(test, hwsim_fault_hits(f, HWSIM_FAULT_WR), 2U);
	KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "ack-lose at=2 count=0"), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_ack(f, 1), 0U);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, hwsim_fault_ack(f, i), HWSIM_FAULT_LOSE);
	KUNIT_EXPECT_NE(test, f->armed, 0UL);
}

/* Of two that would strike the older does; the other is next. */
static void fault_test_order(struct kunit *test)
{
	struct hwsim_faults *f = &((struct fault_bed *)test->priv)->faults;

	hwsim_fault_arm(f, "packet-delay us=5");
	hwsim_fault_arm(f, "packet-twice");
	hwsim_fault_arm(f, "packet-lose at=3");
	KUNIT_EXPECT_EQ(test, hwsim_fault_packet(f, 1), 5U);
	KUNIT_EXPECT_EQ(test, hwsim_fault_packet(f, 1), HWSIM_FAULT_TWICE);
	KUNIT_EXPECT_EQ(test, hwsim_fault_packet(f, 1), HWSIM_FAULT_LOSE);
	KUNIT_EXPECT_EQ(test, hwsim_fault_packet(f, 1), 0U);
	hwsim_fault_arm(f, "cq-full");
	KUNIT_EXPECT_EQ(test, hwsim_fault_cqe(f, 1), HWSIM_FAULT_LOSE);
	hwsim_fault_arm(f, "recv status=loc-prot");
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_recv(f, 1), (int)IB_WC_LOC_PROT_ERR);
}

static void fault_test_verbs(struct kunit *test)
{
	struct hwsim_faults *f = &((struct fault_bed *)test->priv)->faults;

	hwsim_fault_arm(f, "verb name=create_ah errno=12 at=2");
	KUNIT_EXPECT_EQ(test, hwsim_fault_verb(f, HWSIM_VERB_CREATE_AH), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_verb(f, HWSIM_VERB_CREATE_QP), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_verb(f, HWSIM_VERB_CREATE_AH), -ENOMEM);
	KUNIT_EXPECT_EQ(test, hwsim_fault_verb(f, HWSIM_VERB_CREATE_AH), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_hits(f, HWSIM_FAULT_VERB), 1U);
}

static void fault_wait(struct kunit *test)
{
	struct fault_bed *bed = test->priv;

	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&bed->done, 60 * HZ), 0UL);
}

static void fault_test_actions(struct kunit *test)
{
	struct fault_bed *bed = test->priv;
	struct hwsim_faults *f = &bed->faults;

	/* at once */
	KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "port-down"), 0);
	fault_wait(test);
	KUNIT_EXPECT_EQ(test, bed->down, 1);
	KUNIT_EXPECT_EQ(test, hwsim_fault_hits(f, HWSIM_FAULT_PORT_DOWN), 1U);
	/* at a request, which passes */
	KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "port-up at=2"), 0);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 1, IB_WR_SEND), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_hits(f, HWSIM_FAULT_PORT_UP), 0U);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 1, IB_WR_SEND), 0);
	fault_wait(test);
	KUNIT_EXPECT_EQ(test, bed->up, 1);
	KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "gid-change"), 0);
	fault_wait(test);
	KUNIT_EXPECT_EQ(test, (int)bed->event, (int)IB_EVENT_GID_CHANGE);
	KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "fatal"), 0);
	fault_wait(test);
	KUNIT_EXPECT_EQ(test, (int)bed->event, (int)IB_EVENT_DEVICE_FATAL);
	KUNIT_ASSERT_GT(test, hwsim_fault_arm(f, "remove op=send qp=4 at=1"), 0);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 5, IB_WR_SEND), 0);
	KUNIT_EXPECT_EQ(test, hwsim_fault_hits(f, HWSIM_FAULT_REMOVE), 0U);
	KUNIT_EXPECT_EQ(test, (int)hwsim_fault_wr(f, 4, IB_WR_SEND), 0);
	fault_wait(test);
	KUNIT_EXPECT_EQ(test, bed->removed, 1);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(fault_test_none),
	KUNIT_CASE(fault_test_text),
	KUNIT_CASE(fault_test_statuses),
	KUNIT_CASE(fault_test_when),
	KUNIT_CASE(fault_test_order),
	KUNIT_CASE(fault_test_verbs),
	KUNIT_CASE(fault_test_actions),
	{}
};

static struct kunit_suite hwsim_fault_suite = {
	.name = "hwsim_fault",
	.init = fault_test_init,
	.exit = fault_test_exit,
	.test_cases = fault_cases,
};

kunit_test_suites(&hwsim_fault_suite);
