# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users build on, a line each: options, defaults, return values, variables, playbooks, fields of records, files.

`make release-check` compares the lines of the last release with those of this checkout (tests/release.py).
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import generate
import yaml
from packaging.version import Version

JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def _type(option: Mapping[str, Any]) -> str:
    return f"list of {option['elements']}" if option.get("elements") else str(option.get("type", "str"))


def of_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8")) or {}


def of_options(where: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Return lines for options, variables or return values, with their aliases, choices, defaults and suboptions."""
    for name, option in generate.public(options).items():
        for one in (name, *option.get("aliases", ())):
            yield f"{where} {one}: {_type(option)}"
            yield from (f"{where} {one}={choice}" for choice in option.get("choices", ()))
            if not option.get("required") and not where.startswith("return/"):
                yield f"default/{where} {one}: {json.dumps(option.get('default'), sort_keys=True)}"
        yield from (f"setting {one['name']}" for one in option.get("env", ()))
        yield from (f"setting {one['section']} {one['key']}" for one in option.get("ini", ()))
        for key in ("suboptions", "options", "contains"):
            yield from of_options(f"{where} {name}", option.get(key) or {})


def of_plugin(top: Path, path: Path) -> Iterator[str]:
    """Return lines for a public plugin, its return values and its options, also those of documentation fragments."""
    where, found = f"{path.parent.name} {path.stem}", generate.documentation(path)
    if not generate.public({path.stem: found}):
        return
    yield where
    if path.parent.name != "callback":
        yield from of_options(f"return/{where}", generate.documentation(path, "RETURN"))
    shared, options = found.get("extends_documentation_fragment", []), dict[str, Any]()
    for one in [shared] if isinstance(shared, str) else shared:
        fragment = top / "plugins" / "doc_fragments" / f"{one.rpartition('.')[2]}.py"
        if fragment.exists():  # the others belong to ansible-core
            options |= generate.documentation(fragment).get("options", {})
    yield from of_options(where, {**options, **found.get("options", {})})


def parts(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return a schema, the schemas it refers to, and its alternatives."""
    yield schema
    referred = [definitions[schema["$ref"].rpartition("/")[2]]] if "$ref" in schema else []
    for one in [*referred, *(one for key in ("allOf", "anyOf", "oneOf") for one in schema.get(key, ()))]:
        yield from parts(one, definitions)


def of_fields(
    where: str, schema: Mapping[str, Any], definitions: Mapping[str, Any], found: dict[str, set[str]]
) -> dict[str, set[str]]:
    """Add {field: its types} to ``found``."""
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


def surface(top: Path = generate.HERE) -> set[str]:
    """Return all lines of a tree."""
    found = {f"action group {name}" for name in of_yaml(top / "meta" / "runtime.yml").get("action_groups", {})}
    found |= {f"modules {old}" for old in generate.redirects(top)}
    for kind in ("modules", "callback", "lookup"):
        for path in (top / "plugins" / kind).glob("[!_]*.py"):
            found |= {*of_plugin(top, path)}
    for path in (top / "roles").glob("*/meta/argument_specs.yml"):
        for name, entry in of_yaml(path)["argument_specs"].items():
            found.add(f"role {path.parts[-3]} {name}".removesuffix(" main"))
            found |= {*of_options("variable", entry.get("options", {}))}
    for group in of_yaml(top / "tests" / "reference.yml")["variables"]:
        found |= {*of_options("variable", {one["name"]: one for one in group["variables"]})}
    found |= {f"playbook {path.stem}" for path in (top / "playbooks").glob("*.yml")}
    for path in (top / "docs" / "schemas").glob("*.json"):
        schema = json.loads(path.read_text("utf-8"))
        fields = of_fields(f"record {schema['$id']}", schema, schema.get("$defs", {}), {})
        found |= {f"{name}: {'|'.join(sorted(types)) or 'any'}" for name, types in fields.items()}
    page = (top / "docs" / "evidence.md").read_text("utf-8")
    for metric, labels in re.findall(r"`(zpower_\w+)\{([\w,]+)\}`", page):
        found |= {f"metric {metric} {label}" for label in labels.split(",")}
    found |= {
        f"column {name}"
        for line in re.findall(r"(?m)^\| `verify.csv` .*", page)
        for name in re.findall(r"`(\w+)`", line)
    }
    page = (top / "docs" / "codes_files_ports.md").read_text("utf-8")
    found |= {f"exit code {code}" for code in re.findall(r"(?m)^\| (\d+) \|", page)}
    return found | {f"file {path}" for path in re.findall(r"`([/<][^` ]*/[^` ]+|[\w<>/-]+\.json)`", page)}


def wider(type_: str) -> set[str]:
    """Return the types of options that take every value of a type."""
    element = type_.removeprefix("list of ")
    found = {element, "raw", *(["float"] if element == "int" else [])}
    return found if element == type_ else {"raw", "list", *(f"list of {one}" for one in found)}


def missing(old: set[str], new: set[str]) -> set[str]:
    """Return the lines that are gone. A field of a record may lose a type; an option may take more than before."""
    types = dict(line.split(": ", 1) for line in new if ": " in line)
    chosen = {line.partition("=")[0] for line in new}

    def kept(line: str) -> bool:
        name, _colon, type_ = line.partition(": ")
        if line.startswith("record "):
            return {*types.get(name, "?").split("|")} <= {*type_.split("|")}
        option, choice, _value = name.partition("=")
        free = choice and option in types and option not in chosen
        return bool(free) or not line.startswith(("default/", "return/")) and types.get(name) in wider(type_)

    return {line for line in old - new if not kept(line)}


def announced(line: str, text: str) -> bool:
    """Return whether a text names the module, variable, playbook, record or file, and the part of it that is gone."""
    _kind, owner, *rest = line.partition(": ")[0].split(" ")
    owner = owner.split("/")[1] if line.startswith("record ") else owner
    names = [owner, *re.split("=", "".join(rest[-1:]))]
    return all(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names)


def last_release(top: Path, version: str) -> str | None:
    """Return the tag of the newest release before a version, among the ancestors of HEAD."""
    command = ["git", "tag", "--merged", "HEAD", "--list", "v[0-9]*"]
    tags = subprocess.run(command, cwd=top, check=True, capture_output=True, text=True).stdout.split()
    return max((tag for tag in tags if Version(tag) < Version(version)), key=Version, default=None)


def at(top: Path, tag: str) -> set[str]:
    """Return the lines of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", tag], cwd=top, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive)
        return surface(Path(folder))


def problems(gone: set[str], texts: list[str], old: Version, new: Version) -> list[str]:
    """Return what is wrong with lines that are gone. texts: what the changelog says about breaks since then."""
    unnamed = sorted(line for line in gone if not any(announced(line, text) for text in texts))
    found = [f"gone, and in no entry of breaking_changes or removed_features: {line}" for line in unnamed]
    if gone and new.major == old.major:
        found += [f"needs the version {old.major + 1}.0.0, because it is gone: {line}" for line in sorted(gone)]
    return found
