# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills a piece of work, in a process of its own, before the k-th call that may change a file or a folder."""

import itertools
import os
import stat

CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "rmdir", "ftruncate")
KILLED = 77


def killed(work, number):
    """Do the work in a child that ends before this call (from 1); whether it came to that call."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            left = itertools.count(1)
            for name in CALLS:
                setattr(os, name, _ending(getattr(os, name), left, number))
            work()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, KILLED), status
    return status == KILLED


def _ending(call, left, number):
    def counted(*arguments, **options):
        if next(left) == number:
            os._exit(KILLED)
        return call(*arguments, **options)

    return counted


def whole(host, *tops):
    """{path: (mode, content or None)} of all files and folders below these folders."""
    found = {}
    for top in tops:
        for folder, _folders, names in os.walk(host.path(top)):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                content = None
                if path != folder:
                    with open(path, "rb") as stream:
                        content = stream.read()
                found[os.path.relpath(path, host.root)] = (stat.S_IMODE(os.stat(path).st_mode), content)
    return found
