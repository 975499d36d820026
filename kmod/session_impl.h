/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What session.c, session_stream.c and hello.c share; for nobody else.
 */
#ifndef DMS_SESSION_IMPL_H
#define DMS_SESSION_IMPL_H

#include <linux/bitops.h>
#include <linux/lockdep.h>

#include "session.h"

/* Neither dead nor about to be. */
static inline bool dms_session_alive(const struct dms_session *s)
{
	lockdep_assert_held(&s->lock);
	return !test_bit(DMS_SF_KILLED, &s->flags) && s->state < DMS_SESSION_DYING;
}

/* All the paths that were agreed on are up, or were: those that failed come back. */
static inline bool dms_session_ready(const struct dms_session *s)
{
	lockdep_assert_held(&s->lock);
	return s->state == DMS_SESSION_UP && test_bit(DMS_SF_READY, &s->flags);
}

/* Paths of a lane; there may be none of the latency lane, and always are of bulk. */
static inline u32 dms_session_lane_paths(const struct dms_session *s, u8 lane)
{
	return lane == DMS_LANE_LATENCY ? s->nr_latency : s->nr_paths - s->nr_latency;
}

/* The lane of the n-th path. */
static inline u8 dms_session_lane(const struct dms_session *s, u32 index)
{
	return index < s->nr_paths - s->nr_latency ? DMS_LANE_BULK : DMS_LANE_LATENCY;
}

/* session.c */
bool dms_session_leads_to(struct dms_session *s, const struct sockaddr_storage *peer);
void dms_session_poke(struct dms_session *s);

/* session_recover.c */
bool dms_session_next_word(struct dms_session *s, struct dms_path_msg *msg);
enum dms_rule dms_session_path_said(struct dms_session *s, const struct dms_path_msg *msg);
bool dms_session_tick_down(struct dms_session *s);
void dms_session_railed(struct dms_session *s, struct dms_path *path);
unsigned long dms_session_path_dead(const struct dms_session *s, const struct dms_path *path);

/* session_stream.c */
struct dms_stream *dms_session_pop(struct dms_session *s);
void dms_session_serve_waiting(struct dms_session *s);
void dms_session_merge(struct dms_session *from, struct dms_session *to);

#endif /* DMS_SESSION_IMPL_H */
