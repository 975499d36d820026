/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses of peers: one form for each, comparison, the form on the wire, and
 * the list of prefixes from which a node accepts.
 */
#ifndef DMS_ADDR_H
#define DMS_ADDR_H

#include <linux/socket.h>
#include <linux/types.h>

void dms_addr_normalise(struct sockaddr_storage *ss);
bool dms_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
u16 dms_addr_port(const struct sockaddr_storage *ss);
void dms_addr_set_port(struct sockaddr_storage *ss, u16 port);
int dms_addr_len(const struct sockaddr_storage *ss);
void dms_addr_to_wire(const struct sockaddr_storage *ss, u8 wire[16]);
void dms_addr_from_wire(struct sockaddr_storage *ss, const u8 wire[16], u32 scope_id);
bool dms_addr_allowed(const struct sockaddr_storage *ss);
void dms_addr_plain(struct sockaddr_storage *to, const struct sockaddr_storage *from);

#endif /* DMS_ADDR_H */
