/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the verbs transport stand on: its sources, built a second
 * time with other upcalls; ends and pairs of them; traffic.  Included once, by
 * dms_rdma_test.c.
 */
#ifndef DMS_RDMA_BED_H
#define DMS_RDMA_BED_H

/* upcalls */
#define dms_path_rx		dms_t_path_rx
#define dms_path_reposted	dms_t_path_reposted
#define dms_path_freed		dms_t_path_freed
#define dms_path_grown		dms_t_path_grown
#define dms_path_send_done	dms_t_path_send_done
#define dms_path_read_done	dms_t_path_read_done
#define dms_path_revoke_done	dms_t_path_revoke_done
#define dms_path_up		dms_t_path_up
#define dms_path_create		dms_t_path_create
#define dms_session_by_cookie	dms_t_session_by_cookie
#define dms_session_next_carrier dms_t_session_next_carrier
#define dms_session_put		dms_t_session_put
#define dms_session_kill	dms_t_session_kill
/* what the sources define */
#define dms_rdma_ops		dms_t_rdma_ops
#define dms_rdma_wq		dms_t_rdma_wq
#define dms_rdma_create		dms_t_rdma_create
#define dms_rdma_put		dms_t_rdma_put
#define dms_rdma_setup		dms_t_rdma_setup
#define dms_rdma_up		dms_t_rdma_up
#define dms_rdma_ready		dms_t_rdma_ready
#define dms_rdma_post		dms_t_rdma_post
#define dms_rdma_wc_error	dms_t_rdma_wc_error
#define dms_rdma_idle_done	dms_t_rdma_idle_done
#define dms_rdma_post_recv	dms_t_rdma_post_recv
#define dms_rdma_add_recv	dms_t_rdma_add_recv
#define dms_rdma_free_recv	dms_t_rdma_free_recv
#define dms_rdma_pop_idle	dms_t_rdma_pop_idle
#define dms_rdma_push_idle	dms_t_rdma_push_idle
#define dms_rdma_more_work	dms_t_rdma_more_work
#define dms_rdma_grow		dms_t_rdma_grow
#define dms_rdma_fail_post	dms_t_rdma_fail_post
#define dms_rdma_post_fails	dms_t_rdma_post_fails
#define dms_mr_init		dms_t_mr_init
#define dms_mr_make		dms_t_mr_make
#define dms_mr_destroy		dms_t_mr_destroy
#define dms_mr_answer		dms_t_mr_answer
#define dms_mr_expose		dms_t_mr_expose
#define dms_mr_revoke		dms_t_mr_revoke
#define dms_cm_room_work	dms_t_cm_room_work
#define dms_cm_ack_ms		dms_t_cm_ack_ms
#define dms_cm_listen		dms_t_cm_listen
#define dms_cm_unlisten		dms_t_cm_unlisten
#define dms_cm_flush		dms_t_cm_flush
#define dms_cm_dial		dms_t_cm_dial
#define dms_cm_init		dms_t_cm_init
#define dms_cm_exit		dms_t_cm_exit

#include <linux/module.h>
#include <linux/sched.h>
#include <rdma/rdma_cm.h>

/* Seconds that the last case streams and waits for the removal of the device; 0: it does not. */
static unsigned int dms_test_linger;
module_param(dms_test_linger, uint, 0444);

/*
 * No case needs a retry, and rxe does not stand one: a READ that is asked for
 * again when its key is revoked already costs the responder its queue pair.
 * Sanitizers on a busy machine make a second of silence out of nothing.
 */
static unsigned int dms_test_ack_timeout = 22;		/* 17 s */
module_param(dms_test_ack_timeout, uint, 0444);

/* the parameters belong to the real objects; here they have their defaults */
#undef module_param_named
#define module_param_named(...)
#undef MODULE_PARM_DESC
#define MODULE_PARM_DESC(...)

struct dms_rdma;
static int t_setup(struct dms_rdma *tp, unsigned int reads_max);

/*
 * No allocation fails in here: what rxe of 6.1 then takes apart has timers that
 * it had not set up yet, and debugobjects says so.
 */
static int t_create_qp(struct rdma_cm_id *id, struct ib_pd *pd, struct ib_qp_init_attr *attr)
{
#ifdef CONFIG_FAILSLAB
	unsigned int nth = READ_ONCE(current->fail_nth);
	int ret;

	WRITE_ONCE(current->fail_nth, 0);
	ret = rdma_create_qp(id, pd, attr);
	WRITE_ONCE(current->fail_nth, nth);
	return ret;
#else
	return rdma_create_qp(id, pd, attr);
#endif
}

static int t_set_ack_timeout(struct rdma_cm_id *id, u8 timeout)
{
	return rdma_set_ack_timeout(id, dms_test_ack_timeout);
}

#define rdma_create_qp		t_create_qp
#define rdma_set_ack_timeout	t_set_ack_timeout

#include "../../kmod/transport_rdma.c"
#include "../../kmod/rdma_recv.c"
#include "../../kmod/mr.c"
/* cm.c makes queue pairs by way of the tests, see t_setup() */
#undef dms_rdma_setup
#define dms_rdma_setup		t_setup
#include "../../kmod/cm.c"

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "core/core.h"
#include "stream.h"
#include "wq.h"

#define T_PORT		17477
#define T_SLOTS		64
#define T_SLOT_BYTES	8192
#define T_POOL		(4UL << 20)
/* Only who hangs should meet it: on a busy host a guest's worker once came after a minute. */
#define T_WAIT		(240 * HZ)

/* One end of a pair. */
struct t_end {
	struct dms_path		path;
	struct dms_session	session;
	struct completion	up, fenced;
	wait_queue_head_t	wq;
	bool			used;
	atomic_t		rx, bad_rx, reposted;
	atomic_t		to_free, freed, grown;	/* receives that are not posted again */
	/* posted, answered with 0, answered with an error */
	atomic_t		sends, sent, unsent;
	u32			every;	/* one of so many sends asks for a completion; 0: each */
	u32			quiet;	/* sends since; path.lock */
	atomic_t		reads, read, unread;
	atomic_t		revokes, revoked, unrevoked;
	/* of the latter: answered while the region could still be open */
	atomic_t		early;
};

/* A work request that goes round the transport. */
struct t_raw {
	struct ib_cqe		cqe;
	struct completion	done;
	enum ib_wc_status	status;
};

static struct dms_node t_node;
static struct t_end *t_acceptor;	/* whom the next connection request finds */
static atomic_t t_session_kills;
static bool t_own;			/* the suite runs before the module's init function */
static struct dms_ibdev *t_ibdev;
static struct sockaddr_storage t_addr;
static struct dms_pool *t_pool[2];

static struct t_end *t_of(struct dms_path *path)
{
	return container_of(path, struct t_end, path);
}

/* ---- upcalls ---- */

/* A packet of the tests is its length in bytes, and then that in every byte. */
enum dms_rx_next dms_path_rx(struct dms_path *path, const void *buf, u32 len)
{
	struct t_end *e = t_of(path);
	const u8 *p = buf;

	if (len < 4 || dms_get_le32(p) != len ||
	    (len > 4 && memchr_inv(p + 4, (u8)len, len - 4)))
		atomic_inc(&e->bad_rx);
	atomic_inc(&e->rx);
	return atomic_dec_if_positive(&e->to_free) >= 0 ? DMS_RX_FREE : DMS_RX_POST;
}

void dms_path_freed(struct dms_path *path, u32 n)
{
	atomic_add(n, &t_of(path)->freed);
	wake_up_all(&t_of(path)->wq);
}

void dms_path_grown(struct dms_path *path, u32 n)
{
	atomic_add(n, &t_of(path)->grown);
	wake_up_all(&t_of(path)->wq);
}

void dms_path_reposted(struct dms_path *path, u32 n)
{
	atomic_add(n, &t_of(path)->reposted);
	wake_up_all(&t_of(path)->wq);
}

void dms_path_send_done(struct dms_txpkt *pkt, int status)
{
	struct t_end *e = t_of(pkt->path);
	struct list_head *quiet;
	int n = 1;

	spin_lock(&e->path.lock);
	list_for_each(quiet, &pkt->before)
		n++;
	list_splice_tail_init(&pkt->before, &e->path.tx_free);
	list_add_tail(&pkt->node, &e->path.tx_free);
	spin_unlock(&e->path.lock);
	atomic_add(n, status ? &e->unsent : &e->sent);
	wake_up_all(&e->wq);
}

void dms_path_read_done(struct dms_read *rd, int status)
{
	struct t_end *e = t_of(rd->path);

	spin_lock(&e->path.lock);
	list_add_tail(&rd->node, &e->path.reads_free);
	spin_unlock(&e->path.lock);
	atomic_inc(status ? &e->unread : &e->read);
	wake_up_all(&e->wq);
}

void dms_path_revoke_done(struct dms_key *key, int status)
{
	struct t_end *e = t_of(key->path);

	spin_lock(&e->path.lock);
	list_add_tail(&key->node, &e->path.keys_free);
	spin_unlock(&e->path.lock);
	if (status && key->mr)
		atomic_inc(&e->early);
	atomic_inc(status ? &e->unrevoked : &e->revoked);
	wake_up_all(&e->wq);
}

void dms_path_up(struct dms_path *path)
{
	if (dms_path_move(path, DMS_PATH_CONNECTING, DMS_PATH_UP))
		complete_all(&t_of(path)->up);
	wake_up_all(&t_of(path)->wq);
}

struct dms_path *dms_path_create(struct dms_session *session,
				 const struct dms_transport_ops *ops, u8 lane, u8 index)
{
	struct t_end *e = container_of(session, struct t_end, session);

	if (e->used)
		return ERR_PTR(-EBUSY);
	e->used = true;
	dms_path_get(&e->path);
	return &e->path;
}

struct dms_session *dms_session_by_cookie(struct dms_node *node, const struct dms_cm *cm)
{
	struct t_end *e = READ_ONCE(t_acceptor);

	if (!e || memcmp(cm->cookie, e->session.mine.cookie, DMS_WIRE_NONCE))
		return NULL;
	return &e->session;
}

/* Of the suite's paths none has another carrier. */
struct dms_path *dms_session_next_carrier(struct dms_session *s, const struct dms_cm *cm)
{
	return NULL;
}

void dms_session_put(struct dms_session *s)
{
}

void dms_session_kill(struct dms_session *s, u32 err_class, u32 err_detail)
{
	struct t_end *e = container_of(s, struct t_end, session);

	atomic_inc(&t_session_kills);
	dms_path_kill(&e->path, err_class, err_detail);
}

static void t_kill_work(struct work_struct *work)
{
	struct t_end *e = container_of(work, struct t_end, path.kill_work);

	spin_lock(&e->path.lock);
	e->path.state = DMS_PATH_DYING;
	spin_unlock(&e->path.lock);
	dms_rdma_ops.fence(&e->path);
	/* removal of the device waits for that; else t_end_free() does it */
	if (READ_ONCE(t_ibdev->going))
		dms_rdma_ops.free(&e->path);
	spin_lock(&e->path.lock);
	e->path.state = DMS_PATH_FENCED;
	spin_unlock(&e->path.lock);
	complete_all(&e->fenced);
	wake_up_all(&e->wq);
}

/*
 * With t_fail_nth set, the n-th allocation of the next dms_rdma_setup() of that
 * side fails, in whatever thread it runs.  t_fail_left tells afterwards what is
 * left of n: there were fewer allocations.
 */
static int t_fail_nth, t_fail_left;
static bool t_fail_passive;

static int t_setup(struct dms_rdma *tp, u32 reads_max)
{
	int ret;

#ifdef CONFIG_FAILSLAB
	if (t_fail_nth && tp->passive == t_fail_passive) {
		WRITE_ONCE(current->fail_nth, t_fail_nth);
		ret = dms_t_rdma_setup(tp, reads_max);
		t_fail_left = READ_ONCE(current->fail_nth);
		WRITE_ONCE(current->fail_nth, 0);
		return ret;
	}
#endif
	ret = dms_t_rdma_setup(tp, reads_max);
	return ret;
}

/* ---- ends and pairs ---- */

static struct t_end *t_end_new(struct kunit *test, u8 cookie)
{
	struct t_end *e = kzalloc(sizeof(*e), GFP_KERNEL);
	struct dms_path *path;
	struct dms_session *s;

	KUNIT_ASSERT_NOT_NULL(test, e);
	init_completion(&e->up);
	init_completion(&e->fenced);
	init_waitqueue_head(&e->wq);
	path = &e->path;
	kref_init(&path->ref);		/* for ever: it is embedded */
	path->taken = true;		/* as dms_path_create() does */
	spin_lock_init(&path->lock);
	INIT_LIST_HEAD(&path->tx_free);
	INIT_LIST_HEAD(&path->reads_free);
	INIT_LIST_HEAD(&path->keys_free);
	spin_lock_init(&path->pulls_lock);
	INIT_LIST_HEAD(&path->pulls_free);
	INIT_WORK(&path->kill_work, t_kill_work);
	path->ops = &dms_rdma_ops;
	path->session = &e->session;
	path->state = DMS_PATH_INIT;

	s = &e->session;
	s->node = &t_node;
	s->version = DMS_WIRE_VERSION_MAX;
	s->eager_max = T_SLOT_BYTES;
	s->slot_bytes = T_SLOT_BYTES;
	s->mine.slots = T_SLOTS;
	s->theirs.slots = T_SLOTS;
	s->theirs.reads = 200;
	memset(s->mine.session, 0x5e, DMS_WIRE_NONCE);
	memset(s->mine.cookie, cookie, DMS_WIRE_NONCE);
	memset(s->theirs.cookie, cookie, DMS_WIRE_NONCE);
	return e;
}

/* Answers that came, per what was posted: each exactly once. */
static void t_expect_answered(struct kunit *test, struct t_end *e)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&e->sends),
			atomic_read(&e->sent) + atomic_read(&e->unsent));
	KUNIT_EXPECT_EQ(test, atomic_read(&e->reads),
			atomic_read(&e->read) + atomic_read(&e->unread));
	KUNIT_EXPECT_EQ(test, atomic_read(&e->revokes),
			atomic_read(&e->revoked) + atomic_read(&e->unrevoked));
	KUNIT_EXPECT_EQ(test, atomic_read(&e->early), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->bad_rx), 0);
}

/* What the NIC counted: retries and duplicates say that time was what was missing. */
static void t_say_counters(struct kunit *test)
{
	struct ib_device *dev = t_ibdev->dev;
	struct rdma_hw_stats *stats;
	int i;

	if (!dev->ops.alloc_hw_port_stats || !dev->ops.get_hw_stats)
		return;
	stats = dev->ops.alloc_hw_port_stats(dev, 1);
	if (!stats)
		return;
	dev->ops.get_hw_stats(dev, stats, 1, stats->num_counters);
	for (i = 0; i < stats->num_counters; i++)
		if (stats->value[i])
			kunit_info(test, "%s %llu\n", stats->descs[i].name, stats->value[i]);
	rdma_free_hw_stats_struct(stats);
}

static void t_expect_alive(struct kunit *test, struct t_end *e)
{
	if (!e->path.err_class)
		return;
	KUNIT_FAIL(test, "the path ended: class %u detail %u",
		   e->path.err_class, e->path.err_detail);
	t_say_counters(test);
}

static void t_expect_fenced(struct kunit *test, struct t_end *e)
{
	if (wait_for_completion_timeout(&e->fenced, T_WAIT))
		t_expect_answered(test, e);
	else
		KUNIT_FAIL(test, "the fence does not end");
}

/* Fences, if that was not done, and frees. */
static void t_end_free(struct kunit *test, struct t_end *e)
{
	struct dms_path *path = &e->path;

	dms_path_kill(path, DMASTREAM_ERR_LOCAL, 0);
	t_expect_fenced(test, e);
	if (!completion_done(&e->fenced))
		return;		/* leaked, the test has failed */
	flush_work(&path->kill_work);
	dms_cm_flush();
	dms_rdma_ops.free(path);
	dms_path_free(path);
	kfree(e);
}

struct t_pair {
	struct t_end	*a;	/* dials */
	struct t_end	*b;
};

static int t_dial(struct t_end *e, u16 port)
{
	struct sockaddr_storage to = t_addr;

	((struct sockaddr_in *)&to)->sin_port = htons(port);
	return dms_cm_dial(&e->path, &t_addr, &to);
}

static void t_pair_dial(struct kunit *test, struct t_pair *p)
{
	u8 cookie = get_random_u32() | 1;

	p->a = t_end_new(test, cookie);
	p->b = t_end_new(test, cookie);
	WRITE_ONCE(t_acceptor, p->b);
	KUNIT_EXPECT_EQ(test, t_dial(p->a, T_PORT), 0);
}

static bool t_pair_up(struct kunit *test, struct t_pair *p)
{
	bool ok = wait_for_completion_timeout(&p->a->up, T_WAIT) &&
		  wait_for_completion_timeout(&p->b->up, T_WAIT);

	if (!ok)
		KUNIT_FAIL(test, "a pair does not come up: class %u detail %u, class %u detail %u",
			   p->a->path.err_class, p->a->path.err_detail,
			   p->b->path.err_class, p->b->path.err_detail);
	return ok;
}

static bool t_pair_new(struct kunit *test, struct t_pair *p)
{
	t_pair_dial(test, p);
	return t_pair_up(test, p);
}

static void t_pair_free(struct kunit *test, struct t_pair *p)
{
	WRITE_ONCE(t_acceptor, NULL);
	dms_cm_flush();
	t_end_free(test, p->a);
	t_end_free(test, p->b);
}

/* ---- traffic ---- */

/* 0, -EAGAIN: no packet or no credit (the tests count what the other end posted again) */
static int t_send(struct t_end *e, struct t_end *to, u32 len)
{
	struct dms_path *path = &e->path;
	struct dms_txpkt *pkt;
	int ret = -EAGAIN;

	spin_lock(&path->lock);
	pkt = list_first_entry_or_null(&path->tx_free, struct dms_txpkt, node);
	if (pkt && atomic_read(&e->sends) - atomic_read(&to->reposted) < T_SLOTS) {
		dms_put_le32(pkt->buf, len);
		memset(pkt->buf + 4, (u8)len, len - 4);
		pkt->sge[0].addr = pkt->buf_dma;
		pkt->sge[0].length = len / 2;
		pkt->sge[1].addr = pkt->buf_dma + len / 2;
		pkt->sge[1].length = len - len / 2;
		pkt->nr_sge = 2;
		pkt->signal = ++e->quiet >= e->every;
		if (pkt->signal)
			e->quiet = 0;
		list_del_init(&pkt->node);
		atomic_inc(&e->sends);
		ret = dms_rdma_ops.send(path, pkt);
		if (ret) {
			list_add(&pkt->node, &path->tx_free);
			atomic_dec(&e->sends);
		}
	}
	spin_unlock(&path->lock);
	return ret;
}

static struct dms_key *t_expose_tile(struct t_end *e, const struct dms_tile *tile, u32 at,
				     u32 len)
{
	struct dms_key *key;

	spin_lock(&e->path.lock);
	key = list_first_entry_or_null(&e->path.keys_free, struct dms_key, node);
	if (key && dms_rdma_ops.expose(&e->path, key, t_pool[1], tile, at, len))
		key = NULL;
	if (key)
		list_del_init(&key->node);
	spin_unlock(&e->path.lock);
	return key;
}

static struct dms_key *t_expose(struct t_end *e, u64 off, u32 len)
{
	struct dms_tile range = dms_tile_range(off, len);

	return t_expose_tile(e, &range, 0, len);
}

/* For WRITE, as a landing is granted. */
static struct dms_key *t_grant(struct t_end *e, u64 off, u32 len)
{
	u32 i;

	for (i = 0; i < e->path.keys_max; i++)
		e->path.keys[i].write = true;
	return t_expose(e, off, len);
}

static int t_revoke(struct t_end *e, struct dms_key *key)
{
	int ret;

	spin_lock(&e->path.lock);
	atomic_inc(&e->revokes);
	ret = dms_rdma_ops.revoke(&e->path, key);
	if (ret)
		atomic_dec(&e->revokes);
	spin_unlock(&e->path.lock);
	return ret;
}

/* Into pool 0 at @to */
static int t_read(struct t_end *e, u64 addr, u32 rkey, u64 to, u32 len)
{
	struct dms_read *rd;
	int ret = -EAGAIN;

	spin_lock(&e->path.lock);
	rd = list_first_entry_or_null(&e->path.reads_free, struct dms_read, node);
	if (rd) {
		rd->nr_sge = dms_pool_sges(t_pool[0], e->path.ibdev, to, len, rd->sge,
					   min_t(u32, DMS_TX_SGES, e->path.ibdev->max_read_sge));
		rd->len = len;
		rd->remote_addr = addr;
		rd->rkey = rkey;
		list_del(&rd->node);
		atomic_inc(&e->reads);
		ret = dms_rdma_ops.read(&e->path, rd);
		if (ret) {
			atomic_dec(&e->reads);
			list_add(&rd->node, &e->path.reads_free);
		}
	}
	spin_unlock(&e->path.lock);
	return ret;
}

#define t_wait(test, e, cond) \
	KUNIT_EXPECT_TRUE(test, wait_event_timeout((e)->wq, cond, T_WAIT))

/*
 * As a KEY does: a packet that was posted after a registration says that it is done.  Without
 * it the other end's READ can come first, since two queue pairs know no order.
 */
static void t_tell(struct kunit *test, struct t_end *e, struct t_end *to)
{
	int had = atomic_read(&to->reposted);

	KUNIT_EXPECT_EQ(test, t_send(e, to, 64), 0);
	t_wait(test, to, atomic_read(&to->reposted) > had || to->path.err_class);
}

static void t_raw_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct t_raw *raw = container_of(wc->wr_cqe, struct t_raw, cqe);

	raw->status = wc->status;
	complete(&raw->done);
}

/* Posts past the transport, and waits. */
static enum ib_wc_status t_raw(struct kunit *test, struct t_end *e, struct ib_send_wr *wr)
{
	struct dms_rdma *tp = e->path.priv;
	struct t_raw raw = { .cqe.done = t_raw_done };
	int ret;

	init_completion(&raw.done);
	wr->wr_cqe = &raw.cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	spin_lock(&e->path.lock);
	ret = dms_rdma_ready(&e->path) ? ib_post_send(tp->qp, wr, NULL) : -ESHUTDOWN;
	spin_unlock(&e->path.lock);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret)
		return IB_WC_GENERAL_ERR;
	wait_for_completion(&raw.done);	/* the fence flushes it */
	return raw.status;
}

static u8 *t_byte(int pool, u64 off)
{
	struct dms_pool *p = t_pool[pool];

	return (u8 *)page_address(p->chunk[off >> p->chunk_shift]) +
	       (off & ((1UL << p->chunk_shift) - 1));
}

#endif /* DMS_RDMA_BED_H */
