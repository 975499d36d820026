/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by resume.pml: what a node knows of the stream, what its sender and its receiver do
 * by themselves, and when its id is free.
 */

/* Messages of each node, and which of them are pulled, or too long; bit m is message m. */
#ifndef MSGS0
#define MSGS0	2
#endif
#ifndef MSGS1
#define MSGS1	0
#endif
#ifndef PULL0
#define PULL0	0
#endif
#ifndef PULL1
#define PULL1	0
#endif
#ifndef LONG0
#define LONG0	0
#endif
#ifndef LONG1
#define LONG1	0
#endif
/*
 * Which nodes (bit n) shut down, close and abort; the service may refuse;
 * credits are recalled; CONNECT may be given up while there is no carrier;
 * node 0 cancels so many of its sends.
 */
#ifndef FINS
#define FINS	0
#endif
#ifndef CLOSES
#define CLOSES	1
#endif
#ifndef ABORTS
#define ABORTS	0
#endif
#ifndef REFUSES
#define REFUSES	0
#endif
#ifndef RECALLS
#define RECALLS	0
#endif
#ifndef CANCELS
#define CANCELS	0
#endif
#ifndef GIVES_UP
#define GIVES_UP	0
#endif
#ifndef FAILS
#define FAILS	2
#endif
#ifndef CREDITS
#define CREDITS	1
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
#define SEGS	2		/* of a message that is pulled */
#define MSGS	4		/* and one for FIN */

#define BIT(n)		(1 << (n))
#define HAS(set, n)	(((set) >> (n)) & 1)
#define MIN(x, y)	((x) < (y) -> (x) : (y))
#define MAX(x, y)	((x) > (y) -> (x) : (y))
#define NR(n)		((n) == 0 -> MSGS0 : MSGS1)
#define PULLED(n, m)	((m) <= NR(n) && HAS((n) == 0 -> PULL0 : PULL1, m))
#define TOO_LONG(n, m)	((m) <= NR(n) && HAS((n) == 0 -> LONG0 : LONG1, m))
#define IS_FIN(n, m)	((m) == NR(n) + 1)

mtype = { CONNECT, CONNECTED, REFUSED, ACCEPT, DATA, RTS, KEY, DONE, UPDATE, NACK, NACK_ACK,
	  RECALL, RETURN, FIN, RESET, RESET_ACK, RESET_DONE, RESUME, RESUME_END, SKIP, SKIPPED };

/* states of a stream */
#define NONE		0	/* node 1 has heard of none */
#define ASKED		1	/* CONNECT is being looked at */
#define CONNECTING	2
#define BACKLOG		3
#define OPEN		4
#define CLOSING		5
#define DRAINING	6	/* and after RESET */
#define BROKEN		7	/* the peer has said RESET */
#define FREE		8	/* its id is not in use any more */

/* what is owed; the lowest goes first */
#ifdef M_END_FIRST
#define O_RESUME	3
#define O_END		0
#else
#define O_RESUME	0
#define O_END		3
#endif
#define O_CONNECT	1
#define O_REFUSED	2
#define O_ANY		15	/* the ones above wait for no RESUME */
#define O_CONNECTED	4
#define O_ACCEPT	5
#define O_NACK		6
#ifdef M_SKIPPED_LATE
#define O_SKIPPED	17
#else
#define O_SKIPPED	7
#endif
#ifdef M_ACK_BEFORE_RESET
#define O_RESET		9
#define O_RESET_ACK	8
#else
#define O_RESET		8
#define O_RESET_ACK	9
#endif
#define O_RESET_DONE	10
#define O_NACK_ACK	11
#define O_DONE		12
#define O_UPDATE	13
#define O_RECALL	14
#define O_RETURN	15
#define O_SKIP		16
/* go before RESET, and are said by a stream that says nothing else any more */
#ifdef M_SKIPPED_DROPPED
#define O_FIRST		BIT(O_NACK)
#else
#define O_FIRST		(BIT(O_NACK) | BIT(O_SKIPPED))
#endif

/* fates of a send */
#define PENDING		0
#define DELIVERED	1
#define TOLD_REFUSED	2
#define UNDELIVERED	3

typedef node_t {
	bool up;		/* not fenced */
	byte st;
	int ctl;		/* frames that are owed */
	bool suspended;		/* since the last fence, until the other's RESUME */
	bool asked;		/* CONNECT was said in this epoch */
	bool heard;		/* anything but CONNECT */
	bool accepted;		/* ACCEPT is said again */
	bool fin;		/* SHUTDOWN, or CLOSE after it */
	bool quit;		/* CLOSE or its end: base is what was over by then */
	/* sender */
	bool peer_open;
	byte sent, acked, used, limit;
	byte nacked;		/* bits */
	byte heard_nack;
	byte kseq, koff, kdone;	/* which message is keyed, up to where, what came back */
	byte fate[MSGS];
	byte cancels;		/* how many were */
	byte cancelled;		/* which one is, at the moment */
	bool removed;		/* and it was not on the wire: the next one has its number */
	/* receiver */
	byte arrived, over, base;
	byte nack;		/* EMSGSIZE without NACK_ACK */
	byte told, spent, freed;
	bool recall_out, recalled;
	byte pseq, landed, keyed;
	byte dseq, dlen;	/* of the DONE that is owed */
	byte reading;		/* which message, or 0 */
	byte unwanted;		/* SKIP has come of it, and is not answered */
	byte tomb;		/* SKIPPED was said of it, last */
	byte tombs;		/* bits: arrived, and never will be delivered */
	bool other;		/* what arrived is not what was cancelled */
	byte got, refused;	/* bits: what really happened */
	/* the end */
#ifdef M_DONE_AGAIN
	bool done_said;		/* in this epoch */
#endif
	bool reset_tx, reset_rx, ack_tx, ack_now, ack_rx, done_rx;
};

node_t n[2];
byte fails = FAILS;
chan q[2] = [QCAP] of { mtype, byte, byte, byte, byte, byte };

/* for the length of a step */
hidden byte i;
hidden mtype t;
hidden byte a;
hidden byte b;
hidden byte c;
hidden byte d;
hidden byte e;

#define ME	n[me]
#define PEER	n[1 - me]
#define LIVE	(ME.st != NONE && ME.st != ASKED && ME.st != FREE)
#define OWE(what)	ME.ctl = ME.ctl | BIT(what)
#ifdef M_NO_WAIT
#define WAITS	false
#else
#define WAITS	ME.suspended
#endif
#define ELIGIBLE	(WAITS || !LIVE -> ME.ctl & O_ANY : ME.ctl)
#define ROOM		(ME.up && (!PEER.up || nfull(q[1 - me])))
#define OWED(what)	(ROOM && (ELIGIBLE & (BIT(what + 1) - 1)) == BIT(what))
#define IDLE		(ROOM && LIVE && !WAITS && ME.ctl == 0)

/* ---- to the other side; nobody is there when it has fenced ---- */

inline put(type, v, w, x, y, z)
{
	if
	:: PEER.up ->
		printf("%d says %e %d %d %d %d %d\n", me, type, v, w, x, y, z);
		q[1 - me]!type(v, w, x, y, z)
	:: else ->
		printf("%d says %e %d %d %d %d %d: lost\n", me, type, v, w, x, y, z)
	fi
}

inline say(what, type, v, w, x, y, z)
{
	ME.ctl = ME.ctl & ~BIT(what);
	put(type, v, w, x, y, z)
}

/* May a frame for the receiver be handled?  Not after the peer's RESET; dropped after ours. */
#define HEARS		(ME.st == OPEN || ME.st == CLOSING)

/* ---- sender ---- */

/* It ended out of order. */
#define SKIPPED_BEFORE(m) \
	((m) <= NR(me) && ME.fate[(m) - 1] != PENDING && !(ME.removed && ME.cancelled == (m)))

inline next_key()
{
	i = ME.kseq + 1;
	ME.kseq = 0;
	ME.koff = 0;
	ME.kdone = 0;
	do
	:: i <= ME.sent && (!PULLED(me, i) || SKIPPED_BEFORE(i)) -> i++
	:: else -> break
	od;
	if
	:: i <= ME.sent -> ME.kseq = i
	:: else
	fi
}

/* A send ends. */
inline end_send(m, how)
{
	if
	:: m <= NR(me) && ME.fate[m - 1] == PENDING ->
		ME.fate[m - 1] = how;
		assert(HAS(PEER.got, m) == (how == DELIVERED));
		assert(how != TOLD_REFUSED || HAS(PEER.refused, m))
	:: else
	fi
}

/* Everything up to seq is over at the receiver. */
inline ack(seq)
{
	assert(seq <= ME.sent);
	do
	:: ME.acked < seq ->
		ME.acked++;
		if
		:: HAS(ME.nacked, ME.acked) -> end_send(ME.acked, TOLD_REFUSED)
		:: else -> end_send(ME.acked, DELIVERED)
		fi;
		if
		:: ME.kseq == ME.acked -> next_key()
		:: else
		fi
	:: else -> break
	od;
	i = 0
}

/*
 * CANCEL, and again after a failure: what is not on the wire is taken out of the queue, and is not
 * delivered for certain; else SKIP asks the receiver, which delivers, or answers SKIPPED.  One SKIP
 * is out at a time.
 */
inline try_cancel()
{
	if
	:: ME.cancelled == 0 || ME.removed || ME.fate[ME.cancelled - 1] != PENDING
	:: else ->
		if
		:: ME.sent < ME.cancelled ->
			SEEN(cancelled_off_wire);
			ME.removed = true;
			end_send(ME.cancelled, UNDELIVERED)
		:: else ->
			SEEN(skip_said);
			OWE(O_SKIP);
#ifdef M_SKIP_AT_ONCE
			end_send(ME.cancelled, UNDELIVERED)
#endif
		fi
	fi
}

/* SKIPPED: the one that is waited for, or one that is known, said again with a new carrier. */
inline skipped(m)
{
	assert(m <= ME.sent);
	if
	:: ME.fate[m - 1] == PENDING ->
		assert(m == ME.cancelled && !ME.removed);
		if
		:: ME.suspended -> SEEN(skipped_said_again)
		:: else
		fi;
		end_send(m, TOLD_REFUSED);
		if
		:: ME.kseq == m -> SEEN(skipped_while_keyed); next_key()
		:: else
		fi
	:: else -> SEEN(skipped_is_known); assert(ME.suspended || !HEARS)
	fi
}

/* The last word on all sends. */
inline settle(seq)
{
	ack(seq);
	c = ME.acked + 1;
	do
	:: c <= NR(me) ->
		if
		:: HAS(ME.nacked, c) -> end_send(c, TOLD_REFUSED)
		:: else -> end_send(c, UNDELIVERED)
		fi;
		c++
	:: else -> break
	od;
	ME.kseq = 0;
	ME.koff = 0;
	ME.kdone = 0
}

/* What never left ends with the stream. */
inline drop_queued()
{
	c = ME.sent + 1;
	do
	:: c <= NR(me) -> end_send(c, UNDELIVERED); c++
	:: else -> break
	od;
	i = 0
}

#define LAST		(NR(me) + (ME.fin -> 1 : 0))
/* UPDATE says nothing of one that is buried last, so it is what is in flight that counts. */
#define ENDED(m)	((m) > NR(me) || ME.fate[(m) - 1] != PENDING)
#define ALL_ENDED	(ENDED(1) && ENDED(2) && ENDED(3) && !ME.removed && !ME.fin)
#define ALL_ACKED	((ME.acked >= LAST || ALL_ENDED) && (ME.ctl & (BIT(O_NACK_ACK))) == 0)
#define SENDS		(ME.peer_open && (ME.st == OPEN || ME.st == CLOSING))
#define NEXT		(ME.sent + 1)
/* No key for what is being cancelled. */
#ifdef M_SKIP_KEYED
#define KEYS(m)		true
#else
#define KEYS(m)		((m) != ME.cancelled || ME.removed)
#endif
#define IS_OTHER	(ME.removed && NEXT == ME.cancelled -> 1 : 0)

/* ---- receiver ---- */

inline next_pull()
{
	i = ME.pseq + 1;
	ME.pseq = 0;
	ME.landed = 0;
	ME.keyed = 0;
	do
	:: i <= ME.arrived && (!PULLED(1 - me, i) || HAS(ME.tombs, i)) -> i++
	:: else -> break
	od;
	if
	:: i <= ME.arrived -> ME.pseq = i
	:: else
	fi
}

inline arrive(m)
{
	assert(m == ME.arrived + 1);
	ME.arrived = m;
	if
	:: m <= NR(1 - me) && !PULLED(1 - me, m) ->
		assert(ME.spent < ME.told);
		ME.spent++
	:: else
	fi;
	if
	:: PULLED(1 - me, m) && ME.pseq == 0 -> ME.pseq = m
	:: else
	fi
}

/* The next one that is not buried. */
#define AFTER(m)	(HAS(ME.tombs, (m) + 1) -> (m) + 2 : (m) + 1)
#define HEAD		(HAS(ME.tombs, ME.over + 1) -> AFTER(ME.over + 1) : ME.over + 1)

/* The next message is over here: its landing is free, its pull is. */
inline pass()
{
	ME.over = HEAD;
	if
	:: ME.over <= NR(1 - me) && !PULLED(1 - me, ME.over) -> ME.freed++
	:: ME.pseq == ME.over -> next_pull()
	:: else
	fi;
	OWE(O_UPDATE)
}

/* SKIP is answered: the message will not be delivered, and its numbers stay used. */
inline bury(m)
{
	printf("%d buries %d\n", me, m);
	if
	:: ME.over + 1 < m -> SEEN(skipped_out_of_order)
	:: else
	fi;
	ME.unwanted = 0;
	ME.refused = ME.refused | BIT(m);
#ifndef M_NO_TOMB
	ME.tombs = ME.tombs | BIT(m);
#endif
	ME.tomb = m;
	OWE(O_SKIPPED);
	if
	:: ME.dseq == m ->
#ifndef M_DONE_OF_SKIPPED
		ME.ctl = ME.ctl & ~BIT(O_DONE)
#else
		skip
#endif
	:: else
	fi;
	if
	:: ME.pseq == m -> SEEN(skipped_half_landed); next_pull()
	:: else
	fi;
	if
	:: m <= NR(1 - me) && !PULLED(1 - me, m) -> ME.freed++; OWE(O_UPDATE)
	:: else
	fi
}

/* It will be refused. */
#define UNWANTED(m)	TOO_LONG(1 - me, m)
#define LANDED		(!PULLED(1 - me, HEAD) || ME.pseq == 0 || ME.pseq > HEAD)
/* ---- when the id is free ---- */

#define OFF_WIRE \
	((ME.reset_rx -> ME.ack_tx && WAS_DONE && (!ME.reset_tx || ME.ack_rx) : \
			 ME.reset_tx && ME.ack_rx) && DONE_SAID && !ME.reading)
#ifdef M_DONE_OWED
#define DONE_SAID	true
#elif defined(M_DONE_AGAIN)
#define DONE_SAID	(!HAS(ME.ctl, O_RESET_DONE) && (!ME.reset_tx || ME.done_said))
#else
#define DONE_SAID	!HAS(ME.ctl, O_RESET_DONE)
#endif
#ifdef M_NO_DONE
#define WAS_DONE	true
#else
#define WAS_DONE	ME.done_rx
#endif

inline free_id()
{
	ME.st = FREE;
	printf("%d: its id is free\n", me);
	ME.suspended = false;
	ME.ctl = ME.ctl & O_ANY;
	c = 1;
	do
	:: c <= NR(me) -> assert(ME.fate[c - 1] != PENDING); c++
	:: else -> break
	od;
	i = 0
}
