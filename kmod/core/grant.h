/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Direct push: landings that a receiver has opened ahead for WRITE, and that its
 * peer knows of.
 *
 * A grant is for one message, by its sequence, and is used once.  The receiver may
 * make a landing its process's only when the peer can write to it no more, and may
 * take a key back only when no WRITE can meet it any more:
 *
 *   NONE --GRANT--> OUT --the message came, or the peer has--> DUE --LOCAL_INV-->
 *                        let it go (REVOKED, RESET, FIN ...)
 *   ENDING --it has completed--> NONE
 *
 * Grants are for the next few messages alone, so that the place of one is its
 * sequence modulo their number, on both sides.
 *
 * How many are out follows what becomes of them: one that was used allows one more,
 * one that was not (its message was short, or did not fit) halves them, and a stream
 * whose grants have been idle has none, until a message comes that a grant would
 * have been good for.
 */
#ifndef DMS_CORE_GRANT_H
#define DMS_CORE_GRANT_H

#include <linux/types.h>

#include "wire.h"

enum dms_grant_state {
	DMS_GRANT_NONE,
	DMS_GRANT_OUT,		/* the peer may write */
	DMS_GRANT_DUE,		/* it writes no more: the key is to be made invalid */
	DMS_GRANT_ENDING,	/* that is under way */
};

enum dms_grant_revoke {
	DMS_REVOKE_NONE,
	DMS_REVOKE_OWED,	/* REVOKE is to be said */
	DMS_REVOKE_SAID,	/* and its answer is waited for */
};

/* Receiving side of a stream. */
struct dms_grants_rx {
	struct {
		u32	seq;
		u32	len;
		u8	state;		/* enum dms_grant_state */
	} g[DMS_GRANTS_AHEAD];
	u8	ahead;			/* how many may be OUT, at most DMS_GRANTS_AHEAD */
	u8	revoke;			/* enum dms_grant_revoke */
};

/* A grant that the peer gave.  len 0: none. */
struct dms_grant {
	u64	addr;
	u32	rkey;
	u32	seq;
	u32	len;
};

/* Sending side. */
struct dms_grants_tx {
	struct dms_grant g[DMS_GRANTS_AHEAD];
};

/* The place of a message's grant. */
static inline u32 dms_grant_at(u32 seq)
{
	return seq % DMS_GRANTS_AHEAD;
}

void dms_grants_rx_init(struct dms_grants_rx *rx);
u32 dms_grants_rx_count(const struct dms_grants_rx *rx, enum dms_grant_state state);
/* Not NONE: keys of the peer's that are not known to be invalid. */
u32 dms_grants_rx_busy(const struct dms_grants_rx *rx);
/* May message @seq be granted now?  @arrived: the last one that came */
bool dms_grants_rx_may(const struct dms_grants_rx *rx, u32 arrived, u32 seq);
bool dms_grants_rx_waits(const struct dms_grants_rx *rx, u32 seq);
void dms_grants_rx_out(struct dms_grants_rx *rx, u32 seq, u32 len);
/* PUSHED came: 0, or -EPROTO when that was not granted */
int dms_grants_rx_pushed(struct dms_grants_rx *rx, u32 seq, u32 len);
/* The message came another way; true when its grant is DUE by that. */
bool dms_grants_rx_passed(struct dms_grants_rx *rx, u32 seq);
/* A message came that a grant would have been good for. */
void dms_grants_rx_missed(struct dms_grants_rx *rx);
/* Nothing of the peer follows: what is OUT is DUE.  How many. */
u32 dms_grants_rx_release(struct dms_grants_rx *rx);
/* Takes back what is OUT; true when REVOKE is owed by that. */
bool dms_grants_rx_revoke(struct dms_grants_rx *rx);
/* REVOKE leaves now: how many it takes back; 0: it need not. */
u32 dms_grants_rx_say(struct dms_grants_rx *rx);
/* REVOKED came: 0, or -EPROTO */
int dms_grants_rx_revoked(struct dms_grants_rx *rx);
/* One that is DUE is ENDING from now on: its place, or -1. */
int dms_grants_rx_end(struct dms_grants_rx *rx);
void dms_grants_rx_gone(struct dms_grants_rx *rx, u32 at);
/* The carrier is fenced, and each grant is gone: no answer to REVOKE comes. */
void dms_grants_rx_lost(struct dms_grants_rx *rx);

/* GRANT came: 0, or -EPROTO.  @sent: the last message; @credit: last that has a landing */
int dms_grants_tx_add(struct dms_grants_tx *tx, u32 sent, u32 credit,
		      const struct dms_grant *grant);
/* For message @seq of @len bytes; NULL: none, or it does not fit. */
const struct dms_grant *dms_grants_tx_get(const struct dms_grants_tx *tx, u32 seq, u32 len);
/* REVOKE came. */
void dms_grants_tx_drop(struct dms_grants_tx *tx);

#endif /* DMS_CORE_GRANT_H */
