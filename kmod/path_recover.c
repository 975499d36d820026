// SPDX-License-Identifier: GPL-2.0-only
/*
 * A path between two carriers: see Documentation/recovery.rst.
 *
 * From the fence of one carrier until the next one is up nothing is posted and nothing
 * arrives.  So whatever is changed here without a path's or a stream's lock is changed by
 * kill_work, or by the one who makes the next carrier, and never by both: the path is in
 * INIT between them.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/sched.h>

#include "group.h"
#include "ibdev.h"
#include "mux.h"
#include "path.h"
#include "pool.h"
#include "proto.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/* Carriers in a row that came up and failed without anything having been delivered. */
#define DMS_PATH_FUTILE_MAX	8
/* One that was up for so long was good, whatever was delivered. */
#define DMS_PATH_GOOD		(10 * HZ)

/*
 * Each stream that is bound now, without a lock and with a reference.  One that is unbound
 * meanwhile is off whichever list it is on.  Not twice at once: the callers are kill_work
 * after the fence, the next carrier's maker, and the handler of its packets.
 */
static void path_each_stream(struct dms_path *path, void (*fn)(struct dms_stream *s, void *arg),
			     void *arg)
{
	might_sleep();
	struct dms_stream *s;
	LIST_HEAD(rest);

	spin_lock(&path->streams_lock);
	list_splice_init(&path->streams, &rest);
	while ((s = list_first_entry_or_null(&rest, struct dms_stream, path_node))) {
		list_move_tail(&s->path_node, &path->streams);
		dms_stream_get(s);
		spin_unlock(&path->streams_lock);
		fn(s, arg);
		dms_stream_put(s);
		cond_resched();
		spin_lock(&path->streams_lock);
	}
	spin_unlock(&path->streams_lock);
}

/* ---- does the carrier carry? ---- */

/**
 * dms_path_stuck() - does the transport still carry anything?
 * @path: any state
 * @limit: jiffies
 * @next: when to look again, in jiffies: made less while something is out
 *
 * A queue pair tells of its failure by an error completion, and some do not: the
 * packets of rxe can be lost so that it neither repeats a READ nor gives it up,
 * while the peer's module is well and answers on the session.
 *
 * What asked for no completion tells nothing.  When nothing else is out, something is
 * sent that asks, for the next time.
 *
 * Context: process; session->lock may be held.
 * Return: true when something was posted, and nothing has completed for so long.
 */
bool dms_path_stuck(struct dms_path *path, unsigned long limit, unsigned long *next)
{
	bool stuck = false;

	spin_lock(&path->lock);
	if (path->state != DMS_PATH_UP)
		goto out;
	if (dms_path_awaits(path)) {
		stuck = time_after(jiffies, path->moved + limit);
		*next = min(*next, limit / 4 + 1);
	} else if (path->signal.quiet) {
		path->sweep = true;
		dms_path_kick(path);
	}
out:
	spin_unlock(&path->lock);
	return stuck;
}

/**
 * dms_path_map_pool() - struct dms_transport_ops map_pool, of all transports
 * @path: any state
 * @pool: of which the caller has a reference or a transfer
 *
 * May come while the path ends, and its device goes: the count makes removal
 * wait until the pool is mapped, so that it finds it to unmap.
 *
 * Context: process, may sleep.
 * Return: 0, or as dms_pool_map(); -ENOTCONN: there is no device any more.
 */
int dms_path_map_pool(struct dms_path *path, struct dms_pool *pool)
{
	struct dms_ibdev *d;
	int ret;

	spin_lock(&path->lock);
	d = path->ibdev;
	if (!d) {
		spin_unlock(&path->lock);
		/*
		 * Between two carriers: whoever makes the next one maps it, dms_path_back().
		 * Or at the end, which the stream knows.
		 */
		return path->resumes ? 0 : -ENOTCONN;
	}
	/*
	 * The device goes.  With a next carrier that is none of the caller's matter; and
	 * nothing is posted any more once the path is killed, which removal may do a
	 * moment later.
	 */
	if (!dms_ibdev_hold(d)) {
		d = NULL;
		if (path->resumes)
			dms_path_kill(path, DMASTREAM_ERR_DEVICE, ENODEV);
	}
	spin_unlock(&path->lock);
	if (!d)
		return path->resumes ? 0 : -ENOTCONN;
	ret = dms_pool_map(pool, d);
	dms_ibdev_unhold(d);
	return ret;
}

/* ---- the old carrier ---- */

struct path_rest {
	u32	owed;		/* streams that will have to say RESUME */
	u64	progress;	/* changes when anything was delivered, or landed */
};

static void path_suspend_one(struct dms_stream *s, void *arg)
{
	struct path_rest *rest = arg;

	rest->owed += dms_stream_suspend(s, &rest->progress);
	/* it stays on the list until the next carrier is up, and then is served */
	dms_mux_ready(s);
}

/* Who waited for what the carrier had waits for nothing now; path->lock is held. */
static void path_wake_all(struct dms_path *path)
{
	struct dms_stream *s, *tmp;

	dms_path_wake(path, &path->wait_key);
	dms_path_wake(path, &path->wait_connect);
	dms_path_wake_readers(path);
	list_for_each_entry_safe(s, tmp, &path->holders, hold_node) {
		list_del_init(&s->hold_node);
		dms_stream_put(s);	/* of dms_path_hold_later() */
	}
	dms_path_drop_granters(path);
}

/* path->lock is held: what was the carrier's is as in a new path. */
static void path_reset(struct dms_path *path)
{
	WARN_ON_ONCE(path->tx_out || path->reads_out);
	path->was_up = false;
	path->taken = false;
	INIT_LIST_HEAD(&path->tx_free);
	INIT_LIST_HEAD(&path->reads_free);
	INIT_LIST_HEAD(&path->keys_free);
	path->writes_free = NULL;
	path->tx_out = 0;
	path->reads_out = 0;
	path->incast_unread = 0;
	path->quiet_charge = 0;
	path->quiet_bytes = 0;
	path->sweep = false;
	path->stalled = false;
	path->recall_owed = false;
	path->recalled = false;
	path->connects_out = 0;
	path->nr_refusals = 0;		/* their CONNECTs come again */
	dms_path_window_init(path);
}

/*
 * Streams that are ready, or put off, from before: those that are over by now will say no
 * RESUME.  The others are made ready again.
 */
static void path_forget_ready(struct dms_path *path)
{
	struct dms_stream *s;

	spin_lock(&path->ready_lock);
	for (;;) {
		s = list_first_entry_or_null(&path->ready, struct dms_stream, ready_node);
		if (s) {
			list_del_init(&s->ready_node);
			s->ready = false;
		} else {
			s = list_first_entry_or_null(&path->put_off, struct dms_stream,
						     put_off_node);
			if (!s)
				break;
			list_del_init(&s->put_off_node);
		}
		spin_unlock(&path->ready_lock);
		dms_stream_forget_resume(s);
		dms_stream_put(s);	/* of dms_mux_ready() or dms_mux_put_off() */
		spin_lock(&path->ready_lock);
	}
	spin_unlock(&path->ready_lock);
}

/* Was the carrier of use?  It decides how soon the next one is made, and whether. */
static void path_judge(struct dms_path *path, const struct path_rest *rest)
{
	bool good = path->was_up && (rest->progress != path->progress ||
				     time_after(jiffies, path->back_at + DMS_PATH_GOOD));

	path->progress = rest->progress;
	if (path->ops->tcp) {
		/* says nothing of queue pairs; and is up before the peer has made anything */
		if (path->err_detail != DMS_PATH_DETAIL_BETTER)
			path->tcp_fails = good ? 0 : path->tcp_fails + 1;
		return;
	}
	path->fails = good ? 0 : path->fails + 1;
	if (good)
		path->futile = 0;
	else if (path->was_up && rest->owed)
		path->futile++;
}

/**
 * dms_path_rest() - the carrier is fenced, and the path waits for another one
 * @path: FENCED, and its session goes on; INIT afterwards, by dms_session_path_off()
 *
 * Context: kill_work.
 */
void dms_path_rest(struct dms_path *path)
{
	struct path_rest rest = {};

	/* first, so that one which waited with a RESUME to say, and is over, is forgotten, too */
	spin_lock(&path->lock);
	path_wake_all(path);
	spin_unlock(&path->lock);
	path_forget_ready(path);
	path_each_stream(path, path_suspend_one, &rest);
	spin_lock(&path->lock);
	path_judge(path, &rest);
	path->resumes_owed = rest.owed;
	spin_unlock(&path->lock);
	path->was_tcp = path->ops->tcp;
	path->ops->free(path);
	dms_path_free_carrier(path);
	spin_lock(&path->lock);
	path_reset(path);
	spin_unlock(&path->lock);
	path->last_class = path->err_class;
	path->last_detail = path->err_detail;
	/* from here on it can be killed again, and may be, by the end of its session */
	xchg(&path->err_class, 0);
	dms_session_path_off(path->session, path);
}

/**
 * dms_path_hopeless() - has it failed so often that another carrier is no use?
 * @path: any state
 */
bool dms_path_hopeless(const struct dms_path *path)
{
	return READ_ONCE(path->futile) >= DMS_PATH_FUTILE_MAX;
}

/* ---- the new carrier ---- */

/* A pool that a request of the stream uses and that the device does not know; with a transfer. */
static struct dms_pool *path_unmapped(struct dms_path *path, struct dms_stream *s)
{
	struct dms_pool *pool;

	spin_lock(&s->lock);
	pool = dms_stream_unmapped(s, path->ibdev);
	if (pool)
		dms_pool_share_transfer(pool);
	spin_unlock(&s->lock);
	return pool;
}

static void path_map_one(struct dms_stream *s, void *arg)
{
	struct dms_path *path = s->path;
	const struct dms_group *large;
	struct dms_pool *pool;
	int *err = arg;

	spin_lock(&s->lock);
	large = s->attached ? s->large : NULL;
	spin_unlock(&s->lock);
	if (large && !*err)	/* the stream has the group, and that its pool */
		*err = path->ops->map_pool(path, large->pool);
	while (!*err && (pool = path_unmapped(path, s))) {
		*err = path->ops->map_pool(path, pool);
		dms_pool_put_transfer(pool);
	}
}

/**
 * dms_path_back() - a carrier is connected, and not used yet
 * @path: CONNECTING
 *
 * What was submitted while there was no device is mapped on it.  A submission that comes
 * now sees the count: see dms_submit_give().
 *
 * Context: process, may sleep, no lock held.
 * Return: 0, or -errno of a pool that cannot be mapped: the path is to be killed.
 */
int dms_path_back(struct dms_path *path)
{
	int err = 0;

	spin_lock(&path->lock);
	WRITE_ONCE(path->carriers, path->carriers + 1);
	path->end_owed = path->carriers > 1;
	path->back_at = jiffies;
	spin_unlock(&path->lock);
	if (path->carriers == 1)
		return 0;
	dms_stat_inc(DMS_STAT_PATHS_RESUMED);
	path_each_stream(path, path_map_one, &err);
	return err;
}

/**
 * dms_path_is_up() - does it carry anything?
 * @path: any state; session->lock may be held
 */
bool dms_path_is_up(struct dms_path *path)
{
	bool up;

	spin_lock(&path->lock);
	up = path->state == DMS_PATH_UP;
	spin_unlock(&path->lock);
	return up;
}

/**
 * dms_path_resume_late() - does the peer keep what resumes waiting?
 * @path: any state; session->lock may be held
 * @limit: jiffies
 *
 * Return: true when it is up for longer, and no RESUME_END has come.
 */
bool dms_path_resume_late(struct dms_path *path, unsigned long limit)
{
	return dms_path_is_up(path) && dms_path_resuming(path) &&
	       time_after(jiffies, path->back_at + limit);
}

/**
 * dms_path_skip_late() - does the peer leave a SKIP without an answer?
 * @path: any state; session->lock is held
 * @limit: jiffies
 *
 * Its module answers, not its process.  Streams are looked at only when one has said SKIP not long
 * ago: a few times, since path_each_stream() may have some of them off the list.
 */
bool dms_path_skip_late(struct dms_path *path, unsigned long limit)
{
	u8 looks = READ_ONCE(path->skip_looks);
	struct dms_stream *s;
	int worst = 0;

	if (!looks || !dms_path_is_up(path))
		return false;
	WRITE_ONCE(path->skip_looks, looks - 1);
	spin_lock(&path->streams_lock);
	list_for_each_entry(s, &path->streams, path_node)
		worst = max(worst, dms_skip_late(s, limit));
	spin_unlock(&path->streams_lock);
	if (worst)
		WRITE_ONCE(path->skip_looks, DMS_SKIP_LOOKS);
	return worst > 1;
}

/* ---- resume, as far as it is the path's ---- */

/**
 * dms_path_resumed() - a stream has said its RESUME, or needs to say none any more
 * @path: path->lock is held
 */
void dms_path_resumed(struct dms_path *path)
{
	lockdep_assert_held(&path->lock);
	if (!WARN_ON_ONCE(!path->resumes_owed))
		path->resumes_owed--;
}

static void path_end_one(struct dms_stream *s, void *arg)
{
	enum dms_rule *rule = arg;

	if (!*rule)
		*rule = dms_stream_not_resumed(s);
}

/**
 * dms_path_resume_end() - RESUME_END came
 * @path: UP
 *
 * Context: process, no lock held.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_path_resume_end(struct dms_path *path)
{
	enum dms_rule rule = DMS_RULE_NONE;

	if (!dms_path_resuming(path))
		return DMS_RULE_STATE;
	WRITE_ONCE(path->ended_carrier, path->carriers);
	path_each_stream(path, path_end_one, &rule);
	return rule;
}

struct path_find {
	u32			peer_sid;
	struct dms_stream	*found;
};

static void path_find_one(struct dms_stream *s, void *arg)
{
	struct path_find *find = arg;

	if (find->found || READ_ONCE(s->peer_sid) != find->peer_sid || !dms_stream_awaits(s))
		return;
	dms_stream_get(s);
	find->found = s;
}

/**
 * dms_path_connected_before() - the stream that a CONNECT has made in an earlier epoch
 * @path: UP
 * @peer_sid: the peer's id of it
 *
 * Context: process, no lock held.
 * Return: the stream, with a reference, or NULL: the CONNECT is new.
 */
struct dms_stream *dms_path_connected_before(struct dms_path *path, u32 peer_sid)
{
	struct path_find find = { .peer_sid = peer_sid };

	if (dms_path_resuming(path))
		path_each_stream(path, path_find_one, &find);
	return find.found;
}
