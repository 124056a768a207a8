# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The captures in a folder, and the host that each one is of, by their names only: nothing is opened here.

Names of dbginfo.sh (s390-tools), sos and supportconfig (supportutils).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .._answers.text import one_line
from .._records.checks import check_slug

ENDINGS = re.compile(r"\.(tar|tgz|tbz|txz|tar\.gz|tar\.bz2|tar\.xz)\Z")
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
    places: Iterable[str], known: Iterable[str], groups: Collection[str] = ()
) -> tuple[dict[str, CaptureFile], list[str]]:
    """({host: its newest capture}, sentences about captures that are left out).

    places: folders of captures, or captures; known, groups: the hosts and groups of the inventory. Raises ValueError
    for a place without a capture, and for a name that cannot be one of a host.
    """
    hosts = {name.partition(".")[0].lower(): name for name in sorted(known, reverse=True)}
    found: dict[str, list[CaptureFile]] = {}
    for place in places:
        if not place:
            raise ValueError("zpower_captures: name a capture, or a folder of captures")
        for path in _captures(Path(place).expanduser()):
            capture = _named(path, hosts)
            _check_name(capture, {*groups, *GROUPS}, hosts.values())
            found.setdefault(capture.host, []).append(capture)
    newest, left_out = {}, []
    for host in sorted(found):
        *older, newest[host] = sorted(set(found[host]), key=lambda capture: (capture.day, capture.path))
        if older:
            names = ", ".join(capture.path.name for capture in older)
            left_out.append(one_line(f"{host}: {newest[host].path.name} is its newest capture; left out: {names}"))
    return newest, left_out


def _captures(place: Path) -> Iterator[Path]:
    place = place.absolute()
    if not place.exists():
        raise ValueError(f"zpower_captures: there is no {place}; name a capture, or a folder of captures")
    if _is_capture(place):
        yield place
        return
    inside = sorted(path for path in place.iterdir() if _is_capture(path)) if place.is_dir() else []
    if not inside:
        raise ValueError(
            f"zpower_captures: {place} has no capture: an archive of dbginfo.sh, sos or supportconfig, or a folder or"
            " archive with proc and sys of a machine"
        )
    yield from inside


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


def _named(path: Path, hosts: Mapping[str, str]) -> CaptureFile:
    """The capture with the name of the inventory's host, if its own name begins with that."""
    stem = path.name if path.is_dir() else ENDINGS.sub("", path.name)
    match = next(filter(None, (pattern.fullmatch(stem) for pattern in NAMES)), None)
    host, day = (match["host"], re.sub(r"\D", "", match["day"])) if match else (stem, "")
    day = day if len(day) != len("YYMMDDhhmm") else "20" + day
    # behind the host, sos puts a label and a case
    parts = host.split("-")
    for count in range(len(parts), 0, -1):
        short = "-".join(parts[:count]).partition(".")[0].lower()
        if short in hosts:
            return CaptureFile(hosts[short], path, day)
    return CaptureFile(host, path, day)
