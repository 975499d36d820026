// SPDX-License-Identifier: GPL-2.0-only
/*
 * CANCEL of sends that are on the wire, at each stage.  What must hold: a send that ends with its
 * length was delivered, once and whole; one that ends with -ECANCELED never is; what is written
 * into its buffer from then on is not seen by anybody; what is behind it goes on; and no queue
 * pair fails for it.
 *
 * Sends have small numbers as their names, and tell them in their tags.
 */
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define KEY	0x77
#define NAMES	4096
#define REUSED	0xa5
#define PENDING	1		/* no result that can be */
#define RECVS	8		/* that are posted */
#define RECV	(1ULL << 32)	/* names of RECVs: and the offset of the buffer */

static struct peer_pair p;

static struct send {
	char		*buf;
	uint32_t	len;
	int		result;
	unsigned int	came;		/* at the receiver, whole */
	bool		cut;		/* it was told that no more comes */
} sends[NAMES];

static long long failed;		/* paths, until the streams were there */
static unsigned int last, out, recvs, recvs_done;
static uint32_t part, last_came;
static bool stopped, closing;
static uint64_t kept[64];
static unsigned int nr_kept;

static bool sent(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct send *s = &sends[cqe->user_data % NAMES];

	(void)e;
	if (cqe->user_data >= NAMES)
		return false;
	if (s->result != PENDING)
		peer_fail("send %u ended twice: %d, %d", (unsigned int)cqe->user_data, s->result,
			  cqe->result);
	if (cqe->result != -ECANCELED && cqe->result != (int)s->len)
		peer_fail("send %u: result %d", (unsigned int)cqe->user_data, cqe->result);
	s->result = cqe->result;
	/* the buffer is ours again */
	memset(s->buf, REUSED, s->len);
	out--;
	return true;
}

static void came(const struct dmastream_cqe *cqe)
{
	struct send *s = &sends[cqe->tag % NAMES];

	if (cqe->tag >= NAMES || cqe->tag <= last_came)
		peer_fail("message %llu came after %u", (unsigned long long)cqe->tag, last_came);
	last_came = cqe->tag;
	s->came++;
	if (cqe->result != (int)s->len)
		peer_fail("message %u: result %d", last_came, cqe->result);
}

static void give(struct peer_end *e, uint64_t cookie)
{
	if (!stopped)
		peer_give(e, cookie);
	else
		kept[nr_kept++] = cookie;
}

static void got_pooled(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	bool more = cqe->flags & DMASTREAM_CQE_MORE;
	uint32_t n = cqe->result - (more ? 0 : part), cap;
	uint64_t off;

	if (cqe->flags & DMASTREAM_CQE_NOBUF) {
		if (cqe->result != -ECANCELED || !part)
			peer_fail("message %u: end with %d after %u bytes",
				  (unsigned int)cqe->tag, cqe->result, part);
		sends[cqe->tag % NAMES].cut = true;
		part = 0;
		return;
	}
	off = peer_landing_off(e, cqe->user_data, &cap);
	if (n > cap)
		peer_fail("message %u: %u bytes in %u", (unsigned int)cqe->tag, n, cap);
	else
		peer_check(e->base + off, KEY, cqe->tag, part, n);
	part = more ? part + n : 0;
	give(e, cqe->user_data);
	if (!more)
		came(cqe);
}

static void got_posted(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	if (closing)
		return;
	recvs_done++;
	if (cqe->result < 0) {
		peer_fail("RECV: %d", cqe->result);
		return;
	}
	peer_check(e->base + (uint32_t)cqe->user_data, KEY, cqe->tag, 0, cqe->result);
	dmastream_free(e->heap, e->base + (uint32_t)cqe->user_data);
	came(cqe);
}

static bool got(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	bool posted = e->cfg.flags & DMASTREAM_STREAM_POSTED;

	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_RECV)
		return false;
	if (!posted && cqe->flags & DMASTREAM_CQE_EOS)
		return false;
	if (posted)
		got_posted(e, cqe);
	else
		got_pooled(e, cqe);
	return true;
}

/* One more, published; its name, or 0: not now. */
static unsigned int say(uint32_t len)
{
	struct dmastream_sqe *sqe = dmastream_get_sqe(p.a->ring);
	struct send *s = &sends[last + 1];

	if (!sqe)
		return 0;
	s->buf = dmastream_alloc(p.a->heap, len);
	if (!s->buf || last + 1 == NAMES)
		abort();
	last++;
	s->len = len;
	s->result = PENDING;
	peer_fill(s->buf, KEY, last, 0, len);
	dmastream_prep_send(sqe, p.a->streams[0].handle, dmastream_pool_handle(p.a->pool),
			    dmastream_pool_off(p.a->pool, s->buf), len, last, last);
	out++;
	peer_submit(p.a);
	return last;
}

static void post(uint32_t len)
{
	char *buf = dmastream_alloc(p.b->heap, len);
	uint64_t off = dmastream_pool_off(p.b->pool, buf);

	dmastream_prep_recv(dmastream_get_sqe(p.b->ring), p.b->streams[0].handle,
			    dmastream_pool_handle(p.b->pool), off, len, RECV | off);
	recvs++;
	peer_submit(p.b);
}

static int cancel(unsigned int name)
{
	return dmastream_cancel(p.a->ctx, p.a->streams[0].handle, name);
}

static bool over(void *arg)
{
	return sends[*(unsigned int *)arg].result != PENDING;
}

static bool none_out(void *arg)
{
	(void)arg;
	return !out;
}

static bool all_came(void *arg)
{
	return none_out(arg) && last_came == last && (!recvs || recvs_done);
}

static void ends_with(unsigned int name, int want, const char *what)
{
	peer_run(p.a, NULL, over, &name, 20000, what);
	kt_is(sends[name].result, want, "%s", what);
}

static uint32_t changed(const struct send *s)
{
	uint32_t at, n = 0;

	for (at = 0; s->buf && at < s->len; at++)
		n += (uint8_t)s->buf[at] != REUSED;
	return n;
}

/* What came is what was told; and what is in the senders' buffers is what was put there last. */
static void agree(const char *when)
{
	unsigned int i, bad = 0, other = 0;

	for (i = 1; i <= last; i++) {
		struct send *s = &sends[i];

		bad += s->came != (s->result >= 0);
		bad += s->cut && s->result != -ECANCELED;
		other += changed(s);
		if (s->buf)
			dmastream_free(p.a->heap, s->buf);
	}
	kt_is(bad, 0, "%s: delivered is what was told, of %u sends", when, last);
	kt_is(other, 0, "%s: the buffers have what was written after the end", when);
	kt_is(peer_errors, 0, "%s: contents, order, results", when);
	kt_is(peer_counter("paths_failed") - failed, 0, "%s: no path failed", when);
}

static int begin(const char *name, const struct peer_cfg *a, const struct peer_cfg *b)
{
	memset(sends, 0, sizeof(sends));
	last = 0;
	out = 0;
	part = 0;
	last_came = 0;
	recvs = 0;
	recvs_done = 0;
	nr_kept = 0;
	peer_waits_for("%s", name);
	if (peer_pair_open(&p, name, a, b) || peer_pair_connect(&p, KEY)) {
		kt_ok(false, "pair for %s", name);
		return -1;
	}
	failed = peer_counter("paths_failed");
	p.a->other = sent;
	p.b->other = got;
	return 0;
}

static void go_on(void)
{
	stopped = false;
	while (nr_kept)
		peer_give(p.b, kept[--nr_kept]);
}

static bool held(void *arg)
{
	struct dmastream_stream_query q = { 0 };

	(void)arg;
	dmastream_stream_query(p.a->ctx, p.a->streams[0].handle, &q);
	return q.waits & DMASTREAM_WAIT_HOLD;
}

/*
 * A reader that has stopped: it holds a message of which it has the first part, another one is
 * announced, and a short one has landed.
 */
static void stages(void)
{
	long long said = peer_counter("skips_sent"), acked = peer_counter("skips_acked");
	long long done = peer_counter("skips_done");
	struct dmastream_stream_query q = { 0 };
	struct peer_cfg b = peer_default;
	unsigned int i;
	int err;

	b.large_n = 1;
	b.large_len = 65536;
	if (begin("stages", &peer_default, &b))
		return;
	stopped = true;
	say(200000);		/* 1: half landed, held */
	say(100000);		/* 2: announced */
	say(100);		/* 3: landed, not delivered */
	say(9000);		/* 4: goes on */
	say(200);		/* 5: likewise */
	kt_ok(peer_run(p.a, p.b, held, NULL, 20000, "HOLD"), "the receiver holds a message");
	kt_is(part, 65536, "of which its process has a part");
	kt_is(cancel(3), 0, "cancel of one that has landed");
	err = cancel(3);
	kt_ok(err == -EALREADY || err == -ENOENT, "again: %d", err);
	ends_with(3, -ECANCELED, "cancelled: landed, not delivered");
	kt_is(cancel(3), -ENOENT, "cancel of what is over");
	kt_is(cancel(2), 0, "cancel of one that is announced");
	ends_with(2, -ECANCELED, "cancelled: announced");
	kt_is(cancel(1), 0, "cancel of one that is held");
	ends_with(1, -ECANCELED, "cancelled: held, half landed");
	dmastream_stream_query(p.a->ctx, p.a->streams[0].handle, &q);
	kt_is(q.tx_queued, 2, "the other two are under way");
	go_on();
	peer_run(p.a, p.b, all_came, NULL, 20000, "what is behind the cancelled ones");
	kt_ok(sends[1].cut, "the reader of the first one is told that no more comes");
	for (i = 0; i < 20; i++)
		say(i & 1 ? 100 : 50000);
	peer_run(p.a, p.b, all_came, NULL, 20000, "twenty more");
	kt_is(peer_counter("skips_sent") - said, 3, "SKIP was said");
	kt_is(peer_counter("skips_acked") - acked, 3, "and answered");
	kt_is(peer_counter("skips_done") - done, 3, "each by a message that is not delivered");
	agree("stages");
	peer_pair_close(&p);
}

/* The reader gives its buffers back one after the other, until it has had so many. */
static bool some_parts(void *arg)
{
	if (part >= *(uint32_t *)arg || none_out(NULL))
		return true;
	if (nr_kept)
		peer_give(p.b, kept[--nr_kept]);
	return false;
}

/* Case 1: a long message to a slow reader; its buffer is used for something else at once. */
static void reuse(void)
{
	unsigned int i, n = kt_quick() ? 2 : 4, cancelled = 0, name;
	uint32_t len = kt_quick() ? 16 << 20 : 64 << 20, want;
	struct peer_cfg a = peer_default, b = peer_default;

	a.tx_bytes = 2ULL * len + (4 << 20);
	b.large_len = 256 << 10;
	b.large_n = 4;
	if (begin("reuse", &a, &b))
		return;
	for (i = 0; i < n; i++) {
		name = say(len);
		say(5000);
		stopped = true;
		want = (2 + 5 * i) * b.large_len;
		peer_run(p.a, p.b, some_parts, &want, 60000, "the first parts of a long message");
		kt_is(cancel(name), 0, "cancel after %u bytes", part);
		ends_with(name, -ECANCELED, "a long one that is cancelled half way");
		cancelled += sends[name].result == -ECANCELED;
		go_on();
		peer_run(p.a, p.b, all_came, NULL, 60000, "what is behind it");
		kt_ok(sends[name].cut, "its reader knows");
		/* the next one wants the buffer */
		kt_is(changed(&sends[name]), 0, "its buffer is as it was left");
		dmastream_free(p.a->heap, sends[name].buf);
		sends[name].buf = NULL;
	}
	kt_is(cancelled, n, "case 1: cancelled half way");
	agree("case 1");
	peer_pair_close(&p);
}

static void keep_posted(void)
{
	while (p.b->cfg.flags & DMASTREAM_STREAM_POSTED && recvs - recvs_done < RECVS)
		post(70000);
}

static bool room(void *arg)
{
	(void)arg;
	keep_posted();
	return out < 24;
}

static bool all_ended(void *arg)
{
	keep_posted();
	return none_out(arg);
}

/* Case 33, and whatever can cross: sends of all kinds that are cancelled at any time. */
static void race(const char *name, uint64_t flags)
{
	unsigned int i, n = kt_quick() ? 600 : 3000, cancelled = 0, begun = 0, victim;
	struct peer_cfg a = peer_default, b = peer_default;
	uint32_t seed = 4711, len;
	unsigned int delivered = 0;
	int err;

	a.tx_bytes = kt_quick() ? 32 << 20 : 96 << 20;
	b.flags = flags;
	b.large_len = 32768;
	if (flags) {
		b.small_n = 0;
		b.large_n = 0;
	}
	if (begin(name, &a, &b))
		return;
	for (i = 0; i < n && !peer_errors; i++) {
		len = peer_range(&seed, 0, 3) ? peer_range(&seed, 1, 8000) :
						peer_range(&seed, 8193, 70000);
		peer_run(p.a, p.b, room, NULL, 20000, "room");
		say(len);
		victim = last - peer_range(&seed, 0, last < 6 ? 0 : 5);
		if (peer_range(&seed, 0, 1)) {
			err = cancel(victim);
			begun += !err;
			if (err && err != -EALREADY && err != -ENOENT)
				peer_fail("cancel: %d", err);
		}
		if (!peer_range(&seed, 0, 3)) {
			peer_poll(p.a);
			peer_poll(p.b);
		}
	}
	peer_run(p.a, p.b, all_ended, NULL, 30000, "the last of them");
	kt_sleep_ms(20);
	peer_poll(p.b);
	for (i = 1; i <= last; i++) {
		cancelled += sends[i].result == -ECANCELED;
		delivered += sends[i].result >= 0;
	}
	kt_ok(cancelled > 10, "%s: %u of %u cancelled, %u begun", name, cancelled, last, begun);
	kt_ok(begun >= cancelled, "not more than were asked for");
	agree(name);
	if (flags)
		kt_is(recvs_done, delivered, "%s: no RECV was used up by what did not come", name);
	closing = true;
	peer_pair_close(&p);
	closing = false;
}

int main(void)
{
	long long late;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(kt_quick() ? 80 : 200);
	late = peer_counter("skips_late");
	stages();
	reuse();
	race("pooled", 0);
	race("posted", DMASTREAM_STREAM_POSTED);
	race("pushed", DMASTREAM_STREAM_POSTED | DMASTREAM_STREAM_PUSH);
	kt_ok(peer_counter("skips_late") > late, "some were delivered before SKIP came: %lld",
	      peer_counter("skips_late") - late);
	peer_check_gauges();
	return kt_end();
}
