/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One stream between two nodes whose carrier fails: what Documentation/recovery.rst says
 * under Resume, and Opening and ending.  Node 0 connects, node 1 listens.
 *
 * The carrier.  q[n] is what is in flight to node n, in order.  A node notices a failure at any
 * time (FAILS of them in all), or since the other one did (DOWN comes some time later); its
 * fence then loses what is in flight to it.  What it sent before may still arrive until the
 * other side has fenced too: so any suffix is lost in each direction, and a packet may have arrived
 * whose sender saw an error.  The next epoch begins when both are fenced; path.pml has how they
 * find that out.
 *
 * A frame is a packet of its own here.  Of the frames that are owed, the one of the lowest bit
 * goes first; when is open, and so are all steps of the processes at both ends.
 *
 * Everything is bounded, and no step repeats itself: each run comes to an end.  What a run may
 * end in is asserted in node(), that there is no run without an end is checked by "check".
 */

#include "resume_state.pml"

/* ---- the carrier ---- */

inline fence()
{
	ME.up = false;
	printf("%d fences, %d lost\n", me, len(q[me]));
	do
	:: len(q[me]) > 0 -> q[me]?t, a, b, c, d, e
	:: else -> break
	od;
	if
	:: ME.st == ASKED -> ME.st = NONE
	:: else
	fi;
#ifdef M_NACK_ONCE
	ME.ctl = 0;
#else
	/* before RESUME, which says of it that it is over */
	ME.ctl = (LIVE && ME.nack != 0 -> BIT(O_NACK) : 0);
#endif
#ifndef M_SKIPPED_ONCE
	ME.ctl = ME.ctl | (LIVE && ME.tomb != 0 -> BIT(O_SKIPPED) : 0);
#endif
	ME.unwanted = 0;	/* SKIP is said again */
	ME.suspended = LIVE;
	ME.asked = false;
	ME.ack_now = false;
#ifdef M_DONE_AGAIN
	ME.done_said = false;
#endif
	ME.reading = 0;
#ifndef M_KEYS_KEPT
	ME.keyed = 0;
#endif
	ME.dseq = 0;
	ME.dlen = 0;
	ME.kseq = 0;
	ME.koff = 0;
	ME.kdone = 0;
	ME.heard_nack = 0;
	ME.recall_out = false;
#ifndef M_REFUSAL_COUNTS
	/* what a closing side has refused is refused again */
	if
	:: ME.quit && ME.over > ME.base -> SEEN(refuses_again); ME.over = ME.base
	:: else
	fi;
#endif
	/* only RESET_DONE was owed: RESUME_END will say it, and so no RESUME may be said */
#ifndef M_DONE_UNASKED
	if
	:: LIVE && OFF_WIRE -> SEEN(over_by_fence); free_id()
	:: else
	fi
#endif
}

/* PAGE is the first form of recovery.rst; the model has found a fault in it. */
#ifdef PAGE
#define RESUMES(w)	(w == 0 || n[w].heard)
#else
#define RESUMES(w)	true
#endif

inline begin_epoch(w)
{
	n[w].up = true;
	n[w].ctl = n[w].ctl | BIT(O_END);
	if
	:: n[w].st == CONNECTING -> n[w].ctl = n[w].ctl | BIT(O_CONNECT)
	:: n[w].suspended && n[w].st != CONNECTING && RESUMES(w) -> n[w].ctl = n[w].ctl | BIT(O_RESUME)
	:: else
	fi
}

/* The other side has said where it stands: what is owed in this epoch. */
inline resume(over_there, got_there, spent_there, pull_there, land_there)
{
	ME.suspended = false;
	if
	:: over_there > ME.acked -> SEEN(acked_by_resume); ack(over_there)
	:: else
	fi;
	if
	:: got_there < ME.sent -> SEEN(sent_again)
	:: else
	fi;
	if
	:: land_there > 0 -> SEEN(pulled_on)
	:: else
	fi;
#ifdef M_FIN_ONCE
	if
	:: ME.sent <= NR(me) -> ME.sent = got_there
	:: else
	fi;
#elif defined(M_NOT_AGAIN)
	skip;
#else
	ME.sent = got_there;
#endif
#ifndef M_CREDITS_KEPT
	ME.used = spent_there;
#endif
	ME.kseq = pull_there;
	ME.kdone = land_there;
	ME.koff = land_there;
	if
	:: HEARS || ME.st == BACKLOG -> OWE(O_UPDATE)
	:: else
	fi;
#ifdef M_NO_UPDATE
	ME.ctl = ME.ctl & ~BIT(O_UPDATE);
#endif
	try_cancel();
#ifndef M_ACCEPT_ONCE
	if
	:: ME.accepted && !ME.reset_rx && !ME.reset_tx -> OWE(O_ACCEPT)
	:: else
	fi;
#endif
#ifndef M_RESET_ONCE
	if
	:: ME.reset_tx && !ME.ack_rx -> SEEN(reset_said_again); OWE(O_RESET)
	:: else
	fi;
#endif
#ifdef M_DONE_UNASKED
	if
	:: ME.ack_rx -> OWE(O_RESET_DONE)
	:: else
	fi;
#endif
#ifndef M_ACK_ONCE
	if
	:: ME.reset_rx && !ME.done_rx -> SEEN(ack_said_again); OWE(O_RESET_ACK)
	:: else
	fi
#endif
}

/* ---- the end ---- */

inline cancel(m)
{
	printf("%d cancels %d\n", me, m);
	ME.cancels++;
	ME.cancelled = m;
	ME.ctl = ME.ctl & ~BIT(O_SKIP);
	if
	:: !ME.suspended && ME.up -> try_cancel()
	:: else			/* the other side will tell what it has */
	fi
}

inline abort_stream()
{
	ME.st = DRAINING;
	printf("%d aborts\n", me);
	if
	:: !ME.quit -> ME.base = ME.over
	:: else
	fi;
	ME.quit = true;
	ME.ctl = ME.ctl & (O_ANY | BIT(O_CONNECTED) | O_FIRST);
	drop_queued()
}

/* ---- what arrives ---- */

inline take_connect()
{
	assert(me == 1);
	if
	:: ME.st == NONE -> ME.st = ASKED
	:: LIVE ->
		/* again: our RESUME is the answer, and this is the other side's */
		SEEN(connect_again);
		if
		:: ME.sent > 0 -> SEEN(connect_again_after_send)
		:: else
		fi;
#ifdef M_CONNECT_NEW
		OWE(O_REFUSED)		/* "the name is taken" */
#else
		assert(ME.suspended);
#ifdef M_CONNECT_NO_RESUME
		ME.suspended = false;
		if
		:: ME.accepted -> OWE(O_ACCEPT)
		:: else
		fi
#else
		resume(0, 0, 0, 0, 0)
#endif
#endif
	:: else -> assert(false)
	fi
}

inline connected()
{
	ME.st = OPEN;
	OWE(O_UPDATE)
}

inline take_resume()
{
	if
	:: ME.st == FREE -> SEEN(resume_of_free_id)
	:: ME.st == CONNECTING ->
#ifdef PAGE
		assert(false);
#endif
		ME.suspended = true;
		ME.ctl = ME.ctl & ~BIT(O_CONNECT);
		if
		:: !ME.asked -> SEEN(resume_before_connect); OWE(O_RESUME)
		:: else -> SEEN(resume_crosses_connect)
		fi;
		ME.st = OPEN;
		resume(a, b, c, d, e)
	:: LIVE && ME.st != CONNECTING ->
		assert(ME.suspended);
		if
		:: !ME.heard && !RESUMES(me) -> OWE(O_RESUME)
		:: else
		fi;
		ME.heard = true;
		resume(a, b, c, d, e)
	:: else -> assert(false)
	fi
}

inline take_end()
{
	if
	:: ME.suspended && ME.st != CONNECTING ->
		/* or the other side gave up before it knew of us */
		SEEN(over_by_end);
#ifndef M_DONE_AGAIN
		assert(ME.ack_tx || (GIVES_UP && me == 1 && !ME.heard));
#endif
		if
		:: !ME.ack_tx -> SEEN(given_up_by_end); settle(ME.acked)
		:: else
		fi;
#ifndef M_NO_END
		free_id()
#else
		skip
#endif
	:: else
	fi
}

inline take_reset(seq)
{
	ME.heard = true;
	if
	:: ME.reset_rx ->
#ifdef M_ACK_TWICE
		OWE(O_RESET_ACK)
#else
		if
		:: !ME.ack_now -> SEEN(reset_again); OWE(O_RESET_ACK)
		:: else -> SEEN(reset_again_answered)
		fi
#endif
	:: else ->
		ME.reset_rx = true;
		settle(seq);
		ME.ctl = ME.ctl & (O_ANY | BIT(O_RESET_ACK) | O_FIRST | BIT(O_RESET));
#ifndef M_RESET_DROPPED
		if
		:: !ME.reset_tx -> ME.ctl = ME.ctl & ~BIT(O_RESET)
		:: else
		fi;
#else
		ME.ctl = ME.ctl & ~BIT(O_RESET);
#endif
		if
		:: !ME.quit -> ME.base = ME.over
		:: else
		fi;
		if
		:: ME.st != DRAINING -> ME.st = BROKEN
		:: else
		fi;
		OWE(O_RESET_ACK)
	fi
}

#ifdef M_NACK_ACK_OPEN
#define ANSWERS_NACK	(ME.st == OPEN)
#else
#define ANSWERS_NACK	HEARS
#endif

/* The frames of a stream that is there, and goes on. */
inline take_frame()
{
	assert(LIVE && (!ME.suspended || t == NACK || t == SKIPPED));
	if
	:: t == CONNECTED -> assert(ME.st == CONNECTING); connected()
	:: t == REFUSED ->
		SEEN(refused);
		assert(ME.st == CONNECTING);
		drop_queued();
		free_id()
	:: t == ACCEPT ->
		ME.peer_open = true;
		ME.limit = MAX(ME.limit, a)
	:: (t == DATA || t == RTS || t == FIN) && HEARS ->
		arrive(a);
		ME.other = ME.other || b == 1
	:: t == KEY && ME.st == OPEN ->
		if
		:: ME.pseq == a ->
			assert(b == ME.landed + ME.keyed && ME.keyed < SEGS);
			ME.keyed++
		:: else -> SEEN(key_crosses_nack); assert(a <= ME.over)
		fi
	:: t == DONE && !ME.reset_rx ->
		if
		:: ME.kseq == a && b <= ME.koff && b > ME.kdone ->
			ME.kdone = b;
			if
			:: b == SEGS -> next_key()
			:: else
			fi
		:: else -> assert(false)
		fi
	:: t == UPDATE && !ME.reset_rx ->
		ack(a);
		assert(b >= ME.limit || ME.suspended);
		ME.limit = b
	:: t == NACK ->
		assert(a <= ME.sent);
		if
		:: a > ME.acked -> ME.nacked = ME.nacked | BIT(a)
		:: else -> SEEN(nack_again)
		fi;
		if
		:: ANSWERS_NACK ->
			ME.heard_nack = a;
			OWE(O_NACK_ACK)
		:: else
		fi
	:: t == SKIP && HEARS ->
		assert(a <= ME.arrived);
		/* the one before was answered, if only by UPDATE */
		assert(ME.st == CLOSING || (ME.unwanted <= ME.over && !HAS(ME.ctl, O_SKIPPED)));
		ME.unwanted = 0;
		if
		:: ME.st == CLOSING -> SEEN(skip_of_refused)
		:: ME.st != CLOSING && a <= ME.over -> SEEN(skip_too_late); OWE(O_UPDATE)
		:: else -> SEEN(skip_in_time); assert(!HAS(ME.tombs, a)); ME.unwanted = a
		fi
	:: t == SKIPPED -> skipped(a)
	:: t == NACK_ACK ->
		if
		:: a >= ME.nack -> ME.nack = 0
		:: else
		fi
	:: t == RECALL && !ME.reset_rx ->
		if
		:: HEARS && ME.peer_open && !ME.reset_tx -> OWE(O_RETURN)
		:: else
		fi
	:: t == RETURN && HEARS ->
		assert(ME.recall_out && a <= ME.told - ME.spent);
		ME.recall_out = false;
		ME.spent = ME.spent + a;
		ME.freed = ME.freed + a;
		OWE(O_UPDATE)
	:: t == RESET -> take_reset(a)
	:: t == RESET_ACK ->
		assert(ME.reset_tx);
		if
		:: !ME.ack_rx -> ME.ack_rx = true; settle(a)
		:: else -> SEEN(ack_again)
		fi;
#ifndef M_NO_DONE
		OWE(O_RESET_DONE)
#endif
	:: t == RESET_DONE ->
		assert(ME.ack_tx && !ME.done_rx);
		ME.done_rx = true
	:: else ->
		/* crosses our RESET; nothing comes after the peer's */
		SEEN(crosses_reset);
		assert(!ME.reset_rx && (ME.st == DRAINING || ME.st == CLOSING))
	fi;
	ME.heard = true
}

inline take()
{
	q[me]?t, a, b, c, d, e;
	printf("%d hears %e %d %d %d %d %d\n", me, t, a, b, c, d, e);
	if
	:: t == CONNECT -> take_connect()
	:: t == RESUME -> take_resume()
	:: t == RESUME_END -> take_end()
	:: t == NACK && ME.st == FREE -> SEEN(nack_of_free_id)
	:: t == SKIPPED && ME.st == FREE -> SEEN(skipped_of_free_id)
	:: else -> take_frame()
	fi;
	if
	:: LIVE && OFF_WIRE -> free_id()
	:: else
	fi
}

/* ---- a node ---- */

#ifdef M_NACK_AFTER
#define NACK_FIRST	false
#else
#define NACK_FIRST	HAS(ME.ctl, O_NACK)
#endif
#ifdef M_SKIPPED_AFTER
#define SKIPPED_FIRST	false
#else
#define SKIPPED_FIRST	HAS(ME.ctl, O_SKIPPED)
#endif

#ifdef M_SKIP_NO_WAIT
#define READ_ENDED	true
#else
#define READ_ENDED	(ME.reading != ME.unwanted)
#endif

#define OVER(w)		(n[w].st == FREE || n[w].st == NONE)
#define ALL_OVER \
	(OVER(0) && OVER(1) && empty(q[0]) && empty(q[1]) && n[0].ctl == 0 && n[1].ctl == 0)

/* One after the other; what has the number of one that was taken out of the queue is the last one. */
#define MAY_CANCEL(m) \
	(CANCELS && me == 0 && ME.cancels < CANCELS && ME.st == OPEN && (m) <= NR(0) && \
	 ME.fate[(m) - 1] == PENDING && \
	 (ME.cancelled == 0 || (!ME.removed && ME.fate[ME.cancelled - 1] != PENDING)))

proctype node(bit me)
{
	do
	:: d_step { ME.up && nempty(q[me]) -> take() }

	/* the carrier */
	:: d_step { fails > 0 && ME.up && PEER.up && !(OVER(0) && OVER(1)) -> fails--; fence() }
	:: d_step { ME.up && !PEER.up -> fence() }

	/* what is owed */
	:: d_step { OWED(O_RESUME) && !NACK_FIRST && !SKIPPED_FIRST ->
		c = ME.over;
#ifdef M_DELIVERED_ONLY
		say(O_RESUME, RESUME, c, c, ME.spent, ME.pseq, ME.landed) }
#elif defined(M_LANDED_UNTOLD)
		say(O_RESUME, RESUME, c, ME.arrived, ME.spent, ME.pseq, 0) }
#else
		say(O_RESUME, RESUME, c, ME.arrived, ME.spent, ME.pseq, ME.landed) }
#endif
	:: d_step { OWED(O_CONNECT) ->
		ME.asked = true;
		ME.suspended = false;
		say(O_CONNECT, CONNECT, 0, 0, 0, 0, 0) }
	:: d_step { OWED(O_REFUSED) -> say(O_REFUSED, REFUSED, 0, 0, 0, 0, 0) }
	:: d_step { OWED(O_END) -> say(O_END, RESUME_END, 0, 0, 0, 0, 0) }
	:: d_step { OWED(O_CONNECTED) -> say(O_CONNECTED, CONNECTED, 0, 0, 0, 0, 0) }
	:: d_step { OWED(O_ACCEPT) ->
		ME.told = MAX(ME.told, ME.freed + CREDITS);
		say(O_ACCEPT, ACCEPT, ME.told, 0, 0, 0, 0) }
	:: d_step { OWED(O_NACK) || (OWED(O_RESUME) && NACK_FIRST) ->
		if
		:: HAS(ME.ctl, O_RESUME) -> SEEN(nack_before_resume)
		:: else
		fi;
		say(O_NACK, NACK, ME.nack, 0, 0, 0, 0) }
	:: d_step { OWED(O_SKIPPED) || (OWED(O_RESUME) && !NACK_FIRST && SKIPPED_FIRST) ->
		say(O_SKIPPED, SKIPPED, ME.tomb, 0, 0, 0, 0) }
	:: d_step { OWED(O_RESET) ->
		ME.reset_tx = true;
		say(O_RESET, RESET, ME.over, 0, 0, 0, 0) }
	:: d_step { OWED(O_RESET_ACK) && !ME.reading ->
		ME.ack_tx = true;
		ME.ack_now = true;
		say(O_RESET_ACK, RESET_ACK, ME.over, 0, 0, 0, 0);
		if
		:: OFF_WIRE -> free_id()
		:: else
		fi }
	:: d_step { OWED(O_RESET_DONE) ->
		say(O_RESET_DONE, RESET_DONE, 0, 0, 0, 0, 0);
#ifdef M_DONE_AGAIN
		ME.done_said = true;
#endif
		if
		:: OFF_WIRE -> free_id()
		:: else
		fi }
	:: d_step { OWED(O_NACK_ACK) -> say(O_NACK_ACK, NACK_ACK, ME.heard_nack, 0, 0, 0, 0) }
	:: d_step { OWED(O_DONE) -> say(O_DONE, DONE, ME.dseq, ME.dlen, 0, 0, 0) }
	:: d_step { OWED(O_UPDATE) ->
		ME.told = MAX(ME.told, ME.freed + CREDITS);
		say(O_UPDATE, UPDATE, ME.over, ME.told, 0, 0, 0) }
	:: d_step { OWED(O_SKIP) -> say(O_SKIP, SKIP, ME.cancelled, 0, 0, 0, 0) }
	:: d_step { OWED(O_RECALL) -> say(O_RECALL, RECALL, 0, 0, 0, 0, 0) }
	:: d_step { OWED(O_RETURN) ->
		c = (ME.limit > ME.used -> 1 : 0);
		ME.used = ME.used + c;
		if
		:: c > 0 && ME.acked > 0 -> SEEN(returned)
		:: else
		fi;
		say(O_RETURN, RETURN, c, 0, 0, 0, 0) }

	/* a closing side refuses, also what it has buried before */
	:: d_step { IDLE && ME.st == CLOSING && ME.over < ME.arrived && !ME.reading ->
		c = ME.over + 1;
		if
		:: !IS_FIN(1 - me, c) ->
			ME.refused = ME.refused | BIT(c);
			put(NACK, c, 0, 0, 0, 0)
		:: else
		fi;
		if
		:: HAS(ME.tombs, c) -> SEEN(refuses_buried); ME.over++; OWE(O_UPDATE)
		:: else -> pass()
		fi }

	/* keys and messages */
	:: d_step { IDLE && SENDS && ME.kseq != 0 && ME.koff < SEGS && KEYS(ME.kseq) ->
		put(KEY, ME.kseq, ME.koff, 0, 0, 0);
		ME.koff++ }
	:: d_step { IDLE && SENDS && NEXT <= NR(me) && !PULLED(me, NEXT) && ME.used < ME.limit ->
		put(DATA, NEXT, IS_OTHER, 0, 0, 0);
		ME.used++;
		ME.sent++ }
	:: d_step { IDLE && SENDS && NEXT <= NR(me) && PULLED(me, NEXT) ->
		put(RTS, NEXT, IS_OTHER, 0, 0, 0);
		ME.sent++;
		if
		:: ME.kseq == 0 -> ME.kseq = ME.sent; ME.koff = 0; ME.kdone = 0
		:: else
		fi }
	:: d_step { IDLE && SENDS && NEXT == NR(me) + 1 && ME.fin ->
		put(FIN, NEXT, 0, 0, 0, 0);
		ME.sent++ }

	/* READ: it takes a while, and may have been answered before the other side's fence */
	:: d_step { ME.up && ME.st == OPEN && !ME.suspended && ME.keyed > 0 && !ME.reading &&
		    !UNWANTED(ME.pseq) && ME.unwanted != ME.pseq -> ME.reading = ME.pseq }
	:: d_step { ME.up && ME.reading ->
		assert(PEER.fate[ME.reading - 1] == PENDING ||
		       (ME.other && ME.reading == PEER.cancelled));
		if
		:: !PEER.up -> SEEN(read_after_peers_fence)
		:: else
		fi;
		assert(!PEER.up || (PEER.kseq == ME.reading && PEER.kdone <= ME.landed &&
				    PEER.koff > ME.landed));
		ME.reading = 0;
		ME.landed++;
		ME.keyed--;
		if
		:: ME.st == OPEN || ME.st == CLOSING ->
			ME.dseq = ME.pseq;
			ME.dlen = ME.landed;
			OWE(O_DONE)
		:: else
		fi;
		if
		:: ME.landed == SEGS -> next_pull()
		:: else
		fi }

	/* delivery: in order, when the process has room; also while the carrier is away */
	:: d_step { ME.st == OPEN && HEAD <= ME.arrived && LANDED && !UNWANTED(HEAD) ->
		if
		:: HEAD <= NR(1 - me) ->
			printf("%d delivers %d\n", me, HEAD);
			assert(!HAS(ME.got, HEAD));
			if
			:: ME.other && HEAD == PEER.cancelled -> SEEN(other_delivered)
			:: else ->
				assert(PEER.fate[HEAD - 1] == PENDING);
				ME.got = ME.got | BIT(HEAD)
			fi
		:: else
		fi;
		pass() }
	:: d_step { ME.st == OPEN && HEAD <= ME.arrived && UNWANTED(HEAD) && ME.nack == 0 ->
		ME.refused = ME.refused | BIT(HEAD);
		ME.nack = HEAD;
		OWE(O_NACK);
		pass() }

	/* SKIP: in any order, and when no READ of it is under way; it may have been delivered by then */
	:: d_step { ME.st == OPEN && ME.unwanted != 0 && READ_ENDED ->
		if
		:: ME.unwanted <= ME.over -> SEEN(skip_overtaken); ME.unwanted = 0; OWE(O_UPDATE)
		:: else -> c = ME.unwanted; bury(c)
		fi }

	/* what the processes do */
	:: d_step { ME.st == ASKED && ME.up -> ME.st = BACKLOG; ME.peer_open = true; OWE(O_CONNECTED) }
	:: d_step { REFUSES && ME.st == ASKED && ME.up -> ME.st = NONE; OWE(O_REFUSED) }
	:: d_step { ME.st == BACKLOG ->
		printf("%d accepts\n", me);
		ME.st = OPEN;
		ME.accepted = true;
		OWE(O_ACCEPT) }
	:: d_step { REFUSES && ME.st == BACKLOG -> abort_stream(); OWE(O_RESET) }
	:: d_step { RECALLS && ME.up && ME.st == OPEN && !ME.suspended && !ME.recalled &&
		    !ME.recall_out && ME.told > ME.spent ->
		ME.recalled = true;
		ME.recall_out = true;
		OWE(O_RECALL) }
	:: d_step { GIVES_UP && ME.st == CONNECTING && !ME.asked ->
		printf("%d gives up\n", me);
		ME.ctl = ME.ctl & ~BIT(O_CONNECT);
		drop_queued();
		free_id() }
	:: d_step { MAY_CANCEL(ME.acked + 1) -> c = ME.acked + 1; cancel(c) }
	:: d_step { MAY_CANCEL(ME.acked + 2) -> c = ME.acked + 2; cancel(c) }
	:: d_step { HAS(FINS, me) && ME.st == OPEN && !ME.fin -> ME.fin = true }
	:: d_step { HAS(CLOSES, me) && ME.st == OPEN ->
		ME.st = CLOSING;
		printf("%d closes\n", me);
		ME.quit = true;
		ME.base = ME.over }
	:: d_step { HAS(ABORTS, me) && (ME.st == OPEN || ME.st == CLOSING) -> abort_stream() }
	:: d_step { ME.st == CLOSING && ALL_ACKED && ME.over == ME.arrived && !ME.reading ->
		ME.st = DRAINING }
	:: d_step { ME.st == DRAINING && !ME.reset_rx && !ME.reset_tx && !ME.suspended &&
		    !ME.reading && !HAS(ME.ctl, O_RESET) && ME.up ->
		ME.ctl = ME.ctl & (O_ANY | BIT(O_CONNECTED) | O_FIRST);
		OWE(O_RESET) }

	:: ALL_OVER -> break
	od
}

/* Both are fenced, and know it. */
proctype dialler()
{
	do
	:: d_step { !n[0].up && !n[1].up && !(OVER(0) && OVER(1)) ->
		printf("epoch\n");
		begin_epoch(0);
		begin_epoch(1) }
	:: ALL_OVER -> break
	od
}

init
{
	d_step {
		n[0].up = true;
		n[1].up = true;
		n[0].st = CONNECTING;
		n[0].ctl = BIT(O_CONNECT)
	};
	atomic { run node(0); run node(1); run dialler() }
}
