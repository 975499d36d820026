// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wire: ports, the links from them to one switch, and the switch's queues.
 *
 *	QPs -> [pump, rate] -> [queue of the receiver's port, rate] -> [delay] -> QP
 *
 * A port serialises what its queue pairs send, at its rate.  The switch keeps a
 * queue for each port, drained at that port's rate, so that it fills when
 * several send to one.  From @ecn_at bytes packets are marked; from @pfc_at the sender of
 * what comes is paused until the queue is half that; beyond @queue_limit packets
 * are dropped.  Then they are under way for @delay.
 *
 * A port without a rate takes no time; a queue is then empty whenever one looks.
 * What is not for a port of this guest leaves as a frame (frame.c).
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "device.h"
#include "fault.h"
#include "frame.h"
#include "pkt.h"
#include "qp.h"
#include "rx.h"
#include "wire.h"

bool hwsim_zero_cost;
module_param_named(zero_cost, hwsim_zero_cost, bool, 0444);
MODULE_PARM_DESC(zero_cost, "no packets within a guest: a message is one copy and a completion (default N)");

bool hwsim_permissive;
module_param_named(permissive, hwsim_permissive, bool, 0644);
MODULE_PARM_DESC(permissive, "queue pairs take random turns, bytes of a message land in any order (default N)");

bool hwsim_frames;
module_param_named(frames, hwsim_frames, bool, 0644);
MODULE_PARM_DESC(frames, "packets to other ports of this guest leave as frames, too (default N)");

/* All ports; under the simulator's lock. */
static LIST_HEAD(ports);
static u32 generation = 1;

/* Unpausing waits until the queue is this part of what paused it. */
#define HWSIM_XON_SHIFT	1

/* Packets that a port gets before the others have their turn; more than one, as many may send to one. */
#define HWSIM_BURST	8

static u64 airtime(const struct hwsim_port *port, const struct hwsim_pkt *pkt)
{
	if (!port->rate)
		return 0;
	return div64_u64((pkt->len + HWSIM_PKT_OVERHEAD) * (u64)NSEC_PER_SEC, port->rate);
}

/**
 * hwsim_wire_is_for() - has a port an address?
 * @port: it
 * @gid: address
 *
 * Return: whether.
 */
bool hwsim_wire_is_for(const struct hwsim_port *port, const union ib_gid *gid)
{
	unsigned int i;

	for_each_set_bit(i, port->has_gid, HWSIM_GIDS)
		if (!memcmp(&port->gids[i], gid, sizeof(*gid)))
			return true;
	return false;
}

static struct hwsim_port *find_gid(const union ib_gid *gid)
{
	struct hwsim_port *port;

	list_for_each_entry(port, &ports, node)
		if (hwsim_wire_is_for(port, gid))
			return port;
	return NULL;
}

/**
 * hwsim_wire_route() - the port with an address
 * @route: what was found before; updated
 * @gid: address
 *
 * Return: the port; NULL when it is not in this guest.
 */
struct hwsim_port *hwsim_wire_route(struct hwsim_route *route, const union ib_gid *gid)
{
	hwsim_assert_locked();
	if (route->generation != generation) {
		route->port = find_gid(gid);
		route->generation = generation;
	}
	return route->port;
}

/** hwsim_wire_changed() - an address came or went: all routes are stale */
void hwsim_wire_changed(void)
{
	hwsim_assert_locked();
	if (!++generation)
		generation = 1;
}

/**
 * hwsim_wire_port_of() - the port on a netdev
 * @ndev: netdev
 *
 * Return: the port or NULL.
 */
struct hwsim_port *hwsim_wire_port_of(const struct net_device *ndev)
{
	struct hwsim_port *port;

	hwsim_assert_locked();
	list_for_each_entry(port, &ports, node)
		if (port->ndev == ndev)
			return port;
	return NULL;
}

/**
 * hwsim_pkt_new() - a packet
 * @len: bytes of payload
 *
 * Return: zeroed headers; or NULL, which the protocol takes for a loss.
 */
struct hwsim_pkt *hwsim_pkt_new(u32 len)
{
	struct hwsim_pkt *pkt = kmalloc(sizeof(*pkt) + len, GFP_ATOMIC | __GFP_NOWARN);

	if (pkt) {
		memset(pkt, 0, sizeof(*pkt));
		pkt->len = len;
	}
	return pkt;
}

/**
 * hwsim_pkt_free() - forget a packet
 * @pkt: it
 */
void hwsim_pkt_free(struct hwsim_pkt *pkt)
{
	kfree(pkt);
}

static void unpause(struct hwsim_port *by)
{
	struct hwsim_port *port;

	list_for_each_entry(port, &ports, node)
		if (port->paused_by == by)
			port->paused_by = NULL;
}

static void arm_rx(struct hwsim_port *port)
{
	struct hwsim_pkt *pkt;
	u64 when = U64_MAX;

	pkt = list_first_entry_or_null(&port->queue, struct hwsim_pkt, node);
	if (pkt)
		when = pkt->at;
	pkt = list_first_entry_or_null(&port->flight, struct hwsim_pkt, node);
	if (pkt)
		when = min(when, pkt->at);
	if (when > hwsim_now() && when != U64_MAX)
		hwsim_timer_at(&port->rx_timer, when);
}

/* Into the queue of a port of this guest; @from is who may be paused for it, or NULL. */
static void enqueue(struct hwsim_port *to, struct hwsim_port *from, struct hwsim_pkt *pkt, u64 when)
{
	u32 bytes = pkt->len + HWSIM_PKT_OVERHEAD;

	if (!to->up) {
		hwsim_count(to, HWSIM_LINK_DROPS);
		hwsim_pkt_free(pkt);
		return;
	}
	/*
	 * Without a rate it is no queue, but what the simulation has not come to yet.
	 * Those of this guest wait for it; other machines do not.
	 */
	if ((to->rate || !from) && to->queue_bytes + bytes > to->queue_limit) {
		hwsim_count(to, HWSIM_QUEUE_DROPS);
		hwsim_pkt_free(pkt);
		return;
	}
	if (to->ecn_at && to->queue_bytes >= to->ecn_at) {
		pkt->ecn = true;
		hwsim_count(to, HWSIM_ECN_MARKS);
	}
	to->queue_bytes += bytes;
	if (to->queue_bytes > to->stats.count[HWSIM_QUEUE_HIGH])
		to->stats.count[HWSIM_QUEUE_HIGH] = to->queue_bytes;
	if (from && to->pfc_at && to->queue_bytes >= to->pfc_at && !from->paused_by) {
		from->paused_by = to;
		hwsim_count(to, HWSIM_PFC_PAUSES);
	}
	to->queue_free = max(when, to->queue_free) + airtime(to, pkt);
	pkt->at = to->queue_free;
	list_add_tail(&pkt->node, &to->queue);
}

/**
 * hwsim_wire_send() - put a packet on the wire
 * @from: sender's port
 * @route: the receiver's, as the sender remembers it
 * @pkt: with its addresses; taken over
 */
void hwsim_wire_send(struct hwsim_port *from, struct hwsim_route *route, struct hwsim_pkt *pkt)
{
	struct hwsim_port *to = hwsim_wire_route(route, &pkt->dgid);

	hwsim_count(from, HWSIM_TX_PACKETS);
	hwsim_count_add(from, HWSIM_TX_BYTES, pkt->len);
	from->tx_free = max(from->tx_free, hwsim_now()) + airtime(from, pkt);
	if (!from->up) {
		hwsim_count(from, HWSIM_LINK_DROPS);
		hwsim_pkt_free(pkt);
		return;
	}
	if (to && (to == from || !hwsim_frames)) {
		enqueue(to, from, pkt, from->tx_free);
		return;
	}
	hwsim_count(from, HWSIM_TX_FRAMES);
	hwsim_frame_send(from, pkt);
	hwsim_pkt_free(pkt);
}

/* A packet that the tester holds back. */
struct late {
	struct hwsim_timer timer;
	struct list_head node;
	struct hwsim_port *from;
	struct hwsim_pkt *pkt;
};

static void late_due(struct hwsim_timer *timer)
{
	struct late *late = container_of(timer, struct late, timer);
	struct hwsim_route route = { };

	list_del(&late->node);
	hwsim_wire_send(late->from, &route, late->pkt);
	kfree(late);
}

/**
 * hwsim_wire_send_fault() - put a packet on the wire, unless the tester has other plans
 * @from: sender's port
 * @route: the receiver's, as the sender remembers it
 * @pkt: with its addresses; taken over
 * @fault: what is to go wrong with it: HWSIM_FAULT_LOSE, HWSIM_FAULT_TWICE, a delay in us, or 0
 */
void hwsim_wire_send_fault(struct hwsim_port *from, struct hwsim_route *route,
			   struct hwsim_pkt *pkt, u32 fault)
{
	struct hwsim_pkt *copy;
	struct late *late;

	if (likely(!fault)) {
		hwsim_wire_send(from, route, pkt);
		return;
	}
	hwsim_count(from, HWSIM_INJECTED);
	if (fault == HWSIM_FAULT_LOSE) {
		hwsim_pkt_free(pkt);
		return;
	}
	if (fault == HWSIM_FAULT_TWICE) {
		copy = kmemdup(pkt, sizeof(*pkt) + pkt->len, GFP_ATOMIC);
		hwsim_wire_send(from, route, pkt);
		if (copy)
			hwsim_wire_send(from, route, copy);
		return;
	}
	late = kmalloc(sizeof(*late), GFP_ATOMIC);
	if (!late) {
		hwsim_pkt_free(pkt);
		return;
	}
	late->from = from;
	late->pkt = pkt;
	list_add_tail(&late->node, &from->late);
	hwsim_timer_setup(&late->timer, late_due);
	hwsim_timer_at(&late->timer, hwsim_now() + (u64)fault * NSEC_PER_USEC);
}

/**
 * hwsim_wire_receive() - a packet came from another machine
 * @to: the port it came to
 * @pkt: taken over; nothing of it has been checked but that its payload is there
 */
void hwsim_wire_receive(struct hwsim_port *to, struct hwsim_pkt *pkt)
{
	hwsim_assert_locked();
	hwsim_count(to, HWSIM_RX_FRAMES);
	if (!hwsim_wire_is_for(to, &pkt->dgid)) {
		hwsim_count(to, HWSIM_BAD_PACKET);
		hwsim_pkt_free(pkt);
		return;
	}
	enqueue(to, NULL, pkt, hwsim_now());
	hwsim_run();
}

/* The head of the queue starts on its way, and the head of those on their way arrives. */
static bool deliver_one(struct hwsim_port *port)
{
	struct hwsim_pkt *pkt;
	bool busy = false;

	pkt = list_first_entry_or_null(&port->queue, struct hwsim_pkt, node);
	if (pkt && pkt->at <= hwsim_now()) {
		pkt->at += port->delay;
		list_move_tail(&pkt->node, &port->flight);
		port->queue_bytes -= pkt->len + HWSIM_PKT_OVERHEAD;
		if (port->queue_bytes <= port->pfc_at >> HWSIM_XON_SHIFT)
			unpause(port);
		busy = true;
	}
	pkt = list_first_entry_or_null(&port->flight, struct hwsim_pkt, node);
	if (pkt && pkt->at <= hwsim_now()) {
		list_del(&pkt->node);
		hwsim_count(port, HWSIM_RX_PACKETS);
		hwsim_count_add(port, HWSIM_RX_BYTES, pkt->len);
		if (!hwsim_rx(container_of(port, struct hwsim_dev, port), pkt))
			hwsim_pkt_free(pkt);
		busy = true;
	}
	return busy;
}

/**
 * hwsim_wire_deliver() - move what is due, some packets a port
 *
 * Return: something moved.
 */
bool hwsim_wire_deliver(void)
{
	struct hwsim_port *port;
	bool busy = false;
	int n;

	list_for_each_entry(port, &ports, node) {
		if (list_empty(&port->queue) && list_empty(&port->flight))
			continue;
		for (n = 0; n < HWSIM_BURST && deliver_one(port); n++)
			busy = true;
		if (n < HWSIM_BURST)
			arm_rx(port);
	}
	return busy;
}

static struct hwsim_qp *pick(struct hwsim_port *port)
{
	struct hwsim_qp *qp;
	u32 skip;

	qp = list_first_entry(&port->ready, struct hwsim_qp, ready);
	if (!hwsim_permissive)
		return qp;
	/* 9.5: nothing is said about the order of different queue pairs */
	for (skip = get_random_u8() % 4; skip; skip--) {
		if (list_is_last(&qp->ready, &port->ready))
			break;
		qp = list_next_entry(qp, ready);
	}
	return qp;
}

/**
 * hwsim_wire_pump() - let one queue pair of each port do one thing
 *
 * Return: one did.
 */
bool hwsim_wire_pump(void)
{
	struct hwsim_port *port;
	struct hwsim_qp *qp;
	bool busy = false;

	list_for_each_entry(port, &ports, node) {
		if (list_empty(&port->ready) || port->paused_by)
			continue;
		if (port->tx_free > hwsim_now()) {
			hwsim_timer_at(&port->tx_timer, port->tx_free);
			continue;
		}
		qp = pick(port);
		list_del_init(&qp->ready);
		if (hwsim_qp_work(qp))
			hwsim_qp_ready(qp);
		busy = true;
	}
	return busy;
}

static void wake(struct hwsim_timer *unused)
{
	/* that the simulation runs is all that it takes */
}

/**
 * hwsim_wire_attach() - a port joins the switch
 * @port: zeroed but for its netdev
 */
void hwsim_wire_attach(struct hwsim_port *port)
{
	INIT_LIST_HEAD(&port->ready);
	INIT_LIST_HEAD(&port->queue);
	INIT_LIST_HEAD(&port->flight);
	INIT_LIST_HEAD(&port->late);
	hwsim_timer_setup(&port->tx_timer, wake);
	hwsim_timer_setup(&port->rx_timer, wake);
	port->queue_limit = HWSIM_QUEUE_BYTES;
	hwsim_lock();
	list_add_tail(&port->node, &ports);
	hwsim_wire_changed();
	hwsim_unlock();
}

/**
 * hwsim_wire_detach() - a port leaves; what was on its way to it is lost
 * @port: no queue pair is left on it
 */
void hwsim_wire_detach(struct hwsim_port *port)
{
	struct hwsim_pkt *pkt, *next;
	struct late *late, *next_late;

	hwsim_lock();
	list_del(&port->node);
	hwsim_wire_changed();
	unpause(port);
	hwsim_timer_stop(&port->tx_timer);
	hwsim_timer_stop(&port->rx_timer);
	list_splice_tail_init(&port->flight, &port->queue);
	list_for_each_entry_safe(pkt, next, &port->queue, node)
		hwsim_pkt_free(pkt);
	INIT_LIST_HEAD(&port->queue);
	list_for_each_entry_safe(late, next_late, &port->late, node) {
		hwsim_timer_stop(&late->timer);
		hwsim_pkt_free(late->pkt);
		kfree(late);
	}
	WARN_ON(!list_empty(&port->ready));
	hwsim_unlock();
}
