// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slot credits of a queue pair, landing credits of a stream.
 *
 * Every comparison is made on the distance between two counters, never on the
 * counters themselves: the distances are small by the rules of the protocol,
 * so that 2^32 is crossed without notice.  What a peer says is refused as soon
 * as it would make a distance larger than that.
 */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "credit.h"
#include "wire.h"

/**
 * dms_slot_tx_init() - begin to count what may be sent on a path
 * @c: counters
 * @depth: receives that the peer has posted, from its HELLO or its cm data
 *
 * A path begins with all of them posted and known: nobody has to tell it.
 *
 * Context: Any.
 */
void dms_slot_tx_init(struct dms_slot_tx *c, u32 depth)
{
	c->sent = 0;
	c->limit = depth;
	c->depth = depth;
}

/**
 * dms_slot_tx_ceiling() - the peer may post more than it began with
 * @c: counters
 * @ceil: most that it ever has posted; not less than the depth of the beginning
 *
 * Context: Any.
 */
void dms_slot_tx_ceiling(struct dms_slot_tx *c, u32 ceil)
{
	c->depth = max_t(u32, c->depth, ceil);
}

/**
 * dms_slot_tx_avail() - packets that may still be sent
 * @c: counters
 *
 * Context: Any.
 * Return: number of packets, the last one included that only an update may use.
 */
u32 dms_slot_tx_avail(const struct dms_slot_tx *c)
{
	return c->limit - c->sent;
}

/**
 * dms_slot_tx_data_ok() - may a packet with frames be sent?
 * @c: counters
 *
 * The last credit is kept for an update.  The reasoning, which is that of
 * net/rds/ib_send.c: once all is received and posted again, a side that has no
 * data credit left is owed at least depth - 1 by the other, so the other owes
 * it an update.  The other can always send it, because its own last credit
 * went, if it went, into an update that told at least half the depth, and
 * whoever got that one can send again.  selftests/unit tries every
 * interleaving of small depths.
 *
 * Context: Any.
 * Return: true when more than the last credit is left.
 */
bool dms_slot_tx_data_ok(const struct dms_slot_tx *c)
{
	return dms_slot_tx_avail(c) > 1;
}

/**
 * dms_slot_tx_update_ok() - may a packet without frames be sent?
 * @c: counters
 *
 * Only when dms_slot_rx_owes(): an update that tells nothing new would spend
 * the last credit for nothing, and the reasoning above would not hold.
 *
 * Context: Any.
 * Return: true when a credit is left.
 */
bool dms_slot_tx_update_ok(const struct dms_slot_tx *c)
{
	return dms_slot_tx_avail(c) > 0;
}

/**
 * dms_slot_tx_take() - count a packet as sent
 * @c: counters; the caller has asked one of the two functions above
 *
 * Context: Any.
 */
void dms_slot_tx_take(struct dms_slot_tx *c)
{
	c->sent++;
}

/**
 * dms_slot_tx_grant() - hear from the peer how many packets it has taken on
 * @c: counters, unchanged on an error
 * @limit: credit field of a packet
 *
 * Context: Any.
 * Return: 0, or -EPROTO when @limit is less than before, or more than can be
 * posted: its receives are those of packets sent, and depth.
 */
int dms_slot_tx_grant(struct dms_slot_tx *c, u32 limit)
{
	u32 ahead = limit - c->sent;

	if (ahead > c->depth || ahead < dms_slot_tx_avail(c))
		return -EPROTO;
	c->limit = limit;
	return 0;
}

/**
 * dms_slot_rx_init() - begin to count what the peer sends on a path
 * @c: counters
 * @depth: receives posted before the path is up; this counts them, do not
 *         count them again with dms_slot_rx_post()
 *
 * Context: Any.
 */
void dms_slot_rx_init(struct dms_slot_rx *c, u32 depth)
{
	c->posted = depth;
	c->told = depth;
	c->received = 0;
	c->depth = depth;
}

/**
 * dms_slot_rx_resize() - more or fewer receives are kept posted
 * @c: counters
 * @depth: how many stay, from now on
 *
 * Those that come in addition are then counted by dms_slot_rx_post(); of those that
 * go, the next packets' are not posted again.  It must be known at once how many
 * stay: were the old number kept while it goes down, a peer that has spent all
 * would never be owed half of it, and never hear.
 *
 * Context: Any.
 */
void dms_slot_rx_resize(struct dms_slot_rx *c, u32 depth)
{
	c->depth = depth;
}

/**
 * dms_slot_rx_packet() - a packet came
 * @c: counters, unchanged on an error
 * @seq: its sequence
 *
 * Context: Any.
 * Return: 0, or -EPROTO when it is not the next packet, or one for which the
 * peer was never told a credit.
 */
int dms_slot_rx_packet(struct dms_slot_rx *c, u32 seq)
{
	if (seq != c->received || c->told == c->received)
		return -EPROTO;
	c->received++;
	return 0;
}

/**
 * dms_slot_rx_post() - receives were posted again
 * @c: counters
 * @n: how many; never more than packets came since
 *
 * Call it after the receives are with the device: from then on they may be
 * told.
 *
 * Context: Any.
 */
void dms_slot_rx_post(struct dms_slot_rx *c, u32 n)
{
	c->posted += n;
}

/**
 * dms_slot_rx_owes() - should the peer hear of its credits now?
 * @c: counters
 *
 * At half the depth: later would let the peer run dry while the update
 * travels, earlier would cost packets.  An update is one packet and so makes
 * one of the other side's receives untold; as half the depth is more than one,
 * two idle sides do not keep on telling each other.
 *
 * Context: Any.
 * Return: true when an update should go out, with or without frames.
 */
bool dms_slot_rx_owes(const struct dms_slot_rx *c)
{
	return c->posted - c->told >= max_t(u32, c->depth / 2, 1);
}

/**
 * dms_slot_rx_tell() - the credit field of a packet that leaves now
 * @c: counters
 *
 * Context: Any.
 * Return: receives posted in all.
 */
u32 dms_slot_rx_tell(struct dms_slot_rx *c)
{
	c->told = c->posted;
	return c->told;
}

/**
 * dms_land_tx_init() - begin to count the messages that a stream may send
 * @c: counters; nothing may be sent until a grant comes
 * @max: most that the peer may grant ahead: DMS_SMALL_CREDITS when it receives
 *       from groups, DMS_POSTED_CREDITS when it posts
 *
 * Context: Any.
 */
void dms_land_tx_init(struct dms_land_tx *c, u32 max)
{
	c->used = 0;
	c->limit = 0;
	c->max = max;
}

/**
 * dms_land_tx_avail() - messages that a stream may still send
 * @c: counters
 *
 * Context: Any.
 * Return: number of messages.
 */
u32 dms_land_tx_avail(const struct dms_land_tx *c)
{
	return c->limit - c->used;
}

/**
 * dms_land_tx_take() - count a message as sent
 * @c: counters; the caller has seen that one is available
 *
 * Context: Any.
 */
void dms_land_tx_take(struct dms_land_tx *c)
{
	c->used++;
}

/**
 * dms_land_tx_grant() - hear from the peer how many messages it has room for
 * @c: counters, unchanged on an error
 * @limit: landing credit limit of an ACCEPT or UPDATE
 *
 * Context: Any.
 * Return: 0, or -EPROTO when @limit is less than before or too far ahead.
 */
int dms_land_tx_grant(struct dms_land_tx *c, u32 limit)
{
	u32 ahead = limit - c->used;

	if (ahead > c->max || ahead < dms_land_tx_avail(c))
		return -EPROTO;
	c->limit = limit;
	return 0;
}

/**
 * dms_land_tx_resume() - the credits that the peer counts as used
 * @c: sending side
 * @used: of its RESUME: what was spent on messages that did not arrive is not used
 *
 * Context: Any.
 * Return: 0, or -EPROTO when it is more than was used, or less than can be.
 */
int dms_land_tx_resume(struct dms_land_tx *c, u32 used)
{
	if ((s32)(c->used - used) < 0 || c->limit - used > c->max)
		return -EPROTO;
	c->used = used;
	return 0;
}

/**
 * dms_land_rx_init() - begin to count the landings of a stream
 * @c: counters
 *
 * Context: Any.
 */
void dms_land_rx_init(struct dms_land_rx *c)
{
	c->granted = 0;
	c->told = 0;
	c->used = 0;
}

/**
 * dms_land_rx_use() - a message came that spends a credit
 * @c: counters, unchanged on an error
 *
 * Context: Any.
 * Return: 0, or -EPROTO when the peer was told of none that is left.
 */
int dms_land_rx_use(struct dms_land_rx *c)
{
	if (c->told == c->used)
		return -EPROTO;
	c->used++;
	return 0;
}

/**
 * dms_land_rx_out() - landings set aside and not used
 * @c: counters
 *
 * Context: Any.
 * Return: number of landings, those included that the peer does not know of.
 */
u32 dms_land_rx_out(const struct dms_land_rx *c)
{
	return c->granted - c->used;
}

/**
 * dms_land_rx_add() - landings were set aside
 * @c: counters
 * @n: how many; dms_land_rx_out() stays within what the peer allows, see
 *     dms_land_tx_init()
 *
 * Context: Any.
 */
void dms_land_rx_add(struct dms_land_rx *c, u32 n)
{
	c->granted += n;
}

/**
 * dms_land_rx_owes() - are there landings that the peer does not know of?
 * @c: counters
 *
 * Context: Any.
 * Return: true when an UPDATE has something to say.
 */
bool dms_land_rx_owes(const struct dms_land_rx *c)
{
	return c->granted != c->told;
}

/**
 * dms_land_rx_tell() - the limit for an ACCEPT or UPDATE that leaves now
 * @c: counters
 *
 * Context: Any.
 * Return: landings set aside in all.
 */
u32 dms_land_rx_tell(struct dms_land_rx *c)
{
	c->told = c->granted;
	return c->told;
}

/**
 * dms_land_target() - how many landing credits a pooled stream should have
 * @current_target: what this function said last, or 0
 * @used_since: messages that spent a credit since then
 * @free: buffers left in the group, those behind credits not counted
 * @sharers: streams that share the group, this one counted
 *
 * Slow start, as for a congestion window: 1 for a stream that used nothing,
 * twice as many for one that used half of what it had.  One that used less
 * stays where it is.
 *
 * A credit is a buffer that is taken from the group, so growth is paid from
 * what the sharers leave: one buffer for each of them stays, and what is above
 * that is the most by which a target grows.  When not even one is left for each
 * of the others, an active stream gives way by half at each look: what it uses
 * is not taken again until the others have theirs.
 *
 * It is never 0, even when nothing is free: the target is what the stream
 * waits for, and one that waits for nothing would never be served.
 *
 * Context: Any.
 * Return: 1 to DMS_SMALL_CREDITS.
 */
u32 dms_land_target(u32 current_target, u32 used_since, u32 free, u32 sharers)
{
	u32 target = clamp_t(u32, current_target, 1, DMS_SMALL_CREDITS);

	if (!used_since)
		return 1;
	if (sharers && free < sharers - 1)
		return max_t(u32, target / 2, 1);
	if (used_since < target / 2 || free <= sharers)
		return target;
	return min_t(u32, target + min_t(u32, target, free - sharers),
		     DMS_SMALL_CREDITS);
}
