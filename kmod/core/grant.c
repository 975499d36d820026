// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct push: landings granted ahead.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "core.h"
#include "grant.h"

/**
 * dms_grants_rx_init() - nothing is granted
 * @rx: receiving side
 *
 * Context: Any.
 */
void dms_grants_rx_init(struct dms_grants_rx *rx)
{
	memset(rx, 0, sizeof(*rx));
	rx->ahead = DMS_GRANTS_AHEAD;
}

/**
 * dms_grants_rx_count() - grants in a state
 * @rx: receiving side
 * @state: which
 *
 * Context: Any.
 * Return: how many.
 */
u32 dms_grants_rx_count(const struct dms_grants_rx *rx, enum dms_grant_state state)
{
	u32 i, n = 0;

	for (i = 0; i < DMS_GRANTS_AHEAD; i++)
		n += rx->g[i].state == state;
	return n;
}

/**
 * dms_grants_rx_busy() - grants whose key may still open something
 * @rx: receiving side
 *
 * Context: Any.
 * Return: how many.
 */
u32 dms_grants_rx_busy(const struct dms_grants_rx *rx)
{
	return DMS_GRANTS_AHEAD - dms_grants_rx_count(rx, DMS_GRANT_NONE);
}

/**
 * dms_grants_rx_may() - may a message be granted?
 * @rx: receiving side
 * @arrived: sequence of the last message that came
 * @seq: of the message
 *
 * Not while grants are being taken back: the answer to REVOKE is for all that were
 * given before it.
 *
 * Context: Any.
 * Return: true when it may.
 */
bool dms_grants_rx_may(const struct dms_grants_rx *rx, u32 arrived, u32 seq)
{
	return rx->revoke == DMS_REVOKE_NONE && seq - arrived - 1 < DMS_GRANTS_AHEAD &&
	       rx->g[dms_grant_at(seq)].state == DMS_GRANT_NONE &&
	       dms_grants_rx_count(rx, DMS_GRANT_OUT) < rx->ahead;
}

/**
 * dms_grants_rx_waits() - is a message's place soon free?
 * @rx: receiving side
 * @seq: of the message
 *
 * Its turn comes then, and not that of the messages behind it, which would use up what
 * may be granted.
 *
 * Context: Any.
 * Return: true while the key of the grant before is not invalid.
 */
bool dms_grants_rx_waits(const struct dms_grants_rx *rx, u32 seq)
{
	u32 state = rx->g[dms_grant_at(seq)].state;

	return state == DMS_GRANT_DUE || state == DMS_GRANT_ENDING;
}

/**
 * dms_grants_rx_out() - GRANT leaves
 * @rx: receiving side
 * @seq: for which message; dms_grants_rx_may() said yes
 * @len: bytes that may be written, not zero
 *
 * Context: Any.
 */
void dms_grants_rx_out(struct dms_grants_rx *rx, u32 seq, u32 len)
{
	u32 at = dms_grant_at(seq);

	rx->g[at].seq = seq;
	rx->g[at].len = len;
	rx->g[at].state = DMS_GRANT_OUT;
}

static bool rx_is_out(const struct dms_grants_rx *rx, u32 seq)
{
	u32 at = dms_grant_at(seq);

	return rx->g[at].state == DMS_GRANT_OUT && rx->g[at].seq == seq;
}

/**
 * dms_grants_rx_pushed() - PUSHED came
 * @rx: receiving side
 * @seq: of the message
 * @len: of the message
 *
 * It may cross our REVOKE, not follow its answer.
 *
 * Context: Any.
 * Return: 0, and the grant is DUE; -EPROTO: it is not out, or shorter.
 */
int dms_grants_rx_pushed(struct dms_grants_rx *rx, u32 seq, u32 len)
{
	u32 at = dms_grant_at(seq);

	if (!rx_is_out(rx, seq) || !len || len > rx->g[at].len)
		return -EPROTO;
	rx->g[at].state = DMS_GRANT_DUE;
	if (rx->ahead < DMS_GRANTS_AHEAD)
		rx->ahead++;
	return 0;
}

/**
 * dms_grants_rx_passed() - a message came, and was not pushed
 * @rx: receiving side
 * @seq: of the message
 *
 * With that the peer has let its grant go, if it ever heard of it.
 *
 * Context: Any.
 * Return: true when it had one, which is DUE.
 */
bool dms_grants_rx_passed(struct dms_grants_rx *rx, u32 seq)
{
	if (!rx_is_out(rx, seq))
		return false;
	rx->g[dms_grant_at(seq)].state = DMS_GRANT_DUE;
	rx->ahead /= 2;
	return true;
}

/**
 * dms_grants_rx_missed() - a message was announced that could have been pushed
 * @rx: receiving side
 *
 * One that has stopped granting tries one grant.
 *
 * Context: Any.
 */
void dms_grants_rx_missed(struct dms_grants_rx *rx)
{
	rx->ahead = max_t(u8, rx->ahead, 1);
}

/**
 * dms_grants_rx_release() - the peer writes no more
 * @rx: receiving side
 *
 * A REVOKE that has left is answered still: the two have crossed.
 *
 * Context: Any.
 * Return: grants that are DUE by that.
 */
u32 dms_grants_rx_release(struct dms_grants_rx *rx)
{
	u32 i, n = 0;

	for (i = 0; i < DMS_GRANTS_AHEAD; i++) {
		if (rx->g[i].state != DMS_GRANT_OUT)
			continue;
		rx->g[i].state = DMS_GRANT_DUE;
		n++;
	}
	if (rx->revoke == DMS_REVOKE_OWED)
		rx->revoke = DMS_REVOKE_NONE;
	return n;
}

/**
 * dms_grants_rx_revoke() - take back what is out
 * @rx: receiving side
 *
 * None is given afterwards, until one is used after all, which crossed REVOKE, or
 * dms_grants_rx_missed().
 *
 * Context: Any.
 * Return: true when REVOKE is owed, and was not before.
 */
bool dms_grants_rx_revoke(struct dms_grants_rx *rx)
{
	rx->ahead = 0;
	if (rx->revoke != DMS_REVOKE_NONE || !dms_grants_rx_count(rx, DMS_GRANT_OUT))
		return false;
	rx->revoke = DMS_REVOKE_OWED;
	return true;
}

/**
 * dms_grants_rx_say() - REVOKE leaves, if it is needed still
 * @rx: receiving side, where it is owed
 *
 * Context: Any.
 * Return: grants that it takes back; 0: all were used meanwhile, and nothing is said.
 */
u32 dms_grants_rx_say(struct dms_grants_rx *rx)
{
	u32 n = dms_grants_rx_count(rx, DMS_GRANT_OUT);

	if (rx->revoke != DMS_REVOKE_OWED)
		return 0;
	rx->revoke = n ? DMS_REVOKE_SAID : DMS_REVOKE_NONE;
	return n;
}

/**
 * dms_grants_rx_revoked() - REVOKED came
 * @rx: receiving side
 *
 * Context: Any.
 * Return: 0, and all that was out is DUE; -EPROTO: nobody had asked.
 */
int dms_grants_rx_revoked(struct dms_grants_rx *rx)
{
	if (rx->revoke != DMS_REVOKE_SAID)
		return -EPROTO;
	dms_grants_rx_release(rx);
	rx->revoke = DMS_REVOKE_NONE;
	return 0;
}

/**
 * dms_grants_rx_end() - a key that is to be made invalid
 * @rx: receiving side
 *
 * Context: Any.
 * Return: the place of its grant, which is ENDING from now on; -1: there is none.
 */
int dms_grants_rx_end(struct dms_grants_rx *rx)
{
	u32 i;

	for (i = 0; i < DMS_GRANTS_AHEAD; i++) {
		if (rx->g[i].state != DMS_GRANT_DUE)
			continue;
		rx->g[i].state = DMS_GRANT_ENDING;
		return i;
	}
	return -1;
}

/**
 * dms_grants_rx_gone() - a key opens nothing any more
 * @rx: receiving side
 * @at: place of its grant
 *
 * Context: Any.
 */
void dms_grants_rx_gone(struct dms_grants_rx *rx, u32 at)
{
	rx->g[at].state = DMS_GRANT_NONE;
}

/**
 * dms_grants_rx_lost() - the queue pair that they were given over is gone
 * @rx: receiving side, all grants NONE
 *
 * Context: Any.
 */
void dms_grants_rx_lost(struct dms_grants_rx *rx)
{
	rx->revoke = DMS_REVOKE_NONE;
}

/**
 * dms_grants_tx_add() - GRANT came
 * @tx: sending side
 * @sent: sequence of the last message that left
 * @credit: sequence of the last message for which there is a landing
 * @grant: what the peer said; its address and key are the peer's own business
 *
 * One for a message that has left crossed it, and is forgotten: the peer learns from
 * that message how it came.
 *
 * Context: Any.
 * Return: 0; -EPROTO: no length, a second one for its message, without a landing
 * credit, or too far ahead.
 */
int dms_grants_tx_add(struct dms_grants_tx *tx, u32 sent, u32 credit,
		      const struct dms_grant *grant)
{
	struct dms_grant *g = &tx->g[dms_grant_at(grant->seq)];
	s32 ahead = grant->seq - sent;

	if (!grant->len || ahead > DMS_GRANTS_AHEAD || (s32)(grant->seq - credit) > 0)
		return -EPROTO;
	if (ahead <= 0)
		return 0;
	if (g->len && (s32)(g->seq - sent) > 0)
		return -EPROTO;
	*g = *grant;
	return 0;
}

/**
 * dms_grants_tx_get() - may a message be pushed?
 * @tx: sending side
 * @seq: the message's
 * @len: its bytes
 *
 * Context: Any.
 * Return: the grant, good for as long as nothing else is asked; NULL: it may not.
 */
const struct dms_grant *dms_grants_tx_get(const struct dms_grants_tx *tx, u32 seq, u32 len)
{
	const struct dms_grant *g = &tx->g[dms_grant_at(seq)];

	return g->len && g->seq == seq && len && len <= g->len ? g : NULL;
}

/**
 * dms_grants_tx_drop() - REVOKE came
 * @tx: sending side
 *
 * Context: Any.
 */
void dms_grants_tx_drop(struct dms_grants_tx *tx)
{
	memset(tx, 0, sizeof(*tx));
}
