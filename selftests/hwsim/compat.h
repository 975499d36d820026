/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels that this is built for; nowhere else is a version asked. */
#ifndef HWSIM_COMPAT_H
#define HWSIM_COMPAT_H

#include <linux/version.h>

/* 6.11 hands the whole bundle of attributes to create_cq */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define hwsim_cq_udata struct uverbs_attr_bundle
#else
#define hwsim_cq_udata struct ib_udata
#endif

#endif
