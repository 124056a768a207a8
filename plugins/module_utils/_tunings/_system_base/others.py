# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else sets the values of system_base, and which of saptune, sapconf and tuned is in charge of one.

It is the tool that runs and has the value in its configuration. At boot systemd starts systemd-sysctl, then tuned, then
sapconf or saptune (the order of their unit files).
"""

import re

from ..._host.drop_ins import assignments
from ..._machine.other_settings import (
    Setting,
    SystemKnob,
    command_line,
    conflict,
    enabled,
    of_system,
    saptune,
    saptune_notes,
    tuned,
)
from .._system import sysctl_path
from .values import DIRTY

SAPCONF = "/etc/sysconfig/sapconf"
# {the key of sapconf's file without the _MIN or _DEF of older versions: what it sets}
_SAPCONF_KEYS = {
    "DIRTY_BG_BYTES": "vm.dirty_background_bytes",
    "DIRTY_BYTES": "vm.dirty_bytes",
    "MAX_MAP_COUNT": "vm.max_map_count",
    "SHMALL": "kernel.shmall",
    "SHMMAX": "kernel.shmmax",
    "SHMMNI": "kernel.shmmni",
    "THP": "transparent_hugepage",
    "VSZ_TMPFS_PERCENT": "/dev/shm",
}
# the SAP note for which saptune sets the size of /dev/shm
_SHM_NOTE = "941735"
_SHM_LINE = re.compile(r"^(?:VSZ_TMPFS_PERCENT|ShmFileSystemSizeMB)\s*=\s*(\d+)")
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


def _pattern(name):
    """The lines of a profile, unit or script that set a sysctl; tuned's plugin vm leaves out the vm."""
    path, dotted = re.escape(sysctl_path(name)), re.escape(name).replace(r"\.", "[./]")
    if name.startswith(DIRTY + "_"):
        dotted = "(?:vm[./])?" + dotted[len("vm[./]") :]
    numbers = r"([0-9]+%?(?:[ \t]+[0-9]+)*)"
    # tuned: => only upwards, =< only downwards
    line = r"""echo\s+["']?%s["']?\s*>\s*%s\b|\b%s\b(?:\s*[=:]\s*[<>]?\s*["']?%s)?"""
    return re.compile(line % (numbers, path, dotted, numbers))


def of_sysctl(host, item, own):
    """Other settings of a sysctl, as conflict(). host: a Once; own: the file of this collection for sysctls."""
    found = of_system(host, SystemKnob(item, sysctl_path(item), _pattern(item), own))
    ratio = ratio_of(item)
    for other in of_system(host, SystemKnob(ratio, sysctl_path(ratio), _pattern(ratio), own)) if ratio else ():
        found.append(dict(other, value=RATIO + other["value"] if other["value"] else None))
    return found + _of_sapconf(host, item)


def of_hugepages(host):
    """Other settings of transparent hugepages, as conflict()."""
    setting = command_line(host, HUGE)
    found = [conflict("kernel command line", setting, "no")] if setting else []
    others = of_system(host, SystemKnob(None, HUGE_FILE, _SETS_HUGE, ""))
    return found + [other for other in others if not _OF_ARM(other["file"])] + _of_sapconf(host, HUGE)


def _of_sapconf(host, item):
    setting = sapconf(host).get(item)
    return [conflict("sapconf", setting, "yes")] if setting else []


def tool_of_sysctl(host, item):
    """As in_charge(), for a sysctl in either of its forms."""
    found = (in_charge(host, name, _pattern(name)) for name in (item, ratio_of(item)) if name)
    return next((tool for tool in found if tool), None)


def sapconf(host):
    """{what sapconf sets: Setting}; empty if it does not run. An empty value in its file sets nothing."""
    if not (enabled(host, "sapconf.service") or host.exists("/run/sapconf/active")):
        return {}
    found = {}
    # a shell reads the file: the last assignment counts
    for line, text, key, value in assignments(host, SAPCONF):
        name = _SAPCONF_KEYS.get(re.sub(r"_(?:MIN|DEF)$", "", key))
        if name:
            found[name] = Setting(SAPCONF, line, text, value.partition("#")[0].strip().strip("\"'"))
    return {name: setting for name, setting in found.items() if setting.value}


def in_charge(host, name, pattern):
    """(tool, Setting) of the running tool that sets a value last at boot, or None.

    name: a value of _SAPCONF_KEYS or any sysctl; pattern: the lines that set it, see SystemKnob.
    """
    for runs, setting in saptune(host, pattern):
        if runs and setting.value is not None:
            return "sapconf" if setting.file == SAPCONF else "saptune", setting
    setting = sapconf(host).get(name)
    if setting:
        return "sapconf", setting
    for runs, setting in tuned(host, pattern):
        # a profile comes before those that it includes, over which it wins
        if runs and setting.value is not None:
            return "tuned", setting
    return None


def of_shared_memory(host):
    """As in_charge(), for the size of /dev/shm. tuned does not set it."""
    if enabled(host, "saptune.service") and _SHM_NOTE in saptune_notes(host):
        found = [setting for runs, setting in saptune(host, _SHM_LINE) if runs]
        return "saptune", found[0] if found else Setting("/etc/sysconfig/saptune", 0, _SHM_NOTE, None)
    setting = sapconf(host).get("/dev/shm")
    return ("sapconf", setting) if setting else None
