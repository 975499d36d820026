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
