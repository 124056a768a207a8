# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door to the machine: files below a root, atomic writes, and commands.

The rest of the collection names absolute paths (``/sys/class/net``). A Host maps them below its root, so that the same
code reads the machine itself, a captured tree, and the tree of a test.

As root, a Host reads and writes files in the folder of another user with the rights of that user: see identities.py.
"""

import contextlib
import errno
import fnmatch
import functools
import os
import stat
import subprocess
import tempfile
from collections import namedtuple

from . import commands, file_attributes, identities
from .descriptors import NO_FOLLOW
from .errors import HostError, refused

# Prefix of temporary files; the name of the file that they will replace follows. Other programs ignore such names.
TEMPORARY = ".zpower-"
# Larger than any file that this collection reads, so that a hostile file cannot fill the memory.
LARGEST = 64 * 1024 * 1024
_PIECE = 256 * 1024
_ATTEMPTS = 10
# no such file; a sysfs file of a device that disappears or has no such value; a process that ends while its files in
# /proc are read
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EINVAL, errno.EISDIR, errno.ESRCH)

# The exit code, standard output and standard error of a command.
Result = namedtuple("Result", "rc out err")


def as_owner(method):
    """Decorate a method of Host with one path: it runs with the rights that the path requires."""

    @functools.wraps(method)
    def work(self, path):
        owner = self.owner(path)
        return method(self, path) if owner is None else self.as_user(owner, work, path)

    return work


class Host:
    """The files of one machine, below root (default: the machine the code runs on).

    capture: what a capture in the place of a machine is, see _captures/host.py; None for others. missed: the absent
    paths that were asked for and that a capture could not hold.
    """

    capture = None
    missed = ()

    def __init__(self, root="/"):
        self.root = root

    def twin(self):
        """A Host for the same root that can be sent to another process."""
        return Host(self.root)

    def lacking(self, path):
        """A sentence why a capture cannot hold an absent path; empty if it could, and for a running machine."""
        return ""

    def path(self, path):
        """The path on this machine for an absolute path of the Host's machine."""
        return os.path.normpath(os.path.join(self.root, path.lstrip("/")))

    def way(self, path):
        """The Way to a path. The files of the kernel in /proc and /sys are always read and written as root."""
        if self.root == "/" and path.startswith(("/proc/", "/sys/")):
            return identities.Way(None, self.path(path), None)
        return identities.way(self.path(path), self.root)

    def owner(self, path):
        """The id of the user with whose rights to work on a path; None for the rights of this process."""
        return self.way(path).owner

    def work(self, path, act, *arguments, timeout=identities.TIMEOUT_S):
        """Call act(host, *arguments) with the rights that the path requires; act and its result: see Deputy.call()."""
        owner = self.owner(path)
        if owner is None:
            return act(self, *arguments)
        return self.as_user(owner, act, *arguments, timeout=timeout)

    def as_user(self, uid, act, *arguments, timeout=identities.TIMEOUT_S):
        """Call act(host, *arguments) with the rights of a user; act and its result: see Deputy.call()."""
        return identities.deputy(uid).call(timeout, act, self.twin(), *arguments)

    @as_owner
    def exists(self, path):
        return os.path.exists(self.path(path))

    def read(self, path):
        """The text of a file; None if it does not exist (or disappears, as the files of a device do)."""
        data = self.data(path)
        return None if data is None else data.decode("utf-8", "replace")

    def data(self, path, follow=True):
        """The bytes of a file; None if it does not exist. follow: False refuses a link in its place.

        Raises HostError if this is not a regular file, and never waits (FIFO); /dev/null is empty.
        """
        # the same lookup decides who reads and which file is read
        way = self.way(path)
        if way.owner is not None:
            return self.as_user(way.owner, Host.data, path, follow)
        try:
            return self._content(path, way.target if follow else self.path(path), follow)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            if error.errno == errno.ELOOP and not follow:
                raise HostError("%s is a link now and was not read: put the file itself there" % path) from error
            raise refused("cannot read %s" % path, error) from error

    @staticmethod
    def _content(path, target, follow):
        # way() has followed the links: a link that is there now was made since
        resolved = os.geteuid() == 0 and not target.startswith(("/proc/", "/sys/"))
        flags = os.O_RDONLY | os.O_NONBLOCK | (NO_FOLLOW if resolved or not follow else 0)
        descriptor = os.open(target, flags)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                return None
            if not stat.S_ISREG(found.st_mode):
                if found.st_rdev == os.stat(os.devnull).st_rdev:
                    return b""
                raise HostError("cannot read %s: it is not a regular file" % path)
            # in pieces: /proc/sys refuses one large read (ENOMEM)
            pieces, size = [], 0
            for piece in iter(lambda: os.read(descriptor, _PIECE), b""):
                pieces.append(piece)
                size += len(piece)
                if size > LARGEST:
                    raise HostError("cannot read %s: it is larger than %d MiB" % (path, LARGEST >> 20))
            return b"".join(pieces)
        finally:
            os.close(descriptor)

    @as_owner
    def real(self, path):
        """The path of the machine with all links followed."""
        found, root = os.path.realpath(self.path(path)), os.path.realpath(self.root)
        return found if root == "/" else "/" + os.path.relpath(found, root)

    @as_owner
    def target(self, path):
        """The text of a link; None if there is no link or it disappears. Links in the folders above it are followed."""
        folder, name = os.path.split(path)
        try:
            return os.readlink(os.path.join(self.path(folder), name))
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise refused("cannot read the link %s" % path, error) from error

    def value(self, path):
        """The stripped text of a one-value file of /proc or /sys, or None."""
        text = self.read(path)
        # lists of CPUs end with a NUL in kernels from 5.15 on (128 CPUs of hwloc's tests)
        return None if text is None else text.strip("\0 \t\r\n")

    @as_owner
    def size(self, path):
        """The size of a regular file in bytes; None if absent, or if not a regular file (reading that may block)."""
        try:
            found = os.stat(self.path(path))
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    @as_owner
    def changed(self, path):
        """When a file was last changed, in seconds since the epoch by the clock of its file system; None if absent.

        This is the ctime, which nobody can set.
        """
        try:
            return os.stat(self.path(path)).st_ctime
        except OSError:
            return None

    @as_owner
    def mode(self, path):
        """Type and permissions of a file as st_mode has them, with links followed; None if absent."""
        try:
            return os.stat(self.path(path)).st_mode
        except OSError:
            return None

    @as_owner
    def user_of(self, path):
        """The id of the user to whom a file or link belongs; None if absent."""
        try:
            return os.lstat(self.path(path)).st_uid
        except OSError:
            return None

    @as_owner
    def listdir(self, path):
        """The sorted names in a folder; empty if the folder is absent."""
        try:
            return sorted(os.listdir(self.path(path)))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENODEV):
                return []
            raise refused("cannot list %s" % path, error) from error

    def glob(self, folder, pattern):
        """The sorted absolute paths of the names in folder that match pattern."""
        return [os.path.join(folder, name) for name in self.listdir(folder) if fnmatch.fnmatchcase(name, pattern)]

    def put(self, path, value):
        """Write one value into an existing file of /proc or /sys with one write(2), as the kernel requires.

        Raises HostError with the kernel's errno; then the old value stays.
        """
        try:
            descriptor = os.open(self.path(path), os.O_WRONLY)
            try:
                os.write(descriptor, (value + "\n").encode("utf-8"))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refused("cannot write %s to %s" % (value, path), error) from error

    def write(self, path, text, mode=0o644):
        """Replace a file with this text; see replace()."""
        self.replace(path, text.encode("utf-8"), mode)

    def replace(self, path, data, mode=0o644, check=None):
        """Replace a file atomically and durably. It keeps owner, mode, access control list and SELinux context.

        If path is a link, the file that it leads to is replaced. check(path), if given, gets the path of the complete
        new file beside the old one, and raises HostError to keep the old one. In a folder of another user, call
        replace() with check through work().
        Raises HostError (disk full, read-only, no permission); then the old file is unchanged.
        """
        way = self.way(path)
        if way.owner is not None:
            return self.as_user(way.owner, Host.replace, path, data, mode, check)
        if way.loose is not None:
            raise HostError("cannot write %s: %s" % (path, identities.too_open(way.loose)), errno.EPERM)
        target = way.target if os.geteuid() == 0 else os.path.realpath(way.target)
        folder = os.path.dirname(target)
        temporary = None
        try:
            prefix = "%s%s." % (TEMPORARY, os.path.basename(target))
            descriptor, temporary = _in_folder(folder, lambda: tempfile.mkstemp(prefix=prefix, dir=folder))
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                file_attributes.copy(self, path, target, stream.fileno(), temporary, mode)
                os.fsync(stream.fileno())
            if check is not None:
                check(temporary)
            os.rename(temporary, target)
            temporary = None
            sync_folder(folder)
        except OSError as error:
            raise refused("cannot write %s" % path, error) from error
        finally:
            if temporary is not None:
                # if even that is refused, the next run removes it
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def link(self, path, to):
        """Make a link durably, in a folder of root. One that is there stays."""
        link = self.path(path)
        try:
            _in_folder(os.path.dirname(link), lambda: os.symlink(to, link))
            sync_folder(os.path.dirname(link))
        except OSError as error:
            if error.errno != errno.EEXIST:
                raise refused("cannot make the link %s" % path, error) from error

    @as_owner
    def remove(self, path):
        """Remove a file durably. It is not an error if the file is absent."""
        target = self.path(path)
        try:
            os.unlink(target)
            sync_folder(os.path.dirname(target))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise refused("cannot remove %s" % path, error) from error

    def run(self, argv, timeout=30, user=None, env=None, answers=""):
        """Run a command on this machine in the C locale, without a shell; returns a Result.

        user: run it with the ids, groups and home of this user. Of this environment, it gets only PATH and TZ; no login
        file is read. env: variables to add. answers: a few lines that the command may read; then its input ends.
        Raises HostError if the command or the user does not exist (ENOENT; also for a captured root), if the command
        takes too long (ETIMEDOUT) or prints too much (EFBIG), and if this process may not become the user (EPERM).
        """
        if self.root != "/":
            raise HostError("cannot run %s: %s is not the running machine" % (argv[0], self.root), errno.ENOENT)
        environment, become = dict(os.environ), None
        if user is not None:
            identity = identities.Identity.of_name(user)
            # other users do not get root's environment
            environment = identity.environment(os.environ)
            become = self._become(identity)
        folders = commands.folders_of(environment.get("PATH", ""))
        environment["PATH"] = os.pathsep.join(folders + list(commands.SYSTEM_FOLDERS))
        environment.update(env or {}, LC_ALL="C")
        try:
            process = commands.start(
                argv,
                become,
                stdin=subprocess.PIPE if answers else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise refused("cannot run %s" % argv[0], error) from error
        except subprocess.SubprocessError as error:
            raise HostError(
                "cannot run %s as %s: this process may not become another user" % (argv[0], user), errno.EPERM
            ) from error
        if answers:
            # a command that has ended reads none
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(answers.encode("utf-8"))
        out, err = (output.decode("utf-8", "replace") for output in commands.finish(process, timeout))
        return Result(process.returncode, out, err)

    @staticmethod
    def _become(identity):
        """The function with which the child becomes the user; None if this process is that user."""
        if os.geteuid() == identity.uid:
            return None
        if os.geteuid() != 0:
            raise HostError("only root can run commands as %s: run with become: true" % identity.name, errno.EPERM)
        return identity.take


def sync_folder(folder):
    """Write a rename or a removal in this folder to the disk, so that it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # AIX documents fsync only for files that are open for writing
        if error.errno not in (errno.EBADF, errno.EINVAL):
            raise
    finally:
        os.close(descriptor)


def _in_folder(folder, act):
    """What act() returns in a folder, made if absent; another tuning may make or remove it at the same time."""
    for _attempt in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            os.makedirs(folder, 0o755, exist_ok=True)
            return act()
    os.makedirs(folder, 0o755, exist_ok=True)
    return act()


class Once:
    """A Host whose files and folders are read only once, for many searches through the same ones."""

    def __init__(self, host):
        self._host = host
        for name in ("exists", "glob", "listdir", "read", "real", "size"):
            setattr(self, name, functools.lru_cache(maxsize=None)(getattr(host, name)))

    def __getattr__(self, name):
        return getattr(self._host, name)
