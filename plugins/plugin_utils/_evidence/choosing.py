# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run that a user means by a word, a day, a time or a path, found among the folders of the evidence."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

from .._pages.text import listed, natural
from .._records.checks import RUN_KINDS, show
from . import files, slices
from .shapes import Document

LATEST, PREVIOUS = "latest", "previous"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NAME = re.compile(r"\d{8}T\d{6}Z(?:-\d{1,6})?", re.ASCII)
BEGINNING = re.compile(r"\d{4,8}|\d{8}T\d{0,6}|\d{8}T\d{6}Z?", re.ASCII)
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
NEWEST = 4
RIGHT = (
    f"it must be {LATEST}, {PREVIOUS}, a weekday such as monday, a day such as 2026-11-16, a time such as"
    " 20261116T100000Z or its beginning, or the path of a folder or file"
)


@dataclass(frozen=True)
class Found:
    """One finished run with its file; ``notes``: what was left out on the way to it."""

    path: Path
    document: Document
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.parent.name

    @property
    def time(self) -> str:
        """When it began, in the form of the names, also if its folder was renamed."""
        return self.name if NAME.fullmatch(self.name) else files.stamp(self.document["run"]["begun"])


class Runs:
    """The finished runs of one kind below a results folder. Days are those of UTC, as in the names of the folders."""

    def __init__(self, results: Path, kind: str, today: date) -> None:
        self.folder = results / kind
        self.kind = kind
        self.today = today
        entries = os.scandir(self.folder) if self.folder.is_dir() else ()
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        united = {name: slices.begun(self.folder / name, kind) for name in folders if name.startswith(slices.PREFIX)}
        times = {**dict(zip(folders, folders, strict=True)), **united}
        self.times = {name: time for name, time in times.items() if NAME.fullmatch(time)}
        """When each run began, in the form of the names; the folder of united slices has another name."""
        self.names = sorted(self.times, key=lambda name: natural(self.times[name]), reverse=True)
        """The newest first."""

    def pair(self, start: str, end: str) -> tuple[Found, Found]:
        """Two different runs. ``previous`` as start is the last run before the end. Errors as :meth:`find`."""
        second = self.find("to", end)
        first = self.find("from", start, second)
        if first.path == second.path:
            raise ValueError(
                f"from ({start}) and to ({end}) are the same run, {first.path}, so there is nothing to compare; "
                f"{self._known()}"
            )
        return first, second

    def find(self, option: str, wanted: str, later: Found | None = None) -> Found:
        """The run that ``wanted`` names. OSError as the system gives it; ValueError says what would be right."""
        wanted = wanted.strip()
        word = wanted.lower()
        if word == LATEST:
            return self._last(option, wanted, lambda time: True)
        if word == PREVIOUS:
            limit = natural((later or self._last(option, LATEST, lambda time: True)).time)
            return self._last(option, wanted, lambda time: natural(time) < limit)
        if word in WEEKDAYS or DAY.fullmatch(word):
            day = self._day(option, word).strftime("%Y%m%d")
            return self._last(option, wanted, lambda time: time[:8] <= day)
        if wanted in self.names:
            return self._read(self.folder / wanted)
        if BEGINNING.fullmatch(wanted):
            return self._last(option, wanted, lambda time: time.startswith(wanted))
        path = Path(wanted).expanduser()
        if not wanted or not os.path.lexists(path):
            raise ValueError(f"{option} is {show(wanted)}, which is neither a run nor a path; {RIGHT}; {self._known()}")
        return self._read(path)

    def _day(self, option: str, word: str) -> date:
        """A day; of a weekday the last one before today."""
        if word in WEEKDAYS:
            return self.today - timedelta(days=(self.today.weekday() - WEEKDAYS.index(word) - 1) % 7 + 1)
        try:
            return date.fromisoformat(word)
        except ValueError:
            raise ValueError(f"{option} is {word}, which is not a day; it must be a day such as 2026-11-16") from None

    def _last(self, option: str, wanted: str, fits: Callable[[str], bool]) -> Found:
        """The newest finished run whose time fits; unfinished ones are left out and noted."""
        unfinished: list[str] = []
        found = None
        for name in (name for name in self.names if fits(self.times[name])):
            try:
                found = self._read(self.folder / name)
                break
            except Unfinished:
                unfinished.append(name)
        notes = [f"left out, because it did not end: {listed(unfinished, NEWEST)}"] if unfinished else []
        if found:
            return replace(found, notes=notes)
        if not self.names:
            raise ValueError(
                f"{self.folder} holds no run; ansible-playbook zpower.sap_tuning.{self.kind} writes one. If the runs"
                " are elsewhere, name their results folder"
            )
        sentence = f"{option} is {show(wanted)}, which fits no finished run"
        raise ValueError("; ".join([sentence, *notes, self._known()]))

    def _read(self, path: Path) -> Found:
        if path.is_dir():
            places = [path / f"{kind}.json" for kind in dict.fromkeys((self.kind, *RUN_KINDS))]
            there = [place for place in places if os.path.lexists(place)]
            if not there:
                raise Unfinished(f"{path} holds no {self.kind}.json")
            path = there[0]
        document = files.read(path)
        if document["run"].get("ended") is None:
            raise Unfinished(f"the run of {path} did not end, so its values are not known")
        return Found(path, document)

    def _known(self) -> str:
        names = ", ".join(reversed(self.names[:NEWEST]))
        return f"the newest runs in {self.folder} are {names}" if names else "there is no run"


class Unfinished(ValueError):
    """A run without an end: its controller was stopped, or it still runs."""
