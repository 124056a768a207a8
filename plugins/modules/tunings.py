#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several tunings of a host in one call: options of their modules."""

DOCUMENTATION = r"""
---
module: tunings
short_description: Run several tunings of a host in one call
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Runs the chosen tunings one after another in one process on the host, each with its own journal and its own result,
    which is that of the tuning's own module. After a failure the others still run, and the call fails at its end.
  - The options of each tuning come from the variables C(<tuning>_<option>), as for its role; a variable that is not
    set has the default of the role. C(zpower_rollback), C(zpower_confirm), C(zpower_confirm_within),
    C(zpower_checkpoint), C(zpower_lease) and C(zpower_root) have the meaning that they have for the roles.
  - With C(--tags) and C(--skip-tags), it runs the tunings whose names, as tags of their roles, would be run. Give
    the task the tag C(always).
  - With O(tunings) that have C(state=restored), it first looks for files of these tunings on the host, such as journals
    and drop-in files. A tuning without any has nothing to take back; it is not run, and its options are not checked.
  - Needs Python 3.6 or later on the host.
options:
  names:
    description:
      - The tunings, in this order; if unset, those of O(tunings).
      - "In the roles C(tune) and C(verify), by default those of the variable C(tune_tunings) or C(verify_tunings)."
    type: list
    elements: str
  tunings:
    description: Options of tunings, each under the name of its tuning. They win over the variables.
    type: dict
    default: {}
  variables:
    description: Variables of tunings, such as C(rps_every), with the values that this call uses. They win over all
      others, also over those of the command line.
    type: dict
    default: {}
  check_platform:
    description:
      - Also check what this collection does not set itself (SMT, the route to the database host, SMC), and every tuning
        that is applied on the host and not in O(names). The tag C(platform) chooses it.
      - The options are the variables of the role C(platform).
    type: bool
    default: false
  platform:
    description: Options of M(zpower.sap_tuning.platform_settings_info). They win over the variables.
    type: dict
    default: {}
  preflight:
    description:
      - Also look for what would stop the tunings on this host, and list it in RV(preflight). Only in check mode.
      - "On the host: whether the journal's folder and the drop-in folders of the tunings can be written (owner,
        read-only file system, space, inodes), whether another run holds a lock, whether another file wins over a stored
        value at boot, and whether a checkpoint, also one of values on probation, is in the way. Nothing is written."
      - On the controller, with O(check_platform), the records of the platform that are C(drifted) or C(failed) and that
        no waiver accepts.
      - A value that only differs from the request does not fail.
    type: bool
    default: false
  drift:
    description:
      - Whether the task fails for values that are not as requested.
      - In the roles C(tune) and C(verify), by default as the variable C(tune_drift) or C(verify_drift) says.
    type: str
    choices: [fail, warn]
    default: warn
  defer:
    description:
      - For the roles of this collection only; it may change in any version.
      - Do not run the tuning C(sap_profile) yet if this host must wait for another one that changes the same profile
        on a shared file system, or may restart instances. RV(deferred) then names it, for a second task. Not in check
        mode. Needs the fact C(__sap_profile_order) of the lookup P(zpower.sap_tuning.sap_profiles#lookup).
      - The same for C(smc), if it may restart instances.
      - With RV(deferred), do not fail for RV(failing) either; the second task does, with O(failing).
    type: bool
    default: false
  records:
    description:
      - For the roles of this collection only; it may change in any version.
      - Whether the records and results of the tunings are returned, for tasks that follow.
      - In the role C(tune), by default only with the variable C(tune_change), for which it keeps them.
    type: bool
    version_added: 1.0.0
    default: true
  fail:
    description:
      - For the roles of this collection only; it may change in any version.
      - Whether the task fails for RV(failing). If it does not, all values are returned, for tasks that follow.
    type: bool
    version_added: 1.0.0
    default: true
  failing:
    description:
      - For the roles of this collection only; it may change in any version.
      - For a second task after one with O(defer) or O(fail=false), its RV(failing). This task fails with them, after it
        has run the tunings in O(names). Without names, it calls nothing.
    type: list
    elements: str
attributes:
  check_mode:
    description: Predicts every change without making it.
    support: full
  diff_mode:
    description: Shows changes in the terms of the tunings.
    support: full
  platform:
    description: As the modules of the tunings.
    support: full
    platforms: posix
"""

EXAMPLES = r"""
- name: The tunings of this host, as the variables rps_interfaces, cpu_polarization_mode and so on say
  zpower.sap_tuning.tunings:
    names: "{{ query('zpower.sap_tuning.tunings', zpower_tunings) }}"
  become: true
  tags: [always]

- name: Whether these tunings could be set now
  zpower.sap_tuning.tunings:
    names: "{{ query('zpower.sap_tuning.tunings', zpower_tunings) }}"
    check_platform: true
    preflight: true
  become: true
  check_mode: true
  register: site_preflight
  tags: [always]

- name: Back to the first values, without a look at the variables' states
  zpower.sap_tuning.tunings:
    tunings:
      rps: {state: restored}
      cpu_polarization: {state: restored}
  become: true
"""

RETURN = r"""
tunings:
  description:
    - The result of each tuning's module, under the name of the tuning, without its records and its diff, which are in
      RV(tuning) and C(diff).
  returned: if the task registers its result and does not fail
  type: dict
  sample: {rps: {changed: true, failed: false, msg: 1 changed}}
deferred:
  description:
    - For the roles of this collection only; it may change in any version.
    - The tunings that wait for a second task. See O(defer).
  returned: if the task registers its result and does not fail
  type: list
  elements: str
later:
  description:
    - For the roles of this collection only; it may change in any version.
    - True if tasks of the role C(tune) follow for this host, such as that for RV(deferred).
  returned: if there are some
  type: bool
throttle:
  description:
    - For the roles of this collection only; it may change in any version.
    - 1 if the task for RV(deferred) may run on one host at a time only, otherwise 0.
  returned: if the task registers its result and does not fail
  type: int
tuning:
  description: The tuning records of all results, those of O(check_platform) first. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: if the task registers its result and does not fail
  type: list
  elements: dict
errors:
  description: One sentence per tuning that failed, and per record that could not be read.
  returned: if the task registers its result and does not fail
  type: list
  elements: str
  sample: ['rps: nothing was changed: the lock is held by another run']
drift:
  description: The reason of each record that is not as requested and that no waiver (C(zpower_waivers)) accepts.
  returned: if the task registers its result and does not fail
  type: list
  elements: str
  sample: ['hsi0 is not as requested: rx-0 running 0, wanted 3']
preflight:
  description: The reasons not to change this host now, one sentence each.
  returned: with O(preflight), if the task registers its result and does not fail
  type: list
  elements: str
  sample: ['/var/lib/zpower_sap_tuning: the file system is read-only']
invocation:
  description: How the module was called, and what the callback P(zpower.sap_tuning.tunings#callback) shows of it.
  returned: always
  type: dict
failing:
  description: The reasons to fail. RV(errors), with O(drift=fail) also RV(drift), and those of O(failing). Values
    that C(zpower_observed) or C(zpower_unsupported) makes fail do so also without O(drift=fail).
  returned: always
  type: list
  elements: str
platform:
  description: The facts of the host, those that M(zpower.sap_tuning.platform_info) returns as C(zpower_platform).
  returned: with O(check_platform), if the task registers its result and does not fail
  type: dict
"""

import traceback

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError


def tuning_class(name):  # noqa: PLR0912 - a branch for each tuning
    """The class of a tuning; None if there is none of this name.

    Ansible sends every file that is imported anywhere in this module, so each import is written here. Only those that
    are executed are compiled, which takes most of the time of a call.
    """
    # begin: the files in _tunings, by make generate
    if name == "aix_device_attributes":
        from ..module_utils._tunings.aix_device_attributes import AixDeviceAttributes as found
    elif name == "aix_tunables":
        from ..module_utils._tunings.aix_tunables import AixTunables as found
    elif name == "cpu_polarization":
        from ..module_utils._tunings.cpu_polarization import CpuPolarization as found
    elif name == "cpu_topology":
        from ..module_utils._tunings.cpu_topology import CpuTopology as found
    elif name == "hiperdispatch":
        from ..module_utils._tunings.hiperdispatch import Hiperdispatch as found
    elif name == "qeth":
        from ..module_utils._tunings.qeth import Qeth as found
    elif name == "rps":
        from ..module_utils._tunings.rps import Rps as found
    elif name == "sap_profile":
        from ..module_utils._tunings.sap_profile import SapProfile as found
    elif name == "smc":
        from ..module_utils._tunings.smc import Smc as found
    elif name == "smc_r":
        from ..module_utils._tunings.smc_r import SmcR as found
    elif name == "smc_sysctls":
        from ..module_utils._tunings.smc_sysctls import SmcSysctls as found
    elif name == "system_base":
        from ..module_utils._tunings.system_base import SystemBase as found
    else:
        return None
    # end
    return found


def engine():
    """What runs tunings."""
    from ..module_utils._engine import entry_point

    return entry_point


def unused(names, options):
    """{name: its result} of the tunings that are to be taken back and were never used on this host.

    They are not imported, and their options are not checked. A checkpoint, a lease or a probation may be invalid.
    """
    asked = []
    for name in names:
        given = options.get(name) or {}
        temporary = [given.get(option) for option in ("checkpoint", "lease", "confirm_within", "root")]
        if given.get("state") == "restored" and not any(value is not None for value in temporary):
            asked.append(name)
    if not asked:
        return {}
    from ..module_utils._engine import records
    from ..module_utils._tunings import _unused

    return {name: records.nothing_to_take_back(name) for name in _unused.unused(asked)}


def checked(module, spec, options):
    """(parameters, None), or (None, the sentence with which this module refuses these options)."""
    result = ArgumentSpecValidator(spec).validate(options)
    if not result.error_messages:
        return result.validated_parameters, None
    unsupported = "Unsupported parameters for (zpower.sap_tuning.%s) module: " % module
    return None, (unsupported if isinstance(result.errors[0], UnsupportedError) else "") + result.errors.msg


def run_one(kind, options, check_mode):
    """The result of one tuning, also if it has a defect."""
    try:
        params, sentence = checked(kind.name, engine().argument_spec(kind), options)
        if sentence:
            return {"failed": True, "msg": sentence}
        return engine().outcome(kind, params, check_mode)
    except Exception as error:
        return {
            "failed": True,
            "msg": "unexpected error: %s: %s" % (type(error).__name__, error),
            "exception": traceback.format_exc(),
        }


def preflight(kinds, options):
    """A function: the results of the tunings -> the sentences of the preflight."""
    from ..module_utils._tunings import _preflight

    accepted = {}
    for name, kind in kinds.items():
        params, sentence = checked(kind.name, engine().argument_spec(kind), options.get(name) or {})
        if not sentence:
            accepted[name] = (kind, params)
    return lambda results: _preflight.sentences(accepted, results)


def platform_results(module):
    """{platform: facts, tuning: records} of the platform check, if it is asked for."""
    if not module.params["check_platform"]:
        return {}
    from ..module_utils._machine import checks, facts, reading

    params, sentence = checked("platform_settings_info", checks.OPTIONS, module.params["platform"])
    if sentence:
        module.fail_json(msg="platform: %s" % sentence)
    try:
        host, system = reading.host_and_system(params.pop("root"))
    except reading.HostError as error:
        module.fail_json(msg="platform: %s" % error)
    found = dict(tuning=checks.records(host, system, **params), platform=facts.facts(host, system))
    for remark in host.summary():
        module.warn(remark)
    return found


def main():
    module = AnsibleModule(
        argument_spec=dict(
            names=dict(type="list", elements="str"),
            tunings=dict(type="dict", default={}),
            variables=dict(type="dict", default={}),
            check_platform=dict(type="bool", default=False),
            platform=dict(type="dict", default={}),
            preflight=dict(type="bool", default=False),
            # the controller knows the waivers and the other hosts, so it does these
            drift=dict(type="str", choices=["fail", "warn"], default="warn"),
            defer=dict(type="bool", default=False),
            records=dict(type="bool", default=True),
            fail=dict(type="bool", default=True),
            failing=dict(type="list", elements="str"),
        ),
        supports_check_mode=True,
    )
    options = module.params["tunings"]
    names = list(options) if module.params["names"] is None else module.params["names"]
    if module.params["preflight"] and not module.check_mode:
        module.fail_json(msg="preflight: this only looks ahead; give the task check_mode: true")
    # all imports come first: processes that tunings start with the rights of other users cannot read these files
    idle = unused(names, options)
    kinds = {name: tuning_class(name) for name in names if name not in idle}
    unknown = [name for name, kind in kinds.items() if kind is None]
    if unknown:
        module.fail_json(msg="there is no tuning '%s'" % unknown[0])
    if kinds:
        engine()
    captures = [name for name in kinds if (options.get(name) or {}).get("root")]
    if captures and module.params["preflight"]:
        module.fail_json(msg="preflight: root of %s names a capture, which cannot be changed" % captures[0])
    look_ahead = preflight(kinds, options) if module.params["preflight"] else None
    shown = platform_results(module)

    def run(name):
        return idle[name] if name in idle else run_one(kinds[name], options.get(name) or {}, module.check_mode)

    results = {name: run(name) for name in names}
    bad = ["%s: %s" % (name, result["msg"]) for name, result in results.items() if result.get("failed")]
    shown.update(
        changed=any(result.get("changed", False) for result in results.values()),
        msg="; ".join(bad or ["%s: %s" % (name, result["msg"]) for name, result in results.items()]),
        tunings=results,
    )
    if look_ahead:
        shown["preflight"] = look_ahead(results)
    if bad:
        module.fail_json(**shown)
    module.exit_json(**shown)


if __name__ == "__main__":
    main()
