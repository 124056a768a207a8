# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of one s390x guest in QEMU: Debian 13 with systemd, udev and sshd on four emulated CPUs.

    guest up          start it unless it runs
    guest down        remove it if it exists
    guest status      whether it answers
    guest inventory   the guest as an Ansible inventory (JSON)
    guest login       a shell in it, or one command: guest login uname -a

It looks like a guest of KVM and, without a topology facility, refuses what guests of z/VM and KVM refuse. Everything
written in it lasts until `guest down`.
"""

import functools
import lzma
import shutil
from pathlib import Path

import debian
import lab
from emulated import EmulatedLab, main
from machine import run, write

SUITE, ARCHITECTURE = "trixie", "s390x"
PACKAGES = ["?essential", "systemd-sysv", "udev", "openssh-server", "python3", "iproute2", "ethtool", "kmod", "procps"]
PACKAGES += ["s390-tools", "busybox-static", "linux-image-s390x"]
WITHOUT = ["/usr/share/doc", "/usr/share/info", "/usr/share/locale", "/usr/share/man"]
SIZE = 1500 * 1024 * 1024  # of its disk; unused blocks take no space
INTERFACE = "enc1"  # udev's name for the device number in QEMU's options

ADDRESS = "10.0.2.15"  # behind the network that QEMU emulates for its guest
NETWORK = f"""\
[Match]
Name={INTERFACE}
[Network]
Address={ADDRESS}/24
Gateway=10.0.2.2
LinkLocalAddressing=no
IPv6AcceptRA=no
"""

FOLDERS = ["usr/local/bin", "usr/local/sbin"]
FILES = {
    "etc/fstab": "/dev/vda / ext4 noatime 0 0\n",
    "etc/hosts": "127.0.0.1 localhost\n127.0.1.1 guest\n",
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "etc/shadow": "root:*:::::::\n",
    # reads the lab's own file, and does not shut out frequent clients
    "etc/ssh/sshd_config": "Include /etc/ssh/zps_sshd_config\nPerSourcePenalties no\n",
    "etc/systemd/network/10-lab.network": NETWORK,
}

# What the packages would do if they were installed, as far as this guest needs it; emulated, that takes minutes.
COPIES = {
    "usr/share/base-passwd/passwd.master": "etc/passwd",
    "usr/share/base-passwd/group.master": "etc/group",
    "usr/share/libc-bin/nsswitch.conf": "etc/nsswitch.conf",
}
ENABLED = ["ssh.service", "systemd-networkd.service"]
# Nothing depends on these, and under emulation each of them is slow.
MASKED = [
    "system/getty.target",
    "system/systemd-hwdb-update.service",
    "system/systemd-networkd-wait-online.service",
    "system-generators/systemd-ssh-generator",
]

# Debian's kernel has the disk's driver and its file system as modules.
MODULES = ["crc32c_generic", "virtio_blk", "ext4"]
INIT = """\
#!/bin/sh
b=/bin/busybox
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
until [ -b /dev/vda ]; do $b sleep 0.1; done
$b mount -t ext4 -o noatime /dev/vda /root
$b cp -a /guest/. /root/
$b mount --move /dev /root/dev
exec $b switch_root /root /sbin/init
"""


def make_image(folder, scratch):
    """Write disk, vmlinuz and initrd into the folder of an image."""
    root = scratch / "root"
    packages = debian.packages(SUITE, ARCHITECTURE, PACKAGES, scratch / "apt")
    debian.unpack(packages, root, without=WITHOUT)
    for path in FOLDERS:
        (root / path).mkdir(parents=True)
    for path, text in FILES.items():
        write(str(root / path), text)
    for source, target in COPIES.items():
        shutil.copy(root / source, root / target)
    systemd = root / "etc/systemd"
    for unit in ENABLED:
        link(systemd / "system/multi-user.target.wants" / unit, f"/usr/lib/systemd/system/{unit}")
    for unit in MASKED:
        link(systemd / unit, "/dev/null")
    kernel = next((root / "boot").glob("vmlinuz-*"))
    version = kernel.name.partition("-")[2]
    run(["depmod", "--basedir", str(root), version])
    kernel.rename(folder / "vmlinuz")
    make_initrd(root, version, scratch / "initrd", folder / "initrd")
    with (folder / "disk").open("w") as disk:
        disk.truncate(SIZE)
    run(["mkfs.ext4", "-q", "-d", str(root), "-L", "root", str(folder / "disk")])
    debian.write_manifest(folder, packages)


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def make_initrd(root, version, tree, archive):
    """Pack what mounts the disk: busybox, and the modules in the order of their loading."""
    for part in ("bin", "dev", "modules", "root"):
        (tree / part).mkdir(parents=True)
    shutil.copy(root / "usr/bin/busybox", tree / "bin")
    (tree / "bin/sh").symlink_to("busybox")
    write(str(tree / "init"), INIT, 0o755)
    shown = [run(["modprobe", f"--dirname={root}", f"--set-version={version}", "--show-depends", m]) for m in MODULES]
    paths = dict.fromkeys(line.split()[1] for line in "".join(shown).splitlines() if line.startswith("insmod"))
    for number, path in enumerate(paths):
        with lzma.open(path) as module:
            (tree / f"modules/{number:02}.ko").write_bytes(module.read())
    debian.cpio(tree, archive)


# vx=off: otherwise, kernels from 6.9 on drop every TCP segment on QEMU 7.2
MACHINE = """
    qemu-system-s390x -M s390-ccw-virtio -accel tcg,thread=multi -cpu max,vx=off,vxeh=off -smp 4 -m 768M
    -nodefaults -display none -chardev stdio,id=console,signal=off -device sclpconsole,chardev=console
    -kernel {image}/vmlinuz -initrd {initrd}
    -drive if=none,id=disk,file={image}/disk,format=raw,cache=unsafe,snapshot=on
    -device virtio-blk-ccw,drive=disk,devno=fe.0.0000
    -netdev user,id=net,hostfwd=tcp:{address}:22-{inside}:22 -device virtio-net-ccw,netdev=net,devno=fe.0.0001
    -object rng-random,id=random,filename=/dev/urandom -device virtio-rng-ccw,rng=random,devno=fe.0.0002
"""
PARAMETERS = "root=/dev/vda rw console=ttysclp0 quiet"


class GuestLab(EmulatedLab):
    """A lab with a virtual machine as its only host, reached through a port of a lab host's address."""

    HOSTS = ["guest"]
    STARTED_BY = "make lab-guest"
    TOOLS = EmulatedLab.TOOLS | {
        "depmod": "kmod",
        "mkfs.ext4": "e2fsprogs",
        "qemu-system-s390x": "qemu-system-s390x",
    }

    def prepare(self, action):
        super().prepare(action)
        if action == "up":
            self.image = debian.image("guest", Path(__file__).read_text(), make_image)

    def start_host(self, name, address):
        """Boot the image; the lab's own files are in the initrd, which copies them onto the disk."""
        run(["ip", "-netns", self.prefix + name, "address", "add", f"{address}/22", "dev", lab.INTERFACE])
        own, whole = (Path(self.folder, name + suffix) for suffix in (".cpio", ".initrd"))
        # sshd may start before the network has its address, and does not try again
        debian.cpio(Path(self.layer(name, "0.0.0.0")).parent, own)
        whole.write_bytes((self.image / "initrd").read_bytes() + own.read_bytes())
        values = {"image": self.image, "initrd": whole, "address": address, "inside": ADDRESS}
        self.start(name, [*[word.format(**values) for word in MACHINE.split()], "-append", PARAMETERS])


if __name__ == "__main__":
    lab.program(functools.partial(main, GuestLab, __doc__, "guest"))
