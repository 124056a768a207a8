# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a journal: each field is checked when it is read."""

import json

SCHEMA = "zpower.sap_tuning/journal/1"


def parse(text, name):
    """The data in a journal of the tuning called name. Raises ValueError if the text is not such a journal."""
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError("lists in lists") from error
    _check(isinstance(data, dict), "no object")
    _check(data.get("schema") == SCHEMA, "schema %r" % (data.get("schema"),))
    _check(data.get("tuning") == name, "tuning %r" % (data.get("tuning"),))
    machine, folders, knobs = data.get("machine"), data.get("folders", []), data.get("knobs")
    _check(machine is None or _is_text(machine), "machine %r" % (machine,))
    _check(_is_text(data.get("run", "")), "run %r" % (data.get("run"),))
    absolute = isinstance(folders, list) and all(_is_text(path) and path.startswith("/") for path in folders)
    _check(absolute, "folders %r" % (folders,))
    _check(isinstance(knobs, dict), "no knobs")
    for key, entry in knobs.items():
        where = "entry %r" % key
        _check(_is_text(key) and isinstance(entry, dict), where)
        for field in ("subject", "family"):
            _check(_is_text(entry.get(field)), "%s: %s %r" % (where, field, entry.get(field)))
        for field in ("since", "identity"):
            _check(field not in entry or _is_text(entry[field]), "%s: %s %r" % (where, field, entry.get(field)))
        ours = entry.get("ours")
        _check("first" in entry and _is_value(entry["first"]), "%s: first %r" % (where, entry.get("first")))
        _check(isinstance(ours, list) and ours != [] and all(map(_is_value, ours)), "%s: ours %r" % (where, ours))
    return data


def _check(right, what):
    if not right:
        raise ValueError(what)


def _is_text(value):
    """Whether it is a text that can be written to a file and can be part of a path."""
    if not isinstance(value, str) or "\0" in value:
        return False
    value.encode("utf-8")  # UnicodeEncodeError is a ValueError: half of a surrogate pair
    return True


def _is_value(value):
    return value is None or _is_text(value)
