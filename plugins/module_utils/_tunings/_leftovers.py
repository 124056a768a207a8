# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this collection has left on a host: journals, checkpoints, locks, guardians, files and folders.

Only looks. Values without a journal and without a file of the collection cannot be found, such as device attributes of
AIX, lines of /etc/fstab and files of chzdev.
"""

import os
import re

from .._engine.journal import Journal
from .._engine.places import CHECKPOINT, LEASE, PROBATION, PROGRAMS, folder_of, journals, named, own_files, stem
from .._engine.records import observed
from .._engine.service import PROGRAM
from .._engine.tuning import InputError
from .._host.drop_ins import DropIn
from .._host.host import TEMPORARY, HostError
from .._host.lock import Busy, Lock
from .._sap.instances import instances, profile_folder
from .._sap.processes import read_text
from .._sap.profile import MARKER
from .._sap.writing import leftovers as profile_leftovers
from ._profiles import limits as sap_limits

# the name of records that belong to no tuning
NAME = "leftovers"
_ROLLBACK = "ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags %s"
# copies of a profile that SAP or an editor has made
_COPY = re.compile(r"[~.]")
# what a tuning has in the folders of journals, and what a killed run leaves of it
_OF_TUNING = re.compile(
    r"(?:%s)?[a-z][a-z0-9_]*\.(?:json|lock|guardian|lease|pnet_ids|pyz|%s)\b" % (re.escape(TEMPORARY), PROGRAM[1:])
)


def records(host, system):
    """The tuning records of what is left; one compliant record if that is nothing, or only empty folders."""
    base, found = folder_of(system), []
    try:
        known = journals(host, system)
    except HostError as error:
        return [_record(NAME, "journals", "failed", str(error))]
    for part in (_journals, _remains, _files, _profiles):
        try:
            found += part(host, base, known)
        except HostError as error:
            found.append(_record(NAME, part.__name__[1:], "failed", str(error)))
    return found or [_clean(host, base)]


def _record(name, subject, verdict, reason, running=None, stored=None, undo=None):
    # observe: the table shows the reason of a compliant record, too
    wanted = {"state": "observe" if verdict == "compliant" else "restored"}
    return observed(name, subject, wanted, verdict, reason, running, stored, undo=undo)


def _clean(host, base):
    folders = host.glob(base, CHECKPOINT + "*") + ([base] if host.exists(base) else [])
    if not folders:
        return _record(NAME, "host", "compliant", "nothing is left")
    command = "rmdir " + " ".join(folders)
    return _record(NAME, "host", "compliant", "nothing is left but empty folders: %s" % command, undo=command)


# journals, and the checkpoints among them


def _journals(host, base, known):
    found = []
    for name, paths in sorted(known.items()):
        found += _lock(host, base, name)
        for path in paths:
            try:
                found.append(_journal(host, base, name, path))
            except (HostError, InputError) as error:
                found.append(_record(name, os.path.relpath(path, base), "failed", str(error)))
    return found


def _journal(host, base, name, path):
    folder = os.path.dirname(path)
    checkpoint = "" if folder == base else os.path.basename(folder)[len(CHECKPOINT) :]
    journal = Journal(host, name, base, checkpoint)
    stored, command = {"first values": len(journal.entries)}, _ROLLBACK % name
    if not journal.entries:
        reason = "%s has no values any more, only folders that could not be removed: %s; %s tries again"
        reason %= (path, ", ".join(journal.made), command)
        return _record(name, "journal", "drifted", reason, None, stored, command)
    stored["since"] = journal.since()
    if not checkpoint:
        reason = "%s holds the first values; %s restores them" % (path, command)
        return _record(name, "journal", "drifted", reason, None, stored, command)
    pid, ends = journal.lease.guardian(), journal.lease.ends()
    running = {"guardian": "process %d" % pid, "until": ends} if pid else {"guardian": "none"}
    itself = "the host restores them by itself" if pid else "no process on the host restores them"
    subject, what, keep = "checkpoint %s" % checkpoint, "temporary values of the checkpoint %s" % checkpoint, ""
    if checkpoint == PROBATION:
        subject, what, keep = checkpoint, "values on probation", "; zpower.sap_tuning.confirm keeps them"
    reason = "%s: %s, and %s; %s restores all values%s" % (path, what, itself, command, keep)
    return _record(name, subject, "drifted", reason, running, stored, command)


def _lock(host, base, name):
    """The record of a lock that another run holds now; its file alone belongs to the journal."""
    path = os.path.join(base, name + ".lock")
    try:
        Lock(host, path).look()
    except Busy as error:
        reason = "another run is changing this tuning now; it holds %s" % path
        return [_record(name, "lock", "drifted", reason, {"held by": error.owner or "unknown"})]
    return []


# what killed runs have left in the folders of journals


def _remains(host, base, known):
    found = {}
    for folder in [base] + host.glob(base, CHECKPOINT + "*"):
        mine = {name for name, paths in known.items() if os.path.join(folder, name + ".json") in paths}
        killed = [name for name in host.listdir(folder) if not _expected(name, folder == base, mine, known)]
        for name in killed:
            # the lease is that of all tunings of the checkpoint
            others = [one for one in killed if one != LEASE and _OF_TUNING.match(one)] if name == LEASE else [name]
            tuning = stem(others[0]) if others and _OF_TUNING.match(others[0]) else NAME
            found.setdefault(tuning, []).append(os.path.join(folder, name))
    records = []
    for name, paths in sorted(found.items()):
        command, reason = _ROLLBACK % name, "a run that was killed left %s; %s removes it"
        subject = "remains"
        if name == NAME:
            subject, command, reason = "other files", None, "no tuning uses %s: look at it and remove it by hand"
        reason %= (", ".join(paths), command) if command else ", ".join(paths)
        records.append(_record(name, subject, "drifted", reason, stored={"files": len(paths)}, undo=command))
    return records


def _expected(name, in_base, mine, known):
    """Whether a file belongs to a journal that stands. mine: the tunings with a journal in the same folder."""
    tuning = stem(name)
    if tuning in mine and not name.startswith(TEMPORARY):
        return True
    if in_base:
        locks = tuning in known and name == tuning + ".lock"
        return locks or name.startswith(CHECKPOINT) or name in PROGRAMS.values()
    return name == LEASE and bool(mine)


# stored values of the tunings


def _files(host, base, known):
    """One record per tuning for its files outside of the folder of journals, with or without a journal."""
    found = own_files(host)
    for name, program in PROGRAMS.items():
        found.setdefault(name, []).extend(host.glob(base, program))
    for name, paths in own_files(host, killed=True).items():
        found.setdefault(name, []).extend(paths)
    return [_of_files(host, name, paths, name in known) for name, paths in sorted(found.items()) if paths]


def _of_files(host, name, paths, has_journal):
    edited = [] if has_journal else [path for path in paths if not _has_marks(host, path)]
    known = [path for path in paths if path not in edited]
    command = _ROLLBACK % name if known else None
    without = "" if has_journal else ", although no journal knows the values before"
    said = ["%s: %s removes it%s" % (", ".join(known), command, without)] if known else []
    hint = "%s: edited by someone else, and no journal knows it; remove it by hand"
    said += [hint % ", ".join(edited)] if edited else []
    return _record(name, "files", "drifted", "; ".join(said), stored={"files": len(paths)}, undo=command)


def _has_marks(host, path):
    """Whether a rollback without a journal removes a file: see Tuning.marked()."""
    if os.path.basename(path).startswith(TEMPORARY) or not named(path):
        # removed whatever it holds, so it is not read
        return True
    return bool(DropIn(host, path, "").blocks()) or path in dict(sap_limits.marked(host))


# SAP profiles


def _profiles(host, _base, known):
    """The lines with a mark of this collection in the profiles of this host's instances, and files of killed runs."""
    lines, temporary = [], []
    for folder in sorted({profile_folder(host, one.sid) for one in instances(host)} - {None}):
        temporary += profile_leftovers(host, folder)
        for path in host.glob(folder, "*"):
            name = os.path.basename(path)
            is_copy = name != "DEFAULT.PFL" and _COPY.search(name)
            if not is_copy and "\n" + MARKER in "\n" + read_text(host, path):
                lines.append(path)
    found = []
    if lines and not set(known) & {"sap_profile", "smc"}:
        reason = (
            "%s: lines below '%s' were set by this collection, on this host or on one that shares the folder, and no "
            "journal of this host knows the values before; look at them and remove them by hand"
        )
        reason %= (", ".join(lines), MARKER.strip())
        found.append(_record("sap_profile", "profiles", "drifted", reason, stored={"profiles": len(lines)}))
    if temporary:
        reason = "a run that was killed, or one that writes now, left %s" % ", ".join(temporary)
        found.append(_record("sap_profile", "profile folder", "drifted", reason, stored={"files": len(temporary)}))
    return found
