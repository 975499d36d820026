/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two nodes that dial each other at once: which of the two sessions is left?
 * Documentation/protocol.rst has it under Crossing, kmod/hello.c has the rules.  Node 0 has the
 * lower nonce.
 *
 * Session n is the one that node n dials.  TCP connects at any time, and brings what is said in
 * order.  SAME_ADDR: a node knows by the address that who dials it is whom it dials.
 * LATE: a dial may take so long that it is not young any more.  BLOCKED: that of node 0 never
 * connects.  RETRIES: how often a node that was refused, and has looked in vain for the session that
 * won, dials again; as often as it takes when BLOCKED.
 *
 * At the end the streams of each node are on a session that is up at both sides; and there is
 * one session, unless a dial was late.
 */
#ifndef SAME_ADDR
#define SAME_ADDR	1
#endif
#ifndef LATE
#define LATE		0
#endif
#ifndef BLOCKED
#define BLOCKED		0
#endif
#ifndef RETRIES
#define RETRIES		0
#endif

/* The runner wants each of these to be reached by some run. */
#ifdef COVER
#define SEEN(what)	c_code { static int once; if (!once++) fprintf(stderr, "seen " #what "\n"); }
#else
#define SEEN(what)	skip
#endif

mtype = { HELLO, REFUSE, BYE, PATHS };

/* a dial */
#define IDLE		0
#define DIALLING	1
#define UP		2
#define CROSSED		3	/* refused, or gave way; looks for the session that won */
#define MERGED		4	/* its streams are on the other session */

typedef node_t {
	byte dial;
	bool connected, young;
	bool up;		/* the session that the other node has dialled */
	bool ready;		/* and it has its paths */
	byte tries;
};

node_t n[2];
chan to[2] = [4] of { mtype };		/* in session x, to the side that was dialled */
chan back[2] = [4] of { mtype };	/* and to the one that dialled */

hidden mtype t;

#define ME	n[me]
#define PEER	n[1 - me]

/* Our own dial is the one that stays. */
#ifdef M_BOTH_SURVIVE
#define LOWER	true
#elif defined(M_NONE_SURVIVES)
#define LOWER	false
#else
#define LOWER	(me == 0)
#endif
#define YOUNG	(ME.connected || ME.young)
#define SURVIVES \
	(SAME_ADDR && ME.dial == DIALLING && LOWER && YOUNG)

#ifdef M_NO_RULE_1
#define RULE_1	false
#else
#define RULE_1	(ME.dial == UP || (ME.up && (ME.ready || SAME_ADDR)))
#endif

inline asked()
{
	printf("%d is asked\n", me);
	if
	:: RULE_1 ->
		SEEN(refused_by_rule_1);
		back[1 - me]!REFUSE
	:: !RULE_1 && SURVIVES ->
		SEEN(refused_by_rule_2);
		back[1 - me]!REFUSE
	:: else ->
		if
		:: ME.dial == DIALLING && me == 0 -> SEEN(lower_nonce_accepts)
		:: else
		fi;
		ME.up = true;
		ME.ready = false;
		back[1 - me]!HELLO
	fi
}

inline answered()
{
	if
#ifndef M_NO_RULE_3
	:: me == 1 && ME.up ->
		SEEN(gives_way_by_rule_3);
		printf("%d gives way\n", me);
		to[me]!BYE;
		ME.dial = CROSSED
#endif
	:: else ->
		printf("%d: its dial is up\n", me);
		ME.dial = UP;
		to[me]!PATHS
	fi
}

#define SETTLED(x)	(n[x].dial == UP || n[x].dial == MERGED || (BLOCKED && x == 0))
#define QUIET \
	(empty(to[0]) && empty(to[1]) && empty(back[0]) && empty(back[1]))

proctype node(bit me)
{
	do
	:: d_step { ME.dial == IDLE -> ME.dial = DIALLING; ME.young = true; ME.connected = false }
	:: d_step { ME.dial == DIALLING && !ME.connected && !(BLOCKED && me == 0) ->
		ME.connected = true;
		to[me]!HELLO }
	:: d_step { LATE && ME.dial == DIALLING && ME.young && !ME.connected -> ME.young = false }
	:: d_step { len(to[1 - me]) > 0 ->
		to[1 - me]?t;
		if
		:: t == HELLO -> asked()
		:: t == PATHS -> assert(ME.up); ME.ready = true
		:: t == BYE -> assert(ME.up); ME.up = false
		fi }
	:: d_step { len(back[me]) > 0 ->
		back[me]?t;
		assert(ME.dial == DIALLING);
		if
		:: t == HELLO -> answered()
		:: t == REFUSE -> ME.dial = CROSSED
		fi }
	/* the look for the session that won */
	:: d_step { ME.dial == CROSSED && ME.up && ME.ready ->
		printf("%d is on the other's\n", me);
		ME.dial = MERGED }
	:: d_step { ME.dial == CROSSED && !(ME.up && ME.ready) && (BLOCKED || ME.tries < RETRIES) ->
		SEEN(dials_again);
		ME.tries = (BLOCKED -> 0 : ME.tries + 1);
		ME.dial = IDLE }
	:: d_step { SETTLED(0) && SETTLED(1) && QUIET ->
		assert(n[0].dial == UP || n[1].dial == UP);
		assert(n[0].dial != UP || n[1].up);
		assert(n[1].dial != UP || n[0].up);
		assert(LATE || n[0].dial != UP || n[1].dial != UP);
		/* nobody keeps a session that the other one does not have */
		assert(!n[0].up || n[1].dial == UP);
		assert(!n[1].up || n[0].dial == UP);
		skip } ->
		break
	od
}

init
{
	atomic { run node(0); run node(1) }
}
