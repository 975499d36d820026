// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does RDMA work between two hosts?  A connection request that asks for nothing: the other
 * side refuses it, and that it does is the answer.  Connection management goes by the same
 * port, and on Ethernet by the same UDP, as what is to follow.
 *
 * Its index is that of no path, so that nobody takes it for a dial, however late it comes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "addr.h"
#include "cm.h"
#include "core/wire.h"
#include "ibdev.h"
#include "node.h"
#include "path.h"
#include "session.h"

/* An answer is not waited for any longer; a tenth of that is how often the path is looked at. */
#define DMS_PROBE_MS		1000U

struct dms_probe {
	const struct dms_path	*path;
	wait_queue_head_t	wait;
	int			result;		/* 1: none yet */
};

static void probe_end(struct dms_probe *p, int result)
{
	WRITE_ONCE(p->result, result);
	wake_up_all(&p->wait);
}

static int probe_ask(struct dms_probe *p, struct rdma_cm_id *id)
{
	const struct dms_session *s = p->path->session;
	u8 buf[sizeof(struct dms_wire_cm)];
	struct dms_cm cm = {
		.version = s->version,
		.lane = p->path->lane,
		.index = DMS_CM_PROBE,
		.slots = s->mine.slots,
	};
	struct rdma_conn_param param = {
		.private_data = buf,
		.responder_resources = 1,
		.initiator_depth = 1,
		/*
		 * There is none.  One of a number that is known would be taken for the same
		 * connection made again: the last ones are given out by nobody.
		 */
		.qp_num = 0xff0000 | (get_random_u32() & 0xffff),
	};

	memcpy(cm.session, s->mine.session, sizeof(cm.session));
	param.private_data_len = dms_wire_cm_put(buf, &cm);
	return rdma_connect_locked(id, &param);
}

/* One that a queue pair would not be made on is not asked: neither could it answer. */
static int probe_device(const struct rdma_cm_id *id)
{
	struct dms_ibdev *d = dms_ibdev_get(id->device);

	if (!d)
		return -ENODEV;
	dms_ibdev_put(d);
	return 0;
}

/* The cm_id is destroyed by dms_cm_probe(), which waits for this. */
static int probe_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct dms_probe *p = id->context;
	int err = 0;
	u8 len;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = probe_device(id) ?: rdma_resolve_route(id, DMS_PROBE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = probe_ask(p, id);
		break;
	case RDMA_CM_EVENT_REJECTED:
		/* with our REFUSE, or by rdma_cm: nobody listens */
		probe_end(p, rdma_consumer_reject_data(id, ev, &len) ? 0 : -ECONNREFUSED);
		break;
	default:
		err = -EHOSTUNREACH;
		break;
	}
	if (err)
		probe_end(p, err);
	return 0;
}

static bool probe_over(const struct dms_probe *p)
{
	return READ_ONCE(p->result) <= 0 || !dms_path_is_up_hint(p->path);
}

static void probe_wait(struct dms_probe *p)
{
	unsigned long step = msecs_to_jiffies(DMS_PROBE_MS / 10), end;

	end = jiffies + msecs_to_jiffies(DMS_PROBE_MS);
	/* the end of the path, which waits for us, does not wake */
	while (time_before(jiffies, end) && !wait_event_timeout(p->wait, probe_over(p), step))
		;
}

/**
 * dms_cm_probe() - ask whether RDMA works
 * @path: the caller has a reference; nothing of it is changed
 * @src: own address
 * @dst: the peer's, with its rdma_port
 *
 * Context: process; sleeps for DMS_PROBE_MS at most, or until the path has failed.
 * Return: 0: the peer has answered; or a negative errno.
 */
int dms_cm_probe(struct dms_path *path, const struct sockaddr_storage *src,
		 const struct sockaddr_storage *dst)
{
	struct dms_probe p = { .path = path, .result = 1 };
	struct sockaddr_storage from, to;
	struct rdma_cm_id *id;
	int err;

	init_waitqueue_head(&p.wait);
	/* at its exit it ends the session, which waits for us; but takes no reference any more */
	if (!check_net(path->session->node->net))
		return -ENODEV;
	id = rdma_create_id(path->session->node->net, probe_event, &p, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	dms_addr_plain(&from, src);
	dms_addr_plain(&to, dst);
	err = rdma_resolve_addr(id, from.ss_family == to.ss_family ? (struct sockaddr *)&from : NULL,
				(struct sockaddr *)&to, DMS_PROBE_MS);
	if (!err)
		probe_wait(&p);
	rdma_destroy_id(id);		/* waits for the handler, and none comes after it */
	return err ?: p.result > 0 ? -ETIMEDOUT : p.result;
}
