# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users build on: names and types of options, variables, playbooks and fields of records, a line each.

surface.txt has those of the last release, and a test compares them with this checkout. `make generate` writes it when
the version in galaxy.yml has changed. `surface.py FOLDER` writes it from any tree of this collection.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import generate
import yaml
from reference import type_text

FILE = Path(__file__).with_suffix(".txt")
JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def of_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8")) or {}


def of_options(where: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Options or variables with their aliases, choices and suboptions."""
    for name, option in options.items():
        for one in (name, *option.get("aliases", ())):
            yield f"{where} {one}: {type_text(option)}"
            yield from (f"{where} {one}={choice}" for choice in option.get("choices", ()))
        yield from of_options(f"{where} {name}", option.get("suboptions", option.get("options", {})))


def specs_of(top: Path, role: str) -> dict[str, Any]:
    """The variables of a role in all of its entry points."""
    found: dict[str, Any] = {}
    for entry in of_yaml(top / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"].values():
        found |= entry.get("options", {})
    return found


def of_plugin(top: Path, kind: str, name: str, path: Path) -> Iterator[str]:
    """A plugin and its options, with those of its documentation fragments."""
    found = generate.documentation(path)
    shared = found.get("extends_documentation_fragment", [])
    yield f"{kind} {name}"
    yield from of_options(f"{kind} {name}", found.get("options", {}))
    for role in re.findall(r"without C\((\w+)_\) in front", " ".join(generate.paragraphs(found))):
        options = {key.removeprefix(f"{role}_"): spec for key, spec in specs_of(top, role).items()}
        yield from of_options(f"{kind} {name}", options)
    for variable in re.findall(r"C\((report_\w+)\)", " ".join(generate.paragraphs(found))):
        yield f"{kind} {name} {variable.removeprefix('report_')}: {type_text(specs_of(top, 'report')[variable])}"
    for one in [shared] if isinstance(shared, str) else shared:
        fragment = top / "plugins" / "doc_fragments" / f"{one.rpartition('.')[2]}.py"
        if fragment.exists():  # others are of ansible-core
            yield from of_options(f"{kind} {name}", generate.documentation(fragment).get("options", {}))


def parts(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema, what it refers to, and its alternatives."""
    yield schema
    referred = [definitions[schema["$ref"].rpartition("/")[2]]] if "$ref" in schema else []
    for one in [*referred, *(one for key in ("allOf", "anyOf", "oneOf") for one in schema.get(key, ()))]:
        yield from parts(one, definitions)


def of_fields(
    where: str, schema: Mapping[str, Any], definitions: Mapping[str, Any], found: dict[str, set[str]]
) -> dict[str, set[str]]:
    """{field: its types}, added to ``found``."""
    for part in parts(schema, definitions):
        for name, field in part.get("properties", {}).items():
            types = found.setdefault(f"{where} {name}", set())
            for one in parts(field, definitions):
                types |= {one["type"]} if isinstance(one.get("type"), str) else {*one.get("type", ())}
                values = [*one.get("enum", ()), *(one[key] for key in one.keys() & {"const"})]
                types |= {JSON_TYPES[type(value)] for value in values}
            of_fields(f"{where} {name}", field, definitions, found)
        for key in ("items", "additionalProperties"):
            if isinstance(part.get(key), dict):
                of_fields(where, part[key], definitions, found)
    return found


def surface(top: Path) -> set[str]:
    """All lines of a tree."""
    runtime = of_yaml(top / "meta" / "runtime.yml")
    found = {f"action group {name}" for name in runtime.get("action_groups", {})}
    for kind in ("modules", "callback", "lookup"):
        for path in (top / "plugins" / kind).glob("[!_]*.py"):
            found |= {*of_plugin(top, kind, path.stem, path)}
    # an old name that leads to another module is as good as that
    for old, new in generate.redirects(top).items():
        found |= {*of_plugin(top, "modules", old, top / "plugins" / "modules" / f"{new}.py")}
    for role in (path.name for path in (top / "roles").iterdir()):
        found |= {f"role {role}"} | {
            f"variable {name}: {type_text(spec)}" for name, spec in specs_of(top, role).items()
        }
    for group in of_yaml(top / "tests" / "reference.yml")["variables"]:
        found |= {f"variable {one['name']}: {one['type']}" for one in group["variables"]}
    found |= {f"playbook {path.stem}" for path in (top / "playbooks").glob("*.yml")}
    for path in (top / "docs" / "schemas").glob("*.json"):
        schema = json.loads(path.read_text("utf-8"))
        fields = of_fields(f"record {schema['$id']}", schema, schema.get("$defs", {}), {})
        found |= {f"{name}: {'|'.join(sorted(types)) or 'any'}" for name, types in fields.items()}
    return found


def missing(old: set[str], new: set[str]) -> set[str]:
    """Lines that are gone. A field of a record may lose a type; an option may take any."""
    types = dict(line.split(": ", 1) for line in new if ": " in line)

    def kept(line: str) -> bool:
        name, _colon, type_ = line.partition(": ")
        fewer = line.startswith("record ") and {*types.get(name, "?").split("|")} <= {*type_.split("|")}
        return fewer or types.get(name) == "raw"

    return {line for line in old - new if not kept(line)}


def announced(line: str, texts: list[str]) -> bool:
    """Whether a text names what the line is about: the module, variable, playbook or record, and its part."""
    _kind, owner, *rest = line.partition(": ")[0].split(" ")
    owner = owner.split("/")[1] if "/" in owner else owner
    names = [owner, *re.findall(r"[\w-]+", "".join(rest[-1:]))]
    return any(all(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names) for text in texts)


def version(top: Path = generate.HERE) -> str:
    return str(of_yaml(top / "galaxy.yml")["version"])


def recorded() -> tuple[str, set[str]]:
    """The version of surface.txt, and its lines."""
    first, *lines = (line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#"))
    return first.removeprefix("version "), {*lines}


def write(top: Path) -> None:
    head = "".join(f"{line}\n" for line in Path(__file__).read_text("utf-8").splitlines()[:2])
    FILE.write_text("\n".join([f"{head}version {version(top)}", *sorted(surface(top)), ""]), "utf-8")


if __name__ == "__main__":
    write(Path(*sys.argv[1:2] or [generate.HERE]))
