# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recognise a capture by what is inside, and open it as a host."""

import functools
import os
import posixpath

from .._host import temporary
from .._host.errors import HostError, refused
from . import dbginfo, plain, reading, sections, sos, supportconfig
from .host import Capture, CapturedHost
from .limits import Budget, Exceeded
from .tar import shown
from .tree import FILE, Spool, Tree
from .virtual import Virtual

_RIGHT = "a capture is a folder or tar archive with proc/ and sys/, or one of dbginfo.sh, sos report or supportconfig"


class _Whole:
    """One capture while it is opened."""

    def __init__(self, path, budget, spool):
        self.path, self.budget, self.spool = path, budget, spool
        self.notes = []
        self.cut = ""
        self.cut_below = "/"


def open_capture(path):
    """The CapturedHost for a folder or an archive. Nothing is extracted. Raises HostError with one sentence.

    All tunings of a call get the same one, as long as the file is the same.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise refused("cannot read the capture %s" % path, error) from error
    except ValueError as error:
        raise HostError("the capture %r is no path: it has characters that no name of a file has" % path) from error
    return _open(path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime))


@functools.lru_cache(maxsize=1)
def _open(path, dummy_identity):
    if os.path.realpath(path) == "/":
        raise HostError("/ is the running machine: %s" % _RIGHT)
    temporary.hold_payload()
    budget = Budget(path)
    whole = _Whole(path, budget, Spool(budget))
    if os.path.isdir(path):
        raw = reading.read_folder(os.path.realpath(path), budget)
        outer = os.path.basename(os.path.realpath(path))
    else:
        source, descriptor = reading.opened_file(path)
        budget.packed = os.fstat(descriptor).st_size
        try:
            raw = _read(whole, source, path)
        finally:
            os.close(descriptor)
        outer = os.path.basename(path)
    return _recognised(whole, raw, outer, nested=False)


def _read(whole, source, name):
    raw, cut = reading.read_archive(source, name, whole.budget, whole.spool)
    if cut:
        whole.cut = "%s is cut off" % os.path.basename(name)
        whole.notes.append("%s: what came after that is missing" % whole.cut)
    return raw


def _recognised(whole, raw, outer, nested):
    found = []
    for folder in ["/"] + ["/" + name for name in sorted(raw.names("/"))]:
        kind = _format(raw, folder)
        if kind:
            found.append((kind, folder))
            if folder == "/":
                break
    if len(found) > 1:
        names = ", ".join(shown(folder.strip("/")) for kind, folder in found[:5])
        raise HostError("%s holds %d captures (%s): unpack it and name one of them" % (whole.path, len(found), names))
    if found:
        kind, folder = found[0]
        name = folder.strip("/") or outer
        return _OPENERS[kind](whole, raw, folder, name)
    inner = _archives(raw)
    if len(inner) > 1:
        names = ", ".join(shown(posixpath.basename(one)) for one in inner[:5])
        raise HostError("%s holds %d archives (%s): unpack it and name one of them" % (whole.path, len(inner), names))
    if inner and nested:
        raise HostError("%s holds an archive in an archive in an archive: unpack it" % whole.path)
    if inner:
        name = posixpath.basename(inner[0])
        raw = _read(whole, reading.source_of(raw.get(inner[0])), name)
        whole.notes.append("the capture is %s inside the archive" % shown(name))
        return _recognised(whole, raw, name, nested=True)
    if whole.cut:
        raise HostError("%s before anything of a capture: copy it again" % whole.cut)
    raise HostError("%s holds nothing that is known: %s" % (whole.path, _RIGHT))


def _archives(raw):
    """The archives at the top or in one of its folders."""
    found = []
    for folder in ["/"] + ["/" + name for name in sorted(raw.names("/"))]:
        for name in sorted(raw.names(folder)):
            path = posixpath.join(folder, name)
            entry = raw.get(path)
            if reading.is_archive(name) and entry is not None and entry.kind == FILE:
                found.append(path)
    return found


def _format(raw, folder):
    names = raw.names(folder)
    if "dbginfo.log" in names or ("runtime.out" in names and folder.startswith("/DBGINFO-")):
        return "dbginfo"
    if sos.VERSION.match(_text(raw, folder, "version.txt")) or {"sos_commands", "sos_reports"}.issubset(names):
        return "sos"
    if "basic-environment.txt" in names and {"supportconfig.txt", "env.txt", "hardware.txt"}.intersection(names):
        return "supportconfig"
    if {"proc", "sys"}.issubset(names):
        return "tree"
    # the absolute names of dump2tar
    return "sysfs" if folder == "/" and {"class", "devices", "bus"}.intersection(raw.names("/sys")) else None


def _text(raw, folder, name):
    """The text of a file of the archive; "" if absent."""
    entry = raw.get(posixpath.join(folder, name))
    data = entry.value() if entry is not None and entry.kind == FILE else b""
    return data.decode("utf-8", "surrogateescape")


def _captured(whole, kind, tree, found, hostname, taken):
    """The CapturedHost; hostname, taken: from the name of the capture."""

    def why(path):
        below = whole.cut_below.rstrip("/")
        return found.why(path) or (whole.cut if whole.cut and (path + "/").startswith(below + "/") else "")

    for path in ("/proc/sys/kernel/hostname", "/etc/hostname"):
        entry = tree.resolve(path)[1]
        if entry is not None and entry.kind == FILE:
            hostname = entry.value().decode("utf-8", "replace").strip() or hostname
            break
    return CapturedHost(Capture(kind, whole.path, shown(hostname), taken, whole.notes), tree, why)


def _plain(whole, raw, folder, name):
    tree = raw.below(folder, raw.names(folder))
    plain.mark_tarred(tree)
    return _captured(whole, "tree", tree, plain.holdings(tree), "", "")


def _sysfs(whole, raw, folder, name):
    tree = raw.below("/", ["sys"])
    dbginfo.mark_unreadable(tree, {})
    whole.notes.append("the capture has /sys only")
    return _captured(whole, "sysfs", tree, dbginfo.sysfs_holdings(tree), "", "")


def _dbginfo(whole, raw, folder, name):
    tree = raw.below(folder, dbginfo.TOPS)
    script = [_text(raw, folder, one) for one in ("dbginfo.log", "dbginfo.sh")]
    release = dbginfo.version(script)
    sysfs = _add_sysfs(whole, raw, folder, tree)
    dbginfo.mark_unreadable(tree, dbginfo.unreadable(_text(raw, folder, "sysfs.err")))
    runtime = _text(raw, folder, "runtime.out")
    values, refused = dbginfo.add_values(tree, runtime, whole.path, whole.budget.count)
    whole.notes.extend(sentence for sentence in (sysfs, values) if sentence)
    found = dbginfo.holdings(tree, release, values, refused, sysfs)
    taken, host = dbginfo.taken_and_host(name)
    return _captured(whole, "dbginfo", tree, found, sections.dbginfo_host(runtime) or host, taken)


def _add_sysfs(whole, raw, folder, tree):
    """Add /sys; returns a sentence if there is none."""
    entry = raw.get(posixpath.join(folder, "sysfs.tgz"))
    copied = len(tree.names("/sys")) > 0
    reason = ""
    if entry is not None and entry.kind == FILE:
        try:
            kernel, cut = reading.read_archive(reading.source_of(entry), "sysfs.tgz", whole.budget, whole.spool)
            reason = "sysfs.tgz is cut off" if cut else ""
        except Exceeded:
            raise
        except HostError as error:
            kernel, reason = Tree(), str(error)
        if kernel.names("/sys") and not (reason and copied):
            tree.graft(kernel, "/sys")
            if reason:
                whole.notes.append("%s: what came after that is missing" % reason)
                whole.cut, whole.cut_below = whole.cut or reason, "/" if whole.cut else "/sys"
            return ""
    if not copied:
        return "the capture has no /sys: %s" % (reason or "neither sysfs.tgz nor sys/")
    for listing in ("sysfs.out", "sysfsfiles.out"):
        dbginfo.add_links(tree, _text(raw, folder, listing), whole.path, whole.budget.count)
    whole.notes.append(
        "/sys was copied without dump2tar%s: its links are those listed in sysfs.out"
        % (" (%s)" % reason if reason else "")
    )
    return ""


def _sos(whole, raw, folder, name):
    tree = raw.below(folder, dbginfo.TOPS)
    manifest = sos.Manifest(_text(raw, folder, "sos_reports/manifest.json"))
    match = sos.VERSION.match(_text(raw, folder, "version.txt"))
    sos.mark_unreadable(tree)
    if "obfuscated" in name or "obfuscated" in os.path.basename(whole.path):
        whole.notes.append("the report is obfuscated (sos clean): names and addresses in it are not the machine's")
    # of the host itself; network namespaces have their own
    values = sections.sysctl_values(_text(raw, folder, "sos_commands/kernel/sysctl_-a"))[0]
    virtual = Virtual(tree, whole.path, whole.budget.count)
    for path, value in values:
        virtual.add(path, value + "\n", "sysctl_-a of sos_commands", loose=True)
    timed_out = manifest.timed_out()
    if timed_out:
        whole.notes.append("plugins of sos that were stopped after their time limit: %s" % ", ".join(timed_out))
    found = sos.holdings(tree, manifest, sos.release(match.group(1) if match else ""), bool(values))
    hostname = _text(raw, folder, "sos_commands/host/hostname").strip().split("\n")[0]
    return _captured(whole, "sos", tree, found, hostname, sos.taken(name))


def _supportconfig(whole, raw, folder, name):
    tree = Tree()
    reader = supportconfig.Reader(tree, whole.path, whole.budget.count)
    names = raw.names(folder)
    for text in supportconfig.TEXTS:
        reader.read(text, _text(raw, folder, text))
    whole.notes.append("comments in files are not in a supportconfig, so blocks of this collection are not seen")
    if reader.removed:
        whole.notes.append("supportconfig removed values from %s" % ", ".join(reader.removed))
    taken, host = supportconfig.taken_and_host(name)
    if "_scrubbed" in name or "_scrubbed" in whole.path:
        whole.notes.append("the supportconfig is scrubbed: names and addresses in it are not the machine's")
    return _captured(whole, "supportconfig", tree, supportconfig.holdings(names, reader), host, taken)


_OPENERS = {"tree": _plain, "sysfs": _sysfs, "dbginfo": _dbginfo, "sos": _sos, "supportconfig": _supportconfig}
