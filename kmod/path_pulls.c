// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the streams of a path need while messages are announced to them: a stock of struct
 * dms_pull.  pulls_lock is innermost.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "path.h"
#include "stream.h"
#include "stream_impl.h"

/**
 * dms_path_init_pulls() - an empty stock
 * @path: new
 */
void dms_path_init_pulls(struct dms_path *path)
{
	spin_lock_init(&path->pulls_lock);
	INIT_LIST_HEAD(&path->pulls_free);
}

/**
 * dms_path_alloc_pulls() - part of dms_path_alloc()
 * @path: not UP; one that had a carrier before has its stock
 *
 * Return: 0 or -ENOMEM.
 */
int dms_path_alloc_pulls(struct dms_path *path)
{
	struct dms_pull *p;

	while (path->nr_pulls_free < DMS_PATH_PULLS) {
		p = dms_pull_alloc(GFP_KERNEL);
		if (!p)
			return -ENOMEM;
		list_add(&p->node, &path->pulls_free);
		path->nr_pulls_free++;
	}
	return 0;
}

/**
 * dms_path_free_pulls() - part of dms_path_free()
 * @path: nobody uses it any more
 */
void dms_path_free_pulls(struct dms_path *path)
{
	struct dms_pull *p, *next;

	list_for_each_entry_safe(p, next, &path->pulls_free, node)
		dms_pull_free(p);
}

/**
 * dms_path_get_pull() - for a stream to which a message is announced
 * @path: of the stream
 *
 * From the stock, which has as many as there are streams that messages were
 * announced to at once, so that this allocates when they become more.
 *
 * Context: process; any lock may be held.
 * Return: what goes back with dms_path_put_pull(), or NULL: no memory.
 */
struct dms_pull *dms_path_get_pull(struct dms_path *path)
{
	struct dms_pull *p;

	spin_lock(&path->pulls_lock);
	p = list_first_entry_or_null(&path->pulls_free, struct dms_pull, node);
	if (p) {
		list_del_init(&p->node);
		path->nr_pulls_free--;
	}
	spin_unlock(&path->pulls_lock);
	return p ?: dms_pull_alloc(GFP_ATOMIC | __GFP_NOWARN);
}

/**
 * dms_path_put_pull() - to the stock
 * @path: of the stream
 * @pull: of dms_path_get_pull(); all slots are free
 *
 * Context: process; any lock may be held.
 */
void dms_path_put_pull(struct dms_path *path, struct dms_pull *pull)
{
	spin_lock(&path->pulls_lock);
	list_add(&pull->node, &path->pulls_free);
	path->nr_pulls_free++;
	spin_unlock(&path->pulls_lock);
}

/**
 * dms_path_trim_pulls() - the stock gets smaller
 * @path: any state
 *
 * Called about once a second: half of what is beyond the least stock goes, so that
 * streams which pulled once and are idle now come to cost what idle ones do.
 *
 * Context: process.
 */
void dms_path_trim_pulls(struct dms_path *path)
{
	struct dms_pull *p, *next;
	LIST_HEAD(gone);
	u32 n;

	spin_lock(&path->pulls_lock);
	n = path->nr_pulls_free > DMS_PATH_PULLS ?
		(path->nr_pulls_free - DMS_PATH_PULLS + 1) / 2 : 0;
	path->nr_pulls_free -= n;
	while (n--)
		list_move(path->pulls_free.next, &gone);
	spin_unlock(&path->pulls_lock);
	list_for_each_entry_safe(p, next, &gone, node)
		dms_pull_free(p);
}
