// SPDX-License-Identifier: GPL-2.0-only
/*
 * State machines.  For each state, the set of those that may follow.  No state
 * follows itself: who asks twice has missed that the first time did it.
 */
#include <linux/bits.h>

#include "fsm.h"

static const u16 session_next[DMS_SESSION_STATES] = {
	[DMS_SESSION_DIALLING]	= BIT(DMS_SESSION_UP) | BIT(DMS_SESSION_DYING),
	[DMS_SESSION_GREETING]	= BIT(DMS_SESSION_UP) | BIT(DMS_SESSION_DYING),
	[DMS_SESSION_UP]	= BIT(DMS_SESSION_DYING),
	[DMS_SESSION_DYING]	= BIT(DMS_SESSION_DEAD),
};

static const u16 path_next[DMS_PATH_STATES] = {
	/* the dialler resolves first, the other side is asked and answers */
	[DMS_PATH_INIT]		= BIT(DMS_PATH_RESOLVING) | BIT(DMS_PATH_CONNECTING) |
				  BIT(DMS_PATH_DYING),
	[DMS_PATH_RESOLVING]	= BIT(DMS_PATH_CONNECTING) | BIT(DMS_PATH_DYING),
	[DMS_PATH_CONNECTING]	= BIT(DMS_PATH_UP) | BIT(DMS_PATH_DYING),
	[DMS_PATH_UP]		= BIT(DMS_PATH_DYING),
	/* only the fence ends a carrier: no memory of it is used again before */
	[DMS_PATH_DYING]	= BIT(DMS_PATH_FENCED),
	/* the session goes on: the path waits for its next carrier */
	[DMS_PATH_FENCED]	= BIT(DMS_PATH_INIT),
};

static const u16 stream_next[DMS_STREAM_STATES] = {
	/* nothing is on the wire yet, so there is nothing to drain or reset */
	[DMS_STREAM_WAITING]	= BIT(DMS_STREAM_CONNECTING) | BIT(DMS_STREAM_BROKEN) |
				  BIT(DMS_STREAM_DEAD),
	/* DEAD: refused, and the process has closed its handle already */
	[DMS_STREAM_CONNECTING]	= BIT(DMS_STREAM_OPEN) | BIT(DMS_STREAM_DRAINING) |
				  BIT(DMS_STREAM_BROKEN) | BIT(DMS_STREAM_DEAD),
	/* DEAD: no process has a handle */
	[DMS_STREAM_BACKLOG]	= BIT(DMS_STREAM_OPEN) | BIT(DMS_STREAM_DRAINING) |
				  BIT(DMS_STREAM_BROKEN) | BIT(DMS_STREAM_DEAD),
	[DMS_STREAM_OPEN]	= BIT(DMS_STREAM_CLOSING) | BIT(DMS_STREAM_DRAINING) |
				  BIT(DMS_STREAM_BROKEN),
	/* RESET says that no READ is in flight: it goes out by way of DRAINING */
	[DMS_STREAM_CLOSING]	= BIT(DMS_STREAM_DRAINING) | BIT(DMS_STREAM_BROKEN),
	[DMS_STREAM_DRAINING]	= BIT(DMS_STREAM_RESETTING) | BIT(DMS_STREAM_BROKEN) |
				  BIT(DMS_STREAM_DEAD),
	[DMS_STREAM_RESETTING]	= BIT(DMS_STREAM_BROKEN) | BIT(DMS_STREAM_DEAD),
	[DMS_STREAM_BROKEN]	= BIT(DMS_STREAM_DEAD),
};

static const char * const session_names[DMS_SESSION_STATES] = {
	[DMS_SESSION_DIALLING]	= "dialling",
	[DMS_SESSION_GREETING]	= "greeting",
	[DMS_SESSION_UP]	= "up",
	[DMS_SESSION_DYING]	= "dying",
	[DMS_SESSION_DEAD]	= "dead",
};

static const char * const path_names[DMS_PATH_STATES] = {
	[DMS_PATH_INIT]		= "init",
	[DMS_PATH_RESOLVING]	= "resolving",
	[DMS_PATH_CONNECTING]	= "connecting",
	[DMS_PATH_UP]		= "up",
	[DMS_PATH_DYING]	= "dying",
	[DMS_PATH_FENCED]	= "fenced",
};

static const char * const stream_names[DMS_STREAM_STATES] = {
	[DMS_STREAM_WAITING]	= "waiting",
	[DMS_STREAM_CONNECTING]	= "connecting",
	[DMS_STREAM_BACKLOG]	= "backlog",
	[DMS_STREAM_OPEN]	= "open",
	[DMS_STREAM_CLOSING]	= "closing",
	[DMS_STREAM_DRAINING]	= "draining",
	[DMS_STREAM_RESETTING]	= "resetting",
	[DMS_STREAM_BROKEN]	= "broken",
	[DMS_STREAM_DEAD]	= "dead",
};

static bool legal(const u16 *next, unsigned int states, unsigned int from, unsigned int to)
{
	return from < states && to < states && next[from] & BIT(to);
}

static const char *name_of(const char * const *names, unsigned int states, unsigned int s)
{
	return s < states ? names[s] : "?";
}

/**
 * dms_session_legal() - may a session change from one state to another?
 * @from: state, any value
 * @to: state, any value
 *
 * Context: Any.
 * Return: true when the table has it.
 */
bool dms_session_legal(enum dms_session_state from, enum dms_session_state to)
{
	return legal(session_next, DMS_SESSION_STATES, from, to);
}

/**
 * dms_path_legal() - may a path change from one state to another?
 * @from: state, any value
 * @to: state, any value
 *
 * Context: Any.
 * Return: true when the table has it.
 */
bool dms_path_legal(enum dms_path_state from, enum dms_path_state to)
{
	return legal(path_next, DMS_PATH_STATES, from, to);
}

/**
 * dms_stream_legal() - may a stream change from one state to another?
 * @from: state, any value
 * @to: state, any value
 *
 * Context: Any.
 * Return: true when the table has it.
 */
bool dms_stream_legal(enum dms_stream_state from, enum dms_stream_state to)
{
	return legal(stream_next, DMS_STREAM_STATES, from, to);
}

/**
 * dms_session_state_name() - a session's state, for people
 * @s: state, any value
 *
 * Context: Any.
 * Return: a constant string, "?" for what is no state.
 */
const char *dms_session_state_name(enum dms_session_state s)
{
	return name_of(session_names, DMS_SESSION_STATES, s);
}

/**
 * dms_path_state_name() - a path's state, for people
 * @s: state, any value
 *
 * Context: Any.
 * Return: a constant string, "?" for what is no state.
 */
const char *dms_path_state_name(enum dms_path_state s)
{
	return name_of(path_names, DMS_PATH_STATES, s);
}

/**
 * dms_stream_state_name() - a stream's state, for people
 * @s: state, any value
 *
 * Context: Any.
 * Return: a constant string, "?" for what is no state.
 */
const char *dms_stream_state_name(enum dms_stream_state s)
{
	return name_of(stream_names, DMS_STREAM_STATES, s);
}
