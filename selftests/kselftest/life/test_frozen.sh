#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes.  Node 1's whole guest is frozen by the host while both stream, and
# what node 0 sends from then on is lost: else the bed's network would keep it in
# node 0's own NIC, and rxe destroys no queue pair that has a packet there.  Node 0
# gives the session up by the module's own keepalive, its streams end with an
# error and its gauges come down; thawed, node 1's streams end too, and new ones
# work both ways.
#
# Before that the peer lives, and only RDMA's packets are lost: the queue pairs hang or
# fail.  When the loss ends in time the streams go on with other ones; when it does not,
# they end.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/life.sh"

lost_ms=$(cat /sys/module/dmastream/parameters/peer_lost_ms)
other=$((1 - DMS_NODE))
peer=DMS_PEER$other
peer=${!peer}

losses() { "$dmsctl" counters --json | sed -n 's/.*"keepalive_losses": \([0-9]*\).*/\1/p'; }

# NAME KIND: streams to the other node, until they end
begin()
{
	$streamer serve frozen >"$tmp/serve" &
	server=$!
	within 10 said "$tmp/serve" serving || return 1
	dms-barrier "serving.$1"
	$streamer "$2" "$peer" frozen 4 >"$tmp/stream" &
	streams=$!
	within 20 said "$tmp/stream" up || return 1
	dms-barrier "streaming.$1"
}

ended()
{
	within $((lost_ms / 1000 + 5)) gone "$streams" || return 1
	wait "$streams"
	sed 's/^/# /' "$tmp/stream"
	[ "$(sed -n 's/^ended 4 //p' "$tmp/stream" | wc -w)" = 4 ] && ! grep -qw 0 "$tmp/stream"
}

# A stream that sends may hear of it earlier, from the queue pair that gave up; one
# that is idle hears of it by the keepalive alone, and not early
lose_it()
{
	local begin=$SECONDS took before
	before=$(losses)
	tc qdisc add dev eth0 root netem loss 100% || { echo '# no netem'; return 1; }
	dms-host pause 1
	ended || return 1
	took=$((SECONDS - begin))
	echo "# given up after $took s, peer_lost_ms is $lost_ms"
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	within 5 all_gauges_0 || return 1
	[ "$1" = idle ] || return 0
	# what is counted is silence, and that began a little before
	[ $((took * 1500 + 1500)) -ge "$lost_ms" ] || { echo '# too early'; return 1; }
	[ "$(losses)" -gt "$before" ]
}

one_round()
{
	local kind=idle
	[ $(($1 % 2)) = 0 ] || kind=stream
	ok "round $1: streams both ways" begin "$1" $kind
	if [ "$DMS_NODE" = 0 ]; then
		ok "round $1: a frozen peer is given up, and leaves nothing" lose_it $kind
		tc qdisc del dev eth0 root
		dms-host resume 1
	else
		ok "round $1: thawed, the streams have ended here too" ended
		kill -KILL "$server"
		wait "$server" 2>/dev/null
		ok "round $1: and leave nothing" within 10 all_gauges_0
	fi
	dms-barrier "over.$1"
}

# The NIC's packets that leave this node.  Not by a filter of the network layer: that
# tells the sender, and rxe tries again for ever.
drop()
{
	local match=(protocol ip u32 match ip protocol 17 0xff match ip dport 4791 0xffff)

	# hwsim's are frames of a type of their own
	[ "${DMS_NIC:-rxe}" = rxe ] || match=(protocol 0x88b5 u32 match u32 0 0)
	modprobe -aq sch_prio sch_netem cls_u32
	tc qdisc add dev eth0 root handle 1: prio bands 4 &&
	tc qdisc add dev eth0 parent 1:4 handle 40: netem loss 100% &&
	tc filter add dev eth0 parent 1:0 "${match[@]}" flowid 1:4
}

counter() { "$dmsctl" counters --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
more() { [ "$(counter "$1")" -gt "$2" ]; }

healed_round()
{
	local failed resumed moved
	ok 'streams both ways' begin healed stream
	failed=$(counter paths_failed) resumed=$(counter paths_resumed)
	dms-barrier counted
	if [ "$DMS_NODE" = 0 ]; then
		ok 'the packets of RDMA are lost' drop
	fi
	ok 'a queue pair fails' within $((2 * lost_ms / 1000 + 10)) more paths_failed "$failed"
	dms-barrier failed
	[ "$DMS_NODE" = 1 ] || tc qdisc del dev eth0 root
	ok 'another one takes its place' within 30 more paths_resumed "$resumed"
	moved=$(counter rx_msgs)
	ok 'the streams go on' within 10 more rx_msgs $((moved + 20))
	ok 'none of them has ended' kill -0 "$streams"
	dms-barrier gone-on
	kill -KILL "$streams" "$server"
	wait "$streams" "$server" 2>/dev/null
	ok 'and leave nothing' within 10 all_gauges_0
	dms-barrier healed-over
}

deaf_round()
{
	local begin=$SECONDS
	echo $((lost_ms / 2)) >/sys/module/dmastream/parameters/path_lost_ms
	ok 'streams both ways' begin deaf stream
	if [ "$DMS_NODE" = 0 ]; then
		ok 'the packets of RDMA are lost' drop
	fi
	# twice the limit, then that of the path, and more time to end than that
	# shellcheck disable=SC2016 # eval is to expand it
	ok 'streams end here' eval 'within $((3 * lost_ms / 1000 + 10)) gone "$streams"'
	sed 's/^/# /' "$tmp/stream"
	echo "# after $((SECONDS - begin)) s"
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	ok 'and leave nothing' within 10 all_gauges_0
	dms-barrier deaf-over
	[ "$DMS_NODE" = 1 ] || tc qdisc del dev eth0 root
}

healed_round
deaf_round
rounds=$(count 3 1)
for ((n = 0; n < rounds; n++)); do
	one_round "$n"
done
$streamer serve after >"$tmp/after" &
server=$!
within 10 said "$tmp/after" serving
dms-barrier serving-after
ok 'a new stream works' within 20 $streamer once "$peer" after
dms-barrier used-after
kill -KILL "$server"
wait "$server" 2>/dev/null
end
