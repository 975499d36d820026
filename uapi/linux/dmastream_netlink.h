/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dmastream: what an operator sees, over generic netlink.
 *
 * EXPERIMENTAL, as <linux/dmastream.h> is: until the release that removes this
 * sentence, anything here may change.
 *
 * Rules:
 *  - the family answers for the network namespace of the socket: sessions,
 *    paths and streams of others are not seen.  Counters and gauges are of the
 *    whole module;
 *  - GET_NODE, GET_SESSION and GET_PATH are for everybody.  GET_STREAM shows a
 *    user what is his, and everything to a caller with CAP_NET_ADMIN over the
 *    network namespace.  Pools belong to no namespace: GET_POOL wants that
 *    capability in the initial user namespace to show those of others;
 *  - whoever joins the multicast group hears what happens to sessions and paths
 *    of his socket's network namespace, as GET_SESSION and GET_PATH show them;
 *  - a request carries no attributes.  A reader skips attributes that it does
 *    not know and does without those that are not there;
 *  - every number here is fixed once released; new ones go to the end.
 */
#ifndef _UAPI_LINUX_DMASTREAM_NETLINK_H
#define _UAPI_LINUX_DMASTREAM_NETLINK_H

#include <linux/types.h>

#define DMASTREAM_GENL_NAME	"dmastream"
#define DMASTREAM_GENL_VERSION	1

/* multicast group of events */
#define DMASTREAM_GENL_EVENTS	"events"

/* enum dmastream_nl_cmd - commands; an answer has the number of its request */
enum dmastream_nl_cmd {
	DMASTREAM_NL_GET_NODE		= 1,	/* do: one message, DMASTREAM_NODE_* */
	DMASTREAM_NL_GET_SESSION	= 2,	/* dump: DMASTREAM_SESSION_* */
	DMASTREAM_NL_GET_PATH		= 3,	/* dump: DMASTREAM_PATH_* */
	DMASTREAM_NL_GET_STREAM		= 4,	/* dump: DMASTREAM_STRM_* */
	DMASTREAM_NL_GET_POOL		= 5,	/* dump: DMASTREAM_POOL_* */
	DMASTREAM_NL_EVENT		= 6	/* comes by itself: DMASTREAM_EVENT_* */
};

/* enum dmastream_nl_node - attributes of GET_NODE */
enum dmastream_nl_node {
	DMASTREAM_NODE_UNSPEC		= 0,
	DMASTREAM_NODE_PAD		= 1,
	DMASTREAM_NODE_NONCE		= 2,	/* binary, 16: boot nonce */
	DMASTREAM_NODE_VERSION		= 3,	/* string: of the module */
	DMASTREAM_NODE_ABI		= 4,	/* u32: DMASTREAM_ABI_VERSION */
	DMASTREAM_NODE_PORT		= 5,	/* u32: TCP and rdma_cm port */
	DMASTREAM_NODE_LISTENING	= 6,	/* u32: 1 while this namespace listens */
	DMASTREAM_NODE_COUNTERS		= 7,	/* nested: u64 each, enum dmastream_counter */
	DMASTREAM_NODE_GAUGES		= 8,	/* nested: u64 each, enum dmastream_gauge */
	DMASTREAM_NODE_REFUSALS		= 9,	/* nested: u64 each, enum dmastream_refusal */
	DMASTREAM_NODE_END
};

/* enum dmastream_nl_session_state - DMASTREAM_SESSION_STATE */
enum dmastream_nl_session_state {
	DMASTREAM_SESSION_CONNECTING	= 1,	/* the TCP connection is being made */
	DMASTREAM_SESSION_HANDSHAKE	= 2,	/* HELLO is under way */
	DMASTREAM_SESSION_UP		= 3,
	DMASTREAM_SESSION_CLOSING	= 4,
	DMASTREAM_SESSION_DEAD		= 5	/* ended; waits for its last user */
};

/* enum dmastream_nl_role - DMASTREAM_SESSION_ROLE */
enum dmastream_nl_role {
	DMASTREAM_ROLE_ACTIVE		= 1,	/* this side opened the connection */
	DMASTREAM_ROLE_PASSIVE		= 2
};

/* enum dmastream_nl_session - attributes of GET_SESSION */
enum dmastream_nl_session {
	DMASTREAM_SESSION_UNSPEC	= 0,
	DMASTREAM_SESSION_PAD		= 1,
	DMASTREAM_SESSION_ID		= 2,	/* u32: of this module */
	DMASTREAM_SESSION_ROLE		= 3,	/* u32: enum dmastream_nl_role */
	DMASTREAM_SESSION_PEER		= 4,	/* struct dmastream_addr */
	DMASTREAM_SESSION_PEER_NONCE	= 5,	/* binary, 16; once the handshake told it */
	DMASTREAM_SESSION_STATE		= 6,	/* u32: enum dmastream_nl_session_state */
	DMASTREAM_SESSION_EPOCH		= 7,	/* u32 */
	DMASTREAM_SESSION_RTT_NS	= 8,	/* u64: of the last keepalive, when known */
	DMASTREAM_SESSION_STREAMS	= 9,	/* u32 */
	DMASTREAM_SESSION_PATHS		= 10,	/* u32: that are up */
	DMASTREAM_SESSION_FEATURES	= 11,	/* u64: DMASTREAM_WIRE_* that both sides have; once it is up */
	DMASTREAM_SESSION_END
};

/* Features of the wire protocol, for DMASTREAM_SESSION_FEATURES: the bits of HELLO. */
#define DMASTREAM_WIRE_DEPTH	(1ULL << 0)	/* receives that move between queue pairs */
#define DMASTREAM_WIRE_PUSH	(1ULL << 1)	/* direct push */
#define DMASTREAM_WIRE_RESUME	(1ULL << 2)	/* streams survive their queue pair */
#define DMASTREAM_WIRE_TCP	(1ULL << 3)	/* and go over TCP meanwhile */
#define DMASTREAM_WIRE_SKIP	(1ULL << 4)	/* sends are taken back on the wire */

/* enum dmastream_nl_path_state - DMASTREAM_PATH_STATE */
enum dmastream_nl_path_state {
	DMASTREAM_PATH_CONNECTING	= 1,
	DMASTREAM_PATH_UP		= 2,
	DMASTREAM_PATH_DYING		= 3,	/* nothing new; waits for what is in flight */
	DMASTREAM_PATH_DEAD		= 4	/* the peer cannot reach memory through it any more */
};

/* enum dmastream_nl_lane - DMASTREAM_PATH_LANE */
enum dmastream_nl_lane {
	DMASTREAM_LANE_BULK		= 0,	/* what asks for nothing else */
	DMASTREAM_LANE_LATENCY		= 1
};

/* enum dmastream_nl_path - attributes of GET_PATH */
enum dmastream_nl_path {
	DMASTREAM_PATH_UNSPEC		= 0,
	DMASTREAM_PATH_PAD		= 1,
	DMASTREAM_PATH_ID		= 2,	/* u32: of this module */
	DMASTREAM_PATH_SESSION		= 3,	/* u32: its session's id */
	DMASTREAM_PATH_DEVICE		= 4,	/* string: RDMA device, when it has one */
	DMASTREAM_PATH_PORT		= 5,	/* u32: of the device, from 1 */
	DMASTREAM_PATH_QPN		= 6,	/* u32 */
	DMASTREAM_PATH_LANE		= 7,	/* u32: enum dmastream_nl_lane */
	DMASTREAM_PATH_STATE		= 8,	/* u32: enum dmastream_nl_path_state */
	DMASTREAM_PATH_SLOT_CREDITS	= 9,	/* u32: packets that may be sent now */
	DMASTREAM_PATH_RECV_POSTED	= 10,	/* u32 */
	DMASTREAM_PATH_RECV_CONFIGURED	= 11,	/* u32: that should be, now */
	DMASTREAM_PATH_WINDOW_USED	= 12,	/* u64: bytes */
	DMASTREAM_PATH_WINDOW_LIMIT	= 13,	/* u64: bytes */
	DMASTREAM_PATH_KEYS_USED	= 14,	/* u32: memory regions that the peer may read */
	DMASTREAM_PATH_KEYS_TOTAL	= 15,	/* u32 */
	DMASTREAM_PATH_READS		= 16,	/* u32: RDMA READs in flight */
	DMASTREAM_PATH_READ_DEPTH	= 17,	/* u32: negotiated */
	DMASTREAM_PATH_TX_PACKETS	= 18,	/* u64 */
	DMASTREAM_PATH_RX_PACKETS	= 19,	/* u64 */
	DMASTREAM_PATH_TX_BYTES		= 20,	/* u64 */
	DMASTREAM_PATH_RX_BYTES		= 21,	/* u64 */
	DMASTREAM_PATH_WINDOW_DELAY	= 22,	/* u64: ns, of packets, smoothed */
	DMASTREAM_PATH_WINDOW_CUTS	= 23,	/* u32: times that the window shrank */
	DMASTREAM_PATH_INCAST_LIMIT	= 24,	/* u64: bytes that the device may be pulling */
	DMASTREAM_PATH_INCAST_USED	= 25,	/* u64: bytes, over all paths of the device */
	DMASTREAM_PATH_INCAST_HIGH	= 26,	/* u64: the most that it ever was */
	DMASTREAM_PATH_DSCP		= 27,	/* u32: of its packets, once it is connected */
	DMASTREAM_PATH_RATE		= 28,	/* u64: kbit/s that it may send, when there is a limit */
	DMASTREAM_PATH_RECV_FLOOR	= 29,	/* u32: receives that it always has */
	DMASTREAM_PATH_RECV_CEILING	= 30,	/* u32: the most that it ever has */
	DMASTREAM_PATH_RECV_ASKED	= 31,	/* u32: of those posted, asked back */
	DMASTREAM_PATH_RECV_LIMIT	= 32,	/* u64: bytes, budget of the device for receives */
	DMASTREAM_PATH_RECV_USED	= 33,	/* u64: bytes, over all paths of the device */
	DMASTREAM_PATH_RECV_HIGH	= 34,	/* u64: the most that it ever was */
	DMASTREAM_PATH_END
};

/* enum dmastream_nl_stream - attributes of GET_STREAM */
enum dmastream_nl_stream {
	DMASTREAM_STRM_UNSPEC		= 0,
	DMASTREAM_STRM_PAD		= 1,
	DMASTREAM_STRM_ID		= 2,	/* u32: of this module */
	DMASTREAM_STRM_SESSION		= 3,	/* u32: its session's id */
	DMASTREAM_STRM_PATH		= 4,	/* u32: its path's id, when it has one */
	DMASTREAM_STRM_HANDLE		= 5,	/* u32: in the owner's context */
	DMASTREAM_STRM_WIRE_ID		= 6,	/* u32: on the wire */
	DMASTREAM_STRM_PID		= 7,	/* u32: who opened the context */
	DMASTREAM_STRM_UID		= 8,	/* u32: likewise */
	DMASTREAM_STRM_SERVICE		= 9,	/* string */
	DMASTREAM_STRM_PEER		= 10,	/* struct dmastream_addr */
	DMASTREAM_STRM_STATE		= 11,	/* u32: enum dmastream_stream_state */
	DMASTREAM_STRM_WAITS		= 12,	/* u32: enum dmastream_wait */
	DMASTREAM_STRM_FLAGS		= 13,	/* u64: DMASTREAM_STREAM_* */
	DMASTREAM_STRM_ERR_CLASS	= 14,	/* u32: enum dmastream_err_class */
	DMASTREAM_STRM_ERR_DETAIL	= 15,	/* u32 */
	DMASTREAM_STRM_TX_MSGS		= 16,	/* u64, as the next: see STREAM_QUERY */
	DMASTREAM_STRM_TX_BYTES		= 17,	/* u64 */
	DMASTREAM_STRM_RX_MSGS		= 18,	/* u64 */
	DMASTREAM_STRM_RX_BYTES		= 19,	/* u64 */
	DMASTREAM_STRM_TX_QUEUED	= 20,	/* u32 */
	DMASTREAM_STRM_RX_QUEUED	= 21,	/* u32 */
	DMASTREAM_STRM_CREDITS		= 22,	/* u32 */
	DMASTREAM_STRM_KEYS		= 23,	/* u32 */
	DMASTREAM_STRM_END
};

/* enum dmastream_nl_pool - attributes of GET_POOL */
enum dmastream_nl_pool {
	DMASTREAM_POOL_UNSPEC		= 0,
	DMASTREAM_POOL_PAD		= 1,
	DMASTREAM_POOL_ID		= 2,	/* u32: of this module, not a handle */
	DMASTREAM_POOL_BYTES		= 3,	/* u64 */
	DMASTREAM_POOL_UID		= 4,	/* u32: whose quota it is charged to */
	DMASTREAM_POOL_ATTACHMENTS	= 5,	/* u32: contexts that use it */
	DMASTREAM_POOL_IN_FLIGHT	= 6,	/* u32: transfers that use it now, about */
	DMASTREAM_POOL_MAPS		= 7,	/* u32: mappings in processes */
	DMASTREAM_POOL_END
};

/*
 * enum dmastream_nl_event_kind - DMASTREAM_EVENT_KIND
 *
 * What never was up has no event when it ends.  The paths of a session that
 * ends go down after it.
 */
enum dmastream_nl_event_kind {
	DMASTREAM_EVENT_SESSION_UP	= 1,	/* the handshake is done; its paths follow */
	DMASTREAM_EVENT_SESSION_DOWN	= 2,
	DMASTREAM_EVENT_PATH_UP		= 3,
	DMASTREAM_EVENT_PATH_DOWN	= 4,
	DMASTREAM_EVENT_FAILOVER	= 5,	/* streams went to the path from another */
	DMASTREAM_EVENT_PATH_BACK	= 6,	/* the path is used again */
	DMASTREAM_EVENT_PEER_LOST	= 7	/* given up for silence; SESSION_DOWN follows */
};

/*
 * enum dmastream_nl_event - attributes of EVENT
 *
 * Those of a path are there when the event is about one.  SEQ grows by one with
 * each event of the namespace that somebody listens to: who finds that numbers
 * are left out has lost as many, because there was no memory, or because his
 * socket had no room, which then gives ENOBUFS too.
 */
enum dmastream_nl_event {
	DMASTREAM_EVENT_UNSPEC		= 0,
	DMASTREAM_EVENT_PAD		= 1,
	DMASTREAM_EVENT_KIND		= 2,	/* u32: enum dmastream_nl_event_kind */
	DMASTREAM_EVENT_SEQ		= 3,	/* u64 */
	DMASTREAM_EVENT_TIME_NS		= 4,	/* u64: CLOCK_MONOTONIC, when it happened */
	DMASTREAM_EVENT_SESSION		= 5,	/* u32: its id */
	DMASTREAM_EVENT_ROLE		= 6,	/* u32: enum dmastream_nl_role */
	DMASTREAM_EVENT_PEER		= 7,	/* struct dmastream_addr */
	DMASTREAM_EVENT_STREAMS		= 8,	/* u32: streams that it concerns */
	DMASTREAM_EVENT_ERR_CLASS	= 9,	/* u32: enum dmastream_err_class; NONE: no error */
	DMASTREAM_EVENT_ERR_DETAIL	= 10,	/* u32: depends on the class */
	DMASTREAM_EVENT_PATH		= 11,	/* u32: its id */
	DMASTREAM_EVENT_LANE		= 12,	/* u32: enum dmastream_nl_lane */
	DMASTREAM_EVENT_INDEX		= 13,	/* u32: which of the session's paths, from 0 */
	DMASTREAM_EVENT_TRANSPORT	= 14,	/* string: "rdma" */
	DMASTREAM_EVENT_DEVICE		= 15,	/* string: RDMA device, when it has one */
	DMASTREAM_EVENT_FROM_PATH	= 16,	/* u32: with FAILOVER, the path before, when it is another; not sent yet */
	DMASTREAM_EVENT_END
};

/* enum dmastream_counter - in DMASTREAM_NODE_COUNTERS; since the module was loaded */
enum dmastream_counter {
	DMASTREAM_CTR_UNSPEC		= 0,
	DMASTREAM_CTR_PAD		= 1,
	DMASTREAM_CTR_RDMA_TX_BYTES	= 2,	/* payload that peers READ here, by their DONE, or that was pushed */
	DMASTREAM_CTR_RDMA_RX_BYTES	= 3,	/* payload that RDMA READ, or the WRITE of a peer, placed here */
	DMASTREAM_CTR_EAGER_TX_BYTES	= 4,	/* payload sent in packets */
	DMASTREAM_CTR_EAGER_RX_BYTES	= 5,	/* payload received in packets */
	DMASTREAM_CTR_COPIED_TX_BYTES	= 6,	/* payload copied by a sender (up to 256 B) */
	DMASTREAM_CTR_COPIED_RX_BYTES	= 7,	/* payload copied into a landing buffer */
	DMASTREAM_CTR_TX_PACKETS	= 8,
	DMASTREAM_CTR_RX_PACKETS	= 9,
	DMASTREAM_CTR_TX_FRAMES		= 10,	/* frames in those packets */
	DMASTREAM_CTR_RX_FRAMES		= 11,
	DMASTREAM_CTR_TX_MSGS		= 12,	/* acknowledged by the peer */
	DMASTREAM_CTR_RX_MSGS		= 13,	/* delivered to a process */
	DMASTREAM_CTR_CREDIT_UPDATES	= 14,	/* sent */
	DMASTREAM_CTR_SLOT_STALLS	= 15,	/* a path had no slot credit */
	DMASTREAM_CTR_CREDIT_STALLS	= 16,	/* a stream had no landing credit to send with */
	DMASTREAM_CTR_LANDING_STALLS	= 17,	/* a receive found its group empty */
	DMASTREAM_CTR_WINDOW_STALLS	= 18,	/* the send window was full */
	DMASTREAM_CTR_KEY_STALLS	= 19,	/* a path had no memory region left */
	DMASTREAM_CTR_HOLDS		= 20,	/* sent */
	DMASTREAM_CTR_PULLS		= 21,	/* sent */
	DMASTREAM_CTR_KEYS_REGISTERED	= 22,
	DMASTREAM_CTR_KEYS_INVALIDATED	= 23,
	DMASTREAM_CTR_READS_POSTED	= 24,
	DMASTREAM_CTR_CQ_FULL_WAITS	= 25,	/* a receive found no completion slot */
	DMASTREAM_CTR_KICKS		= 26,	/* ENTER that served a NEED_KICK flag */
	DMASTREAM_CTR_BAD_SQES		= 27,	/* submissions that were refused */
	DMASTREAM_CTR_BAD_LANDINGS	= 28,	/* entries of a group that were refused */
	DMASTREAM_CTR_PROTOCOL_ERRORS	= 29,	/* what a peer may not send */
	DMASTREAM_CTR_SESSIONS_OPENED	= 30,
	DMASTREAM_CTR_SESSIONS_CLOSED	= 31,
	DMASTREAM_CTR_KEEPALIVE_LOSSES	= 32,	/* sessions given up for silence */
	DMASTREAM_CTR_PATHS_OPENED	= 33,
	DMASTREAM_CTR_PATHS_FAILED	= 34,
	DMASTREAM_CTR_STREAMS_OPENED	= 35,
	DMASTREAM_CTR_STREAMS_CLOSED	= 36,
	DMASTREAM_CTR_RESETS_TX		= 37,
	DMASTREAM_CTR_RESETS_RX		= 38,
	DMASTREAM_CTR_REFUSED_BY_PEER	= 39,
	DMASTREAM_CTR_TX_PACKED		= 40,	/* eager messages that shared their packet */
	DMASTREAM_CTR_POLLED_SQES	= 41,	/* submissions that a polling thread consumed */
	DMASTREAM_CTR_POLL_SLEEPS	= 42,	/* polling threads that went to sleep */
	DMASTREAM_CTR_POLL_WAKES	= 43,	/* polling threads that ENTER woke */
	DMASTREAM_CTR_INCAST_WAITS	= 44,	/* pulls that found the incast budget spent */
	DMASTREAM_CTR_RATE_WAITS	= 45,	/* a stream found the rate limit of its lane spent */
	DMASTREAM_CTR_RECV_GROWN	= 46,	/* receives posted above a path's floor */
	DMASTREAM_CTR_RECV_RECALLED	= 47,	/* receives asked back, for others */
	DMASTREAM_CTR_RECV_RETURNED	= 48,	/* of these, that came back */
	DMASTREAM_CTR_RECV_EMPTIES	= 49,	/* empty packets sent, to give receives back */
	DMASTREAM_CTR_RECV_WAITS	= 50,	/* a path could not grow: others have the receives */
	DMASTREAM_CTR_TX_UNSIGNALLED	= 51,	/* packets that asked the NIC for no completion */
	DMASTREAM_CTR_ACKS_ALONE	= 52,	/* packets of acknowledgements and nothing else */
	DMASTREAM_CTR_ACKS_DELAYED	= 53,	/* acknowledgements that waited for a packet to go with */
	DMASTREAM_CTR_ACKS_LATE		= 54,	/* of those the ones for which none came */
	DMASTREAM_CTR_PUSH_TX		= 55,	/* messages written into a landing of the peer */
	DMASTREAM_CTR_PUSH_RX		= 56,	/* messages that peers wrote into a landing here */
	DMASTREAM_CTR_GRANTS_SENT	= 57,	/* landings opened to a peer ahead */
	DMASTREAM_CTR_GRANTS_REVOKED	= 58,	/* of those the ones taken back by REVOKE */
	DMASTREAM_CTR_PATHS_RESUMED	= 59,	/* that went on with another queue pair */
	DMASTREAM_CTR_PATH_REDIALS	= 60,	/* queue pairs that were asked for after one had failed */
	DMASTREAM_CTR_STREAMS_RESUMED	= 61,	/* that went on, once for each queue pair */
	DMASTREAM_CTR_MSGS_REPLAYED	= 62,	/* sent again since they had not arrived */
	DMASTREAM_CTR_EVENTS		= 63,	/* sent to who listened */
	DMASTREAM_CTR_EVENTS_LOST	= 64,	/* not sent, though somebody listened: no memory */
	DMASTREAM_CTR_FAULTS		= 65,	/* faults that were injected here on cue */
	DMASTREAM_CTR_PATHS_TCP		= 66,	/* times that a path went over TCP */
	DMASTREAM_CTR_PATH_PROBES	= 67,	/* looks of such a path for RDMA */
	DMASTREAM_CTR_TCP_TX_BYTES	= 68,	/* payload that went over TCP in place of RDMA */
	DMASTREAM_CTR_TCP_RX_BYTES	= 69,
	DMASTREAM_CTR_RAILS_LEFT	= 70,	/* queue pairs over another rail than their path's own */
	DMASTREAM_CTR_RAILS_BACK	= 71,	/* and then over that again */
	DMASTREAM_CTR_SKIPS_SENT	= 72,	/* sends on the wire that were to be taken back: SKIP said */
	DMASTREAM_CTR_SKIPS_ACKED	= 73,	/* of these, that the peer will never deliver */
	DMASTREAM_CTR_SKIPS_DONE	= 74,	/* messages of peers that are not delivered for that */
	DMASTREAM_CTR_SKIPS_LATE	= 75,	/* that were, since SKIP came too late */
	DMASTREAM_CTR_END
};

/* enum dmastream_gauge - in DMASTREAM_NODE_GAUGES */
enum dmastream_gauge {
	DMASTREAM_GAUGE_UNSPEC		= 0,
	DMASTREAM_GAUGE_PAD		= 1,
	DMASTREAM_GAUGE_CONTEXTS	= 2,
	DMASTREAM_GAUGE_POOLS		= 3,
	DMASTREAM_GAUGE_PINNED_BYTES	= 4,
	DMASTREAM_GAUGE_GROUPS		= 5,
	DMASTREAM_GAUGE_RINGS		= 6,
	DMASTREAM_GAUGE_LISTENERS	= 7,
	DMASTREAM_GAUGE_STREAMS		= 8,
	DMASTREAM_GAUGE_SESSIONS	= 9,
	DMASTREAM_GAUGE_PATHS		= 10,
	DMASTREAM_GAUGE_LANDINGS_TAKEN	= 11,	/* landing buffers that the kernel holds */
	DMASTREAM_GAUGE_KEYS_OUT	= 12,	/* memory regions that peers may read */
	DMASTREAM_GAUGE_REQS_IN_FLIGHT	= 13,	/* submissions accepted and not completed */
	DMASTREAM_GAUGE_END
};

#endif /* _UAPI_LINUX_DMASTREAM_NETLINK_H */
