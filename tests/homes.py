# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A separate home for tests. Runs on Python 3.6 too."""

import os

# Kept from the user's home: caches, Pythons, and the settings of git.
KEPT = {"XDG_CACHE_HOME": ".cache", "PYENV_ROOT": ".pyenv", "GIT_CONFIG_GLOBAL": ".gitconfig"}


def variables(folder):
    """Open a folder to other users, like /tmp, and return the environment variables that make it home and TMPDIR."""
    os.chmod(folder, 0o1777)
    home = os.path.expanduser("~")
    kept = {name: os.environ.get(name, os.path.join(home, path)) for name, path in KEPT.items()}
    return dict(kept, HOME=folder, TMPDIR=folder)
