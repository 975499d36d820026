#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The device, and the module, go while they are used: rdma link delete under
# eight streams, rmmod while something is open and just after.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/life.sh"
rdma=${DMS_RDMA:-rxe0} nic=${DMS_NIC:-rxe}

gids_are_there()
{
	[ "$(cat /sys/class/infiniband/"$rdma"/ports/1/gids/* 2>/dev/null | grep -vc '^0000:0000:0000:0000:0000:0000:0000:0000$')" -ge 3 ]
}

serve()
{
	$streamer serve unplug >"$tmp/serve" &
	server=$!
	within 10 said "$tmp/serve" serving
}

# Eight streams in contexts of their own; then the device goes
round()
{
	local results
	: >"$tmp/stream"
	$streamer stream "$DMS_ADDR" unplug 8 >"$tmp/stream" &
	local pid=$!
	within 20 said "$tmp/stream" up || return 1
	timeout $((10 * scale)) rdma link delete "$rdma" || { echo '# the delete hangs'; return 1; }
	within 10 gone "$pid" || { echo '# streams go on without a device'; return 1; }
	wait "$pid"
	results=$(sed -n 's/^ended 8 //p' "$tmp/stream")
	echo "# streams ended with $results"
	[ "$(wc -w <<<"$results")" = 8 ] && ! grep -qw 0 <<<"$results" || return 1
	$streamer once "$DMS_ADDR" unplug >"$tmp/none" && { echo '# a stream without a device'; return 1; }
	sed 's/^/# without a device: /' "$tmp/none"
	rdma link add "$rdma" type "$nic" netdev eth0 && within 10 gids_are_there || return 1
	within 10 "$streamer" once "$DMS_ADDR" unplug
}

unplugs()
{
	local n rounds
	rounds=$(count 20 4)
	serve || return 1
	for ((n = 0; n < rounds; n++)); do
		round || { echo "# round $n"; return 1; }
	done
	echo "# $rounds times"
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	within 5 all_gauges_0
}

load()
{
	if [ ! -d /sys/module/dmastream ]; then
		insmod "$DMS_MODULE" || return 1
	fi
	within 5 test -c /dev/dmastream
}

# What is left over: a session that is idle, one whose stream was just closed, one
# that is half open, a stranger's connection
leftover()
{
	case $(($1 % 4)) in
	0) $streamer once "$DMS_ADDR" unplug ;;
	1) $streamer stream "$DMS_ADDR" unplug 2 >/dev/null & kill -KILL "$!" ;;
	2) $streamer once "$DMS_PEER_DOWN" unplug >/dev/null & sleep 0.1; kill -KILL "$!" ;;
	3) exec 9<>"/dev/tcp/$DMS_ADDR/7477" && exec 9>&- ;;
	esac
	return 0
}

one_rmmod()
{
	local n=$1
	load || { echo '# load'; return 1; }
	[ "$(stat -c '%a %U' /dev/dmastream)" = '600 root' ] || { echo '# mode'; return 1; }
	serve || { echo '# serve'; return 1; }
	rmmod dmastream 2>"$tmp/err" && { echo '# rmmod while a service is open'; return 1; }
	grep -q 'in use' "$tmp/err" || { cat "$tmp/err"; return 1; }
	leftover "$n"
	kill -KILL "$server"
	wait "$server" 2>/dev/null
	within 5 rmmod_works || { cat "$tmp/err"; return 1; }
	[ ! -e /dev/dmastream ]
}

rmmod_works() { timeout $((20 * scale)) rmmod dmastream 2>"$tmp/err"; }

rmmods()
{
	local n rounds
	rounds=$(count 20 5)
	for ((n = 0; n < rounds; n++)); do
		one_rmmod "$n" || { echo "# round $n"; return 1; }
	done
	echo "# $rounds times"
}

# Has the process joined more than the group of nlctrl?
joined()
{
	awk -v pid="$1" '$2 == 16 && $3 == pid && $4 !~ /^0000[08]000$/ { n++ } END { exit !n }' \
		/proc/net/netlink
}

monitor_ends()
{
	local pid
	load || { echo '# load'; return 1; }
	"$dmsctl" monitor 2>"$tmp/monitor" &
	pid=$!
	within 5 joined "$pid" || { echo '# it does not listen'; return 1; }
	within 5 rmmod_works || { cat "$tmp/err"; return 1; }
	within 5 gone "$pid" || { echo '# it goes on'; kill "$pid"; return 1; }
	wait "$pid"
	[ $? = 1 ] && grep -q 'the module was unloaded' "$tmp/monitor"
}

use_it()
{
	local status
	serve || return 1
	$streamer once "$DMS_ADDR" unplug
	status=$?
	kill -KILL "$server"
	return "$status"
}

DMS_PEER_DOWN=10.77.0.99
DMS_MODULE=${DMS_MODULE:?the bed tells it}
ok 'the device goes under eight streams, and comes again' unplugs
ok 'the module goes when nobody has it open, and comes again' rmmods
ok 'who listens to events is told that it goes' monitor_ends
ok 'load it again' load
ok 'and use it' use_it
end
