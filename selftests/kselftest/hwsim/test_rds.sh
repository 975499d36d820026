#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# RDS over RDMA of the stock kernel, over two simulated NICs of this guest.
#
# The kernel's RDS maps its headers for both directions and unmaps them for one:
# the software IOMMU reports that, and whoever runs this allows it.  It goes before the
# NICs do: it gives a protection domain back after its device is gone.
dms-veth && modprobe rds_rdma || exit 4
build/kselftest/test_rds 10.78.0.1 10.78.0.2 "${DMS_NIC/hwsim/hw}-a" "${DMS_NIC/hwsim/hw}-b"
status=$?
rmmod rds_rdma || { echo 'not ok - rds_rdma can be unloaded'; status=1; }
exit $status
