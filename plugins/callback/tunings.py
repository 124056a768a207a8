# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of tunings at the end of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: tunings
type: aggregate
short_description: Table of tunings at the end of a run
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Prints one line for each tuning record of the run with its host, subject, running value, stored value, value of
    the next
    boot and verdict, and a line for each reason, conflict and remark.
  - Loads by itself in the playbooks of this collection. For playbooks of your own, name C(zpower.sap_tuning.tunings) in
    C(callbacks_enabled) of ansible.cfg.
options:
  format:
    description: V(table) for people, V(json) for one line of JSON, V(none) for nothing.
    type: str
    choices: [table, json, none]
    default: table
    env:
      - name: ZPOWER_TUNINGS_FORMAT
    ini:
      - section: callback_zpower_tunings
        key: format
"""

import json
from typing import Any

from ansible.plugins.callback import CallbackBase

_COLUMNS = ("host", "tuning", "subject", "running", "stored", "next boot", "verdict")
_MOST_ITEMS = 2  # that a cell names
_LONGEST_CELL = 300
_LONGEST_NOTE = 2000
_COLOURS = {"compliant": "green", "changed": "yellow", "failed": "red", "drifted": "red", "pending_restart": "yellow"}


def plain(text: object) -> str:
    """Text from a host, cut to a length, without what moves the cursor or colours a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in cut(str(text), _LONGEST_NOTE))


def cut(text: str, length: int) -> str:
    """At most so many characters, the last of them an ellipsis where something is missing."""
    return text if len(text) <= length else text[: length - 1] + "…"


def dicts(value: object) -> list[dict[str, Any]]:
    """The dicts of a list that a host has sent; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def crowded(value: object) -> bool:
    """Whether one place of a record has more different values than a cell names."""
    return isinstance(value, dict) and len(value) > _MOST_ITEMS and len({str(text) for text in value.values()}) > 1


def short(value: object) -> str:
    """One place of a record in one cell; receive queues that agree stand in it once: {rx-0: 3, rx-1: 3} is "3"."""
    if not isinstance(value, dict):
        return "-" if value is None else plain(value) or "empty"
    distinct = list(dict.fromkeys(str(text) for text in value.values()))
    if len(distinct) <= 1:
        return plain(distinct[0]) or "empty" if distinct else "-"
    if crowded(value):
        return f"{len(value)} values"
    return plain(", ".join(f"{item}={text}" for item, text in value.items()))


def arrow(before: object, after: object) -> str:
    """ "0 → 3" for a value that changes; of many items only those that do."""
    one, other = short(before), short(after)
    if before == after:
        return one
    if not crowded(before) and not crowded(after):
        return one if one == other else f"{one} → {other}"
    old, new = (value if isinstance(value, dict) else {} for value in (before, after))
    changed = [item for item in {**old, **new} if old.get(item) != new.get(item)]
    cells = [f"{plain(item)}: {short(old.get(item))} → {short(new.get(item))}" for item in changed[:_MOST_ITEMS]]
    more = [f"{len(changed) - _MOST_ITEMS} more"] if len(changed) > _MOST_ITEMS else []
    return ", ".join(cells + more)


def row(host: str, record: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one tuning record."""
    before, after = ((dicts([record.get(state)]) or [{}])[0] for state in ("before", "after"))
    places = [arrow(before.get(place), after.get(place)) for place in ("running", "stored", "next_boot")]
    cells = (plain(record.get("name")), plain(record.get("subject")), *places, plain(record.get("verdict")))
    return (host, *(cut(cell, _LONGEST_CELL) for cell in cells))


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """The rows below their header, in columns."""
    lines = [_COLUMNS, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_COLUMNS))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return ["  ".join(line).rstrip() for line in padded]


def notes(host: str, record: dict[str, Any]) -> list[str]:
    """What the table cannot hold: why a record is not simply as wanted, and who else would set the value."""
    lines = []
    if record.get("verdict") not in ("compliant", "changed") and record.get("reason"):
        lines.append(f"{host}: {plain(record['reason'])}")
    for other in dicts(record.get("conflicts")):
        where = f"{plain(other.get('file'))} line {plain(other.get('line'))}"
        value = f" to {plain(other['value'])}" if other.get("value") else ""
        if other.get("effect"):
            lines.append(f"{host}: {plain(other.get('what'))}, {where}, {plain(other['effect'])}")
        else:
            how = f"({plain(other.get('what'))}; wins at boot: {plain(other.get('wins'))})"
            lines.append(f"{host}: {where} also sets {plain(record.get('subject'))}{value} {how}")
    remarks = record.get("remarks")
    return lines + [
        f"{host}: {plain(record.get('subject'))}: {plain(remark)}"
        for remark in (remarks if isinstance(remarks, list) else [])
    ]


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "zpower.sap_tuning.tunings"
    CALLBACK_NEEDS_ENABLED = True

    # named by the user and loaded by a playbook of the collection: one table is enough
    _owner: CallbackModule | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._records: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._format = "table"

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        self._format = self.get_option("format")

    def _keep(self, outcome: Any) -> None:
        result = getattr(outcome, "result", None) or outcome._result
        host = getattr(outcome, "host", None) or outcome._host
        records = result.get("tuning") if isinstance(result, dict) else None
        for record in records if isinstance(records, list) else []:
            if isinstance(record, dict) and {"name", "subject", "verdict"} <= record.keys():
                if record["subject"] == "all" and record["verdict"] == "compliant":
                    self._forget_predictions(str(host), str(record["name"]))
                # the last word on a subject counts: before_after sets and takes back many times
                self._records[str(host), str(record["name"]), str(record["subject"])] = record

    def _forget_predictions(self, host: str, name: str) -> None:
        """Drop what was only looked at, as by an experiment: with nothing to take back it is no drift any more."""
        for key, record in list(self._records.items()):
            if key[:2] == (host, name) and record["verdict"] == "drifted":
                del self._records[key]

    def _found(self) -> tuple[list[tuple[tuple[str, str, str], dict[str, Any]]], dict[str, list[str]]]:
        """The records with their keys, and for each host the tunings of which there was nothing to take back."""
        told, unused = {}, set()
        for key, record in sorted(self._records.items(), key=lambda item: item[0]):
            if key[2] == "all" and record["verdict"] == "compliant":
                unused.add(key[:2])
            else:
                told[key] = record
        hosts: dict[str, list[str]] = {}
        for host, name in unused - {key[:2] for key in told}:
            hosts.setdefault(host, []).append(name)
        return list(told.items()), {host: sorted(hosts[host]) for host in sorted(hosts)}

    def v2_runner_on_ok(self, result: Any) -> None:
        self._keep(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._keep(result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        cls = globals()["CallbackModule"]
        if not self._records or self._format == "none" or cls._owner not in (None, self):
            return
        cls._owner = self
        found, unused = self._found()
        if self._format == "json":
            self._display.display(json.dumps([{"host": key[0], **record} for key, record in found], sort_keys=True))
            return
        self._display.banner("TUNINGS")
        header, *lines = table([row(plain(key[0]), record) for key, record in found])
        if found:
            self._display.display(header)
        for (_key, record), line in zip(found, lines, strict=True):
            self._display.display(line, color=_COLOURS.get(str(record["verdict"])))
        for key, record in found:
            for note in notes(plain(key[0]), record):
                self._display.display(note)
        for host, names in unused.items():
            self._display.display(f"{plain(host)}: nothing to take back of {plain(', '.join(names))}")
