// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes of paths on the session's TCP connection, see transport_tcp.h.
 *
 * One message goes out at a time, in as many pieces as TCP takes; messages of the session
 * itself go between two of them.  The paths take turns, message by message, and none is
 * longer than a packet or DMS_MOVE_BYTES_MAX, so that a short one never waits for long.
 * What comes in goes straight to where it belongs.
 *
 * A message that has begun is finished, whatever becomes of its carrier: of what is left
 * of it a copy is made, since its memory is about to be given back, and the peer, who does
 * not know yet, takes it for true.
 *
 * Memory for DATA, if it is much, is lent to TCP and not copied.  TCP has it until the peer
 * has acknowledged it, and before that it is nobody else's: a key is taken back when the
 * peer says that what it opens has landed, and whoever says so has acknowledged it.  A
 * peer that has not is lying, to be sent what comes into that memory next.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uio.h>

#include <net/tcp.h>

#include <linux/dmastream.h>

#include "compat.h"
#include "group.h"
#include "path.h"
#include "pool.h"
#include "session.h"
#include "stats.h"
#include "transport_tcp.h"
#include "wq.h"

/* How often a fence looks whether the peer has acknowledged: a round trip or so. */
#define DMS_TCP_ACK_POLL_MS	2
/* DATA of less than this is copied: a page that is lent costs more than that. */
#define DMS_TCP_LEND_MIN	8192

/*
 * ---- Going out: what comes next ----
 */

static void out_begin(struct dms_tcp_out *out, struct dms_tcp *tp, u16 type,
		      struct dms_move *move, u32 bytes)
{
	move->epoch = tp->epoch;
	move->index = tp->path->index;
	out->head_len = dms_wire_move_put(out->head, type, move, bytes);
	out->head_sent = 0;
	out->at = 0;
	out->off = 0;
	out->pages = false;
	out->tp = tp;
	out->pkt = NULL;
	out->reply = NULL;
}

/* Some of what the peer asked for; path->lock held. */
static void pick_data(struct dms_tcp *tp, struct dms_tcp_out *out)
{
	struct dms_tcp_reply *r = list_first_entry(&tp->replies, struct dms_tcp_reply, node);
	struct dms_move move = { .read = r->read, .addr = r->sent };
	const struct dms_tcp_key *k = r->key;
	u32 at = k->at + r->at + r->sent;
	u32 n = min_t(u32, r->len - r->sent, DMS_MOVE_BYTES_MAX);
	int sges;

	n = dms_pool_tile_span(k->pool, &k->tile, at, n, DMS_TX_SGES);
	sges = dms_pool_tile_sges(k->pool, tp->path->ibdev, &k->tile, at, n, out->sge,
				  DMS_TX_SGES);
	/* it was checked when the key was made */
	if (WARN_ON_ONCE(sges <= 0)) {
		list_move(&r->node, &tp->replies_free);
		return;
	}
	move.len = n;
	out_begin(out, tp, DMS_MSG_DATA, &move, n);
	out->nr_sge = sges;
	out->pages = n >= DMS_TCP_LEND_MIN;
	out->reply = r;
	r->sent += n;
}

static void pick_read(struct dms_tcp *tp, struct dms_tcp_out *out)
{
	struct dms_read *rd = list_first_entry(&tp->reads, struct dms_read, node);
	struct dms_move move = {
		.read = rd - tp->path->reads,
		.rkey = rd->rkey,
		.len = rd->len,
		.addr = rd->remote_addr,
	};

	list_move_tail(&rd->node, &tp->asked);
	out_begin(out, tp, DMS_MSG_READ, &move, 0);
	out->nr_sge = 0;
}

/* Of a WRITE from byte @at on, as much as one message takes; returns its length. */
static u32 write_pieces(const struct dms_write *w, u32 at, struct dms_tcp_out *out)
{
	u32 n = 0, i;

	out->nr_sge = 0;
	for (i = 0; i < w->nr_sge && n < DMS_MOVE_BYTES_MAX; i++) {
		const struct ib_sge *from = &w->sge[i];
		struct ib_sge *to = &out->sge[out->nr_sge];

		if (at >= from->length) {
			at -= from->length;
			continue;
		}
		to->addr = from->addr + at;
		to->length = min_t(u32, from->length - at, DMS_MOVE_BYTES_MAX - n);
		n += to->length;
		at = 0;
		out->nr_sge++;
	}
	return n;
}

static void pick_write(struct dms_tcp *tp, struct dms_tcp_out *out)
{
	struct dms_write *w = tp->write;
	struct dms_move move = { .rkey = w->rkey, .addr = w->remote_addr + tp->write_at };

	move.len = write_pieces(w, tp->write_at, out);
	out_begin(out, tp, DMS_MSG_WRITE, &move, move.len);
	tp->write_at += move.len;
	if (tp->write_at >= w->len || !move.len) {
		tp->write = w->next;
		tp->write_at = 0;
	}
}

/* The next packet, or what is to be written ahead of it. */
static void pick_packet(struct dms_tcp *tp, struct dms_tcp_out *out)
{
	struct dms_txpkt *pkt = list_first_entry(&tp->tx, struct dms_txpkt, node);
	struct dms_move move = {};

	if (!tp->begun) {
		tp->begun = true;
		tp->write = pkt->write;
		tp->write_at = 0;
	}
	if (tp->write) {
		pick_write(tp, out);
		return;
	}
	tp->begun = false;
	list_del_init(&pkt->node);
	memcpy(out->sge, pkt->sge, pkt->nr_sge * sizeof(pkt->sge[0]));
	out->nr_sge = pkt->nr_sge;
	/* pkt->bytes counts WRITEs, too */
	out_begin(out, tp, DMS_MSG_PACKET, &move, dms_sges_bytes(pkt->sge, pkt->nr_sge));
	out->pkt = pkt;
}

/* DATA and the rest take turns, so that neither a reader nor a sender is kept waiting. */
static void pick_of(struct dms_tcp *tp, struct dms_tcp_out *out)
{
	struct dms_path *path = tp->path;
	bool other;

	spin_lock(&path->lock);
	other = !list_empty(&tp->tx) || !list_empty(&tp->reads);
	/* DOWN may have been said already, and nothing may follow that */
	if (path->state != DMS_PATH_UP)
		goto out;
	if (!list_empty(&tp->replies) && (tp->reply_turn || !other)) {
		pick_data(tp, out);
		tp->reply_turn = false;
	} else if (other) {
		if (!list_empty(&tp->reads))
			pick_read(tp, out);
		else
			pick_packet(tp, out);
		tp->reply_turn = true;
	}
out:
	spin_unlock(&path->lock);
}

static bool pick(struct dms_session *s, struct dms_tcp_io *io)
{
	struct dms_tcp *tp;
	u32 i;

	for (i = 0; i < s->nr_paths && !io->out.head_len; i++) {
		io->turn = (io->turn + 1) % s->nr_paths;
		tp = io->of[io->turn];
		if (tp && tp->told)
			pick_of(tp, &io->out);
	}
	return io->out.head_len;
}

/*
 * ---- Going out: its bytes ----
 */

static void out_advance(struct dms_tcp_out *out, u32 n)
{
	u32 of_head = min(n, out->head_len - out->head_sent), left;

	out->head_sent += of_head;
	for (n -= of_head; n; n -= left) {
		left = min(n, out->sge[out->at].length - out->off);
		out->off += left;
		if (out->off == out->sge[out->at].length) {
			out->at++;
			out->off = 0;
		}
	}
}

/* With the head before it, all at once. */
static int out_copy(struct socket *sock, const struct dms_tcp_out *out)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec[DMS_TX_SGES + 1];
	u32 nr = 0, bytes = 0, i, off = out->off;

	if (out->head_sent < out->head_len) {
		vec[nr].iov_base = (void *)out->head + out->head_sent;
		vec[nr++].iov_len = out->head_len - out->head_sent;
	}
	for (i = out->at; i < out->nr_sge; i++, off = 0) {
		vec[nr].iov_base = (void *)(uintptr_t)out->sge[i].addr + off;
		vec[nr++].iov_len = out->sge[i].length - off;
	}
	for (i = 0; i < nr; i++)
		bytes += vec[i].iov_len;
	return kernel_sendmsg(sock, &msg, vec, nr, bytes);
}

/* The head, or what is in one page. */
static int out_lend(struct socket *sock, const struct dms_tcp_out *out)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE };
	struct kvec vec = {
		.iov_base = (void *)out->head + out->head_sent,
		.iov_len = out->head_len - out->head_sent,
	};
	const struct ib_sge *sge = &out->sge[out->at];
	void *at;
	u32 n;

	if (vec.iov_len)
		return kernel_sendmsg(sock, &msg, &vec, 1, vec.iov_len);
	at = (void *)(uintptr_t)sge->addr + out->off;
	n = min_t(u32, sge->length - out->off, PAGE_SIZE - offset_in_page(at));
	return dms_send_page(sock, virt_to_page(at), offset_in_page(at), n,
			     out->at + 1 < out->nr_sge || out->off + n < sge->length);
}

static bool out_all_sent(const struct dms_tcp_out *out)
{
	return out->head_sent == out->head_len && out->at == out->nr_sge;
}

/* Of a path: the NIC that it does not have is done with the packet. */
static void packet_left(struct dms_tcp *tp, struct dms_txpkt *pkt)
{
	struct dms_path *path = tp->path;

	spin_lock(&path->lock);
	if (pkt->signal) {
		list_splice_init(&tp->quiet, &pkt->before);
	} else {
		list_add_tail(&pkt->node, &tp->quiet);
		pkt = NULL;
	}
	spin_unlock(&path->lock);
	if (pkt)
		dms_path_send_done(pkt, 0);
}

/* So far the peer has to acknowledge until its pages are ours again. */
static void note_lent(struct dms_session *s, struct dms_tcp_io *io)
{
	struct dms_tcp_reply *r = io->out.reply;

	io->lent = true;
	io->lent_to = READ_ONCE(tcp_sk(s->sock->sk)->write_seq);
	if (r) {
		r->key->lent = true;
		r->key->lent_to = io->lent_to;
	}
}

static void out_end(struct dms_tcp_out *out)
{
	struct dms_tcp_reply *r = out->reply;

	out->head_len = 0;
	kvfree(out->copy);
	out->copy = NULL;
	if (out->pkt)
		packet_left(out->tp, out->pkt);
	if (r && r->sent == r->len) {
		spin_lock(&out->tp->path->lock);
		list_move(&r->node, &out->tp->replies_free);
		spin_unlock(&out->tp->path->lock);
	}
}

/* 1: all of it has gone, or there was nothing; 0: not all; negative: the connection is broken. */
static int out_push(struct dms_session *s, struct dms_tcp_io *io)
{
	struct dms_tcp_out *out = &io->out;
	int n;

	lockdep_assert_held(&io->lock);
	if (io->cut)
		return 0;
	if (!out->head_len)
		return 1;
	while (!out_all_sent(out)) {
		n = out->pages ? out_lend(s->sock, out) : out_copy(s->sock, out);
		if (n <= 0)
			return n == -EAGAIN ? 0 : n ?: -EIO;
		if (out->pages)
			note_lent(s, io);
		out_advance(out, n);
	}
	out_end(out);
	return 1;
}

/**
 * dms_tcp_rest() - send the rest of a message that has begun
 * @s: UP
 *
 * Before anything else is sent.
 *
 * Context: sock_work.
 * Return: 1: there is none any more; 0: TCP takes no more now; negative: it is broken.
 */
int dms_tcp_rest(struct dms_session *s)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);
	int ret;

	if (!io)
		return 1;
	mutex_lock(&io->lock);
	io->una = READ_ONCE(tcp_sk(s->sock->sk)->snd_una);
	ret = out_push(s, io);
	mutex_unlock(&io->lock);
	return ret;
}

/**
 * dms_tcp_send() - send what paths have
 * @s: UP; no message has begun
 * @budget: of messages in this run; what is left of it
 *
 * Context: sock_work.
 * Return: as dms_tcp_rest(); with 1, and something left of the budget, there is no more.
 */
int dms_tcp_send(struct dms_session *s, int *budget)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);
	int ret = 1;

	if (!io)
		return 1;
	mutex_lock(&io->lock);
	/* a carrier is told of by a word that is set before tp->told: either is seen here */
	while (ret == 1 && *budget > 0 && !test_bit(DMS_SF_WORDS, &s->flags) && pick(s, io)) {
		ret = out_push(s, io);
		--*budget;
	}
	mutex_unlock(&io->lock);
	return ret;
}

/*
 * ---- Coming in ----
 */

/* path->lock held; the number is the peer's */
static struct dms_tcp_key *key_of(struct dms_tcp *tp, const struct dms_move *move, bool write)
{
	struct dms_tcp_key *k;
	u32 i;

	for (i = 0; i < tp->nr_keys; i++) {
		k = &tp->key[i];
		if (k->open && k->rkey == move->rkey && k->write == write &&
		    move->addr <= k->len && move->len <= k->len - move->addr)
			return k;
	}
	return NULL;
}

/* path->lock held, as for the next two */
static enum dms_rule begin_read(struct dms_tcp *tp, const struct dms_move *move)
{
	struct dms_tcp_reply *r = list_first_entry_or_null(&tp->replies_free,
							   struct dms_tcp_reply, node);

	if (!r)
		return DMS_RULE_CREDIT;		/* more than our HELLO said */
	r->key = key_of(tp, move, false);
	if (!r->key)
		return DMS_RULE_KEY;
	r->read = move->read;
	r->at = move->addr;
	r->len = move->len;
	r->sent = 0;
	list_move_tail(&r->node, &tp->replies);
	return DMS_RULE_NONE;
}

static enum dms_rule begin_data(struct dms_tcp *tp, const struct dms_move *move,
				struct dms_tcp_in *in)
{
	struct dms_read *rd;

	if (move->read >= tp->nr_asks || !tp->ask[move->read].out)
		return DMS_RULE_KEY;
	rd = &tp->path->reads[move->read];
	/* in the order of the questions: what lands in a landing lands from its beginning */
	if (list_first_entry_or_null(&tp->asked, struct dms_read, node) != rd || move->addr != tp->ask[move->read].got ||
	    move->len > rd->len - move->addr)
		return DMS_RULE_KEY;
	in->rd = rd;
	in->pool = rd->landing->pool;
	in->tile = dms_landing_tile(rd->landing);
	in->at = rd->landing_at + move->addr;
	return DMS_RULE_NONE;
}

static enum dms_rule begin_write(struct dms_tcp *tp, const struct dms_move *move,
				 struct dms_tcp_in *in)
{
	const struct dms_tcp_key *k = key_of(tp, move, true);

	if (!k)
		return DMS_RULE_KEY;
	in->key = k;
	in->pool = k->pool;
	in->tile = k->tile;
	in->at = k->at + move->addr;
	return DMS_RULE_NONE;
}

static enum dms_rule begin_on(struct dms_tcp *tp, u16 type, const struct dms_move *move,
			      struct dms_tcp_in *in)
{
	enum dms_rule rule = DMS_RULE_NONE;

	spin_lock(&tp->path->lock);
	if (type == DMS_MSG_READ)
		rule = begin_read(tp, move);
	else if (type == DMS_MSG_DATA)
		rule = begin_data(tp, move, in);
	else if (type == DMS_MSG_WRITE)
		rule = begin_write(tp, move, in);
	spin_unlock(&tp->path->lock);
	return rule;
}

/**
 * dms_tcp_begin() - a PACKET, READ, DATA or WRITE comes
 * @s: UP
 * @type: which
 * @body: its struct dms_wire_move
 * @len: of its body
 *
 * That of an epoch that is over is thrown away.  What follows is dms_tcp_receive()'s.
 *
 * Context: sock_work.
 * Return: the rule that was broken, or DMS_RULE_NONE.
 */
enum dms_rule dms_tcp_begin(struct dms_session *s, u16 type, const u8 *body, u32 len)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);
	struct dms_tcp_in *in;
	struct dms_move move;
	struct dms_tcp *tp;
	enum dms_rule rule = dms_wire_move_parse(body, type, len, &move);

	if (rule)
		return rule;
	len -= sizeof(struct dms_wire_move);
	if (!s->tcp || move.index >= s->nr_paths)
		return DMS_RULE_STATE;
	if ((s32)(move.epoch - READ_ONCE(s->tcp_last[move.index])) > 0)
		return DMS_RULE_EPOCH;
	if (type == DMS_MSG_PACKET && len > s->slot_bytes)
		return DMS_RULE_LENGTH;
	if (!io)
		return len ? DMS_RULE_STATE : DMS_RULE_NONE;
	mutex_lock(&io->lock);
	in = &io->in;
	tp = io->of[move.index];
	if (tp && tp->epoch != move.epoch)
		tp = NULL;
	/* the dialling side is up before it tells of its carrier */
	if (tp && READ_ONCE(tp->path->state) == DMS_PATH_CONNECTING)
		rule = DMS_RULE_EPOCH;
	else if (tp)
		rule = begin_on(tp, type, &move, in);
	in->tp = tp;
	in->type = type;
	in->left = len;
	in->got = 0;
	mutex_unlock(&io->lock);
	return rule;
}

/* Where the next bytes go; returns how many entries, and in @bytes how many that are. */
static int in_where(struct dms_tcp_io *io, struct kvec *vec, u32 *bytes)
{
	struct dms_tcp_in *in = &io->in;
	struct ib_sge sge[DMS_TX_SGES];
	int n, i;

	if (!in->tp || in->type == DMS_MSG_PACKET) {
		vec[0].iov_base = io->packet + in->got;
		*bytes = min(in->left, io->packet_len - in->got);
		vec[0].iov_len = *bytes;
		return 1;
	}
	*bytes = dms_pool_tile_span(in->pool, &in->tile, in->at, in->left, DMS_TX_SGES);
	n = dms_pool_tile_sges(in->pool, in->tp->path->ibdev, &in->tile, in->at, *bytes, sge,
			       DMS_TX_SGES);
	for (i = 0; i < n; i++) {
		vec[i].iov_base = (void *)(uintptr_t)sge[i].addr;
		vec[i].iov_len = sge[i].length;
	}
	return n;
}

static void in_packet(struct dms_tcp_io *io)
{
	struct dms_path *path = io->in.tp->path;

	if (dms_path_rx(path, io->packet, io->in.got) != DMS_RX_BROKEN)
		dms_path_reposted(path, 1);
}

static void in_data(struct dms_tcp_in *in)
{
	struct dms_tcp *tp = in->tp;
	struct dms_tcp_ask *ask = &tp->ask[in->rd - tp->path->reads];
	bool all;

	spin_lock(&tp->path->lock);
	ask->got += in->got;
	all = ask->got == in->rd->len;
	ask->out = !all;
	if (all)
		list_del_init(&in->rd->node);
	spin_unlock(&tp->path->lock);
	if (all)
		dms_path_read_done(in->rd, 0);
}

static void in_end(struct dms_tcp_io *io)
{
	if (!io->in.tp)
		return;
	if (io->in.type == DMS_MSG_PACKET)
		in_packet(io);
	else if (io->in.type == DMS_MSG_DATA)
		in_data(&io->in);
}

static void in_throw_away(struct dms_tcp_in *in)
{
	in->tp = NULL;
	in->got = 0;
}

static void in_advance(struct dms_tcp_in *in, u32 n)
{
	struct dms_path *path = in->tp ? in->tp->path : NULL;

	in->left -= n;
	in->at += n;
	/* a network may be slow: it is not stuck */
	if (path && in->type == DMS_MSG_DATA) {
		spin_lock(&path->lock);
		path->moved = jiffies;
		spin_unlock(&path->lock);
	}
	/* what is thrown away goes to the same place over and over */
	if (in->tp)
		in->got += n;
}

/**
 * dms_tcp_receive() - the bytes of the message that has begun
 * @s: UP
 *
 * Context: sock_work.
 * Return: 1: it is whole, or there is none; 0: the rest has not come; negative: the end.
 */
int dms_tcp_receive(struct dms_session *s)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);
	struct kvec vec[DMS_TX_SGES];
	int ret = 1, nr;
	u32 bytes;

	if (!io || !io->in.left)
		return 1;
	mutex_lock(&io->lock);
	while (io->in.left && ret > 0) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

		nr = in_where(io, vec, &bytes);
		if (WARN_ON_ONCE(nr <= 0)) {
			ret = -EIO;
			break;
		}
		ret = kernel_recvmsg(s->sock, &msg, vec, nr, bytes, msg.msg_flags);
		if (ret > 0) {
			WRITE_ONCE(s->last_heard, jiffies);
			in_advance(&io->in, ret);
		} else if (ret != -EAGAIN) {
			ret = ret ?: -ECONNRESET;
		}
	}
	if (ret > 0) {
		in_end(io);
		ret = 1;
	}
	mutex_unlock(&io->lock);
	return ret == -EAGAIN ? 0 : ret;
}

/*
 * ---- Keys and carriers that go ----
 */

/* What is on the wire of it cannot be finished. */
static void out_cut(struct dms_tcp_io *io)
{
	io->cut = true;
	io->out.head_len = 0;
	io->out.pkt = NULL;
	io->out.reply = NULL;
	io->out.tp = NULL;
}

/* The rest of what goes out is copied: its memory is not ours much longer. */
static void out_keep(struct dms_session *s, struct dms_tcp_io *io)
{
	struct dms_tcp_out *out = &io->out;
	u32 bytes = 0, off = out->off, done = 0, i;
	u8 *copy;

	for (i = out->at; i < out->nr_sge; i++)
		bytes += out->sge[i].length;
	bytes -= off;
	out->pages = false;
	out->pkt = NULL;
	out->reply = NULL;
	out->tp = NULL;
	if (!bytes || out->copy)
		return;
	copy = kvmalloc(bytes, GFP_KERNEL);
	if (!copy) {
		out_cut(io);
		dms_session_kill(s, DMASTREAM_ERR_SESSION, ENOMEM);
		return;
	}
	for (i = out->at; i < out->nr_sge; i++, off = 0) {
		u32 n = out->sge[i].length - off;

		memcpy(copy + done, (void *)(uintptr_t)out->sge[i].addr + off, n);
		done += n;
	}
	out->copy = copy;
	out->sge[0].addr = (uintptr_t)copy;
	out->sge[0].length = bytes;
	out->nr_sge = 1;
	out->at = 0;
	out->off = 0;
}

/*
 * The peer asked by a key that it has given back: it gets no answer.  Nothing of it is
 * half sent: that came first.
 */
static void drop_replies(struct dms_tcp *tp, struct dms_tcp_key *k)
{
	struct dms_tcp_reply *r, *next;

	spin_lock(&tp->path->lock);
	k->open = false;
	list_for_each_entry_safe(r, next, &tp->replies, node)
		if (r->key == k)
			list_move(&r->node, &tp->replies_free);
	spin_unlock(&tp->path->lock);
}

/* A key that is to be taken back, or nr_keys. */
static unsigned long next_revoke(struct dms_tcp *tp)
{
	unsigned long i;

	spin_lock(&tp->path->lock);
	i = find_first_bit(tp->revoke, tp->nr_keys);
	if (i < tp->nr_keys)
		__clear_bit(i, tp->revoke);
	spin_unlock(&tp->path->lock);
	return i;
}

/* False: the peer has said that it has what it has not acknowledged. */
static bool answer_revokes(struct dms_tcp_io *io, struct dms_tcp *tp)
{
	struct dms_path *path = tp->path;
	unsigned long i;

	while ((i = next_revoke(tp)) < tp->nr_keys) {
		if (tp->key[i].lent && before(io->una, tp->key[i].lent_to))
			return false;
		/* what is still coming in by it is none of ours any more: the peer lied */
		if (io->in.left && io->in.tp == tp && io->in.type == DMS_MSG_WRITE &&
		    io->in.key == &tp->key[i])
			in_throw_away(&io->in);
		drop_replies(tp, &tp->key[i]);
		dms_stat_inc(DMS_STAT_KEYS_INVALIDATED);
		dms_path_revoke_done(&path->keys[i], 0);
	}
	return true;
}

/**
 * dms_tcp_answer_revokes() - keys open nothing any more
 * @s: UP; after dms_tcp_rest(), which looks what is acknowledged
 *
 * Context: sock_work.
 * Return: false: the peer broke a rule, and the session must end.
 */
bool dms_tcp_answer_revokes(struct dms_session *s)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);
	bool ok = true;
	u32 i;

	if (!io)
		return true;
	mutex_lock(&io->lock);
	for (i = 0; i < s->nr_paths && ok; i++)
		if (io->of[i])
			ok = answer_revokes(io, io->of[i]);
	mutex_unlock(&io->lock);
	return ok;
}

static bool all_acked(struct dms_tcp_io *io)
{
	bool acked;

	mutex_lock(&io->lock);
	acked = !io->lent || !before(io->una, io->lent_to);
	mutex_unlock(&io->lock);
	return acked;
}

/**
 * dms_tcp_wait_acked() - until TCP has no page of ours any more
 * @s: session
 *
 * What is lent now by other paths is waited for, too.  A peer that acknowledges nothing is
 * given up by the session's clock, and by path_lost_ms.
 *
 * Context: kill_work; returns at once when the session is killed.
 */
void dms_tcp_wait_acked(struct dms_session *s)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);

	while (io && !test_bit(DMS_SF_KILLED, &s->flags) && !all_acked(io)) {
		/* it looks how far the peer is */
		queue_work(dms_wq, &s->sock_work);
		msleep(DMS_TCP_ACK_POLL_MS);
	}
}

/**
 * dms_tcp_free() - the session is freed
 * @s: no carrier is left
 */
void dms_tcp_free(struct dms_session *s)
{
	if (s->tcp_io)
		kvfree(s->tcp_io->out.copy);
	kvfree(s->tcp_io);
	s->tcp_io = NULL;
}

/**
 * dms_tcp_forget() - a carrier ends
 * @s: session
 * @tp: dead; what has begun to leave has no answer yet, and is on its lists again
 *
 * Context: kill_work, no lock held.
 */
void dms_tcp_forget(struct dms_session *s, struct dms_tcp *tp)
{
	struct dms_tcp_io *io = READ_ONCE(s->tcp_io);
	struct dms_txpkt *pkt;
	u32 index = tp->path->index;

	if (!io)
		return;
	mutex_lock(&io->lock);
	if (io->of[index] == tp)
		io->of[index] = NULL;
	if (io->out.head_len && io->out.tp == tp) {
		pkt = io->out.pkt;
		/* at the end of the session nothing is sent any more */
		if (test_bit(DMS_SF_KILLED, &s->flags))
			out_cut(io);
		else
			out_keep(s, io);
		spin_lock(&tp->path->lock);
		if (pkt)
			list_add_tail(&pkt->node, &tp->quiet);
		spin_unlock(&tp->path->lock);
	}
	if (io->in.left && io->in.tp == tp)
		in_throw_away(&io->in);
	mutex_unlock(&io->lock);
}
