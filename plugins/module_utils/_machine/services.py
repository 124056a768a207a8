# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that set the same knobs, found by systemd's links and control groups, without a command."""

import re

from .._host.host import HostError, Once
from .._sap.processes import read_text
from . import tools, tuned
from .other_settings import conflict, enabled, lines_with

_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
# these act when they are started and leave no process
_ACT_ONCE = ("sapconf", "saptune")
_CPUPLUGD = "/etc/cpuplugd.conf"
_CPUPLUGD_RULES = re.compile(r"^HOT(?:UN)?PLUG\s*=")
CIB, _COROSYNC = "/var/lib/pacemaker/cib/cib.xml", "/etc/corosync/corosync.conf"
ACTIVE, INACTIVE, UNKNOWN = "active", "inactive", "unknown"
_PACEMAKER = ("pacemaker.service", "pacemaker_remote.service")
# the kernel keeps 15 characters of a name
_DAEMONS = ("pacemakerd", "pacemaker-remot", "pacemaker_remot")
# this and later versions of cpuplugd leave vertical CPUs alone (s390-tools CHANGELOG.md)
LEAVES_VERTICAL_ALONE = (2, 35)


def services(host):
    """[{service, enabled, running, version, detail}] of the services that are enabled or running.

    running is None if unknown: without control groups, and for services that leave no process.
    """
    host, found = Once(host), []
    for service in sorted(_DETAILS):
        starts, active = enabled(host, service + ".service"), runs(host, service + ".service")
        if starts or active:
            active = None if not active and service in _ACT_ONCE else active
            version = _cpuplugd_version(host) if service == "cpuplugd" else None
            detail = _DETAILS[service](host) if callable(_DETAILS[service]) else _DETAILS[service]
            found.append(dict(service=service, enabled=starts, running=active, version=version, detail=detail))
    return found


def runs(host, unit):
    """Whether a unit has a control group, as long as its processes run; None if that is not known."""
    known = [folder for folder in _SLICES if host.exists(folder)]
    return any(host.exists("%s/%s" % (folder, unit)) for folder in known) if known else None


def pacemaker(host):
    """(whether this is a node of a cluster or None, whether Pacemaker is ACTIVE there, INACTIVE or UNKNOWN).

    Without control groups, or if other signs make it likely, the processes tell whether it runs.
    """
    signs = [host.exists(path) for path in (_COROSYNC, CIB)] + [enabled(host, unit) for unit in _PACEMAKER]
    found = [runs(host, unit) for unit in _PACEMAKER]
    if any(found):
        return True, ACTIVE
    if None not in found and not any(signs):
        return False, INACTIVE
    processes = commands(host)
    if processes.intersection(_DAEMONS):
        return True, ACTIVE
    # a capture may hold neither
    state = INACTIVE if processes or None not in found else UNKNOWN
    return any(signs) or (None if state == UNKNOWN else False), state


def commands(host):
    """The names of all running commands, at most 15 characters of each."""
    pids = [name for name in host.listdir("/proc") if re.match(r"[0-9]{1,9}\Z", name)]
    # a process may end meanwhile
    return {read_text(host, "/proc/%s/comm" % pid).strip() for pid in pids} - {""}


def parse_cpuplugd_version(text):
    """The version in the output of ``cpuplugd --version``, such as 2.35.0, or None."""
    match = re.search(r"\bversion v?([0-9]+(\.[0-9]+)+)", text)
    return match.group(1) if match else None


def _cpuplugd_version(host):
    try:
        return parse_cpuplugd_version(host.run(["cpuplugd", "--version"]).out)
    except HostError:
        return None


def hotplug_conflicts(host, effect, since=None):
    """conflict() of each rule of cpuplugd for CPUs, if it is enabled or running and older than the version since."""
    service = next((one for one in services(host) if one["service"] == "cpuplugd"), None)
    if service is None:
        return []
    numbers = re.findall(r"[0-9]{1,9}", service["version"] or "")
    if since is not None and numbers and tuple(int(part) for part in numbers[:2]) >= since:
        return []
    what = "cpuplugd %s" % (service["version"] or "of unknown version")
    return [conflict(what, line, "possible", effect=effect) for line in lines_with(host, _CPUPLUGD, _CPUPLUGD_RULES)]


def _saptune(host):
    notes = " ".join(tools.saptune_notes(host))
    return "it applies the SAP notes %s" % notes if notes else "it applies no SAP notes"


def _tuned(host):
    profile, problem = host.value("/etc/tuned/active_profile"), tuned.tuned_profile(host).problem
    detail = "its active profile is %s" % profile if profile else "it has no active profile"
    return "%s; it cannot be loaded, so tuned sets nothing: %s" % (detail, problem) if problem else detail


_DETAILS = {
    "cpuplugd": "it takes CPUs offline and online again by load; before version 2.35.0 also while they are vertical",
    "irqbalance": "it moves interrupts between CPUs and leaves RPS masks alone",
    "sapconf": "it sets the sysctls of /etc/sysconfig/sapconf",
    "saptune": _saptune,
    "tuned": _tuned,
}
