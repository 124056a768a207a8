# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the schemas in docs/schemas say about a document, and documents that are damaged in one place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from places import SCHEMAS


def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}-1.schema.json").read_text(encoding="utf-8"))
    return schema


def schema_errors(name: str, document: object) -> list[str]:
    """Return why the document is not valid under this schema."""
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    return [f"{list(error.path)}: {error.message}" for error in Draft202012Validator(schema).iter_errors(document)]


def put(document: Any, way: Sequence[Any], value: object) -> Any:
    """Return the document with another value in one place."""
    item = document
    for step in way[:-1]:
        item = item[step]
    item[way[-1]] = value
    return document


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the path to each item of a document."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*way, key)
        yield from places(item, (*way, key))
