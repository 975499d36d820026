// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the streams of a path share for direct push: WRITEs, the keys that open landings
 * to the peer, and the clock that takes back what is idle.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "core/link.h"
#include "mux.h"
#include "path.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "wq.h"

unsigned int dms_param_grant_idle_ms = 1000;
module_param_named(grant_idle_ms, dms_param_grant_idle_ms, uint, 0644);
MODULE_PARM_DESC(grant_idle_ms, "landings granted ahead to a peer that pushes nothing for so long are taken back, in ms; 0: never (default 1000)");

/*
 * A grant keeps its key for as long as the peer likes, or is idle; a message that is
 * pulled waits for one.  So grants never have more than this part of a path's keys, and
 * none is given while somebody waits.
 */
#define DMS_GRANT_KEYS	4

#define DMS_GRANT_LOOK_MS	1000U	/* idle for less is seen within half of that */

static void path_grant_work(struct work_struct *work);

/**
 * dms_path_push_init() - nothing is granted
 * @path: new
 */
void dms_path_push_init(struct dms_path *path)
{
	INIT_LIST_HEAD(&path->granters);
	INIT_DELAYED_WORK(&path->grant_work, path_grant_work);
}

/**
 * dms_path_alloc_writes() - part of dms_path_alloc()
 * @path: nr_writes is set
 *
 * Return: 0 or -ENOMEM.
 */
int dms_path_alloc_writes(struct dms_path *path)
{
	u32 i;

	if (!path->nr_writes)
		return 0;
	path->writes = kvcalloc(path->nr_writes, sizeof(*path->writes), GFP_KERNEL);
	if (!path->writes)
		return -ENOMEM;
	for (i = 0; i < path->nr_writes; i++) {
		path->writes[i].path = path;
		path->writes[i].next = path->writes_free;
		path->writes_free = &path->writes[i];
	}
	return 0;
}

/**
 * dms_path_get_writes() - WRITEs for a message
 * @path: path->lock is held
 * @n: how many, not zero
 *
 * Return: the first of a list, or NULL: there are not so many.
 */
struct dms_write *dms_path_get_writes(struct dms_path *path, u32 n)
{
	struct dms_write *first = path->writes_free, *last = first;

	lockdep_assert_held(&path->lock);
	while (last && --n)
		last = last->next;
	if (!last)
		return NULL;
	path->writes_free = last->next;
	last->next = NULL;
	return first;
}

/**
 * dms_path_put_writes() - they have left with their packet, or never will
 * @path: path->lock is held
 * @w: the first of a list, or NULL
 */
void dms_path_put_writes(struct dms_path *path, struct dms_write *w)
{
	struct dms_write *next;

	lockdep_assert_held(&path->lock);
	for (; w; w = next) {
		next = w->next;
		w->req = NULL;
		w->next = path->writes_free;
		path->writes_free = w;
	}
}

/**
 * dms_path_get_grant_key() - a key to open a landing with
 * @path: path->lock is held
 *
 * Return: the key, or NULL: there is none for this.
 */
struct dms_key *dms_path_get_grant_key(struct dms_path *path)
{
	struct dms_key *key = list_first_entry_or_null(&path->keys_free, struct dms_key, node);

	lockdep_assert_held(&path->lock);
	if (!key || path->grants >= path->keys_max / DMS_GRANT_KEYS ||
	    !dms_link_empty(&path->wait_key))
		return NULL;
	list_del_init(&key->node);
	key->req = NULL;
	key->pushed = 0;
	key->write = true;
	path->grants++;
	path->keys_out++;
	dms_gauge_inc(DMS_GAUGE_KEYS_OUT);
	return key;
}

/**
 * dms_path_put_grant_key() - the key was not used
 * @path: path->lock is held
 * @key: of dms_path_get_grant_key()
 */
void dms_path_put_grant_key(struct dms_path *path, struct dms_key *key)
{
	lockdep_assert_held(&path->lock);
	path->grants--;
	path->keys_out--;
	dms_gauge_dec(DMS_GAUGE_KEYS_OUT);
	list_add(&key->node, &path->keys_free);
}

/* Often enough to hear of another grant_idle_ms, and of a peer that does not answer. */
static void path_grant_later(struct dms_path *path)
{
	u32 ms = min_not_zero(READ_ONCE(dms_param_grant_idle_ms), DMS_GRANT_LOOK_MS);

	dms_path_get(path);		/* put in path_grant_work() */
	if (!queue_delayed_work(dms_wq, &path->grant_work, msecs_to_jiffies(ms / 2) + 1))
		dms_path_put(path);	/* queued already, with a reference */
}

/**
 * dms_path_grants() - a stream has granted
 * @path: UP; path->lock is held
 * @node: push->node of the stream
 * @s: asked with dms_stream_grants_idle() from time to time, as long as it has grants
 */
void dms_path_grants(struct dms_path *path, struct list_head *node, struct dms_stream *s)
{
	lockdep_assert_held(&path->lock);
	if (list_empty(node)) {
		dms_stream_get(s);	/* put in path_grant_work(), or dms_path_drop_granters() */
		list_add_tail(node, &path->granters);
	}
	path_grant_later(path);
}

static void path_grant_work(struct work_struct *work)
{
	struct dms_path *path = container_of(to_delayed_work(work), struct dms_path, grant_work);
	u32 idle = READ_ONCE(dms_param_grant_idle_ms);
	struct dms_push *p, *next;

	spin_lock(&path->lock);
	list_for_each_entry_safe(p, next, &path->granters, node) {
		struct dms_stream *s = p->stream;

		if (dms_stream_grants_idle(s, msecs_to_jiffies(idle)))
			continue;
		list_del_init(&p->node);
		dms_stream_put(s);	/* of dms_path_grants() */
	}
	/* a path that is killed cancels it for good */
	if (path->state == DMS_PATH_UP && !list_empty(&path->granters))
		path_grant_later(path);
	dms_mux_run(path);
	spin_unlock(&path->lock);
	dms_path_put(path);
}

/**
 * dms_path_drop_granters() - the path has ended
 * @path: fenced; path->lock is held
 */
void dms_path_drop_granters(struct dms_path *path)
{
	struct dms_push *p, *next;

	list_for_each_entry_safe(p, next, &path->granters, node) {
		list_del_init(&p->node);
		dms_stream_put(p->stream);	/* of dms_path_grants() */
	}
}
