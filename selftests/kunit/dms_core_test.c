// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests of kmod/core under KUnit.  They are those of selftests/unit, built
 * here into one object: each of them is a list of static functions.
 */
#include "../unit/test_wire.c"
#include "../unit/test_wire_msg.c"
#include "../unit/test_credit.c"
#include "../unit/test_window.c"
#include "../unit/test_ringidx.c"
#include "../unit/test_seg.c"
#include "../unit/test_tile.c"
#include "../unit/test_fsm.c"
#include "../unit/test_pick.c"
#include "../unit/test_delay.c"
#include "../unit/test_pull.c"
#include "../unit/test_depth.c"
#include "../unit/test_spin.c"
#include "../unit/test_rate.c"
#include "../unit/test_signal.c"
#include "../unit/test_ack.c"
#include "../unit/test_grant.c"
#include "../unit/test_backoff.c"
#include "../unit/test_rail.c"

kunit_test_suites(&dms_core_wire_suite,
		  &dms_core_wire_msg_suite,
		  &dms_core_credit_suite,
		  &dms_core_window_suite,
		  &dms_core_ringidx_suite,
		  &dms_core_seg_suite,
		  &dms_core_tile_suite,
		  &dms_core_fsm_suite,
		  &dms_core_pick_suite,
		  &dms_core_delay_suite,
		  &dms_core_pull_suite,
		  &dms_core_depth_suite,
		  &dms_core_spin_suite,
		  &dms_core_rate_suite,
		  &dms_core_signal_suite,
		  &dms_core_ack_suite,
		  &dms_core_grant_suite,
		  &dms_core_backoff_suite,
		  &dms_core_rail_suite);
