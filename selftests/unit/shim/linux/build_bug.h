/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DMS_SHIM_LINUX_BUILD_BUG_H
#define DMS_SHIM_LINUX_BUILD_BUG_H

#define static_assert(expr)	_Static_assert(expr, #expr)

#endif /* DMS_SHIM_LINUX_BUILD_BUG_H */
