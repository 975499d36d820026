/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A path and its carriers, one after the other: what Documentation/recovery.rst says under
 * The fence.  D dials, E is dialled.
 *
 * What may happen: FAILS times a carrier that is up fails (each side notices by itself, at any
 * time, or is told); LOST times a connection request fails at D, which then gives it up, and the
 * request itself is lost, or is still on its way and arrives at any time later, and may do so after
 * requests of later epochs.  TCP brings all words in order, at any time.  A word that was not
 * sent yet is replaced by the next one (as kmod/session_recover.c does it).
 *
 * Asserted: an epoch is begun once at each side; both sides' carriers are of one epoch, and
 * the last one is fenced at both before the next is made; what may be said may be (no
 * breach).  At the end both are up.
 */
#ifndef FAILS
#define FAILS	2
#endif
#ifndef LOST
#define LOST	2
#endif

/* The runner wants each of these to be reached by some run. */
#ifdef COVER
#define SEEN(what)	c_code { static int once; if (!once++) fprintf(stderr, "seen " #what "\n"); }
#else
#define SEEN(what)	skip
#endif

#define LAST	(FAILS + LOST + 1)	/* the last epoch that there can be */

/* states of a path */
#define INIT		0
#define CONNECTING	1
#define UP		2
#define DYING		3

mtype = { NOTHING, DOWN, FENCED };

typedef side_t {
	byte state, epoch;
	byte off;		/* the other side said FENCED of it */
	mtype word;		/* to be said */
	byte word_epoch;
};

side_t s[2];
byte fails = FAILS;
byte lost = LOST;
chan tcp[2] = [6] of { mtype, byte };
/* requests and answers of the CM: bit n is of epoch n, in any order */
byte asked, accepted, rejected;
/* the carrier of an epoch: bits of those that were made, and fenced, per side */
byte made[2], fenced[2];

hidden mtype w;
hidden byte e;

#define BIT(n)		(1 << (n))
#define HAS(set, n)	(((set) >> (n)) & 1)
#define D	0
#define E	1
#define ME	s[me]
#define HAS_CARRIER(x)	(s[x].state != INIT)

inline say(what)
{
#ifdef M_DOWN_ONLY
	if
	:: what == DOWN -> ME.word = what; ME.word_epoch = ME.epoch
	:: else
	fi
#else
	if
	:: ME.word == DOWN -> SEEN(word_replaced)
	:: else
	fi;
	ME.word = what;
	ME.word_epoch = ME.epoch
#endif
}

inline make_carrier(x, n)
{
	assert(!HAS(made[x], n));
	/* nothing of an earlier one is left on either side */
	assert((made[0] & ~fenced[0] & (BIT(n) - 1)) == 0);
	assert((made[1] & ~fenced[1] & (BIT(n) - 1)) == 0);
	made[x] = made[x] | BIT(n)
}

inline kill()
{
	if
	:: ME.state == CONNECTING || ME.state == UP ->
		ME.state = DYING;
		printf("%d: carrier of epoch %d fails\n", me, ME.epoch);
		say(DOWN)
	:: else
	fi
}

inline hear()
{
	tcp[me]?w, e;
	printf("%d hears %e of %d, is in %d\n", me, w, e, ME.epoch);
	if
#ifdef M_OLD_WORDS
	:: e < ME.epoch && HAS_CARRIER(me) -> kill()
#endif
	:: e < ME.epoch -> SEEN(word_of_an_old_epoch)
	:: e >= ME.epoch ->
		if
		:: e > ME.epoch ->
			/* a dial of which nothing came here */
			SEEN(dial_never_seen);
			assert(e == ME.epoch + 1 && me == E && !HAS_CARRIER(E));
#ifndef M_EPOCH_KEPT
			ME.epoch = e
#endif
		:: else
		fi;
		if
		:: w == FENCED -> ME.off = e
		:: else
		fi;
		if
		:: HAS_CARRIER(me) ->
			if
			:: ME.state == DYING -> SEEN(both_notice)
			:: ME.state == CONNECTING -> SEEN(told_while_connecting)
			:: else -> SEEN(told)
			fi;
			kill()
#ifdef M_ANSWER_DOWN
		:: !HAS_CARRIER(me) && me == E && w == DOWN -> say(FENCED)
		:: !HAS_CARRIER(me) && (me == D || w != DOWN)
#elif defined(M_NO_ANSWER)
		:: !HAS_CARRIER(me)
#else
		:: !HAS_CARRIER(me) && me == E -> say(FENCED)
#ifdef M_BOTH_ANSWER
		:: !HAS_CARRIER(me) && me == D -> say(FENCED)
#else
		:: !HAS_CARRIER(me) && me == D
#endif
#endif
		fi
	fi
}

#ifdef M_DIAL_EARLY
#define MAY_DIAL	true
#else
#define MAY_DIAL	(s[D].off == s[D].epoch)
#endif

/* What both sides do. */
#define COMMON \
	:: d_step { len(tcp[me]) > 0 -> hear() } \
	:: d_step { ME.word != NOTHING && nfull(tcp[1 - me]) -> \
		tcp[1 - me]!ME.word, ME.word_epoch; \
		ME.word = NOTHING } \
	:: d_step { fails > 0 && (ME.state == UP || (me == E && ME.state == CONNECTING)) -> \
		fails--; \
		kill() } \
	/* the other side's queue pair is gone: packets and acknowledgements stay out */ \
	:: d_step { ME.state == UP && HAS(fenced[1 - me], ME.epoch) -> kill() } \
	:: d_step { ME.state == DYING -> \
		printf("%d: fenced %d\n", me, ME.epoch); \
		fenced[me] = fenced[me] | BIT(ME.epoch); \
		ME.state = INIT; \
		say(FENCED) }

#define STEADY \
	(s[D].state == UP && s[E].state == UP && s[D].epoch == s[E].epoch && \
	 s[D].word == NOTHING && s[E].word == NOTHING && empty(tcp[D]) && empty(tcp[E]) && \
	 fails == 0)

proctype dialling()
{
	bit me = D;

	do
	COMMON
	:: d_step { s[D].state == INIT && MAY_DIAL && s[D].epoch < LAST ->
		s[D].epoch++;
		printf("D dials %d\n", s[D].epoch);
		make_carrier(D, s[D].epoch);
		s[D].state = CONNECTING;
		asked = asked | BIT(s[D].epoch) }
	:: d_step { s[D].state == CONNECTING && HAS(accepted, s[D].epoch) ->
		accepted = accepted & ~BIT(s[D].epoch);
		printf("D is up in %d\n", s[D].epoch);
		s[D].state = UP }
	/* refused; or no answer for too long: it may be on its way, either way */
	:: d_step { s[D].state == CONNECTING && HAS(rejected, s[D].epoch) -> kill() }
	:: d_step { lost > 0 && s[D].state == CONNECTING -> lost--; kill() }
	:: d_step { lost > 0 && s[D].state == CONNECTING && HAS(asked, s[D].epoch) ->
		lost--;
		printf("the request is lost\n");
		asked = asked & ~BIT(s[D].epoch);
		kill() }
	:: STEADY -> break
	od
}

inline take_request(n)
{
	printf("E is asked for %d, is in %d\n", n, s[E].epoch);
	asked = asked & ~BIT(n);
	if
#ifdef M_ANY_EPOCH
	:: !HAS_CARRIER(E) ->
#elif defined(M_NOT_LOWER)
	:: !HAS_CARRIER(E) && n >= s[E].epoch ->
#else
	:: !HAS_CARRIER(E) && n == s[E].epoch + 1 ->
#endif
		make_carrier(E, n);
		if
		:: s[D].epoch == n && s[D].state != CONNECTING -> SEEN(request_given_up)
		:: else
		fi;
		s[E].epoch = n;
		s[E].state = CONNECTING;
		accepted = accepted | BIT(n)
	:: else -> SEEN(request_of_an_old_epoch); rejected = rejected | BIT(n)
	fi
}

proctype dialled()
{
	bit me = E;

	do
	COMMON
	/* any of the requests that are on their way */
	:: d_step { HAS(asked, 1) -> take_request(1) }
	:: d_step { HAS(asked, 2) -> take_request(2) }
	:: d_step { HAS(asked, 3) -> take_request(3) }
	:: d_step { HAS(asked, 4) -> take_request(4) }
	:: d_step { HAS(asked, 5) -> take_request(5) }
	:: d_step { HAS(asked, 6) -> take_request(6) }
	:: d_step { HAS(asked, 7) -> take_request(7) }
	:: d_step { s[E].state == CONNECTING -> s[E].state = UP }
	:: STEADY -> break
	od
}

init
{
	d_step {
		s[D].word = NOTHING;
		s[E].word = NOTHING
	};
	atomic { run dialling(); run dialled() }
}
