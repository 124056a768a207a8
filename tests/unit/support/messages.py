# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of the collection, read from its code: errors, and sentences of the table."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

PLUGINS = Path(__file__).parents[3] / "plugins"
GAP = "\N{HORIZONTAL ELLIPSIS}"
"""What a message says instead of a value."""

RAISED = (
    "module_utils/**/*.py",
    "action/*.py",
    "callback/*.py",
    "lookup/*.py",
    *(f"plugin_utils/{room}/*.py" for room in ("_actions", "_evidence", "_experiment", "_rollout")),
)
"""Files whose errors and warnings are messages."""
SPOKEN = (
    *(f"module_utils/{room}/*.py" for room in ("_aix", "_engine", "_host", "_machine", "_sap", "_tunings")),
    "module_utils/_measure/errors.py",
    "module_utils/_measure/wire.py",
    *(f"plugin_utils/_evidence/{name}.py" for name in ("document", "rows", "slices", "table", "waiving")),
    *(f"plugin_utils/_rollout/{name}.py" for name in ("closing", "stages", "guard")),
)
"""Files in which every sentence is a message: it becomes a reason, a remark or a part of an error."""
SILENT = (
    "plugin_utils/_actions/shared_profiles.py",  # arguments
    "module_utils/_machine/smc_sockets.py",  # reasons of the kernel, which the message "TCP instead of SMC" quotes
    "module_utils/_tunings/_about.py",  # sources
    "module_utils/_tunings/_smc/requests.py",  # arguments
)

PARTS = (
    "after a restart of the instance",
    "cores of its LPAR",
    "has nothing of it",
    "not supported by the machine",
    "once the device is configured again",
    "take smt= and nosmt out of",
    f"the network namespace of process {GAP}",
    "this network namespace, since the module smc was loaded",
    "with and without check mode",
)
"""Ends of messages that begin elsewhere."""
ARGUMENT_ERRORS = ("InputError", "wrong")
ARGUMENT = re.compile(
    r"belongs? there|\bit takes\b|\btakes (either|unit|up to)|(has|have) to (be|lie|give)|must be (a number|in or out)"
    r"|; (name at least|at most|a name has|loops from|every process needs)|(is|are) (empty|not set)\b.*[:;]"
    r"|did you mean|there is no (tuning|variable) '|CPU list: |the name … is used twice|^the factors "
    r"|^two combinations of levels|^(the )?(factors? …|pattern of|pointer of|environment)|^level … (sets|\(…\) needs)"
    r"|YAML takes on, off"
    r"|^(timeout|measure_max_rounds|calibrate_rounds|run_seconds) is"
)
"""A message about an option that says what would be right."""
SOURCE = re.compile(
    r"\((IBM|Red Hat|SUSE|SG24)|^(Linux (kernel|on IBM Z),|SAP Notes? \d|RFC \d|smc-tools:|community\.)"
    r"|the profile sap-netweaver"
)


class Message(NamedTuple):
    place: str  # file and line
    text: str


def messages():
    """Each message once, with its first place, without the words that can stand before any."""
    found = {}
    for patterns, read in ((RAISED, _raised), (SPOKEN, _spoken)):
        for path in sorted({path for pattern in patterns for path in PLUGINS.glob(pattern)}):
            if str(path.relative_to(PLUGINS)) in SILENT:
                continue
            for line, said in read(ast.parse(path.read_text(encoding="utf-8"))):
                text = said.removeprefix("nothing was changed: ")
                if text not in (GAP, *PARTS) and not ARGUMENT.search(text):
                    found.setdefault(text, Message(f"plugins/{path.relative_to(PLUGINS)}:{line}", text))
    return list(found.values())


def everything():
    """Every text of the plugins."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PLUGINS.rglob("*.py"))]
    found = {template(node) for tree in trees for node in ast.walk(tree)} - {None, GAP}
    return sorted(text.removeprefix("nothing was changed: ") for text in found)


def template(node):
    """The text of a string expression, with a gap for each value; None if it is none."""
    if isinstance(node, ast.Constant):
        return _gaps(node.value) if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else GAP for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = template(node.left), template(node.right)
        return None if left is None and right is None else (left or GAP) + (right or GAP)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return template(node.left)
    return None


def _gaps(text):
    return re.sub(r"%{1,2}(\(\w+\))?[-#0-9.]*[a-z]", GAP, text).replace("%%", "%")


def _words(text):
    return len(re.findall(r"[A-Za-z]{2,}", text))


def _raised(tree):
    """(line, text) of errors and warnings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call, name = node.exc, getattr(node.exc.func, "id", "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warning":
            call, name = node, ""
        else:
            continue
        text = template(call.args[0]) if call.args else None
        if text and _words(text) > 1 and name not in ARGUMENT_ERRORS:
            yield node.lineno, text


def _spoken(tree):
    """(line, text) of sentences in functions, and of those that have a name or a key."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
            expressions = [value for value in values if template(value)]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            expressions = _strings(node)
        else:
            continue
        for expression in expressions:
            text = template(expression)
            if _sentence(text):
                yield expression.lineno, text


def _strings(node):
    """The string expressions below a node, without docstrings and argument errors."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (*ARGUMENT_ERRORS, "namedtuple"):
        return
    if template(node) is None:
        children = ast.iter_child_nodes(node)
    else:
        yield node
        # what a text is made of may hold sentences too
        children = [node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else []
    for child in children:
        yield from _strings(child)


def _sentence(text):
    """Whether a text is a sentence or its beginning: no key, pattern, heading of a file, source or continuation."""
    if "\n" in text or re.match(r"[#^(,;:. ]|SUBSYSTEM|ansible-playbook", text) or SOURCE.search(text):
        return False
    return _words(text) > 3 and text.count(" ") > 2
