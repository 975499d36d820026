#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: check-symvers.sh [-h] KDIR [ROOT]
#
# Is the kernel's own RDMA stack the one that will be loaded?  Other stacks
# (MLNX_OFED, DOCA, a distribution's backport) bring their own ib_core, with
# other symbol versions and other structures.  A module that was linked against
# the kernel's Module.symvers then does not load, or does, and breaks.
#
# Looks for: an ofa_kernel source tree with a Module.symvers, and an ib_core
# module outside the kernel's own directory (updates/, extra/, weak-updates/,
# dkms).  Silent and 0 when there is none; else says what was found and what to do, and
# fails, unless KBUILD_EXTRA_SYMBOLS names the other stack's Module.symvers, or
# OFED=ignore says to go on.  ROOT is put before every absolute path looked at.
set -u
case ${1:-} in
'' | -h | --help) sed -n '4,18s/^# \?//p' "$0"; exit 2 ;;
esac
kdir=$1
root=${2:-}

[ "${OFED:-}" != ignore ] || exit 0

release=
if [ -r "$kdir/include/config/kernel.release" ]; then
	read -r release <"$kdir/include/config/kernel.release"
fi

# The version of ib_register_client() in a Module.symvers stands for the stack's.
crc()
{
	awk '$2 == "ib_register_client" { print $1; exit }' "$1" 2>/dev/null
}

found=() symvers=()
for tree in "$root"/usr/src/ofa_kernel/*/"$release" "$root"/usr/src/ofa_kernel/default \
		"$root"/usr/src/ofa_kernel "$root"/usr/src/mlnx-ofed-kernel*; do
	file=$tree/Module.symvers
	if [ -r "$file" ] && [ "$(crc "$file")" != "$(crc "$kdir/Module.symvers")" ]; then
		found+=("$file (its ib_register_client differs from the kernel's)")
		symvers+=("$file")
	fi
done
if [ -n "$release" ]; then
	while read -r file; do
		found+=("$file")
	done < <(find "$root/lib/modules/$release" -path '*/kernel/drivers/*' -prune -o \
		\( -name 'ib_core.ko' -o -name 'ib_core.ko.*' \) -print 2>/dev/null)
fi
[ ${#found[@]} -gt 0 ] || exit 0

# Given the right table the link is right.
for file in "${symvers[@]}"; do
	case " ${KBUILD_EXTRA_SYMBOLS:-} " in *" $file "*) exit 0 ;; esac
done

{
	echo "check-symvers: error: another RDMA stack than that of kernel ${release:-in $kdir} is installed:"
	printf '    %s\n' "${found[@]}"
	echo "  dmastream.ko would be linked against the kernel's ib_core and loaded beside the other one."
	echo "  try one of:"
	if [ ${#symvers[@]} -gt 0 ]; then
		echo "    make modules KBUILD_EXTRA_SYMBOLS=${symvers[0]} \\"
		echo "        KCPPFLAGS=-I$(dirname "${symvers[0]}")/include     link against that stack"
	else
		echo "    install the development package of that stack, and name its Module.symvers in KBUILD_EXTRA_SYMBOLS"
	fi
	echo "    make modules KDIR=...                  build for a kernel without it"
	echo "    make modules OFED=ignore               go on: the kernel's own stack will be loaded"
} >&2
exit 1
