/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's limits of its integer types; types.h of this shim has them. */
#include <linux/types.h>
