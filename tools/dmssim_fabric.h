/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modelled fabric: hosts on one switch.
 *
 *   host NIC --- link --- switch with a shared buffer --- link --- host NIC
 *
 * A link has a rate and a propagation delay.  A packet is stored whole before it goes
 * on.  The switch has a queue for each port that packets leave by, in one shared
 * buffer; what a port has brought in and is still there is counted by port.  When
 * that is over a threshold the port's host is paused (IEEE 802.1Qbb): a bound of its
 * own (static), or a share of what is free in the buffer (dynamic; Choudhury and
 * Hahne, 1998).  Or, as the simulated NIC of selftests/hwsim does, whoever sends to a
 * queue that is over a bound is paused until it is half that.  What comes until the
 * pause takes effect is put beside the shared buffer (headroom).  Packets above a
 * length of queue are marked (ECN): counted, and nothing reacts, as the module never
 * sees a mark.
 *
 * A NIC sends packets of its queues, which stand for both sides of its queue
 * pairs, by turns.
 */
#ifndef DMSSIM_FABRIC_H
#define DMSSIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "dmssim_event.h"

/* Bytes of heads: Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4, preamble and gap 20 */
#define SIM_PKT_HEAD	82

enum sim_pfc {
	SIM_PFC_OFF,		/* what does not fit is lost: the run ends */
	SIM_PFC_STATIC,
	SIM_PFC_DYNAMIC,
	SIM_PFC_QUEUE,		/* as selftests/hwsim: by the queue that packets go to */
};

struct sim_fabric_conf {
	uint32_t	hosts;
	uint32_t	ps_per_byte;
	uint64_t	prop_ps;	/* of one link */
	uint64_t	buffer;		/* bytes */
	enum sim_pfc	pfc;
	uint64_t	pfc_bytes;	/* static, queue */
	uint32_t	pfc_shift;	/* dynamic: what is free, shifted right by it */
	uint64_t	ecn;		/* bytes; 0: no marks */
	uint32_t	mtu;		/* payload of a packet */
	uint32_t	head;		/* and what else it has on the wire */
};

/* Something that a queue pair sends, in packets. */
struct sim_job {
	struct sim_job	*next;
	uint32_t	from, to;
	uint32_t	bytes;		/* payload, without packet heads */
	uint32_t	sent;
	/* when its last packet has come to host @to */
	void		(*arrived)(struct sim_job *job);
	void		*obj;
	uint64_t	value;		/* the owner's */
};

/* What one side of a queue pair has to send. */
struct sim_txq {
	struct sim_txq	*next;		/* of the NIC's ring, while there is something */
	struct sim_job	*first, **last;
	bool		ringed;
};

struct sim_pkt {
	struct sim_pkt	*next;
	struct sim_job	*job;
	uint32_t	wire;		/* bytes, head included */
	bool		last;
};

struct sim_fifo {
	struct sim_pkt	*first, **last;
};

struct sim_nic {
	struct sim_fabric *fabric;
	uint32_t	host;
	struct sim_txq	*ring;		/* the one served last; its next is next */
	bool		busy, paused;
	uint64_t	paused_at, paused_ps;
	uint64_t	in_payload, out_payload;	/* bytes that came, that were sent */
};

struct sim_port {
	struct sim_fabric *fabric;
	uint32_t	host;
	struct sim_fifo	queue;		/* to the host */
	bool		busy;
	bool		pausing;	/* its host was told to stop */
	struct sim_port	*pausing_for;	/* whose queue it was told for */
	uint32_t	stopped;	/* hosts that were told for this port's queue */
	uint64_t	queued;		/* bytes to the host */
	uint64_t	held;		/* bytes that came from the host and are in the buffer */
	uint64_t	queued_max;
};

struct sim_fabric {
	struct sim_fabric_conf conf;
	struct sim_events *events;
	struct sim_nic	*nic;
	struct sim_port	*port;
	struct sim_pkt	*free_pkts;
	uint64_t	used, used_max;	/* bytes in the switch */
	uint64_t	packets, marks, pauses;
	uint64_t	lost;		/* packets */
};

void sim_fabric_init(struct sim_fabric *f, struct sim_events *events,
		     const struct sim_fabric_conf *conf);
void sim_fabric_free(struct sim_fabric *f);
void sim_txq_init(struct sim_txq *q);
/* Sends @job, which is the fabric's until it has arrived. */
void sim_post(struct sim_fabric *f, struct sim_txq *q, struct sim_job *job);
/* ps from the first bit of a job of @bytes to its arrival, on an idle fabric */
uint64_t sim_idle_ps(const struct sim_fabric_conf *conf, uint32_t bytes);
/* ps that all hosts together were paused */
uint64_t sim_paused_ps(const struct sim_fabric *f);

#endif /* DMSSIM_FABRIC_H */
