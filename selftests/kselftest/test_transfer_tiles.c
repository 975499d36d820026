// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strided tiles: of every form on either side, or against a range, a vector or the
 * landings of a group.  What lies between rows is neither sent nor written to, and
 * above eager_max nothing is copied.
 *
 * Each side has a pool of its own for them, all FILL but the rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kt.h"
#include "peer.h"

#define FILL		0x5a
#define AREA		(5U << 20)	/* of such a pool */
#define PAGE		4096U
#define GUARD		PAGE		/* looked at before and behind a tile */
#define SEG		(1U << 20)	/* what one key covers, from the page on that it begins in */

#define TILE(o, p, r, b)	{ .off = (o), .pitch = (p), .rows = (r), .row_bytes = (b) }

struct side {
	struct peer_end		*e;
	struct dmastream_pool	*pool;
	char			*base;
};

struct xfer {
	struct dmastream_tile	tx, rx;
	uint32_t		len;
	uint16_t		id;
	int			sent, got;	/* results */
	uint64_t		tag;
};

#define PENDING	1000000000

static struct peer_pair pair;
static struct side sides[2];		/* a, b */

static uint32_t total(const struct dmastream_tile *t)
{
	return t->rows * t->row_bytes;
}

static uint64_t end_of(const struct dmastream_tile *t)
{
	return t->off + (t->rows - 1) * t->pitch + t->row_bytes;
}

static bool is_range(const struct dmastream_tile *t)
{
	return t->rows == 1;
}

static bool whole_pages(const struct dmastream_tile *t)
{
	return !((t->off | t->pitch | t->row_bytes) % PAGE);
}

/* Memory regions that a long message needs: as Documentation/protocol.rst says. */
static unsigned int keys_of(const struct dmastream_tile *t)
{
	unsigned int i, n = 0;

	if (t->rows > 1 && t->pitch == t->row_bytes)
		return (t->off % PAGE + total(t) + SEG - 1) / SEG;
	if (whole_pages(t))
		return (total(t) + SEG - 1) / SEG;
	for (i = 0; i < t->rows; i++)
		n += ((t->off + i * t->pitch) % PAGE + t->row_bytes + SEG - 1) / SEG;
	return n;
}

static void rows_fill(struct side *s, const struct dmastream_tile *t, uint16_t id, uint32_t len)
{
	uint32_t i, at = 0, n;

	for (i = 0; i < t->rows && at < len; i++, at += n) {
		n = len - at < t->row_bytes ? len - at : t->row_bytes;
		peer_fill(s->base + t->off + i * t->pitch, pair.a->streams[0].key, id, at, n);
	}
}

static void around(const struct dmastream_tile *t, uint64_t *from, uint64_t *to)
{
	*from = t->off < GUARD ? 0 : t->off - GUARD;
	*to = end_of(t) + GUARD > AREA ? AREA : end_of(t) + GUARD;
}

static void rows_clear(struct side *s, const struct dmastream_tile *t)
{
	uint64_t from, to;

	around(t, &from, &to);
	memset(s->base + from, FILL, to - from);
}

static void all_fill(const char *p, uint64_t n, const char *what)
{
	if (n && (*p != FILL || memcmp(p, p + 1, n - 1)))
		peer_fail("%s was written to", what);
}

/* The first @len bytes of the rows are message @id, and everything else is as it was. */
static void rows_check(struct side *s, const struct dmastream_tile *t, uint16_t id, uint32_t len)
{
	uint32_t i, at = 0, n;
	uint64_t from, to;

	around(t, &from, &to);
	for (i = 0; i < t->rows; i++, at += n) {
		uint64_t row = t->off + i * t->pitch;

		n = len - at < t->row_bytes ? len - at : t->row_bytes;
		all_fill(s->base + from, row - from, "what lies before a row");
		if (n && !peer_check(s->base + row, pair.a->streams[0].key, id, at, n))
			return;
		from = row + n;
	}
	all_fill(s->base + from, to - from, "what lies behind the message");
}

static bool take(struct peer_end *e, const struct dmastream_cqe *cqe)
{
	struct xfer *x = (void *)(uintptr_t)cqe->user_data;

	if (DMASTREAM_CQE_OP(cqe->flags) == DMASTREAM_OP_SEND) {
		x->sent = cqe->result;
		return true;
	}
	if (DMASTREAM_CQE_OP(cqe->flags) != DMASTREAM_OP_RECV || e != pair.b)
		return false;
	if (cqe->flags & DMASTREAM_CQE_EOS)
		return true;
	x->got = cqe->result;
	x->tag = cqe->tag;
	return true;
}

/* A RECV at b; a tile of one row by RECV of a range. */
static void put_recv(struct xfer *x)
{
	struct side *b = &sides[1];
	struct dmastream_sqe *sqe = dmastream_get_sqe(b->e->ring);
	uint32_t pool = dmastream_pool_handle(b->pool), stream = b->e->streams[0].handle;

	rows_clear(b, &x->rx);
	if (is_range(&x->rx))
		dmastream_prep_recv(sqe, stream, pool, x->rx.off, total(&x->rx), (uintptr_t)x);
	else
		dmastream_prep_recv_tile(b->e->ring, sqe, stream, pool, &x->rx, (uintptr_t)x);
}

static void put_send(struct xfer *x)
{
	struct side *a = &sides[0];
	struct dmastream_sqe *sqe = dmastream_get_sqe(a->e->ring);
	uint32_t pool = dmastream_pool_handle(a->pool), stream = a->e->streams[0].handle;
	uint16_t key = a->e->streams[0].key;

	rows_clear(a, &x->tx);
	rows_fill(a, &x->tx, x->id, x->len);
	if (is_range(&x->tx))
		dmastream_prep_send(sqe, stream, pool, x->tx.off, x->len,
				    peer_tag(key, x->id, x->len), (uintptr_t)x);
	else
		dmastream_prep_send_tile(a->e->ring, sqe, stream, pool, &x->tx,
					 peer_tag(key, x->id, x->len), (uintptr_t)x);
}

static void xfer_init(struct xfer *x, const struct dmastream_tile *tx,
		      const struct dmastream_tile *rx)
{
	*x = (struct xfer){ .tx = *tx, .rx = *rx, .len = total(tx), .sent = PENDING,
			    .got = PENDING, .id = pair.a->streams[0].tx_id++ };
}

static bool over(void *arg)
{
	struct xfer *x = arg;

	return x->sent != PENDING && x->got != PENDING;
}

static void xfer_check(struct xfer *x)
{
	int want = x->len <= total(&x->rx) ? (int)x->len : -EMSGSIZE;

	if (x->sent != want || x->got != want)
		peer_fail("%u bytes: SEND %d, RECV %d, not %d", x->len, x->sent, x->got, want);
	else if (x->tag != peer_tag(pair.a->streams[0].key, x->id, x->len))
		peer_fail("another tag");
	rows_check(&sides[0], &x->tx, x->id, x->len);	/* reading it is all */
	rows_check(&sides[1], &x->rx, x->id, want < 0 ? 0 : x->len);
}

static void one(const struct dmastream_tile *tx, const struct dmastream_tile *rx)
{
	struct xfer x;

	xfer_init(&x, tx, rx);
	put_recv(&x);
	peer_submit(pair.b);
	put_send(&x);
	peer_submit(pair.a);
	peer_run(pair.a, pair.b, over, &x, 60000, "a tile");
	xfer_check(&x);
}

struct counts {
	long long copied_tx, copied_rx, rdma, keys, reads, eager;
};

/* How much the counters went up since *@last, which is then what they are now. */
static struct counts count(struct counts *last)
{
	char *s = peer_status();
	struct counts c = {
		.copied_tx = peer_value(s, "counters", "copied_tx_bytes"),
		.copied_rx = peer_value(s, "counters", "copied_rx_bytes"),
		.rdma = peer_value(s, "counters", "rdma_rx_bytes"),
		.keys = peer_value(s, "counters", "keys_registered"),
		.reads = peer_value(s, "counters", "reads_posted"),
		.eager = peer_value(s, "counters", "eager_rx_bytes"),
	}, by = {
		c.copied_tx - last->copied_tx, c.copied_rx - last->copied_rx, c.rdma - last->rdma,
		c.keys - last->keys, c.reads - last->reads, c.eager - last->eager,
	};

	free(s);
	*last = c;
	return by;
}

static const struct form {
	struct dmastream_tile	tx, rx;
	long long		copied_tx;	/* eager: what its sender copies; -1: it is pulled */
	unsigned int		reads;		/* pulled: of RDMA READs, if there is a number */
	const char		*what;
} forms[] = {
	/* up to 256 bytes are copied into the packet, as of ranges */
	{ TILE(7, 50, 3, 33), TILE(50, 0, 1, 99), 99, 0, "99 bytes, to a range" },
	{ TILE(50, 0, 1, 99), TILE(7, 50, 33, 3), 99, 0, "99 bytes, of a range" },
	{ TILE(1, 2, 256, 1), TILE(1, 3, 256, 1), 256, 0, "rows of 1 byte" },
	/* then the NIC gathers them, as long as there are few */
	{ TILE(0, 300, 8, 100), TILE(3, 64, 16, 50), 0, 0, "8 rows of 100 to 16 of 50" },
	{ TILE(0, 300, 29, 100), TILE(3, 0, 1, 2900), 0, 0, "29 rows, as many as are gathered" },
	{ TILE(4090, 5000, 4, 2048), TILE(4000, 100, 82, 100), 0, 0, "8 KiB, across pages" },
	{ TILE(0, 0, 1, 8192), TILE(0, 3, 8192, 1), 0, 0, "8 KiB of a range to rows of 1 byte" },
	/* and copies them, as long as the packet has room */
	{ TILE(0, 300, 30, 100), TILE(3, 0, 1, 3000), 3000, 0, "30 rows" },
	{ TILE(11, 100, 200, 20), TILE(5, 0, 1, 4000), 4000, 0, "200 rows of 20" },
	{ TILE(11, 3, 6112, 1), TILE(5, 2048, 6, 1024), 6112, 0, "6112 rows of 1 byte" },
	{ TILE(0, 101, 64, 100), TILE(0, 200, 64, 100), -1, 64, "64 rows of 100, pulled" },
	/* whole pages: one key for many rows */
	{ TILE(0, 16384, 256, 4096), TILE(0, 0, 1, 1 << 20), -1, 0, "1 MiB of pages, to a range" },
	{ TILE(4096, 8192, 256, 4096), TILE(0, 12288, 256, 4096), -1, 9, "1 MiB, pages to pages" },
	{ TILE(4096, 8192, 256, 4096), TILE(17, 3000, 1024, 1024), -1, 35, "1 MiB of pages, to rows of 1 KiB" },
	{ TILE(4096, 8192, 257, 4096), TILE(0, 0, 1, 257 * 4096), -1, 0, "and a page more" },
	{ TILE(8192, 20480, 3, 12288), TILE(1, 40000, 2, 20000), -1, 1, "3 rows of 3 pages, to 2" },
	{ TILE(0, 0, 1, 1 << 20), TILE(4096, 8192, 256, 4096), -1, 9, "1 MiB of a range, to pages" },
	/* any other row has a key of its own */
	{ TILE(100, 6000, 20, 5000), TILE(50, 0, 1, 100000), -1, 20, "20 rows of 5000 across pages" },
	{ TILE(100, 6000, 20, 5000), TILE(4090, 2100, 50, 2000), -1, 20, "20 rows of 5000, to 50 of 2000" },
	{ TILE(3, 1001, 100, 1000), TILE(9, 1700, 100, 1000), -1, 100, "100 rows of 1000, a byte between them" },
	{ TILE(4096, 8192, 9, 4000), TILE(0, 4096, 9, 4000), -1, 9, "rows on pages, not whole ones" },
	{ TILE(2048, 8192, 9, 4096), TILE(0, 8192, 9, 4096), -1, 9, "rows of a page, not on pages" },
	{ TILE(0, 8191, 9, 4096), TILE(0, 8192, 9, 4096), -1, 9, "rows of a page, pitch of none" },
	{ TILE(0, 0, 1, 100000), TILE(1, 1500, 100, 1000), -1, 4, "100000 bytes of a range, to 100 rows" },
	/* nothing between them: a range */
	{ TILE(77, 1000, 100, 1000), TILE(2, 2000, 50, 2000), -1, 0, "pitch = row bytes" },
	{ TILE(5, 1, 1, 20000), TILE(9, 2, 1, 20000), -1, 0, "one row" },
	/* shorter than where they land */
	{ TILE(0, 200, 29, 100), TILE(0, 1100, 10, 1000), 0, 0, "eager, to a longer tile" },
	{ TILE(0, 8192, 9, 4096), TILE(10, 3000, 40, 1024), -1, 2, "pulled, to a longer tile" },
};

static void all_forms(void)
{
	struct counts last = { 0 }, c;
	unsigned int i;

	count(&last);
	for (i = 0; i < KT_ARRAY(forms); i++) {
		const struct form *f = &forms[i];
		bool eager = f->copied_tx >= 0;
		uint32_t len = total(&f->tx);
		unsigned int errors = peer_errors;
		bool ok;

		one(&f->tx, &f->rx);
		c = count(&last);
		ok = peer_errors == errors;
		if (eager)
			ok &= c.copied_tx == f->copied_tx && c.copied_rx == len && !c.rdma &&
			      !c.keys && c.eager == len;
		else
			ok &= !c.copied_tx && !c.copied_rx && c.rdma == len && !c.eager &&
			      c.keys == keys_of(&f->tx) &&
			      (f->reads ? c.reads == f->reads : c.reads >= c.keys);
		kt_ok(ok, "%s", f->what);
		printf("# %u bytes: copied %lld and %lld, pulled %lld, keys %lld, READs %lld\n", len,
		       c.copied_tx, c.copied_rx, c.rdma, c.keys, c.reads);
	}
}

/* A message that is longer than the tile: both hear so, and nothing is written. */
static void too_long(void)
{
	static const struct dmastream_tile tx[] = {
		TILE(0, 100, 10, 61), TILE(0, 8192, 9, 4096), TILE(3, 0, 1, 9001),
	}, rx[] = {
		TILE(0, 100, 10, 60), TILE(0, 5000, 9, 4095), TILE(3, 9001, 2, 4500),
	};
	unsigned int i, errors = peer_errors;

	for (i = 0; i < KT_ARRAY(tx); i++)
		one(&tx[i], &rx[i]);
	kt_is(peer_errors - errors, 0, "tiles that are too short: -EMSGSIZE, and nothing is written");
}

/* The first and the last byte of a pool. */
static void ends_of_pool(void)
{
	const struct dmastream_tile all[] = {
		TILE(0, AREA - 3000, 2, 3000), TILE(0, AREA - PAGE, 2, PAGE),
		TILE(AREA - 3 * 5000 - 4000, 5000, 4, 4000), TILE(AREA - 1, 1, 1, 1),
	};
	unsigned int i, errors = peer_errors;

	for (i = 0; i < KT_ARRAY(all); i++)
		one(&all[i], &all[i]);
	kt_is(peer_errors - errors, 0, "tiles up to the end of the pool");
}

static void vectors(void)
{
	struct dmastream_tile where = TILE(1234, 777, 200, 300);
	struct dmastream_vec vec[3] = { { .off = 100, .len = 20000 }, { .off = 50000, .len = 1 },
					{ .off = 60001, .len = 39999 } };
	unsigned int i, errors = peer_errors;
	uint16_t key = pair.a->streams[0].key;
	struct side *a = &sides[0];
	struct xfer x;
	uint32_t at = 0;

	xfer_init(&x, &where, &where);
	memset(a->base, FILL, 200000);
	for (i = 0; i < 3; at += vec[i++].len)
		peer_fill(a->base + vec[i].off, key, x.id, at, vec[i].len);
	put_recv(&x);
	peer_submit(pair.b);
	dmastream_prep_send_vec(a->e->ring, dmastream_get_sqe(a->e->ring), a->e->streams[0].handle,
				dmastream_pool_handle(a->pool), vec, 3,
				peer_tag(key, x.id, x.len), (uintptr_t)&x);
	peer_submit(pair.a);
	peer_run(pair.a, pair.b, over, &x, 60000, "a vector into a tile");
	if (x.sent != 60000 || x.got != 60000)
		peer_fail("SEND %d, RECV %d", x.sent, x.got);
	rows_check(&sides[1], &where, x.id, 60000);
	kt_is(peer_errors - errors, 0, "a vector into a tile");
}

/* Forms by chance, several at a time. */
#define BATCH	6

static void random_tile(uint32_t *seed, struct dmastream_tile *t, uint64_t at, uint32_t len)
{
	uint32_t kind = peer_rand(seed) % 4;

	*t = (struct dmastream_tile){ .off = at + peer_range(seed, 0, PAGE) };
	t->row_bytes = kind ? peer_range(seed, 1 + len / 40, 1 + len / 2) : len;
	t->rows = (len + t->row_bytes - 1) / t->row_bytes;
	t->pitch = t->row_bytes + peer_range(seed, 0, 500);
	if (kind == 1) {
		t->row_bytes = (t->row_bytes + PAGE - 1) & ~(PAGE - 1);
		t->pitch = t->row_bytes + peer_range(seed, 0, 2) * PAGE;
		t->off = at;
		t->rows = (len + t->row_bytes - 1) / t->row_bytes;
	}
}

static void by_chance(void)
{
	unsigned int rounds = kt_quick() ? 4 : 12, r, i, errors = peer_errors;
	uint64_t slot = AREA / BATCH & ~(uint64_t)(PAGE - 1);
	struct xfer x[BATCH];
	uint32_t seed = 4711;

	for (r = 0; r < rounds && peer_errors == errors; r++) {
		for (i = 0; i < BATCH; i++) {
			struct dmastream_tile tx, rx;
			uint32_t len = peer_rand(&seed) % 3 ? peer_range(&seed, 1, 9000) :
							      peer_range(&seed, 9000, 120000);

			random_tile(&seed, &tx, i * slot, len);
			random_tile(&seed, &rx, i * slot, total(&tx));
			xfer_init(&x[i], &tx, &rx);
			put_recv(&x[i]);
			put_send(&x[i]);
		}
		/* the one behind clears the guard of the one before: fill them again */
		for (i = 0; i < BATCH; i++)
			rows_fill(&sides[0], &x[i].tx, x[i].id, x[i].len);
		peer_submit(pair.b);
		peer_submit(pair.a);
		for (i = 0; i < BATCH; i++)
			peer_run(pair.a, pair.b, over, &x[i], 60000, "tiles by chance");
		for (i = 0; i < BATCH; i++)
			if (x[i].sent != (int)x[i].len || x[i].got != (int)x[i].len)
				peer_fail("message %u of %u: SEND %d, RECV %d", i, x[i].len,
					  x[i].sent, x[i].got);
			else
				rows_check(&sides[1], &x[i].rx, x[i].id, x[i].len);
	}
	kt_is(peer_errors - errors, 0, "%u tiles by chance, %u at a time", rounds * BATCH, BATCH);
}

static bool a_holds(void *arg)
{
	(void)arg;
	return peer_counter("holds") > *(long long *)arg;
}

static bool b_sent(void *arg)
{
	return ((struct xfer *)arg)->sent != PENDING;
}

/* From b into a's groups; its landings are short, and it runs out of them in a row. */
static void to_groups(void)
{
	static const struct dmastream_tile tx[] = {
		TILE(8192, 16384, 16, 8192), TILE(100, 9000, 5, 8999), TILE(9, 500, 20, 300),
	};
	struct peer_stream *s = &pair.b->streams[0];
	struct side *b = &sides[1];
	unsigned int i, errors = peer_errors;
	long long holds = peer_counter("holds");
	uint64_t rx = pair.a->rx_msgs;
	struct xfer x;

	for (i = 0; i < KT_ARRAY(tx); i++) {
		uint32_t k, at = 0;

		x = (struct xfer){ .len = total(&tx[i]), .sent = PENDING, .id = s->tx_id++ };
		for (k = 0; k < tx[i].rows; k++, at += tx[i].row_bytes)
			peer_fill(b->base + tx[i].off + k * tx[i].pitch, s->key, x.id, at,
				  tx[i].row_bytes);
		pair.a->keep = !i;
		dmastream_prep_send_tile(b->e->ring, dmastream_get_sqe(b->e->ring), s->handle,
					 dmastream_pool_handle(b->pool), &tx[i],
					 peer_tag(s->key, x.id, x.len), (uintptr_t)&x);
		peer_submit(pair.b);
		if (!i) {
			kt_ok(peer_run(pair.a, pair.b, a_holds, &holds, 20000, "HOLD"),
			      "the receiver of a tile holds it, in a row");
			pair.a->keep = false;
			peer_give_kept(pair.a);
		}
		peer_run(pair.a, pair.b, b_sent, &x, 60000, "a tile into groups");
		if (x.sent != (int)x.len)
			peer_fail("SEND of %u bytes to a group: %d", x.len, x.sent);
	}
	kt_is(pair.a->rx_msgs - rx, KT_ARRAY(tx), "tiles into the landings of groups");
	kt_is(peer_errors - errors, 0, "their contents");
}

/* ---- what is no tile ---- */

static const struct bad {
	const char		*what;
	struct dmastream_tile	t;
	int			want;
} bad[] = {
	{ "no rows", TILE(0, 10, 0, 10), -EINVAL },
	{ "rows of nothing", TILE(0, 10, 10, 0), -EINVAL },
	{ "pitch below row bytes", TILE(0, 9, 2, 10), -EINVAL },
	{ "pitch 0", TILE(0, 0, 2, 1), -EINVAL },
	{ "off at the end", TILE(AREA, 10, 1, 1), -EINVAL },
	{ "off 2^64-1", TILE(UINT64_MAX, 10, 1, 10), -EINVAL },
	{ "off that wraps", TILE(UINT64_MAX - 9, 10, 2, 10), -EINVAL },
	{ "a byte past the pool", TILE(AREA - 109, 100, 2, 10), -EINVAL },
	{ "pitch 2^64-1", TILE(0, UINT64_MAX, 2, 1), -EINVAL },
	{ "pitch 2^63, 3 rows", TILE(0, 1ULL << 63, 3, 1), -EINVAL },
	{ "rows * pitch that wraps", TILE(0, 1ULL << 33, 0x80000001, 1), -EINVAL },
	{ "rows 2^32-1", TILE(0, 1, 0xffffffff, 1), -EINVAL },
	{ "rows and row bytes 2^32-1", TILE(0, 0xffffffff, 0xffffffff, 0xffffffff), -EINVAL },
	{ "row bytes 2^32-1", TILE(0, 0xffffffff, 1, 0xffffffff), -EINVAL },
	{ "reserved", { .pitch = 10, .rows = 2, .row_bytes = 10, .reserved = 1 }, -EINVAL },
	{ "the last bit of reserved", { .pitch = 10, .rows = 2, .row_bytes = 10,
					.reserved = 1ULL << 63 }, -EINVAL },
};

static struct xfer bad_x;

static bool bad_over(void *arg)
{
	(void)arg;
	return bad_x.sent != PENDING || bad_x.got != PENDING;
}

static int bad_result(struct side *s)
{
	bad_x.sent = PENDING;
	bad_x.got = PENDING;
	peer_submit(s->e);
	peer_run(pair.a, pair.b, bad_over, NULL, 10000, "a bad submission");
	return bad_x.sent != PENDING ? bad_x.sent : bad_x.got;
}

static struct dmastream_sqe *bad_prep(struct side *s, bool recv, const struct dmastream_tile *t)
{
	struct dmastream_sqe *sqe = dmastream_get_sqe(s->e->ring);
	uint32_t pool = dmastream_pool_handle(s->pool), stream = s->e->streams[0].handle;

	if (recv)
		dmastream_prep_recv_tile(s->e->ring, sqe, stream, pool, t, (uintptr_t)&bad_x);
	else
		dmastream_prep_send_tile(s->e->ring, sqe, stream, pool, t, 0, (uintptr_t)&bad_x);
	return sqe;
}

static void bad_forms(bool recv)
{
	struct side *s = &sides[recv];
	unsigned int i;

	for (i = 0; i < KT_ARRAY(bad); i++) {
		bad_prep(s, recv, &bad[i].t);
		kt_is(bad_result(s), bad[i].want, "%s: %s", recv ? "RECV" : "SEND", bad[i].what);
	}
}

static void bad_sqes(bool recv)
{
	struct dmastream_tile good = TILE(0, 100, 2, 50);
	struct side *s = &sides[recv];
	uint32_t end = (s->e->ring->sq_mask + 1) * s->e->ring->vec_slots * 16;
	const char *op = recv ? "RECV" : "SEND";
	struct dmastream_sqe *sqe;

	sqe = bad_prep(s, recv, &good);
	sqe->len = 0;
	kt_is(bad_result(s), -EINVAL, "%s of no tile", op);
	sqe = bad_prep(s, recv, &good);
	sqe->len = 2;
	kt_is(bad_result(s), -EINVAL, "%s of two tiles", op);
	sqe = bad_prep(s, recv, &good);
	sqe->off += 4;
	kt_is(bad_result(s), -EINVAL, "%s of one that is not aligned", op);
	sqe = bad_prep(s, recv, &good);
	sqe->off = end - 24;
	kt_is(bad_result(s), -EINVAL, "%s of one past the indirect area", op);
	sqe = bad_prep(s, recv, &good);
	sqe->off = UINT64_MAX - 15;
	kt_is(bad_result(s), -EINVAL, "%s of one at 2^64-16", op);
	sqe = bad_prep(s, recv, &good);
	sqe->flags |= DMASTREAM_SQE_VEC;
	kt_is(bad_result(s), -EINVAL, "%s of a tile and a vector", op);
	sqe = bad_prep(s, recv, &good);
	sqe->reserved[1] = 1;
	kt_is(bad_result(s), -EINVAL, "%s of a tile, reserved", op);
	sqe = bad_prep(s, recv, &good);
	sqe->pool = 60000;
	kt_is(bad_result(s), -EBADF, "%s of a tile in no pool", op);
	sqe = bad_prep(s, recv, &good);
	sqe->stream = 60000;
	kt_is(bad_result(s), -EBADF, "%s of a tile on no stream", op);
	if (!recv)
		return;
	sqe = bad_prep(s, recv, &good);
	sqe->flags |= DMASTREAM_SQE_SILENT;
	kt_is(bad_result(s), -EINVAL, "RECV of a tile that is silent");
}

static void refused(void)
{
	struct dmastream_tile small = TILE(0, 100, 2, 50);
	long long before = peer_counter("bad_sqes");
	unsigned int i;

	for (i = 0; i < 2; i++)
		memset(sides[i].base, FILL, AREA);
	bad_forms(false);
	bad_forms(true);
	bad_sqes(false);
	bad_sqes(true);
	kt_is(peer_counter("bad_sqes") - before, 2 * KT_ARRAY(bad) + 19, "bad_sqes");
	for (i = 0; i < 2; i++) {
		all_fill(sides[i].base, AREA, "a pool");
		kt_is(kt_fdinfo(dmastream_pool_fd(sides[i].pool), "transfers"), 0,
		      "no transfer stayed on pool %u", i);
	}
	i = peer_errors;
	one(&small, &small);
	kt_is(peer_errors - i, 0, "and the stream goes on");
}

static bool open_all(void)
{
	struct peer_cfg a = peer_default, b = peer_default;
	unsigned int i;

	a.large_n = 1;
	a.large_len = 10000;
	b.flags = DMASTREAM_STREAM_POSTED;
	b.small_n = 0;
	b.large_n = 0;
	if (peer_pair_open(&pair, "tiles", &a, &b) || peer_pair_connect(&pair, 1))
		return false;
	sides[0].e = pair.a;
	sides[1].e = pair.b;
	pair.a->other = take;
	pair.b->other = take;
	for (i = 0; i < 2; i++) {
		if (dmastream_pool_create(sides[i].e->ctx, AREA, -1, &sides[i].pool))
			return false;
		sides[i].base = dmastream_pool_base(sides[i].pool);
		memset(sides[i].base, FILL, AREA);
	}
	return true;
}

int main(void)
{
	if (peer_two_nodes()) {
		kt_skip("one guest only");
		return 0;
	}
	peer_watchdog(kt_quick() ? 60 : 90);
	if (!open_all()) {
		kt_ok(false, "pair");
		return kt_end();
	}
	kt_ok(dmastream_limits(pair.a->ctx)->features & DMASTREAM_FEAT_TILE, "QUERY tells of tiles");
	KT_RUN(all_forms());
	KT_RUN(too_long());
	KT_RUN(ends_of_pool());
	KT_RUN(vectors());
	KT_RUN(by_chance());
	KT_RUN(to_groups());
	KT_RUN(refused());
	peer_check_paths("after tiles");
	dmastream_pool_close(sides[0].pool);
	dmastream_pool_close(sides[1].pool);
	peer_pair_close(&pair);
	peer_check_gauges();
	return kt_end();
}
