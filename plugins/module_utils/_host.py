# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door to the machine: files below a root, atomic writes, and commands.

Every path that the rest of the collection names is absolute (``/sys/class/net``); a Host maps it below its root, so
that the same code reads a captured tree, a test's tree and the machine itself.
"""

import errno
import fnmatch
import os
import pwd
import stat
import subprocess
import tempfile
from collections import namedtuple

# Files on their way to their place begin so; no program takes them for its own.
TEMPORARY = ".zpower-"

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
        data = self.data(path)
        return None if data is None else data.decode("utf-8", "replace")

    def data(self, path):
        """The bytes of a file, or None where it does not exist."""
        try:
            with open(self.path(path), "rb") as stream:
                return stream.read()
        except OSError as error:
            # ENODEV and EINVAL: sysfs files of a device that is just going away or has no such value; ESRCH: a process
            # that ends while its files in /proc are read
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.EINVAL, errno.EISDIR, errno.ESRCH):
                return None
            raise refused("cannot read %s" % path, error) from error

    def real(self, path):
        """The path with all links followed, as the machine names it."""
        found, root = os.path.realpath(self.path(path)), os.path.realpath(self.root)
        return found if root == "/" else "/" + os.path.relpath(found, root)

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

    def changed(self, path):
        """When a file was last changed, in seconds since the epoch by the clock of its file system; None if absent.

        This is the ctime, which nobody can set.
        """
        try:
            return os.stat(self.path(path)).st_ctime
        except OSError:
            return None

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
        """Replace a file by this text, as replace() does."""
        self.replace(path, text.encode("utf-8"), mode)

    def replace(self, path, data, mode=0o644, check=None):
        """Replace a file atomically and durably; an existing one keeps owner, mode and attributes, a link its target.

        Attributes are access control lists and the SELinux context. check(path) is called with the new file, complete
        and beside the old one, and raises HostError where it must not take its place.
        Raises HostError (disk full, read-only, no permission); the old file then stands untouched.
        """
        target = os.path.realpath(self.path(path))
        folder = os.path.dirname(target)
        temporary = None
        try:
            if not os.path.isdir(folder):
                os.makedirs(folder, 0o755)
            descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                try:
                    old = os.stat(target)
                    os.fchown(stream.fileno(), old.st_uid, old.st_gid)
                    os.fchmod(stream.fileno(), stat.S_IMODE(old.st_mode))
                    self._keep_attributes(target, temporary)
                except OSError as error:
                    if error.errno != errno.ENOENT:
                        raise
                    os.fchmod(stream.fileno(), mode)
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
                os.unlink(temporary)

    def _keep_attributes(self, old, new):
        """Give the new file the access control list and the SELinux context of the old one."""
        if not hasattr(os, "listxattr"):
            self._keep_aix_list(old, new)
            return
        try:
            names = os.listxattr(old)
        except OSError as error:
            # a file system without attributes
            if error.errno == errno.ENOTSUP:
                return
            raise
        for name in names:
            if name.startswith(("system.", "user.")) or name == "security.selinux":
                os.setxattr(new, name, os.getxattr(old, name))

    def _keep_aix_list(self, old, new):
        """The same with the programs of AIX, where Python has no calls for it."""
        with tempfile.NamedTemporaryFile(prefix="zpower-") as kept:
            for argv in (["aclget", "-o", kept.name, old], ["aclput", "-i", kept.name, new]):
                try:
                    done = self.run(argv)
                except HostError as error:
                    raise OSError(error.errno or errno.EIO, str(error)) from error
                if done.rc != 0:
                    raise OSError(errno.EIO, done.err)

    def remove(self, path):
        """Remove a file durably; one that is gone already is no error."""
        target = self.path(path)
        try:
            os.unlink(target)
            sync_folder(os.path.dirname(target))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise refused("cannot remove %s" % path, error) from error

    def run(self, argv, timeout=30, user=None, env=None):
        """Run a command of this machine in the C locale, without a shell and without input; returns a Result.

        user: run it with the ids, groups and home of this user, and no more of this environment than PATH and TZ; no
        login file is read. env: variables to add.
        Raises HostError where the command or the user is not there (ENOENT; also below a captured root), where it takes
        too long (ETIMEDOUT), and where this process may not become the user (EPERM).
        """
        if self.root != "/":
            raise HostError("%s cannot run below %s, which is no running machine" % (argv[0], self.root), errno.ENOENT)
        # what root has in its environment is none of another user's business
        kept = os.environ if user is None else {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ}
        environment = dict(kept, LC_ALL="C")
        environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
        become = None
        if user is not None:
            become = self._become(user, environment)
        environment.update(env or {})
        try:
            # a Host knows no AnsibleModule, whose run_command() this is otherwise
            done = subprocess.run(  # pylint: disable=ansible-bad-function,subprocess-popen-preexec-fn
                argv,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=timeout,
                env=environment,
                # what a folder of root's is no other user may stand in
                cwd=None if become is None else "/",
                preexec_fn=become,
            )
        except subprocess.TimeoutExpired as error:
            raise HostError("%s gave no answer within %g s" % (argv[0], timeout), errno.ETIMEDOUT) from error
        except OSError as error:
            raise refused("cannot run %s" % argv[0], error) from error
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    @staticmethod
    def _become(user, environment):
        """What the child does to become the user, None where it is already; sets the user's own variables."""
        try:
            entry = pwd.getpwnam(user)
        except KeyError as error:
            raise HostError("there is no user %s on this host" % user, errno.ENOENT) from error
        environment.update(HOME=entry.pw_dir, USER=user, LOGNAME=user)
        if os.geteuid() == entry.pw_uid:
            return None
        if os.geteuid() != 0:
            raise HostError("only root can run commands as %s: run with become: true" % user, errno.EPERM)

        def become():
            os.initgroups(user, entry.pw_gid)
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)

        return become


def sync_folder(folder):
    """Make a rename or a removal in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # AIX takes fsync only for files that are open for writing, as its documentation has it
        if error.errno not in (errno.EBADF, errno.EINVAL):
            raise
    finally:
        os.close(descriptor)
