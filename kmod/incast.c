// SPDX-License-Identifier: GPL-2.0-only
/*
 * The incast budget of a NIC.
 *
 * Streams that want to pull, over all paths of the device, wait in the order of
 * core/pull.h: short first, with aging.  Whoever is next and has room is granted
 * its piece at once and made ready; it uses the grant when its path serves it.
 * A stream that finds that it cannot pull gives the grant back
 * (dms_incast_leave()), so that nobody is held up by more than what is granted:
 * also not by a stream whose path cannot send just now.
 *
 * The queue holds a reference on each stream in it.  A stream has its grant for as
 * long as it has its path: dms_incast_leave() is called when it ends, before the
 * path lets its device go.
 */
#include "incast.h"

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>

#include "ibdev.h"
#include "path.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

/* After so long a long message goes before one of half its length that has just come. */
#define DMS_INCAST_AGE_NS	(2 * NSEC_PER_MSEC)
/*
 * What peers may push at any time is not of the budget, or grants that are idle would
 * leave nothing for pulls; it is bounded by this part of it in addition.
 */
#define DMS_INCAST_GRANTED	4

/**
 * dms_incast_init() - nothing is being pulled
 * @ibdev: new
 * @budget: bytes
 *
 * Context: any.
 */
void dms_incast_init(struct dms_ibdev *ibdev, u64 budget)
{
	spin_lock_init(&ibdev->incast_lock);
	dms_window_init(&ibdev->incast, budget);
	dms_window_init(&ibdev->granted, budget / DMS_INCAST_GRANTED);
	dms_pullq_init(&ibdev->pulls, DMS_INCAST_AGE_NS);
}

/* incast_lock is held: who may pull now is told so. */
static void incast_grant(struct dms_ibdev *d)
{
	struct dms_pullq_node *n;

	while ((n = dms_pullq_grant(&d->pulls, &d->incast, ktime_get_ns()))) {
		struct dms_pull *p = container_of(n, struct dms_pull, wait);
		struct dms_stream *s = p->stream;

		p->granted = true;
		dms_stream_kick(s);
		dms_stream_put(s);	/* of incast_wait() */
	}
}

/* incast_lock is held: to the queue. */
static void incast_wait(struct dms_ibdev *d, struct dms_stream *s, u32 left, u32 len)
{
	struct dms_pull *p = s->pull;

	if (dms_pullq_waits(&p->wait))
		return;
	dms_stream_get(s);		/* put in incast_grant() or dms_incast_leave() */
	p->piece = len;
	dms_pullq_add(&d->pulls, &p->wait, left, len, ktime_get_ns());
	incast_grant(d);
	if (!p->granted)
		dms_stat_inc(DMS_STAT_INCAST_WAITS);
}

/* incast_lock is held: the grant, of which what is not needed goes back. */
static u64 incast_use(struct dms_ibdev *d, struct dms_pull *p, u32 *len)
{
	u64 charge;

	*len = min(*len, p->piece);
	charge = min_t(u64, dms_window_charge(&d->incast, *len), p->wait.charge);
	dms_window_put(&d->incast, p->wait.charge - charge);
	p->granted = false;
	return charge;
}

/**
 * dms_incast_take() - may a stream pull now?
 * @s: has s->pull; its path's lock and its own are held
 * @left: bytes of its message that were not pulled
 * @len: in: bytes of the READ that it would post; out: what it may, not more
 * @charge: out: what to give back with dms_incast_put()
 *
 * Return: false when not; the stream is then made ready when it may.
 */
bool dms_incast_take(struct dms_stream *s, u32 left, u32 *len, u64 *charge)
{
	struct dms_ibdev *d = s->path->ibdev;
	struct dms_pull *p = s->pull;
	bool taken;

	spin_lock(&d->incast_lock);
	*len = min(*len, dms_pullq_piece(d->incast.limit));
	if (!p->granted && !d->pulls.nr) {
		*charge = dms_window_charge(&d->incast, *len);
		taken = dms_window_take(&d->incast, *charge);
		if (taken)
			goto unlock;
	}
	if (!p->granted)
		incast_wait(d, s, left, *len);
	taken = p->granted;
	if (taken)
		*charge = incast_use(d, p, len);
unlock:
	spin_unlock(&d->incast_lock);
	return taken;
}

/**
 * dms_incast_put() - bytes were pulled
 * @ibdev: of the path
 * @charge: what dms_incast_take() said
 *
 * Context: process; any lock but incast_lock may be held.
 */
void dms_incast_put(struct dms_ibdev *ibdev, u64 charge)
{
	spin_lock(&ibdev->incast_lock);
	dms_window_put(&ibdev->incast, charge);
	incast_grant(ibdev);
	spin_unlock(&ibdev->incast_lock);
}

/**
 * dms_incast_grant() - may a landing be granted?
 * @ibdev: of the path
 * @len: its bytes
 * @charge: out: what to give back with dms_incast_ungrant()
 *
 * Context: process; any lock but incast_lock may be held.
 * Return: false when others have granted as much as may be; nobody is told when that
 * changes: what is not granted is pulled.
 */
bool dms_incast_grant(struct dms_ibdev *ibdev, u32 len, u64 *charge)
{
	bool taken;

	spin_lock(&ibdev->incast_lock);
	*charge = dms_window_charge(&ibdev->granted, len);
	taken = dms_window_take(&ibdev->granted, *charge);
	spin_unlock(&ibdev->incast_lock);
	return taken;
}

/**
 * dms_incast_ungrant() - a landing is granted no more
 * @ibdev: of the path
 * @charge: what dms_incast_grant() said
 *
 * Context: process; any lock but incast_lock may be held.
 */
void dms_incast_ungrant(struct dms_ibdev *ibdev, u64 charge)
{
	spin_lock(&ibdev->incast_lock);
	dms_window_put(&ibdev->granted, charge);
	spin_unlock(&ibdev->incast_lock);
}

/**
 * dms_incast_leave() - a stream does not pull now
 * @s: stream->lock is held, by a caller with a reference of its own
 *
 * Context: process.
 */
void dms_incast_leave(struct dms_stream *s)
{
	struct dms_pull *p = s->pull;
	struct dms_ibdev *d;
	bool waited = false, granted;

	/* suspended it has left, and its path may be letting its device go */
	if (!p || s->resume)
		return;
	d = READ_ONCE(s->path->ibdev);
	if (!d)
		return;
	spin_lock(&d->incast_lock);
	granted = p->granted;
	if (granted) {
		p->granted = false;
		dms_window_put(&d->incast, p->wait.charge);
	} else {
		waited = dms_pullq_waits(&p->wait);
		dms_pullq_del(&d->pulls, &p->wait);
	}
	if (waited || granted)	/* it may have been the first */
		incast_grant(d);
	spin_unlock(&d->incast_lock);
	if (waited)
		dms_stream_put(s);	/* of incast_wait() */
}
