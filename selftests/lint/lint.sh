# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Sourced by each check of lint.  A check looks at the files of $root and ends
# with one call of verdict, which fails a check that saw nothing to look at.
# shellcheck source=../setup/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup/common.sh"

# shellcheck disable=SC2034 # for the checks
lint_dir=$DMS_TOP/selftests/lint
root=${DMS_LINT_ROOT:-$DMS_TOP}
check=${0##*/check-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$root" || exit 1

# files PATTERN...: tracked files and new ones (not ignored), by shell pattern of the whole path
files()
{
	local f p
	{
		if [ -e .git ] && command -v git >/dev/null; then
			git ls-files -co --exclude-standard
		else
			find . -path ./build -prune -o -type f -print | sed 's|^\./||'
		fi
	} | sort -u | while read -r f; do
		[ -f "$f" ] || continue
		for p; do
			# shellcheck disable=SC2254 # they are patterns
			case $f in $p) echo "$f"; break ;; esac
		done
	done
}

# Kernel code: what runs in the kernel, or is its interface.
kernel_c() { files 'kmod/*.[ch]' 'uapi/*.h' 'selftests/kunit/*.[ch]' 'selftests/hwsim/*.[ch]' 'selftests/vm/testmod/*.[ch]'; }

# Scripts: by name or by their first line.
scripts()	# PATTERN of the interpreter
{
	files '*' | while read -r f; do
		read -r line <"$f" 2>/dev/null || true
		case $line in '#!'*$1*) echo "$f" ;; esac
	done 2>/dev/null
}

# The kernel's own scripts (checkpatch, kernel-doc, coccinelle), unpacked once.
kernel_scripts()
{
	local version to
	version=$(dpkg-query -W -f '${Version}' linux-source-6.1 2>/dev/null) ||
		die 'linux-source-6.1 is not installed' "$DMS_TOP/selftests/setup/packages lint"
	to=$DMS_CACHE/kernel-scripts/$version
	unpack()
	{
		[ ! -e "$to/ok" ] || return 0
		rm -rf "$to"
		mkdir -p "$to"
		tar -xJf /usr/src/linux-source-6.1.tar.xz -C "$to" --strip-components=1 linux-source-6.1/scripts
		touch "$to/ok"
	}
	[ -e "$to/ok" ] || with_lock "$DMS_CACHE/lock/kernel-scripts" unpack
	echo "$to/scripts"
}

# Passes are kept, so that the next run looks at what has changed and at nothing else.
# $lint_cache/CHECK has a line for each file that passed: a hash of the means (the check itself
# and all that its result depends on besides the file), the file's, and its path.  A failure leaves
# no line, so it is found again; other content, other means or another path make another line.
# DMS_ANEW=1 looks at everything.
lint_cache=${DMS_LINT_CACHE:-$DMS_CACHE/lint}
means=

# means WHAT...: what the result depends on besides the files that anew is given: a tool by
# its name, a file by a path with a slash in it, or =TEXT
means()
{
	print_means()
	{
		local what path
		cat "$lint_dir/lint.sh" "$lint_dir/check-$check" || return
		for what; do
			echo "$what"
			case $what in
			=*) ;;
			*/*) cat "$what" || return ;;
			*)
				path=$(command -v "$what") && cat "$path" || return
				# a driver stays the same when the compiler behind it does not
				"$what" --version 2>&1 </dev/null ;;
			esac
		done
		return 0
	}
	# without one of them there is no telling what a pass would mean: nothing is kept
	means=$(set -o pipefail; print_means "$@" 2>/dev/null | sha256sum | cut -c 1-32) || means=
}

# anew: of the paths that are read, those that are not known to pass.  Once in a check, after means.
anew()
{
	xargs -r -d '\n' sha256sum -- | sed "s/^/$means /" | sort -u >"$scratch/all.keys"
	if [ -n "$means" ] && [ -z "${DMS_ANEW:-}" ] && [ -f "$lint_cache/$check" ]; then
		comm -23 "$scratch/all.keys" <(sort -u "$lint_cache/$check")
	else
		cat "$scratch/all.keys"
	fi >"$scratch/anew.keys"
	sed 's/^[^ ]* [^ ]* .//' "$scratch/anew.keys"
}

# for the verdict
how_many_anew() { echo "$(wc -l <"$scratch/anew.keys") anew"; }

# What anew named has been looked at, and passes but for what $scratch/bad and $scratch/unsure say
# in lines that begin with a file's path and a colon.  One line there without, and nothing is kept.
keep_passes()
{
	local new=$scratch/anew.keys all
	if [ -z "$means" ] || [ ! -s "$new" ]; then
		return 0
	fi
	cat "$scratch/bad" "$scratch/unsure" 2>/dev/null | sed 's/:.*//' | sort -u >"$scratch/not"
	sed 's/^[^ ]* [^ ]* .//' "$new" | sort -u >"$scratch/names"
	[ -z "$(comm -23 "$scratch/not" "$scratch/names")" ] || return 0
	mkdir -p "$lint_cache"
	all=$lint_cache/$check
	if [ -f "$all" ] && [ "$(wc -l <"$all")" -gt 20000 ]; then
		tail -n 5000 "$all" >"$all.$$" && mv "$all.$$" "$all"
	fi
	awk 'FILENAME == ARGV[1] { bad[$0] = 1; next }
		{ name = $0; sub(/^[^ ]* [^ ]* ./, "", name) }
		!(name in bad)' "$scratch/not" "$new" >"$scratch/kept"
	# whole lines in one write: others may be adding theirs
	cat "$scratch/kept" >>"$all"
}

# verdict SEEN WHAT: SEEN things of the kind WHAT were looked at; each line of
# $scratch/bad is a fault that was found
verdict()
{
	local bad
	if [ ! -e "$scratch/bad" ]; then
		echo "not ok lint: $check: did not get to an end"
		exit 1
	fi
	sed 's/^/  /' "$scratch/bad" >&2
	bad=$(wc -l <"$scratch/bad")
	keep_passes
	if [ "$bad" != 0 ]; then
		echo "not ok lint: $check: $bad fault(s) in $1 $2"
		exit 1
	elif [ "$1" = 0 ]; then
		echo "not ok lint: $check: saw nothing to check ($2)"
		exit 1
	fi
	echo "ok lint: $check: $1 $2"
	exit 0
}
