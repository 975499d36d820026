// SPDX-License-Identifier: GPL-2.0-only
/*
 * Close in every order, under traffic: the pool, the groups, the ring, the
 * stream, the listener and the context of one end, in all permutations; the
 * other end is told, a bystander between two other ends notices nothing, and
 * no gauge stays up.  Then threads that race a close against a submission, and
 * buffers that are given twice or while they are sent (case 27).
 */
#include "../kt.h"

#include <pthread.h>
#include <sched.h>

#include "life.h"

enum part { POOL, GROUPS, RING, STREAM, LISTENER, CONTEXT, PARTS };

static const char part_names[] = "pgrslc";

/* Two ends that nobody harms, with a stream between them. */
struct bystander {
	struct life_end	a, b;
	uint32_t	sa, sb;
	uint64_t	n;
};

static void bystander_open(struct bystander *w)
{
	memset(w, 0, sizeof(*w));
	if (life_open(&w->a) || life_open(&w->b) || life_give_all(&w->b) ||
	    life_link(&w->a, &w->b, &w->sa, &w->sb))
		kt_die("the bystander");
}

/* An owner's tags have its number in front: nothing of another is ever seen. */
static int bystander_pass(struct bystander *w)
{
	int err = life_pass(&w->a, w->sa, &w->b, 3000, 0xb000000000000000ULL + w->n++);

	return err ? err : life_pass(&w->a, w->sa, &w->b, 150000, 0xb000000000000000ULL + w->n++);
}

struct victim {
	struct life_end		a, b;
	uint32_t		sa, sb;
	struct dmastream_listener *l;
	bool			as_sender;	/* it is a that is closed */
};

static int victim_open(struct victim *v)
{
	struct dmastream_stream_opts opts;
	struct dmastream_addr self = life_self();
	int err, i;

	err = life_open(&v->a);
	if (!err)
		err = life_open(&v->b);
	if (!err)
		err = dmastream_listen(v->b.ctx, "victim", 4, 0, &v->l);
	if (!err)
		err = life_connect(&v->a, &self, "victim", &v->sa);
	opts = life_opts(&v->b, 0);
	if (!err)
		err = dmastream_accept(v->l, &opts, 60000, &v->sb, NULL);
	/* some landings only: there is something under way in every state */
	for (i = 0; i < 4 && !err; i++)
		err = life_give(&v->b, i);
	for (i = 0; i < 2 && !err; i++)
		err = life_give(&v->b, LIFE_SMALL_N + i);
	for (i = 0; i < 8 && !err; i++)
		err = life_send(&v->a, v->sa, i % 2 ? LIFE_SLOT : 2000, 0xa000000000000000ULL + i);
	if (!err && dmastream_submit(v->a.ring) < 0)
		err = -EIO;
	return err;
}

static void victim_part(struct victim *v, enum part part)
{
	struct life_end *e = v->as_sender ? &v->a : &v->b;

	switch (part) {
	case POOL:
		dmastream_pool_close(e->pool);
		e->pool = NULL;
		break;
	case GROUPS:
		dmastream_group_close(e->small);
		dmastream_group_close(e->large);
		e->small = NULL;
		e->large = NULL;
		break;
	case RING:
		dmastream_ring_close(e->ring);
		e->ring = NULL;
		break;
	case STREAM:
		if (e->ctx)
			dmastream_stream_close(e->ctx, v->as_sender ? v->sa : v->sb,
					       DMASTREAM_CLOSE_ABORT, 60000);
		break;
	case LISTENER:
		dmastream_listener_close(v->l);
		v->l = NULL;
		break;
	case CONTEXT:
		dmastream_close(e->ctx);
		e->ctx = NULL;
		break;
	default:
		break;
	}
}

/* The other side's stream ends: with an end of the stream, or a failed send. */
static int victim_other_told(struct victim *v)
{
	struct life_end *e = v->as_sender ? &v->b : &v->a;
	struct dmastream_cqe cqe;
	int err, i;

	for (i = 0; i < 200; i++) {
		err = life_cqe(e, &cqe, 60000);
		if (err)
			return err;
		if (cqe.flags & DMASTREAM_CQE_EOS)
			return 0;
	}
	return -ELOOP;
}

static const char *order_text(const enum part *order)
{
	static char text[PARTS + 1];
	int i;

	for (i = 0; i < PARTS; i++)
		text[i] = part_names[order[i]];
	return text;
}

static bool one_order(struct bystander *w, const enum part *order, bool as_sender)
{
	struct victim v = { .as_sender = as_sender };
	int i, err, told, pass = 0;

	err = victim_open(&v);
	for (i = 0; i < PARTS && !err; i++) {
		victim_part(&v, order[i]);
		if (i == PARTS / 2)
			pass = bystander_pass(w);
	}
	told = err ? err : victim_other_told(&v);
	life_close(&v.a);
	life_close(&v.b);
	if (v.l)
		dmastream_listener_close(v.l);
	if (err || told || pass)
		printf("# order %s of a %s: open %d, the other %d, the bystander %d\n",
		       order_text(order), as_sender ? "sender" : "receiver", err, told, pass);
	return !err && !told && !pass;
}

/* The next permutation in the order of the alphabet. */
static bool next_order(enum part *p)
{
	int i = PARTS - 2, j = PARTS - 1, k;
	enum part t;

	while (i >= 0 && p[i] > p[i + 1])
		i--;
	if (i < 0)
		return false;
	while (p[j] < p[i])
		j--;
	t = p[i];
	p[i] = p[j];
	p[j] = t;
	for (j = i + 1, k = PARTS - 1; j < k; j++, k--) {
		t = p[j];
		p[j] = p[k];
		p[k] = t;
	}
	return true;
}

static void all_orders(struct bystander *w)
{
	enum part order[PARTS] = { POOL, GROUPS, RING, STREAM, LISTENER, CONTEXT };
	unsigned int step = life_count(1, 24), n = 0, bad = 0, done = 0;

	do {
		if (n++ % step)
			continue;
		bad += !one_order(w, order, n / step % 2);
		done++;
		if (bad > 3)
			break;
	} while (next_order(order));
	kt_ok(!bad && done > 1, "%u of 720 orders of closing, %u of them wrong", done, bad);
}

/* ---- a close against a submission of the same ---- */

struct race {
	struct life_end		e, peer;
	uint32_t		stream;
	volatile uint32_t	go;
	unsigned int		what;	/* 0: pool, 1: stream, 2: group's file, 3: ring's file */
};

static void *race_close(void *arg)
{
	struct race *r = arg;
	struct dmastream_close pool = {
		.type = DMASTREAM_OBJ_POOL,
		.handle = dmastream_pool_handle(r->e.pool),
	};

	while (!r->go)
		sched_yield();
	switch (r->what) {
	case 0:
		ioctl(dmastream_fd(r->e.ctx), DMASTREAM_IOC_CLOSE, &pool);
		break;
	case 1:
		dmastream_stream_close(r->e.ctx, r->stream, DMASTREAM_CLOSE_ABORT, 60000);
		break;
	case 2:
		dmastream_group_close(r->e.large);
		r->e.large = NULL;
		break;
	}
	return NULL;
}

/* Each accepted submission completes once, whatever happens. */
static int race_submit(struct race *r)
{
	unsigned int sent = 0, done = 0;
	struct dmastream_cqe cqe;
	int i, n;

	r->go = 1;
	for (i = 0; i < 24; i++) {
		if (life_send(&r->e, r->stream, i % 3 ? 1000 : 40000, 0xc000000000000000ULL + i))
			break;
		n = dmastream_submit(r->e.ring);
		if (n < 0)
			return n;
		sent += n;
	}
	while (done < sent) {
		n = life_cqe(&r->e, &cqe, 60000);
		if (n)
			return n;
		done += DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_SEND;
		/* a peer that reads on: what is accepted can be delivered */
		while (dmastream_cq_ready(r->peer.ring)) {
			struct dmastream_cqe got;
			uint64_t at = 0;
			bool right = true;

			life_cqe(&r->peer, &got, 0);
			life_received(&r->peer, &got, &at, true, &right);
			if (!(got.flags & DMASTREAM_CQE_EOS) && got.result > 0 &&
			    got.tag >> 60 != 0xc)
				return -EBADMSG;
		}
	}
	return 0;
}

static void races(struct bystander *w)
{
	unsigned int i, rounds = life_count(60, 6), bad = 0, b_bad = 0;
	struct race r;
	pthread_t t;
	uint32_t sb;
	int err;

	for (i = 0; i < rounds && !bad; i++) {
		memset(&r, 0, sizeof(r));
		r.what = i % 3;
		err = life_open(&r.e);
		if (!err)
			err = life_open(&r.peer);
		if (!err)
			err = life_give_all(&r.peer);
		if (!err)
			err = life_link(&r.e, &r.peer, &r.stream, &sb);
		if (!err)
			err = pthread_create(&t, NULL, race_close, &r);
		if (!err) {
			err = race_submit(&r);
			pthread_join(t, NULL);
		}
		if (err)
			printf("# race %u against the end of %u: %d\n", i, r.what, err);
		bad += !!err;
		b_bad += !!bystander_pass(w);
		life_close(&r.e);
		life_close(&r.peer);
	}
	kt_ok(!bad, "%u races of a submission against a close", i);
	kt_ok(!b_bad, "the bystander notices nothing of them");
}

/* ---- a buffer in two places ---- */

/* The guilty one gets what it asked for, garbage perhaps; it and nobody else. */
static void twice(struct bystander *w)
{
	struct life_end a, b;
	struct dmastream_cqe cqe;
	uint32_t sa, sb, i, got = 0;
	int err = 0;

	if (life_open(&a) || life_open(&b))
		kt_die("open");
	for (i = 0; i < 8; i++) {
		err |= life_give(&b, 0);
		err |= life_give(&b, LIFE_SMALL_N);
	}
	kt_is(err, 0, "one buffer is given eight times");
	kt_is(life_link(&a, &b, &sa, &sb), 0, "a stream into it");
	for (i = 0; i < 4; i++) {
		life_send(&a, sa, i % 2 ? 100000 : 4000, 0xd000000000000000ULL + i);
		dmastream_submit(a.ring);
	}
	while (got < 4 && !life_until(&a, DMASTREAM_OP_SEND, &cqe, 60000))
		got += cqe.result > 0;
	kt_is(got, 4, "every message is delivered");
	kt_is(bystander_pass(w), 0, "the bystander notices nothing");

	/* a landing that is sent from at the same time: to itself */
	for (i = 0; i < 4; i++) {
		struct dmastream_sqe *sqe = dmastream_get_sqe(a.ring);

		life_give(&b, 1);
		dmastream_prep_send(sqe, sa, dmastream_pool_handle(a.pool), 0, 8000, 1, 1);
	}
	dmastream_submit(a.ring);
	for (got = 0; got < 4 && !life_until(&a, DMASTREAM_OP_SEND, &cqe, 60000);)
		got++;
	kt_is(got, 4, "sends from a buffer that is given away complete");
	kt_is(bystander_pass(w), 0, "the bystander notices nothing");
	life_close(&a);
	life_close(&b);
}

int main(void)
{
	struct bystander w;
	int64_t want[LIFE_GAUGES];
	unsigned int ms;
	bool ok;

	life_watchdog(400);
	bystander_open(&w);
	all_orders(&w);
	life_want(want, 2);
	want[LIFE_STREAMS] = LIFE_ANY;
	want[LIFE_LANDED] = LIFE_ANY;
	ok = life_settle(want, &ms);
	kt_ok(ok, "only the bystander is left, after %u ms", ms);
	races(&w);
	twice(&w);
	kt_is(life_offences(), 0, "nobody broke the protocol");
	life_close(&w.a);
	life_close(&w.b);
	ok = life_empty(&ms);
	kt_ok(ok, "all gauges are 0 after %u ms", ms);
	return kt_end();
}
