/* SPDX-License-Identifier: GPL-2.0-only */
/* Payload on its way from packets into memory. */
#ifndef HWSIM_STASH_H
#define HWSIM_STASH_H

#include <linux/types.h>

struct hwsim_pkt;
struct hwsim_ref;

#define HWSIM_STASH	16

/**
 * struct hwsim_stash - packets of one message whose payload waits to be put in place
 * @n: how many
 * @pkt: they; owned
 * @off: where in the message the payload of each begins
 */
struct hwsim_stash {
	u32 n;
	struct hwsim_pkt *pkt[HWSIM_STASH];
	u32 off[HWSIM_STASH];
};

int hwsim_stash_land(struct hwsim_stash *stash, const struct hwsim_ref *ref,
		     struct hwsim_pkt *pkt, u32 off, bool last, bool *kept);
void hwsim_stash_drop(struct hwsim_stash *stash);

#endif
