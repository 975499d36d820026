#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The module while the simulated NIC fails on cue.  Each rule strikes while a
# message is sent to this node itself: it is delivered, or fails in time and in words.
# The fault's own counter says that it was met; the next stream works.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/../life/life.sh"
fault=/sys/kernel/debug/hwsim/${DMS_RDMA:-hw0}/fault

# What the module cannot do without is made to fail at its first call, and at a later one.
# cq-full is not among them: the module's queues are as large as what is posted, and it
# does not come back from one that overflows all the same.
rules=(
	'wr status=rem-access op=send' 'wr status=loc-len op=read' 'wr status=retry-exceeded op=send at=2'
	'wr status=flush op=read' 'wr status=mw-bind op=reg-mr' 'wr status=general op=local-inv'
	'done status=retry-exceeded op=send' 'done status=rem-op op=read' 'done status=mw-bind op=local-inv'
	'recv status=loc-prot' 'recv status=fatal at=2'
	'packet-lose count=3' 'packet-twice count=0' 'packet-delay us=20000'
	'ack-lose count=3' 'ack-delay us=20000'
	'cqe-delay us=20000'
	'verb name=alloc_pd errno=12' 'verb name=create_ah errno=12' 'verb name=create_ah errno=12 at=2'
	'verb name=create_qp errno=12' 'verb name=create_qp errno=12 at=2'
	'verb name=modify_qp errno=22' 'verb name=modify_qp errno=22 at=3' 'verb name=alloc_mr errno=12'
	'verb name=map_mr_sg errno=22' 'verb name=post_send errno=12' 'verb name=post_send errno=12 at=4'
	'verb name=post_recv errno=12' 'verb name=post_recv errno=12 at=5'
	'port-down at=1' 'port-up' 'gid-change at=1' 'fatal at=1'
)

once() { timeout $((30 * scale)) "$streamer" once "$DMS_ADDR" faults; }

no_session() { gauge sessions 0; }

# what a rule counted: hits of all kinds, cleared rules too
hits() { awk '{ n += $2 } END { print n }' "$fault/hits"; }

struck()
{
	local before status
	# from nothing, so that what is done once for a session is done
	within 10 no_session || { echo '# the last session stays'; return 1; }
	before=$(hits)
	echo "$1" >"$fault/rules" || return 1
	once >"$tmp/once"
	status=$?
	sed 's/^/# /' "$fault/rules" "$tmp/once"
	echo clear >"$fault/rules"
	# 124: it hangs
	[ "$status" != 124 ] || return 1
	[ "$(hits)" -gt "$before" ] || { echo '# the fault was not met'; return 1; }
	case $1 in port-down*) echo port-up >"$fault/rules"; echo clear >"$fault/rules" ;; esac
	within 20 once >"$tmp/once" || { sed 's/^/# after it: /' "$tmp/once"; return 1; }
}

$streamer serve faults >"$tmp/serve" &
server=$!
ok 'a service' within 10 said "$tmp/serve" serving
for rule in "${rules[@]}"; do
	ok "$rule" struck "$rule"
done
kill -KILL "$server"
wait "$server" 2>/dev/null
ok 'nothing is left' within 10 all_gauges_0
end
