/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * libdmastream: streams of messages between hosts, moved by RDMA between pools
 * of pinned memory.  See dmastream(7), and the manual page of each family.
 *
 * EXPERIMENTAL, as the ABI in <linux/dmastream.h> is.
 *
 * What holds everywhere:
 *  - a call returns 0 or more, or a negative errno; errno itself is not set;
 *  - sizes and offsets are bytes, timeouts milliseconds, deadlines nanoseconds
 *    of CLOCK_MONOTONIC;
 *  - there is no hidden thread, and no call installs a signal handler;
 *  - all descriptors are close-on-exec.  Nothing here survives fork(): the
 *    child must not touch any of it but dmastream_close();
 *  - unless a call says otherwise, it may be made by several threads at once,
 *    as long as none of them closes an object that another one uses.
 */
#ifndef DMASTREAM_H
#define DMASTREAM_H

#include <stddef.h>
#include <stdint.h>
#include <linux/dmastream.h>
#include <dmastream/hot.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DMASTREAM_LIB_VERSION	"0.1"

struct dmastream;		/* a context: one open of the device */
struct dmastream_pool;		/* a mapped pool */
struct dmastream_heap;		/* an allocator over pools */
struct dmastream_listener;	/* a service that is announced */

/**
 * struct dmastream_error - why a call of the stream family failed
 * @err_class: enum dmastream_err_class
 * @err_detail: depends on the class
 * @stream: handle, or 0
 * @reserved0: zero
 * @peer: family 0 when it is not known
 * @service: empty when it is not known
 * @reserved: zero
 */
struct dmastream_error {
	uint32_t		err_class;
	uint32_t		err_detail;
	uint32_t		stream;
	uint32_t		reserved0;
	struct dmastream_addr	peer;
	char			service[DMASTREAM_SERVICE_MAX];
	uint64_t		reserved[4];
};

/**
 * struct dmastream_heap_stats - what an allocator holds, in bytes where not said
 * @total: of all pools added
 * @used: allocated, rounded up to what an allocation occupies
 * @cached: free, in the magazines of threads
 * @largest: longest allocation that would succeed from unsplit memory
 * @allocs: number of successful allocations since the heap was made
 * @frees: number of frees since the heap was made
 * @failures: number of allocations that found no memory
 * @bad_frees: number of frees of what was not allocated
 * @pools: number of areas added
 * @threads: number of threads with magazines
 * @held: of the pages that have something allocated or cached in them; what this is
 *        above @used and @cached is what fragmentation costs now
 * @grown: of the pools that the heap made itself; @total has them too
 * @grows: number of such pools made since the heap was
 * @shrinks: number of such pools given back
 * @grow_failures: number of times that one was needed and not to be had
 */
struct dmastream_heap_stats {
	uint64_t	total;
	uint64_t	used;
	uint64_t	cached;
	uint64_t	largest;
	uint64_t	allocs;
	uint64_t	frees;
	uint64_t	failures;
	uint64_t	bad_frees;
	uint32_t	pools;
	uint32_t	threads;
	uint64_t	held;
	uint64_t	grown;
	uint32_t	grows;
	uint32_t	shrinks;
	uint64_t	grow_failures;
};

/**
 * struct dmastream_heap_growth - pools that a heap makes and gives back by itself
 * @min_bytes: of such pools: made at once, and kept
 * @max_bytes: of such pools: never more
 * @pool_bytes: of each, unless an allocation needs more; 0: a 32nd of @max_bytes, and
 *              2 MiB at least
 * @spare_bytes: of empty pools that are kept for the next need; at least one is
 * @numa_node: as of dmastream_pool_create()
 * @flags: zero
 * @reserved: zero
 */
struct dmastream_heap_growth {
	uint64_t	min_bytes;
	uint64_t	max_bytes;
	uint64_t	pool_bytes;
	uint64_t	spare_bytes;
	int32_t		numa_node;
	uint32_t	flags;
	uint64_t	reserved[3];
};

/*
 * ---- Node -----------------------------------------------------------------
 */
const char *dmastream_version(void);
int dmastream_open(struct dmastream **ctx, const char *device);
void dmastream_close(struct dmastream *ctx);
int dmastream_fd(const struct dmastream *ctx);
int dmastream_query(struct dmastream *ctx, struct dmastream_query *query);
const struct dmastream_query *dmastream_limits(const struct dmastream *ctx);
uint64_t dmastream_now_ns(void);
uint64_t dmastream_deadline(uint32_t timeout_ms);

/*
 * ---- Pools ----------------------------------------------------------------
 */
int dmastream_pool_create(struct dmastream *ctx, uint64_t size, int numa_node,
			  struct dmastream_pool **pool);
int dmastream_pool_attach(struct dmastream *ctx, int fd,
			  struct dmastream_pool **pool);
int dmastream_pool_close(struct dmastream_pool *pool);
void *dmastream_pool_base(const struct dmastream_pool *pool);
uint64_t dmastream_pool_size(const struct dmastream_pool *pool);
int dmastream_pool_fd(const struct dmastream_pool *pool);
uint32_t dmastream_pool_handle(const struct dmastream_pool *pool);
void *dmastream_pool_ptr(const struct dmastream_pool *pool, uint64_t off);
int64_t dmastream_pool_off(const struct dmastream_pool *pool, const void *ptr);
int dmastream_nic_node(const char *device, int *node);
int dmastream_pool_part(const struct dmastream_pool *pool, uint32_t part,
			uint32_t parts, uint64_t *off, uint64_t *len);

/*
 * ---- Allocator ------------------------------------------------------------
 */
int dmastream_heap_create(struct dmastream_heap **heap);
void dmastream_heap_destroy(struct dmastream_heap *heap);
int dmastream_heap_add(struct dmastream_heap *heap, struct dmastream_pool *pool,
		       uint64_t off, uint64_t len);
void *dmastream_alloc(struct dmastream_heap *heap, size_t size);
void *dmastream_alloc_aligned(struct dmastream_heap *heap, size_t align,
			      size_t size);
int dmastream_free(struct dmastream_heap *heap, void *ptr);
size_t dmastream_alloc_size(struct dmastream_heap *heap, const void *ptr);
int dmastream_heap_locate(struct dmastream_heap *heap, const void *ptr,
			  uint32_t *pool, uint64_t *off);
void *dmastream_heap_ptr(struct dmastream_heap *heap, uint32_t pool,
			 uint64_t off);
int dmastream_heap_flush(struct dmastream_heap *heap);
int dmastream_heap_set_growth(struct dmastream_heap *heap, struct dmastream *ctx,
			      const struct dmastream_heap_growth *growth);
int64_t dmastream_heap_trim(struct dmastream_heap *heap);
int dmastream_heap_stats(struct dmastream_heap *heap,
			 struct dmastream_heap_stats *stats);

/*
 * ---- Buffer groups --------------------------------------------------------
 */
int dmastream_group_create(struct dmastream *ctx,
			   const struct dmastream_pool *pool, uint32_t entries,
			   uint32_t buf_len, struct dmastream_group **group);
int dmastream_group_close(struct dmastream_group *group);
uint32_t dmastream_group_handle(const struct dmastream_group *group);

/*
 * ---- Rings ----------------------------------------------------------------
 */
int dmastream_ring_create(struct dmastream *ctx, uint32_t sq_entries,
			  uint32_t cq_entries, uint32_t cq_recv_min,
			  struct dmastream_ring **ring);
int dmastream_ring_create_polled(struct dmastream *ctx, uint32_t sq_entries,
				 uint32_t cq_entries, uint32_t cq_recv_min,
				 uint32_t idle_us, struct dmastream_ring **ring);
int dmastream_ring_close(struct dmastream_ring *ring);
uint32_t dmastream_ring_handle(const struct dmastream_ring *ring);
int dmastream_ring_fd(const struct dmastream_ring *ring);
int dmastream_submit_and_wait(struct dmastream_ring *ring, uint32_t min_complete,
			      uint64_t deadline_ns);
int dmastream_wait_cqe(struct dmastream_ring *ring, struct dmastream_cqe **cqe,
		       uint64_t deadline_ns);
int dmastream_wait_cqe_timeout(struct dmastream_ring *ring,
			       struct dmastream_cqe **cqe, uint32_t timeout_ms);

/*
 * ---- Services and streams -------------------------------------------------
 */
int dmastream_listen(struct dmastream *ctx, const char *service,
		     uint32_t backlog, uint64_t cookie,
		     struct dmastream_listener **listener);
int dmastream_listener_close(struct dmastream_listener *listener);
int dmastream_listener_fd(const struct dmastream_listener *listener);
uint32_t dmastream_listener_handle(const struct dmastream_listener *listener);
int dmastream_accept(struct dmastream_listener *listener,
		     const struct dmastream_stream_opts *opts,
		     uint32_t timeout_ms, uint32_t *stream,
		     struct dmastream_addr *peer);
int dmastream_accept_async(struct dmastream_listener *listener,
			   const struct dmastream_stream_opts *opts,
			   uint32_t timeout_ms, uint64_t user_data);
int dmastream_connect(struct dmastream *ctx, const struct dmastream_addr *peer,
		      const char *service,
		      const struct dmastream_stream_opts *opts,
		      uint32_t timeout_ms, uint32_t *stream,
		      struct dmastream_error *err);
int dmastream_connect_async(struct dmastream *ctx,
			    const struct dmastream_addr *peer,
			    const char *service,
			    const struct dmastream_stream_opts *opts,
			    uint32_t timeout_ms, uint64_t user_data,
			    uint32_t *stream);
int dmastream_connect_name(struct dmastream *ctx, const char *host, int family,
			   uint32_t port, const char *service,
			   const struct dmastream_stream_opts *opts,
			   uint32_t timeout_ms, uint32_t *stream,
			   struct dmastream_error *err);
int dmastream_shutdown(struct dmastream *ctx, uint32_t stream);
int dmastream_stream_close(struct dmastream *ctx, uint32_t stream,
			   uint32_t flags, uint32_t timeout_ms);
int dmastream_stream_close_async(struct dmastream *ctx, uint32_t stream,
				 uint32_t flags, uint32_t timeout_ms,
				 uint64_t user_data);
int dmastream_stream_query(struct dmastream *ctx, uint32_t stream,
			   struct dmastream_stream_query *query);
int dmastream_stream_error(struct dmastream *ctx, uint32_t stream,
			   struct dmastream_error *err);
int dmastream_cancel(struct dmastream *ctx, uint32_t stream,
		     uint64_t user_data);

/*
 * ---- Names and texts ------------------------------------------------------
 */

/* bytes that always suffice for dmastream_addr_text() */
#define DMASTREAM_ADDR_TEXT	80
/* bytes that always suffice for dmastream_waits_text() */
#define DMASTREAM_WAITS_TEXT	96
/* bytes that always suffice for dmastream_explain() */
#define DMASTREAM_EXPLAIN_TEXT	512

int dmastream_resolve(const char *host, int family, uint32_t port,
		      struct dmastream_addr *addrs, uint32_t max);
const char *dmastream_addr_text(const struct dmastream_addr *addr, char *buf,
				size_t size);
const char *dmastream_waits_text(uint32_t waits, char *buf, size_t size);
const char *dmastream_state_text(uint32_t state);
const char *dmastream_class_text(uint32_t err_class);
const char *dmastream_refusal_text(uint32_t refusal);
const char *dmastream_explain(int error, const struct dmastream_error *where,
			      char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* DMASTREAM_H */
