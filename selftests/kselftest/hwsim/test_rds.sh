#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# RDS over RDMA of the stock kernel, over two simulated NICs of this guest, or of two guests.
#
# The kernel's RDS maps its headers for both directions and unmaps them for one:
# the software IOMMU reports that, and whoever runs this allows it.  It goes before the
# NICs do: it gives a protection domain back after its device is gone.
ends=("$DMS_ADDR" "$DMS_PEERS" "$DMS_RDMA")
if [ "$DMS_NODES" = 1 ]; then
	dms-veth || exit 4
	ends=(10.78.0.1 10.78.0.2 "${DMS_NIC/hwsim/hw}-a" "${DMS_NIC/hwsim/hw}-b")
fi
modprobe rds_rdma || exit 4
# both are there before one of them connects
[ "$DMS_NODES" = 1 ] || dms-barrier rds-there
build/kselftest/test_rds "${ends[@]}"
status=$?
rmmod rds_rdma || { echo 'not ok - rds_rdma can be unloaded'; status=1; }
exit $status
