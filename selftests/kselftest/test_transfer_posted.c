// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posted receives: the buffer that RECV names is the credit, it takes one
 * message, and nothing is written outside of that message; one that is too
 * short ends with -EMSGSIZE, as does the SEND, and the stream goes on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define GUARD	64
#define FILL	0x5a

struct recv {
	char		*buf;		/* GUARD, cap bytes, GUARD */
	uint32_t	cap;
	uint32_t	len;		/* of the message that will come */
	uint16_t	id;
	int		want;		/* result */
};

static unsigned int recvs_done, ends;
static int last_result;

static bool all_fill(const char *p, uint32_t n)
{
	while (n--)
		if (*p++ != FILL)
			return false;
	return true;
}

static void recv_check(struct peer_end *e, struct recv *r, const struct dmastream_cqe *cqe)
{
	uint16_t key = e->streams[0].key - 0x8000;

	recvs_done++;
	last_result = cqe->result;
	if (cqe->flags & DMASTREAM_CQE_EOS) {
		ends++;
	} else if (cqe->result == -ENODATA && !r->len) {
		/* after the end */
	} else if (cqe->result != r->want) {
		peer_fail("RECV of %u for %u bytes: %d, not %d", r->cap, r->len, cqe->result,
			  r->want);
	} else if (cqe->tag != peer_tag(key, r->id, r->len)) {
		peer_fail("RECV got the tag %#llx", (unsigned long long)cqe->tag);
	} else if (cqe->result >= 0) {
		peer_check(r->buf + GUARD, key, r->id, 0, r->len);
		if (!all_fill(r->buf + GUARD + r->len, r->cap - r->len + GUARD))
			peer_fail("something was written after the message");
	} else if (!all_fill(r->buf, r->cap + 2 * GUARD)) {
		peer_fail("something was written although the message is too long");
	}
	if (!all_fill(r->buf, GUARD))
		peer_fail("something was written before the buffer");
	dmastream_free(e->heap, r->buf);
	free(r);
}

static bool take_recv(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_RECV)
		return false;
	recv_check(e, (void *)(uintptr_t)cqe->user_data, cqe);
	return true;
}

static bool post(struct peer_end *e, uint32_t cap, uint32_t len, uint16_t id)
{
	struct recv *r = calloc(1, sizeof(*r));

	r->buf = dmastream_alloc(e->heap, cap + 2 * GUARD);
	if (!r->buf || !dmastream_sq_space(e->ring)) {
		dmastream_free(e->heap, r->buf);
		free(r);
		return false;
	}
	memset(r->buf, FILL, cap + 2 * GUARD);
	r->cap = cap;
	r->len = len;
	r->id = id;
	r->want = len <= cap ? (int)len : -EMSGSIZE;
	dmastream_prep_recv(dmastream_get_sqe(e->ring), e->streams[0].handle,
			    dmastream_pool_handle(e->pool),
			    dmastream_pool_off(e->pool, r->buf + GUARD), cap, (uintptr_t)r);
	return true;
}

static bool open_pair(struct peer_pair *p, const char *service)
{
	struct peer_cfg a = peer_default, b = peer_default;

	b.flags = DMASTREAM_STREAM_POSTED;
	b.small_n = 0;
	b.large_n = 0;
	b.sq = 1024;
	b.cq = 2048;
	a.tx_bytes = 32 << 20;
	b.tx_bytes = 32 << 20;
	recvs_done = 0;
	ends = 0;
	if (peer_pair_open(p, service, &a, &b) || peer_pair_connect(p, 1)) {
		kt_ok(false, "pair %s", service);
		return false;
	}
	p->b->other = take_recv;
	return true;
}

static bool quiet(void *arg)
{
	struct peer_pair *p = arg;

	return !p->a->out && recvs_done == p->a->streams[0].tx_id;
}

static void settle(struct peer_pair *p)
{
	peer_run(p->a, p->b, quiet, p, 60000, "posted receives and their sends");
}

/* A message of @len into a buffer of @cap, posted before or after it is sent. */
static void one(struct peer_pair *p, uint32_t len, uint32_t cap, bool before)
{
	uint16_t id = p->a->streams[0].tx_id;

	if (before && !post(p->b, cap, len, id))
		kt_die("room for a RECV");
	peer_submit(p->b);
	if (peer_prep(p->a, 0, len, 3, 0, len <= cap ? (int)len : -EMSGSIZE))
		kt_die("room for a SEND");
	peer_submit(p->a);
	if (!before && !post(p->b, cap, len, id))
		kt_die("room for a RECV");
	peer_submit(p->b);
}

static void lengths(struct peer_pair *p)
{
	static const uint32_t some[] = { 0, 1, 100, 256, 257, 8192, 8193, 300000,
					 (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3000000 };
	char *before = peer_status(), *after;
	unsigned int i, errors = peer_errors, bad = 0;
	uint64_t eager = 0, rdma = 0;

	for (i = 0; i < KT_ARRAY(some); i++) {
		uint32_t len = some[i];

		one(p, len, len + 1000, i & 1);
		*(len <= 8192 ? &eager : &rdma) += 2 * (uint64_t)len;
		one(p, len, len ? len : 1, !(i & 1));
		if (len > 1) {
			one(p, len, len - 1, true);
			one(p, len, 1, false);
			bad += 2;
		}
		settle(p);
	}
	after = peer_status();
	kt_is(peer_errors - errors, 0, "exact, longer and shorter buffers: contents and results");
	kt_is(p->a->streams[0].tx_failed, bad, "sends into a buffer that is too short: -EMSGSIZE");
	kt_is(peer_value(after, "counters", "copied_rx_bytes") -
	      peer_value(before, "counters", "copied_rx_bytes"), eager, "copied_rx_bytes");
	kt_is(peer_value(after, "counters", "rdma_rx_bytes") -
	      peer_value(before, "counters", "rdma_rx_bytes"), rdma, "rdma_rx_bytes");
	free(before);
	free(after);
}

/* Short buffers in a row: one NACK can be owed at a time. */
static void row_of_short(struct peer_pair *p)
{
	unsigned int i, errors = peer_errors;
	uint16_t id = p->a->streams[0].tx_id;

	for (i = 0; i < 40; i++)
		post(p->b, i % 4 == 3 ? 20000 : 10, i & 1 ? 20000 : 2000, id + i);
	peer_submit(p->b);
	for (i = 0; i < 40; i++)
		peer_prep(p->a, 0, i & 1 ? 20000 : 2000, 0, 0,
			  i % 4 == 3 ? 20000 : -EMSGSIZE);
	peer_submit(p->a);
	settle(p);
	kt_is(peer_errors - errors, 0, "a row of short buffers, one in four long enough");
}

static void many(struct peer_pair *p)
{
	unsigned int n = kt_quick() ? 100 : 900, i, errors = peer_errors;
	uint16_t id = p->a->streams[0].tx_id;
	uint32_t seed = 7, len;

	for (i = 0; i < n; i++) {
		len = i % 8 ? peer_range(&seed, 0, 8192) : peer_range(&seed, 8193, 40000);
		if (!post(p->b, len + 1, len, id + i))
			break;
	}
	peer_submit(p->b);
	kt_is(i, n, "receives posted at once");
	seed = 7;
	for (i = 0; i < n; i++) {
		len = i % 8 ? peer_range(&seed, 0, 8192) : peer_range(&seed, 8193, 40000);
		peer_send(p, p->a, 0, len, 1);
	}
	settle(p);
	kt_is(peer_errors - errors, 0, "many posted: contents and results");
}

static void waits_for_recv(struct peer_pair *p)
{
	struct dmastream_stream_query q = { 0 };
	long long stalls = peer_counter("credit_stalls");
	unsigned int errors = peer_errors, i;
	uint16_t id = p->a->streams[0].tx_id;

	for (i = 0; i < 5; i++)
		peer_prep(p->a, 0, i & 1 ? 100 : 50000, 0, 0, i & 1 ? 100 : 50000);
	peer_submit(p->a);
	dmastream_stream_query(p->a->ctx, p->a->streams[0].handle, &q);
	kt_ok(q.waits & DMASTREAM_WAIT_CREDIT, "without a RECV the stream waits for a credit");
	kt_is(q.keys, 0, "and no key is out");
	kt_is(q.tx_queued, 5, "sends queued");
	kt_ok(peer_counter("credit_stalls") > stalls, "credit_stalls grew");
	for (i = 0; i < 5; i++) {
		post(p->b, 60000, i & 1 ? 100 : 50000, id + i);
		peer_submit(p->b);
	}
	settle(p);
	kt_is(peer_errors - errors, 0, "they go when RECVs are posted one by one");
}

static void refused(struct peer_pair *p)
{
	struct dmastream_cqe cqe = { 0 };
	struct dmastream_sqe *sqe = dmastream_get_sqe(p->a->ring);

	dmastream_prep_recv(sqe, p->a->streams[0].handle, dmastream_pool_handle(p->a->pool), 0,
			    100, 77);
	peer_submit(p->a);
	kt_is(peer_next(p->a, &cqe, 10000), 0, "RECV on a pooled stream completes");
	kt_is(cqe.result, -EOPNOTSUPP, "RECV on a pooled stream");
	kt_is(cqe.user_data, 77, "its user_data");
}

static bool ended(void *arg)
{
	(void)arg;
	return ends == 3;
}

static bool after_end(void *arg)
{
	(void)arg;
	return last_result == -ENODATA;
}

static void end_of_stream(struct peer_pair *p)
{
	unsigned int i, errors = peer_errors;
	struct dmastream_sqe *sqe;
	uintptr_t user_data;

	for (i = 0; i < 3; i++)
		post(p->b, 1000, 0, 0);
	sqe = &p->b->ring->sqes[(p->b->ring->sq_next - 1) & p->b->ring->sq_mask];
	user_data = sqe->user_data;
	peer_submit(p->b);
	kt_is(dmastream_cancel(p->b->ctx, p->b->streams[0].handle, user_data), -EALREADY,
	      "cancel of a RECV, which the peer counts on");
	kt_is(dmastream_shutdown(p->a->ctx, p->a->streams[0].handle), 0, "shutdown");
	peer_run(p->a, p->b, ended, NULL, 20000, "the end of the stream on three RECVs");
	kt_is(ends, 3, "RECVs left over end with EOS");
	kt_is(last_result, 0, "their result");
	post(p->b, 1000, 0, 0);
	peer_submit(p->b);
	peer_run(p->a, p->b, after_end, NULL, 10000, "a RECV after the end");
	kt_is(last_result, -ENODATA, "RECV after the end");
	kt_is(peer_errors - errors, 0, "nothing else came");
}

int main(void)
{
	struct peer_pair p;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(90);
	if (!open_pair(&p, "posted"))
		return kt_end();
	lengths(&p);
	row_of_short(&p);
	many(&p);
	waits_for_recv(&p);
	refused(&p);
	peer_check_paths("after posted receives");
	end_of_stream(&p);
	peer_pair_close(&p);
	peer_check_gauges();
	return kt_end();
}
