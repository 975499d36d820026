// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transport of dmsperf: libdmastream.
 *
 * An end has one pool: landing buffers for short messages, those for long ones, and
 * one source that all messages are sent from.  Nothing ever writes to the source
 * after the start, so any number of sends may read it at once.
 *
 * Giving landings and completions back is put off until BATCH of them have come
 * together or nothing is left to reap: each publication costs a full barrier.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <dmastream.h>

#include "perf_net.h"
#include "perf_pattern.h"

#define BATCH		16
#define ACCEPTS		16	/* ACCEPTs that wait on a server's ring */
#define BACKLOG		128
#define OPEN_MS		30000
#define PAGE		4096U

const bool perf_net_sent_delivers = true;
const char * const perf_net_name = "dmastream";

/* The part of a long message that has come, of a stream; only with check. */
struct partial {
	uint32_t	stream;
	uint64_t	bytes;
};

struct perf_net {
	struct perf_net_opts		o;
	struct dmastream		*ctx;
	struct dmastream_pool		*pool;
	struct dmastream_ring		*ring;
	struct dmastream_group		*small, *large;
	struct dmastream_listener	*listener;
	struct dmastream_addr		peer;
	uint32_t			small_len;
	uint64_t			large_at, source_at;
	uint32_t			pool_handle;
	uint32_t			seen;		/* completions not given back */
	uint32_t			prepared;	/* submissions since the last submit */
	uint32_t			accepts;	/* ACCEPTs to be posted again */
	struct partial			*partial;
	uint32_t			nr_partial, room_partial;
	uint64_t			checked;
};

static int complain(const char *what, int err)
{
	char text[DMASTREAM_EXPLAIN_TEXT];

	fprintf(stderr, "dmsperf: %s: %s\n", what,
		dmastream_explain(err, NULL, text, sizeof(text)));
	return err;
}

/* ---- making ---- */

static uint32_t whole_pages(uint32_t len)
{
	return (len + PAGE - 1) / PAGE * PAGE;
}

/* Cookies below @smalls are of small landings.  Published by settle(). */
static int give(struct perf_net *net, uint64_t cookie)
{
	if (cookie < net->o.smalls)
		return dmastream_group_add(net->small, cookie, cookie * net->small_len,
					   net->small_len);
	return dmastream_group_add(net->large, cookie,
				   net->large_at + (cookie - net->o.smalls) * net->o.landing_len,
				   net->o.landing_len);
}

static int make_pool(struct perf_net *net)
{
	uint32_t source = whole_pages(net->o.max_send);
	uint64_t size;
	int ret;

	net->small_len = whole_pages(dmastream_limits(net->ctx)->eager_max);
	if (!net->small_len)
		net->small_len = 2 * PAGE;
	net->o.landing_len = whole_pages(net->o.landing_len);
	net->large_at = (uint64_t)net->o.smalls * net->small_len;
	net->source_at = net->large_at + (uint64_t)net->o.landings * net->o.landing_len;
	size = net->source_at + (source ? source : PAGE);
	ret = dmastream_pool_create(net->ctx, size, -1, &net->pool);
	if (ret) {
		complain("pinned memory", ret);
		fprintf(stderr, "dmsperf: %llu MiB were wanted; --smalls, --landings and --landing make it less\n",
			(unsigned long long)(size >> 20));
		return ret;
	}
	net->pool_handle = dmastream_pool_handle(net->pool);
	perf_pattern_fill(dmastream_pool_ptr(net->pool, net->source_at), net->o.max_send);
	return 0;
}

/* Room in the completion queue: each submission reserves a slot, each landing may need one. */
static int make_queues(struct perf_net *net)
{
	const struct dmastream_query *max = dmastream_limits(net->ctx);
	uint32_t sq = net->o.depth < 256 ? 256 : net->o.depth, cq;
	int ret;

	if (sq > max->max_sq_entries)
		sq = max->max_sq_entries;
	cq = 2 * sq + net->o.smalls + net->o.landings + 2 * ACCEPTS;
	if (cq > max->max_cq_entries)
		cq = max->max_cq_entries;
	ret = net->o.sqpoll ?
	      dmastream_ring_create_polled(net->ctx, sq, cq, 0, net->o.sqpoll_us, &net->ring) :
	      dmastream_ring_create(net->ctx, sq, cq, 0, &net->ring);
	if (!ret)
		ret = dmastream_group_create(net->ctx, net->pool, net->o.smalls, net->small_len,
					     &net->small);
	if (!ret && net->o.landings)
		ret = dmastream_group_create(net->ctx, net->pool, net->o.landings,
					     net->o.landing_len, &net->large);
	return ret ? complain("rings", ret) : 0;
}

static int give_all(struct perf_net *net)
{
	uint64_t i;
	int ret = 0;

	for (i = 0; i < (uint64_t)net->o.smalls + net->o.landings && !ret; i++)
		ret = give(net, i);
	if (!ret)
		ret = dmastream_group_publish(net->small, net->ring);
	if (!ret && net->large)
		ret = dmastream_group_publish(net->large, net->ring);
	return ret;
}

static int resolve(struct perf_net *net)
{
	int n = dmastream_resolve(net->o.host, net->o.family, net->o.port, &net->peer, 1);

	if (n <= 0)
		return complain(net->o.host, n ? n : -EADDRNOTAVAIL);
	return 0;
}

/**
 * perf_net_open() - a process's end
 * @o: copied
 * @out: set when 0 is returned, NULL otherwise
 *
 * Says on standard error what went wrong.
 */
int perf_net_open(const struct perf_net_opts *o, struct perf_net **out)
{
	struct perf_net *net = calloc(1, sizeof(*net));
	int ret;

	*out = NULL;
	if (!net)
		return -ENOMEM;
	net->o = *o;
	ret = dmastream_open(&net->ctx, o->device);
	if (ret)
		complain(o->device ? o->device : DMASTREAM_DEVICE, ret);
	if (!ret && !o->server)
		ret = resolve(net);
	if (!ret)
		ret = make_pool(net);
	if (!ret)
		ret = make_queues(net);
	if (!ret)
		ret = give_all(net);
	if (ret) {
		perf_net_close(net);
		return ret;
	}
	*out = net;
	return 0;
}

/**
 * perf_net_close() - the end of an end, and of its connections
 * @net: or NULL
 */
void perf_net_close(struct perf_net *net)
{
	if (!net)
		return;
	dmastream_listener_close(net->listener);
	dmastream_group_close(net->large);
	dmastream_group_close(net->small);
	dmastream_ring_close(net->ring);
	dmastream_pool_close(net->pool);
	dmastream_close(net->ctx);
	free(net->partial);
	free(net);
}

/* ---- connections ---- */

static struct dmastream_stream_opts stream_opts(const struct perf_net *net)
{
	struct dmastream_stream_opts opts = {
		.ring = dmastream_ring_handle(net->ring),
		.small_group = dmastream_group_handle(net->small),
	};

	if (net->large)
		opts.large_group = dmastream_group_handle(net->large);
	return opts;
}

/* Those that find no slot in the completion queue are tried again by settle(). */
static int post_accepts(struct perf_net *net)
{
	struct dmastream_stream_opts opts = stream_opts(net);
	int ret;

	while (net->accepts) {
		ret = dmastream_accept_async(net->listener, &opts, DMASTREAM_TIMEOUT_NONE, 0);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		net->accepts--;
	}
	return 0;
}

/**
 * perf_net_listen() - be a server; OPEN events follow
 * @net: made with @server
 */
int perf_net_listen(struct perf_net *net)
{
	int ret = dmastream_listen(net->ctx, net->o.service, BACKLOG, 0, &net->listener);

	if (!ret) {
		net->accepts = ACCEPTS;
		ret = post_accepts(net);
	}
	return ret ? complain(net->o.service, ret) : 0;
}

/**
 * perf_net_connect() - open a connection to the peer, and wait until it is open
 * @net: made without @server
 * @conn: its number, until perf_net_end()
 */
int perf_net_connect(struct perf_net *net, uint32_t *conn)
{
	struct dmastream_stream_opts opts = stream_opts(net);
	char text[DMASTREAM_EXPLAIN_TEXT];
	struct dmastream_error err;
	int ret;

	if (net->o.latency)
		opts.flags |= DMASTREAM_STREAM_LATENCY;
	do {
		ret = dmastream_connect(net->ctx, &net->peer, net->o.service, &opts, OPEN_MS,
					conn, &err);
	} while (ret == -EINTR);
	if (ret)
		fprintf(stderr, "dmsperf: %s\n", dmastream_explain(ret, &err, text, sizeof(text)));
	return ret;
}

/**
 * perf_net_end() - close a connection
 * @net: a server does not wait for the end of the closing
 * @conn: of perf_net_connect() or an OPEN event
 */
int perf_net_end(struct perf_net *net, uint32_t conn)
{
	int ret;

	if (net->o.server) {
		ret = dmastream_stream_close_async(net->ctx, conn, 0, OPEN_MS, 0);
		/* no slot for the completion: then it has to wait */
		if (ret != -EAGAIN)
			return ret;
	}
	do {
		ret = dmastream_stream_close(net->ctx, conn, 0, OPEN_MS);
	} while (ret == -EINTR);
	return ret;
}

/* ---- data ---- */

/**
 * perf_net_send() - one message
 * @net: any
 * @conn: an open connection
 * @tag: comes out at the receiver
 * @len: bytes, at most @max_send
 *
 * It goes out by the next perf_net_flush() or perf_net_next() at the latest.
 *
 * Return: -EAGAIN when there is no room: take events first.
 */
int perf_net_send(struct perf_net *net, uint32_t conn, uint64_t tag, uint32_t len)
{
	struct dmastream_sqe *sqe = dmastream_get_sqe(net->ring);
	int ret;

	if (!sqe) {
		ret = perf_net_flush(net);
		sqe = dmastream_get_sqe(net->ring);
		if (ret || !sqe)
			return ret ? ret : -EAGAIN;
	}
	dmastream_prep_send(sqe, conn, net->pool_handle, net->source_at, len, tag, tag);
	if (net->o.server)
		dmastream_sqe_set_flags(sqe, DMASTREAM_SQE_SILENT);
	if (++net->prepared == net->o.batch)
		return perf_net_flush(net);
	return 0;
}

/**
 * perf_net_flush() - let go what was prepared
 * @net: any
 *
 * What finds no slot in the completion queue goes later.
 */
int perf_net_flush(struct perf_net *net)
{
	int ret = dmastream_submit(net->ring);

	net->prepared = 0;
	return ret < 0 && ret != -EAGAIN ? ret : 0;
}

/* Gives back what was put off. */
static int settle(struct perf_net *net)
{
	int ret = 0;

	if (net->seen) {
		ret = dmastream_group_publish(net->small, net->ring);
		if (!ret && net->large)
			ret = dmastream_group_publish(net->large, net->ring);
		if (!ret)
			ret = dmastream_cq_advance(net->ring, net->seen);
		net->seen = 0;
	}
	if (!ret && net->accepts)
		ret = post_accepts(net);
	return ret;
}

static int partial_of(struct perf_net *net, uint32_t stream, struct partial **out)
{
	uint32_t i;
	void *more;

	for (i = 0; i < net->nr_partial; i++)
		if (net->partial[i].stream == stream)
			break;
	if (i == net->room_partial) {
		more = realloc(net->partial, (2 * i + 16) * sizeof(*net->partial));
		if (!more)
			return -ENOMEM;
		net->partial = more;
		net->room_partial = 2 * i + 16;
	}
	if (i == net->nr_partial) {
		net->nr_partial++;
		net->partial[i] = (struct partial){ .stream = stream };
	}
	*out = &net->partial[i];
	return 0;
}

/* The bytes of a completion, which are a piece of a message. */
static int check_piece(struct perf_net *net, const struct dmastream_cqe *cqe)
{
	bool more = cqe->flags & DMASTREAM_CQE_MORE;
	uint64_t at = cqe->user_data, bytes = (uint64_t)cqe->result;
	struct partial *part;
	int64_t good = 0;
	int ret = partial_of(net, cqe->stream, &part);

	if (ret)
		return ret;
	if (!more)
		bytes -= part->bytes;
	at = at < net->o.smalls ? at * net->small_len :
	     net->large_at + (at - net->o.smalls) * net->o.landing_len;
	if (!(cqe->flags & DMASTREAM_CQE_NOBUF))
		good = perf_pattern_check(dmastream_pool_ptr(net->pool, at), part->bytes, bytes);
	if (good < 0) {
		fprintf(stderr, "dmsperf: message %u of stream %u: other bytes than were sent, in the %llu from %llu on\n",
			cqe->seq, cqe->stream, (unsigned long long)bytes,
			(unsigned long long)part->bytes);
		return -EBADMSG;
	}
	net->checked += (uint64_t)good;
	part->bytes += bytes;
	if (!more)
		*part = net->partial[--net->nr_partial];
	return 0;
}

static int on_receive(struct perf_net *net, const struct dmastream_cqe *cqe,
		      struct perf_event *ev)
{
	int ret = 0;

	if (cqe->result >= 0 && !(cqe->flags & DMASTREAM_CQE_EOS) && net->o.check)
		ret = check_piece(net, cqe);
	if (!(cqe->flags & (DMASTREAM_CQE_NOBUF | DMASTREAM_CQE_EOS)) && !ret)
		ret = give(net, cqe->user_data);
	if (ret)
		return ret;
	if ((cqe->flags & DMASTREAM_CQE_EOS) || cqe->result < 0) {
		ev->kind = PERF_EV_END;
		ev->error = cqe->result < 0 ? cqe->result : 0;
		return 1;
	}
	ev->kind = PERF_EV_MSG;
	ev->len = (uint64_t)cqe->result;
	ev->tag = cqe->tag;
	return !(cqe->flags & DMASTREAM_CQE_MORE);
}

/* 1 when the completion makes an event, 0 when not, or a negative errno. */
static int on_cqe(struct perf_net *net, const struct dmastream_cqe *cqe, struct perf_event *ev)
{
	ev->conn = cqe->stream;
	switch (DMASTREAM_CQE_OP(cqe->flags)) {
	case DMASTREAM_OP_SEND:
		/* of a server only what failed is told, and the end of the stream says it too */
		if (net->o.server)
			return 0;
		ev->kind = PERF_EV_SENT;
		ev->tag = cqe->user_data;
		return cqe->result < 0 ? cqe->result : 1;
	case DMASTREAM_OP_RECV:
		return on_receive(net, cqe, ev);
	case DMASTREAM_OP_ACCEPT:
		net->accepts++;
		ev->kind = PERF_EV_OPEN;
		ev->conn = (uint32_t)cqe->result;
		return cqe->result >= 0;
	default:
		return 0;
	}
}

static int spin(struct perf_net *net, uint64_t deadline_ns)
{
	int ret = perf_net_flush(net);

	while (!ret && !dmastream_cq_ready(net->ring))
		if (deadline_ns && dmastream_now_ns() >= deadline_ns)
			ret = -ETIME;
	return ret;
}

/* What is prepared goes with the call that waits. */
static int wait_cqe(struct perf_net *net, uint64_t deadline_ns)
{
	int ret;

	if (net->o.poll)
		return spin(net, deadline_ns);
	net->prepared = 0;
	ret = dmastream_submit_and_wait(net->ring, 1, deadline_ns);
	/* no slot to submit with: it did not wait */
	if (ret == -EAGAIN)
		ret = dmastream_enter(net->ring, 0, 1, deadline_ns);
	return ret < 0 ? ret : 0;
}

/**
 * perf_net_next() - wait for an event
 * @net: any
 * @ev: set when 1 is returned
 * @deadline_ns: CLOCK_MONOTONIC, 0 for none
 *
 * Return: 1; -ETIME; -EINTR, also when what perf_net_send() refused may go now; -EBADMSG when --check found other bytes; another error
 * of a message or of the end.
 */
int perf_net_next(struct perf_net *net, struct perf_event *ev, uint64_t deadline_ns)
{
	int ret;

	for (;;) {
		while (net->seen < dmastream_cq_ready(net->ring)) {
			/* a copy, since settle() lets the kernel have the slot */
			struct dmastream_cqe cqe = *dmastream_cqe_at(net->ring, net->seen);

			ret = on_cqe(net, &cqe, ev);
			net->seen++;
			if (net->seen >= BATCH && ret >= 0 && settle(net) < 0)
				return -ENODEV;
			if (ret)
				return ret;
		}
		ret = settle(net);
		if (!ret && !dmastream_cq_ready(net->ring))
			ret = wait_cqe(net, deadline_ns);
		if (ret < 0)
			return ret;
	}
}

/**
 * perf_net_checked() - words that --check looked at and found right
 * @net: any
 */
uint64_t perf_net_checked(const struct perf_net *net)
{
	return net->checked;
}
