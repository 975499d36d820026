/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rails: the pairs of NICs, one here and one at the peer, over which a session's paths can go.
 */
#ifndef DMS_CORE_RAIL_H
#define DMS_CORE_RAIL_H

#include <linux/types.h>

/* As many addresses as a HELLO has room for. */
#define DMS_RAILS_MAX		4
/* The route to the peer's address chooses ours. */
#define DMS_RAIL_ANY		0xff

/**
 * struct dms_rail_addr - an address of an RDMA device of this host
 * @addr: IPv6; IPv4 as ::ffff:a.b.c.d
 * @plen: bits of the prefix of its subnet; 96 more for IPv4
 */
struct dms_rail_addr {
	u8	addr[16];
	u8	plen;
};

/**
 * struct dms_rail - one of them
 * @src: index of our address, or DMS_RAIL_ANY
 * @dst: index of the peer's address
 */
struct dms_rail {
	u8	src;
	u8	dst;
};

/**
 * struct dms_rails - all of a session
 * @rail: the first leads to where TCP goes
 * @nr: of them; at least 1
 * @near: so many of them, the first ones, are what paths begin with: both ends are in one
 *	  subnet.  The others lead through a gateway, if anywhere, and are tried when those fail
 */
struct dms_rails {
	struct dms_rail	rail[DMS_RAILS_MAX];
	u32		nr;
	u32		near;
};

void dms_rails_pair(struct dms_rails *r, const struct dms_rail_addr *own, u32 nr_own,
		    bool direct, const u8 theirs[][16], u32 nr_theirs, u32 main);

/**
 * dms_rails_home() - the rail that a path is meant for
 * @r: paired
 * @index: of the path, in its lane
 *
 * Context: Any.
 */
static inline u8 dms_rails_home(const struct dms_rails *r, u32 index)
{
	return index % r->near;
}

/**
 * dms_rails_next() - the rail to try after one
 * @r: paired
 * @rail: that one
 *
 * Context: Any.
 */
static inline u8 dms_rails_next(const struct dms_rails *r, u8 rail)
{
	return (rail + 1) % r->nr;
}

#endif /* DMS_CORE_RAIL_H */
