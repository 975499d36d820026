/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets between machines, as Ethernet frames. */
#ifndef HWSIM_FRAME_H
#define HWSIM_FRAME_H

#include <linux/build_bug.h>
#include <linux/types.h>

struct hwsim_pkt;
struct hwsim_port;

#define HWSIM_ETHERTYPE		0x88b5	/* IEEE 802 local experimental 1 */
#define HWSIM_MAGIC		0x68773031

/* Bytes in front of the payload, without Ethernet's own. */
#define HWSIM_FRAME_HEADER	112

/* What precedes the payload; all fields are struct hwsim_pkt's. */
struct hwsim_frame {
	__be32 magic;
	u8 op;
	u8 flags;
	u8 syndrome;
	u8 reserved0;
	u8 sgid[16];
	u8 dgid[16];
	__be32 dqpn;
	__be32 psn;
	__be32 sqpn;
	__be32 qkey;
	__be64 va;
	__be32 rkey;
	__be32 rlen;
	__be64 swap;
	__be64 compare;
	__be32 imm;
	__be32 inv;
	__be32 msn;
	__be32 len;
	__be64 reserved;
} __packed;

static_assert(sizeof(struct hwsim_frame) == HWSIM_FRAME_HEADER);

#define HWSIM_FRAME_SOLICITED	1
#define HWSIM_FRAME_ACK		2
#define HWSIM_FRAME_ECN		4
#define HWSIM_FRAME_FLAGS	7

void hwsim_frame_send(struct hwsim_port *port, const struct hwsim_pkt *pkt);
void hwsim_frame_flush(void);
void hwsim_frame_init(void);
void hwsim_frame_exit(void);

#endif
