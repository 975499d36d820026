# SPDX-License-Identifier: GPL-2.0-only
"""A person at the guests' prompts: tmux where it is, plain terminals otherwise."""

import glob
import os
import select
import shlex
import shutil
import socket
import subprocess
import sys
import termios
import threading
import tty

from . import base, run
from .base import BedError, say

VM = os.path.join(base.TOP, 'selftests/vm/vm')
LEAVE = b'\x1d'     # Ctrl-]


def newest_run():
    """Directory of sockets of the newest --shell run that is alive."""
    links = sorted(glob.glob(os.path.join(base.BUILD, 'vm', 'run.*', 'sockets')), reverse=True)
    for link in links:
        if os.path.isdir(link):
            return link
    raise BedError('no guests with a prompt are running', f'{VM} --shell --nodes 2')


def attach_newest(argv):
    if len(argv) != 1 or not argv[0].isdigit():
        raise BedError('attach needs a node number', 'vm attach 1')
    return attach(newest_run(), int(argv[0]))


def attach(sockets, node):
    """Join this terminal to the prompt of NODE until Ctrl-] or its end."""
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(os.path.join(sockets, f'tty{node}'))
    except OSError as e:
        raise BedError(f'cannot reach the prompt of node {node}: {e.strerror}',
                       'is another terminal attached to it? has it ended?') from None
    fd = sys.stdin.fileno()
    is_tty = os.isatty(fd)
    if is_tty:
        size = os.get_terminal_size(fd)
        print(f'node{node}: Ctrl-] leaves this prompt, exit (or Ctrl-D) ends the node\r', flush=True)
        saved = termios.tcgetattr(fd)
        tty.setraw(fd)
        s.sendall(f' stty rows {size.lines} cols {size.columns}; clear\n'.encode())
    watch = [s, fd]
    try:
        while s in watch:
            for ready in select.select(watch, [], [])[0]:
                data = os.read(fd, 4096) if ready == fd else receive(s)
                if ready is s:
                    if not data:
                        return 0
                    os.write(1, data)
                elif LEAVE in data:
                    return 0
                elif not data:
                    watch.remove(fd)    # what it was given has been typed; wait for the end
                else:
                    s.sendall(data)
    finally:
        if is_tty:
            termios.tcsetattr(fd, termios.TCSADRAIN, saved)
            print()
    return 0


def receive(s):
    try:
        return s.recv(4096)
    except ConnectionResetError:
        return b''


def main(spec):
    os.symlink(spec.sockets, os.path.join(spec.out, 'sockets'))
    r = run.Run(spec)
    result = []

    def machines():
        try:
            result.append(r.go())
        except Exception as e:      # told below, in the terminal that is then free
            result.append(e)
        finally:
            up.set()

    up = threading.Event()
    r.on_up = up.set
    thread = threading.Thread(target=machines)
    say(f'booting {spec.nodes} node(s) with kernel {spec.kernel.name} ({spec.accel})')
    thread.start()
    up.wait()
    if not result:
        try:
            prompts(spec, r)
        finally:
            r.ask_end()
    thread.join()
    if result and isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def prompts(spec, r):
    print(f"""
  {spec.nodes} node(s) up: kernel {spec.kernel.release}, {spec.nic or 'no'} RDMA device on eth0, work tree at /mnt/tree (you are in it).
  Node n has 10.77.0.<n+1> and fd00:77::<n+1>; $DMS_ADDR and $DMS_PEERS have them.
  Writable and shared with the host: $DMS_OUT = {spec.out}
""", flush=True)
    r.say_nothing = True
    if spec.nodes > 1 and sys.stdin.isatty() and shutil.which('tmux') and 'DMS_NO_TMUX' not in os.environ:
        tmux(spec)
        return
    if spec.nodes > 1:
        print('  This terminal gets node 0. The others, each in another terminal:')
        for n in range(1, spec.nodes):
            print(f'      {VM} attach {n}')
        print('  All nodes end when node 0 does.\n', flush=True)
    attach(spec.sockets, 0)


def tmux(spec):
    """One pane a node; the run ends with the last pane."""
    name = f'dms-{os.getpid()}'
    base_cmd = ['tmux', '-L', name]
    env = f'DMS_BUILD={shlex.quote(base.BUILD)}'
    cmds = [f'{env} {shlex.quote(VM)} attach {n}' for n in range(spec.nodes)]
    size = os.get_terminal_size(sys.stdin.fileno())
    args = base_cmd + ['new-session', '-d', '-x', str(size.columns), '-y', str(size.lines), '-s', 'dms', cmds[0]]
    subprocess.run(args, check=True)
    for c in cmds[1:]:
        subprocess.run(base_cmd + ['split-window', '-t', 'dms', c], check=True)
        subprocess.run(base_cmd + ['select-layout', '-t', 'dms', 'even-vertical'], check=True)
    subprocess.run(base_cmd + ['select-pane', '-t', 'dms.0'], check=True)
    subprocess.run(base_cmd + ['set', '-g', 'mouse', 'on'], check=True)
    subprocess.run(base_cmd + ['attach', '-t', 'dms'])
    subprocess.run(base_cmd + ['kill-server'], stderr=subprocess.DEVNULL)
