# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs at boot: systemd, this machine's own scripts, also those of its network services, sysctl.d.

sysctl.d is read as systemd-sysctl does (src/sysctl/sysctl.c), and a number of it as the kernel does.
"""

import fnmatch
import os
import re
from collections import OrderedDict

from .._host.drop_ins import Setting, effective_files, numbered_lines, text_of
from .._host.host import HostError

_SYSTEMD = ("/run/systemd/system", "/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/etc/systemd/system")
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
SYSCTL_CONF = "/etc/sysctl.conf"
_PROC = "/proc/sys/"
_SWAP = {ord("."): "/", ord("/"): "."}
_NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,19})\Z")


def runs_systemd(host):
    """Whether systemd starts this machine, also if only its /etc was captured."""
    return any(host.exists(path) for path in _SYSTEMD)


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


# sysctl.d


def path_of(name):
    """The file of a dotted name, in which a slash stands for a dot."""
    return _PROC + name.translate(_SWAP)


def sysctl_lines(host, file):
    """(name, Setting) of the lines of a file in sysctl.d; value: None without an equals sign."""
    for number, text in enumerate(map(str.strip, text_of(host, file).split("\n")), 1):
        if text and text[0] not in "#;":
            name, equals, value = text.partition("=")
            yield name.strip(), Setting(file, number, text, value.strip() if equals else None)


def sysctls(host, *paths):
    """[(path, Setting)] of the lines in sysctl.d that set these files in /proc/sys at boot; the last one counts.

    An explicit name switches globs off, and one with a dash and no value every other line. A repeated name takes the
    last value and its place, but the first place if the value is the same. Replaced lines come first.

    /etc/sysctl.conf is read if a link in sysctl.d leads to it, or if procps applies it (sysctl --system, in the boot
    scripts of systems without systemd): systemd-sysctl itself does not read it since version 207 (NEWS).
    """
    files = effective_files(host, "sysctl.d", ".conf")
    if not conf_is_linked(host) and not runs_systemd(host):
        files.append(SYSCTL_CONF)
    replaced, table = [], OrderedDict()
    for file in files:
        for written, setting in sysctl_lines(host, file):
            name = _normalized(written.lstrip("-"), setting.value is None and not written.startswith("-"))
            if name in table and table[name].value == setting.value:
                replaced.append((name, setting))
                continue
            if name in table:
                replaced.append((name, table.pop(name)))
            if name:
                table[name] = setting
    lines = [(name, path, setting) for name, setting in replaced + list(table.items()) for path in paths]
    fits = [name == path or (path not in table and _matches(name, path)) for name, path, _setting in lines]
    return [line[1:] for line, fit in zip(lines, fits) if fit]


def conf_is_linked(host):
    """Whether a link in sysctl.d leads to /etc/sysctl.conf."""
    return any(host.real(file) == host.real(SYSCTL_CONF) for file in effective_files(host, "sysctl.d", ".conf"))


def _normalized(name, invalid):
    """The path of a name, whose first separator tells whether slashes or dots separate; empty if it is not a name."""
    separator = re.search("[./]", name)
    if invalid or not name:
        return ""
    path = name.translate(_SWAP) if separator and separator.group() == "." else name
    return _PROC + os.path.normpath(path).lstrip("/")


def is_glob(name):
    return re.search(r"[*?[]", name) is not None


def _matches(glob, path):
    """As glob(3): no wildcard stands for a slash."""
    pairs = list(zip(path.split("/"), glob.split("/")))
    same = glob.count("/") == path.count("/")
    return is_glob(glob) and same and all(fnmatch.fnmatchcase(*pair) for pair in pairs)


def number(text, fields=None):
    """The numbers, in decimal, that the kernel reads for a sysctl with this many; empty if it refuses the text.

    kernel/sysctl.c: proc_get_long() takes 0x and the 0 of octal numbers, and what follows the last number is ignored.
    """
    found = []
    for word in text.split()[:fields]:
        match = _NUMBER.match(word)
        if not match:
            break
        sign, digits = match.groups()
        base = 16 if digits[1:2] in ("x", "X") else 8 if digits.startswith("0") else 10
        found.append(sign + str(int(digits, base)))
    return " ".join(found)
