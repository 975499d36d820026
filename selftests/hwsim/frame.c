// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way to other machines: a packet is one Ethernet frame on the port's
 * netdev, of the ethertype that is set aside for local experiments.  No UDP/IP, no
 * CRC of its own: this is a test bed's wire.
 *
 * Frames are collected while the simulator's lock is held, and sent without it.
 */
#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "device.h"
#include "frame.h"
#include "pkt.h"
#include "wire.h"

/*
 * What waits to be sent; each holds its netdev.  Its own lock, any context.  Ready
 * before the module's start: KUnit's suites may run the simulator before that.
 */
static struct sk_buff_head outgoing = {
	.next = (struct sk_buff *)&outgoing,
	.prev = (struct sk_buff *)&outgoing,
	.lock = __SPIN_LOCK_UNLOCKED(outgoing.lock),
};

/**
 * hwsim_frame_send() - have a packet sent as a frame soon
 * @port: from where
 * @pkt: stays with the caller
 */
void hwsim_frame_send(struct hwsim_port *port, const struct hwsim_pkt *pkt)
{
	struct net_device *ndev = port->ndev;
	struct hwsim_frame *h;
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(ndev) + sizeof(*h) + pkt->len + ndev->needed_tailroom,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return;	/* a loss */
	skb_reserve(skb, LL_RESERVED_SPACE(ndev));
	skb_reset_network_header(skb);
	h = skb_put_zero(skb, sizeof(*h));
	h->magic = cpu_to_be32(HWSIM_MAGIC);
	h->op = pkt->op;
	h->flags = (pkt->solicited ? HWSIM_FRAME_SOLICITED : 0) |
		   (pkt->ack_req ? HWSIM_FRAME_ACK : 0) | (pkt->ecn ? HWSIM_FRAME_ECN : 0);
	h->syndrome = pkt->syndrome;
	memcpy(h->sgid, pkt->sgid.raw, sizeof(h->sgid));
	memcpy(h->dgid, pkt->dgid.raw, sizeof(h->dgid));
	h->dqpn = cpu_to_be32(pkt->dqpn);
	h->psn = cpu_to_be32(pkt->psn);
	h->sqpn = cpu_to_be32(pkt->sqpn);
	h->qkey = cpu_to_be32(pkt->qkey);
	h->va = cpu_to_be64(pkt->va);
	h->rkey = cpu_to_be32(pkt->rkey);
	h->rlen = cpu_to_be32(pkt->rlen);
	h->swap = cpu_to_be64(pkt->swap);
	h->compare = cpu_to_be64(pkt->compare);
	h->imm = pkt->imm;
	h->inv = cpu_to_be32(pkt->inv);
	h->msn = cpu_to_be32(pkt->msn);
	h->len = cpu_to_be32(pkt->len);
	skb_put_data(skb, pkt->data, pkt->len);
	skb->dev = ndev;
	skb->protocol = htons(HWSIM_ETHERTYPE);
	if (dev_hard_header(skb, ndev, HWSIM_ETHERTYPE, pkt->dmac, NULL, skb->len) < 0) {
		kfree_skb(skb);
		return;
	}
	dev_hold(ndev);	/* until it is sent: the port may go in between */
	skb_queue_tail(&outgoing, skb);
}

/**
 * hwsim_frame_flush() - send what waits; the simulator's lock is not held
 */
void hwsim_frame_flush(void)
{
	struct net_device *ndev;
	struct sk_buff *skb;

	while (!skb_queue_empty_lockless(&outgoing)) {
		skb = skb_dequeue(&outgoing);
		if (!skb)
			return;
		ndev = skb->dev;
		dev_queue_xmit(skb);
		dev_put(ndev);
	}
}

static bool known(const struct hwsim_frame *h)
{
	return h->magic == cpu_to_be32(HWSIM_MAGIC) && !(h->flags & ~HWSIM_FRAME_FLAGS) &&
	       !h->reserved0 && !h->reserved;
}

/*
 * A frame is another machine's word: all that is believed is that its payload is
 * as long as it says, when it is there.  Numbers are cut to their width; what
 * they mean is checked by who uses them.  NULL: it is not ours, or no memory.
 */
static struct hwsim_pkt *parse(struct sk_buff *skb)
{
	struct hwsim_frame *h;
	struct hwsim_pkt *pkt;
	u32 len;

	if (!pskb_may_pull(skb, sizeof(*h)))
		return NULL;
	h = (struct hwsim_frame *)skb->data;
	len = be32_to_cpu(h->len);
	/* short frames are padded */
	if (!known(h) || len > skb->len - sizeof(*h))
		return NULL;
	pkt = hwsim_pkt_new(len);
	if (!pkt)
		return NULL;
	pkt->op = h->op;
	pkt->solicited = !!(h->flags & HWSIM_FRAME_SOLICITED);
	pkt->ack_req = !!(h->flags & HWSIM_FRAME_ACK);
	pkt->ecn = !!(h->flags & HWSIM_FRAME_ECN);
	pkt->syndrome = h->syndrome;
	memcpy(pkt->sgid.raw, h->sgid, sizeof(h->sgid));
	memcpy(pkt->dgid.raw, h->dgid, sizeof(h->dgid));
	pkt->dqpn = be32_to_cpu(h->dqpn) & HWSIM_QPN_MASK;
	pkt->psn = be32_to_cpu(h->psn) & HWSIM_PSN_MASK;
	pkt->sqpn = be32_to_cpu(h->sqpn) & HWSIM_QPN_MASK;
	pkt->qkey = be32_to_cpu(h->qkey);
	pkt->va = be64_to_cpu(h->va);
	pkt->rkey = be32_to_cpu(h->rkey);
	pkt->rlen = be32_to_cpu(h->rlen);
	pkt->swap = be64_to_cpu(h->swap);
	pkt->compare = be64_to_cpu(h->compare);
	pkt->imm = h->imm;
	pkt->inv = be32_to_cpu(h->inv);
	pkt->msn = be32_to_cpu(h->msn);
	if (skb_copy_bits(skb, sizeof(*h), pkt->data, len)) {
		hwsim_pkt_free(pkt);
		return NULL;
	}
	return pkt;
}

static int frame_rx(struct sk_buff *skb, struct net_device *ndev, struct packet_type *type,
		    struct net_device *orig)
{
	struct hwsim_port *port;
	struct hwsim_pkt *pkt = NULL;

	if (skb->pkt_type != PACKET_OTHERHOST && skb->pkt_type != PACKET_LOOPBACK) {
		skb = skb_share_check(skb, GFP_ATOMIC);
		if (!skb)
			return NET_RX_DROP;
		pkt = parse(skb);
	}
	kfree_skb(skb);
	if (!pkt)
		return NET_RX_DROP;
	hwsim_lock();
	port = hwsim_wire_port_of(ndev);
	if (port)
		hwsim_wire_receive(port, pkt);
	else
		hwsim_pkt_free(pkt);
	hwsim_unlock();
	return NET_RX_SUCCESS;
}

static struct packet_type frame_type = {
	.type = cpu_to_be16(HWSIM_ETHERTYPE),
	.func = frame_rx,
};

/** hwsim_frame_init() - listen for frames */
void hwsim_frame_init(void)
{
	dev_add_pack(&frame_type);
}

/** hwsim_frame_exit() - stop; no device is left */
void hwsim_frame_exit(void)
{
	dev_remove_pack(&frame_type);
	hwsim_frame_flush();
}
