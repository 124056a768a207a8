# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tutorial docs/adding_a_tuning.md, whose blocks are files and edits of this checkout.

`python tests/tutorial.py FOLDER` makes a copy of the checkout with the tuning of the tutorial.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import checkout

HERE = Path(__file__).resolve().parents[1]
PAGE = HERE / "docs" / "adding_a_tuning.md"
BLOCK = re.compile(r"^(File|Edit): `([^`\n]+)`\n\n(`{3,})\w+\n(.*?)^\3$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A new file, or a unified diff of an existing one."""

    kind: str
    path: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(kind, path, text) for kind, path, _fence, text in BLOCK.findall(page)]


def copy(folder: Path) -> None:
    """Copy the files that git does not ignore to a new folder, where Ansible finds them as the collection."""
    checkout.copy(folder)
    link = folder / ".cache" / "collections" / "ansible_collections" / "zpower" / "sap_tuning"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../../..")


def write(folder: Path, block: Block) -> None:
    """Write a file of the page or apply an edit; fail if the file exists or the edit does not fit."""
    if block.kind == "Edit":
        command = ["git", "apply", "--recount", "-"]
        subprocess.run(command, cwd=folder, check=True, input=block.text, text=True, env={"GIT_DIR": "/nonexistent"})
        return
    path = folder / block.path
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8") as stream:
        stream.write(block.text)


def generate(folder: Path) -> None:
    """Run what the page calls `make generate`."""
    subprocess.run([sys.executable, "tests/generate.py"], cwd=folder, check=True)


def make(folder: Path) -> None:
    """Make a copy with everything that the page describes."""
    copy(folder)
    for block in blocks(PAGE.read_text("utf-8")):
        write(folder, block)
    generate(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit("give a folder that does not exist")
    make(Path(sys.argv[1]))
