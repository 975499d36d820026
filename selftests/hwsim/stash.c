// SPDX-License-Identifier: GPL-2.0-only
/*
 * Payload on its way from packets into memory.
 *
 * The specification orders messages, not the bytes within one (IBTA volume 1, 9.5:
 * a client may rely on what a completion tells, and on nothing before).  With
 * the parameter "permissive" some packets of a message are collected, and then
 * written in any order, each from its last byte to its first.
 */
#include <linux/minmax.h>
#include <linux/random.h>

#include "pkt.h"
#include "ref.h"
#include "stash.h"
#include "wire.h"

#define HWSIM_CHUNK	256

static int place_backwards(const struct hwsim_ref *ref, const struct hwsim_pkt *pkt, u32 off)
{
	u32 left = pkt->len, n;
	int ret;

	for (; left; left -= n) {
		n = (left - 1) % HWSIM_CHUNK + 1;
		ret = hwsim_ref_write(ref, off + left - n, pkt->data + left - n, n);
		if (ret)
			return ret;
	}
	return 0;
}

/* All but @mine are forgotten then; that one is the caller's. */
static int place_all(struct hwsim_stash *stash, const struct hwsim_ref *ref,
		     const struct hwsim_pkt *mine)
{
	int ret = 0;
	u32 i;

	while (stash->n) {
		i = get_random_u32() % stash->n--;
		if (!ret)
			ret = place_backwards(ref, stash->pkt[i], stash->off[i]);
		if (stash->pkt[i] != mine)
			hwsim_pkt_free(stash->pkt[i]);
		stash->pkt[i] = stash->pkt[stash->n];
		stash->off[i] = stash->off[stash->n];
	}
	return ret;
}

/**
 * hwsim_stash_land() - put a packet's payload into memory, now or later
 * @stash: that of the message
 * @ref: memory of the message
 * @pkt: packet
 * @off: where in the message its payload begins
 * @last: the message ends here: when this returns all of it is in place
 * @kept: set when the packet was taken over; it is good until the next one comes
 *
 * Return: 0 or what hwsim_ref_write() says, of this packet or one before it.
 */
int hwsim_stash_land(struct hwsim_stash *stash, const struct hwsim_ref *ref,
		     struct hwsim_pkt *pkt, u32 off, bool last, bool *kept)
{
	if (pkt->ref)
		return hwsim_ref_copy(ref, off, pkt->ref, 0, pkt->len);
	if (!hwsim_permissive && !stash->n)
		return hwsim_ref_write(ref, off, pkt->data, pkt->len);
	stash->pkt[stash->n] = pkt;
	stash->off[stash->n++] = off;
	if (last || stash->n == HWSIM_STASH)
		return place_all(stash, ref, pkt);
	*kept = true;
	return 0;
}

/**
 * hwsim_stash_drop() - the message will not end: forget its payload
 * @stash: that of the message
 */
void hwsim_stash_drop(struct hwsim_stash *stash)
{
	while (stash->n)
		hwsim_pkt_free(stash->pkt[--stash->n]);
}
