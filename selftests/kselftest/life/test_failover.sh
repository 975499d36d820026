#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes.  A file goes from node 0 to node 1, in parts.  In the middle RDMA's packets to
# node 1 are lost, silently, and later they are not: the file goes on over the session's TCP
# connection, and then by RDMA again, and arrives as it was.  So do streams both ways beside it.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/life.sh"

other=$((1 - DMS_NODE))
peer=DMS_PEER$other
peer=${!peer}
part=$(count 400000 100000)

counter() { "$dmsctl" counters --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
more() { [ "$(counter "$1")" -gt "$2" ]; }
# What carries the paths of such a lane, each once.
devices() { "$dmsctl" status | awk -v lane="$1" '/^[a-z]/ { paths = $1 == "paths:" } paths && $1 ~ /^[0-9]+$/ && $5 ~ lane { sub("/.*", "", $3); print $3 }' | sort -u; }
# All paths are carried by this: tcp, or a device
all_on() { [ "$(devices .)" = "$1" ]; }
# Those that carry data: one that is idle does not notice
bulk_on() { [ "$(devices bulk)" = "$1" ]; }

# The NIC's packets that come to this node, without a word to who sends them.  Not where they
# leave: rxe would not go on when they may again.
lose()
{
	if [ "${DMS_NIC:-rxe}" = rxe ]; then
		modprobe -aq nf_tables
		nft add table ip lose &&
		nft add chain ip lose in '{ type filter hook input priority 0; }' &&
		nft add rule ip lose in udp dport 4791 drop
	else
		# frames of a type of their own
		modprobe -aq sch_ingress cls_u32 act_gact cls_matchall
		tc qdisc add dev eth0 ingress &&
		tc filter add dev eth0 ingress protocol 0x88b5 matchall action drop
	fi
}

find_again()
{
	if [ "${DMS_NIC:-rxe}" = rxe ]; then
		nft delete table ip lose
	else
		tc qdisc del dev eth0 ingress
	fi
}

# Parts of the file, each when it is wanted.
feed()
{
	local n
	for n in 0 1 2; do
		until [ -e "$tmp/part$n" ]; do
			sleep 0.05
		done
		seq $((n * part + 1)) $(((n + 1) * part))
	done
}

# EVENT WORDS: has it been told?
told() { grep -q "$1.*$2" "$tmp/events"; }

# Each path: over TCP, and back, in this order.
order_told()
{
	grep -oE 'failover|path-back' "$tmp/events" | uniq | head -n 2 | tr '\n' ' ' |
		grep -qx 'failover path-back '
}

send_it()
{
	"$dmsctl" monitor >"$tmp/events" &
	monitor=$!
	feed | build/tools/dmscat -q "$peer" file &
	file=$!
	touch "$tmp/part0"
	ok 'the file goes by RDMA' within 30 more rdma_tx_bytes $((part * 4))
	ok 'all paths are queue pairs' within 5 all_on "$DMS_RDMA"
	touch "$tmp/part1"
	dms-barrier lose
	dms-barrier lost
	ok 'paths go over TCP' within 60 more paths_tcp 0
	ok 'all that carry data' within 60 bulk_on tcp
	ok 'the file goes on' within 30 more tcp_tx_bytes $((part * 2))
	ok 'probes are not answered' within 10 more path_probes 1
	dms-barrier find
	ok 'all paths are queue pairs again' within 60 all_on "$DMS_RDMA"
	before=$(counter rdma_tx_bytes)
	touch "$tmp/part2"
	ok 'the file has gone' wait "$file"
	ok 'the last part by RDMA' more rdma_tx_bytes $((before + part * 4))
	ok 'the monitor told of failover' told failover "tcp on tcp"
	ok 'and of the return' told path-back "rdma on $DMS_RDMA"
	ok 'in this order' order_told
	sed 's/^/# /' "$tmp/events"
	kill "$monitor"
	ok 'the device goes' rdma link delete "$DMS_RDMA"
	ok 'all paths go over TCP' within 60 all_on tcp
	ok 'it comes again' rdma link add "$DMS_RDMA" type "$DMS_NIC" netdev eth0
	ok 'all paths are queue pairs once more' within 60 all_on "$DMS_RDMA"
	ok 'streams both ways have noticed nothing' kill -0 "$streams"
}

same() { seq 1 $((3 * part)) | cmp - "$tmp/got"; }

take_it()
{
	dms-barrier lose
	ok 'the packets of RDMA are lost' lose
	dms-barrier lost
	dms-barrier find
	ok 'and are not' find_again
	ok 'the file has come' wait "$file"
	ok 'and is the same' same
	ok 'some of it over TCP' more tcp_rx_bytes $((part * 2))
	ok 'streams both ways have noticed nothing' kill -0 "$streams"
}

$streamer serve beside >"$tmp/serve" &
server=$!
if [ "$DMS_NODE" = 1 ]; then
	build/tools/dmscat -q -l file >"$tmp/got" &
	file=$!
fi
within 10 said "$tmp/serve" serving
dms-barrier serving
# node 0 first, so that the session is one that it has dialled, and it is who probes
[ "$DMS_NODE" = 0 ] || dms-barrier dialled
$streamer stream "$peer" beside 4 >"$tmp/stream" &
streams=$!
ok 'streams both ways' within 20 said "$tmp/stream" up
[ "$DMS_NODE" = 1 ] || dms-barrier dialled
dms-barrier streaming
if [ "$DMS_NODE" = 0 ]; then
	send_it
else
	take_it
fi
dms-barrier sent
kill -KILL "$streams" "$server"
wait "$streams" "$server" 2>/dev/null
ok 'nobody broke the protocol' [ "$(counter protocol_errors)" = 0 ]
ok 'nothing is left' within 10 all_gauges_0
end
