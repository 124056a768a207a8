# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import nmon_import
from ansible_collections.zpower.sap_tuning.plugins.modules import nmon_import as module

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nmon"
AIX = str(FIXTURES / "aix_shared.nmon")


def run(check_mode=False, **arguments):
    task = SimpleNamespace(
        args=arguments, check_mode=check_mode, async_val=0, action="nmon_import", diff=False, environment=[]
    )
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/tmp"))
    action = nmon_import.ActionModule(task, connection, SimpleNamespace(check_mode=check_mode), None, None, None)
    return action.run(task_vars={"inventory_hostname": "aixapp1"})


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_window_comes_back_as_data(check_mode):
    result = run(check_mode, src=AIX, begin="23:59:49", end="23:59:59", smc_r="yes")
    assert result["changed"] is False and "warnings" not in result
    assert (result["nmon"]["cpu_s"], result["nmon"]["network"]["applicable"]) == (9, False)


def test_the_documentation_names_options_and_figures_as_they_are():
    documented, returned = yaml.safe_load(module.DOCUMENTATION), yaml.safe_load(module.RETURN)
    for name, option in nmon_import.ARGUMENTS.items():
        assert documented["options"][name]["type"] == option["type"]
    assert set(documented["options"]) == set(nmon_import.ARGUMENTS)
    assert set(returned["nmon"]["contains"]) == set(run(src=AIX)["nmon"])


def test_remarks_are_warnings():
    result = run(src=AIX, end="2026-11-20 01:00:00")
    assert result["warnings"] == [f"{AIX}: {result['nmon']['remarks'][0]}"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"src": "/nowhere/x.nmon"}, "/nowhere/x.nmon on the controller cannot be read: No such file"),
        ({"src": "/dev/zero"}, "no regular file"),
        ({"src": str(FIXTURES)}, "no regular file"),
        ({"src": __file__}, "test_nmon_import.py: this is no file of nmon"),
        ({"src": AIX, "begin": "tomorrow"}, "no time of the file"),
        ({"src": AIX, "cpus": 0}, "cpus is 0; it has to be above 0"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(arguments, message):
    with pytest.raises(AnsibleActionFail, match=message):
        run(**arguments)


def test_a_file_without_ends_of_lines_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(nmon_import, "LONGEST_LINE", 100)
    path = tmp_path / "x.nmon"
    path.write_text("AAA," + "x" * 1000)
    with pytest.raises(AnsibleActionFail, match="no snapshot"):
        run(src=str(path))
    assert len(next(nmon_import.lines_of(str(path)))) == 100
