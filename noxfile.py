# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions behind the Makefile. They use the tools in .venv; a session that needs another Python or another
ansible-core has its own environment below .nox. tests/sessions.py runs two sessions at a time. In CI, a session that
cannot run fails.
"""

import fcntl
import importlib.metadata
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NoReturn

import antsibull_nox
import nox

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))

import archive  # noqa: E402
import checkout  # noqa: E402
import pythons  # noqa: E402
import release as checks  # noqa: E402

BIN = HERE / ".venv" / "bin"
NOX = HERE / ".nox"
CACHE = HERE / ".cache"
COLLECTIONS = CACHE / "collections"
LINK = COLLECTIONS / "ansible_collections" / "zpower" / "sap_tuning"
OLDEST_CORE = "ansible-core==2.16.19"
ALL_PYTHONS = [f"3.{minor}" for minor in range(6, 15)]
OLDEST_PYTHONS = ["3.12", "3.11"]  # ansible-core 2.16 supports 3.10 to 3.12, molecule needs 3.11
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
# What a release is tried on, each with the oldest and the newest Python of its controller that is pinned here.
RELEASE_CORES = {
    OLDEST_CORE: ["3.10", "3.12"],
    "ansible-core==2.17.14": ["3.11", "3.12"],
    "ansible-core==2.18.19": ["3.11", "3.13"],
    "ansible-core==2.19.14": ["3.11", "3.13"],
    "ansible-core==2.20.10": ["3.12", "3.13"],
    "ansible-core==2.21.5": ["3.12", "3.13"],
}
RELEASE = {
    f"{core.partition('==')[2].rpartition('.')[0]}-{python}": (core, python)
    for core, versions in RELEASE_CORES.items()
    for python in versions
}
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
# Texts for users, in which codespell looks for misspelt words and for the phrases of tests/docs/phrases.txt.
TEXTS = [
    "*.md",
    "docs",
    "changelogs",
    "playbooks",
    "roles",
    "plugins",
    "tests/reference.yml",
]
PHRASES = HERE / "tests" / "docs" / "phrases.txt"
# Where a phrase is right.
RIGHT = [
    "some of which",
    "each of which",
    "there is no",
    "there are no",
    "is no longer",
    "are no longer",
    "is no more",
    "most of which",
    "so much as",
]
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


def missing(session: nox.Session, why: str) -> NoReturn:
    """End a session that cannot run here: as failed in CI, otherwise as SKIPPED with the reason."""
    if os.environ.get("CI") == "true":
        session.error(why)
    session.skip("SKIPPED: " + why)


def needs_root(session: nox.Session) -> None:
    """End a session that makes network namespaces if that is not allowed here."""
    if os.geteuid() != 0 and (
        not shutil.which("sudo") or subprocess.run(["sudo", "-n", "true"], check=False).returncode
    ):
        missing(session, "the lab needs root, or sudo without a password")


def environment(
    session: nox.Session, name: str, versions: list[str], requirements: str, constrained: bool = True
) -> Path:
    """The bin folder of the virtual environment .nox/<name>, which is made again if Python or requirements change.

    requirements: a file, or one requirement; constrained: with the versions of constraints.txt.
    """
    python = pythons.first(versions)
    if python is None:
        missing(session, f"no Python {' or '.join(versions)} on this machine")
    folder = NOX / name
    stamp = folder / "made-of"
    from_file = requirements.endswith(".txt")
    pins = [(HERE / file).read_text() for file in ([requirements] if from_file else []) + ["constraints.txt"]]
    made_of = "\n".join([python, str(folder), requirements, *pins])
    wanted = [*(["-c", "constraints.txt"] if constrained else []), *(["-r"] if from_file else []), requirements]
    NOX.mkdir(exist_ok=True)
    with (NOX / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != made_of:
            shutil.rmtree(folder, ignore_errors=True)
            session.run(python, "-m", "venv", str(folder))
            session.run(str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *wanted)
            stamp.write_text(made_of)
    return folder / "bin"


def controller(session: nox.Session, core: str) -> Path:
    """The bin folder with the newest (.venv) or the oldest supported ansible-core."""
    if core == "newest":
        return BIN
    return environment(session, "core-oldest", OLDEST_PYTHONS, "requirements-oldest.txt")


def release_core(session: nox.Session, on: str) -> Path:
    """The bin folder with one of RELEASE."""
    core, python = RELEASE[on]
    if python == "3.10":  # constraints.txt begins with 3.11
        return environment(session, f"core-{on}", [python], "requirements-python310.txt", constrained=False)
    return environment(session, f"core-{on}", [python], core)


def shell(folder: Path = BIN, collections: Path = COLLECTIONS, **more: str) -> dict[str, str]:
    """Environment variables that choose an ansible-core by its bin folder, and this checkout or a copy of it."""
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_NOCOWS": "1", **more}


def tree(session: nox.Session, where: Path) -> Path:
    """Copy the files of the checkout that git does not ignore to <where>/ansible_collections/zpower/sap_tuning."""
    target = where / "ansible_collections" / "zpower" / "sap_tuning"
    shutil.rmtree(target, ignore_errors=True)
    checkout.copy(target)
    # The tools ask git for the files of the tree. The checkout's git would ignore this copy.
    session.run("git", "init", "--quiet", str(target), silent=True, log=False)
    return target


def codespell() -> list[str]:
    """The command that checks TEXTS: a phrase counts as a word of the dictionary."""
    phrases = [line.partition("->")[0] for line in PHRASES.read_text("utf-8").splitlines()]
    words = rf"(?i:\b(?:{'|'.join([*RIGHT, *phrases])})\b)|[\w\-'\u2019]+"
    files = [str(path) for name in TEXTS for path in sorted(HERE.glob(name))]
    return [
        "codespell",
        "--dictionary",
        "-",
        "--dictionary",
        str(PHRASES),
        "--regex",
        words,
        "--ignore-words-list",
        "enque,hsi,ond",
        *files,
    ]


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
        ("reuse", "lint", "--lines"),
        codespell(),
        ("nox", "--noxfile", str(HERE / "noxfile.py"), "--session", "extra-checks"),
    ):
        session.log("%s %s", tool, " ".join(arguments))
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


# For machines where ansible-test cannot download its pip.
PIP_BOOTSTRAP = """\
import subprocess
import sys

unknown = {"--no-setuptools", "--no-wheel", "--disable-pip-version-check"}
subprocess.run([sys.executable, "-m", "ensurepip", "--default-pip"], check=True, stdout=subprocess.DEVNULL)
packages = [argument for argument in sys.argv[1:] if argument not in unknown]
if any(not argument.startswith("-") for argument in packages):
    sys.exit(subprocess.run([sys.executable, "-m", "pip", "install", *packages]).returncode)
"""


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


def ansible_test(
    session: nox.Session, name: str, folder: Path, versions: list[str], copy: Path, command: list[str]
) -> None:
    """Run ansible-test of the ansible-core in this bin folder in a copy of the collection, with a home of its own and
    those of these Pythons that the machine has, and print what it complains about."""
    home = CACHE / f"sanity-home-{name}"
    links = home / "pythons"
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir(parents=True)
    for version in versions:
        if (python := pythons.find(version)) is not None:
            (links / f"python{version}").symlink_to(python)
    path = os.pathsep.join([str(folder), str(links), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"])
    env = shell(folder, copy.parents[2], HOME=str(home)) | {"PATH": path}
    log = copy.parents[2] / "log"
    for _attempt in range(3):
        with session.chdir(copy), log.open("w") as out:
            done = subprocess.run(
                [folder / "python", folder / "ansible-test", command[0], "--color", "no", *command[1:]],
                env=os.environ | env,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            )
        said = log.read_text()
        wanted = re.search(r"can be manually downloaded and saved to: (\S.*)", said)
        if done.returncode == 0 or wanted is None:
            break
        Path(wanted[1]).write_text(PIP_BOOTSTRAP)
    print(
        *(line for line in said.splitlines() if re.match("ERROR|FAILED|WARNING|FATAL|Running|See |=+ ", line)), sep="\n"
    )
    if done.returncode != 0:
        session.error(f"ansible-test {command[0]} failed; its whole output: {log}")


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


def molecule_test(session: nox.Session, core: str, scenario: str, kind: str, **more: str) -> None:
    """Run a molecule scenario; its lab and its files have names of their own, so that several can run at once."""
    needs_root(session)
    folder = controller(session, core)
    lab = [f"molecule/shared/{kind}", "--name", f"{scenario}{core}"]
    home = CACHE / f"ansible-home-{core}"
    for left_over in home.glob(f"tmp/molecule.*.{scenario}"):  # results of an interrupted run would count as this one's
        shutil.rmtree(left_over)
    more |= {"LAB_NAME": lab[-1], "ANSIBLE_HOME": str(home)}
    more |= {"MOLECULE_GLOB": "molecule/*/molecule.yml", "COLUMNS": "160"}
    try:
        command = [str(folder / "molecule"), "test", "--no-command-borders", "--scenario-name", scenario]
        session.run(*command, env=shell(folder, **more))
    finally:
        session.run(*lab, "down")


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
