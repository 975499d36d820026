#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR MIT
# Runs each test program and adds their counts up.  A program that ends without
# its last line, or with a status of its own, counts as a failure.
passed=0
failed=0
for prog in "$@"; do
	echo "# ${prog##*/}"
	out=$("$prog" 2>&1)
	status=$?
	printf '%s\n' "$out"
	last=$(printf '%s\n' "$out" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
	if [ -z "$last" ] || { [ "$status" -ne 0 ] && [ "${last#* }" -eq 0 ]; }; then
		echo "not ok - ${prog##*/}: exit status $status"
		last="${last:-0 0}"
		failed=$((failed + 1))
	fi
	passed=$((passed + ${last% *}))
	failed=$((failed + ${last#* }))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
