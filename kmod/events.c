// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: what happens to sessions and paths, told to whoever listens.
 *
 * A state changes under a spinlock that data needs, and who reads may be many:
 * so an event is only noted there, in the order in which things happened, and
 * a work makes the message and sends it.
 *
 * Nothing waits for memory.  An event is noted under locks, hence GFP_ATOMIC;
 * the work may be run by the rescuer of dms_wq, for which all other works wait
 * when memory is short, hence GFP_NOWAIT.  An event without memory is counted
 * and not told, nor is one that finds DMS_EVENTS_MAX before it.  Its number
 * misses in the row that listeners see, as does that of one for which a
 * listener's socket had no room.
 */
#include "events.h"

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <linux/dmastream.h>
#include <linux/dmastream_netlink.h>

#include "ibdev.h"
#include "netlink.h"
#include "node.h"
#include "path.h"
#include "session.h"
#include "stats.h"
#include "wq.h"

/* Noted and not sent yet, over all namespaces; some 300 bytes each. */
#define DMS_EVENTS_MAX		4096
/* That a message needs: some 250 bytes, of which the name of a device may be 64. */
#define DMS_EVENT_BYTES		512

struct dms_event {
	struct list_head	node;
	struct net		*net;		/* see dms_events_flush() */
	u64			seq;
	u64			ns;
	u32			kind;
	u32			session;
	u32			role;
	struct sockaddr_storage	peer;
	u32			path;		/* 0: of the session as a whole */
	u8			lane;
	u8			index;
	const char		*transport;
	char			device[IB_DEVICE_NAME_MAX];	/* "": it has none */
	u32			err_class;
	u32			err_detail;
	u32			streams;
};

static void events_work(struct work_struct *work);

/* lock: the next three, and node->event_seq of all nodes.  Any context; innermost. */
static DEFINE_SPINLOCK(events_lock);
static LIST_HEAD(events_list);
static u32 nr_events;
static bool events_on;			/* only then may the family be used */
static DECLARE_WORK(events_send_work, events_work);

static bool event_wanted(const struct dms_session *s)
{
	return READ_ONCE(events_on) &&
	       genl_has_listeners(&dms_genl_family, s->node->net, DMS_NL_EVENTS);
}

/* A new one, or NULL.  Of the session: what is constant once it is up. */
static struct dms_event *event_new(const struct dms_session *s, u32 kind)
{
	struct dms_event *e = kzalloc(sizeof(*e), GFP_ATOMIC | __GFP_NOWARN);

	if (!e)
		return NULL;
	e->net = s->node->net;
	e->kind = kind;
	e->session = s->num;
	e->role = s->role == DMS_ROLE_DIALLER ? DMASTREAM_ROLE_ACTIVE : DMASTREAM_ROLE_PASSIVE;
	e->peer = s->remote;
	return e;
}

/* @e may be NULL: then its number is left out, and it is counted as lost. */
static void event_note(struct dms_node *node, struct dms_event *e)
{
	unsigned long flags;
	bool noted = false;
	u64 seq;

	spin_lock_irqsave(&events_lock, flags);
	seq = ++node->event_seq;
	if (e && events_on && nr_events < DMS_EVENTS_MAX) {
		e->seq = seq;
		/* here, so that times and numbers have one order */
		e->ns = ktime_get_ns();
		list_add_tail(&e->node, &events_list);
		nr_events++;
		noted = true;
	}
	spin_unlock_irqrestore(&events_lock, flags);
	if (noted) {
		queue_work(dms_wq, &events_send_work);
		return;
	}
	dms_stat_inc(DMS_STAT_EVENTS_LOST);
	kfree(e);
}

static void event_session(struct dms_session *s, u32 kind, u32 err_class, u32 err_detail)
{
	struct dms_event *e;

	if (!event_wanted(s))
		return;
	e = event_new(s, kind);
	if (e) {
		e->err_class = err_class;
		e->err_detail = err_detail;
		e->streams = atomic_read(&s->nr_streams);
	}
	event_note(s->node, e);
}

static void event_path(struct dms_path *path, u32 kind, u32 err_class, u32 err_detail,
		       u32 streams)
{
	struct dms_event *e = event_new(path->session, kind);

	if (e) {
		e->path = path->id;
		e->lane = path->lane;
		e->index = path->index;
		e->transport = path->ops->name;
		/* the memory of the device stays as long as that of the ibdev */
		if (path->ibdev)
			strscpy(e->device, dms_ibdev_name(path->ibdev), sizeof(e->device));
		e->err_class = err_class;
		e->err_detail = err_detail;
		e->streams = streams;
	}
	event_note(path->session->node, e);
}

/* Not kept as a number: only who listens needs it, and then once in a path's life. */
static u32 path_streams(struct dms_path *path)
{
	struct list_head *at;
	u32 n = 0;

	spin_lock(&path->streams_lock);
	list_for_each(at, &path->streams)
		n++;
	spin_unlock(&path->streams_lock);
	return n;
}

/**
 * dms_event_session_moved() - a session changed its state
 * @s: session->lock is held
 * @from: state before
 * @to: and now
 *
 * One that never was up has no event: who dialled is told by his stream.
 */
void dms_event_session_moved(struct dms_session *s, enum dms_session_state from,
			     enum dms_session_state to)
{
	if (to == DMS_SESSION_UP)
		event_session(s, DMASTREAM_EVENT_SESSION_UP, DMASTREAM_ERR_NONE, 0);
	else if (from == DMS_SESSION_UP)
		/* only kill_work ends it: these are set */
		event_session(s, DMASTREAM_EVENT_SESSION_DOWN, s->kill_class, s->kill_detail);
}

/* Up again, by another way than before; path->lock is held. */
static void event_path_switched(struct dms_path *path, u32 streams)
{
	if (path->carriers < 2 || path->ops->tcp == path->was_tcp)
		return;
	if (path->ops->tcp)
		event_path(path, DMASTREAM_EVENT_FAILOVER, path->last_class, path->last_detail,
			   streams);
	else
		event_path(path, DMASTREAM_EVENT_PATH_BACK, DMASTREAM_ERR_NONE, 0, streams);
}

/**
 * dms_event_path_moved() - a path changed its state
 * @path: path->lock is held
 * @from: state before
 * @to: and now
 *
 * One that never was up has no event of its own: its session has one.
 */
void dms_event_path_moved(struct dms_path *path, enum dms_path_state from,
			  enum dms_path_state to)
{
	u32 streams;

	if (to != DMS_PATH_UP && from != DMS_PATH_UP)
		return;
	if (!event_wanted(path->session))
		return;
	streams = path_streams(path);
	if (to != DMS_PATH_UP) {
		event_path(path, DMASTREAM_EVENT_PATH_DOWN, READ_ONCE(path->err_class),
			   READ_ONCE(path->err_detail), streams);
		return;
	}
	event_path(path, DMASTREAM_EVENT_PATH_UP, DMASTREAM_ERR_NONE, 0, streams);
	event_path_switched(path, streams);
}

/**
 * dms_event_peer_lost() - nothing was heard for peer_lost_ms
 * @s: up, and about to be killed for it
 */
void dms_event_peer_lost(struct dms_session *s)
{
	event_session(s, DMASTREAM_EVENT_PEER_LOST, DMASTREAM_ERR_SESSION, ETIMEDOUT);
}

static int event_put_path(struct sk_buff *skb, const struct dms_event *e)
{
	if (!e->path)
		return 0;
	if (nla_put_u32(skb, DMASTREAM_EVENT_PATH, e->path) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_LANE, e->lane) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_INDEX, e->index) ||
	    nla_put_string(skb, DMASTREAM_EVENT_TRANSPORT, e->transport))
		return -EMSGSIZE;
	if (e->device[0] && nla_put_string(skb, DMASTREAM_EVENT_DEVICE, e->device))
		return -EMSGSIZE;
	return 0;
}

static int event_put(struct sk_buff *skb, const struct dms_event *e)
{
	if (nla_put_u32(skb, DMASTREAM_EVENT_KIND, e->kind) ||
	    nla_put_u64_64bit(skb, DMASTREAM_EVENT_SEQ, e->seq, DMASTREAM_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, DMASTREAM_EVENT_TIME_NS, e->ns, DMASTREAM_EVENT_PAD) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_SESSION, e->session) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_ROLE, e->role) ||
	    dms_nl_put_addr(skb, DMASTREAM_EVENT_PEER, &e->peer) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_STREAMS, e->streams) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_ERR_CLASS, e->err_class) ||
	    nla_put_u32(skb, DMASTREAM_EVENT_ERR_DETAIL, e->err_detail))
		return -EMSGSIZE;
	return event_put_path(skb, e);
}

static void event_send(const struct dms_event *e)
{
	struct sk_buff *skb = genlmsg_new(DMS_EVENT_BYTES, GFP_NOWAIT | __GFP_NOWARN);
	void *hdr = NULL;

	if (skb)
		hdr = genlmsg_put(skb, 0, 0, &dms_genl_family, 0, DMASTREAM_NL_EVENT);
	if (!hdr || event_put(skb, e)) {
		dms_stat_inc(DMS_STAT_EVENTS_LOST);
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	/* that a listener has no room is told to him by his socket */
	genlmsg_multicast_netns(&dms_genl_family, e->net, skb, 0, DMS_NL_EVENTS,
				GFP_NOWAIT | __GFP_NOWARN);
	dms_stat_inc(DMS_STAT_EVENTS);
}

static struct dms_event *events_pop(void)
{
	struct dms_event *e;

	spin_lock_irq(&events_lock);
	e = list_first_entry_or_null(&events_list, struct dms_event, node);
	if (e) {
		list_del(&e->node);
		nr_events--;
	}
	spin_unlock_irq(&events_lock);
	return e;
}

static void events_work(struct work_struct *work)
{
	struct dms_event *e;

	while ((e = events_pop())) {
		event_send(e);
		kfree(e);
		cond_resched();
	}
}

/**
 * dms_events_flush() - a namespace ends
 *
 * Its sessions have ended: there will be no more events with a pointer to it.
 *
 * Context: process, may sleep; not from dms_wq.
 */
void dms_events_flush(void)
{
	flush_work(&events_send_work);
}

/**
 * dms_events_start() - events may be sent from here on
 *
 * Context: process; the family is registered.
 */
void dms_events_start(void)
{
	spin_lock_irq(&events_lock);
	WRITE_ONCE(events_on, true);
	spin_unlock_irq(&events_lock);
}

/**
 * dms_events_stop() - the module goes
 *
 * The sessions that end with it have no events: the number of the group may
 * belong to another family by then.
 *
 * Context: process, may sleep; the family is still registered.
 */
void dms_events_stop(void)
{
	spin_lock_irq(&events_lock);
	WRITE_ONCE(events_on, false);
	spin_unlock_irq(&events_lock);
	dms_events_flush();
}
