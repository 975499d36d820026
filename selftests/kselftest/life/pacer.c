// SPDX-License-Identifier: GPL-2.0-only
/*
 * For selftests/recovery: a stream of this node to itself, on which a message goes whenever
 * it is told to, and what became of it and when (CLOCK_MONOTONIC, in ns).
 *
 *	in	LEN		send a message of so many bytes, LIFE_SLOT at most
 *	out	up
 *		came LEN NS	a message has come whole, with the right content
 *		sent RESULT NS	its sender was told so
 *		told RESULT NS	the receiver was told of the end of the stream
 *
 * It ends when there is nothing more to read, and closes in order; status 1 when anything
 * was wrong but an end that came from below.
 */
#include "../kt.h"

#include <pthread.h>

#include "life.h"

static struct life_end a, b;
static uint32_t sa, sb;
static bool closing;

static void say(const char *what, int n)
{
	printf("%s %d %llu\n", what, n, (unsigned long long)kt_now_ns());
	fflush(stdout);
}

/* Until the end of the stream is told. */
static void *receive(void *arg)
{
	struct dmastream_cqe cqe;
	bool right = true;
	uint64_t at = 0;

	while (!life_cqe(&b, &cqe, DMASTREAM_TIMEOUT_NONE)) {
		if (cqe.flags & DMASTREAM_CQE_EOS) {
			if (!__atomic_load_n(&closing, __ATOMIC_ACQUIRE))
				say("told", cqe.result);
			return NULL;
		}
		if (!life_received(&b, &cqe, &at, true, &right))
			continue;
		if (!right) {
			puts("wrong content");
			exit(1);
		}
		if (!(cqe.flags & DMASTREAM_CQE_MORE))
			say("came", cqe.result);
	}
	return arg;
}

static int send_one(uint32_t len, uint64_t tag)
{
	struct dmastream_cqe cqe;
	int err;

	err = life_send(&a, sa, len, tag);
	if (!err && dmastream_submit(a.ring) != 1)
		err = -EIO;
	if (!err)
		err = life_until(&a, DMASTREAM_OP_SEND, &cqe, DMASTREAM_TIMEOUT_NONE);
	if (err)
		return err;
	say("sent", cqe.result);
	return 0;
}

int main(void)
{
	pthread_t thread;
	uint64_t tag = 1;
	char line[32];
	int err;

	err = life_open(&a);
	if (!err)
		err = life_open(&b);
	if (!err)
		err = life_give_all(&b);
	if (!err)
		err = life_link(&a, &b, &sa, &sb);
	if (!err)
		err = -pthread_create(&thread, NULL, receive, NULL);
	if (err) {
		printf("no stream: %s\n", strerror(-err));
		return 1;
	}
	puts("up");
	fflush(stdout);
	while (!err && fgets(line, sizeof(line), stdin))
		err = send_one(strtoul(line, NULL, 10), tag++);
	__atomic_store_n(&closing, true, __ATOMIC_RELEASE);
	dmastream_stream_close(a.ctx, sa, 0, 60000);
	pthread_join(thread, NULL);
	dmastream_stream_close(b.ctx, sb, 0, 60000);
	life_close(&a);
	life_close(&b);
	return !!err;
}
