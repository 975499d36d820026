/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to sessions and paths, told to whoever listens to the multicast
 * group of the generic netlink family.
 *
 * All but the last three: any context but hard interrupt, any lock may be held;
 * never wait, cannot fail.
 */
#ifndef DMS_EVENTS_H
#define DMS_EVENTS_H

#include <linux/types.h>

#include "core/fsm.h"

struct dms_path;
struct dms_session;

/* Every change of state comes here, by the one function that makes it, with its lock held. */
void dms_event_session_moved(struct dms_session *s, enum dms_session_state from,
			     enum dms_session_state to);
void dms_event_path_moved(struct dms_path *path, enum dms_path_state from,
			  enum dms_path_state to);
/* The session is given up for silence; its end is an event too, and comes after. */
void dms_event_peer_lost(struct dms_session *s);

/* Process context, may sleep. */
void dms_events_start(void);		/* the family is registered */
void dms_events_stop(void);		/* it goes: nothing is sent afterwards */
void dms_events_flush(void);		/* what happened before was sent, or dropped */

#endif /* DMS_EVENTS_H */
