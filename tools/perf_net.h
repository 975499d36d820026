/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the benchmarks need of a transport: connections that carry tagged messages,
 * and events.  perf_net_dms.c has it over libdmastream; the programs of
 * selftests/bench link the same benchmarks with other transports, so that all are
 * measured by the same code.
 *
 * One thread uses a struct perf_net.  Calls return 0 or more, or a negative errno.
 */
#ifndef PERF_NET_H
#define PERF_NET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The tag of a message tells its receiver what to do with it, so a server needs no
 * state and no handshake.
 */
enum perf_op {
	PERF_OP_SINK	= 1,	/* nothing */
	PERF_OP_REPLY	= 2,	/* send a message of so many bytes back, with the same id */
	PERF_OP_ANSWER	= 3,	/* this is that message */
};

#define PERF_ID_MAX	0xffffffU

static inline uint64_t perf_tag(enum perf_op op, uint32_t id, uint32_t reply_len)
{
	return (uint64_t)op << 56 | (uint64_t)(id & PERF_ID_MAX) << 32 | reply_len;
}

static inline enum perf_op perf_tag_op(uint64_t tag)
{
	return (enum perf_op)(tag >> 56);
}

static inline uint32_t perf_tag_id(uint64_t tag)
{
	return (uint32_t)(tag >> 32) & PERF_ID_MAX;
}

static inline uint32_t perf_tag_len(uint64_t tag)
{
	return (uint32_t)tag;
}

enum perf_event_kind {
	PERF_EV_SENT,		/* a client's message is done with; see perf_net_sent_delivers */
	PERF_EV_MSG,		/* a whole message has come */
	PERF_EV_OPEN,		/* server: a connection */
	PERF_EV_END,		/* the peer closed, or the connection broke */
};

/**
 * struct perf_event - what happened
 * @kind: which of them
 * @conn: on which connection
 * @tag: SENT and MSG: of the message
 * @len: MSG: bytes
 * @error: END: 0 or a negative errno
 */
struct perf_event {
	enum perf_event_kind	kind;
	uint32_t		conn;
	uint64_t		tag;
	uint64_t		len;
	int			error;
};

/**
 * struct perf_net_opts - how an end is made
 * @device: of the transport, or NULL for the usual one
 * @host: client: the peer, of this process
 * @service: a name; a transport without names makes a port of it
 * @bind: network device or address to use, or NULL; where the transport has that
 * @port: 0 for the usual one
 * @family: AF_INET, AF_INET6 or AF_UNSPEC
 * @max_send: longest message that will be sent
 * @max_recv: longest message that will be received
 * @conns: connections that are expected
 * @depth: messages in flight that are expected
 * @batch: submit when so many messages are prepared; 0: when nothing else is to do
 * @landing_len: bytes of a landing buffer for long messages
 * @landings: how many of them
 * @smalls: landing buffers for short messages
 * @server: accepts, and hears nothing of what it has sent
 * @poll: never sleep
 * @check: look at the bytes that come
 */
struct perf_net_opts {
	const char	*device;
	const char	*host;
	const char	*service;
	const char	*bind;
	uint32_t	port;
	int		family;
	uint32_t	max_send;
	uint32_t	max_recv;
	uint32_t	conns;
	uint32_t	depth;
	uint32_t	batch;
	uint32_t	landing_len;
	uint32_t	landings;
	uint32_t	smalls;
	bool		server;
	bool		poll;
	bool		check;
	bool		latency;	/* lane; for transports that have any */
	bool		sqpoll;		/* a thread of the kernel submits; likewise */
	uint32_t	sqpoll_us;	/* its idle time, 0: the kernel's */
};

struct perf_net;

/* What SENT means: the receiver has it, or only that the buffer is free again. */
extern const bool perf_net_sent_delivers;
/* "dmastream", for reports */
extern const char * const perf_net_name;

int perf_net_open(const struct perf_net_opts *o, struct perf_net **net);
void perf_net_close(struct perf_net *net);
int perf_net_listen(struct perf_net *net);
int perf_net_connect(struct perf_net *net, uint32_t *conn);
int perf_net_end(struct perf_net *net, uint32_t conn);
int perf_net_send(struct perf_net *net, uint32_t conn, uint64_t tag, uint32_t len);
int perf_net_flush(struct perf_net *net);
int perf_net_next(struct perf_net *net, struct perf_event *ev, uint64_t deadline_ns);
uint64_t perf_net_checked(const struct perf_net *net);

#endif /* PERF_NET_H */
