# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan a session of several states, do its steps, look and end; documented in plugins/modules/experiment.py."""

from collections.abc import Mapping
from typing import Any

from ..modules.experiment import DOCUMENTATION
from ..plugin_utils._actions.controller import LIMITS, ControllerAction, argument_spec, of_role
from ..plugin_utils._actions.variables import known_tunings, role_specs
from ..plugin_utils._compare import comparing
from ..plugin_utils._experiment.plans import choose_limit
from ..plugin_utils._records.checks import plain_json
from ..plugin_utils._sessions import levels, session, two_states
from ..plugin_utils._sessions.session import Options

# read only by the tasks of a role
LEFT_OUT = ("tunings", "experiment_final", "experiment_lease")
OF_ROLE = {
    role: {name: spec for name, spec in of_role(role).items() if not {name, f"{role}_{name}"} & {*LEFT_OUT}}
    for role in ("experiment", "before_after")
}
OF_ROLE["experiment"]["factors"]["options"] = role_specs("experiment")["experiment_factors"]["options"]
OF_STEP = {
    "max_minutes": "measure_max_minutes",
    "tunings": "__session_mine",
    "level": "__session_step",
    "step": "__session_index",
    "part": "__session_part",
}


class ActionModule(ControllerAction):
    two_states = False
    """Whether this is a task of the role before_after, with the variables of that role."""

    def perform(self, given: dict[str, Any]) -> Mapping[str, Any]:
        self.two_states = str(self._task._role) == "zpower.sap_tuning.before_after"
        role = "before_after" if self.two_states else "experiment"
        more = dict.fromkeys(LIMITS.keys() - OF_ROLE[role].keys(), "report")
        self.ARGUMENTS = {**LIMITS, **OF_ROLE[role], **argument_spec(DOCUMENTATION)}
        self.VARIABLES = {
            name: f"{begin}_{name}" for name, begin in {**dict.fromkeys(OF_ROLE[role], role), **more}.items()
        }
        self.VARIABLES |= {} if self.two_states else OF_STEP
        return super().perform(given)

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        # refused before anything is measured
        comparing.Options(choose_limit(options["material_pct"], None), expected_change=options["expected_change"])
        result = self.decide(plain_json(options), variables, bool(self._task.check_mode))
        self.say(result.pop("say", ()))
        return result

    def decide(self, options: Options, variables: dict[str, Any], check: bool) -> dict[str, Any]:
        """The result of the event, with the lines to ``say``; OSError or ValueError in one sentence."""
        event = options["event"]
        if event in ("set", "held", "measured"):
            return {"changed": False, **session.at_step(options, variables, check)}
        if event == "looked" and variables.get("__session", {}).get("kind") == "state":
            return two_states.looked(options["part"], variables)
        if self.two_states:
            return {**self.decide_states(options, variables, str(variables["inventory_hostname"]))}
        if event == "planned":
            hosts = options["hosts"] or [str(host) for host in variables.get("ansible_play_batch") or ()]
            known = {name: role_specs(name) for name in known_tunings()}
            plan = levels.planned(options, hosts, known, check)
            if "__session_mine" in variables:
                mine = (variables["hostvars"][host]["__session_mine"] for host in hosts)
                if nobodys := sorted({*plan["tunings"]} - {tuning for tunings in mine for tuning in tunings}):
                    raise ValueError(
                        f"the levels set {', '.join(nobodys)}, which is in zpower_tunings of no host of this play: "
                        "every level would be measured in the same state"
                    )
            return plan
        if event == "decided":
            return levels.decided(levels.read_plan(options), options)
        return levels.looked(options, check) if event == "looked" else levels.ended(options, variables, check)

    def decide_states(self, options: Options, variables: dict[str, Any], host: str) -> Mapping[str, Any]:
        """The result of an event of the role before_after."""
        event, hosts = options["event"], variables["hostvars"]
        if event == "ended":
            return two_states.end(session.session_of(variables), host, hosts, options["final"])
        ready = {str(name): hosts[name]["__measure_ready"] for name in variables["ansible_play_batch"]}
        if event == "begun":
            return two_states.begun(options, ready)
        return two_states.planned(options, session.session_of(variables), host, ready, hosts)
