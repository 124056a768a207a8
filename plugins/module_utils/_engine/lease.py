# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease of a checkpoint: if nobody renews it, because the controller is gone for example, the host takes it back.

There is one guardian per tuning: a process outside of the module's session that sleeps until the lease ends. One file
in the checkpoint's folder has that time, so each call with the checkpoint renews the lease of all its tunings. A
guardian holds a lock on its own file while it lives. A reboot ends all guardians; the checkpoint stays. The guardian of
a probation is a service where systemd runs, and starts again after a reboot.
"""

import errno
import fcntl
import json
import os
import signal
import syslog
import time
from collections import namedtuple

from .._host import daemon
from .._host.drop_ins import temporaries
from .._host.host import HostError, refused
from .._host.kernel import boot_id
from .._host.lock import Lock
from .durations import LONGEST
from .places import CHECKPOINT, LEASE, PROBATION
from .service import PROGRAM, Service

READY_TIMEOUT_S = 20.0
# a service starts another Python, which takes a while in an emulated machine
SERVICE_TIMEOUT_S = 120.0
# a guardian checks its lease this often, in case it became shorter; a check takes a few 100 µs
LOOK_S = 15.0
BUSY_S = 1.0
RETRY_S = 15.0
_SUFFIX = ".guardian"
# a larger difference means that the host's clock was set after the lease was granted
_CLOCK_SET_S = 60
# verdicts of values that a guardian leaves alone, because it neither forces nor restarts
_LEFT = ("drifted", "pending_restart")

# The lease that a call requests: seconds from now (0 ends the lease), and take_back(due), with which the guardian takes
# back the tuning's part of the checkpoint. It takes the lock. If due() is then false, it does nothing and returns None;
# otherwise it returns the result of the run. program() returns the archive of a service that does the same.
Terms = namedtuple("Terms", "seconds take_back program")


class Lease:
    """The lease of one tuning's part of a checkpoint; folder: that of the checkpoint's journals.

    Call grant() and end() only under the tuning's lock.
    """

    def __init__(self, host, folder, name):
        self._host = host
        self._name = name
        self._folder = folder
        self._path = os.path.join(folder, LEASE)
        # the tunings of a checkpoint share one lease but no lock, so each writes its own file first and renames it
        self._own_path = os.path.join(folder, name + ".lease")
        self._guardian_path = os.path.join(folder, name + _SUFFIX)
        # the service of a probation, None for other checkpoints
        self._service = Service(host, folder, name) if os.path.basename(folder) == CHECKPOINT + PROBATION else None
        # the last sentence of the guardian, which tries again every few seconds
        self._said = ""

    def ends(self):
        """When the host itself takes the tuning back (UTC), or None if no guardian waits for that."""
        left = self._left() if self.guardian() else None
        if left is None:
            return None
        wall = time.time() + max(left, 0)
        granted = (self._load() or {"wall": wall})["wall"]
        return _stamp(granted if abs(wall - granted) < _CLOCK_SET_S else wall)

    def grant(self, terms):
        """Start or renew the lease for the seconds of the terms, with a guardian that waits for its end.

        Raises HostError if that fails.
        """
        if terms.seconds == 0:
            self.end()
            return
        wall = time.time() + terms.seconds
        ends = _stamp(wall)
        lease = {"until": time.monotonic() + terms.seconds, "ends": ends}
        # for a guardian that goes on after a reboot
        lease.update(boot=boot_id(self._host), wall=wall, seconds=terms.seconds)
        text = json.dumps(lease)
        self._host.write(self._own_path, text + "\n", mode=0o600)
        try:
            os.rename(self._host.path(self._own_path), self._host.path(self._path))
        except OSError as error:
            raise refused("cannot write %s" % self._path, error) from error
        if self.guardian():
            return
        try:
            if self._service is not None and self._service.usable():
                self._start(terms.program())
            else:
                daemon.spawn(lambda say_ready: self.watch(terms.take_back, say_ready), (), READY_TIMEOUT_S)
        except (HostError, OSError) as error:
            self.end()
            why = os.strerror(error.errno) if isinstance(error, OSError) else error
            raise HostError(
                "the process that would take the checkpoint back at %s could not be started: %s" % (ends, why)
            ) from error

    def _start(self, program):
        """Start the service and wait until its process watches the lease."""
        self._service.start(program)
        deadline = time.monotonic() + SERVICE_TIMEOUT_S
        while self.guardian() is None:
            self._service.check()
            if time.monotonic() > deadline:
                raise HostError("%s was not ready within %g s" % (self._service.unit, SERVICE_TIMEOUT_S))
            time.sleep(0.2)

    def end(self):
        """End this tuning's guardian; the lease ends with the checkpoint's last guardian."""
        if self._service is not None:
            self._service.end(own=self.guardian() == os.getpid())
        pid = self.guardian()
        if pid not in (None, os.getpid()):
            try:
                os.kill(pid, signal.SIGTERM)
            except OSError as error:
                if error.errno != errno.ESRCH:
                    raise refused("cannot end the guardian of the lease (process %d)" % pid, error) from error
        self._host.remove(self._guardian_path)
        # a guardian that was killed leaves its file until its own tuning is taken back; a service may just be starting
        if not self._host.glob(self._folder, "*" + _SUFFIX) and not self._host.glob(self._folder, "*" + PROGRAM):
            self._host.remove(self._path)

    def stands(self):
        """Whether a guardian lives, or will after the next boot."""
        return bool(self.guardian() or (self._service is not None and self._service.files()))

    def leftovers(self, stands):
        """Files that killed runs and guardians left behind; stands: whether the tuning's checkpoint still exists."""
        found = [self._own_path] if self._host.exists(self._own_path) else []
        found += temporaries(self._host, self._own_path)
        found += self._service.temporaries() if self._service is not None else []
        if not stands and not self.guardian():
            found += self._service.files() if self._service is not None else []
            found += [self._guardian_path] if self._host.exists(self._guardian_path) else []
            # nothing else is in the folder, which will be removed
            if set(self._host.listdir(self._folder)) <= {os.path.basename(path) for path in found} | {LEASE}:
                found += [self._path] if self._host.exists(self._path) else []
        return found

    def _load(self):
        """The lease as it was last granted, or None."""
        text = self._host.read(self._path)
        if text is None:
            return None
        try:
            lease = json.loads(text)
            numbers = {key: float(lease.get(key) or 0) for key in ("wall", "seconds")}
            return dict(numbers, until=float(lease["until"]), boot=lease.get("boot"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            # it is damaged: taking back is the safe choice
            return {"until": 0.0, "wall": 0.0, "boot": None}

    def guardian(self):
        """The process id of the living guardian, or None. Leaves no file behind."""
        try:
            descriptor = os.open(self._host.path(self._guardian_path), os.O_RDONLY)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise refused("cannot read %s" % self._guardian_path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = os.read(descriptor, 32).decode("ascii", "replace").strip()
            return int(text) if text.isdigit() else None
        finally:
            os.close(descriptor)
        return None

    # the guardian; it must not import anything, because the module's files are gone

    def watch(self, take_back, say_ready):
        """Wait for the end of the lease, then take back until that succeeds. say_ready({}) is called before."""
        # its descriptor was closed with the others, and another file may get its number
        syslog.closelog()
        os.umask(0o022)
        # another process that checks for a living guardian may hold the lock for a moment
        Lock(self._host, self._guardian_path).take("%d" % os.getpid(), READY_TIMEOUT_S / 2)
        say_ready({})
        while True:
            try:
                left = self._left()
                if left is None:
                    return
                if left > 0:
                    time.sleep(min(left, LOOK_S))
                    continue
                result = take_back(self._due)
            except HostError as error:
                busy = error.errno == errno.EAGAIN
                if not busy:
                    self._say(syslog.LOG_ERR, "could not be taken back: %s" % error)
                time.sleep(BUSY_S if busy else RETRY_S)
                continue
            if result is not None and not result["failed"]:
                left = [record["reason"] for record in result["tuning"] if record["verdict"] in _LEFT]
                if left:
                    self._say(
                        syslog.LOG_WARNING, "was not renewed and is taken back except for this: %s" % "; ".join(left)
                    )
                else:
                    self._say(syslog.LOG_NOTICE, "was not renewed and is taken back: %s" % result["msg"])
                return
            if result is not None:
                self._say(syslog.LOG_ERR, "could not be taken back: %s" % result["msg"])
                time.sleep(RETRY_S)

    def _left(self):
        """The seconds until the lease ends; None if it was ended."""
        lease = self._load()
        if lease is None:
            return None
        if lease["boot"] is None or lease["boot"] == boot_id(self._host):
            left = lease["until"] - time.monotonic()
        else:
            # after a reboot the clock decides; one that was set back does not prolong the lease
            left = min(lease["wall"] - time.time(), lease["seconds"] - time.monotonic())
        # a longer one, or one that is not a number, was never granted
        return left if left <= LONGEST else 0.0

    def _due(self):
        left = self._left()
        return left is not None and left <= 0

    def _say(self, level, text):
        if text == self._said:
            return
        self._said = text
        syslog.openlog("zpower_sap_tuning", syslog.LOG_PID)
        name = os.path.basename(self._folder)
        syslog.syslog(level, "the lease of %s of %s %s" % (name, self._name, text))
        syslog.closelog()


def _stamp(wall):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))
