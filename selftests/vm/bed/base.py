# SPDX-License-Identifier: GPL-2.0-only
"""Where things are, how errors are told, locks between runs."""

import contextlib
import fcntl
import os
import random
import sys
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '../../..'))
BUILD = os.environ.get('DMS_BUILD') or os.path.join(TOP, 'build')
CACHE = os.environ.get('DMS_CACHE') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'dmastream')


class BedError(Exception):
    """Something that the person who runs this can do something about."""

    def __init__(self, what, hint=None):
        super().__init__(what)
        self.hint = hint


def say(text):
    print('vm: ' + text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def lock(name):
    """Hold $DMS_CACHE/lock/NAME; says so if another run has it."""
    path = os.path.join(CACHE, 'lock', name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'a') as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f'waiting for another run (lock {path})')
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def places(guests):
    """Hold a place for each of GUESTS, or all that there are: DMS_GUESTS=N lets the runs of one
    build directory have N guests at a time.

    A run takes all of its places or none, so that none waits for another for ever; one that
    needs few may overtake one that needs many.
    """
    limit = int(os.environ.get('DMS_GUESTS') or 0)
    where = os.path.join(BUILD, 'lock')
    if limit:
        os.makedirs(where, exist_ok=True)
    held = []
    try:
        while len(held) < min(guests, limit):
            for f in held:
                f.close()
            held = []
            for n in range(limit):
                f = open(os.path.join(where, f'guest.{n}'), 'a')
                try:
                    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    held.append(f)
                except BlockingIOError:
                    f.close()
                if len(held) == min(guests, limit):
                    break
            else:
                for f in held:
                    f.close()
                held = []
                time.sleep(0.2 + 0.2 * random.random())
        yield
    finally:
        for f in held:
            f.close()


@contextlib.contextmanager
def turn(runs):
    """Hold one of RUNS turns: more guests than that at once only slow each other
    down until their time limits pass."""
    where = os.path.join(CACHE, 'lock')
    os.makedirs(where, exist_ok=True)
    files = [open(os.path.join(where, f'turn.{n}'), 'a') for n in range(runs)]

    def take():
        for f in files:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                pass
        return False

    try:
        # the one at the head of the queue looks for a turn, the others wait for its place
        with open(os.path.join(where, 'turn.queue'), 'a') as queue:
            told = False
            try:
                fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f'waiting in the queue for a turn ({runs} runs of guests at a time; DMS_RUNS=N allows N)')
                told = True
                fcntl.flock(queue, fcntl.LOCK_EX)
            while not take():
                if not told:
                    say(f'waiting for a turn: {runs} runs of guests are going on (DMS_RUNS=N allows N)')
                    told = True
                time.sleep(0.3)
        yield
    finally:
        for f in files:
            f.close()


def write_whole(path, data):
    """Write so that a reader sees the old file or the new one, never half."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    tmp = f'{path}.{os.getpid()}'
    with open(tmp, 'wb') as f:
        f.write(data)
    os.rename(tmp, path)


def newer(path, *sources):
    """Is PATH there and no older than each of SOURCES?"""
    try:
        when = os.stat(path).st_mtime_ns
        return all(os.stat(s).st_mtime_ns <= when for s in sources)
    except FileNotFoundError:
        return False


class Clock:
    """Seconds since the run began."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self):
        return time.monotonic() - self.start
