# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the embedded engine costs: its median round trip beside that of sockperf ping-pong, a program written in C.

Both exchange TCP messages of the same size over the same veth pair between two network namespaces, alternately, for the
same time, once with the two ends on different CPUs (where most of the time is the wake-up of the other CPU) and once on
one CPU (where the engine's own work shows most). Needs root, ip, taskset and sockperf.
"""

from __future__ import annotations

import contextlib
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import clients, pingpong
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import serving

SIZES = (14, 500, 1000, 4000)  # sockperf's smallest message has 14 bytes
ROUNDS = 3
RUN_SECONDS = 1
GOAL = 1.35
ADDRESS = "10.231.77.2"
PORT, SOCKPERF_PORT = 3398, 3399
TOKEN = "bench"


def run(argv: list[str], timeout: float = 60) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


@contextlib.contextmanager
def namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a veth pair between them, removed again in every case."""
    first, second = (f"zpbench{os.getpid()}{end}" for end in "ab")
    with contextlib.ExitStack() as stack:
        for name in (first, second):
            run(["ip", "netns", "add", name])
            stack.callback(run, ["ip", "netns", "delete", name])
        run(["ip", "link", "add", "veth0", "netns", first, "type", "veth", "peer", "name", "veth0", "netns", second])
        for name, address in ((first, "10.231.77.1/24"), (second, f"{ADDRESS}/24")):
            run(["ip", "-n", name, "address", "add", address, "dev", "veth0"])
            run(["ip", "-n", name, "link", "set", "veth0", "up"])
        yield first, second


@contextlib.contextmanager
def background(argv: list[str]) -> Iterator[None]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def inside(namespace: str, cpu: int) -> list[str]:
    return ["ip", "netns", "exec", namespace, "taskset", "-c", str(cpu)]


def wait_for(prefix: list[str], port: int) -> None:
    """Wait until a server accepts connections; RuntimeError after a minute."""
    connect = f"import socket; socket.create_connection(({ADDRESS!r}, {port}), 5)"
    until = time.monotonic() + 60
    while subprocess.run([*prefix, sys.executable, "-c", connect], capture_output=True, check=False).returncode:
        if time.monotonic() > until:
            raise RuntimeError(f"nothing listens on port {port}")


def sockperf_round_trip(prefix: list[str], size: int) -> float:
    """Median round trip in microseconds: sockperf prints half of it as latency."""
    argv = ["sockperf", "ping-pong", "--tcp", "-i", ADDRESS, "-p", str(SOCKPERF_PORT), "-m", str(size)]
    found = re.search(r"percentile 50\.000 =\s+([0-9.]+)", run([*prefix, *argv, "-t", str(RUN_SECONDS)]))
    if found is None:
        raise RuntimeError("sockperf printed no median")
    return 2 * float(found.group(1))


def pingpong_round_trip(prefix: list[str], size: int, loops: int) -> float:
    """Median round trip in microseconds of the engine, in a process of its own as in a measurement."""
    return float(run([*prefix, *program("exchange", str(size), str(loops))]))


def compare(client: list[str], size: int) -> tuple[float, float]:
    """Median over the rounds of (sockperf, pingpong), run alternately."""
    loops = int(RUN_SECONDS * 1e6 / pingpong_round_trip(client, size, 2000))
    pairs = [(sockperf_round_trip(client, size), pingpong_round_trip(client, size, loops)) for _turn in range(ROUNDS)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def figures() -> list[dict[str, Any]]:
    """The figures as dicts with name, value, unit and goal."""
    cpus = sorted(os.sched_getaffinity(0))
    result = []
    with namespaces() as (first, second):
        for place, server_cpu in (("two_cpus", cpus[-1]), ("one_cpu", cpus[0])):
            client, server = inside(first, cpus[0]), inside(second, server_cpu)
            sockperf = [*server, "sockperf", "server", "--tcp", "-i", ADDRESS, "-p", str(SOCKPERF_PORT)]
            with background(sockperf), background([*server, *program("serve")]):
                for port in (PORT, SOCKPERF_PORT):
                    wait_for(client, port)
                for size in SIZES:
                    theirs, ours = compare(client, size)
                    name = f"{place}_{size}B"
                    result += [
                        {"name": f"sockperf_round_trip_{name}", "value": theirs, "unit": "us", "goal": ""},
                        {"name": f"pingpong_round_trip_{name}", "value": ours, "unit": "us", "goal": ""},
                        {
                            "name": f"pingpong_over_sockperf_{name}",
                            "value": ours / theirs,
                            "unit": "ratio",
                            "goal": f"<= {GOAL}",
                        },
                    ]
    return result


def program(*words: str) -> list[str]:
    """This file as a program of its own, in which run.py's places for imports are those of this process."""
    return ["env", f"PYTHONPATH={os.pathsep.join(sys.path)}", sys.executable, __file__, *words]


def serve() -> None:
    listeners, _port = serving.listen(ADDRESS, PORT)
    serving.Server(listeners, TOKEN, 3600).run()


def exchange(size: int, loops: int) -> None:
    job = clients.Job(wire.Target(ADDRESS, PORT, TOKEN), size, loops, 60)
    with clients.open_exchange(job) as sock:
        print(statistics.median([sample * pingpong._to_us for sample in pingpong.exchange(sock, size, loops)]))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        exchange(int(sys.argv[2]), int(sys.argv[3]))
