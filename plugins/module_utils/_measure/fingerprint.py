# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine, its kernel, and the interface to the peer: they must not differ between two phases."""

import os
import platform

from .._aix.devices import ADDRESSES, ENABLED, PORTS, Devices, empty_lists, is_aix, is_smc_r
from .._host.host import HostError
from .._host.kernel import boot_id
from .._machine.capacity import capacity
from .._machine.hardware import parse_sysinfo, receive_queues
from .._machine.reading import ReadingHost
from .._machine.routes import plain_address, route_interface
from .._sap.instances import instances
from .._sap.sapcontrol import SapControl

_MAX_QUEUES = 16
_LONGEST = 255
# seconds: the other end waits for the fingerprint
_SAPCONTROL_TIMEOUT = 3


def smc_r(host):
    """AIX: "on" if a device lets TCP connections use RDMA, which network counters do not see; else "off".

    None if the devices do not say. Whether a connection really uses it depends on the peer, too.
    """
    try:
        known = Devices(host)
        devices = [one for one in known.devices() if is_smc_r(one.name)]
        for device in (one.name for one in devices if one.state == "Available"):
            values = {name: known.in_force(device, name) for name in (ENABLED, ADDRESSES, PORTS)}
            if None in values.values():
                return None
            if values[ENABLED] != "0" and not empty_lists(values):
                return "on"
    except HostError:
        return None
    return "off"


def entitlement(root, system):
    """How many cores this LPAR is entitled to, as text with the source; None if unknown."""
    found = capacity(ReadingHost(root), system)
    cores = found["entitled_range"] or [] if found["entitled_cores"] is None else [found["entitled_cores"]]
    text = " to ".join(str(end) for end in cores if end is not None)
    return "%s cores (%s)" % (text, found["source"]) if text else None


def sap_kernel(host):
    """The SAP kernels of this host's instances as text; None without one, or if one does not tell.

    Only root and <sid>adm may ask.
    """
    found = set()
    for instance in instances(host):
        # the host agent, which runs on nearly every host and does no work
        if instance.role != "diagnostics":
            kernel = SapControl(host, instance, _SAPCONTROL_TIMEOUT).kernel()
            if kernel is None:
                return None
            found.add(kernel)
    return ", ".join(sorted(found))[:_LONGEST] or None


def fingerprint(local, peer, root="/"):
    """A record's fingerprint of this end; local and peer are the numeric addresses of a connection between the ends.

    Values that this platform does not show are None. clock_step_s is filled in at the end of the round. Only AIX has
    smc_r, only AIX and IBM Z have entitlement, only hosts with SAP have sap_kernel.
    """
    host, names = ReadingHost(root), os.uname()
    local, peer = plain_address(local), plain_address(peer)
    interface = route_interface(local, peer)
    mtu = host.value("/sys/class/net/%s/mtu" % interface) if interface else None
    queues = receive_queues(host, interface)[:_MAX_QUEUES] if interface else []
    masks = {name: host.value("/sys/class/net/%s/queues/%s/rps_cpus" % (interface, name)) for name in queues}
    result = {
        "hostname": names.nodename,
        "system": names.sysname,
        "arch": names.machine,
        "kernel": names.release if names.sysname != "AIX" else "%s.%s" % (names.version, names.release),
        "machine": parse_sysinfo(host.value("/proc/sysinfo") or "").type or names.machine,
        "cpus_online": os.cpu_count(),
        "python": platform.python_version(),
        "boot_id": boot_id(host),
        "interface": interface,
        "mtu": int(mtu) if mtu and mtu.isdigit() else None,
        "address": local,
        "clock_step_s": None,
        "rps_cpus": {name: mask for name, mask in masks.items() if mask is not None} or None,
    }
    if is_aix():
        result["smc_r"] = smc_r(host)
    if is_aix() or names.machine == "s390x":
        result["entitlement"] = entitlement(root, platform.system())
    kernel = sap_kernel(host)
    return dict(result, sap_kernel=kernel) if kernel else result
