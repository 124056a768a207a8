# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the phases of a change and write the report; documented in plugins/modules/measurement_report.py."""

import difflib
import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible import context

from ..modules.measurement_report import DOCUMENTATION
from ..plugin_utils._actions import reporting
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._compare import comparing
from ..plugin_utils._compare.next_steps import IMPORTED, MORE_VARIABLES
from ..plugin_utils._compare.shapes import Report
from ..plugin_utils._evidence import command
from ..plugin_utils._experiment.plans import choose_limit, read_plan
from ..plugin_utils._pages.text import PairKey, Runs, natural, one_line, plural, verdict_word
from ..plugin_utils._records import record_files
from ..plugin_utils._records.checks import RESERVED, rollout_of
from ..plugin_utils._report import RENDERERS
from ..plugin_utils._rollout.state import FILE, folder_of

FAILING = {
    "never": (),
    "regressed": ("REGRESSED",),
    "inconclusive": ("REGRESSED", "INCONCLUSIVE", "NOT COMPARABLE", "NO DATA"),
}
FAILED = "Failed or unreachable earlier in this run."
NAMES_THE_CHANGE = re.compile(r"zpower_change=\S+")
"""Every measurement needs its own name, so a command that measures again does not repeat this one."""
LEFT_OUT = "Not in this play: left out by --limit or by the hosts of the play."


def loaded_runs(loaded: record_files.Loaded) -> Runs:
    """The runs of a change; each call returns a new iterator."""

    def runs(keys: Collection[PairKey] | None) -> Iterator[dict[str, Any]]:
        records = [r for r in loaded.records if keys is None or (r.host, r.peer, r.workload.name) in keys]
        return comparing.iter_runs(replace(loaded, records=records))

    return runs


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION) | {"cpu_pct": {"type": "float"}}
    # a rollout has a limit of its own for the CPU cost
    VARIABLES = {option: f"report_{option}" for option in ARGUMENTS} | {"cpu_pct": "__report_cpu_pct"}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        argv = command.parse(options["results_command"])
        # a play that tried to measure this change says why there is nothing
        tried = self._task.check_mode or variables.get("__report_measured")
        with record_files.no_collection():
            folder, loaded = _load(options)
            if not tried and not os.path.lexists(folder):
                raise ValueError(no_records(folder, options["change"]))
            playbook = "rollout" if of_rollout(options) else measured_by(loaded)
            repeat = options["repeat"] or (repeat_command(context.CLIARGS, playbook) if playbook else "")
            limits = comparing.Options(
                repeat=repeat,
                material_pct=choose_limit(options["material_pct"], loaded.experiment),
                cpu_pct=options["cpu_pct"],
                expected_change=options["expected_change"],
            )
            expected = expected_hosts(options["expected_hosts"], variables)
            report = comparing.compare_change(loaded, expected, limits)
            document, place = (report, loaded_runs(loaded)), (folder, "report")
            written = reporting.write(document, RENDERERS, place, options["formats"], self._task.check_mode)
        result = outcome(report, written)
        if argv and not self._task.check_mode and (failure := command.run(argv, folder)):
            result["warnings"] = [failure]
        if not loaded.records:
            result["msg"] = no_records(folder, options["change"])
        # a play in check mode measures nothing, which proves nothing about the change
        proves = loaded.records or not self._task.check_mode
        bad = proves and report["verdict"] in FAILING[options["fail_on"]]
        if bad or not (loaded.records or tried):
            result["failed"] = True
            why = f" (fail_on is {options['fail_on']})" if bad else ""
            result["msg"] = f"{report['verdict']}: {result['msg']}{why}"
        else:
            self.say(reporting.lines(f"{result['verdict_text']}: {result['msg']}", result["paths"]))
        return result


def expected_hosts(given: list[str] | None, variables: Mapping[str, Any]) -> comparing.Expected:
    """The hosts that the report must account for: ``given``, else all that the play's own variables name."""
    if given:
        return given, {}
    play = [str(host) for host in variables.get("ansible_play_hosts_all") or ()]
    alive = {str(host) for host in variables.get("ansible_play_hosts") or ()}
    everybody = {str(host) for host in (variables.get("groups") or {}).get("all") or ()}
    reasons = {host: FAILED for host in play if host not in alive}
    reasons.update((host, LEFT_OUT) for host in sorted(everybody - {*play, "localhost"}))
    return [host for host in play if host != "localhost"], reasons


def repeat_command(arguments: Mapping[str, Any], playbook: str = "before_after") -> str:
    """The command that measures again, from the options of the run; without extra variables, which may be secret.

    ``playbook`` replaces the playbook of a run that only reports.
    """
    command = ["ansible-playbook"]
    for inventory in arguments.get("inventory") or ():
        command += ["-i", _relative(str(inventory))]
    if arguments.get("subset"):
        command += ["--limit", str(arguments["subset"])]
    given = arguments.get("args") or ()
    # for the command ansible, args is the pattern of hosts, as text
    playbooks = [] if isinstance(given, str) else [str(name) for name in given]
    if not playbooks or playbooks[0].endswith(("zpower.sap_tuning.report", "playbooks/report.yml")):
        playbooks = [f"zpower.sap_tuning.{playbook}"]
    text = shlex.join([*command, *map(_relative, playbooks)])
    others = any(not NAMES_THE_CHANGE.fullmatch(str(given)) for given in arguments.get("extra_vars") or ())
    return f"{text}\n# {MORE_VARIABLES}" if others else text


def _relative(path: str) -> str:
    """A path below the working directory as a relative one, which is valid on another controller, too."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _load(options: Mapping[str, Any]) -> tuple[Path, record_files.Loaded]:
    results, change = options["results"], options["change"]
    with reporting.reading(results, change):
        folder = record_files.change_folder(results, change)
        if not os.path.lexists(folder):
            return folder, record_files.Loaded(change)
        return folder, replace(record_files.load_change(results, change), experiment=read_plan(results, change))


def of_rollout(options: Mapping[str, Any]) -> bool:
    """Whether the guard of a rollout measured this change."""
    name = rollout_of(options["change"])
    return bool(name) and (folder_of(options["results"], name) / FILE).is_file()


def measured_by(loaded: record_files.Loaded) -> str:
    """The playbook that measures such a change; empty if all of its figures were measured elsewhere."""
    if loaded.experiment:
        return "experiment"
    if loaded.records and all(item.workload.tool == IMPORTED for item in loaded.records):
        return ""
    # before_after keeps what the tunings were: without that, somebody made the change by other means
    return "measure" if loaded.records and not loaded.tunings else "before_after"


def outcome(report: Report, written: Mapping[str, object]) -> dict[str, Any]:
    """The result of the task; ``written``: that of :func:`reporting.write`."""
    return {
        **written,
        "verdict": report["verdict"],
        "verdict_text": verdict_word(report),
        "counts": dict(report["counts"]),
        "measured": sorted({item["host"] for item in report["comparisons"]}, key=natural),
        "not_measured": [dict(entry) for entry in report["not_measured"]],
    }


def no_records(folder: Path, change: str) -> str:
    """A sentence for a change without records, with the existing changes."""
    results = folder.parent
    entries = sorted(results.iterdir()) if results.is_dir() else []
    here = {change, *RESERVED}
    others = [one_line(path.name) for path in entries if path.is_dir() and path.name not in here]
    near = difflib.get_close_matches(change, others, 1)
    told = f"; is {near[0]} meant?" if near else ""
    there = f"{plural(len(others), 'other change')}: {', '.join(others[:5])}" if others else "no other change"
    return f"there is no measurement record of change {change} in {folder}{told}; {results} holds {there}"
