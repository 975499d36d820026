#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One node, which talks to itself, or two.  There are two NICs, each in a subnet of its own:
# a session that was dialled by one of them uses both.  One goes, its paths move to the other,
# and go back when it is there again; then the same with the other one.  Streams both ways
# notice nothing.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/life.sh"

peer=$DMS_ADDR
if [ "$DMS_NODES" = 2 ]; then
	peer=DMS_PEER$((1 - DMS_NODE))
	peer=${!peer}
fi
second=${DMS_RDMA%0}1
first=$DMS_RDMA

counter() { "$dmsctl" counters --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
more() { [ "$(counter "$1")" -gt "$2" ]; }
# The devices that carry paths, each once, in one line.
devices() { "$dmsctl" status | awk '/^[a-z]/ { paths = $1 == "paths:" } paths && $1 ~ /^[0-9]+$/ { sub("/.*", "", $3); print $3 }' | sort -u | tr '\n' ' '; }
on() { [ "$(devices)" = "$*" ]; }
packets() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$sent"; }
more_packets() { [ "$(packets "$1")" -gt "$2" ]; }

second_nic()
{
	modprobe -aq dummy macvlan
	if [ "$DMS_NODES" = 2 ]; then
		ip link add rail1 link eth0 type macvlan mode bridge
	else
		ip link add rail1 mtu 4500 type dummy
	fi &&
		ip link set rail1 up &&
		ip addr add "10.98.0.$((DMS_NODE + 1))/24" dev rail1 &&
		rdma link add "$second" type "$DMS_NIC" netdev rail1
}

# GONE NETDEV OTHER: of the two
lose_one()
{
	local left back
	left=$(counter rails_left)
	back=$(counter rails_back)
	ok "$1 goes" rdma link delete "$1"
	ok "all paths go over $3" within 60 on "$3 "
	ok 'which is not their own rail' more rails_left "$left"
	ok "$1 is there again" rdma link add "$1" type "$DMS_NIC" netdev "$2"
	ok 'both rails are used again' within 60 on "$first $second "
	ok 'by the paths that had left' within 60 more rails_back "$back"
	ok 'streams have noticed nothing' kill -0 "$streams"
}

sent=sent_pkts
[ "${DMS_NIC:=rxe}" = rxe ] || sent=tx_packets
ok 'there is a second NIC' second_nic
[ "$DMS_NODES" = 1 ] || dms-barrier nics
$streamer serve beside >"$tmp/serve" &
server=$!
within 10 said "$tmp/serve" serving
[ "$DMS_NODES" = 1 ] || dms-barrier serving
if [ "$DMS_NODE" = 0 ]; then
	$streamer stream "$peer" beside 8 >"$tmp/stream" &
	streams=$!
	ok 'streams both ways' within 20 said "$tmp/stream" up
	ok 'paths go over both rails' within 60 on "$first $second "
	a=$(packets "$first") b=$(packets "$second")
	ok 'the first one carries' within 20 more_packets "$first" $((a + 100))
	ok 'and the second one' within 20 more_packets "$second" $((b + 100))
	ok 'no path had to look for another' on "$first $second "
	ok 'none has left its own' [ "$(counter rails_left)" = 0 ]
	lose_one "$second" rail1 "$first"
	lose_one "$first" eth0 "$second"
	kill -KILL "$streams"
	wait "$streams" 2>/dev/null
fi
[ "$DMS_NODES" = 1 ] || dms-barrier sent
kill -KILL "$server"
wait "$server" 2>/dev/null
ok 'nobody broke the protocol' [ "$(counter protocol_errors)" = 0 ]
ok 'nothing is left' within 10 all_gauges_0
end
