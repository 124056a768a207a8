# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose rights a piece of work gets: root works in root's folders, and in another user's folder as that user.

way() tells whose rights a path asks for. A Deputy is a child process that has become that user for good: user, group,
groups, and no file of root left open. It does what it is told until this process ends. The kernel lets no other process
of that user look into it, because a process that gave up root cannot be traced (ptrace(2), "dumpable").
"""

import contextlib
import errno
import json
import os
import pickle
import pwd
import select
import signal
import stat
import struct
import sys
import time
from collections import namedtuple

from .descriptors import keep_only
from .errors import HostError

# Users who are the system itself. On AIX /usr and /var belong to bin.
_SYSTEM = (0, 2, 3, 4) if sys.platform.startswith("aix") else (0,)
_SYSTEM_GROUPS = (0, 1, 2, 3, 4, 7) if sys.platform.startswith("aix") else (0,)
# As many as the kernel follows.
_LINKS = 40
# The group of a user whom this host does not know: one without rights.
_NOBODY = 65534
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
TIMEOUT_S = 60
# One that needs no further module: this user may not read where they lie.
_PICKLE = 4

# owner: the user id whose rights the path asks for, None for those of this process. target: the path without links.
# loose: a folder of root's on the way in which others may replace files, or None.
Way = namedtuple("Way", "owner target loose")


def way(path, top="/"):
    """The Way to a path below top. A process that is not root works with its own rights everywhere.

    The owner is the first user but root to whom a folder or a link on the way belongs: that user decides where the rest
    of it leads. The file at the end does not count: only root can put it into a folder of root's.
    """
    if os.geteuid() != 0:
        return Way(None, path, None)
    at, waiting, links, loose = top, os.path.relpath(path, top).split("/")[::-1], 0, None
    while waiting:
        name = waiting.pop()
        if name == "..":
            at = os.path.dirname(at)
        elif name not in ("", "."):
            here = os.path.join(at, name)
            try:
                found = os.lstat(here)
                target = os.readlink(here) if stat.S_ISLNK(found.st_mode) else None
            except OSError:
                # not there, or not to be seen: the work itself says so
                return Way(None, os.path.join(here, *waiting[::-1]), loose)
            if target is None and not stat.S_ISDIR(found.st_mode):
                return Way(None, os.path.join(here, *waiting[::-1]), loose)
            if found.st_uid not in _SYSTEM:
                return Way(found.st_uid, path, loose)
            if target is None:
                at, loose = here, loose or (here if _is_loose(found) else None)
            else:
                links += 1
                if links > _LINKS:
                    break
                at = "/" if target.startswith("/") else at
                waiting += target.split("/")[::-1]
    return Way(None, at, loose)


def _is_loose(found):
    """Whether others may replace what lies in this folder of root's. A sticky one (/tmp) keeps them from it."""
    mode = found.st_mode
    by_group = mode & stat.S_IWGRP and found.st_gid not in _SYSTEM_GROUPS
    return bool((by_group or mode & stat.S_IWOTH) and not mode & stat.S_ISVTX)


def owner_of_program(path):
    """Whose rights a program is to run with: a user id, or None for those of this process.

    Raises HostError where others than root may replace a program that would run as root.
    """
    if os.geteuid() != 0 or not os.path.isabs(path):
        return None
    found = way(path)
    if found.owner is not None:
        return found.owner
    try:
        file = os.stat(found.target)
    except OSError:
        return None
    if file.st_uid not in _SYSTEM:
        return file.st_uid
    loose = found.loose or (found.target if _is_loose(file) else None)
    if loose is not None:
        raise HostError("%s does not run as root: %s" % (path, too_open(loose)), errno.EPERM)
    return None


def too_open(loose):
    """The sentence for a folder or program of root's that others may write to."""
    return (
        "%s belongs to root, but others may write there: take that right away (chmod go-w), or give it to the user who "
        "works there (chown)" % loose
    )


class Identity(namedtuple("Identity", "name uid gid groups home")):
    """A user of this host with all the rights that the system gives to a login of that user."""

    @classmethod
    def of_uid(cls, uid):
        """The Identity of a user id. One that has no entry in passwd has no group either."""
        try:
            return cls._of(pwd.getpwuid(uid))
        except KeyError:
            return cls("user id %d" % uid, uid, _NOBODY, (), "/")

    @classmethod
    def of_name(cls, name):
        """The Identity of a user name. Raises HostError where there is none."""
        try:
            return cls._of(pwd.getpwnam(name))
        except KeyError as error:
            raise HostError("there is no user %s on this host" % name, errno.ENOENT) from error

    @classmethod
    def _of(cls, entry):
        groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return cls(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)

    def take(self):
        """Become this user for good: real, effective and saved ids, and all groups. Raises OSError."""
        os.setgroups(self.groups)
        os.setgid(self.gid)
        os.setuid(self.uid)

    def environment(self, base):
        """What of root's environment the user may have, and the user's own variables."""
        kept = {name: base[name] for name in ("PATH", "TZ") if name in base}
        if self.home:
            kept.update(HOME=self.home, USER=self.name, LOGNAME=self.name)
        return kept


def uid_of(name):
    """The id of a user, or None if there is none of this name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


class Deputy:
    """A child process that works as another user. Raises HostError where this process may not become that user."""

    def __init__(self, identity):
        self._identity = identity
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._serve(requests, answers)
            finally:
                os._exit(0)
        os.close(requests)
        os.close(answers)
        self.call(TIMEOUT_S, os.getuid)

    def call(self, timeout, act, *arguments):
        """What act(*arguments) returns there: None, a bool, a number, text, bytes, or a list of them.

        act is a function of a module that was imported before. Raises its HostError, and HostError (ETIMEDOUT) where it
        takes longer than timeout seconds, as on a file server that does not answer.
        """
        try:
            _send(self._requests, pickle.dumps((act, arguments), _PICKLE))
            answer = json.loads(_receive(self._answers, time.monotonic() + timeout).decode("ascii"))
        except TimeoutError as error:
            self.end()
            raise HostError(
                "the work as %s was not done within %d s" % (self._identity.name, timeout), errno.ETIMEDOUT
            ) from error
        except (EOFError, OSError) as error:
            self.end()
            raise HostError("the process that worked as %s ended" % self._identity.name, errno.ECHILD) from error
        if "refused" in answer:
            message, number = answer["refused"]
            if number == errno.EACCES:
                message += " (as %s, to whom the folder belongs)" % self._identity.name
            raise HostError(message, number)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return bytes.fromhex(answer["bytes"]) if "bytes" in answer else answer["value"]

    def end(self):
        """End the process, whatever it does."""
        _deputies.pop((os.getpid(), self._identity.uid), None)
        for descriptor in (self._requests, self._answers):
            os.close(descriptor)
        # it may be gone, and one that hangs in the kernel is left to init
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, os.WNOHANG)

    def _serve(self, requests, answers):
        # what has begun is brought to its end, whatever ends the session
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        keep_only({requests, answers})
        os.chdir("/")
        refusal = None
        try:
            self._identity.take()
        except OSError as error:
            refusal = self._refusal(error)
        while True:
            try:
                request = _receive(requests, None)
            except EOFError:
                return
            _send(answers, json.dumps(refusal or _answer(request)).encode("ascii"))

    def _refusal(self, error):
        name, why = self._identity.name, os.strerror(error.errno)
        sentence = (
            "the folder belongs to %s, and this process may not work as %s (%s): run as %s, or as root outside of "
        )
        sentence += "a container that takes away root's rights"
        return {"refused": [sentence % (name, name, why, name), error.errno]}


def _answer(request):
    try:
        act, arguments = pickle.loads(request)
        value = act(*arguments)
    except HostError as error:
        return {"refused": [str(error), error.errno]}
    except Exception as error:
        return {"failed": "%s: %s (%s)" % (type(error).__name__, error, _where(error.__traceback__))}
    return {"bytes": value.hex()} if isinstance(value, bytes) else {"value": value}


def _where(trace):
    """The places that an exception came through. The module traceback imports others, which this user may not read."""
    places = []
    while trace is not None:
        places.append("%s:%d" % (trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return " > ".join(places)


def _send(descriptor, data):
    data = memoryview(struct.pack("!Q", len(data)) + data)
    while data:
        data = data[os.write(descriptor, data) :]


def _receive(descriptor, until):
    return _exactly(descriptor, struct.unpack("!Q", _exactly(descriptor, 8, until))[0], until)


def _exactly(descriptor, size, until):
    pieces = []
    while size:
        if until is not None and not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
            raise TimeoutError
        piece = os.read(descriptor, min(size, 1 << 20))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


_deputies = {}


def deputy(uid):
    """The Deputy of this process for a user id."""
    # a child of this process has no part in its pipes
    key = (os.getpid(), uid)
    if key not in _deputies:
        _deputies[key] = Deputy(Identity.of_uid(uid))
    return _deputies[key]
