# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One server serves many rounds: the calls of a change start it once, measure several times and stop it once."""

import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from ansible_collections.zpower.sap_tuning.plugins.modules import enqt, measure_workload, niping
from enqueueing import ENQ_ADMIN, ENQT, standin
from measuring import QUICK, SEARCH_PATH, STANDIN, errors, free_port, measured
from modules import caller

pytestmark = pytest.mark.gate
ROUNDS = (1, 2, 3)
SERVER = {"side": "server", "address": "127.0.0.1", "lifetime": 600}
CLIENT = dict(QUICK, address="127.0.0.1")
PINGPONG = {"kinds": ["latency", "strRead"], "connections": [1, 2]}


@pytest.fixture
def faces(monkeypatch, capsys):
    """The three modules by name, each as a function of its options."""
    mains = {"niping": niping.main, "measure_workload": measure_workload.main, "enqt": enqt.main}
    return {name: caller(main, monkeypatch, capsys) for name, main in mains.items()}


def rounds_of(call, session, **options):
    """Measure ROUNDS against one server, which has to live on; the first error of each record."""
    found = []
    for number in ROUNDS:
        how = dict(CLIENT, session=session, round=number, **options)
        records = measured(lambda how=how: call(**how)["records"])
        assert records and agent.is_running(session)
        found += [error for record in records for error in errors(record)]
    return found


def start(call, **options):
    return call(**dict(SERVER, port=free_port(), control_port=free_port(), **options))["session"]


def stop(call, session, **options):
    assert call(side="server", state="stopped", session=session, **options)["changed"]


def test_pingpong_serves_both_modules_again_and_again(faces):
    session = start(faces["niping"], tool="pingpong")
    try:
        assert set(rounds_of(faces["niping"], session, bytes=[1, 500], connections=2)) == {None}
        assert set(rounds_of(faces["measure_workload"], session, workload="network", network=PINGPONG)) == {None}
    finally:
        stop(faces["measure_workload"], session, workload="network")


def test_niping(faces):
    session = start(faces["niping"], path=STANDIN)
    try:
        for connections in (1, 3):
            options = {"bytes": [500], "loops": 50, "connections": connections, "path": STANDIN}
            assert set(rounds_of(faces["niping"], session, **options)) == {None}
    finally:
        stop(faces["niping"], session)


@pytest.mark.parametrize("tool", sorted(request.NETWORK_TOOLS))
def test_network_tools(faces, tool, monkeypatch):
    monkeypatch.setenv("PATH", SEARCH_PATH)
    program = request.NETWORK_TOOLS[tool]
    if shutil.which(program.SERVER) is None:
        pytest.skip("no %s on this machine" % program.SERVER)
    kinds = [kind for kind in ("latency", "strRead", "strWrite") if kind in program.Workload.kinds]
    session = start(faces["measure_workload"], workload="network", network={"tool": tool})
    try:
        network = {"tool": tool, "kinds": kinds, "connections": [1]}
        assert set(rounds_of(faces["measure_workload"], session, workload="network", network=network)) == {None}
    finally:
        stop(faces["measure_workload"], session, workload="network")


@pytest.mark.parametrize("kind, program", [("ENSA1", ENQT), ("ENSA2", ENQ_ADMIN)])
def test_locks(faces, tmp_path, monkeypatch, kind, program):
    with standin(tmp_path, kind, monkeypatch) as server:
        session = start(faces["enqt"], profile=server.profile)
        try:
            options = {"users": 2, "locks_per_user": 5, "profile": server.profile, "path": program}
            assert set(rounds_of(faces["enqt"], session, load="create_locks", **options)) == {None}
            assert set(rounds_of(faces["enqt"], session, load="verify_entries", **options)) == {None}
        finally:
            stop(faces["enqt"], session)
        assert server.count() == 0
