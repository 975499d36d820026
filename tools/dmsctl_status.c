// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl status and dmsctl counters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include <dmastream.h>
#include <linux/dmastream_netlink.h>

#include "dmsctl.h"

struct view {
	bool		json;
	bool		all;		/* counters that are 0 too */
	unsigned int	rows;		/* of this table so far */
};

static const char *known(const char *name)
{
	return name ? name : "unknown";
}

static void hex(const struct nlattr *attr, char *buf, size_t size)
{
	const uint8_t *p = attr ? mnl_attr_get_payload(attr) : NULL;
	uint16_t len = attr ? mnl_attr_get_payload_len(attr) : 0;
	uint16_t i;

	buf[0] = 0;
	for (i = 0; i < len && 2 * i + 3U <= size; i++)
		snprintf(buf + 2 * i, 3, "%02x", p[i]);
}

/* "12.3M": units of 1024, short enough for a column */
static const char *human(uint64_t v, char *buf, size_t size)
{
	static const char units[] = " KMGTPE";
	double d = (double)v;
	int i = 0;

	while (d >= 1023.95) {
		d /= 1024;
		i++;
	}
	if (i)
		snprintf(buf, size, "%.1f%c", d, units[i]);
	else
		snprintf(buf, size, "%" PRIu64, v);
	return buf;
}

static void table_begin(struct view *v, const char *name, bool array)
{
	v->rows = 0;
	if (!v->json)
		printf("%s:\n", name);
	else if (array)
		out_array(name);
	else
		out_object(name);
}

static void table_end(struct view *v)
{
	if (v->json)
		out_close();
	else if (!v->rows)
		printf("  (none)\n");
}

/*
 * ---- Node -----------------------------------------------------------------
 */

static void one_number(struct view *v, const char *name, uint32_t type, uint64_t value)
{
	char number[24];

	if (!name) {
		snprintf(number, sizeof(number), "number_%u", type);
		name = number;
	}
	if (v->json)
		out_u64(name, value);
	else if (value || v->all)
		printf("  %-20s %" PRIu64 "\n", name, value);
	v->rows += value || v->all;
}

static void counter_fn(uint32_t type, uint64_t value, void *arg)
{
	struct view *v = arg;
	const char *help = ctl_counter_help(type);

	if (v->json || !help || !(value || v->all)) {
		one_number(v, ctl_counter_name(type), type, value);
		return;
	}
	printf("  %-20s %-16" PRIu64 " %s\n", ctl_counter_name(type), value, help);
	v->rows++;
}

static void gauge_fn(uint32_t type, uint64_t value, void *arg)
{
	one_number(arg, ctl_gauge_name(type), type, value);
}

static void refusal_fn(uint32_t type, uint64_t value, void *arg)
{
	one_number(arg, ctl_refusal_name(type), type, value);
}

static void numbers(struct view *v, const char *name, const struct nlattr *nest,
		    void (*fn)(uint32_t type, uint64_t value, void *arg))
{
	table_begin(v, name, false);
	ctl_nested(nest, fn, v);
	table_end(v);
}

static void counters_fn(const struct nlattr *const *a, void *arg)
{
	struct view *v = arg;

	numbers(v, "counters", a[DMASTREAM_NODE_COUNTERS], counter_fn);
	numbers(v, "gauges", a[DMASTREAM_NODE_GAUGES], gauge_fn);
	numbers(v, "refusals", a[DMASTREAM_NODE_REFUSALS], refusal_fn);
}

static void node_fn(const struct nlattr *const *a, void *arg)
{
	struct view *v = arg;
	char nonce[33];

	hex(a[DMASTREAM_NODE_NONCE], nonce, sizeof(nonce));
	if (v->json) {
		out_object("node");
		out_str("nonce", nonce);
		out_str("version", ctl_str(a[DMASTREAM_NODE_VERSION]));
		out_u64("abi", ctl_u32(a[DMASTREAM_NODE_ABI]));
		out_u64("port", ctl_u32(a[DMASTREAM_NODE_PORT]));
		out_bool("listening", ctl_u32(a[DMASTREAM_NODE_LISTENING]));
		out_close();
	} else {
		printf("node %s, version %s, port %u, %s\n", nonce,
		       ctl_str(a[DMASTREAM_NODE_VERSION]),
		       ctl_u32(a[DMASTREAM_NODE_PORT]),
		       ctl_u32(a[DMASTREAM_NODE_LISTENING]) ? "listening" :
		       "not listening (no process here has a service)");
	}
	counters_fn(a, arg);
}

/*
 * ---- Sessions -------------------------------------------------------------
 */

static void session_json(const struct nlattr *const *a)
{
	char peer[DMASTREAM_ADDR_TEXT], nonce[33], features[64];

	hex(a[DMASTREAM_SESSION_PEER_NONCE], nonce, sizeof(nonce));
	ctl_features(ctl_u64(a[DMASTREAM_SESSION_FEATURES]), features, sizeof(features));
	out_object(NULL);
	out_u64("id", ctl_u32(a[DMASTREAM_SESSION_ID]));
	out_str("role", ctl_u32(a[DMASTREAM_SESSION_ROLE]) == DMASTREAM_ROLE_ACTIVE ?
		"active" : "passive");
	out_str("peer", ctl_addr(a[DMASTREAM_SESSION_PEER], peer, sizeof(peer)));
	out_str("peer_nonce", nonce);
	out_str("state", known(ctl_session_state(ctl_u32(a[DMASTREAM_SESSION_STATE]))));
	out_u64("epoch", ctl_u32(a[DMASTREAM_SESSION_EPOCH]));
	out_u64("rtt_ns", ctl_u64(a[DMASTREAM_SESSION_RTT_NS]));
	out_u64("streams", ctl_u32(a[DMASTREAM_SESSION_STREAMS]));
	out_u64("paths", ctl_u32(a[DMASTREAM_SESSION_PATHS]));
	out_str("features", features);
	out_close();
}

static void session_fn(const struct nlattr *const *a, void *arg)
{
	char peer[DMASTREAM_ADDR_TEXT], features[64], rtt[24] = "-";
	struct view *v = arg;

	if (v->json) {
		session_json(a);
		return;
	}
	if (!v->rows++)
		printf("  %-5s %-8s %-24s %-10s %10s %8s %6s %s\n", "id", "role",
		       "peer", "state", "rtt us", "streams", "paths", "features");
	if (a[DMASTREAM_SESSION_RTT_NS])
		snprintf(rtt, sizeof(rtt), "%.1f",
			 (double)ctl_u64(a[DMASTREAM_SESSION_RTT_NS]) / 1000);
	printf("  %-5u %-8s %-24s %-10s %10s %8u %6u %s\n",
	       ctl_u32(a[DMASTREAM_SESSION_ID]),
	       ctl_u32(a[DMASTREAM_SESSION_ROLE]) == DMASTREAM_ROLE_ACTIVE ?
	       "active" : "passive",
	       ctl_addr(a[DMASTREAM_SESSION_PEER], peer, sizeof(peer)),
	       known(ctl_session_state(ctl_u32(a[DMASTREAM_SESSION_STATE]))), rtt,
	       ctl_u32(a[DMASTREAM_SESSION_STREAMS]),
	       ctl_u32(a[DMASTREAM_SESSION_PATHS]),
	       ctl_features(ctl_u64(a[DMASTREAM_SESSION_FEATURES]), features,
			    sizeof(features)));
}

/*
 * ---- Paths ----------------------------------------------------------------
 */

static const char *lane_of(const struct nlattr *lane)
{
	const char *name = ctl_lane(ctl_u32(lane));

	return name ? name : "?";
}

static void path_json(const struct nlattr *const *a)
{
	out_object(NULL);
	out_u64("id", ctl_u32(a[DMASTREAM_PATH_ID]));
	out_u64("session", ctl_u32(a[DMASTREAM_PATH_SESSION]));
	out_str("device", ctl_str(a[DMASTREAM_PATH_DEVICE]));
	out_u64("port", ctl_u32(a[DMASTREAM_PATH_PORT]));
	out_u64("qpn", ctl_u32(a[DMASTREAM_PATH_QPN]));
	out_str("lane", lane_of(a[DMASTREAM_PATH_LANE]));
	out_u64("dscp", ctl_u32(a[DMASTREAM_PATH_DSCP]));
	out_u64("rate_kbit", ctl_u64(a[DMASTREAM_PATH_RATE]));
	out_str("state", known(ctl_path_state(ctl_u32(a[DMASTREAM_PATH_STATE]))));
	out_u64("slot_credits", ctl_u32(a[DMASTREAM_PATH_SLOT_CREDITS]));
	out_u64("recv_posted", ctl_u32(a[DMASTREAM_PATH_RECV_POSTED]));
	out_u64("recv_configured", ctl_u32(a[DMASTREAM_PATH_RECV_CONFIGURED]));
	out_u64("recv_floor", ctl_u32(a[DMASTREAM_PATH_RECV_FLOOR]));
	out_u64("recv_ceiling", ctl_u32(a[DMASTREAM_PATH_RECV_CEILING]));
	out_u64("recv_asked", ctl_u32(a[DMASTREAM_PATH_RECV_ASKED]));
	out_u64("recv_limit", ctl_u64(a[DMASTREAM_PATH_RECV_LIMIT]));
	out_u64("recv_used", ctl_u64(a[DMASTREAM_PATH_RECV_USED]));
	out_u64("recv_high", ctl_u64(a[DMASTREAM_PATH_RECV_HIGH]));
	out_u64("window_used", ctl_u64(a[DMASTREAM_PATH_WINDOW_USED]));
	out_u64("window_limit", ctl_u64(a[DMASTREAM_PATH_WINDOW_LIMIT]));
	out_u64("window_delay_ns", ctl_u64(a[DMASTREAM_PATH_WINDOW_DELAY]));
	out_u64("window_cuts", ctl_u32(a[DMASTREAM_PATH_WINDOW_CUTS]));
	out_u64("incast_limit", ctl_u64(a[DMASTREAM_PATH_INCAST_LIMIT]));
	out_u64("incast_used", ctl_u64(a[DMASTREAM_PATH_INCAST_USED]));
	out_u64("incast_high", ctl_u64(a[DMASTREAM_PATH_INCAST_HIGH]));
	out_u64("keys_used", ctl_u32(a[DMASTREAM_PATH_KEYS_USED]));
	out_u64("keys_total", ctl_u32(a[DMASTREAM_PATH_KEYS_TOTAL]));
	out_u64("reads", ctl_u32(a[DMASTREAM_PATH_READS]));
	out_u64("read_depth", ctl_u32(a[DMASTREAM_PATH_READ_DEPTH]));
	out_u64("tx_packets", ctl_u64(a[DMASTREAM_PATH_TX_PACKETS]));
	out_u64("rx_packets", ctl_u64(a[DMASTREAM_PATH_RX_PACKETS]));
	out_u64("tx_bytes", ctl_u64(a[DMASTREAM_PATH_TX_BYTES]));
	out_u64("rx_bytes", ctl_u64(a[DMASTREAM_PATH_RX_BYTES]));
	out_close();
}

static const char *ratio(uint64_t used, uint64_t total, char *buf, size_t size)
{
	char u[16], t[16];

	snprintf(buf, size, "%s/%s", human(used, u, sizeof(u)),
		 human(total, t, sizeof(t)));
	return buf;
}

static void path_fn(const struct nlattr *const *a, void *arg)
{
	char device[40], recv[40], window[40], keys[40], reads[40], tx[16], rx[16], rate[24] = "-";
	struct view *v = arg;

	if (v->json) {
		path_json(a);
		return;
	}
	if (!v->rows++)
		printf("  %-5s %-7s %-10s %-6s %-7s %4s %9s %-10s %7s %9s %15s %9s %7s %8s %8s\n",
		       "id", "session", "device", "qpn", "lane", "dscp", "Mbit/s", "state", "credits",
		       "receives", "window", "keys", "reads", "tx", "rx");
	snprintf(device, sizeof(device), "%.30s/%u",
		 a[DMASTREAM_PATH_DEVICE] ? ctl_str(a[DMASTREAM_PATH_DEVICE]) : "-",
		 ctl_u32(a[DMASTREAM_PATH_PORT]));
	if (a[DMASTREAM_PATH_RATE])
		snprintf(rate, sizeof(rate), "%.1f",
			 (double)ctl_u64(a[DMASTREAM_PATH_RATE]) / 1000);
	printf("  %-5u %-7u %-10s %-6u %-7s %4u %9s %-10s %7u %9s %15s %9s %7s %8s %8s\n",
	       ctl_u32(a[DMASTREAM_PATH_ID]), ctl_u32(a[DMASTREAM_PATH_SESSION]),
	       device, ctl_u32(a[DMASTREAM_PATH_QPN]),
	       lane_of(a[DMASTREAM_PATH_LANE]), ctl_u32(a[DMASTREAM_PATH_DSCP]), rate,
	       known(ctl_path_state(ctl_u32(a[DMASTREAM_PATH_STATE]))),
	       ctl_u32(a[DMASTREAM_PATH_SLOT_CREDITS]),
	       ratio(ctl_u32(a[DMASTREAM_PATH_RECV_POSTED]),
		     ctl_u32(a[DMASTREAM_PATH_RECV_CONFIGURED]), recv, sizeof(recv)),
	       ratio(ctl_u64(a[DMASTREAM_PATH_WINDOW_USED]),
		     ctl_u64(a[DMASTREAM_PATH_WINDOW_LIMIT]), window, sizeof(window)),
	       ratio(ctl_u32(a[DMASTREAM_PATH_KEYS_USED]),
		     ctl_u32(a[DMASTREAM_PATH_KEYS_TOTAL]), keys, sizeof(keys)),
	       ratio(ctl_u32(a[DMASTREAM_PATH_READS]),
		     ctl_u32(a[DMASTREAM_PATH_READ_DEPTH]), reads, sizeof(reads)),
	       human(ctl_u64(a[DMASTREAM_PATH_TX_BYTES]), tx, sizeof(tx)),
	       human(ctl_u64(a[DMASTREAM_PATH_RX_BYTES]), rx, sizeof(rx)));
}

/*
 * ---- Streams --------------------------------------------------------------
 */

static const struct {
	uint32_t	bit;
	const char	*text;
} wait_text[] = {
	{ DMASTREAM_WAIT_LANDING, "receive: its process gives no landing buffer (or posts no RECV)" },
	{ DMASTREAM_WAIT_CQ, "receive: its process does not reap completions" },
	{ DMASTREAM_WAIT_CREDIT, "send: the receiver has not granted a landing; its process may be slow" },
	{ DMASTREAM_WAIT_KEY, "send: all memory regions of the path are in use" },
	{ DMASTREAM_WAIT_WINDOW, "send: the path's send window is full" },
	{ DMASTREAM_WAIT_HOLD, "send: the receiver put the pull off, for want of large landing buffers" },
	{ DMASTREAM_WAIT_SESSION, "the session or path is not up" },
	{ DMASTREAM_WAIT_INCAST, "receive: the incast budget of the NIC is spent" },
	{ DMASTREAM_WAIT_RATE, "send: the rate limit of the path's lane is spent" },
};

static void waits_json(uint32_t waits)
{
	char buf[DMASTREAM_WAITS_TEXT];
	uint32_t bit;

	out_array("waits");
	for (bit = 1; bit; bit <<= 1)
		if (waits & bit)
			out_str(NULL, dmastream_waits_text(bit, buf, sizeof(buf)));
	out_close();
}

static void stream_json(const struct nlattr *const *a)
{
	uint64_t flags = ctl_u64(a[DMASTREAM_STRM_FLAGS]);
	char peer[DMASTREAM_ADDR_TEXT];

	out_object(NULL);
	out_u64("id", ctl_u32(a[DMASTREAM_STRM_ID]));
	out_u64("session", ctl_u32(a[DMASTREAM_STRM_SESSION]));
	out_u64("path", ctl_u32(a[DMASTREAM_STRM_PATH]));
	out_u64("handle", ctl_u32(a[DMASTREAM_STRM_HANDLE]));
	out_u64("wire_id", ctl_u32(a[DMASTREAM_STRM_WIRE_ID]));
	out_u64("pid", ctl_u32(a[DMASTREAM_STRM_PID]));
	out_u64("uid", ctl_u32(a[DMASTREAM_STRM_UID]));
	out_str("service", ctl_str(a[DMASTREAM_STRM_SERVICE]));
	out_str("peer", ctl_addr(a[DMASTREAM_STRM_PEER], peer, sizeof(peer)));
	out_str("state", dmastream_state_text(ctl_u32(a[DMASTREAM_STRM_STATE])));
	waits_json(ctl_u32(a[DMASTREAM_STRM_WAITS]));
	out_bool("posted", flags & DMASTREAM_STREAM_POSTED);
	out_bool("latency", flags & DMASTREAM_STREAM_LATENCY);
	out_bool("push", flags & DMASTREAM_STREAM_PUSH);
	out_str("err_class", dmastream_class_text(ctl_u32(a[DMASTREAM_STRM_ERR_CLASS])));
	out_u64("err_detail", ctl_u32(a[DMASTREAM_STRM_ERR_DETAIL]));
	out_u64("tx_msgs", ctl_u64(a[DMASTREAM_STRM_TX_MSGS]));
	out_u64("tx_bytes", ctl_u64(a[DMASTREAM_STRM_TX_BYTES]));
	out_u64("rx_msgs", ctl_u64(a[DMASTREAM_STRM_RX_MSGS]));
	out_u64("rx_bytes", ctl_u64(a[DMASTREAM_STRM_RX_BYTES]));
	out_u64("tx_queued", ctl_u32(a[DMASTREAM_STRM_TX_QUEUED]));
	out_u64("rx_queued", ctl_u32(a[DMASTREAM_STRM_RX_QUEUED]));
	out_u64("credits", ctl_u32(a[DMASTREAM_STRM_CREDITS]));
	out_u64("keys", ctl_u32(a[DMASTREAM_STRM_KEYS]));
	out_close();
}

static void stream_fn(const struct nlattr *const *a, void *arg)
{
	uint32_t waits = ctl_u32(a[DMASTREAM_STRM_WAITS]);
	char peer[DMASTREAM_ADDR_TEXT], tx[16], rx[16], queued[40];
	struct view *v = arg;
	size_t i;

	if (v->json) {
		stream_json(a);
		return;
	}
	if (!v->rows++)
		printf("  %-5s %-7s %-7s %-6s %-16s %-24s %-10s %8s %8s %9s\n", "id",
		       "session", "pid", "uid", "service", "peer", "state", "tx",
		       "rx", "queued");
	snprintf(queued, sizeof(queued), "%u/%u", ctl_u32(a[DMASTREAM_STRM_TX_QUEUED]),
		 ctl_u32(a[DMASTREAM_STRM_RX_QUEUED]));
	printf("  %-5u %-7u %-7u %-6u %-16s %-24s %-10s %8s %8s %9s\n",
	       ctl_u32(a[DMASTREAM_STRM_ID]), ctl_u32(a[DMASTREAM_STRM_SESSION]),
	       ctl_u32(a[DMASTREAM_STRM_PID]), ctl_u32(a[DMASTREAM_STRM_UID]),
	       ctl_str(a[DMASTREAM_STRM_SERVICE]),
	       ctl_addr(a[DMASTREAM_STRM_PEER], peer, sizeof(peer)),
	       dmastream_state_text(ctl_u32(a[DMASTREAM_STRM_STATE])),
	       human(ctl_u64(a[DMASTREAM_STRM_TX_BYTES]), tx, sizeof(tx)),
	       human(ctl_u64(a[DMASTREAM_STRM_RX_BYTES]), rx, sizeof(rx)), queued);
	for (i = 0; i < ARRAY_SIZE(wait_text); i++)
		if (waits & wait_text[i].bit)
			printf("        waits, %s\n", wait_text[i].text);
}

/*
 * ---- Pools ----------------------------------------------------------------
 */

static void pool_fn(const struct nlattr *const *a, void *arg)
{
	uint64_t bytes = ctl_u64(a[DMASTREAM_POOL_BYTES]);
	struct view *v = arg;
	char size[16];

	if (v->json) {
		out_object(NULL);
		out_u64("id", ctl_u32(a[DMASTREAM_POOL_ID]));
		out_u64("bytes", bytes);
		out_u64("uid", ctl_u32(a[DMASTREAM_POOL_UID]));
		out_u64("attachments", ctl_u32(a[DMASTREAM_POOL_ATTACHMENTS]));
		out_u64("in_flight", ctl_u32(a[DMASTREAM_POOL_IN_FLIGHT]));
		out_u64("maps", ctl_u32(a[DMASTREAM_POOL_MAPS]));
		out_close();
		return;
	}
	if (!v->rows++)
		printf("  %-5s %10s %-6s %11s %9s %5s\n", "id", "size", "uid",
		       "attachments", "in flight", "maps");
	printf("  %-5u %10s %-6u %11u %9u %5u\n", ctl_u32(a[DMASTREAM_POOL_ID]),
	       human(bytes, size, sizeof(size)), ctl_u32(a[DMASTREAM_POOL_UID]),
	       ctl_u32(a[DMASTREAM_POOL_ATTACHMENTS]),
	       ctl_u32(a[DMASTREAM_POOL_IN_FLIGHT]), ctl_u32(a[DMASTREAM_POOL_MAPS]));
}

/*
 * ---- Commands -------------------------------------------------------------
 */

static const struct {
	uint8_t		cmd;
	const char	*name;
	ctl_msg_fn	fn;
} tables[] = {
	{ DMASTREAM_NL_GET_SESSION, "sessions", session_fn },
	{ DMASTREAM_NL_GET_PATH, "paths", path_fn },
	{ DMASTREAM_NL_GET_STREAM, "streams", stream_fn },
	{ DMASTREAM_NL_GET_POOL, "pools", pool_fn },
};

int ctl_status(struct ctl_nl *nl, bool json)
{
	struct view v = { .json = json };
	size_t i;
	int ret;

	if (json)
		out_begin();
	ret = ctl_nl_get(nl, DMASTREAM_NL_GET_NODE, false, node_fn, &v);
	for (i = 0; i < ARRAY_SIZE(tables) && !ret; i++) {
		table_begin(&v, tables[i].name, true);
		ret = ctl_nl_get(nl, tables[i].cmd, true, tables[i].fn, &v);
		table_end(&v);
	}
	if (json)
		out_end();
	return ret;
}

int ctl_counters(struct ctl_nl *nl, bool json, bool all)
{
	struct view v = { .json = json, .all = all };
	int ret;

	if (json)
		out_begin();
	ret = ctl_nl_get(nl, DMASTREAM_NL_GET_NODE, false, counters_fn, &v);
	if (json)
		out_end();
	return ret;
}
