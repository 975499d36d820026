/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the data path share: two ends of streams, messages that
 * tell what they should be, and the module's own counters.
 *
 * One thread drives both ends (struct peer_pair) by peer_run().  Between two
 * guests the same program runs on both: node 0 has end b only, node 1 has end a
 * only, and peer_sync() lets them meet.
 *
 * Each message is self-describing: its tag carries the key of its stream, its
 * number and its length, and each byte depends on key, number and offset.  What
 * is wrong with what arrives is told and counted in peer_errors.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <dmastream.h>

#define PEER_EOS_NONE	1	/* eos_result until the end of the stream was told */

struct peer_cfg {
	uint64_t	flags;			/* DMASTREAM_STREAM_* */
	uint32_t	small_n, small_len;	/* landing buffers */
	uint32_t	large_n, large_len;	/* large_n 0: no large group */
	uint32_t	sq, cq, recv_min;
	uint64_t	tx_bytes;		/* room for what is sent and posted */
	uint32_t	poll_us;		/* not 0: a polled ring, of that idle time */
};

struct peer_stream {
	uint32_t	handle;
	uint16_t	key;		/* of what it sends */
	uint16_t	tx_id;		/* number of the next message */
	uint16_t	rx_id;
	int32_t		rx_key;		/* -1: the first message tells */
	uint32_t	rx_seq;
	uint32_t	part;		/* bytes of the message that is coming in parts */
	uint32_t	tx_out;		/* sends without a last completion */
	uint64_t	tx_msgs, tx_bytes, tx_failed;
	uint64_t	rx_msgs, rx_bytes;
	uint64_t	came_at;	/* the end's rx_bytes with its last message */
	int		eos_result;
};

struct peer_end {
	struct peer_cfg		cfg;
	struct dmastream	*ctx;
	struct dmastream_pool	*pool;
	struct dmastream_heap	*heap;
	struct dmastream_ring	*ring;
	struct dmastream_group	*small, *large;
	char			*base;
	uint64_t		large_at;	/* where the large landings begin */
	struct peer_stream	*streams;
	uint32_t		nr, max;
	uint16_t		*of_handle;	/* index + 1 */
	uint32_t		out;		/* sends without a last completion */
	uint64_t		rx_msgs, rx_bytes, parts;
	uint64_t		rx_eager;	/* bytes that came copied, by their length */
	uint64_t		more, notify;	/* completions of split sends */
	bool			keep;		/* landings are not given back ... */
	uint64_t		*kept;		/* ... but kept here */
	uint32_t		nr_kept;
	bool			batch;		/* landings are given, not published */
	/* what the engine does not know: true when it was taken */
	bool			(*other)(struct peer_end *e, const struct dmastream_cqe *cqe);
	void			*priv;
};

struct peer_pair {
	struct peer_end			*a, *b;		/* NULL: on the other node */
	struct dmastream_listener	*listener;
	char				service[DMASTREAM_SERVICE_MAX];
	struct dmastream_addr		addr;		/* of b's node */
};

/* One SEND.  want is the result that is right: its length, or a negative errno. */
struct peer_send {
	uint32_t	stream;		/* index */
	uint32_t	len;
	int		want;
	uint16_t	id;
	uint8_t		flags;		/* DMASTREAM_SQE_* */
	bool		told;
	void		*buf;
	int		result;
};

extern unsigned int peer_errors;
__attribute__((format(printf, 1, 2))) void peer_fail(const char *fmt, ...);

/* ---- the program ---- */
/* Fails the program after so many seconds of a fast machine. */
void peer_watchdog(unsigned int seconds);
/* For the watchdog: what is waited for now. */
__attribute__((format(printf, 1, 2))) void peer_waits_for(const char *fmt, ...);
/* $PEER_POLL: every end has a polled ring; the same program, submitting without calls. */
bool peer_polled(void);
bool peer_two_nodes(void);
bool peer_has_a(void);
bool peer_has_b(void);
void peer_sync(const char *name);
uint64_t peer_ms(unsigned int ms);	/* scaled */
uint32_t peer_rand(uint32_t *state);
uint32_t peer_range(uint32_t *state, uint32_t lo, uint32_t hi);

/* ---- ends ---- */
extern const struct peer_cfg peer_default;
struct peer_end *peer_end_new(const struct peer_cfg *cfg);
void peer_end_free(struct peer_end *e);
void peer_opts(const struct peer_end *e, struct dmastream_stream_opts *opts);
struct peer_stream *peer_stream_new(struct peer_end *e, uint32_t handle, uint16_t key);
struct peer_stream *peer_stream_of(struct peer_end *e, uint32_t handle);
void peer_give_all(struct peer_end *e);		/* all landings of both groups */
void peer_give(struct peer_end *e, uint64_t cookie);
void peer_give_kept(struct peer_end *e);
uint64_t peer_landing_off(const struct peer_end *e, uint64_t cookie, uint32_t *len);

/* ---- pairs ---- */
void peer_addr_of(const char *env, struct dmastream_addr *addr);
/*
 * Of peer @nr that this node, whose address is @own, is for itself: another address is
 * another session, with queue pairs of its own.  0 is @own; the others are added to eth0.
 */
void peer_address(const struct dmastream_addr *own, unsigned int nr,
		  struct dmastream_addr *addr);
int peer_pair_open(struct peer_pair *p, const char *service, const struct peer_cfg *a,
		   const struct peer_cfg *b);
/* One more stream; its key on side a is @key, on side b @key + 0x8000.  0 or -errno. */
int peer_pair_connect(struct peer_pair *p, uint16_t key);
/* Closes all streams in order (each side its own), then everything. */
void peer_pair_close(struct peer_pair *p);

/* ---- messages ---- */
void peer_fill(void *buf, uint16_t key, uint16_t id, uint32_t at, uint32_t len);
/* true, or the error was told */
bool peer_check(const void *buf, uint16_t key, uint16_t id, uint32_t at, uint32_t len);
uint64_t peer_tag(uint16_t key, uint16_t id, uint32_t len);
/*
 * Prepares one message of stream @i; -EAGAIN: the queue is full.  @shift: bytes by which its
 * buffer is not aligned.  Does not submit.
 */
int peer_prep(struct peer_end *e, uint32_t i, uint32_t len, uint32_t shift, uint8_t flags,
	      int want);
/* Of @n elements, with gaps between them. */
int peer_prep_vec(struct peer_end *e, uint32_t i, const uint32_t *len, uint32_t n,
		  uint32_t shift);
/* The same, and submits; polls while there is no room. */
void peer_send(struct peer_pair *p, struct peer_end *e, uint32_t i, uint32_t len,
	       uint32_t shift);
int peer_submit(struct peer_end *e);

/* Takes all completions that are there: how many. */
unsigned int peer_poll(struct peer_end *e);
/* Polls both ends until done() says so; false and an error when the time is over. */
bool peer_run(struct peer_end *a, struct peer_end *b, bool (*done)(void *arg), void *arg,
	      unsigned int ms, const char *what);
/* Until nothing is out on either end, and the ends have received so many messages in all. */
bool peer_settle(struct peer_pair *p, uint64_t rx_a, uint64_t rx_b);
/* One completion, taken away; 0 or -errno. */
int peer_next(struct peer_end *e, struct dmastream_cqe *cqe, unsigned int ms);

/* ---- what the module says ---- */
/* All of dmsctl's JSON; free() it. */
char *peer_status(void);
/* Of a section ("counters", "gauges", "refusals"); -1 when it is not there. */
long long peer_value(const char *status, const char *section, const char *name);
long long peer_counter(const char *name);
/* Is there an RDMA device?  Else all goes over TCP. */
bool peer_has_nic(void);
/* Sum over the NIC's own counters of receiver-not-ready. */
long long peer_rnr(void);
/* Results: RNR 0, posted = configured on each path. */
void peer_check_paths(const char *when);
/* Result: all gauges come to 0. */
void peer_check_gauges(void);
/* Lines of "rdma resource show WHAT". */
int peer_resources(const char *what);

#endif /* PEER_H */
