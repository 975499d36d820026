// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of queue pairs, by rdma_cm.
 *
 * Event handlers here do not destroy, drain or wait, and never return an error
 * for a cm_id that a path has: they kill the path, and its fence destroys the
 * cm_id, which waits for the handler.  A killed path's events are ignored.
 *
 * Locks.  The core calls a handler with the cm_id's handler_mutex held, and
 * rdma_destroy_id() takes it.  So no handler may take what is held around
 * rdma_destroy_id():
 *
 *   node->lock			dms_cm_unlisten() destroys the listener under it
 *     handler_mutex		(of a cm_id)
 *       tp->setup_lock		making; the fence takes it without handler_mutex
 *       tp->up_lock
 *         session->lock	in dms_path_up()
 *
 * Finding the session of a request takes node->lock.  Therefore the listener's
 * handler only reads the request and leaves it to a work item.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "cm.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/dmastream.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include "addr.h"
#include "core/wire.h"
#include "fault.h"
#include "ibdev.h"
#include "node.h"
#include "path.h"
#include "session.h"
#include "stats.h"
#include "transport_rdma.h"

/* Requests that were read and wait for a worker; anybody can send them. */
#define DMS_CM_PENDING_MAX	128
#define DMS_CM_BACKLOG		128
/* A NIC whose receives are all taken is tried again so often, while others give back. */
#define DMS_CM_ROOM_TRIES	100
#define DMS_CM_ROOM_RETRY	msecs_to_jiffies(20)
/* How long a path that was refused waits for its peer to go. */
#define DMS_CM_REFUSED_GRACE	(HZ / 2)
/* A REFUSE message as private data of a reject. */
#define DMS_CM_REFUSE_BYTES	(sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_refuse))
/* What an rdma_cm event is as detail of DMASTREAM_ERR_PATH. */
#define DMS_CM_DETAIL(event)	((event) + 256)

/*
 * 2.1 s.  It matters only when the last packet of a burst is lost, which is rare
 * on a fabric made for RDMA, and a dead peer is noticed by the session, not by
 * this.  Too short is worse than too long: an emulated NIC on a loaded machine
 * then retries what was not lost, and rxe, which runs REG_MR again when it goes
 * back to an earlier request, ends the queue pair ("lkey not free").
 */
static unsigned int dms_param_ack_timeout = 19;
module_param_named(ack_timeout, dms_param_ack_timeout, uint, 0644);
MODULE_PARM_DESC(ack_timeout, "local ACK timeout of a queue pair, 4.096 us * 2^n, 8 to 20 (default 19: 2.1 s)");

/* -1: what rdma_cm has (default_roce_tos of its configfs) */
static int dms_param_dscp[DMS_LANES] = { [DMS_LANE_BULK] = -1, [DMS_LANE_LATENCY] = -1 };
module_param_named(dscp_bulk, dms_param_dscp[DMS_LANE_BULK], int, 0644);
MODULE_PARM_DESC(dscp_bulk, "traffic class (DSCP) of the bulk lane of sessions that are dialled from here, both ways, 0 to 63; -1: as rdma_cm is configured (default -1)");
module_param_named(dscp_latency, dms_param_dscp[DMS_LANE_LATENCY], int, 0644);
MODULE_PARM_DESC(dscp_latency, "the same for the latency lane (default -1)");

struct workqueue_struct *dms_rdma_wq;
static atomic_t dms_cm_pending;

struct dms_cm_listener {
	struct dms_node		*node;
	struct rdma_cm_id	*id;
};

/* A connection request until a path has its cm_id. */
struct dms_cm_request {
	struct work_struct	work;
	struct dms_node		*node;
	struct rdma_cm_id	*id;
	struct dms_cm		cm;
	u8			serves;		/* READs at once */
	u8			makes;
};

/* ---- both sides ---- */

static void dms_cm_killed_by(struct dms_path *path, u32 event)
{
	dms_path_kill(path, DMASTREAM_ERR_PATH, DMS_CM_DETAIL(event));
}

/*
 * @err: negative errno of something that this host lacks.  A path that had a carrier tries
 * again, until its session has lost patience.  One that was killed is at its end already.
 */
static void dms_cm_failed(struct dms_path *path, int err)
{
	if (err == -ESHUTDOWN)
		return;
	if (READ_ONCE(path->carriers))
		dms_path_kill(path, DMASTREAM_ERR_PATH, DMS_PATH_DETAIL_ERRNO - err);
	else
		dms_path_kill(path, DMASTREAM_ERR_DEVICE, -err);
}

/* setup_lock held, not dead: the fence cancels it */
static void dms_cm_start_limit(struct dms_rdma *tp)
{
	u32 ms = max(READ_ONCE(dms_param_handshake_ms), 100U);

	/* there is another way, which is to be found within the session's own limit */
	if (tp->path->session->tcp)
		ms /= 4;
	queue_delayed_work(dms_rdma_wq, &tp->limit_work, msecs_to_jiffies(ms));
}

/**
 * dms_cm_ack_ms() - when a queue pair sends again what was lost
 *
 * Return: milliseconds.
 */
u32 dms_cm_ack_ms(void)
{
	return (4096ULL << clamp(READ_ONCE(dms_param_ack_timeout), 8U, 20U)) / NSEC_PER_MSEC;
}

/* The default ACK timeout is not the same in all kernels, and can be seconds. */
static void dms_cm_tune(struct rdma_cm_id *id)
{
	rdma_set_ack_timeout(id, clamp(READ_ONCE(dms_param_ack_timeout), 8U, 20U));
}

/*
 * Before the address is resolved, since the route is made for it.  The request tells
 * the other side, whose packets then have the same class.
 */
static void dms_cm_set_class(struct rdma_cm_id *id, u8 lane)
{
	int dscp = READ_ONCE(dms_param_dscp[lane]);

	if (dscp >= 0)
		rdma_set_service_type(id, min(dscp, 63) << 2);
}

/* What the packets of the queue pair have: of the route, on both sides. */
static void dms_cm_note_class(struct dms_rdma *tp)
{
	const struct sa_path_rec *route = tp->id->route.path_rec;

	WRITE_ONCE(tp->dscp, route ? route->traffic_class >> 2 : 0);
}

/* @buf: room for sizeof(struct dms_wire_cm) */
static void dms_cm_param(struct dms_rdma *tp, struct rdma_conn_param *param, void *buf,
			 u8 serves)
{
	const struct dms_session *s = tp->path->session;
	struct dms_cm cm = {
		.version = s->version,
		.lane	= tp->path->lane,
		.index	= tp->path->index,
		.slots	= tp->path->my_slots,
		.slots_max = tp->path->moves ? tp->path->my_slots_max : 0,
		.epoch	= tp->path->resumes ? tp->path->epoch : 0,
	};

	memcpy(cm.session, s->mine.session, sizeof(cm.session));
	if (!tp->passive)
		memcpy(cm.cookie, s->theirs.cookie, sizeof(cm.cookie));

	memset(param, 0, sizeof(*param));
	param->private_data_len = dms_wire_cm_put(buf, &cm);
	param->private_data = buf;
	param->responder_resources = serves;
	param->initiator_depth = tp->path->reads_max;
	param->retry_count = 7;
	/* credits keep receiver-not-ready from happening; should it, it is not fatal */
	param->rnr_retry_count = 7;
}

static int dms_cm_path_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);

/* ---- the dialler ---- */

static void dms_cm_on_address(struct dms_rdma *tp)
{
	int ret = 0;

	mutex_lock(&tp->setup_lock);
	if (!tp->dead)
		ret = rdma_resolve_route(tp->id, max(dms_param_handshake_ms, 100U));
	mutex_unlock(&tp->setup_lock);
	if (ret)
		dms_cm_failed(tp->path, ret);
}

/*
 * The answer of dms_cm_connect() or dms_cm_accept(): when it was that other paths have
 * the receives, it is asked again by a work.  setup_lock held, not dead: the fence
 * cancels it.
 */
static int dms_cm_room_later(struct dms_rdma *tp, int ret)
{
	if (ret != -EAGAIN || tp->joined)
		return ret;
	if (++tp->room_tries > DMS_CM_ROOM_TRIES)
		return -ENOBUFS;
	queue_delayed_work(dms_rdma_wq, &tp->room_work, DMS_CM_ROOM_RETRY);
	return 0;
}

/* handler_mutex and setup_lock held, not dead */
static int dms_cm_connect(struct dms_rdma *tp)
{
	u8 buf[sizeof(struct dms_wire_cm)];
	struct rdma_conn_param param;
	struct dms_path *path = tp->path;
	int ret;

	if (!tp->room_tries && !dms_path_move(path, DMS_PATH_RESOLVING, DMS_PATH_CONNECTING))
		return -ESHUTDOWN;
	/* what the peer's HELLO promised; its answer may lower it */
	ret = dms_rdma_setup(tp, path->session->theirs.reads);
	if (ret)
		return ret;
	dms_cm_tune(tp->id);
	dms_cm_note_class(tp);
	dms_cm_param(tp, &param, buf, path->ibdev->max_reads);
	tp->asked = true;
	return rdma_connect_locked(tp->id, &param);
}

static void dms_cm_on_route(struct dms_rdma *tp)
{
	int ret = 0;

	mutex_lock(&tp->setup_lock);
	if (!tp->dead)
		ret = dms_cm_room_later(tp, dms_cm_connect(tp));
	mutex_unlock(&tp->setup_lock);
	if (ret)
		dms_cm_failed(tp->path, ret);
}

/*
 * The peer serves fewer READs than its HELLO said: one more in flight would
 * stall all that is sent behind it.  Nothing is in flight yet.
 */
static void dms_cm_lower_reads(struct dms_path *path, u32 reads)
{
	spin_lock(&path->lock);
	while (path->reads_max > reads) {
		struct dms_read *rd = list_last_entry(&path->reads_free, struct dms_read, node);

		if (list_empty(&path->reads_free))
			break;
		list_del_init(&rd->node);
		path->reads_max--;
	}
	spin_unlock(&path->lock);
}

/* What the peer will have posted at most. */
static void dms_cm_ceiling(struct dms_path *path, u32 slots_max)
{
	spin_lock(&path->lock);
	dms_slot_tx_ceiling(&path->slot_tx, slots_max);
	spin_unlock(&path->lock);
}

/*
 * In an event of rdma_cm, initiator_depth is what we may have in flight: the
 * other side's responder_resources.  By now it is also what the queue pair was
 * set to, since the core takes it from the same message.
 */
static void dms_cm_on_answer(struct dms_rdma *tp, const struct rdma_conn_param *answer)
{
	struct dms_path *path = tp->path;
	struct dms_cm cm;
	enum dms_rule rule;

	rule = dms_wire_cm_parse(answer->private_data, answer->private_data_len, &cm);
	if (!rule && cm.slots != path->slots)
		rule = DMS_RULE_CREDIT;		/* not what its HELLO promised */
	if (!rule && !cm.slots_max == path->moves)
		rule = DMS_RULE_CREDIT;
	if (!rule && cm.epoch != (path->resumes ? path->epoch : 0))
		rule = DMS_RULE_EPOCH;
	if (!rule && (cm.lane != path->lane || cm.index != path->index ||
		      memcmp(cm.session, path->session->mine.session, sizeof(cm.session))))
		rule = DMS_RULE_EPOCH;
	if (!rule && !answer->initiator_depth)
		rule = DMS_RULE_LENGTH;
	if (rule) {
		dms_stat_inc(DMS_STAT_PROTOCOL_ERRORS);
		dms_path_kill(path, DMASTREAM_ERR_PROTOCOL, rule);
		return;
	}
	dms_cm_lower_reads(path, answer->initiator_depth);
	dms_cm_ceiling(path, cm.slots_max);
	dms_rdma_up(tp);
}

/*
 * With our own reason, when a node refused; else rdma_cm's (nobody listens, or
 * the other side gave up).
 */
static void dms_cm_on_reject(struct dms_rdma *tp, struct rdma_cm_event *ev)
{
	u8 nonce[DMS_WIRE_NONCE];
	u32 reason, detail, len;
	const u8 *data;
	u8 bytes = 0;
	u16 type;

	data = rdma_consumer_reject_data(tp->id, ev, &bytes);
	if (data && bytes >= DMS_CM_REFUSE_BYTES &&
	    !dms_wire_msg_parse(data, &type, &len) && type == DMS_MSG_REFUSE &&
	    !dms_wire_refuse_parse(data + sizeof(struct dms_wire_msg), len,
				   &reason, &detail, nonce)) {
		pr_notice_ratelimited("%pISpc refused a queue pair: reason %u, detail %u\n",
				      &tp->id->route.addr.dst_addr, reason, detail);
		dms_path_kill(tp->path, DMASTREAM_ERR_REFUSED, reason);
		return;
	}
	if (!tp->passive)
		pr_notice_ratelimited("%pISpc refused a queue pair: %s%s\n",
				      &tp->id->route.addr.dst_addr,
				      rdma_reject_msg(tp->id, ev->status),
				      ev->status == IB_CM_REJ_INVALID_SERVICE_ID ?
				      "; does dmastream listen there?" : "");
	dms_cm_killed_by(tp->path, ev->event);
}

/* Of a cm_id that a path has. */
static int dms_cm_path_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct dms_rdma *tp = id->context;

	/* the fence destroys the cm_id after it set dead, and waits for us there */
	if (READ_ONCE(tp->dead))
		return 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		dms_cm_on_address(tp);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		dms_cm_on_route(tp);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (tp->passive)
			dms_rdma_up(tp);
		else
			dms_cm_on_answer(tp, &ev->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		dms_cm_on_reject(tp, ev);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* only while it has no queue pair: else ibdev.c came first */
		dms_path_kill(tp->path, DMASTREAM_ERR_DEVICE, ENODEV);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	default:
		dms_cm_killed_by(tp->path, ev->event);
		break;
	}
	return 0;
}

/* setup_lock held, not dead */
static int dms_cm_resolve(struct dms_rdma *tp, const struct sockaddr_storage *src,
			  const struct sockaddr_storage *dst)
{
	struct sockaddr_storage from = {}, to;
	struct rdma_cm_id *id;

	dms_addr_plain(&to, dst);
	if (src) {
		dms_addr_plain(&from, src);
		/* in both families the port is at the same place */
		((struct sockaddr_in *)&from)->sin_port = 0;
	}
	if (from.ss_family != to.ss_family)
		src = NULL;

	id = rdma_create_id(tp->path->session->node->net, dms_cm_path_event, tp,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	tp->id = id;		/* destroyed by the fence */
	dms_cm_set_class(id, tp->path->lane);
	if (!dms_path_move(tp->path, DMS_PATH_INIT, DMS_PATH_RESOLVING))
		return -ESHUTDOWN;
	dms_cm_start_limit(tp);
	return rdma_resolve_addr(id, src ? (struct sockaddr *)&from : NULL,
				 (struct sockaddr *)&to, max(dms_param_handshake_ms, 100U));
}

/**
 * dms_cm_dial() - connect a path
 * @path: state INIT; the caller has a reference
 * @src: own address, the port does not matter; or NULL
 * @dst: the peer's, with its rdma_port
 *
 * Comes back at once.  Later either dms_path_up() or dms_path_kill() is called;
 * the latter after handshake_ms at the latest.
 *
 * Context: process, may sleep, but does not wait for the network.
 * Return: 0, or a negative errno; then the path was killed.
 */
int dms_cm_dial(struct dms_path *path, const struct sockaddr_storage *src,
		const struct sockaddr_storage *dst)
{
	struct dms_rdma *tp = dms_rdma_create(path, false);
	int ret = -ESHUTDOWN;

	if (IS_ERR(tp)) {
		ret = PTR_ERR(tp);
	} else {
		mutex_lock(&tp->setup_lock);
		if (!tp->dead)
			ret = dms_cm_resolve(tp, src, dst);
		mutex_unlock(&tp->setup_lock);
		dms_rdma_put(tp);
	}
	if (ret)
		dms_cm_failed(path, ret);
	return ret;
}

/* ---- the acceptor ---- */

/* @reason: enum dmastream_refusal */
static void dms_cm_refuse(struct rdma_cm_id *id, u32 reason, u32 detail)
{
	u8 buf[DMS_CM_REFUSE_BYTES];
	u32 len = dms_wire_refuse_put(buf, reason, detail, dms_boot_nonce);

	dms_stat_refused(reason);
	pr_notice_ratelimited("refused a queue pair of %pISpc: reason %u, detail %u\n",
			      &id->route.addr.dst_addr, reason, detail);
	rdma_reject(id, buf, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/* Heard, and the way back is to be tried, too. */
static void dms_cm_answer_probe(struct rdma_cm_id *id)
{
	struct dms_ibdev *d = dms_ibdev_get(id->device);
	u8 buf[DMS_CM_REFUSE_BYTES];
	u32 len = 0;

	/* a device that is not used here is no way: nothing is said but that */
	if (d) {
		len = dms_wire_refuse_put(buf, 0, 0, dms_boot_nonce);
		dms_ibdev_put(d);
	}
	rdma_reject(id, len ? buf : NULL, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/* What the peer hears when something was missing here. */
static u32 dms_cm_reason(int err)
{
	return err == -ENOMEM || err == -ENOSPC || err == -ENOBUFS ? DMASTREAM_REFUSED_MEMORY :
								     DMASTREAM_REFUSED_CLOSED;
}

/* Of a cm_id that waits for dms_cm_request_work(), which will find it useless. */
static int dms_cm_request_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return 0;
}

/* handler_mutex and setup_lock held, not dead */
static int dms_cm_accept(struct dms_rdma *tp)
{
	u8 buf[sizeof(struct dms_wire_cm)];
	struct rdma_conn_param param;
	int ret;

	if (!tp->room_tries) {
		if (!dms_path_move(tp->path, DMS_PATH_INIT, DMS_PATH_CONNECTING))
			return -ESHUTDOWN;
		dms_cm_start_limit(tp);
	}
	ret = dms_rdma_setup(tp, tp->makes);
	if (ret)
		return ret;
	dms_cm_ceiling(tp->path, tp->peer_slots_max);
	dms_cm_tune(tp->id);
	dms_cm_note_class(tp);
	dms_cm_param(tp, &param, buf, min_t(u32, tp->path->ibdev->max_reads, tp->serves));
	tp->asked = true;
	return rdma_accept(tp->id, &param);	/* rejects by itself when it fails */
}

/*
 * The same, and who is turned away hears why.  The path then stays for a moment: its end
 * would end the session, and the peer might see that first, which tells it less.
 * handler_mutex and setup_lock held, not dead.
 */
static int dms_cm_accept_or_refuse(struct dms_rdma *tp)
{
	int ret = dms_cm_room_later(tp, dms_cm_accept(tp));

	if (!ret || tp->asked)
		return ret;
	dms_cm_refuse(tp->id, dms_cm_reason(ret), -ret);
	/* the fence cancels it */
	mod_delayed_work(dms_rdma_wq, &tp->limit_work, DMS_CM_REFUSED_GRACE);
	return 0;
}

/**
 * dms_cm_room_work() - connect, or accept, once more
 * @work: room_work of a transport
 *
 * Others had the NIC's receives.  The fence cancels this before it destroys the cm_id.
 *
 * Context: process, may sleep.
 */
void dms_cm_room_work(struct work_struct *work)
{
	struct dms_rdma *tp = container_of(to_delayed_work(work), struct dms_rdma, room_work);
	struct rdma_cm_id *id = tp->id;
	int ret = 0;

	rdma_lock_handler(id);
	mutex_lock(&tp->setup_lock);
	if (!tp->dead)
		ret = tp->passive ? dms_cm_accept_or_refuse(tp) :
				    dms_cm_room_later(tp, dms_cm_connect(tp));
	rdma_unlock_handler(id);
	mutex_unlock(&tp->setup_lock);
	if (ret)
		dms_cm_failed(tp->path, ret);
}

/*
 * Gives the cm_id to the path, in whatever state that is, and accepts.  The
 * handler_mutex keeps events away until the cm_id's context is the path's.
 */
static void dms_cm_hand_over(struct dms_cm_request *req, struct dms_rdma *tp)
{
	struct rdma_cm_id *id = req->id;
	int ret = -ESHUTDOWN;

	rdma_lock_handler(id);
	mutex_lock(&tp->setup_lock);
	if (!tp->dead) {
		id->context = tp;
		id->event_handler = dms_cm_path_event;
		tp->id = id;		/* destroyed by the fence */
		req->id = NULL;
		tp->serves = req->serves;
		tp->makes = req->makes;
		tp->peer_slots_max = req->cm.slots_max;
		ret = dms_cm_accept_or_refuse(tp);
	}
	/* in this order: with setup_lock, the fence cannot free the cm_id under our unlock */
	rdma_unlock_handler(id);
	mutex_unlock(&tp->setup_lock);
	if (ret)
		dms_cm_failed(tp->path, ret);
}

static u32 dms_cm_attach(struct dms_cm_request *req, struct dms_session *s, int *err)
{
	struct dms_path *path;
	struct dms_rdma *tp;

	*err = 0;
	if (req->cm.lane >= DMS_LANES || req->cm.slots != s->theirs.slots ||
	    req->cm.version != s->version ||
	    !req->cm.slots_max != !(s->mine.features & s->theirs.features & DMS_FEATURE_DEPTH) ||
	    !req->cm.epoch != !s->resumes)
		return DMASTREAM_REFUSED_MALFORMED;

	path = dms_session_next_carrier(s, &req->cm);
	if (!path)
		path = dms_path_create(s, &dms_rdma_ops, req->cm.lane, req->cm.index);
	if (IS_ERR(path)) {
		*err = PTR_ERR(path);
		/* no such path, or it is there already */
		return *err == -EINVAL || *err == -EBUSY ? DMASTREAM_REFUSED_LIMIT :
							   dms_cm_reason(*err);
	}
	tp = dms_rdma_create(path, true);
	if (IS_ERR(tp)) {
		*err = PTR_ERR(tp);
		dms_cm_failed(path, *err);
	} else {
		dms_cm_hand_over(req, tp);
		dms_rdma_put(tp);
	}
	dms_path_put(path);		/* of either of the two */
	return *err ? dms_cm_reason(*err) : 0;
}

static void dms_cm_request_work(struct work_struct *work)
{
	struct dms_cm_request *req = container_of(work, struct dms_cm_request, work);
	struct dms_session *s = dms_session_by_cookie(req->node, &req->cm);
	u32 reason;
	int err = 0;

	if (s) {
		reason = dms_cm_attach(req, s, &err);
		dms_session_put(s);	/* dms_session_by_cookie()'s */
	} else {
		reason = DMASTREAM_REFUSED_AUTH;
	}
	if (req->id) {
		/* no path took it */
		dms_cm_refuse(req->id, reason ?: DMASTREAM_REFUSED_CLOSED, -err);
		rdma_destroy_id(req->id);
	}
	kfree(req);
	atomic_dec(&dms_cm_pending);
}

/*
 * A request arrived; @id is its own cm_id, with the listener's context.  An
 * error has the core destroy the cm_id.
 */
static int dms_cm_on_request(struct dms_cm_listener *l, struct rdma_cm_id *id,
			     const struct rdma_conn_param *asked)
{
	struct dms_cm_request *req;
	enum dms_rule rule;
	struct dms_cm cm;
	u32 reason;

	rule = dms_wire_cm_parse(asked->private_data, asked->private_data_len, &cm);
	if (rule) {
		dms_cm_refuse(id, rule == DMS_RULE_TYPE ? DMASTREAM_REFUSED_VERSION :
			      DMASTREAM_REFUSED_MALFORMED, rule);
		return -EPROTO;
	}
	if (cm.index == DMS_CM_PROBE) {
		dms_cm_answer_probe(id);
		return -ECONNREFUSED;
	}
	reason = dms_fault_refuses(DMS_FAULT_REFUSE_CONNECTS, &id->route.addr.dst_addr);
	if (reason) {
		dms_cm_refuse(id, reason, 0);
		return -ECONNREFUSED;
	}
	if (!asked->responder_resources || !asked->initiator_depth) {
		dms_cm_refuse(id, DMASTREAM_REFUSED_MALFORMED, DMS_RULE_LENGTH);
		return -EPROTO;
	}
	if (atomic_inc_return(&dms_cm_pending) > DMS_CM_PENDING_MAX) {
		dms_cm_refuse(id, DMASTREAM_REFUSED_LIMIT, 0);
		goto out;
	}
	req = dms_fault_alloc(CM_REQUEST) ? NULL : kzalloc(sizeof(*req), GFP_KERNEL);
	if (!req) {
		dms_cm_refuse(id, DMASTREAM_REFUSED_MEMORY, 0);
		goto out;
	}

	INIT_WORK(&req->work, dms_cm_request_work);
	req->node = l->node;
	req->id = id;
	req->cm = cm;
	/*
	 * The core has turned them for us: initiator_depth is what we may have
	 * in flight (the peer's responder_resources), responder_resources what
	 * the peer wants to have.
	 */
	req->makes = asked->initiator_depth;
	req->serves = asked->responder_resources;
	id->context = req;
	id->event_handler = dms_cm_request_event;
	queue_work(dms_rdma_wq, &req->work);
	return 0;
out:
	atomic_dec(&dms_cm_pending);
	return -ENOMEM;
}

/* node->lock must not be taken here. */
static int dms_cm_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return dms_cm_on_request(id->context, id, &ev->param.conn);
}

static struct rdma_cm_id *dms_cm_listen_on(struct dms_cm_listener *l, struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(l->node->net, dms_cm_listen_event, l, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	ret = addr->sa_family == AF_INET6 ? rdma_set_afonly(id, 0) : 0;
	if (!ret)
		ret = rdma_bind_addr(id, addr);
	if (!ret)
		ret = rdma_listen(id, DMS_CM_BACKLOG);
	if (ret) {
		rdma_destroy_id(id);
		return ERR_PTR(ret);
	}
	return id;
}

/**
 * dms_cm_listen() - take connection requests of queue pairs
 * @node: its lock held; not listening
 * @port: of rdma_cm, which are apart from TCP's
 *
 * On all addresses and devices, also those that come later.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno (-EADDRINUSE).
 */
int dms_cm_listen(struct dms_node *node, u16 port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct dms_cm_listener *l;

	if (node->rdma)
		return -EALREADY;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	l->node = node;

	/* IPv6's takes IPv4 too, where there is IPv6 */
	l->id = dms_cm_listen_on(l, (struct sockaddr *)&in6);
	if (IS_ERR(l->id) && PTR_ERR(l->id) != -EADDRINUSE)
		l->id = dms_cm_listen_on(l, (struct sockaddr *)&in);
	if (IS_ERR(l->id)) {
		int ret = PTR_ERR(l->id);

		kfree(l);
		return ret;
	}
	node->rdma = l;
	return 0;
}

/**
 * dms_cm_unlisten() - take no more connection requests
 * @node: its lock held
 *
 * No handler of the listener runs afterwards; requests that it read before may
 * still be looked at, see dms_cm_flush().
 *
 * Context: process, may sleep.
 */
void dms_cm_unlisten(struct dms_node *node)
{
	struct dms_cm_listener *l = node->rdma;

	if (!l)
		return;
	node->rdma = NULL;
	rdma_destroy_id(l->id);
	kfree(l);
}

/**
 * dms_cm_flush() - wait for requests that arrived before dms_cm_unlisten()
 *
 * They use the node.  Neither node->lock nor a session's may be held.
 *
 * Context: process, may sleep.
 */
void dms_cm_flush(void)
{
	flush_workqueue(dms_rdma_wq);
}

/**
 * dms_cm_init() - module load
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int dms_cm_init(void)
{
	dms_rdma_wq = alloc_workqueue("dmastream_rdma", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return dms_rdma_wq ? 0 : -ENOMEM;
}

/**
 * dms_cm_exit() - module unload, when every path is gone
 *
 * Context: process.
 */
void dms_cm_exit(void)
{
	destroy_workqueue(dms_rdma_wq);
	dms_rdma_wq = NULL;
}
