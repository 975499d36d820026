/* SPDX-License-Identifier: GPL-2.0-only */
/* What TESTSET() of each test_*.c defines, for the runner. */
#ifndef DMS_SUITES_H
#define DMS_SUITES_H

extern const struct dms_test_suite dms_core_wire_suite;
extern const struct dms_test_suite dms_core_wire_msg_suite;
extern const struct dms_test_suite dms_core_credit_suite;
extern const struct dms_test_suite dms_core_credit_model_suite;
extern const struct dms_test_suite dms_core_window_suite;
extern const struct dms_test_suite dms_core_ringidx_suite;
extern const struct dms_test_suite dms_core_seg_suite;
extern const struct dms_test_suite dms_core_tile_suite;
extern const struct dms_test_suite dms_core_fsm_suite;
extern const struct dms_test_suite dms_core_pick_suite;
extern const struct dms_test_suite dms_core_delay_suite;
extern const struct dms_test_suite dms_core_pull_suite;
extern const struct dms_test_suite dms_core_depth_suite;
extern const struct dms_test_suite dms_core_spin_suite;
extern const struct dms_test_suite dms_core_rate_suite;
extern const struct dms_test_suite dms_core_signal_suite;
extern const struct dms_test_suite dms_core_ack_suite;
extern const struct dms_test_suite dms_core_grant_suite;
extern const struct dms_test_suite dms_core_backoff_suite;
extern const struct dms_test_suite dms_core_rail_suite;

#endif /* DMS_SUITES_H */
