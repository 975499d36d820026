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
 * TCP: instead of asking for a queue pair, D may say that the carrier of the next epoch is the
 * session's TCP connection itself.  LEAVES times it probes whether RDMA would do again, and
 * then gives such a carrier up.  NO_PATH: E has no path until it hears of one.
 *
 * Asserted: an epoch is begun once at each side; both sides' carriers are of one epoch, and
 * the last one is fenced at both before the next is made; what may be said may be (no
 * breach).  At the end both are up, and have each message once (path_packets.pml).
 */
#ifndef FAILS
#define FAILS	2
#endif
#ifndef LOST
#define LOST	2
#endif
#ifndef TCP
#define TCP	0
#endif
#ifndef LEAVES
#define LEAVES	0
#endif
#ifndef NO_PATH
#define NO_PATH	0
#endif
/* of D and of E */
#ifndef MSGS0
#define MSGS0	0
#endif
#ifndef MSGS1
#define MSGS1	0
#endif
/* what TCP holds in each direction */
#ifndef TCPCAP
#define TCPCAP	6
#endif

/* The runner wants each of these to be reached by some run. */
#ifdef COVER
#define SEEN(what)	c_code { static int once; if (!once++) fprintf(stderr, "seen " #what "\n"); }
#else
#define SEEN(what)	skip
#endif

#define LAST	(FAILS + LOST + LEAVES + 1)	/* the last epoch that there can be */

/* states of a path */
#define INIT		0
#define CONNECTING	1
#define UP		2
#define DYING		3

mtype = { NOTHING, DOWN, FENCED, OVER_TCP, RESUME, DATA };

typedef side_t {
	bool there;		/* the path is */
	byte state, epoch;
	byte off;		/* the other side said FENCED of it */
	mtype word;		/* to be said */
	byte word_epoch;
#ifdef M_WORD_KEPT
	byte kept;
#endif
	/* packets */
	bool said, resumed;	/* RESUME, in this epoch */
	byte sent, arrived;
	mtype half;		/* on its way into TCP: part of it is in */
	byte half_epoch, half_nr;
};

side_t s[2];
byte fails = FAILS;
byte lost = LOST;
byte leaves = LEAVES;
bool probed;			/* D would leave TCP */
/* words, and packets of its epochs: epoch, number */
chan tcp[2] = [TCPCAP] of { mtype, byte, byte };
chan rdma[2] = [2] of { mtype, byte, byte };
/* requests and answers of the CM: bit n is of epoch n, in any order */
byte asked, accepted, rejected;
/* the carrier of an epoch: bits of those that were made, and fenced, per side */
byte made[2], fenced[2];
byte by_tcp;			/* which epochs are TCP's */
bool looked;			/* E has the first request, and has found no path */

hidden mtype w;
hidden byte e;
hidden byte nr;

#define BIT(n)		(1 << (n))
#define HAS(set, n)	(((set) >> (n)) & 1)
#define D	0
#define E	1
#define ME	s[me]
#define HAS_CARRIER(x)	(s[x].state != INIT)
#define IS_TCP(x)	HAS(by_tcp, s[x].epoch)

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
	:: ME.word == OVER_TCP ->
		/* E hears of the epoch by DOWN or FENCED, and no packet of it goes */
		SEEN(tcp_never_said);
#ifdef M_WORD_KEPT
		ME.kept = ME.epoch
#endif
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

/* DOWN or FENCED; or the word which says that packets of a new epoch follow on TCP. */
inline hear_word()
{
	printf("%d hears %e of %d, is in %d\n", me, w, e, ME.epoch);
	if
#ifdef M_OLD_WORDS
	:: e < ME.epoch && HAS_CARRIER(me) -> kill()
#endif
#ifdef M_NO_PATH
	:: !ME.there && w != OVER_TCP
#endif
	:: e < ME.epoch ->
		SEEN(word_of_an_old_epoch);
		assert(w != OVER_TCP);
		if
		:: HAS_CARRIER(me) && IS_TCP(me) -> SEEN(old_word_meets_tcp)
		:: else
		fi
	:: w == OVER_TCP ->
		/* whatever crosses it, it comes at no other time: this rule has no exception */
		assert(e == ME.epoch + 1 && me == E && !HAS_CARRIER(E));
		if
		:: !ME.there -> SEEN(first_is_tcp); ME.there = true
		:: else
		fi;
		ME.epoch = e;
#ifdef M_SILENT
		if
		:: fails > 0 -> fails--
		:: else -> make_carrier(E, e); ME.state = UP
		fi
#else
		make_carrier(E, e);
		ME.state = UP
#endif
	:: e >= ME.epoch && w != OVER_TCP ->
		if
		:: e > ME.epoch ->
			/* a dial of which nothing came here */
			SEEN(dial_never_seen);
			assert(e == ME.epoch + 1 && me == E && !HAS_CARRIER(E));
			if
			:: !ME.there -> SEEN(path_made_by_word); ME.there = true
			:: else
			fi;
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

#include "path_packets.pml"

inline hear()
{
	tcp[me]?w, e, nr;
	if
	:: w == RESUME || w == DATA -> hear_packet()
	:: else -> hear_word()
	fi
}

#ifdef M_DIAL_EARLY
#define MAY_DIAL	true
#else
#define MAY_DIAL	(s[D].off == s[D].epoch)
#endif

#ifdef M_PROBE_THIS
#define PROBE_EPOCH	(s[D].epoch)
#else
#define PROBE_EPOCH	(s[D].epoch - 1)
#endif

#ifdef M_TCP_EARLY
#define MAY_SAY_TCP	true
#else
#define MAY_SAY_TCP	MAY_DIAL
#endif

#ifdef M_WORD_KEPT
#define SAY_KEPT \
	:: d_step { ME.kept && ME.word == NOTHING && nfull(tcp[1 - me]) -> \
		tcp[1 - me]!OVER_TCP, ME.kept, 0; \
		ME.kept = 0 }
#else
#define SAY_KEPT
#endif

/* What both sides do. */
#define COMMON \
	:: d_step { len(tcp[me]) > 0 && MAY_HEAR -> hear() } \
	:: d_step { ME.word != NOTHING && ME.half == NOTHING && nfull(tcp[1 - me]) -> \
		tcp[1 - me]!ME.word, ME.word_epoch, 0; \
		ME.word = NOTHING } \
	SAY_KEPT \
	PACKETS \
	:: d_step { fails > 0 && (ME.state == UP || (me == E && ME.state == CONNECTING)) -> \
		fails--; \
		kill() } \
	/* the other side's queue pair is gone: packets and acknowledgements stay out */ \
	:: d_step { ME.state == UP && !IS_TCP(me) && HAS(fenced[1 - me], ME.epoch) -> kill() } \
	:: d_step { ME.state == DYING && MAY_FENCE -> \
		printf("%d: fenced %d\n", me, ME.epoch); \
		fenced[me] = fenced[me] | BIT(ME.epoch); \
		ME.state = INIT; \
		forget_packets(); \
		say(FENCED) }

/* D over TCP would leave it, or has still to try. */
#define MAY_LEAVE	(IS_TCP(D) && (leaves > 0 || probed))

#define STEADY \
	(s[D].state == UP && s[E].state == UP && s[D].epoch == s[E].epoch && \
	 s[D].word == NOTHING && s[E].word == NOTHING && empty(tcp[D]) && empty(tcp[E]) && \
	 fails == 0 && ALL_ARRIVED && !MAY_LEAVE)

proctype dialling()
{
	bit me = D;

	do
	COMMON
	:: d_step { s[D].state == INIT && MAY_DIAL && s[D].epoch < LAST ->
		s[D].epoch++;
		printf("D dials %d\n", s[D].epoch);
		probed = false;
		make_carrier(D, s[D].epoch);
		s[D].state = CONNECTING;
		asked = asked | BIT(s[D].epoch) }
	:: d_step { TCP && s[D].state == INIT && MAY_SAY_TCP && s[D].epoch < LAST ->
		s[D].epoch++;
		printf("D takes TCP for %d\n", s[D].epoch);
		probed = false;
		make_carrier(D, s[D].epoch);
		by_tcp = by_tcp | BIT(s[D].epoch);
		s[D].state = UP;
		say(OVER_TCP) }
	/*
	 * A probe may come to E at any time, even before E has heard that this epoch has begun.  It
	 * names one which is over, and so is refused whatever E is in.
	 */
	:: d_step { leaves > 0 && s[D].state == UP && IS_TCP(D) && !probed ->
		leaves--;
		probed = true;
		printf("D probes in %d\n", s[D].epoch);
		asked = asked | BIT(PROBE_EPOCH) }
	:: d_step { s[D].state == UP && probed ->
		printf("D leaves TCP\n");
		SEEN(left);
		kill() }
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
	:: else ->
		SEEN(request_of_an_old_epoch);
		if
		:: HAS_CARRIER(E) && IS_TCP(E) -> SEEN(request_meets_tcp)
		:: else
		fi;
		rejected = rejected | BIT(n)
	fi
}

proctype dialled()
{
	bit me = E;

	do
	COMMON
	/* the first finds that there is no path; then, as another step, makes one; or cannot */
	:: d_step { HAS(asked, 1) && !s[E].there -> asked = asked & ~BIT(1); looked = true }
	:: d_step { looked ->
		looked = false;
		if
#ifdef M_LOOKED_ONCE
		:: s[E].there -> s[E].epoch = 0; s[E].state = INIT
#else
		:: s[E].there -> SEEN(path_made_meanwhile)
#endif
		:: else -> s[E].there = true
		fi;
		take_request(1) }
	:: d_step { looked && lost > 0 ->
		looked = false;
		lost--;
		rejected = rejected | BIT(1) }
	/* any of the requests that are on their way */
	:: d_step { HAS(asked, 1) && s[E].there -> take_request(1) }
	:: d_step { HAS(asked, 2) -> take_request(2) }
	:: d_step { HAS(asked, 3) -> take_request(3) }
	:: d_step { HAS(asked, 4) -> take_request(4) }
	:: d_step { HAS(asked, 5) -> take_request(5) }
	:: d_step { HAS(asked, 6) -> take_request(6) }
	:: d_step { HAS(asked, 7) -> take_request(7) }
	:: d_step { s[E].state == CONNECTING -> s[E].state = UP }
#ifdef M_KILLED_LATE
	/* who found its carrier broken comes to say so when it is fenced already */
	:: d_step { fails > 0 && s[E].state == INIT && HAS(fenced[E], s[E].epoch) ->
		fails--;
		s[E].state = DYING;
		say(DOWN) }
#endif
	:: STEADY -> break
	od
}

init
{
	d_step {
		s[D].word = NOTHING;
		s[E].word = NOTHING;
		s[D].half = NOTHING;
		s[E].half = NOTHING;
		s[D].there = true;
		s[E].there = !NO_PATH
	};
	atomic { run dialling(); run dialled() }
}
