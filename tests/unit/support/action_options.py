# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of measuring modules, checked as Ansible checks them."""

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
from ansible_collections.zpower.sap_tuning.plugins.modules import enqt, measure_workload, niping

MODULES = {"enqt": enqt, "measure_workload": measure_workload, "niping": niping}


def names_of(module, **arguments):
    """Return the workloads that a call of a module measures; raise ValueError if its options refuse the arguments."""
    spec = {**entry_point.ARGUMENTS, **MODULES[module].ARGUMENTS}
    checked = ArgumentSpecValidator(spec).validate({"side": "client", **arguments})
    if checked.error_messages:
        raise ValueError("; ".join(checked.error_messages))
    tools, own = entry_point.chosen(MODULES[module].TOOLS, checked.validated_parameters)
    return tools.names(own, (checked.validated_parameters["session"] or {}).get("tool", ""))
