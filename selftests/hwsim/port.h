/* SPDX-License-Identifier: GPL-2.0-only */
/* A device's port: the netdev that gives it addresses, and its end of the wire. */
#ifndef HWSIM_PORT_H
#define HWSIM_PORT_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "sim.h"
#include "stats.h"

#define HWSIM_GIDS	64

/**
 * struct hwsim_port - under the simulator's lock, but for @ndev, which stays
 * @node: place in the list of all ports, which is the switch
 * @ndev: netdev; a reference is held
 * @up: the netdev runs and has a carrier
 * @forced_down: the tester says that the link is down
 * @gids: addresses, by index
 * @has_gid: which of them are there
 * @ready: queue pairs that may have something to send
 * @rate: bytes a second; 0: no limit
 * @delay: ns from the queue to the receiver
 * @queue_limit: bytes that the switch holds for this port
 * @ecn_at: bytes in that queue from which packets are marked; 0: never
 * @pfc_at: bytes from which senders are paused; 0: a full queue drops
 * @tx_free: when the port can send the next packet
 * @tx_timer: starts it then
 * @paused_by: the port whose queue made the switch pause this one
 * @queue: what the switch holds for this port, in order
 * @queue_free: when the last of it has left the queue
 * @queue_bytes: how much that is
 * @flight: what is on its way from the queue to the port
 * @late: packets that the tester holds back
 * @rx_timer: for the head of @queue and of @flight
 * @stats: counters
 */
struct hwsim_port {
	struct list_head node;
	struct net_device *ndev;
	bool up;
	bool forced_down;
	union ib_gid gids[HWSIM_GIDS];
	DECLARE_BITMAP(has_gid, HWSIM_GIDS);
	struct list_head ready;

	u64 rate;
	u64 delay;
	u64 queue_limit;
	u64 ecn_at;
	u64 pfc_at;
	u64 tx_free;
	struct hwsim_timer tx_timer;
	struct hwsim_port *paused_by;
	struct list_head queue;
	u64 queue_free;
	u64 queue_bytes;
	struct list_head flight;
	struct hwsim_timer rx_timer;
	struct list_head late;
	struct hwsim_stats stats;
};

#define hwsim_count(port, what)		((port)->stats.count[what]++)
#define hwsim_count_add(port, what, n)	((port)->stats.count[what] += (n))

struct hwsim_dev;

void hwsim_port_init(struct hwsim_dev *dev, struct net_device *ndev);
void hwsim_port_exit(struct hwsim_dev *dev);
void hwsim_port_refresh(struct hwsim_dev *dev);
void hwsim_port_force(struct hwsim_dev *dev, bool down);

int hwsim_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int hwsim_add_gid(const struct ib_gid_attr *attr, void **context);
int hwsim_del_gid(const struct ib_gid_attr *attr, void **context);
enum ib_mtu hwsim_port_mtu(const struct net_device *ndev);

int hwsim_netdev_init(void);
void hwsim_netdev_exit(void);

#endif
