/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets between machines, as Ethernet frames. */
#ifndef HWSIM_FRAME_H
#define HWSIM_FRAME_H

struct hwsim_pkt;
struct hwsim_port;

/* Bytes in front of the payload, without Ethernet's own. */
#define HWSIM_FRAME_HEADER	112

void hwsim_frame_send(struct hwsim_port *port, const struct hwsim_pkt *pkt);
void hwsim_frame_flush(void);
void hwsim_frame_init(void);
void hwsim_frame_exit(void);

#endif
