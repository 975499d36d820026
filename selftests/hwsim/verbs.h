/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of verbs. */
#ifndef HWSIM_VERBS_H
#define HWSIM_VERBS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops hwsim_ops;

#endif
