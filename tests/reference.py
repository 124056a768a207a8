# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/variables.md, docs/playbooks.md, and the table of docs/tunings/index.md, for `make generate`.

The variables come from the roles' argument specifications, from tests/reference.yml and from the documentation of
callback and lookup plugins; the playbooks from the comments at their tops; the table from the modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import generate
import yaml

HERE = generate.HERE
DOCS, PLAYBOOKS = HERE / "docs", HERE / "playbooks"
TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text("utf-8"))
HEAD = (
    f"<!--\n{generate.LICENCE}\n"
    "Written by make generate: from the roles' argument_specs.yml, the head of each playbook and tests/reference.yml.\n"
    "-->\n"
)
# the roles that are not tunings, in the order of an administrator's work, each with its page
PAGE_OF = {
    "tune": "evidence.md",
    "verify": "evidence.md",
    "platform": "platform.md",
    "rollout": "rollout.md",
    "measure": "measuring.md",
    "before_after": "measuring.md",
    "calibrate": "calibration.md",
    "experiment": "experiment.md",
    "report": "measuring.md",
    "trend": "series.md",
    "scaling": "series.md",
}
NEVER = "no default"
TUNINGS = generate.PAGES / "index.md"
BEGIN, END = "<!-- tunings: begin, by make generate -->\n", "<!-- tunings: end -->"
SYSTEMS = {"linux": "Linux", "aix": "AIX"}
# Tuning.restart and its meaning for an administrator
EFFECT = {
    "none": "at once, and after each boot",
    "device": "when the device is configured again, which AIX does at once unless it is busy, or after a reboot",
    "instance": "when the SAP instance is restarted",
}

TITLES = {
    "Tags": "tags",
    "Exit code 2": "exit code 2, if",
}
KEYS = ("Hosts", "Check mode", *TITLES, "More")


class Variable(NamedTuple):
    name: str
    default: str
    meaning: str


def specs_of(role: str) -> dict[str, dict[str, Any]]:
    """Return the variables of a role in all of its entry points."""
    text = (generate.ROLES / role / "meta" / "argument_specs.yml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = {}
    for entry in yaml.safe_load(text)["argument_specs"].values():
        found |= entry.get("options", {})
    return found


def defaults_of(role: str) -> dict[str, Any]:
    return dict(yaml.safe_load((generate.ROLES / role / "defaults" / "main.yml").read_text("utf-8")) or {})


def code(text: object) -> str:
    return f"`{text}`"


def default_text(value: Any) -> str:
    """Return a default in words; a template that only names another variable is shown as that variable."""
    if value is None or value == NEVER:
        return "unset"
    if value == "":
        return "empty"
    if not (isinstance(value, str) and "{{" in value):
        return code(generate.flow(value).replace("|", "\\|"))
    simple = re.fullmatch(
        r"\{\{ (\w+)(?: \| default\(([^(){}]*?)(?: \| default\(none\))?(?:, true)?\))? \}\}", value.strip()
    )
    if simple is None:
        return "computed"
    name, other = simple.groups()
    return code(name) + (f" or {code(other.strip(chr(39)))}" if other and other not in ("''", "none") else "")


def meaning(spec: Mapping[str, Any], role: str) -> str:
    """Return the first sentence of the description, the choices, and the keys of a dictionary."""
    text = generate.as_markdown(generate.sentence(generate.paragraphs(dict(spec))[0]), role, {}) + "."
    text = re.sub(r"\b[MP]\(zpower\.sap_tuning\.(\w+)(?:#\w+)?\)", r"`\1`", text)
    text = re.sub(r"`zpower\.sap_tuning\.(\w+)#module:(\w+)`", r"`\2`", text)
    if any(code(choice) not in text for choice in spec.get("choices", ())):
        text += f" One of {', '.join(map(code, spec['choices']))}."
    if spec.get("options"):
        text += f" Keys: {', '.join(map(code, spec['options']))}."
    return text


def of_role(role: str) -> list[Variable]:
    defaults = defaults_of(role)
    return [
        Variable(name, default_text(defaults.get(name, spec.get("default", NEVER))), meaning(spec, role))
        for name, spec in specs_of(role).items()
    ]


def of_all() -> list[tuple[str, list[Variable]]]:
    """Return the variables that no role describes, by subject."""
    return [
        (
            group["title"],
            [
                Variable(one["name"], default_text(one.get("default", NEVER)), one["meaning"])
                for one in group["variables"]
            ],
        )
        for group in TEXTS["variables"]
    ]


def settings() -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (plugin, environment variable, key of ansible.cfg, option) of the plugins with settings."""
    for path in sorted([*(HERE / "plugins" / "callback").glob("*.py"), *(HERE / "plugins" / "lookup").glob("*.py")]):
        for option in generate.documentation(path).get("options", {}).values():
            for env, ini in zip(option.get("env", []), option.get("ini", []), strict=True):
                yield path.stem, env["name"], f"[{ini['section']}] {ini['key']}", option


def rows(variables: list[Variable]) -> list[str]:
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    return lines + [f"| `{v.name}` | {v.default} | {v.meaning} |" for v in variables]


def variables_page() -> str:
    lines = [HEAD, TEXTS["variables_page"]]
    lines += ["## For all playbooks", "They go to several roles and plugins.", ""]
    for title, variables in of_all():
        lines += [f"### {title}", *rows(variables), ""]
    lines += ["## Tunings", "The variables of a tuning are on its page, under *Settings*:", ""]
    lines += [f"- [{role}](tunings/{role}.md#settings)" for role in sorted(generate.TUNINGS)]
    lines += [""]
    lines += ["## Other roles", ""]
    for role, page in PAGE_OF.items():
        lines += [f"### Role {role}", f"More: [{page}]({page}).", "", *rows(of_role(role)), ""]
    lines += [
        "## Environment and ansible.cfg",
        "| environment | ansible.cfg | plugin | default | meaning |",
        "|---|---|---|---|---|",
    ]
    for plugin, env, ini, option in settings():
        lines.append(
            f"| `{env}` | `{ini}` | `{plugin}` | {default_text(option['default'])} | {meaning(option, plugin)} |"
        )
    return "\n".join(lines) + "\n"


def about(path: Path) -> dict[str, str]:
    """Return the comment at the top of a playbook: {"": summary, key: text}. Raise ValueError if a key is missing."""
    found: dict[str, list[str]] = {"": []}
    key = ""
    for line in path.read_text("utf-8").splitlines()[4:]:
        if not line.startswith("# "):
            break
        name, colon, rest = line[2:].partition(": ")
        key, text = (name, rest) if colon and name in KEYS else (key, line[2:])
        found.setdefault(key, []).append(text.strip())
    missing = [key for key in ("", *KEYS) if not found.get(key)]
    if missing:
        raise ValueError(f"{path}: the comment at the top lacks {', '.join(repr(key) for key in missing)}")
    return {key: " ".join(texts) for key, texts in found.items()}


def marked(text: str) -> str:
    """Mark options and variables in the text of a comment as code."""
    return re.sub(r"\w+ -e \w+=\w+|--[a-z]+|\b(?:zpower|rollout|before_after|report)_\w+", r"`\g<0>`", text)


def playbooks_page() -> str:
    lines = [HEAD, TEXTS["playbooks_page"]]
    found = {path.stem: about(path) for path in sorted(PLAYBOOKS.glob("*.yml"))}
    lines += ["| playbook | hosts | check mode |", "|---|---|---|"]
    lines += [f"| [{name}](#{name}) | {text['Hosts']} | {text['Check mode']} |" for name, text in found.items()]
    for name, text in found.items():
        lines += ["", f"## {name}", text[""] + f" More: [{text['More']}]({text['More']}).", "", "| | |", "|---|---|"]
        for key, title in TITLES.items():
            lines.append(f"| {title} | {marked(text[key])} |")
    return "\n".join(lines) + "\n"


def systems(module: Path) -> str:
    """Return where a module acts: its own attribute, otherwise that of all tunings."""
    given = generate.documentation(module).get("attributes", {})
    shared = generate.documentation(generate.FRAGMENTS / "tuning.py")["attributes"]
    names = {**shared["platform"], **given.get("platform", {})}["platforms"]
    return ", ".join(SYSTEMS[name.strip()] for name in names.split(","))


def tunings_page() -> str:
    """Return the page of all tunings with the current table."""
    lines = ["| tuning | what it does | systems | takes effect |", "|---|---|---|---|"]
    for name in sorted(generate.TUNINGS):
        module = generate.MODULES / f"{name}.py"
        said = generate.documentation(module)["short_description"]
        on, effect = systems(module), EFFECT[generate.tuning_class(name).restart]
        effect = effect if "AIX" in on else effect.replace(", which AIX does at once unless it is busy", "")
        lines.append(f"| [{name}]({name}.md) | {said} | {on} | {effect} |")
    return generate.between_marks(TUNINGS, "\n".join(lines) + "\n", BEGIN, END)


def files() -> Iterator[tuple[Path, str]]:
    yield DOCS / "variables.md", variables_page()
    yield DOCS / "playbooks.md", playbooks_page()
    yield TUNINGS, tunings_page()
