# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of playbooks on hosts whose Python is a script that prints a module's result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import playing
from jsonschema import Draft202012Validator

CHECKOUT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((CHECKOUT / "docs" / "schemas" / "evidence-1.schema.json").read_text(encoding="utf-8"))
PLACES = {"running": {"rx-0": "0"}, "stored": None, "next_boot": {"rps_cpus": "0"}}
WAIVER = {
    "tuning": "rps",
    "subject": "hsi*",
    "hosts": "old",
    "reason": "replaced",
    "owner": "Ada",
    "until": "2999-12-31",
}


def returned(verdict: str, **more: Any) -> str:
    """Return what the module prints on a host with one row."""
    row = {"name": "rps", "subject": "hsi0", "verdict": verdict, "before": PLACES, "after": PLACES, "restart": "none"}
    row["wanted"] = {"state": "present"}
    row["reason"] = "" if verdict == "compliant" else f"hsi0 rx-0: {verdict}"
    result = {"failed": False, "msg": "", "changed": False, "tuning": [row], "diff": {}, **more}
    return json.dumps({"changed": False, "tunings": {"rps": result}, "tuning": [], "platform": {"system": "Linux"}})


COMPLIANT, DRIFTED = returned("compliant"), returned("drifted")
FAILED = returned("compliant", failed=True, msg="the journal is broken", tuning=[])
CRASHED = "Traceback: no space left"


class Site:
    def __init__(self, folder: Path, hosts: dict[str, str], **variables: Any) -> None:
        self.folder = folder
        common = {"ansible_connection": "local", "ansible_become": False, "zpower_tunings": ["rps"], **variables}
        about: dict[str, dict[str, Any]] = {}
        for name, output in hosts.items():
            about[name] = {"ansible_python_interpreter": str(self.script(name, output))}
            if name.startswith("lost"):
                about[name]["ansible_remote_tmp"] = "/dev/null/nowhere"
        inventory = {
            "all": {
                "vars": common,
                "hosts": about,
                "children": {"old": {"hosts": {name: {} for name in hosts if name == "app2"}}},
            }
        }
        (folder / "hosts.yml").write_text(json.dumps(inventory))
        self.environment = {key: value for key, value in playing.environment().items() if not key.startswith("ZPOWER_")}

    def script(self, name: str, output: str) -> Path:
        """Write a program that prints a text; without one it runs until the file ``wait`` is gone."""
        action = f"cat <<'END'\n{output}\nEND" if output else f"while [ -e '{self.folder}/wait' ]; do sleep 0.1; done"
        return playing.program(self.folder / f"python-{name}", action)

    def start(self, *arguments: str) -> playing.Started:
        return playing.start("-i", "hosts.yml", *arguments, cwd=self.folder, env=self.environment)

    def play(self, *arguments: str) -> tuple[int, str]:
        """Return exit code and output, the table last."""
        started = self.start(*arguments)
        return started.wait(), started.stderr + started.stdout

    def evidence(self, kind: str = "verify") -> dict[str, Any]:
        """Return the only document of a kind; check that a finished run has all formats, and the schema."""
        (folder,) = (self.folder / "results" / kind).iterdir()
        found: dict[str, Any] = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
        formats = ("json", "csv", "md", "html", "xml", "prom") if found["run"]["ended"] else ("json",)
        sums = {"SHA256SUMS"} if found["run"]["ended"] else set()
        assert {path.name for path in folder.iterdir()} == {f"{kind}.{form}" for form in formats} | sums
        Draft202012Validator(SCHEMA).validate(found)
        return found


def keeper(folder: Path, code: int = 0) -> str:
    """Write a program that logs its arguments."""
    text = f"printf '%s\\n' \"$@\" >>'{folder}/kept'\necho no space\nexit {code}"
    return str(playing.program(folder / "keep", text))
