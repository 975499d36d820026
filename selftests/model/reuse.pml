/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ids that are used again: node 0 opens one stream after the other, all with one id, while
 * node 1 may not know yet that the one before is over.  Only what opens and ends a stream is here;
 * resume.pml has the rest, and says how a carrier fails.
 *
 * str[0] is node 0's stream, 1 and 2 are those of node 1.  A frame names its receiver's stream;
 * "from", the stream that it is of, is looked at only where the frame has it (CONNECTED and RESUME
 * tell their sender's id), and in assertions.
 */
#ifndef FAILS
#define FAILS	2
#endif
#ifndef STREAMS
#define STREAMS	2
#endif
#ifndef QCAP
#define QCAP	4
#endif

/* The runner wants each of these to be reached by some run. */
#ifdef COVER
#define SEEN(what)	c_code { static int once; if (!once++) fprintf(stderr, "seen " #what "\n"); }
#else
#define SEEN(what)	skip
#endif

mtype = { CONNECT, CONNECTED, RESET, RESET_ACK, RESET_DONE, RESUME, RESUME_END };

/* states of a stream */
#define FREE		0
#define CONNECTING	1
#define LIVE		2

/* what is owed; the lowest goes first */
#define O_RESUME	0
#define O_CONNECT	1
#define O_CONNECTED	2
#define O_RESET		3
#define O_RESET_ACK	4
#define O_RESET_DONE	5

typedef stream_t {
	byte st, ctl;
	byte peer;		/* of str[0]: 1 or 2 */
	bool suspended, wants_end;
	bool reset_tx, reset_rx, ack_tx, ack_now, ack_rx, done_rx;
};

stream_t str[3];
bool up[2], end_owed[2];
byte fails = FAILS;
byte left = STREAMS;
/* type, receiver's stream, sender's, it has said RESET_ACK */
chan q[2] = [QCAP] of { mtype, byte, byte, byte };

hidden mtype t;
hidden byte to;
hidden byte from;
hidden byte over;

#define BIT(n)		(1 << (n))
#define HAS(set, n)	(((set) >> (n)) & 1)
#define OWE(x, what)	str[x].ctl = str[x].ctl | BIT(what)
#define PEER(x)		((x) == 0 -> str[0].peer : 0)
#define ELIGIBLE(x)	(str[x].suspended -> str[x].ctl & 3 : str[x].ctl)
#define ROOM		(up[me] && (!up[1 - me] || nfull(q[1 - me])))
#define OWED(x, what)	\
	(ROOM && str[x].st != FREE && (ELIGIBLE(x) & (BIT(what + 1) - 1)) == BIT(what))
#define OFF_WIRE(x) \
	((str[x].reset_rx -> str[x].ack_tx && str[x].done_rx && (!str[x].reset_tx || str[x].ack_rx) : \
			     str[x].reset_tx && str[x].ack_rx) && !HAS(str[x].ctl, O_RESET_DONE))

inline put(type, x)
{
	if
	:: up[1 - me] ->
		printf("%d says %e, stream %d\n", me, type, x);
		to = PEER(x);
		over = str[x].ack_tx;
		q[1 - me]!type(to, x, over)
	:: else -> printf("%d says %e, stream %d: lost\n", me, type, x)
	fi
}

inline say(x, what, type)
{
	str[x].ctl = str[x].ctl & ~BIT(what);
	put(type, x)
}

inline free_id(x)
{
	printf("stream %d is free\n", x);
	str[x].st = FREE;
	str[x].ctl = 0;
	str[x].peer = 0;
	str[x].suspended = false;
	str[x].wants_end = false;
	str[x].reset_tx = false;
	str[x].reset_rx = false;
	str[x].ack_tx = false;
	str[x].ack_now = false;
	str[x].ack_rx = false;
	str[x].done_rx = false
}

inline check_end(x)
{
	if
	:: str[x].st == LIVE && OFF_WIRE(x) -> free_id(x)
	:: else
	fi
}

/* ---- the carrier ---- */

inline suspend(x)
{
	if
	:: str[x].st != FREE ->
		str[x].ctl = 0;
		str[x].suspended = true;
		str[x].ack_now = false;
		check_end(x)
	:: else
	fi
}

inline fence()
{
	up[me] = false;
	printf("%d fences, %d lost\n", me, len(q[me]));
	do
	:: len(q[me]) > 0 -> q[me]?t, to, from, over
	:: else -> break
	od;
	if
	:: me == 0 -> suspend(0)
	:: else -> suspend(1); suspend(2)
	fi;
	end_owed[me] = false
}

inline begin(x)
{
	if
	:: str[x].st == CONNECTING -> OWE(x, O_CONNECT)
	:: str[x].st == LIVE -> OWE(x, O_RESUME)
	:: else
	fi
}

inline resume(x)
{
	str[x].suspended = false;
	if
	:: str[x].reset_tx && !str[x].ack_rx -> OWE(x, O_RESET)
	:: else
	fi;
	if
	:: str[x].reset_rx && !str[x].done_rx -> OWE(x, O_RESET_ACK)
	:: else
	fi
}

/* ---- what arrives ---- */

/* Made by a CONNECT in an earlier epoch, which is said again; not one that node 0 must be done with. */
#ifdef M_OLD_IS_NEW
#define AGAIN(x)	(str[x].st == LIVE && str[x].suspended)
#else
#define AGAIN(x)	(str[x].st == LIVE && str[x].suspended && !str[x].ack_tx)
#endif

inline accept(x)
{
	str[x].st = LIVE;
	OWE(x, O_CONNECTED)
}

inline take_connect()
{
	if
	:: AGAIN(1) -> SEEN(connect_again); resume(1)
	:: !AGAIN(1) && AGAIN(2) -> resume(2)
	:: else ->
		if
		:: str[1].st == LIVE || str[2].st == LIVE -> SEEN(id_used_again)
		:: else
		fi;
		assert(str[1].st == FREE || str[2].st == FREE);
		if
		:: str[1].st == FREE -> accept(1)
		:: else -> accept(2)
		fi
	fi
}

#ifdef M_OVER_IGNORED
#define IS_OVER	false
#else
#define IS_OVER	over
#endif

inline take_resume()
{
	if
	:: me == 0 && str[0].st == CONNECTING && !IS_OVER ->
		SEEN(resume_is_connected);
		str[0].peer = from;
		str[0].st = LIVE;
		if
		:: HAS(str[0].ctl, O_CONNECT) -> str[0].ctl = BIT(O_RESUME)
		:: else
		fi;
		resume(0)
	:: me == 0 && str[0].st == CONNECTING && IS_OVER -> SEEN(resume_of_an_old_one)
	:: me == 0 && str[0].st == LIVE && str[0].peer == from -> resume(0)
	:: me == 0 && (str[0].st == FREE || (str[0].st == LIVE && str[0].peer != from)) -> SEEN(resume_of_nobody)
	:: me == 1 && str[to].st == LIVE -> resume(to)
	:: me == 1 && str[to].st == FREE
	fi
}

inline end_one(x)
{
	if
	:: str[x].st == LIVE && str[x].suspended ->
		SEEN(over_by_end);
		assert(str[x].ack_tx);
		free_id(x)
	:: else
	fi
}

inline take_frame()
{
	/* it is for the stream that its sender means */
	assert(str[to].st == LIVE && !str[to].suspended);
	assert(me == 1 || str[0].peer == from);
	if
	:: t == RESET ->
		if
		:: str[to].reset_rx && str[to].ack_now
		:: else ->
			str[to].reset_rx = true;
			OWE(to, O_RESET_ACK)
		fi
	:: t == RESET_ACK ->
		assert(str[to].reset_tx);
		str[to].ack_rx = true;
		OWE(to, O_RESET_DONE)
	:: t == RESET_DONE ->
		assert(str[to].ack_tx && !str[to].done_rx);
		str[to].done_rx = true
	fi;
	check_end(to)
}

inline take()
{
	q[me]?t, to, from, over;
	printf("%d hears %e of stream %d\n", me, t, from);
	if
	:: t == CONNECT -> take_connect()
	:: t == CONNECTED ->
		assert(str[0].st == CONNECTING);
		str[0].st = LIVE;
		str[0].peer = from;
		str[0].suspended = false
	:: t == RESUME -> take_resume()
	:: t == RESUME_END ->
		if
		:: me == 0 -> end_one(0)
		:: else -> end_one(1); end_one(2)
		fi
	:: else -> take_frame()
	fi
}

/* ---- a node ---- */

#define STREAM(x) \
	:: d_step { OWED(x, O_RESUME) -> say(x, O_RESUME, RESUME) } \
	:: d_step { OWED(x, O_CONNECTED) -> say(x, O_CONNECTED, CONNECTED) } \
	:: d_step { OWED(x, O_RESET) -> say(x, O_RESET, RESET) } \
	:: d_step { OWED(x, O_RESET_ACK) -> \
		str[x].ack_tx = true; \
		str[x].ack_now = true; \
		say(x, O_RESET_ACK, RESET_ACK); \
		check_end(x) } \
	:: d_step { OWED(x, O_RESET_DONE) -> say(x, O_RESET_DONE, RESET_DONE); check_end(x) } \
	:: d_step { up[me] && str[x].st == LIVE && !str[x].suspended && !str[x].reset_tx && \
		    !str[x].reset_rx -> \
		str[x].reset_tx = true; \
		OWE(x, O_RESET) }

#define NO_RESUME(x)	(str[x].st == FREE || (str[x].ctl & 3) == 0)
#define ALL_FREE \
	(left == 0 && str[0].st == FREE && str[1].st == FREE && str[2].st == FREE)
#define ALL_OVER \
	(ALL_FREE && up[0] && up[1] && empty(q[0]) && empty(q[1]) && !end_owed[0] && !end_owed[1])

#define CARRIER \
	:: d_step { up[me] && nempty(q[me]) -> take() } \
	:: d_step { fails > 0 && up[0] && up[1] && !ALL_FREE -> fails--; fence() } \
	:: d_step { up[me] && !up[1 - me] -> fence() }

proctype connecting()
{
	bit me = 0;

	do
	CARRIER
	STREAM(0)
	:: d_step { left > 0 && str[0].st == FREE ->
		left--;
		printf("opens one\n");
		str[0].st = CONNECTING;
		str[0].suspended = !up[0];
		if
		:: up[0] -> OWE(0, O_CONNECT)
		:: else			/* begin() */
		fi }
	:: d_step { OWED(0, O_CONNECT) -> str[0].suspended = false; say(0, O_CONNECT, CONNECT) }
	:: d_step { ROOM && end_owed[0] && NO_RESUME(0) -> end_owed[0] = false; put(RESUME_END, 0) }
	:: ALL_OVER -> break
	od
}

proctype listening()
{
	bit me = 1;

	do
	CARRIER
	STREAM(1)
	STREAM(2)
	:: d_step { ROOM && end_owed[1] && NO_RESUME(1) && NO_RESUME(2) ->
		end_owed[1] = false;
		put(RESUME_END, 1) }
	:: ALL_OVER -> break
	od
}

proctype dialler()
{
	do
	:: d_step { !up[0] && !up[1] ->
		printf("epoch\n");
		up[0] = true;
		up[1] = true;
		end_owed[0] = true;
		end_owed[1] = true;
		begin(0);
		begin(1);
		begin(2) }
	:: ALL_OVER -> break
	od
}

init
{
	d_step {
		up[0] = true;
		up[1] = true
	};
	atomic { run connecting(); run listening(); run dialler() }
}
