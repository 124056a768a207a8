# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of the state modules: options, errors, the result."""

import copy
import importlib

from .._host.host import Host, HostError
from .journal import Journal
from .places import PROBATION
from .run import Run
from .tuning import InputError

# documented in plugins/doc_fragments/tuning.py
STATE_ARGUMENTS = dict(
    state=dict(type="str", choices=["present", "restored", "confirmed"], default="present"),
    force=dict(type="bool", default=False),
    checkpoint=dict(type="str"),
    lease=dict(type="int"),
    confirm_within=dict(type="str"),
    confirm_runs=dict(type="list", elements="str", default=[]),
    confirmed_state=dict(type="str", choices=["present", "off", "restored"], default="present"),
    complete=dict(type="bool", default=False),
    root=dict(type="path"),
)
# what a call in check mode imports only if it needs it
_CHANGES = ("archive", "confirm", "lease", "service", "setter", "way_back")


def argument_spec(tuning_class):
    """The options of a tuning's module, with defaults that are the caller's own."""
    return copy.deepcopy(dict(STATE_ARGUMENTS, **tuning_class.options))


def run_tuning(tuning_class):
    """The main() of a tuning's module: tuning_class(host, params) is a Tuning."""
    # the service of a probation imports this file where there is no Ansible
    from ansible.module_utils.basic import AnsibleModule  # noqa: PLC0415

    module = AnsibleModule(argument_spec=argument_spec(tuning_class), supports_check_mode=True)
    result = outcome(tuning_class, module.params, module.check_mode)
    if result["failed"]:
        module.fail_json(**result)
    module.exit_json(**result)


def outcome(tuning_class, params, check_mode):
    """The result of one call of a tuning's module with these checked parameters."""
    host = None
    if not check_mode:
        # no change begins without the files of its way back; a guardian cannot import any, and its service gets these
        for name in _CHANGES:
            importlib.import_module(__package__ + "." + name)
    try:
        host = host_of(params["root"], check_mode)
        checkpoint, lease_s = temporary(params)
        if host.capture and (params["state"] in ("restored", "confirmed") or checkpoint):
            raise InputError("root: a capture can only be compared with a request; leave out state and checkpoint")
        if params["state"] == "confirmed":
            return _confirmed(host, tuning_class, params, check_mode)
        tuning = tuning_class(host, params)
        return Run(
            tuning,
            Journal(host, tuning.name, checkpoint=checkpoint, runs=params["confirm_runs"]),
            params["state"],
            check_mode,
            params["force"],
            _terms(host, params, tuning_class, checkpoint, lease_s),
            complete=params["complete"],
        ).run()
    except (InputError, HostError) as error:
        if host is not None and host.capture:
            from . import captured  # noqa: PLC0415

            if isinstance(error, HostError) or captured.of_request(host):
                return captured.unreadable(host, tuning_class, error)
        return {"failed": True, "msg": str(error)}


def host_of(root, check_mode):
    """The Host of a call: the machine that it runs on, or a capture, a folder or an archive in the place of one.

    Raises InputError outside check mode, HostError for a capture that cannot be read.
    """
    if not root or root == "/":
        return Host()
    if not check_mode:
        raise InputError("root: %s is a capture and cannot be changed; give the task check_mode: true" % root)
    # most calls read no capture, and compiling this takes time
    from .._captures.opening import open_capture  # noqa: PLC0415

    return open_capture(root).again()


def _confirmed(host, tuning_class, params, check_mode):
    from .confirm import Confirmation  # noqa: PLC0415

    state = params["confirmed_state"]
    tuning = tuning_class(host, dict(params, state=state))
    journal = Journal(host, tuning.name, runs=params["confirm_runs"])
    return Confirmation(tuning, journal, state, check_mode, params["force"], params["complete"]).run()


def temporary(params):
    """(name of the call's checkpoint or None, seconds of its lease or None). Raises InputError."""
    checkpoint, lease_s, within = params["checkpoint"], params["lease"], (params["confirm_within"] or "").strip()
    if checkpoint == PROBATION:
        raise InputError(
            "checkpoint: '%s' is kept for values on probation; give another name, or confirm_within instead" % PROBATION
        )
    confirming = params["state"] == "confirmed"
    if (within or confirming) and (checkpoint or lease_s is not None):
        raise InputError(
            "%s: values on probation are a checkpoint with a lease of its own; leave out checkpoint and lease"
            % ("state" if confirming else "confirm_within")
        )
    option = "lease"
    if within:
        option, checkpoint = "confirm_within", PROBATION
        from .durations import seconds  # noqa: PLC0415

        try:
            lease_s = seconds(within, option)
        except ValueError as error:
            raise InputError(str(error)) from error
    if lease_s is not None:
        from .durations import LONGEST  # noqa: PLC0415

        if not 0 <= lease_s <= LONGEST:
            raise InputError("%s: %d is out of range; use 0 to %d seconds" % (option, lease_s, LONGEST))
        if not checkpoint:
            raise InputError("lease: only a checkpoint is taken back by itself; give checkpoint too")
    return checkpoint, lease_s


def _terms(host, params, tuning_class, checkpoint, lease_s):
    """The Terms of the call's lease, or None."""
    if lease_s is None:
        return None
    from . import archive  # noqa: PLC0415
    from .lease import Terms  # noqa: PLC0415

    return Terms(
        lease_s,
        lambda due: take_back(host, params, tuning_class, checkpoint, due),
        lambda: archive.program(tuning_class, tuning_class.unattended(params), host.root),
    )


def watch(tuning_class, params, root):
    """The service of a probation: see archive.py and Lease.watch(). params: those with which it takes back."""
    host = Host(root)
    lease = Journal(host, tuning_class.name, checkpoint=PROBATION).lease
    lease.watch(lambda due: take_back(host, params, tuning_class, PROBATION, due), lambda details: None)


def take_back(host, params, tuning_class, checkpoint, due):
    """What a guardian does when the lease ends; see Terms. Raises HostError."""
    journal = Journal(host, tuning_class.name, checkpoint=checkpoint)
    journal.lock()
    try:
        if not due():
            return None
        if not journal.entries:
            # the run that took the values back, or confirmed them, was killed before it came to the lease
            journal.lease.end()
        tuning = tuning_class(host, tuning_class.unattended(params))
        return Run(tuning, journal, "restored", all_subjects=True).run()
    except InputError as error:
        raise HostError(str(error)) from error
    finally:
        journal.close()
