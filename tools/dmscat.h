/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dmscat: what its files share.
 */
#ifndef DMSCAT_H
#define DMSCAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <dmastream.h>

#define CAT_ALIGN	4096		/* of buffers, and what O_DIRECT gets */
#define CAT_SMALL	32		/* landing buffers for eager messages */
#define CAT_TICK_MS	200		/* between two progress lines */
#define CAT_CLOSE_MS	10000		/* for the last words, unless -t says less */

struct cat_opts {
	const char	*host;
	const char	*service;
	const char	*device;
	uint64_t	buf_len;
	uint32_t	nbufs;
	uint32_t	port;
	uint32_t	timeout_ms;	/* DMASTREAM_TIMEOUT_NONE: not given */
	int		family;
	bool		sized;		/* -b or -n was given */
	bool		listen;
	bool		keep;
	bool		verbose;
	bool		quiet;
	bool		json;
};

/* stdin or stdout, with O_DIRECT beside it where that works */
struct cat_file {
	int		fd;
	int		direct_fd;	/* -1: none */
	bool		seekable;	/* a regular file: offsets are ours */
	uint64_t	off;
	uint64_t	direct_bytes;	/* moved past the page cache */
};

struct cat_progress {
	uint64_t	start_ns;
	uint64_t	shown_ns;
	uint64_t	moved_ns;	/* when anything moved last */
	uint64_t	bytes;
	uint64_t	messages;
	uint64_t	total;		/* 0: not known */
	bool		terminal;
	bool		shown;
};

struct cat {
	struct cat_opts		o;
	struct dmastream	*ctx;
	struct dmastream_pool	*pool;
	struct dmastream_ring	*ring;
	struct dmastream_group	*small;
	struct dmastream_group	*large;
	uint32_t		small_len;
	uint64_t		small_off;	/* in the pool */
	uint64_t		large_off;
	uint64_t		report_off;
	uint32_t		stream;
	struct dmastream_error	err;		/* why it broke, when that is known */
	struct cat_file		file;
	struct cat_progress	progress;
};

/*
 * The receiver's last word, one message: what it has written.  Little-endian,
 * whatever the machine is.
 */
struct cat_report {
	uint8_t		magic[8];	/* CAT_MAGIC */
	uint8_t		status[4];	/* errno of the receiver, 0: all is written */
	uint8_t		reserved[4];
	uint8_t		bytes[8];
};

#define CAT_MAGIC	"DMSCAT01"

/* dmscat_file.c */
void cat_file_open(struct cat *cat, int fd, bool out);
void cat_file_close(struct cat *cat);
int64_t cat_file_read(struct cat *cat, void *buf, size_t len);
int cat_file_write(struct cat *cat, const void *buf, size_t len);

/* dmscat_progress.c */
void cat_progress_start(struct cat *cat, uint64_t total);
void cat_progress_moved(struct cat *cat, uint64_t bytes, uint64_t messages);
void cat_progress_show(struct cat *cat, bool last);
void cat_summary(struct cat *cat, int error);
void cat_note(struct cat *cat, const char *fmt, ...);
void cat_error(struct cat *cat, const char *what, int error);

/* dmscat_send.c */
int cat_send(struct cat *cat);

/* dmscat_recv.c */
int cat_serve(struct cat *cat);

/* dmscat.c */
int cat_wait(struct cat *cat);
bool cat_stalled(const struct cat *cat);
int cat_submit(struct cat *cat);
void cat_broke(struct cat *cat, const char *what, int error);
uint32_t cat_close_ms(const struct cat *cat);

#endif /* DMSCAT_H */
