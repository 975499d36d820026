// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ends and pairs, messages, and the engine that sends, receives and checks.
 * The rest is in peer_bed.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kt.h"
#include "peer.h"

#define LARGE_COOKIE	0x100000000ULL
#define HANDLES		65537

const struct peer_cfg peer_default = {
	.small_n = 64, .small_len = 8192,
	.large_n = 8, .large_len = 1 << 20,
	.sq = 256, .cq = 1024, .recv_min = 256,
	.tx_bytes = 8 << 20,
};

/* ---- messages ---- */

static uint64_t word_at(uint16_t key, uint16_t id, uint32_t i)
{
	uint64_t w = ((uint64_t)key << 48 | (uint64_t)id << 32 | i) * 0x9e3779b97f4a7c15ULL;

	return w ^ w >> 29;
}

void peer_fill(void *buf, uint16_t key, uint16_t id, uint32_t at, uint32_t len)
{
	char *p = buf;

	while (len) {
		uint64_t w = word_at(key, id, at / 8);
		uint32_t skip = at % 8, n = 8 - skip < len ? 8 - skip : len;

		memcpy(p, (char *)&w + skip, n);
		p += n;
		at += n;
		len -= n;
	}
}

bool peer_check(const void *buf, uint16_t key, uint16_t id, uint32_t at, uint32_t len)
{
	const char *p = buf;

	while (len) {
		uint64_t w = word_at(key, id, at / 8);
		uint32_t skip = at % 8, n = 8 - skip < len ? 8 - skip : len;

		if (memcmp(p, (char *)&w + skip, n)) {
			peer_fail("stream %#x message %u: wrong byte at or after %u", key, id, at);
			return false;
		}
		p += n;
		at += n;
		len -= n;
	}
	return true;
}

uint64_t peer_tag(uint16_t key, uint16_t id, uint32_t len)
{
	return (uint64_t)key << 48 | (uint64_t)id << 32 | len;
}

/* ---- ends ---- */

static void end_groups(struct peer_end *e)
{
	const struct peer_cfg *c = &e->cfg;

	if (c->small_n && dmastream_group_create(e->ctx, e->pool, c->small_n, c->small_len,
						 &e->small))
		kt_die("small group");
	if (c->large_n && dmastream_group_create(e->ctx, e->pool, c->large_n, c->large_len,
						 &e->large))
		kt_die("large group");
}

struct peer_end *peer_end_new(const struct peer_cfg *cfg)
{
	struct peer_end *e = calloc(1, sizeof(*e));
	/* long enough for a thread that gets a CPU seldom */
	uint32_t poll_us = peer_polled() ? 500000 : cfg->poll_us;
	uint64_t land, size;

	e->cfg = *cfg;
	e->large_at = ((uint64_t)cfg->small_n * cfg->small_len + 4095) & ~4095ULL;
	land = (e->large_at + (uint64_t)cfg->large_n * cfg->large_len + 4095) & ~4095ULL;
	size = land + ((cfg->tx_bytes + 4095) & ~4095ULL);
	errno = -dmastream_open(&e->ctx, NULL);
	if (errno)
		kt_die("open");
	errno = -dmastream_pool_create(e->ctx, size, -1, &e->pool);
	if (errno)
		kt_die("pool");
	e->base = dmastream_pool_base(e->pool);
	if (dmastream_heap_create(&e->heap) ||
	    (cfg->tx_bytes && dmastream_heap_add(e->heap, e->pool, land, size - land)))
		kt_die("heap");
	if (poll_us)
		errno = -dmastream_ring_create_polled(e->ctx, cfg->sq, cfg->cq, cfg->recv_min,
						      poll_us, &e->ring);
	else
		errno = -dmastream_ring_create(e->ctx, cfg->sq, cfg->cq, cfg->recv_min, &e->ring);
	if (errno)
		kt_die("ring");
	end_groups(e);
	e->of_handle = calloc(HANDLES, sizeof(*e->of_handle));
	e->kept = calloc(cfg->small_n + cfg->large_n + 1, sizeof(*e->kept));
	return e;
}

void peer_end_free(struct peer_end *e)
{
	if (!e)
		return;
	dmastream_group_close(e->small);
	dmastream_group_close(e->large);
	dmastream_ring_close(e->ring);
	dmastream_heap_destroy(e->heap);
	dmastream_pool_close(e->pool);
	dmastream_close(e->ctx);
	free(e->streams);
	free(e->of_handle);
	free(e->kept);
	free(e);
}

void peer_opts(const struct peer_end *e, struct dmastream_stream_opts *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->flags = e->cfg.flags;
	opts->ring = dmastream_ring_handle(e->ring);
	if (e->small)
		opts->small_group = dmastream_group_handle(e->small);
	if (e->large)
		opts->large_group = dmastream_group_handle(e->large);
}

struct peer_stream *peer_stream_new(struct peer_end *e, uint32_t handle, uint16_t key)
{
	struct peer_stream *s;

	if (e->nr == e->max) {
		e->max = e->max ? 2 * e->max : 8;
		e->streams = realloc(e->streams, e->max * sizeof(*s));
	}
	s = &e->streams[e->nr++];
	memset(s, 0, sizeof(*s));
	s->handle = handle;
	s->key = key;
	s->rx_key = -1;
	s->eos_result = PEER_EOS_NONE;
	e->of_handle[handle] = e->nr;
	return s;
}

struct peer_stream *peer_stream_of(struct peer_end *e, uint32_t handle)
{
	if (handle >= HANDLES || !e->of_handle[handle])
		return NULL;
	return &e->streams[e->of_handle[handle] - 1];
}

uint64_t peer_landing_off(const struct peer_end *e, uint64_t cookie, uint32_t *len)
{
	uint32_t i = cookie;

	*len = cookie & LARGE_COOKIE ? e->cfg.large_len : e->cfg.small_len;
	return (cookie & LARGE_COOKIE ? e->large_at : 0) + (uint64_t)i * *len;
}

static struct dmastream_group *landing_group(struct peer_end *e, uint64_t cookie)
{
	return cookie & LARGE_COOKIE ? e->large : e->small;
}

void peer_give(struct peer_end *e, uint64_t cookie)
{
	struct dmastream_group *g = landing_group(e, cookie);
	uint32_t len;
	uint64_t off = peer_landing_off(e, cookie, &len);
	int err = e->batch ? dmastream_group_add(g, cookie, off, len) :
			     dmastream_group_give(g, e->ring, cookie, off, len);

	if (err)
		peer_fail("a landing cannot be given back: %s", strerror(-err));
}

void peer_give_all(struct peer_end *e)
{
	uint32_t i;

	for (i = 0; i < e->cfg.small_n; i++)
		peer_give(e, i);
	for (i = 0; i < e->cfg.large_n; i++)
		peer_give(e, LARGE_COOKIE | i);
}

void peer_give_kept(struct peer_end *e)
{
	while (e->nr_kept)
		peer_give(e, e->kept[--e->nr_kept]);
}

/* ---- pairs ---- */

int peer_pair_open(struct peer_pair *p, const char *service, const struct peer_cfg *a,
		   const struct peer_cfg *b)
{
	int err = 0;

	memset(p, 0, sizeof(*p));
	snprintf(p->service, sizeof(p->service), "%s", service);
	peer_addr_of(peer_two_nodes() ? "DMS_PEER0" : "DMS_ADDR", &p->addr);
	if (peer_has_b()) {
		p->b = peer_end_new(b);
		peer_give_all(p->b);
		err = dmastream_listen(p->b->ctx, service, 64, 0, &p->listener);
	}
	if (peer_has_a()) {
		p->a = peer_end_new(a);
		peer_give_all(p->a);
	}
	peer_sync("listening");
	return err;
}

int peer_pair_connect(struct peer_pair *p, uint16_t key)
{
	struct dmastream_stream_opts opts;
	struct dmastream_error where = { 0 };
	char text[DMASTREAM_EXPLAIN_TEXT];
	uint32_t handle;
	int err;

	if (p->a) {
		peer_opts(p->a, &opts);
		err = dmastream_connect(p->a->ctx, &p->addr, p->service, &opts, peer_ms(20000),
					&handle, &where);
		if (err) {
			peer_fail("connect: %s",
				  dmastream_explain(err, &where, text, sizeof(text)));
			return err;
		}
		peer_stream_new(p->a, handle, key);
	}
	if (p->b) {
		peer_opts(p->b, &opts);
		err = dmastream_accept(p->listener, &opts, peer_ms(20000), &handle, NULL);
		if (err) {
			peer_fail("accept: %s", strerror(-err));
			return err;
		}
		peer_stream_new(p->b, handle, key + 0x8000);
	}
	return 0;
}

static void end_close(struct peer_end *e)
{
	uint32_t i;
	int err;

	for (i = 0; e && i < e->nr; i++) {
		if (!e->streams[i].handle)
			continue;
		err = dmastream_stream_close(e->ctx, e->streams[i].handle, 0, peer_ms(20000));
		if (err)
			peer_fail("close of stream %u: %s", i, strerror(-err));
	}
}

void peer_pair_close(struct peer_pair *p)
{
	peer_waits_for("close");
	end_close(p->a);
	end_close(p->b);
	dmastream_listener_close(p->listener);
	peer_end_free(p->a);
	peer_end_free(p->b);
	memset(p, 0, sizeof(*p));
}

/* ---- sending ---- */

static struct peer_send *send_new(struct peer_end *e, uint32_t i, uint32_t len,
				  uint32_t room)
{
	struct peer_send *req = calloc(1, sizeof(*req));

	req->stream = i;
	req->len = len;
	req->want = len;
	req->id = e->streams[i].tx_id;
	if (room) {
		req->buf = dmastream_alloc(e->heap, room);
		if (!req->buf) {
			free(req);
			return NULL;
		}
	}
	return req;
}

static void send_out(struct peer_end *e, struct peer_send *req)
{
	e->streams[req->stream].tx_out++;
	e->streams[req->stream].tx_id++;
	e->out++;
}

int peer_prep(struct peer_end *e, uint32_t i, uint32_t len, uint32_t shift, uint8_t flags,
	      int want)
{
	struct peer_stream *s = &e->streams[i];
	struct peer_send *req;
	struct dmastream_sqe *sqe;
	uint32_t pool = 0;
	uint64_t off = 0;

	if (!dmastream_sq_space(e->ring))
		return -EAGAIN;
	req = send_new(e, i, len, len ? len + shift : 0);
	if (!req)
		return -EAGAIN;
	req->flags = flags;
	req->want = want;
	if (len) {
		peer_fill((char *)req->buf + shift, s->key, req->id, 0, len);
		/* the heap may have pools of its own, see test_transfer_heap.c */
		dmastream_heap_locate(e->heap, (char *)req->buf + shift, &pool, &off);
	}
	sqe = dmastream_get_sqe(e->ring);
	dmastream_prep_send(sqe, s->handle, pool, off, len, peer_tag(s->key, req->id, len),
			    (uintptr_t)req);
	dmastream_sqe_set_flags(sqe, flags);
	send_out(e, req);
	return 0;
}

int peer_prep_vec(struct peer_end *e, uint32_t i, const uint32_t *len, uint32_t n,
		  uint32_t shift)
{
	struct dmastream_vec vec[DMASTREAM_VEC_MAX] = { 0 };
	struct peer_stream *s = &e->streams[i];
	uint32_t room = 0, total = 0, k;
	struct peer_send *req;
	char *at;

	for (k = 0; k < n; k++) {
		room += len[k] + shift;
		total += len[k];
	}
	if (!dmastream_sq_space(e->ring))
		return -EAGAIN;
	req = send_new(e, i, total, room);
	if (!req)
		return -EAGAIN;
	at = req->buf;
	total = 0;
	for (k = 0; k < n; k++) {
		at += shift;
		peer_fill(at, s->key, req->id, total, len[k]);
		vec[k].off = dmastream_pool_off(e->pool, at);
		vec[k].len = len[k];
		at += len[k];
		total += len[k];
	}
	dmastream_prep_send_vec(e->ring, dmastream_get_sqe(e->ring), s->handle,
				dmastream_pool_handle(e->pool), vec, n,
				peer_tag(s->key, req->id, total), (uintptr_t)req);
	send_out(e, req);
	return 0;
}

int peer_submit(struct peer_end *e)
{
	int err = dmastream_submit(e->ring);

	if (err < 0 && err != -EAGAIN)
		peer_fail("submit: %s", strerror(-err));
	return err;
}

static void poll_both(struct peer_end *a, struct peer_end *b, int ms)
{
	struct pollfd fds[2];
	int n = 0;

	if (a)
		fds[n++] = (struct pollfd){ .fd = dmastream_ring_fd(a->ring), .events = POLLIN };
	if (b)
		fds[n++] = (struct pollfd){ .fd = dmastream_ring_fd(b->ring), .events = POLLIN };
	poll(fds, n, ms);
}

void peer_send(struct peer_pair *p, struct peer_end *e, uint32_t i, uint32_t len,
	       uint32_t shift)
{
	while (peer_prep(e, i, len, shift, 0, len)) {
		peer_submit(e);
		if (p->a)
			peer_poll(p->a);
		if (p->b)
			peer_poll(p->b);
		poll_both(p->a, p->b, 10);
	}
	peer_submit(e);
}

/* ---- receiving ---- */

static void send_done(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct peer_send *req = (void *)(uintptr_t)cqe->user_data;
	struct peer_stream *s = &e->streams[req->stream];

	if (cqe->result != req->want)
		peer_fail("stream %#x send %u of %u bytes: result %d, not %d", s->key, req->id,
			  req->len, cqe->result, req->want);
	if (cqe->flags & DMASTREAM_CQE_MORE) {
		if (req->told || !(req->flags & DMASTREAM_SQE_SPLIT))
			peer_fail("stream %#x send %u: MORE twice, or not asked for", s->key,
				  req->id);
		req->told = true;
		req->result = cqe->result;
		e->more++;
		return;
	}
	if (!!(cqe->flags & DMASTREAM_CQE_NOTIFY) != req->told)
		peer_fail("stream %#x send %u: NOTIFY without MORE, or none after it", s->key,
			  req->id);
	e->notify += req->told;
	if (cqe->result >= 0) {
		s->tx_msgs++;
		s->tx_bytes += cqe->result;
	} else {
		s->tx_failed++;
	}
	s->tx_out--;
	e->out--;
	dmastream_free(e->heap, req->buf);
	free(req);
}

static void recv_first(struct peer_stream *s, const struct dmastream_cqe *cqe)
{
	uint16_t key = cqe->tag >> 48, id = cqe->tag >> 32;

	if (s->rx_key < 0)
		s->rx_key = key;
	if (key != s->rx_key)
		peer_fail("stream %#x received a message of stream %#x", s->key, key);
	if (id != s->rx_id)
		peer_fail("stream %#x received message %u, not %u", s->key, id, s->rx_id);
	if (cqe->seq != s->rx_seq + 1)
		peer_fail("stream %#x received seq %u, not %u", s->key, cqe->seq, s->rx_seq + 1);
	s->rx_id = id;
	s->rx_seq = cqe->seq;
}

static void recv_done(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct peer_stream *s = peer_stream_of(e, cqe->stream);
	uint32_t total = cqe->tag, cap, n;
	uint64_t off;

	if (!s) {
		peer_fail("received on stream handle %u, which is not open", cqe->stream);
		return;
	}
	if (!s->part)
		recv_first(s, cqe);
	n = cqe->result;
	if (!(cqe->flags & DMASTREAM_CQE_MORE))
		n -= s->part;
	off = peer_landing_off(e, cqe->user_data, &cap);
	if (cqe->result < 0 || n > cap || s->part + n > total ||
	    (!(cqe->flags & DMASTREAM_CQE_MORE) && (uint32_t)cqe->result != total))
		peer_fail("stream %#x message %u of %u bytes: result %d after %u, buffer %u",
			  s->key, s->rx_id, total, cqe->result, s->part, cap);
	else
		peer_check(e->base + off, s->rx_key, s->rx_id, s->part, n);
	memset(e->base + off, 0xee, n < 256 ? n : 256);
	s->part += n;
	if (cqe->flags & DMASTREAM_CQE_MORE) {
		e->parts++;
	} else {
		s->rx_id++;
		s->rx_msgs++;
		s->rx_bytes += total;
		s->part = 0;
		e->rx_msgs++;
		e->rx_bytes += total;
		s->came_at = e->rx_bytes;
		if (total <= e->cfg.small_len && total <= dmastream_limits(e->ctx)->eager_max)
			e->rx_eager += total;
	}
	if (e->keep)
		e->kept[e->nr_kept++] = cqe->user_data;
	else
		peer_give(e, cqe->user_data);
}

static void eos_done(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct peer_stream *s = peer_stream_of(e, cqe->stream);

	if (!s || s->eos_result != PEER_EOS_NONE)
		peer_fail("end of stream told twice, or of an unknown stream %u", cqe->stream);
	else
		s->eos_result = cqe->result;
}

unsigned int peer_poll(struct peer_end *e)
{
	struct dmastream_cqe *at, cqe;
	unsigned int n = 0;

	while ((at = dmastream_peek_cqe(e->ring))) {
		cqe = *at;
		dmastream_cqe_seen(e->ring);
		n++;
		if (e->other && e->other(e, &cqe))
			continue;
		if (cqe.flags & DMASTREAM_CQE_EOS)
			eos_done(e, &cqe);
		else if (DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_SEND)
			send_done(e, &cqe);
		else if (DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_RECV)
			recv_done(e, &cqe);
		else
			peer_fail("completion of operation %u that nobody asked for",
				  DMASTREAM_CQE_OP(cqe.flags));
	}
	if (dmastream_sq_pending(e->ring))
		peer_submit(e);
	return n;
}

bool peer_run(struct peer_end *a, struct peer_end *b, bool (*done)(void *arg), void *arg,
	      unsigned int ms, const char *what)
{
	uint64_t end = kt_now_ns() + peer_ms(ms) * 1000000ULL;
	unsigned int n;

	peer_waits_for("%s", what);
	for (;;) {
		n = a ? peer_poll(a) : 0;
		n += b ? peer_poll(b) : 0;
		if (done(arg))
			return true;
		if (kt_now_ns() > end) {
			peer_fail("the time is over while waiting for: %s", what);
			return false;
		}
		if (!n)
			poll_both(a, b, 20);
	}
}

struct settle {
	struct peer_pair	*p;
	uint64_t		rx_a, rx_b;
};

static bool settled(void *arg)
{
	struct settle *w = arg;

	return (!w->p->a || (!w->p->a->out && w->p->a->rx_msgs >= w->rx_a)) &&
	       (!w->p->b || (!w->p->b->out && w->p->b->rx_msgs >= w->rx_b));
}

bool peer_settle(struct peer_pair *p, uint64_t rx_a, uint64_t rx_b)
{
	struct settle w = { p, rx_a, rx_b };

	if (peer_run(p->a, p->b, settled, &w, 120000, "sends and receives to settle"))
		return true;
	if (p->a)
		printf("# a: %u sends out, %llu of %llu received\n", p->a->out,
		       (unsigned long long)p->a->rx_msgs, (unsigned long long)rx_a);
	if (p->b)
		printf("# b: %u sends out, %llu of %llu received\n", p->b->out,
		       (unsigned long long)p->b->rx_msgs, (unsigned long long)rx_b);
	return false;
}

int peer_next(struct peer_end *e, struct dmastream_cqe *cqe, unsigned int ms)
{
	struct dmastream_cqe *at;
	int err = dmastream_wait_cqe_timeout(e->ring, &at, peer_ms(ms));

	if (err)
		return err;
	*cqe = *at;
	return dmastream_cqe_seen(e->ring);
}
