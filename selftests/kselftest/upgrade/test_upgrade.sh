#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes in the middle of an upgrade: node 0 has this module, node 1 the previous version
# (the commit in the file "previous"), each with its own programs.  Streams go both ways, whoever
# dials, with what both know and nothing else; what only one knows is as if it were not there.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/../life/life.sh"

other=$((1 - DMS_NODE))
peer=DMS_PEER$other
peer=${!peer}
here=$PWD/build
fault=/sys/kernel/debug/dmastream/fault
if [ "$DMS_NODE" = 1 ]; then
	here=$PWD/build/previous/$DMS_KERNEL
	dmsctl=$here/tools/dmsctl
fi
streamer=$here/kselftest/streamer

counter() { "$dmsctl" counters --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
more() { [ "$(counter "$1")" -gt "$2" ]; }
same() { [ "$(counter "$1")" = "$2" ]; }
# Of node 0's session: "NAME": "VALUE"
session() { "$dmsctl" status --json | sed -n '/"sessions": /,/\]/p' | grep -q "\"$1\": \"$2\""; }
is_new() { [ -e /sys/module/dmastream/parameters/tcp ]; }
is_old() { ! is_new; }

# DIALLER: messages of all lengths, both ways, each checked, and counted to the byte.  In this program
# node 1 dials node 0; the nodes are told another number when it is to be the other way round.
stress()
{
	local node=$DMS_NODE at=$DMS_PEER0
	[ "$1" = 1 ] || { node=$other; at=$DMS_PEER1; }
	mkdir -p "$DMS_OUT/dials$1"
	# meetings of its own, since their names are good for once
	DMS_QUICK=1 DMS_NODE=$node DMS_PEER0=$at DMS_OUT=$DMS_OUT/dials$1 "$here/kselftest/test_transfer_stress" >"$tmp/stress"
	local status=$?
	sed 's/^/# /' "$tmp/stress"
	return "$status"
}

# NAME DIALLER: streams to the other node, and from there
begin()
{
	$streamer serve "$1" >"$tmp/serve" &
	server=$!
	within 10 said "$tmp/serve" serving || return 1
	dms-barrier "$1.serving"
	[ "$DMS_NODE" = "$2" ] || dms-barrier "$1.dialled"
	$streamer stream "$peer" "$1" 4 >"$tmp/stream" &
	streams=$!
	within 20 said "$tmp/stream" up || return 1
	[ "$DMS_NODE" != "$2" ] || dms-barrier "$1.dialled"
	dms-barrier "$1.up"
}

# All streams have been told of an end that is none in order.
ended()
{
	within 30 gone "$streams" || return 1
	wait "$streams"
	sed 's/^/# /' "$tmp/stream"
	[ "$(sed -n 's/^ended 4 //p' "$tmp/stream" | wc -w)" = 4 ] && ! grep -qw 0 "$tmp/stream"
}

end_server()
{
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	within 10 all_gauges_0
}

# DIALLER: what both know, and what happens when a queue pair fails
dials()
{
	local role=active
	[ "$1" = 0 ] || role=passive
	ok "node $1 dials: messages of all lengths" stress "$1"
	ok "node $1 dials: streams both ways" begin "dials$1" "$1"
	if [ "$DMS_NODE" = 0 ]; then
		ok "node $1 dials: and it has dialled" session role "$role"
		ok "node $1 dials: what both know is in use, and no more" session features depth
		echo all >$fault/qp_error
	fi
	ok "node $1 dials: without RESUME streams end with their queue pair" ended
	ok "node $1 dials: nothing is left" end_server
	dms-barrier "dials$1.over"
}

# Node 0 with itself: the counters that stay 0 with the other node are not always 0.
with_itself()
{
	local features='depth push resume tcp skip' resumed
	$streamer serve itself >"$tmp/serve" &
	server=$!
	within 10 said "$tmp/serve" serving
	$streamer stream "$DMS_ADDR" itself 4 >"$tmp/stream" &
	streams=$!
	ok 'this version with itself: streams' within 20 said "$tmp/stream" up
	ok 'this version with itself: everything is in use' session features "$features"
	resumed=$(counter paths_resumed)
	echo all >$fault/qp_error
	ok 'this version with itself: paths go on' within 30 more paths_resumed "$resumed"
	ok 'this version with itself: and the streams' kill -0 "$streams"
	kill -KILL "$streams"
	wait "$streams" 2>/dev/null
	ok 'this version with itself: nothing is left' end_server
}

once() { timeout $((20 * scale)) "$streamer" once "$peer" once >"$tmp/once"; }
refused() { ! once && sed 's/^/# /' "$tmp/once" && grep -q . "$tmp/once"; }

# Without an RDMA device: TCP is for those who both know it.
without_device()
{
	local tcp
	$streamer serve once >"$tmp/serve" &
	server=$!
	within 10 said "$tmp/serve" serving
	dms-barrier once
	if [ "$DMS_NODE" = 0 ]; then
		tcp=$(counter paths_tcp)
		ok 'the device goes' rdma link delete "$DMS_RDMA"
		ok 'a stream is refused, in words' refused
		ok 'and was not tried over TCP' same paths_tcp "$tcp"
		ok 'the device comes' rdma link add "$DMS_RDMA" type "$DMS_NIC" netdev eth0
		ok 'a stream works' within 30 once
	fi
	dms-barrier once-over
	ok 'nothing is left' end_server
}

if [ "$DMS_NODE" = 0 ]; then
	ok 'this version' is_new
else
	ok 'the previous version' is_old
fi
dials 0
dials 1
if [ "$DMS_NODE" = 0 ]; then
	for c in paths_resumed path_redials streams_resumed msgs_replayed paths_tcp tcp_tx_bytes tcp_rx_bytes \
		push_tx push_rx grants_sent; do
		ok "nothing was counted as $c" same "$c" 0
	done
	ok 'queue pairs were broken' more faults 1
	with_itself
fi
dms-barrier itself
without_device
ok 'nobody broke the protocol' same protocol_errors 0
end
