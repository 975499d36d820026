// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Words for numbers: what failed, where, and what to try.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* detail of DMASTREAM_ERR_PATH: from here on an rdma_cm event */
#define PATH_DETAIL_CM	256

struct text {
	const char	*what;
	const char	*hint;	/* what to try, or NULL */
};

static const struct text refusals[] = {
	[DMASTREAM_REFUSED_SERVICE] = {
		"nobody listens to this service there",
		"start the receiver first and check the service name",
	},
	[DMASTREAM_REFUSED_BACKLOG] = {
		"the listener's backlog is full",
		"try again, or let the receiver accept faster",
	},
	[DMASTREAM_REFUSED_MEMORY] = {
		"the peer has no memory for it now",
		"try again later",
	},
	[DMASTREAM_REFUSED_VERSION] = {
		"the two modules have no wire version in common",
		"load the same release of dmastream on both nodes",
	},
	[DMASTREAM_REFUSED_AUTH] = {
		"the shared secret differs",
		"set the same key on both nodes",
	},
	[DMASTREAM_REFUSED_PREFIX] = {
		"the peer does not allow this address",
		"add this node to the allowed prefixes of the peer's module",
	},
	[DMASTREAM_REFUSED_LIMIT] = {
		"the peer's limits are reached",
		"close streams, or raise the limits of the peer's module",
	},
	[DMASTREAM_REFUSED_CROSSED] = {
		"another session between the two nodes is there already",
		"try again",
	},
	[DMASTREAM_REFUSED_MALFORMED] = {
		"the peer could not read the handshake",
		"check that the port belongs to dmastream",
	},
	[DMASTREAM_REFUSED_CLOSED] = {
		"the listener closed before it accepted",
		"check that the receiver still runs",
	},
};

static const char *const classes[] = {
	[DMASTREAM_ERR_NONE] = "none",
	[DMASTREAM_ERR_LOCAL] = "local",
	[DMASTREAM_ERR_PEER] = "peer",
	[DMASTREAM_ERR_REFUSED] = "refused",
	[DMASTREAM_ERR_PATH] = "path",
	[DMASTREAM_ERR_SESSION] = "session",
	[DMASTREAM_ERR_PROTOCOL] = "protocol",
	[DMASTREAM_ERR_DEVICE] = "device",
};

static const char *const states[] = {
	[DMASTREAM_STATE_CONNECTING] = "connecting",
	[DMASTREAM_STATE_OPEN] = "open",
	[DMASTREAM_STATE_CLOSING] = "closing",
	[DMASTREAM_STATE_BROKEN] = "broken",
};

/* by bit of enum dmastream_wait */
static const char *const waits[] = {
	"landing", "cq", "credit", "key", "window", "hold", "session", "incast", "rate",
};

/* the names of the verbs' ib_wc_status, in its order */
static const char *const wc_status[] = {
	"success", "local length error", "local QP operation error",
	"local EE context error", "local protection error",
	"work request flushed", "memory window bind error", "bad response",
	"local access error", "remote invalid request",
	"remote access error", "remote operation error",
	"transport retries exceeded", "RNR retries exceeded",
	"local RDD violation", "remote invalid RD request",
	"remote abort", "invalid EE context number",
	"invalid EE context state", "fatal error", "response timeout",
	"general error",
};

/* the names of rdma_cm's events, in the order of its enum */
static const char *const cm_event[] = {
	"address resolved", "address not resolved", "route resolved",
	"route not resolved", "connect request", "connect response",
	"connect error", "peer unreachable", "rejected", "established",
	"disconnected", "device removed", "multicast join",
	"multicast error", "address change", "time-wait exit",
};

/* What to try when the errno alone is known. */
static const struct {
	int		error;
	const char	*hint;
} errno_hints[] = {
	{ ENOENT, "load the module: modprobe dmastream" },
	{ EACCES, "the device belongs to root until the administrator says otherwise" },
	{ EDQUOT, "over the user's quota of pinned memory: see dmsctl status" },
	{ EPROTONOSUPPORT, "library and module are of different releases" },
	{ EADDRNOTAVAIL, "check the host's name and the address family" },
	{ EADDRINUSE, "another process of this node listens to that service" },
	{ EHOSTUNREACH, "check address, route and firewall between the nodes" },
	{ ENETUNREACH, "check address and route" },
	{ ECONNREFUSED, "a node listens only while a process there has a service: start the receiver first, check the port" },
	{ ETIMEDOUT, "no answer in time: check that the receiver runs and reads, address and firewall" },
	{ ECONNRESET, "check the peer's process and its kernel log" },
	{ ENODEV, "no RDMA device with a route: rdma link show" },
	{ EMSGSIZE, "longer than the receiver's buffers: give it a large group" },
};

static const char *pick(const char *const *list, size_t n, uint32_t i)
{
	return i < n && list[i] ? list[i] : "unknown";
}

const char *dmastream_state_text(uint32_t state)
{
	return pick(states, ARRAY_SIZE(states), state);
}

const char *dmastream_class_text(uint32_t err_class)
{
	return pick(classes, ARRAY_SIZE(classes), err_class);
}

const char *dmastream_refusal_text(uint32_t refusal)
{
	if (refusal < ARRAY_SIZE(refusals) && refusals[refusal].what)
		return refusals[refusal].what;
	return "unknown";
}

static void append(char *buf, size_t size, size_t *len, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (*len >= size)
		return;
	va_start(ap, fmt);
	n = vsnprintf(buf + *len, size - *len, fmt, ap);
	va_end(ap);
	if (n > 0)
		*len += (size_t)n;
}

/* "landing,cq", or "-" when nothing is waited for. */
const char *dmastream_waits_text(uint32_t bits, char *buf, size_t size)
{
	size_t len = 0;
	uint32_t i;

	append(buf, size, &len, "%s", bits ? "" : "-");
	for (i = 0; i < 32; i++) {
		if (!(bits & 1U << i))
			continue;
		if (i < ARRAY_SIZE(waits))
			append(buf, size, &len, "%s%s", len ? "," : "", waits[i]);
		else
			append(buf, size, &len, "%sbit%u", len ? "," : "", i);
	}
	return buf;
}

static const char *errno_text(uint32_t detail, char *buf, size_t size)
{
	int32_t e = (int32_t)detail;

	if (strerror_r(e < 0 ? -e : e, buf, size))
		snprintf(buf, size, "error %d", e);
	return buf;
}

static void append_hint(char *buf, size_t size, size_t *len, int error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errno_hints); i++)
		if (errno_hints[i].error == error)
			append(buf, size, len, "; %s", errno_hints[i].hint);
}

/* "who (why)"; the reason only where it says more than the error did */
static void explain_errno(char *buf, size_t size, size_t *len, const char *who,
			  uint32_t detail, int error)
{
	int32_t e = (int32_t)detail;
	char text[96];

	if (e < 0)
		e = -e;
	append(buf, size, len, ": %s", who);
	if (e && e != error)
		append(buf, size, len, " (%s)", errno_text(detail, text, sizeof(text)));
	append_hint(buf, size, len, e ? e : error);
}

static void explain_class(char *buf, size_t size, size_t *len, int error,
			  const struct dmastream_error *where)
{
	uint32_t detail = where->err_detail;

	switch (where->err_class) {
	case DMASTREAM_ERR_LOCAL:
		explain_errno(buf, size, len, "ended on this side", detail, error);
		break;
	case DMASTREAM_ERR_PEER:
		append(buf, size, len, ": the peer's process ended or aborted it; see what it says");
		break;
	case DMASTREAM_ERR_REFUSED:
		append(buf, size, len, ": refused, %s",
		       dmastream_refusal_text(detail));
		if (detail < ARRAY_SIZE(refusals) && refusals[detail].hint)
			append(buf, size, len, "; %s", refusals[detail].hint);
		break;
	case DMASTREAM_ERR_PATH:
		append(buf, size, len, ": the queue pair failed, %s; check the link and dmesg on both nodes",
		       detail < PATH_DETAIL_CM ?
		       pick(wc_status, ARRAY_SIZE(wc_status), detail) :
		       pick(cm_event, ARRAY_SIZE(cm_event), detail - PATH_DETAIL_CM));
		break;
	case DMASTREAM_ERR_SESSION:
		explain_errno(buf, size, len, "no session with this node", detail, error);
		break;
	case DMASTREAM_ERR_PROTOCOL:
		append(buf, size, len, ": the peer broke rule %u of the protocol; see dmesg on both nodes",
		       detail);
		break;
	case DMASTREAM_ERR_DEVICE:
		explain_errno(buf, size, len, "the RDMA device went; see rdma link show",
			      detail, error);
		break;
	default:
		append(buf, size, len, ": error class %u, detail %u",
		       where->err_class, detail);
		break;
	}
}

/*
 * One line into @buf: the error, the service and the peer, the cause, and what
 * to try.  @error may be negative or positive; @where may be NULL.
 */
const char *dmastream_explain(int error, const struct dmastream_error *where,
			      char *buf, size_t size)
{
	char text[96], addr[DMASTREAM_ADDR_TEXT];
	size_t len = 0;

	if (error < 0)
		error = -error;
	append(buf, size, &len, "%s", errno_text((uint32_t)error, text, sizeof(text)));
	if (where && where->service[0])
		append(buf, size, &len, ", service \"%.*s\"",
		       DMASTREAM_SERVICE_MAX, where->service);
	if (where && where->stream)
		append(buf, size, &len, ", stream %u", where->stream);
	if (where && where->peer.family)
		append(buf, size, &len, ", peer %s",
		       dmastream_addr_text(&where->peer, addr, sizeof(addr)));
	if (where && where->err_class != DMASTREAM_ERR_NONE)
		explain_class(buf, size, &len, error, where);
	else
		append_hint(buf, size, &len, error);
	return buf;
}
