// SPDX-License-Identifier: GPL-2.0-only
/*
 * One end of a stream, for tests of life and death.  See life.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "life.h"

static int life_open_groups(struct life_end *e)
{
	int err;

	err = dmastream_group_create(e->ctx, e->pool, LIFE_SMALL_N, LIFE_SMALL, &e->small);
	if (err)
		return err;
	return dmastream_group_create(e->ctx, e->pool, LIFE_LARGE_N, LIFE_LARGE, &e->large);
}

int life_open(struct life_end *e)
{
	int err;

	memset(e, 0, sizeof(*e));
	err = dmastream_open(&e->ctx, NULL);
	if (err)
		return err;
	err = dmastream_pool_create(e->ctx, LIFE_POOL, -1, &e->pool);
	if (!err)
		err = dmastream_ring_create(e->ctx, 64, 256, 64, &e->ring);
	if (!err)
		err = life_open_groups(e);
	if (err) {
		life_close(e);
		return err;
	}
	e->base = dmastream_pool_base(e->pool);
	return 0;
}

void life_close(struct life_end *e)
{
	if (e->small)
		dmastream_group_close(e->small);
	if (e->large)
		dmastream_group_close(e->large);
	if (e->ring)
		dmastream_ring_close(e->ring);
	if (e->pool)
		dmastream_pool_close(e->pool);
	if (e->ctx)
		dmastream_close(e->ctx);
	memset(e, 0, sizeof(*e));
}

uint64_t life_landing(uint32_t n, uint32_t *len)
{
	if (n < LIFE_SMALL_N) {
		*len = LIFE_SMALL;
		return (uint64_t)n * LIFE_SMALL;
	}
	*len = LIFE_LARGE;
	return LIFE_LARGE_AT + (uint64_t)(n - LIFE_SMALL_N) * LIFE_LARGE;
}

int life_give(struct life_end *e, uint32_t n)
{
	struct dmastream_group *group = n < LIFE_SMALL_N ? e->small : e->large;
	uint32_t len;
	uint64_t off = life_landing(n, &len);

	if (n >= LIFE_LANDINGS)
		return -EINVAL;
	return group ? dmastream_group_give(group, e->ring, n, off, len) : -ENODEV;
}

int life_give_all(struct life_end *e)
{
	uint32_t n;
	int err;

	for (n = 0; n < LIFE_LANDINGS; n++) {
		err = life_give(e, n);
		if (err)
			return err;
	}
	return 0;
}

struct dmastream_stream_opts life_opts(const struct life_end *e, uint64_t cookie)
{
	struct dmastream_stream_opts opts = {
		.cookie = cookie,
		.ring = dmastream_ring_handle(e->ring),
		.small_group = dmastream_group_handle(e->small),
		.large_group = dmastream_group_handle(e->large),
	};

	return opts;
}

struct dmastream_addr life_addr(const char *name)
{
	const char *text = getenv(name);
	struct dmastream_addr addr = { .family = AF_INET };

	if (!text || inet_pton(AF_INET, text, addr.addr) != 1) {
		fprintf(stderr, "%s is no address\n", name);
		exit(1);
	}
	return addr;
}

struct dmastream_addr life_self(void)
{
	return life_addr("DMS_ADDR");
}

int life_connect(struct life_end *e, const struct dmastream_addr *to,
		 const char *service, uint32_t *stream)
{
	struct dmastream_stream_opts opts = life_opts(e, 0);
	const char *scale = getenv("DMS_TIMEOUT_SCALE");

	return dmastream_connect(e->ctx, to, service, &opts,
				 10000 * (scale ? atoi(scale) : 1), stream, NULL);
}

int life_link(struct life_end *a, struct life_end *b, uint32_t *sa, uint32_t *sb)
{
	struct dmastream_stream_opts opts = life_opts(b, 0);
	struct dmastream_addr self = life_self();
	struct dmastream_listener *l;
	char name[40];
	int err;

	snprintf(name, sizeof(name), "link.%d.%p", getpid(), (void *)b);
	err = dmastream_listen(b->ctx, name, 4, 0, &l);
	if (err)
		return err;
	err = life_connect(a, &self, name, sa);
	if (!err)
		err = dmastream_accept(l, &opts, 60000, sb, NULL);
	dmastream_listener_close(l);
	return err;
}

/* The first word is the tag, so that each message differs at once; the rest follows from it. */
static uint64_t life_word_at(uint64_t tag, uint64_t i)
{
	return i ? tag * 0x9e3779b97f4a7c15ULL + i : tag;
}

void life_fill(void *p, size_t len, uint64_t tag)
{
	uint64_t i, word;

	for (i = 0; i < len / 8; i++)
		((uint64_t *)p)[i] = life_word_at(tag, i);
	word = life_word_at(tag, i);
	memcpy((char *)p + i * 8, &word, len % 8);
}

bool life_check(const void *p, size_t len, uint64_t at, uint64_t tag)
{
	uint64_t i, word;

	for (i = 0; i < len / 8; i++)
		if (((const uint64_t *)p)[i] != life_word_at(tag, at / 8 + i))
			return false;
	word = life_word_at(tag, at / 8 + i);
	return !memcmp((const char *)p + i * 8, &word, len % 8);
}

int life_send(struct life_end *e, uint32_t stream, uint32_t len, uint64_t tag)
{
	uint32_t slot = e->slot++ % LIFE_SLOTS;
	uint64_t off = LIFE_SLOT_AT + (uint64_t)slot * LIFE_SLOT;
	struct dmastream_sqe *sqe = dmastream_get_sqe(e->ring);

	if (!sqe)
		return -ENOSPC;
	life_fill(e->base + off, len, tag);
	dmastream_prep_send(sqe, stream, dmastream_pool_handle(e->pool), off, len, tag, tag);
	return 0;
}

int life_cqe(struct life_end *e, struct dmastream_cqe *cqe, uint32_t ms)
{
	struct dmastream_cqe *at;
	int err;

	err = dmastream_wait_cqe_timeout(e->ring, &at, ms);
	if (err)
		return err;
	*cqe = *at;
	dmastream_cqe_seen(e->ring);
	return 0;
}

static bool life_is_landing(const struct dmastream_cqe *cqe)
{
	return DMASTREAM_CQE_OP(cqe->flags) == DMASTREAM_OP_RECV &&
	       !(cqe->flags & DMASTREAM_CQE_NOBUF);
}

int life_until(struct life_end *e, unsigned int op, struct dmastream_cqe *cqe, uint32_t ms)
{
	int err;

	for (;;) {
		err = life_cqe(e, cqe, ms);
		if (err)
			return err;
		if (DMASTREAM_CQE_OP(cqe->flags) == op)
			return 0;
		if (life_is_landing(cqe))
			life_give(e, cqe->user_data);
	}
}

bool life_received(struct life_end *e, const struct dmastream_cqe *cqe, uint64_t *at,
		   bool give, bool *right)
{
	bool more = cqe->flags & DMASTREAM_CQE_MORE;
	uint32_t len, off;

	if (!life_is_landing(cqe))
		return false;
	off = life_landing(cqe->user_data, &len);
	if (cqe->result >= 0 && cqe->user_data < LIFE_LANDINGS) {
		uint64_t here = more ? (uint64_t)cqe->result : cqe->result - *at;

		*right &= here <= len && life_check(e->base + off, here, *at, cqe->tag);
		*at = more ? *at + here : 0;
	} else {
		*at = 0;
	}
	if (give)
		life_give(e, cqe->user_data);
	return true;
}

int life_pass(struct life_end *a, uint32_t sa, struct life_end *b, uint32_t len, uint64_t tag)
{
	struct dmastream_cqe cqe;
	bool right = true, last;
	uint64_t at = 0;
	int err;

	err = life_send(a, sa, len, tag);
	if (!err)
		err = dmastream_submit(a->ring);
	if (err < 0)
		return err;
	do {
		err = life_until(b, DMASTREAM_OP_RECV, &cqe, 60000);
		if (err)
			return err;
		if (cqe.result < 0)
			return cqe.result;
		last = !(cqe.flags & DMASTREAM_CQE_MORE);
		if (cqe.tag != tag || !life_received(b, &cqe, &at, true, &right) || !right)
			return -EBADMSG;
	} while (!last);
	if (cqe.result != (int)len)
		return -EBADMSG;
	err = life_until(a, DMASTREAM_OP_SEND, &cqe, 60000);
	if (err)
		return err;
	return cqe.result == (int)len ? 0 : cqe.result < 0 ? cqe.result : -EBADMSG;
}
