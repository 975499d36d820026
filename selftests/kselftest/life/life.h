/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of life and death share: one end of a stream with all that
 * belongs to it, gauges, another coordinator to keep step with, and a watchdog.
 * The results are the programs' own, see ../kt.h.
 */
#ifndef LIFE_H
#define LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dmastream.h>

/*
 * An end's pool: small landings, large landings, and slots to send from.  The
 * cookie of a landing is its number, see life_landing().
 */
#define LIFE_SMALL	8192U
#define LIFE_SMALL_N	32U
#define LIFE_LARGE	131072U
#define LIFE_LARGE_N	8U
#define LIFE_SLOT	262144U
#define LIFE_SLOTS	4U
#define LIFE_LARGE_AT	(LIFE_SMALL * LIFE_SMALL_N)
#define LIFE_SLOT_AT	(LIFE_LARGE_AT + LIFE_LARGE * LIFE_LARGE_N)
#define LIFE_POOL	(LIFE_SLOT_AT + LIFE_SLOT * LIFE_SLOTS)
#define LIFE_LANDINGS	(LIFE_SMALL_N + LIFE_LARGE_N)

struct life_end {
	struct dmastream		*ctx;
	struct dmastream_pool		*pool;
	struct dmastream_ring		*ring;
	struct dmastream_group		*small, *large;
	unsigned char			*base;
	unsigned int			slot;	/* next one to send from */
};

/* 0 or -errno; after an error everything is closed. */
int life_open(struct life_end *e);
/* Only what is there: a test may have closed a part and set it to NULL. */
void life_close(struct life_end *e);
uint64_t life_landing(uint32_t n, uint32_t *len);
int life_give(struct life_end *e, uint32_t n);
int life_give_all(struct life_end *e);
struct dmastream_stream_opts life_opts(const struct life_end *e, uint64_t cookie);
struct dmastream_addr life_self(void);
/* Of the environment's address @name. */
struct dmastream_addr life_addr(const char *name);
int life_connect(struct life_end *e, const struct dmastream_addr *to,
		 const char *service, uint32_t *stream);
/* A stream from @a to @b, which listens to a name of its own for this. */
int life_link(struct life_end *a, struct life_end *b, uint32_t *sa, uint32_t *sb);
/* Queues a message of @len bytes that begin with @tag; to be submitted. */
int life_send(struct life_end *e, uint32_t stream, uint32_t len, uint64_t tag);
void life_fill(void *p, size_t len, uint64_t tag);
/* Of a part that begins @at bytes into the message. */
bool life_check(const void *p, size_t len, uint64_t at, uint64_t tag);
/* The next completion, reaped; -ETIME. */
int life_cqe(struct life_end *e, struct dmastream_cqe *cqe, uint32_t ms);
/* The next completion of a kind (enum dmastream_op); landings are given again. */
int life_until(struct life_end *e, unsigned int op, struct dmastream_cqe *cqe,
	       uint32_t ms);
/* One message over: sent, received, its content right; 0 or -errno. */
int life_pass(struct life_end *a, uint32_t sa, struct life_end *b, uint32_t len,
	      uint64_t tag);
/*
 * Is a completion a part of a message that was received?  Then its content is
 * checked and the landing given again.  @at is kept per stream, from 0.
 */
bool life_received(struct life_end *e, const struct dmastream_cqe *cqe, uint64_t *at,
		   bool give, bool *right);

/* In the order of the output of dmsctl. */
enum life_gauge {
	LIFE_CONTEXTS, LIFE_POOLS, LIFE_PINNED, LIFE_GROUPS, LIFE_RINGS,
	LIFE_LISTENERS, LIFE_STREAMS, LIFE_SESSIONS, LIFE_PATHS, LIFE_LANDED,
	LIFE_KEYS, LIFE_REQS, LIFE_GAUGES
};

#define LIFE_ANY	INT64_MIN

/* A number of dmsctl's, by name; -1 when there is none. */
int64_t life_counter(const char *name);
/* Breaches of the protocol since life_watchdog(): the KUnit suite at load does some. */
int64_t life_offences(void);
bool life_gauges(int64_t g[LIFE_GAUGES]);
/* What @n ends that are open and idle come to; sessions and paths are free. */
void life_want(int64_t want[LIFE_GAUGES], int n);
/* Within the design's 5 s: true, and *ms says after how long. */
bool life_settle(const int64_t want[LIFE_GAUGES], unsigned int *ms);
/* All gauges 0. */
bool life_empty(unsigned int *ms);
/* Receiver-not-ready of the node's NIC, both directions. */
uint64_t life_rnr(void);
/* Every path has the receives posted that it should have, soon. */
bool life_posted(void);
/* Queue pairs that there are, as one text. */
void life_qps(char *buf, size_t size);

/* Ends the program, after a look at the module, when it takes too long. */
void life_watchdog(unsigned int seconds);
/* A child that ends with its parent. */
pid_t life_fork(void);
/* Status of a child, as a shell says it. */
int life_join(pid_t pid);
/* Full counts, or those of a slow kernel. */
unsigned int life_count(unsigned int full, unsigned int quick);
unsigned int life_random(unsigned int *seed, unsigned int below);
/* Until *@word is at least @value, within @ms times the scale. */
bool life_word(volatile uint32_t *word, uint32_t value, unsigned int ms);
/* To the other node's program: node 0 waits for node 1. */
int life_partner(void);
/* Both come here; gives what the other one brought. */
uint32_t life_meet(int fd, uint32_t value);

#endif /* LIFE_H */
