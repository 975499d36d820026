// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of all sizes, alone and as vectors, into landings shorter and longer
 * than a segment, both directions at once; and what the peer has no buffers
 * for.  The counters tell that each went its way: up to eager_max copied, above
 * it placed by RDMA, to the byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define SEGMENT		1048576U

/* What the counters should grow by on this node. */
static struct {
	char			*before;
	uint64_t		tx_eager, tx_rdma, tx_copied, rx_eager, rx_rdma;
	uint64_t		rx_a, rx_b;	/* messages in all */
	unsigned int		errors;
	uint32_t		eager_a, eager_b;	/* longest eager message to that side */
} step;

static void step_begin(struct peer_pair *p)
{
	free(step.before);
	memset(&step, 0, sizeof(step));
	step.before = peer_status();
	step.errors = peer_errors;
	step.rx_a = p->a ? p->a->rx_msgs : 0;
	step.rx_b = p->b ? p->b->rx_msgs : 0;
	step.eager_a = 8192;
	step.eager_b = 8192;
	peer_sync("step");
}

static void step_count(struct peer_pair *p, bool from_a, uint32_t len)
{
	bool eager = len <= (from_a ? step.eager_b : step.eager_a);

	if (from_a ? p->a : p->b) {
		*(eager ? &step.tx_eager : &step.tx_rdma) += len;
		step.tx_copied += len <= 256 ? len : 0;
	}
	if (from_a ? p->b : p->a)
		*(eager ? &step.rx_eager : &step.rx_rdma) += len;
	if (from_a)
		step.rx_b++;
	else
		step.rx_a++;
}

static void step_send(struct peer_pair *p, bool from_a, uint32_t len, uint32_t shift)
{
	struct peer_end *e = from_a ? p->a : p->b;

	step_count(p, from_a, len);
	if (e)
		peer_send(p, e, 0, len, shift);
}

static void step_vec(struct peer_pair *p, bool from_a, const uint32_t *len, uint32_t n,
		     uint32_t shift)
{
	struct peer_end *e = from_a ? p->a : p->b;
	uint32_t i, total = 0;

	for (i = 0; i < n; i++)
		total += len[i];
	step_count(p, from_a, total);
	if (!e)
		return;
	while (peer_prep_vec(e, 0, len, n, shift)) {
		if (p->a)
			peer_poll(p->a);
		if (p->b)
			peer_poll(p->b);
	}
	peer_submit(e);
}

static void grew(const char *after, const char *name, uint64_t want, const char *what)
{
	long long by = peer_value(after, "counters", name) -
		       peer_value(step.before, "counters", name);

	kt_is(by, want, "%s: %s", what, name);
}

static void step_end(struct peer_pair *p, const char *what)
{
	char *after;

	peer_settle(p, step.rx_a, step.rx_b);
	after = peer_status();
	kt_is(peer_errors - step.errors, 0, "%s: contents, order, results", what);
	grew(after, "eager_tx_bytes", step.tx_eager, what);
	grew(after, "copied_tx_bytes", step.tx_copied, what);
	grew(after, "rdma_tx_bytes", step.tx_rdma, what);
	grew(after, "eager_rx_bytes", step.rx_eager, what);
	grew(after, "copied_rx_bytes", step.rx_eager, what);
	grew(after, "rdma_rx_bytes", step.rx_rdma, what);
	free(after);
	peer_sync("settled");
}

static const uint32_t sizes[] = {
	0, 1, 255, 256, 257, 4095, 4096, 4097, 8191, 8192, 8193, 12345,
	SEGMENT - 1, SEGMENT, SEGMENT + 1,
};

static void each_size(struct peer_pair *p, bool from_a)
{
	static const uint32_t shifts[] = { 1, 4095, 0, 7, 513 };
	unsigned int i, k, n = kt_quick() ? 2 : KT_ARRAY(shifts);
	char what[64];

	for (i = 0; i < KT_ARRAY(sizes); i++) {
		step_begin(p);
		for (k = 0; k < n; k++)
			step_send(p, from_a, sizes[i], shifts[k]);
		snprintf(what, sizeof(what), "%u bytes from %s", sizes[i], from_a ? "a" : "b");
		step_end(p, what);
	}
}

static void both_ways(struct peer_pair *p)
{
	uint32_t seed = 4711;
	unsigned int i, n = kt_quick() ? 60 : 400;

	step_begin(p);
	for (i = 0; i < n; i++) {
		uint32_t len = i % 5 ? peer_range(&seed, 0, 9000) : peer_range(&seed, 0, 300000);
		uint32_t shift = peer_range(&seed, 0, 4095);

		step_send(p, true, len, shift);
		len = i % 4 ? peer_range(&seed, 0, 9000) : peer_range(&seed, 0, 200000);
		step_send(p, false, len, shift);
	}
	step_end(p, "both directions at once");
}

static void large(struct peer_pair *p)
{
	uint32_t len = getenv("DMS_DEBUG") && *getenv("DMS_DEBUG") ? 8 << 20 : 64 << 20;
	uint64_t parts = p->b ? p->b->parts : 0;

	step_begin(p);
	step_send(p, true, len, 0);
	step_end(p, "a large message");
	if (p->b)
		kt_is(p->b->parts - parts, len / SEGMENT - 1, "parts with MORE of a large one");
}

static void vectors(struct peer_pair *p)
{
	static const uint32_t shifts[] = { 1, 3, 4093 };
	uint32_t len[DMASTREAM_VEC_MAX], n, k, seed = 99;
	unsigned int i;
	char what[64];

	for (n = 1; n <= DMASTREAM_VEC_MAX; n++) {
		step_begin(p);
		for (i = 0; i < (kt_quick() ? 5 : 12); i++) {
			/* copied, gathered, exactly eager_max, pulled, over segments */
			static const uint32_t max[] = { 30, 1000, 0, 9000, 400000 };
			uint32_t m = max[i % KT_ARRAY(max)], sum = 0;

			for (k = 0; k < n; k++) {
				len[k] = m ? peer_range(&seed, 1, m) | 1 : 8192 / n;
				sum += len[k];
			}
			if (!m)
				len[n - 1] += 8192 - sum;
			step_vec(p, true, len, n, shifts[i % KT_ARRAY(shifts)]);
		}
		snprintf(what, sizeof(what), "vectors of %u", n);
		step_end(p, what);
	}
}

/* Landings of a length that fits nothing; the small ones are below eager_max. */
static void odd_landings(uint32_t small_len, uint32_t large_len, const char *service)
{
	struct peer_cfg cfg = peer_default;
	static const uint32_t some[] = { 1, 3000, 8192, 8193, 100000, SEGMENT + 1,
					 2 * SEGMENT + 77 };
	struct peer_pair p;
	char what[64];
	unsigned int i;

	cfg.small_len = small_len;
	cfg.large_len = large_len;
	cfg.large_n = large_len > SEGMENT ? 2 : 32;
	if (peer_pair_open(&p, service, &cfg, &cfg) || peer_pair_connect(&p, 0x20)) {
		kt_ok(false, "pair %s", service);
		return;
	}
	for (i = 0; i < KT_ARRAY(some); i++) {
		step_begin(&p);
		step.eager_b = small_len < 8192 ? small_len : 8192;
		step_send(&p, true, some[i], 5);
		snprintf(what, sizeof(what), "%u bytes into landings of %u and %u", some[i],
			 small_len, large_len);
		step_end(&p, what);
	}
	peer_pair_close(&p);
}

/* What the receiver has no group for is refused here; the stream goes on. */
static void no_large_group(void)
{
	struct peer_cfg cfg = peer_default, none = peer_default;
	unsigned int errors = peer_errors;
	struct peer_pair p;
	char *before, *after;

	none.large_n = 0;
	if (peer_pair_open(&p, "nolarge", &cfg, &none) || peer_pair_connect(&p, 0x30)) {
		kt_ok(false, "pair without a large group");
		return;
	}
	before = peer_status();
	if (p.a) {
		peer_prep(p.a, 0, 100, 0, 0, 100);
		peer_prep(p.a, 0, 8193, 0, 0, -EMSGSIZE);
		/* its number is not used, nor is it sent */
		p.a->streams[0].tx_id--;
		peer_prep(p.a, 0, 8192, 0, 0, 8192);
		peer_submit(p.a);
	}
	peer_settle(&p, 0, 2);
	if (p.a)
		kt_is(p.a->streams[0].tx_failed, 1, "8193 bytes without a large group: -EMSGSIZE");
	if (p.b)
		kt_is(p.b->rx_msgs, 2, "what came before and after it was delivered");
	after = peer_status();
	kt_is(peer_value(after, "counters", "rdma_rx_bytes"),
	      peer_value(before, "counters", "rdma_rx_bytes"), "nothing was pulled");
	kt_is(peer_errors - errors, 0, "contents, order, results without a large group");
	free(before);
	free(after);
	peer_pair_close(&p);
}

int main(void)
{
	struct peer_cfg cfg = peer_default;
	struct peer_pair p;

	peer_watchdog(kt_quick() ? 150 : 240);
	cfg.tx_bytes = 80 << 20;
	if (peer_pair_open(&p, "sizes", &cfg, &cfg) || peer_pair_connect(&p, 0x10)) {
		kt_ok(false, "the first pair");
		return kt_end();
	}
	each_size(&p, true);
	each_size(&p, false);
	both_ways(&p);
	vectors(&p);
	large(&p);
	peer_check_paths("after the sizes");
	peer_sync("checked");
	peer_pair_close(&p);
	odd_landings(1000, 5000, "odd1");
	odd_landings(4096, 65536, "odd2");
	odd_landings(16384, 3 * SEGMENT + 4096, "odd3");
	no_large_group();
	peer_check_gauges();
	return kt_end();
}
