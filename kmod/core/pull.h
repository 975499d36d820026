/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The order of pulls under the incast budget of a NIC: short first, with aging.
 *
 * Who wants to pull waits in a class by the length of what is left of its
 * message, a power of two, and in order within a class.  Whoever has waited for
 * age_ns in a class goes on to the next shorter one.  Choosing takes a step per
 * class, whatever the number of those that wait.
 *
 * Shortest remaining processing time first gives the least mean completion time
 * (L. Schrage, Operations Research 16, 1968); classes by powers of two come close
 * (A. Montazeri et al., "Homa", SIGCOMM 2018, which has eight).
 *
 * The use of it: everyone who wants to pull is added; then, and whenever budget
 * comes back, dms_pullq_grant() is called until it says NULL, and each node that it
 * gives pulls one piece, gives back the charge when the piece has come, and is
 * added again for the next one.  Nobody goes past the first: when there is no
 * room for its piece, room is waited for, else long ones would never find any.
 */
#ifndef DMS_CORE_PULL_H
#define DMS_CORE_PULL_H

#include <linux/types.h>

#include "link.h"

struct dms_window;

#define DMS_PULLQ_CLASSES	16
/* Up to so many bytes is the shortest class; 2 GiB is the longest one. */
#define DMS_PULLQ_SHORT		65536U

struct dms_pullq_node {
	struct dms_link	link;
	u64		since;		/* ns: when it came into its class */
	u32		charge;		/* of the piece: what is asked for, then what was taken */
	u32		class;		/* 0 is the shortest */
};

struct dms_pullq {
	struct dms_link	class[DMS_PULLQ_CLASSES];
	u64		age_ns;
	u32		nr;		/* nodes that wait */
	u32		aged;		/* how often one went to a shorter class */
};

void dms_pullq_init(struct dms_pullq *q, u64 age_ns);
void dms_pullq_node_init(struct dms_pullq_node *n);
bool dms_pullq_waits(const struct dms_pullq_node *n);
/* @left: bytes of the message that are not pulled; @piece: of the next READ */
void dms_pullq_add(struct dms_pullq *q, struct dms_pullq_node *n, u32 left,
		   u32 piece, u64 now_ns);
void dms_pullq_del(struct dms_pullq *q, struct dms_pullq_node *n);
/* Who pulls next, not waiting any more and charged; NULL: nobody, or no room */
struct dms_pullq_node *dms_pullq_grant(struct dms_pullq *q, struct dms_window *budget,
				       u64 now_ns);
/* The longest piece that should be pulled at once under @budget. */
u32 dms_pullq_piece(u64 budget);

#endif /* DMS_CORE_PULL_H */
