// SPDX-License-Identifier: GPL-2.0-only
/*
 * A path: creation, what the transport reports, and the end.
 */
#include "path.h"

#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "events.h"
#include "fault.h"
#include "ibdev.h"
#include "incast.h"
#include "mux.h"
#include "proto.h"
#include "recv.h"
#include "req.h"
#include "session.h"
#include "session_impl.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "wq.h"

static unsigned int dms_param_window_kib = 16384;
module_param_named(window_kib, dms_param_window_kib, uint, 0644);
MODULE_PARM_DESC(window_kib, "widest send window of a new path, in KiB (default 16384)");

static unsigned int dms_param_window_floor_kib = 2048;
module_param_named(window_floor_kib, dms_param_window_floor_kib, uint, 0644);
MODULE_PARM_DESC(window_floor_kib, "narrowest send window of a new path, in KiB; as window_kib or more: the window is fixed (default 2048)");

static unsigned int dms_param_window_target_us = 200;
module_param_named(window_target_us, dms_param_window_target_us, uint, 0644);
MODULE_PARM_DESC(window_target_us, "delay of a packet, from its post to its acknowledgement, above which a new path's send window shrinks, in us (default 200)");

/* Added to the window per window that was acknowledged: a segment. */
#define DMS_WINDOW_STEP		(1U << 20)
/* What a KiB takes on a link of 10 Gbit/s; faster ones are within the target. */
#define DMS_WINDOW_NS_PER_KIB	820

static unsigned int dms_param_hold_ms = 10;
module_param_named(hold_ms, dms_param_hold_ms, uint, 0644);
MODULE_PARM_DESC(hold_ms, "a pull that waits for landing buffers longer than this gives its keys back, in ms (default 10)");

static unsigned int dms_param_ack_delay_ms = 4;
module_param_named(ack_delay_ms, dms_param_ack_delay_ms, uint, 0644);
MODULE_PARM_DESC(ack_delay_ms, "how long an acknowledgement on a new path may wait for the answer of a process that always answers at once, in ms; 0: not at all (default 4)");

static atomic_t path_ids = ATOMIC_INIT(0);

static void path_pump_work(struct work_struct *work);
static void path_hold_work(struct work_struct *work);
static void path_ack_work(struct work_struct *work);
static void path_kill_work(struct work_struct *work);

static void path_init_lists(struct dms_path *path)
{
	spin_lock_init(&path->lock);
	spin_lock_init(&path->ready_lock);
	spin_lock_init(&path->streams_lock);
	dms_path_init_pulls(path);
	INIT_LIST_HEAD(&path->session_node);
	INIT_LIST_HEAD(&path->tx_free);
	INIT_LIST_HEAD(&path->reads_free);
	INIT_LIST_HEAD(&path->keys_free);
	dms_link_init(&path->wait_key);
	dms_link_init(&path->wait_connect);
	INIT_LIST_HEAD(&path->wait_read);
	dms_path_push_init(path);
	dms_sched_init(&path->sched, DMS_TURN_ORDER);
	INIT_LIST_HEAD(&path->holders);
	INIT_LIST_HEAD(&path->ready);
	INIT_LIST_HEAD(&path->put_off);
	INIT_LIST_HEAD(&path->streams);
	INIT_WORK(&path->pump_work, path_pump_work);
	INIT_DELAYED_WORK(&path->hold_work, path_hold_work);
	INIT_DELAYED_WORK(&path->rate_work, dms_path_rate_work);
	INIT_DELAYED_WORK(&path->ack_work, path_ack_work);
	INIT_DELAYED_WORK(&path->redial_work, dms_session_redial_work);
	INIT_WORK(&path->kill_work, path_kill_work);
}

/* As of a path that has sent nothing. */
void dms_path_window_init(struct dms_path *path)
{
	struct dms_delay_conf conf = {
		.cap		= (u64)max(READ_ONCE(dms_param_window_kib), 64U) << 10,
		.floor		= (u64)max(READ_ONCE(dms_param_window_floor_kib), 64U) << 10,
		.target_ns	= min(READ_ONCE(dms_param_window_target_us), 1000000U) *
				  NSEC_PER_USEC,
		.ns_per_kib	= DMS_WINDOW_NS_PER_KIB,
		.step		= DMS_WINDOW_STEP,
	};

	conf.floor = min(conf.floor, conf.cap);
	dms_delay_init(&path->delay, &path->window, &conf);
}

/**
 * dms_path_create() - new path of a session
 * @session: UP
 * @ops: transport
 * @lane: class of traffic, below DMS_LANES
 * @index: which of the lane's paths
 *
 * References that exist afterwards: the session's, the caller's, and one of
 * the path's own life, which path_kill_work() puts.
 *
 * Context: process, may sleep; no lock held.
 * Return: the path, -ENOMEM, or what dms_session_attach() says.
 */
struct dms_path *dms_path_create(struct dms_session *session,
				 const struct dms_transport_ops *ops,
				 u8 lane, u8 index)
{
	struct dms_path *path;
	int err;

	path = dms_fault_alloc(PATH) ? NULL : kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);
	kref_init(&path->ref);		/* the caller's */
	kref_get(&path->ref);		/* put in path_kill_work() */
	path_init_lists(path);
	path->ops = ops;
	path->lane = lane;
	path->index = index;
	path->epoch = session->epoch;
	path->resumes = session->resumes;
	path->skips = session->skips;
	path->down_since = jiffies;
	path->taken = true;
	path->id = atomic_inc_return(&path_ids);
	path->state = DMS_PATH_INIT;
	path->ack_delay = msecs_to_jiffies(min(READ_ONCE(dms_param_ack_delay_ms), 1000U));
	dms_path_window_init(path);
	dms_session_get(session);	/* put in path_release() */
	path->session = session;
	dms_path_rate_init(path);
	dms_gauge_inc(DMS_GAUGE_PATHS);

	err = dms_session_attach(session, path);
	if (err) {
		dms_path_put(path);	/* its life: it never began */
		dms_path_put(path);
		return ERR_PTR(err);
	}
	dms_stat_inc(DMS_STAT_PATHS_OPENED);
	return path;
}

/**
 * dms_path_free_carrier() - what dms_path_alloc() has allocated for a carrier
 * @path: fenced, or it did not come so far; dms_path_alloc() may follow
 */
void dms_path_free_carrier(struct dms_path *path)
{
	u32 i;

	for (i = 0; path->txpkts && i < path->nr_txpkts; i++)
		kfree(path->txpkts[i].buf);
	kvfree(path->txpkts);
	kvfree(path->reads);
	kvfree(path->keys);
	kvfree(path->writes);
	path->txpkts = NULL;
	path->reads = NULL;
	path->keys = NULL;
	path->writes = NULL;
}

/**
 * dms_path_free() - all that dms_path_alloc() has allocated
 * @path: nobody uses it any more
 */
void dms_path_free(struct dms_path *path)
{
	dms_path_free_pulls(path);
	dms_path_free_carrier(path);
}

static void path_release(struct kref *ref)
{
	struct dms_path *path = container_of(ref, struct dms_path, ref);

	dms_path_free(path);
	dms_session_put(path->session);
	dms_gauge_dec(DMS_GAUGE_PATHS);
	kfree(path);
}

void dms_path_get(struct dms_path *path)
{
	kref_get(&path->ref);
}

/**
 * dms_path_put() - drop a reference
 * @path: may be gone afterwards
 *
 * Context: process; may sleep (kvfree, the session's end).
 */
void dms_path_put(struct dms_path *path)
{
	kref_put(&path->ref, path_release);
}

static int path_alloc_packets(struct dms_path *path)
{
	u32 i;

	path->txpkts = dms_fault_alloc(TXPKTS) ? NULL :
		       kvcalloc(path->nr_txpkts, sizeof(*path->txpkts), GFP_KERNEL);
	if (!path->txpkts)
		return -ENOMEM;
	for (i = 0; i < path->nr_txpkts; i++) {
		struct dms_txpkt *pkt = &path->txpkts[i];

		pkt->path = path;
		INIT_LIST_HEAD(&pkt->before);
		pkt->buf_size = DMS_PKT_BUF;
		pkt->buf = kmalloc(pkt->buf_size, GFP_KERNEL);
		if (!pkt->buf)
			return -ENOMEM;
		list_add_tail(&pkt->node, &path->tx_free);
	}
	return 0;
}

/**
 * dms_path_alloc() - everything that a path will need while it works
 * @path: slots, my_slots, nr_txpkts, slot_bytes, reads_max, keys_max, seg_pages and
 *	  ibdev are set; called once for each carrier, before anything of it can complete
 *
 * The data path allocates nothing later on, but for dms_path_get_pull().  What was
 * made is freed with the path, also after a failure.
 *
 * Return: 0 or -ENOMEM.
 */
int dms_path_alloc(struct dms_path *path)
{
	u32 i;

	dms_slot_tx_init(&path->slot_tx, path->slots);
	dms_slot_rx_init(&path->slot_rx, path->my_slots);
	dms_signal_init(&path->signal, path->slots);
	if (path_alloc_packets(path) || dms_path_alloc_pulls(path))
		return -ENOMEM;
	path->reads = dms_fault_alloc(READS) ? NULL :
		      kvcalloc(path->reads_max, sizeof(*path->reads), GFP_KERNEL);
	path->keys = kvcalloc(path->keys_max, sizeof(*path->keys), GFP_KERNEL);
	if (!path->reads || !path->keys || dms_path_alloc_writes(path))
		return -ENOMEM;
	for (i = 0; i < path->reads_max; i++) {
		path->reads[i].path = path;
		list_add_tail(&path->reads[i].node, &path->reads_free);
	}
	for (i = 0; i < path->keys_max; i++) {
		path->keys[i].path = path;
		list_add_tail(&path->keys[i].node, &path->keys_free);
	}
	return 0;
}

static bool path_move_locked(struct dms_path *path, enum dms_path_state from,
			     enum dms_path_state to)
{
	lockdep_assert_held(&path->lock);
	if (path->state != from || WARN_ON_ONCE(!dms_path_legal(from, to)))
		return false;
	path->state = to;
	dms_event_path_moved(path, from, to);
	return true;
}

/**
 * dms_path_move() - change the state
 * @path: path->lock is not held
 * @from: only from this state
 * @to: a legal change
 *
 * Return: true when this call made the change.
 */
bool dms_path_move(struct dms_path *path, enum dms_path_state from,
		   enum dms_path_state to)
{
	bool moved;

	spin_lock(&path->lock);
	moved = path_move_locked(path, from, to);
	spin_unlock(&path->lock);
	return moved;
}

/**
 * dms_path_up() - the transport is connected
 * @path: in CONNECTING, else nothing happens
 *
 * Context: process, no lock held.
 */
void dms_path_up(struct dms_path *path)
{
	int err = dms_path_back(path);
	bool up;

	if (err) {
		dms_path_kill(path, DMASTREAM_ERR_DEVICE, -err);
		return;
	}
	spin_lock(&path->lock);
	path->was_up = path_move_locked(path, DMS_PATH_CONNECTING, DMS_PATH_UP);
	up = path->was_up;
	spin_unlock(&path->lock);
	if (!up)
		return;
	dms_session_path_up(path->session, path);
	dms_path_kick(path);
}

/**
 * dms_path_kill() - end a path
 * @path: in any state; only the first call counts
 * @err_class: enum dmastream_err_class, told to its streams
 * @err_detail: likewise
 *
 * Nothing is posted from here on: posting asks for UP under path->lock.  Uses
 * neither path->lock nor anything that sleeps, since mux.c calls it with the
 * lock held and the transport from its event handlers.
 */
void dms_path_kill(struct dms_path *path, u32 err_class, u32 err_detail)
{
	if (cmpxchg(&path->err_class, 0, err_class))
		return;
	path->err_detail = err_detail;
	/* not those that end with their session, which counts why */
	if ((err_class == DMASTREAM_ERR_PATH && err_detail != DMS_PATH_DETAIL_BETTER) ||
	    err_class == DMASTREAM_ERR_PROTOCOL || err_class == DMASTREAM_ERR_DEVICE)
		dms_stat_inc(DMS_STAT_PATHS_FAILED);
	/* Uses the reference of the path's life. */
	queue_work(dms_wq, &path->kill_work);
}

/**
 * dms_path_add_stream() - bind a stream to a path
 * @path: any state
 * @s: hears dms_stream_path_lost() from now on
 *
 * Return: 0, or -ENOTCONN when the path has told its streams already.
 */
int dms_path_add_stream(struct dms_path *path, struct dms_stream *s)
{
	int err = 0;

	spin_lock(&path->streams_lock);
	if (path->lost) {
		err = -ENOTCONN;
	} else {
		dms_path_get(path);	/* put when the stream is freed */
		WRITE_ONCE(s->path, path);
		list_add_tail(&s->path_node, &path->streams);
	}
	spin_unlock(&path->streams_lock);
	return err;
}

/**
 * dms_path_del_stream() - a stream has no more to do with its path
 * @path: any state
 * @s: keeps the pointer and the reference
 */
void dms_path_del_stream(struct dms_path *path, struct dms_stream *s)
{
	spin_lock(&path->streams_lock);
	list_del_init(&s->path_node);
	spin_unlock(&path->streams_lock);
}

/* A stream on the path with a reference, taken off the list; or NULL. */
static struct dms_stream *path_take_stream(struct dms_path *path)
{
	struct dms_stream *s;

	spin_lock(&path->streams_lock);
	s = list_first_entry_or_null(&path->streams, struct dms_stream, path_node);
	if (s) {
		list_del_init(&s->path_node);
		dms_stream_get(s);
	}
	spin_unlock(&path->streams_lock);
	return s;
}

/* The first of a list of streams by their turn.link, taken off, or NULL. */
static struct dms_stream *path_first(struct dms_link *list)
{
	struct dms_link *l = list->next;

	if (dms_link_empty(list))
		return NULL;
	dms_link_remove(l);
	return container_of(l, struct dms_stream, turn.link);
}

static void path_drop_list(struct dms_link *list)
{
	struct dms_stream *s;

	while ((s = path_first(list)))
		dms_stream_put(s);	/* of dms_path_wait() */
}

static void path_drop_turns(struct dms_path *path)
{
	struct dms_turn *t;

	while ((t = dms_sched_next(&path->sched)))
		dms_stream_put(container_of(t, struct dms_stream, turn));	/* of mux.c */
}

/* Lists of streams hold references that would otherwise never go. */
static void path_drop_lists(struct dms_path *path)
{
	struct dms_stream *s, *tmp;

	spin_lock(&path->lock);
	path_drop_turns(path);
	path_drop_list(&path->wait_key);
	path_drop_list(&path->wait_connect);
	list_for_each_entry_safe(s, tmp, &path->wait_read, read_node) {
		list_del_init(&s->read_node);
		dms_stream_put(s);	/* of dms_path_wait_read() */
	}
	list_for_each_entry_safe(s, tmp, &path->holders, hold_node) {
		list_del_init(&s->hold_node);
		dms_stream_put(s);	/* of dms_path_hold_later() */
	}
	dms_path_drop_granters(path);
	spin_lock(&path->ready_lock);
	path->ready_over = true;	/* for dms_mux_ready(); never cleared */
	list_for_each_entry_safe(s, tmp, &path->ready, ready_node) {
		list_del_init(&s->ready_node);
		s->ready = false;
		dms_stream_put(s);	/* of dms_mux_ready() */
	}
	list_for_each_entry_safe(s, tmp, &path->put_off, put_off_node) {
		list_del_init(&s->put_off_node);
		dms_stream_put(s);	/* of dms_mux_put_off() */
	}
	spin_unlock(&path->ready_lock);
	spin_unlock(&path->lock);
}

/* The end of the path itself: fenced, and there will be no other carrier. */
static void path_end(struct dms_path *path)
{
	struct dms_stream *s;

	spin_lock(&path->streams_lock);
	path->lost = true;
	spin_unlock(&path->streams_lock);
	while ((s = path_take_stream(path))) {
		dms_stream_path_lost(s, path->err_class, path->err_detail);
		dms_stream_put(s);
	}
	path_drop_lists(path);
	/* ready_over is set: it is not queued again; and FENCED, it is not dialled again */
	if (cancel_delayed_work_sync(&path->ack_work))
		dms_path_put(path);
	if (cancel_delayed_work_sync(&path->redial_work))
		dms_path_put(path);
	path->ops->free(path);
	dms_session_path_gone(path->session, path);
	dms_path_put(path);		/* its life, of dms_path_create() */
}

static void path_kill_work(struct work_struct *work)
{
	struct dms_path *path = container_of(work, struct dms_path, kill_work);
	bool again;

	if (READ_ONCE(path->end_later)) {
		path_end(path);
		return;
	}
	if (dms_session_kill_late(path->session, path))
		return;
	spin_lock(&path->lock);
	path_move_locked(path, path->state, DMS_PATH_DYING);
	spin_unlock(&path->lock);
	/* the peer hears of it before the fence, which may take its time */
	again = dms_session_path_dying(path->session, path);
	if (cancel_delayed_work_sync(&path->hold_work))
		dms_path_put(path);
	if (cancel_delayed_work_sync(&path->rate_work))
		dms_path_put(path);
	if (cancel_delayed_work_sync(&path->grant_work))
		dms_path_put(path);

	/* After this nothing of the peer reaches our memory, and nothing completes. */
	path->ops->fence(path);
	dms_path_move(path, DMS_PATH_DYING, DMS_PATH_FENCED);
	dms_gauge_add(DMS_GAUGE_KEYS_OUT, -(s64)path->keys_out);
	path->keys_out = 0;
	path->grants = 0;
	if (path->incast_unread)
		dms_incast_put(path->ibdev, path->incast_unread);
	if (again)
		dms_path_rest(path);
	else if (!dms_session_end_later(path->session, path))
		path_end(path);
}

/**
 * dms_path_end_now() - the session's connection is closed
 * @path: killed; the caller has a reference
 *
 * Context: the session's kill_work.
 */
void dms_path_end_now(struct dms_path *path)
{
	if (READ_ONCE(path->end_later))
		queue_work(dms_wq, &path->kill_work);
}

/**
 * dms_path_pump() - serve the ready streams now
 * @path: any state
 *
 * Context: process, no lock held.
 */
void dms_path_pump(struct dms_path *path)
{
	spin_lock(&path->lock);
	dms_mux_run(path);
	spin_unlock(&path->lock);
}

static void path_pump_work(struct work_struct *work)
{
	struct dms_path *path = container_of(work, struct dms_path, pump_work);

	dms_path_pump(path);
	dms_path_put(path);		/* of dms_path_kick() */
}

/**
 * dms_path_kick() - serve the ready streams soon, by a worker
 * @path: any state
 *
 * What becomes ready until the worker runs shares packets.  Context: process;
 * any lock may be held.
 */
void dms_path_kick(struct dms_path *path)
{
	dms_path_get(path);
	if (!queue_work(dms_wq, &path->pump_work))
		dms_path_put(path);	/* queued already, with a reference */
}

/**
 * dms_path_wait() - a stream waits for something that its path shares
 * @path: path->lock is held
 * @list: path->wait_*
 * @s: is woken once by dms_path_wake()
 */
void dms_path_wait(struct dms_path *path, struct dms_link *list, struct dms_stream *s)
{
	lockdep_assert_held(&path->lock);
	if (dms_turn_waits(&s->turn))
		return;
	dms_stream_get(s);		/* put in dms_path_wake() */
	dms_link_append(list, &s->turn.link);
}

/**
 * dms_path_wake() - streams that waited may go on
 * @path: path->lock is held; the caller has it pumped
 * @list: path->wait_*
 */
void dms_path_wake(struct dms_path *path, struct dms_link *list)
{
	struct dms_stream *s;

	lockdep_assert_held(&path->lock);
	while ((s = path_first(list))) {
		dms_mux_ready(s);
		dms_stream_put(s);	/* of dms_path_wait() */
	}
}

/**
 * dms_path_wait_read() - a stream waits for one of the READs
 * @path: path->lock is held
 * @s: is woken by dms_path_wake_readers()
 *
 * A wait of its own: a stream whose sending waits for a key must go on pulling,
 * or two nodes could wait for each other's keys.
 */
void dms_path_wait_read(struct dms_path *path, struct dms_stream *s)
{
	lockdep_assert_held(&path->lock);
	if (!list_empty(&s->read_node))
		return;
	dms_stream_get(s);		/* put in dms_path_wake_readers() */
	list_add_tail(&s->read_node, &path->wait_read);
}

/**
 * dms_path_wake_readers() - streams that waited may READ
 * @path: path->lock is held; the caller has it pumped
 */
void dms_path_wake_readers(struct dms_path *path)
{
	struct dms_stream *s;

	lockdep_assert_held(&path->lock);
	while ((s = list_first_entry_or_null(&path->wait_read, struct dms_stream, read_node))) {
		list_del_init(&s->read_node);
		dms_mux_ready(s);
		dms_stream_put(s);	/* of dms_path_wait_read() */
	}
}

/**
 * dms_path_hold_later() - a pull waits for a landing: HOLD unless it comes soon
 * @path: path->lock is held
 * @s: asked with dms_stream_hold_due() when the time has come
 */
void dms_path_hold_later(struct dms_path *path, struct dms_stream *s)
{
	lockdep_assert_held(&path->lock);
	if (!list_empty(&s->hold_node))
		return;
	dms_stream_get(s);		/* put in path_hold_work() */
	list_add_tail(&s->hold_node, &path->holders);
	dms_path_get(path);
	if (!queue_delayed_work(dms_wq, &path->hold_work,
				msecs_to_jiffies(dms_param_hold_ms) + 1))
		dms_path_put(path);
}

static void path_hold_work(struct work_struct *work)
{
	struct dms_path *path = container_of(to_delayed_work(work),
					     struct dms_path, hold_work);
	struct dms_stream *s, *tmp;
	LIST_HEAD(due);

	spin_lock(&path->lock);
	list_splice_init(&path->holders, &due);
	list_for_each_entry_safe(s, tmp, &due, hold_node) {
		list_del_init(&s->hold_node);
		dms_stream_hold_due(s);
		dms_stream_put(s);	/* of dms_path_hold_later() */
	}
	dms_mux_run(path);
	spin_unlock(&path->lock);
	dms_path_put(path);
}

/*
 * Acknowledgements that waited in vain for their process's answer.  What was put off
 * just now waits for the next time.
 */
static void path_ack_work(struct work_struct *work)
{
	struct dms_path *path = container_of(to_delayed_work(work), struct dms_path, ack_work);

	spin_lock(&path->lock);
	dms_mux_acks_late(path);
	dms_mux_run(path);
	spin_unlock(&path->lock);
	dms_path_put(path);		/* of dms_mux_put_off() */
}

/* The peer broke the protocol: it loses its session, not the host. */
static void path_protocol_error(struct dms_path *path, enum dms_rule rule, u8 type)
{
	dms_stat_inc(DMS_STAT_PROTOCOL_ERRORS);
	pr_warn_ratelimited("dmastream: session %u: peer %pISpc broke rule '%s' with a %s frame; the session ends (if it runs another version, update it)\n",
			    path->session->num, &path->session->remote,
			    dms_rule_name(rule), dms_frame_name(type));
	dms_path_kill(path, DMASTREAM_ERR_PROTOCOL, rule);
	dms_session_kill(path->session, DMASTREAM_ERR_PROTOCOL, rule);
}

static bool path_has_ready(struct dms_path *path)
{
	/*
	 * A stream that is made ready now is pumped by who made it so.  One that waits
	 * for its turn may have room in the window now, or a packet.
	 */
	return !list_empty_careful(&path->ready) || READ_ONCE(path->sched.nr);
}

static enum dms_rule path_rx_head(struct dms_path *path, const struct dms_pkt *pkt, bool *post)
{
	enum dms_rule rule = DMS_RULE_NONE;
	u32 before;

	if (pkt->epoch != path->epoch || pkt->lane != path->lane)
		return DMS_RULE_EPOCH;
	if (pkt->flags && !path->moves)
		return DMS_RULE_FLAGS;
	spin_lock(&path->lock);
	before = path->slot_tx.limit;
	path->rx_packets++;
	if (dms_slot_rx_packet(&path->slot_rx, pkt->seq))
		rule = DMS_RULE_PKT_SEQ;
	else if (dms_slot_tx_grant(&path->slot_tx, pkt->credit))
		rule = DMS_RULE_CREDIT;
	/* who found no credit is ready still, or waits, or a refusal or recall */
	if (!rule && before != path->slot_tx.limit &&
	    (path_has_ready(path) || path->nr_refusals || dms_slot_rx_owes(&path->slot_rx) ||
	     path->recall_owed || path->recalled))
		dms_path_kick(path);
	*post = dms_depth_packet(&path->depth, get_jiffies_64());
	if (unlikely(pkt->flags & DMS_PF_STALLED) && !rule)
		dms_recv_stalled(path);
	spin_unlock(&path->lock);
	return rule;
}

/**
 * dms_path_rx() - a packet arrived
 * @path: CONNECTING (the passive side may hear before it knows that it is up)
 *	  or UP; in other states the packet is dropped
 * @buf: nobody else writes to it
 * @len: bytes
 *
 * Context: process, one at a time per path.
 * Return: what to do with its receive.
 */
enum dms_rx_next dms_path_rx(struct dms_path *path, const void *buf, u32 len)
{
	struct dms_proto_run run = { .path = path };
	struct dms_pkt_cursor cur;
	struct dms_frame frame = {};
	enum dms_rule rule;
	bool post = true;

	if (READ_ONCE(path->err_class))
		return DMS_RX_POST;
	path->rx_bytes += len;
	dms_stat_inc(DMS_STAT_RX_PACKETS);
	rule = dms_wire_pkt_parse(buf, len, &cur);
	if (!rule)
		rule = path_rx_head(path, &cur.pkt, &post);
	while (!rule && dms_wire_pkt_next(&cur, &frame)) {
		dms_stat_inc(DMS_STAT_RX_FRAMES);
		rule = dms_proto_frame(&run, &frame);
	}
	dms_proto_end(&run);
	if (rule) {
		path_protocol_error(path, rule, frame.type);
		return DMS_RX_BROKEN;
	}
	return post ? DMS_RX_POST : DMS_RX_FREE;
}

/**
 * dms_path_reposted() - receives were given to the queue pair again
 * @path: any state
 * @n: how many
 */
void dms_path_reposted(struct dms_path *path, u32 n)
{
	spin_lock(&path->lock);
	dms_slot_rx_post(&path->slot_rx, n);
	if (dms_slot_rx_owes(&path->slot_rx))
		dms_path_kick(path);
	spin_unlock(&path->lock);
}

/**
 * dms_path_unsent() - take back a packet whose send was not started
 * @pkt: path->lock is held, and perhaps a stream's lock
 *
 * The path is dying.  Its requests still count the packet as being out: they
 * end when the path is lost, and nobody looks at that count any more.
 */
void dms_path_unsent(struct dms_txpkt *pkt)
{
	dms_window_put(&pkt->path->window, pkt->charge);
	dms_path_put_writes(pkt->path, pkt->write);
	pkt->write = NULL;
	list_add_tail(&pkt->node, &pkt->path->tx_free);
}

/*
 * A packet was acknowledged by the peer's NIC: it went through the queues of the
 * way there, which are those that bulk data waits in, too.  How long a peer takes
 * to pull is not looked at: it may wait for its own process.
 */
static void path_measured(struct dms_path *path, const struct dms_txpkt *pkt)
{
	u64 now = ktime_get_ns();

	dms_delay_sample(&path->delay, &path->window, pkt->bytes, now - pkt->posted_ns, now);
	/* when those before it came through is not known: they count for growth */
	if (pkt->before_bytes)
		dms_delay_sample(&path->delay, &path->window, pkt->before_bytes,
				 path->delay.delay_ns, now);
}

/**
 * dms_path_charge_again() - the send window has no room, at first sight
 * @path: path->lock is held
 * @charge: from dms_window_charge()
 *
 * Packets that are told of later keep their charge until then.  Nobody waits for
 * that, it could be for ever: their charge goes back first.  It is that of some
 * packets of copied bytes, less than DMS_SIGNAL_EVERY of them, which so are not
 * counted while they are under way.
 *
 * Return: false when there is no room; then something is out that will give some
 * back, and tell.
 */
bool dms_path_charge_again(struct dms_path *path, u64 charge)
{
	lockdep_assert_held(&path->lock);
	if (!path->quiet_charge)
		return false;
	dms_window_put(&path->window, path->quiet_charge);
	path->quiet_charge = 0;
	return dms_window_take_small(&path->window, charge);
}

/**
 * dms_path_pulled() - the peer has pulled a segment
 * @path: path->lock is held
 * @bytes: of it; still charged to the window
 *
 * It counts for the window's growth, with the delay that packets had meanwhile.
 */
void dms_path_pulled(struct dms_path *path, u32 bytes)
{
	if (path->delay.measured)
		dms_delay_sample(&path->delay, &path->window, bytes, path->delay.delay_ns,
				 ktime_get_ns());
}

/**
 * dms_path_send_done() - packets have left, or never will
 * @pkt: of ops->send(); and the quiet ones in pkt->before, which the path gets back
 *	 with it
 * @status: 0, or -errno: the path is dying
 *
 * The NIC reads the requests' pages no more.  A quiet packet has none.
 */
void dms_path_send_done(struct dms_txpkt *pkt, int status)
{
	struct dms_path *path = pkt->path;
	struct list_head *quiet;
	struct dms_write *w;
	bool owes;
	u32 i;

	for (i = 0; i < pkt->nr_req; i++)
		dms_stream_wire_done(pkt->req[i]);
	for (w = pkt->write; w; w = w->next)
		if (w->req)
			dms_stream_wire_done(w->req);
	spin_lock(&path->lock);
	if (unlikely(pkt->write)) {
		dms_path_put_writes(path, pkt->write);
		pkt->write = NULL;
	}
	path->tx_out--;
	list_for_each(quiet, &pkt->before)
		path->tx_out--;
	list_splice_tail_init(&pkt->before, &path->tx_free);
	path->moved = jiffies;
	if (!status)
		path_measured(path, pkt);
	dms_window_put(&path->window, pkt->charge);
	list_add_tail(&pkt->node, &path->tx_free);
	/* what may have found no free packet */
	owes = path->nr_refusals || dms_slot_rx_owes(&path->slot_rx) || path->recall_owed ||
	       path->recalled;
	spin_unlock(&path->lock);
	if (!status && (owes || path_has_ready(path)))
		dms_path_kick(path);
}

/**
 * dms_path_read_done() - a READ has ended
 * @rd: of ops->read()
 * @status: 0: the bytes are in the landing; or -errno: the path is dying; rd->blame
 *	    says whether this READ would fail again
 */
void dms_path_read_done(struct dms_read *rd, int status)
{
	struct dms_path *path = rd->path;
	struct dms_stream *s = rd->stream;
	struct dms_landing *l = rd->landing;
	u32 at = rd->landing_at, len = rd->len;

	if (!status)
		path->ops->flush_landing(path, l, at, len);
	else if (rd->blame)
		dms_stream_blame(s, rd->blame);
	dms_incast_put(path->ibdev, rd->charge);
	spin_lock(&path->lock);
	path->reads_out--;
	path->moved = jiffies;
	rd->stream = NULL;
	rd->landing = NULL;
	list_add_tail(&rd->node, &path->reads_free);
	dms_path_wake_readers(path);
	spin_unlock(&path->lock);
	dms_stream_read_done(s, l, len, status);
	dms_path_kick(path);
	dms_stream_put(s);		/* of the READ */
}

/**
 * dms_path_revoke_done() - a key opens nothing any more
 * @key: of ops->revoke()
 * @status: 0, or -errno: the path is dying; the fence sees to the key
 */
void dms_path_revoke_done(struct dms_key *key, int status)
{
	struct dms_path *path = key->path;

	if (status)
		return;
	if (key->req)
		dms_stream_key_free(key);
	else
		dms_stream_grant_free(key);
	spin_lock(&path->lock);
	path->keys_out--;
	path->grants -= key->write;
	dms_gauge_dec(DMS_GAUGE_KEYS_OUT);
	list_add_tail(&key->node, &path->keys_free);
	dms_path_wake(path, &path->wait_key);
	spin_unlock(&path->lock);
	if (path_has_ready(path))
		dms_path_kick(path);
}
