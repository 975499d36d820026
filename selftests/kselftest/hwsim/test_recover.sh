#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Queue pairs fail, one after the other, while the program of test_transfer_stress sends: it
# checks each byte, the order and each result, as if nothing had happened.  The NIC's own
# counter says that each fault was met, the module's that the path went on.
#
# The simulated NIC fails at a work request.  Over another one the module breaks its queue pairs
# itself (fault_injection=1): one that is asked to post something, which then was not sent, or
# all of them at once.
dir=$(dirname "$0")
# shellcheck source=selftests/kselftest/life/life.sh
. "$dir/../life/life.sh"
fault=/sys/kernel/debug/hwsim/${DMS_RDMA:-hw0}/fault
stress=build/kselftest/test_transfer_stress
seed=${DMS_SEED:-$RANDOM}
RANDOM=$seed

# Of the path, not of the request: a stream that is guilty would end.
rules=(
	'wr status=retry-exceeded op=send' 'wr status=rnr-exceeded op=send' 'wr status=general op=read'
	'wr status=retry-exceeded op=read' 'wr status=resp-timeout op=reg-mr' 'wr status=fatal op=local-inv'
	'done status=retry-exceeded op=send' 'done status=retry-exceeded op=read' 'done status=general op=reg-mr'
	'done status=general op=local-inv' 'recv status=fatal' 'recv status=general'
)

own=/sys/kernel/debug/dmastream/fault
posts=(send send read reg inv)

hits()
{
	if [ -e "$fault" ]; then
		awk '{ n += $2 } END { print n }' "$fault/hits"
	else
		counter faults
	fi
}

strike()
{
	if [ -e "$fault" ]; then
		echo "${rules[RANDOM % ${#rules[@]}]} at=$((RANDOM % 40 + 1))" >"$fault/rules"
	elif ((RANDOM % 3)); then
		echo "${posts[RANDOM % ${#posts[@]}]} 1 $((RANDOM % 40))" >"$own/fail_post"
	else
		echo all >"$own/qp_error"
	fi
}

# No path may be up just now.
struck() { strike 2>/dev/null || gone "$program"; }

clear_rules()
{
	if [ -e "$fault" ]; then
		echo clear >"$fault/rules"
	else
		echo 1 >"$own/disarm"
	fi
}

counter() { "$dmsctl" counters --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
more() { [ "$(counter "$1")" -gt "$2" ]; }
hit() { [ "$(hits)" -gt "$1" ] || gone "$program"; }
resumed() { more paths_resumed "$1" || gone "$program"; }

# Until the program ends: one fault, and the path that goes on after it.
fail_paths()
{
	local before resumes

	while ! gone "$program"; do
		before=$(hits)
		resumes=$(counter paths_resumed)
		within 10 struck || return 1
		within 30 hit "$before" || return 1
		within 60 resumed "$resumes" || return 1
		((++faults))
		clear_rules
	done
}

# One run of the program, with failures until it ends.
run()
{
	PEER_FAILS=1 "$stress" >"$tmp/stress" &
	program=$!
	fail_paths
	result $? 'each path that fails goes on'
	clear_rules
	wait "$program"
	result $? 'the stress has not noticed'
	sed 's/^/# /' "$tmp/stress"
}

echo "# DMS_SEED=$seed"
faults=0
# on a slow machine few fit into one, and a failure between two messages loses none
for ((runs = 0; runs < 6; runs++)); do
	run
	[ $faults -ge 4 ] && more msgs_replayed 0 && break
done
echo "# faults $faults, resumed $(counter paths_resumed), redials $(counter path_redials), streams $(counter streams_resumed), replayed $(counter msgs_replayed)"
ok 'some faults' [ $faults -ge 3 ]
ok 'messages were sent again' [ "$(counter msgs_replayed)" -gt 0 ]
ok 'nobody broke the protocol' [ "$(counter protocol_errors)" = 0 ]
ok 'nothing is left' within 10 all_gauges_0
end
