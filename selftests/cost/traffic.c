// SPDX-License-Identifier: GPL-2.0-only
/*
 * The traffic whose instructions are counted: one process, both ends of some
 * streams, batches of messages from one to the other.
 *
 *	traffic ADDR SIZE STREAMS BATCH ROUNDS
 *
 * A round submits BATCH messages, the next stream for each, and takes all
 * completions of both ends; one system call submits them, and further ones only wait.
 * As many rounds again come before the first mark, for what is done once.
 * Prints one line: the messages between the marks, and the system calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dmastream.h>

#include "marks.h"

#define WAIT_MS		120000
#define LARGE_LEN	(1U << 20)
#define SMALL_LEN	16384U

static struct {
	struct dmastream		*ctx;
	struct dmastream_pool		*pool;
	struct dmastream_ring		*ring;
	struct dmastream_group		*small, *large;
	uint32_t			nr_small, nr_large;
	uint64_t			large_at;
} rx;

static struct {
	struct dmastream		*ctx;
	struct dmastream_pool		*pool;
	struct dmastream_ring		*ring;
	uint32_t			*streams;
	uint32_t			nr, next;
} tx;

static uint32_t size, batch;
static unsigned long enters;

static int ok(const char *what, int ret)
{
	if (ret >= 0)
		return ret;
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(-ret));
	exit(1);
}

/* Cookies below nr_small are of small landings. */
static void give(uint64_t cookie)
{
	if (cookie < rx.nr_small)
		ok("give", dmastream_group_give(rx.small, rx.ring, cookie, cookie * SMALL_LEN,
						SMALL_LEN));
	else
		ok("give", dmastream_group_give(rx.large, rx.ring, cookie,
						rx.large_at + (cookie - rx.nr_small) * LARGE_LEN,
						LARGE_LEN));
}

static void open_receiver(const char *service, struct dmastream_listener **listener)
{
	uint64_t i;

	rx.nr_small = 1024;
	rx.nr_large = 16;
	rx.large_at = (uint64_t)rx.nr_small * SMALL_LEN;
	ok("open", dmastream_open(&rx.ctx, NULL));
	ok("pool", dmastream_pool_create(rx.ctx, rx.large_at + (uint64_t)rx.nr_large * LARGE_LEN,
					 -1, &rx.pool));
	ok("ring", dmastream_ring_create(rx.ctx, 64, 1024, 0, &rx.ring));
	ok("group", dmastream_group_create(rx.ctx, rx.pool, 1024, SMALL_LEN, &rx.small));
	ok("group", dmastream_group_create(rx.ctx, rx.pool, 64, LARGE_LEN, &rx.large));
	for (i = 0; i < rx.nr_small + rx.nr_large; i++)
		give(i);
	ok("listen", dmastream_listen(rx.ctx, service, 64, 0, listener));
}

static void open_streams(const char *addr, struct dmastream_listener *listener, uint32_t n)
{
	struct dmastream_stream_opts to = { 0 }, from = { .flags = DMASTREAM_STREAM_POSTED };
	uint32_t handle;

	ok("open", dmastream_open(&tx.ctx, NULL));
	ok("pool", dmastream_pool_create(tx.ctx, (uint64_t)batch * (size + 4096), -1, &tx.pool));
	ok("ring", dmastream_ring_create(tx.ctx, 512, 1024, 0, &tx.ring));
	tx.streams = calloc(n, sizeof(*tx.streams));
	if (!tx.streams)
		ok("memory", -ENOMEM);
	to.ring = dmastream_ring_handle(rx.ring);
	to.small_group = dmastream_group_handle(rx.small);
	to.large_group = dmastream_group_handle(rx.large);
	from.ring = dmastream_ring_handle(tx.ring);
	for (tx.nr = 0; tx.nr < n; tx.nr++) {
		ok("connect", dmastream_connect_name(tx.ctx, addr, 0, 0, "cost", &from, WAIT_MS,
						     &tx.streams[tx.nr], NULL));
		ok("accept", dmastream_accept(listener, &to, WAIT_MS, &handle, NULL));
	}
}

static void send_batch(void)
{
	uint64_t step = ((uint64_t)size + 4095) / 4096 * 4096;
	uint32_t i;

	for (i = 0; i < batch; i++) {
		struct dmastream_sqe *sqe = dmastream_get_sqe(tx.ring);

		if (!sqe)
			ok("submission", -EBUSY);
		dmastream_prep_send(sqe, tx.streams[tx.next], dmastream_pool_handle(tx.pool),
				    i * step, size, 0, i);
		tx.next = (tx.next + 1) % tx.nr;
	}
	enters++;
	if ((uint32_t)ok("submit", dmastream_submit(tx.ring)) != batch)
		ok("submit all", -EAGAIN);
}

static struct dmastream_cqe *next_cqe(struct dmastream_ring *ring)
{
	struct dmastream_cqe *cqe = dmastream_peek_cqe(ring);

	if (!cqe) {
		enters++;
		ok("wait", dmastream_wait_cqe_timeout(ring, &cqe, WAIT_MS));
	}
	ok("completion", cqe->result);
	return cqe;
}

static void receive_batch(void)
{
	uint32_t messages = 0;

	while (messages < batch) {
		struct dmastream_cqe *cqe = next_cqe(rx.ring);

		messages += !(cqe->flags & DMASTREAM_CQE_MORE);
		give(cqe->user_data);
		dmastream_cqe_seen(rx.ring);
	}
	for (messages = 0; messages < batch; messages++) {
		next_cqe(tx.ring);
		dmastream_cqe_seen(tx.ring);
	}
}

static void rounds(uint32_t n)
{
	while (n--) {
		send_batch();
		receive_batch();
	}
}

int main(int argc, char **argv)
{
	struct dmastream_listener *listener;
	uint32_t i, n, streams;

	if (argc != 6) {
		fprintf(stderr, "usage: traffic ADDR SIZE STREAMS BATCH ROUNDS\n");
		return 2;
	}
	size = strtoul(argv[2], NULL, 0);
	streams = strtoul(argv[3], NULL, 0);
	batch = strtoul(argv[4], NULL, 0);
	n = strtoul(argv[5], NULL, 0);
	if (!streams || !batch || batch > 256 || !n)
		ok("arguments", -EINVAL);
	open_receiver("cost", &listener);
	open_streams(argv[1], listener, streams);
	rounds(n);
	enters = 0;
	mark_begin();
	rounds(n);
	mark_end();
	printf("traffic size=%u streams=%u batch=%u messages=%lu enters=%lu\n", size, streams,
	       batch, (unsigned long)n * batch, enters);
	for (i = 0; i < tx.nr; i++)
		ok("close", dmastream_stream_close(tx.ctx, tx.streams[i], 0, WAIT_MS));
	return 0;
}
