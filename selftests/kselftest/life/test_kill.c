// SPDX-License-Identifier: GPL-2.0-only
/*
 * kill -9 of a sender or of a receiver at a random moment, many times.
 *
 *	test_kill		both in this node
 *	test_kill 2		the receiver in node 0, the sender in node 1
 *
 * LIFE_COUNT=n is the number of rounds, LIFE_MODE=n has all of them do the same.
 *
 * Each side is a coordinator, which has nothing of the module, and its worker.
 * Both coordinators draw the same plan from the same seed: what the sender does,
 * who dies, and after how long.  After each death: the survivor is told, all
 * gauges come down to the survivor's own, and the next round's worker talks to
 * the same survivor at once.
 */
#include "../kt.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "life.h"

enum mode { EAGER, PULL, STALL, CONNECT, CLOSE, WAIT, MODES };

static const char * const mode_names[MODES] = {
	"packed messages", "pulled messages", "a stalled pull", "connecting",
	"closing", "a wait in ENTER"
};

/* What a message asks of the receiver: the first byte of its tag. */
#define ASK_ECHO	0x11ULL
#define ASK_STALL	0x22ULL
#define ASK_NOTHING	0x33ULL
#define ASK(kind, n)	((kind) << 56 | (n))

#define ACCEPT_UD	0xacce97ULL
#define STREAMS		512

/* Between a coordinator and its worker; each word has one writer. */
struct shared {
	volatile uint32_t	round;		/* the coordinator: goes up */
	volatile uint32_t	mode;
	volatile uint32_t	quit;
	volatile uint32_t	ready;		/* the worker: listens, or has greeted in this round */
	volatile uint32_t	busy;		/* has begun what the mode asks for, in this round */
	volatile uint32_t	told;		/* errors that it was told */
	volatile uint32_t	clean;		/* has no stream, in this round */
	volatile uint32_t	wrong;		/* content or a call was not right */
};

struct receiver {
	struct life_end		e;
	struct shared		*sh;
	struct dmastream_listener *l;
	bool			stall;
	bool			kept[LIFE_LANDINGS];
	uint32_t		streams;
	uint64_t		at[STREAMS];	/* by handle */
};

static void wrong(struct shared *sh, const char *what, int err)
{
	printf("# %s: %d\n", what, err);
	fflush(stdout);
	sh->wrong++;
}

/* ---- the receiver ---- */

static void receiver_accept(struct receiver *r)
{
	struct dmastream_stream_opts opts = life_opts(&r->e, 0);
	int err;

	err = dmastream_accept_async(r->l, &opts, DMASTREAM_TIMEOUT_NONE, ACCEPT_UD);
	if (err)
		wrong(r->sh, "accept", err);
}

static void receiver_resume(struct receiver *r)
{
	uint32_t i;

	r->stall = false;
	for (i = 0; i < LIFE_LANDINGS; i++) {
		if (r->kept[i])
			life_give(&r->e, i);
		r->kept[i] = false;
	}
}

static void receiver_end(struct receiver *r, const struct dmastream_cqe *cqe)
{
	int err;

	if (cqe->result)
		r->sh->told++;
	if (r->stall)
		receiver_resume(r);
	err = dmastream_stream_close(r->e.ctx, cqe->stream, 0, 20000);
	if (err && err != -ECONNRESET && err != -EPIPE)
		wrong(r->sh, "the receiver's close", err);
	r->streams--;
}

static void receiver_message(struct receiver *r, const struct dmastream_cqe *cqe)
{
	bool right = true, more = cqe->flags & DMASTREAM_CQE_MORE;
	uint64_t kind = cqe->tag >> 56;

	life_received(&r->e, cqe, &r->at[cqe->stream % STREAMS], !r->stall, &right);
	if (r->stall)
		r->kept[cqe->user_data % LIFE_LANDINGS] = true;
	if (!right)
		wrong(r->sh, "content", cqe->result);
	if (more || cqe->result < 0)
		return;
	if (kind == ASK_STALL)
		r->stall = true;
	if (kind == ASK_ECHO) {
		life_send(&r->e, cqe->stream, cqe->result, cqe->tag);
		dmastream_submit(r->e.ring);
	}
}

static void receiver_cqe(struct receiver *r, const struct dmastream_cqe *cqe)
{
	switch (DMASTREAM_CQE_OP(cqe->flags)) {
	case DMASTREAM_OP_ACCEPT:
		receiver_accept(r);
		if (cqe->result <= 0)
			break;
		r->at[cqe->result % STREAMS] = 0;
		r->streams++;
		break;
	case DMASTREAM_OP_RECV:
		if (cqe->flags & DMASTREAM_CQE_EOS)
			receiver_end(r, cqe);
		else
			receiver_message(r, cqe);
		break;
	}
}

static void receiver_main(struct shared *sh)
{
	static struct receiver r;
	struct dmastream_cqe cqe;
	int err;

	r.sh = sh;
	err = life_open(&r.e);
	if (!err)
		err = life_give_all(&r.e);
	if (!err)
		err = dmastream_listen(r.e.ctx, "kill", 64, 0, &r.l);
	if (err) {
		wrong(sh, "the receiver does not start", err);
		return;
	}
	receiver_accept(&r);
	sh->ready = sh->round;
	while (!sh->quit) {
		err = life_cqe(&r.e, &cqe, 20);
		if (!err)
			receiver_cqe(&r, &cqe);
		else if (err != -ETIME)
			wrong(sh, "the receiver's wait", err);
		sh->clean = r.streams ? 0 : sh->round;
		sh->ready = sh->round;
	}
	dmastream_listener_close(r.l);
	life_close(&r.e);
}

/* ---- the sender ---- */

struct sender {
	struct life_end		e;
	struct shared		*sh;
	struct dmastream_addr	to;
	uint32_t		stream;
	uint32_t		round;
};

/* One message over and back.  Not counted as told: nobody dies meanwhile. */
static int sender_echo(struct sender *s, uint32_t len, uint64_t n)
{
	uint64_t at = 0, tag = ASK(ASK_ECHO, n);
	struct dmastream_cqe cqe;
	bool right = true, sent = false, back = false;
	int err;

	err = life_send(&s->e, s->stream, len, tag);
	if (!err)
		err = dmastream_submit(s->e.ring);
	while (err >= 0 && !(sent && back)) {
		err = life_cqe(&s->e, &cqe, 30000);
		if (err)
			break;
		if (DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_SEND) {
			sent = true;
			err = cqe.result == (int)len ? 0 : -EBADMSG;
		} else if (life_received(&s->e, &cqe, &at, true, &right)) {
			back = !(cqe.flags & DMASTREAM_CQE_MORE);
			err = cqe.result < 0 ? cqe.result : right && cqe.tag == tag ? 0 : -EBADMSG;
		} else {
			err = cqe.result ? cqe.result : -EPIPE;
		}
	}
	return err < 0 ? err : 0;
}

/* Reaps one completion; the error that ended the stream, or 0. */
static int sender_reap(struct sender *s, uint32_t ms, unsigned int *out)
{
	struct dmastream_cqe cqe;
	uint64_t at = 0;
	bool right = true;
	int err;

	err = life_cqe(&s->e, &cqe, ms);
	if (err)
		return err == -ETIME ? 0 : err;
	if (DMASTREAM_CQE_OP(cqe.flags) == DMASTREAM_OP_SEND && *out)
		--*out;
	if (life_received(&s->e, &cqe, &at, true, &right))
		return 0;
	if (cqe.flags & DMASTREAM_CQE_EOS)
		return cqe.result ? cqe.result : -EPIPE;
	return cqe.result < 0 ? cqe.result : 0;
}

static int sender_flood(struct sender *s, uint32_t len, unsigned int depth, bool stall)
{
	unsigned int out = 0;
	uint64_t n = 0;
	int err = 0;

	if (stall) {
		err = life_send(&s->e, s->stream, 64, ASK(ASK_STALL, 1));
		out++;
	}
	while (!err && !s->sh->quit) {
		/* a slot is filled again only when its message has gone */
		while (!err && out < depth) {
			err = life_send(&s->e, s->stream, len, ASK(ASK_NOTHING, n++));
			out++;
		}
		if (!err && dmastream_submit(s->e.ring) < 0)
			err = -EIO;
		s->sh->busy = s->round;
		if (!err)
			err = sender_reap(s, 1000, &out);
	}
	return err;
}

/* Connects and closes, until the other side is gone. */
static int sender_churn(struct sender *s, uint32_t load)
{
	uint32_t stream;
	unsigned int i, out = 0;
	int err = 0;

	while (!s->sh->quit) {
		err = life_connect(&s->e, &s->to, "kill", &stream);
		s->sh->busy = s->round;
		if (err)
			return err;
		for (i = 0; i < load; i++)
			err = life_send(&s->e, stream, LIFE_SLOT, ASK(ASK_NOTHING, i));
		dmastream_submit(s->e.ring);
		err = dmastream_stream_close(s->e.ctx, stream, load ? 0 : DMASTREAM_CLOSE_ABORT,
					     20000);
		/* every completion comes before the close returns */
		while (dmastream_cq_ready(s->e.ring))
			sender_reap(s, 0, &out);
		if (err)
			return err;
	}
	return err;
}

static int sender_act(struct sender *s)
{
	switch (s->sh->mode) {
	case EAGER:
		return sender_flood(s, 4000, LIFE_SLOTS, false);
	case PULL:
		return sender_flood(s, LIFE_SLOT, LIFE_SLOTS, false);
	case STALL:
		return sender_flood(s, LIFE_SLOT, LIFE_SLOTS, true);
	case CONNECT:
		return sender_churn(s, 0);
	case CLOSE:
		return sender_churn(s, 2);
	default:
		s->sh->busy = s->round;
		for (;;) {
			unsigned int out = 0;
			int err = sender_reap(s, DMASTREAM_TIMEOUT_NONE, &out);

			if (err)
				return err;
		}
	}
}

static void sender_round(struct sender *s)
{
	unsigned int out = 0;
	int err;

	s->round = s->sh->round;
	err = life_connect(&s->e, &s->to, "kill", &s->stream);
	if (err) {
		wrong(s->sh, "the sender's connect", err);
		return;
	}
	err = sender_echo(s, 500, 1);
	if (!err)
		err = sender_echo(s, 200000, 2);
	if (err) {
		wrong(s->sh, "the greeting", err);
		return;
	}
	s->sh->ready = s->round;
	err = sender_act(s);
	if (err)
		s->sh->told++;
	dmastream_stream_close(s->e.ctx, s->stream, DMASTREAM_CLOSE_ABORT, 20000);
	while (dmastream_cq_ready(s->e.ring))
		sender_reap(s, 0, &out);
	s->sh->clean = s->round;
}

static void sender_main(struct shared *sh, const struct dmastream_addr *to)
{
	struct sender s = { .sh = sh, .to = *to };
	int err = life_open(&s.e);

	if (!err)
		err = life_give_all(&s.e);
	if (err) {
		wrong(sh, "the sender does not start", err);
		return;
	}
	while (!sh->quit) {
		if (s.round != sh->round)
			sender_round(&s);
		else
			kt_sleep_ms(1);
	}
	life_close(&s.e);
}

/* ---- the coordinators ---- */

struct side {
	bool			sender;
	bool			alone;		/* the other side is in the same node */
	int			other;
	struct shared		*sh;
	struct dmastream_addr	to;
	pid_t			worker;
	unsigned int		seed;
};

static void start_worker(struct side *s)
{
	s->worker = life_fork();
	if (s->worker)
		return;
	if (s->sender)
		sender_main(s->sh, &s->to);
	else
		receiver_main(s->sh);
	_exit(0);
}

/* The gauges of a node in which @n workers live, none with a stream. */
static bool settle(struct side *s, bool victim, unsigned int *ms)
{
	int64_t want[LIFE_GAUGES];

	life_want(want, s->alone || !victim);
	return life_settle(want, ms);
}

static void one_round(struct side *s, unsigned int n)
{
	const char *forced = getenv("LIFE_MODE");
	unsigned int mode = (forced ? atoi(forced) : n) % MODES, delay = life_random(&s->seed, 120), ms = 0;
	bool victim = life_random(&s->seed, 2) == s->sender;
	bool up = true, told = true, down, posted = true;
	struct shared *sh = s->sh;
	uint32_t errors = sh->told;

	sh->mode = mode;
	/* the receiver first: a sender that lives connects at once */
	if (s->sender)
		life_meet(s->other, 1);
	sh->round = n + 1;
	if (!s->worker)
		start_worker(s);
	up = life_word(&sh->ready, n + 1, 20000);
	if (s->sender)
		up &= life_word(&sh->busy, n + 1, 10000);
	else
		life_meet(s->other, 1);
	life_meet(s->other, 2);
	kt_sleep_ms(delay);
	if (victim) {
		kill(s->worker, SIGKILL);
		life_join(s->worker);
		s->worker = 0;
	}
	life_meet(s->other, 3);
	if (!victim)
		told = life_word(&sh->clean, n + 1, 5000) &&
		       (sh->told > errors || mode == CONNECT || mode == CLOSE);
	/* in one node the survivor has closed its stream by now */
	life_meet(s->other, 4);
	down = settle(s, victim, &ms);
	if (!victim)
		posted = life_posted();
	life_meet(s->other, 5);
	kt_ok(up && told && down && posted && !sh->wrong,
	      "%s %u: the %s dies %u ms into %s; this %s%s, gauges after %u ms%s%s",
	      s->sender ? "sender" : "receiver", n, victim == s->sender ? "sender" : "receiver",
	      delay, mode_names[mode], victim ? "died" : "lived",
	      up ? "" : ", NOT UP", ms, told ? "" : ", NOT TOLD", posted ? "" : ", NOT POSTED");
	if (!up || !told || !down)
		kt_sleep_ms(100);
	sh->wrong = 0;
}

static int coordinate(struct side *s, unsigned int rounds)
{
	unsigned int n, ms, failed;

	life_watchdog(120 + rounds * 8);
	s->sh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->sh == MAP_FAILED)
		kt_die("mmap");
	for (n = 0; n < rounds; n++) {
		failed = kt_failed;
		one_round(s, n);
		/* another try would only say the same again */
		if (life_meet(s->other, kt_failed > failed) || kt_failed > failed)
			break;
	}
	s->sh->quit = 1;
	if (s->worker)
		kill(s->worker, SIGKILL);
	if (s->worker)
		life_join(s->worker);
	life_meet(s->other, 6);
	failed = !life_empty(&ms);
	kt_ok(!failed, "%s: at the end all gauges are 0, after %u ms",
	      s->sender ? "sender" : "receiver", ms);
	kt_is(life_rnr(), 0, "receiver-not-ready");
	life_meet(s->other, 7);
	return kt_end();
}

int main(int argc, char **argv)
{
	unsigned int rounds = life_count(100, 10);
	struct side s = { .seed = 1 };
	int pair[2], status;
	pid_t pid;

	if (argc > 1 && atoi(argv[1]) == 2) {
		s.sender = atoi(getenv("DMS_NODE") ?: "0");
		s.other = life_partner();
		if (s.other < 0)
			kt_die("the other node");
		if (s.sender)
			s.to = life_addr("DMS_PEER0");
		return coordinate(&s, rounds);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		kt_die("socketpair");
	s.alone = true;
	s.to = life_self();
	pid = life_fork();
	s.sender = !pid;
	s.other = pair[!pid];
	close(pair[!!pid]);
	status = coordinate(&s, rounds);
	if (pid)
		status |= life_join(pid);
	return status;
}
