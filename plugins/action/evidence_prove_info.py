# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prove the evidence of a results folder; documented in plugins/modules/evidence_prove_info.py."""

from pathlib import Path
from typing import Any

from ..modules.evidence_prove_info import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._actions.variables import COLLECTION, collection_version
from ..plugin_utils._evidence.proving import PROVED, SKIPPED, WRONG, Rules, prove
from ..plugin_utils._pages.text import in_columns, one_line


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    RULES = {"required_together": [["evidence_signers", "evidence_identity"]]}
    VARIABLES = {option: f"zpower_{option}" for option in ARGUMENTS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        signers, identity = (options[name] or "" for name in ("evidence_signers", "evidence_identity"))
        notes = prove(Path(options["results"]), Rules(collection_version(COLLECTION), signers, identity))
        runs = {name: {note.run for note in notes if note.result == name} for name in (WRONG, SKIPPED, PROVED)}
        msg = f"Runs: {', '.join(f'{len(found)} {name}' for name, found in runs.items() if found)}"
        unsigned = "" if signers else f"; signatures {SKIPPED}, because zpower_evidence_signers is not set"
        for line in (*in_columns([tuple(map(one_line, note)) for note in notes]), msg + unsigned):
            self._display.display(line)
        return {
            "changed": False,
            "failed": bool(runs[WRONG]) or not runs[PROVED],  # what was only skipped proves nothing
            "msg": msg + unsigned,
            "notes": [note._asdict() for note in notes],
        }
