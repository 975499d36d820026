// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: links, NICs and the switch.
 */
#include <stdlib.h>
#include <string.h>

#include "dmssim_fabric.h"

static void nic_run(struct sim_nic *nic);
static void port_run(struct sim_port *port);

static void fifo_init(struct sim_fifo *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static void fifo_add(struct sim_fifo *q, struct sim_pkt *pkt)
{
	pkt->next = NULL;
	*q->last = pkt;
	q->last = &pkt->next;
}

static struct sim_pkt *fifo_take(struct sim_fifo *q)
{
	struct sim_pkt *pkt = q->first;

	if (!pkt)
		return NULL;
	q->first = pkt->next;
	if (!q->first)
		q->last = &q->first;
	return pkt;
}

static struct sim_pkt *pkt_get(struct sim_fabric *f)
{
	struct sim_pkt *pkt = f->free_pkts;

	if (!pkt)
		return sim_alloc(sizeof(*pkt));
	f->free_pkts = pkt->next;
	return pkt;
}

static void pkt_put(struct sim_fabric *f, struct sim_pkt *pkt)
{
	pkt->next = f->free_pkts;
	f->free_pkts = pkt;
}

static uint64_t wire_ps(const struct sim_fabric *f, uint32_t bytes)
{
	return (uint64_t)bytes * f->conf.ps_per_byte;
}

/* ---- the switch ---- */

static uint64_t pfc_threshold(const struct sim_fabric *f)
{
	uint64_t free = f->conf.buffer - (f->used < f->conf.buffer ? f->used : f->conf.buffer);

	return f->conf.pfc == SIM_PFC_STATIC ? f->conf.pfc_bytes : free >> f->conf.pfc_shift;
}

static void nic_pause(void *obj, void *arg)
{
	struct sim_nic *nic = obj;

	(void)arg;
	nic->paused = true;
	nic->paused_at = nic->fabric->events->now;
}

static void nic_resume(void *obj, void *arg)
{
	struct sim_nic *nic = obj;

	(void)arg;
	nic->paused = false;
	nic->paused_ps += nic->fabric->events->now - nic->paused_at;
	nic_run(nic);
}

static void port_pause(struct sim_port *port)
{
	struct sim_fabric *f = port->fabric;

	port->pausing = true;
	f->pauses++;
	sim_after(f->events, f->conf.prop_ps, nic_pause, &f->nic[port->host], NULL);
}

static void port_resume(struct sim_port *port)
{
	struct sim_fabric *f = port->fabric;

	port->pausing = false;
	sim_after(f->events, f->conf.prop_ps, nic_resume, &f->nic[port->host], NULL);
}

/* A packet of @port's host came, or left the buffer: stop the host, or let it go on? */
static void pfc_check(struct sim_port *port)
{
	struct sim_fabric *f = port->fabric;
	uint64_t most, slack = 2ULL * (f->conf.mtu + f->conf.head);

	if (f->conf.pfc != SIM_PFC_STATIC && f->conf.pfc != SIM_PFC_DYNAMIC)
		return;
	most = pfc_threshold(f);
	if (!port->pausing && port->held > most)
		port_pause(port);
	else if (port->pausing && (!port->held || port->held + slack <= most))
		port_resume(port);
}

/* @from's packet came into the queue of @to. */
static void queue_grew(struct sim_port *from, struct sim_port *to)
{
	const struct sim_fabric_conf *conf = &to->fabric->conf;

	if (conf->pfc != SIM_PFC_QUEUE || from->pausing || to->queued < conf->pfc_bytes)
		return;
	from->pausing_for = to;
	to->stopped++;
	port_pause(from);
}

/* One has left it. */
static void queue_shrank(struct sim_port *to)
{
	struct sim_fabric *f = to->fabric;
	uint32_t i;

	if (!to->stopped || to->queued > f->conf.pfc_bytes / 2)
		return;
	for (i = 0; i < f->conf.hosts && to->stopped; i++) {
		if (f->port[i].pausing_for != to)
			continue;
		f->port[i].pausing_for = NULL;
		to->stopped--;
		port_resume(&f->port[i]);
	}
}

static void host_hears(void *obj, void *arg)
{
	struct sim_nic *nic = obj;
	struct sim_pkt *pkt = arg;
	struct sim_job *job = pkt->job;
	bool last = pkt->last;

	nic->in_payload += pkt->wire - nic->fabric->conf.head;
	pkt_put(nic->fabric, pkt);
	if (last)
		job->arrived(job);
}

static void port_sent(void *obj, void *arg)
{
	struct sim_port *port = obj, *from;
	struct sim_pkt *pkt = arg;
	struct sim_fabric *f = port->fabric;

	port->busy = false;
	port->queued -= pkt->wire;
	f->used -= pkt->wire;
	from = &f->port[pkt->job->from];
	from->held -= pkt->wire;
	pfc_check(from);
	queue_shrank(port);
	sim_after(f->events, f->conf.prop_ps, host_hears, &f->nic[port->host], pkt);
	port_run(port);
}

static void port_run(struct sim_port *port)
{
	struct sim_pkt *pkt;

	if (port->busy)
		return;
	pkt = fifo_take(&port->queue);
	if (!pkt)
		return;
	port->busy = true;
	sim_after(port->fabric->events, wire_ps(port->fabric, pkt->wire), port_sent, port, pkt);
}

static void switch_hears(void *obj, void *arg)
{
	struct sim_port *from = obj, *to;
	struct sim_pkt *pkt = arg;
	struct sim_fabric *f = from->fabric;

	if (f->conf.pfc == SIM_PFC_OFF && f->used + pkt->wire > f->conf.buffer) {
		f->lost++;
		pkt_put(f, pkt);
		return;
	}
	to = &f->port[pkt->job->to];
	if (f->conf.ecn && to->queued >= f->conf.ecn)
		f->marks++;
	f->packets++;
	f->used += pkt->wire;
	from->held += pkt->wire;
	to->queued += pkt->wire;
	if (f->used > f->used_max)
		f->used_max = f->used;
	if (to->queued > to->queued_max)
		to->queued_max = to->queued;
	fifo_add(&to->queue, pkt);
	pfc_check(from);
	queue_grew(from, to);
	port_run(to);
}

/* ---- the NICs ---- */

void sim_txq_init(struct sim_txq *q)
{
	memset(q, 0, sizeof(*q));
	q->last = &q->first;
}

static void ring_add(struct sim_nic *nic, struct sim_txq *q)
{
	if (q->ringed)
		return;
	q->ringed = true;
	if (!nic->ring) {
		q->next = q;
	} else {
		q->next = nic->ring->next;
		nic->ring->next = q;
	}
	nic->ring = q;		/* the last to have its turn */
}

/* Takes @q, which is behind @before, out. */
static void ring_del(struct sim_nic *nic, struct sim_txq *before, struct sim_txq *q)
{
	q->ringed = false;
	if (q == before) {
		nic->ring = NULL;
	} else {
		before->next = q->next;
		nic->ring = before;
	}
}

static void nic_sent(void *obj, void *arg)
{
	struct sim_nic *nic = obj;
	struct sim_pkt *pkt = arg;
	struct sim_fabric *f = nic->fabric;

	nic->busy = false;
	sim_after(f->events, f->conf.prop_ps, switch_hears, &f->port[nic->host], pkt);
	nic_run(nic);
}

/* One packet of the queue whose turn it is. */
static void nic_run(struct sim_nic *nic)
{
	struct sim_fabric *f = nic->fabric;
	struct sim_txq *before = nic->ring, *q;
	struct sim_pkt *pkt;
	struct sim_job *job;
	uint32_t payload;

	if (nic->busy || nic->paused || !before)
		return;
	q = before->next;
	job = q->first;
	payload = job->bytes - job->sent;
	if (payload > f->conf.mtu)
		payload = f->conf.mtu;
	pkt = pkt_get(f);
	pkt->job = job;
	pkt->wire = payload + f->conf.head;
	job->sent += payload;
	pkt->last = job->sent == job->bytes;
	nic->out_payload += payload;
	nic->ring = q;
	if (pkt->last) {
		q->first = job->next;
		if (!q->first) {
			q->last = &q->first;
			ring_del(nic, before, q);
		}
	}
	nic->busy = true;
	sim_after(f->events, wire_ps(f, pkt->wire), nic_sent, nic, pkt);
}

void sim_post(struct sim_fabric *f, struct sim_txq *q, struct sim_job *job)
{
	struct sim_nic *nic = &f->nic[job->from];

	job->next = NULL;
	job->sent = 0;
	*q->last = job;
	q->last = &job->next;
	ring_add(nic, q);
	nic_run(nic);
}

/* ---- all of it ---- */

void sim_fabric_init(struct sim_fabric *f, struct sim_events *events,
		     const struct sim_fabric_conf *conf)
{
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->conf = *conf;
	f->events = events;
	f->nic = sim_alloc(conf->hosts * sizeof(*f->nic));
	f->port = sim_alloc(conf->hosts * sizeof(*f->port));
	for (i = 0; i < conf->hosts; i++) {
		f->nic[i].fabric = f;
		f->nic[i].host = i;
		f->port[i].fabric = f;
		f->port[i].host = i;
		fifo_init(&f->port[i].queue);
	}
}

void sim_fabric_free(struct sim_fabric *f)
{
	struct sim_pkt *pkt;

	while ((pkt = f->free_pkts)) {
		f->free_pkts = pkt->next;
		free(pkt);
	}
	free(f->nic);
	free(f->port);
}

/*
 * Two links, and the last packet is stored once: all bytes on one link, one more
 * time the last packet, two propagation delays.  When the last packet is not full
 * it comes to the switch while the one before is being sent on, and waits for it.
 */
uint64_t sim_idle_ps(const struct sim_fabric_conf *conf, uint32_t bytes)
{
	uint64_t packets = bytes ? ((uint64_t)bytes + conf->mtu - 1) / conf->mtu : 1;
	uint64_t wire = bytes + packets * conf->head;
	uint32_t again = packets > 1 ? conf->mtu : bytes;

	return (wire + again + conf->head) * conf->ps_per_byte + 2 * conf->prop_ps;
}

uint64_t sim_paused_ps(const struct sim_fabric *f)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < f->conf.hosts; i++)
		sum += f->nic[i].paused_ps;
	return sum;
}
