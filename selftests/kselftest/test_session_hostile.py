#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a stranger on the TCP port can do to a node: nothing (cases 21 and 30).

Half-open connections, garbage, HELLOs of every length and with every field out
of range, messages of another state.  Each gets a structured refusal or a closed
connection, is counted, and leaves nothing behind.

Runs as root in a guest with the module; listens by itself on /dev/dmastream and
connects over the loopback interface.  Prints KTAP.

For a module without the face: DMS_HOSTILE_ADDR names an address on which
somebody listens, DMS_HOSTILE_GOOD is a command that connects as a real peer.
"""

import contextlib
import errno
import fcntl
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 7477
MAGIC = 0x31534D44
HELLO, REFUSE, PING, PONG, BYE = 1, 2, 3, 4, 5
PATH, PACKET, READ, DATA, WRITE = 6, 7, 8, 9, 10
DOWN, OFF, TCP = 1, 2, 3
FEATURES_TCP = 4 | 8            # RESUME and TCP
REFUSED_VERSION, REFUSED_AUTH, REFUSED_PREFIX = 4, 5, 6
REFUSED_CROSSED, REFUSED_MALFORMED = 8, 9
HELLO_LEN = 296
BODY_MAX = 1024
PARAMS = '/sys/module/dmastream/parameters/'
SCALE = float(os.environ.get('DMS_TIMEOUT_SCALE') or 1)
QUICK = bool(os.environ.get('DMS_QUICK') or os.environ.get('DMS_DEBUG'))
ADDR = os.environ.get('DMS_HOSTILE_ADDR', '127.0.0.1')
GOOD = os.environ.get('DMS_HOSTILE_GOOD')


# ---- the wire ----

def header(mtype, length, magic=MAGIC, version=1, reserved=0):
    return struct.pack('<IHHII', magic, mtype, version, length & 0xffffffff, reserved)


FIELDS = {
    'version_min': 1, 'version_max': 1, 'epoch': 1, 'features': 0,
    'nonce': None, 'session': None, 'cookie': bytes(16),
    'eager_max': 8192, 'slot_bytes': 12288, 'slots': 64, 'reads': 16,
    'keepalive_ms': 1000, 'listen_port': 0, 'rdma_port': 0, 'qps': 1, 'addrs': 0,
    'reserved': 0, 'addr': bytes(64), 'name': b'', 'auth_alg': 0, 'auth_len': 0, 'auth': b'',
}


def hello_body(**change):
    f = dict(FIELDS, nonce=os.urandom(16), session=os.urandom(16))
    f.update(change)
    body = struct.pack('<HHIQ16s16s16s', *[f[k] for k in (
        'version_min', 'version_max', 'epoch', 'features', 'nonce', 'session', 'cookie')])
    body += struct.pack('<IIIIIHHHHI64s64sII64s', *[f[k] for k in (
        'eager_max', 'slot_bytes', 'slots', 'reads', 'keepalive_ms', 'listen_port',
        'rdma_port', 'qps', 'addrs', 'reserved', 'addr', 'name', 'auth_alg', 'auth_len',
        'auth')])
    assert len(body) == HELLO_LEN
    return body


def hello(**change):
    body = hello_body(**change)
    return header(HELLO, len(body)) + body


class Peer:
    """A connection to the node under test."""

    def __init__(self):
        self.s = socket.create_connection((ADDR, PORT), timeout=5 * SCALE)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def send(self, data):
        # a peer that refused early may have closed before it got everything
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.s.sendall(data)

    def exactly(self, n):
        data = b''
        while len(data) < n:
            try:
                more = self.s.recv(n - len(data))
            except ConnectionResetError:
                more = b''
            if not more:
                return None
            data += more
        return data

    def message(self):
        """(type, body), or None when the connection was closed"""
        head = self.exactly(16)
        if head is None:
            return None
        magic, mtype, version, length, reserved = struct.unpack('<IHHII', head)
        assert magic == MAGIC and version == 1 and reserved == 0 and length <= BODY_MAX, head
        body = self.exactly(length)
        return None if body is None else (mtype, body)

    def closed(self):
        """Nothing more comes but the end; PINGs and so on are skipped."""
        while True:
            m = self.message()
            if m is None:
                return True
            if m[0] not in (PING, PONG, REFUSE, BYE):
                return False

    def refusal(self):
        """the reason, after which the connection is closed; 0: closed without a word"""
        m = self.message()
        if m is None:
            return 0
        mtype, body = m
        assert mtype == REFUSE and len(body) == 24, m
        assert self.message() is None, 'open after REFUSE'
        return struct.unpack('<I', body[:4])[0]


def up(**change):
    """A peer whose HELLO was accepted."""
    p = Peer()
    p.send(hello(**change))
    m = p.message()
    assert m and m[0] == HELLO and len(m[1]) >= HELLO_LEN, m
    return p


def path(word, epoch, index=0):
    return header(PATH, 8) + struct.pack('<IBBH', epoch, index, word, 0)


def move(mtype, data=b'', epoch=2, index=0, reserved=0, read=0, rkey=0, length=None, addr=0):
    """a PACKET, READ, DATA or WRITE"""
    if length is None:
        length = 0 if mtype == PACKET else len(data)
    return (header(mtype, 24 + len(data))
            + struct.pack('<IBBHIIQ', epoch, index, reserved, read, rkey, length, addr) + data)


def packet(**change):
    """one that says nothing, of a path's first packet"""
    return move(PACKET, struct.pack('<HBBIIII3I', 0, 0, 0, 2, 0, 64, 0, 0, 0, 0), **change)


def over_tcp():
    """A peer without RDMA, whose one path the session's connection carries, in epoch 2."""
    p = up(features=FEATURES_TCP)
    p.send(path(OFF, 1))
    m = p.message()
    assert m == (PATH, struct.pack('<IBBH', 1, 0, OFF, 0)), m
    p.send(path(TCP, 2))
    return p


def lives(p):
    """It answers, whatever else it says."""
    p.send(header(PING, 8) + struct.pack('<Q', 4711))
    while True:
        m = p.message()
        assert m, 'closed'
        if m[0] == PONG:
            return


# ---- the node ----

def genl_node():
    """counters, gauges and refusals of the module, by number; None without netlink"""
    nl = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
    nl.bind((0, 0))
    nl.settimeout(5 * SCALE)

    def attrs(data):
        out = {}
        while len(data) >= 4:
            length, kind = struct.unpack('=HH', data[:4])
            out[kind & 0x3fff] = data[4:length]
            data = data[(length + 3) & ~3:]
        return out

    def ask(family, cmd, version, payload=b''):
        body = struct.pack('=BBH', cmd, version, 0) + payload
        nl.send(struct.pack('=IHHII', 16 + len(body), family, 1, 1, 0) + body)
        data = nl.recv(65536)
        kind = struct.unpack('=H', data[4:6])[0]
        return None if kind == 2 else attrs(data[20:])

    with contextlib.closing(nl):
        name = b'dmastream\0'
        fam = ask(16, 3, 1, struct.pack('=HH', 4 + len(name), 2) + name + b'\0\0')
        if not fam or 1 not in fam:
            return None
        node = ask(struct.unpack('=H', fam[1])[0], 1, 1)

    def numbers(data):
        return {k: struct.unpack('=Q', v)[0] for k, v in attrs(data).items() if len(v) == 8}

    return {'counters': numbers(node[7]), 'gauges': numbers(node[8]), 'refusals': numbers(node[9])}


def abi(prefix):
    """numbers of <linux/dmastream_netlink.h>, which are ABI, by name"""
    top = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../..')
    out = {}
    with open(os.path.join(top, 'uapi/linux/dmastream_netlink.h')) as f:
        for line in f:
            words = line.replace(',', ' ').split()
            if len(words) >= 3 and words[0].startswith(prefix) and words[1] == '=':
                if words[2].isdigit():
                    out[words[0]] = int(words[2])
    return out


def sessions():
    if GOOD:
        return None
    node = genl_node()
    return node['gauges'][abi('DMASTREAM_GAUGE_')['DMASTREAM_GAUGE_SESSIONS']]


def counter(name):
    return genl_node()['counters'][abi('DMASTREAM_CTR_')['DMASTREAM_CTR_' + name]]


def protocol_errors():
    return None if GOOD else counter('PROTOCOL_ERRORS')


def refusals(kind):
    return None if GOOD else genl_node()['refusals'].get(kind, 0)


def settle(before, limit=5):
    """Until no more sessions are there than before."""
    end = time.monotonic() + limit * SCALE
    while before is not None:
        now = sessions()
        if now <= before:
            return
        assert time.monotonic() < end, f'{now} sessions are left, {before} were there'
        time.sleep(0.1)


@contextlib.contextmanager
def param(name, value):
    with open(PARAMS + name) as f:
        old = f.read().strip()
    with open(PARAMS + name, 'w') as f:
        f.write(f'{value}\n')
    try:
        yield
    finally:
        with open(PARAMS + name, 'w') as f:
            f.write(f'{old}\n')




def ioc(nr, size):
    return 3 << 30 | size << 16 | 0xD5 << 8 | nr


def listen(service=b'hostile'):
    fd = os.open('/dev/dmastream', os.O_RDWR | os.O_CLOEXEC)
    arg = bytearray(struct.pack('=64sIIQiI', service, 64, 0, 0, 0, 0))
    fcntl.ioctl(fd, ioc(0x05, len(arg)), arg)
    return fd


def connect(host, timeout, service=b'hostile'):
    """A stream from a context of its own; closing the fds that come back ends it."""
    fd = os.open('/dev/dmastream', os.O_RDWR | os.O_CLOEXEC)
    ring_fd = -1
    try:
        ring = bytearray(struct.pack('=5Ii6I', 8, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        fcntl.ioctl(fd, ioc(0x04, len(ring)), ring)
        ring_fd, handle = struct.unpack_from('=iI', ring, 20)
        if ':' in host:
            family, addr = socket.AF_INET6, socket.inet_pton(socket.AF_INET6, host)
        else:
            family, addr = socket.AF_INET, socket.inet_aton(host)
        posted = 1
        opts = struct.pack('=QQIIII', posted, 0, handle, 0, 0, 0)
        arg = bytearray(struct.pack('=HHI16s64sII', family, 0, 0, addr, service, 0,
                                    int(timeout * 1000)) +
                        opts + struct.pack('=QIIII', 0, 0, 0, 0, 0))
        fcntl.ioctl(fd, ioc(0x07, len(arg)), arg)
    except OSError:
        os.close(fd)
        if ring_fd >= 0:
            os.close(ring_fd)
        raise
    return fd, ring_fd


def hang_up(fds):
    for fd in fds:
        os.close(fd)


def good_client():
    """A real peer connects, the whole way; seconds that it took."""
    begin = time.monotonic()
    if GOOD:
        subprocess.run(GOOD, shell=True, check=True)
        return time.monotonic() - begin
    fds = connect(os.environ.get('DMS_ADDR', ADDR), 10 * SCALE)
    took = time.monotonic() - begin
    hang_up(fds)
    return took


# ---- tests ----

TESTS = []


def test(f):
    TESTS.append(f)
    return f


@test
def half_open():
    """1,000 connections that say nothing; a good client connects within 2 s"""
    held = []
    before = sessions()
    for _ in range(200 if QUICK else 1000):
        held.append(Peer())
    limit = int(open(PARAMS + 'max_embryos').read())
    took = good_client()
    print(f'# a good client took {took:.2f} s')
    assert took < 2 * SCALE, f'{took:.2f} s'
    now = sessions()
    # the good client's own: two halves
    assert now is None or now <= before + limit + 2, f'{now} sessions, at most {limit} embryos'
    # those that were put out are closed, not left in the air
    time.sleep(0.5 * SCALE)
    readable = select.select([p.s for p in held[:50]], [], [], 0)[0] if len(held) > limit else []
    assert len(held) <= limit or len(readable) == 50, f'{len(readable)} of the oldest 50 are closed'
    for p in held:
        p.s.close()


@test
def half_hello():
    """1,000 that stop in the middle of their HELLO"""
    held = []
    data = hello()
    for i in range(200 if QUICK else 1000):
        p = Peer()
        p.send(data[:1 + i % (len(data) - 1)])
        held.append(p)
    took = good_client()
    assert took < 2 * SCALE, f'{took:.2f} s'
    for p in held:
        p.s.close()


@test
def truncated():
    """a HELLO of every length, then the end"""
    data = hello()
    for n in range(0, len(data), 8 if QUICK else 1):
        with Peer() as p:
            p.send(data[:n])
            p.s.shutdown(socket.SHUT_WR)
            assert p.refusal() in (0, REFUSED_MALFORMED), n


@test
def pieces():
    """a HELLO in single bytes, and one that is longer than ours"""
    with Peer() as p:
        for b in hello():
            p.send(bytes([b]))
        m = p.message()
        assert m and m[0] == HELLO, m
        assert m[1][48:64] != bytes(16), 'no cookie'
    for extra in (1, 100, BODY_MAX - HELLO_LEN):
        with Peer() as p:
            body = hello_body() + os.urandom(extra)
            p.send(header(HELLO, len(body)) + body)
            m = p.message()
            assert m and m[0] == HELLO, (extra, m)


@test
def bad_header():
    """magic, version, type, length, reserved"""
    bad = {'magic': header(HELLO, HELLO_LEN, magic=MAGIC ^ 1),
           'version 0': header(HELLO, HELLO_LEN, version=0),
           'reserved': header(HELLO, HELLO_LEN, reserved=1)}
    for t in list(range(0, 12)) + [255, 256, 65535]:
        if t != HELLO:
            bad[f'type {t}'] = header(t, {REFUSE: 24, PING: 8, PONG: 8, BYE: 0}.get(t, HELLO_LEN))
    for n in (0, 1, HELLO_LEN - 1, BODY_MAX + 1, 65536, 1 << 31, (1 << 32) - 1):
        bad[f'length {n}'] = header(HELLO, n)
    before, errors = refusals(REFUSED_MALFORMED), protocol_errors()
    for what, head in bad.items():
        with Peer() as p:
            p.send(head + hello_body())
            assert p.refusal() == REFUSED_MALFORMED, what
    if before is not None:
        assert refusals(REFUSED_MALFORMED) - before == len(bad), 'refusals are not counted'
        assert protocol_errors() - errors >= len(bad), 'protocol errors are not counted'
    for version in (2, 3, 65535):
        with Peer() as p:
            p.send(header(HELLO, HELLO_LEN, version=version) + hello_body())
            assert p.refusal() == REFUSED_VERSION, version


@test
def bad_hello():
    """every field of a HELLO out of range"""
    top32, top16 = (1 << 32) - 1, (1 << 16) - 1
    bad = [{'version_min': 0}, {'version_min': 2, 'version_max': 1}, {'version_max': 0}]
    bad += [{'eager_max': v} for v in (0, 255, 65537, 1 << 31, top32)]
    bad += [{'slot_bytes': v} for v in (0, 8192, 8192 + 63, 128 * 1024 + 1, top32)]
    bad += [{'slots': v} for v in (0, 7, 4097, top32)]
    bad += [{'reads': v} for v in (0, 257, top32)]
    bad += [{'qps': 0}, {'addrs': 5}, {'addrs': top16}, {'reserved': 1}]
    bad += [{'name': b'x' * 64}, {'name': b'a\x1bb'}, {'name': b'a\0b'}]
    bad += [{'auth_len': 65}, {'auth_len': top32}]
    for change in bad:
        with Peer() as p:
            p.send(hello(**change))
            assert p.refusal() == REFUSED_MALFORMED, change
    for change, reason in (({'version_min': 2, 'version_max': 9}, REFUSED_VERSION),
                           ({'version_min': top16, 'version_max': top16}, REFUSED_VERSION),
                           ({'auth_alg': 1, 'auth_len': 32}, REFUSED_AUTH),
                           ({'auth_alg': top32}, REFUSED_AUTH)):
        with Peer() as p:
            p.send(hello(**change))
            assert p.refusal() == reason, change
    for change in ({'version_max': top16}, {'features': (1 << 64) - 1}, {'qps': top16},
                   {'epoch': top32}, {'keepalive_ms': 0}, {'keepalive_ms': top32}):
        up(**change).s.close()


@test
def garbage():
    """random bytes"""
    rng = random.Random(7477)
    for i in range(40 if QUICK else 300):
        data = rng.randbytes(rng.choice((1, 15, 16, 17, 311, 312, 313, 2000, 20000)))
        if i % 3 == 0:
            data = header(rng.randrange(8), rng.randrange(2000)) + data
        with Peer() as p:
            p.send(data)
            with contextlib.suppress(OSError):
                p.s.shutdown(socket.SHUT_WR)
            assert p.refusal() in (0, REFUSED_MALFORMED), i
    # an honest mistake
    with Peer() as p:
        p.send(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
        assert p.refusal() == REFUSED_MALFORMED


@test
def other_state():
    """after HELLO: what may not be said then, or not so"""
    bad = {'HELLO': hello(), 'REFUSE': header(REFUSE, 24) + bytes(24),
           'PING short': header(PING, 7) + bytes(7), 'PING long': header(PING, 9) + bytes(9),
           'PONG of no PING': header(PONG, 8) + struct.pack('<Q', (1 << 64) - 1),
           'PONG 0': header(PONG, 8) + bytes(8),
           'BYE with body': header(BYE, 1) + b'x', 'type 6': header(6, 0),
           'magic': header(PING, 8, magic=0) + bytes(8)}
    errors = protocol_errors()
    for what, data in bad.items():
        with up() as p:
            p.send(data)
            assert p.closed(), what
    if errors is not None:
        assert protocol_errors() - errors >= len(bad), 'protocol errors are not counted'
    with up() as p:
        p.send(header(BYE, 0))
        assert p.closed()


@test
def ping():
    """PONG returns the stamp; a peer that asks and does not listen stops only itself"""
    with up() as p:
        for i in range(1, 100):
            p.send(header(PING, 8) + struct.pack('<Q', i))
        got = 0
        while got < 99:
            m = p.message()
            assert m, 'closed'
            if m[0] == PONG:
                got += 1
                assert struct.unpack('<Q', m[1])[0] == got
    with up() as p:
        flood = b''.join(header(PING, 8) + struct.pack('<Q', i) for i in range(1, 1001))
        p.s.setblocking(False)
        sent, end = 0, time.monotonic() + (3 if QUICK else 10)
        while time.monotonic() < end:
            if not select.select([], [p.s], [], 1)[1]:
                break
            try:
                sent += p.s.send(flood)
            except BlockingIOError:
                continue
            except OSError as e:
                assert e.errno in (errno.EPIPE, errno.ECONNRESET), e
                break
        print(f'# {sent} bytes of PINGs until it stopped')
        took = good_client()
        assert took < 2 * SCALE, f'{took:.2f} s'


@test
def doubles():
    """a node twice is CROSSED; a session id twice is malformed"""
    nonce, ident = os.urandom(16), os.urandom(16)
    with up(nonce=nonce, session=ident):
        with Peer() as p:
            p.send(hello(nonce=nonce))
            m = p.message()
            assert m and m[0] == REFUSE, m
            assert struct.unpack('<I', m[1][:4])[0] == REFUSED_CROSSED
            assert m[1][8:24] not in (nonce, bytes(16)), 'not the nonce of the node'
        with Peer() as p:
            p.send(hello(session=ident))
            assert p.refusal() == REFUSED_MALFORMED


@test
def no_paths():
    """HELLO, and then no queue pair: put out after handshake_ms"""
    with param('handshake_ms', 1000):
        before = sessions()
        peers = [up() for _ in range(20)]
        begin = time.monotonic()
        for p in peers:
            assert p.closed()
            p.s.close()
        took = time.monotonic() - begin
        assert took < 3 * SCALE, f'{took:.2f} s'
        silent = Peer()
        assert silent.closed(), 'silence without a HELLO'
        settle(before)


@test
def many_up():
    """more HELLOs without queue pairs than there may be embryos"""
    peers = [up() for _ in range(150 if QUICK else 400)]
    took = good_client()
    assert took < 2 * SCALE, f'{took:.2f} s'
    for p in peers:
        p.s.close()


@test
def tcp_good():
    """a path over the session's connection: what is said in order is heard, the old is dropped"""
    before = counter('PATHS_TCP')
    with over_tcp() as p:
        lives(p)
        p.send(packet())
        lives(p)
        p.send(move(PACKET, bytes(50), epoch=1) + move(DATA, bytes(60000), epoch=1)
               + move(READ, epoch=1, length=5) + move(WRITE, bytes(9), epoch=0))
        lives(p)
        # it fails, and the next one, over and over
        for epoch in range(2, 12):
            p.send(path(DOWN, epoch) + path(OFF, epoch))
            while p.message() != (PATH, struct.pack('<IBBH', epoch, 0, OFF, 0)):
                pass
            p.send(path(TCP, epoch + 1))
        lives(p)
    assert counter('PATHS_TCP') - before == 11


@test
def tcp_bad():
    """what the peer of such a path may not say"""
    top32 = (1 << 32) - 1
    bad = {
        'a packet of an epoch to come': packet(epoch=3),
        'of no path': packet(index=1), 'of index 255': packet(index=255),
        'a packet that is none': move(PACKET, bytes(100)),
        'one longer than a slot': move(PACKET, bytes(20000)),
        'one twice': packet() + packet(),
        'reserved': packet(reserved=1), 'a packet with a key': packet(rkey=1),
        'a packet with a length': packet(length=1),
        'a READ without a key': move(READ, length=4096),
        'with all keys': b''.join(move(READ, length=1, rkey=1 << 8 | i) for i in range(64)),
        'of everything': move(READ, length=top32, rkey=256, addr=(1 << 64) - 1),
        'of nothing': move(READ, rkey=256),
        'DATA that nobody asked for': move(DATA, bytes(4096)),
        'of any READ': move(DATA, bytes(1), read=0xffff),
        'DATA of another length': move(DATA, bytes(10), length=9),
        'a WRITE without a key': move(WRITE, bytes(4096), rkey=256),
        'over TCP twice': path(TCP, 2), 'over TCP again': path(TCP, 3),
        'over TCP, another path': path(TCP, 2, index=1),
        'a word that is none': path(4, 2), 'DOWN of an epoch to come': path(DOWN, 9),
    }
    errors = protocol_errors()
    for what, data in bad.items():
        with over_tcp() as p:
            p.send(data)
            assert p.closed(), what
    if errors is not None:
        assert protocol_errors() - errors >= len(bad), 'protocol errors are not counted'


@test
def tcp_unasked():
    """the same of a peer that has no such feature"""
    for features in (0, 4, 8):
        for data in (packet(epoch=1), path(TCP, 1), path(OFF, 1) + path(TCP, 2)):
            with up(features=features) as p:
                p.send(data)
                assert p.closed(), features


@test
def tcp_pieces():
    """messages that end in the middle"""
    whole = packet() + move(PACKET, bytes(4000), epoch=1)
    for n in range(1, len(whole), 97 if QUICK else 13):
        with over_tcp() as p:
            p.send(whole[:n])
    took = good_client()
    assert took < 2 * SCALE, f'{took:.2f} s'


@test
def prefix():
    """an address that is in none of the prefixes"""
    with param('allow', '192.0.2.0/24,2001:db8::/32'):
        with Peer() as p:
            assert p.refusal() == REFUSED_PREFIX
    net = ADDR.rsplit('.', 1)[0] + '.0/24'
    for allow in (f'192.0.2.1, {net}', '127.0.0.0/8,10.0.0.0/8', '::/0', '0.0.0.0/0'):
        with param('allow', allow):
            up().s.close()
    for wrong in ('10.0.0.0/33', '1.2.3', 'fd00::/129', '10.0.0.0/', 'x'):
        try:
            with param('allow', wrong):
                raise AssertionError(f'{wrong} was taken')
        except OSError as e:
            assert e.errno == errno.EINVAL, e


def main():
    fd = None if GOOD else listen()
    print('KTAP version 1')
    print(f'1..{len(TESTS)}')
    # a session that a good client leaves ends soon, so that the next one dials
    with param('session_idle_ms', 1000):
        failed = run()
    if fd is not None:
        os.close(fd)
    return 1 if failed else 0


def run():
    failed = 0
    before = sessions()
    for n, t in enumerate(TESTS, 1):
        begin = time.monotonic()
        try:
            t()
            settle(before)
            verdict = 'ok'
        except (AssertionError, OSError, subprocess.CalledProcessError) as e:
            print(f'# {type(e).__name__}: {e}')
            tb = e.__traceback__
            while tb:
                print(f'#   line {tb.tb_lineno} in {tb.tb_frame.f_code.co_name}')
                tb = tb.tb_next
            verdict = 'not ok'
            failed += 1
        print(f'{verdict} {n} {t.__name__}  # {time.monotonic() - begin:.1f} s', flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
