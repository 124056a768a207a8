# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the evidence: a folder for each run, written as unfinished at its begin and replaced at its end."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .._records.checks import Fields, wrong
from .._records.files import folder_below, read_regular
from .._records.reading import VERDICTS
from .._report import to_json
from .._report.files import Written, write_formats
from . import to_csv, to_html, to_junit, to_markdown, to_prom
from .document import KINDS, OUTCOMES, SCHEMA, Document
from .waiving import STATES

FORMATS: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "json": to_json.lines,
    "csv": to_csv.lines,
    "md": to_markdown.lines,
    "html": to_html.lines,
    "xml": to_junit.lines,
    "prom": to_prom.lines,
}
"""By the ending of the file, the canonical form first."""

LARGEST_FILE = 1 << 30


def new_folder(results: Path, kind: str, begun: str) -> Path:
    """Make ``<results>/<kind>/20261120T100000Z``, with ``-2`` behind it if another run has this name already."""
    with folder_below(results / kind, results) as above:
        for number in itertools.count(1):
            name = stamp(begun) if number == 1 else f"{stamp(begun)}-{number}"
            try:
                os.mkdir(name, dir_fd=above)
            except FileExistsError:
                continue
            return results / kind / name
    raise AssertionError  # the numbers never end


def stamp(begun: str) -> str:
    """``20261120T100000Z`` for the beginning of a run."""
    return begun[:19].replace("-", "").replace(":", "") + "Z"


def write(document: Document, folder: Path, formats: Sequence[str] = tuple(FORMATS), check: bool = False) -> Written:
    """Write ``<kind>.<format>`` into the folder, each file as a whole. Check and errors as :func:`write_formats`."""
    pieces = {form: partial(renderer, document) for form, renderer in FORMATS.items()}
    return write_formats(pieces, folder, document["run"]["kind"], formats, check)


def read(path: Path) -> Document:
    """A document from its JSON file. OSError as the system gives it; ValueError says what is wrong with the file."""
    try:
        return check(json.loads(read_regular(path, LARGEST_FILE)))
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError(f"{path} is no JSON file") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def check(document: object) -> Document:
    """The document if its fields are as all readers here expect them, else ValueError."""
    fields = Fields(document, "the file", "")
    if fields.item.get("schema") != SCHEMA:
        raise wrong("schema", fields.item.get("schema"), SCHEMA)
    run = fields.required_object("run")
    _one_of(run, "kind", KINDS)
    run.flag("check")
    for name in ("begun", "collection", "ansible_core", "inventory"):
        run.text(name)
    for name in ("ended", "limit", "stopped"):
        run.optional_text(name)
    for name in ("tags", "skip_tags"):
        _texts(run, name)
    fields.text("result")
    fields.text("headline")
    totals = fields.required_object("totals")
    for name, known in (("outcomes", OUTCOMES), ("verdicts", VERDICTS)):
        counts = totals.required_object(name)
        for key in known:
            if name == "verdicts" and key == "unknown":  # younger than the first evidence
                counts.item.setdefault(key, 0)
            counts.count(key)
    for name in ("hosts", "rows", "drifting_hosts"):
        totals.count(name)
    for place, item in enumerate(fields.optional_list("hosts")):
        _host(Fields(item, f"hosts[{place}]"))
    for place, item in enumerate(fields.optional_list("waivers")):
        waiver = Fields(item, f"waivers[{place}]")
        for name in ("tuning", "subject", "reason", "owner", "until"):
            waiver.text(name)
        _texts(waiver, "hosts")
        _one_of(waiver, "state", STATES)
        days = waiver.item.get("days_left")
        if not isinstance(days, int) or isinstance(days, bool):
            raise wrong(f"{waiver.prefix}days_left", days, "a whole number")
        waiver.flag("soon")
    _texts(fields, "problems")
    return fields.item


def _host(host: Fields) -> None:
    host.name("host")
    _one_of(host, "outcome", OUTCOMES)
    host.text("message")
    if host.item.get("platform") is not None:
        host.required_object("platform")
    for place, item in enumerate(host.optional_list("rows")):
        row = Fields(item, f"{host.prefix}rows[{place}]")
        for name in ("name", "subject", "reason"):
            row.text(name)
        _one_of(row, "verdict", VERDICTS)
        for name in ("before", "after"):
            row.optional_object(name)
        for name in ("conflicts", "sources"):
            row.optional_list(name)
        _texts(row, "remarks")
        if "waiver" in row.item:
            waiver = row.required_object("waiver")
            for name in ("owner", "reason", "until"):
                waiver.text(name)
            waiver.flag("expired")


def _one_of(fields: Fields, name: str, known: Sequence[str]) -> None:
    if fields.item.get(name) not in known:
        raise wrong(fields.prefix + name, fields.item.get(name), f"one of {', '.join(known)}")


def _texts(fields: Fields, name: str) -> None:
    for entry in fields.optional_list(name):
        if not isinstance(entry, str):
            raise wrong(fields.prefix + name, entry, "a list of texts")
