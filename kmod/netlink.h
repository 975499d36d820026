/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink: what an operator sees. */
#ifndef DMS_NETLINK_H
#define DMS_NETLINK_H

int dms_netlink_init(void);
void dms_netlink_exit(void);

#endif /* DMS_NETLINK_H */
