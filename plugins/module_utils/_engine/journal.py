# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: the first value each knob had before this collection touched it, kept on the target.

One file per tuning below /var/lib/zpower_sap_tuning (AIX: /var/adm/zpower_sap_tuning), folder 0700, file 0600. It is
written before the first change, so that a run killed at any moment leaves enough behind to go back.

A checkpoint is a second journal, in the folder checkpoint-<name> below, with the values found when it began. It is
taken back as a whole. The main journal does not mention it. Values on probation are the checkpoint of that name.
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
from .._host.kernel import machine_of
from .._host.lock import Busy, Lock
from .journal_format import SCHEMA, parse
from .places import CHECKPOINT, PROBATION, folder_of
from .tuning import InputError

_CHECKPOINT_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# a folder that cannot be removed is not empty, or has been removed by someone else
_LEFT = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTDIR)
_REFUSED = (errno.EROFS, errno.EACCES)
_MODE = 0o700
_LONGEST_WHY = 300


class Journal:
    """First values of knobs and the values set since, by the key of the knob.

    An entry has subject and family (of the Knob), first (the value found, None if absent), ours (the values set since,
    the last one at the end), since (UTC) and identity (of the Subject, if it has one). ``ours`` holds every value this
    collection has set or was about to set: if a run is killed between the journal and the write, the knob must not look
    as if someone else had changed it.

    machine: the one that wrote the journal (machine_of()), None if unknown. made: the folders that this collection made
    for stored values, noted before they are made; they are removed with the last entry.

    checkpoint: its name, empty for the main journal; lease: that of the checkpoint. Raises InputError for an invalid
    name.

    run: the run of a rollout that set these values on probation, empty if set by hand; runs: those whose values this
    call may change, its own last; if empty, all.
    """

    def __init__(self, host, name, folder=None, checkpoint=None, runs=()):
        self._host = host
        self._base = folder or folder_of(platform.system())
        self.name = name
        self.checkpoint = checkpoint or ""
        if self.checkpoint and not _CHECKPOINT_NAME.match(self.checkpoint):
            raise InputError(
                "checkpoint: '%s' is not a name; use up to 64 letters and digits, and after the first one also . _ -"
                % self.checkpoint
            )
        self.folder = os.path.join(self._base, CHECKPOINT + self.checkpoint) if self.checkpoint else self._base
        self.path = os.path.join(self.folder, name + ".json")
        # one lock for all journals of a tuning: only one run changes it, with a checkpoint or without
        self._lock_path = os.path.join(self._base, name + ".lock")
        self._lock = Lock(host, self._lock_path)
        self._lease = None
        self._runs = runs
        self.machine, self.made, self.entries, self.run = None, [], {}, ""
        # the names of the checkpoints that are part of this journal
        self._merged = set()
        self._load()

    @property
    def lease(self):
        """The Lease of the checkpoint."""
        if self._lease is None:
            self._lease = self._lease_in(self.folder)
        return self._lease

    def _lease_in(self, folder):
        # most calls in check mode look at no lease; see outcome()
        from .lease import Lease  # noqa: PLC0415

        return Lease(self._host, folder, self.name)

    def probation(self):
        """The journal of this tuning's values on probation, as it is now."""
        return Journal(self._host, self.name, self._base, PROBATION, self._runs)

    def checkpoints(self):
        """The journals of this tuning's checkpoints that have not been taken back, the newest first."""
        found = [journal for journal in self._of_checkpoints() if journal.entries]
        return sorted(found, key=lambda journal: journal.since(), reverse=True)

    def _of_checkpoints(self):
        found = []
        for folder in self._host.glob(self._base, CHECKPOINT + "*"):
            checkpoint = os.path.basename(folder)[len(CHECKPOINT) :]
            if _CHECKPOINT_NAME.match(checkpoint) and self._host.exists(os.path.join(folder, self.name + ".json")):
                found.append(Journal(self._host, self.name, self._base, checkpoint))
        return found

    def blocking_checkpoint(self):
        """A sentence why nothing may be set with this journal now; empty if there is no other checkpoint."""
        for other in self.checkpoints():
            if other.checkpoint != self.checkpoint and other.checkpoint not in self._merged:
                if other.foreign():
                    return other.foreign()
                ends = other.lease.ends()
                until = ", which the host takes back by itself at %s" % ends if ends else ""
                if other.checkpoint == PROBATION:
                    return (
                        "%s has values on probation since %s%s; ansible-playbook zpower.sap_tuning.confirm keeps them, "
                        "zpower.sap_tuning.rollback -e zpower_probation=only takes back only those, and rollback "
                        "without it everything" % (self.name, other.since(), until)
                    )
                return (
                    "%s has temporary values of the checkpoint %s, which began at %s%s; ansible-playbook "
                    "zpower.sap_tuning.rollback -e zpower_checkpoint=%s takes back only those, and rollback without "
                    "it everything" % (self.name, other.checkpoint, other.since(), until, other.checkpoint)
                )
        return ""

    def probation_remark(self):
        """For the records of values on probation, how long they are; empty for other journals."""
        if self.checkpoint != PROBATION or not self.entries:
            return ""
        ends = self.lease.ends()
        return "on probation%s: zpower.sap_tuning.confirm keeps it" % (" until %s" % ends if ends else "")

    def since(self):
        """When the oldest entry was made (UTC); empty if there is none."""
        return min((str(entry.get("since", "")) for entry in self.entries.values()), default="")

    def foreign(self):
        """A sentence if its first values seem to be those of another machine, else empty."""
        if not self.entries or self.machine is None or machine_of(self._host) in (None, self.machine):
            return ""
        return (
            "the journal %s was written on another machine (this host may be a copy of it), so its first values may "
            "not be those of this host; force: true uses them for this host, and without the file this "
            "collection starts again from today's values" % self.path
        )

    def broken(self, why):
        """The HostError of a journal that cannot be understood."""
        return HostError(
            "the journal %s cannot be understood (%s): it holds the values to go back to, so nothing was changed; "
            "restore it from a backup, or move it away to start again from today's values"
            % (self.path, str(why)[:_LONGEST_WHY])
        )

    def _load(self):
        text = self._host.read(self.path)
        self.machine, self.made, self.entries, self.run = None, [], {}, ""
        if text is None:
            return
        try:
            data = parse(text, self.name)
        except ValueError as error:
            raise self.broken(error) from error
        self.machine, self.made, self.entries = data.get("machine"), data.get("folders", []), data["knobs"]
        self.run = data.get("run", "")
        if self._runs and self.entries and self.run and self.run not in self._runs:
            raise HostError(
                "nothing was changed: the values of %s on probation were set by the run %s of another rollout, or of a "
                "controller that took this one over; if that run is over, zpower.sap_tuning.confirm keeps them, and "
                "zpower.sap_tuning.rollback -e zpower_probation=only takes them back" % (self.name, self.run),
                errno.EPERM,
            )

    def lock(self):
        """Lock out other runs until close(), and make the folder if it is missing.

        Does nothing if this run holds the lock already. Raises HostError if another run holds it, or if the folder
        cannot be made.
        """
        while not self._lock.held:
            try:
                self._make_folder(self._base)
                self._lock.take("process %d" % os.getpid())
            except Busy as error:
                raise HostError(
                    "another run%s is changing this tuning now (it holds %s); nothing was changed, run again when it "
                    "has ended" % (" (%s)" % error.owner if error.owner else "", self._lock_path),
                    errno.EAGAIN,
                ) from error
            except HostError as error:
                # a run that has just ended may have removed the folder
                if error.errno != errno.ENOENT or self._host.exists(self._base):
                    raise HostError("nothing was changed: %s" % error, error.errno) from error
        # another run may have ended between the first look and the lock
        try:
            self._load()
        except HostError:
            self._lock.release(keep=True)
            raise

    def _make_folder(self, path):
        folder = self._host.path(path)
        try:
            os.makedirs(folder, _MODE, exist_ok=True)
        except OSError as error:
            raise refused("cannot keep a journal in %s" % path, error) from error

    def close(self):
        """Release the lock; empty journals leave no file behind."""
        if not self._lock.held:
            return
        self._lock.release(keep=self._stands())
        for folder in self._folders()[::-1]:
            if self._is_ours(folder):
                _remove_folder(self._host, folder)

    def _folders(self):
        return [self._base] + self._host.glob(self._base, CHECKPOINT + "*")

    def _stands(self):
        """Whether this tuning has a journal, of a checkpoint or the main one."""
        return any(self._host.exists(os.path.join(folder, self.name + ".json")) for folder in self._folders())

    def _is_ours(self, folder):
        """Whether this collection made one of the journals' folders, by its mode.

        An administrator who makes the first one in advance, for example as a mount point, is unlikely to choose it.
        """
        try:
            return folder != self._base or stat.S_IMODE(os.stat(self._host.path(folder)).st_mode) == _MODE
        except OSError:
            return False

    # what a killed run leaves behind

    def leftovers(self):
        """The files that killed runs left in the journals' folders; remove them only under the lock."""
        found = []
        for path, lease in self._leases():
            found += temporaries(self._host, path) + lease.leftovers(self._host.exists(path))
        return found

    def _leases(self):
        """[(path of the journal, Lease)] of this tuning in all folders, and of its probation, which has other files."""
        folders = sorted(set(self._folders()) | {os.path.join(self._base, CHECKPOINT + PROBATION)})
        return [(os.path.join(folder, self.name + ".json"), self._lease_in(folder)) for folder in folders]

    def _idle(self):
        """The leases of checkpoints that are over, because a run was killed before it ended the lease."""
        return [lease for path, lease in self._leases() if lease.stands() and not self._host.exists(path)]

    def littered(self):
        """Whether a killed run left something in the journals' folders that the end of a run would have removed."""
        if self.leftovers() or self._emptied() or self._idle():
            return True
        if self._stands():
            return False
        empty = [folder for folder in self._folders() if self._is_ours(folder) and not self._host.listdir(folder)]
        return bool(empty) or self._host.exists(self._lock_path)

    def clean(self):
        """End leases without a checkpoint, remove the leftovers, and try again to remove folders that were refused.

        Call it only under the lock. What is refused again does no harm.
        """
        for find, act in (
            (self._idle, lambda lease: lease.end()),
            (self.leftovers, self._host.remove),
            (self._emptied, Journal.save),
        ):
            for found in find():
                with contextlib.suppress(HostError):
                    act(found)

    def _emptied(self):
        """The journals of this tuning that have no entry left and only note folders."""
        return [journal for journal in [self] + self._of_checkpoints() if journal.made and not journal.entries]

    # writing

    def intend(self, changes, folders=(), identities=None):
        """Note the values that will be set: changes is [(subject name, Knob)]. Durable on return.

        folders: those of the files that will be written; identities: {subject name: identity} of subjects with one.
        Raises HostError if the journal cannot be written (disk full): then nothing may be changed.
        """
        for subject, knob in changes:
            _add_last(self.entries.setdefault(knob.key, _entry(subject, knob, knob.now)), knob.wanted)
        for entry in self.entries.values():
            if entry["subject"] in (identities or {}):
                entry.setdefault("identity", identities[entry["subject"]])
        self.made += self._to_make([folder for folder in folders if folder not in self.made])
        if self.checkpoint == PROBATION:
            self.run = self._runs[-1] if self._runs else ""  # set by hand
        self.keep()

    def put_back(self, knobs, same):
        """Note that an error put these knobs back: their values now were set last, if this collection set them.

        same: Tuning.same.
        """
        moved = False
        for knob in knobs:
            entry = self.entries.get(knob.key, {"ours": []})
            known = [value for value in entry["ours"] if same(knob, value, knob.now)]
            if known and known[-1] != entry["ours"][-1]:
                _add_last(entry, known[-1])
                moved = True
        if moved:
            # the journal on the disk has all values already, in another order
            with contextlib.suppress(HostError):
                self.save()

    def correct(self, written):
        """Note the exact texts of values that were not known before they were set: see Tuning.written."""
        for key, (wanted, text) in written.items():
            entry = self.entries[key]
            entry["ours"] = [one for one in entry["ours"] if one not in (wanted, text)] + [text]
        self.save()

    def adopt(self, subject, knob):
        """Add a stored value of this collection that no journal has, as absent before. Does not write the journal."""
        entry = self.entries[knob.key] = _entry(subject, knob, None)
        entry["ours"].append(knob.now)

    def merge(self, other):
        """Add the entries of a newer journal; the first values of this one win. Writes nothing.

        Returns whether there are any.
        """
        for key, entry in other.entries.items():
            own = self.entries.setdefault(key, dict(entry, ours=[]))
            for value in entry["ours"]:
                _add_last(own, value)
            if "identity" in entry:
                own.setdefault("identity", entry["identity"])
        self.made += [folder for folder in other.made if folder not in self.made]
        self._merged.add(other.checkpoint)
        return bool(other.entries)

    def keep(self):
        """Write the journal before anything changes. Raises HostError if that is refused."""
        try:
            self._make_folder(self.folder)
            self.save()
        except HostError as error:
            raise HostError(
                "nothing was changed: the journal could not be written (%s)" % error, error.errno
            ) from error

    def hand_over(self):
        """Drop all entries and noted folders, which another journal has now."""
        self.made = []
        self.forget(list(self.entries))

    def _to_make(self, folders):
        """Those of these folders that this collection makes, or has made for another tuning."""
        # checked twice: another tuning that makes or removes it notes it before, and keeps the note until after
        noted = {folder for folder in folders if not self._host.exists(folder)}
        # values on probation go from their checkpoint's journal to the main one
        for folder in self._folders()[::-1]:
            for path in self._host.glob(folder, "*.json"):
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    noted.update(json.loads(self._host.read(path) or "{}")["folders"])
        return [folder for folder in folders if folder in noted or not self._host.exists(folder)]

    def forget(self, keys):
        """Drop the entries of values that were taken back."""
        for key in keys:
            self.entries.pop(key, None)
        self.save()

    def save(self):
        """Write the journal; without entries, remove the folders that this collection made, then the file."""
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
        if self.run:
            data["run"] = self.run
        self._host.write(self.path, json.dumps(data, indent=1, sort_keys=True) + "\n", mode=0o600)


def _entry(subject, knob, first):
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"subject": subject, "family": knob.family, "first": first, "ours": [], "since": since}


def _add_last(entry, value):
    """Make this the value that was set last; messages name it, and a failed restart on the way back sets it again."""
    entry["ours"] = [one for one in entry["ours"] if one != value] + [value]


def _remove_folder(host, folder):
    """Remove a folder if it is empty. False if that is refused: no write access, a read-only file system."""
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
