# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process of an instance that the sapstartsrv stand-in starts; SAP_STANDIN in its environment says which one it is.

disp+work does no work. It has work processes as children, which really ask the kernel for the policy and the priority
that the profile wants and go on without where it refuses; what it said is in the trace file dev_w<n>, as in a system.
A lock server really decides about locks, see enqueue_server.py.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time

import enqueue_client
import enqueue_server
import sap_kernel

POLICIES = {"SCHED_OTHER": os.SCHED_OTHER, "SCHED_RR": os.SCHED_RR, "SCHED_FIFO": os.SCHED_FIFO}
MOST_WORK_PROCESSES = 4


def work_process(number, parameters, place, ends):
    """One child: scheduled as the profile wants, until the dispatcher ends, which closes the other side of a pipe."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    policy, priority = parameters.get("rdisp/linux/os_scheduler"), parameters.number("rdisp/linux/os_priority")
    with open(os.path.join(place.work, "dev_w%d" % number), "w") as trace:
        try:
            os.sched_setscheduler(0, POLICIES[policy], os.sched_param(priority))
            trace.write("M  scheduling policy %s, priority %d\n" % (policy, priority))
        except (KeyError, OSError) as error:
            trace.write("M  *** ERROR => sched_setscheduler(%s, %d): %s\n" % (policy, priority, error))
        trace.flush()
        talk(place.orders().get("talks_to"), trace, ends)
    os._exit(0)


def talk(address, trace, ends):
    """Send to a server and read the answer, once a second, until the dispatcher ends; only wait without an address."""
    try:
        with socket.create_connection(address) if address else contextlib.nullcontext() as link:
            while not select.select([ends], [], [], 1 if link else None)[0]:
                link.sendall(b"x" * 100)
                link.recv(100)
    except OSError as error:
        trace.write("N  *** ERROR => connection to %s: %s\n" % (address, error))
        trace.flush()
        os.read(ends, 1)


def start_work_processes(parameters, place):
    kinds = ("rdisp/wp_no_dia", "rdisp/wp_no_btc", "rdisp/wp_no_vb")
    count = min(sum(parameters.number(kind) for kind in kinds), MOST_WORK_PROCESSES)
    ends, mine = os.pipe()
    for number in range(count):
        if os.fork() == 0:
            os.close(mine)
            work_process(number, parameters, place, ends)


def main():
    name = os.environ["SAP_STANDIN"]
    parameters = sap_kernel.Parameters.read(sap_kernel.profile_argument(sys.argv))
    place = sap_kernel.Place(parameters)
    ready = os.path.join(place.state, "%s.%d" % (name, os.getpid()))

    def end(_signal, _frame):
        if os.path.exists(ready):
            os.unlink(ready)
        if not (name == "disp+work" and place.orders().get("stop_hangs")):
            sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    if name == "disp+work":
        start_work_processes(parameters, place)
    if name in ("enserver", "enq_server"):
        enqueue_server.start(enqueue_client.address(parameters)[1])
    time.sleep(0.3)
    dies = place.orders().get("dies")
    if name == "disp+work" and dies and parameters.get(dies["name"]) == dies["value"]:
        sys.exit(1)
    open(ready, "w").close()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
