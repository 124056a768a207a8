# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has for SMC, read from files only: the kernel's module, ISM and RoCE devices, PNET IDs of the hardware.

Kernel: arch/s390/net/pnet.c (PNET IDs), drivers/s390/net/ism_drv.c (the PCI numbers of ISM). Tools: modprobe.d(5).
"""

import re

from .._host import kernel
from .._host.drop_ins import effective_files, numbered_lines
from . import smc_sockets
from .other_settings import command_line
from .smc_tables import INTERFACE

NET, ROCE, PCI = "/sys/class/net", "/sys/class/infiniband", "/sys/bus/pci/devices"
MODULE = "smc"
_MODULES = "/lib/modules"
_ISM = ("0x1014", "0x04ed")
_FIELD = 16
_DEEPEST = 8


def modules_folder(host):
    """The folder of the modules of the running kernel."""
    return "%s/%s" % (_MODULES, kernel.release(host) or "unknown")


def missing_kernel(host):
    """Why the running kernel cannot have SMC, one clause; empty if it has it, or can load it. Loads nothing."""
    if smc_sockets.kernel_has_smc(host) or kernel.has_builtin(host, MODULE):
        return ""
    release = kernel.release(host)
    if not release or "/" in release or not host.exists("%s/%s" % (_MODULES, release)):
        return "there are no modules of the running kernel %s in %s" % (release or "", _MODULES)
    if MODULE not in modules(host, release):
        return "the kernel %s has no module smc (CONFIG_SMC)" % release
    return blocked(host)


def modules(host, release=None):
    """Those of the modules smc and smc_diag that belong to a kernel (default: the running one)."""
    text = host.read("%s/%s/modules.dep" % (_MODULES, release or kernel.release(host) or "")) or ""
    return [name for name in (MODULE, "smc_diag") if re.search(r"(?m)^(\S*/)?%s\.ko(\.\w+)?:" % name, text)]


def blocked(host):
    """What keeps the module smc from being loaded at boot, one clause; empty if nothing does."""
    for name in ("module_blacklist", "modprobe.blacklist"):
        parameter = command_line(host, name)
        if parameter is not None and MODULE in parameter.value.split(","):
            return "%s on the kernel command line keeps the module smc from being loaded" % name
    for path in effective_files(host, "modprobe.d", ".conf"):
        for line, text in numbered_lines(host, path):
            words = text.split()
            if words[:2] in (["blacklist", MODULE], ["install", MODULE]):
                return "%s:%d keeps the module smc from being loaded: %s" % (path, line, text)
    return ""


def kernels_without(host):
    """The releases of other installed kernels that have no SMC."""
    found = []
    for release in host.listdir(_MODULES):
        listed = host.read("%s/%s/modules.builtin" % (_MODULES, release)) or ""
        known = host.exists("%s/%s/modules.dep" % (_MODULES, release))
        has_smc = "/smc.ko" in listed or MODULE in modules(host, release)
        if known and release != kernel.release(host) and not has_smc:
            found.append(release)
    return found


def ism_devices(host):
    """The PCI addresses of the ISM devices."""
    files = [(pci, ["%s/%s/%s" % (PCI, pci, name) for name in ("vendor", "device")]) for pci in host.listdir(PCI)]
    return [pci for pci, paths in files if tuple(map(host.value, paths)) == _ISM]


def interface_of(host, device):
    """The interface of the same adapter as an RDMA device; None if unknown."""
    return next(iter(host.listdir("%s/%s/device/net" % (ROCE, device))), None)


def hardware_id(host, kind, name, port=1):
    """The PNET ID that the hardware gives an interface or device; None if it gives none.

    Below a VLAN or bond, that of the interface at its base counts.
    """
    if kind == INTERFACE:
        name = _base(host, name)
        device = "%s/%s/device" % (NET, name)
        path, place = device + "/util_string", "%s/%s/dev_port" % (NET, name)
        chpid = host.value(device + "/chpid")
        if chpid and re.match(r"^[0-9A-Fa-f]{1,2}\Z", chpid):
            path, place = "/sys/devices/css0/chp0.%02x/util_string" % int(chpid, 16), device + "/portno"
        return _decoded(host, path, kernel.int_or_none(host.value(place)) or 0)
    if ":" in name:
        return _decoded(host, "%s/%s/util_string" % (PCI, name), 0)
    return _decoded(host, "%s/%s/device/util_string" % (ROCE, name), (port or 1) - 1)


def _base(host, name):
    for _level in range(_DEEPEST):
        lower = [one for one in host.listdir("%s/%s" % (NET, name)) if one.startswith("lower_")]
        if not lower:
            break
        name = lower[0][len("lower_") :]
    return name


def _decoded(host, path, place):
    """One of the four PNET IDs in EBCDIC; cp037 has letters and digits where IBM-1047 has them."""
    data = (host.data(path) or b"")[place * _FIELD : (place + 1) * _FIELD]
    if not data or data[0] in (0, 0x40):
        return None
    return data.split(b"\0")[0].decode("cp037").strip() or None


def interfaces(host):
    """The names of the interfaces that are up. Kernel, operstates.rst: drivers that do not tell more leave unknown."""
    return [name for name in host.listdir(NET) if host.value("%s/%s/operstate" % (NET, name)) in ("up", "unknown")]
