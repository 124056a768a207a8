# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of figures from variables, CSV or YAML, each with its place; their meaning is checked elsewhere.

All scalars of a file are read as text, so that a figure means the same in every format: YAML would read 3:55:46 as a
number to the base of 60 and 010 as eight.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from .fields import Values

LARGEST_FILE = 8 * 1024 * 1024
MOST_ROWS = 50_000
MOST_FIELDS = 2_000_000
"""Of all rows together. Merges and aliases of YAML, and a CSV file of commas, could make more of a few bytes."""
DEEPEST = 50
"""Levels of nested brackets; a row needs three."""
FORMATS = {".csv": "csv", ".yml": "yaml", ".yaml": "yaml", ".json": "yaml"}
"""JSON is read as the YAML that it is."""


TAG = "tag:yaml.org,2002:"
PLAIN = {TAG + kind for kind in ("str", "seq", "map")}


class RowsError(ValueError):
    """Why a whole file or list cannot be used, in one sentence without a full stop."""


Placed = tuple[str, Values]
"""The place of a row in words, ``line 12`` of a file or ``rows[3]`` of a variable, and its values."""


class Table(NamedTuple):
    """All rows of one source, and the defaults for them."""

    defaults: Values
    rows: Sequence[Placed]


def from_list(rows: Sequence[Any]) -> Table:
    """Rows from variables."""
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise RowsError(f"rows[{index}] is not a mapping of fields")
    return Table({}, [(f"rows[{index}]", row) for index, row in enumerate(_enough(rows))])


def from_file(path: Path, kind: str = "auto", delimiter: str = ",") -> Table:
    """Rows of a CSV or YAML file; ``auto`` takes the kind from the name's ending. OSError from the system."""
    if kind == "auto":
        kind = FORMATS.get(path.suffix.lower(), "")
        if not kind:
            raise RowsError(f"the ending of the name is not one of {', '.join(FORMATS)}; say which format it is")
    text = _text(path)
    return from_csv(text, delimiter) if kind == "csv" else from_yaml(text)


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise RowsError("this is not a regular file")
    with path.open("rb") as stream:
        data = stream.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise RowsError(f"the file has more than {LARGEST_FILE} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RowsError(f"line {line} is not UTF-8 text; save the file in that encoding") from error


def from_csv(text: str, delimiter: str = ",") -> Table:
    """Rows of a CSV file whose first line names the fields; empty lines are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows = []
    try:
        for line, cells in _numbered(reader):
            if not header:
                header = _header(cells, line, delimiter)
            elif len(cells) != len(header):
                raise RowsError(f"line {line} has {len(cells)} cells, the header has {len(header)}")
            else:
                rows.append((f"line {line}", dict(zip(header, cells, strict=True))))
                _check_fields(len(rows) * len(header), line)
    except csv.Error as error:
        raise RowsError(f"line {reader.line_num} is not CSV: {error}") from error
    if not header:
        raise RowsError("the file is empty; its first line must name the fields")
    return Table({}, _enough(rows))


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Rows with their first line; a cell in quotes may hold several lines."""
    begin = 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield begin, cells
        begin = reader.line_num + 1


def _header(cells: list[str], line: int, delimiter: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(names) == 1:
        for other, word in ((";", "a semicolon"), ("\t", "a tab"), (",", "a comma"), ("|", "a bar")):
            if other != delimiter and other in names[0]:
                raise RowsError(f"line {line}, the header, is one field that holds {word}; set delimiter to that")
    empty = [index for index, name in enumerate(names, 1) if not name]
    if empty:
        raise RowsError(f"line {line}, the header, has no name for column {empty[0]}")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise RowsError(f"line {line}, the header, names {twice[0]} twice")
    return names


class _Loader(yaml.SafeLoader):
    """Mappings, lists, text and merges; no scalar is read as a number, a time or a boolean."""

    yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("^<<$"))]}

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:
        """PyYAML's time grows with the square of the depth before its own limit ends it."""
        if self.flow_level >= DEEPEST:
            raise RowsError("it is nested too deeply")
        super().fetch_flow_collection_start(TokenClass)  # type: ignore[no-untyped-call]


def from_yaml(text: str) -> Table:
    """Rows of a YAML file: a list of mappings, or a mapping with ``defaults`` and such a list as ``rows``."""
    if text.lstrip()[:1] in ("[", "{"):
        # JSON may be indented by tabs, which YAML has not; strings of JSON hold none
        text = text.replace("\t", " ")
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RowsError(f"line {line} holds the control character #x{error.character:04x}; remove it") from error
    try:
        node = loader.get_single_node()
        if node is None:
            raise RowsError("the file is empty; it must be a list of rows")
        _check_plain(node, {})
        return _table(loader, node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1} " if mark else ""
        raise RowsError(f"{place}is not YAML: {getattr(error, 'problem', None) or 'the text breaks off'}") from error
    except RecursionError as error:
        raise RowsError("it is nested too deeply") from error
    finally:
        loader.dispose()  # type: ignore[no-untyped-call]


def _table(loader: _Loader, node: yaml.Node) -> Table:
    defaults: Any = {}
    listed: yaml.Node | None = node
    if isinstance(node, yaml.MappingNode):
        parts = {key.value: value for key, value in node.value}
        for name in sorted(set(parts) - {"defaults", "rows"}):
            raise RowsError(f"line {parts[name].start_mark.line + 1}: {name} is neither defaults nor rows")
        if "defaults" in parts:
            defaults = loader.construct_document(parts["defaults"])  # type: ignore[no-untyped-call]
            if not isinstance(defaults, dict):
                raise RowsError(f"line {_line(parts['defaults'])}: defaults is not a mapping of fields")
        listed = parts.get("rows")
    if not isinstance(listed, yaml.SequenceNode):
        raise RowsError(f"line {_line(listed or node)}: this must be a list of rows, or defaults and rows")
    rows = []
    for item in _enough(listed.value):
        values = loader.construct_document(item)  # type: ignore[no-untyped-call]
        if not isinstance(values, dict):
            raise RowsError(f"line {_line(item)}: a row is a mapping of fields")
        rows.append((f"line {_line(item)}", values))
    return Table(defaults, rows)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _check_plain(node: yaml.Node, fields: dict[int, int]) -> int:
    """The number of fields of a node once its merges and aliases are expanded; fields: those of the nodes so far.

    RowsError for tags, for too many fields, and for a field named twice in one mapping: YAML would silently keep
    the last one. Only single mappings may be merged: that is enough for defaults.
    """
    if id(node) in fields:
        return fields[id(node)]
    fields[id(node)], count = 0, 1
    if node.tag not in PLAIN:
        raise RowsError(f"line {_line(node)} has a tag ({node.tag.removeprefix(TAG)}); values have none here")
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            count += _check_plain(item, fields)
    elif isinstance(node, yaml.MappingNode):
        names = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise RowsError(f"line {_line(key)}: the name of a field is text")
            if key.value in names:
                raise RowsError(f"line {_line(key)} names {key.value} twice in one mapping")
            names.add(key.value)
            if key.value == "<<" and not isinstance(value, yaml.MappingNode):
                raise RowsError(f"line {_line(key)}: << takes one mapping")
            count += _check_plain(value, fields)
    _check_fields(count, _line(node))
    fields[id(node)] = count
    return count


def _check_fields(count: int, line: int) -> None:
    if count > MOST_FIELDS:
        raise RowsError(f"line {line}: all rows together have more than {MOST_FIELDS} fields; import fewer at a time")


def _enough(rows: Sequence[Any]) -> Sequence[Any]:
    if not rows:
        raise RowsError("there is no row")
    if len(rows) > MOST_ROWS:
        raise RowsError(f"there are {len(rows)} rows, more than the {MOST_ROWS} that one import takes")
    return rows
