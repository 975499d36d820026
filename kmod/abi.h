/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ABI does not move: every member of <linux/dmastream.h> at its place.
 * Included by ioctl.c alone; a line that fails to compile is an ABI break.
 */
#ifndef DMS_ABI_H
#define DMS_ABI_H

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <linux/dmastream.h>

#define DMS_ABI_SIZE(type, bytes)	static_assert(sizeof(struct type) == (bytes))
#define DMS_ABI_AT(type, member, off)	static_assert(offsetof(struct type, member) == (off))

DMS_ABI_SIZE(dmastream_sqe, 64);
DMS_ABI_AT(dmastream_sqe, op, 0);
DMS_ABI_AT(dmastream_sqe, flags, 1);
DMS_ABI_AT(dmastream_sqe, reserved0, 2);
DMS_ABI_AT(dmastream_sqe, stream, 4);
DMS_ABI_AT(dmastream_sqe, user_data, 8);
DMS_ABI_AT(dmastream_sqe, tag, 16);
DMS_ABI_AT(dmastream_sqe, pool, 24);
DMS_ABI_AT(dmastream_sqe, len, 28);
DMS_ABI_AT(dmastream_sqe, off, 32);
DMS_ABI_AT(dmastream_sqe, reserved, 40);

DMS_ABI_SIZE(dmastream_vec, 16);
DMS_ABI_AT(dmastream_vec, off, 0);
DMS_ABI_AT(dmastream_vec, len, 8);
DMS_ABI_AT(dmastream_vec, reserved, 12);

DMS_ABI_SIZE(dmastream_tile, 32);
DMS_ABI_AT(dmastream_tile, off, 0);
DMS_ABI_AT(dmastream_tile, pitch, 8);
DMS_ABI_AT(dmastream_tile, rows, 16);
DMS_ABI_AT(dmastream_tile, row_bytes, 20);
DMS_ABI_AT(dmastream_tile, reserved, 24);

DMS_ABI_SIZE(dmastream_cqe, 32);
DMS_ABI_AT(dmastream_cqe, user_data, 0);
DMS_ABI_AT(dmastream_cqe, result, 8);
DMS_ABI_AT(dmastream_cqe, flags, 12);
DMS_ABI_AT(dmastream_cqe, stream, 16);
DMS_ABI_AT(dmastream_cqe, seq, 20);
DMS_ABI_AT(dmastream_cqe, tag, 24);

DMS_ABI_SIZE(dmastream_ring_shared, 256);
DMS_ABI_AT(dmastream_ring_shared, sq_tail, 0);
DMS_ABI_AT(dmastream_ring_shared, pad0, 4);
DMS_ABI_AT(dmastream_ring_shared, sq_head, 64);
DMS_ABI_AT(dmastream_ring_shared, flags, 68);
DMS_ABI_AT(dmastream_ring_shared, pad1, 72);
DMS_ABI_AT(dmastream_ring_shared, cq_head, 128);
DMS_ABI_AT(dmastream_ring_shared, pad2, 132);
DMS_ABI_AT(dmastream_ring_shared, cq_tail, 192);
DMS_ABI_AT(dmastream_ring_shared, pad3, 196);

DMS_ABI_SIZE(dmastream_landing, 24);
DMS_ABI_AT(dmastream_landing, cookie, 0);
DMS_ABI_AT(dmastream_landing, offset, 8);
DMS_ABI_AT(dmastream_landing, length, 16);
DMS_ABI_AT(dmastream_landing, flags, 20);

DMS_ABI_SIZE(dmastream_group_shared, 128);
DMS_ABI_AT(dmastream_group_shared, tail, 0);
DMS_ABI_AT(dmastream_group_shared, pad0, 4);
DMS_ABI_AT(dmastream_group_shared, head, 64);
DMS_ABI_AT(dmastream_group_shared, flags, 68);
DMS_ABI_AT(dmastream_group_shared, bad, 72);
DMS_ABI_AT(dmastream_group_shared, pad1, 76);

DMS_ABI_SIZE(dmastream_query, 128);
DMS_ABI_AT(dmastream_query, flags, 0);
DMS_ABI_AT(dmastream_query, abi_version, 4);
DMS_ABI_AT(dmastream_query, features, 8);
DMS_ABI_AT(dmastream_query, sqe_ops, 16);
DMS_ABI_AT(dmastream_query, sqe_flags, 20);
DMS_ABI_AT(dmastream_query, stream_flags, 24);
DMS_ABI_AT(dmastream_query, max_pool_bytes, 32);
DMS_ABI_AT(dmastream_query, quota_bytes, 40);
DMS_ABI_AT(dmastream_query, quota_used, 48);
DMS_ABI_AT(dmastream_query, max_pools, 56);
DMS_ABI_AT(dmastream_query, max_groups, 60);
DMS_ABI_AT(dmastream_query, max_rings, 64);
DMS_ABI_AT(dmastream_query, max_listeners, 68);
DMS_ABI_AT(dmastream_query, max_streams, 72);
DMS_ABI_AT(dmastream_query, max_group_entries, 76);
DMS_ABI_AT(dmastream_query, max_sq_entries, 80);
DMS_ABI_AT(dmastream_query, max_cq_entries, 84);
DMS_ABI_AT(dmastream_query, max_indirect_bytes, 88);
DMS_ABI_AT(dmastream_query, max_backlog, 92);
DMS_ABI_AT(dmastream_query, max_vec, 96);
DMS_ABI_AT(dmastream_query, max_msg, 100);
DMS_ABI_AT(dmastream_query, eager_max, 104);
DMS_ABI_AT(dmastream_query, port, 108);
DMS_ABI_AT(dmastream_query, node, 112);

DMS_ABI_SIZE(dmastream_pool_create, 24);
DMS_ABI_AT(dmastream_pool_create, size, 0);
DMS_ABI_AT(dmastream_pool_create, flags, 8);
DMS_ABI_AT(dmastream_pool_create, numa_node, 12);
DMS_ABI_AT(dmastream_pool_create, fd, 16);
DMS_ABI_AT(dmastream_pool_create, pool, 20);

DMS_ABI_SIZE(dmastream_pool_attach, 24);
DMS_ABI_AT(dmastream_pool_attach, fd, 0);
DMS_ABI_AT(dmastream_pool_attach, flags, 4);
DMS_ABI_AT(dmastream_pool_attach, pool, 8);
DMS_ABI_AT(dmastream_pool_attach, reserved, 12);
DMS_ABI_AT(dmastream_pool_attach, size, 16);

DMS_ABI_SIZE(dmastream_group_create, 32);
DMS_ABI_AT(dmastream_group_create, pool, 0);
DMS_ABI_AT(dmastream_group_create, entries, 4);
DMS_ABI_AT(dmastream_group_create, buf_len, 8);
DMS_ABI_AT(dmastream_group_create, flags, 12);
DMS_ABI_AT(dmastream_group_create, fd, 16);
DMS_ABI_AT(dmastream_group_create, group, 20);
DMS_ABI_AT(dmastream_group_create, map_size, 24);
DMS_ABI_AT(dmastream_group_create, entries_off, 28);

DMS_ABI_SIZE(dmastream_ring_create, 48);
DMS_ABI_AT(dmastream_ring_create, sq_entries, 0);
DMS_ABI_AT(dmastream_ring_create, cq_entries, 4);
DMS_ABI_AT(dmastream_ring_create, cq_recv_min, 8);
DMS_ABI_AT(dmastream_ring_create, indirect_bytes, 12);
DMS_ABI_AT(dmastream_ring_create, flags, 16);
DMS_ABI_AT(dmastream_ring_create, fd, 20);
DMS_ABI_AT(dmastream_ring_create, ring, 24);
DMS_ABI_AT(dmastream_ring_create, map_size, 28);
DMS_ABI_AT(dmastream_ring_create, sqes_off, 32);
DMS_ABI_AT(dmastream_ring_create, cqes_off, 36);
DMS_ABI_AT(dmastream_ring_create, indirect_off, 40);
DMS_ABI_AT(dmastream_ring_create, poll_idle_us, 44);

DMS_ABI_SIZE(dmastream_addr, 24);
DMS_ABI_AT(dmastream_addr, family, 0);
DMS_ABI_AT(dmastream_addr, port, 2);
DMS_ABI_AT(dmastream_addr, scope_id, 4);
DMS_ABI_AT(dmastream_addr, addr, 8);

DMS_ABI_SIZE(dmastream_listen, 88);
DMS_ABI_AT(dmastream_listen, service, 0);
DMS_ABI_AT(dmastream_listen, backlog, 64);
DMS_ABI_AT(dmastream_listen, flags, 68);
DMS_ABI_AT(dmastream_listen, cookie, 72);
DMS_ABI_AT(dmastream_listen, fd, 80);
DMS_ABI_AT(dmastream_listen, listener, 84);

DMS_ABI_SIZE(dmastream_stream_opts, 32);
DMS_ABI_AT(dmastream_stream_opts, flags, 0);
DMS_ABI_AT(dmastream_stream_opts, cookie, 8);
DMS_ABI_AT(dmastream_stream_opts, ring, 16);
DMS_ABI_AT(dmastream_stream_opts, small_group, 20);
DMS_ABI_AT(dmastream_stream_opts, large_group, 24);
DMS_ABI_AT(dmastream_stream_opts, weight, 28);

DMS_ABI_SIZE(dmastream_accept, 88);
DMS_ABI_AT(dmastream_accept, listener, 0);
DMS_ABI_AT(dmastream_accept, flags, 4);
DMS_ABI_AT(dmastream_accept, timeout_ms, 8);
DMS_ABI_AT(dmastream_accept, stream, 12);
DMS_ABI_AT(dmastream_accept, opts, 16);
DMS_ABI_AT(dmastream_accept, user_data, 48);
DMS_ABI_AT(dmastream_accept, listener_cookie, 56);
DMS_ABI_AT(dmastream_accept, peer, 64);

DMS_ABI_SIZE(dmastream_connect, 152);
DMS_ABI_AT(dmastream_connect, peer, 0);
DMS_ABI_AT(dmastream_connect, service, 24);
DMS_ABI_AT(dmastream_connect, flags, 88);
DMS_ABI_AT(dmastream_connect, timeout_ms, 92);
DMS_ABI_AT(dmastream_connect, opts, 96);
DMS_ABI_AT(dmastream_connect, user_data, 128);
DMS_ABI_AT(dmastream_connect, stream, 136);
DMS_ABI_AT(dmastream_connect, err_class, 140);
DMS_ABI_AT(dmastream_connect, err_detail, 144);
DMS_ABI_AT(dmastream_connect, reserved, 148);

DMS_ABI_SIZE(dmastream_shutdown, 8);
DMS_ABI_AT(dmastream_shutdown, stream, 0);
DMS_ABI_AT(dmastream_shutdown, flags, 4);

DMS_ABI_SIZE(dmastream_close, 24);
DMS_ABI_AT(dmastream_close, type, 0);
DMS_ABI_AT(dmastream_close, handle, 4);
DMS_ABI_AT(dmastream_close, flags, 8);
DMS_ABI_AT(dmastream_close, timeout_ms, 12);
DMS_ABI_AT(dmastream_close, user_data, 16);

DMS_ABI_SIZE(dmastream_stream_query, 112);
DMS_ABI_AT(dmastream_stream_query, stream, 0);
DMS_ABI_AT(dmastream_stream_query, flags, 4);
DMS_ABI_AT(dmastream_stream_query, state, 8);
DMS_ABI_AT(dmastream_stream_query, waits, 12);
DMS_ABI_AT(dmastream_stream_query, cookie, 16);
DMS_ABI_AT(dmastream_stream_query, stream_flags, 24);
DMS_ABI_AT(dmastream_stream_query, peer, 32);
DMS_ABI_AT(dmastream_stream_query, err_class, 56);
DMS_ABI_AT(dmastream_stream_query, err_detail, 60);
DMS_ABI_AT(dmastream_stream_query, tx_msgs, 64);
DMS_ABI_AT(dmastream_stream_query, tx_bytes, 72);
DMS_ABI_AT(dmastream_stream_query, rx_msgs, 80);
DMS_ABI_AT(dmastream_stream_query, rx_bytes, 88);
DMS_ABI_AT(dmastream_stream_query, tx_queued, 96);
DMS_ABI_AT(dmastream_stream_query, rx_queued, 100);
DMS_ABI_AT(dmastream_stream_query, credits, 104);
DMS_ABI_AT(dmastream_stream_query, keys, 108);

DMS_ABI_SIZE(dmastream_cancel, 16);
DMS_ABI_AT(dmastream_cancel, stream, 0);
DMS_ABI_AT(dmastream_cancel, flags, 4);
DMS_ABI_AT(dmastream_cancel, user_data, 8);

DMS_ABI_SIZE(dmastream_enter, 32);
DMS_ABI_AT(dmastream_enter, to_submit, 0);
DMS_ABI_AT(dmastream_enter, min_complete, 4);
DMS_ABI_AT(dmastream_enter, flags, 8);
DMS_ABI_AT(dmastream_enter, submitted, 12);
DMS_ABI_AT(dmastream_enter, deadline_ns, 16);
DMS_ABI_AT(dmastream_enter, wait_result, 24);
DMS_ABI_AT(dmastream_enter, reserved, 28);

#endif /* DMS_ABI_H */
