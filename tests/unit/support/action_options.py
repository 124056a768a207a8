# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of measuring actions, checked as Ansible checks them."""

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point


def names_of(action, **arguments):
    """The workloads that an action plugin expects of these arguments; ValueError if its options refuse them."""
    spec = {**entry_point.ARGUMENTS, **action.ARGUMENTS}
    checked = ArgumentSpecValidator(spec).validate({"side": "client", **arguments})
    if checked.error_messages:
        raise ValueError("; ".join(checked.error_messages))
    return action.ActionModule.names(None, checked.validated_parameters)
