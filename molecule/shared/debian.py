# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian packages of any suite and architecture, unpacked on this machine, and images made from them for the emulated
labs. The images are kept in a cache outside the checkout.
"""

import collections
import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from machine import LabError, run

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MINUTES = 60
ROOM = 1536 << 20  # bytes that making an image needs
UNUSED = 30 * 24 * 60 * MINUTES  # an unused image is removed after this many seconds
# What apt says of a mirror that is taking over a new point release.
HALF_WAY = ("Mirror sync in progress", "Hash Sum mismatch")

Package = collections.namedtuple("Package", ["name", "version", "path"])


def cache():
    """Return the folder for everything that can be fetched and made again."""
    chosen = os.environ.get("ZPOWER_LAB_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(chosen or os.path.join(home, "zpower-sap-tuning"))


def mirror():
    """Return the address from which this machine gets Debian packages."""
    wanted = "$(ORIGIN) $(RELEASE) $(COMPONENT) $(REPO_URI)"
    lines = run(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"]).splitlines()
    found = [line.split()[-3:] for line in sorted(lines, key=lambda line: not line.startswith("Debian "))]
    for release, component, address in found:
        if component == "main" and "-" not in release:
            return address
    raise LabError("The configuration of apt on this machine names no Debian mirror with the component 'main'.")


def source(suite):
    """Return the line of sources.list for a suite."""
    return f"deb [signed-by={KEYRING}] {mirror()} {suite} main"


def packages(suite, architecture, names, folder, alone=False):
    """Fetch packages of a suite with all dependencies into a folder; return them as Package records.

    alone: without dependencies.
    """
    for part in ("lists/partial", "archives/partial", "log", "preferences.d"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "Dir::Cache": str(folder),
        "Dir::Cache::archives": str(folder / "archives"),
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": str(folder / "preferences.d"),
        "Dir::Etc::sourcelist": str(folder / "sources.list"),
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Log": str(folder / "log"),
        "Dir::State": str(folder),
        "Dir::State::lists": str(folder / "lists"),
        "Dir::State::status": str(folder / "status"),
        "Debug::NoLocking": "true",
    }
    configuration = folder / "apt.conf"
    configuration.write_text("".join(f'{key} "{value}";\n' for key, value in options.items()))
    apt = ["apt-get", "-qq", f"--config-file={configuration}"]
    install = [*apt, "install", "--yes", "--download-only", *names]
    if alone:
        install = ["env", f"--chdir={folder / 'archives'}", *apt, "download", *names]
    try:
        update(apt, suite, folder)
        try:
            run(install, timeout=20 * MINUTES)
        except LabError as problem:
            if not any(said in str(problem) for said in ("404", *HALF_WAY)):
                raise
            other_name(apt, suite, folder, folder / "lists", problem)
            run(install, timeout=20 * MINUTES)
    except LabError as problem:
        said = (str(problem).partition("E: ")[2] or str(problem)).splitlines()[0]
        raise LabError(f"The packages of Debian '{suite}' for {architecture} cannot be fetched: {said}") from None
    return [package_of(path) for path in sorted((folder / "archives").glob("*.deb"))]


def update(apt, suite, folder):
    """Fetch the lists of a suite."""
    try:
        fetch(apt, suite, folder)
    except LabError as problem:
        if not any(said in str(problem) for said in HALF_WAY):
            raise
        other_name(apt, suite, folder, folder / "lists" / "partial", problem)


def fetch(apt, name, folder):
    (folder / "sources.list").write_text(source(name) + "\n")
    run([*apt, "update"], timeout=5 * MINUTES)


def other_name(apt, suite, folder, seen, problem):
    """Fetch the lists of a suite by its other name (stable, oldstable), else raise the problem.

    While a mirror takes over a new point release, the lists of one architecture can be older than the release that
    lists them, or the packages that they name can be missing; the release before may still be whole by the other name.
    seen: the folder with the suite's InRelease, which tells that name.
    """
    other = said("Suite", seen)
    if other is None or other == suite:
        raise problem
    fetch(apt, other, folder)
    if said("Codename", folder / "lists") != suite:
        raise problem from None


def said(key, lists):
    """What the InRelease of a folder says; None if it has none."""
    found = [re.search(f"^{key}: (.+)$", path.read_text(), re.MULTILINE) for path in lists.glob("*_InRelease")]
    return found[0][1] if found and found[0] else None


def package_of(path):
    name, version, _architecture = path.stem.split("_")
    return Package(name, version.replace("%3a", ":"), path)


def unpack(chosen, root, without=()):
    """Unpack packages below a root with Debian's merged /usr; none of their scripts is run."""
    for part in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / part).mkdir(parents=True, exist_ok=True)
        if not (root / part).is_symlink():
            (root / part).symlink_to("usr/" + part)
    exclude = [f"--exclude=.{path}" for path in without]
    beside = root.parent / (root.name + ".tar")
    for package in chosen:
        with beside.open("wb") as data:
            run(["dpkg-deb", "--fsys-tarfile", str(package.path)], stdout=data)
        run(["tar", "-x", "-f", str(beside), "-C", str(root), "--keep-directory-symlink", *exclude])
    beside.unlink()


def cpio(folder, archive):
    """Pack a folder in the kernel's format of an initramfs; root owns everything in it."""
    names = "\n".join(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")))
    options = ["--create", "--format=newc", "--owner=0:0", "--quiet", f"--directory={folder}", f"--file={archive}"]
    run(["cpio", *options], stdin=names + "\n")


def write_manifest(folder, chosen):
    """Write the packages of an image beside it, one `name=version` a line."""
    lines = sorted({f"{package.name}={package.version}" for package in chosen})
    (folder / "manifest").write_text("\n".join(lines) + "\n")


def image(name, recipe, make):
    """Return the folder of an image, which `make(folder, scratch)` makes unless one of the same recipe exists.

    The recipe is the text of the programs that make it, except for this one. Only one program at a time makes an image;
    the remains of an interrupted one are removed.
    """
    digest = hashlib.sha256((recipe + Path(__file__).read_text()).encode()).hexdigest()[:12]
    target = cache() / f"{name}-{digest}"
    try:
        cache().mkdir(parents=True, exist_ok=True)
        with (cache() / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for old in cache().glob(f"{name}-*"):
                if old.suffix == ".new" or time.time() - old.stat().st_mtime > UNUSED:
                    shutil.rmtree(old)
            if not target.exists():
                free = shutil.disk_usage(cache()).free
                if free < ROOM:
                    raise LabError(
                        f"The image {name} takes {ROOM >> 20} MB while it is made, and {cache()} has {free >> 20} MB; "
                        "ZPOWER_LAB_CACHE names another folder."
                    )
                print(f"lab: making the image {name}, once; it stays in {cache()}", flush=True)
                with half_made(target) as folder, tempfile.TemporaryDirectory(prefix="scratch-", dir=folder) as scratch:
                    make(folder, Path(scratch))
            os.utime(target)
    except OSError as problem:
        said = os.strerror(problem.errno or errno.EIO)
        raise LabError(f"The image {name} cannot be made in {cache()}: {said}.") from problem
    return target


@contextlib.contextmanager
def half_made(target):
    """Make a folder that is renamed to the target if the block succeeds, and removed otherwise."""
    folder = target.with_name(target.name + ".new")
    folder.mkdir()
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    folder.rename(target)
