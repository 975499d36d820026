// SPDX-License-Identifier: GPL-2.0-only
/*
 * The incast budget of a NIC.
 *
 * A path that finds the budget spent waits in a list of the NIC; when bytes
 * come back all of them look again, in the order in which they came.
 */
#include "incast.h"

#include <linux/list.h>
#include <linux/spinlock.h>

#include "ibdev.h"
#include "path.h"

/**
 * dms_incast_take() - may so many bytes be pulled now?
 * @path: path->lock is held
 * @bytes: of one READ
 * @charge: out: what to give back
 *
 * Return: false when not; the path is then kicked, with incast_woken set, when
 * the budget has room.
 */
bool dms_incast_take(struct dms_path *path, u32 bytes, u64 *charge)
{
	struct dms_ibdev *d = path->ibdev;
	bool taken;

	spin_lock(&d->incast_lock);
	*charge = dms_window_charge(&d->incast, bytes);
	taken = dms_window_take(&d->incast, *charge);
	if (!taken && list_empty(&path->incast_node)) {
		dms_path_get(path);	/* put in dms_incast_put() or _forget() */
		list_add_tail(&path->incast_node, &d->incast_waiters);
	}
	spin_unlock(&d->incast_lock);
	return taken;
}

/**
 * dms_incast_put() - bytes were pulled
 * @ibdev: of the path
 * @charge: what dms_incast_take() said
 *
 * Context: process, no lock of a path held.
 */
void dms_incast_put(struct dms_ibdev *ibdev, u64 charge)
{
	struct dms_path *path;
	LIST_HEAD(woken);

	spin_lock(&ibdev->incast_lock);
	dms_window_put(&ibdev->incast, charge);
	/* Who waits again meanwhile is not on this list: no endless round. */
	list_splice_init(&ibdev->incast_waiters, &woken);
	while ((path = list_first_entry_or_null(&woken, struct dms_path,
						incast_node))) {
		list_del_init(&path->incast_node);
		WRITE_ONCE(path->incast_woken, true);
		dms_path_kick(path);
		spin_unlock(&ibdev->incast_lock);
		dms_path_put(path);	/* of dms_incast_take() */
		spin_lock(&ibdev->incast_lock);
	}
	spin_unlock(&ibdev->incast_lock);
}

/**
 * dms_incast_forget() - a path waits no more
 * @path: fenced; none of its READs is in flight
 *
 * Context: process, no lock held.
 */
void dms_incast_forget(struct dms_path *path)
{
	struct dms_ibdev *d = path->ibdev;
	bool waited = false;

	if (!d)
		return;
	spin_lock(&d->incast_lock);
	if (!list_empty(&path->incast_node)) {
		list_del_init(&path->incast_node);
		waited = true;
	}
	spin_unlock(&d->incast_lock);
	if (waited)
		dms_path_put(path);	/* of dms_incast_take() */
}
