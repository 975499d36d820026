# SPDX-License-Identifier: GPL-2.0-only
"""The three kernels that guests boot, their initramfs, and KVM or TCG."""

import glob
import hashlib
import lzma
import os
import re
import subprocess

from . import base
from .base import BedError, CACHE, TOP

QEMU = 'qemu-system-x86_64'
NAMES = ('6.1', '6.12', 'debug')

# What an initramfs has to load before it can mount 9p, in any order.
BOOT_MODULES = ('virtio_pci', 'virtio_console', '9pnet_virtio', '9p')


class Kernel:
    """A kernel to boot: image, release, and where its modules are."""

    def __init__(self, name, release, image, modules):
        self.name = name
        self.release = release
        self.image = image          # what -kernel gets
        self.modules = modules      # directory that holds <release>/
        self.debug = name == 'debug'
        # directory under build/modules
        self.build_name = 'debug' if self.debug else release


def find(name):
    if name == 'debug':
        return find_debug()
    if name not in NAMES:
        raise BedError(f"no kernel '{name}'", 'one of: ' + ' '.join(NAMES))
    return find_stock(name)


def find_debug():
    script = os.path.join(TOP, 'selftests/kernels/debug-kernel')
    r = subprocess.run([script, '--print'], stdout=subprocess.PIPE, text=True)
    if r.returncode:
        raise BedError('there is no debug kernel', f'{script} (it says what is missing)')
    home = r.stdout.strip()
    release = open(os.path.join(home, 'release')).read().strip()
    # With KASAN the extracted vmlinux ends at once: the bzImage it is.
    return Kernel('debug', release, os.path.join(home, 'bzImage'),
                  os.path.join(home, 'root/lib/modules'))


def find_stock(name):
    """The newest installed Debian kernel NAME that has both image and modules."""
    pattern = re.compile(re.escape(name) + r'\.\d[^/]*-amd64$')
    found = []
    for image in glob.glob('/boot/vmlinuz-*'):
        release = image[len('/boot/vmlinuz-'):]
        if (pattern.match(release) and '-cloud-' not in release and '-rt-' not in release
                and os.path.exists(f'/lib/modules/{release}/modules.dep')):
            found.append(release)
    if not found:
        package = 'linux-image-amd64' if name == '6.1' else f'linux-image-{name}-amd64'
        raise BedError(f'no Debian kernel {name} is installed',
                       f'apt-get install {package} (6.12 is in the security or backports archive)')
    release = max(found, key=lambda r: [int(n) for n in re.findall(r'\d+', r)])
    return Kernel(name, release, unpacked(f'/boot/vmlinuz-{release}'), '/lib/modules')


def unpacked(vmlinuz):
    """The ELF inside a vmlinuz, which boots by PVH in half the time; or VMLINUZ."""
    out = os.path.join(CACHE, 'kernels', os.path.basename(vmlinuz), 'vmlinux')
    if base.newer(out, vmlinuz):
        return out
    with base.lock('kernels'):
        if base.newer(out, vmlinuz):
            return out
        data = open(vmlinuz, 'rb').read()
        elf = unpack_xz(data) or unpack_zstd(data)
        if not elf:
            base.say(f'cannot unpack {vmlinuz}: booting it as it is (slower)')
            return vmlinuz
        base.write_whole(out, elf)
        return out


def unpack_xz(data):
    at = data.find(b'\xfd7zXZ\x00')
    while at >= 0:
        try:
            elf = lzma.LZMADecompressor().decompress(data[at:])
            if elf[:4] == b'\x7fELF':
                return elf
        except lzma.LZMAError:
            pass
        at = data.find(b'\xfd7zXZ\x00', at + 1)
    return None


def unpack_zstd(data):
    at = data.find(b'\x28\xb5\x2f\xfd')
    while at >= 0:
        try:
            # what follows the frame in the image makes zstd fail, after the ELF is out
            r = subprocess.run(['zstd', '-dcq'], input=data[at:], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            return None
        if r.stdout[:4] == b'\x7fELF':
            return r.stdout
        at = data.find(b'\x28\xb5\x2f\xfd', at + 1)
    return None


def boot_modules(kernel):
    """Files of BOOT_MODULES and what they need, in the order of loading."""
    root = os.path.join(kernel.modules, kernel.release)
    deps, path = {}, {}
    for line in open(os.path.join(root, 'modules.dep')):
        file, _, needs = line.partition(':')
        deps[file] = needs.split()
        path[re.sub(r'\.ko.*', '', os.path.basename(file)).replace('-', '_')] = file
    order = []

    def add(file):
        for d in deps[file]:
            add(d)
        if file not in order:
            order.append(file)

    for name in BOOT_MODULES:
        if name in path:            # else it is built in
            add(path[name])
    return [os.path.join(root, f) for f in order]


def cpio_entry(name, mode, data=b''):
    head = ('070701' + '%08x' * 13 % (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0,
                                      len(name) + 1, 0)).encode()
    out = head + name.encode() + b'\0'
    out += b'\0' * (-len(out) % 4)
    return out + data + b'\0' * (-len(data) % 4)


def initramfs(kernel):
    """The initramfs of KERNEL: static busybox, init, and the boot modules."""
    init = os.path.join(TOP, 'selftests/vm/guest/init')
    busybox = '/bin/busybox'
    if not os.path.exists(busybox) or b'/ld-linux' in open(busybox, 'rb').read(4096):
        raise BedError('no static busybox', 'apt-get install busybox-static')
    sources = [init, busybox] + boot_modules(kernel)
    stamp = hashlib.sha256(repr([(s, os.stat(s).st_mtime_ns, os.stat(s).st_size)
                                 for s in sources]).encode() + open(__file__, 'rb').read())
    out = os.path.join(CACHE, 'initramfs', f'{kernel.release}-{stamp.hexdigest()[:16]}.cpio')
    if os.path.exists(out):
        return out
    parts = [cpio_entry(d, 0o40755) for d in ('bin', 'mod', 'proc', 'sys', 'newroot')]
    parts.append(cpio_entry('bin/busybox', 0o100755, open(busybox, 'rb').read()))
    parts.append(cpio_entry('init', 0o100755, open(init, 'rb').read()))
    for n, file in enumerate(boot_modules(kernel)):
        data = open(file, 'rb').read()
        if file.endswith('.xz'):
            data = lzma.decompress(data)
        parts.append(cpio_entry(f'mod/{n:02}.ko', 0o100644, data))
    parts.append(cpio_entry('TRAILER!!!', 0))
    for old in glob.glob(os.path.join(CACHE, 'initramfs', f'{kernel.release}-*.cpio')):
        if os.path.getmtime(old) < os.path.getmtime(init) - 86400:
            os.unlink(old)
    base.write_whole(out, b''.join(parts))
    return out


def accel(kernel):
    """'kvm' or 'tcg': KVM when a guest really boots under it within 10 s.

    /dev/kvm may be there and hang a kernel for ever (nested machines), so it is
    tried once per machine; the answer is in $DMS_CACHE/accel.
    """
    forced = os.environ.get('DMS_ACCEL')
    if forced in ('kvm', 'tcg'):
        return forced
    if forced:
        raise BedError(f"DMS_ACCEL is '{forced}'", 'kvm or tcg, or unset')
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'tcg'
    machine = open('/proc/cpuinfo').read().split('\n\n')[0]
    machine = re.sub(r'(?m)^(cpu MHz|bogomips|processor|core id|apicid|initial apicid)\b.*$', '', machine)
    qemu = subprocess.run([QEMU, '--version'], stdout=subprocess.PIPE).stdout
    key = hashlib.sha256(machine.encode() + os.uname().release.encode() + qemu).hexdigest()[:16]
    memo = os.path.join(CACHE, 'accel', key)
    with base.lock('accel'):
        try:
            return open(memo).read().strip()
        except FileNotFoundError:
            answer = 'kvm' if kvm_boots(kernel) else 'tcg'
            base.say(f'KVM {"works" if answer == "kvm" else "does not boot a guest"} here: '
                     f'using {answer} (remembered in {memo})')
            base.write_whole(memo, answer.encode() + b'\n')
            return answer


def kvm_boots(kernel):
    base.say('trying whether a guest boots under KVM (10 s at most)')
    try:
        r = subprocess.run(
            [QEMU, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-M', 'q35',
             '-accel', 'kvm', '-cpu', 'max', '-smp', '2', '-m', '512M', '-serial', 'stdio',
             '-kernel', kernel.image, '-initrd', initramfs(kernel),
             '-append', 'console=ttyS0 panic=-1 no_timer_check quiet dms.try=1'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10)
        return b'dms-try: alive' in r.stdout
    except subprocess.TimeoutExpired:
        return False
