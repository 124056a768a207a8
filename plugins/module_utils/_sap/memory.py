# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extended memory in /dev/shm, as es/implementation = map keeps it: whether it is as large as SAP asks.

SAP Note 941735 asks for 75 % of memory and swap; SUSE's saptune and sapconf compute it so. Without the mount option
size a tmpfs has half of the memory (kernel, Documentation/filesystems/tmpfs.rst).
"""

import re

IMPLEMENTATION = "es/implementation"
SHM = "/dev/shm"
NOT_NEEDED = (
    "on 64-bit Linux es/implementation = std is SAP's default from kernel 7.10 on, and map is not needed there "
    "(SAP Note 941735)"
)
_KB = {"": 1.0 / 1024, "k": 1, "m": 1024, "g": 1024 * 1024}
# kB; tools that set the size round it differently
_TOLERANCE = 1024 * 1024


def parse_meminfo(text):
    """{name: kB} of /proc/meminfo."""
    return {name: int(number) for name, number in re.findall(r"(?m)^(\w+): +([0-9]{1,15}) kB$", text)}


def parse_tmpfs(text, path):
    """The size option of the last mount at a path in /proc/mounts: kB, "" without the option, None if no tmpfs."""
    found = None
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[1] == path:
            size = re.search(r"(?:^|,)size=([0-9]{1,15})([kmg]?)(?:,|$)", fields[3])
            found = None if fields[2] != "tmpfs" else int(int(size.group(1)) * _KB[size.group(2)]) if size else ""
    return found


def remarks(host):
    """Sentences on es/implementation = map: that it is not needed, and the size of /dev/shm."""
    memory = parse_meminfo(host.read("/proc/meminfo") or "")
    size = parse_tmpfs(host.read("/proc/mounts") or "", SHM)
    total = memory.get("MemTotal")
    if total is None or (size is None and host.lacking("/proc/mounts")):
        return [NOT_NEEDED]
    asked = (total + memory.get("SwapTotal", 0)) * 75 // 100
    if size is None:
        return [NOT_NEEDED, "%s is no tmpfs; SAP asks for one of %d MB (SAP Note 941735)" % (SHM, asked // 1024)]
    size = total // 2 if size == "" else size
    sentence = "%s has %d MB; SAP asks for 75 %% of memory and swap, %d MB" % (SHM, size // 1024, asked // 1024)
    if size + _TOLERANCE < asked:
        sentence += ": too small for map; enlarge it with the option size, also in /etc/fstab"
    return [NOT_NEEDED, sentence]
