/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters and gauges of the module, always on.
 *
 * Both are per-CPU and of the whole module, not of a network namespace.  An
 * update is one instruction on the local CPU and may be done in any context,
 * also in an interrupt.  A read adds up the CPUs while they go on counting: it
 * is exact once the module is quiet, and near the truth before.
 *
 * The numbers are ABI: they are those of <linux/dmastream_netlink.h>.  A new
 * counter is added there, here, and in the name table of tools/dmsctl.
 */
#ifndef DMS_STATS_H
#define DMS_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/dmastream.h>
#include <linux/dmastream_netlink.h>

enum dms_stat {
	/* payload, in bytes */
	DMS_STAT_RDMA_TX_BYTES	= DMASTREAM_CTR_RDMA_TX_BYTES,
	DMS_STAT_RDMA_RX_BYTES	= DMASTREAM_CTR_RDMA_RX_BYTES,
	DMS_STAT_EAGER_TX_BYTES	= DMASTREAM_CTR_EAGER_TX_BYTES,
	DMS_STAT_EAGER_RX_BYTES	= DMASTREAM_CTR_EAGER_RX_BYTES,
	DMS_STAT_COPIED_TX_BYTES = DMASTREAM_CTR_COPIED_TX_BYTES,
	DMS_STAT_COPIED_RX_BYTES = DMASTREAM_CTR_COPIED_RX_BYTES,
	/* traffic */
	DMS_STAT_TX_PACKETS	= DMASTREAM_CTR_TX_PACKETS,
	DMS_STAT_RX_PACKETS	= DMASTREAM_CTR_RX_PACKETS,
	DMS_STAT_TX_FRAMES	= DMASTREAM_CTR_TX_FRAMES,
	DMS_STAT_RX_FRAMES	= DMASTREAM_CTR_RX_FRAMES,
	DMS_STAT_TX_MSGS	= DMASTREAM_CTR_TX_MSGS,
	DMS_STAT_RX_MSGS	= DMASTREAM_CTR_RX_MSGS,
	DMS_STAT_CREDIT_UPDATES	= DMASTREAM_CTR_CREDIT_UPDATES,
	/* something had to wait */
	DMS_STAT_SLOT_STALLS	= DMASTREAM_CTR_SLOT_STALLS,
	DMS_STAT_CREDIT_STALLS	= DMASTREAM_CTR_CREDIT_STALLS,
	DMS_STAT_LANDING_STALLS	= DMASTREAM_CTR_LANDING_STALLS,
	DMS_STAT_WINDOW_STALLS	= DMASTREAM_CTR_WINDOW_STALLS,
	DMS_STAT_KEY_STALLS	= DMASTREAM_CTR_KEY_STALLS,
	DMS_STAT_CQ_FULL_WAITS	= DMASTREAM_CTR_CQ_FULL_WAITS,
	/* rendezvous */
	DMS_STAT_HOLDS		= DMASTREAM_CTR_HOLDS,
	DMS_STAT_PULLS		= DMASTREAM_CTR_PULLS,
	DMS_STAT_KEYS_REGISTERED = DMASTREAM_CTR_KEYS_REGISTERED,
	DMS_STAT_KEYS_INVALIDATED = DMASTREAM_CTR_KEYS_INVALIDATED,
	DMS_STAT_READS_POSTED	= DMASTREAM_CTR_READS_POSTED,
	/* the process */
	DMS_STAT_KICKS		= DMASTREAM_CTR_KICKS,
	DMS_STAT_BAD_SQES	= DMASTREAM_CTR_BAD_SQES,
	DMS_STAT_BAD_LANDINGS	= DMASTREAM_CTR_BAD_LANDINGS,
	/* peers */
	DMS_STAT_PROTOCOL_ERRORS = DMASTREAM_CTR_PROTOCOL_ERRORS,
	DMS_STAT_SESSIONS_OPENED = DMASTREAM_CTR_SESSIONS_OPENED,
	DMS_STAT_SESSIONS_CLOSED = DMASTREAM_CTR_SESSIONS_CLOSED,
	DMS_STAT_KEEPALIVE_LOSSES = DMASTREAM_CTR_KEEPALIVE_LOSSES,
	DMS_STAT_PATHS_OPENED	= DMASTREAM_CTR_PATHS_OPENED,
	DMS_STAT_PATHS_FAILED	= DMASTREAM_CTR_PATHS_FAILED,
	DMS_STAT_STREAMS_OPENED	= DMASTREAM_CTR_STREAMS_OPENED,
	DMS_STAT_STREAMS_CLOSED	= DMASTREAM_CTR_STREAMS_CLOSED,
	DMS_STAT_RESETS_TX	= DMASTREAM_CTR_RESETS_TX,
	DMS_STAT_RESETS_RX	= DMASTREAM_CTR_RESETS_RX,
	DMS_STAT_REFUSED_BY_PEER = DMASTREAM_CTR_REFUSED_BY_PEER,
	DMS_STAT_TX_PACKED	= DMASTREAM_CTR_TX_PACKED,
	DMS_STAT_POLLED_SQES	= DMASTREAM_CTR_POLLED_SQES,
	DMS_STAT_POLL_SLEEPS	= DMASTREAM_CTR_POLL_SLEEPS,
	DMS_STAT_POLL_WAKES	= DMASTREAM_CTR_POLL_WAKES,
	DMS_STAT_INCAST_WAITS	= DMASTREAM_CTR_INCAST_WAITS,
	DMS_STAT_RATE_WAITS	= DMASTREAM_CTR_RATE_WAITS,
	/* receives that move between paths */
	DMS_STAT_RECV_GROWN	= DMASTREAM_CTR_RECV_GROWN,
	DMS_STAT_RECV_RECALLED	= DMASTREAM_CTR_RECV_RECALLED,
	DMS_STAT_RECV_RETURNED	= DMASTREAM_CTR_RECV_RETURNED,
	DMS_STAT_RECV_EMPTIES	= DMASTREAM_CTR_RECV_EMPTIES,
	DMS_STAT_RECV_WAITS	= DMASTREAM_CTR_RECV_WAITS,
	DMS_STAT_TX_UNSIGNALLED	= DMASTREAM_CTR_TX_UNSIGNALLED,
	DMS_STAT_ACKS_ALONE	= DMASTREAM_CTR_ACKS_ALONE,
	DMS_STAT_ACKS_DELAYED	= DMASTREAM_CTR_ACKS_DELAYED,
	DMS_STAT_ACKS_LATE	= DMASTREAM_CTR_ACKS_LATE,
	DMS_STAT_FAULTS		= DMASTREAM_CTR_FAULTS,

	/* of this node, by kind: DMS_STAT_REFUSED + enum dmastream_refusal */
	DMS_STAT_REFUSED	= DMASTREAM_CTR_END,
	DMS_STAT_END		= DMS_STAT_REFUSED + DMASTREAM_REFUSED_CLOSED + 1,
};

enum dms_gauge {
	DMS_GAUGE_CONTEXTS	= DMASTREAM_GAUGE_CONTEXTS,
	DMS_GAUGE_POOLS		= DMASTREAM_GAUGE_POOLS,
	DMS_GAUGE_PINNED_BYTES	= DMASTREAM_GAUGE_PINNED_BYTES,
	DMS_GAUGE_GROUPS	= DMASTREAM_GAUGE_GROUPS,
	DMS_GAUGE_RINGS		= DMASTREAM_GAUGE_RINGS,
	DMS_GAUGE_LISTENERS	= DMASTREAM_GAUGE_LISTENERS,
	DMS_GAUGE_STREAMS	= DMASTREAM_GAUGE_STREAMS,
	DMS_GAUGE_SESSIONS	= DMASTREAM_GAUGE_SESSIONS,
	DMS_GAUGE_PATHS		= DMASTREAM_GAUGE_PATHS,
	DMS_GAUGE_LANDINGS_TAKEN = DMASTREAM_GAUGE_LANDINGS_TAKEN,
	DMS_GAUGE_KEYS_OUT	= DMASTREAM_GAUGE_KEYS_OUT,
	DMS_GAUGE_REQS_IN_FLIGHT = DMASTREAM_GAUGE_REQS_IN_FLIGHT,
	DMS_GAUGE_END		= DMASTREAM_GAUGE_END,
};

struct dms_stats {
	u64	stat[DMS_STAT_END];
	s64	gauge[DMS_GAUGE_END];
};

DECLARE_PER_CPU(struct dms_stats, dms_stats);

/**
 * dms_stat_add() - count
 * @stat: what
 * @n: how much
 *
 * Context: any.
 */
static inline void dms_stat_add(enum dms_stat stat, u64 n)
{
	this_cpu_add(dms_stats.stat[stat], n);
}

static inline void dms_stat_inc(enum dms_stat stat)
{
	this_cpu_inc(dms_stats.stat[stat]);
}

/**
 * dms_stat_refused() - count a refusal that this node gives to a peer
 * @kind: enum dmastream_refusal; others are not counted
 *
 * Context: any.
 */
static inline void dms_stat_refused(u32 kind)
{
	if (kind < DMS_STAT_END - DMS_STAT_REFUSED)
		this_cpu_inc(dms_stats.stat[DMS_STAT_REFUSED + kind]);
}

/**
 * dms_gauge_add() - change a gauge
 * @gauge: which
 * @n: by how much, may be negative
 *
 * The CPU that takes away need not be the one that added: only the sum over
 * all CPUs has a meaning.
 *
 * Context: any.
 */
static inline void dms_gauge_add(enum dms_gauge gauge, s64 n)
{
	this_cpu_add(dms_stats.gauge[gauge], n);
}

static inline void dms_gauge_inc(enum dms_gauge gauge)
{
	this_cpu_inc(dms_stats.gauge[gauge]);
}

static inline void dms_gauge_dec(enum dms_gauge gauge)
{
	this_cpu_dec(dms_stats.gauge[gauge]);
}

u64 dms_stat_sum(enum dms_stat stat);
s64 dms_gauge_sum(enum dms_gauge gauge);

#endif /* DMS_STATS_H */
