# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else sets the values of system_base, and which tool is in charge of one."""

import functools
import re

from .._machine.in_charge import in_charge, of_shared_memory, sapconf
from .._machine.other_settings import SystemKnob, command_line, conflict, of_system
from ._base_shared_memory import POINT
from ._base_values import DIRTY
from ._system import sysctl_path

HUGE = "transparent_hugepage"
HUGE_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"
# before the number of a dirty limit while the ratio is in force
RATIO = "ratio "
_SETS_HUGE = re.compile(
    r"""echo\s+["']?(\w+)["']?\s*>\s*\S*transparent_hugepage/enabled|transparent_hugepages?\s*=\s*["']?(\w+)"""
)
# this profile of tuned sets them in a section for ThunderX only
_OF_ARM = re.compile(r"/throughput-performance/tuned\.conf\Z").search


def ratio_of(name):
    """The other sysctl of the same knob: writing one of the two makes the other read 0 (admin-guide/sysctl/vm.rst)."""
    return name.replace("_bytes", "_ratio") if name.startswith(DIRTY + "_") else None


def is_ratio(text):
    return text.startswith(RATIO)


def _pattern(name):
    """The lines of a profile, unit or script that set a sysctl; tuned's plugin vm leaves out the vm."""
    path, dotted = re.escape(sysctl_path(name)), re.escape(name).replace(r"\.", "[./]")
    if name.startswith(DIRTY + "_"):
        dotted = "(?:vm[./])?" + dotted[len("vm[./]") :]
    numbers = r"([0-9]+%?(?:[ \t]+[0-9]+)*)"
    # tuned: => only upwards, =< only downwards
    line = r"""echo\s+["']?%s["']?\s*>\s*%s\b|\b%s\b(?:\s*[=:]\s*[<>]?\s*["']?%s)?"""
    return re.compile(line % (numbers, path, dotted, numbers))


class OtherSettings:
    """host: a Once; own: the file of this collection for sysctls. An item is a sysctl, POINT or HUGE."""

    def __init__(self, host, own):
        self._host = host
        self._own = own
        # the same files for each knob
        self.conflicts = functools.lru_cache(maxsize=None)(self._conflicts)
        self.tool = functools.lru_cache(maxsize=None)(self._tool)

    def _conflicts(self, item):
        """Other settings of an item, as conflict() with its name."""
        return [dict(other, item=item) for other in self._find(item)]

    def _find(self, item):
        if item == POINT:
            tool = self.tool(POINT)
            return [conflict(tool[0], tool[1], "yes", effect="sets the size")] if tool else []
        found = self._of_hugepages() if item == HUGE else self._of_sysctl(item)
        setting = sapconf(self._host).get(item)
        return found + ([conflict("sapconf", setting, "yes")] if setting else [])

    def _of_hugepages(self):
        setting = command_line(self._host, HUGE)
        found = [conflict("kernel command line", setting, "no")] if setting else []
        others = of_system(self._host, SystemKnob(None, HUGE_FILE, _SETS_HUGE, ""))
        return found + [other for other in others if not _OF_ARM(other["file"])]

    def _of_sysctl(self, item):
        found = of_system(self._host, self._knob(item))
        for other in of_system(self._host, self._knob(ratio_of(item))) if ratio_of(item) else ():
            found.append(dict(other, value=RATIO + other["value"] if other["value"] else None))
        return found

    def _knob(self, name):
        return SystemKnob(name, sysctl_path(name), _pattern(name), self._own)

    def _tool(self, item):
        """(saptune, sapconf or tuned, Setting) of the tool that is in charge of an item, or None."""
        if item == POINT:
            return of_shared_memory(self._host)
        found = (in_charge(self._host, item, _pattern(name)) for name in (item, ratio_of(item)) if name)
        return next((tool for tool in found if tool), None)
