/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink: what an operator sees. */
#ifndef DMS_NETLINK_H
#define DMS_NETLINK_H

struct genl_family;
struct sk_buff;
struct sockaddr_storage;

/* Multicast groups of the family, in its order. */
enum { DMS_NL_EVENTS };

extern struct genl_family dms_genl_family;

int dms_netlink_init(void);
void dms_netlink_exit(void);

/* For events.c: nothing when the address is of no family; -EMSGSIZE. */
int dms_nl_put_addr(struct sk_buff *skb, int attr, const struct sockaddr_storage *ss);

#endif /* DMS_NETLINK_H */
