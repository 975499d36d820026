// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives of a NIC, moved between its queue pairs.
 *
 * The account is in core/depth.c.  Each path has a floor, which is checked against
 * the budget before the path is accepted.  A path whose peer says that it ran out of
 * credits is grown, while the budget has room.  When it has none, recv_work asks
 * others to give back: first come those that have been idle, and those that have
 * more than their share.
 *
 * A receive that is posted cannot be taken from a queue pair; it goes when a packet
 * consumes it.  So the peer is told how many packets it should have sent, and sends
 * empty ones; their receives are not posted again:
 *
 *   receiver (this file)				sender (mux.c)
 *   ====================				==============
 *   recv_work: depth.recall = n, the smaller
 *   depth counts for updates from now on
 *   SLOT_RECALL(received + recall)  ---------------->	until
 *						<-----	packets, empty ones if it has no others
 *   each: recall--, its buffer is freed, and the
 *   budget has it again
 *
 * Lifetime.  A queue pair on the account's list is that of a path whose transport
 * was not fenced yet: dms_recv_leave() takes it off, under recv_lock, and the fence
 * runs with a reference.  So recv_work, under that lock, may take one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "recv.h"

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "ibdev.h"
#include "node.h"
#include "path.h"
#include "stats.h"
#include "wq.h"

static unsigned int dms_param_recv_budget_kib;
module_param_named(recv_budget_kib, dms_param_recv_budget_kib, uint, 0644);
MODULE_PARM_DESC(recv_budget_kib, "memory for receives per RDMA device, over all peers, in KiB; for devices that come later; 0: a sixteenth of the host's, 64 MiB to 1 GiB (default 0)");

static unsigned int dms_param_slots_floor = 16;
module_param_named(slots_floor, dms_param_slots_floor, uint, 0644);
MODULE_PARM_DESC(slots_floor, "receives that a queue pair of a new session always has, 8 to slots (default 16)");

static unsigned int dms_param_recv_idle_ms = 1000;
module_param_named(recv_idle_ms, dms_param_recv_idle_ms, uint, 0644);
MODULE_PARM_DESC(recv_idle_ms, "a queue pair without a packet for so long gives back its receives above slots_floor when others want them, in ms (default 1000)");

/* Paths whose floors are kept free: a session of the most, both ends of it here. */
#define DMS_RECV_RESERVE	16
/* After so long, in jiffies, what was asked back and did not come is not counted on. */
#define DMS_RECV_PATIENCE	(HZ / 10)

/**
 * dms_recv_ceiling() - most receives of a queue pair
 *
 * Context: any.
 * Return: parameter slots, within what may be said to a peer.
 */
u32 dms_recv_ceiling(void)
{
	return clamp_t(u32, READ_ONCE(dms_param_slots), DMS_SLOTS_FLOOR, DMS_SLOTS_CEIL);
}

/**
 * dms_recv_floor() - receives that a queue pair always has
 *
 * Context: any.
 * Return: parameter slots_floor, not more than the ceiling.
 */
u32 dms_recv_floor(void)
{
	return clamp_t(u32, READ_ONCE(dms_param_slots_floor), DMS_SLOTS_FLOOR,
		       dms_recv_ceiling());
}

static u32 recv_budget_pages(void)
{
	u64 kib = READ_ONCE(dms_param_recv_budget_kib);

	if (!kib)
		kib = clamp_t(u64, (u64)totalram_pages() * PAGE_SIZE / 16, SZ_64M, SZ_1G) >> 10;
	return min_t(u64, (kib << 10) >> PAGE_SHIFT, DMS_DEPTH_BUDGET_MAX);
}

static u32 recv_unit(u32 slot_bytes)
{
	return DIV_ROUND_UP(slot_bytes, PAGE_SIZE);
}

static u64 recv_now(void)
{
	return get_jiffies_64();
}

/*
 * recv_lock is held: the next path to join finds room, or a path found none for its
 * want: somebody is to give back.
 */
static void recv_check(struct dms_ibdev *d, u32 want)
{
	if (want)
		d->recv_want = max(d->recv_want, want);
	if (d->recv_want || dms_depth_free(&d->recv) < d->recv.reserve)
		queue_work(dms_wq, &d->recv_work);
}

/* A path that gives back, with a reference; recv_lock is not held. */
static struct dms_path *recv_victim(struct dms_ibdev *d, u32 *count)
{
	u64 idle = msecs_to_jiffies(READ_ONCE(dms_param_recv_idle_ms)), now = recv_now();
	struct dms_path *path = NULL;
	struct dms_depth *q = NULL;
	u32 there;

	spin_lock(&d->recv_lock);
	there = dms_depth_free(&d->recv);
	/* what was asked for lately is on its way; a peer that gives nothing is not waited for */
	if (now - d->recv_asked < DMS_RECV_PATIENCE)
		there += d->recv.asked;
	if (there < d->recv.reserve + d->recv_want)
		q = dms_depth_victim(&d->recv, now, idle, count);
	if (q) {
		d->recv_asked = now;
		path = container_of(q, struct dms_path, depth);
		dms_path_get(path);	/* put in recv_work() */
	} else {
		d->recv_want = 0;
	}
	spin_unlock(&d->recv_lock);
	return path;
}

static void recv_recall(struct dms_path *path, u32 count)
{
	spin_lock(&path->lock);
	/* 0 when it has left meanwhile, which needs this lock */
	count = min(count, path->depth.asked);
	if (count) {
		dms_depth_recall(&path->depth, count);
		dms_slot_rx_resize(&path->slot_rx, dms_depth_now(&path->depth));
		path->recall_owed = true;
		dms_stat_add(DMS_STAT_RECV_RECALLED, count);
	}
	spin_unlock(&path->lock);
	if (count)
		dms_path_kick(path);
}

static void recv_work(struct work_struct *work)
{
	struct dms_ibdev *d = container_of(work, struct dms_ibdev, recv_work);
	struct dms_path *path;
	u32 count;

	while ((path = recv_victim(d, &count))) {
		recv_recall(path, count);
		dms_path_put(path);	/* of recv_victim() */
	}
}

/**
 * dms_recv_init() - nobody has a receive
 * @ibdev: new
 *
 * Context: process.
 */
void dms_recv_init(struct dms_ibdev *ibdev)
{
	u32 budget = recv_budget_pages();
	u32 floor = dms_recv_floor() * recv_unit(min_t(u32, dms_param_eager_max, SZ_64K) +
						 SZ_4K);

	spin_lock_init(&ibdev->recv_lock);
	INIT_WORK(&ibdev->recv_work, recv_work);
	/* not so much that a small budget could never be shared out */
	dms_depth_nic_init(&ibdev->recv, budget,
			   min(DMS_RECV_RESERVE * floor, budget / 8));
}

/**
 * dms_recv_exit() - the device goes
 * @ibdev: no path is on it, and none will be
 *
 * Context: process, may sleep.
 */
void dms_recv_exit(struct dms_ibdev *ibdev)
{
	cancel_work_sync(&ibdev->recv_work);
}

static int recv_join(struct dms_path *path, u32 *floors)
{
	struct dms_ibdev *d = path->ibdev;
	int ret;

	spin_lock(&path->lock);
	spin_lock(&d->recv_lock);
	ret = dms_depth_join(&d->recv, &path->depth, path->my_slots, path->my_slots_max,
			     recv_unit(path->slot_bytes));
	*floors = d->recv.floors;
	recv_check(d, ret == -EAGAIN ? path->my_slots * path->depth.unit : 0);
	spin_unlock(&d->recv_lock);
	spin_unlock(&path->lock);
	return ret;
}

/**
 * dms_recv_join() - take a path's floor from the budget
 * @path: my_slots, my_slots_max, slot_bytes and ibdev are set; not UP
 *
 * Context: process; no lock of the data side held.
 * Return: 0, then dms_recv_leave() has to follow; -EAGAIN: others were asked to give
 * back; -ENOBUFS: all floors together would not fit.
 */
int dms_recv_join(struct dms_path *path)
{
	u32 floors;
	int ret = recv_join(path, &floors);

	if (ret != -ENOSPC)
		return ret;
	pr_warn_ratelimited("%s has no room for one more queue pair of %u receives: those of others take %llu of %llu KiB; raise the parameter recv_budget_kib, or lower slots_floor or eager_max\n",
			    dms_ibdev_name(path->ibdev), path->my_slots,
			    (u64)floors << (PAGE_SHIFT - 10),
			    (u64)path->ibdev->recv.budget << (PAGE_SHIFT - 10));
	return -ENOBUFS;
}

/**
 * dms_recv_leave() - a path has no receives any more
 * @path: after dms_recv_join() that returned 0, once; its receives are freed
 *
 * Context: process; no lock of the data side held.
 */
void dms_recv_leave(struct dms_path *path)
{
	struct dms_ibdev *d = path->ibdev;

	spin_lock(&path->lock);
	spin_lock(&d->recv_lock);
	dms_depth_leave(&d->recv, &path->depth);
	spin_unlock(&d->recv_lock);
	spin_unlock(&path->lock);
}

/**
 * dms_recv_grow() - the peer of a path ran out of credits
 * @path: its lock is held
 *
 * Context: process.
 * Return: receives that are this path's from now on, to be posted; 0: none, or not
 * now.
 */
u32 dms_recv_grow(struct dms_path *path)
{
	struct dms_ibdev *d = path->ibdev;
	u32 n, want;

	/* most are there: no need for the lock that all paths share */
	if (!path->depth.floor || path->depth.floor + path->depth.above >= path->depth.ceil)
		return 0;
	spin_lock(&d->recv_lock);
	n = dms_depth_grow(&d->recv, &path->depth, &want);
	recv_check(d, want);
	spin_unlock(&d->recv_lock);
	if (want)
		dms_stat_inc(DMS_STAT_RECV_WAITS);
	return n;
}

/**
 * dms_recv_grown() - receives were posted in addition
 * @path: its lock is held
 * @posted: how many of those that dms_recv_grow() gave; the rest goes back
 *
 * Context: process.
 */
void dms_recv_grown(struct dms_path *path, u32 posted)
{
	struct dms_ibdev *d = path->ibdev;

	if (!path->depth.floor)
		return;			/* it has left */
	spin_lock(&d->recv_lock);
	dms_depth_grown(&d->recv, &path->depth, posted);
	dms_slot_rx_resize(&path->slot_rx, dms_depth_now(&path->depth));
	spin_unlock(&d->recv_lock);
	dms_stat_add(DMS_STAT_RECV_GROWN, posted);
}

/**
 * dms_recv_back() - receives were not posted again, and are freed
 * @path: its lock is held
 * @count: how many
 *
 * Context: process.
 */
void dms_recv_back(struct dms_path *path, u32 count)
{
	struct dms_ibdev *d = path->ibdev;

	if (!path->depth.floor)
		return;			/* it has left */
	spin_lock(&d->recv_lock);
	dms_depth_back(&d->recv, &path->depth, count);
	spin_unlock(&d->recv_lock);
	dms_stat_add(DMS_STAT_RECV_RETURNED, count);
}

/**
 * dms_recv_until() - what a SLOT_RECALL says now
 * @path: its lock is held
 * @until: packets that the peer should have sent in all
 *
 * Computed when it leaves, so that it is right however long it had to wait.
 *
 * Context: any.
 * Return: false when all that was asked for has come.
 */
bool dms_recv_until(const struct dms_path *path, u32 *until)
{
	*until = path->slot_rx.received + path->depth.recall;
	return path->depth.recall;
}

/**
 * dms_recv_stalled() - the peer wanted to send, and could not
 * @path: path->lock is held
 */
void dms_recv_stalled(struct dms_path *path)
{
	u32 n = path->state == DMS_PATH_UP ? dms_recv_grow(path) : 0;

	if (n)
		path->ops->grow(path, n);
}

/* ---- what the transport and the peer tell ---- */

/**
 * dms_path_freed() - receives were not posted again, and their memory is free
 * @path: any state
 * @n: how many
 */
void dms_path_freed(struct dms_path *path, u32 n)
{
	spin_lock(&path->lock);
	dms_recv_back(path, n);
	spin_unlock(&path->lock);
}

/**
 * dms_path_grown() - answer to ops->grow()
 * @path: any state
 * @n: receives that were posted, at most as many as were asked for
 *
 * Packets may have consumed some already; but nobody was told of them before this.
 */
void dms_path_grown(struct dms_path *path, u32 n)
{
	spin_lock(&path->lock);
	dms_recv_grown(path, n);
	dms_slot_rx_post(&path->slot_rx, n);
	if (dms_slot_rx_owes(&path->slot_rx))
		dms_path_kick(path);
	spin_unlock(&path->lock);
}

/**
 * dms_path_recalled() - the peer wants receives back
 * @path: its packet is being handled
 * @until: packets that it should have got in all
 *
 * The rest is mux.c's, which sends empty packets when there are no others.
 *
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_path_recalled(struct dms_path *path, u32 until)
{
	enum dms_rule rule = DMS_RULE_NONE;

	if (!path->moves)
		return DMS_RULE_TYPE;
	spin_lock(&path->lock);
	if (!dms_depth_until_ok(&path->slot_tx, until)) {
		rule = DMS_RULE_CREDIT;
	} else {
		path->until = until;
		path->recalled = dms_depth_due(&path->slot_tx, until);
	}
	if (path->recalled)
		dms_path_kick(path);
	spin_unlock(&path->lock);
	return rule;
}
