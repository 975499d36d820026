// SPDX-License-Identifier: GPL-2.0-only
/*
 * A path over the session's TCP connection: its making, what mux.c asks of it, and the
 * fence.  tcp_io.c moves the bytes.
 *
 * Reads, keys and replies are found by numbers that the peer says: each is checked against
 * what is out at that moment, under path->lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "transport_tcp.h"

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <linux/dmastream.h>

#include "fault.h"
#include "group.h"
#include "ibdev.h"
#include "path.h"
#include "pool.h"
#include "session_impl.h"
#include "stats.h"
#include "wq.h"

/* Keys of a path, and pages that one opens, as over RDMA. */
#define DMS_TCP_KEYS		64
#define DMS_TCP_SEG_PAGES	256
/* Packets that are out at a time, whatever the peer has room for. */
#define DMS_TCP_PACKETS		64
/* The lower bits of an rkey are the key's number. */
#define DMS_TCP_KEY_BITS	8

static_assert(DMS_TCP_KEYS <= 1 << DMS_TCP_KEY_BITS);

/* path->lock held */
static struct dms_tcp *tcp_ready(struct dms_path *path)
{
	struct dms_tcp *tp = path->priv;

	lockdep_assert_held(&path->lock);
	return tp && !tp->dead ? tp : NULL;
}

static void tcp_poke(struct dms_path *path)
{
	queue_work(dms_wq, &path->session->sock_work);
}

/* ---- what mux.c asks for; path->lock held ---- */

static int tcp_send(struct dms_path *path, struct dms_txpkt *pkt)
{
	struct dms_tcp *tp = tcp_ready(path);

	if (!tp)
		return -ESHUTDOWN;
	list_add_tail(&pkt->node, &tp->tx);
	tcp_poke(path);
	return 0;
}

static int tcp_read(struct dms_path *path, struct dms_read *rd)
{
	struct dms_tcp *tp = tcp_ready(path);
	struct dms_tcp_ask *ask;

	if (!tp)
		return -ESHUTDOWN;
	ask = &tp->ask[rd - path->reads];
	ask->out = true;
	ask->got = 0;
	list_add_tail(&rd->node, &tp->reads);
	dms_stat_inc(DMS_STAT_READS_POSTED);
	tcp_poke(path);
	return 0;
}

static int tcp_expose(struct dms_path *path, struct dms_key *key, struct dms_pool *pool,
		      const struct dms_tile *tile, u32 at, u32 len)
{
	struct dms_tcp *tp = tcp_ready(path);
	struct dms_tcp_key *k;
	u32 nr = key - path->keys;

	if (!tp)
		return -ESHUTDOWN;
	k = &tp->key[nr];
	k->pool = pool;
	k->tile = *tile;
	k->at = at;
	k->len = len;
	k->write = key->write;
	k->rkey = ++tp->uses << DMS_TCP_KEY_BITS | nr;
	k->lent = false;
	k->open = true;
	key->addr = 0;
	key->rkey = k->rkey;
	dms_stat_inc(DMS_STAT_KEYS_REGISTERED);
	return 0;
}

/* Answered by sock_work, which may be about to send what the key opened. */
static int tcp_revoke(struct dms_path *path, struct dms_key *key)
{
	struct dms_tcp *tp = tcp_ready(path);

	if (!tp)
		return -ESHUTDOWN;
	__set_bit(key - path->keys, tp->revoke);
	tcp_poke(path);
	return 0;
}

/* The CPU has put it there. */
static void tcp_flush_landing(struct dms_path *path, struct dms_landing *l, u32 at, u32 len)
{
}

/* There are no receives that could move: path->moves is false. */
static void tcp_grow(struct dms_path *path, u32 n)
{
	WARN_ON_ONCE(1);
}

/* ---- making ---- */

static void tcp_release(struct kref *ref)
{
	struct dms_tcp *tp = container_of(ref, struct dms_tcp, ref);

	bitmap_free(tp->revoke);
	kvfree(tp->key);
	kfree(tp->ask);
	kfree(tp->reply);
	kfree(tp);
}

static void tcp_put(struct dms_tcp *tp)
{
	kref_put(&tp->ref, tcp_release);
}

/* From here on the fence finds it. */
static struct dms_tcp *tcp_new(struct dms_path *path)
{
	struct dms_tcp *tp = dms_fault_alloc(TRANSPORT) ? NULL : kzalloc(sizeof(*tp), GFP_KERNEL);
	bool taken = false;

	if (!tp)
		return ERR_PTR(-ENOMEM);
	kref_init(&tp->ref);		/* the caller's */
	tp->path = path;
	tp->epoch = path->epoch;
	mutex_init(&tp->setup_lock);
	INIT_LIST_HEAD(&tp->tx);
	INIT_LIST_HEAD(&tp->quiet);
	INIT_LIST_HEAD(&tp->reads);
	INIT_LIST_HEAD(&tp->asked);
	INIT_LIST_HEAD(&tp->replies);
	INIT_LIST_HEAD(&tp->replies_free);
	spin_lock(&path->lock);
	if (path->state == DMS_PATH_INIT && !path->priv && path->taken) {
		kref_get(&tp->ref);	/* put in tcp_free() */
		path->priv = tp;
		path->ops = &dms_tcp_ops;
		path->ibdev = dms_ibdev_tcp();	/* put in tcp_free() */
		taken = true;
	}
	spin_unlock(&path->lock);
	if (taken)
		return tp;
	kfree(tp);
	return ERR_PTR(-ESHUTDOWN);
}

static void tcp_limits(struct dms_path *path)
{
	const struct dms_session *s = path->session;
	u64 both = s->mine.features & s->theirs.features;

	path->slots = s->theirs.slots;
	path->my_slots = s->mine.slots;
	path->my_slots_max = path->my_slots;
	path->moves = false;
	path->nr_txpkts = min_t(u32, path->slots, DMS_TCP_PACKETS);
	path->pushes = both & DMS_FEATURE_PUSH;
	path->nr_writes = path->pushes ? DMS_PATH_WRITES : 0;
	path->slot_bytes = s->slot_bytes;
	path->eager_max = s->eager_max;
	path->reads_max = clamp(path->ibdev->max_reads, 1U, s->theirs.reads);
	path->keys_max = DMS_TCP_KEYS;
	path->seg_pages = DMS_TCP_SEG_PAGES;
}

static int tcp_alloc(struct dms_tcp *tp)
{
	struct dms_path *path = tp->path;
	u32 replies = path->session->mine.reads, i;

	tp->revoke = bitmap_zalloc(path->keys_max, GFP_KERNEL);
	tp->key = kvcalloc(path->keys_max, sizeof(*tp->key), GFP_KERNEL);
	tp->ask = kcalloc(path->reads_max, sizeof(*tp->ask), GFP_KERNEL);
	tp->reply = kcalloc(replies, sizeof(*tp->reply), GFP_KERNEL);
	if (!tp->revoke || !tp->key || !tp->ask || !tp->reply)
		return -ENOMEM;
	tp->nr_keys = path->keys_max;
	tp->nr_asks = path->reads_max;
	for (i = 0; i < replies; i++)
		list_add_tail(&tp->reply[i].node, &tp->replies_free);
	for (i = 0; i < path->nr_txpkts; i++)
		path->txpkts[i].buf_dma = (uintptr_t)path->txpkts[i].buf;
	return 0;
}

/* What the session needs, once. */
static int tcp_io_make(struct dms_session *s)
{
	struct dms_tcp_io *io;

	if (READ_ONCE(s->tcp_io))
		return 0;
	io = dms_fault_alloc(SOCKET) ? NULL :
	     kvzalloc(struct_size(io, packet, s->slot_bytes), GFP_KERNEL);
	if (!io)
		return -ENOMEM;
	mutex_init(&io->lock);
	io->packet_len = s->slot_bytes;
	/* two paths may begin at once; ordered for who reads it without a lock: it is made */
	if (cmpxchg(&s->tcp_io, NULL, io))
		kvfree(io);
	return 0;
}

/* setup_lock held, not dead; what was made stays, the fence and tcp_free() have it. */
static int tcp_make(struct dms_tcp *tp)
{
	struct dms_path *path = tp->path;
	struct dms_session *s = path->session;
	int ret;

	lockdep_assert_held(&tp->setup_lock);
	if (!dms_path_move(path, DMS_PATH_INIT, DMS_PATH_CONNECTING))
		return -ESHUTDOWN;
	tcp_limits(path);
	ret = dms_path_alloc(path) ?: tcp_alloc(tp) ?: tcp_io_make(s);
	if (ret)
		return ret;
	mutex_lock(&s->tcp_io->lock);
	s->tcp_io->of[path->index] = tp;
	mutex_unlock(&s->tcp_io->lock);
	return 0;
}

/**
 * dms_tcp_attach() - the session's connection becomes a path's carrier
 * @path: taken, in its new epoch; the caller has a reference
 *
 * Nothing is sent before dms_tcp_tell().
 *
 * Context: process, may sleep; session->lock and tcp->lock are not held.
 * Return: 0: it is UP, or has been killed again; or a negative errno: it was killed.
 */
int dms_tcp_attach(struct dms_path *path)
{
	struct dms_tcp *tp = tcp_new(path);
	int ret = -ESHUTDOWN;

	if (IS_ERR(tp)) {
		ret = PTR_ERR(tp);
	} else {
		mutex_lock(&tp->setup_lock);
		if (!tp->dead)
			ret = tcp_make(tp);
		/* it maps pools, for which the fence has to wait */
		if (!ret)
			dms_path_up(path);
		mutex_unlock(&tp->setup_lock);
		tcp_put(tp);
	}
	if (!ret)
		dms_stat_inc(DMS_STAT_PATHS_TCP);
	else if (ret != -ESHUTDOWN)
		dms_path_kill(path, DMASTREAM_ERR_PATH, DMS_PATH_DETAIL_ERRNO - ret);
	return ret;
}

/**
 * dms_tcp_tell() - the peer knows of the carrier, or is told before anything that follows
 * @path: after dms_tcp_attach()
 *
 * Context: process, may sleep.
 */
void dms_tcp_tell(struct dms_path *path)
{
	struct dms_tcp_io *io = path->session->tcp_io;

	mutex_lock(&io->lock);
	if (io->of[path->index]) {
		io->of[path->index]->told = true;
		/* under the lock: the fence, which cancels what is queued, comes after it */
		tcp_poke(path);
	}
	mutex_unlock(&io->lock);
}

/* ---- the fence ---- */

static struct dms_txpkt *tcp_pop(struct dms_tcp *tp)
{
	struct list_head *list = list_empty(&tp->quiet) ? &tp->tx : &tp->quiet;
	struct dms_txpkt *pkt;

	spin_lock(&tp->path->lock);
	pkt = list_first_entry_or_null(list, struct dms_txpkt, node);
	if (pkt)
		list_del_init(&pkt->node);
	spin_unlock(&tp->path->lock);
	return pkt;
}

static void tcp_answer(struct dms_tcp *tp)
{
	struct dms_path *path = tp->path;
	struct dms_txpkt *pkt;
	unsigned long i;

	while ((pkt = tcp_pop(tp)))
		dms_path_send_done(pkt, -EIO);
	for (i = 0; i < tp->nr_asks; i++) {
		if (!tp->ask[i].out)
			continue;
		tp->ask[i].out = false;
		list_del_init(&path->reads[i].node);
		dms_path_read_done(&path->reads[i], -EIO);
	}
	for (i = 0; i < tp->nr_keys; i++)
		if (__test_and_clear_bit(i, tp->revoke))
			dms_path_revoke_done(&path->keys[i], -EIO);
}

/*
 * Pages that TCP still has would be sent, or sent again, with what their processes write
 * into them next: the fence waits until the peer has acknowledged them.  When the session
 * ends instead, its socket is reset before streams are told: dms_session_end_later().
 */
static void tcp_fence(struct dms_path *path)
{
	struct dms_session *s = path->session;
	struct dms_tcp *tp = path->priv;

	if (!tp)
		return;
	/* 1. nothing is made or asked for any more */
	mutex_lock(&tp->setup_lock);
	spin_lock(&path->lock);
	tp->dead = true;
	spin_unlock(&path->lock);
	mutex_unlock(&tp->setup_lock);
	/* 2. sock_work knows nothing of it any more, and no work of a session at its end is left */
	dms_tcp_forget(s, tp);
	dms_tcp_wait_acked(s);
	if (test_bit(DMS_SF_KILLED, &s->flags))
		cancel_work_sync(&s->sock_work);
	/* 3. what has no answer */
	tcp_answer(tp);
}

static void tcp_free(struct dms_path *path)
{
	struct dms_tcp *tp = path->priv;
	struct dms_ibdev *d;

	spin_lock(&path->lock);
	d = path->ibdev;
	path->ibdev = NULL;
	path->priv = NULL;
	spin_unlock(&path->lock);
	if (d)
		dms_ibdev_put(d);
	if (tp)
		tcp_put(tp);		/* of tcp_new() */
}

const struct dms_transport_ops dms_tcp_ops = {
	.name		= "tcp",
	.tcp		= true,
	.send		= tcp_send,
	.read		= tcp_read,
	.expose		= tcp_expose,
	.revoke		= tcp_revoke,
	.flush_landing	= tcp_flush_landing,
	.grow		= tcp_grow,
	.map_pool	= dms_path_map_pool,
	.fence		= tcp_fence,
	.free		= tcp_free,
};
