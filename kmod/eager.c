// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eager messages: the only copies of payload in this module.
 *
 * A process may write to the source while it is copied; then it sends
 * what it sees.  Nothing here looks at the bytes.
 */
#include "eager.h"

#include <linux/minmax.h>
#include <linux/string.h>

#include "group.h"
#include "pool.h"
#include "req.h"
#include "stats.h"

static void *eager_out(void *to, const struct dms_pool *pool, u64 off, u32 left)
{
	while (left) {
		u32 n = left;
		const void *from = dms_pool_addr(pool, off, &n);

		memcpy(to, from, n);
		to += n;
		off += n;
		left -= n;
	}
	return to;
}

/* Out of line, as its likes below: what most messages are is to stay short. */
static noinline void eager_out_tile(void *to, const struct dms_req *req)
{
	struct dms_elem piece;
	u32 at;

	for (at = 0; at < req->len && dms_req_at(req, at, &piece); at += piece.len)
		to = eager_out(to, req->pool, piece.off, piece.len);
}

/**
 * dms_eager_copy_out() - copy a small message into a packet
 * @to: req->len bytes
 * @req: SEND whose pool is pinned
 */
void dms_eager_copy_out(void *to, const struct dms_req *req)
{
	u32 i;

	if (unlikely(req->flags & DMASTREAM_SQE_TILE))
		eager_out_tile(to, req);
	else
		for (i = 0; i < req->nr_elem; i++)
			to = eager_out(to, req->pool, req->elem[i].off, req->elem[i].len);
	dms_stat_add(DMS_STAT_COPIED_TX_BYTES, req->len);
}

static const void *eager_in(struct dms_landing *l, u64 off, const void *from, u32 left)
{
	while (left) {
		u32 n = left;
		void *to = dms_pool_addr(l->pool, off, &n);

		memcpy(to, from, n);
		from += n;
		off += n;
		left -= n;
	}
	return from;
}

static noinline void eager_in_tile(struct dms_landing *l, const void *from, u32 len)
{
	struct dms_elem piece;
	u32 at, n;

	for (at = 0; at < len && dms_tile_at(l->tile, at, &piece); at += n) {
		n = min(piece.len, len - at);
		from = eager_in(l, piece.off, from, n);
	}
}

/**
 * dms_eager_copy_in() - copy a message out of a packet
 * @l: landing, not shorter than @len
 * @from: the frame's body
 * @len: bytes
 */
void dms_eager_copy_in(struct dms_landing *l, const void *from, u32 len)
{
	if (unlikely(l->tile))
		eager_in_tile(l, from, len);
	else
		eager_in(l, l->off, from, len);
	l->filled = len;
	dms_stat_add(DMS_STAT_COPIED_RX_BYTES, len);
}
