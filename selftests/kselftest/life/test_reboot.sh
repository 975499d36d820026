#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two nodes that stream to each other.  Node 1 reboots, in the middle and with its processes
# alive: it ends its sessions first, so that node 0 hears of it at once and in order, and not by silence
# (peer_lost_ms), and its own kernel has nothing to complain of.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/life.sh"

other=$((1 - DMS_NODE))
peer=DMS_PEER$other
peer=${!peer}

counter() { "$dmsctl" counters --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
more() { [ "$(counter "$1")" -gt "$2" ]; }
same() { [ "$(counter "$1")" = "$2" ]; }
told() { grep -q "$1" "$tmp/events"; }
console_says() { grep -q "$1" "$DMS_OUT/node1.console"; }

ended()
{
	within 20 gone "$streams" || return 1
	wait "$streams"
	sed 's/^/# /' "$tmp/stream"
	[ "$(sed -n 's/^ended 4 //p' "$tmp/stream" | wc -w)" = 4 ] && ! grep -qw 0 "$tmp/stream"
}

$streamer serve reboot >"$tmp/serve" &
server=$!
within 10 said "$tmp/serve" serving
dms-barrier serving
$streamer stream "$peer" reboot 4 >"$tmp/stream" &
streams=$!
ok 'streams both ways' within 20 said "$tmp/stream" up
dms-barrier streaming
if [ "$DMS_NODE" = 1 ]; then
	before=$(counter rx_msgs)
	ok 'they move' within 10 more rx_msgs $((before + 20))
	dms-barrier monitored
	/run/busybox reboot -f
	sleep 1000
fi
"$dmsctl" monitor >"$tmp/events" &
monitor=$!
losses=$(counter keepalive_losses)
dms-host goes 1
begin=$SECONDS
dms-barrier monitored
ok 'the session ends' within 20 told session-down
sed 's/^/# /' "$tmp/events"
echo "# after $((SECONDS - begin)) s"
ok 'in order' told 'session-down.*session: closed in order'
ok 'and not by silence' same keepalive_losses "$losses"
ok 'nor by what node 1 left to its NIC' same msgs_replayed 0
ok 'the streams have been told' ended
kill -KILL "$server" "$monitor"
wait "$server" "$monitor" 2>/dev/null
ok 'nothing is left' within 10 all_gauges_0
ok 'node 1 has ended its sessions first' within 10 console_says 'sessions have ended, the system goes down'
end
