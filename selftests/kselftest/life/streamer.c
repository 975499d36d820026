// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user for the scripts: streams to itself, or between nodes, until it is told
 * of an end.
 *
 *	streamer serve NAME		takes streams, for ever
 *	streamer stream ADDR NAME N	N streams, each of a context of its own,
 *					"up" when all have moved a message, "ended
 *					N RESULT..." when each has been told
 *	streamer idle ADDR NAME N	likewise, but one message each and then nothing
 *	streamer once ADDR NAME		one message there; status 0 when it was delivered
 *	streamer hold ADDR NAME N	N streams that carry nothing
 */
#include "../kt.h"

#include <arpa/inet.h>
#include <pthread.h>

#include "life.h"

#define STREAMS_MAX	64

static struct dmastream_addr to;
static const char *service;
static bool idle;

static struct life_one {
	pthread_t	thread;
	struct life_end	e;
	uint32_t	stream;
	uint64_t	moved;
	int		result;
	bool		up, over;
} ones[STREAMS_MAX];

static int serve(void)
{
	struct dmastream_stream_opts opts;
	struct dmastream_listener *l;
	struct dmastream_cqe cqe;
	struct life_end e;
	uint64_t at[1024] = { 0 };
	bool right = true;
	int err;

	if (life_open(&e) || life_give_all(&e) || dmastream_listen(e.ctx, service, 64, 0, &l))
		return 1;
	opts = life_opts(&e, 0);
	puts("serving");
	fflush(stdout);
	dmastream_accept_async(l, &opts, DMASTREAM_TIMEOUT_NONE, 1);
	while (!(err = life_cqe(&e, &cqe, DMASTREAM_TIMEOUT_NONE))) {
		if (DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_ACCEPT)
			dmastream_accept_async(l, &opts, DMASTREAM_TIMEOUT_NONE, 1);
		else if (cqe.flags & DMASTREAM_CQE_EOS)
			dmastream_stream_close_async(e.ctx, cqe.stream, DMASTREAM_CLOSE_ABORT,
						     1000, 2);
		else
			life_received(&e, &cqe, &at[cqe.stream % 1024], true, &right);
		if (!right) {
			puts("wrong content");
			return 1;
		}
	}
	return 1;
}

/* A stream, until something ends it; an end of the stream may come first. */
static void *one_stream(void *arg)
{
	struct life_one *o = arg;
	struct dmastream_cqe cqe;

	o->result = life_open(&o->e);
	if (!o->result)
		o->result = life_give_all(&o->e);
	if (!o->result)
		o->result = life_connect(&o->e, &to, service, &o->stream);
	while (!o->result) {
		o->moved++;
		o->result = 1;
		if (!idle || o->moved == 1) {
			life_send(&o->e, o->stream, o->moved % 2 ? 4000 : LIFE_SLOT, o->moved);
			o->result = dmastream_submit(o->e.ring);
		}
		if (o->result > 0)
			o->result = life_cqe(&o->e, &cqe, DMASTREAM_TIMEOUT_NONE);
		if (!o->result && cqe.result < 0)
			o->result = cqe.result;
		if (!o->result && (cqe.flags & DMASTREAM_CQE_EOS))
			o->result = -EPIPE;
		__atomic_store_n(&o->up, true, __ATOMIC_RELEASE);
	}
	if (o->stream)
		dmastream_stream_close(o->e.ctx, o->stream, DMASTREAM_CLOSE_ABORT, 60000);
	__atomic_store_n(&o->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static int stream(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (pthread_create(&ones[i].thread, NULL, one_stream, &ones[i]))
			return 1;
	for (i = 0; i < n; i++)
		while (!__atomic_load_n(&ones[i].up, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&ones[i].over, __ATOMIC_ACQUIRE))
			kt_sleep_ms(1);
	puts("up");
	fflush(stdout);
	for (i = 0; i < n; i++)
		pthread_join(ones[i].thread, NULL);
	printf("ended %u", n);
	for (i = 0; i < n; i++) {
		printf(" %d", ones[i].result);
		life_close(&ones[i].e);
	}
	puts("");
	return 0;
}

static int once(void)
{
	struct dmastream_cqe cqe;
	struct life_end e;
	uint32_t s;
	int err;

	err = life_open(&e);
	if (!err)
		err = life_connect(&e, &to, service, &s);
	if (!err)
		err = life_send(&e, s, LIFE_SLOT, 1);
	if (!err && dmastream_submit(e.ring) != 1)
		err = -EIO;
	if (!err)
		err = life_until(&e, DMASTREAM_OP_SEND, &cqe, 10000 * kt_scale());
	if (!err && cqe.result != LIFE_SLOT)
		err = cqe.result;
	if (!err)
		err = dmastream_stream_close(e.ctx, s, 0, 60000);
	if (err)
		printf("once: %s\n", strerror(-err));
	life_close(&e);
	return !!err;
}

static int hold(unsigned int n)
{
	struct life_end e;
	uint32_t s;

	if (life_open(&e))
		return 1;
	while (n--)
		if (life_connect(&e, &to, service, &s))
			return 1;
	puts("up");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	unsigned int n = argc > 4 ? atoi(argv[4]) : 1;

	if (!strcmp(what, "serve")) {
		service = argv[2];
		return serve();
	}
	if (argc < 4 || n > STREAMS_MAX)
		return 2;
	to.family = AF_INET;
	if (inet_pton(AF_INET, argv[2], to.addr) != 1)
		return 2;
	service = argv[3];
	idle = !strcmp(what, "idle");
	if (idle || !strcmp(what, "stream"))
		return stream(n);
	if (!strcmp(what, "once"))
		return once();
	if (!strcmp(what, "hold"))
		return hold(n);
	return 2;
}
