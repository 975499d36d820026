/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * The kernel's side of the ABI, in this process: ioctl() is replaced at link
 * time (-Wl,--wrap=ioctl), and what it hands out are memfds, so that the
 * library really maps shared memory.
 */
#ifndef FAKEKERNEL_H
#define FAKEKERNEL_H

#include <stdint.h>
#include <linux/dmastream.h>

struct fake {
	struct dmastream_query		query;
	int				fail;		/* errno of the next ioctl */
	unsigned long			last;		/* request of the last ioctl */
	uint32_t			enters;
	uint32_t			query_size;	/* what this kernel knows of QUERY */
	/* the one ring */
	struct dmastream_ring_shared	*ring;
	struct dmastream_sqe		*sqes;
	struct dmastream_cqe		*cqes;
	char				*indirect;
	struct dmastream_ring_create	ring_arg;
	struct dmastream_vec		vec[DMASTREAM_VEC_MAX];	/* of the last SEND */
	struct dmastream_tile		tile;		/* of the last one that had a tile */
	struct dmastream_sqe		sqe;		/* the last one consumed */
	/* the one group */
	struct dmastream_group_shared	*group;
	struct dmastream_landing	*landings;
	struct dmastream_group_create	group_arg;
	/* what the last call of each kind said */
	struct dmastream_listen		listen;
	struct dmastream_accept		accept;
	struct dmastream_connect	connect;
	struct dmastream_close		close;
	struct dmastream_shutdown	shutdown;
	struct dmastream_cancel		cancel;
};

extern struct fake fake;

int __wrap_ioctl(int fd, unsigned long request, void *arg);
void fake_reset(void);
int fake_complete(uint64_t user_data, int32_t result, uint32_t flags);

#endif /* FAKEKERNEL_H */
