// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmscat: the sender.
 *
 * Buffers go round: read into the pool, sent as one message each, free again
 * at their completion, which comes when the receiver has the bytes.  While
 * some are on their way, the next ones are read.  The tag of each message is
 * the size of the whole input, when that is known.
 *
 * It ended well when every message was delivered, the receiver's report says
 * that all is written, and the stream closed in order.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dmscat.h"

#define UD_REPORT	UINT64_MAX

struct sender {
	struct cat	*cat;
	uint32_t	*free;		/* stack of buffers */
	uint32_t	nfree;
	uint32_t	in_flight;
	uint32_t	cur;		/* the buffer that is being filled */
	uint32_t	cur_len;
	bool		cur_valid;
	bool		eof;
	bool		reported;
	bool		peer_eos;
	bool		told;		/* the user knows what is wrong */
	int		report_status;
	uint64_t	report_bytes;
	uint64_t	sent_bytes;
	uint64_t	total;
};

static uint64_t buf_off(const struct cat *cat, uint32_t i)
{
	return cat->large_off + (uint64_t)i * cat->o.buf_len;
}

static int sender_sqe(struct sender *s, struct dmastream_sqe **sqe)
{
	int ret;

	*sqe = dmastream_get_sqe(s->cat->ring);
	if (*sqe)
		return 0;
	ret = cat_submit(s->cat);
	if (ret)
		return ret;
	*sqe = dmastream_get_sqe(s->cat->ring);
	return *sqe ? 0 : -EBUSY;
}

static int post_report(struct sender *s)
{
	struct dmastream_sqe *sqe;
	int ret = sender_sqe(s, &sqe);

	if (ret)
		return ret;
	dmastream_prep_recv(sqe, s->cat->stream,
			    dmastream_pool_handle(s->cat->pool),
			    s->cat->report_off, CAT_ALIGN, UD_REPORT);
	return cat_submit(s->cat);
}

static int send_current(struct sender *s)
{
	struct dmastream_sqe *sqe;
	int ret = sender_sqe(s, &sqe);

	if (ret)
		return ret;
	dmastream_prep_send(sqe, s->cat->stream,
			    dmastream_pool_handle(s->cat->pool),
			    buf_off(s->cat, s->cur), s->cur_len, s->total, s->cur);
	if (!s->in_flight++)
		s->cat->progress.moved_ns = dmastream_now_ns();
	s->sent_bytes += s->cur_len;
	s->cur_valid = false;
	return cat_submit(s->cat);
}

static uint64_t le64(const uint8_t *p)
{
	uint64_t v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

/* The receiver's report, or the end of what it says. */
static int handle_report(struct sender *s, const struct dmastream_cqe *cqe)
{
	struct cat_report r;

	if (cqe->flags & DMASTREAM_CQE_EOS) {
		s->peer_eos = true;
		return cqe->result < 0 ? cqe->result : 0;
	}
	if (cqe->result < 0)
		return cqe->result;
	memcpy(&r, dmastream_pool_ptr(s->cat->pool, s->cat->report_off), sizeof(r));
	if (cqe->result < (int)sizeof(r) || memcmp(r.magic, CAT_MAGIC, 8)) {
		cat_note(s->cat, "the receiver sent something that is no report");
		return 0;
	}
	s->reported = true;
	s->report_status = (int)(le64(r.status) & 0x7fffffff);
	s->report_bytes = le64(r.bytes);
	return s->report_status ? -s->report_status : 0;
}

/* Everything that has completed; the first error. */
static int reap(struct sender *s)
{
	struct dmastream_cqe *cqe;
	int ret = 0;

	while (!ret && (cqe = dmastream_peek_cqe(s->cat->ring))) {
		if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_SEND) {
			ret = handle_report(s, cqe);
		} else {
			s->in_flight--;
			s->free[s->nfree++] = (uint32_t)cqe->user_data;
			if (cqe->result < 0)
				ret = cqe->result;
			else
				cat_progress_moved(s->cat, (uint64_t)cqe->result, 1);
		}
		dmastream_cqe_seen(s->cat->ring);
	}
	return ret;
}

/*
 * A pipe may be silent for long, and the stream may break meanwhile: waits for
 * both.  1 when there is something to read, 0 when not, or -ETIMEDOUT.
 */
static int input_ready(struct sender *s)
{
	struct pollfd fds[2] = {
		{ .fd = s->cat->file.fd, .events = POLLIN },
		{ .fd = dmastream_ring_fd(s->cat->ring), .events = POLLIN },
	};
	bool tick = s->cat->progress.terminal ||
		    s->cat->o.timeout_ms != DMASTREAM_TIMEOUT_NONE;

	if (s->cat->file.seekable)
		return 1;
	if (poll(fds, 2, tick ? CAT_TICK_MS : -1) > 0)
		return fds[0].revents != 0;
	return s->in_flight && cat_stalled(s->cat) ? -ETIMEDOUT : 0;
}

/* One read into the current buffer. */
static int fill(struct sender *s)
{
	struct cat *cat = s->cat;
	int64_t n;

	if (!s->cur_valid) {
		s->cur = s->free[--s->nfree];
		s->cur_len = 0;
		s->cur_valid = true;
	}
	n = cat_file_read(cat, (char *)dmastream_pool_ptr(cat->pool, buf_off(cat, s->cur)) +
			  s->cur_len, cat->o.buf_len - s->cur_len);
	if (n == -EINTR || n == -EAGAIN)
		return 0;
	if (n < 0) {
		cat_error(cat, "reading the input", (int)n);
		s->told = true;
		return (int)n;
	}
	s->cur_len += (uint32_t)n;
	s->eof = !n;
	return 0;
}

/*
 * A buffer goes when it is full, or when nothing is on its way: batching costs
 * no time only while the stream is busy.
 */
static bool should_send(const struct sender *s)
{
	return s->cur_valid && s->cur_len &&
	       (s->eof || !s->in_flight || s->cur_len == s->cat->o.buf_len);
}

static int send_input(struct sender *s)
{
	int ret;

	while (!s->eof || s->in_flight || should_send(s)) {
		ret = reap(s);
		if (ret)
			return ret;
		if (should_send(s)) {
			ret = send_current(s);
		} else if (!s->eof && (s->cur_valid || s->nfree)) {
			ret = input_ready(s);
			if (ret > 0)
				ret = fill(s);
		} else if (s->in_flight) {
			ret = cat_wait(s->cat);
		}
		if (ret)
			return ret;
		cat_progress_show(s->cat, false);
	}
	return 0;
}

/* The receiver closes its side after its report, or without one if it is not dmscat. */
static int wait_report(struct sender *s)
{
	int ret;

	while (!s->reported && !s->peer_eos) {
		ret = cat_wait(s->cat);
		if (!ret)
			ret = reap(s);
		if (ret)
			return ret;
	}
	if (!s->reported) {
		cat_note(s->cat, "delivered; the receiver is not dmscat, and did not say what it has written");
		return 0;
	}
	if (s->report_bytes == s->sent_bytes)
		return 0;
	fprintf(stderr, "dmscat: sent %llu bytes, but the receiver has written %llu\n",
		(unsigned long long)s->sent_bytes,
		(unsigned long long)s->report_bytes);
	s->told = true;
	return -EBADMSG;
}

static int send_connected(struct sender *s)
{
	struct cat *cat = s->cat;
	int ret;

	ret = post_report(s);
	if (!ret)
		ret = send_input(s);
	if (!ret)
		ret = dmastream_shutdown(cat->ctx, cat->stream);
	if (!ret)
		ret = wait_report(s);
	if (ret) {
		if (s->report_status)
			cat_error(cat, "the receiver cannot write", ret);
		else if (!s->told)
			cat_broke(cat, "sending", ret);
		dmastream_stream_close(cat->ctx, cat->stream,
				       DMASTREAM_CLOSE_ABORT, cat_close_ms(cat));
		return ret;
	}
	ret = dmastream_stream_close(cat->ctx, cat->stream, 0, cat_close_ms(cat));
	if (ret)
		cat_error(cat, "closing the stream", ret);
	return ret;
}

static int cat_connect(struct cat *cat)
{
	struct dmastream_stream_opts opts = {
		.flags = DMASTREAM_STREAM_POSTED,
		.ring = dmastream_ring_handle(cat->ring),
	};
	uint32_t limit = cat->o.timeout_ms;
	char peer[DMASTREAM_ADDR_TEXT];
	int ret;

	if (limit == DMASTREAM_TIMEOUT_NONE)
		limit = CAT_CLOSE_MS;
	do {
		ret = dmastream_connect_name(cat->ctx, cat->o.host, cat->o.family,
					     cat->o.port, cat->o.service, &opts,
					     limit, &cat->stream, &cat->err);
	} while (ret == -EINTR);
	if (ret) {
		cat_error(cat, cat->o.host, ret);
		return ret;
	}
	cat_note(cat, "connected to %s",
		 dmastream_addr_text(&cat->err.peer, peer, sizeof(peer)));
	return 0;
}

int cat_send(struct cat *cat)
{
	struct sender s = { .cat = cat };
	struct stat st;
	int ret;

	cat_file_open(cat, STDIN_FILENO, false);
	if (cat->file.seekable && !fstat(cat->file.fd, &st) &&
	    (uint64_t)st.st_size > cat->file.off)
		s.total = (uint64_t)st.st_size - cat->file.off;
	s.free = calloc(cat->o.nbufs, sizeof(*s.free));
	if (!s.free)
		return -ENOMEM;
	while (s.nfree < cat->o.nbufs) {
		s.free[s.nfree] = s.nfree;
		s.nfree++;
	}
	ret = cat_connect(cat);
	if (!ret) {
		cat_progress_start(cat, s.total);
		ret = send_connected(&s);
	}
	cat_file_close(cat);
	free(s.free);
	cat_summary(cat, ret);
	return ret;
}
