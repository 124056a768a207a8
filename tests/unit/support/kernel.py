# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree that answers writes as the kernel does: masks are parsed, cut to the online CPUs, and printed in its format.

What it accepts and refuses was tried on a real kernel; see store_rps_map in net/core/net-sysfs.c.
"""

import errno
import os

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, refused


class KernelHost(Host):
    """A Host below a temporary folder. errors: {path: errno} for writes; log: the writes, in order."""

    def __init__(self, root, online="0-3", possible="0-3"):
        super().__init__(str(root))
        self.errors = {}
        self.log = []
        self.isolated = 0
        for folder in ("/etc/udev", "/var/lib"):
            os.makedirs(self.path(folder))
        self.fill("/sys/devices/system/cpu/online", online)
        self.fill("/sys/devices/system/cpu/present", possible)
        self.fill("/sys/devices/system/cpu/possible", possible)

    def fill(self, path, text):
        """Put a file there, as the kernel or another administrator would."""
        target = self.path(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w") as stream:
            stream.write(text + "\n")

    def interface(self, name, queues=1, mask=0, packets=1000):
        """Add an interface with this many receive queues and return the host."""
        base = "/sys/class/net/" + name
        for number in range(queues):
            self.fill("%s/queues/rx-%d/rps_cpus" % (base, number), cpu_lists.format_mask(mask, cpu_lists.width(self)))
            self.fill("%s/queues/rx-%d/rps_flow_cnt" % (base, number), "0")
        self.fill(base + "/operstate", "up")
        self.fill(base + "/address", "02:00:00:00:00:01")
        self.fill(base + "/statistics/rx_packets", str(packets))
        return self

    def qeth(self, name, card, packets=0):
        """Add an interface of the driver qeth, which has one receive queue."""
        self.interface(name, packets=packets)
        device = self.path("/sys/class/net/%s/device" % name)
        driver = self.path("/sys/bus/ccwgroup/drivers/qeth")
        for folder in (device, driver):
            os.makedirs(folder, exist_ok=True)
        os.symlink(driver, os.path.join(device, "driver"))
        self.fill("/sys/class/net/%s/device/card_type" % name, card)

    def put(self, path, value):
        self.log.append((path, value))
        error = self.errors.get(path)
        if error is None and not os.path.exists(self.path(path)):
            error = errno.ENOENT
        if error is None and path.endswith("/rps_cpus"):
            mask = cpu_lists.parse_mask(value)
            groups = value.split(",")
            if mask >> cpu_lists.width(self) or any(len(group) > 8 for group in groups):
                error = errno.EOVERFLOW
            elif mask and not mask & ~self.isolated:
                error = errno.EINVAL
            else:
                kept = mask & cpu_lists.mask_of(cpu_lists.online(self)) & ~self.isolated
                value = cpu_lists.format_mask(kept, cpu_lists.width(self))
        if error is not None:
            raise refused("cannot write %s to %s" % (value, path), OSError(error, os.strerror(error)))
        self.fill(path, value)

    def tree(self, *tops):
        found = {}
        for top in tops:
            for folder, _folders, names in os.walk(self.path(top)):
                for name in names:
                    path = os.path.join(folder, name)
                    with open(path) as stream:
                        found["/" + os.path.relpath(path, self.root)] = stream.read()
        return found


class FullDisk(KernelHost):
    full = ("/var/lib",)

    def write(self, path, text, mode=0o644):
        if path.startswith(self.full):
            raise HostError("cannot write %s: %s" % (path, os.strerror(errno.ENOSPC)), errno.ENOSPC)
        super().write(path, text, mode)


QUEUE = "/sys/class/net/hsi0/queues/rx-%d/rps_cpus"
RPS_DEFAULTS = {
    "interfaces": ["auto"],
    "cpus": "all",
    "every": 1,
    "unit": "cpu",
    "flow_steering": False,
    "flow_cnt": None,
    "sock_flow_entries": None,
    "state": "present",
    "force": False,
}


def rps_params(**changes):
    """Return the parameters of the module rps with its defaults."""
    return dict(RPS_DEFAULTS, **changes)


def masks(host):
    """Return the masks of the first two queues of hsi0."""
    return [host.value(QUEUE % number) for number in range(2)]
