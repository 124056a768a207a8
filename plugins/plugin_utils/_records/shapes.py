# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that anybody may have written, held against the TypedDict of its document: one declaration for mypy and files.

Besides other TypedDicts a field may be ``str``, ``bool``, ``int`` (from 0), ``float`` (within bounds), ``object``
(anything), a list, a dict, one of these ``| None``, or ``Annotated`` with the allowed texts or with a function that is
called with the name of the field and its value. ``NotRequired`` marks a field that may be missing. Errors are those of
checks.py.
"""

import functools
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from .checks import Fields, check_number, microseconds, wrong

__all__ = ["NotRequired", "Stamp", "check_shape", "stamp"]


def stamp(where: str, value: object) -> None:
    """The check of :data:`Stamp`."""
    if microseconds(value) is None:
        raise wrong(where, value, "a time such as 2026-11-20T10:00:00Z")


Stamp = Annotated[str, stamp]
"""UTC in ISO 8601 with Z."""

if TYPE_CHECKING:
    from typing import NotRequired
else:

    class NotRequired:  # Python 3.11 has it
        def __class_getitem__(cls, hint):
            return Annotated[hint, cls]


SCALARS = {str: Fields.text, bool: Fields.flag, int: Fields.count}


def check_shape(value: object, shape: Any, where: str = "", fill: bool = False) -> None:
    """ValueError in one sentence unless the value has this shape. ``where``: the name of its field.

    With ``fill`` a list or an optional value that is missing becomes an empty list or None.
    """
    if is_typeddict(shape):
        item = Fields(value, where or "the file").item
        for name, hint in _fields(shape).items():
            required = get_args(hint)[-1:] != (NotRequired,)
            if fill and required and item.get(name) is None:
                item[name] = [] if get_origin(hint) is list else None
            if required or item.get(name) is not None:
                check_shape(item.get(name), hint, f"{where}.{name}" if where else name, fill)
    elif shape in SCALARS:
        SCALARS[shape](Fields({"": value}, "", where), "")
    elif shape is float:
        if value is None:
            raise wrong(where, value, "a number")
        check_number(where, value)
    else:
        _check_parts(value, get_origin(shape), get_args(shape), (where, fill))


def _check_parts(value: object, origin: object, parts: Sequence[Any], place: tuple[str, bool]) -> None:
    where, fill = place
    if origin in (Union, types.UnionType) and value is not None:
        check_shape(value, parts[0], where, fill)
    elif origin is dict:
        for name, entry in Fields(value, where).item.items():
            check_shape(entry, parts[1], f"{where}.{name}", fill)
    elif origin is list:
        _check_list(value, parts[0], where, fill)
    elif origin is Annotated and isinstance(parts[1], tuple):
        if value not in parts[1]:
            known = ", ".join(filter(None, parts[1]))
            raise wrong(where, value, f"one of {known}" if len(parts[1]) > 1 else known)
    elif origin is Annotated and parts[1] is NotRequired:
        check_shape(value, parts[0], where, fill)
    elif origin is Annotated:
        parts[1](where, value)


def _check_list(value: object, shape: Any, where: str, fill: bool) -> None:
    right = "a list of texts" if shape is str else "a list"
    if not isinstance(value, list):
        raise wrong(where, value, right)
    for number, entry in enumerate(value):
        if shape is str and not isinstance(entry, str):
            raise wrong(where, entry, right)
        check_shape(entry, shape, f"{where}[{number}]", fill)


@functools.cache
def _fields(shape: Any) -> dict[str, object]:
    return get_type_hints(shape, include_extras=True)
