/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dmsctl: what its files share.
 */
#ifndef DMSCTL_H
#define DMSCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct ctl_nl;

struct ctl_opts {
	bool		json;
	bool		all;		/* counters: those that are 0 too */
	uint64_t	count;		/* monitor: ends after so many events; 0: never */
	uint64_t	timeout_s;	/* monitor: ends after so many seconds; 0: never */
};

/* dmsctl_nl.c: requests to the family; 0 or -errno */
#define CTL_ATTR_MAX	64

/* one message: attributes by number, NULL where there is none */
typedef void (*ctl_msg_fn)(const struct nlattr *const *attr, void *arg);

int ctl_nl_open(struct ctl_nl **out);
void ctl_nl_close(struct ctl_nl *nl);
int ctl_nl_get(struct ctl_nl *nl, uint8_t cmd, bool dump, ctl_msg_fn fn, void *arg);
/* From here on events come to ctl_nl_hear(), and answers to requests no more. */
int ctl_nl_listen(struct ctl_nl *nl);
/*
 * Calls @fn for each event that is there, waiting for at most @timeout_ms (-1: for
 * ever): how many; 0: none came; -ENOBUFS: some were lost; -ENODEV: the module went.
 */
int ctl_nl_hear(struct ctl_nl *nl, int timeout_ms, ctl_msg_fn fn, void *arg);
uint64_t ctl_u64(const struct nlattr *attr);
uint32_t ctl_u32(const struct nlattr *attr);
const char *ctl_str(const struct nlattr *attr);
const char *ctl_addr(const struct nlattr *attr, char *buf, size_t size);
int ctl_nested(const struct nlattr *nest, void (*fn)(uint32_t type, uint64_t value, void *arg),
	       void *arg);

/* dmsctl_names.c: words for numbers; NULL: not known */
const char *ctl_counter_name(uint32_t n);
const char *ctl_counter_help(uint32_t n);
const char *ctl_gauge_name(uint32_t n);
const char *ctl_refusal_name(uint32_t n);
const char *ctl_session_state(uint32_t n);
const char *ctl_path_state(uint32_t n);
const char *ctl_lane(uint32_t n);
const char *ctl_event(uint32_t n);
/* Features of a session, with a space between; those without a name as a number. */
const char *ctl_features(uint64_t bits, char *buf, size_t size);

/* dmsctl_out.c: JSON */
void out_begin(void);
void out_begin_line(void);	/* all of it on one line */
void out_end(void);
void out_object(const char *name);
void out_array(const char *name);
void out_close(void);
void out_u64(const char *name, uint64_t v);
void out_str(const char *name, const char *v);
void out_bool(const char *name, bool v);

/* dmsctl_status.c */
int ctl_status(struct ctl_nl *nl, bool json);
int ctl_counters(struct ctl_nl *nl, bool json, bool all);

/* dmsctl_monitor.c: 0, -errno, or 1: what failed was told */
int ctl_monitor(struct ctl_nl *nl, const struct ctl_opts *opts);

#endif /* DMSCTL_H */
