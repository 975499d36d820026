// SPDX-License-Identifier: GPL-2.0-only
/*
 * What submissions ask for: SPLIT, SILENT, NOP, CANCEL, many in one ENTER; and
 * a completion queue that nobody reaps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define MANY	32	/* streams */

static struct peer_pair pair;

static bool out_is_0(void *arg)
{
	(void)arg;
	return !pair.a->out;
}

/* SPLIT: MORE and then NOTIFY, or one completion when both are the same moment. */
static void split(void)
{
	unsigned int i, errors = peer_errors, n = kt_quick() ? 100 : 600;
	uint64_t rx = pair.b->rx_msgs;
	uint32_t len, seed = 3;

	pair.a->more = 0;
	pair.a->notify = 0;
	for (i = 0; i < n; i++) {
		len = i & 1 ? peer_range(&seed, 8193, 60000) : peer_range(&seed, 0, 8192);
		while (peer_prep(pair.a, 0, len, 0, DMASTREAM_SQE_SPLIT, len)) {
			peer_submit(pair.a);
			peer_poll(pair.a);
			peer_poll(pair.b);
		}
		peer_submit(pair.a);
	}
	peer_settle(&pair, 0, rx + n);
	kt_is(peer_errors - errors, 0, "split sends: contents and results");
	kt_is(pair.a->notify, pair.a->more, "as many NOTIFY as MORE (%llu of %u)",
	      (unsigned long long)pair.a->more, n);
	kt_ok(pair.a->more > 0, "a result came before its buffer at least once");
}

static struct {
	unsigned int	nops;
	int		result;
	uint32_t	flags;
	unsigned int	others;
} seen;

static bool take_nop(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	(void)e;
	if (DMASTREAM_CQE_OP(cqe->flags) == DMASTREAM_OP_NOP && cqe->user_data == 5) {
		seen.nops++;
		seen.result = cqe->result;
		return true;
	}
	if (cqe->user_data < 4096) {
		seen.others++;
		seen.result = cqe->result;
		seen.flags = cqe->flags;
		return true;
	}
	return false;
}

static void push(uint8_t op, uint8_t flags, uint32_t stream, uint32_t pool, uint32_t len,
		 uint64_t user_data)
{
	struct dmastream_sqe *sqe = dmastream_get_sqe(pair.a->ring);

	dmastream_prep_op(sqe, op, stream, pool, 0, len, user_data);
	sqe->flags = flags;
	peer_submit(pair.a);
	peer_poll(pair.a);
}

static bool nop_came(void *arg)
{
	return seen.nops == *(unsigned int *)arg;
}

static void nop_and_silent(void)
{
	unsigned int errors = peer_errors, one = 1;
	uint64_t rx = pair.b->rx_msgs;
	uint32_t id = pair.a->streams[0].tx_id, handle = pair.a->streams[0].handle;
	struct dmastream_sqe *sqe;

	memset(&seen, 0, sizeof(seen));
	pair.a->other = take_nop;
	push(DMASTREAM_OP_NOP, 0, 0, 0, 0, 5);
	kt_is(seen.nops, 1, "NOP completes in ENTER");
	kt_is(seen.result, 0, "with 0");
	push(DMASTREAM_OP_NOP, DMASTREAM_SQE_SILENT, 0, 0, 0, 5);
	push(DMASTREAM_OP_SEND, DMASTREAM_SQE_SILENT, handle, 4000, 100, 6);
	kt_is(seen.others, 1, "a silent SEND that fails is told");
	kt_is(seen.result, -EBADF, "and why");
	push(DMASTREAM_OP_SEND, DMASTREAM_SQE_SILENT | DMASTREAM_SQE_SPLIT, handle, 0, 0, 6);
	kt_is(seen.result, -EINVAL, "SILENT with SPLIT");
	/* silent and good: not a word; the one behind it has its completion */
	sqe = dmastream_get_sqe(pair.a->ring);
	dmastream_prep_send(sqe, handle, 0, 0, 0, peer_tag(pair.a->streams[0].key, id, 0), 7);
	dmastream_sqe_set_flags(sqe, DMASTREAM_SQE_SILENT);
	pair.a->streams[0].tx_id++;
	peer_prep(pair.a, 0, 20000, 0, 0, 20000);
	peer_submit(pair.a);
	peer_settle(&pair, 0, rx + 2);
	kt_is(seen.others, 2, "a silent SEND that succeeds has no completion");
	kt_is(pair.b->rx_msgs - rx, 2, "it was delivered");
	push(DMASTREAM_OP_NOP, 0, 0, 0, 0, 5);
	one = 2;
	kt_ok(peer_run(pair.a, NULL, nop_came, &one, 1000, "a NOP"), "a silent NOP has none");
	kt_is(peer_errors - errors, 0, "nothing else came");
	pair.a->other = NULL;
}

/* Sends with small user_data, for CANCEL. */
static bool take_small(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	(void)e;
	if (cqe->user_data >= 4096)
		return false;
	seen.others++;
	seen.result = cqe->result;
	return true;
}

static void small_send(uint32_t len, uint64_t user_data, uint16_t id)
{
	struct peer_stream *s = &pair.a->streams[0];
	char *buf = dmastream_alloc(pair.a->heap, len);

	peer_fill(buf, s->key, id, 0, len);
	dmastream_prep_send(dmastream_get_sqe(pair.a->ring), s->handle,
			    dmastream_pool_handle(pair.a->pool),
			    dmastream_pool_off(pair.a->pool, buf), len,
			    peer_tag(s->key, id, len), user_data);
}

static bool credits_gone(void)
{
	struct dmastream_stream_query q = { 0 };

	dmastream_stream_query(pair.a->ctx, pair.a->streams[0].handle, &q);
	return q.waits & DMASTREAM_WAIT_CREDIT;
}

static bool all_others(void *arg)
{
	return seen.others == *(unsigned int *)arg;
}

/* Nobody polls b, and its group is empty soon: what is behind that is queued. */
static void cancel(void)
{
	struct peer_stream *s = &pair.a->streams[0];
	uint64_t rx = pair.b->rx_msgs;
	unsigned int errors = peer_errors, n, want = 5;
	uint16_t id;

	memset(&seen, 0, sizeof(seen));
	pair.a->other = take_small;
	pair.b->keep = true;
	for (n = 0; n < 200 && !credits_gone(); n++) {
		peer_prep(pair.a, 0, 50, 0, 0, 50);
		peer_submit(pair.a);
		peer_poll(pair.b);
		kt_sleep_ms(2);
	}
	kt_ok(credits_gone(), "the stream waits for a credit (%u sends)", n);
	small_send(100, 2, s->tx_id);
	small_send(100000, 3, s->tx_id);
	small_send(100, 4, s->tx_id);
	small_send(100, 4, s->tx_id);
	small_send(100, 5, s->tx_id++);
	peer_submit(pair.a);
	kt_is(dmastream_cancel(pair.a->ctx, s->handle, 3), 0, "cancel of a long one in the queue");
	peer_poll(pair.a);
	kt_is(seen.result, -ECANCELED, "its completion");
	kt_is(dmastream_cancel(pair.a->ctx, s->handle, 2), 0, "cancel of a short one");
	kt_is(dmastream_cancel(pair.a->ctx, s->handle, 4), 0, "the older of two with one name");
	kt_is(dmastream_cancel(pair.a->ctx, s->handle, 4), 0, "and the other");
	kt_is(dmastream_cancel(pair.a->ctx, s->handle, 4), -ENOENT, "cancel of what is over");
	kt_is(dmastream_cancel(pair.a->ctx, s->handle, 99), -ENOENT, "cancel of the unknown");
	kt_is(dmastream_cancel(pair.a->ctx, 65000, 1), -EBADF, "on a stream that is not");
	pair.b->keep = false;
	peer_give_kept(pair.b);
	id = s->tx_id;
	peer_run(pair.a, pair.b, all_others, &want, 20000, "the sends around the cancelled ones");
	peer_settle(&pair, 0, rx + n + 1);
	kt_is(seen.others, want, "each has one completion");
	kt_is(seen.result, 100, "the last one was delivered");
	kt_is(pair.b->rx_msgs - rx, n + 1, "what was not cancelled was delivered, nothing else");
	kt_is(peer_errors - errors, 0, "in order");
	kt_is(id, s->tx_id, "no number was lost");
	pair.a->other = NULL;
}

/* user_data of the submission that was made last */
static uint64_t last_name(const struct peer_end *e)
{
	return e->ring->sqes[(e->ring->sq_next - 1) & e->ring->sq_mask].user_data;
}

static bool ended(void *arg)
{
	struct peer_end *b = arg;

	return b->streams[0].eos_result != PEER_EOS_NONE;
}

/* FIN waits behind a SEND that has no credit, and goes when that is cancelled. */
static void cancel_lets_go(void)
{
	struct peer_cfg b = peer_default;
	unsigned int errors = peer_errors;
	uint32_t handle;
	struct peer_pair p;

	b.small_n = 1;
	if (peer_pair_open(&p, "lets_go", &peer_default, &b) || peer_pair_connect(&p, 0x31)) {
		kt_ok(false, "pair for cancel");
		return;
	}
	handle = p.a->streams[0].handle;
	p.b->keep = true;
	peer_send(&p, p.a, 0, 100, 0);
	peer_settle(&p, 0, 1);
	peer_prep(p.a, 0, 100, 0, 0, -ECANCELED);
	peer_submit(p.a);
	kt_is(dmastream_shutdown(p.a->ctx, handle), 0, "SHUTDOWN behind a SEND without a credit");
	kt_is(dmastream_cancel(p.a->ctx, handle, last_name(p.a)), 0, "cancel of that SEND");
	kt_ok(peer_run(p.a, p.b, ended, p.b, 10000, "the end of the stream"), "the end goes out");
	kt_is(p.b->streams[0].eos_result, 0, "its result");
	kt_is(peer_errors - errors, 0, "and the SEND was cancelled");
	peer_pair_close(&p);
}

/* 32 streams, two sends each, in one ENTER. */
static void packed(void)
{
	unsigned int i, errors = peer_errors, was = pair.a->nr;
	long long before, by, packets;
	uint64_t rx;

	while (pair.a->nr < MANY)
		if (peer_pair_connect(&pair, 100 + pair.a->nr))
			break;
	kt_is(pair.a->nr, MANY, "streams (%u before)", was);
	/* all know of their credits */
	rx = pair.b->rx_msgs;
	for (i = 0; i < MANY; i++)
		peer_send(&pair, pair.a, i, 10, 0);
	peer_settle(&pair, 0, rx + MANY);
	before = peer_counter("tx_packed");
	packets = peer_counter("tx_packets");
	for (i = 0; i < 2 * MANY; i++)
		peer_prep(pair.a, i % MANY, 64, 0, 0, 64);
	kt_is(peer_submit(pair.a), 2 * MANY, "submissions in one ENTER");
	peer_settle(&pair, 0, rx + 3 * MANY);
	by = peer_counter("tx_packed") - before;
	packets = peer_counter("tx_packets") - packets;
	kt_ok(by >= MANY, "tx_packed grew by %lld for %u messages", by, 2 * MANY);
	kt_ok(packets < 2 * MANY, "packets both ways: %lld", packets);
	kt_is(peer_errors - errors, 0, "contents and order of packed messages");
}

/* Case 11: completions are not reaped until nothing more is accepted. */
static void never_reap(void)
{
	unsigned int rounds = kt_quick() ? 50 : 1000, r, bad = 0;
	struct peer_cfg a = peer_default, b = peer_default;
	struct peer_pair p;
	uint64_t accepted, rx = 0;

	a.sq = 64;
	a.cq = 64;
	a.recv_min = 16;
	if (peer_pair_open(&p, "reap", &a, &b) || peer_pair_connect(&p, 0x50)) {
		kt_ok(false, "pair for case 11");
		return;
	}
	for (r = 0; r < rounds && !bad && !peer_errors; r++) {
		uint64_t end = kt_now_ns() + peer_ms(20000) * 1000000ULL;

		peer_waits_for("case 11, round %u", r);
		accepted = 0;
		while (!peer_prep(p.a, 0, r % 50 ? 40 : 9000, 0, 0, r % 50 ? 40 : 9000))
			accepted++;
		/* more than there are slots: some stay in the queue */
		dmastream_submit(p.a->ring);
		bad += dmastream_sq_pending(p.a->ring) != 16;
		bad += dmastream_submit(p.a->ring) != -EAGAIN;
		accepted -= dmastream_sq_pending(p.a->ring);
		while (dmastream_cq_ready(p.a->ring) < accepted && kt_now_ns() < end)
			if (!peer_poll(p.b))
				dmastream_submit_and_wait(p.b->ring, 1, dmastream_deadline(5));
		bad += dmastream_cq_ready(p.a->ring) != accepted || accepted != 48;
		/* and now those that were left over */
		peer_poll(p.a);
		rx += 64;
		bad += !peer_settle(&p, 0, rx);
	}
	kt_is(bad, 0, "case 11: count = accepted in each of %u rounds", r);
	kt_is(p.b->rx_msgs, 64ULL * rounds, "each was delivered once");
	peer_pair_close(&p);
}

int main(void)
{
	struct peer_cfg cfg = peer_default;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(kt_quick() ? 90 : 150);
	cfg.small_n = 64;
	if (peer_pair_open(&pair, "sqe", &cfg, &cfg) || peer_pair_connect(&pair, 1)) {
		kt_ok(false, "pair");
		return kt_end();
	}
	split();
	nop_and_silent();
	cancel();
	cancel_lets_go();
	packed();
	peer_run(pair.a, pair.b, out_is_0, NULL, 1000, "the last sends");
	peer_check_paths("after all kinds of submissions");
	peer_pair_close(&pair);
	never_reap();
	peer_check_gauges();
	return kt_end();
}
