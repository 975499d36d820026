// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carriers of a session's paths that fail and are made again: what the two sides tell each
 * other of it, and when the dialling side dials.  Documentation/recovery.rst has the
 * conversation.
 *
 * path->epoch and path->off_epoch are changed under session->lock, while the path has no
 * carrier.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>

#include <linux/dmastream.h>

#include "cm.h"
#include "core/backoff.h"
#include "hello.h"
#include "path.h"
#include "session.h"
#include "session_impl.h"
#include "stats.h"
#include "wq.h"

static unsigned int dms_param_path_dead_ms = 30000;
module_param_named(path_dead_ms, dms_param_path_dead_ms, uint, 0644);
MODULE_PARM_DESC(path_dead_ms, "how long a path may be without a queue pair, while its peer lives, until its session ends, in ms; 0: for ever (default 30000)");

static bool path_has_carrier(struct dms_path *path)
{
	bool has;

	spin_lock(&path->lock);
	has = path->state != DMS_PATH_INIT || path->priv || path->taken;
	spin_unlock(&path->lock);
	return has;
}

/*
 * The next epoch begins: nobody else may begin one.  It is over when the path rests again,
 * also when no carrier came of it.
 */
static void path_take(struct dms_path *path, u32 epoch)
{
	spin_lock(&path->lock);
	path->epoch = epoch;
	path->taken = true;
	spin_unlock(&path->lock);
}

/* ---- what is said ---- */

/* To be said by sock_work; a word that was not said yet of an earlier epoch is no use any more. */
static void session_say(struct dms_session *s, struct dms_path *path, u8 word)
{
	lockdep_assert_held(&s->lock);
	s->word[path->index] = word;
	s->word_epoch[path->index] = path->epoch;
	set_bit(DMS_SF_WORDS, &s->flags);
	queue_work(dms_wq, &s->sock_work);
}

/**
 * dms_session_next_word() - what is to be said of a path next
 * @s: UP
 * @msg: out
 *
 * Context: sock_work.
 * Return: false when there is nothing.
 */
bool dms_session_next_word(struct dms_session *s, struct dms_path_msg *msg)
{
	bool found = false;
	u32 i;

	if (!test_bit(DMS_SF_WORDS, &s->flags))
		return false;
	mutex_lock(&s->lock);
	for (i = 0; i < DMS_SESSION_PATHS_MAX && !found; i++) {
		if (!s->word[i])
			continue;
		msg->index = i;
		msg->word = s->word[i];
		msg->epoch = s->word_epoch[i];
		s->word[i] = 0;
		found = true;
	}
	if (!found)
		clear_bit(DMS_SF_WORDS, &s->flags);
	mutex_unlock(&s->lock);
	return found;
}

/* ---- dialling ---- */

/* Both sides are fenced: the next carrier, after a moment when the last ones failed. */
static void session_redial(struct dms_session *s, struct dms_path *path)
{
	lockdep_assert_held(&s->lock);
	if (s->role != DMS_ROLE_DIALLER || !dms_session_alive(s) ||
	    path->off_epoch != path->epoch || path_has_carrier(path))
		return;
	dms_path_get(path);		/* put in dms_session_redial_work(), or by kill_work */
	if (!queue_delayed_work(dms_wq, &path->redial_work,
				msecs_to_jiffies(dms_backoff_ms(path->fails,
								get_random_u32()))))
		dms_path_put(path);
}

/**
 * dms_session_redial_work() - dial the next carrier of a path
 * @work: path->redial_work
 */
void dms_session_redial_work(struct work_struct *work)
{
	struct dms_path *path = container_of(to_delayed_work(work), struct dms_path, redial_work);
	struct dms_session *s = path->session;
	struct sockaddr_storage src, dst;
	bool dial;

	mutex_lock(&s->lock);
	dial = dms_session_alive(s) && path->off_epoch == path->epoch && !path_has_carrier(path);
	if (dial)
		path_take(path, path->epoch + 1);
	mutex_unlock(&s->lock);
	if (dial) {
		dms_stat_inc(DMS_STAT_PATH_REDIALS);
		dms_hello_rdma_addrs(s, &src, &dst);
		dms_cm_dial(path, &src, &dst);	/* kills the path when it fails */
	}
	dms_path_put(path);		/* of session_redial() */
}

/**
 * dms_session_next_carrier() - the path that a connection request is for
 * @s: session of the request
 * @cm: what the request showed
 *
 * The accepting side: from here on the path is in the epoch of the request.
 *
 * Context: process, may sleep, no lock held.
 * Return: the path, in INIT, with a reference; NULL: there is none yet; -EBUSY: it is not
 * fenced yet, or in another epoch.
 */
struct dms_path *dms_session_next_carrier(struct dms_session *s, const struct dms_cm *cm)
{
	struct dms_path *path = NULL;

	mutex_lock(&s->lock);
	if (cm->index < s->nr_paths)
		path = s->path[cm->index];
	if (!path && s->resumes && cm->epoch != s->epoch) {
		path = ERR_PTR(-EBUSY);
	} else if (path && (!s->resumes || !dms_session_alive(s) || path->lane != cm->lane ||
			    cm->epoch != path->epoch + 1 || path_has_carrier(path))) {
		path = ERR_PTR(-EBUSY);
	} else if (path) {
		path_take(path, cm->epoch);
		dms_path_get(path);
	}
	mutex_unlock(&s->lock);
	return path;
}

/* ---- what happens to a path ---- */

/**
 * dms_session_path_dying() - a path's carrier has failed
 * @s: session
 * @path: of it, DYING
 *
 * The one place that says what the loss of a carrier does to its session: while a session
 * that knows how to resume is on its way up, or what failed is no matter of one carrier
 * (the device has gone, the peer breaks the rules), it ends with it.
 *
 * Context: kill_work, no lock held.
 * Return: true when the path is to wait for another carrier, once it is fenced.
 */
bool dms_session_path_dying(struct dms_session *s, struct dms_path *path)
{
	bool again;

	mutex_lock(&s->lock);
	again = dms_session_alive(s) && s->resumes && test_bit(DMS_SF_READY, &s->flags) &&
		(path->err_class == DMASTREAM_ERR_PATH ||
		 path->err_class == DMASTREAM_ERR_REFUSED) && !dms_path_hopeless(path);
	if (again) {
		if (s->up_mask & BIT(path->index)) {
			s->up_mask &= ~BIT(path->index);
			s->nr_up--;
			path->down_since = jiffies;
		}
		session_say(s, path, DMS_PATH_DOWN);
	}
	mutex_unlock(&s->lock);
	return again;
}

/**
 * dms_session_path_off() - a path has no carrier, and its streams wait
 * @s: session
 * @path: of it, FENCED; INIT afterwards: what the peer is told of its epoch and that another
 *	  one may begin are one step
 *
 * Context: kill_work, no lock held.
 */
void dms_session_path_off(struct dms_session *s, struct dms_path *path)
{
	bool over;

	/*
	 * The session's end kills its paths after it has set KILLED: either the path had
	 * its error taken off by then and that kill counts, or KILLED is seen below.
	 */
	mutex_lock(&s->lock);
	dms_path_move(path, DMS_PATH_FENCED, DMS_PATH_INIT);
	over = !dms_session_alive(s);
	if (!over) {
		session_say(s, path, DMS_PATH_OFF);
		session_redial(s, path);
	}
	mutex_unlock(&s->lock);
	if (over)
		dms_path_kill(path, s->kill_class ?: DMASTREAM_ERR_SESSION, s->kill_detail);
}

/* The other side's carrier has failed, or is fenced. */
static enum dms_rule session_hears(struct dms_session *s, struct dms_path *path,
				   const struct dms_path_msg *msg)
{
	s32 ahead = msg->epoch - path->epoch;

	lockdep_assert_held(&s->lock);
	if (ahead < 0)
		return DMS_RULE_NONE;	/* it crossed what we said */
	if (ahead > 0) {
		/* a dial of which nothing came here: its epoch is used up */
		if (ahead > 1 || s->role == DMS_ROLE_DIALLER || path_has_carrier(path))
			return DMS_RULE_EPOCH;
		path->epoch = msg->epoch;
	}
	if (msg->word == DMS_PATH_OFF)
		path->off_epoch = msg->epoch;
	if (path_has_carrier(path))
		dms_path_kill(path, DMASTREAM_ERR_PATH, DMS_PATH_DETAIL_PEER);
	else if (s->role == DMS_ROLE_DIALLER)
		session_redial(s, path);
	else
		session_say(s, path, DMS_PATH_OFF);
	return DMS_RULE_NONE;
}

/**
 * dms_session_path_said() - PATH came
 * @s: UP
 * @msg: parsed; index and epoch are any values
 *
 * Context: sock_work.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_session_path_said(struct dms_session *s, const struct dms_path_msg *msg)
{
	enum dms_rule rule = DMS_RULE_NONE;
	struct dms_path *path;

	mutex_lock(&s->lock);
	if (!s->resumes || msg->index >= s->nr_paths) {
		rule = DMS_RULE_STATE;
	} else if (dms_session_alive(s)) {
		path = s->path[msg->index];
		if (path)
			rule = session_hears(s, path, msg);
	}
	mutex_unlock(&s->lock);
	return rule;
}

/**
 * dms_session_tick_down() - paths that have been without a carrier for too long
 * @s: UP; session->lock is held
 *
 * Return: true when the session was killed for it.
 */
bool dms_session_tick_down(struct dms_session *s)
{
	unsigned long dead = msecs_to_jiffies(READ_ONCE(dms_param_path_dead_ms));
	struct dms_path *path;
	u32 i;

	lockdep_assert_held(&s->lock);
	if (!test_bit(DMS_SF_READY, &s->flags) || !dead)
		return false;
	for (i = 0; i < s->nr_paths; i++) {
		path = s->path[i];
		if (!path || s->up_mask & BIT(i) || time_before(jiffies, path->down_since + dead))
			continue;
		pr_warn_ratelimited("session %u: no queue pair to %pISpc for %u ms (class %u, detail %u); the session ends; is the RDMA network up?\n",
				    s->num, &s->remote, dms_param_path_dead_ms, path->last_class,
				    path->last_detail);
		dms_session_kill(s, DMASTREAM_ERR_PATH, path->last_detail);
		return true;
	}
	return false;
}
