// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nothing sleeps for ever.
 *
 * First a receiver with hardly any buffers and a completion queue of two, which
 * only writes to shared memory and enters the kernel only when NEED_KICK asks for
 * it, pausing at random; a sleep in poll() that nobody ends is a lost wake-up.
 * Then case 9: the smallest of everything, both directions saturated; bytes
 * advance every second.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

static struct peer_cfg tiny = {
	.small_n = 2, .small_len = 8192, .large_n = 1, .large_len = 32768,
	.sq = 64, .cq = 2, .recv_min = 1,
};

/* Only the completion queue is short: no call that buffers ask for helps it along. */
static struct peer_cfg short_cq = {
	.small_n = 64, .small_len = 8192, .large_n = 16, .large_len = 32768,
	.sq = 64, .cq = 2, .recv_min = 1,
};

struct side {
	struct peer_end	*e;
	struct side	*other;
	unsigned int	n;		/* messages to send */
	bool		done, lost;
	uint64_t	sleeps;
	uint32_t	seed;
};

static bool sleep_on(struct side *s)
{
	struct pollfd fd = { .fd = dmastream_ring_fd(s->e->ring), .events = POLLIN };

	s->sleeps++;
	if (poll(&fd, 1, peer_ms(8000)) > 0)
		return true;
	s->lost = true;
	return false;
}

static void pause_maybe(uint32_t *seed)
{
	uint32_t r = peer_rand(seed) % 8;
	struct timespec ts = { .tv_nsec = 0 };

	if (r > 2)
		return;
	ts.tv_nsec = r ? peer_rand(seed) % 20000 : peer_rand(seed) % 400000;
	nanosleep(&ts, NULL);
}

static void *receive(void *arg)
{
	struct side *s = arg;
	struct peer_end *e = s->e;

	e->keep = true;
	while (e->rx_msgs < s->n && !peer_errors) {
		pause_maybe(&s->seed);
		if (!peer_poll(e)) {
			if (!sleep_on(s))
				break;
			continue;
		}
		pause_maybe(&s->seed);
		/* one by one, or all and then published */
		e->batch = peer_rand(&s->seed) & 1;
		peer_give_kept(e);
		if (e->batch) {
			dmastream_group_publish(e->small, e->ring);
			dmastream_group_publish(e->large, e->ring);
		}
	}
	s->done = true;
	return NULL;
}

static uint32_t some_len(uint32_t *seed)
{
	switch (peer_rand(seed) % 8) {
	case 0:
		return peer_range(seed, 8193, 100000);
	case 1:
		return peer_range(seed, 257, 8192);
	default:
		return peer_range(seed, 0, 256);
	}
}

static void *send_all(void *arg)
{
	struct side *s = arg;
	struct peer_end *e = s->e;
	uint32_t i, len, sent = 0;

	while ((sent < s->n || e->out) && !peer_errors) {
		for (i = 0; i < e->nr && sent < s->n; i++) {
			if (e->streams[i].tx_out > 3)
				continue;
			len = some_len(&s->seed);
			if (peer_prep(e, i, len, sent % 9, 0, len))
				break;
			sent++;
		}
		peer_submit(e);
		if (!peer_poll(e) && e->out && !sleep_on(s))
			break;
	}
	s->done = true;
	return NULL;
}

static void grew(const char *before, const char *after, const char *name)
{
	long long by = peer_value(after, "counters", name) - peer_value(before, "counters", name);

	kt_ok(by > 0, "%s grew by %lld", name, by);
}

static void starving(const struct peer_cfg *cfg, const char *name)
{
	struct side a = { .seed = 1 }, b = { .seed = 2 };
	struct peer_cfg sender = peer_default;
	pthread_t ta, tb;
	char *before, *after;
	struct peer_pair p;
	int i;

	a.n = kt_quick() ? 800 : 8000;
	b.n = a.n;
	if (peer_pair_open(&p, name, &sender, cfg)) {
		kt_ok(false, "pair");
		return;
	}
	for (i = 0; i < 2; i++)
		if (peer_pair_connect(&p, 1 + i))
			kt_ok(false, "connect");
	a.e = p.a;
	b.e = p.b;
	before = peer_status();
	peer_waits_for("%s: %u messages", name, a.n);
	pthread_create(&ta, NULL, send_all, &a);
	pthread_create(&tb, NULL, receive, &b);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	after = peer_status();
	kt_is(p.b->rx_msgs, b.n, "%s: messages", name);
	kt_ok(!a.lost && !b.lost, "%s: no sleep was for ever (%llu, %llu)", name,
	      (unsigned long long)a.sleeps, (unsigned long long)b.sleeps);
	kt_is(peer_errors, 0, "contents, order, results");
	grew(before, after, "cq_full_waits");
	if (cfg == &tiny) {
		grew(before, after, "landing_stalls");
		grew(before, after, "credit_stalls");
	}
	grew(before, after, "kicks");
	free(before);
	free(after);
	if (a.lost || b.lost) {
		after = peer_status();
		printf("%s\n", after);
		free(after);
		exit(kt_end());
	}
	peer_check_paths("after starving");
	p.b->keep = false;
	peer_pair_close(&p);
}

/* ---- case 9 ---- */

static bool stop;

/*
 * After stop nothing new is sent, but each goes on receiving until the other has
 * nothing out: it would sleep for ever if this one left it alone.
 */
static void *saturate(void *arg)
{
	struct side *s = arg;
	struct peer_end *e = s->e;
	uint32_t i, len;

	while (!s->done || !__atomic_load_n(&s->other->done, __ATOMIC_ACQUIRE)) {
		bool ending = __atomic_load_n(&stop, __ATOMIC_RELAXED);

		for (i = 0; i < e->nr; i++)
			while (!ending && e->streams[i].tx_out < 3) {
				len = some_len(&s->seed);
				if (peer_prep(e, i, len, 0, 0, len))
					break;
			}
		peer_submit(e);
		if (ending && !e->out)
			__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
		if (peer_poll(e))
			continue;
		if (s->done)
			kt_sleep_ms(1);
		else if (!sleep_on(s))
			break;
	}
	__atomic_store_n(&s->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool nothing_out(void *arg)
{
	struct peer_pair *p = arg;
	uint32_t i, missing = 0;

	for (i = 0; i < p->a->nr; i++)
		missing += p->a->streams[i].tx_id != p->b->streams[i].rx_msgs ||
			   p->b->streams[i].tx_id != p->a->streams[i].rx_msgs;
	return !missing && !p->a->out && !p->b->out;
}

static void saturated(void)
{
	unsigned int seconds = kt_quick() ? 6 : 20, i, still = 0;
	struct side a = { .seed = 3 }, b = { .seed = 4 };
	struct peer_cfg cfg = tiny;
	uint64_t got[2] = { 0 };
	pthread_t ta, tb;
	struct peer_pair p;

	cfg.cq = 8;
	cfg.recv_min = 2;
	cfg.small_n = 1;
	cfg.tx_bytes = 4 << 20;
	if (peer_pair_open(&p, "saturate", &cfg, &cfg) || peer_pair_connect(&p, 1)) {
		kt_ok(false, "pair");
		return;
	}
	a.e = p.a;
	b.e = p.b;
	a.other = &b;
	b.other = &a;
	peer_waits_for("case 9");
	pthread_create(&ta, NULL, saturate, &a);
	pthread_create(&tb, NULL, saturate, &b);
	for (i = 0; i < seconds; i++) {
		uint64_t now[2];

		kt_sleep_ms(peer_ms(1000));
		now[0] = __atomic_load_n(&p.a->rx_bytes, __ATOMIC_RELAXED);
		now[1] = __atomic_load_n(&p.b->rx_bytes, __ATOMIC_RELAXED);
		still += now[0] == got[0] || now[1] == got[1];
		memcpy(got, now, sizeof(got));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	peer_run(p.a, p.b, nothing_out, &p, 30000, "the rest of case 9");
	kt_is(still, 0, "case 9: seconds without progress, of %u", seconds);
	kt_ok(!a.lost && !b.lost, "no sleep was for ever");
	kt_ok(got[0] && got[1], "bytes: %llu and %llu", (unsigned long long)got[0],
	      (unsigned long long)got[1]);
	kt_is(peer_errors, 0, "contents, order, results");
	peer_check_paths("after case 9");
	peer_pair_close(&p);
}

int main(void)
{
	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(kt_quick() ? 120 : 180);
	starving(&tiny, "two-buffers");
	starving(&short_cq, "two-completions");
	saturated();
	peer_check_gauges();
	return kt_end();
}
