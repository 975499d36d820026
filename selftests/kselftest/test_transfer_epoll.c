// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server with one epoll loop over a listener and a ring, which echoes, and a
 * client that does everything by completions.  The server accepts in two ways:
 * when the listener is readable, and by ACCEPTs that wait on its ring.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "kt.h"
#include "peer.h"

#define STREAMS		24
#define MESSAGES	20
#define ECHO		0x8000000000000000ULL	/* user_data of the server's SENDs */
#define ACCEPTS		4		/* that wait at a time */

struct server {
	struct peer_end			*e;
	struct dmastream_listener	*listener;
	bool				async;
	unsigned int			accepts_out, accepted, closed, eos, strangers, failed;
	unsigned int			waits;
	bool				known[65536];
	bool				stop;
	int				accept_result;
};

static void serve_accept(struct server *s)
{
	struct dmastream_stream_opts opts;
	int err;

	peer_opts(s->e, &opts);
	err = dmastream_accept_async(s->listener, &opts, DMASTREAM_TIMEOUT_NONE, 1);
	if (err)
		s->failed++;
	else
		s->accepts_out++;
}

static void serve_readable(struct server *s)
{
	struct dmastream_stream_opts opts;
	struct dmastream_addr peer;
	uint32_t handle;

	peer_opts(s->e, &opts);
	while (!dmastream_accept(s->listener, &opts, 0, &handle, &peer)) {
		s->known[handle] = true;
		s->accepted++;
	}
}

static void serve_echo(struct server *s, const struct dmastream_cqe *cqe)
{
	struct dmastream_sqe *sqe = dmastream_get_sqe(s->e->ring);
	uint64_t off;
	uint32_t len;

	/* ACCEPT tells the handle, and must come before what uses it */
	if (!s->known[cqe->stream])
		s->strangers++;
	off = peer_landing_off(s->e, cqe->user_data, &len);
	if (!sqe || (cqe->flags & DMASTREAM_CQE_MORE)) {
		s->failed++;
		return;
	}
	dmastream_prep_send(sqe, cqe->stream, dmastream_pool_handle(s->e->pool), off,
			    cqe->result, cqe->tag, cqe->user_data | ECHO);
}

static void serve_cqe(struct server *s, const struct dmastream_cqe *cqe)
{
	switch (DMASTREAM_CQE_OP(cqe->flags)) {
	case DMASTREAM_OP_ACCEPT:
		s->accepts_out--;
		s->accept_result = cqe->result;
		if (cqe->result <= 0)
			break;
		s->known[cqe->result] = true;
		s->accepted++;
		if (!s->stop)
			serve_accept(s);
		break;
	case DMASTREAM_OP_SEND:
		s->failed += cqe->result < 0;
		peer_give(s->e, cqe->user_data & ~ECHO);
		break;
	case DMASTREAM_OP_CLOSE:
		s->failed += cqe->result < 0;
		s->closed++;
		break;
	case DMASTREAM_OP_RECV:
		if (!(cqe->flags & DMASTREAM_CQE_EOS)) {
			serve_echo(s, cqe);
			break;
		}
		s->eos++;
		s->failed += cqe->result != 0;
		/* its handle is another stream's as soon as CLOSE returns */
		s->known[cqe->stream] = false;
		if (dmastream_stream_close_async(s->e->ctx, cqe->stream, 0, peer_ms(20000), 2))
			s->failed++;
		break;
	default:
		s->failed++;
	}
}

static void *serve(void *arg)
{
	struct server *s = arg;
	struct epoll_event ev = { .events = EPOLLIN }, got[2];
	int ep = epoll_create1(EPOLL_CLOEXEC), n, i;
	struct dmastream_cqe *at, cqe;

	ev.data.u32 = 0;
	epoll_ctl(ep, EPOLL_CTL_ADD, dmastream_ring_fd(s->e->ring), &ev);
	ev.data.u32 = 1;
	if (!s->async)
		epoll_ctl(ep, EPOLL_CTL_ADD, dmastream_listener_fd(s->listener), &ev);
	for (i = 0; s->async && i < ACCEPTS; i++)
		serve_accept(s);
	while (s->closed < STREAMS) {
		n = epoll_wait(ep, got, 2, peer_ms(20000));
		if (n <= 0) {
			s->failed++;
			break;
		}
		s->waits++;
		for (i = 0; i < n; i++)
			if (got[i].data.u32)
				serve_readable(s);
		while ((at = dmastream_peek_cqe(s->e->ring))) {
			cqe = *at;
			dmastream_cqe_seen(s->e->ring);
			serve_cqe(s, &cqe);
		}
		if (dmastream_submit(s->e->ring) < 0)
			s->failed++;
	}
	close(ep);
	return NULL;
}

/* ---- the client ---- */

static struct {
	unsigned int	connected, closed, failed, asked, shut;
	struct peer_end	*e;
} client;

static bool client_other(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	unsigned int i;

	if (DMASTREAM_CQE_OP(cqe->flags) == DMASTREAM_OP_CLOSE) {
		client.closed++;
		client.failed += cqe->result != 0;
		return true;
	}
	/* the server was quick, and its end came before our CLOSE */
	if ((cqe->flags & DMASTREAM_CQE_EOS) && !peer_stream_of(e, cqe->stream))
		return true;
	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_CONNECT)
		return false;
	client.failed += cqe->result <= 0 || (uint32_t)cqe->result != cqe->stream;
	client.connected++;
	if (cqe->result <= 0)
		return true;
	peer_stream_new(e, cqe->stream, cqe->user_data);
	/* at once, so that they are there as soon as the stream is accepted */
	for (i = 0; i < MESSAGES; i++) {
		uint32_t len = i % 4 == 3 ? 20000 + i : 10 * i;

		while (peer_prep(e, e->nr - 1, len, 0, 0, len))
			peer_submit(e);
	}
	return true;
}

static bool client_done(void *arg)
{
	struct peer_end *e = client.e;
	uint32_t i;

	(void)arg;
	for (i = 0; i < e->nr; i++) {
		struct peer_stream *s = &e->streams[i];

		if (s->rx_msgs < MESSAGES || s->tx_out || !s->handle)
			continue;
		client.shut += !dmastream_shutdown(e->ctx, s->handle);
		if (s->rx_key != s->key)
			peer_fail("an echo of stream %#x came to %#x", s->rx_key, s->key);
		client.failed += !!dmastream_stream_close_async(e->ctx, s->handle, 0,
								peer_ms(20000), 3);
		e->of_handle[s->handle] = 0;
		s->handle = 0;
	}
	if (client.asked < STREAMS && client.asked - client.closed < STREAMS / 2) {
		struct dmastream_stream_opts opts;
		struct dmastream_addr addr;
		uint32_t handle;

		peer_addr_of("DMS_ADDR", &addr);
		peer_opts(e, &opts);
		client.asked++;
		client.failed += !!dmastream_connect_async(e->ctx, &addr, "echo", &opts,
							   peer_ms(20000), client.asked, &handle);
	}
	return client.closed == STREAMS;
}

static void run(bool async)
{
	struct peer_cfg cfg = peer_default;
	struct server *s = calloc(1, sizeof(*s));
	const char *how = async ? "ACCEPTs on the ring" : "a readable listener";
	unsigned int errors = peer_errors;
	pthread_t thread;

	memset(&client, 0, sizeof(client));
	cfg.small_n = 256;
	s->e = peer_end_new(&cfg);
	peer_give_all(s->e);
	s->async = async;
	kt_is(dmastream_listen(s->e->ctx, "echo", 16, 0, &s->listener), 0, "%s: LISTEN", how);
	client.e = peer_end_new(&cfg);
	client.e->other = client_other;
	peer_give_all(client.e);
	pthread_create(&thread, NULL, serve, s);
	peer_run(client.e, NULL, client_done, NULL, 40000, "the client's streams to close");
	pthread_join(thread, NULL);
	kt_is(client.connected, STREAMS, "%s: CONNECT completions", how);
	kt_is(client.closed, STREAMS, "%s: CLOSE completions of the client", how);
	kt_is(client.shut, STREAMS, "%s: SHUTDOWNs", how);
	kt_is(client.failed, 0, "%s: failures of the client", how);
	kt_is(s->accepted, STREAMS, "%s: accepted", how);
	kt_is(s->eos, STREAMS, "%s: ends of streams", how);
	kt_is(s->closed, STREAMS, "%s: CLOSE completions of the server", how);
	kt_is(s->strangers, 0, "%s: messages before their ACCEPT", how);
	kt_is(s->failed, 0, "%s: failures of the server (%u waits)", how, s->waits);
	kt_is(client.e->rx_msgs, STREAMS * MESSAGES, "%s: echoes", how);
	kt_is(peer_errors - errors, 0, "%s: contents and order", how);
	s->stop = true;
	errors = s->accepts_out;
	dmastream_listener_close(s->listener);
	while (s->accepts_out) {
		struct dmastream_cqe cqe;

		if (peer_next(s->e, &cqe, 10000))
			break;
		serve_cqe(s, &cqe);
	}
	if (async) {
		kt_is(s->accepts_out, 0, "ACCEPTs that wait end with their listener (%u)", errors);
		kt_is(s->accept_result, -ECANCELED, "their result");
	}
	peer_end_free(s->e);
	peer_end_free(client.e);
	free(s);
}

/* What waits on a ring has its limits too. */
static void limits(void)
{
	struct peer_end *e = peer_end_new(&peer_default);
	struct dmastream_listener *listener = NULL;
	struct dmastream_stream_opts opts;
	struct dmastream_stream_query q = { 0 };
	struct dmastream_cqe cqe = { 0 };
	struct dmastream_addr addr;
	uint32_t handle = 0;

	peer_opts(e, &opts);
	opts.cookie = 0xc0ffee;
	peer_addr_of("DMS_ADDR", &addr);
	kt_is(dmastream_listen(e->ctx, "limits", 1, 0x1234, &listener), 0, "LISTEN");
	kt_is(dmastream_accept_async(listener, &opts, peer_ms(100), 11), 0, "ACCEPT on the ring");
	kt_is(peer_next(e, &cqe, 10000), 0, "it completes");
	kt_is(cqe.result, -ETIMEDOUT, "when its time is over");
	kt_is(cqe.user_data, 11, "with its user_data");
	kt_is(cqe.tag, 0x1234, "and the listener's cookie");
	kt_is(dmastream_connect_async(e->ctx, &addr, "nothing", &opts, peer_ms(5000), 12,
				      &handle), 0, "CONNECT on the ring");
	kt_is(peer_next(e, &cqe, 10000), 0, "it completes");
	kt_is(cqe.result, -ECONNREFUSED, "refused");
	kt_is(dmastream_stream_query(e->ctx, handle, &q), 0, "the handle is there to ask why");
	kt_is(q.err_class, DMASTREAM_ERR_REFUSED, "its class");
	kt_is(q.err_detail, DMASTREAM_REFUSED_SERVICE, "its detail");
	kt_is(q.cookie, 0xc0ffee, "its cookie");
	kt_is(dmastream_stream_close(e->ctx, handle, 0, 1000), 0, "CLOSE of what never opened");
	addr.addr[3] = 250;
	kt_is(dmastream_connect_async(e->ctx, &addr, "x", &opts, 500, 13, &handle), 0,
	      "CONNECT to nobody, on the ring");
	do {
		if (peer_next(e, &cqe, 10000))
			break;
	} while (DMASTREAM_CQE_OP(cqe.flags) != DMASTREAM_OP_CONNECT);
	kt_is(cqe.result, -ETIMEDOUT, "its result");
	kt_is(cqe.user_data, 13, "its user_data");
	dmastream_stream_close(e->ctx, handle, 0, 1000);
	dmastream_listener_close(listener);
	peer_end_free(e);
}

int main(void)
{
	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(60);
	run(false);
	run(true);
	limits();
	peer_check_gauges();
	return kt_end();
}
