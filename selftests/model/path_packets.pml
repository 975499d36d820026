/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included by path.pml: packets over its carriers, in both directions.  In each epoch a side says
 * RESUME first, with how many messages have arrived there, and goes on from what the other
 * side's RESUME says.
 *
 * RDMA: what is in flight to a side is lost with that side's fence.  TCP loses nothing: what
 * is still in it comes after the fence, between words, and is known by its epoch.  A packet
 * goes into TCP in pieces, when there is no room for all of it; nothing else goes before the rest.
 *
 * Asserted: each message arrives once, in order; no packet comes before the word of its epoch;
 * one that is complete only after its carrier died is still what its sender meant to say.
 */

#define GARBAGE		255
#define NR(x)		((x) == D -> MSGS0 : MSGS1)
#define TRAFFIC		(MSGS0 + MSGS1 > 0)
/* The word goes first. */
#ifdef M_PACKETS_FIRST
#define TOLD		true
#else
#define TOLD		(ME.word != OVER_TCP)
#endif
#define HAS_PACKET \
	(TRAFFIC && ME.state == UP && TOLD && \
	 (!ME.said || (ME.resumed && ME.sent < NR(me))))

/* What comes in is read whatever is stuck on its way out. */
#ifdef M_READS_LATER
#define MAY_HEAR	(ME.half == NOTHING)
#else
#define MAY_HEAR	true
#endif

/* The other side may be UP still when the rest comes, and takes it. */
#ifdef M_FENCE_AT_ONCE
#define MAY_FENCE	true
#else
#define MAY_FENCE	(ME.half == NOTHING)
#endif

#define ALL_ARRIVED \
	(s[D].arrived == MSGS1 && s[E].arrived == MSGS0 && \
	 (!TRAFFIC || (s[D].resumed && s[E].resumed)))

/* Into w and nr. */
inline next_packet()
{
	if
	:: !ME.said ->
		ME.said = true;
		w = RESUME;
		nr = ME.arrived
	:: else ->
		ME.sent++;
		w = DATA;
		nr = ME.sent
	fi;
	printf("%d says %e %d in %d\n", me, w, nr, ME.epoch)
}

/* w and nr are a packet of this epoch. */
inline take_packet()
{
	printf("%d has %e %d in %d\n", me, w, nr, ME.epoch);
	assert(nr != GARBAGE);
	if
	:: w == RESUME ->
		assert(nr <= ME.sent);
		if
		:: nr < ME.sent -> SEEN(sent_again)
		:: else
		fi;
		ME.resumed = true;
#ifdef M_TCP_LOSES_NOTHING
		if
		:: HAS(by_tcp, ME.epoch - 1)
		:: else -> ME.sent = nr
		fi
#else
		ME.sent = nr
#endif
	:: else ->
		assert(nr == ME.arrived + 1);
		ME.arrived = nr
	fi
}

/* From TCP. */
inline hear_packet()
{
	if
#ifdef M_ANY_PACKET
	:: ME.state == UP -> take_packet()
#endif
	:: e == ME.epoch && HAS_CARRIER(me) ->
		assert(IS_TCP(me));
		if
		:: ME.state == DYING -> SEEN(packet_while_dying)
		:: else
		fi;
		take_packet()
	:: e == ME.epoch && !HAS_CARRIER(me) ->
#ifdef M_DROPS_OLD_ONLY
		assert(false);
#endif
		SEEN(packet_after_fence)
	:: e < ME.epoch ->
#ifdef M_LATE_BREAKS
		assert(false);
#endif
		/*
		 * A request may overtake them.  The words cannot: neither E's FENCED, for which D
		 * waits, nor D's for the next carrier that is TCP's.
		 */
		assert(me == E && !(HAS_CARRIER(E) && IS_TCP(E)));
		if
		:: HAS_CARRIER(E) -> SEEN(packet_meets_rdma)
		:: else
		fi
	:: else -> assert(false)
	fi
}

/* The fence: nothing that was in flight over RDMA arrives any more. */
inline forget_packets()
{
	do
	:: len(rdma[me]) > 0 -> rdma[me]?_, _, _
	:: else -> break
	od;
	ME.said = false;
	ME.resumed = false;
	if
	:: ME.half != NOTHING -> ME.half_nr = GARBAGE	/* M_FENCE_AT_ONCE: others use its memory */
	:: else
	fi
}

#define PACKETS \
	:: d_step { HAS_PACKET && !IS_TCP(me) && nfull(rdma[1 - me]) -> \
		next_packet(); \
		if \
		:: HAS(fenced[1 - me], ME.epoch) -> printf("lost\n") \
		:: else -> rdma[1 - me]!w, ME.epoch, nr \
		fi } \
	:: d_step { (ME.state == UP || ME.state == DYING) && len(rdma[me]) > 0 -> \
		rdma[me]?w, e, nr; \
		assert(e == ME.epoch && !IS_TCP(me)); \
		take_packet() } \
	:: d_step { HAS_PACKET && IS_TCP(me) && ME.half == NOTHING -> \
		next_packet(); \
		ME.half = w; \
		ME.half_nr = nr; \
		ME.half_epoch = ME.epoch } \
	:: d_step { ME.half != NOTHING && nfull(tcp[1 - me]) -> \
		tcp[1 - me]!ME.half, ME.half_epoch, ME.half_nr; \
		ME.half = NOTHING; \
		ME.half_epoch = 0; \
		ME.half_nr = 0 }
