# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# For the scripts among the tests of life and death: results as KTAP, and waits
# with a limit.  They run in a guest, in the work tree.
streamer=build/kselftest/streamer
dmsctl=build/tools/dmsctl
scale=${DMS_TIMEOUT_SCALE:-1}
passed=0 failed=0
tmp=$(mktemp -d)

# result STATUS TEXT
result()
{
	if [ "$1" = 0 ]; then
		((++passed))
		echo "ok $((passed + failed)) - $2"
	else
		((++failed))
		echo "not ok $((passed + failed)) - $2"
		"$dmsctl" status >&2
		# who of the module's workers waits, and for what
		grep -ls dms_ /proc/[0-9]*/stack | xargs -r tail -n +1 >&2
	fi
}

# ok TEXT COMMAND...
ok()
{
	local text=$1
	shift
	"$@"
	result $? "$text"
}

end()
{
	echo "$passed passed, $failed failed, 0 skipped"
	exit $((failed || !passed))
}

# within SECONDS COMMAND...: until it is true, at most so many seconds of a fast machine
within()
{
	local limit=$((SECONDS + $1 * scale + 1))
	shift
	until "$@"; do
		[ $SECONDS -lt $limit ] || return 1
		sleep 0.05
	done
}

# said FILE WORD
said() { grep -qs "^$2" "$1"; }

gone() { ! kill -0 "$1" 2>/dev/null; }

# gauge NAME VALUE
gauge() { "$dmsctl" counters --json | sed -n '/"gauges"/,$p' | grep -q "\"$1\": $2,\?\$"; }

all_gauges_0()
{
	"$dmsctl" counters --json | sed -n '/"gauges"/,/}/p' | grep -q '": [^0{]' && return 1
	return 0
}

# Full counts, or those of a slow kernel.
count() { [ -n "$DMS_QUICK$DMS_DEBUG" ] && echo "$2" || echo "$1"; }
