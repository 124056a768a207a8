# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of the state modules: options, errors, the result."""

import copy

from .._host.host import Host, HostError
from .journal import Journal
from .lease import LONGEST, Terms
from .run import Run
from .tuning import InputError

# documented in plugins/doc_fragments/tuning.py
STATE_ARGUMENTS = dict(
    state=dict(type="str", choices=["present", "restored"], default="present"),
    force=dict(type="bool", default=False),
    checkpoint=dict(type="str"),
    lease=dict(type="int"),
    complete=dict(type="bool", default=False),
)


def argument_spec(tuning_class):
    """The options of a tuning's module, with defaults that are the caller's own."""
    return copy.deepcopy(dict(STATE_ARGUMENTS, **tuning_class.options))


def run_tuning(module, tuning_class):
    """Run one state module: tuning_class(host, params) is a Tuning. Ends the module."""
    result = outcome(tuning_class, module.params, module.check_mode)
    if result["failed"]:
        module.fail_json(**result)
    module.exit_json(**result)


def outcome(tuning_class, params, check_mode):
    """The result of one call of a tuning's module with these checked parameters."""
    host = Host()
    try:
        terms = _terms(host, params, tuning_class)
        tuning = tuning_class(host, params)
        journal = Journal(host, tuning.name, checkpoint=params["checkpoint"])
        run = Run(
            tuning,
            journal,
            params["state"],
            check_mode,
            params["force"],
            terms,
            complete=params["complete"],
        )
        return run.run()
    except (InputError, HostError) as error:
        return {"failed": True, "msg": str(error)}


def _terms(host, params, tuning_class):
    """The Terms of the call's lease, or None. Raises InputError."""
    seconds = params["lease"]
    if seconds is None:
        return None
    if not 0 <= seconds <= LONGEST:
        raise InputError("lease: %d is out of range; use 0 to %d seconds" % (seconds, LONGEST))
    if not params["checkpoint"]:
        raise InputError("lease: only a checkpoint is taken back by itself; give checkpoint too")

    def take_back(due):
        journal = Journal(host, tuning_class.name, checkpoint=params["checkpoint"])
        journal.lock()
        try:
            if not due():
                return None
            tuning = tuning_class(host, tuning_class.unattended(params))
            return Run(tuning, journal, "restored", all_subjects=True).run()
        except InputError as error:
            raise HostError(str(error)) from error
        finally:
            journal.close()

    return Terms(seconds, take_back)
