#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: test_lanes.sh
#
# Two RDMA devices of one guest, with a wire between them that streams really use: the
# traffic class of each lane on it, then how long a ping-pong takes while 64 MiB messages
# go the same way, on a good wire and on one that loses 1 %.
prog=build/kselftest/test_transfer_lanes
bad=0

dms-veth || exit 4
# what is sent from here to the other end goes over the pair; what arrives is for here
route()
{
	ip rule add pref 10 iif "$3" lookup local &&
	ip rule add pref 20 to "$2" lookup "$4" &&
	ip route add "$2" dev "$3" src "$1" table "$4"
}
route 10.78.0.1 10.78.0.2 va 101 && route 10.78.0.2 10.78.0.1 vb 102 &&
	ip rule add pref 30 lookup local && ip rule del pref 0 || exit 4

export DMS_ADDR=10.78.0.2
case ${DMS_NIC:-rxe} in
rxe)
	export DMS_RDMA=rxe-b
	"$prog" class va || bad=1
	"$prog" delays '64 MiB pulled' 67108864 || bad=1
	"$prog" delays 'eager' 8000 || bad=1
	# what is pulled does not outlive a loss: rxe ends the queue pair ("lkey not free")
	modprobe -q sch_netem
	if tc qdisc add dev va root netem loss 1% && tc qdisc add dev vb root netem loss 1%; then
		"$prog" delays 'eager, 1 % loss' 8000 || bad=1
		tc qdisc del dev va root
		tc qdisc del dev vb root
	else
		echo '# no netem'
	fi ;;
hwsim)
	export DMS_RDMA=hw-b
	# a wire that is the bottleneck, not the CPU: 1 Gbit/s in packets of 4 KiB
	for dev in hw-a hw-b; do
		echo 1000 >/sys/kernel/debug/hwsim/$dev/rate_mbps || exit 4
		echo 5000 >/sys/kernel/debug/hwsim/$dev/delay_ns
	done
	"$prog" delays '64 MiB pulled' 67108864 2 || bad=1
	"$prog" delays 'eager' 8000 2 || bad=1
	# it goes on after a loss: what is lost is asked for again when a later packet comes,
	# or, of a ping-pong, when the timer has run out; idle is with the loss, too
	modprobe -q sch_netem
	if tc qdisc add dev va root netem loss 1% && tc qdisc add dev vb root netem loss 1%; then
		"$prog" delays '64 MiB pulled, 1 % loss' 67108864 2 || bad=1
		"$prog" delays 'eager, 1 % loss' 8000 2 || bad=1
		for dev in va vb; do
			lost=$(tc -s qdisc show dev $dev | sed -n 's/.*dropped \([0-9]*\),.*/\1/p')
			echo "# $dev lost ${lost:-none}"
			[ "${lost:-0}" -gt 0 ] || bad=1
			tc qdisc del dev $dev root
		done
	else
		echo '# no netem'
	fi ;;
esac
exit $bad
