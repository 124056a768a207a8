# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time and network counters of this machine, as snapshots and the differences between two of them.

A counter that the platform does not have (AIX has none of these files) is None in snapshots and differences, never 0.
On AIX the CPU time comes from a meter (meter.py).
"""

import os
import time

from ..._machine.reading import ReadingHost

# Columns of the "cpu" line of /proc/stat (proc(5)); guest time is contained in user time already.
_CPU_COLUMNS = {"user_s": (0, 1), "system_s": (2,), "idle_s": (3, 4), "softirq_s": (5, 6), "steal_s": (7,)}
_ATTEMPTS = 3  # to read a tree of processes while none of them ends
_RPS_COLUMN = 9  # received_rps, the tenth hexadecimal column of /proc/net/softnet_stat


def parse_cpu(text, ticks_per_second):
    """CPU seconds since boot from /proc/stat: user_s (with nice), system_s, softirq_s (with irq), steal_s, idle_s
    (with iowait), and ncpu, the number of online CPUs. None without a usable "cpu" line."""
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    total = next((fields[1:9] for fields in lines if fields[0] == "cpu"), [])
    if len(total) < 8 or not all(field.isdigit() for field in total):
        return None
    result = {
        name: sum(int(total[column]) for column in columns) / float(ticks_per_second)
        for name, columns in _CPU_COLUMNS.items()
    }
    result["ncpu"] = sum(fields[0][3:].isdigit() for fields in lines)
    return result


def parse_retransmits(text):
    """RetransSegs from the Tcp line of /proc/net/snmp (IPv6 counts there, too), found by the header line's name."""
    lines = [line.split() for line in text.splitlines() if line.startswith("Tcp:")]
    value = dict(zip(*lines[:2])).get("RetransSegs", "") if len(lines) > 1 else ""
    return int(value) if value.isdigit() else None


def parse_received_rps(text):
    """received_rps of every CPU from /proc/net/softnet_stat, in the order of its lines; None on old layouts."""
    try:
        return [int(line.split()[_RPS_COLUMN], 16) for line in text.splitlines()] or None
    except (IndexError, ValueError):
        return None


def parse_process(text, ticks_per_second):
    """CPU seconds of a process and of its children that ended and were waited for, from /proc/PID/stat; or None."""
    # The name in parentheses may hold blanks and parentheses itself.
    times = text.rpartition(")")[2].split()[11:15]
    if len(times) < 4 or not all(field.lstrip("-").isdigit() for field in times):
        return None
    return sum(int(field) for field in times) / float(ticks_per_second)


def process_seconds(pids, root="/"):
    """CPU seconds of these processes and all their descendants; None if that is unknown.

    A parent is read before its children. If a child has ended meanwhile, that is seen, and everything is read again.
    """
    host = ReadingHost(root)
    for _attempt in range(_ATTEMPTS):
        total, todo, known = 0.0, list(pids), set()
        while todo:
            pid = todo.pop()
            seconds = parse_process(host.read("/proc/%d/stat" % pid) or "", os.sysconf("SC_CLK_TCK"))
            children = _children(host, pid)
            if seconds is None or children is None:
                break
            total += seconds
            known.add(pid)
            todo += [child for child in children if child not in known]
        else:
            return round(total, 4)
    return None


def _children(host, pid):
    """Process ids of the living children; None if the process is gone, or the kernel does not list them."""
    texts = [host.read("/proc/%d/task/%s/children" % (pid, thread)) for thread in host.listdir("/proc/%d/task" % pid)]
    return None if None in texts or not texts else [int(field) for field in " ".join(texts).split()]


def snapshot(root="/", meter=None, pids=()):
    """All counters now, as a dict for JSON: mono_s, wall_s, cpu (parse_cpu), cpu_source, process_s,
    retransmits, received_rps.

    meter: another source of the CPU time (meter.Meter); the snapshot then waits for the end of its interval.
    pids: the tool's own processes, for process_s.
    """
    host = ReadingHost(root)
    cpu = meter.sample() if meter else parse_cpu(host.read("/proc/stat") or "", os.sysconf("SC_CLK_TCK"))
    return {
        "mono_s": time.monotonic(),
        "wall_s": time.time(),
        "cpu": cpu,
        "cpu_source": cpu.get("tool", "procfs") if cpu else None,
        "process_s": process_seconds(pids, root) if pids and not meter else None,
        "retransmits": parse_retransmits(host.read("/proc/net/snmp") or ""),
        "received_rps": parse_received_rps(host.read("/proc/net/softnet_stat") or ""),
    }


def cpu_between(before, after):
    """A record's cpu entry from two snapshots: seconds of all CPUs together, ncpu and the wall time elapsed_s.

    None without counters. idle_s and steal_s can step back by a tick on some kernels: that is 0 seconds, not less.
    process_s is the part of the tool's own processes, if known. A meter adds physc, the processors that the partition
    consumed on average, and entitlement.
    """
    first, last = before.get("cpu"), after.get("cpu")
    if not first or not last or first.get("meter") != last.get("meter"):
        return None
    result = {name: _seconds(first[name], last[name]) for name in _CPU_COLUMNS}
    result["ncpu"] = last["ncpu"]
    result["elapsed_s"] = round(after["mono_s"] - before["mono_s"], 6)
    own, later = before.get("process_s"), after.get("process_s")
    # unknown if it shrank: a process that ended took its time with it
    result["process_s"] = None if own is None or later is None or later < own else round(later - own, 4)
    if "meter" in last:
        result["elapsed_s"] = counted = round(last["counted_s"] - first["counted_s"], 6)
        consumed = _seconds(first["physc_s"], last["physc_s"])
        result["physc"] = None if consumed is None or counted <= 0 else round(consumed / counted, 4)
        result["entitlement"] = last["entitlement"]
    return result


def _seconds(first, last):
    return None if first is None or last is None else round(max(0.0, last - first), 4)


def net_between(before, after):
    """A record's net entry from two snapshots: retransmits of this network namespace, rps_received of this kernel."""
    first, last = before.get("retransmits"), after.get("retransmits")
    result = {"retransmits": None, "rps_received": None}
    if first is not None and last is not None and last >= first:
        result["retransmits"] = last - first
    first, last = before.get("received_rps") or [], after.get("received_rps") or []
    if first and len(first) == len(last):
        # Each CPU's counter is an unsigned 32-bit number that wraps.
        result["rps_received"] = sum((new - old) & 0xFFFFFFFF for old, new in zip(first, last))
    return result


def clock_step(before, after):
    """The seconds by which the wall clock was set between two snapshots (a slew of NTP is far smaller)."""
    step = (after["wall_s"] - before["wall_s"]) - (after["mono_s"] - before["mono_s"])
    return round(step, 6) + 0.0  # no -0.0
