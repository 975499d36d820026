/* SPDX-License-Identifier: GPL-2.0-only */
/* A piece of a device's memory, as a queue pair means it: a list of SGEs, a remote key, or inline data. */
#ifndef HWSIM_REF_H
#define HWSIM_REF_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "device.h"

/**
 * struct hwsim_ref - names memory; holds nothing, and is checked at each access
 * @dev: whose memory
 * @pd: on behalf of what domain
 * @sge: the list, when there is one
 * @num_sge: its length
 * @va: else where
 * @key: and by what key
 * @len: bytes in all
 * @access: rights that an access needs; 0: local reading
 * @plain: else inline data, bytes of the CPU's
 */
struct hwsim_ref {
	struct hwsim_dev *dev;
	struct ib_pd *pd;
	const struct ib_sge *sge;
	u32 num_sge;
	u64 va;
	u32 key;
	u32 len;
	int access;
	const u8 *plain;
};

void hwsim_ref_sges(struct hwsim_ref *ref, struct hwsim_dev *dev, struct ib_pd *pd,
		    const struct ib_sge *sge, u32 num_sge, int access);
void hwsim_ref_key(struct hwsim_ref *ref, struct hwsim_dev *dev, struct ib_pd *pd, u64 va,
		   u32 key, u32 len, int access);
int hwsim_ref_check(const struct hwsim_ref *ref, u32 off, u32 len);
int hwsim_ref_read(const struct hwsim_ref *ref, u32 off, void *dst, u32 len);
int hwsim_ref_write(const struct hwsim_ref *ref, u32 off, const void *src, u32 len);
int hwsim_ref_copy(const struct hwsim_ref *to, u32 to_off, const struct hwsim_ref *from,
		   u32 from_off, u32 len);

#endif
