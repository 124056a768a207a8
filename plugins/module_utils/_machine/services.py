# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that set the same knobs, found by systemd's links and control groups, without a command."""

import re

from .._host.host import HostError, Once
from . import tools
from .other_settings import conflict, enabled, lines_with

_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
# these act when they are started and leave no process
_ACT_ONCE = ("sapconf", "saptune")
_CPUPLUGD = "/etc/cpuplugd.conf"
_CPUPLUGD_RULES = re.compile(r"^HOT(?:UN)?PLUG\s*=")
# this and later versions of cpuplugd leave vertical CPUs alone (s390-tools CHANGELOG.md)
LEAVES_VERTICAL_ALONE = (2, 35)


def services(host):
    """[{service, enabled, running, version, detail}] of the services that are enabled or running.

    running is None if unknown: without control groups, and for services that leave no process.
    """
    host, found = Once(host), []
    for service in sorted(_DETAILS):
        starts, runs = enabled(host, service + ".service"), _runs(host, service + ".service")
        if starts or runs:
            if not runs and service in _ACT_ONCE:
                runs = None
            version = _cpuplugd_version(host) if service == "cpuplugd" else None
            detail = _DETAILS[service]
            detail = detail(host) if callable(detail) else detail
            found.append(dict(service=service, enabled=starts, running=runs, version=version, detail=detail))
    return found


def _runs(host, unit):
    known = [folder for folder in _SLICES if host.exists(folder)]
    return any(host.exists("%s/%s" % (folder, unit)) for folder in known) if known else None


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
    numbers = re.findall(r"\d+", service["version"] or "")
    if since is not None and numbers and tuple(int(part) for part in numbers[:2]) >= since:
        return []
    what = "cpuplugd %s" % (service["version"] or "of unknown version")
    return [conflict(what, line, "possible", effect=effect) for line in lines_with(host, _CPUPLUGD, _CPUPLUGD_RULES)]


def _saptune(host):
    notes = " ".join(tools.saptune_notes(host))
    return "it applies the SAP notes %s" % notes if notes else "it applies no SAP notes"


def _tuned(host):
    profile, problem = host.value("/etc/tuned/active_profile"), tools.tuned_profile(host).problem
    detail = "its active profile is %s" % profile if profile else "it has no active profile"
    return "%s; it cannot be loaded, so tuned sets nothing: %s" % (detail, problem) if problem else detail


_DETAILS = {
    "cpuplugd": "it takes CPUs offline and online again by load; before version 2.35.0 also while they are vertical",
    "irqbalance": "it moves interrupts between CPUs and leaves RPS masks alone",
    "sapconf": "it sets the sysctls of /etc/sysconfig/sapconf",
    "saptune": _saptune,
    "tuned": _tuned,
}
