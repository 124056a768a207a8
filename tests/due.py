# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the heavy sessions are due: one that has passed runs again only if something that it depends on changes.

due.py [session ...]    prints each session and whether it is due, or when it passed

A session depends on files (NEEDS, and what the Python files among them import), on the versions of the packages in its
environments, and on its recipe in noxfile.py. The hash of all of these, with the day, is kept in tests/passed.json, a
file of the commit. Only a run with CI=true writes it: elsewhere, a session that cannot run does not fail.
"""

from __future__ import annotations

import ast
import datetime
import functools
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PASSED = "tests/passed.json"
OWN = "ansible_collections.zpower.sap_tuning."
# Where a test finds a module that it imports by its bare name.
PLACES = ("tests", "tests/unit/support", "tests/faults", "tests/fuzz", "tests/browser", "tests/docs", "molecule/shared")

# Every session uses these. The requirements name the packages, constraints.txt has the versions of all that they bring.
ALWAYS = ["tests/setup.sh", "tests/conftest.py", "tests/allowed_skips.py", "pyproject.toml", "constraints.txt"]
ALWAYS += ["requirements.txt", "requirements-dev.txt"]
COLLECTION = ["plugins", "roles", "playbooks", "meta", "galaxy.yml"]
LAB = [*COLLECTION, "inventories", "molecule/shared", "molecule/conftest.py", "tests/standins"]
ARCHIVE = [*COLLECTION, "inventories", "changelogs", "docs", "LICENSES", "COPYING"]
ARCHIVE += ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"]
# In the archive, and on no page.
ALSO_SHIPPED = ["CODE_OF_CONDUCT.md", "tests/config.yml"]
ON_TARGETS = ["plugins/modules", "plugins/module_utils", "plugins/doc_fragments", "tests/unit/conftest.py"]
ON_TARGETS += ["tests/unit/plugins/modules", "tests/unit/plugins/module_utils", "tests/unit/fixtures", "tests/standins"]
# The files and folders that each session reads. What Python files import is added.
NEEDS = {
    "unit(oldest)": [*ARCHIVE, "tests/unit", "tests/standins", "molecule/shared", "requirements-oldest.txt"],
    "unit(3.9)": [*ON_TARGETS, "requirements-targets.txt"],
    "unit(3.6)": [*ON_TARGETS, "requirements-targets.txt", "requirements-oldest.txt"],
    "sanity(oldest)": [*COLLECTION, "tests/config.yml", "requirements-oldest.txt"],
    "molecule(oldest-default)": [*LAB, "molecule/default", "requirements-oldest.txt"],
    "molecule(oldest-sap)": [*LAB, "molecule/sap", "requirements-oldest.txt"],
    "kernels(lpar)": [*LAB, "molecule/lpar"],
    "kernels(guest)": [*LAB, "molecule/guest"],
    "campaigns": [
        *(*COLLECTION, "tests/faults", "tests/fuzz", "tests/standins", "molecule/shared"),
        *("tests/unit/conftest.py", "tests/unit/fixtures"),
    ],
    "demo": [*LAB, "tests/demo"],
    "lab": [*LAB, "tests/lab", "docs"],
    "installed": [*ARCHIVE, "tests/lab", "molecule/shared", "tests/archive.py", "tests/release.py", *ALSO_SHIPPED],
    "docs": [*ARCHIVE, "tests/docs"],
    "browser": [*ARCHIVE, "tests/browser", "tests/docs", "tests/unit/conftest.py", "tests/unit/support"],
}


@functools.cache
def tracked() -> list[str]:
    """The files of the checkout that git does not ignore, below HERE."""
    command = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True).stdout
    return sorted({name for name in listed.split("\0") if name and (HERE / name).is_file()})


def below(prefixes: Iterable[str]) -> set[str]:
    """The files with these names or in these folders. KeyError for a prefix that names none."""
    found = set()
    for prefix in prefixes:
        names = {name for name in tracked() if name == prefix or name.startswith(prefix + "/")}
        if not names:
            raise KeyError(f"tests/due.py: there is no file {prefix}")
        found |= names
    return found


@functools.cache
def imported(name: str, text: str) -> frozenset[str]:
    """The files of the checkout that the Python code of a file imports, wherever in it."""
    folder = Path(name).parent
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = [folder, *folder.parents][node.level - 1].parts
                base = OWN + ".".join([*parts, *([base] if base else [])])
            modules = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for module in modules:
            found.update(_files_of(module, str(folder)))
    return frozenset(found)


def _files_of(module: str, folder: str) -> Iterator[str]:
    if module.startswith(OWN):
        paths = [module.removeprefix(OWN).replace(".", "/")]
    else:
        paths = [f"{place}/{module.replace('.', '/')}" for place in (folder, *PLACES)]
    for path in paths:
        for found in (f"{path}.py", f"{path}/__init__.py"):
            if (HERE / found).is_file():
                yield found


def files(session: str) -> list[str]:
    """The files that a session depends on, relative to the checkout. KeyError for a session that is not in NEEDS."""
    found = below([*ALWAYS, *NEEDS[session]]) | imported("noxfile.py", recipe(session))
    waiting = sorted(found)
    while waiting:
        name = waiting.pop()
        if name.endswith(".py"):
            new = imported(name, (HERE / name).read_text("utf-8")) - found
            found |= new
            waiting += new
    return sorted(found - {PASSED})


def recipe(session: str) -> str:
    """The code in noxfile.py that makes a session: its function, the names there that it uses, and what they use."""
    tree = ast.parse((HERE / "noxfile.py").read_text("utf-8"))
    bound: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _binds(statement):
            bound.setdefault(name, []).append(statement)
    waiting, used = [_function(tree, session.partition("(")[0])], set()
    while waiting:
        name = waiting.pop()
        used.add(name)
        read = {node.id for one in bound[name] for node in ast.walk(one) if isinstance(node, ast.Name)}
        waiting += sorted(read & bound.keys() - used)
    parts = {ast.unparse(statement): statement.lineno for name in used for statement in bound[name]}
    return "\n".join(sorted(parts, key=parts.__getitem__))


def _function(tree: ast.Module, session: str) -> str:
    """The function of a session, which may have another name: ``@nox.session(name="lab")``."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            for decorator in statement.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator) == f"nox.session(name='{session}')":
                    return statement.name
    return session.replace("-", "_")


def _binds(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module gives a value."""
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def interpreters(session: str) -> str:
    """The versions of what is not pinned: the Python of .venv, and the Debian that the packages come from."""
    release = Path("/etc/os-release")
    lines = release.read_text("utf-8").splitlines() if release.exists() else []
    named = [line for line in lines if line.startswith(("ID=", "VERSION_ID="))]
    return "\n".join([session, f"{sys.version_info[0]}.{sys.version_info[1]}", *sorted(named)])


def digest(session: str) -> str:
    """The hash of all that a session depends on."""
    total = hashlib.sha256()
    for text in (interpreters(session), recipe(session)):
        total.update(hashlib.sha256(text.encode()).digest())
    for name in files(session):
        total.update(hashlib.sha256(name.encode()).digest())
        total.update(hashlib.sha256((HERE / name).read_bytes()).digest())
        total.update(b"x" if (HERE / name).stat().st_mode & 0o100 else b"-")
    return total.hexdigest()


def passed() -> dict[str, dict[str, str]]:
    """{session: {"hash": ..., "on": day}}; empty if no session has passed yet."""
    path = HERE / PASSED
    found: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def when(session: str) -> str | None:
    """The day on which a session passed with everything as it is now; None if it is due."""
    kept = passed().get(session)
    return kept["on"] if kept and kept["hash"] == digest(session) else None


def note(session: str, hashed: str) -> None:
    """Note that a session has passed, unless something that it depends on changed while it ran."""
    tracked.cache_clear()
    if digest(session) != hashed:
        return
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    kept = {name: one for name, one in passed().items() if name in NEEDS} | {session: {"hash": hashed, "on": today}}
    path = HERE / PASSED
    new = path.with_suffix(".new")
    new.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", "utf-8")
    new.replace(path)


if __name__ == "__main__":
    for session in sys.argv[1:] or NEEDS:
        day = when(session)
        print(f"{session}: {'passed on ' + day if day else 'due'}")
