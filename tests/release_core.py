# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check an installed collection with one ansible-core: documentation of plugins and roles, syntax of playbooks, and
`verify` of one tuning. They must need only KEPT: everything else is removed from the installed collection before, and
HOME is a folder that cannot be made, as in an execution environment whose home is read-only.

release_core.py BIN COLLECTIONS    the bin folder of the ansible-core, the folder the collection is installed in
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "zpower.sap_tuning"
# The parts that a package of many collections keeps of each one.
KEPT = {"FILES.json", "MANIFEST.json", "meta", "playbooks", "plugins", "roles"}
TYPES = {"modules": "module", "callback": "callback", "lookup": "lookup", "roles": "role"}


def names(collection: Path, folder: str) -> list[str]:
    """Return the qualified names of the plugins, or of the roles, in a folder of the collection."""
    if folder == "roles":
        return sorted(f"{NAME}.{path.name}" for path in (collection / folder).iterdir() if (path / "meta").is_dir())
    found = (collection / "plugins" / folder).glob("[!_]*.py")
    return sorted(f"{NAME}.{path.stem}" for path in found)


def bare(collection: Path) -> int:
    """Remove everything except for KEPT; return the number of removed files and folders."""
    others = [path for path in collection.iterdir() if path.name not in KEPT]
    for path in others:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return len(others)


def documented(folder: Path, collection: Path) -> int:
    """Return how many plugins and roles ansible-doc documents. Exit if one of them has no documentation."""
    count = 0
    for where, kind in TYPES.items():
        wanted = names(collection, where)
        command: list[str | Path] = [folder / "ansible-doc", "--type", kind, "--json", *wanted]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
        found = json.loads(done.stdout) if done.returncode == 0 else {}
        empty = [name for name in wanted if not found.get(name) or "error" in found[name]]
        if not wanted or empty or set(found) != set(wanted):
            sys.exit(f"ansible-doc --type {kind} has no documentation of {', '.join(empty) or kind}:\n{done.stderr}")
        count += len(wanted)
    return count


def parsed(folder: Path, collection: Path) -> int:
    """Return how many playbooks ansible-playbook parses. Exit if one of them is wrong."""
    playbooks = sorted(f"{NAME}.{path.stem}" for path in (collection / "playbooks").glob("*.yml"))
    command: list[str | Path] = [folder / "ansible-playbook", "--syntax-check", "-i", "localhost,", *playbooks]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    if done.returncode or not playbooks:
        sys.exit(f"ansible-playbook --syntax-check ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return len(playbooks)


def verified(folder: Path) -> str:
    """Return the verdicts of `verify` on this machine. Exit if RPS was not read here."""
    with tempfile.TemporaryDirectory() as work:
        chosen = {
            "zpower_tunings": ["rps"],
            "zpower_drift": "warn",
            "zpower_results": work,
            "ansible_connection": "local",
            "ansible_python_interpreter": str(folder / "python"),
        }
        options = [f"{NAME}.verify", "-i", "localhost,", "-e", json.dumps(chosen)]
        command: list[str | Path] = [folder / "ansible-playbook", *options]
        done = subprocess.run(command, cwd=work, check=False, capture_output=True, text=True, timeout=600)
        written = sorted(Path(work).glob("verify/*/verify.json"))
        evidence = json.loads(written[-1].read_text()) if written else {}
    rows = [row for host in evidence.get("hosts", []) for row in host["rows"] if row["name"] == "rps"]
    if done.returncode or evidence.get("result") not in ("compliant", "drift") or not rows:
        sys.exit(f"verify on localhost ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return ", ".join(sorted({row["verdict"] for row in rows}))


def main() -> None:
    folder, collections = Path(sys.argv[1]), Path(sys.argv[2])
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(collections)
    os.environ |= {"HOME": "/dev/null/home", "ANSIBLE_HOME": str(collections)}
    os.environ["ANSIBLE_REMOTE_TEMP"] = str(collections / "tmp")
    collection = collections / "ansible_collections" / "zpower" / "sap_tuning"
    print(f"release: {bare(collection)} files and folders beside {', '.join(sorted(KEPT))} are removed")
    print(f"release: {documented(folder, collection)} plugins and roles are documented")
    print(f"release: {parsed(folder, collection)} playbooks are parsed")
    print(f"release: verify on localhost says of RPS: {verified(folder)}")


if __name__ == "__main__":
    main()
