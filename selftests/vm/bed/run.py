# SPDX-License-Identifier: GPL-2.0-only
"""One run: boot the guests, run the command on each, judge what came of it."""

import glob
import os
import re
import secrets
import selectors
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from . import base, guest, kernels, klog
from .base import BedError, say

OK, FAILED, TIME_LIMIT = 0, 1, 124
STOOD_STILL = 8     # seconds without a step of a loop that makes one each 50 ms
KEEP_RUNS = 24      # finished runs under build/vm


class Spec:
    """What is asked for; made by the command line."""

    def __init__(self, args):
        self.args = args
        self.nodes = args.nodes
        self.kernel = kernels.find(args.kernel)
        self.icount = args.icount
        self.plugin = args.plugin
        self.accel = 'tcg' if args.icount else kernels.accel(kernels.find('6.1')
                                                             if args.kernel == 'debug' else self.kernel)
        self.scale = (1 if self.accel == 'kvm' else 3) * (4 if self.kernel.debug else 1)
        self.timeout = (args.timeout or args.scaled_timeout and 20 + (20 + args.scaled_timeout) * self.scale
                        or 60 + 60 * self.scale)
        # to where the first module of ours is loaded: many times what it takes
        self.boot_limit = min(self.timeout, args.boot_timeout or 90 + 20 * self.scale)
        self.mem = args.mem
        self.smp = 1 if args.icount else args.smp
        self.mtu = args.mtu
        self.nic = args.nic if args.rxe else ''
        self.nic_args = args.nic_args
        self.append = args.append.split()
        self.allow = args.allow
        self.shell = args.shell
        self.keep_module = args.keep_module
        self.no_leak_scan = args.no_leak_scan
        self.module_args = args.module_args
        self.quiet = args.quiet
        self.tree = base.TOP
        # of each node
        self.modules = [{} if args.no_module else self.dmastream(args.module_of.get(n, args.module))
                        for n in range(self.nodes)]
        self.nic_module = self.in_guest(self.find_module('rdma_hwsim.ko')) if self.nic == 'hwsim' else ''
        self.initramfs = kernels.initramfs(self.kernel)
        self.commands = [args.run_on.get(n, args.run) for n in range(self.nodes)]
        # the limit on a UNIX socket's name does not leave room for a work tree's
        self.sockets = tempfile.mkdtemp(prefix='dms-vm.')
        self.out = self.make_out(args.out)

    def find_module(self, name, given=None):
        path = given or os.path.join(base.BUILD, 'modules', self.kernel.build_name, name)
        path = os.path.realpath(path)
        if not os.path.exists(path):
            raise BedError(f'no module for kernel {self.kernel.name} ({path})',
                           f'make modules KERNEL={self.kernel.name}; or --no-module' if name == 'dmastream.ko'
                           else f'kmod/build-modules --hwsim {self.kernel.name}')
        return path

    def in_guest(self, path):
        if not (path + '/').startswith(self.tree + '/'):
            return path     # the guest sees the host's root as well
        return '/mnt/tree' + path[len(self.tree):]

    def dmastream(self, given):
        """What a node is told of its module, in variables."""
        path = self.find_module('dmastream.ko', given)
        return {'DMS_MODULE': self.in_guest(path),
                'DMS_MODULE_NEEDS': modinfo(path, '-F', 'depends').replace(',', ' ').strip(),
                'DMS_MODULE_KNOWS': ' '.join(re.findall(r'(?m)^(\w+):', modinfo(path, '-p')))}

    @staticmethod
    def make_out(given):
        if given:
            os.makedirs(given, exist_ok=True)
            shutil.rmtree(os.path.join(given, '.ctl'), ignore_errors=True)
            return os.path.realpath(given)
        home = os.path.join(base.BUILD, 'vm')
        os.makedirs(home, exist_ok=True)
        for old in sorted(glob.glob(os.path.join(home, 'run.*')))[:-KEEP_RUNS]:
            if os.path.exists(os.path.join(old, '.ctl', 'finished')):
                shutil.rmtree(old, ignore_errors=True)
        out = os.path.join(home, time.strftime('run.%m%d-%H%M%S.') + str(os.getpid()))
        os.makedirs(out)
        return out

    def environment(self, node):
        v4 = [f'10.77.0.{n + 1}' for n in range(self.nodes)]
        v6 = [f'fd00:77::{n + 1:x}' for n in range(self.nodes)]
        env = {
            'DMS_NODES': self.nodes, 'DMS_ADDR': v4[node], 'DMS_ADDR6': v6[node],
            'DMS_PEERS': ' '.join(v4[:node] + v4[node + 1:]),
            'DMS_PEERS6': ' '.join(v6[:node] + v6[node + 1:]),
            'DMS_KERNEL': self.kernel.name, 'DMS_RELEASE': self.kernel.release,
            'DMS_ACCEL': 'icount' if self.icount else self.accel,
            'DMS_TIMEOUT_SCALE': self.scale, 'DMS_DEBUG': '1' if self.kernel.debug else '',
            'DMS_QUICK': os.environ.get('DMS_QUICK', ''),
            'DMS_MTU': self.mtu, 'DMS_NIC': self.nic,
            'DMS_RDMA': {'rxe': 'rxe0', 'hwsim': 'hw0'}.get(self.nic, ''),
            'DMS_NIC_MODULE': self.nic_module, 'DMS_NIC_ARGS': self.nic_args,
            'DMS_MODULE': '', 'DMS_MODULE_NEEDS': '', 'DMS_MODULE_KNOWS': '',
            'DMS_MODULE_ARGS': self.module_args, **self.modules[node],
        }
        for n in range(self.nodes):
            env[f'DMS_PEER{n}'], env[f'DMS_PEER6_{n}'] = v4[n], v6[n]
        return env


def modinfo(path, *what):
    """Asked here, where it takes no time: a guest of the debug kernel has seconds for each program."""
    r = subprocess.run(['modinfo', *what, path], stdout=subprocess.PIPE, text=True,
                       env=dict(os.environ, PATH=os.environ.get('PATH', '') + ':/usr/sbin:/sbin'))
    if r.returncode:
        raise BedError(f'modinfo cannot read {path}', 'is it a module? is kmod installed?')
    return r.stdout


class Run:
    def __init__(self, spec):
        self.spec = spec
        self.clock = base.Clock()
        self.last_step = self.clock()
        self.word = secrets.token_hex(8)
        self.failures = []
        self.hub = None
        self.select = selectors.DefaultSelector()
        self.partial = {}           # (guest, channel) -> bytes without a line's end
        self.ended_told = self.stop_told = False
        self.first_failure = None   # when a node's command failed first
        self.on_up = lambda: None   # called once all nodes are up
        self.say_nothing = False    # a person's terminal is in use
        self.end_asked = False
        self.guests = [guest.Guest(spec, n) for n in range(spec.nodes)]
        self.scan = {g: klog.Scanner(spec.allow) for g in self.guests}
        self.consoles = {g: open(os.path.join(spec.out, g.name + '.console'), 'wb') for g in self.guests}

    # --- what goes to the guests

    def write_control(self):
        ctl = os.path.join(self.spec.out, '.ctl')
        os.makedirs(ctl)
        for g in self.guests:
            lines = [f'export {k}={shlex.quote(str(v))}' for k, v in self.spec.environment(g.node).items()]
            lines += [f'dms_word={self.word}',
                      f'DMS_SHELL={"1" if self.spec.shell else ""}',
                      f'DMS_KEEP_MODULE={"1" if self.spec.keep_module else ""}',
                      f'DMS_NO_LEAK_SCAN={"1" if self.spec.no_leak_scan else ""}',
                      # the serial line would count as instructions of the test
                      f'DMS_LOGLEVEL={4 if self.spec.icount else 8}']
            write(os.path.join(ctl, f'node.{g.node}.env'), '\n'.join(lines) + '\n')
            run = os.path.join(ctl, f'run.{g.node}')
            write(run, (self.spec.commands[g.node] or 'true') + '\n')
            os.chmod(run, 0o755)

    def notice_pause(self):
        """A host that stood still (suspended, or with no time for us) is no fault of a guest's."""
        now = self.clock()
        if now - self.last_step > STOOD_STILL:
            for g in self.guests:
                self.scan[g].paused = True
            self.note(self.guests[0], f'the host stood still for {now - self.last_step:.1f} s')
        self.last_step = now

    def answer_requests(self):
        for ask in glob.glob(os.path.join(self.spec.out, '.ctl', 'ask.*.*')):
            _, what, node = os.path.basename(ask).split('.')
            if node.isdigit() and int(node) < self.spec.nodes and what in ('kill', 'goes', 'pause', 'resume'):
                g = self.guests[int(node)]
                if what in ('kill', 'goes'):
                    g.killed = True
                    write(os.path.join(self.spec.out, '.ctl', f'gone.{g.node}'), '')
                self.scan[g].paused |= what == 'pause'
                self.note(g, f'{what} (asked for)')
                if what != 'goes':
                    g.signal(what)
            try:
                os.unlink(ask)
            except FileNotFoundError:
                pass

    # --- what comes from them

    def note(self, g, text):
        if not self.spec.quiet and not self.say_nothing:
            say(f'{g.name}: {text} [{self.clock():.1f} s]')

    def fail(self, g, text):
        g.failures.append(text)
        if not self.say_nothing:
            say(f'{g.name}: {text} [{self.clock():.1f} s]')
        self.first_failure = self.first_failure or self.clock()

    def readable(self, g, channel, sock):
        try:
            data = sock.recv(65536)
        except ConnectionResetError:
            data = b''
        if not data:
            self.select.unregister(sock)
            rest = self.partial.pop((g, channel), b'')
            if rest:
                self.line(g, channel, rest)
            return
        if channel == 'console':
            self.consoles[g].write(data)
            self.consoles[g].flush()
        data = self.partial.pop((g, channel), b'') + data
        *lines, rest = data.split(b'\n')
        for line in lines:
            self.line(g, channel, line)
        if rest:
            self.partial[g, channel] = rest

    def line(self, g, channel, raw):
        text = raw.decode('utf-8', 'replace').rstrip('\r')
        if channel == 'console':
            self.scan[g].line(text)
            if text.startswith('dms-init: '):
                self.note(g, text)
        elif channel == 'out':
            self.output(g, text)
        else:
            self.control(g, text)

    def output(self, g, text):
        with open(os.path.join(self.spec.out, g.name + '.out'), 'a') as f:
            f.write(text + '\n')
        prefix = '' if self.spec.nodes == 1 and self.spec.quiet else f'{g.name}: '
        print(prefix + text, flush=True)

    def control(self, g, text):
        what, _, rest = text.partition(' ')
        if what == 'ready':
            g.ready = True
            self.note(g, 'up')
            if all(x.ready or x.killed for x in self.guests):
                for x in self.guests:
                    x.tell('go')
                self.on_up()
        elif what == 'loading':
            g.booted = True
        elif what == 'note':
            self.note(g, rest)
        elif what == 'fail':
            self.fail(g, rest)
        elif what == 'status' and rest.startswith(self.word + ' '):
            g.status = int(rest.split()[1])
            write(os.path.join(self.spec.out, '.ctl', f'ended.{g.node}'), rest.split()[1] + '\n')
            if g.status and not self.spec.shell and not (self.stop_told and g.status == 137):
                self.fail(g, f'the command ended with status {g.status}')
        elif what == 'end' and rest == self.word:
            g.ended = True
        else:
            self.fail(g, f'unexpected word on the control port: {text!r}')

    # --- the life of a run

    def connect(self):
        """Each QEMU connects to its three sockets as it starts."""
        for g in self.guests:
            for channel, listener in g.listeners.items():
                listener.settimeout(10)
                try:
                    sock, _ = listener.accept()
                except socket_timeout:
                    log = open(os.path.join(self.spec.out, g.name + '.qemu'), errors='replace').read()
                    raise BedError(f'QEMU of {g.name} did not start: {log.strip() or "no reason given"}',
                                   'is there enough memory? (--mem)') from None
                g.sockets[channel] = sock
                self.select.register(sock, selectors.EVENT_READ, (g, channel))

    def step(self):
        """Handle what has come; true while some guest is alive."""
        self.notice_pause()
        for key, _ in self.select.select(timeout=0.05):
            g, channel = key.data
            self.readable(g, channel, key.fileobj)
        self.answer_requests()
        if not self.ended_told and all(
                g.status is not None or self.gone(g) for g in self.guests):
            self.ended_told = True
            for g in self.guests:
                g.tell('end')
        if self.end_asked and not self.stop_told:
            self.stop_told = True
            for g in self.guests:
                if g.status is None:
                    g.tell('stop')
        grace = 5 * self.spec.scale
        if (self.first_failure is not None and not self.stop_told
                and self.clock() - self.first_failure > grace):
            self.stop_told = True
            for g in self.guests:
                if g.status is None and not self.gone(g):
                    self.note(g, 'stopping its command, since another node failed')
                    g.tell('stop' if g.ready else 'end')
        return any(not self.gone(g) for g in self.guests)

    def ask_end(self):
        """From another thread: end the commands, and with them the run."""
        self.say_nothing = False
        self.end_asked = True

    @staticmethod
    def gone(g):
        return g.process.poll() is not None

    def limit(self):
        """Until when the run may go on as it is."""
        up = all(g.booted or g.killed or self.gone(g) for g in self.guests)
        return self.spec.timeout if up else self.spec.boot_limit

    def go(self):
        """Run to the end; returns the exit status."""
        self.write_control()
        status = OK
        timed_out = False
        try:
            if self.spec.nodes > 2:
                self.hub = subprocess.Popen(guest.hub_command(self.spec), stdin=subprocess.DEVNULL,
                                            preexec_fn=guest.die_with_parent)
            for g in self.guests:
                g.start()
            self.connect()
            while self.step():
                if not self.spec.shell and self.clock() > self.limit():
                    timed_out = True
                    break
            while self.select.get_map() and not timed_out:
                if not self.select.select(timeout=1):
                    break
                self.step()
            status = self.judge(timed_out)
        finally:
            self.destroy()
        return status

    def judge(self, timed_out):
        statuses = []
        for g in self.guests:
            dmesg = os.path.join(self.spec.out, g.name + '.dmesg')
            if os.path.exists(dmesg):
                for text in open(dmesg, errors='replace'):
                    self.scan[g].line(text.rstrip('\n'))
            if timed_out and not self.gone(g):
                g.failures.append(f'time limit of {self.limit():.0f} s: ' + (
                    'did not boot' if not g.booted else
                    'did not come up' if not g.ready else
                    'the command was still running' if g.status is None else
                    'did not get through its end (rmmod, leak scan)'))
            elif not g.ended and not g.killed:
                g.failures.append('went away without its word at the end'
                                  + ('' if g.ready else ' (before it was up)'))
            self.judge_log(g)
            if g.status:
                statuses.append(g.status)
        bad = [(g, f) for g in self.guests for f in g.failures]
        for g, f in bad:
            say(f'FAIL {g.name}: {f}')
        if bad or not self.spec.quiet:
            say(f'{"failed" if bad else "passed"}: {self.spec.kernel.name} ({self.spec.accel}'
                f'{", icount" if self.spec.icount else ""}), {self.spec.nodes} node(s), '
                f'{self.clock():.1f} s; logs in {self.spec.out}')
        write(os.path.join(self.spec.out, '.ctl', 'finished'), '')
        if timed_out:
            return TIME_LIMIT
        # a command's own status (4 is kselftest's "skip") goes on to the caller
        if bad and len(bad) == len(statuses) and len(set(statuses)) == 1:
            return statuses[0]
        return FAILED if bad else OK

    def judge_log(self, g):
        self.scan[g].end()
        for text in self.scan[g].starved:
            self.note(g, f'the host did not run it: {text}')
        for text in self.scan[g].bad[:20]:
            g.failures.append('kernel log: ' + text)
        if self.scan[g].allowed:
            self.note(g, f'{self.scan[g].allowed} report(s) in the kernel log were allowed by --allow')
        listing = os.path.join(self.spec.out, '.ctl', f'kmemleak.{g.node}')
        if os.path.exists(listing):
            ours, others = klog.leaks(open(listing, errors='replace').read())
            for entry in ours:
                g.failures.append('kmemleak: ' + entry.strip().replace('\n', '\n    '))
            if others:
                self.note(g, f'kmemleak: {others} entries that are not of dmastream')
        elif (g.ended and self.spec.kernel.debug and not self.spec.no_leak_scan):
            g.failures.append('no leak scan was made')

    def destroy(self):
        for g in self.guests:
            g.destroy()
            self.consoles[g].close()
        if self.hub:
            self.hub.kill()
            self.hub.wait()
        shutil.rmtree(self.spec.sockets, ignore_errors=True)


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


socket_timeout = TimeoutError


def lost_at_boot(guests):
    """Did a kernel die or hang before anything of ours was in it?

    Stock kernels do so now and then under TCG: 6.12 with "Oops: int3", while it patches
    its own code, 6.1 with a stall of a CPU.  That says nothing of what is tested.
    """
    return any(not g.booted and not g.killed for g in guests)


def go_twice(spec):
    first = Run(spec)
    status = first.go()
    if status in (FAILED, TIME_LIMIT) and lost_at_boot(first.guests):
        say('a guest was lost at boot, before any module of ours was loaded: once more')
        for g in first.guests:      # what it said is wanted afterwards
            console = os.path.join(spec.out, g.name + '.console')
            os.replace(console, console + '.lost')
            with open(console + '.lost', errors='replace') as f:
                said = [text.strip() for text in f.read(1 << 20).splitlines() if text.strip()]
            if not g.booted:
                say(f'{g.name} said last: ' + (' / '.join(said[-3:]) or 'nothing'))
        status = Run(Spec(spec.args)).go()
    return status


def main(spec):
    try:
        with base.places(spec.nodes), base.turn(int(os.environ.get('DMS_RUNS') or (os.cpu_count() or 1) + 1)):
            return go_twice(spec)
    except KeyboardInterrupt:
        say('interrupted')
        return 130
    finally:
        sys.stdout.flush()
