# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sourced by the scripts of the bed: where things are, and how to speak.
#
#   DMS_TOP    top of the work tree
#   DMS_BUILD  everything that a build makes (default: build/ of the tree)
#   DMS_CACHE  what outlives a build: kernels, ccache (default ~/.cache/dmastream)

DMS_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
DMS_BUILD=${DMS_BUILD:-$DMS_TOP/build}
DMS_CACHE=${DMS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dmastream}
export DMS_TOP DMS_BUILD DMS_CACHE

dms_self=${0##*/}

say()
{
	printf '%s: %s\n' "$dms_self" "$*" >&2
}

# die WHAT [WHAT TO TRY]
die()
{
	say "error: $1"
	[ -z "${2:-}" ] || printf '  try: %s\n' "$2" >&2
	exit "${DMS_EXIT:-1}"
}

# Print the comment block at the head of a script as its help text.
help_from_head()
{
	awk 'NR == 1 || /SPDX-License/ { next }
	     !/^#/ { exit }
	     { sub(/^# ?/, ""); if (length || seen) { seen = 1; print } }' "$1"
}

# with_lock FILE COMMAND...: run COMMAND while holding FILE; says so when it has
# to wait, because the one who holds it may be building a kernel.
with_lock()
{
	local file=$1 fd
	shift
	mkdir -p "$(dirname "$file")"
	exec {fd}>>"$file"
	if ! flock -n "$fd"; then
		say "waiting for another run (lock $file)"
		flock "$fd"
	fi
	"$@" {fd}>&- || { local rc=$?; exec {fd}>&-; return "$rc"; }
	exec {fd}>&-
}

# kept FILE COMMAND...: what COMMAND prints, or what it printed the last time: FILE holds that
# when it passed (status 0, and not one "not ok").  FILE's name has a hash of all that the results depend on
# after its last dot; without one nothing is kept.  DMS_ANEW=1 runs it whatever there is.
kept()
{
	local file=$1 out rc
	shift
	if [ -z "${file##*.}" ]; then
		"$@"
		return
	fi
	if [ -s "$file" ] && [ -z "${DMS_ANEW:-}" ]; then
		cat "$file"
		echo "  (as before: nothing that this depends on has changed)"
		return 0
	fi
	mkdir -p "${file%/*}"
	out=$file.$$
	"$@" 2>&1 | tee "$out"
	rc=${PIPESTATUS[0]}
	if [ "$rc" = 0 ] && ! grep -q '^not ok ' "$out"; then
		rm -f "${file%.*}".????????????????????????????????
		mv "$out" "$file"
	fi
	rm -f "$out"
	return "$rc"
}

# progress LOG TOTAL WHAT: read lines, keep them in LOG, and show how far the
# work is: a rewritten line on a terminal, now and then a line elsewhere.
progress()
{
	awk -v log_file="$1" -v total="$2" -v what="$3" -v tty="$([ -t 2 ] && echo 1)" '
	BEGIN { start = systime(); last = start }
	{
		print > log_file
		n++
		t = systime()
		if (t - last < (tty ? 1 : 30))
			next
		last = t
		left = n < total ? sprintf(", about %d s left", (t - start) * (total - n) / n) : ""
		printf("%s%s: %d of about %d steps, %d s%s%s", tty ? "\r\033[K" : "", what, n, total,
		       t - start, left, tty ? "" : "\n") > "/dev/stderr"
		fflush()
	}
	END { if (tty) printf("\r\033[K") > "/dev/stderr" }'
}
