# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of tunings at the end of a run, and the evidence of the playbooks that set and check tunings."""

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
    HTML, JUnit XML and metrics. From the start of the play there is the JSON, which calls the run unfinished.
    Their checksums are written last.
  - Runs with the same C(zpower_run), such as the slices of a job of AWX, are united in
    C(<zpower_results>/<kind>/run-<name>/).
  - The command C(zpower_results_command) is called on the controller with the folder of the evidence.
  - Loads automatically in the playbooks of this collection. For your own playbooks, name C(zpower.sap_tuning.tunings)
    in C(callbacks_enabled) of ansible.cfg.
options:
  format:
    description:
      - V(table) prints for people, V(json) one line of JSON with the rows, V(none) nothing.
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

import atexit
import contextlib
import functools
import gc
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible import context
from ansible.plugins.callback import CallbackBase

from ..plugin_utils._actions import plays
from ..plugin_utils._actions.variables import COLLECTION, known_tunings
from ..plugin_utils._answers.answers import RENAMED
from ..plugin_utils._answers.text import one_line
from ..plugin_utils._evidence import command, files, refusals, slices, table
from ..plugin_utils._evidence.document import LOST
from ..plugin_utils._evidence.recording import Loss, Recording
from ..plugin_utils._evidence.shapes import Document

HELP = COLLECTION / "docs" / "troubleshooting.md"
HELP_ONLINE = "https://github.com/zpower/sap_tuning/blob/main/docs/troubleshooting.md"
"""For archives that packagers took the documentation out of."""
SPEAKING = {*known_tunings(), "tuning", "tunings", "platform_settings_info", "leftovers_info", "rollout"}
"""The modules of this collection whose results hold tuning records, or the place of a rollout."""
SAVING_S = 0.1
SAVING_SHARE = 0.02
"""How long, and which share of the time of a run, may go into writing evidence before its end."""
COLOURS = {
    **dict.fromkeys(("changed", "pending_restart", "observed", "unknown"), "yellow"),
    **dict.fromkeys(("failed", "drifted", "not_reached"), "red"),
    **dict.fromkeys(("waived", "skipped"), "cyan"),
    **{"compliant": "green", "unreachable": "bright red"},
}


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def honest(method: Callable[..., None]) -> Callable[..., None]:
    """An event whose error ends the run with exit code 2. Ansible would only warn, and might end with 0."""

    @functools.wraps(method)
    def call(self: "CallbackModule", *given: Any, **more: Any) -> None:
        if not self._mine():
            return
        try:
            method(self, *given, **more)
            self._save()
        except Exception as error:  # pylint: disable=broad-exception-caught
            event = method.__name__.removeprefix("v2_")
            self._refuse(f"the callback tunings failed at {event}: {type(error).__name__}: {one_line(error)}")
            if event == "playbook_on_play_start":
                with contextlib.suppress(Exception):
                    self._end_now()
            if event.startswith("playbook_"):
                raise SystemExit(refusals.EXIT_CODE) from None

    return call


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "zpower.sap_tuning.tunings"
    CALLBACK_NEEDS_ENABLED = True

    # a user may enable it in a playbook of the collection, which loads it too: only one of them prints and writes
    _owner: "CallbackModule | None" = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._format = "table"
        self._lost: dict[tuple[str, str], Loss] = {}  # by outcome and host
        self._play: object = None
        self._wrong = ""  # what is wrong with the variables of this play
        self._batch: list[str] = []
        self._hosts: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self._plain = Recording("site", now())  # for plays without evidence
        self._current = self._plain
        self._recordings: dict[str, Recording] = {}  # those with evidence, by kind
        self._rollout: Mapping[str, Any] = {}  # results and change of its state file, run of this process
        self._unsaved = False  # something arrived since the evidence was written
        self._spent_s, self._started = 0.0, time.monotonic()
        self._ours = False  # a play of the collection has begun
        self._refused: list[str] = []

    def _mine(self) -> bool:
        cls = globals()["CallbackModule"]
        cls._owner = cls._owner or self
        return cls._owner is self

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        self._format = self.get_option("format")

    @honest
    def v2_playbook_on_play_start(self, play: Any) -> None:
        gc.freeze()  # else each worker copies the pages that its garbage collector touches
        inventory = play.get_variable_manager()._inventory
        self._batch = [str(host) for host in inventory.get_hosts(play.hosts)]
        hosts = inventory.get_hosts(play.hosts, ignore_restrictions=True)
        if play._uuid == self._play:  # a later batch
            if self._wrong:
                plays.put_in_front(play, self._wrong)
            return
        kind, self._wrong = "", ""
        try:
            kind = plays.kind(play)
        except ValueError as error:
            self._refuse(str(error))
            self._end_now()
        if kind or Path(play.get_path().rpartition(":")[0]).resolve().parent == COLLECTION / "playbooks":
            self._ours = True
            sources = context.CLIARGS.get("inventory") or ()
            self._refuse(refusals.of_inventory(play.hosts, sources, plays.sources_of(inventory)))
            self._refuse("" if hosts else refusals.of_pattern(play.hosts))
            self._end_now()
            self._wrong = self._wrong_variables(play, hosts)
        if self._wrong:
            plays.put_in_front(play, self._wrong)
        self._play = play._uuid
        self._hosts = [str(host) for host in hosts]
        back = kind == "verify" and plays.rolls_back(play, hosts)  # it checks that everything is taken back
        kind = "rollback" if back else kind
        self._current = self._recordings.get(kind, self._plain)
        if kind and self._current is self._plain:
            self._current = self._recordings[kind] = Recording(kind, now(), check=back)
            self._make_folder(self._current, play, hosts[0] if hosts else None)
            atexit.register(self._interrupted, os.getpid())
        if kind:
            self._current.plan(self._hosts)
            self._end_now()  # before a host is reached
            self._write(self._current)  # this file stays if the run is killed
            self._end_now()

    def _refuse(self, sentence: str) -> None:
        if sentence and sentence not in self._refused:
            self._refused.append(sentence)
            self._display.error(sentence)

    def _wrong_variables(self, play: Any, hosts: list[Any]) -> str:
        given, found = context.CLIARGS, ""
        try:
            found = plays.wrong_variables(play, hosts)
        except ValueError as error:
            self._refuse(str(error))
        if given.get("start_at_task") or "always" in (given.get("skip_tags") or ()):
            self._refuse(found)  # the task in front would be left out
        self._end_now()
        return found

    def _end_now(self) -> None:
        """End the run before a play begins if something was refused; what came before is written as at its end."""
        if self._refused:
            lost = {*self._lost.values()}
            self._finish(lost, failed=True)
            unreachable = any(loss.outcome == "unreachable" for loss in lost)
            raise SystemExit(refusals.UNREACHABLE if unreachable else refusals.EXIT_CODE)

    def _make_folder(self, one: Recording, play: Any, host: Any) -> None:
        try:
            results = plays.results_folder(play, host)
            if run := slices.run_name(plays.variable(play, host, slices.VARIABLE)):
                one.slice = slices.new_slice(results, one.kind, run, one.begun)
            one.folder = one.slice.parents[1] if one.slice else files.new_folder(results, one.kind, one.begun)
        except Exception as error:  # pylint: disable=broad-exception-caught  # templates raise anything in 2.16
            self._cannot_write(one, error)
            return
        try:
            one.command = command.parse(plays.variable(play, host, command.VARIABLE))
        except Exception as error:  # pylint: disable=broad-exception-caught
            self._refuse(f"{command.VARIABLE} cannot be called: {error}")

    @honest
    def v2_runner_on_ok(self, result: Any) -> None:
        host, task, _given = self._keep(result)
        self._current.run(host, task.run_once)

    @honest
    def v2_runner_on_skipped(self, result: Any) -> None:
        self._current.skip(self._keep(result)[0])

    @honest
    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        host, task, given = self._keep(result)
        if ignore_errors and (task.run_once or not self._current.judges):
            self._current.run(host, task.run_once)
            return
        said, drift = plays.message(given, task), False
        if isinstance(given.get("failing"), list):
            # of the action tunings; drift has rows, so only errors need a message
            said, drift = self._current.errors(host) or said, self._current.only_drift(host)
        # Ansible fails all hosts of the batch with a task that runs once
        hosts = self._batch if task.run_once else [host]
        self._lose(Loss("failed", said, host, hosts, drift, bool(task.run_once)))

    @honest
    def v2_runner_on_unreachable(self, result: Any) -> None:
        host, task, given = self._keep(result)
        if task.ignore_unreachable and not self._current.judges:
            self._current.run(host)
        else:
            self._lose(Loss("unreachable", plays.message(given, task), host, [host]))

    def _keep(self, outcome: Any) -> tuple[str, Any, Mapping[str, Any]]:
        """Host, task and result, after what a task of this collection says is kept; other answers passed no door."""
        host, task, found = str(plays.part(outcome, "host")), plays.part(outcome, "task"), plays.part(outcome, "result")
        where, _dot, name = task.action.rpartition(".")
        name = RENAMED.get(name, name)
        if name not in SPEAKING or (where or str(task.resolved_action).rpartition(".")[0]) != "zpower.sap_tuning":
            return host, task, found
        if name == "rollout":
            self._rollout = found.get("rollout") or self._rollout
            if self._current.judges:
                self._current.leave_out(self._rollout.get("left_out") or {})
        self._unsaved = True
        answer = json.loads((found.get("invocation") or {}).get("evidence", "{}")) if name == "tunings" else found
        if self._current.keep(host, answer) and self._current is self._plain:
            # a play without evidence counts its hosts if it has to do with tunings
            self._current.plan([*self._hosts, host])
        return host, task, found

    def _lose(self, loss: Loss) -> None:
        self._unsaved = True
        self._lost[loss.outcome, loss.counted] = loss
        self._current.lose(loss)

    def _save(self) -> None:
        """Write what has arrived, for a run that is killed: at once, and of a large site not too often."""
        begun = time.monotonic()
        late = self._spent_s > SAVING_S + SAVING_SHARE * (begun - self._started)
        if late or not self._unsaved or self._current is self._plain:
            return
        self._unsaved = False
        self._write(self._current)
        self._spent_s += time.monotonic() - begun

    def _interrupted(self, process: int) -> None:
        """Write and print what has arrived if Ansible ends without telling its callbacks, for example after Ctrl-C."""
        if os.getpid() != process:  # a worker
            return
        for one in self._recordings.values():
            document, page = self._write(one)
            if self._format == "table":
                self._print_table(f"TUNINGS ({one.kind}, unfinished)", document, page)
        self._forget()

    @honest
    def v2_playbook_on_stats(self, stats: Any) -> None:
        real = {
            loss
            for (outcome, host), loss in self._lost.items()
            if stats.summarize(host)["failures" if outcome == "failed" else outcome]
        }
        if self._ours:
            self._refuse(refusals.of_selection(stats.processed, context.CLIARGS.get("tags") or ()))
        self._finish(real, failed=bool(any(map(stats.failures.get, stats.processed)) or stats.dark))

    def _finish(self, real: Collection[Loss], failed: bool) -> None:
        """Write and print all. ``failed``: Ansible itself ends with an error, or somebody else ends the run."""
        ended, plain = now(), self._plain
        shown = [*self._recordings.values(), *([plain] if plain.planned else [])]
        written = [(one, *self._write(one, ended, real)) for one in shown]
        summary = self._end_rollout([document for _one, document, _page in written], ended)
        for one, document, _page in written:
            for sentence in refusals.of_document(document) if one is not plain else ():
                self._refuse(sentence)
        refused = self._refused
        self._forget()
        if self._format == "json":
            self._print_json(shown)
        elif self._format == "table":
            for one, document, page in written:
                title = "" if len(shown) == 1 else " (other plays)" if one is plain else f" ({one.kind})"
                self._print_table(f"TUNINGS{title}", document, page)
            if summary:
                self._display.display(f"Rollout: {summary}")
        for one, _document, page in written:
            if page and one.folder and one.command and (failure := command.run(one.command, one.folder)):
                self._display.warning(failure)
        if refused and not failed:
            raise SystemExit(refusals.EXIT_CODE)  # where Ansible would end with 0

    def _end_rollout(self, documents: Iterable[Document], ended: str) -> str:
        """Note the end of the run in the state of the rollout; the path of its summary, empty if there is none."""
        if not self._rollout:
            return ""
        hosts = [host for document in documents if document["run"]["kind"] == "rollout" for host in document["hosts"]]
        lost = {host["host"]: host["message"] for host in hosts if host["outcome"] in LOST and host["message"]}
        evidence = str(self._recordings.get("rollout", self._plain).folder or "")
        results, change, run = (self._rollout[name] for name in ("results", "change", "run"))
        # most runs are not a rollout, and Ansible compiles a plugin's imports in every run
        from ..plugin_utils._rollout import keeping  # noqa: PLC0415  # pylint: disable=import-outside-toplevel

        try:
            return keeping.close(results, change, run, lost, evidence, ended)
        except (OSError, ValueError) as error:
            self._refuse(f"the end of the rollout cannot be noted: {error}")
            return ""

    def _write(
        self, one: Recording, ended: str | None = None, real: Collection[Loss] | None = None
    ) -> tuple[Document, str]:
        """The document of a recording, and the path of its page, empty if there is none.

        Of a run that has not ended, only the JSON is written. If slices cannot be united, the path of this one.
        ``real``: the losses that were not rescued.
        """
        real = {*self._lost.values()} if real is None else real
        document = one.document(plays.command_line(), ended, real)
        if one.folder is None:
            return document, ""
        try:
            if one.slice:
                _united, written, left_out, _late = slices.write(document, one.slice)
                for sentence in left_out if ended else ():
                    self._refuse(one_line(sentence))
                return document, written.paths["html"]
            paths = files.write(document, one.folder, files.FORMATS if ended else ("json",)).paths
            return document, paths.get("html") or paths["json"]
        except slices.NotUnitedError as error:
            failed = f"the slices of {one.folder} are not united"
            self._display.warning(f"{failed}: {error}; zpower.sap_tuning.unite does it")
            return document, str(one.slice)
        except (OSError, ValueError) as error:
            self._cannot_write(one, error)
            return document, ""

    def _cannot_write(self, one: Recording, error: Exception) -> None:
        one.folder = None
        said = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        self._refuse(f"the evidence of {one.kind} cannot be written: {said}")

    def _print_json(self, recordings: Iterable[Recording]) -> None:
        found = {}
        for recording in recordings:
            for host, row in recording.rows():
                found[host, row["name"], row["subject"]] = {"host": host, **row}
        if found:
            self._display.display(json.dumps([found[key] for key in sorted(found)], sort_keys=True))

    def _print_table(self, title: str, document: Document, page: str) -> None:
        self._display.banner(title)
        for text, tone in table.lines(document, self._display.verbosity > 0):
            self._display.display(text, color=COLOURS.get(tone))
        if page and document["result"] in ("drift", "error"):
            self._display.display(f"Messages explained: {HELP if HELP.is_file() else HELP_ONLINE}")
        if page:
            self._display.display(f"Evidence: {page}")
