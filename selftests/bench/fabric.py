# SPDX-License-Identifier: GPL-2.0-only
"""In the guest: hosts on one switch, for comparisons in which nobody pays for a NIC.

Port 0 is the server's, the others are clients'.  A port is one end of a veth pair; the
other end is a port of a bridge.  TCP goes over that, with whole segments of 64 KiB (a NIC
would cut them), and a token bucket with a finite queue at each port of the bridge and of
each host.  RDMA is hwsim's on the same netdevs, with the same rate and the same queue.
Port 0 has an address for each client, so that each client is a peer of its own, with its
own queue pairs.
"""

import glob
import subprocess

BURST = 1 << 17         # bytes; a bucket that holds one segment of 64 KiB, or tbf cuts it
HOST_QUEUE = 1 << 24
DELAY_NS = 5000         # hwsim's, from the switch to the port


def run(*words):
    subprocess.run([str(w) for w in words], check=True)


def put(path, value):
    with open(path, 'w', encoding='ascii') as f:
        f.write(str(value))


def server(i):
    """Port 0's address for client I."""
    return f'10.79.1.{i}'


def client(i):
    return f'10.79.0.{i}'


def mac(device):
    with open(f'/sys/class/net/{device}/address', encoding='ascii') as f:
        return f.read().strip()


class Fabric:
    def __init__(self, clients, mbit, queue):
        self.clients, self.mbit, self.queue = clients, mbit, queue
        self.congestion = None
        run('modprobe', '-a', 'bridge', 'veth', 'sch_tbf', 'sch_red', 'tcp_dctcp')
        run('ip', 'link', 'add', 'br0', 'mtu', 4500, 'type', 'bridge')
        run('ip', 'link', 'set', 'br0', 'up')
        put('/proc/sys/net/ipv4/conf/all/accept_local', 1)
        put('/proc/sys/net/ipv4/conf/all/rp_filter', 0)
        for i in range(clients + 1):
            self.port(i)
        for i in range(1, clients + 1):
            run('ip', 'addr', 'add', f'{server(i)}/32', 'dev', 'p0')
            self.route(i, client(i), server(i), 'p0', 100 + i)
            self.route(0, server(i), client(i), f'p{i}', 200 + i)
        run('ip', 'rule', 'add', 'pref', 30, 'lookup', 'local')
        run('ip', 'rule', 'del', 'pref', 0)

    def port(self, i):
        near, far = f'p{i}', f'q{i}'
        run('ip', 'link', 'add', near, 'mtu', 4500, 'type', 'veth', 'peer', 'name', far, 'mtu', 4500)
        run('ip', 'link', 'set', far, 'master', 'br0', 'up')
        run('ip', 'link', 'set', near, 'up')
        put(f'/proc/sys/net/ipv4/conf/{near}/accept_local', 1)
        put(f'/proc/sys/net/ipv4/conf/{near}/rp_filter', 0)
        if i:
            run('ip', 'addr', 'add', f'{client(i)}/32', 'dev', near)
        # what arrives is for this host, though its sender is this host, too
        run('ip', 'rule', 'add', 'pref', 10, 'iif', near, 'lookup', 'local')
        run('rdma', 'link', 'add', f'hw{near}', 'type', 'hwsim', 'netdev', near)
        for name, value in (('rate_mbps', self.mbit), ('delay_ns', DELAY_NS), ('pfc_bytes', self.queue)):
            put(f'/sys/kernel/debug/hwsim/hw{near}/{name}', value)

    @staticmethod
    def route(port, near, far, far_port, table):
        """From NEAR, an address of PORT, to FAR over the wire, though both are this host's."""
        device = f'p{port}'
        run('ip', 'rule', 'add', 'pref', 20, 'from', near, 'to', far, 'lookup', table)
        if port:        # before an address was chosen
            run('ip', 'rule', 'add', 'pref', 21, 'to', far, 'lookup', table)
        run('ip', 'route', 'add', far, 'dev', device, 'src', near, 'table', table)
        run('ip', 'neigh', 'replace', far, 'lladdr', mac(far_port), 'dev', device, 'nud', 'permanent')

    def shape(self, device, limit, marks):
        run('tc', 'qdisc', 'add', 'dev', device, 'root', 'handle', '1:', 'tbf', 'rate', f'{self.mbit}mbit',
            'burst', BURST, 'limit', limit)
        if marks:       # DCTCP's: every packet above one threshold
            least = limit // 4
            run('tc', 'qdisc', 'add', 'dev', device, 'parent', '1:', 'handle', '10:', 'red', 'limit', limit,
                'min', least, 'max', least + 1500, 'avpkt', 1500, 'burst', least // 1500 + 1, 'bandwidth', f'{self.mbit}mbit',
                'probability', 1, 'ecn')

    def tcp(self, congestion):
        """cubic, with queues that drop, or dctcp, with queues that mark."""
        if congestion == self.congestion:
            return
        put('/proc/sys/net/ipv4/tcp_congestion_control', congestion)
        put('/proc/sys/net/ipv4/tcp_ecn', 1 if congestion == 'dctcp' else 2)
        for i in range(self.clients + 1):
            for device in (f'p{i}', f'q{i}'):
                if self.congestion:
                    run('tc', 'qdisc', 'del', 'dev', device, 'root')
                # a host's own queue holds its sockets up, and drops nothing
                if device[0] == 'p':
                    self.shape(device, HOST_QUEUE, False)
                else:
                    self.shape(device, self.queue, congestion == 'dctcp')
        self.congestion = congestion

    @staticmethod
    def counters():
        """Sums over all ports: what the queues did."""
        out = {}
        for name in ('rx_bytes', 'pfc_pauses', 'queue_drops', 'ecn_marks', 'queue_high_water_bytes'):
            out[name] = 0
            for path in glob.glob(f'/sys/class/infiniband/hwp*/ports/1/hw_counters/{name}'):
                with open(path, encoding='ascii') as f:
                    out[name] += int(f.read())
        text = subprocess.run(['tc', '-s', 'qdisc', 'show'], stdout=subprocess.PIPE, text=True, check=True).stdout
        out['tc_dropped'] = sum(int(line.split('dropped ')[1].split(',')[0]) for line in text.splitlines() if 'dropped ' in line)
        return out


def names(clients):
    return ','.join(server(i) for i in range(1, clients + 1))
