# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of one s390x guest in QEMU whose kernel supports SMC-D: its module smc is rebuilt with the loopback device.

    smcd up          start it unless it runs
    smcd down        remove it if it exists
    smcd status      whether it answers
    smcd inventory   the guest as an Ansible inventory (JSON)
    smcd login       a shell in it, or one command: smcd login uname -a

It is the guest of `guest`, from the same image, with two modules from Debian's source of the same kernel in place of
Debian's own. Loopback reaches its own kernel only, so both ends of a connection are in network namespaces of the guest.
There is no ISM hardware, no other LPAR and no z/OS: nothing here proves SMC-D between two machines.
"""

import functools
import lzma
import os
import re
import shutil
import stat
from pathlib import Path

import debian
import guest
import lab
from emulated import main
from machine import LabError, run

MODULES = ["smc", "smc_diag"]
COMPILER = "gcc-14"  # the compiler that builds Debian's kernels of this suite
TOOLS = [f"{COMPILER}-s390x-linux-gnu", "make", "coreutils", "dash", "findutils", "grep", "mawk", "sed"]
# Without pahole, the module contains no types for BPF.
MAKE = ["-j1", "CONFIG_SMC_LO=y", "KCFLAGS=-DCONFIG_SMC_LO=1", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
SECONDS = 1800  # a minute on an idle CPU


def kernel(image):
    """Return (release, package version) of the kernel in an image: 6.12.107+deb13-s390x, 6.12.107-1."""
    listed = (image / "manifest").read_text()
    return re.search(r"^linux-image-(\d[^=]*)=(\S+)$", listed, re.MULTILINE).groups()


def make_modules(release, version, folder, scratch):
    """Build the modules of a kernel with Debian's compiler for it, and write them into the folder of an image."""
    upstream, _dash, flavour = release.rpartition("-")
    architecture = run(["dpkg", "--print-architecture"]).strip()
    wanted = [f"linux-headers-{release}", f"linux-headers-{upstream}-common"]
    series = ".".join(version.split(".")[:2])
    headers = debian.packages(
        guest.SUITE, flavour, [*wanted, f"linux-source-{series}={version}"], scratch / "apt-headers", alone=True
    )
    tools = debian.packages(guest.SUITE, architecture, [*TOOLS, f"linux-kbuild-{upstream}"], scratch / "apt-tools")
    root = scratch / "root"
    debian.unpack([*tools, *headers], root, guest.WITHOUT)
    prepare_root(root)
    (archive,) = root.glob("usr/src/linux-source-*.tar.xz")
    place = archive.name.partition(".tar")[0] + "/net/smc"
    run(["tar", "-x", "-J", "-f", str(archive), "-C", str(root / "tmp"), place], timeout=SECONDS)
    build = ["make", "-C", f"/usr/src/linux-headers-{release}", f"M=/tmp/{place}", *MAKE]
    run(["chroot", str(root), *build], timeout=SECONDS)
    for name in MODULES:
        run(["chroot", str(root), "s390x-linux-gnu-strip", "-g", f"/tmp/{place}/{name}.ko"])
        data = (root / "tmp" / place / f"{name}.ko").read_bytes()
        # in the format of the kernel's loader
        (folder / f"{name}.ko.xz").write_bytes(lzma.compress(data, check=lzma.CHECK_CRC32))
    debian.write_manifest(folder, [*tools, *headers])


def prepare_root(root):
    """Do the work of the packages' maintainer scripts, as far as make and the compiler need it."""
    (root / "tmp").mkdir(exist_ok=True)
    (root / "dev").mkdir(exist_ok=True)
    os.mknod(root / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for name, target in (("sh", "dash"), ("awk", "mawk")):
        if not (root / "usr/bin" / name).exists():
            (root / "usr/bin" / name).symlink_to(target)


class SmcdLab(guest.GuestLab):
    """The guest with rebuilt modules."""

    STARTED_BY = "make lab-smcd"
    TOOLS = guest.GuestLab.TOOLS | {"chroot": "coreutils"}

    def prepare(self, action):
        super().prepare(action)
        if action == "up":
            self.release, version = kernel(self.image)
            recipe = Path(__file__).read_text() + self.release + version
            try:
                self.modules = debian.image("smcd", recipe, functools.partial(make_modules, self.release, version))
            except LabError as problem:
                hint = f"If Debian no longer has kernel {version}, remove {self.image}: a newer one is made."
                raise LabError(f"{problem}\n{hint}") from None

    def layer(self, name, address):
        """As for the other guest, with the modules in the place of Debian's, so that their index stays valid."""
        folder = super().layer(name, address)
        place = Path(folder, "usr/lib/modules", self.release, "kernel/net/smc")
        place.mkdir(parents=True)
        for module in MODULES:
            shutil.copy(self.modules / f"{module}.ko.xz", place)
        return folder


if __name__ == "__main__":
    lab.program(functools.partial(main, SmcdLab, __doc__, "smcd"))
