# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of this collection: which there are, and what is wrong with those that a host has.

A name with a prefix of the collection (``zpower_``, and the name of each role) is known, or it is a mistake: Ansible
would silently ignore it. The known ones are those of the roles' argument_specs.yml and those in :data:`COMMON`.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ansible.module_utils.common import validation
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load

from ...module_utils._engine.durations import seconds
from .._answers import facts
from .._answers.text import one_line, shorten
from .._records.checks import MOST_ROUNDS, RUN_KINDS

try:
    from ansible.template import trust_as_template
except ImportError:  # before ansible-core 2.19

    def trust_as_template(value: str) -> str:
        return value


COLLECTION = Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (COLLECTION / "roles").iterdir() if path.is_dir())
OWN = "zpower_own_variables"
_FAILS = {"type": "str", "choices": ["fail", "warn"]}
COMMON: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("zpower_tunings", "zpower_hosts", "zpower_captures", "zpower_results_command"), {"type": "raw"}),
    **dict.fromkeys(("zpower_root", "zpower_results"), {"type": "path"}),
    **dict.fromkeys(("zpower_checkpoint", "zpower_change", "zpower_run", "zpower_evidence"), {"type": "str"}),
    **dict.fromkeys(("zpower_from", "zpower_to", "zpower_host", "zpower_other_host"), {"type": "str"}),
    **dict.fromkeys(("zpower_rollback", "zpower_confirm"), {"type": "bool"}),
    "zpower_confirm_within": {"type": "duration", "choices": ["unlimited"]},
    "zpower_probation": {"type": "str", "choices": ["only", "compare"]},
    "zpower_soak": {"type": "duration"},
    **dict.fromkeys(("zpower_drift", "zpower_observed", "zpower_unsupported", "zpower_broad_waivers"), _FAILS),
    "zpower_kind": {"type": "str", "choices": [*RUN_KINDS]},
    **dict.fromkeys(("zpower_lease", "zpower_waiver_days", "zpower_host_timeout"), {"type": "int"}),
    "zpower_waivers": {"type": "raw"},
    OWN: {"type": "list", "elements": "str"},
}
"""The variables that several playbooks and plugins read. tests/reference.yml describes them."""
GENERIC = ("tune_", "verify_")
"""Prefixes of other programs too, such as ``verify_ssl``: only what looks like a variable of ours is a mistake."""
PREFIXES = re.compile(f"(?:zpower|{'|'.join(ROLES)})_".replace("_", "[_.-]"), re.IGNORECASE)
RESULT = {"changed", "failed"}  # of a task that registers a variable
TEMPLATE = re.compile(r"\{[{%]")
OF_MODULE = re.compile(r"^(argument '|value of )?(\w+)(?=[:']| is | has | must )")
LONGEST, SHOWN = 450, 60


def collection_version(top: Path) -> str:
    """The version of the collection at ``top``: of MANIFEST.json where it is installed, else of galaxy.yml."""
    try:
        return str(json.loads((top / "MANIFEST.json").read_text("utf-8"))["collection_info"]["version"])
    except (OSError, ValueError, KeyError):
        pass
    try:
        found = re.search(r"^version:\s*[\"']?([^\s\"'#]+)", (top / "galaxy.yml").read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else "unknown"


def _number(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        found = convert(value)
        if isinstance(value, bool) or not math.isfinite(found):
            raise TypeError
        return found

    return check


def _text(value: Any) -> Any:
    if isinstance(value, (list, dict, bool)):
        raise TypeError
    return value


KINDS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (validation.check_type_bool, "true or false"),
    "int": (_number(validation.check_type_int), "a whole number"),
    "float": (_number(validation.check_type_float), "a number"),
    "list": (validation.check_type_list, "a list"),
    "dict": (validation.check_type_dict, "a dictionary"),
    "str": (_text, "a text"),
    "path": (_text, "a path"),
    "raw": (lambda value: value, ""),
}
"""The conversion of each type, which raises for other values, and what would be right."""
_PERCENT = (lambda value: 0 < value <= 100, "a number above 0 and at most 100")
_NOT_NEGATIVE = (lambda value: value >= 0, "a number of at least 0")
_ROUNDS = (lambda value: 1 <= value <= MOST_ROUNDS, f"a whole number from 1 to {MOST_ROUNDS}")
RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **{f"{role}_material_pct": _PERCENT for role in ("report", "trend", "experiment", "calibrate")},
    **dict.fromkeys(
        ("zpower_lease", "zpower_waiver_days", "zpower_host_timeout", "measure_max_minutes"), _NOT_NEGATIVE
    ),
    "rollout_guard_cpu_pct": (lambda value: value > 0, "a number above 0"),
    **dict.fromkeys(("measure_rounds", "experiment_rounds", "calibrate_rounds", "calibrate_planned_rounds"), _ROUNDS),
}
"""Numbers that would be refused, or do harm, only after hosts were measured or changed."""


@cache
def role_specs(name: str) -> dict[str, dict[str, object]]:
    """The variables of a role with their types and choices, from all entry points of its argument_specs.yml."""
    specs = yaml_load((COLLECTION / "roles" / name / "meta" / "argument_specs.yml").read_text("utf-8"))
    return {name: spec for entry in specs["argument_specs"].values() for name, spec in entry["options"].items()}


@cache
def role_values(name: str) -> dict[str, Any]:
    """The variables of defaults/main.yml of a role, untemplated."""
    path = COLLECTION / "roles" / name / "defaults" / "main.yml"
    found = yaml_load(path.read_text("utf-8")) if path.exists() else {}
    return {name: trusted(value) for name, value in found.items()}


def trusted(value: Any) -> Any:
    """The value with templates that Ansible follows: from 2.19 on, only what it has read itself is a template."""
    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, dict):
        return {key: trusted(item) for key, item in value.items()}
    return [trusted(item) for item in value] if isinstance(value, list) else value


@cache
def known() -> dict[str, dict[str, Any]]:
    """All variables of the collection with their specs."""
    return {name: spec for role in ROLES for name, spec in role_specs(role).items()} | COMMON


@cache
def defaults() -> dict[str, object]:
    """The default of each variable of the roles."""
    return {name: value for role in ROLES for name, value in role_values(role).items()}


@cache
def known_tunings() -> list[str]:
    """The names of all tunings, sorted."""
    files = (COLLECTION / "plugins" / "module_utils" / "_tunings").glob("[!_]*.py")
    return sorted(path.stem for path in files)


def choose(chosen: object, known: list[str]) -> list[str]:
    """The chosen names (a list, or a text with commas), checked; raises ValueError with one sentence."""
    if isinstance(chosen, str):
        chosen = [name.strip() for name in chosen.split(",") if name.strip()] or None
    if not isinstance(chosen, (list, tuple)):
        raise ValueError(f"no tunings are chosen: set zpower_tunings to a list of some of {', '.join(known)}")
    unknown = [name for name in chosen if name not in [*known, "all"]]
    if unknown:
        raise ValueError(f"there is no tuning '{unknown[0]}': zpower_tunings takes {', '.join(known)}, or all")
    names = known if "all" in chosen else chosen
    return list(dict.fromkeys(names))


def asked_for(given: object, value_of: Callable[[str], object]) -> object:
    """The tunings that a variable names; if it is empty, those in zpower_tunings of the host."""
    empty = given is None or (isinstance(given, str) and not given.strip())
    return value_of("zpower_tunings") if empty else given


def mistakes(variables: Mapping[str, Any], value_of: Callable[[str], Any] | None = None) -> Iterator[str]:
    """What is wrong with the variables of a host, each a sentence. value_of: the value of a template.

    Without value_of, and where it raises ValueError, templates are left to the task that uses them.
    """

    def value(name: str) -> Any:
        found = variables[name]
        if not TEMPLATE.search(str(found)):
            return found
        try:
            return value_of(name) if value_of else None
        except ValueError:
            return None

    if "_raw_params" in variables:
        yield f"-e has {_shown(variables['_raw_params'])}, which gives no value; it must be name=value"
    of_host = variables.get("ansible_facts", ())  # facts.check() has the sentence about these
    texts = (name for name in variables if isinstance(name, str) and name not in of_host)
    # other letters may only look like ours
    for name in sorted(name for name in texts if PREFIXES.match(name) or not name.isascii()):
        spec = known().get(name)
        if spec:
            # defaults of roles follow other variables
            free = spec["type"] in ("raw", "str", "path") and "choices" not in spec and isinstance(variables[name], str)
            sentence = "" if free or variables[name] == defaults().get(name) else wrong(name, spec, value(name))
            if sentence:
                yield sentence
        elif name not in facts.ALLOWED and not (isinstance(variables[name], Mapping) and RESULT & {*variables[name]}):
            own = (value(OWN) if OWN in variables else None) or ()
            own = own if isinstance(own, (list, tuple, dict)) else str(own).split(",")
            if not any(fnmatchcase(name, str(pattern).strip()) for pattern in own):
                yield from misspelt(name)


def misspelt(name: str) -> Iterator[str]:
    """The sentence about an unknown name; none if only its prefix is like ours."""
    plain = re.sub("[-.]", "_", name.lower())
    near, sure = (get_close_matches(plain, known(), n=1, cutoff=cutoff) for cutoff in (0.6, 0.85))
    said = f"there is no variable {_shown(name)}"
    if sure:
        yield f"{said}; did you mean {sure[0]}?"
    elif PREFIXES.match(name) and not plain.startswith(GENERIC):
        meant = f"did you mean {near[0]}? A" if near else "a"
        yield f"{said}; {meant} variable of your own with such a name goes into {OWN}"


def wrong(name: str, spec: Mapping[str, Any], value: Any) -> str:
    """What is wrong with the value of a known variable; empty if nothing is. An empty field of a survey is not set."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    try:
        if spec["type"] == "duration":
            if value not in spec.get("choices", ()):
                seconds(value, name)  # type: ignore[no-untyped-call]
        elif spec["type"] == "list":
            element = {**spec, "type": spec.get("elements", "raw")}
            for item in _converted(f"{name} is", "list", value):
                _check(f"{name} has", element, item)
        else:
            _check(f"{name} is", spec, value)
    except ValueError as error:
        return one_line(error)
    return ""


def _check(has: str, spec: Mapping[str, Any], value: Any) -> None:
    choices = [str(choice) for choice in spec.get("choices", ())]
    # YAML reads off as false
    found = _converted(has, "raw" if choices and isinstance(value, bool) else spec["type"], value, spec.get("options"))
    if choices and {str(found), "off" if found is False else ""}.isdisjoint(choices):
        near = get_close_matches(str(found).lower(), choices, n=1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f"{has} {_shown(value)}; it must be one of {', '.join(choices)}{meant}")
    errors = ArgumentSpecValidator(dict(spec["options"])).validate(found).error_messages if "options" in spec else ()
    if errors:
        # Ansible adds names of Python classes
        said = re.sub(r"\.? and we were unable to convert to (\w+): .*", r"; it must be of type \1", errors[0])
        said = re.sub(r"<class '(\w+)'>", r"\1", said)
        raise ValueError(f"{has} {_shown(value)}: {said}")
    right, belongs = RANGES.get(has.removesuffix(" is"), (None, ""))
    if right and not right(found):
        raise ValueError(f"{has} {_shown(value)}; it must be {belongs}")


def _converted(has: str, kind: str, value: Any, fields: Iterable[str] | None = None) -> Any:
    convert, belongs = KINDS[kind]
    belongs += f" with {', '.join(fields)}" if fields else ""
    try:
        return convert(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{has} {_shown(value)}; it must be {belongs}") from None


def _shown(value: Any) -> str:
    """The value in a sentence: escaped if it has other letters, which may look like ours."""
    text = repr(value.isoformat() if isinstance(value, date) else value)
    return shorten(one_line(text if text.isascii() else ascii(value)), SHOWN)


def refusal(sentences: Mapping[str, Iterable[str]], hosts: int) -> str:
    """One text for {sentence: its hosts} of a play with this many hosts; what is too long is counted."""
    said = ""
    for place, (sentence, names) in enumerate(sentences.items()):
        of = list(names)
        more = f" and {len(of) - 3} more hosts" if len(of) > 3 else ""
        one = sentence + (f" ({', '.join(of[:3])}{more})" if len(of) < hosts else "")
        if said and len(said) + len(one) > LONGEST:
            return f"{said}; and {len(sentences) - place} more"
        said += ("; " if said else "") + shorten(one, LONGEST)
    return said


def option_names(role: str) -> dict[str, str]:
    """The user's variable for each option of a role's module."""
    common = {option: f"zpower_{option}" for option in ("checkpoint", "lease", "confirm_within", "root")}
    return {**common, **{variable.removeprefix(f"{role}_"): variable for variable in role_specs(role)}}


def in_variables(names: Mapping[str, str], text: str) -> str:
    """The sentence of a module with the user's variable in the place of the option at its beginning."""
    return OF_MODULE.sub(lambda found: (found[1] or "") + names.get(found[2], found[2]), text)
