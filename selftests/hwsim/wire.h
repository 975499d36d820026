/* SPDX-License-Identifier: GPL-2.0-only */
/* The switch between all ports of a guest, and the links to it. */
#ifndef HWSIM_WIRE_H
#define HWSIM_WIRE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

/* What the switch holds for a port, unless the tester says otherwise. */
#define HWSIM_QUEUE_BYTES	(16 << 20)

struct hwsim_dev;
struct hwsim_pkt;
struct hwsim_port;

/* A port that was found by its address; good as long as no address changed. */
struct hwsim_route {
	struct hwsim_port *port;
	u32 generation;
};

extern bool hwsim_zero_cost;
extern bool hwsim_permissive;
extern bool hwsim_frames;

struct hwsim_port *hwsim_wire_route(struct hwsim_route *route, const union ib_gid *gid);
void hwsim_wire_changed(void);
void hwsim_wire_attach(struct hwsim_port *port);
void hwsim_wire_detach(struct hwsim_port *port);
struct hwsim_port *hwsim_wire_port_of(const struct net_device *ndev);
bool hwsim_wire_is_for(const struct hwsim_port *port, const union ib_gid *gid);

struct hwsim_pkt *hwsim_pkt_new(u32 len);
void hwsim_pkt_free(struct hwsim_pkt *pkt);
void hwsim_wire_send(struct hwsim_port *from, struct hwsim_route *route, struct hwsim_pkt *pkt);
void hwsim_wire_send_fault(struct hwsim_port *from, struct hwsim_route *route,
			   struct hwsim_pkt *pkt, u32 fault);
void hwsim_wire_receive(struct hwsim_port *to, struct hwsim_pkt *pkt);

bool hwsim_wire_deliver(void);
bool hwsim_wire_pump(void);

#endif
