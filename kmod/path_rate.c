// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an operator lets a lane send: each path has an equal share of its lane's limit.
 * While it is spent, turns stand still as with a send window that is shut.
 */
#include <linux/ktime.h>
#include <linux/moduleparam.h>

#include "path.h"
#include "mux.h"
#include "session.h"
#include "session_impl.h"
#include "stats.h"
#include "wq.h"

/*
 * What a path may save up while it sends nothing.  Longer than a wake-up comes late, so
 * that the rate is reached: some ticks of the slowest clock (HZ=100), and the worker.
 */
#define DMS_RATE_BURST_NS	(40 * NSEC_PER_MSEC)

static unsigned int dms_param_rate_mbit[DMS_LANES];
module_param_named(rate_mbit_bulk, dms_param_rate_mbit[DMS_LANE_BULK], uint, 0644);
MODULE_PARM_DESC(rate_mbit_bulk, "what a new session may send on its bulk lane, in Mbit/s, an equal share for each queue pair; 0: no limit (default 0)");
module_param_named(rate_mbit_latency, dms_param_rate_mbit[DMS_LANE_LATENCY], uint, 0644);
MODULE_PARM_DESC(rate_mbit_latency, "the same for its latency lane (default 0)");

/**
 * dms_path_rate_init() - a path's share of the limit of its lane
 * @path: new, of a session
 *
 * How many paths share the lane does not change: the session is UP, or attach refuses.
 */
void dms_path_rate_init(struct dms_path *path)
{
	dms_rate_init(&path->rate, READ_ONCE(dms_param_rate_mbit[path->lane]),
		      dms_session_lane_paths(path->session, path->lane), DMS_RATE_BURST_NS);
}

/*
 * One timer for the path, however many wait.  When it is set already, it is for
 * an earlier time: a debt only grows.  Not after DYING, since only dms_mux_run()
 * of a path that is UP gets here: kill_work cancels it for good.
 */
static void path_rate_later(struct dms_path *path, u64 now)
{
	dms_path_get(path);		/* put in dms_path_rate_work() */
	if (!queue_delayed_work(dms_wq, &path->rate_work,
				nsecs_to_jiffies(dms_rate_wait_ns(&path->rate, now)) + 1))
		dms_path_put(path);
}

/**
 * dms_path_rate_limit() - dms_path_rate_may() of a path that has a limit
 * @path: path->lock is held
 *
 * Return: as there.
 */
bool dms_path_rate_limit(struct dms_path *path)
{
	u64 now = ktime_get_ns();

	lockdep_assert_held(&path->lock);
	if (dms_rate_may(&path->rate, now))
		return true;
	dms_stat_inc(DMS_STAT_RATE_WAITS);
	path_rate_later(path, now);
	return false;
}

/**
 * dms_path_rate_charge() - what the path's limit counts
 * @path: path->lock is held
 * @bytes: of a packet with data in it that is sent, or of a segment that the peer may
 *	   pull from now on
 */
void dms_path_rate_charge(struct dms_path *path, u32 bytes)
{
	lockdep_assert_held(&path->lock);
	if (unlikely(path->rate.cost))
		dms_rate_charge(&path->rate, bytes, ktime_get_ns());
}

/**
 * dms_path_rate_work() - there is something to spend again
 * @work: path->rate_work
 *
 * Those who wait for a turn go on, as they do when the window has room again.
 */
void dms_path_rate_work(struct work_struct *work)
{
	struct dms_path *path = container_of(to_delayed_work(work), struct dms_path, rate_work);

	spin_lock(&path->lock);
	dms_mux_run(path);
	spin_unlock(&path->lock);
	dms_path_put(path);		/* of path_rate_later() */
}
