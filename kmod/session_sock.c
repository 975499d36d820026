// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP connection of a session: connecting, messages in and out, the end.
 *
 * TCP is a stream of bytes: a message may come in pieces, and may go out in
 * pieces.  Both directions have a small buffer.  What the peer sends is read
 * only while there is room for the answer to it, so that a peer that asks and
 * does not listen stops itself.  One run of the work handles a bounded number
 * of messages and then queues itself again.
 *
 * Callbacks.  They run in softirq with the socket's lock, and may run until the
 * moment that sock_detach() has taken sk_callback_lock for writing; after it
 * they find no session.  Their code may still be on its way out then, but not
 * after sock_release(), which takes the socket's lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "session_sock.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <linux/dmastream.h>

#include "addr.h"
#include "compat.h"
#include "fault.h"
#include "hello.h"
#include "node.h"
#include "session.h"
#include "session_impl.h"
#include "stats.h"
#include "transport_tcp.h"
#include "wq.h"

/* Messages handled in one run of the work. */
#define DMS_SOCK_BUDGET		32
/* The longest answer to a message, which must have room before that is read. */
#define DMS_SOCK_ANSWER		(sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_hello))
#define DMS_SOCK_TX		2048
/* What a refused peer sent is thrown away up to this, see sock_drop(). */
#define DMS_SOCK_DRAIN		(16 * 1024)

/* session->sockpriv */
struct dms_sock {
	void	(*data_ready)(struct sock *sk);
	void	(*state_change)(struct sock *sk);
	void	(*write_space)(struct sock *sk);
	u64	ping_stamp;		/* of the last PING that went out */
	u32	rx_len;			/* bytes of the message so far */
	u32	tx_len;			/* bytes to send */
	u8	rx[sizeof(struct dms_wire_msg) + DMS_MSG_BODY_MAX];
	u8	tx[DMS_SOCK_TX];
};

static void sock_work(struct work_struct *work);

/**
 * dms_sock_init() - the socket's part of a new session
 * @s: the session
 *
 * Return: 0 or -ENOMEM.
 */
int dms_sock_init(struct dms_session *s)
{
	struct dms_sock *p = dms_fault_alloc(SOCKET) ? NULL : kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return -ENOMEM;
	INIT_WORK(&s->sock_work, sock_work);
	s->sockpriv = p;
	return 0;
}

/**
 * dms_sock_free() - the session is freed, or its end is complete
 * @s: has no socket any more
 */
void dms_sock_free(struct dms_session *s)
{
	kfree(s->sockpriv);
	s->sockpriv = NULL;
	dms_tcp_free(s);
}

/*
 * ---- Callbacks: softirq, with the socket's lock ----
 */

static void sock_data_ready(struct sock *sk)
{
	void (*ready)(struct sock *sk);
	struct dms_session *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = sk->sk_user_data;
	if (s)
		queue_work(dms_wq, &s->sock_work);
	ready = s ? ((struct dms_sock *)s->sockpriv)->data_ready : sk->sk_data_ready;
	read_unlock_bh(&sk->sk_callback_lock);
	ready(sk);
}

static void sock_state_change(struct sock *sk)
{
	void (*change)(struct sock *sk);
	struct dms_session *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = sk->sk_user_data;
	if (s)
		queue_work(dms_wq, &s->sock_work);
	change = s ? ((struct dms_sock *)s->sockpriv)->state_change : sk->sk_state_change;
	read_unlock_bh(&sk->sk_callback_lock);
	change(sk);
}

static void sock_write_space(struct sock *sk)
{
	void (*space)(struct sock *sk);
	struct dms_session *s;

	read_lock_bh(&sk->sk_callback_lock);
	s = sk->sk_user_data;
	if (s)
		queue_work(dms_wq, &s->sock_work);
	/* TCP's own clears SOCK_NOSPACE, without which we would hear nothing again */
	space = s ? ((struct dms_sock *)s->sockpriv)->write_space : sk->sk_write_space;
	read_unlock_bh(&sk->sk_callback_lock);
	space(sk);
}

static void sock_attach(struct dms_session *s, struct socket *sock)
{
	struct dms_sock *p = s->sockpriv;
	struct sock *sk = sock->sk;

	s->sock = sock;
	p->rx_len = 0;
	p->tx_len = 0;
	tcp_sock_set_nodelay(sk);
	dms_sock_noio(sk);	/* our works are of a queue that reclaim may wait for */
	write_lock_bh(&sk->sk_callback_lock);
	p->data_ready = sk->sk_data_ready;
	p->state_change = sk->sk_state_change;
	p->write_space = sk->sk_write_space;
	sk->sk_user_data = s;
	sk->sk_data_ready = sock_data_ready;
	sk->sk_state_change = sock_state_change;
	sk->sk_write_space = sock_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void sock_detach(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;
	struct sock *sk = s->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = p->data_ready;
	sk->sk_state_change = p->state_change;
	sk->sk_write_space = p->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * dms_sock_adopt() - an accepted connection becomes the session's
 * @s: GREETING
 * @sock: connected, with the callbacks that TCP gave it
 *
 * sock_work must be queued afterwards: data may be there already.
 */
void dms_sock_adopt(struct dms_session *s, struct socket *sock)
{
	sock_attach(s, sock);
}

/*
 * ---- Sending ----
 */

static bool tx_room(const struct dms_sock *p)
{
	return sizeof(p->tx) - p->tx_len >= DMS_SOCK_ANSWER;
}

/*
 * As much as goes, behind a path's message that has begun; the write_space callback goes
 * on.  1: all of it, and no message is half sent; negative: the connection is broken.
 */
static int tx_flush(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;
	u32 sent = 0;
	int n = dms_tcp_rest(s);

	if (n <= 0)
		return n;
	n = 0;
	while (sent < p->tx_len) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec vec = { .iov_base = p->tx + sent, .iov_len = p->tx_len - sent };

		n = kernel_sendmsg(s->sock, &msg, &vec, 1, vec.iov_len);
		if (n <= 0)
			break;
		sent += n;
	}
	p->tx_len -= sent;
	memmove(p->tx, p->tx + sent, p->tx_len);
	if (n < 0 && n != -EAGAIN)
		return n;
	return !p->tx_len;
}

/**
 * dms_sock_say_hello() - queue our HELLO
 * @s: s->mine is filled in
 */
void dms_sock_say_hello(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;

	BUILD_BUG_ON(DMS_SOCK_TX < 2 * DMS_SOCK_ANSWER);
	p->tx_len += dms_wire_hello_put(p->tx + p->tx_len, &s->mine);
}

/**
 * dms_sock_say_bye() - the end is an orderly one
 * @s: the peer has it up; the connection is closed next
 */
void dms_sock_say_bye(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;

	if (!tx_room(p))
		return;
	p->tx_len += dms_wire_bye_put(p->tx + p->tx_len);
	tx_flush(s);
}

/**
 * dms_sock_refuse() - refuse the peer, which opened the connection
 * @s: GREETING; ends
 * @reason: enum dmastream_refusal
 * @detail: depends on it
 */
void dms_sock_refuse(struct dms_session *s, u32 reason, u32 detail)
{
	struct dms_sock *p = s->sockpriv;

	dms_stat_refused(reason);
	p->tx_len += dms_wire_refuse_put(p->tx + p->tx_len, reason, detail, s->node->nonce);
	tx_flush(s);
	dms_session_kill(s, DMASTREAM_ERR_REFUSED, reason);
}

/**
 * dms_sock_broken() - the peer said what it may not say
 * @s: ends
 * @rule: that it broke
 * @what: the message, for people
 */
void dms_sock_broken(struct dms_session *s, enum dms_rule rule, const char *what)
{
	dms_stat_inc(DMS_STAT_PROTOCOL_ERRORS);
	if (READ_ONCE(s->state) == DMS_SESSION_GREETING) {
		pr_notice_ratelimited("%pISpc was refused: its %s breaks rule '%s'; it is no dmastream peer, or of another version\n",
				      &s->remote, what, dms_rule_name(rule));
		dms_sock_refuse(s, DMASTREAM_REFUSED_MALFORMED, rule);
		return;
	}
	pr_warn_ratelimited("session %u: peer %pISpc broke rule '%s' with a %s; the session ends (if it runs another version, update it)\n",
			    s->num, &s->remote, dms_rule_name(rule), what);
	dms_session_kill(s, DMASTREAM_ERR_PROTOCOL, rule);
}

/*
 * ---- Receiving ----
 */

/* Bytes up to @want of the message: 1: they are there; 0: not all yet; negative: the end. */
static int rx_fill(struct dms_session *s, u32 want)
{
	struct dms_sock *p = s->sockpriv;

	while (p->rx_len < want) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec vec = { .iov_base = p->rx + p->rx_len, .iov_len = want - p->rx_len };
		int n = kernel_recvmsg(s->sock, &msg, &vec, 1, vec.iov_len, msg.msg_flags);

		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ?: -ECONNRESET;
		WRITE_ONCE(s->last_heard, jiffies);
		p->rx_len += n;
	}
	return 1;
}

/* A peer of a later version is told so, not that it is malformed. */
static bool rx_too_new(struct dms_session *s)
{
	const struct dms_wire_msg *msg = (const struct dms_wire_msg *)
					 ((struct dms_sock *)s->sockpriv)->rx;

	if (READ_ONCE(s->state) != DMS_SESSION_GREETING ||
	    le32_to_cpu(msg->magic) != DMS_WIRE_MAGIC ||
	    le16_to_cpu(msg->version) <= DMS_WIRE_VERSION_MAX)
		return false;
	dms_sock_refuse(s, DMASTREAM_REFUSED_VERSION, DMS_WIRE_VERSION_MAX);
	return true;
}

static void rx_hello(struct dms_session *s, const u8 *body, u32 len)
{
	struct dms_hello hello;
	enum dms_rule rule = dms_wire_hello_parse(body, len, &hello);

	if (rule)
		dms_sock_broken(s, rule, "HELLO");
	else if (READ_ONCE(s->state) == DMS_SESSION_GREETING)
		dms_hello_asked(s, &hello);
	else
		dms_hello_answered(s, &hello);
}

static void rx_refuse(struct dms_session *s, const u8 *body, u32 len)
{
	u8 nonce[DMS_WIRE_NONCE];
	u32 reason, detail;
	enum dms_rule rule = dms_wire_refuse_parse(body, len, &reason, &detail, nonce);

	if (rule)
		dms_sock_broken(s, rule, "REFUSE");
	else
		dms_hello_refused(s, reason, detail, nonce);
}

static void rx_ping(struct dms_session *s, u16 type, const u8 *body, u32 len)
{
	struct dms_sock *p = s->sockpriv;
	u64 stamp;
	enum dms_rule rule = dms_wire_ping_parse(body, len, &stamp);

	if (rule) {
		dms_sock_broken(s, rule, type == DMS_MSG_PING ? "PING" : "PONG");
	} else if (type == DMS_MSG_PING) {
		p->tx_len += dms_wire_ping_put(p->tx + p->tx_len, DMS_MSG_PONG, stamp);
	} else if (!stamp || stamp > p->ping_stamp) {
		/* the answer to what was never asked */
		dms_sock_broken(s, DMS_RULE_ACK, "PONG");
	} else {
		WRITE_ONCE(s->rtt_ns, ktime_get_ns() - stamp);
	}
}

static void rx_path(struct dms_session *s, const u8 *body, u32 len)
{
	struct dms_path_msg msg;
	enum dms_rule rule = dms_wire_path_parse(body, len, &msg);

	if (!rule)
		rule = dms_session_path_said(s, &msg);
	if (rule)
		dms_sock_broken(s, rule, "PATH");
}

static void rx_message(struct dms_session *s, u16 type, const u8 *body, u32 len)
{
	enum dms_session_state state = READ_ONCE(s->state);
	bool up = state == DMS_SESSION_UP;

	if (state >= DMS_SESSION_DYING)
		return;			/* ended meanwhile: not the peer's fault */
	if (type == DMS_MSG_HELLO && !up)
		rx_hello(s, body, len);
	else if (type == DMS_MSG_REFUSE && state == DMS_SESSION_DIALLING)
		rx_refuse(s, body, len);
	else if ((type == DMS_MSG_PING || type == DMS_MSG_PONG) && up)
		rx_ping(s, type, body, len);
	else if (type == DMS_MSG_PATH && up)
		rx_path(s, body, len);
	else if (type == DMS_MSG_BYE && up)
		dms_session_kill(s, DMASTREAM_ERR_SESSION, ESHUTDOWN);
	else
		dms_sock_broken(s, DMS_RULE_STATE, "message of another state");
}

/* A message of a path: what it begins with; then its bytes go where they belong. */
static int rx_move(struct dms_session *s, u16 type, u32 len)
{
	struct dms_sock *p = s->sockpriv;
	const u32 head = sizeof(struct dms_wire_msg);
	enum dms_rule rule = DMS_RULE_STATE;
	int ret;

	if (READ_ONCE(s->state) == DMS_SESSION_UP) {
		ret = rx_fill(s, head + sizeof(struct dms_wire_move));
		if (ret <= 0)
			return ret;
		p->rx_len = 0;
		rule = dms_tcp_begin(s, type, p->rx + head, len);
	}
	if (rule) {
		dms_sock_broken(s, rule, "message of a path");
		return 1;
	}
	return dms_tcp_receive(s);
}

/* One message.  1: handled; 0: nothing to do now; negative: the connection ended. */
static int rx_one(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;
	const u32 head = sizeof(struct dms_wire_msg);
	enum dms_rule rule;
	u16 type;
	u32 len;
	int ret;

	if (!tx_room(p))
		return 0;
	ret = dms_tcp_receive(s);	/* the rest of one that has begun */
	if (ret <= 0)
		return ret;
	ret = rx_fill(s, head);
	if (ret <= 0)
		return ret;
	rule = dms_wire_msg_parse(p->rx, &type, &len);
	if (rule) {
		if (!rx_too_new(s))
			dms_sock_broken(s, rule, "message header");
		return 1;
	}
	if (dms_wire_moves(type))
		return rx_move(s, type, len);
	/* dms_wire_msg_parse() has checked that it fits */
	ret = rx_fill(s, head + len);
	if (ret <= 0)
		return ret;
	p->rx_len = 0;
	rx_message(s, type, p->rx + head, len);
	return 1;
}

/*
 * ---- The work ----
 */

static int sock_dial(struct dms_session *s)
{
	struct socket *sock;
	int err;

	/* without a reference on the namespace, whose exit ends the session */
	err = sock_create_kern(s->node->net, s->remote.ss_family, SOCK_STREAM,
			       IPPROTO_TCP, &sock);
	if (err)
		return err;
	clear_bit(DMS_SF_CONNECTED, &s->flags);
	sock_attach(s, sock);
	err = kernel_connect(sock, (struct sockaddr *)&s->remote, dms_addr_len(&s->remote),
			     O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}

/* 1: connected; 0: not yet; negative: it failed. */
static int sock_connected(struct dms_session *s)
{
	struct sock *sk = s->sock->sk;
	int err;

	if (test_bit(DMS_SF_CONNECTED, &s->flags))
		return 1;
	switch (READ_ONCE(sk->sk_state)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return 0;
	case TCP_ESTABLISHED:
	case TCP_CLOSE_WAIT:
		break;
	default:
		return sock_error(sk) ?: -ECONNREFUSED;
	}
	err = kernel_getsockname(s->sock, (struct sockaddr *)&s->local);
	if (err < 0)
		return err;
	dms_addr_normalise(&s->local);
	set_bit(DMS_SF_CONNECTED, &s->flags);
	dms_hello_dialled(s);
	return 1;
}

/*
 * What is to be said of paths, as far as there is room: not so much that there would be
 * none for answers, which are what we read on for.
 */
static void tx_words(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;
	struct dms_path_msg msg;

	while (p->tx_len < sizeof(p->tx) / 2 && dms_session_next_word(s, &msg))
		p->tx_len += dms_wire_path_put(p->tx + p->tx_len, &msg);
}

/*
 * The session's own messages, then the paths'.  No packet goes before a word that waits:
 * it may be the one that says which epoch the packet is of.
 */
static int tx_all(struct dms_session *s, int *budget)
{
	int ret;

	tx_words(s);
	ret = tx_flush(s);
	if (ret <= 0)
		return ret;
	if (!dms_tcp_answer_revokes(s)) {
		dms_sock_broken(s, DMS_RULE_ACK, "acknowledgement");
		return 0;
	}
	ret = dms_tcp_send(s, budget);
	return min(ret, 0);
}

static int sock_run(struct dms_session *s)
{
	struct dms_sock *p = s->sockpriv;
	int budget = DMS_SOCK_BUDGET, sends = DMS_SOCK_BUDGET;
	int ret;

	if (test_and_clear_bit(DMS_SF_RETRY, &s->flags))
		dms_hello_retry(s);
	if (test_and_clear_bit(DMS_SF_DIAL, &s->flags)) {
		ret = sock_dial(s);
		if (ret)
			return ret;
	}
	if (!s->sock)
		return 0;
	ret = sock_connected(s);
	if (ret <= 0)
		return ret;
	if (test_and_clear_bit(DMS_SF_PING, &s->flags) && tx_room(p)) {
		p->ping_stamp = ktime_get_ns();
		p->tx_len += dms_wire_ping_put(p->tx + p->tx_len, DMS_MSG_PING, p->ping_stamp);
	}
	do {
		ret = tx_all(s, &sends);
		if (!ret)
			ret = rx_one(s);
	} while (ret > 0 && --budget && s->sock && !test_bit(DMS_SF_KILLED, &s->flags));
	if (ret < 0 || !s->sock || test_bit(DMS_SF_KILLED, &s->flags))
		return ret;
	ret = tx_all(s, &sends);
	if (!budget || sends <= 0)
		queue_work(dms_wq, &s->sock_work);
	return ret;
}

static void sock_work(struct work_struct *work)
{
	struct dms_session *s = container_of(work, struct dms_session, sock_work);
	int err;

	if (test_bit(DMS_SF_KILLED, &s->flags))
		return;
	err = sock_run(s);
	if (err < 0)
		dms_session_kill(s, DMASTREAM_ERR_SESSION, -err);
}

/*
 * ---- The end ----
 */

/*
 * A socket that is closed with bytes that nobody has read resets the
 * connection, and the peer could lose what we said last: read them, within
 * reason.
 */
static void sock_drain(struct socket *sock, void *buf, u32 size)
{
	u32 left = DMS_SOCK_DRAIN;
	int n;

	do {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec vec = { .iov_base = buf, .iov_len = size };

		n = kernel_recvmsg(sock, &msg, &vec, 1, size, msg.msg_flags);
		left -= min_t(u32, left, max(n, 0));
	} while (n > 0 && left);
}

static void sock_drop(struct dms_session *s, bool reset)
{
	struct dms_sock *p = s->sockpriv;

	sock_drain(s->sock, p->rx, sizeof(p->rx));
	if (reset)
		sock_no_linger(s->sock->sk);
	kernel_sock_shutdown(s->sock, SHUT_RDWR);
	sock_release(s->sock);
	s->sock = NULL;
}

/**
 * dms_sock_hang_up() - close the connection, the session goes on
 * @s: DIALLING, refused with CROSSED
 *
 * In sock_work only.
 */
void dms_sock_hang_up(struct dms_session *s)
{
	if (!s->sock)
		return;
	sock_detach(s);
	sock_drop(s, false);
}

/**
 * dms_sock_close() - the end of the connection
 * @s: DYING, and killed before that, so that sock_work does nothing any more
 *
 * A peer that does not answer and a namespace that goes get no orderly close:
 * it would leave a socket behind that waits for the peer.  Nor does one whose streams
 * end here while TCP may still have pages of theirs: those are their processes' next.
 *
 * Context: kill_work only.
 */
void dms_sock_close(struct dms_session *s)
{
	bool bye = test_bit(DMS_SF_BYE, &s->flags) && test_bit(DMS_SF_WAS_UP, &s->flags);
	bool reset = READ_ONCE(s->node->going) ||
		     (s->err_class == DMASTREAM_ERR_SESSION && s->err_detail == ETIMEDOUT);

	/* it may be dialling at this moment; afterwards s->sock does not change */
	cancel_work_sync(&s->sock_work);
	if (!s->sock)
		return;
	reset |= dms_tcp_lent(s) && !bye;
	if (bye)
		dms_sock_say_bye(s);
	sock_detach(s);
	/* a callback may have queued it between */
	cancel_work_sync(&s->sock_work);
	sock_drop(s, reset);
}

/**
 * dms_sock_turn_away() - refuse a connection that gets no session
 * @sock: accepted, without callbacks of ours; is released
 * @reason: enum dmastream_refusal
 * @nonce: of this node
 */
void dms_sock_turn_away(struct socket *sock, u32 reason, const u8 *nonce)
{
	u8 buf[sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_refuse)];
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = buf };

	dms_stat_refused(reason);
	vec.iov_len = dms_wire_refuse_put(buf, reason, 0, nonce);
	kernel_sendmsg(sock, &msg, &vec, 1, vec.iov_len);
	sock_drain(sock, buf, sizeof(buf));
	kernel_sock_shutdown(sock, SHUT_RDWR);
	sock_release(sock);
}
