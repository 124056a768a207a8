# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile has the line, but the instance still runs as it was started: its connections use TCP."""


def test_the_line_is_at_the_end_below_its_comment(profile, preloaded):
    lines = profile().splitlines()
    assert lines[-3] == "# last line" and lines[-2].startswith("# zpower.sap_tuning ")
    assert lines[-1] == "SETENV_02 = LD_PRELOAD=libsmc-preload.so"
    assert preloaded == {False}, "the instance runs without the library"


def test_verify_waits_for_a_restart_and_reports_the_protocol_of_the_connections(record):
    _status, text = record()
    assert "not loaded is in force, libsmc-preload.so after a restart of the instance" in text, text
    assert "connections of PRD_00 now: 2 TCP, not opened as SMC" in text, text
    assert "sapcontrol -nr 00 -function RestartService" in text, text
