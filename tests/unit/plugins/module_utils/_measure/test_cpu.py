# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time of both ends in a real round: the machine's, and the part of it that the tool itself used."""

import os
import signal
import subprocess
import sys

import pytest
from measuring import STANDIN, round_of, server

SPIN = "import time\nend = time.monotonic() + 600\nwhile time.monotonic() < end: pass"


@pytest.mark.gate
@pytest.mark.parametrize("tool", ["pingpong", "niping"])
def test_both_ends_say_what_their_own_processes_used(tool):
    binary = None if tool == "pingpong" else STANDIN
    with server(tool, binary=binary) as session:
        # The kernel counts in ticks: a short run may have used none.
        for loops in (3000, 30000, 300000):
            records = round_of(session, binary=binary, loops=loops, runs=1, timeout=600, control=True)
            cpus = [record["runs"][-1]["cpu"] or {} for record in records]
            if all(cpu["process_s"] != 0 for ends in cpus for cpu in ends.values() if cpu):
                break
    main = [record for record in records if not record["workload"]["control"]][0]
    assert main["cpu_source"] == {"client": "procfs", "server": "procfs"}
    run = main["runs"][-1]
    assert run["ok"], run["error"]
    for end in ("client", "server"):
        cpu = run["cpu"][end]
        assert 0 < cpu["process_s"] <= cpu["ncpu"] * cpu["elapsed_s"]
    control = [record for record in records if record["workload"]["control"]][0]
    assert control["cpu_source"] == {"client": "procfs", "server": None}
    assert control["runs"][-1]["cpu"]["client"]["process_s"] > 0


@pytest.mark.gate
def test_a_neighbour_is_in_the_machines_time_and_not_in_the_tools():
    with server() as session:
        # A shell between us, which ends at once, so that the neighbour is none of our children.
        started = subprocess.run(
            ["sh", "-c", '"$0" -c "$1" >/dev/null & echo $!', sys.executable, SPIN], stdout=subprocess.PIPE, check=True
        )
        try:
            # A busy machine may let the neighbour wait during a short run.
            shares = (_of_others(session, loops) for loops in (10000, 30000, 100000, 300000))
            assert any(share > 0.2 for share in shares)
        finally:
            os.kill(int(started.stdout), signal.SIGKILL)


def _of_others(session, loops):
    """CPU seconds per second that neither end used, on their one machine."""
    cpu = round_of(session, loops=loops, runs=1, timeout=600)[0]["runs"][-1]["cpu"]
    tools = cpu["client"]["process_s"] + cpu["server"]["process_s"]
    busy = sum(cpu["client"][name] for name in ("user_s", "system_s", "softirq_s"))
    return (busy - tools) / cpu["client"]["elapsed_s"]
