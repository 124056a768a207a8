# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the state modules' main() have in common: options, errors, the result."""

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tuning import InputError

# documented in plugins/doc_fragments/tuning.py
STATE_ARGUMENTS = dict(
    state=dict(type="str", choices=["present", "restored"], default="present"),
    force=dict(type="bool", default=False),
)


def run_tuning(module, tuning_class):
    """Run one state module: tuning_class(host, params) is a Tuning. Ends the module."""
    host = Host()
    params = module.params
    try:
        tuning = tuning_class(host, params)
        journal = Journal(host, tuning.name)
        result = Run(tuning, journal, params["state"], module.check_mode, params["force"]).run()
    except (InputError, HostError) as error:
        module.fail_json(msg=str(error))
    if result["failed"]:
        module.fail_json(**result)
    module.exit_json(**result)
