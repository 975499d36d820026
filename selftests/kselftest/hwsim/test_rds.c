// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS over two simulated NICs, of one guest or of two: a kernel client of RDMA that was not
 * written with this NIC in mind.  Messages of many sizes go both ways at once, and are
 * checked for content and order; the NICs' counters tell that they went over them.
 *
 *	dms-veth; modprobe rds_rdma; test_rds 10.78.0.1 10.78.0.2 hw-a hw-b
 *	modprobe rds_rdma; test_rds $DMS_ADDR $DMS_PEERS hw0		on each of two nodes
 *
 * In one guest it needs addresses of one prefix on two devices (see dms-veth).  Prints KTAP.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES	400
#define LARGEST		(1 << 20)
#define SIZES		10
#define PORT		4400

struct side {
	int fd;
	const char *addr;
	const char *dev;
	int who;
	unsigned int sent;
	unsigned int received;
	unsigned long long bytes;
	unsigned long long counted;	/* by the NIC, before */
	struct sockaddr_in peer;
};

static const unsigned int sizes[SIZES] = { 1, 64, 4095, 4096, 4097, 65536, 100000, 8, LARGEST, 777 };
static unsigned char out[LARGEST], in[LARGEST];
static int failed, number;

static void result(int good, const char *what)
{
	failed += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", ++number, what);
	fflush(stdout);
}

static unsigned int size_of(unsigned int n)
{
	return sizes[n % SIZES];
}

static void fill(unsigned char *to, unsigned int len, unsigned int n, int who)
{
	unsigned int x = n * 2654435761U + who + 1, i;

	for (i = 0; i < len; i++) {
		x = x * 1103515245U + 12345;
		to[i] = x >> 16;
	}
}

static unsigned long long counter(const char *dev, const char *name)
{
	unsigned long long v = 0;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", dev, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &v) != 1)
		printf("# no counter %s\n", path);
	if (f)
		fclose(f);
	return v;
}

static int open_side(struct side *s, const char *peer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(PORT + s->who) };
	int trans = RDS_TRANS_IB, buf = 4 << 20;

	s->fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (s->fd < 0)
		return -1;
	/* or it would take TCP when RDMA does not do */
	if (setsockopt(s->fd, SOL_RDS, SO_RDS_TRANSPORT, &trans, sizeof(trans)))
		return -1;
	setsockopt(s->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buf, sizeof(buf));
	setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &buf, sizeof(buf));
	inet_pton(AF_INET, s->addr, &sin.sin_addr);
	if (bind(s->fd, (struct sockaddr *)&sin, sizeof(sin)))
		return -1;
	s->peer = sin;
	s->peer.sin_port = htons(PORT + !s->who);
	inet_pton(AF_INET, peer, &s->peer.sin_addr);
	s->counted = counter(s->dev, "tx_bytes");
	return 0;
}

/* 1: something was sent; 0: not now; -1: an error */
static int send_one(struct side *s)
{
	unsigned int len = size_of(s->sent);
	ssize_t n;

	if (s->sent == MESSAGES)
		return 0;
	fill(out, len, s->sent, s->who);
	n = sendto(s->fd, out, len, MSG_DONTWAIT, (struct sockaddr *)&s->peer, sizeof(s->peer));
	if (n < 0)
		return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
	s->sent++;
	s->bytes += n;
	return n == len ? 1 : -1;
}

static int receive_one(struct side *s)
{
	static unsigned char want[LARGEST];
	unsigned int len = size_of(s->received);
	ssize_t n = recv(s->fd, in, sizeof(in), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	fill(want, len, s->received, !s->who);
	if (n != len || memcmp(in, want, len)) {
		printf("# message %u: %zd bytes, not %u, or other ones\n", s->received, n, len);
		return -1;
	}
	s->received++;
	return 1;
}

static int moved_all(const struct side *s, int n)
{
	while (n--)
		if (s[n].received < MESSAGES || s[n].sent < MESSAGES)
			return 0;
	return 1;
}

static int traffic(struct side *s, int sides, unsigned int seconds)
{
	struct pollfd p[2] = { { .fd = s[0].fd }, { .fd = s[sides - 1].fd } };
	time_t end = time(NULL) + seconds;
	int i, n, busy;

	while (!moved_all(s, sides)) {
		busy = 0;
		for (i = 0; i < sides; i++) {
			n = send_one(&s[i]);
			if (n >= 0)
				busy |= n, n = receive_one(&s[i]);
			if (n < 0) {
				printf("# %s: %s\n", s[i].addr, strerror(errno));
				return -1;
			}
			busy |= n;
			p[i].events = POLLIN | (s[i].sent < MESSAGES ? POLLOUT : 0);
		}
		if (!busy)
			poll(p, sides, 100);
		if (time(NULL) > end) {
			printf("# time is over\n");
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *scale = getenv("DMS_TIMEOUT_SCALE"), *node = getenv("DMS_NODE");
	int sides = argc == 5 ? 2 : 1, i, good;
	struct side s[2] = { };

	if (argc != 5 && argc != 4) {
		fprintf(stderr, "usage: %s ADDRESS ADDRESS DEVICE [DEVICE]\n", argv[0]);
		return 2;
	}
	for (i = 0; i < sides; i++) {
		s[i].addr = argv[1 + i];
		s[i].dev = argv[3 + i];
		s[i].who = sides == 2 ? i : node && atoi(node);
		if (open_side(&s[i], argv[1 + !i])) {
			printf("# %s: %s\n", s[i].addr, strerror(errno));
			result(0, "an RDS socket over RDMA on each address");
			return 1;
		}
	}
	result(1, "an RDS socket over RDMA on each address");
	good = !traffic(s, sides, 30 * (scale ? atoi(scale) : 1));
	for (i = 0; i < sides; i++)
		printf("# %s: sent %u, received %u messages\n", s[i].addr, s[i].sent, s[i].received);
	result(good, "content and order of messages both ways");
	/* who leaves first would take back what the other has not received */
	if (sides == 1 && system("dms-barrier rds-over"))
		result(0, "the other node came to the end");
	/* counters are read anew at most each 10 ms */
	usleep(50000);
	for (i = 0; i < sides; i++) {
		unsigned long long n = counter(s[i].dev, "tx_bytes") - s[i].counted;

		printf("# %s: %llu bytes of messages, %llu by the NIC\n", s[i].dev, s[i].bytes, n);
		result(s[i].bytes && n >= s[i].bytes, "the NIC sent them");
	}
	if (sides == 1)
		result(counter(s[0].dev, "rx_frames") > MESSAGES, "as frames between two guests");
	printf("%d passed, %d failed, 0 skipped\n", number - failed, failed);
	return !!failed;
}
