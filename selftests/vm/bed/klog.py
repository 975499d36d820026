# SPDX-License-Identifier: GPL-2.0-only
"""What in a kernel's log makes a run fail."""

import re

# Each is a report that the kernel makes of a fault, whoever caused it.
BAD = [
    r'\bWARNING: ', r'\bBUG: ', r'\bkernel BUG at ', r'\bOops\b', r'general protection fault',
    r'Kernel panic', r'unable to handle', r'divide error:',
    r'\bKASAN: (?!initialized)', r'\bUBSAN: ', r'\bODEBUG: ', r'\brefcount_t: ', r'\bref_tracker: ',
    r'possible circular locking', r'possible recursive locking', r'inconsistent lock state',
    r'irq lock inversion', r'suspicious RCU', r'DEBUG_LOCKS_WARN_ON', r'lock held when returning',
    r'held lock freed', r'HARDIRQ-safe -> HARDIRQ-unsafe', r'turning off the locking correctness',
    r'trying to register non-static key', r'INFO: task .* blocked for more than',
    r'soft lockup', r'hard LOCKUP', r'detected stalls? on CPU', r'self-detected stall',
    r'scheduling while atomic', r'list_(add|del) corruption', r'bad page', r'Bad page',
    r'page allocation failure', r'Out of memory: Killed', r'unregister_netdevice: waiting for',
    r'unreferenced object', r'Objects remaining|objects remaining', r'DMA-API: ', r'hwsim: FAULT: ',
]
BAD_RE = re.compile('|'.join(f'(?:{b})' for b in BAD))

# Ordinary lines that look like one of those.
GOOD_RE = re.compile(
    r'DMA-API: (preallocated|debugging enabled|debugging disabled|total pool)'
    r'|Speculative Store Bypass|RETBleed|Spectre')

# What a kernel says of time that the host took from it.
STALL_RE = re.compile(r'soft lockup|detected stalls? on CPU|self-detected stall')

STALL_LINES = 6
# A CPU that RCU waits for, and how many of its ticks it had meanwhile.  "GPs behind": it
# did not see a tick since the wait began.
STALL_CPU_RE = re.compile(r'\b\d+-\S{4}: \((\d+) (ticks this GP|GPs behind)\)')

STAMP_RE = re.compile(r'^(?:<\d+>)?\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])?\s*')


class Scanner:
    """Collects the bad lines of one guest, each once."""

    def __init__(self, allow):
        self.allow = [re.compile(a) for a in allow]
        self.bad = []
        self.allowed = 0
        self.starved = []       # stalls of CPUs that the host did not run
        self.paused = False     # the whole guest stood still for a while
        self._seen = set()
        self._more = 0          # lines that still belong to the last bad one

    def end(self):
        """All lines were seen."""
        self.starved = [b for b in self.bad if not_run(b)]
        self.bad = [b for b in self.bad if b not in self.starved]

    def line(self, text):
        if not BAD_RE.search(text) or GOOD_RE.search(text):
            if self._more:
                self._more -= 1
                self.bad[-1] += ' / ' + STAMP_RE.sub('', text).strip()
            return
        self._more = 0
        key = STAMP_RE.sub('', text)
        if key in self._seen:
            return
        self._seen.add(key)
        if any(a.search(text) for a in self.allow) or self.paused and STALL_RE.search(text):
            self.allowed += 1
        else:
            self.bad.append(text)
            # which CPU, and since when, is said in the lines that follow
            self._more = STALL_LINES if STALL_RE.search(text) else 0


def not_run(stall):
    """Did each CPU of this report of RCU get no ticks?

    Who loops, gets them, and is to blame; a processor that loops for ever with
    interrupts off does not come to the end of its run.  Who was not run by the host
    for 20 s, gets none.
    """
    cpus = STALL_CPU_RE.findall(stall)
    return bool(cpus) and 'blocked on' not in stall and all(
        what == 'GPs behind' or int(ticks) <= 10 for ticks, what in cpus)


def leaks(text):
    """Split a kmemleak listing: (entries of the module, number of others).

    The module has been unloaded by then, so that its code has no names any more:
    an address in the area of modules without a symbol is its.
    """
    ours, others = [], 0
    for entry in re.split(r'(?m)^(?=unreferenced object)', text):
        if not entry.startswith('unreferenced'):
            continue
        if 'dmastream' in entry or re.search(r'\] 0xf{8}[a-f][0-9a-f]{7}$', entry, re.M):
            ours.append(entry)
        else:
            others += 1
    return ours, others
