# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The types of documents are those of their schemas, and turn away what does not fit them."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import shapes as report
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import shapes as evidence
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.shapes import NotRequired, Stamp, check_shape
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import checking as rollout
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series import scaling, trend
from documents import schema_of

TIME = "2026-11-20T10:00:00Z"


def resolved(schema: Any, root: dict[str, Any]) -> Any:
    """The schema behind a reference, and the one beside null."""
    if "$ref" in schema:
        return resolved(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    either = schema.get("oneOf") or schema.get("anyOf")
    return resolved(either[0], root) if either else schema


def compared(shape: Any, schema: Any, root: dict[str, Any], where: str) -> list[str]:
    """The fields that only one of both has, or that only one of them demands."""
    schema = resolved(schema, root)
    origin, parts = get_origin(shape), get_args(shape)
    if is_typeddict(shape):
        fields = get_type_hints(shape, include_extras=True)
        known = schema["properties"]
        alone = [f"{where}.{name}" for name in fields.keys() ^ known.keys() if schema["additionalProperties"] is False]
        required = {name for name, hint in fields.items() if get_args(hint)[-1:] != (NotRequired,)}
        demanded = [f"{where}.{name} is demanded by one" for name in required ^ {*schema["required"]}]
        inner = [compared(fields[name], known[name], root, f"{where}.{name}") for name in fields.keys() & known.keys()]
        return [*alone, *demanded, *(text for found in inner for text in found)]
    if origin is list:
        return compared(parts[0], schema["items"], root, f"{where}[]")
    if origin is dict:
        more = schema.get("additionalProperties")
        return compared(parts[1], more, root, f"{where}.*") if isinstance(more, dict) else []
    if parts and parts[-1] in (type(None), NotRequired):
        return compared(parts[0], schema, root, where)
    if origin is Annotated:
        words = parts[1] if isinstance(parts[1], tuple) else ()
        return (
            [f"{where}: other words"] if words and set(words) != set(schema.get("enum", [schema.get("const")])) else []
        )
    return []


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        (evidence.Document, "evidence"),
        (rollout.Document, "rollout"),
        (report.Report, "report"),
        (trend.Trend, "trend"),
        (scaling.Scaling, "scaling"),
    ],
)
def test_types_and_schemas_have_the_same_fields(shape: Any, name: str) -> None:
    schema = schema_of(name)
    assert compared(shape, schema, schema, name) == []
    del schema["properties"]["headline"]
    schema["required"].remove("schema")
    assert sorted(compared(shape, schema, schema, name)) == [f"{name}.headline", f"{name}.schema is demanded by one"]


class Inner(TypedDict):
    """A part of a document."""

    count: int
    names: list[str]


class Sample(TypedDict):
    """One of each kind."""

    word: Annotated[str, ("one", "two")]
    flag: bool
    time: Stamp | None
    size: float
    inner: dict[str, Inner]
    anything: object
    more: NotRequired[Inner]


def sample(**more: Any) -> dict[str, Any]:
    inner = {"a": {"count": 1, "names": ["x"]}}
    return {"word": "one", "flag": True, "time": TIME, "size": 1.5, "inner": inner, "anything": None, **more}


@pytest.mark.parametrize("more", [{}, {"time": None}, {"more": None}, {"inner": {}}, {"unknown": 7}])
def test_what_fits(more: dict[str, Any]) -> None:
    check_shape(sample(**more), Sample)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"word": "three"}, "word is 'three'; it must be one of one, two"),
        ({"word": ["one"]}, "word is a list; it must be one of one, two"),
        ({"flag": 1}, "flag is 1; it must be true or false"),
        ({"time": "today"}, "time is 'today'; it must be a time such as 2026-11-20T10:00:00Z"),
        ({"size": None}, "size is missing; it must be a number"),
        ({"size": float("inf")}, "size is inf; it must be a number or null"),
        ({"inner": []}, "inner is a list; it must be an object"),
        ({"inner": {"a": {"count": True, "names": []}}}, "inner.a.count is True; it must be a whole number from 0"),
        ({"inner": {"a": {"count": 1, "names": [7]}}}, "inner.a.names is 7; it must be a list of texts"),
        ({"more": {"count": 1}}, "more.names is missing; it must be a list of texts"),
    ],
)
def test_what_does_not_fit_is_named(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_shape(sample(**more), Sample)
    assert str(caught.value).startswith(words)


def test_what_is_missing_may_be_filled() -> None:
    document = sample(more={"count": 1})
    del document["time"]
    check_shape(document, Sample, fill=True)
    assert document["time"] is None and document["more"] == {"count": 1, "names": []}
    with pytest.raises(ValueError, match="^flag is missing; it must be true or false"):
        check_shape(sample(flag=None), Sample, fill=True)
