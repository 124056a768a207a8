# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Enqueue servers for tests: the stand-in with its profile on loopback, and the content of its lock table."""

import contextlib
import json
import os
import socket
import subprocess
import sys

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqueue
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from measuring import OPTIONS, PATIENCE, free_port, listens
from waiting import until

UNIT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.path.join(os.path.dirname(UNIT), "standins", "sap")
ENQT, ENQ_ADMIN = (os.path.join(PROGRAMS, name) for name in ("enqt", "enq_admin"))
STARTS = {
    "ENSA1": "_EN = en.sap$(SAPSYSTEMNAME)_$(INSTANCE_NAME)\nStart_Program_01 = local $(_EN) pf=$(_PF)\n",
    "ENSA2": "_ENQ = enq.sap$(SAPSYSTEMNAME)_$(INSTANCE_NAME)\nStart_Program_01 = local $(_ENQ) pf=$(_PF)\n",
    "none": "Start_Program_00 = local ms.sapPRD_ASCS01 pf=$(_PF)\n",
}
HEAD = "SAPSYSTEMNAME = PRD\nSAPSYSTEM = 01\nINSTANCE_NAME = ASCS01\nenque/serverhost = 127.0.0.1\n"
LOCK = {"type": "E", "owner1": "other", "owner2": "", "name": "VBAK", "argument": "1"}


class Standin:
    """A running stand-in of an enqueue server. profile: the path of its profile."""

    def __init__(self, folder, kind, port):
        self.profile = os.path.join(str(folder), "PRD_ASCS01_prdascs")
        self.orders = os.path.join(str(folder), "orders.json")
        self._port = port
        with open(self.profile, "w") as stream:
            stream.write("%sstandin/enqueue_port = %d\n%s" % (HEAD, port, STARTS[kind]))

    def ask(self, operation, **details):
        with socket.create_connection(("127.0.0.1", self._port), PATIENCE) as sock:
            sock.sendall(json.dumps(dict(details, op=operation)).encode() + b"\n")
            with sock.makefile("rb") as stream:
                return json.loads(stream.readline().decode())

    def count(self):
        return self.ask("count")["locks"]

    def lock_of_another(self):
        assert self.ask("set", **LOCK)["done"] == 1

    def order(self, **orders):
        with open(self.orders, "w") as stream:
            json.dump(orders, stream)


@contextlib.contextmanager
def standin(folder, kind, monkeypatch, maximum=250000):
    """Run a Standin for the length of a block."""
    running = Standin(folder, kind, free_port())
    monkeypatch.setenv("ENQ_STANDIN_ORDERS", running.orders)
    environment = dict(os.environ, ENQ_STANDIN_MAXIMUM=str(maximum))
    program = os.path.join(PROGRAMS, "enqueue_server.py")
    process = subprocess.Popen([sys.executable, program, str(running._port)], env=environment)
    try:
        until(lambda: listens(running._port), "the enqueue server listens")
        yield running
    finally:
        process.kill()
        process.wait()


def asked(load="sd_benchmark", **options):
    values = {"users": 3, "locks_per_user": 10, "processes": 1, "run_seconds": 1, "allow_foreign_locks": False}
    return enqueue.Asked(load, **dict(values, **options))


@contextlib.contextmanager
def agent_of(tool, **how):
    """Run the session of an agent on loopback and end it afterwards; without arguments, beside a running server."""
    session = agent.start(tool, "127.0.0.1", **dict({"port": free_port(), "control_port": free_port()}, **how))
    try:
        yield session
    finally:
        processes.end(session["pid"], session["start_time"])


def record_of(workload, session, **options):
    params = dict(OPTIONS, session=session)
    params.update(options)
    return entry_point.measure(params, [workload])[0]
