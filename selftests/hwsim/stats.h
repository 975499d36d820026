/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of a port: ports/1/hw_counters, "rdma statistic". */
#ifndef HWSIM_STATS_H
#define HWSIM_STATS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

enum hwsim_stat {
	HWSIM_TX_PACKETS,
	HWSIM_TX_BYTES,
	HWSIM_RX_PACKETS,
	HWSIM_RX_BYTES,
	HWSIM_TX_FRAMES,
	HWSIM_RX_FRAMES,
	HWSIM_SEND_WRS,
	HWSIM_RNR_NAK_SENT,
	HWSIM_RNR_NAK_RCVD,
	HWSIM_RNR_EXCEEDED,
	HWSIM_SEQ_NAK_SENT,
	HWSIM_SEQ_NAK_RCVD,
	HWSIM_IMPLIED_NAK,
	HWSIM_ACK_TIMEOUT,
	HWSIM_RETRY_EXCEEDED,
	HWSIM_DUPLICATE,
	HWSIM_OUT_OF_ORDER,
	HWSIM_BAD_PACKET,
	HWSIM_LOCAL_ERROR,
	HWSIM_REMOTE_ACCESS,
	HWSIM_REMOTE_INVALID,
	HWSIM_REMOTE_OPERATION,
	HWSIM_MEMORY_FAULT,
	HWSIM_CQ_OVERFLOW,
	HWSIM_UD_DROPPED,
	HWSIM_QUEUE_DROPS,
	HWSIM_QUEUE_HIGH,
	HWSIM_ECN_MARKS,
	HWSIM_PFC_PAUSES,
	HWSIM_LINK_DROPS,
	HWSIM_INJECTED,
	HWSIM_STATS
};

/* under the simulator's lock; read without it, as counters are */
struct hwsim_stats {
	u64 count[HWSIM_STATS];
};

struct rdma_hw_stats *hwsim_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int hwsim_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

#endif
