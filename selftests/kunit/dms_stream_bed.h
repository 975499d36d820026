/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of streams stand on: two ends, each with a session, a path and
 * a ring of the module's own, joined by a transport that carries nothing until a
 * test says so.  A test sees each packet before the other end does, may lose or
 * keep it, and says when the sender hears that it left.  Included once by each suite,
 * which so has nodes and a device of its own.
 *
 * The session is filled in by hand: no socket, no handshake, no clock.  Streams
 * are open from the beginning, with posted receives, so that no group is needed.
 */
#ifndef DMS_STREAM_BED_H
#define DMS_STREAM_BED_H

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <linux/dmastream.h>

#include "ctx.h"
#include "ibdev.h"
#include "incast.h"
#include "mux.h"
#include "node.h"
#include "path.h"
#include "pool.h"
#include "proto.h"
#include "recv.h"
#include "ring.h"
#include "session.h"
#include "stats.h"
#include "stream.h"
#include "stream_impl.h"
#include "wq.h"

#define T_SLOTS		16
#define T_SLOT_BYTES	12288
#define T_EAGER		8192
#define T_SEG_PAGES	1	/* of one key: a message of some pages needs several */
#define T_KEYS		4
#define T_KEYS_MAX	16
#define T_WRITES	8
#define T_READS		4
#define T_POOL		(1UL << 20)
#define T_NAMES		64	/* user_data of submissions: 1 to 63 */
#define T_PLACE		(T_POOL / T_NAMES)	/* of each in the pool */
#define T_LONG		12000	/* bytes that no packet brings */
#define T_CAP		16000
#define T_WAIT_MS	20000	/* for what comes by a clock */
/* Deepest chain of works before what a test did has come to rest. */
#define T_ROUNDS	6

/* A packet that left and did not arrive. */
struct t_pkt {
	struct list_head	node;		/* e->out; path->lock */
	struct dms_txpkt	*tx;
	struct t_write		*writes;	/* that arrive before it */
	u32			len;
	u8			buf[];
};

struct t_write {
	struct t_write		*next;
	u64			addr;
	u32			rkey;
	u32			len;
	u8			buf[];
};

struct t_end {
	struct dms_session	*session;	/* reference */
	struct dms_path		*path;		/* reference */
	struct dms_ctx		*ctx;
	struct dms_ring		*ring;		/* reference */
	struct dms_stream	*stream;	/* reference */
	struct dms_pool		*pool;		/* the context's */
	u32			pool_handle;
	struct t_end		*peer;

	/* path->lock: what the transport was asked, and has not answered */
	struct list_head	out;
	struct list_head	left;		/* struct dms_txpkt: arrived, and not completed */
	struct list_head	reads;		/* struct dms_read */
	struct dms_key		*revoked[T_KEYS_MAX];
	u32			nr_revoked;
	unsigned long		open;		/* bit per key that lets the peer write */
	unsigned long		readable;	/* ... and read */
	u32			writes, stray;	/* of the peer; of them, and of its READs, with no such key */
	u32			landed;		/* bytes of READs that succeeded */
	u32			packets, empty;	/* that left; of them without a frame */
	u32			frames[DMS_F_MAX];
	bool			refuse;		/* the transport takes no packet */
	/* called by the transport in the middle of a send, path->lock held */
	void			(*on_send)(struct t_end *e);
	void			*on_send_arg;

	/* the test's thread alone */
	bool			keep_left;	/* leave packets in left */
	bool			keep_reads;
	struct list_head	grabbed;	/* packets that the path cannot have */
	int			result[T_NAMES];
	u32			done[T_NAMES];	/* last completions of that name */
	u64			eos;		/* bit per name: it was told the end of the stream */
};

struct t_pair {
	struct t_end	a, b;
};

static struct dms_node t_node;
static struct ib_device t_ib;	/* without a dma_device: addresses are the kernel's own */
static struct dms_ibdev t_dev;
static bool t_own;		/* the suite runs before the module's init function */
static bool t_resumes;		/* sessions know DMS_FEATURE_RESUME */

/* One frame, as if it were alone in its packet. */
static int t_frame(struct dms_path *path, const struct dms_frame *f)
{
	struct dms_proto_run run = { .path = path };
	enum dms_rule rule = dms_proto_frame(&run, f);

	dms_proto_end(&run);
	return rule;
}

/* ---- the transport; path->lock is held but in fence ---- */

static void t_log(struct t_end *e, const struct t_pkt *p)
{
	struct dms_pkt_cursor cur;
	struct dms_frame f = {};

	e->packets++;
	if (dms_wire_pkt_parse(p->buf, p->len, &cur))
		return;
	e->empty += !cur.pkt.frames;
	while (dms_wire_pkt_next(&cur, &f))
		e->frames[f.type]++;
}

/* What goes ahead of a packet, as it is now. */
static struct t_write *t_copy_write(const struct dms_write *w)
{
	struct t_write *copy = kmalloc(sizeof(*copy) + w->len, GFP_ATOMIC);
	u32 i, at = 0;

	if (!copy)
		return NULL;
	copy->addr = w->remote_addr;
	copy->rkey = w->rkey;
	copy->len = w->len;
	for (i = 0; i < w->nr_sge; i++) {
		memcpy(copy->buf + at, (void *)(uintptr_t)w->sge[i].addr, w->sge[i].length);
		at += w->sge[i].length;
	}
	return copy;
}

static void t_copy_writes(struct t_pkt *p, const struct dms_txpkt *tx)
{
	const struct dms_write *w;
	struct t_write *copy;

	p->writes = NULL;
	for (w = tx->write; w; w = w->next) {
		copy = t_copy_write(w);
		if (!copy)
			return;
		copy->next = p->writes;
		p->writes = copy;
	}
}

static u8 *t_pool_byte(struct t_end *e, u64 off)
{
	u32 len = 1;

	return dms_pool_addr(e->pool, off, &len);
}

/* A key is of one epoch, and then opens nothing any more. */
static u32 t_rkey(const struct dms_path *path, const struct dms_key *key)
{
	return path->epoch << 8 | (u32)(key - path->keys + 1);
}

static bool t_opens(const struct t_end *e, unsigned long keys, u32 rkey)
{
	return rkey >> 8 == e->path->epoch && keys & BIT(rkey & 0xff);
}

/* They arrive at an end, or nowhere. */
static void t_do_writes(struct t_pkt *p, struct t_end *to)
{
	struct t_write *w;
	u32 i;

	while ((w = p->writes)) {
		p->writes = w->next;
		for (i = 0; to && i < w->len && t_opens(to, to->open, w->rkey); i++)
			*t_pool_byte(to, w->addr + i) = w->buf[i];
		if (to) {
			to->writes++;
			to->stray += !t_opens(to, to->open, w->rkey);
		}
		kfree(w);
	}
}

static int t_op_send(struct dms_path *path, struct dms_txpkt *tx)
{
	struct t_end *e = path->priv;
	struct t_pkt *p;
	u32 i;

	p = e->refuse ? NULL : kmalloc(sizeof(*p) + tx->bytes, GFP_ATOMIC);
	if (!p)
		return -ENOMEM;
	p->tx = tx;
	p->len = 0;
	t_copy_writes(p, tx);
	for (i = 0; i < tx->nr_sge; i++) {
		memcpy(p->buf + p->len, (void *)(uintptr_t)tx->sge[i].addr, tx->sge[i].length);
		p->len += tx->sge[i].length;
	}
	list_add_tail(&p->node, &e->out);
	t_log(e, p);
	if (e->on_send)
		e->on_send(e);
	return 0;
}

static int t_op_read(struct dms_path *path, struct dms_read *rd)
{
	struct t_end *e = path->priv;

	list_add_tail(&rd->node, &e->reads);
	return 0;
}

static int t_op_expose(struct dms_path *path, struct dms_key *key, struct dms_pool *pool,
		       const struct dms_tile *tile, u32 at, u32 len)
{
	struct t_end *e = path->priv;
	struct dms_elem piece = {};

	dms_tile_at(tile, at, &piece);
	key->addr = piece.off;
	key->rkey = t_rkey(path, key);
	if (key->write)
		e->open |= BIT(key->rkey & 0xff);
	else
		e->readable |= BIT(key->rkey & 0xff);
	return 0;
}

static int t_op_revoke(struct dms_path *path, struct dms_key *key)
{
	struct t_end *e = path->priv;

	e->open &= ~BIT(key->rkey & 0xff);
	e->readable &= ~BIT(key->rkey & 0xff);
	e->revoked[e->nr_revoked++] = key;
	return 0;
}

static void t_op_flush(struct dms_path *path, struct dms_landing *l, u32 at, u32 len)
{
}

static int t_op_map(struct dms_path *path, struct dms_pool *pool)
{
	return dms_pool_map(pool, path->ibdev);
}

static void t_answer(struct t_end *e, int status);

static void t_op_fence(struct dms_path *path)
{
	struct t_end *e = path->priv;

	e->keep_left = false;
	e->keep_reads = false;
	e->open = 0;
	e->readable = 0;
	t_answer(e, -ECONNRESET);
}

static void t_op_free(struct dms_path *path)
{
}

static u32 t_more;		/* receives that a path asked for */

static void t_op_grow(struct dms_path *path, u32 n)
{
	t_more += n;
}

static const struct dms_transport_ops t_ops = {
	.name		= "test",
	.send		= t_op_send,
	.read		= t_op_read,
	.expose		= t_op_expose,
	.revoke		= t_op_revoke,
	.flush_landing	= t_op_flush,
	.grow		= t_op_grow,
	.map_pool	= t_op_map,
	.fence		= t_op_fence,
	.free		= t_op_free,
};

static struct t_pkt *t_pop_out(struct t_end *e)
{
	struct t_pkt *p;

	spin_lock(&e->path->lock);
	p = list_first_entry_or_null(&e->out, struct t_pkt, node);
	if (p)
		list_del(&p->node);
	spin_unlock(&e->path->lock);
	return p;
}

/* The sender of a packet hears that it has left, now or by t_answer(). */
static void t_pkt_left(struct t_end *e, struct t_pkt *p)
{
	spin_lock(&e->path->lock);
	list_add_tail(&p->tx->node, &e->left);
	spin_unlock(&e->path->lock);
	t_do_writes(p, NULL);
	kfree(p);
}

static struct dms_txpkt *t_pop_left(struct t_end *e)
{
	struct dms_txpkt *tx;

	spin_lock(&e->path->lock);
	tx = list_first_entry_or_null(&e->left, struct dms_txpkt, node);
	if (tx)
		list_del_init(&tx->node);
	spin_unlock(&e->path->lock);
	return tx;
}

static struct dms_read *t_pop_read(struct t_end *e)
{
	struct dms_read *rd;

	spin_lock(&e->path->lock);
	rd = list_first_entry_or_null(&e->reads, struct dms_read, node);
	if (rd)
		list_del_init(&rd->node);
	spin_unlock(&e->path->lock);
	return rd;
}

static struct dms_key *t_pop_revoked(struct t_end *e)
{
	struct dms_key *key = NULL;

	spin_lock(&e->path->lock);
	if (e->nr_revoked)
		key = e->revoked[--e->nr_revoked];
	spin_unlock(&e->path->lock);
	return key;
}

/* A READ has succeeded; of a tile more is copied than is looked at. */
static void t_copy_read(struct t_end *e, const struct dms_read *rd)
{
	u64 from = rd->remote_addr;
	u32 i, at;

	e->landed += rd->len;
	e->peer->stray += !t_opens(e->peer, e->peer->readable, rd->rkey);
	for (i = 0; i < rd->nr_sge && from + rd->sge[i].length <= T_POOL; i++)
		for (at = 0; at < rd->sge[i].length; at++)
			((u8 *)(uintptr_t)rd->sge[i].addr)[at] = *t_pool_byte(e->peer, from++);
}

static void t_read_done(struct t_end *e, struct dms_read *rd, int status)
{
	if (!status)
		t_copy_read(e, rd);
	dms_path_read_done(rd, status);
}

/* Answers what was asked; with an error also what is on its way. */
static void t_answer(struct t_end *e, int status)
{
	struct dms_txpkt *tx;
	struct dms_read *rd;
	struct dms_key *key;
	struct t_pkt *p;

	while (status && (p = t_pop_out(e)))
		t_pkt_left(e, p);
	while (!e->keep_left && (tx = t_pop_left(e)))
		dms_path_send_done(tx, status);
	while (!e->keep_reads && (rd = t_pop_read(e)))
		t_read_done(e, rd, status);
	while ((key = t_pop_revoked(e)))
		dms_path_revoke_done(key, status);
}

/* ---- what a test does with packets ---- */

static void t_works(void)
{
	int i;

	for (i = 0; i < T_ROUNDS; i++)
		flush_workqueue(dms_wq);
}

/* A packet arrives; the transport does what it is told to. */
static enum dms_rx_next t_arrives(struct dms_path *path, const void *buf, u32 len)
{
	enum dms_rx_next next = dms_path_rx(path, buf, len);

	if (next == DMS_RX_POST)
		dms_path_reposted(path, 1);
	else if (next == DMS_RX_FREE)
		dms_path_freed(path, 1);
	return next;
}

/* What is on its way arrives, or is lost (@to NULL); how many packets. */
static u32 t_carry(struct t_end *from, struct t_end *to)
{
	struct t_pkt *p;
	u32 n = 0;

	while ((p = t_pop_out(from))) {
		n++;
		t_do_writes(p, to);
		if (to)
			t_arrives(to->path, p->buf, p->len);
		t_pkt_left(from, p);
	}
	t_answer(from, 0);
	t_works();
	return n;
}

/* Until nobody has anything more to say; what is answered in one round may speak in the next. */
static void t_settle(struct t_pair *p)
{
	u32 idle = 0;

	t_works();
	while (idle < 2) {
		if (t_carry(&p->a, &p->b) + t_carry(&p->b, &p->a))
			idle = 0;
		else
			idle++;
	}
}

/* The path has no packet to send, as if all were in the queue pair. */
static void t_grab(struct t_end *e)
{
	spin_lock(&e->path->lock);
	list_splice_init(&e->path->tx_free, &e->grabbed);
	spin_unlock(&e->path->lock);
}

static void t_ungrab(struct t_end *e)
{
	spin_lock(&e->path->lock);
	list_splice_init(&e->grabbed, &e->path->tx_free);
	spin_unlock(&e->path->lock);
	dms_path_kick(e->path);
	t_works();
}

/* ---- what the process of an end does ---- */

static void t_push(struct kunit *test, struct t_end *e, const struct dmastream_sqe *sqe)
{
	struct dmastream_ring_shared *sh = e->ring->mem;
	struct dmastream_sqe *sqes = e->ring->mem + e->ring->sqes_off;

	sqes[sh->sq_tail & (e->ring->sq_entries - 1)] = *sqe;
	/* release: with the acquire load of the tail in dms_ring_submit() */
	smp_store_release(&sh->sq_tail, sh->sq_tail + 1);
	KUNIT_EXPECT_EQ(test, dms_ring_submit(e->ring, 1), 1);
}

static void t_op(struct kunit *test, struct t_end *e, u8 op, u32 len, u64 name)
{
	struct dmastream_sqe sqe = {
		.op = op, .stream = e->stream->handle, .user_data = name,
		.pool = e->pool_handle, .len = len,
		/* each name has a place of its own in the pool */
		.off = name * T_PLACE,
	};

	t_push(test, e, &sqe);
}

static void t_send(struct kunit *test, struct t_end *e, u32 len, u64 name)
{
	t_op(test, e, DMASTREAM_OP_SEND, len, name);
}

static void t_recv(struct kunit *test, struct t_end *e, u32 len, u64 name)
{
	t_op(test, e, DMASTREAM_OP_RECV, len, name);
}

/* CLOSE that does not wait; @name is of its completion.  The handle is gone. */
static void t_close(struct kunit *test, struct t_end *e, u32 flags, u64 name)
{
	struct dmastream_close arg = {
		.flags = flags | DMASTREAM_CLOSE_ASYNC, .user_data = name,
		.timeout_ms = DMASTREAM_TIMEOUT_NONE,
	};
	struct dms_stream *s = dms_ctx_del_stream(e->ctx, e->stream->handle);

	KUNIT_ASSERT_PTR_EQ(test, s, e->stream);
	KUNIT_EXPECT_EQ(test, dms_stream_close(s, &arg), 0);
}

static void t_reap(struct t_end *e)
{
	struct dmastream_ring_shared *sh = e->ring->mem;
	struct dmastream_cqe *cqes = e->ring->mem + e->ring->cqes_off;

	/* acquire: with the release store of the tail in ring_write() */
	while (sh->cq_head != smp_load_acquire(&sh->cq_tail)) {
		struct dmastream_cqe *cqe = &cqes[sh->cq_head & (e->ring->cq_entries - 1)];

		if (cqe->user_data < T_NAMES && !(cqe->flags & DMASTREAM_CQE_MORE)) {
			e->result[cqe->user_data] = cqe->result;
			e->done[cqe->user_data]++;
			if (cqe->flags & DMASTREAM_CQE_EOS)
				e->eos |= BIT_ULL(cqe->user_data);
		}
		/* release: with the acquire load of the head in ring_occupied_at() */
		smp_store_release(&sh->cq_head, sh->cq_head + 1);
	}
}

static bool t_done(struct t_end *e, u64 name)
{
	t_reap(e);
	return e->done[name];
}

/* A completion that a clock leads to. */
static bool __maybe_unused t_done_in_time(struct t_end *e, u64 name)
{
	unsigned long end = jiffies + msecs_to_jiffies(T_WAIT_MS);

	while (!t_done(e, name) && time_before(jiffies, end))
		msleep(20);
	return t_done(e, name);
}

#define t_expect_result(test, e, name, want)				\
	do {								\
		KUNIT_EXPECT_TRUE(test, t_done(e, name));		\
		KUNIT_EXPECT_EQ(test, (e)->done[name], 1U);		\
		KUNIT_EXPECT_EQ(test, (e)->result[name], want);		\
	} while (0)

static void t_expect_alive(struct kunit *test, struct t_end *e)
{
	if (e->path->err_class)
		KUNIT_FAIL(test, "the path ended: class %u detail %u",
			   e->path->err_class, e->path->err_detail);
}

/* ---- ends and pairs ---- */

/* As session_kill_work(), without a socket: the path's end is the session's. */
static void t_session_kill_work(struct work_struct *work)
{
	struct dms_session *s = container_of(work, struct dms_session, kill_work);
	struct dms_path *path;

	mutex_lock(&s->lock);
	path = s->path[0];
	if (path)
		dms_path_get(path);
	mutex_unlock(&s->lock);
	if (path) {
		dms_path_kill(path, s->kill_class, s->kill_detail);
		dms_path_put(path);
	}
	dms_session_put(s);		/* of session_queue_kill() */
}

static void t_no_work(struct work_struct *work)
{
}

static void t_session_new(struct kunit *test, struct t_end *e)
{
	struct dms_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	kref_init(&s->ref);		/* put in t_end_end() */
	s->node = &t_node;
	INIT_LIST_HEAD(&s->node_link);
	mutex_init(&s->lock);
	INIT_LIST_HEAD(&s->waiting);
	xa_init_flags(&s->streams, XA_FLAGS_ALLOC1);
	INIT_WORK(&s->kill_work, t_session_kill_work);
	/* there is nobody to say PATH to, and no clock */
	INIT_WORK(&s->sock_work, t_no_work);
	INIT_DELAYED_WORK(&s->tick_work, t_no_work);
	s->resumes = t_resumes;
	s->state = DMS_SESSION_UP;
	s->remote.ss_family = AF_INET;
	s->nr_paths = 1;
	s->epoch = 1;
	dms_gauge_inc(DMS_GAUGE_SESSIONS);
	e->session = s;
}

/* What a path has for its carrier; CONNECTING afterwards. */
static void t_carrier_new(struct kunit *test, struct dms_path *path)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, dms_path_alloc(path), 0);
	for (i = 0; i < path->nr_txpkts; i++)
		path->txpkts[i].buf_dma = (uintptr_t)path->txpkts[i].buf;
	KUNIT_ASSERT_TRUE(test, dms_path_move(path, DMS_PATH_INIT, DMS_PATH_RESOLVING));
	KUNIT_ASSERT_TRUE(test, dms_path_move(path, DMS_PATH_RESOLVING, DMS_PATH_CONNECTING));
}

static void t_path_new(struct kunit *test, struct t_end *e, u32 keys)
{
	struct dms_path *path = dms_path_create(e->session, &t_ops, DMS_LANE_BULK, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(path));
	path->priv = e;
	path->ibdev = &t_dev;
	path->slots = T_SLOTS;
	path->my_slots = T_SLOTS;
	path->my_slots_max = T_SLOTS;
	path->nr_txpkts = T_SLOTS;
	path->slot_bytes = T_SLOT_BYTES;
	path->eager_max = T_EAGER;
	path->reads_max = T_READS;
	path->keys_max = keys;
	path->seg_pages = T_SEG_PAGES;
	path->pushes = true;
	path->nr_writes = T_WRITES;
	e->path = path;
	t_carrier_new(test, path);
	dms_path_up(path);
}

static u32 t_publish(struct kunit *test, struct dms_ctx *ctx, enum dms_kind kind, void *obj)
{
	u32 handle = 0;

	KUNIT_ASSERT_EQ(test, dms_ctx_reserve(ctx, kind, &handle), 0);
	KUNIT_ASSERT_EQ(test, dms_ctx_publish(ctx, kind, handle, obj), 0);
	return handle;
}

/* A context of init_net without its node, which may not be there yet. */
static void t_ctx_new(struct kunit *test, struct t_end *e)
{
	struct dmastream_ring_create arg = {
		.sq_entries = 64, .cq_entries = 128, .cq_recv_min = 8, .indirect_bytes = 4096,
	};
	struct dms_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	kref_init(&ctx->ref);		/* put in dms_ctx_shutdown() */
	ctx->node = &t_node;
	ctx->net = get_net(&init_net);
	ctx->uid = GLOBAL_ROOT_UID;
	spin_lock_init(&ctx->handles_lock);
	for (i = 0; i < DMS_KINDS; i++)
		xa_init_flags(&ctx->table[i], XA_FLAGS_ALLOC1);
	spin_lock_init(&ctx->starved_lock);
	INIT_LIST_HEAD(&ctx->starved);
	mutex_init(&ctx->poller_lock);
	dms_node_ctx_get(&t_node);
	dms_gauge_inc(DMS_GAUGE_CONTEXTS);
	e->ctx = ctx;

	e->pool = dms_pool_create(T_POOL, NUMA_NO_NODE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->pool));
	atomic_inc(&e->pool->attachments);
	e->pool_handle = t_publish(test, ctx, DMS_POOLS, e->pool);
	e->ring = dms_ring_create(ctx, &arg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->ring));
	dms_ring_get(e->ring);		/* ours; the table has the first */
	e->ring->handle = t_publish(test, ctx, DMS_RINGS, e->ring);
}

/* Bound to the path, and the process's; in no particular state. */
static struct dms_stream *t_stream_new(struct kunit *test, struct t_end *e)
{
	struct dms_stream_cfg cfg = { .flags = DMASTREAM_STREAM_POSTED, .ring = e->ring };
	struct dms_stream *s = dms_stream_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, dms_session_bind_on(e->session, s, e->path), 0);
	KUNIT_ASSERT_EQ(test, dms_stream_attach(s, e->ctx, &cfg), 0);
	dms_stream_get(s);		/* the handle's */
	KUNIT_ASSERT_EQ(test, dms_ctx_add_stream(e->ctx, s, &s->handle), 0);
	return s;
}

/* As after CONNECTED and ACCEPT, whoever connected. */
static void t_stream_open(struct dms_stream *s, u32 peer_sid)
{
	spin_lock(&s->lock);
	s->peer_sid = peer_sid;
	s->state = DMS_STREAM_OPEN;
	s->open_done = true;
	dms_tx_peer(s, DMS_FF_POSTED | DMS_FF_NOLARGE, 0);
	spin_unlock(&s->lock);
}

static void t_end_begin(struct kunit *test, struct t_end *e, u32 keys)
{
	memset(e, 0, sizeof(*e));
	INIT_LIST_HEAD(&e->out);
	INIT_LIST_HEAD(&e->left);
	INIT_LIST_HEAD(&e->reads);
	INIT_LIST_HEAD(&e->grabbed);
	t_session_new(test, e);
	t_path_new(test, e, keys);
	t_ctx_new(test, e);
	e->stream = t_stream_new(test, e);
}

static void t_pair_new(struct kunit *test, struct t_pair *p, u32 keys)
{
	t_end_begin(test, &p->a, keys);
	t_end_begin(test, &p->b, keys);
	p->a.peer = &p->b;
	p->b.peer = &p->a;
	t_stream_open(p->a.stream, p->b.stream->sid);
	t_stream_open(p->b.stream, p->a.stream->sid);
}

/* As it is set, while a pair that pushes is there: no clock takes anything back then. */
static unsigned int t_idle_ms;
static bool t_idle_off;

/* b has asked for direct push. */
static void t_pair_push(struct kunit *test, struct t_pair *p)
{
	struct dms_stream *a, *b;

	t_idle_ms = dms_param_grant_idle_ms;
	t_idle_off = true;
	dms_param_grant_idle_ms = 0;
	t_pair_new(test, p, T_KEYS_MAX);
	a = p->a.stream;
	b = p->b.stream;
	p->a.path->seg_pages = 8;
	p->b.path->seg_pages = 8;
	b->flags |= DMASTREAM_STREAM_PUSH;
	a->push = dms_push_alloc(a, GFP_KERNEL);
	b->push = dms_push_alloc(b, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, a->push && b->push);
	a->peer_pushes = true;
}

/* So many RECVs, of names 1 and up, and they are granted. */
static void t_granted(struct kunit *test, struct t_pair *p, u32 n)
{
	u32 i, before = p->b.frames[DMS_F_GRANT];

	for (i = 1; i <= n; i++)
		t_recv(test, &p->b, T_CAP, i);
	t_settle(p);
	KUNIT_EXPECT_EQ(test, p->b.frames[DMS_F_GRANT] - before, n);
	KUNIT_EXPECT_EQ(test, dms_grants_rx_count(&p->b.stream->push->rx, DMS_GRANT_OUT), n);
}

/* b's process takes its grants back, in the first of the two phases. */
static void t_take_back(struct t_pair *p)
{
	spin_lock(&p->b.stream->lock);
	dms_push_revoke(p->b.stream);
	spin_unlock(&p->b.stream->lock);
	dms_stream_kick(p->b.stream);
	t_works();
}

static void t_end_end(struct kunit *test, struct t_end *e)
{
	e->on_send = NULL;
	dms_path_kill(e->path, DMASTREAM_ERR_LOCAL, 0);
	t_works();
	flush_work(&e->path->kill_work);
	t_ungrab(e);
	dms_ctx_shutdown(e->ctx);
	t_works();
	/* whatever the case was about, nothing of the stream is left over */
	KUNIT_EXPECT_EQ(test, e->stream->state, DMS_STREAM_DEAD);
	KUNIT_EXPECT_EQ(test, e->stream->tx_queued, 0U);
	dms_stream_put(e->stream);
	dms_ring_put(e->ring);
	dms_path_put(e->path);
	t_works();
	cancel_work_sync(&e->session->sock_work);
	cancel_delayed_work_sync(&e->session->tick_work);
	dms_session_put(e->session);
}

static void t_pair_free(struct kunit *test, struct t_pair *p)
{
	t_end_end(test, &p->a);
	t_end_end(test, &p->b);
	if (t_idle_off)
		dms_param_grant_idle_ms = t_idle_ms;
	t_idle_off = false;
}

/* ---- the suite's own ---- */

static void t_dev_begin(void)
{
	kref_init(&t_dev.ref);		/* never put: it is static */
	t_dev.dev = &t_ib;
	t_dev.index = DMS_IBDEVS_MAX - 1;
	t_dev.max_send_sge = 32;
	t_dev.max_read_sge = 32;
	mutex_init(&t_dev.maps_lock);
	INIT_LIST_HEAD(&t_dev.maps);
	dms_incast_init(&t_dev, 64 << 20);
	dms_recv_init(&t_dev);
}

static int t_suite_init(struct kunit_suite *suite)
{
	t_own = !dms_wq;
	if (t_own)
		dms_wq = alloc_workqueue("dms_test", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!dms_wq || (t_own && dms_stream_init()))
		return -ENOMEM;
	t_dev_begin();
	t_node.net = &init_net;
	mutex_init(&t_node.lock);
	INIT_LIST_HEAD(&t_node.sessions);
	INIT_LIST_HEAD(&t_node.services);
	dms_node_ctx_get(&t_node);	/* one more than the tests have: none is the last */
	return 0;
}

static void t_suite_exit(struct kunit_suite *suite)
{
	if (!dms_wq)
		return;
	/* as dms_exit() does: things go in stages */
	flush_workqueue(dms_wq);
	rcu_barrier();
	flush_workqueue(dms_wq);
	rcu_barrier();
	if (!t_own)
		return;
	dms_stream_exit();
	destroy_workqueue(dms_wq);
	dms_wq = NULL;
}

#endif /* DMS_STREAM_BED_H */
