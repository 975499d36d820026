# SPDX-License-Identifier: GPL-2.0-only
"""The aims, and whether what was measured reaches them."""

import json
import os

MIB = 1 << 20
LOADS = (30, 50, 70, 90)
FETCH_AIMS = (('mean', 1 - .357), ('p99', 1 - .437), ('cpu', 1 - .1069))
PUSH_AIMS = (('p99', 1 - .74),)
RIVALS = ('tcp, cubic', 'tcp, dctcp')


class Figures:
    """Of summary.csv, by bench, subject and size."""

    def __init__(self, rows):
        self.rows = rows

    def value(self, bench, subject, size, streams=None):
        for r in self.rows:
            if (r['bench'], r['subject'], int(r['size'])) == (bench, subject, size) and r['value'] and \
                    streams in (None, int(r['streams'])):
                return float(r['value'])
        return None

    def best(self, bench, subjects, size):
        """The largest one, with whose it is."""
        have = [(self.value(bench, s, size), s) for s in subjects]
        have = [h for h in have if h[0] is not None]
        return max(have) if have else (None, ' or '.join(subjects))

    def least(self, bench, subjects, size):
        """The smallest one, with whose it is."""
        have = [(self.value(bench, s, size), s) for s in subjects]
        have = [h for h in have if h[0] is not None]
        return min(have) if have else (None, ' or '.join(subjects))

    def why(self, bench, subject):
        for r in self.rows:
            if r['bench'].startswith(bench) and r['subject'] == subject and r['note']:
                return r['note']
        return 'not measured'


def cost_of(path):
    """Rows of make cost by (size, streams, batch), or nothing."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding='ascii') as f:
        doc = json.load(f)
    if doc['nic'] != 'hwsim':
        return {}
    return {(r['size'], r['streams'], r['batch']): r for r in doc['rows']}


def line(name, ours, theirs, against, unit, want, ratio, aim, at_least):
    """A row; @want is the aim in words."""
    if ours is None or theirs is None:
        missing = 'dmastream' if ours is None else against
        return (name, against, want, f'no figure of {missing}', 'unknown')
    good = ratio >= aim if at_least else ratio <= aim
    return (name, against, want, f'{ours:.5g} against {theirs:.5g} {unit}: {ratio:.3f} x', 'reached' if good else 'short')


def compare(name, ours, theirs, against, unit, aim, at_least=True):
    ratio = ours / theirs if ours is not None and theirs else 0
    word = 'at least' if at_least else 'at most'
    return line(name, ours, theirs, against, unit, f'{word} {aim:g} x', ratio, aim, at_least)


def bandwidth(f):
    out = []
    for size, name, aim in ((MIB, '1 MiB', 0.98), (65536, '64 KiB', 0.90)):
        theirs, who = f.best('bw', ('ib_read_bw', 'ib_write_bw'), size)
        ours = f.value('bw', 'dmastream', size)
        out.append(compare(f'bandwidth {name}', ours, theirs, who, 'MB/s', aim))
        # the aim does not name it, but where it is faster than those two, that has to be seen
        out.append(compare(f'bandwidth {name}', ours, f.value('bw', 'ib_send_bw -e', size), 'ib_send_bw -e', 'MB/s', aim))
    return out


def rate(f):
    ours = f.value('rate', 'dmastream', 64, 16)
    plain, who = f.best('rate', ('ib_send_bw', 'ib_send_bw -e'), 64)
    lists, who_lists = f.best('rate', ('ib_send_bw, post lists', 'ib_send_bw -e, post lists'), 64)
    return [compare('rate 64 B, 16 streams of 4 processes', ours, plain, who, 'kmsg/s', 4),
            compare('rate 64 B, 16 streams of 4 processes', ours, lists, who_lists, 'kmsg/s', 1.5)]


def latency(f):
    ours = f.value('lat', 'dmastream', 64)
    return [compare('ping-pong 64 B, sleeping', ours, f.value('lat', who, 64), who, 'us', aim, False)
            for who, aim in (('ib_send_lat -e', 0.9), ('rsockets', 0.7), ('rds', 0.7))]


def connect(f):
    ours = f.value('connect', 'dmastream', 0)
    half = f.value('lat', 'dmastream', 64)
    return [compare('stream open, warm session', ours, f.value('connect', 'rdma_cm, with its QP', 0), 'rdma_cm, with its QP', 'us',
                    0.2, False),
            compare('stream open, warm session', ours, 2 * half if half else None, 'one ping-pong round trip', 'us', 1.2, False)]


def streams(f):
    ratio = f.value('streams', 'dmastream', 65536)
    return [line('1,000 streams, the same bytes', ratio, 1.0, 'one stream', 'of its bandwidth', 'at least 0.95 x', ratio or 0, 0.95, True)]


def open_loop(f, what, name, size, aims, rivals=('tcp',)):
    """Against the better one of RIVALS."""
    out = []
    for load in LOADS:
        for figure, aim in aims:
            bench = f'{what}_{figure} at {load} %'
            ours = f.value(bench, 'dmastream', size)
            theirs, who = f.least(bench, rivals, size)
            if ours is None and theirs is None:
                continue
            out.append(compare(f'{name}, {figure} at {load} %', ours, theirs, who, 'us', aim, False))
    return out or [(name, rivals[0], '', f.why(what, 'dmastream'), 'unknown')]


def instructions(cost):
    small, one, two = cost.get((64, 1, 32)), cost.get((MIB, 1, 4)), cost.get((2 * MIB, 1, 4))
    per = small and small['dmastream_per_direction']
    out = [line('instructions of a 64 B message and direction, hwsim', per, 900.0, 'the aim', 'instructions', 'at most 900',
                (per or 0) / 900, 1, False)]
    first = one and one['owners']['dmastream']
    extra = two['owners']['dmastream'] - first if one and two else None
    # an extra MiB that cost as much as a whole message would cost more than its segments
    ratio = extra / first if extra is not None else 0
    out.append(line('instructions of an extra MiB, hwsim, both directions', extra, first, 'a whole message of 1 MiB', 'instructions',
                    'only its segments', ratio, 0.999, False))
    return out


def table(rows, cost):
    f = Figures(rows)
    lines = [*bandwidth(f), *rate(f), *latency(f), *connect(f), *streams(f),
             *open_loop(f, 'fetch', 'parameter fetch 4 KiB', 4096, FETCH_AIMS),
             *open_loop(f, 'fetch', 'parameter fetch 64 KiB', 65536, FETCH_AIMS),
             *open_loop(f, 'push', 'parameter push 1 MiB, 16 to 1', MIB, PUSH_AIMS),
             *open_loop(f, 'wirefetch', 'parameter fetch 4 KiB, hwsim', 4096, FETCH_AIMS, RIVALS),
             *open_loop(f, 'wirefetch', 'parameter fetch 64 KiB, hwsim', 65536, FETCH_AIMS, RIVALS),
             *open_loop(f, 'wirepush', 'parameter push 1 MiB, 16 to 1, hwsim', MIB, PUSH_AIMS, RIVALS),
             *instructions(cost)]
    heads = ('what', 'against', 'aim', 'measured', '')
    width = [max(len(row[i]) for row in (heads, *lines)) for i in range(5)]
    return ''.join('  '.join(c.ljust(w) for c, w in zip(row, width)).rstrip() + '\n' for row in (heads, *lines))
