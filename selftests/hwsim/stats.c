// SPDX-License-Identifier: GPL-2.0-only
/* Counters of a port. */
#include "device.h"
#include "stats.h"

static const struct rdma_stat_desc descs[HWSIM_STATS] = {
	[HWSIM_TX_PACKETS]	= { .name = "tx_packets" },
	[HWSIM_TX_BYTES]	= { .name = "tx_bytes" },
	[HWSIM_RX_PACKETS]	= { .name = "rx_packets" },
	[HWSIM_RX_BYTES]	= { .name = "rx_bytes" },
	[HWSIM_TX_FRAMES]	= { .name = "tx_frames" },
	[HWSIM_RX_FRAMES]	= { .name = "rx_frames" },
	[HWSIM_SEND_WRS]	= { .name = "send_requests" },
	[HWSIM_RNR_NAK_SENT]	= { .name = "rnr_nak_sent" },
	[HWSIM_RNR_NAK_RCVD]	= { .name = "rnr_nak_rcvd" },
	[HWSIM_RNR_EXCEEDED]	= { .name = "rnr_retry_exceeded" },
	[HWSIM_SEQ_NAK_SENT]	= { .name = "seq_nak_sent" },
	[HWSIM_SEQ_NAK_RCVD]	= { .name = "seq_nak_rcvd" },
	[HWSIM_IMPLIED_NAK]	= { .name = "implied_nak" },
	[HWSIM_ACK_TIMEOUT]	= { .name = "ack_timeouts" },
	[HWSIM_RETRY_EXCEEDED]	= { .name = "retry_exceeded" },
	[HWSIM_DUPLICATE]	= { .name = "duplicate_requests" },
	[HWSIM_OUT_OF_ORDER]	= { .name = "out_of_order" },
	[HWSIM_BAD_PACKET]	= { .name = "bad_packets" },
	[HWSIM_LOCAL_ERROR]	= { .name = "local_errors" },
	[HWSIM_REMOTE_ACCESS]	= { .name = "remote_access_errors" },
	[HWSIM_REMOTE_INVALID]	= { .name = "remote_invalid_requests" },
	[HWSIM_REMOTE_OPERATION] = { .name = "remote_operation_errors" },
	[HWSIM_MEMORY_FAULT]	= { .name = "memory_faults" },
	[HWSIM_CQ_OVERFLOW]	= { .name = "cq_overflows" },
	[HWSIM_UD_DROPPED]	= { .name = "ud_dropped" },
	[HWSIM_QUEUE_DROPS]	= { .name = "queue_drops" },
	[HWSIM_QUEUE_HIGH]	= { .name = "queue_high_water_bytes" },
	[HWSIM_ECN_MARKS]	= { .name = "ecn_marks" },
	[HWSIM_PFC_PAUSES]	= { .name = "pfc_pauses" },
	[HWSIM_LINK_DROPS]	= { .name = "link_drops" },
	[HWSIM_INJECTED]	= { .name = "injected" },
};

/**
 * hwsim_alloc_hw_port_stats() - the verb
 * @ibdev: device
 * @port: its one port
 *
 * Return: what the core shows, or NULL.
 */
struct rdma_hw_stats *hwsim_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, HWSIM_STATS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * hwsim_get_hw_stats() - the verb
 * @ibdev: device
 * @stats: filled in
 * @port: its one port; 0 stands for the device, which has none
 * @index: which; all are read whatever it is
 *
 * Return: how many were read.
 */
int hwsim_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index)
{
	struct hwsim_dev *dev = to_hwsim_dev(ibdev);
	int i;

	if (!port)
		return -EINVAL;
	for (i = 0; i < HWSIM_STATS; i++)
		stats->value[i] = READ_ONCE(dev->port.stats.count[i]);
	return HWSIM_STATS;
}
