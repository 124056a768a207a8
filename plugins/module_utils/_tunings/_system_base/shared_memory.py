# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of the tmpfs on /dev/shm: now, in /etc/fstab, and as SAP asks for it.

SAP Note 941735, as saptune and sapconf have it: 75 % of memory and swap. Without an entry in fstab, systemd mounts it
with half of the memory; systemd-remount-fs(8) applies the entry's options.
"""

import os
import re

from ..._host.host import HostError

POINT = "/dev/shm"
FSTAB = "/etc/fstab"
SOURCE = "SAP Note 941735, quoted by saptune, sapconf and community.sap_install"
# the tools round differently, and memory of a machine is a little less than its nominal size
TOLERANCE_KB = 1024 * 1024
# extended memory is kept there with es/implementation = map
IMPLEMENTATION = "es/implementation"
NOT_NEEDED = (
    "on 64-bit Linux es/implementation = std is SAP's default from kernel 7.10 on, and map is not needed there "
    "(SAP Note 941735)"
)
# as memparse() of the kernel reads them
_UNITS = "kmgtpe"
_KEPT = ("nosuid", "nodev", "noexec")


class Fstab:
    """The line of a mount point in /etc/fstab, with block() and put() of a DropIn; the other bytes stay.

    Of several lines the first one counts: mount -o remount takes it, as systemd-remount-fs calls it at boot.
    """

    path = FSTAB

    def __init__(self, host):
        self._host = host

    def block(self, point):
        """The line without its end; None if there is none."""
        lines = self._lines()
        at = self._find(lines, point)
        return lines[at[0]] if at else None

    def remarks(self, point):
        """[sentence that several lines have the mount point]"""
        at = [str(number + 1) for number in self._find(self._lines(), point)]
        said = "%s has %s in lines %s: mount takes the first one, so remove the others"
        return [said % (self.path, point, ", ".join(at))] if at[1:] else []

    def put(self, point, text):
        """Make text the line of the mount point; None removes it. Raises HostError."""
        lines = self._lines()
        at = self._find(lines, point)
        if at:
            lines[at[0] : at[0] + 1] = [] if text is None else [text]
        elif text is not None:
            # before the end of the last line
            lines.insert(len(lines) - (lines[-1] == ""), text)
        self._host.replace(self.path, "\n".join(lines).encode("latin-1"))

    def _lines(self):
        # every byte is a character of latin-1
        return (self._host.data(self.path) or b"").decode("latin-1").split("\n")

    @staticmethod
    def _find(lines, point):
        return [number for number, line in enumerate(lines) if mount_point(line) == point]


def fields(line):
    """The fields of a line of fstab or /proc/mounts; none of a comment."""
    words = line.split()
    return [] if words and words[0].startswith("#") else words


def mount_point(line):
    """The mount point of a line of fstab, without the slashes that libmount ignores; None without one."""
    words = fields(line)[1:2]
    return os.path.normpath("/" + words[0].lstrip("/")) if words else None


def size_option(line):
    """The option size of a line of fstab for people: its other options may hold secrets."""
    options = fields(line or "")[3:4]
    sizes = [option for option in (options[0].split(",") if options else []) if option.startswith("size=")]
    return sizes[-1] if sizes else "no size"


def in_gib(size):
    """A number of KiB, or its text, for people."""
    return "%.1f GiB" % (int(size) / 1048576.0) if int(size) else "no limit"


class SharedMemory:
    """/dev/shm of one host. Sizes are KiB; 0 means unlimited, see tmpfs(5)."""

    def __init__(self, host):
        self._host = host
        memory = host.read("/proc/meminfo") or ""
        found = dict(re.findall(r"^(\w+):\s+([0-9]+) kB", memory, re.MULTILINE))
        self.memory = int(found.get("MemTotal", 0))
        self.total = self.memory + int(found.get("SwapTotal", 0))
        self.asked = self.total * 75 // 100
        # whole MiB, so that pages of any size fit
        self.wanted = -(-self.asked // 1024) * 1024

    def options(self):
        """The options of the mounted tmpfs; None if there is none."""
        found = None
        for line in (self._host.read("/proc/mounts") or "").splitlines():
            words = fields(line)
            if words[1:2] == [POINT] and len(words) > 3:
                # of several mounts, the last one hides the others
                found = words[3].split(",") if words[2] == "tmpfs" else None
        return found

    def size(self):
        """The size in force; None without a tmpfs. The kernel does not show a default size."""
        options = self.options()
        if options is None:
            return None
        shown = [option for option in options if option.startswith("size=")]
        if shown:
            return self.parse(shown[-1][len("size=") :])
        if self._host.root == "/":
            system = os.statvfs(POINT)
            return system.f_blocks * system.f_frsize // 1024
        return self.memory // 2

    def used(self):
        """Whether something is in it."""
        if self._host.root != "/":
            return False
        system = os.statvfs(POINT)
        return system.f_blocks != system.f_bfree

    def parse(self, text):
        """The KiB of a size such as 8G or 75%, see tmpfs(5); None if it is none."""
        match = re.match(r"^([0-9]+)([%s%%]?)\Z" % _UNITS, text.lower())
        if not match:
            return None
        number, unit = int(match.group(1)), match.group(2)
        if unit == "%":
            return number * self.memory // 100
        return number << 10 * _UNITS.index(unit) if unit else -(-number // 1024)

    def stored(self, line):
        """The KiB that a line of fstab gives; half of the memory without a line or without a size."""
        found = self.parse(size_option(line).partition("=")[2])
        return self.memory // 2 if found is None else found

    def of_tool(self, tool, setting, stored):
        """The KiB that a tool gives it by a Setting of a percentage or MB. sapconf only enlarges what is stored."""
        number = int(setting.value) if setting.value.isdigit() else 0
        if tool == "sapconf":
            return max(stored, self.total * number // 100)
        return (number if "MB=" in setting.text else self.total // 1024 * number // 100) * 1024 or stored

    def met(self, size):
        return size is not None and (size == 0 or size + TOLERANCE_KB >= self.wanted)

    def line(self, now):
        """The line of fstab with the wanted size: the present one with another size, or a new one."""
        size = "size=%dk" % self.wanted
        if now is None:
            kept = [option for option in self.options() or () if option in _KEPT]
            return "tmpfs %s tmpfs %s 0 0" % (POINT, ",".join(["defaults"] + kept + [size]))
        match = re.match(r"^(\s*\S+\s+\S+\s+\S+\s+)(\S+)(.*)\Z", now, re.DOTALL)
        if not match:
            raise HostError("%s: the line of %s has no options; write 'defaults' there" % (FSTAB, POINT))
        options = [option for option in match.group(2).split(",") if not option.startswith("size=")]
        return match.group(1) + ",".join(options + [size]) + match.group(3)

    def resize(self, size):
        """Give the mounted tmpfs this size; its other options stay."""
        kept = [option for option in self.options() or () if option in _KEPT]
        argv = ["mount", "-o", ",".join(["remount"] + kept + ["size=%sk" % size]), POINT]
        done = self._host.run(argv)
        if done.rc != 0:
            raise HostError("%s: %s" % (" ".join(argv), (done.err or done.out).strip() or "it failed"))


def remarks(host):
    """Sentences on es/implementation = map: that it is not needed, and the size of /dev/shm."""
    memory = SharedMemory(host)
    size, asked = memory.size(), memory.asked
    if not memory.memory or (size is None and host.lacking("/proc/mounts")):
        return [NOT_NEEDED]
    if size is None:
        return [NOT_NEEDED, "%s is not a tmpfs; SAP asks for one of %d MB (SAP Note 941735)" % (POINT, asked // 1024)]
    has = "%d MB" % (size // 1024) if size else "no limit"
    sentence = "%s has %s; SAP asks for 75 %% of memory and swap, %d MB" % (POINT, has, asked // 1024)
    if size and size + TOLERANCE_KB < asked:
        sentence += ": too small for map; enlarge it with the option size, also in /etc/fstab"
    return [NOT_NEEDED, sentence]
