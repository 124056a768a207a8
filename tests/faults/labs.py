# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on whole hosts during a play: a cut connection and a restart."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import trees
from kinds import Case
from lab import Lab

CHECKOUT = Path(__file__).resolve().parents[2]
NAME = "faults"
TIMEOUT = 900
CUTS = 6
# the files that a tuning may write on a host
PLACES = ("/etc/udev", "/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/modules-load.d", "/var/lib/zpower_sap_tuning")
UNREACHABLE = 4
# In the guest: if a file exists, or has the expected content, the machine restarts at once, without a sync.
WATCHER = """
import os, sys
path, text = sys.argv[1:]
if os.fork():
    sys.exit()
os.setsid()
for number in (0, 1, 2):
    os.dup2(os.open(os.devnull, os.O_RDWR), number)
while True:
    try:
        found = open(path).read()
    except OSError:
        continue
    if text in found:
        open("/proc/sysrq-trigger", "w").write("b")
"""
JOURNAL = "/var/lib/zpower_sap_tuning/cpu_topology"
MOMENTS = {
    "the lock is taken": (JOURNAL + ".lock", "process"),
    "the journal is written": (JOURNAL + ".json", "knobs"),
    "the value is stored": ("/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf", "s390.topology = 1"),
    "the value is set": ("/proc/sys/s390/topology", "1"),
}


def program(kind: str, *words: str) -> str:
    """Run a program of a lab and return its output."""
    argv = [str(CHECKOUT / "molecule" / "shared" / kind), "--name", NAME, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout


def playbook(kind: str, name: str, **variables: object) -> subprocess.Popen[str]:
    """Start a play of the collection on a lab's hosts; a connection is lost after three seconds of silence."""
    environment = {
        **os.environ,
        "LAB_NAME": NAME,
        "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections"),
        "ANSIBLE_HOME": str(CHECKOUT / ".cache" / "ansible-home"),
        "ANSIBLE_SSH_ARGS": "-o ControlMaster=no -o ServerAliveInterval=1 -o ServerAliveCountMax=3 -o ConnectTimeout=9",
        "ANSIBLE_NOCOLOR": "1",
    }
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(CHECKOUT / "inventories" / kind)]
    argv += [f"zpower.sap_tuning.{name}", "-e", json.dumps({"zpower_hosts": "app1" if kind == "lab" else "guest"})]
    argv += ["-e", json.dumps(variables)]
    return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def play(kind: str, name: str, **variables: object) -> tuple[int, str]:
    """Run a play; return its status and output."""
    running = playbook(kind, name, **variables)
    said = running.communicate(timeout=TIMEOUT)[0]
    return running.returncode, said


def roll_back(kind: str, **variables: object) -> list[str]:
    """Run the playbooks verify and rollback; return what fails."""
    verified, said = play(kind, "verify", **variables)
    words = [] if verified in (0, 2) and "Traceback" not in said else [f"verify ended with {verified}: {last(said)}"]
    status, said = play(kind, "rollback", **variables)
    return words + ([f"rollback ended with {status}: {last(said)}"] if status else [])


def last(said: str) -> str:
    return " ".join(said.split())[-300:]


# a cut connection


def host_state(lab: Lab) -> trees.State:
    """Return the state of a lab host, read without its own processes: files, and the masks of its interface."""
    root = Path(f"/proc/{min(lab.processes('app1'))}/root")
    found: trees.State = {}
    for place in PLACES:
        with contextlib.suppress(FileNotFoundError):
            found[place] = trees.entry(root / place.lstrip("/"))
        inside = trees.state(root / place.lstrip("/"))
        found.update({place + path: there for path, there in inside.items()})
    for queue in sorted((root / "sys/class/net/hsi0/queues").glob("rx-*/rps_cpus")):
        found[f"{queue.parent.name} rps_cpus"] = queue.read_text()
    return found


def unreachable(chance: random.Random) -> Iterator[Case]:
    """Cut the cable of a lab host at a random moment of site, and connect it again afterwards."""
    program("lab", "up", "--hosts", "2")
    try:
        lab = Lab(NAME)
        start = host_state(lab)
        began = time.monotonic()
        status, said = play("lab", "site")
        whole = time.monotonic() - began
        if status:
            raise AssertionError(f"site without a fault ended with {status}: {last(said)}")
        words = roll_back("lab")
        words.append(trees.difference(start, host_state(lab)))
        yield Case("rps", "unreachable", "no cut", "; ".join(word for word in words if word))
        start = host_state(lab)
        for number in range(CUTS):
            after = chance.uniform(0.2, 1) * whole
            running = playbook("lab", "site")
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.communicate(timeout=after)
            cable(lab, "down")
            running.communicate(timeout=TIMEOUT)
            cable(lab, "up")
            lab.wait()
            met = "was unreachable" if running.returncode == UNREACHABLE else f"ended with {running.returncode}"
            words = roll_back("lab")
            words.append(trees.difference(start, host_state(lab)))
            found = "; ".join(word for word in words if word)
            yield Case("rps", "unreachable", f"cut {number + 1} after {after:.1f} s, {met}", found)
    finally:
        program("lab", "down")


def cable(lab: Lab, state: str) -> None:
    subprocess.run(["ip", "-netns", lab.switch, "link", "set", "app1", state], check=True)


# a restart


def in_guest(*words: str) -> str:
    return program("guest", "login", *words)


def guest_state() -> trees.State:
    """Return the files in the guest that cpu_topology can change; after a restart, the value itself is the kernel's."""
    listing = "find /etc/sysctl.d /var/lib/zpower_sap_tuning -printf '%p %M %u %g %l\\n' 2>/dev/null | sort"
    value = "echo topology=$(cat /proc/sys/s390/topology)"
    return dict.fromkeys(in_guest(f"{listing}; {value}; cat /etc/sysctl.d/* 2>/dev/null").splitlines())


def reboot() -> Iterator[Case]:
    """Restart the emulated guest without a sync during site, at each moment that its files reveal."""
    program("guest", "up")
    only = {"zpower_tunings": ["cpu_topology"]}
    try:
        start = guest_state()
        for name, (path, text) in MOMENTS.items():
            before = in_guest("cat /proc/sys/kernel/random/boot_id")
            code = base64.b64encode(WATCHER.encode()).decode()
            in_guest(f"python3 -c \"import base64; exec(base64.b64decode('{code}'))\" {path} '{text}'")
            play("guest", "site", **only)
            # not `guest up`, which replaces a guest that does not answer
            until = time.monotonic() + TIMEOUT
            while (now := boot_id()) in ("", before) and time.monotonic() < until:
                time.sleep(2)
            words = [] if now != before else ["the guest did not restart"]
            words += roll_back("guest", **only)
            words.append(trees.difference(start, guest_state()))
            yield Case("cpu_topology", "reboot", f"when {name}", "; ".join(word for word in words if word))
    finally:
        program("guest", "down")


def boot_id() -> str:
    """Return the id of the guest's current boot; empty if it does not answer."""
    try:
        return in_guest("cat /proc/sys/kernel/random/boot_id")
    except (subprocess.SubprocessError, OSError):
        return ""
