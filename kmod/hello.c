// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handshake of a session.
 *
 * The dialler says HELLO, the other side answers with its own or with REFUSE,
 * then the dialler attaches the queue pairs.  Streams of one node towards
 * another share one session, whoever opened it.  Three rules see to that; all of
 * them are applied under node->lock, which sees all sessions of the node:
 *
 * 1. A node that has a session that is up with the dialler (by its nonce; it
 *    may have been dialled under another address) refuses with CROSSED.  One
 *    that was accepted and whose paths are not up yet counts only when it came
 *    from the same address: a nonce is no secret, and a stranger who shows that
 *    of another node must not keep that node out.
 *
 * 2. Of two dials that cross, the one of the lower nonce survives:
 *
 *	A, the lower nonce			B, the higher nonce
 *	==================			===================
 *	dials B: session a			dials A: session b
 *	HELLO(a) -->				HELLO(b) -->
 *
 *	HELLO(b) arrives: own dial		HELLO(a) arrives: own dial
 *	towards B, own nonce is lower:		towards A, own nonce is higher:
 *	REFUSE(b, CROSSED) -->			HELLO(a) -->, a is up
 *
 *	HELLO(a) arrives: a is up		REFUSE(b) arrives: streams that
 *						wait for b go to a, b ends
 *
 *    Whichever of the two middle steps comes first, a is up and b is not.  B
 *    may read REFUSE(b) before HELLO(a): it then looks for a session with A's
 *    nonce every DMS_CROSSED_RETRY.
 *
 * 3. With other addresses A does not see that b crosses a, nor B that a crosses
 *    b, before an answer tells the nonce.  Four events count, HELLO(a) and the
 *    answer to b at B, HELLO(b) and the answer to a at A:
 *
 *    - At B HELLO(a) comes before the answer to b: B accepts a.  If the answer
 *      to a was at A before HELLO(b), b is refused by rule 1.  Else A accepted b,
 *      and the answer to b reaches B, which has a up, and the higher nonce: it
 *      says BYE on b, and its streams go to a.
 *    - The answer to b comes first: b is up at B, and a is refused by rule 1.
 *
 *    So one of them is left, and both sides agree on which.
 *
 * What if the survivor does not survive?  Only A knows that a is there, and a
 * may never connect (a firewall that lets only b through), or A may have lost
 * it already, when B still has it up.  So:
 *    - A refuses b for the sake of a only while a is young (half of
 *      handshake_ms), or connected;
 *    - B, having looked some times in vain, dials again, until handshake_ms.
 *
 * Equal nonces: a node that dials itself.  It refuses nothing of itself: the
 * dialling half is up with the accepting half, and streams use the dialling one.
 *
 * If a is slow to connect, both may come up all the same.  That costs queue pairs
 * and nothing else: new streams take the first that leads to the peer, and the
 * other ends when idle.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "hello.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>

#include <linux/dmastream.h>

#include "addr.h"
#include "cm.h"
#include "fault.h"
#include "node.h"
#include "path.h"
#include "rails.h"
#include "recv.h"
#include "session.h"
#include "session_impl.h"
#include "session_sock.h"
#include "stats.h"
#include "transport_rdma.h"
#include "wq.h"

static bool dms_param_resume = true;
module_param_named(resume, dms_param_resume, bool, 0644);
MODULE_PARM_DESC(resume, "streams of a new session go on with another queue pair when theirs fails, if the peer wants that too; else they end (default Y)");

static bool dms_param_tcp = true;
module_param_named(tcp, dms_param_tcp, bool, 0644);
MODULE_PARM_DESC(tcp, "streams of a new session go over its TCP connection while RDMA does not work, or where there is none, if the peer wants that too (default Y)");

/* READs that we serve at once, per queue pair; the device may want fewer, which its CM says. */
#define DMS_READS_DEFAULT	16
/* A packet has room for a full eager message and for the headers of many small ones. */
#define DMS_SLOT_EXTRA		4096
/* After so many looks for the session that won, the dial is tried again. */
#define DMS_CROSSED_TRIES	4

/* ---- what we say ---- */

static void hello_fill(struct dms_session *s)
{
	struct dms_hello *h = &s->mine;

	memset(h, 0, sizeof(*h));
	h->version_min = DMS_WIRE_VERSION_MIN;
	h->version_max = DMS_WIRE_VERSION_MAX;
	h->epoch = 1;
	h->features = DMS_FEATURE_DEPTH | DMS_FEATURE_PUSH | DMS_FEATURE_SKIP;
	if (READ_ONCE(dms_param_resume)) {
		h->features |= DMS_FEATURE_RESUME;
		if (READ_ONCE(dms_param_tcp))
			h->features |= DMS_FEATURE_TCP;
	}
	memcpy(h->nonce, s->node->nonce, sizeof(h->nonce));
	h->eager_max = clamp_t(u32, READ_ONCE(dms_param_eager_max), DMS_EAGER_FLOOR,
			       DMS_EAGER_CEIL);
	h->slot_bytes = min_t(u32, h->eager_max + DMS_SLOT_EXTRA, DMS_SLOT_BYTES_CEIL);
	h->slots = dms_recv_floor();
	h->reads = DMS_READS_DEFAULT;
	h->keepalive_ms = READ_ONCE(dms_param_keepalive_ms);
	if (READ_ONCE(s->node->nr_listening)) {
		h->listen_port = READ_ONCE(s->node->port);
		h->rdma_port = h->listen_port;
	}
	h->qps = clamp_t(u32, READ_ONCE(dms_param_qps), 1, DMS_LANE_PATHS_MAX);
	h->qps_latency = min_t(u32, READ_ONCE(dms_param_qps_latency), DMS_LANE_PATHS_MAX);
	dms_rails_fill(s);
	if (dms_param_node_name)
		strscpy(h->name, dms_param_node_name, sizeof(h->name));
}

/**
 * dms_hello_dialled() - the TCP connection is there, say HELLO
 * @s: DIALLING
 */
void dms_hello_dialled(struct dms_session *s)
{
	hello_fill(s);
	/* cookie stays zero: the side that accepts queue pairs makes it */
	get_random_bytes(s->mine.session, sizeof(s->mine.session));
	dms_sock_say_hello(s);
}

/* Both HELLOs are there: what holds for the session. */
static void hello_agree(struct dms_session *s)
{
	lockdep_assert_held(&s->lock);
	s->version = dms_wire_version(&s->mine, &s->theirs);
	s->epoch = s->role == DMS_ROLE_DIALLER ? s->mine.epoch : s->theirs.epoch;
	s->eager_max = min(s->mine.eager_max, s->theirs.eager_max);
	s->slot_bytes = min(s->mine.slot_bytes, s->theirs.slot_bytes);
	s->resumes = s->mine.features & s->theirs.features & DMS_FEATURE_RESUME;
	s->skips = s->mine.features & s->theirs.features & DMS_FEATURE_SKIP;
	s->tcp = s->resumes && s->mine.features & s->theirs.features & DMS_FEATURE_TCP;
	/* ours is in bounds, and so is the lower one */
	s->nr_latency = min(s->mine.qps_latency, s->theirs.qps_latency);
	s->nr_paths = min(s->mine.qps, s->theirs.qps) + s->nr_latency;
	dms_rails_agree(s);
}

static bool hello_up(struct dms_session *s, enum dms_session_state from)
{
	lockdep_assert_held(&s->lock);
	if (!dms_session_alive(s) || !dms_session_move(s, from, DMS_SESSION_UP))
		return false;
	s->idle_since = jiffies;
	set_bit(DMS_SF_WAS_UP, &s->flags);
	dms_stat_inc(DMS_STAT_SESSIONS_OPENED);
	return true;
}

/* ---- the accepting side ---- */

static bool same_nonce(const u8 *a, const u8 *b)
{
	return !memcmp(a, b, DMS_WIRE_NONCE);
}

/* Our own dial towards the node that dials us. */
static bool dial_survives(struct dms_session *dial, const struct dms_hello *theirs)
{
	unsigned long half = msecs_to_jiffies(READ_ONCE(dms_param_handshake_ms)) / 2;

	if (memcmp(dial->node->nonce, theirs->nonce, DMS_WIRE_NONCE) > 0)
		return false;
	/* refused itself, it waits for the session that is asked for here */
	if (test_bit(DMS_SF_CROSSED, &dial->flags))
		return false;
	return test_bit(DMS_SF_CONNECTED, &dial->flags) ||
	       time_before(jiffies, dial->deadline - half);
}

/* The rules above; node->lock held.  Also that no session id is used twice. */
static u32 hello_crosses(struct dms_session *s, const struct dms_hello *theirs)
{
	bool self = same_nonce(theirs->nonce, s->node->nonce);
	struct sockaddr_storage peer = s->remote;
	struct dms_session *o;
	u32 reason = 0;

	lockdep_assert_held(&s->node->lock);
	dms_addr_set_port(&peer, theirs->listen_port);
	list_for_each_entry(o, &s->node->sessions, node_link) {
		if (o == s || reason)
			continue;
		mutex_lock(&o->lock);
		if (!dms_session_alive(o))
			goto next;
		if (o->state == DMS_SESSION_UP && o->role == s->role &&
		    same_nonce(o->theirs.session, theirs->session))
			reason = DMASTREAM_REFUSED_MALFORMED;
		else if (self)
			goto next;
		else if (o->state == DMS_SESSION_UP && same_nonce(o->theirs.nonce, theirs->nonce) &&
			 (o->role == DMS_ROLE_DIALLER || dms_session_ready(o) ||
			  dms_addr_same_host(&o->remote, &peer)))
			reason = DMASTREAM_REFUSED_CROSSED;
		else if (o->state == DMS_SESSION_DIALLING && theirs->listen_port &&
			 dms_session_leads_to(o, &peer) && dial_survives(o, theirs))
			reason = DMASTREAM_REFUSED_CROSSED;
		/*
		 * Up, the same address, and another nonce: that node is gone, or
		 * somebody pretends.  A PING finds out.
		 */
		if (o->state == DMS_SESSION_UP && theirs->listen_port &&
		    dms_session_leads_to(o, &peer) &&
		    !same_nonce(o->theirs.nonce, theirs->nonce)) {
			set_bit(DMS_SF_PING, &o->flags);
			queue_work(dms_wq, &o->sock_work);
		}
next:
		mutex_unlock(&o->lock);
	}
	return reason;
}

static u32 hello_judge(struct dms_session *s, const struct dms_hello *theirs)
{
	if (!dms_wire_version(&s->mine, theirs))
		return DMASTREAM_REFUSED_VERSION;
	/* no secret is set here, so nothing could prove that we share it */
	if (theirs->auth_alg)
		return DMASTREAM_REFUSED_AUTH;
	/* the last service has gone since TCP accepted the connection */
	if (s->node->going || !s->mine.rdma_port)
		return DMASTREAM_REFUSED_CLOSED;
	return hello_crosses(s, theirs);
}

static void hello_say_refused(struct dms_session *s, u32 reason)
{
	const char *why = "it uses a session id twice";

	if (reason == DMASTREAM_REFUSED_CROSSED || reason == DMASTREAM_REFUSED_CLOSED)
		return;			/* every day */
	if (reason == DMASTREAM_REFUSED_VERSION)
		why = "no common wire version; update the older one";
	else if (reason == DMASTREAM_REFUSED_AUTH)
		why = "it wants a shared secret to be proved, and none is set here";
	else if (reason != DMASTREAM_REFUSED_MALFORMED)
		return;			/* put out for another, or on cue */
	pr_notice_ratelimited("%pISpc was refused: %s\n", &s->remote, why);
}

/**
 * dms_hello_asked() - a dialler has said HELLO
 * @s: GREETING; is up or refused afterwards
 * @theirs: checked for itself
 */
void dms_hello_asked(struct dms_session *s, const struct dms_hello *theirs)
{
	u32 reason;

	hello_fill(s);
	mutex_lock(&s->node->lock);
	reason = dms_fault_refuses(DMS_FAULT_REFUSE_HELLOS, &s->remote) ?: hello_judge(s, theirs);
	if (!reason) {
		mutex_lock(&s->lock);
		s->theirs = *theirs;
		memcpy(s->mine.session, theirs->session, sizeof(s->mine.session));
		get_random_bytes(s->mine.cookie, sizeof(s->mine.cookie));
		dms_addr_set_port(&s->remote, theirs->listen_port);
		hello_agree(s);
		if (!hello_up(s, DMS_SESSION_GREETING)) {
			reason = DMASTREAM_REFUSED_LIMIT;	/* put out meanwhile */
		} else if (s->resumes) {
			s->resumable = true;
			dms_node_resumable(s->node, true);
		}
		mutex_unlock(&s->lock);
	}
	mutex_unlock(&s->node->lock);
	if (reason) {
		hello_say_refused(s, reason);
		dms_sock_refuse(s, reason, reason == DMASTREAM_REFUSED_VERSION ?
				DMS_WIRE_VERSION_MAX : 0);
		return;
	}
	dms_sock_say_hello(s);
}

/* ---- the dialling side ---- */

static void hello_dial_paths(struct dms_session *s)
{
	struct sockaddr_storage src, dst;
	struct dms_path *path;
	u32 i;
	int err;

	for (i = 0; i < s->nr_paths; i++) {
		path = dms_path_create(s, &dms_rdma_ops, dms_session_lane(s, i), i);
		if (IS_ERR(path)) {
			dms_session_kill(s, DMASTREAM_ERR_SESSION, -PTR_ERR(path));
			return;
		}
		dms_session_choose_rail(s, path);
		dms_rails_addrs(s, path->rail, &src, &dst);
		err = dms_cm_dial(path, &src, &dst);
		if (err && !s->tcp) {
			pr_warn_ratelimited("session %u: no RDMA path from %pISc to %pISpc (error %d); has the interface of that address an RDMA device?\n",
					    s->num, &src, &dst, err);
			dms_path_kill(path, DMASTREAM_ERR_DEVICE, -err);
		}
		dms_path_put(path);	/* of dms_path_create() */
		if (err && !s->tcp)
			return;
	}
}

/* Rule 3: is there a session that the node with the lower nonce has opened? */
static bool hello_gives_way(struct dms_session *s, const struct dms_hello *theirs)
{
	struct dms_session *o;
	bool found = false;

	lockdep_assert_held(&s->node->lock);
	if (memcmp(s->node->nonce, theirs->nonce, DMS_WIRE_NONCE) <= 0)
		return false;
	list_for_each_entry(o, &s->node->sessions, node_link) {
		if (o->role != DMS_ROLE_ACCEPTOR || found)
			continue;
		mutex_lock(&o->lock);
		found = dms_session_alive(o) && o->state == DMS_SESSION_UP &&
			same_nonce(o->theirs.nonce, theirs->nonce);
		mutex_unlock(&o->lock);
	}
	return found;
}

/* The dial is over; its streams go to the session that won, see dms_hello_retry(). */
static void hello_crossed(struct dms_session *s, const u8 *nonce)
{
	memcpy(s->crossed_by, nonce, sizeof(s->crossed_by));
	s->crossed_tries = 0;
	set_bit(DMS_SF_CROSSED, &s->flags);
	dms_sock_hang_up(s);
	mutex_lock(&s->lock);
	dms_session_poke(s);
	mutex_unlock(&s->lock);
}

/**
 * dms_hello_answered() - the peer's HELLO came back
 * @s: DIALLING; is up or killed afterwards
 * @theirs: checked for itself
 */
void dms_hello_answered(struct dms_session *s, const struct dms_hello *theirs)
{
	bool up = false, way;

	if (!same_nonce(theirs->session, s->mine.session) ||
	    !dms_wire_version(&s->mine, theirs)) {
		dms_sock_broken(s, DMS_RULE_FLAGS, "HELLO");
		return;
	}
	if (!theirs->rdma_port) {
		dms_session_kill(s, DMASTREAM_ERR_SESSION, ECONNREFUSED);
		return;
	}
	if (theirs->auth_alg) {
		dms_session_kill(s, DMASTREAM_ERR_REFUSED, DMASTREAM_REFUSED_AUTH);
		return;
	}
	mutex_lock(&s->node->lock);
	way = hello_gives_way(s, theirs);
	if (!way) {
		mutex_lock(&s->lock);
		s->theirs = *theirs;
		hello_agree(s);
		up = hello_up(s, DMS_SESSION_DIALLING);
		mutex_unlock(&s->lock);
	}
	mutex_unlock(&s->node->lock);
	if (up)
		hello_dial_paths(s);
	if (!way)
		return;
	/* the peer has it up, unlike us */
	dms_sock_say_bye(s);
	hello_crossed(s, theirs->nonce);
}

/**
 * dms_hello_refused() - the peer said REFUSE
 * @s: DIALLING
 * @reason: any value
 * @detail: any value
 * @nonce: of the peer
 */
void dms_hello_refused(struct dms_session *s, u32 reason, u32 detail, const u8 *nonce)
{
	dms_stat_inc(DMS_STAT_REFUSED_BY_PEER);
	if (reason == DMASTREAM_REFUSED_CROSSED && !same_nonce(nonce, s->node->nonce)) {
		hello_crossed(s, nonce);
		return;
	}
	pr_notice_ratelimited("session %u: %pISpc refused, reason %u (detail %u), see enum dmastream_refusal\n",
			      s->num, &s->remote, reason, detail);
	/* NONE is no reason; the class says that it was refused */
	dms_session_kill(s, DMASTREAM_ERR_REFUSED, reason);
}

/* The session for whose sake the dial was refused, with a reference, or NULL. */
static struct dms_session *crossed_winner(struct dms_session *dial)
{
	struct dms_session *o, *found = NULL;

	mutex_lock(&dial->node->lock);
	list_for_each_entry(o, &dial->node->sessions, node_link) {
		mutex_lock(&o->lock);
		if (dms_session_alive(o) && dms_session_ready(o) &&
		    same_nonce(o->theirs.nonce, dial->crossed_by)) {
			dms_session_get(o);
			found = o;
		}
		mutex_unlock(&o->lock);
		if (found)
			break;
	}
	mutex_unlock(&dial->node->lock);
	return found;
}

/**
 * dms_hello_retry() - after CROSSED: where is the session that won?
 * @s: DIALLING, without a connection
 */
void dms_hello_retry(struct dms_session *s)
{
	struct dms_session *winner;

	if (!test_bit(DMS_SF_CROSSED, &s->flags))
		return;
	winner = crossed_winner(s);
	if (winner) {
		dms_session_merge(s, winner);
		dms_session_put(winner);
		mutex_lock(&s->lock);
		/* under the lock: a bind comes before, or sees KILLED */
		if (!atomic_read(&s->nr_streams))
			dms_session_kill(s, DMASTREAM_ERR_SESSION, ESHUTDOWN);
		mutex_unlock(&s->lock);
		return;
	}
	if (++s->crossed_tries < DMS_CROSSED_TRIES)
		return;
	clear_bit(DMS_SF_CROSSED, &s->flags);
	set_bit(DMS_SF_DIAL, &s->flags);
}
