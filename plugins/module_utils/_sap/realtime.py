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
from . import limits, parameters, rtprio
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


def wants_realtime(values):
    """Whether these parameters, {name: value}, put work processes under a real-time scheduler."""
    return values.get(SCHEDULER) in parameters.REALTIME


def is_risky(values):
    """Whether these parameters put work processes before other programs, or before threads of the kernel."""
    return wants_realtime(values) or number(values.get(PRIORITY), 0) >= _HIGH


# prerequisites


def prerequisites(host, instance, priority, allowed=False):
    """Why an instance's work processes cannot get this priority at their next start, and what to do: sentences.

    priority: the value of rdisp/linux/os_priority; None or text that is not a number ("$(...)") means any priority.
    allowed: the instance's unit is about to get its limit.
    """
    wanted = number(priority)
    parent, dispatchers = _processes(host, instance)
    runtime = _value(host, _RUNTIME)
    missing = []
    # a capability of the program's file applies at every start
    if not allowed and not any(rtprio.has_capability(host, process, "CapEff") for process in dispatchers):
        missing.append(_low_limit(host, instance, parent, wanted))
    # with -1, the kernel does not check the control groups
    if parent is not None and runtime != "-1":
        missing.append(_control_group(host, instance, parent))
    if runtime == "0" and not _has_fair_server(host):
        missing.append("kernel.sched_rt_runtime_us is 0: real-time processes get no CPU time at all; set it to 950000")
    return [sentence for sentence in missing if sentence]


def waiting(host, instance, priority):
    """Sentences if the priority is allowed only after the instance's unit has restarted sapstartsrv."""
    wanted, parent = number(priority), _processes(host, instance)[0]
    if parent is None or not instance.unit or rtprio.of_process(host, parent) >= wanted:
        return []
    if rtprio.of_unit(host, instance.unit) < wanted:
        return []
    sentence = (
        "%s allows %s %s real-time priority %d from the next start of sapstartsrv on: its %s (process %d) is older"
    )
    return [sentence % (instance.unit, instance.sid, instance.name, wanted, parent.program, parent.pid)]


def number(priority, otherwise=1):
    """The value of rdisp/linux/os_priority as a number; otherwise: for None, and text that is not a number."""
    return int(priority) if re.match(r"^[0-9]{1,2}$", str(priority)) else otherwise


def _processes(host, instance):
    """(the process whose limit the next dispatcher inherits, or None; all processes with the dispatcher's name)."""
    dispatchers = running(host, (_program(instance.sid, instance.name),), instance.sid)
    return (servers(host, instance) + dispatchers + [None])[0], dispatchers


def _low_limit(host, instance, parent, wanted):
    """The sentence if the limit is too low at the next start, or None."""
    if instance.unit:
        limit, reason, advice = _unit_limit(host, instance.unit)
    else:
        limit, reason, advice = _session_limit(host, instance.user, parent, wanted)
    if limit >= wanted:
        return None
    who = "%s %s may not use real-time priority %d" % (instance.sid, instance.name, wanted)
    return "%s, because %s: %s" % (who, reason % (limit or "none"), advice % wanted)


def _unit_limit(host, unit):
    """A unit gives its limit to each sapstartsrv that it starts, whatever limit a running one has."""
    advice = "set LimitRTPRIO=%%d of %s (sap_profile_manage_rtprio does it)" % unit
    return rtprio.of_unit(host, unit), "%s allows %%s" % unit, advice


def _session_limit(host, user, parent, wanted):
    """Without a unit, sapstartsrv keeps the limit of its start, and only login sessions set one."""
    stored = rtprio.of_session(host, user)
    advice = "write '%s - rtprio %%d' to %s and start sapstartsrv from a login session" % (user, limits.LIMITS)
    if stored >= wanted:
        advice = "%s allows %%d to login sessions: start sapstartsrv from one" % limits.LIMITS
    if parent is None:
        return stored, "%s allows %%s" % limits.LIMITS, advice
    return rtprio.of_process(host, parent), "its %s (process %d) may use %%s" % (parent.program, parent.pid), advice


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
    match = re.match(r"([0-9]+)\.([0-9]+)", release(host) or "")
    return bool(match) and tuple(map(int, match.groups())) >= (6, 12) and not _groups_realtime(host)


def _of_fair_server(host):
    """The same as remarks(), by the fair server of each CPU, which debugfs shows to root; by default 50 ms of 1 s."""
    folders = host.glob(_FAIR_SERVERS, "cpu*")
    pairs = [
        [int_or_none(_value(host, "%s/%s" % (folder, name))) for name in ("runtime", "period")] for folder in folders
    ]
    shares = [100.0 * runtime / period for runtime, period in pairs if runtime is not None and period]
    if shares and min(shares) <= 0:
        return [
            "the fair server is off (runtime 0 in %s): work processes under a real-time scheduler can take all CPU"
            " time and block all other processes, even sshd" % _FAIR_SERVERS
        ]
    how = "fair server" if shares else "fair server, by default; debugfs does not show it"
    text = "work processes under a real-time scheduler leave %g %% of the CPU time to all other processes (%s)"
    return [text % (round(min(shares, default=5.0), 2), how)]


def remarks(host):
    """Sentences on the CPU time that real-time processes leave to other processes."""
    if _has_fair_server(host):
        return _of_fair_server(host)
    runtime, period = int_or_none(_value(host, _RUNTIME)), int_or_none(_value(host, _PERIOD))
    if runtime is None or not period or runtime == 0:
        return []
    if runtime < 0:
        return [
            "kernel.sched_rt_runtime_us is -1: work processes under a real-time scheduler can take all CPU time and"
            " block all other processes, even sshd"
        ]
    left = round(100 - 100.0 * runtime / period, 2)
    text_of = "work processes under a real-time scheduler leave %g %% of the CPU time to all other processes"
    return [(text_of + " (kernel.sched_rt_runtime_us is %d)") % (left, runtime)]


def _value(host, path):
    return read_text(host, path).strip()


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
