# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sessions behind the Makefile. They run with the tools in .venv; only what needs another Python or another
ansible-core gets an environment of its own below .nox. In CI, a session that cannot run for want of something fails.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import antsibull_nox
import nox

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))

import pythons  # noqa: E402  (it lies beside what uses it without nox)

BIN = HERE / ".venv" / "bin"
NOX = HERE / ".nox"
CACHE = HERE / ".cache"
COLLECTIONS = CACHE / "collections"
LINK = COLLECTIONS / "ansible_collections" / "zpower" / "sap_tuning"
OLDEST_CORE = "ansible-core==2.16.19"
OLDEST_PYTHONS = ["3.12", "3.11"]  # ansible-core 2.16 knows 3.10 to 3.12, molecule wants 3.11
# Whole files, because tests of one file share servers and names.
TWO_WORKERS = ["-n", "2", "--dist", "loadfile"]
TARGET_TESTS = ["tests/unit/plugins/module_utils", "tests/unit/plugins/modules"]
CONTROLLER_CODE = ["plugins/plugin_utils", "plugins/action", "plugins/callback", "plugins/lookup"]
SHIPPED = {"COPYING", "FILES.json", "LICENSES", "MANIFEST.json", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"}
SHIPPED |= {"SECURITY.md", "changelogs", "docs", "meta", "playbooks", "plugins", "roles"}
# Scenarios with a lab program of the same name, which boots s390x kernels: they are the session kernels, not molecule.
EMULATED = ["lpar", "guest"]
# As these, and only where they are asked for by name.
EMULATED_ON_REQUEST = ["smc"]
ON_BOTH_CORES = nox.parametrize("core", ["newest", "oldest"], ids=["newest", "oldest"])

nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False
nox.options.sessions = ["lint", "unit"]
antsibull_nox.load_antsibull_nox_toml()


def missing(session: nox.Session, why: str) -> NoReturn:
    """Leave a session that cannot run here: a failure in CI, elsewhere SKIPPED with the reason."""
    if os.environ.get("CI") == "true":
        session.error(why)
    session.skip("SKIPPED: " + why)


def needs_root(session: nox.Session) -> None:
    """Leave a session that makes network namespaces where that is not allowed."""
    if os.geteuid() != 0 and (
        not shutil.which("sudo") or subprocess.run(["sudo", "-n", "true"], check=False).returncode
    ):
        missing(session, "the lab needs root, or sudo without a password")


def environment(session: nox.Session, name: str, versions: list[str], requirements: str) -> Path:
    """The bin folder of the virtual environment .nox/<name>, made anew when its Python or its requirements change."""
    python = pythons.first(versions)
    if python is None:
        missing(session, f"no Python {' or '.join(versions)} on this machine")
    folder = NOX / name
    stamp = folder / "made-of"
    made_of = "\n".join([python, str(folder), *((HERE / n).read_text() for n in (requirements, "constraints.txt"))])
    if not stamp.exists() or stamp.read_text() != made_of:
        shutil.rmtree(folder, ignore_errors=True)
        session.run(python, "-m", "venv", str(folder))
        constraints = ["-c", "constraints.txt"] if versions == OLDEST_PYTHONS else []
        session.run(str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *constraints, "-r", requirements)
        stamp.write_text(made_of)
    return folder / "bin"


def controller(session: nox.Session, core: str) -> Path:
    """The bin folder that holds the newest (.venv) or the oldest supported ansible-core."""
    if core == "newest":
        return BIN
    return environment(session, "core-oldest", OLDEST_PYTHONS, "requirements-oldest.txt")


def shell(folder: Path = BIN, **more: str) -> dict[str, str]:
    """Environment variables in which `ansible` is the one of a bin folder and finds this checkout as a collection."""
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_NOCOWS": "1",
        **more,
    }


def shell_of(copy: Path, folder: Path = BIN) -> dict[str, str]:
    """As shell(), with a copy of the checkout in the place of the checkout."""
    return shell(folder, ANSIBLE_COLLECTIONS_PATH=str(copy.parents[2]))


def tree(session: nox.Session, where: Path) -> Path:
    """Copy what git knows of the checkout (new files too) to <where>/ansible_collections/zpower/sap_tuning."""
    target = where / "ansible_collections" / "zpower" / "sap_tuning"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=HERE, check=True, capture_output=True, text=True
    )
    names = {name for name in listed.stdout.split("\0") if name and (HERE / name).is_file()}
    for old in [path for path in target.rglob("*") if path.is_file() and str(path.relative_to(target)) not in names]:
        if not {".git", "output"} & set(old.relative_to(target).parts):
            old.unlink()
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(HERE / name, target / name)
    # The tools ask git what belongs to the tree, and must not find the checkout's own, which ignores this copy.
    session.run("git", "init", "--quiet", str(target), silent=True, log=False)
    return target


@nox.session
def lint(session: nox.Session) -> None:
    """Everything that reads the code without running it; each tool has its say, whatever the others said."""
    copy = tree(session, CACHE / "lint")
    code = [path for path in CONTROLLER_CODE if any((HERE / path).rglob("*.py"))]
    failed = [
        tool
        for tool, arguments, place, env in (
            ("ruff", ["check", "--output-format", "concise", "."], HERE, shell()),
            ("ruff", ["format", "--check", "."], HERE, shell()),
            ("yamllint", ["--strict", "."], HERE, shell()),
            ("mypy", code, HERE, shell()),
            ("antsibull-changelog", ["lint"], HERE, shell()),
            ("ansible-lint", ["--offline", "--profile", "production", "--strict"], copy, shell_of(copy)),
        )
        if not passed(session, place, [str(BIN / tool), *arguments], env)
    ]
    if failed:
        session.error(f"something was found by {', '.join(dict.fromkeys(failed))}")


def passed(session: nox.Session, place: Path, command: list[str], env: dict[str, str]) -> bool:
    """Run a command in a folder; whether it ended well."""
    with session.chdir(place):
        try:
            session.run(*command, env=env)
        except nox.command.CommandFailed:
            return False
    return True


@nox.session
@nox.parametrize("on", ["newest", "oldest", "3.9", "3.6"], ids=["newest", "oldest", "3.9", "3.6"])
def unit(session: nox.Session, on: str) -> None:
    """Unit tests: all of them on both ansible-core, those of the code for targets on old Pythons too."""
    if on in ("newest", "oldest"):
        folder = controller(session, on)
        arguments = ["-q", *TWO_WORKERS, "tests/unit", *session.posargs]
        session.run(str(folder / "python"), "-m", "pytest", *arguments, env=shell(folder))
        return
    folder = environment(session, f"target-{on}", [on], "requirements-targets.txt")
    core = OLDEST_CORE if on == "3.6" else installed_core(session)
    library = NOX / core
    if not library.exists():
        beside = NOX / f"{core}.new"
        shutil.rmtree(beside, ignore_errors=True)
        # Only ansible.module_utils is wanted, as it reaches a target: not what a controller needs beside it.
        session.run(str(BIN / "python"), "-m", "pip", "install", "-q", "--no-deps", "--target", str(beside), core)
        beside.rename(library)
    tests = [path for path in TARGET_TESTS if (HERE / path).is_dir()]
    env = shell(PYTHONPATH=str(library), PYTHONDONTWRITEBYTECODE="1")
    session.run(str(folder / "python"), "-m", "pytest", "-q", *TWO_WORKERS, *tests, *session.posargs, env=env)


def installed_core(session: nox.Session) -> str:
    """The requirement that names the ansible-core of .venv."""
    code = "from importlib.metadata import version; print('ansible-core==' + version('ansible-core'))"
    return str(session.run(str(BIN / "python"), "-c", code, silent=True)).strip()


# ansible-test fetches its own pip. Where it cannot, this stands in for what it would have fetched.
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
@ON_BOTH_CORES
def sanity(session: nox.Session, core: str) -> None:
    """ansible-test sanity, in a home of its own, with every real Python of this machine."""
    folder = controller(session, core)
    copy = tree(session, CACHE / f"sanity-{core}")
    links = CACHE / "pythons"
    shutil.rmtree(links, ignore_errors=True)
    links.mkdir(parents=True)
    for version in [f"3.{minor}" for minor in range(6, 15)]:
        if (python := pythons.find(version)) is not None:
            (links / f"python{version}").symlink_to(python)
    home = CACHE / "sanity-home"
    home.mkdir(exist_ok=True)
    env = shell_of(copy, folder) | {"HOME": str(home)}
    env["PATH"] = os.pathsep.join([str(folder), str(links), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"])
    log = copy.parents[2] / "log"
    for _attempt in range(3):
        with session.chdir(copy), log.open("w") as out:
            done = subprocess.run(
                [folder / "python", folder / "ansible-test", "sanity", "--color", "no", *session.posargs],
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
    # what its pip says is of no interest, and long
    print(*(line for line in said.splitlines() if re.match("ERROR|WARNING|FATAL|Running|See ", line)), sep="\n")
    if done.returncode != 0:
        session.error(f"ansible-test sanity found something, see above; all it said: {log}")


@nox.session(name="lab")
def lab_itself(session: nox.Session) -> None:
    """The lab: a hundred hosts, started twice, killed half-way, and nothing left behind."""
    needs_root(session)
    session.run(str(BIN / "python"), "-m", "pytest", "-q", "tests/lab", *session.posargs, env=shell())


@nox.session
@ON_BOTH_CORES
def molecule(session: nox.Session, core: str) -> None:
    """The molecule scenarios; with the oldest ansible-core, modules run on Python 3.6 where this machine has it."""
    needs_root(session)
    folder = controller(session, core)
    scenarios = sorted({path.parent.name for path in HERE.glob("molecule/*/molecule.yml")})
    scenarios = [name for name in scenarios if name not in EMULATED + EMULATED_ON_REQUEST]
    env = {}
    if core == "oldest" and (python := pythons.find("3.6")) is not None:
        env["LAB_PYTHON"] = python
    try:
        for scenario in chosen(session, scenarios):
            molecule_test(session, folder, scenario, **env)
    finally:
        session.run("molecule/shared/lab", "down", "--name", "molecule")


def chosen(session: nox.Session, names: list[str]) -> list[str]:
    """The names that were asked for; all of them where none or `all` was."""
    return names if session.posargs in ([], ["all"]) else session.posargs


def molecule_test(session: nox.Session, folder: Path, scenario: str, **more: str) -> None:
    """One molecule scenario from its first to its last step."""
    more |= {"MOLECULE_GLOB": "molecule/*/molecule.yml", "ANSIBLE_HOME": str(CACHE / "ansible-home"), "COLUMNS": "160"}
    command = [str(folder / "molecule"), "test", "--no-command-borders", "--scenario-name", scenario]
    session.run(*command, env=shell(folder, **more))


@nox.session
def kernels(session: nox.Session) -> None:
    """The scenarios on s390x kernels: their machines are emulated, and made from Debian packages where need be."""
    needs_root(session)
    took: dict[str, float] = {}
    for scenario in chosen(session, EMULATED):
        lab_program = [f"molecule/shared/{scenario}", "--name", f"molecule{scenario}"]
        session.run(*lab_program, "down")
        try:
            with timed(took, f"{scenario}, images and boot"):
                session.run(*lab_program, "up")
            with timed(took, f"{scenario}, tests"):
                molecule_test(session, BIN, scenario)
        finally:
            session.run(*lab_program, "down")
    for part, seconds in took.items():
        session.log("%s: %.0f s", part, seconds)
    session.log("together: %.1f minutes", sum(took.values()) / 60)


@contextlib.contextmanager
def timed(took: dict[str, float], part: str) -> Iterator[None]:
    """Note how long the block took."""
    start = time.monotonic()
    yield
    took[part] = time.monotonic() - start


@contextlib.contextmanager
def lab(session: nox.Session, name: str, hosts: int) -> Iterator[str]:
    """A lab of so many hosts while the block runs; gives its inventory as JSON."""
    program = str(HERE / "molecule" / "shared" / "lab")
    session.run(program, "up", "--name", name, "--hosts", str(hosts))
    try:
        yield str(session.run(program, "inventory", "--name", name, silent=True))
    finally:
        session.run(program, "down", "--name", name)


@nox.session
def docs(session: nox.Session) -> None:
    """Lint the documentation of plugins and roles and build it as HTML below build/docs."""
    env = shell()
    antsibull = str(BIN / "antsibull-docs")
    session.run(
        antsibull, "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", str(LINK), env=env
    )
    text = HERE / "build" / "docs-source"
    shutil.rmtree(text, ignore_errors=True)
    text.mkdir(parents=True)
    options = ["--use-current", "--squash-hierarchy", "--no-breadcrumbs", "--fail-on-error"]
    session.run(antsibull, "collection", *options, "--dest-dir", str(text), "zpower.sap_tuning", env=env)
    settings = {
        "project": "zpower.sap_tuning",
        "extensions": "sphinx_antsibull_ext",
        "html_theme": "sphinx_ansible_theme",
        "html_title": "zpower.sap_tuning",
        "default_role": "any",
        # labels of ansible's own pages, which are not part of this build
        "suppress_warnings": "ref.ref",
    }
    defined = [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]
    session.run(str(BIN / "sphinx-build"), "-q", "-W", "-C", *defined, "-b", "html", str(text), "build/docs", env=env)


def archive(session: nox.Session) -> Path:
    """Build the collection from what git knows, check what is in it, and give its path."""
    copy = tree(session, CACHE / "build")
    target = HERE / "build"
    session.run(
        str(BIN / "ansible-galaxy"),
        "collection",
        "build",
        "--force",
        "--output-path",
        str(target),
        str(copy),
        env=shell(),
    )
    path = max(target.glob("zpower-sap_tuning-*.tar.gz"), key=lambda built: built.stat().st_mtime)
    with tarfile.open(path) as content:
        foreign = {name for name in content.getnames() if name.split("/")[0] not in SHIPPED}
    if foreign:
        session.error(f"{path.name} holds what is not for users: {', '.join(sorted(foreign))}")
    return path


@nox.session
def build(session: nox.Session) -> None:
    """The archive that `ansible-galaxy collection install` takes, below build/."""
    session.log("built %s", archive(session))


@nox.session
def installed(session: nox.Session) -> None:
    """Install the archive into an empty folder and use it from there, with an inventory of its own, on a lab host."""
    needs_root(session)
    path = archive(session)
    with tempfile.TemporaryDirectory() as empty, lab(session, "installed", 1) as hosts:
        inventory = Path(empty) / "hosts.json"
        inventory.write_text(json.dumps(site_inventory(json.loads(hosts))))
        env = shell(ANSIBLE_COLLECTIONS_PATH=str(Path(empty) / "collections"))
        galaxy = [str(BIN / "ansible-galaxy"), "collection", "install", "--no-deps", "--offline", "-p"]
        playbook = [str(BIN / "ansible-playbook"), "-i", str(inventory)]
        with session.chdir(empty):
            session.run(*galaxy, "collections", str(path), env=env)
            session.run(str(BIN / "ansible-doc"), "zpower.sap_tuning.rps", env=env, silent=True)
            session.log("a bare host: verify is to fail")
            session.run(*playbook, "zpower.sap_tuning.verify", env=env, success_codes=[2])
            session.run(*playbook, "zpower.sap_tuning.site", env=env)
            session.run(*playbook, "zpower.sap_tuning.verify", env=env)
            session.run(*playbook, "zpower.sap_tuning.rollback", env=env)
            session.log("taken back: verify is to fail again")
            session.run(*playbook, "zpower.sap_tuning.verify", env=env, success_codes=[2])


def site_inventory(given: dict[str, dict[str, dict[str, object]]]) -> dict[str, object]:
    """The lab's hosts as a site would write them down: in another group, with the tuning chosen there."""
    group = given["sap_app_servers"]
    chosen = {"zpower_tunings": ["rps"], "rps_interfaces": ["hsi*"], "rps_cpus": "all"}
    return {"erp": {"hosts": given["_meta"]["hostvars"], "vars": group["vars"] | chosen}}


@nox.session
def campaigns(session: nox.Session) -> None:
    """A sample of the campaigns of faults and of damaged inputs, always the same one."""
    needs_root(session)
    session.run(str(BIN / "python"), "tests/fuzz/run.py", "--share", "20", env=shell())
    session.run(str(BIN / "python"), "tests/faults/run.py", "--sample", "6", env=shell())


@nox.session
def browser(session: nox.Session) -> None:
    """Every page in headless Chromium, where axe-core looks at it too."""
    if shutil.which("chromium") is None:
        missing(session, "no chromium on this machine")
    session.run(str(BIN / "python"), "-m", "pytest", "-q", "tests/browser", *session.posargs, env=shell())


@nox.session
def demo(session: nox.Session) -> None:
    """The demonstration, as a newcomer runs it; it gets time to take its lab down when it is interrupted."""
    needs_root(session)
    session.run(str(HERE / "tests" / "demo" / "run"), interrupt_timeout=60, terminate_timeout=60)
    for suffix in ("html", "json", "md", "xml", "csv", "om"):
        if not (HERE / "results" / "demo" / f"report.{suffix}").stat().st_size:
            session.error(f"the demo's report.{suffix} is empty")


@nox.session
def bench(session: nox.Session) -> None:
    """Figures against their goals, one line each, and in bench.json."""
    session.run(str(BIN / "python"), "tests/bench/run.py", *session.posargs, env=shell())
