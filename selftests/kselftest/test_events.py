#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What "dmsctl monitor" tells, beside what happens.

Runs as root in a guest with the module, and has a session with its own node, whose
two halves both have events.  Prints KTAP.  How many events there have to be is known
from the counter of those that the module sent.
"""

import contextlib
import errno
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from test_session_hostile import SCALE, connect, counter, hang_up, listen, param, settle, up

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../..')
DMSCTL = os.path.join(TOP, 'build/tools/dmsctl')
ADDR = os.environ.get('DMS_ADDR', '10.77.0.1')
RDMA = os.environ.get('DMS_RDMA', 'rxe0')
PARAMS = '/sys/module/dmastream/parameters/'
LIMIT = 10 * SCALE
NOBODY = 65534
NETLINK_GENERIC = '16'
CTRL_GROUP = 1 << 15        # of nlctrl, which the monitor joins first
TESTS = []


def test(f):
    TESTS.append(f)
    return f


def number(path):
    with open(path) as f:
        return int(f.read())


class Monitor:
    """A dmsctl monitor, and the lines that came so far."""

    def __init__(self, *args, user=None):
        who = {} if user is None else {'user': user, 'group': user, 'extra_groups': []}
        self.p = subprocess.Popen([DMSCTL, 'monitor', *args], stdout=subprocess.PIPE, **who)
        self.json = '--json' in args
        self.rest = b''
        self.lines = []
        end = time.monotonic() + LIMIT
        while not self.listens():
            assert self.p.poll() is None and time.monotonic() < end, 'it does not listen'
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()
        self.p.stdout.close()

    def listens(self):
        with contextlib.suppress(OSError), open(f'/proc/{self.p.pid}/net/netlink') as f:
            for line in f:
                w = line.split()
                if w[1:3] == [NETLINK_GENERIC, str(self.p.pid)] and int(w[3], 16) & ~CTRL_GROUP:
                    return True
        return False

    def read(self, limit):
        """True when something came; False at the end too."""
        if not select.select([self.p.stdout], [], [], max(limit, 0))[0]:
            return False
        data = os.read(self.p.stdout.fileno(), 65536)
        *lines, self.rest = (self.rest + data).split(b'\n')
        self.lines += [json.loads(x) if self.json else x.decode() for x in lines]
        return bool(data)

    def take(self, n):
        """Exactly so many lines, and no more at once."""
        end = time.monotonic() + LIMIT
        while len(self.lines) < n and time.monotonic() < end:
            self.read(end - time.monotonic())
        self.quiet()
        lines, self.lines = self.lines, []
        assert len(lines) == n, f'{len(lines)} lines, not {n}: ' + '; '.join(map(brief, lines))
        return lines

    def quiet(self):
        """Nothing more comes for a while."""
        while self.read(0.3 * SCALE):
            pass

    def none(self):
        self.quiet()
        assert not self.lines, 'seen: ' + '; '.join(map(brief, self.lines))


def brief(e):
    if isinstance(e, str):
        return e
    return f"{e['event']} of {e.get('session')}/{e.get('path')} {e.get('err_class')} {e.get('err_detail')}"


def paths():
    return number(PARAMS + 'qps') + number(PARAMS + 'qps_latency')


def both():
    """Events of a session with ourselves that comes up, or that ends: two halves."""
    return 2 * (1 + paths())


def of_kind(events, kind, session=None):
    return [e for e in events if e['event'] == kind and session in (None, e['session'])]


def ids(events):
    return {e['session'] for e in events}


def host(e):
    return e['peer'].rsplit(':', 1)[0]


def in_order(events):
    """Numbers without a gap, and times that do not go back."""
    for a, b in zip(events, events[1:]):
        assert b['seq'] == a['seq'] + 1, f"{b['seq']} after {a['seq']}"
        assert b['time_ns'] >= a['time_ns'] and b['since_ns'] == b['time_ns'] - a['time_ns'], \
            f"time of {b['seq']}"


def seconds(text):
    """of a wall clock's text"""
    day, ms = text.rstrip('Z').split('.')
    return time.mktime(time.strptime(day, '%Y-%m-%dT%H:%M:%S')) - time.timezone + int(ms) / 1000


def check_up(events):
    assert len(of_kind(events, 'session-up')) == 2 and len(ids(events)) == 2, 'two halves'
    assert {e['role'] for e in of_kind(events, 'session-up')} == {'active', 'passive'}
    # the active half is made for a stream, which waits for it
    assert {(e['role'], e['streams']) for e in of_kind(events, 'session-up')} == \
        {('active', 1), ('passive', 0)}
    for s in ids(events):
        mine = [e for e in events if e['session'] == s]
        assert mine[0]['event'] == 'session-up' and mine[0]['path'] == 0, 'paths come after'
        ups = of_kind(events, 'path-up', s)
        assert sorted(e['index'] for e in ups) == list(range(paths())), 'each path once'
        assert sum(e['lane'] == 'latency' for e in ups) == number(PARAMS + 'qps_latency')
        assert all(e['transport'] == 'rdma' and e['device'] == RDMA and e['path'] for e in ups)
    assert all(host(e) == ADDR for e in events), 'the peer'
    assert all(e['err_class'] == 'none' and e['cause'] == '' for e in events)


def status():
    return json.loads(subprocess.run([DMSCTL, 'status', '--json'], check=True,
                                     stdout=subprocess.PIPE).stdout)


def same_as_status(events):
    st = status()
    assert {(s['id'], s['peer'], s['role']) for s in st['sessions']} == \
        {(e['session'], e['peer'], e['role']) for e in of_kind(events, 'session-up')}
    assert {(p['id'], p['session'], p['lane'], p['device']) for p in st['paths']} == \
        {(e['path'], e['session'], e['lane'], e['device']) for e in of_kind(events, 'path-up')}


def check_down(events, sessions):
    assert ids(events) == sessions
    for s in sessions:
        assert len(of_kind(events, 'session-down', s)) == 1
        assert len({e['path'] for e in of_kind(events, 'path-down', s)}) == paths()


@test
def up_and_down():
    """a session comes up and ends, in order"""
    with Monitor('--json') as m:
        before = {c: counter(c) for c in ('EVENTS', 'SESSIONS_OPENED')}
        begin, wall = time.monotonic_ns(), time.time()
        fds = connect(ADDR, LIMIT)
        came = m.take(both())
        end = time.monotonic_ns()
        check_up(came)
        same_as_status(came)
        assert counter('SESSIONS_OPENED') - before['SESSIONS_OPENED'] == 2
        assert counter('EVENTS') - before['EVENTS'] == len(came), 'counted'
        assert begin < came[0]['time_ns'] and came[-1]['time_ns'] < end, 'times'
        # a millisecond is cut off; the clock may be set, but not in the bed
        off = seconds(came[0]['time']) - (wall + (came[0]['time_ns'] - begin) / 1e9)
        assert abs(off) < 0.1 * SCALE, f'the wall clock is wrong by {off:.3f} s'
        hang_up(fds)
        went = m.take(both())
        check_down(went, ids(came))
        in_order(came + went)
        for e in of_kind(went, 'session-down'):
            assert (e['err_class'], e['err_detail']) == ('session', errno.ESHUTDOWN), brief(e)
            assert e['cause'] == 'closed in order' and e['streams'] == 0
        assert counter('EVENTS') - before['EVENTS'] == 2 * both(), 'counted'


def device_is_back():
    """All addresses are there again."""
    end = time.monotonic() + LIMIT
    gids = f'/sys/class/infiniband/{RDMA}/ports/1/gids/'
    n = 0
    while n < 3:
        assert time.monotonic() < end, f'{RDMA} has {n} addresses'
        time.sleep(0.1)
        n = 0
        for name in os.listdir(gids):
            # those that are not set cannot be read
            with contextlib.suppress(OSError), open(gids + name) as f:
                n += f.read().strip(':0\n') != ''


@test
def device_goes():
    """the device goes under a stream: class, detail, and how many streams"""
    with Monitor('--json') as m:
        fds = connect(ADDR, LIMIT)
        came = m.take(both())
        subprocess.run(['rdma', 'link', 'delete', RDMA], check=True, timeout=LIMIT)
        went = m.take(both())
    hang_up(fds)
    subprocess.run(['rdma', 'link', 'add', RDMA, 'type', os.environ.get('DMS_NIC', 'rxe'),
                    'netdev', 'eth0'], check=True)
    device_is_back()
    check_down(went, ids(came))
    in_order(came + went)
    for e in of_kind(went, 'path-down'):
        assert (e['err_class'], e['err_detail']) == ('device', errno.ENODEV), brief(e)
        assert e['cause'].startswith('the RDMA device went'), e['cause']
    for s in ids(came):
        assert sum(e['streams'] for e in of_kind(went, 'path-down', s)) == 1, 'one stream on one path'
    ends = of_kind(went, 'session-down')
    # one half hears of the device, the other perhaps of its peer's end before that
    assert any((e['err_class'], e['err_detail']) == ('device', errno.ENODEV) for e in ends)
    assert all(e['err_class'] in ('device', 'session') and e['err_detail'] for e in ends)


@test
def peer_lost():
    """a peer that says no more, and one that hangs up"""
    with Monitor('--json') as m, param('keepalive_ms', 200), param('peer_lost_ms', 600):
        losses = counter('KEEPALIVE_LOSSES')
        with up():
            came = m.take(3)
        assert [e['event'] for e in came] == ['session-up', 'peer-lost', 'session-down'], came
        assert len(ids(came)) == 1 and all(host(e) == '127.0.0.1' for e in came)
        assert all((e['err_class'], e['err_detail']) == ('session', errno.ETIMEDOUT)
                   for e in came[1:])
        assert counter('KEEPALIVE_LOSSES') - losses == 1
        took = came[1]['time_ns'] - came[0]['time_ns']
        assert 0.5e9 < took < 2e9 * SCALE, f'given up after {took / 1e9:.3f} s'
        with up():
            pass
        came = m.take(2)
        assert [e['event'] for e in came] == ['session-up', 'session-down'], came
        assert counter('KEEPALIVE_LOSSES') - losses == 1


@test
def namespaces():
    """events of another network namespace are not seen, either way"""
    with Monitor('--json') as m:
        inner = subprocess.Popen(['unshare', '-n', sys.executable, __file__, 'inner'],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert inner.stdout.readline() == 'listens\n'
            with up():
                pass
            m.take(2)
            sent = counter('EVENTS')
            inner.stdin.write('go\n')
            inner.stdin.flush()
            said = inner.stdout.readline()
            assert said == 'saw 2\n', said
            assert counter('EVENTS') - sent == 2, 'none was sent'
            m.none()
        finally:
            inner.stdin.close()
            status = inner.wait()
            inner.stdout.close()
        assert status == 0, status


def in_namespace():
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    fd = listen()
    with Monitor('--json') as m:
        print('listens', flush=True)
        assert sys.stdin.readline() == 'go\n'
        m.none()
        with up():
            pass
        came = m.take(2)
        assert [e['event'] for e in came] == ['session-up', 'session-down'], came
        # a namespace counts for itself
        assert came[0]['seq'] == 1, came
        print(f'saw {len(came)}', flush=True)
        sys.stdin.readline()
    os.close(fd)


@test
def unprivileged():
    """any user may listen"""
    with Monitor('--json', user=NOBODY) as m:
        with up():
            pass
        m.take(2)


@test
def nobody_listens():
    """then nothing is sent"""
    sent = counter('EVENTS')
    for _ in range(3):
        with up():
            pass
    settle(0, 10)
    assert counter('EVENTS') == sent


LINE = re.compile(r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +(-|\+\d+\.\d{3})  (\S+) +session \d+ '
                  r'\((active|passive)\) with ([\d.]+):\d+')


@test
def text():
    """lines for people"""
    with Monitor() as m:
        fds = connect(ADDR, LIMIT)
        came = m.take(both())
        hang_up(fds)
        went = m.take(both())
    for n, line in enumerate(came + went):
        got = LINE.match(line)
        assert got and got[4] == ADDR and (got[1] == '-') == (n == 0), line
    for line in came:
        assert re.search(r'path \d+ \((bulk|latency) lane, index \d, rdma on ' + RDMA + r'\)$', line) \
            or re.search(r'  session-up .*:\d+(, 1 stream)?$', line), line
    ends = [x for x in went if 'session-down' in x]
    assert len(ends) == 2 and all(x.endswith(': session: closed in order') for x in ends), ends
    assert sum('path-down' in x for x in went) == 2 * paths()


def run(*args):
    begin = time.monotonic()
    p = subprocess.run([DMSCTL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stdout, p.stderr, time.monotonic() - begin


@test
def ends():
    """--count and --timeout, and what they do not take"""
    with Monitor('--json', '--count', '3', '--timeout', '600') as m:
        with up(), up():
            pass
        m.take(3)
        assert m.p.wait(LIMIT) == 0
    status, out, err, took = run('monitor', '--count', '2', '--timeout', '1')
    assert status == 1 and not out and took >= 1 and '0 of 2 events' in err, (status, out, err, took)
    status, out, err, took = run('monitor', '--json', '--timeout', '1')
    assert status == 0 and not out and not err and took >= 1, (status, out, err, took)
    for wrong in (('monitor', '--count', '0'), ('monitor', '-n', '-1'), ('monitor', '-t', '1x'),
                  ('monitor', '-t', ''), ('status', '-n', '1'), ('counters', '-t', '1')):
        status, out, err, took = run(*wrong)
        assert status == 2 and err and not out, (wrong, status)


@contextlib.contextmanager
def little_room():
    """for what waits in a socket"""
    rmem = '/proc/sys/net/core/rmem_max'
    old = number(rmem)
    with open(rmem, 'w') as f:
        f.write('2304\n')
    try:
        yield
    finally:
        with open(rmem, 'w') as f:
            f.write(f'{old}\n')


@test
def lost():
    """who does not read loses events, is told so, and goes on"""
    with little_room(), Monitor('--json') as m:
        sent = counter('EVENTS')
        m.p.send_signal(signal.SIGSTOP)
        for _ in range(8):
            with up():
                pass
        settle(0, 10)
        sent = counter('EVENTS') - sent
        m.p.send_signal(signal.SIGCONT)
        m.quiet()
        # the next one tells how many there were
        with up():
            pass
        m.quiet()
    events = [e for e in m.lines if e['event'] != 'lost']
    losses = [e['count'] for e in m.lines if e['event'] == 'lost']
    print(f'# {len(events)} events, lost {losses}')
    assert sent == 16, sent
    assert len(losses) == 2 and losses[0] == 0 and losses[1] > 0, losses
    assert len(events) + losses[1] == sent + 2
    assert [e['event'] for e in events[-2:]] == ['session-up', 'session-down']


def main():
    if sys.argv[1:] == ['inner']:
        in_namespace()
        return 0
    fd = listen()
    failed = 0
    print('KTAP version 1')
    print(f'1..{len(TESTS)}')
    # the session that a test leaves ends soon, so that the next one has its own
    with param('session_idle_ms', 300):
        for n, t in enumerate(TESTS, 1):
            begin = time.monotonic()
            verdict = 'ok'
            try:
                settle(0, 10)
                t()
            except (AssertionError, OSError, subprocess.SubprocessError) as e:
                print(f'# {type(e).__name__}: {e}')
                tb = e.__traceback__
                while tb:
                    print(f'#   line {tb.tb_lineno} in {tb.tb_frame.f_code.co_name}')
                    tb = tb.tb_next
                verdict = 'not ok'
                failed += 1
            print(f'{verdict} {n} {t.__name__}  # {time.monotonic() - begin:.1f} s', flush=True)
    os.close(fd)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
