// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which of our addresses goes with which of the peer's.
 *
 * The peer's list is input: any bytes, the same address twice, our own ones.  Whatever it
 * says, the worst is a rail that leads nowhere: a queue pair is attached by the session's
 * cookie, which only the peer's module can show.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "rail.h"

#define RAIL_ADDR	16

static bool is_ipv4(const u8 *a)
{
	static const u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(a, mapped, sizeof(mapped));
}

static bool same_subnet(const struct dms_rail_addr *own, const u8 *theirs)
{
	u32 bits = min_t(u32, own->plen, 8 * RAIL_ADDR), bytes = bits / 8, rest = bits % 8;

	/* ::ffff:0:0/96 is no subnet */
	if (is_ipv4(own->addr) != is_ipv4(theirs) || (is_ipv4(theirs) && bits <= 96) || !bits)
		return false;
	if (memcmp(own->addr, theirs, bytes))
		return false;
	return !rest || !((own->addr[bytes] ^ theirs[bytes]) >> (8 - rest));
}

/* The least used one of our addresses in the subnet of @theirs, the first of several. */
static u8 find_src(const struct dms_rails *r, const struct dms_rail_addr *own, u32 nr_own,
		   const u8 *theirs)
{
	u32 i, k, uses, least = DMS_RAILS_MAX + 1;
	u8 found = DMS_RAIL_ANY;

	for (i = 0; i < nr_own; i++) {
		if (!same_subnet(&own[i], theirs))
			continue;
		for (k = 0, uses = 0; k < r->nr; k++)
			uses += r->rail[k].src == i;
		if (uses < least) {
			least = uses;
			found = i;
		}
	}
	return found;
}

static bool is_known(const struct dms_rails *r, const u8 theirs[][RAIL_ADDR], u32 i)
{
	u32 k;

	for (k = 0; k < r->nr; k++)
		if (!memcmp(theirs[r->rail[k].dst], theirs[i], RAIL_ADDR))
			return true;
	return false;
}

/**
 * dms_rails_pair() - make the rails of a session
 * @r: out
 * @own: our addresses
 * @nr_own: of them; at least 1
 * @direct: the first of them is that of the session's TCP connection
 * @theirs: the peer's addresses
 * @nr_theirs: of them; 0 is as if there were only that of the TCP connection
 * @main: which of them is the other end of the TCP connection
 *
 * Each address of the peer is in one rail.  Where several of ours are in its subnet they
 * take turns, so that hosts with as many NICs in one subnet pair them off.
 *
 * Context: Any.
 */
void dms_rails_pair(struct dms_rails *r, const struct dms_rail_addr *own, u32 nr_own,
		    bool direct, const u8 theirs[][16], u32 nr_theirs, u32 main)
{
	u32 i, far, pass;
	u8 src;

	nr_own = min_t(u32, nr_own, DMS_RAILS_MAX);
	nr_theirs = min_t(u32, nr_theirs, DMS_RAILS_MAX);
	r->nr = 0;
	src = 0;
	if (!direct)
		src = main < nr_theirs ? find_src(r, own, nr_own, theirs[main]) : DMS_RAIL_ANY;
	r->rail[0].src = src;
	r->rail[0].dst = main;
	r->nr = 1;
	r->near = 1;
	if (main >= nr_theirs)
		return;
	/* those in a subnet of ours come first */
	for (pass = 0; pass < 2; pass++) {
		far = pass;
		for (i = 0; i < nr_theirs; i++) {
			if (is_known(r, theirs, i))
				continue;
			src = find_src(r, own, nr_own, theirs[i]);
			if (!far && src == DMS_RAIL_ANY)
				continue;
			r->rail[r->nr].src = src;
			r->rail[r->nr].dst = i;
			r->nr++;
			r->near += !far;
		}
	}
}
