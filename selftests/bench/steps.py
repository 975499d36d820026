# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: a list of steps, each with a command for either end.

A step is a dictionary that JSON can carry into the guest:

  subject   who is measured; what  the figure: bw, rate, lat, connect, streams, fetch, push
  size, streams
  server, client   commands, as lists of words; "@A" and "@B" stand for the addresses of
                   the two ends of the veth pair, "@S" for the server's addresses in fabric.py
  form      how the client's output is read, see parse.py
  setup     a word for the guest: plain, offloads, rds; cubic, dctcp
"""

MIB = 1 << 20
TOOLS, BENCH = 'build/tools', 'build/bench'
PROGRAMS = {'dmastream': f'{TOOLS}/dmsperf', 'tcp': f'{BENCH}/perf-tcp', 'rsockets': f'{BENCH}/perf-rsockets',
            'rds': f'{BENCH}/perf-rds'}
# how many messages: a few tenths of a second of guest time each; whole post lists
COUNT = {64: 6400, 4096: 4000, 65536: 800, MIB: 80}
POLLS = 50      # of two programs that poll: each takes the CPU for a time slice a turn
LOADS = (30, 50, 70, 90)        # per cent of the lower one of the capacities
FETCH = (4096, 65536)
PUSH = (MIB,)                   # of each of PUSHERS processes at once
PUSHERS = 16
# where nobody pays for a NIC: fabric.py
FABRIC = {'clients': PUSHERS, 'mbit': 10000, 'queue': 256 << 10}


def engine(subject, what, size, streams, client, setup='', server=(), host='@B'):
    """A step of dmsperf or of one of the programs that share its code."""
    program = PROGRAMS[subject]
    bind = {'tcp': ('va', 'vb'), 'rsockets': ('@A', '@B'), 'rds': ('@A', '@B')}.get(subject) if host == '@B' else None
    near, far = (('--bind', bind[0]), ('--bind', bind[1])) if bind else ((), ())
    return {'subject': subject, 'what': what, 'size': size, 'streams': streams, 'setup': setup, 'form': 'engine',
            'server': [program, 'server', *far, *server],
            'client': [program, *map(str, client), *near, '--json', host]}


def flow(subject, what, size, setup='', extra=(), streams=1):
    return engine(subject, what, size, streams,
                  ['rate' if what == 'rate' else 'bw', '-s', size, '-n', COUNT[size], *extra], setup)


def verbs(subject, what, size, program, *extra, streams=1):
    """perftest.  rdma_cm connects, so that addresses choose the devices."""
    lat = program.endswith('lat')
    common = [program, '-R', '-s', str(size), '-n', str(1500 if lat else COUNT[size]), '-F', *extra]
    return {'subject': subject, 'what': what, 'size': size, 'streams': streams, 'setup': '',
            'form': 'perftest-lat' if lat else 'perftest-bw',
            'server': common, 'client': [*common, '--source_ip', '@A', '@B']}


def uct(what, size, count, test, *extra):
    common = ['ucx_perftest', '-x', 'rc_verbs', '-t', test, '-s', str(size), '-n', str(count), '-w', '5', *extra]
    return {'subject': 'uct rc_verbs', 'what': what, 'size': size, 'streams': 1, 'setup': '', 'form': 'ucx',
            'server': [*common, '-d', 'rxe-b:1'], 'client': [*common, '-d', 'rxe-a:1', '@B']}


def bandwidth(sizes):
    out = []
    for size in sizes:
        out += [flow('dmastream', 'bw', size),
                verbs('ib_write_bw', 'bw', size, 'ib_write_bw'),
                verbs('ib_read_bw', 'bw', size, 'ib_read_bw'),
                verbs('ib_send_bw -e', 'bw', size, 'ib_send_bw', '-e'),
                flow('tcp', 'bw', size, 'plain'),
                dict(flow('tcp', 'bw', size, 'offloads'), subject='tcp, offloads'),
                uct('bw', size, COUNT[size], 'put_bw', '-D', 'zcopy'),
                # its longest message is 1 MiB with our tag in it
                engine('rds', 'bw', size, 1, ['bw', '-s', min(size, MIB - 8), '-n', COUNT[size]], 'rds')]
    # last: rpoll() may sleep for ever, which costs a time limit
    return out + [flow('rsockets', 'bw', size) for size in sizes]


def rate():
    processes = ['-q', '4', '--procs', '4']
    return [engine('dmastream', 'rate', 64, 16, ['rate', '-s', 64, '-n', COUNT[64] // 2, *processes]),
            flow('dmastream', 'rate', 64),
            verbs('ib_send_bw', 'rate', 64, 'ib_send_bw'),
            verbs('ib_send_bw -e', 'rate', 64, 'ib_send_bw', '-e'),
            verbs('ib_send_bw, post lists', 'rate', 64, 'ib_send_bw', '-l', '32'),
            verbs('ib_send_bw -e, post lists', 'rate', 64, 'ib_send_bw', '-e', '-l', '32'),
            engine('tcp', 'rate', 64, 16, ['rate', '-s', 64, '-n', COUNT[64] // 2, '-l', '1', *processes], 'plain'),
            flow('rsockets', 'rate', 64, extra=('-l', '1')),
            flow('rds', 'rate', 64, 'rds')]


def latency():
    n = ['-n', '1500']
    return [engine('dmastream', 'lat', 64, 1, ['lat', '-s', 64, *n]),
            verbs('ib_send_lat -e', 'lat', 64, 'ib_send_lat', '-e'),
            engine('tcp', 'lat', 64, 1, ['lat', '-s', 64, *n], 'plain'),
            engine('rds', 'lat', 64, 1, ['lat', '-s', 64, *n], 'rds'),
            uct('lat', 64, POLLS, 'am_lat'),
            {'subject': 'libfabric verbs;ofi_rxm', 'what': 'lat', 'size': 64, 'streams': 1, 'setup': '', 'form': 'fi',
             'env': {'FI_UNIVERSE_SIZE': '4'},
             'server': ['fi_pingpong', '-e', 'rdm', '-p', 'verbs;ofi_rxm', '-d', 'rxe-b', '-I', str(POLLS), '-S', '64'],
             'client': ['fi_pingpong', '-e', 'rdm', '-p', 'verbs;ofi_rxm', '-d', 'rxe-a', '-I', str(POLLS), '-S', '64', '@B']},
            engine('rsockets', 'lat', 64, 1, ['lat', '-s', 64, *n])]


def connect():
    return [engine('dmastream', 'connect', 0, 1, ['connect', '-n', '200']),
            {'subject': 'rdma_cm, with its QP', 'what': 'connect', 'size': 0, 'streams': 50, 'setup': '', 'form': 'cmtime',
             'server': ['cmtime', '-b', '@B'], 'client': ['cmtime', '-b', '@A', '-s', '@B', '-c', '50']},
            engine('tcp', 'connect', 0, 1, ['connect', '-n', '200'], 'plain')]


def streams():
    return [engine('dmastream', 'streams', 65536, 1000, ['streams', '-s', 65536, '-q', 1000, '-n', 1500],
                   server=('--smalls', '4096'))]


def fetch(size, rates, what='fetch', rivals=('plain',), host='@B'):
    """RATES: pairs of per cent and operations a second; None: what each can do."""
    count = {4096: 4000, 65536: 2000}[size]
    return open_loop(what, size, 4, ['fetch', '-s', size, '-q', 4], rates, count, ['--arrivals', 'gamma'], rivals, host)


def push(size, rates, what='push', rivals=('plain',), host='@B'):
    return open_loop(what, size, PUSHERS, ['push', '--procs', PUSHERS, '-s', size], rates, 64, [], rivals, host)


def open_loop(what, size, streams_, common, rates, count, extra, rivals, host):
    """RIVALS: how TCP is set up, each of them a subject."""
    subjects = [('tcp', setup, 'tcp' if setup == 'plain' else f'tcp, {setup}') for setup in rivals]
    out = []
    for load, rate_ in rates or [(None, None)]:
        for program, setup, subject in [*subjects, ('dmastream', '', 'dmastream')]:
            how = ['-n', count, *extra, '--rate', f'{rate_:.1f}'] if rates else ['-n', max(count // 4, 8), '--load', 'none']
            step = dict(engine(program, what, size, streams_, [*common, *how], setup, host=host), subject=subject)
            out.append(dict(step, load=load) if rates else dict(step, what=f'{what}-capacity'))
    return out


def wire_fetch(size, rates):
    return fetch(size, rates, 'wirefetch', ('cubic', 'dctcp'), '@S')


def wire_push(size, rates):
    return push(size, rates, 'wirepush', ('cubic', 'dctcp'), '@S')


GROUPS = {'bw': lambda quick: bandwidth([65536, MIB] if quick else [4096, 65536, MIB]),
          'rate': lambda quick: rate(), 'lat': lambda quick: latency(), 'connect': lambda quick: connect(),
          'streams': lambda quick: streams()}
# these need a capacity first
OPEN = {'fetch': (fetch, FETCH), 'push': (push, PUSH), 'wirefetch': (wire_fetch, FETCH), 'wirepush': (wire_push, PUSH)}
WIRE = ('wirefetch', 'wirepush')        # of OPEN: over fabric.py, in a guest of their own
