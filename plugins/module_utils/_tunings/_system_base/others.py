# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else sets the values of system_base, and which of saptune, sapconf and tuned is in charge of one.

It is the tool that runs and has the value in its configuration. At boot systemd starts systemd-sysctl, then tuned, then
sapconf or saptune (the order of their unit files).
"""

import re

from ..._machine.other_settings import (
    Setting,
    SystemKnob,
    command_line,
    conflict,
    enabled,
    of_system,
)
from ..._machine.tools import HUGE_FILE, sapconf_writes, saptune_size
from .._system import sysctl_knob
from .values import DIRTY, RATIO

HUGE = "transparent_hugepage"
_TOOLS = ("tuned", "saptune", "sapconf")
_SETS_HUGE = re.compile(
    r"""echo\s+["']?(\w+)["']?\s*>\s*\S*transparent_hugepage/enabled|transparent_hugepages?\s*=\s*["']?(\w+)"""
)


def ratio_of(name):
    """The other sysctl of the same knob: writing one of the two makes the other read 0 (admin-guide/sysctl/vm.rst)."""
    return name.replace("_bytes", "_ratio") if name.startswith(DIRTY + "_") else None


def of_sysctl(host, item, own):
    """Other settings of a sysctl, as conflict(). host: a Once; own: the file of this collection for sysctls."""
    ratio = ratio_of(item)
    return of_system(host, sysctl_knob(item, own), *([sysctl_knob(ratio, own, RATIO)] if ratio else []))


def of_hugepages(host):
    """Other settings of transparent hugepages, as conflict()."""
    setting = command_line(host, HUGE)
    found = [conflict("kernel command line", setting, "no")] if setting else []
    return found + of_system(host, SystemKnob(None, HUGE_FILE, _SETS_HUGE, ""))


def in_charge(conflicts):
    """(tool, Setting) of the running tool that sets a value last at boot, or None; conflicts: in their order."""
    sure = [one for one in conflicts if one["wins"] != "possible" and not one.get("effect") and one["what"] != "unit"]
    if not sure or sure[-1]["what"] not in _TOOLS:
        return None
    return sure[-1]["what"], Setting(sure[-1]["file"], sure[-1]["line"], "", sure[-1]["value"])


def of_shared_memory(host):
    """As in_charge(), for the size of /dev/shm. tuned does not set it."""
    setting = saptune_size(host) if enabled(host, "saptune.service") else None
    if setting:
        return "saptune", setting
    runs = enabled(host, "sapconf.service") or host.exists("/run/sapconf/active")
    sizes = [one.setting for one in sapconf_writes(host) if one.setting.text.startswith("VSZ_TMPFS_PERCENT=")]
    return ("sapconf", sizes[0]) if runs and sizes else None
