// SPDX-License-Identifier: GPL-2.0-only
/*
 * A transport to compare with: RDS over RDMA, as a program uses it.
 *
 * RDS has no connections: a socket sends datagrams, in order and once, to other
 * sockets.  So all "connections" of a client are its one socket, and a server knows
 * one for each address that it has heard of.  Messages are up to 1 MiB less the tag.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/rds.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "perf.h"
#include "perf_pattern.h"

#define PORT		4400
#define PEERS_MAX	1024
#define SENT_MAX	4096
#define LARGEST		((1U << 20) - 8)

const bool perf_net_sent_delivers;
const char * const perf_net_name = "rds";

struct perf_net {
	struct perf_net_opts	o;
	int			fd;
	struct sockaddr_in	peers[PEERS_MAX];	/* a client's first one is the server */
	uint32_t		nr_peers;
	unsigned char		*source, *in;
	uint64_t		sent[SENT_MAX];		/* tags, a ring */
	uint32_t		sent_at, nr_sent;
	bool			refused;
	uint64_t		checked;
};

static int complain(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "rds: %s: %s\n", what, strerror(err));
	return -err;
}

static int open_socket(struct perf_net *net)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int trans = RDS_TRANS_IB, bytes = 4 << 20;

	if (!net->o.bind || inet_pton(AF_INET, net->o.bind, &sin.sin_addr) != 1) {
		errno = EINVAL;
		return complain("--bind=ADDRESS is needed");
	}
	/* processes of a client: any free port */
	sin.sin_port = htons(net->o.server ? PORT : 0);
	net->fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (net->fd < 0)
		return complain("socket");
	/* or it would take TCP where RDMA does not do */
	if (setsockopt(net->fd, SOL_RDS, SO_RDS_TRANSPORT, &trans, sizeof(trans)))
		return complain("RDS over RDMA");
	setsockopt(net->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
	setsockopt(net->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	if (bind(net->fd, (struct sockaddr *)&sin, sizeof(sin)))
		return complain(net->o.bind);
	return fcntl(net->fd, F_SETFL, O_NONBLOCK) ? complain("O_NONBLOCK") : 0;
}

int perf_net_open(const struct perf_net_opts *o, struct perf_net **out)
{
	struct perf_net *net = calloc(1, sizeof(*net));
	int ret;

	*out = NULL;
	if (!net)
		return -ENOMEM;
	net->o = *o;
	net->fd = -1;
	net->source = calloc(1, o->max_send > PERF_BLOCK ? o->max_send : PERF_BLOCK);
	net->in = calloc(1, LARGEST);
	ret = net->source && net->in ? open_socket(net) : -ENOMEM;
	if (ret) {
		perf_net_close(net);
		return ret;
	}
	perf_pattern_fill(net->source, o->max_send);
	*out = net;
	return 0;
}

void perf_net_close(struct perf_net *net)
{
	if (!net)
		return;
	if (net->fd >= 0)
		close(net->fd);
	free(net->source);
	free(net->in);
	free(net);
}

int perf_net_listen(struct perf_net *net)
{
	(void)net;
	return 0;
}

int perf_net_connect(struct perf_net *net, uint32_t *conn)
{
	struct sockaddr_in *sin = &net->peers[0];

	sin->sin_family = AF_INET;
	sin->sin_port = htons(PORT);
	if (inet_pton(AF_INET, net->o.host, &sin->sin_addr) != 1) {
		errno = EINVAL;
		return complain(net->o.host);
	}
	net->nr_peers = 1;
	*conn = 0;
	return 0;
}

int perf_net_end(struct perf_net *net, uint32_t conn)
{
	(void)net;
	(void)conn;
	return 0;
}

int perf_net_send(struct perf_net *net, uint32_t conn, uint64_t tag, uint32_t len)
{
	struct iovec iov[2] = {
		{ .iov_base = &tag, .iov_len = sizeof(tag) },
		{ .iov_base = net->source, .iov_len = len },
	};
	struct msghdr msg = {
		.msg_name = &net->peers[conn], .msg_namelen = sizeof(net->peers[conn]),
		.msg_iov = iov, .msg_iovlen = 2,
	};

	if (len > LARGEST)
		return -EMSGSIZE;
	net->refused = net->nr_sent == SENT_MAX;
	if (!net->refused && sendmsg(net->fd, &msg, 0) < 0) {
		if (errno != EAGAIN && errno != ENOBUFS)
			return -errno;
		net->refused = true;
	}
	if (net->refused)
		return -EAGAIN;
	if (!net->o.server)
		net->sent[(net->sent_at + net->nr_sent++) % SENT_MAX] = tag;
	return 0;
}

int perf_net_flush(struct perf_net *net)
{
	(void)net;
	return 0;
}

static int peer_of(struct perf_net *net, const struct sockaddr_in *sin, uint32_t *conn)
{
	uint32_t i;

	for (i = 0; i < net->nr_peers; i++)
		if (net->peers[i].sin_port == sin->sin_port &&
		    net->peers[i].sin_addr.s_addr == sin->sin_addr.s_addr)
			break;
	if (i == PEERS_MAX)
		return -EMFILE;
	if (i == net->nr_peers)
		net->peers[net->nr_peers++] = *sin;
	*conn = i;
	return 0;
}

static int check(struct perf_net *net, uint64_t len)
{
	int64_t good = net->o.check ? perf_pattern_check(net->in, 0, len) : 0;

	if (good < 0) {
		fprintf(stderr, "rds: other bytes than were sent\n");
		return -EBADMSG;
	}
	net->checked += (uint64_t)good;
	return 0;
}

/* 1 with an event, 0 when nothing is there. */
static int receive(struct perf_net *net, struct perf_event *ev)
{
	struct sockaddr_in sin;
	struct iovec iov[2] = {
		{ .iov_base = &ev->tag, .iov_len = sizeof(ev->tag) },
		{ .iov_base = net->in, .iov_len = LARGEST },
	};
	struct msghdr msg = {
		.msg_name = &sin, .msg_namelen = sizeof(sin), .msg_iov = iov, .msg_iovlen = 2,
	};
	ssize_t n = recvmsg(net->fd, &msg, 0);
	int ret;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n < (ssize_t)sizeof(ev->tag))
		return -EPROTO;
	ev->kind = PERF_EV_MSG;
	ev->len = (uint64_t)n - sizeof(ev->tag);
	ret = check(net, ev->len);
	if (!ret)
		ret = peer_of(net, &sin, &ev->conn);
	return ret ? ret : 1;
}

int perf_net_next(struct perf_net *net, struct perf_event *ev, uint64_t deadline_ns)
{
	uint64_t now;
	int ret;

	for (;;) {
		struct pollfd p = { .fd = net->fd,
				    .events = POLLIN | (net->refused ? POLLOUT : 0) };
		struct timespec ts = { 0 };

		if (net->nr_sent) {
			*ev = (struct perf_event){ .kind = PERF_EV_SENT,
						   .tag = net->sent[net->sent_at] };
			net->sent_at = (net->sent_at + 1) % SENT_MAX;
			net->nr_sent--;
			return 1;
		}
		ret = receive(net, ev);
		if (ret)
			return ret;
		now = deadline_ns ? perf_now_ns() : 0;
		if (deadline_ns && now >= deadline_ns)
			return -ETIME;
		ts.tv_sec = (time_t)((deadline_ns - now) / 1000000000);
		ts.tv_nsec = (long)((deadline_ns - now) % 1000000000);
		if (net->o.poll)
			ts = (struct timespec){ 0 };
		ret = ppoll(&p, 1, deadline_ns || net->o.poll ? &ts : NULL, NULL);
		if (ret < 0)
			return -errno;
		if (p.revents & POLLOUT) {
			net->refused = false;
			return -EINTR;
		}
	}
}

uint64_t perf_net_checked(const struct perf_net *net)
{
	return net->checked;
}
