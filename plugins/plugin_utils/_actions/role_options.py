# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a tuning's module, from the variables of its role."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible.module_utils.common import validation
from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._engine.durations import LONGEST, seconds
from . import shared_profiles

_seconds: Callable[[Any, str], int] = seconds

UNLIMITED = "unlimited"  # of zpower_confirm_within: on probation until somebody ends it
ZERO = (
    "zpower_confirm_within=0 has three meanings and is deprecated: write zpower_probation=only with rollback, "
    "zpower_probation=compare with verify, and zpower_confirm_within=unlimited otherwise"
)
HOST_TIMEOUT_S, RESTART_TIMEOUT_S = 300, 600
"""Defaults of ``zpower_host_timeout``, and of the option ``restart_timeout``."""
LONGEST_TIMEOUT_S = 100_000_000
"""More, some kernels refuse."""
RESTARTING = ("sap_profile", "smc")
"""The tunings that may restart instances."""
SUBJECTS = {"interfaces", "device", "devices", "profiles", "instances", "values"}
"""Options that name subjects. A rollback leaves them out, so that it takes back the whole journal."""


def module_options(
    tuning: str, specs: Mapping[str, Mapping[str, object]], value_of: Callable[[str], Any]
) -> dict[str, object]:
    """The options of one call of the tuning's module.

    specs: the role's variables, from its argument_specs.yml; value_of: the value of a variable, None if it is not set.
    """
    common = common_options(value_of)
    rollback = common.get("state") == "restored"
    left_out = {"shared", "profiles", *shared_profiles.PROFILE} if tuning == "sap_profile" else set()
    left_out |= SUBJECTS if rollback else set()
    given = {}
    for variable, spec in specs.items():
        option = variable.removeprefix(f"{tuning}_")
        value = value_of(variable)
        if option not in left_out and _given(value, spec):
            given[option] = value
    if tuning == "sap_profile" and not rollback:
        given["profiles"] = shared_profiles.profiles(value_of)
    if common.get("state") == "confirmed" and "state" in given:
        given["confirmed_state"] = given["state"]
    return {**given, **common, "complete": True}


def common_options(value_of: Callable[[str], Any]) -> dict[str, object]:
    """The options that the variables ``zpower_*`` give to every tuning of a host.

    Raises ValueError, with the names of the variables, if they are wrong or do not go together.
    """
    rollback, confirm = (boolean(value_of(name), strict=False) for name in ("zpower_rollback", "zpower_confirm"))
    checkpoint, lease = value_of("zpower_checkpoint"), value_of("zpower_lease")
    lease = None if lease == "" else lease
    only, compare = (value_of("zpower_probation") == word for word in ("only", "compare"))
    within = "0" if only or compare else _confirm_within(value_of("zpower_confirm_within"))
    if confirm and rollback:
        raise ValueError("zpower_confirm keeps values and zpower_rollback takes them back; give only one of them")
    if (only and not rollback) or (compare and (rollback or confirm)):
        raise ValueError(f"zpower_probation={'only' if only else 'compare'} is for {'rollback' if only else 'verify'}")
    probation = "zpower_probation" if only or compare else "zpower_confirm_within" if within is not None else ""
    probation = "zpower_confirm" if confirm else probation
    if probation and (checkpoint or lease is not None):
        other = "zpower_checkpoint" if checkpoint else "zpower_lease"
        raise ValueError(f"{probation} is for values on probation, which have their own checkpoint; leave out {other}")
    root = capture(value_of)
    if root and (rollback or probation or checkpoint):
        other = "zpower_rollback" if rollback else probation or "zpower_checkpoint"
        raise ValueError(f"zpower_root names a capture, which can only be checked; leave out {other}")
    found: dict[str, object] = {"state": "restored"} if rollback else {"state": "confirmed"} if confirm else {}
    found |= {"checkpoint": checkpoint} if checkpoint else {}
    found |= {"lease": lease} if lease is not None else {}
    # a confirmation ends the probation, whatever time the inventory gives
    found |= {"confirm_within": within} if within is not None and not confirm else {}
    # the runs of a rollout, this one last
    runs = value_of("__rollout_runs")
    found |= {"confirm_runs": [str(run) for run in runs]} if runs else {}
    found |= {"root": root} if root else {}
    return found


def capture(value_of: Callable[[str], Any]) -> str:
    """The capture in the place of the host (zpower_root), empty for a host."""
    return str(value_of("zpower_root") or "").strip()


def _confirm_within(value: Any) -> str | None:
    """The duration as the option takes it; None if it is not given, as an empty field of a survey."""
    if value is None or not str(value).strip():
        return None
    if value == UNLIMITED:
        return "0"
    if _seconds(value, "zpower_confirm_within") > LONGEST:
        raise ValueError(f"zpower_confirm_within is {value!r}; it must be at most {LONGEST // 86400}d")
    return str(value).strip()


def host_timeout(value_of: Callable[[str], Any], options: Mapping[str, Mapping[str, object]]) -> int:
    """Return the seconds that a task may wait for its host, 0 for no limit. ValueError names a wrong variable.

    options: those of the tunings that it calls, by name. Each may stop and start its instances; if one does not come
    back, it is started once more, and no further one is touched.
    """
    limit = _whole_number("zpower_host_timeout", value_of("zpower_host_timeout"), HOST_TIMEOUT_S)
    for name in RESTARTING if limit else ():
        given = options.get(name) or {}
        if instances := validation.check_type_list(given.get("restart") or []):
            seconds = _whole_number(f"{name}_restart_timeout", given.get("restart_timeout"), RESTART_TIMEOUT_S)
            soft = _whole_number(f"{name}_restart_soft_timeout", given.get("restart_soft_timeout"), 0)
            limit += (2 * len(instances) + 1) * seconds + len(instances) * soft
    return min(limit, LONGEST_TIMEOUT_S)


def _whole_number(name: str, value: Any, default: int) -> int:
    try:
        return default if value is None or value == "" else max(0, validation.check_type_int(value))
    except TypeError:
        raise ValueError(f"{name} is {value!r}; it must be a whole number") from None


@contextmanager
def scope(templar: Any, variables: Mapping[str, object]) -> Iterator[Callable[[str], Any]]:
    """value_of() as templated() returns it, for templates that see these variables instead of those of the task."""
    # copies of a Templar are not native in ansible-core 2.16, whatever the original is
    kept = templar.available_variables
    templar.available_variables = variables
    try:
        yield templated(templar, variables)
    finally:
        templar.available_variables = kept


def templated(templar: Any, variables: Mapping[str, object]) -> Callable[[str], Any]:
    """value_of() for module_options(), from the raw variables of a task. Its ValueError names the variable."""
    placeholder = variables.get("omit", templar)

    def value_of(variable: str) -> Any:
        value = variables.get(variable)
        # most values are not templates, and a template takes much longer
        if not value or type(value) in (bool, int, float) or (isinstance(value, str) and "{" not in value):
            return value
        try:
            # in a dictionary: from 2.19 on, Ansible drops its omitted entries and raises for an omitted value alone
            found = templar.template({variable: value})
        except Exception as error:  # ansible-core 2.16 lets errors of Jinja and Python through
            raise ValueError(f"{variable}: {error}") from error
        return _without(placeholder, found).get(variable)

    return value_of


def _without(placeholder: object, value: Any) -> Any:
    """The value without the entries that ansible-core before 2.19 has in the place of omitted ones."""
    if isinstance(value, dict):
        return {key: _without(placeholder, item) for key, item in value.items() if item != placeholder}
    if isinstance(value, list):
        return [_without(placeholder, item) for item in value if item != placeholder]
    return value


def _given(value: Any, spec: Mapping[str, Any]) -> bool:
    """Whether the module gets an option: not if it is unset, or "none" if that is a choice, which only a role has."""
    unset = (None,) if "default" in spec else (None, "")
    return value not in unset and not (value == "none" and value in spec.get("choices", ()))
