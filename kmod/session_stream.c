// SPDX-License-Identifier: GPL-2.0-only
/*
 * The streams of a session: ids, paths, and those that wait for a path.
 *
 * The table has a reference on each stream, and each stream one on its session
 * and on its path, which it puts when it is freed.  The table is changed under
 * session->lock and read under RCU.
 */
#include "session.h"

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>

#include <linux/dmastream.h>

#include "fault.h"
#include "node.h"
#include "path.h"
#include "session_impl.h"
#include "stream.h"

/* Sessions that are tried for a stream when each has ended just before. */
#define DMS_BIND_TRIES	4

/*
 * Streams go round the paths of their lane that are up; NULL: none is.  With a peer that has no latency lane,
 * all are bulk's.
 */
static struct dms_path *session_pick(struct dms_session *s, const struct dms_stream *stream)
{
	u8 lane = DMS_LANE_BULK;
	u32 first = 0, paths, i, at;

	if (stream->flags & DMASTREAM_STREAM_LATENCY && s->nr_latency) {
		lane = DMS_LANE_LATENCY;
		first = dms_session_lane_paths(s, DMS_LANE_BULK);
	}
	paths = dms_session_lane_paths(s, lane);
	for (i = 0; i < paths; i++) {
		at = first + s->next_path[lane]++ % paths;
		if (s->up_mask & BIT(at))
			return s->path[at];
	}
	return NULL;
}

static bool session_assign(struct dms_session *s, struct dms_stream *stream)
{
	struct dms_path *path;

	lockdep_assert_held(&s->lock);
	if (!dms_session_ready(s))
		return false;
	path = session_pick(s, stream);
	return path && !dms_path_add_stream(path, stream);
}

/*
 * Into the table, with a reference for the table and one on the session for the
 * stream.  The id is reserved first: the stream can be found under it only when
 * it knows its own id.
 */
static int session_insert(struct dms_session *s, struct dms_stream *stream)
{
	u32 sid;
	int err;

	lockdep_assert_held(&s->lock);
	err = dms_fault_alloc(STREAM_ID) ? -ENOMEM :
	      xa_alloc_cyclic(&s->streams, &sid, NULL,
			      XA_LIMIT(1, DMS_SESSION_STREAMS_MAX), &s->next_sid, GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -ENOSPC : err;
	stream->sid = sid;
	dms_session_get(s);		/* put when the stream is freed */
	WRITE_ONCE(stream->session, s);
	dms_stream_get(stream);		/* put in dms_session_unbind() */
	atomic_inc(&s->nr_streams);
	/* cannot fail: the entry is there */
	xa_store(&s->streams, sid, stream, GFP_KERNEL);
	return 0;
}

static int session_try_bind(struct dms_session *s, struct dms_stream *stream,
			    u32 *err_class, u32 *err_detail)
{
	int err = -ENOTCONN;

	mutex_lock(&s->lock);
	if (!dms_session_alive(s)) {
		*err_class = s->err_class ?: DMASTREAM_ERR_SESSION;
		*err_detail = s->err_class ? s->err_detail : ESHUTDOWN;
		goto out;
	}
	err = session_insert(s, stream);
	if (err)
		goto out;
	if (!session_assign(s, stream))
		list_add_tail(&stream->session_node, &s->waiting);
out:
	mutex_unlock(&s->lock);
	return err;
}

/**
 * dms_session_bind() - a stream of ours uses the session
 * @s: from dms_session_find_or_dial()
 * @stream: new, in no session
 * @err_class: out, with -ENOTCONN: why the session ended
 * @err_detail: out, likewise
 *
 * Afterwards the stream has an id and a reference on its session, and either a
 * path (with a reference), or it waits: then dms_stream_path_up() or
 * dms_stream_session_lost() follows, once.  From the moment that it has a path
 * it may hear dms_stream_path_lost(), also before this function returns.
 *
 * The session may have ended since it was found: the peer said BYE, or a dial
 * gave way to another.  Nothing was sent for the stream yet, so it simply gets
 * another session to the same peer; stream->session says which.
 *
 * Context: process, may sleep, no lock held; a context of the namespace is open.
 * Return: 0, -ENOTCONN, -ENOSPC (too many streams), -ENOMEM, -ESHUTDOWN.
 */
int dms_session_bind(struct dms_session *s, struct dms_stream *stream,
		     u32 *err_class, u32 *err_detail)
{
	struct dms_session *next;
	unsigned int tries = DMS_BIND_TRIES;
	int err;

	dms_session_get(s);		/* put below */
	for (;;) {
		err = session_try_bind(s, stream, err_class, err_detail);
		if (err != -ENOTCONN || !--tries)
			break;
		next = dms_session_find_or_dial(s->node, &s->remote);
		if (IS_ERR(next)) {
			err = PTR_ERR(next);
			break;
		}
		dms_session_put(s);
		s = next;
	}
	dms_session_put(s);
	return err;
}

/**
 * dms_session_bind_on() - a stream that the peer opened
 * @s: session of the path
 * @stream: new, in no session
 * @path: on which CONNECT came; the stream stays on it
 *
 * Context: process, may sleep, no lock held.
 * Return: 0; -ENOTCONN: session or path are ending; -ENOSPC; -ENOMEM.  The
 * stream is as before then.
 */
int dms_session_bind_on(struct dms_session *s, struct dms_stream *stream,
			struct dms_path *path)
{
	int err = -ENOTCONN;

	mutex_lock(&s->lock);
	if (!dms_session_alive(s) || s->state != DMS_SESSION_UP)
		goto out;
	err = session_insert(s, stream);
	if (err)
		goto out;
	err = dms_path_add_stream(path, stream);
	if (!err)
		goto out;
	xa_erase(&s->streams, stream->sid);
	atomic_dec(&s->nr_streams);
	WRITE_ONCE(stream->session, NULL);
	dms_stream_put(stream);		/* the table's; the caller has one */
	dms_session_put(s);		/* the stream's; the path has one */
out:
	mutex_unlock(&s->lock);
	return err;
}

/*
 * The stream's session, locked, with a reference.  It may be another one than
 * a moment ago, see dms_session_merge(), and that one freed.
 */
static struct dms_session *session_of_stream(struct dms_stream *stream)
{
	struct dms_session *s;

	for (;;) {
		rcu_read_lock();
		s = READ_ONCE(stream->session);
		/* fails only while merge replaces it: the stream has a reference */
		if (!kref_get_unless_zero(&s->ref))
			s = NULL;
		rcu_read_unlock();
		if (!s)
			continue;
		mutex_lock(&s->lock);
		if (READ_ONCE(stream->session) == s)
			return s;
		mutex_unlock(&s->lock);
		dms_session_put(s);
	}
}

/**
 * dms_session_unbind() - the stream has left the wire
 * @s: not used: the session is the stream's own, whichever it is by now
 * @stream: bound; a second call does nothing
 *
 * The id is free, and the table's reference is put.  The stream keeps its
 * references on session and path until it is freed.
 *
 * Context: process, may sleep, no lock held.
 */
void dms_session_unbind(struct dms_session *s, struct dms_stream *stream)
{
	struct dms_path *path;
	bool mine;

	might_sleep();
	if (!READ_ONCE(stream->session))
		return;
	s = session_of_stream(stream);
	mine = xa_cmpxchg(&s->streams, stream->sid, stream, NULL, GFP_KERNEL) == stream;
	list_del_init(&stream->session_node);
	path = stream->path;
	if (path)
		dms_path_del_stream(path, stream);
	if (mine && atomic_dec_and_test(&s->nr_streams)) {
		s->idle_since = jiffies;
		/* the node of a session that is alive is there, of a dead one not */
		if (dms_session_alive(s) && !READ_ONCE(s->node->nr_ctx))
			dms_session_poke(s);
	}
	mutex_unlock(&s->lock);
	dms_session_put(s);
	if (mine)
		dms_stream_put(stream);
}

/**
 * dms_session_stream() - the stream that a peer names
 * @s: session
 * @sid: any value
 *
 * Context: any.
 * Return: the stream, with a reference, or NULL.
 */
struct dms_stream *dms_session_stream(struct dms_session *s, u32 sid)
{
	struct dms_stream *stream;

	rcu_read_lock();
	stream = xa_load(&s->streams, sid);
	if (stream && !dms_stream_tryget(stream))
		stream = NULL;
	rcu_read_unlock();
	return stream;
}

/* The first stream that waits, off the list, with a reference; or NULL. */
struct dms_stream *dms_session_pop(struct dms_session *s)
{
	struct dms_stream *stream;

	lockdep_assert_held(&s->lock);
	stream = list_first_entry_or_null(&s->waiting, struct dms_stream, session_node);
	if (stream) {
		list_del_init(&stream->session_node);
		dms_stream_get(stream);
	}
	return stream;
}

/* All paths are there: those who waited get theirs. */
void dms_session_serve_waiting(struct dms_session *s)
{
	struct dms_stream *stream;
	bool given = true;

	while (given) {
		mutex_lock(&s->lock);
		stream = dms_session_ready(s) ? dms_session_pop(s) : NULL;
		given = stream && session_assign(s, stream);
		/* its path is dying, and the session will be: it hears of that */
		if (stream && !given)
			list_add(&stream->session_node, &s->waiting);
		mutex_unlock(&s->lock);
		if (!stream)
			return;
		if (given)
			dms_stream_path_up(stream);
		dms_stream_put(stream);
	}
}

static struct dms_stream *session_merge_one(struct dms_session *from, struct dms_session *to,
					    bool *given)
{
	struct dms_stream *stream;
	u32 sid;

	lockdep_assert_held(&from->lock);
	if (!dms_session_alive(to))
		return NULL;
	stream = dms_session_pop(from);
	if (!stream)
		return NULL;
	sid = stream->sid;
	if (session_insert(to, stream)) {
		list_add(&stream->session_node, &from->waiting);
		dms_stream_put(stream);
		return NULL;
	}
	xa_erase(&from->streams, sid);
	atomic_dec(&from->nr_streams);
	dms_stream_put(stream);		/* of @from's table */
	dms_session_put(from);		/* the stream's; the caller has one */
	*given = session_assign(to, stream);
	if (!*given)
		list_add_tail(&stream->session_node, &to->waiting);
	return stream;
}

/* Two locks of one class: that of the lower address first, whoever asks. */
static void session_lock_two(struct dms_session *a, struct dms_session *b)
{
	if (a > b)
		swap(a, b);
	mutex_lock(&a->lock);
	mutex_lock_nested(&b->lock, SINGLE_DEPTH_NESTING);
}

/**
 * dms_session_merge() - streams that wait go to another session
 * @from: a dial that the peer refused, or a session that ended
 * @to: leads to the same node; alive at least a moment ago
 *
 * stream->session changes, only while the stream has no path.  The address that
 * was dialled is remembered as one of the peer's.
 *
 * Context: process, no lock held.
 */
void dms_session_merge(struct dms_session *from, struct dms_session *to)
{
	struct dms_stream *stream;
	bool given;

	mutex_lock(&from->node->lock);
	if (!dms_session_leads_to(to, &from->remote))
		to->alias[to->nr_aliases++ % DMS_SESSION_ALIASES] = from->remote;
	mutex_unlock(&from->node->lock);
	do {
		given = false;
		session_lock_two(from, to);
		stream = session_merge_one(from, to, &given);
		mutex_unlock(&to->lock);
		mutex_unlock(&from->lock);
		if (given)
			dms_stream_path_up(stream);
		if (stream)
			dms_stream_put(stream);
	} while (stream);
}
