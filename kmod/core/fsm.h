/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * State machines, as tables of legal changes.  One function of each owner
 * changes its state, and asks here first.
 */
#ifndef DMS_CORE_FSM_H
#define DMS_CORE_FSM_H

#include <linux/types.h>

enum dms_session_state {
	DMS_SESSION_DIALLING,	/* TCP connect, HELLO sent, no answer yet */
	DMS_SESSION_GREETING,	/* accepted TCP connection, no HELLO yet */
	DMS_SESSION_UP,		/* both HELLOs done */
	DMS_SESSION_DYING,	/* being taken apart */
	DMS_SESSION_DEAD,
	DMS_SESSION_STATES
};

enum dms_path_state {
	DMS_PATH_INIT,		/* no carrier: none yet, or it waits for the next one */
	DMS_PATH_RESOLVING,	/* rdma_resolve_addr, rdma_resolve_route */
	DMS_PATH_CONNECTING,	/* rdma_connect or rdma_accept is out */
	DMS_PATH_UP,
	DMS_PATH_DYING,		/* no new work; QP goes to error, is drained */
	DMS_PATH_FENCED,	/* QP destroyed, its keys deregistered */
	DMS_PATH_STATES
};

enum dms_stream_state {
	DMS_STREAM_WAITING,	/* for the session and a path */
	DMS_STREAM_CONNECTING,	/* CONNECT is out */
	DMS_STREAM_BACKLOG,	/* at the listener: CONNECTED was said, no ACCEPT yet */
	DMS_STREAM_OPEN,
	DMS_STREAM_CLOSING,	/* FIN follows what is queued; then RESET */
	DMS_STREAM_DRAINING,	/* aborted: own READs end before RESET goes out */
	DMS_STREAM_RESETTING,	/* RESET is out, waits for RESET_ACK */
	DMS_STREAM_BROKEN,	/* peer's RESET taken or path lost; the handle is still there */
	DMS_STREAM_DEAD,	/* off the wire and off the handle table */
	DMS_STREAM_STATES
};

bool dms_session_legal(enum dms_session_state from, enum dms_session_state to);
bool dms_path_legal(enum dms_path_state from, enum dms_path_state to);
bool dms_stream_legal(enum dms_stream_state from, enum dms_stream_state to);
const char *dms_session_state_name(enum dms_session_state s);
const char *dms_path_state_name(enum dms_path_state s);
const char *dms_stream_state_name(enum dms_stream_state s);

#endif /* DMS_CORE_FSM_H */
