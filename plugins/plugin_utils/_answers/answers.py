# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one door for answers of modules: what a host says becomes named fields of known types; all else is dropped.

So a host sets no facts (``ansible_facts``), adds no hosts, notifies nobody, and no key of the controller's is in its
answer. Text has a bounded length and no hidden signs.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, cast

from .rows import Row, plain, rows_of
from .text import clean, one_line, shorten

LONGEST_MESSAGE = 10_000
LONGEST_OUTPUT = 100_000
MOST_SENTENCES = 500
MOST_FACTS = 200_000
MOST_FIGURES = 1_000_000
"""Values of the records of one round: 100 runs of 50 workloads have half of them."""

SESSION: dict[str, type] = {
    **{name: str for name in ("tool", "version", "address", "token", "start_time", "started")},
    **{name: int for name in ("port", "control_port", "pid", "lifetime")},
}
"""The fields of a measuring server, for the hosts that measure against it."""


class Answer(TypedDict, total=False):
    """The answer of a module. Every module says what stands before ``tuning``, and some of the rest."""

    changed: bool
    failed: bool
    unreachable: bool
    skipped: bool
    rc: int
    msg: str
    skip_reason: str
    exception: str
    module_stdout: str
    module_stderr: str
    warnings: list[str]
    invocation: Any
    tuning: list[Row]
    diff: dict[str, str]
    instances: Any
    tunings: dict[str, "Answer"]
    platform: Any
    preflight: list[str]
    errors: list[str]
    drift: list[str]
    failing: list[str]
    waivers: list[Any]
    problems: list[str]
    session: dict[str, str | int | None]
    enqueue: Any
    records: list[Any]
    ansible_facts: dict[str, object]


Parser = Callable[[object], Any]


def sentence(value: object) -> str:
    """Text in one line; newer versions of ansible-core hand over an object for a warning or an error."""
    value = value.get("msg", "") if isinstance(value, Mapping) else value
    event = getattr(value, "event", None)
    return one_line(shorten(str(value if event is None else event.msg), LONGEST_MESSAGE))


def sentences(value: object) -> list[str]:
    return [sentence(item) for item in value[:MOST_SENTENCES]] if isinstance(value, (list, tuple)) else []


def output(value: object) -> str:
    """Text of several lines, whose end counts; empty for anything else."""
    return clean(value[-LONGEST_OUTPUT:]) if isinstance(value, str) else ""


def structure(value: object) -> Any:
    """JSON of any form, such as the facts of a platform."""
    return plain(value, MOST_FACTS)


def diff(value: object) -> dict[str, str]:
    given = value if isinstance(value, Mapping) else {}
    return {name: output(given.get(name)) for name in ("before", "after")}


def session(value: object) -> dict[str, str | int | None]:
    """The fields of :data:`SESSION` that have the right type; the module of the client refuses what is missing."""
    given = value if isinstance(value, Mapping) else {}
    found: dict[str, Any] = {name: plain(given[name]) for name in SESSION if name in given}
    return {name: found[name] if _is(found[name], SESSION[name]) else None for name in found}


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def records(value: object) -> list[Any]:
    """Records of a measurement as plain JSON; figures stay as they are, because who stores the records checks them."""
    given = value if isinstance(value, (list, tuple)) else [value]
    return [plain(item, MOST_FIGURES, lambda one: output(one) if isinstance(one, str) else one) for item in given]


def platform_facts(value: object) -> dict[str, object]:
    """The one fact that a module of this collection gives to a host."""
    given = value if isinstance(value, Mapping) else {}
    return {"zpower_platform": structure(given.get("zpower_platform"))}


def by_tuning(names: Iterable[str]) -> Parser:
    """The parser for the results of these tunings; one that is missing has failed."""

    def read(value: object) -> dict[str, Answer]:
        given = value if isinstance(value, Mapping) else {}
        missing = {"failed": True, "msg": "the host sent no result of this tuning"}
        found = ((name, given.get(name)) for name in names)
        return {name: heard(one if isinstance(one, Mapping) else missing, OF_TUNING) for name, one in found}

    return read


OF_EVERY: dict[str, Parser] = {
    **dict.fromkeys(("changed", "failed", "unreachable", "skipped"), bool),
    **dict.fromkeys(("msg", "skip_reason"), sentence),
    **dict.fromkeys(("module_stdout", "module_stderr"), output),
    "warnings": sentences,
    "invocation": structure,
}
OF_TUNING: dict[str, Parser] = {"tuning": rows_of, "diff": diff, "instances": structure}
OF_SERVER_OR_ROUND: dict[str, Parser] = {"session": session, "enqueue": structure, "records": records}
OF_HOST: dict[str, Mapping[str, Parser]] = {
    "leftovers_info": {
        **{"tuning": rows_of, "tunings": by_tuning(())},
        **dict.fromkeys(("errors", "drift", "failing"), sentences),
    },
    "platform_info": {"ansible_facts": platform_facts},
}
"""Modules without a tuning that are called as they are."""
RENAMED = {"leftovers": "leftovers_info", "platform_check": "platform_settings_info", "workload": "measure_workload"}
"""Old names, until 2.0.0, of modules that share an action; meta/runtime.yml has all."""


def heard(given: Mapping[str, Any], fields: Mapping[str, Parser]) -> Answer:
    """The answer of a module with what every module says and these fields."""
    found = {name: parse(given[name]) for name, parse in {**OF_EVERY, **fields}.items() if name in given}
    if given.get("deprecations"):
        # what ansible-core takes from them may end its run
        found["warnings"] = [*found.get("warnings", []), *sentences(given["deprecations"])]
    if isinstance(given.get("exception"), str):  # newer versions of ansible-core hold an object, whose msg says all
        found["exception"] = output(given["exception"])
    if _is(code := given.get("rc"), int):
        found["rc"] = code
        found.setdefault("failed", code != 0)
    return cast(Answer, found)
