# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide the batches of a rollout, and whether it goes on; documented in plugins/modules/rollout.py."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.release import __version__ as ansible_core_version
from ansible.utils.display import Display

from ..lookup.tunings import COLLECTION, asked_for, choose, known_tunings, role_specs, role_values
from ..module_utils._engine import durations
from ..modules.rollout import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._actions.role_options import module_options, scope
from ..plugin_utils._records.collection import collection_version
from ..plugin_utils._report.text import one_line, shorten
from ..plugin_utils._rollout import files, gates, guard, plan, state, windows

display = Display()
FACT = "__rollout_plan"
HOUR = 3600
NO_HOST = "!all"


def now() -> datetime:
    return datetime.now(timezone.utc)


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            result = getattr(self, options["state"])(options, variables)
        except OSError as error:
            raise AnsibleActionFail(f"{error.filename}: {error.strerror or error}") from None
        except ValueError as error:
            raise AnsibleActionFail(one_line(error)) from None
        change = options["change"] or decided(variables)["asked"]["change"]
        kept = {"results": options["results"], "change": change} if self._writes else {}
        return {"changed": False, "rollout": kept, **result}

    @property
    def _writes(self) -> bool:
        return not self._task.check_mode

    def planned(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        refuse_tags(variables)
        if not options["change"]:
            raise ValueError("rollout_change is not set: the name of the rollout, such as rps-2026-11, belongs there")
        window = self._window(options)
        asked = self._plan(options, window, variables)
        rollout = state.read(options["results"], options["change"])
        if rollout:
            rollout.running(socket.gethostname(), state.alive)
            rollout.refuse(asked, collection_version(COLLECTION))
        rollout = rollout or new(options["change"], asked)
        lines = [*plan.lines(asked, rollout.document, now()), *window.remarks]
        left = [batch for batch in asked["batches"] if batch["number"] in rollout.open()]
        lines = lines if left else [rollout.document["headline"]]
        for line in lines:
            display.display(line)
        if self._writes and left:
            run = {"began": stamp(), "controller": controller(), "ansible_core": ansible_core_version}
            rollout.began(run, asked["window"])
            keep(rollout, options)
        fact = {
            "order": [host for batch in left for host in batch["hosts"]] or [NO_HOST],
            "sizes": [len(batch["hosts"]) for batch in left] or [1],
            "asked": options,
            "plan": asked,
        }
        # a complete rollout has no run to end
        complete: dict[str, Any] = {} if left else {"rollout": {}}
        return {"lines": lines, "ansible_facts": {FACT: fact}, **complete}

    def _plan(self, options: Mapping[str, Any], window: windows.Window, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The plan that the options and the inventory ask for, in the form of the state file."""
        hosts = [str(host) for host in variables["ansible_play_hosts_all"]]
        groups = {name: [host for host in members if host in hosts] for name, members in variables["groups"].items()}
        soak = seconds(options["soak"], "rollout_soak")
        within, measured = options["confirm_within"], options["guard"]
        auto = soak + (2 if measured else 1) * HOUR
        chosen = {host: self._tunings(host, options["tunings"], variables) for host in hosts}
        found = {
            "tunings": {host: list(tunings) for host, tunings in chosen.items()},
            "wanted": {host: plan.wanted(tunings) for host, tunings in chosen.items()},
            "batches": plan.build(hosts, groups, options["canaries"], options["batches"], options["by"]),
            "soak_s": soak,
            "confirm_within_s": auto if within == "auto" else seconds(within, "rollout_confirm_within"),
            "guard": {"cpu_pct": options["guard_cpu_pct"], "workloads": options["workloads"]} if measured else None,
            "on_failure": options["on_failure"],
            "window": window.as_dict(),
        }
        if measured:
            self._measurable(found["batches"], variables)
        if 0 < found["confirm_within_s"] <= soak:
            raise ValueError(
                f"rollout_confirm_within is {within} and rollout_soak {options['soak']}: the hosts would take "
                "everything back before it can be confirmed; a time that is longer than the soak belongs there, or auto"
            )
        return found

    def _window(self, options: Mapping[str, Any]) -> windows.Window:
        return windows.parse(options["not_before"], options["not_after"], options["time_zone"], now())

    def _measurable(self, batches: Iterable[Mapping[str, Any]], variables: Mapping[str, Any]) -> None:
        """ValueError for a batch that the guard could not judge."""
        for batch in batches:
            peers = []
            for host in batch["hosts"]:
                with scope(self._templar, variables["hostvars"].raw_get(host)) as value_of:
                    peers.append(value_of("measure_peer"))
            if not any(peers):
                named = f"{batch['number']} ({', '.join(batch['hosts'][:3])})"
                raise ValueError(
                    f"rollout_guard is set, and no host of batch {named} has a measure_peer: name one in the "
                    "inventory, or form other batches"
                )

    def _tunings(self, host: str, chosen: str, variables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """{name: options of its module} of the tunings that a host asks for."""
        own = {**role_values("rollout"), **variables["hostvars"].raw_get(host)}
        try:
            with scope(self._templar, own) as value_of:
                names = choose(asked_for(value_of(chosen), value_of), known_tunings())
            found = {}
            for name in names:
                with scope(self._templar, {**role_values(name), **own}) as value_of:
                    found[name] = module_options(name, role_specs(name), value_of)
            return found
        except ValueError as error:
            raise ValueError(f"{host}: {error}") from None

    def begun(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        given = decided(variables)["asked"]
        rollout = self._rollout(options, variables)
        here, document = str(variables["inventory_hostname"]), rollout.document
        batch = next(one for one in document["plan"]["batches"] if here in one["hosts"])
        number, wanted = batch["number"], document["plan"]
        again = rollout.again(number)
        closed = self._window(given).closed(now())
        if closed and self._writes:
            rollout.ended(stamp(), reason=closed)
            keep(rollout, options)
            raise ValueError(rollout.document["headline"])
        if closed:
            display.warning(f"batch {number} would not begin now: {closed}")
        if self._writes:
            rollout.begin(number, stamp())
            keep(rollout, options)
        attempt = document["batches"][number - 1]["attempt"]
        return {
            "number": number,
            "again": again,
            "measurement": f"{document['change']}-batch-{number}" + (f"-{attempt}" if attempt > 1 else ""),
            "measures": wanted["guard"] is not None,
            "soak": wanted["soak_s"],
            "on_failure": wanted["on_failure"],
        }

    def judged(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        rollout, number = self._rollout(options, variables), variables["__rollout_batch"]["number"]
        kept = rollout.document["batches"][number - 1]
        stage, hosts = options["stage"], rollout.document["plan"]["batches"][number - 1]["hosts"]
        alive = variables["ansible_play_hosts"]
        found = {host: gates.judged(stage, *of_host(host, variables, stage, host in alive)) for host in hosts}
        for host, gate in found.items():
            before = kept["hosts"][host]
            values = gates.values(stage, gate, before["values"])
            changed = gate.changed if stage == gates.APPLYING else before["changed"]
            rollout.host(number, host, gate.outcome, values, changed, gate.reasons)
        stopped = gates.stopped(found)
        if stage == gates.AFTER and not stopped:
            stopped = self._guard(rollout, number, options, variables)
        good = not stopped and stage == gates.CONFIRMING
        if self._writes:
            if good:
                rollout.end(number, True, [], kept["guard"], stamp())
            elif stopped:
                rollout.stage(number, stage, stamp())
                kept["reasons"] = stopped
            else:
                rollout.stage(number, following(stage, kept, rollout.document["plan"]), stamp())
            keep(rollout, options)
        if stopped:
            raise ValueError(f"batch {number} stops after {stage}: {'; '.join(stopped)}")
        return {"stage": stage}

    def _guard(
        self, rollout: state.Rollout, number: int, options: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> list[str]:
        """The sentences of the guard; its figures are kept with the batch."""
        batch, wanted = rollout.document["batches"][number - 1], rollout.document["plan"]
        change = variables["__rollout_batch"]["measurement"]
        found = guard.judge(
            options["results"],
            change,
            wanted["batches"][number - 1]["hosts"],
            wanted["guard"]["cpu_pct"],
            options["material_pct"],
            options["expected_change"],
        )
        report = str(Path(options["results"]) / change / "report.html")
        batch["guard"] = {
            "change": change,
            "report": report,
            "sentences": found.sentences,
            "notes": found.notes,
            "comparisons": found.comparisons,
        }
        return list(found.sentences)

    def stopped(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        rollout, batch = self._rollout(options, variables), variables["__rollout_batch"]
        number = batch["number"]
        kept = rollout.document["batches"][number - 1]
        after = "taken back" if batch["on_failure"] == "back" else "confirmed"
        for host, one in kept["hosts"].items():
            gate = gates.judged(gates.STOPPED, *of_host(host, variables, gates.STOPPED, one["outcome"] != "lost"))
            values = gates.left(one["values"], gate, after)
            reasons = [*one["reasons"], *(gate.reasons if values == "unknown" else ())]
            rollout.host(number, host, one["outcome"], values, one["changed"], list(dict.fromkeys(reasons)))
        reasons = kept["reasons"] or [shorten(one_line(options["reason"]), gates.LONGEST)]
        if self._writes:
            rollout.end(number, False, reasons, kept["guard"], stamp())
            keep(rollout, options)
            raise ValueError(rollout.document["headline"])
        raise ValueError(f"batch {number} would stop: {'; '.join(reasons)}")

    def _rollout(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> state.Rollout:
        """The state as it is kept; in check mode as a first run would begin it."""
        first = decided(variables)
        change = first["asked"]["change"]
        return state.read(options["results"], change) or new(change, first["plan"])


def refuse_tags(variables: Mapping[str, Any]) -> None:
    ours = {*known_tunings(), "platform", "always", "tagged", "all"}
    if {*variables.get("ansible_run_tags", ())} - {"all"} or ours & {*variables.get("ansible_skip_tags", ())}:
        raise ValueError(
            "a rollout knows no tags: its plan must be the same when it is continued; choose the tunings with "
            "zpower_tunings instead"
        )


def decided(variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the first play decided: the options, and the plan."""
    found: Mapping[str, Any] = variables["hostvars"]["localhost"]["ansible_facts"][FACT]
    return found


def new(change: str, wanted: dict[str, Any]) -> state.Rollout:
    return state.new(change, collection_version(COLLECTION), wanted)


def of_host(
    host: str, variables: Mapping[str, Any], stage: str, alive: bool
) -> tuple[list[Mapping[str, Any]] | None, str]:
    """The results of the last call of a host, None if it is lost, and why a task of this stage failed."""
    facts = variables["hostvars"][host]
    found = [facts.get(name) for name in ("__tunings_result", "__tunings_later")]
    results = [result for result in found if isinstance(result, Mapping)]
    error = facts.get("__rollout_error") or {}
    lost = not alive or any(result.get("unreachable") for result in results)
    return None if lost else results, error.get("reason", "") if error.get("stage") == stage else ""


def following(stage: str, batch: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The stage after this one."""
    measuring = (gates.BEFORE, gates.AFTER)
    stages = [name for name in gates.STAGES if name not in measuring or wanted["guard"]]
    after = stages[stages.index(stage) + 1]
    return "soaking" if after == gates.VERIFYING and wanted["soak_s"] else after


def keep(rollout: state.Rollout, options: Mapping[str, Any]) -> None:
    rollout.save(options["results"])
    files.write(rollout.document, state.folder_of(options["results"], rollout.document["change"]))


def controller() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getppid()}


def seconds(value: object, option: str) -> int:
    return int(durations.seconds(value, option))  # type: ignore[no-untyped-call]


def stamp() -> str:
    return windows.stamp(now())
