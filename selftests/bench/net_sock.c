// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transports to compare with: kernel TCP, and rsockets when PERF_RSOCKETS is defined.
 *
 * As a careful program uses TCP: TCP_NODELAY, calls that do not block, epoll; small messages that
 * are ready together go with one call; long ones are sent from where they lie.  A
 * message is a header and its bytes.  Where rsockets have no epoll, rpoll() serves.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf.h"
#include "perf_pattern.h"

#ifdef PERF_RSOCKETS
#include <rdma/rsocket.h>

const char * const perf_net_name = "rsockets";
#define S(call)		r##call
#define s_socket	rsocket
#else
const char * const perf_net_name = "tcp";
#define S(call)		call
#define s_socket	socket
#endif

#define CONNS_MAX	4096
#define OUT_BYTES	(128U << 10)
#define IN_BYTES	(256U << 10)
#define SMALL_MAX	4096U	/* longer messages are not gathered */
#define BACKLOG		128

const bool perf_net_sent_delivers;	/* it is only in the socket's buffer */

struct header {
	uint64_t	tag;
	uint64_t	len;
};

struct conn {
	int		fd;		/* -1: none */
	bool		dirty;		/* something to write, and on the list of those */
	bool		wants_out;	/* epoll watches for room */
	bool		ended;
	unsigned char	*out, *in;
	uint32_t	out_at, out_end;
	uint64_t	long_left, long_len;	/* of the long message behind @out */
	uint64_t	long_tag;
	uint32_t	in_at, in_end;
	struct header	head;
	bool		in_message;
	uint64_t	msg_off;
};

struct sent {
	uint32_t	conn;
	uint64_t	tag;
};

struct perf_net {
	struct perf_net_opts	o;
	int			listener, epoll;
	struct conn		*conns;
	uint32_t		nr_conns;	/* that were ever used */
	uint32_t		readable;	/* may have input: from here on it is looked for */
	uint32_t		*dirty, nr_dirty;
	struct sent		*sent;		/* a ring */
	uint32_t		sent_at, nr_sent, room_sent;
	unsigned char		*source;
	uint32_t		prepared;
	bool			refused;	/* a send, since there was no room */
	bool			moved;		/* bytes have gone out since */
	uint64_t		checked;
};

/* ---- making ---- */

static uint16_t port_of(const struct perf_net_opts *o)
{
	uint32_t hash = 5381;
	const char *p;

	if (o->port)
		return (uint16_t)o->port;
	for (p = o->service; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	return (uint16_t)(20000 + hash % 10000);
}

static int complain(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "%s: %s: %s\n", perf_net_name, what, strerror(err));
	return -err;
}

int perf_net_open(const struct perf_net_opts *o, struct perf_net **out)
{
	struct perf_net *net = calloc(1, sizeof(*net));
	uint32_t len = o->max_send > PERF_BLOCK ? o->max_send : PERF_BLOCK;

	*out = NULL;
	if (!net)
		return -ENOMEM;
	net->o = *o;
	net->listener = -1;
	net->epoll = -1;
	net->conns = calloc(CONNS_MAX, sizeof(*net->conns));
	net->dirty = calloc(CONNS_MAX, sizeof(*net->dirty));
	net->source = calloc(1, len);
	if (!net->conns || !net->dirty || !net->source) {
		perf_net_close(net);
		return -ENOMEM;
	}
	perf_pattern_fill(net->source, o->max_send);
#ifndef PERF_RSOCKETS
	net->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (net->epoll < 0)
		return complain("epoll");
#endif
	*out = net;
	return 0;
}

void perf_net_close(struct perf_net *net)
{
	uint32_t i;

	if (!net)
		return;
	for (i = 0; i < net->nr_conns; i++)
		perf_net_end(net, i);
	if (net->listener >= 0)
		S(close)(net->listener);
	if (net->epoll >= 0)
		close(net->epoll);
	free(net->conns);
	free(net->dirty);
	free(net->source);
	free(net->sent);
	free(net);
}

static int watch(struct perf_net *net, int fd, uint32_t index, uint32_t events, int op)
{
#ifdef PERF_RSOCKETS
	(void)net;
	(void)fd;
	(void)index;
	(void)events;
	(void)op;
	return 0;
#else
	struct epoll_event ev = { .events = events, .data.u32 = index };

	return epoll_ctl(net->epoll, op, fd, &ev) ? complain("epoll") : 0;
#endif
}

/* A network device's name, or an address. */
static int bind_to(const struct perf_net_opts *o, int fd, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1;

	S(setsockopt)(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (o->bind && inet_pton(AF_INET, o->bind, &sin.sin_addr) != 1 &&
	    S(setsockopt)(fd, SOL_SOCKET, SO_BINDTODEVICE, o->bind, strlen(o->bind) + 1))
		return complain(o->bind);
	if (!port && !sin.sin_addr.s_addr)
		return 0;
	return S(bind)(fd, (struct sockaddr *)&sin, sizeof(sin)) ? complain("bind") : 0;
}

static int add_conn(struct perf_net *net, int fd, uint32_t *index)
{
	struct conn *c;
	int one = 1;
	uint32_t i;

	for (i = 0; i < net->nr_conns && net->conns[i].fd >= 0; i++)
		;
	if (i == CONNS_MAX)
		return -EMFILE;
	c = &net->conns[i];
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->out = malloc(OUT_BYTES);
	c->in = malloc(IN_BYTES);
	if (i == net->nr_conns)
		net->nr_conns++;
	*index = i;
	if (!c->out || !c->in)
		return -ENOMEM;
	S(setsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return watch(net, fd, i, EPOLLIN, EPOLL_CTL_ADD);
}

int perf_net_listen(struct perf_net *net)
{
	int ret;

	net->listener = s_socket(AF_INET, SOCK_STREAM, 0);
	if (net->listener < 0)
		return complain("socket");
	ret = bind_to(&net->o, net->listener, port_of(&net->o));
	if (ret)
		return ret;
	if (S(listen)(net->listener, BACKLOG))
		return complain("listen");
	if (S(fcntl)(net->listener, F_SETFL, O_NONBLOCK))
		return complain("O_NONBLOCK");
	return watch(net, net->listener, CONNS_MAX, EPOLLIN, EPOLL_CTL_ADD);
}

int perf_net_connect(struct perf_net *net, uint32_t *conn)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port_of(&net->o)),
	};
	int fd, ret;

	if (inet_pton(AF_INET, net->o.host, &sin.sin_addr) != 1) {
		errno = EINVAL;
		return complain(net->o.host);
	}
	fd = s_socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return complain("socket");
	ret = bind_to(&net->o, fd, 0);
	if (!ret && S(connect)(fd, (struct sockaddr *)&sin, sizeof(sin)))
		ret = complain(net->o.host);
	if (ret) {
		S(close)(fd);
		return ret;
	}
	return add_conn(net, fd, conn);
}

int perf_net_end(struct perf_net *net, uint32_t index)
{
	struct conn *c = &net->conns[index];

	if (index >= net->nr_conns || c->fd < 0)
		return 0;
	S(close)(c->fd);
	free(c->out);
	free(c->in);
	memset(c, 0, sizeof(*c));
	c->fd = -1;
	return 0;
}

/* ---- sending ---- */

static int tell_sent(struct perf_net *net, uint32_t conn, uint64_t tag)
{
	uint32_t i, room;
	struct sent *more;

	if (net->o.server)
		return 0;
	if (net->nr_sent == net->room_sent) {
		room = net->room_sent ? 2 * net->room_sent : 1024;
		more = malloc(room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		for (i = 0; i < net->nr_sent; i++)
			more[i] = net->sent[(net->sent_at + i) % net->room_sent];
		free(net->sent);
		net->sent = more;
		net->sent_at = 0;
		net->room_sent = room;
	}
	net->sent[(net->sent_at + net->nr_sent++) % net->room_sent] =
		(struct sent){ .conn = conn, .tag = tag };
	return 0;
}

/* Bytes that the socket took, 0 when it is full. */
static ssize_t put(struct perf_net *net, struct conn *c, const void *bytes, uint64_t len)
{
	ssize_t n = S(send)(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -errno;
	net->moved |= n > 0;
	return n;
}

/* Writes what is there; 1 when all of it has gone. */
static int write_out(struct perf_net *net, uint32_t index)
{
	struct conn *c = &net->conns[index];
	ssize_t n;

	while (c->out_at < c->out_end) {
		n = put(net, c, c->out + c->out_at, c->out_end - c->out_at);
		if (n <= 0)
			return (int)n;
		c->out_at += (uint32_t)n;
	}
	c->out_at = 0;
	c->out_end = 0;
	while (c->long_left) {
		n = put(net, c, net->source + c->long_len - c->long_left, c->long_left);
		if (n <= 0)
			return (int)n;
		c->long_left -= (uint64_t)n;
		if (!c->long_left && tell_sent(net, index, c->long_tag))
			return -ENOMEM;
	}
	return 1;
}

static int flush_conn(struct perf_net *net, uint32_t index)
{
	struct conn *c = &net->conns[index];
	int ret = c->fd < 0 || c->ended ? 1 : write_out(net, index);

	/* the reader's side will say that it broke */
	if (ret < 0 && ret != -ENOMEM) {
		c->ended = true;
		ret = 1;
	}
	if (ret >= 0 && c->fd >= 0 && c->wants_out != !ret) {
		c->wants_out = !ret;
		if (watch(net, c->fd, index, EPOLLIN | (ret ? 0 : EPOLLOUT), EPOLL_CTL_MOD))
			return -EIO;
	}
	return ret;
}

int perf_net_flush(struct perf_net *net)
{
	uint32_t i, kept = 0;
	int ret;

	net->prepared = 0;
	for (i = 0; i < net->nr_dirty; i++) {
		ret = flush_conn(net, net->dirty[i]);
		if (ret < 0)
			return ret;
		if (ret)
			net->conns[net->dirty[i]].dirty = false;
		else
			net->dirty[kept++] = net->dirty[i];
	}
	net->nr_dirty = kept;
	return 0;
}

static void make_dirty(struct perf_net *net, uint32_t index)
{
	if (net->conns[index].dirty)
		return;
	net->conns[index].dirty = true;
	net->dirty[net->nr_dirty++] = index;
}

static bool has_room(const struct conn *c, uint32_t len)
{
	return !c->long_left && c->out_end + sizeof(struct header) +
	       (len > SMALL_MAX ? 0 : len) <= OUT_BYTES;
}

int perf_net_send(struct perf_net *net, uint32_t index, uint64_t tag, uint32_t len)
{
	struct header head = { .tag = tag, .len = len };
	struct conn *c = &net->conns[index];
	int ret = 0;

	if (c->ended)
		return -EPIPE;
	if (!has_room(c, len)) {
		ret = perf_net_flush(net);
		net->refused = !ret && !has_room(c, len);
		if (ret || net->refused)
			return ret ? ret : -EAGAIN;
	}
	memcpy(c->out + c->out_end, &head, sizeof(head));
	c->out_end += sizeof(head);
	if (len > SMALL_MAX) {
		c->long_left = len;
		c->long_len = len;
		c->long_tag = tag;
	} else {
		memcpy(c->out + c->out_end, net->source, len);
		c->out_end += len;
		ret = tell_sent(net, index, tag);
	}
	make_dirty(net, index);
	if (!ret && (++net->prepared == net->o.batch || len > SMALL_MAX))
		ret = perf_net_flush(net);
	return ret;
}

/* ---- receiving ---- */

static int check(struct perf_net *net, struct conn *c, uint32_t n)
{
	int64_t good;

	if (!net->o.check)
		return 0;
	good = perf_pattern_check(c->in + c->in_at, c->msg_off, n);
	if (good < 0) {
		fprintf(stderr, "%s: other bytes than were sent\n", perf_net_name);
		return -EBADMSG;
	}
	net->checked += (uint64_t)good;
	return 0;
}

/* From what was read: 1 with an event, 0 when more must be read first. */
static int parse(struct perf_net *net, uint32_t index, struct perf_event *ev)
{
	struct conn *c = &net->conns[index];
	uint32_t have = c->in_end - c->in_at, n;
	int ret;

	if (!c->in_message) {
		if (have < sizeof(c->head))
			return 0;
		memcpy(&c->head, c->in + c->in_at, sizeof(c->head));
		c->in_at += sizeof(c->head);
		have -= sizeof(c->head);
		c->in_message = true;
		c->msg_off = 0;
	}
	n = have < c->head.len - c->msg_off ? have : (uint32_t)(c->head.len - c->msg_off);
	ret = check(net, c, n);
	if (ret)
		return ret;
	c->in_at += n;
	c->msg_off += n;
	if (c->msg_off < c->head.len)
		return 0;
	c->in_message = false;
	*ev = (struct perf_event){ .kind = PERF_EV_MSG, .conn = index, .tag = c->head.tag,
				   .len = c->head.len };
	return 1;
}

/* One read: 1 when there was something, 0 when not; END when it was the last. */
static int read_in(struct perf_net *net, uint32_t index)
{
	struct conn *c = &net->conns[index];
	ssize_t n;

	memmove(c->in, c->in + c->in_at, c->in_end - c->in_at);
	c->in_end -= c->in_at;
	c->in_at = 0;
	n = S(recv)(c->fd, c->in + c->in_end, IN_BYTES - c->in_end, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	if (n <= 0) {
		c->ended = true;
		return 1;
	}
	c->in_end += (uint32_t)n;
	return 1;
}

/* What is readable of one connection: 1 with an event. */
static int take_from(struct perf_net *net, uint32_t index, struct perf_event *ev)
{
	struct conn *c = &net->conns[index];
	int ret;

	if (c->fd < 0)
		return 0;
	for (;;) {
		bool full = c->in_end == IN_BYTES;

		ret = parse(net, index, ev);
		if (ret)
			return ret;
		if (c->ended) {
			*ev = (struct perf_event){ .kind = PERF_EV_END, .conn = index };
#ifndef PERF_RSOCKETS
			epoll_ctl(net->epoll, EPOLL_CTL_DEL, c->fd, NULL);
#endif
			return 1;
		}
		/* a short read has emptied the socket: the wait says when there is more */
		if (c->in_end && !full)
			return 0;
		if (!read_in(net, index))
			return 0;
	}
}

static int take_conn(struct perf_net *net, struct perf_event *ev)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd = S(accept)(net->listener, (struct sockaddr *)&sin, &len);

	if (fd < 0)
		return 0;
	*ev = (struct perf_event){ .kind = PERF_EV_OPEN };
	return add_conn(net, fd, &ev->conn) ? -EIO : 1;
}

#ifdef PERF_RSOCKETS
/* A client with one connection blocks in a read, which takes less than rpoll(). */
static bool may_block(const struct perf_net *net, uint64_t deadline_ns)
{
	return !net->o.server && net->nr_conns == 1 && net->conns[0].fd >= 0 && !net->o.poll &&
	       !net->conns[0].wants_out && !deadline_ns;
}

static int wait_any(struct perf_net *net, uint64_t deadline_ns, uint32_t *index)
{
	static struct pollfd fds[CONNS_MAX + 1];
	static uint32_t who[CONNS_MAX + 1];
	uint64_t now = perf_now_ns();
	int i, n = 0, ms = -1;
	uint32_t c;
	char byte;

	if (may_block(net, deadline_ns)) {
		*index = 0;
		return rrecv(net->conns[0].fd, &byte, 1, MSG_PEEK) < 0 && errno == EINTR ? -EINTR : 1;
	}
	for (c = 0; c < net->nr_conns; c++) {
		if (net->conns[c].fd < 0)
			continue;
		who[n] = c;
		fds[n++] = (struct pollfd){ .fd = net->conns[c].fd,
			.events = POLLIN | (net->conns[c].wants_out ? POLLOUT : 0) };
	}
	who[n] = CONNS_MAX;
	if (net->listener >= 0)
		fds[n++] = (struct pollfd){ .fd = net->listener, .events = POLLIN };
	if (deadline_ns)
		ms = deadline_ns <= now ? 0 : (int)((deadline_ns - now) / 1000000) + 1;
	i = rpoll(fds, (nfds_t)n, net->o.poll ? 0 : ms);
	if (i < 0)
		return errno == EINTR ? -EINTR : complain("rpoll");
	for (i = 0; i < n; i++) {
		if (!fds[i].revents)
			continue;
		*index = who[i];
		return 1;
	}
	return net->o.poll && (!deadline_ns || perf_now_ns() < deadline_ns) ? 0 : -ETIME;
}
#else
static int wait_any(struct perf_net *net, uint64_t deadline_ns, uint32_t *index)
{
	uint64_t now = deadline_ns ? perf_now_ns() : 0;
	uint64_t left = deadline_ns > now && !net->o.poll ? deadline_ns - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / 1000000000),
			       .tv_nsec = (long)(left % 1000000000) };
	struct epoll_event ev;
	int n;

	n = epoll_pwait2(net->epoll, &ev, 1, deadline_ns || net->o.poll ? &ts : NULL, NULL);
	if (n < 0)
		return errno == EINTR ? -EINTR : complain("epoll");
	if (!n)
		return net->o.poll && (!deadline_ns || now < deadline_ns) ? 0 : -ETIME;
	*index = ev.data.u32;
	return 1;
}
#endif

static int on_ready(struct perf_net *net, uint32_t index, struct perf_event *ev)
{
	if (index == CONNS_MAX)
		return take_conn(net, ev);
	if (net->conns[index].wants_out && flush_conn(net, index) < 0)
		return -EIO;
	net->readable = index;
	if (net->conns[index].in_end == net->conns[index].in_at)
		net->conns[index].in_end = net->conns[index].in_at = 0;
	else if (net->conns[index].fd >= 0)
		read_in(net, index);
	return take_from(net, index, ev);
}

int perf_net_next(struct perf_net *net, struct perf_event *ev, uint64_t deadline_ns)
{
	uint32_t index = 0;
	int ret;

	for (;;) {
		if (net->nr_sent) {
			*ev = (struct perf_event){ .kind = PERF_EV_SENT,
				.conn = net->sent[net->sent_at].conn,
				.tag = net->sent[net->sent_at].tag };
			net->sent_at = (net->sent_at + 1) % net->room_sent;
			net->nr_sent--;
			return 1;
		}
		/* the one that was read last may have more messages in its buffer */
		ret = net->readable < net->nr_conns ? take_from(net, net->readable, ev) : 0;
		if (ret)
			return ret;
		net->readable = CONNS_MAX;
		ret = perf_net_flush(net);
		if (ret)
			return ret;
		if (net->refused && net->moved) {
			net->refused = net->moved = false;
			return -EINTR;
		}
		if (net->nr_sent)
			continue;
		ret = wait_any(net, deadline_ns, &index);
		if (ret > 0)
			ret = on_ready(net, index, ev);
		if (ret)
			return ret;
	}
}

uint64_t perf_net_checked(const struct perf_net *net)
{
	return net->checked;
}
