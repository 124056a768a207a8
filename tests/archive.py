# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the archive for `ansible-galaxy collection install` below build/. Git and ansible-core are enough.

Galaxy shows README.md and those of the roles, where a relative link leads nowhere: in the archive, their links lead to
the forge, at the tag of the version. In a checkout they stay relative.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

import checkout
import release

HERE = Path(__file__).resolve().parents[1]
sys.path.append(str(HERE / "tests" / "docs"))

import links  # noqa: E402

SHIPPED = {"COPYING", "FILES.json", "LICENSES", "MANIFEST.json", "changelogs", "docs", "inventories", "meta"}
SHIPPED |= {f"{name}.md" for name in ("CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "README", "SECURITY")}
SHIPPED |= {"playbooks", "plugins", "roles"}
SHIPPED_TESTS = {"tests", "tests/config.yml"}


def absolute(text: str, page: PurePosixPath, files: Path) -> str:
    """Return the text of a page of the tree `files` with links to the forge, at the tag of the version."""

    def new(link: str) -> str:
        name, hash_sign, anchor = link.partition("#")
        target = os.path.normpath(page.parent / name) if name else str(page)
        kind = "raw" if target.endswith((".png", ".svg")) else "tree" if (files / target).is_dir() else "blob"
        return f"{release.galaxy('repository')}/{kind}/v{release.galaxy('version')}/{target}{hash_sign}{anchor}"

    return links.with_links(text, new)


def build(files: Path | None = None, target: Path = HERE / "build") -> Path:
    """Return the path of the archive, which holds only files for users. The same files of a commit give the same bytes.

    files: the tree of the collection, in which links are replaced; by default a copy of the checkout. SystemExit names
    files that are not for users.
    """
    if files is None:
        files = HERE / ".cache" / "build"
        shutil.rmtree(files, ignore_errors=True)
        checkout.copy(files)
    for path in [files / "README.md", *files.glob("roles/*/README.md")]:
        page = PurePosixPath(path.relative_to(files).as_posix())
        path.write_text(absolute(path.read_text("utf-8"), page, files), "utf-8")
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
