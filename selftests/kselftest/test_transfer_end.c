// SPDX-License-Identifier: GPL-2.0-only
/*
 * How streams begin and end: half-close, CLOSE that delivers, CLOSE that runs
 * out of time, ABORT, what CONNECT says when nobody is there.  The same
 * asynchronously, from one epoll loop, is in test_transfer_epoll.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

/* The kernel's ticks and its clock differ by some per cent in a guest that gets little time. */
static bool not_before(uint64_t took, uint64_t limit)
{
	return took >= limit - limit / 10;
}

static bool eos_everywhere(void *arg)
{
	struct peer_pair *p = arg;
	uint32_t i;

	for (i = 0; i < p->b->nr; i++)
		if (p->b->streams[i].eos_result == PEER_EOS_NONE)
			return false;
	return true;
}

static bool open_pair(struct peer_pair *p, const char *service)
{
	struct peer_cfg cfg = peer_default;

	if (!peer_pair_open(p, service, &cfg, &cfg) && !peer_pair_connect(p, 1))
		return true;
	kt_ok(false, "pair %s", service);
	return false;
}

/* Results of a's sends that are not checked one by one. */
static struct {
	unsigned int	delivered, cancelled, reset, unknown, other;
	int		last_delivered, first_failed;	/* numbers of messages */
} ends;

/*
 * Of the messages, not of their completions: one that was delivered completes when
 * its keys are taken back, and those that were not delivered have none.
 */
static void check_beginning(void)
{
	kt_ok(ends.last_delivered < ends.first_failed,
	      "what is delivered is a beginning (up to %d, without %d)", ends.last_delivered,
	      ends.first_failed);
}

static bool take_ends(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct peer_send *req = (void *)(uintptr_t)cqe->user_data;

	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_SEND)
		return false;
	if (cqe->result == (int)req->len)
		ends.delivered++;
	else if (cqe->result == -ECANCELED)
		ends.cancelled++;
	else if (cqe->result == -EPIPE)
		ends.reset++;
	else if (cqe->result == -ECONNRESET)
		ends.unknown++;
	else
		ends.other++;
	if (cqe->result >= 0 && req->id > ends.last_delivered)
		ends.last_delivered = req->id;
	if (cqe->result < 0 && req->id < ends.first_failed)
		ends.first_failed = req->id;
	e->streams[req->stream].tx_out--;
	e->out--;
	dmastream_free(e->heap, req->buf);
	free(req);
	return true;
}

static void count_ends(struct peer_end *e)
{
	memset(&ends, 0, sizeof(ends));
	ends.last_delivered = -1;
	ends.first_failed = 1 << 16;
	e->other = take_ends;
}

static void send_mix(struct peer_pair *p, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint32_t len = i % 3 ? 500 : 50000;

		if (peer_prep(p->a, 0, len, 0, 0, len))
			kt_die("room for a SEND");
	}
	peer_submit(p->a);
}

static void half_close(void)
{
	unsigned int errors = peer_errors;
	struct dmastream_cqe cqe = { 0 };
	struct peer_pair p;

	if (!open_pair(&p, "half"))
		return;
	send_mix(&p, 30);
	kt_is(dmastream_shutdown(p.a->ctx, p.a->streams[0].handle), 0, "SHUTDOWN");
	kt_is(dmastream_shutdown(p.a->ctx, p.a->streams[0].handle), 0, "and again");
	peer_run(p.a, p.b, eos_everywhere, &p, 20000, "the end of the stream");
	kt_is(p.b->rx_msgs, 30, "all came before the end");
	kt_is(p.b->streams[0].eos_result, 0, "the end's result");
	peer_settle(&p, 0, 30);
	/* the other way works on */
	peer_send(&p, p.b, 0, 100000, 0);
	peer_send(&p, p.b, 0, 10, 0);
	peer_settle(&p, 2, 30);
	kt_is(p.a->rx_msgs, 2, "the other direction after SHUTDOWN");
	kt_is(peer_errors - errors, 0, "contents and results around SHUTDOWN");
	/* a's own sends are over */
	dmastream_prep_send(dmastream_get_sqe(p.a->ring), p.a->streams[0].handle, 0, 0, 0, 0, 1);
	peer_submit(p.a);
	kt_is(peer_next(p.a, &cqe, 10000), 0, "SEND after SHUTDOWN completes");
	kt_is(cqe.result, -EPIPE, "SEND after SHUTDOWN");
	kt_is(dmastream_shutdown(p.b->ctx, p.b->streams[0].handle), 0, "SHUTDOWN of the other");
	kt_is(peer_next(p.a, &cqe, 10000), 0, "it arrives");
	kt_ok(cqe.flags & DMASTREAM_CQE_EOS && cqe.flags & DMASTREAM_CQE_NOBUF && !cqe.result,
	      "as EOS without a buffer");
	p.b->streams[0].eos_result = PEER_EOS_NONE;
	peer_pair_close(&p);
}

/* b reads only after CLOSE was called: a child of the test closes. */
struct closing {
	struct peer_pair	*p;
	uint32_t		ms;
	int			result;
	bool			done;
};

static void *closer(void *arg)
{
	struct closing *c = arg;

	c->result = dmastream_stream_close(c->p->a->ctx, c->p->a->streams[0].handle, 0, c->ms);
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool close_done(void *arg)
{
	struct closing *c = arg;

	return __atomic_load_n(&c->done, __ATOMIC_ACQUIRE);
}

static void close_delivers(void)
{
	unsigned int errors = peer_errors;
	struct peer_pair p;
	struct closing c = { .p = &p, .ms = peer_ms(20000) };
	struct dmastream_stream_query q = { 0 };
	pthread_t thread;

	if (!open_pair(&p, "deliver"))
		return;
	p.b->keep = true;
	send_mix(&p, 120);
	pthread_create(&thread, NULL, closer, &c);
	/* the reader is slow: it gives its landings back only when it has nothing more */
	while (!close_done(&c)) {
		peer_poll(p.b);
		if (!peer_poll(p.b))
			peer_give_kept(p.b);
		kt_sleep_ms(1);
	}
	pthread_join(thread, NULL);
	peer_poll(p.a);
	peer_run(p.a, p.b, eos_everywhere, &p, 20000, "the end of the stream");
	kt_is(c.result, 0, "CLOSE with a slow reader");
	kt_is(p.b->rx_msgs, 120, "it delivered what was accepted");
	kt_is(p.b->streams[0].eos_result, 0, "and the reader hears of an orderly end");
	kt_is(p.a->out, 0, "each send had its completion when CLOSE returned");
	kt_is(peer_errors - errors, 0, "contents and results around CLOSE");
	kt_is(dmastream_stream_query(p.a->ctx, p.a->streams[0].handle, &q), -EBADF,
	      "the handle is gone");
	p.a->streams[0].handle = 0;
	peer_pair_close(&p);
}

static void close_times_out(void)
{
	struct peer_pair p;
	uint64_t begin, took;
	int err;

	if (!open_pair(&p, "timeout"))
		return;
	count_ends(p.a);
	p.b->keep = true;
	send_mix(&p, 200);
	begin = kt_now_ns();
	err = dmastream_stream_close(p.a->ctx, p.a->streams[0].handle, 0, peer_ms(300));
	took = (kt_now_ns() - begin) / 1000000;
	kt_is(err, -ETIMEDOUT, "CLOSE when nobody reads");
	kt_ok(not_before(took, peer_ms(300)) && took < peer_ms(2000), "it took %llu ms",
	      (unsigned long long)took);
	peer_poll(p.a);
	kt_is(p.a->out, 0, "each send had its completion when CLOSE returned");
	peer_run(NULL, p.b, eos_everywhere, &p, 20000, "the end of the stream");
	kt_is(ends.delivered + ends.cancelled + ends.reset, 200,
	      "%u delivered, %u cancelled, %u reset: none unknown", ends.delivered,
	      ends.cancelled, ends.reset);
	kt_is(p.b->rx_msgs, ends.delivered, "what is delivered by the sends' word was received");
	check_beginning();
	kt_ok(ends.cancelled && ends.delivered, "some of both");
	kt_is(p.b->streams[0].eos_result, -ECONNRESET, "the reader hears that some are missing");
	p.a->streams[0].handle = 0;
	peer_pair_close(&p);
}

static void close_aborts(void)
{
	struct dmastream_stream_query q = { 0 };
	struct peer_pair p;
	int err;

	if (!open_pair(&p, "abort"))
		return;
	count_ends(p.a);
	p.b->keep = true;
	send_mix(&p, 100);
	err = dmastream_stream_close(p.a->ctx, p.a->streams[0].handle, DMASTREAM_CLOSE_ABORT, 0);
	kt_is(err, -ECONNRESET, "CLOSE with ABORT, something was not delivered");
	peer_poll(p.a);
	kt_is(p.a->out, 0, "each send had its completion");
	peer_run(NULL, p.b, eos_everywhere, &p, 20000, "the end of the stream");
	kt_is(p.b->rx_msgs, ends.delivered, "received what the sends say (%u)", ends.delivered);
	check_beginning();
	kt_is(dmastream_stream_query(p.b->ctx, p.b->streams[0].handle, &q), 0, "query of the rest");
	kt_is(q.state, DMASTREAM_STATE_BROKEN, "its state");
	kt_is(q.err_class, DMASTREAM_ERR_PEER, "its error class");
	kt_is(q.err_detail, ECONNABORTED, "its error detail");
	p.a->streams[0].handle = 0;
	peer_pair_close(&p);
}

/* The other side's sends when this one closes: not delivered, and said so. */
static void close_against_sends(void)
{
	unsigned int errors = peer_errors;
	struct peer_pair p;
	int err;

	if (!open_pair(&p, "against"))
		return;
	count_ends(p.a);
	send_mix(&p, 100);
	/* b closes without having read anything */
	err = dmastream_stream_close(p.b->ctx, p.b->streams[0].handle, 0, peer_ms(5000));
	kt_is(err, 0, "CLOSE of the side that sent nothing");
	peer_settle(&p, 0, 0);
	kt_is(ends.delivered + ends.reset + ends.cancelled, 100,
	      "the other's sends: %u delivered, %u not", ends.delivered, ends.reset);
	check_beginning();
	peer_poll(p.b);
	kt_ok(p.b->rx_msgs == ends.delivered, "%llu were in b's ring",
	      (unsigned long long)p.b->rx_msgs);
	kt_is(peer_errors - errors, 0, "contents");
	p.b->streams[0].handle = 0;
	peer_pair_close(&p);
}

/* ---- both sides, each with a message that the other has no landing for ---- */

static struct {
	unsigned int	nr;
	int		result[2];
} closed;

static bool take_close(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	(void)e;
	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_CLOSE)
		return false;
	closed.result[cqe->user_data] = cqe->result;
	closed.nr++;
	return true;
}

static bool close_begins(struct peer_end *e, unsigned int nr)
{
	int err = dmastream_stream_close_async(e->ctx, e->streams[0].handle, 0, peer_ms(20000),
					       nr);

	e->streams[0].handle = 0;
	return kt_is(err, 0, "CLOSE of side %c begins", 'a' + nr);
}

static bool closed_all(void *arg)
{
	struct peer_pair *p = arg;

	return closed.nr == 2 && !p->a->out && !p->b->out;
}

static bool is_held(struct peer_end *e)
{
	struct dmastream_stream_query q = { 0 };

	return !dmastream_stream_query(e->ctx, e->streams[0].handle, &q) &&
	       q.waits & DMASTREAM_WAIT_HOLD;
}

static bool a_held(void *arg)
{
	return is_held(((struct peer_pair *)arg)->a);
}

static bool both_held(void *arg)
{
	return a_held(arg) && is_held(((struct peer_pair *)arg)->b);
}

static bool open_holding(struct peer_pair *p, const char *service)
{
	struct peer_cfg cfg = peer_default;

	cfg.large_n = 1;
	cfg.large_len = 65536;
	memset(&closed, 0, sizeof(closed));
	if (peer_pair_open(p, service, &cfg, &cfg) || peer_pair_connect(p, 1)) {
		kt_ok(false, "pair %s", service);
		return false;
	}
	p->a->keep = true;
	p->b->keep = true;
	p->a->other = take_close;
	p->b->other = take_close;
	return true;
}

/* Neither waits for what the other one will never take. */
static void closes_cross(void)
{
	unsigned int errors = peer_errors;
	uint64_t begin, took;
	struct peer_pair p;

	if (!open_holding(&p, "cross"))
		return;
	peer_prep(p.a, 0, 200000, 0, 0, -EPIPE);
	peer_prep(p.b, 0, 200000, 0, 0, -EPIPE);
	peer_submit(p.a);
	peer_submit(p.b);
	peer_run(p.a, p.b, both_held, &p, 20000, "HOLD both ways");
	begin = kt_now_ns();
	close_begins(p.a, 0);
	close_begins(p.b, 1);
	peer_run(p.a, p.b, closed_all, &p, 30000, "two CLOSEs that cross");
	took = (kt_now_ns() - begin) / 1000000;
	kt_is(closed.result[0], -ECONNRESET, "CLOSE of a: something was not delivered");
	/* its send may have been refused before */
	kt_ok(closed.result[1] == -ECONNRESET || !closed.result[1], "CLOSE of b: likewise (%d)",
	      closed.result[1]);
	kt_ok(took < peer_ms(10000), "they did not wait for each other (%llu ms)",
	      (unsigned long long)took);
	kt_is(peer_errors - errors, 0, "both sends failed");
	peer_pair_close(&p);
}

static bool b_idle(void *arg)
{
	return !((struct peer_pair *)arg)->b->out;
}

static bool a_closed(void *arg)
{
	return closed.nr && !((struct peer_pair *)arg)->a->out;
}

/* a waits for its own message, and takes none; b hears that at once. */
static void closing_refuses(void)
{
	unsigned int errors = peer_errors;
	struct peer_pair p;

	if (!open_holding(&p, "refuses"))
		return;
	peer_prep(p.a, 0, 200000, 0, 0, 200000);
	peer_submit(p.a);
	peer_run(p.a, p.b, a_held, &p, 20000, "HOLD");
	close_begins(p.a, 0);
	peer_prep(p.b, 0, 100, 0, 0, -EPIPE);
	peer_prep(p.b, 0, 200000, 0, 0, -EPIPE);
	peer_submit(p.b);
	kt_ok(peer_run(p.a, p.b, b_idle, &p, 10000, "sends to a side that closes"),
	      "they are answered");
	kt_is(closed.nr, 0, "while CLOSE still waits");
	p.b->keep = false;
	peer_give_kept(p.b);
	peer_run(p.a, p.b, a_closed, &p, 10000, "CLOSE");
	kt_is(closed.result[0], 0, "its own message was delivered");
	kt_is(p.b->rx_msgs, 1, "to b");
	kt_is(p.a->rx_msgs, 0, "nothing was to a");
	peer_run(p.a, p.b, eos_everywhere, &p, 10000, "the end of the stream");
	kt_is(p.b->streams[0].eos_result, 0, "b hears of an orderly end");
	kt_is(peer_errors - errors, 0, "contents and results");
	peer_pair_close(&p);
}

/* ---- CONNECT without success ---- */

static int try_connect(struct peer_end *e, const struct dmastream_addr *addr,
		       const char *service, uint32_t ms, struct dmastream_error *where)
{
	struct dmastream_stream_opts opts;
	uint32_t handle = 0;
	int err;

	peer_opts(e, &opts);
	memset(where, 0, sizeof(*where));
	err = dmastream_connect(e->ctx, addr, service, &opts, ms, &handle, where);
	if (!err)
		dmastream_stream_close(e->ctx, handle, DMASTREAM_CLOSE_ABORT, 0);
	return err;
}

static void nobody(void)
{
	struct peer_end *e = peer_end_new(&peer_default);
	struct dmastream_error where;
	struct dmastream_addr addr;
	uint64_t begin, took;

	peer_addr_of("DMS_ADDR", &addr);
	kt_is(try_connect(e, &addr, "x", peer_ms(5000), &where), -ECONNREFUSED,
	      "CONNECT, and no module listens");
	kt_is(where.err_class, DMASTREAM_ERR_SESSION, "its class");
	kt_is(where.err_detail, ECONNREFUSED, "its detail");
	/* an address that answers nothing */
	addr.addr[3] = 250;
	begin = kt_now_ns();
	/* the network itself says so after 3 s: the limit is not scaled */
	kt_is(try_connect(e, &addr, "x", 600, &where), -ETIMEDOUT,
	      "CONNECT to a host that is not there");
	took = (kt_now_ns() - begin) / 1000000;
	kt_ok(not_before(took, 600) && took < peer_ms(2000), "after %llu ms",
	      (unsigned long long)took);
	peer_end_free(e);
}

static void refusals(void)
{
	struct dmastream_listener *listener = NULL;
	struct dmastream_stream_opts opts;
	struct dmastream_error where;
	struct peer_pair p;
	uint32_t handle[3];
	int i;

	if (!open_pair(&p, "there"))
		return;
	kt_is(try_connect(p.a, &p.addr, "elsewhere", peer_ms(5000), &where), -ECONNREFUSED,
	      "CONNECT to a service that is not there");
	kt_is(where.err_class, DMASTREAM_ERR_REFUSED, "its class");
	kt_is(where.err_detail, DMASTREAM_REFUSED_SERVICE, "its detail");
	kt_is(dmastream_listen(p.b->ctx, "there", 1, 0, &listener), -EADDRINUSE,
	      "the same service twice");
	kt_is(dmastream_listen(p.b->ctx, "two", 2, 0, &listener), 0, "a backlog of 2");
	peer_opts(p.a, &opts);
	for (i = 0; i < 2; i++)
		kt_is(dmastream_connect(p.a->ctx, &p.addr, "two", &opts, peer_ms(5000), &handle[i],
					NULL), 0, "CONNECT %d into the backlog", i);
	kt_is(try_connect(p.a, &p.addr, "two", peer_ms(5000), &where), -ECONNREFUSED,
	      "one more than the backlog takes");
	kt_is(where.err_detail, DMASTREAM_REFUSED_BACKLOG, "its detail");
	peer_opts(p.b, &opts);
	kt_is(dmastream_accept(listener, &opts, 0, &handle[2], NULL), 0, "one is accepted");
	kt_is(try_connect(p.a, &p.addr, "two", peer_ms(5000), &where), 0, "and there is room again");
	dmastream_listener_close(listener);
	kt_is(peer_next(p.a, &(struct dmastream_cqe){ 0 }, 10000), 0,
	      "closing the listener ends those that wait");
	for (i = 0; i < 2; i++)
		dmastream_stream_close(p.a->ctx, handle[i], DMASTREAM_CLOSE_ABORT, 0);
	dmastream_stream_close(p.b->ctx, handle[2], DMASTREAM_CLOSE_ABORT, 0);
	p.a->streams[0].eos_result = PEER_EOS_NONE;
	peer_pair_close(&p);
}

static void accept_waits(void)
{
	struct dmastream_stream_opts opts;
	uint64_t begin, took;
	struct peer_pair p;
	uint32_t handle;

	if (!open_pair(&p, "wait"))
		return;
	peer_opts(p.b, &opts);
	kt_is(dmastream_accept(p.listener, &opts, 0, &handle, NULL), -EAGAIN, "ACCEPT of none");
	begin = kt_now_ns();
	kt_is(dmastream_accept(p.listener, &opts, peer_ms(200), &handle, NULL), -ETIMEDOUT,
	      "ACCEPT with a limit");
	took = (kt_now_ns() - begin) / 1000000;
	kt_ok(not_before(took, peer_ms(200)) && took < peer_ms(1500), "after %llu ms",
	      (unsigned long long)took);
	peer_pair_close(&p);
}

int main(void)
{
	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(60);
	nobody();
	half_close();
	close_delivers();
	close_times_out();
	close_aborts();
	close_against_sends();
	closes_cross();
	closing_refuses();
	refusals();
	accept_waits();
	peer_check_gauges();
	return kt_end();
}
