#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: test_fanin.sh [SENDERS]
#
# An incast over as many simulated NICs of one guest, one of which receives, and the
# same by dmssim: the times have to agree.  The NIC's port has a rate and a finite queue,
# which pauses who sends to it.
senders=${1:-16}
mbit=200 queue=262144 delay=5000 bytes=1048576 rounds=3
budget_kib=$(cat /sys/module/dmastream/parameters/incast_budget_kib)
[ "${DMS_NIC:-}" = hwsim ] || { echo '1..0 # SKIP over hwsim only'; exit 4; }

# p0 receives.  Each is one end of a veth pair, whose other end is a port of a bridge
make_port()
{
	local n=$1
	ip link add "p$n" mtu 4500 type veth peer name "q$n" mtu 4500 &&
		ip link set "q$n" master br0 up && ip link set "p$n" up &&
		echo 1 >"/proc/sys/net/ipv4/conf/p$n/accept_local" &&
		echo 0 >"/proc/sys/net/ipv4/conf/p$n/rp_filter" &&
		ip addr add "10.79.0.$((n + 1))/24" dev "p$n" &&
		ip rule add pref 10 iif "p$n" lookup local &&
		rdma link add "hwp$n" type hwsim netdev "p$n" || exit 4
	echo $mbit >"/sys/kernel/debug/hwsim/hwp$n/rate_mbps"
	echo $delay >"/sys/kernel/debug/hwsim/hwp$n/delay_ns"
	echo $queue >"/sys/kernel/debug/hwsim/hwp$n/pfc_bytes"
}

mac() { cat "/sys/class/net/p$1/address"; }

# what goes to another port leaves by the own one, though both addresses are this host's
route()
{
	ip rule add pref 20 from "10.79.0.$(($1 + 1))" to "10.79.0.$(($2 + 1))" lookup "$3" &&
	ip route add "10.79.0.$(($2 + 1))" dev "p$1" src "10.79.0.$(($1 + 1))" table "$3" &&
	ip neigh replace "10.79.0.$(($2 + 1))" lladdr "$(mac "$2")" dev "p$1" nud permanent
}

modprobe -aq bridge veth
ip link add br0 mtu 4500 type bridge && ip link set br0 up || exit 4
echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
for ((i = 0; i <= senders; i++)); do make_port $i; done
for ((i = 1; i <= senders; i++)); do
	route 0 $i $((100 + i)) && route $i 0 $((200 + i)) || exit 4
	# before an address was chosen
	ip rule add pref 21 to "10.79.0.$((i + 1))" lookup $((100 + i)) || exit 4
done
ip rule add pref 30 lookup local && ip rule del pref 0 || exit 4

# 90: what a packet of the NIC takes besides
json=$(build/tools/dmssim -q --json -p incast -n $((senders + 1)) -s $bytes -m $rounds --rate ${mbit}m \
	--prop $delay --host-delay 50000 --pfc queue:$queue --budget "${budget_kib}k" --head 90) || exit 1
echo "# $json"
bad=0
build/kselftest/test_transfer_fanin "$senders" $rounds $bytes "$json" || bad=1
for c in rx_bytes queue_high_water_bytes pfc_pauses queue_drops; do
	echo "# $c $(cat /sys/class/infiniband/hwp0/ports/1/hw_counters/$c)"
done
# all of it came by this port
[ "$(cat /sys/class/infiniband/hwp0/ports/1/hw_counters/rx_bytes)" -gt $((senders * rounds * bytes)) ] || bad=1
exit $bad
