# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which record a call of the module enqt is going to write."""

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqueue

SESSION = {"tool": "enqt", "port": 3298, "control_port": 3299, "token": "t"}


def names(**arguments):
    return names_of("enqt", **{"session": SESSION, **arguments})


def test_the_name_of_the_record_is_that_of_the_module():
    assert names() == ["enqt-sd_benchmark"]
    assert names(load="create_locks", processes="5") == ["enqt-create_locks-x5"]
    assert names(session=None) == ["-sd_benchmark"]
    with pytest.raises(ValueError, match="processes"):
        names(processes="many")

    class Tool(enqueue.LockWorkload):
        tool = "enqt"
        METRICS = {"create_locks": enqueue.time_of("lock_us")}

    asked = enqueue.Asked("create_locks", 10, 1000, 5, 15.0, False)
    assert [Tool(asked, None).name] == names(load="create_locks", processes=5)
