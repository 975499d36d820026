// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct push: messages that are written into RECVs which were granted ahead.  By the
 * counters they were, and nothing was READ; what is short, or does not fit, comes the
 * usual way, in order; grants that are idle are taken back; and a stream that ends, or
 * whose process is killed, with grants out costs no queue pair.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kt.h"
#include "peer.h"

#define GUARD	64
#define FILL	0x5a
#define AHEAD	4		/* landings that are granted at a time */
#define CAP	40000

struct recv {
	char		*buf;		/* GUARD, cap bytes, GUARD */
	uint32_t	cap;
	uint32_t	len;		/* of the message that will come; 0: none */
	uint16_t	id;
};

static unsigned int recvs_done, cancelled, ended;
static int end_result;		/* of RECVs that no message came into */

static bool all_fill(const char *p, uint32_t n)
{
	while (n--)
		if (*p++ != FILL)
			return false;
	return true;
}

static bool take_recv(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct recv *r = (void *)(uintptr_t)cqe->user_data;
	uint16_t key = e->streams[0].key - 0x8000;
	int want;

	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_RECV)
		return false;
	want = r->len > r->cap ? -EMSGSIZE : (int)r->len;
	recvs_done += r->len != 0;
	if (!r->len) {
		/* a stream that ends */
		ended += !!(cqe->flags & DMASTREAM_CQE_EOS);
		if (cancelled++ && cqe->result != end_result)
			peer_fail("a RECV without a message: %d, and %d", cqe->result, end_result);
		end_result = cqe->result;
	} else if (cqe->result != want) {
		peer_fail("RECV of %u for %u bytes: %d, not %d", r->cap, r->len, cqe->result,
			  want);
	} else if (cqe->tag != peer_tag(key, r->id, r->len)) {
		peer_fail("RECV got the tag %#llx", (unsigned long long)cqe->tag);
	} else if (want >= 0) {
		peer_check(r->buf + GUARD, key, r->id, 0, r->len);
		if (!all_fill(r->buf + GUARD + r->len, r->cap - r->len + GUARD))
			peer_fail("something was written after the message");
	}
	if (!all_fill(r->buf, GUARD))
		peer_fail("something was written before the buffer");
	dmastream_free(e->heap, r->buf);
	free(r);
	return true;
}

static void post(struct peer_end *e, uint32_t cap, uint32_t len, uint16_t id)
{
	struct recv *r = calloc(1, sizeof(*r));

	r->buf = dmastream_alloc(e->heap, cap + 2 * GUARD);
	if (!r->buf || !dmastream_sq_space(e->ring))
		kt_die("room for a RECV");
	memset(r->buf, FILL, cap + 2 * GUARD);
	r->cap = cap;
	r->len = len;
	r->id = id;
	dmastream_prep_recv(dmastream_get_sqe(e->ring), e->streams[0].handle,
			    dmastream_pool_handle(e->pool),
			    dmastream_pool_off(e->pool, r->buf + GUARD), cap, (uintptr_t)r);
}

static bool open_pair(struct peer_pair *p, const char *service)
{
	struct peer_cfg a = peer_default, b = peer_default;

	b.flags = DMASTREAM_STREAM_POSTED | DMASTREAM_STREAM_PUSH;
	b.small_n = 0;
	b.large_n = 0;
	b.sq = 1024;
	b.cq = 2048;
	a.tx_bytes = 32 << 20;
	b.tx_bytes = 32 << 20;
	cancelled = 0;
	ended = 0;
	if (peer_pair_open(p, service, &a, &b) || peer_pair_connect(p, 1)) {
		kt_ok(false, "pair %s", service);
		return false;
	}
	p->b->other = take_recv;
	return true;
}

/* ---- what is waited for ---- */

static bool quiet(void *arg)
{
	struct peer_pair *p = arg;

	return !p->a->out && recvs_done == p->a->streams[0].tx_id;
}

static void settle(struct peer_pair *p)
{
	peer_run(p->a, p->b, quiet, p, 60000, "messages and their receives");
}

struct wait {
	const char	*name;
	long long	want;
};

static bool counted(void *arg)
{
	struct wait *w = arg;

	kt_sleep_ms(5);
	return peer_counter(w->name) >= w->want;
}

/* A counter comes to what it was and so much. */
static bool grows(struct peer_pair *p, const char *name, long long before, long long by)
{
	struct wait w = { name, before + by };

	return peer_run(p->a, p->b, counted, &w, 20000, name);
}

static long long gauge(const char *name)
{
	char *status = peer_status();
	long long value = peer_value(status, "gauges", name);

	free(status);
	return value;
}

static bool no_keys(void *arg)
{
	(void)arg;
	kt_sleep_ms(5);
	return !gauge("keys_out");
}

/* The module's parameter; 0: grants stay, however slow the bed is. */
static void set_idle(unsigned int ms)
{
	FILE *f = fopen("/sys/module/dmastream/parameters/grant_idle_ms", "w");

	if (!f || fprintf(f, "%u\n", ms) < 0 || fclose(f))
		kt_die("grant_idle_ms");
}

/* ---- the parts ---- */

static uint16_t next_id;	/* of RECVs: of the message that lands in the next one */

static void post_for(struct peer_pair *p, uint32_t len)
{
	post(p->b, CAP, len, next_id++);
}

static void send_one(struct peer_pair *p, uint32_t len)
{
	if (peer_prep(p->a, 0, len, 3, 0, len <= CAP ? (int)len : -EMSGSIZE))
		kt_die("room for a SEND");
	peer_submit(p->a);
}

/* One at a time, with RECVs ahead: each is pushed, and nothing is READ. */
static void steady(struct peer_pair *p)
{
	unsigned int n = kt_quick() ? 40 : 300, i, errors = peer_errors;
	long long granted = peer_counter("grants_sent");
	uint32_t seed = 11, len[AHEAD], this;
	char *before, *after;

	for (i = 0; i < AHEAD; i++) {
		len[i] = peer_range(&seed, 8193, CAP);
		post_for(p, len[i]);
	}
	peer_submit(p->b);
	kt_ok(grows(p, "grants_sent", granted, AHEAD), "the next RECVs are granted");
	before = peer_status();
	for (i = 0; i < n; i++) {
		this = len[i % AHEAD];
		/* its grant was sent before the acknowledgements of those before it */
		send_one(p, this);
		settle(p);
		len[i % AHEAD] = peer_range(&seed, 8193, CAP);
		post_for(p, len[i % AHEAD]);
		peer_submit(p->b);
	}
	for (i = n; i < n + AHEAD; i++) {
		send_one(p, len[i % AHEAD]);
		settle(p);
	}
	after = peer_status();
	n += AHEAD;
	kt_is(peer_errors - errors, 0, "contents and results of messages that are pushed");
	kt_is(peer_value(after, "counters", "push_tx") - peer_value(before, "counters", "push_tx"),
	      n, "all were pushed: push_tx");
	kt_is(peer_value(after, "counters", "push_rx") - peer_value(before, "counters", "push_rx"),
	      n, "push_rx");
	kt_is(peer_value(after, "counters", "reads_posted") -
	      peer_value(before, "counters", "reads_posted"), 0, "and nothing was READ");
	kt_is(peer_value(after, "counters", "copied_rx_bytes") -
	      peer_value(before, "counters", "copied_rx_bytes"), 0, "nor copied");
	free(before);
	free(after);
}

/* Many at once, of all lengths: short ones, ones that are too long, and ones that fit. */
static void mixed(struct peer_pair *p)
{
	unsigned int n = kt_quick() ? 120 : 1000, i, errors = peer_errors, at;
	long long pushed = peer_counter("push_rx");
	uint32_t seed = 5, tx = 5, len;

	for (at = 0; at < n; at += 40) {
		for (i = 0; i < 40; i++) {
			len = peer_range(&seed, 0, 9);
			post_for(p, len < 2 ? 100 + len : len == 2 ? CAP + 1 : 8193 + 1000 * len);
		}
		peer_submit(p->b);
		for (i = 0; i < 40; i++) {
			len = peer_range(&tx, 0, 9);
			send_one(p, len < 2 ? 100 + len : len == 2 ? CAP + 1 : 8193 + 1000 * len);
		}
		settle(p);
	}
	kt_is(peer_errors - errors, 0, "a mix of lengths: contents, results and order");
	kt_ok(peer_counter("push_rx") > pushed, "some of them were pushed (%lld of %u)",
	      peer_counter("push_rx") - pushed, n);
}

/* What is idle is taken back, costs no queue pair, and is granted again after use. */
static void idle(struct peer_pair *p)
{
	long long revoked = peer_counter("grants_revoked"), pushed, reads;
	unsigned int i, errors = peer_errors;

	set_idle(200);
	for (i = 0; i < AHEAD + 8; i++)
		post_for(p, 20000 + i);
	peer_submit(p->b);
	kt_ok(grows(p, "grants_revoked", revoked, 1), "idle grants are taken back");
	peer_run(p->a, p->b, no_keys, NULL, 20000, "keys of idle grants to be gone");
	kt_is(gauge("keys_out"), 0, "no key is out");
	set_idle(0);
	reads = peer_counter("reads_posted");
	pushed = peer_counter("push_rx");
	send_one(p, 20000);
	settle(p);
	kt_ok(peer_counter("reads_posted") > reads, "the next message is pulled");
	kt_is(peer_counter("push_rx") - pushed, 0, "and not pushed");
	for (i = 1; i < AHEAD + 8; i++) {
		send_one(p, 20000 + i);
		settle(p);
	}
	kt_is(peer_counter("push_rx") - pushed, AHEAD + 7, "then they are granted again");
	kt_is(peer_errors - errors, 0, "contents and results");
}

/* A vector is gathered by the sender. */
static void vector(struct peer_pair *p)
{
	static const uint32_t len[] = { 5000, 3000, 7, 12000 };
	long long granted = peer_counter("grants_sent"), pushed = peer_counter("push_tx");
	unsigned int errors = peer_errors;

	post_for(p, 5000 + 3000 + 7 + 12000);
	peer_submit(p->b);
	grows(p, "grants_sent", granted, 1);
	kt_is(peer_prep_vec(p->a, 0, len, 4, 5), 0, "a vector of 4 pieces");
	peer_submit(p->a);
	settle(p);
	kt_is(peer_counter("push_tx") - pushed, 1, "a vector was pushed");
	kt_is(peer_errors - errors, 0, "its content and result");
}

/* Both ends of what was sent by hand: two completions, of @len bytes. */
static void both_done(struct peer_pair *p, const char *what, int len)
{
	struct dmastream_cqe cqe = { 0 };

	kt_is(peer_next(p->a, &cqe, 20000), 0, "%s is delivered", what);
	kt_is(cqe.result, len, "its bytes");
	kt_is(peer_next(p->b, &cqe, 20000), 0, "and received");
	kt_is(cqe.result, len, "its bytes there");
}

/* One key opens the rows of a tile that is posted, and nothing between them. */
static void tile_landing(struct peer_pair *p)
{
	struct dmastream_tile t = { .pitch = 8192, .rows = 6, .row_bytes = 4096 };
	uint32_t handle = p->b->streams[0].handle, len = 6 * 4096, room = 7 * 8192, i, bad = 0;
	long long granted = peer_counter("grants_sent"), pushed = peer_counter("push_tx");
	unsigned char *from = dmastream_alloc(p->a->heap, len);
	unsigned char *to = dmastream_alloc(p->b->heap, room), *row;

	memset(to, FILL, room);
	for (i = 0; i < len; i++)
		from[i] = i * 5 + i / 253;
	t.off = (dmastream_pool_off(p->b->pool, to) + 4095) & ~4095ULL;
	row = to + (t.off - dmastream_pool_off(p->b->pool, to));
	dmastream_prep_recv_tile(p->b->ring, dmastream_get_sqe(p->b->ring), handle,
				 dmastream_pool_handle(p->b->pool), &t, 1);
	peer_submit(p->b);
	grows(p, "grants_sent", granted, 1);
	dmastream_prep_send(dmastream_get_sqe(p->a->ring), p->a->streams[0].handle,
			    dmastream_pool_handle(p->a->pool),
			    dmastream_pool_off(p->a->pool, from), len, 5, 0);
	dmastream_submit(p->a->ring);
	both_done(p, "a message for a tile of 6 rows", len);
	for (i = 0; i < 6 * 8192; i++)
		bad += row[i] != (i % 8192 < 4096 ? from[i / 8192 * 4096 + i % 8192] : FILL);
	kt_is(bad, 0, "bytes of the rows, or between them, that are wrong");
	kt_is(peer_counter("push_tx") - pushed, 1, "it was pushed");
	dmastream_free(p->a->heap, from);
	dmastream_free(p->b->heap, to);
}

/* A tile of short rows is gathered by the sender: a few WRITEs, no key for a row. */
static void tile(struct peer_pair *p)
{
	struct dmastream_tile t = { .pitch = 1500, .rows = 60, .row_bytes = 400 };
	long long granted = peer_counter("grants_sent"), pushed = peer_counter("push_tx"), keys;
	char *buf = dmastream_alloc(p->a->heap, 60 * 1500);
	struct recv *r;
	unsigned int i, bad = 0;
	char *landing;

	post(p->b, 60 * 400, 0, 0);
	r = (void *)(uintptr_t)p->b->ring->sqes[(p->b->ring->sq_next - 1) &
						p->b->ring->sq_mask].user_data;
	landing = r->buf + GUARD;
	peer_submit(p->b);
	grows(p, "grants_sent", granted, 1);
	keys = peer_counter("keys_registered");
	for (i = 0; i < 60 * 1500; i++)
		buf[i] = i * 7 + i / 251;
	t.off = dmastream_pool_off(p->a->pool, buf);
	dmastream_prep_send_tile(p->a->ring, dmastream_get_sqe(p->a->ring),
				 p->a->streams[0].handle, dmastream_pool_handle(p->a->pool), &t,
				 5, 77);
	p->a->other = NULL;
	dmastream_submit(p->a->ring);
	both_done(p, "a tile of 60 rows", 60 * 400);
	for (i = 0; i < 60 * 400; i++)
		bad += landing[i] != buf[i / 400 * 1500 + i % 400];
	kt_is(bad, 0, "bytes that are wrong");
	kt_is(peer_counter("push_tx") - pushed, 1, "it was pushed");
	kt_is(peer_counter("keys_registered") - keys, 0, "without a key for a row");
	dmastream_free(p->b->heap, r->buf);
	free(r);
	dmastream_free(p->a->heap, buf);
}

static void query(struct peer_pair *p)
{
	struct dmastream_stream_query q = { 0 };
	struct recv *r;

	kt_is(dmastream_stream_query(p->b->ctx, p->b->streams[0].handle, &q), 0, "query");
	kt_ok(q.stream_flags & DMASTREAM_STREAM_PUSH, "the stream says that it can be pushed to");
	kt_is(dmastream_stream_query(p->a->ctx, p->a->streams[0].handle, &q), 0, "query");
	kt_ok(!(q.stream_flags & DMASTREAM_STREAM_PUSH), "the other end did not ask for it");
	post(p->b, CAP, 0, 0);
	r = (void *)(uintptr_t)p->b->ring->sqes[(p->b->ring->sq_next - 1) &
						p->b->ring->sq_mask].user_data;
	peer_submit(p->b);
	kt_is(dmastream_cancel(p->b->ctx, p->b->streams[0].handle, (uintptr_t)r), -EALREADY,
	      "CANCEL of a RECV that is granted");
}

struct pair_done {
	unsigned int want;
};

static bool all_cancelled(void *arg)
{
	struct pair_done *d = arg;

	return cancelled >= d->want;
}

/*
 * One end goes while grants are out: @of_b: the one that granted.  The RECVs are told what
 * those of a stream without grants are: @result, and that the peer has ended, if it has.
 */
static void ends(const char *name, bool of_b, uint32_t flags, int result)
{
	long long granted = peer_counter("grants_sent"), failed = peer_counter("paths_failed");
	struct pair_done d = { AHEAD + 1 };
	struct peer_pair p;
	unsigned int i;

	if (!open_pair(&p, name))
		return;
	for (i = 0; i < AHEAD + 1; i++)
		post(p.b, CAP, 0, 0);
	peer_submit(p.b);
	grows(&p, "grants_sent", granted, AHEAD);
	dmastream_stream_close(of_b ? p.b->ctx : p.a->ctx,
			       (of_b ? p.b : p.a)->streams[0].handle, flags, 20000);
	(of_b ? p.b : p.a)->nr = 0;
	peer_run(p.a, p.b, all_cancelled, &d, 20000, "RECVs that are granted to end");
	kt_is(cancelled, AHEAD + 1, "%s: RECVs that ended", name);
	kt_is(end_result, result, "%s: what they are told", name);
	kt_is(ended, of_b ? 0 : AHEAD + 1, "%s: and that it is the end, in order", name);
	kt_is(peer_counter("paths_failed") - failed, 0, "%s: no queue pair was lost", name);
	peer_pair_close(&p);
}

/*
 * A process that will be killed with grants out.  It is there before this one opens
 * anything, and begins when it is told to.
 */
struct victim {
	pid_t	pid;
	int	go, out;
};

static void victim_runs(int go, int out)
{
	long long granted;
	struct peer_pair p;
	unsigned int i;
	char c;

	if (read(go, &c, 1) != 1)
		_exit(1);
	granted = peer_counter("grants_sent");
	if (!open_pair(&p, "killed"))
		_exit(1);
	for (i = 0; i < AHEAD; i++)
		post(p.b, CAP, 0, 0);
	peer_submit(p.b);
	if (!grows(&p, "grants_sent", granted, AHEAD) || write(out, &c, 1) != 1)
		_exit(1);
	pause();
	_exit(1);
}

static void victim_new(struct victim *v)
{
	int go[2], out[2];

	if (pipe(go) || pipe(out))
		kt_die("pipe");
	fflush(stdout);
	v->pid = fork();
	if (!v->pid)
		victim_runs(go[0], out[1]);
	close(go[0]);
	close(out[1]);
	v->go = go[1];
	v->out = out[0];
}

/* The session is this process's too, and stays. */
static void killed(struct victim *v, struct peer_pair *p)
{
	long long failed = peer_counter("paths_failed"), streams = gauge("streams");
	long long keys = gauge("keys_out");
	unsigned int i, errors = peer_errors;
	char c = 1;
	int status;

	kt_ok(write(v->go, &c, 1) == 1 && read(v->out, &c, 1) == 1, "a process with grants out");
	kt_is(gauge("keys_out") - keys, AHEAD, "its keys");
	kill(v->pid, SIGKILL);
	waitpid(v->pid, &status, 0);
	for (i = 0; i < 400 && (gauge("streams") > streams || gauge("keys_out") > keys); i++)
		kt_sleep_ms(20);
	kt_is(gauge("keys_out") - keys, 0, "killed: its keys are gone");
	kt_is(gauge("streams") - streams, 0, "and its streams");
	kt_is(peer_counter("paths_failed") - failed, 0, "no queue pair was lost");
	post_for(p, 30000);
	peer_submit(p->b);
	send_one(p, 30000);
	settle(p);
	kt_is(peer_errors - errors, 0, "and others go on");
}

int main(void)
{
	struct peer_pair p;
	struct victim victim;
	long long failed, broken;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(120);
	set_idle(0);
	victim_new(&victim);
	broken = peer_counter("protocol_errors");
	if (!open_pair(&p, "push"))
		return kt_end();
	failed = peer_counter("paths_failed");	/* without a device some did, on the way */
	steady(&p);
	mixed(&p);
	idle(&p);
	killed(&victim, &p);
	ends("close", true, 0, -ECANCELED);
	ends("abort", true, DMASTREAM_CLOSE_ABORT, -ECANCELED);
	ends("peer", false, 0, 0);
	ends("peer-abort", false, DMASTREAM_CLOSE_ABORT, -ECONNRESET);
	vector(&p);
	tile(&p);
	tile_landing(&p);
	query(&p);
	kt_is(peer_counter("protocol_errors") - broken, 0, "nobody broke the protocol");
	kt_is(peer_counter("paths_failed") - failed, 0, "no queue pair was lost");
	peer_check_paths("after pushes");
	peer_pair_close(&p);
	peer_check_gauges();
	return kt_end();
}
