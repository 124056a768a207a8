# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: the first value each knob had before this collection touched it, kept on the target.

One file per tuning below /var/lib/zpower_sap_tuning (AIX: /var/adm/zpower_sap_tuning), folder 0700, file 0600. It is
written before the first change, so that a run killed at any moment leaves enough behind to go back.

A checkpoint is a second journal, in the folder checkpoint-<name> below: what stood when it began, for a while that is
taken back as a whole. The journal itself knows nothing of it.
"""

import contextlib
import errno
import json
import os
import platform
import re
import stat
import time

from .._host.drop_ins import temporaries
from .._host.host import HostError, refused, sync_folder
from .._host.lock import Busy, Lock
from .lease import LEASE, Lease
from .tuning import InputError

SCHEMA = "zpower.sap_tuning/journal/1"
_CHECKPOINT = "checkpoint-"
_CHECKPOINT_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# of a folder that cannot be removed: something lies in it, or somebody else was faster
_LEFT = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTDIR)
_REFUSED = (errno.EROFS, errno.EACCES)
_MODE = 0o700
_LONGEST_WHY = 300


def folder_of(system):
    """Where the journal lies on this operating system (as platform.system() names it)."""
    return "/var/adm/zpower_sap_tuning" if system == "AIX" else "/var/lib/zpower_sap_tuning"


def machine_of(host):
    """The id that tells this machine from a copy of it, None if unknown: on AIX the machine's id and the partition's
    number, elsewhere that of systemd or D-Bus.
    """
    if platform.system() == "AIX":
        machine = os.uname().machine
        try:
            number = re.match(r"\s*([0-9]+)\b", host.run(["uname", "-L"]).out)
        except HostError:
            number = None
        return "%s %s" % (machine, number.group(1)) if number else machine
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        text = host.value(path)
        if text and re.match(r"^[0-9a-f]{32}\Z", text):
            return text
    return None


def journals(host, system):
    """{tuning: the paths of its journals} of all journals on this host, those of checkpoints too."""
    base, found = folder_of(system), {}
    for folder in [base] + host.glob(base, _CHECKPOINT + "*"):
        for path in host.glob(folder, "*.json"):
            if os.path.basename(path) != LEASE:
                found.setdefault(os.path.basename(path)[: -len(".json")], []).append(path)
    return found


def parse(text, name):
    """What a journal of the tuning called name holds. Raises ValueError if it is no such journal."""
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError("lists in lists") from error
    _check(isinstance(data, dict), "no object")
    _check(data.get("schema") == SCHEMA, "schema %r" % (data.get("schema"),))
    _check(data.get("tuning") == name, "tuning %r" % (data.get("tuning"),))
    machine, folders, knobs = data.get("machine"), data.get("folders", []), data.get("knobs")
    _check(machine is None or _is_text(machine), "machine %r" % (machine,))
    absolute = isinstance(folders, list) and all(_is_text(path) and path.startswith("/") for path in folders)
    _check(absolute, "folders %r" % (folders,))
    _check(isinstance(knobs, dict), "no knobs")
    for key, entry in knobs.items():
        where = "entry %r" % key
        _check(_is_text(key) and isinstance(entry, dict), where)
        for field in ("subject", "family"):
            _check(_is_text(entry.get(field)), "%s: %s %r" % (where, field, entry.get(field)))
        for field in ("since", "identity"):
            _check(field not in entry or _is_text(entry[field]), "%s: %s %r" % (where, field, entry.get(field)))
        ours = entry.get("ours")
        _check("first" in entry and _is_value(entry["first"]), "%s: first %r" % (where, entry.get("first")))
        _check(isinstance(ours, list) and ours != [] and all(map(_is_value, ours)), "%s: ours %r" % (where, ours))
    return data


def _check(right, what):
    if not right:
        raise ValueError(what)


def _is_text(value):
    """Whether it is a text that can be written to a file and be part of a path."""
    if not isinstance(value, str) or "\0" in value:
        return False
    value.encode("utf-8")  # UnicodeEncodeError is a ValueError: half of a surrogate pair
    return True


def _is_value(value):
    return value is None or _is_text(value)


class Journal:
    """First values and what was set over them, by the key of the knob.

    An entry has subject and family (of the Knob), first (the value found, None if absent), ours (what was set over
    it), since (UTC) and identity (of the Subject, if it has one). ``ours`` holds every value this collection has set or
    was about to set: a run killed between the journal and the write must not look as if someone else had changed the
    knob.

    machine: where the journal was written (machine_of()), None if unknown. made: the folders that this collection made
    for stored values, noted before they are made; they go with the last entry.

    checkpoint: the name of the checkpoint whose journal this is, empty for the main one; lease: until when it may last.
    Raises InputError for what cannot be the name of one.
    """

    def __init__(self, host, name, folder=None, checkpoint=None):
        self._host = host
        self._base = folder or folder_of(platform.system())
        self.name = name
        self.checkpoint = checkpoint or ""
        if self.checkpoint and not _CHECKPOINT_NAME.match(self.checkpoint):
            raise InputError(
                "checkpoint: '%s' is no name; use up to 64 letters, digits, and after the first of them . _ -"
                % self.checkpoint
            )
        self.folder = os.path.join(self._base, _CHECKPOINT + self.checkpoint) if self.checkpoint else self._base
        self.path = os.path.join(self.folder, name + ".json")
        # one lock for all journals of a tuning: a run with a checkpoint and one without keep each other out
        self._lock_path = os.path.join(self._base, name + ".lock")
        self._lock = Lock(host, self._lock_path)
        self.lease = Lease(host, self.folder, name)
        self.machine, self.made, self.entries = None, [], {}
        self._load()

    def checkpoints(self):
        """The journals of this tuning's checkpoints that are not taken back yet, the newest first."""
        found = [journal for journal in self._of_checkpoints() if journal.entries]
        return sorted(found, key=lambda journal: journal.since(), reverse=True)

    def _of_checkpoints(self):
        found = []
        for folder in self._host.glob(self._base, _CHECKPOINT + "*"):
            checkpoint = os.path.basename(folder)[len(_CHECKPOINT) :]
            if _CHECKPOINT_NAME.match(checkpoint) and self._host.exists(os.path.join(folder, self.name + ".json")):
                found.append(Journal(self._host, self.name, self._base, checkpoint))
        return found

    def blocking_checkpoint(self):
        """Why nothing may be set with this journal now, a sentence; empty if no other checkpoint stands."""
        for other in self.checkpoints():
            if other.checkpoint != self.checkpoint:
                ends = other.lease.ends()
                until = ", which the host takes back by itself at %s" % ends if ends else ""
                return (
                    "%s has values for a while, since the checkpoint %s began at %s%s; ansible-playbook "
                    "zpower.sap_tuning.rollback -e zpower_checkpoint=%s takes back only those, and rollback without "
                    "it everything" % (self.name, other.checkpoint, other.since(), until, other.checkpoint)
                )
        return ""

    def since(self):
        """When the oldest entry was made (UTC); empty if there is none."""
        return min((str(entry.get("since", "")) for entry in self.entries.values()), default="")

    def foreign(self):
        """Why its first values may not be those of this machine, a sentence; empty if they are, or nobody can tell."""
        if not self.entries or self.machine is None or machine_of(self._host) in (None, self.machine):
            return ""
        return (
            "the journal %s was written on another machine (this host may be a copy of it), so its first values may "
            "not be those of this host; force: true takes them for this host's own, and without the file this "
            "collection starts anew from today's values" % self.path
        )

    def broken(self, why):
        """The HostError of a journal that cannot be understood."""
        return HostError(
            "the journal %s cannot be understood (%s): it holds the values to go back to, so nothing was changed; "
            "bring it back from a backup, or move it away to start anew from today's values"
            % (self.path, str(why)[:_LONGEST_WHY])
        )

    def _load(self):
        text = self._host.read(self.path)
        self.machine, self.made, self.entries = None, [], {}
        if text is None:
            return
        try:
            data = parse(text, self.name)
        except ValueError as error:
            raise self.broken(error) from error
        self.machine, self.made, self.entries = data.get("machine"), data.get("folders", []), data["knobs"]

    def lock(self):
        """Keep a second run out until close(); the folder is made where it is missing.

        Who holds it already keeps it. Raises HostError when another run holds the lock, and where the folder cannot be
        made.
        """
        while not self._lock.held:
            try:
                self._make_folder(self._base)
                self._lock.take("process %d" % os.getpid())
            except Busy as error:
                raise HostError(
                    "another run%s is changing this tuning now (it holds %s); nothing was changed, run again when it "
                    "is done" % (" (%s)" % error.owner if error.owner else "", self._lock_path),
                    errno.EAGAIN,
                ) from error
            except HostError as error:
                # a run that has just ended may have removed the folder
                if error.errno != errno.ENOENT or self._host.exists(self._base):
                    raise HostError("nothing was changed: %s" % error, error.errno) from error
        # another run may have ended between the first look and the lock
        self._load()

    def _make_folder(self, path):
        folder = self._host.path(path)
        try:
            os.makedirs(folder, _MODE, exist_ok=True)
        except OSError as error:
            raise refused("cannot keep a journal in %s" % path, error) from error

    def close(self):
        """Let the next run in; empty journals leave no file behind."""
        if not self._lock.held:
            return
        self._lock.release(keep=self._stands())
        for folder in self._folders()[::-1]:
            if self._is_ours(folder):
                _remove_folder(self._host, folder)

    def _folders(self):
        return [self._base] + self._host.glob(self._base, _CHECKPOINT + "*")

    def _stands(self):
        """Whether this tuning has a journal, of a checkpoint or the main one."""
        return any(self._host.exists(os.path.join(folder, self.name + ".json")) for folder in self._folders())

    def _is_ours(self, folder):
        """Whether this collection made one of the journals' folders, which is where it would note that.

        Who makes the first of them in advance, for a mount point perhaps, hardly gives it the same mode.
        """
        try:
            return folder != self._base or stat.S_IMODE(os.stat(self._host.path(folder)).st_mode) == _MODE
        except OSError:
            return False

    # what a killed run leaves behind

    def leftovers(self):
        """The files that killed runs left in the journals' folders; only who holds the lock may remove them."""
        found = []
        for folder in self._folders():
            path = os.path.join(folder, self.name + ".json")
            lease = Lease(self._host, folder, self.name)
            found += temporaries(self._host, path) + lease.leftovers(self._host.exists(path))
        return found

    def littered(self):
        """Whether a killed run left something in the journals' folders that the end of a run would have removed."""
        if self.leftovers() or self._emptied():
            return True
        if self._stands():
            return False
        empty = [folder for folder in self._folders() if self._is_ours(folder) and not self._host.listdir(folder)]
        return bool(empty) or self._host.exists(self._lock_path)

    def sweep(self):
        """Try again to remove folders whose removal was refused when the last entry went."""
        for journal in self._emptied():
            with contextlib.suppress(HostError):
                journal.save()

    def _emptied(self):
        """The journals of this tuning that have no entry left and only note folders."""
        return [journal for journal in [self] + self._of_checkpoints() if journal.made and not journal.entries]

    # what is written

    def intend(self, changes, folders=(), identities=None):
        """Note what is about to be set: changes is [(subject name, Knob)]. Durable on return.

        folders: those into which it will be written; identities: {subject name: identity}, of those that have one.
        Raises HostError where it cannot be written (disk full): then nothing may be changed.
        """
        for subject, knob in changes:
            entry = self.entries.setdefault(knob.key, _entry(subject, knob, knob.now))
            if knob.wanted not in entry["ours"]:
                entry["ours"].append(knob.wanted)
        for entry in self.entries.values():
            if entry["subject"] in (identities or {}):
                entry.setdefault("identity", identities[entry["subject"]])
        self.made += self._to_make([folder for folder in folders if folder not in self.made])
        try:
            self._make_folder(self.folder)
            self.save()
        except HostError as error:
            raise HostError(
                "nothing was changed: the journal could not be written (%s)" % error, error.errno
            ) from error

    def adopt(self, subject, knob):
        """Take a stored value of this collection that no journal knows for one that was absent before. Not written."""
        entry = self.entries[knob.key] = _entry(subject, knob, None)
        entry["ours"].append(knob.now)

    def _to_make(self, folders):
        """Which of these folders this collection makes, or has made for another tuning that may be gone before."""
        noted = set()
        for folder in self._folders():
            for path in self._host.glob(folder, "*.json"):
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    noted.update(json.loads(self._host.read(path) or "{}")["folders"])
        return [folder for folder in folders if folder in noted or not self._host.exists(folder)]

    def forget(self, keys):
        """Drop what was taken back."""
        for key in keys:
            self.entries.pop(key, None)
        self.save()

    def save(self):
        """Write the journal; without entries it goes, and before it the folders that this collection made."""
        if not self.entries:
            self.made = [folder for folder in self.made if not _remove_folder(self._host, folder)]
            if not self.made:
                self._host.remove(self.path)
                return
        self.machine = machine_of(self._host) or self.machine
        data = {"schema": SCHEMA, "tuning": self.name, "knobs": self.entries}
        if self.machine is not None:
            data["machine"] = self.machine
        if self.made:
            data["folders"] = self.made
        self._host.write(self.path, json.dumps(data, indent=1, sort_keys=True) + "\n", mode=0o600)


def _entry(subject, knob, first):
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"subject": subject, "family": knob.family, "first": first, "ours": [], "since": since}


def _remove_folder(host, folder):
    """Remove a folder if nothing lies in it. False if that is refused: no write access, a read-only file system."""
    path = host.path(folder)
    try:
        os.rmdir(path)
        sync_folder(os.path.dirname(path))
    except OSError as error:
        if error.errno in _REFUSED:
            return False
        if error.errno not in _LEFT:
            raise refused("cannot remove %s" % folder, error) from error
    return True
