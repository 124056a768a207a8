# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Call a module's main() in this process; Ansible would run it in a separate one."""

import json

import pytest
from ansible.module_utils import basic
from ansible.module_utils.common.text.converters import to_bytes


def caller(main, monkeypatch, capsys):
    """Return a function that takes the module's arguments and returns its result."""

    def call(**arguments):
        arguments.setdefault("_ansible_remote_tmp", "/tmp")
        text = to_bytes(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", text)
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        with pytest.raises(SystemExit) as end:
            main()
        result = json.loads(capsys.readouterr().out)
        assert bool(end.value.code) is bool(result.get("failed"))
        return result

    return call
