# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's sapcontrol, for tests on machines without an SAP kernel. It is not SAP's program.

    sapcontrol [-host <name>] -nr <NN> [-format list|script] -function <name> [arguments]

It asks the sapstartsrv stand-in on the local socket and prints in the documented layouts, with the documented exit
codes: 0 done, 1 failed, GetProcessList 3 all processes run, 4 all are stopped.
"""

import json
import os
import socket
import sys
import time

import sap_kernel

REFUSED = "NIECONN_REFUSED (Connection refused), NiRawConnect failed in plugin_fopen()"


def options(words):
    """({option: value}, arguments of the function)."""
    given, arguments = {}, []
    words = list(words)
    while words:
        word = words.pop(0)
        if word.startswith("-") and words:
            given[word] = words.pop(0)
        else:
            arguments.append(word)
    return given, arguments


def ask(number, function, arguments):
    """The answer of sapstartsrv."""
    with socket.socket(socket.AF_UNIX) as link:
        try:
            link.connect(sap_kernel.socket_of(number))
        except OSError:
            return {"fail": REFUSED}
        link.sendall(json.dumps({"function": function, "arguments": arguments}).encode() + b"\n")
        with link.makefile("rb") as stream:
            line = stream.readline()
    return json.loads(line.decode()) if line else {"fail": "NIECONN_BROKEN (Connection broken), NiRawRead failed"}


def lines(answer, layout):
    """The rows of an answer, in one of the two layouts."""
    header, rows = answer["header"], answer["rows"]
    if layout == "script":
        names = header or [""]
        return [
            "%d %s: %s" % (row, names[column], cell)
            for row in range(len(rows))
            for column, cell in enumerate(rows[row])
        ]
    return [", ".join(row) for row in ([header] if header else []) + rows]


def main():
    sap_kernel.need_libraries("sapcontrol")
    given, arguments = options(sys.argv[1:])
    if "-nr" not in given or "-function" not in given:
        sys.exit(__doc__)
    if "-host" in given:
        # over the network the function would have to be taken out of service/protectedwebmethods first
        answer = {"fail": "HTTP error, HTTP/1.1 401 Unauthorized"}
    else:
        answer = ask(given["-nr"], given["-function"], arguments)
    said = ["", time.strftime("%d.%m.%Y %H:%M:%S"), given["-function"]]
    if "fail" in answer:
        said.append("FAIL: " + answer["fail"])
    else:
        said += ["OK"] + lines(answer, given.get("-format", "list"))
    sys.stdout.buffer.write(("\n".join(said) + "\n").encode("latin-1"))
    sys.stdout.flush()
    os._exit(answer.get("code", 1))


if __name__ == "__main__":
    main()
