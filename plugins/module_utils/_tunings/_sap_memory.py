# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Extended memory in /dev/shm, as es/implementation = map keeps it: whether it is as large as SAP asks."""

from ._base_shared_memory import POINT, TOLERANCE_KB, SharedMemory

IMPLEMENTATION = "es/implementation"
NOT_NEEDED = (
    "on 64-bit Linux es/implementation = std is SAP's default from kernel 7.10 on, and map is not needed there "
    "(SAP Note 941735)"
)


def remarks(host):
    """Sentences on es/implementation = map: that it is not needed, and the size of /dev/shm."""
    memory = SharedMemory(host)
    size, asked = memory.size(), memory.asked
    if not memory.memory or (size is None and host.lacking("/proc/mounts")):
        return [NOT_NEEDED]
    if size is None:
        return [NOT_NEEDED, "%s is no tmpfs; SAP asks for one of %d MB (SAP Note 941735)" % (POINT, asked // 1024)]
    sentence = "%s has %d MB; SAP asks for 75 %% of memory and swap, %d MB" % (POINT, size // 1024, asked // 1024)
    if size + TOLERANCE_KB < asked:
        sentence += ": too small for map; enlarge it with the option size, also in /etc/fstab"
    return [NOT_NEEDED, sentence]
