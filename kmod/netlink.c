// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink: what an operator sees.  It only reads.  Events are events.c's.
 *
 * A dump goes on in another call when a message does not fit, and the world
 * has changed meanwhile.  So its cursor is a number that only grows: of the
 * last object that was told, not a position in a list.  An object that lives
 * during the whole dump is told exactly once.
 *
 * Context: process; callbacks run in the context of the reader.  No lock of
 * ours is held between two objects.
 */
#include <linux/module.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include <linux/dmastream_netlink.h>

#include "core/credit.h"
#include "core/wire.h"
#include "events.h"
#include "fault.h"
#include "ibdev.h"
#include "netlink.h"
#include "node.h"
#include "path.h"
#include "pool.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "transport_rdma.h"

/* One dump: the reader's message, and where in it we are. */
struct dms_dump {
	struct sk_buff		*skb;
	struct netlink_callback	*cb;
	u8			cmd;
	u32			outer;		/* number of the session that is being told */
	kuid_t			uid;		/* of the reader */
	bool			all;		/* it may see what belongs to others */
};

/* cb->args: the last object told, as (outer, inner + 1); inner 0: none of it yet. */
enum { DMS_ARG_OUTER, DMS_ARG_INNER, DMS_ARG_DONE };

static void *dms_dump_begin(struct dms_dump *d)
{
	return genlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid,
			   d->cb->nlh->nlmsg_seq, &dms_genl_family,
			   NLM_F_MULTI, d->cmd);
}

static int dms_dump_end(struct dms_dump *d, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(d->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(d->skb, hdr);
	return 0;
}

/**
 * dms_nl_put_addr() - an address as the ABI has it
 * @skb: message
 * @attr: attribute
 * @ss: any; of no family that we know: nothing is put
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int dms_nl_put_addr(struct sk_buff *skb, int attr, const struct sockaddr_storage *ss)
{
	struct dmastream_addr addr = { .family = ss->ss_family };

	if (ss->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)ss;

		addr.port = (__force u16)in->sin_port;
		memcpy(addr.addr, &in->sin_addr, 4);
	} else if (ss->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)ss;

		addr.port = (__force u16)in6->sin6_port;
		addr.scope_id = in6->sin6_scope_id;
		memcpy(addr.addr, &in6->sin6_addr, 16);
	} else {
		return 0;
	}
	return nla_put(skb, attr, sizeof(addr), &addr);
}

/*
 * ---- Node -----------------------------------------------------------------
 */

static int dms_put_counters(struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, DMASTREAM_NODE_COUNTERS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = DMASTREAM_CTR_PAD + 1; i < DMASTREAM_CTR_END; i++)
		if (nla_put_u64_64bit(skb, i, dms_stat_sum(i), DMASTREAM_CTR_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dms_put_gauges(struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, DMASTREAM_NODE_GAUGES);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = DMASTREAM_GAUGE_PAD + 1; i < DMASTREAM_GAUGE_END; i++)
		if (nla_put_u64_64bit(skb, i, dms_gauge_sum(i), DMASTREAM_GAUGE_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dms_put_refusals(struct sk_buff *skb)
{
	struct nlattr *nest = nla_nest_start(skb, DMASTREAM_NODE_REFUSALS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	/* a kind is never 0, which therefore pads */
	for (i = 1; i < DMS_STAT_END - DMS_STAT_REFUSED; i++)
		if (nla_put_u64_64bit(skb, i, dms_stat_sum(DMS_STAT_REFUSED + i), 0))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int dms_put_node(struct sk_buff *skb, const struct dms_node *node)
{
	bool listening = READ_ONCE(node->nr_listening);
	u32 port = listening ? READ_ONCE(node->port) : READ_ONCE(dms_param_port);

	if (nla_put(skb, DMASTREAM_NODE_NONCE, DMS_WIRE_NONCE, node->nonce) ||
	    nla_put_string(skb, DMASTREAM_NODE_VERSION, THIS_MODULE->version ?: "") ||
	    nla_put_u32(skb, DMASTREAM_NODE_ABI, DMASTREAM_ABI_VERSION) ||
	    nla_put_u32(skb, DMASTREAM_NODE_PORT, port ?: DMASTREAM_PORT) ||
	    nla_put_u32(skb, DMASTREAM_NODE_LISTENING, listening))
		return -EMSGSIZE;
	return dms_put_counters(skb) ?: dms_put_gauges(skb) ?: dms_put_refusals(skb);
}

static int dms_nl_get_node(struct sk_buff *req, struct genl_info *info)
{
	struct dms_node *node = dms_node_of(genl_info_net(info));
	struct sk_buff *skb;
	void *hdr;

	if (!node)
		return -ENODEV;
	skb = dms_fault_alloc(NETLINK) ? NULL : genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, &dms_genl_family, 0, DMASTREAM_NL_GET_NODE);
	if (!hdr || dms_put_node(skb, node)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

/*
 * ---- Sessions -------------------------------------------------------------
 */

static u32 dms_nl_session_state(enum dms_session_state state)
{
	switch (state) {
	case DMS_SESSION_DIALLING:
		return DMASTREAM_SESSION_CONNECTING;
	case DMS_SESSION_GREETING:
		return DMASTREAM_SESSION_HANDSHAKE;
	case DMS_SESSION_UP:
		return DMASTREAM_SESSION_UP;
	case DMS_SESSION_DYING:
		return DMASTREAM_SESSION_CLOSING;
	default:
		return DMASTREAM_SESSION_DEAD;
	}
}

/* An operator's features are those of the wire. */
static_assert(DMASTREAM_WIRE_DEPTH == DMS_FEATURE_DEPTH);
static_assert(DMASTREAM_WIRE_PUSH == DMS_FEATURE_PUSH);
static_assert(DMASTREAM_WIRE_RESUME == DMS_FEATURE_RESUME);
static_assert(DMASTREAM_WIRE_TCP == DMS_FEATURE_TCP);
static_assert(DMASTREAM_WIRE_SKIP == DMS_FEATURE_SKIP);

/* What the handshake sets is constant once the state is past it. */
static int dms_put_session(struct sk_buff *skb, struct dms_session *s)
{
	enum dms_session_state state;
	u64 rtt = READ_ONCE(s->rtt_ns);
	u32 role, up;

	mutex_lock(&s->lock);
	state = s->state;
	up = s->nr_up;
	mutex_unlock(&s->lock);

	role = s->role == DMS_ROLE_DIALLER ? DMASTREAM_ROLE_ACTIVE : DMASTREAM_ROLE_PASSIVE;
	if (nla_put_u32(skb, DMASTREAM_SESSION_ID, s->num) ||
	    nla_put_u32(skb, DMASTREAM_SESSION_ROLE, role) ||
	    nla_put_u32(skb, DMASTREAM_SESSION_STATE, dms_nl_session_state(state)) ||
	    dms_nl_put_addr(skb, DMASTREAM_SESSION_PEER, &s->remote) ||
	    nla_put_u32(skb, DMASTREAM_SESSION_STREAMS, atomic_read(&s->nr_streams)) ||
	    nla_put_u32(skb, DMASTREAM_SESSION_PATHS, up))
		return -EMSGSIZE;
	if (rtt && nla_put_u64_64bit(skb, DMASTREAM_SESSION_RTT_NS, rtt,
				     DMASTREAM_SESSION_PAD))
		return -EMSGSIZE;
	if (state != DMS_SESSION_UP)
		return 0;
	return nla_put(skb, DMASTREAM_SESSION_PEER_NONCE, DMS_WIRE_NONCE,
		       s->theirs.nonce) ?:
	       nla_put_u32(skb, DMASTREAM_SESSION_EPOCH, s->epoch) ?:
	       nla_put_u64_64bit(skb, DMASTREAM_SESSION_FEATURES,
				 s->mine.features & s->theirs.features, DMASTREAM_SESSION_PAD);
}

static int dms_tell_session(struct dms_session *s, void *arg)
{
	struct dms_dump *d = arg;
	void *hdr;
	int err;

	if (s->num <= (u32)d->cb->args[DMS_ARG_OUTER])
		return 0;
	hdr = dms_dump_begin(d);
	if (!hdr)
		return -EMSGSIZE;
	err = dms_dump_end(d, hdr, dms_put_session(d->skb, s));
	if (!err)
		d->cb->args[DMS_ARG_OUTER] = s->num;
	return err;
}

/*
 * ---- Paths ----------------------------------------------------------------
 */

/* An operator's numbers of lanes are those of the wire. */
static_assert((int)DMASTREAM_LANE_BULK == (int)DMS_LANE_BULK);
static_assert((int)DMASTREAM_LANE_LATENCY == (int)DMS_LANE_LATENCY);

/* Constant. */
static int dms_put_path_rate(struct sk_buff *skb, const struct dms_path *path)
{
	u64 kbit = path->rate.kbit;

	return kbit ? nla_put_u64_64bit(skb, DMASTREAM_PATH_RATE, kbit, DMASTREAM_PATH_PAD) : 0;
}

/* path->lock held. */
static u32 dms_nl_path_state(enum dms_path_state state)
{
	switch (state) {
	case DMS_PATH_INIT:
	case DMS_PATH_RESOLVING:
	case DMS_PATH_CONNECTING:
		return DMASTREAM_PATH_CONNECTING;
	case DMS_PATH_UP:
		return DMASTREAM_PATH_UP;
	case DMS_PATH_DYING:
		return DMASTREAM_PATH_DYING;
	default:
		return DMASTREAM_PATH_DEAD;
	}
}

/*
 * Device, port and number of the queue pair.  The one place above the
 * transport that looks into it; path->lock held, under which the fence says
 * that the queue pair goes.
 */
static int dms_put_path_rdma(struct sk_buff *skb, const struct dms_path *path)
{
	const struct dms_rdma *tp = path->priv;
	const struct ib_qp *qp;

	if (path->ops->tcp && tp)
		return nla_put_string(skb, DMASTREAM_PATH_DEVICE, dms_ibdev_name(path->ibdev));
	if (path->ops != &dms_rdma_ops || !tp || tp->dead)
		return 0;
	qp = READ_ONCE(tp->qp);
	if (!qp)
		return 0;
	return nla_put_string(skb, DMASTREAM_PATH_DEVICE, dev_name(&qp->device->dev)) ?:
	       nla_put_u32(skb, DMASTREAM_PATH_PORT, qp->port ?: tp->id->port_num) ?:
	       nla_put_u32(skb, DMASTREAM_PATH_QPN, qp->qp_num) ?:
	       nla_put_u32(skb, DMASTREAM_PATH_DSCP, READ_ONCE(tp->dscp));
}

static int dms_put_path_incast(struct sk_buff *skb, struct dms_ibdev *d)
{
	struct dms_window w;

	if (!d)
		return 0;
	spin_lock(&d->incast_lock);
	w = d->incast;
	spin_unlock(&d->incast_lock);
	return nla_put_u64_64bit(skb, DMASTREAM_PATH_INCAST_LIMIT, w.limit, DMASTREAM_PATH_PAD) ?:
	       nla_put_u64_64bit(skb, DMASTREAM_PATH_INCAST_USED, w.used, DMASTREAM_PATH_PAD) ?:
	       nla_put_u64_64bit(skb, DMASTREAM_PATH_INCAST_HIGH, w.high, DMASTREAM_PATH_PAD);
}

/* path->lock held. */
static int dms_put_path_recv(struct sk_buff *skb, const struct dms_path *path)
{
	u64 limit, used, high;
	u32 asked;

	if (!path->ibdev || !path->depth.floor)
		return 0;
	spin_lock(&path->ibdev->recv_lock);
	limit = path->ibdev->recv.budget;
	used = path->ibdev->recv.floors + path->ibdev->recv.above;
	high = path->ibdev->recv.high;
	asked = path->depth.asked;
	spin_unlock(&path->ibdev->recv_lock);
	return nla_put_u32(skb, DMASTREAM_PATH_RECV_FLOOR, path->depth.floor) ?:
	       nla_put_u32(skb, DMASTREAM_PATH_RECV_CEILING, path->depth.ceil) ?:
	       nla_put_u32(skb, DMASTREAM_PATH_RECV_ASKED, asked) ?:
	       nla_put_u64_64bit(skb, DMASTREAM_PATH_RECV_LIMIT, limit << PAGE_SHIFT,
				 DMASTREAM_PATH_PAD) ?:
	       nla_put_u64_64bit(skb, DMASTREAM_PATH_RECV_USED, used << PAGE_SHIFT,
				 DMASTREAM_PATH_PAD) ?:
	       nla_put_u64_64bit(skb, DMASTREAM_PATH_RECV_HIGH, high << PAGE_SHIFT,
				 DMASTREAM_PATH_PAD);
}

/* path->lock held. */
static int dms_put_path_limits(struct sk_buff *skb, const struct dms_path *path)
{
	u32 posted = path->slot_rx.posted - path->slot_rx.received;

	if (path->state != DMS_PATH_UP)
		return 0;
	if (nla_put_u32(skb, DMASTREAM_PATH_SLOT_CREDITS,
			dms_slot_tx_avail(&path->slot_tx)) ||
	    nla_put_u32(skb, DMASTREAM_PATH_RECV_POSTED, posted) ||
	    nla_put_u32(skb, DMASTREAM_PATH_RECV_CONFIGURED, dms_depth_posted(&path->depth)) ||
	    nla_put_u64_64bit(skb, DMASTREAM_PATH_WINDOW_USED, path->window.used,
			      DMASTREAM_PATH_PAD) ||
	    nla_put_u64_64bit(skb, DMASTREAM_PATH_WINDOW_LIMIT, path->window.limit,
			      DMASTREAM_PATH_PAD) ||
	    nla_put_u32(skb, DMASTREAM_PATH_KEYS_USED, path->keys_out) ||
	    nla_put_u32(skb, DMASTREAM_PATH_KEYS_TOTAL, path->keys_max) ||
	    nla_put_u32(skb, DMASTREAM_PATH_READS, path->reads_out) ||
	    nla_put_u32(skb, DMASTREAM_PATH_READ_DEPTH, path->reads_max))
		return -EMSGSIZE;
	return nla_put_u64_64bit(skb, DMASTREAM_PATH_WINDOW_DELAY, path->delay.delay_ns,
				 DMASTREAM_PATH_PAD) ?:
	       nla_put_u32(skb, DMASTREAM_PATH_WINDOW_CUTS, path->delay.cuts) ?:
	       dms_put_path_incast(skb, path->ibdev) ?:
	       dms_put_path_recv(skb, path);
}

static int dms_put_path(struct sk_buff *skb, struct dms_path *path, u32 session)
{
	int err;

	if (nla_put_u32(skb, DMASTREAM_PATH_ID, path->id) ||
	    nla_put_u32(skb, DMASTREAM_PATH_SESSION, session) ||
	    nla_put_u32(skb, DMASTREAM_PATH_LANE, path->lane) ||
	    dms_put_path_rate(skb, path))
		return -EMSGSIZE;
	spin_lock(&path->lock);
	err = nla_put_u32(skb, DMASTREAM_PATH_STATE, dms_nl_path_state(path->state)) ?:
	      dms_put_path_rdma(skb, path) ?:
	      dms_put_path_limits(skb, path) ?:
	      nla_put_u64_64bit(skb, DMASTREAM_PATH_TX_PACKETS, path->tx_packets,
				DMASTREAM_PATH_PAD) ?:
	      nla_put_u64_64bit(skb, DMASTREAM_PATH_RX_PACKETS, path->rx_packets,
				DMASTREAM_PATH_PAD) ?:
	      nla_put_u64_64bit(skb, DMASTREAM_PATH_TX_BYTES, path->tx_bytes,
				DMASTREAM_PATH_PAD) ?:
	      nla_put_u64_64bit(skb, DMASTREAM_PATH_RX_BYTES, path->rx_bytes,
				DMASTREAM_PATH_PAD);
	spin_unlock(&path->lock);
	return err;
}

static int dms_tell_path(struct dms_dump *d, struct dms_path *path, u32 session)
{
	void *hdr = dms_dump_begin(d);

	if (!hdr)
		return -EMSGSIZE;
	return dms_dump_end(d, hdr, dms_put_path(d->skb, path, session));
}

/* Where in session @s the dump goes on; false: all of it was told. */
static bool dms_dump_enter(struct dms_dump *d, const struct dms_session *s)
{
	long *args = d->cb->args;

	if (s->num < (u32)args[DMS_ARG_OUTER])
		return false;
	if (s->num > (u32)args[DMS_ARG_OUTER]) {
		args[DMS_ARG_OUTER] = s->num;
		args[DMS_ARG_INNER] = 0;
	}
	return true;
}

static int dms_tell_paths(struct dms_session *s, void *arg)
{
	struct dms_dump *d = arg;
	struct dms_path *path;
	int err = 0;
	long i;

	if (!dms_dump_enter(d, s))
		return 0;
	for (i = d->cb->args[DMS_ARG_INNER]; i < DMS_SESSION_PATHS_MAX && !err; i++) {
		mutex_lock(&s->lock);
		path = s->path[i];
		if (path)
			dms_path_get(path);
		mutex_unlock(&s->lock);
		if (!path)
			continue;
		err = dms_tell_path(d, path, s->num);
		dms_path_put(path);
		if (!err)
			d->cb->args[DMS_ARG_INNER] = i + 1;
	}
	return err;
}

/*
 * ---- Streams --------------------------------------------------------------
 */

static int dms_put_stream_counts(struct sk_buff *skb,
				 const struct dmastream_stream_query *q)
{
	if (nla_put_u64_64bit(skb, DMASTREAM_STRM_FLAGS, q->stream_flags, DMASTREAM_STRM_PAD) ||
	    nla_put_u64_64bit(skb, DMASTREAM_STRM_TX_MSGS, q->tx_msgs, DMASTREAM_STRM_PAD) ||
	    nla_put_u64_64bit(skb, DMASTREAM_STRM_TX_BYTES, q->tx_bytes, DMASTREAM_STRM_PAD) ||
	    nla_put_u64_64bit(skb, DMASTREAM_STRM_RX_MSGS, q->rx_msgs, DMASTREAM_STRM_PAD) ||
	    nla_put_u64_64bit(skb, DMASTREAM_STRM_RX_BYTES, q->rx_bytes, DMASTREAM_STRM_PAD) ||
	    nla_put_u32(skb, DMASTREAM_STRM_TX_QUEUED, q->tx_queued) ||
	    nla_put_u32(skb, DMASTREAM_STRM_RX_QUEUED, q->rx_queued) ||
	    nla_put_u32(skb, DMASTREAM_STRM_CREDITS, q->credits) ||
	    nla_put_u32(skb, DMASTREAM_STRM_KEYS, q->keys))
		return -EMSGSIZE;
	return 0;
}

static int dms_put_stream(struct dms_dump *d, struct dms_stream *stream)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(d->cb->skb).sk);
	struct dms_path *path = READ_ONCE(stream->path);
	struct dmastream_stream_query q = { 0 };
	struct sk_buff *skb = d->skb;

	dms_stream_query(stream, &q);
	if (nla_put_u32(skb, DMASTREAM_STRM_ID, stream->num) ||
	    nla_put_u32(skb, DMASTREAM_STRM_SESSION, d->outer) ||
	    nla_put_u32(skb, DMASTREAM_STRM_HANDLE, stream->handle) ||
	    nla_put_u32(skb, DMASTREAM_STRM_WIRE_ID, stream->sid) ||
	    nla_put_u32(skb, DMASTREAM_STRM_PID, stream->pid) ||
	    nla_put_u32(skb, DMASTREAM_STRM_UID, from_kuid_munged(ns, stream->owner)) ||
	    nla_put_string(skb, DMASTREAM_STRM_SERVICE, stream->service) ||
	    nla_put(skb, DMASTREAM_STRM_PEER, sizeof(q.peer), &q.peer) ||
	    nla_put_u32(skb, DMASTREAM_STRM_STATE, q.state) ||
	    nla_put_u32(skb, DMASTREAM_STRM_WAITS, q.waits) ||
	    nla_put_u32(skb, DMASTREAM_STRM_ERR_CLASS, q.err_class) ||
	    nla_put_u32(skb, DMASTREAM_STRM_ERR_DETAIL, q.err_detail))
		return -EMSGSIZE;
	/* set once, and the stream keeps it until its own end */
	if (path && nla_put_u32(skb, DMASTREAM_STRM_PATH, path->id))
		return -EMSGSIZE;
	return dms_put_stream_counts(skb, &q);
}

/* Taken out of the table under RCU, told without it. */
static struct dms_stream *dms_next_stream(struct dms_session *s, unsigned long *sid)
{
	struct dms_stream *stream;

	rcu_read_lock();
	stream = xa_find(&s->streams, sid, ULONG_MAX, XA_PRESENT);
	while (stream && !dms_stream_tryget(stream))
		stream = xa_find_after(&s->streams, sid, ULONG_MAX, XA_PRESENT);
	rcu_read_unlock();
	return stream;
}

static int dms_tell_streams(struct dms_session *s, void *arg)
{
	struct dms_dump *d = arg;
	struct dms_stream *stream;
	unsigned long sid;
	void *hdr;
	int err = 0;

	if (!dms_dump_enter(d, s))
		return 0;
	d->outer = s->num;
	sid = d->cb->args[DMS_ARG_INNER];
	while (!err && (stream = dms_next_stream(s, &sid))) {
		if (d->all || uid_eq(stream->owner, d->uid)) {
			hdr = dms_dump_begin(d);
			err = hdr ? dms_dump_end(d, hdr, dms_put_stream(d, stream)) :
				    -EMSGSIZE;
		}
		dms_stream_put(stream);
		sid++;
		if (!err)
			d->cb->args[DMS_ARG_INNER] = sid;
		cond_resched();
	}
	return err;
}

/*
 * ---- Pools ----------------------------------------------------------------
 */

static int dms_put_pool(struct dms_dump *d, struct dms_pool *pool)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(d->cb->skb).sk);
	struct sk_buff *skb = d->skb;

	if (nla_put_u32(skb, DMASTREAM_POOL_ID, pool->id) ||
	    nla_put_u64_64bit(skb, DMASTREAM_POOL_BYTES, pool->size, DMASTREAM_POOL_PAD) ||
	    nla_put_u32(skb, DMASTREAM_POOL_UID, from_kuid_munged(ns, pool->owner)) ||
	    nla_put_u32(skb, DMASTREAM_POOL_ATTACHMENTS, atomic_read(&pool->attachments)) ||
	    nla_put_u32(skb, DMASTREAM_POOL_IN_FLIGHT, dms_pool_transfers(pool)) ||
	    nla_put_u32(skb, DMASTREAM_POOL_MAPS, atomic_read(&pool->mmaps)))
		return -EMSGSIZE;
	return 0;
}

static int dms_tell_pool(struct dms_pool *pool, void *arg)
{
	struct dms_dump *d = arg;
	void *hdr;
	int err;

	if (pool->id <= (u32)d->cb->args[DMS_ARG_OUTER] ||
	    !(d->all || uid_eq(pool->owner, d->uid)))
		return 0;
	hdr = dms_dump_begin(d);
	if (!hdr)
		return -EMSGSIZE;
	err = dms_dump_end(d, hdr, dms_put_pool(d, pool));
	if (!err)
		d->cb->args[DMS_ARG_OUTER] = pool->id;
	return err;
}

/*
 * ---- Dumps ----------------------------------------------------------------
 */

static void dms_dump_init(struct dms_dump *d, struct sk_buff *skb,
			  struct netlink_callback *cb, u8 cmd)
{
	memset(d, 0, sizeof(*d));
	d->skb = skb;
	d->cb = cb;
	d->cmd = cmd;
	d->uid = NETLINK_CREDS(cb->skb)->uid;
}

/* A dump ends with an empty message: the one after what did fit. */
static int dms_dump_result(struct dms_dump *d, int err)
{
	if (!err)
		d->cb->args[DMS_ARG_DONE] = 1;
	return err && !d->skb->len ? err : d->skb->len;
}

static int dms_dump_sessions(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			     int (*fn)(struct dms_session *s, void *arg))
{
	struct net *net = sock_net(cb->skb->sk);
	struct dms_node *node = dms_node_of(net);
	struct dms_dump d;

	if (cb->args[DMS_ARG_DONE] || !node)
		return 0;
	dms_dump_init(&d, skb, cb, cmd);
	d.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN);
	return dms_dump_result(&d, dms_node_walk_sessions(node, fn, &d));
}

static int dms_nl_dump_session(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dms_dump_sessions(skb, cb, DMASTREAM_NL_GET_SESSION, dms_tell_session);
}

static int dms_nl_dump_path(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dms_dump_sessions(skb, cb, DMASTREAM_NL_GET_PATH, dms_tell_paths);
}

static int dms_nl_dump_stream(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dms_dump_sessions(skb, cb, DMASTREAM_NL_GET_STREAM, dms_tell_streams);
}

static int dms_nl_dump_pool(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dms_dump d;

	if (cb->args[DMS_ARG_DONE])
		return 0;
	dms_dump_init(&d, skb, cb, DMASTREAM_NL_GET_POOL);
	d.all = netlink_capable(cb->skb, CAP_NET_ADMIN);
	return dms_dump_result(&d, dms_pool_for_each(dms_tell_pool, &d));
}

static const struct genl_small_ops dms_genl_ops[] = {
	{
		.cmd	= DMASTREAM_NL_GET_NODE,
		.doit	= dms_nl_get_node,
	},
	{
		.cmd	= DMASTREAM_NL_GET_SESSION,
		.dumpit	= dms_nl_dump_session,
	},
	{
		.cmd	= DMASTREAM_NL_GET_PATH,
		.dumpit	= dms_nl_dump_path,
	},
	{
		.cmd	= DMASTREAM_NL_GET_STREAM,
		.dumpit	= dms_nl_dump_stream,
	},
	{
		.cmd	= DMASTREAM_NL_GET_POOL,
		.dumpit	= dms_nl_dump_pool,
	},
};

/* No request has attributes; without a policy they would not be looked at. */
static const struct nla_policy dms_genl_policy[] = {
	[1] = { .type = NLA_REJECT },
};

/* No flag: whoever may ask for the sessions and paths may hear of them. */
static const struct genl_multicast_group dms_genl_groups[] = {
	[DMS_NL_EVENTS] = { .name = DMASTREAM_GENL_EVENTS },
};

struct genl_family dms_genl_family __ro_after_init = {
	.name		= DMASTREAM_GENL_NAME,
	.version	= DMASTREAM_GENL_VERSION,
	.module		= THIS_MODULE,
	.netnsok	= true,
	.parallel_ops	= true,
	.small_ops	= dms_genl_ops,
	.n_small_ops	= ARRAY_SIZE(dms_genl_ops),
	.maxattr	= ARRAY_SIZE(dms_genl_policy) - 1,
	.policy		= dms_genl_policy,
	.mcgrps		= dms_genl_groups,
	.n_mcgrps	= ARRAY_SIZE(dms_genl_groups),
};

/**
 * dms_netlink_init() - begin to answer, and to tell
 *
 * Nodes and pools are there already.
 *
 * Context: process.
 * Return: 0 or -errno.
 */
int __init dms_netlink_init(void)
{
	int err = genl_register_family(&dms_genl_family);

	if (!err)
		dms_events_start();
	return err;
}

/**
 * dms_netlink_exit() - answer and tell no more
 *
 * No callback runs afterwards.
 *
 * Context: process.
 */
void dms_netlink_exit(void)
{
	dms_events_stop();
	genl_unregister_family(&dms_genl_family);
}
