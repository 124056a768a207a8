# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: the first value each knob had before this collection touched it, kept on the target.

One file a tuning below /var/lib/zpower_sap_tuning (AIX: /var/adm/zpower_sap_tuning), folder 0700, file 0600. It is
written before the first change, so that a run killed at any moment leaves enough behind to go back.

A checkpoint is a second journal, in the folder checkpoint-<name> below: what stood when it began, for a while that is
taken back as a whole. The journal itself knows nothing of it.
"""

import errno
import json
import os
import platform
import re
import time

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import HostError, refused
from ansible_collections.zpower.sap_tuning.plugins.module_utils._lease import Lease
from ansible_collections.zpower.sap_tuning.plugins.module_utils._lock import Busy, Lock
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tuning import InputError

SCHEMA = "zpower.sap_tuning/journal/1"
_CHECKPOINT = "checkpoint-"
_CHECKPOINT_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# of a folder that cannot be removed: something lies in it, or somebody else was faster
_LEFT = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.EROFS, errno.EACCES)


def folder_of(system):
    """Where the journal lies on this operating system (as platform.system() names it)."""
    return "/var/adm/zpower_sap_tuning" if system == "AIX" else "/var/lib/zpower_sap_tuning"


class Journal:
    """First values and what was set over them, by the key of the knob.

    An entry has subject and family (of the Knob), first (the value found, None where absent), ours (what was set over
    it) and since (UTC). ``ours`` holds every value this collection has set or was about to set: a run killed between
    the journal and the write must not look as if someone else had changed the knob.

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
        self.entries = self._load(name)

    def checkpoints(self):
        """The journals of this tuning's checkpoints that are not taken back yet, the newest first."""
        found = []
        for folder in self._host.glob(self._base, _CHECKPOINT + "*"):
            checkpoint = os.path.basename(folder)[len(_CHECKPOINT) :]
            if _CHECKPOINT_NAME.match(checkpoint) and self._host.exists(os.path.join(folder, self.name + ".json")):
                found.append(Journal(self._host, self.name, self._base, checkpoint))
        return sorted(found, key=lambda journal: journal.since(), reverse=True)

    def in_the_way(self):
        """Why nothing may be set with this journal now, a sentence; empty where no other checkpoint stands."""
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
        """When the oldest entry was made (UTC); empty where there is none."""
        return min((str(entry.get("since", "")) for entry in self.entries.values()), default="")

    def _load(self, name):
        text = self._host.read(self.path)
        if text is None:
            return {}
        try:
            data = json.loads(text)
            if data["schema"] != SCHEMA or data["tuning"] != name:
                raise ValueError("schema %r of tuning %r" % (data["schema"], data["tuning"]))
            for entry in data["knobs"].values():
                if not isinstance(entry["ours"], list) or not {"subject", "family", "first"} <= set(entry):
                    raise ValueError("an entry without subject, family, first value or set values")
            return data["knobs"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HostError(
                "the journal %s cannot be understood (%s): it holds the values to go back to, so nothing was changed; "
                "bring it back from a backup, or move it away to start anew from today's values" % (self.path, error)
            ) from error

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
        self.entries = self._load(self.name)

    def _make_folder(self, path):
        folder = self._host.path(path)
        try:
            if not os.path.isdir(folder):
                os.makedirs(folder, 0o700)
        except OSError as error:
            raise refused("cannot keep a journal in %s" % path, error) from error

    def close(self):
        """Let the next run in; empty journals leave no file behind."""
        if not self._lock.held:
            return
        checkpoints = self._host.glob(self._base, _CHECKPOINT + "*")
        journals = [os.path.join(folder, self.name + ".json") for folder in [self._base] + checkpoints]
        self._lock.release(keep=any(self._host.exists(path) for path in journals))
        for folder in checkpoints + [self._base]:
            try:
                os.rmdir(self._host.path(folder))
            except OSError as error:
                if error.errno not in _LEFT:
                    raise refused("cannot remove %s" % folder, error) from error

    def intend(self, changes):
        """Note what is about to be set: changes is [(subject name, Knob)]. Durable on return.

        Raises HostError where it cannot be written (disk full): then nothing may be changed.
        """
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for subject, knob in changes:
            fresh = {"subject": subject, "family": knob.family, "first": knob.now, "ours": [], "since": since}
            entry = self.entries.setdefault(knob.key, fresh)
            if knob.wanted not in entry["ours"]:
                entry["ours"].append(knob.wanted)
        try:
            self._make_folder(self.folder)
            self._save()
        except HostError as error:
            raise HostError(
                "nothing was changed: the journal could not be written (%s)" % error, error.errno
            ) from error

    def forget(self, keys):
        """Drop what was taken back."""
        for key in keys:
            self.entries.pop(key, None)
        self._save()

    def _save(self):
        if not self.entries:
            self._host.remove(self.path)
            return
        data = {"schema": SCHEMA, "tuning": self.name, "knobs": self.entries}
        self._host.write(self.path, json.dumps(data, indent=1, sort_keys=True) + "\n", mode=0o600)
