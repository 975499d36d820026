// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: creation, the streams and paths of one, and its end.
 *
 * Lifetime.  A session is on its node's list from the moment that anybody can
 * find it until its end is complete, and the list has a reference.  sock_work
 * and tick_work have none of their own: kill_work, which is the only way off
 * the list, cancels both before it gives the list's reference back, and after
 * DYING nobody queues them again:
 *
 *   sock_work is queued by the socket's callbacks (detached by kill_work), by
 *   tick_work (cancelled before), and by those who hold session->lock and have
 *   seen that the session is alive;
 *   tick_work by itself and by those who hold session->lock, likewise.
 *
 * kill_work takes a reference each time it is queued: the first time by
 * dms_session_kill(), then by the last path that is gone.  It never waits for
 * the paths, whose kill_works need workers of the same queue.
 *
 * session->node is valid until DEAD.  Streams may hold the memory for longer;
 * nothing that they call looks at the node of a dead session.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "session.h"

#include <crypto/algapi.h>
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <linux/dmastream.h>

#include "addr.h"
#include "events.h"
#include "fault.h"
#include "node.h"
#include "path.h"
#include "session_impl.h"
#include "session_sock.h"
#include "stats.h"
#include "stream.h"
#include "wq.h"

/* How often streams that wait follow a session that ended to a new one. */
#define DMS_REDIALS		4
/* After CROSSED, the session that won is looked for so often. */
#define DMS_CROSSED_RETRY	msecs_to_jiffies(50)

static atomic_t session_nums = ATOMIC_INIT(0);

static void session_tick_work(struct work_struct *work);
static void session_kill_work(struct work_struct *work);

static struct dms_session *session_alloc(struct dms_node *node, enum dms_session_role role)
{
	struct dms_session *s = dms_fault_alloc(SESSION) ? NULL : kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	kref_init(&s->ref);		/* the node's list; put in session_finish() */
	s->node = node;
	INIT_LIST_HEAD(&s->node_link);
	s->role = role;
	s->state = role == DMS_ROLE_DIALLER ? DMS_SESSION_DIALLING : DMS_SESSION_GREETING;
	mutex_init(&s->lock);
	INIT_LIST_HEAD(&s->waiting);
	xa_init_flags(&s->streams, XA_FLAGS_ALLOC1);
	INIT_DELAYED_WORK(&s->tick_work, session_tick_work);
	INIT_WORK(&s->kill_work, session_kill_work);
	init_completion(&s->dead);
	s->last_heard = jiffies;
	s->idle_since = jiffies;
	s->deadline = jiffies + msecs_to_jiffies(dms_param_handshake_ms);
	if (dms_sock_init(s)) {
		kfree(s);
		return NULL;
	}
	dms_gauge_inc(DMS_GAUGE_SESSIONS);
	return s;
}

static void session_release(struct kref *ref)
{
	struct dms_session *s = container_of(ref, struct dms_session, ref);

	dms_sock_free(s);
	xa_destroy(&s->streams);
	dms_gauge_dec(DMS_GAUGE_SESSIONS);
	/* dms_session_unbind() looks at the count under RCU */
	kfree_rcu(s, rcu);
}

void dms_session_get(struct dms_session *s)
{
	kref_get(&s->ref);
}

/**
 * dms_session_put() - drop a reference
 * @s: may be gone afterwards
 *
 * Context: any but hard interrupt.
 */
void dms_session_put(struct dms_session *s)
{
	kref_put(&s->ref, session_release);
}

/**
 * dms_session_move() - change the state
 * @s: session->lock is held
 * @from: only from this state
 * @to: a legal change
 *
 * Return: true when this call made the change.
 */
bool dms_session_move(struct dms_session *s, enum dms_session_state from,
		      enum dms_session_state to)
{
	lockdep_assert_held(&s->lock);
	if (s->state != from || WARN_ON_ONCE(!dms_session_legal(from, to)))
		return false;
	WRITE_ONCE(s->state, to);
	dms_event_session_moved(s, from, to);
	return true;
}

/*
 * ---- Finding and making ----
 */

static bool peer_is(const struct sockaddr_storage *a, const struct sockaddr_storage *peer)
{
	return dms_addr_port(a) == dms_addr_port(peer) && dms_addr_same_host(a, peer);
}

/*
 * May a stream of ours towards @peer use the session?  The accepting half of a
 * session with ourselves never: its streams are the other half's.
 */
bool dms_session_leads_to(struct dms_session *s, const struct sockaddr_storage *peer)
{
	u32 i;

	lockdep_assert_held(&s->node->lock);
	if (s->role == DMS_ROLE_ACCEPTOR) {
		if (READ_ONCE(s->state) != DMS_SESSION_UP || !s->theirs.listen_port ||
		    !memcmp(s->theirs.nonce, s->node->nonce, DMS_WIRE_NONCE))
			return false;
	}
	if (peer_is(&s->remote, peer))
		return true;
	for (i = 0; i < min_t(u32, s->nr_aliases, DMS_SESSION_ALIASES); i++)
		if (peer_is(&s->alias[i], peer))
			return true;
	return false;
}

/* A reference, and it does not end for idleness before the caller had its turn. */
static bool session_hold(struct dms_session *s, enum dms_session_state state)
{
	bool ok;

	mutex_lock(&s->lock);
	ok = dms_session_alive(s) && s->state == state;
	if (ok) {
		s->idle_since = jiffies;
		dms_session_get(s);
	}
	mutex_unlock(&s->lock);
	return ok;
}

static struct dms_session *session_find(struct dms_node *node,
					const struct sockaddr_storage *peer,
					enum dms_session_state state)
{
	struct dms_session *s;

	lockdep_assert_held(&node->lock);
	list_for_each_entry(s, &node->sessions, node_link)
		if (dms_session_leads_to(s, peer) && session_hold(s, state))
			return s;
	return NULL;
}

/* From here on it can be found, and killed. */
static void session_publish(struct dms_session *s)
{
	lockdep_assert_held(&s->node->lock);
	/* in the order of the list: an operator's dump resumes after a number */
	s->num = atomic_inc_return(&session_nums);
	list_add_tail(&s->node_link, &s->node->sessions);
	s->node->nr_sessions++;
	queue_work(dms_wq, &s->sock_work);
	queue_delayed_work(dms_wq, &s->tick_work, 1);
}

/**
 * dms_session_find_or_dial() - the session for streams towards a peer
 * @node: of the caller's namespace
 * @peer: AF_INET or AF_INET6, port set
 *
 * One that is up is preferred to one that is being dialled: a dial may be about
 * to end in favour of the other, see hello.c.  A failure to reach the peer is
 * heard by the streams that wait, not here.
 *
 * Context: process, may sleep, does not wait for the network.
 * Return: the session, with a reference; -EAFNOSUPPORT, -ENOMEM, -ESHUTDOWN.
 */
struct dms_session *dms_session_find_or_dial(struct dms_node *node,
					     const struct sockaddr_storage *peer)
{
	struct sockaddr_storage to = *peer;
	struct dms_session *s;

	if (to.ss_family != AF_INET && to.ss_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	dms_addr_normalise(&to);

	mutex_lock(&node->lock);
	s = ERR_PTR(-ESHUTDOWN);
	if (node->going)
		goto out;
	s = session_find(node, &to, DMS_SESSION_UP);
	if (!s)
		s = session_find(node, &to, DMS_SESSION_DIALLING);
	if (s)
		goto out;
	s = session_alloc(node, DMS_ROLE_DIALLER);
	if (!s) {
		s = ERR_PTR(-ENOMEM);
		goto out;
	}
	s->remote = to;
	dms_session_get(s);		/* the caller's */
	set_bit(DMS_SF_DIAL, &s->flags);
	session_publish(s);
out:
	mutex_unlock(&node->lock);
	return s;
}

/*
 * An embryo is a session that a peer opened and that does not have its paths
 * yet.  Strangers can make them for nothing, so there is a bound: beyond it an
 * old one goes for each new one.  A real peer is an embryo for some round trips
 * only, so that it is among the youngest.  Those that have said nothing and
 * those that have said HELLO each keep half of the room from the other: a flood
 * of one kind only puts out its own.
 */
static void session_evict_embryo(struct dms_node *node)
{
	struct dms_session *s, *silent = NULL, *greeted = NULL, *victim;
	u32 nr_silent = 0;

	lockdep_assert_held(&node->lock);
	list_for_each_entry(s, &node->sessions, node_link) {
		if (!s->embryo)
			continue;
		if (READ_ONCE(s->state) == DMS_SESSION_GREETING) {
			silent = silent ?: s;
			nr_silent++;
		} else {
			greeted = greeted ?: s;
		}
	}
	victim = silent && (!greeted || nr_silent > node->nr_embryos / 2) ? silent : greeted;
	if (WARN_ON_ONCE(!victim))
		return;
	victim->embryo = false;
	node->nr_embryos--;
	dms_stat_refused(DMASTREAM_REFUSED_LIMIT);
	dms_session_kill(victim, DMASTREAM_ERR_REFUSED, DMASTREAM_REFUSED_LIMIT);
}

/**
 * dms_session_accept() - a peer has connected
 * @node: that listens
 * @sock: accepted; nobody else uses it, and it is this function's from now on
 *
 * Context: process, no lock held.
 */
void dms_session_accept(struct dms_node *node, struct socket *sock)
{
	u32 reason = DMASTREAM_REFUSED_MEMORY;
	struct dms_session *s;

	s = session_alloc(node, DMS_ROLE_ACCEPTOR);
	if (!s)
		goto refuse;
	if (kernel_getpeername(sock, (struct sockaddr *)&s->remote) < 0 ||
	    kernel_getsockname(sock, (struct sockaddr *)&s->local) < 0) {
		reason = DMASTREAM_REFUSED_CLOSED;	/* it has gone already */
		goto refuse;
	}
	dms_addr_normalise(&s->remote);
	dms_addr_normalise(&s->local);
	reason = DMASTREAM_REFUSED_PREFIX;
	if (!dms_addr_allowed(&s->remote)) {
		pr_notice_ratelimited("%pISpc was refused: its address is in none of the prefixes that parameter 'allow' has\n",
				      &s->remote);
		goto refuse;
	}

	mutex_lock(&node->lock);
	reason = DMASTREAM_REFUSED_LIMIT;
	if (node->going || node->nr_sessions >= dms_param_max_sessions) {
		mutex_unlock(&node->lock);
		goto refuse;
	}
	if (node->nr_embryos >= max(dms_param_max_embryos, 1U))
		session_evict_embryo(node);
	s->embryo = true;
	node->nr_embryos++;
	set_bit(DMS_SF_CONNECTED, &s->flags);
	dms_sock_adopt(s, sock);
	session_publish(s);
	mutex_unlock(&node->lock);
	return;

refuse:
	dms_sock_turn_away(sock, reason, node->nonce);
	if (s)
		dms_session_put(s);
}

/**
 * dms_session_by_cookie() - the session that a connection request belongs to
 * @node: that was asked
 * @cm: what the request showed
 *
 * Only the accepting side is asked, and only what it has told its peer over TCP
 * attaches a queue pair.
 *
 * Context: process, may sleep.
 * Return: the session, with a reference, or NULL.
 */
struct dms_session *dms_session_by_cookie(struct dms_node *node, const struct dms_cm *cm)
{
	struct dms_session *s, *found = NULL;

	mutex_lock(&node->lock);
	list_for_each_entry(s, &node->sessions, node_link) {
		if (s->role != DMS_ROLE_ACCEPTOR)
			continue;
		mutex_lock(&s->lock);
		if (dms_session_alive(s) && s->state == DMS_SESSION_UP &&
		    !crypto_memneq(s->theirs.session, cm->session, DMS_WIRE_NONCE) &&
		    !crypto_memneq(s->mine.cookie, cm->cookie, DMS_WIRE_NONCE) &&
		    cm->index < s->nr_paths && (s->resumes || !s->path[cm->index])) {
			dms_session_get(s);
			found = s;
		}
		mutex_unlock(&s->lock);
		if (found)
			break;
	}
	mutex_unlock(&node->lock);
	return found;
}

/*
 * ---- Paths ----
 */

/**
 * dms_session_attach() - a new path of the session
 * @s: session
 * @path: its index says which one
 *
 * Context: process, no lock held.
 * Return: 0, with a reference taken on the path; -ENOTCONN: not UP; -EINVAL: no
 * such index, or not in that lane; -EBUSY: there is one.
 */
int dms_session_attach(struct dms_session *s, struct dms_path *path)
{
	int err = 0;

	mutex_lock(&s->lock);
	if (!dms_session_alive(s) || s->state != DMS_SESSION_UP) {
		err = -ENOTCONN;
	} else if (path->index >= s->nr_paths ||
		   path->lane != dms_session_lane(s, path->index)) {
		err = -EINVAL;
	} else if (s->path[path->index]) {
		err = -EBUSY;
	} else {
		dms_path_get(path);	/* put in dms_session_path_gone() */
		s->path[path->index] = path;
	}
	mutex_unlock(&s->lock);
	return err;
}

/**
 * dms_session_path_up() - a path carries data
 * @s: session
 * @path: of it
 *
 * Streams wait until all paths are there, so that they spread evenly.
 *
 * Context: process, no lock held.
 */
void dms_session_path_up(struct dms_session *s, struct dms_path *path)
{
	bool ready;

	mutex_lock(&s->lock);
	/* one that is killed by now was, or will be, taken out by dms_session_path_dying() */
	if (s->path[path->index] == path && dms_path_is_up(path) &&
	    !(s->up_mask & BIT(path->index))) {
		s->up_mask |= BIT(path->index);
		s->nr_up++;
		if (!path->ops->tcp)
			path->probes = 0;
		if (!path->ops->tcp && s->role == DMS_ROLE_DIALLER)
			dms_session_railed(s, path);
		if (s->nr_up == s->nr_paths)
			set_bit(DMS_SF_READY, &s->flags);
	}
	ready = dms_session_alive(s) && dms_session_ready(s);
	if (ready)
		s->idle_since = jiffies;
	mutex_unlock(&s->lock);
	if (!ready)
		return;
	/* The session is not DEAD as long as it has this path, so the node is there. */
	mutex_lock(&s->node->lock);
	if (s->embryo) {
		s->embryo = false;
		s->node->nr_embryos--;
	}
	mutex_unlock(&s->node->lock);
	dms_session_serve_waiting(s);
}

static void session_queue_kill(struct dms_session *s)
{
	dms_session_get(s);		/* put in session_kill_work() */
	if (!queue_work(dms_wq, &s->kill_work))
		dms_session_put(s);
}

/**
 * dms_session_path_gone() - a path is at its end, and its streams were told
 * @s: session
 * @path: of it; the session's reference is put
 *
 * Context: process, no lock held.
 */
void dms_session_path_gone(struct dms_session *s, struct dms_path *path)
{
	bool dying, had;

	mutex_lock(&s->lock);
	had = s->path[path->index] == path;
	if (had) {
		s->path[path->index] = NULL;
		if (s->up_mask & BIT(path->index)) {
			s->up_mask &= ~BIT(path->index);
			s->nr_up--;
		}
	}
	dying = s->state == DMS_SESSION_DYING;
	mutex_unlock(&s->lock);
	if (!had)
		return;
	if (dying)
		session_queue_kill(s);
	else
		dms_session_kill(s, path->err_class ?: DMASTREAM_ERR_PATH, path->err_detail);
	dms_path_put(path);
}

/*
 * ---- The clock ----
 */

/* Looks soon whether the session may end; session->lock held. */
void dms_session_poke(struct dms_session *s)
{
	lockdep_assert_held(&s->lock);
	if (dms_session_alive(s))
		mod_delayed_work(dms_wq, &s->tick_work, 0);
}

static unsigned long ms_left(unsigned long from, unsigned long ms)
{
	unsigned long end = from + msecs_to_jiffies(ms);

	return time_after(end, jiffies) ? end - jiffies : 0;
}

/*
 * A peer is lost when it did not answer a PING, so that a host that was itself
 * asleep does not take its own silence for the peer's: then the PING goes out
 * late, and the answer has its time.
 */
static bool session_tick_life(struct dms_session *s, unsigned long *next)
{
	unsigned long lost = READ_ONCE(dms_param_peer_lost_ms);
	unsigned long keep = max(READ_ONCE(dms_param_keepalive_ms), 10U);
	unsigned long heard = READ_ONCE(s->last_heard);
	unsigned long left = ms_left(heard, keep);

	if (lost) {
		lost = max(lost, 20UL);
		keep = min(keep, lost / 2);
		left = ms_left(heard, keep);
	}
	if (left) {
		*next = min(*next, left);
		return false;
	}
	if (!s->silent || time_after_eq(heard, s->silent_since)) {
		s->silent = true;
		s->silent_since = jiffies;
		s->last_ping = jiffies - msecs_to_jiffies(keep);
	} else if (lost && !ms_left(s->silent_since, lost - keep)) {
		return true;
	}
	if (!ms_left(s->last_ping, keep)) {
		s->last_ping = jiffies;
		set_bit(DMS_SF_PING, &s->flags);
		queue_work(dms_wq, &s->sock_work);
	}
	*next = min(*next, ms_left(s->last_ping, keep));
	if (lost)
		*next = min(*next, ms_left(s->silent_since, lost - keep));
	return false;
}

/*
 * The accepting side waits a little longer, so that the two do not say goodbye
 * at once while a CONNECT is on its way.
 */
static bool session_tick_idle(struct dms_session *s, unsigned long *next)
{
	unsigned long idle = READ_ONCE(dms_param_session_idle_ms);
	unsigned long left;

	if (atomic_read(&s->nr_streams))
		return false;
	if (!READ_ONCE(s->node->nr_ctx))
		return true;
	/* no stream could have come yet; the handshake has its own limit */
	if (!dms_session_ready(s))
		return false;
	if (s->role == DMS_ROLE_ACCEPTOR)
		idle += idle / 4;
	left = ms_left(s->idle_since, idle);
	*next = min(*next, left);
	return !left;
}

static void session_tick_dial(struct dms_session *s, unsigned long *next)
{
	if (!test_bit(DMS_SF_CROSSED, &s->flags))
		return;
	set_bit(DMS_SF_RETRY, &s->flags);
	queue_work(dms_wq, &s->sock_work);
	*next = min(*next, DMS_CROSSED_RETRY);
}

/*
 * A path whose queue pair hangs while the peer lives fails, see dms_session_path_dead().
 * And what the paths have in stock goes, little by little.
 */
static void session_tick_paths(struct dms_session *s, unsigned long *next)
{
	unsigned long lost = msecs_to_jiffies(READ_ONCE(dms_param_peer_lost_ms)), dead;
	u32 i;

	lockdep_assert_held(&s->lock);
	for (i = 0; i < DMS_SESSION_PATHS_MAX; i++) {
		if (!s->path[i])
			continue;
		dms_path_trim_pulls(s->path[i]);
		dead = dms_session_path_dead(s, s->path[i]);
		if (dead && dms_path_stuck(s->path[i], dead, next))
			dms_path_kill(s->path[i], DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
		/* a module that is well says RESUME at once, whatever its processes do */
		if (lost && dms_path_resume_late(s->path[i], 2 * lost))
			dms_session_kill(s, DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
		if (lost && dms_path_skip_late(s->path[i], 2 * lost))
			dms_path_kill(s->path[i], DMASTREAM_ERR_PATH, IB_WC_RESP_TIMEOUT_ERR);
	}
}

static void session_tick_work(struct work_struct *work)
{
	struct dms_session *s = container_of(to_delayed_work(work), struct dms_session, tick_work);
	unsigned long next = msecs_to_jiffies(1000);
	unsigned long left;

	mutex_lock(&s->lock);
	if (!dms_session_alive(s))
		goto out;
	if (!dms_session_ready(s)) {
		left = time_after(s->deadline, jiffies) ? s->deadline - jiffies : 0;
		if (!left) {
			dms_session_kill(s, DMASTREAM_ERR_SESSION, ETIMEDOUT);
			goto out;
		}
		next = min(next, left);
	}
	if (s->state == DMS_SESSION_UP) {
		if (session_tick_life(s, &next)) {
			dms_stat_inc(DMS_STAT_KEEPALIVE_LOSSES);
			dms_event_peer_lost(s);
			dms_session_kill(s, DMASTREAM_ERR_SESSION, ETIMEDOUT);
			goto out;
		}
		session_tick_paths(s, &next);
		if (dms_session_tick_down(s))
			goto out;
		if (session_tick_idle(s, &next)) {
			/* under the lock: a bind comes before, or sees KILLED */
			set_bit(DMS_SF_BYE, &s->flags);
			dms_session_kill(s, DMASTREAM_ERR_SESSION, ESHUTDOWN);
			goto out;
		}
	} else if (s->state == DMS_SESSION_DIALLING) {
		session_tick_dial(s, &next);
	}
	queue_delayed_work(dms_wq, &s->tick_work, max(next, 1UL));
out:
	mutex_unlock(&s->lock);
}

/**
 * dms_session_poke_all() - the last context of a namespace is closed
 * @node: of the namespace
 *
 * Context: process, no lock held.
 */
void dms_session_poke_all(struct dms_node *node)
{
	struct dms_session *s;

	mutex_lock(&node->lock);
	list_for_each_entry(s, &node->sessions, node_link) {
		mutex_lock(&s->lock);
		dms_session_poke(s);
		mutex_unlock(&s->lock);
	}
	mutex_unlock(&node->lock);
}

/*
 * ---- The end ----
 */

/**
 * dms_session_kill() - end a session
 * @s: in any state; only the first call counts
 * @err_class: enum dmastream_err_class, told to its streams, not NONE
 * @err_detail: depends on the class
 *
 * Context: any but hard interrupt; session->lock may be held.
 */
void dms_session_kill(struct dms_session *s, u32 err_class, u32 err_detail)
{
	if (test_and_set_bit(DMS_SF_KILLED, &s->flags))
		return;
	/* queue_work() orders these before the work that reads them */
	s->kill_class = err_class;
	s->kill_detail = err_detail;
	session_queue_kill(s);
}

static void session_tell(const struct dms_session *s, enum dms_session_state was)
{
	u32 detail = s->err_detail;

	if (s->err_class == DMASTREAM_ERR_SESSION && detail == ESHUTDOWN)
		return;			/* orderly */
	if (was == DMS_SESSION_GREETING || s->err_class == DMASTREAM_ERR_PROTOCOL ||
	    s->err_class == DMASTREAM_ERR_REFUSED)
		return;			/* told where it was found, with the reason */
	if (was == DMS_SESSION_UP && !atomic_read(&s->nr_streams))
		return;			/* nobody used it */
	if (s->err_class == DMASTREAM_ERR_SESSION && detail == ETIMEDOUT)
		pr_warn_ratelimited("session %u: peer %pISpc gave no answer in time, it is given up%s\n",
				    s->num, &s->remote, was == DMS_SESSION_UP ?
				    "; is its host alive, its network up?" :
				    "; is the address right, the port open?");
	else if (s->err_class == DMASTREAM_ERR_SESSION)
		pr_notice_ratelimited("session %u: connection with %pISpc ended with error %u%s\n",
				      s->num, &s->remote, detail, was == DMS_SESSION_UP ? "" :
				      "; does a process listen there with this module?");
	else
		pr_notice_ratelimited("session %u: with %pISpc ended (class %u, detail %u)\n",
				      s->num, &s->remote, s->err_class, detail);
}

/*
 * The peer said BYE while streams waited for the first path: it had no streams,
 * or gave way to another session.  Nothing was sent for ours, so they go on to
 * the other session, or a new one; not for ever, should the peer do nothing
 * else.
 */
static void session_rehome(struct dms_session *s)
{
	struct dms_session *next;
	bool orderly = s->err_class == DMASTREAM_ERR_SESSION && s->err_detail == ESHUTDOWN;

	if (!orderly || list_empty_careful(&s->waiting) || s->redials >= DMS_REDIALS)
		return;
	next = dms_session_find_or_dial(s->node, &s->remote);
	if (IS_ERR(next))
		return;
	next->redials = max(next->redials, s->redials + 1);
	dms_session_merge(s, next);
	dms_session_put(next);
}

static void session_begin_end(struct dms_session *s)
{
	struct dms_path *paths[DMS_SESSION_PATHS_MAX];
	enum dms_session_state was;
	struct dms_stream *stream;
	u32 nr = 0, i;

	mutex_lock(&s->lock);
	was = s->state;
	dms_session_move(s, was, DMS_SESSION_DYING);
	s->err_class = s->kill_class;
	s->err_detail = s->kill_detail;
	for (i = 0; i < DMS_SESSION_PATHS_MAX; i++) {
		if (!s->path[i])
			continue;
		dms_path_get(s->path[i]);	/* put below */
		paths[nr++] = s->path[i];
	}
	mutex_unlock(&s->lock);

	cancel_delayed_work_sync(&s->tick_work);
	session_tell(s, was);
	dms_sock_close(s);
	mutex_lock(&s->lock);
	set_bit(DMS_SF_CLOSED, &s->flags);
	mutex_unlock(&s->lock);
	for (i = 0; i < nr; i++) {
		dms_path_kill(paths[i], s->err_class, s->err_detail);
		dms_path_end_now(paths[i]);
		dms_path_put(paths[i]);
	}
	session_rehome(s);
	do {
		mutex_lock(&s->lock);
		stream = dms_session_pop(s);
		mutex_unlock(&s->lock);
		if (stream) {
			dms_stream_session_lost(stream, s->err_class, s->err_detail);
			dms_stream_put(stream);
		}
	} while (stream);
}

static void session_finish(struct dms_session *s)
{
	struct dms_node *node = s->node;

	if (test_bit(DMS_SF_WAS_UP, &s->flags))
		dms_stat_inc(DMS_STAT_SESSIONS_CLOSED);
	mutex_lock(&node->lock);
	list_del_init(&s->node_link);
	node->nr_sessions--;
	if (s->embryo) {
		s->embryo = false;
		node->nr_embryos--;
	}
	if (s->resumable)
		dms_node_resumable(node, false);
	mutex_unlock(&node->lock);
	/* The node may be freed from here on. */
	complete_all(&s->dead);
	dms_session_put(s);		/* the list's */
}

static void session_kill_work(struct work_struct *work)
{
	struct dms_session *s = container_of(work, struct dms_session, kill_work);
	bool gone = false;
	u32 i;

	if (!test_and_set_bit(DMS_SF_ENDING, &s->flags))
		session_begin_end(s);

	mutex_lock(&s->lock);
	for (i = 0; i < DMS_SESSION_PATHS_MAX; i++)
		if (s->path[i])
			break;
	if (i == DMS_SESSION_PATHS_MAX)
		gone = dms_session_move(s, DMS_SESSION_DYING, DMS_SESSION_DEAD);
	mutex_unlock(&s->lock);
	if (gone)
		session_finish(s);
	dms_session_put(s);		/* of session_queue_kill() */
}

/**
 * dms_session_end_all() - end every session of a node, and wait for it
 * @node: going, so that there will be no new ones
 * @limit: jiffies to wait; MAX_SCHEDULE_TIMEOUT: until they have ended
 *
 * Context: process, may sleep, no lock held; not from dms_wq.
 * Return: what is left of @limit; 0: some have not ended.
 */
unsigned long dms_session_end_all(struct dms_node *node, unsigned long limit)
{
	struct dms_session *s;

	mutex_lock(&node->lock);
	WARN_ON_ONCE(!node->going);
	list_for_each_entry(s, &node->sessions, node_link) {
		set_bit(DMS_SF_BYE, &s->flags);
		dms_session_kill(s, DMASTREAM_ERR_SESSION, ESHUTDOWN);
	}
	while (limit && (s = list_first_entry_or_null(&node->sessions, struct dms_session,
						      node_link))) {
		dms_session_get(s);
		mutex_unlock(&node->lock);
		limit = wait_for_completion_timeout(&s->dead, limit);
		dms_session_put(s);
		mutex_lock(&node->lock);
	}
	mutex_unlock(&node->lock);
	return limit;
}
