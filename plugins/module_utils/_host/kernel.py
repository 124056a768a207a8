# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The running Linux: its distribution, and release, configuration options and files of its kernel."""

import gzip
import io
import os
import platform
import re
import zlib

from .errors import HostError

# {id of os-release: how notes and tools of SAP's installation name it}
RELEASES = {"sles": "SLES", "sles_sap": "SLES", "rhel": "RHEL"}
_MOST_CONFIG = 16 * 1024 * 1024


def int_or_none(text):
    """The integer in a text; None if the text is anything else."""
    return int(text) if text is not None and re.match(r"^-?[0-9]{1,18}$", text.strip()) else None


def machine_of(host):
    """The id that differs between this machine and a copy of it, None if unknown: on AIX the machine's id and the
    partition's number, elsewhere the id of systemd or D-Bus.
    """
    if platform.system() == "AIX":
        machine = os.uname().machine
        try:
            number = re.match(r"\s*([0-9]+)\b", host.run(["uname", "-L"]).out)
        except HostError:
            number = None
        return "%s %s" % (machine, number.group(1)) if number else machine
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        text = host.value(path)
        if text and re.match(r"^[0-9a-f]{32}\Z", text):
            return text
    return None


def boot_id(host):
    """The id of this boot; None if the system has none."""
    return host.value("/proc/sys/kernel/random/boot_id")


def release(host):
    """The kernel release, such as 6.12.107+deb13-s390x, or None."""
    text = host.value("/proc/sys/kernel/osrelease")
    if text:
        return text
    words = (host.read("/proc/version") or "").split()
    return words[2] if words[:2] == ["Linux", "version"] and len(words) > 2 else None


def has_builtin(host, module):
    """Whether a module is built into the running kernel."""
    listed = host.read("/lib/modules/%s/modules.builtin" % (release(host) or "")) or ""
    return any(line.endswith("/%s.ko" % module) for line in listed.splitlines())


def has_smc(host):
    """Whether the kernel of a host has SMC now: as a loaded module, or built in."""
    text = host.read("/proc/net/protocols") or ""
    return any(line.startswith("SMC") for line in text.splitlines())


def parse_option(text, name):
    """The value of an option (CONFIG_...) in a kernel's configuration; n if it is not set."""
    match = re.search(r"(?m)^%s=(.*)$" % re.escape(name), text)
    return match.group(1).strip().strip('"') if match else "n"


def kernel_option(host, name):
    """The value (y, m, n or another) of an option (CONFIG_...) of the running kernel; None if unknown."""
    kernel = release(host)
    for path in ("/boot/config-%s", "/usr/lib/modules/%s/config", "/lib/modules/%s/config"):
        text = host.read(path % kernel) if kernel and "/" not in kernel else None
        if text:
            return parse_option(text, name)
    text = _unpacked(host, "/proc/config.gz")
    return None if text is None else parse_option(text, name)


def _unpacked(host, path):
    """The text of a gzip file, at most its first 16 MiB; None if it is absent or cannot be read."""
    try:
        data = host.data(path)
        if data is None:
            return None
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return stream.read(_MOST_CONFIG).decode("utf-8", "replace")
    except (HostError, OSError, EOFError, zlib.error):
        return None


# the distribution, see os-release(5)


def distribution(host):
    """{id, version, name}; None without an os-release file."""
    text = host.read("/etc/os-release") or host.read("/usr/lib/os-release")
    return parse_os_release(text) if text else None


def parse_os_release(text):
    """{id, version, name} of an os-release file."""
    values = {}
    for line in text.splitlines():
        match = re.match(r"^([A-Z_]+)=([\"']?)(.*)\2$", line.strip())
        if match:
            values[match.group(1)] = match.group(3)
    return {"id": values.get("ID"), "version": values.get("VERSION_ID"), "name": values.get("PRETTY_NAME")}
