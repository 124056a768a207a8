# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the Python interpreters of this machine.

pythons.py 3.13 3.12 3.11    prints the path of the first of these versions that is installed; status 1 if none is
"""

import glob
import os
import subprocess
import sys

PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


def folders():
    """Return folders with interpreters: PATH without pyenv's shims (they run the chosen version), pyenv's own, /usr."""
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    path = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    shims = os.path.join(pyenv, "shims")
    found = [folder for folder in path if os.path.realpath(folder) != os.path.realpath(shims)]
    found += sorted(glob.glob(os.path.join(pyenv, "versions", "*", "bin")), reverse=True)
    return found + ["/usr/local/bin", "/usr/bin"]


def find(version):
    """Return the path of an interpreter of a version such as "3.6", or None. Virtual environments do not count."""
    for folder in folders():
        path = os.path.join(folder, "python" + version)
        if os.path.exists(os.path.join(os.path.dirname(folder), "pyvenv.cfg")) or not os.access(path, os.X_OK):
            continue
        try:
            said = subprocess.run(
                [path, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=30
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if said.stdout.decode("ascii", "replace").strip() == version:
            return path
    return None


def first(versions):
    """Return the path of the first installed version, or None."""
    return next((path for path in map(find, versions) if path), None)


if __name__ == "__main__":
    chosen = first(sys.argv[1:])
    if chosen is None:
        sys.exit(1)
    print(chosen)
