# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the variables of a tuning's role from the documentation of its module.

`make generate` writes them into the role's defaults/main.yml and meta/argument_specs.yml, and a table of them into
docs/tunings/<name>.md. A tuning that has no role yet gets one. It also writes the pages of tests/reference.py and the
schemas of tests/schemas.py. A test compares all these files with what they are generated from.

In the two YAML files, everything above MARK is written by hand. A variable above it is not generated: one that only the
role has, or one with another default or other choices than the module's option.

A new tuning with a table of sysctls also gets its module, and any new tuning gets rows in the pages on all tunings.
They are written once, from its table and its page, and then edited by hand.

The imports in plugins/modules/tunings.py are generated from the files in _tunings, and so are the actions of their
modules in meta/runtime.yml.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parents[1]
MODULES, ROLES, PAGES = HERE / "plugins" / "modules", HERE / "roles", HERE / "docs" / "tunings"
FRAGMENTS = HERE / "plugins" / "doc_fragments"
FOLDER = HERE / "plugins" / "module_utils" / "_tunings"
TUNINGS = [path.stem for path in FOLDER.glob("[!_]*.py")]
MODULE_OF = {**{name: name for name in sorted(TUNINGS)}, "platform": "platform_settings_info"}
# What documentation says of a plugin, an option or a return value that is not public.
INTERNAL = "For the roles of this collection only"
# The roles set these options themselves, from variables for all tunings.
COMMON = ("checkpoint", "lease", "confirm_within", "root")
LAST = ("state", "force")
MARK = "# below: from the documentation of the module, by make generate\n"
BEGIN, END = "<!-- variables: begin, by make generate -->\n", "<!-- variables: end -->"
CALL = MODULES / "tunings.py"
CALL_BEGIN, CALL_END = "    # begin: the files in _tunings, by make generate\n", "    # end\n"
ROUTING = HERE / "meta" / "runtime.yml"
ROUTING_BEGIN, ROUTING_END = "    # begin: modules whose answers one action parses, by make generate\n", "    # end\n"
GROUP_BEGIN, GROUP_END = "  # begin: the modules of the tunings, by make generate\n", "  # end\n"
# Modules that need nothing from the controller. platform_info is another one; the action has its name.
PLAIN = sorted([*MODULE_OF.values(), "leftovers_info"])
WIDTH = 124
# A new file has the licence of this one.
LICENCE = "".join(f"{line[2:]}\n" for line in Path(__file__).read_text("utf-8").splitlines()[:2])
YAML_HEAD = "---\n" + re.sub("^", "# ", LICENCE, flags=re.MULTILINE).rstrip("# ")
NEW_ROLE = {
    "tasks/main.yml": YAML_HEAD
    + """\
- name: {title}
  zpower.sap_tuning.tuning:
    name: {role}
  become: true
  tags: [{role}]
""",
    "meta/main.yml": YAML_HEAD
    + """\
galaxy_info:
  description: {title}
  standalone: false
""",
    "defaults/main.yml": YAML_HEAD + MARK,
    "meta/argument_specs.yml": YAML_HEAD
    + """\
argument_specs:
  main:
    short_description: {title}
    version_added: {version}
    description:
      - Sets the tuning now and for the next boot, in one module call.
      - Takes it back if C(zpower_rollback) is true, as in the playbook C(zpower.sap_tuning.rollback).
    options:
      """
    + MARK,
    "README.md": f"""\
<!--
{LICENCE}-->

# Role {{role}}: {{title}}

{{title}}, now and for the next boot, in one module call: [docs/tunings/{{role}}.md](../../docs/tunings/{{role}}.md).

Variables: [settings](../../docs/tunings/{{role}}.md#settings), or `ansible-doc -t role zpower.sap_tuning.{{role}}`.

```yaml
- hosts: sap_app_servers
  gather_facts: false
  roles:
    - role: zpower.sap_tuning.{{role}}
```

**Taken back** by the playbook `zpower.sap_tuning.rollback` or with `{{role}}_state: restored`, to the values
found first.
""",
}
NEW_MODULE = '''{head}"""{title}: options of module_utils/_tunings/{name}.py."""

DOCUMENTATION = r"""
---
module: {name}
short_description: {title}
version_added: {version}
description:
  - Sets sysctls C({subject}.*), now and for the next boot, reads them back, and can restore the values found first.
  - If the kernel lacks one of the sysctls in O(settings), the verdict is V(unsupported), and none is set. Without
    O(settings) the verdict is V(not_applicable).
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  settings:
    description:
      - Whole numbers by the names of the sysctls below C({subject}). Sysctls that are missing or null are left alone.
{limits}
    type: dict
    default: {{}}
notes:
  - Kept over reboots by C({file}).
"""

EXAMPLES = r"""
- name: A value for now and for the next boot
  zpower.sap_tuning.{name}:
    settings:
      {setting}: {value}
"""

RETURN = r"""
tuning:
  description: One record. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - name: {name}
      subject: {subject}
      wanted: {{state: present, {sysctl}: '{value}'}}
      after: {{running: {{{sysctl}: '{value}'}}, stored: {{{sysctl}: '{value}'}},
              next_boot: {{{sysctl}: '{value}'}}}}
      verdict: changed
      reason: 2 values set and read back
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.{name} import {kind}


def main():
    run_tuning({kind})


if __name__ == "__main__":
    main()
'''


def documentation(path: Path, name: str = "DOCUMENTATION") -> dict[str, Any]:
    """Return the DOCUMENTATION of a module or of a fragment, or its RETURN."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
            return dict(yaml.safe_load(ast.literal_eval(node.value)))
    raise ValueError(f"{path} has no {name}")


def public(documented: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options or return values that are not reserved for the roles."""
    return {name: one for name, one in documented.items() if INTERNAL not in str(one.get("description"))}


def redirects(top: Path = HERE) -> dict[str, str]:
    """Return {old name: new name} of renamed modules."""
    routing = yaml.safe_load((top / "meta" / "runtime.yml").read_text("utf-8")).get("plugin_routing", {})
    routes = routing.get("modules", {})
    return {old: route["redirect"].rpartition(".")[2] for old, route in routes.items() if "redirect" in route}


def options_of(module: str) -> dict[str, dict[str, Any]]:
    """Return the options that users set, in the order of the tables."""
    found = documentation(MODULES / f"{module}.py")
    shared = [one.rpartition(".")[2] for one in found.get("extends_documentation_fragment", [])]
    own = [documentation(FRAGMENTS / f"{one}.py")["options"] for one in shared] + [found["options"]]
    options = {name: option for some in own for name, option in some.items()}
    names = [name for some in own[::-1] for name in some if name not in LAST]
    names = [*dict.fromkeys(names), *(name for name in LAST if name in options)]
    return public({name: options[name] for name in names if name not in COMMON})


def paragraphs(option: dict[str, Any]) -> list[str]:
    text = option["description"]
    return [text] if isinstance(text, str) else list(text)


def of_role(text: str, role: str, options: dict[str, Any]) -> str:
    """Return the text with the role's variables in place of the module's options."""
    return re.sub(r"O\((\w+)", lambda found: f"O({role}_{found[1]}" if found[1] in options else found[0], text)


def as_markdown(text: str, role: str, options: dict[str, Any]) -> str:
    text = of_role(text, role, options).replace("|", "\\|")
    text = re.sub(r"O\((\w+)=(\w+)\)", r"`\1: \2`", text)
    return re.sub(r"\b(?:[VCO]|RV)\(([^()]*(?:\([^()]*\))?[^()]*)\)", r"`\1`", text)


def spec_of(option: dict[str, Any], role: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return an option as an entry of argument_specs.yml, with the first paragraph of its description.

    A variable that is null by default cannot have choices, and defaults of suboptions would have no effect.
    """
    spec = {"description": of_role(paragraphs(option)[0], role, options), "type": option["type"]}
    kept = ("elements", "choices", "default") if "default" in option else ("elements",)
    spec |= {key: option[key] for key in ("version_added", *kept) if key in option}
    if "suboptions" in option:
        spec["options"] = {name: spec_of(part, role, options) for name, part in public(option["suboptions"]).items()}
        for part in spec["options"].values():
            part.pop("default", None)
    return spec


def flow(value: Any) -> str:
    """Return a value in one line of YAML; empty for null."""
    return "" if value is None else yaml.safe_dump([value], default_flow_style=True, width=1000).strip()[1:-1]


class Dumper(yaml.SafeDumper):
    """Write lists in one line if they fit, and dictionaries with one line per key."""

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=len(flow(list(sequence))) < WIDTH)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def indented(value: Any, blanks: int) -> str:
    text = yaml.dump(value, Dumper=Dumper, sort_keys=False, width=WIDTH - blanks, default_flow_style=False)
    return "".join(f"{' ' * blanks}{line}\n" for line in text.splitlines())


def below_mark(path: Path, read: Callable[[Any], dict[str, Any]], made: Callable[[str], str], names: list[str]) -> str:
    """Return the file with the generated variables below its mark, except for those above it."""
    by_hand, mark, _old = path.read_text("utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{path} has no line '{MARK.strip()}'")
    given = read(yaml.safe_load(by_hand)) or {}
    return by_hand + MARK + "".join(made(name) for name in names if name not in given)


def table(role: str, defaults: dict[str, Any], specs: dict[str, Any], options: dict[str, Any]) -> str:
    """Return the variables of a role as a Markdown table, with the first sentence of each description."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    order = [f"{role}_{name}" for name in options]
    last = min(order.index(f"{role}_{name}") for name in LAST) if set(LAST) <= set(options) else len(order)
    order[last:last] = [variable for variable in specs if variable not in order]
    for variable in order:
        spec = specs[variable]
        default = (
            re.sub(r"^\{\{ (\w+).*\}\}$", r"\1", str(defaults[variable])) if isinstance(defaults[variable], str) else ""
        )
        shown = "unset" if defaults[variable] is None else f"`{default or flow(defaults[variable])}`"
        lines.append(f"| `{variable}` | {shown} | {as_markdown(sentence(paragraphs(spec)[0]), role, options)}. |")
    return "\n".join(lines) + "\n"


def between_marks(path: Path, text: str, begin: str = BEGIN, end: str = END) -> str:
    return replaced(path.read_text("utf-8"), text, begin, end, path)


def replaced(whole: str, text: str, begin: str, end: str, path: Path) -> str:
    before, _begin, rest = whole.partition(begin)
    if end not in rest:
        raise ValueError(f"{path} has no lines '{begin.strip()}' and '{end.strip()}'")
    return before + begin + text + rest[rest.index(end) :]


def files(role: str) -> Iterator[tuple[Path, str]]:
    """Yield the generated files of a role with their texts."""
    options, folder = options_of(MODULE_OF[role]), ROLES / role
    names = [f"{role}_{name}" for name in options]

    def default(variable: str) -> str:
        return f"{variable}: {flow(options[variable.removeprefix(f'{role}_')].get('default'))}".rstrip() + "\n"

    def spec(variable: str) -> str:
        return indented({variable: spec_of(options[variable.removeprefix(f"{role}_")], role, options)}, 6)

    path = folder / "defaults" / "main.yml"
    text = below_mark(path, lambda given: given, default, names)
    yield path, text
    defaults = yaml.safe_load(text)
    path = folder / "meta" / "argument_specs.yml"
    text = below_mark(path, lambda given: given["argument_specs"]["main"]["options"], spec, names)
    yield path, text
    specs = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    path = PAGES / f"{role}.md"
    if path.exists():
        yield path, between_marks(path, table(role, defaults, specs, options))


def class_of(tuning: str) -> str:
    """Return the name of a tuning's class."""
    path = FOLDER / f"{tuning}.py"
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(one) == f"name = '{tuning}'" for one in node.body):
            return node.name
    raise ValueError(f'{path} has no class with name = "{tuning}"')


def call() -> str:
    """Return plugins/modules/tunings.py with an import for each tuning."""
    lines = [
        f'if name == "{tuning}":\n        from ..module_utils._tunings.{tuning} import {class_of(tuning)} as found\n'
        for tuning in sorted(TUNINGS)
    ]
    text = "    " + "    el".join(lines) + "    else:\n        return None\n"
    return between_marks(CALL, text, CALL_BEGIN, CALL_END)


def routing() -> str:
    """Return meta/runtime.yml with the group of the tunings' modules, and the action of the modules in PLAIN."""
    group = "".join(f"    - {name}\n" for name in sorted(TUNINGS))
    routes = "".join(f"    {module}:\n      action_plugin: zpower.sap_tuning.platform_info\n" for module in PLAIN)
    text = between_marks(ROUTING, "  tunings:\n" + group, GROUP_BEGIN, GROUP_END)
    return replaced(text, routes, ROUTING_BEGIN, ROUTING_END, ROUTING)


def tuning_class(tuning: str) -> Any:
    sys.path.insert(0, str(HERE / "plugins"))
    return getattr(importlib.import_module(f"module_utils._tunings.{tuning}"), class_of(tuning))


def network_tools() -> tuple[Path, str]:
    """Return the specification of the role measure with the network tools of its module."""
    path = ROLES / "measure" / "meta" / "argument_specs.yml"
    tools = documentation(MODULES / "measure_workload.py")["options"]["network"]["suboptions"]["tool"]["choices"]
    before, name, after = path.read_text("utf-8").partition("      measure_network_tool:\n")
    return path, before + name + re.sub(r"choices: .*", f"choices: {flow(tools)}", after, count=1)


def table_of(tuning: str) -> Any:
    """Return the class of a tuning that consists of a table of sysctls; None for any other tuning."""
    found = tuning_class(tuning)
    return found if hasattr(found, "table") and "settings" in found.options else None


def sentence(text: str) -> str:
    """Return the first sentence of a text, on one line and without its full stop."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def new_module(tuning: str) -> None:
    """Write the missing module of a tuning with a table of sysctls."""
    kind = table_of(tuning)
    if kind is None:
        raise ValueError(f"write plugins/modules/{tuning}.py: only a tuning with a table of sysctls gets one")
    name, (lowest, _highest) = min(kind.table.items())
    limits = [f"      - C({one}), {low} to {high}." for one, (low, high) in sorted(kind.table.items())]
    galaxy = yaml.safe_load((HERE / "galaxy.yml").read_text("utf-8"))
    text = NEW_MODULE.format(
        head="".join((MODULES / "rps.py").read_text("utf-8").splitlines(keepends=True)[:4]),
        name=tuning,
        kind=kind.__name__,
        title=sentence(kind.__doc__),
        version=galaxy["version"],
        subject=kind.subject,
        limits="\n".join(limits),
        file=kind.file("sysctl.d"),
        setting=name,
        sysctl=f"{kind.subject}.{name}",
        value=lowest,
    )
    (MODULES / f"{tuning}.py").write_text(text, "utf-8")


def part(page: Path, title: str) -> str:
    """Return a section of a page without its heading."""
    return page.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def new_row(page: Path, title: str, tuning: str, row: str) -> None:
    """Add a row to the end of the first table below a heading unless it has one about the tuning."""
    before, heading, rest = page.read_text("utf-8").partition(f"\n## {title}\n")
    rows = re.search(r"(?:^\|.*\n)+", rest, re.MULTILINE)
    if not heading or not rows:
        raise ValueError(f"{page} has no table below '{title}'")
    if not any(tuning in re.findall(r"\w+", line.split("|")[1]) for line in rows[0].splitlines()):
        page.write_text(f"{before}{heading}{rest[: rows.end()]}{row}\n{rest[rows.end() :]}", "utf-8")


def new_rows(tuning: str) -> None:
    """Add the missing rows of a tuning to the pages on all tunings, from its own page."""
    page, docs, kind = PAGES / f"{tuning}.md", HERE / "docs", table_of(tuning)
    said = documentation(MODULES / f"{tuning}.py")["short_description"]
    helps, risk = (sentence(part(page, title).strip().removeprefix("- ")) for title in ("When it helps", "Risk"))
    figures = sentence(part(page, "Published figures")).lower()
    new_row(
        HERE / "README.md",
        "Included content",
        tuning,
        f"| [{tuning}](docs/tunings/{tuning}.md) | {said} | every Linux |",
    )
    row = f"| [{tuning}]({tuning}.md) | {helps} | {figures} | {risk} |"
    new_row(PAGES / "index.md", "When they help, and what they risk", tuning, row)
    row = f"| [{tuning}](tunings/{tuning}.md) | synthetic trees | a real host | `test` |"
    new_row(docs / "proof.md", "Each tuning", tuning, row)
    if kind:
        files = [kind.file("sysctl.d")] + ([kind.file("modules-load.d")] if kind.module else [])
        row = f"| `{tuning}` | {', '.join(f'`{path}`' for path in files)} |"
        new_row(docs / "codes_files_ports.md", "Files on hosts", tuning, row)


def new_role(role: str) -> None:
    """Write the missing role of a tuning."""
    for name, text in NEW_ROLE.items():
        path = ROLES / role / name
        path.parent.mkdir(parents=True, exist_ok=True)
        found = documentation(MODULES / f"{MODULE_OF[role]}.py")
        path.write_text(
            text.format(role=role, title=found["short_description"], version=found["version_added"]), "utf-8"
        )


def everything() -> Iterator[tuple[Path, str]]:
    """Yield all generated files with their texts."""
    yield CALL, call()
    yield ROUTING, routing()
    yield network_tools()
    for name in MODULE_OF:
        yield from files(name)
    yield from importlib.import_module("reference").files()  # it uses this module
    yield from importlib.import_module("schemas").files()  # it imports the collection


if __name__ == "__main__":
    sys.path.insert(0, str(HERE / "tests" / "unit"))
    importlib.import_module("conftest")  # makes the checkout importable as a collection
    for name in TUNINGS:
        if not (MODULES / f"{name}.py").exists():
            new_module(name)
        if (PAGES / f"{name}.md").exists():
            new_rows(name)
        if not (ROLES / name).is_dir():
            new_role(name)
    for place, content in everything():
        place.write_text(content, "utf-8")
