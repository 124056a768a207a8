# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of docs/scale.md: what forks, pipelining, strategy and open connections cost the controller.

On the lab of bench_site.py, one line of JSON per run: wall time, CPU time and memory of the controller, its open
files, and the connections that stay open behind it. It has no goals and is no part of `make bench`; about 15 minutes.

    PYTHONPATH=tests/bench .venv/bin/python tests/bench/scale.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench_site
from bench_site import LAB, NAME, Site, proportional_mb, tree

FORKS = (5, 20, 50)
SOME, MANY = 40, 100
WAIT_S = 2  # a host that is slow, and costs the controller nothing meanwhile
NO_MASTER = json.dumps({"ansible_ssh_args": "-C -o ControlMaster=no"})
bench_site.ROUNDS = {2: 1, 20: 1, SOME: 1, MANY: 1}
bench_site.PLAYS |= {
    "wait": [{"name": "Wait", "ansible.builtin.command": {"argv": ["sleep", str(WAIT_S)]}, "changed_when": False}],
    "facts": [{"name": "Facts", "ansible.builtin.setup": {}}],
}


serial: dict[int, float] = {}
"""CPU seconds of the main process alone, by its number: what more forks cannot share."""
opened: list[int] = []
"""How many files the main process had open."""


def watch(pid: int, peaks: list[float]) -> None:
    """As that of bench_site; also the CPU time of the main process without its children."""
    while (megabytes := sum(proportional_mb(each) for each in tree(pid))) > 0:
        peaks.append(megabytes)
        try:
            opened.append(len(os.listdir(f"/proc/{pid}/fd")))
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        except OSError:
            return
        serial[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.2)


def ran(site: Site, name: str, hosts: int, forks: int = 20, *arguments: str, **settings: str) -> dict[str, Any]:
    """One run; ``settings`` are those of Ansible's environment, without ANSIBLE_."""
    serial.clear()
    opened.clear()
    os.environ.update({f"ANSIBLE_{key}": value for key, value in settings.items()})
    try:
        one = site.play(name, hosts, "--forks", str(forks), *arguments, memory=True)
    finally:
        for key in settings:
            del os.environ[f"ANSIBLE_{key}"]
    return {
        "play": name,
        "hosts": hosts,
        "forks": forks,
        **settings,
        "arguments": arguments,
        "wall_s": round(one.seconds, 1),
        "cpu_s": round(one.cpu, 1),
        "main_cpu_s": round(sum(serial.values()), 1),
        "files": max(opened, default=0),
        "main_mb": round(one.main_mb),
        "tree_mb": round(one.tree_mb),
        "load": os.getloadavg()[0],
    }


def masters(site: Site) -> dict[str, Any]:
    """The connections of this lab that ssh keeps open."""
    folder = str(Path(site.connection["ansible_ssh_private_key_file"]).parent)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            said = (entry / "cmdline").read_text("utf-8", "replace")
        except OSError:
            continue
        if "[mux]" in said and folder in said:
            found.append(proportional_mb(int(entry.name)))
    return {"masters": len(found), "masters_mb": round(sum(found), 1)}


def lines(site: Site) -> Iterator[dict[str, Any]]:
    site.play("prepare", MANY)
    site.play("site", MANY)
    yield masters(site)
    for forks in FORKS:
        yield ran(site, "verify", MANY, forks)
    yield ran(site, "ping", MANY)
    yield ran(site, "verify", 20)
    yield ran(site, "verify", 2)
    for forks in FORKS:
        yield ran(site, "wait", SOME, forks)
        yield ran(site, "ping", SOME, forks)
        yield ran(site, "verify", SOME, forks)
    yield ran(site, "facts", SOME)
    for name in ("ping", "verify"):
        yield ran(site, name, SOME, 20, PIPELINING="1")
        yield ran(site, name, SOME, 20, "--extra-vars", NO_MASTER)
    for strategy in ("free", "host_pinned"):
        yield ran(site, "verify", SOME, 20, STRATEGY=strategy)
    yield ran(site, "verify", SOME)


def main() -> None:
    bench_site.watch_memory = watch
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(bench_site.CHECKOUT / ".cache" / "collections")
    up = [LAB, "up", "--name", NAME, "--hosts", str(MANY), "--sap"]
    subprocess.run(up, check=True, stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for line in lines(Site(Path(folder))):
                print(json.dumps(line), flush=True)
    finally:
        subprocess.run([LAB, "down", "--name", NAME], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
