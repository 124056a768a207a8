# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The captures in a folder, and the host that each one is of, by their names only: nothing is opened here.

Names of dbginfo.sh (s390-tools), sos and supportconfig (supportutils).
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from .._answers.text import one_line
from .._records.checks import check_slug
from .._records.record_files import file_slug

ENDINGS = re.compile(r"\.(tar|tgz|tbz|txz|tar\.gz|tar\.bz2|tar\.xz)\Z")
ENCRYPTED = re.compile(r"\.(gpg|pgp|asc)\Z")
"""What gpg appends; sos also puts secured- in front."""
GROUPS = ("all", "ungrouped", "zpower_captures")
"""Groups of every inventory, and the one of the playbook captures."""
INSIDE = ("proc", "sys", "basic-environment.txt")
"""A folder with one of these is a capture."""
NAMES = (
    re.compile(r"DBGINFO-(?P<day>\d{4}(?:-\d\d){5})-(?P<host>.+?)(?:-[0-9A-F]{6})?"),
    re.compile(r"sosreport-(?P<host>.+?)-(?P<day>\d{4}-\d\d-\d\d)-[a-z]{7}(?:-obfuscated)?"),
    re.compile(r"sosreport-(?P<host>.+?)-(?P<day>\d{14})(?:-obfuscated)?"),
    re.compile(r"(?:scc|nts)_(?:SR\d+_)?(?P<host>[^_]+)_(?P<day>\d{6}_\d{4})(?:_.*)?"),
)


class CaptureFile(NamedTuple):
    host: str
    path: Path
    day: str
    """When it was taken, as its name says, in digits only; "" if the name does not say it."""


def chosen(
    places: Iterable[str], known: Iterable[str], groups: Collection[str] = (), expected: Iterable[str] = ()
) -> tuple[dict[str, CaptureFile], list[str]]:
    """({host: its newest capture}, sentences about captures that are left out).

    places: folders of captures, or captures; known, groups: the hosts and groups of the inventory. What cannot be
    opened as a capture is there too, with a host of its own, so that it fails: other files of these folders, and each
    expected host without a capture in them. Raises ValueError for a place that is not there or empty, and for the name
    of a capture that cannot be that of a host.
    """
    hosts: dict[str, list[str]] = {}
    for name in (everyone := sorted(known)):
        for key in sorted({name.lower(), name.partition(".")[0].lower()}):
            hosts.setdefault(key, []).append(name)
    forbidden = {*groups, *GROUPS}
    found: dict[str, list[CaptureFile]] = {}
    others: list[CaptureFile] = []
    folders: list[Path] = []
    for place in places:
        if not place:
            raise ValueError("zpower_captures: name a capture, or a folder of captures")
        top = Path(place).expanduser().absolute()
        folders += [top] if top.is_dir() and not _is_capture(top) else []
        for path in _files(top):
            capture = _named(path, hosts)
            if _is_capture(path):
                _check_name(capture, forbidden, everyone)
                found.setdefault(capture.host, []).append(capture)
            else:
                others.append(capture)
    newest, left_out = {}, []
    for host in sorted(found):
        *older, newest[host] = sorted(set(found[host]), key=lambda capture: (capture.day, capture.path))
        if older:
            names = ", ".join(capture.path.name for capture in older)
            left_out.append(one_line(f"{host}: {newest[host].path.name} is its newest capture; left out: {names}"))
    for other in sorted(set(others)):
        slug = file_slug(other.path.name)
        free = (other.host, slug, *(f"{slug}.{number}" for number in range(2, len(others) + 2)))
        host = next(name for name in free if name == file_slug(name) and name not in {*newest, *forbidden})
        newest[host] = other._replace(host=host)
    for host in (host for host in expected if folders and host not in newest):
        newest[host] = CaptureFile(host, folders[0] / f"*{host}*", "")
    return newest, left_out


def _files(place: Path) -> list[Path]:
    """What a folder of captures holds, except hidden files, and checksums and encrypted copies of a capture."""
    if not place.exists():
        raise ValueError(f"zpower_captures: there is no {place}; name a capture, or a folder of captures")
    if _is_capture(place) or not place.is_dir():
        return [place]
    inside = {path.name: path for path in sorted(place.iterdir()) if not path.name.startswith(".")}
    if not inside:
        raise ValueError(
            f"zpower_captures: {place} has no capture: an archive of dbginfo.sh, sos or supportconfig, or a folder or"
            " archive with proc and sys of a machine"
        )
    beside = {name for name, path in inside.items() if path.is_file() and _is_capture(path)}
    return [path for name, path in inside.items() if not {Path(name).stem, _plain(name)} & beside - {name}]


def _plain(name: str) -> str:
    """The name of a file before it was encrypted."""
    return ENCRYPTED.sub("", name).removeprefix("secured-")


def _check_name(capture: CaptureFile, groups: Collection[str], known: Collection[str]) -> None:
    """ValueError if the name of a capture cannot name a host: Ansible would take one of a group for all its hosts."""
    where = f"zpower_captures: the host in the name of {ascii(str(capture.path))}"
    if capture.host in groups:
        raise ValueError(f"{where} is {capture.host}, the name of a group; rename the capture")
    if capture.host not in known:
        check_slug(where, capture.host)


def _is_capture(path: Path) -> bool:
    if path.is_dir():
        return any((path / name).exists() for name in INSIDE)
    return path.is_file() and bool(ENDINGS.search(path.name))


def _named(path: Path, hosts: Mapping[str, list[str]]) -> CaptureFile:
    """The capture with the name of the inventory's host, if its own name begins with that.

    hosts: {a whole or short name: the hosts that have it}. Raises ValueError if the name is that of several hosts.
    """
    stem = path.name if path.is_dir() else ENDINGS.sub("", _plain(path.name))
    match = next(filter(None, (pattern.fullmatch(stem) for pattern in NAMES)), None)
    host, day = (match["host"], re.sub(r"\D", "", match["day"])) if match else (stem, "")
    day = day if len(day) != len("YYMMDDhhmm") else "20" + day
    # behind the host, sos puts a label and a case, and people what they like; the other tools put nothing there
    parts = host.split("-") if match is None or stem.startswith("sosreport-") else [host]
    starts = ["-".join(parts[:count]).lower() for count in range(len(parts), 0, -1)]
    for start in starts + [start.partition(".")[0] for start in starts]:
        names = [name for name in hosts.get(start, ()) if name.lower() == start] or hosts.get(start, [])
        if len(names) > 1:
            where = f"zpower_captures: {ascii(str(path))} can be of {' or '.join(names)}"
            raise ValueError(f"{where}; put the whole name of the host into that of the capture")
        if names:
            return CaptureFile(names[0], path, day)
    return CaptureFile(host, path, day)
