#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each benchmark of dmsperf, briefly, in one guest.  Prints KTAP.

  test_dmsperf.py                   over the module
  test_dmsperf.py PROGRAM           a program of selftests/bench, over this host's lo

Shown is that figures are there and go together, that the bytes were right (--check),
and by the module's counters that they went the way that they should.  How large the
figures are is nothing for a test: see selftests/bench.
"""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

TOOLS = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../build/tools')
MODULE = len(sys.argv) < 2
PROGRAM = os.path.join(TOOLS, 'dmsperf') if MODULE else sys.argv[1]
HOST = os.environ['DMS_ADDR'] if MODULE else '127.0.0.1'
LIMIT = 60 * float(os.environ.get('DMS_TIMEOUT_SCALE') or 1)
MIB = 1 << 20
passed = failed = 0


def result(good, what, why=''):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good and why:
        print('# ' + str(why).replace('\n', '\n# '))
    print(f'{"ok" if good else "not ok"} {passed + failed} - {what}', flush=True)
    return good


def dmsperf(*args):
    """Status, standard output and standard error."""
    r = subprocess.run([PROGRAM, *args], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    return r.returncode, r.stdout, r.stderr


def counters():
    if not MODULE:
        return None
    text = subprocess.run([os.path.join(TOOLS, 'dmsctl'), 'counters', '--json', '--all'],
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    doc = json.loads(text)
    return doc.get('counters', doc)


def by_module(what, name, before, after, least, below):
    """A counter of the module, which has to have moved so far."""
    if MODULE:
        moved = after[name] - before[name]
        result(least <= moved < below, what, f'{name}: {moved}')


def latencies_in_order(row):
    """Lowest to highest, and null only with a reason."""
    names = ('min_us', 'p50_us', 'p90_us', 'p95_us', 'p99_us', 'p99.9_us', 'max_us')
    known = [row[n] for n in names if row[n] is not None]
    unsaid = [n for n in names if row[n] is None and not row.get(n + '_why')]
    return known == sorted(known) and known[0] > 0 and not unsaid and \
        row['min_us'] <= row['mean_us'] <= row['max_us']


def rows_of(name, *args):
    """The rows of a run with --json and --check, or None; one result."""
    status, out, err = dmsperf(name, *args, '--json', '--check', HOST)
    try:
        doc = json.loads(out)
        rows = doc['rows']
    except (ValueError, KeyError) as e:
        result(False, f'{name}: JSON', f'{e}: status {status}: {out}{err}')
        return None
    good = status == 0 and doc['test'] == name and doc['transport'] == ('dmastream' if MODULE else 'tcp') and rows
    return rows if result(good, f'{name}: ends well, and its JSON parses', out + err) else None


def flows():
    before = counters()
    rows = rows_of('bw', '-s', '1m', '-n', '40', '-t', '8')
    after = counters()
    if rows:
        r = rows[0]
        result(r['bytes'] == MIB and r['ops'] == 40 and r['bw_MBps'] > 0 and r['rate_kmsgps'] > 0, 'bw: its figures', r)
        by_module('bw: by RDMA READ', 'rdma_rx_bytes', before, after, 40 * MIB, 80 * MIB)
    rows = rows_of('rate', '-n', '2000', '-q', '4', '--procs', '2', '-l', '8')
    before, after = after, counters()
    if rows:
        result(rows[0]['ops'] == 4000 and rows[0]['streams'] == 8, 'rate: all messages of all processes', rows)
        by_module('rate: in packets', 'eager_rx_bytes', before, after, 4000 * 64, 8000 * 64)
    before = counters()
    if rows_of('rate', '-n', '2000', '-q', '4', '-l', '8', '--sqpoll=5000'):
        by_module('rate --sqpoll: a thread of the kernel submits', 'polled_sqes', before, counters(), 100, 4000)
    rows = rows_of('bw', '-s', '64k', '-n', '50', '-b')
    if rows:
        r = rows[0]
        # each message and each answer has 16 words, and the warm-up comes on top; this
        # end sees the answers
        result(r['checked'] >= 50 * 16 and r['ops'] == 50, 'bw -b: the bytes of the answers were right', r)
    rows = rows_of('incast', '--procs', '4', '-n', '10', '-s', '256k')
    if rows:
        r = rows[0]
        result(r['procs'] == 4 and 0 < r['slowest_MBps'] <= r['fastest_MBps'] and 0.25 <= r['fairness'] <= 1,
               'incast: its figures', r)
    rows = rows_of('streams', '-q', '100', '-n', '500', '-s', '4k')
    if rows:
        result([r['streams'] for r in rows] == [1, 100] and rows[0]['ratio'] == 1 and rows[1]['ratio'] > 0,
               'streams: one, then all', rows)


def one_by_one():
    rows = rows_of('lat', '-s', '64', '-n', '1200')
    if rows:
        r = rows[0]
        result(r['ops'] == 1200 and latencies_in_order(r), 'lat: its figures', r)
        result(r['p99_us'] is not None and r['p99.9_us'] is None, 'lat: no P99.9 of 1,200 samples', r)
    before = counters()
    rows = rows_of('connect', '-n', '50')
    after = counters()
    if rows:
        result(rows[0]['ops'] == 50 and latencies_in_order(rows[0]), 'connect: its figures', rows)
        # both ends are here, and each counts
        by_module('connect: streams', 'streams_opened', before, after, 50, 200)
        by_module('connect: of one session', 'sessions_opened', before, after, 0, 3)


def open_loops():
    rows = rows_of('fetch', '-s', '16k', '-n', '200', '--load', '30,60')
    if rows:
        result([r['load_percent'] for r in rows] == [100, 30, 60] and all(latencies_in_order(r) for r in rows),
               'fetch: the capacity, and parts of it', rows)
        result(0 < rows[1]['achieved_ops'] < rows[0]['achieved_ops'], 'fetch: the load is below the capacity', rows)
    rows = rows_of('fetch', '--rows', '32', '--fanout', '4', '-n', '100', '--rate', '100', '--arrivals', 'gamma')
    if rows:
        r = rows[0]
        result(r['ops'] == 100 and r['streams'] == 4 and latencies_in_order(r), 'fetch: rows from four servers', r)
    rows = rows_of('push', '--procs', '4', '-s', '64k', '-n', '20', '--rate', '100')
    if rows:
        r = rows[0]
        result(r['ops'] == 80 and latencies_in_order(r), 'push: its figures', r)
        # twenty bursts, one each 40 ms, however long they take
        result(0.7 <= r['ops'] / r['achieved_ops'] < 3, 'push: at its rate', r)


def fetch_with_stall(before):
    """All of the client stops for a second, so many seconds after its start; its row."""
    with subprocess.Popen([PROGRAM, 'fetch', '-s', '4k', '--rate', '60', '-D', '4', '--json', HOST],
                          stdout=subprocess.PIPE, text=True, start_new_session=True) as client:
        time.sleep(before)
        os.killpg(client.pid, signal.SIGSTOP)
        time.sleep(1)
        os.killpg(client.pid, signal.SIGCONT)
        out = client.communicate(timeout=LIMIT)[0]
    return json.loads(out)['rows'][0]


def stalled():
    """Each fetch that should have begun in a stall of the client is late by the rest of it, a
    quarter of all; counted from when it really began, only those in flight would be."""
    for before in (1, 2, 4):        # when it is connected and warm is not known here
        row = fetch_with_stall(before)
        good = row['p90_us'] >= 150e3 and row['p50_us'] < row['p90_us'] / 2
        if good:
            break
    result(good, 'fetch: a stall counts against each fetch that should have begun in it', row)


def output():
    status, out, err = dmsperf('lat', '-a', '-n', '3', '--warmup', '1', '--csv', HOST)
    rows = list(csv.DictReader(io.StringIO(out)))
    result(status == 0 and [int(r['bytes']) for r in rows] == [2 << i for i in range(23)], 'lat -a: all sizes, as CSV', out + err)
    status, out, err = dmsperf('lat', '-n', '20', HOST)
    lines = out.splitlines()
    result(status == 0 and lines[0].split()[:2] == ['bytes', 'ops'] and len(lines[0].split()) == len(lines[1].split()) and
           any('p99.9_us: n/a' in x for x in lines), 'text: a figure below each name, and why one is missing', out + err)


def failures():
    for args, what in ((('bw', '-n', '0', HOST), 'no messages'), (('nothing', HOST), 'no such test'),
                       (('bw', '-s', 'x', HOST), 'a size that is none'), (('bw', HOST, HOST), 'two hosts'), ((), 'no test')):
        status, out, err = dmsperf(*args)
        result(status == 2 and err and not out, f'wrong usage: {what}', (status, out, err))
    status, out, err = dmsperf('lat', '--service=nobody', HOST)
    result(status == 1 and (not MODULE or 'nobody' in err), 'a service that is not there', (status, out, err))


def main():
    with subprocess.Popen([PROGRAM, 'server', '--check'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as server:
        if not result(server.stdout.readline() == 'ready\n', 'the server is ready'):
            return 1
        try:
            for part in (flows, one_by_one, open_loops, stalled, output, failures):
                part()
        except subprocess.TimeoutExpired as e:
            result(False, 'ends in time', e)
        server.send_signal(signal.SIGTERM)
        text = server.stderr.read()
        right = [int(line.split()[2]) for line in text.splitlines() if line.endswith('words were right')]
        result(server.wait() == 0 and right and right[0] > 40 * 256, 'the server has seen only right bytes', text)
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
