# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gives a process its limits at its start: files of pam_limits for sessions, a systemd unit with its drop-ins."""

import os
from collections import namedtuple

from .._host.drop_ins import assignments, effective_files
from .processes import read_text

LIMITS, FOLDER = "/etc/security/limits.conf", "/etc/security/limits.d"

# A line that gives a limit. value: its text; None of an own file that does not stand.
Entry = namedtuple("Entry", "file line value")


def of_session(host, user, item, kind, own=None):
    """The Entries for a user, the one that counts last: the user's own win over those of a group, these over ``*``.

    kind: soft or hard. own: the Entry of this collection's file for @sapsys, whatever the file holds.
    """
    groups, found = _groups(host, user), []
    for path in [LIMITS] + sorted({*host.glob(FOLDER, "*.conf"), *([own.file] if own else ())}):
        if own and path == own.file:
            found += [(2, own)] if own.value else []
            continue
        for number, line in enumerate(read_text(host, path).splitlines(), 1):
            fields = line.split("#")[0].split()
            if len(fields) > 3 and fields[1].lower() in ("-", kind) and fields[2].lower() == item:
                rank = 3 if fields[0] == user else 2 if fields[0] in groups else 1 if fields[0] == "*" else 0
                found += [(rank, Entry(path, number, fields[3].lower()))] if rank else []
    return [entry for _rank, entry in sorted(found, key=lambda pair: pair[0])]


def _groups(host, user):
    """The user's groups as limits.conf names them. <sid>adm is in sapsys, even if only a directory service says so."""
    own = [line.split(":") for line in read_text(host, "/etc/passwd").splitlines() if line.startswith(user + ":")]
    gid = own[0][3] if own and len(own[0]) > 3 else None
    rows = [line.split(":") for line in read_text(host, "/etc/group").splitlines()]
    known = [row for row in rows if len(row) > 3 and (row[2] == gid or user in row[3].split(","))]
    return {"@sapsys"} | {"@" + row[0] for row in known}


def of_systemd(host, name):
    """[Entry] of the assignments to a default of systemd for units without their own, such as DefaultLimitNOFILE."""
    main = [path for path in ("/usr/lib/systemd/system.conf", "/etc/systemd/system.conf") if host.exists(path)]
    files = main[-1:] + effective_files(host, "systemd/system.conf.d", ".conf")
    lines = [(path, *line) for path in files for line in assignments(host, path)]
    return [Entry(path, line, value) for path, line, _text, one, value in lines if one == name]


def of_unit(host, unit, own=None):
    """(name, Entry) of each assignment in a unit's file and drop-ins, in their order; own: see of_session()."""
    files = [path for path in effective_files(host, "systemd/system", ".service") if os.path.basename(path) == unit]
    drop_ins = {*effective_files(host, "systemd/system/%s.d" % unit, ".conf"), *([own.file] if own else ())}
    for path in files + sorted(drop_ins, key=os.path.basename):
        if own and path == own.file:
            yield "LimitNOFILE", own
            continue
        for line, _text, name, value in assignments(host, path):
            yield name, Entry(path, line, value)
