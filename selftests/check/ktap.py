#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Read KTAP, as the kernel's log or a program prints it, and give its results.

  ktap.py SUITE [FILE]     print "ok SUITE: NAME" and so on for each leaf; exit
                           1 when one failed, none was seen, or one is missing
"""

import re
import sys

STAMP = re.compile(r'^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? ')
RESULT = re.compile(r'^( *)(not ok|ok) \d+(?: - | )?(.*)$')
PLAN = re.compile(r'^( *)1\.\.(\d+)')
SUBTEST = re.compile(r'^( *)# Subtest: (.*)$')


def read(lines):
    """List of (kind, name) for the leaves; kind is ok, not ok or skip."""
    results = []
    names = {}          # indent -> name of the suite that is open there
    plans = {}          # indent -> [announced, seen]
    nested = {}         # indent -> did a result come from deeper since the last one here

    def close(deeper_than):
        for d in [d for d in plans if d > deeper_than]:
            want, seen = plans.pop(d)
            if seen != want:
                results.append(('not ok', f'{names.get(d, "?")}: {seen} results of {want} announced'))
        for table in (names, nested):
            for d in [d for d in table if d > deeper_than]:
                del table[d]

    for line in lines:
        line = STAMP.sub('', line.rstrip('\n'))
        if m := SUBTEST.match(line):
            names[len(m.group(1))] = m.group(2)
        elif m := PLAN.match(line):
            plans[len(m.group(1))] = [int(m.group(2)), 0]
        elif m := RESULT.match(line):
            d, word, name = len(m.group(1)), m.group(2), m.group(3)
            name, _, directive = name.partition(' # ')
            had_nested, failed_inside = nested.get(d, (False, False))
            close(d)
            if d in plans:
                plans[d][1] += 1
            nested.pop(d, None)
            for up in (u for u in range(d) if u % 4 == 0):
                was = nested.get(up, (False, False))
                nested[up] = (True, was[1] or word == 'not ok')
            if had_nested and (word == 'ok' or failed_inside):
                continue        # only sums up what was counted already
            if directive.upper().startswith('SKIP'):
                word = 'skip'
                name += f' # {directive}'
            path = [names[k] for k in sorted(names) if k <= d and k > 0] + [name]
            results.append((word, ': '.join(path)))
    close(-1)
    return results


def main(argv):
    if len(argv) < 2 or argv[1] in ('-h', '--help'):
        print(__doc__.strip())
        return 2
    with open(argv[2], errors='replace') if len(argv) > 2 else sys.stdin as f:
        results = read(f)
    for kind, name in results:
        print(f'{kind} {argv[1]}: {name}')
    if not results:
        print(f'not ok {argv[1]}: no test result was seen')
    return 0 if results and all(k != 'not ok' for k, _ in results) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv))
