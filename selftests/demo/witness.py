# SPDX-License-Identifier: GPL-2.0-only
"""A witness of where payload went that does not trust the module.

rxe is a NIC in software: each byte that it takes off a packet or puts into one
passes rxe_mr_copy(), and each page that it gets a key for passes rxe_set_page().
Kprobes on both add up, page by page, what went where.  The pages of a process
are read from its pagemap.  A payload byte was placed without a copy when the
NIC's own copy went to a page of the receiving process, and was sent without one
when the NIC read it from a page that the sending process has mapped.

Works without address space randomisation of the kernel (nokaslr), which is how
a kernel address becomes a page frame.
"""

import glob
import os
import re
import struct

TRACE = '/sys/kernel/tracing'
TO_MEMORY, FROM_MEMORY = 0, 1           # enum rxe_mr_copy_dir
DIRECT_MAPS = (0xff11000000000000, 0xffff888000000000)      # with and without 5-level tables
PAGE = 4096


def write(path, text):
    # neither truncated, which would remove the other probes, nor sought in
    fd = os.open(f'{TRACE}/{path}', os.O_WRONLY | os.O_APPEND)
    os.write(fd, text.encode() + b'\n')
    os.close(fd)


class Witness:
    def __init__(self):
        self.frames = set()     # page frames seen in the process's pool mappings

    def start(self):
        """Put the probes in: nothing is recorded but sums, so any size of file will do."""
        write('kprobe_events', 'p:dms/copy rxe_mr_copy iova=$arg2:x64 len=$arg4:u32 dir=$arg5:u32')
        write('kprobe_events', 'p:dms/page rxe_set_page addr=$arg2:x64')
        write('events/dms/copy/trigger', f'hist:keys=dir,iova.buckets={PAGE}:vals=len:size=131072')
        write('events/dms/page/trigger', 'hist:keys=addr.hex:size=131072')

    def look_at(self, pid):
        """Add what PID has mapped of the device and of its pools."""
        try:
            maps = open(f'/proc/{pid}/maps').read()
            pagemap = open(f'/proc/{pid}/pagemap', 'rb', buffering=0)
        except OSError:         # it has ended, or is about to: ENOENT, ESRCH or EACCES by the kernel's version
            return
        for line in maps.splitlines():
            if 'dmastream' not in line:
                continue
            begin, end = (int(x, 16) for x in line.split()[0].split('-'))
            try:
                pagemap.seek(begin // PAGE * 8)
                data = pagemap.read((end - begin) // PAGE * 8)
            except (OSError, ValueError):
                continue
            for (entry,) in struct.iter_unpack('<Q', data[:len(data) // 8 * 8]):
                if entry >> 63 and entry & ((1 << 55) - 1):
                    self.frames.add(entry & ((1 << 55) - 1))

    @staticmethod
    def frame_of(address):
        for base in DIRECT_MAPS:
            if base <= address < base + (1 << 46):
                return (address - base) // PAGE
        return None

    def finish(self):
        """What the NIC did, as sums of bytes and pages."""
        placed = elsewhere = read = 0
        hist = open(f'{TRACE}/events/dms/copy/hist').read()
        for d, address, length in re.findall(
                r'\{ dir:\s*(\d+), iova: ~ (\d+)-\d+ \} hitcount:\s*\d+\s+len:\s*(\d+)', hist):
            if int(d) == FROM_MEMORY:
                read += int(length)
            elif self.frame_of(int(address)) in self.frames:
                placed += int(length)
            else:
                elsewhere += int(length)
        keyed = [int(a, 16) for a in re.findall(
            r'\{ addr:\s*([0-9a-f]+) \}', open(f'{TRACE}/events/dms/page/hist').read())]
        dropped = sum(int(n) for path in glob.glob(f'{TRACE}/events/dms/*/hist')
                      for n in re.findall(r'Dropped: (\d+)', open(path).read()))
        return {
            'pages_of_process': len(self.frames),
            'placed_in_process': placed,            # bytes that the NIC put into them
            'placed_elsewhere': elsewhere,          # receive queue: headers, eager payload
            'read_by_nic': read,                    # bytes that the NIC took from memory
            'keyed': len(keyed),                    # places that the NIC got a key for
            'keyed_in_process': sum(self.frame_of(a) in self.frames for a in keyed),
            'dropped': dropped,                     # what the sums do not cover
        }
