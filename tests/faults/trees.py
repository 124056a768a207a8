# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a folder (content, mode, owner and attributes of all files), and the difference of two states."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

State = dict[str, Any]


def state(root: Path, leave_out: Iterable[str] = ()) -> State:
    """Return {path below root: state of the file}; leave_out: paths to skip."""
    found: State = {}
    skipped = set(leave_out)
    for folder, folders, files in os.walk(root):
        below = "/" + os.path.relpath(folder, root)
        folders[:] = [name for name in folders if os.path.normpath(f"{below}/{name}") not in skipped]
        for name in [*folders, *files]:
            path = os.path.normpath(f"{below}/{name}")
            found[path] = entry(Path(folder, name))
    return found


def entry(path: Path) -> tuple[Any, ...]:
    """Return kind, mode, owner, group, attributes and content of one file, folder or link."""
    there = path.lstat()
    if stat.S_ISLNK(there.st_mode):
        return ("link", there.st_uid, there.st_gid, os.readlink(path))
    attributes = {name: os.getxattr(path, name) for name in sorted(os.listxattr(path))}
    common = (oct(there.st_mode), there.st_uid, there.st_gid, attributes)
    return (*common, path.read_bytes() if stat.S_ISREG(there.st_mode) else None)


def difference(wanted: State, found: State) -> str:
    """Return the differences of found and wanted in one line; empty if there are none."""
    words = [f"left {path}" for path in sorted(set(found) - set(wanted))]
    words += [f"lost {path}" for path in sorted(set(wanted) - set(found))]
    words += [
        f"{path} is {found[path]!r:.160}, was {wanted[path]!r:.160}"
        for path in sorted(set(found) & set(wanted))
        if found[path] != wanted[path]
    ]
    more = f" and {len(words) - 6} more" if len(words) > 6 else ""
    return "; ".join(words[:6]) + more
