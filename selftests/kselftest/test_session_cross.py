#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Two nodes that connect to each other at the same moment, processes that are killed, and a node that freezes.

Runs as root on both of two guests with the module.  Prints KTAP.

cross    each side opens a stream to the other at once, over and over, with
         sessions that end in between: usable in 5 s each time, and all streams of
         both sides share one session (case 5)
killed   a process is killed with a stream open, over and over: the next one connects
         in 5 s each time (case 5)
frozen   one node is frozen: the other gives its session up after peer_lost_ms;
         when it is back, a connect works in 5 s
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from test_session_hostile import QUICK, SCALE, connect, counter, hang_up, listen, param, sessions

NODE = int(os.environ['DMS_NODE'])
PEER = os.environ['DMS_PEERS'].split()[0]
PEER6 = os.environ['DMS_PEERS6'].split()[0]
SYNC = 7999


class Other:
    """The program on the other node: both come to each meeting."""

    def __init__(self):
        if NODE == 0:
            with socket.create_server(('', SYNC)) as s:
                s.settimeout(60 * SCALE)
                self.s = s.accept()[0]
        else:
            end = time.monotonic() + 60 * SCALE
            while True:
                try:
                    self.s = socket.create_connection((PEER, SYNC), timeout=10)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.1)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.s.settimeout(120 * SCALE)

    def meet(self):
        self.s.sendall(b'.')
        if self.s.recv(1) != b'.':
            sys.exit('# the other node has gone')


def until(done, limit):
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def cross(other):
    two = 0
    slowest = 0
    for i in range(10 if QUICK else 500):
        # every third time one side uses another family, so that only nonces tell
        host = PEER6 if i % 3 == 2 and NODE == 1 else PEER
        other.meet()
        begin = time.monotonic()
        streams = [connect(host, 5 * SCALE)]
        slowest = max(slowest, time.monotonic() - begin)
        streams.append(connect(host, 5 * SCALE))
        other.meet()
        two += sessions() > 1
        other.meet()
        for fds in streams:
            hang_up(fds)
        assert until(lambda: not sessions(), 10 * SCALE), f'round {i}: {sessions()} sessions do not end'
    print(f'# slowest connect {slowest:.2f} s; rounds with two sessions: {two}')
    assert slowest < 5 * SCALE
    assert two == 0, f'{two} rounds left two sessions'


def timed_connect():
    begin = time.monotonic()
    fds = connect(PEER, 5 * SCALE)
    return fds, time.monotonic() - begin


def stream_that_dies():
    """A process with a stream, which is killed."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        with contextlib.suppress(OSError):
            connect(PEER, 5 * SCALE)
            os.write(w, b'.')
            signal.pause()
        os._exit(1)
    os.close(w)
    up = os.read(r, 1)
    os.close(r)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert up == b'.', 'it has no stream'


def killed(other):
    other.meet()
    slowest = 0
    rounds = 20 if QUICK else 200
    resets = counter('RESETS_RX')
    for _ in range(rounds if NODE == 0 else 0):
        stream_that_dies()
        fds, took = timed_connect()
        slowest = max(slowest, took)
        hang_up(fds)
    other.meet()
    if NODE == 0:
        print(f'# slowest connect {slowest:.2f} s')
        assert slowest < 5 * SCALE
    else:
        resets = counter('RESETS_RX') - resets
        assert resets >= rounds, f'{resets} streams were reset, of {2 * rounds}'


def frozen(other):
    other.meet()
    if NODE == 1:
        # freezes between these two
        other.meet()
        return
    fds = connect(PEER, 5 * SCALE)
    lost = int(open('/sys/module/dmastream/parameters/peer_lost_ms').read()) / 1000
    time.sleep(2)
    # the stream has the session's memory until its handle is closed, so count the ends
    losses, ends = counter('KEEPALIVE_LOSSES'), counter('SESSIONS_CLOSED')
    subprocess.run(['dms-host', 'pause', '1'], check=True)
    begin = time.monotonic()
    try:
        assert until(lambda: counter('KEEPALIVE_LOSSES') > losses, lost * 2 + 5 * SCALE), \
            'a frozen peer is never given up'
        took = time.monotonic() - begin
        assert until(lambda: counter('SESSIONS_CLOSED') > ends, 5 * SCALE), 'its end hangs'
    finally:
        subprocess.run(['dms-host', 'resume', '1'], check=True)
    print(f'# given up after {took:.2f} s')
    assert took < lost * 1.2 + SCALE, f'{took:.2f} s, peer_lost_ms is {lost * 1000:.0f}'
    hang_up(fds)
    begin = time.monotonic()
    hang_up(connect(PEER, 10 * SCALE))
    assert time.monotonic() - begin < 5 * SCALE
    other.meet()


def main():
    fd = listen()
    other = Other()
    tests = (cross, killed, frozen)
    failed = 0
    print('KTAP version 1')
    print(f'1..{len(tests)}')
    with param('session_idle_ms', 200):
        for n, t in enumerate(tests, 1):
            try:
                t(other)
                print(f'ok {n} {t.__name__}', flush=True)
            except (AssertionError, OSError, subprocess.CalledProcessError) as e:
                print(f'# {type(e).__name__}: {e}')
                print(f'not ok {n} {t.__name__}', flush=True)
                failed += 1
                break
    os.close(fd)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
