// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on cue: the rules, and who is struck.  See fault.h.
 *
 * A rule sees each event that it matches and counts it.  It strikes from its
 * at-th on, count times.  Of several rules that would strike at one event the
 * oldest does; all have seen it.  A rule that is done stays in the list, so that
 * a test can read that it was hit.
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "fault.h"

#define HWSIM_RULE_TEXT		160
#define HWSIM_RULES_MAX		256

/* What a rule answers when it strikes, and which key of its text gives that. */
enum hwsim_answer {
	HWSIM_ANSWER_STATUS,
	HWSIM_ANSWER_DELAY,
	HWSIM_ANSWER_ERRNO,
	HWSIM_ANSWER_FIXED,
	HWSIM_ANSWER_ACTION,	/* lets the event pass, and does something */
};

static const struct hwsim_kind {
	const char *name;
	enum hwsim_answer answer;
	u32 fixed;
} hwsim_kinds[HWSIM_FAULT_KINDS] = {
	[HWSIM_FAULT_WR]		= { "wr", HWSIM_ANSWER_STATUS },
	[HWSIM_FAULT_DONE]		= { "done", HWSIM_ANSWER_STATUS },
	[HWSIM_FAULT_RECV]		= { "recv", HWSIM_ANSWER_STATUS },
	[HWSIM_FAULT_ACK_LOSE]		= { "ack-lose", HWSIM_ANSWER_FIXED, HWSIM_FAULT_LOSE },
	[HWSIM_FAULT_ACK_DELAY]		= { "ack-delay", HWSIM_ANSWER_DELAY },
	[HWSIM_FAULT_PKT_LOSE]		= { "packet-lose", HWSIM_ANSWER_FIXED, HWSIM_FAULT_LOSE },
	[HWSIM_FAULT_PKT_TWICE]		= { "packet-twice", HWSIM_ANSWER_FIXED, HWSIM_FAULT_TWICE },
	[HWSIM_FAULT_PKT_DELAY]		= { "packet-delay", HWSIM_ANSWER_DELAY },
	[HWSIM_FAULT_CQE_DELAY]		= { "cqe-delay", HWSIM_ANSWER_DELAY },
	[HWSIM_FAULT_CQ_FULL]		= { "cq-full", HWSIM_ANSWER_FIXED, HWSIM_FAULT_LOSE },
	[HWSIM_FAULT_VERB]		= { "verb", HWSIM_ANSWER_ERRNO },
	[HWSIM_FAULT_PORT_DOWN]		= { "port-down", HWSIM_ANSWER_ACTION },
	[HWSIM_FAULT_PORT_UP]		= { "port-up", HWSIM_ANSWER_ACTION },
	[HWSIM_FAULT_GID_CHANGE]	= { "gid-change", HWSIM_ANSWER_ACTION },
	[HWSIM_FAULT_FATAL]		= { "fatal", HWSIM_ANSWER_ACTION },
	[HWSIM_FAULT_REMOVE]		= { "remove", HWSIM_ANSWER_ACTION },
};

/* A name in a rule's text for a number. */
struct hwsim_word {
	const char *name;
	int value;
};

static const struct hwsim_word hwsim_statuses[] = {
	{ "loc-len", IB_WC_LOC_LEN_ERR },
	{ "loc-qp-op", IB_WC_LOC_QP_OP_ERR },
	{ "loc-eec-op", IB_WC_LOC_EEC_OP_ERR },
	{ "loc-prot", IB_WC_LOC_PROT_ERR },
	{ "flush", IB_WC_WR_FLUSH_ERR },
	{ "mw-bind", IB_WC_MW_BIND_ERR },
	{ "bad-resp", IB_WC_BAD_RESP_ERR },
	{ "loc-access", IB_WC_LOC_ACCESS_ERR },
	{ "rem-inv-req", IB_WC_REM_INV_REQ_ERR },
	{ "rem-access", IB_WC_REM_ACCESS_ERR },
	{ "rem-op", IB_WC_REM_OP_ERR },
	{ "retry-exceeded", IB_WC_RETRY_EXC_ERR },
	{ "rnr-exceeded", IB_WC_RNR_RETRY_EXC_ERR },
	{ "loc-rdd-viol", IB_WC_LOC_RDD_VIOL_ERR },
	{ "rem-inv-rd-req", IB_WC_REM_INV_RD_REQ_ERR },
	{ "rem-abort", IB_WC_REM_ABORT_ERR },
	{ "inv-eecn", IB_WC_INV_EECN_ERR },
	{ "inv-eec-state", IB_WC_INV_EEC_STATE_ERR },
	{ "fatal", IB_WC_FATAL_ERR },
	{ "resp-timeout", IB_WC_RESP_TIMEOUT_ERR },
	{ "general", IB_WC_GENERAL_ERR },
	{ }
};

static const struct hwsim_word hwsim_opcodes[] = {
	{ "write", IB_WR_RDMA_WRITE },
	{ "write-imm", IB_WR_RDMA_WRITE_WITH_IMM },
	{ "send", IB_WR_SEND },
	{ "send-imm", IB_WR_SEND_WITH_IMM },
	{ "send-inv", IB_WR_SEND_WITH_INV },
	{ "read", IB_WR_RDMA_READ },
	{ "cmp-swap", IB_WR_ATOMIC_CMP_AND_SWP },
	{ "fetch-add", IB_WR_ATOMIC_FETCH_AND_ADD },
	{ "local-inv", IB_WR_LOCAL_INV },
	{ "reg-mr", IB_WR_REG_MR },
	{ }
};

static const struct hwsim_word hwsim_verbs[] = {
	{ "alloc_pd", HWSIM_VERB_ALLOC_PD },
	{ "create_ah", HWSIM_VERB_CREATE_AH },
	{ "create_cq", HWSIM_VERB_CREATE_CQ },
	{ "create_srq", HWSIM_VERB_CREATE_SRQ },
	{ "modify_srq", HWSIM_VERB_MODIFY_SRQ },
	{ "query_srq", HWSIM_VERB_QUERY_SRQ },
	{ "create_qp", HWSIM_VERB_CREATE_QP },
	{ "modify_qp", HWSIM_VERB_MODIFY_QP },
	{ "query_qp", HWSIM_VERB_QUERY_QP },
	{ "alloc_mr", HWSIM_VERB_ALLOC_MR },
	{ "get_dma_mr", HWSIM_VERB_GET_DMA_MR },
	{ "map_mr_sg", HWSIM_VERB_MAP_MR_SG },
	{ "post_send", HWSIM_VERB_POST_SEND },
	{ "post_recv", HWSIM_VERB_POST_RECV },
	{ "post_srq_recv", HWSIM_VERB_POST_SRQ_RECV },
	{ "poll_cq", HWSIM_VERB_POLL_CQ },
	{ "req_notify_cq", HWSIM_VERB_REQ_NOTIFY_CQ },
	{ "query_port", HWSIM_VERB_QUERY_PORT },
	{ "query_pkey", HWSIM_VERB_QUERY_PKEY },
	{ "query_device", HWSIM_VERB_QUERY_DEVICE },
	{ }
};

struct hwsim_rule {
	struct list_head list;
	unsigned int id;
	enum hwsim_fault_kind kind;
	u32 qpn;		/* 0: any */
	int op;			/* opcode or verb; -1: any */
	u32 at;			/* the first event that it strikes; 0: an action at once */
	u32 count;		/* events that it strikes; 0: all from then on */
	u32 answer;
	u32 seen, hits;
	char text[HWSIM_RULE_TEXT];
};

static bool hwsim_rule_done(const struct hwsim_rule *r)
{
	return !r->at || (r->count && r->hits >= r->count);
}

/* Say which kinds some rule still waits for; under the lock. */
static void hwsim_fault_rearm(struct hwsim_faults *f)
{
	unsigned long armed = 0;
	struct hwsim_rule *r;

	list_for_each_entry(r, &f->rules, list)
		if (!hwsim_rule_done(r))
			armed |= BIT(r->kind);
	WRITE_ONCE(f->armed, armed);
}

static void hwsim_fault_act(struct hwsim_faults *f, enum hwsim_fault_kind kind)
{
	set_bit(kind, &f->due);
	queue_work(system_long_wq, &f->work);
}

static void hwsim_fault_work(struct work_struct *work)
{
	struct hwsim_faults *f = container_of(work, struct hwsim_faults, work);
	const struct hwsim_fault_ops *ops = f->ops;

	if (!ops)
		return;
	if (test_and_clear_bit(HWSIM_FAULT_PORT_DOWN, &f->due) && ops->port)
		ops->port(f, false);
	if (test_and_clear_bit(HWSIM_FAULT_PORT_UP, &f->due) && ops->port)
		ops->port(f, true);
	if (test_and_clear_bit(HWSIM_FAULT_GID_CHANGE, &f->due) && ops->event)
		ops->event(f, IB_EVENT_GID_CHANGE);
	if (test_and_clear_bit(HWSIM_FAULT_FATAL, &f->due) && ops->event)
		ops->event(f, IB_EVENT_DEVICE_FATAL);
	if (test_and_clear_bit(HWSIM_FAULT_REMOVE, &f->due) && ops->remove)
		ops->remove(f);
}

/**
 * hwsim_fault_strike() - an event of a kind that rules wait for
 * @f: the device's rules
 * @kinds: bit per kind that the event is of
 * @qpn: the queue pair it is of; 0 for none
 * @op: its opcode or verb; -1 for none
 *
 * Context: any but NMI.
 * Return: what the oldest rule that strikes answers; 0 for none.
 */
u32 hwsim_fault_strike(struct hwsim_faults *f, unsigned long kinds, u32 qpn, int op)
{
	struct hwsim_rule *r;
	unsigned long flags;
	u32 answer = 0;

	spin_lock_irqsave(&f->lock, flags);
	list_for_each_entry(r, &f->rules, list) {
		if (!(kinds & BIT(r->kind)) || hwsim_rule_done(r) ||
		    (r->qpn && r->qpn != qpn) || (r->op >= 0 && r->op != op))
			continue;
		if (++r->seen < r->at)
			continue;
		if (answer)
			continue;
		r->hits++;
		atomic_inc(&f->hits[r->kind]);
		if (hwsim_kinds[r->kind].answer == HWSIM_ANSWER_ACTION)
			hwsim_fault_act(f, r->kind);
		else
			answer = r->answer;
	}
	hwsim_fault_rearm(f);
	spin_unlock_irqrestore(&f->lock, flags);
	return answer;
}

/* A number, or a word of a list.  Return: 0 or -EINVAL. */
static int hwsim_parse_word(const struct hwsim_word *words, const char *s, int *value)
{
	for (; words->name; words++) {
		if (!strcmp(words->name, s)) {
			*value = words->value;
			return 0;
		}
	}
	return kstrtoint(s, 0, value) || *value < 0 ? -EINVAL : 0;
}

/* One "key=value" of a rule.  Each kind takes its own. */
static int hwsim_parse_pair(struct hwsim_rule *r, const char *key, const char *s)
{
	enum hwsim_answer answer = hwsim_kinds[r->kind].answer;
	int value;

	if (!strcmp(key, "qp") && r->kind != HWSIM_FAULT_VERB)
		return kstrtou32(s, 0, &r->qpn);
	if (!strcmp(key, "at"))
		return kstrtou32(s, 0, &r->at);
	if (!strcmp(key, "count"))
		return kstrtou32(s, 0, &r->count);
	if (!strcmp(key, "op") && (BIT(r->kind) & (HWSIM_FAULT_AT_WR | BIT(HWSIM_FAULT_DONE))))
		return hwsim_parse_word(hwsim_opcodes, s, &r->op);
	if (!strcmp(key, "name") && r->kind == HWSIM_FAULT_VERB)
		return hwsim_parse_word(hwsim_verbs, s, &r->op);
	if (!strcmp(key, "status") && answer == HWSIM_ANSWER_STATUS) {
		if (hwsim_parse_word(hwsim_statuses, s, &value) ||
		    value <= IB_WC_SUCCESS || value > IB_WC_GENERAL_ERR)
			return -EINVAL;
		r->answer = value;
		return 0;
	}
	if ((!strcmp(key, "us") && answer == HWSIM_ANSWER_DELAY) ||
	    (!strcmp(key, "errno") && answer == HWSIM_ANSWER_ERRNO)) {
		u32 max = answer == HWSIM_ANSWER_DELAY ? HWSIM_FAULT_DELAY_MAX : MAX_ERRNO;

		if (kstrtou32(s, 0, &r->answer) || !r->answer || r->answer > max)
			return -EINVAL;
		return 0;
	}
	return -EINVAL;
}

/* Turn r->text into a rule.  Return: 0 or -EINVAL. */
static int hwsim_parse_rule(struct hwsim_rule *r)
{
	char copy[HWSIM_RULE_TEXT], *rest = copy, *word, *value;
	int i;

	strscpy(copy, r->text, sizeof(copy));
	word = strsep(&rest, " ");
	for (i = 0; i < HWSIM_FAULT_KINDS; i++)
		if (!strcmp(word, hwsim_kinds[i].name))
			break;
	if (i == HWSIM_FAULT_KINDS)
		return -EINVAL;
	r->kind = i;
	r->op = -1;
	r->at = hwsim_kinds[i].answer == HWSIM_ANSWER_ACTION ? 0 : 1;
	r->count = 1;
	r->answer = hwsim_kinds[i].fixed;
	while ((word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value)
			return -EINVAL;
		*value++ = 0;
		if (hwsim_parse_pair(r, word, value))
			return -EINVAL;
	}
	if (hwsim_kinds[i].answer == HWSIM_ANSWER_ACTION)
		return 0;
	/* it has to answer something, and to wait for something */
	if (!r->answer || !r->at || (r->kind == HWSIM_FAULT_VERB && r->op < 0))
		return -EINVAL;
	return 0;
}

/**
 * hwsim_fault_arm() - add a rule
 * @f: the device's rules
 * @text: the rule, see fault.h; words apart by single spaces
 *
 * Context: process.
 * Return: the rule's number, above 0; -EINVAL for a text that is none, -ENOSPC
 * when there are too many, -ENOMEM.
 */
int hwsim_fault_arm(struct hwsim_faults *f, const char *text)
{
	struct hwsim_rule *r, *other;
	unsigned long flags;
	int n = 0, ret;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	ret = -EINVAL;
	if (strscpy(r->text, text, sizeof(r->text)) < 0 || hwsim_parse_rule(r))
		goto free;
	spin_lock_irqsave(&f->lock, flags);
	list_for_each_entry(other, &f->rules, list)
		n++;
	if (n < HWSIM_RULES_MAX) {
		ret = ++f->next_id;
		r->id = ret;
		list_add_tail(&r->list, &f->rules);
		if (!r->at) {
			r->hits = 1;
			atomic_inc(&f->hits[r->kind]);
			hwsim_fault_act(f, r->kind);
		}
		hwsim_fault_rearm(f);
		r = NULL;
	} else {
		ret = -ENOSPC;
	}
	spin_unlock_irqrestore(&f->lock, flags);
free:
	kfree(r);
	return ret;
}

/**
 * hwsim_fault_clear() - forget all rules
 * @f: the device's rules
 *
 * Context: any but NMI.
 */
void hwsim_fault_clear(struct hwsim_faults *f)
{
	struct hwsim_rule *r, *tmp;
	unsigned long flags;
	LIST_HEAD(out);

	spin_lock_irqsave(&f->lock, flags);
	list_splice_init(&f->rules, &out);
	hwsim_fault_rearm(f);
	spin_unlock_irqrestore(&f->lock, flags);
	list_for_each_entry_safe(r, tmp, &out, list)
		kfree(r);
}

/**
 * hwsim_fault_hits() - how often a kind has struck
 * @f: the device's rules
 * @kind: the kind
 *
 * Return: since the device came, by all rules, cleared ones too.
 */
unsigned int hwsim_fault_hits(struct hwsim_faults *f, enum hwsim_fault_kind kind)
{
	return atomic_read(&f->hits[kind]);
}

/**
 * hwsim_fault_init() - a device without rules
 * @f: its rules
 * @ops: what it can do on cue; NULL for nothing
 */
void hwsim_fault_init(struct hwsim_faults *f, const struct hwsim_fault_ops *ops)
{
	memset(f, 0, sizeof(*f));
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->rules);
	INIT_WORK(&f->work, hwsim_fault_work);
	f->ops = ops;
}

/**
 * hwsim_fault_exit() - the device goes
 * @f: its rules; no hook runs any more
 *
 * Context: may sleep: waits for an action that is under way.
 */
void hwsim_fault_exit(struct hwsim_faults *f)
{
	debugfs_remove_recursive(f->dir);
	f->dir = NULL;
	hwsim_fault_clear(f);
	cancel_work_sync(&f->work);
}

/* Rules as they were written, with what became of them. */
static int fault_rules_show(struct seq_file *m, void *unused)
{
	struct hwsim_faults *f = m->private;
	struct hwsim_rule *r;
	unsigned long flags;

	spin_lock_irqsave(&f->lock, flags);
	list_for_each_entry(r, &f->rules, list)
		seq_printf(m, "%u: %s: seen %u, hits %u%s\n", r->id, r->text, r->seen, r->hits,
			   hwsim_rule_done(r) ? ", done" : "");
	spin_unlock_irqrestore(&f->lock, flags);
	return 0;
}

/* A line is a rule, or "clear". */
static ssize_t fault_rules_write(struct file *file, const char __user *from, size_t len,
				 loff_t *pos)
{
	struct hwsim_faults *f = ((struct seq_file *)file->private_data)->private;
	char text[HWSIM_RULE_TEXT], *rule;
	int ret = 0;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;
	rule = strim(text);
	if (!strcmp(rule, "clear"))
		hwsim_fault_clear(f);
	else
		ret = hwsim_fault_arm(f, rule);
	return ret < 0 ? ret : len;
}

static int fault_rules_open(struct inode *inode, struct file *file)
{
	return single_open(file, fault_rules_show, inode->i_private);
}

static const struct file_operations fault_rules_fops = {
	.owner		= THIS_MODULE,
	.open		= fault_rules_open,
	.read		= seq_read,
	.write		= fault_rules_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int fault_hits_show(struct seq_file *m, void *unused)
{
	struct hwsim_faults *f = m->private;
	int i;

	for (i = 0; i < HWSIM_FAULT_KINDS; i++)
		seq_printf(m, "%s %u\n", hwsim_kinds[i].name, hwsim_fault_hits(f, i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fault_hits);

/**
 * hwsim_fault_debugfs() - take and show rules in a directory "fault"
 * @f: the device's rules
 * @parent: the device's directory
 *
 * Context: may sleep.
 */
void hwsim_fault_debugfs(struct hwsim_faults *f, struct dentry *parent)
{
	f->dir = debugfs_create_dir("fault", parent);
	debugfs_create_file("rules", 0644, f->dir, f, &fault_rules_fops);
	debugfs_create_file("hits", 0444, f->dir, f, &fault_hits_fops);
}
