# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real-time scheduling of work processes: its prerequisites outside the profile, and whether the processes have it.

The kernel's rules are those of sched_setscheduler(2): the limit RLIMIT_RTPRIO or the capability CAP_SYS_NICE, and a
control group that may run real-time processes at all.
"""

import os
import re
from collections import Counter

from .._host.kernel import int_or_none, kernel_option, release
from . import limits, parameters
from .processes import read_text, running, servers

SCHEDULER, PRIORITY = parameters.SCHEDULER, parameters.PRIORITY
PARAMETERS = (SCHEDULER, PRIORITY)

# include/uapi/linux/sched.h
_POLICIES = {
    0: "SCHED_OTHER",
    1: "SCHED_FIFO",
    2: "SCHED_RR",
    3: "SCHED_BATCH",
    5: "SCHED_IDLE",
    6: "SCHED_DEADLINE",
    7: "SCHED_EXT",
}
_RUNTIME, _PERIOD = "/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_period_us"
_FAIR_SERVERS = "/sys/kernel/debug/sched/fair_server"
# threads of the kernel have 50
_HIGH = 50
# the highest priority of the kernel, and so the effect of an unlimited limit
_HIGHEST = 99
_CAP_SYS_NICE = 1 << 23
_LEAVE = "work processes under a real-time scheduler leave %g %% of the CPU time to all other processes (%s)"
_TAKE = "%s: work processes under a real-time scheduler can take all CPU time and block all other processes, even sshd"


def wants_realtime(values):
    """Whether these parameters, {name: value}, put work processes under a real-time scheduler."""
    return values.get(SCHEDULER) in parameters.REALTIME


def is_risky(values):
    """Whether these parameters put work processes before other programs, or before threads of the kernel."""
    return wants_realtime(values) or number(values.get(PRIORITY), 0) >= _HIGH


def number(priority, otherwise=1):
    """The value of rdisp/linux/os_priority as a number; otherwise: for None, and text that is not a number."""
    return int(priority) if re.match(r"^[0-9]{1,2}$", str(priority)) else otherwise


# prerequisites


def prerequisites(host, instance, priority, allowed=False):
    """Why an instance's work processes cannot get this priority at their next start, and what to do: sentences.

    priority: the value of rdisp/linux/os_priority; None or text that is not a number ("$(...)") means any priority.
    allowed: the instance's unit is about to get its limit.
    """
    parent, dispatchers = _processes(host, instance)
    runtime = _value(host, _RUNTIME)
    missing = []
    # a capability of the program's file applies at every start
    if not allowed and not any(_has_capability(host, process, "CapEff") for process in dispatchers):
        missing.append(_low_limit(host, instance, parent, number(priority)))
    # with -1, the kernel does not check the control groups
    if parent is not None and runtime != "-1":
        missing.append(_control_group(host, instance, parent))
    if runtime == "0" and not _has_fair_server(host):
        missing.append("kernel.sched_rt_runtime_us is 0: real-time processes get no CPU time at all; set it to 950000")
    return [sentence for sentence in missing if sentence]


def waiting(host, instance, priority):
    """Sentences if the priority is allowed only after the instance's unit has restarted sapstartsrv."""
    wanted, parent = number(priority), _processes(host, instance)[0]
    if parent is None or not instance.unit or _process_limit(host, parent) >= wanted:
        return []
    sentence = (
        "%s allows %s %s real-time priority %d from the next start of sapstartsrv on: its %s (process %d) is older"
    )
    words = (instance.unit, instance.sid, instance.name, wanted, parent.program, parent.pid)
    return [sentence % words] if unit_limit(host, instance.unit) >= wanted else []


def _processes(host, instance):
    """(the process whose limit the next dispatcher inherits, or None; all processes with the dispatcher's name)."""
    dispatchers = running(host, (_program(instance.sid, instance.name),), instance.sid)
    return (servers(host, instance) + dispatchers + [None])[0], dispatchers


def _low_limit(host, instance, parent, wanted):
    """The sentence if the limit is too low at the next start, or None.

    A unit gives its limit to each sapstartsrv that it starts, whatever limit a running one has. Without a unit,
    sapstartsrv keeps the limit of its start, and only login sessions set one.
    """
    if instance.unit:
        limit, source = unit_limit(host, instance.unit), "%s allows" % instance.unit
        advice = "set LimitRTPRIO=%d of %s (sap_profile_manage_rtprio does it)" % (wanted, instance.unit)
    else:
        limit, source = session_limit(host, instance.user), "%s allows" % limits.LIMITS
        advice = "write '%s - rtprio %d' to %s and start sapstartsrv from a login session"
        advice %= (instance.user, wanted, limits.LIMITS)
        if limit >= wanted:
            advice = "%s allows %d to login sessions: start sapstartsrv from one" % (limits.LIMITS, wanted)
        if parent is not None:
            limit = _process_limit(host, parent)
            source = "its %s (process %d) may use" % (parent.program, parent.pid)
    if limit >= wanted:
        return None
    who = "%s %s may not use real-time priority %d" % (instance.sid, instance.name, wanted)
    return "%s, because %s %s: %s" % (who, source, limit or "none", advice)


def _control_group(host, instance, parent):
    """The sentence if the control group has no real-time CPU time, or None; such a group refuses even root.

    If the kernel groups real-time processes (CONFIG_RT_GROUP_SCHED), a new group with the controller cpu has none.
    """
    who = "%s %s may not use real-time priority in the control group " % (instance.sid, instance.name)
    for line in read_text(host, "/proc/%d/cgroup" % parent.pid).splitlines():
        hierarchy, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if "cpu" in controllers.split(","):
            files = ["/sys/fs/cgroup/%s%s/cpu.rt_runtime_us" % (mount, path) for mount in (controllers, "cpu")]
            if "0" in [_value(host, file) for file in files]:
                advice = "%s, whose cpu.rt_runtime_us is 0: give it and those above it a share, such as 950000"
                return who + advice % path
        elif hierarchy == "0" and _groups_realtime(host) and _has_cpu_time(host, path):
            advice = "%s, because of the kernel's CONFIG_RT_GROUP_SCHED: boot it with rt_group_sched=0 (newer ones)"
            return who + advice % path
    return None


def _groups_realtime(host):
    """Whether the kernel is known to group real-time processes."""
    if kernel_option(host, "CONFIG_RT_GROUP_SCHED") != "y":
        return False
    on = kernel_option(host, "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED") != "y"
    for word in read_text(host, "/proc/cmdline").split():
        name, _equals, value = word.partition("=")
        if name == "rt_group_sched":
            # as the kernel's kstrtobool() reads it
            on = value[:1] in ("1", "y", "Y", "t", "T") or value[:2].lower() == "on"
    return on


def _has_cpu_time(host, path):
    """Whether a group of version 2, or one above it except the root group, has the controller cpu."""
    while path.strip("/"):
        if host.exists("/sys/fs/cgroup%s/cpu.weight" % path):
            return True
        path = os.path.dirname(path)
    return False


def _has_fair_server(host):
    """Whether the fair server limits real-time processes, and kernel.sched_rt_runtime_us does not.

    Linux 6.12 removed the bandwidth control of kernels that do not group real-time processes.
    """
    match = re.match(r"([0-9]{1,9})\.([0-9]{1,9})", release(host) or "")
    return bool(match) and tuple(map(int, match.groups())) >= (6, 12) and not _groups_realtime(host)


def remarks(host):
    """Sentences on the CPU time that real-time processes leave to other processes.

    The fair server has a share on each CPU, by default 50 ms of 1 s; debugfs shows it to root.
    """
    fair = _has_fair_server(host)
    folders = host.glob(_FAIR_SERVERS, "cpu*") if fair else []
    files = [(folder + "/runtime", folder + "/period") for folder in folders] if fair else [(_RUNTIME, _PERIOD)]
    pairs = [[int_or_none(_value(host, file)) for file in two] for two in files]
    shares = [(runtime, 100.0 * runtime / period) for runtime, period in pairs if runtime is not None and period]
    runtime, share = min(shares, default=(None, 5.0), key=lambda pair: pair[1])
    if fair:
        if runtime is not None and share <= 0:
            return [_TAKE % ("the fair server is off (runtime 0 in %s)" % _FAIR_SERVERS)]
        how = "fair server" if shares else "fair server, by default; debugfs does not show it"
        return [_LEAVE % (round(share, 2), how)]
    if not runtime:
        return []
    if runtime < 0:
        return [_TAKE % "kernel.sched_rt_runtime_us is -1"]
    return [_LEAVE % (round(100 - share, 2), "kernel.sched_rt_runtime_us is %d" % runtime)]


def _value(host, path):
    return read_text(host, path).strip()


# limits


def _process_limit(host, process):
    """The limit of a running process, which its children inherit."""
    if _has_capability(host, process, "CapAmb"):
        return _HIGHEST
    match = re.search(r"(?m)^Max realtime priority\s+(\S+)", read_text(host, "/proc/%d/limits" % process.pid))
    return _limit(match.group(1)) if match else 0


def _has_capability(host, process, which):
    """Whether CAP_SYS_NICE is in a set of a process: CapEff is its own, CapAmb is inherited by its children."""
    match = re.search(r"(?m)^%s:\s*([0-9a-f]+)$" % which, read_text(host, "/proc/%d/status" % process.pid))
    return match is not None and int(match.group(1), 16) & _CAP_SYS_NICE != 0


def unit_limit(host, unit):
    """The limit of a unit at its next start: the last LimitRTPRIO= of its files, systemd's own, or CAP_SYS_NICE."""
    limit, capable = "", False
    default = [entry.value for entry in limits.of_systemd(host, "DefaultLimitRTPRIO")]
    for name, entry in limits.of_unit(host, unit):
        if name == "LimitRTPRIO":
            # an empty value resets earlier ones
            limit = entry.value
        elif name == "AmbientCapabilities":
            capable = entry.value != "" and (capable or "CAP_SYS_NICE" in entry.value.split())
    # one value for both limits, or soft:hard
    return _HIGHEST if capable else _limit((limit or (default or [""])[-1] or "0").split(":")[0])


def session_limit(host, user):
    """The limit that pam_limits gives a user."""
    found = limits.of_session(host, user, "rtprio", "soft")
    return _limit(found[-1].value) if found else 0


def _limit(value):
    if value in ("unlimited", "infinity", "-1"):
        return _HIGHEST
    return min(int(value), _HIGHEST) if re.match(r"^[0-9]{1,18}$", value) else 0


# running processes


def work_processes(host, sid, name):
    """[(process id, policy such as SCHED_RR, priority)] of the running work processes of an instance, sorted.

    A dispatcher with the same name as its work processes is left out.
    """
    found = running(host, (_program(sid, name),), sid)
    pids = {process.pid for process in found}
    children = [process for process in found if process.parent in pids]
    return [
        (process.pid, _POLICIES.get(process.policy, "policy %d" % process.policy), process.priority)
        for process in children or found
    ]


def _program(sid, name):
    return "dw.sap%s_%s" % (sid, name)


def summary(processes):
    """The scheduling of work_processes() in a few words: "SCHED_RR 99"; None without processes."""
    # real-time processes first: only they have a priority
    counts = Counter(
        (not priority, "%s %d" % (policy, priority) if priority else policy) for _pid, policy, priority in processes
    )
    kinds = sorted(counts, key=lambda kind: (kind[0], -counts[kind], kind[1]))
    if len(kinds) < 2:
        return kinds[0][1] if kinds else None
    first = "%d of %d %s" % (counts[kinds[0]], len(processes), kinds[0][1])
    if len(kinds) == 2:
        return "%s, the others %s" % (first, kinds[1][1])
    return ", ".join([first] + ["%d %s" % (counts[kind], kind[1]) for kind in kinds[1:]])
