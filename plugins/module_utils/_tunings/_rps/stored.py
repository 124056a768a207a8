# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The udev rules that keep RPS over a reboot, and other settings of it at boot."""

import fnmatch
import os
import re

from ..._engine.tuning import InputError
from ..._host import cpu_lists
from ..._host.host import Once
from ..._machine import hardware
from ..._machine.boot_sources import path_of, sysctls
from ..._machine.other_settings import (
    Setting,
    boot_scripts,
    command_line,
    conflict,
    ini_files,
    of_tuned,
    tmpfiles,
    udev_match,
    udev_rules,
    units,
)
from ..._machine.services import LEAVES_VERTICAL_ALONE, hotplug_conflicts
from .interfaces import NET, is_plain, queue_path

DEFAULT_MASK = "net.core.rps_default_mask"
# above 80-net-setup-link.rules, which decides the interface's final name
RULES = "/etc/udev/rules.d/91-zpower-sap-tuning-rps.rules"
RULES_HEADER = (
    "# Receive Packet Steering, kept by zpower.sap_tuning.rps: change it there, not here.\n"
    "# Rules for the interface name the receive queues that may be there at boot, while the interface gets its name;\n"
    "# a rule for queues sets those that come later.\n"
)
MOST_QUEUES = 64
LATE_QUEUES = "sets only the first mask of receive queues that are made later; the stored rule then replaces it"
_SETS_MASK = re.compile(
    r"""echo\s+(?:-n\s+)?["']?([0-9a-fA-F,]+)["']?\s*>\s*\S*rps_(?:cpus|default_mask)"""
    r"""|rps_(?:cpus|default_mask)\b["']?(?:\s*=\s*["']?([0-9a-fA-F,]+)\b)?"""
)
# the interface in a line that sets its mask; with $ in it, only the script knows
_INTERFACE = re.compile(r"/sys/class/net/([^/\s=\"'$`]+)/queues/(?:(?!/sys/class/net/)[^$])*rps_cpus")
LOSES_CPUS = "takes CPUs offline; a mask written meanwhile lacks them for good"


def queues_at_boot(host, interface, queues):
    """The number of receive queues in the rules: the present ones, or one per CPU if the driver may make more at boot.

    qeth (HiperSockets, OSA) has exactly one.
    """
    if hardware.driver_of(host, interface) == "qeth":
        return queues
    return max(queues, min(len(cpu_lists.present(host)), MOST_QUEUES))


def rules(interface, queues, values):
    """The udev rules that give receive queues 0 to queues - 1, and late ones, their values ({"rps_cpus": "ff"}).

    Tried on real boots: a rule on queues alone is lost if the interface is renamed, because the path of their events is
    gone by then. Without TEST each write to a missing queue would be logged as an error. Raises InputError for a name
    that means more than itself in a rule.
    """
    for text in [interface] + [text for pair in values.items() for text in pair]:
        if not is_plain(text):
            raise InputError("interfaces: '%s' cannot be named in a udev rule; give the interface another name" % text)
    lines = []
    for queue in range(queues):
        writes = ", ".join('ATTR{queues/rx-%d/%s}="%s"' % (queue, name, values[name]) for name in sorted(values))
        writes = 'TEST=="queues/rx-%d/rps_cpus", %s' % (queue, writes)
        # NAME is empty if nothing renames the interface
        for match in ('NAME=="%s"' % interface, 'NAME=="", KERNEL=="%s"' % interface):
            lines.append('SUBSYSTEM=="net", ACTION!="remove", %s, %s' % (match, writes))
    writes = ", ".join('ATTR{%s}="%s"' % (name, values[name]) for name in sorted(values))
    lines.append('SUBSYSTEM=="queues", ACTION!="remove", KERNEL=="rx-*", KERNELS=="%s", %s' % (interface, writes))
    return "\n".join(lines)


def values_of(text):
    """The {"rps_cpus": "ff"} that a block of rules() sets, or None if it sets different values (edited by hand)."""
    found = {}
    for name, value in re.findall(r'ATTR\{(?:queues/rx-\d+/)?(rps_\w+)\}="([^"]*)"', text):
        if found.setdefault(name, value) != value:
            return None
    return found or None


class Others:
    """Other settings of rps_cpus. The files are read once for all interfaces and receive queues."""

    def __init__(self, host):
        self._host = host
        host = Once(host)
        parameter = command_line(host, "sysctl." + DEFAULT_MASK)
        self._defaults = [parameter] if parameter else []
        self._defaults += [setting for _path, setting in sysctls(host, path_of(DEFAULT_MASK)) if setting.value]
        # systemd reads their masks from version 256 on (NEWS)
        self._links = list(ini_files(host, "systemd/network", ".link"))
        self._rules = [rule for rule in udev_rules(host, "rps_cpus") if rule[0] != RULES]
        self._tmpfiles = list(tmpfiles(host))
        # (what, Setting, wins); the interface that a unit or a script means is mostly unknown
        self._late = [("tuned", one, "yes" if runs else "possible") for runs, one in of_tuned(host, _SETS_MASK)]
        self._late += [("unit", setting, "possible") for _runs, setting in units(host, _SETS_MASK)]
        self._late += [("boot script", setting, "possible") for setting in boot_scripts(host, _SETS_MASK)]
        vertical = host.value("/sys/devices/system/cpu/dispatching") == "1"
        self._hotplug = hotplug_conflicts(host, LOSES_CPUS, LEAVES_VERTICAL_ALONE if vertical else None)

    def conflicts(self, name, queues):
        """Those of one interface, as conflict(), in the order in which they act at boot."""
        found = [conflict(DEFAULT_MASK, setting, "no") for setting in self._defaults]
        found += _link_conflicts(self._host, name, self._links) + _udev_conflicts(self._host, name, self._rules)
        for queue in queues:
            path = queue_path(name, queue, "rps_cpus")
            # it runs once, early: some interfaces come later
            matching = [setting for paths, setting in self._tmpfiles if fnmatch.fnmatchcase(path, paths)]
            found += [conflict("tmpfiles.d", setting, "possible") for setting in matching]
        for what, setting, wins in self._late:
            interface = _INTERFACE.search(setting.text)
            if "rps_default_mask" in setting.text and "rps_cpus" not in setting.text:
                found.append(conflict(what, setting, "no", effect=LATE_QUEUES))
            elif interface is None or fnmatch.fnmatchcase(name, interface.group(1)):
                found.append(conflict(what, setting, wins))
        return found + self._hotplug


def _link_conflicts(host, name, links):
    """systemd.link(5) files with ReceivePacketSteeringCPUMask=, which 80-net-setup-link.rules applies.

    Only the first file that matches an interface counts, so one without a mask (of netplan, for example) hides others.
    """
    found, doubt = [], False
    for sections in links:
        match = _link_match(host, name, sections.get("Match", {}))
        settings = sections.get("Link", {}).get("ReceivePacketSteeringCPUMask", [])
        if any(setting.value for setting in settings):
            mask = _link_mask(host, [setting.value for setting in settings])
            wins = "possible" if doubt or match == "maybe" else "no"
            found.append(conflict(".link file", settings[-1]._replace(value=mask), wins))
        if match == "yes":
            break
        doubt = doubt or bool(sections)
    return found


def _link_match(host, name, matches):
    """Whether the [Match] of a .link file means an interface: yes or maybe (only udev knows its first name)."""
    address = (host.value("%s/%s/address" % (NET, name)) or "").lower()
    sure = bool(matches)
    for key, settings in matches.items():
        words = " ".join(setting.value for setting in settings)
        if key == "OriginalName":
            sure = sure and udev_match(words, name, None)
        else:
            sure = sure and key in ("MACAddress", "PermanentMACAddress") and address in words.lower().split()
    return "yes" if sure else "maybe"


def _link_mask(host, texts):
    """The mask of these ReceivePacketSteeringCPUMask=, which are merged; an empty one starts again.

    Each is a list of CPUs and ranges with commas or blanks, all, or disable. None for anything else.
    """
    cpus = set()
    for text in texts:
        more = cpu_lists.online(host) if text == "all" else cpu_lists.list_or_none(re.sub(r"[\s,]+", ",", text))
        if more is None and text not in ("", "disable"):
            return None
        cpus = set() if more is None else cpus.union(more)
    return cpu_lists.format_mask(cpu_lists.mask_of(cpus), cpu_lists.width(host))


def _udev_conflicts(host, name, udev_rules):
    found = []
    for file, line, tokens in udev_rules:
        relevance = _relevance(host, name, tokens)
        if relevance == "no":
            continue
        writes = [token for token in tokens if token.key == "ATTR" and (token.attribute or "").endswith("rps_cpus")]
        writes = [token for token in writes if token.operator in ("=", ":=")]
        program = any(token.key in ("RUN", "PROGRAM") and "rps_cpus" in token.value for token in tokens)
        if not writes and not program:
            continue
        # programs run after the last rule; one on queues is lost if the interface is renamed at boot
        acts = program or os.path.basename(file) > os.path.basename(RULES)
        sure = program or not any(token.key == "SUBSYSTEM" and token.value == "queues" for token in tokens)
        wins = "no" if not acts else "yes" if sure and relevance == "yes" else "possible"
        found.append(conflict("udev rule", Setting(file, line, "", writes[-1].value if writes else None), wins))
    return found


def _relevance(host, name, tokens):
    """Whether a udev rule is about this interface: yes, no, or maybe (only udev knows)."""
    known = {
        "NAME": name,
        "KERNELS": name,
        "ENV{INTERFACE}": name,
        "ENV{ID_NET_NAME}": name,
        "DRIVERS": hardware.driver_of(host, name) or "",
        "ATTR{address}": host.value("%s/%s/address" % (NET, name)) or "",
    }
    maybe = False
    for token in tokens:
        if token.operator not in ("==", "!=") or token.key in ("SUBSYSTEM",):
            continue
        label = token.key + ("{%s}" % token.attribute if token.attribute else "")
        if label == "ACTION":
            if token.operator == "==" and not udev_match(token.value, "add"):
                return "no"
        elif label == "KERNEL":
            # an interface may have another kernel name at boot; the name of a queue is rx-N
            maybe = maybe or not (udev_match(token.value, name) or token.value.startswith("rx-"))
        elif label in known:
            if udev_match(token.value, known[label]) != (token.operator == "=="):
                return "no"
        else:
            maybe = True
    return "maybe" if maybe else "yes"
