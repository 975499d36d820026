// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl: the names of numbers.  They are keys of the JSON that dmsctl(8)
 * documents, and stay.
 */
#include <stdio.h>

#include <linux/dmastream.h>
#include <linux/dmastream_netlink.h>

#include "dmsctl.h"

struct name {
	const char	*name;
	const char	*help;
};

static const struct name counters[] = {
	[DMASTREAM_CTR_RDMA_TX_BYTES] = { "rdma_tx_bytes", "payload that peers read here by RDMA" },
	[DMASTREAM_CTR_RDMA_RX_BYTES] = { "rdma_rx_bytes", "payload placed here by RDMA" },
	[DMASTREAM_CTR_EAGER_TX_BYTES] = { "eager_tx_bytes", "payload sent in packets" },
	[DMASTREAM_CTR_EAGER_RX_BYTES] = { "eager_rx_bytes", "payload received in packets" },
	[DMASTREAM_CTR_COPIED_TX_BYTES] = { "copied_tx_bytes", "payload copied by senders" },
	[DMASTREAM_CTR_COPIED_RX_BYTES] = { "copied_rx_bytes", "payload copied into landings" },
	[DMASTREAM_CTR_TX_PACKETS] = { "tx_packets", "packets sent" },
	[DMASTREAM_CTR_RX_PACKETS] = { "rx_packets", "packets received" },
	[DMASTREAM_CTR_TX_FRAMES] = { "tx_frames", "frames in the packets sent" },
	[DMASTREAM_CTR_RX_FRAMES] = { "rx_frames", "frames in the packets received" },
	[DMASTREAM_CTR_TX_MSGS] = { "tx_msgs", "messages that peers acknowledged" },
	[DMASTREAM_CTR_RX_MSGS] = { "rx_msgs", "messages delivered here" },
	[DMASTREAM_CTR_CREDIT_UPDATES] = { "credit_updates", "credit updates sent" },
	[DMASTREAM_CTR_SLOT_STALLS] = { "slot_stalls", "a path had no slot credit" },
	[DMASTREAM_CTR_CREDIT_STALLS] = { "credit_stalls", "a stream had no landing credit" },
	[DMASTREAM_CTR_LANDING_STALLS] = { "landing_stalls", "a receive found its group empty" },
	[DMASTREAM_CTR_WINDOW_STALLS] = { "window_stalls", "a send window was full" },
	[DMASTREAM_CTR_KEY_STALLS] = { "key_stalls", "a path had no memory region left" },
	[DMASTREAM_CTR_HOLDS] = { "holds", "pulls put off" },
	[DMASTREAM_CTR_PULLS] = { "pulls", "pulls taken up again" },
	[DMASTREAM_CTR_KEYS_REGISTERED] = { "keys_registered", "memory opened to a peer" },
	[DMASTREAM_CTR_KEYS_INVALIDATED] = { "keys_invalidated", "memory closed again" },
	[DMASTREAM_CTR_READS_POSTED] = { "reads_posted", "RDMA READs posted" },
	[DMASTREAM_CTR_CQ_FULL_WAITS] = { "cq_full_waits", "a receive found no completion slot" },
	[DMASTREAM_CTR_KICKS] = { "kicks", "system calls that a NEED_KICK flag asked for" },
	[DMASTREAM_CTR_BAD_SQES] = { "bad_sqes", "submissions refused" },
	[DMASTREAM_CTR_BAD_LANDINGS] = { "bad_landings", "landing buffers refused" },
	[DMASTREAM_CTR_PROTOCOL_ERRORS] = { "protocol_errors", "what a peer may not send" },
	[DMASTREAM_CTR_SESSIONS_OPENED] = { "sessions_opened", "sessions that came up" },
	[DMASTREAM_CTR_SESSIONS_CLOSED] = { "sessions_closed", "sessions that ended" },
	[DMASTREAM_CTR_KEEPALIVE_LOSSES] = { "keepalive_losses", "sessions given up for silence" },
	[DMASTREAM_CTR_PATHS_OPENED] = { "paths_opened", "paths that came up" },
	[DMASTREAM_CTR_PATHS_FAILED] = { "paths_failed", "paths that broke" },
	[DMASTREAM_CTR_STREAMS_OPENED] = { "streams_opened", "streams that opened" },
	[DMASTREAM_CTR_STREAMS_CLOSED] = { "streams_closed", "streams that ended" },
	[DMASTREAM_CTR_RESETS_TX] = { "resets_tx", "stream resets sent" },
	[DMASTREAM_CTR_RESETS_RX] = { "resets_rx", "stream resets received" },
	[DMASTREAM_CTR_REFUSED_BY_PEER] = { "refused_by_peer", "refusals that peers gave" },
	[DMASTREAM_CTR_TX_PACKED] = { "tx_packed", "eager messages that shared their packet" },
	[DMASTREAM_CTR_POLLED_SQES] = { "polled_sqes", "submissions that polling threads consumed" },
	[DMASTREAM_CTR_POLL_SLEEPS] = { "poll_sleeps", "polling threads went to sleep" },
	[DMASTREAM_CTR_INCAST_WAITS] = { "incast_waits", "a pull found the incast budget spent" },
	[DMASTREAM_CTR_RATE_WAITS] = { "rate_waits", "a stream found its lane's rate limit spent" },
	[DMASTREAM_CTR_RECV_GROWN] = { "recv_grown", "receives posted above a path's floor" },
	[DMASTREAM_CTR_RECV_RECALLED] = { "recv_recalled", "receives asked back for other paths" },
	[DMASTREAM_CTR_RECV_RETURNED] = { "recv_returned", "of these, that came back" },
	[DMASTREAM_CTR_RECV_EMPTIES] = { "recv_empties", "empty packets that gave receives back" },
	[DMASTREAM_CTR_RECV_WAITS] = { "recv_waits", "a path found the receives of the NIC taken" },
	[DMASTREAM_CTR_TX_UNSIGNALLED] = { "tx_unsignalled", "packets that asked for no completion" },
	[DMASTREAM_CTR_ACKS_ALONE] = { "acks_alone", "packets of acknowledgements alone" },
	[DMASTREAM_CTR_ACKS_DELAYED] = { "acks_delayed", "acknowledgements that waited for a packet" },
	[DMASTREAM_CTR_ACKS_LATE] = { "acks_late", "of those the ones that waited in vain" },
	[DMASTREAM_CTR_PUSH_TX] = { "push_tx", "messages written into a landing of the peer" },
	[DMASTREAM_CTR_PUSH_RX] = { "push_rx", "messages that peers wrote into a landing here" },
	[DMASTREAM_CTR_GRANTS_SENT] = { "grants_sent", "landings opened to a peer ahead" },
	[DMASTREAM_CTR_GRANTS_REVOKED] = { "grants_revoked", "of those the ones taken back" },
	[DMASTREAM_CTR_PATHS_RESUMED] = { "paths_resumed", "that went on with another queue pair" },
	[DMASTREAM_CTR_PATH_REDIALS] = { "path_redials", "queue pairs asked for after one had failed" },
	[DMASTREAM_CTR_STREAMS_RESUMED] = { "streams_resumed", "that went on with it" },
	[DMASTREAM_CTR_MSGS_REPLAYED] = { "msgs_replayed", "sent again, not having arrived" },
	[DMASTREAM_CTR_EVENTS] = { "events", "events sent to who listened" },
	[DMASTREAM_CTR_EVENTS_LOST] = { "events_lost", "events lost for want of memory" },
	[DMASTREAM_CTR_FAULTS] = { "faults", "faults that were injected on cue" },
	[DMASTREAM_CTR_PATHS_TCP] = { "paths_tcp", "times that a path went over TCP" },
	[DMASTREAM_CTR_PATH_PROBES] = { "path_probes", "looks of such a path for RDMA" },
	[DMASTREAM_CTR_RAILS_LEFT] = { "rails_left", "queue pairs over another rail than their path's own" },
	[DMASTREAM_CTR_RAILS_BACK] = { "rails_back", "and then over that again" },
	[DMASTREAM_CTR_TCP_TX_BYTES] = { "tcp_tx_bytes", "payload that went over TCP" },
	[DMASTREAM_CTR_TCP_RX_BYTES] = { "tcp_rx_bytes", "payload that came over TCP" },
	[DMASTREAM_CTR_SKIPS_SENT] = { "skips_sent", "sends on the wire that were to be taken back" },
	[DMASTREAM_CTR_SKIPS_ACKED] = { "skips_acked", "of those the ones never to be delivered" },
	[DMASTREAM_CTR_SKIPS_DONE] = { "skips_done", "messages of peers not delivered for that" },
	[DMASTREAM_CTR_SKIPS_LATE] = { "skips_late", "that had been delivered before" },
	[DMASTREAM_CTR_POLL_WAKES] = { "poll_wakes", "polling threads woken by a system call" },
};

static const char *const gauges[] = {
	[DMASTREAM_GAUGE_CONTEXTS] = "contexts",
	[DMASTREAM_GAUGE_POOLS] = "pools",
	[DMASTREAM_GAUGE_PINNED_BYTES] = "pinned_bytes",
	[DMASTREAM_GAUGE_GROUPS] = "groups",
	[DMASTREAM_GAUGE_RINGS] = "rings",
	[DMASTREAM_GAUGE_LISTENERS] = "listeners",
	[DMASTREAM_GAUGE_STREAMS] = "streams",
	[DMASTREAM_GAUGE_SESSIONS] = "sessions",
	[DMASTREAM_GAUGE_PATHS] = "paths",
	[DMASTREAM_GAUGE_LANDINGS_TAKEN] = "landings_taken",
	[DMASTREAM_GAUGE_KEYS_OUT] = "keys_out",
	[DMASTREAM_GAUGE_REQS_IN_FLIGHT] = "reqs_in_flight",
};

static const char *const refusals[] = {
	[DMASTREAM_REFUSED_SERVICE] = "service",
	[DMASTREAM_REFUSED_BACKLOG] = "backlog",
	[DMASTREAM_REFUSED_MEMORY] = "memory",
	[DMASTREAM_REFUSED_VERSION] = "version",
	[DMASTREAM_REFUSED_AUTH] = "auth",
	[DMASTREAM_REFUSED_PREFIX] = "prefix",
	[DMASTREAM_REFUSED_LIMIT] = "limit",
	[DMASTREAM_REFUSED_CROSSED] = "crossed",
	[DMASTREAM_REFUSED_MALFORMED] = "malformed",
	[DMASTREAM_REFUSED_CLOSED] = "closed",
};

static const char *const session_states[] = {
	[DMASTREAM_SESSION_CONNECTING] = "connecting",
	[DMASTREAM_SESSION_HANDSHAKE] = "handshake",
	[DMASTREAM_SESSION_UP] = "up",
	[DMASTREAM_SESSION_CLOSING] = "closing",
	[DMASTREAM_SESSION_DEAD] = "dead",
};

static const char *const path_states[] = {
	[DMASTREAM_PATH_CONNECTING] = "connecting",
	[DMASTREAM_PATH_UP] = "up",
	[DMASTREAM_PATH_DYING] = "dying",
	[DMASTREAM_PATH_DEAD] = "dead",
};

static const char *const lanes[] = {
	[DMASTREAM_LANE_BULK] = "bulk",
	[DMASTREAM_LANE_LATENCY] = "latency",
};

static const char *const events[] = {
	[DMASTREAM_EVENT_SESSION_UP] = "session-up",
	[DMASTREAM_EVENT_SESSION_DOWN] = "session-down",
	[DMASTREAM_EVENT_PATH_UP] = "path-up",
	[DMASTREAM_EVENT_PATH_DOWN] = "path-down",
	[DMASTREAM_EVENT_FAILOVER] = "failover",
	[DMASTREAM_EVENT_PATH_BACK] = "path-back",
	[DMASTREAM_EVENT_PEER_LOST] = "peer-lost",
};

_Static_assert(ARRAY_SIZE(counters) == DMASTREAM_CTR_END, "a counter has no name");
_Static_assert(ARRAY_SIZE(gauges) == DMASTREAM_GAUGE_END, "a gauge has no name");

static const char *pick(const char *const *list, size_t n, uint32_t i)
{
	return i < n ? list[i] : NULL;
}

const char *ctl_counter_name(uint32_t n)
{
	return n < ARRAY_SIZE(counters) ? counters[n].name : NULL;
}

const char *ctl_counter_help(uint32_t n)
{
	return n < ARRAY_SIZE(counters) ? counters[n].help : NULL;
}

const char *ctl_gauge_name(uint32_t n)
{
	return pick(gauges, ARRAY_SIZE(gauges), n);
}

const char *ctl_refusal_name(uint32_t n)
{
	return pick(refusals, ARRAY_SIZE(refusals), n);
}

const char *ctl_session_state(uint32_t n)
{
	return pick(session_states, ARRAY_SIZE(session_states), n);
}

const char *ctl_path_state(uint32_t n)
{
	return pick(path_states, ARRAY_SIZE(path_states), n);
}

const char *ctl_lane(uint32_t n)
{
	return pick(lanes, ARRAY_SIZE(lanes), n);
}

const char *ctl_event(uint32_t n)
{
	return pick(events, ARRAY_SIZE(events), n);
}

const char *ctl_features(uint64_t bits, char *buf, size_t size)
{
	static const char *const names[] = { "depth", "push", "resume", "tcp", "skip" };
	size_t at = 0;
	unsigned int i;

	*buf = '\0';
	for (i = 0; i < ARRAY_SIZE(names) && at < size; i++) {
		if (!(bits & 1ULL << i))
			continue;
		at += snprintf(buf + at, size - at, "%s%s", at ? " " : "", names[i]);
		bits &= ~(1ULL << i);
	}
	if (bits && at < size)
		snprintf(buf + at, size - at, "%s0x%llx", at ? " " : "",
			 (unsigned long long)bits);
	return buf;
}
