# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects of system_base, one object of the same kind each: sysctls, /dev/shm, transparent hugepages.

A value is left to that of saptune, sapconf and tuned that runs and has it in its configuration. At boot systemd starts
systemd-sysctl, then tuned, then sapconf or saptune (the order of their unit files).
"""

import functools
import re

from ..._engine import captured
from ..._engine.tuning import RUNNING, STORED, Knob
from ..._host.kernel import distribution
from ..._machine.other_settings import Setting, SystemKnob, command_line, conflict, enabled, of_system
from ..._machine.tools import HUGE_FILE, sapconf_writes, saptune_size
from .._system import sysctl_knob, sysctl_path
from .shared_memory import FSTAB, POINT, SOURCE, TOLERANCE_KB, Fstab, SharedMemory, in_gib, mount_point
from .values import DIRTY, RATIO, ROWS

HEADER = "# What SAP asks of the system, kept by zpower.sap_tuning.system_base: change it there, not here.\n"
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
NO_SOURCE = "no public source names a value for %s"
_NAMES = {asked.name for row in ROWS for asked in row.asked}
# at_boot() says so of a file that gives no value
_SET_BY = "set by "
_NUMBERS = r"[0-9]+(?: [0-9]+)*\Z"
_TOOLS = ("tuned", "saptune", "sapconf")
_HUGE = "transparent_hugepage"
_SETS_HUGE = re.compile(
    r"""echo\s+["']?(\w+)["']?\s*>\s*\S*transparent_hugepage/enabled|transparent_hugepages?\s*=\s*["']?(\w+)"""
)


def in_charge(conflicts):
    """(tool, Setting) of the running tool that sets a value last at boot, or None; conflicts: in their order."""
    sure = [one for one in conflicts if one["wins"] != "possible" and not one.get("effect") and one["what"] != "unit"]
    if not sure or sure[-1]["what"] not in _TOOLS:
        return None
    return sure[-1]["what"], Setting(sure[-1]["file"], sure[-1]["line"], "", sure[-1]["value"])


def _ratio_of(name):
    """The other sysctl of the same knob: writing one of the two makes the other read 0 (admin-guide/sysctl/vm.rst)."""
    return name.replace("_bytes", "_ratio") if name.startswith(DIRTY + "_") else None


def forms(name):
    """The SystemKnobs of a sysctl: its own, and that of the other sysctl of the same knob."""
    ratio = _ratio_of(name)
    return [sysctl_knob(name, SYSCTL)] + ([sysctl_knob(ratio, SYSCTL, RATIO)] if ratio else [])


class Topic:
    """One subject. tuning: the SystemBase. files: as those of KernelTuning. remarks, restart: see Subject.

    asked: {part: what SAP asks for, in words}; a part is set, or left to another tool, as a whole. source: of them.

    Each one has also refusal(): (verdict, reason) if it cannot be set on this host, else (None, ""); conflicts():
    other settings, as conflict() with the name of their item; and if something is asked for, legible(key, text): as
    that of Tuning; wanted(knob): the text that a knob should have, that of now if it is right; right(item, value):
    whether a value at boot is what SAP asks for.
    """

    name = source = ""
    # {sysctl: Asked}
    values = {}
    remarks = ()
    restart = None
    # a value at boot in the user's terms
    shown = staticmethod(str)

    def __init__(self, tuning):
        self.tuning = tuning
        self.host = tuning.host
        # caches what does not change during a run
        self.once = tuning.once
        self.asked, self.files = {}, {}
        # the same files for each knob
        self.conflicts = functools.lru_cache(maxsize=None)(self.conflicts)
        self.tool = functools.lru_cache(maxsize=None)(self.tool)

    def names(self):
        """The items that have a value at the next boot."""
        return list(self.files) or [self.name]

    def knobs(self):
        """The knobs that are in no drop-in file."""
        return []

    def tool(self, part):
        """(saptune, sapconf or tuned, Setting) of the tool that is in charge of a part, or None."""

    def wrong(self, subject, part):
        """What of a part is not as asked for, now or else after the next boot: words after which that follows."""
        for knob in subject.at(RUNNING):
            if knob.item == part and knob.now != self.wanted(knob):
                return ["%s is %s" % (part, self.tuning.show(knob, knob.now))]
        stored = next(knob for knob in subject.at(STORED) if knob.item == part)
        boot = None if captured.places(self.host) else self.tuning.boot_value(subject, part, stored.now)[0]
        if boot is None or boot.startswith(_SET_BY) or self.right(part, boot):
            return []
        return ["%s is %s after the next boot" % (part, self.shown(boot))]

    def boot_value(self, item, text, conflicts):
        """As KernelTuning.boot_value(); None if that is right."""

    def set(self, knob):
        """Give a knob its wanted value, if that takes more than a write. Returns whether it does; raises HostError."""


class Sysctls(Topic):
    """The sysctls of one Row, and on the way back of all releases, because the system may be newer."""

    def __init__(self, tuning, name):
        super().__init__(tuning)
        self.name, self.rows = name, [row for row in ROWS if row.subject == name]
        rows = [row for row in self.rows if row.is_for(tuning.release)][:1]
        every = {asked.name: asked for row in self.rows[::-1] + rows for asked in row.asked}
        self.values = {item: every[item] for item in sorted(every)}
        chosen = [asked.name for row in rows for asked in row.asked]
        self.asked = {item: every[item].words() for item in (not tuning.restoring and chosen) or self.values}
        self.files = {item: (tuning.sysctls, item) for item in self.values}
        self.source = rows[0].source if rows else ""

    def names(self):
        return list(self.asked)

    def refusal(self):
        if self.host.capture and not any("" in row.releases for row in self.rows) and not distribution(self.host):
            return "unknown", "the capture does not tell the release: it has no os-release"
        if not self.source:
            return "not_applicable", NO_SOURCE % self.tuning.release
        lacks = self.tuning.lacks({item: sysctl_path(item) for item in self.asked})
        if lacks:
            return "unsupported", lacks
        limit = self.values["vm.dirty_bytes"].value if self.name == DIRTY else "0"
        memory = SharedMemory(self.host).memory * 1024
        if memory * 20 // 100 < int(limit):
            return "not_applicable", (
                "%s bytes are more than the kernel's default, 20 %% of the memory (%d MiB), so they would limit nothing"
                % (limit, memory >> 20)
            )
        return None, ""

    def knobs(self):
        there = [(item, sysctl_path(item)) for item in self.asked if self.host.exists(sysctl_path(item))]
        return [Knob(path, RUNNING, item, path, self._text(item)) for item, path in there]

    def _text(self, item):
        """The value in force; of dirty limits "ratio 20" while that form is."""
        text = " ".join((self.host.value(sysctl_path(item)) or "").split())
        ratio = _ratio_of(item)
        if ratio and text == "0":
            return RATIO + (self.host.value(sysctl_path(ratio)) or "0")
        return text

    def conflicts(self):
        return [dict(other, item=item) for item in self.asked for other in of_system(self.once, *forms(item))]

    def tool(self, part):
        return in_charge([other for other in self.conflicts() if other["item"] == part])

    @staticmethod
    def legible(key, text):
        for name in _NAMES:
            if key == "%s %s" % (SYSCTL, name):
                return text is None or bool(re.match(re.escape(name) + " = " + _NUMBERS, text))
            if key == sysctl_path(name):
                ratio = "(?:%s)?" % RATIO if _ratio_of(name) else ""
                return text is not None and bool(re.match(ratio + _NUMBERS, text))
        return False

    def wanted(self, knob):
        asked = self.values[knob.item]
        if knob.now is not None and asked.met(self.tuning.value(knob, knob.now)):
            return knob.now
        if knob.place == RUNNING:
            return asked.raised(knob.now)
        return "%s = %s" % (knob.item, asked.raised(self._text(knob.item)))

    def right(self, item, value):
        return self.values[item].met(" ".join(str(value).split()))

    def set(self, knob):
        ratio = knob.place == RUNNING and knob.wanted.startswith(RATIO)
        if ratio:
            self.tuning.write(sysctl_path(_ratio_of(knob.item)), knob.wanted[len(RATIO) :])
        return ratio


class DevShm(Topic):
    """The size of /dev/shm."""

    name, source = POINT, SOURCE

    def __init__(self, tuning):
        super().__init__(tuning)
        self.memory = SharedMemory(self.host)
        least = in_gib(max(self.memory.wanted - TOLERANCE_KB, 1))
        self.asked = {POINT: "75 %% of memory and swap, at least %s" % least}
        self.files = {POINT: (Fstab(self.host), POINT)}

    def refusal(self):
        if self.memory.options() is None:
            return "unsupported", "no tmpfs is mounted on %s" % POINT
        if not self.memory.memory:
            return "unsupported", "/proc/meminfo does not tell the size of the memory"
        # what a capture lacks is unknown
        if not self.tuning.observing and not self.host.capture and not self.host.exists(FSTAB):
            return "unsupported", "there is no %s, so a size cannot be kept" % FSTAB
        return None, ""

    def knobs(self):
        size, self.remarks = self.memory.size(), self.files[POINT][0].remarks(POINT)
        if self.tuning.restoring and POINT in self.tuning.remembered and self.memory.used():
            # a program may have reserved more than the first size, and get a SIGBUS
            said = "%s is in use, so it keeps its size until the next boot; only %s is taken back"
            size, self.remarks = None, self.remarks + [said % (POINT, FSTAB)]
        return [] if size is None else [Knob(POINT, RUNNING, POINT, POINT, str(size))]

    def conflicts(self):
        tool = self.tool(POINT)
        return [conflict(tool[0], tool[1], "yes", effect="sets the size", item=POINT)] if tool else []

    def tool(self, part):
        # tuned does not set it
        setting = saptune_size(self.once) if enabled(self.once, "saptune.service") else None
        if setting:
            return "saptune", setting
        runs = enabled(self.once, "sapconf.service") or self.once.exists("/run/sapconf/active")
        sizes = [one.setting for one in sapconf_writes(self.once) if one.setting.text.startswith("VSZ_TMPFS_PERCENT=")]
        return ("sapconf", sizes[0]) if runs and sizes else None

    @staticmethod
    def legible(key, text):
        if key == POINT:
            return text is not None and text.isdigit()
        line = text is None or ("\n" not in text and mount_point(text) == POINT)
        return key == "%s %s" % (FSTAB, POINT) and line

    def wanted(self, knob):
        running = knob.place == RUNNING
        if knob.now is not None and self.memory.met(int(knob.now) if running else self.memory.stored(knob.now)):
            return knob.now
        return str(self.memory.wanted) if running else self.memory.line(knob.now)

    def shown(self, value):
        size = self.memory.parse(value)
        return value if size is None else in_gib(size)

    def right(self, item, value):
        size = self.memory.parse(value)
        return size is None or self.memory.met(size)

    def boot_value(self, item, text, conflicts):
        tool, size = self.tool(POINT), self.memory.stored(text)
        return "%dk" % (self.memory.of_tool(*tool, size) if tool else size), []

    def set(self, knob):
        if knob.place == RUNNING:
            self.memory.resize(knob.wanted)
        return knob.place == RUNNING


class HugePages(Topic):
    """The mode of transparent hugepages."""

    name = _HUGE
    remarks = ("transparent hugepages are only observed: no public source asks for a value on an application server",)

    def refusal(self):
        there = self.host.exists(HUGE_FILE)
        return (None, "") if there else ("unsupported", "this kernel has no transparent hugepages")

    def knobs(self):
        match = re.search(r"\[(\w+)\]", self.host.value(HUGE_FILE) or "")
        return [Knob(HUGE_FILE, RUNNING, _HUGE, _HUGE, match.group(1) if match else None)]

    def conflicts(self):
        setting = command_line(self.once, _HUGE)
        found = [conflict("kernel command line", setting, "no")] if setting else []
        found += of_system(self.once, SystemKnob(None, HUGE_FILE, _SETS_HUGE, ""))
        return [dict(other, item=_HUGE) for other in found]
