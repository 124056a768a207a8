# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of tunings at the end of a run, and the evidence of the playbooks that set and check tunings."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: tunings
type: aggregate
short_description: Table of tunings at the end of a run, and its evidence
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Prints a table of tuning records with their host, subject, running value, stored value, value of the next boot and
    verdict. Hosts that failed, could not be reached or were not reached come first, then values that are not as
    requested. Reasons, conflicts and remarks follow, each once with its hosts, and a line of totals.
  - Compliant and not applicable records are only counted; C(-v) shows them.
  - Plays with the variable C(zpower_evidence), as those of C(verify), C(site), C(rollback), C(rollout) and C(confirm),
    also write their evidence into C(<zpower_results>/<kind>/<UTC time>/) on the controller, as JSON, CSV, Markdown,
    HTML, JUnit XML and metrics. From the start of the play there are files that call the run unfinished.
  - Runs with the same C(zpower_run), such as the slices of a job of AWX, are united in
    C(<zpower_results>/<kind>/run-<name>/).
  - The command C(zpower_results_command) is called on the controller with the folder of the evidence.
  - Loads automatically in the playbooks of this collection. For your own playbooks, name C(zpower.sap_tuning.tunings)
    in C(callbacks_enabled) of ansible.cfg.
options:
  format:
    description:
      - V(table) prints for people, V(json) one line of JSON with the records, V(none) nothing.
      - It does not matter for the evidence.
    type: str
    choices: [table, json, none]
    default: table
    env:
      - name: ZPOWER_TUNINGS_FORMAT
    ini:
      - section: callback_zpower_tunings
        key: format
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible import context
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__ as ansible_core_version
from ansible.template import Templar

from ..lookup.tunings import COLLECTION, known_tunings
from ..plugin_utils._evidence import command, files, slices, table
from ..plugin_utils._evidence.document import KINDS, LOST, Document, Run, build
from ..plugin_utils._evidence.recording import Loss, Recording
from ..plugin_utils._records.collection import collection_version
from ..plugin_utils._rollout import closing

VARIABLE = "zpower_evidence"
HELP = "docs/troubleshooting.md of the collection"
NO_EVIDENCE = "site"
"""As which kind plays without evidence are shown."""
COLOURS = {
    "compliant": "green",
    "changed": "yellow",
    "pending_restart": "yellow",
    "unknown": "yellow",
    "failed": "red",
    "drifted": "red",
    "unreachable": "bright red",
    "not_reached": "red",
    "waived": "cyan",
    "skipped": "cyan",
}
LOOKUP_SAID = re.compile(
    r".*lookup plugin 'zpower\.sap_tuning\.\w+'"
    r"(?: failed: |\. Error was a <class '[\w.]+'>, original message: )(?P<said>.+)",
    re.DOTALL,
)


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def part(outcome: Any, name: str) -> Any:
    """Host, task or result of the outcome of a task; in ansible-core 2.16 these names have an underscore."""
    return getattr(outcome, name if hasattr(outcome, name) else f"_{name}")


def own_words(text: str) -> str:
    """The sentence of a lookup plugin of this collection, without the chain that ansible-core puts before it."""
    found = LOOKUP_SAID.search(text)
    if found is None:
        return text.removeprefix("Task failed: ")
    said = found["said"]
    half = len(said) // 2
    # up to ansible-core 2.18 the sentence comes twice
    return said[: half - 1] if said[: half - 1] == said[half + 1 :] else said


def message(result: object, task: Any) -> str:
    """Why a task failed on a host."""
    shown = result if isinstance(result, Mapping) else {}
    items = shown.get("results")
    failed = [item for item in items if isinstance(item, Mapping) and item.get("failed")] if items else []
    said = [own_words(str(part.get("msg") or "")) for part in (*failed[:1], shown)]
    lines = str(shown.get("module_stderr") or "").strip().splitlines()
    return "; ".join([text for text in said if text][:1] + lines[-1:]) or f"the task {task.get_name()} failed"


def gives_verdict(result: object) -> bool:
    """Whether a failure is that of the action tunings for errors or drift, with the sentences in ``failing``."""
    return isinstance(result, Mapping) and isinstance(result.get("failing"), list)


def run_of(recording: Recording, ended: str | None, stopped: str) -> Run:
    """This run, as the command line names it."""
    given = context.CLIARGS
    tags, skipped = ([str(tag) for tag in given.get(name) or ()] for name in ("tags", "skip_tags"))
    return Run(
        kind=recording.kind,
        begun=recording.begun,
        ended=ended,
        collection=collection_version(COLLECTION),
        ansible_core=ansible_core_version,
        inventory=", ".join(map(str, given.get("inventory") or ())),
        limit=str(given.get("subset") or "") or None,
        tags=[] if tags == ["all"] else tags,
        skip_tags=skipped,
        check=recording.check or bool(given.get("check")),
        stopped=stopped,
    )


def variable(play: Any, host: Any, name: str) -> Any:
    """A variable as the first host of the play has it; None if it is not set. Raises what a template raises."""
    variables = play.get_variable_manager().get_vars(play=play, host=host)
    return Templar(loader=play.get_loader(), variables=variables).template(variables.get(name))


def results_command(play: Any, host: Any) -> list[str]:
    """The user's command for finished evidence. ValueError if it cannot be used; raises what a template raises."""
    command.not_of_a_host(play.get_variable_manager().get_vars(play=play, host=host))
    return command.parse(variable(play, host, command.VARIABLE))


def results_folder(play: Any, host: Any) -> Path:
    named = variable(play, host, "zpower_results")
    return Path(os.path.expanduser(os.path.expandvars(str(named or "results"))))


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "zpower.sap_tuning.tunings"
    CALLBACK_NEEDS_ENABLED = True

    # a user may enable it in a playbook of the collection, which loads it too: only one of them prints and writes
    _owner: CallbackModule | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._format = "table"
        self._lost: dict[tuple[str, str], Loss] = {}  # by outcome and host
        self._play: object = None
        self._batch: list[str] = []
        self._hosts: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self._plain = Recording(NO_EVIDENCE, now())
        self._current = self._plain
        self._recordings: dict[str, Recording] = {}  # those with evidence, by kind
        self._folders: dict[str, Path] = {}
        self._rollout: Mapping[str, str] = {}  # results and change of its state file
        self._slices: dict[str, slices.Slice] = {}
        self._commands: dict[str, list[str]] = {}

    def _mine(self) -> bool:
        cls = globals()["CallbackModule"]
        cls._owner = cls._owner or self
        return cls._owner is self

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        self._format = self.get_option("format")

    def v2_playbook_on_play_start(self, play: Any) -> None:
        if not self._mine():
            return
        inventory = play.get_variable_manager()._inventory
        self._batch = [str(host) for host in inventory.get_hosts(play.hosts)]
        if play._uuid == self._play:
            return  # a later batch
        self._play = play._uuid
        hosts = inventory.get_hosts(play.hosts, ignore_restrictions=True)
        self._hosts = [str(host) for host in hosts]
        kind = self._kind(play)
        # verify with zpower_rollback looks whether everything is taken back
        back = kind == "verify" and self._rolls_back(play, hosts)
        kind = "rollback" if back else kind
        self._current = self._recordings.get(kind, self._plain)
        if kind and self._current is self._plain:
            self._current = self._recordings[kind] = Recording(kind, now(), check=back)
            self._make_folder(kind, play, hosts)
        if kind:
            self._current.plan(self._hosts)
            # these files stay if the run is killed
            self._write(self._document(self._current, None, set(self._lost.values())))

    def _kind(self, play: Any) -> str:
        value = play.get_vars().get(VARIABLE)
        kind = next((known for known in KINDS if value == known), "")
        if value is not None and not kind:
            self._display.warning(
                f"{VARIABLE} of the play '{play.get_name()}' is {str(value)!r}, and no evidence is written: one of"
                f" {', '.join(KINDS)} belongs there"
            )
        return kind

    def _rolls_back(self, play: Any, hosts: list[Any]) -> bool:
        try:
            return bool(boolean(variable(play, hosts[0] if hosts else None, "zpower_rollback"), strict=False))
        except Exception:  # pylint: disable=broad-exception-caught  # the call on each host says what is wrong
            return False

    def _make_folder(self, kind: str, play: Any, hosts: list[Any]) -> None:
        host = hosts[0] if hosts else None
        try:
            results = results_folder(play, host)
            if run := slices.run_name(variable(play, host, slices.VARIABLE)):
                self._slices[kind] = slices.new_slice(results, kind, run, self._current.begun)
                self._folders[kind] = self._slices[kind].folder
            else:
                self._folders[kind] = files.new_folder(results, kind, self._current.begun)
        except Exception as error:  # pylint: disable=broad-exception-caught  # templates raise anything in 2.16
            self._cannot_write(kind, error)
            return
        try:
            self._commands[kind] = results_command(play, host)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self._display.warning(f"{command.VARIABLE} is not called: {error}")

    def v2_runner_on_ok(self, result: Any) -> None:
        if self._mine():
            self._current.run(self._keep(result), part(result, "task").run_once)

    def v2_runner_on_skipped(self, result: Any) -> None:
        if self._mine():
            self._current.skip(self._keep(result))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        if not self._mine():
            return
        host, task = self._keep(result), part(result, "task")
        if ignore_errors and (task.run_once or not self._current.judges):
            self._current.run(host, task.run_once)
            return
        said, drift = message(part(result, "result"), task), False
        if gives_verdict(part(result, "result")):
            # drift has rows, so only errors need a message
            said, drift = self._current.errors(host) or said, self._current.only_drift(host)
        # Ansible fails all hosts of the batch with a task that runs once
        hosts = self._batch if task.run_once else [host]
        self._lose(Loss("failed", said, host, hosts, drift, bool(task.run_once)))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if not self._mine():
            return
        host, task = self._keep(result), part(result, "task")
        if task.ignore_unreachable and not self._current.judges:
            self._current.run(host)
        else:
            self._lose(Loss("unreachable", message(part(result, "result"), task), host, [host]))

    def _keep(self, outcome: Any) -> str:
        host = str(part(outcome, "host"))
        if part(outcome, "task").action == "zpower.sap_tuning.rollout":
            self._rollout = part(outcome, "result").get("rollout") or self._rollout
        if self._current.keep(host, part(outcome, "result")) and self._current is self._plain:
            # a play without evidence counts its hosts if it has to do with tunings
            self._current.plan([*self._hosts, host])
        return host

    def _lose(self, loss: Loss) -> None:
        self._lost[loss.outcome, loss.counted] = loss
        self._current.lose(loss)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        if not self._mine():
            return
        ended, plain = now(), self._plain
        real = {
            loss
            for (outcome, host), loss in self._lost.items()
            if stats.summarize(host)["failures" if outcome == "failed" else outcome]
        }
        shown = [*self._recordings.values(), *([plain] if plain.planned else [])]
        documents = [self._document(recording, ended, real) for recording in shown]
        pages = ["" if one is plain else self._write(document) for one, document in zip(shown, documents, strict=True)]
        summary = self._end_rollout(documents, ended)
        written = [one.kind for one, page in zip(shown, pages, strict=True) if page]
        calls = [(self._commands.get(kind), self._folders[kind]) for kind in written]
        self._forget()
        if self._format == "json":
            self._print_json(shown)
        elif self._format == "table":
            for one, document, page in zip(shown, documents, pages, strict=True):
                title = "" if len(shown) == 1 else " (other plays)" if one is plain else f" ({one.kind})"
                self._print_table(f"TUNINGS{title}", document, page)
            if summary:
                self._display.display(f"Rollout: {summary}")
        for argv, folder in calls:
            if argv and (failure := command.run(argv, folder)):
                self._display.warning(failure)

    def _end_rollout(self, documents: Iterable[Document], ended: str) -> str:
        """Note the end of the run in the state of the rollout; the path of its summary, empty if there is none."""
        if not self._rollout:
            return ""
        hosts = [host for document in documents if document["run"]["kind"] == "rollout" for host in document["hosts"]]
        lost = {host["host"]: host["message"] for host in hosts if host["outcome"] in LOST and host["message"]}
        evidence = str(self._folders.get("rollout", ""))
        try:
            return closing.close(self._rollout["results"], self._rollout["change"], lost, evidence, ended)
        except (OSError, ValueError) as error:
            self._display.warning(f"the end of the rollout cannot be noted: {error}")
            return ""

    def _document(self, recording: Recording, ended: str | None, real: Collection[Loss]) -> Document:
        run = run_of(recording, ended, recording.stopped(real))
        results = recording.results(real, {host: loss for loss in real for host in loss.hosts})
        return build(run, recording.planned, results, recording.waived([*known_tunings(), "platform"]))

    def _write(self, document: Document) -> str:
        """Write the files; the path of the page, empty if they cannot be written. If slices cannot be united, the path
        of this one."""
        kind = document["run"]["kind"]
        if kind not in self._folders:
            return ""
        try:
            if kind in self._slices:
                return slices.write(document, self._slices[kind]).paths["html"]
            return files.write(document, self._folders[kind]).paths["html"]
        except slices.NotUnitedError as error:
            folder = self._folders[kind]
            self._display.warning(f"the slices of {folder} are not united: {error}; zpower.sap_tuning.unite does it")
            return str(self._slices[kind].path)
        except (OSError, ValueError) as error:
            self._cannot_write(kind, error)
            return ""

    def _cannot_write(self, kind: str, error: Exception) -> None:
        self._folders.pop(kind, None)
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        self._display.warning(f"the evidence of {kind} cannot be written: {said}")

    def _print_json(self, recordings: Iterable[Recording]) -> None:
        found = {}
        for recording in recordings:
            for host, record in recording.records():
                found[host, str(record["name"]), str(record["subject"])] = {"host": host, **record}
        if found:
            self._display.display(json.dumps([found[key] for key in sorted(found)], sort_keys=True))

    def _print_table(self, title: str, document: Document, page: str) -> None:
        self._display.banner(title)
        for line in table.lines(document, self._display.verbosity > 0):
            self._display.display(line.text, color=COLOURS.get(line.tone))
        if page and document["result"] in ("drift", "error"):
            self._display.display(f"Messages explained: {HELP}")
        if page:
            self._display.display(f"Evidence: {page}")
