# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door to the machine: files below a root, atomic writes, and commands.

Every path that the rest of the collection names is absolute (``/sys/class/net``); a Host maps it below its root, so
that the same code reads a captured tree, a test's tree and the machine itself.

As root, what lies in another user's folder is read and written with the rights of that user: see identities.py.
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

from . import identities
from .descriptors import NO_FOLLOW
from .errors import HostError, refused

# Files on their way to their place begin so, then comes the name of that place; no program takes them for its own.
TEMPORARY = ".zpower-"
# More than any file that this collection reads; a hostile one must not fill the memory.
LARGEST = 64 * 1024 * 1024
_PIECE = 256 * 1024
# no such file; sysfs files of a device that is just going away or has no such value; a process that ends while its
# files in /proc are read
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.EINVAL, errno.EISDIR, errno.ESRCH)

# What a command answered: its exit code, standard output and standard error.
Result = namedtuple("Result", "rc out err")


def as_owner(method):
    """A method of Host on one path, done with the rights of the user to whom the way to the path belongs."""

    @functools.wraps(method)
    def work(self, path, *arguments, **options):
        owner = self.owner(path)
        if owner is None:
            return method(self, path, *arguments, **options)
        return identities.deputy(owner).call(
            identities.TIMEOUT_S, functools.partial(work, self.twin(), path, *arguments, **options)
        )

    return work


class Host:
    """The files of one machine, below root (default: the machine the code runs on)."""

    def __init__(self, root="/"):
        self.root = root

    def twin(self):
        """A Host of the same files, with nothing but them."""
        return Host(self.root)

    def path(self, path):
        """The real path of an absolute path of the machine."""
        return os.path.normpath(os.path.join(self.root, path.lstrip("/")))

    def way(self, path):
        """The Way to a path. What the kernel itself shows in /proc and /sys is always root's work."""
        if self.root == "/" and path.startswith(("/proc/", "/sys/")):
            return identities.Way(None, self.path(path), None)
        return identities.way(self.path(path), self.root)

    def owner(self, path):
        """The user id whose rights a path asks for; None for those of this process."""
        return self.way(path).owner

    def work(self, path, act, *arguments, timeout=identities.TIMEOUT_S):
        """act(host, *arguments) with the rights that the path asks for; act and its answer as for Deputy.call()."""
        owner = self.owner(path)
        if owner is None:
            return act(self, *arguments)
        return identities.deputy(owner).call(timeout, act, self.twin(), *arguments)

    @as_owner
    def exists(self, path):
        return os.path.exists(self.path(path))

    def read(self, path):
        """The text of a file, or None if it does not exist (or vanishes, as devices do)."""
        data = self.data(path)
        return None if data is None else data.decode("utf-8", "replace")

    @as_owner
    def data(self, path, follow=True):
        """The bytes of a file, or None if it does not exist. follow: False refuses a link in its place.

        Raises HostError for what is no regular file, and never waits for one (FIFO); /dev/null is empty.
        """
        try:
            return self._content(path, follow)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            if error.errno == errno.ELOOP and not follow:
                raise HostError("%s is a link now, and is left alone: put the file itself there" % path) from error
            raise refused("cannot read %s" % path, error) from error

    def _content(self, path, follow):
        target = self.way(path).target if follow else self.path(path)
        # a link is followed by way(): one that comes to lie there now is none that was looked at
        looked_at = os.geteuid() == 0 and not target.startswith(("/proc/", "/sys/"))
        flags = os.O_RDONLY | os.O_NONBLOCK | (NO_FOLLOW if looked_at or not follow else 0)
        descriptor = os.open(target, flags)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                return None
            if not stat.S_ISREG(found.st_mode):
                if found.st_rdev == os.stat(os.devnull).st_rdev:
                    return b""
                raise HostError("cannot read %s: it is no regular file" % path)
            return self._pieces(path, descriptor)
        finally:
            os.close(descriptor)

    @staticmethod
    def _pieces(path, descriptor):
        # in pieces: /proc/sys refuses one large read (ENOMEM)
        pieces, size = [], 0
        for piece in iter(lambda: os.read(descriptor, _PIECE), b""):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST:
                raise HostError("cannot read %s: it is larger than %d MiB" % (path, LARGEST >> 20))
        return b"".join(pieces)

    @as_owner
    def real(self, path):
        """The path with all links followed, as the machine names it."""
        found, root = os.path.realpath(self.path(path)), os.path.realpath(self.root)
        return found if root == "/" else "/" + os.path.relpath(found, root)

    def value(self, path):
        """The stripped text of a one-value file of /proc or /sys, or None."""
        text = self.read(path)
        return None if text is None else text.strip()

    @as_owner
    def size(self, path):
        """The bytes of a regular file; None for what is no file, which may block whoever reads it, or not there."""
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
    def listdir(self, path):
        """The sorted names in a folder; empty if there is none."""
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
                os.write(descriptor, (value + "\n").encode("utf-8"))
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refused("cannot write %s to %s" % (value, path), error) from error

    def write(self, path, text, mode=0o644):
        """Replace a file by this text, as replace() does."""
        self.replace(path, text.encode("utf-8"), mode)

    @as_owner
    def replace(self, path, data, mode=0o644, check=None):
        """Replace a file atomically and durably; an existing one keeps owner, mode and attributes, a link its target.

        Attributes are access control lists and the SELinux context. check(path) is called with the new file, complete
        and beside the old one, and raises HostError where it must not take its place; not in another user's folder,
        see work().
        Raises HostError (disk full, read-only, no permission); the old file then stands untouched.
        """
        way = self.way(path)
        if way.loose is not None:
            raise HostError("cannot write %s: %s" % (path, identities.too_open(way.loose)), errno.EPERM)
        target = way.target if os.geteuid() == 0 else os.path.realpath(way.target)
        folder = os.path.dirname(target)
        temporary = None
        try:
            # another tuning may be making it too
            os.makedirs(folder, 0o755, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(prefix="%s%s." % (TEMPORARY, os.path.basename(target)), dir=folder)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                self._keep(path, target, stream.fileno(), temporary, mode)
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
                # where even that is refused, the next run removes it
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def _keep(self, path, old, new, temporary, mode):
        """Give the open file new, at temporary, owner, mode and attributes of the old one; mode if there is none."""
        try:
            descriptor = os.open(old, os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            os.fchmod(new, mode)
            return
        try:
            found, made = os.fstat(descriptor), os.fstat(new)
            if not stat.S_ISREG(found.st_mode):
                raise HostError("cannot write %s: it is no regular file" % path)
            if (found.st_uid, found.st_gid) != (made.st_uid, made.st_gid):
                self._keep_owner(path, found, new)
            os.fchmod(new, stat.S_IMODE(found.st_mode))
            self._keep_attributes(descriptor, new, old, temporary)
        finally:
            os.close(descriptor)

    @staticmethod
    def _keep_owner(path, found, new):
        try:
            os.fchown(new, found.st_uid, found.st_gid)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
            whose = [identities.Identity.of_uid(uid).name for uid in (found.st_uid, os.geteuid())]
            raise HostError(
                "cannot write %s: it belongs to %s (group id %d) and its folder to %s, who cannot keep that owner: "
                "give the file to %s (chown)" % (path, whose[0], found.st_gid, whose[1], whose[1]),
                error.errno,
            ) from error

    def _keep_attributes(self, old, new, old_path, new_path):
        """Give the new open file the access control list and the SELinux context of the old one."""
        if not hasattr(os, "listxattr"):
            self._keep_aix_list(old_path, new_path)
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
                value = os.getxattr(old, name)
                # the policy gives the new file its context by itself, and lets few users set one
                if name != "security.selinux" or _attribute(new, name) != value:
                    os.setxattr(new, name, value)

    def _keep_aix_list(self, old, new):
        """The same with the programs of AIX, where Python has no calls for it; both names are in one user's hands."""
        with tempfile.NamedTemporaryFile(prefix="zpower-") as kept:
            for argv in (["aclget", "-o", kept.name, old], ["aclput", "-i", kept.name, new]):
                try:
                    done = self.run(argv)
                except HostError as error:
                    raise OSError(error.errno or errno.EIO, str(error)) from error
                if done.rc != 0:
                    raise OSError(errno.EIO, done.err)

    @as_owner
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
        environment, become = dict(os.environ), None
        if user is not None:
            identity = identities.Identity.of_name(user)
            # what root has in its environment is none of another user's business
            environment = identity.environment(os.environ)
            become = self._become(identity)
        environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
        environment.update(env or {}, LC_ALL="C")
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
                # the user may not have access to root's working directory
                cwd=None if become is None else "/",
                preexec_fn=become,
            )
        except subprocess.TimeoutExpired as error:
            raise HostError("%s gave no answer within %g s" % (argv[0], timeout), errno.ETIMEDOUT) from error
        except OSError as error:
            raise refused("cannot run %s" % argv[0], error) from error
        except subprocess.SubprocessError as error:
            raise HostError(
                "cannot run %s as %s: this process may not become another user" % (argv[0], user), errno.EPERM
            ) from error
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    @staticmethod
    def _become(identity):
        """What the child does to become the user; None if this process is that user."""
        if os.geteuid() == identity.uid:
            return None
        if os.geteuid() != 0:
            raise HostError("only root can run commands as %s: run with become: true" % identity.name, errno.EPERM)
        return identity.take


def _attribute(descriptor, name):
    """The extended attribute of an open file, None if it has none."""
    try:
        return os.getxattr(descriptor, name)
    except OSError:
        return None


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
