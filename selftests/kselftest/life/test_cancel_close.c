// SPDX-License-Identifier: GPL-2.0-only
/*
 * One user loops over cancel, close, abort and what is wrong in every way,
 * towards a peer that another user streams to (case 33): the other one's stream
 * keeps content and order, no queue pair goes, nobody broke the protocol.
 *
 *	test_cancel_close	all in this node
 *	test_cancel_close 2	the peer is node 0, both users are in node 1
 */
#include "../kt.h"

#include <signal.h>
#include <sys/mman.h>

#include "life.h"

struct shared {
	volatile uint32_t	ready, stop, passed, wrong, ended;
};

static struct shared *sh;

/* ---- the peer ---- */

static void serve_stream(struct life_end *e, uint32_t stream, bool good)
{
	bool right = true;
	uint64_t at = 0, next = 1;
	struct dmastream_cqe cqe;

	while (!life_cqe(e, &cqe, DMASTREAM_TIMEOUT_NONE)) {
		if (cqe.flags & DMASTREAM_CQE_EOS)
			break;
		if (!life_received(e, &cqe, &at, true, &right) || !good)
			continue;
		if (!right || (cqe.tag & 0xffffffff) != next)
			sh->wrong++;
		if (!(cqe.flags & DMASTREAM_CQE_MORE)) {
			sh->passed++;
			next++;
		}
	}
	dmastream_stream_close(e->ctx, stream, DMASTREAM_CLOSE_ABORT, 60000);
	sh->ended++;
}

static void server(const char *service, bool good)
{
	struct dmastream_stream_opts opts;
	struct dmastream_listener *l;
	struct life_end e;
	uint32_t stream;

	if (life_open(&e) || life_give_all(&e) || dmastream_listen(e.ctx, service, 16, 0, &l))
		_exit(1);
	opts = life_opts(&e, 0);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_RELEASE);
	while (!dmastream_accept(l, &opts, DMASTREAM_TIMEOUT_NONE, &stream, NULL))
		serve_stream(&e, stream, good);
	_exit(1);
}

/* ---- the good user ---- */

static void good_user(const struct dmastream_addr *to)
{
	struct dmastream_cqe cqe;
	struct life_end e;
	uint32_t stream;
	uint64_t n = 0;

	if (life_open(&e) || life_connect(&e, to, "good", &stream))
		_exit(1);
	__atomic_add_fetch(&sh->ready, 1, __ATOMIC_RELEASE);
	while (!sh->stop) {
		n++;
		if (life_send(&e, stream, n % 3 ? 3000 : LIFE_SLOT, 0x600d00000000ULL << 8 | n))
			_exit(2);
		if (dmastream_submit(e.ring) < 0 ||
		    life_until(&e, DMASTREAM_OP_SEND, &cqe, 60000) || cqe.result <= 0) {
			printf("# the good user's message %llu: %d\n", (unsigned long long)n,
			       cqe.result);
			_exit(3);
		}
	}
	if (dmastream_stream_close(e.ctx, stream, 0, 60000))
		_exit(4);
	life_close(&e);
	_exit(n > 3 ? 0 : 5);
}

/* ---- the bad one ---- */

static void bad_submissions(struct life_end *e, uint32_t stream)
{
	static const uint64_t offs[] = { 0, LIFE_POOL - 1, LIFE_POOL, 1ULL << 63, UINT64_MAX - 100 };
	struct dmastream_sqe *sqe;
	size_t i;

	for (i = 0; i < KT_ARRAY(offs); i++) {
		sqe = dmastream_get_sqe(e->ring);
		dmastream_prep_send(sqe, stream, dmastream_pool_handle(e->pool) + i % 2,
				    offs[i], i ? 8192 : 0x80000000U, 1, i);
	}
	sqe = dmastream_get_sqe(e->ring);
	dmastream_prep_recv(sqe, stream, dmastream_pool_handle(e->pool), 0, 100, 9);
	dmastream_submit(e->ring);
}

static void reap_all(struct life_end *e)
{
	struct dmastream_cqe cqe;

	while (!life_cqe(e, &cqe, 0))
		;
}

/* One turn: what is sent is taken back, broken off, or never was right. */
static int bad_turn(struct life_end *e, const struct dmastream_addr *to, unsigned int n)
{
	uint32_t stream;
	unsigned int i;
	int err;

	err = life_connect(e, to, "bad", &stream);
	if (err)
		return err;
	for (i = 0; i < 12; i++)
		life_send(e, stream, i % 2 ? LIFE_SLOT : 700, i);
	dmastream_submit(e->ring);
	for (i = 0; i < 14; i++)
		dmastream_cancel(e->ctx, stream, 13 - i);
	bad_submissions(e, stream);
	switch (n % 5) {
	case 0:
		dmastream_shutdown(e->ctx, stream);
		err = dmastream_stream_close(e->ctx, stream, 0, 1);
		break;
	case 1:
		err = dmastream_stream_close(e->ctx, stream, DMASTREAM_CLOSE_ABORT, 60000);
		break;
	case 2:
		err = dmastream_stream_close(e->ctx, stream, 0, 60000);
		break;
	case 3:
		dmastream_stream_close_async(e->ctx, stream, DMASTREAM_CLOSE_ABORT, 1000, 77);
		break;
	default:
		/* everything at once */
		life_close(e);
		err = life_open(e);
		return err ? err : life_give_all(e);
	}
	reap_all(e);
	return err == -ECONNRESET || err == -ETIMEDOUT || err == -EPIPE ? 0 : err;
}

static void bad_user(const struct dmastream_addr *to, unsigned int rounds)
{
	struct life_end e;
	unsigned int n;
	int err;

	if (life_open(&e) || life_give_all(&e))
		_exit(1);
	for (n = 0; n < rounds; n++) {
		err = bad_turn(&e, to, n);
		if (err) {
			printf("# the bad user's turn %u: %d\n", n, err);
			_exit(2);
		}
	}
	life_close(&e);
	_exit(0);
}

/* ---- both sides ---- */

static void users(const struct dmastream_addr *to, uint32_t servers)
{
	unsigned int rounds = life_count(400, 40);
	static char before[4096], after[4096];
	pid_t good, bad;

	kt_ok(life_word(&sh->ready, servers, 20000), "the peer is ready");
	good = life_fork();
	if (!good)
		good_user(to);
	kt_ok(life_word(&sh->ready, servers + 1, 20000), "the good user streams");
	life_qps(before, sizeof(before));
	bad = life_fork();
	if (!bad)
		bad_user(to, rounds);
	kt_is(life_join(bad), 0, "%u turns of the bad user", rounds);
	life_qps(after, sizeof(after));
	sh->stop = 1;
	kt_is(life_join(good), 0, "the good user's messages all arrived");
	kt_ok(*before && !strcmp(before, after), "the queue pairs are the same");
	kt_is(life_offences(), 0, "nobody broke the protocol");
}

static pid_t start_server(const char *service, bool good)
{
	pid_t pid = life_fork();

	if (!pid)
		server(service, good);
	return pid;
}

int main(int argc, char **argv)
{
	bool two = argc > 1 && atoi(argv[1]) == 2, ok;
	int other = two ? life_partner() : -1, node = atoi(getenv("DMS_NODE") ?: "0");
	struct dmastream_addr to = two && node ? life_addr("DMS_PEER0") : life_self();
	pid_t g = 0, b = 0;

	life_watchdog(300);
	sh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || (two && other < 0))
		kt_die("start");
	if (!two || !node) {
		g = start_server("good", true);
		b = start_server("bad", false);
		kt_ok(life_word(&sh->ready, 2, 20000), "the peer listens");
	}
	if (two)
		life_meet(other, 1);
	if (!two || node)
		users(&to, two ? 0 : 2);
	if (two)
		life_meet(other, 2);
	if (!two || !node) {
		kt_ok(sh->passed > 3, "%u messages of the good user", sh->passed);
		kt_is(sh->wrong, 0, "all of them right and in order");
		kt_is(life_offences(), 0, "nobody broke the protocol");
		ok = life_posted();
		kt_ok(ok, "receives are posted as configured");
		kt_is(life_rnr(), 0, "receiver-not-ready");
		kill(g, SIGKILL);
		kill(b, SIGKILL);
		life_join(g);
		life_join(b);
	}
	ok = life_empty(NULL);
	kt_ok(ok, "all gauges are 0");
	if (two)
		life_meet(other, 3);
	return kt_end();
}
