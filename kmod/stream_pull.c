// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pulling: the announced message of a stream whose segments are READ, into the
 * landings of its large group or into the buffer of a posted RECV.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/seg.h"
#include "fault.h"
#include "group.h"
#include "ibdev.h"
#include "incast.h"
#include "path.h"
#include "pool.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"

static struct kmem_cache *pull_cache;

/**
 * dms_pull_init() - before the first path
 *
 * Return: 0 or -ENOMEM.
 */
int dms_pull_init(void)
{
	pull_cache = kmem_cache_create("dms_pull", sizeof(struct dms_pull), 0, 0, NULL);
	return pull_cache ? 0 : -ENOMEM;
}

void dms_pull_exit(void)
{
	kmem_cache_destroy(pull_cache);
	pull_cache = NULL;
}

/**
 * dms_pull_alloc() - for a path's stock
 * @gfp: how to allocate
 *
 * Return: what dms_pull_free() frees, or NULL.
 */
struct dms_pull *dms_pull_alloc(gfp_t gfp)
{
	struct dms_pull *p = dms_fault_alloc(PULL) ? NULL : kmem_cache_zalloc(pull_cache, gfp);
	int i;

	if (!p)
		return NULL;
	INIT_LIST_HEAD(&p->node);
	INIT_LIST_HEAD(&p->slots_free);
	for (i = 0; i < DMS_PULL_SLOTS; i++)
		list_add_tail(&p->slot[i].node, &p->slots_free);
	dms_pullq_node_init(&p->wait);
	return p;
}

void dms_pull_free(struct dms_pull *p)
{
	kmem_cache_free(pull_cache, p);
}

/**
 * dms_pull_begin() - a message is announced
 * @s: stream->lock is held
 *
 * Return: true when s->pull is there; else there was no memory.
 */
bool dms_pull_begin(struct dms_stream *s)
{
	if (s->pull)
		return true;
	s->pull = dms_path_get_pull(s->path);
	if (!s->pull)
		return false;
	s->pull->stream = s;
	return true;
}

/**
 * dms_pull_idle() - gives s->pull back when nothing is announced any more
 * @s: stream->lock is held
 *
 * All of its slots are free then, and no READ is in flight.  Having left the incast
 * queue, it can be reached by this stream alone.
 */
void dms_pull_idle(struct dms_stream *s)
{
	struct dms_pull *p = s->pull;

	if (!p || s->rx_announced || p->reads || p->skipped)
		return;
	dms_incast_leave(s);
	s->pull = NULL;
	p->stream = NULL;
	p->msg = NULL;
	p->cur = NULL;
	dms_path_put_pull(s->path, p);
}

/**
 * dms_pull_next() - the next message that is to be pulled
 * @s: stream->lock is held; something was announced, and the message before has all
 *     landed, or is over
 */
void dms_pull_next(struct dms_stream *s)
{
	struct dms_pull *p = s->pull;
	struct dms_rxmsg *m;

	p->msg = NULL;
	p->cur = NULL;
	p->keyed = 0;
	p->issued = 0;
	p->reads = 0;
	p->gen = 0;
	p->held = false;
	p->waits_landing = false;
	p->nr_keys = 0;
	list_for_each_entry(m, &s->rxq, node) {
		if (m->announced && m->landed < m->len) {
			p->msg = m;
			break;
		}
	}
	/* A posted message has its landing from the beginning. */
	if (p->msg && dms_rx_posted(s))
		p->cur = container_of(p->msg, struct dms_landing, msg);
}

/* KEY: a segment of the message that is being pulled may be read. */
enum dms_rule dms_rx_key(struct dms_stream *s, const struct dms_frame *f)
{
	struct dms_pull *p;
	struct dms_pull_key *key;
	enum dms_rule rule;

	spin_lock(&s->lock);
	if (!dms_rx_hears(s, &rule))
		goto out;
	p = s->pull;
	if (!p || !p->msg || p->msg->seq != f->seq) {
		/* It crossed the NACK of a message that is over. */
		if ((s32)(f->seq - s->rx_acked) > 0)
			rule = DMS_RULE_KEY;
		goto out;
	}
	if (f->gen != p->gen) {
		/* It crossed our HOLD: the sender has taken it back by now. */
		if ((s16)(f->gen - p->gen) > 0)
			rule = DMS_RULE_KEY;
		goto out;
	}
	if (p->held || f->a != p->keyed || !f->len || f->len > p->msg->len - f->a ||
	    p->nr_keys == DMS_KEYS_AHEAD) {
		rule = DMS_RULE_KEY;
		goto out;
	}
	key = &p->key[p->nr_keys++];
	key->addr = f->tag;
	key->rkey = f->b;
	key->at = f->a;
	key->len = f->len;
	p->keyed += f->len;
out:
	spin_unlock(&s->lock);
	return rule;
}

static bool rx_next_landing(struct dms_stream *s)
{
	struct dms_pull *p = s->pull;
	struct dms_landing *l;

	if (p->cur && p->cur->issued < p->cur->len)
		return true;
	if (dms_rx_posted(s))
		return p->cur;
	l = dms_group_take(s->large, &s->large_waiter);
	if (!l) {
		p->waits_landing = true;
		s->waits |= DMASTREAM_WAIT_LANDING;
		return false;
	}
	list_add_tail(&l->node, &p->msg->landings);
	p->cur = l;
	p->waits_landing = false;
	s->waits &= ~DMASTREAM_WAIT_LANDING;
	return true;
}

static const struct dms_pull_key *rx_key_at(const struct dms_pull *p, u32 at)
{
	u32 i;

	for (i = 0; i < p->nr_keys; i++)
		if (at - p->key[i].at < p->key[i].len)
			return &p->key[i];
	return NULL;
}

enum rx_read {
	RX_READ,	/* was posted */
	RX_NOT_NOW,	/* lacks a key, a landing, a READ, or the path has failed */
	RX_BUDGET,	/* waits for the incast budget */
};

/* Posts the next READ. */
static enum rx_read rx_read(struct dms_stream *s, struct dms_build *b)
{
	struct dms_path *path = b->path;
	struct dms_pull *p = s->pull;
	const struct dms_pull_key *key = rx_key_at(p, p->issued);
	struct dms_tile where;
	struct dms_landing *l;
	struct dms_read *rd;
	u32 max, len;
	int n;

	if (!key)
		return RX_NOT_NOW;
	if (!rx_next_landing(s)) {
		dms_path_hold_later(path, s);
		return RX_NOT_NOW;
	}
	rd = list_first_entry_or_null(&path->reads_free, struct dms_read, node);
	if (!rd) {
		dms_path_wait_read(path, s);
		return RX_NOT_NOW;
	}
	l = p->cur;
	max = min_t(u32, DMS_TX_SGES, path->ibdev->max_read_sge);
	len = dms_read_len(key->at + key->len - p->issued, l->len - l->issued,
			   p->msg->len - p->issued);
	where = dms_landing_tile(l);
	len = dms_pool_tile_span(l->pool, &where, l->issued, len, max);
	if (!dms_incast_take(s, p->msg->len - p->issued, &len, &rd->charge))
		return RX_BUDGET;
	n = dms_pool_tile_sges(l->pool, path->ibdev, &where, l->issued, len, rd->sge, max);
	if (WARN_ON_ONCE(n <= 0)) {
		dms_incast_put(path->ibdev, rd->charge);
		return RX_NOT_NOW;
	}
	rd->nr_sge = n;
	rd->landing = l;
	rd->landing_at = l->issued;
	rd->len = len;
	rd->remote_addr = key->addr + (p->issued - key->at);
	rd->rkey = key->rkey;
	rd->stream = s;
	list_del_init(&rd->node);
	if (path->ops->read(path, rd)) {
		/* The budget is given back by the fence's end of the path. */
		list_add(&rd->node, &path->reads_free);
		rd->stream = NULL;
		path->incast_unread += rd->charge;
		b->failed = true;
		return RX_NOT_NOW;
	}
	dms_stream_get(s);		/* put in dms_path_read_done() */
	dms_path_posts(path);
	path->reads_out++;
	p->reads++;
	p->issued += len;
	l->issued += len;
	return RX_READ;
}

/* No READ of what the peer does not want to be delivered: its keys go when those in flight end. */
static bool pull_skips(const struct dms_stream *s)
{
	return s->skip_due && s->pull->msg->seq == s->skip_rx_seq;
}

/**
 * dms_pull_serve() - read what may be read
 * @s: OPEN; path->lock and stream->lock are held
 * @b: packet under construction; fails when the transport does
 *
 * A grant of the incast budget that is no use now goes back.
 */
void dms_pull_serve(struct dms_stream *s, struct dms_build *b)
{
	const struct dms_pull *p = s->pull;
	enum rx_read read = RX_NOT_NOW;

	if (!p)
		return;
	while (!b->failed && p->msg && !p->held && !p->msg->too_long &&
	       p->issued < p->msg->len && !pull_skips(s)) {
		read = rx_read(s, b);
		if (read != RX_READ)
			break;
	}
	if (read == RX_BUDGET)
		s->waits |= DMASTREAM_WAIT_INCAST;
	else
		dms_incast_leave(s);
}

/**
 * dms_stream_read_done() - a READ of the stream has ended
 * @s: the caller holds a reference
 * @l: where it went
 * @len: bytes
 * @status: 0 or -errno
 *
 * READs of one path end in the order in which they were posted, so a landing
 * fills from its beginning.
 */
void dms_stream_read_done(struct dms_stream *s, struct dms_landing *l, u32 len,
			  int status)
{
	struct dms_pull *p;
	struct dms_rxmsg *m;

	spin_lock(&s->lock);
	p = s->pull;		/* there as long as a READ is in flight */
	p->reads--;
	m = p->msg;
	if (status || s->state != DMS_STREAM_OPEN || WARN_ON_ONCE(!m))
		goto out;
	l->filled += len;
	m->landed += len;
	dms_path_stat_rx(s->path, len);
	while (p->nr_keys && p->key[0].at + p->key[0].len <= m->landed) {
		p->nr_keys--;
		memmove(&p->key[0], &p->key[1], p->nr_keys * sizeof(p->key[0]));
		s->done_seq = m->seq;
		s->done_bytes = m->landed;
		s->ctl |= DMS_CTL_DONE;
	}
	if (m->landed == m->len)
		dms_pull_next(s);
	dms_rx_deliver(s);
	if (s->skip_due)
		dms_skip_decide(s);
out:
	dms_ctl_check_end(s);
	spin_unlock(&s->lock);
	dms_mux_ready(s);
}

/**
 * dms_stream_hold_due() - a pull has waited for a landing long enough
 * @s: path->lock is held
 */
void dms_stream_hold_due(struct dms_stream *s)
{
	struct dms_pull *p;

	spin_lock(&s->lock);
	p = s->pull;
	if (s->state == DMS_STREAM_OPEN && p && p->msg && p->waits_landing &&
	    !p->reads && !p->held && p->nr_keys) {
		p->held = true;
		p->gen++;
		p->nr_keys = 0;
		p->keyed = p->msg->landed;
		s->hold_bytes = p->msg->landed;
		s->ctl |= DMS_CTL_HOLD;
		dms_stat_inc(DMS_STAT_HOLDS);
		dms_mux_ready(s);
	}
	spin_unlock(&s->lock);
}

/**
 * dms_rx_large_ready() - the large group may have a landing
 * @s: stream->lock is held; was waiting for one
 */
void dms_rx_large_ready(struct dms_stream *s)
{
	struct dms_pull *p = s->pull;

	s->waits &= ~DMASTREAM_WAIT_LANDING;
	if (!p)
		return;
	p->waits_landing = false;
	if (s->state != DMS_STREAM_OPEN || !p->msg || p->issued == p->msg->len)
		return;
	/* A landing in hand before the sender is asked for keys again. */
	if (rx_next_landing(s) && p->held) {
		p->held = false;
		s->ctl |= DMS_CTL_PULL;
		dms_stat_inc(DMS_STAT_PULLS);
	}
}
