# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as JSON, the canonical form: keys sorted, one line per entry of a list, for streams and for diffs."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from .text import Runs


def lines(report: Mapping[str, object], _runs: Runs | None = None) -> Iterator[str]:
    """The file in pieces. Only ASCII is written: invisible characters and lone surrogates are escaped."""
    yield "{"
    for index, key in enumerate(sorted(report)):
        yield f"{',' if index else ''}\n {_dump(key)}: "
        value = report[key]
        if isinstance(value, list) and value:
            yield "[\n  "
            for place, entry in enumerate(value):
                yield f",\n  {_dump(entry)}" if place else _dump(entry)
            yield "\n ]"
        else:
            yield _dump(value)
    yield "\n}\n"


def _dump(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), sort_keys=True, allow_nan=False)


def _finite(value: Any) -> Any:
    """JSON has neither NaN nor infinities: such values count as missing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return value
