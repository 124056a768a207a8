# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of site, verify and rollback with all tunings, beside a play with one ansible.builtin.ping.

On 2, 20 and 100 hosts of a lab: network namespaces of this machine, reached over SSH, so controller and hosts share its
CPUs. On x86, rps and sap_profile have something to set there; the other tunings look and find that they do not
apply. Each host has its own instance profile: a host that leaves a shared profile to another one gets a second call.

All plays of a round run one after another, and each figure is the median over the rounds of a ratio within one round:
other load of the machine meets both sides. SSH connections stay open between the plays, so that no play pays for
opening them; the ratios would be smaller with it. Ansible's settings are the defaults, but for 20 forks.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]
LAB = CHECKOUT / "molecule" / "shared" / "lab"
NAME = "bench"
FORKS = 20
ROUNDS = {2: 5, 20: 3, 100: 2}
SMALL, MEDIUM, LARGE = ROUNDS
CLOCK = {"verify": "<= 1.9", "site": "<= 2.0"}  # at 20 hosts, over ping
CALLS = 15  # of each module, for the CPU time on the target
PROFILE = "/usr/sap/PRD/SYS/profile/PRD_D00_{{ inventory_hostname }}"
VARIABLES = {
    "ansible_ssh_args": "-C -o ControlMaster=auto -o ControlPersist=1200s",
    "profile": PROFILE,
    "mask_of_all": f"{(1 << (os.cpu_count() or 1)) - 1:x}",
    "zpower_tunings": ["all"],
    "rps_interfaces": ["hsi0"],
    "sap_profile_profiles": [{"profile": PROFILE, "parameters": {"rdisp/wp_no_btc": "3"}}],
    "smc_r_device": "mlx5_0",
    "smc_sysctls_settings": {"limit_smc_hs": 1},
}
PLAYS = {
    "ping": [{"name": "Ping", "ansible.builtin.ping": {}}],
    "prepare": [
        {"name": "Folder", "ansible.builtin.file": {"path": "{{ profile | dirname }}", "state": "directory"}},
        {
            "name": "Profile",
            "ansible.builtin.copy": {
                "dest": "{{ profile }}",
                "content": "SAPSYSTEMNAME = PRD\nSAPSYSTEM = 00\nINSTANCE_NAME = D00\nrdisp/wp_no_btc = 1\n",
                "mode": "0644",
            },
        },
    ],
}
# Runs each packed module that a play left on the host, one after another, and prints size and CPU seconds of each.
ON_TARGET = """
import glob, json, os, resource, subprocess, sys

def seconds(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.check_call([sys.executable, path], stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

def newest(name):
    return max(glob.glob("/root/.ansible/tmp/*/AnsiballZ_%s.py" % name), key=os.path.getmtime)

paths = [newest("ping"), newest("tunings")]
times = [[seconds(path) for path in paths] for _call in range(CALLS)]
print(json.dumps({"bytes": [os.path.getsize(path) for path in paths], "times": times}))
"""


class Ran(NamedTuple):
    """One run of a play."""

    seconds: float
    cpu: float  # seconds of the main process, its workers and their ssh; none of the hosts'
    lines: int  # on stdout
    main_mb: float  # peak of the main process
    tree_mb: float  # peak of the main process, its workers and their ssh, pages that they share counted once
    stdout: str


class Site:
    """The lab, an inventory for each number of hosts, and the plays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        said = subprocess.run([LAB, "inventory", "--name", NAME], check=True, capture_output=True, text=True).stdout
        lab = json.loads(said)
        self.connection = lab["sap_app_servers"]["vars"]
        self.hosts: dict[str, dict[str, str]] = lab["_meta"]["hostvars"]
        variables = {**self.connection, **VARIABLES, "zpower_results": str(folder / "results")}
        for count in ROUNDS:
            chosen = dict(list(self.hosts.items())[:count])
            group = {"hosts": chosen, "vars": variables}
            self.inventory(count).write_text(json.dumps({"all": {"children": {"sap_app_servers": group}}}), "utf-8")
        for name, tasks in PLAYS.items():
            play = {"name": name, "hosts": "all", "gather_facts": False, "tasks": tasks}
            (folder / f"{name}.yml").write_text(json.dumps([play]), "utf-8")
        self.playbooks = {name: str(folder / f"{name}.yml") for name in PLAYS}
        self.playbooks |= {name: f"zpower.sap_tuning.{name}" for name in ("site", "verify", "rollback")}
        self.playbooks["by_hand"] = str(Path(__file__).with_name("by_hand.yml"))

    def inventory(self, count: int) -> Path:
        return self.folder / f"hosts{count}.yml"

    def play(self, name: str, count: int, *arguments: str, memory: bool = False, keep: bool = False) -> Ran:
        """One run of a play on some hosts; fails unless it succeeds."""
        program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
        command = [program, "-i", str(self.inventory(count)), "-f", str(FORKS), *arguments, self.playbooks[name]]
        environment = {**os.environ, "ANSIBLE_KEEP_REMOTE_FILES": str(int(keep)), "ANSIBLE_NOCOLOR": "1"}
        return observed(command, environment, memory=memory)

    def on_target(self) -> dict[str, Any]:
        """Size and CPU seconds of the packed modules of ping and of a converged site, on the first host."""
        self.play("ping", SMALL, keep=True)
        self.play("site", SMALL, keep=True)
        address = next(iter(self.hosts.values()))["ansible_host"]
        options = shlex.split(self.connection["ansible_ssh_common_args"])
        login = ["ssh", "-i", self.connection["ansible_ssh_private_key_file"], *options, f"root@{address}"]
        command = [*login, self.connection["ansible_python_interpreter"], "-"]
        program = ON_TARGET.replace("CALLS", str(CALLS))
        said = subprocess.run(command, input=program, check=True, capture_output=True, text=True).stdout
        found: dict[str, Any] = json.loads(said)
        return found


def observed(command: list[str], environment: dict[str, str], memory: bool = False) -> Ran:
    """One run of a command; RuntimeError unless it succeeds."""
    with tempfile.TemporaryFile("w+") as stdout:
        start = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=stdout, stderr=subprocess.STDOUT)
        peaks = [0.0]
        watch = threading.Thread(target=watch_memory, args=(process.pid, peaks), daemon=True)
        if memory:
            watch.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0)
        said = stdout.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{said[-4000:]}")
    return Ran(seconds, usage.ru_utime + usage.ru_stime, said.count("\n"), usage.ru_maxrss / 1024, max(peaks), said)


def watch_memory(pid: int, peaks: list[float]) -> None:
    """Notes the memory of a process and its descendants twice a second, until it has ended."""
    while (megabytes := sum(proportional_mb(each) for each in tree(pid))) > 0:
        peaks.append(megabytes)
        time.sleep(0.5)


def tree(pid: int) -> list[int]:
    """The process and its descendants."""
    found = [pid]
    for each in found:
        try:
            tasks = list(Path(f"/proc/{each}/task").iterdir())
            found += [int(child) for task in tasks for child in (task / "children").read_text("ascii").split()]
        except OSError:  # it has ended
            continue
    return found


def proportional_mb(pid: int) -> float:
    """Memory of a process; of a page that several have, its share."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024


def figure(name: str, value: float, unit: str, goal: str = "") -> dict[str, Any]:
    return {"name": f"site_{name}", "value": round(value, 3), "unit": unit, "goal": goal}


def figures() -> Iterator[dict[str, Any]]:
    if platform.machine() == "s390x":
        return  # the hosts of the lab share the machine's kernel, whose CPU settings this would change
    subprocess.run([LAB, "up", "--name", NAME, "--hosts", str(LARGE), "--sap"], check=True, stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield from of_site(Site(Path(folder)))
    finally:
        subprocess.run([LAB, "down", "--name", NAME], check=True, stdout=subprocess.DEVNULL)


def of_site(site: Site) -> Iterator[dict[str, Any]]:
    site.play("prepare", LARGE)
    yield from memory("first", site.play("site", LARGE, memory=True))
    yield from memory("verify", site.play("verify", LARGE, memory=True))
    yield from target(site)
    for name in ("site", "verify"):
        yield figure(f"{name}_module_calls", calls(site, name), "calls per host", "== 1")
    converged = rounds(site, ["ping", "verify", "site"])
    for count, plays in converged.items():
        yield figure(f"ping_{count}_hosts", statistics.median(each["ping"].seconds for each in plays), "s")
    yield from over_ping(converged)
    yield from further_hosts(converged)
    for name in ("verify", "site"):
        more = converged[LARGE][0][name].lines - converged[MEDIUM][0][name].lines
        yield figure(f"{name}_lines", more / (LARGE - MEDIUM), "lines per further host", "<= 4")
    site.play("rollback", LARGE)
    yield figure("rollback_module_calls", calls(site, "rollback"), "calls per host", "== 1")
    site.play("by_hand", LARGE)
    back = rounds(site, ["ping", "rollback", "by_hand"])
    yield from over_ping(back)


def calls(site: Site, name: str) -> float:
    """Modules that a play sends to each host."""
    return site.play(name, SMALL, "-vvv").stdout.count("Using module file") / SMALL


def rounds(site: Site, names: list[str]) -> dict[int, list[dict[str, Ran]]]:
    """The plays and the numbers of hosts in turn; before them one run of each play that is not counted."""
    for name in names:
        site.play(name, SMALL)
    done: dict[int, list[dict[str, Ran]]] = {count: [] for count in ROUNDS}
    for turn in range(max(ROUNDS.values())):
        for count, repeats in ROUNDS.items():
            if turn < repeats:
                done[count].append({name: site.play(name, count) for name in names})
    return done


def over_ping(done: dict[int, list[dict[str, Ran]]]) -> Iterator[dict[str, Any]]:
    """Wall time of each play but ping, that over ping's, and the CPU time of the controller over that with ping."""
    for count, plays in done.items():
        for name in [name for name in plays[0] if name != "ping"]:
            goal = CLOCK.get(name, "") if count == MEDIUM else ""
            yield figure(f"{name}_{count}_hosts", statistics.median(each[name].seconds for each in plays), "s")
            wall = statistics.median(each[name].seconds / each["ping"].seconds for each in plays)
            yield figure(f"{name}_over_ping_{count}_hosts", wall, "times a ping", goal)
            cpu = statistics.median(each[name].cpu / each["ping"].cpu for each in plays)
            yield figure(f"{name}_controller_cpu_over_ping_{count}_hosts", cpu, "times a ping")


def further_hosts(done: dict[int, list[dict[str, Ran]]]) -> Iterator[dict[str, Any]]:
    """Seconds per further host from 20 to 100, over those from 2 to 20: without the start, which each run has once."""
    turns = list(zip(*done.values(), strict=False))  # those with all numbers of hosts
    for name in done[SMALL][0]:
        seconds = [[each[name].seconds for each in turn] for turn in turns]
        slopes = [
            ((large - medium) / (LARGE - MEDIUM), (medium - small) / (MEDIUM - SMALL))
            for small, medium, large in seconds
        ]
        yield figure(f"{name}_further_host", statistics.median(further for further, _first in slopes), "s")
        ratio = statistics.median(further / first for further, first in slopes)
        yield figure(f"{name}_further_host_100_over_20", ratio, "ratio", "<= 1.1" if name != "ping" else "")


def memory(name: str, ran: Ran) -> Iterator[dict[str, Any]]:
    """The controller's peak at 100 hosts: of the main process alone, and with its workers."""
    yield figure(f"{name}_main_process_mb", ran.main_mb, "MB")
    yield figure(f"{name}_controller_mb", ran.tree_mb, "MB")


def target(site: Site) -> Iterator[dict[str, Any]]:
    """CPU time of the module's processes on the target, in turn with ping's, and the bytes that Ansible sends."""
    found = site.on_target()
    ratio = statistics.median(ours / ping for ping, ours in found["times"])
    yield figure("target_cpu_over_ping", ratio, "times a ping", "<= 2.2")
    for name, column, size in zip(("ping", "tunings"), zip(*found["times"], strict=True), found["bytes"], strict=True):
        yield figure(f"target_{name}_cpu", statistics.median(column), "s")
        yield figure(f"target_{name}_sent", size / 1000, "kB", "<= 420" if name == "tunings" else "")
