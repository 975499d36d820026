#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The README's program, compiled as it stands there, says what it should.
echo "TAP version 13"
echo "1..1"
said=$(build/kselftest/readme "$DMS_ADDR" 2>&1)
status=$?
if [ "$status" = 0 ] && [ "$said" = "hello, stream" ]; then
	echo "ok 1 - the program of README.md"
	echo "1 passed, 0 failed"
else
	echo "# ended with $status and said: $said"
	echo "not ok 1 - the program of README.md"
	echo "0 passed, 1 failed"
	exit 1
fi
