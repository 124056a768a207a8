# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recognise a capture by what is inside, and open it as a host."""

import functools
import os

from .._host import temporary
from .._host.errors import HostError, refused
from . import dbginfo, plain, reading, sos, supportconfig
from .host import Capture, CapturedHost
from .limits import Budget
from .tree import FILE, FOLDER, shown

_RIGHT = "a capture is a folder or tar archive with proc/ and sys/, or one of dbginfo.sh, sos report or supportconfig"


class _Whole:
    """A capture while it is opened. name: that of its folder or archive. notes: sentences for Capture."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(os.path.realpath(path) if os.path.isdir(path) else path)
        self.budget = Budget(path)
        self.notes, self.cut = [], ""

    def read(self, content, archive):
        """The Tree of the outermost archive, or of one in it."""
        raw = reading.read_archive(content, archive, self.budget)
        if raw.cut:
            self.cut = raw.cut
            self.notes.append("%s: what came after that is missing" % self.cut)
        return raw

    def host(self, kind, tree, hostname="", taken=""):
        """The CapturedHost; hostname, taken: from the name of the capture or from its texts."""
        if self.cut:
            tree.cut, tree.cut_below = self.cut, "/"
        texts = [tree.text(path).strip() for path in ("/proc/sys/kernel/hostname", "/etc/hostname")]
        hostname = next(filter(None, texts), hostname)
        return CapturedHost(Capture(kind, self.path, shown(hostname), taken, self.notes), tree)


def open_capture(path):
    """The CapturedHost for a folder or an archive. Nothing is extracted. Raises HostError with one sentence.

    All tunings of a call get the same one, as long as the file is the same.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise refused("cannot read the capture %s" % path, error) from error
    except ValueError as error:
        raise HostError("the capture %r is not a path: it has characters that no name of a file has" % path) from error
    return _open(path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime))


@functools.lru_cache(maxsize=1)
def _open(path, dummy_identity):
    if os.path.realpath(path) == "/":
        raise HostError("/ is the running machine: %s" % _RIGHT)
    temporary.hold_payload()
    whole = _Whole(path)
    if os.path.isdir(path):
        return _recognised(whole, reading.read_folder(os.path.realpath(path), whole.budget))
    if not os.path.isfile(path):
        raise HostError("%s is neither a folder nor a file: a capture is a folder or a tar archive" % path)
    try:
        with open(path, "rb") as file:
            whole.budget.packed = os.fstat(file.fileno()).st_size
            raw = whole.read(lambda offset, most: os.pread(file.fileno(), most, offset), path)
    except OSError as error:
        raise refused("cannot read the capture %s" % path, error) from error
    return _recognised(whole, raw)


def _recognised(whole, raw, nested=False):
    folders = [""] + sorted(name for name, entry in raw.names("/").items() if entry.kind == FOLDER)
    found = ((name, _reader(name, raw.below(name))) for name in folders)
    readers = {name: reader for name, reader in found if reader}
    if "" in readers or len(readers) == 1:
        name = next(iter(readers))
        whole.name = name or whole.name
        return readers[name](whole, raw.below(name))
    if readers:
        raise _several(whole, "captures", readers)
    inner = [
        (name, entry)
        for folder in folders
        for name, entry in sorted(raw.names("/" + folder).items())
        if reading.is_archive(name) and entry.kind == FILE
    ]
    if len(inner) > 1:
        raise _several(whole, "archives", [name for name, dummy in inner])
    if inner and nested:
        raise HostError("%s holds an archive in an archive in an archive: unpack it" % whole.path)
    if inner:
        whole.name, entry = inner[0]
        raw = whole.read(entry.value, whole.name)
        whole.notes.append("the capture is %s inside the archive" % shown(whole.name))
        return _recognised(whole, raw, nested=True)
    if whole.cut:
        raise HostError("%s before anything of a capture: copy it again" % whole.cut)
    raise HostError("%s holds nothing that is known: %s" % (whole.path, _RIGHT))


def _several(whole, what, names):
    first = ", ".join(shown(name) for name in list(names)[:5])
    return HostError("%s holds %d %s (%s): unpack it and name one of them" % (whole.path, len(names), what, first))


def _reader(name, raw):
    """The function that reads what a folder has inside; None if that is not known."""
    names = raw.names("/")
    if "dbginfo.log" in names or ("runtime.out" in names and name.startswith("DBGINFO-")):
        return dbginfo.read
    if sos.VERSION.match(raw.text("/version.txt")) or {"sos_commands", "sos_reports"}.issubset(names):
        return sos.read
    if "basic-environment.txt" in names and {"supportconfig.txt", "env.txt", "hardware.txt"}.intersection(names):
        return supportconfig.read
    if {"proc", "sys"}.issubset(names):
        return plain.read
    # the absolute names of dump2tar
    return dbginfo.read_sysfs if not name and {"class", "devices", "bus"}.intersection(raw.names("/sys")) else None
