# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of real kernels (fixtures/platform), planted below a temporary folder."""

import io
import json
import os

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fixtures", "platform")


def names():
    """Return the names of all captures, sorted."""
    return sorted(name[: -len(".json")] for name in os.listdir(FOLDER) if name.endswith(".json"))


def entries(name):
    """Return {path: text or entry} of one capture."""
    with io.open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as stream:
        return json.load(stream)


def plant(name, root):
    """Plant a capture below root (an existing folder) and return its Host."""
    grow(root, entries(name))
    return Host(str(root))


def grow(root, found):
    """Make the files, links and folders of {path: entry}; what could not be read becomes a folder, also unreadable."""
    for path in sorted(found):
        entry, target = found[path], os.path.join(str(root), path.lstrip("/"))
        folder = target if isinstance(entry, dict) and "link" not in entry else os.path.dirname(target)
        if not os.path.isdir(folder):
            os.makedirs(folder)
        if isinstance(entry, dict):
            if "link" in entry:
                os.symlink(entry["link"], target)
        else:
            with open(target, "wb") as stream:
                stream.write(entry.encode("utf-8", "surrogateescape"))
