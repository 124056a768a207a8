# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions behind the Makefile. They use the tools in .venv; a session that needs another Python or another
ansible-core has its own environment below .nox. tests/sessions.py runs two sessions at a time. In CI, a session that
cannot run fails.
"""

import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import textwrap
from pathlib import Path

import antsibull_nox
import nox

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))

import archive  # noqa: E402
import checkout  # noqa: E402
import pythons  # noqa: E402
import release as checks  # noqa: E402
import spelling  # noqa: E402
from environments import (  # noqa: E402
    BIN,
    CACHE,
    LINK,
    NOX,
    OLDEST_CORE,
    OLDEST_PYTHONS,
    RELEASE,
    ansible_test,
    controller,
    environment,
    missing,
    molecule_test,
    needs_root,
    release_core,
    shell,
    tree,
)

ALL_PYTHONS = [f"3.{minor}" for minor in range(6, 15)]
TARGET_TESTS = ["tests/unit/plugins/module_utils", "tests/unit/plugins/modules"]
# Left out of unit(oldest), because ruff lets nothing there import ansible-core (TID251 in pyproject.toml).
WITHOUT_CORE = "tests/unit/plugins/plugin_utils"
UNMARKED = "not gate and not nightly"
# session: (folders, folders left out, tests by their markers)
UNIT = {
    "controller": (["tests/unit"], TARGET_TESTS, UNMARKED),
    "target": (TARGET_TESTS, [], UNMARKED),
    "gate": (["tests/unit"], [], "gate"),
    "nightly": (["tests/unit"], [], "nightly"),
    "oldest": (["tests/unit"], [*TARGET_TESTS, WITHOUT_CORE], UNMARKED),
    "3.9": (TARGET_TESTS, [], UNMARKED),
    "3.6": (TARGET_TESTS, [], UNMARKED),
}
CONTROLLER_CODE = ["plugins/plugin_utils", "plugins/action", "plugins/callback", "plugins/lookup"]
# Scenarios on s390x kernels: the session kernels runs them, not molecule.
EMULATED = ["lpar", "guest", "smc", "smcd"]
SCENARIOS = sorted({path.parent.name for path in HERE.glob("molecule/*/molecule.yml")} - set(EMULATED))
CORES = ["newest", "oldest"]
# (core, scenario): on the oldest core only those with most modules and roles
LABS = [*(("newest", scenario) for scenario in SCENARIOS), ("oldest", "default"), ("oldest", "sap")]
# Whole sanity of the cores before the newest, for a release.
BETWEEN = ["2.16-3.12", "2.17-3.12", "2.18-3.13", "2.19-3.13", "2.20-3.13"]
# The tests of ansible-test sanity that depend on ansible-core or on the Python of a host.
OF_THE_CORE = ["ansible-doc", "compile", "import", "validate-modules"]
OLDEST_SANITY_PYTHONS = ["3.6", "3.7", "3.8", *OLDEST_PYTHONS]
# session: (ansible-core, Pythons, an option and the tests that it chooses or leaves out)
SANITY = {
    "quick": ("newest", ["3.9", "3.13"], ["--test", *OF_THE_CORE]),
    "rest": ("newest", ALL_PYTHONS, ["--skip-test", "ansible-doc", "validate-modules", "pylint"]),
    "pylint": ("newest", ALL_PYTHONS, ["--test", "pylint"]),
    "oldest": ("oldest", OLDEST_SANITY_PYTHONS, ["--test", *OF_THE_CORE]),
}
# ruff and the unit sessions look at the tests, which are not in the archive.
SANITY_COMMAND = ["sanity", "--exclude", "tests/", "--exclude", "molecule/"]
# Automation Hub leaves these tests out.
NOT_ON_THE_HUB = ["import", "validate-modules", "pslint", "ansible-doc"]
# They use an installed collection: the session installed runs them, not lab.
INSTALLED = [f"tests/lab/test_{name}.py" for name in ("start", "image", "runner")]

nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False
nox.options.sessions = ["quick"]
antsibull_nox.load_antsibull_nox_toml()


@nox.session
def quick(session: nox.Session) -> None:
    """The tools that read the code in seconds; all of them run, also if one fails."""
    failed = []
    for tool, *arguments in (
        ("ruff", "check", "--output-format", "concise", "."),
        ("ruff", "format", "--check", "."),
        ("yamllint", "--strict", "."),
        ("mypy", *CONTROLLER_CODE),
        ("antsibull-changelog", "lint"),
        # By name: tests that run beside this session create ignored folders, which reuse takes for ours if it asks git
        # what is ignored before they are there. release-check runs the whole lint.
        ("reuse", "lint-file", *checkout.files()),
        spelling.codespell(),
        ("nox", "--noxfile", str(HERE / "noxfile.py"), "--session", "extra-checks"),
    ):
        session.log("%s", textwrap.shorten(f"{tool} {' '.join(arguments)}", 120))
        if subprocess.run([BIN / tool, *arguments], cwd=HERE, env=os.environ | shell(), check=False).returncode:
            failed.append(tool)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session(name="ansible-lint")
def ansible_lint(session: nox.Session) -> None:
    """Run ansible-lint on roles, playbooks, metadata and the files of molecule."""
    copy = tree(session, CACHE / "lint")
    paths = ["roles", "playbooks", "meta", "galaxy.yml", "changelogs"]
    paths += sorted(str(path.relative_to(copy)) for path in copy.glob("molecule/*/*.yml"))
    command = [str(BIN / "ansible-lint"), "--offline", "--profile", "production", "--strict", *paths]
    with session.chdir(copy):
        session.run(*command, env=shell(BIN, copy.parents[2]))


@nox.session
@nox.parametrize("on", list(UNIT), ids=list(UNIT))
def unit(session: nox.Session, on: str) -> None:
    """Unit tests: UNIT says which of them, on the newest or oldest ansible-core, or as a host with an old Python.

    With SHUFFLE=number in the environment, files and tests run in a random order with this seed.
    """
    tests, left_out, markers = UNIT[on]
    env = shell()
    if on.startswith("3."):
        folder = environment(session, f"target-{on}", [on], "requirements-targets.txt", constrained=False)
        core = OLDEST_CORE if on == "3.6" else f"ansible-core=={importlib.metadata.version('ansible-core')}"
        library = NOX / core
        if not library.exists():
            new = NOX / f"{core}.new"
            shutil.rmtree(new, ignore_errors=True)
            # --no-deps: a target has ansible.module_utils and nothing that a controller needs.
            session.run(str(BIN / "python"), "-m", "pip", "install", "-q", "--no-deps", "--target", str(new), core)
            new.rename(library)
        env = shell(PYTHONPATH=str(library), PYTHONDONTWRITEBYTECODE="1")
    else:
        folder = controller(session, "oldest" if on == "oldest" else "newest")
        env = shell(folder)
    options = ["-q", "-m", markers, *(f"--ignore={path}" for path in left_out)]
    if (seed := os.environ.get("SHUFFLE")) and not on.startswith("3."):
        options += ["-p", "randomly", f"--randomly-seed={seed}", f"--hypothesis-seed={seed}"]
    session.run(str(folder / "python"), "-m", "pytest", *options, *tests, *session.posargs, env=env)


@nox.session
@nox.parametrize("part", list(SANITY), ids=list(SANITY))
def sanity(session: nox.Session, part: str) -> None:
    """Parts of ansible-test sanity, on the newest or the oldest ansible-core: SANITY."""
    core, versions, (option, *tests) = SANITY[part]
    options = [word for test in tests for word in (option, test)]
    copy = tree(session, CACHE / f"sanity-{part}")
    command = [*SANITY_COMMAND, *options, *(["plugins/"] if option == "--test" else []), *session.posargs]
    ansible_test(session, part, controller(session, core), versions, copy, command)


@nox.session
@nox.parametrize("on", BETWEEN, ids=BETWEEN)
def sanity_between(session: nox.Session, on: str) -> None:
    """The same as on the newest core, on each core before it; part of a release, not of the tests."""
    copy = tree(session, CACHE / f"sanity-{on}")
    ansible_test(session, on, release_core(session, on), ALL_PYTHONS, copy, [*SANITY_COMMAND, *session.posargs])


@nox.session
@nox.parametrize("core", CORES, ids=CORES)
def archive_sanity(session: nox.Session, core: str) -> None:
    """What Automation Hub runs on the extracted archive below build/; the archive itself says which Pythons."""
    copy = CACHE / f"archive-{core}" / "ansible_collections" / "zpower" / "sap_tuning"
    shutil.rmtree(copy, ignore_errors=True)
    with tarfile.open(HERE / "build" / checks.archive_name()) as content:
        content.extractall(copy, filter="data")
    session.run("git", "init", "--quiet", str(copy), silent=True, log=False)
    command = ["sanity", *(option for test in NOT_ON_THE_HUB for option in ("--skip-test", test)), *session.posargs]
    ansible_test(session, f"archive-{core}", controller(session, core), ALL_PYTHONS, copy, command)


@nox.session
@nox.parametrize("core", CORES, ids=CORES)
def units_in_collection(session: nox.Session, core: str) -> None:
    """ansible-test units, for which Ansible's own loader imports the code; part of a release."""
    python = "3.13" if core == "newest" else "3.12"
    if pythons.find(python) is None:
        missing(session, f"no Python {python} on this machine")
    copy = tree(session, CACHE / f"units-{core}")
    command = ["units", "--venv", "--python", python, *(session.posargs or ["tests/unit/plugins/"])]
    ansible_test(session, f"units-{core}", controller(session, core), [python], copy, command)


@nox.session(name="lab")
def lab_itself(session: nox.Session) -> None:
    """The lab itself: a hundred hosts, a second start, a start that is killed, and nothing left behind."""
    needs_root(session)
    others = [f"--ignore={path}" for path in INSTALLED]
    session.run(str(BIN / "python"), "-m", "pytest", "-q", "tests/lab", *others, *session.posargs, env=shell())


@nox.session
@nox.parametrize(["core", "scenario"], LABS, ids=["-".join(pair) for pair in LABS])
def molecule(session: nox.Session, core: str, scenario: str) -> None:
    """One molecule scenario; with the oldest ansible-core, modules run on Python 3.6 if this machine has it."""
    python = pythons.find("3.6") if core == "oldest" else None
    molecule_test(session, core, scenario, "lab", **({"LAB_PYTHON": python} if python else {}))


@nox.session
@nox.parametrize("scenario", EMULATED, ids=EMULATED)
def kernels(session: nox.Session, scenario: str) -> None:
    """One scenario on s390x kernels in emulated machines, which are made from Debian packages at the first start."""
    molecule_test(session, "newest", scenario, scenario)


@nox.session
def docs(session: nox.Session) -> None:
    """Lint the documentation of plugins and roles, build the site below build/docs, and check its links."""
    checks = ["--plugin-docs", "--validate-collection-refs", "self"]
    session.run(str(BIN / "antsibull-docs"), "lint-collection-docs", *checks, str(LINK), env=shell())
    session.run(str(BIN / "python"), "tests/docs/make_site.py", env=shell())


@nox.session
def links(session: nox.Session) -> None:
    """The links of the site to other sites; part of no other session, because it needs a network."""
    try:
        socket.getaddrinfo("docs.ansible.com", "https")
    except OSError as error:
        missing(session, f"no network: {error}")
    session.run(str(BIN / "python"), "tests/docs/make_site.py", "--links-elsewhere", env=shell())


@nox.session
def build(session: nox.Session) -> None:
    """The archive for `ansible-galaxy collection install`, below build/."""
    session.log("built %s", archive.build())


@nox.session
def release(session: nox.Session) -> None:
    """Check a release, and write its archive, list of components and checksums below build/."""
    importer = environment(session, "importer", ["3.12"], "requirements-importer.txt", constrained=False)
    tools = environment(session, "release", ["3.13", "3.12", "3.11"], "requirements-release.txt")
    path = archive.build()
    copy = tree(session, CACHE / "twin")
    for name in sorted((name for name in copy.rglob("*") if ".git" not in name.parts), reverse=True):
        os.utime(name, (0, 0))
    twin = archive.build(copy, CACHE / "twin")
    options = ["--tools", str(tools), "--importer", str(importer)]
    session.run(str(BIN / "python"), "tests/release.py", str(path), str(twin), *options, env=shell())


@nox.session
@nox.parametrize("on", list(RELEASE), ids=list(RELEASE))
def cores(session: nox.Session, on: str) -> None:
    """The archive below build/ with one ansible-core: every documentation, the syntax of every playbook, and verify."""
    folder = release_core(session, on)
    path = HERE / "build" / checks.archive_name()
    with tempfile.TemporaryDirectory() as empty:
        env = shell(folder, Path(empty), ANSIBLE_HOME=empty)
        galaxy = [str(folder / "ansible-galaxy"), "collection", "install", "--no-deps", "--offline", "-p"]
        session.run(*galaxy, empty, str(path), env=env, silent=True)
        session.run(str(BIN / "python"), "tests/release_core.py", str(folder), empty, env=env)


@nox.session
def installed(session: nox.Session) -> None:
    """Install the archive into an empty folder, and run a site of lab hosts and jobs with it and nothing else."""
    needs_root(session)
    path = archive.build()
    with tempfile.TemporaryDirectory() as empty:
        env = shell(collections=Path(empty), ZPOWER_ARCHIVE=str(path))
        galaxy = [str(BIN / "ansible-galaxy"), "collection", "install", "--no-deps", "--offline", "-p"]
        session.run(*galaxy, empty, str(path), env=env)
        session.run(str(BIN / "ansible-doc"), "zpower.sap_tuning.rps", env=env, silent=True)
        session.run(str(BIN / "python"), "-m", "pytest", "-q", *INSTALLED, *session.posargs, env=env)


@nox.session
def campaigns(session: nox.Session) -> None:
    """A fixed sample of the campaigns of faults and of damaged inputs."""
    needs_root(session)
    session.run(str(BIN / "python"), "tests/fuzz/run.py", "--share", "20", env=shell())
    session.run(str(BIN / "python"), "tests/faults/run.py", "--sample", "4", env=shell())


@nox.session
def browser(session: nox.Session) -> None:
    """Every page of the report in headless Chromium, also checked by axe-core."""
    if shutil.which("chromium") is None:
        missing(session, "no chromium on this machine")
    session.run(str(BIN / "python"), "-m", "pytest", "-q", "tests/browser", *session.posargs, env=shell())


@nox.session
def demo(session: nox.Session) -> None:
    """The demonstration, as a new user runs it."""
    needs_root(session)
    # time to take its lab down after an interrupt
    session.run(str(HERE / "tests" / "demo" / "run"), interrupt_timeout=60, terminate_timeout=60)
    report = json.loads((HERE / "results" / "demo" / "report.json").read_text())
    tried = {level["name"]: level["verdict"] for level in report["experiment"]["levels"] if not level["baseline"]}
    # which verdict it is depends on the machine; that there is one does not
    if set(tried) != {"all", "every-2"} or {"NO DATA", "NOT COMPARABLE"} & set(tried.values()):
        session.error(f"the demo's levels have the verdicts {tried}")
    for suffix in ("html", "json", "md", "csv"):
        if not (HERE / "results" / "demo" / f"report.{suffix}").stat().st_size:
            session.error(f"the demo's report.{suffix} is empty")


@nox.session
def bench(session: nox.Session) -> None:
    """Benchmarks: figures and their goals, also in bench.json."""
    session.run(str(BIN / "python"), "tests/bench/run.py", *session.posargs, env=shell())
