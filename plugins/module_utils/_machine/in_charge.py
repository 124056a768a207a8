# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of saptune, sapconf and tuned sets a value: the tool that runs and has the value in its configuration.

At boot systemd starts systemd-sysctl, then tuned, then sapconf or saptune (the order of their unit files).
"""

import re

from .._host.drop_ins import assignments
from .other_settings import Setting, enabled, saptune, saptune_notes, tuned

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
            return "saptune", setting
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
