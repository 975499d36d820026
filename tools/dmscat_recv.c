// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmscat: the receiver.
 *
 * Messages land in the pool, piece by piece and in order; each piece is
 * written from where it landed, and its buffer given again.  After the end of
 * the stream the sender is told how much was written, or why not.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "dmscat.h"

#define COOKIE_SMALL	(1ULL << 32)
#define UD_REPORT	UINT64_MAX

struct receiver {
	struct cat	*cat;
	uint64_t	msg_bytes;	/* of the message that is coming in */
	uint64_t	written;
	bool		eos;
	bool		unwritable;	/* the output failed: what still comes is dropped */
	bool		report_done;
};

static int give(struct cat *cat, uint64_t cookie)
{
	uint32_t i = (uint32_t)cookie;

	if (cookie & COOKIE_SMALL)
		return dmastream_group_give(cat->small, cat->ring, cookie,
					    cat->small_off + (uint64_t)i * cat->small_len,
					    cat->small_len);
	return dmastream_group_give(cat->large, cat->ring, cookie,
				    cat->large_off + (uint64_t)i * cat->o.buf_len,
				    (uint32_t)cat->o.buf_len);
}

static int give_all(struct cat *cat)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < CAT_SMALL && !ret; i++)
		ret = give(cat, COOKIE_SMALL | i);
	for (i = 0; i < cat->o.nbufs && !ret; i++)
		ret = give(cat, i);
	return ret;
}

static const void *landed_at(const struct cat *cat, uint64_t cookie)
{
	uint32_t i = (uint32_t)cookie;

	if (cookie & COOKIE_SMALL)
		return dmastream_pool_ptr(cat->pool, cat->small_off +
					  (uint64_t)i * cat->small_len);
	return dmastream_pool_ptr(cat->pool, cat->large_off +
				  (uint64_t)i * cat->o.buf_len);
}

/* A piece of a message, or its end. */
static int handle_piece(struct receiver *r, const struct dmastream_cqe *cqe)
{
	bool last = !(cqe->flags & DMASTREAM_CQE_MORE);
	uint64_t bytes = (uint64_t)cqe->result;
	int ret;

	/* the last one tells the bytes of the whole message */
	if (last)
		bytes -= r->msg_bytes;
	r->msg_bytes = last ? 0 : r->msg_bytes + bytes;
	if (!r->cat->progress.messages && last)
		r->cat->progress.total = cqe->tag;
	if (!bytes || r->unwritable || (cqe->flags & DMASTREAM_CQE_NOBUF)) {
		cat_progress_moved(r->cat, 0, last);
		return 0;
	}
	ret = cat_file_write(r->cat, landed_at(r->cat, cqe->user_data), bytes);
	if (ret) {
		cat_error(r->cat, "writing the output", ret);
		r->unwritable = true;
		return ret;
	}
	r->written += bytes;
	cat_progress_moved(r->cat, bytes, last);
	return 0;
}

static int handle_cqe(struct receiver *r, const struct dmastream_cqe *cqe)
{
	bool mine = cqe->stream == r->cat->stream;
	int ret = 0;

	if (DMASTREAM_CQE_OP(cqe->flags) == DMASTREAM_OP_SEND) {
		if (mine)
			r->report_done = true;
		return mine && cqe->result < 0 ? cqe->result : 0;
	}
	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_RECV)
		return 0;
	if (mine && (cqe->flags & DMASTREAM_CQE_EOS)) {
		r->eos = true;
		return cqe->result < 0 ? cqe->result : 0;
	}
	if (mine)
		ret = cqe->result < 0 ? cqe->result : handle_piece(r, cqe);
	/* also after an error, and from a stream that ended: for the next one */
	if (!(cqe->flags & (DMASTREAM_CQE_NOBUF | DMASTREAM_CQE_EOS)))
		give(r->cat, cqe->user_data);
	return ret;
}

/* Until @end; the first error. */
static int receive_until(struct receiver *r, const bool *end)
{
	struct dmastream_cqe *cqe;
	int ret;

	while (!*end) {
		cqe = dmastream_peek_cqe(r->cat->ring);
		ret = cqe ? handle_cqe(r, cqe) : cat_wait(r->cat);
		if (cqe)
			dmastream_cqe_seen(r->cat->ring);
		if (ret)
			return ret;
		cat_progress_show(r->cat, false);
	}
	return 0;
}

static void put_le(uint8_t *p, uint64_t v, int n)
{
	int i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* A sender that is not dmscat may not want to know. */
static void send_report(struct receiver *r, int error)
{
	struct cat *cat = r->cat;
	struct cat_report *report = dmastream_pool_ptr(cat->pool, cat->report_off);
	struct dmastream_sqe *sqe = dmastream_get_sqe(cat->ring);
	int ret = sqe ? 0 : -EBUSY;

	if (!ret) {
		memset(report, 0, sizeof(*report));
		memcpy(report->magic, CAT_MAGIC, 8);
		put_le(report->status, (uint64_t)-error, 4);
		put_le(report->bytes, r->written, 8);
		dmastream_prep_send(sqe, cat->stream,
				    dmastream_pool_handle(cat->pool),
				    cat->report_off, sizeof(*report), 0, UD_REPORT);
		ret = cat_submit(cat);
	}
	cat->progress.moved_ns = dmastream_now_ns();
	if (!ret)
		ret = receive_until(r, &r->report_done);
	if (ret)
		cat_note(cat, "the sender did not take the report: %s", strerror(-ret));
}

/* One connection from its first byte to its last. */
static int receive(struct cat *cat)
{
	struct receiver r = { .cat = cat };
	int ret;

	cat_progress_start(cat, 0);
	ret = receive_until(&r, &r.eos);
	if (ret) {
		/* a broken output is for the sender to know; a broken stream it knows */
		if (r.unwritable)
			send_report(&r, ret);
		else
			cat_broke(cat, "receiving", ret);
		dmastream_stream_close(cat->ctx, cat->stream,
				       DMASTREAM_CLOSE_ABORT, cat_close_ms(cat));
		return ret;
	}
	cat_progress_show(cat, false);
	send_report(&r, 0);
	ret = dmastream_stream_close(cat->ctx, cat->stream, 0, cat_close_ms(cat));
	if (ret)
		cat_note(cat, "closing the stream: %s", strerror(-ret));
	return 0;
}

static int accept_one(struct cat *cat, struct dmastream_listener *listener)
{
	struct dmastream_stream_opts opts = {
		.ring = dmastream_ring_handle(cat->ring),
		.small_group = dmastream_group_handle(cat->small),
		.large_group = dmastream_group_handle(cat->large),
	};
	char peer[DMASTREAM_ADDR_TEXT];
	int ret;

	memset(&cat->err, 0, sizeof(cat->err));
	do {
		ret = dmastream_accept(listener, &opts, cat->o.timeout_ms,
				       &cat->stream, &cat->err.peer);
	} while (ret == -EINTR);
	if (ret) {
		cat_error(cat, "waiting for a sender", ret);
		return ret;
	}
	cat_note(cat, "connection from %s",
		 dmastream_addr_text(&cat->err.peer, peer, sizeof(peer)));
	return 0;
}

int cat_serve(struct cat *cat)
{
	struct dmastream_listener *listener;
	int ret;

	ret = give_all(cat);
	if (!ret)
		ret = dmastream_listen(cat->ctx, cat->o.service, 16, 0, &listener);
	if (ret) {
		cat_error(cat, cat->o.service, ret);
		cat_summary(cat, ret);
		return ret;
	}
	cat_file_open(cat, STDOUT_FILENO, true);
	do {
		ret = accept_one(cat, listener);
		if (ret) {
			cat_summary(cat, ret);
			break;
		}
		/* one is enough: the others hear at once that nobody listens */
		if (!cat->o.keep) {
			dmastream_listener_close(listener);
			listener = NULL;
		}
		ret = receive(cat);
		cat_summary(cat, ret);
	} while (cat->o.keep);
	dmastream_listener_close(listener);
	cat_file_close(cat);
	return ret;
}
