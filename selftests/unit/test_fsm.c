// SPDX-License-Identifier: GPL-2.0-only
/* Tables of legal state changes, against the same written down as pictures. */
#include "dms_test.h"
#include "core/fsm.h"

static bool call_session(u32 from, u32 to)
{
	return dms_session_legal(from, to);
}

static bool call_path(u32 from, u32 to)
{
	return dms_path_legal(from, to);
}

static bool call_stream(u32 from, u32 to)
{
	return dms_stream_legal(from, to);
}

static const char *name_session(u32 s)
{
	return dms_session_state_name(s);
}

static const char *name_path(u32 s)
{
	return dms_path_state_name(s);
}

static const char *name_stream(u32 s)
{
	return dms_stream_state_name(s);
}

/* rows: from, with its name; columns: to, in the same order; x is legal */
struct fsm_row {
	const char *name;
	const char *to;
};

static const struct fsm_row session_rows[] = {
	{ "dialling",	"..xx." },
	{ "greeting",	"..xx." },
	{ "up",		"...x." },
	{ "dying",	"....x" },
	{ "dead",	"....." },
};

static const struct fsm_row path_rows[] = {
	{ "init",	".xx.x." },
	{ "resolving",	"..x.x." },
	{ "connecting",	"...xx." },
	{ "up",		"....x." },
	{ "dying",	".....x" },
	{ "fenced",	"x....." },
};

static const struct fsm_row stream_rows[] = {
	{ "waiting",	".x.....xx" },
	{ "connecting",	"...x.x.xx" },
	{ "backlog",	"...x.x.xx" },
	{ "open",	"....xx.x." },
	{ "closing",	".....x.x." },
	{ "draining",	"......xxx" },
	{ "resetting",	".......xx" },
	{ "broken",	"........x" },
	{ "dead",	"........." },
};

static const struct {
	const struct fsm_row *rows;
	u32 n, states;
	bool (*legal)(u32 from, u32 to);
	const char *(*name)(u32 s);
	u32 again;		/* the one state that may follow the last; none: states */
} machines[] = {
	{ session_rows, ARRAY_SIZE(session_rows), DMS_SESSION_STATES, call_session, name_session,
	  DMS_SESSION_STATES },
	{ path_rows, ARRAY_SIZE(path_rows), DMS_PATH_STATES, call_path, name_path,
	  DMS_PATH_INIT },
	{ stream_rows, ARRAY_SIZE(stream_rows), DMS_STREAM_STATES, call_stream, name_stream,
	  DMS_STREAM_STATES },
};

TEST(fsm_tables)
{
	u32 m, from, to;

	for (m = 0; m < ARRAY_SIZE(machines); m++) {
		EXPECT_EQ(machines[m].states, machines[m].n);
		for (from = 0; from < machines[m].n; from++) {
			for (to = 0; to < machines[m].n; to++) {
				test_row(m * 10000 + from * 100 + to);
				EXPECT_EQ(machines[m].legal(from, to),
					  machines[m].rows[from].to[to] == 'x');
			}
		}
	}
}

TEST(fsm_no_states)
{
	static const u32 wrong[] = { 16, 31, 32, 33, 63, 64, 0x7fffffff, 0x80000000, U32_MAX };
	u32 m, i, s;

	for (m = 0; m < ARRAY_SIZE(machines); m++) {
		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			for (s = 0; s < machines[m].n; s++) {
				test_row(m * 10000 + i * 100 + s);
				EXPECT_FALSE(machines[m].legal(wrong[i], s));
				EXPECT_FALSE(machines[m].legal(s, wrong[i]));
			}
			EXPECT_FALSE(machines[m].legal(wrong[i], wrong[i]));
			EXPECT_STREQ(machines[m].name(wrong[i]), "?");
		}
		EXPECT_FALSE(machines[m].legal(machines[m].states, 0));
		EXPECT_FALSE(machines[m].legal(0, machines[m].states));
		EXPECT_STREQ(machines[m].name(machines[m].states), "?");
	}
}

TEST(fsm_names)
{
	u32 m, s;

	for (m = 0; m < ARRAY_SIZE(machines); m++) {
		for (s = 0; s < machines[m].n; s++) {
			test_row(m * 100 + s);
			EXPECT_STREQ(machines[m].name(s), machines[m].rows[s].name);
		}
	}
}

/*
 * Each machine can come to its last state from wherever it is, and never leaves it, but for
 * a path, which may begin again.
 */
TEST(fsm_ends)
{
	u32 m, s, to, end, step, out;

	for (m = 0; m < ARRAY_SIZE(machines); m++) {
		end = machines[m].n - 1;
		for (s = 0; s < machines[m].n; s++) {
			test_row(m * 100 + s);
			/* a walk that takes the last way each time is over in n steps */
			for (step = 0, out = s; step < machines[m].n && out != end; step++) {
				for (to = machines[m].n; to > 0; to--)
					if (machines[m].legal(out, to - 1))
						break;
				if (!to)
					break;
				out = to - 1;
			}
			EXPECT_EQ(out, end);
			EXPECT_EQ(machines[m].legal(end, s), s == machines[m].again);
		}
	}
}

TESTSET(dms_core_fsm,
	CASE(fsm_tables),
	CASE(fsm_no_states),
	CASE(fsm_names),
	CASE(fsm_ends));
