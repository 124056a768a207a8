# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of Ansible without the tasks that succeed."""

DOCUMENTATION = r"""
---
name: quiet
type: stdout
short_description: Output of Ansible without the tasks that succeed
version_added: 1.0.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Prints what the playbooks of this collection say, such as one line for each round of an experiment, and failures,
    warnings, differences, messages of M(ansible.builtin.debug) and the recap, which counts what was changed.
  - Leaves out tasks that succeed or are skipped, and included files. With C(-v) it is the callback C(default).
  - Name C(zpower.sap_tuning.quiet) in C(stdout_callback) of ansible.cfg, or in C(ANSIBLE_STDOUT_CALLBACK).
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""

from typing import Any

from ansible.plugins.callback.default import CallbackModule as Default


class CallbackModule(Default):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "zpower.sap_tuning.quiet"

    def set_options(self, task_keys: Any = None, var_options: Any = None, direct: Any = None) -> None:
        super().set_options(task_keys=task_keys, var_options=var_options, direct=direct)
        self._quiet = not self._display.verbosity
        if self._quiet:
            self.set_option("display_skipped_hosts", False)  # also: no title before there is a line below it

    def _leaves_out(self, outcome: Any) -> bool:
        # ansible-core before 2.19 has no public attribute
        result = outcome.result if hasattr(outcome, "result") else outcome._result
        if not self._quiet or result.get("_ansible_verbose_always"):
            return False
        self._handle_warnings(result)
        return True

    def v2_runner_on_ok(self, result: Any) -> None:
        if not self._leaves_out(result):
            super().v2_runner_on_ok(result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        if not self._leaves_out(result):
            super().v2_runner_item_on_ok(result)

    def v2_playbook_on_include(self, included_file: Any) -> None:
        if not self._quiet:
            super().v2_playbook_on_include(included_file)
