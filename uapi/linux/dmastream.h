/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dmastream: streams of messages between hosts, moved by RDMA between pools
 * of pinned memory.
 *
 * This is the only ABI header.  It is EXPERIMENTAL: until the release that
 * removes this sentence, anything here may change.
 *
 * Rules that hold for every structure here:
 *  - fixed-width members, no holes, the same layout for 32-bit processes;
 *  - a structure may grow at its end.  The size is part of the request number;
 *    the kernel looks at the number only, takes what it knows, and requires
 *    the rest to be zero (-E2BIG otherwise).  A structure that is shorter than
 *    its first version is -EINVAL;
 *  - reserved members and unknown flags must be zero, else -EINVAL;
 *  - a handle is a number of one context (one open of /dev/dmastream), never
 *    zero.
 */
#ifndef _UAPI_LINUX_DMASTREAM_H
#define _UAPI_LINUX_DMASTREAM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DMASTREAM_DEVICE	"/dev/dmastream"
#define DMASTREAM_ABI_VERSION	1

/** DMASTREAM_PORT: TCP and rdma_cm port that is used when a port is 0 */
#define DMASTREAM_PORT		7477

/** DMASTREAM_SERVICE_MAX: bytes of a service name, with its closing NUL */
#define DMASTREAM_SERVICE_MAX	64

/** DMASTREAM_VEC_MAX: elements of a vector SEND */
#define DMASTREAM_VEC_MAX	8

/** DMASTREAM_MSG_MAX: longest message, in bytes (2 GiB - 1) */
#define DMASTREAM_MSG_MAX	0x7fffffff

/** DMASTREAM_TIMEOUT_NONE: a timeout_ms that never ends */
#define DMASTREAM_TIMEOUT_NONE	0xffffffffU

/*
 * ---- The shared rings -----------------------------------------------------
 *
 * All indices run freely through 2^32; an entry is at index & (entries - 1).
 * Who writes what, and the order, is in Documentation/ring-ordering.rst:
 *
 *  - the writer of an index stores it with release, its reader loads it with
 *    acquire;
 *  - the kernel sets a NEED_KICK flag, issues a full barrier and looks again;
 *    the process publishes, issues a full barrier, and reads the flag.  When
 *    it is set, the process calls DMASTREAM_IOC_ENTER on a ring of the context.
 */

/** enum dmastream_op - what a submission asks for */
enum dmastream_op {
	DMASTREAM_OP_NOP	= 0,	/* completes with 0 */
	DMASTREAM_OP_SEND	= 1,	/* one message: a range, a vector, or a tile */
	DMASTREAM_OP_RECV	= 2,	/* where the next message lands (posted streams) */
	/* kinds of completions that come from an ioctl with a ring */
	DMASTREAM_OP_ACCEPT	= 3,
	DMASTREAM_OP_CONNECT	= 4,
	DMASTREAM_OP_CLOSE	= 5
};

/** DMASTREAM_SQE_SILENT: no completion when it succeeds */
#define DMASTREAM_SQE_SILENT	(1U << 0)
/** DMASTREAM_SQE_VEC: SEND of a vector, see struct dmastream_vec */
#define DMASTREAM_SQE_VEC	(1U << 1)
/**
 * DMASTREAM_SQE_SPLIT: SEND tells its result as soon as that is known, with
 * DMASTREAM_CQE_MORE, and gives the buffer back with a later
 * DMASTREAM_CQE_NOTIFY, when the two are not the same moment.  It takes two
 * slots of the completion queue.  Not together with DMASTREAM_SQE_SILENT.
 */
#define DMASTREAM_SQE_SPLIT	(1U << 2)

/** DMASTREAM_SQE_TILE: SEND or RECV of a tile, see struct dmastream_tile.  Not together with DMASTREAM_SQE_VEC */
#define DMASTREAM_SQE_TILE	(1U << 3)

#define DMASTREAM_SQE_FLAGS	(DMASTREAM_SQE_SILENT | DMASTREAM_SQE_VEC | \
				 DMASTREAM_SQE_SPLIT | DMASTREAM_SQE_TILE)

/**
 * struct dmastream_sqe - one submission, 64 bytes
 * @op: enum dmastream_op, NOP to RECV
 * @flags: DMASTREAM_SQE_*
 * @reserved0: zero
 * @stream: handle of the stream; zero for NOP
 * @user_data: comes back in the completion
 * @tag: SEND: comes out as the tag of the receiver's completion
 * @pool: handle of the pool that @off, or the offsets of vector or tile, are in
 * @len: bytes of the range; with DMASTREAM_SQE_VEC elements of the vector,
 *       1 to DMASTREAM_VEC_MAX; with DMASTREAM_SQE_TILE 1.  A range of 0 bytes
 *       is a message of 0 bytes, and then @pool may be zero
 * @off: byte offset in the pool; with DMASTREAM_SQE_VEC or DMASTREAM_SQE_TILE
 *       the byte offset of the elements or the tile in the ring's indirect area,
 *       a multiple of 8
 * @reserved: zero; kept for signals and regions
 */
struct dmastream_sqe {
	__u8		op;
	__u8		flags;
	__u16		reserved0;
	__u32		stream;
	__aligned_u64	user_data;
	__aligned_u64	tag;
	__u32		pool;
	__u32		len;
	__aligned_u64	off;
	__aligned_u64	reserved[3];
};

/**
 * struct dmastream_vec - an element of a vector
 * @off: byte offset in the submission's pool
 * @len: bytes, not zero
 * @reserved: zero
 */
struct dmastream_vec {
	__aligned_u64	off;
	__u32		len;
	__u32		reserved;
};

/**
 * struct dmastream_tile - rows of equal length at equal distances
 * @off: byte offset of the first row in the submission's pool
 * @pitch: bytes from the start of one row to that of the next, not less than
 *         @row_bytes; of a single row it does not matter
 * @rows: how many, not zero
 * @row_bytes: bytes of each, not zero
 * @reserved: zero
 *
 * The message is the rows one after the other; what lies between them is not
 * part of it, and is not written to.  All rows are inside the pool.  The other
 * side's range, vector or tile need not have the same form.
 */
struct dmastream_tile {
	__aligned_u64	off;
	__aligned_u64	pitch;
	__u32		rows;
	__u32		row_bytes;
	__aligned_u64	reserved;
};

/** DMASTREAM_CQE_MORE: another completion with this user_data (SEND) or another part of this message (RECV) follows */
#define DMASTREAM_CQE_MORE	(1U << 0)
/** DMASTREAM_CQE_NOTIFY: the buffer of a split SEND is the process's again; the result came before */
#define DMASTREAM_CQE_NOTIFY	(1U << 1)
/** DMASTREAM_CQE_EOS: nothing more will be received; result 0: the peer shut down its side, else the stream broke */
#define DMASTREAM_CQE_EOS	(1U << 2)
/**
 * DMASTREAM_CQE_NOBUF: user_data is the stream's cookie, no buffer comes back: the end of a stream; or
 * without DMASTREAM_CQE_EOS and with the result -ECANCELED that of a message of which parts have
 * come: the peer has taken it back, and no more of it comes
 */
#define DMASTREAM_CQE_NOBUF	(1U << 3)

#define DMASTREAM_CQE_OP_SHIFT	8
/** DMASTREAM_CQE_OP(): enum dmastream_op of a completion */
#define DMASTREAM_CQE_OP(flags)	(((flags) >> DMASTREAM_CQE_OP_SHIFT) & 0xff)

/**
 * struct dmastream_cqe - one completion, 32 bytes
 * @user_data: of the submission; for a pooled receive the cookie of the
 *             landing buffer; for EOS of a pooled receive the stream's cookie
 * @result: negative errno, or: SEND bytes delivered; RECV with MORE the bytes
 *          in this buffer, without MORE the bytes of the whole message (what is
 *          in the last buffer is that less what the earlier ones had);
 *          CONNECT and ACCEPT the stream's handle
 * @flags: DMASTREAM_CQE_*
 * @stream: handle of the stream, or zero
 * @seq: number of the message in its stream and direction, from 1
 * @tag: RECV: the sender's tag; ACCEPT: the cookie of the listener
 */
struct dmastream_cqe {
	__aligned_u64	user_data;
	__s32		result;
	__u32		flags;
	__u32		stream;
	__u32		seq;
	__aligned_u64	tag;
};

/** DMASTREAM_RING_CQ_KICK: completions wait for room: after reaping, call ENTER */
#define DMASTREAM_RING_CQ_KICK	(1U << 0)
/** DMASTREAM_RING_SQ_KICK: the poller sleeps: after submitting, call ENTER (always set on a ring that is not polled) */
#define DMASTREAM_RING_SQ_KICK	(1U << 1)
/** DMASTREAM_RING_DEAD: the context is gone; ENTER answers -ENODEV */
#define DMASTREAM_RING_DEAD	(1U << 2)

/**
 * struct dmastream_ring_shared - the control block at the start of a mapped ring
 * @sq_tail: the process writes: submissions published
 * @sq_head: the kernel writes: submissions consumed
 * @flags: the kernel writes: DMASTREAM_RING_*
 * @cq_head: the process writes: completions reaped
 * @cq_tail: the kernel writes: completions published
 * @pad0: keeps the writers on cache lines of their own
 * @pad1: likewise
 * @pad2: likewise
 * @pad3: likewise
 */
struct dmastream_ring_shared {
	__u32	sq_tail;
	__u32	pad0[15];
	__u32	sq_head;
	__u32	flags;
	__u32	pad1[14];
	__u32	cq_head;
	__u32	pad2[15];
	__u32	cq_tail;
	__u32	pad3[15];
};

/**
 * struct dmastream_landing - an entry of a buffer group's ring
 * @cookie: comes back as user_data of the completion
 * @offset: byte offset in the group's pool
 * @length: bytes, at least the group's buf_len
 * @flags: zero
 */
struct dmastream_landing {
	__aligned_u64	cookie;
	__aligned_u64	offset;
	__u32		length;
	__u32		flags;
};

/** DMASTREAM_GROUP_KICK: streams wait for buffers: after giving some, call ENTER */
#define DMASTREAM_GROUP_KICK	(1U << 0)
/** DMASTREAM_GROUP_BAD: an entry was refused (range, length or flags); @bad counts them */
#define DMASTREAM_GROUP_BAD	(1U << 1)

/**
 * struct dmastream_group_shared - the control block at the start of a mapped group
 * @tail: the process writes: buffers given
 * @pad0: keeps the writers on cache lines of their own
 * @head: the kernel writes: entries taken
 * @flags: the kernel writes: DMASTREAM_GROUP_*
 * @bad: the kernel writes: entries that it refused
 * @pad1: likewise
 */
struct dmastream_group_shared {
	__u32	tail;
	__u32	pad0[15];
	__u32	head;
	__u32	flags;
	__u32	bad;
	__u32	pad1[13];
};

/*
 * ---- Requests on /dev/dmastream -------------------------------------------
 */

/** DMASTREAM_FEAT_POLL: rings can have DMASTREAM_RING_POLL */
#define DMASTREAM_FEAT_POLL	(1ULL << 0)
/** DMASTREAM_FEAT_LANES: streams can have DMASTREAM_STREAM_LATENCY */
#define DMASTREAM_FEAT_LANES	(1ULL << 1)
/** DMASTREAM_FEAT_TILE: SEND and RECV take DMASTREAM_SQE_TILE */
#define DMASTREAM_FEAT_TILE	(1ULL << 2)
/** DMASTREAM_FEAT_PUSH: streams can have DMASTREAM_STREAM_PUSH */
#define DMASTREAM_FEAT_PUSH	(1ULL << 3)

/**
 * struct dmastream_query - what this kernel has
 * @flags: zero
 * @abi_version: out: DMASTREAM_ABI_VERSION
 * @features: out: DMASTREAM_FEAT_*
 * @sqe_ops: out: bit n is set when operation n can be submitted
 * @sqe_flags: out: valid DMASTREAM_SQE_*
 * @stream_flags: out: valid DMASTREAM_STREAM_*
 * @max_pool_bytes: out: of one pool
 * @quota_bytes: out: pinned bytes that the calling user may have
 * @quota_used: out: pinned bytes that the calling user has
 * @max_pools: out: of one context
 * @max_groups: out: of one context
 * @max_rings: out: of one context
 * @max_listeners: out: of one context
 * @max_streams: out: of one context
 * @max_group_entries: out: a power of two
 * @max_sq_entries: out: a power of two
 * @max_cq_entries: out: a power of two
 * @max_indirect_bytes: out: of one ring
 * @max_backlog: out: of one listener
 * @max_vec: out: elements of a vector
 * @max_msg: out: bytes of a message
 * @eager_max: out: bytes up to which a message is packed
 * @port: out: the port that stands for 0
 * @node: out: boot nonce of this module instance
 */
struct dmastream_query {
	__u32		flags;
	__u32		abi_version;
	__aligned_u64	features;
	__u32		sqe_ops;
	__u32		sqe_flags;
	__aligned_u64	stream_flags;
	__aligned_u64	max_pool_bytes;
	__aligned_u64	quota_bytes;
	__aligned_u64	quota_used;
	__u32		max_pools;
	__u32		max_groups;
	__u32		max_rings;
	__u32		max_listeners;
	__u32		max_streams;
	__u32		max_group_entries;
	__u32		max_sq_entries;
	__u32		max_cq_entries;
	__u32		max_indirect_bytes;
	__u32		max_backlog;
	__u32		max_vec;
	__u32		max_msg;
	__u32		eager_max;
	__u32		port;
	__u8		node[16];
};

/**
 * struct dmastream_pool_create - new pool of kernel pages
 * @size: in: bytes, a multiple of the page size, not zero
 * @flags: zero
 * @numa_node: in: node to allocate on, or -1
 * @fd: out: file descriptor; mmap() it at offset 0, or hand it over
 * @pool: out: handle
 *
 * -EDQUOT: over the user's quota, see struct dmastream_query.
 */
struct dmastream_pool_create {
	__aligned_u64	size;
	__u32		flags;
	__s32		numa_node;
	__s32		fd;
	__u32		pool;
};

/**
 * struct dmastream_pool_attach - use a pool that came from elsewhere
 * @fd: in: a pool's file descriptor
 * @flags: zero
 * @pool: out: handle
 * @reserved: zero
 * @size: out: bytes
 */
struct dmastream_pool_attach {
	__s32		fd;
	__u32		flags;
	__u32		pool;
	__u32		reserved;
	__aligned_u64	size;
};

/**
 * struct dmastream_group_create - new buffer group
 * @pool: in: handle of the pool its buffers are in
 * @entries: in: a power of two
 * @buf_len: in: no buffer of this group is shorter, not zero
 * @flags: zero
 * @fd: out: file descriptor; mmap() @map_size bytes at offset 0.  Closing it
 *      (when it is not mapped) ends the streams that receive through it
 * @group: out: handle
 * @map_size: out: bytes to map
 * @entries_off: out: where the entries begin in the mapping
 */
struct dmastream_group_create {
	__u32		pool;
	__u32		entries;
	__u32		buf_len;
	__u32		flags;
	__s32		fd;
	__u32		group;
	__u32		map_size;
	__u32		entries_off;
};

/**
 * DMASTREAM_RING_POLL: a thread of the kernel consumes submissions while
 * DMASTREAM_RING_SQ_KICK is clear, and no call is needed.  It sleeps when
 * nothing comes.  All such rings of a context share one thread
 */
#define DMASTREAM_RING_POLL	(1U << 0)
#define DMASTREAM_RING_FLAGS	DMASTREAM_RING_POLL

/**
 * struct dmastream_ring_create - new pair of submission and completion queues
 * @sq_entries: in: a power of two
 * @cq_entries: in: a power of two, at least 2
 * @cq_recv_min: in: completions that submissions can never take, 1 to
 *               cq_entries - 1
 * @indirect_bytes: in: size of the indirect area, may be 0
 * @flags: in: DMASTREAM_RING_POLL, or zero
 * @fd: out: file descriptor: mmap() @map_size bytes at offset 0, poll(), ENTER
 * @ring: out: handle
 * @map_size: out: bytes to map
 * @sqes_off: out: where the submissions begin
 * @cqes_off: out: where the completions begin
 * @indirect_off: out: where the indirect area begins
 * @poll_idle_us: in: with DMASTREAM_RING_POLL: how long the thread looks for
 *                submissions before it sleeps, in microseconds, at most
 *                1,000,000; 0: as the module is configured.  The first polled
 *                ring of a context decides
 *
 * -EDQUOT: over the user's quota of memory, or of polling threads.
 */
struct dmastream_ring_create {
	__u32		sq_entries;
	__u32		cq_entries;
	__u32		cq_recv_min;
	__u32		indirect_bytes;
	__u32		flags;
	__s32		fd;
	__u32		ring;
	__u32		map_size;
	__u32		sqes_off;
	__u32		cqes_off;
	__u32		indirect_off;
	__u32		poll_idle_us;
};

/**
 * struct dmastream_addr - address of a node
 * @family: AF_INET or AF_INET6
 * @port: in network order, 0 for the default
 * @scope_id: interface of a link-local IPv6 address
 * @addr: IPv4 in the first four bytes, the rest zero; or IPv6
 */
struct dmastream_addr {
	__u16	family;
	__u16	port;
	__u32	scope_id;
	__u8	addr[16];
};

/**
 * struct dmastream_listen - announce a service
 * @service: in: name, NUL-terminated and -padded, not empty
 * @backlog: in: connections that wait for ACCEPT, at least 1
 * @flags: zero
 * @cookie: in: returned by ACCEPT
 * @fd: out: file descriptor; readable while a connection waits.  Closing it
 *      refuses those
 * @listener: out: handle
 *
 * -EADDRINUSE: the name is taken in this network namespace.
 */
struct dmastream_listen {
	char		service[DMASTREAM_SERVICE_MAX];
	__u32		backlog;
	__u32		flags;
	__aligned_u64	cookie;
	__s32		fd;
	__u32		listener;
};

/** DMASTREAM_STREAM_POSTED: receives with RECV instead of from groups */
#define DMASTREAM_STREAM_POSTED	(1ULL << 0)
/**
 * DMASTREAM_STREAM_LATENCY: CONNECT: use the queue pairs that are kept for short
 * messages, where no bulk data is in the way.  With a peer that has none, the
 * stream works like any other.  The accepting end follows, and does not ask for
 * it.  STREAM_QUERY says where the stream is
 */
#define DMASTREAM_STREAM_LATENCY (1ULL << 1)
/**
 * DMASTREAM_STREAM_PUSH: with DMASTREAM_STREAM_POSTED: the peer may write its next
 * messages straight into the buffers of the next RECVs, above eager_max bytes, as long
 * as these are open to it: half a round trip instead of one and a half.  A buffer's
 * bytes are undefined from its RECV to that one's completion.  With a peer that
 * cannot, the stream works like any other.  STREAM_QUERY says whether it can
 */
#define DMASTREAM_STREAM_PUSH	(1ULL << 2)
#define DMASTREAM_STREAM_FLAGS	(DMASTREAM_STREAM_POSTED | DMASTREAM_STREAM_LATENCY | \
				 DMASTREAM_STREAM_PUSH)

/** DMASTREAM_WEIGHT_MAX: largest weight of a stream */
#define DMASTREAM_WEIGHT_MAX	16

/** DMASTREAM_OPEN_ASYNC: return at once; the end comes as a completion on the ring */
#define DMASTREAM_OPEN_ASYNC	(1U << 0)
#define DMASTREAM_OPEN_FLAGS	DMASTREAM_OPEN_ASYNC

/**
 * struct dmastream_stream_opts - how a stream works on this side
 * @flags: DMASTREAM_STREAM_*
 * @cookie: the process's own word; returned by ACCEPT's completion, by
 *          STREAM_QUERY, and as user_data of completions without a buffer
 * @ring: handle of the ring that gets the stream's completions
 * @small_group: handle: eager messages land here.  Pooled streams need it;
 *               zero for posted ones
 * @large_group: handle: longer messages land here, or zero: then the peer's
 *               longer messages fail with -EMSGSIZE
 * @weight: share of what the path sends, as long as others want to send too: 1 to
 *          DMASTREAM_WEIGHT_MAX, 0 stands for 1
 */
struct dmastream_stream_opts {
	__aligned_u64	flags;
	__aligned_u64	cookie;
	__u32		ring;
	__u32		small_group;
	__u32		large_group;
	__u32		weight;
};

/**
 * struct dmastream_accept - take a connection of a listener
 * @listener: in: handle
 * @flags: in: DMASTREAM_OPEN_*
 * @timeout_ms: in: 0 does not wait (-EAGAIN), DMASTREAM_TIMEOUT_NONE for ever
 * @stream: out: handle (not with DMASTREAM_OPEN_ASYNC)
 * @opts: in
 * @user_data: in: of the completion, with DMASTREAM_OPEN_ASYNC
 * @listener_cookie: out
 * @peer: out: address of the peer (not with DMASTREAM_OPEN_ASYNC)
 */
struct dmastream_accept {
	__u32				listener;
	__u32				flags;
	__u32				timeout_ms;
	__u32				stream;
	struct dmastream_stream_opts	opts;
	__aligned_u64			user_data;
	__aligned_u64			listener_cookie;
	struct dmastream_addr		peer;
};

/**
 * struct dmastream_connect - open a stream to a service of a peer
 * @peer: in
 * @service: in: NUL-terminated and -padded
 * @flags: in: DMASTREAM_OPEN_*
 * @timeout_ms: in: not zero
 * @opts: in
 * @user_data: in: of the completion, with DMASTREAM_OPEN_ASYNC
 * @stream: out: handle, with DMASTREAM_OPEN_ASYNC too
 * @err_class: out: enum dmastream_err_class, when it failed
 * @err_detail: out: depends on the class
 * @reserved: zero
 */
struct dmastream_connect {
	struct dmastream_addr		peer;
	char				service[DMASTREAM_SERVICE_MAX];
	__u32				flags;
	__u32				timeout_ms;
	struct dmastream_stream_opts	opts;
	__aligned_u64			user_data;
	__u32				stream;
	__u32				err_class;
	__u32				err_detail;
	__u32				reserved;
};

/**
 * struct dmastream_shutdown - send no more, and tell the peer so
 * @stream: in: handle
 * @flags: zero
 *
 * What was submitted before is delivered first; on a polled ring, what was
 * published before.
 */
struct dmastream_shutdown {
	__u32		stream;
	__u32		flags;
};

/** enum dmastream_object - what CLOSE can be asked to close */
enum dmastream_object {
	DMASTREAM_OBJ_POOL	= 1,	/* detach it from this context */
	DMASTREAM_OBJ_STREAM	= 2
};

/** DMASTREAM_CLOSE_ABORT: do not deliver what is not delivered yet */
#define DMASTREAM_CLOSE_ABORT	(1U << 0)
/** DMASTREAM_CLOSE_ASYNC: return at once; the end comes as a completion on the stream's ring */
#define DMASTREAM_CLOSE_ASYNC	(1U << 1)
#define DMASTREAM_CLOSE_FLAGS	(DMASTREAM_CLOSE_ABORT | DMASTREAM_CLOSE_ASYNC)

/**
 * struct dmastream_close - give a handle back
 * @type: in: enum dmastream_object
 * @handle: in
 * @flags: in: DMASTREAM_CLOSE_*, streams only
 * @timeout_ms: in: streams: how long to deliver what was submitted; then as
 *              with DMASTREAM_CLOSE_ABORT.  DMASTREAM_TIMEOUT_NONE: no limit
 * @user_data: in: of the completion, with DMASTREAM_CLOSE_ASYNC
 *
 * A stream's handle is invalid at once, whatever is returned.  Every accepted
 * submission of it gets its completion first.  Returns 0 when all of them
 * were delivered, -ETIMEDOUT or -ECONNRESET when not (their completions say
 * which), -EINTR when a signal ended the wait: the close goes on then.
 */
struct dmastream_close {
	__u32		type;
	__u32		handle;
	__u32		flags;
	__u32		timeout_ms;
	__aligned_u64	user_data;
};

/** enum dmastream_stream_state - of struct dmastream_stream_query */
enum dmastream_stream_state {
	DMASTREAM_STATE_CONNECTING	= 1,
	DMASTREAM_STATE_OPEN		= 2,
	DMASTREAM_STATE_CLOSING		= 3,
	DMASTREAM_STATE_BROKEN		= 4
};

/** enum dmastream_wait - what a stream waits for; bits */
enum dmastream_wait {
	DMASTREAM_WAIT_LANDING	= 1U << 0,	/* receive: a buffer of a group, or a RECV */
	DMASTREAM_WAIT_CQ	= 1U << 1,	/* receive: a slot of the completion queue */
	DMASTREAM_WAIT_CREDIT	= 1U << 2,	/* send: the receiver's landing credit */
	DMASTREAM_WAIT_KEY	= 1U << 3,	/* send: a memory region of the path */
	DMASTREAM_WAIT_WINDOW	= 1U << 4,	/* send: the path's send window */
	DMASTREAM_WAIT_HOLD	= 1U << 5,	/* send: the receiver cannot pull now */
	DMASTREAM_WAIT_SESSION	= 1U << 6,	/* the session or path is not up */
	DMASTREAM_WAIT_INCAST	= 1U << 7,	/* receive: the NIC's incast budget */
	DMASTREAM_WAIT_RATE	= 1U << 8	/* send: the rate limit of the path's lane */
};

/** enum dmastream_err_class - where a stream's last error came from */
enum dmastream_err_class {
	DMASTREAM_ERR_NONE	= 0,
	DMASTREAM_ERR_LOCAL	= 1,	/* this process: closed, aborted, its group or ring closed; detail: errno */
	DMASTREAM_ERR_PEER	= 2,	/* the peer's process: closed or aborted; detail: errno */
	DMASTREAM_ERR_REFUSED	= 3,	/* the peer's node refused; detail: enum dmastream_refusal */
	DMASTREAM_ERR_PATH	= 4,	/* the queue pair failed; detail: ib_wc_status, or an rdma_cm event + 256 */
	DMASTREAM_ERR_SESSION	= 5,	/* the session ended; detail: errno */
	DMASTREAM_ERR_PROTOCOL	= 6,	/* the peer broke the protocol; detail: a rule's number */
	DMASTREAM_ERR_DEVICE	= 7	/* the RDMA device went; detail: errno */
};

/** enum dmastream_refusal - detail of DMASTREAM_ERR_REFUSED */
enum dmastream_refusal {
	DMASTREAM_REFUSED_SERVICE	= 1,	/* nobody listens to this name */
	DMASTREAM_REFUSED_BACKLOG	= 2,	/* the listener's backlog is full */
	DMASTREAM_REFUSED_MEMORY	= 3,	/* the peer has no memory now */
	DMASTREAM_REFUSED_VERSION	= 4,	/* no common wire version */
	DMASTREAM_REFUSED_AUTH		= 5,	/* the shared secret differs */
	DMASTREAM_REFUSED_PREFIX	= 6,	/* this address is not allowed */
	DMASTREAM_REFUSED_LIMIT		= 7,	/* the peer's limits are reached */
	DMASTREAM_REFUSED_CROSSED	= 8,	/* another session is there already */
	DMASTREAM_REFUSED_MALFORMED	= 9,	/* the handshake could not be read */
	DMASTREAM_REFUSED_CLOSED	= 10	/* the listener closed before ACCEPT */
};

/**
 * struct dmastream_stream_query - what is known of a stream
 * @stream: in: handle
 * @flags: zero
 * @state: out: enum dmastream_stream_state
 * @waits: out: enum dmastream_wait
 * @cookie: out: of struct dmastream_stream_opts
 * @stream_flags: out: likewise; DMASTREAM_STREAM_LATENCY: the stream uses those queue
 *                pairs (while it has no path yet: it asked for them);
 *                DMASTREAM_STREAM_PUSH: the peer can push (likewise)
 * @peer: out
 * @err_class: out: enum dmastream_err_class
 * @err_detail: out
 * @tx_msgs: out: messages acknowledged by the peer
 * @tx_bytes: out: their bytes
 * @rx_msgs: out: messages delivered here
 * @rx_bytes: out: their bytes
 * @tx_queued: out: sends accepted and not completed
 * @rx_queued: out: messages received and not delivered
 * @credits: out: landing credits left for sending
 * @keys: out: memory regions that the peer may read now
 */
struct dmastream_stream_query {
	__u32			stream;
	__u32			flags;
	__u32			state;
	__u32			waits;
	__aligned_u64		cookie;
	__aligned_u64		stream_flags;
	struct dmastream_addr	peer;
	__u32			err_class;
	__u32			err_detail;
	__aligned_u64		tx_msgs;
	__aligned_u64		tx_bytes;
	__aligned_u64		rx_msgs;
	__aligned_u64		rx_bytes;
	__u32			tx_queued;
	__u32			rx_queued;
	__u32			credits;
	__u32			keys;
};

/**
 * struct dmastream_cancel - take a submission back
 * @stream: in: handle
 * @flags: zero
 * @user_data: in: of the submission; the oldest one that matches
 *
 * 0: its completion tells how it ends: with -ECANCELED, and then it will never be
 * delivered and its buffer is free; or as it would have, since it was delivered before the peer
 * heard of this.  One that was not on the wire has ended with -ECANCELED already.
 * -EALREADY: it is being taken back, or it is delivered and its completion is to come, or it is on
 * the wire and the peer's module is older and cannot take it back, or it is a RECV.
 * -ENOENT: no such submission.
 */
struct dmastream_cancel {
	__u32		stream;
	__u32		flags;
	__aligned_u64	user_data;
};

/*
 * ---- Request on a ring's file descriptor ----------------------------------
 */

/**
 * struct dmastream_enter - submit, and wait
 * @to_submit: in: submissions to consume, at most
 * @min_complete: in: wait until so many completions can be reaped, 0 does not
 *                wait
 * @flags: zero
 * @submitted: out: submissions consumed
 * @deadline_ns: in: CLOCK_MONOTONIC time at which the wait ends, 0 never
 * @wait_result: out: 0, -ETIME, -EINTR, or -ENODEV when the ring died
 * @reserved: zero
 *
 * Also serves what NEED_KICK flags of the context asked for.  Returns -EAGAIN
 * when there was something to submit and no slot of the completion queue for
 * the first of it.
 */
struct dmastream_enter {
	__u32		to_submit;
	__u32		min_complete;
	__u32		flags;
	__u32		submitted;
	__aligned_u64	deadline_ns;
	__s32		wait_result;
	__u32		reserved;
};

#define DMASTREAM_IOC_MAGIC		0xD5
#define DMASTREAM_IOC_QUERY		_IOWR(DMASTREAM_IOC_MAGIC, 0x00, struct dmastream_query)
#define DMASTREAM_IOC_POOL_CREATE	_IOWR(DMASTREAM_IOC_MAGIC, 0x01, struct dmastream_pool_create)
#define DMASTREAM_IOC_POOL_ATTACH	_IOWR(DMASTREAM_IOC_MAGIC, 0x02, struct dmastream_pool_attach)
#define DMASTREAM_IOC_GROUP_CREATE	_IOWR(DMASTREAM_IOC_MAGIC, 0x03, struct dmastream_group_create)
#define DMASTREAM_IOC_RING_CREATE	_IOWR(DMASTREAM_IOC_MAGIC, 0x04, struct dmastream_ring_create)
#define DMASTREAM_IOC_LISTEN		_IOWR(DMASTREAM_IOC_MAGIC, 0x05, struct dmastream_listen)
#define DMASTREAM_IOC_ACCEPT		_IOWR(DMASTREAM_IOC_MAGIC, 0x06, struct dmastream_accept)
#define DMASTREAM_IOC_CONNECT		_IOWR(DMASTREAM_IOC_MAGIC, 0x07, struct dmastream_connect)
#define DMASTREAM_IOC_SHUTDOWN		_IOWR(DMASTREAM_IOC_MAGIC, 0x08, struct dmastream_shutdown)
#define DMASTREAM_IOC_CLOSE		_IOWR(DMASTREAM_IOC_MAGIC, 0x09, struct dmastream_close)
#define DMASTREAM_IOC_STREAM_QUERY	_IOWR(DMASTREAM_IOC_MAGIC, 0x0a, struct dmastream_stream_query)
#define DMASTREAM_IOC_CANCEL		_IOWR(DMASTREAM_IOC_MAGIC, 0x0b, struct dmastream_cancel)

/* on the file descriptor of a ring */
#define DMASTREAM_IOC_ENTER		_IOWR(DMASTREAM_IOC_MAGIC, 0x20, struct dmastream_enter)

#endif /* _UAPI_LINUX_DMASTREAM_H */
