# SPDX-License-Identifier: GPL-2.0-only
"""One guest: QEMU's command line, its process, and its three channels."""

import os
import signal
import socket
import subprocess

from . import kernels
from .base import BedError

CHANNELS = ('console', 'out', 'ctl')


def netdev(spec, node):
    """QEMU arguments for the network of NODE.

    One node: a link with nothing at its end.  Two: a pair of datagram sockets.
    More: each has a pair with a hub (see hub_command).
    """
    if spec.nodes == 1:
        return ['-netdev', 'hubport,id=n0,hubid=0']
    a, b = (f'n{node}', f'n{1 - node}') if spec.nodes == 2 else (f'n{node}', f'h{node}')
    return ['-netdev', dgram('n0', os.path.join(spec.sockets, a), os.path.join(spec.sockets, b))]


def dgram(name, local, remote):
    return (f'dgram,id={name},local.type=unix,local.path={local},'
            f'remote.type=unix,remote.path={remote}')


def hub_command(spec):
    """A QEMU without a machine that joins the links of three or more nodes."""
    cmd = [kernels.QEMU, '-M', 'none', '-nodefaults', '-no-user-config', '-display', 'none']
    for n in range(spec.nodes):
        s = spec.sockets
        cmd += ['-netdev', dgram(f's{n}', os.path.join(s, f'h{n}'), os.path.join(s, f'n{n}')),
                '-netdev', f'hubport,id=p{n},hubid=0,netdev=s{n}']
    return cmd


class Guest:
    """What the run knows of one node."""

    def __init__(self, spec, node):
        self.spec = spec
        self.node = node
        self.name = f'node{node}'
        self.booted = False     # so far that our modules are next
        self.ready = False
        self.status = None      # of its command
        self.ended = False      # said the word at its end
        self.killed = False     # on request
        self.failures = []
        self.listeners = {c: self.listen(c) for c in CHANNELS}
        self.sockets = {}
        self.process = None

    def path(self, channel):
        return os.path.join(self.spec.sockets, f'{channel}{self.node}')

    def listen(self, channel):
        s = socket.socket(socket.AF_UNIX)
        s.bind(self.path(channel))
        s.listen(1)
        return s

    def command(self):
        s = self.spec
        cmd = [kernels.QEMU, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot',
               '-M', 'q35', '-m', s.mem, '-smp', str(s.smp), '-name', self.name]
        append = ['console=ttyS0', 'panic=-1', 'no_timer_check', 'quiet', 'mitigations=off',
                  'log_buf_len=4M', f'dms.node={self.node}']
        if s.icount:
            # one instruction is one nanosecond; rep movsb must not count per byte
            cmd += ['-accel', 'tcg,thread=single', '-icount', 'shift=0,sleep=off',
                    '-cpu', 'max,-erms,-fsrm']
            append += ['init_on_alloc=0', 'tsc=reliable', 'clocksource=tsc']
        elif s.accel == 'kvm':
            cmd += ['-accel', 'kvm', '-cpu', 'max']
        else:
            # TCG does "rep movsb" byte by byte: without these the kernel copies and clears eight at a time
            cmd += ['-accel', 'tcg,thread=multi', '-cpu', 'max,-erms,-fsrm']
        if s.plugin:
            cmd += ['-plugin', s.plugin]
        if s.kernel.debug:
            # the suites in the module take minutes: who wants them appends kunit.enable=1
            append += ['kasan_multi_shot', 'printk.time=1', 'kunit.enable=0']
        append += s.append
        cmd += ['-kernel', s.kernel.image, '-initrd', s.initramfs]
        cmd += self.share('root', '/', True) + self.share('tree', s.tree, True)
        cmd += self.share('out', s.out, False)
        if s.kernel.modules != '/lib/modules':
            cmd += self.share('modules', s.kernel.modules, True)
            append.append('dms.modules=1')
        cmd += ['-chardev', f'socket,id=console,path={self.path("console")}',
                '-serial', 'chardev:console', '-device', 'virtio-serial-pci']
        for c in ('out', 'ctl'):
            cmd += ['-chardev', f'socket,id={c},path={self.path(c)}',
                    '-device', f'virtserialport,chardev={c},name={c}']
        if s.shell:
            cmd += ['-chardev', f'socket,id=tty,path={self.path("tty")},server=on,wait=off',
                    '-device', 'virtconsole,chardev=tty']
        cmd += netdev(s, self.node)
        cmd += ['-device', f'virtio-net-pci,netdev=n0,mac=52:54:00:d0:00:{self.node + 1:02x},romfile=']
        cmd += ['-device', 'virtio-rng-pci']
        return cmd + ['-append', ' '.join(append)]

    @staticmethod
    def share(tag, path, readonly):
        ro = ',readonly=on' if readonly else ''
        return ['-virtfs', f'local,path={path},mount_tag={tag},security_model=none,'
                           f'multidevs=remap{ro}']

    def start(self):
        with open(os.path.join(self.spec.out, f'{self.name}.qemu'), 'wb') as log:
            try:
                self.process = subprocess.Popen(
                    self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    preexec_fn=die_with_parent)
            except FileNotFoundError:
                raise BedError('QEMU is not installed',
                               'apt-get install qemu-system-x86') from None

    def tell(self, word):
        try:
            self.sockets['ctl'].sendall(word.encode() + b'\n')
        except (KeyError, OSError):
            pass                # it has gone; that is seen elsewhere

    def signal(self, what):
        """kill, pause or resume the whole machine."""
        if self.process.poll() is None:
            self.process.send_signal({'kill': signal.SIGKILL, 'pause': signal.SIGSTOP,
                                      'resume': signal.SIGCONT}[what])

    def destroy(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
        for s in list(self.sockets.values()) + list(self.listeners.values()):
            s.close()


def die_with_parent():
    """A guest never outlives the program that started it, however that ends."""
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
