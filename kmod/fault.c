// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on cue: what is armed, the hooks, and the files of debugfs.
 *
 * A fault is three numbers: how often it still strikes, how many passes of its
 * hook go unharmed before that, and how often it struck.  A hook takes
 * fault_lock only when its fault is armed.
 *
 * Nothing here holds an object longer than its user does, but for a delayed
 * acknowledgement, which has a reference on its stream and goes within
 * DMS_FAULT_MS_MAX, whatever became of the stream.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": fault injection: " fmt

#include "fault.h"

#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <linux/dmastream.h>

#include "addr.h"
#include "node.h"
#include "path.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "transport_rdma.h"
#include "wq.h"

/* Below what makes the kernel complain of a task that hangs. */
#define DMS_FAULT_MS_MAX	10000
/* Of what is written to a file. */
#define DMS_FAULT_TEXT		64

static bool dms_param_fault_injection;
module_param_named(fault_injection, dms_param_fault_injection, bool, 0444);
MODULE_PARM_DESC(fault_injection, "files in debugfs, dmastream/fault, that make this node fail on cue (default N)");

DEFINE_STATIC_KEY_FALSE(dms_fault_key);

struct fault {
	const char	*name;
	s32		left;		/* strikes; -1: without end */
	s32		skip;		/* passes before the first */
	u32		arg;		/* ms, or a reason; depends on the fault */
	u64		hits;
};

/* fault_lock: faults, but the names, and the next four.  Process context, innermost. */
static DEFINE_SPINLOCK(fault_lock);
static bool fault_has_peer;
static bool fault_over;				/* no acknowledgement is delayed any more */
static struct sockaddr_storage fault_peer;	/* normalised */
static LIST_HEAD(fault_acks);			/* struct fault_ack */

static struct fault faults[DMS_FAULTS] = {
	[DMS_FAULT_QP_ERROR]		= { "qp_error" },
	[DMS_FAULT_DROP_ACKS]		= { "drop_acks" },
	[DMS_FAULT_DROP_PACKETS]	= { "drop_packets" },
	[DMS_FAULT_DELAY_ACKS]		= { "delay_acks_ms" },
	[DMS_FAULT_DELAY_COMPLETIONS]	= { "delay_completions_ms" },
	[DMS_FAULT_REFUSE_CONNECTS]	= { "refuse_connects" },
	[DMS_FAULT_REFUSE_HELLOS]	= { "refuse_hellos" },
	[DMS_FAULT_POST_SEND]		= { "send" },
	[DMS_FAULT_POST_READ]		= { "read" },
	[DMS_FAULT_POST_REG]		= { "reg" },
	[DMS_FAULT_POST_INV]		= { "inv" },
	[DMS_FAULT_POST_RECV]		= { "recv" },
	[DMS_FAULT_ALLOC_CTX]		= { "ctx" },
	[DMS_FAULT_ALLOC_POOL]		= { "pool" },
	[DMS_FAULT_ALLOC_CHUNK]		= { "chunk" },
	[DMS_FAULT_ALLOC_POOL_MAP]	= { "pool_map" },
	[DMS_FAULT_ALLOC_RING]		= { "ring" },
	[DMS_FAULT_ALLOC_REQUESTS]	= { "requests" },
	[DMS_FAULT_ALLOC_GROUP]		= { "group" },
	[DMS_FAULT_ALLOC_SHMEM]		= { "shmem" },
	[DMS_FAULT_ALLOC_POLLER]	= { "poller" },
	[DMS_FAULT_ALLOC_QUOTA]		= { "quota" },
	[DMS_FAULT_ALLOC_LISTENER]	= { "listener" },
	[DMS_FAULT_ALLOC_ACCEPT]	= { "accept" },
	[DMS_FAULT_ALLOC_STREAM]	= { "stream" },
	[DMS_FAULT_ALLOC_STREAM_ID]	= { "stream_id" },
	[DMS_FAULT_ALLOC_PULL]		= { "pull" },
	[DMS_FAULT_ALLOC_SESSION]	= { "session" },
	[DMS_FAULT_ALLOC_SOCKET]	= { "socket" },
	[DMS_FAULT_ALLOC_PATH]		= { "path" },
	[DMS_FAULT_ALLOC_TRANSPORT]	= { "transport" },
	[DMS_FAULT_ALLOC_TXPKTS]	= { "txpkts" },
	[DMS_FAULT_ALLOC_READS]		= { "reads" },
	[DMS_FAULT_ALLOC_RECV]		= { "recv" },
	[DMS_FAULT_ALLOC_REGION]	= { "region" },
	[DMS_FAULT_ALLOC_CM_REQUEST]	= { "cm_request" },
	[DMS_FAULT_ALLOC_NETLINK]	= { "netlink" },
};

/* An acknowledgement that waits. */
struct fault_ack {
	struct list_head	node;		/* fault_acks, until the work begins */
	struct delayed_work	work;
	struct dms_stream	*stream;	/* with a reference */
};

/*
 * ---- Hooks ----
 */

/* A fault that has no peer strikes whoever is named. */
static bool fault_is_for(const struct sockaddr_storage *peer)
{
	lockdep_assert_held(&fault_lock);
	return !fault_has_peer || !peer || dms_addr_same_host(&fault_peer, peer);
}

/* Bulky ones are not told each time. */
static void fault_tell(enum dms_fault nr)
{
	dms_stat_inc(DMS_STAT_FAULTS);
	if (nr == DMS_FAULT_DELAY_ACKS || nr == DMS_FAULT_DELAY_COMPLETIONS)
		return;
	pr_notice_ratelimited("%s%s strikes\n", nr >= DMS_FAULT_ALLOC_FIRST ? "fail_alloc " :
			      nr >= DMS_FAULT_POST_SEND ? "fail_post " : "", faults[nr].name);
}

/**
 * dms_fault_strikes() - a hook is passed
 * @nr: its fault
 * @peer: normalised; NULL: there is none
 * @arg: out, when it strikes: what was written with it; may be NULL
 *
 * Who arms a fault while others pass does not know which of them it meets first.
 *
 * Context: process; any lock may be held.
 */
bool dms_fault_strikes(enum dms_fault nr, const struct sockaddr_storage *peer, u32 *arg)
{
	struct fault *f = &faults[nr];
	bool strikes = false;

	if (!READ_ONCE(f->left))
		return false;
	spin_lock(&fault_lock);
	if (!f->left || !fault_is_for(peer))
		goto out;
	if (f->skip) {
		f->skip--;
		goto out;
	}
	strikes = true;
	f->hits++;
	if (f->left > 0)
		WRITE_ONCE(f->left, f->left - 1);
	if (arg)
		*arg = f->arg;
out:
	spin_unlock(&fault_lock);
	if (strikes)
		fault_tell(nr);
	return strikes;
}

/**
 * dms_fault_strikes_path() - a hook is passed, of a path
 * @nr: its fault
 * @path: the caller keeps it, and it its session, whose peer is constant by now
 * @arg: as of dms_fault_strikes()
 *
 * Context: process; any lock may be held.
 */
bool dms_fault_strikes_path(enum dms_fault nr, const struct dms_path *path, u32 *arg)
{
	return dms_fault_strikes(nr, &path->session->remote, arg);
}

/**
 * dms_fault_strikes_post() - a work request is to be posted
 * @path: of the queue pair
 * @op: of the request
 *
 * Context: process; path->lock is held.
 */
bool dms_fault_strikes_post(const struct dms_path *path, enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_SEND:
		return dms_fault_strikes_path(DMS_FAULT_POST_SEND, path, NULL);
	case IB_WR_RDMA_READ:
		return dms_fault_strikes_path(DMS_FAULT_POST_READ, path, NULL);
	case IB_WR_REG_MR:
		return dms_fault_strikes_path(DMS_FAULT_POST_REG, path, NULL);
	case IB_WR_LOCAL_INV:
		return dms_fault_strikes_path(DMS_FAULT_POST_INV, path, NULL);
	default:
		return false;
	}
}

/**
 * dms_fault_reason() - a peer asks to be let in
 * @nr: DMS_FAULT_REFUSE_*
 * @peer: in any form
 *
 * Context: process; any lock may be held.
 * Return: enum dmastream_refusal, or 0.
 */
u32 dms_fault_reason(enum dms_fault nr, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage from = *peer;
	u32 reason;

	dms_addr_normalise(&from);
	return dms_fault_strikes(nr, &from, &reason) ? reason : 0;
}

/**
 * dms_fault_hold_completion() - the completion is looked at later
 * @tp: of its queue pair
 *
 * The worker of the completion queue sleeps, so that all that share the queue wait,
 * and nothing changes its order.  It wakes when the path ends: the fence sets dead,
 * wakes, and only then waits for the handlers.
 *
 * Context: process, may sleep; in a handler, no lock held.
 */
void dms_fault_hold_completion(struct dms_rdma *tp)
{
	u32 ms;

	if (dms_fault_strikes_path(DMS_FAULT_DELAY_COMPLETIONS, tp->path, &ms))
		wait_event_timeout(tp->up_wait, READ_ONCE(tp->dead), msecs_to_jiffies(ms));
}

/*
 * The stream may have lost its path or have ended meanwhile: then nothing is sent of
 * it, and to have asked for it is harmless.
 */
static void fault_ack_pass(struct fault_ack *a)
{
	struct dms_stream *s = a->stream;

	spin_lock(&s->lock);
	s->fault_ack = DMS_FAULT_ACK_PASSES;
	spin_unlock(&s->lock);
	dms_stream_kick(s);
	dms_stream_put(s);		/* got in fault_ack_later() */
	kfree(a);
}

static void fault_ack_work(struct work_struct *work)
{
	struct fault_ack *a = container_of(to_delayed_work(work), struct fault_ack, work);

	spin_lock(&fault_lock);
	list_del(&a->node);
	spin_unlock(&fault_lock);
	fault_ack_pass(a);
}

static bool fault_ack_later(struct dms_stream *s, u32 ms)
{
	struct fault_ack *a = kmalloc(sizeof(*a), GFP_ATOMIC);
	bool later;

	if (!a)
		return false;
	INIT_DELAYED_WORK(&a->work, fault_ack_work);
	a->stream = s;
	spin_lock(&fault_lock);
	later = !fault_over;
	if (later) {
		dms_stream_get(s);	/* put in fault_ack_pass() */
		list_add_tail(&a->node, &fault_acks);
		queue_delayed_work(dms_wq, &a->work, msecs_to_jiffies(ms));
	}
	spin_unlock(&fault_lock);
	if (!later)
		kfree(a);
	return later;
}

/**
 * dms_fault_strikes_ack() - an UPDATE is owed, and could be sent
 * @s: path->lock and stream->lock are held
 *
 * What is dropped is forgotten, but what it would have said is not: it says where the
 * stream is, as the next one does, and the end.
 *
 * Context: process.
 * Return: true when it is not sent now.
 */
bool dms_fault_strikes_ack(struct dms_stream *s)
{
	u32 ms;

	lockdep_assert_held(&s->lock);
	if (s->fault_ack == DMS_FAULT_ACK_WAITS)
		return true;
	if (dms_fault_strikes_path(DMS_FAULT_DROP_ACKS, s->path, NULL)) {
		s->ctl &= ~DMS_CTL_UPDATE;
		return true;
	}
	if (s->fault_ack == DMS_FAULT_ACK_PASSES) {
		s->fault_ack = DMS_FAULT_ACK_NONE;
		return false;
	}
	if (!dms_fault_strikes_path(DMS_FAULT_DELAY_ACKS, s->path, &ms) ||
	    !fault_ack_later(s, ms))
		return false;
	s->fault_ack = DMS_FAULT_ACK_WAITS;
	return true;
}

/*
 * ---- Commands ----
 */

/* Numbers apart by blanks, as many as there are, at most @max; the others stay. */
static int fault_numbers(char *text, s32 *n, int max)
{
	char *word;
	int i = 0, err;

	while ((word = strsep(&text, " \t"))) {
		if (!*word)
			continue;
		if (i == max)
			return -EINVAL;
		err = kstrtos32(word, 0, &n[i++]);
		if (err)
			return err;
	}
	return i ? 0 : -EINVAL;
}

static int fault_arm(enum dms_fault nr, s32 times, s32 skip, u32 arg)
{
	struct fault *f = &faults[nr];

	if (times < -1 || skip < 0)
		return -ERANGE;
	spin_lock(&fault_lock);
	f->skip = skip;
	f->arg = arg;
	WRITE_ONCE(f->left, times);
	spin_unlock(&fault_lock);
	return 0;
}

/* TIMES [SKIP] */
static int fault_set_times(enum dms_fault nr, char *text)
{
	s32 n[] = { 0, 0 };
	int err = fault_numbers(text, n, ARRAY_SIZE(n));

	return err ?: fault_arm(nr, n[0], n[1], 0);
}

/* MS [TIMES] */
static int fault_set_delay(enum dms_fault nr, char *text)
{
	s32 n[] = { 0, -1 };
	int err = fault_numbers(text, n, ARRAY_SIZE(n));

	if (err)
		return err;
	if (n[0] < 0 || n[0] > DMS_FAULT_MS_MAX)
		return -ERANGE;
	return fault_arm(nr, n[0] ? n[1] : 0, 0, n[0]);
}

/* TIMES [REASON] */
static int fault_set_refusal(enum dms_fault nr, char *text)
{
	s32 n[] = { 0, DMASTREAM_REFUSED_MEMORY };
	int err = fault_numbers(text, n, ARRAY_SIZE(n));

	if (err)
		return err;
	if (n[1] < DMASTREAM_REFUSED_SERVICE || n[1] > DMASTREAM_REFUSED_CLOSED)
		return -ERANGE;
	return fault_arm(nr, n[0], 0, n[1]);
}

/* NAME [TIMES [SKIP]], of the faults from @nr to before @end */
static int fault_set_named(enum dms_fault nr, enum dms_fault end, char *text)
{
	char *name = strsep(&text, " \t");
	s32 n[] = { 1, 0 };
	int err = 0;

	for (; nr < end && strcmp(name, faults[nr].name); nr++)
		;
	if (nr == end)
		return -EINVAL;
	if (text)
		err = fault_numbers(text, n, ARRAY_SIZE(n));
	return err ?: fault_arm(nr, n[0], n[1], 0);
}

static int fault_set_alloc(enum dms_fault nr, char *text)
{
	return fault_set_named(nr, DMS_FAULTS, text);
}

static int fault_set_post(enum dms_fault nr, char *text)
{
	return fault_set_named(nr, DMS_FAULT_ALLOC_FIRST, text);
}

/*
 * Moves the queue pair to the error state, as a NIC does that gives it up: nothing is
 * told to the path, which hears of it by completions.
 *
 *   this task				  path_kill_work()
 *   path->lock: path->priv, kref_get
 *   setup_lock
 *     not dead: the queue pair is there
 *     ib_modify_qp()
 *					  setup_lock: waits for us, sets dead
 *					  destroys the queue pair
 *   setup_lock let go, kref_put		  dms_rdma_free(): priv = NULL, kref_put
 */
static int fault_break_qp(struct dms_path *path)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct dms_rdma *tp = NULL;
	int ret = -ENOTCONN;

	spin_lock(&path->lock);
	if (path->ops == &dms_rdma_ops && path->priv) {
		tp = path->priv;
		kref_get(&tp->ref);	/* put below */
	}
	spin_unlock(&path->lock);
	if (!tp)
		return ret;
	mutex_lock(&tp->setup_lock);
	if (!tp->dead && tp->qp)
		ret = ib_modify_qp(tp->qp, &attr, IB_QP_STATE);
	mutex_unlock(&tp->setup_lock);
	dms_rdma_put(tp);
	if (ret)
		return ret;
	spin_lock(&fault_lock);
	faults[DMS_FAULT_QP_ERROR].hits++;
	spin_unlock(&fault_lock);
	fault_tell(DMS_FAULT_QP_ERROR);
	return 0;
}

struct fault_walk {
	u32	id;		/* 0: all */
	int	found;
	int	err;
};

static int fault_break_session(struct dms_session *s, void *arg)
{
	struct fault_walk *w = arg;
	int i;

	for (i = 0; i < DMS_SESSION_PATHS_MAX; i++) {
		struct dms_path *path;

		mutex_lock(&s->lock);
		path = s->path[i];
		if (path)
			dms_path_get(path);
		mutex_unlock(&s->lock);
		if (!path)
			continue;
		if (!w->id || path->id == w->id) {
			int err = fault_break_qp(path);

			w->found += !err;
			w->err = err ?: w->err;
		}
		dms_path_put(path);
	}
	return w->id && w->found;
}

/* A path's number, or "all": those of the writer's network namespace */
static int fault_set_qp(enum dms_fault nr, char *text)
{
	struct fault_walk w = {};
	int err;

	if (strcmp(text, "all")) {
		err = kstrtou32(text, 0, &w.id);
		if (err)
			return err;
		if (!w.id)
			return -EINVAL;
	}
	dms_node_walk_sessions(dms_node_of(current->nsproxy->net_ns), fault_break_session, &w);
	/* of all, one that was just going is no error */
	return w.found ? 0 : w.err ?: -ENOENT;
}

/* An address, or "any" */
static int fault_set_peer(enum dms_fault nr, char *text)
{
	struct sockaddr_storage ss = {};
	bool any = !strcmp(text, "any");
	int err;

	if (!any) {
		err = inet_pton_with_scope(current->nsproxy->net_ns, AF_UNSPEC, text, NULL, &ss);
		if (err)
			return -EINVAL;
		dms_addr_normalise(&ss);
	}
	spin_lock(&fault_lock);
	fault_has_peer = !any;
	fault_peer = ss;
	spin_unlock(&fault_lock);
	return 0;
}

/*
 * Delayed acknowledgements go now.  Whose work cannot be cancelled any more has it
 * running, waiting for fault_lock, and goes by itself: its entry stays on the list.
 */
static void fault_disarm(bool over)
{
	struct fault_ack *a, *next;
	LIST_HEAD(mine);
	int i;

	spin_lock(&fault_lock);
	for (i = 0; i < DMS_FAULTS; i++) {
		WRITE_ONCE(faults[i].left, 0);
		faults[i].skip = 0;
	}
	fault_has_peer = false;
	fault_over |= over;
	list_for_each_entry_safe(a, next, &fault_acks, node)
		if (cancel_delayed_work(&a->work))
			list_move_tail(&a->node, &mine);
	spin_unlock(&fault_lock);
	list_for_each_entry_safe(a, next, &mine, node)
		fault_ack_pass(a);
}

/* 1 */
static int fault_set_disarm(enum dms_fault nr, char *text)
{
	s32 one;
	int err = fault_numbers(text, &one, 1);

	if (err)
		return err;
	if (one != 1)
		return -EINVAL;
	fault_disarm(false);
	return 0;
}

/*
 * ---- Files ----
 */

static void fault_show_one(struct seq_file *m, enum dms_fault nr)
{
	struct fault f;

	spin_lock(&fault_lock);
	f = faults[nr];
	spin_unlock(&fault_lock);
	seq_printf(m, "left %d skip %d hits %llu", f.left, f.skip, f.hits);
	if (f.arg)
		seq_printf(m, " %s %u", nr == DMS_FAULT_DELAY_ACKS ||
			   nr == DMS_FAULT_DELAY_COMPLETIONS ? "ms" : "reason", f.arg);
	seq_putc(m, '\n');
}

static void fault_show_named(struct seq_file *m, enum dms_fault nr, enum dms_fault end)
{
	for (; nr < end; nr++) {
		seq_printf(m, "%s ", faults[nr].name);
		fault_show_one(m, nr);
	}
}

static void fault_show_alloc(struct seq_file *m, enum dms_fault nr)
{
	fault_show_named(m, nr, DMS_FAULTS);
}

static void fault_show_post(struct seq_file *m, enum dms_fault nr)
{
	fault_show_named(m, nr, DMS_FAULT_ALLOC_FIRST);
}

static void fault_show_peer(struct seq_file *m, enum dms_fault nr)
{
	struct sockaddr_storage ss;
	bool any;

	spin_lock(&fault_lock);
	any = !fault_has_peer;
	ss = fault_peer;
	spin_unlock(&fault_lock);
	if (any)
		seq_puts(m, "any\n");
	else
		seq_printf(m, "%pISc\n", &ss);
}

static const struct fault_file {
	const char	*name;
	enum dms_fault	nr;
	int		(*set)(enum dms_fault nr, char *text);
	void		(*show)(struct seq_file *m, enum dms_fault nr);	/* NULL: cannot be read */
} files[] = {
	{ "qp_error", DMS_FAULT_QP_ERROR, fault_set_qp, fault_show_one },
	{ "drop_acks", DMS_FAULT_DROP_ACKS, fault_set_times, fault_show_one },
	{ "drop_packets", DMS_FAULT_DROP_PACKETS, fault_set_times, fault_show_one },
	{ "delay_acks_ms", DMS_FAULT_DELAY_ACKS, fault_set_delay, fault_show_one },
	{ "delay_completions_ms", DMS_FAULT_DELAY_COMPLETIONS, fault_set_delay, fault_show_one },
	{ "refuse_connects", DMS_FAULT_REFUSE_CONNECTS, fault_set_refusal, fault_show_one },
	{ "refuse_hellos", DMS_FAULT_REFUSE_HELLOS, fault_set_refusal, fault_show_one },
	{ "fail_post", DMS_FAULT_POST_SEND, fault_set_post, fault_show_post },
	{ "fail_alloc", DMS_FAULT_ALLOC_FIRST, fault_set_alloc, fault_show_alloc },
	{ "peer", 0, fault_set_peer, fault_show_peer },
	{ "disarm", 0, fault_set_disarm, NULL },
};

static int fault_show(struct seq_file *m, void *unused)
{
	const struct fault_file *file = m->private;

	if (file->show)
		file->show(m, file->nr);
	return 0;
}

static int fault_open(struct inode *inode, struct file *file)
{
	return single_open(file, fault_show, inode->i_private);
}

/* Each write is one command, and all of it is taken or nothing. */
static ssize_t fault_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	const struct fault_file *f = ((struct seq_file *)file->private_data)->private;
	char text[DMS_FAULT_TEXT];
	char *command;
	int err;

	if (!len || len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;
	if (strlen(text) != len)
		return -EINVAL;
	command = strim(text);
	err = f->set(f->nr, command);
	return err ?: len;
}

static const struct file_operations fault_fops = {
	.owner		= THIS_MODULE,
	.open		= fault_open,
	.read		= seq_read,
	.write		= fault_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static struct dentry *fault_dir;

/**
 * dms_fault_init() - the files, when the parameter asks for them
 *
 * A kernel without debugfs has none; that is no reason not to load.
 *
 * Context: process; everything that a file can reach is there.
 */
void dms_fault_init(void)
{
	struct dentry *dir;
	int i;

	if (!dms_param_fault_injection)
		return;
	static_branch_enable(&dms_fault_key);
	fault_dir = debugfs_create_dir("dmastream", NULL);
	dir = debugfs_create_dir("fault", fault_dir);
	if (IS_ERR(dir)) {
		pr_warn("no files in debugfs (error %ld)\n", PTR_ERR(dir));
		return;
	}
	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file(files[i].name, files[i].show ? 0600 : 0200, dir,
				    (void *)&files[i], &fault_fops);
	pr_notice("the files are in debugfs, dmastream/fault\n");
}

/**
 * dms_fault_exit() - nothing fails on cue any more
 *
 * Streams still end after this, and pass hooks: they find nothing armed.  No
 * delayed acknowledgement is left.
 *
 * Context: process, may sleep; dms_wq works.
 */
void dms_fault_exit(void)
{
	debugfs_remove_recursive(fault_dir);
	fault_disarm(true);
	flush_workqueue(dms_wq);
}
