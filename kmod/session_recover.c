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
#include "node.h"
#include "path.h"
#include "rails.h"
#include "session.h"
#include "session_impl.h"
#include "stats.h"
#include "transport_rdma.h"
#include "transport_tcp.h"
#include "wq.h"

static unsigned int dms_param_path_dead_ms;
module_param_named(path_dead_ms, dms_param_path_dead_ms, uint, 0644);
MODULE_PARM_DESC(path_dead_ms, "a queue pair on which nothing completes for so long, while its peer lives, is given up, and TCP takes over, in ms; 0: a fifth of peer_lost_ms, at least two ACK timeouts (default 0)");

static unsigned int dms_param_path_lost_ms = 30000;
module_param_named(path_lost_ms, dms_param_path_lost_ms, uint, 0644);
MODULE_PARM_DESC(path_lost_ms, "how long a path may have neither a queue pair nor TCP, while its peer lives, until its session ends, in ms; 0: for ever (default 30000)");

/* A path on another rail than its own looks for that so often, */
#define DMS_HOME_MS		2000U
/* and half as often each time that it went back to it and was soon on another one again. */
#define DMS_HOME_SOON		(60 * HZ)
#define DMS_HOME_SHIFT_MAX	5

/* A fifth of this is as patient as peer_lost_ms, when that is 0: never. */
#define DMS_PATH_PATIENCE_MS	10000U

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

/*
 * The next carrier is the session's own connection, which takes a round trip, or a queue
 * pair: when the last carrier was that connection, and a probe was answered.
 */
static bool next_is_tcp(const struct dms_path *path)
{
	return path->session->tcp && !path->found;
}

/* session->lock held */
static void redial_in(struct dms_path *path, u32 ms)
{
	dms_path_get(path);		/* put in dms_session_redial_work(), or by kill_work */
	/* it may wait for the time of a probe */
	if (mod_delayed_work(dms_wq, &path->redial_work, msecs_to_jiffies(ms)))
		dms_path_put(path);
}

/* After a moment, when the last ones failed.  session->lock held. */
static void redial_after(struct dms_path *path, u32 fails)
{
	redial_in(path, dms_backoff_ms(fails, get_random_u32()));
}

/* Of a path that is away: when to look for its home.  session->lock held. */
static void look_home(struct dms_path *path)
{
	redial_in(path, DMS_HOME_MS << path->home_fails);
}

/* Both sides are fenced: the next carrier. */
static void session_redial(struct dms_session *s, struct dms_path *path)
{
	lockdep_assert_held(&s->lock);
	if (s->role != DMS_ROLE_DIALLER || !dms_session_alive(s) ||
	    path->off_epoch != path->epoch || path_has_carrier(path))
		return;
	redial_after(path, next_is_tcp(path) ? path->tcp_fails : path->fails);
}

/* It is taken. */
static void redial_rdma(struct dms_path *path)
{
	struct sockaddr_storage src, dst;

	dms_stat_inc(DMS_STAT_PATH_REDIALS);
	dms_rails_addrs(path->session, READ_ONCE(path->rail), &src, &dst);
	dms_cm_dial(path, &src, &dst);	/* kills the path when it fails */
}

static void tell_tcp(const struct dms_path *path)
{
	const struct dms_session *s = path->session;

	pr_notice_ratelimited("session %u: path %u to %pISpc goes over TCP (class %u, detail %u)\n",
			      s->num, path->id, &s->remote, path->last_class,
			      path->last_detail);
}

/*
 * It is taken.  The peer is told only when the path is up, so that a carrier which came to
 * nothing is never told of behind the word that says so; and before any packet goes.
 */
static void redial_tcp(struct dms_path *path)
{
	struct dms_session *s = path->session;
	bool up;

	if (dms_tcp_attach(path))
		return;
	mutex_lock(&s->lock);
	up = dms_session_alive(s) && dms_path_is_up(path);
	if (up) {
		session_say(s, path, DMS_PATH_TCP);
		redial_after(path, path->fails + path->probes);
	}
	mutex_unlock(&s->lock);
	if (!up)
		return;
	dms_tcp_tell(path);
	tell_tcp(path);
}

static bool path_is_on_tcp(struct dms_path *path)
{
	bool on;

	spin_lock(&path->lock);
	on = path->state == DMS_PATH_UP && path->ops->tcp;
	spin_unlock(&path->lock);
	return on;
}

/* Its queue pair goes over another rail than its own; session->lock held. */
static bool path_is_away(struct dms_path *path)
{
	bool away;

	spin_lock(&path->lock);
	away = path->state == DMS_PATH_UP && !path->ops->tcp && path->rail != path->home;
	spin_unlock(&path->lock);
	return away;
}

/*
 * A rail answers: it is one for all paths that have none, and for those whose own it is.
 * session->lock held.
 */
static void session_found(struct dms_session *s, u8 rail)
{
	struct dms_path *path;
	u32 i;

	for (i = 0; i < s->nr_paths; i++) {
		path = s->path[i];
		if (!path || !(path_is_on_tcp(path) || (path_is_away(path) && path->home == rail)))
			continue;
		path->found = true;
		WRITE_ONCE(path->rail, rail);
		dms_path_kill(path, DMASTREAM_ERR_PATH, DMS_PATH_DETAIL_BETTER);
	}
}

/* The rail did not answer: another one, or again in a while; session->lock held. */
static void session_not_found(struct dms_session *s, struct dms_path *path, u8 rail)
{
	if (path_is_on_tcp(path)) {
		path->probes++;
		WRITE_ONCE(path->rail, dms_rails_next(&s->rails, rail));
		redial_after(path, path->fails + path->probes / s->rails.nr);
	} else if (path_is_away(path)) {
		look_home(path);
	}
}

/*
 * Does RDMA work again, or the path's own rail?  Then it leaves what carries it, which costs
 * a round trip or two.
 */
static void redial_probe(struct dms_path *path)
{
	struct dms_session *s = path->session;
	struct sockaddr_storage src, dst;
	bool found;
	u8 rail;

	mutex_lock(&s->lock);
	rail = path_is_away(path) ? path->home : path->rail;
	mutex_unlock(&s->lock);
	dms_stat_inc(DMS_STAT_PATH_PROBES);
	dms_rails_addrs(s, rail, &src, &dst);
	found = !dms_cm_probe(path, &src, &dst);
	mutex_lock(&s->lock);
	s->probing = false;
	if (!dms_session_alive(s)) {
		mutex_unlock(&s->lock);
		return;
	}
	if (found)
		session_found(s, rail);
	else
		session_not_found(s, path, rail);
	mutex_unlock(&s->lock);
}

/**
 * dms_session_choose_rail() - the rail of a path that is made
 * @s: its session
 * @path: on the dialling side, in INIT, and not dialled yet
 *
 * The paths of a lane take turns, and so do its streams.
 */
void dms_session_choose_rail(struct dms_session *s, struct dms_path *path)
{
	u32 index = path->index;

	if (path->lane == DMS_LANE_LATENCY)
		index -= s->nr_paths - s->nr_latency;
	path->home = dms_rails_home(&s->rails, index);
	WRITE_ONCE(path->rail, path->home);
}

/*
 * What its rail was worth.  Where packets are lost without a word another one comes first;
 * a queue pair that broke may be made again where it was.  session->lock held.
 */
static void path_leaves_rail(struct dms_session *s, struct dms_path *path)
{
	bool soon = time_before(jiffies, path->back_at + DMS_HOME_SOON);

	if (path->was_tcp || path->last_detail == DMS_PATH_DETAIL_BETTER)
		return;
	if (path->rail == path->home)
		path->home_fails = soon ? min(path->home_fails + 1, (int)DMS_HOME_SHIFT_MAX) : 0;
	if (path->last_detail == IB_WC_RETRY_EXC_ERR || path->last_detail == IB_WC_RESP_TIMEOUT_ERR)
		WRITE_ONCE(path->rail, dms_rails_next(&s->rails, path->rail));
}

/**
 * dms_session_railed() - a path of the dialling side has got a queue pair
 * @s: session
 * @path: of it, UP
 *
 * Context: process, session->lock held.
 */
void dms_session_railed(struct dms_session *s, struct dms_path *path)
{
	lockdep_assert_held(&s->lock);
	if (path->rail != path->home) {
		dms_stat_inc(DMS_STAT_RAILS_LEFT);
		look_home(path);
	} else if (path->was_away) {
		dms_stat_inc(DMS_STAT_RAILS_BACK);
	}
	path->was_away = path->rail != path->home;
}

enum redial { REDIAL_NOT, REDIAL_RDMA, REDIAL_TCP, REDIAL_PROBE };

/* session->lock held */
static enum redial redial_what(struct dms_session *s, struct dms_path *path)
{
	bool tcp = next_is_tcp(path), away;

	if (!dms_session_alive(s))
		return REDIAL_NOT;
	away = path_is_away(path);
	if (away || path_is_on_tcp(path)) {
		/* one at a time of a session: it sleeps */
		if (s->probing) {
			if (away)
				look_home(path);
			else
				redial_after(path, path->fails + path->probes + 1);
			return REDIAL_NOT;
		}
		s->probing = true;
		return REDIAL_PROBE;
	}
	if (path->off_epoch != path->epoch || path_has_carrier(path))
		return REDIAL_NOT;
	path_take(path, path->epoch + 1);
	path->found = false;
	if (!tcp)
		return REDIAL_RDMA;
	WRITE_ONCE(s->tcp_last[path->index], path->epoch);
	return REDIAL_TCP;
}

/**
 * dms_session_redial_work() - make the next carrier of a path, or look for a better one
 * @work: path->redial_work
 */
void dms_session_redial_work(struct work_struct *work)
{
	struct dms_path *path = container_of(to_delayed_work(work), struct dms_path, redial_work);
	struct dms_session *s = path->session;
	enum redial what;

	mutex_lock(&s->lock);
	what = redial_what(s, path);
	mutex_unlock(&s->lock);
	if (what == REDIAL_RDMA)
		redial_rdma(path);
	else if (what == REDIAL_TCP)
		redial_tcp(path);
	else if (what == REDIAL_PROBE)
		redial_probe(path);
	dms_path_put(path);		/* of redial_after() */
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

/* session->lock held */
static bool path_outlives(const struct dms_session *s, const struct dms_path *path)
{
	bool ready = test_bit(DMS_SF_READY, &s->flags);

	switch (path->err_class) {
	case DMASTREAM_ERR_PATH:
		return s->tcp || (ready && !dms_path_hopeless(path));
	case DMASTREAM_ERR_REFUSED:
		return ready && (s->tcp || !dms_path_hopeless(path));
	case DMASTREAM_ERR_DEVICE:
		return s->tcp;
	default:
		return false;
	}
}

/**
 * dms_session_kill_late() - is there nothing left of a path that could fail?
 * @s: session
 * @path: of it, with err_class set
 *
 * Who reports a failure may be late: the path rests already, and the peer has heard OFF.  It
 * would not understand DOWN of an epoch that is over for both.
 *
 * Context: kill_work, no lock held.
 * Return: true: the kill is forgotten, and another one counts again.
 */
bool dms_session_kill_late(struct dms_session *s, struct dms_path *path)
{
	bool late;

	/* as in dms_session_path_off(): the session's own end is seen, or kills it after this */
	mutex_lock(&s->lock);
	late = dms_session_alive(s) && s->resumes && !path_has_carrier(path);
	if (late)
		xchg(&path->err_class, 0);
	mutex_unlock(&s->lock);
	return late;
}

/**
 * dms_session_end_later() - must a path's streams wait for the session's end to be told?
 * @s: session
 * @path: of it, FENCED, and there will be no other carrier
 *
 * Who is told has his buffers back.  Pages of them that TCP has, and sends again, would be
 * taken for what they were: the connection has to be reset first.
 *
 * Context: kill_work, no lock held.
 * Return: true: the session is killed, and has kill_work run again when that is done.
 */
bool dms_session_end_later(struct dms_session *s, struct dms_path *path)
{
	bool later;

	mutex_lock(&s->lock);
	later = path->ops->tcp && dms_tcp_lent(s) && !test_bit(DMS_SF_CLOSED, &s->flags);
	path->end_later = later;
	mutex_unlock(&s->lock);
	if (later)
		dms_session_kill(s, path->err_class, path->err_detail);
	return later;
}

/**
 * dms_session_path_dying() - a path's carrier has failed
 * @s: session
 * @path: of it, DYING
 *
 * The one place that says what the loss of a carrier does to its session.  It ends with it
 * when what failed is no matter of one carrier (the peer breaks the rules); and, when its
 * own connection cannot take over, while it is on its way up, and when the device has gone.
 *
 * Context: kill_work, no lock held.
 * Return: true when the path is to wait for another carrier, once it is fenced.
 */
bool dms_session_path_dying(struct dms_session *s, struct dms_path *path)
{
	bool again;

	mutex_lock(&s->lock);
	again = dms_session_alive(s) && s->resumes && path_outlives(s, path);
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
		if (s->role == DMS_ROLE_DIALLER)
			path_leaves_rail(s, path);
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

/*
 * The accepting side: a carrier over this connection, from here on.  It has none, and is
 * fenced, since the peer waited for our OFF.
 */
static enum dms_rule session_hears_tcp(struct dms_session *s, struct dms_path *path,
				       const struct dms_path_msg *msg)
{
	lockdep_assert_held(&s->lock);
	if (!s->tcp || s->role == DMS_ROLE_DIALLER)
		return DMS_RULE_STATE;
	if (msg->epoch != path->epoch + 1 || path_has_carrier(path))
		return DMS_RULE_EPOCH;
	path_take(path, msg->epoch);
	WRITE_ONCE(s->tcp_last[path->index], msg->epoch);
	return DMS_RULE_NONE;
}

/*
 * The first dial failed before anything of it came here: a path without a carrier, which
 * answers OFF.
 */
static void session_absent(struct dms_session *s, const struct dms_path_msg *msg)
{
	struct dms_path *path;

	if (!s->tcp || s->role == DMS_ROLE_DIALLER || msg->word == DMS_PATH_TCP ||
	    msg->epoch != s->epoch)
		return;
	path = dms_path_create(s, &dms_rdma_ops, dms_session_lane(s, msg->index), msg->index);
	if (IS_ERR(path)) {
		/* -EBUSY: its request has just come */
		if (PTR_ERR(path) == -ENOMEM)
			dms_session_kill(s, DMASTREAM_ERR_SESSION, ENOMEM);
		return;
	}
	spin_lock(&path->lock);
	path->taken = false;
	spin_unlock(&path->lock);
	dms_path_put(path);		/* of dms_path_create() */
}

/* session->lock held; a path that begins over TCP is in @tcp then, with a reference. */
static enum dms_rule session_word(struct dms_session *s, const struct dms_path_msg *msg,
				  struct dms_path **tcp)
{
	struct dms_path *path = s->path[msg->index];
	enum dms_rule rule;

	if (!dms_session_alive(s))
		return DMS_RULE_NONE;
	if (!path)
		return msg->word == DMS_PATH_TCP ? DMS_RULE_STATE : DMS_RULE_NONE;
	if (msg->word != DMS_PATH_TCP)
		return session_hears(s, path, msg);
	rule = session_hears_tcp(s, path, msg);
	if (!rule) {
		dms_path_get(path);
		*tcp = path;
	}
	return rule;
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
	struct dms_path *tcp = NULL;
	enum dms_rule rule;

	if (!s->resumes || msg->index >= s->nr_paths)
		return DMS_RULE_STATE;
	if (!READ_ONCE(s->path[msg->index]))
		session_absent(s, msg);
	mutex_lock(&s->lock);
	rule = session_word(s, msg, &tcp);
	mutex_unlock(&s->lock);
	if (!tcp)
		return rule;
	/* here, so that what follows on the connection finds it */
	if (!dms_tcp_attach(tcp)) {
		dms_tcp_tell(tcp);
		tell_tcp(tcp);
	}
	dms_path_put(tcp);		/* of session_word() */
	return rule;
}

/**
 * dms_session_path_dead() - how long may nothing complete on a path?
 * @s: session
 * @path: of it
 *
 * With another way at hand not long.  Without one a queue pair that hangs is no better than
 * none, but a peer that is lost is to be told apart from it: that is decided first.
 *
 * Return: jiffies; 0: for ever.
 */
unsigned long dms_session_path_dead(const struct dms_session *s, const struct dms_path *path)
{
	u32 lost = READ_ONCE(dms_param_peer_lost_ms), dead = READ_ONCE(dms_param_path_dead_ms);

	if (!s->tcp || path->ops->tcp)
		return 2 * msecs_to_jiffies(lost);
	/* what was lost on the way is to be sent again before */
	if (!dead)
		dead = max((lost ?: DMS_PATH_PATIENCE_MS) / 5, 2 * dms_cm_ack_ms());
	return msecs_to_jiffies(dead) + 1;
}

/**
 * dms_session_tick_down() - paths that have been without a carrier for too long
 * @s: UP; session->lock is held
 *
 * Return: true when the session was killed for it.
 */
bool dms_session_tick_down(struct dms_session *s)
{
	unsigned long dead = msecs_to_jiffies(READ_ONCE(dms_param_path_lost_ms));
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
				    s->num, &s->remote, dms_param_path_lost_ms, path->last_class,
				    path->last_detail);
		dms_session_kill(s, DMASTREAM_ERR_PATH, path->last_detail);
		return true;
	}
	return false;
}
