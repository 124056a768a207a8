# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sessions of noxfile.py run in: versions of Python and of ansible-core, their environments below .nox, and
copies of this checkout."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import checkout
import nox
import pythons

HERE = Path(__file__).resolve().parents[1]
BIN = HERE / ".venv" / "bin"
NOX = HERE / ".nox"
CACHE = HERE / ".cache"
COLLECTIONS = CACHE / "collections"
LINK = COLLECTIONS / "ansible_collections" / "zpower" / "sap_tuning"
OLDEST_CORE = "ansible-core==2.16.19"
OLDEST_PYTHONS = ["3.12", "3.11"]  # ansible-core 2.16 supports 3.10 to 3.12, molecule needs 3.11
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
