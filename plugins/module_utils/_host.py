# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door to the machine: files below a root, atomic writes, and commands.

Every path that the rest of the collection names is absolute (``/sys/class/net``); a Host maps it below its root, so
that the same code reads a captured tree, a test's tree and the machine itself.
"""

import errno
import fnmatch
import os
import stat
import subprocess
import tempfile
from collections import namedtuple

# What a command answered: its exit code, standard output and standard error.
Result = namedtuple("Result", "rc out err")


class HostError(Exception):
    """A request that the machine refused, as one sentence for the user; errno where the kernel gave one."""

    def __init__(self, message, number=None):
        super().__init__(message)
        self.errno = number


def refused(what, error):
    """The HostError for an OSError: what could not be done, and the system's own words for why."""
    return HostError("%s: %s" % (what, os.strerror(error.errno)), error.errno)


class Host:
    """The files of one machine, below root (default: the machine the code runs on)."""

    def __init__(self, root="/"):
        self.root = root

    def path(self, path):
        """The real path of an absolute path of the machine."""
        return os.path.normpath(os.path.join(self.root, path.lstrip("/")))

    def exists(self, path):
        return os.path.exists(self.path(path))

    def read(self, path):
        """The text of a file, or None where it does not exist (or vanishes, as devices do)."""
        try:
            with open(self.path(path), "rb") as stream:
                return stream.read().decode("utf-8", "replace")
        except OSError as error:
            # ENODEV and EINVAL: sysfs files of a device that is just going away or has no such value
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.EINVAL, errno.EISDIR):
                return None
            raise refused("cannot read %s" % path, error) from error

    def value(self, path):
        """The stripped text of a one-value file of /proc or /sys, or None."""
        text = self.read(path)
        return None if text is None else text.strip()

    def size(self, path):
        """The bytes of a regular file; None for what is no file, which may block whoever reads it, or not there."""
        try:
            found = os.stat(self.path(path))
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def listdir(self, path):
        """The sorted names in a folder; empty where there is none."""
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
        """Write one value into an existing file of /proc or /sys, with one write(2), as the kernel wants it.

        Raises HostError with the kernel's errno; the old value then stands.
        """
        try:
            descriptor = os.open(self.path(path), os.O_WRONLY)
            try:
                os.write(descriptor, (value + "\n").encode("ascii"))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refused("cannot write %s to %s" % (value, path), error) from error

    def write(self, path, text, mode=0o644):
        """Replace a file atomically and durably; an existing file keeps its owner and mode, a link its target.

        Raises HostError (disk full, read-only, no permission); the old file then stands untouched.
        """
        target = os.path.realpath(self.path(path))
        folder = os.path.dirname(target)
        temporary = None
        try:
            if not os.path.isdir(folder):
                os.makedirs(folder, 0o755)
            descriptor, temporary = tempfile.mkstemp(prefix=".zpower-", dir=folder)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(text.encode("utf-8"))
                stream.flush()
                try:
                    old = os.stat(target)
                    os.fchmod(stream.fileno(), stat.S_IMODE(old.st_mode))
                    os.fchown(stream.fileno(), old.st_uid, old.st_gid)
                except OSError as error:
                    if error.errno != errno.ENOENT:
                        raise
                    os.fchmod(stream.fileno(), mode)
                os.fsync(stream.fileno())
            os.rename(temporary, target)
            temporary = None
            sync_folder(folder)
        except OSError as error:
            raise refused("cannot write %s" % path, error) from error
        finally:
            if temporary is not None:
                os.unlink(temporary)

    def remove(self, path):
        """Remove a file durably; one that is gone already is no error."""
        target = self.path(path)
        try:
            os.unlink(target)
            sync_folder(os.path.dirname(target))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise refused("cannot remove %s" % path, error) from error

    def run(self, argv, timeout=30):
        """Run a command of this machine in the C locale, without a shell and without input; returns a Result.

        Raises HostError where it is not there (ENOENT; also below a captured root) or takes too long (ETIMEDOUT).
        """
        if self.root != "/":
            raise HostError("%s cannot run below %s, which is no running machine" % (argv[0], self.root), errno.ENOENT)
        environment = dict(os.environ, LC_ALL="C")
        environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
        try:
            # a Host knows no AnsibleModule, whose run_command() this is otherwise
            done = subprocess.run(  # pylint: disable=ansible-bad-function
                argv,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=timeout,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise HostError("%s gave no answer within %g s" % (argv[0], timeout), errno.ETIMEDOUT) from error
        except OSError as error:
            raise refused("cannot run %s" % argv[0], error) from error
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def sync_folder(folder):
    """Make a rename or a removal in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
