# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measuring over SMC sockets: what a run's connections became, and kernels that have no such sockets.

Where the kernel of the tests has no SMC, plain sockets stand for its sockets; the real ones are in molecule/smc.
"""

import errno
import socket

import measuring
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import transport
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import niping_request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent

NO_SMC = "0x03010000 (the peer does not support SMC)"


def told(mode, reason=0):
    return smc_sockets.SmcSocket(mode, reason, 0, 1, "127.0.0.1", 2, 3)


@pytest.fixture
def smc(monkeypatch):
    """Plain sockets for SMC's; returns the list of the sockets that were asked for. became: what the kernel tells."""
    asked = []

    def stream(family):
        asked.append(family)
        return socket.socket(family, socket.SOCK_STREAM)

    monkeypatch.setattr(smc_sockets, "stream", stream)

    def becomes(found):
        monkeypatch.setattr(smc_sockets, "of_socket", lambda sock: found)
        return asked

    return becomes


@pytest.mark.parametrize(
    "found, mode, fallback",
    [(told("SMCR"), "SMCR", None), (told("SMCD"), "SMCD", None), (told("TCP", 0x03010000), "TCP", NO_SMC), (None,) * 3],
)
def test_a_round_over_smc_records_what_its_connections_became(smc, found, mode, fallback):
    asked = smc(found)
    with measuring.server(kind="smc") as session:
        # one socket for IPv4 and one for IPv6, where the machine has it
        assert asked[0] == socket.AF_INET
        (record,) = measuring.round_of(session, transport="smc", connections=3, runs=1)
    assert record["workload"]["transport"] == "smc"
    assert " --transport smc " in " ".join(record["workload"]["argv"])
    assert measuring.errors(record) == [None, None]
    for run in record["runs"]:
        assert run["links"] == [{"mode": mode, "fallback": fallback, "connections": 3}]


def test_what_stays_on_tcp(smc):
    asked = smc(AssertionError("nobody asks"))
    with measuring.server() as session:
        (record,) = measuring.round_of(session, runs=1)
    assert asked == []
    assert record["workload"]["transport"] == "tcp" and "--transport" not in record["workload"]["argv"]
    assert {run["links"] for run in record["runs"]} == {None}
    smc(told("SMCR"))
    with measuring.server(kind="smc") as session:
        # a client of TCP may ask a server of SMC, and the control workload does
        assert measuring.errors(measuring.round_of(session, runs=1)[0]) == [None, None]
        records = measuring.round_of(session, transport="smc", runs=1, control=True)
    found = {record["workload"]["name"]: record["workload"]["transport"] for record in records}
    assert found == {"pingpong-1000B": "smc", "control-pingpong-1000B": "tcp"}


def test_links_of_connections_that_differ_are_counted():
    one, other = {"mode": "SMCR", "fallback": None}, {"mode": "TCP", "fallback": NO_SMC}
    assert transport.counted([other, one, one]) == [dict(one, connections=2), dict(other, connections=1)]
    assert transport.counted([None, None]) is None


def test_without_smc_in_the_kernel(monkeypatch):
    def refuse(family):
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(smc_sockets, "stream", refuse)
    words = "transport smc needs SMC sockets .AF_SMC.*Address family not supported.*module smc; on AIX"
    with pytest.raises(MeasureError, match=words):
        agent.start("pingpong", "127.0.0.1", kind="smc")
    with measuring.server() as session:
        (record,) = measuring.round_of(session, transport="smc", runs=1)
    assert all("which this kernel does not provide" in error for error in measuring.errors(record))
    assert {run["links"] for run in record["runs"]} == {None}


def test_nobody_listens_over_smc(smc):
    smc(told("SMCR"))
    with pytest.raises(ConnectionRefusedError):
        transport.connect("smc", "127.0.0.1", measuring.free_port(), 2)
    with pytest.raises(socket.gaierror):
        transport.connect("smc", "no.such.host.invalid", 1, 2)


def test_smc_and_a_rate_are_measured_with_pingpong():
    for tool, kind, rate in (("auto", "smc", 0), ("pingpong", "smc", 0), ("auto", "tcp", 500)):
        assert niping_request.choose(tool, measuring.STANDIN, "", kind, rate) == ("pingpong", None, [])
    words = "rate is 500, but niping sends as soon as it has an answer: set tool to pingpong, or rate to 0"
    with pytest.raises(MeasureError, match=words):
        niping_request.choose("niping", measuring.STANDIN, "", "tcp", 500)
    with pytest.raises(MeasureError, match="transport smc takes tool pingpong"):
        niping_request.choose("niping", measuring.STANDIN, "", "smc")
