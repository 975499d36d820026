// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals at random in waits (case 15): SIGINT in ENTER, CONNECT, ACCEPT and
 * CLOSE of a thread that goes on, SIGKILL of processes that wait there.  After
 * each the next operation works.
 */
#include "../kt.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "life.h"

enum wait { ENTER, CONNECT, ACCEPT, CLOSE, WAITS };

static const char * const names[WAITS] = { "ENTER", "CONNECT", "ACCEPT", "CLOSE" };

static unsigned int ended[WAITS];	/* waits that a signal ended */

static void nothing(int sig)
{
	(void)sig;
}

/* ---- SIGINT ---- */

struct waiter {
	struct life_end			e, server;
	struct dmastream_listener	*l;
	struct dmastream_addr		self;
	uint32_t			tx, rx;		/* e's stream, the server's end */
	volatile bool			stop;
	pthread_t			target;
	unsigned int			seed;
};

static void *shooter(void *arg)
{
	struct waiter *w = arg;

	while (!w->stop) {
		struct timespec ts = { 0, life_random(&w->seed, 3000) * 1000 };

		nanosleep(&ts, NULL);
		pthread_kill(w->target, SIGINT);
	}
	return NULL;
}

/* Signals may come at any point: only -EINTR is allowed, and then the other end is tidied. */
static int wait_connect(struct waiter *w, uint32_t *stream)
{
	int err;

	do {
		err = life_connect(&w->e, &w->self, "signals", stream);
		if (err == -EINTR)
			ended[CONNECT]++;
	} while (err == -EINTR);
	return err;
}

/*
 * The backlog has what was given up too: those streams are told of their end, so
 * take them until the one that lives.
 */
static int wait_accept(struct waiter *w, uint32_t tag)
{
	struct dmastream_stream_opts opts = life_opts(&w->server, tag);
	int err;

	do {
		err = dmastream_accept(w->l, &opts, 30000, &w->rx, NULL);
		if (err == -EINTR)
			ended[ACCEPT]++;
	} while (err == -EINTR);
	return err;
}

static int wait_cqe(struct waiter *w, struct life_end *e, struct dmastream_cqe *cqe)
{
	uint64_t deadline = dmastream_deadline(60000);
	struct dmastream_cqe *at;
	int err;

	(void)w;
	do {
		err = dmastream_wait_cqe(e->ring, &at, deadline);
		if (err == -EINTR)
			ended[ENTER]++;
	} while (err == -EINTR);
	if (err)
		return err;
	*cqe = *at;
	do
		err = dmastream_cqe_seen(e->ring);
	while (err == -EINTR);
	return err;
}

static int wait_send(struct waiter *w, uint32_t len, uint64_t tag)
{
	int err = life_send(&w->e, w->tx, len, tag);

	/* ENTER that only submits may be interrupted before it has begun */
	while (!err && dmastream_sq_pending(w->e.ring))
		if (dmastream_submit(w->e.ring) < 0)
			sched_yield();
	return err;
}

/* -EPIPE: the stream is one that was given up. */
static int wait_got(struct waiter *w, uint64_t tag)
{
	struct dmastream_cqe cqe;
	bool right = true;
	uint64_t at = 0;
	int err;

	for (;;) {
		err = wait_cqe(w, &w->server, &cqe);
		if (err)
			return err;
		if (cqe.stream != w->rx)
			continue;	/* the end of another one that was given up */
		if (cqe.flags & DMASTREAM_CQE_EOS)
			return -EPIPE;
		life_received(&w->server, &cqe, &at, true, &right);
		if (!right || cqe.tag != tag)
			return -EBADMSG;
		if (!(cqe.flags & DMASTREAM_CQE_MORE))
			return 0;
	}
}

static int wait_sent(struct waiter *w, uint32_t len)
{
	struct dmastream_cqe cqe;
	int err;

	do
		err = wait_cqe(w, &w->e, &cqe);
	while (!err && DMASTREAM_CQE_OP(cqe.flags) != DMASTREAM_OP_SEND);
	if (err)
		return err;
	return cqe.result == (int)len ? 0 : cqe.result ?: -EBADMSG;
}

static int wait_pass(struct waiter *w, uint32_t len, uint64_t tag)
{
	int err = wait_send(w, len, tag);

	if (!err)
		err = wait_got(w, tag);
	return err ? err : wait_sent(w, len);
}

static int wait_close(struct waiter *w)
{
	int err = dmastream_stream_close(w->e.ctx, w->tx, 0, 60000);

	if (err == -EINTR) {
		ended[CLOSE]++;
		err = 0;	/* goes on by itself */
	}
	return err;
}

/* Nothing comes: the time or a signal ends it. */
static int wait_for_nobody(struct waiter *w)
{
	struct dmastream_stream_opts opts = life_opts(&w->server, 0);
	int err = dmastream_accept(w->l, &opts, 10, &w->rx, NULL);

	if (err == -EINTR)
		ended[ACCEPT]++;
	/* 0: a connection that was given up, and nobody had taken yet */
	if (!err)
		dmastream_stream_close(w->server.ctx, w->rx, DMASTREAM_CLOSE_ABORT, 60000);
	return err == -EINTR || err == -ETIMEDOUT ? 0 : err;
}

/* Connects, and accepts until the accepted end is the one that is connected. */
static int wait_open(struct waiter *w, unsigned int n)
{
	uint64_t tag = 0xe000000000000000ULL + n;
	int err = wait_connect(w, &w->tx);

	if (!err)
		err = wait_send(w, 100, tag);
	while (!err) {
		err = wait_accept(w, n);
		if (!err)
			err = wait_got(w, tag);
		if (err != -EPIPE)
			break;
		dmastream_stream_close(w->server.ctx, w->rx, DMASTREAM_CLOSE_ABORT, 60000);
		err = 0;
	}
	return err ? err : wait_sent(w, 100);
}

static void interrupts(unsigned int rounds)
{
	struct sigaction sa = { .sa_handler = nothing };
	struct waiter w = { .seed = 3, .self = life_self(), .target = pthread_self() };
	unsigned int n, i, total = 0;
	pthread_t t;
	int err = 0;

	sigaction(SIGINT, &sa, NULL);
	if (life_open(&w.e) || life_open(&w.server) || life_give_all(&w.server) ||
	    dmastream_listen(w.server.ctx, "signals", 64, 0, &w.l) ||
	    pthread_create(&t, NULL, shooter, &w))
		kt_die("open");
	/* enough of them, and not all in the CONNECT of one stream */
	for (n = 0; n < rounds * 8 && !err && (total < rounds || !ended[ENTER]); n++) {
		err = wait_for_nobody(&w);
		if (!err)
			err = wait_open(&w, n);
		if (!err)
			err = wait_pass(&w, 90000, 0xf000000000000000ULL + n);
		if (!err)
			err = wait_close(&w);
		dmastream_stream_close(w.server.ctx, w.rx, DMASTREAM_CLOSE_ABORT, 60000);
		for (i = 0, total = 0; i < WAITS; i++)
			total += ended[i];
	}
	w.stop = true;
	pthread_join(t, NULL);
	kt_is(err, 0, "%u streams lived through %u signals that ended a wait", n, total);
	for (i = 0; i < WAITS; i++)
		printf("# %u in %s\n", ended[i], names[i]);
	kt_ok(total >= rounds && ended[ENTER], "there were %u such signals", total);
	dmastream_listener_close(w.l);
	life_close(&w.e);
	life_close(&w.server);
}

/* ---- SIGKILL ---- */

/* Nobody accepts: a connection waits in the backlog, or for a place in it. */
static void child_wait(enum wait what)
{
	struct dmastream_addr self = life_self();
	struct dmastream_stream_opts opts;
	struct dmastream_listener *l;
	struct dmastream_cqe cqe;
	struct life_end e;
	uint32_t s = 0;
	char name[32];

	if (life_open(&e) || life_give_all(&e))
		_exit(2);
	opts = life_opts(&e, 0);
	snprintf(name, sizeof(name), "child.%d", getpid());
	if (dmastream_listen(e.ctx, name, 4, 0, &l))
		_exit(2);
	for (;;) {
		switch (what) {
		case ENTER:
			life_cqe(&e, &cqe, DMASTREAM_TIMEOUT_NONE);
			break;
		case CONNECT:
			life_connect(&e, &self, "nobody", &s);
			break;
		case ACCEPT:
			dmastream_accept(l, &opts, DMASTREAM_TIMEOUT_NONE, &s, NULL);
			break;
		default:
			/* nobody takes it, so that the message is never delivered */
			if (life_connect(&e, &self, name, &s))
				_exit(3);
			life_send(&e, s, 100, 1);
			dmastream_submit(e.ring);
			dmastream_stream_close(e.ctx, s, 0, 60000);
			break;
		}
	}
}

static void kills(unsigned int rounds)
{
	unsigned int n, seed = 5, ms, bad = 0;
	bool ok;

	for (n = 0; n < rounds && !bad; n++) {
		pid_t pid = life_fork();
		int status;

		if (!pid)
			child_wait(n % WAITS);
		kt_sleep_ms(life_random(&seed, 30));
		kill(pid, SIGKILL);
		status = life_join(pid);
		if (status != 128 + SIGKILL) {
			printf("# a child in %s ended with %d\n", names[n % WAITS], status);
			bad++;
		}
	}
	kt_ok(!bad, "%u processes were killed in a wait", n);
	ok = life_empty(&ms);
	kt_ok(ok, "all gauges are 0 after %u ms", ms);
}

int main(void)
{
	life_watchdog(600);
	interrupts(life_count(500, 50));
	kills(life_count(500, 50));
	return kt_end();
}
