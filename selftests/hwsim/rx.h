/* SPDX-License-Identifier: GPL-2.0-only */
/* A packet has come to a device. */
#ifndef HWSIM_RX_H
#define HWSIM_RX_H

#include <linux/types.h>

struct hwsim_dev;
struct hwsim_pkt;

bool hwsim_rx(struct hwsim_dev *dev, struct hwsim_pkt *pkt);

#endif
