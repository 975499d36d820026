/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ioctl: a table per kind of file, from the number of a request to the size of
 * its structure and its handler.
 */
#ifndef DMS_IOCTL_H
#define DMS_IOCTL_H

#include <linux/types.h>

struct file;

/* Limits of one object; DMASTREAM_IOC_QUERY tells them. */
#define DMS_GROUP_ENTRIES_MAX	65536
#define DMS_SQ_ENTRIES_MAX	32768
#define DMS_POLL_IDLE_MAX_US	1000000U	/* a second */
#define DMS_CQ_ENTRIES_MAX	65536
#define DMS_INDIRECT_MAX	(8U << 20)	/* bytes of a ring's indirect area */
#define DMS_BACKLOG_MAX		1024

/* A request that was copied in. */
struct dms_call {
	void		*obj;	/* what the file is: a context or a ring */
	void		*arg;	/* the structure as this kernel knows it, the rest of it 0 */
	void __user	*uarg;
	u32		size;	/* bytes that both have */
};

struct dms_ioctl_def {
	u16	min;		/* size of the first version; 0: no such request */
	u16	size;		/* size of this version */
	bool	own_out;	/* the handler copies out itself */
	int	(*fn)(struct dms_call *call);
};

struct dms_ioctl_table {
	const struct dms_ioctl_def	*def;
	u8				first;	/* number of def[0] */
	u8				n;
};

/* 0 or a negative errno; also what the handler returned */
long dms_ioctl(const struct dms_ioctl_table *table, void *obj, unsigned int cmd,
	       unsigned long arg);
/* The structure back to the process; -EFAULT. */
int dms_call_out(const struct dms_call *call);

/* .unlocked_ioctl of /dev/dmastream */
long dms_ctx_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* DMS_IOCTL_H */
