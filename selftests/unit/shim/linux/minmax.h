/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DMS_SHIM_LINUX_MINMAX_H
#define DMS_SHIM_LINUX_MINMAX_H

/* like the kernel's, each evaluates its arguments once */
#define min_t(type, x, y) \
	({ type min_x = (x); type min_y = (y); min_x < min_y ? min_x : min_y; })
#define max_t(type, x, y) \
	({ type max_x = (x); type max_y = (y); max_x > max_y ? max_x : max_y; })
#define clamp_t(type, v, lo, hi) \
	({ type clamp_l = max_t(type, v, lo); min_t(type, clamp_l, hi); })

#endif /* DMS_SHIM_LINUX_MINMAX_H */
