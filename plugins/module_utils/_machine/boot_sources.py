# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs at boot: systemd and its version, and this machine's own scripts, also those of its network services."""

import os
import re

from .._host.drop_ins import effective_files, numbered_lines
from .._host.host import HostError

_SYSTEMD = ("/run/systemd/system", "/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/etc/systemd/system")
_LIBRARIES = ("/usr/lib/systemd", "/usr/lib64/systemd", "/lib/systemd")

_BOOT = (
    ("/etc", "rc.local"),
    ("/etc/rc.d", "rc.local"),
    ("/etc/init.d", "boot.local"),
    ("/etc/init.d", "after.local"),
    ("/etc/cron.d", "*"),
    ("/etc", "crontab"),
    ("/var/spool/cron/crontabs", "root"),
    ("/var/spool/cron/tabs", "root"),
    ("/var/spool/cron", "root"),
)
_NETWORK = (
    # SUSE: if-up.d holds links to scripts, and a file ifcfg-* may name others (wicked, ifup)
    ("/etc/sysconfig/network/scripts", "*"),
    ("/etc/sysconfig/network/if-up.d", "*"),
    # Debian: ifupdown, interfaces(5)
    ("/etc/network", "interfaces"),
    ("/etc/network/interfaces.d", "*"),
    ("/etc/network/if-pre-up.d", "*"),
    ("/etc/network/if-up.d", "*"),
    # Red Hat: network-scripts
    ("/sbin", "ifup-local"),
)
# of these, a file in /etc hides one of the same name in /usr/lib: NetworkManager-dispatcher(8), networkd-dispatcher(8)
_DISPATCHERS = (
    "NetworkManager/dispatcher.d",
    "NetworkManager/dispatcher.d/pre-up.d",
    "NetworkManager/dispatcher.d/no-wait.d",
)
_NETWORKD_DISPATCHER = "networkd-dispatcher"
# POST_UP_SCRIPT='wicked:/usr/local/sbin/tune', see ifcfg(5)
_IFCFG_SCRIPT = re.compile(r"^(?:PRE|POST)_UP_SCRIPT\s*=\s*[\"']?(?:[\w-]+:)*(/[^\s\"']+)")


def runs_systemd(host):
    """Whether systemd starts this machine, also if only its /etc was captured."""
    return any(host.exists(path) for path in _SYSTEMD)


def systemd_version(host):
    """The version of systemd, such as 257, by the name of its library; None if unknown."""
    folders = [os.path.join("/usr/lib", name, "systemd") for name in host.listdir("/usr/lib") if "-linux-gnu" in name]
    for folder in _LIBRARIES + tuple(folders):
        for path in host.glob(folder, "libsystemd-shared-*.so"):
            match = re.match(r"libsystemd-shared-([0-9]{3,4})\b", os.path.basename(path))
            if match:
                return int(match.group(1))
    return None


def scripts(host):
    """The paths of the scripts that run at boot, by cron, or when an interface comes up; a link and its target once."""
    found = [path for folder, name in _BOOT + _NETWORK for path in host.glob(folder, name)]
    states = host.listdir("/etc/" + _NETWORKD_DISPATCHER) + host.listdir("/usr/lib/" + _NETWORKD_DISPATCHER)
    states = sorted({state for state in states if state.endswith(".d")})
    for kind in _DISPATCHERS + tuple("%s/%s" % (_NETWORKD_DISPATCHER, state) for state in states):
        found += effective_files(host, kind, "")
    for ifcfg in host.glob("/etc/sysconfig/network", "ifcfg-*"):
        for _line, text in numbered_lines(host, ifcfg):
            found += _IFCFG_SCRIPT.findall(text)
    return list({real(host, path): path for path in reversed(found)}.values())[::-1]


def real(host, path):
    """The path with all links followed; the path itself if that cannot be found out, as on a network file system."""
    try:
        return host.real(path)
    except HostError:
        return path
