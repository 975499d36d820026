/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DMS_SHIM_LINUX_BITS_H
#define DMS_SHIM_LINUX_BITS_H

#define BIT(nr)		(1UL << (nr))

#endif /* DMS_SHIM_LINUX_BITS_H */
