/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of what a peer may still send.  All are cumulative and run freely
 * through 2^32, so that a lost or doubled statement of one does no harm and
 * only its latest value counts.
 */
#ifndef DMS_CORE_CREDIT_H
#define DMS_CORE_CREDIT_H

#include <linux/types.h>

/*
 * Slot credits of a queue pair, sending side.  The last credit is for a packet
 * that carries a credit update and nothing else: without it, two sides that
 * have both spent all would each wait for the other's update for ever.
 */
struct dms_slot_tx {
	u32	sent;		/* packets sent */
	u32	limit;		/* packets that the peer has receives for, in all */
	u32	depth;		/* most that the peer has posted at a time */
};

void dms_slot_tx_init(struct dms_slot_tx *c, u32 depth);
/* A peer that moves its depth (depth.h): it never has more than @ceil. */
void dms_slot_tx_ceiling(struct dms_slot_tx *c, u32 ceil);
u32 dms_slot_tx_avail(const struct dms_slot_tx *c);
bool dms_slot_tx_data_ok(const struct dms_slot_tx *c);		/* more than the last one */
bool dms_slot_tx_update_ok(const struct dms_slot_tx *c);
void dms_slot_tx_take(struct dms_slot_tx *c);			/* caller checked */
/* 0, or -EPROTO: backwards, or more than sent + depth */
int dms_slot_tx_grant(struct dms_slot_tx *c, u32 limit);

/*
 * Slot credits, receiving side.  A path begins with depth receives posted and
 * known to the peer by its HELLO: the init functions of both sides count them.
 */
struct dms_slot_rx {
	u32	posted;		/* receives posted in all */
	u32	told;		/* the last value of posted that a packet carried */
	u32	received;	/* packets received */
	u32	depth;
};

void dms_slot_rx_init(struct dms_slot_rx *c, u32 depth);
void dms_slot_rx_resize(struct dms_slot_rx *c, u32 depth);
/* 0, or -EPROTO: not the next packet, or beyond its credit */
int dms_slot_rx_packet(struct dms_slot_rx *c, u32 seq);
void dms_slot_rx_post(struct dms_slot_rx *c, u32 n);
bool dms_slot_rx_owes(const struct dms_slot_rx *c);		/* half the depth is not told */
/* value for a packet that leaves now */
u32 dms_slot_rx_tell(struct dms_slot_rx *c);

/* Landing credits of a stream, sending side: messages. */
struct dms_land_tx {
	u32	used;
	u32	limit;
	u32	max;		/* most that the peer may have granted ahead */
};

void dms_land_tx_init(struct dms_land_tx *c, u32 max);
u32 dms_land_tx_avail(const struct dms_land_tx *c);
void dms_land_tx_take(struct dms_land_tx *c);
int dms_land_tx_grant(struct dms_land_tx *c, u32 limit);
/* After a resume: what the peer counts as used.  0, or -EPROTO */
int dms_land_tx_resume(struct dms_land_tx *c, u32 used);

/* Landing credits, receiving side. */
struct dms_land_rx {
	u32	granted;
	u32	told;
	u32	used;
};

void dms_land_rx_init(struct dms_land_rx *c);
int dms_land_rx_use(struct dms_land_rx *c);			/* -EPROTO: none was told */
u32 dms_land_rx_out(const struct dms_land_rx *c);		/* granted and not used */
void dms_land_rx_add(struct dms_land_rx *c, u32 n);
bool dms_land_rx_owes(const struct dms_land_rx *c);		/* granted but not told */
u32 dms_land_rx_tell(struct dms_land_rx *c);
/*
 * How many credits a pooled stream should have: one when idle, up to
 * DMS_SMALL_CREDITS when messages come.  @free: buffers left in the group,
 * @sharers: streams that share it; what the others need is left for them.
 */
u32 dms_land_target(u32 current_target, u32 used_since, u32 free, u32 sharers);

#endif /* DMS_CORE_CREDIT_H */
