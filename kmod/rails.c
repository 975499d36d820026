// SPDX-License-Identifier: GPL-2.0-only
/*
 * The addresses of RDMA devices that HELLO tells, and those that a queue pair is asked for
 * with.
 *
 * A host says one address for each port of a device, of the family of the session's TCP
 * connection if it can.  Devices that come later are not told of, since HELLO is said once;
 * one that goes and comes back with the same address is found again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inetdevice.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

#include "addr.h"
#include "core/rail.h"
#include "ibdev.h"
#include "node.h"
#include "rails.h"
#include "session.h"

/* Of IPv6 every subnet has this, but for links between two routers. */
#define DMS_IPV6_PLEN	64

static unsigned int dms_param_rails = DMS_RAILS_MAX;
module_param_named(rails, dms_param_rails, uint, 0644);
MODULE_PARM_DESC(rails, "pairs of NICs over which the paths of a new session go, at most, 1 to 4 (default 4)");

static_assert(DMS_RAILS_MAX == DMS_WIRE_ADDRS);

static u32 rails_max(void)
{
	return clamp(READ_ONCE(dms_param_rails), 1U, (u32)DMS_RAILS_MAX);
}

/* Bits of the prefix of an address of ours, 0: it is none. */
static u8 own_plen(struct net *net, const u8 *wire)
{
	const struct in6_addr *a = (const struct in6_addr *)wire;
	const struct in_ifaddr *ifa;
	struct in_device *in;
	struct net_device *dev;
	u8 plen = 0;

	if (!ipv6_addr_v4mapped(a))
		return DMS_IPV6_PLEN;
	rcu_read_lock();
	dev = __ip_dev_find(net, a->s6_addr32[3], false);
	in = dev ? __in_dev_get_rcu(dev) : NULL;
	if (in) {
		in_dev_for_each_ifa_rcu(ifa, in)
			if (ifa->ifa_local == a->s6_addr32[3])
				plen = 96 + inet_mask_len(ifa->ifa_mask);
	}
	rcu_read_unlock();
	return plen;
}

/**
 * dms_rails_fill() - our addresses, for HELLO
 * @s: with its TCP connection; nobody else has it yet
 *
 * First that of the connection, unless it is of no RDMA device and others are.  A node that
 * listens on one address can be reached at no other.
 *
 * Context: sock_work, may sleep.
 */
void dms_rails_fill(struct dms_session *s)
{
	u32 max = rails_max(), i;
	u8 local[16], addr[DMS_RAILS_MAX][16];
	struct dms_hello *h = &s->mine;

	dms_addr_to_wire(&s->local, local);
	s->nr_own = max > 1 ? dms_ibdev_addrs(s->node->net, local, addr, max) : 0;
	if (!s->nr_own) {
		memcpy(addr[0], local, sizeof(local));
		s->nr_own = 1;
	}
	for (i = 0; i < s->nr_own; i++) {
		memcpy(s->own[i].addr, addr[i], sizeof(addr[i]));
		s->own[i].plen = own_plen(s->node->net, addr[i]);
	}
	h->addrs = dms_node_anywhere() ? s->nr_own : 1;
	for (i = 0; i < h->addrs; i++)
		memcpy(h->addr[i], s->own[i].addr, sizeof(h->addr[i]));
	if (!dms_node_anywhere())
		memcpy(h->addr[0], local, sizeof(local));
}

static bool own_is_local(const struct dms_session *s, u32 i)
{
	u8 local[16];

	dms_addr_to_wire(&s->local, local);
	return !memcmp(s->own[i].addr, local, sizeof(local));
}

static u32 remote_scope(const struct dms_session *s)
{
	if (s->remote.ss_family != AF_INET6)
		return 0;
	return ((const struct sockaddr_in6 *)&s->remote)->sin6_scope_id;
}

/* Which of the peer's addresses TCP has reached: nr for none of them. */
static u32 remote_index(const struct dms_session *s)
{
	struct sockaddr_storage a;
	u32 i;

	for (i = 0; i < s->theirs.addrs; i++) {
		dms_addr_from_wire(&a, s->theirs.addr[i], remote_scope(s));
		if (dms_addr_same_host(&a, &s->remote))
			break;
	}
	return i;
}

/**
 * dms_rails_agree() - the rails of a session
 * @s: both HELLOs are there
 *
 * Several only with TCP: a path whose rail leads nowhere needs something to go on with
 * while another is looked for.
 *
 * Context: process, session->lock held.
 */
void dms_rails_agree(struct dms_session *s)
{
	u32 main = remote_index(s), nr = s->theirs.addrs;

	lockdep_assert_held(&s->lock);
	if (main == nr)
		main = 0;	/* what it says that its RDMA address is */
	dms_rails_pair(&s->rails, s->own, s->nr_own, own_is_local(s, 0), s->theirs.addr, nr, main);
	s->rails.nr = min(s->rails.nr, s->tcp ? rails_max() : 1);
	s->rails.near = min(s->rails.near, s->rails.nr);
}

/**
 * dms_rails_addrs() - where the peer's queue pairs are asked for
 * @s: UP
 * @rail: of its rails
 * @src: out: own address; of the right family, and else any, when the route is to choose
 * @dst: out: the peer's, with its rdma_port
 *
 * Context: any.
 */
void dms_rails_addrs(const struct dms_session *s, u32 rail, struct sockaddr_storage *src,
		     struct sockaddr_storage *dst)
{
	const struct dms_rail *r = &s->rails.rail[rail];
	struct sockaddr_storage a;

	/* by another address than those that it lists, as through NAT: that one */
	*dst = s->remote;
	if (r->dst < s->theirs.addrs) {
		dms_addr_from_wire(&a, s->theirs.addr[r->dst], remote_scope(s));
		if (!dms_addr_same_host(&a, &s->remote))
			*dst = a;
	}
	if (r->src == DMS_RAIL_ANY)
		src->ss_family = AF_UNSPEC;
	else if (own_is_local(s, r->src))
		*src = s->local;	/* with its scope */
	else
		dms_addr_from_wire(src, s->own[r->src].addr, 0);
	if (dst->ss_family != src->ss_family) {
		memset(src, 0, sizeof(*src));	/* any, of that family */
		src->ss_family = dst->ss_family;
	}
	dms_addr_set_port(src, 0);
	dms_addr_set_port(dst, s->theirs.rdma_port);
}
