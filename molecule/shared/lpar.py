# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LPARs of an IBM Z on this machine, with real Linux kernels, in the emulator Hercules, reached over SSH.

    lpar up              start them; the first time, make their images from Debian packages
    lpar down            remove everything that exists
    lpar status          which hosts answer
    lpar inventory       the hosts as an Ansible inventory (JSON)
    lpar login HOST [COMMAND ...]

lpar61 has Debian 12 with kernel 6.1, lpar612 has Debian 13 with kernel 6.12, which boots with vertical polarization.
Each has four CPUs, a root in memory, and a point-to-point link (CTC) behind which this machine answers for its address.
peer is a host of the other lab (see lab.py) in the same network, against which an LPAR can measure.
"""

import functools
import ipaddress
import lzma
import os
import shutil
import struct
from pathlib import Path

import debian
import lab
from emulated import EmulatedLab, main
from machine import LabError, run, write

SHARED = Path(__file__).resolve().parent
SITECUSTOMIZE = SHARED.parents[1] / "tests" / "unit" / "support" / "site" / "sitecustomize.py"
SOURCES = [SHARED / "lpar.py", SHARED / "lpar-init", SITECUSTOMIZE]
LPARS = {"lpar61": "bookworm", "lpar612": "trixie"}
PEER = "peer"
CPUS = 4
PACKAGES = ["base-files", "base-passwd", "bash", "coreutils", "dash", "dropbear-bin", "findutils", "gawk", "grep"]
PACKAGES += ["hostname", "iproute2", "kmod", "linux-image-s390x", "mount", "procps", "python3", "sed"]
PACKAGES += ["systemd-standalone-tmpfiles", "util-linux"]
MODULES = ["ccwgroup", "fsm", "ctcm"]
# What an LPAR never reads, but would load into memory at every boot.
WITHOUT = [f"/usr/bin/{name}" for name in ("apt*", "dpkg*", "perl*")]
WITHOUT += [
    f"/usr/lib/{name}" for name in ("klibc", "s390x-linux-gnu/gconv", "s390x-linux-gnu/perl*", "systemd", "udev")
]
WITHOUT += [
    f"/usr/lib/python3*/{name}" for name in ("ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter")
]
WITHOUT += [f"/usr/share/{name}" for name in ("bash-completion", "bug", "doc*", "i18n", "info", "initramfs-tools")]
WITHOUT += [f"/usr/share/{name}" for name in ("lintian", "locale", "man", "perl*", "zoneinfo")]

INITRD = 0x04000000
OWN = 64 * 1024  # room for an LPAR's own files, behind the image's initramfs
PARAMETERS = b"console=ttyS0 conmode=sclp rdinit=/init nokaslr quiet cio_ignore=all,!0600-0601\0"
# A kernel of this architecture looks for its initramfs and its parameters at these addresses.
LOAD_LIST = """\
* Linux
vmlinuz 0x00000000
initrd 0x{initrd:08x}
place 0x00010408
parameters 0x00010480
"""
# The four priorities: otherwise, Hercules runs its CPUs at nice 15.
HERCULES = """\
CPUSERIAL 002623
CPUMODEL 2817
MODEL M49
PLANT 02
MANUFACTURER IBM
LPARNAME {name}
MAINSIZE 1024
XPNDSIZE 0
NUMCPU {cpus}
MAXCPU {cpus}
ARCHMODE z/Arch
OSTAILOR LINUX
SYSEPOCH 1900
TZOFFSET +0000
CODEPAGE 819/1047
PANRATE SLOW
HERCPRIO 0
CPUPRIO 0
DEVPRIO 0
TODPRIO 0
0600.2 CTCI -n /dev/net/tun {address} {gateway}
"""


def make_image(suite, folder, scratch):
    """Make kernel and initramfs of an LPAR: packages are only unpacked, so no emulator is needed."""
    root = scratch / "root"
    chosen = debian.packages(suite, "s390x", PACKAGES, scratch / "apt")
    debian.unpack(chosen, root, WITHOUT)
    debian.write_manifest(folder, chosen)
    shutil.move(next(root.glob("boot/vmlinuz-*")), folder / "vmlinuz")
    keep_modules(root)
    configure(root)
    python = next(root.glob("usr/lib/python3.*"))
    # a link into /etc, which would lead out of the root
    (python / "sitecustomize.py").unlink()
    shutil.copy(SITECUSTOMIZE, python / "sitecustomize.py")
    compile_library(suite, python, scratch)
    debian.cpio(root, folder / "initrd")
    size = (folder / "initrd").stat().st_size
    (folder / "place").write_bytes(struct.pack(">QQ", INITRD, size + OWN))
    (folder / "parameters").write_bytes(PARAMETERS)
    write(folder / "boot.ins", LOAD_LIST.format(initrd=INITRD))


def keep_modules(root):
    """Keep only the drivers of the link and the configuration of the kernel."""
    unpacked = {".ko": bytes, ".xz": lzma.decompress}
    kept = root / "lab/modules"
    kept.mkdir(parents=True)
    folder = root / "usr/lib/modules"
    for path in folder.rglob("*.ko*"):
        name = path.name.partition(".")[0]
        if name in MODULES:
            (kept / f"{name}.ko").write_bytes(unpacked[path.suffix](path.read_bytes()))
    shutil.rmtree(folder)
    for path in root.glob("boot/*"):
        if not path.name.startswith("config-"):
            path.unlink()


def configure(root):
    """Do the work of the packages' maintainer scripts, as far as an LPAR needs it."""
    for folder in ("dev", "etc/sysctl.d", "etc/tmpfiles.d", "proc", "run", "sys", "var/log"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("tmp", "var/tmp"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder).chmod(0o1777)
    for name in ("passwd", "group"):
        text = (root / f"usr/share/base-passwd/{name}.master").read_text()
        write(root / "etc" / name, text.replace("root::", "root:*:"))
    write(root / "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    write(root / "etc/shells", "/bin/sh\n/bin/bash\n")
    for name, target in (("sh", "dash"), ("awk", "gawk")):
        if not (root / "usr/bin" / name).exists():
            (root / "usr/bin" / name).symlink_to(target)
    shutil.copy(SHARED / "lpar-init", root / "init")
    (root / "init").chmod(0o755)


def compile_library(suite, library, scratch):
    """Compile Python's modules with this machine's build of the same version; byte code does not depend on the
    architecture.
    """
    root = scratch / "compiler"
    architecture = run(["dpkg", "--print-architecture"]).strip()
    chosen = debian.packages(suite, architecture, ["libpython3-stdlib", "python3-minimal"], scratch / "apt-compiler")
    debian.unpack(chosen, root, ["/usr/share/*"])
    library.rename(root / "library")
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", "/library", "-p", f"/usr/lib/{library.name}"]
    run(["chroot", str(root), f"/usr/bin/{library.name}", "-m", "compileall", *options, "/library"], timeout=600)
    (root / "library").rename(library)


class LparLab(EmulatedLab):
    """Two LPARs and a peer, each in its own network namespace."""

    HOSTS = [PEER, *LPARS]
    STARTED_BY = "make lab-lpar"
    TOOLS = EmulatedLab.TOOLS | {"chroot": "coreutils", "hercules": "hercules"}

    def prepare(self, action):
        super().prepare(action)
        if action == "up":
            if not os.access("/dev/net/tun", os.W_OK):
                raise LabError("The lab needs /dev/net/tun ('modprobe tun' makes it), which cannot be opened.")
            recipe = "".join(path.read_text() for path in SOURCES)
            self.images = {
                name: debian.image(name, recipe, functools.partial(make_image, suite)) for name, suite in LPARS.items()
            }

    def inventory(self):
        hosts = {
            name: {"ansible_host": address, "measure_address": address}
            for name, address in self.addresses(self.running()).items()
        }
        for name in LPARS:
            hosts[name]["measure_peer"] = PEER
        groups = {"lpars": {"hosts": list(LPARS)}, "peers": {"hosts": [PEER]}}
        return {"_meta": {"hostvars": hosts}, **groups, "all": {"vars": self.connection()}}

    def start_host(self, name, address):
        if name == PEER:
            super().start_host(name, address)
            return
        # The near end of the link: any address of the lab's network without a host.
        gateway = str(ipaddress.ip_address(address) + 100)
        self.answer_for(name, address)
        own, configuration, script = (Path(self.folder, f"{name}.{kind}") for kind in ("own", "cnf", "rc"))
        write(configuration, HERCULES.format(name=name, cpus=CPUS, address=address, gateway=gateway))
        layer = Path(self.layer(name, address))
        write(layer / "lab/settings", f"{name} {address} {gateway}\n")
        (layer / "lab/seed").write_bytes(os.urandom(64))
        debian.cpio(layer, own)
        os.truncate(own, OWN)
        image = self.images[name]
        write(script, f"loadcore {own} 0x{INITRD + (image / 'initrd').stat().st_size:x}\nipl {image}/boot.ins\n")
        self.start(name, ["hercules", "-d", "-f", str(configuration)], HERCULES_RC=str(script))

    def answer_for(self, name, address):
        """Let the namespace of an LPAR receive the packets for the LPAR from the lab's network."""
        network = ipaddress.ip_interface(f"{address}/22").network
        run(["ip", "-netns", self.prefix + name, "route", "add", str(network), "dev", lab.INTERFACE])
        values = {"ip_forward": 1, f"conf/{lab.INTERFACE}/proxy_arp": 1, f"neigh/{lab.INTERFACE}/proxy_delay": 0}
        settings = "; ".join(f"echo {value} >/proc/sys/net/ipv4/{path}" for path, value in values.items())
        run(["ip", "netns", "exec", self.prefix + name, "sh", "-e", "-c", settings])


if __name__ == "__main__":
    lab.program(functools.partial(main, LparLab, __doc__, "lpar"))
