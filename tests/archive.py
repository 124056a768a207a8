# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the archive for `ansible-galaxy collection install` below build/. Git and ansible-core are enough."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import checkout
import release

HERE = Path(__file__).resolve().parents[1]
SHIPPED = {"COPYING", "FILES.json", "LICENSES", "MANIFEST.json", "changelogs", "docs", "inventories", "meta"}
SHIPPED |= {f"{name}.md" for name in ("CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "README", "SECURITY")}
SHIPPED |= {"playbooks", "plugins", "roles"}
SHIPPED_TESTS = {"tests", "tests/config.yml"}


def build(files: Path | None = None, target: Path = HERE / "build") -> Path:
    """The path of the archive, which holds only files for users. The same files of the same commit give the same bytes.

    files: the tree of the collection, otherwise a copy of the checkout. SystemExit names files that are not for users.
    """
    if files is None:
        files = HERE / ".cache" / "build"
        shutil.rmtree(files, ignore_errors=True)
        checkout.copy(files)
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    command = [galaxy, "collection", "build", "--force", "--output-path", target, files]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    path = target / release.archive_name()
    release.repack(path, release.commit_time())
    with tarfile.open(path) as content:
        foreign = {name for name in content.getnames() if name.split("/")[0] not in SHIPPED} - SHIPPED_TESTS
    if foreign:
        sys.exit(f"{path.name} holds files that are not for users: {', '.join(sorted(foreign))}")
    return path


if __name__ == "__main__":
    print(build())
