/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that only simulated NICs reach; its ioctls have a header of their own. */
#ifndef HWSIM_HBM_H
#define HWSIM_HBM_H

#include <linux/types.h>

struct dma_buf;
struct hwsim_hbm_info;

int hwsim_hbm_init(void);
void hwsim_hbm_exit(void);

struct dma_buf *hwsim_hbm_create(u64 size, u32 flags);
int hwsim_hbm_flush(struct dma_buf *dmabuf, u64 off, u64 len);
int hwsim_hbm_move(struct dma_buf *dmabuf);
int hwsim_hbm_peek(struct dma_buf *dmabuf, u64 off, void *to, u64 len);
int hwsim_hbm_poke(struct dma_buf *dmabuf, u64 off, const void *from, u64 len);
int hwsim_hbm_info(struct dma_buf *dmabuf, struct hwsim_hbm_info *info);

#endif /* HWSIM_HBM_H */
