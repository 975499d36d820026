/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intrusive lists for kmod/core, which has no linux/list.h: circular, the head is
 * a link too.  The link is the first member of what is linked.
 */
#ifndef DMS_CORE_LINK_H
#define DMS_CORE_LINK_H

#include <linux/types.h>

struct dms_link {
	struct dms_link	*next, *prev;
};

/* An empty list, or something that is on none. */
static inline void dms_link_init(struct dms_link *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool dms_link_empty(const struct dms_link *l)
{
	return l->next == l;
}

static inline void dms_link_append(struct dms_link *head, struct dms_link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void dms_link_prepend(struct dms_link *head, struct dms_link *l)
{
	dms_link_append(head->next, l);
}

/* From whatever list it is on, if any. */
static inline void dms_link_remove(struct dms_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	dms_link_init(l);
}

#endif /* DMS_CORE_LINK_H */
