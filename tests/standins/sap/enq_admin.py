# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's enq_admin, for tests on machines without an SAP kernel. It is not SAP's program.

    enq_admin pf=<profile> [--csv] [--no_color] --info
    enq_admin pf=<profile> [--csv] [--no_color] --locks=<n>:<client>:<user>:<name>:<argument>
    enq_admin pf=<profile> [--csv] [--no_color] --set_locks=<n>:<type>:<owner1>:<owner2>:<name>:<argument>
    enq_admin pf=<profile> [--csv] [--no_color] --release_locks=...

Header, data and footer are in the documented layouts; what stands between header and footer when locks are set or
released is not documented, and empty here.
"""

import fnmatch
import sys
import time

import enqueue_client
import sap_kernel

TYPES = {"X": "Exclusive", "E": "Write", "S": "Read", "O": "Optimistic"}
COLUMNS = "Type;Count 1;Count 2;BCK;Object;User;Client;TCODE;Owner 1;Owner 2;Name;Argument;"
INFO = """\
Server Status : STATUS_RUNNING
Repl.State    : REPLICATION_OFF
Process ID    : 4711
Release       : 789
Patch Level   : 100
Number Clients: 1
"""


def locks(server, pattern):
    most, client, user, name, argument = pattern.split(":")
    answer = server.ask("list")
    rows = [
        "%s;%d;0;false;E_FILL;FILL_USER;000;SFILL;%s;%s;%s;%s;" % (TYPES[kind], count, owner1, owner2, its, of_it)
        for kind, owner1, owner2, its, of_it, count in answer["locks"]
        if fnmatch.fnmatchcase(its, name) and fnmatch.fnmatchcase(of_it, argument)
        if client in ("*", "000") and user in ("*", "FILL_USER")
    ]
    rows = rows if most == "*" else rows[: int(most)]
    counts = (len(answer["locks"]), answer["peak"], answer["maximum"])
    head = "LID=(4711/1714468346); RN=(300151); Current=%d; Peak=%d; Maximum=%d\n" % counts
    return "OK", "Lock List", head + "\n" + "\n".join(["Locks:", COLUMNS] + rows) + "\n"


def change(server, operation, pattern):
    count, kind, owner1, owner2, name, argument = pattern.split(":")
    lock = {"type": kind, "owner1": owner1, "owner2": owner2, "name": name, "argument": argument}
    problem = server.ask(operation, count=int(count), **lock).get("problem")
    title = "Set Locks" if operation == "set" else "Release Locks"
    return "ERROR (%s)" % problem if problem else "OK", title, "\n"


def main():
    sap_kernel.need_libraries("enq_admin")
    words = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
    orders = enqueue_client.orders()
    server = enqueue_client.Server(sap_kernel.profile_argument(sys.argv[1:]))
    begin = time.monotonic()
    if "info" in words:
        status, title, text = "OK", "Process Information", INFO
    elif "locks" in words:
        status, title, text = locks(server, words["locks"])
    elif "set_locks" in words:
        status, title, text = change(server, "set", words["set_locks"])
        if orders.get("hang"):
            time.sleep(3600)
    elif "release_locks" in words:
        status, title, text = change(server, "release", words["release_locks"])
    else:
        sys.exit(__doc__)
    print("Enqueue Server 2")
    print(text)
    took = (time.monotonic() - begin) * 1e6
    print("%s; %s; '%s'; Response=%d usec" % (time.strftime("%Y-%m-%d %H:%M:%S"), status, title, took))
    print("=" * 99)
    sys.exit(0 if status == "OK" else 1)


if __name__ == "__main__":
    main()
