// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on cue, with traffic beside them: each file of debugfs's dmastream/fault is
 * used once and more, must say that the fault struck, and what users see of it must be
 * what Documentation/fault-injection.rst says.  Afterwards a new pair of streams works
 * and nothing is left.  The module has fault_injection=1 and a short session_idle_ms.
 */
#define _GNU_SOURCE
#include "../kt.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "life.h"

#define DIR_FAULT	"/sys/kernel/debug/dmastream/fault/"
#define SMALL		3000U

/* ---- the files ---- */

/* 0 or -errno. */
static int put(const char *file, const char *text)
{
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DIR_FAULT "%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : n;
	close(fd);
	return n < 0 ? n : n == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* A number after @word in the line that begins with @name ("": the first); or -1. */
static long long get(const char *file, const char *name, const char *word)
{
	char path[128], line[256];
	long long value = -1;
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), DIR_FAULT "%s", file);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (value < 0 && fgets(line, sizeof(line), f)) {
		if (*name && (strncmp(line, name, strlen(name)) || line[strlen(name)] != ' '))
			continue;
		at = strstr(line, word);
		if (at)
			value = atoll(at + strlen(word));
	}
	fclose(f);
	return value;
}

static long long hits(const char *file, const char *name)
{
	return get(file, name, "hits ");
}

/* ---- a pair of streams ---- */

struct pair {
	struct life_end	a, b;
	uint32_t	sa, sb;
};

static int pair_open(struct pair *p)
{
	int err;

	memset(p, 0, sizeof(*p));
	err = life_open(&p->a);
	if (!err)
		err = life_open(&p->b);
	if (!err)
		err = life_give_all(&p->a);
	if (!err)
		err = life_give_all(&p->b);
	if (!err)
		err = life_link(&p->a, &p->b, &p->sa, &p->sb);
	return err;
}

static void pair_close(struct pair *p)
{
	if (p->sa)
		dmastream_stream_close(p->a.ctx, p->sa, DMASTREAM_CLOSE_ABORT, 60000);
	if (p->sb)
		dmastream_stream_close(p->b.ctx, p->sb, DMASTREAM_CLOSE_ABORT, 60000);
	life_close(&p->a);
	life_close(&p->b);
}

/* Messages of both kinds, until one fails or so many went over. */
static int traffic(struct pair *p, int n)
{
	int i, err = 0;

	for (i = 0; i < n && !err; i++)
		err = life_pass(&p->a, p->sa, &p->b, i % 2 ? LIFE_SLOT : SMALL, i + 1);
	return err;
}

static struct pair *begin(const char *what)
{
	static struct pair p;
	int err = pair_open(&p);

	if (!err)
		err = traffic(&p, 4);
	kt_is(err, 0, "%s: streams before it", what);
	return &p;
}

/* What was armed is taken away; everything goes; the next ones work. */
static void end(struct pair *p, const char *what)
{
	int err;

	put("disarm", "1");
	pair_close(p);
	kt_ok(life_empty(NULL), "%s: nothing is left of it", what);
	err = pair_open(p);
	if (!err)
		err = traffic(p, 4);
	kt_is(err, 0, "%s: the next streams work", what);
	pair_close(p);
	if (!life_empty(NULL))
		kt_ok(false, "%s: and nothing is left of those", what);
}

static uint32_t class_of(struct life_end *e, uint32_t stream)
{
	struct dmastream_stream_query q = { 0 };

	return dmastream_stream_query(e->ctx, stream, &q) ? 0 : q.err_class;
}

/* Are both told, and one of them that its path failed?  The other may hear of the session. */
static bool path_failed(struct pair *p)
{
	uint64_t limit = kt_now_ns() + 5000000000ULL * kt_scale();
	uint32_t a, b;

	do {
		a = class_of(&p->a, p->sa);
		b = class_of(&p->b, p->sb);
		kt_sleep_ms(1);
	} while ((!a || !b) && kt_now_ns() < limit);
	printf("# classes of the two ends: %u, %u\n", a, b);
	return a && b && (a == DMASTREAM_ERR_PATH || b == DMASTREAM_ERR_PATH);
}

static uint64_t now_ms(void)
{
	return kt_now_ns() / 1000000;
}

/* ---- who may do what ---- */

static const char * const names[] = {
	"qp_error", "drop_acks", "drop_packets", "delay_acks_ms", "delay_completions_ms",
	"refuse_connects", "refuse_hellos", "fail_post", "fail_alloc", "peer", "disarm",
};

static void test_modes(void)
{
	char path[128];
	struct stat st;
	size_t i, bad = 0;
	pid_t pid;

	for (i = 0; i < KT_ARRAY(names); i++) {
		snprintf(path, sizeof(path), DIR_FAULT "%s", names[i]);
		bad += stat(path, &st) || (st.st_mode & 0177) || st.st_uid;
	}
	kt_is(bad, 0, "files that are missing, or are not root's alone");
	pid = life_fork();
	if (!pid)
		_exit(setuid(65534) || put("drop_acks", "1") != -EACCES);
	kt_is(life_join(pid), 0, "nobody else may write");
}

static const struct {
	const char *file, *text;
	int want;
} hostile[] = {
	{ "drop_acks", "", 0 },		/* a write of nothing is none */
	{ "drop_acks", "\n", -EINVAL }, { "drop_acks", "one", -EINVAL },
	{ "drop_acks", "1 2 3", -EINVAL }, { "drop_acks", "-2", -ERANGE },
	{ "drop_acks", "1 -1", -ERANGE }, { "drop_acks", "99999999999999999999", -ERANGE },
	{ "drop_packets", "2147483648", -ERANGE }, { "drop_packets", "1x", -EINVAL },
	{ "drop_packets",
	  "1                                                                      ", -EINVAL },
	{ "delay_acks_ms", "10001", -ERANGE }, { "delay_acks_ms", "-1", -ERANGE },
	{ "delay_acks_ms", "10 -2", -ERANGE }, { "delay_completions_ms", "10001", -ERANGE },
	{ "delay_completions_ms", "1 1 1", -EINVAL },
	{ "refuse_connects", "1 0", -ERANGE }, { "refuse_connects", "1 11", -ERANGE },
	{ "refuse_hellos", "1 -1", -ERANGE }, { "refuse_hellos", "1 4294967299", -ERANGE },
	{ "qp_error", "0", -EINVAL }, { "qp_error", "al", -EINVAL },
	{ "qp_error", "4294967296", -ERANGE }, { "qp_error", "-1", -EINVAL },
	{ "qp_error", "4294967295", -ENOENT }, { "qp_error", "all", -ENOENT },
	{ "fail_post", "write 1", -EINVAL }, { "fail_post", "session 1", -EINVAL },
	{ "fail_post", "send -2", -ERANGE }, { "fail_alloc", "send", -EINVAL },
	{ "fail_alloc", "txpkts 1 1 1", -EINVAL }, { "fail_alloc", "txpkts 1 -1", -ERANGE },
	{ "fail_alloc", "txpkt", -EINVAL }, { "fail_alloc", "txpktss", -EINVAL },
	{ "peer", "nobody", -EINVAL }, { "peer", "1.2.3", -EINVAL },
	{ "disarm", "0", -EINVAL }, { "disarm", "all", -EINVAL },
};

static void test_hostile(void)
{
	size_t i, bad = 0;
	char zero[] = "1\0002";
	int fd, got;

	for (i = 0; i < KT_ARRAY(hostile); i++) {
		got = *hostile[i].text ? put(hostile[i].file, hostile[i].text) : 0;
		if (got == hostile[i].want)
			continue;
		printf("# \"%s\" into %s: %d, not %d\n", hostile[i].text, hostile[i].file, got,
		       hostile[i].want);
		bad++;
	}
	kt_is(bad, 0, "commands that have another answer than they should");
	fd = open(DIR_FAULT "drop_acks", O_WRONLY | O_CLOEXEC);
	got = write(fd, zero, 3) < 0 ? -errno : 0;
	close(fd);
	kt_is(got, -EINVAL, "a command with a zero in it");
	for (bad = 0, i = 0; i < KT_ARRAY(names) - 2; i++)
		bad += get(names[i], "", "left ") > 0;
	kt_is(bad, 0, "faults that are armed by what was refused");
}

/* ---- one after the other ---- */

/* The path that the stream is on, as an operator finds it. */
static int path_of(struct pair *p)
{
	char command[192], text[32] = "";
	FILE *f;

	/* the other end can have the same handle, and its path is as good */
	snprintf(command, sizeof(command),
		 "%s | sed -n '/\"streams\": .$/,$ { /\"path\"/h; /\"handle\": %u,/ { g; s/[^0-9]//gp } }'",
		 "build/tools/dmsctl status --json", p->sa);
	f = popen(command, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		pclose(f);
	return atoi(text);
}

static void test_qp_error(bool all)
{
	const char *what = all ? "qp_error all" : "qp_error of a path";
	long long failed = life_counter("paths_failed"), before = hits("qp_error", "");
	struct pair *p = begin(what);
	char text[16] = "all";
	int path;

	if (!all) {
		path = path_of(p);
		kt_ok(path > 0, "%s: %d is what dmsctl shows", what, path);
		snprintf(text, sizeof(text), "%d\n", path);
	}
	kt_is(put("qp_error", text), 0, "%s: written", what);
	if (all)	/* of six; the end of the first can be faster than the way to the last */
		kt_ok(hits("qp_error", "") > before + 1, "%s: it struck %lld of them", what,
		      hits("qp_error", "") - before);
	else
		kt_is(hits("qp_error", ""), before + 1, "%s: it struck", what);
	kt_is(traffic(p, 1000), -ECONNRESET, "%s: the stream is told", what);
	kt_ok(path_failed(p), "%s: and that it was the path", what);
	kt_ok(life_counter("paths_failed") > failed, "%s: paths failed", what);
	if (!all)
		kt_is(put("qp_error", text), -ENOENT, "%s: it is not there any more", what);
	end(p, what);
}

static bool sent(struct pair *p, struct dmastream_cqe *cqe, unsigned int ms)
{
	return !life_until(&p->a, DMASTREAM_OP_SEND, cqe, ms);
}

/* Sends, and has b receive it; what became of the SEND is seen later. */
static int half_pass(struct pair *p, uint32_t len, uint64_t tag)
{
	struct dmastream_cqe cqe;
	bool right = true;
	uint64_t at = 0;
	int err;

	life_send(&p->a, p->sa, len, tag);
	err = dmastream_submit(p->a.ring);
	if (err < 0)
		return err;
	do {
		err = life_until(&p->b, DMASTREAM_OP_RECV, &cqe, 60000);
		if (err || cqe.result < 0)
			return err ? err : cqe.result;
		if (!life_received(&p->b, &cqe, &at, true, &right) || !right)
			return -EBADMSG;
	} while (cqe.flags & DMASTREAM_CQE_MORE);
	return 0;
}

static void test_drop_acks(void)
{
	long long before = hits("drop_acks", "");
	struct pair *p = begin("drop_acks");
	struct dmastream_cqe cqe;

	kt_is(put("drop_acks", "1"), 0, "drop_acks: written");
	kt_is(half_pass(p, SMALL, 77), 0, "drop_acks: the message is delivered");
	kt_ok(!sent(p, &cqe, 500 * kt_scale()), "drop_acks: its sender does not hear of it");
	kt_is(hits("drop_acks", ""), before + 1, "drop_acks: it struck");
	/* pulled, which takes no landing credit: the peer may not know of another */
	kt_is(half_pass(p, LIFE_SLOT, 78), 0, "drop_acks: the next message is delivered");
	kt_ok(sent(p, &cqe, 60000) && cqe.user_data == 77 && cqe.result == SMALL,
	      "drop_acks: the next acknowledgement says both: the first");
	kt_ok(sent(p, &cqe, 60000) && cqe.user_data == 78 && cqe.result == LIFE_SLOT,
	      "drop_acks: and the second");
	kt_is(traffic(p, 6), 0, "drop_acks: the stream goes on");
	/* at the end of a stream its last word tells */
	put("drop_acks", "-1");
	kt_is(half_pass(p, SMALL, 79), 0, "drop_acks: with all of them dropped");
	dmastream_stream_close(p->b.ctx, p->sb, 0, 60000);
	p->sb = 0;
	kt_ok(sent(p, &cqe, 60000) && cqe.user_data == 79 && cqe.result == SMALL,
	      "drop_acks: the end of the stream says that it was delivered");
	end(p, "drop_acks");
}

static void test_drop_packets(void)
{
	long long before = hits("drop_packets", ""), broken = life_offences();
	struct pair *p = begin("drop_packets");
	struct dmastream_cqe cqe;

	kt_is(put("drop_packets", "1"), 0, "drop_packets: written");
	life_send(&p->a, p->sa, SMALL, 90);
	dmastream_submit(p->a.ring);
	kt_ok(!sent(p, &cqe, 500 * kt_scale()), "drop_packets: a message is lost, untold");
	kt_is(hits("drop_packets", ""), before + 1, "drop_packets: it struck");
	life_send(&p->a, p->sa, LIFE_SLOT, 91);
	dmastream_submit(p->a.ring);
	kt_ok(sent(p, &cqe, 60000) && cqe.user_data == 90, "drop_packets: until the next packet");
	kt_is(cqe.result, -ECONNRESET, "drop_packets: the sender is told");
	kt_ok(life_offences() > broken, "drop_packets: the peer saw that the sequence is broken");
	end(p, "drop_packets");
}

static void test_delay_acks(void)
{
	const unsigned int ms = 400;
	long long before = hits("delay_acks_ms", "");
	struct pair *p = begin("delay_acks_ms");
	uint64_t from;

	kt_is(put("delay_acks_ms", "400 3"), 0, "delay_acks_ms: written");
	from = now_ms();
	kt_is(traffic(p, 3), 0, "delay_acks_ms: three messages are delivered and acknowledged");
	kt_ok(now_ms() - from >= 3 * ms, "delay_acks_ms: later: %llu ms",
	      (unsigned long long)(now_ms() - from));
	kt_is(hits("delay_acks_ms", ""), before + 3, "delay_acks_ms: it struck");
	kt_is(traffic(p, 6), 0, "delay_acks_ms: the stream goes on");
	/* disarmed, they do not wait any more; a stream that ends first is no matter */
	put("delay_acks_ms", "10000");
	from = now_ms();
	kt_is(half_pass(p, SMALL, 5), 0, "delay_acks_ms: one that would wait for 10 s");
	put("disarm", "1");
	kt_is(life_until(&p->a, DMASTREAM_OP_SEND, &(struct dmastream_cqe){ 0 }, 60000), 0,
	      "delay_acks_ms: goes when it is disarmed");
	kt_ok(now_ms() - from < 10000, "delay_acks_ms: at once: %llu ms",
	      (unsigned long long)(now_ms() - from));
	put("delay_acks_ms", "300");
	kt_is(half_pass(p, SMALL, 6), 0, "delay_acks_ms: a stream that is aborted meanwhile");
	end(p, "delay_acks_ms");
}

static void test_delay_completions(void)
{
	long long before = hits("delay_completions_ms", "");
	struct pair *p = begin("delay_completions_ms");
	uint64_t from = now_ms();

	kt_is(put("delay_completions_ms", "500 2"), 0, "delay_completions_ms: written");
	kt_is(traffic(p, 4), 0, "delay_completions_ms: messages are delivered");
	kt_ok(now_ms() - from >= 500, "delay_completions_ms: later: %llu ms",
	      (unsigned long long)(now_ms() - from));
	kt_is(hits("delay_completions_ms", ""), before + 2, "delay_completions_ms: it struck");
	/* the path's end does not wait for it */
	put("delay_completions_ms", "10000");
	half_pass(p, SMALL, 5);
	from = now_ms();
	put("qp_error", "all");
	kt_is(traffic(p, 1000), -ECONNRESET, "delay_completions_ms: a path ends meanwhile");
	end(p, "delay_completions_ms");
}

static void test_refuse(const char *file, const char *text, uint32_t reason)
{
	struct dmastream_addr self = life_self();
	struct dmastream_stream_opts opts;
	struct dmastream_listener *l;
	struct dmastream_error why = { 0 };
	long long before = hits(file, "");
	static struct pair p;
	int err;

	memset(&p, 0, sizeof(p));
	kt_is(put(file, text), 0, "%s: written", file);
	if (life_open(&p.a) || life_open(&p.b) ||
	    dmastream_listen(p.b.ctx, "refused", 4, 0, &l))
		kt_die("a listener");
	opts = life_opts(&p.a, 0);
	err = dmastream_connect(p.a.ctx, &self, "refused", &opts, 20000 * kt_scale(), &p.sa, &why);
	kt_ok(err < 0, "%s: a stream is refused: %d", file, err);
	kt_is(why.err_class, DMASTREAM_ERR_REFUSED, "%s: and told so", file);
	kt_is(why.err_detail, reason, "%s: with the reason", file);
	kt_is(hits(file, ""), before + 1, "%s: it struck", file);
	dmastream_listener_close(l);
	p.sa = 0;
	end(&p, file);
}

static void test_fail_post(const char *kind)
{
	long long before = hits("fail_post", kind);
	struct pair *p = begin(kind);
	char text[32];
	int err;

	snprintf(text, sizeof(text), "%s 1 2", kind);
	kt_is(put("fail_post", text), 0, "fail_post %s: written", kind);
	err = traffic(p, 1000);
	kt_ok(err == -ECONNRESET, "fail_post %s: the stream is told: %d", kind, err);
	kt_is(hits("fail_post", kind), before + 1, "fail_post %s: it struck", kind);
	kt_is(get("fail_post", kind, "left "), 0, "fail_post %s: once", kind);
	kt_ok(path_failed(p), "fail_post %s: the path", kind);
	end(p, kind);
}

static void test_peer(void)
{
	struct pair *p = begin("peer");

	kt_is(put("peer", "192.0.2.7"), 0, "peer: another one");
	put("fail_post", "send 1");
	kt_is(traffic(p, 4), 0, "peer: is not met");
	kt_is(get("fail_post", "send", "left "), 1, "peer: what is left for it");
	kt_is(put("peer", getenv("DMS_ADDR")), 0, "peer: this one");
	kt_is(traffic(p, 1000), -ECONNRESET, "peer: is met");
	kt_is(get("fail_post", "send", "left "), 0, "peer: and nothing is left");
	put("peer", "any");
	end(p, "peer");
}

/* ---- allocations ---- */

/* An operator asks: 0, or what it says */
static int ask(void)
{
	int status = system("build/tools/dmsctl counters >/dev/null 2>&1");

	return status ? -ENOMEM : 0;
}

static int polled_ring(void)
{
	struct dmastream_ring_create ring = {
		.sq_entries = 64, .cq_entries = 64, .cq_recv_min = 8, .flags = DMASTREAM_RING_POLL,
	};
	int ctx = kt_open(), err = kt_ioctl(ctx, DMASTREAM_IOC_RING_CREATE, &ring);

	if (!err)
		close(ring.fd);
	close(ctx);
	return err;
}

static int async_accept(void)
{
	struct dmastream_stream_opts opts;
	struct dmastream_listener *l;
	struct life_end e;
	int err = life_open(&e);

	if (err)
		return err;
	opts = life_opts(&e, 0);
	err = dmastream_listen(e.ctx, "accept", 4, 0, &l);
	if (!err) {
		err = dmastream_accept_async(l, &opts, 1000, 1);
		dmastream_listener_close(l);
	}
	life_close(&e);
	return err;
}

static int whole(void)
{
	static struct pair p;
	int err = pair_open(&p);

	if (!err)
		err = traffic(&p, 2);
	pair_close(&p);
	return err;
}

static const struct point {
	const char	*name;
	int		(*act)(void);
	const char	*args;		/* " 1" if NULL */
	int		want;		/* 0: any of those of clean() */
} points[] = {
	{ "ctx", whole, NULL, -ENOMEM }, { "pool", whole, NULL, -ENOMEM },
	{ "chunk", whole, " -1", -ENOMEM }, { "ring", whole, NULL, -ENOMEM },
	{ "requests", whole, NULL, -ENOMEM }, { "group", whole, NULL, -ENOMEM },
	{ "shmem", whole, " 1 1", -ENOMEM }, { "poller", polled_ring, NULL, -ENOMEM },
	{ "quota", whole, NULL, -ENOMEM }, { "listener", whole, NULL, -ENOMEM },
	{ "accept", async_accept, NULL, -ENOMEM }, { "stream", whole, NULL, -ENOMEM },
	{ "stream_id", whole, NULL, -ENOMEM }, { "session", whole, NULL, -ENOMEM },
	{ "socket", whole, NULL, -ENOMEM }, { "pool_map", whole, NULL, 0 },
	{ "path", whole, NULL, 0 }, { "transport", whole, NULL, 0 }, { "txpkts", whole, NULL, 0 },
	{ "reads", whole, " 1 1", 0 }, { "pull", whole, " 1 20", 0 }, { "recv", whole, " 1 10", 0 },
	{ "region", whole, " 1 30", 0 }, { "cm_request", whole, NULL, 0 },
	{ "netlink", ask, NULL, -ENOMEM },
};

/* What a CONNECT says when it is its session, or the peer's side of it, that lacks something. */
static bool clean(int err)
{
	return err == -ENOMEM || err == -ECONNREFUSED || err == -ECONNRESET || err == -ENODEV ||
	       err == -ENETUNREACH || err == -EHOSTUNREACH || err == -ENOTCONN;
}

static void test_alloc(const struct point *p)
{
	long long before = hits("fail_alloc", p->name);
	char text[64];
	bool empty;
	int err;

	snprintf(text, sizeof(text), "%s%s", p->name, p->args ? p->args : " 1");
	if (put("fail_alloc", text)) {
		kt_ok(false, "fail_alloc %s: written", text);
		return;
	}
	err = p->act();
	put("disarm", "1");
	empty = life_empty(NULL);
	kt_ok(hits("fail_alloc", p->name) > before, "fail_alloc %s: it struck", p->name);
	kt_ok((p->want ? err == p->want : clean(err)) && empty, "fail_alloc %s: %d (%s)%s",
	      p->name, err, strerror(-err), empty ? "" : ", AND SOMETHING IS LEFT");
	err = p->act();
	/* what is made once for a session is made anew for the next point */
	kt_ok(!err && life_empty(NULL), "fail_alloc %s: then it works: %d", p->name, err);
}

/* Is each point in the file in the table? */
static void test_points(void)
{
	unsigned int lines = 0;
	char line[128];
	FILE *f = fopen(DIR_FAULT "fail_alloc", "r");

	while (f && fgets(line, sizeof(line), f))
		lines++;
	if (f)
		fclose(f);
	kt_is(lines, KT_ARRAY(points), "points that can fail, each is tried");
}

int main(void)
{
	static const char * const kinds[] = { "send", "read", "reg", "inv", "recv" };
	long long faults;
	size_t i;

	life_watchdog(200);
	faults = life_counter("faults");
	if (access(DIR_FAULT, F_OK))
		kt_die(DIR_FAULT " (the module wants fault_injection=1, the kernel debugfs)");
	test_modes();
	KT_RUN(test_hostile());
	KT_RUN(test_qp_error(false));
	KT_RUN(test_qp_error(true));
	KT_RUN(test_drop_acks());
	KT_RUN(test_drop_packets());
	KT_RUN(test_delay_acks());
	KT_RUN(test_delay_completions());
	KT_RUN(test_refuse("refuse_connects", "1", DMASTREAM_REFUSED_MEMORY));
	KT_RUN(test_refuse("refuse_hellos", "1 7", DMASTREAM_REFUSED_LIMIT));
	for (i = 0; i < KT_ARRAY(kinds); i++)
		KT_RUN(test_fail_post(kinds[i]));
	KT_RUN(test_peer());
	test_points();
	for (i = 0; i < KT_ARRAY(points); i++)
		test_alloc(&points[i]);
	kt_ok(life_counter("faults") > faults + 40, "the node's counter knows them: %lld",
	      life_counter("faults") - faults);
	kt_is(life_rnr(), 0, "receiver-not-ready of the NIC");
	kt_ok(life_empty(NULL), "all gauges are 0");
	return kt_end();
}
