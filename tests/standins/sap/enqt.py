# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's enqt, for tests on machines without an SAP kernel. It is not SAP's program.

    enqt pf=<profile> 8 <interval>           rates of the server, again and again until it is ended
    enqt pf=<profile> 10 <seconds>           a load of locks
    enqt pf=<profile> 11 [<users>] <locks>   create locks
    enqt pf=<profile> 12 [<users>] <locks>   destroy them
    enqt pf=<profile> 20 1 1 <times>         read the table

Of these outputs only that of 20 is documented by SAP, and only its one line is SAP's; the others are made up here.
It leaves a trace file dev_eq_<pid> where it is run, as SAP's does.
"""

import os
import sys
import time

import enqueue_client
import sap_kernel

HEAD = "Enqueue statistics (stand-in)\n%-16s %10s %10s %10s %10s" % ("", "actual", "10 sec", "1 min", "5 min")
OWNER = {"type": "E", "owner2": "", "name": "ENQT"}


def live_statistics(server, orders, interval):
    print(HEAD)
    while True:
        time.sleep(interval)
        rates = server.ask("statistics")["rates"]
        if orders.get("no_rates"):
            print("everything is fine")
        else:
            print("%-16s %10d %10d %10d %10d" % (("Enqueue Ops/min",) + tuple(rates)))
        if not sys.stdout.isatty():
            continue
        sys.stdout.flush()


def sd_benchmark(server, orders, seconds):
    """Locks of an order are set and released; one stays if the load is ended early."""
    ends, number = time.monotonic() + seconds, 0
    while time.monotonic() < ends or orders.get("hang"):
        held = [dict(OWNER, owner1="sd%d" % os.getpid(), argument="%d.%d" % (number, part)) for part in range(3)]
        for lock in held:
            server.ask("set", **lock)
        for lock in held:
            server.ask("release", **lock)
        number += 1
    print("%d orders" % number)


def create_locks(server, orders, users, locks):
    if orders.get("hang"):
        server.ask("set", count=locks, owner1="u0", argument="0.%u", **OWNER)
        time.sleep(3600)
    for user in range(users):
        answer = server.ask("set", count=locks, owner1="u%d" % user, argument="%d.%%u" % user, **OWNER)
        if answer["problem"]:
            sys.exit("*** ERROR => enqueue failed: " + answer["problem"])


def destroy_locks(server, orders, users, locks):
    for user in range(users):
        if not orders.get("destroys_nothing"):
            server.ask("release", count=locks, owner1="u%d" % user, argument="%d.%%u" % user, **OWNER)


def verify_entries(server, _orders, _one, _other, times):
    for _time in range(times):
        print("Number of selected entries: %d" % server.ask("count")["locks"])


WORK = {8: live_statistics, 10: sd_benchmark, 11: create_locks, 12: destroy_locks, 20: verify_entries}


def main():
    sap_kernel.need_libraries("enqt")
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    if not numbers or numbers[0] not in WORK:
        sys.exit("enqt stand-in: this operation would bring an enqueue server to a standstill: %s" % sys.argv[1:])
    with open("dev_eq_%d" % os.getpid(), "w") as trace:
        trace.write("trace of a stand-in\n")
    operation, arguments = numbers[0], numbers[1:]
    if operation in (11, 12) and len(arguments) == 1:
        arguments.insert(0, 1)
    server = enqueue_client.Server(sap_kernel.profile_argument(sys.argv[1:]))
    WORK[operation](server, enqueue_client.orders(), *arguments)


if __name__ == "__main__":
    main()
