# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide the batches of a rollout, and whether it goes on; documented in plugins/modules/rollout.py."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ansible.release import __version__ as ansible_core_version

from ..module_utils._engine import durations
from ..module_utils._engine.durations import LONGEST
from ..modules.rollout import DOCUMENTATION
from ..plugin_utils._actions.controller import LIMITS, ControllerAction, argument_spec, of_role
from ..plugin_utils._actions.role_options import UNLIMITED, module_options, scope
from ..plugin_utils._actions.variables import (
    COLLECTION,
    asked_for,
    choose,
    collection_version,
    known_tunings,
    role_specs,
    role_values,
)
from ..plugin_utils._pages.text import one_line
from ..plugin_utils._records.checks import batch_change, check_slug
from ..plugin_utils._rollout import guard, plan, stages, state, windows
from ..plugin_utils._rollout.keeping import keep

FACT = "__rollout_plan"
TUNINGS = "rollout_tunings"
OF_ROLE = {name: spec for name, spec in of_role("rollout").items() if name != "tunings"}
# its entries are checked with the hosts of the play, in sentences of their own
OF_ROLE["leave_out"] = {"type": "raw", "default": []}
HOUR = 3600
NO_HOST = "!all"
Result = dict[str, Any]


def now() -> datetime:
    return datetime.now(timezone.utc)


class ActionModule(ControllerAction):
    ARGUMENTS = {**OF_ROLE, **LIMITS, **argument_spec(DOCUMENTATION)}
    VARIABLES = {name: f"rollout_{name}" for name in OF_ROLE} | {name: f"report_{name}" for name in LIMITS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> Result:
        self._options, self._variables = options, variables
        result: Result = getattr(self, options["event"])()
        first = result.get("ansible_facts", {}).get(FACT) or decided(variables)
        kept = {"results": options["results"], "change": first["change"], "run": first["runs"][-1]}
        if first["left_out"]:
            kept["left_out"] = first["left_out"]
        return {"changed": False, "rollout": kept if self._writes else {}} | result

    @property
    def _writes(self) -> bool:
        return not self._task.check_mode

    def planned(self) -> Result:
        refuse_tags(self._variables)
        given, change = self._options, self._options["change"]
        if not change:
            raise ValueError("rollout_change is not set; it must be the name of the rollout, such as rps-2026-11")
        window = windows.parse(given["not_before"], given["not_after"], given["time_zone"], now())
        asked = self._plan(window)
        run, here = state.run_id(), state.controller()
        with self._locked(change, asked) as rollout:
            rollout.claim(here, state.alive, given["take_over"])
            rollout.refuse(asked, collection_version(COLLECTION))
            rollout.leave_out(plan.left_out(given["leave_out"]))
            for number in [number for number in rollout.open() if not rollout.members(number)]:
                rollout.begin(number, stamp())
                rollout.end(number, True, stamp())
            lines = plan.lines(rollout.document, window, now())
            left = [members for number in rollout.open() if (members := rollout.members(number))]
            runs = [*filter(None, rollout.runs()), run]
            if self._writes and left:
                begun = {"id": run, "began": stamp(), "controller": here, "ansible_core": ansible_core_version}
                rollout.began(begun, asked["window"])
            if self._writes and (left or rollout.left_out()):
                keep(rollout, given["results"])
        lines = lines if left else [rollout.document["headline"]]
        for line in lines:
            self._display.display(line)
        fact = {
            "order": [host for members in left for host in members] or [NO_HOST],
            "sizes": [len(members) for members in left] or [1],
            "change": change,
            "plan": asked,
            "runs": runs,
            "left_out": rollout.left_out(),
        }
        result: Result = {"lines": lines, "ansible_facts": {FACT: fact}}
        if not left:  # a complete rollout has no run to end
            result["rollout"] = {}
        return result

    def _plan(self, window: windows.Times) -> Result:
        """The plan that the options and the inventory ask for, in the form of the state file."""
        given, play = self._options, self._variables
        hosts = [str(host) for host in play["ansible_play_hosts_all"]]
        groups = {name: [host for host in members if host in hosts] for name, members in play["groups"].items()}
        soak = seconds(given["soak"], "rollout_soak")
        within, measured = "0" if given["confirm_within"] == UNLIMITED else given["confirm_within"], given["guard"]
        auto = soak + (2 if measured else 1) * HOUR
        chosen = {host: self._tunings(host) for host in hosts}
        found: dict[str, Any] = {
            "tunings": {host: list(tunings) for host, tunings in chosen.items()},
            "wanted": {host: plan.wanted(tunings) for host, tunings in chosen.items()},
            "batches": plan.build(hosts, groups, given["canaries"], given["batches"], given["by"]),
            "soak_s": soak,
            "confirm_within_s": auto if within == "auto" else seconds(within, "rollout_confirm_within"),
            "guard": None,
            "on_failure": given["on_failure"],
            "window": window,
        }
        if measured:
            self._measurable(found["batches"])
            own = {"cpu_pct": given["guard_cpu_pct"], "workloads": given["workloads"]}
            found["guard"] = own | {name: given[name] for name in LIMITS}
        if not any(chosen.values()):
            raise ValueError("no host of this play has a tuning, so there is nothing to roll out: check zpower_tunings")
        if found["confirm_within_s"] > LONGEST:
            raise ValueError(
                f"rollout_confirm_within is {within} and rollout_soak {given['soak']}: hosts keep values on "
                f"probation for at most {LONGEST // 86400}d"
            )
        if 0 < found["confirm_within_s"] <= soak:
            raise ValueError(
                f"rollout_confirm_within is {within} and rollout_soak {given['soak']}: the hosts would take "
                "everything back before it can be confirmed; it must be a time that is longer than the soak, or auto"
            )
        return found

    def _measurable(self, batches: Sequence[plan.Batch]) -> None:
        """ValueError for a batch that the guard could not judge, and for limits that are not those of all hosts."""
        # the name of the last batch's measurement, begun again a few times
        longest = batch_change(self._options["change"], len(batches), attempt=99)
        check_slug("rollout_change with the name of a batch", longest)
        usual = {f"report_{name}": spec["default"] for name, spec in LIMITS.items()}
        first: dict[str, tuple[str, str]] = {}
        for batch in batches:
            peers = []
            for host in batch["hosts"]:
                own = {**usual, **self._variables["hostvars"].raw_get(host)}
                with scope(self._templar, own) as value_of:
                    peers.append(value_of("measure_peer"))
                    limits = {name: value_of(name) for name in usual}
                for name, value in limits.items():
                    told = f"{one_line(value)} on {host}"
                    same, where = first.setdefault(name, (plan.wanted({name: value}), told))
                    if plan.wanted({name: value}) != same:
                        raise ValueError(
                            f"rollout_guard is set, and {name} is {where} and {told}: give all hosts of the play the"
                            " same"
                        )
            if not any(peers):
                named = f"{batch['number']} ({', '.join(batch['hosts'][:3])})"
                raise ValueError(
                    f"rollout_guard is set, and no host of batch {named} has a measure_peer: name one in the "
                    "inventory, or form other batches"
                )

    def _tunings(self, host: str) -> dict[str, Result]:
        """{name: options of its module} of the tunings that a host asks for."""
        own = {**role_values("rollout"), **self._variables["hostvars"].raw_get(host)}
        try:
            with scope(self._templar, own) as value_of:
                names = choose(asked_for(value_of(TUNINGS), value_of), known_tunings())
            found = {}
            for name in names:
                with scope(self._templar, {**role_values(name), **own}) as value_of:
                    found[name] = module_options(name, role_specs(name), value_of)
            return found
        except ValueError as error:
            raise ValueError(f"{host}: {error}") from None

    def begun(self) -> Result:
        closed = windows.closed(decided(self._variables)["plan"]["window"], now())
        with self._step() as rollout:
            number, document = rollout.number_of(self._variables["inventory_hostname"]), rollout.document
            rows = stages.stage_rows(document["plan"], rollout.again(number), not self._writes)
            if closed and self._writes:
                rollout.ended(stamp(), reason=closed)
            elif self._writes:
                rollout.begin(number, stamp())
        if closed and self._writes:
            raise ValueError(document["headline"])
        if closed:
            self._display.warning(f"batch {number} would not begin now: {closed}")
        return {"measurement": rollout.measurement(number), "stages": rows}

    def judged(self) -> Result:
        stage, alive = stages.BY_NAME[self._options["stage"]], self._variables["ansible_play_hosts"]
        with self._step() as rollout:
            number = rollout.number_of(self._variables["inventory_hostname"])
            hosts, limits = rollout.members(number), rollout.document["plan"]["guard"]
            gates = {host: gate_of(host, self._variables, stage, host in alive) for host in hosts}
            stopped = rollout.note_gates(number, stage, gates)
            if stage == stages.AFTER and limits and not stopped:
                said = guard.judge(self._options["results"], rollout.measurement(number), hosts, limits)
                rollout.document["batches"][number - 1]["guard"] = said
                stopped = said["sentences"]
            rollout.advance(number, stage, stopped, stamp())
        if stopped:
            raise ValueError(f"batch {number} stops after {stage.name}: {'; '.join(stopped)}")
        return {"stage": stage.name}

    def owned(self) -> Result:
        first = decided(self._variables)
        if not self._writes:
            return {"stages": []}
        try:
            rollout = state.read(self._options["results"], first["change"])
        except (OSError, ValueError):  # nobody else is known to have it
            rollout = None
        own = rollout is None or rollout.runs()[-1:] in ([], first["runs"][-1:])
        return {"stages": [stages.stage_row(stages.ENDS[first["plan"]["on_failure"]], False)] if own else []}

    def stopped(self) -> Result:
        with self._step() as rollout:
            number, document = rollout.number_of(self._variables["inventory_hostname"]), rollout.document
            batch, way = document["batches"][number - 1], document["plan"]["on_failure"]
            for host in rollout.members(number):
                one = batch["hosts"][host]
                gate = gate_of(host, self._variables, stages.ENDS[way], one["outcome"] != "lost")
                values = stages.values_left(one["values"], gate, "taken back" if way == "back" else "confirmed")
                reasons = [*one["reasons"], *(gate["reasons"] if values == "unknown" else ())]
                one.update({"values": values, "reasons": list(dict.fromkeys(reasons))})
            rollout.end(number, False, stamp(), batch["reasons"] or [self._options["reason"]])
        if self._writes:
            raise ValueError(document["headline"])
        raise ValueError(f"batch {number} would stop: {'; '.join(batch['reasons'])}")

    @contextlib.contextmanager
    def _step(self) -> Iterator[state.Rollout]:
        """The state for one step of this run, kept after the block, all under its lock. In check mode nothing is
        kept; without a state, it is the one that a first run would begin with."""
        first = decided(self._variables)
        with self._locked(first["change"], first["plan"]) as rollout:
            if self._writes:
                rollout.own(first["runs"][-1])
            yield rollout
            if self._writes:
                keep(rollout, self._options["results"])

    @contextlib.contextmanager
    def _locked(self, change: str, wanted: Result) -> Iterator[state.Rollout]:
        """The state under its lock; without a file the one of a new rollout with this plan."""
        with contextlib.ExitStack() as stack:
            refused = stack.enter_context(state.held(self._options["results"], change)) if self._writes else ""
            if refused:
                self._display.warning(f"{refused}; do not start the rollout {change} on two controllers at once")
            found = state.read(self._options["results"], change)
            yield found or state.new(change, collection_version(COLLECTION), wanted)


def refuse_tags(variables: Mapping[str, Any]) -> None:
    """Raise ValueError if tags would leave out a part of the plan."""
    ours = {*known_tunings(), "platform", "always", "tagged", "all"}
    if {*variables.get("ansible_run_tags", ())} - {"all"} or ours & {*variables.get("ansible_skip_tags", ())}:
        raise ValueError(
            "a rollout does not support --tags: its plan must be the same when it is continued; choose the tunings "
            "with zpower_tunings instead"
        )


def decided(variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the first play decided, also in check mode, which has no state file."""
    found: Mapping[str, Any] = variables["hostvars"]["localhost"]["ansible_facts"][FACT]
    return found


def gate_of(host: str, variables: Mapping[str, Any], stage: stages.Stage, alive: bool) -> stages.HostState:
    """The gate of a host after a stage, from the results of its last call and the failure of a task."""
    facts = variables["hostvars"][host]
    found = [facts.get(name) for name in ("__tunings_result", "__tunings_later")]
    results = [result for result in found if isinstance(result, Mapping)]
    error = facts.get("__rollout_error") or {}
    said = error.get("reason", "") if error.get("stage") == stage.name else ""
    lost = not alive or any(result.get("unreachable") for result in results)
    return stages.make_gate(stage, None if lost else results, said)


def seconds(value: object, option: str) -> int:
    return int(durations.seconds(value, option))  # type: ignore[no-untyped-call]


def stamp() -> str:
    return windows.stamp(now())
