# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root works as root in root's folders, and as the owner in a folder of another user.

way() says which user's rights a path requires. A Deputy is a child process that has permanently become that user (user,
group, groups) and holds no open file of root. It works until this process ends. Other processes of that user cannot
look into it, because the kernel does not let them trace a process that gave up root (ptrace(2), "dumpable").
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

from . import access_lists, daemon
from .errors import HostError

# Users and groups that belong to the system. On AIX, /usr and /var belong to bin.
_SYSTEM = (0, 2, 3, 4) if sys.platform.startswith("aix") else (0,)
_SYSTEM_GROUPS = (0, 2, 3, 4, 7) if sys.platform.startswith("aix") else (0,)
# The kernel follows the same number of links.
_LINKS = 40
# A group without rights, for a user without an entry in passwd.
_NOBODY = 65534
TIMEOUT_S = 60
# More than the largest file, in hexadecimal digits.
_MOST_ANSWER = 160 * 1024 * 1024
# This protocol needs no further module, whose file the user may not be allowed to read.
_PICKLE = 4

# owner: the id of the user whose rights the path requires; None for the rights of this process. target: the path with
# all links followed. loose: a folder of root on the way in which others may replace files, or None.
Way = namedtuple("Way", "owner target loose")


def way(path, top="/"):
    """The Way to a path below top. A process that is not root always works with its own rights.

    The owner is the first user except root who owns a folder or a link on the way: this user decides where the rest of
    the path leads. The owner of the file itself does not matter: only root can put it into a folder of root.
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
                # absent or not accessible: the work itself reports it
                return Way(None, os.path.join(here, *waiting[::-1]), loose)
            if target is None and not stat.S_ISDIR(found.st_mode):
                return Way(None, os.path.join(here, *waiting[::-1]), loose)
            if found.st_uid not in _SYSTEM:
                return Way(found.st_uid, path, loose)
            if target is None:
                at, loose = here, loose or (here if _is_loose(here, found) else None)
            else:
                links += 1
                if links > _LINKS:
                    break
                at = "/" if target.startswith("/") else at
                waiting += target.split("/")[::-1]
    return Way(None, at, loose)


def _is_loose(path, found):
    """Whether others may write to this program of root, or replace files in this folder of root.

    The sticky bit of a folder (/tmp) prevents the latter. path: without links.
    """
    mode = found.st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_ISVTX:
        return False
    by_group = mode & stat.S_IWGRP and found.st_gid not in _SYSTEM_GROUPS
    return bool(by_group or mode & stat.S_IWOTH or access_lists.lets_others_write(path, mode, _SYSTEM, _SYSTEM_GROUPS))


def owner_of_program(path):
    """The id of the user with whose rights a program is to run; None for the rights of this process.

    Raises HostError if the program would run as root and users other than root may replace it.
    """
    if os.geteuid() != 0 or not os.path.isabs(path):
        return None
    found = way(path)
    if found.owner is not None:
        return found.owner
    loose = found.loose
    with contextlib.suppress(OSError):
        file = os.stat(found.target)
        if file.st_uid not in _SYSTEM:
            return file.st_uid
        loose = loose or (found.target if _is_loose(found.target, file) else None)
    if loose is not None:
        raise HostError("%s does not run as root: %s" % (path, too_open(loose)), errno.EPERM)
    return None


def too_open(loose):
    """The message for a folder or program of root to which others may write."""
    return (
        "%s belongs to root, but others may write to it: remove their write permission (chmod go-w; setfacl -b for an "
        "access list), or give it to the user who works there (chown)" % loose
    )


class Identity(namedtuple("Identity", "name uid gid groups home")):
    """A user of this host with the rights that a login gives."""

    @classmethod
    def of_uid(cls, uid):
        """The Identity of a user id. Without an entry in passwd, it has no groups."""
        try:
            return cls._of(pwd.getpwuid(uid))
        except KeyError:
            return cls("user id %d" % uid, uid, _NOBODY, (), "/")

    @classmethod
    def of_name(cls, name):
        """The Identity of a user name. Raises HostError if there is no such user."""
        try:
            return cls._of(pwd.getpwnam(name))
        except KeyError as error:
            raise HostError("there is no user %s on this host" % name, errno.ENOENT) from error

    @classmethod
    def _of(cls, entry):
        groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return cls(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir)

    def take(self):
        """Become this user permanently: real, effective and saved ids, and all groups. Raises OSError."""
        os.setgroups(self.groups)
        os.setgid(self.gid)
        os.setuid(self.uid)

    def environment(self, base):
        """The variables that the user gets: PATH and TZ of base, and the user's own."""
        kept = {name: base[name] for name in ("PATH", "TZ") if name in base}
        if self.home:
            kept.update(HOME=self.home, USER=self.name, LOGNAME=self.name)
        return kept


def uid_of(name):
    """The id of a user; None if there is no user of this name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):  # no name has a zero byte
        return None


class Deputy:
    """A child process that works as another user. Raises HostError if this process may not become that user."""

    def __init__(self, identity):
        self._identity = identity
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        # the user may stop the process, which then reads nothing
        os.set_blocking(self._requests, False)
        self.pid = daemon.fork(self._serve, requests, answers)
        os.close(requests)
        os.close(answers)
        self.call(TIMEOUT_S, os.getuid)

    def call(self, timeout, act, *arguments):
        """Call act(*arguments) there and return its result: None, a bool, a number, text, bytes, or a list of them.

        act is a function of a module that was imported before the fork. Raises the HostError of act, and HostError
        (ETIMEDOUT) if act takes longer than timeout seconds, for example because a file server does not answer.
        """
        until = time.monotonic() + timeout
        try:
            _send(self._requests, pickle.dumps((act, arguments), _PICKLE), until)
            answer = json.loads(_receive(self._answers, until).decode("ascii"))
            message, number = answer.get("refused") or (None, None)
            value = bytes.fromhex(answer["bytes"]) if "bytes" in answer else answer.get("value")
        except TimeoutError as error:
            self.end()
            raise HostError(
                "the work as %s was not finished within %d s" % (self._identity.name, timeout), errno.ETIMEDOUT
            ) from error
        except (EOFError, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            # also if its user got hold of it, and it answers what no deputy answers
            self.end()
            raise HostError("the process that worked as %s ended" % self._identity.name, errno.ECHILD) from error
        if message is not None:
            if number == errno.EACCES:
                message += " (as %s, the owner of the folder)" % self._identity.name
            raise HostError(message, number)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return value

    def end(self):
        """Kill the process."""
        _deputies.pop((os.getpid(), self._identity.uid), None)
        for descriptor in (self._requests, self._answers):
            os.close(descriptor)
        # it may have ended; init collects one that hangs in the kernel
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, os.WNOHANG)

    def _serve(self, requests, answers):
        # so that the end of the session does not interrupt work in progress, and the user has no part in its terminal
        daemon.stand_apart({requests, answers})
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
            _send(answers, json.dumps(refusal or _answer(request)).encode("ascii"), None)

    def _refusal(self, error):
        name, why = self._identity.name, os.strerror(error.errno)
        sentence = (
            "the folder belongs to %s, and this process may not work as %s (%s): run as %s, or as root outside of a "
            "container that restricts root"
        )
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
    """The lines that an exception passed. The module traceback would import modules that this user may not read."""
    places = []
    while trace is not None:
        places.append("%s:%d" % (trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return " > ".join(places)


def _send(descriptor, data, until):
    data = memoryview(struct.pack("!Q", len(data)) + data)
    while data:
        if until is not None and not select.select([], [descriptor], [], max(0.0, until - time.monotonic()))[1]:
            raise TimeoutError
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:
            time.sleep(0.01)  # AIX: less room than one write of this size needs


def _receive(descriptor, until):
    size = struct.unpack("!Q", _exactly(descriptor, 8, until))[0]
    if size > _MOST_ANSWER:
        raise EOFError
    return _exactly(descriptor, size, until)


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
    # a child of this process must not use its pipes
    key = (os.getpid(), uid)
    if key not in _deputies:
        _deputies[key] = Deputy(Identity.of_uid(uid))
    return _deputies[key]
