# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring docs/schemas up to date with the types of the documents, for `make generate`.

A type says which fields a document has, which of them it must have, of what kind they are, and their words. All else in
a schema is written by hand and stays: descriptions, patterns, bounds, definitions, and what a type leaves open. A field
that is new in a type comes without them, and one that is gone is removed. Records that hosts and users write
(measurement, tunings, cpu, calibration, experiment) have no such types: tests hold their schemas against the readers.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import shapes as report
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import shapes as evidence
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.shapes import NotRequired, Stamp
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import checking as rollout
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series import scaling, trend

HERE = Path(__file__).resolve().parents[1]
Schema = dict[str, Any]
TYPES = {
    "evidence": evidence.Document,
    "report": report.Report,
    "rollout": rollout.Document,
    "scaling": scaling.Scaling,
    "trend": trend.Trend,
}
SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number"}


def fitted(hint: Any, old: Schema, definitions: Schema) -> Schema:
    """Return the schema of a type, with what the old one has by hand; definitions: those it refers to, also fitted."""
    while get_origin(hint) is Annotated and hint is not Stamp and not isinstance(get_args(hint)[1], tuple):
        hint = get_args(hint)[0]
    origin, parts = get_origin(hint), get_args(hint)
    found = dict(old)
    if "$ref" in old:
        name = old["$ref"].rpartition("/")[2]
        definitions[name] = fitted(hint, definitions[name], definitions)
    elif origin in (Union, types.UnionType):
        found = _or_null(parts[0], old, definitions)
    elif is_typeddict(hint):
        found.update(_object(hint, old, definitions))
    elif origin is list:
        found.update({"type": "array", "items": fitted(parts[0], old.get("items", {}), definitions)})
    elif origin is dict:
        found["type"] = "object"
        more = old.get("additionalProperties", {"properties"} & old.keys() or {})
        if inner := isinstance(more, dict) and fitted(parts[1], more, definitions):
            found["additionalProperties"] = inner
    elif hint is Stamp:
        found = found or {"$ref": "#/$defs/time"}
    elif words := parts if origin is Literal else parts[1:] and parts[1]:
        if set(words) != set(old.get("enum", [old.get("const")])):
            found.update({"const": words[0]} if len(words) == 1 else {"enum": [*words]})
    elif hint in SCALARS and not {"const", "enum"} & old.keys():
        found["type"] = SCALARS[hint]
    return found


def _or_null(hint: Any, old: Schema, definitions: Schema) -> Schema:
    for word in ("anyOf", "oneOf"):
        if word in old:
            return {**old, word: [fitted(hint, old[word][0], definitions), *old[word][1:]]}
    if isinstance(old.get("type"), list) or "enum" in old:
        return old
    found = fitted(hint, old, definitions)
    return {**found, "type": [found["type"], "null"]} if "type" in found else {"anyOf": [found, {"type": "null"}]}


def _object(hint: Any, old: Schema, definitions: Schema) -> Schema:
    hints, known = get_type_hints(hint, include_extras=True), old.get("properties", {})
    names = [*(name for name in known if name in hints), *(name for name in hints if name not in known)]
    needed = {name for name, part in hints.items() if get_args(part)[-1:] != (NotRequired,)}
    return {
        "type": "object",
        "properties": {name: fitted(hints[name], known.get(name, {}), definitions) for name in names},
        "required": sorted(needed),
        "additionalProperties": old.get("additionalProperties", False),
    }


def schema(name: str, old: Schema) -> Schema:
    """Return the schema of a document; ``old``: as the file has it."""
    definitions = dict(old.get("$defs", {}))
    found = fitted(TYPES[name], old, definitions)
    return {**found, "$defs": definitions} if definitions else found


def files() -> Iterator[tuple[Path, str]]:
    """Yield the schemas that types have, with their texts."""
    for name in TYPES:
        path = HERE / "docs" / "schemas" / f"{name}-1.schema.json"
        yield path, json.dumps(schema(name, json.loads(path.read_text("utf-8"))), indent=1, ensure_ascii=False) + "\n"
