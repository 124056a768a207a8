# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: the first value each knob had before this collection touched it, kept on the target.

One file a tuning below /var/lib/zpower_sap_tuning (AIX: /var/adm/zpower_sap_tuning), folder 0700, file 0600. It is
written before the first change, so that a run killed at any moment leaves enough behind to go back.
"""

import errno
import json
import os
import platform
import time

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import HostError, refused
from ansible_collections.zpower.sap_tuning.plugins.module_utils._lock import Busy, Lock

SCHEMA = "zpower.sap_tuning/journal/1"


def folder_of(system):
    """Where the journal lies on this operating system (as platform.system() names it)."""
    return "/var/adm/zpower_sap_tuning" if system == "AIX" else "/var/lib/zpower_sap_tuning"


class Journal:
    """First values and what was set over them, by the key of the knob.

    An entry has subject and family (of the Knob), first (the value found, None where absent), ours (what was set over
    it) and since (UTC). ``ours`` holds every value this collection has set or was about to set: a run killed between
    the journal and the write must not look as if someone else had changed the knob.
    """

    def __init__(self, host, name, folder=None):
        self._host = host
        self._folder = folder or folder_of(platform.system())
        self.path = os.path.join(self._folder, name + ".json")
        self._lock_path = os.path.join(self._folder, name + ".lock")
        self._lock = Lock(host, self._lock_path)
        self.entries = self._load(name)

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

        Raises HostError when another run holds the lock, and where the folder cannot be made.
        """
        while True:
            try:
                self._make_folder()
                self._lock.take("process %d" % os.getpid())
                break
            except Busy as error:
                raise HostError(
                    "another run%s is changing this tuning now (it holds %s); nothing was changed, run again when it "
                    "is done" % (" (%s)" % error.owner if error.owner else "", self._lock_path),
                    errno.EAGAIN,
                ) from error
            except HostError as error:
                # a run that has just ended may have removed the folder
                if error.errno != errno.ENOENT or self._host.exists(self._folder):
                    raise HostError("nothing was changed: %s" % error, error.errno) from error
        # another run may have ended between the first look and the lock
        self.entries = self._load(os.path.basename(self.path)[: -len(".json")])

    def _make_folder(self):
        folder = self._host.path(self._folder)
        try:
            if not os.path.isdir(folder):
                os.makedirs(folder, 0o700)
        except OSError as error:
            raise refused("cannot keep a journal in %s" % self._folder, error) from error

    def close(self):
        """Let the next run in; an empty journal leaves no file behind."""
        if not self._lock.held:
            return
        self._lock.release(keep=bool(self.entries))
        if not self.entries:
            try:
                os.rmdir(self._host.path(self._folder))
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.EROFS, errno.EACCES):
                    raise refused("cannot remove %s" % self._folder, error) from error

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
        name = os.path.basename(self.path)[: -len(".json")]
        data = {"schema": SCHEMA, "tuning": name, "knobs": self.entries}
        self._host.write(self.path, json.dumps(data, indent=1, sort_keys=True) + "\n", mode=0o600)
