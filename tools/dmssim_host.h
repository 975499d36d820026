/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hosts: what kmod/mux.c, path.c, stream_tx.c, stream_rx.c and incast.c do, over
 * the objects of kmod/core themselves.  A stream here has one direction.  Both ends
 * are in one program, so that frames name messages by pointers.
 */
#ifndef DMSSIM_HOST_H
#define DMSSIM_HOST_H

#include "core/credit.h"
#include "core/delay.h"
#include "core/depth.h"
#include "core/pick.h"
#include "core/pull.h"
#include "core/window.h"
#include "core/wire.h"
#include "dmssim_event.h"
#include "dmssim_fabric.h"

struct sim_hosts;
struct sim_stream;

/* Defaults of the module, where they matter: see kmod. */
#define SIM_EAGER_MAX		8192U
#define SIM_SLOT_BYTES		(SIM_EAGER_MAX + 4096U)
#define SIM_SLOTS		256U
#define SIM_READS		16U
#define SIM_KEYS		64U
#define SIM_PAGE_SHIFT		12
#define SIM_PKT_FRAMES		64
#define SIM_HEAD		32U	/* of a packet, of a frame */

struct sim_host_conf {
	struct dms_delay_conf window;	/* floor == cap: fixed; cap 0: none */
	uint64_t	budget;		/* 0: none */
	uint64_t	age_ns;		/* of a pull in its class */
	uint32_t	seg_pages;	/* of one key */
	uint32_t	quantum;	/* bytes of a turn; a power of two */
	uint64_t	delay_ps;	/* from what happened to what a host does about it */
	uint32_t	depth_floor, depth_ceil, depth_budget;
};

struct sim_msg {
	struct sim_msg	*next;		/* of txq or rxq */
	struct sim_msg	*next_rts;	/* of what is announced */
	struct sim_stream *stream;
	void		*owner;		/* the load's */
	uint32_t	len;
	uint64_t	start_ps;	/* when it should have begun */
	uint32_t	seq;
	/* sender: announced? keys that are out, oldest first */
	bool		announced;
	uint32_t	keyed, done;
	uint32_t	nr_keys;
	struct sim_key {
		uint32_t	at, len;
		uint64_t	charge, post_ns;
	} key[DMS_KEYS_AHEAD];
	/* receiver */
	uint32_t	rx_keyed, issued, landed, told;
	uint32_t	key_end[DMS_KEYS_AHEAD];	/* of keys that came and are not used up */
	uint32_t	nr_key_ends;
};

/* An end of a stream: on the ready list or one of the waiting lists of its path. */
struct sim_end {
	struct sim_end	*next;
	struct sim_stream *stream;
	struct sim_path	*path;
	bool		listed;
	bool		rx;
};

struct sim_end_list {
	struct sim_end	*first, **last;
};

struct sim_stream {
	struct sim_end	tx, rx;
	struct sim_end	read_wait;	/* on wait_read, while rx may be ready */
	uint32_t	weight;
	/* sender */
	struct dms_turn	turn;
	struct dms_land_tx land_tx;
	struct sim_msg	*txq, **txq_last;
	struct sim_msg	*rtsq, **rtsq_last;	/* announced, not all pulled */
	uint32_t	tx_seq, announced;
	/* receiver */
	struct dms_pullq_node pull;
	bool		granted;
	uint32_t	ask;			/* bytes of the READ that was asked for */
	struct dms_land_rx land_rx;
	uint32_t	land_target, land_used;
	struct sim_msg	*rxq, **rxq_last;	/* came, not delivered */
	struct sim_msg	*head;			/* being pulled */
	uint32_t	rx_acked;
	struct sim_msg	*done_msg;		/* owes DONE */
	bool		owes_done, owes_update;
	uint64_t	rx_bytes;		/* landed */
	uint64_t	undelivered;		/* messages */
	bool		idle;			/* there were none, until now */
};

/* One side of a queue pair. */
struct sim_path {
	struct sim_hosts *hosts;
	struct sim_path	*peer;		/* the other side */
	uint32_t	host;
	struct sim_txq	requests, responses;
	struct dms_slot_tx slot_tx;
	struct dms_slot_rx slot_rx;
	struct dms_window window;
	struct dms_delay delay;
	struct dms_depth depth;
	uint32_t	empties_until;	/* packets that the peer wants */
	bool		owes_recall;
	uint32_t	reads_out, keys_out;
	struct sim_end_list ready, wait_key, wait_read;
	struct dms_sched sched;			/* streams that wait to send: turn */
	bool		kicked;
};

struct sim_host {
	struct dms_window budget;
	struct dms_pullq pulls;
	struct dms_depth_nic depth;
};

/* What happened in all, over all hosts. */
struct sim_counts {
	uint64_t	messages, bytes;	/* delivered */
	uint64_t	eager, announced;
	uint64_t	packets, packed;	/* SENDs, frames in them */
	uint64_t	updates, empties;	/* packets without frames: credits; recalled ones */
	uint64_t	reads;
	uint64_t	slot_stalls, credit_stalls, window_stalls, key_stalls, budget_waits;
	uint64_t	rnr;			/* packets without a receive: never */
	uint64_t	recalled, grown;	/* receives */
};

struct sim_hosts {
	struct sim_events *events;
	struct sim_fabric *fabric;
	struct sim_host_conf conf;
	uint32_t	nr;
	struct sim_host	*host;
	struct sim_path	**path;		/* [from * nr + to], NULL until used */
	struct sim_counts counts;
	void		(*delivered)(void *ctx, struct sim_msg *msg);
	void		*ctx;
};

/* dmssim_path.c */
void sim_hosts_init(struct sim_hosts *h, struct sim_events *events, struct sim_fabric *fabric,
		    uint32_t nr, const struct sim_host_conf *conf);
void sim_hosts_free(struct sim_hosts *h);
/* This side of the path between two hosts, made when there is none. */
struct sim_path *sim_path(struct sim_hosts *h, uint32_t from, uint32_t to);
void sim_path_kick(struct sim_path *path);
void sim_end_init(struct sim_end *e, struct sim_path *path, struct sim_stream *s, bool rx);
void sim_ready(struct sim_end *e);
/* false when it is on a list already */
bool sim_end_wait(struct sim_end_list *list, struct sim_end *e);
void sim_wake(struct sim_path *path, struct sim_end_list *list);
void sim_wake_readers(struct sim_path *path);
/* Before the charge of what came through is put back. */
void sim_path_sample(struct sim_path *path, uint32_t bytes, uint64_t post_ns);
struct sim_job *sim_job_new(struct sim_path *path, uint32_t bytes,
			    void (*arrived)(struct sim_job *job), void *obj);

/* One frame of a packet. */
struct sim_frame {
	enum dms_frame_type type;
	struct sim_stream *stream;
	struct sim_msg	*msg;
	uint32_t	a, len;
};

struct sim_send {
	struct sim_path	*path;		/* of the sender */
	uint32_t	frames, body;
	uint64_t	charge, post_ns;
	uint32_t	seq, credit;
	struct sim_frame frame[SIM_PKT_FRAMES];
};

struct sim_build {
	struct sim_path	*path;
	struct sim_send	*send;
};

enum sim_served { SIM_SERVED, SIM_SERVED_MORE, SIM_SERVED_WINDOW, SIM_SERVED_STALLED };

/* Room for a frame with so many bytes behind it; false: no packet to be had. */
bool sim_build_room(struct sim_build *b, uint32_t body);
struct sim_frame *sim_build_frame(struct sim_build *b, enum dms_frame_type type,
				  struct sim_stream *s, uint32_t body);

/* dmssim_tx.c, dmssim_rx.c */
void sim_stream_init(struct sim_stream *s, struct sim_hosts *h, uint32_t from, uint32_t to,
		     uint32_t weight);
void sim_stream_send(struct sim_stream *s, struct sim_msg *msg);
enum sim_served sim_tx_serve(struct sim_stream *s, struct sim_build *b);
enum sim_served sim_tx_turn(struct sim_stream *s, struct sim_build *b);
void sim_tx_frame(const struct sim_frame *f);
void sim_rx_init(struct sim_stream *s);
enum sim_served sim_rx_serve(struct sim_stream *s, struct sim_build *b);
void sim_rx_frame(const struct sim_frame *f);

#endif /* DMSSIM_HOST_H */
