// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand streams open at once, each of which carries a message both ways: queue
 * pairs and memory regions are those of one stream, and an idle stream costs no more
 * than 1 KiB of the kernel's memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kt.h"
#include "peer.h"

#define PROCESSES	4
#define LIMIT		1024		/* bytes of an idle stream */
/* What a stream takes besides: places in two tables, a landing, the name of its service. */
#define LANDING		128
#define LONG		20000		/* is pulled */

static struct peer_cfg opener = {
	.small_n = 4096, .small_len = 64, .large_n = 8, .large_len = 32768,
	.sq = 256, .cq = 8192, .recv_min = 4096, .tx_bytes = 1 << 20,
};

static struct peer_cfg acceptor = {
	.small_n = 16384, .small_len = 64, .large_n = 8, .large_len = 32768,
	.sq = 256, .cq = 32768, .recv_min = 16384, .tx_bytes = 1 << 20,
};

static unsigned int per_child;

/* ---- what the kernel has ---- */

struct slab {
	unsigned long	objects, size, bytes;
};

static bool slab_of(const char *name, struct slab *slab)
{
	unsigned long active, num, size, per_slab, pages, active_slabs, slabs;
	char line[512], got[64];
	bool found = false;
	FILE *f = fopen("/proc/slabinfo", "r");

	memset(slab, 0, sizeof(*slab));
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   "%63s %lu %lu %lu %lu %lu : tunables %*u %*u %*u : slabdata %lu %lu",
			   got, &active, &num, &size, &per_slab, &pages, &active_slabs,
			   &slabs) != 8 || strcmp(got, name))
			continue;
		slab->objects = active;
		slab->size = size;
		slab->bytes = slabs * pages * sysconf(_SC_PAGESIZE);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

static long available(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %ld kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/* ---- a child: opens, sends, waits for the answers ---- */

static void child_wait(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		exit(3);
}

static int child(unsigned int nr, int go, int done)
{
	struct peer_pair p = { 0 };
	unsigned int i = 0;

	peer_watchdog(600);
	snprintf(p.service, sizeof(p.service), "10k");
	peer_addr_of("DMS_ADDR", &p.addr);
	child_wait(go);
	p.a = peer_end_new(&opener);
	peer_give_all(p.a);
	if (!nr && peer_pair_connect(&p, i++))
		return 1;
	if (write(done, "1", 1) != 1)
		return 3;
	child_wait(go);
	for (; i < per_child; i++)
		if (peer_pair_connect(&p, nr * per_child + i))
			return 1;
	if (write(done, "2", 1) != 1)
		return 3;
	child_wait(go);
	/* every hundredth is pulled */
	for (i = 0; i < per_child; i++)
		peer_send(&p, p.a, i, i % 100 ? i % 64 + 1 : LONG, 0);
	peer_settle(&p, per_child, 0);
	for (i = 0; i < per_child; i++)
		if (p.a->streams[i].rx_msgs != 1)
			peer_fail("stream %u has %llu answers", i,
				  (unsigned long long)p.a->streams[i].rx_msgs);
	if (write(done, "3", 1) != 1)
		return 3;
	child_wait(go);
	peer_pair_close(&p);
	return peer_errors ? 2 : 0;
}

/* ---- the parent: accepts, answers, measures ---- */

static struct {
	struct peer_end			*e;
	struct dmastream_listener	*listener;
	unsigned int			want_streams;
	uint64_t			want_msgs;
	int				go[PROCESSES], done[PROCESSES];
} parent;

static bool accept_and_receive(void *arg)
{
	struct dmastream_stream_opts opts;
	uint32_t handle;

	(void)arg;
	peer_opts(parent.e, &opts);
	while (parent.e->nr < parent.want_streams &&
	       !dmastream_accept(parent.listener, &opts, 0, &handle, NULL))
		peer_stream_new(parent.e, handle, 0x8000 + parent.e->nr % 0x7fff);
	return parent.e->nr == parent.want_streams && parent.e->rx_msgs == parent.want_msgs &&
	       !parent.e->out;
}

static void children_go(void)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i++)
		if (write(parent.go[i], "g", 1) != 1)
			kt_die("write to a child");
}

static void children_done(const char *what)
{
	unsigned int i;
	char c;

	peer_waits_for("%s: children", what);
	for (i = 0; i < PROCESSES; i++)
		if (read(parent.done[i], &c, 1) != 1)
			kt_ok(false, "%s: child %u goes on", what, i);
}

static void phase(unsigned int streams, unsigned int msgs, const char *what)
{
	children_go();
	parent.want_streams = streams;
	parent.want_msgs = msgs;
	peer_run(parent.e, NULL, accept_and_receive, NULL, 300000, what);
	kt_is(parent.e->nr, streams, "%s: accepted", what);
	kt_is(parent.e->rx_msgs, msgs, "%s: messages", what);
}

static void answer(void)
{
	struct peer_pair p = { .b = parent.e };
	unsigned int i;

	for (i = 0; i < parent.e->nr; i++)
		peer_send(&p, parent.e, i, i % 64 + 1, 0);
	peer_settle(&p, 0, 0);
}

/*
 * Both ends of each are in this guest.  Twice: by the slab that streams have, which is
 * exact, and by what the kernel has left, which counts the programs' memory as well.
 */
static void weigh(const struct slab *before, long kib, unsigned int streams, const char *when)
{
	unsigned int ends = 2 * streams;
	const char *debug = getenv("DMS_DEBUG");
	struct slab now, pulls;
	double each, all;

	if (debug && *debug) {		/* locks and works are larger, and there is red around */
		kt_skip("%s: what streams take on the debug kernel", when);
		return;
	}
	all = (kib - available()) * 1024.0 / ends;
	printf("# %s: %.1f bytes less available for each, the test's own included\n", when, all);
	kt_ok(all > 0 && all <= 1.5 * LIMIT, "%s: %.0f bytes by what is left, of the order", when,
	      all);
	if (!kt_ok(slab_of("dms_stream", &now), "%s: dms_stream is in /proc/slabinfo", when))
		return;
	slab_of("dms_pull", &pulls);
	each = (double)(now.bytes - before->bytes) / ends;
	printf("# %s: %u ends of streams; struct of %lu bytes, %.1f bytes of slab each; %lu of dms_pull, %lu bytes\n",
	       when, ends, now.size, each, pulls.objects, pulls.bytes);
	kt_ok(now.objects >= ends, "%s: the slab has them: %lu", when, now.objects);
	kt_ok(each + LANDING <= LIMIT, "%s: an idle stream and its landing take %.0f bytes, at most %d",
	      when, each + LANDING, LIMIT);
}

static void start(void)
{
	int go[2], done[2];
	unsigned int i;
	pid_t pid;

	for (i = 0; i < PROCESSES; i++) {
		if (pipe(go) || pipe(done))
			kt_die("pipe");
		fflush(stdout);
		pid = fork();
		if (!pid)
			_exit(child(i, go[0], done[1]));
		parent.go[i] = go[1];
		parent.done[i] = done[0];
		close(done[1]);
		close(go[0]);
	}
}

int main(void)
{
	int qp[2], mr[2], status, bad = 0;
	struct slab before;
	unsigned int streams;
	long kib;

	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	per_child = kt_quick() ? 100 : 2500;
	streams = PROCESSES * per_child;
	start();
	peer_watchdog(600);
	parent.e = peer_end_new(&acceptor);
	peer_give_all(parent.e);
	kt_is(dmastream_listen(parent.e->ctx, "10k", 1024, 0, &parent.listener), 0, "LISTEN");

	phase(1, 0, "one stream");
	children_done("one stream");
	qp[0] = peer_resources("qp");
	mr[0] = peer_resources("mr");
	slab_of("dms_stream", &before);
	kib = available();
	KT_RUN(phase(streams, 0, "all streams"));
	children_done("all streams");
	weigh(&before, kib, streams - 1, "open");
	KT_RUN(phase(streams, streams, "all carry"));
	KT_RUN(answer());
	children_done("all carry");
	/* what was needed for pulling goes in a few seconds */
	kt_sleep_ms(5000);
	weigh(&before, kib, streams - 1, "idle again");
	qp[1] = peer_resources("qp");
	mr[1] = peer_resources("mr");
	kt_is(qp[1], qp[0], "queue pairs with %u streams as with one", streams);
	kt_is(mr[1], mr[0], "memory regions with %u streams as with one", streams);
	kt_ok(qp[0] > 1 && mr[0] > 0, "there are some (%d, %d)", qp[0], mr[0]);
	kt_is(peer_errors, 0, "contents and order");
	peer_check_paths("with all streams");
	children_go();
	peer_waits_for("children to end");
	while (wait(&status) > 0)
		bad += status != 0;
	kt_is(bad, 0, "children that failed");
	dmastream_listener_close(parent.listener);
	peer_end_free(parent.e);
	peer_check_gauges();
	return kt_end();
}
